/* Optimisers: one sweep over the flat block of parameters, by PyTorch's formulas. Groups are
 * resolved once, into ranges of the block. */
#include <lib/base/settings.h>
#include <lib/tape/tape.h>
#include <lib/kernels/rowwise/rowwise.h>
#include <lib/train/train.h>

/* Elements per task; fixed, so that results do not depend on the thread count. */
enum { BLOCK = 16384 };

typedef struct {
    int64_t begin, end; /* includes padding between parameters of one range, which stays 0 */
    double lr_scale, weight_decay;
} range_t;

struct gnn_optimizer {
    gnn_context_t *context;
    gnn_parameters_t *parameters;
    gnn_optimizer_kind_t kind;
    double lr, momentum, beta1, beta2, eps, weight_decay, clip_norm;
    bool nesterov;
    range_t *ranges;
    int64_t n_ranges;
    gnn_real_t *first, *second; /* moments: SGD's buffer is `first` */
    int64_t length, steps;
};

static int check(const gnn_optimizer_t *o)
{
    if (o->kind > GNN_RMSPROP || (int)o->kind < 0)
        return gnn__error(GNN_EINVALID,
                          "optimizer: kind is %d, expected GNN_SGD, GNN_ADAM, GNN_ADAMW or GNN_RMSPROP",
                          (int)o->kind);
    if (!(o->lr >= 0) || isinf(o->lr))
        return gnn__error(GNN_EINVALID, "optimizer: lr is %g, expected a finite number >= 0", o->lr);
    if (!(o->momentum >= 0) || isinf(o->momentum))
        return gnn__error(GNN_EINVALID, "optimizer: momentum is %g, expected a finite number >= 0",
                          o->momentum);
    if (o->kind == GNN_RMSPROP && o->momentum > 0)
        return gnn__error(GNN_EUNSUPPORTED, "optimizer: RMSprop takes no momentum, got %g",
                          o->momentum);
    if (o->nesterov && o->momentum == 0)
        return gnn__error(GNN_EINVALID, "optimizer: nesterov needs a momentum > 0");
    if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
        return gnn__error(GNN_EINVALID,
                          "optimizer: beta1 and beta2 are %g and %g, expected numbers in [0, 1)",
                          o->beta1, o->beta2);
    if (!(o->eps > 0) || !isfinite(o->eps))
        return gnn__error(GNN_EINVALID, "optimizer: eps is %g, expected a number > 0", o->eps);
    if (!(o->weight_decay >= 0) || isinf(o->weight_decay))
        return gnn__error(GNN_EINVALID,
                          "optimizer: weight_decay is %g, expected a finite number >= 0",
                          o->weight_decay);
    if (!(o->clip_norm >= 0))
        return gnn__error(GNN_EINVALID, "optimizer: clip_norm is %g, expected a number >= 0",
                          o->clip_norm);
    return GNN_OK;
}

/* Settings that only other kinds read must be 0, so that none is silently ignored. */
static int check_unread(const gnn_optimizer_t *o, const gnn_optimizer_config_t *c)
{
    enum { SGD = 1 << GNN_SGD, ADAM = 1 << GNN_ADAM | 1 << GNN_ADAMW, RMSPROP = 1 << GNN_RMSPROP };
    static const char *const names[] = {
        [GNN_SGD] = "SGD", [GNN_ADAM] = "Adam", [GNN_ADAMW] = "AdamW", [GNN_RMSPROP] = "RMSprop"};
    const gnn__setting_use_t uses[] = {{"momentum", o->momentum != 0, SGD},
                                       {"nesterov", o->nesterov, SGD},
                                       {"beta1", c->beta1 != 0, ADAM},
                                       {"beta2", c->beta2 != 0, ADAM | RMSPROP},
                                       {"eps", c->eps != 0, ADAM | RMSPROP}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, 1u << o->kind);
    return unread ? gnn__error(GNN_EINVALID, "optimizer: %s reads no %s", names[o->kind], unread)
                  : GNN_OK;
}

static void settings(gnn_optimizer_t *o, const gnn_optimizer_config_t *config)
{
    o->kind = config->kind == GNN_OPTIMIZER_DEFAULT ? GNN_ADAM : config->kind;
    o->lr = gnn__setting(config->lr, 0.01);
    o->momentum = gnn__setting(config->momentum, 0);
    o->nesterov = config->nesterov == GNN_ON;
    o->beta1 = gnn__setting(config->beta1, 0.9);
    o->beta2 = gnn__setting(config->beta2, o->kind == GNN_RMSPROP ? 0.99 : 0.999);
    o->eps = gnn__setting(config->eps, 1e-8);
    o->weight_decay = gnn__setting(config->weight_decay, 0);
    o->clip_norm = gnn__setting(config->clip_norm, 0);
}

static int check_groups(const gnn_parameters_t *parameters, const gnn_optimizer_config_t *config)
{
    for (int64_t g = 0; g < config->n_groups; g++) {
        const gnn_parameter_group_t *group = &config->groups[g];
        if (!group->prefix)
            return gnn__error(GNN_EINVALID, "optimizer: group %lld has no prefix", (long long)g);
        double lr_scale = (double)group->lr_scale, decay = (double)group->weight_decay;
        if (!(lr_scale >= 0) || isinf(lr_scale) || !(decay >= 0) || isinf(decay))
            return gnn__error(
                GNN_EINVALID,
                "optimizer: group \"%s\" has lr_scale %g and weight_decay %g, expected finite numbers >= 0",
                group->prefix, lr_scale, decay);
        bool found = false;
        for (int32_t id = 0; id < gnn_parameters_count(parameters) && !found; id++)
            found = strncmp(gnn_parameters_name(parameters, id), group->prefix,
                            strlen(group->prefix)) == 0;
        if (!found)
            return gnn__error(GNN_ENOTFOUND,
                              "optimizer: no parameter's name begins with \"%s\" (group %lld)",
                              group->prefix, (long long)g);
    }
    return GNN_OK;
}

static range_t parameter_range(const gnn_optimizer_t *o, const gnn_optimizer_config_t *config,
                               int32_t id)
{
    gnn_tensor_t value = gnn_parameters_value(o->parameters, id);
    int64_t begin = gnn__parameters_offset(o->parameters, id);
    range_t range = {begin, begin + value.rows * value.cols, 1, o->weight_decay};
    const char *name = gnn_parameters_name(o->parameters, id);
    for (int64_t g = 0; g < config->n_groups; g++) {
        const gnn_parameter_group_t *group = &config->groups[g];
        if (strncmp(name, group->prefix, strlen(group->prefix)) == 0) {
            range.lr_scale = gnn__setting(group->lr_scale, 1);
            range.weight_decay = gnn__setting(group->weight_decay, o->weight_decay);
        }
    }
    return range;
}

/* Adjacent parameters with equal settings become one range. */
static int resolve_ranges(gnn_optimizer_t *o, const gnn_optimizer_config_t *config)
{
    int32_t count = gnn_parameters_count(o->parameters);
    GNN_TRY(gnn__new(&o->ranges, count, sizeof *o->ranges, "ranges of an optimizer"));
    for (int32_t id = 0; id < count; id++) {
        range_t range = parameter_range(o, config, id);
        range_t *last = o->n_ranges ? &o->ranges[o->n_ranges - 1] : NULL;
        if (last && last->lr_scale == range.lr_scale && last->weight_decay == range.weight_decay &&
            last->end <= range.begin)
            last->end = range.end;
        else
            o->ranges[o->n_ranges++] = range;
    }
    return GNN_OK;
}

/* fp16 and bf16 parameters belong to no range that moves. */
static int check_fp16(const gnn_parameters_t *parameters, const gnn_optimizer_config_t *config,
                      const gnn_optimizer_t *o)
{
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++)
        if (gnn__parameters_halves(parameters, id) && parameter_range(o, config, id).lr_scale != 0)
            return gnn__error(GNN_EUNSUPPORTED,
                              "optimizer: the parameter %s is stored as fp16 or bf16; freeze it "
                              "(lr_scale GNN_ZERO), or open the model in full precision",
                              gnn_parameters_name(parameters, id));
    return GNN_OK;
}

/* Moments of parameters that do not move take no memory. */
static int new_moments(const gnn_optimizer_t *o, const char *what, gnn_real_t **moments)
{
    size_t bytes;
    GNN_TRY(gnn__bytes(o->length, sizeof **moments, what, &bytes));
    *moments = gnn__aligned(bytes);
    if (!*moments)
        return gnn__error(GNN_EMEMORY, "%s: no memory for %zu bytes", what, bytes);
    gnn__zero_pages(*moments, bytes);
    return GNN_OK;
}

int gnn_optimizer_new(gnn_optimizer_t **optimizer, gnn_context_t *context,
                      gnn_parameters_t *parameters, const gnn_optimizer_config_t *config)
{
    GNN__NEED(optimizer);
    GNN__NEED(context);
    GNN__NEED(parameters);
    gnn_optimizer_t *o = NULL;
    gnn_optimizer_config_t initial = {0};
    int rc;
    if (!config)
        config = &initial;
    if (config->n_groups < 0 || (config->n_groups > 0 && !config->groups))
        return gnn__error(GNN_EINVALID, "optimizer: n_groups is %lld without groups",
                          (long long)config->n_groups);
    GNN_TRY(gnn__check_flag(config->nesterov, "optimizer: nesterov"));
    GNN_CHECK(gnn__parameters_check_free(parameters, "optimizer"));
    GNN_CHECK(gnn__new(&o, 1, sizeof *o, "an optimizer"));
    o->context = context;
    o->parameters = parameters;
    settings(o, config);
    GNN_CHECK(check(o));
    GNN_CHECK(check_unread(o, config));
    GNN_CHECK(check_groups(parameters, config));
    GNN_CHECK(check_fp16(parameters, config, o));
    gnn_parameters_block(parameters, 0, &o->length);
    GNN_CHECK(resolve_ranges(o, config));
    if (o->kind != GNN_SGD || o->momentum > 0)
        GNN_CHECK(new_moments(o, "first moments", &o->first));
    if (o->kind != GNN_SGD)
        GNN_CHECK(new_moments(o, "second moments", &o->second));
    *optimizer = o;
    return GNN_OK;
done:
    gnn_optimizer_free(o);
    return rc;
}

void gnn_optimizer_free(gnn_optimizer_t *optimizer)
{
    if (!optimizer)
        return;
    gnn_free(optimizer->ranges);
    gnn_free(optimizer->first);
    gnn_free(optimizer->second);
    gnn_free(optimizer);
}

int64_t gnn_optimizer_steps(const gnn_optimizer_t *optimizer)
{
    GNN__NEED_OR(optimizer, 0);
    return optimizer->steps;
}

void gnn__optimizer_moments(gnn_optimizer_t *optimizer, gnn_real_t **first, gnn_real_t **second)
{
    *first = optimizer->first;
    *second = optimizer->second;
}

const gnn_parameters_t *gnn__optimizer_parameters(const gnn_optimizer_t *optimizer)
{
    return optimizer->parameters;
}

void gnn__optimizer_set_steps(gnn_optimizer_t *optimizer, int64_t steps)
{
    optimizer->steps = steps;
}

double gnn__optimizer_lr(const gnn_optimizer_t *optimizer)
{
    return optimizer->lr;
}

int gnn__optimizer_describe(char **text, const gnn_optimizer_t *o)
{
    static const char *const names[] = {"?", "SGD", "Adam", "AdamW", "RMSprop"};
    char piece[400], *longer;
    GNN_TRY(gnn__snprintf_c(
        piece, sizeof piece,
        "%s lr %.17g momentum %.17g%s beta %.17g %.17g eps %.17g weight decay %.17g clip %.17g",
        names[o->kind], o->lr, o->momentum, o->nesterov ? " nesterov" : "", o->beta1, o->beta2,
        o->eps, o->weight_decay, o->clip_norm));
    GNN_TRY(gnn__strdup(text, piece));
    for (int64_t r = 0; r < o->n_ranges; r++) {
        const range_t *range = &o->ranges[r];
        int rc = gnn__snprintf_c(piece, sizeof piece, ", %lld-%lld lr x %.17g decay %.17g",
                                 (long long)range->begin, (long long)range->end, range->lr_scale,
                                 range->weight_decay);
        rc = rc == GNN_OK ? gnn__asprintf(&longer, "%s%s", *text, piece) : rc;
        gnn_free(*text);
        *text = NULL;
        GNN_TRY(rc);
        *text = longer;
    }
    return GNN_OK;
}

static gnn__sweep_t sweep_settings(const gnn_optimizer_t *o, const range_t *range, double lr_factor,
                                   double scale)
{
    double lr = o->lr * lr_factor * range->lr_scale, t = (double)(o->steps + 1);
    bool decoupled = o->kind == GNN_ADAMW;
    const bool plain = o->kind == GNN_SGD || o->kind == GNN_RMSPROP;
    const double correction1 = plain ? 1 : 1 - pow(o->beta1, t),
                 correction2 = plain ? 1 : 1 - pow(o->beta2, t),
                 one_beta1 = o->kind == GNN_RMSPROP ? 1 : 1 - o->beta1;
    return (gnn__sweep_t){.lr = (gnn_real_t)(lr / correction1),
                          .scale = (gnn_real_t)scale,
                          .l2 = (gnn_real_t)(decoupled ? 0 : range->weight_decay),
                          .shrink = (gnn_real_t)(decoupled ? 1 - lr * range->weight_decay : 1),
                          .momentum = (gnn_real_t)o->momentum,
                          .one_beta1 = (gnn_real_t)one_beta1,
                          .beta2 = (gnn_real_t)o->beta2,
                          .one_beta2 = (gnn_real_t)(1 - o->beta2),
                          .root_correction2 = (gnn_real_t)sqrt(correction2),
                          .eps = (gnn_real_t)o->eps,
                          .nesterov = o->nesterov};
}

static void sweep_range(gnn_optimizer_t *o, const range_t *range, const gnn__sweep_t *s)
{
    int64_t length;
    gnn_real_t *values = gnn_parameters_block(o->parameters, 0, &length);
    const gnn_real_t *gradients = gnn_parameters_block(o->parameters, 1, &length);
    const gnn__optimizer_kernels_t *kernels = gnn__optimizer_kernels();
    int64_t blocks = (range->end - range->begin + BLOCK - 1) / BLOCK;
    int threads = gnn__threads_after(o->context, (range->end - range->begin) * 4);
    GNN__PARALLEL_FOR (threads, int64_t block = 0; block < blocks; block++) {
        int64_t at = range->begin + block * BLOCK;
        int64_t n = range->end - at < BLOCK ? range->end - at : BLOCK;
        gnn_real_t *first = o->first ? o->first + at : NULL;
        if (o->kind == GNN_SGD)
            kernels->sgd(s, values + at, gradients + at, first, n);
        else
            kernels->adam(s, values + at, gradients + at, first, o->second + at, n);
    }
}

/* Norm of all gradients, in double; not finite if one of them is not (or, in a double build, if a
 * square overflows). */
static double gradient_norm(const gnn_parameters_t *parameters)
{
    int64_t length;
    const gnn_real_t *g = gnn_parameters_block(parameters, 1, &length);
    const double total = gnn__optimizer_kernels()->squares(length, g);
    return sqrt(total);
}

int32_t gnn__first_not_finite(const gnn_parameters_t *parameters, int gradients, int64_t *row,
                              int64_t *col, double *value)
{
    int64_t length;
    const gnn_real_t *block = gnn_parameters_block(parameters, gradients, &length);
    if (gnn__optimizer_kernels()->finite(length, block))
        return -1;
    for (int32_t id = 0; id < gnn_parameters_count(parameters); id++) {
        gnn_tensor_t t = gradients ? gnn_parameters_gradient(parameters, id)
                                   : gnn_parameters_value(parameters, id);
        for (int64_t k = 0; k < t.rows * t.cols; k++) {
            *row = k / t.cols;
            *col = k % t.cols;
            *value = (double)gnn__row(&t, *row)[*col];
            if (!isfinite(*value))
                return id;
        }
    }
    return -1;
}

static int check_gradients(const gnn_parameters_t *parameters)
{
    int64_t row, col;
    double value;
    int32_t id = gnn__first_not_finite(parameters, 1, &row, &col, &value);
    if (id < 0)
        return GNN_OK;
    return gnn__error(GNN_ENUMERIC, "the gradient of \"%s\" is %g at row %lld, column %lld",
                      gnn_parameters_name(parameters, id), value, (long long)row, (long long)col);
}

/* The same by all threads; one of them then finds the position of a non-finite gradient. */
static int check_by_threads(const gnn_optimizer_t *o)
{
    const gnn_real_t *g = gnn_parameters_block(o->parameters, 1, NULL);
    const int threads = gnn__threads_after(o->context, o->length);
    bool finite = true;
    GNN__PARALLEL (threads) {
#pragma omp for schedule(static) reduction(&& : finite) nowait
        for (int64_t at = 0; at < o->length; at += BLOCK)
            finite = gnn__optimizer_kernels()->finite(
                         o->length - at < BLOCK ? o->length - at : BLOCK, g + at) &&
                     finite;
    }
    return finite ? GNN_OK : check_gradients(o->parameters);
}

/* The factor that scales `norm` to at most `max_norm`, as torch.nn.utils.clip_grad_norm_. */
static double clip_factor(double norm, double max_norm)
{
    double factor = max_norm / (norm + 1e-6);
    return factor < 1 ? factor : 1;
}

int gnn_optimizer_step(gnn_optimizer_t *optimizer, double lr_factor)
{
    GNN__NEED(optimizer);
    gnn_optimizer_t *o = optimizer;
    if (!(lr_factor >= 0) || isinf(lr_factor))
        return gnn__error(GNN_EINVALID,
                          "gnn_optimizer_step: lr_factor is %g, expected a finite number >= 0",
                          lr_factor);
    const double start = o->context->profile ? gnn__seconds() : 0;
    GNN_TRY(check_by_threads(o));
    double scale = o->clip_norm > 0 ? clip_factor(gradient_norm(o->parameters), o->clip_norm) : 1;
    for (int64_t r = 0; r < o->n_ranges; r++) {
        if (o->ranges[r].lr_scale == 0)
            continue;
        gnn__sweep_t s = sweep_settings(o, &o->ranges[r], lr_factor, scale);
        sweep_range(o, &o->ranges[r], &s);
    }
    o->steps++;
    if (o->context->profile)
        gnn__profile_add(o->context->profile, "optimizer", "", false, gnn__seconds() - start,
                         (gnn_op_work_t){.bytes = 7.0 * (double)o->length * sizeof(gnn_real_t)});
    return GNN_OK;
}

int gnn_clip_gradients(gnn_parameters_t *parameters, gnn_real_t max_norm, double *norm)
{
    GNN__NEED(parameters);
    if (!((double)max_norm > 0))
        return gnn__error(GNN_EINVALID, "gnn_clip_gradients: max_norm is %g, expected a number > 0",
                          (double)max_norm);
    GNN_TRY(check_gradients(parameters));
    double had = gradient_norm(parameters);
    if (norm)
        *norm = had;
    gnn_real_t factor = (gnn_real_t)clip_factor(had, (double)max_norm);
    int64_t length;
    gnn_real_t *g = gnn_parameters_block(parameters, 1, &length);
    if (factor == 1)
        return GNN_OK;
#pragma omp simd
    for (int64_t k = 0; k < length; k++)
        g[k] *= factor;
    return GNN_OK;
}
