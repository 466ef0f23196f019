/* Tasks of bench/tasks whose sequences are written trees: ListOps, and sentiment whose words have
 * an effect that depends on the tree. */
#include "tasks.h"

#include <string.h>

enum { D = 64, HEADS = 4 };

/* A row for a word of the sequence that is being drawn. */
static int64_t put(batch_t *b, int32_t word)
{
    b->words[b->rows] = word;
    b->labels[b->rows] = -1;
    return b->rows++;
}

/* Row `child` is the child at `place` of row `parent`. */
static void hang(batch_t *b, int64_t child, int64_t parent, int64_t place)
{
    b->src[b->edges] = child;
    b->dst[b->edges] = parent;
    b->places[b->edges++] = (gnn_real_t)place;
}

/* ---- ListOps ---- */

/* Words 0 .. 9 are digits, 10 .. 13 open a list, END ends it. */
enum { MAXIMUM = 10, MINIMUM, MEDIAN, SUM, END, LIST_WORDS };
enum { DEEPEST = 8, MOST_ITEMS = 5, LISTS = 8, SHORTEST = 128, LONGEST = 384 };

static int64_t value_of(int64_t kind, int64_t *items, int64_t count)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < count; i++) /* sorts and adds */
        for (int64_t j = i; sum += i == j ? items[j] : 0, j > 0 && items[j - 1] > items[j]; j--) {
            const int64_t item = items[j];
            items[j] = items[j - 1];
            items[j - 1] = item;
        }
    return kind == MAXIMUM   ? items[count - 1]
           : kind == MINIMUM ? items[0]
           : kind == MEDIAN  ? items[count / 2]
                             : sum % 10;
}

/* Draws a list or a digit; its row, and its value in *value. With `ends` the ends of lists are
 * words of the sequence. */
static int64_t draw_list(batch_t *b, uint64_t *seed, int64_t depth, bool ends, int64_t *value)
{
    int64_t items[MOST_ITEMS], first;
    if (depth > 0 && (depth == DEEPEST || below(seed, 10) < 6)) {
        *value = below(seed, 10);
        return put(b, (int32_t)*value);
    }
    const int64_t kind = MAXIMUM + below(seed, 4), count = 2 + below(seed, MOST_ITEMS - 1),
                  head = put(b, (int32_t)kind);
    for (int64_t k = 0; k < count; k++) {
        first = draw_list(b, seed, depth + 1, ends, &items[k]);
        hang(b, first, head, 0);
    }
    if (ends)
        put(b, END);
    *value = value_of(kind, items, count);
    return head;
}

static void draw_lists(batch_t *b, uint64_t *seed, bool ends)
{
    b->rows = b->edges = b->cols = 0;
    b->sequences = LISTS;
    for (int s = 0; s < LISTS; s++) {
        const int64_t rows = b->rows, edges = b->edges;
        int64_t value;
        do {
            b->rows = rows;
            b->edges = edges;
            draw_list(b, seed, 0, ends, &value);
            b->lengths[s] = b->rows - rows;
        } while (b->lengths[s] < SHORTEST || b->lengths[s] > LONGEST);
        b->labels[ends ? b->rows - 1 : rows] = (int32_t)value;
    }
}

static void draw_written_lists(batch_t *b, uint64_t *seed)
{
    draw_lists(b, seed, true);
}

static void draw_list_trees(batch_t *b, uint64_t *seed)
{
    draw_lists(b, seed, false);
}

static void embed(gnn_steps_t *steps, int64_t words)
{
    ADD_STEP(EMBED, "words of x", .inputs = {"x"}, .in = words, .out = D);
}

static int transformer(gnn_steps_t *steps, gnn_layer_config_t layer)
{
    embed(steps, LIST_WORDS);
    for (int l = 0; l < 2; l++)
        ADD_STEP(LAYER, NULL, .layer = layer);
    ADD_STEP(NORM, NULL, .norm = GNN_NORM_LAYER, .in = D);
    return gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "answer", .in = D, .out = 10});
}

static int build_softmax(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return transformer(steps,
                       GNN_TRANSFORMER(.in = D, .heads = HEADS, .feed_forward = 2 * D,
                                       .norm_position = GNN_NORM_BEFORE, .map = &gnn_map_rope));
}

static int build_linear(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return transformer(steps, GNN_TRANSFORMER(.in = D, .heads = HEADS, .feed_forward = 2 * D,
                                              .norm_position = GNN_NORM_BEFORE,
                                              .map = &gnn_map_elu1, .weigher = &gnn_weigher_ratio));
}

/* An LSTM in the order of the graph: a chain or, with `places` of children, a tree. */
static int recurrent(gnn_steps_t *steps, int64_t words, int64_t places, int64_t classes)
{
    embed(steps, words);
    LINEAR("gates", "words of x", D, 4 * D);
    ADD_STEP(PARAMETER, "U", .rows = D, .out = places * (3 + places) * D);
    ADD_STEP(PARAMETER, "b", .rows = 1, .out = 4 * D);
    ADD_STEP(OP, "states", .op = &gnn_op_lstm_sweep,
             .inputs = {"gates", "U", "b", places > 1 ? "places" : NULL},
             .options = {(double)places});
    COLUMNS("h", "states", 0, D);
    return gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "answer", .in = D, .out = classes});
}

static int build_list_lstm(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return recurrent(steps, LIST_WORDS, 1, 10);
}

static int chain(const batch_t *b, gnn_graph_t *graphs[GRAPHS])
{
    return gnn_graph_window(&graphs[0], b->sequences, b->lengths, 1, 1, GNN_ON);
}

static int tree(const batch_t *b, gnn_graph_t *graphs[GRAPHS])
{
    return gnn_graph_from_edges(&graphs[0], b->rows, b->rows, b->edges, b->src, b->dst);
}

/* ---- sentiment ---- */

/* 20 words of valences -2 .. 2, then words that join or turn what is below them. */
enum { OPINIONS = 20, NOT = OPINIONS, AND, BUT, THOUGH, SENTIMENT_WORDS };
enum { SENTENCES = 64, FEWEST = 6, MOST_WORDS = 16 };

static int64_t bounded(int64_t valence)
{
    return valence < -2 ? -2 : valence > 2 ? 2 : valence;
}

/* Draws a tree with `words` opinions and returns the row of its top. In a sentence rows are in the
 * order of speech, "x but y"; in a tree the top comes first, which its edges do not mind. */
static int64_t draw_opinion(batch_t *b, uint64_t *seed, int64_t words, int64_t *valence)
{
    int64_t left_valence, top, left;
    if (below(seed, 6) == 0) {
        top = put(b, NOT);
        left = draw_opinion(b, seed, words, &left_valence);
        hang(b, left, top, 0);
        *valence = -left_valence;
        return top;
    }
    if (words == 1) {
        const int64_t word = below(seed, OPINIONS);
        *valence = word % 5 - 2;
        return put(b, (int32_t)word);
    }
    const int64_t first = 1 + below(seed, words - 1), kind = AND + below(seed, 3);
    int64_t right_valence;
    left = draw_opinion(b, seed, first, &left_valence);
    top = put(b, (int32_t)kind);
    hang(b, left, top, 0);
    hang(b, draw_opinion(b, seed, words - first, &right_valence), top, 1);
    *valence = kind == AND   ? bounded(left_valence + right_valence)
               : kind == BUT ? right_valence
                             : left_valence;
    return top;
}

static void draw_sentences(batch_t *b, uint64_t *seed, bool trees)
{
    b->rows = b->edges = b->cols = 0;
    b->sequences = SENTENCES;
    for (int s = 0; s < SENTENCES; s++) {
        const int64_t rows = b->rows, edges = b->edges,
                      words = FEWEST + below(seed, MOST_WORDS - FEWEST + 1);
        int64_t valence, top;
        do {
            b->rows = rows;
            b->edges = edges;
            top = draw_opinion(b, seed, words, &valence);
        } while (valence == 0);
        b->lengths[s] = b->rows - rows;
        b->labels[trees ? top : b->rows - 1] = valence > 0;
    }
}

static void draw_said(batch_t *b, uint64_t *seed)
{
    draw_sentences(b, seed, false);
}

static void draw_trees(batch_t *b, uint64_t *seed)
{
    draw_sentences(b, seed, true);
}

static int build_lstm(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return recurrent(steps, SENTIMENT_WORDS, 1, 2);
}

static int build_binary_tree(gnn_steps_t *steps, int64_t cols)
{
    (void)cols;
    return recurrent(steps, SENTIMENT_WORDS, 2, 2);
}

const system_t tasks_of_trees[] = {
    {"listops", "softmax attention", draw_written_lists, build_softmax, 1200, 0.002, 8, NULL},
    {"listops", "linear attention", draw_written_lists, build_linear, 1200, 0.002, 8, NULL},
    {"listops", "LSTM", draw_written_lists, build_list_lstm, 1200, 0.002, 8, chain},
    {"listops", "Tree-LSTM", draw_list_trees, build_list_lstm, 1200, 0.002, 8, tree},
    {"sentiment", "LSTM", draw_said, build_lstm, 1500, 0.003, 8, chain},
    {"sentiment", "Tree-LSTM, sums", draw_trees, build_lstm, 1500, 0.003, 8, tree},
    {"sentiment", "Tree-LSTM, places", draw_trees, build_binary_tree, 1500, 0.003, 8, tree},
    {0},
};
