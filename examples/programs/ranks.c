/* Programs over ranks of MPI: `mpirun -n 4 gnn citation ...`. The command links no MPI, so that it
 * runs where there is none: a process that mpirun or srun has started loads libgnn-mpi. Rank 0
 * prints and writes files. */
#include "ranks.h"

#include <dlfcn.h>
#include <gnn/op.h>
#include <gnn/partition.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Variables by which launchers tell a process its rank, and how many there are: Open MPI; MPICH and
 * srun with PMI; srun with PMIx. */
static const char *const variables[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

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
    static char held[1 << 16];
    if (program_rank() < 1)
        return;
    if (!freopen("/dev/null", "w", stdout))
        fprintf(stderr, "gnn: rank %d cannot open /dev/null\n", program_rank());
    setvbuf(stderr, held, _IOFBF, sizeof held);
}

#ifdef GNN_MPI_LIBRARY
/* gnn_transport_mpi of libgnn-mpi; else NULL, and *why. */
static void *load(const char **why)
{
    void *library = dlopen(GNN_MPI_LIBRARY, RTLD_NOW | RTLD_GLOBAL), *found = NULL;
    if (library)
        found = dlsym(library, "gnn_transport_mpi");
    if (!found)
        *why = dlerror();
    return found;
}
#else
static void *load(const char **why)
{
    *why = "this gnn was built without libgnn-mpi";
    return NULL;
}
#endif

/* The context over ranks, and the folder of which it has opened its own rows; NULL: neither. */
static gnn_context_t *joined;
static gnn_partition_folder_t *folder;

/* PROGRAM_REFUSED, and *why: libgnn-mpi cannot be loaded. */
static int join(gnn_context_t *context, gnn_transport_t **transport, const char **why)
{
    int (*open)(gnn_transport_t **);
    joined = NULL;
    *transport = NULL;
    if (program_ranks() < 1)
        return GNN_OK;
    void *found = load(why);
    if (!found)
        return PROGRAM_REFUSED;
    memcpy(&open, &found, sizeof open); /* POSIX lets a pointer of dlsym hold a function */
    GNN_TRY(open(transport));
    GNN_TRY(gnn_context_set_ranks(context, *transport));
    joined = context;
    return GNN_OK;
}

int program_join_ranks(gnn_context_t *context, gnn_transport_t **transport)
{
    const char *why = NULL;
    const int rc = join(context, transport, &why);
    if (rc == PROGRAM_REFUSED)
        fprintf(stderr, "gnn: %d ranks were started, but %s\n", program_ranks(), why);
    return rc;
}

/* ---- own rows of a partition folder ---- */

int program_is_partition(const char *path)
{
    char name[4096];
    const int length = snprintf(name, sizeof name, "%s/partition.json", path);
    return joined && length < (int)sizeof name && access(name, F_OK) == 0;
}

int program_open_rows(gnn_data_t **data, const char *path)
{
    GNN_TRY(gnn_data_open_rank(data, joined, path));
    gnn_partition_folder_free(folder);
    return gnn_ranks_agree(joined, gnn_partition_folder_open(&folder, path, 0));
}

const gnn_partition_folder_t *program_folder(void)
{
    return folder;
}

int program_sum(int64_t count, double *values)
{
    return folder ? gnn_ranks_sum(joined, count, values) : GNN_OK;
}

int program_agree(int code)
{
    return joined ? gnn_ranks_agree(joined, code) : code;
}

int program_count(int64_t *count)
{
    double value = (double)*count;
    const int rc = program_sum(1, &value);
    *count = (int64_t)value;
    return rc;
}

int program_first_row(int64_t *row)
{
    int64_t book[GNN_MAX_PARTS + 1];
    GNN_TRY(gnn_partition_folder_book(folder, program_ranks(), book));
    *row = book[program_rank()];
    return GNN_OK;
}

/* Elements of a block are those of its owner, and zeros elsewhere: the sums are exact. */
static int gather_block(const gnn_tensor_t *own, int64_t first, int64_t block, double *values,
                        gnn_tensor_t *all)
{
    const int64_t cols = own->cols, rows = gnn_partition_folder_sizes(folder).nodes - block < GNN_SLICE
                                               ? gnn_partition_folder_sizes(folder).nodes - block
                                               : GNN_SLICE;
    memset(values, 0, sizeof *values * (size_t)(rows * cols));
    if (block >= first && block < first + own->rows)
        for (int64_t k = 0; k < rows * cols; k++)
            values[k] = (double)own->data[(block - first) * cols + k];
    GNN_TRY(gnn_ranks_sum(joined, rows * cols, values));
    for (int64_t k = 0; all->data && k < rows * cols; k++)
        all->data[block * cols + k] = (gnn_real_t)values[k];
    return GNN_OK;
}

int program_gather(const gnn_tensor_t *own, gnn_tensor_t *all)
{
    const int64_t nodes = gnn_partition_folder_sizes(folder).nodes;
    int64_t first;
    GNN_TRY(program_first_row(&first));
    double *values = malloc(sizeof *values * (size_t)(GNN_SLICE * own->cols));
    int rc = gnn_ranks_agree(joined, values ? GNN_OK : GNN_EMEMORY);
    for (int64_t block = 0; block < nodes && rc == GNN_OK; block += GNN_SLICE)
        rc = gather_block(own, first, block, values, all);
    free(values);
    return rc;
}

/* ---- errors, once ---- */

static int settled;

int program_told_by_rank(void)
{
    int rank, used = 0;
    return sscanf(gnn_error_message(), "rank %d: %n", &rank, &used) == 1 && used > 0;
}

void program_settle_ranks(gnn_context_t *context, int code)
{
    settled = 1;
    if (!context || program_ranks() < 2 || code == GNN_OK)
        return;
    if (!program_told_by_rank())
        gnn_ranks_agree(context, code);
    if (program_rank() > 0 && program_told_by_rank())
        __fpurge(stderr); /* that rank prints it */
    fflush(stderr);
}

int program_end_ranks(int status)
{
    gnn_context_t *context = NULL;
    gnn_transport_t *transport = NULL;
    const char *why; /* not printed: the program has printed what it had to */
    if (settled || program_ranks() < 2)
        return status;
    if (gnn_context_new(&context, NULL) == GNN_OK && join(context, &transport, &why) == GNN_OK &&
        status == 0) {
        gnn_ranks_agree(context, GNN_OK); /* --help on one rank: others do not wait for it */
    } else if (transport) {
        /* a message of its own, not one of the library */
        gnn_op_fail(&(gnn_op_call_t){.where = "gnn"}, GNN_EINVALID, "the program was refused");
        program_settle_ranks(context, GNN_EINVALID);
    }
    gnn_context_free(context);
    gnn_transport_free(transport);
    return status;
}

void program_leave_ranks(void)
{
    gnn_partition_folder_free(folder);
    folder = NULL;
    joined = NULL;
}
