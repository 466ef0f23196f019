/* The sentence pairs of STS-B, for bench/sentences: lines "first,second,score", with quotes. */
#ifndef SENTENCES_DATA_H
#define SENTENCES_DATA_H

#include <gnn/gnn.h>

/* 2 n_pairs sentences, in the order of the file. */
typedef struct {
    int64_t count;
    const char **at;
    double *scores; /* (count / 2) human scores */
    char *text;     /* memory of the sentences */
} sentences_t;

/* The file, or $GNN_DATA/stsb/stsb-en-test.csv if `path` is NULL. */
int sentences_read(sentences_t *s, const char *path);
void sentences_free(sentences_t *s);

/* Spearman's correlation of the cosines of pairs of rows with the scores; ties share their mean
 * rank. NaN if memory is short. */
double sentences_spearman(const sentences_t *s, const gnn_tensor_t *rows);

#endif
