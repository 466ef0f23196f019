/* Draws programs of ops that fit. */
#include "random_program.h"

const leaf_t leaf_shapes[LEAVES] = {{NODES, WIDTH, false, true}, {NODES, TWICE, false, false},
                                    {NODES, TWICE, false, true}, {WIDTH, WIDTH, true, true},
                                    {WIDTH, TWICE, true, true},  {TWICE, WIDTH, true, true},
                                    {1, WIDTH, true, true},      {1, TWICE, true, true},
                                    {1, WIDTH, true, true},      {1, 1, true, true}};
enum { SQUARE = 3, WIDEN = 4, NARROW = 5, EPS = 9 };

/* A value of this shape, usually one of the last two with it; -1: there is none. */
static int pick(const program_t *p, uint64_t *seed, int64_t rows, int64_t cols)
{
    int found[MOST], count = 0;
    for (int k = 0; k < p->count; k++)
        if (p->lines[k].rows == rows && p->lines[k].cols == cols)
            found[count++] = k;
    if (count == 0)
        return -1;
    return found[test_below(seed, 4) && count > 1 ? count - 1 - test_below(seed, 2)
                                                  : test_below(seed, count)];
}

/* Patterns that plans optimise are frequent: ops after an aggregation, halves, adjacent products,
 * and their sums. */
static kind_t draw_kind(const program_t *p, uint64_t *seed)
{
    static const kind_t behind[] = {ADD, ADD_ROW, BIASED, DROP};
    const kind_t last = p->lines[p->count - 1].kind, before = p->lines[p->count - 2].kind;
    if (test_below(seed, 2))
        return (kind_t)(1 + test_below(seed, KINDS - 1));
    if (last == WINDOW)
        return before == WINDOW ? ADD : WINDOW;
    if (p->lines[p->count - 1].cols == TWICE && test_below(seed, 2))
        return WINDOW;
    if (last == LINEAR)
        return before == LINEAR ? ADD : LINEAR;
    return last == AGGREGATE || last == ADD || last == BIASED ? behind[test_below(seed, 4)]
                                                              : AGGREGATE;
}

static line_t line_of(kind_t kind, int64_t rows, int64_t cols, int n_in, int a, int b, int c)
{
    return (line_t){.kind = kind, .in = {a, b, c}, .n_in = n_in, .rows = rows, .cols = cols};
}

/* Operands and shape; an operand that is needed and not there leaves in[0] at -1. */
static line_t draw_operands(const program_t *p, uint64_t *seed, kind_t kind)
{
    const int64_t cols = test_below(seed, 2) ? WIDTH : TWICE;
    const int x = pick(p, seed, NODES, cols), z = pick(p, seed, NODES, cols),
              row = pick(p, seed, 1, cols),
              other = test_below(seed, 2) ? pick(p, seed, 1, cols) : -1;
    const int wide = pick(p, seed, NODES, TWICE), narrow = pick(p, seed, NODES, WIDTH),
              narrow_too = pick(p, seed, NODES, WIDTH), a = pick(p, seed, 1, WIDTH);
    const int64_t keys = test_below(seed, 2) ? HEADS : WIDTH;
    const int query = pick(p, seed, NODES, keys), key = pick(p, seed, NODES, keys);
    switch (kind) {
    case LINEAR:
        if (cols == TWICE)
            return line_of(kind, NODES, WIDTH, 3, x, NARROW, test_below(seed, 2) ? a : -1);
        return test_below(seed, 2)
                   ? line_of(kind, NODES, WIDTH, 3, x, SQUARE, test_below(seed, 2) ? a : -1)
                   : line_of(kind, NODES, TWICE, 3, x, WIDEN, -1);
    case WINDOW:
        return test_below(seed, 4) ? line_of(kind, NODES, WIDTH, 1, wide, -1, -1)
                                   : line_of(kind, 1, WIDTH, 1, pick(p, seed, 1, TWICE), -1, -1);
    case ROW: return line_of(kind, 1, cols, 1, x, -1, -1);
    case ADD: return line_of(kind, NODES, cols, 2, x, z, -1);
    case ADD_ROW:
    case BIASED: return line_of(kind, NODES, cols, 2, x, row, -1);
    case ADD_SCALED: return line_of(kind, NODES, cols, 3, x, z, EPS);
    case NORM: return line_of(kind, NODES, cols, 3, x, other, row);
    case ADD_NORM: return line_of(kind, NODES, cols, 3, x, z, other);
    case CONCAT: return line_of(kind, NODES, TWICE, 2, narrow, narrow_too, -1);
    case HEAD_DOT: return line_of(kind, NODES, HEADS, 2, narrow, a, -1);
    case HEAD_MEAN: return line_of(kind, NODES, WIDTH, 1, wide, -1, -1);
    case ATTEND:
        return query < 0 ? line_of(kind, NODES, cols, 3, -1, -1, -1)
                         : line_of(kind, NODES, cols, 3, query, key, x);
    default: return line_of(kind, NODES, cols, 1, x, -1, -1);
    }
}

/* x = the last line + the one before it, or the other way round. */
static bool draw_sum_of_last(const program_t *p, uint64_t *seed, line_t *line)
{
    const int last = p->count - 1, swapped = (int)test_below(seed, 2);
    const line_t *x = &p->lines[last], *z = x - 1;
    if (x->rows != NODES || x->rows != z->rows || x->cols != z->cols)
        return false;
    *line = line_of(ADD, NODES, x->cols, 2, last - swapped, last - !swapped, -1);
    return true;
}

/* Two halves cover what they are of. */
static void take_other_half(const program_t *p, line_t *line)
{
    const line_t *last = &p->lines[p->count - 1];
    if (last->kind != WINDOW || last->choice % 3 == 2)
        return;
    line->in[0] = last->in[0];
    line->rows = last->rows;
    line->choice = 1 - last->choice % 3;
}

static bool draw_line(program_t *p, uint64_t *seed)
{
    const kind_t kind = draw_kind(p, seed);
    line_t line;
    if (kind != ADD || !draw_sum_of_last(p, seed, &line))
        line = draw_operands(p, seed, kind);
    if (line.in[0] < 0)
        return false;
    line.choice = (int)test_below(seed, 60);
    if (kind == WINDOW && test_below(seed, 4))
        take_other_half(p, &line);
    for (int i = 0; i < line.n_in; i++)
        line.wants |= line.in[i] >= 0 && p->lines[line.in[i]].wants;
    line.graph = (int)test_below(seed, 2);
    line.alpha = kind == ADD || kind == ADD_ROW ? (gnn_real_t)(test_below(seed, 4) ? 1 : 0.5)
                                                : (gnn_real_t)(test_below(seed, 2) ? 0.3 : 0);
    line.kept = test_below(seed, 6) == 0;
    line.bound = !is_part(&line) && test_below(seed, 10) == 0;
    p->lines[p->count++] = line;
    return true;
}

program_t random_program(uint64_t seed)
{
    program_t p = {.count = LEAVES};
    for (int k = 0; k < LEAVES; k++) {
        p.lines[k] = line_of(LEAF, leaf_shapes[k].rows, leaf_shapes[k].cols, 0, -1, -1, -1);
        p.lines[k].wants = leaf_shapes[k].wants;
    }
    const int length = LEAVES + 3 + (int)test_below(&seed, MOST - LEAVES - 8);
    const line_t *last = p.lines;
    while (p.count < length || !last->wants || is_part(last)) {
        p.count -= p.count == MOST;
        if (draw_line(&p, &seed))
            last = &p.lines[p.count - 1];
    }
    p.lines[p.count - 1].kept = true;
    return p;
}

/* ---- showing it ---- */

const char *kind_name(kind_t kind)
{
    static const char *const names[KINDS] = {
        "leaf",       "linear",   "window",   "row",       "add",       "add_row",
        "add_scaled", "activate", "biased",   "dropout",   "norm",      "add_norm",
        "concat",     "gather",   "head_dot", "head_mean", "aggregate", "attend"};
    return names[kind];
}

void show_program(const program_t *p)
{
    for (int i = LEAVES; i < p->count; i++) {
        const line_t *line = &p->lines[i];
        printf("%3d = %s %d %d %d, %d, %d, %g%s%s\n", i, kind_name(line->kind), line->in[0],
               line->in[1], line->in[2], line->choice, line->graph, (double)line->alpha,
               line->kept ? ", kept" : "", line->bound ? ", bound" : "");
    }
}
