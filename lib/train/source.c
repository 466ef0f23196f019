/* Sources of batches: those of the library's makers, and gnn_train, which makes one of a data set
 * and trains on it. */
#include <gnn/links.h>
#include <lib/train/train.h>

/* ---- by the settings of a training run ---- */

/* Settings that only full-batch training, or node classification, supports. */
static int check_alone(const gnn_train_config_t *c)
{
    const char *what = c->links ? "links" : "typed samples", *other = NULL;
    if (c->drop_edge != 0 || c->drop_node != 0)
        other = "drop_edge and drop_node";
    else if (c->targets)
        other = "targets";
    else if (c->links && c->typed)
        other = "typed samples";
    else if (c->links ? c->class_weight != NULL || c->splits != NULL : c->sampling != NULL)
        other = c->links ? "class_weight and splits" : "sampling";
    else if (!c->links && c->loss != GNN_LOSS_CROSS_ENTROPY)
        other = "loss other than cross-entropy";
    else if (c->links && c->loss != GNN_LOSS_CROSS_ENTROPY && c->loss != GNN_LOSS_BINARY_CROSS_ENTROPY)
        other = "loss other than binary cross-entropy";
    else if (c->links && c->label_smoothing != 0)
        other = "label_smoothing";
    else if (c->links && c->split != 0)
        other = "split: the links are split themselves";
    return other ? gnn__error(GNN_EUNSUPPORTED, "training on %s takes no %s", what, other) : GNN_OK;
}

/* One step per batch of pairs. */
static int source_of_links(gnn_source_t **source, const gnn_model_t *model, const gnn_data_t *data,
                           const gnn_train_config_t *config)
{
    const gnn_link_source_config_t how = {
        .seed = config->sampling ? config->sampling->sampler.seed : 0, .sampling = config->sampling};
    return gnn_source_of_links(source, model, data, config->links, &how);
}

static int check_nodes(const gnn__training_set_t *set, const gnn_train_config_t *config)
{
    const bool drops = config->drop_edge != 0 || config->drop_node != 0;
    if (config->sampling && drops)
        return gnn__error(GNN_EUNSUPPORTED, "drop_edge and drop_node are for training on the "
                                            "whole graph, samples leave edges out anyway");
    GNN_TRY(gnn__training_set_slots(set));
    if (set->several && (config->sampling || drops))
        return gnn__error(GNN_EUNSUPPORTED,
                          "%s on a set with graphs for %d slots: training is on "
                          "all of them",
                          config->sampling ? "samples" : "dropped edges and nodes", set->n_slots);
    return GNN_OK;
}

/* Resolves and checks the set, which the source takes over. */
static int source_of_nodes(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                           gnn__training_set_t *set, const gnn_train_config_t *config)
{
    const gnn__learnt_t learnt = {.targets = config->targets,
                                  .splits = config->splits,
                                  .split = config->split,
                                  .metric = config->metric,
                                  .loss = config->loss,
                                  .class_weight = config->class_weight,
                                  .label_smoothing = config->label_smoothing};
    GNN_TRY(gnn__training_set_learn(set, &learnt));
    GNN_TRY(check_nodes(set, config));
    if (config->typed)
        return gnn__batches_of_types(source, model, context, set, config);
    return config->sampling ? gnn__batches_of_samples(source, model, context, set, config)
                            : gnn__batches_of_nodes(source, model, context, set, config);
}

int gnn__batches_of_data(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                         gnn_data_t *data, const gnn_train_config_t *config)
{
    if (config->links || config->typed)
        GNN_TRY(check_alone(config));
    if (config->links) {
        GNN_TRY(source_of_links(source, model, data, config));
    } else {
        gnn__training_set_t set;
        int rc = gnn__training_set_open(&set, model, data,
                                        config->sampling || config->typed ? NULL : context);
        if (rc == GNN_OK)
            rc = source_of_nodes(source, model, context, &set, config);
        gnn__training_set_close(&set);
        GNN_TRY(rc);
    }
    (*source)->state->of_data = true;
    return GNN_OK;
}

/* ---- of all kinds ---- */

void gnn_source_free(gnn_source_t *source)
{
    if (source && source->state)
        source->state->kind->free(source->state);
}

int gnn_source_of_data(gnn_source_t **source, const gnn_model_t *model, gnn_context_t *context,
                       gnn_data_t *data, const gnn_train_config_t *config)
{
    const gnn_train_config_t own = config ? *config : (gnn_train_config_t){0};
    GNN__NEED(source);
    *source = NULL;
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    if (context->ranks)
        return gnn__error(GNN_EUNSUPPORTED, "gnn_source_of_data: ranks train by gnn_train");
    return gnn__batches_of_data(source, model, context, data, &own);
}

static int train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
                 const gnn_train_config_t *config, gnn_train_result_t *result)
{
    gnn_source_t *source;
    GNN_TRY(gnn__batches_of_data(&source, model, context, data, config));
    int rc = gnn__train_loop(model, context, source, config, result);
    /* Training runs with other settings would otherwise go apart without notice. */
    if (rc == GNN_OK && context->ranks)
        rc = gnn__ranks_same_weights(context->ranks, context, model);
    gnn_source_free(source);
    return rc;
}

int gnn_train(gnn_model_t *model, gnn_context_t *context, gnn_data_t *data,
              const gnn_train_config_t *config, gnn_train_result_t *result)
{
    const gnn_train_config_t own = config ? *config : (gnn_train_config_t){0};
    gnn_train_result_t outcome = {0};
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(data);
    gnn__ranks_outer_t outer;
    int rc = gnn__ranks_open(context, &outer);
    if (rc == GNN_OK)
        rc = train(model, context, data, &own, &outcome);
    rc = gnn__ranks_close(context, &outer, rc);
    if (result)
        *result = outcome;
    return rc;
}

/* A setting of batches of a data set, for a source that was not made of one. */
static const char *setting_of_data(const gnn_train_config_t *c)
{
    const struct {
        bool set;
        const char *name;
    } all[] = {{c->sampling != NULL, "sampling"},
               {c->links != NULL, "links"},
               {c->typed != NULL, "typed"},
               {c->targets != NULL, "targets"},
               {c->splits != NULL, "splits"},
               {c->split != 0, "split"},
               {c->drop_edge != 0, "drop_edge"},
               {c->drop_node != 0, "drop_node"},
               {c->class_weight != NULL, "class_weight"},
               {c->label_smoothing != 0, "label_smoothing"},
               {c->loss != GNN_LOSS_CROSS_ENTROPY, "loss"}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        if (all[k].set)
            return all[k].name;
    return NULL;
}

int gnn_train_batches(gnn_model_t *model, gnn_context_t *context, const gnn_source_t *source,
                      const gnn_train_config_t *config, gnn_train_result_t *result)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(source);
    const gnn_train_config_t own = config ? *config : (gnn_train_config_t){0};
    gnn_train_result_t outcome = {0};
    const char *setting = setting_of_data(&own);
    if (source && setting && !(source->state && source->state->of_data))
        return gnn__error(GNN_EINVALID,
                          "gnn_train_batches: .%s is for batches of a data set (gnn_train, "
                          "gnn_source_of_data); this source brings its own",
                          setting);
    const int rc = gnn__train_loop(model, context, source, &own, &outcome);
    if (result)
        *result = outcome;
    return rc;
}
