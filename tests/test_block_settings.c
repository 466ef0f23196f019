/* Settings of blocks: one that a block reads by the table blocks.def changes its steps, or is
 * refused; one that it does not read is refused by name. */
#include "block_case.h"
#include "support.h"

#include <lib/layer/config_fields.h>

/* ---- comparing lists of steps ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_config(const gnn_layer_config_t *a, const gnn_layer_config_t *b)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; (f = gnn__config_field(k)); k++)
        if (memcmp(gnn__field_place(f, a), gnn__field_place(f, b), f->size) != 0)
            return false;
    return true;
}

static bool same_step(const gnn_step_t *a, const gnn_step_t *b)
{
    bool same = same_config(&a->layer, &b->layer);
#define GNN_STEP_TEXT(field) same = same && same_text(a->field, b->field);
#define GNN_STEP_ELEMENT(key, field, k) same = same && same_text(a->field[k], b->field[k]);
#define GNN_STEP_NUMBER(kind, field) \
    same = same && memcmp(&a->field, &b->field, sizeof a->field) == 0;
#define GNN_STEP_WORD(kind, field) same = same && a->field == b->field;
#define GNN_STEP_ROW(table, field) same = same && a->field == b->field;
#include <lib/model/step_fields.def>
#undef GNN_STEP_TEXT
#undef GNN_STEP_ELEMENT
#undef GNN_STEP_NUMBER
#undef GNN_STEP_WORD
#undef GNN_STEP_ROW
    return same;
}

static bool same_steps(const gnn_steps_t *a, const gnn_steps_t *b)
{
    if (gnn_steps_count(a) != gnn_steps_count(b))
        return false;
    for (int64_t k = 0; k < gnn_steps_count(a); k++)
        if (!same_step(&gnn_steps_list(a)[k], &gnn_steps_list(b)[k]))
            return false;
    return true;
}

static bool changes(const char *block, const gnn_block_t *base, const gnn_block_t *other)
{
    gnn_steps_t *a, *b;
    ck_assert_msg(block_append(&a, block, base) == GNN_OK, "%s: %s", block, gnn_error_message());
    const bool changed = block_append(&b, block, other) != GNN_OK || !same_steps(a, b);
    gnn_steps_free(a);
    gnn_steps_free(b);
    return changed;
}

/* The width of an input describes it to blocks that work at any width, relations describe the set;
 * one layer alone is the largest, and has no next one. */
static bool is_harmless(const char *block, const char *member, const gnn_block_t *b)
{
    if (strcmp(block, "jumping_knowledge") == 0)
        return b->hops <= 1;
    if (strcmp(block, "hetero_linear") == 0)
        return strcmp(member, "relations") == 0;
    return strcmp(member, "width") == 0 &&
           (strcmp(block, "link_dot") == 0 || strcmp(block, "link_distance") == 0);
}

/* Members that change nothing beside the others of `base`. */
static int count_silent(const char *block, const gnn_block_t *base, const bool read[BLOCK_MEMBERS])
{
    int silent = 0;
    for (int m = 0; m < BLOCK_MEMBERS; m++) {
        gnn_block_t other = *base;
        block_set(&other, m, 1);
        if (read[m] && !is_harmless(block, block_members[m].name, base) &&
            !changes(block, base, &other)) {
            printf("block %s: .%s changes nothing\n", block, block_members[m].name);
            silent++;
        }
    }
    return silent;
}

/* ---- tests ---- */

START_TEST(settings_that_a_block_reads_change_its_steps)
{
    int silent = 0;
    const char *block;
    for (size_t k = 0; (block = gnn_block_name(k)); k++) {
        bool read[BLOCK_MEMBERS];
        const gnn_block_t base = block_base(block, read);
        silent += count_silent(block, &base, read);
        for (int m = 0; m < BLOCK_MEMBERS; m++) {
            gnn_block_t without = base;
            memset((char *)&without + block_members[m].offset, 0, block_members[m].size);
            gnn_steps_t *steps;
            const bool fits = block_append(&steps, block, &without) == GNN_OK;
            gnn_steps_free(steps);
            if (read[m] && fits) {
                const int more = count_silent(block, &without, read);
                if (more)
                    printf("  without .%s\n", block_members[m].name);
                silent += more;
            }
        }
    }
    ck_assert_int_eq(silent, 0);
}
END_TEST

/* Of the values of a field at most one, its default, changes nothing. */
START_TEST(configs_of_layers_that_a_block_reads_change_its_steps)
{
    static const char *const tried[] = {"2",      "3",    "0.3",   "0.4",    "on",        "off",
                                        "relu",   "elu",  "layer", "batch",  "pre",       "post",
                                        "max",    "dot",  "gated", "linear", "symmetric", "row",
                                        "concat", "mean", "elu1",  "ratio",  "relu2",     "table"};
    int silent = 0;
    const char *block;
    for (size_t k = 0; (block = gnn_block_name(k)); k++) {
        bool read[BLOCK_MEMBERS];
        const gnn_block_t base = block_base(block, read);
        const gnn__field_row_t *f;
        for (size_t i = 0; (f = gnn__config_field(i)); i++) {
            int idle = 0, values_of_it = 0;
            for (size_t t = 0; t < sizeof tried / sizeof *tried; t++) {
                gnn_block_t other = base;
                if (gnn_layer_config_set(&other.layer, f->name, tried[t]) != GNN_OK ||
                    memcmp(gnn__field_place(f, &other.layer), gnn__field_place(f, &base.layer),
                           f->size) == 0)
                    continue;
                values_of_it++;
                idle += !changes(block, &base, &other);
            }
            if (idle > 1 || (idle == 1 && values_of_it == 1)) {
                printf("block %s: .layer.%s changes nothing\n", block, f->name);
                silent++;
            }
        }
    }
    ck_assert_int_eq(silent, 0);
}
END_TEST

START_TEST(a_setting_that_a_block_does_not_read_is_refused_by_name)
{
    gnn_steps_t *steps;
    ck_ok(gnn_steps_new(&steps));
    ck_fails(gnn_steps_block(
                 steps, "appnp",
                 &(gnn_block_t){.name = "prop", .width = 8, .hops = 2, .theta = (gnn_real_t)0.5}),
             GNN_EINVALID, "block prop (appnp) reads no .theta");
    gnn_steps_free(steps);
    ck_ok(gnn_steps_new(&steps));
    ck_fails(
        gnn_steps_block(steps, "gen", &(gnn_block_t){.name = "conv", .width = 8, .layer.heads = 4}),
        GNN_EINVALID, "block conv (gen) reads no .layer.heads");
    gnn_steps_free(steps);
    ck_ok(gnn_steps_new(&steps));
    ck_fails(gnn_steps_block(steps, "jumping_knowledge",
                             &(gnn_block_t){.name = "jk", .width = 8, .maximum = (gnn_flag_t)7}),
             GNN_EINVALID, "= 7 is not a flag");
    gnn_steps_free(steps);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("block_settings");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, settings_that_a_block_reads_change_its_steps);
    tcase_add_test(tests, configs_of_layers_that_a_block_reads_change_its_steps);
    tcase_add_test(tests, a_setting_that_a_block_does_not_read_is_refused_by_name);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
