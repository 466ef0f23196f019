/* Token sequences as batches for the training loop: pairs for encoder-decoders, sequences or
 * windows of one long sequence for language models. */
#include <gnn/sequences.h>
#include <lib/data/data.h>
#include <lib/train/train.h>

/* Sides of a pair: READ by the encoder, WRITTEN by the decoder, which alone exists in a language
 * model. */
enum { READ = 0, WRITTEN = 1, SIDES = 2, PARTS = 2, SLOTS = 3, INPUTS = 4 };

/* The sequences of training or validation. */
typedef struct {
    int64_t count, rows;     /* rows of all batches of an epoch */
    int32_t *ids[SIDES];     /* NULL: this side is absent */
    int64_t *at[SIDES];      /* (count) offset of each sequence */
    int64_t *lengths[SIDES]; /* (count) its tokens */
    int64_t tokens, batches; /* `tokens` of WRITTEN */
    int32_t *order;          /* (count) of the running epoch */
    int64_t *first;          /* (batches + 1) offsets in `order` */
    int64_t epoch, shift;    /* the epoch of `order`, and the offset of its windows */
} part_t;

typedef struct {
    gnn__source_state_t base;
    const gnn_model_t *model;
    gnn_token_source_config_t config;
    bool is_pairs;
    int slots;
    part_t parts[PARTS];
    /* the batch */
    gnn_graph_t *graphs[SLOTS];
    int64_t *lengths[SIDES];
    int32_t *ids[SIDES], *positions[SIDES], *labels;
    gnn_named_t values[INPUTS];
} tokens_t;

/* ---- which sequences make a batch ---- */

/* Rows of sequence k in a batch: its last token is only a label, not a row. */
static int64_t rows_of(const part_t *p, int64_t k)
{
    return (p->lengths[READ] ? p->lengths[READ][k] : 0) + p->lengths[WRITTEN][k] - 1;
}

/* Divides all rows of an epoch, in its order, equally among the batches; a sequence belongs to the
 * batch that has its first row. A batch's share is at least as long as the longest sequence, so no
 * batch is empty. */
static void cut_batches(part_t *p)
{
    int64_t rows = 0, batch = 0;
    for (int64_t k = 0; k < p->count; k++) {
        const int64_t of = rows / p->rows * p->batches + rows % p->rows * p->batches / p->rows;
        for (; batch <= of; batch++)
            p->first[batch] = k;
        rows += rows_of(p, p->order[k]);
    }
    p->first[p->batches] = p->count;
}

/* Windows start at a random offset, with at least one token after the last window. */
static void shift_pieces(part_t *p, uint64_t seed, int64_t epoch)
{
    const int64_t piece = p->lengths[WRITTEN][0] - 1;
    const int64_t room = gnn__min(piece, p->tokens - p->count * piece);
    const double drawn = gnn__uniform(seed, gnn__hash_string("token source"), (uint64_t)epoch);
    p->shift = (int64_t)(drawn * (double)room);
}

static void begin_epoch(const tokens_t *s, part_t *p, int64_t epoch)
{
    if (p->epoch == epoch)
        return;
    gnn__data_shuffle(p->order, p->count, s->config.seed + (uint64_t)epoch * 0x9E3779B97F4A7C15u);
    if (s->config.window > 0)
        shift_pieces(p, s->config.seed, epoch);
    cut_batches(p);
    p->epoch = epoch;
}

/* ---- a batch ---- */

static void count_up(int32_t *positions, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        positions[k] = (int32_t)k;
}

/* Copies the tokens of one side of the sequences first .. first + count - 1 of the order;
 * returns their count. */
static int64_t gather(tokens_t *s, const part_t *p, int side, int64_t first, int64_t count)
{
    int64_t row = 0;
    for (int64_t k = 0; k < count; k++) {
        const int64_t sequence = p->order[first + k];
        const int64_t n = p->lengths[side][sequence] - (side == WRITTEN);
        const int32_t *ids = p->ids[side] + p->at[side][sequence] + p->shift;
        memcpy(s->ids[side] + row, ids, (size_t)n * sizeof *ids);
        if (side == WRITTEN)
            memcpy(s->labels + row, ids + 1, (size_t)n * sizeof *ids);
        count_up(s->positions[side] + row, n);
        s->lengths[side][k] = n;
        row += n;
    }
    return row;
}

static void free_graphs(tokens_t *s)
{
    for (int slot = 0; slot < SLOTS; slot++) {
        gnn_graph_free(s->graphs[slot]);
        s->graphs[slot] = NULL;
    }
}

static int make_graphs(tokens_t *s, int64_t count)
{
    free_graphs(s);
    if (s->is_pairs) {
        GNN_TRY(gnn_graph_complete(&s->graphs[0], count, s->lengths[READ]));
        GNN_TRY(gnn_graph_causal(&s->graphs[1], count, s->lengths[WRITTEN]));
        GNN_TRY(gnn_graph_bipartite(&s->graphs[2], count, s->lengths[WRITTEN], s->lengths[READ]));
    } else {
        GNN_TRY(gnn_graph_causal(&s->graphs[0], count, s->lengths[WRITTEN]));
    }
    for (int slot = 0; slot < s->slots; slot++)
        GNN_TRY(gnn_model_prepare(s->model, slot, s->graphs[slot], GNN_ON));
    return GNN_OK;
}

/* The inputs of the model; a language model uses the names of the encoder side. */
static void name_inputs(tokens_t *s, const int64_t rows[SIDES], gnn_model_inputs_t *inputs)
{
    static const char *const names[SIDES][2] = {{"ids", "positions"},
                                                {"decoder_ids", "decoder_positions"}};
    int64_t n = 0;
    for (int64_t k = 0; k < gnn_model_input_count(s->model); k++) {
        const char *name = gnn_model_input_name(s->model, k);
        for (int side = s->is_pairs ? READ : WRITTEN; side < SIDES; side++)
            for (int which = 0; which < 2 && n < INPUTS; which++)
                if (strcmp(name, names[s->is_pairs ? side : READ][which]) == 0)
                    s->values[n++] = (gnn_named_t){.name = name,
                                                   .ids = which ? s->positions[side] : s->ids[side],
                                                   .count = rows[side]};
    }
    *inputs = (gnn_model_inputs_t){.graphs = (const gnn_graph_t *const *)s->graphs,
                                   .n_graphs = s->slots,
                                   .values = s->values,
                                   .n_values = n};
}

static int get(void *user, int part, int64_t epoch, int64_t index, gnn_batch_t *batch)
{
    tokens_t *s = user;
    part_t *p = &s->parts[part];
    int64_t rows[SIDES] = {0};
    if (part == GNN_TRAIN)
        begin_epoch(s, p, epoch);
    const int64_t first = p->first[index], count = p->first[index + 1] - first;
    for (int side = s->is_pairs ? READ : WRITTEN; side < SIDES; side++)
        rows[side] = gather(s, p, side, first, count);
    GNN_TRY(make_graphs(s, count));
    name_inputs(s, rows, &batch->inputs);
    batch->loss = (gnn_loss_t){.labels = s->labels,
                               .label_smoothing = part == GNN_TRAIN ? s->config.label_smoothing : 0};
    return GNN_OK;
}

/* ---- taking sequences in ---- */

/* Copies one side; sequences need at least `least` tokens. */
static int take_side(part_t *p, int side, const int64_t *lengths, const int32_t *ids, int64_t least)
{
    int64_t total = 0;
    if (!lengths || !ids)
        return gnn__error(GNN_EINVALID, "the lengths or ids of the %s's sequences are NULL",
                          side == READ ? "encoder" : "decoder");
    for (int64_t k = 0; k < p->count; k++) {
        if (lengths[k] < least || lengths[k] > INT32_MAX)
            return gnn__error(GNN_EINVALID,
                              "sequence %lld of the %s has %lld tokens, expected at least %lld",
                              (long long)k, side == READ ? "encoder" : "decoder",
                              (long long)lengths[k], (long long)least);
        if (!gnn__add(total, lengths[k], &total))
            return gnn__error(GNN_EOVERFLOW, "the tokens of the sequences do not fit");
    }
    GNN_TRY(gnn__new(&p->ids[side], total, sizeof *ids, "tokens"));
    GNN_TRY(gnn__new(&p->at[side], p->count, sizeof *p->at[side], "places of sequences"));
    GNN_TRY(gnn__new(&p->lengths[side], p->count, sizeof *lengths, "lengths of sequences"));
    memcpy(p->ids[side], ids, (size_t)total * sizeof *ids);
    for (int64_t k = 0, at = 0; k < p->count; at += lengths[k++]) {
        p->at[side][k] = at;
        p->lengths[side][k] = lengths[k];
    }
    p->tokens = total;
    return GNN_OK;
}

/* Cuts all tokens into windows of `window` rows. With `anywhere` epochs may shift them, so there is
 * one fewer; if no window fits, one is shorter. */
static int cut_pieces(part_t *p, int64_t window, bool anywhere)
{
    const int64_t rows = p->tokens - 1,
                  whole = anywhere ? (rows + 1 - window) / window : rows / window;
    const int64_t count = gnn__max(whole, 1);
    gnn_free(p->at[WRITTEN]);
    gnn_free(p->lengths[WRITTEN]);
    p->at[WRITTEN] = p->lengths[WRITTEN] = NULL;
    p->count = count;
    GNN_TRY(gnn__new(&p->at[WRITTEN], count, sizeof *p->at[WRITTEN], "places of pieces"));
    GNN_TRY(gnn__new(&p->lengths[WRITTEN], count, sizeof *p->at[WRITTEN], "lengths of pieces"));
    for (int64_t k = 0; k < count; k++) {
        p->at[WRITTEN][k] = k * window;
        p->lengths[WRITTEN][k] = gnn__min(window, rows) + 1;
    }
    return GNN_OK;
}

/* Count of the batches, their bounds, and the rows of the largest. */
static int plan_batches(part_t *p, int64_t tokens, int64_t *largest)
{
    int64_t longest = 1;
    p->rows = 0;
    for (int64_t k = 0; k < p->count; k++) {
        longest = gnn__max(longest, rows_of(p, k));
        if (!gnn__add(p->rows, rows_of(p, k), &p->rows))
            return gnn__error(GNN_EOVERFLOW, "the tokens of the sequences do not fit");
    }
    const int64_t wanted = p->rows / tokens + (p->rows % tokens > 0);
    p->batches = gnn__max(gnn__min(wanted, p->rows / longest), 1);
    *largest = gnn__max(*largest, p->rows / p->batches + longest + 1);
    GNN_TRY(gnn__new(&p->order, p->count, sizeof *p->order, "an order of sequences"));
    GNN_TRY(gnn__new(&p->first, p->batches + 1, sizeof *p->first, "borders of batches"));
    for (int64_t k = 0; k < p->count; k++)
        p->order[k] = (int32_t)k;
    cut_batches(p);
    return GNN_OK;
}

static int take_part(tokens_t *s, int part, const gnn_sequences_t *from, int64_t *largest)
{
    part_t *p = &s->parts[part];
    p->count = from->count;
    p->epoch = -1;
    if (from->count < 1 || from->count > INT32_MAX)
        return gnn__error(GNN_EINVALID, "%lld sequences, expected 1 to %d", (long long)from->count,
                          INT32_MAX);
    if (s->is_pairs) {
        GNN_TRY(take_side(p, READ, from->lengths, from->ids, 1));
        GNN_TRY(take_side(p, WRITTEN, from->decoder_lengths, from->decoder_ids, 2));
    } else {
        GNN_TRY(take_side(p, WRITTEN, from->lengths, from->ids, s->config.window > 0 ? 1 : 2));
    }
    if (p->tokens < 2)
        return gnn__error(GNN_EINVALID, "the sequences are one token, expected at least 2");
    if (s->config.window > 0)
        GNN_TRY(cut_pieces(p, s->config.window, part == GNN_TRAIN));
    GNN_TRY(plan_batches(p, s->config.tokens, largest));
    s->base.source.count[part] = p->batches;
    return GNN_OK;
}

/* ---- opening and closing ---- */

static int check(tokens_t *s)
{
    gnn_token_source_config_t *c = &s->config;
    if (c->tokens < 0 || c->window < 0 || !(c->label_smoothing >= 0 && c->label_smoothing < 1))
        return gnn__error(
            GNN_EINVALID,
            ".tokens = %lld and .window = %lld, expected at least 0; .label_smoothing = %g, expected [0, 1)",
            (long long)c->tokens, (long long)c->window, (double)c->label_smoothing);
    c->tokens = c->tokens ? c->tokens : 4096;
    c->seed = c->seed ? c->seed : 1;
    for (int64_t k = 0; k < gnn_model_input_count(s->model); k++)
        s->is_pairs = s->is_pairs || strcmp(gnn_model_input_name(s->model, k), "decoder_ids") == 0;
    s->slots = gnn_model_graph_count(s->model);
    if (s->slots > (s->is_pairs ? SLOTS : 1))
        return gnn__error(GNN_EUNSUPPORTED, "the model has %d graph slots; %s has at most %d",
                          s->slots, s->is_pairs ? "an encoder-decoder" : "a language model",
                          s->is_pairs ? SLOTS : 1);
    if (s->is_pairs && c->window > 0)
        return gnn__error(
            GNN_EINVALID,
            ".window = %lld, expected 0 for an encoder-decoder: windows are for language models",
            (long long)c->window);
    return GNN_OK;
}

static uint64_t identify(const tokens_t *s)
{
    uint64_t sum = s->config.seed + (uint64_t)s->config.tokens * 0x100000001b3u;
    sum = sum * 0x100000001b3u + (uint64_t)s->config.window;
    sum = sum * 0x100000001b3u + (uint64_t)((double)s->config.label_smoothing * 1e9);
    for (int part = 0; part < PARTS; part++)
        for (int side = 0; side < SIDES; side++) {
            const part_t *p = &s->parts[part];
            for (int64_t k = 0; p->ids[side] && k < p->count; k++) {
                const int32_t *ids = p->ids[side] + p->at[side][k];
                for (int64_t t = 0; t < p->lengths[side][k]; t++)
                    sum = (sum ^ (uint64_t)(uint32_t)ids[t]) * 0x100000001b3u;
                sum = (sum ^ (uint64_t)p->lengths[side][k]) * 0x100000001b3u;
            }
        }
    return sum ? sum : 1;
}

static int fill(tokens_t *s, const gnn_sequences_t *train, const gnn_sequences_t *validation)
{
    int64_t largest = 1;
    GNN_TRY(check(s));
    GNN_TRY(take_part(s, GNN_TRAIN, train, &largest));
    if (validation)
        GNN_TRY(take_part(s, GNN_VALIDATION, validation, &largest));
    for (int side = 0; side < SIDES; side++) {
        GNN_TRY(gnn__new(&s->ids[side], largest, sizeof *s->ids[side], "tokens of a batch"));
        GNN_TRY(gnn__new(&s->positions[side], largest, sizeof *s->ids[side], "places of a batch"));
        GNN_TRY(gnn__new(&s->lengths[side], largest, sizeof *s->lengths[side], "lengths of a batch"));
    }
    GNN_TRY(gnn__new(&s->labels, largest, sizeof *s->labels, "labels of a batch"));
    s->base.source.identity = identify(s);
    return GNN_OK;
}

static void free_tokens(gnn__source_state_t *state)
{
    tokens_t *s = (tokens_t *)state;
    free_graphs(s);
    for (int side = 0; side < SIDES; side++) {
        for (int part = 0; part < PARTS; part++) {
            gnn_free(s->parts[part].ids[side]);
            gnn_free(s->parts[part].at[side]);
            gnn_free(s->parts[part].lengths[side]);
        }
        gnn_free(s->ids[side]);
        gnn_free(s->positions[side]);
        gnn_free(s->lengths[side]);
        gnn_free(s->parts[side].order);
        gnn_free(s->parts[side].first);
    }
    gnn_free(s->labels);
    gnn_free(s);
}

static const gnn__source_kind_t of_tokens = {"gnn_source_of_tokens", free_tokens};

int gnn_source_of_tokens(gnn_source_t **source, const gnn_model_t *model,
                         const gnn_sequences_t *train, const gnn_sequences_t *validation,
                         const gnn_token_source_config_t *config)
{
    tokens_t *s;
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(model);
    GNN__NEED(train);
    GNN_TRY(gnn__new(&s, 1, sizeof *s, "a source of batches"));
    s->base = gnn__source_state(&of_tokens, &s->base, get);
    s->model = model;
    s->config = config ? *config : (gnn_token_source_config_t){0};
    return gnn__source_finish(source, &s->base, fill(s, train, validation));
}
