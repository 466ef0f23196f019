/* Behaviours of splitters on the matches of a pattern, as in the library tokenizers. */
#include <lib/text/tokenizer/tokenizer.h>

int gnn__behavior_read(const json_t *json, bool needed, gnn__behavior_t *behavior)
{
    static const char *const names[GNN__BEHAVIORS] = {"Removed", "Isolated", "MergedWithPrevious",
                                                      "MergedWithNext", "Contiguous"};
    gnn__string_t name = {0};
    GNN_TRY(gnn__json_string(json, "behavior", needed, &name));
    for (int b = 0; name.at && b < GNN__BEHAVIORS; b++)
        if (strcmp(names[b], name.at) == 0) {
            *behavior = (gnn__behavior_t)b;
            return GNN_OK;
        }
    return name.at ? gnn__error(GNN_EFORMAT, "the behavior \"%.40s\" is not known", name.at) : GNN_OK;
}

void gnn__cut_end(gnn__cutter_t *c)
{
    if (c->open)
        gnn__add_span(c->work, c->held.begin, c->held.end);
    c->open = false;
}

/* Does the piece extend the one that is held? */
static bool joins(const gnn__cutter_t *c, bool match)
{
    switch (c->behavior) {
    case GNN__CONTIGUOUS: return c->match == match;
    case GNN__WITH_PREVIOUS: return match && !c->before;
    case GNN__WITH_NEXT: return c->match && !match;
    default: return false;
    }
}

void gnn__cut(gnn__cutter_t *c, int64_t begin, int64_t end, bool match)
{
    if (begin < end)
        gnn__cut_at(c, begin, end, match);
}

void gnn__cut_at(gnn__cutter_t *c, int64_t begin, int64_t end, bool match)
{
    const bool dropped = match && c->behavior == GNN__REMOVED;
    if (c->open && joins(c, match)) {
        c->held.end = end;
    } else {
        gnn__cut_end(c);
        c->held = (gnn__span_t){begin, end};
        c->open = !dropped;
    }
    c->match = match;
    c->before = match;
}
