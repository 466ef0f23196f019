/* Inside of a pretrained model. */
#ifndef GNN_LIB_TEXT_PRETRAINED_H
#define GNN_LIB_TEXT_PRETRAINED_H

#include <gnn/finetune.h>
#include <lib/text/pretrained/parts.h>

struct gnn_pretrained {
    const gnn__arch_t *arch;
    gnn__arch_model_t made;
    gnn_tokenizer_t *tokenizer; /* NULL: none */
    char *folder;               /* that it was opened from */
    json_t *head;               /* config of classes that are new; NULL: none */
    json_t *config;             /* config.json */
    json_t *generation;         /* generation_config.json; NULL: there is none */
    json_t *labels;             /* id2label; NULL: none */
    json_t *prompts;            /* what may stand before a text, by name; NULL: none */
    const char *prompt;         /* the one that is chosen; NULL or empty: none */
    bool prompts_left_out;      /* their rows are no part of a sentence's vector */
    bool is_static;             /* tokens without what stands around a text */
    bool global_first;          /* the first token of a sequence is global */
    char *model_folder;         /* of the Transformer and the tokenizer */
    int64_t columns;            /* that vectors of sentences keep; 0: all */
    const char *similarity;     /* a name of similarity.c's table */
    bool language;              /* texts that are written begin with this token */
    int32_t language_id;
    gnn_parameter_group_t *groups; /* what gnn_pretrained_groups has made last */
    char (*prefixes)[GNN__ARCH_NAME + 8];
    int64_t max_length; /* 0: any */
    int64_t n_labels;
};

/* gnn_pretrained_open_with, with the config of new classes, which it takes over, or NULL. */
int gnn__pretrained_take(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder,
                         json_t *head, const gnn_pretrained_config_t *config);

/* A row of `step` for each text, or each pair where `second` is not NULL. embed.c */
int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out);

/* Some texts of those that were tokenized, which run at once. */
typedef struct gnn__some_texts {
    const gnn_tokens_t *tokens;
    int64_t first, end; /* the texts */
    int64_t row, rows;  /* the first one's first token, and tokens of all of them */
    const gnn_pretrained_batch_t *batch;
} gnn__some_texts_t;
typedef int gnn__some_texts_use_t(void *user, const gnn__some_texts_t *some);
/* Hands tokenized texts in their order to `use`, some at a time, whose error it returns; fewer
 * where a row of `width` columns that is made of each token is wide. `skipped` as
 * gnn__pretrained_batch_make has it. embed.c */
int gnn__pretrained_in_parts(const gnn_pretrained_t *p, const gnn_tokens_t *tokens, int64_t width,
                             int64_t skipped, gnn__some_texts_use_t *use, void *user);

/* Tokens of a text at most: the model's limit or a lower one of the tokenizer's; 0: any.
 * prompts.c */
int64_t gnn__pretrained_most(const gnn_pretrained_t *p);

/* config_sentence_transformers.json: prompts, with the default one chosen, columns of vectors and
 * how they are compared. prompts.c */
int gnn__prompts_open(gnn_pretrained_t *p, const gnn__parts_t *parts);
/* Tokens at the start of each text that come of the chosen prompt and that vectors leave out.
 * prompts.c */
int gnn__prompts_skipped(const gnn_pretrained_t *p, int64_t *tokens);

/* Texts behind the chosen prompt: the caller's own where there is none. Also after an error they
 * are released by gnn__prompted_free. prompts.c */
typedef struct gnn__prompted {
    gnn_texts_t texts;
    const char **at;
    int64_t *bytes;
    char *letters;
} gnn__prompted_t;
int gnn__prompted_make(gnn__prompted_t *made, const gnn_pretrained_t *p, const gnn_texts_t *texts);
void gnn__prompted_free(gnn__prompted_t *prompted);

/* A number that the entries have named by SET; `otherwise` if they have not. */
int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise);
/* The same for a text; NULL if they have not. */
const char *gnn__pretrained_word(const gnn_pretrained_t *p, const char *name);

/* gnn_pretrained_batch_new_with; vectors of sentences leave out `skipped` rows at the start of each
 * sequence. batch.c */
int gnn__pretrained_batch_make(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *pretrained,
                               const gnn_sequences_t *sequences, const int32_t *global,
                               int64_t skipped);

/* The name of a function of similarity.c, NULL if there is none of this name. */
const char *gnn__similarity_find(const char *name);

/* Every id is a row of the tables that read this input. batch.c */
int gnn__pretrained_check_ids(const gnn_pretrained_t *p, const gnn_named_t *value);
/* Makes the graphs of a batch ready for training. batch.c */
int gnn__pretrained_batch_prepare(gnn_pretrained_batch_t *batch);
/* Does the model read an input of this name? batch.c */
bool gnn__pretrained_reads(const gnn_pretrained_t *p, const char *input);

#endif
