/* Kernels are plain C compiled once per instruction set (lib/kernels/meson.build). Each kernel file
 * defines a const table of functions under a suffixed name; dispatch.c picks one per call from
 * gnn__isa():
 *
 *     foo.kernel.c  ->  gnn__foo_kernels_baseline, gnn__foo_kernels_v3, gnn__foo_kernels_v4
 *
 *     in foo.kernel.c:   const gnn__foo_kernels_t GNN__KERNEL(foo_kernels) = { ... };
 *     in dispatch.c:     GNN__DISPATCH(gnn__foo_kernels_t, foo_kernels), which defines
 *                        const gnn__foo_kernels_t *gnn__foo_kernels(void)
 *
 * GNN__DISPATCH_WIDE is for kernels that the baseline of x86-64 lacks: NULL there. Other processors
 * have a single set with all kernels, for what the compiler assumes (NEON on 64-bit ARM). */
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
