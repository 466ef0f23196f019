/**
 * libgnn for C++17 and later: handles that free themselves, configs that are written as chains, and
 * errors as exceptions. Header only; a program links the same library as in C (docs/cpp.md).
 *
 *     gnn::context context;
 *     gnn::data cora = gnn::data::open("cora.npz");
 *     gnn::model gat(context,
 *                    {gnn::gat().in(1433).out(8).heads(8).activation(GNN_ELU).dropout(0.6),
 *                     gnn::gat().in(64).out(7).dropout(0.6)});
 *     gat.train(context, cora,
 *               gnn::train_config().optimizer(gnn::optimizer_config().lr(0.005)).patience(100));
 *     double accuracy = gat.evaluate(context, cora, GNN_TEST, GNN_METRIC_ACCURACY);
 *
 * A handle converts to the pointer that C functions take, so that every function of gnn/gnn.h can
 * be called. To use it without exceptions, fill handles through C functions and check their codes:
 * `gnn::graph g; int code = gnn_graph_causal(g.out(), 1, &n);`.
 */
#ifndef GNN_GNN_HPP
#define GNN_GNN_HPP

#include <gnn/gnn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace gnn {

/* ---- errors ---- */

/** A call that failed: what() is gnn_error_message(), code() one of GNN_E... */
class error : public std::runtime_error {
public:
    explicit error(int code) : std::runtime_error(words(code)), code_(code) {}
    error(int code, const std::string &message) : std::runtime_error(message), code_(code) {}
    int code() const noexcept { return code_; }

private:
    static std::string words(int code)
    {
        const char *message = gnn_error_message();
        return *message ? message : gnn_error_string(code);
    }
    int code_;
};

/** Throws gnn::error where a call of the C interface failed: gnn::check(gnn_data_reorder(data)). */
inline void check(int code)
{
    if (code != GNN_OK)
        throw error(code);
}

namespace detail {
inline void expect(bool holds, const std::string &message, int code = GNN_ESHAPE)
{
    if (!holds)
        throw error(code, message);
}
inline int64_t count_of(std::size_t size) noexcept
{
    return static_cast<int64_t>(size);
}
template <typename T> T *given(T *pointer, const char *what)
{
    expect(pointer != nullptr, std::string(what) + " is NULL, or an empty handle", GNN_EINVALID);
    return pointer;
}
} // namespace detail

/* ---- handles ---- */

/** Owns what a constructor of the C interface made, and frees it; moves, and is not copied. */
template <typename T, void (*Free)(T *)> class handle {
public:
    handle() noexcept = default;
    explicit handle(T *owned) noexcept : pointer_(owned) {}
    handle(handle &&from) noexcept : pointer_(from.release()) {}
    handle &operator=(handle &&from) noexcept
    {
        reset(from.release());
        return *this;
    }
    handle(const handle &) = delete;
    handle &operator=(const handle &) = delete;
    ~handle() { Free(pointer_); }

    T *get() const noexcept { return pointer_; }
    operator T *() const noexcept { return pointer_; }
    explicit operator bool() const noexcept { return pointer_ != nullptr; }
    /** Hands the object over: it is the caller's from here on. */
    T *release() noexcept { return std::exchange(pointer_, nullptr); }
    void reset(T *owned = nullptr) noexcept { Free(std::exchange(pointer_, owned)); }
    /** For constructors of the C interface: frees what is there and is the place for another. */
    T **out() noexcept
    {
        reset();
        return &pointer_;
    }

protected:
    /** For functions that report no error: throws where the handle is empty. */
    T *held() const { return detail::given(pointer_, "the object"); }

    T *pointer_ = nullptr;
};

/* Types of which a program needs no more than that they free themselves. */
#define GNN_HPP_HANDLE(name, type, free)           \
    class name : public handle<type, free> {       \
    public:                                        \
        using handle::handle;                      \
    };
GNN_HPP_HANDLE(answers, gnn_answers_t, gnn_answers_free)
GNN_HPP_HANDLE(arrays, gnn_arrays_t, gnn_arrays_free)
GNN_HPP_HANDLE(attachment, gnn_attachment_t, gnn_attachment_free)
GNN_HPP_HANDLE(attention_maps, gnn_attention_maps_t, gnn_attention_free)
GNN_HPP_HANDLE(corpus, gnn_corpus_t, gnn_corpus_free)
GNN_HPP_HANDLE(decoder, gnn_decoder_t, gnn_decoder_free)
GNN_HPP_HANDLE(explanation, gnn_explanation_t, gnn_explanation_free)
GNN_HPP_HANDLE(fills, gnn_fills_t, gnn_fills_free)
GNN_HPP_HANDLE(gates, gnn_gates_t, gnn_gates_free)
GNN_HPP_HANDLE(hetero_sample, gnn_hetero_sample_t, gnn_hetero_sample_free)
GNN_HPP_HANDLE(hetero_sampler, gnn_hetero_sampler_t, gnn_hetero_sampler_free)
GNN_HPP_HANDLE(links, gnn_links_t, gnn_links_free)
GNN_HPP_HANDLE(negatives, gnn_negatives_t, gnn_negatives_free)
GNN_HPP_HANDLE(optimizer, gnn_optimizer_t, gnn_optimizer_free)
GNN_HPP_HANDLE(packs, gnn_packs_t, gnn_packs_free)
GNN_HPP_HANDLE(parameters, gnn_parameters_t, gnn_parameters_free)
GNN_HPP_HANDLE(partition, gnn_partition_t, gnn_partition_free)
GNN_HPP_HANDLE(partition_folder, gnn_partition_folder_t, gnn_partition_folder_free)
GNN_HPP_HANDLE(pretrained, gnn_pretrained_t, gnn_pretrained_free)
GNN_HPP_HANDLE(pretrained_batch, gnn_pretrained_batch_t, gnn_pretrained_batch_free)
GNN_HPP_HANDLE(sample, gnn_sample_t, gnn_sample_free)
GNN_HPP_HANDLE(sampler, gnn_sampler_t, gnn_sampler_free)
GNN_HPP_HANDLE(source, gnn_source_t, gnn_source_free)
GNN_HPP_HANDLE(staged, gnn_staged_t, gnn_staged_free)
GNN_HPP_HANDLE(state, gnn_state_t, gnn_state_free)
GNN_HPP_HANDLE(tags, gnn_tags_t, gnn_tags_free)
GNN_HPP_HANDLE(tape, gnn_tape_t, gnn_tape_free)
GNN_HPP_HANDLE(text_lines, gnn_text_lines_t, gnn_text_lines_free)
GNN_HPP_HANDLE(tokenizer, gnn_tokenizer_t, gnn_tokenizer_free)
GNN_HPP_HANDLE(tokens, gnn_tokens_t, gnn_tokens_free)
GNN_HPP_HANDLE(transport, gnn_transport_t, gnn_transport_free)
GNN_HPP_HANDLE(treebank, gnn_treebank_t, gnn_treebank_free)
GNN_HPP_HANDLE(vocabulary, gnn_vocabulary_t, gnn_vocabulary_free)
GNN_HPP_HANDLE(words, gnn_words_t, gnn_words_free)
GNN_HPP_HANDLE(written, gnn_written_t, gnn_written_free)
#undef GNN_HPP_HANDLE

/* ---- arrays: what has data() and size(), such as std::vector, std::array and std::span ---- */

/** Indices of int32_t or int64_t with their count; borrowed. */
struct ints {
    gnn_ints_t view;
    int64_t size = 0;

    ints() = default;
    template <typename C, typename = decltype(gnn_ints_t(std::declval<const C &>().data()))>
    ints(const C &container)
        : view(container.data()), size(detail::count_of(container.size()))
    {
    }
    template <typename T> ints(std::initializer_list<T>) = delete; /* would be gone at once */
};

/** Reals with their count; borrowed. */
struct reals {
    const gnn_real_t *data = nullptr;
    int64_t size = 0;

    reals() = default;
    template <typename C, typename = std::enable_if_t<std::is_convertible_v<
                              decltype(std::declval<const C &>().data()), const gnn_real_t *>>>
    reals(const C &container)
        : data(container.data()), size(detail::count_of(container.size()))
    {
    }
};

/** A mask with a byte per row, of a container of bool, char or uint8_t; std::vector<bool> too. A
 * copy. */
struct mask {
    std::vector<uint8_t> bytes;

    mask() = default;
    template <typename C, typename = std::enable_if_t<
                              sizeof(typename C::value_type) == 1 &&
                              std::is_integral_v<typename C::value_type>>>
    mask(const C &container)
    {
        bytes.reserve(container.size());
        for (const auto in : container)
            bytes.push_back(in ? 1 : 0);
    }
};

/** A dense matrix with its memory, row-major. */
class matrix {
public:
    matrix() = default;
    matrix(int64_t rows, int64_t cols, gnn_real_t value = 0)
        : rows_(rows), cols_(cols), values_(static_cast<std::size_t>(rows * cols), value)
    {
    }
    matrix(int64_t rows, int64_t cols, std::vector<gnn_real_t> values)
        : rows_(rows), cols_(cols), values_(std::move(values))
    {
        detail::expect(detail::count_of(values_.size()) == rows * cols,
                       "a matrix of " + std::to_string(rows) + " x " + std::to_string(cols) +
                           " of " + std::to_string(values_.size()) + " values");
    }
    int64_t rows() const noexcept { return rows_; }
    int64_t cols() const noexcept { return cols_; }
    gnn_real_t *row(int64_t r) noexcept { return values_.data() + r * cols_; }
    const gnn_real_t *row(int64_t r) const noexcept { return values_.data() + r * cols_; }
    gnn_real_t &operator()(int64_t r, int64_t c) noexcept { return row(r)[c]; }
    gnn_real_t operator()(int64_t r, int64_t c) const noexcept { return row(r)[c]; }
    const std::vector<gnn_real_t> &values() const noexcept { return values_; }
    /** The view that C functions take, valid as long as the matrix. */
    gnn_tensor_t tensor() const noexcept
    {
        return gnn_tensor(const_cast<gnn_real_t *>(values_.data()), rows_, cols_);
    }

private:
    int64_t rows_ = 0, cols_ = 0;
    std::vector<gnn_real_t> values_;
};

/** A view of rows x cols reals of a container, such as a std::vector. */
inline gnn_tensor_t view(reals values, int64_t rows, int64_t cols)
{
    detail::expect(values.size == rows * cols,
                   "a view of " + std::to_string(rows) + " x " + std::to_string(cols) + " of " +
                       std::to_string(values.size) + " values");
    return gnn_tensor(const_cast<gnn_real_t *>(values.data), rows, cols);
}

/* ---- configs as chains ---- */

namespace detail {

/* A flag is set by bool, reals by any arithmetic type. A 0 that is set here means 0, although 0
 * means "the default" in the C interface. Text and matrices are borrowed. */
inline void set(gnn_flag_t &to, bool on) { to = on ? GNN_ON : GNN_OFF; }
inline void set(gnn_flag_t &to, gnn_flag_t from) { to = from; }
template <typename T, typename F,
          typename = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<F>>>
void set(T &to, F from)
{
    static_assert(std::is_floating_point_v<T> || std::is_integral_v<F>, "an integer is expected");
    if constexpr (std::is_floating_point_v<T>)
        to = from < F(0) || F(0) < from || from != from ? static_cast<T>(from)
                                                        : static_cast<T>(GNN_ZERO);
    else
        to = static_cast<T>(from);
}
inline void set(const gnn_real_t *&to, const std::vector<gnn_real_t> &from) { to = from.data(); }
void set(const gnn_real_t *&to, const std::vector<gnn_real_t> &&from) = delete;
/* A misspelt name is an error, not the default: gnn_aggregator_find("maxx") returns NULL. */
template <typename T>
inline constexpr bool is_entry =
    std::is_same_v<T, const gnn_aggregator_t *> || std::is_same_v<T, const gnn_score_t *> ||
    std::is_same_v<T, const gnn_message_t *> || std::is_same_v<T, const gnn_update_t *> ||
    std::is_same_v<T, const gnn_map_t *> || std::is_same_v<T, const gnn_weigher_t *>;
template <typename T, typename = std::enable_if_t<!std::is_arithmetic_v<T> && !std::is_array_v<T>>>
void set(T &to, const std::remove_reference_t<T> &from)
{
    if constexpr (is_entry<T>)
        if (from == nullptr)
            throw error(GNN_ENOTFOUND);
    to = from;
}
template <typename T> void set(const T *&to, const T &from) { to = &from; }
template <typename T> void set(const T *&to, const T &&from) = delete;
template <std::size_t N, typename... F> void set(double (&to)[N], F... from)
{
    static_assert(sizeof...(F) <= N, "more options than there are");
    const double values[] = {static_cast<double>(from)...};
    for (std::size_t k = 0; k < sizeof...(F); k++)
        to[k] = values[k];
}
template <typename T, std::size_t N, typename... F,
          typename = std::enable_if_t<!std::is_same_v<T, double>>>
void set(T (&to)[N], F... from)
{
    static_assert(sizeof...(F) <= N, "more values than there are");
    const T values[] = {T(from)...};
    for (std::size_t k = 0; k < sizeof...(F); k++)
        to[k] = values[k];
}

} // namespace detail

/* A chain over a struct of the C interface: its fields are functions that return the chain. */
#define GNN_HPP_SETTER(field) GNN_HPP_SETTER_OF(field, field)
#define GNN_HPP_SETTER_OF(name, place)                            \
    template <typename... A> auto &name(A &&...values)            \
    {                                                             \
        detail::set(c_.place, std::forward<A>(values)...);        \
        return *this;                                             \
    }
#define GNN_HPP_CHAIN(name, type)                                 \
public:                                                           \
    name() = default;                                             \
    name(const type &from) : c_(from) {}                          \
    operator const type &() const noexcept { return c_; }         \
    const type *operator&() const noexcept { return &c_; }        \
    const type &c() const noexcept { return c_; }                 \
                                                                  \
private:                                                          \
    type c_{};                                                    \
                                                                  \
public:

/** A layer's config: every field of docs/layer.md is a function. */
class layer_config {
    GNN_HPP_CHAIN(layer_config, gnn_layer_config_t)
#define GNN_FIELD(type, name, kind, initial, low, high, help) GNN_HPP_SETTER(name)
#define GNN_FIELD_ARRAY(type, name, count)
#define GNN_FIELD_AT(name, place, kind, initial, low, high, help) GNN_HPP_SETTER_OF(name, place)
#include <gnn/tables/fields.def>
#undef GNN_FIELD
#undef GNN_FIELD_ARRAY
#undef GNN_FIELD_AT
};

inline layer_config preset(gnn_preset_t which) { return layer_config().preset(which); }
inline layer_config gcn() { return preset(GNN_PRESET_GCN); }
inline layer_config sage() { return preset(GNN_PRESET_SAGE); }
inline layer_config gin() { return preset(GNN_PRESET_GIN); }
inline layer_config gine() { return preset(GNN_PRESET_GINE); }
inline layer_config gat() { return preset(GNN_PRESET_GAT); }
inline layer_config gatv2() { return preset(GNN_PRESET_GATV2); }
inline layer_config transformer_conv() { return preset(GNN_PRESET_TRANSFORMER_CONV); }
inline layer_config resgated() { return preset(GNN_PRESET_RESGATED); }
inline layer_config gated_graph() { return preset(GNN_PRESET_GATED_GRAPH); }
inline layer_config transformer() { return preset(GNN_PRESET_TRANSFORMER); }

/** A step of a model; its text must live until the model is made. */
class step {
    GNN_HPP_CHAIN(step, gnn_step_t)
    step(const layer_config &config) { c_.layer = config; }
    GNN_HPP_SETTER(layer)
    GNN_HPP_SETTER(inputs)
    GNN_HPP_SETTER(priors)
#define GNN_STEP_TEXT(field) GNN_HPP_SETTER(field)
#define GNN_STEP_ELEMENT(key, field, k)
#define GNN_STEP_NUMBER(kind, field) GNN_HPP_SETTER(field)
#define GNN_STEP_WORD(words, field) GNN_HPP_SETTER(field)
#define GNN_STEP_ROW(table, field) GNN_HPP_SETTER(field)
#include <gnn/tables/step_fields.def>
#undef GNN_STEP_TEXT
#undef GNN_STEP_ELEMENT
#undef GNN_STEP_NUMBER
#undef GNN_STEP_WORD
#undef GNN_STEP_ROW
};

/* The fields of other configs, by their structs; tests/house/headers_cpp.sh holds each list against
 * its struct. */
#define GNN_HPP_FIELDS_gnn_context_config_t(X)                                                 \
    X(threads) X(deterministic) X(precision) X(seed) X(allocator)
#define GNN_HPP_FIELDS_gnn_optimizer_config_t(X)                                               \
    X(kind) X(lr) X(momentum) X(nesterov) X(beta1) X(beta2) X(eps) X(weight_decay)             \
    X(clip_norm) X(groups) X(n_groups)
#define GNN_HPP_FIELDS_gnn_schedule_t(X) X(kind) X(warmup) X(period) X(gamma) X(width)
#define GNN_HPP_FIELDS_gnn_partition_config_t(X)                                               \
    X(parts) X(method) X(part_of) X(node_cost) X(split) X(seed)
#define GNN_HPP_FIELDS_gnn_sampler_config_t(X)                                                 \
    X(method) X(hops) X(fan_outs) X(replace) X(weight) X(walk_length) X(rounds) X(cluster_of)  \
    X(clusters) X(seed) X(batch) X(roots) X(n_roots)
#define GNN_HPP_FIELDS_gnn_sampling_t(X) X(sampler) X(batch) X(prefetch)
#define GNN_HPP_FIELDS_gnn_train_config_t(X)                                                   \
    X(epochs) X(optimizer) X(schedule) X(patience) X(watch) X(metric)                          \
    X(label_smoothing) X(class_weight) X(loss) X(split) X(callback) X(user) X(stop)            \
    X(checkpoint) X(checkpoint_every) X(resume) X(accumulate) X(sampling) X(targets) X(splits) \
    X(drop_edge) X(drop_node) X(links) X(typed) X(terms) X(n_terms)
#define GNN_HPP_FIELDS_gnn_split_rule_t(X)                                                     \
    X(splits) X(train_each) X(validation_each) X(train_share) X(validation_share)              \
    X(validation) X(test) X(seed)
#define GNN_HPP_FIELDS_gnn_graph_source_config_t(X)                                           \
    X(size) X(per_epoch) X(shuffle) X(seed) X(loss) X(targets) X(class_weight) X(split)
#define GNN_HPP_FIELDS_gnn_link_rule_t(X)                                                      \
    X(validation_share) X(test_share) X(directed) X(seed)
#define GNN_HPP_FIELDS_gnn_link_source_config_t(X)                                            \
    X(size) X(drawn) X(seed) X(avoid_all) X(split) X(sampling)
#define GNN_HPP_FIELDS_gnn_state_config_t(X)                                                   \
    X(segments) X(capacity) X(windows) X(n_windows) X(fixed)
#define GNN_HPP_CONFIG(name, type)                                                             \
    class name {                                                                               \
        GNN_HPP_CHAIN(name, type)                                                              \
        GNN_HPP_FIELDS_##type(GNN_HPP_SETTER)                                                  \
    };
/** A block of steps. */
class block {
    GNN_HPP_CHAIN(block, gnn_block_t)
    GNN_HPP_SETTER(name)
    GNN_HPP_SETTER(input)
    GNN_HPP_SETTER(layer)
#define GNN_BLOCK_MEMBER(kind, field) GNN_HPP_SETTER(field)
#include <gnn/tables/block_fields.def>
#undef GNN_BLOCK_MEMBER
};
GNN_HPP_CONFIG(context_config, gnn_context_config_t)
GNN_HPP_CONFIG(optimizer_config, gnn_optimizer_config_t)
GNN_HPP_CONFIG(schedule, gnn_schedule_t)
GNN_HPP_CONFIG(partition_config, gnn_partition_config_t)
GNN_HPP_CONFIG(sampler_config, gnn_sampler_config_t)
GNN_HPP_CONFIG(sampling, gnn_sampling_t)
GNN_HPP_CONFIG(train_config, gnn_train_config_t)
GNN_HPP_CONFIG(split_rule, gnn_split_rule_t)
GNN_HPP_CONFIG(graph_source_config, gnn_graph_source_config_t)
GNN_HPP_CONFIG(link_rule, gnn_link_rule_t)
GNN_HPP_CONFIG(link_source_config, gnn_link_source_config_t)
GNN_HPP_CONFIG(state_config, gnn_state_config_t)
#undef GNN_HPP_CONFIG

/* ---- contexts and graphs ---- */

class context : public handle<gnn_context_t, gnn_context_free> {
public:
    explicit context(const context_config &config = context_config())
    {
        check(gnn_context_new(out(), &config.c()));
    }
    int threads() const { return gnn_context_threads(held()); }
    void seed(uint64_t value) { gnn_context_set_seed(held(), value); }
};

/** A graph; sizes of arrays are checked against one another. */
class graph : public handle<gnn_graph_t, gnn_graph_free> {
public:
    using handle::handle;

    /** The senders of receiver i are indices[indptr[i]] .. indices[indptr[i + 1] - 1]; n_dst is
     * indptr.size() - 1. */
    static graph from_csr(int64_t n_src, ints indptr, ints indices)
    {
        graph made;
        detail::expect(indptr.size > 0, "indptr is empty: n_dst + 1 values are expected");
        const int64_t stored = indptr.view.type == GNN_DTYPE_INT64
                                   ? static_cast<const int64_t *>(indptr.view.data)[indptr.size - 1]
                                   : static_cast<const int32_t *>(indptr.view.data)[indptr.size - 1];
        detail::expect(stored == indices.size, "indptr ends with " + std::to_string(stored) +
                                                   ", there are " + std::to_string(indices.size) +
                                                   " indices");
        check(gnn_graph_from_csr(made.out(), indptr.size - 1, n_src, indptr.view, indices.view));
        return made;
    }
    /** Edge k goes from src[k] to dst[k]. */
    static graph from_edges(int64_t n_dst, int64_t n_src, ints src, ints dst)
    {
        graph made;
        detail::expect(src.size == dst.size, std::to_string(src.size) + " senders and " +
                                                 std::to_string(dst.size) + " receivers of edges");
        check(gnn_graph_from_edges(made.out(), n_dst, n_src, src.size, src.view, dst.view));
        return made;
    }
    static graph complete(const std::vector<int64_t> &lengths)
    {
        graph made;
        check(gnn_graph_complete(made.out(), detail::count_of(lengths.size()), lengths.data()));
        return made;
    }
    static graph causal(const std::vector<int64_t> &lengths)
    {
        graph made;
        check(gnn_graph_causal(made.out(), detail::count_of(lengths.size()), lengths.data()));
        return made;
    }
    static graph window(const std::vector<int64_t> &lengths, int64_t width, int64_t dilation = 1,
                        bool causal = false)
    {
        graph made;
        check(gnn_graph_window(made.out(), detail::count_of(lengths.size()), lengths.data(), width,
                               dilation, causal ? GNN_ON : GNN_OFF));
        return made;
    }
    static graph bipartite(const std::vector<int64_t> &dst_lengths,
                           const std::vector<int64_t> &src_lengths)
    {
        graph made;
        detail::expect(dst_lengths.size() == src_lengths.size(),
                       std::to_string(dst_lengths.size()) + " segments of receivers and " +
                           std::to_string(src_lengths.size()) + " of senders");
        check(gnn_graph_bipartite(made.out(), detail::count_of(dst_lengths.size()),
                                  dst_lengths.data(), src_lengths.data()));
        return made;
    }
    int64_t n_dst() const { return gnn_graph_n_dst(held()); }
    int64_t n_src() const { return gnn_graph_n_src(held()); }
    int64_t n_edges() const { return gnn_graph_n_edges(held()); }
};

/* ---- splits and data sets ---- */

class split : public handle<gnn_split_t, gnn_split_free> {
public:
    using handle::handle;

    /** `count` splits of `rows` rows with empty masks. */
    split(int64_t rows, int64_t count) { check(gnn_split_new(out(), rows, count)); }
    /** From masks as in PyG; an empty vector is an empty mask. */
    static split from_masks(const mask &train, const mask &validation = mask(),
                            const mask &test = mask())
    {
        const mask *const masks[] = {&train, &validation, &test};
        std::size_t rows = 0;
        for (const mask *of : masks)
            rows = rows == 0 ? of->bytes.size() : rows;
        split made(detail::count_of(rows), 1);
        for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
            if (!masks[part]->bytes.empty())
                made.set(part, *masks[part]);
        return made;
    }
    /** From row indices, as in OGB. */
    static split from_indices(int64_t rows, ints train, ints validation = ints(), ints test = ints())
    {
        split made(rows, 1);
        made.set(GNN_TRAIN, train);
        made.set(GNN_VALIDATION, validation);
        made.set(GNN_TEST, test);
        return made;
    }
    static split draw(ints labels, const split_rule &rule)
    {
        split made;
        check(gnn_split_draw(made.out(), labels.view, labels.size, &rule.c()));
        return made;
    }
    static split folds(ints labels, int64_t folds, uint64_t seed = 0)
    {
        split made;
        check(gnn_split_folds(made.out(), labels.view, labels.size, folds, seed));
        return made;
    }
    void set(int part, const mask &rows, int64_t index = 0)
    {
        detail::expect(detail::count_of(rows.bytes.size()) == gnn_split_rows(*this),
                       "a mask of " + std::to_string(rows.bytes.size()) + " for " +
                           std::to_string(gnn_split_rows(*this)) + " rows");
        check(gnn_split_set_mask(*this, part, index, rows.bytes.data(), 1));
    }
    void set(int part, ints rows, int64_t index = 0)
    {
        check(gnn_split_set_indices(*this, part, index, rows.size, rows.view));
    }
};

/** Arrays for a data set; borrowed until it is made, when their sizes are checked. */
class data_config {
public:
    data_config &name(const char *text) { return c_.name = text, *this; }
    data_config &nodes(int64_t count) { return c_.nodes = count, *this; }
    data_config &edges(ints src, ints dst)
    {
        detail::expect(src.size == dst.size, std::to_string(src.size) + " senders and " +
                                                 std::to_string(dst.size) + " receivers of edges");
        c_.edges = src.size;
        c_.src = src.view;
        c_.dst = dst.view;
        return *this;
    }
    data_config &both_ways(bool on = true) { return c_.both_ways = on ? GNN_ON : GNN_OFF, *this; }
    /** One weight per edge. */
    data_config &weight(reals values) { return weight_ = values, *this; }
    /** Features, nodes x columns. */
    data_config &x(const gnn_tensor_t &features)
    {
        x_ = features;
        has_x_ = true;
        return *this;
    }
    data_config &x(const matrix &features) { return x(features.tensor()); }
    data_config &sparse(const gnn_sparse_t &features) { return c_.sparse = &features, *this; }
    data_config &edge_features(const gnn_tensor_t &features)
    {
        edge_features_ = features;
        has_edge_features_ = true;
        return *this;
    }
    /** One class per node; negative: none. */
    data_config &labels(ints values) { return labels_ = values, *this; }
    data_config &classes(int64_t count) { return c_.classes = count, *this; }
    data_config &class_names(const std::vector<const char *> &names)
    {
        detail::expect(c_.classes == 0 || c_.classes == detail::count_of(names.size()),
                       std::to_string(names.size()) + " names of " + std::to_string(c_.classes) +
                           " classes");
        c_.classes = detail::count_of(names.size());
        c_.class_names = names.data();
        return *this;
    }
    data_config &split(const gnn_split_t *rows) { return c_.split = rows, *this; }
    data_config &owner(const gnn_owner_t &of) { return c_.owner = &of, *this; }

private:
    friend class data;
    void make(gnn_data_t **made, gnn_graph_t *graph) const
    {
        gnn_data_config_t c = c_;
        const int64_t nodes = graph ? gnn_graph_n_dst(graph) : c.nodes,
                      edges = graph ? gnn_graph_n_edges(graph) : c.edges;
        c.graph = graph;
        c.x = has_x_ ? &x_ : nullptr;
        c.edge_features = has_edge_features_ ? &edge_features_ : nullptr;
        c.weight = weight_.data;
        c.labels = labels_.view;
        if (graph || c.nodes > 0) { /* else gnn_data_new names the fault */
            expect_rows("weight", weight_.data, weight_.size, edges);
            expect_rows("labels", labels_.view.data, labels_.size, nodes);
        }
        check(gnn_data_new(made, &c));
    }
    static void expect_rows(const char *name, const void *values, int64_t came, int64_t expected)
    {
        detail::expect(!values || came == expected, std::string(name) + ": " + std::to_string(came) +
                                                        " values, " + std::to_string(expected) +
                                                        " are expected");
    }
    gnn_data_config_t c_{};
    gnn_tensor_t x_{}, edge_features_{};
    bool has_x_ = false, has_edge_features_ = false;
    reals weight_;
    ints labels_;
};

class data : public handle<gnn_data_t, gnn_data_free> {
public:
    using handle::handle;

    explicit data(const data_config &config) { config.make(out(), nullptr); }
    /** The same over a graph, which becomes owned by the set. */
    data(class graph &&graph, const data_config &config)
    {
        config.make(out(), graph);
        graph.release();
    }
    static data open(const std::string &path)
    {
        data made;
        check(gnn_data_open(made.out(), path.c_str()));
        return made;
    }
    static data karate()
    {
        data made;
        check(gnn_data_karate(made.out()));
        return made;
    }
    /** Owned by the set; for gnn_graph_prepare and similar functions. */
    gnn_graph_t *graph() const { return gnn_data_graph(held()); }
    int64_t nodes() const { return gnn_data_nodes(held()); }
    int64_t features() const { return gnn_data_features(held()); }
    int64_t classes() const { return gnn_data_classes(held()); }
    void set_split(const gnn_split_t *rows) { check(gnn_data_split_set(*this, rows)); }
    std::string describe() const
    {
        char text[512];
        gnn_data_describe(held(), text, sizeof text);
        return text;
    }
};

/* ---- layers and models ---- */

class layer : public handle<gnn_layer_t, gnn_layer_free> {
public:
    using handle::handle;

    layer(gnn_context_t *context, const layer_config &config)
    {
        check(gnn_layer_new(out(), context, &config.c()));
    }
    int64_t width() const { return gnn_layer_width(held()); }
    void prepare(gnn_graph_t *graph, bool backward = false) const
    {
        check(gnn_layer_prepare(*this, graph, backward ? GNN_ON : GNN_OFF));
    }
    /** Inference with one set of features for senders and receivers. */
    matrix forward(gnn_context_t *context, const gnn_graph_t *graph, const gnn_tensor_t &x) const
    {
        gnn_inputs_t inputs{};
        inputs.x_src = &x;
        return forward(context, graph, inputs);
    }
    matrix forward(gnn_context_t *context, const gnn_graph_t *graph, const matrix &x) const
    {
        return forward(context, graph, x.tensor());
    }
    matrix forward(gnn_context_t *context, const gnn_graph_t *graph, const gnn_inputs_t &inputs) const
    {
        matrix made(gnn_graph_n_dst(detail::given(graph, "graph")), width());
        const gnn_tensor_t to = made.tensor();
        check(gnn_layer_forward(*this, context, graph, &inputs, &to));
        return made;
    }
};

/** A list of steps that grows; its first error is thrown at once. */
class steps : public handle<gnn_steps_t, gnn_steps_free> {
public:
    steps() { check(gnn_steps_new(out())); }
    steps &add(const step &one) { return check(gnn_steps_add(*this, &one.c())), *this; }
    steps &add(const char *kind, const class block &settings)
    {
        return check(gnn_steps_block(*this, kind, &settings.c())), *this;
    }
};

class model : public handle<gnn_model_t, gnn_model_free> {
public:
    using handle::handle;

    /** Appends layers in sequence. */
    model(gnn_context_t *context, std::initializer_list<layer_config> layers)
    {
        const std::vector<gnn_layer_config_t> list(layers.begin(), layers.end());
        check(gnn_model_new(out(), context, detail::count_of(list.size()), list.data()));
    }
    model(gnn_context_t *context, const steps &list)
    {
        check(gnn_model_build(out(), context, list));
    }
    static model load(gnn_context_t *context, const std::string &path)
    {
        model made;
        check(gnn_model_load(made.out(), context, path.c_str()));
        return made;
    }
    void save(const std::string &path) const { check(gnn_model_save(*this, path.c_str())); }
    void prepare(gnn_graph_t *graph, int slot = 0, bool backward = false) const
    {
        check(gnn_model_prepare(*this, slot, graph, backward ? GNN_ON : GNN_OFF));
    }
    gnn_train_result_t train(gnn_context_t *context, gnn_data_t *data,
                             const train_config &config = train_config())
    {
        gnn_train_result_t result{};
        check(gnn_train(*this, context, data, &config.c(), &result));
        return result;
    }
    gnn_train_result_t train(gnn_context_t *context, const gnn_source_t &source,
                             const train_config &config = train_config())
    {
        gnn_train_result_t result{};
        check(gnn_train_batches(*this, context, &source, &config.c(), &result));
        return result;
    }
    double evaluate(gnn_context_t *context, const gnn_data_t *data, int part,
                    gnn_metric_t metric = GNN_METRIC_ACCURACY, int64_t split = 0) const
    {
        double value = 0;
        check(gnn_evaluate(*this, context, data, split, part, metric, &value));
        return value;
    }
    /** Outputs for all nodes of a set whose graph is prepared, as after gnn_train. */
    matrix predict(gnn_context_t *context, const gnn_data_t *data) const
    {
        matrix made(gnn_data_nodes(detail::given(data, "data")), last_width());
        const gnn_tensor_t to = made.tensor();
        check(gnn_predict(*this, context, data, &to));
        return made;
    }
    /** Outputs for one graph, prepared, and the features "x". */
    matrix predict(gnn_context_t *context, const gnn_graph_t *graph, const gnn_tensor_t &x) const
    {
        matrix made(gnn_graph_n_dst(detail::given(graph, "graph")), last_width());
        const gnn_tensor_t to = made.tensor();
        check(gnn_model_predict(*this, context, graph, &x, nullptr, &to));
        return made;
    }

private:
    int64_t last_width() const
    {
        const int64_t cols = gnn_model_width(held(), gnn_model_step_count(held()) - 1);
        detail::expect(cols >= 0, "the model's width depends on its inputs: use gnn_model_forward");
        return cols;
    }
};

#undef GNN_HPP_SETTER
#undef GNN_HPP_SETTER_OF
#undef GNN_HPP_CHAIN

} // namespace gnn

#endif
