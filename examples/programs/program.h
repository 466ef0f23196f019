/* What the programs share: numbers on the command line that are numbers, outputs that can be
 * written before hours of training, and an exit status that says whether the result was. */
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
/* Writes "; did you mean ...?" with those of `count` names that are nearest to a word; nothing if
 * none is near. */
void program_nearest(FILE *file, const char *word, const char *const *names, int count);

/* The whole of `text` as a number from low to high. 0, and a line on standard error that names the
 * option, if it is not one. */
int program_whole(const char *option, const char *text, int64_t low, int64_t high, int64_t *number);
int program_real(const char *option, const char *text, double low, double high, double *number);
/* Can it be made at `path`? 0 and a line on standard error if not. */
typedef enum {
    PROGRAM_FILE,
    PROGRAM_REGULAR,
    PROGRAM_FOLDER
} program_path_t; /* FILE: or a device */
int program_can_write(const char *option, const char *path, program_path_t kind);

/* Names of the library's presets of layers, NULL after the last one. */
const char *program_preset(size_t index);

/* ---- outputs ---- */

/* A file that gets its name when it is whole: until then it is beside it under another one. */
typedef struct {
    FILE *file;
    const char *path;
    char part[4096]; /* "": a device, which is written directly */
} program_file_t;
/* PROGRAM_REFUSED after a line on standard error. */
int program_create(program_file_t *to, const char *path);
/* Closes the file and, if `rc` is GNN_OK, gives it its name. Returns `rc`, or PROGRAM_REFUSED after
 * a line on standard error. */
int program_finish(program_file_t *to, int rc);
/* What `draw` writes, as a file. */
int program_write(const char *path, int (*draw)(FILE *file, const void *what), const void *what);
/* Calls save(what, path). Where that fails, the model is not lost: it is saved in $TMPDIR or /tmp,
 * and a line on standard error tells its path. */
int program_save(const char *program, const char *path,
                 int (*save)(const void *what, const char *path), const void *what);
/* The same for a model alone. */
int program_save_model(const char *program, const char *path, const gnn_model_t *model);
/* What a function returns in place of one of the library's codes where it has told on standard
 * error what is wrong. */
enum { PROGRAM_REFUSED = -1 };
/* Where the program was started with a closed standard stream, the stream's number is kept: else
 * the first file that is opened gets it, and what is printed is written into that file. Writing to
 * it fails, as it would without this. */
void program_holds_streams(void);
/* A line on standard error for a code of the library, with its message; none for GNN_OK,
 * PROGRAM_REFUSED and GNN_ESTOPPED. */
void program_fails(const char *program, int rc);
/* The end of main: `status`, or 1 and a line on standard error if standard output was not written
 * (a full disk, a closed pipe). */
int program_ends(const char *program, int status);
/* The same for a code of the library: 0 for GNN_OK, 130 for GNN_ESTOPPED, else 1. */
int program_ends_with(const char *program, int rc);

/* From program_catch_interrupt on, Ctrl-C (or SIGTERM) sets program_stopped, which trainings take
 * as their `.stop`; a second one exits at once with 130. From program_let_interrupt on, it ends the
 * program again, as it does one that waits for input. */
extern volatile int program_stopped;
void program_catch_interrupt(void);
void program_let_interrupt(void);

/* A share as a percentage with one decimal; "-" where there was nothing to measure. */
const char *program_percent(double share, char room[16]);

/* ---- JSON ---- */

/* A string in quotes. */
void program_json_string(FILE *file, const char *text);
/* "key": value; null where it is not finite, since JSON has no NaN. */
void program_json_number(FILE *file, const char *key, double value);

#endif
