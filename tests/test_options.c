/* Options of entries of all tables: those that count, switch or choose take integers, and the
 * error names them; values that no option of the entry reads are refused. */
#include "support.h"

#include <lib/aggregate/tables.h>
#include <math.h>

/* ---- every option of every entry ---- */

typedef struct {
    const char *table, *name;
    const gnn_option_t *options;
    size_t n_options;
} entry_t;

static entry_t none(void)
{
    return (entry_t){NULL, NULL, NULL, 0};
}

#define ENTRY(kind)                                                              \
    static entry_t kind##_entry(size_t index)                                    \
    {                                                                            \
        const gnn_##kind##_t *e = gnn__##kind##_at(index);                       \
        return e ? (entry_t){#kind, e->name, e->options, e->n_options} : none(); \
    }

ENTRY(aggregator)
ENTRY(message)
ENTRY(score)
ENTRY(map)
ENTRY(prior)
ENTRY(weigher)

static entry_t (*const tables[])(size_t index) = {aggregator_entry, message_entry, score_entry,
                                                  map_entry,        prior_entry,   weigher_entry};
enum { TABLES = sizeof tables / sizeof *tables };

/* A config of a layer with the entry; the options are at *given. */
static void config_with(const entry_t *e, double **given, gnn_layer_config_t *c)
{
    *c = (gnn_layer_config_t){.in = 8, .out = 8, .heads = 2};
    const bool scored = strcmp(e->table, "aggregator") != 0 && strcmp(e->table, "message") != 0;
    c->aggregator = scored ? &gnn_aggregator_attention : &gnn_aggregator_sum;
    c->heads = scored ? 2 : 1;
    *given = c->options;
    if (strcmp(e->table, "aggregator") == 0)
        c->aggregator = gnn_aggregator_find(e->name);
    else if (strcmp(e->table, "message") == 0)
        c->message = gnn_message_find(e->name), *given = c->message_options;
    else if (strcmp(e->table, "score") == 0)
        c->score = gnn_score_find(e->name), *given = c->score_options;
    else if (strcmp(e->table, "map") == 0)
        c->map = gnn_map_find(e->name), *given = c->map_options;
    else if (strcmp(e->table, "weigher") == 0)
        c->weigher = gnn_weigher_find(e->name), *given = c->weigher_options;
    else
        c->priors[0].prior = gnn_prior_find(e->name), *given = c->priors[0].options;
}

static int resolve(const entry_t *e, size_t k, double value)
{
    double given[GNN_ROW_OPTIONS] = {0}, resolved[GNN_ROW_OPTIONS];
    given[k] = value;
    return gnn__resolve_options(e->name, e->options, e->n_options, given, resolved);
}

static void check_integer(const entry_t *e, size_t k)
{
    const gnn_option_t *o = &e->options[k];
    const double least = o->min == 0 ? (double)GNN_ZERO : o->min, between = o->min + 0.5;
    gnn_layer_config_t c, resolved;
    double *given;
    char words[160];
    ck_assert(o->min == floor(o->min) && o->max == floor(o->max) && o->initial == floor(o->initial));
    ck_ok(resolve(e, k, least));
    ck_ok(resolve(e, k, o->max));
    snprintf(words, sizeof words, "%s: option %s is %g, expected an integer from %.0f to %.0f",
             e->name, o->name, between, o->min, o->max);
    ck_fails(resolve(e, k, between), GNN_EINVALID, words);
    config_with(e, &given, &c);
    given[k] = between;
    ck_fails(gnn_layer_config_resolve(&resolved, &c), GNN_EINVALID, words);
}

static void check_real(const entry_t *e, size_t k)
{
    const gnn_option_t *o = &e->options[k];
    ck_ok(resolve(e, k, o->min + (o->max - o->min) / 3));
    ck_fails(resolve(e, k, NAN), GNN_EINVALID, o->name);
    ck_fails(resolve(e, k, o->max * 2), GNN_EINVALID, o->name);
}

START_TEST(options_that_count_take_integers)
{
    int integers = 0, reals = 0;
    for (int t = 0; t < TABLES; t++)
        for (size_t at = 0; tables[t](at).name; at++) {
            const entry_t e = tables[t](at);
            for (size_t k = 0; k < e.n_options; k++) {
                const bool integer = e.options[k].kind == GNN_OPTION_INTEGER;
                (integer ? check_integer : check_real)(&e, k);
                integers += integer;
                reals += !integer;
            }
        }
    printf("%d options are integers, %d reals\n", integers, reals);
    ck_assert_int_gt(integers, 0);
    ck_assert_int_gt(reals, 0);
}
END_TEST

START_TEST(values_beyond_the_entrys_options_are_refused)
{
    for (int t = 0; t < TABLES; t++)
        for (size_t at = 0; tables[t](at).name; at++) {
            const entry_t e = tables[t](at);
            gnn_layer_config_t c, resolved;
            double *given;
            char words[160];
            for (size_t k = e.n_options; k < GNN_ROW_OPTIONS; k++) {
                config_with(&e, &given, &c);
                given[k] = 2;
                snprintf(words, sizeof words, "%s: option %zu is 2, expected at most %zu options",
                         e.name, k + 1, e.n_options);
                ck_fails(gnn_layer_config_resolve(&resolved, &c), GNN_EINVALID, words);
            }
        }
}
END_TEST

START_TEST(options_without_their_entry_are_refused)
{
    gnn_layer_config_t resolved;
    const struct {
        gnn_layer_config_t config;
        const char *words;
    } cases[] = {{GNN_GAT(.in = 8, .out = 8, .map_options = {2}),
                  "map_options[0] is 2, but there is no map"},
                 {GNN_GAT(.in = 8, .out = 8, .priors = {{.options = {0, 3}}}),
                  "priors[0].options[1] is 3, but there is no prior"},
                 {GNN_GCN(.in = 8, .out = 8, .map_options = {0, 2}),
                  "map_options[1] is 2, but there is no map"},
                 {GNN_GCN(.in = 8, .out = 8, .score_options = {2}),
                  "score_options[0] is 2, but there is no score"},
                 {GNN_GCN(.in = 8, .out = 8, .weigher_options = {2}),
                  "weigher_options[0] is 2, but there is no weigher"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        ck_fails(gnn_layer_config_resolve(&resolved, &cases[k].config), GNN_EINVALID, cases[k].words);
}
END_TEST

/* Applies a copy of floor with other options. */
static void op_fails(const gnn_option_t *options, size_t n_options, const char *words)
{
    gnn_context_t *context;
    gnn_tape_t *tape;
    gnn_real_t one = 1;
    const gnn_tensor_t x = gnn_tensor(&one, 1, 1);
    const gnn_op_options_t none = {.options = {0}};
    gnn_op_t op = *gnn_op_find("floor");
    op.name = "mine";
    op.options = options;
    op.n_options = n_options;
    ck_ok(gnn_context_new(&context, NULL));
    ck_ok(gnn_tape_new(&tape, context));
    const gnn_var_t in = gnn_tape_input(tape, &x, 0);
    gnn_tape_op(tape, &op, &in, 1, &none, sizeof none);
    ck_fails(gnn_tape_status(tape), GNN_EINVALID, words);
    gnn_tape_free(tape);
    gnn_context_free(context);
}

START_TEST(lists_of_own_ops_are_checked)
{
    const gnn_option_t odd = {"odd", 0, 0, 1, "", (gnn_option_kind_t)7};
    op_fails(&odd, 1, "op mine: .options[0].kind is 7, expected a gnn_option_kind_t");
    op_fails(&odd, GNN_ROW_OPTIONS + 1, "op mine: .n_options is 5, at most 4 are taken");
    op_fails(NULL, 1, "op mine: .n_options is 1 and .options NULL, at most 4 are taken");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("options");
    TCase *c = tcase_create("options");
    tcase_add_test(c, options_that_count_take_integers);
    tcase_add_test(c, values_beyond_the_entrys_options_are_refused);
    tcase_add_test(c, options_without_their_entry_are_refused);
    tcase_add_test(c, lists_of_own_ops_are_checked);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
