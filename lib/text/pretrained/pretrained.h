/* Inside of a pretrained model. */
#ifndef GNN_LIB_TEXT_PRETRAINED_H
#define GNN_LIB_TEXT_PRETRAINED_H

#include <gnn/finetune.h>
#include <lib/text/pretrained/parts.h>

struct gnn_pretrained {
    const gnn__arch_t *arch;
    gnn__arch_model_t made;
    gnn_tokenizer_t *tokenizer;    /* NULL: none */
    char *folder;                  /* that it was opened from */
    json_t *head;                  /* config of classes that are new; NULL: none */
    json_t *config;                /* config.json */
    json_t *generation;            /* generation_config.json; NULL: there is none */
    json_t *labels;                /* id2label; NULL: none */
    json_t *prompts;               /* what may stand before a text, by name; NULL: none */
    const char *prompt;            /* the one that is chosen; NULL or empty: none */
    bool prompts_left_out;         /* their rows are no part of a sentence's vector */
    gnn_parameter_group_t *groups; /* what gnn_pretrained_groups has made last */
    char (*prefixes)[GNN__ARCH_NAME + 8];
    int64_t max_length; /* 0: any */
    int64_t n_labels;
};

/* gnn_pretrained_open_with, with the config of new classes, which it takes over, or NULL. */
int gnn__pretrained_take(gnn_pretrained_t **pretrained, gnn_context_t *context, const char *folder,
                         json_t *head, const gnn_pretrained_config_t *config);

/* Tokens of sentences `first` .. `end` - 1, which begin at `row`, become a batch. embed.c */
int gnn__pretrained_some(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *p,
                         const gnn_tokens_t *tokens, int64_t first, int64_t end, int64_t row);

/* A row of `step` for each text, or each pair where `second` is not NULL. embed.c */
int gnn__pretrained_texts(const gnn_pretrained_t *p, gnn_context_t *context, const gnn_texts_t *texts,
                          const gnn_texts_t *second, const char *step, const gnn_tensor_t *out);

/* Tokens of a text at most: the model's limit or a lower one of the tokenizer's; 0: any.
 * embed.c */
int64_t gnn__pretrained_most(const gnn_pretrained_t *p);

/* The prompts of the folder, and its default one chosen. prompts.c */
int gnn__prompts_open(gnn_pretrained_t *p, const gnn__parts_t *parts);

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

/* A number that the rows have named by SET; `otherwise` if they have not. */
int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise);

/* Every id is a row of the tables that read this input. batch.c */
int gnn__pretrained_check_ids(const gnn_pretrained_t *p, const gnn_named_t *value);
/* Makes the graphs of a batch ready for training. batch.c */
int gnn__pretrained_batch_prepare(gnn_pretrained_batch_t *batch);
/* Does the model read an input of this name? batch.c */
bool gnn__pretrained_reads(const gnn_pretrained_t *p, const char *input);

#endif
