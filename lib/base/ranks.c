/* Collective calls and sums over slices. Each call begins with a meeting, in which ranks exchange a
 * name of the call, an error code and a value: a rank with an error meets the others at whatever
 * call they have reached, and all end with its error. */
#include <lib/base/ranks.h>

enum { MESSAGE = 512 };

/* ---- opening and closing ---- */

static void leave(gnn__ranks_t *ranks);

void gnn__ranks_free(gnn__ranks_t *ranks)
{
    if (!ranks)
        return;
    leave(ranks);
    gnn__ranks_keep(ranks, NULL, NULL);
    for (int k = 0; k < GNN__FLIGHTS; k++) {
        gnn_free(ranks->flights[k].messages);
        gnn_free(ranks->flights[k].sent);
        gnn_free(ranks->flights[k].taken);
    }
    gnn_free(ranks->book);
    gnn_free(ranks->messages);
    gnn_free(ranks->sums);
    gnn_free(ranks->packed);
    gnn_free(ranks->partial);
    gnn_free(ranks);
}

static int make(gnn__ranks_t **made, gnn_transport_t *transport)
{
    int rc;
    gnn__ranks_t *ranks;
    GNN_TRY(gnn__new(&ranks, 1, sizeof *ranks, "a context's ranks"));
    ranks->transport = transport;
    GNN_CHECK(gnn__new(&ranks->book, transport->ranks + 1, sizeof *ranks->book, "rows of ranks"));
    GNN_CHECK(gnn__new(&ranks->messages, 2 * (int64_t)transport->ranks, sizeof *ranks->messages,
                       "messages of ranks"));
    *made = ranks;
    return GNN_OK;
done:
    gnn__ranks_free(ranks);
    return rc;
}

int gnn_context_set_ranks(gnn_context_t *context, gnn_transport_t *transport)
{
    gnn__ranks_t *made = NULL;
    GNN__NEED(context);
    if (transport &&
        (transport->ranks < 1 || transport->rank < 0 || transport->rank >= transport->ranks ||
         !transport->exchange || (transport->start && !transport->finish)))
        return gnn__error(GNN_EINVALID, "gnn_context_set_ranks: rank %d of %d%s", transport->rank,
                          transport->ranks,
                          !transport->exchange                     ? " without exchange"
                          : transport->start && !transport->finish ? " with start, without finish"
                                                                   : "");
    if (transport)
        GNN_TRY(make(&made, transport));
    gnn__ranks_free(context->ranks);
    context->ranks = made;
    context->deterministic |= made != NULL;
    return GNN_OK;
}

void gnn__slice_book(int64_t n, int64_t ranks, const int64_t *before, int64_t *book)
{
    const int64_t slices = (n + GNN_SLICE - 1) / GNN_SLICE;
    int64_t rank = 1;
    book[0] = 0;
    for (int64_t s = 0; s < slices; s++)
        for (; rank < ranks; rank++) {
            const double share = (double)before[slices] / (double)ranks * (double)rank,
                         left = share - (double)before[s], right = (double)before[s + 1] - share;
            if (right < 0)
                break;
            book[rank] = right <= left ? gnn__min(n, (s + 1) * GNN_SLICE) : s * GNN_SLICE;
        }
    for (; rank <= ranks; rank++)
        book[rank] = n;
}

static void take_rows(gnn__ranks_t *ranks, int64_t n)
{
    ranks->n = n;
    ranks->lo = ranks->book[ranks->transport->rank];
    ranks->hi = ranks->book[ranks->transport->rank + 1];
    ranks->split = true;
}

void gnn__ranks_take_book(gnn__ranks_t *ranks, int64_t n, const int64_t *book)
{
    memcpy(ranks->book, book, sizeof *book * (size_t)(ranks->transport->ranks + 1));
    take_rows(ranks, n);
}

int gnn__ranks_split_rows(gnn__ranks_t *ranks, int64_t n, const int64_t *degree)
{
    int64_t *before;
    GNN_TRY(gnn__new(&before, n / GNN_SLICE + 2, sizeof *before, "rows of ranks"));
    for (int64_t i = 0, sum = 0; i < n; i++) {
        sum += GNN__NODE_COST + degree[i];
        before[i / GNN_SLICE + 1] = sum;
    }
    gnn__slice_book(n, ranks->transport->ranks, before, ranks->book);
    gnn_free(before);
    take_rows(ranks, n);
    return GNN_OK;
}

/* ---- meetings ---- */

/* The same 32 bytes in every version of the library. */
typedef struct {
    int32_t code;
    uint32_t version;
    char call[16];
    int64_t value; /* of calls that need no other message */
} hello_t;

/* Precision, major, minor, patch: 2, 10, 10, 10 bits. */
static uint32_t own_version(void)
{
    return (uint32_t)(GNN_DOUBLE + 1) << 30 | GNN_VERSION_MAJOR << 20 | GNN_VERSION_MINOR << 10 |
           GNN_VERSION_PATCH;
}

static void version_text(char text[60], uint32_t version)
{
    static const char *const precisions[] = {"an older version", "float", "double", "unknown"};
    snprintf(text, 60, "%u.%u.%u (%s)", version >> 20 & 1023, version >> 10 & 1023, version & 1023,
             precisions[version >> 30]);
}

static int transport_failed(gnn__ranks_t *ranks, int rc)
{
    ranks->ended = ranks->broken = ranks->failed = true;
    return gnn__error_prefix(rc, "transport %s, rank %d", ranks->transport->name,
                             ranks->transport->rank);
}

/* receive[r] = r's `own`, each of `bytes` bytes. */
static int all_to_all(gnn__ranks_t *ranks, void *own, size_t bytes, void *all)
{
    gnn_transport_t *t = ranks->transport;
    for (int r = 0; r < t->ranks; r++) {
        ranks->messages[r] = (gnn_bytes_t){own, bytes};
        ranks->messages[t->ranks + r] = (gnn_bytes_t){(char *)all + (size_t)r * bytes, bytes};
    }
    const int rc = t->exchange(t, ranks->messages, ranks->messages + t->ranks);
    return rc == GNN_OK ? rc : transport_failed(ranks, rc);
}

static const char leaves[] = "leave";

static bool is_leaving(const hello_t *hello)
{
    return strcmp(hello->call, leaves) == 0;
}

/* The error of a rank whose call is not that of rank r. */
static int calls_differ(gnn__ranks_t *ranks, const hello_t *own, const hello_t *other, int r)
{
    ranks->ended = true;
    if (is_leaving(own))
        return GNN_OK;
    if (!is_leaving(other))
        return gnn__error(GNN_EINVALID, "ranks differ: rank %d is at \"%.16s\", rank %d at \"%.16s\"",
                          ranks->transport->rank, own->call, r, other->call);
    return gnn__error(GNN_EINVALID,
                      "ranks: rank %d has freed its context, perhaps after an error of its own, "
                      "while rank %d is at \"%.16s\"",
                      r, ranks->transport->rank, own->call);
}

/* Ends all calls if a rank runs another library, which may send other messages. */
static int check_versions(gnn__ranks_t *ranks, const hello_t *hellos)
{
    for (int r = 1; r < ranks->transport->ranks; r++)
        if (hellos[r].version != hellos[0].version) {
            char first[60], other[60];
            version_text(first, hellos[0].version);
            version_text(other, hellos[r].version);
            ranks->ended = ranks->broken = true;
            return gnn__error(GNN_EINVALID,
                              "ranks 0 and %d run different versions of libgnn: %s and %s", r,
                              first, other);
        }
    return GNN_OK;
}

/* Ends the call on all ranks with the error of the lowest rank that has one. */
static int end_all(gnn__ranks_t *ranks, const hello_t *hellos, int rank)
{
    const int size = ranks->transport->ranks, own = ranks->transport->rank;
    char text[MESSAGE] = "", *all;
    const int code = hellos[rank].code;
    if (hellos[own].code != GNN_OK)
        snprintf(text, sizeof text, "%s", gnn_error_message());
    GNN_TRY(gnn__ranks_packed(ranks, (size_t)size * MESSAGE, &all));
    GNN_TRY(all_to_all(ranks, text, MESSAGE, all));
    ranks->ended = true;
    if (rank == own)
        return gnn__error(code, "%s", text);
    return gnn__error(code, "rank %d: %s", rank, all + (size_t)rank * MESSAGE);
}

/* *values = those of all ranks, until the next collective call. */
static int meet_with(gnn__ranks_t *ranks, const char *call, int rc, int64_t value,
                     const hello_t **values)
{
    const int size = ranks->transport->ranks;
    hello_t own = {.code = rc, .version = own_version(), .value = value}, *all;
    char *memory;
    if (ranks->broken)
        return gnn__error(GNN_EINVALID, "ranks: a rank has left, or the transport has failed");
    snprintf(own.call, sizeof own.call, "%s", call);
    GNN_TRY(gnn__ranks_packed(ranks, (size_t)size * gnn__max(sizeof own, MESSAGE), &memory));
    all = (hello_t *)(void *)memory;
    GNN_TRY(all_to_all(ranks, &own, sizeof own, all));
    GNN_TRY(check_versions(ranks, all));
    for (int r = 0; r < size; r++)
        ranks->broken |= is_leaving(&all[r]) && !is_leaving(&own);
    for (int r = 0; r < size; r++)
        if (all[r].code != GNN_OK)
            return end_all(ranks, all, r);
    for (int r = 0; r < size; r++)
        if (strncmp(all[r].call, own.call, sizeof own.call) != 0)
            return calls_differ(ranks, &own, &all[r], r);
    *values = all;
    return GNN_OK;
}

static int meet(gnn__ranks_t *ranks, const char *call, int rc)
{
    const hello_t *values;
    return meet_with(ranks, call, rc, 0, &values);
}

/* A last meeting: ranks that are still at a call get an error there, where they would wait for
 * ever. */
static void leave(gnn__ranks_t *ranks)
{
    char kept[MESSAGE];
    if (ranks->transport->ranks == 1 || ranks->broken)
        return;
    snprintf(kept, sizeof kept, "%s", gnn_error_message()); /* the program may print it later */
    (void)meet(ranks, leaves, GNN_OK);
    gnn__set_message("%s", kept);
}

void gnn__ranks_keep(gnn__ranks_t *ranks, void *kept, void (*release)(void *kept))
{
    if (ranks->kept)
        ranks->release_kept(ranks->kept);
    ranks->kept = kept;
    ranks->release_kept = release;
}

int gnn__ranks_open(const gnn_context_t *context, gnn__ranks_outer_t *outer)
{
    gnn__ranks_t *ranks = context->ranks;
    int rc = GNN_OK;
    *outer = (gnn__ranks_outer_t){0};
    if (!ranks)
        return GNN_OK;
    ranks->depth++;
    if (ranks->split) {
        int64_t *book = NULL;
        *outer = (gnn__ranks_outer_t){.split = true,
                                      .own_call = ranks->own_call,
                                      .n = ranks->n,
                                      .lo = ranks->lo,
                                      .hi = ranks->hi,
                                      .n_own = ranks->n_own,
                                      .own = ranks->own};
        rc = gnn__new(&book, ranks->transport->ranks + 1, sizeof *book, "rows of ranks");
        if (rc == GNN_OK) {
            outer->book = ranks->book;
            ranks->book = book;
        }
    }
    ranks->ended = ranks->split = ranks->own_call = false;
    ranks->n_own = 0;
    return rc;
}

static void go_on(gnn__ranks_t *ranks, gnn__ranks_outer_t *outer)
{
    ranks->split = outer->split;
    ranks->own_call = outer->own_call;
    ranks->n = outer->n;
    ranks->lo = outer->lo;
    ranks->hi = outer->hi;
    ranks->n_own = outer->n_own;
    ranks->own = outer->own;
    if (outer->book) {
        gnn_free(ranks->book);
        ranks->book = outer->book;
    }
    if (--ranks->depth > 0) /* the error is that of the inner call */
        ranks->ended = false;
}

int gnn__ranks_close(const gnn_context_t *context, gnn__ranks_outer_t *outer, int rc)
{
    gnn__ranks_t *ranks = context->ranks;
    if (!ranks)
        return rc;
    const int travels = gnn__ranks_arrive(ranks);
    rc = rc == GNN_OK ? travels : rc;
    if (!ranks->ended)
        rc = meet(ranks, "end", rc);
    if (rc != GNN_OK)
        gnn__ranks_keep(ranks, NULL, NULL);
    go_on(ranks, outer);
    return rc;
}

/* ---- calls of programs ---- */

int gnn_ranks_agree(gnn_context_t *context, int code)
{
    GNN__NEED(context);
    if (!context->ranks || context->ranks->broken)
        return code;
    gnn__ranks_outer_t outer;
    const int rc = gnn__ranks_open(context, &outer);
    return gnn__ranks_close(context, &outer, code == GNN_OK ? rc : code);
}

static int sum_of_ranks(gnn__ranks_t *ranks, int64_t count, double *values)
{
    const int size = ranks->transport->ranks;
    double *all;
    int64_t rows;
    if (count < 0 || !gnn__mul(size, count, &rows))
        return gnn__error(GNN_EINVALID, "gnn_ranks_sum: expected a count from 0, got %lld",
                          (long long)count);
    GNN_TRY(gnn__ranks_same(ranks, "counts of values", (uint64_t)count));
    GNN_TRY(gnn__new(&all, rows, sizeof *all, "values of ranks"));
    const int rc = gnn__ranks_gather(ranks, values, NULL, sizeof *all * (size_t)count, all);
    for (int64_t k = 0; k < count && rc == GNN_OK; k++) {
        values[k] = 0;
        for (int r = 0; r < size; r++)
            values[k] += all[r * count + k];
    }
    gnn_free(all);
    return rc;
}

int gnn_ranks_sum(gnn_context_t *context, int64_t count, double *values)
{
    GNN__NEED(context);
    GNN__NEED(values);
    if (!context->ranks)
        return GNN_OK;
    gnn__ranks_outer_t outer;
    int rc = gnn__ranks_open(context, &outer);
    if (rc == GNN_OK)
        rc = sum_of_ranks(context->ranks, count, values);
    return gnn__ranks_close(context, &outer, rc);
}

/* ---- collective calls ---- */

int gnn__ranks_packed(gnn__ranks_t *ranks, size_t bytes, char **packed)
{
    GNN_TRY(gnn__reserve(&ranks->packed, &ranks->packed_room, (int64_t)bytes, 1, "rows of ranks"));
    *packed = ranks->packed;
    return GNN_OK;
}

int gnn__ranks_exchange(gnn__ranks_t *ranks, const char *call, const gnn_bytes_t *send,
                        const gnn_bytes_t *receive)
{
    GNN_TRY(meet(ranks, call, GNN_OK));
    const int rc = ranks->transport->exchange(ranks->transport, send, receive);
    return rc == GNN_OK ? rc : transport_failed(ranks, rc);
}

/* ---- exchanges that travel ---- */

static void unpack_flight(const gnn__flight_t *flight)
{
    for (int64_t k = 0; k < flight->rows; k++)
        memcpy(flight->to + (size_t)k * flight->stride, flight->taken + (size_t)k * flight->bytes,
               flight->bytes);
    for (int64_t k = 0; flight->kept && k < flight->n_kept; k++)
        memcpy(flight->kept + (size_t)k * flight->bytes, flight->to + (size_t)k * flight->stride,
               flight->bytes);
}

int gnn__ranks_arrive(gnn__ranks_t *ranks)
{
    gnn_transport_t *t = ranks->transport;
    const int count = ranks->n_flights;
    ranks->n_flights = 0;
    if (count == 0 || ranks->failed)
        return GNN_OK; /* a transport that failed has given its error */
    const int rc = t->finish(t);
    for (int k = 0; k < count && rc == GNN_OK; k++)
        unpack_flight(&ranks->flights[k]);
    return rc == GNN_OK ? rc : transport_failed(ranks, rc);
}

int gnn__ranks_advance(gnn__ranks_t *ranks)
{
    gnn_transport_t *t = ranks->transport;
    const int rc = ranks->n_flights > 0 && t->advance ? t->advance(t) : GNN_OK;
    return rc == GNN_OK ? rc : transport_failed(ranks, rc);
}

int gnn__ranks_flight(gnn__ranks_t *ranks, gnn__flight_t **flight)
{
    if (ranks->n_flights == GNN__FLIGHTS)
        GNN_TRY(gnn__ranks_arrive(ranks));
    gnn__flight_t *next = &ranks->flights[ranks->n_flights];
    if (!next->messages)
        GNN_TRY(gnn__new(&next->messages, 2 * (int64_t)ranks->transport->ranks,
                         sizeof *next->messages, "messages of ranks"));
    *flight = next;
    return GNN_OK;
}

int gnn__ranks_start(gnn__ranks_t *ranks, const char *call, gnn__flight_t *flight)
{
    gnn_transport_t *t = ranks->transport;
    const gnn_bytes_t *send = flight->messages, *receive = send + t->ranks;
    GNN_TRY(meet(ranks, call, GNN_OK));
    const int rc = t->start ? t->start(t, send, receive) : t->exchange(t, send, receive);
    if (rc != GNN_OK)
        return transport_failed(ranks, rc);
    if (t->start)
        ranks->n_flights++;
    else
        unpack_flight(flight);
    return GNN_OK;
}

/* gnn__ranks_gather after the meeting. */
static int gather(gnn__ranks_t *ranks, const void *own, const size_t *counts, size_t bytes, void *all)
{
    const int size = ranks->transport->ranks;
    gnn_bytes_t *send = ranks->messages, *receive = send + size;
    char *at = all;
    for (int r = 0; r < size; r++) {
        union {
            const void *from;
            void *data;
        } block = {.from = own};
        send[r] = (gnn_bytes_t){block.data, bytes * (counts ? counts[ranks->transport->rank] : 1)};
        receive[r] = (gnn_bytes_t){at, bytes * (counts ? counts[r] : 1)};
        at += receive[r].size;
    }
    const int rc = ranks->transport->exchange(ranks->transport, send, receive);
    return rc == GNN_OK ? rc : transport_failed(ranks, rc);
}

int gnn__ranks_gather(gnn__ranks_t *ranks, const void *own, const size_t *counts, size_t bytes,
                      void *all)
{
    GNN_TRY(meet(ranks, "gather", GNN_OK));
    return gather(ranks, own, counts, bytes, all);
}

int gnn__ranks_total(gnn__ranks_t *ranks, int64_t *value)
{
    const hello_t *all;
    GNN_TRY(meet_with(ranks, "total", GNN_OK, *value, &all));
    *value = 0;
    for (int r = 0; r < ranks->transport->ranks; r++)
        *value += all[r].value;
    return GNN_OK;
}

int gnn__ranks_same(gnn__ranks_t *ranks, const char *what, uint64_t value)
{
    const hello_t *all;
    GNN_TRY(meet_with(ranks, "same", GNN_OK, (int64_t)value, &all));
    for (int r = 0; r < ranks->transport->ranks; r++)
        if (all[r].value != all[0].value) {
            ranks->ended = true;
            return gnn__error(GNN_EINVALID, "ranks 0 and %d have different %s", r, what);
        }
    return GNN_OK;
}

int gnn__ranks_share(gnn__ranks_t *ranks, int rc)
{
    if (ranks->ended)
        return rc;
    return meet(ranks, "share", rc);
}

int gnn__ranks_rows(gnn__ranks_t *ranks, const void *own, size_t bytes, void *all)
{
    const int size = ranks->transport->ranks;
    size_t *counts;
    GNN_TRY(gnn__new(&counts, size, sizeof *counts, "sizes of messages"));
    for (int r = 0; r < size; r++)
        counts[r] = (size_t)(ranks->book[r + 1] - ranks->book[r]);
    const int rc = gnn__ranks_gather(ranks, own, counts, bytes, all);
    gnn_free(counts);
    return rc;
}

/* ---- sums over slices ---- */

gnn__slice_sums_t gnn__slice_sums(gnn__ranks_t *ranks, int64_t count)
{
    return (gnn__slice_sums_t){.ranks = ranks, .count = count};
}

/* Room for `depth` blocks, whose contents are kept. */
static int make_room(const gnn__slice_sums_t *sums, int64_t depth)
{
    gnn__ranks_t *ranks = sums->ranks;
    int64_t needed;
    if (!gnn__mul(depth, sums->count, &needed))
        return gnn__error(GNN_EOVERFLOW, "sums of %lld values overflow", (long long)sums->count);
    if (needed <= ranks->sums_room)
        return GNN_OK;
    needed += needed / 2;
    GNN_TRY(
        gnn__grow(&ranks->sums, ranks->sums_room, needed, sizeof *ranks->sums, "sums over slices"));
    ranks->sums_room = needed;
    return GNN_OK;
}

int gnn__slice_sums_next(gnn__slice_sums_t *sums, double **block)
{
    GNN_TRY(make_room(sums, sums->depth + 1));
    *block = sums->ranks->sums + sums->depth * sums->count;
    memset(*block, 0, sizeof **block * (size_t)sums->count);
    return GNN_OK;
}

/* Adds the last block to the one before it. */
static void add_last(gnn__slice_sums_t *sums)
{
    const int k = --sums->depth;
    double *to = sums->ranks->sums + (k - 1) * sums->count;
    for (int64_t c = 0; c < sums->count; c++)
        to[c] += to[sums->count + c];
    sums->at[k - 1].level++;
    sums->at[k - 1].index /= 2;
}

/* Adds up pairs of siblings at the end of the list. */
static void add_siblings(gnn__slice_sums_t *sums)
{
    while (sums->depth > 1) {
        const int64_t left = sums->at[sums->depth - 2].index;
        if (sums->at[sums->depth - 2].level != sums->at[sums->depth - 1].level || left % 2 != 0 ||
            sums->at[sums->depth - 1].index != left + 1)
            return;
        add_last(sums);
    }
}

static void push(gnn__slice_sums_t *sums, int64_t level, int64_t index)
{
    sums->at[sums->depth].level = level;
    sums->at[sums->depth++].index = index;
    add_siblings(sums);
}

void gnn__slice_sums_add(gnn__slice_sums_t *sums, int64_t slice)
{
    push(sums, 0, slice);
}

/* The last slices of all lack siblings: their nodes move up until they have one. */
static void add_rest(gnn__slice_sums_t *sums)
{
    while (sums->depth > 1) {
        const int k = sums->depth - 1;
        if (sums->at[k].level == sums->at[k - 1].level) {
            add_last(sums);
        } else {
            sums->at[k].level++;
            sums->at[k].index /= 2;
        }
    }
}

/* The header of a block in a message. */
typedef struct {
    int64_t level, index;
} place_t;

static void pack(const gnn__slice_sums_t *sums, char *to)
{
    const size_t bytes = sizeof(double) * (size_t)sums->count;
    for (int k = 0; k < sums->depth; k++) {
        const place_t place = {sums->at[k].level, sums->at[k].index};
        memcpy(to, &place, sizeof place);
        memcpy(to + sizeof place, sums->ranks->sums + k * sums->count, bytes);
        to += sizeof place + bytes;
    }
}

static int unpack(gnn__slice_sums_t *sums, const char *from, int64_t blocks)
{
    const size_t bytes = sizeof(double) * (size_t)sums->count;
    sums->depth = 0;
    for (int64_t k = 0; k < blocks; k++) {
        place_t place;
        double *block;
        memcpy(&place, from, sizeof place);
        GNN_TRY(gnn__slice_sums_next(sums, &block));
        memcpy(block, from + sizeof place, bytes);
        push(sums, place.level, place.index);
        from += sizeof place + bytes;
    }
    return GNN_OK;
}

/* Gathers the blocks of all ranks; *blocks is their count. */
static int gather_blocks(gnn__slice_sums_t *sums, char **all, int64_t *blocks)
{
    gnn__ranks_t *ranks = sums->ranks;
    const int size = ranks->transport->ranks;
    const size_t block = sizeof(place_t) + sizeof(double) * (size_t)sums->count;
    const size_t own = (size_t)sums->depth * block;
    const hello_t *depths;
    size_t *sizes;
    char *memory;
    int rc;
    GNN_TRY(gnn__new(&sizes, size, sizeof *sizes, "sizes of messages"));
    GNN_CHECK(meet_with(ranks, "sums", GNN_OK, sums->depth, &depths));
    *blocks = 0;
    for (int r = 0; r < size; r++) {
        sizes[r] = (size_t)depths[r].value * block;
        *blocks += depths[r].value;
    }
    GNN_CHECK(gnn__ranks_packed(ranks, own + (size_t)*blocks * block, &memory));
    pack(sums, memory);
    *all = memory + own;
    rc = gather(ranks, memory, sizes, 1, *all);
done:
    gnn_free(sizes);
    return rc;
}

int gnn__slice_sums_end(gnn__slice_sums_t *sums, const double **total)
{
    char *all;
    int64_t blocks;
    if (sums->ranks->transport->ranks > 1) {
        GNN_TRY(gather_blocks(sums, &all, &blocks));
        GNN_TRY(unpack(sums, all, blocks));
    }
    if (sums->depth == 0) {
        double *zeros;
        GNN_TRY(gnn__slice_sums_next(sums, &zeros));
        sums->depth = 1;
    }
    add_rest(sums);
    *total = sums->ranks->sums;
    return GNN_OK;
}
