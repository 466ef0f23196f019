/* Random programs: their planned form (fused ops, reused memory, in-place ops, shared gradients)
 * gives the results of single ops, each on its own tape, with gradients added up here.
 * GNN_TEST_SEED draws others. */
#include "random_program.h"
#include "tape_fixture.h"

/* Inputs of all programs. */
typedef struct {
    fixture_t f;
    gnn_graph_t *graphs[2];
    int32_t ids[NODES];
    gnn_real_t *leaves[LEAVES];
} world_t;

/* Counts of the optimisations seen in plans. */
typedef struct {
    int joined, absorbed, added, written_over, lent, again;
} joins_t;

/* ---- one line, on any tape ---- */

static gnn_var_t record_aggregate(gnn_tape_t *t, const world_t *world, const line_t *line,
                                  const gnn_var_t *in)
{
    static const char *const sums[] = {"sum", "mean", "max", "std"};
    const bool attends = line->kind == ATTEND, dot = gnn_tape_cols(t, in[0]) != HEADS;
    gnn_var_t inputs[GNN_AGGREGATE_INPUTS];
    for (int k = 0; k < GNN_AGGREGATE_INPUTS; k++)
        inputs[k] = GNN_NONE;
    inputs[GNN_AGGREGATE_SRC_MESSAGE] = attends ? in[2] : in[0];
    gnn_aggregate_t how = {.message = gnn_message_find("none"), .graph = world->graphs[line->graph]};
    how.aggregator = gnn_aggregator_find(attends ? "attention" : sums[line->choice % 4]);
    if (attends) {
        how.score = dot ? &gnn_score_dot : &gnn_score_additive;
        inputs[GNN_AGGREGATE_QUERY] = in[0];
        inputs[GNN_AGGREGATE_KEY] = in[1];
        how.shape.heads = HEADS;
        how.dropout = line->alpha;
    }
    return gnn_tape_aggregate(t, &how, inputs);
}

static gnn_var_t record_norm(gnn_tape_t *t, const line_t *line, const gnn_var_t *in)
{
    const gnn_norm_t kinds[] = {GNN_NORM_LAYER, GNN_NORM_RMS, GNN_NORM_BATCH};
    const gnn_real_t eps = (gnn_real_t)0.01;
    if (line->kind == NORM)
        return gnn_tape_norm(t, kinds[line->choice % 3], in[0], in[1], in[2], eps, NULL, 0);
    const gnn__norm_settings_t how = {
        .kind = kinds[line->choice % 2], .eps = eps, .rate = line->alpha};
    return gnn__tape_add_norm(t, &how, in[0], in[1], in[2], GNN_NONE);
}

static gnn_var_t record_op(gnn_tape_t *t, const world_t *world, const line_t *line,
                           const gnn_var_t *in)
{
    const gnn_activation_t f = (gnn_activation_t)(GNN_RELU + line->choice % 9);
    switch (line->kind) {
    case LINEAR: return gnn_tape_linear(t, in[0], in[1], in[2]);
    case WINDOW: return gnn_tape_view(t, in[0], 0, line->rows, first_column(line), WIDTH);
    case ROW: return gnn_tape_view(t, in[0], line->choice % NODES, 1, 0, line->cols);
    case ADD:
    case ADD_ROW: return gnn_tape_add(t, in[0], in[1], line->alpha);
    case ADD_SCALED: return gnn_tape_add_scaled(t, in[0], in[1], in[2]);
    case ACTIVATE: return gnn_tape_activation(t, in[0], f, 0);
    case BIASED: return gnn__tape_activate(t, gnn_tape_add(t, in[0], in[1], 1), f, 0);
    case DROP: return gnn_tape_dropout(t, in[0], (gnn_real_t)0.3);
    case CONCAT: return gnn_tape_concat(t, in, 2);
    case GATHER: return gnn_tape_gather(t, in[0], gnn_tape_ids(t, world->ids, NODES));
    case HEAD_DOT: return gnn_tape_head_dot(t, in[0], in[1], HEADS);
    case HEAD_MEAN: return gnn_tape_head_mean(t, in[0], HEADS);
    case NORM:
    case ADD_NORM: return record_norm(t, line, in);
    default: return record_aggregate(t, world, line, in);
    }
}

/* Line k draws from stream k, whatever tape it is on. */
static gnn_var_t record(gnn_tape_t *t, const world_t *world, const program_t *p, int k,
                        const gnn_var_t *in)
{
    const gnn_var_t y = record_op(t, world, &p->lines[k], in);
    if (p->lines[k].kind == DROP || p->lines[k].kind == ADD_NORM || p->lines[k].kind == ATTEND)
        gnn__tape_set_stream(t, y, (uint32_t)k);
    return y;
}

/* ---- one by one ---- */

/* Values and gradients of all lines; those of windows and rows are parts of others'. */
typedef struct {
    gnn_tensor_t value[MOST], grad[MOST];
    gnn_real_t *memory;
} numbers_t;

static gnn_tensor_t part_of(const line_t *line, gnn_tensor_t of)
{
    of.data += line->kind == ROW ? line->choice % NODES * of.stride : first_column(line);
    of.rows = line->rows;
    of.cols = line->cols;
    return of;
}

static void copy(const gnn_tensor_t *from, const gnn_tensor_t *to, bool add)
{
    for (int64_t r = 0; r < to->rows; r++)
        for (int64_t c = 0; c < to->cols; c++)
            gnn__row(to, r)[c] = gnn__row(from, r)[c] + (add ? gnn__row(to, r)[c] : 0);
}

static void run_line(const world_t *world, const program_t *p, int k, numbers_t *of, bool backward)
{
    const line_t *line = &p->lines[k];
    gnn_tape_t *t = world->f.tape;
    gnn_var_t in[3];
    gnn_tape_reset(t, 1, 1);
    for (int i = 0; i < 3; i++)
        in[i] = i < line->n_in && line->in[i] >= 0
                    ? gnn_tape_input(t, &of->value[line->in[i]], p->lines[line->in[i]].wants)
                    : GNN_NONE;
    const gnn_var_t y = record(t, world, p, k, in);
    gnn_tape_keep(t, y);
    ck_ok(gnn_tape_forward(t));
    const gnn_tensor_t value = gnn_tape_value(t, y);
    copy(&value, &of->value[k], false);
    if (!backward || !line->wants)
        return;
    ck_ok(gnn_tape_backward(t, y, &of->grad[k]));
    for (int i = 0; i < line->n_in; i++)
        if (line->in[i] >= 0 && p->lines[line->in[i]].wants) {
            const gnn_tensor_t d = gnn_tape_gradient(t, in[i]);
            copy(&d, &of->grad[line->in[i]], true);
        }
}

static numbers_t run_one_by_one(const world_t *world, const program_t *p)
{
    numbers_t of = {.memory = calloc(2 * MOST * NODES * TWICE, sizeof *of.memory)};
    for (int k = 0; k < p->count; k++) {
        const line_t *line = &p->lines[k];
        gnn_real_t *at = of.memory + 2 * k * NODES * TWICE;
        of.value[k] = is_part(line) ? part_of(line, of.value[line->in[0]])
                                    : gnn_tensor(at, line->rows, line->cols);
        of.grad[k] = is_part(line) ? part_of(line, of.grad[line->in[0]])
                                   : gnn_tensor(at + NODES * TWICE, line->rows, line->cols);
        if (line->kind == LEAF)
            memcpy(at, world->leaves[k], sizeof *at * (size_t)(line->rows * line->cols));
        else if (!is_part(line))
            run_line(world, p, k, &of, false);
    }
    const gnn_tensor_t *root = &of.grad[p->count - 1];
    for (int64_t e = 0; e < root->rows * root->cols; e++)
        root->data[e] = (gnn_real_t)(1 - 0.2 * (double)(e % 7));
    for (int k = p->count - 1; k >= LEAVES; k--)
        if (!is_part(&p->lines[k]))
            run_line(world, p, k, &of, true);
    return of;
}

/* ---- as one program ---- */

static void count_joins(const gnn_tape_t *t, joins_t *joins)
{
    for (int32_t k = 0; k < t->n_nodes; k++) {
        joins->joined += t->nodes[k]->forward_fused;
        joins->absorbed += t->nodes[k]->fused;
        joins->added += t->nodes[k]->op == &gnn__op_linear &&
                        ((const gnn__linear_settings_t *)t->nodes[k]->call.attributes)->adds;
    }
    for (gnn_var_t x = 0; x < t->n_values; x++) {
        joins->written_over += t->values[x].data_of != GNN_NONE;
        joins->lent += t->values[x].grad_of != GNN_NONE;
        joins->again += t->values[x].inner;
    }
}

/* Nothing that an earlier run left in a tape's memory may be read. */
static void spoil(const world_t *world)
{
    memset(world->f.tape->arena.base, 0xff, world->f.tape->arena.used);
    memset(world->f.context->scratch.base, 0xff, world->f.tape->scratch);
}

static double largest_of(const gnn_tensor_t *x)
{
    double largest = 0;
    for (int64_t r = 0; r < x->rows; r++)
        for (int64_t c = 0; c < x->cols; c++)
            largest = fmax(largest, fabs((double)gnn__row(x, r)[c]));
    return largest;
}

/* Some gradients are rounding errors only, such as that of a row added before a batch norm, so the
 * tolerance is also relative to the largest element of any value. */
static double allowed(const program_t *p, const gnn_tensor_t *all, const gnn_tensor_t *own)
{
    double largest = 0;
    for (int k = 0; k < p->count; k++)
        largest = fmax(largest, largest_of(&all[k]));
    return (GNN_DOUBLE ? 1e-9 : 1e-3) * largest_of(own) + (GNN_DOUBLE ? 1e-12 : 1e-5) * largest;
}

static void judge(const program_t *p, int number, int k, const char *what, gnn_tensor_t got,
                  const gnn_tensor_t *all)
{
    const gnn_tensor_t *expected = &all[k];
    double error = 0;
    ck_assert_msg(got.data != NULL, "program %d: line %d has no %s", number, k, what);
    for (int64_t r = 0; r < expected->rows; r++)
        for (int64_t c = 0; c < expected->cols; c++) {
            const double off = fabs((double)(gnn__row(&got, r)[c] - gnn__row(expected, r)[c]));
            error = isnan(off) ? INFINITY : fmax(error, off);
        }
    if (error <= allowed(p, all, expected))
        return;
    show_program(p);
    ck_abort_msg("program %d: %s of line %d (%s) is off by %g", number, what, k,
                 kind_name(p->lines[k].kind), error);
}

/* A program that does not record, one that does, and one that computes values again. */
enum { PLAIN, RECORDED, SEGMENTS };

static void run_whole(const world_t *world, const program_t *p, int number,
                      const numbers_t *expected, int mode, joins_t *joins)
{
    enum { GAP = 3 };
    const bool recording = mode != PLAIN;
    gnn_real_t *memory = calloc(MOST * NODES * (TWICE + GAP), sizeof *memory);
    gnn_tape_t *t = world->f.tape;
    gnn_var_t x[MOST];
    int32_t id = 0;
    gnn_tape_reset(t, recording, 1);
    for (int k = 0; k < p->count; k++) {
        const line_t *line = &p->lines[k];
        gnn_var_t in[3];
        if (mode == SEGMENTS && k % (1 + number % 7) == 0)
            gnn_tape_recompute(t, k % 5 != 0);
        for (int i = 0; i < 3; i++)
            in[i] = line->in[i] >= 0 ? x[line->in[i]] : GNN_NONE;
        if (line->kind == LEAF && leaf_shapes[k].parameter)
            x[k] = gnn_tape_parameter(t, world->f.parameters, id++);
        else
            x[k] = line->kind == LEAF ? gnn_tape_input(t, &expected->value[k], line->wants)
                                      : record(t, world, p, k, in);
        const gnn_tensor_t own = {memory + k * NODES * (TWICE + GAP), line->rows, line->cols,
                                  TWICE + GAP};
        if (line->kept)
            gnn_tape_keep(t, x[k]);
        if (line->bound)
            gnn_tape_bind(t, x[k], &own);
    }
    ck_ok(gnn_tape_forward(t));
    spoil(world);
    ck_ok(gnn_tape_forward(t));
    count_joins(t, joins);
    if (recording) {
        gnn_parameters_zero_gradients(world->f.parameters);
        ck_ok(gnn_tape_backward(t, x[p->count - 1], &expected->grad[p->count - 1]));
    }
    for (int k = LEAVES; k < p->count; k++)
        if (p->lines[k].kept || p->lines[k].bound)
            judge(p, number, k, "value", gnn_tape_value(t, x[k]), expected->value);
    id = 0;
    for (int k = 0; k < LEAVES; k++) {
        const gnn_tensor_t d = leaf_shapes[k].parameter
                                   ? gnn_parameters_gradient(world->f.parameters, id++)
                                   : gnn_tape_gradient(t, x[k]);
        if (recording && leaf_shapes[k].wants)
            judge(p, number, k, "gradient", d, expected->grad);
    }
    free(memory);
}

/* ---- the world ---- */

static gnn_graph_t *edges(uint64_t seed)
{
    int64_t src[EDGES], dst[EDGES];
    gnn_graph_t *g = NULL;
    for (int k = 0; k < EDGES; k++) { /* the last node has no senders */
        src[k] = test_below(&seed, NODES);
        dst[k] = test_below(&seed, NODES - 1);
    }
    ck_ok(gnn_graph_from_edges(&g, NODES, NODES, EDGES, src, dst));
    return g;
}

static world_t world_new(uint64_t seed)
{
    world_t world = {.f = set_up()};
    world.graphs[0] = edges(seed);
    ck_ok(gnn_graph_causal(&world.graphs[1], 3, (const int64_t[]){4, 12, NODES - 16}));
    for (int g = 0; g < 2; g++)
        ck_ok(gnn_graph_prepare(world.graphs[g], &(gnn_view_t){.backward = GNN_ON}));
    for (int k = 0; k < NODES; k++)
        world.ids[k] = (int32_t)test_below(&seed, NODES + 1) - 1;
    for (int k = 0; k < LEAVES; k++) {
        const int64_t rows = leaf_shapes[k].rows, cols = leaf_shapes[k].cols;
        char name[] = "leaf 0";
        int32_t id;
        name[5] = (char)('0' + k);
        world.leaves[k] = test_reals(rows * cols, seed + (uint64_t)k);
        if (leaf_shapes[k].parameter)
            ck_ok(gnn_parameters_add(world.f.parameters, name, rows, cols, GNN_INIT_ZEROS, 0, 0, 0,
                                     &id));
    }
    ck_ok(gnn_parameters_allocate(world.f.parameters, world.f.context));
    for (int k = 0, id = 0; k < LEAVES; k++)
        if (leaf_shapes[k].parameter) {
            const gnn_tensor_t to = gnn_parameters_value(world.f.parameters, id++),
                               from = gnn_tensor(world.leaves[k], to.rows, to.cols);
            copy(&from, &to, false);
        }
    return world;
}

static void world_free(world_t *world)
{
    for (int k = 0; k < LEAVES; k++)
        free(world->leaves[k]);
    for (int g = 0; g < 2; g++)
        gnn_graph_free(world->graphs[g]);
    tear_down(&world->f);
}

START_TEST(planned_programs_equal_single_ops)
{
    const int programs = test_small() ? 100 : 4000;
    const uint64_t seed = test_seed();
    world_t world = world_new(seed);
    joins_t joins = {0};
    for (int k = 0; k < programs; k++) {
        const program_t p = random_program(seed + 7919 * (uint64_t)k);
        numbers_t expected = run_one_by_one(&world, &p);
        for (int mode = PLAIN; mode <= SEGMENTS; mode++)
            run_whole(&world, &p, k, &expected, mode, &joins);
        free(expected.memory);
    }
    world_free(&world);
    printf("programs: %d, forwards joined %d, dropouts absorbed %d, products added %d, written over %d, gradients lent %d, computed again %d\n",
           programs, joins.joined, joins.absorbed, joins.added, joins.written_over, joins.lent,
           joins.again);
    if (test_small())
        return; /* too few for every kind */
    ck_assert_int_gt(joins.joined, 0);
    ck_assert_int_gt(joins.absorbed, 0);
    ck_assert_int_gt(joins.added, 0);
    ck_assert_int_gt(joins.written_over, 0);
    ck_assert_int_gt(joins.lent, 0);
    ck_assert_int_gt(joins.again, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("programs");
    TCase *c = tcase_create("programs");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, planned_programs_equal_single_ops);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
