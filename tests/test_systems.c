/* Whole systems of several papers' parts: VisualBERT with the values of transformers, and a
 * generator of pictures from text as DALL-E and CogView have it. */
#include "support.h"

#include <math.h>

/* ---- VisualBERT (Li et al. 2019): text and regions of a picture in one sequence ---- */

enum {
    D = 8,
    HEADS = 2,
    HIDDEN = 16,
    WORDS = 4,
    REGIONS = 3,
    REGION = 6,
    VOCABULARY = 11,
    PLACES = 12
};

/* last_hidden_state of VisualBertModel (transformers 5.24, double precision) with the parameters
 * below. */
static const double expected[WORDS + REGIONS][D] = {
    {0.520387, -0.467454, -0.757290, 1.577307, -0.229073, -1.451393, 0.528882, 0.980133},
    {-0.160622, 2.222615, -1.206770, -1.566889, 0.441045, -0.344987, 0.549442, -0.062436},
    {-0.035437, -1.607571, 0.723559, 1.575273, 0.360999, 0.123703, -1.435661, 0.707457},
    {-0.035332, -1.689173, 0.715044, 1.578172, 0.322983, 0.545077, -1.351696, 0.102400},
    {-0.359078, 2.261337, -0.929636, -1.509993, 0.474469, -0.247223, 0.642467, -0.442788},
    {-0.175099, 1.375006, -0.449748, -1.844228, 0.717396, 1.147425, -0.992649, -0.432431},
    {0.546550, 0.913106, -2.336631, -1.401988, 0.273710, -0.385411, 1.019943, 1.113827},
};

/* Element k of the array of a name in transformers: 0.5 sin(1.3 k + the name's sum), of biases a
 * fifth of it, of gains 1 plus half of it. */
static double parameter(const char *name, int64_t k)
{
    int64_t sum = 0;
    for (int64_t i = 0; name[i]; i++)
        sum += (i + 1) * name[i];
    const double value = 0.5 * sin(1.3 * (double)k + (double)(sum % 97));
    const size_t length = strlen(name);
    if (strcmp(name + length - 4, "bias") == 0)
        return 0.2 * value;
    return strstr(name, "LayerNorm.weight") ? 1 + 0.5 * value : value;
}

/* Fills a field from an array, whose rows are columns of the field where `turned`. */
static void fill(const gnn_model_t *model, const char *field, const char *array, bool turned)
{
    gnn_tensor_t t;
    ck_ok(gnn_model_field(model, field, &t, NULL));
    for (int64_t r = 0; r < t.rows; r++)
        for (int64_t c = 0; c < t.cols; c++)
            t.data[r * t.stride + c] =
                (gnn_real_t)parameter(array, turned ? c * t.rows + r : r * t.cols + c);
}

static void embed(gnn_steps_t *steps, const char *name, const char *ids, int64_t rows)
{
    ck_ok(gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_EMBED, .name = name, .inputs = {ids}, .in = rows, .out = D}));
}

static void add(gnn_steps_t *steps, const char *name, const char *x, const char *y)
{
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ADD, .name = name, .inputs = {x, y}}));
}

static gnn_model_t *visual_bert(gnn_context_t *context)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    ck_ok(gnn_steps_new(&steps));
    embed(steps, "word", "ids", VOCABULARY);
    embed(steps, "place", "places", PLACES);
    embed(steps, "type", "types", 2);
    add(steps, "word and type", "word", "type");
    add(steps, "text", "word and type", "place");
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                             .name = "region",
                                             .inputs = {"regions"},
                                             .in = REGION,
                                             .out = D}));
    embed(steps, "region place", "region places", PLACES);
    embed(steps, "region type", "region types", 2);
    add(steps, "region at place", "region", "region place");
    add(steps, "picture", "region at place", "region type");
    ck_ok(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_STACK, .name = "both", .inputs = {"text", "picture"}}));
    ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_NORM,
                                             .name = "norm",
                                             .norm = GNN_NORM_LAYER,
                                             .in = D,
                                             .eps = (gnn_real_t)1e-12}));
    for (int l = 0; l < 2; l++)
        ck_ok(gnn_steps_add(
            steps,
            &(gnn_step_t){.name = l ? "1" : "0",
                          .layer = GNN_TRANSFORMER(.in = D, .heads = HEADS, .feed_forward = HIDDEN,
                                                   .hidden_activation = GNN_GELU,
                                                   .norm_eps = (gnn_real_t)1e-12)}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

static void fill_visual_bert(const gnn_model_t *model)
{
    static const struct {
        const char *field, *array;
        bool turned;
    } names[] = {{"query.weight", "attention.self.query.weight", true},
                 {"query.bias", "attention.self.query.bias", false},
                 {"key.weight", "attention.self.key.weight", true},
                 {"key.bias", "attention.self.key.bias", false},
                 {"value.weight", "attention.self.value.weight", true},
                 {"value.bias", "attention.self.value.bias", false},
                 {"out.weight", "attention.output.dense.weight", true},
                 {"out.bias", "attention.output.dense.bias", false},
                 {"norm.gain", "attention.output.LayerNorm.weight", false},
                 {"norm.shift", "attention.output.LayerNorm.bias", false},
                 {"ffn.0.weight", "intermediate.dense.weight", true},
                 {"ffn.0.bias", "intermediate.dense.bias", false},
                 {"ffn.1.weight", "output.dense.weight", true},
                 {"ffn.1.bias", "output.dense.bias", false},
                 {"norm2.gain", "output.LayerNorm.weight", false},
                 {"norm2.shift", "output.LayerNorm.bias", false}};
    char field[64], array[96];
    fill(model, "word.table", "embeddings.word_embeddings.weight", false);
    fill(model, "place.table", "embeddings.position_embeddings.weight", false);
    fill(model, "type.table", "embeddings.token_type_embeddings.weight", false);
    fill(model, "region.weight", "embeddings.visual_projection.weight", true);
    fill(model, "region.bias", "embeddings.visual_projection.bias", false);
    fill(model, "region place.table", "embeddings.visual_position_embeddings.weight", false);
    fill(model, "region type.table", "embeddings.visual_token_type_embeddings.weight", false);
    fill(model, "norm.gain", "embeddings.LayerNorm.weight", false);
    fill(model, "norm.shift", "embeddings.LayerNorm.bias", false);
    for (int l = 0; l < 2; l++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            snprintf(field, sizeof field, "%d.%s", l, names[k].field);
            snprintf(array, sizeof array, "encoder.layer.%d.%s", l, names[k].array);
            fill(model, field, array, names[k].turned);
        }
}

START_TEST(visual_bert_gives_the_values_of_transformers)
{
    const int32_t ids[WORDS] = {3, 7, 1, 9}, types[WORDS] = {0, 0, 1, 1},
                  places[WORDS] = {0, 1, 2, 3}, region_places[REGIONS] = {0},
                  region_types[REGIONS] = {1, 1, 1};
    const int64_t rows = WORDS + REGIONS;
    gnn_real_t regions[REGIONS * REGION], out[(WORDS + REGIONS) * D];
    gnn_context_t *context;
    gnn_graph_t *graph;
    for (int k = 0; k < REGIONS * REGION; k++)
        regions[k] = (gnn_real_t)cos(0.7 * k);
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_complete(&graph, 1, &rows));
    gnn_model_t *model = visual_bert(context);
    fill_visual_bert(model);
    const gnn_tensor_t x = gnn_tensor(regions, REGIONS, REGION), y = gnn_tensor(out, rows, D);
    const gnn_named_t values[] = {{.name = "ids", .ids = ids, .count = WORDS},
                                  {.name = "types", .ids = types, .count = WORDS},
                                  {.name = "places", .ids = places, .count = WORDS},
                                  {.name = "regions", .dense = &x},
                                  {.name = "region places", .ids = region_places, .count = REGIONS},
                                  {.name = "region types", .ids = region_types, .count = REGIONS}};
    ck_ok(gnn_model_prepare(model, 0, graph, GNN_OFF));
    ck_ok(gnn_model_forward(
        model, context, &(gnn_model_inputs_t){(const gnn_graph_t *const *)&graph, 1, values, 6}, &y));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < D; c++)
            ck_assert_double_eq_tol((double)out[r * D + c], expected[r][c], 1e-5);
    gnn_model_free(model);
    gnn_graph_free(graph);
    gnn_context_free(context);
}
END_TEST

/* ---- a picture from text: DALL-E (Ramesh et al. 2021), CogView (Ding et al. 2021) ---- */

/* A text, then a grid of picture tokens: layers in turn read, of what comes before, the text and
 * the row of a token, or the text and its column. CogView's norms are in the gallery
 * (sandwich_norm); its PB-relax is the softmax that subtracts the largest score. */
enum { TEXT = 3, SIDE = 4, PICTURE = SIDE * SIDE, ALL = TEXT + PICTURE, TOKENS = 10, WIDTH = 32 };

static bool reads(int64_t i, int64_t j, bool column)
{
    if (j > i)
        return false;
    if (j < TEXT || i < TEXT)
        return true;
    const int64_t a = i - TEXT, b = j - TEXT;
    return column ? a % SIDE == b % SIDE : a / SIDE == b / SIDE;
}

static gnn_graph_t *axis(bool column)
{
    int64_t src[ALL * ALL], dst[ALL * ALL], m = 0;
    gnn_graph_t *graph;
    for (int64_t i = 0; i < ALL; i++)
        for (int64_t j = 0; j < ALL; j++)
            if (reads(i, j, column))
                src[m] = j, dst[m++] = i;
    ck_ok(gnn_graph_from_edges(&graph, ALL, ALL, m, src, dst));
    return graph;
}

static gnn_model_t *painter(gnn_context_t *context)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    static const char *const names[] = {"token", "row", "column"};
    static const int64_t counts[] = {TOKENS, SIDE + 1, ALL};
    ck_ok(gnn_steps_new(&steps));
    for (int k = 0; k < 3; k++)
        ck_ok(gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_EMBED,
                                                 .name = k == 0   ? "of token"
                                                         : k == 1 ? "of row"
                                                                  : "of column",
                                                 .inputs = {names[k]},
                                                 .in = counts[k],
                                                 .out = WIDTH}));
    add(steps, "at row", "of token", "of row");
    add(steps, "x", "at row", "of column");
    for (int l = 0; l < 4; l++)
        ck_ok(gnn_steps_add(
            steps, &(gnn_step_t){.graph = l % 2,
                                 .layer = GNN_TRANSFORMER(.in = WIDTH, .heads = 4,
                                                          .feed_forward = 2 * WIDTH,
                                                          .norm_position = GNN_NORM_BEFORE)}));
    ck_ok(gnn_steps_add(steps,
                        &(gnn_step_t){.kind = GNN_STEP_NORM, .norm = GNN_NORM_LAYER, .in = WIDTH}));
    ck_ok(gnn_steps_add(
        steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "next", .in = WIDTH, .out = TOKENS}));
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    return model;
}

/* The picture that a text asks for: stripes in its two tokens, in rows or in columns. */
static void ask(int32_t *tokens, int asked)
{
    const bool down = asked % 2;
    tokens[0] = (int32_t)(asked % 2);
    tokens[1] = (int32_t)(2 + asked / 2 % 4);
    tokens[2] = (int32_t)(2 + (asked / 2 + 1 + asked / 8) % 4);
    for (int k = 0; k < PICTURE; k++)
        tokens[TEXT + k] = tokens[1 + (down ? k / SIDE : k % SIDE) % 2] + 4;
}

typedef struct {
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_graph_t *graphs[2];
    int32_t tokens[ALL], rows[ALL], columns[ALL], labels[ALL];
} painting_t;

static gnn_var_t record(const painting_t *p, gnn_tape_t *tape)
{
    const gnn_named_t values[] = {{.name = "token", .ids = p->tokens, .count = ALL},
                                  {.name = "row", .ids = p->rows, .count = ALL},
                                  {.name = "column", .ids = p->columns, .count = ALL}};
    return gnn_model_record(
        p->model, tape, &(gnn_model_inputs_t){(const gnn_graph_t *const *)p->graphs, 2, values, 3},
        NULL);
}

static void open_painting(painting_t *p)
{
    ck_ok(gnn_context_new(&p->context, &(gnn_context_config_t){.threads = 1, .seed = 4}));
    p->model = painter(p->context);
    for (int k = 0; k < 2; k++) {
        p->graphs[k] = axis(k);
        ck_ok(gnn_model_prepare(p->model, k, p->graphs[k], GNN_ON));
    }
    for (int k = 0; k < ALL; k++) {
        p->rows[k] = (int32_t)(k < TEXT ? 0 : 1 + (k - TEXT) / SIDE);
        p->columns[k] = (int32_t)(k < TEXT ? k : TEXT + (k - TEXT) % SIDE);
    }
}

static void learn(painting_t *p, int steps)
{
    gnn_tape_t *tape;
    gnn_optimizer_t *optimizer;
    ck_ok(gnn_tape_new(&tape, p->context));
    ck_ok(gnn_optimizer_new(&optimizer, p->context, gnn_model_parameters(p->model),
                            &(gnn_optimizer_config_t){.lr = (gnn_real_t)0.003}));
    for (int t = 0; t < steps; t++) {
        ask(p->tokens, (t * 7 + 3) % 16);
        for (int k = 0; k < ALL; k++)
            p->labels[k] = k + 1 < ALL && k + 1 >= TEXT ? p->tokens[k + 1] : -1;
        gnn_tape_reset(tape, 1, 1);
        const gnn_var_t loss =
            gnn_tape_loss(tape, record(p, tape),
                          &(gnn_loss_t){.kind = GNN_LOSS_CROSS_ENTROPY, .labels = p->labels});
        ck_ok(gnn_tape_forward(tape));
        ck_ok(gnn_tape_backward(tape, loss, NULL));
        ck_ok(gnn_optimizer_step(optimizer, 1));
        gnn_parameters_zero_gradients(gnn_model_parameters(p->model));
    }
    gnn_optimizer_free(optimizer);
    gnn_tape_free(tape);
}

/* Paints a picture token by token after its text; returns how many tokens are as asked. */
static int paint(painting_t *p, int asked)
{
    int32_t wanted[ALL];
    gnn_tape_t *tape;
    int right = 0;
    ask(wanted, asked);
    memcpy(p->tokens, wanted, sizeof wanted);
    memset(p->tokens + TEXT, 0, sizeof *wanted * PICTURE);
    ck_ok(gnn_tape_new(&tape, p->context));
    for (int k = TEXT; k < ALL; k++) {
        gnn_tape_reset(tape, 0, 0);
        const gnn_var_t y = record(p, tape);
        gnn_tape_keep(tape, y);
        ck_ok(gnn_tape_forward(tape));
        const gnn_tensor_t logits = gnn_tape_value(tape, y);
        const gnn_real_t *row = logits.data + (k - 1) * logits.stride;
        for (int32_t c = 0; c < TOKENS; c++)
            p->tokens[k] = row[c] > row[p->tokens[k]] ? c : p->tokens[k];
        right += p->tokens[k] == wanted[k];
    }
    gnn_tape_free(tape);
    return right;
}

START_TEST(a_picture_is_painted_as_its_text_asks)
{
    painting_t p;
    int right = 0;
    open_painting(&p);
    learn(&p, test_small() ? 30 : 600);
    for (int asked = 0; asked < 16; asked++)
        right += paint(&p, asked);
    printf("%d of %d tokens of 16 pictures are as asked\n", right, 16 * PICTURE);
    if (!test_small())
        ck_assert_int_ge(right, 16 * PICTURE * 95 / 100);
    for (int k = 0; k < 2; k++)
        gnn_graph_free(p.graphs[k]);
    gnn_model_free(p.model);
    gnn_context_free(p.context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("systems");
    TCase *c = tcase_create("systems");
    tcase_add_test(c, visual_bert_gives_the_values_of_transformers);
    tcase_add_test(c, a_picture_is_painted_as_its_text_asks);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
