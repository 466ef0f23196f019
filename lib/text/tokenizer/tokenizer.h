/* Internals of tokenizers. Stages of encoding:
 *
 *    bytes -> added tokens cut out -> normalisers -> splitters -> model -> template
 *
 * Normalisers and splitters are steps, entries of steps.def; models are entries of kinds.def. Both
 * have their names from tokenizer.json. */
#ifndef GNN_LIB_TEXT_TOKENIZER_H
#define GNN_LIB_TEXT_TOKENIZER_H

#include <gnn/tokenizer.h>
#include <lib/data/arrays/json_text.h>
#include <lib/text/corpus.h>
#include <lib/text/tokenizer/packed_trie.h>
#include <lib/text/tokenizer/string_table.h>
#include <lib/text/tokenizer/utf8.h>

/* Borrowed bytes, zero-terminated if they come from JSON. */
typedef gnn__slice_t gnn__string_t;

/* Limits on files, which keep the cost of reading and encoding linear in bytes. */
enum {
    GNN__MOST_TOKEN_BYTES = 4096,  /* bytes of a token or of a string option of a step */
    GNN__MOST_STEPS = 256,         /* steps of a pipeline */
    GNN__MOST_TEMPLATE = 4096,     /* tokens around a text */
    GNN__MOST_SEQUENCES = 8,       /* texts in a template */
    GNN__BYTES_PER_BYTE = 64,      /* bytes that steps make, per byte of a text */
    GNN__BYTES_PER_TEXT = 1 << 16, /* bytes in addition */
    GNN__SPARE_IDS = 1 << 16,      /* ids are below twice the count of tokens plus this */
    GNN__MOST_CHARSMAP_KEY = 256   /* bytes replaced by one entry of a charsmap */
};

/* ---- the text being encoded ---- */

typedef struct gnn__flow {
    const char *at; /* (n) UTF-8, in `own` or in another flow or text */
    int64_t n, room;
    const int64_t *from, *to; /* (n) span of the input of each byte; NULL: offsets are not kept */
    char *own;                /* (room) */
    int64_t *own_from, *own_to;
} gnn__flow_t;

typedef struct gnn__span {
    int64_t begin, end;
} gnn__span_t;

typedef struct gnn__spans {
    gnn__span_t *at;
    int64_t n, room;
} gnn__spans_t;

/* A token and its span: in the word while the model runs, in the input afterwards. A span that ends
 * after its word is one of the whole text, as in the package. */
typedef struct gnn__token {
    int32_t id;
    union {
        int32_t type;   /* in a sentence */
        int32_t spaces; /* before: index in work->spaces; -1: those of the vocabulary's text */
    };
    int64_t begin, end;
} gnn__token_t;

/* Spaces at the ends of a token's text. */
typedef struct gnn__spaces {
    int32_t before, after;
} gnn__spaces_t;

typedef struct gnn__token_list {
    gnn__token_t *at;
    int64_t n, room;
} gnn__token_list_t;

struct gnn__cache;

/* The workspace of one encode call. Functions that take it keep the first error and do nothing
 * after it. */
typedef struct gnn__work {
    const gnn_tokenizer_t *tokenizer;
    int rc;
    bool places;
    bool first;             /* this segment is at the start of the text */
    int64_t start;          /* of the segment, in the input */
    int64_t most, left;     /* byte limits of one step and of all together */
    int64_t enough;         /* tokens after which encoding stops; 0: no limit */
    gnn__flow_t raw, held;  /* the whole text; a normalized segment, to be searched */
    gnn__flow_t text, next; /* the current text and the output of a step */
    gnn__spans_t spans, next_spans;
    gnn__token_list_t tokens;
    gnn__spaces_t *spaces; /* (n_spaces) of tokens whose text is not the vocabulary's */
    int64_t n_spaces, spaces_room;
    struct gnn__cache *cache; /* cache of words */
    void *model;              /* (model_bytes) scratch of the kind */
    size_t model_bytes;
    bool keeps_normal;       /* spans of tokens refer to the normalized text */
    struct gnn__work *inner; /* workspace of tokenizer->cutter; NULL until needed */
} gnn__work_t;

int gnn__work_new(gnn__work_t *work, const gnn_tokenizer_t *tokenizer, bool places);
void gnn__work_free(gnn__work_t *work);
/* The model's scratch, at least `bytes` long, contents undefined; NULL after an error. */
void *gnn__work_scratch(gnn__work_t *work, int64_t count, size_t element);

/* Sets the limits of the steps for a text of `bytes` bytes. */
void gnn__work_begin(gnn__work_t *work, int64_t bytes);
/* Counts the output of a step; GNN_EOVERFLOW past either limit. */
void gnn__work_count(gnn__work_t *work);
/* An empty flow, to be written. */
static inline void gnn__flow_clear(gnn__flow_t *flow)
{
    flow->at = flow->own;
    flow->from = flow->own_from;
    flow->to = flow->own_to;
    flow->n = 0;
}
/* Appends to the output text, as a replacement of bytes from .. to of the input. */
void gnn__put_bytes(gnn__work_t *work, const char *at, int64_t n, gnn__span_t origin);
void gnn__put_grow(gnn__work_t *work, int64_t bytes);
/* The origin of a byte of the current text. */
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
    f->own[f->n] = c;
    if (work->places) {
        f->own_from[f->n] = origin.begin;
        f->own_to[f->n] = origin.end;
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
/* Appends a span of the current text; empty spans are dropped. */
void gnn__add_span(gnn__work_t *work, int64_t begin, int64_t end);
void gnn__add_token(gnn__work_t *work, int32_t id, int64_t begin, int64_t end);

/* ---- steps ---- */

typedef struct gnn__text_step gnn__text_step_t;
enum { GNN__NORMALISES = 1, GNN__SPLITS = 2 };
typedef struct gnn__text_step_row {
    const char *type, *also[3]; /* names in tokenizer.json */
    const char *keys;           /* names of its options; NULL: none */
    int lists;                  /* allowed uses: GNN__NORMALISES, GNN__SPLITS */
    /* Reads options into step->options, released by gnn_free; NULL: no options. */
    int (*read)(gnn__text_step_t *step, const json_t *json);
    /* One of the two, or both in this order: `rewrite` writes the replacement of a span of the
     * current text, `split` adds the spans that a span is split into. NULL if unused. */
    void (*rewrite)(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span);
    void (*split)(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span);
    void (*release)(gnn__text_step_t *step); /* releases members of options; NULL: none */
} gnn__text_step_row_t;
struct gnn__text_step {
    const gnn__text_step_row_t *row;
    void *options;
    bool by_origin;               /* depends on whether a span is at the start of the text */
    bool first_only;              /* prepends to the first span of a text only */
    bool repeated;                /* the package repeats what it puts before a text */
    bool keeps_text, keeps_spans; /* with these options, nothing is rewritten or split */
};
typedef struct gnn__pipeline {
    gnn__text_step_t *at;
    int64_t n;
} gnn__pipeline_t;

#define GNN_TEXT_STEP(name) extern const gnn__text_step_row_t gnn__text_step_##name;
#include <lib/text/tokenizer/steps.def>
#undef GNN_TEXT_STEP
/* Not in files: after the steps that follow ByteLevel. byte_level.c */
extern const gnn__text_step_row_t gnn__text_step_bytes;

int gnn__pipeline_add(gnn__pipeline_t *pipeline, const gnn__text_step_row_t *row,
                      gnn__text_step_t **step);
/* A step, or a "Sequence" of them under the key `list`; null: none. `what` names them in messages.
 */
int gnn__pipeline_read(gnn__pipeline_t *pipeline, const json_t *json, const char *list,
                       const char *what, int where);
void gnn__pipeline_free(gnn__pipeline_t *pipeline);
/* Lower-cases texts before all other normalisers, unless one of them does so. pipeline.c */
int gnn__tokenizer_lower(gnn_tokenizer_t *tokenizer);
void gnn__pipeline_run(const gnn__pipeline_t *pipeline, gnn__work_t *work);

/* ---- shared by steps ---- */

/* Treatment of matches and of the text between them, as in the library tokenizers. */
typedef enum {
    GNN__REMOVED,
    GNN__ISOLATED,
    GNN__WITH_PREVIOUS,
    GNN__WITH_NEXT,
    GNN__CONTIGUOUS,
    GNN__BEHAVIORS
} gnn__behavior_t;
int gnn__behavior_read(const json_t *json, bool needed, gnn__behavior_t *behavior);
/* Takes the pieces of a span in order, matches and others, and adds spans. */
typedef struct gnn__cutter {
    gnn__work_t *work;
    gnn__behavior_t behavior;
    gnn__span_t held;
    bool open, match, before;
} gnn__cutter_t;
void gnn__cut(gnn__cutter_t *cutter, int64_t begin, int64_t end, bool match);
/* The same for a possibly empty match, which splits its neighbours. */
void gnn__cut_at(gnn__cutter_t *cutter, int64_t begin, int64_t end, bool match);
void gnn__cut_end(gnn__cutter_t *cutter);

/* A regular expression of tokenizer.json (Oniguruma's Ruby syntax), run by PCRE2. */
typedef struct gnn__regex gnn__regex_t;
int gnn__regex_new(gnn__regex_t **regex, gnn__string_t pattern);
void gnn__regex_free(gnn__regex_t *regex);
/* Calls `found` for each match in a span by Oniguruma's rules: a match may be empty, but not at the
 * end of the previous one. */
typedef void (*gnn__regex_found_t)(void *user, gnn__span_t match);
void gnn__regex_each(const gnn__regex_t *regex, gnn__work_t *work, gnn__span_t span,
                     gnn__regex_found_t found, void *user);
/* Splits a span into matches and the text between them. */
void gnn__regex_cut(const gnn__regex_t *regex, gnn__cutter_t *cutter, gnn__span_t span, bool invert);

/* A hand-coded pattern of words: GPT-2's, Llama 3's, Qwen 2's. */
typedef struct gnn__word_rules gnn__word_rules_t;
/* By the equivalent regular expression; NULL: unknown. */
const gnn__word_rules_t *gnn__word_rules_find(const char *regex);
extern const gnn__word_rules_t gnn__gpt2_words;
/* End of the word that begins at k < end. */
int64_t gnn__word_end(const gnn__word_rules_t *rules, const char *at, int64_t k, int64_t end);

/* SentencePiece's table of character replacements: a trie in the format of Darts, and strings. */
typedef struct gnn__charsmap {
    const unsigned char *units;
    int64_t n_units;
    const char *strings;
    int64_t n_strings;
} gnn__charsmap_t;
/* Reads a table from n bytes, which it borrows; 0 bytes are an empty table. GNN_EFORMAT: they are
 * not a table. */
int gnn__charsmap_read(gnn__charsmap_t *map, const char *bytes, int64_t n);
/* Length of the shortest or longest match at the start of `at`, to be replaced by *to; 0: no
 * match. */
int64_t gnn__charsmap_find(const gnn__charsmap_t *map, const char *at, int64_t n, bool longest,
                           gnn__string_t *to);

/* Base64 of bytes, as a JSON string. */
int gnn__to_base64(json_t **out, gnn__string_t bytes);

/* Settings of SentencePiece's normaliser, for readers of files that are not JSON. */
typedef struct gnn__sentencepiece_options {
    gnn__charsmap_t map;
    bool prefix;             /* puts a space before the text */
    bool squeeze;            /* drops spaces at both ends and all but one of a run */
    bool escape;             /* replaces each space by U+2581 */
    const gnn__trie_t *kept; /* strings that are not normalised */
    bool plain[128];         /* ASCII characters that `map` keeps before another ASCII one */
} gnn__sentencepiece_options_t;

#define GNN__BLANK "\xe2\x96\x81" /* U+2581 */

/* ---- models ---- */

typedef struct gnn__token_kind {
    const char *name, *paper;
    const char *keys; /* of "model" */
    int (*read)(gnn_tokenizer_t *tokenizer, const json_t *model);
    /* Adds the tokens of a word with their spans in it. */
    void (*encode)(const gnn_tokenizer_t *tokenizer, gnn__work_t *work, const char *word, int64_t n);
    /* Called after everything has been read, from any format; may be NULL. */
    int (*ready)(gnn_tokenizer_t *tokenizer);
} gnn__token_kind_t;

#define GNN_TOKENIZER(name) extern const gnn__token_kind_t gnn__token_kind_##name;
#include <lib/text/tokenizer/kinds.def>
#undef GNN_TOKENIZER
/* Words split by tokenizer->cutter: not a model of tokenizer.json. numbered.c */
extern const gnn__token_kind_t gnn__token_kind_numbered;

/* Data of the models; each uses some of it. */
typedef struct gnn__rules {
    int32_t unknown;            /* the unknown token; -1: none */
    int32_t bytes[256];         /* tokens "<0x00>" to "<0xFF>"; -1: none */
    int32_t *letters;           /* (256) tokens of one byte, bytewise; -1: none. May be NULL */
    gnn__pair_table_t merges;   /* by two neighbours: rank and merged token */
    double *scores;             /* of each token */
    double unknown_score, most; /* score of an unknown character; the largest score */
    const char *prefix,
        *suffix; /* prefix of continuing parts of a word, and suffix of its last part; "": none */
    int64_t longest_word; /* maximum characters of a word; a longer one is unknown */
    bool fuse_unknown, ignore_merges, byte_fallback, bytewise;
    bool single;       /* sums of scores are rounded to float, as in SentencePiece */
    bool never_cached; /* words are whole texts */
    bool join_unknown; /* unknown tokens of consecutive words are merged */
} gnn__rules_t;

/* ---- decoding ---- */

typedef struct gnn__speech {
    bool spaced;              /* a space between tokens */
    bool bytewise;            /* characters of a token are bytes in GPT-2's alphabet */
    bool byte_tokens;         /* <0x0A> is a byte; one of no character is U+FFFD */
    bool whole_runs;          /* all bytes of a run are, unless all are characters */
    bool bare_first;          /* spaces of the first token are dropped */
    bool tidy;                /* spaces before punctuation are dropped */
    bool tidy_text;           /* the same in the whole text, across tokens */
    bool bare_ends;           /* spaces at both ends of the text are dropped */
    bool runs;                /* spaces after a written special token are dropped */
    bool blank_after_special; /* adds a space after a written special token */
    int64_t strip_left;       /* count of spaces dropped at the start of the text */
    const char *blank;        /* representation of a space; "": none */
    const char *prefix;       /* prefix of a token that continues a word; "": none */
    const char *suffix;       /* suffix of a token that ends a word; "": none */
    const char *unknown;      /* text of the unknown token; NULL: unchanged */
    const char *pad;          /* omitted from tokens, of which a run is one; NULL: no such rule */
    const char *delimiter;    /* with `pad`: becomes a space where `tidy` is set */
} gnn__speech_t;

/* ---- the whole ---- */

typedef struct gnn__added {
    gnn__string_t text;
    char *normal; /* normalized text; NULL: the text itself */
    int32_t id;
    bool special, normalised, single_word, strip_left, strip_right;
} gnn__added_t;

/* Offsets exclude spaces at the ends of tokens. */
typedef struct gnn__trim {
    bool prefix;  /* but one at the start of a text */
    bool wrapped; /* after a template that begins with a special token */
} gnn__trim_t;

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
    json_t *root;           /* owns most strings; NULL if the file is not JSON */
    char *block, *more;     /* own the other strings */
    gnn__string_t *tokens;  /* (room) as written in the file; at NULL: no token */
    gnn__string_t *written; /* (size) forms of tokens changed by normalisers; NULL: none */
    uint8_t *flags;         /* (room) */
    int64_t size, room;
    int64_t count, expected;   /* count of tokens present, and of tokens declared by the file */
    gnn__string_table_t names; /* tokens as written in the file */
    gnn__trie_t kept;          /* SentencePiece's user-defined pieces */
    gnn__trie_t pieces;        /* tokens as they appear in text, for the model */
    gnn__packed_trie_t packed; /* the same for a kind that walks from every position */
    gnn__rules_t rules;
    gnn__pipeline_t normalisers, splitters;
    gnn__added_t *added;
    int64_t n_added;
    gnn__trie_t raw_added, normalised_added; /* indices of added tokens by their text */
    gnn__template_t single, pair;
    gnn_tokenizer_t *cutter; /* splits words; ids come from this vocabulary; or NULL */
    int32_t *numbering;      /* (cutter->size) ids here of the cutter's tokens */
    bool needs_origins;      /* a step reads offsets, which are then always kept */
    bool codes;              /* ">>fra<<" at the start of a word is a token of its own */
    bool one_type;           /* tokens of the second text have the type of the first */
    bool cuts_start;         /* truncates too long texts at the start, not at the end */
    bool first_longer;       /* of an odd count of tokens the first text of a pair keeps one more */
    int64_t max_length;      /* the folder's limit of tokens per text; 0: none */
    gnn__trim_t *trims;      /* (n_trims), in their order */
    int64_t n_trims;
    gnn__speech_t speech;
};

/* GNN_EFORMAT: the id is taken or too large for the count of tokens, or the token is longer than
 * GNN__MOST_TOKEN_BYTES. */
int gnn__token_add(gnn_tokenizer_t *tokenizer, int64_t id, gnn__string_t text);
/* The token equal to `left` followed by `right`; -1 if there is none. */
int32_t gnn__token_find(const gnn_tokenizer_t *tokenizer, gnn__string_t left, gnn__string_t right);
/* The byte of a character in GPT-2's alphabet; -1: not in it. */
int gnn__byte_of(int32_t c);
int32_t gnn__character_of(int byte);
/* Decodes a token in GPT-2's alphabet into `to` (at most length bytes); -1: a character is not in
 * the alphabet. */
int64_t gnn__token_bytes(gnn__string_t token, char *to);
/* "<0x0A>" is 10; -1: no such token. */
int gnn__byte_token(gnn__string_t token);
/* Lets the model find a token in text. */
int gnn__piece_add(gnn_tokenizer_t *tokenizer, int32_t id);
/* Reads all tokens of model.vocab, an object of ids. */
int gnn__vocabulary_of(gnn_tokenizer_t *tokenizer, const json_t *model);
/* model.unk_token, or `initial` (NULL: none) where there is no such key. */
int gnn__unknown_read(gnn_tokenizer_t *tokenizer, const json_t *model, const char *initial);
/* "<0x00>" to "<0xFF>" among the tokens, into rules.bytes. */
void gnn__byte_tokens_find(gnn_tokenizer_t *tokenizer);
/* Adds tokens for text outside all pieces: byte tokens, if the vocabulary has them; else the
 * unknown token, one per run with rules.fuse_unknown. */
void gnn__add_unknown(gnn__work_t *work, const char *word, int64_t begin, int64_t end);

/* Adds the tokens of a whole text, with offsets in the text. */
void gnn__encode_text(gnn__work_t *work, const char *text, int64_t bytes);
/* Excludes spaces from the offsets of n tokens of a text, the first of which begins the sentence.
 * trim.c */
void gnn__trim(const gnn__work_t *work, gnn__string_t text, bool special, gnn__token_t *tokens,
               int64_t n);
/* Notes the text of the last token, for a tokenizer that trims. */
void gnn__note_text(gnn__work_t *work, gnn__string_t text);
/* Finds the plain characters of SentencePiece's normaliser, once its table and `kept` are set. */
void gnn__sentencepiece_plain(gnn__sentencepiece_options_t *options);
/* The cached tokens of a word, valid until the next insertion; NULL: not cached. */
const gnn__token_t *gnn__cache_get(const gnn__work_t *work, const char *word, int64_t n,
                                   int64_t *count);
void gnn__cache_put(gnn__work_t *work, const char *word, int64_t n, int64_t first_token);
void gnn__cache_free(struct gnn__cache *cache);

/* ---- reading ---- */

/* Members of JSON objects: the error names "what.key" if it is missing or has another type. With
 * `needed` false, absent ones leave *out unchanged. */
int gnn__json_string(const json_t *object, const char *key, bool needed, gnn__string_t *out);
/* The same without the limit of GNN__MOST_TOKEN_BYTES. */
int gnn__json_long_string(const json_t *object, const char *key, bool needed, gnn__string_t *out);
int gnn__json_bool(const json_t *object, const char *key, bool *out);
int gnn__json_number(const json_t *object, const char *key, bool needed, int64_t *out);
const char *gnn__json_type(const json_t *value);

int gnn__added_read(gnn_tokenizer_t *tokenizer, const json_t *list);
int gnn__added_add(gnn_tokenizer_t *tokenizer, gnn__added_t token);
/* Prepares the search for added tokens, once all have been read. */
int gnn__added_prepare(gnn_tokenizer_t *tokenizer);
int gnn__template_read(gnn_tokenizer_t *tokenizer, const json_t *processor);
int gnn__template_add(gnn__template_t *list, gnn__item_t item);
/* The template of one text, or two, without special tokens. */
int gnn__template_plain(gnn_tokenizer_t *tokenizer);
int gnn__speech_read(gnn__speech_t *speech, const json_t *decoder);

/* Creates an empty tokenizer, and finishes one that has been read: if `rc` or finishing is an
 * error, *tokenizer is freed and set to NULL. tokenizer.c */
int gnn__tokenizer_new(gnn_tokenizer_t **tokenizer);
int gnn__tokenizer_finish(gnn_tokenizer_t **tokenizer, int rc);
/* gnn_tokenizer_open, for files only. tokenizer.c */
int gnn__tokenizer_open_file(gnn_tokenizer_t **tokenizer, const char *path);
/* Reads tokenizer->root; "vocab" is optional if tokens are present already. Messages give the
 * position in the JSON. */
int gnn__tokenizer_build(gnn_tokenizer_t *tokenizer);
/* Takes ownership of the reference to `root`. */
int gnn__tokenizer_of_root(gnn_tokenizer_t **tokenizer, json_t *root);

/* Readers of one format each, entries of readers.def. `data` is zero-terminated; the tokenizer may
 * keep pointers into it. */
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

/* Length of a line without trailing whitespace. readers/vocab_txt.c */
int64_t gnn__without_blanks(const char *line, int64_t n);
/* Appends the merges of a text, one per line, to a list of strings. readers/merges_txt.c */
int gnn__merges_of_text(json_t *merges, const gnn__tokenizer_file_t *file);

/* Pieces of a SentencePiece model, as in its file. readers/sentencepiece_model.c */
typedef struct gnn__listed_piece {
    gnn__string_t text; /* not zero-terminated */
    float score;
    bool control, user;
} gnn__listed_piece_t;
typedef struct gnn__piece_list {
    char *data; /* the file's bytes, which texts point into */
    gnn__listed_piece_t *at;
    int64_t n;
    int32_t unknown;
    bool unigram, pairs, byte_fallback;
    gnn__string_t map; /* its charsmap */
} gnn__piece_list_t;
/* Release the list with gnn__piece_list_close, also after an error. */
int gnn__piece_list_open(gnn__piece_list_t *list, const char *path);
void gnn__piece_list_close(gnn__piece_list_t *list);

/* Merges from rules.scores: every split of a token into two is a merge; larger scores come first.
 * Words then begin at spaces if no token crosses one; `blank` remains the caller's. */
int gnn__merges_of_scores(gnn_tokenizer_t *tokenizer);
int gnn__split_at_blanks(gnn_tokenizer_t *tokenizer, const char *blank);

/* GNN_EINVALID, GNN_EOVERFLOW: a text is NULL or too long; the message names it by `which`.
 * encode.c */
int gnn__texts_check(const gnn_texts_t *texts, const char *which);
/* Of text k. encode.c */
int64_t gnn__texts_bytes(const gnn_texts_t *texts, int64_t k);

/* Reads a whole file; release *data with gnn_free; nothing to release on failure. */
int gnn__bytes_of_file(const char *path, char **data, int64_t *size);
/* tokenizer->root from a string of JSON; GNN_EFORMAT with line and column. */
int gnn__root_of(gnn_tokenizer_t *tokenizer, const char *text, int64_t size);
/* Detects the format, reads and builds. Messages begin with the file's name. */
int gnn__tokenizer_read(gnn_tokenizer_t *tokenizer, const char *path);

#endif
