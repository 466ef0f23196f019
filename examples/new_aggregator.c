/*
 * An aggregator written outside the library: the smooth maximum, or log-mean-exp,
 *
 *     y = 1/t  log( 1/n  sum over j of exp(t m_j) )
 *
 * which is the mean for t -> 0 and the maximum for t -> infinity. Four small functions make it work
 * on every graph, forward and backward. The program checks its gradient against finite differences
 * and trains it on the karate club.
 */
#include <gnn/gnn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* State of a receiver: per feature the running maximum of t m, and the sum of exp(t m - maximum);
 * then the count of messages. */
static size_t state(const gnn_aggregate_shape_t *shape)
{
    return (size_t)(2 * shape->width + 1);
}

static void accumulate(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_edge_t *edge)
{
    gnn_real_t *largest = s, *sum = s + shape->width, *heard = sum + shape->width;
    for (int64_t k = 0; k < shape->width; k++) {
        gnn_real_t m = (gnn_real_t)shape->options[0] * edge->message[k];
        if (*heard == 0 || m > largest[k]) {
            sum[k] = *heard == 0 ? 1 : sum[k] * (gnn_real_t)exp((double)(largest[k] - m)) + 1;
            largest[k] = m;
        } else {
            sum[k] += (gnn_real_t)exp((double)(m - largest[k]));
        }
    }
    *heard += 1;
}

static void finish(const gnn_aggregate_shape_t *shape, gnn_real_t *s, gnn_real_t *out)
{
    const gnn_real_t *largest = s, *sum = s + shape->width, heard = sum[shape->width];
    for (int64_t k = 0; k < shape->width; k++)
        out[k] =
            (gnn_real_t)(((double)largest[k] + log((double)(sum[k] / heard))) / shape->options[0]);
}

/* dy / dm_j = exp(t m_j) / sum of exp(t m): accumulate_grad needs the logarithm of that sum, and
 * dy. */
static void finish_grad(const gnn_aggregate_shape_t *shape, gnn_real_t *s, const gnn_real_t *out,
                        const gnn_real_t *d_out)
{
    gnn_real_t *log_sum = s, *d = s + shape->width;
    (void)out;
    for (int64_t k = 0; k < shape->width; k++) {
        log_sum[k] += (gnn_real_t)log((double)d[k]);
        d[k] = d_out[k];
    }
}

static void accumulate_grad(const gnn_aggregate_shape_t *shape, const gnn_real_t *s,
                            const gnn_edge_t *edge, gnn_edge_grad_t *grad)
{
    const gnn_real_t *log_sum = s, *d = s + shape->width;
    if (!grad->message)
        return;
    for (int64_t k = 0; k < shape->width; k++)
        grad->message[k] +=
            d[k] * (gnn_real_t)exp(shape->options[0] * (double)edge->message[k] - (double)log_sum[k]);
}

static const gnn_option_t options[] = {
    {"sharpness", 2, 1e-3, 100, "from the mean (small) to the maximum (large)", GNN_OPTION_REAL}};

static const gnn_aggregator_t smooth_max = {
    .name = "smooth_max",
    .paper = "Li et al. 2020, DeeperGCN (softmax aggregation, integrated)",
    .help = "log of the mean of exponentials",
    .options = options,
    .n_options = 1,
    .state = state,
    .accumulate = accumulate,
    .finish = finish,
    .finish_grad = finish_grad,
    .accumulate_grad = accumulate_grad};

/* loss = sum(y * weights); *d_loss (may be NULL) receives its derivative by the first parameter of
 * the layer. */
static int loss_of(gnn_layer_t *layer, gnn_context_t *context, const gnn_graph_t *graph,
                   const gnn_tensor_t *x, const gnn_tensor_t *weights, int backward, double *loss)
{
    gnn_tape_t *tape;
    GNN_TRY(gnn_tape_new(&tape, context));
    gnn_tape_reset(tape, backward, 0);
    gnn_var_t input = gnn_tape_input(tape, x, 0);
    gnn_var_t y = gnn_layer_record(
        layer, tape, graph, &(gnn_layer_vars_t){GNN_NONE, input, GNN_NONE, GNN_NONE, GNN_NONE});
    gnn_tape_keep(tape, y);
    int rc = gnn_tape_forward(tape);
    *loss = 0;
    for (int64_t k = 0; rc == GNN_OK && k < weights->rows * weights->cols; k++) {
        gnn_tensor_t value = gnn_tape_value(tape, y);
        *loss += (double)value.data[k / value.cols * value.stride + k % value.cols] *
                 (double)weights->data[k];
    }
    if (rc == GNN_OK && backward)
        rc = gnn_tape_backward(tape, y, weights);
    gnn_tape_free(tape);
    return rc;
}

/* Maximum difference between the gradient and central differences, relative to the largest
 * gradient. */
static int check_gradient(gnn_context_t *context, gnn_data_t *data, double *error)
{
    enum { IN = 5, OUT = 3 };
    const gnn_real_t step = GNN_DOUBLE ? (gnn_real_t)1e-5 : (gnn_real_t)1e-2;
    gnn_layer_t *layer;
    GNN_TRY(gnn_layer_new(&layer, context,
                          &GNN_CONFIG(.in = IN, .out = OUT, .aggregator = &smooth_max)));
    int rc = gnn_layer_prepare(layer, gnn_data_graph(data), GNN_ON);
    gnn_tensor_t x = gnn_tensor(calloc((size_t)(gnn_data_nodes(data) * (IN + OUT)), sizeof *x.data),
                                gnn_data_nodes(data), IN),
                 value, gradient;
    gnn_tensor_t weights = gnn_tensor(x.data + gnn_data_nodes(data) * IN, gnn_data_nodes(data), OUT);
    for (int64_t k = 0; k < gnn_data_nodes(data) * (IN + OUT); k++)
        x.data[k] = (gnn_real_t)sin(1.7 * (double)k * (double)k);
    double loss, worst = 0, largest = 0;
    if (rc == GNN_OK)
        rc = gnn_layer_field(layer, gnn_layer_field_name(layer, 0), &value, &gradient);
    if (rc == GNN_OK)
        rc = loss_of(layer, context, gnn_data_graph(data), &x, &weights, 1, &loss);
    for (int64_t k = 0; rc == GNN_OK && k < value.rows * value.cols; k++) {
        gnn_real_t *at = value.data + k / value.cols * value.stride + k % value.cols, was = *at;
        double up = 0, down = 0,
               claimed = (double)gradient.data[k / value.cols * gradient.stride + k % value.cols];
        *at = was + step;
        rc = loss_of(layer, context, gnn_data_graph(data), &x, &weights, 0, &up);
        *at = was - step;
        if (rc == GNN_OK)
            rc = loss_of(layer, context, gnn_data_graph(data), &x, &weights, 0, &down);
        *at = was;
        worst = fmax(worst, fabs((up - down) / (2 * (double)step) - claimed));
        largest = fmax(largest, fabs(claimed));
    }
    *error = worst / largest;
    free(x.data);
    gnn_layer_free(layer);
    return rc;
}

static int run(gnn_context_t *context, gnn_data_t **data, gnn_model_t **model)
{
    double error, accuracy;
    GNN_TRY(gnn_data_karate(data));
    GNN_TRY(check_gradient(context, *data, &error));
    printf("gradient against finite differences: relative error %.1e\n", error);
    GNN_TRY(gnn_model_new(model, context, 2,
                          (gnn_layer_config_t[]){{.in = gnn_data_features(*data),
                                                  .out = 16,
                                                  .aggregator = &smooth_max,
                                                  .self_loops = GNN_ON,
                                                  .activation = GNN_RELU},
                                                 {.in = 16,
                                                  .out = gnn_data_classes(*data),
                                                  .aggregator = &smooth_max,
                                                  .self_loops = GNN_ON,
                                                  .options = {5}}}));
    GNN_TRY(gnn_train(*model, context, *data,
                      &(gnn_train_config_t){.optimizer.weight_decay = (gnn_real_t)5e-4}, NULL));
    GNN_TRY(gnn_evaluate(*model, context, *data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy));
    printf("test accuracy %.1f\n", 100 * accuracy);
    return GNN_OK;
}

int main(void)
{
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    gnn_model_t *model = NULL;
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.seed = 1});
    if (rc == GNN_OK)
        rc = run(context, &data, &model);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    if (rc != GNN_OK)
        fprintf(stderr, "new_aggregator: %s%s%s\n", gnn_error_string(rc),
                *gnn_error_message() ? ": " : "", gnn_error_message());
    gnn_model_free(model);
    gnn_data_free(data);
    gnn_context_free(context);
    if (fflush(stdout) != 0) {
        perror("new_aggregator");
        return EXIT_FAILURE;
    }
    return rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
