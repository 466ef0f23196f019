// A graph attention network on arrays of one's own, and the same attention over a sentence: the
// program of examples/own_data.c in C++ (docs/cpp.md).
//
// The arrays are drawn: 300 people in three groups, who mostly know people of their own group, and
// whose features say little about it.
#include <gnn/gnn.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace
{

constexpr int people = 300, links = 900, width = 8, groups = 3;

struct drawn {
    std::vector<int32_t> from, to, group; // int32_t or int64_t, whichever a program has
    std::vector<gnn_real_t> closeness;
    gnn::matrix features{people, width};
    std::vector<bool> train, validation, test;

    drawn() : group(people), train(people), validation(people), test(people)
    {
        std::mt19937 random(1);
        const auto below = [&](int n) {
            return static_cast<int>(random() % static_cast<unsigned>(n));
        };
        for (int i = 0; i < people; i++) {
            group[static_cast<std::size_t>(i)] = i % groups;
            for (int f = 0; f < width; f++)
                features(i, f) =
                    static_cast<gnn_real_t>(below(100) + (f == i % groups ? 30 : 0)) / 100;
            (i < 30 ? train : i < 100 ? validation : test)[static_cast<std::size_t>(i)] = true;
        }
        for (int k = 0; k < links; k++) {
            const int a = below(people), stranger = below(people),
                      own = (a + groups * below(people / groups)) % people;
            from.push_back(a);
            to.push_back(below(10) < 8 ? own : stranger);
            closeness.push_back(static_cast<gnn_real_t>(1 + below(9)) / 10);
        }
    }
};

gnn::data make_data(const drawn &d)
{
    const gnn::split split = gnn::split::from_masks(d.train, d.validation, d.test);
    return gnn::data(gnn::data_config()
                         .name("people")
                         .nodes(people)
                         .edges(d.from, d.to)
                         .both_ways()
                         .weight(d.closeness)
                         .x(d.features)
                         .labels(d.group)
                         .split(split));
}

double classify(gnn::context &context, gnn::data &data)
{
    gnn::steps steps; // "weight" is the set's edge array, which multiplies the messages
    steps
        .add(gnn::step(gnn::gat().in(width).out(8).heads(4).activation(GNN_ELU)).edge_weight("weight"))
        .add(gnn::step(gnn::gat().in(32).out(groups)).edge_weight("weight"));
    gnn::model gat(context, steps);
    gat.train(context, data,
              gnn::train_config().epochs(100).optimizer(gnn::optimizer_config().lr(0.01)));
    return gat.evaluate(context, data, GNN_TEST);
}

// Every word attends to every word: the same layer type on a complete graph.
double attend(gnn::context &context)
{
    const int64_t words = 12;
    gnn::graph sentence = gnn::graph::complete({words});
    gnn::layer layer(context, gnn::transformer().in(64).heads(4).feed_forward(128));
    layer.prepare(sentence);
    gnn::matrix x(words, 64);
    for (int64_t r = 0; r < words; r++)
        for (int64_t c = 0; c < 64; c++)
            x(r, c) = static_cast<gnn_real_t>(std::sin(static_cast<double>(r * 64 + c)));
    const gnn::matrix y = layer.forward(context, sentence, x);
    double squares = 0;
    for (const gnn_real_t value : y.values())
        squares += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squares / static_cast<double>(y.rows() * y.cols()));
}

} // namespace

int main()
{
    try {
        gnn::context context;
        gnn::data data = make_data(drawn());
        std::printf("%s\n", data.describe().c_str());
        std::printf("test accuracy %.1f\n", 100 * classify(context, data));
        std::printf("12 words attended: root mean square %.3f\n", attend(context));
    } catch (const gnn::error &failed) {
        std::fprintf(stderr, "gat: %s: %s\n", gnn_error_string(failed.code()), failed.what());
        return 1;
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
