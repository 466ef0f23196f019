/* Calls of igraph: lock, handlers, messages; and the registration with the core library. */
#include <graphs/igraph/call.h>

#include <errno.h>
#include <pthread.h>

/* ---- registration ---- */

static _Atomic(const gnn__igraph_services_t *) core;

const gnn__igraph_services_t *gnn__igraph_core(void)
{
    return core;
}

int gnn_igraph_use(void)
{
    static const gnn__igraph_functions_t own = {gnn__igraph_read, gnn__igraph_write_graphml,
                                                gnn__igraph_eigenvectors};
    const gnn__igraph_services_t *services;
    if (core)
        return GNN_OK;
    GNN_TRY(gnn_igraph_register(GNN__IGRAPH_BUILD, &own, &services));
    core = services;
    return GNN_OK;
}

/* ---- calls ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char message[256]; /* of the first error since gnn__igraph_enter; guarded by the lock */

/* igraph calls this at every level that an error passes through, the outer ones without a reason:
 * the first call counts. */
static void remember_error(const char *reason, const char *file, int line, igraph_error_t code)
{
    (void)file, (void)line, (void)code;
    if (message[0] == '\0' && reason)
        snprintf(message, sizeof message, "%s", reason);
    IGRAPH_FINALLY_FREE();
}

static void ignore_warning(const char *reason, const char *file, int line)
{
    (void)reason, (void)file, (void)line;
}

void gnn__igraph_enter(gnn__igraph_call_t *call)
{
    pthread_mutex_lock(&lock);
    message[0] = '\0';
    call->error = igraph_set_error_handler(remember_error);
    call->warning = igraph_set_warning_handler(ignore_warning);
    IGRAPH_FINALLY_ENTER();
    errno = 0;
}

int gnn__igraph_leave(gnn__igraph_call_t *call, int code)
{
    if (code > 0 && code < 1000 && errno == ENOMEM) /* whatever igraph makes of it */
        code = IGRAPH_ENOMEM;
    IGRAPH_FINALLY_FREE();
    IGRAPH_FINALLY_EXIT();
    igraph_set_warning_handler(call->warning);
    igraph_set_error_handler(call->error);
    if (code > 0 && code < 1000)
        (void)gnn__igraph_error(code, "igraph: %s",
                                message[0] ? message : igraph_strerror((igraph_error_t)code));
    pthread_mutex_unlock(&lock);
    return code;
}
