/* Command lines, outputs and exit statuses of the programs. */
#include "program.h"

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
    fprintf(stderr, "%s: \"%s\" is no whole number from %lld to %lld\n", option, text,
            (long long)low, (long long)high);
    return 0;
}

int program_real(const char *option, const char *text, double low, double high, double *number)
{
    char *end = NULL;
    int digits = *text == '-' || *text == '.' || (*text >= '0' && *text <= '9');
    *number = digits ? strtod(text, &end) : 0;
    if (digits && end != text && *end == '\0' && isfinite(*number) && *number >= low &&
        *number <= high)
        return 1;
    fprintf(stderr, "%s: \"%s\" is no number from %g to %g\n", option, text, low, high);
    return 0;
}

/* Insertions, deletions and replacements that make one word of the other. */
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
    int least = 1 + (int)(length < 64 ? length : 64) / 3, said = 0;
    for (int k = 0; k < count; k++)
        least = distance(word, names[k]) < least ? distance(word, names[k]) : least;
    for (int k = 0; k < count; k++)
        if (distance(word, names[k]) == least || (length > 2 && strstr(names[k], word)))
            fprintf(file, "%s%s", said++ ? " or " : "; did you mean ", names[k]);
    if (said)
        fputc('?', file);
}

int program_can_write(const char *option, const char *path)
{
    struct stat s;
    char beside[4096];
    if (!path || (stat(path, &s) == 0 && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)))
        return 1; /* writing to a device says what is wrong with it */
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path + 1) : 0;
    int length = snprintf(beside, sizeof beside, "%.*s.gnn-%ld.tmp", folder, path, (long)getpid());
    FILE *file = length > 0 && (size_t)length < sizeof beside ? fopen(beside, "wx") : NULL;
    if (file && !(stat(path, &s) == 0 && S_ISDIR(s.st_mode))) {
        fclose(file);
        remove(beside);
        return 1;
    }
    fprintf(stderr, "%s: %s: %s\n", option, path, file ? "is a folder" : strerror(errno));
    if (file) {
        fclose(file);
        remove(beside);
    }
    return 0;
}

void program_holds_streams(void)
{
    int number;
    do
        number = open("/dev/null", O_RDONLY); /* the lowest that is free */
    while (number >= 0 && number <= STDERR_FILENO);
    if (number >= 0)
        close(number);
}

void program_fails(const char *program, int rc)
{
    if (rc == GNN_OK || rc == PROGRAM_REFUSED || rc == GNN_ESTOPPED)
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

/* ---- Ctrl-C ---- */

volatile int program_stopped;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    if (program_stopped)
        _exit(130);
    program_stopped = 1;
}

/* On a stack of its own: products of oneDNN may point the stack's register into memory of theirs,
 * where what the system writes for a handler would fall on other numbers. */
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

/* ---- JSON ---- */

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
