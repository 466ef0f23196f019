/* Sources of batches: those of the library's makers, and gnn_train, which makes one of a data set
 * and trains on it. */
#include <lib/train/train.h>

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
    /* Trainings with other settings would otherwise go apart without notice. */
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
    gnn__ranks_open(context);
    const int rc = gnn__ranks_close(context, train(model, context, data, &own, &outcome));
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
