/* Internals of generation: choice of tokens, the writer, prefill, and output. */
#ifndef GNN_LIB_GENERATE_GENERATE_H
#define GNN_LIB_GENERATE_GENERATE_H

#include <gnn/generate.h>
#include <jansson.h>
#include <lib/base/base.h>

/* ---- choosing (choose.c) ---- */

/* Scratch of a choice among n tokens. */
typedef struct gnn__choice {
    int64_t n;
    double *p;      /* (n) scores, then probabilities */
    int32_t *order; /* (n) */
    double log_sum; /* log-sum-exp of the original logits */
    double least;   /* sampling: smallest probability of a token, relative to the likeliest */
} gnn__choice_t;

int gnn__choice_new(gnn__choice_t *choice, int64_t n);
void gnn__choice_free(gnn__choice_t *choice);
/* Checks that the settings of the choice are in their ranges. */
int gnn__generation_check(const gnn_generation_t *how);
/* Refuses settings that the way of generation that `how` selects does not read. `set` has those
 * that the caller has set; `how` has defaults of a folder, too. */
int gnn__generation_check_unread(const gnn_generation_t *how, const gnn_generation_t *set);
/* Logits, or log-probabilities, after repetition penalty and `never`. */
int gnn__choice_scores(gnn__choice_t *choice, const gnn_generation_t *how, const gnn_real_t *logits,
                       bool as_logarithms, const int32_t *history, int64_t n_history);
/* Log-softmax of the scores. */
void gnn__choice_normalise(gnn__choice_t *choice);
/* Samples a token of a choice with computed scores. */
int gnn__choose(gnn__choice_t *choice, const gnn_generation_t *how, int64_t text, int64_t place,
                int32_t *id);

/* ---- what a folder demands (constraints.c) ---- */

typedef struct gnn__id_list {
    int32_t *ids;
    int64_t n;
} gnn__id_list_t;

typedef struct gnn__constraints {
    int64_t min_length, min_new; /* minimum tokens of a text: with its prompt, new ones */
    int64_t ngram;               /* length of n-grams that must not repeat; 0: off */
    int64_t source_ngram;        /* of n-grams of the source that must not be written; 0: off */
    double min_p;                /* sampling: choice.least */
    bool renormalises;           /* beams: scores are log-softmaxed again after all constraints */
    int32_t forced_first;        /* forced token after the start token; -1: none */
    gnn__id_list_t *bad;         /* (n_bad) forbidden token sequences */
    int64_t n_bad;
    gnn__id_list_t suppressed,
        suppressed_first; /* tokens that are forbidden, or forbidden at the start */
} gnn__constraints_t;

/* ---- the writer (writer.c) ---- */

/* The writer and its derived settings, with the defaults of the folder. */
typedef struct gnn__author {
    const gnn_writer_t *writer;
    const gnn_model_t *model;
    const gnn_tokenizer_t *tokenizer; /* NULL: none */
    int64_t words;                    /* width of the logits */
    int64_t max_length;               /* 0: any */
    bool reads;                       /* an encoder reads the prompts' ids */
    int32_t start;                    /* start token of an empty prompt; -1: none */
    int32_t last;                     /* forced token at the last position; -1: none */
    int64_t whole;                    /* tokens of a text with its prompt; 0: how.length */
    gnn__constraints_t constraints;
    gnn_generation_t how; /* with defaults resolved; lists are those below, or the caller's */
    int32_t *end, *never;
} gnn__author_t;

int gnn__author_new(gnn__author_t *author, const gnn_writer_t *writer, const gnn_generation_t *how);
void gnn__author_free(gnn__author_t *author);

/* ---- constraints on the tokens of a text (constraints.c) ---- */

/* `file` is named in messages. */
int gnn__constraints_read(gnn__constraints_t *constraints, const json_t *config, const char *file);
void gnn__constraints_free(gnn__constraints_t *constraints);
/* Does this token end a text? */
bool gnn__author_ends(const gnn__author_t *author, int32_t id);
/* Is only one token permitted after n tokens? */
bool gnn__author_forces(const gnn__author_t *author, int64_t n);
/* Tokens that the encoder reads, or the prompt; borrowed. */
typedef struct gnn__prompt_ids {
    const int32_t *ids;
    int64_t n;
} gnn__prompt_ids_t;
/* A text to which constraints apply: n_prompt + n_new tokens. */
typedef struct gnn__so_far {
    const int32_t *ids;
    int64_t n_prompt, n_new;
    gnn__prompt_ids_t source;
} gnn__so_far_t;
/* Removes the scores of tokens that must not follow. */
void gnn__constrain(const gnn__author_t *author, gnn__choice_t *choice, const gnn__so_far_t *text);

/* ---- beginnings (beginnings.c) ---- */

/* The prompts after prefill. */
typedef struct gnn__beginnings {
    int64_t count, capacity;    /* of the state */
    int64_t *lengths;           /* (count) */
    int64_t *most;              /* (count) maximum new tokens */
    int32_t *ids;               /* (sum of lengths) */
    gnn__prompt_ids_t *sources; /* (count) */
    gnn_state_t *state;         /* the KV cache of the prompts */
    gnn_tensor_t logits;        /* (count x vocabulary) of the next tokens */
} gnn__beginnings_t;

int gnn__beginnings_new(gnn__beginnings_t *b, const gnn__author_t *author, gnn_context_t *context,
                        const gnn_sequences_t *prompts);
void gnn__beginnings_free(gnn__beginnings_t *b);
/* Appends counts[s] tokens to each sequence; one row of `logits` per token. */
int gnn__author_advance(const gnn__author_t *author, gnn_context_t *context, gnn_state_t *state,
                        const int64_t *counts, const int32_t *ids, const gnn_tensor_t *logits);

/* ---- texts (written.c) ---- */

/* A text during generation. */
typedef struct gnn__writing {
    int32_t *ids; /* (n_prompt + room) the prompt and new tokens */
    int64_t n_prompt, n, most;
    double score;
    gnn_ended_t ended;
    gnn_decoder_t *decoder; /* NULL: no text */
    char *text;
    int64_t bytes, room, shown; /* shown: bytes already passed to on_text */
} gnn__writing_t;

/* Makes a text after a prompt, which its decoder has processed. */
int gnn__writing_new(gnn__writing_t *text, const gnn__author_t *author, int64_t n_prompt,
                     const int32_t *prompt, int64_t most);
void gnn__writing_free(gnn__writing_t *text);
/* Appends a token and sets text.ended if it ends the text. `number` is the index of the text, for
 * callbacks. */
int gnn__writing_push(gnn__writing_t *text, const gnn__author_t *author, int64_t number, int32_t id);
/* Ends a text: flushes its decoder. */
int gnn__writing_finish(gnn__writing_t *text, const gnn__author_t *author, int64_t number);
/* Makes the result. */
int gnn__written_new(gnn_written_t **written, const gnn__writing_t *texts, int64_t count,
                     bool has_texts);

/* ---- beam search (beams.c) ---- */

/* Makes the texts of all prompts, `samples` of each. */
int gnn__beams(const gnn__author_t *author, gnn_context_t *context, gnn__beginnings_t *begin,
               gnn__writing_t *texts);

#endif
