/* The workspace of one encode call: current text, spans, tokens. */
#include <lib/text/tokenizer/tokenizer.h>

#include <stdlib.h>

int gnn__work_new(gnn__work_t *work, const gnn_tokenizer_t *tokenizer, bool places)
{
    *work = (gnn__work_t){.tokenizer = tokenizer, .places = places};
    return GNN_OK;
}

static void flow_free(gnn__flow_t *flow)
{
    gnn_free(flow->own);
    gnn_free(flow->own_from);
    gnn_free(flow->own_to);
}

void gnn__work_free(gnn__work_t *work)
{
    if (work->inner)
        gnn__work_free(work->inner);
    gnn_free(work->inner);
    flow_free(&work->raw);
    flow_free(&work->held);
    flow_free(&work->text);
    flow_free(&work->next);
    gnn_free(work->spans.at);
    gnn_free(work->next_spans.at);
    gnn_free(work->tokens.at);
    gnn_free(work->spaces);
    gnn_free(work->model);
    gnn__cache_free(work->cache);
}

void *gnn__work_scratch(gnn__work_t *work, int64_t count, size_t element)
{
    size_t bytes;
    if (work->rc == GNN_OK)
        work->rc = gnn__bytes(count, element, "scratch of a tokenizer", &bytes);
    if (work->rc != GNN_OK)
        return NULL;
    if (bytes > work->model_bytes) {
        gnn_free(work->model);
        work->model = NULL;
        work->model_bytes = 0;
        work->rc = gnn__new(&work->model, (int64_t)bytes + 4096, 1, "scratch of a tokenizer");
        if (work->rc == GNN_OK)
            work->model_bytes = bytes + 4096;
    }
    return work->rc == GNN_OK ? work->model : NULL;
}

void gnn__work_begin(gnn__work_t *work, int64_t bytes)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    /* steps, and the copies between them */
    const int64_t times = t->normalisers.n + t->splitters.n + 4;
    work->most = GNN__BYTES_PER_BYTE * bytes + GNN__BYTES_PER_TEXT;
    work->left = times * work->most;
}

static void check_most(gnn__work_t *work, int64_t bytes)
{
    if (work->rc == GNN_OK && (bytes > work->most || bytes > work->left))
        work->rc = gnn__error(GNN_EOVERFLOW,
                              "the text became longer than %lld bytes, which is %d for each of its "
                              "bytes and %d more",
                              (long long)work->most, GNN__BYTES_PER_BYTE, GNN__BYTES_PER_TEXT);
}

void gnn__work_count(gnn__work_t *work)
{
    check_most(work, work->next.n);
    work->left -= work->next.n;
}

void gnn__put_grow(gnn__work_t *work, int64_t bytes)
{
    gnn__flow_t *f = &work->next;
    int64_t room = gnn__max(2 * f->room, f->n + bytes + 256);
    check_most(work, f->n + bytes);
    if (work->rc == GNN_OK)
        work->rc = gnn__grow(&f->own, f->room, room, 1, "text");
    if (work->rc == GNN_OK && work->places)
        work->rc = gnn__grow(&f->own_from, f->room, room, sizeof *f->own_from, "places of text");
    if (work->rc == GNN_OK && work->places)
        work->rc = gnn__grow(&f->own_to, f->room, room, sizeof *f->own_to, "places of text");
    f->at = f->own;
    f->from = f->own_from;
    f->to = f->own_to;
    if (work->rc == GNN_OK)
        f->room = room;
}

void gnn__put_bytes(gnn__work_t *work, const char *at, int64_t n, gnn__span_t origin)
{
    gnn__flow_t *f = &work->next;
    if (n > f->room - f->n)
        gnn__put_grow(work, n);
    if (work->rc != GNN_OK || n == 0)
        return;
    memcpy(f->own + f->n, at, (size_t)n);
    for (int64_t k = f->n; work->places && k < f->n + n; k++) {
        f->own_from[k] = origin.begin;
        f->own_to[k] = origin.end;
    }
    f->n += n;
}

void gnn__add_span(gnn__work_t *work, int64_t begin, int64_t end)
{
    gnn__spans_t *s = &work->next_spans;
    if (begin == end || work->rc != GNN_OK)
        return;
    if (s->n == s->room)
        work->rc = gnn__room(&s->at, s->n, &s->room, sizeof *s->at, "words");
    if (work->rc == GNN_OK)
        s->at[s->n++] = (gnn__span_t){begin, end};
}

void gnn__add_token(gnn__work_t *work, int32_t id, int64_t begin, int64_t end)
{
    gnn__token_list_t *t = &work->tokens;
    if (work->rc != GNN_OK)
        return;
    if (t->n == t->room)
        work->rc = gnn__room(&t->at, t->n, &t->room, sizeof *t->at, "tokens");
    if (work->rc == GNN_OK)
        t->at[t->n++] = (gnn__token_t){.id = id, .spaces = -1, .begin = begin, .end = end};
}
