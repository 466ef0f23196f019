/* What the macros in a file of rows stand for. */
#ifndef GNN_LIB_IO_ARCH_ROWS_H
#define GNN_LIB_IO_ARCH_ROWS_H

#include <lib/io/weights/arch/arch.h>

#define GNN_SERVES(types, prefix) {GNN__ARCH_SERVES, types, prefix, ""},
#define GNN_SET(name, formula) {GNN__ARCH_SET, #name, formula, ""},
#define GNN_IF(formula) {GNN__ARCH_IF, "", formula, ""},
#define GNN_REPEAT(formula) {GNN__ARCH_REPEAT, "", formula, ""},
#define GNN_END {GNN__ARCH_END, "", "", ""},
#define GNN_GRAPH(name, kind, width) {GNN__ARCH_GRAPH, name, kind, width},
#define GNN_STEP(name, kind, fields) {GNN__ARCH_STEP, name, kind, fields},
#define GNN_LINEAR(array, field, place) {GNN__ARCH_LINEAR, array, field, place},
#define GNN_MATRIX(array, field, place) {GNN__ARCH_MATRIX, array, field, place},
#define GNN_NORM(array, field) {GNN__ARCH_NORM, array, field, ""},
#define GNN_ROWS(array, field, place) {GNN__ARCH_ROWS, array, field, place},
#define GNN_TURNED(array, field, place) {GNN__ARCH_TURNED, array, field, place},
#define GNN_MADE(maker, field) {GNN__ARCH_MADE, maker, field, ""},
#define GNN_IGNORE(array) {GNN__ARCH_IGNORE, array, "", ""},

#endif
