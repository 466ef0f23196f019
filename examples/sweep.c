/* Runs a program with every combination of some settings, several at a time, and tells which is
 * best by validation. What is done stays done: a sweep that was killed goes on where it was, and
 * ends with the same numbers. `sweep --help` says how. */
#include "options.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MOST_SETTINGS = 16,
    MOST_VALUES = 64,
    MOST_CELLS = 10000,
    MOST_ARGUMENTS = 256,
    PATH = 4096
};

typedef struct {
    char *name, *values[MOST_VALUES];
    int count;
} setting_t;

typedef struct {
    const char *grid, *folder;
    int64_t jobs;
    setting_t settings[MOST_SETTINGS];
    int n_settings, cells;
    char **command; /* of the program, its end is NULL */
    int n_command;
} sweep_t;

/* What a run put out: means over its trainings. */
typedef struct {
    double validation, test, deviation;
} result_t;

/* ---- the grid ---- */

/* "hidden=8,16 lr=0.01": the text is cut into words in place. */
static int read_grid(sweep_t *s, char *text)
{
    s->cells = 1;
    for (char *end, *word = strtok_r(text, " ", &end); word; word = strtok_r(NULL, " ", &end)) {
        setting_t *to = &s->settings[s->n_settings];
        char *rest, *equals = strchr(word, '=');
        if (!equals || equals == word || !equals[1] || s->n_settings == MOST_SETTINGS) {
            fprintf(stderr, "--grid: \"%s\": NAME=VALUE,VALUE is expected, of at most %d names\n",
                    word, MOST_SETTINGS);
            return 0;
        }
        *equals = 0;
        to->name = word;
        for (char *v = strtok_r(equals + 1, ",", &rest); v; v = strtok_r(NULL, ",", &rest)) {
            if (to->count == MOST_VALUES) {
                fprintf(stderr, "--grid: %s has more than %d values\n", word, MOST_VALUES);
                return 0;
            }
            to->values[to->count++] = v;
        }
        if (to->count < 1 || s->cells > MOST_CELLS / to->count) {
            fprintf(stderr, "--grid: %s: 1 to %d combinations are expected\n", word, MOST_CELLS);
            return 0;
        }
        s->cells *= to->count;
        s->n_settings++;
    }
    return s->n_settings > 0;
}

/* The value of a setting in a cell; the last setting changes first. */
static const char *value_of(const sweep_t *s, int cell, int setting)
{
    for (int k = s->n_settings - 1; k > setting; k--)
        cell /= s->settings[k].count;
    return s->settings[setting].values[cell % s->settings[setting].count];
}

static const char *file_of(const sweep_t *s, int cell, const char *ending, char path[PATH])
{
    snprintf(path, PATH, "%s/%04d%s", s->folder, cell, ending);
    return path;
}

/* ---- the folder ---- */

static int complain(const char *path)
{
    fprintf(stderr, "sweep: %s: %s\n", path, strerror(errno));
    return 0;
}

/* What makes the sweep: a folder of another one is not gone on with. */
static void describe(const sweep_t *s, FILE *to)
{
    fprintf(to, "%s\n", s->grid);
    for (int k = 0; k < s->n_command; k++)
        fprintf(to, "%s\n", s->command[k]);
}

static int same_text(FILE *file, const char *text, size_t length)
{
    size_t at = 0;
    for (int c; (c = fgetc(file)) != EOF; at++)
        if (at >= length || (char)c != text[at])
            return 0;
    return at == length;
}

static int own_folder(const sweep_t *s)
{
    char path[PATH], part[PATH], *text = NULL;
    size_t length = 0;
    FILE *words = open_memstream(&text, &length), *file;
    int good = 0;
    if (!words)
        return complain(s->folder);
    describe(s, words);
    fclose(words);
    snprintf(path, sizeof path, "%s/sweep.txt", s->folder);
    snprintf(part, sizeof part, "%s/sweep.part", s->folder);
    file = fopen(path, "r");
    if (file) {
        good = same_text(file, text, length);
        if (!good)
            fprintf(stderr, "sweep: %s is of another sweep: see %s\n", s->folder, path);
        fclose(file);
    } else {
        file = fopen(part, "w");
        good = file && fwrite(text, 1, length, file) == length;
        good = file && fclose(file) == 0 && good && rename(part, path) == 0;
        good = good || complain(path);
    }
    free(text);
    return good;
}

/* Programs of a sweep that was killed have the lock, too, until they end: two never write the same
 * files. */
static int lock_folder(const sweep_t *s)
{
    char path[PATH];
    snprintf(path, sizeof path, "%s/lock", s->folder);
    if (mkdir(s->folder, 0777) != 0 && errno != EEXIST)
        return complain(s->folder);
    const int lock = open(path, O_RDWR | O_CREAT, 0666);
    if (lock < 0)
        return complain(path);
    if (flock(lock, LOCK_EX | LOCK_NB) == 0)
        return 1;
    fprintf(stderr, "sweep: waits for what runs in %s\n", s->folder);
    while (flock(lock, LOCK_EX) != 0)
        if (errno != EINTR || program_stopped)
            return complain(path);
    return 1;
}

/* ---- runs ---- */

static int add_argument(char **to, int n, const char *text)
{
    to[n] = (char *)text;
    return n + 1;
}

/* In the child: the program in place of this one, its output in files. */
static void become(const sweep_t *s, int cell)
{
    char *arguments[MOST_ARGUMENTS + 4 * MOST_SETTINGS], names[MOST_SETTINGS][128];
    char state[PATH], model[PATH], part[PATH], log[PATH];
    int n = 0;
    for (int k = 0; k < s->n_command; k++)
        n = add_argument(arguments, n, s->command[k]);
    for (int k = 0; k < s->n_settings; k++) {
        snprintf(names[k], sizeof names[k], "--%s", s->settings[k].name);
        n = add_argument(arguments, n, names[k]);
        n = add_argument(arguments, n, value_of(s, cell, k));
    }
    n = add_argument(arguments, n, "--json");
    n = add_argument(arguments, n, "--checkpoint");
    n = add_argument(arguments, n, file_of(s, cell, ".state", state));
    n = add_argument(arguments, n, "--resume");
    n = add_argument(arguments, n, "--save");
    n = add_argument(arguments, n, file_of(s, cell, ".safetensors", model));
    arguments[n] = NULL;
    if (freopen(file_of(s, cell, ".part", part), "w", stdout) &&
        freopen(file_of(s, cell, ".log", log), "w", stderr))
        execvp(arguments[0], arguments);
    fprintf(stderr, "%s: %s\n", arguments[0], strerror(errno));
    _exit(127);
}

static int is_done(const sweep_t *s, int cell)
{
    char path[PATH];
    return access(file_of(s, cell, ".json", path), F_OK) == 0;
}

/* A program ended: its output gets its name, which says that it is whole. */
static int end_run(const sweep_t *s, int cell, int status)
{
    char part[PATH], json[PATH], log[PATH];
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return rename(file_of(s, cell, ".part", part), file_of(s, cell, ".json", json)) == 0 ||
               complain(json);
    if (!program_stopped)
        fprintf(stderr, "sweep: run %04d failed: see %s\n", cell, file_of(s, cell, ".log", log));
    return 0;
}

/* Waits for any run; `running[cell]` is its process. */
static int wait_for_one(const sweep_t *s, pid_t *running, int *failed)
{
    int status;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0)
        return errno == EINTR;
    for (int cell = 0; cell < s->cells; cell++)
        if (running[cell] == ended) {
            running[cell] = 0;
            *failed += !end_run(s, cell, status);
        }
    return 1;
}

static int count_running(const sweep_t *s, const pid_t *running)
{
    int count = 0;
    for (int cell = 0; cell < s->cells; cell++)
        count += running[cell] != 0;
    return count;
}

/* Runs what is not done yet; returns how many failed, -1 if nothing could be started. */
static int run_all(const sweep_t *s)
{
    pid_t *running = calloc((size_t)s->cells, sizeof *running);
    int failed = 0;
    if (!running)
        return -1;
    for (int cell = 0; cell < s->cells && !program_stopped; cell++) {
        if (is_done(s, cell))
            continue;
        while (count_running(s, running) >= s->jobs && wait_for_one(s, running, &failed))
            ;
        if (program_stopped)
            break;
        fflush(NULL);
        running[cell] = fork();
        if (running[cell] == 0)
            become(s, cell);
        if (running[cell] < 0) {
            running[cell] = 0;
            failed += !complain("fork");
        }
    }
    while (count_running(s, running) > 0 && wait_for_one(s, running, &failed))
        ;
    free(running);
    return failed;
}

/* ---- the table ---- */

/* A whole file, terminated; NULL if it cannot be read. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    char *text = size >= 0 ? malloc((size_t)size + 1) : NULL;
    rewind(file);
    if (text)
        text[fread(text, 1, (size_t)size, file)] = 0;
    fclose(file);
    return text;
}

/* The mean of all numbers under a key, NAN if there is none. */
static double mean_of(const char *text, const char *key)
{
    double sum = 0, count = 0;
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        char *end;
        const double value = strtod(at + strlen(key), &end);
        if (end != at + strlen(key)) {
            sum += value;
            count++;
        }
    }
    return count > 0 ? sum / count : NAN;
}

static int read_result(const sweep_t *s, int cell, result_t *result)
{
    char path[PATH];
    char *text = read_text(file_of(s, cell, ".json", path));
    if (!text)
        return 0;
    result->validation = mean_of(text, "\"validation\": ");
    result->test = mean_of(text, "\"mean\": ");
    result->deviation = mean_of(text, "\"deviation\": ");
    free(text);
    return 1;
}

static void write_row(FILE *to, const sweep_t *s, int cell, const result_t *r)
{
    for (int k = 0; k < s->n_settings; k++)
        fprintf(to, "%s,", value_of(s, cell, k));
    fprintf(to, "%.9g,%.9g,%.9g\n", r->validation, r->test, r->deviation);
}

static void print_row(const sweep_t *s, int cell, const result_t *r)
{
    for (int k = 0; k < s->n_settings; k++)
        printf("%-*s  ", (int)strlen(s->settings[k].name) > 8 ? (int)strlen(s->settings[k].name) : 8,
               value_of(s, cell, k));
    printf("%10.1f  %6.1f +- %.1f\n", 100 * r->validation, 100 * r->test, 100 * r->deviation);
}

/* On standard output and as table.csv; the best one by validation is told. */
static int write_table(const sweep_t *s)
{
    char path[PATH];
    int best = -1;
    result_t found = {0}, r;
    snprintf(path, sizeof path, "%s/table.csv", s->folder);
    FILE *file = fopen(path, "w");
    if (!file)
        return complain(path);
    for (int k = 0; k < s->n_settings; k++) {
        fprintf(file, "%s,", s->settings[k].name);
        printf("%-8s  ", s->settings[k].name);
    }
    fprintf(file, "validation,test,deviation\n");
    printf("validation    test\n");
    for (int cell = 0; cell < s->cells; cell++) {
        if (!read_result(s, cell, &r))
            continue;
        write_row(file, s, cell, &r);
        print_row(s, cell, &r);
        if (best < 0 || r.validation > found.validation) {
            best = cell;
            found = r;
        }
    }
    if (fclose(file) != 0)
        return complain(path);
    if (best >= 0) {
        printf("best by validation:");
        for (int k = 0; k < s->n_settings; k++)
            printf(" %s=%s", s->settings[k].name, value_of(s, best, k));
        printf(": test %.1f +- %.1f; %s\n", 100 * found.test, 100 * found.deviation,
               file_of(s, best, ".safetensors", path));
    }
    return 1;
}

/* ---- options ---- */

/* What stands behind "--" is the program. */
static int take_command(sweep_t *s, int argc, char **argv)
{
    int own = 1;
    while (own < argc && strcmp(argv[own], "--") != 0)
        own++;
    s->command = own < argc ? argv + own + 1 : NULL;
    s->n_command = own < argc ? argc - own - 1 : 0;
    return own;
}

static int read_options(sweep_t *s, int argc, char **argv, int *status)
{
    const option_t rows[] = {
        HEADING("Options"),
        TEXT("grid", &s->grid,
             "options of the program and their values, all combinations of which are run: \"hidden=8,16 lr=0.005,0.01\"",
             "LIST"),
        WHOLE("jobs", &s->jobs, "runs side by side", 1, 1024),
        TEXT("folder", &s->folder,
             "keeps states, models, results and table.csv; a sweep that is there goes on", "FOLDER")};
    const program_t program = {
        .name = "sweep",
        .usage = "--grid LIST --folder FOLDER [--jobs N] -- PROGRAM [OPTION]...",
        .summary =
            "Runs citation (or another program with --json, --checkpoint, --resume and --save) with every\n"
            "combination of some settings, and tells which is best by validation.",
        .notes =
            "A sweep that was stopped or killed is started again with the same words: runs that are done stay\n"
            "done, others go on at their last checkpoint, and the numbers are those of a sweep left alone.\n"
            "Give the programs of several jobs --threads 1. Ctrl-C leaves checkpoints and exits with 130.",
        .options = rows,
        .n_options = (int)(sizeof rows / sizeof *rows)};
    const int own = take_command(s, argc, argv);
    if (!options_read(&program, own, argv, status))
        return 0;
    *status = 2;
    if (!s->grid || !s->folder || s->n_command < 1 || s->n_command > MOST_ARGUMENTS)
        fprintf(stderr, "sweep: --grid, --folder and behind \"--\" a program are expected\n");
    return s->grid && s->folder && s->n_command >= 1 && s->n_command <= MOST_ARGUMENTS;
}

int main(int argc, char **argv)
{
    sweep_t s = {.jobs = 1};
    int status, failed;
    if (!read_options(&s, argc, argv, &status))
        return status;
    char *grid = strdup(s.grid);
    if (!grid || !read_grid(&s, grid)) {
        free(grid);
        return 2;
    }
    program_catch_interrupt();
    status = 1;
    if (lock_folder(&s) && own_folder(&s)) {
        failed = run_all(&s);
        if (program_stopped)
            status = 130;
        else if (write_table(&s) && failed == 0)
            status = 0;
    }
    free(grid);
    return program_ends("sweep", status);
}
