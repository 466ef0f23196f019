/* The graph of one rank, cut out of the whole graph; and the exchange of the halo's rows. */
#include <graphs/build.h>
#include <graphs/halo.h>
#include <lib/base/room.h>

static void forget_inputs(gnn__halo_t *halo)
{
    for (int64_t k = 0; k < halo->n_inputs; k++)
        gnn_free(halo->inputs[k].rows);
    gnn_free(halo->inputs);
    halo->inputs = NULL;
    halo->n_inputs = 0;
}

static void free_halo(gnn__halo_t *halo)
{
    if (!halo)
        return;
    gnn_graph_free(halo->wide);
    gnn_free(halo->nodes);
    gnn_free(halo->place);
    gnn_free(halo->give);
    gnn_free(halo->give_at);
    gnn_free(halo->take_at);
    gnn_free(halo->messages);
    gnn_free(halo->edges_of);
    forget_inputs(halo);
    gnn_free(halo);
}

/* ---- rows of the graph ---- */

/* `rows` is the whole graph, or has own receivers alone. */
static int check_rows(const gnn_graph_t *rows, const gnn__ranks_t *ranks)
{
    const bool whole = rows->n_dst == ranks->n, own = rows->n_dst == ranks->hi - ranks->lo;
    if (!(whole || own) || rows->n_src != ranks->n || rows->origin)
        return gnn__error(GNN_EUNSUPPORTED,
                          "ranks: expected a graph of %lld nodes on both sides, got %lld receivers "
                          "and %lld senders",
                          (long long)ranks->n, (long long)rows->n_dst, (long long)rows->n_src);
    if (rows->n_segments > 0)
        return gnn__error(GNN_EUNSUPPORTED, "ranks: a graph with segments is not supported");
    for (int64_t p = 0; p < rows->base.n_parts; p++)
        if (gnn__pairs_form(&rows->base.parts[p].pairs) != GNN__EDGES)
            return gnn__error(GNN_EUNSUPPORTED,
                              "ranks: part %lld of the graph stores spans, expected edges: see "
                              "gnn_graph_to_edges",
                              (long long)p);
    return GNN_OK;
}

/* Edges of own receivers in part p: from indptr[0] to indptr[n_own] of the result. */
static const int64_t *own_indptr(const gnn__halo_t *halo, int64_t p)
{
    return halo->rows->base.parts[p].pairs.indptr + halo->first;
}

/* The id of edge k of a part in the whole graph. */
static int64_t edge_id(const gnn__halo_t *halo, const gnn__pairs_t *pairs, int64_t k)
{
    return halo->first_edge + gnn__pairs_edge(pairs, k);
}

/* Counts the edges of all ranks, and those before this one's where a rank has its own alone. */
static int count_edges_of_all(gnn__halo_t *halo)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    int64_t own[3] = {halo->rows->n_edges, 0, halo->rows->n_dst == ranks->n}, *all;
    int rc;
    for (int64_t p = 0; p < halo->rows->base.n_parts; p++)
        own[1] += own_indptr(halo, p)[halo->n_own] - own_indptr(halo, p)[0];
    GNN_TRY(gnn__new(&halo->edges_of, size, sizeof *all, "counts of edges"));
    GNN_TRY(gnn__new(&all, 3 * (int64_t)size, sizeof *all, "counts of edges"));
    GNN_CHECK(gnn__ranks_gather(ranks, own, NULL, sizeof own, all));
    for (int r = 0; r < size; r++) {
        halo->edges_of[r] = all[3 * r];
        halo->pairs += all[3 * r + 1];
        halo->whole &= all[3 * r + 2] != 0;
        halo->n_edges += all[3 * r];
        halo->first_edge += r < ranks->transport->rank ? all[3 * r] : 0;
    }
    if (halo->whole) {
        halo->n_edges = halo->rows->n_edges;
        halo->first_edge = 0;
    }
done:
    gnn_free(all);
    return rc;
}

/* ---- messages ---- */

static size_t bytes_of(const int64_t *at, int r, size_t bytes)
{
    return (size_t)(at[r + 1] - at[r]) * bytes;
}

/* take_at from the nodes of the halo, which ascend as their owners do; give_at from the others'. */
static int count_messages(gnn__halo_t *halo)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    GNN_TRY(gnn__new(&halo->take_at, size + 1, sizeof *halo->take_at, "messages of ranks"));
    GNN_TRY(gnn__new(&halo->give_at, size + 1, sizeof *halo->give_at, "messages of ranks"));
    int64_t k = halo->n_own;
    for (int r = 0; r < size; r++) {
        while (k < halo->n_wide && halo->nodes[k] < ranks->book[r + 1])
            k++;
        halo->take_at[r + 1] = k - halo->n_own;
    }
    int64_t *counts;
    int rc;
    GNN_TRY(gnn__new(&counts, 2 * (int64_t)size, sizeof *counts, "messages of ranks"));
    for (int r = 0; r < size; r++) {
        counts[r] = halo->take_at[r + 1] - halo->take_at[r];
        halo->messages[r] = (gnn_bytes_t){counts + r, sizeof *counts};
        halo->messages[size + r] = (gnn_bytes_t){counts + size + r, sizeof *counts};
    }
    GNN_CHECK(gnn__ranks_exchange(ranks, "counts", halo->messages, halo->messages + size));
    for (int r = 0; r < size; r++)
        halo->give_at[r + 1] = halo->give_at[r] + counts[size + r];
done:
    gnn_free(counts);
    return rc;
}

/* Each rank sends the nodes of its halo to their owners. */
static int ask_owners(gnn__halo_t *halo)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    GNN_TRY(count_messages(halo));
    GNN_TRY(gnn__new(&halo->give, halo->give_at[size], sizeof *halo->give, "messages of ranks"));
    for (int r = 0; r < size; r++) {
        halo->messages[r] = (gnn_bytes_t){halo->nodes + halo->n_own + halo->take_at[r],
                                          bytes_of(halo->take_at, r, sizeof *halo->nodes)};
        halo->messages[size + r] = (gnn_bytes_t){halo->give + halo->give_at[r],
                                                 bytes_of(halo->give_at, r, sizeof *halo->give)};
    }
    GNN_TRY(gnn__ranks_exchange(ranks, "nodes", halo->messages, halo->messages + size));
    for (int64_t k = 0; k < halo->give_at[size]; k++)
        halo->give[k] -= (int32_t)ranks->lo;
    return GNN_OK;
}

/* gnn__halo_start, which writes the halo's rows to `kept` as well, packed, unless it is NULL. */
static int start_rows(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes, void *kept)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    const int64_t n_halo = halo->n_wide - halo->n_own, given = halo->give_at[size];
    gnn__flight_t *flight;
    if (size == 1)
        return GNN_OK;
    char *halo_rows = (char *)rows + (size_t)halo->n_own * stride;
    const bool direct = stride == bytes;
    GNN_TRY(gnn__ranks_flight(ranks, &flight));
    flight->to = halo_rows;
    flight->rows = direct ? 0 : n_halo;
    flight->stride = stride;
    flight->bytes = bytes;
    flight->kept = kept;
    flight->n_kept = n_halo;
    GNN_TRY(gnn__reserve(&flight->sent, &flight->sent_room, given * (int64_t)bytes, 1,
                         "rows of ranks"));
    GNN_TRY(gnn__reserve(&flight->taken, &flight->taken_room, flight->rows * (int64_t)bytes, 1,
                         "rows of ranks"));
    for (int64_t k = 0; k < given; k++)
        memcpy(flight->sent + (size_t)k * bytes,
               (const char *)rows + (size_t)halo->give[k] * stride, bytes);
    char *into = direct ? halo_rows : flight->taken;
    for (int r = 0; r < size; r++) {
        flight->messages[r] = (gnn_bytes_t){flight->sent + (size_t)halo->give_at[r] * bytes,
                                            bytes_of(halo->give_at, r, bytes)};
        flight->messages[size + r] = (gnn_bytes_t){into + (size_t)halo->take_at[r] * bytes,
                                                   bytes_of(halo->take_at, r, bytes)};
    }
    return gnn__ranks_start(ranks, "rows", flight);
}

int gnn__halo_start(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes)
{
    return start_rows(halo, rows, stride, bytes, NULL);
}

int gnn__halo_pull(gnn__halo_t *halo, void *rows, size_t stride, size_t bytes)
{
    GNN_TRY(gnn__halo_start(halo, rows, stride, bytes));
    return gnn__ranks_arrive(halo->ranks);
}

/* ---- inputs, whose rows are pulled once ---- */

int gnn__halo_set_inputs(gnn__halo_t *halo, const gnn_tensor_t *const *inputs, int64_t count)
{
    forget_inputs(halo);
    if (count == 0)
        return GNN_OK;
    GNN_TRY(gnn__new(&halo->inputs, count, sizeof *halo->inputs, "inputs of ranks"));
    for (; halo->n_inputs < count; halo->n_inputs++)
        halo->inputs[halo->n_inputs].own = *inputs[halo->n_inputs];
    return GNN_OK;
}

static gnn__halo_input_t *find_input(gnn__halo_t *halo, const gnn_tensor_t *own)
{
    for (int64_t k = 0; k < halo->n_inputs; k++)
        if (halo->inputs[k].own.data == own->data && halo->inputs[k].own.cols == own->cols)
            return &halo->inputs[k];
    return NULL;
}

/* Ranks have the same inputs, and pull them in the same order. */
int gnn__halo_start_rows(gnn__halo_t *halo, const gnn_tensor_t *own, const gnn_tensor_t *wide)
{
    const int64_t n_halo = halo->n_wide - halo->n_own,
                  columns = wide->stride ? wide->stride : wide->cols;
    const size_t stride = sizeof *wide->data * (size_t)columns,
                 bytes = sizeof *wide->data * (size_t)wide->cols;
    gnn__halo_input_t *input = find_input(halo, own);
    int64_t count;
    if (!input)
        return start_rows(halo, wide->data, stride, bytes, NULL);
    if (input->rows) {
        for (int64_t r = 0; r < n_halo; r++)
            memcpy(gnn__row(wide, halo->n_own + r), input->rows + r * wide->cols, bytes);
        return GNN_OK;
    }
    if (!gnn__mul(n_halo, wide->cols, &count))
        return gnn__error(GNN_EOVERFLOW, "%lld rows of the halo do not fit", (long long)n_halo);
    GNN_TRY(gnn__new(&input->rows, count, sizeof *input->rows, "rows of ranks"));
    return start_rows(halo, wide->data, stride, bytes, input->rows);
}

/* ---- rows of edges ---- */

/* Edges whose receivers rank r owns, over all parts. */
static int64_t count_edges(const gnn__halo_t *halo, int r)
{
    if (!halo->whole)
        return halo->edges_of[r];
    const gnn__built_view_t *view = &halo->rows->base;
    const int64_t *book = halo->ranks->book;
    int64_t count = 0;
    for (int64_t p = 0; p < view->n_parts; p++)
        count += view->parts[p].pairs.indptr[book[r + 1]] - view->parts[p].pairs.indptr[book[r]];
    return count;
}

/* Copies the rows of these edges, whose ids ascend with the ranks, to `packed`, or back. */
static void copy_range(const gnn__halo_t *halo, int r, const gnn_tensor_t *rows, bool back,
                       gnn_real_t *packed)
{
    const size_t bytes = sizeof *packed * (size_t)rows->cols;
    int64_t first = 0;
    for (int before = 0; before < r; before++)
        first += halo->edges_of[before];
    for (int64_t k = 0; k < halo->edges_of[r]; k++, packed += rows->cols)
        memcpy(back ? gnn__row(rows, first + k) : packed, back ? packed : gnn__row(rows, first + k),
               bytes);
}

/* The same for a whole graph, part by part. */
static void copy_edges(const gnn__halo_t *halo, int r, const gnn_tensor_t *rows, bool back,
                       gnn_real_t *packed)
{
    const gnn__built_view_t *view = &halo->rows->base;
    const int64_t lo = halo->ranks->book[r], hi = halo->ranks->book[r + 1];
    const size_t bytes = sizeof *packed * (size_t)rows->cols;
    for (int64_t p = 0; p < view->n_parts; p++) {
        const gnn__pairs_t *pairs = &view->parts[p].pairs;
        for (int64_t k = pairs->indptr[lo]; k < pairs->indptr[hi]; k++, packed += rows->cols) {
            gnn_real_t *row = gnn__row(rows, gnn__pairs_edge(pairs, k));
            memcpy(back ? row : packed, back ? packed : row, bytes);
        }
    }
}

int gnn__halo_gather_edges(gnn__halo_t *halo, const gnn_tensor_t *rows)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks, own = ranks->transport->rank;
    const int64_t cols = rows->cols;
    size_t *counts = NULL;
    gnn_real_t *packed = NULL, *all = NULL, *at;
    int rc;
    if (size == 1)
        return GNN_OK;
    void (*copy)(const gnn__halo_t *, int, const gnn_tensor_t *, bool, gnn_real_t *) =
        halo->whole ? copy_edges : copy_range;
    GNN_CHECK(gnn__new(&counts, size, sizeof *counts, "sizes of messages"));
    for (int r = 0; r < size; r++)
        counts[r] = (size_t)count_edges(halo, r);
    GNN_CHECK(gnn__new(&packed, (int64_t)counts[own] * cols, sizeof *packed, "rows of edges"));
    GNN_CHECK(gnn__new(&all, halo->n_edges * cols, sizeof *all, "rows of edges"));
    copy(halo, own, rows, false, packed);
    GNN_CHECK(gnn__ranks_gather(ranks, packed, counts, sizeof *all * (size_t)cols, all));
    at = all;
    for (int r = 0; r < size; at += (int64_t)counts[r] * cols, r++)
        if (r != own)
            copy(halo, r, rows, true, at);
done:
    gnn_free(counts);
    gnn_free(packed);
    gnn_free(all);
    return rc;
}

/* ---- edges of own senders ---- */

/* An edge in a message to the owner of its sender. */
typedef struct {
    int32_t dst, src;
    int64_t edge;
} edge_t;

/* Edges whose senders are own rows and whose receivers are not, by receiver: the first `before` are
 * of the ranks before this one. */
typedef struct {
    edge_t *edges;
    int64_t count, before;
} incoming_t;

static int owner_of(const gnn__ranks_t *ranks, int32_t node)
{
    int low = 0, high = ranks->transport->ranks;
    while (high - low > 1) {
        const int middle = low + (high - low) / 2;
        if (ranks->book[middle] <= node)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool is_own(const gnn__ranks_t *ranks, int32_t node)
{
    return node >= ranks->lo && node < ranks->hi;
}

/* at[r + 1] += own receivers' edges whose senders rank r owns; `edges` not NULL: puts them there,
 * at at[r] and on. */
static void sort_by_owner(const gnn__halo_t *halo, int64_t p, int64_t *at, edge_t *edges)
{
    const gnn__ranks_t *ranks = halo->ranks;
    const gnn__pairs_t *pairs = &halo->rows->base.parts[p].pairs;
    const int64_t *indptr = own_indptr(halo, p);
    for (int64_t i = 0; i < halo->n_own; i++)
        for (int64_t k = indptr[i]; k < indptr[i + 1]; k++) {
            const int32_t sender = pairs->indices[k];
            if (is_own(ranks, sender))
                continue;
            const int r = owner_of(ranks, sender);
            if (edges)
                edges[at[r]++] = (edge_t){(int32_t)(ranks->lo + i), sender, edge_id(halo, pairs, k)};
            else
                at[r + 1]++;
        }
}

/* Sends each edge of own receivers to the owner of its sender. at, got: (ranks + 1) scratch. */
static int exchange_edges(gnn__halo_t *halo, int64_t p, int64_t *at, int64_t *got, incoming_t *in)
{
    gnn__ranks_t *ranks = halo->ranks;
    const int size = ranks->transport->ranks;
    gnn_bytes_t *messages = halo->messages;
    edge_t *sent = NULL;
    int rc;
    sort_by_owner(halo, p, at, NULL);
    for (int r = 0; r < size; r++) {
        messages[r] = (gnn_bytes_t){at + r + 1, sizeof *at};
        messages[size + r] = (gnn_bytes_t){got + r + 1, sizeof *got};
    }
    GNN_CHECK(gnn__ranks_exchange(ranks, "count edges", messages, messages + size));
    for (int r = 0; r < size; r++) {
        at[r + 1] += at[r];
        got[r + 1] += got[r];
    }
    in->count = got[size];
    in->before = got[ranks->transport->rank];
    GNN_CHECK(gnn__new(&sent, at[size], sizeof *sent, "edges of ranks"));
    GNN_CHECK(gnn__new(&in->edges, in->count, sizeof *in->edges, "edges of ranks"));
    sort_by_owner(halo, p, at, sent);
    for (int r = size; r > 0; r--) /* sorting has moved each start to the next one's */
        at[r] = at[r - 1];
    at[0] = 0;
    for (int r = 0; r < size; r++) {
        messages[r] = (gnn_bytes_t){sent + at[r], (size_t)(at[r + 1] - at[r]) * sizeof *sent};
        messages[size + r] =
            (gnn_bytes_t){in->edges + got[r], (size_t)(got[r + 1] - got[r]) * sizeof *sent};
    }
    rc = gnn__ranks_exchange(ranks, "edges", messages, messages + size);
done:
    gnn_free(sent);
    return rc;
}

static int get_incoming(gnn__halo_t *halo, int64_t p, incoming_t *in)
{
    const int64_t size = halo->ranks->transport->ranks + 1;
    int64_t *at;
    GNN_TRY(gnn__new(&at, 2 * size, sizeof *at, "messages of ranks"));
    const int rc = exchange_edges(halo, p, at, at + size, in);
    gnn_free(at);
    return rc;
}

/* ---- nodes ---- */

/* place[i] = 0 for nodes that share an edge with own rows. */
static void mark_nodes(gnn__halo_t *halo, const incoming_t *in)
{
    for (int64_t p = 0; p < halo->rows->base.n_parts; p++) {
        const int64_t *indptr = own_indptr(halo, p);
        const int32_t *senders = halo->rows->base.parts[p].pairs.indices;
        for (int64_t k = indptr[0]; k < indptr[halo->n_own]; k++)
            halo->place[senders[k]] = 0;
        for (int64_t k = 0; k < in[p].count; k++)
            halo->place[in[p].edges[k].dst] = 0;
    }
}

static int number_nodes(gnn__halo_t *halo, const incoming_t *in)
{
    const gnn__ranks_t *ranks = halo->ranks;
    GNN_TRY(gnn__new(&halo->place, ranks->n, sizeof *halo->place, "rows of a rank"));
    memset(halo->place, -1, sizeof *halo->place * (size_t)ranks->n);
    mark_nodes(halo, in);
    halo->n_wide = halo->n_own;
    for (int64_t i = 0; i < ranks->n; i++)
        halo->n_wide += !is_own(ranks, (int32_t)i) && halo->place[i] == 0;
    GNN_TRY(gnn__new(&halo->nodes, halo->n_wide, sizeof *halo->nodes, "rows of a rank"));
    int64_t next = halo->n_own;
    for (int64_t i = 0; i < ranks->n; i++) {
        const bool own = is_own(ranks, (int32_t)i);
        if (!own && halo->place[i] < 0)
            continue;
        halo->place[i] = (int32_t)(own ? i - ranks->lo : next++);
        halo->nodes[halo->place[i]] = (int32_t)i;
    }
    return GNN_OK;
}

/* ---- parts ---- */

/* Arrays of a part with `count` edges, to be filled. */
typedef struct {
    int64_t *indptr, *edge;
    int32_t *indices;
} part_arrays_t;

static int new_part(gnn__halo_t *halo, int64_t count, part_arrays_t *a, gnn__pairs_t *pairs)
{
    const int64_t n = halo->n_wide;
    GNN_TRY(gnn__graph_own(halo->wide, &a->indptr, n + 1, sizeof *a->indptr, "row pointers"));
    GNN_TRY(gnn__graph_own(halo->wide, &a->indices, count, sizeof *a->indices, "edges of a rank"));
    GNN_TRY(gnn__graph_own(halo->wide, &a->edge, count, sizeof *a->edge, "edge ids of a rank"));
    *pairs = (gnn__pairs_t){.n_rows = n,
                            .n_cols = n,
                            .count = count,
                            .sliced = true,
                            .own_rows = halo->n_own,
                            .indptr = a->indptr,
                            .indices = a->indices,
                            .edge = a->edge};
    return GNN_OK;
}

/* Edges of own receivers in the order of the whole graph. */
static int cut_part(gnn__halo_t *halo, int64_t p, gnn__pairs_t *to)
{
    const gnn__pairs_t *from = &halo->rows->base.parts[p].pairs;
    const int64_t *indptr = own_indptr(halo, p), first = indptr[0],
                  count = indptr[halo->n_own] - first;
    part_arrays_t a;
    GNN_TRY(new_part(halo, count, &a, to));
    for (int64_t r = 0; r <= halo->n_wide; r++)
        a.indptr[r] = indptr[gnn__min(r, halo->n_own)] - first;
    for (int64_t k = 0; k < count; k++) {
        a.indices[k] = halo->place[from->indices[first + k]];
        a.edge[k] = edge_id(halo, from, first + k);
    }
    return GNN_OK;
}

/* Marks the rows that read the halo; a pass may run the others while its rows travel. */
static int mark_late(gnn__halo_t *halo, gnn__pairs_t *pairs)
{
    uint8_t *late;
    if (halo->ranks->transport->ranks == 1)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(halo->wide, &late, pairs->n_rows, sizeof *late, "rows with a halo"));
    for (int64_t i = 0; i < pairs->n_rows; i++) {
        late[i] = i >= halo->n_own;
        for (int64_t k = pairs->indptr[i]; !late[i] && k < pairs->indptr[i + 1]; k++)
            late[i] = pairs->indices[k] >= halo->n_own;
    }
    pairs->late = late;
    return GNN_OK;
}

static void put_incoming(const gnn__halo_t *halo, const incoming_t *in, int64_t from, int64_t to,
                         part_arrays_t *a)
{
    for (int64_t k = from; k < to; k++) {
        const int64_t at = a->indptr[in->edges[k].src - halo->ranks->lo]++;
        a->indices[at] = halo->place[in->edges[k].dst];
        a->edge[at] = in->edges[k].edge;
    }
}

/* Edges of own senders: a stable sort by sender of edges whose receivers ascend. */
static int cut_transposed(gnn__halo_t *halo, const gnn__pairs_t *part, const incoming_t *in,
                          gnn__pairs_t *to)
{
    const int64_t lo = halo->ranks->lo;
    int64_t own = 0;
    part_arrays_t a;
    for (int64_t k = 0; k < part->count; k++)
        own += part->indices[k] < halo->n_own;
    GNN_TRY(new_part(halo, own + in->count, &a, to));
    for (int64_t k = 0; k < part->count; k++)
        if (part->indices[k] < halo->n_own)
            a.indptr[part->indices[k] + 1]++;
    for (int64_t k = 0; k < in->count; k++)
        a.indptr[in->edges[k].src - lo + 1]++;
    for (int64_t r = 0; r < halo->n_wide; r++)
        a.indptr[r + 1] += a.indptr[r];
    put_incoming(halo, in, 0, in->before, &a);
    for (int64_t i = 0; i < halo->n_own; i++)
        for (int64_t k = part->indptr[i]; k < part->indptr[i + 1]; k++)
            if (part->indices[k] < halo->n_own) {
                const int64_t at = a.indptr[part->indices[k]]++;
                a.indices[at] = (int32_t)i;
                a.edge[at] = part->edge[k];
            }
    put_incoming(halo, in, in->before, in->count, &a);
    for (int64_t r = halo->n_own; r > 0; r--)
        a.indptr[r] = a.indptr[r - 1];
    a.indptr[0] = 0;
    return GNN_OK;
}

static int cut_base(gnn__halo_t *halo, const incoming_t *in)
{
    gnn__built_view_t *to = &halo->wide->base;
    const gnn__built_view_t *from = &halo->rows->base;
    int64_t *degree;
    to->key.backward = GNN_ON;
    to->n_parts = from->n_parts;
    to->mean_pairs = halo->pairs / gnn__max(halo->ranks->n, 1);
    GNN_TRY(gnn__graph_own(halo->wide, &to->parts, to->n_parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &to->transposed, to->n_parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &degree, halo->n_wide, sizeof *degree, "degrees"));
    for (int64_t p = 0; p < to->n_parts; p++) {
        GNN_TRY(cut_part(halo, p, &to->parts[p].pairs));
        GNN_TRY(cut_transposed(halo, &to->parts[p].pairs, &in[p], &to->transposed[p].pairs));
        GNN_TRY(mark_late(halo, &to->parts[p].pairs));
        GNN_TRY(mark_late(halo, &to->transposed[p].pairs));
    }
    for (int64_t i = 0; i < halo->n_own; i++)
        degree[i] = from->degree[halo->first + i];
    to->degree = degree;
    return gnn__halo_pull(halo, degree, sizeof *degree, sizeof *degree);
}

/* ---- views ---- */

/* The edges of `from` (NULL: none) with the missing self-loops of own rows: a receiver's loop is
 * its last edge, a sender's is where its receivers ascend. */
static int insert_loops(gnn__halo_t *halo, const gnn__pairs_t *from, const uint8_t *missing,
                        int64_t count, bool transposed, gnn__pairs_t *to)
{
    part_arrays_t a;
    int64_t at = 0;
    GNN_TRY(new_part(halo, (from ? from->count : 0) + count, &a, to));
    for (int64_t i = 0; i < halo->n_wide; i++) {
        bool lacks = i < halo->n_own && missing[i];
        for (int64_t k = from ? from->indptr[i] : 0; from && k < from->indptr[i + 1]; k++) {
            if (lacks && transposed && halo->nodes[from->indices[k]] > halo->nodes[i]) {
                a.indices[at] = (int32_t)i;
                a.edge[at++] = halo->n_edges + i;
                lacks = false;
            }
            a.indices[at] = from->indices[k];
            a.edge[at++] = gnn__pairs_edge(from, k);
        }
        if (lacks) {
            a.indices[at] = (int32_t)i;
            a.edge[at++] = halo->n_edges + i;
        }
        a.indptr[i + 1] = at;
    }
    return mark_late(halo, to);
}

/* *missing: (n_wide) 1 for nodes without a self-loop; for gnn_free. */
static int find_missing(gnn__halo_t *halo, uint8_t **missing, int64_t *own, int64_t *all)
{
    int64_t count;
    GNN_TRY(gnn__view_missing_loops(&halo->wide->base, halo->n_wide, missing, &count));
    GNN_TRY(gnn__halo_pull(halo, *missing, 1, 1));
    *own = 0;
    for (int64_t i = 0; i < halo->n_own; i++)
        *own += (*missing)[i];
    *all = *own;
    return gnn__ranks_total(halo->ranks, all);
}

static int share_parts(gnn__halo_t *halo, const gnn__built_view_t *from, gnn__built_view_t *to)
{
    to->n_parts = from->n_parts;
    to->n_loops = from->n_loops;
    to->degree = from->degree;
    to->mean_pairs = from->mean_pairs;
    GNN_TRY(gnn__graph_own(halo->wide, &to->parts, to->n_parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &to->transposed, to->n_parts, sizeof *to->parts, "parts"));
    for (int64_t p = 0; p < to->n_parts; p++) {
        to->parts[p].pairs = from->parts[p].pairs;
        to->transposed[p].pairs = from->transposed[p].pairs;
    }
    return GNN_OK;
}

/* As in graphs/view.c: inserted into a single part, otherwise one more part. */
static int add_loops(gnn__halo_t *halo, const uint8_t *missing, int64_t own, gnn__built_view_t *to)
{
    const gnn__built_view_t *base = &halo->wide->base;
    const int64_t parts = base->n_parts + (base->n_parts != 1), last = parts - 1;
    const bool inside = base->n_parts == 1;
    int64_t *degree;
    to->n_parts = parts;
    to->n_loops = halo->n_wide;
    GNN_TRY(gnn__graph_own(halo->wide, &to->parts, parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &to->transposed, parts, sizeof *to->parts, "parts"));
    GNN_TRY(gnn__graph_own(halo->wide, &degree, halo->n_wide, sizeof *degree, "degrees"));
    for (int64_t k = 0; k < halo->n_wide; k++)
        degree[k] = base->degree[k] + missing[k];
    to->degree = degree;
    for (int64_t p = 0; p < base->n_parts; p++) {
        to->parts[p].pairs = base->parts[p].pairs;
        to->transposed[p].pairs = base->transposed[p].pairs;
    }
    GNN_TRY(insert_loops(halo, inside ? &base->parts[0].pairs : NULL, missing, own, false,
                         &to->parts[last].pairs));
    return insert_loops(halo, inside ? &base->transposed[0].pairs : NULL, missing, own, true,
                        &to->transposed[last].pairs);
}

static int cut_parts(gnn__halo_t *halo, gnn__built_view_t *to)
{
    uint8_t *missing = NULL;
    int64_t own, all;
    int rc;
    if (to->key.self_loops == GNN_OFF)
        return share_parts(halo, &halo->wide->base, to);
    for (int64_t v = 0; v < halo->wide->n_views; v++)
        if (halo->wide->views[v]->key.self_loops == GNN_ON)
            return share_parts(halo, halo->wide->views[v], to);
    GNN_CHECK(find_missing(halo, &missing, &own, &all));
    GNN_CHECK(all ? add_loops(halo, missing, own, to) : share_parts(halo, &halo->wide->base, to));
    to->mean_pairs = (halo->pairs + all) / gnn__max(halo->ranks->n, 1);
done:
    gnn_free(missing);
    return rc;
}

static int cut_norm(gnn__halo_t *halo, gnn__built_view_t *to)
{
    const bool symmetric = to->key.norm == GNN_GRAPH_NORM_SYMMETRIC;
    gnn_real_t *factor;
    if (to->key.norm == GNN_GRAPH_NORM_NONE)
        return GNN_OK;
    GNN_TRY(gnn__graph_own(halo->wide, &factor, halo->n_wide, sizeof *factor, "degree norm"));
    for (int64_t k = 0; k < halo->n_wide; k++)
        factor[k] = gnn__norm_factor(to->key.norm, to->degree[k]);
    for (int64_t p = 0; p < to->n_parts; p++) {
        to->parts[p].scale_row = to->transposed[p].scale_col = factor;
        to->parts[p].scale_col = to->transposed[p].scale_row = symmetric ? factor : NULL;
    }
    return GNN_OK;
}

/* A collective call where the view is new. */
static int prepare(gnn__halo_t *halo, const gnn_view_t *view)
{
    const gnn_view_t key = {view->self_loops == GNN_ON ? GNN_ON : GNN_OFF,
                            view->norm == GNN_GRAPH_NORM_DEFAULT ? GNN_GRAPH_NORM_NONE : view->norm,
                            GNN_ON};
    gnn_graph_t *wide = halo->wide;
    gnn__built_view_t *built;
    for (int64_t v = 0; v < wide->n_views; v++)
        if (memcmp(&wide->views[v]->key, &key, sizeof key) == 0)
            return GNN_OK;
    GNN_TRY(gnn__room(&wide->views, wide->n_views, &wide->views_room, sizeof *wide->views,
                      "list of views"));
    GNN_TRY(gnn__graph_own(wide, &built, 1, sizeof *built, "view"));
    built->key = key;
    GNN_TRY(cut_parts(halo, built));
    GNN_TRY(cut_norm(halo, built));
    wide->views[wide->n_views++] = built;
    return GNN_OK;
}

/* ---- the whole ---- */

static int cut(gnn__halo_t *halo, incoming_t *in)
{
    const gnn__ranks_t *ranks = halo->ranks;
    halo->n_own = ranks->hi - ranks->lo;
    halo->first = halo->rows->n_dst == ranks->n ? ranks->lo : 0;
    halo->whole = true;
    GNN_TRY(gnn__new(&halo->messages, 2 * (int64_t)ranks->transport->ranks, sizeof *halo->messages,
                     "messages of ranks"));
    GNN_TRY(count_edges_of_all(halo));
    for (int64_t p = 0; p < halo->rows->base.n_parts; p++)
        GNN_TRY(get_incoming(halo, p, &in[p]));
    GNN_TRY(number_nodes(halo, in));
    GNN_TRY(ask_owners(halo));
    GNN_TRY(gnn__graph_new(&halo->wide, halo->n_wide, halo->n_wide, 0));
    halo->wide->n_edges = halo->n_edges;
    halo->wide->wide_of = halo;
    return cut_base(halo, in);
}

int gnn__halo_new(gnn_graph_t **own, const gnn_graph_t *rows, gnn__ranks_t *ranks)
{
    const int64_t parts = rows->base.n_parts;
    gnn__halo_t *halo;
    incoming_t *in = NULL;
    int rc;
    *own = NULL;
    GNN_TRY(check_rows(rows, ranks));
    GNN_TRY(gnn__new(&halo, 1, sizeof *halo, "the halo of a rank"));
    halo->ranks = ranks;
    halo->rows = rows;
    GNN_CHECK(gnn__new(&in, parts, sizeof *in, "edges of ranks"));
    GNN_CHECK(cut(halo, in));
    GNN_CHECK(gnn__graph_new(own, halo->n_own, halo->n_own, 0));
    (*own)->n_edges = halo->n_edges;
    (*own)->halo = halo;
    (*own)->halo_free = free_halo;
    (*own)->halo_prepare = prepare;
    halo = NULL;
done:
    for (int64_t p = 0; in && p < parts; p++)
        gnn_free(in[p].edges);
    gnn_free(in);
    free_halo(halo);
    return rc;
}

/* ---- graphs that calls share ---- */

void gnn__halos_release(gnn__halos_t *halos)
{
    if (!halos || --halos->users > 0)
        return;
    for (int k = 0; halos->own && k < halos->count; k++)
        gnn_graph_free(halos->own[k]);
    gnn_free(halos->own);
    gnn_free(halos->rows);
    gnn_free(halos->book);
    gnn_free(halos);
}

static void release(void *halos)
{
    gnn__halos_release(halos);
}

static bool are_of(const gnn__halos_t *halos, int count, gnn_graph_t *const *rows,
                   uint64_t identity, const gnn__ranks_t *ranks)
{
    bool same = halos && halos->identity == identity && halos->count == count &&
                memcmp(halos->book, ranks->book,
                       sizeof *halos->book * (size_t)(ranks->transport->ranks + 1)) == 0;
    for (int k = 0; same && k < count; k++)
        same = halos->rows[k] == rows[k];
    return same;
}

static int fill(gnn__halos_t *halos, gnn_graph_t *const *rows, gnn__ranks_t *ranks)
{
    const int64_t borders = ranks->transport->ranks + 1;
    GNN_TRY(gnn__new(&halos->book, borders, sizeof *halos->book, "rows of ranks"));
    GNN_TRY(gnn__new(&halos->rows, halos->count, sizeof(gnn_graph_t *), "graphs of a set"));
    GNN_TRY(gnn__new(&halos->own, halos->count, sizeof(gnn_graph_t *), "graphs of a rank"));
    memcpy(halos->book, ranks->book, sizeof *halos->book * (size_t)borders);
    for (int k = 0; k < halos->count; k++) {
        halos->rows[k] = rows[k];
        GNN_TRY(gnn__halo_new(&halos->own[k], rows[k], ranks));
    }
    return GNN_OK;
}

int gnn__halos_of(gnn__halos_t **halos, int count, gnn_graph_t *const *rows, uint64_t identity,
                  gnn__ranks_t *ranks)
{
    gnn__halos_t *made = ranks->kept;
    int64_t missing = !are_of(made, count, rows, identity, ranks);
    GNN_TRY(gnn__ranks_total(ranks, &missing));
    if (missing == 0) {
        made->users++;
        *halos = made;
        return GNN_OK;
    }
    gnn__ranks_keep(ranks, NULL, NULL); /* its memory is free for the new ones */
    GNN_TRY(gnn__new(&made, 1, sizeof *made, "graphs of a rank"));
    made->users = 1;
    made->identity = identity;
    made->count = count;
    const int rc = fill(made, rows, ranks);
    if (rc != GNN_OK) {
        gnn__halos_release(made);
        return rc;
    }
    made->users++;
    gnn__ranks_keep(ranks, made, release);
    *halos = made;
    return GNN_OK;
}
