/* Maps of rows, and table positions of priors by distance and position, by their papers. */
#include "oracle.h"
#include "support.h"

/* Llama 3 and YaRN keep a share of a frequency and divide the rest by a factor. */
static double slowed(const oracle_t *o, double t)
{
    const double *options = o->how.map_options;
    const double base = oracle__option(options[0], o->turns == 2 ? 500000 : 10000),
                 f = pow(base, -2 * t / (double)o->d_k),
                 factor = oracle__option(options[1], o->turns == 2 ? 8 : 1);
    double share;
    if (o->turns == 2) {
        const double far = oracle__option(options[2], 8192), near = oracle__option(options[3], 2048);
        share = (f - 2 * M_PI / far) / (2 * M_PI / near - 2 * M_PI / far);
    } else {
        share = 1 - (t - options[2]) / fmax(options[3] - options[2], 1e-3);
    }
    share = fmin(fmax(share, 0), 1);
    return share * f + (1 - share) * f / factor;
}

/* RoFormer, eq. 34: pair t is rotated by position / factor * base^(-2t / width). */
term_t oracle__turned(const oracle_t *o, const term_t *row, int64_t c, double position, int sign)
{
    const double *options = o->how.map_options;
    const bool plain = o->turns < 2;
    int64_t width = plain ? (int64_t)oracle__option(options[1], (double)o->d_k) : o->d_k,
            at = c % o->d_k, t;
    const term_t *head = row + c - at;
    if (o->unit) {
        double sum = 0;
        for (int64_t k = 0; k < o->d_k; k++)
            sum += head[k].v * head[k].v;
        return scaled(1 / fmax(sqrt(sum), 1e-12), row[c]);
    }
    if (!o->turns || at >= width)
        return row[c];
    bool adjacent = plain && options[3] > 0, second = adjacent ? at % 2 == 1 : at >= width / 2;
    t = adjacent ? at / 2 : at % (width / 2);
    double angle = plain ? position / oracle__option(options[2], 1) *
                               pow(oracle__option(options[0], 10000), -2 * (double)t / (double)width)
                         : position * slowed(o, (double)t);
    angle *= sign;
    term_t x = head[adjacent ? 2 * t : t], y = head[adjacent ? 2 * t + 1 : t + width / 2];
    return second ? plus(scaled(sin(angle), x), scaled(cos(angle), y))
                  : plus(scaled(cos(angle), x), scaled(-sin(angle), y));
}

/* Rotated back; or, with u = x / |x|, (d - u (u . d)) / |x|. */
term_t oracle__map_grad(const oracle_t *o, const term_t *row, const term_t *d_mapped, int64_t c,
                        double position)
{
    if (!o->unit)
        return oracle__turned(o, d_mapped, c, position, -1);
    const int64_t first = c - c % o->d_k;
    double squares = 0;
    term_t along = term(0);
    for (int64_t k = first; k < first + o->d_k; k++) {
        squares += row[k].v * row[k].v;
        add_to(&along, times(row[k], d_mapped[k]));
    }
    const double by = 1 / fmax(sqrt(squares), 1e-12);
    return scaled(by, minus(d_mapped[c], scaled(by * by, times(row[c], along))));
}

int64_t oracle__place(const double *options, double at_j, int64_t a)
{
    const double places = oracle__option(options[0], 32);
    return a * (int64_t)places + (int64_t)fmax(0, fmin(at_j, places - 1));
}

/* Raffel et al. 2020: half of the n buckets for 0, 1, ..., the rest up to `reach` by the
 * logarithm. */
static int64_t log_bucket(int64_t n, double reach, double distance)
{
    int64_t exact = n / 2;
    if (n < 2)
        return 0;
    if (distance < (double)exact)
        return (int64_t)distance;
    if (distance >= reach)
        return n - 1;
    double at = (double)exact + floor(log(distance / (double)exact) / log(reach / (double)exact) *
                                      (double)(n - exact));
    return (int64_t)fmin(at, (double)(n - 1));
}

int64_t oracle__message_place(const oracle_t *o, double distance, int64_t c)
{
    int64_t cols = o->in[GNN_AGGREGATE_MESSAGE_PARAMETERS].cols;
    return oracle__bucket(o->how.message_options, distance) * cols + c % cols;
}

/* He et al. 2021, DeBERTa-v2: exact up to the middle of either side, then by the logarithm. */
static int64_t back_bucket(int64_t n, double reach, double distance)
{
    double middle = (double)(n / 2 / 2), far = fabs(distance), row = far;
    if (far > middle && middle >= 1 && reach - 1 > middle)
        row = middle + ceil((middle - 1) * log(far / middle) / log((reach - 1) / middle));
    return (int64_t)fmax(0, fmin((double)(n / 2) - copysign(row, distance), (double)(n - 1)));
}

int64_t oracle__bucket(const double *options, double distance)
{
    int64_t n = (int64_t)oracle__option(options[0], 32), rule = (int64_t)options[1];
    double reach = oracle__option(options[2], 128), last = (double)(n - 1);
    if (rule == GNN_BUCKET_CLIP)
        return (int64_t)fmax(0, fmin(distance + (double)(n / 2), last));
    if (rule == GNN_BUCKET_CLIP_CAUSAL)
        return (int64_t)fmax(0, fmin(distance + last, last));
    if (rule == GNN_BUCKET_LOG_CAUSAL)
        return log_bucket(n, reach, fmax(-distance, 0));
    if (rule == GNN_BUCKET_CLIP_BACK)
        return (int64_t)fmax(0, fmin((double)(n / 2) - distance, last));
    if (rule == GNN_BUCKET_LOG_BACK)
        return back_bucket(n, reach, distance);
    return (distance > 0 ? n / 2 : 0) + log_bucket(n / 2, reach, fabs(distance));
}
