/* Attention over nodes and relations of several types: queries, keys and values by the type of a
 * node, K_r and V_r, a matrix for each head, by the relation, and one softmax over all that a node
 * hears.
 *
 *     s_ij = p_r q_i . (k_j K_r) / sqrt(d),   h_i = sum over j of softmax_j(s_ij) v_j V_r
 *     y_i  = g (gelu(h_i) W + b) + (1 - g) x_i,   g = sigmoid(a)
 *
 * W, b and a are the type's own; x_i is added where its width is that of y. Receivers of type t are
 * on slot `graph` + t (gnn_graph_towards). Paper: Hu et al. 2020 (HGT). */
#include <lib/model/blocks/type_list.h>

#include <math.h>

typedef struct {
    gnn_steps_t *steps;
    const gnn_block_t *b;
    const gnn__type_list_t *list;
    int64_t heads, out;
    /* of each type, and of each relation; names are the list's of steps */
    const char *query[GNN__MOST_TYPES], *key[GNN__MOST_TYPES], *value[GNN__MOST_TYPES];
    const char *keys[GNN__MOST_RELATIONS], *values[GNN__MOST_RELATIONS];
} hgt_t;

static void project(hgt_t *h, int t)
{
    const gnn__type_word_t type = h->list->types[t].name;
    const bool hears = h->list->types[t].hears, heard = h->list->types[t].is_heard;
    if (!hears && !heard)
        return;
    const char *all = gnn__piece_linear(h->steps, h->b, gnn__typed("kqv_lin.lins.", type).text,
                                        gnn__type_input(h->b, type).text, h->list->types[t].width,
                                        3 * h->out, GNN_ON);
    if (heard) {
        h->key[t] = gnn__piece_columns(h->steps, h->b, gnn__typed("key.", type).text, all, 0, h->out);
        h->value[t] = gnn__piece_columns(h->steps, h->b, gnn__typed("value.", type).text, all,
                                         2 * h->out, h->out);
    }
    if (hears)
        h->query[t] =
            gnn__piece_columns(h->steps, h->b, gnn__typed("query.", type).text, all, h->out, h->out);
}

/* A sender's keys or values as the relation makes them. */
static const char *related(hgt_t *h, int r, const char *what, const char *matrix, const char *rows)
{
    const gnn__type_word_t name = h->list->relations[r].name;
    const char *by =
        gnn__piece_rows(h->steps, h->b, gnn__typed(matrix, name).text, h->out, h->out / h->heads);
    return gnn__piece_op(h->steps, h->b, gnn__typed(what, name).text, &gnn_op_block_product,
                         (const char *[3]){rows, by}, (double)h->heads, 0);
}

static void relate(hgt_t *h, int r)
{
    const gnn__type_word_t name = h->list->relations[r].name;
    const int from = h->list->relations[r].from;
    const char *prior =
        gnn__piece_constant(h->steps, h->b, gnn__typed("p_rel.", name).text, h->heads, 1);
    h->values[r] = related(h, r, "said.", "v_rel.", h->value[from]);
    h->keys[r] = gnn__block_add(
        h->steps, h->b, gnn__typed("told.", name).text,
        (gnn_step_t){.kind = GNN_STEP_SCALE_HEADS,
                     .inputs = {related(h, r, "known.", "k_rel.", h->key[from]), prior}});
}

/* What a type hears along all relations that lead to it. */
static const char *hear(hgt_t *h, int t)
{
    const gnn__type_word_t type = h->list->types[t].name;
    const char *parts[2][GNN__MOST_RELATIONS], *all[2];
    int count = 0;
    for (int r = 0; r < h->list->n_relations; r++)
        if (h->list->relations[r].to == t) {
            parts[0][count] = h->keys[r];
            parts[1][count++] = h->values[r];
        }
    all[0] = gnn__piece_stack(h->steps, h->b, gnn__typed("keys.", type).text, parts[0], count);
    all[1] = gnn__piece_stack(h->steps, h->b, gnn__typed("values.", type).text, parts[1], count);
    return gnn__block_add(
        h->steps, h->b, gnn__typed("heard.", type).text,
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

static void update(hgt_t *h, int t, const char *heard)
{
    const gnn__type_word_t type = h->list->types[t].name;
    const gnn__typed_name_t x = gnn__type_input(h->b, type), last = gnn__typed("", type);
    const char *z =
        gnn__piece_activation(h->steps, h->b, gnn__typed("gelu.", type).text, heard, GNN_GELU);
    z = gnn__piece_linear(h->steps, h->b, gnn__typed("out_lin.lins.", type).text, z, h->out, h->out,
                          GNN_ON);
    if (h->list->types[t].width != h->out) {
        gnn__piece_same(h->steps, h->b, last.text, z);
        return;
    }
    const char *gate = gnn__piece_constant(h->steps, h->b, gnn__typed("skip.", type).text, 1, 1);
    gate = gnn__piece_activation(h->steps, h->b, gnn__typed("gate.", type).text, gate, GNN_SIGMOID);
    z = gnn__piece_add(h->steps, h->b, gnn__typed("change.", type).text, z, x.text, -1);
    z = gnn__piece_multiply(h->steps, h->b, gnn__typed("gated.", type).text, z, gate);
    gnn__piece_add(h->steps, h->b, last.text, z, x.text, 1);
}

void gnn__block_hgt(gnn_steps_t *steps, const gnn_block_t *b)
{
    gnn__type_list_t list;
    hgt_t h = {.steps = steps,
               .b = b,
               .list = &list,
               .heads = b->heads > 0 ? b->heads : 1,
               .out = b->out > 0 ? b->out : b->width};
    gnn__block_need(steps, b, "out, or .width", h.out > 0);
    gnn__block_need(steps, b, "heads that divide .out", h.out % h.heads == 0);
    if (!gnn__type_list_read(&list, steps, b))
        return;
    for (int t = 0; t < list.n_types; t++)
        project(&h, t);
    for (int r = 0; r < list.n_relations; r++)
        relate(&h, r);
    for (int t = 0; t < list.n_types; t++)
        if (list.types[t].hears)
            update(&h, t, hear(&h, t));
}
