/* SentencePiece's normaliser: the longest match of its table at every position, then spaces. Kudo
 * and Richardson 2018. */
#include <lib/text/tokenizer/tokenizer.h>

/* Replacement of the characters at k; returns the bytes consumed. */
static int64_t next_part(const gnn__sentencepiece_options_t *o, const gnn__work_t *work, int64_t k,
                         int64_t end, gnn__string_t *part)
{
    const char *at = work->text.at + k;
    int64_t length = 0;
    if (gnn__trie_longest(o->kept, at, end - k, &length) < 0) {
        length = gnn__charsmap_find(&o->map, at, end - k, true, part);
        if (length > 0)
            return length;
        gnn__utf8_next(at, &length);
    }
    *part = (gnn__string_t){at, length};
    return length;
}

void gnn__sentencepiece_plain(gnn__sentencepiece_options_t *o)
{
    gnn__string_t part;
    for (int a = 1; a < 128; a++) {
        const bool kept = o->kept->nodes > 0 && o->kept->first[a] > 0;
        bool plain = a != ' ' && !kept;
        for (int b = 1; b < 128 && plain; b++)
            plain =
                gnn__charsmap_find(&o->map, (const char[]){(char)a, (char)b}, 2, true, &part) == 0;
        o->plain[a] = plain;
    }
}

/* End of the run of plain characters at k: each is followed by an ASCII character, so that no entry
 * of the table can begin there. */
static int64_t plain_end(const gnn__sentencepiece_options_t *o, const char *at, int64_t k, int64_t end)
{
    while (k < end && (unsigned char)at[k] < 128 && o->plain[(unsigned char)at[k]] &&
           (k + 1 == end || (unsigned char)at[k + 1] < 128))
        k++;
    return k;
}

static void put_blank(const gnn__sentencepiece_options_t *o, gnn__work_t *work, gnn__span_t origin)
{
    const char *blank = o->escape ? GNN__BLANK : " ";
    gnn__put_bytes(work, blank, (int64_t)strlen(blank), origin);
}

/* Appends a part; `*blank`: the output ends in a space, so a further one is dropped. */
static void put_part(const gnn__sentencepiece_options_t *o, gnn__work_t *work, gnn__string_t part,
                     gnn__span_t origin, bool *blank)
{
    int64_t k = 0;
    while (*blank && k < part.length && part.at[k] == ' ')
        k++;
    for (; k < part.length; k++) {
        if (part.at[k] == ' ')
            put_blank(o, work, origin);
        else
            gnn__put_byte(work, part.at[k], origin);
        *blank = o->squeeze && part.at[k] == ' ';
    }
}

static void drop_blanks(const gnn__sentencepiece_options_t *o, gnn__work_t *work, int64_t begin)
{
    const char *blank = o->escape ? GNN__BLANK : " ";
    const int64_t n = (int64_t)strlen(blank);
    while (work->next.n - begin >= n &&
           memcmp(work->next.at + work->next.n - n, blank, (size_t)n) == 0)
        work->next.n -= n;
}

static int64_t skip_blanks(const gnn__sentencepiece_options_t *o, const gnn__work_t *work,
                           gnn__span_t span)
{
    gnn__string_t part;
    int64_t k = span.begin;
    while (o->squeeze && k < span.end) {
        const int64_t taken = next_part(o, work, k, span.end, &part);
        if (part.length != 1 || part.at[0] != ' ')
            break;
        k += taken;
    }
    return k;
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const gnn__sentencepiece_options_t *o = step->options;
    const int64_t begin = work->next.n;
    bool blank = o->squeeze;
    int64_t k = skip_blanks(o, work, span);
    if (k == span.end)
        return;
    if (o->prefix)
        put_blank(o, work, (gnn__span_t){gnn__origin(work, k).begin, gnn__origin(work, k).begin});
    while (k < span.end) {
        gnn__string_t part;
        const int64_t plain = work->places ? k : plain_end(o, work->text.at, k, span.end);
        if (plain > k) {
            gnn__put_bytes(work, work->text.at + k, plain - k, (gnn__span_t){0, 0});
            blank = false;
            k = plain;
            continue;
        }
        gnn__span_t origin = gnn__origin(work, k);
        const int64_t taken = next_part(o, work, k, span.end, &part);
        origin.end = gnn__origin(work, k + taken - 1).end;
        put_part(o, work, part, origin, &blank);
        k += taken;
    }
    if (o->squeeze)
        drop_blanks(o, work, begin);
}

const gnn__text_step_row_t gnn__text_step_sentencepiece = {.type = "SentencePiece",
                                                           .rewrite = rewrite};
