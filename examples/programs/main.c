/* The command gnn: `gnn PROGRAM [OPTION]...` runs one of the programs of programs.def; so does a
 * symbolic link with the name of the program. */
#include "options.h"
#include "program.h"
#include "ranks.h"

#include <gnn/gnn.h>
#if GNN_WITH_IGRAPH
#include <gnn/igraph.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *summary;
    int (*run)(int argc, char **argv);
} entry_t;

static const entry_t programs[] = {
#define PROGRAM(name, summary) {#name, summary, name##_main},
#include "programs.def"
#undef PROGRAM
};

enum { PROGRAMS = (int)(sizeof programs / sizeof *programs) };

static const entry_t *find(const char *name)
{
    for (int k = 0; k < PROGRAMS; k++)
        if (strcmp(programs[k].name, name) == 0)
            return &programs[k];
    return NULL;
}

const char *program_summary(const char *name)
{
    const entry_t *entry = find(name);
    return entry ? entry->summary : "";
}

static int is_any(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

static int help(void)
{
    printf("Usage: gnn PROGRAM [OPTION]...\n"
           "Graph neural networks and Transformers on libgnn.\n"
           "\n"
           "Programs:\n");
    for (int k = 0; k < PROGRAMS; k++)
        printf("  %-13s %s\n", programs[k].name, programs[k].summary);
    printf("\n"
           "Options:\n"
           "  -h, --help     show this and exit; `gnn help PROGRAM` shows the options of a program\n"
           "  -V, --version  show the library's version and exit\n");
    return program_ends("gnn", EXIT_SUCCESS);
}

static int version(void)
{
    printf("gnn (libgnn) %s\n", gnn_version());
    return program_ends("gnn", EXIT_SUCCESS);
}

/* The error for an unknown program suggests those with the nearest names. */
static int refuse(const char *name)
{
    const char *names[PROGRAMS];
    for (int k = 0; k < PROGRAMS; k++)
        names[k] = programs[k].name;
    fprintf(stderr, "gnn: there is no program \"%s\"", name);
    program_nearest(stderr, name, names, PROGRAMS);
    fprintf(stderr, "\ngnn: `gnn --help` lists the programs\n");
    return program_ends("gnn", 2);
}

/* `gnn help NAME` is `gnn NAME --help`. */
static int help_of(int argc, char **argv)
{
    static char name[64], option[] = "--help";
    char *words[] = {name, option, NULL};
    const entry_t *entry = argc > 2 ? find(argv[2]) : NULL;
    if (argc < 3)
        return help();
    if (!entry)
        return refuse(argv[2]);
    if (argc > 3) {
        fprintf(stderr, "gnn: help takes one program, \"%s\" is one word too many\n", argv[3]);
        return program_ends("gnn", 2);
    }
    snprintf(name, sizeof name, "%s", entry->name);
    return entry->run(2, words);
}

/* Completions of the last word for the shell: programs, or those of the program. */
static int complete(int count, char **words)
{
    static char option[] = "--complete";
    const entry_t *entry = count > 1 ? find(words[0]) : NULL;
    if (entry) {
        words[-1] = words[0];
        words[0] = option;
        return entry->run(count + 1, words - 1);
    }
    if (count == 1 || (count == 2 && strcmp(words[0], "help") == 0)) {
        const char *begin = words[count - 1];
        for (int k = 0; k < PROGRAMS; k++)
            if (strncmp(programs[k].name, begin, strlen(begin)) == 0)
                puts(programs[k].name);
        if (count == 1 && strncmp("help", begin, strlen(begin)) == 0)
            puts("help");
    }
    return program_ends("gnn", EXIT_SUCCESS);
}

/* If libgnn-igraph is built, programs read GraphML and GML, too. */
static int run(const entry_t *entry, int argc, char **argv)
{
    if (!program_takes_ranks(entry->name))
        return program_end_ranks(program_ends("gnn", 2));
#if GNN_WITH_IGRAPH
    const int rc = gnn_igraph_use();
    if (rc != GNN_OK) {
        program_fails("gnn", rc);
        return program_ends_with("gnn", rc);
    }
#endif
    return program_end_ranks(entry->run(argc, argv));
}

/* The program of the symbolic link that the command was called by; NULL: called as gnn. */
static const entry_t *called_as(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    return argc > 0 ? find(slash ? slash + 1 : argv[0]) : NULL;
}

int main(int argc, char **argv)
{
    program_holds_streams();
    program_quiet_ranks();
    const entry_t *by_name = called_as(argc, argv);
    if (by_name)
        return run(by_name, argc, argv);
    if (argc < 2) {
        fprintf(stderr, "gnn: a program is expected; `gnn --help` lists them\n");
        return program_ends("gnn", 2);
    }
    if (is_any(argv[1], "help", "-h", "--help"))
        return strcmp(argv[1], "help") == 0 ? help_of(argc, argv) : help();
    if (is_any(argv[1], "-V", "--version", "version"))
        return version();
    if (strcmp(argv[1], "--complete") == 0)
        return complete(argc - 2, argv + 2);
    const entry_t *entry = find(argv[1]);
    return entry ? run(entry, argc - 1, argv + 1) : refuse(argv[1]);
}
