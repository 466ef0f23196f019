/**
 * Errors: every call that can fail returns an `int`; 0 is success, 1-999 are igraph's codes
 * unchanged, 1000 and up are libgnn's own. The message is kept per thread and names what was
 * expected and what was found.
 */
#ifndef GNN_ERROR_H
#define GNN_ERROR_H

#include <gnn/build.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, value, description */
#define GNN_ERROR_CODES(X)                                                         \
    X(GNN_OK, 0, "success")                                                        \
    X(GNN_ESHAPE, 1000, "shapes do not agree")                                     \
    X(GNN_ETOPOLOGY, 1001, "the graph is not what was asked for")                  \
    X(GNN_EUNPREPARED, 1002, "the graph has no such view: call gnn_graph_prepare") \
    X(GNN_EUNSUPPORTED, 1003, "this combination is not supported")                 \
    X(GNN_EINVALID, 1004, "an argument is out of its range")                       \
    X(GNN_ENUMERIC, 1005, "a value is not finite")                                 \
    X(GNN_EFORMAT, 1006, "a file is not in the expected format")                   \
    X(GNN_EIO, 1007, "reading or writing failed")                                  \
    X(GNN_EMEMORY, 1008, "out of memory")                                          \
    X(GNN_EOVERFLOW, 1009, "a size does not fit")                                  \
    X(GNN_ENOTFOUND, 1010, "no such name")                                         \
    X(GNN_ESTOPPED, 1011, "stopped by the caller")

#define GNN_ERROR_ENUM(name, value, text) name = value,
enum gnn_error { GNN_ERROR_CODES(GNN_ERROR_ENUM) GNN_ERROR_END };
#undef GNN_ERROR_ENUM

/**
 * The description of a code; never NULL. igraph's codes have descriptions too, with and without
 * igraph.
 *
 * @param[in] code  what a function of libgnn returned
 */
GNN_API const char *gnn_error_string(int code);

/** The message of this thread's last failed call, e.g. "layer 2 expects 64 input features, the
 * tensor has 32"; "" before any. */
GNN_API const char *gnn_error_message(void);

/** Returns from the calling function (which returns int) when `call` fails. */
#define GNN_TRY(call)               \
    do {                            \
        int gnn_try_code = (call);  \
        if (gnn_try_code != GNN_OK) \
            return gnn_try_code;    \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
