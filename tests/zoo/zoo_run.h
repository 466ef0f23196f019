/* Inside the gallery's harness: what an entry declared, and its run. */
#ifndef GNN_TESTS_ZOO_RUN_H
#define GNN_TESTS_ZOO_RUN_H

#include "zoo.h"

enum { BINDS = 600 };

typedef struct {
    char step[48], array[48];
} also_t;

typedef struct gallery {
    char names[VALUES][48];
    int n_names;
    bind_t binds[BINDS];
    int n_binds;
    char unchecked[8][48];
    int n_unchecked;
    char fixed[64][48];
    int n_fixed;
    also_t also[8];
    int n_also;
    double slack;     /* of comparisons between forms of a graph; 0: none */
    bool approximate; /* zoo_approximate */
    uint64_t moved;   /* seed by which inputs differ in the last bit; 0: they are the file's */
} gallery_t;

/* Makes the model of an entry, with the values of the case, and puts it on a tape. */
void zoo_entry_build(zoo_t *z, gallery_t *gallery, const entry_t *entry);
/* Inputs that the model reads and that no entry declared, by the names of arrays. */
void zoo_add_inputs(zoo_t *z);
/* Finds the array of every field; fails where there is none. */
void zoo_bind_fields(zoo_t *z);
/* Fields from their arrays. */
void zoo_fill_fields(zoo_t *z);
/* The gradients of all fields and inputs against the case. */
void zoo_compare_gradients(zoo_t *z);
/* The arrays of a case as tests/zoo/sizes.txt describes them, drawn, with `times` the rows and
 * without stored pairs if that is not 1; false: it has none. */
bool zoo_draw(zoo_t *z, const char *name, int64_t times);

#endif
