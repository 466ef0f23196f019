/* The set and the network of explain. */
#include "explain.h"
#include "program.h"
#include "scale.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int open_set(subject_t *s, const options_t *o)
{
    if (strcmp(o->data, "shapes") == 0)
        return gnn_data_ba_shapes(&s->data, &(gnn_ba_shapes_t){.seed = (uint64_t)o->seed + 1});
    return program_open_set(&s->data, o->data, o->directed);
}

static int make(subject_t *s, const options_t *o)
{
    gnn_layer_config_t layers[8];
    const gnn_preset_t preset = gnn_preset_find(o->layer);
    int64_t in = gnn_data_features(s->data);
    if (preset == GNN_PRESET_NONE)
        return GNN_ENOTFOUND;
    for (int64_t k = 0; k < o->layers; k++) {
        const int last = k + 1 == o->layers;
        layers[k] = (gnn_layer_config_t){.preset = preset,
                                         .in = in,
                                         .out = last ? gnn_data_classes(s->data) : o->hidden,
                                         .heads = last ? 1 : o->heads,
                                         .dropout = (gnn_real_t)o->dropout,
                                         .activation = last ? GNN_IDENTITY : GNN_ELU};
        gnn_layer_config_t full;
        GNN_TRY(gnn_layer_config_resolve(&full, &layers[k]));
        in = o->hidden * full.heads;
    }
    return gnn_model_new(&s->model, s->context, o->layers, layers);
}

static int train(subject_t *s, const options_t *o)
{
    program_catch_interrupt();
    GNN_TRY(gnn_train(s->model, s->context, s->data,
                      &(gnn_train_config_t){.epochs = o->epochs,
                                            .optimizer.lr = (gnn_real_t)o->lr,
                                            .optimizer.weight_decay = (gnn_real_t)o->weight_decay,
                                            .stop = &program_stopped},
                      NULL));
    program_let_interrupt();
    GNN_TRY(scale_note(s->model, s->scale, 0, s->data, graph_as_stored(o->directed)));
    return o->save ? program_save_model("explain", o->save, s->model) : GNN_OK;
}

/* All inputs that a model may name, as in gnn_train: the set's graph in every slot. */
static int gather(subject_t *s)
{
    const int64_t m = gnn_graph_n_edges(gnn_data_graph(s->data));
    const int slots = gnn_model_graph_count(s->model);
    int64_t arrays = 0;
    while (gnn_data_array_at(s->data, arrays, NULL))
        arrays++;
    s->graphs = calloc((size_t)slots + 1, sizeof *s->graphs);
    s->values = calloc((size_t)arrays + 1, sizeof *s->values);
    s->src = calloc((size_t)m + 1, sizeof *s->src);
    s->dst = calloc((size_t)m + 1, sizeof *s->dst);
    int64_t *pairs = calloc(3 * (size_t)m + 1, sizeof *pairs);
    int rc = s->graphs && s->values && s->src && s->dst && pairs ? GNN_OK : GNN_EMEMORY;
    if (rc == GNN_OK)
        rc = gnn_graph_pairs(gnn_data_graph(s->data), pairs, pairs + m, pairs + 2 * m);
    for (int64_t k = 0; rc == GNN_OK && k < m; k++) {
        s->src[pairs[2 * m + k]] = pairs[k];
        s->dst[pairs[2 * m + k]] = pairs[m + k];
    }
    free(pairs);
    GNN_TRY(rc);
    int64_t n = 0;
    s->values[n++] =
        (gnn_named_t){.name = "x", .dense = gnn_data_x(s->data), .sparse = gnn_data_sparse(s->data)};
    for (int64_t k = 0; k < arrays; k++) {
        gnn_data_place_t place;
        const char *name = gnn_data_array_at(s->data, k, &place)->name;
        const gnn_tensor_t *rows = gnn_data_rows(s->data, place, name);
        if (rows)
            s->values[n++] = (gnn_named_t){.name = name, .dense = rows};
    }
    for (int slot = 0; slot < slots; slot++) {
        s->graphs[slot] = gnn_data_graph(s->data);
        GNN_TRY(gnn_model_prepare(s->model, slot, gnn_data_graph(s->data), GNN_ON));
    }
    s->inputs = (gnn_model_inputs_t){s->graphs, slots, s->values, n};
    return GNN_OK;
}

/* The first test node; -1: none. */
static int64_t first_test_node(const gnn_data_t *data)
{
    const uint8_t *test = gnn_data_mask(data, GNN_TEST, 0);
    for (int64_t i = 0; test && i < gnn_data_nodes(data); i++)
        if (test[i])
            return i;
    return -1;
}

/* The node that is explained first; -1 after a message: there is none. */
static int64_t node_of(const subject_t *s, const options_t *o)
{
    const int64_t nodes = gnn_data_nodes(s->data);
    const int64_t node = o->fidelity > 0 ? first_test_node(s->data) : o->node;
    if (node >= 0 && node < nodes)
        return node;
    if (o->fidelity > 0)
        fprintf(stderr, "--fidelity: %s has no test nodes\n", gnn_data_name(s->data));
    else
        fprintf(stderr, "explain: --node %lld, %s has nodes 0 to %lld\n", (long long)node,
                gnn_data_name(s->data), (long long)nodes - 1);
    return -1;
}

/* Explains a node by the network as it is, so that what cannot be explained is an error before the
 * training. */
static int rehearse(const subject_t *s, const options_t *o, int64_t node)
{
    options_t once = *o;
    gnn_explanation_t *why;
    once.masks = 1;
    GNN_TRY(subject_explain(s, &once, node, NULL, &why));
    gnn_explanation_free(why);
    return GNN_OK;
}

static int check_set(const subject_t *s)
{
    if (gnn_data_features(s->data) > 0 && gnn_data_classes(s->data) > 0)
        return GNN_OK;
    static const char *const kinds[] = {[GNN_LABELS_NONE] = "no labels",
                                        [GNN_LABELS_SEVERAL] = "several labels per node",
                                        [GNN_LABELS_REAL] = "real values as labels"};
    fprintf(stderr, "explain: %s has %s: features and a class per node are expected\n",
            gnn_data_name(s->data),
            gnn_data_features(s->data) == 0 ? "no features" : kinds[gnn_data_label_kind(s->data)]);
    return PROGRAM_REFUSED;
}

int subject_open(subject_t *s, const options_t *o)
{
    *s = (subject_t){.accuracy = NAN};
    GNN_TRY(gnn_context_new(&s->context, &(gnn_context_config_t){.threads = (int)o->threads,
                                                                 .seed = (uint64_t)o->seed}));
    GNN_TRY(open_set(s, o));
    GNN_TRY(check_set(s));
    const int64_t node = node_of(s, o);
    if (node < 0)
        return PROGRAM_REFUSED;
    int scale = o->scale, blocks;
    if (o->load) {
        GNN_TRY(gnn_model_load(&s->model, s->context, o->load));
        GNN_TRY(scale_of_model("explain", o->load, s->model, s->data, graph_as_stored(o->directed),
                               &scale, &blocks));
    }
    s->scale = (scale_t)scale;
    if (scale == SCALE_AUTO)
        GNN_TRY(scale_for(s->data, &s->scale));
    GNN_TRY(scale_features(s->data, (int)s->scale));
    if (!o->load)
        GNN_TRY(make(s, o));
    if (strcmp(o->data, "shapes") != 0) /* whose motifs are for the score of explanations */
        program_tell_unread("explain", s->model, s->data);
    GNN_TRY(gather(s));
    GNN_TRY(rehearse(s, o, node));
    if (!o->load)
        GNN_TRY(train(s, o));
    return gnn_evaluate(s->model, s->context, s->data, 0, GNN_TEST, GNN_METRIC_ACCURACY,
                        &s->accuracy);
}

void subject_free(subject_t *s)
{
    gnn_model_free(s->model);
    gnn_data_free(s->data);
    gnn_context_free(s->context);
    free(s->graphs);
    free(s->values);
    free(s->src);
    free(s->dst);
}

int subject_explain(const subject_t *s, const options_t *o, int64_t node, const char *method,
                    gnn_explanation_t **why)
{
    const gnn_explain_config_t other = {.method = method ? method : o->method};
    if (strcmp(other.method, "gnn_explainer") != 0)
        return gnn_explain(why, s->model, s->context, &s->inputs, node, &other);
    const gnn_explain_config_t config = {
        .method = other.method,
        .epochs = o->masks,
        .lr = (gnn_real_t)o->mask_lr,
        .edge_size = o->mask_size > 0 ? (gnn_real_t)o->mask_size : GNN_ZERO,
        .edge_entropy = o->mask_entropy > 0 ? (gnn_real_t)o->mask_entropy : GNN_ZERO,
        .seed = (uint64_t)o->seed,
        .features = o->houses || o->edges_alone ? GNN_EXPLAIN_NONE : GNN_EXPLAIN_EACH};
    return gnn_explain(why, s->model, s->context, &s->inputs, node, &config);
}

const char *explain_class_name(const gnn_data_t *data, int64_t k, char room[32])
{
    const char *const *names = gnn_data_class_names(data);
    snprintf(room, 32, k < 0 ? "no class" : "class %lld", (long long)k);
    return names && k >= 0 && k < gnn_data_classes(data) && names[k] ? names[k] : room;
}
