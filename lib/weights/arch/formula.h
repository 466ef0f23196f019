/* Formulas in the rows of architectures: reals and words computed from a config.json.
 *
 *     $name $name.inner $name[2]   what SET has named, else a key of config.json
 *     ${name}.inner                the same by the path "a.b" that SET has named
 *     #                            the index of the repetition, from 0; outside of one, of the part
 *                                  of the folder's model that the entries belong to
 *     1.5e-3  'text'               in a text, # is replaced
 *     * / % + - < > <= >= == != ! && || ?:   and brackets, as in C
 *     a ?? b                       a, or b where a is nothing
 *     sqrt(x)  log(x)  exp(x)  floor(x)  word('gelu_new')  has('array')
 *     rows('array')  columns('array')
 *     made('array', 'maker')       are its values those of the maker (makers.def)?
 *     items('key')                 elements of a list, or of an object, of config.json
 *
 * What is absent or null is nothing, and so is what is made of it: it is an error only where it is
 * used. */
#ifndef GNN_LIB_WEIGHTS_ARCH_FORMULA_H
#define GNN_LIB_WEIGHTS_ARCH_FORMULA_H

#include <lib/weights/arch/folder.h>

enum { GNN__FORMULA_TEXT = 160 };

typedef enum { GNN__NO_VALUE, GNN__NUMBER, GNN__TEXT } gnn__formula_kind_t;

typedef struct gnn__formula_value {
    gnn__formula_kind_t kind;
    double number;
    char text[GNN__FORMULA_TEXT]; /* of NOTHING: the absent name */
} gnn__formula_value_t;

/* A name set to nothing: an object that has the absent name under this key. */
#define GNN__ABSENT "absent"

/* The scope of a formula. */
typedef struct gnn__scope {
    const char *config_name; /* "config.json", for messages */
    json_t *config;
    json_t *names;  /* names defined by SET */
    int64_t number; /* the value of # */
    gnn__folder_t *weights;
} gnn__scope_t;

/* The value of a formula. GNN_EFORMAT: a text for a real, or vice versa. */
int gnn__formula(const gnn__scope_t *scope, const char *formula, gnn__formula_value_t *value);
/* The same for a real; "" is 0. */
int gnn__formula_number(const gnn__scope_t *scope, const char *formula, double *number);
/* The same for a count from `low` to `high`. */
int gnn__formula_count(const gnn__scope_t *scope, const char *formula, int64_t low, int64_t high,
                       int64_t *count);
/* Copies `length` characters of a text; # becomes the scope's index, {name} a text named by SET.
 * GNN_EOVERFLOW; GNN_EINVALID. */
int gnn__scope_expand(const gnn__scope_t *scope, const char *text, size_t length, char *out,
                      size_t size);

#endif
