/* Sampled batches as a source for training. If a processor is free, a prefetch thread fills the
 * next batch while a step runs; else the context's threads fill a batch on request. Contents of a
 * batch depend on its split, epoch and index alone, not on the filling thread. */
#include <lib/base/settings.h>
#include <lib/train/sampled.h>

enum { BATCH = 1024, EPOCHS = 200 };

/* ---- requests ---- */

static bool same_key(const gnn__batch_key_t *a, const gnn__batch_key_t *b)
{
    return a->part == b->part && a->epoch == b->epoch && a->index == b->index;
}

/* The key of the batch after this one; false: there is none. */
static bool following(const gnn__sampled_source_t *b, int64_t epoch, gnn__batch_key_t *key)
{
    const int64_t *count = b->base.source.count, last = b->config.epochs ? b->config.epochs : EPOCHS;
    if (key->index + 1 < count[key->part])
        key->index++;
    else if (key->part == GNN_TRAIN && count[GNN_VALIDATION] > 0)
        *key = (gnn__batch_key_t){.part = GNN_VALIDATION};
    else if (epoch < last)
        *key = (gnn__batch_key_t){.part = GNN_TRAIN, .epoch = epoch + 1};
    else
        return false;
    return true;
}

/* The same of the batches of this rank. */
static bool next_key(const gnn__sampled_source_t *b, int64_t epoch, gnn__batch_key_t *key)
{
    const gnn__ranks_t *ranks = b->context->ranks;
    int64_t tries = b->base.source.count[GNN_TRAIN] + b->base.source.count[GNN_VALIDATION];
    while (tries-- > 0 && following(b, epoch, key)) {
        if (!ranks || gnn__rank_of_batch(ranks, b->config.accumulate, b->base.source.count[key->part],
                                         key->part, key->index) == ranks->transport->rank)
            return true;
        epoch = key->part == GNN_TRAIN ? key->epoch : epoch;
    }
    return false;
}

static void fill_other(void *user)
{
    gnn__sampled_source_t *b = user;
    gnn__filled_fill(&b->filled[1 - b->current], b, NULL);
}

/* Starts the prefetch of the next batch into the free memory. */
static void start_next(gnn__sampled_source_t *b, int64_t epoch)
{
    gnn__batch_key_t key = b->filled[b->current].key;
    gnn__filled_t *other = &b->filled[1 - b->current];
    if (!b->worker || !next_key(b, epoch, &key) || (other->there && same_key(&other->key, &key)))
        return;
    other->there = false;
    other->key = key;
    gnn__worker_start(b->worker);
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    gnn__sampled_source_t *b = user;
    const gnn__batch_key_t key = {part, part == GNN_TRAIN ? epoch : 0, index};
    if (part < GNN_TRAIN || part > GNN_VALIDATION || index < 0 || index >= b->base.source.count[part])
        return gnn__error(
            GNN_EINVALID,
            "got batch %lld of part %d, expected a batch of GNN_TRAIN (%d) or GNN_VALIDATION (%d) below its count",
            (long long)index, part, GNN_TRAIN, GNN_VALIDATION);
    if (b->worker) {
        gnn__worker_wait(b->worker);
        b->current = 1 - b->current;
    }
    gnn__filled_t *f = &b->filled[b->current];
    if (!f->there || !same_key(&f->key, &key)) {
        f->key = key;
        gnn__filled_fill(f, b, b->context);
    }
    f->there = false; /* a failed batch is retried */
    if (f->rc != GNN_OK)
        return gnn__error(f->rc, "%s", f->message);
    *batch = f->batch;
    start_next(b, epoch);
    return GNN_OK;
}

/* ---- making ---- */

/* The nodes of a part that count. */
static int find_seeds(gnn__sampled_source_t *b, int part)
{
    GNN_TRY(gnn__new(&b->own_seeds[part], b->set.rows, sizeof **b->own_seeds, "nodes to learn from"));
    b->n_seeds[part] = gnn__training_set_rows(&b->set, part, b->own_seeds[part]);
    b->seeds[part] = b->own_seeds[part];
    return GNN_OK;
}

/* A sampler with fixed seeds, which replace those of the split. */
static void take_own_seeds(gnn__sampled_source_t *b)
{
    for (int part = GNN_TRAIN; b->sampler->seeds && part <= GNN_VALIDATION; part++) {
        b->seeds[part] = b->sampler->seeds;
        b->n_seeds[part] = b->n_seeds[part] > 0 ? b->sampler->n_seeds : 0;
    }
}

static int make_sampler(gnn__sampled_source_t *b)
{
    gnn_sampler_config_t config = b->config.sampling->sampler;
    const bool walks = gnn__sampler_reads(config.method) & GNN__SAMPLES_WALKS;
    if (walks && config.batch == 0)
        config.batch = b->batch;
    if (walks && !config.roots && config.n_roots == 0) {
        config.roots = b->seeds[GNN_TRAIN];
        config.n_roots = b->n_seeds[GNN_TRAIN];
    }
    return gnn_sampler_new(&b->sampler, b->set.graph, &config);
}

/* Inputs that the set has. "weight" always exists, for edge scales. */
static int find_inputs(gnn__sampled_source_t *b)
{
    const int64_t count = gnn_model_input_count(b->model);
    GNN_TRY(gnn__new(&b->inputs, count, sizeof *b->inputs, "a model's inputs"));
    for (int64_t k = 0; k < count; k++) {
        const char *name = gnn_model_input_name(b->model, k);
        const gnn__data_input_t *found = gnn__training_set_input(&b->set, name);
        const bool weighs = strcmp(name, "weight") == 0;
        if (found)
            b->inputs[b->n_inputs++] = (gnn__sampled_input_t){*found, weighs};
        else if (weighs)
            b->inputs[b->n_inputs++] =
                (gnn__sampled_input_t){{.whole = {.name = name}, .place = GNN_ON_EDGES}, true};
    }
    return GNN_OK;
}

static int check_slots(const gnn__sampled_source_t *b)
{
    const int slots = gnn_model_graph_count(b->model);
    const int64_t blocks = gnn_sampler_graphs(b->sampler);
    if (!b->sampler->row->blocks || slots == blocks)
        return GNN_OK;
    return gnn__error(
        GNN_EINVALID,
        "the model runs on %d graph slots, the sampler draws %lld blocks, expected equal counts: .graph of a step that aggregates is the index of its block",
        slots, (long long)blocks);
}

/* Without a free processor the prefetch thread would share one with a thread of the context, for
 * which every loop of a step would wait. */
static bool has_worker(const gnn__sampled_source_t *b)
{
    const gnn_flag_t wanted = b->config.sampling->prefetch;
    return wanted == GNN_FLAG_DEFAULT ? gnn__processors() > gnn__team_size(b->context)
                                      : wanted == GNN_ON;
}

static int open_batches(gnn__sampled_source_t *b)
{
    const gnn_sampling_t *sampling = b->config.sampling;
    gnn__ranks_t *ranks = b->context->ranks;
    if (ranks) {
        GNN_TRY(gnn__ranks_same_data(ranks, &b->set));
        GNN_TRY(gnn__ranks_same_weights(ranks, b->context, b->model));
    }
    GNN_TRY(gnn__identify_data(&b->base.source.identity, &b->set, &b->config));
    b->batch = sampling->batch ? sampling->batch : BATCH;
    if (b->batch < 1 || b->batch > INT32_MAX)
        return gnn__error(GNN_EINVALID, "sampling: .batch = %lld, expected 0 to 2^31 - 1",
                          (long long)b->batch);
    GNN_TRY(gnn__check_flag(sampling->prefetch, "sampling: .prefetch"));
    GNN_TRY(find_inputs(b));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        GNN_TRY(find_seeds(b, part));
    GNN_TRY(make_sampler(b));
    take_own_seeds(b);
    GNN_TRY(check_slots(b));
    for (int part = GNN_TRAIN; part <= GNN_VALIDATION; part++)
        b->base.source.count[part] = (b->n_seeds[part] + b->batch - 1) / b->batch;
    GNN_TRY(gnn__new(&b->order, b->n_seeds[GNN_TRAIN], sizeof *b->order, "order of nodes"));
    b->ordered = -1;
    const bool worker = has_worker(b);
    for (int k = 0; k < (worker ? 2 : 1); k++)
        GNN_TRY(gnn__filled_open(&b->filled[k], b));
    return worker ? gnn__worker_new(&b->worker, fill_other, b) : GNN_OK;
}

static void free_batches(gnn__source_state_t *state)
{
    gnn__sampled_source_t *b = (gnn__sampled_source_t *)state;
    gnn__worker_free(b->worker);
    for (int k = 0; k < 2; k++) {
        gnn__filled_close(&b->filled[k]);
        gnn_free(b->own_seeds[k]);
    }
    gnn_free(b->order);
    gnn_free(b->inputs);
    gnn_sampler_free(b->sampler);
    gnn__training_set_close(&b->set);
    gnn_free(b);
}

static const gnn__source_kind_t of_samples = {"gnn_source_of_data", free_batches};

int gnn__batches_of_samples(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                            gnn__training_set_t *set, const gnn_train_config_t *config)
{
    gnn__sampled_source_t *b;
    GNN_TRY(gnn__new(&b, 1, sizeof *b, "batches of samples"));
    b->base = gnn__source_state(&of_samples, &b->base, get);
    b->base.divided = context->ranks != NULL;
    b->model = model;
    b->context = context;
    b->set = gnn__training_set_move(set);
    b->config = *config;
    return gnn__source_finish(source, &b->base, open_batches(b));
}
