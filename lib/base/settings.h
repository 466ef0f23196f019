/* Checks of settings: flags, and settings that only some kinds of a thing read. */
#ifndef GNN_LIB_BASE_SETTINGS_H
#define GNN_LIB_BASE_SETTINGS_H

#include <lib/base/base.h>

/* GNN_EINVALID with the flag's name unless it is GNN_FLAG_DEFAULT, GNN_ON or GNN_OFF. */
static inline int gnn__check_flag(gnn_flag_t flag, const char *name)
{
    return (unsigned)flag <= GNN_OFF
               ? GNN_OK
               : gnn__error(GNN_EINVALID, "%s = %d is not a flag, which is GNN_ON, GNN_OFF or 0",
                            name, (int)flag);
}

/* A setting, whether it is set, and the kinds that read it, one bit each. */
typedef struct gnn__setting_use {
    const char *name;
    bool set;
    unsigned by;
} gnn__setting_use_t;

/* The first setting that is set although none of the bits of `kind` reads it, or NULL. */
static inline const char *gnn__unread_setting(const gnn__setting_use_t *uses, size_t count,
                                              unsigned kind)
{
    for (size_t k = 0; k < count; k++)
        if (uses[k].set && !(uses[k].by & kind))
            return uses[k].name;
    return NULL;
}

#endif
