/* Dense products by oneDNN: its matmul primitive, made once per shape and kept with the context.
 *
 *   highest   fp32 as it comes
 *   medium    both operands rounded to bf16, sums in fp32
 *   high      each operand split into two bf16 numbers, and three of the four products: with the
 *             inner dimension laid out three times over, [A_high A_high A_low] x [B_high; B_low;
 *             B_high], that is one bf16 product
 *
 * oneDNN threads by OpenMP (libgomp), so builds by clang, which bring libomp, leave it out.
 * Whatever it cannot do is declined, and OpenBLAS does it. */
#include <lib/kernels/dense/bf16.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/dense/onednn.h>
#include <lib/kernels/dense/prepacked.h>
#include <lib/kernels/dense/tall.h>
#include <lib/kernels/isa.h>

#include <omp.h>

/* What a primitive is made for; compared byte by byte, so that padding must be zero. */
typedef struct {
    int64_t m, n, k, lda, ldb, ldc;
    int32_t transpose_a, transpose_b, add, bias, level, threads, pack, unused;
} shape_t;

typedef struct {
    uint64_t hash, used;
    shape_t shape;
    dnnl_primitive_t primitive; /* NULL: oneDNN has nothing fast for this shape */
    dnnl_primitive_t packing;   /* NULL: B is read as it comes */
    dnnl_memory_t a, b, c, bias, scratch, plain;
    size_t scratch_bytes, packed_bytes;
} primitive_t;

/* An encoder's training step has some twenty shapes. */
enum { KEPT = 64 };

typedef struct gnn__primitives {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    gnn__arena_t arena; /* scratch of the running primitive, and its operands in bf16 */
    uint64_t clock;
    int count;
    primitive_t list[KEPT];
} primitives_t;

/* Columns below which a product only reads A, and sizes below which turning the operands into bf16
 * costs more than the product gains. */
enum { FEW_COLUMNS = 5, FEW_FOR_BF16 = 32 };

/* Rows of A from which a B of at least so many rows and columns is worth laying out as oneDNN likes
 * it best: that costs a hundredth of the product and gains 3 to 10%. The least rows where that is
 * done once. */
enum { PACK_ROWS = 768, PACKED_ROWS = 32, PACK_SIDE = 128, SLICE = 512, SLICE_CELLS = 100000 };

/* Numbers of an A that no cache holds. */
enum { STREAMS = 8 << 20 };

static bool processor_has(unsigned isa)
{
    return ((unsigned)dnnl_get_effective_cpu_isa() & isa) == isa;
}

bool gnn__onednn_has(gnn_precision_t level)
{
    return level == GNN_PRECISION_HIGHEST || processor_has(dnnl_cpu_isa_avx512_core);
}

/* vdpbf16ps does twice the work of an fp32 instruction, AMX sixteen times: three bf16 products for
 * one of fp32 pay with AMX only. oneDNN asks the system for leave to use AMX. */
bool gnn__onednn_gains(gnn_precision_t level)
{
    return level == GNN_PRECISION_HIGHEST ||
           processor_has(level == GNN_PRECISION_HIGH ? dnnl_cpu_isa_avx512_core_amx
                                                     : dnnl_cpu_isa_avx512_core_bf16);
}

void gnn__onednn_info(char *text, size_t size)
{
    const dnnl_version_t *v = dnnl_version();
    const char *isa = processor_has(dnnl_cpu_isa_avx512_core_amx)    ? "AMX"
                      : processor_has(dnnl_cpu_isa_avx512_core_bf16) ? "AVX-512 bf16"
                      : processor_has(dnnl_cpu_isa_avx512_core)      ? "AVX-512"
                      : processor_has(dnnl_cpu_isa_avx2)             ? "AVX2"
                                                                     : "unused";
    snprintf(text, size, "; oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch, isa);
}

/* ---- primitives ---- */

static void primitive_release(primitive_t *p)
{
    dnnl_memory_t memory[] = {p->a, p->b, p->c, p->bias, p->scratch, p->plain};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
        if (memory[k])
            dnnl_memory_destroy(memory[k]);
    if (p->primitive)
        dnnl_primitive_destroy(p->primitive);
    if (p->packing)
        dnnl_primitive_destroy(p->packing);
    memset(p, 0, sizeof *p);
}

static void primitives_free(primitives_t *all)
{
    for (int k = 0; k < all->count; k++)
        primitive_release(&all->list[k]);
    if (all->stream)
        dnnl_stream_destroy(all->stream);
    if (all->engine)
        dnnl_engine_destroy(all->engine);
    gnn__arena_free(&all->arena);
    gnn_free(all);
}

static int primitives_of(gnn_context_t *context, primitives_t **all)
{
    *all = context->primitives;
    if (*all)
        return (*all)->stream ? GNN_OK : GNN_EUNSUPPORTED;
    GNN_TRY(gnn__new(all, 1, sizeof **all, "primitives of dense products"));
    context->primitives = *all;
    context->primitives_free = primitives_free;
    (*all)->arena.allocator = &context->allocator;
    if (dnnl_engine_create(&(*all)->engine, dnnl_cpu, 0) != dnnl_success)
        (*all)->engine = NULL;
    else if (dnnl_stream_create(&(*all)->stream, (*all)->engine, dnnl_stream_default_flags) !=
             dnnl_success)
        (*all)->stream = NULL;
    return (*all)->stream ? GNN_OK : GNN_EUNSUPPORTED;
}

static bool describe(gnn__layout_t *to, dnnl_data_type_t type, bool transposed, int64_t rows,
                     int64_t cols, int64_t stride)
{
    const dnnl_dims_t dims = {rows, cols},
                      strides = {transposed ? 1 : stride, transposed ? stride : 1};
    return gnn__layout_new(to, type, dims, strides);
}

static bool describe_b(gnn__layout_t *to, const shape_t *s, dnnl_data_type_t type)
{
    const dnnl_dims_t dims = {s->k, s->n};
    return s->pack ? gnn__layout_new(to, type, dims, NULL)
                   : describe(to, type, s->transpose_b, s->k, s->n, s->ldb);
}

/* Scratch memory is the caller's; `add` adds to what C holds. */
static bool make_attributes(const shape_t *s, dnnl_primitive_attr_t *made)
{
    dnnl_post_ops_t after = NULL;
    if (dnnl_primitive_attr_create(made) != dnnl_success) {
        *made = NULL;
        return false;
    }
    bool fine =
        dnnl_primitive_attr_set_scratchpad_mode(*made, dnnl_scratchpad_mode_user) == dnnl_success;
    if (s->add)
        fine = fine && dnnl_post_ops_create(&after) == dnnl_success &&
               gnn__matmul_add(after) == dnnl_success &&
               dnnl_primitive_attr_set_post_ops(*made, after) == dnnl_success;
    if (after)
        dnnl_post_ops_destroy(after);
    return fine;
}

/* fp32 or bf16 operands, fp32 result. */
static bool make_descriptor(const shape_t *s, dnnl_engine_t engine, dnnl_primitive_desc_t *made)
{
    const dnnl_data_type_t type = s->level == GNN_PRECISION_HIGHEST ? dnnl_f32 : dnnl_bf16;
    gnn__layout_t a = NULL, b = NULL, c = NULL, bias = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    const bool fine = describe(&a, type, s->transpose_a, s->m, s->k, s->lda) &&
                      describe_b(&b, s, type) && describe(&c, dnnl_f32, false, s->m, s->n, s->ldc) &&
                      (!s->bias || describe(&bias, dnnl_f32, false, 1, s->n, s->n)) &&
                      make_attributes(s, &attributes) &&
                      gnn__matmul_describe(made, engine, a, b, bias, c, attributes) == dnnl_success;
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    gnn__layout_free(a);
    gnn__layout_free(b);
    gnn__layout_free(c);
    gnn__layout_free(bias);
    return fine;
}

/* oneDNN's plain loops are for checking others, not for use. */
static bool is_fast(const_dnnl_primitive_desc_t d)
{
    const char *name;
    return dnnl_primitive_desc_query(d, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "ref", 3) != 0;
}

static bool make_memory(dnnl_memory_t *memory, const_dnnl_primitive_desc_t d, dnnl_query_t what,
                        int index, dnnl_engine_t engine)
{
    const gnn__layout_view_t m = dnnl_primitive_desc_query_md(d, what, index);
    if (dnnl_memory_create(memory, m, engine, DNNL_MEMORY_NONE) == dnnl_success)
        return true;
    *memory = NULL;
    return false;
}

/* From B as it comes, in fp32, to the layout and precision that the product reads. */
static bool packing_make(primitive_t *p, const_dnnl_primitive_desc_t product, dnnl_engine_t engine)
{
    const shape_t *s = &p->shape;
    const gnn__layout_view_t packed = dnnl_primitive_desc_query_md(product, dnnl_query_weights_md, 0);
    gnn__layout_t plain;
    dnnl_primitive_desc_t d;
    p->packed_bytes = dnnl_memory_desc_get_size(packed);
    if (!describe(&plain, dnnl_f32, s->transpose_b, s->k, s->n, s->ldb))
        return false;
    bool fine = dnnl_memory_create(&p->plain, plain, engine, DNNL_MEMORY_NONE) == dnnl_success;
    p->plain = fine ? p->plain : NULL;
    fine = fine && dnnl_reorder_primitive_desc_create(&d, plain, engine, packed, engine, NULL) ==
                       dnnl_success;
    gnn__layout_free(plain);
    if (!fine)
        return false;
    fine = dnnl_primitive_create(&p->packing, d) == dnnl_success;
    p->packing = fine ? p->packing : NULL;
    dnnl_primitive_desc_destroy(d);
    return fine;
}

/* Leaves p->primitive NULL where oneDNN has nothing to offer. */
static void primitive_make(primitive_t *p, dnnl_engine_t engine)
{
    dnnl_primitive_desc_t d;
    if (!make_descriptor(&p->shape, engine, &d))
        return;
    bool fine = is_fast(d) && make_memory(&p->a, d, dnnl_query_src_md, 0, engine) &&
                make_memory(&p->b, d, dnnl_query_weights_md, 0, engine) &&
                make_memory(&p->c, d, dnnl_query_dst_md, 0, engine) &&
                make_memory(&p->scratch, d, dnnl_query_scratchpad_md, 0, engine) &&
                (!p->shape.bias || make_memory(&p->bias, d, dnnl_query_weights_md, 1, engine)) &&
                (!p->shape.pack || packing_make(p, d, engine));
    p->scratch_bytes =
        dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0));
    if (!fine || dnnl_primitive_create(&p->primitive, d) != dnnl_success)
        p->primitive = NULL;
    dnnl_primitive_desc_destroy(d);
}

static uint64_t hash_of(const shape_t *s)
{
    uint64_t words[sizeof *s / sizeof(uint64_t)], hash = 1;
    memcpy(words, s, sizeof words);
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        hash = (hash ^ words[k]) * 0x9e3779b97f4a7c15u;
    return hash;
}

/* The primitive of a shape: a kept one, or a new one in place of the one that was not used for
 * longest. */
static primitive_t *primitive_of(primitives_t *all, const shape_t *s)
{
    const uint64_t hash = hash_of(s);
    primitive_t *at = &all->list[0];
    for (int k = 0; k < all->count; k++) {
        primitive_t *p = &all->list[k];
        if (p->hash == hash && memcmp(&p->shape, s, sizeof *s) == 0) {
            p->used = ++all->clock;
            return p;
        }
        at = p->used < at->used ? p : at;
    }
    if (all->count < KEPT)
        at = &all->list[all->count++];
    primitive_release(at);
    at->hash = hash;
    at->used = ++all->clock;
    at->shape = *s;
    primitive_make(at, all->engine);
    return at;
}

/* ---- running ---- */

/* Layouts of oneDNN's own gain with AVX-512; tests take them on every processor. */
static bool lays_out(const gnn_context_t *context)
{
    return processor_has(dnnl_cpu_isa_avx512_core) || context->forced;
}

static shape_t shape_of(const gnn_context_t *context, const gnn__product_t *p,
                        gnn_precision_t level, int threads)
{
    const bool stays = gnn__prepacked_cover(context->prepacked, p->b);
    shape_t s;
    memset(&s, 0, sizeof s);
    s.m = p->m, s.n = p->n, s.k = p->k;
    s.lda = p->lda, s.ldb = p->ldb, s.ldc = p->ldc;
    s.transpose_a = p->transpose_a, s.transpose_b = p->transpose_b;
    s.add = !p->bias && p->beta != 0, s.bias = p->bias != NULL;
    s.level = (int32_t)level, s.threads = threads;
    s.pack = lays_out(context) && level != GNN_PRECISION_HIGH && !p->transpose_a &&
             p->m >= (stays ? PACKED_ROWS : PACK_ROWS) && p->n >= PACK_SIDE && p->k >= PACK_SIDE;
    if (level == GNN_PRECISION_HIGHEST)
        return s;
    if (level == GNN_PRECISION_HIGH)
        s.k *= GNN__BF16_PARTS;
    s.lda = p->transpose_a ? p->m : s.k;
    if (!s.pack)
        s.ldb = p->transpose_b ? s.k : p->n;
    return s;
}

static gnn__layout_view_t layout_of(const_dnnl_memory_t memory)
{
    gnn__layout_view_t d;
    return dnnl_memory_get_memory_desc(memory, &d) == dnnl_success ? d : NULL;
}

static bool pack(const primitives_t *all, const primitive_t *p, const gnn_real_t *b, void *to)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, p->plain}, {DNNL_ARG_TO, p->b}};
    return dnnl_memory_set_data_handle(p->plain, (void *)(uintptr_t)b) == dnnl_success &&
           dnnl_memory_set_data_handle(p->b, to) == dnnl_success &&
           dnnl_primitive_execute(p->packing, all->stream, 2, arguments) == dnnl_success;
}

static bool execute(const primitives_t *all, const primitive_t *p, const void *a, const void *b,
                    const gnn__product_t *product, void *scratch)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, p->a},
                                         {DNNL_ARG_WEIGHTS, p->b},
                                         {DNNL_ARG_DST, p->c},
                                         {DNNL_ARG_SCRATCHPAD, p->scratch},
                                         {DNNL_ARG_BIAS, p->bias}};
    /* Sources are not const to oneDNN, and only read. */
    return dnnl_memory_set_data_handle(p->a, (void *)(uintptr_t)a) == dnnl_success &&
           dnnl_memory_set_data_handle(p->b, (void *)(uintptr_t)b) == dnnl_success &&
           dnnl_memory_set_data_handle(p->c, product->c) == dnnl_success &&
           dnnl_memory_set_data_handle(p->scratch, scratch) == dnnl_success &&
           (!p->bias || dnnl_memory_set_data_handle(p->bias, (void *)(uintptr_t)product->bias) ==
                            dnnl_success) &&
           dnnl_primitive_execute(p->primitive, all->stream, p->bias ? 5 : 4, arguments) ==
               dnnl_success &&
           dnnl_stream_wait(all->stream) == dnnl_success;
}

/* B as the product reads it: laid out, or rounded. */
static bool prepare_b(const gnn_context_t *context, const primitives_t *all,
                      const primitive_t *kept, const gnn__product_t *p, const gnn__bf16_operand_t *b)
{
    if (kept->packing)
        return pack(all, kept, p->b, b->to);
    gnn__bf16_make(context, kept->shape.threads, b);
    return true;
}

/* The same for a B that stays as it is: made once. False where there is no memory for that. */
static bool kept_b(gnn_context_t *context, const primitives_t *all, const primitive_t *kept,
                   const gnn__product_t *p, size_t bytes, gnn__bf16_operand_t *b)
{
    const gnn__prepacked_key_t key = {.b = p->b,
                                      .rows = p->k,
                                      .cols = p->n,
                                      .stride = p->ldb,
                                      .transposed = p->transpose_b,
                                      .level = (gnn_precision_t)kept->shape.level,
                                      .layout = kept->packing ? layout_of(kept->b) : NULL};
    b->to = gnn__prepacked_find(context->prepacked, &key);
    if (b->to)
        return true;
    void *made = b->to = gnn__aligned(bytes);
    if (!made || !prepare_b(context, all, kept, p, b) ||
        !(b->to = gnn__prepacked_add(context->prepacked, &key, made))) {
        gnn_free(made);
        return false;
    }
    return true;
}

static int run(gnn_context_t *context, primitives_t *all, const primitive_t *kept,
               const gnn__product_t *p)
{
    const int parts = kept->shape.level == GNN_PRECISION_HIGH ? GNN__BF16_PARTS : 1;
    const bool halved = kept->shape.level != GNN_PRECISION_HIGHEST, made = halved || kept->packing;
    gnn__bf16_operand_t a = {p->a,
                             p->transpose_a ? p->k : p->m,
                             p->transpose_a ? p->m : p->k,
                             p->lda,
                             !p->transpose_a,
                             parts,
                             1,
                             2,
                             NULL},
                        b = {p->b,
                             p->transpose_b ? p->n : p->k,
                             p->transpose_b ? p->k : p->n,
                             p->ldb,
                             p->transpose_b,
                             parts,
                             2,
                             1,
                             NULL};
    const size_t size_a = halved ? gnn__bf16_bytes(&a) : 0, size_b = kept->packing
                                                                         ? kept->packed_bytes + 64
                                                                     : halved ? gnn__bf16_bytes(&b)
                                                                              : 0;
    const bool stays = made && gnn__prepacked_cover(context->prepacked, p->b) &&
                       kept_b(context, all, kept, p, size_b, &b);
    GNN_TRY(gnn__arena_reserve(&all->arena,
                               size_a + (stays ? 0 : size_b) + kept->scratch_bytes + 3 * 64,
                               "scratch memory of a product"));
    gnn__arena_reset(&all->arena);
    void *scratch = gnn__arena_take(&all->arena, kept->scratch_bytes + 64);
    a.to = gnn__arena_take(&all->arena, size_a);
    if (halved)
        gnn__bf16_make(context, kept->shape.threads, &a);
    if (!stays) {
        b.to = gnn__arena_take(&all->arena, size_b);
        if (made && !prepare_b(context, all, kept, p, &b))
            return GNN_EUNSUPPORTED;
    }
    return execute(all, kept, halved ? (const void *)a.to : p->a, made ? (const void *)b.to : p->b,
                   p, scratch)
               ? GNN_OK
               : GNN_EUNSUPPORTED;
}

/* Turning few rows or columns into bf16 costs more than it gains. */
static gnn_precision_t level_of(const gnn_context_t *context, const gnn__product_t *p,
                                gnn_precision_t wanted)
{
    const bool few = !context->forced && (p->m < FEW_FOR_BF16 || p->n < FEW_FOR_BF16);
    return few ? GNN_PRECISION_HIGHEST : wanted;
}

static int product(gnn_context_t *context, primitives_t *all, const gnn__product_t *p,
                   gnn_precision_t level, int threads)
{
    const shape_t s = shape_of(context, p, level, threads);
    const primitive_t *kept = primitive_of(all, &s);
    return kept->primitive ? run(context, all, kept, p) : GNN_EUNSUPPORTED;
}

/* A transposed A in bf16: a sum over slices of its rows, whose parts of A and B stay in cache. What
 * is done is taken off the product. */
static int product_by_slices(gnn_context_t *context, primitives_t *all, gnn__product_t *p,
                             gnn_precision_t level, int threads)
{
    const int64_t slices = p->m * p->n < SLICE_CELLS || p->k < SLICE ? 1 : p->k / SLICE,
                  rows = p->k / slices;
    for (int64_t k = 0; k < slices; k++) {
        gnn__product_t slice = *p;
        slice.k = k + 1 < slices ? rows : p->k;
        GNN_TRY(product(context, all, &slice, level, threads));
        p->k -= slice.k;
        p->a += slice.k * p->lda;
        p->b += slice.k * (p->transpose_b ? 1 : p->ldb);
        p->beta = 1;
    }
    return GNN_OK;
}

/* In fp32 oneDNN's older sgemm is faster than the primitive where A is transposed (by some 10%),
 * and where a long A streams by in narrow products (by 5 to 25%). With AVX2 it is what the
 * primitive calls. */
static bool suits_sgemm(const gnn_context_t *context, const gnn__product_t *p)
{
    return !p->bias && (p->transpose_a || !lays_out(context) ||
                        (p->m * p->k >= STREAMS && (p->n < PACK_SIDE || p->k <= PACK_SIDE)));
}

static int product_by_sgemm(const gnn__product_t *p)
{
    return dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n, p->k, 1,
                      p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc) == dnnl_success
               ? GNN_OK
               : GNN_EUNSUPPORTED;
}

int gnn__onednn(gnn_context_t *context, gnn__product_t *p, gnn_precision_t wanted, int threads)
{
    if (!processor_has(dnnl_cpu_isa_avx2) || p->n < FEW_COLUMNS ||
        (!p->bias && p->beta != 0 && p->beta != 1))
        return GNN_EUNSUPPORTED;
    primitives_t *all;
    GNN_TRY(primitives_of(context, &all));
    const int before = omp_get_max_threads();
    /* the calling thread's own setting: oneDNN plans and runs with it */
    omp_set_num_threads(threads);
    const gnn_precision_t level = level_of(context, p, wanted);
    const bool exact = level == GNN_PRECISION_HIGHEST;
    const int rc = exact && gnn__tall(p, threads)     ? gnn__tall_product(p, threads, &all->arena)
                   : exact && suits_sgemm(context, p) ? product_by_sgemm(p)
                   : p->transpose_a && !p->bias ? product_by_slices(context, all, p, level, threads)
                                                : product(context, all, p, level, threads);
    omp_set_num_threads(before);
    return rc;
}
