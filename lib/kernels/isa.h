/* Kernels are plain C compiled once per instruction set (lib/kernels/meson.build); each such file
 * defines one const table of functions under a suffixed name, and the dispatcher picks a table once
 * per call from gnn__isa().
 *
 *     in foo.kernel.c:   const gnn__foo_kernels_t GNN__KERNEL(foo_kernels) = { ... };
 *     in foo.c:          GNN__DISPATCH(gnn__foo_kernels_t, foo_kernels), which defines
 *                        const gnn__foo_kernels_t *gnn__foo_kernels(void)
 *
 * GNN__DISPATCH_WIDE is for kernels that the baseline of x86-64 does without: NULL where there are
 * none. Other processors have one set, compiled for what the compiler takes for granted (NEON on
 * 64-bit ARM), and all kernels in it.
 */
#ifndef GNN_KERNELS_ISA_H
#define GNN_KERNELS_ISA_H

#include <lib/base/base.h>

#ifndef GNN__ISA_SUFFIX
#define GNN__ISA_SUFFIX baseline
#endif
#define GNN__KERNEL_PASTE(name, suffix) gnn__##name##_##suffix
#define GNN__KERNEL_EXPAND(name, suffix) GNN__KERNEL_PASTE(name, suffix)
#define GNN__KERNEL(name) GNN__KERNEL_EXPAND(name, GNN__ISA_SUFFIX)

#if defined(__x86_64__)
#define GNN__DISPATCH(type, name)                                                 \
    extern const type gnn__##name##_baseline, gnn__##name##_v3, gnn__##name##_v4; \
    const type *gnn__##name(void)                                                 \
    {                                                                             \
        switch (gnn__isa()) {                                                     \
        case GNN__ISA_BASELINE: return &gnn__##name##_baseline;                   \
        case GNN__ISA_V3: return &gnn__##name##_v3;                               \
        default: return &gnn__##name##_v4;                                        \
        }                                                                         \
    }
#define GNN__DISPATCH_WIDE(type, name)                         \
    extern const type gnn__##name##_v3, gnn__##name##_v4;      \
    const type *gnn__##name(void)                              \
    {                                                          \
        return gnn__isa() >= GNN__ISA_V4   ? &gnn__##name##_v4 \
               : gnn__isa() == GNN__ISA_V3 ? &gnn__##name##_v3 \
                                           : NULL;             \
    }
#else
#define GNN__DISPATCH(type, name)             \
    extern const type gnn__##name##_baseline; \
    const type *gnn__##name(void)             \
    {                                         \
        return &gnn__##name##_baseline;       \
    }
#define GNN__DISPATCH_WIDE(type, name) GNN__DISPATCH(type, name)
#endif

#endif
