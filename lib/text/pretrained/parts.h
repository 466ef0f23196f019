/* The parts that the model of a folder is made of. */
#ifndef GNN_LIB_TEXT_PARTS_H
#define GNN_LIB_TEXT_PARTS_H

#include <lib/io/weights/arch/arch.h>

/* Types of modules in modules.json: what those of sentence-transformers begin with, its
 * Transformer, and a head that is trained here. */
#define GNN__MODULES "sentence_transformers."
#define GNN__TRANSFORMER GNN__MODULES "models.Transformer"
#define GNN__STATIC GNN__MODULES "models.StaticEmbedding"
#define GNN__CLASSES "gnn.Classes"

typedef struct gnn__parts {
    gnn__arch_part_t list[GNN__ARCH_PARTS];
    const char *types[GNN__ARCH_PARTS]; /* as modules.json has them; NULL: in no list */
    int count, written;                 /* those that are not written again are at the end */
    json_t *modules;                    /* modules.json; NULL: there is none */
    json_t *transformer;                /* sentence_bert_config.json; NULL: there is none */
    char *folder;                       /* of the first part and of the tokenizer */
    bool is_static; /* the first part is a table: tokens without what stands around a text */
} gnn__parts_t;

/* Opens the parts; with a `head`, the config of new classes, the Transformer and that. Also after
 * an error they are closed by gnn__parts_close. */
int gnn__parts_open(gnn__parts_t *parts, const char *folder, const json_t *head);
void gnn__parts_close(gnn__parts_t *parts);

#endif
