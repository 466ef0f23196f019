/* Programs over ranks of MPI: `mpirun -n 4 gnn citation ...`. The command links no MPI, so that it
 * runs where there is none: a process that mpirun or srun has started loads libgnn-mpi. Rank 0
 * prints and writes files. */
#include "ranks.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Variables by which launchers tell a process its rank, and how many there are: Open MPI; MPICH and
 * srun with PMI. */
static const char *const variables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"}};

static int read_variable(int which, int otherwise)
{
    for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
        const char *rank = getenv(variables[k][0]), *size = getenv(variables[k][1]);
        if (rank && size && *rank && *size)
            return atoi(which ? size : rank);
    }
    return otherwise;
}

int program_rank(void)
{
    return read_variable(0, 0);
}

int program_ranks(void)
{
    return read_variable(1, 0);
}

int program_takes_ranks(const char *program)
{
    if (program_ranks() < 2 || strcmp(program, "citation") == 0)
        return 1;
    if (program_rank() == 0)
        fprintf(stderr, "gnn: %s runs in one process, %d were started; over ranks runs citation\n",
                program, program_ranks());
    return 0;
}

void program_quiet_ranks(void)
{
    if (program_rank() > 0 && !freopen("/dev/null", "w", stdout))
        fprintf(stderr, "gnn: rank %d cannot open /dev/null\n", program_rank());
}

#ifdef GNN_MPI_LIBRARY
/* gnn_transport_mpi of libgnn-mpi. POSIX lets a pointer of dlsym hold a function. */
static int load(int (**open)(gnn_transport_t **))
{
    void *library = dlopen(GNN_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL), *found = NULL;
    if (library)
        found = dlsym(library, "gnn_transport_mpi");
    if (!found) {
        fprintf(stderr, "gnn: %d ranks were started, but %s\n", program_ranks(), dlerror());
        return GNN_EIO;
    }
    memcpy(open, &found, sizeof found);
    return GNN_OK;
}
#else
static int load(int (**open)(gnn_transport_t **))
{
    *open = NULL;
    fprintf(stderr, "gnn: %d ranks were started, but this gnn was built without libgnn-mpi\n",
            program_ranks());
    return GNN_EIO;
}
#endif

int program_join_ranks(gnn_context_t *context, gnn_transport_t **transport)
{
    int (*open)(gnn_transport_t **);
    *transport = NULL;
    if (program_ranks() < 1)
        return GNN_OK;
    if (load(&open) != GNN_OK)
        return PROGRAM_REFUSED;
    GNN_TRY(open(transport));
    return gnn_context_set_ranks(context, *transport);
}
