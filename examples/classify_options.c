/* Options of sentence --data and --load. */
#include "classify.h"
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void classify_usage(FILE *to)
{
    fprintf(to,
            "usage: sentence --data FILE [--dev FILE] [--test FILE] [--save FILE] ...\n"
            "       sentence --load FILE [--test FILE] [--sentence \"...\"] ...\n"
            "  --readout mean|node   --positions learned|sinusoidal   --topology complete|causal|window=N|edges\n"
            "  --layers N --width N --heads N --epochs N --patience N --max-words N --min-count N\n"
            "  --dropout R --word-dropout R --lr R --weight-decay R --seed N --threads N\n"
            "  --sentence \"...\" [--plot FILE.svg] [--graphml FILE]\n");
}

/* The rows of a table of options, by the place where the value goes. */
int classify_take(classify_t *o, const char *name, const char *value)
{
    const struct {
        const char *name, **to;
    } texts[] = {{"data", &o->data}, {"dev", &o->dev},         {"test", &o->test},
                 {"save", &o->save}, {"load", &o->load},       {"sentence", &o->sentence},
                 {"plot", &o->plot}, {"graphml", &o->graphml}, {"topology", &o->topology}};
    const struct {
        const char *name;
        int64_t *to, high;
    } counts[] = {{"layers", &o->layers, 8},
                  {"width", &o->width, 65536},
                  {"heads", &o->heads, 4096},
                  {"epochs", &o->epochs, 1000000},
                  {"patience", &o->patience, 1000000},
                  {"max-words", &o->max_words, 1000000},
                  {"min-count", &o->min_count, 1000000000}};
    const struct {
        const char *name;
        double *to, high;
    } rates[] = {{"dropout", &o->dropout, 0.99},
                 {"word-dropout", &o->word_dropout, 0.99},
                 {"lr", &o->lr, 1000},
                 {"weight-decay", &o->weight_decay, 1000}};
    int64_t number = 0;
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (strcmp(name, texts[k].name) == 0)
            return *texts[k].to = value, 1;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (strcmp(name, counts[k].name) == 0)
            return program_whole(name, value, 1, counts[k].high, counts[k].to);
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
        if (strcmp(name, rates[k].name) == 0)
            return program_real(name, value, 0, rates[k].high, rates[k].to);
    if (strcmp(name, "seed") == 0)
        return program_whole(name, value, 0, INT64_MAX, &number) && (o->seed = (uint64_t)number, 1);
    if (strcmp(name, "threads") == 0)
        return program_whole(name, value, 0, 1024, &number) && (o->threads = (int)number, 1);
    if (strcmp(name, "readout") == 0)
        return (o->node = strcmp(value, "node") == 0) || strcmp(value, "mean") == 0;
    return strcmp(name, "positions") == 0 &&
           ((o->sinusoidal = strcmp(value, "sinusoidal") == 0) || strcmp(value, "learned") == 0);
}
