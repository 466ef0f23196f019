#!/bin/sh
# The recipes of docs/guide.md compile together and run; the samples of docs/cpp.md compile and run one by one.
set -u
root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=$(CDPATH='' cd -- "${1:-$root/build}" && pwd) || exit 2
cc=${CC:-cc}
command -v "${cc%% *}" >/dev/null 2>&1 || cc=gcc
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root" || exit 2

. "$root/tests/expect.sh"

recipes=$(grep -cE '^## [0-9]+\. ' docs/guide.md)
awk '/^```c$/ { inside = 1; next } /^```$/ { if (inside) print ""; inside = 0 } inside' docs/guide.md >"$work/guide.c"
cat >>"$work/guide.c" <<'C'
#include <math.h>
#include <stdio.h>

#define SAY(what, ...)                          \
    do {                                        \
        int said = (what);                      \
        if (said != GNN_OK) {                   \
            printf("%s: %s\n", #what, gnn_error_message()); \
            return 1;                           \
        }                                       \
    } while (0)
#define HOLD(what)                              \
    do {                                        \
        if (!(what)) {                          \
            printf("not so: %s\n", #what);      \
            return 1;                           \
        }                                       \
    } while (0)

/* Two groups of eight nodes; a node hears those of its own group, and its features hint at the group. */
enum { N = 16, M = N * 7, D = 4 };

int main(int argc, char **argv)
{
    static int64_t src[M], dst[M];
    static gnn_real_t features[N * D], logits[N * 2], rows[N * 64], ones[D], targets[M], grad[N * D], loss;
    int32_t labels[N];
    uint8_t train[N] = {0}, rest[N] = {0};
    int64_t m = 0;
    for (int i = 0; i < N; i++) {
        labels[i] = i / 8;
        (i % 8 < 3 ? train : rest)[i] = 1;
        for (int k = 0; k < D; k++)
            features[i * D + k] = (gnn_real_t)sin(i * D + k) + (gnn_real_t)(k == labels[i]);
        for (int j = 0; j < N; j++)
            if (j != i && j / 8 == labels[i]) {
                src[m] = j;
                dst[m++] = i;
            }
    }
    gnn_context_t *context;
    gnn_model_t *model;
    gnn_graph_t *graph;
    gnn_tensor_t x = gnn_tensor(features, N, D), out = gnn_tensor(logits, N, 2), wide = gnn_tensor(rows, N, 64);
    SAY(reproducible(&context));
    SAY(train_own(&model, context, N, M, src, dst, &x, 2, labels, train, rest));
    SAY(gnn_graph_from_edges(&graph, N, N, M, src, dst));
    SAY(gnn_model_prepare(model, 0, graph, GNN_OFF));
    HOLD(argc == 5);
    SAY(gnn_model_save(model, argv[2]));
    gnn_model_free(model);
    gnn_graph_free(graph);
    SAY(gnn_graph_from_edges(&graph, N, N, M, src, dst));
    SAY(load(&model, context, argv[2], graph));
    SAY(serve(model, graph, &x, &out));
    HOLD(gnn_metric(GNN_METRIC_ACCURACY, &out, labels, NULL) > 0.9);
    SAY(embed(model, context, graph, &x, &wide));
    HOLD(isfinite(rows[0]) && rows[0] != rows[8 * 64]);
    gnn_model_free(model);

    const int64_t lengths[] = {8, 8};
    gnn_graph_t *readout;
    SAY(classifier(&model, context, D, 3));
    SAY(readout_graph(&readout, 2, lengths));
    SAY(gnn_model_prepare(model, 0, graph, GNN_OFF));
    SAY(gnn_model_prepare(model, 1, readout, GNN_OFF));
    gnn_tensor_t classes = gnn_tensor(logits, 2, 3);
    SAY(gnn_model_forward(model, context, &(gnn_model_inputs_t){(const gnn_graph_t *[]){graph, readout}, 2,
        &(gnn_named_t){.name = "x", .dense = &x}, 1}, &classes));
    HOLD(isfinite(logits[5]));
    gnn_model_free(model);
    gnn_graph_free(readout);

    gnn_tape_t *tape;
    for (int k = 0; k < D; k++)
        ones[k] = 1;
    for (int k = 0; k < M; k++)
        targets[k] = 1;
    gnn_tensor_t one = gnn_tensor(ones, 1, D), wanted = gnn_tensor(targets, M, 1), bound = gnn_tensor(&loss, 1, 1);
    SAY(gnn_graph_prepare(graph, &(gnn_view_t){.backward = GNN_ON}));
    SAY(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, 1, 0);
    gnn_var_t h = gnn_tape_input(tape, &x, 1), l = link_loss(tape, tape_square(tape, h), graph, &one, &wanted);
    gnn_tape_bind(tape, l, &bound);
    SAY(gnn_tape_forward(tape));
    SAY(gnn_tape_backward(tape, l, NULL));
    gnn_tensor_t g = gnn_tape_gradient(tape, h);
    double before = (double)loss, slope = 0, step = GNN_DOUBLE ? 1e-6 : 1e-2;
    for (int k = 0; k < N * D; k++) {
        grad[k] = g.data[k / D * g.stride + k % D];
        slope += (double)grad[k] * (double)grad[k];
    }
    for (int k = 0; k < N * D; k++)
        features[k] -= (gnn_real_t)step * grad[k];
    SAY(gnn_tape_forward(tape));
    HOLD(fabs((before - (double)loss) / (step * slope) - 1) < 0.1);
    gnn_tape_free(tape);
    double of_edge[M], sum = 0;
    const int64_t seeds[] = {3, 12};
    for (int e = 0; e < M; e++)
        of_edge[e] = 1;
    SAY(sum_of_sample(context, graph, "neighbours", 2, seeds, of_edge, &sum));
    HOLD(sum == 2 * 3 + (2 * 3 + 2) * 2); /* the outer hop draws for the seeds, too */
    list_tables(stdout);
    gnn_layer_t *named;
    SAY(layer_of(&named, context, "additive", "linear"));
    gnn_layer_free(named);
    HOLD(layer_of(&named, context, "none such", "linear") == GNN_EINVALID && !gnn_op_find("none such") && gnn_op_find("inverse"));
    gnn_graph_free(graph);
    /* The word "not" turns the label of a sentence around, wherever it stands. */
    static char text[2][300][64];
    const char *labels_of[2][300], *sentences[2][300];
    unsigned state = 1;
    for (int part = 0; part < 2; part++)
        for (int s = 0; s < 300; s++) {
            const char *const fill[] = {"the", "film", "was", "really", "so"};
            const char *const moods[] = {"bad", "good"};
            unsigned draw[5];
            for (int k = 0; k < 5; k++)
                draw[k] = (state = state * 1664525u + 1013904223u) >> 16;
            int mood = draw[0] % 2, negated = draw[1] % 2;
            snprintf(text[part][s], sizeof text[part][s], "%s %s %s %s", fill[draw[2] % 5], negated ? "not" : fill[draw[3] % 5],
                     moods[mood], fill[draw[4] % 5]);
            sentences[part][s] = text[part][s];
            labels_of[part][s] = mood ^ negated ? "up" : "down";
        }
    gnn_corpus_t *train_corpus, *held_out;
    double accuracy;
    SAY(gnn_corpus_new(&train_corpus, 300, labels_of[0], sentences[0], NULL));
    SAY(gnn_corpus_new(&held_out, 300, labels_of[1], sentences[1], NULL));
    gnn_vocabulary_t *words;
    const char *label;
    SAY(learn_to_read(context, train_corpus, held_out, &model, &words, &accuracy));
    HOLD(accuracy > 0.95);
    SAY(classify(context, model, words, "so was bad film", &label));
    HOLD(label[0] == 'd');
    SAY(classify(context, model, words, "film not bad really", &label));
    HOLD(label[0] == 'u');
    gnn_model_free(model);
    gnn_vocabulary_free(words);
    gnn_corpus_free(train_corpus);
    gnn_corpus_free(held_out);
    SAY(learn_graphs(context, &accuracy));
    HOLD(accuracy > 0.8);
    HOLD(write_on(context, argv[1], &(gnn_texts_t){.count = 1, .at = (const char *[]){"once"}}, stdout) == GNN_EIO);
    gnn_data_t *two_groups;
    gnn_split_t *halves;
    SAY(gnn_split_from_masks(&halves, N, 1, train, rest, NULL));
    SAY(gnn_data_new(&two_groups, &(gnn_data_config_t){.nodes = N, .edges = M, .src = gnn_ints(src), .dst = gnn_ints(dst), .x = &x,
        .labels = gnn_ints(labels), .classes = 2, .split = halves}));
    gnn_split_free(halves);
    SAY(train_on_samples(&model, context, two_groups));
    SAY(gnn_model_prepare(model, 0, (gnn_graph_t *)gnn_data_graph(two_groups), GNN_OFF));
    SAY(gnn_predict_layers(model, context, two_groups, 5, &out));
    HOLD(gnn_metric(GNN_METRIC_ACCURACY, &out, labels, NULL) > 0.9);
    gnn_model_free(model);
    gnn_data_free(two_groups);
    HOLD(import_gcn(&model, context, argv[1]) == GNN_EIO);
    /* What PyG computed (tests/pyg/modules.py). */
    gnn_arrays_t *saved;
    static gnn_real_t of_saved[29 * 6], traced_out[29 * 4];
    static int64_t ends[2][1000];
    SAY(gnn_npz_read(&saved, argv[4], NULL));
    const gnn_array_t *pairs = gnn_arrays_find(saved, "edge_index"), *y = gnn_arrays_find(saved, "y");
    HOLD(pairs->shape[1] <= 1000 && gnn_arrays_find(saved, "x")->count == 29 * 6 && y->count == 29 * 4);
    for (int64_t k = 0; k < pairs->count; k++)
        ends[k / pairs->shape[1]][k % pairs->shape[1]] = (int64_t)gnn_array_get(pairs, k);
    for (int64_t k = 0; k < 29 * 6; k++)
        of_saved[k] = (gnn_real_t)gnn_array_get(gnn_arrays_find(saved, "x"), k);
    gnn_tensor_t nodes = gnn_tensor(of_saved, 29, 6), scores = gnn_tensor(traced_out, 29, 4);
    SAY(traced(context, argv[3], &(gnn_edge_list_t){.n_dst = 29, .n_src = 29, .n_edges = pairs->shape[1], .src = gnn_ints(ends[0]), .dst = gnn_ints(ends[1])},
        &nodes, &scores));
    for (int k = 0; k < 29 * 4; k++)
        HOLD(fabs((double)traced_out[k] - gnn_array_get(y, k)) < 1e-4);
    gnn_arrays_free(saved);
    gnn_context_free(context);
    return 0;
}
C
compile() {
    # shellcheck disable=SC2086 # the compiler may have a wrapper before it
    $cc -std=c17 -Wall -Wextra -Werror -Wno-missing-field-initializers -I"$root/include" -I"$build/include" "$work/guide.c" -o "$work/guide" \
        -L"$build" -lgnn -lm -Wl,-rpath,"$build"
}
expect "fourteen recipes were found" test "$recipes" -eq 14
expect "the recipes of docs/guide.md compile" compile || finish
expect "the recipes of docs/guide.md run" "$work/guide" "$work/none.safetensors" "$work/guide.safetensors" \
    "$root/tests/pyg/modules/gat.safetensors" "$root/tests/pyg/modules/gat.npz"

# ---- docs/cpp.md: each sample is the body of a function, among the names that the page takes for granted ----
samples=$(grep -c '^```cpp$' docs/cpp.md)
{
    cat <<'CPP'
#include <gnn/gnn.hpp>

#include <cstdio>
#include <vector>

const int64_t n = 60, length = 4;
gnn_view_t view{};
std::vector<int32_t> src, dst, y(n);
std::vector<gnn_real_t> w;
gnn::matrix features(n, 1433);
std::vector<bool> train(n), validation(n), test(n);

CPP
    awk '/^```cpp$/ { inside = 1; print "void sample_" ++count "()\n{"; next } /^```$/ { if (inside) print "}\n"; inside = 0 } inside { print "    " $0 }' docs/cpp.md
    cat <<'CPP'
int main()
{
    for (int i = 0; i < n; i++) {
        y[i] = i % 7;
        features(i, i % 7) = 1;
        (i < 20 ? train : i < 40 ? validation : test)[i] = true;
        for (int step = 7; step <= 21; step += 7) {
            src.push_back(i);
            dst.push_back(int32_t((i + step) % n));
            w.push_back(1);
        }
    }
    try {
        gnn::data cora(gnn::data_config().nodes(n).edges(src, dst).x(features).labels(y).split(
            gnn::split::from_masks(train, validation, test)));
        gnn::check(gnn_data_save(cora, "cora.npz"));
CPP
    for sample in $(seq "$samples"); do
        echo "        sample_$sample();"
    done
    cat <<'CPP'
    } catch (const gnn::error &failed) {
        std::puts(failed.what());
        return 1;
    }
    return std::remove("cora.npz") | std::remove("gat.safetensors");
}
CPP
} >"$work/samples.cpp"
compile_samples() {
    # shellcheck disable=SC2086 # the compiler may have a wrapper before it
    $cxx -std=c++17 -Wall -Wextra -Wshadow -Wno-unused-variable -Werror -I"$root/include" -I"$build/include" "$work/samples.cpp" -o "$work/samples" \
        -L"$build" -lgnn -Wl,-rpath,"$build"
}
run_samples() (
    cd "$work" && ./samples
)
cxx=${CXX:-g++}
command -v "${cxx%% *}" >/dev/null 2>&1 || cxx=clang++
if command -v "${cxx%% *}" >/dev/null 2>&1; then
    expect "docs/cpp.md has samples" test "$samples" -ge 4
    expect "the samples of docs/cpp.md compile" compile_samples || finish
    expect "the samples of docs/cpp.md run" run_samples
else
    echo "SKIP guide_cpp: no C++ compiler (g++ or clang++)"
fi
finish
