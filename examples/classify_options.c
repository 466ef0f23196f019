/* Options of sentence --data and --load. */
#include "classify.h"

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
        int64_t *to;
    } counts[] = {{"layers", &o->layers},      {"width", &o->width},
                  {"heads", &o->heads},        {"epochs", &o->epochs},
                  {"patience", &o->patience},  {"max-words", &o->max_words},
                  {"min-count", &o->min_count}};
    const struct {
        const char *name;
        double *to;
    } rates[] = {{"dropout", &o->dropout},
                 {"word-dropout", &o->word_dropout},
                 {"lr", &o->lr},
                 {"weight-decay", &o->weight_decay}};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
        if (strcmp(name, texts[k].name) == 0)
            return *texts[k].to = value, 1;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
        if (strcmp(name, counts[k].name) == 0)
            return (*counts[k].to = atoll(value)) > 0;
    for (size_t k = 0; k < sizeof rates / sizeof *rates; k++)
        if (strcmp(name, rates[k].name) == 0)
            return (*rates[k].to = atof(value)) >= 0;
    if (strcmp(name, "seed") == 0)
        return o->seed = strtoull(value, NULL, 10), 1;
    if (strcmp(name, "threads") == 0)
        return (o->threads = atoi(value)) >= 0;
    if (strcmp(name, "readout") == 0)
        return (o->node = strcmp(value, "node") == 0) || strcmp(value, "mean") == 0;
    return strcmp(name, "positions") == 0 &&
           ((o->sinusoidal = strcmp(value, "sinusoidal") == 0) || strcmp(value, "learned") == 0);
}
