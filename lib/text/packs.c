/* Packs: concatenated sentences, the rows of one graph. */
#include <lib/base/settings.h>
#include <lib/data/data.h>
#include <lib/text/corpus.h>

/* All packs share arrays; a pack is a slice of them. */
typedef struct packs {
    gnn_packs_t public;
    gnn_pack_t *at;
    int64_t *index, *lengths;
    int32_t *labels, *ids, *positions;
} packs_t;

void gnn_packs_free(gnn_packs_t *packs)
{
    packs_t *p = (packs_t *)packs;
    if (!p)
        return;
    gnn_free(p->at);
    gnn_free(p->index);
    gnn_free(p->lengths);
    gnn_free(p->labels);
    gnn_free(p->ids);
    gnn_free(p->positions);
    gnn_free(p);
}

static int order_sentences(packs_t *p, int64_t count, const gnn_packing_t *how)
{
    int32_t *order;
    GNN_TRY(gnn__new(&order, count, sizeof *order, "an order of sentences"));
    for (int64_t k = 0; k < count; k++)
        order[k] = (int32_t)k;
    if (how->shuffle == GNN_ON)
        gnn__data_shuffle(order, count, how->seed);
    for (int64_t k = 0; k < count; k++)
        p->index[k] = order[k];
    gnn_free(order);
    return GNN_OK;
}

static int64_t write_sentence(packs_t *p, int64_t row, const char *sentence,
                              const gnn_vocabulary_t *vocabulary, int64_t max_words)
{
    const char *cursor = sentence, *end = sentence + strlen(sentence);
    int64_t position = 0;
    for (gnn__slice_t word;
         position < max_words && (word = gnn__word_next(&cursor, end)).length > 0; position++) {
        p->ids[row + position] = gnn__vocabulary_word_number(vocabulary, word);
        p->positions[row + position] = (int32_t)position;
    }
    return position;
}

/* Maps a class of the corpus to the vocabulary's index by name; unchanged if the vocabulary has no
 * classes. */
static int number_labels(int32_t **numbers, const gnn_corpus_t *corpus,
                         const gnn_vocabulary_t *vocabulary)
{
    const int64_t known = gnn_vocabulary_labels(vocabulary);
    GNN_TRY(gnn__new(numbers, corpus->n_labels, sizeof **numbers, "classes of a corpus"));
    for (int64_t k = 0; k < corpus->n_labels; k++) {
        int64_t at = 0;
        while (at < known && strcmp(gnn_vocabulary_label(vocabulary, at), corpus->label_names[k]) != 0)
            at++;
        if (known == 0)
            at = k;
        else if (at == known)
            return gnn__error(GNN_EINVALID,
                              "packs: the corpus has the class \"%.60s\", which is none of the %lld "
                              "of the vocabulary",
                              corpus->label_names[k], (long long)known);
        (*numbers)[k] = (int32_t)at;
    }
    return GNN_OK;
}

static void write_packs(packs_t *p, const gnn_corpus_t *corpus, const gnn_vocabulary_t *vocabulary,
                        const int32_t *numbers, const gnn_packing_t *how)
{
    int64_t row = 0;
    for (int64_t k = 0; k < corpus->count; k++) {
        gnn_pack_t *pack = &p->at[k / how->sentences];
        if (k % how->sentences == 0)
            *pack = (gnn_pack_t){.index = p->index + k,
                                 .lengths = p->lengths + k,
                                 .labels = p->labels + k,
                                 .ids = p->ids + row,
                                 .positions = p->positions + row};
        const int32_t label = corpus->labels[p->index[k]];
        p->labels[k] = label < 0 ? -1 : numbers[label];
        p->lengths[k] =
            write_sentence(p, row, corpus->sentences[p->index[k]], vocabulary, how->max_words);
        pack->sentences++;
        pack->rows += p->lengths[k];
        row += p->lengths[k];
    }
}

static int resolve(gnn_packing_t *how, const gnn_corpus_t *corpus)
{
    if (how->sentences == 0)
        how->sentences = 64;
    if (how->max_words == 0)
        how->max_words = 256;
    if (how->sentences < 1 || how->max_words < 1 || how->max_words > GNN__MAX_LINE)
        return gnn__error(GNN_EINVALID,
                          ".sentences = %lld, expected at least 1; .max_words = %lld, expected 1 to %d",
                          (long long)how->sentences, (long long)how->max_words, GNN__MAX_LINE);
    if (corpus->count > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "%lld sentences do not fit", (long long)corpus->count);
    if (how->seed != 0 && how->shuffle != GNN_ON)
        return gnn__error(GNN_EINVALID, "packs: .seed is read with .shuffle on only");
    return gnn__check_flag(how->shuffle, "packs: shuffle");
}

static int allocate(packs_t *p, const gnn_corpus_t *corpus)
{
    int64_t count = corpus->count;
    GNN_TRY(gnn__new(&p->at, p->public.count, sizeof *p->at, "packs"));
    GNN_TRY(gnn__new(&p->index, count, sizeof *p->index, "sentences of packs"));
    GNN_TRY(gnn__new(&p->lengths, count, sizeof *p->lengths, "lengths of sentences"));
    GNN_TRY(gnn__new(&p->labels, count, sizeof *p->labels, "labels of packs"));
    GNN_TRY(gnn__new(&p->ids, corpus->words, sizeof *p->ids, "words of packs"));
    return gnn__new(&p->positions, corpus->words, sizeof *p->positions, "positions of packs");
}

int gnn_packs_new(gnn_packs_t **packs, const gnn_corpus_t *corpus,
                  const gnn_vocabulary_t *vocabulary, const gnn_packing_t *how)
{
    gnn_packing_t settings = how ? *how : (gnn_packing_t){0};
    packs_t *p = NULL;
    int32_t *numbers = NULL;
    int rc;
    GNN__NEED(packs);
    GNN__NEED(corpus);
    GNN__NEED(vocabulary);
    GNN_TRY(resolve(&settings, corpus));
    GNN_CHECK(gnn__new(&p, 1, sizeof *p, "packs"));
    p->public.count = (corpus->count - 1) / settings.sentences + 1;
    GNN_CHECK(allocate(p, corpus));
    GNN_CHECK(order_sentences(p, corpus->count, &settings));
    GNN_CHECK(number_labels(&numbers, corpus, vocabulary));
    write_packs(p, corpus, vocabulary, numbers, &settings);
    p->public.at = p->at;
    *packs = &p->public;
    p = NULL;
done:
    gnn_free(numbers);
    gnn_packs_free(p ? &p->public : NULL);
    return rc;
}

void gnn_pack_drop_words(const gnn_pack_t *pack, double rate, uint64_t seed, int64_t epoch,
                         int32_t *ids)
{
    GNN__NEED_OR(pack, );
    GNN__NEED_OR(ids, );
    enum { STREAM = 0x776f7264 };
    int64_t row = 0;
    for (int64_t s = 0; s < pack->sentences; s++)
        for (int64_t k = 0; k < pack->lengths[s]; k++, row++) {
            uint64_t place = (uint64_t)pack->index[s] << 20 | (uint64_t)k;
            ids[row] =
                gnn__uniform(seed, STREAM + (uint64_t)epoch, place) < rate ? 0 : pack->ids[row];
        }
}
