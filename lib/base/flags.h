/* Flags of configs and arguments. */
#ifndef GNN_LIB_BASE_FLAGS_H
#define GNN_LIB_BASE_FLAGS_H

#include <lib/base/base.h>

/* GNN_EINVALID with the flag's name unless it is GNN_FLAG_DEFAULT, GNN_ON or GNN_OFF. */
static inline int gnn__check_flag(gnn_flag_t flag, const char *name)
{
    return (unsigned)flag <= GNN_OFF
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "%s = %d is not a flag, which is GNN_ON, GNN_OFF or 0",
                            name, (int)flag);
}

#endif
