/* Functions of draws.kernel.c per instruction set; n pairs, at most 64, with i and j readable up to
 * the next multiple of 16. */
#ifndef DRAWS_H
#define DRAWS_H

#include <lib/base/base.h>

typedef struct {
    /* keep (n x width), width 1, 4 or 8 */
    void (*patterns)(const gnn__dropout_t *d, int n, const uint32_t *i, const uint32_t *j,
                     int width, gnn_real_t *keep);
    /* keep (n x heads) */
    void (*pairs)(const gnn__dropout_t *d, int n, const uint32_t *i, const uint32_t *j, int heads,
                  gnn_real_t *keep);
} draws_t;

#endif
