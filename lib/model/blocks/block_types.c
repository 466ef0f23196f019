/* Blocks over nodes of several types and relations between them. Values are named input.TYPE
 * ["x.TYPE"] and NAME.TYPE. */
#include <lib/model/blocks.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* ---- .types and .relations ---- */

enum { MOST_TYPES = 128, MOST_RELATIONS = 1000 };

/* A name in .types or .relations, not 0-terminated. */
typedef struct type_name {
    const char *text;
    int length;
} type_name_t;

typedef struct type_list {
    struct {
        type_name_t name;
        int64_t width;        /* columns of its input */
        bool receives, sends; /* in some relation */
    } types[MOST_TYPES];
    struct {
        type_name_t name; /* "author__writes__paper" */
        int from, to;
    } relations[MOST_RELATIONS];
    int n_types, n_relations;
} type_list_t;

/* BEFORE followed by a type or relation: the name of a part. */
typedef struct typed_name {
    char text[320];
} typed_name_t;

static typed_name_t typed(const char *before, type_name_t word)
{
    typed_name_t name;
    snprintf(name.text, sizeof name.text, "%s%.*s", before, word.length, word.text);
    return name;
}

/* The name of the input of a type: "x.paper". */
static typed_name_t type_input(const gnn_block_t *b, type_name_t type)
{
    typed_name_t name;
    snprintf(name.text, sizeof name.text, "%s.%.*s", b->input ? b->input : "x", type.length,
             type.text);
    return name;
}

enum { LONGEST_NAME = 160 };

/* The next name of a list that is separated by whitespace; false at its end. */
static bool next_name(const char **at, type_name_t *word)
{
    while (isspace((unsigned char)**at))
        ++*at;
    word->text = *at;
    while (**at && !isspace((unsigned char)**at))
        ++*at;
    word->length = (int)(*at - word->text);
    return word->length > 0;
}

static bool same_name(type_name_t word, const char *text, int64_t length)
{
    return word.length == length && memcmp(word.text, text, (size_t)length) == 0;
}

static int find_type(const type_list_t *list, const char *text, int64_t length)
{
    for (int t = 0; t < list->n_types; t++)
        if (same_name(list->types[t].name, text, length))
            return t;
    return -1;
}

/* types: "paper:128 author:64"; without a width it is .width */

static int add_type(type_list_t *list, const gnn_block_t *b, type_name_t word)
{
    const char *colon = memchr(word.text, ':', (size_t)word.length);
    const int length = colon ? (int)(colon - word.text) : word.length;
    char *end = NULL;
    long long width = colon ? strtoll(colon + 1, &end, 10) : b->width;
    if (list->n_types == MOST_TYPES)
        return gnn__error(GNN_EINVALID, ".types has more than %d types", (int)MOST_TYPES);
    if (length < 1 || length > LONGEST_NAME || find_type(list, word.text, length) >= 0)
        return gnn__error(
            GNN_EINVALID,
            ".types: \"%.*s\": a name of 1 to %d characters that comes once is expected",
            word.length < LONGEST_NAME ? word.length : LONGEST_NAME, word.text, LONGEST_NAME);
    if ((colon && (end == colon + 1 || end != word.text + word.length)) || width < 1 ||
        width > INT32_MAX)
        return gnn__error(GNN_EINVALID,
                          ".types: the width of \"%.*s\" (NAME:WIDTH, or .width) is %lld", length,
                          word.text, width);
    list->types[list->n_types].name = (type_name_t){word.text, length};
    list->types[list->n_types++].width = width;
    return GNN_OK;
}

/* relations: "author__writes__paper paper__cites__paper" */

/* The offset of the first "__" at or after `from`, -1: none. */
static int64_t separator(type_name_t word, int64_t from)
{
    for (int64_t k = from; k + 1 < word.length; k++)
        if (word.text[k] == '_' && word.text[k + 1] == '_')
            return k;
    return -1;
}

static int add_relation(type_list_t *list, type_name_t word)
{
    const int shown = word.length < LONGEST_NAME ? word.length : LONGEST_NAME;
    if (list->n_relations == MOST_RELATIONS)
        return gnn__error(GNN_EINVALID, ".relations has more than %d relations", (int)MOST_RELATIONS);
    if (word.length > LONGEST_NAME)
        return gnn__error(GNN_EINVALID, ".relations: \"%.*s...\" has more than %d characters",
                          shown, word.text, LONGEST_NAME);
    for (int r = 0; r < list->n_relations; r++)
        if (same_name(list->relations[r].name, word.text, word.length))
            return gnn__error(GNN_EINVALID, ".relations: \"%.*s\" comes twice", shown, word.text);
    /* names may contain "__": both ends must be types */
    for (int64_t a = separator(word, 1); a >= 0; a = separator(word, a + 1))
        for (int64_t z = separator(word, a + 2); z >= 0; z = separator(word, z + 1)) {
            const int from = find_type(list, word.text, a),
                      to = find_type(list, word.text + z + 2, word.length - z - 2);
            if (from < 0 || to < 0)
                continue;
            list->relations[list->n_relations].name = word;
            list->relations[list->n_relations].from = from;
            list->relations[list->n_relations++].to = to;
            list->types[from].sends = list->types[to].receives = true;
            return GNN_OK;
        }
    return gnn__error(GNN_EINVALID,
                      ".relations: \"%.*s\": FROM__NAME__TO with two of .types is expected", shown,
                      word.text);
}

/* Reads .types and .relations; false after an error, which the list of steps then has. */
static bool read_type_list(type_list_t *list, gnn_steps_t *steps, const gnn_block_t *b)
{
    type_name_t word;
    int rc = GNN_OK;
    *list = (type_list_t){.n_types = 0};
    gnn__block_need(steps, b, "types", b->types);
    gnn__block_need(steps, b, "relations", b->relations);
    if (steps->status != GNN_OK)
        return false;
    for (const char *at = b->types; rc == GNN_OK && next_name(&at, &word);)
        rc = add_type(list, b, word);
    for (const char *at = b->relations; rc == GNN_OK && next_name(&at, &word);)
        rc = add_relation(list, word);
    if (rc == GNN_OK && list->n_relations == 0)
        rc = gnn__error(GNN_EINVALID, ".relations is empty: FROM__NAME__TO is expected");
    if (rc != GNN_OK)
        gnn__steps_fail(steps, gnn__error_prefix(rc, "block %.60s", b->name));
    return rc == GNN_OK;
}

/* Values concatenated by rows; one alone stays as it is. */
static const char *stack(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                         const char *const *values, int count)
{
    char more[400];
    const char *stacked = values[0];
    for (int at = 1, level = 0; at < count; level++) {
        const char *in[8] = {stacked};
        int n = 1;
        while (n < 8 && at < count)
            in[n++] = values[at++];
        snprintf(more, sizeof more, level ? "%s:%d" : "%s", part, level);
        stacked = gnn__append_inputs(steps, b, more, GNN_STEP_STACK, in);
    }
    return stacked;
}

/* ---- the blocks ---- */

/* hetero_linear: a linear map per type to a common width, and layer.activation. PyG's
 * HeteroDictLinear. */

void gnn__block_hetero_linear(gnn_steps_t *steps, const gnn_block_t *b)
{
    type_list_t list;
    const int64_t out = b->out > 0 ? b->out : b->width;
    gnn__block_need(steps, b, "out, or .width", out > 0);
    if (!read_type_list(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++) {
        const type_name_t type = list.types[t].name;
        const char *z =
            gnn__append_linear(steps, b, typed("lins.", type).text, type_input(b, type).text,
                               list.types[t].width, out, GNN_ON);
        gnn__append_activation(steps, b, typed("", type).text, z, b->layer.activation);
    }
}

/* hetero_conv: a layer per relation; the results of a receiver's type are aggregated by sum, mean
 * or max. Relation r is slot `graph` + r (gnn_graph_relation). The layer's config is .layer with
 * the types' widths. Schlichtkrull et al. 2018; PyG's HeteroConv. */

typedef struct {
    gnn_steps_t *steps;
    const gnn_block_t *b;
    const type_list_t *list;
    int64_t out;
} hetero_t;

static const char *relation_layer(const hetero_t *h, int r)
{
    const type_list_t *list = h->list;
    const int from = list->relations[r].from, to = list->relations[r].to;
    const typed_name_t x = type_input(h->b, list->types[from].name),
                       receivers = type_input(h->b, list->types[to].name);
    gnn_step_t step = {.inputs = {x.text}, .graph = h->b->graph + r, .layer = h->b->layer};
    const int64_t in = h->b->layer.in, in_dst = h->b->layer.in_dst;
    gnn__block_need(h->steps, h->b, "layer.in and .layer.in_dst of 0 or the types' widths",
                    (in == 0 || in == list->types[from].width) &&
                        (in_dst == 0 || in_dst == list->types[to].width));
    step.layer.in = list->types[from].width;
    step.layer.out = h->out;
    if (from != to) {
        step.receivers = receivers.text;
        step.layer.in_dst = list->types[to].width;
    }
    return gnn__block_add(h->steps, h->b, typed("convs.", list->relations[r].name).text, step);
}

/* The sum or the maximum of two results. */
static const char *combine_two(const hetero_t *h, const char *part, const char *a, const char *z)
{
    if (h->b->aggregators[0] != &gnn_aggregator_max)
        return gnn__append_add(h->steps, h->b, part, a, z, 1);
    return gnn__block_add(h->steps, h->b, part,
                          (gnn_step_t){.kind = GNN_STEP_MAXIMUM, .inputs = {a, z}});
}

static void combine(const hetero_t *h, int t)
{
    const type_name_t type = h->list->types[t].name;
    const char *all = NULL;
    int count = 0;
    for (int r = 0; r < h->list->n_relations; r++)
        if (h->list->relations[r].to == t) {
            const char *one = relation_layer(h, r);
            all = count++ == 0
                      ? one
                      : combine_two(h, typed("with.", h->list->relations[r].name).text, all, one);
        }
    const bool mean = h->b->aggregators[0] == &gnn_aggregator_mean;
    if (count > 0)
        gnn__append_scale(h->steps, h->b, typed("", type).text, all,
                          mean ? 1 / (gnn_real_t)count : 1);
}

void gnn__block_hetero_conv(gnn_steps_t *steps, const gnn_block_t *b)
{
    type_list_t list;
    const gnn_aggregator_t *how = b->aggregators[0];
    hetero_t h = {.steps = steps,
                  .b = b,
                  .list = &list,
                  .out = b->out > 0         ? b->out
                         : b->layer.out > 0 ? b->layer.out
                                            : b->width};
    gnn__block_need(steps, b, "out, or .width", h.out > 0);
    gnn__block_need(steps, b, "layer.out of 0 or .out", b->layer.out == 0 || b->layer.out == h.out);
    gnn__block_need(steps, b, "aggregators of sum, mean or max",
                    !how || how == &gnn_aggregator_sum || how == &gnn_aggregator_mean ||
                        how == &gnn_aggregator_max);
    if (!read_type_list(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++)
        combine(&h, t);
}

/* hgt: attention with queries, keys and values per node type, matrices K_r and V_r per relation and
 * head, and one softmax over all senders of a receiver.
 *
 *     s_ij = p_r q_i . (k_j K_r) / sqrt(d),   h_i = sum over j of softmax_j(s_ij) v_j V_r
 *     y_i  = g (gelu(h_i) W + b) + (1 - g) x_i,   g = sigmoid(a)
 *
 * W, b and a are per type; x_i is added if its width is that of y. Receivers of type t are on slot
 * `graph` + t (gnn_graph_towards). Hu et al. 2020. */

typedef struct {
    gnn_steps_t *steps;
    const gnn_block_t *b;
    const type_list_t *list;
    int64_t heads, out;
    /* names of steps, per type and per relation */
    const char *query[MOST_TYPES], *key[MOST_TYPES], *value[MOST_TYPES];
    const char *keys[MOST_RELATIONS], *values[MOST_RELATIONS];
} hgt_t;

static void project(hgt_t *h, int t)
{
    const type_name_t type = h->list->types[t].name;
    const bool receives = h->list->types[t].receives, sends = h->list->types[t].sends;
    if (!receives && !sends)
        return;
    const char *all = gnn__append_linear(h->steps, h->b, typed("kqv_lin.lins.", type).text,
                                         type_input(h->b, type).text, h->list->types[t].width,
                                         3 * h->out, GNN_ON);
    if (sends) {
        h->key[t] = gnn__append_columns(h->steps, h->b, typed("key.", type).text, all, 0, h->out);
        h->value[t] =
            gnn__append_columns(h->steps, h->b, typed("value.", type).text, all, 2 * h->out, h->out);
    }
    if (receives)
        h->query[t] =
            gnn__append_columns(h->steps, h->b, typed("query.", type).text, all, h->out, h->out);
}

/* The keys or values of a relation: rows times its matrix. */
static const char *related(hgt_t *h, int r, const char *what, const char *matrix, const char *rows)
{
    const type_name_t name = h->list->relations[r].name;
    const char *by =
        gnn__append_rows(h->steps, h->b, typed(matrix, name).text, h->out, h->out / h->heads);
    return gnn__append_op(h->steps, h->b, typed(what, name).text, &gnn_op_block_product,
                          (const char *[3]){rows, by}, (double)h->heads, 0);
}

static void relate(hgt_t *h, int r)
{
    const type_name_t name = h->list->relations[r].name;
    const int from = h->list->relations[r].from;
    const char *prior = gnn__append_constant(h->steps, h->b, typed("p_rel.", name).text, h->heads, 1);
    h->values[r] = related(h, r, "said.", "v_rel.", h->value[from]);
    h->keys[r] = gnn__block_add(
        h->steps, h->b, typed("told.", name).text,
        (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS,
                     .inputs = {related(h, r, "known.", "k_rel.", h->key[from]), prior}});
}

/* The attention of a type over all relations to it. */
static const char *attend(hgt_t *h, int t)
{
    const type_name_t type = h->list->types[t].name;
    const char *parts[2][MOST_RELATIONS], *all[2];
    int count = 0;
    for (int r = 0; r < h->list->n_relations; r++)
        if (h->list->relations[r].to == t) {
            parts[0][count] = h->keys[r];
            parts[1][count++] = h->values[r];
        }
    all[0] = stack(h->steps, h->b, typed("keys.", type).text, parts[0], count);
    all[1] = stack(h->steps, h->b, typed("values.", type).text, parts[1], count);
    return gnn__block_add(
        h->steps, h->b, typed("heard.", type).text,
        (gnn_step_t){.kind = GNN_STEP_AGGREGATE,
                     .query = h->query[t],
                     .key = all[0],
                     .inputs = {all[1]},
                     .graph = h->b->graph + t,
                     .layer = {.in = h->out,
                               .heads = h->heads,
                               .aggregator = &gnn_aggregator_attention,
                               .scale = (gnn_real_t)(1 / sqrt((double)(h->out / h->heads)))}});
}

static void update(hgt_t *h, int t, const char *attended)
{
    const type_name_t type = h->list->types[t].name;
    const typed_name_t x = type_input(h->b, type), last = typed("", type);
    const char *z =
        gnn__append_activation(h->steps, h->b, typed("gelu.", type).text, attended, GNN_GELU);
    z = gnn__append_linear(h->steps, h->b, typed("out_lin.lins.", type).text, z, h->out, h->out,
                           GNN_ON);
    if (h->list->types[t].width != h->out) {
        gnn__append_alias(h->steps, h->b, last.text, z);
        return;
    }
    const char *gate = gnn__append_constant(h->steps, h->b, typed("skip.", type).text, 1, 1);
    gate = gnn__append_activation(h->steps, h->b, typed("gate.", type).text, gate, GNN_SIGMOID);
    z = gnn__append_add(h->steps, h->b, typed("change.", type).text, z, x.text, -1);
    z = gnn__append_multiply(h->steps, h->b, typed("gated.", type).text, z, gate);
    gnn__append_add(h->steps, h->b, last.text, z, x.text, 1);
}

void gnn__block_hgt(gnn_steps_t *steps, const gnn_block_t *b)
{
    type_list_t list;
    hgt_t h = {.steps = steps,
               .b = b,
               .list = &list,
               .heads = b->heads > 0 ? b->heads : 1,
               .out = b->out > 0 ? b->out : b->width};
    gnn__block_need(steps, b, "out, or .width", h.out > 0);
    gnn__block_need(steps, b, "heads that divide .out", h.out % h.heads == 0);
    if (!read_type_list(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++)
        project(&h, t);
    for (int r = 0; r < list.n_relations; r++)
        relate(&h, r);
    for (int t = 0; t < list.n_types; t++)
        if (list.types[t].receives)
            update(&h, t, attend(&h, t));
}

/* rgcn: sum over relations r of the mean over j in N_r(i) of x_j W_r, + x_i R + b. With `rows`
 * bases W_r = sum over k of c_rk V_k; with `heads` blocks W_r is block-diagonal. `hops` relations
 * on the slots `graph`, graph + 1, ... (the parts of one graph: gnn_graph_part). Schlichtkrull et
 * al. 2018. */

/* Rows row .. row + rows - 1 of a value. */
static const char *rows_of(gnn_steps_t *steps, const gnn_block_t *b, const char *part,
                           const char *input, int64_t row, int64_t rows)
{
    return gnn__block_add(
        steps, b, part,
        (gnn_step_t){.kind = GNN_STEP_VIEW, .inputs = {input}, .row = row, .rows = rows});
}

/* The sum over relations; `weights`: a row of coefficients per relation, or its matrix. */
static const char *relations(gnn_steps_t *steps, const gnn_block_t *b, const char *x,
                             const char *weights, const gnn_op_t *op, int64_t each)
{
    const char *sum = NULL;
    for (int64_t r = 0; r < (b->hops > 0 ? b->hops : 1); r++) {
        const char *gathered =
                       gnn__append_aggregate(steps, b, gnn__numbered("heard.", r, "").text, x,
                                             &gnn_aggregator_mean, b->graph + (int)r, b->width),
                   *own =
                       rows_of(steps, b, gnn__numbered("of.", r, "").text, weights, r * each, each),
                   *z = gnn__append_op(steps, b, gnn__numbered("relation.", r, "").text, op,
                                       (const char *[3]){gathered, own}, (double)b->heads, 0);
        sum = sum ? gnn__append_add(steps, b, gnn__numbered("sum.", r, "").text, sum, z, 1) : z;
    }
    return sum;
}

void gnn__block_rgcn(gnn_steps_t *steps, const gnn_block_t *b)
{
    const int64_t in = b->width, out = b->out > 0 ? b->out : in, count = b->hops > 0 ? b->hops : 1,
                  bases = b->rows > 0 ? b->rows : count;
    const char *x = gnn__block_input(steps, b), *z;
    gnn__block_need(steps, b, "width", in > 0);
    gnn__block_need(steps, b, "heads that divide .width and .out",
                    b->heads <= 1 || (in % b->heads == 0 && out % b->heads == 0));
    gnn__block_need(steps, b, "rows or .heads, not both", b->heads <= 1 || b->rows == 0);
    if (steps->status != GNN_OK)
        return;
    if (b->heads > 1) {
        const char *w = gnn__append_rows(steps, b, "weight", count * in, out / b->heads);
        z = relations(steps, b, x, w, &gnn_op_block_product, in);
    } else {
        const char *mix = gnn__append_rows(steps, b, "comp", count, bases);
        z = relations(steps, b, x, mix, &gnn_op_mix_heads, 1);
        z = gnn__append_linear(steps, b, "weight", z, bases * in, out, GNN_OFF);
    }
    x = gnn__append_linear(steps, b, "root", x, in, out, GNN_OFF);
    z = gnn__append_add(steps, b, "both", z, x, 1);
    gnn__append_bias(steps, b, "", z, out);
}
