/* Incremental decoding equals one forward pass over the whole sequences. */
#include "support.h"

#include <lib/base/base.h>
#include <lib/tape/tape.h>

enum { D = 8, WORDS = 11, SEQUENCES = 3, TOTAL = 9 + 1 + 6, SOURCES = 5 + 2 + 7, CAPACITY = 12 };

static const int64_t lengths[SEQUENCES] = {9, 1, 6}, sources[SEQUENCES] = {5, 2, 7};
static gnn_context_t *context;
static gnn_graph_t *graphs[4]; /* causal, windows of 2, the encoder's, across */
static int32_t ids[TOTAL], places[TOTAL];
static gnn_real_t numbers[SOURCES * D];
static gnn_tensor_t source;
static uint64_t state_of_draws;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_graph_causal(&graphs[0], SEQUENCES, lengths));
    ck_ok(gnn_graph_window(&graphs[1], SEQUENCES, lengths, 2, 1, GNN_ON));
    ck_ok(gnn_graph_complete(&graphs[2], SEQUENCES, sources));
    ck_ok(gnn_graph_bipartite(&graphs[3], SEQUENCES, lengths, sources));
    state_of_draws = 3;
    for (int64_t s = 0, r = 0; s < SEQUENCES; s++)
        for (int64_t p = 0; p < lengths[s]; p++, r++) {
            places[r] = (int32_t)p;
            ids[r] = (int32_t)test_below(&state_of_draws, WORDS);
        }
    for (int k = 0; k < SOURCES * D; k++)
        numbers[k] = (gnn_real_t)test_uniform(&state_of_draws);
    source = gnn_tensor(numbers, SOURCES, D);
}

static void tear_down(void)
{
    for (int k = 0; k < 4; k++)
        gnn_graph_free(graphs[k]);
    gnn_context_free(context);
}

/* ---- models ---- */

static void add_words(gnn_steps_t *steps)
{
    gnn_steps_add(
        steps, &(gnn_step_t){
                   .kind = GNN_STEP_EMBED, .name = "word", .inputs = {"ids"}, .in = WORDS, .out = D});
    gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_EMBED, .name = "place", .inputs = {"places"}, .in = CAPACITY, .out = D});
    gnn_steps_add(steps,
                  &(gnn_step_t){.kind = GNN_STEP_ADD, .name = "x", .inputs = {"word", "place"}});
}

static void add_logits(gnn_steps_t *steps)
{
    gnn_steps_add(
        steps,
        &(gnn_step_t){
            .kind = GNN_STEP_LINEAR, .name = "logits", .in = D, .out = WORDS, .share = "word"});
}

static void transformer(gnn_steps_t *steps)
{
    for (int k = 0; k < 2; k++)
        gnn_steps_add(steps,
                      &(gnn_step_t){.graph = k,
                                    .layer = GNN_TRANSFORMER(.in = D, .heads = 4, .key_heads = 2,
                                                             .value_heads = 2,
                                                             .norm_position = GNN_NORM_BEFORE)});
}

static void post_norm_with_distances(gnn_steps_t *steps)
{
    for (int k = 0; k < 2; k++)
        gnn_steps_add(steps,
                      &(gnn_step_t){.layer = GNN_TRANSFORMER(.in = D, .heads = 2,
                                                             .priors = {{.prior = &gnn_prior_table,
                                                                         .options = {9}}})});
}

static void neighbours(gnn_steps_t *steps)
{
    gnn_steps_add(
        steps, &(gnn_step_t){.layer = GNN_SAGE(.in = D, .aggregator = gnn_aggregator_find("max"))});
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GIN(.in = D, .norm = GNN_NORM_LAYER,
                                                        .norm_position = GNN_NORM_BEFORE)});
    gnn_steps_add(steps, &(gnn_step_t){.graph = 1, .layer = GNN_RESGATED(.in = D)});
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GATV2(.in = D, .heads = 1, .self_loops = GNN_OFF,
                                                          .share_weights = GNN_ON)});
    gnn_steps_add(steps, &(gnn_step_t){.layer = GNN_GAT(.in = D, .heads = 1, .self_loops = GNN_OFF)});
    /* rows of receivers: projections by the senders' weights, then gates of their own */
    gnn_steps_add(steps, &(gnn_step_t){.layer = {.in = D,
                                                 .message = &gnn_message_gate,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .score = &gnn_score_additive,
                                                 .share_weights = GNN_ON}});
}

static void given_rows(gnn_steps_t *steps)
{
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "q", .in = D, .out = D});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ACTIVATION,
                                       .name = "k",
                                       .inputs = {"x"},
                                       .activation = GNN_TANH});
    gnn_steps_add(
        steps,
        &(gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                      .query = "q",
                      .key = "k",
                      .inputs = {"x"},
                      .layer = {.in = D, .heads = 2, .aggregator = &gnn_aggregator_attention}});
    gnn_steps_add(steps,
                  &(gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                .graph = 1,
                                .layer = {.in = D, .aggregator = gnn_aggregator_find("mean")}});
}

static void encoder_decoder(gnn_steps_t *steps)
{
    gnn_steps_add(steps, &(gnn_step_t){.name = "memory",
                                       .inputs = {"source"},
                                       .graph = 2,
                                       .layer = GNN_TRANSFORMER(.in = D, .heads = 2)});
    gnn_steps_add(steps,
                  &(gnn_step_t){.kind = GNN_STEP_PARAMETER, .name = "shift", .rows = 1, .out = D});
    gnn_steps_add(steps,
                  &(gnn_step_t){.kind = GNN_STEP_ADD, .name = "moved", .inputs = {"x", "shift"}});
    for (int k = 0; k < 2; k++) {
        char name[8];
        snprintf(name, sizeof name, "d.%d", k);
        gnn_steps_block(steps, "decoder_layer",
                        &(gnn_block_t){.name = name,
                                       .memory = "memory",
                                       .graphs = {3},
                                       .layer = GNN_TRANSFORMER(.in = D, .heads = 2,
                                                                .norm_position = k ? GNN_NORM_BEFORE
                                                                                   : GNN_NORM_AFTER)});
    }
}

/* Rotated rows, distances of two kinds, a sink, a cap: all by positions in the sequence. */
static void scores(gnn_steps_t *steps)
{
    gnn_layer_config_t layer = GNN_TRANSFORMER(.in = D, .heads = 2, .norm_position = GNN_NORM_BEFORE,
                                               .map = gnn_map_find("rope"));
    gnn_steps_add(steps, &(gnn_step_t){.layer = layer});
    layer.priors[0] = (gnn_layer_prior_t){gnn_prior_find("keys"), {5}, GNN_OFF};
    layer.priors[1].prior = gnn_prior_find("slope");
    layer.weigher = gnn_weigher_find("softmax_sink");
    layer.softcap = 3;
    gnn_steps_add(steps, &(gnn_step_t){.graph = 1, .layer = layer});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "q", .in = D, .out = D});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .query = "q",
                                       .key = "x",
                                       .inputs = {"x"},
                                       .layer = {.in = D,
                                                 .heads = 2,
                                                 .aggregator = &gnn_aggregator_attention,
                                                 .map = gnn_map_find("rope"),
                                                 .weigher = gnn_weigher_find("sigmoid"),
                                                 .priors = {{.prior = gnn_prior_find("slope")}}}});
}

/* Linear attention keeps sums, beside the rows that softmax and a window keep. */
static void sums_and_rows(gnn_steps_t *steps)
{
    gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = D, .heads = 4, .key_heads = 2, .value_heads = 2, .map = &gnn_map_elu1,
                        .weigher = &gnn_weigher_ratio, .norm_position = GNN_NORM_BEFORE);
    gnn_steps_add(steps, &(gnn_step_t){.layer = layer});
    layer.map = gnn_map_find("rope");
    layer.weigher = gnn_weigher_find("softmax");
    gnn_steps_add(steps, &(gnn_step_t){.layer = layer});
    layer.map = gnn_map_find("taylor");
    layer.weigher = gnn_weigher_find("ratio");
    gnn_steps_add(steps, &(gnn_step_t){.graph = 1, .layer = layer});
}

/* Gates by row and slopes by distance: sums decay from row to row. */
static void decaying_sums(gnn_steps_t *steps)
{
    gnn_layer_config_t layer =
        GNN_TRANSFORMER(.in = D, .heads = 2, .map = &gnn_map_cosformer,
                        .weigher = &gnn_weigher_ratio, .norm_position = GNN_NORM_BEFORE);
    layer.priors[0] = (gnn_layer_prior_t){.prior = &gnn_prior_decay, .given = GNN_ON};
    layer.priors[1].prior = &gnn_prior_slope;
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR, .name = "g", .in = D, .out = 2});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_SOFTPLUS});
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_SCALE, .name = "gates", .factor = -1});
    gnn_steps_add(steps,
                  &(gnn_step_t){.name = "h", .inputs = {"x"}, .priors = {"gates"}, .layer = layer});
    layer.weigher = &gnn_weigher_decay;
    layer.map = &gnn_map_dpfp;
    layer.priors[1].prior = &gnn_prior_sender;
    layer.priors[1].given = layer.priors[2].given = GNN_ON;
    layer.priors[2].prior = &gnn_prior_receiver;
    gnn_steps_add(steps,
                  &(gnn_step_t){.inputs = {"h"}, .priors = {"gates", "gates", "g"}, .layer = layer});
}

static void (*const models[])(gnn_steps_t *) = {transformer,     post_norm_with_distances,
                                                neighbours,      given_rows,
                                                encoder_decoder, scores,
                                                sums_and_rows,   decaying_sums};

enum { MODELS = sizeof models / sizeof *models, WITH_SUMS = 6 };

/* Sums over all rows cannot be cut to some of them. */
static int64_t cut_to(int model, int64_t length)
{
    return model % MODELS >= WITH_SUMS ? 0 : length;
}

static gnn_model_t *make(void (*body)(gnn_steps_t *))
{
    gnn_steps_t *steps;
    gnn_model_t *model = NULL;
    ck_ok(gnn_steps_new(&steps));
    add_words(steps);
    body(steps);
    add_logits(steps);
    ck_ok(gnn_model_build(&model, context, steps));
    gnn_steps_free(steps);
    /* Distance tables begin as zeros: they must matter. */
    int64_t count;
    gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &count);
    for (int32_t id = 0; id < gnn_parameters_count(gnn_model_parameters(model)); id++) {
        const gnn_tensor_t t = gnn_parameters_value(gnn_model_parameters(model), id);
        for (int64_t k = 0; k < t.rows * t.cols; k++)
            block[gnn__parameters_offset(gnn_model_parameters(model), id) + k] +=
                (gnn_real_t)(0.1 * test_uniform(&state_of_draws));
    }
    return model;
}

static void forward(const gnn_model_t *model, gnn_real_t *out)
{
    const gnn_named_t values[] = {{.name = "ids", .ids = ids, .count = TOTAL},
                                  {.name = "places", .ids = places, .count = TOTAL},
                                  {.name = "source", .dense = &source}};
    const gnn_model_inputs_t inputs = {(const gnn_graph_t *const *)graphs, 4, values, 3};
    gnn_tensor_t y = gnn_tensor(out, TOTAL, WORDS);
    for (int k = 0; k < 4; k++)
        ck_ok(gnn_model_prepare(model, k, graphs[k], GNN_OFF));
    ck_ok(gnn_model_forward(model, context, &inputs, &y));
}

static gnn_state_t *begin(const gnn_model_t *model)
{
    static const int64_t windows[] = {0, 2};
    const gnn_named_t value = {.name = "source", .dense = &source};
    const gnn_model_inputs_t fixed = {(const gnn_graph_t *const *)graphs, 4, &value, 1};
    gnn_state_t *state = NULL;
    ck_ok(gnn_state_new(&state, model, context,
                        &(gnn_state_config_t){.segments = SEQUENCES,
                                              .capacity = CAPACITY,
                                              .windows = windows,
                                              .n_windows = 2,
                                              .fixed = &fixed}));
    return state;
}

/* ---- going on ---- */

static int64_t first_row(int64_t sequence)
{
    int64_t row = 0;
    for (int64_t s = 0; s < sequence; s++)
        row += lengths[s];
    return row;
}

/* Sequences that a state may have, each a beginning of one of those above. */
enum { MOST = 7, MOST_ROWS = MOST * CAPACITY };

/* Appends counts[s] rows of each sequence, compares them with those of the forward pass; sequence
 * s is a copy of who[s]. */
static void copies_go_on(const gnn_model_t *model, gnn_state_t *state, const int64_t *who,
                         const int64_t *counts, const gnn_real_t *whole)
{
    int32_t words[MOST_ROWS], at[MOST_ROWS];
    gnn_real_t out[MOST_ROWS * WORDS], expected[MOST_ROWS * WORDS];
    int64_t n = 0;
    for (int64_t s = 0; s < gnn_state_segments(state); s++)
        for (int64_t i = 0; i < (counts ? counts[s] : 1); i++, n++) {
            const int64_t row = first_row(who[s]) + gnn_state_length(state, s) + i;
            words[n] = ids[row];
            at[n] = places[row];
            memcpy(expected + n * WORDS, whole + row * WORDS, WORDS * sizeof *whole);
        }
    const gnn_named_t values[] = {{.name = "ids", .ids = words, .count = n},
                                  {.name = "places", .ids = at, .count = n}};
    gnn_tensor_t y = gnn_tensor(out, n, WORDS);
    ck_ok(gnn_model_advance(model, context, state, counts,
                            &(gnn_model_inputs_t){.values = values, .n_values = 2}, &y));
    const double error = test_error(out, expected, n * WORDS);
    ck_assert_msg(error <= 1e-5, "the new rows differ by %g", error);
}

static void go_on(const gnn_model_t *model, gnn_state_t *state, const int64_t *counts,
                  const gnn_real_t *whole)
{
    copies_go_on(model, state, (const int64_t[]){0, 1, 2}, counts, whole);
}

START_TEST(token_by_token_equals_the_whole)
{
    gnn_model_t *model = make(models[_i]);
    gnn_real_t whole[TOTAL * WORDS];
    forward(model, whole);
    gnn_state_t *state = begin(model);
    go_on(model, state, NULL, whole);
    for (int64_t p = 1; p < 9; p++) {
        int64_t counts[SEQUENCES];
        for (int64_t s = 0; s < SEQUENCES; s++)
            counts[s] = p < lengths[s];
        go_on(model, state, counts, whole);
    }
    for (int64_t s = 0; s < SEQUENCES; s++)
        ck_assert_int_eq(gnn_state_length(state, s), lengths[s]);
    gnn_state_free(state);
    gnn_model_free(model);
}
END_TEST

/* Several tokens at once, none for some sequences, truncation. */
START_TEST(any_chunks_equal_the_whole)
{
    state_of_draws += (uint64_t)_i;
    gnn_model_t *model = make(models[_i % MODELS]);
    gnn_real_t whole[TOTAL * WORDS];
    forward(model, whole);
    gnn_state_t *state = begin(model);
    for (int round = 0; round < 12; round++) {
        int64_t counts[SEQUENCES];
        for (int64_t s = 0; s < SEQUENCES; s++)
            counts[s] = test_below(&state_of_draws, lengths[s] - gnn_state_length(state, s) + 1);
        go_on(model, state, counts, whole);
        const int64_t s = test_below(&state_of_draws, SEQUENCES);
        if (round < 8)
            ck_ok(gnn_state_truncate(
                state, s, cut_to(_i, test_below(&state_of_draws, gnn_state_length(state, s) + 1))));
    }
    gnn_state_free(state);
    gnn_model_free(model);
}
END_TEST

/* ---- choosing ---- */

static void choose(gnn_state_t *state, int64_t count, int64_t *who)
{
    int64_t from[MOST], before[MOST], rows[MOST];
    for (int64_t s = 0; s < gnn_state_segments(state); s++) {
        before[s] = who[s];
        rows[s] = gnn_state_length(state, s);
    }
    for (int64_t k = 0; k < count; k++)
        who[k] = before[from[k] = test_below(&state_of_draws, gnn_state_segments(state))];
    ck_ok(gnn_state_select(state, count, from));
    ck_assert_int_eq(gnn_state_segments(state), count);
    for (int64_t k = 0; k < count; k++)
        ck_assert_int_eq(gnn_state_length(state, k), rows[from[k]]);
}

/* Sequences are copied, dropped and permuted between tokens. */
START_TEST(selected_sequences_continue)
{
    state_of_draws += 77 + (uint64_t)_i;
    gnn_model_t *model = make(models[_i % MODELS]);
    gnn_real_t whole[TOTAL * WORDS];
    int64_t who[MOST] = {0, 1, 2};
    forward(model, whole);
    gnn_state_t *state = begin(model);
    for (int round = 0; round < 24; round++) {
        int64_t counts[MOST];
        for (int64_t s = 0; s < gnn_state_segments(state); s++)
            counts[s] = gnn__min(test_below(&state_of_draws, 3),
                                 lengths[who[s]] - gnn_state_length(state, s));
        copies_go_on(model, state, who, counts, whole);
        choose(state, round % 3 ? gnn_state_segments(state) : 1 + test_below(&state_of_draws, MOST),
               who);
        const int64_t s = test_below(&state_of_draws, gnn_state_segments(state));
        if (round % 4 == 3)
            ck_ok(gnn_state_truncate(state, s, cut_to(_i, gnn_state_length(state, s) / 2)));
    }
    ck_fails(gnn_state_select(state, 0, who), GNN_EINVALID, "count = 0, expected 1");
    ck_fails(gnn_state_select(state, 1, (const int64_t[]){MOST}), GNN_EINVALID, "from[0] = 7");
    ck_fails(gnn_state_select(state, 1, NULL), GNN_EINVALID, "from is NULL");
    gnn_state_free(state);
    gnn_model_free(model);
}
END_TEST

/* ---- what is refused ---- */

START_TEST(an_error_leaves_the_state_as_it_was)
{
    gnn_model_t *model = make(transformer), *other = make(transformer);
    gnn_real_t whole[TOTAL * WORDS];
    forward(model, whole);
    gnn_state_t *state = begin(model);
    const int64_t many[] = {CAPACITY, 0, 1}, less[] = {-1, 1, 1}, some[] = {4, 1, 2};
    const gnn_named_t values[] = {{.name = "ids", .ids = ids, .count = 3},
                                  {.name = "places", .ids = places, .count = 2}};
    const gnn_model_inputs_t in = {.values = values, .n_values = 2};
    gnn_real_t out[3 * WORDS];
    gnn_tensor_t y = gnn_tensor(out, 3, WORDS), narrow = gnn_tensor(out, 3, 2);
    go_on(model, state, some, whole);
    ck_fails(gnn_model_advance(model, context, state, many, &in, &y), GNN_ESHAPE,
             "sequence 0 has 4 rows of at most 12: 12 more do not fit");
    ck_fails(gnn_model_advance(model, context, state, less, &in, &y), GNN_ESHAPE, "-1 more");
    ck_fails(gnn_model_advance(model, context, state, NULL, &in, &y), GNN_ESHAPE,
             "step place: 3 new rows are expected in .inputs[0], got 2");
    ck_fails(gnn_model_advance(model, context, state, NULL, &in, &narrow), GNN_ESHAPE, "2");
    ck_fails(gnn_model_advance(other, context, state, NULL, &in, &y), GNN_EINVALID, "another model");
    ck_fails(gnn_model_advance(model, context, state, NULL, &(gnn_model_inputs_t){0}, &y),
             GNN_ENOTFOUND, "\"ids\"");
    ck_fails(gnn_state_truncate(state, 0, 5), GNN_EINVALID, "cannot be cut to 5 rows");
    ck_fails(gnn_state_truncate(state, 3, 0), GNN_EINVALID, "sequence 3 of 3");
    go_on(model, state, (const int64_t[]){5, 0, 4}, whole);
    gnn_state_free(state);
    gnn_model_free(other);
    gnn_model_free(model);
}
END_TEST

START_TEST(sums_are_not_cut_to_some_rows)
{
    gnn_model_t *model = make(sums_and_rows);
    gnn_real_t whole[TOTAL * WORDS];
    forward(model, whole);
    gnn_state_t *state = begin(model);
    go_on(model, state, (const int64_t[]){4, 1, 2}, whole);
    ck_fails(gnn_state_truncate(state, 0, 3), GNN_EUNSUPPORTED,
             "keeps sums over all rows: a sequence is cut to 0 rows, not to 3 of 4");
    ck_ok(gnn_state_truncate(state, 0, 4));
    go_on(model, state, (const int64_t[]){5, 0, 4}, whole);
    gnn_state_free(state);
    gnn_model_free(model);
}
END_TEST

/* ---- cost of a word ---- */

/* Multiply-adds and values read and written by all ops since the profile was cleared. */
static double counted(const gnn_context_t *profiled)
{
    double sum = 0;
    for (int64_t k = 0; k < profiled->profile->count; k++)
        sum += profiled->profile->rows[k].flops / 2 +
               profiled->profile->rows[k].bytes / (double)sizeof(gnn_real_t);
    return sum;
}

/* Layers whose weigher is linear, or the softmax that they are compared with. */
static gnn_model_t *make_profiled(gnn_context_t *profiled, const gnn_weigher_t *weigher)
{
    gnn_steps_t *steps;
    gnn_model_t *model;
    gnn_layer_config_t layer = GNN_TRANSFORMER(.in = D, .heads = 2, .weigher = weigher);
    ck_ok(gnn_steps_new(&steps));
    gnn_steps_add(
        steps, &(gnn_step_t){
                   .kind = GNN_STEP_EMBED, .name = "word", .inputs = {"ids"}, .in = WORDS, .out = D});
    if (weigher == &gnn_weigher_ratio)
        layer.map = &gnn_map_elu1;
    if (weigher == &gnn_weigher_decay) {
        gnn_steps_add(
            steps, &(gnn_step_t){
                       .kind = GNN_STEP_LINEAR, .name = "g", .inputs = {"word"}, .in = D, .out = 2});
        gnn_steps_add(
            steps,
            &(gnn_step_t){.kind = GNN_STEP_ACTIVATION, .name = "open", .activation = GNN_SOFTPLUS});
        gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_SCALE, .name = "gates", .factor = -1});
        layer.priors[0] = (gnn_layer_prior_t){.prior = &gnn_prior_decay, .given = GNN_ON};
    }
    gnn_steps_add(steps, &(gnn_step_t){.inputs = {"word"},
                                       .priors = {layer.priors[0].prior ? "gates" : NULL},
                                       .layer = layer});
    ck_ok(gnn_model_build(&model, profiled, steps));
    gnn_steps_free(steps);
    return model;
}

/* Operations of one more word after `words`. */
static double cost_of_a_word(const gnn_weigher_t *weigher, int64_t words)
{
    gnn_context_t *profiled;
    gnn_state_t *state;
    int32_t *some = calloc((size_t)words, sizeof *some);
    gnn_real_t *out = calloc((size_t)(words * D), sizeof *out), last[D];
    ck_assert_int_eq(setenv("GNN_PROFILE", "1", 1), 0);
    ck_ok(gnn_context_new(&profiled, NULL));
    unsetenv("GNN_PROFILE");
    gnn_model_t *model = make_profiled(profiled, weigher);
    const gnn_named_t all = {.name = "ids", .ids = some, .count = words},
                      one = {.name = "ids", .ids = some, .count = 1};
    const gnn_tensor_t y = gnn_tensor(out, words, D), y1 = gnn_tensor(last, 1, D);
    ck_ok(gnn_state_new(&state, model, profiled, &(gnn_state_config_t){.capacity = words + 1}));
    ck_ok(gnn_model_advance(model, profiled, state, &words,
                            &(gnn_model_inputs_t){.values = &all, .n_values = 1}, &y));
    profiled->profile->count = 0;
    ck_ok(gnn_model_advance(model, profiled, state, NULL,
                            &(gnn_model_inputs_t){.values = &one, .n_values = 1}, &y1));
    const double cost = counted(profiled);
    gnn_state_free(state);
    gnn_model_free(model);
    gnn_context_free(profiled);
    free(some);
    free(out);
    return cost;
}

/* The sums that linear weighers keep have one size; softmax reads all rows. */
START_TEST(a_word_costs_the_same_after_any_count_of_words)
{
    const gnn_weigher_t *const weighers[] = {&gnn_weigher_linear, &gnn_weigher_ratio,
                                             &gnn_weigher_decay};
    for (int k = 0; k < 3; k++) {
        const double few = cost_of_a_word(weighers[k], 128),
                     many = cost_of_a_word(weighers[k], 16384);
        printf("%s: %.0f operations for a word after 128 words, %.0f after 16,384\n",
               weighers[k]->name, few, many);
        ck_assert_double_gt(few, 0);
        ck_assert_double_eq(few, many);
    }
    ck_assert_double_gt(cost_of_a_word(NULL, 2048), 4 * cost_of_a_word(NULL, 128));
}
END_TEST

static int refused(const gnn_step_t *last, const gnn_state_config_t *config)
{
    gnn_step_t steps[] = {{.kind = GNN_STEP_INPUT, .name = "x", .out = D},
                          {.kind = GNN_STEP_INPUT, .name = "e"},
                          *last};
    gnn_model_t *model = NULL;
    gnn_state_t *state = NULL;
    ck_ok(gnn_model_from_steps(&model, context, 3, steps));
    const int rc = gnn_state_new(&state, model, context, config);
    ck_assert_ptr_null(state);
    gnn_model_free(model);
    return rc;
}

START_TEST(non_incremental_steps_are_named)
{
    const gnn_named_t e = {.name = "e", .dense = &source}, x = {.name = "x", .dense = &source};
    const gnn_model_inputs_t fixed_e = {.values = &e, .n_values = 1},
                             fixed_x = {.values = &x, .n_values = 1};
    const gnn_state_config_t plain = {.capacity = 4}, with_e = {.capacity = 4, .fixed = &fixed_e},
                             with_x = {.capacity = 4, .fixed = &fixed_x};
    ck_fails(refused(&(gnn_step_t){.kind = GNN_STEP_STACK, .name = "s", .inputs = {"x", "e"}}, &plain),
             GNN_EUNSUPPORTED, "step s: a step of kind stack cannot run incrementally");
    ck_fails(refused(&(gnn_step_t){.kind = GNN_STEP_OP,
                                   .name = "s",
                                   .inputs = {"x", "e"},
                                   .op = &gnn_op_grouped_product,
                                   .options = {D}},
                     &plain),
             GNN_EUNSUPPORTED, "step s: a step of kind op cannot run incrementally");
    ck_fails(refused(
                 &(gnn_step_t){
                     .kind = GNN_STEP_OP, .name = "s", .inputs = {"x", "x"}, .op = &gnn_op_mix_heads},
                 &plain),
             GNN_EUNSUPPORTED, "step s: op mix_heads reads all rows of .inputs[1], which grow");
    ck_fails(refused(
                 &(gnn_step_t){
                     .name = "s", .inputs = {"x"}, .edge_weight = "e", .layer = GNN_SAGE(.in = D)},
                 &plain),
             GNN_EUNSUPPORTED, "step s: .edge_weight has rows on edges");
    ck_fails(refused(&(gnn_step_t){.name = "s", .inputs = {"x"}, .layer = GNN_GCN(.in = D)}, &plain),
             GNN_EUNSUPPORTED, "self-loops");
    ck_fails(
        refused(
            &(gnn_step_t){.name = "s", .inputs = {"x"}, .receivers = "e", .layer = GNN_SAGE(.in = D)},
            &with_e),
        GNN_EUNSUPPORTED, "step s: its rows grow, but .receivers does not");
    ck_fails(
        refused(
            &(gnn_step_t){.name = "s", .inputs = {"x"}, .receivers = "e", .layer = GNN_SAGE(.in = D)},
            &with_x),
        GNN_EINVALID,
        "step s has fixed senders: .fixed must have a graph of 1 segments in slot 0, and has none");
    ck_fails(refused(&(gnn_step_t){.kind = GNN_STEP_SCALE, .name = "s", .inputs = {"e"}}, &with_e),
             GNN_EINVALID, "no input that grows");
    ck_fails(refused(&(gnn_step_t){.kind = GNN_STEP_SCALE, .inputs = {"x"}}, &(gnn_state_config_t){0}),
             GNN_EINVALID, ".capacity = 0");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("state");
    TCase *c = tcase_create("state");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, token_by_token_equals_the_whole, 0, MODELS);
    tcase_add_loop_test(c, any_chunks_equal_the_whole, 0, 3 * MODELS);
    tcase_add_loop_test(c, selected_sequences_continue, 0, 4 * MODELS);
    tcase_add_test(c, sums_are_not_cut_to_some_rows);
    tcase_add_test(c, a_word_costs_the_same_after_any_count_of_words);
    tcase_add_test(c, an_error_leaves_the_state_as_it_was);
    tcase_add_test(c, non_incremental_steps_are_named);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
