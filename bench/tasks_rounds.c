/* Tasks of bench/tasks whose models run in rounds: a pursuit that has to halt when it meets what it
 * pursues, and a neural Turing machine that copies. */
#include "tasks.h"

#include <string.h>

static int one_each(const batch_t *b, int64_t rows, gnn_graph_t **graph)
{
    int64_t each[MOST_SEQUENCES];
    for (int64_t s = 0; s < b->sequences; s++)
        each[s] = rows;
    return gnn_graph_complete(graph, b->sequences, each);
}

/* ---- a pursuit ---- */

/* A ring of places: the target moves one place away in every second round, the pursuer at most one
 * in each round. The answer is the place where they meet first. */
enum { RING = 16, MOST_ROUNDS = 12, GAP = 5, PURSUITS = 256, THINK = 64 };

static void draw_pursuit(batch_t *b, uint64_t *seed)
{
    memset(b->x, 0, sizeof b->x);
    memset(b->start, 0, sizeof b->start);
    b->rows = 0;
    b->sequences = PURSUITS;
    b->cols = b->start_cols = RING;
    for (int s = 0; s < PURSUITS; s++) {
        const int64_t from = below(seed, RING), gap = 1 + below(seed, GAP),
                      way = below(seed, 2) ? 1 : -1;
        bool met = false;
        b->lengths[s] = MOST_ROUNDS;
        b->start[s * RING + from] = 1;
        for (int64_t t = 0; t < MOST_ROUNDS; t++, b->rows++) {
            const int64_t ahead = gap + t / 2, place = (from + way * ahead + 2 * RING) % RING;
            b->x[b->rows * RING + place] = 1;
            if (!met && t + 1 >= ahead) {
                met = true;
                b->labels[s] = (int32_t)place;
            }
        }
    }
}

/* The pursuer moves: softmax over staying and a step to either side. */
static void pursue(gnn_steps_t *steps)
{
    SCALE("w0", "start", 1);
    ADD_STEP(AT, "target", .inputs = {"x"});
    CONCAT("both", "w0", "target");
    LINEAR("see", "both", 2 * RING, THINK);
    ACTIVATION("seen", "see", RELU);
    LINEAR("ways", "seen", THINK, 3);
    OP("way", softmax_rows, "ways", 1);
    COLUMNS("last", "w0", RING - 1, 1);
    COLUMNS("but last", "w0", 0, RING - 1);
    COLUMNS("first", "w0", 0, 1);
    COLUMNS("but first", "w0", 1, RING - 1);
    CONCAT("on", "last", "but last");
    CONCAT("back", "but first", "first");
    COLUMNS("stays", "way", 0, 1);
    COLUMNS("goes", "way", 1, 1);
    COLUMNS("returns", "way", 2, 1);
    MULTIPLY("term0", "w0", "stays");
    MULTIPLY("term1", "on", "goes");
    MULTIPLY("term2", "back", "returns");
    ADD("two", "term0", "term1");
    ADD("w", "two", "term2");
}

static int read_place(gnn_steps_t *steps)
{
    return gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_OP,
                                              .name = "answer",
                                              .op = &gnn_op_log,
                                              .inputs = {"y"},
                                              .options = {1e-4}});
}

static int build_no_halt(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    pursue(steps);
    ADD_STEP(REPEAT, "y", .rows = MOST_ROUNDS, .inputs = {"w", "w0", "w"});
    return read_place(steps);
}

/* The probability to halt, from where both are. */
static void consider(gnn_steps_t *steps)
{
    CONCAT("meeting", "w", "target");
    LINEAR("compare", "meeting", 2 * RING, THINK);
    ACTIVATION("compared", "compare", RELU);
    LINEAR("halts", "compared", THINK, 1);
    ACTIVATION("p", "halts", SIGMOID);
    COLUMNS("one", "start", 0, 1);
    OP("left0", clamp, "one", 1, 1); /* 1 for each pursuit */
    SUBTRACT("y0", "start", "start");
}

/* PonderNet (Banino et al. 2021): the place weighed by the probability that the run halts there. */
static int build_ponder(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    pursue(steps);
    consider(steps);
    MULTIPLY("now", "left0", "p");
    SUBTRACT("left", "left0", "now");
    MULTIPLY("term", "w", "now");
    ADD("y1", "y0", "term");
    ADD_STEP(REPEAT, "y", .rows = MOST_ROUNDS,
             .inputs = {"y1", "w0", "w", "y0", "y1", "left0", "left"});
    return read_place(steps);
}

/* ACT (Graves 2016): halts once the sum of p exceeds 0.99; the last round has what is left of 1. */
static int build_act(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    pursue(steps);
    consider(steps);
    SUBTRACT("after", "left0", "p");
    ADD_STEP(OP, "go", .op = &gnn_op_between, .inputs = {"after"}, .options = {0.01, 1e9});
    SUBTRACT("more", "p", "left0");
    MULTIPLY("some", "more", "go");
    ADD("now", "left0", "some"); /* p, or what is left */
    SUBTRACT("left", "left0", "now");
    MULTIPLY("term", "w", "now");
    ADD("y1", "y0", "term");
    ADD_STEP(REPEAT, "y", .rows = MOST_ROUNDS,
             .inputs = {"y1", "w0", "w", "y0", "y1", "left0", "left"});
    return read_place(steps);
}

/* ---- copying with a memory ---- */

/* Symbols, an end mark, and as many empty rows, in which the symbols are the answers. */
enum { SYMBOLS = 8, COPY_COLS = SYMBOLS + 1, LONGEST_COPY = 8, COPIES = 32 };
enum { SLOTS = 12, CELL = 12, THOUGHT = 64 };

static void draw_copies(batch_t *b, uint64_t *seed)
{
    memset(b->x, 0, sizeof b->x);
    b->rows = 0;
    b->sequences = COPIES;
    b->cols = COPY_COLS;
    for (int s = 0; s < COPIES; s++) {
        const int64_t count = 1 + below(seed, LONGEST_COPY), first = b->rows;
        b->lengths[s] = 2 * count + 1;
        for (int64_t t = 0; t < 2 * count + 1; t++)
            b->labels[first + t] = -1;
        for (int64_t t = 0; t < count; t++) {
            const int32_t symbol = (int32_t)below(seed, SYMBOLS);
            b->x[(first + t) * COPY_COLS + symbol] = 1;
            b->labels[first + count + 1 + t] = symbol;
        }
        b->x[(first + count) * COPY_COLS + SYMBOLS] = 1;
        b->rows += 2 * count + 1;
    }
}

/* Slots 0: sequences; 1: a row per sequence reads its memory; 2: a memory's rows read the row. */
static int memories(const batch_t *b, gnn_graph_t *graphs[GRAPHS])
{
    int64_t one[MOST_SEQUENCES], slots[MOST_SEQUENCES];
    for (int64_t s = 0; s < b->sequences; s++)
        one[s] = 1, slots[s] = SLOTS;
    GNN_TRY(gnn_graph_complete(&graphs[0], b->sequences, b->lengths));
    GNN_TRY(gnn_graph_bipartite(&graphs[1], b->sequences, one, slots));
    return gnn_graph_bipartite(&graphs[2], b->sequences, slots, one);
}

/* Names of the steps of a head end in its letter. */
static const char *of(const char *name, char head)
{
    static char names[16][16];
    static int next;
    char *to = names[next = (next + 1) % 16];
    snprintf(to, sizeof names[0], "%s %c", name, head);
    return to;
}

/* The address "w HEAD" of a head from its last one, "w0 HEAD": by content, mixed with the last one,
 * shifted and sharpened (Graves et al. 2014, section 3.3). */
static void address(gnn_steps_t *steps, char h)
{
    LINEAR(of("k", h), "thought", THOUGHT, CELL);
    LINEAR(of("beta", h), "thought", THOUGHT, 1);
    LINEAR(of("gate", h), "thought", THOUGHT, 1);
    LINEAR(of("shift", h), "thought", THOUGHT, 3);
    LINEAR(of("gamma", h), "thought", THOUGHT, 1);
    ADD_STEP(NORM, of("unit", h), .inputs = {of("k", h)}, .norm = GNN_NORM_L2, .in = CELL,
             .eps = (gnn_real_t)1e-6);
    ACTIVATION(of("strength", h), of("beta", h), SOFTPLUS);
    MULTIPLY(of("query", h), of("unit", h), of("strength", h));
    ADD_STEP(OP, of("scores", h), .op = &gnn_op_segment_matmul, .graph = 1,
             .inputs = {of("query", h), "unit of M"}, .options = {1, 2});
    OP(of("content", h), softmax_rows, of("scores", h), 1);
    ACTIVATION(of("g", h), of("gate", h), SIGMOID);
    SUBTRACT(of("new", h), of("content", h), of("w0", h));
    MULTIPLY(of("part", h), of("new", h), of("g", h));
    ADD(of("mixed", h), of("w0", h), of("part", h));
    OP(of("s", h), softmax_rows, of("shift", h), 1);
    COLUMNS(of("last", h), of("mixed", h), SLOTS - 1, 1);
    COLUMNS(of("but last", h), of("mixed", h), 0, SLOTS - 1);
    COLUMNS(of("first", h), of("mixed", h), 0, 1);
    COLUMNS(of("but first", h), of("mixed", h), 1, SLOTS - 1);
    CONCAT(of("on", h), of("last", h), of("but last", h));
    CONCAT(of("back", h), of("but first", h), of("first", h));
    COLUMNS(of("s0", h), of("s", h), 0, 1);
    COLUMNS(of("s1", h), of("s", h), 1, 1);
    COLUMNS(of("s2", h), of("s", h), 2, 1);
    MULTIPLY(of("t0", h), of("mixed", h), of("s0", h));
    MULTIPLY(of("t1", h), of("on", h), of("s1", h));
    MULTIPLY(of("t2", h), of("back", h), of("s2", h));
    ADD(of("t01", h), of("t0", h), of("t1", h));
    ADD(of("moved", h), of("t01", h), of("t2", h));
    OP(of("logs", h), log, of("moved", h), 1e-6);
    ACTIVATION(of("sharp", h), of("gamma", h), SOFTPLUS);
    MULTIPLY(of("more", h), of("logs", h), of("sharp", h));
    ADD(of("power", h), of("more", h), of("logs", h)); /* 1 + gamma */
    OP(of("w", h), softmax_rows, of("power", h), 1);
}

static int build_ntm(gnn_steps_t *steps, int64_t cols)
{
    const int64_t state = 2 * SLOTS + CELL;
    ADD_STEP(PARAMETER, "M0", .rows = SLOTS, .out = CELL, .each_segment = GNN_ON, .graph = 1);
    ADD_STEP(PARAMETER, "state0", .rows = 1, .out = state, .each_segment = GNN_ON, .graph = 2);
    ADD_STEP(AT, "word", .inputs = {"x"});
    SCALE("M", "M0", 1);
    COLUMNS("state0 r", "state0", 0, SLOTS);
    COLUMNS("state0 w", "state0", SLOTS, SLOTS);
    COLUMNS("state0 read", "state0", 2 * SLOTS, CELL);
    OP("start r", softmax_rows, "state0 r", 1);
    OP("start w", softmax_rows, "state0 w", 1);
    CONCAT("start", "start r", "start w", "state0 read");
    SCALE("state", "start", 1);
    COLUMNS("w0 r", "state", 0, SLOTS);
    COLUMNS("w0 w", "state", SLOTS, SLOTS);
    COLUMNS("r0", "state", 2 * SLOTS, CELL);
    CONCAT("sees", "word", "r0");
    LINEAR("think", "sees", cols + CELL, THOUGHT);
    ACTIVATION("thought", "think", TANH);
    ADD_STEP(NORM, "unit of M", .inputs = {"M"}, .norm = GNN_NORM_L2, .in = CELL,
             .eps = (gnn_real_t)1e-6);
    address(steps, 'r');
    address(steps, 'w');
    ADD_STEP(OP, "r", .op = &gnn_op_segment_matmul, .graph = 1, .inputs = {"w r", "M"},
             .options = {1, 0});
    LINEAR("erase", "thought", THOUGHT, CELL);
    ACTIVATION("e", "erase", SIGMOID);
    LINEAR("a", "thought", THOUGHT, CELL);
    ADD_STEP(OP, "we", .op = &gnn_op_segment_matmul, .graph = 2, .inputs = {"w w", "e"},
             .options = {1, 1});
    ADD_STEP(OP, "wa", .op = &gnn_op_segment_matmul, .graph = 2, .inputs = {"w w", "a"},
             .options = {1, 1});
    MULTIPLY("erased", "M", "we");
    SUBTRACT("kept", "M", "erased");
    ADD("M2", "kept", "wa");
    CONCAT("state2", "w r", "w w", "r");
    CONCAT("out", "thought", "r");
    ADD_STEP(REPEAT, "all", .each_segment = GNN_ON, .inputs = {"out", "M", "M2", "state", "state2"});
    return gnn_steps_add(
        steps, &(gnn_step_t){
                   .kind = GNN_STEP_LINEAR, .name = "answer", .in = THOUGHT + CELL, .out = SYMBOLS});
}

static int build_copy_lstm(gnn_steps_t *steps, int64_t cols)
{
    LINEAR("gates", "x", cols, 4 * THOUGHT);
    ADD_STEP(PARAMETER, "U", .rows = THOUGHT, .out = 4 * THOUGHT);
    ADD_STEP(PARAMETER, "b", .rows = 1, .out = 4 * THOUGHT);
    ADD_STEP(OP, "states", .op = &gnn_op_lstm_sweep, .inputs = {"gates", "U", "b"});
    COLUMNS("h", "states", 0, THOUGHT);
    return gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "answer", .in = THOUGHT, .out = SYMBOLS});
}

static int pursuits(const batch_t *b, gnn_graph_t *graphs[GRAPHS])
{
    return one_each(b, MOST_ROUNDS, &graphs[0]);
}

static int chain(const batch_t *b, gnn_graph_t *graphs[GRAPHS])
{
    return gnn_graph_window(&graphs[0], b->sequences, b->lengths, 1, 1, GNN_ON);
}

const system_t tasks_of_rounds[] = {
    {"halting", "PonderNet", draw_pursuit, build_ponder, 3000, 0.003, 2, pursuits},
    {"halting", "ACT", draw_pursuit, build_act, 3000, 0.003, 2, pursuits},
    {"halting", "12 rounds", draw_pursuit, build_no_halt, 3000, 0.003, 2, pursuits},
    {"ntm", "NTM", draw_copies, build_ntm, 1200, 0.003, 4, memories},
    {"ntm", "LSTM", draw_copies, build_copy_lstm, 3000, 0.003, 4, chain},
    {0},
};
