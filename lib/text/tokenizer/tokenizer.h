/* Inside of tokenizers. A text goes through
 *
 *    bytes -> added tokens cut out -> normalisers -> splitters -> model -> template
 *
 * Normalisers and splitters are steps, rows of steps.def; models are rows of kinds.def. Both are
 * named as tokenizer.json names them. */
#ifndef GNN_LIB_TEXT_TOKENIZER_H
#define GNN_LIB_TEXT_TOKENIZER_H

#include <gnn/tokenizer.h>
#include <lib/io/arrays/json_text.h>
#include <lib/text/corpus.h>
#include <lib/text/tokenizer/packed_trie.h>
#include <lib/text/tokenizer/string_table.h>
#include <lib/text/tokenizer/utf8.h>

/* Bytes of the caller's, with a zero byte behind them where they come from JSON. */
typedef gnn__slice_t gnn__string_t;

/* What a file may ask for, so that the cost of reading it and of encoding is linear in bytes. */
enum {
    GNN__MOST_TOKEN_BYTES = 4096,  /* of a token, and of a string among a step's options */
    GNN__MOST_STEPS = 256,         /* of a pipeline */
    GNN__MOST_TEMPLATE = 4096,     /* tokens around a text */
    GNN__MOST_SEQUENCES = 8,       /* texts in a template */
    GNN__BYTES_PER_BYTE = 64,      /* that steps make of a text, per byte of it */
    GNN__BYTES_PER_TEXT = 1 << 16, /* and beyond that */
    GNN__SPARE_IDS = 1 << 16,      /* ids may reach twice the count of tokens and this */
    GNN__MOST_CHARSMAP_KEY = 256   /* bytes that an entry of a charsmap replaces */
};

/* ---- a text on its way ---- */

typedef struct gnn__flow {
    char *at; /* UTF-8 */
    int64_t n, room;
    int64_t *from,
        *to; /* (room) the input's bytes that each byte stands for; NULL: places are not kept */
} gnn__flow_t;

typedef struct gnn__span {
    int64_t begin, end;
} gnn__span_t;

typedef struct gnn__spans {
    gnn__span_t *at;
    int64_t n, room;
} gnn__spans_t;

/* A token and what it stands for: bytes of the word while the model works, of the input then. */
typedef struct gnn__token {
    int32_t id, type;
    int64_t begin, end;
} gnn__token_t;

typedef struct gnn__token_list {
    gnn__token_t *at;
    int64_t n, room;
} gnn__token_list_t;

struct gnn__cache;

/* What one call of encode needs. Functions that take it keep its first error and do nothing after
 * one. */
typedef struct gnn__work {
    const gnn_tokenizer_t *tokenizer;
    int rc;
    bool places;
    bool first;            /* the text begins with this segment */
    int64_t most, left;    /* bytes that a step, and all together, may make of the text */
    int64_t enough;        /* tokens after which the rest of the texts is not encoded; 0: all are */
    gnn__flow_t raw, held; /* the whole text; a segment behind its normalisers, as it is searched */
    gnn__flow_t text, next; /* the present text and the one that a step makes of it */
    gnn__spans_t spans, next_spans;
    gnn__token_list_t tokens;
    struct gnn__cache *cache; /* words met before */
    void *model;              /* (model_bytes) scratch of the kind's */
    size_t model_bytes;
    bool keeps_normal;       /* tokens stand for bytes of the text after its normalisers */
    struct gnn__work *inner; /* of tokenizer->cutter; NULL until it is needed */
} gnn__work_t;

int gnn__work_new(gnn__work_t *work, const gnn_tokenizer_t *tokenizer, bool places);
void gnn__work_free(gnn__work_t *work);
/* At least so many bytes of the model's scratch, contents lost; NULL after an error. */
void *gnn__work_scratch(gnn__work_t *work, int64_t count, size_t element);

/* A text of so many bytes begins: sets what steps may make of it. */
void gnn__work_begin(gnn__work_t *work, int64_t bytes);
/* Counts what a step has made of a span list; GNN_EOVERFLOW past either limit. */
void gnn__work_count(gnn__work_t *work);
/* Appends to the text that is being made what stands for the bytes from .. to of the input. */
void gnn__put_bytes(gnn__work_t *work, const char *at, int64_t n, gnn__span_t origin);
void gnn__put_grow(gnn__work_t *work, int64_t bytes);
/* Where a byte of the present text came from. */
static inline gnn__span_t gnn__origin(const gnn__work_t *work, int64_t k)
{
    return work->places ? (gnn__span_t){work->text.from[k], work->text.to[k]} : (gnn__span_t){0, 0};
}
static inline void gnn__put_byte(gnn__work_t *work, char c, gnn__span_t origin)
{
    gnn__flow_t *f = &work->next;
    if (f->n == f->room)
        gnn__put_grow(work, 1);
    if (work->rc != GNN_OK)
        return;
    f->at[f->n] = c;
    if (work->places) {
        f->from[f->n] = origin.begin;
        f->to[f->n] = origin.end;
    }
    f->n++;
}
static inline void gnn__put(gnn__work_t *work, int32_t c, gnn__span_t origin)
{
    char bytes[4];
    if (c < 0x80)
        gnn__put_byte(work, (char)c, origin);
    else
        gnn__put_bytes(work, bytes, gnn__utf8_put(bytes, c), origin);
}
/* Appends a span of the present text that is made; an empty one is dropped. */
void gnn__add_span(gnn__work_t *work, int64_t begin, int64_t end);
void gnn__add_token(gnn__work_t *work, int32_t id, int64_t begin, int64_t end);

/* ---- steps ---- */

typedef struct gnn__text_step gnn__text_step_t;
enum { GNN__NORMALISES = 1, GNN__SPLITS = 2 };
typedef struct gnn__text_step_row {
    const char *type, *also[3]; /* names in tokenizer.json */
    const char *keys;           /* that its options have there; NULL: none */
    int lists;                  /* where it may stand: GNN__NORMALISES, GNN__SPLITS */
    /* Reads options into step->options, which gnn_free releases; NULL: there are none. */
    int (*read)(gnn__text_step_t *step, const json_t *json);
    /* One of the two, or both in this order: `rewrite` puts what becomes of a span of the present
     * text, `split` adds the spans that a span falls into. Either is NULL where no step of this row
     * does it. */
    void (*rewrite)(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span);
    void (*split)(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span);
    void (*release)(gnn__text_step_t *step); /* what options hold; NULL: nothing */
} gnn__text_step_row_t;
struct gnn__text_step {
    const gnn__text_step_row_t *row;
    void *options;
    bool by_origin;               /* needs to know whether a span begins where the text does */
    bool first_only;              /* what stands before a text stands before its first span alone */
    bool keeps_text, keeps_spans; /* these options rewrite, or split, nothing */
};
typedef struct gnn__pipeline {
    gnn__text_step_t *at;
    int64_t n;
} gnn__pipeline_t;

#define GNN_TEXT_STEP(name) extern const gnn__text_step_row_t gnn__text_step_##name;
#include <lib/text/tokenizer/steps.def>
#undef GNN_TEXT_STEP

int gnn__pipeline_add(gnn__pipeline_t *pipeline, const gnn__text_step_row_t *row,
                      gnn__text_step_t **step);
/* A step, or a "Sequence" of them under the key `list`; null: none. `what` names them in messages.
 */
int gnn__pipeline_read(gnn__pipeline_t *pipeline, const json_t *json, const char *list,
                       const char *what, int where);
void gnn__pipeline_free(gnn__pipeline_t *pipeline);
/* Texts become lower-case before all other normalisers, unless one of them does it. pipeline.c */
int gnn__tokenizer_lower(gnn_tokenizer_t *tokenizer);
void gnn__pipeline_run(const gnn__pipeline_t *pipeline, gnn__work_t *work);

/* ---- what steps share ---- */

/* What becomes of matches and of what lies between them, as the library tokenizers has it. */
typedef enum {
    GNN__REMOVED,
    GNN__ISOLATED,
    GNN__WITH_PREVIOUS,
    GNN__WITH_NEXT,
    GNN__CONTIGUOUS,
    GNN__BEHAVIORS
} gnn__behavior_t;
int gnn__behavior_read(const json_t *json, bool needed, gnn__behavior_t *behavior);
/* Takes pieces of a span in their order, matches and others, and adds spans. */
typedef struct gnn__cutter {
    gnn__work_t *work;
    gnn__behavior_t behavior;
    gnn__span_t held;
    bool open, match, before;
} gnn__cutter_t;
void gnn__cut(gnn__cutter_t *cutter, int64_t begin, int64_t end, bool match);
/* The same of a match that may be empty: it parts what stands on its sides. */
void gnn__cut_at(gnn__cutter_t *cutter, int64_t begin, int64_t end, bool match);
void gnn__cut_end(gnn__cutter_t *cutter);

/* A regular expression as tokenizer.json has it (Oniguruma's, Ruby's syntax), run by PCRE2. */
typedef struct gnn__regex gnn__regex_t;
int gnn__regex_new(gnn__regex_t **regex, gnn__string_t pattern);
void gnn__regex_free(gnn__regex_t *regex);
/* Calls `found` for each match in a span, as Oniguruma finds them: one may be empty, but not where
 * the match before it ends. */
typedef void (*gnn__regex_found_t)(void *user, gnn__span_t match);
void gnn__regex_each(const gnn__regex_t *regex, gnn__work_t *work, gnn__span_t span,
                     gnn__regex_found_t found, void *user);
/* Cuts a span into matches and what lies between them. */
void gnn__regex_cut(const gnn__regex_t *regex, gnn__cutter_t *cutter, gnn__span_t span, bool invert);

/* How a pattern of words reads: GPT-2's, Llama 3's, Qwen 2's. */
typedef struct gnn__word_rules gnn__word_rules_t;
/* By the regular expression that says the same; NULL: it is not known. */
const gnn__word_rules_t *gnn__word_rules_find(const char *regex);
extern const gnn__word_rules_t gnn__gpt2_words;
/* Where the word ends that begins at k < end. */
int64_t gnn__word_end(const gnn__word_rules_t *rules, const char *at, int64_t k, int64_t end);

/* SentencePiece's table of characters and what becomes of them: a tree in the form of Darts, and
 * strings. */
typedef struct gnn__charsmap {
    const unsigned char *units;
    int64_t n_units;
    const char *strings;
    int64_t n_strings;
} gnn__charsmap_t;
/* Borrows the bytes; none make an empty table. GNN_EFORMAT. */
int gnn__charsmap_read(gnn__charsmap_t *map, const char *bytes, int64_t n);
/* Bytes at the start of `at` that the table replaces by *to, the fewest or the most; 0: none. */
int64_t gnn__charsmap_find(const gnn__charsmap_t *map, const char *at, int64_t n, bool longest,
                           gnn__string_t *to);

/* Bytes in base64, as a string of JSON. */
int gnn__to_base64(json_t **out, gnn__string_t bytes);

/* SentencePiece's own normaliser, for steps made without JSON. */
typedef struct gnn__sentencepiece_options {
    gnn__charsmap_t map;
    bool prefix, squeeze,
        escape; /* a blank at the start; single blanks only, none at the ends; blanks are U+2581 */
    const gnn__trie_t *kept; /* strings that stay as they are */
    bool plain[128];         /* ASCII characters that stay as they are in front of another one */
} gnn__sentencepiece_options_t;

#define GNN__BLANK "\xe2\x96\x81" /* U+2581 */

/* ---- models ---- */

typedef struct gnn__token_kind {
    const char *name, *paper;
    const char *keys; /* of "model" */
    int (*read)(gnn_tokenizer_t *tokenizer, const json_t *model);
    /* Adds the tokens of a word, whose bytes they stand for. */
    void (*encode)(const gnn_tokenizer_t *tokenizer, gnn__work_t *work, const char *word, int64_t n);
    /* When everything has been read, from whatever file; may be NULL. */
    int (*ready)(gnn_tokenizer_t *tokenizer);
} gnn__token_kind_t;

#define GNN_TOKENIZER(name) extern const gnn__token_kind_t gnn__token_kind_##name;
#include <lib/text/tokenizer/kinds.def>
#undef GNN_TOKENIZER
/* Words that tokenizer->cutter cuts: no model of tokenizer.json. numbered.c */
extern const gnn__token_kind_t gnn__token_kind_numbered;

/* What the models need, each some of it. */
typedef struct gnn__rules {
    int32_t unknown;             /* token of what is not known; -1: none */
    int32_t bytes[256];          /* tokens "<0x00>" and on; -1: none */
    int32_t *letters;            /* (256) tokens of one byte, bytewise; -1: none. May be NULL */
    gnn__pair_table_t merges;    /* two neighbours: rank and the token that they become */
    double *scores;              /* of each token */
    double unknown_score, most;  /* what an unknown character costs; the largest score */
    const char *prefix, *suffix; /* of parts that continue a word, and of its last part; "": none */
    int64_t longest_word;        /* in characters; a longer one is unknown */
    bool fuse_unknown, ignore_merges, byte_fallback, bytewise;
    bool single;       /* sums of scores are rounded to float, as SentencePiece has them */
    bool never_cached; /* words are whole texts */
    bool join_unknown; /* unknown tokens of words that follow on each other are one */
} gnn__rules_t;

/* ---- back to text ---- */

typedef struct gnn__speech {
    bool spaced;              /* a blank between tokens */
    bool bytewise;            /* characters of a token stand for bytes, as GPT-2 writes them */
    bool byte_tokens;         /* <0x0A> is a byte; one of no character is U+FFFD */
    bool whole_runs;          /* all bytes of a run are, unless all are characters */
    bool bare_first;          /* blanks of the first token fall away */
    bool tidy;                /* blanks before punctuation fall away */
    bool tidy_text;           /* the same in the whole text, whatever tokens it is made of */
    bool bare_ends;           /* blanks at both ends of the text fall away */
    bool runs;                /* blanks after a special token that is written fall away */
    bool blank_after_special; /* one stands after a special token that is written */
    int64_t strip_left;       /* blanks that fall away at the start of the text */
    const char *blank;        /* what stands for a blank; "": nothing */
    const char *prefix;       /* of a token that continues a word; "": none */
    const char *suffix;       /* of a token that ends a word; "": none */
    const char *unknown;      /* how the unknown token is said; NULL: as it is */
} gnn__speech_t;

/* ---- the whole ---- */

typedef struct gnn__added {
    gnn__string_t text;
    char *normal; /* what normalisers make of it; NULL: the text itself */
    int32_t id;
    bool special, normalised, single_word, strip_left, strip_right;
} gnn__added_t;

/* A token of a template; id -1: all tokens of text `which`. */
typedef struct gnn__item {
    int32_t id, type, which;
} gnn__item_t;
typedef struct gnn__template {
    gnn__item_t *at;
    int64_t n;
} gnn__template_t;

enum { GNN__TOKEN_SPECIAL = 1, GNN__TOKEN_BYTE = 2, GNN__TOKEN_KEPT = 4 };

struct gnn_tokenizer {
    const gnn__token_kind_t *kind;
    json_t *root;           /* owns most strings; NULL where the file is none of JSON */
    char *block, *more;     /* own the others */
    gnn__string_t *tokens;  /* (room) as the file writes them; at NULL: no token */
    gnn__string_t *written; /* (size) how tokens are written that normalisers change; NULL: none */
    uint8_t *flags;         /* (room) */
    int64_t size, room;
    int64_t count, expected;   /* tokens that are there; that the file says it has */
    gnn__string_table_t names; /* tokens as the file writes them */
    gnn__trie_t kept;          /* SentencePiece's pieces that are never taken apart */
    gnn__trie_t pieces;        /* tokens as text has them: what the model finds */
    gnn__packed_trie_t packed; /* the same for a kind that walks from every place */
    gnn__rules_t rules;
    gnn__pipeline_t normalisers, splitters;
    gnn__added_t *added;
    int64_t n_added;
    gnn__trie_t raw_added, normalised_added; /* numbers of added tokens by their text */
    gnn__template_t single, pair;
    gnn_tokenizer_t *cutter; /* cuts words, and this vocabulary numbers what comes of it; or NULL */
    int32_t *numbering;      /* (cutter->size) ids here of the tokens there */
    bool needs_origins; /* a step reads places, which are kept even where they are not asked for */
    bool codes;         /* ">>fra<<" at the start of a word is a token of its own */
    bool one_type;      /* tokens of the second text have the type of the first one's */
    bool cuts_start;    /* a text that is too long loses its first tokens, not its last */
    int64_t max_length; /* tokens of a text that the folder asks for; 0: any */
    bool trims;         /* blanks at the ends of a token are none of its place */
    bool trims_prefix;  /* but for one at the start of a text */
    gnn__speech_t speech;
};

/* GNN_EFORMAT: two tokens have this number, it is past any that the count of tokens explains, or
 * the token is longer than GNN__MOST_TOKEN_BYTES. */
int gnn__token_add(gnn_tokenizer_t *tokenizer, int64_t id, gnn__string_t text);
/* The token that is `left` and `right` together, -1 if there is none. */
int32_t gnn__token_find(const gnn_tokenizer_t *tokenizer, gnn__string_t left, gnn__string_t right);
/* The bytes of a character that GPT-2's table writes for a byte; -1: it stands for none. */
int gnn__byte_of(int32_t c);
int32_t gnn__character_of(int byte);
/* Bytes that a token of GPT-2's writing stands for, in `to` (length bytes at most); -1: a character
 * is none of the table's. */
int64_t gnn__token_bytes(gnn__string_t token, char *to);
/* "<0x0A>" is 10; -1: no such token. */
int gnn__byte_token(gnn__string_t token);
/* Makes a token one that the model finds in text. */
int gnn__piece_add(gnn_tokenizer_t *tokenizer, int32_t id);
/* All tokens of model.vocab, an object of numbers. */
int gnn__vocabulary_of(gnn_tokenizer_t *tokenizer, const json_t *model);
/* model.unk_token, or `initial` (NULL: none) where there is no such key. */
int gnn__unknown_read(gnn_tokenizer_t *tokenizer, const json_t *model, const char *initial);
/* "<0x00>" to "<0xFF>" among the tokens, into rules.bytes. */
void gnn__byte_tokens_find(gnn_tokenizer_t *tokenizer);
/* Tokens of what no piece stands for: of its bytes, where there are such; else the unknown one,
 * which a run of them shares if rules.fuse_unknown says so. */
void gnn__add_unknown(gnn__work_t *work, const char *word, int64_t begin, int64_t end);

/* Adds the tokens of a whole text, in places of the text. */
void gnn__encode_text(gnn__work_t *work, const char *text, int64_t bytes);
/* SentencePiece's normaliser, when its table and `kept` are there: which characters are plain. */
void gnn__sentencepiece_plain(gnn__sentencepiece_options_t *options);
/* The tokens of a word that was put there, until the next one is; NULL: it is not known. */
const gnn__token_t *gnn__cache_get(const gnn__work_t *work, const char *word, int64_t n,
                                   int64_t *count);
void gnn__cache_put(gnn__work_t *work, const char *word, int64_t n, int64_t first_token);
void gnn__cache_free(struct gnn__cache *cache);

/* ---- reading ---- */

/* Objects of JSON: "what.key" is named where it is missing or of another type. Absent ones leave
 * *out as it is, if `needed` is false. */
int gnn__json_string(const json_t *object, const char *key, bool needed, gnn__string_t *out);
/* The same without the limit of GNN__MOST_TOKEN_BYTES. */
int gnn__json_long_string(const json_t *object, const char *key, bool needed, gnn__string_t *out);
int gnn__json_bool(const json_t *object, const char *key, bool *out);
int gnn__json_number(const json_t *object, const char *key, bool needed, int64_t *out);
const char *gnn__json_type(const json_t *value);
/* Every key is one of `keys`, which blanks separate; GNN_EUNSUPPORTED names another one. */
int gnn__json_closed(const json_t *object, const char *keys);

int gnn__added_read(gnn_tokenizer_t *tokenizer, const json_t *list);
int gnn__added_add(gnn_tokenizer_t *tokenizer, gnn__added_t token);
/* Makes the added tokens, which are all there, ones that are found in text. */
int gnn__added_prepare(gnn_tokenizer_t *tokenizer);
int gnn__template_read(gnn_tokenizer_t *tokenizer, const json_t *processor);
int gnn__template_add(gnn__template_t *list, gnn__item_t item);
/* One text, or two, and nothing around them. */
int gnn__template_plain(gnn_tokenizer_t *tokenizer);
int gnn__speech_read(gnn__speech_t *speech, const json_t *decoder);

/* An empty one, and what is left to do when it has been read: *tokenizer is freed and NULL if `rc`
 * or that is an error. tokenizer.c */
int gnn__tokenizer_new(gnn_tokenizer_t **tokenizer);
int gnn__tokenizer_finish(gnn_tokenizer_t **tokenizer, int rc);
/* gnn_tokenizer_open of what must be a file. tokenizer.c */
int gnn__tokenizer_open_file(gnn_tokenizer_t **tokenizer, const char *path);
/* From tokenizer->root; tokens that are there already need no "vocab". Every message says where in
 * the JSON the fault is. */
int gnn__tokenizer_build(gnn_tokenizer_t *tokenizer);
/* Takes over the reference to `root`. */
int gnn__tokenizer_of_root(gnn_tokenizer_t **tokenizer, json_t *root);

/* Files of one format each: rows of readers.def. `data` has a zero byte behind its end, and the
 * tokenizer may keep pointers into it. */
typedef struct gnn__tokenizer_file {
    const char *path;
    char *data;
    int64_t size;
} gnn__tokenizer_file_t;
typedef struct gnn__reader {
    bool (*is)(const gnn__tokenizer_file_t *file);
    int (*read)(gnn_tokenizer_t *tokenizer, const gnn__tokenizer_file_t *file);
} gnn__reader_t;
#define GNN_READER(name) extern const gnn__reader_t gnn__reader_##name;
#include <lib/text/tokenizer/readers.def>
#undef GNN_READER

/* Bytes of a line without the whitespace at its end. readers/vocab_txt.c */
int64_t gnn__without_blanks(const char *line, int64_t n);
/* Merges of a text of lines, appended to a list of strings. readers/merges_txt.c */
int gnn__merges_of_text(json_t *merges, const gnn__tokenizer_file_t *file);

/* Pieces of a SentencePiece model, as its file has them. readers/sentencepiece_model.c */
typedef struct gnn__listed_piece {
    gnn__string_t text; /* without a zero byte */
    float score;
    bool control, user;
} gnn__listed_piece_t;
typedef struct gnn__piece_list {
    char *data; /* of the file, that texts point into */
    gnn__listed_piece_t *at;
    int64_t n;
    int32_t unknown;
    bool unigram, pairs, byte_fallback;
    gnn__string_t map; /* its table of characters */
} gnn__piece_list_t;
/* Also after an error the list is released by gnn__piece_list_close. */
int gnn__piece_list_open(gnn__piece_list_t *list, const char *path);
void gnn__piece_list_close(gnn__piece_list_t *list);

/* From rules.scores: every way to make a token of two is a merge, and larger scores come first.
 * Then words may begin at blanks, if no token goes across them; `blank` stays the caller's. */
int gnn__merges_of_scores(gnn_tokenizer_t *tokenizer);
int gnn__split_at_blanks(gnn_tokenizer_t *tokenizer, const char *blank);

/* GNN_EINVALID, GNN_EOVERFLOW: a text is not there, or too long; the message says which of the
 * `which` texts. encode.c */
int gnn__texts_check(const gnn_texts_t *texts, const char *which);
/* Of text k. encode.c */
int64_t gnn__texts_bytes(const gnn_texts_t *texts, int64_t k);

/* The whole of a file; gnn_free releases *data, on failure nothing is left. */
int gnn__bytes_of_file(const char *path, char **data, int64_t *size);
/* tokenizer->root from a string of JSON; GNN_EFORMAT with line and column. */
int gnn__root_of(gnn_tokenizer_t *tokenizer, const char *text, int64_t size);
/* Finds the format, reads, builds. Messages begin with the file's name. */
int gnn__tokenizer_read(gnn_tokenizer_t *tokenizer, const char *path);

#endif
