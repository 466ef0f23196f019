/* Which instruction set the kernels run with: asked once, read-only afterwards. */
#include <lib/base/base.h>

#include <stdlib.h>

static gnn__isa_t processor(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return GNN__ISA_V4;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return GNN__ISA_V3;
#endif
    return GNN__ISA_BASELINE;
}

static gnn__isa_t choose(void)
{
    gnn__isa_t best = processor();
    const char *wish = getenv("GNN_ISA");
    for (gnn__isa_t isa = GNN__ISA_BASELINE; wish && isa < best; isa++)
        if (strcmp(wish, gnn__isa_name(isa)) == 0)
            return isa;
    return best;
}

gnn__isa_t gnn__isa(void)
{
    static int chosen = -1; /* the same value whoever writes it */
    int isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (isa < 0) {
        isa = (int)choose();
        __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
    }
    return (gnn__isa_t)isa;
}

const char *gnn__isa_name(gnn__isa_t isa)
{
    static const char *const names[] = {"baseline", "v3", "v4"};
    return names[isa];
}
