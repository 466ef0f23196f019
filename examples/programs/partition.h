/* Shared by the program partition: options, and the model of a training step's time. */
#ifndef PROGRAMS_PARTITION_H
#define PROGRAMS_PARTITION_H

#include <gnn/gnn.h>
#include <stdio.h>

enum { PARTITION_MOST_LAYERS = 64 };

typedef struct {
    const char *in, *out, *assignment, *heatmap, *method;
    int64_t parts, split, layers, hidden, seed, threads;
    int directed, forecast;
    double bandwidth, latency, step_seconds; /* Gbit/s, ms, s */
} partition_options_t;

/* Columns of the matrix that each layer exchanges: --hidden. */
void partition_widths(const partition_options_t *o, int64_t widths[PARTITION_MOST_LAYERS]);
/* Prints predicted seconds per step for 1 to 64 machines. */
int partition_forecast(const partition_options_t *o, const gnn_data_t *data);

#endif
