/**
 * Splits of rows into training, validation and test. Rows may be nodes, edges with classes, graphs
 * of a set of many, or anything else with a class.
 *
 * Data sets, batches, training runs and metrics take splits as a gnn_split_t, which holds one or
 * more splits over the same rows. It is made in one of these ways:
 *
 *     gnn_split_from_masks(&split, n, 1, train_mask, val_mask, test_mask);       PyG, DGL
 *     gnn_split_new(&split, n, 1);                                               OGB
 *     gnn_split_set_indices(split, GNN_TRAIN, 0, n_train, train_idx);
 *     gnn_split_draw(&split, labels, n, &(gnn_split_rule_t){.train_each = 20});  a rule
 */
#ifndef GNN_SPLIT_H
#define GNN_SPLIT_H

#include <gnn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GNN_TRAIN 0
#define GNN_VALIDATION 1
#define GNN_TEST 2

/** One or more splits over the same rows: for each three masks, of its parts training, validation
 * and test. */
typedef struct gnn_split gnn_split_t;

/* Masks are arrays of bytes, zero or non-zero: bool, or uint8 as NumPy and PyTorch store them. */
#ifndef __cplusplus
static inline const uint8_t *gnn__mask_bytes(const void *mask)
{
    return (const uint8_t *)mask;
}
/* clang-format off */
#define gnn__mask(mask)                                                                   \
    _Generic((mask), const uint8_t *: gnn__mask_bytes, uint8_t *: gnn__mask_bytes,        \
             const _Bool *: gnn__mask_bytes, _Bool *: gnn__mask_bytes,                    \
             void *: gnn__mask_bytes)(mask)
/* clang-format on */
#endif

/* ---- from masks, indices or parts ---- */

/**
 * Makes splits with empty masks.
 *
 * @param[out] split  the caller's, for gnn_split_free
 * @param[in] rows    at least 0
 * @param[in] count   count of the splits, at least 1
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW; GNN_EMEMORY. Memory: 3 bytes per row and split
 */
GNN_API int gnn_split_new(gnn_split_t **split, int64_t rows, int64_t count);
/**
 * Makes splits from masks such as PyG's train_mask, val_mask and test_mask: bool or uint8_t.
 *
 * @param[in] rows                     of each mask, at least 0
 * @param[in] count                    count of the splits, at least 1
 * @param[in] train, validation, test  (count x rows), non-zero for rows in the part; NULL: empty. A
 *                                     row may be in several parts
 * @return as gnn_split_new
 */
GNN_API int gnn_split_from_masks(gnn_split_t **split, int64_t rows, int64_t count,
                                 const uint8_t *train, const uint8_t *validation,
                                 const uint8_t *test);
/**
 * Makes splits from an array with the part of each row.
 *
 * @param[in] rows   of each split, at least 0
 * @param[in] count  count of the splits, at least 1
 * @param[in] parts  (count x rows) GNN_TRAIN, GNN_VALIDATION, GNN_TEST, or -1: in no part
 * @return as gnn_split_new; GNN_EINVALID names the row of an invalid value
 */
GNN_API int gnn_split_from_parts(gnn_split_t **split, int64_t rows, int64_t count,
                                 const int8_t *parts);
/**
 * Replaces the mask of a part of split `index`.
 *
 * @param[in] part    GNN_TRAIN, GNN_VALIDATION or GNN_TEST
 * @param[in] mask    (rows), element r at mask[r * stride]; NULL: empty
 * @param[in] stride  1; or the count of splits for a matrix with one column per split, as PyG's
 *                    masks of several splits (pass mask + index)
 * @return GNN_OK; GNN_EINVALID
 */
GNN_API int gnn_split_set_mask(gnn_split_t *split, int part, int64_t index, const uint8_t *mask,
                               int64_t stride);
/**
 * Replaces the mask of a part of split `index` by a list of rows, such as OGB's split_idx["train"].
 *
 * @param[in] part   GNN_TRAIN, GNN_VALIDATION or GNN_TEST
 * @param[in] count  count of the listed rows
 * @param[in] rows   (count) from 0, of int32_t or int64_t
 * @return GNN_OK; GNN_EINVALID names an index out of range; nothing is changed then
 */
GNN_API int gnn_split_set_indices(gnn_split_t *split, int part, int64_t index, int64_t count,
                                  gnn_ints_t rows);
#ifndef __cplusplus
#define gnn_split_from_masks(split, rows, count, train, validation, test)             \
    gnn_split_from_masks(split, rows, count, gnn__mask(train), gnn__mask(validation), \
                         gnn__mask(test))
#define gnn_split_set_mask(split, part, index, mask, stride) \
    gnn_split_set_mask(split, part, index, gnn__mask(mask), stride)
#define gnn_split_set_indices(split, part, index, count, ...) \
    gnn_split_set_indices(split, part, index, count, gnn_ints(__VA_ARGS__))
#endif
/** Frees splits; may be NULL. */
GNN_API void gnn_split_free(gnn_split_t *split);

/* ---- queries ---- */

/** Count of the rows that are split. */
GNN_API int64_t gnn_split_rows(const gnn_split_t *split);
/** The mask of a part (rows), 1 or 0, for metrics and losses; NULL if there is no such part or
 * split. Owned by the split. */
GNN_API const uint8_t *gnn_split_mask(const gnn_split_t *split, int part, int64_t index);

/* ---- random splits ---- */

/** Settings of gnn_split_draw. Rows of each class are assigned to training first, then to
 * validation, then to test. Zero means none, or the default in brackets. */
typedef struct gnn_split_rule {
    int64_t splits; /**< count of independent splits [1] */
    /** rows per class; a class that is too small gives half of its rows to training, and half of
     * the others to validation */
    int64_t train_each, validation_each;
    /** alternatively, a fraction of each class in [0, 1] (a stratified split); rounded down */
    double train_share, validation_share;
    int64_t validation; /**< further rows, of any class */
    int64_t test;       /**< test rows of any class, of those that remain [all] */
    uint64_t seed;
} gnn_split_rule_t;

/**
 * Draws random splits by a rule.
 *
 * @param[out] split  the caller's
 * @param[in] labels  (n) classes, of int32_t or int64_t; rows with a negative one are excluded
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative count, fractions outside [0, 1] or with a sum
 *         over 1); GNN_EMEMORY. Cost: O(splits (n + classes)). Split k depends on labels, rule and
 *         k alone.
 */
GNN_API int gnn_split_draw(gnn_split_t **split, gnn_ints_t labels, int64_t n,
                           const gnn_split_rule_t *rule);
/**
 * Draws k folds for cross-validation as `folds` splits: fold f is the test part of split f, the
 * next fold (cyclically) its validation part, all others the training part. Sizes of folds differ
 * by at most one, and so do their counts per class (stratified).
 *
 * @param[in] labels  (n) classes, or NULL: not stratified. Rows with a negative one are excluded
 * @param[in] folds   from 2 to n; with 2 the training part is empty unless validation is cleared
 *                    (gnn_split_set_mask with NULL)
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. Cost: O(folds n + classes)
 */
GNN_API int gnn_split_folds(gnn_split_t **split, gnn_ints_t labels, int64_t n, int64_t folds,
                            uint64_t seed);
#ifndef __cplusplus
#define gnn_split_draw(split, labels, n, ...) \
    gnn_split_draw(split, gnn_ints(labels), n, __VA_ARGS__)
#define gnn_split_folds(split, labels, n, folds, seed) \
    gnn_split_folds(split, gnn_ints(labels), n, folds, seed)
#endif

#ifdef __cplusplus
}
#endif
#endif
