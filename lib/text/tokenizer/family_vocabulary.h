/* The vocabulary of a family's files, and the tokens that a folder adds to it. */
#ifndef GNN_LIB_TEXT_FAMILY_VOCABULARY_H
#define GNN_LIB_TEXT_FAMILY_VOCABULARY_H

#include <lib/text/tokenizer/families.h>

typedef struct gnn__family_vocabulary {
    json_t *tokens;                /* as in tokenizer.json: an object of ids, or a list of pieces */
    json_t *merges;                /* NULL: none */
    json_t *added;                 /* added tokens, in their order */
    json_t *piece_ids, *added_ids; /* objects: the ids of a list of pieces, of added tokens */
    int64_t added_end;             /* the largest id of added tokens + 1 */
    json_t *charsmap;              /* in base64; NULL: none */
    json_t *special_pieces, *user_pieces; /* lists of marked pieces; NULL: none */
    int64_t unknown;
    const char *spm; /* the SentencePiece model that is run directly; NULL: none */
} gnn__family_vocabulary_t;

/* A key of special_tokens_map.json, or else of tokenizer_config.json; NULL: they do not have it. */
json_t *gnn__folder_value(const gnn__folder_words_t *words, const char *key);
/* The text of a special token, which is a string or an object with "content"; NULL: it has none. */
const char *gnn__token_text(const json_t *token);

/* Also after an error the vocabulary is released by gnn__family_vocabulary_free. */
int gnn__family_vocabulary(gnn__family_vocabulary_t *v, const gnn__family_t *family,
                           const char *folder, const char *const names[3], const json_t *settings);
void gnn__family_vocabulary_free(gnn__family_vocabulary_t *v);
/* The id of a token, added ones included; -1: there is none. */
int64_t gnn__family_id(const gnn__family_vocabulary_t *v, const char *token);
/* Fills v->added. */
int gnn__family_add_tokens(gnn__family_vocabulary_t *v, const gnn__family_t *family,
                           const gnn__folder_words_t *words, const json_t *settings);
/* The template, as in tokenizer.json. */
int gnn__family_around(json_t **out, const gnn__family_t *family, const gnn__family_vocabulary_t *v,
                       const json_t *settings);

#endif
