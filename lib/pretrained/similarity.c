/* Similarity of sentence embeddings. */
#include <lib/pretrained/pretrained.h>

#include <math.h>

/* ---- functions of two vectors ---- */

static double dot(const gnn_real_t *x, const gnn_real_t *y, int64_t width)
{
    double sum = 0;
    for (int64_t c = 0; c < width; c++)
        sum += (double)x[c] * (double)y[c];
    return sum;
}

/* x y / (|x| |y|); 0 for a zero vector. */
static double cosine(const gnn_real_t *x, const gnn_real_t *y, int64_t width)
{
    const double lengths = sqrt(dot(x, x, width)) * sqrt(dot(y, y, width));
    return lengths > 0 ? dot(x, y, width) / lengths : 0;
}

static double euclidean(const gnn_real_t *x, const gnn_real_t *y, int64_t width)
{
    double sum = 0;
    for (int64_t c = 0; c < width; c++)
        sum += ((double)x[c] - (double)y[c]) * ((double)x[c] - (double)y[c]);
    return -sqrt(sum);
}

static double manhattan(const gnn_real_t *x, const gnn_real_t *y, int64_t width)
{
    double sum = 0;
    for (int64_t c = 0; c < width; c++)
        sum += fabs((double)x[c] - (double)y[c]);
    return -sum;
}

/* By the names of sentence-transformers. */
static const struct {
    const char *name;
    double (*of)(const gnn_real_t *x, const gnn_real_t *y, int64_t width);
} functions[] = {{"cosine", cosine}, {"dot", dot}, {"euclidean", euclidean}, {"manhattan", manhattan}};

enum { FUNCTIONS = sizeof functions / sizeof *functions };

const char *gnn__similarity_find(const char *name)
{
    for (size_t k = 0; k < FUNCTIONS; k++)
        if (strcmp(functions[k].name, name) == 0)
            return functions[k].name;
    return NULL;
}

/* ---- interface ---- */

const char *gnn_pretrained_similarity_name(const gnn_pretrained_t *pretrained)
{
    GNN__NEED_OR(pretrained, NULL);
    return pretrained ? pretrained->similarity : NULL;
}

int gnn_pretrained_similarity(const gnn_pretrained_t *pretrained, const gnn_tensor_t *first,
                              const gnn_tensor_t *second, const gnn_tensor_t *out)
{
    GNN__NEED(first);
    GNN__NEED(second);
    GNN__NEED(out);
    size_t k = 0;
    GNN__NEED(pretrained);
    GNN_TRY(gnn__tensor_check(first, "first"));
    GNN_TRY(gnn__tensor_check(second, "second"));
    GNN_TRY(gnn__tensor_check(out, "out"));
    if (first->cols != second->cols || out->rows != first->rows || out->cols != second->rows)
        return gnn__error(GNN_ESHAPE, "vectors are %lld x %lld and %lld x %lld, out is %lld x %lld",
                          (long long)first->rows, (long long)first->cols, (long long)second->rows,
                          (long long)second->cols, (long long)out->rows, (long long)out->cols);
    while (functions[k].name != pretrained->similarity)
        k++;
    for (int64_t i = 0; i < first->rows; i++)
        for (int64_t j = 0; j < second->rows; j++)
            gnn__row(out, i)[j] =
                (gnn_real_t)functions[k].of(gnn__row(first, i), gnn__row(second, j), first->cols);
    return GNN_OK;
}
