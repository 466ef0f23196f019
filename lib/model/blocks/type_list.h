/* The types of nodes and relations that a block's .types and .relations name, and parts that are
 * called by them. */
#ifndef GNN_LIB_MODEL_BLOCKS_TYPE_LIST_H
#define GNN_LIB_MODEL_BLOCKS_TYPE_LIST_H

#include <lib/model/blocks/pieces.h>

enum { GNN__MOST_TYPES = 128, GNN__MOST_RELATIONS = 1000 };

/* A word of the settings, not terminated. */
typedef struct gnn__type_word {
    const char *text;
    int length;
} gnn__type_word_t;

typedef struct gnn__type_list {
    struct {
        gnn__type_word_t name;
        int64_t width; /* of its rows as the block reads them */
        bool hears, is_heard;
    } types[GNN__MOST_TYPES];
    struct {
        gnn__type_word_t name; /* "author__writes__paper" */
        int from, to;
    } relations[GNN__MOST_RELATIONS];
    int n_types, n_relations;
} gnn__type_list_t;

/* Reads both settings; false after an error, which the list of steps then has. */
bool gnn__type_list_read(gnn__type_list_t *list, gnn_steps_t *steps, const gnn_block_t *b);

/* "before" and a word: the name of a part, or of the value of a type. */
typedef struct gnn__typed_name {
    char text[320];
} gnn__typed_name_t;

static inline gnn__typed_name_t gnn__typed(const char *before, gnn__type_word_t word)
{
    gnn__typed_name_t name;
    snprintf(name.text, sizeof name.text, "%s%.*s", before, word.length, word.text);
    return name;
}

/* The name of the value that the block reads of a type: "x.paper". */
static inline gnn__typed_name_t gnn__type_input(const gnn_block_t *b, gnn__type_word_t type)
{
    gnn__typed_name_t name;
    snprintf(name.text, sizeof name.text, "%s.%.*s", b->input ? b->input : "x", type.length,
             type.text);
    return name;
}

/* Values one under another; one alone stays as it is. */
const char *gnn__piece_stack(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                             const char *const *values, int count);

#endif
