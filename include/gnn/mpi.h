/**
 * Ranks by MPI: libgnn-mpi (pkg-config gnn-mpi), a library of its own, since libgnn links no MPI.
 * Programs are started by mpirun or srun; see <gnn/ranks.h> and docs/ranks.md.
 */
#ifndef GNN_MPI_H
#define GNN_MPI_H

#include <gnn/ranks.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * A transport over a duplicate of MPI_COMM_WORLD. MPI is initialised if it is not yet, and then
 * finalised by gnn_transport_free. MPI's errors are returned, except those for which MPI ends all
 * processes, such as the death of a rank.
 *
 * @param[out] transport  for gnn_transport_free, after the contexts that use it
 * @return GNN_OK; GNN_EIO with MPI's message; GNN_EMEMORY
 */
GNN_API int gnn_transport_mpi(gnn_transport_t **transport);

#ifdef __cplusplus
}
#endif
#endif
