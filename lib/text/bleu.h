/* Inside of BLEU: a line as the tokens of mteval-v13a. */
#ifndef GNN_LIB_TEXT_BLEU_H
#define GNN_LIB_TEXT_BLEU_H

#include <gnn/sequences.h>
#include <lib/text/corpus.h>

/* Tokens of one line. Memory only grows. */
typedef struct gnn__bleu_line {
    char *text, *spaced; /* as it came or in lower case, and with blanks between tokens */
    int64_t text_room, spaced_room;
    gnn__slice_t *tokens; /* into `spaced` */
    int64_t count, room;
} gnn__bleu_line_t;

int gnn__bleu_split(gnn__bleu_line_t *line, const char *text, bool lower);
void gnn__bleu_line_free(gnn__bleu_line_t *line);

#endif
