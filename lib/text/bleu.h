/* A line as the tokens of mteval-v13a, for BLEU. */
#ifndef GNN_LIB_TEXT_BLEU_H
#define GNN_LIB_TEXT_BLEU_H

#define PCRE2_CODE_UNIT_WIDTH 8

#include <gnn/sequences.h>
#include <lib/text/corpus.h>
#include <pcre2.h>

enum { GNN__BLEU_RULES = 4 };

/* The tokens of one line. Zeroed at first; memory is kept from line to line. */
typedef struct gnn__bleu_line {
    char *text, *spaced;                /* the line, and room for the result of a substitution */
    int64_t text_room, spaced_room;     /* bytes */
    gnn__slice_t *tokens;               /* (count) slices of `text` */
    int64_t count, room;                /* tokens, and for how many there is memory */
    pcre2_code *rules[GNN__BLEU_RULES]; /* compiled at the first line */
} gnn__bleu_line_t;

/* Splits `text` into line->tokens, in lower case if `lower`. GNN_EMEMORY, GNN_EOVERFLOW. */
int gnn__bleu_split(gnn__bleu_line_t *line, const char *text, bool lower);
void gnn__bleu_line_free(gnn__bleu_line_t *line);

#endif
