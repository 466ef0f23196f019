/* Which instruction set the kernels run with: asked once, read-only afterwards. */
#include <lib/base/base.h>

#include <stdlib.h>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
        return HAS(AMX_TILE, "amx-tile") && HAS(AMX_BF16, "amx-bf16") ? GNN__ISA_AMX : GNN__ISA_V4;
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

/* Linux keeps eight kilobytes of tiles for every thread that uses them, and wants to be asked first (arch_prctl's ARCH_REQ_XCOMP_PERM for XTILEDATA). */
static bool ask_for_tiles(void)
{
#if defined(__x86_64__) && defined(__linux__)
    return gnn__isa() == GNN__ISA_AMX && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
#else
    return false;
#endif
}

bool gnn__amx_granted(void)
{
    enum { UNKNOWN, NO, YES };
    static int granted; /* the same value whoever writes it */
    int answer = __atomic_load_n(&granted, __ATOMIC_RELAXED);
    if (answer == UNKNOWN) {
        answer = ask_for_tiles() ? YES : NO;
        __atomic_store_n(&granted, answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
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
    static const char names[][9] = {"baseline", "v3", "v4", "amx"};
    return names[isa];
}
