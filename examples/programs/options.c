/* Reads a table of options, and tells it as help. */
#include "options.h"

#include "program.h"

#include <getopt.h>
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, LEFT = 30, WIDE = 96, HELP = 1000, VERSION = 1001 };

static const char *given[MOST];
static int n_given;

int options_gave(const char *name)
{
    for (int k = 0; k < n_given; k++)
        if (strcmp(given[k], name) == 0)
            return 1;
    return 0;
}

int options_idle(const char *with, const char *const *names)
{
    for (; *names; names++)
        if (options_gave(*names)) {
            fprintf(stderr, "--%s: has no effect with --%s\n", *names, with);
            return 1;
        }
    return 0;
}

/* ---- values ---- */

/* The number of the word among those that "|" parts; -1 if it is none of them. */
static int choice_of(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int number = 0;
    for (const char *at = choices;; number++) {
        const char *end = strchr(at, '|');
        const size_t size = end ? (size_t)(end - at) : strlen(at);
        if (size == length && strncmp(at, word, size) == 0)
            return number;
        if (!end)
            return -1;
        at = end + 1;
    }
}

static int set_choice(const option_t *o, const char *shown, const char *value)
{
    const int number = choice_of(o->choices, value);
    if (number >= 0)
        *(int *)o->to = number;
    else
        fprintf(stderr, "%s: \"%s\" is none of %s\n", shown, value, o->choices);
    return number >= 0;
}

/* A double holds no more than 2^53 to the last digit: "as many as there are" is written as 1e18. */
static int64_t whole(double number)
{
    return number >= 9e18 ? INT64_MAX : (int64_t)number;
}

static int set(const option_t *o, const char *value)
{
    char shown[64];
    snprintf(shown, sizeof shown, "--%s", o->name);
    switch (o->kind) {
    case OPTION_WHOLE: return program_whole(shown, value, whole(o->low), whole(o->high), o->to);
    case OPTION_REAL: return program_real(shown, value, o->low, o->high, o->to);
    case OPTION_FLAG: return *(int *)o->to = 1;
    case OPTION_CHOICE: return set_choice(o, shown, value);
    case OPTION_TAKE: return o->take(value, o->to);
    default: *(const char **)o->to = value; return 1;
    }
}

/* ---- help ---- */

/* What an option is without being given; empty where the help says it or there is nothing. */
static void show_default(const option_t *o, char *text, size_t size)
{
    *text = '\0';
    if (o->kind == OPTION_WHOLE && *(int64_t *)o->to > 0)
        snprintf(text, size, " [%lld]", (long long)*(int64_t *)o->to);
    if (o->kind == OPTION_REAL && *(double *)o->to >= o->low) /* below: no value yet */
        snprintf(text, size, " [%g]", *(double *)o->to);
    if (o->kind == OPTION_TEXT && *(const char **)o->to)
        snprintf(text, size, " [%s]", *(const char **)o->to);
    if (o->kind == OPTION_CHOICE)
        snprintf(text, size, " [%.*s]", (int)strcspn(o->choices, "|"), o->choices);
}

/* Words from column LEFT on, wrapped. `at`: where the line is. */
static void wrap(const char *text, int at)
{
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (at > LEFT && at + 1 + word > WIDE) {
            printf("\n%*s", LEFT, "");
            at = LEFT;
        } else if (at > LEFT) {
            putchar(' ');
            at++;
        }
        at += printf("%.*s", word, text);
        text += word;
        text += strspn(text, " ");
    }
    putchar('\n');
}

static void show(const option_t *o)
{
    char text[512], usual[128];
    if (o->kind == OPTION_HEADING) {
        printf("\n%s:\n", o->help);
        return;
    }
    show_default(o, usual, sizeof usual);
    snprintf(text, sizeof text, "%s%s", o->help, usual);
    const char *argument = o->argument ? o->argument : o->kind == OPTION_CHOICE ? o->choices : "";
    const int at = printf("  --%s%s%s", o->name, *argument ? " " : "", argument);
    if (at > LEFT - 2)
        printf("\n%*s", LEFT, "");
    else
        printf("%*s", LEFT - at, "");
    wrap(text, LEFT);
}

static void help(const program_t *p)
{
    static const option_t last[] = {
        {.name = "help", .kind = OPTION_FLAG, .help = "show this and end"},
        {.name = "version", .kind = OPTION_FLAG, .help = "show the library's version and end"}};
    printf("Usage: gnn %s %s\n%s\n", p->name, p->usage, program_summary(p->name));
    if (p->n_options == 0 || p->options[0].kind != OPTION_HEADING)
        printf("\nOptions:\n");
    for (int k = 0; k < p->n_options; k++)
        show(&p->options[k]);
    if (p->n_options > 0 && p->options[0].kind == OPTION_HEADING)
        printf("\nOther options:\n");
    show(&last[0]);
    show(&last[1]);
    if (p->notes)
        printf("\n%s\n", p->notes);
}

/* ---- reading ---- */

static int take(const program_t *p, int argc, char **argv, int *status)
{
    struct option known[MOST + 3] = {{0}};
    int n = 0;
    for (int k = 0; k < p->n_options && n < MOST; k++)
        if (p->options[k].kind != OPTION_HEADING)
            known[n++] = (struct option){p->options[k].name, p->options[k].kind != OPTION_FLAG, 0, k};
    known[n++] = (struct option){"help", 0, 0, HELP};
    known[n++] = (struct option){"version", 0, 0, VERSION};
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        *status = c == HELP || c == VERSION ? EXIT_SUCCESS : 2;
        if (c == HELP)
            help(p);
        if (c == VERSION)
            printf("gnn-%s (libgnn) %s\n", p->name, gnn_version());
        if (c < 0 || c >= p->n_options || !set(&p->options[c], optarg))
            return 0;
        if (n_given < MOST)
            given[n_given++] = p->options[c].name;
    }
    *status = 2;
    for (int k = 0; optind < argc && k < p->n_operands; k++)
        p->operands[k] = argv[optind++];
    if (optind < argc)
        fprintf(stderr, "%s: \"%s\" is no option\n", p->name, argv[optind]);
    return optind == argc;
}

int options_read(const program_t *p, int argc, char **argv, int *status)
{
    int good = take(p, argc, argv, status);
    if (!good && *status != EXIT_SUCCESS)
        fprintf(stderr, "%s: `gnn %s --help` lists the options\n", p->name, p->name);
    if (!good)
        *status = program_ends(p->name, *status);
    for (int k = 0; good && k < p->n_options; k++) {
        const option_t *o = &p->options[k];
        char shown[64];
        snprintf(shown, sizeof shown, "--%s", o->name);
        if (o->kind != OPTION_OUTPUT || program_can_write(shown, *(const char **)o->to))
            continue;
        *status = EXIT_FAILURE;
        good = 0;
    }
    return good;
}
