/* Dense products by oneDNN: its matmul primitive, created once per shape and kept with the context.
 *
 *     highest   fp32
 *     medium    both operands rounded to bf16, sums in fp32
 *     high      each operand split into two bf16 values, and three of the four products. Laid out
 *               along the inner dimension that is a single bf16 product:
 *               [A_high A_high A_low] x [B_high; B_low; B_high]
 *
 * oneDNN threads by OpenMP (libgomp), so builds by clang, which bring libomp, leave it out. What it
 * cannot do is refused, and OpenBLAS does it.
 *
 * Parts of this file: layouts, the interface of oneDNN 3 on top of either version; packed copies of
 * constant weights; bf16 operands; primitives per shape; running a product. */
#include <lib/base/base.h>
#include <lib/kernels/dense/dense.h>
#include <lib/kernels/isa.h>

#include <dnnl.h>
#include <pthread.h>
#include <omp.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t layout_view_t;
typedef dnnl_memory_desc_t layout_t; /* released by layout_free */
#else
typedef const dnnl_memory_desc_t *layout_view_t;
typedef dnnl_memory_desc_t *layout_t;
#endif

static inline void layout_free(layout_t layout)
{
#if DNNL_VERSION_MAJOR >= 3
    if (layout)
        dnnl_memory_desc_destroy(layout);
#else
    gnn_free(layout);
#endif
}

/* An owned copy; NULL without memory. */
static inline layout_t layout_copy(layout_view_t from)
{
    layout_t copy;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_memory_desc_clone(&copy, from) == dnnl_success ? copy : NULL;
#else
    if (gnn__new(&copy, 1, sizeof *copy, "a layout") != GNN_OK)
        return NULL;
    *copy = *from;
    return copy;
#endif
}

/* A matrix with elements at these strides; strides NULL: in the order that oneDNN prefers. False,
 * and *made is NULL, where oneDNN refuses. */
static inline bool layout_new(layout_t *made, dnnl_data_type_t type, const dnnl_dims_t dims,
                              const dnnl_dim_t *strides)
{
#if DNNL_VERSION_MAJOR >= 3
    if ((strides ? dnnl_memory_desc_create_with_strides(made, 2, dims, type, strides)
                 : dnnl_memory_desc_create_with_tag(made, 2, dims, type, dnnl_format_tag_any)) !=
        dnnl_success)
        *made = NULL;
#else
    dnnl_memory_desc_t unpacked;
    const bool fine = (strides ? dnnl_memory_desc_init_by_strides(&unpacked, 2, dims, type, strides)
                               : dnnl_memory_desc_init_by_tag(&unpacked, 2, dims, type,
                                                              dnnl_format_tag_any)) == dnnl_success;
    *made = fine ? layout_copy(&unpacked) : NULL;
#endif
    return *made != NULL;
}

/* C = A B, plus the bias unless that is NULL. */
static inline dnnl_status_t matmul_describe(dnnl_primitive_desc_t *made, dnnl_engine_t engine,
                                            layout_view_t a, layout_view_t b, layout_view_t bias,
                                            layout_view_t c, const_dnnl_primitive_attr_t attributes)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(made, engine, a, b, bias, c, attributes);
#else
    dnnl_matmul_desc_t product;
    const dnnl_status_t status = dnnl_matmul_desc_init(&product, a, b, bias, c);
    return status == dnnl_success
               ? dnnl_primitive_desc_create(made, &product, attributes, engine, NULL)
               : status;
#endif
}

/* The result is added to C. */
static inline dnnl_status_t matmul_add(dnnl_post_ops_t after)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_sum(after, 1, 0, dnnl_data_type_undef);
#else
    return dnnl_post_ops_append_sum(after, 1);
#endif
}

/* ---- packed copies of constant weights ---- */

/* Identifies the matrix that was packed, and the packed form. */
typedef struct {
    const gnn_real_t *b;
    int64_t rows, cols, stride;
    bool transposed;
    gnn_precision_t level;
    layout_view_t layout; /* NULL: the order of the matrix itself */
} prepacked_key_t;

/* The list of copies of one block of weights. It only grows; many threads may read it. */
typedef struct {
    prepacked_key_t key;
    layout_t layout; /* owns a copy of key.layout; NULL if that is */
    void *packed;
} pack_t;

struct gnn__prepacked {
    const gnn_real_t *begin, *end;
    pthread_mutex_t mutex;
    pack_t *list;
    int64_t count, room;
};

int gnn__prepacked_new(gnn__prepacked_t **prepacked, const gnn_real_t *begin, int64_t length)
{
    GNN_TRY(gnn__new(prepacked, 1, sizeof **prepacked, "laid out weights"));
    (*prepacked)->begin = begin;
    (*prepacked)->end = begin + length;
    pthread_mutex_init(&(*prepacked)->mutex, NULL);
    return GNN_OK;
}

void gnn__prepacked_free(gnn__prepacked_t *prepacked)
{
    if (!prepacked)
        return;
    for (int64_t k = 0; k < prepacked->count; k++) {
        gnn_free(prepacked->list[k].packed);
        layout_free(prepacked->list[k].layout);
    }
    gnn_free(prepacked->list);
    pthread_mutex_destroy(&prepacked->mutex);
    gnn_free(prepacked);
}

static bool prepacked_cover(const gnn__prepacked_t *prepacked, const gnn_real_t *b)
{
    return prepacked && b >= prepacked->begin && b < prepacked->end;
}

static bool is_same(const pack_t *pack, const prepacked_key_t *key)
{
    const prepacked_key_t *own = &pack->key;
    return own->b == key->b && own->rows == key->rows && own->cols == key->cols &&
           own->stride == key->stride && own->transposed == key->transposed &&
           own->level == key->level && !own->layout == !key->layout &&
           (!key->layout || dnnl_memory_desc_equal(pack->layout, key->layout));
}

static void *look_up(const gnn__prepacked_t *prepacked, const prepacked_key_t *key)
{
    for (int64_t k = 0; k < prepacked->count; k++)
        if (is_same(&prepacked->list[k], key))
            return prepacked->list[k].packed;
    return NULL;
}

static void *prepacked_find(gnn__prepacked_t *prepacked, const prepacked_key_t *key)
{
    pthread_mutex_lock(&prepacked->mutex);
    void *found = look_up(prepacked, key);
    pthread_mutex_unlock(&prepacked->mutex);
    return found;
}

static int append(gnn__prepacked_t *prepacked, const prepacked_key_t *key, void *packed)
{
    if (prepacked->count == prepacked->room) {
        const int64_t room = gnn__max(16, 2 * prepacked->room);
        GNN_TRY(gnn__grow(&prepacked->list, prepacked->count, room, sizeof *prepacked->list,
                          "laid out weights"));
        prepacked->room = room;
    }
    const layout_t layout = key->layout ? layout_copy(key->layout) : NULL;
    if (key->layout && !layout)
        return GNN_EMEMORY;
    prepacked->list[prepacked->count++] = (pack_t){.key = *key, .layout = layout, .packed = packed};
    return GNN_OK;
}

/* Takes ownership of `pack` (of gnn__aligned) and returns the copy that products use from now on:
 * another thread's, if that was added first. NULL, and the caller keeps the pack: no memory. */
static void *prepacked_add(gnn__prepacked_t *prepacked, const prepacked_key_t *key, void *pack)
{
    pthread_mutex_lock(&prepacked->mutex);
    void *kept = look_up(prepacked, key);
    if (kept)
        gnn_free(pack);
    else if (append(prepacked, key, pack) == GNN_OK)
        kept = pack;
    pthread_mutex_unlock(&prepacked->mutex);
    return kept;
}

/* ---- bf16 operands ---- */

/* Copies of an operand along the inner dimension at `high`. */
enum { BF16_PARTS = 3 };

/* One operand of a product. Its parts are concatenated along the product's inner dimension: with
 * `beside` as columns, else as rows. */
typedef struct {
    const gnn_real_t *x;
    int64_t rows, cols, stride;
    bool beside;
    int parts, again, low; /* positions of the second high part and of the low part */
    uint16_t *to;
} bf16_operand_t;

static size_t bf16_bytes(const bf16_operand_t *o)
{
    return ((size_t)o->rows * (size_t)o->cols * (size_t)o->parts * sizeof *o->to + 63) / 64 * 64;
}

static void bf16_make(const gnn_context_t *context, int limit, const bf16_operand_t *o)
{
    const gnn__fp16_kernels_t *kernels = gnn__fp16_kernels();
    const int64_t stride = o->beside ? o->parts * o->cols : o->cols,
                  step = o->beside ? o->cols : o->rows * o->cols;
    const int threads = gnn__threads_within(context, limit, 2 * o->rows * o->cols);
    GNN__PARALLEL_FOR (threads, int64_t r = 0; r < o->rows; r++) {
        uint16_t *high = o->to + r * stride;
        kernels->split(o->cols, o->x + r * o->stride, high,
                       o->parts == 1 ? NULL : high + o->low * step);
        if (o->parts > 1)
            memcpy(high + o->again * step, high, (size_t)o->cols * sizeof *high);
    }
}

/* ---- shapes and primitives ---- */

/* Key of a primitive; compared bytewise, so padding must be zero. */
typedef struct {
    int64_t m, n, k, lda, ldb, ldc;
    int32_t transpose_a, transpose_b, add, bias, level, threads, pack, unused;
} shape_t;

typedef struct {
    uint64_t hash, used;
    shape_t shape;
    dnnl_primitive_t primitive; /* NULL: oneDNN has no fast implementation for this shape */
    dnnl_primitive_t packing;   /* NULL: B is read as it is */
    dnnl_memory_t a, b, c, bias, scratch, unpacked;
    size_t scratch_bytes, packed_bytes;
} primitive_t;

/* Primitives that are kept; an encoder's training step has about twenty shapes. */
enum { KEPT = 64 };

typedef struct gnn__primitives {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    gnn__arena_t arena; /* scratch of the running primitive, and its bf16 operands */
    uint64_t clock;
    int count;
    primitive_t list[KEPT];
} primitives_t;

/* Columns below which a product merely reads A; sizes below which converting to bf16 costs more
 * than the product gains. */
enum { FEW_COLUMNS = 5, FEW_FOR_BF16 = 32 };

/* Rows of A from which packing a B of at least PACK_SIDE rows and columns pays: it costs a
 * hundredth of the product and gains 3 to 10%. Fewest rows if it is packed once for all. */
enum { PACK_ROWS = 768, PACKED_ROWS = 32, PACK_SIDE = 128, SLICE = 512, SLICE_CELLS = 100000 };

/* Elements of an A that exceeds any cache. */
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
 * one of fp32 pay with AMX only. oneDNN itself requests permission to use AMX. */
bool gnn__onednn_gains(gnn_precision_t level)
{
    return level == GNN_PRECISION_HIGHEST ||
           processor_has(level == GNN_PRECISION_HIGH ? dnnl_cpu_isa_avx512_core_amx
                                                     : dnnl_cpu_isa_avx512_core_bf16);
}

void gnn__onednn_info(char *text, size_t size)
{
    const dnnl_version_t *v = dnnl_version();
    static const struct {
        unsigned isa;
        const char *name;
    } isas[] = {{dnnl_cpu_isa_avx512_core_amx, "AMX"},
                {dnnl_cpu_isa_avx512_core_bf16, "AVX-512 bf16"},
                {dnnl_cpu_isa_avx512_core, "AVX-512"},
                {dnnl_cpu_isa_avx2, "AVX2"}};
    size_t k = 0, count = sizeof isas / sizeof *isas;
    while (k < count && !processor_has(isas[k].isa))
        k++;
    snprintf(text, size, "; oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch,
             k < count ? isas[k].name : "unused");
}

static void primitive_release(primitive_t *p)
{
    dnnl_memory_t memory[] = {p->a, p->b, p->c, p->bias, p->scratch, p->unpacked};
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

static bool describe(layout_t *to, dnnl_data_type_t type, bool transposed, int64_t rows,
                     int64_t cols, int64_t stride)
{
    const dnnl_dims_t dims = {rows, cols},
                      strides = {transposed ? 1 : stride, transposed ? stride : 1};
    return layout_new(to, type, dims, strides);
}

static bool describe_b(layout_t *to, const shape_t *s, dnnl_data_type_t type)
{
    const dnnl_dims_t dims = {s->k, s->n};
    return s->pack ? layout_new(to, type, dims, NULL)
                   : describe(to, type, s->transpose_b, s->k, s->n, s->ldb);
}

/* Scratch memory is provided by the caller; `add` adds to C. */
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
               matmul_add(after) == dnnl_success &&
               dnnl_primitive_attr_set_post_ops(*made, after) == dnnl_success;
    if (after)
        dnnl_post_ops_destroy(after);
    return fine;
}

/* fp32 or bf16 operands, fp32 result. */
static bool make_descriptor(const shape_t *s, dnnl_engine_t engine, dnnl_primitive_desc_t *made)
{
    const dnnl_data_type_t type = s->level == GNN_PRECISION_HIGHEST ? dnnl_f32 : dnnl_bf16;
    layout_t a = NULL, b = NULL, c = NULL, bias = NULL;
    dnnl_primitive_attr_t attributes = NULL;
    const bool fine = describe(&a, type, s->transpose_a, s->m, s->k, s->lda) &&
                      describe_b(&b, s, type) && describe(&c, dnnl_f32, false, s->m, s->n, s->ldc) &&
                      (!s->bias || describe(&bias, dnnl_f32, false, 1, s->n, s->n)) &&
                      make_attributes(s, &attributes) &&
                      matmul_describe(made, engine, a, b, bias, c, attributes) == dnnl_success;
    if (attributes)
        dnnl_primitive_attr_destroy(attributes);
    layout_free(a);
    layout_free(b);
    layout_free(c);
    layout_free(bias);
    return fine;
}

/* oneDNN's reference implementations are for testing, not for use. */
static bool is_fast(const_dnnl_primitive_desc_t d)
{
    const char *name;
    return dnnl_primitive_desc_query(d, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "ref", 3) != 0;
}

static bool make_memory(dnnl_memory_t *memory, const_dnnl_primitive_desc_t d, dnnl_query_t what,
                        int index, dnnl_engine_t engine)
{
    const layout_view_t m = dnnl_primitive_desc_query_md(d, what, index);
    if (dnnl_memory_create(memory, m, engine, DNNL_MEMORY_NONE) == dnnl_success)
        return true;
    *memory = NULL;
    return false;
}

/* Makes the conversion of an fp32 B to the layout and precision that the product reads. */
static bool packing_make(primitive_t *p, const_dnnl_primitive_desc_t product, dnnl_engine_t engine)
{
    const shape_t *s = &p->shape;
    const layout_view_t packed = dnnl_primitive_desc_query_md(product, dnnl_query_weights_md, 0);
    layout_t unpacked;
    dnnl_primitive_desc_t d;
    p->packed_bytes = dnnl_memory_desc_get_size(packed);
    if (!describe(&unpacked, dnnl_f32, s->transpose_b, s->k, s->n, s->ldb))
        return false;
    bool fine = dnnl_memory_create(&p->unpacked, unpacked, engine, DNNL_MEMORY_NONE) == dnnl_success;
    p->unpacked = fine ? p->unpacked : NULL;
    fine = fine && dnnl_reorder_primitive_desc_create(&d, unpacked, engine, packed, engine, NULL) ==
                       dnnl_success;
    layout_free(unpacked);
    if (!fine)
        return false;
    fine = dnnl_primitive_create(&p->packing, d) == dnnl_success;
    p->packing = fine ? p->packing : NULL;
    dnnl_primitive_desc_destroy(d);
    return fine;
}

/* Address space for the code that oneDNN writes, which it does not check for. */
enum { CODE = 32 << 20 };

/* Leaves p->primitive NULL where oneDNN has nothing fast, or no address space (ulimit -v). */
static void primitive_make(primitive_t *p, dnnl_engine_t engine)
{
    dnnl_primitive_desc_t d;
    if (!gnn__has_room(CODE) || !make_descriptor(&p->shape, engine, &d))
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

/* The primitive of a shape: a kept one, or a new one that replaces the least recently used. */
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

/* oneDNN's own layouts are faster with AVX-512; forced contexts (tests) use them on every
 * processor. */
static bool lays_out(const gnn_context_t *context)
{
    return processor_has(dnnl_cpu_isa_avx512_core) || context->forced;
}

static shape_t shape_of(const gnn_context_t *context, const gnn__product_t *p,
                        gnn_precision_t level, int threads)
{
    const bool stays = prepacked_cover(context->prepacked, p->b);
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
        s.k *= BF16_PARTS;
    s.lda = p->transpose_a ? p->m : s.k;
    if (!s.pack)
        s.ldb = p->transpose_b ? s.k : p->n;
    return s;
}

static layout_view_t layout_of(const_dnnl_memory_t memory)
{
    layout_view_t d;
    return dnnl_memory_get_memory_desc(memory, &d) == dnnl_success ? d : NULL;
}

static bool pack(const primitives_t *all, const primitive_t *p, const gnn_real_t *b, void *to)
{
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, p->unpacked}, {DNNL_ARG_TO, p->b}};
    return dnnl_memory_set_data_handle(p->unpacked, (void *)(uintptr_t)b) == dnnl_success &&
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
    /* oneDNN takes sources as non-const pointers and only reads them. */
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

/* Writes B as the product reads it: packed, or rounded. */
static bool prepare_b(const gnn_context_t *context, const primitives_t *all,
                      const primitive_t *kept, const gnn__product_t *p, const bf16_operand_t *b)
{
    if (kept->packing)
        return pack(all, kept, p->b, b->to);
    bf16_make(context, kept->shape.threads, b);
    return true;
}

/* The same for a B that does not change: made once. False where there is no memory for that. */
static bool cached_b(gnn_context_t *context, const primitives_t *all, const primitive_t *kept,
                     const gnn__product_t *p, size_t bytes, bf16_operand_t *b)
{
    const prepacked_key_t key = {.b = p->b,
                                 .rows = p->k,
                                 .cols = p->n,
                                 .stride = p->ldb,
                                 .transposed = p->transpose_b,
                                 .level = (gnn_precision_t)kept->shape.level,
                                 .layout = kept->packing ? layout_of(kept->b) : NULL};
    b->to = prepacked_find(context->prepacked, &key);
    if (b->to)
        return true;
    void *made = b->to = gnn__aligned(bytes);
    if (!made || !prepare_b(context, all, kept, p, b) ||
        !(b->to = prepacked_add(context->prepacked, &key, made))) {
        gnn_free(made);
        return false;
    }
    return true;
}

/* A as three bf16 parts along k, [high high low]; k are its columns, or its rows if it is
 * transposed. */
static bf16_operand_t operand_a(const gnn__product_t *p, int parts)
{
    return (bf16_operand_t){.x = p->a,
                            .rows = p->transpose_a ? p->k : p->m,
                            .cols = p->transpose_a ? p->m : p->k,
                            .stride = p->lda,
                            .beside = !p->transpose_a,
                            .parts = parts,
                            .again = 1,
                            .low = 2};
}

/* B as three bf16 parts along k, [high; low; high]; k are its rows, or its columns if it is
 * transposed. */
static bf16_operand_t operand_b(const gnn__product_t *p, int parts)
{
    return (bf16_operand_t){.x = p->b,
                            .rows = p->transpose_b ? p->n : p->k,
                            .cols = p->transpose_b ? p->k : p->n,
                            .stride = p->ldb,
                            .beside = p->transpose_b,
                            .parts = parts,
                            .again = 2,
                            .low = 1};
}

static int run(gnn_context_t *context, primitives_t *all, const primitive_t *kept,
               const gnn__product_t *p)
{
    const int parts = kept->shape.level == GNN_PRECISION_HIGH ? BF16_PARTS : 1;
    const bool in_bf16 = kept->shape.level != GNN_PRECISION_HIGHEST, made = in_bf16 || kept->packing;
    bf16_operand_t a = operand_a(p, parts), b = operand_b(p, parts);
    const size_t size_a = in_bf16 ? bf16_bytes(&a) : 0;
    size_t size_b = in_bf16 ? bf16_bytes(&b) : 0;
    if (kept->packing)
        size_b = kept->packed_bytes + 64;
    const bool stays = made && prepacked_cover(context->prepacked, p->b) &&
                       cached_b(context, all, kept, p, size_b, &b);
    GNN_TRY(gnn__arena_reserve(&all->arena,
                               size_a + (stays ? 0 : size_b) + kept->scratch_bytes + 3 * 64,
                               "scratch memory of a product"));
    gnn__arena_reset(&all->arena);
    void *scratch = gnn__arena_take(&all->arena, kept->scratch_bytes + 64);
    a.to = gnn__arena_take(&all->arena, size_a);
    if (in_bf16)
        bf16_make(context, kept->shape.threads, &a);
    if (!stays) {
        b.to = gnn__arena_take(&all->arena, size_b);
        if (made && !prepare_b(context, all, kept, p, &b))
            return GNN_EUNSUPPORTED;
    }
    const void *from_a = in_bf16 ? (const void *)a.to : p->a,
               *from_b = made ? (const void *)b.to : p->b;
    return execute(all, kept, from_a, from_b, p, scratch) ? GNN_OK : GNN_EUNSUPPORTED;
}

/* Converting few rows or columns to bf16 costs more than it gains. */
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

/* A transposed A in bf16: a sum over slices of its rows, so that a slice of A and B stays in cache.
 * What is done is taken off the product. */
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

/* In fp32 oneDNN's older sgemm is faster than the primitive where A is transposed (by 10%), and for
 * narrow products where a long A streams from memory (by 5 to 25%). With AVX2 the primitive calls
 * it anyway. */
static bool suits_sgemm(const gnn_context_t *context, const gnn__product_t *p)
{
    return !p->bias && (p->transpose_a || !lays_out(context) ||
                        (p->m * p->k >= STREAMS && (p->n < PACK_SIDE || p->k <= PACK_SIDE)));
}

/* The first implementation that suits: tall GEMM, sgemm, slices in bf16, the primitive. */
static int multiply(gnn_context_t *context, primitives_t *all, gnn__product_t *p,
                    gnn_precision_t level, int threads)
{
    const bool exact = level == GNN_PRECISION_HIGHEST;
    if (exact && gnn__gemm_tall_fits(p, threads))
        return gnn__gemm_tall(p, threads, &all->arena);
    if (exact && suits_sgemm(context, p))
        return gnn__sgemm(p) ? GNN_OK : GNN_EUNSUPPORTED;
    if (p->transpose_a && !p->bias)
        return product_by_slices(context, all, p, level, threads);
    return product(context, all, p, level, threads);
}

int gnn__onednn(gnn_context_t *context, gnn__product_t *p, gnn_precision_t wanted, int threads)
{
    if (!processor_has(dnnl_cpu_isa_avx2) || p->n < FEW_COLUMNS ||
        (!p->bias && p->beta != 0 && p->beta != 1))
        return GNN_EUNSUPPORTED;
    primitives_t *all;
    GNN_TRY(primitives_of(context, &all));
    const int before = omp_get_max_threads();
    /* per calling thread: oneDNN plans and runs with it */
    omp_set_num_threads(threads);
    const int rc = multiply(context, all, p, level_of(context, p, wanted), threads);
    omp_set_num_threads(before);
    return rc;
}
