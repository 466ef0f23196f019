/* --scale: features as they are, rows of sum or length 1, or columns standardised. */
#include "scale.h"

#include "program.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const scale_names[] = {"auto", "none", "rows", "length", "columns"};

int program_open_set(gnn_data_t **data, const char *path, int directed)
{
    if (strcmp(path, "karate") == 0)
        return gnn_data_karate(data);
    return gnn_data_open_as(data, path,
                            &(gnn_open_config_t){.directed = directed ? GNN_ON : GNN_FLAG_DEFAULT});
}

/* ---- kinds of features ---- */

typedef struct {
    int64_t values, zeros; /* count of all elements, and of zeros */
    int whole, negative;   /* all are integers; some are negative */
    double most;
} values_t;

static void take(values_t *v, double value)
{
    v->zeros += value == 0;
    v->whole = v->whole && value == floor(value);
    v->negative = v->negative || value < 0;
    v->most = fmax(v->most, value);
}

/* Own rows of a rank become those of all. */
static int add_ranks(values_t *v)
{
    double sums[] = {(double)v->values, (double)v->zeros, !v->whole, v->negative, v->most > 1};
    GNN_TRY(program_sum(5, sums));
    if (!program_folder())
        return GNN_OK;
    *v = (values_t){(int64_t)sums[0], (int64_t)sums[1], sums[2] == 0, sums[3] > 0,
                    sums[4] > 0 ? 2 : 1};
    return GNN_OK;
}

/* Implicit zeros of a sparse matrix count like others. */
static int look_at_values(const gnn_data_t *data, values_t *to)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    const gnn_tensor_t *x = gnn_data_x(data);
    values_t v = {.values = gnn_data_nodes(data) * gnn_data_features(data), .whole = 1};
    for (int64_t k = 0; s && k < s->indptr[s->rows]; k++)
        take(&v, (double)s->values[k]);
    for (int64_t r = 0; x && r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            take(&v, (double)x->data[r * (x->stride ? x->stride : x->cols) + c]);
    if (s)
        v.zeros += v.values - s->indptr[s->rows];
    *to = v;
    return add_ranks(to);
}

/* Sums of squares and counts of the non-zeros of each column. */
typedef struct {
    double *squares;
    int64_t *counts;
} sizes_t;

static void add_size(const sizes_t *to, int64_t column, double value)
{
    to->squares[column] += value * value;
    to->counts[column] += value != 0;
}

static void add_sizes(const sizes_t *to, const gnn_data_t *data)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    const gnn_tensor_t *x = gnn_data_x(data);
    for (int64_t k = 0; s && k < s->indptr[s->rows]; k++)
        add_size(to, s->indices[k], (double)s->values[k]);
    for (int64_t r = 0; x && r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            add_size(to, c, (double)x->data[r * (x->stride ? x->stride : x->cols) + c]);
}

static int by_value(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* Have columns different units? The ninth decile of their sizes (root mean squares of non-zeros)
 * is over 30 times the first. Weighted words have up to 4, amounts of things thousands. */
static int has_units(const gnn_data_t *data, int *units)
{
    const int64_t columns = gnn_data_features(data);
    const sizes_t to = {calloc((size_t)columns + 1, sizeof *to.squares),
                        calloc((size_t)columns + 1, sizeof *to.counts)};
    const int rc = to.squares && to.counts ? GNN_OK : GNN_EMEMORY;
    int64_t n = 0;
    *units = 0;
    if (rc == GNN_OK) {
        add_sizes(&to, data);
        for (int64_t c = 0; c < columns; c++)
            if (to.counts[c] > 0)
                to.squares[n++] = sqrt(to.squares[c] / (double)to.counts[c]);
        qsort(to.squares, (size_t)n, sizeof *to.squares, by_value);
        *units = n > 1 && to.squares[n - 1 - n / 10] > 30 * to.squares[n / 10];
    }
    free(to.squares);
    free(to.counts);
    return rc;
}

int features_of(const gnn_data_t *data, features_t *kind)
{
    values_t v;
    int units = 0;
    GNN_TRY(look_at_values(data, &v));
    if (!program_folder()) /* own rows are not standardised */
        GNN_TRY(has_units(data, &units));
    if (v.negative || 2 * v.zeros < v.values)
        *kind = FEATURES_REAL;
    else if (units)
        *kind = FEATURES_AMOUNTS;
    else if (!v.whole)
        *kind = FEATURES_WEIGHTS;
    else
        *kind = v.most <= 1 ? FEATURES_MARKS : FEATURES_COUNTS;
    return GNN_OK;
}

int is_words(features_t kind)
{
    return kind <= FEATURES_WEIGHTS;
}

/* Is every column the same value throughout? Standardised, nothing would be left of it. */
static int is_constant(const gnn_tensor_t *x)
{
    for (int64_t r = 1; r < x->rows; r++)
        if (memcmp(x->data, x->data + r * (x->stride ? x->stride : x->cols),
                   sizeof *x->data * (size_t)x->cols) != 0)
            return 0;
    return 1;
}

/* Would dense columns take little memory, or little more than the sparse ones? */
static int may_be_dense(const gnn_data_t *data)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    const int64_t values = gnn_data_nodes(data) * gnn_data_features(data);
    return !s || values <= (int64_t)1 << 24 || values / 10 <= s->indptr[s->rows];
}

/* Columns of own rows are not standardised, which needs all nodes. */
int scale_for(const gnn_data_t *data, scale_t *scale)
{
    features_t kind;
    GNN_TRY(features_of(data, &kind));
    *scale = SCALE_LENGTH;
    if (!is_words(kind))
        *scale = program_folder() || !may_be_dense(data) ||
                         (gnn_data_x(data) && is_constant(gnn_data_x(data)))
                     ? SCALE_NONE
                     : SCALE_COLUMNS;
    return GNN_OK;
}

int scale_features(gnn_data_t *data, int how)
{
    scale_t scale = (scale_t)how;
    if (how == SCALE_AUTO)
        GNN_TRY(scale_for(data, &scale));
    if (scale == SCALE_ROWS)
        return gnn_data_row_normalise(data);
    if (scale == SCALE_LENGTH)
        return gnn_data_row_unit(data);
    return scale == SCALE_COLUMNS ? gnn_data_standardise(data, -1) : GNN_OK;
}

int keep_words_sparsely(gnn_data_t *data)
{
    values_t v;
    GNN_TRY(look_at_values(data, &v));
    return gnn_data_x(data) && v.values > 0 && 10 * v.zeros > 9 * v.values ? gnn_data_to_sparse(data)
                                                                           : GNN_OK;
}

/* ---- the note of a model's file ---- */

static const char *const forms[] = {"plain", "residual"};

int scale_note(gnn_model_t *model, scale_t scale, int blocks, const gnn_data_t *data,
               const char *graph)
{
    const char *const *names = data ? gnn_data_class_names(data) : NULL;
    const int64_t classes = names ? gnn_data_classes(data) : 0;
    size_t room = 80 + strlen(graph), used;
    for (int64_t c = 0; c < classes; c++)
        room += strlen(names[c]) + 1;
    char *note = malloc(room);
    if (!note)
        return GNN_EMEMORY;
    used = (size_t)snprintf(note, room, "scale=%s form=%s graph=%s", scale_names[scale],
                            forms[blocks != 0], graph);
    for (int64_t c = 0; c < classes; c++)
        used += (size_t)snprintf(note + used, room - used, "\n%s", names[c]);
    const int rc = gnn_model_set_note(model, note);
    free(note);
    return rc;
}

/* Classes meet by name: the same indices may be others in another set. */
static int same_classes(const char *program, const char *path, const char *note,
                        const gnn_data_t *data)
{
    const char *at = note ? strchr(note, '\n') : NULL;
    const char *const *names = data ? gnn_data_class_names(data) : NULL;
    const int64_t classes = names ? gnn_data_classes(data) : 0;
    for (int64_t c = 0; names && at && (c < classes || *at); c++) {
        const char *before = *at ? at + 1 : at, *now = c < classes ? names[c] : "";
        const size_t length = strcspn(before, "\n");
        if (strlen(now) != length || strncmp(now, before, length) != 0) {
            fprintf(stderr, "%s: class %lld is \"%s\" in %s, \"%.*s\" in the training of %s\n",
                    program, (long long)c, now, gnn_data_name(data), (int)length, before, path);
            return PROGRAM_REFUSED;
        }
        at = before + length;
    }
    return GNN_OK;
}

static void read_note(const char *note, int *scale, int *blocks)
{
    char words[2][16];
    if (!note || sscanf(note, "scale=%15s form=%15s", words[0], words[1]) != 2)
        return;
    for (int k = 0; k < SCALES; k++)
        if (strcmp(words[0], scale_names[k]) == 0)
            *scale = k;
    *blocks = strcmp(words[1], forms[1]) == 0;
}

const char *graph_as_stored(int directed)
{
    return directed ? "directed=1,diffusion=none" : "directed=0,diffusion=none";
}

/* Refuses other options of the graph, if the note has them (since version 0.2). */
static int same_graph(const char *program, const char *path, const char *note, const char *graph)
{
    const char *before = note ? strstr(note, " graph=") : NULL,
               *end = note ? strchr(note, '\n') : NULL;
    if (!before || (end && end < before))
        return GNN_OK;
    before += strlen(" graph=");
    const size_t length = strcspn(before, "\n");
    if (strlen(graph) == length && strncmp(graph, before, length) == 0)
        return GNN_OK;
    fprintf(stderr,
            "%s: the graph is made by other options (%s) than in the training of %s (%.*s): "
            "--directed and --diffusion with its options are expected as they were\n",
            program, graph, path, (int)length, before);
    return PROGRAM_REFUSED;
}

/* Takes the scale of a note, unless another one was asked for. */
static int take_note(const char *program, const char *path, const char *note, int *scale, int *blocks)
{
    int before = -1;
    *blocks = -1;
    read_note(note, &before, blocks);
    if (before < 0)
        return GNN_OK;
    if (*scale != SCALE_AUTO && *scale != before) {
        fprintf(stderr, "%s: --scale %s: the model of %s was trained with %s\n", program,
                scale_names[*scale], path, scale_names[before]);
        return PROGRAM_REFUSED;
    }
    *scale = before;
    return GNN_OK;
}

int scale_of_model(const char *program, const char *path, const gnn_model_t *model,
                   const gnn_data_t *data, const char *graph, int *scale, int *blocks)
{
    GNN_TRY(same_graph(program, path, gnn_model_note(model), graph));
    GNN_TRY(same_classes(program, path, gnn_model_note(model), data));
    return take_note(program, path, gnn_model_note(model), scale, blocks);
}

int scale_of_checkpoint(const char *program, const char *path, const char *graph, int *scale,
                        int *blocks)
{
    const gnn_limits_t limits = {.max_bytes = INT64_MAX, .max_entries = INT32_MAX};
    gnn_arrays_t *arrays;
    GNN_TRY(gnn_safetensors_read(&arrays, path, &limits));
    const char *note = gnn_arrays_metadata(arrays, "gnn.note");
    int rc = same_graph(program, path, note, graph);
    if (rc == GNN_OK)
        rc = take_note(program, path, note, scale, blocks);
    gnn_arrays_free(arrays);
    return rc;
}
