/* Incremental decoding of pretrained models: states and the inputs of new rows. */
#include <lib/base/settings.h>
#include <lib/model/state.h>
#include <lib/pretrained/pretrained.h>

/* ---- a state ---- */

/* Incremental graphs by slot. A model without an encoder has no other inputs. */
static int find_windows(const gnn_pretrained_t *p, int64_t *windows)
{
    const bool encodes = gnn__pretrained_reads(p, "decoder_ids");
    for (int k = 0; k < p->made.n_graphs; k++) {
        const gnn__arch_graph_t *graph = &p->made.graphs[k];
        const gnn__arch_hears_t hears = graph->kind->hears;
        if ((hears == GNN__ARCH_HEARS_NOTHING && !encodes) ||
            (hears == GNN__ARCH_HEARS_WINDOW && graph->width < 1))
            return gnn__error(
                GNN_EUNSUPPORTED,
                "%s cannot decode incrementally: its rows aggregate over a graph \"%s\", expected a causal one",
                p->arch->name, graph->kind->name);
        windows[k] = hears == GNN__ARCH_HEARS_WINDOW ? graph->width : 0;
    }
    return GNN_OK;
}

static bool grows(const char *input, bool encodes)
{
    return !encodes || strncmp(input, "decoder_", 8) == 0;
}

/* Runs the encoder on the inputs and graphs of a batch in which every decoder has one token. */
static int encode(gnn_state_t **state, const gnn_pretrained_t *p, gnn_context_t *context,
                  const gnn_sequences_t *sequences, gnn_state_config_t *config)
{
    gnn_sequences_t s = *sequences;
    int64_t *ones = NULL;
    int32_t *zeros = NULL;
    gnn_pretrained_batch_t *batch = NULL;
    gnn_named_t fixed[GNN__STEP_INPUTS];
    gnn_model_inputs_t inputs = {.values = fixed};
    int rc;
    GNN_CHECK(gnn__new(&ones, s.count, sizeof *ones, "lengths"));
    GNN_CHECK(gnn__new(&zeros, s.count, sizeof *zeros, "ids"));
    for (int64_t k = 0; k < s.count; k++)
        ones[k] = 1;
    s.decoder_lengths = ones;
    s.decoder_ids = zeros;
    GNN_CHECK(gnn_pretrained_batch_new(&batch, p, &s));
    inputs.graphs = gnn_pretrained_batch_inputs(batch)->graphs;
    inputs.n_graphs = gnn_pretrained_batch_inputs(batch)->n_graphs;
    for (int64_t k = 0; k < gnn_pretrained_batch_inputs(batch)->n_values; k++)
        if (!grows(gnn_pretrained_batch_inputs(batch)->values[k].name, true))
            fixed[inputs.n_values++] = gnn_pretrained_batch_inputs(batch)->values[k];
    config->fixed = &inputs;
    rc = gnn_state_new(state, p->made.model, context, config);
done:
    gnn_pretrained_batch_free(batch);
    gnn_free(zeros);
    gnn_free(ones);
    return rc;
}

/* Fields that are of an encoder. The decoder's tokens come later. */
static int check_unread(const gnn_pretrained_t *p, const gnn_sequences_t *s)
{
    enum { ENCODER = 1 };
    const gnn__setting_use_t uses[] = {
        {"lengths", s->lengths, ENCODER},   {"ids", s->ids, ENCODER},
        {"types", s->types, ENCODER},       {"pixels", s->pixels, ENCODER},
        {"features", s->features, ENCODER}, {"height", s->height != 0, ENCODER},
        {"width", s->width != 0, ENCODER},  {"decoder_lengths", s->decoder_lengths, 0},
        {"decoder_ids", s->decoder_ids, 0}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses,
                                             gnn__pretrained_reads(p, "decoder_ids") ? ENCODER : 0);
    return unread ? gnn__error(GNN_EINVALID,
                               "a state of %s reads no .%s: gnn_pretrained_advance takes tokens",
                               p->arch->name, unread)
                  : GNN_OK;
}

int gnn_pretrained_state(gnn_state_t **state, const gnn_pretrained_t *pretrained,
                         gnn_context_t *context, const gnn_sequences_t *sequences, int64_t capacity)
{
    GNN__NEED(state);
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(sequences);
    *state = NULL;
    GNN_TRY(check_unread(pretrained, sequences));
    return gnn__pretrained_make_state(state, pretrained, context, sequences, capacity);
}

int gnn__pretrained_make_state(gnn_state_t **state, const gnn_pretrained_t *pretrained,
                               gnn_context_t *context, const gnn_sequences_t *sequences,
                               int64_t capacity)
{
    int64_t windows[GNN__ARCH_GRAPHS];
    const int64_t most = pretrained->max_length;
    *state = NULL;
    if (sequences->count < 1 || sequences->count > INT32_MAX)
        return gnn__error(GNN_EINVALID, "a state of %lld sequences, expected 1 to %d",
                          (long long)sequences->count, INT32_MAX);
    if (most > 0 && capacity > most)
        return gnn__error(
            GNN_ESHAPE,
            "a state of %lld tokens per sequence, expected at most %lld, the model's positions",
            (long long)capacity, (long long)most);
    GNN_TRY(find_windows(pretrained, windows));
    gnn_state_config_t config = {.segments = sequences->count,
                                 .capacity = capacity,
                                 .windows = windows,
                                 .n_windows = pretrained->made.n_graphs};
    if (gnn__pretrained_reads(pretrained, "decoder_ids"))
        return encode(state, pretrained, context, sequences, &config);
    return gnn_state_new(state, pretrained->made.model, context, &config);
}

/* ---- new rows ---- */

/* Inputs of new rows, whose count is known first; each growing input is one of three kinds. */
typedef struct {
    const int32_t *ids;
    int32_t *positions, *types;
    int64_t rows;
} rows_t;

static int64_t count_of(const int64_t *counts, int64_t s)
{
    return counts ? counts[s] : 1;
}

static int count_rows(const gnn_state_t *state, const int64_t *counts, int64_t *rows)
{
    *rows = 0;
    for (int64_t s = 0; s < state->segments; s++)
        if (count_of(counts, s) < 0 || !gnn__add(*rows, count_of(counts, s), rows))
            return gnn__error(GNN_EINVALID, "sequence %lld grows by %lld tokens, expected at least 0",
                              (long long)s, (long long)count_of(counts, s));
    return *rows <= INT32_MAX ? GNN_OK
                              : gnn__error(GNN_EOVERFLOW, "more than %d tokens at once", INT32_MAX);
}

static int make_rows(rows_t *r, const gnn_pretrained_t *p, const gnn_state_t *state,
                     const int64_t *counts, const int32_t *ids)
{
    GNN_TRY(gnn__new(&r->positions, r->rows, sizeof *r->positions, "positions"));
    GNN_TRY(gnn__new(&r->types, r->rows, sizeof *r->types, "types"));
    for (int64_t s = 0, at = 0; s < state->segments; at += count_of(counts, s++))
        gnn__pretrained_positions(p, r->positions + at, ids ? ids + at : NULL,
                                  gnn_state_length(state, s), count_of(counts, s));
    r->ids = ids ? ids : r->positions; /* of no tokens: any list */
    return GNN_OK;
}

static const int32_t *numbers_of(const rows_t *r, const char *input)
{
    const char *name = strncmp(input, "decoder_", 8) == 0 ? input + 8 : input;
    return strcmp(name, "ids") == 0         ? r->ids
           : strcmp(name, "positions") == 0 ? r->positions
           : strcmp(name, "types") == 0     ? r->types
                                            : NULL;
}

static int fill(const gnn_pretrained_t *p, const rows_t *r, gnn_named_t *values, int64_t *n)
{
    const gnn_model_t *model = p->made.model;
    const bool encodes = gnn__pretrained_reads(p, "decoder_ids");
    for (int64_t k = 0; k < gnn_model_input_count(model); k++) {
        const char *name = gnn_model_input_name(model, k);
        if (!grows(name, encodes))
            continue;
        if (!numbers_of(r, name) && r->rows > 0)
            return gnn__error(GNN_EUNSUPPORTED,
                              "the model cannot decode incrementally: it reads the input %s", name);
        if (*n == GNN__STEP_INPUTS)
            return gnn__error(GNN_EUNSUPPORTED, "the model has more inputs than %d",
                              GNN__STEP_INPUTS);
        values[*n] = (gnn_named_t){.name = name, .ids = numbers_of(r, name), .count = r->rows};
        GNN_TRY(gnn__pretrained_check_ids(p, &values[(*n)++]));
    }
    return GNN_OK;
}

int gnn_pretrained_advance(const gnn_pretrained_t *pretrained, gnn_context_t *context,
                           gnn_state_t *state, const int64_t *counts, const int32_t *ids,
                           const gnn_tensor_t *out)
{
    rows_t rows = {0};
    gnn_named_t values[GNN__STEP_INPUTS];
    int64_t n = 0;
    int rc;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(state);
    GNN__NEED(out);
    GNN_TRY(count_rows(state, counts, &rows.rows));
    GNN__NEED_LIST(ids, rows.rows);
    GNN_CHECK(make_rows(&rows, pretrained, state, counts, ids));
    GNN_CHECK(fill(pretrained, &rows, values, &n));
    rc = gnn_model_advance(pretrained->made.model, context, state, counts,
                           &(gnn_model_inputs_t){.values = values, .n_values = n}, out);
done:
    gnn_free(rows.positions);
    gnn_free(rows.types);
    return rc;
}
