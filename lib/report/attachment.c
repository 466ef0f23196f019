/* Attachment scores of attention heads: maximum spanning trees and most attended words, compared
 * with the heads of a treebank. */
#include <graphs/undirected.h>
#include <lib/report/attention_maps.h>

enum { BATCH_TOKENS = 2048 }; /* tokens per batch */

typedef struct {
    gnn_attachment_t view;
    const gnn_pretrained_t *p;
    gnn_context_t *context;
    const gnn_treebank_t *bank;
    gnn_both_ways_t both;
} attachment_t;

/* A sentence without its punctuation, and its tokens. */
typedef struct {
    int64_t tokens, words;
    int32_t *ids, *types;
    int64_t *word;  /* (tokens): index of its word; -1: punctuation or a special token */
    int64_t *heads; /* (words): index of the head word; -1: the root or punctuation */
} sentence_t;

static void sentence_free(sentence_t *s)
{
    gnn_free(s->ids);
    gnn_free(s->types);
    gnn_free(s->word);
    gnn_free(s->heads);
}

/* ---- sentences ---- */

/* Joins words by spaces; starts[k] is the first byte of word k. */
static int join_words(const gnn_treebank_t *bank, int64_t first, int64_t n, char **text,
                      int64_t *starts)
{
    int64_t size = 1, at = 0;
    for (int64_t k = 0; k < n; k++)
        size += (int64_t)strlen(bank->words[first + k]) + 1;
    GNN_TRY(gnn__new(text, size, 1, "a sentence"));
    for (int64_t k = 0; k < n; k++) {
        const int64_t length = (int64_t)strlen(bank->words[first + k]);
        if (k > 0)
            (*text)[at++] = ' ';
        starts[k] = at;
        memcpy(*text + at, bank->words[first + k], (size_t)length);
        at += length;
    }
    return GNN_OK;
}

/* Index of each word without punctuation, -1 for punctuation; returns the count of words. */
static int64_t index_words(const gnn_treebank_t *bank, int64_t first, int64_t n, int64_t *index)
{
    int64_t words = 0;
    for (int64_t k = 0; k < n; k++)
        index[k] = bank->punctuation[first + k] ? -1 : words++;
    return words;
}

static int take_tokens(sentence_t *s, const gnn_tokens_t *t, const int64_t *starts,
                       const int64_t *index, int64_t n)
{
    s->tokens = t->rows;
    GNN_TRY(gnn__new(&s->ids, t->rows, sizeof *s->ids, "tokens"));
    GNN_TRY(gnn__new(&s->types, t->rows, sizeof *s->types, "tokens"));
    GNN_TRY(gnn__new(&s->word, t->rows, sizeof *s->word, "tokens"));
    for (int64_t k = 0, w = 0; k < t->rows; k++) {
        s->ids[k] = t->ids[k];
        s->types[k] = t->types[k];
        while (t->end[k] > 0 && w + 1 < n && starts[w + 1] < t->end[k])
            w++;
        s->word[k] = t->end[k] > 0 ? index[w] : -1;
    }
    return GNN_OK;
}

static int take_heads(sentence_t *s, const gnn_treebank_t *bank, int64_t first, int64_t n,
                      const int64_t *index)
{
    GNN_TRY(gnn__new(&s->heads, s->words, sizeof *s->heads, "heads"));
    for (int64_t k = 0; k < n; k++)
        if (index[k] >= 0)
            s->heads[index[k]] = bank->heads[first + k] < 0 ? -1 : index[bank->heads[first + k]];
    return GNN_OK;
}

static int read_sentence(const attachment_t *a, sentence_t *s, int64_t first, int64_t n)
{
    char *text = NULL;
    int64_t *starts = NULL;
    gnn_tokens_t *tokens = NULL;
    int rc;
    GNN_CHECK(gnn__new(&starts, 2 * n, sizeof *starts, "offsets of words"));
    GNN_CHECK(join_words(a->bank, first, n, &text, starts));
    s->words = index_words(a->bank, first, n, starts + n);
    GNN_CHECK(gnn_tokenizer_encode(gnn_pretrained_tokenizer(a->p),
                                   &(gnn_texts_t){1, (const char *const *)&text, NULL}, NULL,
                                   &(gnn_encoding_t){.places = GNN_ON}, &tokens));
    GNN_CHECK(take_tokens(s, tokens, starts, starts + n, n));
    GNN_CHECK(take_heads(s, a->bank, first, n, starts + n));
done:
    gnn_tokens_free(tokens);
    gnn_free(text);
    gnn_free(starts);
    return rc;
}

/* ---- scores of a sentence ---- */

static void add_baselines(attachment_t *a, const sentence_t *s)
{
    for (int64_t w = 0; w < s->words; w++) {
        a->view.words += s->heads[w] >= 0;
        a->view.left += s->heads[w] >= 0 && s->heads[w] == w - 1;
        a->view.right += s->heads[w] == w + 1;
    }
    a->view.sentences++;
}

/* Counts the words that attend most to their head. */
static int64_t count_most_attended(const sentence_t *s, const gnn_tensor_t *map)
{
    int64_t right = 0;
    for (int64_t w = 0; w < s->words; w++) {
        int64_t best = -1;
        for (int64_t v = 0; v < s->words; v++)
            if (v != w && (best < 0 || gnn__row(map, w)[v] > gnn__row(map, w)[best]))
                best = v;
        right += s->heads[w] >= 0 && s->heads[w] == best;
    }
    return right;
}

static int64_t count_tree_edges(const sentence_t *s, const int64_t *from, const int64_t *to, int64_t n)
{
    int64_t right = 0;
    for (int64_t k = 0; k < n; k++)
        right += s->heads[from[k]] == to[k] || s->heads[to[k]] == from[k];
    return right;
}

/* The edges of a complete graph are ordered by receiver, so the matrix of weights is the array of
 * edge weights. */
static int score_map(attachment_t *a, const sentence_t *s, const gnn_graph_t *graph,
                     const gnn_real_t *tokens, gnn_real_t *words, int64_t *ends, int64_t cell)
{
    int64_t edges;
    const gnn_tensor_t from = gnn_tensor((gnn_real_t *)(uintptr_t)tokens, s->tokens, s->tokens),
                       map = gnn_tensor(words, s->words, s->words);
    GNN_TRY(gnn_attention_of_words(&from, s->word, &map));
    GNN_TRY(gnn__graph_spanning_tree(graph, words, a->both, ends, ends + s->words, &edges));
    a->view.trees.data[cell] += (gnn_real_t)count_tree_edges(s, ends, ends + s->words, edges);
    a->view.most.data[cell] += (gnn_real_t)count_most_attended(s, &map);
    return GNN_OK;
}

static int score_sentence(attachment_t *a, const sentence_t *s, const gnn_real_t *weights,
                          int64_t layer)
{
    gnn_graph_t *graph = NULL;
    gnn_real_t *words = NULL;
    int64_t *ends = NULL;
    int rc;
    GNN_CHECK(gnn_graph_complete(&graph, 1, &s->words));
    GNN_CHECK(gnn__new(&words, s->words * s->words, sizeof *words, "attention of words"));
    GNN_CHECK(gnn__new(&ends, 2 * s->words, sizeof *ends, "a tree"));
    for (int64_t h = 0; h < a->view.heads; h++)
        GNN_CHECK(score_map(a, s, graph, weights + h * s->tokens * s->tokens, words, ends,
                            layer * a->view.heads + h));
    rc = GNN_OK;
done:
    gnn_graph_free(graph);
    gnn_free(words);
    gnn_free(ends);
    return rc;
}

/* ---- batches ---- */

typedef struct {
    sentence_t *sentences;
    int64_t count, tokens, cells; /* cells: elements of all attention maps of one head */
    int64_t *lengths;
    int32_t *ids, *types;
} batch_t;

static int run_layers(attachment_t *a, const batch_t *b, const gnn_model_inputs_t *inputs,
                      gnn_real_t *weights)
{
    const gnn_model_t *model = gnn_pretrained_model(a->p);
    int64_t layer = 0;
    for (int64_t k = gnn__attending(model, 0); k >= 0; k = gnn__attending(model, k + 1), layer++) {
        const gnn_real_t *at = weights;
        GNN_TRY(gnn_model_attention(model, a->context, inputs, k, NULL, weights));
        for (int64_t s = 0; s < b->count; s++) {
            GNN_TRY(score_sentence(a, &b->sentences[s], at, layer));
            at += a->view.heads * b->sentences[s].tokens * b->sentences[s].tokens;
        }
    }
    return GNN_OK;
}

static int run_batch(attachment_t *a, batch_t *b)
{
    gnn_pretrained_batch_t *batch = NULL;
    gnn_real_t *weights = NULL;
    int64_t row = 0;
    int rc;
    GNN_CHECK(gnn__new(&weights, a->view.heads * b->cells, sizeof *weights, "attention"));
    for (int64_t s = 0; s < b->count; row += b->lengths[s++]) {
        const sentence_t *one = &b->sentences[s];
        b->lengths[s] = one->tokens;
        memcpy(b->ids + row, one->ids, (size_t)one->tokens * sizeof *b->ids);
        memcpy(b->types + row, one->types, (size_t)one->tokens * sizeof *b->types);
    }
    GNN_CHECK(gnn_pretrained_batch_new(
        &batch, a->p,
        &(gnn_sequences_t){
            .count = b->count, .lengths = b->lengths, .ids = b->ids, .types = b->types}));
    GNN_CHECK(run_layers(a, b, gnn_pretrained_batch_inputs(batch), weights));
done:
    for (int64_t s = 0; s < b->count; s++)
        sentence_free(&b->sentences[s]);
    b->count = b->tokens = b->cells = 0;
    gnn_pretrained_batch_free(batch);
    gnn_free(weights);
    return rc;
}

/* Adds a sentence to the batch; runs the batch first if it is full. Sentences that are too long
 * are skipped. */
static int add_sentence(attachment_t *a, batch_t *b, sentence_t *s)
{
    const int64_t most = gnn_pretrained_max_length(a->p);
    if ((most > 0 && s->tokens > most) || s->tokens > BATCH_TOKENS) {
        a->view.skipped++;
        sentence_free(s);
        return GNN_OK;
    }
    if (b->tokens + s->tokens > BATCH_TOKENS) {
        const int rc = run_batch(a, b);
        if (rc != GNN_OK) {
            sentence_free(s);
            return rc;
        }
    }
    add_baselines(a, s);
    b->tokens += s->tokens;
    b->cells += s->tokens * s->tokens;
    b->sentences[b->count++] = *s;
    return GNN_OK;
}

static int run_all(attachment_t *a, batch_t *b, int64_t limit)
{
    int64_t row = 0;
    GNN_TRY(gnn__new(&b->sentences, BATCH_TOKENS, sizeof *b->sentences, "sentences"));
    GNN_TRY(gnn__new(&b->lengths, BATCH_TOKENS, sizeof *b->lengths, "sentences"));
    GNN_TRY(gnn__new(&b->ids, BATCH_TOKENS, sizeof *b->ids, "sentences"));
    GNN_TRY(gnn__new(&b->types, BATCH_TOKENS, sizeof *b->types, "sentences"));
    for (int64_t k = 0; k < a->bank->count && k < limit; row += a->bank->lengths[k++]) {
        sentence_t s = {0};
        const int rc = read_sentence(a, &s, row, a->bank->lengths[k]);
        if (rc != GNN_OK) {
            sentence_free(&s);
            return rc;
        }
        GNN_TRY(s.words > 1 && s.tokens > 0 ? add_sentence(a, b, &s) : (sentence_free(&s), GNN_OK));
    }
    return b->count > 0 ? run_batch(a, b) : GNN_OK;
}

/* ---- entry points ---- */

static void normalise(attachment_t *a)
{
    const double words = (double)gnn__max(a->view.words, 1);
    for (int64_t k = 0; k < a->view.layers * a->view.heads; k++) {
        a->view.trees.data[k] = (gnn_real_t)((double)a->view.trees.data[k] / words);
        a->view.most.data[k] = (gnn_real_t)((double)a->view.most.data[k] / words);
    }
    a->view.left /= words;
    a->view.right /= words;
    a->view.neighbours = a->view.left + a->view.right;
}

static int measure(attachment_t *a, int64_t limit)
{
    batch_t b = {0};
    gnn_attachment_t *v = &a->view;
    GNN_TRY(gnn__attending_sizes(gnn_pretrained_model(a->p), &v->layers, &v->heads));
    v->trees = v->most = gnn_tensor(NULL, v->layers, v->heads);
    GNN_TRY(gnn__new(&v->trees.data, v->layers * v->heads, sizeof(gnn_real_t), "scores"));
    GNN_TRY(gnn__new(&v->most.data, v->layers * v->heads, sizeof(gnn_real_t), "scores"));
    const int rc = run_all(a, &b, limit > 0 ? limit : INT64_MAX);
    for (int64_t s = 0; s < b.count; s++)
        sentence_free(&b.sentences[s]);
    gnn_free(b.sentences);
    gnn_free(b.lengths);
    gnn_free(b.ids);
    gnn_free(b.types);
    normalise(a);
    return rc;
}

static int make_attachment(gnn_attachment_t **attachment, const gnn_pretrained_t *pretrained,
                           gnn_context_t *context, const gnn_treebank_t *treebank,
                           const gnn_attachment_config_t *config)
{
    attachment_t *a = NULL;
    if (!gnn_pretrained_tokenizer(pretrained))
        return gnn__error(GNN_EUNSUPPORTED,
                          "attachment scores need a tokenizer; the model's folder has none");
    if (config->limit < 0 || (config->both != GNN_BOTH_SUM && config->both != GNN_BOTH_MAX))
        return gnn__error(GNN_EINVALID,
                          "attachment scores: expected limit >= 0 and a known `both`, got %lld and %d",
                          (long long)config->limit, (int)config->both);
    GNN_TRY(gnn__new(&a, 1, sizeof *a, "scores of heads"));
    *a = (attachment_t){.p = pretrained, .context = context, .bank = treebank, .both = config->both};
    const int rc = measure(a, config->limit);
    if (rc != GNN_OK) {
        gnn_attachment_free(&a->view);
        return rc;
    }
    *attachment = &a->view;
    return GNN_OK;
}

int gnn_attachment_new(gnn_attachment_t **attachment, const gnn_pretrained_t *pretrained,
                       gnn_context_t *context, const gnn_treebank_t *treebank,
                       const gnn_attachment_config_t *config)
{
    gnn_attachment_config_t own = config ? *config : (gnn_attachment_config_t){0};
    GNN__NEED(attachment);
    *attachment = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(context);
    GNN__NEED(treebank);
    return make_attachment(attachment, pretrained, context, treebank, &own);
}

void gnn_attachment_free(gnn_attachment_t *attachment)
{
    if (!attachment)
        return;
    gnn_free(attachment->trees.data);
    gnn_free(attachment->most.data);
    gnn_free(attachment); /* the first member of attachment_t */
}
