/* Published models by the general loader: what they compute against what transformers has computed
 * of the same files. Sizes are read from the files: any set of checkpoints will do. */
#include "pretrained_trial.h"

#include <lib/data/arrays/arrays.h>

/* Tolerances: float32 rounds the stored values and ours. */
#define GOLDEN_BOUND 1e-5

/* Each of `count` matrices (rows x cols), transposed in place. */
static void transpose_images(gnn_real_t *values, int64_t count, int64_t rows, int64_t cols)
{
    const int64_t each = rows * cols;
    gnn_real_t *copy = malloc((size_t)(each + 1) * sizeof *copy);
    for (int64_t k = 0; k < count; k++) {
        memcpy(copy, values + k * each, (size_t)each * sizeof *copy);
        for (int64_t at = 0; at < each; at++)
            values[k * each + at % cols * rows + at / cols] = copy[at];
    }
    free(copy);
}

/* A step's values against the array of that name. */
static void ck_value(trial_t *t, const char *name, const char *expected)
{
    const gnn_array_t *a = gnn_arrays_find(t->expected, expected);
    if (!a)
        return;
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    const int64_t step = gnn_model_find(model, name);
    ck_assert_msg(step >= 0, "%s has no step %s", t->folder, name);
    const int64_t cols = gnn_model_width(model, step);
    gnn_real_t *ours = keep(t, malloc((size_t)a->count * sizeof *ours)),
               *theirs = keep(t, malloc((size_t)a->count * sizeof *theirs));
    const gnn_tensor_t out = gnn_tensor(ours, a->count / cols, cols);
    gnn__array_reals(a, theirs);
    if (a->ndim == 4) /* channels of images: rows are cells */
        transpose_images(theirs, a->shape[0], a->shape[1], a->shape[2] * a->shape[3]);
    ck_ok(gnn_model_value(model, t->context, gnn_pretrained_batch_inputs(t->batch), name, &out));
    const double error = test_error(ours, theirs, a->count);
    ck_assert_msg(error <= GOLDEN_BOUND, "%s: %s differs by %g", t->folder, name, error);
}

/* Attention of all layers, concatenated. */
static void ck_attention(trial_t *t, const char *layer)
{
    const gnn_array_t *a = gnn_arrays_find(t->expected, "attention");
    if (!a)
        return;
    const gnn_model_t *model = gnn_pretrained_model(t->p);
    gnn_real_t *ours = keep(t, calloc((size_t)a->count, sizeof *ours)),
               *theirs = keep(t, malloc((size_t)a->count * sizeof *theirs));
    gnn__array_reals(a, theirs);
    int64_t layers = 0;
    char name[64];
    for (;; layers++) {
        snprintf(name, sizeof name, "%s.%lld", layer, (long long)layers);
        if (gnn_model_find(model, name) < 0)
            break;
    }
    ck_assert_int_gt(layers, 0);
    ck_assert_int_eq(a->count % layers, 0);
    for (int64_t k = 0; k < layers; k++) {
        snprintf(name, sizeof name, "%s.%lld", layer, (long long)k);
        ck_ok(gnn_model_attention(model, t->context, gnn_pretrained_batch_inputs(t->batch),
                                  gnn_model_find(model, name), NULL, ours + k * (a->count / layers)));
    }
    const double error = test_error(ours, theirs, a->count);
    ck_assert_msg(error <= GOLDEN_BOUND, "%s: attention differs by %g", t->folder, error);
}

static const char *const checkpoints[] = {"checkpoints/bert",
                                          "checkpoints/roberta",
                                          "checkpoints/distilbert",
                                          "checkpoints/mpnet",
                                          "checkpoints/gpt2",
                                          "checkpoints/llama",
                                          "checkpoints/vit",
                                          "checkpoints/t5",
                                          "checkpoints/marian",
                                          "zoo/models/mistral",
                                          "zoo/models/t5_gated",
                                          "zoo/models/gpt_neox",
                                          "zoo/models/gpt_neo",
                                          "zoo/models/gptj",
                                          "zoo/models/bloom",
                                          "zoo/models/falcon",
                                          "zoo/models/mpt",
                                          "zoo/models/gemma2",
                                          "zoo/models/gemma3",
                                          "zoo/models/modernbert",
                                          "zoo/models/led",
                                          "zoo/models/longformer",
                                          "checkpoints/longformer",
                                          "zoo/models/bigbird_full",
                                          "zoo/models/dinov2",
                                          "zoo/models/longt5_local",
                                          "longt5",
                                          "zoo/models/longt5_global",
                                          "zoo/models/pegasus_x",
                                          "zoo/models/poolformer",
                                          "zoo/models/transfo_xl",
                                          "longt5_global",
                                          "longt5_global_plain",
                                          "t5_reach",
                                          "pegasus_x",
                                          "pegasus_x_even",
                                          "poolformer_classes",
                                          "poolformer_plain",
                                          "poolformer_wide",
                                          "transfo_xl",
                                          "transfo_xl_one",
                                          "transfo_xl_logits",
                                          "transfo_xl_logits_one",
                                          "zoo/models/qwen3",
                                          "zoo/models/olmo2",
                                          "zoo/models/deberta",
                                          "zoo/models/deberta_v2",
                                          "bart",
                                          "bart_scaled",
                                          "llama_linear",
                                          "llama_dynamic",
                                          "llama3",
                                          "yarn",
                                          "yarn_given",
                                          "bert_classes",
                                          "bert_tags",
                                          "bert_masked",
                                          "roberta_classes",
                                          "roberta_tags",
                                          "roberta_masked",
                                          "distilbert_classes",
                                          "distilbert_tags",
                                          "distilbert_masked",
                                          "mpnet_classes",
                                          "mpnet_tags",
                                          "mpnet_masked",
                                          "electra_classes",
                                          "electra_tags",
                                          "electra_masked",
                                          "albert_classes",
                                          "albert_tags",
                                          "albert_masked",
                                          "deberta_classes",
                                          "deberta_masked",
                                          "deberta_v2_classes",
                                          "deberta_v2_tags",
                                          "deberta_v2_masked",
                                          "deberta_v2_plain",
                                          "deberta_v2_one",
                                          "zoo/models/roformer",
                                          "roformer_classes",
                                          "roformer_tags",
                                          "roformer_masked",
                                          "modernbert_classes",
                                          "modernbert_tags",
                                          "modernbert_masked",
                                          "vit_classes",
                                          "gpt2_next",
                                          "gpt_neox_next",
                                          "qwen2_next",
                                          "mistral_next",
                                          "gemma3_next",
                                          "gemma3_embedding",
                                          "ministral",
                                          "internlm3",
                                          "seed_oss",
                                          "ernie",
                                          "ernie_tasks",
                                          "data2vec_text",
                                          "plbart",
                                          "vit_msn",
                                          "splinter",
                                          "nomic_bert",
                                          "gte",
                                          "gte_masked",
                                          "eurobert",
                                          "eurobert_classes",
                                          "smollm3",
                                          "gemma",
                                          "granite",
                                          "phi3",
                                          "mbart",
                                          "pegasus",
                                          "m2m_100",
                                          "t5_encoder",
                                          "umt5",
                                          "llama_classes",
                                          "gpt2_classes",
                                          "bert_generation",
                                          "blenderbot",
                                          "blenderbot_small",
                                          "phi",
                                          "gpt_bigcode",
                                          "gpt_bigcode_heads",
                                          "gpt_bigcode_tags",
                                          "starcoder2",
                                          "stablelm",
                                          "opt",
                                          "glm",
                                          "helium",
                                          "gptj",
                                          "gpt_neo",
                                          "bloom",
                                          "falcon",
                                          "falcon_grouped",
                                          "mpt",
                                          "gemma2",
                                          "olmo2",
                                          "qwen3",
                                          "t5",
                                          "mt5",
                                          "marian",
                                          "xlm_roberta",
                                          "camembert",
                                          "bert_answers",
                                          "longformer",
                                          "longformer_classes",
                                          "longformer_masked",
                                          "longformer_answers",
                                          "led",
                                          "zoo/models/mixtral",
                                          "mixtral",
                                          "mixtral_window",
                                          "qwen2_moe",
                                          "qwen2_moe_dense",
                                          "qwen3_moe",
                                          "olmoe",
                                          "zoo/models/gpt_oss",
                                          "zoo/models/deepseek_v3",
                                          "zoo/models/diffllama",
                                          "zoo/models/mamba2",
                                          "zoo/models/mamba",
                                          "mamba",
                                          "mamba_bias",
                                          "zoo/models/mamba",
                                          "zoo/models/fnet",
                                          "zoo/models/nystromformer",
                                          "zoo/models/swin",
                                          "zoo/models/vivit",
                                          "vivit_classes",
                                          "zoo/models/swinv2",
                                          "zoo/models/xlnet",
                                          "zoo/models/yoso_expectation",
                                          "nystromformer_masked",
                                          "nystromformer_classes",
                                          "xlnet_masked",
                                          "xlnet_causal",
                                          "xlnet_classes",
                                          "yoso_masked",
                                          "yoso_classes",
                                          "big_bird_masked",
                                          "swin_classes",
                                          "swin_absolute",
                                          "swinv2_classes",
                                          "mamba",
                                          "mamba_bias",
                                          "fnet_masked",
                                          "fnet_classes",
                                          "zoo/models/funnel",
                                          "funnel_masked",
                                          "funnel_classes",
                                          "funnel_tags",
                                          "funnel_replaced",
                                          "zoo/models/reformer",
                                          "reformer_next",
                                          "reformer_masked",
                                          "reformer_classes",
                                          "zoo/models/mega",
                                          "zoo/models/mega_chunked",
                                          "mega_masked",
                                          "mega_causal",
                                          "mega_classes",
                                          "mega_chunked",
                                          "zoo/models/perceiver",
                                          "perceiver_masked",
                                          "perceiver_classes",
                                          "perceiver_pixels",
                                          "zoo/models/rwkv",
                                          "zoo/models/convbert",
                                          "convbert_masked",
                                          "convbert_classes",
                                          "mamba2",
                                          "mamba2_limits",
                                          "rwkv",
                                          "gpt_oss",
                                          "deepseek_v3",
                                          "deepseek_v3_plain",
                                          "deepseek_v3_yarn",
                                          "deepseek_v3_yarn_halves",
                                          "deepseek_v3_yarn",
                                          "deepseek_v3_yarn_halves",
                                          "diffllama",
                                          "zoo/models/switch",
                                          "switch",
                                          "glm4_moe",
                                          "glm4_moe_norms",
                                          "dots1"};

START_TEST(outputs_match_transformers)
{
    trial_t t;
    if (!trial_open(&t, checkpoints[_i]))
        return;
    trial_batch(&t);
    ck_value(&t, "hidden", "hidden");
    ck_value(&t, "logits", "logits");
    ck_attention(&t, "layer");
    trial_close(&t);
}
END_TEST

/* ---- BigBird in training, whose blocks are drawn per layer and head ---- */

enum { BIRD_LAYERS = 2, BIRD_HEADS = 2, BLOCK = 4, BIRD_ROWS = 48, BLOCKS = BIRD_ROWS / BLOCK };

typedef struct pairs {
    int32_t src[BIRD_ROWS * BIRD_ROWS], dst[BIRD_ROWS * BIRD_ROWS];
    gnn_real_t bias[BIRD_ROWS * BIRD_ROWS * BIRD_HEADS];
    int64_t m;
} pairs_t;

/* Row i receives from a block: all heads, or one of them. */
static void add_block(pairs_t *p, int64_t i, int64_t block, int head)
{
    for (int64_t k = 0; k < BLOCK; k++, p->m++) {
        p->dst[p->m] = (int32_t)i;
        p->src[p->m] = (int32_t)(block * BLOCK + k);
        for (int a = 0; a < BIRD_HEADS; a++)
            p->bias[p->m * BIRD_HEADS + a] = head < 0 || a == head ? 0 : (gnn_real_t)-1e9;
    }
}

/* Zaheer et al. 2020: the first and the last block receive from all; the others from these two,
 * from their neighbours, and from a drawn one, which may count a block again. */
static void draw_pairs(pairs_t *p, const gnn_array_t *drawn, int64_t layer)
{
    p->m = 0;
    for (int64_t i = 0; i < BIRD_ROWS; i++) {
        const int64_t own = i / BLOCK, inner = BLOCKS - 2;
        const bool all = own == 0 || own == BLOCKS - 1;
        for (int64_t b = 0; b < BLOCKS; b++)
            if (all || b == 0 || b == BLOCKS - 1 || llabs(b - own) <= 1)
                add_block(p, i, b, -1);
        for (int a = 0; !all && a < BIRD_HEADS; a++)
            add_block(p, i,
                      (int64_t)gnn_array_get(drawn, (layer * BIRD_HEADS + a) * inner + own - 1), a);
    }
}

/* The steps of the opened model, whose layers get a graph and biases each. */
START_TEST(drawn_blocks_of_big_bird)
{
    enum { MOST_STEPS = 16, MOST = 8 };
    static pairs_t pairs[BIRD_LAYERS];
    static const char *const names[] = {"layer.0", "layer.1"}, *const biases[] = {"bias.0", "bias.1"};
    trial_t t;
    gnn_step_t steps[MOST_STEPS];
    gnn_named_t values[MOST];
    gnn_tensor_t dense[BIRD_LAYERS];
    gnn_graph_t *drawn[BIRD_LAYERS];
    const gnn_graph_t *graphs[MOST];
    gnn_model_t *model;
    int64_t length, same;
    if (!trial_open(&t, "zoo/models/bigbird"))
        return;
    trial_batch(&t);
    const gnn_model_t *opened = gnn_pretrained_model(t.p);
    const gnn_model_inputs_t *given = gnn_pretrained_batch_inputs(t.batch);
    const int64_t n = gnn_model_step_count(opened);
    const int slot = (int)given->n_graphs;
    ck_assert_int_le(n, MOST_STEPS);
    ck_assert_int_le(given->n_values + BIRD_LAYERS, MOST);
    for (int64_t k = 0; k < n; k++)
        steps[k] = *gnn_model_step(opened, k);
    memcpy(values, given->values, (size_t)given->n_values * sizeof *values);
    memcpy(graphs, given->graphs, (size_t)given->n_graphs * sizeof *graphs);
    for (int l = 0; l < BIRD_LAYERS; l++) {
        gnn_step_t *step = &steps[gnn_model_find(opened, names[l])];
        draw_pairs(&pairs[l], array(&t, "random_blocks"), l);
        ck_ok(gnn_graph_from_edges(&drawn[l], BIRD_ROWS, BIRD_ROWS, pairs[l].m,
                                   gnn_ints(pairs[l].src), gnn_ints(pairs[l].dst)));
        dense[l] = gnn_tensor(pairs[l].bias, pairs[l].m, BIRD_HEADS);
        values[given->n_values + l] = (gnn_named_t){.name = biases[l], .dense = &dense[l]};
        graphs[slot + l] = drawn[l];
        step->graph = slot + l;
        step->edge_bias = biases[l];
    }
    ck_ok(gnn_model_from_steps(&model, t.context, n, steps));
    const gnn_real_t *weights = gnn_parameters_block(gnn_model_parameters(opened), 0, &length);
    gnn_real_t *block = gnn_parameters_block(gnn_model_parameters(model), 0, &same);
    ck_assert_int_eq(same, length);
    memcpy(block, weights, (size_t)length * sizeof *weights);
    for (int l = 0; l < BIRD_LAYERS; l++)
        ck_ok(gnn_model_prepare(model, slot + l, drawn[l], GNN_OFF));
    const gnn_model_inputs_t inputs = {graphs, slot + BIRD_LAYERS, values,
                                       given->n_values + BIRD_LAYERS};
    const gnn_array_t *hidden = array(&t, "hidden");
    gnn_real_t *ours = keep(&t, malloc((size_t)hidden->count * sizeof *ours)),
               *theirs = keep(&t, malloc((size_t)hidden->count * sizeof *theirs));
    const gnn_tensor_t out = gnn_tensor(ours, BIRD_ROWS, hidden->count / BIRD_ROWS);
    gnn__array_reals(hidden, theirs);
    ck_ok(gnn_model_value(model, t.context, &inputs, "hidden", &out));
    ck_assert_double_le(test_error(ours, theirs, hidden->count), GOLDEN_BOUND);
    gnn_model_free(model);
    for (int l = 0; l < BIRD_LAYERS; l++)
        gnn_graph_free(drawn[l]);
    trial_close(&t);
}
END_TEST

/* ---- token by token ---- */

static const char *const writers[] = {"checkpoints/gpt2",
                                      "checkpoints/llama",
                                      "checkpoints/t5",
                                      "checkpoints/marian",
                                      "zoo/models/mistral",
                                      "zoo/models/qwen3",
                                      "zoo/models/olmo2",
                                      "zoo/models/gpt_neox",
                                      "zoo/models/gpt_neo",
                                      "zoo/models/gptj",
                                      "zoo/models/bloom",
                                      "zoo/models/falcon",
                                      "zoo/models/mpt",
                                      "zoo/models/gemma2",
                                      "zoo/models/gemma3",
                                      "zoo/models/t5_gated",
                                      "zoo/models/led",
                                      "zoo/models/pegasus_x",
                                      "longt5_global",
                                      "pegasus_x",
                                      "zoo/models/mixtral",
                                      "zoo/models/gpt_oss",
                                      "zoo/models/deepseek_v3",
                                      "zoo/models/diffllama",
                                      "zoo/models/mamba2",
                                      "zoo/models/rwkv",
                                      "mamba2",
                                      "mamba2_limits",
                                      "rwkv",
                                      "gpt_oss",
                                      "deepseek_v3",
                                      "deepseek_v3_plain",
                                      "diffllama",
                                      "zoo/models/switch",
                                      "switch",
                                      "mixtral_window",
                                      "qwen2_moe",
                                      "qwen2_moe_dense",
                                      "qwen3_moe",
                                      "olmoe"};

/* Each sequence is appended in chunks of 1, 2, 3, ... tokens; `first` is its offset in the
 * batch. */
typedef struct {
    const int64_t *lengths;
    const int32_t *ids;
    int64_t cols;
    gnn_real_t *whole, *out;
} writing_t;

/* The next `most` tokens of every unfinished sequence; false if all are finished. */
static bool write_on(trial_t *t, const writing_t *w, gnn_state_t *state, int64_t most)
{
    int64_t counts[64], rows = 0, at = 0;
    int32_t ids[1024];
    for (int64_t s = 0; s < t->sequences.count; at += w->lengths[s++]) {
        const int64_t had = gnn_state_length(state, s), left = w->lengths[s] - had;
        counts[s] = left < most ? left : most;
        for (int64_t k = 0; k < counts[s]; k++)
            ids[rows++] = w->ids[at + had + k];
    }
    const gnn_tensor_t out = gnn_tensor(w->out, rows, w->cols);
    if (rows == 0)
        return false;
    ck_ok(gnn_pretrained_advance(t->p, t->context, state, counts, ids, &out));
    rows = at = 0;
    for (int64_t s = 0; s < t->sequences.count; at += w->lengths[s++]) {
        const int64_t from = gnn_state_length(state, s) - counts[s];
        const double error = test_error(w->out + rows * w->cols, w->whole + (at + from) * w->cols,
                                        counts[s] * w->cols);
        ck_assert_msg(error <= GOLDEN_BOUND, "%s: tokens %lld to %lld of sequence %lld differ by %g",
                      t->folder, (long long)from, (long long)(from + counts[s]), (long long)s, error);
        rows += counts[s];
    }
    return true;
}

START_TEST(incremental_logits_equal_the_forward_pass)
{
    trial_t t;
    gnn_state_t *state = NULL;
    if (!trial_open(&t, writers[_i]))
        return;
    trial_batch(&t);
    const gnn_model_t *model = gnn_pretrained_model(t.p);
    const bool decodes = t.sequences.decoder_ids != NULL;
    writing_t w = {.lengths = decodes ? t.sequences.decoder_lengths : t.sequences.lengths,
                   .ids = decodes ? t.sequences.decoder_ids : t.sequences.ids,
                   .cols = gnn_model_width(model, gnn_model_step_count(model) - 1)};
    int64_t rows = 0, longest = 0;
    for (int64_t s = 0; s < t.sequences.count; s++) {
        rows += w.lengths[s];
        longest = w.lengths[s] > longest ? w.lengths[s] : longest;
    }
    ck_assert_int_le(rows, 1024);
    ck_assert_int_le(t.sequences.count, 64);
    w.whole = keep(&t, calloc((size_t)(rows * w.cols), sizeof *w.whole));
    w.out = keep(&t, calloc((size_t)(rows * w.cols), sizeof *w.out));
    const gnn_tensor_t whole = gnn_tensor(w.whole, rows, w.cols);
    ck_ok(gnn_model_forward(model, t.context, gnn_pretrained_batch_inputs(t.batch), &whole));
    gnn_sequences_t read = {.count = t.sequences.count};
    if (decodes) {
        read.lengths = t.sequences.lengths;
        read.ids = t.sequences.ids;
    }
    ck_ok(gnn_pretrained_state(&state, t.p, t.context, &read, longest));
    for (int64_t most = 1; write_on(&t, &w, state, most); most++)
        ;
    gnn_state_free(state);
    trial_close(&t);
}
END_TEST

/* Longformer's classification head makes the first token global; a folder without a head has no
 * global tokens unless the caller names them. Other models have no such tokens. */
START_TEST(only_named_tokens_are_global)
{
    trial_t t;
    if (!trial_open(&t, "zoo/models/longformer"))
        return;
    trial_batch(&t);
    const int64_t rows = array(&t, "ids")->count;
    int32_t *global = keep(&t, calloc((size_t)rows + 1, sizeof *global));
    for (int64_t s = 0, at = 0; s < t.sequences.count; at += t.sequences.lengths[s++])
        global[at] = t.sequences.lengths[s] > 0;
    gnn_pretrained_free(t.p);
    gnn_pretrained_batch_free(t.batch);
    t.batch = NULL;
    ck_ok(gnn_pretrained_open(&t.p, t.context, t.folder));
    ck_ok(gnn_pretrained_batch_new_with(&t.batch, t.p, &t.sequences,
                                        &(gnn_pretrained_batch_config_t){.global = global}));
    ck_value(&t, "hidden", "hidden");
    trial_close(&t);
    if (!trial_open(&t, "checkpoints/bert"))
        return;
    const int64_t one = 1;
    const int32_t id = 3, mark = 1;
    ck_fails(gnn_pretrained_batch_new_with(
                 &t.batch, t.p, &(gnn_sequences_t){.count = 1, .lengths = &one, .ids = &id},
                 &(gnn_pretrained_batch_config_t){.global = &mark}),
             GNN_EUNSUPPORTED, "bert has no global tokens");
    gnn_pretrained_free(t.p);
    ck_fails(gnn_pretrained_open_with(&t.p, t.context, t.folder,
                                      &(gnn_pretrained_config_t){.global_first = GNN_ON}),
             GNN_EUNSUPPORTED, "bert has no global tokens");
    trial_close(&t);
}
END_TEST

START_TEST(encoders_cannot_decode)
{
    trial_t t;
    gnn_state_t *state = NULL;
    if (!trial_open(&t, "checkpoints/bert"))
        return;
    ck_fails(gnn_pretrained_state(&state, t.p, t.context, &(gnn_sequences_t){.count = 1}, 4),
             GNN_EUNSUPPORTED, "cannot decode incrementally");
    ck_assert_ptr_null(state);
    trial_close(&t);
}
END_TEST

START_TEST(oversized_tokens_leave_the_state)
{
    trial_t t;
    gnn_state_t *state = NULL;
    if (!trial_open(&t, "checkpoints/gpt2"))
        return;
    const gnn_model_t *model = gnn_pretrained_model(t.p);
    const int64_t cols = gnn_model_width(model, gnn_model_step_count(model) - 1);
    gnn_real_t *row = keep(&t, calloc((size_t)cols * 3, sizeof *row));
    const gnn_tensor_t out = gnn_tensor(row, 1, cols), three = gnn_tensor(row, 3, cols);
    const int32_t ids[] = {1, 2, 1 << 30};
    const int64_t all = 3, none = -1, zero = 0;
    const gnn_tensor_t nothing = gnn_tensor(row, 0, cols);
    ck_fails(gnn_pretrained_state(&state, t.p, t.context, &(gnn_sequences_t){.count = 1}, 1 << 30),
             GNN_ESHAPE, "expected at most");
    ck_ok(gnn_pretrained_state(&state, t.p, t.context, &(gnn_sequences_t){.count = 1}, 2));
    ck_ok(gnn_pretrained_advance(t.p, t.context, state, NULL, ids, &out));
    ck_fails(gnn_pretrained_advance(t.p, t.context, state, NULL, ids + 2, &out), GNN_ESHAPE,
             "the model's table has");
    ck_fails(gnn_pretrained_advance(t.p, t.context, state, &all, ids, &three), GNN_ESHAPE, "");
    ck_fails(gnn_pretrained_advance(t.p, t.context, state, &none, ids, &out), GNN_EINVALID,
             "-1 tokens");
    ck_fails(gnn_pretrained_advance(t.p, t.context, state, NULL, NULL, &out), GNN_EINVALID,
             "ids is NULL");
    ck_ok(gnn_pretrained_advance(t.p, t.context, state, &zero, NULL, &nothing));
    ck_ok(gnn_pretrained_advance(t.p, t.context, state, &zero, ids, &nothing));
    ck_assert_int_eq(gnn_state_length(state, 0), 1);
    ck_ok(gnn_pretrained_advance(t.p, t.context, state, NULL, ids, &out));
    gnn_state_free(state);
    trial_close(&t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pretrained");
    TCase *models = tcase_create("models");
    tcase_add_loop_test(models, outputs_match_transformers, 0,
                        sizeof checkpoints / sizeof *checkpoints);
    tcase_add_loop_test(models, incremental_logits_equal_the_forward_pass, 0,
                        sizeof writers / sizeof *writers);
    tcase_add_test(models, drawn_blocks_of_big_bird);
    tcase_add_test(models, only_named_tokens_are_global);
    tcase_add_test(models, encoders_cannot_decode);
    tcase_add_test(models, oversized_tokens_leave_the_state);
    tcase_set_timeout(models, 600);
    suite_add_tcase(suite, models);
    return test_main(suite);
}
