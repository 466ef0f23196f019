/* Unicode's four normal forms (Unicode Standard Annex 15): decompose, order the marks, compose again. */
#include <lib/text/tokenizer/tokenizer.h>

enum {
    MOST = 4096
}; /* marks behind one character that are ordered; more of them are ordered in pieces */

typedef struct letter {
    int32_t c, order;
    gnn__span_t origin;
} letter_t;

typedef struct options {
    bool compose, compatible;
} options_t;

static int read(gnn__step_t *step, const json_t *json)
{
    gnn__string_t type;
    GNN_TRY(gnn__json_string(json, "type", true, &type));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(options_t), "a step"));
    *(options_t *)step->options = (options_t){type.at[type.length - 1] == 'C', type.at[2] == 'K'};
    return GNN_OK;
}

static void move(letter_t *to, const letter_t *from)
{
    to->c = from->c;
    to->order = from->order;
}

/* Marks by their classes, those of one class as they came. Their places stay in the order of the text. */
static void order_marks(letter_t *at, int n)
{
    for (int k = 1; k < n; k++) {
        const letter_t l = at[k];
        int i = k;
        for (; l.order > 0 && i > 0 && at[i - 1].order > l.order; i--)
            move(&at[i], &at[i - 1]);
        move(&at[i], &l);
    }
}

/* Each letter joins the starter before it unless another one of its class, or of a higher one, stands between. */
static int compose(letter_t *at, int n)
{
    int made = 0, starter = -1;
    for (int k = 0; k < n; k++) {
        const bool blocked = made - 1 > starter && at[made - 1].order >= at[k].order;
        const int32_t joined = starter >= 0 && !blocked ? gnn__compose(at[starter].c, at[k].c) : -1;
        if (joined >= 0) {
            at[starter].c = joined; /* its place is the starter's */
            continue;
        }
        at[made] = at[k];
        if (at[k].order == 0)
            starter = made;
        made++;
    }
    return made;
}

static void put_letters(const options_t *o, gnn__work_t *work, letter_t *at, int n)
{
    order_marks(at, n);
    n = o->compose ? compose(at, n) : n;
    for (int k = 0; k < n; k++)
        gnn__put(work, at[k].c, at[k].origin);
}

/* May a character join the one before it? Marks do, and the later letters of a hangul syllable. */
static bool joins(int32_t c)
{
    return (c >= 0x1161 && c <= 0x11c2) || gnn__is_mark(c);
}

static void rewrite(const gnn__step_t *step, gnn__work_t *work, gnn__span_t span)
{
    letter_t *at = gnn__work_scratch(work, MOST + 18, sizeof *at);
    int n = 0;
    for (int64_t k = span.begin; at && k < span.end;) {
        int32_t parts[18];
        const gnn__span_t origin = gnn__origin(work, k);
        const int32_t c = gnn__utf8_next(work->text.at, &k);
        const options_t *o = step->options;
        const int count = gnn__decompose(c, o->compatible, parts);
        if (n > 0 && (n >= MOST || !joins(parts[0]))) {
            put_letters(o, work, at, n);
            n = 0;
        }
        for (int i = 0; i < count; i++)
            at[n++] = (letter_t){parts[i], gnn__combining_class(parts[i]), origin};
    }
    if (at)
        put_letters(step->options, work, at, n);
}

const gnn__step_row_t gnn__step_normal_form = {
    .type = "NFC", .also = {"NFD", "NFKC", "NFKD"}, .read = read, .rewrite = rewrite};
