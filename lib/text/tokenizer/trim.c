/* Offsets without the spaces at the ends of tokens, as the package's processors have them: the
 * spaces of a token's text are counted, and as many characters of the input left out. */
#include <lib/text/tokenizer/tokenizer.h>

enum { WRITTEN_SPACE = 0x120 }; /* a space in GPT-2's alphabet */

static bool is_space(int32_t c)
{
    return c == WRITTEN_SPACE || gnn__is_space(c);
}

static gnn__spaces_t spaces_of(gnn__string_t text)
{
    gnn__spaces_t found = {0, 0};
    bool spaces = true;
    for (int64_t k = 0; k < text.length;) {
        const bool space = is_space(gnn__utf8_next(text.at, &k));
        spaces = spaces && space;
        found.before += spaces;
        found.after = space ? found.after + 1 : 0;
    }
    return found;
}

void gnn__note_text(gnn__work_t *work, gnn__string_t text)
{
    const gnn__spaces_t found = spaces_of(text);
    const bool again = work->n_spaces > 0 &&
                       work->spaces[work->n_spaces - 1].before == found.before &&
                       work->spaces[work->n_spaces - 1].after == found.after;
    if (work->rc == GNN_OK && work->n_spaces == work->spaces_room)
        work->rc = gnn__room(&work->spaces, work->n_spaces, &work->spaces_room,
                             sizeof *work->spaces, "spaces of tokens");
    if (work->rc != GNN_OK)
        return;
    if (!again)
        work->spaces[work->n_spaces++] = found;
    work->tokens.at[work->tokens.n - 1].spaces = (int32_t)(work->n_spaces - 1);
}

/* The end of the character at byte k < n. */
static int64_t next_character(gnn__string_t text, int64_t k)
{
    bool whole, open;
    return k + gnn__utf8_part((const unsigned char *)text.at + k, text.length - k, &whole, &open);
}

/* The start of the character that ends at byte k > 0. */
static int64_t character_before(gnn__string_t text, int64_t k)
{
    int64_t begin = k - 1;
    while (begin > 0 && k - begin < 4 && ((unsigned char)text.at[begin] & 0xc0) == 0x80)
        begin--;
    return next_character((gnn__string_t){text.at, k}, begin) == k ? begin : k - 1;
}

/* More spaces than characters before the end leave the end where it is. */
static int64_t cut_end(gnn__string_t text, int64_t begin, int64_t end, int64_t spaces)
{
    int64_t cut = end;
    for (; spaces > 0 && cut > 0; spaces--)
        cut = character_before(text, cut);
    return spaces > 0 ? end : gnn__max(cut, begin);
}

static void trim(gnn__trim_t how, gnn__string_t text, bool first, gnn__spaces_t spaces,
                 gnn__token_t *token)
{
    int64_t before = spaces.before;
    if ((first || token->begin == 0) && how.prefix && before == 1)
        before = 0;
    for (; before > 0 && token->begin < token->end; before--)
        token->begin = next_character(text, token->begin);
    token->begin = gnn__min(token->begin, token->end);
    token->end = cut_end(text, token->begin, token->end, spaces.after);
}

void gnn__trim(const gnn__work_t *work, gnn__string_t text, bool special, gnn__token_t *tokens,
               int64_t n)
{
    const gnn_tokenizer_t *t = work->tokenizer;
    for (int64_t k = 0; k < n && t->n_trims > 0; k++) {
        const gnn__spaces_t spaces = tokens[k].spaces < 0 ? spaces_of(t->tokens[tokens[k].id])
                                                          : work->spaces[tokens[k].spaces];
        for (int64_t i = 0; i < t->n_trims && spaces.before + spaces.after > 0; i++)
            trim(t->trims[i], text, k == 0 && !(t->trims[i].wrapped && special), spaces, &tokens[k]);
    }
}
