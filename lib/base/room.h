/* What grows: lists that double, and the buffers that the provider of dense products keeps. */
#ifndef GNN_LIB_BASE_ROOM_H
#define GNN_LIB_BASE_ROOM_H

#include <lib/base/base.h>

/* Room for element `count` of a list that grows element by element: at `count` == *capacity it
 * doubles, so that n elements cost O(n). Lists of files and of callers grow by this or by
 * gnn__one_more, never by an element (tests/house/seams.sh). */
int gnn__room(void *list, int64_t count, int64_t *capacity, size_t element, const char *what);
/* The same for a list that keeps no capacity: it is the power of two at or above `count`. Only for
 * lists that nothing else has allocated. */
int gnn__one_more(void *list, int64_t count, size_t element, const char *what);

/* The provider of dense products keeps a buffer for each thread that ever ran one, for the whole
 * process. Claims `threads` of them for a context, which has them until it is freed; the result is
 * how many do not exist yet, and are to be made before the first product. */
int gnn__buffers_claim(gnn_context_t *context, int threads);
/* `missing` of them could not be made: they are missing for the next claim, too. */
void gnn__buffers_return(gnn_context_t *context, int missing);

#endif
