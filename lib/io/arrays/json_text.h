/* Texts of JSON, read into jansson's values. */
#ifndef GNN_LIB_IO_JSON_TEXT_H
#define GNN_LIB_IO_JSON_TEXT_H

#include <jansson.h>
#include <stdint.h>

enum {
    GNN__JSON_UNIQUE = 1, /* a key that an object has twice is an error; else the last one counts */
    GNN__JSON_NUL = 2,    /* strings may hold \u0000 */
    GNN__JSON_WIDE = 4,   /* integers of more than 64 bits are read as reals; else an error */
    GNN__JSON_LEVELS = 16, /* of configs and descriptions */
};

/* An object or an array of JSON (RFC 8259), of at most `levels` levels. text[size] is 0. *root is
 * for json_decref, and NULL after an error. GNN_EFORMAT with line, column and byte; GNN_EMEMORY,
 * whichever allocation fails. Cost: O(size) time; memory of the values, and of the longest string
 * with an escape. */
int gnn__json_parse(json_t **root, const char *text, int64_t size, int flags, int levels);

/* The text of an array or an object, for gnn_free, with a zero byte after it; `flags` are jansson's
 * (JSON_COMPACT ...). GNN_EMEMORY; NULL for `json` stands for one that there was no memory for. */
int gnn__json_write(char **text, const json_t *json, size_t flags);

#endif
