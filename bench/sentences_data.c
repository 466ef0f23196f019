/* STS-B: reading its lines, and Spearman's correlation. */
#include "sentences_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file ---- */

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (file && fseek(file, 0, SEEK_END) == 0) {
        const long size = ftell(file);
        rewind(file);
        text = size >= 0 ? calloc((size_t)size + 1, 1) : NULL;
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}

/* A field from *at on, unquoted in place; *at is moved after the comma or the line's end. */
static char *field(char **at)
{
    char *from = *at, *to = from, *out = from;
    const int quoted = *to == '"';
    for (to += quoted; *to && (quoted || (*to != ',' && *to != '\n')); to++) {
        if (quoted && *to == '"' && *++to != '"')
            break;
        *out++ = *to;
    }
    while (*to && *to != ',' && *to != '\n')
        to++;
    *at = *to ? to + 1 : to;
    *out = '\0';
    return from;
}

int sentences_read(sentences_t *s, const char *path)
{
    char own[4096];
    const char *data = getenv("GNN_DATA");
    int64_t lines = 1;
    snprintf(own, sizeof own, "%s/stsb/stsb-en-test.csv",
             data ? data : GNN_SOURCE_ROOT "/../shared/data");
    s->text = read_text(path ? path : own);
    if (!s->text) {
        fprintf(stderr, "%s cannot be read\n", path ? path : own);
        return GNN_EIO;
    }
    for (const char *c = s->text; *c; c++)
        lines += *c == '\n';
    s->at = calloc((size_t)lines, 2 * sizeof *s->at);
    s->scores = calloc((size_t)lines, sizeof *s->scores);
    if (!s->at || !s->scores)
        return GNN_EMEMORY;
    for (char *at = s->text; *at; s->count += 2) {
        s->at[s->count] = field(&at);
        s->at[s->count + 1] = field(&at);
        s->scores[s->count / 2] = strtod(field(&at), NULL);
    }
    return s->count > 0 ? GNN_OK : GNN_EFORMAT;
}

void sentences_free(sentences_t *s)
{
    free(s->at);
    free(s->scores);
    free(s->text);
}

/* ---- ranks ---- */

typedef struct {
    double value;
    int64_t place;
} ranked_t;

static int by_value(const void *a, const void *b)
{
    const double x = ((const ranked_t *)a)->value, y = ((const ranked_t *)b)->value;
    return (x > y) - (x < y);
}

/* Replaces values by their ranks minus the mean rank. */
static void rank(int64_t n, ranked_t *list, double *values)
{
    for (int64_t k = 0; k < n; k++)
        list[k] = (ranked_t){values[k], k};
    qsort(list, (size_t)n, sizeof *list, by_value);
    for (int64_t k = 0, end; k < n; k = end) {
        for (end = k + 1; end < n && list[end].value == list[k].value; end++)
            ;
        for (int64_t i = k; i < end; i++)
            values[list[i].place] = 0.5 * (double)(k + end - n);
    }
}

static double dot(int64_t n, const double *x, const double *y)
{
    double sum = 0;
    for (int64_t k = 0; k < n; k++)
        sum += x[k] * y[k];
    return sum;
}

static double cosine(const gnn_real_t *x, const gnn_real_t *y, int64_t width)
{
    double xy = 0, xx = 0, yy = 0;
    for (int64_t k = 0; k < width; k++) {
        xy += (double)x[k] * (double)y[k];
        xx += (double)x[k] * (double)x[k];
        yy += (double)y[k] * (double)y[k];
    }
    return xy / sqrt(xx * yy);
}

double sentences_spearman(const sentences_t *s, const gnn_tensor_t *rows)
{
    const int64_t n = rows->rows / 2, width = rows->cols;
    ranked_t *list = malloc((size_t)n * sizeof *list);
    double *ours = malloc((size_t)n * sizeof *ours), *given = malloc((size_t)n * sizeof *given);
    double found = (double)NAN;
    if (list && ours && given) {
        for (int64_t k = 0; k < n; k++) {
            const gnn_real_t *pair = rows->data + 2 * k * width;
            ours[k] = cosine(pair, pair + width, width);
            given[k] = s->scores[k];
        }
        rank(n, list, ours);
        rank(n, list, given);
        found = dot(n, ours, given) / sqrt(dot(n, ours, ours) * dot(n, given, given));
    }
    free(list);
    free(ours);
    free(given);
    return found;
}
