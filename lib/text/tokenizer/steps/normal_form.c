/* Unicode's four normal forms (Unicode Standard Annex 15): decompose, order the marks, compose
 * again. */
#include <lib/text/tokenizer/tokenizer.h>

enum {
    MOST = 4096
}; /* combining marks per character that are sorted at once; longer runs are sorted in chunks */

typedef struct letter {
    int32_t c, order;
    int32_t adds; /* 1: one more of a decomposed character; -1 and less: others are in it */
} letter_t;

typedef struct options {
    bool compose, compatible;
} options_t;

static int read(gnn__text_step_t *step, const json_t *json)
{
    gnn__string_t type;
    GNN_TRY(gnn__json_string(json, "type", true, &type));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    *(options_t *)step->options = (options_t){type.at[type.length - 1] == 'C', type.at[2] == 'K'};
    return GNN_OK;
}

/* Stable sort of marks by combining class. */
static void order_marks(letter_t *at, int n)
{
    for (int k = 1; k < n; k++) {
        const letter_t l = at[k];
        int i = k;
        for (; l.order > 0 && i > 0 && at[i - 1].order > l.order; i--)
            at[i] = at[i - 1];
        at[i] = l;
    }
}

/* Each letter joins the starter before it unless another one of its class, or of a higher one,
 * stands between. */
static int compose(letter_t *at, int n)
{
    int made = 0, starter = -1;
    for (int k = 0; k < n; k++) {
        const bool blocked = made - 1 > starter && at[made - 1].order >= at[k].order;
        const int32_t joined = starter >= 0 && !blocked ? gnn__compose(at[starter].c, at[k].c) : -1;
        if (joined >= 0) {
            at[starter].c = joined;
            at[starter].adds += at[k].adds - 1;
            continue;
        }
        at[made] = at[k];
        if (at[k].order == 0)
            starter = made;
        made++;
    }
    return made;
}

/* Offsets stay in text order even if marks were reordered: a letter takes the offset of the next
 * character, unless it belongs to the decomposition of the last one. */
static void put_letters(const options_t *o, gnn__work_t *work, letter_t *at, int n, int64_t begin,
                        int64_t end)
{
    gnn__span_t origin = gnn__origin(work, begin);
    int64_t last = begin;
    order_marks(at, n);
    n = o->compose ? compose(at, n) : n;
    for (int k = 0; k < n; k++) {
        if (at[k].adds > 0)
            origin = gnn__origin(work, last);
        else if (begin < end)
            origin = gnn__origin(work, begin);
        for (int skip = at[k].adds; skip <= 0 && begin < end; skip++) {
            last = begin;
            gnn__utf8_next(work->text.at, &begin);
        }
        gnn__put(work, at[k].c, origin);
    }
}

/* May a character combine with the previous one? True for marks and the later letters of a Hangul
 * syllable. */
static bool joins(int32_t c)
{
    return (c >= 0x1161 && c <= 0x11c2) || gnn__is_mark(c);
}

static void rewrite(const gnn__text_step_t *step, gnn__work_t *work, gnn__span_t span)
{
    const options_t *o = step->options;
    letter_t *at = gnn__work_scratch(work, MOST + 18, sizeof *at);
    int64_t begin = span.begin;
    int n = 0;
    for (int64_t k = span.begin; at && k < span.end;) {
        int32_t parts[18];
        const int64_t here = k;
        const int count = gnn__decompose(gnn__utf8_next(work->text.at, &k), o->compatible, parts);
        if (n > 0 && (n >= MOST || !joins(parts[0]))) {
            put_letters(o, work, at, n, begin, here);
            n = 0;
            begin = here;
        }
        for (int i = 0; i < count; i++)
            at[n++] = (letter_t){parts[i], gnn__combining_class(parts[i]), i > 0};
    }
    if (at)
        put_letters(o, work, at, n, begin, span.end);
}

const gnn__text_step_row_t gnn__text_step_normal_form = {.type = "NFC",
                                                         .lists = GNN__NORMALISES,
                                                         .also = {"NFD", "NFKC", "NFKD"},
                                                         .read = read,
                                                         .rewrite = rewrite};
