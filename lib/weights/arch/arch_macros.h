/* Expansions of the macros in files of entries: each entry is a byte and three texts in one long
 * string, so that tables need no pointers. */
#ifndef GNN_LIB_WEIGHTS_ARCH_ARCH_MACROS_H
#define GNN_LIB_WEIGHTS_ARCH_ARCH_MACROS_H

#include <lib/weights/arch/arch.h>

#pragma GCC diagnostic ignored "-Woverlength-strings"

/* The byte is an octal gnn__arch_verb_t. */
#define ROW(verb, name, second, third) verb name "\0" second "\0" third "\0"
#define GNN_SERVES(types, prefix) ROW("\001", types, prefix, "")
#define GNN_SET(name, formula) ROW("\002", #name, formula, "")
#define GNN_IF(formula) ROW("\003", "", formula, "")
#define GNN_REPEAT(formula) ROW("\004", "", formula, "")
#define GNN_END ROW("\005", "", "", "")
#define GNN_GRAPH(name, kind, width) ROW("\006", name, kind, width)
#define GNN_STEP(name, kind, fields) ROW("\007", name, kind, fields)
#define GNN_LINEAR(array, field, place) ROW("\010", array, field, place)
#define GNN_MATRIX(array, field, place) ROW("\011", array, field, place)
#define GNN_NORM(array, field) ROW("\012", array, field, "")
#define GNN_NORM_AT(array, field, place) ROW("\012", array, field, place)
#define GNN_ROWS(array, field, place) ROW("\013", array, field, place)
#define GNN_TURNED(array, field, place) ROW("\014", array, field, place)
#define GNN_MADE(maker, field) ROW("\015", maker, field, "")
#define GNN_MADE_AT(maker, field, place) ROW("\015", maker, field, place)
#define GNN_COLUMNS(array, field, place) ROW("\025", array, field, place)
#define GNN_DRAWN(seed, field) ROW("\026", seed, field, "")
#define GNN_IGNORE(array) ROW("\016", array, "", "")
#define GNN_SAME(array, maker) ROW("\017", array, maker, "")
#define GNN_KEY(key, kind, initial) ROW("\020", key, kind, initial)
#define GNN_HARMLESS(keys) ROW("\021", keys, "", "")
#define GNN_EXPECT(key, formula) ROW("\022", key, formula, "")
#define GNN_NEED(key, formula, expected) ROW("\023", key, formula, expected)
#define GNN_HEAD(heads, array) ROW("\024", heads, array, "")

#endif
