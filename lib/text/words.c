/* Splits sentences into words by the rules in text.h. */
#include <lib/text/corpus.h>

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool makes_words(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || (unsigned char)c >= 0x80;
}

static bool separates(char c)
{
    return (unsigned char)c <= ' ' || c == 0x7f;
}

static bool is_not(const char *c, const char *end)
{
    return end - c >= 3 && gnn__lower_case(c[0]) == 'n' && c[1] == '\'' &&
           gnn__lower_case(c[2]) == 't' && (end - c == 3 || !makes_words(c[3]));
}

/* Moves from the first character of a word to after its last. "n't" ends the word before it, unless
 * it is the whole word. */
static const char *word_end(const char *begin, const char *end)
{
    const char *c = begin;
    if (is_not(c, end))
        return c + 3;
    if (*c == '\'' && c + 1 < end && is_letter(c[1]))
        c++;
    else if (!makes_words(*c))
        return c + 1;
    for (c++; c < end && !is_not(c, end); c++)
        if (!makes_words(*c) && !(*c == '-' && c + 1 < end && makes_words(c[1])))
            break;
    return c;
}

gnn__slice_t gnn__word_next(const char **cursor, const char *end)
{
    const char *begin = *cursor;
    while (begin < end && separates(*begin))
        begin++;
    *cursor = begin < end ? word_end(begin, end) : end;
    return (gnn__slice_t){begin, *cursor - begin};
}

int64_t gnn__word_count(const char *sentence, int64_t length)
{
    int64_t count = 0;
    for (const char *c = sentence; gnn__word_next(&c, sentence + length).length > 0;)
        count++;
    return count;
}

int gnn__slice_compare(gnn__slice_t a, gnn__slice_t b, bool fold)
{
    int64_t shorter = a.length < b.length ? a.length : b.length;
    for (int64_t k = 0; k < shorter; k++) {
        unsigned char left = fold ? gnn__lower_case(a.at[k]) : (unsigned char)a.at[k];
        unsigned char right = fold ? gnn__lower_case(b.at[k]) : (unsigned char)b.at[k];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return (a.length > b.length) - (a.length < b.length);
}

/* One block: pointers, then the words, each with a NUL. */
int gnn_words_split(gnn_words_t **words, const char *sentence)
{
    gnn_words_t *made;
    size_t bytes;
    GNN__NEED(words);
    GNN__NEED(sentence);
    int64_t length = (int64_t)strlen(sentence), count = gnn__word_count(sentence, length), all;
    GNN_TRY(gnn__bytes(count, sizeof(char *), "words", &bytes));
    if (!gnn__add((int64_t)(bytes + sizeof *made), length + count, &all))
        return gnn__error(GNN_EOVERFLOW, "%lld words do not fit", (long long)count);
    GNN_TRY(gnn__new(&made, all, 1, "words"));
    char **at = (char **)(made + 1), *to = (char *)(at + count);
    const char *cursor = sentence;
    for (int64_t k = 0; k < count; k++) {
        gnn__slice_t word = gnn__word_next(&cursor, sentence + length);
        at[k] = to;
        for (int64_t b = 0; b < word.length; b++)
            *to++ = (char)gnn__lower_case(word.at[b]);
        *to++ = '\0';
    }
    *made = (gnn_words_t){count, (const char *const *)at};
    *words = made;
    return GNN_OK;
}

void gnn_words_free(gnn_words_t *words)
{
    gnn_free(words);
}
