/* Shared by the programs: strict parsing of values, checks of outputs before a long training, and
 * an exit status that includes write errors. */
#ifndef PROGRAMS_PROGRAM_H
#define PROGRAMS_PROGRAM_H

#include <gnn/gnn.h>
#include <stdint.h>
#include <stdio.h>

/* NAME_main for each program, which main.c calls. */
#define PROGRAM(name, summary) int name##_main(int argc, char **argv);
#include "programs.def"
#undef PROGRAM

/* The summary of a program in programs.def. */
const char *program_summary(const char *name);
/* Writes "; did you mean ...?" with the nearest of `count` names to a word; nothing if none is
 * near. */
void program_nearest(FILE *file, const char *word, const char *const *names, int count);

/* Parses all of `text` as a value from low to high. 0 after an error message that names the
 * option. */
int program_whole(const char *option, const char *text, int64_t low, int64_t high, int64_t *number);
int program_real(const char *option, const char *text, double low, double high, double *number);
/* Can a file be made at `path`? If not, 0 after an error message. */
typedef enum {
    PROGRAM_FILE,
    PROGRAM_REGULAR,
    PROGRAM_FOLDER
} program_path_t; /* FILE: or a device */
int program_can_write(const char *option, const char *path, program_path_t kind);
/* PROGRAM_REFUSED after an error message: the model lacks the layer of --show-layer or the head of
 * --show-head. */
int program_can_show(int64_t layer, int64_t layers, int64_t head, int64_t heads);
/* Prints the names of the set's values on edges that no step of the model reads. */
void program_tell_unread(const char *program, const gnn_model_t *model, const gnn_data_t *data);
/* PROGRAM_REFUSED after an error message: a set of fewer than two classes. */
int program_has_classes(const char *program, const char *data, int64_t classes);

/* 0 after an error message: --hidden or --heads of one layer, which has the width of its output. */
int program_has_hidden(int64_t layers);
/* 0 after an error message: a hidden width that heads do not divide. */
int program_heads_divide(int64_t hidden, int64_t heads);

/* The lines of a file, or of all of standard input for "-", for gnn_text_lines_free. */
int program_lines_read(gnn_text_lines_t **lines, const char *path);
/* The next lines of a stream, at most `most`; NULL at its end. *before, at first 0, is the count of
 * those before. An empty stream is an error. */
int program_lines_next(gnn_text_lines_t **lines, FILE *file, int64_t most, int64_t *before);

/* Names of the library's presets of layers, NULL after the last one. */
const char *program_preset(size_t index);

/* ---- outputs ---- */

/* A file that is written under a temporary name and renamed when it is complete. */
typedef struct {
    FILE *file;
    const char *path;
    char part[4096]; /* "": a device, which is written directly */
} program_file_t;
/* PROGRAM_REFUSED after an error message. */
int program_create(program_file_t *to, const char *path);
/* Closes the file and, if `rc` is GNN_OK, renames it. Returns `rc`, or PROGRAM_REFUSED after an
 * error message. */
int program_finish(program_file_t *to, int rc);
/* Writes a file by `draw`. */
int program_write(const char *path, int (*draw)(FILE *file, const void *what), const void *what);
/* Calls save(what, path). If that fails, the model is saved in $TMPDIR or /tmp instead, with a
 * message that gives the path. */
int program_save(const char *program, const char *path,
                 int (*save)(const void *what, const char *path), const void *what);
/* The same for a model alone. */
int program_save_model(const char *program, const char *path, const gnn_model_t *model);
/* Returned by functions that have already printed their error message, in place of a code of the
 * library. */
enum { PROGRAM_REFUSED = -1 };
/* Reserves the descriptors of standard streams that were closed at the start: otherwise the first
 * opened file would get one of them, and output would be written into it. Writes to them fail. */
void program_holds_streams(void);
/* Prints the error message of a code of the library; nothing for GNN_OK, PROGRAM_REFUSED and
 * GNN_ESTOPPED. */
void program_fails(const char *program, int rc);
/* The exit status of main: `status`, or 1 after an error message if standard output could not be
 * written (a full disk, a closed pipe). */
int program_ends(const char *program, int status);
/* The same for a code of the library: 0 for GNN_OK, 130 for GNN_ESTOPPED, else 1. */
int program_ends_with(const char *program, int rc);

/* A run on one set: `run` opens it and measures, `release` frees what was measured. */
typedef struct {
    const char *name; /* of the program */
    void *options, *measured;
    int (*run)(void *options, gnn_context_t *context, gnn_data_t **data, void *measured);
    void (*release)(void *measured);
} program_run_t;
/* Runs it until Ctrl-C with a context of its own, whose profile is written. The exit status. */
int program_run(const program_run_t *program, int64_t threads);

/* After program_catch_interrupt, Ctrl-C (or SIGTERM) sets program_stopped, the `.stop` of
 * training runs; a second one exits at once with 130. After program_let_interrupt it ends the
 * program again. */
extern volatile int program_stopped;
void program_catch_interrupt(void);
void program_let_interrupt(void);

/* A fraction as a percentage with one decimal; "-" if undefined. */
const char *program_percent(double share, char room[16]);

/* ---- CSV and JSON ---- */

/* A comma and the name of the node in a row, in quotes where it needs them; nothing for a set
 * without names. */
void program_csv_name(FILE *file, const gnn_data_t *data, int64_t row);

/* A string in quotes. */
void program_json_string(FILE *file, const char *text);
/* "key": value; null if it is not finite, since JSON has no NaN. */
void program_json_number(FILE *file, const char *key, double value);

#endif
