/* A data set as training, evaluation and prediction read it: resolved and checked here once. All
 * sources of batches of a set read the result. */
#include <gnn/collection.h>
#include <lib/data/data.h>
#include <lib/train/training_set.h>
#include <math.h>

/* ---- what models read ---- */

/* "x", then the set's arrays of reals in its order. */
static int list_inputs(gnn__training_set_t *set, const gnn_data_t *data)
{
    const int64_t arrays = data->n_arrays;
    GNN_TRY(gnn__new(&set->inputs, arrays + 1, sizeof *set->inputs, "a model's inputs"));
    set->inputs[set->n_inputs++] = (gnn__data_input_t){
        .whole = {.name = "x", .dense = gnn_data_x(data), .sparse = gnn_data_sparse(data)},
        .place = GNN_ON_NODES};
    for (int64_t k = 0; k < arrays; k++) {
        gnn_data_place_t place;
        const char *name = gnn_data_array_at(data, k, &place)->name;
        const gnn_tensor_t *rows = gnn_data_rows(data, place, name);
        if (rows)
            set->inputs[set->n_inputs++] =
                (gnn__data_input_t){.whole = {.name = name, .dense = rows}, .place = place};
    }
    return GNN_OK;
}

static int list_graphs(gnn__training_set_t *set, const gnn_model_t *model, const gnn_data_t *data)
{
    set->n_slots = gnn_model_graph_count(model);
    set->several = data->n_slots > 0 && data->n_slots == set->n_slots;
    GNN_TRY(gnn__new(&set->graphs, set->n_slots, sizeof(gnn_graph_t *), "a model's graphs"));
    for (int slot = 0; slot < set->n_slots; slot++)
        set->graphs[slot] = set->several ? data->slots[slot] : data->graph;
    return GNN_OK;
}

static int check_rank(const gnn_data_t *data, const gnn_context_t *context)
{
    const gnn__data_rank_t *rank = data->rank;
    if (!rank)
        return GNN_OK;
    if (!context || !context->ranks)
        return gnn__data_whole(data, context ? "used without ranks"
                                             : "sampled: gnn_data_open of the folder maps all "
                                               "rows, and a rank reads those of its batches");
    const gnn_transport_t *t = context->ranks->transport;
    if (t->ranks != rank->ranks || rank->book[t->rank] != rank->lo)
        return gnn__error(GNN_EINVALID,
                          "ranks: the set was opened for another rank of %d, this is rank %d of %d",
                          rank->ranks, t->rank, t->ranks);
    return GNN_OK;
}

int gnn__training_set_open(gnn__training_set_t *set, const gnn_model_t *model,
                           const gnn_data_t *data, const gnn_context_t *context)
{
    *set = (gnn__training_set_t){0};
    GNN_TRY(check_rank(data, context));
    *set = (gnn__training_set_t){.data = data,
                                 .name = data->name,
                                 .nodes = data->n,
                                 .classes = data->classes,
                                 .graph = data->graph};
    set->ranks = data->rank ? context->ranks : NULL;
    GNN_TRY(list_graphs(set, model, data));
    return list_inputs(set, data);
}

void gnn__training_set_close(gnn__training_set_t *set)
{
    gnn_free(set->graphs);
    gnn_free(set->inputs);
    *set = (gnn__training_set_t){0};
}

gnn__training_set_t gnn__training_set_move(gnn__training_set_t *set)
{
    const gnn__training_set_t moved = *set;
    *set = (gnn__training_set_t){0};
    return moved;
}

int gnn__training_set_slots(const gnn__training_set_t *set)
{
    const int64_t graphs = set->data->n_slots;
    if (graphs == 0 || set->several || set->n_slots <= 1)
        return GNN_OK;
    return gnn__error(GNN_EINVALID, "the model runs on %d graph slots, the set has graphs for %lld",
                      set->n_slots, (long long)graphs);
}

const gnn__data_input_t *gnn__training_set_input(const gnn__training_set_t *set, const char *name)
{
    const gnn__data_input_t *found = NULL;
    for (int64_t k = 0; k < set->n_inputs; k++) {
        const gnn__data_input_t *in = &set->inputs[k];
        if (strcmp(in->whole.name, name) == 0 && (!found || in->place < found->place))
            found = in;
    }
    return found;
}

/* ---- what losses and metrics read ---- */

static const char *const rows_on[] = {
    [GNN_ON_NODES] = "nodes", [GNN_ON_EDGES] = "edges", [GNN_ON_GRAPHS] = "graphs"};

/* The array of targets, or the classes of the rows. */
static int find_truth(gnn__training_set_t *set, const gnn__learnt_t *learnt)
{
    const gnn_data_place_t on = learnt->on;
    set->labels = NULL;
    set->targets = NULL;
    if (learnt->targets) {
        set->targets = gnn_data_rows(set->data, on, learnt->targets);
        return set->targets ? GNN_OK
                            : gnn__error(GNN_EINVALID, "no array of reals on %s is called \"%s\"",
                                         rows_on[on], learnt->targets);
    }
    set->labels = on == GNN_ON_NODES    ? set->data->labels
                  : on == GNN_ON_GRAPHS ? gnn_data_graph_labels(set->data)
                                        : learnt->labels;
    return GNN_OK;
}

static int find_masks(gnn__training_set_t *set, const gnn__learnt_t *learnt)
{
    const int64_t own = gnn_data_splits(set->data);
    const gnn_split_t *splits = learnt->splits;
    if (splits)
        GNN_TRY(gnn__split_fits(splits, set->rows, rows_on[learnt->on], learnt->split));
    else if (learnt->split < 0 || learnt->split >= own)
        return gnn__error(GNN_EINVALID, "split %lld was asked for, the data has %lld",
                          (long long)learnt->split, (long long)own);
    set->split = learnt->split;
    for (int part = GNN_TRAIN; part <= GNN_TEST; part++)
        set->masks[part] = gnn_split_mask(splits ? splits : set->data->split, part, learnt->split);
    return GNN_OK;
}

/* Classes of nodes must be what the metric can tell apart. */
static int check_classes(const gnn__training_set_t *set, gnn_metric_t metric)
{
    const bool two = metric == GNN_METRIC_ROC_AUC || metric == GNN_METRIC_AVERAGE_PRECISION;
    if (set->classes == 1)
        return gnn__error(GNN_EINVALID, "\"%s\" has one class, expected at least 2", set->name);
    if (two && set->classes != 2)
        return gnn__error(GNN_EINVALID, "%s tells two classes apart, the set has %lld",
                          metric == GNN_METRIC_ROC_AUC ? "ROC AUC" : "average precision",
                          (long long)set->classes);
    return GNN_OK;
}

int gnn__training_set_truth(gnn__training_set_t *set, const gnn__learnt_t *learnt)
{
    const int64_t rows[] = {[GNN_ON_NODES] = set->nodes,
                            [GNN_ON_EDGES] = gnn_graph_n_edges(set->graph),
                            [GNN_ON_GRAPHS] = gnn_data_graphs(set->data)};
    set->on = learnt->on;
    set->rows = rows[learnt->on];
    GNN_TRY(find_masks(set, learnt));
    GNN_TRY(find_truth(set, learnt));
    return set->labels && learnt->on == GNN_ON_NODES ? check_classes(set, learnt->metric) : GNN_OK;
}

/* A loss of classes needs labels, one of real values an array; binary cross-entropy takes both. */
static int check_loss(const gnn__training_set_t *set, gnn_loss_kind_t loss)
{
    const char *const rows = rows_on[set->on];
    if (loss == GNN_LOSS_CROSS_ENTROPY && set->targets)
        return gnn__error(GNN_EUNSUPPORTED, "targets are for binary cross-entropy and squared error, "
                                            "not cross-entropy");
    if (set->targets || set->on == GNN_ON_NODES)
        return GNN_OK;
    if (loss != GNN_LOSS_CROSS_ENTROPY && loss != GNN_LOSS_BINARY_CROSS_ENTROPY)
        return gnn__error(GNN_EINVALID,
                          "this loss needs .targets, the name of an array with a row per %.*s",
                          (int)strlen(rows) - 1, rows);
    return set->labels
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "the %s of \"%s\" have no classes", rows, set->name);
}

/* Rejects class weights without a mean. */
static int check_weights(const gnn__training_set_t *set)
{
    const gnn_real_t *weight = set->loss.class_weight;
    for (int64_t c = 0; weight && c < set->classes; c++)
        if (!(weight[c] >= 0) || !isfinite(weight[c]))
            return gnn__error(GNN_EINVALID,
                              "class_weight[%lld] is %g, expected a finite value of at least 0",
                              (long long)c, (double)weight[c]);
    return GNN_OK;
}

/* The lack of a row of the training part ("": it teaches); NULL: it is in another part. */
static const char *lacks(const gnn__training_set_t *set, int64_t row)
{
    const gnn_real_t *weight = set->loss.class_weight;
    const int32_t label = set->labels ? set->labels[row] : -1;
    if (!set->masks[GNN_TRAIN][row])
        return NULL;
    if (set->labels && label < 0)
        return " with a label";
    return weight && label >= 0 && label < set->classes && !(weight[label] > 0)
               ? " whose class weighs anything"
               : "";
}

/* Rejects training parts without a row that teaches. Sources of graphs predict, too: theirs may be
 * empty. */
static int check_training(const gnn__training_set_t *set)
{
    const char *missing = "";
    int64_t teaches = 0;
    for (int64_t r = 0; r < set->rows && !teaches; r++) {
        const char *what = lacks(set, r);
        teaches = what && !*what;
        if (what && *what && (!*missing || strcmp(what, " with a label") != 0))
            missing = what;
    }
    if (set->ranks)
        GNN_TRY(gnn__ranks_total(set->ranks, &teaches));
    const bool predicts = set->on == GNN_ON_GRAPHS && !*missing;
    return teaches || predicts
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "split %lld of \"%s\" has no training %s%s",
                            (long long)set->split, set->name, rows_on[set->on], missing);
}

int gnn__training_set_any(const gnn__training_set_t *set, int part, bool *any)
{
    int64_t count = set->rows > 0 && memchr(set->masks[part], 1, (size_t)set->rows) != NULL;
    if (set->ranks)
        GNN_TRY(gnn__ranks_total(set->ranks, &count));
    *any = count > 0;
    return GNN_OK;
}

int gnn__training_set_learn(gnn__training_set_t *set, const gnn__learnt_t *learnt)
{
    GNN_TRY(gnn__training_set_truth(set, learnt));
    GNN_TRY(check_loss(set, learnt->loss));
    set->loss = (gnn_loss_t){.kind = learnt->loss,
                             .class_weight = learnt->class_weight,
                             .classes = set->labels && set->on != GNN_ON_EDGES ? set->classes : 0};
    set->label_smoothing = learnt->label_smoothing;
    GNN_TRY(check_weights(set));
    return check_training(set);
}

gnn_loss_t gnn__training_set_loss(const gnn__training_set_t *set, int part)
{
    gnn_loss_t loss = set->loss;
    loss.label_smoothing = part == GNN_TRAIN ? set->label_smoothing : 0;
    return loss;
}

int64_t gnn__training_set_rows(const gnn__training_set_t *set, int part, int32_t *rows)
{
    int64_t count = 0;
    for (int64_t r = 0; r < set->rows; r++)
        if (gnn__training_set_counts(set, part, r))
            rows[count++] = (int32_t)r;
    return count;
}

bool gnn__training_set_has_targets(const gnn__training_set_t *set)
{
    return set->targets || set->loss.kind != GNN_LOSS_CROSS_ENTROPY;
}

int gnn__training_set_measures(const gnn__training_set_t *set, int64_t columns)
{
    const int64_t classes = columns == 1 ? 2 : columns;
    if (set->targets && set->targets->cols != columns)
        return gnn__error(GNN_ESHAPE, "targets of %lld columns, the model puts out %lld",
                          (long long)set->targets->cols, (long long)columns);
    if (set->labels && set->on != GNN_ON_EDGES && set->classes > classes)
        return gnn__error(GNN_ESHAPE, "\"%s\" has %lld classes, the model puts out %lld column%s",
                          set->name, (long long)set->classes, (long long)columns,
                          columns == 1 ? "" : "s");
    return GNN_OK;
}

int64_t gnn__training_set_columns(const gnn__training_set_t *set)
{
    return set->targets ? set->targets->cols : set->classes;
}

void gnn__training_set_target(const gnn__training_set_t *set, int64_t row, gnn_real_t *to)
{
    const int64_t columns = gnn__training_set_columns(set);
    if (set->targets) {
        for (int64_t c = 0; c < columns; c++)
            to[c] = gnn__row(set->targets, row)[c];
        return;
    }
    for (int64_t c = 0; c < columns; c++)
        to[c] = set->labels[row] == c;
}
