/* Inside of a pretrained model. */
#ifndef GNN_LIB_TEXT_PRETRAINED_H
#define GNN_LIB_TEXT_PRETRAINED_H

#include <gnn/pretrained.h>
#include <lib/io/weights/arch/arch.h>

struct gnn_pretrained {
    const gnn__arch_t *arch;
    gnn__arch_model_t made;
    gnn_tokenizer_t *tokenizer; /* NULL: none */
    json_t *config;
    json_t *generation; /* generation_config.json; NULL: there is none */
    int64_t max_length; /* 0: any */
    int64_t n_labels;
};

/* A number that the rows have named by SET; `otherwise` if they have not. */
int64_t gnn__pretrained_number(const gnn_pretrained_t *p, const char *name, int64_t otherwise);

/* Every id is a row of the tables that read this input. batch.c */
int gnn__pretrained_check_ids(const gnn_pretrained_t *p, const gnn_named_t *value);
/* Does the model read an input of this name? batch.c */
bool gnn__pretrained_reads(const gnn_pretrained_t *p, const char *input);

#endif
