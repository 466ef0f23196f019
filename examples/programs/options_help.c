/* Output from a table of options: help, completion for the shell, a description for tests. */
#include "options.h"
#include "program.h"

#include <stdio.h>
#include <string.h>

enum { LEFT = 30, WIDE = 98 };

int options_choice(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int index = 0;
    for (const char *at = choices;; index++) {
        const char *end = strchr(at, '|');
        const size_t size = end ? (size_t)(end - at) : strlen(at);
        if (size == length && strncmp(at, word, size) == 0)
            return index;
        if (!end)
            return -1;
        at = end + 1;
    }
}

/* ---- help ---- */

/* The default; empty if there is none, or if the help text has it. */
static void show_default(const option_t *o, char *text, size_t size)
{
    *text = '\0';
    if (strchr(o->help, '['))
        return;
    if (o->kind == OPTION_WHOLE && *(int64_t *)o->to > 0)
        snprintf(text, size, " [%lld]", (long long)*(int64_t *)o->to);
    if (o->kind == OPTION_REAL && *(double *)o->to >= o->low) /* below the range: no value yet */
        snprintf(text, size, " [%g]", *(double *)o->to);
    if ((o->kind == OPTION_TEXT || o->kind == OPTION_INPUT || o->kind == OPTION_NAME) &&
        *(const char **)o->to)
        snprintf(text, size, " [%s]", *(const char **)o->to);
    if (o->kind == OPTION_CHOICE)
        snprintf(text, size, " [%.*s]", (int)strcspn(o->choices, "|"), o->choices);
}

void options_term(const char *term, char *text, size_t size)
{
    const char *end = term + strcspn(term, " "), *value = memchr(term, '=', (size_t)(end - term));
    size_t at = (size_t)snprintf(text, size, "--");
    for (const char *c = term + (*term == '!'); c < end && at < size; c++) {
        const char *more = value ? " or " : " or --";
        if (*c == '|' || *c == '=')
            at += (size_t)snprintf(text + at, size - at, "%s", *c == '=' ? " " : more);
        else
            at += (size_t)snprintf(text + at, size - at, "%c", *c);
    }
}

/* "; with --query" for the terms of `where` that require an option. */
static void show_where(const option_t *o, char *text, size_t size)
{
    char words[128];
    size_t at = 0;
    *text = '\0';
    for (const char *term = o->where; term && *term;) {
        const size_t length = strcspn(term, " ");
        options_term(term, words, sizeof words);
        if (*term != '!' && at < size)
            at += (size_t)snprintf(text + at, size - at, "%s%s", at ? " and " : "; with ", words);
        term += length + (term[length] == ' ');
    }
}

/* Prints text wrapped from column `left` on. `at`: the column of the cursor. */
static void wrap(const char *text, int left, int at)
{
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (at > left && at + 1 + word > WIDE) {
            printf("\n%*s", left, "");
            at = left;
        } else if (at > left) {
            putchar(' ');
            at++;
        }
        at += printf("%.*s", word, text);
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static const char *argument_of(const option_t *o)
{
    if (o->argument)
        return o->argument;
    return o->kind == OPTION_CHOICE ? o->choices : "";
}

static void show(const option_t *o)
{
    char text[1024], usual[256], where[256];
    if (o->kind == OPTION_HEADING) {
        printf("\n%s:\n", o->help);
        return;
    }
    show_default(o, usual, sizeof usual);
    show_where(o, where, sizeof where);
    snprintf(text, sizeof text, "%s%s%s", o->help, usual, where);
    const int at = printf("  --%s%s%s", o->name, *argument_of(o) ? " " : "", argument_of(o));
    if (at > LEFT - 2)
        printf("\n%*s", LEFT, "");
    else
        printf("%*s", LEFT - at, "");
    wrap(text, LEFT, LEFT);
}

void options_help(const program_t *p)
{
    const int headed = p->n_options > 0 && p->options[0].kind == OPTION_HEADING;
    printf("Usage: gnn %s %s\n", p->name, p->usage);
    wrap(program_summary(p->name), 0, 0);
    if (!headed)
        printf("\nOptions:\n");
    for (int k = 0; k < p->n_options; k++)
        show(&p->options[k]);
    if (headed)
        printf("\nOther options:\n");
    printf("  -h, --help%*sshow this and exit\n", LEFT - 12, "");
    printf("  -V, --version%*sshow the library's version and exit\n", LEFT - 15, "");
    if (p->notes) {
        putchar('\n');
        wrap(p->notes, 0, 0);
    }
}

/* ---- completion ---- */

static void offer(const char *before, const char *word, int length, const char *begin)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s%.*s", before, length, word);
    if (strncmp(whole, begin, strlen(begin)) == 0)
        puts(whole);
}

/* Values of options with a list; the shell completes paths. */
static void offer_values(const option_t *o, const char *begin)
{
    const char *name;
    for (size_t k = 0; o->name_at && (name = o->name_at(k)); k++)
        offer("", name, (int)strlen(name), begin);
    for (const char *at = argument_of(o); o->kind != OPTION_NAME && *at;) {
        const int length = (int)strcspn(at, "|");
        if (*at < 'A' || *at > 'Z')
            offer("", at, length, begin);
        at += length + (at[length] == '|');
    }
}

void options_complete(const program_t *p, int count, char **words)
{
    const char *begin = count > 0 ? words[count - 1] : "";
    const char *before = count > 1 ? words[count - 2] : "";
    for (int k = 0; k < p->n_options && strncmp(before, "--", 2) == 0; k++)
        if (p->options[k].name && p->options[k].kind != OPTION_FLAG &&
            strcmp(p->options[k].name, before + 2) == 0) {
            offer_values(&p->options[k], begin);
            return;
        }
    if (*begin != '-')
        return;
    for (int k = 0; k < p->n_options; k++)
        if (p->options[k].name)
            offer("--", p->options[k].name, (int)strlen(p->options[k].name), begin);
    offer("--", "help", 4, begin);
    offer("--", "version", 7, begin);
}

void options_describe(const program_t *p)
{
    static const char *const kinds[] = {"",     "text", "input",  "output", "output", "integer",
                                        "real", "flag", "choice", "choice", "choice"};
    for (int k = 0; k < p->n_options; k++)
        if (p->options[k].name)
            printf("%s\t%s\t%s\t%s\n", p->options[k].name, kinds[p->options[k].kind],
                   argument_of(&p->options[k]), p->options[k].where ? p->options[k].where : "");
}
