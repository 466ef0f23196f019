/**
 * Splits: who is learned from and who is judged, drawn by a rule from labels and a seed. The rows
 * may be nodes, graphs of a set of many, or anything else that has a class.
 */
#ifndef GNN_SPLIT_H
#define GNN_SPLIT_H

#include <gnn/data.h>

#ifdef __cplusplus
extern "C" {
#endif

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
 * Draws one split.
 *
 * @param[in] labels  (n) classes; a negative one leaves its row out
 * @param[in] rule    how; `splits` is not read
 * @param[in] index   which of the rule's splits, from 0: others have other draws
 * @param[out] part   (n) GNN_TRAIN, GNN_VALIDATION, GNN_TEST, or -1 for rows in no part
 * @return GNN_OK; GNN_EINVALID (a NULL, a negative number, shares that are not in 0 .. 1 or add up
 *         to more); GNN_EMEMORY. Cost: O(n + classes). Depends on labels, rule and index alone.
 */
GNN_API int gnn_split_draw(const int32_t *labels, int64_t n, const gnn_split_rule_t *rule,
                           int64_t index, int8_t *part);
/**
 * Draws the splits of a set's nodes in place of those that it has. Draws go by the file's node
 * numbers: a set that was reordered gets the same nodes.
 *
 * @return GNN_OK; errors as above, and nothing is changed then
 */
GNN_API int gnn_data_split_draw(gnn_data_t *data, const gnn_split_rule_t *rule);
/**
 * k folds for cross-validation. Their sizes differ by at most one, and so do the numbers that they
 * have of each class (stratified).
 *
 * @param[in] labels  (n) classes, or NULL: rows are shuffled without classes. A negative one leaves
 *                    its row out
 * @param[in] folds   from 2 to n
 * @param[out] fold   (n) 0 .. folds - 1; -1 for rows without a class
 * @return GNN_OK; GNN_EINVALID; GNN_EMEMORY. Cost: O(n + classes)
 */
GNN_API int gnn_split_folds(const int32_t *labels, int64_t n, int64_t folds, uint64_t seed,
                            int32_t *fold);

#ifdef __cplusplus
}
#endif
#endif
