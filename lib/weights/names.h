/* Internals of imports and exports: a step of a model, or a single layer, bound to a module of
 * another library under a prefix. */
#ifndef GNN_LIB_WEIGHTS_NAMES_H
#define GNN_LIB_WEIGHTS_NAMES_H

#include <gnn/io.h>
#include <lib/data/arrays/arrays.h>
#include <lib/model/model.h>

typedef enum {
    GNN__LINEAR,
    GNN__MATRIX,
    GNN__VECTOR,
    GNN__OPTIONAL_VECTOR,
    GNN__HEADS,
    GNN__ONE_HEADS,
    GNN__HEAD_IN_OUT,
    GNN__STACK,
    GNN__EPSILON,
    GNN__ELSEWHERE,
    GNN__IGNORED,
    GNN__ROWS
} gnn__array_layout_t;

/* An entry of names.def. */
typedef struct gnn__name_row {
    int module;
    const char *array, *field;
    gnn__array_layout_t layout;
} gnn__name_row_t;

typedef struct gnn__binding {
    const gnn_layer_t *layer;      /* NULL: the op `step` */
    const gnn__model_step_t *step; /* NULL: a single layer */
    gnn_parameters_t *parameters;
    gnn_names_t names;
    int module; /* -1: our own names */
    char *prefix;
    int64_t number;        /* replaces '#', from 1 */
    int64_t slice, slices; /* among the bindings of the same prefix and module */
} gnn__binding_t;

/* Location of an entry's field in its foreign array. */
typedef struct gnn__place {
    gnn_tensor_t field;
    gnn__array_layout_t layout;
    int64_t offset, total; /* offset of the field's columns along the array's first axis */
    int64_t heads, slice, slices;
} gnn__place_t;

/* Finds the module of a binding: GNN_EUNSUPPORTED if the convention has none for it. */
int gnn__names_module(gnn__binding_t *binding);
/* Entry `k` of the binding's module; false past the last. */
bool gnn__names_row(const gnn__binding_t *binding, int64_t k, gnn__name_row_t *row);
/* A field of the binding's layer or op; false if it has none of that name. */
bool gnn__names_field(const gnn__binding_t *binding, const char *field, int gradients,
                      gnn_tensor_t *tensor);
/* Field k, for checking that every field has an entry; NULL past the last. */
const char *gnn__names_own_field(const gnn__binding_t *binding, int64_t k);
/* Is the field of an op that of an earlier step, under whose name the array may be alone? */
bool gnn__names_shared(const gnn__binding_t *b, const char *field);
/* The location of an entry's field; false if the layer has no such field. */
bool gnn__names_place(const gnn__binding_t *binding, const gnn__name_row_t *row, int gradients,
                      gnn__place_t *place);
/* The array's shape that this location requires; returns the count of dimensions. */
int gnn__names_shape(const gnn__place_t *place, int64_t shape[3]);
/* Element (r, c) of the field in the array. */
int64_t gnn__names_index(const gnn__place_t *place, int64_t r, int64_t c);
/* Prefix and array's name with '#' replaced; released with gnn_free. */
int gnn__names_full(char **full, const gnn__binding_t *binding, const char *array);

#endif
