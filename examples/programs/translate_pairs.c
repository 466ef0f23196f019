/* Pairs of lines for translate: two files, or generated numerals in German and English. In German
 * units precede tens: "dreiundzwanzig" is "twenty-three". */
#include "program.h"
#include "translate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- files ---- */

static void count_words(pairs_t *p)
{
    for (int64_t k = 0; k < p->count; k++)
        p->words += text_words(p->source[k]) + text_words(p->target[k]);
}

int pairs_read(pairs_t *pairs, const char *source, const char *target)
{
    GNN_TRY(gnn_text_lines_read(&pairs->lines[0], source));
    GNN_TRY(gnn_text_lines_read(&pairs->lines[1], target));
    if (pairs->lines[0]->count != pairs->lines[1]->count || pairs->lines[0]->count == 0) {
        fprintf(stderr,
                "translate: %s has %lld lines and %s %lld: as many are expected, at least 1\n",
                source, (long long)pairs->lines[0]->count, target, (long long)pairs->lines[1]->count);
        return PROGRAM_REFUSED;
    }
    pairs->count = pairs->lines[0]->count;
    pairs->source = pairs->lines[0]->at;
    pairs->target = pairs->lines[1]->at;
    count_words(pairs);
    return GNN_OK;
}

void pairs_free(pairs_t *pairs)
{
    for (int64_t k = 0; pairs->made && k < 2 * pairs->count; k++)
        free(pairs->made[k]);
    free(pairs->made);
    gnn_text_lines_free(pairs->lines[0]);
    gnn_text_lines_free(pairs->lines[1]);
    *pairs = (pairs_t){0};
}

/* ---- numerals ---- */

static const char *const german[] = {"null",     "ein",      "zwei",     "drei",     "vier",
                                     "fünf",     "sechs",    "sieben",   "acht",     "neun",
                                     "zehn",     "elf",      "zwölf",    "dreizehn", "vierzehn",
                                     "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
static const char *const german_tens[] = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                          "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
static const char *const english[] = {"zero",    "one",     "two",       "three",    "four",
                                      "five",    "six",     "seven",     "eight",    "nine",
                                      "ten",     "eleven",  "twelve",    "thirteen", "fourteen",
                                      "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
static const char *const english_tens[] = {"",      "",      "twenty",  "thirty", "forty",
                                           "fifty", "sixty", "seventy", "eighty", "ninety"};

static void say_german(char *to, size_t size, int n)
{
    const int rest = n % 100;
    size_t at = 0;
    if (n >= 100)
        at += (size_t)snprintf(to, size, "%shundert", german[n / 100]);
    if (rest == 0 && n > 0)
        return;
    if (rest < 20)
        snprintf(to + at, size - at, "%s%s", german[rest], rest == 1 ? "s" : "");
    else if (rest % 10 == 0)
        snprintf(to + at, size - at, "%s", german_tens[rest / 10]);
    else
        snprintf(to + at, size - at, "%sund%s", german[rest % 10], german_tens[rest / 10]);
}

static void say_english(char *to, size_t size, int n)
{
    const int rest = n % 100;
    size_t at = 0;
    if (n >= 100)
        at += (size_t)snprintf(to, size, "%s hundred%s", english[n / 100], rest ? " and " : "");
    if (rest == 0 && n > 0)
        return;
    if (rest < 20)
        snprintf(to + at, size - at, "%s", english[rest]);
    else if (rest % 10 == 0)
        snprintf(to + at, size - at, "%s", english_tens[rest / 10]);
    else
        snprintf(to + at, size - at, "%s-%s", english_tens[rest / 10], english[rest % 10]);
}

/* Two numerals and a word between them; index k gives the same pair on every machine. */
static int make_pair(pairs_t *p, int64_t k, int64_t place)
{
    enum { NUMBER = 53, SIZE = 4 * NUMBER + 16 };
    static const char *const words[][2] = {
        {"plus", "plus"}, {"mal", "times"}, {"minus", "minus"}, {"und", "and"}};
    char a[2][NUMBER], b[2][NUMBER];
    /* 1,000,000 pairs of integers in a pseudo-random order */
    const uint64_t number = (uint64_t)place * 387420489u % 1000000u;
    const size_t word = (size_t)(place % 4);
    say_german(a[0], sizeof a[0], (int)(number / 1000));
    say_english(a[1], sizeof a[1], (int)(number / 1000));
    say_german(b[0], sizeof b[0], (int)(number % 1000));
    say_english(b[1], sizeof b[1], (int)(number % 1000));
    for (size_t side = 0; side < 2; side++) {
        char *line = malloc(SIZE);
        if (!line)
            return GNN_EMEMORY;
        snprintf(line, SIZE, "%s %s %s", a[side], words[word][side], b[side]);
        p->made[2 * k + (int64_t)side] = line;
    }
    return GNN_OK;
}

int pairs_numbers(pairs_t *pairs, int64_t first, int64_t count)
{
    pairs->count = count;
    pairs->made = calloc(4 * (size_t)count, sizeof *pairs->made);
    if (!pairs->made)
        return GNN_EMEMORY;
    for (int64_t k = 0; k < count; k++)
        GNN_TRY(make_pair(pairs, k, first + k));
    /* after the owned lines: the same by side */
    const char **sides = (const char **)(pairs->made + 2 * count);
    for (int64_t k = 0; k < count; k++) {
        sides[k] = pairs->made[2 * k];
        sides[count + k] = pairs->made[2 * k + 1];
    }
    pairs->source = sides;
    pairs->target = sides + count;
    count_words(pairs);
    return GNN_OK;
}
