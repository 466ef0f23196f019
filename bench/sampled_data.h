/* The graph of bench/sampled.c as four .npy files in a folder: generated once, then read or mapped,
 * by the peers too. */
#ifndef BENCH_SAMPLED_DATA_H
#define BENCH_SAMPLED_DATA_H

#include "bench.h"

enum { SAMPLED_FEATURES = 100, SAMPLED_CLASSES = 47 };

/* Generates a graph of `nodes` and `links` (each in both directions) and writes indptr.npy (int64),
 * indices.npy (int32), x.npy (float32) and labels.npy (int32) into an existing folder. */
int sampled_write(const char *folder, int64_t nodes, int64_t links);
/* Opens the set, with features and edges mapped or read into memory. */
int sampled_open(gnn_data_t **data, const char *folder, bool mapped);

#endif
