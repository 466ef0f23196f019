/* Priors in attention by strip: how each is read for a strip of receivers, and its gradient.
 *
 *     strip by distance       a value per distance            out += values[distance]
 *     keys, sender_keys       a product per table row         out += product[row of the distance]
 *     receiver, sender, decay a term per row and per column   out += x_i + y_j
 *     place                   a value per row and position    out += values_i[position]
 *
 * Sums for nodes and tables that several chunks of receivers share are kept per chunk and added in
 * order. */
#ifndef GNN_AGGREGATE_STRIP_TERMS_H
#define GNN_AGGREGATE_STRIP_TERMS_H

#include <lib/aggregate/aggregate.h>
#include <lib/kernels/attention/by_strip/by_strip.h>

/* Rows row0 .. row0 + rows - 1 of a part, and the columns that they attend together, counted from
 * the part's first attended one: `first` is a multiple of 16, and so are `width` and ld. Row r
 * attends first + from[r] .. first + to[r] - 1. */
typedef struct gnn__strip {
    int64_t row0, rows, first, width, ld;
    int64_t from[GNN__STRIP_ROWS], to[GNN__STRIP_ROWS];
    uint32_t node[GNN__STRIP_ROWS];
} gnn__strip_t;

/* Sums of one chunk, for all heads; NULL: there are none. */
typedef struct gnn__strip_sums {
    gnn_real_t *by_distance;          /* heads x distances */
    gnn_real_t *tables[GNN_PRIORS];   /* keys: heads x rows x ldk */
    gnn_real_t *products[GNN_PRIORS]; /* sender_keys: heads x columns x rows */
    gnn_real_t *columns;              /* terms of senders: heads x columns */
} gnn__strip_sums_t;

/* Values that all strips of a call share. */
typedef struct gnn__strip_terms {
    const gnn__plan_t *plan;
    int64_t columns; /* attended columns, a multiple of GNN__STRIP_TILE */
    int64_t ldk;
    const uint32_t *col_node;        /* (columns) */
    int64_t first, count;            /* distances; count 0: no prior reads them */
    int64_t *dst_position, most_dst; /* (n_dst), and the largest */
    int32_t *position;               /* (columns) of senders, from the smallest on */
    int64_t *place;                  /* (columns) positions of senders */
    gnn_real_t *by_distance;         /* heads x count; NULL: no prior is a value by distance */
    gnn_real_t *column_term;         /* heads x columns; NULL: no prior has a term of the sender */
    /* keys and sender_keys: the row of each distance; rows of the table, times scale for
     * sender_keys, and transposed (heads x rows x ldk, heads x ldk x rows), rows rounded up to 16;
     * the products of sender_keys (heads x columns x rows) */
    int32_t *row_of[GNN_PRIORS];
    gnn_real_t *keys[GNN_PRIORS], *keys_t[GNN_PRIORS], *products[GNN_PRIORS];
} gnn__strip_terms_t;

/* True if strips know all priors of the call. */
bool gnn__strip_terms_known(const gnn__plan_t *plan, int64_t columns);
/* Memory that is shared by all threads, and that of a chunk's sums. */
void gnn__strip_terms_carve(const gnn__plan_t *plan, gnn__carve_t *carve, int64_t columns,
                            int64_t ldk, gnn__strip_terms_t *t);
void gnn__strip_sums_carve(const gnn__strip_terms_t *t, gnn__carve_t *carve, gnn__strip_sums_t *sums);
/* Elements of scratch per thread: products of a strip's queries with keys, and their gradients. */
int64_t gnn__strip_terms_scratch(const gnn__plan_t *plan);
/* Fills the shared values. k_rows (key_heads x columns x ldk): packed keys. */
void gnn__strip_terms_fill(gnn__strip_terms_t *t, const gnn_real_t *k_rows, int threads);
/* Adds the terms of one head to the attended elements of `out`. q: the strip's queries that keys
 * meet, times scale (rows x ldk). */
void gnn__strip_terms_add(const gnn__strip_terms_t *t, const gnn__strip_t *strip, int64_t head,
                          const gnn_real_t *q, gnn_real_t *scratch, gnn_real_t *out);
/* d (rows x ld): derivatives with respect to the terms, 0 where not attended. d_q: += those with
 * respect to the queries that are multiplied with keys, divided by scale; may be NULL. */
void gnn__strip_terms_grad(const gnn__strip_terms_t *t, const gnn__strip_t *strip, int64_t head,
                           const gnn_real_t *q, const gnn_real_t *d, gnn_real_t *d_q,
                           const gnn__strip_sums_t *sums, gnn_real_t *scratch);
/* Before and after the strips of a chunk and one head: zeroes its sums; adds the gradients that
 * follow from products to those of the keys of columns c0 .. c1 - 1. d_k, k_rows: columns x ldk */
void gnn__strip_sums_open(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int64_t head);
void gnn__strip_sums_close(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums, int64_t head,
                           int64_t c0, int64_t c1, const gnn_real_t *k_rows, gnn_real_t *d_k);
/* Adds the sums of a chunk to the gradients of the inputs. */
void gnn__strip_sums_add(const gnn__strip_terms_t *t, const gnn__strip_sums_t *sums);

#endif
