/* The transport over MPI. Messages are sent in pieces, since MPI counts elements by int; those of
 * two ranks arrive in the order of their exchanges. */
#include <gnn/mpi.h>
#include <gnn/op.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 30, TAG = 1 };

typedef struct {
    gnn_transport_t transport;
    MPI_Comm comm;
    MPI_Request *requests;
    MPI_Status *statuses; /* gcc takes MPICH's MPI_STATUSES_IGNORE for an array that is too short */
    size_t room, travelling; /* requests of started exchanges: the first ones */
    int finalises;           /* this transport initialised MPI */
} mpi_t;

/* The error of a function of MPI, with its message. */
static int failed(int code, const char *what)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    if (code == MPI_SUCCESS)
        return GNN_OK;
    MPI_Error_string(code, text, &length);
    return gnn_op_fail(&(gnn_op_call_t){.where = "MPI"}, GNN_EIO, "%s: %s", what, text);
}

static int no_memory(void)
{
    return gnn_op_fail(&(gnn_op_call_t){.where = "MPI"}, GNN_EMEMORY, "no memory for a transport");
}

static size_t pieces_of(const gnn_bytes_t *message)
{
    return (message->size + PIECE - 1) / PIECE;
}

/* Room for `count` requests; those of started messages stay. */
static int make_room(mpi_t *m, size_t count)
{
    if (count <= m->room)
        return GNN_OK;
    count += count / 2;
    MPI_Request *requests = malloc(count * sizeof *requests);
    MPI_Status *statuses = malloc(count * sizeof *statuses);
    if (!requests || !statuses) {
        free(requests);
        free(statuses);
        return no_memory();
    }
    if (m->room)
        memcpy(requests, m->requests, m->travelling * sizeof *requests);
    free(m->requests);
    free(m->statuses);
    m->requests = requests;
    m->statuses = statuses;
    m->room = count;
    return GNN_OK;
}

/* Starts all pieces of a message to or from rank r. */
static int start_message(mpi_t *m, int r, const gnn_bytes_t *message, int sends, size_t *count)
{
    for (size_t at = 0; at < message->size; at += PIECE) {
        const size_t left = message->size - at;
        const int bytes = (int)(left < PIECE ? left : PIECE);
        char *data = (char *)message->data + at;
        MPI_Request *request = &m->requests[(*count)++];
        const int rc = sends ? MPI_Isend(data, bytes, MPI_BYTE, r, TAG, m->comm, request)
                             : MPI_Irecv(data, bytes, MPI_BYTE, r, TAG, m->comm, request);
        if (rc != MPI_SUCCESS)
            return failed(rc, sends ? "MPI_Isend" : "MPI_Irecv");
    }
    return GNN_OK;
}

/* Starts an exchange; its requests are those from m->travelling to *count - 1. */
static int start_all(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive,
                     size_t *count)
{
    mpi_t *m = t->user;
    *count = m->travelling;
    for (int r = 0; r < t->ranks; r++)
        *count += pieces_of(&send[r]) + pieces_of(&receive[r]);
    int rc = make_room(m, *count);
    *count = m->travelling;
    for (int r = 0; r < t->ranks && rc == GNN_OK; r++)
        rc = start_message(m, r, &receive[r], 0, count);
    for (int r = 0; r < t->ranks && rc == GNN_OK; r++) {
        rc = start_message(m, r, &send[r], 1, count);
        if (r != t->rank && send[r].size) {
            t->bytes += (int64_t)send[r].size;
            t->messages++;
        }
    }
    return rc;
}

static int exchange(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    mpi_t *m = t->user;
    size_t count;
    GNN_TRY(start_all(t, send, receive, &count));
    return failed(MPI_Waitall((int)(count - m->travelling), m->requests + m->travelling, m->statuses),
                  "MPI_Waitall");
}

static int start(gnn_transport_t *t, const gnn_bytes_t *send, const gnn_bytes_t *receive)
{
    size_t count;
    GNN_TRY(start_all(t, send, receive, &count));
    ((mpi_t *)t->user)->travelling = count;
    return GNN_OK;
}

/* Without a thread of its own MPI moves large messages on in its functions alone. */
static int advance(gnn_transport_t *t)
{
    mpi_t *m = t->user;
    int done;
    return failed(MPI_Testall((int)m->travelling, m->requests, &done, m->statuses), "MPI_Testall");
}

static int finish(gnn_transport_t *t)
{
    mpi_t *m = t->user;
    const int count = (int)m->travelling;
    m->travelling = 0;
    return failed(MPI_Waitall(count, m->requests, m->statuses), "MPI_Waitall");
}

static void release(gnn_transport_t *t)
{
    mpi_t *m = t->user;
    const int finalises = m->finalises;
    MPI_Comm_free(&m->comm);
    free(m->requests);
    free(m->statuses);
    free(m);
    if (finalises)
        MPI_Finalize();
}

/* MPI is initialised with MPI_THREAD_FUNNELED: calls come from the thread of the context. */
static int initialise(int *finalises)
{
    int done = 0, level;
    *finalises = 0;
    GNN_TRY(failed(MPI_Initialized(&done), "MPI_Initialized"));
    if (done)
        return GNN_OK;
    *finalises = 1;
    return failed(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level), "MPI_Init_thread");
}

int gnn_transport_mpi(gnn_transport_t **transport)
{
    if (!transport)
        return gnn_op_fail(&(gnn_op_call_t){.where = "MPI"}, GNN_EINVALID,
                           "gnn_transport_mpi: transport is NULL");
    mpi_t *m = calloc(1, sizeof *m);
    if (!m)
        return no_memory();
    int rc = initialise(&m->finalises);
    if (rc == GNN_OK)
        rc = failed(MPI_Comm_dup(MPI_COMM_WORLD, &m->comm), "MPI_Comm_dup");
    if (rc != GNN_OK) {
        free(m);
        return rc;
    }
    MPI_Comm_set_errhandler(m->comm, MPI_ERRORS_RETURN);
    m->transport = (gnn_transport_t){.name = "mpi",
                                     .exchange = exchange,
                                     .start = start,
                                     .advance = advance,
                                     .finish = finish,
                                     .release = release,
                                     .user = m};
    MPI_Comm_rank(m->comm, &m->transport.rank);
    MPI_Comm_size(m->comm, &m->transport.ranks);
    *transport = &m->transport;
    return GNN_OK;
}
