/**
 * Splits: the rows that are learned from, those that choose and those that are judged. The rows may
 * be nodes, edges with classes, graphs of a set of many, or anything else that has a class.
 *
 * A gnn_split_t is the one form in which data sets, batches, trainings and metrics take them. It
 * holds one split or several over the same rows, and is made of what a program has:
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

/** One split or several over the same rows: for each the rows of its three parts. */
typedef struct gnn_split gnn_split_t;

/* Masks are arrays of bytes, 0 or not: bool, or uint8 as NumPy and PyTorch store it. */
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

/* ---- made of what a program has ---- */

/**
 * Makes splits in which no row is in a part yet.
 *
 * @param[out] split  the caller's, for gnn_split_free
 * @param[in] rows    at least 0
 * @param[in] count   how many splits, at least 1
 * @return GNN_OK; GNN_EINVALID; GNN_EOVERFLOW; GNN_EMEMORY. Memory: 3 bytes per row and split
 */
GNN_API int gnn_split_new(gnn_split_t **split, int64_t rows, int64_t count);
/**
 * Makes splits from masks such as PyG's train_mask, val_mask and test_mask: bool or uint8_t.
 *
 * @param[in] train, validation, test  (count x rows), not 0 where the row is in the part; NULL: no
 *                                     row is. A row may be in several parts
 * @return as gnn_split_new
 */
GNN_API int gnn_split_from_masks(gnn_split_t **split, int64_t rows, int64_t count,
                                 const uint8_t *train, const uint8_t *validation,
                                 const uint8_t *test);
/**
 * Makes splits from one array that has the part of each row.
 *
 * @param[in] parts  (count x rows) GNN_TRAIN, GNN_VALIDATION, GNN_TEST, or -1: in no part
 * @return as gnn_split_new; GNN_EINVALID names the row with another value
 */
GNN_API int gnn_split_from_parts(gnn_split_t **split, int64_t rows, int64_t count,
                                 const int8_t *parts);
/**
 * Sets the rows of a part of split `index` by a mask, in place of those that it had.
 *
 * @param[in] part    GNN_TRAIN, GNN_VALIDATION or GNN_TEST
 * @param[in] mask    (rows), value r at mask[r * stride]; NULL: no row is
 * @param[in] stride  1; or the number of splits where a matrix has a column for each, as PyG's
 *                    masks of several splits: mask + index is column `index`
 * @return GNN_OK; GNN_EINVALID
 */
GNN_API int gnn_split_set_mask(gnn_split_t *split, int part, int64_t index, const uint8_t *mask,
                               int64_t stride);
/**
 * Sets the rows of a part of split `index` by their indices, such as OGB's split_idx["train"].
 *
 * @param[in] rows  (count) from 0, of int32_t or int64_t
 * @return GNN_OK; GNN_EINVALID names a number that is no row's; nothing is changed then
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
/** Copies splits: the copy is the caller's, for gnn_split_free. */
GNN_API int gnn_split_copy(gnn_split_t **split, const gnn_split_t *of);
/** Frees splits; NULL is fine. */
GNN_API void gnn_split_free(gnn_split_t *split);

/* ---- looking at them ---- */

/** Count of the rows that are split. */
GNN_API int64_t gnn_split_rows(const gnn_split_t *split);
/** Count of the splits. */
GNN_API int64_t gnn_split_count(const gnn_split_t *split);
/** The mask of a part (rows): 1 where a row is in it, else 0, as metrics and losses take it; NULL
 * if there is no such part or split. Owned by the split. */
GNN_API const uint8_t *gnn_split_mask(const gnn_split_t *split, int part, int64_t index);

/* ---- drawn by a rule ---- */

/** How rows are shared out. Rows of a class are taken for training first, then for validation, then
 * for the test. Zero means none, or the default in brackets. */
typedef struct gnn_split_rule {
    int64_t splits; /**< how many are drawn, each with draws of its own [1] */
    /** rows of each class; a class that is too small gives half of its rows to the training, and
     * half of the rest to validation */
    int64_t train_each, validation_each;
    /** in their place: a share of each class, from 0 to 1 (a stratified split); rounded down */
    double train_share, validation_share;
    int64_t validation; /**< rows of any class, of those that are left */
    int64_t test;       /**< rows of any class, of those that are left then [all] */
    uint64_t seed;
} gnn_split_rule_t;

/**
 * Draws the splits of a rule.
 *
 * @param[out] split  the caller's
 * @param[in] labels  (n) classes, of int32_t or int64_t; a negative one leaves its row out
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative number, shares that are not in 0 .. 1 or add up
 *         to more); GNN_EMEMORY. Cost: O(splits (n + classes)). Split k depends on labels, rule and
 *         k alone.
 */
GNN_API int gnn_split_draw(gnn_split_t **split, gnn_ints_t labels, int64_t n,
                           const gnn_split_rule_t *rule);
/**
 * Draws k folds for cross-validation as `folds` splits: fold f is the test of split f, the next
 * fold (fold 0 after the last) its validation, all others are the training. Sizes of folds differ
 * by at most one, and so do the numbers that they have of each class (stratified).
 *
 * @param[in] labels  (n) classes, or NULL: rows are shuffled without classes. A negative one leaves
 *                    its row out
 * @param[in] folds   from 2 to n; with 2 there is no row to train on unless validation is cleared
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
