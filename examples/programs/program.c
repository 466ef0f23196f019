/* Command lines, outputs and exit statuses of the programs. */
#include "options.h"
#include "program.h"
#include "ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <gnn/gnn.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int program_whole(const char *option, const char *text, int64_t low, int64_t high, int64_t *number)
{
    char *end = NULL;
    int digits = *text == '-' || (*text >= '0' && *text <= '9');
    errno = 0;
    long long value = digits ? strtoll(text, &end, 10) : 0;
    *number = value;
    if (digits && end != text && *end == '\0' && errno == 0 && value >= low && value <= high)
        return 1;
    fprintf(stderr, "%s: \"%s\" is not an integer from %lld to %lld\n", option, text,
            (long long)low, (long long)high);
    return 0;
}

int program_real(const char *option, const char *text, double low, double high, double *number)
{
    char *end = NULL;
    const int digits = *text && strspn(text, "+-.0123456789eE") == strlen(text) && *text != '+' &&
                       *text != 'e' && *text != 'E';
    *number = digits ? strtod(text, &end) : 0;
    if (digits && end != text && *end == '\0' && isfinite(*number) && *number >= low &&
        *number <= high)
        return 1;
    fprintf(stderr, "%s: \"%s\" is not a number from %g to %g\n", option, text, low, high);
    return 0;
}

/* The edit distance of two words. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 64 };
    int row[LONGEST + 1];
    const int length = (int)strlen(b);
    if (length > LONGEST)
        return LONGEST;
    for (int j = 0; j <= length; j++)
        row[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= length; j++) {
            const int replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const int shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = replaced < shorter + 1 ? replaced : shorter + 1;
        }
    }
    return row[length];
}

void program_nearest(FILE *file, const char *word, const char *const *names, int count)
{
    const size_t length = strlen(word);
    int least = 1 + (int)(length < 64 ? length : 64) / 4, said = 0;
    int near = 0;
    for (int k = 0; k < count; k++) {
        const int d = distance(word, names[k]);
        near |= d <= least;
        least = d < least ? d : least;
    }
    for (int k = 0; k < count; k++)
        if (near ? distance(word, names[k]) == least : length > 2 && strstr(names[k], word))
            fprintf(file, "%s%s", said++ ? " or " : "; did you mean ", names[k]);
    if (said)
        fputc('?', file);
}

static int is(const char *one, const char *other)
{
    return one && strcmp(one, other) == 0;
}

static int is_read(const gnn_model_t *model, const char *name)
{
    for (int64_t k = 0; k < gnn_model_step_count(model); k++) {
        const gnn_step_t *step = gnn_model_step(model, k);
        if (is(step->edge_features, name) || is(step->edge_weight, name) || is(step->edge_bias, name))
            return 1;
        for (size_t j = 0; j < sizeof step->inputs / sizeof *step->inputs; j++)
            if (is(step->inputs[j], name))
                return 1;
    }
    return 0;
}

void program_tell_unread(const char *program, const gnn_model_t *model, const gnn_data_t *data)
{
    gnn_data_place_t place;
    const gnn_array_t *array;
    for (int64_t k = 0; (array = gnn_data_array_at(data, k, &place)); k++)
        if (place == GNN_ON_EDGES && !is_read(model, array->name))
            fprintf(stderr, "%s: this network does not read the values on edges \"%s\" of %s\n",
                    program, array->name, gnn_data_name(data));
}

int program_has_classes(const char *program, const char *data, int64_t classes)
{
    if (classes >= 2)
        return GNN_OK;
    fprintf(stderr, "%s: %s has %s, there is nothing to tell apart\n", program, data,
            classes == 1 ? "one class" : "no classes");
    return PROGRAM_REFUSED;
}

int program_has_hidden(int64_t layers)
{
    static const char *const names[] = {"hidden", "heads"};
    for (int k = 0; k < 2 && layers == 1; k++)
        if (options_gave(names[k])) {
            fprintf(stderr, "--%s: has no effect with --layers 1, the last layer\n", names[k]);
            return 0;
        }
    return 1;
}

int program_heads_divide(int64_t hidden, int64_t heads)
{
    if (hidden % heads == 0)
        return 1;
    fprintf(stderr, "--heads: %lld do not divide the hidden width %lld (--hidden)\n",
            (long long)heads, (long long)hidden);
    return 0;
}

const char *program_preset(size_t index)
{
    return gnn_preset_name((gnn_preset_t)(index + 1)); /* after GNN_PRESET_NONE */
}

/* The path of a temporary file next to `path`, unique among processes. */
static int beside(char to[4096], const char *path)
{
    const char *slash = strrchr(path, '/');
    const int folder = slash ? (int)(slash - path + 1) : 0;
    const int length = snprintf(to, 4096, "%.*s.gnn-%ld.tmp", folder, path, (long)getpid());
    if (length > 0 && length < 4096)
        return 1;
    errno = ENAMETOOLONG;
    return 0;
}

/* The reason for which `path` cannot be replaced; NULL: it can, or does not exist. */
static const char *wrong_kind(const char *path, program_path_t kind)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return NULL;
    if (kind == PROGRAM_FOLDER)
        return S_ISDIR(s.st_mode) ? NULL : "is not a folder";
    if (S_ISDIR(s.st_mode))
        return "is a folder";
    return kind == PROGRAM_FILE || S_ISREG(s.st_mode) ? NULL : "is not a regular file";
}

int program_can_write(const char *option, const char *path, program_path_t kind)
{
    struct stat s;
    char part[4096];
    const char *why = wrong_kind(path, kind);
    if (!why && stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return 1; /* errors of devices are reported by the write */
    FILE *file = !why && beside(part, path) ? fopen(part, "wx") : NULL;
    if (!why && !file)
        why = strerror(errno);
    if (file) {
        fclose(file);
        remove(part);
    }
    if (why)
        fprintf(stderr, "%s: %s: %s\n", option, path, why);
    return !why;
}

int program_can_show(int64_t layer, int64_t layers, int64_t head, int64_t heads)
{
    if (layer < layers && head < heads)
        return GNN_OK;
    if (layer >= layers)
        fprintf(stderr, "--show-layer: got %lld, the model has layers 0 to %lld\n",
                (long long)layer, (long long)layers - 1);
    else
        fprintf(stderr, "--show-head: got %lld, the model has heads 0 to %lld\n", (long long)head,
                (long long)heads - 1);
    return PROGRAM_REFUSED;
}

/* ---- outputs ---- */

static int refuse_file(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    return PROGRAM_REFUSED;
}

int program_create(program_file_t *to, const char *path)
{
    struct stat s;
    *to = (program_file_t){.path = path};
    const int device = stat(path, &s) == 0 && !S_ISREG(s.st_mode);
    if (!device && !beside(to->part, path))
        return refuse_file(path);
    to->file = fopen(device ? path : to->part, "wb");
    return to->file ? GNN_OK : refuse_file(path);
}

int program_finish(program_file_t *to, int rc)
{
    errno = EIO; /* clear an old errno */
    int good = !ferror(to->file) && fflush(to->file) == 0;
    if (good && *to->part)
        good = fsync(fileno(to->file)) == 0;
    good = fclose(to->file) == 0 && good;
    if (good && rc == GNN_OK && *to->part)
        good = rename(to->part, to->path) == 0;
    if (!good && rc == GNN_OK)
        rc = refuse_file(to->path);
    if (rc == GNN_EIO) {
        fprintf(stderr, "%s: %s\n", to->path, gnn_error_message());
        rc = PROGRAM_REFUSED;
    }
    if (rc != GNN_OK && *to->part)
        remove(to->part);
    return rc;
}

int program_write(const char *path, int (*draw)(FILE *file, const void *what), const void *what)
{
    program_file_t to;
    GNN_TRY(program_create(&to, path));
    return program_finish(&to, draw(to.file, what));
}

int program_save(const char *program, const char *path,
                 int (*save)(const void *what, const char *path), const void *what)
{
    char other[4096];
    const char *folder = getenv("TMPDIR"), *slash = strrchr(path, '/');
    const int rc = save(what, path);
    if (rc == GNN_OK)
        return rc;
    program_fails(program, rc);
    snprintf(other, sizeof other, "%s/gnn-%ld-%s", folder && *folder ? folder : "/tmp",
             (long)getpid(), slash ? slash + 1 : path);
    const int again = save(what, other);
    if (again == GNN_OK)
        fprintf(stderr, "%s: %s could not be written; the model is in %s\n", program, path, other);
    else
        fprintf(stderr, "%s: the model could not be saved, in %s neither\n", program, other);
    return PROGRAM_REFUSED;
}

static int save_model(const void *what, const char *path)
{
    return gnn_model_save(what, path);
}

int program_save_model(const char *program, const char *path, const gnn_model_t *model)
{
    return program_save(program, path, save_model, model);
}

void program_holds_streams(void)
{
    int number;
    do
        number = open("/dev/null", O_RDONLY); /* the lowest free descriptor */
    while (number >= 0 && number <= STDERR_FILENO);
    if (number >= 0)
        close(number);
}

void program_fails(const char *program, int rc)
{
    if (rc == GNN_OK || rc == PROGRAM_REFUSED || rc == GNN_ESTOPPED || program_told_by_rank())
        return;
    fprintf(stderr, "%s: %s%s%s\n", program, gnn_error_string(rc), *gnn_error_message() ? ": " : "",
            gnn_error_message());
}

int program_ends(const char *program, int status)
{
    int failed = ferror(stdout);
    if (fflush(stdout) != 0)
        failed = 1;
    if (failed)
        fprintf(stderr, "%s: standard output was not written: %s\n", program, strerror(errno));
    return status == EXIT_SUCCESS && failed ? EXIT_FAILURE : status;
}

int program_ends_with(const char *program, int rc)
{
    return program_ends(program, rc == GNN_OK         ? EXIT_SUCCESS
                                 : rc == GNN_ESTOPPED ? 130
                                                      : EXIT_FAILURE);
}

int program_run(const program_run_t *program, int64_t threads)
{
    gnn_context_t *context = NULL;
    gnn_transport_t *transport = NULL;
    gnn_data_t *data = NULL;
    program_catch_interrupt();
    int rc = gnn_context_new(&context, &(gnn_context_config_t){.threads = (int)threads});
    if (rc == GNN_OK)
        rc = program_join_ranks(context, &transport);
    if (rc == GNN_OK)
        rc = program->run(program->options, context, &data, program->measured);
    program_fails(program->name, rc);
    program_settle_ranks(context, rc);
    if (rc == GNN_OK)
        rc = gnn_profile_write(context, stderr);
    program->release(program->measured);
    gnn_data_free(data);
    program_leave_ranks();
    gnn_context_free(context);
    gnn_transport_free(transport);
    return program_ends_with(program->name, rc);
}

/* ---- Ctrl-C ---- */

volatile int program_stopped;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (program_stopped)
        _exit(130);
    program_stopped = 1;
}

/* On an alternate stack: products of oneDNN may use the stack pointer for their own memory, which
 * the signal frame would overwrite. */
static void handle_interrupt(void (*handler)(int))
{
    static char room[1 << 16];
    const stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

void program_catch_interrupt(void)
{
    handle_interrupt(on_interrupt);
}

void program_let_interrupt(void)
{
    handle_interrupt(SIG_DFL);
}

/* ---- percentages ---- */

const char *program_percent(double share, char room[16])
{
    snprintf(room, 16, isnan(share) ? "-" : "%.1f", 100 * share);
    return room;
}

/* ---- JSON ---- */

void program_csv_name(FILE *file, const gnn_data_t *data, int64_t row)
{
    const char *name = gnn_data_node_name(data, row);
    if (!name)
        return;
    const int quoted = strpbrk(name, ",;\" ") != NULL;
    fprintf(file, quoted ? ",\"" : ",");
    for (; *name; name++)
        fprintf(file, *name == '"' ? "\"\"" : "%c", *name);
    fprintf(file, quoted ? "\"" : "");
}

void program_json_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(file, "\\u%04x", *c);
        else
            fputc(*c, file);
    fputc('"', file);
}

void program_json_number(FILE *file, const char *key, double value)
{
    if (isfinite(value))
        fprintf(file, "\"%s\": %.6g", key, value);
    else
        fprintf(file, "\"%s\": null", key);
}
