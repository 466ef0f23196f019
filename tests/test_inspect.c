/* Inspection: attention between words, trees, pictures and the page, scores of heads, masked
 * heads. */
#include "bert_small.h"
#include "svg_check.h"
#include "treebank_text.h"

#include <graphs/undirected.h>

/* ---- subword tokens and words ---- */

/* The second word is pieces 1 and 2: what is sent to it adds up, what it sends is their mean; rows
 * keep their sum. */
START_TEST(subword_tokens_merge_into_words)
{
    gnn_real_t pieces[] = {(gnn_real_t)0.2, (gnn_real_t)0.3, (gnn_real_t)0.5,
                           (gnn_real_t)0.6, (gnn_real_t)0.1, (gnn_real_t)0.3,
                           (gnn_real_t)0.2, (gnn_real_t)0.4, (gnn_real_t)0.4};
    const int64_t word[] = {0, 1, 1}, wrong[] = {0, 1, 2}, without[] = {-1, 0, 1};
    const double expected[] = {0.2, 0.8, 0.4, 0.6};
    gnn_real_t words[4];
    const gnn_tensor_t from = gnn_tensor(pieces, 3, 3), to = gnn_tensor(words, 2, 2);
    ck_ok(gnn_attention_of_words(&from, word, &to));
    for (int k = 0; k < 4; k++)
        ck_assert_double_eq_tol((double)words[k], expected[k], 1e-6);
    ck_ok(gnn_attention_of_words(&from, without, &to));
    ck_assert_double_eq_tol((double)words[1], 0.3, 1e-6);
    ck_assert_double_eq_tol((double)words[2], 0.4, 1e-6);
    ck_fails(gnn_attention_of_words(&from, wrong, &to), GNN_EINVALID, "token 2 has word 2");
    const gnn_tensor_t oblong = gnn_tensor(words, 1, 2);
    ck_fails(gnn_attention_of_words(&from, word, &oblong), GNN_ESHAPE, "square matrices");
}
END_TEST

/* ---- attention of a text ---- */

static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ngood\nbad\nfilm\n##s\na\n<\n";

typedef struct {
    gnn_context_t *context;
    gnn_pretrained_t *p;
} opened_t;

static opened_t open_small(void)
{
    opened_t o = {0};
    write_all();
    write_text("vocab.txt", vocabulary);
    ck_ok(gnn_context_new(&o.context, NULL));
    ck_ok(gnn_pretrained_open_classes(&o.p, o.context, test_folder,
                                      &(gnn_classes_config_t){.count = 2, .dropout = GNN_ZERO}));
    return o;
}

static void close_small(opened_t *o)
{
    gnn_pretrained_free(o->p);
    gnn_context_free(o->context);
}

START_TEST(texts_have_attention)
{
    opened_t o = open_small();
    gnn_attention_maps_t *a, *b;
    const char *text = "a films <good";
    static const char *const words[] = {"[CLS]", "a", "films", "<", "good", "[SEP]"};
    ck_ok(gnn_attention_of_text(&a, o.p, o.context, text, NULL));
    ck_assert_int_eq(a->layers, LAYERS);
    ck_assert_int_eq(a->heads, 2);
    ck_assert_int_eq(a->words, 6);
    for (int k = 0; k < 6; k++)
        ck_assert_str_eq(a->names[k], words[k]);
    ck_assert_str_eq(a->layer_names[1], "layer.1");
    for (int64_t r = 0; r < a->layers * a->heads * a->words; r++) {
        double sum = 0;
        for (int64_t c = 0; c < a->words; c++)
            sum += (double)a->weights[r * a->words + c];
        ck_assert_double_eq_tol(sum, 1, 1e-5);
    }
    ck_ok(gnn_attention_of_text(&b, o.p, o.context, text,
                                &(gnn_attention_config_t){GNN_OFF, GNN_OFF}));
    ck_assert_int_eq(b->words, 5);
    ck_assert_str_eq(b->names[1], "film");
    ck_assert_str_eq(b->names[2], "s");
    gnn_real_t map[36], both = a->weights[0] + a->weights[36];
    const gnn_tensor_t out = gnn_tensor(map, 6, 6), small = gnn_tensor(map, 5, 5);
    ck_ok(gnn_attention_map(a, 0, -1, &out));
    ck_assert_double_eq_tol((double)map[0], (double)both / 2, 1e-6);
    ck_ok(gnn_attention_map(a, 1, 1, &out));
    ck_assert(map[7] == a->weights[3 * 36 + 7]);
    ck_fails(gnn_attention_map(a, 2, 0, &out), GNN_EINVALID, "layer 2 of 2");
    ck_fails(gnn_attention_map(a, 0, 0, &small), GNN_ESHAPE, "expected 6 x 6");
    ck_ok(gnn_attention_map(a, -1, -1, &out));
    gnn_attention_free(b);
    gnn_attention_free(a);
    gnn_attention_free(NULL);
    ck_fails(gnn_attention_of_text(&a, o.p, o.context, "", &(gnn_attention_config_t){GNN_ON, GNN_OFF}),
             GNN_EINVALID, "no words");
    close_small(&o);
}
END_TEST

START_TEST(one_sentence_is_expected)
{
    opened_t o = open_small();
    gnn_attention_maps_t *a = NULL;
    gnn_pretrained_batch_t *batch;
    ck_ok(gnn_pretrained_batch_new(&batch, o.p,
                                   &(gnn_sequences_t){.count = 4, .lengths = lengths, .ids = ids}));
    ck_fails(gnn_attention_of_model(&a, gnn_pretrained_model(o.p), o.context,
                                    gnn_pretrained_batch_inputs(batch), NULL),
             GNN_ESHAPE, "4 segments");
    gnn_pretrained_batch_free(batch);
    close_small(&o);
}
END_TEST

/* ---- pictures ---- */

static gnn_real_t three_weights[2 * 9] = {
    1, 0, 0, (gnn_real_t)0.5, (gnn_real_t)0.5, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 1, 0, 0};
static const char *const three_words[] = {"</script><b>", "a\"b\\", "\xf0\x9f\x99\x82"};
static const char *const one_layer[] = {"layer.0"};
static const gnn_attention_maps_t three = {1, 2, 3, three_weights, three_words, one_layer};

START_TEST(the_grid_shows_every_head)
{
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_svg_attention_grid(file, &three, NULL));
    fclose(file);
    check_xml(text);
    check_numbers(text);
    ck_assert_int_eq(count(text, "<g transform="), 2);
    /* The first head has weights 1 twice and 1/2 twice, in adjacent cells; the second 1 three
     * times. */
    ck_assert_int_eq(count(text, "M0 0h1v1h-1z"), 1);
    ck_assert_int_eq(count(text, "M0 1h2v1h-2z"), 1);
    ck_assert_int_eq(count(text, "M1 0h1v1h-1zM2 1h1v1h-1zM0 2h1v1h-1z"), 1);
    free(text);
    const gnn_attention_maps_t large = {1000, 1000, 3, three_weights, three_words, one_layer};
    ck_fails(gnn_svg_attention_grid(stdout, &large, NULL), GNN_EINVALID, "at most 1000000");
    ck_fails(gnn_svg_attention_grid(NULL, &three, NULL), GNN_EINVALID, "file is NULL");
}
END_TEST

/* No word can end the script, its string, or the heading; a weight of 1/2 is step 648: "i0". */
START_TEST(the_page_holds_any_word)
{
    static char *text;
    static size_t size;
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_html_attention(file, &three, "<title>&"));
    fclose(file);
    ck_assert_int_eq(count(text, "<script>"), 2);
    ck_assert_int_eq(count(text, "</script>"), 2);
    ck_assert_ptr_null(strstr(text, "<b>"));
    ck_assert_int_eq(count(text, "&lt;title&gt;&amp;"), 2);
    ck_assert_ptr_nonnull(strstr(text, "[\"\\u003c/script\\u003e\\u003cb\\u003e\", \"a\\u0022b\\u005c\", "
                                       "\"\\ud83d\\ude42\"]"));
    ck_assert_ptr_nonnull(strstr(text, "\"zz0000i0i0000000zz\""));
    ck_assert_ptr_null(strstr(text, "http://localhost"));
    ck_assert_int_eq(count(text, "src="), 0);
    free(text);
    const gnn_attention_maps_t large = {1000, 1000, 10, three_weights, three_words, one_layer};
    ck_fails(gnn_html_attention(stdout, &large, NULL), GNN_EINVALID, "at most 20000000");
    ck_fails(gnn_html_attention(stdout, NULL, NULL), GNN_EINVALID, "attention is NULL");
}
END_TEST

START_TEST(heavy_edges_are_wide)
{
    static char *text;
    static size_t size;
    gnn_real_t at[] = {0, 0, 1, 0, 0, 1}, weight[] = {1, (gnn_real_t)0.5, 0};
    const int64_t from[] = {0, 1, 2}, to[] = {1, 2, 0}, beyond[] = {1, 2, 3};
    gnn_graph_picture_t p = {gnn_tensor(at, 3, 2), three_words, from, to, weight, 3, "a & b", NULL};
    FILE *file = open_memstream(&text, &size);
    ck_ok(gnn_svg_graph(file, &p));
    fclose(file);
    check_xml(text);
    check_numbers(text);
    ck_assert_int_eq(count(text, "stroke-width=\"6.00\""), 1);
    ck_assert_int_eq(count(text, "stroke-width=\"3.30\""), 1);
    ck_assert_int_eq(count(text, "<path"), 2);
    ck_assert_int_eq(count(text, "&lt;/script&gt;&lt;b&gt;</text>"), 1);
    free(text);
    p.to = beyond;
    ck_fails(gnn_svg_graph(stdout, &p), GNN_EINVALID, "edge 2 from 2 to 3");
    p.points = gnn_tensor(at, 2, 3);
    ck_fails(gnn_svg_graph(stdout, &p), GNN_ESHAPE, "n x 2");
    ck_fails(gnn_svg_graph(NULL, &p), GNN_EINVALID, "file is NULL");
}
END_TEST

/* ---- trees and syntax ---- */

/* By the sum 0-2 (1.1) and 0-1 (1) are heaviest, by the largest 0-1 (1) and 1-2 (0.9). */
START_TEST(spanning_trees_are_maximal)
{
    gnn_graph_t *graph;
    const int64_t n = 3;
    gnn_real_t w[] = {9, 1, (gnn_real_t)0.55, 0, 9, (gnn_real_t)0.9, (gnn_real_t)0.55, 0, 9};
    int64_t from[2], to[2], edges;
    ck_ok(gnn_graph_complete(&graph, 1, &n));
    for (int both = 0; both < 2; both++) {
        int seen = 0;
        ck_ok(gnn__graph_spanning_tree(graph, w, both ? GNN_BOTH_MAX : GNN_BOTH_SUM, from, to,
                                       &edges));
        ck_assert_int_eq(edges, 2);
        for (int k = 0; k < 2; k++)
            seen |= 1 << (from[k] + to[k]);
        ck_assert_int_eq(seen, both ? 1 << 1 | 1 << 3 : 1 << 1 | 1 << 2);
    }
    w[4] = (gnn_real_t)NAN;
    ck_fails(gnn__graph_spanning_tree(graph, w, GNN_BOTH_SUM, from, to, &edges), GNN_ENUMERIC,
             "pair 4");
    ck_fails(gnn__graph_spanning_tree(graph, NULL, GNN_BOTH_SUM, from, to, &edges), GNN_EINVALID,
             "weight is NULL");
    w[4] = 0;
    ck_fails(gnn__graph_spanning_tree(graph, w, (gnn_both_ways_t)7, from, to, &edges), GNN_EINVALID,
             "got 7");
    gnn_graph_free(graph);
}
END_TEST

/* Of four nodes in a ring of light edges, the two with a heavy edge are closest. */
START_TEST(heavy_edges_are_shorter_in_layouts)
{
    gnn_graph_t *graph;
    const int64_t src[] = {0, 1, 2, 3}, dst[] = {1, 2, 3, 0};
    gnn_real_t at[8], weight[] = {20, 1, 1, 1};
    const gnn_tensor_t points = gnn_tensor(at, 4, 2);
    double length[4];
    ck_ok(gnn_graph_from_edges(&graph, 4, 4, 4, src, dst));
    int64_t s[4], d[4];
    ck_ok(gnn_graph_pairs(graph, s, d, NULL));
    for (int k = 0; k < 4; k++)
        weight[k] = s[k] == 0 ? 20 : 1;
    ck_ok(gnn_graph_layout_weighted(graph, weight, 1, &points));
    for (int k = 0; k < 4; k++)
        length[k] = hypot((double)(at[2 * src[k]] - at[2 * dst[k]]),
                          (double)(at[2 * src[k] + 1] - at[2 * dst[k] + 1]));
    for (int k = 1; k < 4; k++)
        ck_assert_double_lt(length[0], length[k]);
    gnn_graph_free(graph);
}
END_TEST

/* Scores by brute force: each word is one token, punctuation is excluded, all trees are tried. */
START_TEST(attachment_scores_match_hand_counts)
{
    opened_t o = open_small();
    gnn_treebank_t *bank;
    gnn_attachment_t *scores;
    gnn_attention_maps_t *a;
    ck_ok(read_bank(&bank, ROW("1", "a", "DET", "3") ROW("2", "bad", "ADJ", "3")
                               ROW("3", "film", "NOUN", "0") ROW("4", "<", "PUNCT", "3")));
    ck_ok(gnn_attachment_new(&scores, o.p, o.context, bank, NULL));
    ck_assert_int_eq(scores->words, 2);
    ck_assert_int_eq(scores->sentences, 1);
    ck_assert_double_eq_tol(scores->right, 0.5, 1e-9);
    ck_assert_double_eq_tol(scores->left, 0, 1e-9);
    ck_assert_double_eq_tol(scores->neighbours, 0.5, 1e-9);
    ck_ok(gnn_attention_of_text(&a, o.p, o.context, "a bad film <", NULL));
    for (int64_t k = 0; k < a->layers * a->heads; k++) {
        const gnn_real_t *w = a->weights + k * 36; /* [CLS] a bad film < [SEP] */
        const double ab = (double)w[6 + 2] + (double)w[12 + 1],
                     af = (double)w[6 + 3] + (double)w[18 + 1],
                     bf = (double)w[12 + 3] + (double)w[18 + 2];
        /* Of three edges the lightest is left out. */
        const double joined = ab <= af && ab <= bf ? 2 : 1;
        const double most = (w[6 + 3] > w[6 + 2]) + (w[12 + 3] > w[12 + 1]);
        ck_assert_double_eq_tol((double)scores->trees.data[k], joined / 2, 1e-6);
        ck_assert_double_eq_tol((double)scores->most.data[k], most / 2, 1e-6);
    }
    gnn_attention_free(a);
    gnn_attachment_free(scores);
    ck_fails(
        gnn_attachment_new(&scores, o.p, o.context, bank, &(gnn_attachment_config_t){.limit = -1}),
        GNN_EINVALID, "got -1");
    gnn_treebank_free(bank);
    gnn_attachment_free(NULL);
    close_small(&o);
}
END_TEST

/* ---- heads that are closed ---- */

static const char *const texts[] = {"a good film", "bad films", "good", "a bad bad film"};
static const int32_t labels[] = {1, 0, 1, 0};
static const gnn_labelled_texts_t task = {{4, texts, NULL}, labels};

static gnn_source_t *source_of(const opened_t *o, int64_t sentences)
{
    gnn_source_t *source;
    ck_ok(gnn_source_of_texts(&source, o->p, &task, &task,
                              &(gnn_text_source_config_t){.sentences = sentences}));
    return source;
}

/* The classifier is initialised to 0, so that heads have no importance: it gets random weights. */
static void set_classes(const opened_t *o)
{
    gnn_tensor_t w;
    ck_ok(gnn_model_field(gnn_pretrained_model(o->p), "classes.weight", &w, NULL));
    for (int64_t k = 0; k < w.rows * w.cols; k++)
        gnn__row(&w, k / w.cols)[k % w.cols] = (gnn_real_t)((k * 7 % 11) - 5) / 8;
}

/* Mean over sentences of the loss, with gates as they are, from the logits alone. */
static double loss_of(const opened_t *o, int64_t sentence, const gnn_real_t *logits)
{
    const double a = (double)logits[2 * sentence], b = (double)logits[2 * sentence + 1],
                 most = a > b ? a : b;
    (void)o;
    return most + log(exp(a - most) + exp(b - most)) - (labels[sentence] ? b : a);
}

/* A gate scales a head's rows of the output matrix: the same model with scaled rows gives the loss
 * at another gate value, and finite differences of it the gradient. */
START_TEST(importance_is_the_gradient_of_gates)
{
    opened_t o = open_small();
    gnn_gates_t *gates;
    double found[2 * LAYERS], batched[2 * LAYERS];
    set_classes(&o);
    ck_ok(gnn_gates_new(&gates, o.context, gnn_pretrained_model(o.p)));
    ck_assert_int_eq(gnn_gates_count(gates), 2 * LAYERS);
    for (int64_t sentences = 1; sentences < 5; sentences += 3) {
        gnn_source_t *source = source_of(&o, sentences);
        ck_ok(gnn_gates_importance(gates, source, GNN_TRAIN, GNN_OFF,
                                   sentences == 1 ? found : batched));
        gnn_source_free(source);
    }
    const double h = GNN_DOUBLE ? 1e-5 : 0.02;
    for (int64_t k = 0; k < 2 * LAYERS; k++) {
        int64_t step, head;
        char name[64];
        gnn_tensor_t w;
        gnn_real_t logits[2][8], before[WIDTH * WIDTH];
        double mean = 0;
        ck_ok(gnn_gates_place(gates, k, &step, &head));
        snprintf(name, sizeof name, "%s.out.weight",
                 gnn_model_step(gnn_pretrained_model(o.p), step)->name);
        ck_ok(gnn_model_field(gnn_pretrained_model(o.p), name, &w, NULL));
        for (int side = 0; side < 2; side++) {
            const gnn_tensor_t out = gnn_tensor(logits[side], 4, 2);
            for (int64_t i = 0; i < WIDTH / 2 * WIDTH; i++) {
                gnn_real_t *at = gnn__row(&w, head * WIDTH / 2 + i / WIDTH) + i % WIDTH;
                before[i] = *at;
                *at *= (gnn_real_t)(side ? 1 + h : 1 - h);
            }
            ck_ok(gnn_pretrained_classify(o.p, o.context, &task.texts, &out));
            for (int64_t i = 0; i < WIDTH / 2 * WIDTH; i++)
                gnn__row(&w, head * WIDTH / 2 + i / WIDTH)[i % WIDTH] = before[i];
        }
        for (int64_t s = 0; s < 4; s++)
            mean += fabs(loss_of(&o, s, logits[1]) - loss_of(&o, s, logits[0])) / (2 * h) / 4;
        ck_assert_double_gt(mean, 1e-4);
        ck_assert_double_eq_tol(found[k], mean, GNN_DOUBLE ? 1e-6 : 3e-3);
        ck_assert_double_eq_tol(found[k], batched[k], GNN_DOUBLE ? 1e-12 : 1e-5);
    }
    int64_t step;
    ck_fails(gnn_gates_place(gates, 4, &step, NULL), GNN_EINVALID, "head 4, expected 0 to 3");
    gnn_gates_free(gates);
    gnn_gates_free(NULL);
    close_small(&o);
}
END_TEST

START_TEST(metrics_with_masked_heads_match)
{
    opened_t o = open_small();
    gnn_gates_t *gates;
    gnn_real_t open[2 * LAYERS] = {1, 1, 1, 1}, logits[8];
    double value, length[LAYERS] = {0}, importance[2 * LAYERS];
    const gnn_tensor_t out = gnn_tensor(logits, 4, 2);
    set_classes(&o);
    gnn_source_t *source = source_of(&o, 3);
    ck_ok(gnn_gates_new(&gates, o.context, gnn_pretrained_model(o.p)));
    ck_ok(gnn_gates_metric(gates, source, GNN_VALIDATION, GNN_METRIC_ROC_AUC, NULL, &value));
    ck_ok(gnn_pretrained_classify(o.p, o.context, &task.texts, &out));
    ck_assert_double_eq_tol(value, gnn_metric(GNN_METRIC_ROC_AUC, &out, labels, NULL), 1e-9);
    /* Without any head, attention puts out its bias alone: the output product's weight does not
     * matter. */
    for (int k = 0; k < 2 * LAYERS; k++)
        open[k] = 0;
    ck_ok(gnn_gates_metric(gates, source, GNN_VALIDATION, GNN_METRIC_ROC_AUC, open, &value));
    for (int k = 0; k < LAYERS; k++) {
        char name[64];
        gnn_tensor_t w;
        snprintf(name, sizeof name, "layer.%d.out.weight", k);
        ck_ok(gnn_model_field(gnn_pretrained_model(o.p), name, &w, NULL));
        for (int64_t r = 0; r < w.rows; r++)
            memset(gnn__row(&w, r), 0, (size_t)w.cols * sizeof *w.data);
    }
    ck_ok(gnn_pretrained_classify(o.p, o.context, &task.texts, &out));
    ck_assert_double_eq_tol(value, gnn_metric(GNN_METRIC_ROC_AUC, &out, labels, NULL), 1e-9);
    ck_ok(gnn_gates_importance(gates, source, GNN_TRAIN, GNN_ON, importance));
    for (int k = 0; k < 2 * LAYERS; k++)
        length[k / 2] += importance[k] * importance[k];
    for (int k = 0; k < LAYERS; k++)
        ck_assert_double_eq_tol(length[k], 1, 1e-6);
    ck_fails(gnn_gates_importance(gates, NULL, GNN_TRAIN, GNN_ON, importance), GNN_EINVALID,
             "source is NULL");
    ck_fails(gnn_gates_metric(gates, source, 3, GNN_METRIC_ACCURACY, NULL, &value), GNN_EINVALID,
             "part = 3, expected GNN_TRAIN");
    gnn_source_free(source);
    gnn_gates_free(gates);
    close_small(&o);
}
END_TEST

START_TEST(models_without_attention_are_refused)
{
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_gates_t *gates = NULL;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_model_new(&model, context, 1, (gnn_layer_config_t[]){GNN_GCN(.in = 3, .out = 2)}));
    ck_fails(gnn_gates_new(&gates, context, model), GNN_EUNSUPPORTED,
             "no layer of the model attends");
    ck_fails(gnn_gates_new(&gates, context, NULL), GNN_EINVALID, "model is NULL");
    gnn_model_free(model);
    gnn_context_free(context);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inspect");
    TCase *c = tcase_create("inspect");
    tcase_add_checked_fixture(c, make_folder, NULL);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, subword_tokens_merge_into_words);
    tcase_add_test(c, texts_have_attention);
    tcase_add_test(c, one_sentence_is_expected);
    tcase_add_test(c, the_grid_shows_every_head);
    tcase_add_test(c, the_page_holds_any_word);
    tcase_add_test(c, heavy_edges_are_wide);
    tcase_add_test(c, spanning_trees_are_maximal);
    tcase_add_test(c, heavy_edges_are_shorter_in_layouts);
    tcase_add_test(c, attachment_scores_match_hand_counts);
    tcase_add_test(c, importance_is_the_gradient_of_gates);
    tcase_add_test(c, metrics_with_masked_heads_match);
    tcase_add_test(c, models_without_attention_are_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
