/* Training settings of each network: those of its paper on sets like the paper's, others by the
 * properties of the set (citation_facts.c). */
#include "citation.h"
#include "program.h"

#include <math.h>
#include <string.h>

/* Fewer labels than on Cora and Citeseer, as on Pubmed, where papers regularise more. */
static int is_scarce(const facts_t *f)
{
    return f->labelled < 100;
}

/* As few links as Citeseer. */
static int is_thin(const facts_t *f)
{
    return f->degree < 3;
}

/* Entries of one network are consecutive. The first one whose condition holds is used. */
static const recipe_t published[] = {
    {"gcn", NULL, build_layers, .hidden = 16, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .group = "1.", .epochs = 200},
    {"sage", NULL, build_layers, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .epochs = 200},
    {"gin", NULL, build_layers, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 200},
    {"gat", is_scarce, build_layers, .hidden = 8, .heads = 8, .last_heads = 8, .dropout = 0.6,
     .lr = 0.01, .weight_decay = 1e-3, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gat", NULL, build_layers, .hidden = 8, .heads = 8, .dropout = 0.6, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gatv2", is_scarce, build_layers, .hidden = 8, .heads = 8, .last_heads = 8, .dropout = 0.6,
     .lr = 0.01, .weight_decay = 1e-3, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gatv2", NULL, build_layers, .hidden = 8, .heads = 8, .dropout = 0.6, .lr = 0.005,
     .weight_decay = 5e-4, .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"transformer", NULL, build_transformer, .hidden = 64, .heads = 4, .dropout = 0.5, .lr = 0.002,
     .weight_decay = 5e-4, .epochs = 200},
    {"mlp", NULL, build_mlp, .hidden = 64, .heads = 1, .dropout = 0.5, .lr = 0.01,
     .weight_decay = 5e-4, .epochs = 200},
    {"sgc", is_thin, build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-4, .epochs = 100},
    {"sgc", is_scarce, build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-4, .epochs = 100},
    {"sgc", NULL, build_sgc, .hops_itself = 1, .layers = 2, .heads = 1, .lr = 0.2,
     .weight_decay = 2e-5, .epochs = 100},
    {"appnp", NULL, build_appnp, .hops_itself = 1, .hidden = 64, .heads = 1, .layers = 10,
     .alpha = 0.1, .dropout = 0.5, .lr = 0.01, .weight_decay = 5e-3, .group = "class.",
     .epochs = 1000, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", is_thin, build_gcn2, .hops_itself = 1, .hidden = 256, .heads = 1, .layers = 32,
     .alpha = 0.1, .theta = 0.6, .dropout = 0.7, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 0.01, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", is_scarce, build_gcn2, .hops_itself = 1, .hidden = 256, .heads = 1, .layers = 16,
     .alpha = 0.1, .theta = 0.4, .dropout = 0.5, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 5e-4, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"gcn2", NULL, build_gcn2, .hops_itself = 1, .hidden = 64, .heads = 1, .layers = 64,
     .alpha = 0.1, .theta = 0.5, .dropout = 0.6, .lr = 0.01, .weight_decay = 5e-4, .group = "hop.",
     .group_decay = 0.01, .epochs = 1500, .patience = 100, .watch = GNN_WATCH_LOSS},
    {"resgat", NULL, build_residual, .hidden = 64, .heads = 8, .layers = 4, .dropout = 0.2,
     .lr = 0.001, .epochs = 1000, .patience = 200},
};
enum { ROWS = sizeof published / sizeof *published };

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

/* Options of the command line replace settings. */
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

/* ---- choice by properties ---- */

/* Like the citation graphs of the papers: bag-of-words features, few labels, and few links, mostly
 * within classes. A set without links of known classes qualifies too. */
static int is_like_papers(const options_t *o)
{
    const facts_t *f = &o->facts;
    return o->kind == GNN_LABELS_CLASSES && is_words(f->features) && f->degree < 6 &&
           20 * f->labelled <= 3 * f->nodes && !(f->homophily < 0.3);
}

/* Is the homophily low? */
static int is_heterophilous(const facts_t *f)
{
    return f->known >= 50 && f->homophily < 0.2;
}

/* Bag-of-words features are informative by themselves; a few values per node need those of nodes
 * some hops away. */
static int has_words(const facts_t *f)
{
    return is_words(f->features) && f->columns >= 100;
}

/* Wider than in the papers, trained with early stopping. The loss of several labels or values is a
 * mean over them, which a paper's weight decay would outweigh. */
static void generalise(recipe_t *r, const options_t *o)
{
    const int64_t width = r->heads > 1 ? 16 : 64;
    r->hidden = r->hidden > width ? r->hidden : width;
    r->epochs = r->epochs > 1000 ? r->epochs : 1000;
    r->patience = r->patience > 100 ? r->patience : 100;
    r->watch = GNN_WATCH_LOSS;
    if (o->kind != GNN_LABELS_CLASSES) {
        r->weight_decay = r->group_decay = 0;
        r->group = NULL;
        r->dropout = r->dropout < 0.2 ? r->dropout : 0.2;
    }
    if (o->kind == GNN_LABELS_SEVERAL || is_heterophilous(&o->facts)) {
        r->watch = GNN_WATCH_METRIC;
        r->patience = 200;
    }
}

/* Residual blocks with norms, for many labels and low homophily (Platonov et al. 2023). */
static void take_blocks(recipe_t *r)
{
    r->build = build_blocks;
    r->hidden = 64;
    r->heads = r->heads > 1 ? 8 : 1;
    r->layers = 4;
    r->dropout = 0.2;
    r->lr = 0.003;
    r->weight_decay = 0;
    r->group = NULL;
    r->epochs = 1000;
    r->patience = 200;
    r->watch = GNN_WATCH_METRIC;
}

/* Are residual blocks worth a short run? They need many labels, and on bags of words that predict
 * the classes plain layers are more accurate. */
static int may_suit_blocks(const options_t *o)
{
    const facts_t *f = &o->facts;
    return o->kind == GNN_LABELS_CLASSES ? f->labelled >= 400 && !has_words(f) : f->labelled >= 100;
}

/* Does the data set or the layer need residual blocks, which have norms? Sums over many neighbours
 * grow too large for layers without norms: a plain GIN stays at chance on Amazon Photo. */
static int asks_for_blocks(const options_t *o)
{
    const facts_t *f = &o->facts;
    if (gnn_preset_find(o->layer) == GNN_PRESET_GIN)
        return 1;
    if (o->recipe->build == build_mlp) /* reads no links, whatever their homophily is */
        return 0;
    return o->kind == GNN_LABELS_CLASSES
               ? is_heterophilous(f) && f->labelled >= 1000 && !has_words(f)
               : f->labelled >= 400;
}

static const char *why_blocks(const options_t *o)
{
    if (gnn_preset_find(o->layer) == GNN_PRESET_GIN)
        return "sums over neighbours want norms: residual blocks";
    return o->kind == GNN_LABELS_CLASSES
               ? "features other than words, many labels, low homophily: residual blocks"
               : "many labelled nodes, no classes: residual blocks";
}

/* Settings by the properties of the data set, and the reason. `other_form` is the alternative
 * that a short run compares with them: residual blocks instead of plain layers, or the reverse. */
static void choose_general(recipe_t *r, options_t *o)
{
    const facts_t *f = &o->facts;
    const int has_blocks = r->build == build_layers || r->build == build_mlp;
    recipe_t blocks = *r;
    take_blocks(&blocks);
    generalise(r, o);
    o->has_form = has_blocks && o->form == FORM_AUTO && may_suit_blocks(o) &&
                  gnn_preset_find(o->layer) != GNN_PRESET_GIN;
    o->other_form.recipe = blocks;
    if (has_blocks && o->form == FORM_AUTO && asks_for_blocks(o)) {
        o->other_form.recipe = *r;
        *r = blocks;
        o->why = why_blocks(o);
    } else if (o->kind != GNN_LABELS_CLASSES) {
        o->why = "no classes: no weight decay, less dropout";
    } else if (is_heterophilous(f)) {
        o->why = "low homophily: the epoch is chosen by the metric";
    } else {
        o->why = "unlike the sets of papers: wider layers, early stopping";
    }
}

/* Chooses the scaling of features by their properties. Where it scales, `other_scale` is the
 * alternative that a short run compares with it: unscaled features. */
static int scale_of(options_t *o, const gnn_data_t *data, scale_t *scale)
{
    *scale = (scale_t)o->scale;
    if (o->scale != SCALE_AUTO)
        return GNN_OK;
    /* a mean over neighbours evens out lengths of rows of weighted words, which an MLP lacks */
    *scale = o->facts.features == FEATURES_MARKS || o->recipe->build == build_mlp ? SCALE_ROWS
                                                                                  : SCALE_NONE;
    if (o->papers)
        return GNN_OK;
    GNN_TRY(scale_for(data, scale));
    o->has_scale = *scale != SCALE_NONE && o->settings == SETTINGS_AUTO;
    o->other_scale = SCALE_NONE;
    return GNN_OK;
}

/* Adds the settings of the command line and of the set to a recipe. */
static void complete(recipe_t *r, const options_t *o, const gnn_data_t *data)
{
    if (o->watch)
        r->watch = o->watch == WATCH_LOSS ? GNN_WATCH_LOSS : GNN_WATCH_METRIC;
    take_own(r, &o->own);
    r->diffused = o->diffusion.kind != DIFFUSION_NONE;
    r->outputs = task_outputs(o, data);
    r->rescaled = o->kind == GNN_LABELS_REAL;
}

int recipe_choose(options_t *o, const gnn_data_t *data)
{
    GNN_TRY(facts_of(&o->facts, data, o->splits ? 0 : o->split));
    o->papers = o->settings == SETTINGS_PAPER || (o->settings == SETTINGS_AUTO && is_like_papers(o));
    const recipe_t *entry = o->recipe;
    while (entry->fits && !(o->papers && entry->fits(&o->facts)))
        entry++;
    recipe_t r = *entry;
    if (o->papers)
        o->why = "words, few labels, low degree, no low homophily: as in its paper";
    else
        choose_general(&r, o);
    if (o->settings != SETTINGS_AUTO) {
        o->why = "as asked for";
        o->has_form = 0;
    }
    if (o->form == FORM_RESIDUAL)
        take_blocks(&r);
    complete(&r, o, data);
    complete(&o->other_form.recipe, o, data);
    o->chosen.recipe = r;
    GNN_TRY(scale_of(o, data, &o->chosen.scale));
    o->other_form.scale = o->chosen.scale;
    if (options_gave("trial") && o->trial > 0 && !o->has_form && !o->has_scale) {
        fprintf(stderr, "--trial: has no effect: the recipe (%s) has no alternative for this set\n",
                o->why);
        return PROGRAM_REFUSED;
    }
    return GNN_OK;
}

/* ---- report of the choice ---- */

static void print_facts(const options_t *o)
{
    static const char *const features[] = {"0 or 1", "counts", "weights",
                                           "amounts in different units", "real values"};
    const facts_t *f = &o->facts;
    fprintf(o->say, "set: features %s, %lld of %lld nodes to learn from, %.1f messages per node",
            features[f->features], (long long)f->labelled, (long long)f->nodes, f->degree);
    if (f->known > 0 && !isnan(f->homophily))
        fprintf(o->say, ", homophily %.2f (adjusted, of %lld known messages)", f->homophily,
                (long long)f->known);
    fprintf(o->say, "\n");
}

void recipe_print(const options_t *o)
{
    static const char *const features[] = {"", "as they are", "rows of sum 1", "rows of length 1",
                                           "columns of mean 0 and variance 1"};
    static const char *const watched[] = {
        [GNN_WATCH_LOSS] = "loss", [GNN_WATCH_LOSS_OR_METRIC] = "loss or metric"};
    const recipe_t *r = &o->chosen.recipe;
    print_facts(o);
    fprintf(o->say, "recipe for %s (%s): features %s, ", r->name, o->why, features[o->chosen.scale]);
    if (r->build == build_blocks)
        fprintf(o->say, "residual blocks, ");
    if (r->hidden)
        fprintf(o->say, "hidden %lld, ", (long long)r->hidden);
    if (r->heads > 1)
        fprintf(o->say, "heads %lld, ", (long long)r->heads);
    if (r->layers)
        fprintf(o->say, "layers %lld, ", (long long)r->layers);
    fprintf(o->say, "dropout %g, lr %g, weight decay %g, at most %lld epochs", r->dropout, r->lr,
            r->weight_decay, (long long)r->epochs);
    if (r->patience)
        fprintf(o->say, ", patience %lld", (long long)r->patience);
    fprintf(o->say, ", watches %s\n", watched[r->watch] ? watched[r->watch] : "metric");
}
