// gnn.hpp: handles, chains, arrays of containers, errors as exceptions; results are those of the C
// interface.
#include <gnn/gnn.hpp>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>

namespace
{

int passed, failed;

void test(const char *name, const std::function<void()> &body)
{
    try {
        body();
        passed++;
    } catch (const std::exception &fault) {
        std::printf("%s: %s\n", name, fault.what());
        failed++;
    }
}

void hold(bool condition, const char *words)
{
    if (!condition)
        throw std::runtime_error(words);
}
#define HOLD(condition) hold(condition, #condition)

void refuses(int code, const char *words, const std::function<void()> &call)
{
    try {
        call();
    } catch (const gnn::error &refused) {
        if (refused.code() == code && std::strstr(refused.what(), words))
            return;
        throw std::runtime_error(std::to_string(refused.code()) + ", " + refused.what() +
                                 ", expected " + std::to_string(code) + ", " + words);
    }
    throw std::runtime_error(std::string("taken without \"") + words + "\"");
}

void handles_move_and_free()
{
    static_assert(!std::is_copy_constructible_v<gnn::graph>);
    static_assert(std::is_nothrow_move_constructible_v<gnn::model>);
    gnn::graph a = gnn::graph::causal({3}), b = std::move(a);
    HOLD(!a && b && b.n_dst() == 3 && gnn_graph_n_pairs(b) == 6);
    a = std::move(b);
    HOLD(a && !b);
    HOLD(gnn_graph_prepare(a, nullptr) == GNN_EINVALID); // as in C
    const int64_t length = 2;
    HOLD(gnn_graph_complete(a.out(), 1, &length) == GNN_OK && a.n_src() == 2);
    gnn_graph_t *mine = a.release();
    HOLD(!a);
    gnn::graph again(mine);
    again.reset();
}

void empty_handles_are_errors()
{
    const gnn::graph graph;
    const gnn::data data;
    const gnn::model model;
    const gnn::layer layer;
    gnn::context context;
    gnn::matrix x(3, 2);
    refuses(GNN_EINVALID, "empty handle", [&] { graph.n_dst(); });
    refuses(GNN_EINVALID, "empty handle", [&] { data.features(); });
    refuses(GNN_EINVALID, "empty handle", [&] { data.describe(); });
    refuses(GNN_EINVALID, "empty handle", [&] { model.predict(context, data); });
    refuses(GNN_EINVALID, "empty handle", [&] { layer.forward(context, graph, x); });
    refuses(GNN_ENOTFOUND, "maxx", [&] { gnn::gat().aggregator(gnn_aggregator_find("maxx")); });
    refuses(GNN_ENOTFOUND, "dott", [&] { gnn::gat().score(gnn_score_find("dott")); });
}

void errors_are_exceptions()
{
    refuses(GNN_EINVALID, "threads", [] { gnn::context(gnn::context_config().threads(-1)); });
    refuses(GNN_EIO, "nosuch", [] { gnn::data::open("nosuch.npz"); });
    gnn::context context;
    refuses(GNN_EINVALID, "heads", [&] { gnn::layer(context, gnn::gat().in(4).heads(-1)); });
    try {
        gnn::check(gnn_graph_complete(nullptr, -1, nullptr));
        hold(false, "an error went by");
    } catch (const std::runtime_error &) {
    }
}

void chains_set_the_fields_of_their_structs()
{
    gnn_layer_config_t plain{};
    plain.preset = GNN_PRESET_GAT;
    plain.in = 1433;
    plain.heads = 8;
    plain.activation = GNN_ELU;
    plain.residual = GNN_ON;
    plain.bias_out = GNN_OFF;
    plain.dropout = static_cast<gnn_real_t>(0.6);
    plain.message = &gnn_message_none;
    plain.options[0] = 0.5;
    plain.options[1] = 2;
    const gnn::layer_config chain = gnn::gat()
                                        .in(1433)
                                        .heads(std::size_t{8})
                                        .activation(GNN_ELU)
                                        .residual(true)
                                        .bias_out(GNN_OFF)
                                        .dropout(0.6)
                                        .message(&gnn_message_none)
                                        .options(0.5, 2);
    HOLD(std::memcmp(&chain.c(), &plain, sizeof plain) == 0);
    gnn_layer_config_t resolved;
    gnn::check(gnn_layer_config_resolve(&resolved, &gnn::gat().in(4).slope(0).c()));
    HOLD(std::abs(static_cast<double>(resolved.slope)) < 1e-30); // a 0 that is written is meant
    const gnn::train_config how = gnn::train_config()
                                      .epochs(3)
                                      .optimizer(gnn::optimizer_config().lr(0.01))
                                      .schedule(gnn::schedule().warmup(2))
                                      .targets("y");
    HOLD(how.c().epochs == 3 && how.c().schedule.warmup == 2 &&
         std::strcmp(how.c().targets, "y") == 0);
    const gnn::step step = gnn::step(gnn::gcn().in(3)).edge_weight("weight").graph(1);
    HOLD(step.c().layer.preset == GNN_PRESET_GCN && step.c().graph == 1);
    const gnn::block block = gnn::block().name("b").graphs(1, 2).layer(chain);
    HOLD(block.c().graphs[1] == 2 && block.c().layer.heads == 8);
}

// Every preset has a function of its name.
void presets_have_functions()
{
    const gnn::layer_config all[] = {gnn::gcn(),
                                     gnn::sage(),
                                     gnn::gin(),
                                     gnn::gine(),
                                     gnn::gat(),
                                     gnn::gatv2(),
                                     gnn::transformer_conv(),
                                     gnn::resgated(),
                                     gnn::gated_graph(),
                                     gnn::transformer()};
    static_assert(sizeof all / sizeof *all == GNN_PRESET_COUNT - 1, "a preset has no function");
    for (int k = 1; k < GNN_PRESET_COUNT; k++)
        HOLD(static_cast<int>(all[k - 1].c().preset) == k);
}

void graphs_take_either_type_of_index()
{
    const std::vector<int32_t> indptr32{0, 1, 3}, indices32{1, 0, 1};
    const std::vector<int64_t> indptr64{0, 1, 3};
    const std::array<int64_t, 3> indices64{1, 0, 1};
    const gnn::graph made[] = {
        gnn::graph::from_csr(2, indptr32, indices32), gnn::graph::from_csr(2, indptr32, indices64),
        gnn::graph::from_csr(2, indptr64, indices32), gnn::graph::from_csr(2, indptr64, indices64),
        gnn::graph::from_edges(2, 2, indices64, std::vector<int32_t>{0, 1, 1})};
    for (const gnn::graph &g : made) {
        int64_t src[3], dst[3];
        gnn::check(gnn_graph_pairs(g, src, dst, nullptr));
        HOLD(src[0] == 1 && src[1] == 0 && src[2] == 1 && dst[0] == 0 && dst[1] == 1 && dst[2] == 1);
    }
    gnn_graph_t *raw;
    HOLD(gnn_graph_from_csr(&raw, 2, 2, indptr32.data(), indices64.data()) == GNN_OK);
    gnn_graph_free(raw);
    refuses(GNN_ESHAPE, "ends with 3, there are 2", [&] {
        gnn::graph::from_csr(2, indptr32, std::vector<int32_t>{0, 1});
    });
    refuses(GNN_ESHAPE, "3 senders and 1 receivers",
            [&] { gnn::graph::from_edges(2, 2, indices32, std::vector<int64_t>{0}); });
    static_assert(!std::is_constructible_v<gnn::ints, std::vector<float>>);
    static_assert(!std::is_constructible_v<gnn_ints_t, const float *>);
}

void splits_take_masks_and_indices()
{
    const std::vector<bool> train{true, false, false};
    const std::array<bool, 3> validation{false, true, false};
    const std::vector<uint8_t> test{0, 0, 1};
    const gnn::split by_mask = gnn::split::from_masks(train, validation, test);
    const gnn::split by_index = gnn::split::from_indices(
        3, std::vector<int64_t>{0}, std::vector<int32_t>{1}, std::vector<int32_t>{2});
    for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
        HOLD(std::memcmp(gnn_split_mask(by_mask, part, 0), gnn_split_mask(by_index, part, 0), 3) == 0);
    HOLD(gnn_split_mask(by_mask, GNN_VALIDATION, 0)[1] == 1);
    refuses(GNN_ESHAPE, "a mask of 2 for 3 rows", [&] {
        gnn::split::from_masks(train, std::vector<bool>{true, false});
    });
    refuses(GNN_EINVALID, "rows[0] = 3",
            [] { gnn::split::from_indices(3, std::vector<int64_t>{3}); });
    const std::vector<int64_t> labels{0, 0, 1, 1, 0, 1};
    const gnn::split folds = gnn::split::folds(labels, 3);
    HOLD(gnn_split_mask(folds, GNN_TEST, 2) != nullptr &&
         gnn_split_mask(folds, GNN_TEST, 3) == nullptr);
    const gnn::split drawn = gnn::split::draw(labels, gnn::split_rule().train_each(1).splits(2));
    HOLD(gnn_split_mask(drawn, GNN_TEST, 2) == nullptr && gnn_split_rows(drawn) == 6);
}

struct ring {
    std::vector<int64_t> src, dst;
    std::vector<int32_t> labels;
    gnn::matrix x{20, 3};
    std::vector<bool> train, test;

    ring()
    {
        for (int i = 0; i < 20; i++) {
            src.push_back(i);
            dst.push_back((i + 1) % 20);
            labels.push_back(i / 10);
            x(i, i / 10) = 1;
            train.push_back(i % 2 == 0);
            test.push_back(i % 2 == 1);
        }
    }
};

gnn::data ring_set(const ring &r)
{
    const gnn::split split = gnn::split::from_masks(r.train, r.test, r.test);
    return gnn::data(
        gnn::data_config().nodes(20).edges(r.src, r.dst).both_ways().x(r.x).labels(r.labels).split(split));
}

void a_model_learns_as_in_c()
{
    const ring r;
    double accuracy[2];
    gnn_train_result_t result[2];
    for (int k = 0; k < 2; k++) {
        gnn::context context(gnn::context_config().threads(1).seed(3));
        gnn::data data = ring_set(r);
        gnn::model model(context, {gnn::gat().in(3).out(4).heads(2).activation(GNN_ELU),
                                   gnn::gat().in(8).out(2)});
        if (k == 0) {
            result[k] = model.train(
                context, data,
                gnn::train_config().epochs(30).optimizer(gnn::optimizer_config().lr(0.05)));
            accuracy[k] = model.evaluate(context, data, GNN_TEST);
            HOLD(model.predict(context, data).cols() == 2);
        } else {
            gnn_train_config_t how{};
            how.epochs = 30;
            how.optimizer.lr = static_cast<gnn_real_t>(0.05);
            gnn::check(gnn_train(model, context, data, &how, &result[k]));
            gnn::check(
                gnn_evaluate(model, context, data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy[k]));
        }
    }
    HOLD(std::memcmp(&result[0].train_loss, &result[1].train_loss, sizeof(double)) == 0);
    HOLD(accuracy[0] > 0.89 && std::memcmp(&accuracy[0], &accuracy[1], sizeof(double)) == 0);
}

void sizes_of_arrays_are_checked()
{
    const ring r;
    const std::vector<int32_t> few{0, 1};
    refuses(GNN_ESHAPE, "labels: 2 values, 20 are expected",
            [&] { gnn::data(gnn::data_config().nodes(20).labels(few)); });
    refuses(GNN_ESHAPE, "the features have 20 rows, the graph has 19",
            [&] { gnn::data(gnn::data_config().nodes(19).x(r.x)); });
    refuses(GNN_ESHAPE, "a view of 2 x 2 of 3", [] {
        gnn::view(std::vector<gnn_real_t>{1, 2, 3}, 2, 2);
    });
    gnn::graph graph = gnn::graph::complete({4});
    gnn::data of_graph(std::move(graph), gnn::data_config());
    HOLD(!graph && of_graph.nodes() == 4);
}

void a_layer_runs_on_a_sentence()
{
    gnn::context context;
    gnn::graph sentence = gnn::graph::complete({5, 2});
    gnn::layer layer(context, gnn::transformer().in(8).heads(2).feed_forward(16));
    refuses(GNN_ESHAPE, "", [&] { layer.forward(context, sentence, gnn::matrix(7, 9)); });
    layer.prepare(sentence);
    gnn::matrix x(7, 8);
    for (int64_t r = 0; r < 7; r++)
        x(r, r) = 1;
    const gnn::matrix y = layer.forward(context, sentence, x);
    std::vector<gnn_real_t> expected(7 * 8);
    const gnn_tensor_t to = gnn::view(expected, 7, 8), from = x.tensor();
    gnn_inputs_t inputs{};
    inputs.x_src = &from;
    gnn::check(gnn_layer_forward(layer, context, sentence, &inputs, &to));
    HOLD(y.rows() == 7 && y.cols() == 8 && y.values() == expected);
}

void steps_and_blocks_make_a_model()
{
    gnn::context context;
    gnn::steps steps;
    steps.add(gnn::step(gnn::gcn().in(3).out(4)).name("first"))
        .add("jumping_knowledge", gnn::block().name("jk").hops(2).layer(gnn::gin().in(4).out(4)))
        .add(gnn::step().kind(GNN_STEP_LINEAR).in(8).out(2));
    gnn::model model(context, steps);
    HOLD(gnn_model_find(model, "first") == 0 && gnn_model_find(model, "jk") > 0);
    refuses(GNN_ENOTFOUND, "nosuch", [] { gnn::steps().add("nosuch", gnn::block().name("x")); });
}

} // namespace

int main()
{
#define TEST(name) test(#name, name)
    TEST(handles_move_and_free);
    TEST(empty_handles_are_errors);
    TEST(errors_are_exceptions);
    TEST(chains_set_the_fields_of_their_structs);
    TEST(presets_have_functions);
    TEST(graphs_take_either_type_of_index);
    TEST(splits_take_masks_and_indices);
    TEST(a_model_learns_as_in_c);
    TEST(sizes_of_arrays_are_checked);
    TEST(a_layer_runs_on_a_sentence);
    TEST(steps_and_blocks_make_a_model);
    std::printf("CHECKS %d %d\n", passed, failed);
    return failed != 0;
}
