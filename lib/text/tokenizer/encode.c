/* Encodes batches of texts: tokens in templates, truncated and concatenated. */
#include <lib/base/settings.h>
#include <lib/text/tokenizer/tokenizer.h>

/* MARGIN: tokens past the last one kept, which a later word may still extend. */
enum { MOST_BYTES = 1 << 30, MARGIN = 2 };
/* Bytes of the first prefix of a long text, at least, and per token that is kept. */
enum { PREFIX = 1 << 16, PREFIX_PER_TOKEN = 64, LAST_WORD = 4096 };

typedef struct batch {
    gnn_tokens_t public;
    gnn__token_list_t rows;
    int64_t *lengths, *begin, *end;
    int32_t *ids, *types, *positions;
} batch_t;

void gnn_tokens_free(gnn_tokens_t *tokens)
{
    batch_t *b = (batch_t *)tokens;
    if (!b)
        return;
    gnn_free(b->rows.at);
    gnn_free(b->lengths);
    gnn_free(b->begin);
    gnn_free(b->end);
    gnn_free(b->ids);
    gnn_free(b->types);
    gnn_free(b->positions);
    gnn_free(b);
}

/* ---- lengths ---- */

/* Tokens kept of two texts: the longer one is truncated first, then both equally. */
static void cut_pair(const gnn_tokenizer_t *t, int64_t n[2], int64_t most)
{
    const int longer = n[0] > n[1] ? 0 : 1;
    int64_t few = n[1 - longer], many = n[longer];
    if (few + many <= most)
        return;
    many = few > most ? few : gnn__max(few, most - few);
    if (few + many > most) {
        const bool turned = t->first_longer && longer == 1;
        few = turned ? most - most / 2 : most / 2;
        many = most - few;
    }
    n[1 - longer] = gnn__min(n[1 - longer], few);
    n[longer] = gnn__min(n[longer], many);
}

/* Keeps the first tokens of each text, or the last. */
static void cut(const gnn_tokenizer_t *t, int64_t first[2], int64_t n[2], int64_t most)
{
    const int64_t whole[2] = {n[0], n[1]};
    cut_pair(t, n, most);
    for (int side = 0; side < 2 && t->cuts_start; side++)
        first[side] += whole[side] - n[side];
}

static int64_t count_special(const gnn__template_t *list)
{
    int64_t count = 0;
    for (int64_t k = 0; k < list->n; k++)
        count += list->at[k].id >= 0;
    return count;
}

/* ---- a sentence ---- */

static int add_row(batch_t *b, gnn__token_t token)
{
    gnn__token_list_t *rows = &b->rows;
    GNN_TRY(gnn__room(&rows->at, rows->n, &rows->room, sizeof *rows->at, "tokens"));
    rows->at[rows->n++] = token;
    return GNN_OK;
}

static int add_item(batch_t *b, const gnn__work_t *work, gnn__item_t item, const int64_t first[2],
                    const int64_t n[2], bool special)
{
    const int32_t type = work->tokenizer->one_type ? 0 : item.type;
    if (item.id >= 0)
        return special ? add_row(b, (gnn__token_t){.id = item.id, .type = type}) : GNN_OK;
    for (int64_t k = 0; k < n[item.which]; k++) {
        gnn__token_t token = work->tokens.at[first[item.which] + k];
        token.type = type;
        GNN_TRY(add_row(b, token));
    }
    return GNN_OK;
}

int64_t gnn__texts_bytes(const gnn_texts_t *texts, int64_t k)
{
    return texts->bytes ? texts->bytes[k] : (int64_t)strlen(texts->at[k]);
}

/* ---- long texts ---- */

/* The end of a prefix of about n bytes: before a space, or else at a character. */
static int64_t prefix_end(const char *text, int64_t n)
{
    int64_t end = n;
    while (end > n - LAST_WORD && text[end] != ' ' && text[end] != '\n')
        end--;
    if (end > n - LAST_WORD)
        return end;
    for (end = n; end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80; end--)
        continue;
    return end;
}

static bool same_tokens(const gnn__token_t *a, const gnn__token_t *b, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        if (a[k].id != b[k].id || a[k].begin != b[k].begin || a[k].end != b[k].end)
            return false;
    return true;
}

/* Encodes a prefix in place of what was encoded before; false if it has fewer than `enough` tokens
 * or fails, as the whole text may not. */
static bool encode_prefix(gnn__work_t *work, const char *text, int64_t bytes, int64_t first,
                          int64_t enough)
{
    work->tokens.n = first;
    gnn__encode_text(work, text, prefix_end(text, bytes));
    if (work->rc != GNN_OK && work->rc != GNN_EMEMORY)
        work->rc = GNN_OK;
    return work->rc == GNN_OK && work->tokens.n - first >= enough;
}

/* The first `enough` tokens from prefixes of a text: two of them, one twice as long as the other,
 * must agree, so that the end of neither has a part in them. False: the whole text is needed. */
static bool encode_begin(gnn__work_t *work, const char *text, int64_t bytes, int64_t enough)
{
    const int64_t first = work->tokens.n;
    gnn__token_t *kept = NULL;
    bool agree = false;
    work->rc = gnn__new(&kept, enough, sizeof *kept, "tokens");
    for (int64_t n = gnn__max(PREFIX, PREFIX_PER_TOKEN * enough);
         n < bytes / 4 && !agree && work->rc == GNN_OK; n *= 4) {
        if (!encode_prefix(work, text, n, first, enough))
            continue;
        memcpy(kept, work->tokens.at + first, (size_t)enough * sizeof *kept);
        agree = encode_prefix(work, text, 2 * n, first, enough) &&
                same_tokens(kept, work->tokens.at + first, enough);
    }
    gnn_free(kept);
    if (!agree)
        work->tokens.n = first;
    return agree;
}

/* Tokens of text k of each side, which end soon after `enough` of them; 0: none is left out. */
static void encode_sides(gnn__work_t *work, const gnn_texts_t *const texts[2], int64_t k,
                         int64_t enough, int64_t first[2], int64_t n[2])
{
    work->tokens.n = 0;
    for (int side = 0; side < 2 && texts[side]; side++) {
        first[side] = work->tokens.n;
        work->enough = enough ? first[side] + enough : 0;
        const char *text = texts[side]->at[k];
        const int64_t bytes = gnn__texts_bytes(texts[side], k);
        if (enough == 0 || bytes / 4 <= gnn__max(PREFIX, PREFIX_PER_TOKEN * enough) ||
            !encode_begin(work, text, bytes, enough))
            gnn__encode_text(work, text, bytes);
        n[side] = work->tokens.n - first[side];
    }
}

static int encode_one(batch_t *b, gnn__work_t *work, const gnn_texts_t *const texts[2], int64_t k,
                      const gnn_encoding_t *how)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    const gnn__template_t *list = texts[1] ? &t->pair : &t->single;
    const bool special = how->special != GNN_OFF;
    const int64_t before = b->rows.n, around = special ? count_special(list) : 0;
    int64_t first[2] = {0}, n[2] = {0};
    const int64_t most = how->max_length > 0 ? gnn__max(how->max_length - around, 0) : 0;
    const int64_t enough = how->max_length > 0 && !t->cuts_start ? most + MARGIN : 0;
    encode_sides(work, texts, k, enough, first, n);
    /* If both are truncated, the longer one may keep one more token, so both lengths are needed. */
    if (texts[1] && enough > 0 && gnn__min(n[0], n[1]) >= enough)
        encode_sides(work, texts, k, 0, first, n);
    if (work->rc != GNN_OK)
        return gnn__error_prefix(work->rc, "text %lld", (long long)k);
    if (how->max_length > 0)
        cut(t, first, n, most);
    for (int side = 0; side < 2 && texts[side] && how->places == GNN_ON; side++)
        gnn__trim(work, (gnn__string_t){texts[side]->at[k], gnn__texts_bytes(texts[side], k)},
                  special, work->tokens.at + first[side], n[side]);
    for (int64_t i = 0; i < list->n; i++)
        GNN_TRY(add_item(b, work, list->at[i], first, n, special));
    b->lengths[k] = b->rows.n - before;
    return GNN_OK;
}

/* ---- the batch ---- */

static int fill(batch_t *b, int64_t sentences, bool places)
{
    const int64_t n = b->rows.n;
    GNN_TRY(gnn__new(&b->ids, n, sizeof *b->ids, "tokens"));
    GNN_TRY(gnn__new(&b->types, n, sizeof *b->types, "types of tokens"));
    GNN_TRY(gnn__new(&b->positions, n, sizeof *b->positions, "positions of tokens"));
    if (places) {
        GNN_TRY(gnn__new(&b->begin, n, sizeof *b->begin, "places of tokens"));
        GNN_TRY(gnn__new(&b->end, n, sizeof *b->end, "places of tokens"));
    }
    for (int64_t s = 0, k = 0; s < sentences; s++)
        for (int64_t p = 0; p < b->lengths[s]; p++, k++) {
            b->ids[k] = b->rows.at[k].id;
            b->types[k] = b->rows.at[k].type;
            b->positions[k] = (int32_t)p;
            if (places) {
                b->begin[k] = b->rows.at[k].begin;
                b->end[k] = b->rows.at[k].end;
            }
        }
    gnn_free(b->rows.at);
    b->rows = (gnn__token_list_t){0};
    b->public =
        (gnn_tokens_t){sentences, n, b->lengths, b->ids, b->types, b->positions, b->begin, b->end};
    return GNN_OK;
}

int gnn__texts_check(const gnn_texts_t *texts, const char *which)
{
    if (texts->count < 0)
        return gnn__error(GNN_EINVALID, "%s texts: .count = %lld, expected at least 0", which,
                          (long long)texts->count);
    if (texts->count > 0 && !texts->at)
        return gnn__error(GNN_EINVALID, "%s texts: .at is NULL, expected %lld texts", which,
                          (long long)texts->count);
    for (int64_t k = 0; k < texts->count; k++) {
        if (!texts->at[k] && (!texts->bytes || texts->bytes[k] != 0))
            return gnn__error(GNN_EINVALID, "%s text %lld is NULL", which, (long long)k);
        const int64_t n = texts->at[k] ? gnn__texts_bytes(texts, k) : 0;
        if (n < 0 || n > MOST_BYTES)
            return gnn__error(n < 0 ? GNN_EINVALID : GNN_EOVERFLOW,
                              "%s text %lld has %lld bytes, 0 to %d are expected", which,
                              (long long)k, (long long)n, MOST_BYTES);
    }
    return GNN_OK;
}

static int check(const gnn_texts_t *first, const gnn_texts_t *second, const gnn_encoding_t *how)
{
    GNN_TRY(gnn__check_flag(how->special, "encoding: special"));
    GNN_TRY(gnn__check_flag(how->places, "encoding: places"));
    if (how->max_length < 0)
        return gnn__error(GNN_EINVALID, ".max_length = %lld, expected at least 0",
                          (long long)how->max_length);
    GNN_TRY(gnn__texts_check(first, "first"));
    if (!second)
        return GNN_OK;
    GNN_TRY(gnn__texts_check(second, "second"));
    return first->count == second->count
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "%lld first and %lld second texts, expected equal counts",
                            (long long)first->count, (long long)second->count);
}

int gnn_tokenizer_encode(const gnn_tokenizer_t *tokenizer, const gnn_texts_t *first,
                         const gnn_texts_t *second, const gnn_encoding_t *how, gnn_tokens_t **tokens)
{
    GNN__NEED(tokenizer);
    GNN__NEED(first);
    const gnn_encoding_t plain = {0};
    const gnn_texts_t *const texts[2] = {first, second};
    gnn__work_t work;
    batch_t *b = NULL;
    how = how ? how : &plain;
    GNN__NEED(tokens);
    *tokens = NULL;
    GNN_TRY(check(first, second, how));
    GNN_TRY(gnn__new(&b, 1, sizeof *b, "tokens"));
    GNN_TRY(gnn__work_new(&work, tokenizer, how->places == GNN_ON || tokenizer->needs_origins));
    int rc = gnn__new(&b->lengths, first->count, sizeof *b->lengths, "lengths of sentences");
    for (int64_t k = 0; k < first->count && rc == GNN_OK; k++)
        rc = encode_one(b, &work, texts, k, how);
    if (rc == GNN_OK)
        rc = fill(b, first->count, how->places == GNN_ON);
    gnn__work_free(&work);
    if (rc == GNN_OK)
        *tokens = &b->public;
    else
        gnn_tokens_free(&b->public);
    return rc;
}
