/* An emulation of AMX for processors without it: preloaded (LD_PRELOAD), it reports AMX and
 * executes its illegal instructions. So the library's machine code is tested, and invalid uses end
 * the program: shapes that do not match, tiles before their configuration.
 *
 * Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, chapters on LDTILECFG,
 * TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/platform/x86.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64 };

typedef struct {
    uint8_t palette, start, zero[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} shapes_t;

static _Thread_local struct {
    shapes_t shapes;
    uint8_t tile[TILES][ROWS][ROW_BYTES];
} state;

static bool granted;
static uint64_t products;

static _Noreturn void refuse(const char *why)
{
    fprintf(stderr, "AMX stand-in: %s\n", why);
    abort();
}

static void demand(bool yes, const char *why)
{
    if (!yes)
        refuse(why);
}

/* ---- CPUID and the system call ---- */

const struct cpuid_feature *__x86_get_cpuid_feature_leaf(unsigned leaf)
{
    typedef const struct cpuid_feature *ask_t(unsigned);
    static struct cpuid_feature seventh;
    ask_t *ask = (ask_t *)dlsym(RTLD_NEXT, "__x86_get_cpuid_feature_leaf");
    const struct cpuid_feature *real = ask(leaf);
    if (leaf != x86_cpu_AMX_TILE / 128)
        return real;
    seventh = *real;
    seventh.active_array[x86_cpu_AMX_TILE / 32 % 4] |=
        1u << x86_cpu_AMX_TILE % 32 | 1u << x86_cpu_AMX_BF16 % 32;
    return &seventh;
}

long syscall(long number, ...)
{
    typedef long call_t(long, ...);
    long of[6];
    va_list arguments;
    va_start(arguments, number);
    for (int k = 0; k < 6; k++)
        of[k] = va_arg(arguments, long);
    va_end(arguments);
    if (number == SYS_arch_prctl && of[0] == 0x1023) { /* ARCH_REQ_XCOMP_PERM */
        granted = true;
        return 0;
    }
    call_t *call = (call_t *)dlsym(RTLD_NEXT, "syscall");
    return call(number, of[0], of[1], of[2], of[3], of[4], of[5]);
}

/* ---- instructions ---- */

/* Decodes an instruction with a three-byte VEX prefix: register ids and the memory operand. */
typedef struct {
    int prefix, opcode, reg, rm, other;
    bool in_memory;
    uint8_t *at;
    int64_t stride;
    const uint8_t *next;
} instruction_t;

static int64_t general(const ucontext_t *u, int number)
{
    static const int place[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
    return u->uc_mcontext.gregs[place[number]];
}

static void find_memory(const ucontext_t *u, int mod, int x, int b, instruction_t *i)
{
    int64_t at = 0;
    int32_t far = 0;
    const bool by_rip = mod == 0 && i->rm == 5;
    bool no_base = by_rip;
    if (i->rm == 4) {
        const int sib = *i->next++, index = (sib >> 3 & 7) | x << 3, base = sib & 7;
        i->stride = index == 4 ? 0 : general(u, index) << (sib >> 6);
        no_base = base == 5 && mod == 0;
        if (!no_base)
            at = general(u, base | b << 3);
    } else if (!no_base) {
        at = general(u, i->rm | b << 3);
    }
    if (mod == 1) {
        at += (int8_t)*i->next++;
    } else if (mod == 2 || no_base) {
        memcpy(&far, i->next, sizeof far);
        i->next += sizeof far;
        at += far + (by_rip ? (int64_t)i->next : 0);
    }
    i->at = (uint8_t *)at;
}

/* False if it is none of those. */
static bool decode(const ucontext_t *u, instruction_t *i)
{
    const uint8_t *code = (const uint8_t *)u->uc_mcontext.gregs[REG_RIP];
    if (code[0] != 0xc4 || (code[1] & 31) != 2 || code[2] & 0x84)
        return false;
    const int x = !(code[1] & 0x40), b = !(code[1] & 0x20), mod = code[4] >> 6;
    *i = (instruction_t){.prefix = code[2] & 3,
                         .opcode = code[3],
                         .reg = code[4] >> 3 & 7,
                         .rm = code[4] & 7,
                         .other = ~code[2] >> 3 & 15,
                         .in_memory = mod != 3,
                         .next = code + 5};
    if (i->in_memory)
        find_memory(u, mod, x, b, i);
    return true;
}

static void check_tile(int t)
{
    demand(granted, "tiles before the system was asked");
    demand(state.shapes.palette == 1, "tiles before their shapes");
    demand(t < TILES && state.shapes.rows[t] > 0, "a tile without a shape");
}

static void configure(const uint8_t *from)
{
    demand(granted, "shapes before the system was asked");
    memset(&state, 0, sizeof state);
    memcpy(&state.shapes, from, sizeof state.shapes);
    demand(state.shapes.palette == 1 && state.shapes.start == 0, "an unknown palette");
    for (int t = 0; t < TILES; t++)
        demand(state.shapes.rows[t] <= ROWS && state.shapes.bytes[t] <= ROW_BYTES,
               "too large a tile");
}

static void load(int t, const uint8_t *at, int64_t stride)
{
    check_tile(t);
    memset(state.tile[t], 0, sizeof state.tile[t]);
    for (int r = 0; r < state.shapes.rows[t]; r++)
        memcpy(state.tile[t][r], at + r * stride, state.shapes.bytes[t]);
}

static void store(int t, uint8_t *at, int64_t stride)
{
    check_tile(t);
    for (int r = 0; r < state.shapes.rows[t]; r++)
        memcpy(at + r * stride, state.tile[t][r], state.shapes.bytes[t]);
}

static float widened(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* sums (rows x columns) += a (rows x pairs of bf16) b (pairs x columns). */
static void multiply(int sums, int a, int b)
{
    const shapes_t *s = &state.shapes;
    check_tile(sums);
    check_tile(a);
    check_tile(b);
    demand(sums != a && sums != b && a != b, "one tile twice");
    demand(s->bytes[a] % 4 == 0 && s->bytes[b] % 4 == 0 && s->bytes[a] / 4 == s->rows[b] &&
               s->rows[sums] == s->rows[a] && s->bytes[sums] == s->bytes[b],
           "shapes that do not match");
    for (int r = 0; r < s->rows[a]; r++) {
        float sum[ROW_BYTES / 4];
        memcpy(sum, state.tile[sums][r], sizeof sum);
        for (int k = 0; k < s->rows[b]; k++) {
            uint32_t x, y[ROW_BYTES / 4];
            memcpy(&x, state.tile[a][r] + 4 * k, sizeof x);
            memcpy(y, state.tile[b][k], sizeof y);
            for (int c = 0; c < ROW_BYTES / 4; c++)
                sum[c] += widened(x << 16) * widened(y[c] << 16) +
                          widened(x & 0xffff0000u) * widened(y[c] & 0xffff0000u);
        }
        memcpy(state.tile[sums][r], sum, s->bytes[sums]);
    }
    __atomic_add_fetch(&products, 1, __ATOMIC_RELAXED);
}

enum { NONE, P66, PF3, PF2 };

static bool carry_out(const instruction_t *i)
{
    if (i->opcode == 0x49 && i->prefix == NONE && i->in_memory)
        configure(i->at);
    else if (i->opcode == 0x49 && i->prefix == NONE)
        memset(&state, 0, sizeof state);
    else if (i->opcode == 0x49 && i->prefix == PF2 && !i->in_memory)
        check_tile(i->reg), memset(state.tile[i->reg], 0, sizeof state.tile[0]);
    else if (i->opcode == 0x4b && (i->prefix == PF2 || i->prefix == P66))
        load(i->reg, i->at, i->stride);
    else if (i->opcode == 0x4b && i->prefix == PF3)
        store(i->reg, i->at, i->stride);
    else if (i->opcode == 0x5c && i->prefix == PF3 && !i->in_memory)
        multiply(i->reg, i->rm, i->other);
    else
        return false;
    return true;
}

static void illegal(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    instruction_t i;
    (void)number;
    (void)info;
    demand(decode(u, &i) && carry_out(&i), "an illegal instruction that is not on tiles");
    u->uc_mcontext.gregs[REG_RIP] = (greg_t)i.next;
}

__attribute__((constructor)) static void stand_in(void)
{
    struct sigaction action = {.sa_sigaction = illegal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGILL, &action, NULL);
}

__attribute__((destructor)) static void tell(void)
{
    if (products > 0)
        fprintf(stderr, "AMX stand-in: %llu products of tiles\n", (unsigned long long)products);
}
