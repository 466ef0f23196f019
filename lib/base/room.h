/* Lists that grow by doubling, and the thread buffers of the BLAS library. */
#ifndef GNN_LIB_BASE_ROOM_H
#define GNN_LIB_BASE_ROOM_H

#include <lib/base/base.h>

/* Room for element `count` of a list that grows element by element: at `count` == *capacity the
 * capacity doubles, so n elements cost O(n). Lists whose length comes from files or callers grow by
 * this or by gnn__one_more, never by one element (tests/house/seams.sh). */
int gnn__room(void *list, int64_t count, int64_t *capacity, size_t element, const char *what);
/* The same for a list without a stored capacity, which is the power of two at or above `count`.
 * Only for lists that nothing else allocates. */
int gnn__one_more(void *list, int64_t count, size_t element, const char *what);

/* BLAS libraries keep a buffer per thread that ever ran a product, for the whole process. Claims
 * `threads` buffers for a context until it is freed; returns the count of those that do not exist
 * yet and must be made before the first product. */
int gnn__buffers_claim(gnn_context_t *context, int threads);
/* `missing` buffers could not be made: the next claim counts them as missing again. */
void gnn__buffers_return(gnn_context_t *context, int missing);

#endif
