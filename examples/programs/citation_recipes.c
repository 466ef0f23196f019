/* How each network of citation is trained: the settings of its paper on the paper's own sets, and
 * settings for sets that no paper has. */
#include "citation.h"

#include <string.h>

/* Rows of one network stand together. The first that names the set, or names none, is taken. */
static const recipe_t published[] = {
    {"gcn", NULL, build_layers, .hidden = 16, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .group = "1.", .epochs = 200},
    {"sage", NULL, build_layers, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .epochs = 200},
    {"gin", NULL, build_layers, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 200},
    {"gat", "pubmed", build_layers, .hidden = 8, .heads = 8, .last_heads = 8, .dropout = 0.6,
     .lr = 0.01, .weight_decay = 1e-3, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gat", NULL, build_layers, .hidden = 8, .heads = 8, .dropout = 0.6, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gatv2", "pubmed", build_layers, .hidden = 8, .heads = 8, .last_heads = 8, .dropout = 0.6,
     .lr = 0.01, .weight_decay = 1e-3, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gatv2", NULL, build_layers, .hidden = 8, .heads = 8, .dropout = 0.6, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"transformer", NULL, build_transformer, .hidden = 64, .heads = 4, .dropout = 0.5, .lr = 0.002,
     .weight_decay = 5e-4, .epochs = 200},
    {"mlp", NULL, build_mlp, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .epochs = 200},
    {"sgc", "citeseer", build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-4, .epochs = 100},
    {"sgc", "pubmed", build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-4, .epochs = 100},
    {"sgc", NULL, build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-5, .epochs = 100},
    {"appnp", NULL, build_appnp, .hops_itself = 1, .hidden = 64, .heads = 1, .layers = 10,
     .alpha = 0.1, .dropout = 0.5, .lr = 0.01, .weight_decay = 5e-3, .group = "class.",
     .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", "citeseer", build_gcn2, .hops_itself = 1, .hidden = 256, .heads = 1, .layers = 32,
     .alpha = 0.1, .theta = 0.6, .dropout = 0.7, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 0.01, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", "pubmed", build_gcn2, .hops_itself = 1, .hidden = 256, .heads = 1, .layers = 16,
     .alpha = 0.1, .theta = 0.4, .dropout = 0.5, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 5e-4, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", NULL, build_gcn2, .hops_itself = 1, .hidden = 64, .heads = 1, .layers = 64,
     .alpha = 0.1, .theta = 0.5, .dropout = 0.6, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 0.01, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"resgat", NULL, build_residual, .hidden = 64, .heads = 8, .layers = 4, .dropout = 0.2,
     .lr = 0.001, .epochs = 1000, .patience = 200},
};
enum { ROWS = sizeof published / sizeof *published };

/* The sets that the papers' settings are for; the karate club is what citation shows without a
 * file. */
static const char *const of_papers[] = {"cora", "citeseer", "pubmed", "karate"};

const recipe_t *recipe_find(const char *name)
{
    for (size_t k = 0; k < ROWS; k++)
        if (strcmp(published[k].name, name) == 0)
            return &published[k];
    return NULL;
}

const char *recipe_name(size_t index)
{
    for (size_t k = 0; k < ROWS; k++)
        if ((k == 0 || strcmp(published[k].name, published[k - 1].name) != 0) && index-- == 0)
            return published[k].name;
    return NULL;
}

int recipe_is_published(const options_t *o, const gnn_data_t *data)
{
    int known = 0;
    for (size_t k = 0; k < sizeof of_papers / sizeof *of_papers; k++)
        known = known || strcmp(of_papers[k], gnn_data_name(data)) == 0;
    return o->settings == SETTINGS_PAPER || (o->settings == SETTINGS_AUTO && known);
}

/* What the caller sets. */
static void take_own(recipe_t *r, const own_settings_t *own)
{
    r->hidden = own->hidden ? own->hidden : r->hidden;
    r->heads = own->heads ? own->heads : r->heads;
    r->layers = own->layers ? own->layers : r->layers;
    r->epochs = own->epochs ? own->epochs : r->epochs;
    r->patience = own->patience >= 0 ? own->patience : r->patience;
    r->dropout = own->dropout >= 0 ? own->dropout : r->dropout;
    r->lr = own->lr >= 0 ? own->lr : r->lr;
    r->weight_decay = own->weight_decay >= 0 ? own->weight_decay : r->weight_decay;
}

/* For a set that no paper has tuned the network for: wider, trained until the validation loss has
 * not fallen for a while. */
static void generalise(recipe_t *r)
{
    const int64_t width = r->heads > 1 ? 16 : 64;
    r->hidden = r->hidden > width ? r->hidden : width;
    r->epochs = r->epochs > 1000 ? r->epochs : 1000;
    r->patience = r->patience > 100 ? r->patience : 100;
    r->watch = GNN_WATCH_LOSS;
}

recipe_t recipe_for(const options_t *options, const gnn_data_t *data)
{
    const recipe_t *row = options->recipe;
    const int paper = recipe_is_published(options, data);
    while (row->data && (!paper || strcmp(row->data, gnn_data_name(data)) != 0))
        row++;
    recipe_t r = *row;
    if (!paper)
        generalise(&r);
    take_own(&r, &options->own);
    r.diffused = options->diffusion.kind != DIFFUSION_NONE;
    return r;
}

/* ---- features ---- */

/* Do all numbers that are there equal 1? */
static int is_binary(const gnn_data_t *data)
{
    const gnn_sparse_t *s = gnn_data_sparse(data);
    for (int64_t k = 0; s && k < s->indptr[s->rows]; k++)
        if (s->values[k] != 1)
            return 0;
    return s != NULL;
}

scale_t recipe_scale(const options_t *o, const gnn_data_t *data)
{
    if (o->scale != SCALE_AUTO)
        return (scale_t)o->scale;
    if (recipe_is_published(o, data))
        return is_binary(data) ? SCALE_ROWS : SCALE_NONE;
    return scale_for(data);
}

void recipe_print(const options_t *o, const gnn_data_t *data)
{
    static const char *const features[] = {"", "as they are", "rows divided by their sums",
                                           "columns of mean 0 and variance 1"};
    const recipe_t r = recipe_for(o, data);
    fprintf(o->say, "recipe for %s (%s): features %s, ", r.name,
            recipe_is_published(o, data) ? "its paper's" : "for any set",
            features[recipe_scale(o, data)]);
    if (r.hidden)
        fprintf(o->say, "hidden %lld, ", (long long)r.hidden);
    if (r.heads > 1)
        fprintf(o->say, "heads %lld, ", (long long)r.heads);
    if (r.layers)
        fprintf(o->say, "layers %lld, ", (long long)r.layers);
    fprintf(o->say, "dropout %g, lr %g, weight decay %g, at most %lld epochs", r.dropout, r.lr,
            r.weight_decay, (long long)r.epochs);
    if (r.patience)
        fprintf(o->say, ", patience %lld", (long long)r.patience);
    fprintf(o->say, "\n");
}
