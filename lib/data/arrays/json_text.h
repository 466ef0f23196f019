/* JSON texts to and from jansson's values. */
#ifndef GNN_LIB_DATA_ARRAYS_JSON_TEXT_H
#define GNN_LIB_DATA_ARRAYS_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GNN__JSON_UNIQUE = 1, /* a key that an object has twice is an error; else the last one counts */
    GNN__JSON_NUL = 2,    /* strings may contain \u0000 */
    GNN__JSON_WIDE = 4,   /* integers of more than 64 bits are read as reals; else an error */
    GNN__JSON_LEVELS = 16, /* levels of configs and descriptions */
};

/* An object or an array of JSON (RFC 8259), of at most `levels` levels. text[size] is 0. Release
 * *root with json_decref; NULL after an error. GNN_EFORMAT with line, column and byte; GNN_EMEMORY,
 * whichever allocation fails. Cost: O(size) time; memory of the values, and of the longest string
 * with an escape. */
int gnn__json_parse(json_t **root, const char *text, int64_t size, int flags, int levels);

/* The zero-terminated text of an array or object; release with gnn_free. `flags` are jansson's
 * (JSON_COMPACT ...). GNN_EMEMORY, also if `json` is NULL. */
int gnn__json_write(char **text, const json_t *json, size_t flags);

/* Is `word` in the space-separated `list`? */
bool gnn__list_has(const char *list, const char *word);
/* Checks that every key is in `keys` (space-separated); GNN_EUNSUPPORTED names the first other
 * one. */
int gnn__json_closed(const json_t *object, const char *keys);

#endif
