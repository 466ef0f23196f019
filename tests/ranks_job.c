/* One rank of a job over MPI, for the suite ranks_mpi and for measurements by hand:
 *
 *     ranks_job draw FOLDER NODES DEGREE PARTS [SHARE]
 *
 * writes a drawn set as a partition folder; SHARE of its nodes are for training [20 per class].
 *
 *     mpirun -n 4 ranks_job train NAME=VALUE ...
 *
 * NAME: folder, own (1: own rows), samples (1), epochs, hidden, layers, checkpoint, every,
 * accumulate, batch, fan_out, threads, overlap (0: rows arrive before any is computed).
 *
 * Rank 0 prints a hash of the weights, and each rank its process, its peak of memory, its traffic,
 * the rows that it computed while messages travelled, and the seconds of its training, by the clock
 * and of a processor, in all and in the transport. */
#include "support.h"

#include <gnn/mpi.h>
#include <gnn/partition.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { FEATURES = 64, CLASSES = 16 };

static void must(int rc)
{
    if (rc == GNN_OK)
        return;
    printf("error %d: %s\n", rc, gnn_error_message());
    fflush(stdout);
    exit(1);
}

/* ---- drawing ---- */

/* Most links go to near nodes, by a distance with a heavy tail; one of 128 to any node. */
static void draw_links(int64_t n, int64_t m, int32_t *src, int32_t *dst)
{
    uint64_t state = 7;
    for (int64_t k = 0; k < m; k++) {
        const int64_t i = test_below(&state, n);
        int64_t far = 1 + test_below(&state, 32);
        while (far < n / 4 && test_below(&state, 2))
            far *= 2;
        src[k] = (int32_t)i;
        dst[k] = (int32_t)(k % 128 == 0 ? test_below(&state, n) : (i + far) % n);
    }
}

static void draw(const char *folder, int64_t n, int64_t degree, int64_t parts, double share)
{
    const int64_t m = n * degree / 2;
    int32_t *src = malloc((size_t)m * sizeof *src), *dst = malloc((size_t)m * sizeof *dst),
            *labels = malloc((size_t)n * sizeof *labels);
    gnn_real_t *x = malloc((size_t)(n * FEATURES) * sizeof *x);
    gnn_data_t *data;
    gnn_partition_t *partition;
    uint64_t state = 3;
    draw_links(n, m, src, dst);
    for (int64_t i = 0; i < n; i++) {
        labels[i] = (int32_t)(i * CLASSES / n);
        for (int c = 0; c < FEATURES; c++)
            x[i * FEATURES + c] =
                (gnn_real_t)((double)test_below(&state, 2000) / 1000 - 1 + (c == labels[i]));
    }
    const gnn_tensor_t features = gnn_tensor(x, n, FEATURES);
    must(gnn_data_new(&data, &(gnn_data_config_t){.nodes = n,
                                                  .edges = m,
                                                  .src = gnn_ints(src),
                                                  .dst = gnn_ints(dst),
                                                  .both_ways = GNN_ON,
                                                  .x = &features,
                                                  .labels = gnn_ints(labels),
                                                  .classes = CLASSES}));
    free(src);
    free(dst);
    if (share > 0)
        must(gnn_data_split_draw(
            data, &(gnn_split_rule_t){.splits = 1, .train_share = share, .validation_share = 0.01}));
    must(gnn_partition_new(&partition, data,
                           &(gnn_partition_config_t){.parts = parts, .method = "range"}));
    must(gnn_partition_write(partition, data, folder));
    gnn_partition_free(partition);
    gnn_data_free(data);
    free(labels);
    free(x);
}

/* ---- training ---- */

typedef struct {
    const char *folder, *checkpoint;
    int64_t own, samples, epochs, hidden, layers, every, accumulate, batch, fan_out, threads, overlap;
} job_t;

static void read_job(job_t *job, int argc, char **argv)
{
    const struct {
        const char *name;
        int64_t *value;
    } numbers[] = {
        {"own", &job->own},         {"samples", &job->samples},       {"epochs", &job->epochs},
        {"hidden", &job->hidden},   {"layers", &job->layers},         {"every", &job->every},
        {"batch", &job->batch},     {"accumulate", &job->accumulate}, {"fan_out", &job->fan_out},
        {"threads", &job->threads}, {"overlap", &job->overlap}};
    for (int k = 2; k < argc; k++) {
        const char *value = strchr(argv[k], '=');
        const size_t length = value ? (size_t)(value - argv[k]) : 0;
        bool found = false;
        if (value && strncmp(argv[k], "folder", length) == 0 && length == 6)
            job->folder = value + 1, found = true;
        else if (value && strncmp(argv[k], "checkpoint", length) == 0 && length == 10)
            job->checkpoint = value + 1, found = true;
        for (size_t n = 0; value && !found && n < sizeof numbers / sizeof *numbers; n++)
            if (strlen(numbers[n].name) == length && strncmp(argv[k], numbers[n].name, length) == 0)
                *numbers[n].value = strtoll(value + 1, NULL, 10), found = true;
        if (!found) {
            printf("unknown option %s\n", argv[k]);
            exit(2);
        }
    }
}

static gnn_model_t *make_model(const job_t *job, gnn_context_t *context)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    must(gnn_steps_new(&steps));
    for (int64_t l = 0; l < job->layers; l++) {
        const bool last = l + 1 == job->layers;
        must(gnn_steps_add(
            steps, &(gnn_step_t){.kind = GNN_STEP_LAYER,
                                 .graph = job->samples ? (int)l : 0,
                                 .layer = GNN_SAGE(.in = l == 0 ? FEATURES : job->hidden,
                                                   .out = last ? CLASSES : job->hidden,
                                                   .activation = last ? GNN_IDENTITY : GNN_RELU,
                                                   .dropout_in = (gnn_real_t)0.1)}));
    }
    must(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

static uint64_t hash_weights(const gnn_model_t *model)
{
    int64_t length;
    const gnn_real_t *weights = gnn_parameters_block(gnn_model_parameters(model), 0, &length);
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < (size_t)length * sizeof *weights; k++)
        h = (h ^ ((const uint8_t *)weights)[k]) * 0x100000001b3u;
    return h;
}

/* ---- time in the transport ---- */

/* Seconds by the clock, and of a processor. */
typedef struct {
    double wall, processor;
} spent_t;

static double read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static spent_t now(void)
{
    return (spent_t){read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_PROCESS_CPUTIME_ID)};
}

static void add_since(spent_t *sum, spent_t before)
{
    const spent_t after = now();
    sum->wall += after.wall - before.wall;
    sum->processor += after.processor - before.processor;
}

/* The functions of the transport, which those below time, and the sum of their seconds. */
static gnn_transport_t timed;
static spent_t inside;

static int exchange_timed(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    const spent_t before = now();
    const int rc = timed.exchange(t, send, receive);
    add_since(&inside, before);
    return rc;
}

static int start_timed(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    const spent_t before = now();
    const int rc = timed.start(t, send, receive);
    add_since(&inside, before);
    return rc;
}

static int advance_timed(gnn_transport_t *t)
{
    const spent_t before = now();
    const int rc = timed.advance(t);
    add_since(&inside, before);
    return rc;
}

static int finish_timed(gnn_transport_t *t)
{
    const spent_t before = now();
    const int rc = timed.finish(t);
    add_since(&inside, before);
    return rc;
}

static void time_transport(gnn_transport_t *t)
{
    timed = *t;
    t->exchange = exchange_timed;
    t->start = start_timed;
    t->advance = advance_timed;
    t->finish = finish_timed;
}

static void report(const gnn_transport_t *t, spent_t spent, const gnn_model_t *model)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("rank %d of %d: peak %ld KiB, sent %lld bytes in %lld messages, %lld early rows, %.3f s "
           "(processor %.3f), of which in the transport %.3f s (processor %.3f)\n",
           t->rank, t->ranks, usage.ru_maxrss, (long long)t->bytes, (long long)t->messages,
           (long long)t->early_rows, spent.wall, spent.processor, inside.wall, inside.processor);
    if (t->rank == 0)
        printf("hash %016llx\n", (unsigned long long)hash_weights(model));
    fflush(stdout);
}

static void train(const job_t *job)
{
    int64_t fan_outs[8];
    gnn_transport_t *transport;
    gnn_context_t *context;
    gnn_data_t *data;
    spent_t spent = {0};
    for (int k = 0; k < 8; k++)
        fan_outs[k] = job->fan_out;
    const gnn_sampling_t sampling = {
        .batch = job->batch,
        .sampler = {.method = "neighbours", .hops = (int)job->layers, .fan_outs = fan_outs}};
    const gnn_train_config_t config = {.epochs = job->epochs,
                                       .optimizer = {.lr = (gnn_real_t)0.01},
                                       .sampling = job->samples ? &sampling : NULL,
                                       .accumulate = job->accumulate,
                                       .checkpoint = job->checkpoint,
                                       .checkpoint_every = job->checkpoint ? job->every : 0,
                                       .resume = job->checkpoint ? GNN_ON : GNN_OFF};
    must(gnn_transport_mpi(&transport));
    time_transport(transport);
    if (!job->overlap)
        transport->start = NULL;
    printf("process %ld\n", (long)getpid());
    fflush(stdout);
    must(gnn_context_new(&context, &(gnn_context_config_t){.threads = (int)job->threads, .seed = 5}));
    must(gnn_context_set_ranks(context, transport));
    must(job->own ? gnn_data_open_rank(&data, context, job->folder)
                  : gnn_data_open(&data, job->folder));
    gnn_model_t *model = make_model(job, context);
    inside = (spent_t){0};
    const spent_t before = now();
    must(gnn_train(model, context, data, &config, NULL));
    add_since(&spent, before);
    report(transport, spent, model);
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    gnn_transport_free(transport);
}

int main(int argc, char **argv)
{
    job_t job = {.epochs = 4,
                 .hidden = 64,
                 .layers = 2,
                 .every = 1,
                 .batch = 256,
                 .fan_out = 10,
                 .threads = 1,
                 .overlap = 1};
    if ((argc == 6 || argc == 7) && strcmp(argv[1], "draw") == 0) {
        draw(argv[2], strtoll(argv[3], NULL, 10), strtoll(argv[4], NULL, 10),
             strtoll(argv[5], NULL, 10), argc == 7 ? strtod(argv[6], NULL) : 0);
        return 0;
    }
    if (argc < 3 || strcmp(argv[1], "train") != 0)
        return 2;
    read_job(&job, argc, argv);
    train(&job);
    return 0;
}
