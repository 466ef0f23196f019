/* Reordering the sequences of a state. Caches of growing senders are moved in place, sequence by
 * sequence; rows of fixed senders are gathered anew, if sequences change to others. */
#include <lib/model/state.h>

#include <lib/ops/support.h>

enum { SCRATCH = -1 };

/* The rows of one sequence move from a position to another one, or to the scratch. */
typedef struct {
    int64_t to, from, rows;
} move_t;

typedef struct {
    move_t *at;
    int64_t n;
} moves_t;

/* ---- the order of moves ---- */

static void add_move(moves_t *moves, int64_t to, int64_t from)
{
    moves->at[moves->n++] = (move_t){to, from, 0};
}

/* A position may be overwritten once no later move reads it. Follows the chain of positions that
 * become free one after another. */
static void follow(moves_t *moves, int64_t place, int64_t *source, int64_t *readers)
{
    while (readers[place] == 0 && source[place] != place) {
        const int64_t from = source[place];
        add_move(moves, place, from);
        source[place] = place;
        if (from == SCRATCH)
            return;
        readers[from]--;
        place = from;
    }
}

/* Without chains the remaining positions form cycles: the first of a cycle moves to the scratch,
 * and its reader takes it from there. */
static void open_cycle(moves_t *moves, int64_t places, int64_t place, int64_t *source,
                       int64_t *readers)
{
    int64_t reader = 0;
    while (reader < places && (source[reader] != place || reader == place))
        reader++;
    add_move(moves, SCRATCH, place);
    source[reader] = SCRATCH;
    readers[place] = 0;
    follow(moves, place, source, readers);
}

static void count_rows(moves_t *moves, const int64_t *lengths)
{
    int64_t beside = 0; /* rows in the scratch */
    for (int64_t k = 0; k < moves->n; k++) {
        move_t *m = &moves->at[k];
        m->rows = m->from == SCRATCH ? beside : lengths[m->from];
        beside = m->to == SCRATCH ? m->rows : beside;
    }
}

static int plan(moves_t *moves, int64_t places, int64_t count, const int64_t *from)
{
    int64_t *source = NULL, *readers = NULL;
    int rc;
    GNN_CHECK(gnn__new(&source, places, sizeof *source, "the order of sequences"));
    GNN_CHECK(gnn__new(&readers, places, sizeof *readers, "the order of sequences"));
    GNN_CHECK(gnn__new(&moves->at, 2 * places, sizeof *moves->at, "the order of sequences"));
    for (int64_t k = 0; k < places; k++)
        source[k] = k < count ? from[k] : k;
    for (int64_t k = 0; k < places; k++)
        if (source[k] != k)
            readers[source[k]]++;
    for (int64_t k = 0; k < places; k++)
        follow(moves, k, source, readers);
    for (int64_t k = 0; k < places; k++)
        if (source[k] != k)
            open_cycle(moves, places, k, source, readers);
done:
    gnn_free(source);
    gnn_free(readers);
    return rc;
}

/* ---- caches of growing senders ---- */

static bool grows(const gnn_state_t *state, int64_t k)
{
    const gnn__model_step_t *s = &state->model->steps[k];
    return state->grows[k] && s->incremental == GNN__NEEDS_CACHE && gnn__state_senders_grow(state, s);
}

static bool is_fixed_part(const gnn_state_t *state, int64_t k)
{
    const gnn__model_step_t *s = &state->model->steps[k];
    return state->grows[k] && s->incremental == GNN__NEEDS_CACHE &&
           !gnn__state_senders_grow(state, s);
}

/* Allocates memory for `count` sequences. After an error some stores are larger than needed. */
static int make_room(gnn_state_t *state, int64_t count)
{
    const int64_t old = state->room;
    int64_t total;
    if (count <= old)
        return GNN_OK;
    if (!gnn__mul(count, state->capacity, &total))
        return gnn__error(GNN_EOVERFLOW, "a state of %lld x %lld rows does not fit",
                          (long long)count, (long long)state->capacity);
    for (int64_t k = 0; k < state->model->n_steps; k++)
        for (int w = 0; w < GNN__SENT && grows(state, k); w++) {
            gnn_tensor_t *store = &state->sent[k][w];
            if (store->data)
                GNN_TRY(gnn__grow(&store->data, old * gnn__state_rows(state, k),
                                  count * gnn__state_rows(state, k),
                                  (size_t)store->cols * sizeof *store->data, "a state"));
        }
    GNN_TRY(gnn__grow(&state->lengths, old, count, sizeof *state->lengths, "a state"));
    GNN_TRY(gnn__grow(&state->origin, old, count, sizeof *state->origin, "a state"));
    state->room = count;
    return GNN_OK;
}

static void move_rows(const gnn_state_t *state, int64_t step, const moves_t *moves,
                      const gnn_tensor_t *store, gnn_real_t *scratch)
{
    const int64_t block = gnn__state_rows(state, step) * store->cols;
    for (int64_t k = 0; k < moves->n; k++) {
        const move_t *m = &moves->at[k];
        memcpy(m->to == SCRATCH ? scratch : store->data + m->to * block,
               m->from == SCRATCH ? scratch : store->data + m->from * block,
               (size_t)((state->linear[step] ? 1 : m->rows) * store->cols) * sizeof *scratch);
    }
}

static int make_scratch(const gnn_state_t *state, const moves_t *moves, gnn_real_t **scratch)
{
    int64_t rows = 0, cols = 0, numbers;
    for (int64_t k = 0; k < moves->n; k++)
        rows = gnn__max(rows, moves->at[k].to == SCRATCH ? gnn__max(moves->at[k].rows, 1) : 0);
    for (int64_t k = 0; k < state->model->n_steps; k++)
        for (int w = 0; w < GNN__SENT && grows(state, k); w++)
            cols = gnn__max(cols, state->sent[k][w].cols);
    if (!gnn__mul(rows, cols, &numbers))
        return gnn__error(GNN_EOVERFLOW, "rows of one sequence do not fit");
    return gnn__new(scratch, numbers, sizeof **scratch, "rows of one sequence");
}

/* ---- rows of fixed senders ---- */

/* The fixed rows and lengths after the call, if they change. */
typedef struct {
    bool changes;
    gnn_tensor_t (*sent)[GNN__SENT]; /* by step */
    int64_t **lengths;               /* by slot */
} fresh_t;

static bool changes_senders(const gnn_state_t *state, int64_t count, const int64_t *from)
{
    bool others = count != state->segments;
    for (int64_t k = 0; k < count && !others; k++)
        others = state->origin[from[k]] != state->origin[k];
    return others;
}

static int gather_lengths(int64_t count, const int64_t *from, int64_t **to, const int64_t *lengths)
{
    GNN_TRY(gnn__new(to, count, sizeof **to, "lengths of segments"));
    for (int64_t k = 0; k < count; k++)
        (*to)[k] = lengths[from[k]];
    return GNN_OK;
}

/* Rows of the segments `from`, one after another. */
static int gather_rows(int64_t count, const int64_t *from, const int64_t *lengths,
                       const int64_t *begin, const gnn_tensor_t *x, gnn_tensor_t *out)
{
    int64_t rows = 0;
    for (int64_t k = 0; k < count; k++)
        rows += lengths[from[k]];
    GNN_TRY(gnn__state_tensor(out, rows, x->cols));
    gnn_real_t *to = out->data;
    for (int64_t k = 0; k < count; k++) {
        const int64_t n = lengths[from[k]] * x->cols;
        memcpy(to, gnn__row(x, begin[from[k]]), (size_t)n * sizeof *to);
        to += n;
    }
    return GNN_OK;
}

static int gather_step(const gnn_state_t *state, int64_t count, const int64_t *from, int64_t k,
                       fresh_t *fresh)
{
    const int64_t *lengths = state->slots[state->model->steps[k].step.graph].lengths;
    int64_t *begin = NULL;
    int rc;
    GNN_CHECK(gnn__new(&begin, state->segments + 1, sizeof *begin, "first rows of segments"));
    for (int64_t s = 0; s < state->segments; s++)
        begin[s + 1] = begin[s] + lengths[s];
    for (int w = 0; w < GNN__SENT; w++)
        if (state->sent[k][w].data)
            GNN_CHECK(
                gather_rows(count, from, lengths, begin, &state->sent[k][w], &fresh->sent[k][w]));
done:
    gnn_free(begin);
    return rc;
}

static int gather(const gnn_state_t *state, int64_t count, const int64_t *from, fresh_t *fresh)
{
    const gnn_model_t *m = state->model;
    fresh->changes = changes_senders(state, count, from);
    if (!fresh->changes)
        return GNN_OK;
    GNN_TRY(gnn__new(&fresh->sent, m->n_steps, sizeof *fresh->sent, "a state"));
    GNN_TRY(gnn__new(&fresh->lengths, m->n_graphs, sizeof *fresh->lengths, "a state"));
    for (int k = 0; k < m->n_graphs; k++)
        if (state->slots[k].lengths)
            GNN_TRY(gather_lengths(count, from, &fresh->lengths[k], state->slots[k].lengths));
    for (int64_t k = 0; k < m->n_steps; k++)
        if (is_fixed_part(state, k))
            GNN_TRY(gather_step(state, count, from, k, fresh));
    return GNN_OK;
}

/* Exchanges them with the state's; the former ones are freed with `fresh`. */
static void swap(gnn_state_t *state, fresh_t *fresh)
{
    for (int64_t k = 0; fresh->changes && k < state->model->n_steps; k++)
        for (int w = 0; w < GNN__SENT && is_fixed_part(state, k); w++) {
            const gnn_tensor_t old = state->sent[k][w];
            state->sent[k][w] = fresh->sent[k][w];
            fresh->sent[k][w] = old;
        }
    for (int k = 0; fresh->changes && k < state->model->n_graphs; k++) {
        int64_t *old = state->slots[k].lengths;
        state->slots[k].lengths = fresh->lengths[k];
        fresh->lengths[k] = old;
    }
}

static void fresh_free(const gnn_state_t *state, fresh_t *fresh)
{
    for (int64_t k = 0; fresh->sent && k < state->model->n_steps; k++)
        for (int w = 0; w < GNN__SENT; w++)
            gnn_free(fresh->sent[k][w].data);
    for (int k = 0; fresh->lengths && k < state->model->n_graphs; k++)
        gnn_free(fresh->lengths[k]);
    gnn_free(fresh->sent);
    gnn_free(fresh->lengths);
}

/* ---- the call ---- */

/* Cannot fail: memory is allocated. */
static void apply(gnn_state_t *state, const moves_t *moves, int64_t count, const int64_t *from,
                  int64_t *numbers, gnn_real_t *scratch)
{
    for (int64_t k = 0; k < state->model->n_steps; k++)
        for (int w = 0; w < GNN__SENT && grows(state, k); w++)
            if (state->sent[k][w].data) {
                move_rows(state, k, moves, &state->sent[k][w], scratch);
                state->sent[k][w].rows = count * gnn__state_rows(state, k);
            }
    for (int64_t k = 0; k < count; k++) {
        numbers[k] = state->lengths[from[k]];
        numbers[count + k] = state->origin[from[k]];
    }
    memcpy(state->lengths, numbers, (size_t)count * sizeof *numbers);
    memcpy(state->origin, numbers + count, (size_t)count * sizeof *numbers);
    state->segments = count;
}

static int check(const gnn_state_t *state, int64_t count, const int64_t *from)
{
    if (count < 1 || count > INT32_MAX)
        return gnn__error(GNN_EINVALID, "count = %lld, expected 1 to 2^31 - 1", (long long)count);
    for (int64_t k = 0; k < count; k++)
        if (from[k] < 0 || from[k] >= state->segments)
            return gnn__error(GNN_EINVALID, "from[%lld] = %lld: the state has %lld sequences",
                              (long long)k, (long long)from[k], (long long)state->segments);
    return GNN_OK;
}

int gnn_state_select(gnn_state_t *state, int64_t count, const int64_t *from)
{
    moves_t moves = {0};
    fresh_t fresh = {0};
    gnn_real_t *scratch = NULL;
    int64_t *numbers = NULL;
    int rc;
    GNN__NEED(state);
    GNN__NEED(from);
    GNN_TRY(check(state, count, from));
    GNN_CHECK(gather(state, count, from, &fresh));
    GNN_CHECK(gnn__new(&numbers, 2 * count, sizeof *numbers, "the order of sequences"));
    GNN_CHECK(plan(&moves, gnn__max(count, state->segments), count, from));
    count_rows(&moves, state->lengths);
    GNN_CHECK(make_scratch(state, &moves, &scratch));
    GNN_CHECK(make_room(state, count));
    apply(state, &moves, count, from, numbers, scratch);
    swap(state, &fresh);
done:
    fresh_free(state, &fresh);
    gnn_free(moves.at);
    gnn_free(scratch);
    gnn_free(numbers);
    return rc;
}
