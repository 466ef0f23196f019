/* Error codes in words. Codes from 1 to 999 are igraph's: which one it is can be told without
 * igraph, whose messages come from libgnn-igraph. */
#include <lib/base/base.h>

/* igraph's enumeration of its error codes; an empty element is a code that igraph does not use. */
static const char *const igraph_words[] = {
    [1] = "igraph: failure",
    [2] = "igraph: out of memory",
    [3] = "igraph: a file cannot be parsed",
    [4] = "igraph: invalid value",
    [5] = "igraph: exists already",
    [6] = "igraph: invalid vector of edges",
    [7] = "igraph: invalid node id",
    [8] = "igraph: the matrix is not square",
    [9] = "igraph: invalid mode",
    [10] = "igraph: reading or writing a file failed",
    [12] = "igraph: not implemented",
    [13] = "igraph: interrupted",
    [14] = "igraph: no convergence",
    [37] = "igraph: a loop of negative weight",
    [38] = "igraph: internal error",
    [42] = "igraph: division by zero",
    [51] = "igraph: an attribute is not as its handler expects",
    [52] = "igraph: attributes of this type cannot be combined in this way",
    [53] = "igraph: LAPACK failed",
    [54] = "igraph: DrL layout failed",
    [55] = "igraph: overflow",
    [56] = "igraph: GLPK failed",
    [57] = "igraph: out of processor time",
    [58] = "igraph: underflow",
    [59] = "igraph: a random walk has no way on",
    [60] = "igraph: stopped",
    [61] = "igraph: the result is out of range",
    [62] = "igraph: there is no solution",
};

static const char *words_of_igraph(int code)
{
    const size_t count = sizeof igraph_words / sizeof igraph_words[0];
    if ((code >= 15 && code <= 36) || (code >= 39 && code <= 41))
        return "igraph: ARPACK failed";
    if (code >= 43 && code <= 50)
        return "igraph: GLPK failed";
    return (size_t)code < count && igraph_words[code] ? igraph_words[code] : "an error of igraph";
}

const char *gnn_error_string(int code)
{
#define CASE(name, value, text) \
    case value: return text;
    switch (code) {
        GNN_ERROR_CODES(CASE)
    default: return code > 0 && code < 1000 ? words_of_igraph(code) : "unknown error";
    }
#undef CASE
}
