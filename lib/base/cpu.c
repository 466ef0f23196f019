/* Which instruction set the kernels run with: asked once, read-only afterwards. */
#include <lib/base/base.h>

#include <stdlib.h>

/* glibc knows what processor and system offer together; the compiler's own table of all there is would be linked in whole, 4 kB. */
#if defined(__x86_64__)
#include <cpuid.h>
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>

/* What x86_cpu_active of glibc 2.36 does, which shifts an int into its sign for the last feature of a register. */
static bool active(unsigned feature)
{
    const struct cpuid_feature *leaf = __x86_get_cpuid_feature_leaf(feature / 128);
    return leaf->active_array[feature / 32 % 4] >> feature % 32 & 1;
}

#define HAS(in_glibc, in_compiler) active(x86_cpu_##in_glibc)
#else
#define HAS(in_glibc, in_compiler) __builtin_cpu_supports(in_compiler)
#endif
#endif

static gnn__isa_t processor(void)
{
#if defined(__x86_64__)
    if (HAS(AVX512F, "avx512f") && HAS(AVX512BW, "avx512bw") && HAS(AVX512CD, "avx512cd") &&
        HAS(AVX512DQ, "avx512dq") && HAS(AVX512VL, "avx512vl"))
        return GNN__ISA_V4;
    if (HAS(AVX2, "avx2") && HAS(FMA, "fma") && HAS(BMI2, "bmi2"))
        return GNN__ISA_V3;
#endif
    return GNN__ISA_BASELINE;
}

bool gnn__cpu_has_bf16(void)
{
#if defined(__x86_64__)
    return HAS(AVX512_BF16, "avx512bf16");
#else
    return false;
#endif
}

bool gnn__cpu_is_amd(void)
{
#if defined(__x86_64__)
    unsigned most, name[3];
    return __get_cpuid(0, &most, &name[0], &name[2], &name[1]) &&
           memcmp(name, "AuthenticAMD", sizeof name) == 0;
#else
    return false;
#endif
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
