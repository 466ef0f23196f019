/* A partition, and the format of its folder. */
#ifndef GNN_LIB_DATA_PARTITION_H
#define GNN_LIB_DATA_PARTITION_H

#include <gnn/partition.h>
#include <lib/base/ranks.h>
#include <lib/data/arrays/arrays.h>
#include <lib/data/arrays/json_text.h>
#include <lib/data/data.h>

#include <stdatomic.h>

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

/* A mapped array of a folder. */
typedef struct gnn__folder_item {
    char *name; /* "x", "node.targets" */
    gnn_array_t array;
    gnn_owner_t owner;
    uint64_t sum;
} gnn__folder_item_t;

struct gnn_partition_folder {
    atomic_int users; /* the caller, and sets that borrow the arrays */
    gnn_partition_folder_sizes_t sizes;
    int64_t *book, stored;
    json_t *root;
    uint64_t sum; /* of the header, which has those of the arrays */
    gnn__folder_item_t *items;
    int64_t count, room;
};

/* GNN_EFORMAT: the checksum of the array is not that of the header, or ids of nodes or edges do not
 * appear once each. Its pages are dropped again. */
int gnn__folder_verify(const gnn__folder_item_t *item);
/* Copies the names of the classes. */
int gnn__folder_classes(gnn_data_t *data, const gnn_partition_folder_t *folder);

/* The name of a method of partition; NULL past the last. */
const char *gnn__partition_method_at(size_t index);
/* The checksum of a folder's header, over its text with sorted keys and without the checksum. */
int gnn__folder_checksum(char sum[20], const json_t *header);
/* A checksum as text. */
void gnn__folder_sum_text(char sum[20], uint64_t hash);

#endif
