/* Packages and their descriptions: names from debian.npz, sentences from the package index. */
#include "descriptions.h"

#include "language.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(((const package_t *)a)->name, ((const package_t *)b)->name);
}

int read_names(run_t *r, const char *path)
{
    gnn_arrays_t *arrays;
    GNN_TRY(gnn_data_open(&r->data, path));
    GNN_TRY(gnn_npz_read(&arrays, path, NULL));
    const gnn_array_t *names = gnn_arrays_find(arrays, "names"),
                      *offsets = gnn_arrays_find(arrays, "name_offsets");
    int good = names && offsets && names->dtype == GNN_DTYPE_UINT8 &&
               offsets->count == gnn_data_nodes(r->data) + 1 && gnn_data_class_names(r->data);
    r->packages = good ? calloc((size_t)gnn_data_nodes(r->data), sizeof *r->packages) : NULL;
    for (int64_t i = 0; r->packages && i < gnn_data_nodes(r->data); i++) {
        int64_t from = (int64_t)gnn_array_get(offsets, i),
                end = (int64_t)gnn_array_get(offsets, i + 1);
        if (from < 0 || end < from || end > names->count)
            good = 0;
        r->packages[i] = (package_t){
            strndup(good ? (const char *)names->data + from : "", good ? (size_t)(end - from) : 0),
            NULL, i};
        good = good && r->packages[i].name;
    }
    gnn_arrays_free(arrays);
    if (!good || !r->packages) {
        fprintf(stderr, "%s: no names of packages and sections\n", path);
        return GNN_EFORMAT;
    }
    qsort(r->packages, (size_t)gnn_data_nodes(r->data), sizeof *r->packages, by_name);
    return GNN_OK;
}

/* Reads paragraphs of "Field: value"; duplicate names (other versions) are ignored. Returns the
 * count of packages with a description. */
static int64_t read_index(run_t *r, FILE *index)
{
    char *line = NULL;
    size_t room = 0;
    int64_t found = 0;
    package_t *package = NULL;
    while (getline(&line, &room, index) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *value = strstr(line, ": ");
        if (strncmp(line, "Package: ", 9) == 0)
            package = bsearch(&(package_t){.name = value + 2}, r->packages,
                              (size_t)gnn_data_nodes(r->data), sizeof *package, by_name);
        else if (package && !package->text && value &&
                 (strncmp(line, "Description: ", 13) == 0 ||
                  strncmp(line, "Description-en: ", 16) == 0))
            found += (package->text = strdup(value + 2)) != NULL;
    }
    free(line);
    return found;
}

int64_t find_descriptions(run_t *r, const char *path)
{
    FILE *index = path ? fopen(path, "r") : popen("apt-cache dumpavail 2>/dev/null", "r");
    int64_t found = index ? read_index(r, index) : 0;
    if (index)
        path ? fclose(index) : pclose(index);
    return found;
}

/* ---- corpora: training, validation, test ---- */

static int make_corpora(run_t *r, int64_t n, const int *part, const char *const *label,
                        const char *const *text)
{
    const char **chosen = malloc((size_t)(2 * n) * sizeof *chosen);
    int rc = chosen ? GNN_OK : GNN_EMEMORY;
    for (int p = 0; rc == GNN_OK && p < 3; p++) {
        int64_t count = 0;
        for (int64_t k = 0; k < n; k++)
            if (part[k] == p) {
                chosen[count] = text[k];
                chosen[n + count++] = label[k];
            }
        rc = gnn_corpus_new(&r->corpus[p], count, chosen + n, chosen, r->vocabulary);
        if (rc == GNN_OK && p == 0)
            rc = gnn_vocabulary_new(&r->vocabulary, r->corpus[0], 2);
    }
    free(chosen);
    return rc;
}

/* Trains on all packages outside of the validation and test sets of the graph's public split. */
int take_descriptions(run_t *r)
{
    int64_t n = 0;
    size_t most = (size_t)gnn_data_nodes(r->data);
    int *part = malloc(most * sizeof *part);
    const char **label = malloc(2 * most * sizeof *label), **text = label + most;
    for (int64_t k = 0; part && label && k < gnn_data_nodes(r->data); k++) {
        const package_t *p = &r->packages[k];
        if (!p->text || !*p->text || gnn_data_labels(r->data)[p->node] < 0)
            continue;
        part[n] = gnn_data_mask(r->data, GNN_TEST, 0)[p->node]         ? 2
                  : gnn_data_mask(r->data, GNN_VALIDATION, 0)[p->node] ? 1
                                                                       : 0;
        label[n] = gnn_data_class_names(r->data)[gnn_data_labels(r->data)[p->node]];
        text[n++] = p->text;
    }
    int rc = part && label ? make_corpora(r, n, part, label, text) : GNN_EMEMORY;
    free(part);
    free(label);
    return rc;
}

int take_language(run_t *r, uint64_t seed)
{
    enum { ALL = 6000, LONGEST = 12 * MAX_WORDS };
    static char memory[ALL][LONGEST];
    static const char *label[ALL], *text[ALL];
    static int part[ALL];
    for (int k = 0; k < ALL; k++) {
        sentence_t s = language_sentence(&seed);
        int at = 0;
        for (int w = 0; w < s.length; w++)
            at += snprintf(memory[k] + at, (size_t)(LONGEST - at), "%s ", language_word(s.words[w]));
        label[k] = s.plural ? "are" : "is";
        text[k] = memory[k];
        part[k] = k % 12 == 0 ? 1 : k % 6 == 1 ? 2 : 0;
    }
    return make_corpora(r, ALL, part, label, text);
}
