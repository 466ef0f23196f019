#include <gnn/build.h>

const char *gnn_version(void)
{
    return GNN_VERSION;
}
