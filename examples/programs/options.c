/* Reads a command line by a table of options. Every option has an effect or is an error: unknown
 * names (with suggestions), invalid values, repeated options, options without effect in this run
 * (`where`), missing files, outputs that overwrite each other. */
#include "options.h"

#include "program.h"

#include <errno.h>
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 64 };

typedef struct {
    const program_t *program;
    int given[MOST];
    int n_operands, answered; /* answered: --help and similar options end the program */
} reader_t;

/* Names of the given options, copied since tables live only as long as the function that reads
 * them. */
static const char *given[MOST];
static int n_given;

static int index_of(const program_t *p, const char *name, size_t length)
{
    for (int k = 0; k < p->n_options; k++)
        if (p->options[k].name && strlen(p->options[k].name) == length &&
            strncmp(p->options[k].name, name, length) == 0)
            return k;
    return -1;
}

int options_gave(const char *name)
{
    for (int k = 0; k < n_given; k++)
        if (strcmp(given[k], name) == 0)
            return 1;
    return 0;
}

/* ---- values ---- */

static int set_choice(const option_t *o, const char *value)
{
    const int index = options_choice(o->choices, value);
    if (index >= 0)
        *(int *)o->to = index;
    else
        fprintf(stderr, "--%s: \"%s\" is none of %s\n", o->name, value, o->choices);
    return index >= 0;
}

static int set_name(const option_t *o, const char *value)
{
    const char *name;
    for (size_t k = 0; (name = o->name_at(k)); k++)
        if (strcmp(name, value) == 0) {
            *(const char **)o->to = name;
            return 1;
        }
    fprintf(stderr, "--%s: \"%s\" is none of ", o->name, value);
    for (size_t k = 0; (name = o->name_at(k)); k++)
        fprintf(stderr, "%s%s", k ? "|" : "", name);
    fputc('\n', stderr);
    return 0;
}

/* A double represents integers up to 2^53 exactly; "unlimited" is written as 1e18. */
static int64_t whole(double number)
{
    return number >= 9e18 ? INT64_MAX : (int64_t)number;
}

static int set(const option_t *o, const char *value)
{
    char shown[64];
    snprintf(shown, sizeof shown, "--%s", o->name);
    if (o->kind != OPTION_FLAG && *value == '\0') {
        fprintf(stderr, "%s: the value \"\" is empty\n", shown);
        return 0;
    }
    switch (o->kind) {
    case OPTION_WHOLE: return program_whole(shown, value, whole(o->low), whole(o->high), o->to);
    case OPTION_REAL: return program_real(shown, value, o->low, o->high, o->to);
    case OPTION_FLAG: return *(int *)o->to = 1;
    case OPTION_CHOICE: return set_choice(o, value);
    case OPTION_NAME: return set_name(o, value);
    case OPTION_TAKE: return o->take(value, o->to);
    default: *(const char **)o->to = value; return 1;
    }
}

/* ---- names ---- */

static int refuse_name(const program_t *p, const char *name)
{
    static const char *const renamed[][3] = {
#define RENAMED(program, old, now) {program, old, now},
#include "renamed.def"
#undef RENAMED
    };
    const char *names[MOST];
    int n = 0;
    for (size_t k = 0; k < sizeof renamed / sizeof *renamed; k++)
        if ((!renamed[k][0] || strcmp(renamed[k][0], p->name) == 0) &&
            strcmp(renamed[k][1], name) == 0 &&
            index_of(p, renamed[k][2], strcspn(renamed[k][2], " ")) >= 0) {
            fprintf(stderr, "--%s: this option is now --%s\n", name, renamed[k][2]);
            return 0;
        }
    for (int k = 0; k < p->n_options; k++)
        if (p->options[k].name)
            names[n++] = p->options[k].name;
    fprintf(stderr, "--%s: %s has no such option", name, p->name);
    program_nearest(stderr, name, names, n);
    fputc('\n', stderr);
    return 0;
}

/* Sets the option of argv[*at], "--name value" or "--name=value"; *at is moved to its value. */
static int take_option(reader_t *r, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2, *equals = strchr(name, '=');
    const size_t length = equals ? (size_t)(equals - name) : strlen(name);
    const int k = index_of(r->program, name, length);
    char shown[64];
    snprintf(shown, sizeof shown, "%.*s", (int)(length < 63 ? length : 63), name);
    if (k < 0)
        return refuse_name(r->program, shown);
    const option_t *o = &r->program->options[k];
    const char *value = equals ? equals + 1 : NULL, *next = *at + 1 < argc ? argv[*at + 1] : NULL;
    const char *wrong = NULL;
    if (r->given[k]++)
        wrong = "it is given twice";
    else if (o->kind == OPTION_FLAG && equals)
        wrong = "it takes no value";
    else if (o->kind != OPTION_FLAG && !equals && !next)
        wrong = "a value is expected";
    else if (o->kind != OPTION_FLAG && !equals && strncmp(next, "--", 2) == 0 &&
             index_of(r->program, next + 2, strlen(next + 2)) >= 0)
        wrong = "a value is expected, and an option follows";
    if (wrong) {
        fprintf(stderr, "--%s: %s\n", shown, wrong);
        return 0;
    }
    if (o->kind != OPTION_FLAG && !equals) {
        value = next;
        ++*at;
    }
    return set(o, value);
}

/* Names the first option that reads a file: where a program takes one by name, users try it
 * without. */
static int refuse_operand(const program_t *p, const char *word)
{
    fprintf(stderr, "%s: \"%s\" is not an option", p->name, word);
    for (int k = 0; k < p->n_options; k++)
        if (p->options[k].kind == OPTION_INPUT) {
            fprintf(stderr, "; files are given by name, as in --%s %s", p->options[k].name,
                    p->options[k].argument);
            break;
        }
    fputc('\n', stderr);
    return 0;
}

static int take_operand(reader_t *r, const char *word)
{
    if (*word && r->n_operands < r->program->n_operands) {
        r->program->operands[r->n_operands++] = word;
        return 1;
    }
    return refuse_operand(r->program, word);
}

/* ---- combinations ---- */

/* Has the option one of the values of "name=value|value", given or by default? */
static int has_value(const option_t *o, const char *values, size_t length)
{
    const char *value = o->kind == OPTION_CHOICE ? o->choices : *(const char **)o->to;
    for (int k = o->kind == OPTION_CHOICE ? *(int *)o->to : 0; k > 0; k--)
        value = strchr(value, '|') + 1;
    const size_t own = value ? strcspn(value, "|") : 0;
    for (const char *at = values; value && at < values + length; at += strcspn(at, "| ") + 1)
        if (strcspn(at, "| ") == own && strncmp(at, value, own) == 0)
            return 1;
    return 0;
}

/* Does a term of `where` hold, without its "!"? */
static int holds(const reader_t *r, const char *term, size_t length)
{
    const char *equals = memchr(term, '=', length);
    if (equals) {
        const int k = index_of(r->program, term, (size_t)(equals - term));
        return k >= 0 &&
               has_value(&r->program->options[k], equals + 1, length - (size_t)(equals + 1 - term));
    }
    for (const char *at = term; at < term + length; at += strcspn(at, "| ") + 1) {
        const int k = index_of(r->program, at, strcspn(at, "| "));
        if (k >= 0 && r->given[k])
            return 1;
    }
    return 0;
}

/* Rejects options without effect. */
static int have_effect(const reader_t *r)
{
    char words[128];
    for (int k = 0; k < r->program->n_options; k++) {
        const option_t *o = &r->program->options[k];
        for (const char *term = r->given[k] ? o->where : NULL; term && *term;) {
            const size_t length = strcspn(term, " ");
            const int not = *term == '!';
            if (holds(r, term + not, length - (size_t) not ) == not ) {
                options_term(term, words, sizeof words);
                fprintf(stderr, "--%s: has no effect %s %s\n", o->name, not ? "with" : "without",
                        words);
                return 0;
            }
            term += length + (term[length] == ' ');
        }
    }
    return 1;
}

/* ---- files ---- */

static int can_read(const option_t *o)
{
    const char *path = *(const char **)o->to;
    if (options_choice(o->argument, path) >= 0 || access(path, R_OK) == 0)
        return 1;
    fprintf(stderr, "--%s: %s: %s\n", o->name, path, strerror(errno));
    return 0;
}

/* Does the name end like one of "FILE.npy|FILE.npz"? Devices are exempt. */
static int ends_well(const option_t *o, const char *path)
{
    struct stat s;
    if (!strchr(o->argument, '.') || (stat(path, &s) == 0 && !S_ISREG(s.st_mode)))
        return 1;
    for (const char *at = strchr(o->argument, '.'); at; at = strchr(at, '.')) {
        const size_t length = strcspn(at, "|"), own = strlen(path);
        if (own > length && strncmp(path + own - length, at, length) == 0)
            return 1;
        at += length;
    }
    fprintf(stderr, "--%s: %s: a name like %s is expected\n", o->name, path, o->argument);
    return 0;
}

/* Do two paths without a file lead to the same place? */
static int same_place(const char *a, const char *b)
{
    struct stat folders[2];
    const char *paths[2] = {a, b}, *names[2];
    for (int k = 0; k < 2; k++) {
        char folder[4096];
        const char *slash = strrchr(paths[k], '/');
        const int length = slash ? (int)(slash - paths[k]) + 1 : 0;
        names[k] = paths[k] + length;
        if (length >= (int)sizeof folder)
            return 0;
        snprintf(folder, sizeof folder, "%.*s", length ? length : 1, length ? paths[k] : ".");
        if (stat(folder, &folders[k]) != 0)
            return 0;
    }
    return strcmp(names[0], names[1]) == 0 && folders[0].st_dev == folders[1].st_dev &&
           folders[0].st_ino == folders[1].st_ino;
}

static int same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (strcmp(a, b) == 0)
        return 1;
    const int there[2] = {stat(a, &x) == 0, stat(b, &y) == 0};
    if (!there[0] && !there[1])
        return same_place(a, b);
    return there[0] && there[1] && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Is an existing file part of an input: in a folder that is read, or LINQS' other file? */
static int is_part(const char *path, const char *input)
{
    static const char *const pair[] = {".content", ".cites"};
    struct stat s;
    char inside[4096], other[4096];
    if (access(path, F_OK) != 0)
        return 0;
    for (int k = 0; k < 2; k++) {
        const size_t length = strlen(input), own = strlen(pair[k]);
        if (length < own || strcmp(input + length - own, pair[k]) != 0)
            continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(length - own), input, pair[1 - k]);
        return same_file(path, other);
    }
    if (stat(input, &s) != 0 || !S_ISDIR(s.st_mode))
        return 0;
    char *folder = realpath(input, NULL);
    char *file = realpath(path, NULL);
    snprintf(inside, sizeof inside, "%s/", folder ? folder : "");
    const int part = folder && file && strncmp(file, inside, strlen(inside)) == 0;
    free(folder);
    free(file);
    return part;
}

/* Rejects an output that is also another option's file. */
static int is_output(const option_t *o)
{
    return o->kind == OPTION_OUTPUT || o->kind == OPTION_STORED;
}

/* Is `path`, which option k writes, the file of another option, or part of an input? */
static int stands_alone(const reader_t *r, int k, const char *path)
{
    const option_t *rows = r->program->options;
    struct stat s;
    if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
        return 1;
    for (int i = 0; i < r->program->n_options; i++) {
        const int reads = rows[i].kind == OPTION_INPUT;
        const char *other = i != k && r->given[i] && (reads || is_output(&rows[i]))
                                ? *(const char **)rows[i].to
                                : NULL;
        if (other && same_file(path, other)) {
            fprintf(stderr, "--%s: %s is the file of --%s, too\n", rows[k].name, path, rows[i].name);
            return 0;
        }
        if (other && reads && is_part(path, other)) {
            fprintf(stderr,
                    "--%s: %s is there, and part of what --%s reads: a new file is expected\n",
                    rows[k].name, path, rows[i].name);
            return 0;
        }
    }
    return 1;
}

/* The second file of an option too. */
static int stand_alone(const reader_t *r, int k)
{
    const option_t *o = &r->program->options[k];
    char second[4096];
    const char *path = *(const char **)o->to;
    if (!stands_alone(r, k, path))
        return 0;
    if (!o->companion)
        return 1;
    snprintf(second, sizeof second, "%s%s", path, o->companion);
    return stands_alone(r, k, second);
}

static int can_write(const option_t *o)
{
    char shown[64], second[4096];
    snprintf(shown, sizeof shown, "--%s", o->name);
    if (o->companion) {
        snprintf(second, sizeof second, "%s%s", *(const char **)o->to, o->companion);
        if (!program_can_write(shown, second, PROGRAM_REGULAR))
            return 0;
    }
    if (strcmp(o->argument, "FOLDER") == 0)
        return program_can_write(shown, *(const char **)o->to, PROGRAM_FOLDER);
    return program_can_write(shown, *(const char **)o->to,
                             o->kind == OPTION_STORED ? PROGRAM_REGULAR : PROGRAM_FILE);
}

/* 0, or the exit status: 2 for errors of the command line, 1 for errors of files. */
static int check_files(const reader_t *r)
{
    for (int k = 0; k < r->program->n_options; k++) {
        const option_t *o = &r->program->options[k];
        if (is_output(o) && r->given[k] &&
            (!ends_well(o, *(const char **)o->to) || !stand_alone(r, k)))
            return 2;
    }
    for (int k = 0; k < r->program->n_options; k++) {
        const option_t *o = &r->program->options[k];
        if (r->given[k] &&
            ((o->kind == OPTION_INPUT && !can_read(o)) || (is_output(o) && !can_write(o))))
            return EXIT_FAILURE;
    }
    return 0;
}

/* ---- the command line ---- */

/* --help and --version at any position, and the requests of the shell and the tests. */
static int answer(const program_t *p, const char *word, int count, char **words)
{
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        options_help(p);
    else if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0)
        printf("gnn-%s (libgnn) %s\n", p->name, gnn_version());
    else if (strcmp(word, "--complete") == 0)
        options_complete(p, count, words);
    else if (strcmp(word, "--describe") == 0)
        options_describe(p);
    else
        return 0;
    return 1;
}

static int take(reader_t *r, int argc, char **argv)
{
    int options = 1;
    for (int k = 1; k < argc; k++) {
        const int dashes = options && strncmp(argv[k], "--", 2) == 0;
        if (options && answer(r->program, argv[k], argc - k - 1, argv + k + 1))
            return r->answered = 1;
        if (dashes && !argv[k][2])
            options = 0;
        else if (dashes ? !take_option(r, argc, argv, &k) : !take_operand(r, argv[k]))
            return 0;
    }
    return have_effect(r);
}

int options_read(const program_t *p, int argc, char **argv, int *status)
{
    reader_t r = {.program = p};
    *status = take(&r, argc, argv) ? 0 : 2;
    if (*status == 0 && !r.answered)
        *status = check_files(&r);
    n_given = 0;
    for (int k = 0; k < p->n_options; k++)
        if (r.given[k])
            given[n_given++] = p->options[k].name;
    if (*status == 0 && !r.answered)
        return 1;
    if (*status == 2)
        fprintf(stderr, "%s: `gnn %s --help` lists the options\n", p->name, p->name);
    *status = program_ends(p->name, *status);
    return 0;
}
