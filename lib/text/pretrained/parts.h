/* The parts that the model of a folder is made of. */
#ifndef GNN_LIB_TEXT_PARTS_H
#define GNN_LIB_TEXT_PARTS_H

#include <lib/io/weights/arch/arch.h>

/* Types of modules in modules.json: what those of sentence-transformers begin with, its
 * Transformer, and a head that is trained here. */
#define GNN__MODULES "sentence_transformers."
#define GNN__TRANSFORMER GNN__MODULES "models.Transformer"
#define GNN__CLASSES "gnn.Classes"

typedef struct gnn__parts {
    gnn__arch_part_t list[GNN__ARCH_PARTS];
    int count, written; /* those that are not written again are at the end */
} gnn__parts_t;

/* Opens the parts; with a `head`, the config of new classes, the Transformer and that. Also after
 * an error they are closed by gnn__parts_close. */
int gnn__parts_open(gnn__parts_t *parts, const char *folder, const json_t *head);
void gnn__parts_close(gnn__parts_t *parts);

#endif
