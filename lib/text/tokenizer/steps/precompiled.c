/* SentencePiece's table as the library "tokenizers" applies it: to whole graphemes of fewer than 6
 * bytes, else to single characters, always the shortest match. The table is base64-encoded. */
#include <lib/text/tokenizer/tokenizer.h>

static int sextet(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Returns the bytes written to `to`; -1: not base64. */
static int64_t from_base64(gnn__string_t text, char *to)
{
    uint32_t bits = 0;
    int64_t made = 0, n = text.length, held = 0;
    for (int k = 0; k < 2 && n > 0 && text.at[n - 1] == '='; k++)
        n--;
    for (int64_t k = 0; k < n; k++) {
        const int six = sextet(text.at[k]);
        if (six < 0)
            return -1;
        bits = bits << 6 | (uint32_t)six;
        held += 6;
        if (held >= 8) {
            held -= 8;
            to[made++] = (char)(bits >> held & 0xff);
        }
    }
    return made;
}

int gnn__to_base64(json_t **out, gnn__string_t bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text, *to;
    GNN_TRY(gnn__new(&text, bytes.length / 3 * 4 + 8, 1, "a table of characters"));
    to = text;
    for (int64_t k = 0; k < bytes.length; k += 3) {
        const int64_t n = gnn__min(bytes.length - k, 3);
        uint32_t bits = 0;
        for (int64_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < n ? (unsigned char)bytes.at[k + i] : 0);
        for (int i = 0; i < 4; i++)
            *to++ = i <= n ? digits[bits >> (18 - 6 * i) & 63] : '=';
    }
    *out = json_stringn_nocheck(text, (size_t)(to - text));
    gnn_free(text);
    return *out ? GNN_OK : gnn__error(GNN_EMEMORY, "no memory for a table of characters");
}

/* The options are the table's head and its bytes. */
static int read(gnn__text_step_t *step, const json_t *json)
{
    gnn__string_t text = {0};
    gnn__charsmap_t *map;
    GNN_TRY(gnn__json_long_string(json, "precompiled_charsmap", false, &text));
    GNN_TRY(gnn__new(&step->options, (int64_t)sizeof *map + text.length, 1, "a table of characters"));
    map = step->options;
    const int64_t n = from_base64(text, (char *)(map + 1));
    if (n < 0)
        return gnn__error(GNN_EFORMAT, "\"precompiled_charsmap\" is not base64");
    return gnn__charsmap_read(map, (const char *)(map + 1), n);
}

static int64_t grapheme_end(const char *at, int64_t k, int64_t end)
{
    int32_t state = 0, before = gnn__utf8_next(at, &k);
    for (int64_t next = k; next < end; k = next) {
        const int32_t c = gnn__utf8_next(at, &next);
        if (gnn__grapheme_break(before, c, &state))
            break;
        before = c;
    }
    return k;
}

/* Origins as the library "tokenizers" takes them: a character put has that of the next one of the
 * input, a surplus one that of the last. Dropped characters belong to the one before them; after
 * dropped ones at the start all origins stay that far back. Metaspace reads them ("first"). */
typedef struct origins {
    int64_t next; /* byte of the input */
    bool surplus; /* the last character put was */
} origins_t;

static void skip(const gnn__work_t *work, origins_t *o, int64_t characters)
{
    for (; characters > 0; characters--)
        gnn__utf8_next(work->text.at, &o->next);
}

static void put(gnn__work_t *work, origins_t *o, int32_t c, bool surplus)
{
    gnn__put(work, c, gnn__origin(work, surplus ? o->next - 1 : o->next));
    skip(work, o, surplus ? 0 : 1);
    o->surplus = surplus;
}

/* Dropped characters belong to the last one put, which is theirs if it was surplus. */
static void drop(gnn__work_t *work, origins_t *o, int64_t characters)
{
    const gnn__span_t origin = gnn__origin(work, o->next);
    const gnn__flow_t *made = &work->next;
    int64_t k = made->n;
    while (work->places && o->surplus && k > 0) {
        made->own_from[--k] = origin.begin;
        made->own_to[k] = origin.end;
        if (((unsigned char)made->own[k] & 0xc0) != 0x80)
            break;
    }
    skip(work, o, characters);
    o->surplus = false;
}

static int64_t count_of(const char *at, int64_t k, int64_t end)
{
    int64_t n = 0;
    for (; k < end; n++)
        gnn__utf8_next(at, &k);
    return n;
}

static bool put_replaced(const gnn__charsmap_t *map, gnn__work_t *work, origins_t *o, int64_t start,
                         gnn__span_t part)
{
    gnn__string_t to;
    if (gnn__charsmap_find(map, work->text.at + part.begin, part.end - part.begin, false, &to) == 0)
        return false;
    int64_t left = count_of(work->text.at, part.begin, part.end);
    for (int64_t i = 0; i < to.length && work->rc == GNN_OK; left--)
        put(work, o, gnn__utf8_next(to.at, &i), left <= 0);
    if (left > 0 && work->next.n > start && work->rc == GNN_OK)
        drop(work, o, left);
    return true;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const char *at = work->text.at;
    const int64_t start = work->next.n;
    origins_t o = {.next = span.begin};
    for (int64_t k = span.begin; k < span.end && work->rc == GNN_OK;) {
        const int64_t end = grapheme_end(at, k, span.end);
        if (end - k < 6 && put_replaced(step->options, work, &o, start, (gnn__span_t){k, end}))
            k = end;
        while (k < end && work->rc == GNN_OK) {
            int64_t next = k;
            const int32_t c = gnn__utf8_next(at, &next);
            if (!put_replaced(step->options, work, &o, start, (gnn__span_t){k, next}))
                put(work, &o, c, false);
            k = next;
        }
    }
}

const gnn__text_step_row_t gnn__text_step_precompiled = {.type = "Precompiled",
                                                         .keys = "precompiled_charsmap",
                                                         .lists = GNN__NORMALISES,
                                                         .read = read,
                                                         .rewrite = rewrite};
