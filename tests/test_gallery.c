/* The gallery: every entry of tests/zoo on its golden case and on drawn values; every golden case
 * and model is an entry or stands in a list with the reason. */
#include "zoo/zoo.h"

#include <dirent.h>
#include <stdio.h>

#define ZOO_FAMILY(letter) extern const family_t zoo_family_##letter;
#include "zoo/families.def"
#undef ZOO_FAMILY

static const family_t *const families[] = {
#define ZOO_FAMILY(letter) &zoo_family_##letter,
#include "zoo/families.def"
#undef ZOO_FAMILY
};
enum { FAMILIES = sizeof families / sizeof *families };

typedef struct {
    const char *name, *why;
} listed_t;

static const listed_t cases_left[] = {
#define ZOO_CASE(row, name, why) {#name, why},
#define ZOO_MODEL(name, why)
#include "zoo/left_out.def"
#undef ZOO_CASE
#undef ZOO_MODEL
    {NULL, NULL}};

static const listed_t models_listed[] = {
#define ZOO_CASE(row, name, why)
#define ZOO_MODEL(name, why) {#name, why},
#include "zoo/left_out.def"
#undef ZOO_CASE
#undef ZOO_MODEL
    {NULL, NULL}};

static int entry_count(void)
{
    int count = 0;
    for (int f = 0; f < FAMILIES; f++)
        count += families[f]->count;
    return count;
}

static const entry_t *entry_at(int index)
{
    int f = 0;
    while (index >= families[f]->count)
        index -= families[f++]->count;
    return &families[f]->entries[index];
}

/* GNN_ZOO_ONLY names one entry. */
static bool is_chosen(const entry_t *entry)
{
    const char *only = getenv("GNN_ZOO_ONLY");
    return !only || strcmp(only, entry->name) == 0;
}

START_TEST(golden)
{
    if (is_chosen(entry_at(_i)))
        zoo_entry_golden(entry_at(_i));
}
END_TEST

START_TEST(drawn)
{
    if (is_chosen(entry_at(_i)))
        zoo_entry_drawn(entry_at(_i));
}
END_TEST

static const entry_t *entry_of(const char *name)
{
    for (int k = 0; k < entry_count(); k++)
        if (strcmp(entry_at(k)->name, name) == 0)
            return entry_at(k);
    ck_abort_msg("there is no entry %s", name);
    return NULL;
}

/* ---- cost ---- */

typedef struct {
    const char *name;
    double most; /* times the operations of a quarter of the rows */
} growth_t;

static const growth_t growths[] = {
#define ZOO_GROWTH(name, most) {#name, most},
#include "zoo/growth.def"
#undef ZOO_GROWTH
};
enum { GROWTHS = sizeof growths / sizeof *growths };

/* Entries whose papers promise less than n^2, with 8, 16 and 32 times the rows of their case.
 * GNN_ZOO_COSTS appends lines for docs/zoo.py to the file that it names. */
static void count_cost(const entry_t *entry, double most)
{
    zoo_cost_t cost[3];
    const char *path = getenv("GNN_ZOO_COSTS");
    for (int k = 0; k < 3; k++)
        cost[k] = zoo_entry_cost(entry, 8 << k);
    const double whole = cost[2].operations / cost[0].operations;
    FILE *file = path ? fopen(path, "a") : NULL;
    if (file) {
        fprintf(file, "%s\t%lld\t%.0f\t%.0f\t%.0f\t%.3g\t%.3g\t%.3g\n", entry->name,
                (long long)cost[0].rows, cost[0].operations, cost[1].operations, cost[2].operations,
                1e3 * cost[0].seconds, 1e3 * cost[1].seconds, 1e3 * cost[2].seconds);
        fclose(file);
    }
    ck_assert_msg(whole <= most, "%s: four times the rows take %.2f times the operations, at most %g",
                  entry->name, whole, most);
}

START_TEST(cost_grows_as_promised)
{
    const char *only = getenv("GNN_ZOO_ONLY");
    for (int k = 0; k < entry_count(); k++)
        if (strcmp(entry_at(k)->name, growths[_i].name) == 0 &&
            (!only || strcmp(only, growths[_i].name) == 0))
            count_cost(entry_at(k), growths[_i].most);
}
END_TEST

/* Any entry, to find its cost: GNN_ZOO_COST names it. */
START_TEST(cost_of_one_entry)
{
    const char *only = getenv("GNN_ZOO_COST");
    for (int k = 0; only && k < entry_count(); k++)
        if (strcmp(entry_at(k)->name, only) == 0)
            count_cost(entry_at(k), 1e9);
}
END_TEST

START_TEST(early_exit)
{
    zoo_entry_exit(entry_of("exit_entropy"), zoo_exit_entropy);
    zoo_entry_exit(entry_of("exit_patience"), zoo_exit_patience);
    zoo_entry_exit(entry_of("exit_voting"), zoo_exit_voting);
}
END_TEST

/* ---- nothing is left out unsaid ---- */

static bool has_entry(const char *name)
{
    for (int k = 0; k < entry_count(); k++)
        if (strcmp(entry_at(k)->name, name) == 0)
            return true;
    return false;
}

static const char *reason_of(const listed_t *list, const char *name)
{
    for (; list->name; list++)
        if (strcmp(list->name, name) == 0)
            return list->why;
    return NULL;
}

/* The names in a folder of golden files; NULL, and skipped, without it. */
static DIR *folder_of(const char *known, const char *what)
{
    const char *path = test_golden(known);
    char folder[1024];
    if (!path) {
        test_skip(what, "no such golden file");
        return NULL;
    }
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = '\0';
    return opendir(folder);
}

START_TEST(every_case_is_built_or_listed)
{
    DIR *folder = folder_of("zoo/cases.json", "zoo/cases.json");
    int built = 0, listed = 0;
    for (struct dirent *d = folder ? readdir(folder) : NULL; d; d = readdir(folder)) {
        char name[256];
        const char *end = strstr(d->d_name, ".npz");
        if (!end)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(end - d->d_name), d->d_name);
        const char *why = reason_of(cases_left, name);
        ck_assert_msg(has_entry(name) != (why != NULL), "case %s is %s", name,
                      why ? "an entry, and listed as left out" : "no entry, and no reason is listed");
        built += why == NULL;
        listed += why != NULL;
    }
    if (!folder)
        return;
    printf("GALLERY %d of %d cases\n", built, built + listed);
    closedir(folder);
}
END_TEST

START_TEST(every_model_is_listed)
{
    DIR *folder = folder_of("zoo/models/models.json", "zoo/models");
    for (struct dirent *d = folder ? readdir(folder) : NULL; d; d = readdir(folder))
        ck_assert_msg(strchr(d->d_name, '.') != NULL || reason_of(models_listed, d->d_name) != NULL,
                      "model %s is not listed", d->d_name);
    if (folder)
        closedir(folder);
}
END_TEST

/* Without golden files: lists name nothing twice and give reasons. */
START_TEST(lists_are_sound)
{
    for (int k = 0; k < entry_count(); k++) {
        ck_assert_msg(!reason_of(cases_left, entry_at(k)->name), "%s is an entry, and left out",
                      entry_at(k)->name);
        for (int j = 0; j < k; j++)
            ck_assert_str_ne(entry_at(j)->name, entry_at(k)->name);
    }
    for (const listed_t *l = cases_left; l->name; l++)
        ck_assert_uint_gt(strlen(l->why), 10);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gallery");
    TCase *t = tcase_create("entries");
    tcase_set_timeout(t, 600);
    tcase_add_loop_test(t, golden, 0, entry_count());
    tcase_add_loop_test(t, drawn, 0, entry_count());
    tcase_add_test(t, early_exit);
    tcase_add_test(t, every_case_is_built_or_listed);
    tcase_add_test(t, every_model_is_listed);
    tcase_add_test(t, lists_are_sound);
    suite_add_tcase(suite, t);
    TCase *costs = tcase_create("costs");
    tcase_set_timeout(costs, 600);
    tcase_add_loop_test(costs, cost_grows_as_promised, 0, GROWTHS);
    tcase_add_test(costs, cost_of_one_entry);
    suite_add_tcase(suite, costs);
    return test_main(suite);
}
