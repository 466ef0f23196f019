/* Settings chosen by validation: short runs on one split compare the recipe with the other
 * form of the network and with unscaled features. Test nodes are not used. */
#include "citation.h"
#include "program.h"
#include "ranks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- sets by scale ---- */

/* Is another scale tried after the first? Then a copy is scaled. */
static int needs_copy(const sets_t *sets)
{
    const options_t *o = sets->options;
    for (int k = 0; k < SCALES; k++)
        if (sets->of[k])
            return 0;
    return o->has_scale && o->trial > 0 && !gnn_data_graph_at(sets->raw, 0);
}

int set_of(gnn_data_t **data, sets_t *sets, scale_t scale)
{
    gnn_data_t **to = &sets->of[scale];
    if (!*to) {
        if (!sets->raw) /* the scale of a checkpoint that is resumed */
            GNN_TRY(citation_open_set(&sets->raw, sets->options, sets->context, 0));
        if (needs_copy(sets)) {
            GNN_TRY(gnn_data_copy(to, sets->raw));
        } else {
            *to = sets->raw;
            sets->raw = NULL;
        }
        GNN_TRY(scale_features(*to, (int)scale));
        GNN_TRY(keep_words_sparsely(*to));
        if (!program_folder())              /* whose rows are in the order of the parts */
            GNN_TRY(gnn_data_reorder(*to)); /* written results keep the file's node ids */
    }
    *data = *to;
    return GNN_OK;
}

void sets_free(sets_t *sets)
{
    gnn_data_free(sets->raw);
    for (int k = 0; k < SCALES; k++)
        gnn_data_free(sets->of[k]);
}

/* ---- one candidate ---- */

/* The caller's count, or at most half of the training's. */
static int64_t trial_epochs(const options_t *o, const recipe_t *r)
{
    const int64_t half = (r->epochs + 1) / 2;
    return o->trial < half || options_gave("trial") ? o->trial : half;
}

/* F1 of several labels needs a threshold that short runs do not reach. */
static gnn_metric_t trial_metric(const options_t *o)
{
    return o->kind == GNN_LABELS_SEVERAL ? GNN_METRIC_MEAN_AUC : o->metric;
}

/* The validation metric of a short run; NaN where its loss is not finite. */
static int try_choice(double *value, const options_t *o, gnn_context_t *context, sets_t *sets,
                      const outcome_t *at, const choice_t *choice, const char *what)
{
    options_t short_one = *o;
    outcome_t out = *at;
    gnn_data_t *data;
    gnn_model_t *model = NULL;
    recipe_t *r = &short_one.chosen.recipe;
    short_one.chosen = *choice;
    short_one.curve = NULL;
    short_one.resume = 0;
    r->epochs = trial_epochs(o, r);
    if (o->kind == GNN_LABELS_SEVERAL)
        r->watch = GNN_WATCH_LOSS;
    watcher_t w = {
        .options = &short_one, .outcome = &out, .trial = what, .terminal = isatty(STDERR_FILENO)};
    *value = NAN;
    GNN_TRY(set_of(&data, sets, choice->scale));
    gnn_context_set_seed(context, (uint64_t)out.seed);
    int rc = r->build(&model, context, r, data);
    if (rc == GNN_OK)
        rc = citation_train_model(model, &w, &out, context, data, NULL);
    if (rc == GNN_OK)
        rc = task_measure(o, model, context, data, out.split, GNN_VALIDATION, trial_metric(o), value);
    gnn_model_free(model);
    return rc == GNN_ENUMERIC ? GNN_OK : rc;
}

/* ---- which one ---- */

static int count_validation(const gnn_data_t *data, int64_t split, int64_t *count)
{
    const uint8_t *mask = gnn_data_mask(data, GNN_VALIDATION, split);
    *count = 0;
    for (int64_t i = 0; mask && i < gnn_data_nodes(data); i++)
        *count += mask[i] != 0;
    return program_count(count);
}

/* Is a rival's value above the first by more than half a standard error of a share of `count`
 * nodes, or, for errors, lower by 2%? Smaller differences are noise: the recipe stays. */
static int beats(const options_t *o, double rival, double first, int64_t count)
{
    if (isnan(rival) || isnan(first))
        return !isnan(rival) && isnan(first);
    if (o->metric == GNN_METRIC_MAE || o->metric == GNN_METRIC_RMSE)
        return rival < 0.98 * first;
    const double share = first > 0 && first < 1 ? first : 0.5;
    return rival > first + 0.5 * sqrt(share * (1 - share) / (double)count);
}

typedef struct {
    options_t *options;
    gnn_context_t *context;
    sets_t *sets;
    const outcome_t *at;
    double value; /* of the choice so far */
    int64_t count;
    char text[256]; /* the values so far, for the report */
} trial_t;

static void add_text(trial_t *t, const char *before, const char *what, double value, const char *end)
{
    char room[24];
    const size_t used = strlen(t->text);
    snprintf(t->text + used, sizeof t->text - used, "%s%s %s%s", before, what,
             metric_text(trial_metric(t->options), value, room), end);
}

/* The alternative if it is better, else the choice so far. */
static int challenge(trial_t *t, const choice_t *rival, const char *what)
{
    options_t *o = t->options;
    double value;
    GNN_TRY(try_choice(&value, o, t->context, t->sets, t->at, rival, what));
    const int won = beats(o, value, t->value, t->count);
    add_text(t, "; ", what, value, won ? ", taken" : "");
    if (won) {
        o->chosen = *rival;
        t->value = value;
    }
    return GNN_OK;
}

int trial_choose(options_t *o, gnn_context_t *context, sets_t *sets, const outcome_t *at)
{
    gnn_data_t *data;
    GNN_TRY(set_of(&data, sets, o->chosen.scale));
    trial_t t = {o, context, sets, at, NAN, 0, ""};
    GNN_TRY(count_validation(data, at->split, &t.count));
    if (t.count == 0 || o->trial == 0 || (!o->has_form && !o->has_scale))
        return GNN_OK;
    GNN_TRY(try_choice(&t.value, o, context, sets, at, &o->chosen, "recipe"));
    add_text(&t, "", "recipe", t.value, "");
    int rc = GNN_OK;
    if (o->has_form)
        rc = challenge(&t, &o->other_form,
                       o->other_form.recipe.build == build_blocks ? "residual blocks"
                                                                  : "plain layers");
    if (rc == GNN_OK && o->has_scale) {
        choice_t rival = o->chosen;
        rival.scale = o->other_scale;
        rc = challenge(&t, &rival, "features unscaled");
    }
    fprintf(o->say, "split %lld, validation %s after %lld epochs: %s\n", (long long)at->split,
            metric_names[trial_metric(o)], (long long)trial_epochs(o, &o->chosen.recipe), t.text);
    fflush(o->say);
    return rc;
}
