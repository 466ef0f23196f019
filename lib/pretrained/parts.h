/* Parts of a folder's model. */
#ifndef GNN_LIB_PRETRAINED_PARTS_H
#define GNN_LIB_PRETRAINED_PARTS_H

#include <lib/weights/arch/arch.h>

/* Types of modules in modules.json: the prefix of sentence-transformers, its Transformer, and a
 * head trained by libgnn. */
#define GNN__MODULES "sentence_transformers."
#define GNN__TRANSFORMER GNN__MODULES "models.Transformer"
#define GNN__STATIC GNN__MODULES "models.StaticEmbedding"
#define GNN__CLASSES "gnn.Classes"

typedef struct gnn__parts {
    gnn__arch_part_t list[GNN__ARCH_PARTS];
    const char *types[GNN__ARCH_PARTS]; /* as modules.json has them; NULL: in no list */
    /* "1_Pooling/config.json", for messages */
    char config_names[GNN__ARCH_PARTS][GNN__ARCH_NAME];
    int count, written;  /* those that are not written again are at the end */
    json_t *modules;     /* modules.json; NULL: no such file */
    json_t *transformer; /* sentence_bert_config.json; NULL: no such file */
    char *folder;        /* of the first part and of the tokenizer */
    bool is_static;      /* the first part is an embedding table: no special tokens */
} gnn__parts_t;

/* Opens the parts; with a `head`, the config of new classes, only the Transformer and that head.
 * Close with gnn__parts_close, also after an error. */
int gnn__parts_open(gnn__parts_t *parts, const char *folder, const json_t *head);
void gnn__parts_close(gnn__parts_t *parts);

#endif
