/* The model of time of `gnn partition --forecast` (docs/partition.md): a step on R machines takes
 * compute + send + gradients, where compute is the share of the slowest part in the seconds of one
 * machine. */
#include "partition.h"

#include "program.h"

#include <stdlib.h>

enum { EPOCHS = 4, MOST_MACHINES = 64 };

typedef struct {
    double last, best;
} watch_t;

static int watch(void *user, const gnn_progress_t *now)
{
    watch_t *w = user;
    if (now->epoch > 0 && now->seconds - w->last < w->best)
        w->best = now->seconds - w->last;
    w->last = now->seconds;
    return 0;
}

/* Seconds of the fastest epoch after the first: training step and validation of SAGE layers of
 * the given width. */
static int measure(const partition_options_t *o, gnn_data_t *data, double *seconds)
{
    gnn_layer_config_t layers[PARTITION_MOST_LAYERS];
    gnn_context_t *context = NULL;
    gnn_model_t *model = NULL;
    watch_t w = {.best = 1e300};
    if (gnn_data_classes(data) < 2 || gnn_data_features(data) < 1) {
        fprintf(stderr, "partition: the set has no classes or no features: --forecast expects "
                        "--step-seconds\n");
        return PROGRAM_REFUSED;
    }
    for (int64_t l = 0; l < o->layers; l++) {
        const int last = l + 1 == o->layers;
        layers[l] = GNN_SAGE(.in = l == 0 ? gnn_data_features(data) : o->hidden,
                             .out = last ? gnn_data_classes(data) : o->hidden);
        if (!last)
            layers[l].activation = GNN_RELU;
    }
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = (int)o->threads});
    if (rc == GNN_OK)
        rc = gnn_model_new(&model, context, o->layers, layers);
    if (rc == GNN_OK)
        rc = gnn_train(model, context, data,
                       &(gnn_train_config_t){.epochs = EPOCHS, .callback = watch, .user = &w}, NULL);
    *seconds = w.best;
    gnn_model_free(model);
    gnn_context_free(context);
    return rc;
}

/* Parameters of SAGE layers: two matrices and a bias per layer. */
static double parameters(const partition_options_t *o, const gnn_data_t *data)
{
    double sum = 0;
    for (int64_t l = 0; l < o->layers; l++) {
        const double in = (double)(l == 0 ? gnn_data_features(data) : o->hidden),
                     out = (double)(l + 1 == o->layers ? gnn_data_classes(data) : o->hidden);
        sum += (2 * in + 1) * out;
    }
    return sum;
}

typedef struct {
    double weight, bytes, messages; /* the largest of a part */
    double halo, memory;
} load_t;

/* Bytes: the larger of sent and received, since links carry both ways at once. */
static int worst_part(const partition_options_t *o, const gnn_partition_t *p, load_t *load)
{
    int64_t widths[PARTITION_MOST_LAYERS];
    partition_widths(o, widths);
    *load = (load_t){0};
    for (int64_t part = 0; part < gnn_partition_sizes(p).parts; part++) {
        gnn_partition_part_t s;
        gnn_partition_step_t step;
        GNN_TRY(gnn_partition_part(p, part, &s));
        GNN_TRY(gnn_partition_step(p, part, o->layers, widths, &step));
        const double weight = (double)s.edges + 16 * (double)s.nodes,
                     bytes = (double)(step.bytes_sent > step.bytes_received ? step.bytes_sent
                                                                            : step.bytes_received),
                     messages = (double)(step.messages_sent > step.messages_received
                                             ? step.messages_sent
                                             : step.messages_received);
        load->weight = weight > load->weight ? weight : load->weight;
        load->bytes = bytes > load->bytes ? bytes : load->bytes;
        load->messages = messages > load->messages ? messages : load->messages;
        load->memory = (double)step.memory > load->memory ? (double)step.memory : load->memory;
        load->halo += (double)s.halo;
    }
    return GNN_OK;
}

static int print_machines(const partition_options_t *o, const gnn_data_t *data, int64_t machines,
                          double seconds)
{
    const double nodes = (double)gnn_data_nodes(data),
                 total = (double)gnn_graph_n_edges(gnn_data_graph(data)) + 16 * nodes,
                 rate = o->bandwidth * 1e9 / 8, r = (double)machines,
                 weights = sizeof(gnn_real_t) * parameters(o, data);
    gnn_partition_t *p;
    load_t load;
    GNN_TRY(gnn_partition_new(
        &p, data,
        &(gnn_partition_config_t){
            .parts = machines, .method = o->method, .split = o->split, .seed = (uint64_t)o->seed}));
    const int rc = worst_part(o, p, &load);
    gnn_partition_free(p);
    GNN_TRY(rc);
    const double compute = seconds * load.weight / total,
                 send = load.bytes / rate + load.messages * o->latency / 1e3,
                 gradients = 2 * (r - 1) * (weights / r / rate + o->latency / 1e3),
                 step = compute + send + gradients,
                 overlapped = (compute > send ? compute : send) + gradients;
    printf("%8lld %9.2f %11.1f %10.2f %9.4f %9.4f %9.4f %9.4f %9.0f%% %9.0f%%\n",
           (long long)machines, load.halo / nodes, load.memory / 1e6, load.bytes / 1e6, compute,
           send, gradients, step, 100 * seconds / r / step, 100 * seconds / r / overlapped);
    return GNN_OK;
}

int partition_forecast(const partition_options_t *o, const gnn_data_t *data)
{
    const int64_t slices = (gnn_data_nodes(data) + GNN_SLICE - 1) / GNN_SLICE;
    double seconds = o->step_seconds;
    if (seconds == 0)
        GNN_TRY(measure(o, (gnn_data_t *)(uintptr_t)data, &seconds));
    printf("one machine: %.4f s per step (%s); %g Gbit/s, %g ms\n", seconds,
           o->step_seconds > 0 ? "given" : "measured, with validation", o->bandwidth, o->latency);
    printf("%8s %9s %11s %10s %9s %9s %9s %9s %10s %10s\n", "machines", "halo/node", "memory MB",
           "MB sent", "compute", "send", "gradients", "step s", "efficiency", "overlapped");
    for (int64_t machines = 1; machines <= MOST_MACHINES && machines <= slices; machines *= 2)
        GNN_TRY(print_machines(o, data, machines, seconds));
    if (slices < MOST_MACHINES)
        printf("the set has %lld slices of %d rows: no more machines than that\n",
               (long long)slices, GNN_SLICE);
    return GNN_OK;
}
