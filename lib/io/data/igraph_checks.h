/* Bounds of what igraph will take memory for, before it reads. Each gives GNN_OK, or GNN_EFORMAT or
 * GNN_EUNSUPPORTED with file and line. */
#ifndef GNN_LIB_IO_IGRAPH_CHECKS_H
#define GNN_LIB_IO_IGRAPH_CHECKS_H

#include <lib/io/data/data.h>

int gnn__check_graphml(gnn__text_t *text);
int gnn__check_gml(gnn__text_t *text);
int gnn__check_pajek(gnn__text_t *text);
int gnn__check_dl(gnn__text_t *text);
int gnn__check_dimacs(gnn__text_t *text);
int gnn__check_graphdb(gnn__text_t *text);

#endif
