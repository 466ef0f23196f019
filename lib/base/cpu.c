/* The instruction set that kernels use: determined once, read-only afterwards. */
#include <lib/base/base.h>

#include <stdlib.h>
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__x86_64__) && __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define GNN__GLIBC_X86
#endif

/* Compilers before gcc 11 and clang 15 cannot query AMX; glibc can. With other C libraries AMX is
 * not used. */
static bool has_amx(void)
{
#ifdef GNN__GLIBC_X86
    return x86_cpu_active(x86_cpu_AMX_TILE) && x86_cpu_active(x86_cpu_AMX_BF16);
#else
    return false;
#endif
}

static bool has_v4(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return false;
#endif
}

static bool has_v3(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi2");
#else
    return false;
#endif
}

static gnn__isa_t processor(void)
{
    if (has_v4())
        return has_amx() ? GNN__ISA_AMX : GNN__ISA_V4;
    return has_v3() ? GNN__ISA_V3 : GNN__ISA_BASELINE;
}

bool gnn__cpu_has_bf16(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool gnn__cpu_is_amd(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd");
#else
    return false;
#endif
}

/* Linux reserves eight kilobytes of tiles per thread that uses them and requires a request
 * (arch_prctl's ARCH_REQ_XCOMP_PERM for XTILEDATA). */
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
    static int granted; /* every thread would write the same value */
    int answer = __atomic_load_n(&granted, __ATOMIC_RELAXED);
    if (answer == UNKNOWN) {
        answer = ask_for_tiles() ? YES : NO;
        __atomic_store_n(&granted, answer, __ATOMIC_RELAXED);
    }
    return answer == YES;
}

/* GNN_ISA: the best instruction set that may be used; false: it names none. */
static bool read_wish(gnn__isa_t *most)
{
    const char *wish = getenv("GNN_ISA");
    *most = GNN__ISA_AMX;
    if (!wish || !*wish)
        return true;
    for (*most = GNN__ISA_BASELINE; *most < GNN__ISA_AMX; (*most)++)
        if (strcmp(wish, gnn__isa_name(*most)) == 0)
            return true;
    return strcmp(wish, gnn__isa_name(*most)) == 0;
}

int gnn__isa_check(void)
{
    gnn__isa_t most;
    return read_wish(&most)
               ? GNN_OK
               : gnn__error(
                     GNN_EINVALID,
                     "the environment variable GNN_ISA: expected %s, v3, v4 or amx, got \"%.40s\"",
                     gnn__isa_name(GNN__ISA_BASELINE), getenv("GNN_ISA"));
}

static gnn__isa_t choose(void)
{
    const gnn__isa_t best = processor();
    gnn__isa_t most;
    return read_wish(&most) && most < best ? most : best;
}

gnn__isa_t gnn__isa(void)
{
    static int chosen = -1; /* every thread would write the same value */
    int isa = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (isa < 0) {
        isa = (int)choose();
        __atomic_store_n(&chosen, isa, __ATOMIC_RELAXED);
    }
    return (gnn__isa_t)isa;
}

const char *gnn__isa_name(gnn__isa_t isa)
{
#if defined(__aarch64__)
    static const char names[][9] = {"neon", "v3", "v4", "amx"};
#else
    static const char names[][9] = {"baseline", "v3", "v4", "amx"};
#endif
    return names[isa];
}
