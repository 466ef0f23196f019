/* Inside of writing: the choice of a token, who writes, the texts that grow, their pieces. */
#ifndef GNN_LIB_TEXT_GENERATE_H
#define GNN_LIB_TEXT_GENERATE_H

#include <gnn/generate.h>
#include <jansson.h>
#include <lib/base/base.h>

/* ---- choosing (choose.c) ---- */

/* Work on the scores of n tokens. */
typedef struct gnn__choice {
    int64_t n;
    double *p;      /* (n) scores, then probabilities */
    int32_t *order; /* (n) */
    double log_sum; /* log of the sum of exp of the logits, as they came */
} gnn__choice_t;

int gnn__choice_new(gnn__choice_t *choice, int64_t n);
void gnn__choice_free(gnn__choice_t *choice);
/* Settings of the choice are in their ranges. */
int gnn__generation_check(const gnn_generation_t *how);
/* Logits, or their logarithms of probabilities, with what repetition and `never` make of them. */
int gnn__choice_scores(gnn__choice_t *choice, const gnn_generation_t *how, const gnn_real_t *logits,
                       bool as_logarithms, const int32_t *history, int64_t n_history);
/* One of the tokens of a choice whose scores are made. */
int gnn__choose(gnn__choice_t *choice, const gnn_generation_t *how, int64_t text, int64_t place,
                int32_t *id);

/* ---- what a folder demands (constraints.c) ---- */

typedef struct gnn__id_list {
    int32_t *ids;
    int64_t n;
} gnn__id_list_t;

typedef struct gnn__constraints {
    int64_t min_length, min_new; /* tokens before a text may end: with its beginning, new ones */
    int64_t ngram;               /* no run of so many tokens comes twice; 0: any may */
    int32_t forced_first;        /* the token after the first one; -1: any */
    gnn__id_list_t *bad;         /* (n_bad) runs of tokens that never come */
    int64_t n_bad;
    gnn__id_list_t suppressed, suppressed_first; /* tokens that never come, or never come first */
} gnn__constraints_t;

/* ---- who writes (who_writes.c) ---- */

/* The writer with what follows from it, and how to write with what the folder adds. */
typedef struct gnn__author {
    const gnn_writer_t *writer;
    const gnn_model_t *model;
    const gnn_tokenizer_t *tokenizer; /* NULL: none */
    int64_t words;                    /* logits of a token */
    int64_t max_length;               /* 0: any */
    bool reads;                       /* an encoder reads the prompts' ids */
    int32_t start;                    /* of a beginning without tokens; -1: none */
    int32_t last;                     /* the token of the last place; -1: any */
    int64_t whole;                    /* tokens of a text with its beginning; 0: how.length */
    gnn__constraints_t constraints;
    gnn_generation_t how; /* all defaults filled in; lists are those below, or the caller's */
    int32_t *end, *never;
} gnn__author_t;

int gnn__author_new(gnn__author_t *author, const gnn_writer_t *writer, const gnn_generation_t *how);
void gnn__author_free(gnn__author_t *author);
bool gnn__author_ends(const gnn__author_t *author, int32_t id);

int gnn__constraints_read(gnn__constraints_t *constraints, const json_t *config);
void gnn__constraints_free(gnn__constraints_t *constraints);
/* Is there but one token that may follow on n tokens? */
bool gnn__author_forces(const gnn__author_t *author, int64_t n);
/* Tokens that must not follow on `ids`, n_prompt + n_new of them, lose their score. */
void gnn__constrain(const gnn__author_t *author, gnn__choice_t *choice, const int32_t *ids,
                    int64_t n_prompt, int64_t n_new);

/* ---- beginnings (beginnings.c) ---- */

/* What is there before anything is written. */
typedef struct gnn__beginnings {
    int64_t count, capacity; /* of the state */
    int64_t *lengths;        /* (count) */
    int64_t *most;           /* (count) new tokens that may follow */
    int32_t *ids;            /* (sum of lengths) */
    gnn_state_t *state;      /* which has read them */
    gnn_tensor_t logits;     /* (count x words) of the tokens after them */
} gnn__beginnings_t;

int gnn__beginnings_new(gnn__beginnings_t *b, const gnn__author_t *author, gnn_context_t *context,
                        const gnn_sequences_t *prompts);
void gnn__beginnings_free(gnn__beginnings_t *b);
/* Appends counts[s] tokens of each sequence; a row of `logits` for each. */
int gnn__author_advance(const gnn__author_t *author, gnn_context_t *context, gnn_state_t *state,
                        const int64_t *counts, const int32_t *ids, const gnn_tensor_t *logits);

/* ---- texts (written.c) ---- */

/* A text that grows. */
typedef struct gnn__writing {
    int32_t *ids; /* (n_prompt + room) the beginning and what was written */
    int64_t n_prompt, n, most;
    double score;
    gnn_ended_t ended;
    gnn_decoder_t *decoder; /* NULL: there is no text */
    char *text;
    int64_t bytes, room, shown; /* shown: bytes that on_text has had */
} gnn__writing_t;

/* A text behind a beginning. Its decoder has heard the beginning. */
int gnn__writing_new(gnn__writing_t *text, const gnn__author_t *author, int64_t n_prompt,
                     const int32_t *prompt, int64_t most);
void gnn__writing_free(gnn__writing_t *text);
/* One more token: text.ended is set where it ends the text. `number` is the text's, for
 * callbacks. */
int gnn__writing_push(gnn__writing_t *text, const gnn__author_t *author, int64_t number, int32_t id);
/* The end of a text: what its decoder still holds. */
int gnn__writing_finish(gnn__writing_t *text, const gnn__author_t *author, int64_t number);
/* Makes the result. */
int gnn__written_new(gnn_written_t **written, const gnn__writing_t *texts, int64_t count,
                     bool has_texts);

/* ---- beam search (beams.c) ---- */

/* Fills the texts of all beginnings, `samples` of each. */
int gnn__beams(const gnn__author_t *author, gnn_context_t *context, gnn__beginnings_t *begin,
               gnn__writing_t *texts);

#endif
