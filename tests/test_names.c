/* Weights by other libraries' names: exported arrays import again, layouts are those of the other
 * library, and every mismatch is refused before anything is copied. (Golden files test that outputs
 * agree.) */
#include "support.h"

#include <lib/data/arrays/arrays.h>

#include <math.h>

static gnn_context_t *context;

static void set_up(void)
{
    ck_ok(gnn_context_new(&context, NULL));
}

static void tear_down(void)
{
    gnn_context_free(context);
}

static gnn_layer_t *layer_of(gnn_layer_config_t config, uint64_t seed)
{
    gnn_layer_t *layer = NULL;
    gnn_context_set_seed(context, seed);
    ck_ok(gnn_layer_new(&layer, context, &config));
    return layer;
}

/* ---- sets of arrays ---- */

static gnn_arrays_t *new_arrays(void)
{
    gnn_arrays_t *arrays = NULL;
    ck_ok(gnn__arrays_new(&arrays));
    return arrays;
}

static void put(gnn_arrays_t *arrays, const char *name, gnn_dtype_t dtype, int ndim,
                const int64_t *shape, const void *numbers)
{
    gnn_array_t like = {.dtype = dtype, .ndim = ndim, .count = 1};
    void *data = NULL;
    for (int k = 0; k < ndim; k++)
        like.count *= like.shape[k] = shape[k];
    int64_t bytes = like.count * (int64_t)gnn__element(dtype)->size;
    ck_ok(gnn__new(&data, bytes, 1, "an array"));
    memcpy(data, numbers, (size_t)bytes);
    ck_ok(gnn__arrays_add(arrays, name, strlen(name), &like, data));
}

/* GCN of 3 to 2 features in PyG's layout. */
static const float weight[6] = {1, 2, 3, 4, 5, 6}, bias[2] = {7, 8};
static const gnn_layer_config_t gcn = {.preset = GNN_PRESET_GCN, .in = 3, .out = 2};

static void put_gcn(gnn_arrays_t *arrays, const char *prefix)
{
    char name[64];
    snprintf(name, sizeof name, "%slin.weight", prefix);
    put(arrays, name, GNN_DTYPE_FLOAT32, 2, (const int64_t[]){2, 3}, weight);
    snprintf(name, sizeof name, "%sbias", prefix);
    put(arrays, name, GNN_DTYPE_FLOAT32, 1, (const int64_t[]){2}, bias);
}

static int import_and_free(gnn_layer_t *layer, gnn_names_t names, const char *prefix,
                           gnn_arrays_t *arrays)
{
    ck_ok(gnn__arrays_seal(arrays));
    int rc = gnn_layer_import(layer, names, prefix, arrays);
    gnn_arrays_free(arrays);
    return rc;
}

/* ---- layouts ---- */

START_TEST(a_linear_is_transposed)
{
    gnn_layer_t *layer = layer_of(gcn, 1);
    gnn_arrays_t *arrays = new_arrays();
    gnn_tensor_t w, b;
    gnn_real_t out[6];
    put_gcn(arrays, "w.");
    ck_ok(import_and_free(layer, GNN_NAMES_PYG, "w.", arrays));
    ck_ok(gnn_layer_field(layer, "value.weight", &w, NULL));
    ck_ok(gnn_layer_field(layer, "out.bias", &b, NULL));
    for (int i = 0; i < 3; i++)
        for (int o = 0; o < 2; o++)
            ck_assert_double_eq((double)gnn__row(&w, i)[o], (double)weight[o * 3 + i]);
    ck_assert(b.data[0] == 7 && b.data[1] == 8);
    ck_ok(gnn_layer_export(layer, GNN_NAMES_PYG, "lin.weight", 0, out, 6));
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq((double)out[k], (double)weight[k]);
    gnn_layer_free(layer);
}
END_TEST

START_TEST(heads_first_becomes_heads_concatenated)
{
    gnn_layer_t *layer =
        layer_of((gnn_layer_config_t){.preset = GNN_PRESET_GAT, .in = 3, .out = 2, .heads = 2}, 1);
    double w[2][3][2], a[4] = {1, 2, 3, 4};
    gnn_arrays_t *arrays = new_arrays();
    gnn_tensor_t t;
    for (int k = 0; k < 12; k++)
        ((double *)w)[k] = k;
    put(arrays, "w1", GNN_DTYPE_FLOAT64, 3, (const int64_t[]){2, 3, 2}, w);
    put(arrays, "a1_src", GNN_DTYPE_FLOAT64, 2, (const int64_t[]){2, 2}, a);
    put(arrays, "a1_dst", GNN_DTYPE_FLOAT64, 2, (const int64_t[]){2, 2}, a);
    put(arrays, "b1", GNN_DTYPE_FLOAT64, 2, (const int64_t[]){2, 2}, a);
    ck_ok(import_and_free(layer, GNN_NAMES_GAT_REFERENCE, "", arrays));
    ck_ok(gnn_layer_field(layer, "value.weight", &t, NULL));
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < 3; i++)
            for (int d = 0; d < 2; d++)
                ck_assert_double_eq((double)gnn__row(&t, i)[h * 2 + d], w[h][i][d]);
    gnn_layer_free(layer);
}
END_TEST

/* Query, key and value are stacked; self- and cross-attention of a decoder layer read their own
 * arrays of one prefix. */
START_TEST(stacked_projections_are_split)
{
    gnn_layer_t *layer = layer_of(
        (gnn_layer_config_t){
            .preset = GNN_PRESET_TRANSFORMER, .in = 2, .heads = 1, .update = &gnn_update_linear},
        1);
    static const char *const fields[] = {"query.weight", "key.weight", "value.weight"};
    gnn_real_t out[12];
    gnn_tensor_t t;
    ck_ok(gnn_layer_export(layer, GNN_NAMES_PYTORCH, "self_attn.in_proj_weight", 0, out, 12));
    for (int f = 0; f < 3; f++) {
        ck_ok(gnn_layer_field(layer, fields[f], &t, NULL));
        for (int o = 0; o < 2; o++)
            for (int i = 0; i < 2; i++)
                ck_assert(out[(f * 2 + o) * 2 + i] == gnn__row(&t, i)[o]);
    }
    gnn_layer_free(layer);
}
END_TEST

/* ---- out and in again, by every convention ---- */

static const struct {
    gnn_names_t names;
    gnn_layer_config_t config;
    const char *arrays; /* names, each with its shape */
} round_trips[] = {
    {GNN_NAMES_OWN, {.preset = GNN_PRESET_GCN, .in = 3, .out = 2}, "value.weight 3 2,out.bias 1 2"},
    {GNN_NAMES_PYG,
     {.preset = GNN_PRESET_SAGE, .in = 3, .out = 2},
     "lin_l.weight 2 3,lin_l.bias 2,lin_r.weight 2 3"},
    {GNN_NAMES_PYG,
     {.preset = GNN_PRESET_GATV2, .in = 3, .out = 2, .heads = 2, .edge_dim = 5},
     "lin_l.weight 4 3,lin_l.bias 4,lin_r.weight 4 3,lin_r.bias 4,att 1 2 2,lin_edge.weight 4 5,bias 4"},
    {GNN_NAMES_PYG,
     {.preset = GNN_PRESET_GINE, .in = 3, .out = 2, .hidden = 4, .edge_dim = 5, .learn_eps = GNN_ON},
     "eps 1,nn.0.weight 4 3,nn.0.bias 4,nn.2.weight 2 4,nn.2.bias 2,lin.weight 3 5,lin.bias 3"},
    {GNN_NAMES_PYG,
     {.preset = GNN_PRESET_GATED_GRAPH, .in = 3},
     "weight 1 3 3,rnn.weight_ih 9 3,rnn.weight_hh 9 3,rnn.bias_ih 9,rnn.bias_hh 9"},
    {GNN_NAMES_PYTORCH,
     {.preset = GNN_PRESET_TRANSFORMER, .in = 4, .heads = 2, .feed_forward = 5},
     "self_attn.in_proj_weight 12 4,self_attn.in_proj_bias 12,self_attn.out_proj.weight 4 4,self_attn.out_proj.bias 4,linear1.weight 5 4,"
     "linear1.bias 5,linear2.weight 4 5,linear2.bias 4,norm1.weight 4,norm1.bias 4,norm2.weight 4,norm2.bias 4"},
    {GNN_NAMES_PYTORCH_DECODER_CROSS,
     {.preset = GNN_PRESET_TRANSFORMER, .in = 4, .heads = 2, .feed_forward = 5},
     "multihead_attn.in_proj_weight 12 4,multihead_attn.in_proj_bias 12,multihead_attn.out_proj.weight 4 4,multihead_attn.out_proj.bias 4,"
     "linear1.weight 5 4,linear1.bias 5,linear2.weight 4 5,linear2.bias 4,norm2.weight 4,norm2.bias 4,norm3.weight 4,norm3.bias 4"},
    {GNN_NAMES_DGL,
     {.preset = GNN_PRESET_GATV2, .in = 3, .out = 2, .heads = 2, .share_weights = GNN_ON, .bias_out = GNN_OFF},
     "fc_src.weight 4 3,fc_src.bias 4,attn 1 2 2"},
};

/* Exports every array of "NAME SHAPE,..." from a layer under a prefix. */
static void export_all(const gnn_layer_t *layer, gnn_names_t names, const char *list,
                       gnn_arrays_t *arrays)
{
    char text[1024], full[128], *rest = NULL;
    snprintf(text, sizeof text, "%s", list);
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *at = strchr(item, ' '), name[96];
        int64_t shape[3], count = 1;
        int ndim = 0;
        snprintf(name, sizeof name, "%.*s", (int)(at - item), item);
        for (; *at; ndim++)
            count *= shape[ndim] = strtol(at, &at, 10);
        gnn_real_t *out = calloc((size_t)count, sizeof *out);
        ck_ok(gnn_layer_export(layer, names, name, 0, out, count));
        snprintf(full, sizeof full, "p.%s", name);
        put(arrays, full, GNN_DOUBLE ? GNN_DTYPE_FLOAT64 : GNN_DTYPE_FLOAT32, ndim, shape, out);
        free(out);
    }
}

/* Every weight of the other layer must change: biases start at 0 in both, so all are shifted
 * first. */
static void shift(gnn_layer_t *layer, double by)
{
    int64_t length;
    gnn_real_t *block = gnn_parameters_block(gnn_layer_parameters(layer), 0, &length);
    for (int64_t k = 0; k < length; k++)
        block[k] = (gnn_real_t)((double)block[k] + by + (double)k / 64);
}

static bool same_fields(const gnn_layer_t *a, const gnn_layer_t *b)
{
    gnn_tensor_t s, t;
    for (int64_t k = 0; k < gnn_layer_field_count(a); k++) {
        ck_ok(gnn_layer_field(a, gnn_layer_field_name(a, k), &s, NULL));
        ck_ok(gnn_layer_field(b, gnn_layer_field_name(a, k), &t, NULL));
        for (int64_t r = 0; r < s.rows; r++)
            if (memcmp(gnn__row(&s, r), gnn__row(&t, r), sizeof(gnn_real_t) * (size_t)s.cols) != 0)
                return false;
    }
    return true;
}

START_TEST(exported_names_import)
{
    gnn_layer_t *from = layer_of(round_trips[_i].config, 1),
                *to = layer_of(round_trips[_i].config, 2);
    gnn_arrays_t *arrays = new_arrays();
    shift(from, 1);
    ck_assert(!same_fields(from, to));
    export_all(from, round_trips[_i].names, round_trips[_i].arrays, arrays);
    ck_ok(import_and_free(to, round_trips[_i].names, "p.", arrays));
    ck_assert(same_fields(from, to));
    gnn_layer_free(from);
    gnn_layer_free(to);
}
END_TEST

/* ---- what DGL's modules compute, by its formulas ---- */

enum { NODES = 5, LINKS = 13, IN = 3, OUT = 2, HEADS = 2, HIDDEN = 4 };

/* Links both ways, and a self-loop of each node as dgl.add_self_loop makes them. */
static const int64_t link_src[LINKS] = {0, 1, 1, 2, 2, 3, 0, 3, 0, 1, 2, 3, 4},
                     link_dst[LINKS] = {1, 0, 2, 1, 3, 2, 3, 0, 0, 1, 2, 3, 4};

/* Element k of the array whose index in the list is `which`, from 1; 0: the features. */
static double drawn(int which, int k)
{
    return ((which * 7 + k * 5) % 11 - 5) / 8.0;
}

/* Adds the arrays of "NAME SHAPE,...". */
static void put_drawn(gnn_arrays_t *arrays, const char *list)
{
    char text[256], *rest = NULL;
    int which = 1;
    snprintf(text, sizeof text, "%s", list);
    for (char *item = strtok_r(text, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
        char *at = strchr(item, ' ');
        int64_t shape[3], count = 1;
        double numbers[64];
        int ndim = 0;
        for (*at++ = 0; *at; ndim++)
            count *= shape[ndim] = strtol(at, &at, 10);
        for (int k = 0; k < count; k++)
            numbers[k] = drawn(which, k);
        put(arrays, item, GNN_DTYPE_FLOAT64, ndim, shape, numbers);
        which++;
    }
}

/* Output o of a Linear of `in` columns whose weight is array `which`, without bias. */
static double product(int which, int in, int o, const double *x)
{
    double sum = 0;
    for (int c = 0; c < in; c++)
        sum += drawn(which, o * in + c) * x[c];
    return sum;
}

static void row_of(int i, double *x)
{
    for (int c = 0; c < IN; c++)
        x[c] = drawn(0, i * IN + c);
}

static double degree_of(int i)
{
    int count = 0;
    for (int e = 0; e < LINKS; e++)
        count += link_dst[e] == i;
    return count;
}

/* GraphConv: weight 1 (in x out), bias 2. */
static double graph_conv(int i, int o)
{
    double y = drawn(2, o), x[IN];
    for (int e = 0; e < LINKS; e++) {
        row_of((int)link_src[e], x);
        for (int c = 0; link_dst[e] == i && c < IN; c++)
            y += x[c] * drawn(1, c * OUT + o) / sqrt(degree_of(i) * degree_of((int)link_src[e]));
    }
    return y;
}

/* SAGEConv("mean"): fc_neigh 1, fc_self 2 and its bias 3. */
static double sage_conv(int i, int o)
{
    double x[IN], y;
    row_of(i, x);
    y = product(2, IN, o, x) + drawn(3, o);
    for (int e = 0; e < LINKS; e++) {
        row_of((int)link_src[e], x);
        y += link_dst[e] == i ? product(1, IN, o, x) / degree_of(i) : 0;
    }
    return y;
}

/* GINConv(Sequential(Linear, ReLU, Linear), "sum", learn_eps=True): eps 1, the mlp 2 to 5. */
static double gin_conv(int i, int o)
{
    double x[IN], sum[IN], hidden[HIDDEN];
    row_of(i, sum);
    for (int c = 0; c < IN; c++)
        sum[c] *= 1 + drawn(1, 0);
    for (int e = 0; e < LINKS; e++) {
        row_of((int)link_src[e], x);
        for (int c = 0; link_dst[e] == i && c < IN; c++)
            sum[c] += x[c];
    }
    for (int h = 0; h < HIDDEN; h++)
        hidden[h] = fmax(0, product(2, IN, h, sum) + drawn(3, h));
    return product(4, HIDDEN, o, hidden) + drawn(5, o);
}

static double leaky(double x)
{
    return x > 0 ? x : 0.2 * x;
}

/* GATConv: fc 1, attn_l 2 for senders, attn_r 3 for receivers, bias 4. */
static double gat_score(int i, int j, int head)
{
    double from[IN], to[IN], score = 0;
    row_of(j, from);
    row_of(i, to);
    for (int d = head * OUT; d < (head + 1) * OUT; d++)
        score += product(1, IN, d, from) * drawn(2, d) + product(1, IN, d, to) * drawn(3, d);
    return leaky(score);
}

/* GATv2Conv: fc_src 1 with bias 2, fc_dst 3 with bias 4, attn 5. */
static double gatv2_score(int i, int j, int head)
{
    double from[IN], to[IN], score = 0;
    row_of(j, from);
    row_of(i, to);
    for (int d = head * OUT; d < (head + 1) * OUT; d++)
        score += drawn(5, d) *
                 leaky(product(1, IN, d, from) + drawn(2, d) + product(3, IN, d, to) + drawn(4, d));
    return score;
}

/* The values of senders (array 1 and a bias, or -1) weighed by the softmax of scores. */
static double attended(int i, int o, double (*score)(int, int, int), int offset)
{
    double sum = 0, y = 0, x[IN];
    for (int e = 0; e < LINKS; e++)
        if (link_dst[e] == i) {
            const double weight_of = exp(score(i, (int)link_src[e], o / OUT));
            row_of((int)link_src[e], x);
            y += weight_of * (product(1, IN, o, x) + (offset < 0 ? 0 : drawn(offset, o)));
            sum += weight_of;
        }
    return y / sum;
}

static double gat_conv(int i, int o)
{
    return attended(i, o, gat_score, -1) + drawn(4, o);
}

static double gatv2_conv(int i, int o)
{
    return attended(i, o, gatv2_score, 2);
}

static const struct {
    gnn_layer_config_t config;
    const char *arrays;
    double (*expected)(int i, int o);
    int columns;
} of_dgl[] = {
    {{.preset = GNN_PRESET_GCN, .in = IN, .out = OUT}, "weight 3 2,bias 2", graph_conv, OUT},
    {{.preset = GNN_PRESET_SAGE, .in = IN, .out = OUT},
     "fc_neigh.weight 2 3,fc_self.weight 2 3,fc_self.bias 2",
     sage_conv,
     OUT},
    {{.preset = GNN_PRESET_SAGE, .in = IN, .out = OUT},
     "fc_neigh.weight 2 3,fc_self.weight 2 3,bias 2",
     sage_conv,
     OUT},
    {{.preset = GNN_PRESET_GIN, .in = IN, .out = OUT, .hidden = HIDDEN, .learn_eps = GNN_ON},
     "eps 1,apply_func.0.weight 4 3,apply_func.0.bias 4,apply_func.2.weight 2 4,apply_func.2.bias "
     "2",
     gin_conv,
     OUT},
    {{.preset = GNN_PRESET_GAT, .in = IN, .out = OUT, .heads = HEADS},
     "fc.weight 4 3,attn_l 1 2 2,attn_r 1 2 2,bias 4",
     gat_conv,
     HEADS *OUT},
    {{.preset = GNN_PRESET_GATV2, .in = IN, .out = OUT, .heads = HEADS, .bias_out = GNN_OFF},
     "fc_src.weight 4 3,fc_src.bias 4,fc_dst.weight 4 3,fc_dst.bias 4,attn 1 2 2",
     gatv2_conv,
     HEADS *OUT},
};

START_TEST(dgl_modules_compute_what_their_formulas_say)
{
    gnn_layer_t *layer = layer_of(of_dgl[_i].config, 1);
    gnn_arrays_t *arrays = new_arrays();
    gnn_graph_t *graph = NULL;
    gnn_real_t numbers[NODES * IN], y[NODES * HEADS * OUT];
    const int columns = of_dgl[_i].columns;
    const gnn_tensor_t x = gnn_tensor(numbers, NODES, IN), out = gnn_tensor(y, NODES, columns);
    for (int k = 0; k < NODES * IN; k++)
        numbers[k] = (gnn_real_t)drawn(0, k);
    put_drawn(arrays, of_dgl[_i].arrays);
    ck_ok(import_and_free(layer, GNN_NAMES_DGL, "", arrays));
    ck_ok(gnn_graph_from_edges(&graph, NODES, NODES, LINKS, gnn_ints(link_src), gnn_ints(link_dst)));
    ck_ok(gnn_layer_prepare(layer, graph, GNN_OFF));
    ck_ok(gnn_layer_forward(layer, context, graph, &(gnn_inputs_t){.x_src = &x}, &out));
    for (int i = 0; i < NODES; i++)
        for (int o = 0; o < columns; o++)
            ck_assert_double_eq_tol((double)y[i * columns + o], of_dgl[_i].expected(i, o), 1e-5);
    gnn_graph_free(graph);
    gnn_layer_free(layer);
}
END_TEST

/* Two biases of an old SAGEConv are one here: the second is refused, not dropped. */
START_TEST(a_bias_of_dgl_that_has_no_field_is_refused)
{
    gnn_layer_t *layer =
        layer_of((gnn_layer_config_t){.preset = GNN_PRESET_SAGE, .in = IN, .out = OUT}, 1);
    gnn_arrays_t *arrays = new_arrays();
    put_drawn(arrays, "fc_neigh.weight 2 3,fc_self.weight 2 3,fc_self.bias 2,fc_neigh.bias 2");
    ck_fails(import_and_free(layer, GNN_NAMES_DGL, "", arrays), GNN_EFORMAT, "fc_neigh.bias");
    gnn_layer_free(layer);
}
END_TEST

/* One module of several hops: slices of one array, one GRU. A batch norm brings its running
 * statistics. */
START_TEST(steps_share_arrays_of_one_prefix)
{
    gnn_model_t *model = NULL;
    gnn_step_t steps[] = {
        {.name = "conv", .layer = {.preset = GNN_PRESET_GATED_GRAPH, .in = 1}},
        {.name = "conv:1",
         .layer = {.preset = GNN_PRESET_GATED_GRAPH, .in = 1},
         .share = "conv",
         .share_fields = "gru"},
        {.kind = GNN_STEP_NORM, .name = "norm", .norm = GNN_NORM_BATCH, .in = 1},
    };
    static const double numbers[] = {5, 6, 7};
    static const int64_t count = 3;
    gnn_arrays_t *arrays = new_arrays();
    gnn_tensor_t t;
    gnn_real_t out[3];
    put(arrays, "m.conv.weight", GNN_DTYPE_FLOAT64, 3, (const int64_t[]){2, 1, 1}, numbers);
    put(arrays, "m.conv.rnn.weight_ih", GNN_DTYPE_FLOAT64, 2, (const int64_t[]){3, 1}, numbers);
    put(arrays, "m.conv.rnn.weight_hh", GNN_DTYPE_FLOAT64, 2, (const int64_t[]){3, 1}, numbers);
    put(arrays, "m.conv.rnn.bias_ih", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){3}, numbers);
    put(arrays, "m.conv.rnn.bias_hh", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){3}, numbers);
    put(arrays, "m.norm.weight", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){1}, numbers);
    put(arrays, "m.norm.bias", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){1}, numbers);
    put(arrays, "m.norm.running_mean", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){1}, numbers + 1);
    put(arrays, "m.norm.running_var", GNN_DTYPE_FLOAT64, 1, (const int64_t[]){1}, numbers + 2);
    put(arrays, "m.norm.num_batches_tracked", GNN_DTYPE_INT64, 0, NULL, &count);
    ck_ok(gnn__arrays_seal(arrays));
    ck_ok(gnn_model_from_steps(&model, context, 3, steps));
    ck_ok(gnn_model_import(model, GNN_NAMES_PYG, "m.%s.", arrays));
    ck_ok(gnn_model_field(model, "conv:1.value.weight", &t, NULL));
    ck_assert(t.data[0] == 6);
    ck_ok(gnn_model_buffer(model, "norm.running", &t));
    ck_assert(t.data[0] == 6 && t.data[1] == 7);
    ck_ok(gnn_model_export(model, GNN_NAMES_PYG, "m.%s.", "m.conv.weight", 0, out, 2));
    ck_assert(out[0] == 5 && out[1] == 6);
    ck_fails(gnn_model_import(model, GNN_NAMES_PYG, "m.%d.", arrays), GNN_EINVALID,
             "may hold one %lld or one %s");
    ck_fails(gnn_model_import(model, GNN_NAMES_PYG, "%s%s", arrays), GNN_EINVALID,
             "may hold one %lld or one %s");
    gnn_arrays_free(arrays);
    gnn_model_free(model);
}
END_TEST

/* ---- refusals ---- */

typedef enum { MISSING, EXTRA, SHAPE, RANK, NOT_A_NUMBER, INTEGERS, FULL } fault_t;

static gnn_arrays_t *faulty(fault_t fault)
{
    static const float nan[6] = {1, 2, 3, 4, NAN, 6};
    static const int32_t whole[6];
    gnn_arrays_t *arrays = new_arrays();
    bool flat = fault == RANK, turned = fault == SHAPE;
    if (fault == FULL)
        put_gcn(arrays, "");
    if (fault == FULL)
        return arrays;
    put(arrays, "bias", GNN_DTYPE_FLOAT32, 1, (const int64_t[]){2}, bias);
    if (fault == EXTRA)
        put(arrays, "lin.bias", GNN_DTYPE_FLOAT32, 1, (const int64_t[]){2}, bias);
    if (fault != MISSING)
        put(arrays, "lin.weight", fault == INTEGERS ? GNN_DTYPE_INT32 : GNN_DTYPE_FLOAT32,
            flat ? 1 : 2,
            flat     ? (const int64_t[]){6}
            : turned ? (const int64_t[]){3, 2}
                     : (const int64_t[]){2, 3},
            fault == INTEGERS       ? (const void *)whole
            : fault == NOT_A_NUMBER ? nan
                                    : weight);
    return arrays;
}

static const struct {
    fault_t fault;
    int code;
    const char *words;
} refusals[] = {
    {MISSING, GNN_ENOTFOUND, "no array lin.weight for field value.weight; of "},
    {EXTRA, GNN_EFORMAT, "array lin.bias belongs to no field"},
    {SHAPE, GNN_ESHAPE, "array lin.weight is 3 x 2, the layer expects 2 x 3"},
    {RANK, GNN_ESHAPE, "array lin.weight is 6, the layer expects 2 x 3"},
    {NOT_A_NUMBER, GNN_ENUMERIC, "array lin.weight: element (1, 1) is nan"},
    {INTEGERS, GNN_EFORMAT, "array lin.weight holds int32"},
};

START_TEST(wrong_arrays_change_nothing)
{
    gnn_layer_t *layer = layer_of(gcn, 1), *untouched = layer_of(gcn, 1);
    ck_fails(import_and_free(layer, GNN_NAMES_PYG, "", faulty(refusals[_i].fault)),
             refusals[_i].code, refusals[_i].words);
    ck_assert(same_fields(layer, untouched));
    gnn_layer_free(layer);
    gnn_layer_free(untouched);
}
END_TEST

START_TEST(layers_without_foreign_names_are_refused)
{
    gnn_layer_t *plain = layer_of((gnn_layer_config_t){.in = 3, .out = 2}, 1),
                *layer = layer_of(gcn, 1);
    gnn_layer_t *biased = layer_of(
        (gnn_layer_config_t){.preset = GNN_PRESET_GCN, .in = 3, .out = 2, .bias_project = GNN_ON}, 1);
    gnn_real_t out[6];
    ck_fails(import_and_free(plain, GNN_NAMES_PYG, "", faulty(FULL)), GNN_EUNSUPPORTED,
             "PyG has no module for this layer (preset none, message linear");
    ck_fails(import_and_free(layer, GNN_NAMES_PYTORCH, "", faulty(FULL)), GNN_EUNSUPPORTED,
             "PyTorch has no module");
    ck_fails(import_and_free(layer, (gnn_names_t)99, "", faulty(FULL)), GNN_EINVALID, ".names = 99");
    ck_fails(import_and_free(biased, GNN_NAMES_PYG, "", faulty(FULL)), GNN_EUNSUPPORTED,
             "field value.bias has no name");
    ck_fails(gnn_layer_export(layer, GNN_NAMES_PYG, "lin.wait", 0, out, 6), GNN_ENOTFOUND,
             "lin.wait");
    ck_fails(gnn_layer_export(layer, GNN_NAMES_PYG, "lin.weight", 0, out, 5), GNN_ESHAPE,
             "lin.weight is 2 x 3, the buffer holds 5 values");
    gnn_layer_free(plain);
    gnn_layer_free(layer);
    gnn_layer_free(biased);
}
END_TEST

/* GIN's eps is stored whether it was learned or not. */
START_TEST(a_fixed_eps_must_agree)
{
    gnn_layer_config_t gin = {.preset = GNN_PRESET_GIN, .in = 1, .out = 1, .eps = (gnn_real_t)0.25};
    gnn_layer_t *layer = layer_of(gin, 1);
    static const float one = 1, quarter = 0.25;
    const float *const eps[] = {&quarter, &one};
    for (int k = 0; k < 2; k++) {
        gnn_arrays_t *arrays = new_arrays();
        put(arrays, "eps", GNN_DTYPE_FLOAT32, 0, NULL, eps[k]);
        put(arrays, "nn.0.weight", GNN_DTYPE_FLOAT32, 2, (const int64_t[]){1, 1}, &one);
        put(arrays, "nn.0.bias", GNN_DTYPE_FLOAT32, 1, (const int64_t[]){1}, &one);
        put(arrays, "nn.2.weight", GNN_DTYPE_FLOAT32, 2, (const int64_t[]){1, 1}, &one);
        put(arrays, "nn.2.bias", GNN_DTYPE_FLOAT32, 1, (const int64_t[]){1}, &one);
        int rc = import_and_free(layer, GNN_NAMES_PYG, "", arrays);
        if (k == 0)
            ck_ok(rc);
        else
            ck_fails(rc, GNN_EINVALID, "array eps is 1, the config's .eps is 0.25");
    }
    gnn_layer_free(layer);
}
END_TEST

START_TEST(failed_allocations_change_nothing)
{
    gnn_layer_t *layer = layer_of(gcn, 1), *untouched = layer_of(gcn, 1);
    gnn_arrays_t *arrays = faulty(FULL);
    int rc = GNN_EMEMORY;
    ck_ok(gnn__arrays_seal(arrays));
    for (int64_t n = 1; rc != GNN_OK; n++) {
        ck_assert(same_fields(layer, untouched));
        gnn__fail_allocation(n);
        rc = gnn_layer_import(layer, GNN_NAMES_PYG, "", arrays);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %lld: %d, %s", (long long)n,
                      rc, gnn_error_message());
    }
    ck_assert(!same_fields(layer, untouched));
    gnn_arrays_free(arrays);
    gnn_layer_free(layer);
    gnn_layer_free(untouched);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("names");
    TCase *tc = tcase_create("names");
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, a_linear_is_transposed);
    tcase_add_test(tc, heads_first_becomes_heads_concatenated);
    tcase_add_test(tc, stacked_projections_are_split);
    tcase_add_loop_test(tc, exported_names_import, 0, sizeof round_trips / sizeof round_trips[0]);
    tcase_add_loop_test(tc, dgl_modules_compute_what_their_formulas_say, 0,
                        sizeof of_dgl / sizeof of_dgl[0]);
    tcase_add_test(tc, a_bias_of_dgl_that_has_no_field_is_refused);
    tcase_add_test(tc, steps_share_arrays_of_one_prefix);
    tcase_add_loop_test(tc, wrong_arrays_change_nothing, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(tc, layers_without_foreign_names_are_refused);
    tcase_add_test(tc, a_fixed_eps_must_agree);
    tcase_add_test(tc, failed_allocations_change_nothing);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
