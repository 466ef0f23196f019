/* libFuzzer: any bytes as a corpus; what was read makes a vocabulary and packs that hold
 * together. */
#include "fuzz.h"

#include <gnn/text.h>

static void look(const gnn_corpus_t *corpus)
{
    gnn_vocabulary_t *vocabulary = NULL;
    gnn_packs_t *packs = NULL;
    int64_t words = 0, sentences = 0;
    if (gnn_vocabulary_new(&vocabulary, corpus, 1) != GNN_OK ||
        gnn_packs_new(&packs, corpus, vocabulary,
                      &(gnn_packing_t){.sentences = 3, .max_words = 1000000}) != GNN_OK)
        abort();
    for (int64_t k = 0; k < packs->count; k++) {
        const gnn_pack_t *p = &packs->at[k];
        sentences += p->sentences;
        words += p->rows;
        for (int64_t r = 0; r < p->rows; r++)
            /* each word is known */
            if (p->ids[r] < 1 || p->ids[r] >= gnn_vocabulary_size(vocabulary))
                abort();
        for (int64_t s = 0; s < p->sentences; s++)
            if (p->labels[s] < 0 || p->labels[s] >= corpus->n_labels || p->lengths[s] < 1)
                abort();
    }
    if (words != corpus->words || sentences != corpus->count)
        abort();
    gnn_packs_free(packs);
    gnn_vocabulary_free(vocabulary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gnn_corpus_t *corpus = NULL;
    int rc = gnn_corpus_read(&corpus, fuzz_path(data, size), NULL);
    if ((rc != GNN_OK) != (corpus == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (corpus)
        look(corpus);
    gnn_corpus_free(corpus);
    return 0;
}
