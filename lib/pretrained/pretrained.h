/* Internals of a pretrained model. */
#ifndef GNN_LIB_PRETRAINED_PRETRAINED_H
#define GNN_LIB_PRETRAINED_PRETRAINED_H

#include <gnn/finetune.h>
#include <lib/pretrained/parts.h>

struct gnn_pretrained {
    const gnn__arch_t *arch;
    gnn__arch_model_t made;
    gnn_tokenizer_t *tokenizer; /* NULL: none */
    char *folder;               /* the folder it was opened from */
    json_t *head;               /* config of classes that are new; NULL: none */
    json_t *config;             /* config.json */
    json_t *generation;         /* generation settings, of the file generation_file */
    const char *generation_file;
    json_t *labels;         /* id2label; NULL: none */
    json_t *prompts;        /* prompts before a text, by name; NULL: none */
    const char *prompt;     /* the chosen prompt; NULL or empty: none */
    bool prompts_left_out;  /* rows of the prompt are left out of pooling */
    bool is_static;         /* texts are encoded without special tokens */
    bool global_first;      /* the first token of a sequence is global */
    char *model_folder;     /* of the Transformer and the tokenizer */
    int64_t columns;        /* columns that sentence embeddings keep; 0: all */
    const char *similarity; /* a name of similarity.c's table */
    bool language;          /* first token of generated texts */
    int32_t language_id;
    gnn_parameter_group_t *groups; /* the last result of gnn_pretrained_groups */
    char (*prefixes)[GNN__ARCH_NAME + 8];
    int64_t max_length;  /* 0: any */
    bool refuses_longer; /* texts are not cut: the model computes longer ones in another way */
    int64_t n_labels;
};

/* gnn_pretrained_open_with, with the config of new classes (takes ownership; may be NULL). */
int gnn__pretrained_take(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder,
                         json_t *head, const gnn_pretrained_config_t *config);

/* One row of `step` per text, or per pair if `second` is not NULL. embed.c */
int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out);

/* A batch of the tokenized texts. */
typedef struct gnn__some_texts {
    const gnn_tokens_t *tokens;
    int64_t first, end; /* the texts */
    int64_t row, rows;  /* index of the first token, and the count of tokens */
    const gnn_pretrained_batch_t *batch;
} gnn__some_texts_t;
typedef int gnn__some_texts_use_t(void *user, const gnn__some_texts_t *some);
/* Calls `use` on batches of tokenized texts, in order, and returns its error; batches are smaller
 * if each token gives a wide row (`width` columns). `skipped` as in gnn__pretrained_batch_make.
 * embed.c */
int gnn__pretrained_in_parts(const gnn_pretrained_t *p, const gnn_tokens_t *tokens, int64_t width,
                             int64_t skipped, gnn__some_texts_use_t *use, void *user);

/* GNN_EUNSUPPORTED: texts need a tokenizer, and the folder has none. prompts.c */
int gnn__pretrained_no_tokenizer(void);

/* Maximum tokens per text: the model's limit or a lower one of the tokenizer; 0: unlimited.
 * prompts.c */
int64_t gnn__pretrained_most(const gnn_pretrained_t *p);

/* config_sentence_transformers.json: prompts with the default one, embedding columns and similarity
 * function. prompts.c */
int gnn__prompts_open(gnn_pretrained_t *p, const gnn__parts_t *parts);
/* Tokens of the chosen prompt at the start of each text, left out of pooling. prompts.c */
int gnn__prompts_skipped(const gnn_pretrained_t *p, int64_t *tokens);

/* Texts with the chosen prompt before them; the caller's own if there is none. Release with
 * gnn__prompted_free, also after an error. prompts.c */
typedef struct gnn__prompted {
    gnn_texts_t texts;
    const char **at;
    int64_t *bytes;
    char *letters;
} gnn__prompted_t;
int gnn__prompted_make(gnn__prompted_t *made, const gnn_pretrained_t *p, const gnn_texts_t *texts);
void gnn__prompted_free(gnn__prompted_t *prompted);

/* A numeric setting by the names of SET; `otherwise` if absent. */
int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise);
/* The same for a text; NULL if absent. */
const char *gnn__pretrained_word(const gnn_pretrained_t *p, const char *name);

/* gnn_pretrained_batch_new_with; pooling leaves out `skipped` rows at the start of each sequence.
 * batch.c */
int gnn__pretrained_batch_make(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *pretrained,
                               const gnn_sequences_t *sequences, const int32_t *global,
                               int64_t skipped);

/* gnn_pretrained_state of the prompts of a generation, which may have tokens of the decoder, too;
 * they are not read. token_by_token.c */
int gnn__pretrained_make_state(gnn_state_t **state, const gnn_pretrained_t *pretrained,
                               gnn_context_t *context, const gnn_sequences_t *sequences,
                               int64_t capacity);

/* The name of a function of similarity.c, NULL if there is none of this name. */
const char *gnn__similarity_find(const char *name);

/* Positions of `count` tokens of a sequence from `begin` on. In an architecture whose table has a
 * row of padding, padding tokens have that row, and are not counted; ids may be NULL: none. */
void gnn__pretrained_positions(const gnn_pretrained_t *p, int32_t *positions, const int32_t *ids,
                               int64_t begin, int64_t count);
/* Checks that every id is a row of the tables that read this input. batch.c */
int gnn__pretrained_check_ids(const gnn_pretrained_t *p, const gnn_named_t *value);
/* Makes the graphs of a batch ready for training. batch.c */
int gnn__pretrained_batch_prepare(gnn_pretrained_batch_t *batch);
/* Does the model read an input of this name? pretrained.c */
bool gnn__pretrained_reads(const gnn_pretrained_t *p, const char *input);

#endif
