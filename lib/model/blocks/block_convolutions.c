/* Convolutions of more than one step: messages that depend on both ends or on the edge's features,
 * and products around the aggregation. Blocks with edge features run on `graph` and on graphs[0],
 * from its edges to their receivers. */
#include <lib/model/blocks.h>

/* sage_project: a layer whose senders are relu(W x + b), receivers x (SAGEConv with project=True).
 * Hamilton et al. 2017, the pooling aggregator. */

void gnn__block_sage_project(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    const int64_t width = b->layer.in;
    gnn__block_need(steps, b, "layer.in", width > 0);
    gnn__block_add(steps, b, "lin",
                   (gnn_step_t){.kind = GNN_STEP_LINEAR, .inputs = {x}, .in = width, .out = width});
    const char *sent = gnn__block_add(
        steps, b, "relu", (gnn_step_t){.kind = GNN_STEP_ACTIVATION, .activation = GNN_RELU});
    gnn__block_add(
        steps, b, "",
        (gnn_step_t){.inputs = {sent}, .receivers = x, .graph = b->graph, .layer = b->layer});
}

/* power_mean: clamp(mean over j of clamp(x_j)^p)^(1/p), clamp to 1e-4 .. 100 as in PyG; p is
 * learned and starts at factor [1]. A receiver without senders gets 1e-4^(1/p). Li et al. 2020
 * (DeeperGCN). */

void gnn__block_power_mean(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", b->width > 0);
    const char *p = gnn__append_constant(steps, b, "p", 1, b->factor != 0 ? b->factor : 1),
               *root = gnn__append_op(steps, b, "root", &gnn_op_power, (const char *[3]){p}, -1, 0);
    x = gnn__append_op(steps, b, "clamped", &gnn_op_clamp, (const char *[3]){x}, 1e-4, 100);
    x = gnn__append_op(steps, b, "powers", &gnn_op_power_by, (const char *[3]){x, p}, 0, 0);
    x = gnn__append_aggregate(steps, b, "mean", x, &gnn_aggregator_mean, b->graph, b->width);
    x = gnn__append_op(steps, b, "mean_clamped", &gnn_op_clamp, (const char *[3]){x}, 1e-4, 100);
    gnn__append_op(steps, b, "", &gnn_op_power_by, (const char *[3]){x, root}, 0, 0);
}

/* gen: messages relu(W_s x_j) + 1e-7, aggregated by layer.aggregator [softmax_mean], or with
 * .factor by a power mean; plus W_d x_i, then an mlp. W_s and W_d are there only if widths differ.
 * The mlp has `hidden` inner columns with norm layer.norm [layer], or is one product if that is 0.
 * Li et al. 2020 (DeeperGCN). */

static const char *gen_mlp(gnn_steps_t *steps, const gnn_block_t *b, const char *x, int64_t out)
{
    if (b->hidden == 0)
        return gnn__append_linear(steps, b, "mlp.0", x, out, out, GNN_OFF);
    gnn__append_linear(steps, b, "mlp.0", x, out, b->hidden, GNN_OFF);
    gnn__block_add(steps, b, "mlp.1",
                   (gnn_step_t){.kind = GNN_STEP_NORM,
                                .in = b->hidden,
                                .norm = b->layer.norm ? b->layer.norm : GNN_NORM_LAYER});
    x = gnn__append_activation(steps, b, "mlp.2", NULL, GNN_RELU);
    return gnn__append_linear(steps, b, "mlp.4", x, b->hidden, out, GNN_OFF);
}

/* The step NAME.aggr_module. */
static const char *gen_aggregate(gnn_steps_t *steps, const gnn_block_t *b, const char *sent,
                                 int64_t out)
{
    const gnn_aggregator_t *a = b->layer.aggregator;
    char name[160];
    if (b->factor == 0)
        return gnn__append_aggregate(steps, b, "aggr_module", sent,
                                     a ? a : &gnn_aggregator_softmax_mean, b->graph, out);
    snprintf(name, sizeof name, "%s.aggr_module", b->name);
    gnn__block_power_mean(
        steps,
        &(gnn_block_t){
            .name = name, .input = sent, .graph = b->graph, .width = out, .factor = b->factor});
    return steps->status == GNN_OK ? steps->list[steps->count - 1].name : "";
}

void gnn__block_gen(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t out = b->out > 0 ? b->out : b->width;
    const char *x = gnn__block_input(steps, b), *sent = x;
    gnn__block_need(steps, b, "width", b->width > 0);
    gnn__block_need(steps, b, "factor or .layer.aggregator, not both",
                    b->factor == 0 || !b->layer.aggregator);
    gnn__block_need(steps, b, "hidden where .layer.norm is given",
                    b->hidden > 0 || b->layer.norm == GNN_NORM_DEFAULT);
    gnn__block_need(steps, b, "layer.norm other than none", b->layer.norm != GNN_NORM_NONE);
    if (out != b->width) {
        sent = gnn__append_linear(steps, b, "lin_src", x, b->width, out, GNN_OFF);
        x = gnn__append_linear(steps, b, "lin_dst", x, b->width, out, GNN_OFF);
    }
    sent = gnn__append_activation(steps, b, "message", sent, GNN_RELU);
    sent = gnn__append_op(steps, b, "shifted", &gnn_op_power, (const char *[3]){sent}, 1, 1e-7);
    x = gnn__append_add(steps, b, "sum", gen_aggregate(steps, b, sent, out), x, 1);
    gnn__append_alias(steps, b, "", gen_mlp(steps, b, x, out));
}

/* deep_gcn: x + gen(dropout(relu(norm(x)))) with norm layer.norm [layer]. Li et al. 2020
 * (DeeperGCN, res+). */

void gnn__block_deep_gcn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const char *x = gnn__block_input(steps, b);
    gnn_block_t conv = *b;
    char name[160];
    gnn__block_need(steps, b, "width", b->width > 0);
    conv.input = gnn__block_add(steps, b, "norm",
                                (gnn_step_t){.kind = GNN_STEP_NORM,
                                             .inputs = {x},
                                             .in = b->width,
                                             .norm = b->layer.norm ? b->layer.norm : GNN_NORM_LAYER});
    conv.input = gnn__append_activation(steps, b, "act", conv.input, GNN_RELU);
    if (b->dropout > 0)
        conv.input = gnn__block_add(
            steps, b, "dropout",
            (gnn_step_t){.kind = GNN_STEP_DROPOUT, .inputs = {conv.input}, .rate = b->dropout});
    snprintf(name, sizeof name, "%s.conv", b->name);
    conv.name = name;
    conv.out = b->width;
    if (b->hidden == 0)
        conv.layer.norm = GNN_NORM_DEFAULT;
    gnn__block_gen(steps, &conv);
    if (steps->status == GNN_OK)
        gnn__append_add(steps, b, "", steps->list[steps->count - 1].name, x, 1);
}

/* mf: y_i = W_d sum over j of x_j + b_d + V_d x_i, where d is the in-degree of i, at most `hops`.
 * Rows are sorted by degree, so that each is multiplied with its degree's weights alone. Duvenaud
 * et al. 2015 (neural fingerprints). */

enum { DEGREES_AT_ONCE = 8 };

/* Larger degrees have the weights of the last. */
static double most_of(int64_t d, int64_t last)
{
    return d == last ? 1e30 : (double)d;
}

/* The products of the rows of degree d. */
static const char *of_degree(gnn_steps_t *steps, const gnn_block_t *b, const char *const in[2],
                             int64_t d, int64_t last, int64_t out)
{
    static const char *const picked[] = {"heard.", "own."}, *const maps[] = {"lins_l.", "lins_r."};
    const char *y[2];
    for (int k = 0; k < 2; k++) {
        y[k] = gnn__append_op(steps, b, gnn__numbered(picked[k], d, "").text, &gnn_op_rows_of_degree,
                              (const char *[3]){in[k]}, (double)d, most_of(d, last));
        y[k] = gnn__append_linear(steps, b, gnn__numbered(maps[k], d, "").text, y[k], b->width, out,
                                  k == 0 ? GNN_ON : GNN_OFF);
    }
    return gnn__append_add(steps, b, gnn__numbered("both.", d, "").text, y[0], y[1], 1);
}

/* Rows of degrees d .. d + 7 back at their positions. */
static const char *place_by_degree(gnn_steps_t *steps, const gnn_block_t *b,
                                   const char *const of[DEGREES_AT_ONCE], int64_t d, double most)
{
    return gnn__block_add(
        steps, b, gnn__numbered("placed.", d, "").text,
        (gnn_step_t){.kind = GNN_STEP_OP,
                     .op = &gnn_op_place_by_degree,
                     .inputs = {of[0], of[1], of[2], of[3], of[4], of[5], of[6], of[7]},
                     .graph = b->graph,
                     .options = {(double)d, most}});
}

void gnn__block_mf(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t last = b->hops > 0 ? b->hops : 1, out = b->out > 0 ? b->out : b->width;
    const char *in[2] = {NULL, gnn__block_input(steps, b)}, *sum = NULL;
    gnn__block_need(steps, b, "width", b->width > 0);
    in[0] = gnn__append_aggregate(steps, b, "heard", in[1], &gnn_aggregator_sum, b->graph, b->width);
    for (int64_t d = 0; d <= last; d += DEGREES_AT_ONCE) {
        const char *of[DEGREES_AT_ONCE] = {NULL};
        int64_t count = 0;
        for (; count < DEGREES_AT_ONCE && d + count <= last; count++)
            of[count] = of_degree(steps, b, in, d + count, last, out);
        const char *y = place_by_degree(steps, b, of, d, most_of(d + count - 1, last));
        sum = sum ? gnn__append_add(steps, b, gnn__numbered("sum.", d, "").text, sum, y, 1) : y;
    }
    gnn__append_alias(steps, b, "", sum);
}

/* pinsage: n_i = sum over j of a_ij relu(Q x_j + q) / sum of a_ij, y = relu(W [x_i, n_i] + w) /
 * |..|; a: edge_weight, `hidden` columns of a message. Ying et al. 2018. */

void gnn__block_pinsage(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, hidden = b->hidden > 0 ? b->hidden : in,
                  out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *sent = gnn__append_linear(steps, b, "message", x, in, hidden, GNN_ON);
    sent = gnn__append_activation(steps, b, "sent", sent, GNN_RELU);
    sent = gnn__block_add(steps, b, "heard",
                          (gnn_step_t){.inputs = {sent},
                                       .graph = b->graph,
                                       .edge_weight = b->edge_weight,
                                       .layer = {.in = hidden,
                                                 .out = hidden,
                                                 .message = &gnn_message_none,
                                                 .aggregator = &gnn_aggregator_sum,
                                                 .update = &gnn_update_none,
                                                 .graph_norm = GNN_GRAPH_NORM_ROW,
                                                 .bias_out = GNN_OFF}});
    x = gnn__append_concat(steps, b, "both", (const char *[8]){x, sent});
    x = gnn__append_linear(steps, b, "out", x, in + hidden, out, GNN_ON);
    x = gnn__append_activation(steps, b, "rectified", x, GNN_RELU);
    gnn__block_add(steps, b, "",
                   (gnn_step_t){.kind = GNN_STEP_NORM, .inputs = {x}, .in = out, .norm = GNN_NORM_L2});
}

/* gmm: the mean over j of sum over k of w_k(e_ij) x_j G_k, plus x_i R + b; w_k are `rows` Gaussians
 * of the edge features with learned centres and widths. Each kernel is a separate weighted mean, so
 * that no value has one row per edge and kernel. Monti et al. 2017 (MoNet). */

/* The mean over j of w_k(e_ij) z_jk. */
static const char *kernel_mean(gnn_steps_t *steps, const gnn_block_t *b, const char *z,
                               const char *w, int64_t k, int64_t out)
{
    const char *weight = gnn__append_columns(steps, b, gnn__numbered("weight.", k, "").text, w, k, 1),
               *sent = gnn__append_columns(steps, b, gnn__numbered("sent.", k, "").text, z, k * out,
                                           out);
    return gnn__block_add(steps, b, gnn__numbered("heard.", k, "").text,
                          (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                                       .inputs = {sent},
                                       .edge_weight = weight,
                                       .graph = b->graph,
                                       .layer = {.in = out, .aggregator = &gnn_aggregator_mean}});
}

void gnn__block_gmm(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in, kernels = b->rows > 0 ? b->rows : 1;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges and .edge_width",
                    in > 0 && b->edges && b->edge_width > 0);
    const char *mu = gnn__append_rows(steps, b, "mu", kernels, b->edge_width),
               *sigma = gnn__append_rows(steps, b, "sigma", kernels, b->edge_width),
               *w = gnn__append_op(steps, b, "kernels", &gnn_op_gaussian,
                                   (const char *[3]){b->edges, mu, sigma}, 0, 0),
               *z = gnn__append_linear(steps, b, "g", x, in, kernels * out, GNN_OFF),
               *sum = gnn__append_linear(steps, b, "root", x, in, out, GNN_OFF);
    for (int64_t k = 0; k < kernels; k++)
        sum = gnn__append_add(steps, b, gnn__numbered("sum.", k, "").text,
                              kernel_mean(steps, b, z, w, k, out), sum, 1);
    gnn__append_bias(steps, b, "", sum, out);
}

/* edgeconv: layer.aggregator [max] over j of mlp([x_i, x_j - x_i]): two products with a relu
 * between, or one and a relu if `hidden` is 0. Wang et al. 2019 (DGCNN). */

void gnn__block_edgeconv(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    /* [x_i, x_j - x_i] W = x_i (W_1 - W_2) + x_j W_2: products of nodes, not of edges. */
    const int64_t width = b->hidden > 0 ? b->hidden : out;
    const char *own = gnn__append_linear_rows(steps, b, "nn.0", NULL, x, 0, in, 2 * in, width),
               *sent = gnn__append_linear_rows(steps, b, "nn.0", "sent", x, in, in, 2 * in, width);
    own = gnn__append_add(steps, b, "own", own, sent, -1);
    own = gnn__append_edge_rows(steps, b, "receivers", own, GNN_SIDE_RECEIVERS);
    sent = gnn__append_edge_rows(steps, b, "senders", sent, GNN_SIDE_SENDERS);
    const char *z = gnn__append_add(steps, b, "pair", own, sent, 1);
    z = gnn__append_activation(steps, b, "nn.1", z, GNN_RELU);
    if (b->hidden > 0)
        z = gnn__append_linear(steps, b, "nn.2", z, b->hidden, out, GNN_ON);
    gnn__append_aggregate(steps, b, "", z,
                          b->layer.aggregator ? b->layer.aggregator : &gnn_aggregator_max,
                          gnn__block_graph(b, 0), out);
}

/* film: the mean over j of relu(g_i W x_j + b_i), [b_i, g_i] = F x_i + f, plus the same of i itself
 * with separate weights. Brockschmidt 2020 (GNN-FiLM). */

/* relu(g z + b), [b, g] = `film`. */
static const char *modulated(gnn_steps_t *steps, const gnn_block_t *b, const char *prefix,
                             const char *film, const char *z, int64_t out)
{
    char part[4][64];
    static const char *const names[] = {"beta", "gamma", "product", "sum"};
    for (int k = 0; k < 4; k++)
        snprintf(part[k], sizeof part[k], "%s.%s", prefix, names[k]);
    const char *beta = gnn__append_columns(steps, b, part[0], film, 0, out),
               *gamma = gnn__append_columns(steps, b, part[1], film, out, out);
    z = gnn__append_multiply(steps, b, part[2], z, gamma);
    z = gnn__append_add(steps, b, part[3], z, beta, 1);
    return gnn__append_activation(steps, b, prefix, z, GNN_RELU);
}

void gnn__block_film(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    const char *skip = gnn__append_linear(steps, b, "lin_skip", x, in, out, GNN_OFF),
               *own = gnn__append_linear(steps, b, "film_skip", x, in, 2 * out, GNN_OFF);
    own = modulated(steps, b, "own", own, skip, out);
    const char *sent = gnn__append_linear(steps, b, "lins.0", x, in, out, GNN_OFF),
               *film = gnn__append_linear(steps, b, "films.0", x, in, 2 * out, GNN_ON);
    sent = gnn__append_edge_rows(steps, b, "senders", sent, GNN_SIDE_SENDERS);
    film = gnn__append_edge_rows(steps, b, "receivers", film, GNN_SIDE_RECEIVERS);
    const char *message = modulated(steps, b, "message", film, sent, out),
               *gathered = gnn__append_aggregate(steps, b, "heard", message, &gnn_aggregator_mean,
                                                 gnn__block_graph(b, 0), out);
    gnn__append_add(steps, b, "", own, gathered, 1);
}

/* cg: x_i + sum over j of sigmoid(W_f z + b_f) softplus(W_s z + b_s), z = [x_i, x_j, e_ij]. Xie and
 * Grossman 2018 (CGCNN). */

/* z W + b: products of nodes, gathered to edges, plus a product of edge features. */
static const char *pair_linear(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                               const char *x)
{
    const int64_t in = b->width, more = b->edges ? b->edge_width : 0, all = 2 * in + more;
    char name[6][32];
    static const char *const parts[] = {"to", "sent", "from", "pair", "edges", "sum"};
    for (int k = 0; k < 6; k++)
        snprintf(name[k], sizeof name[k], "%s.%s", part, parts[k]);
    const char *to = gnn__append_linear_rows(steps, b, part, NULL, x, 0, in, all, in),
               *from = gnn__append_linear_rows(steps, b, part, name[1], x, in, in, all, in);
    to = gnn__append_edge_rows(steps, b, name[0], to, GNN_SIDE_RECEIVERS);
    from = gnn__append_edge_rows(steps, b, name[2], from, GNN_SIDE_SENDERS);
    const char *z = gnn__append_add(steps, b, name[3], to, from, 1);
    if (more == 0)
        return z;
    const char *e = gnn__append_linear_rows(steps, b, part, name[4], b->edges, 2 * in, more, all, in);
    return gnn__append_add(steps, b, name[5], z, e, 1);
}

void gnn__block_cg(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width", in > 0);
    gnn__block_need(steps, b, "edges with .edge_width", !b->edges == !b->edge_width);
    const char *gate = pair_linear(steps, b, "lin_f", x), *value = pair_linear(steps, b, "lin_s", x);
    gate = gnn__append_activation(steps, b, "gate", gate, GNN_SIGMOID);
    value = gnn__append_activation(steps, b, "value", value, GNN_SOFTPLUS);
    value = gnn__append_multiply(steps, b, "message", value, gate);
    value = gnn__append_aggregate(steps, b, "heard", value, &gnn_aggregator_sum,
                                  gnn__block_graph(b, 0), in);
    gnn__append_add(steps, b, "", value, x, 1);
}

/* nnconv: layer.aggregator [sum] over j of x_j M(e_ij), plus x_i R + b; the matrix M is an mlp of
 * the edge features with `hidden` inner columns. Gilmer et al. 2017 (MPNN), Simonovsky and
 * Komodakis 2017. */

void gnn__block_nnconv(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b);
    gnn__block_need(steps, b, "width, .edges, .edge_width and .hidden",
                    in > 0 && b->edges && b->edge_width > 0 && b->hidden > 0);
    const char *m = gnn__append_linear(steps, b, "nn.0", b->edges, b->edge_width, b->hidden, GNN_ON);
    m = gnn__append_activation(steps, b, "nn.1", m, GNN_RELU);
    m = gnn__append_linear(steps, b, "nn.2", m, b->hidden, in * out, GNN_ON);
    const char *z = gnn__append_edge_rows(steps, b, "senders", x, GNN_SIDE_SENDERS);
    z = gnn__append_op(steps, b, "message", &gnn_op_row_matrix, (const char *[3]){z, m}, 0, 0);
    z = gnn__append_aggregate(steps, b, "heard", z,
                              b->layer.aggregator ? b->layer.aggregator : &gnn_aggregator_sum,
                              gnn__block_graph(b, 0), out);
    x = gnn__append_linear(steps, b, "lin", x, in, out, GNN_OFF);
    z = gnn__append_add(steps, b, "sum", z, x, 1);
    gnn__append_bias(steps, b, "", z, out);
}

/* pna: up to 4 aggregators, concatenated, each times the degree scalers 1, log(d + 1) / theta and
 * theta / log(d + 1), where theta is the mean of log(d + 1) over the training graphs. Messages are
 * p_i + c_j, a product of [x_i, x_j]; for most aggregators the result follows from that of c_j, so
 * that no value has one row per edge. Then a product of [x_i, all of them] and one more. Corso et
 * al. 2020. */

/* x times a column of degree factors. */
static const char *scaled_by_degree(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                                    const char *gathered, const char *log_degree, double power)
{
    const gnn__part_name_t factor = gnn__numbered(part, 0, "");
    const double theta = (double)b->theta;
    const char *column = gnn__append_op(steps, b, factor.text, &gnn_op_power,
                                        (const char *[3]){log_degree}, power, 0);
    column = gnn__append_scale(steps, b, gnn__numbered(part, 1, "").text, column,
                               (gnn_real_t)(power > 0 ? 1 / theta : theta));
    return gnn__append_multiply(steps, b, part, gathered, column);
}

/* The aggregate of p_i + c_j over j from that of c_j: mean, max and min have p_i added if i
 * has senders; variances do not change. */
typedef enum { SHIFTED, UNCHANGED, OTHER } shift_t;

static shift_t shift_of(const gnn_aggregator_t *a)
{
    if (a == &gnn_aggregator_mean || a == &gnn_aggregator_max || a == &gnn_aggregator_min)
        return SHIFTED;
    return a == &gnn_aggregator_std || a == &gnn_aggregator_var ? UNCHANGED : OTHER;
}

/* Aggregator `count` of p_i + c_j; `own` is p_i, 0 for receivers without senders. */
static const char *pna_aggregate(gnn_steps_t *steps, const gnn_block_t *b, int64_t count,
                                 const char *own, const char *sent)
{
    const gnn_aggregator_t *a = b->aggregators[count];
    const gnn__part_name_t name = gnn__numbered("heard.", count, "");
    if (shift_of(a) == UNCHANGED)
        return gnn__append_aggregate(steps, b, name.text, sent, a, b->graph, b->width);
    if (shift_of(a) == SHIFTED) {
        sent = gnn__append_aggregate(steps, b, gnn__numbered("sent.", count, "").text, sent, a,
                                     b->graph, b->width);
        return gnn__append_add(steps, b, name.text, sent, own, 1);
    }
    own = gnn__append_edge_rows(steps, b, gnn__numbered("to.", count, "").text, own,
                                GNN_SIDE_RECEIVERS);
    sent = gnn__append_edge_rows(steps, b, gnn__numbered("from.", count, "").text, sent,
                                 GNN_SIDE_SENDERS);
    own = gnn__append_add(steps, b, gnn__numbered("message.", count, "").text, own, sent, 1);
    return gnn__append_aggregate(steps, b, name.text, own, a, gnn__block_graph(b, 0), b->width);
}

void gnn__block_pna(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in;
    const char *x = gnn__block_input(steps, b), *parts[8] = {NULL};
    int64_t count = 0;
    gnn__block_need(steps, b, "width, .theta and .aggregators",
                    in > 0 && b->theta > 0 && b->aggregators[0]);
    const char *own = gnn__append_linear_rows(steps, b, "pre_nns.0.0", NULL, x, 0, in, 2 * in, in),
               *sent =
                   gnn__append_linear_rows(steps, b, "pre_nns.0.0", "sent", x, in, in, 2 * in, in),
               *has_senders =
                   gnn__append_op(steps, b, "senders", &gnn_op_degree, (const char *[3]){x}, 0, 0);
    has_senders = gnn__append_op(steps, b, "hears", &gnn_op_between, (const char *[3]){has_senders},
                                 0.5, 1e30);
    own = gnn__append_multiply(steps, b, "own", own, has_senders);
    for (; count < 4 && b->aggregators[count]; count++)
        parts[count] = pna_aggregate(steps, b, count, own, sent);
    const char *gathered = gnn__append_concat(steps, b, "heard", parts),
               *degree =
                   gnn__append_op(steps, b, "degree", &gnn_op_degree, (const char *[3]){x}, 0, 1),
               *log_degree = gnn__append_op(steps, b, "log_degree", &gnn_op_log,
                                            (const char *[3]){degree}, 1, 0),
               *more = scaled_by_degree(steps, b, "amplified", gathered, log_degree, 1),
               *less = scaled_by_degree(steps, b, "attenuated", gathered, log_degree, -1),
               *all = gnn__append_concat(steps, b, "all", (const char *[8]){x, gathered, more, less});
    const char *z =
        gnn__append_linear(steps, b, "post_nns.0.0", all, (1 + 3 * count) * in, out, GNN_ON);
    gnn__append_alias(steps, b, "", gnn__append_linear(steps, b, "lin", z, out, out, GNN_ON));
}
