/* The options of a program as one table, from which they are read, listed by --help and told as a
 * man page. */
#ifndef PROGRAMS_OPTIONS_H
#define PROGRAMS_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

typedef enum {
    OPTION_HEADING, /* of the options that follow: `help` is its text */
    OPTION_TEXT,    /* const char * */
    OPTION_OUTPUT,  /* const char *: a path where a file can be made, which is looked at at once */
    OPTION_WHOLE,   /* int64_t from low to high */
    OPTION_REAL,    /* double from low to high */
    OPTION_FLAG,    /* int: 1 where it is given */
    OPTION_CHOICE,  /* int: the number of the word among `choices`, which "|" parts */
    OPTION_TAKE     /* whatever `take` makes of it */
} option_kind_t;

typedef struct {
    const char *name; /* without "--" */
    option_kind_t kind;
    void *to; /* what stands there beforehand is the default, which --help shows */
    const char *help, *argument; /* "FILE"; NULL: none, or the choices */
    double low, high;
    const char *choices;
    int (*take)(const char *value, void *to); /* 0 after a line on standard error */
} option_t;

/* Rows of a table. */
#define HEADING(text)                          \
    {                                          \
        .kind = OPTION_HEADING, .help = (text) \
    }
#define OPTION_ROW(name_, kind_, to_, help_, ...)                                          \
    {                                                                                      \
        .name = (name_), .kind = OPTION_##kind_, .to = (to_), .help = (help_), __VA_ARGS__ \
    }
#define TEXT(name, to, help, argument_) OPTION_ROW(name, TEXT, to, help, .argument = (argument_))
#define OUTPUT(name, to, help, argument_) \
    OPTION_ROW(name, OUTPUT, to, help, .argument = (argument_))
#define WHOLE(name, to, help, low_, high_) \
    OPTION_ROW(name, WHOLE, to, help, .argument = "N", .low = (low_), .high = (high_))
#define REAL(name, to, help, low_, high_) \
    OPTION_ROW(name, REAL, to, help, .argument = "R", .low = (low_), .high = (high_))
#define FLAG(name, to, help) OPTION_ROW(name, FLAG, to, help, .argument = NULL)
#define CHOICE(name, to, help, choices_) OPTION_ROW(name, CHOICE, to, help, .choices = (choices_))
#define TAKE(name, to, help, argument_, take_) \
    OPTION_ROW(name, TAKE, to, help, .argument = (argument_), .take = (take_))

typedef struct {
    const char *name, *usage, *notes; /* usage without the name; notes end the help */
    const option_t *options;
    int n_options;
    const char **operands; /* what is no option goes here */
    int n_operands;
} program_t;

/* 1: go on. 0: the program ends with *status, after --help, --version or a line that says what is
 * wrong with which option. */
int options_read(const program_t *program, int argc, char **argv, int *status);
/* Was the option given on this command line? */
int options_gave(const char *name);
/* Was one of `names` (its end is NULL) given? Then a line on standard error says that it has no
 * effect with the option `with`. */
int options_idle(const char *with, const char *const *names);

#endif
