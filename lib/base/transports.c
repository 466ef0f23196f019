/* The transport without MPI: ranks that are threads of one process. */
#include <lib/base/ranks.h>

#include <pthread.h>
#include <unistd.h>

void gnn_transport_free(gnn_transport_t *transport)
{
    if (transport && transport->release)
        transport->release(transport);
}

/* ---- threads of one process ---- */

/* Exchanges of a rank that may be under way at a time. */
enum { ROUNDS = 32 };

/* Shared by the ranks, which make the same exchanges, the rounds, in the same order: each posts its
 * messages, waits until all have, copies what is for it, and waits until all have copied before its
 * messages may change. Counts of round k, those of earlier rounds of its place included: all ranks
 * have posted at (k / ROUNDS + 1) * ranks. */
typedef struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    const gnn_bytes_t **posts; /* (ROUNDS x ranks) */
    int64_t posted[ROUNDS], copied[ROUNDS];
    int ranks, users;
} hall_t;

typedef struct {
    gnn_transport_t transport;
    hall_t *hall;
    const gnn_bytes_t *receive[ROUNDS];
    int64_t started, finished; /* rounds */
    uint64_t state;            /* of delays; 0: none */
} seat_t;

/* xorshift64 */
static uint64_t next_random(seat_t *seat)
{
    seat->state ^= seat->state << 13;
    seat->state ^= seat->state >> 7;
    seat->state ^= seat->state << 17;
    return seat->state;
}

static void sleep_a_little(seat_t *seat)
{
    if (seat->state)
        usleep((useconds_t)(next_random(seat) % 1000));
}

static int copy_message(const seat_t *seat, const gnn_bytes_t *const *posts, int from,
                        const gnn_bytes_t *receive)
{
    const int rank = seat->transport.rank;
    const gnn_bytes_t *sent = &posts[from][rank];
    if (sent->size != receive[from].size)
        return gnn__error(GNN_EINVALID, "rank %d sends %zu bytes to rank %d, which expects %zu",
                          from, sent->size, rank, receive[from].size);
    if (sent->size)
        memcpy(receive[from].data, sent->data, sent->size);
    return GNN_OK;
}

/* Adds this rank to the count of a round. */
static void join(hall_t *hall, int64_t *counts, int64_t round)
{
    pthread_mutex_lock(&hall->lock);
    if (++counts[round % ROUNDS] % hall->ranks == 0)
        pthread_cond_broadcast(&hall->changed);
    pthread_mutex_unlock(&hall->lock);
}

/* Waits until all ranks have joined. */
static void wait_for_all(hall_t *hall, const int64_t *counts, int64_t round)
{
    pthread_mutex_lock(&hall->lock);
    while (counts[round % ROUNDS] < (round / ROUNDS + 1) * hall->ranks)
        pthread_cond_wait(&hall->changed, &hall->lock);
    pthread_mutex_unlock(&hall->lock);
}

static int finish_round(seat_t *seat)
{
    hall_t *hall = seat->hall;
    const int64_t round = seat->finished++;
    const gnn_bytes_t *const *posts = hall->posts + round % ROUNDS * hall->ranks;
    const int shift = seat->state ? (int)(next_random(seat) % (uint64_t)hall->ranks) : 0;
    int rc = GNN_OK;
    sleep_a_little(seat);
    wait_for_all(hall, hall->posted, round);
    for (int k = 0; k < hall->ranks; k++) {
        const int one =
            copy_message(seat, posts, (k + shift) % hall->ranks, seat->receive[round % ROUNDS]);
        rc = rc == GNN_OK ? one : rc;
    }
    join(hall, hall->copied, round);
    wait_for_all(hall, hall->copied, round);
    return rc;
}

static int finish_threads(gnn_transport_t *t)
{
    seat_t *seat = t->user;
    int rc = GNN_OK;
    while (seat->finished < seat->started) {
        const int one = finish_round(seat);
        rc = rc == GNN_OK ? one : rc;
    }
    return rc;
}

static int start_threads(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    seat_t *seat = t->user;
    hall_t *hall = seat->hall;
    if (seat->started - seat->finished >= ROUNDS / 2) /* others may be as many rounds late */
        GNN_TRY(finish_threads(t));
    const int64_t round = seat->started++;
    sleep_a_little(seat);
    for (int r = 0; r < t->ranks; r++)
        if (r != t->rank && send[r].size) {
            t->bytes += (int64_t)send[r].size;
            t->messages++;
        }
    seat->receive[round % ROUNDS] = receive;
    hall->posts[round % ROUNDS * hall->ranks + t->rank] = send;
    join(hall, hall->posted, round);
    return GNN_OK;
}

static int exchange_threads(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    GNN_TRY(start_threads(t, send, receive));
    return finish_threads(t);
}

static void release_hall(hall_t *hall)
{
    pthread_cond_destroy(&hall->changed);
    pthread_mutex_destroy(&hall->lock);
    gnn_free(hall->posts);
    gnn_free(hall);
}

static void release_seat(gnn_transport_t *t)
{
    seat_t *seat = t->user;
    hall_t *hall = seat->hall;
    pthread_mutex_lock(&hall->lock);
    const int left = --hall->users;
    pthread_mutex_unlock(&hall->lock);
    if (left == 0)
        release_hall(hall);
    gnn_free(seat);
}

static int new_hall(hall_t **made, int ranks)
{
    hall_t *hall;
    GNN_TRY(gnn__new(&hall, 1, sizeof *hall, "ranks of threads"));
    const int rc =
        gnn__new(&hall->posts, ROUNDS * (int64_t)ranks, sizeof *hall->posts, "ranks of threads");
    if (rc != GNN_OK) {
        gnn_free(hall);
        return rc;
    }
    hall->ranks = ranks;
    if (pthread_mutex_init(&hall->lock, NULL) != 0 || pthread_cond_init(&hall->changed, NULL) != 0) {
        gnn_free(hall->posts);
        gnn_free(hall);
        return gnn__error(GNN_EMEMORY, "the system has no lock for %d threads", ranks);
    }
    *made = hall;
    return GNN_OK;
}

int gnn_transport_threads(gnn_transport_t **transports, int ranks, uint64_t delays)
{
    hall_t *hall;
    GNN__NEED(transports);
    if (ranks < 1 || ranks > 1024)
        return gnn__error(GNN_EINVALID, "gnn_transport_threads: expected 1 to 1024 ranks, got %d",
                          ranks);
    GNN_TRY(new_hall(&hall, ranks));
    for (int r = 0; r < ranks; r++) {
        seat_t *seat;
        const int rc = gnn__new(&seat, 1, sizeof *seat, "a rank of threads");
        if (rc != GNN_OK) {
            if (r == 0)
                release_hall(hall);
            while (r-- > 0)
                gnn_transport_free(transports[r]);
            return rc;
        }
        hall->users++;
        seat->hall = hall;
        seat->state = delays ? delays * 0x9E3779B97F4A7C15u + (uint64_t)r + 1 : 0;
        seat->transport = (gnn_transport_t){.name = "threads",
                                            .rank = r,
                                            .ranks = ranks,
                                            .exchange = exchange_threads,
                                            .start = start_threads,
                                            .finish = finish_threads,
                                            .release = release_seat,
                                            .user = seat};
        transports[r] = &seat->transport;
    }
    return GNN_OK;
}
