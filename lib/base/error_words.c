/* Error codes in words. Those of igraph are named by graphs/igraph, which itself sets messages by
 * error.c. */
#include <lib/base/base.h>

/* 0 where the library is built without igraph. */
const char *gnn__igraph_strerror(int code) __attribute__((weak));

static const char *igraph_words(int code)
{
    const char *words = gnn__igraph_strerror ? gnn__igraph_strerror(code) : NULL;
    return words ? words : "an error of igraph";
}

const char *gnn_error_string(int code)
{
#define CASE(name, value, text) \
    case value: return text;
    switch (code) {
        GNN_ERROR_CODES(CASE)
    default: return code > 0 && code < 1000 ? igraph_words(code) : "unknown error";
    }
#undef CASE
}
