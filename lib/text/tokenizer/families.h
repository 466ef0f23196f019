/* Families of tokenizers: settings that a folder's vocabulary files do not contain. */
#ifndef GNN_LIB_TEXT_FAMILIES_H
#define GNN_LIB_TEXT_FAMILIES_H

#include <lib/text/tokenizer/tokenizer.h>

/* Kinds of files of a family. */
typedef enum gnn__vocabulary_source {
    GNN__OF_NO_FILES,      /* tokenizer.json alone */
    GNN__OF_WORDPIECES,    /* vocab.txt: a token per line */
    GNN__OF_MERGES,        /* vocab.json, merges.txt: byte-level BPE */
    GNN__OF_PIECES,        /* a SentencePiece model of scores, read as `tokenizers` does */
    GNN__OF_PAIRS,         /* one of merges, read so */
    GNN__OF_SENTENCEPIECE, /* a model that is run directly, as by SentencePiece */
    GNN__OF_M2M100,        /* the same, with the ids of vocab.json */
    GNN__OF_MARIAN         /* the same, in two languages */
} gnn__vocabulary_source_t;

typedef struct gnn__family {
    const char *classes, *types;
    gnn__vocabulary_source_t source;
    const char *settings, *model, *head, *tail, *steps, *single, *pair, *around, *special;
    int dropped;
    bool plain_tokens; /* special tokens have no flags of their own */
    bool mask_strips;  /* spaces before the mask token belong to it */
    bool prefix_first; /* without a space before every segment, the first one still has it */
    bool says_begin;   /* "add_bos_token" has no default that holds for all versions */
    bool first_longer; /* of an equal pair that is truncated, the first text keeps one token more */
    bool own_around;   /* replaces the template of tokenizer.json */
    bool rebuilds;     /* takes the vocabulary of tokenizer.json, and all else from the entry */
} gnn__family_t;

/* The tokenizer settings of a folder. Borrowed. */
typedef struct gnn__folder_words {
    const char *folder;
    const char *class;        /* without "Fast"; NULL: none is named */
    json_t *config;           /* tokenizer_config.json; NULL: there is none */
    json_t *specials, *added; /* special_tokens_map.json, added_tokens.json; NULL: not read */
    bool bare;                /* there is no tokenizer.json */
} gnn__folder_words_t;

/* The family of a class, or else of a model type; NULL: there is none. */
const gnn__family_t *gnn__family_find(const char *class, const char *type);
/* The files that a family reads, all of them or NULL; "": none is there. GNN_EIO. */
int gnn__family_files(const gnn__family_t *family, const char *folder, const char *names[3]);
/* Makes the tokenizer of a folder that has no tokenizer.json. */
int gnn__family_read(gnn_tokenizer_t *t, const gnn__family_t *family,
                     const gnn__folder_words_t *words, const char *const names[3]);

/* Makes the settings of a family: its defaults, replaced by the folder's values where it has them,
 * and those that follow from other settings. */
int gnn__family_settings(json_t **settings, const gnn__family_t *family,
                         const gnn__folder_words_t *words);
/* Replaces the template of a tokenizer by the family's. An absent language is the unknown token. */
int gnn__family_surround(const gnn__family_t *family, gnn_tokenizer_t *t, const json_t *settings);
/* Replaces all but the vocabulary of a tokenizer. *t is NULL after an error. */
int gnn__family_rebuild(gnn_tokenizer_t **t, const gnn__family_t *family, json_t *settings);
/* Does a tokenizer have the template of the family? */
bool gnn__family_surrounds(const gnn__family_t *family, const gnn_tokenizer_t *t,
                           const json_t *settings);
/* Opens the tokenizer of a folder; *t is NULL if it has none. tokenizer_folder.c */
int gnn__tokenizer_of_folder(gnn_tokenizer_t **t, const char *folder);

/* JSON with ' for ", and "$x" and "if" as families.def has them. */
int gnn__skeleton(json_t **out, const char *text, const json_t *settings);
/* The same without settings, in braces. */
int gnn__skeleton_parse(json_t **out, const char *text);
/* Is the setting true? `absent`: where there is none. */
bool gnn__setting_is_on(const json_t *settings, const char *key, bool absent);

#endif
