/* Description of this build and its run time: version, compiler, precision, kernels, BLAS, OpenMP,
 * igraph. */
#include <gnn/build.h>
#include <lib/base/base.h>
#include <lib/base/igraph.h>
#include <lib/kernels/dense/dense.h>

#include <omp.h>

const char *gnn_version(void)
{
    return GNN_VERSION;
}

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#define RUN_TIME "libomp"
#else
#define COMPILER "gcc " __VERSION__
#define RUN_TIME "libgomp"
#endif

const char *gnn_build_info(void)
{
    static _Thread_local char text[512];
    char dense[160];
    gnn__dense_info(dense, sizeof dense);
    snprintf(text, sizeof text,
             "libgnn %s, %s, %s, kernels %s, %s, %s (OpenMP %d, %d processors), igraph %s",
             GNN_VERSION, COMPILER, GNN_DOUBLE ? "double" : "float", gnn__isa_name(gnn__isa()),
             dense, RUN_TIME, _OPENMP, omp_get_num_procs(), gnn__igraph() ? "in use" : "not in use");
    return text;
}
