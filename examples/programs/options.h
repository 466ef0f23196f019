/* The options of a program as one table, which is used to read the command line, by --help, by
 * completion, and for the comparison with the vocabulary of examples/README.md. Each given option
 * has an effect, or is an error that names it. */
#ifndef PROGRAMS_OPTIONS_H
#define PROGRAMS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    OPTION_HEADING, /* of the options that follow: `help` is its text */
    OPTION_TEXT,    /* const char *: any non-empty text */
    OPTION_INPUT,   /* const char *: a readable file or folder, or a lower-case alternative of
                       `argument`: "FILE|karate" */
    OPTION_OUTPUT,  /* const char *: a writable path with an extension of `argument`:
                       "FILE.npy|FILE.npz" */
    OPTION_STORED,  /* the same for a model or a checkpoint, which must not be a device; "FOLDER" */
    OPTION_WHOLE,   /* int64_t from low to high */
    OPTION_REAL,    /* double from low to high */
    OPTION_FLAG,    /* int: 1 if given */
    OPTION_CHOICE,  /* int: the index among `choices`, which are separated by "|" */
    OPTION_NAME,    /* const char *: one of the names of `name_at` */
    OPTION_TAKE     /* `take` reads the value */
} option_kind_t;

typedef struct {
    const char *name; /* without "--" */
    option_kind_t kind;
    void *to;                    /* holds the default, which --help shows */
    const char *help, *argument; /* argument: "FILE"; NULL: none, or the choices */
    double low, high;
    const char *choices;
    const char *(*name_at)(size_t index);     /* NULL after the last one */
    int (*take)(const char *value, void *to); /* 0 after an error message on stderr */
    /* The condition under which the option has an effect; NULL: always. Terms separated by spaces,
     * all of which must hold: "query": it is given; "data|load": one of them is given; "!load": it
     * is not given; "method=saliency|occlusion": an option has one of the values, given or by
     * default. */
    const char *where;
    const char *companion; /* ending of a second file that a STORED one brings; NULL: none */
} option_t;

/* Entries of a table; further members may follow: .where = "...". */
#define HEADING(text)                          \
    {                                          \
        .kind = OPTION_HEADING, .help = (text) \
    }
#define OPTION_ROW(name_, kind_, to_, help_, ...)                                          \
    {                                                                                      \
        .name = (name_), .kind = OPTION_##kind_, .to = (to_), .help = (help_), __VA_ARGS__ \
    }
#define TEXT(name, to, help, argument_, ...) \
    OPTION_ROW(name, TEXT, to, help, .argument = (argument_), __VA_ARGS__)
#define INPUT(name, to, help, argument_, ...) \
    OPTION_ROW(name, INPUT, to, help, .argument = (argument_), __VA_ARGS__)
#define OUTPUT(name, to, help, argument_, ...) \
    OPTION_ROW(name, OUTPUT, to, help, .argument = (argument_), __VA_ARGS__)
#define STORED(name, to, help, argument_, ...) \
    OPTION_ROW(name, STORED, to, help, .argument = (argument_), __VA_ARGS__)
#define WHOLE(name, to, help, low_, high_, ...) \
    OPTION_ROW(name, WHOLE, to, help, .argument = "N", .low = (low_), .high = (high_), __VA_ARGS__)
#define REAL(name, to, help, low_, high_, ...) \
    OPTION_ROW(name, REAL, to, help, .argument = "R", .low = (low_), .high = (high_), __VA_ARGS__)
#define FLAG(name, to, help, ...) OPTION_ROW(name, FLAG, to, help, __VA_ARGS__)
#define CHOICE(name, to, help, choices_, ...) \
    OPTION_ROW(name, CHOICE, to, help, .choices = (choices_), __VA_ARGS__)
#define NAME(name, to, help, name_at_, ...) \
    OPTION_ROW(name, NAME, to, help, .argument = "NAME", .name_at = (name_at_), __VA_ARGS__)
#define TAKE(name, to, help, argument_, take_, ...) \
    OPTION_ROW(name, TAKE, to, help, .argument = (argument_), .take = (take_), __VA_ARGS__)

/* Options with the same meaning in every program. */
#define THREADS(to) \
    WHOLE("threads", to, "thread count; 0: all processors that the process may use [0]", 0, 1024)
#define SEED(to, of, ...) WHOLE("seed", to, of, 0, 1e18, __VA_ARGS__)
#define PRECISION(to) CHOICE("precision", to, "of products (gnn/context.h)", "highest|high|medium")
#define JSON(to, ...) \
    FLAG("json", to, "one JSON object on standard output, text on standard error", __VA_ARGS__)
#define DIRECTED(to, ...) \
    FLAG("directed", to,  \
         "edges in the stored direction only; else in both directions of each link", __VA_ARGS__)
#define SCALE(to, ...)                                                                                              \
    CHOICE("scale", to,                                                                                             \
           "features: unchanged, rows of sum 1 or length 1, columns of mean 0 and variance 1; auto: by their kind", \
           "auto|none|rows|length|columns", __VA_ARGS__)

typedef struct {
    const char *name, *usage,
        *notes; /* usage without the name; notes at the end of the help, or NULL */
    const option_t *options;
    int n_options;
    const char **operands; /* arguments that are not options */
    int n_operands;
} program_t;

/* 1: continue. 0: the program ends with *status, after --help, --version or an error message that
 * names the option. */
int options_read(const program_t *program, int argc, char **argv, int *status);
/* Was the option given? */
int options_gave(const char *name);

/* ---- options_help.c ---- */

void options_help(const program_t *program);
/* Prints completions of the last of `words`, for the shell. */
void options_complete(const program_t *program, int count, char **words);
/* One line per option: name, kind, argument, where, separated by tabs; for tests/house. */
void options_describe(const program_t *program);
/* A term of `where` as text: "--method saliency or occlusion". */
void options_term(const char *term, char *text, size_t size);
/* The index of a word among choices separated by "|"; -1 if it is not one of them. */
int options_choice(const char *choices, const char *word);

#endif
