/* Translation of lines: tokens of the source, and generation. */
#include "translate.h"

#include "options.h"

#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

static int allocate(encoded_t *e, int side, int64_t count, int64_t rows)
{
    e->lengths[side] = calloc((size_t)count + 1, sizeof *e->lengths[side]);
    e->ids[side] = calloc((size_t)rows + 1, sizeof *e->ids[side]);
    return e->lengths[side] && e->ids[side] ? GNN_OK : GNN_EMEMORY;
}

/* Side 1 starts with a begin token; both end with an end token. */
static int encode_side(encoded_t *e, const translator_t *t, int side, int64_t count,
                       const char *const *lines)
{
    gnn_tokens_t *tokens;
    GNN_TRY(gnn_tokenizer_encode(t->tokenizer, &(gnn_texts_t){count, lines, NULL}, NULL,
                                 &(gnn_encoding_t){.max_length = t->max_length - 2}, &tokens));
    int rc = allocate(e, side, count, tokens->rows + 2 * count);
    int32_t *to = e->ids[side];
    const int32_t *from = tokens->ids;
    for (int64_t k = 0; rc == GNN_OK && k < count; from += tokens->lengths[k++]) {
        const int64_t n = tokens->lengths[k];
        e->lengths[side][k] = n + side + 1;
        if (side == 1)
            *to++ = TRANSLATE_BEGIN;
        memcpy(to, from, (size_t)n * sizeof *from);
        to += n;
        *to++ = TRANSLATE_END;
    }
    gnn_tokens_free(tokens);
    return rc;
}

int encode_lines(encoded_t *e, const translator_t *t, int64_t count, const char *const *source,
                 const char *const *target)
{
    *e = (encoded_t){.lengths = {NULL}};
    GNN_TRY(encode_side(e, t, 0, count, source));
    if (target)
        GNN_TRY(encode_side(e, t, 1, count, target));
    e->sequences = (gnn_sequences_t){.count = count,
                                     .lengths = e->lengths[0],
                                     .ids = e->ids[0],
                                     .decoder_lengths = e->lengths[1],
                                     .decoder_ids = e->ids[1]};
    return GNN_OK;
}

void encoded_free(encoded_t *e)
{
    for (int side = 0; side < 2; side++) {
        free(e->lengths[side]);
        free(e->ids[side]);
    }
}

/* ---- generation ---- */

/* Inputs of the encoder, and its graphs. */
typedef struct {
    gnn_graph_t *graphs[3];
    int64_t *ones;
    int32_t *positions, *begin;
    int64_t rows, longest;
} reading_t;

static void reading_free(reading_t *r)
{
    for (int k = 0; k < 3; k++)
        gnn_graph_free(r->graphs[k]);
    free(r->ones);
    free(r->positions);
    free(r->begin);
}

static int make_reading(reading_t *r, const translator_t *t, const gnn_sequences_t *s)
{
    for (int64_t k = 0; k < s->count; k++) {
        r->rows += s->lengths[k];
        r->longest = s->lengths[k] > r->longest ? s->lengths[k] : r->longest;
    }
    const size_t count = s->count > 0 ? (size_t)s->count : 0;
    r->ones = calloc(count, sizeof *r->ones);
    r->begin = calloc(count, sizeof *r->begin);
    r->positions = calloc((size_t)r->rows, sizeof *r->positions);
    if (!r->ones || !r->begin || !r->positions)
        return GNN_EMEMORY;
    for (int64_t k = 0, row = 0; k < s->count; k++) {
        r->ones[k] = 1;
        r->begin[k] = TRANSLATE_BEGIN;
        for (int64_t p = 0; p < s->lengths[k]; p++)
            r->positions[row++] = (int32_t)p;
    }
    GNN_TRY(gnn_graph_complete(&r->graphs[0], s->count, s->lengths));
    GNN_TRY(gnn_graph_causal(&r->graphs[1], s->count, r->ones));
    GNN_TRY(gnn_graph_bipartite(&r->graphs[2], s->count, r->ones, s->lengths));
    for (int k = 0; k < 3; k++)
        GNN_TRY(gnn_model_prepare(t->model, k, r->graphs[k], GNN_OFF));
    return GNN_OK;
}

/* 0, which is the default, where it is not given: greedy decoding reads none. */
static gnn_real_t penalty(const translate_t *o)
{
    if (!options_gave("length-penalty"))
        return 0;
    return o->length_penalty > 0 ? (gnn_real_t)o->length_penalty : GNN_ZERO;
}

/* A KV cache after the encoder has run; each translation starts with the begin token. */
static int write_batch(const translator_t *t, gnn_context_t *context, const translate_t *o,
                       const reading_t *r, const gnn_sequences_t *s, gnn_written_t **written)
{
    static const int32_t begin = TRANSLATE_BEGIN, end = TRANSLATE_END;
    const gnn_named_t values[] = {{.name = "ids", .ids = s->ids, .count = r->rows},
                                  {.name = "positions", .ids = r->positions, .count = r->rows}};
    const gnn_model_inputs_t fixed = {(const gnn_graph_t *const *)r->graphs, 3, values, 2};
    const gnn_state_config_t state = {.fixed = &fixed};
    const gnn_writer_t writer = {.model = t->model,
                                 .ids = "decoder_ids",
                                 .positions = "decoder_positions",
                                 .state = &state,
                                 .tokenizer = t->tokenizer,
                                 .max_length = t->max_length};
    const gnn_generation_t how = {.length = 2 * r->longest + 10,
                                  .beams = o->beams,
                                  .length_penalty = penalty(o),
                                  .end = &end,
                                  .n_end = 1,
                                  .never = &begin,
                                  .n_never = 1};
    return gnn_generate(&writer, context,
                        &(gnn_sequences_t){.count = s->count, .lengths = r->ones, .ids = r->begin},
                        &how, written);
}

/* Generation settings of the folder are the defaults of options. */
static int write_published(const translator_t *t, gnn_context_t *context, const translate_t *o,
                           int64_t count, const char *const *source, gnn_written_t **written)
{
    const gnn_writer_t writer = {.pretrained = t->pretrained};
    const gnn_generation_t how = {.beams = options_gave("beams") ? o->beams : 0,
                                  .length_penalty = penalty(o),
                                  .temperature = options_gave("beams") ? GNN_ZERO : 0};
    return gnn_generate_texts(&writer, context, &(gnn_texts_t){count, source, NULL}, &how, written);
}

static int translate_some(const translator_t *t, gnn_context_t *context, const translate_t *o,
                          int64_t count, const char *const *source, char **out)
{
    encoded_t e = {.lengths = {NULL}};
    reading_t r = {.rows = 0};
    gnn_written_t *written = NULL;
    int rc = t->pretrained ? GNN_OK : encode_lines(&e, t, count, source, NULL);
    if (rc == GNN_OK && !t->pretrained)
        rc = make_reading(&r, t, &e.sequences);
    if (rc == GNN_OK)
        rc = t->pretrained ? write_published(t, context, o, count, source, &written)
                           : write_batch(t, context, o, &r, &e.sequences, &written);
    for (int64_t k = 0; rc == GNN_OK && k < count; k++) {
        out[k] = strdup(written->texts[k]);
        rc = out[k] ? GNN_OK : GNN_EMEMORY;
    }
    gnn_written_free(written);
    reading_free(&r);
    encoded_free(&e);
    return rc;
}

int translate_lines(const translator_t *t, gnn_context_t *context, const translate_t *o,
                    int64_t count, const char *const *source, char **out)
{
    for (int64_t from = 0; from < count; from += o->at_once) {
        const int64_t n = count - from < o->at_once ? count - from : o->at_once;
        GNN_TRY(translate_some(t, context, o, n, source + from, out + from));
    }
    return GNN_OK;
}
