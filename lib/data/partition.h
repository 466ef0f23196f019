/* A partition, and the format of its folder. */
#ifndef GNN_LIB_DATA_PARTITION_H
#define GNN_LIB_DATA_PARTITION_H

#include <gnn/partition.h>
#include <lib/base/ranks.h>
#include <lib/data/arrays/arrays.h>
#include <lib/data/arrays/json_text.h>
#include <lib/data/data.h>

#define GNN__FOLDER_HEADER "partition.json"
#define GNN__FOLDER_FORMAT "libgnn partition"
enum { GNN__FOLDER_VERSION = 1 };

struct gnn_partition {
    int64_t n, m, parts, cut;
    const char *method;
    int64_t *order, *book;       /* (n), (parts + 1) */
    int64_t *traffic, *back;     /* (parts x parts) */
    gnn_partition_part_t *sizes; /* (parts) */
};

/* The name of a method of partition; NULL past the last. */
const char *gnn__partition_method_at(size_t index);
/* The checksum of a folder's header, over its text with sorted keys and without the checksum. */
int gnn__folder_checksum(char sum[20], const json_t *header);
/* A checksum as text. */
void gnn__folder_sum_text(char sum[20], uint64_t hash);

#endif
