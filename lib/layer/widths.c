/* Widths of rows that follow from a config. */
#include <lib/aggregate/tables.h>
#include <lib/layer/layer.h>

bool gnn__layer_key_is_message(const gnn_layer_config_t *c)
{
    return c->message->projects && c->message->src_parts == 1 && c->d_k == c->d_v &&
           c->key_heads == c->value_heads && c->score &&
           (c->score->flags & GNN_SCORE_KEY_IS_MESSAGE);
}

void gnn__layer_widths(const gnn_layer_config_t *c, gnn__widths_t *w)
{
    bool scored = gnn__scored(c), per_head = gnn__scores_heads(c->score);
    bool from_message = scored && gnn__layer_key_is_message(c);
    memset(w, 0, sizeof *w);
    w->message = scored                 ? c->value_heads * c->d_v
                 : c->message->projects ? (c->d_v ? c->d_v : c->out)
                                        : c->in;
    w->key = !scored ? 0 : per_head ? c->heads : c->key_heads * c->d_k;
    w->query = !scored ? 0 : per_head ? c->heads : c->heads * c->d_k;
    w->own_key = !scored || from_message ? 0 : c->key_heads * c->d_k;
    w->own_query = !scored || c->share_weights == GNN_ON ? 0 : c->heads * c->d_k;
    w->source_message = c->message->projects ? c->message->src_parts * w->message : 0;
    w->target_message = c->message->projects ? c->message->dst_parts * w->message : 0;
    w->aggregate = !scored                           ? w->message
                   : c->combine == GNN_HEADS_AVERAGE ? c->d_v
                                                     : c->heads * c->d_v;
    w->edge = c->message->edge_parts > 0 ? c->message->edge_parts * w->message
              : scored                   ? c->key_heads * c->d_k
                                         : 0;
}
