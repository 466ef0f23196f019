/* Structs of the public interface, which grow at their end. A program passes the size that it was
 * built with, so that older and newer programs run with one library. */
#include <lib/base/base.h>

bool gnn__sized_take(void *own, size_t own_size, const void *theirs, size_t size)
{
    const char *bytes = theirs;
    const size_t known = size < own_size ? size : own_size;
    memcpy(own, theirs, known);
    memset((char *)own + known, 0, own_size - known);
    for (size_t k = known; k < size; k++)
        if (bytes[k])
            return false;
    return true;
}

int gnn__sized_config(void *own, size_t own_size, const void *theirs, size_t size, const char *what)
{
    if (!theirs)
        memset(own, 0, own_size);
    else if (!gnn__sized_take(own, own_size, theirs, size))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s of %zu bytes sets fields that this version of the library does not have",
                          what, size);
    return GNN_OK;
}

bool gnn__sized_take_around(void *own, size_t own_size, const void *theirs, size_t size,
                            gnn__nested_t nested)
{
    const size_t own_end = nested.offset + nested.own_size, end = nested.offset + nested.size;
    if (size < end)
        return false;
    memcpy(own, theirs, nested.offset);
    return gnn__sized_take((char *)own + nested.offset, nested.own_size,
                           (const char *)theirs + nested.offset, nested.size) &&
           gnn__sized_take((char *)own + own_end, own_size - own_end, (const char *)theirs + end,
                           size - end);
}

void gnn__sized_give(void *theirs, size_t size, const void *own, size_t own_size)
{
    const size_t known = size < own_size ? size : own_size;
    memcpy(theirs, own, known);
    memset((char *)theirs + known, 0, size - known);
}
