/* Batches of sequences: the inputs and graphs of a model. */
#include <lib/base/settings.h>
#include <lib/pretrained/pretrained.h>

#include <math.h>

enum { MOST_INPUTS = 8 };

struct gnn_pretrained_batch {
    const gnn_pretrained_t *of;
    int64_t count, rows, decoder_rows;
    int64_t height, width; /* of images, in pixels; 0: there are none */
    int64_t *lengths, *decoder_lengths;
    gnn_graph_t *graphs[GNN__ARCH_GRAPHS];
    gnn_named_t values[MOST_INPUTS];
    int32_t *ids[MOST_INPUTS];
    gnn_tensor_t dense[MOST_INPUTS];
    int64_t skipped; /* rows at the start of each sequence that pooled vectors leave out */
    int32_t *global; /* (rows) NULL: no token is global */
    gnn_model_inputs_t inputs;
};

/* ---- inputs by name ---- */

static int copy_ids(gnn_pretrained_batch_t *b, int k, const int32_t *from, int64_t n, const char *what)
{
    if (!from && n > 0)
        return gnn__error(GNN_EINVALID, "the model reads %s, which are not given", what);
    GNN_TRY(gnn__new(&b->ids[k], n, sizeof **b->ids, "ids"));
    if (n > 0)
        memcpy(b->ids[k], from, (size_t)n * sizeof *from);
    b->values[k].ids = b->ids[k];
    b->values[k].count = n;
    return GNN_OK;
}

static int take_ids(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    return copy_ids(b, k, s->ids, b->rows, "ids");
}

static int take_decoder_ids(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    return copy_ids(b, k, s->decoder_ids, b->decoder_rows, "decoder_ids");
}

static int take_types(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    if (s->types)
        return copy_ids(b, k, s->types, b->rows, "types");
    GNN_TRY(gnn__new(&b->ids[k], b->rows, sizeof **b->ids, "types"));
    b->values[k].ids = b->ids[k];
    b->values[k].count = b->rows;
    return GNN_OK;
}

void gnn__pretrained_positions(const gnn_pretrained_t *p, int32_t *positions, const int32_t *ids,
                               int64_t begin, int64_t count)
{
    const int64_t padding = gnn__pretrained_number(p, "padding", -1),
                  row = gnn__pretrained_number(p, "padding_row", -1);
    for (int64_t k = 0; k < count; k++)
        positions[k] = (int32_t)(row >= 0 && ids && ids[k] == padding ? row : begin++);
}

static int count_up(gnn_pretrained_batch_t *b, int k, const int32_t *ids, const int64_t *lengths,
                    int64_t rows)
{
    GNN_TRY(gnn__new(&b->ids[k], rows, sizeof **b->ids, "positions"));
    int64_t at = 0;
    for (int64_t s = 0; s < b->count; at += lengths[s++])
        gnn__pretrained_positions(b->of, b->ids[k] + at, ids ? ids + at : NULL, 0, lengths[s]);
    b->values[k].ids = b->ids[k];
    b->values[k].count = rows;
    return GNN_OK;
}

/* As in the package, the padding token has its own position where positions begin after it: a row
 * of the table, or it is refused. */
static int take_positions(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    const int64_t padding = gnn__pretrained_number(b->of, "padding", -1);
    const bool lacks = gnn__pretrained_number(b->of, "padding_row", -1) < 0;
    for (int64_t row = 0; padding >= 0 && lacks && s->ids && row < b->rows; row++)
        if (s->ids[row] == padding)
            return gnn__error(GNN_EUNSUPPORTED,
                              "token %lld is %lld, that of padding (pad_token_id): %s counts it as no "
                              "position",
                              (long long)row, (long long)padding, b->of->arch->name);
    return count_up(b, k, s->ids, b->lengths, b->rows);
}

/* Rows and columns of positions in a table of rows of `axial_width` positions. */
static int take_axial(gnn_pretrained_batch_t *b, int k, bool column)
{
    const int32_t width = (int32_t)gnn__pretrained_number(b->of, "axial_width", 1);
    GNN_TRY(count_up(b, k, NULL, b->lengths, b->rows));
    for (int64_t row = 0; width > 0 && row < b->rows; row++)
        b->ids[k][row] = column ? b->ids[k][row] % width : b->ids[k][row] / width;
    return GNN_OK;
}

static int take_axial_rows(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    (void)s;
    return take_axial(b, k, false);
}

static int take_axial_columns(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    (void)s;
    return take_axial(b, k, true);
}

static int take_decoder_positions(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    return count_up(b, k, s->decoder_ids, b->decoder_lengths, b->decoder_rows);
}

/* Positions as a column of values. */
static int take_places(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    gnn_real_t *places = NULL;
    int64_t at = 0;
    (void)s;
    GNN_TRY(gnn__new(&places, b->rows, sizeof *places, "positions"));
    b->dense[k] = gnn_tensor(places, b->rows, 1);
    b->values[k].dense = &b->dense[k];
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t p = 0; p < b->lengths[i]; p++)
            places[at++] = (gnn_real_t)p;
    return GNN_OK;
}

/* Sizes of a picture, channels of `height` x `width` per frame, and of its patches, `depth` frames
 * of `patch` x `patch`, `down` x `across` of them per frame; `rows` before the patches are its
 * class token's. Without `size`, the image_size of a model, pictures are of the size that the
 * caller gives. */
typedef struct picture {
    int64_t frames, depth, channels, size, height, width, patch, down, across, rows;
} picture_t;

static picture_t picture_of(const gnn_pretrained_batch_t *b, const gnn_sequences_t *s)
{
    picture_t p = {.frames = gnn__pretrained_number(b->of, "frames", 1),
                   .depth = gnn__pretrained_number(b->of, "patch_frames", 1),
                   .channels = gnn__pretrained_number(b->of, "channels", 0),
                   .size = gnn__pretrained_number(b->of, "image_size", 0),
                   .patch = gnn__pretrained_number(b->of, "patch_size", 0),
                   .rows = gnn__pretrained_number(b->of, "class_rows", 1)};
    p.height = p.size ? p.size : s->height;
    p.width = p.size ? p.size : s->width;
    p.down = p.patch > 0 ? p.height / p.patch : 0;
    p.across = p.patch > 0 ? p.width / p.patch : 0;
    return p;
}

static int64_t patches_of(const picture_t *p)
{
    return p->down * p->across * (p->frames / p->depth);
}

/* Patch k: its channels, their frames, rows, columns. */
static void copy_patch(const gnn_real_t *pixels, const picture_t *p, int64_t k, gnn_real_t *out)
{
    const int64_t x = k % p->across * p->patch, y = k / p->across % p->down * p->patch,
                  t = k / (p->down * p->across) * p->depth;
    for (int64_t c = 0; c < p->channels; c++)
        for (int64_t f = t; f < t + p->depth; f++)
            for (int64_t r = y; r < y + p->patch; r++, out += p->patch)
                memcpy(out, pixels + ((f * p->channels + c) * p->height + r) * p->width + x,
                       (size_t)p->patch * sizeof *out);
}

/* A class token is a patch of zeros. */
static int take_patches(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    const picture_t p = picture_of(b, s);
    const int64_t width = p.depth * p.channels * p.patch * p.patch, each = patches_of(&p);
    gnn_real_t *rows = NULL;
    gnn_tensor_t *patches = &b->dense[k];
    GNN_TRY(gnn__new(&rows, b->rows * width, sizeof *rows, "patches"));
    *patches = gnn_tensor(rows, b->rows, width);
    for (int64_t i = 0; i < b->count; i++)
        for (int64_t at = 0; at < each; at++)
            copy_patch(gnn__row(s->pixels, i), &p, at,
                       gnn__row(patches, i * (p.rows + each) + p.rows + at));
    b->values[k].dense = patches;
    return GNN_OK;
}

/* Rows that the program gives in place of tokens; the model declares their width. */
static int take_features(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    gnn_real_t *rows = NULL;
    if (!s->features)
        return gnn__error(GNN_EINVALID, "the model reads features, which are not given");
    GNN_TRY(gnn__tensor_check(s->features, "features"));
    if (s->features->rows != b->rows)
        return gnn__error(GNN_ESHAPE, "features have %lld rows, the lengths have %lld tokens",
                          (long long)s->features->rows, (long long)b->rows);
    GNN_TRY(gnn__new(&rows, b->rows * s->features->cols, sizeof *rows, "features"));
    b->dense[k] = gnn_tensor(rows, b->rows, s->features->cols);
    b->values[k].dense = &b->dense[k];
    for (int64_t row = 0; row < b->rows; row++)
        memcpy(gnn__row(&b->dense[k], row), gnn__row(s->features, row),
               (size_t)s->features->cols * sizeof *rows);
    return GNN_OK;
}

/* Pooling weights of rows: 1 / sqrt(n) for n rows, or p / sum over p of the position p. Positions
 * also count skipped rows. */
static int take_weights(gnn_pretrained_batch_t *b, int k, bool rising)
{
    gnn_real_t *weights = NULL;
    int64_t rows = 0, at = 0;
    for (int64_t s = 0; s < b->count; s++)
        rows += gnn__max(b->lengths[s] - b->skipped, 0);
    GNN_TRY(gnn__new(&weights, rows, sizeof *weights, "weights of rows"));
    b->dense[k] = gnn_tensor(weights, rows, 1);
    b->values[k].dense = &b->dense[k];
    for (int64_t s = 0; s < b->count; s++) {
        const double first = (double)b->skipped + 1, n = (double)b->lengths[s] - first + 1,
                     sum = n * (first + (double)b->lengths[s]) / 2;
        for (int64_t p = b->skipped; p < b->lengths[s]; p++)
            weights[at++] = (gnn_real_t)(rising ? (double)(p + 1) / sum : 1 / sqrt(n));
    }
    return GNN_OK;
}

static int take_root_weights(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    (void)s;
    return take_weights(b, k, false);
}

static int take_rising_weights(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s)
{
    (void)s;
    return take_weights(b, k, true);
}

static const struct {
    const char *name;
    int (*take)(gnn_pretrained_batch_t *b, int k, const gnn_sequences_t *s);
} table[] = {{"ids", take_ids},
             {"positions", take_positions},
             {"places", take_places},
             {"types", take_types},
             {"patches", take_patches},
             {"features", take_features},
             {"axial_rows", take_axial_rows},
             {"axial_columns", take_axial_columns},
             {"root_weights", take_root_weights},
             {"rising_weights", take_rising_weights},
             {"decoder_ids", take_decoder_ids},
             {"decoder_positions", take_decoder_positions}};

static int take_input(gnn_pretrained_batch_t *b, const char *name, const gnn_sequences_t *s)
{
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (strcmp(table[k].name, name) == 0 && b->inputs.n_values < MOST_INPUTS) {
            b->values[b->inputs.n_values].name = table[k].name;
            return table[k].take(b, (int)b->inputs.n_values++, s);
        }
    return gnn__error(GNN_EUNSUPPORTED, "the model reads an input \"%s\"", name);
}

/* ---- lengths ---- */

static int copy_lengths(const gnn_pretrained_batch_t *b, int64_t **to, const int64_t *from,
                        int64_t *rows, const char *what)
{
    const int64_t most = b->of->max_length, exact = gnn__pretrained_number(b->of, "exact_length", 0);
    GNN_TRY(gnn__new(to, b->count, sizeof **to, "lengths"));
    for (int64_t s = 0; s < b->count; s++) {
        if (from[s] < 0)
            return gnn__error(GNN_EINVALID, "%s: sequence %lld has %lld tokens", what, (long long)s,
                              (long long)from[s]);
        if (most > 0 && from[s] > most)
            return gnn__error(
                GNN_ESHAPE, "%s: sequence %lld has %lld tokens, the model takes %lld%s", what,
                (long long)s, (long long)from[s], (long long)most,
                b->of->refuses_longer ? ": by config.json, longer ones are rotated otherwise" : "");
        if (exact > 0 && from[s] != exact)
            return gnn__error(GNN_ESHAPE,
                              "%s: sequence %lld has %lld tokens, the model takes exactly %lld",
                              what, (long long)s, (long long)from[s], (long long)exact);
        if (!gnn__add(*rows, from[s], rows) || *rows > INT32_MAX)
            return gnn__error(GNN_EOVERFLOW, "%s: more than %d tokens", what, INT32_MAX);
        (*to)[s] = from[s];
    }
    return GNN_OK;
}

static int check_image_size(const picture_t *p, const gnn_sequences_t *s)
{
    enum { MOST = 1 << 12 };
    if (p->size > 0 &&
        ((s->height != 0 && s->height != p->size) || (s->width != 0 && s->width != p->size)))
        return gnn__error(GNN_ESHAPE,
                          "images are %lld x %lld (height, width), %lld x %lld are expected "
                          "(image_size)",
                          (long long)s->height, (long long)s->width, (long long)p->size,
                          (long long)p->size);
    if (p->channels < 1 || p->patch < 1 || p->depth < 1 || p->size % p->patch != 0 ||
        p->frames % p->depth != 0 || p->size > MOST || p->channels > 1 << 10 || p->frames > 1 << 12)
        return gnn__error(GNN_EINVALID, "the model takes no images");
    if (p->height < 1 || p->width < 1 || p->height > MOST || p->width > MOST)
        return gnn__error(GNN_EINVALID,
                          "images: expected a height and a width of 1 to %d, since the model has no "
                          "image_size, got %lld x %lld",
                          MOST, (long long)p->height, (long long)p->width);
    if (p->height % p->patch != 0 || p->width % p->patch != 0)
        return gnn__error(GNN_ESHAPE, "images are %lld x %lld, multiples of %lld are expected",
                          (long long)p->height, (long long)p->width, (long long)p->patch);
    return GNN_OK;
}

/* An image or a video has one row per patch, after that of its class token. */
static int take_images(gnn_pretrained_batch_t *b, const gnn_sequences_t *s)
{
    GNN_TRY(gnn__tensor_check(s->pixels, "pixels"));
    const picture_t p = picture_of(b, s);
    GNN_TRY(check_image_size(&p, s));
    if (s->pixels->rows != b->count || s->pixels->cols != p.frames * p.channels * p.height * p.width)
        return gnn__error(GNN_ESHAPE,
                          "pixels are %lld x %lld, %lld images of %lld x %lld x %lld are "
                          "expected (%schannels, %s)",
                          (long long)s->pixels->rows, (long long)s->pixels->cols, (long long)b->count,
                          (long long)(p.frames * p.channels), (long long)p.height,
                          (long long)p.width, p.frames > 1 ? "num_frames times num_" : "num_",
                          p.size ? "image_size" : "height, width");
    b->height = p.height;
    b->width = p.width;
    GNN_TRY(gnn__new(&b->lengths, b->count, sizeof *b->lengths, "lengths"));
    for (int64_t k = 0; k < b->count; k++)
        b->lengths[k] = p.rows + patches_of(&p);
    if (!gnn__mul(b->count, p.rows + patches_of(&p), &b->rows) || b->rows > INT32_MAX)
        return gnn__error(GNN_EOVERFLOW, "more than %d rows", INT32_MAX);
    return GNN_OK;
}

static int take_lengths(gnn_pretrained_batch_t *b, const gnn_sequences_t *s)
{
    if (s->count < 0 || (s->count > 0 && !s->lengths && !s->pixels))
        return gnn__error(GNN_EINVALID, ".lengths of %lld sequences is NULL", (long long)s->count);
    b->count = s->count;
    GNN_TRY(s->pixels ? take_images(b, s)
                      : copy_lengths(b, &b->lengths, s->lengths, &b->rows, "lengths"));
    if (!s->decoder_lengths)
        return GNN_OK;
    return copy_lengths(b, &b->decoder_lengths, s->decoder_lengths, &b->decoder_rows,
                        "decoder_lengths");
}

/* ---- global tokens ---- */

/* For a question and a context with three separators: the tokens of the question or, with `after`,
 * those after the second separator. */
static int mark_by_separators(gnn_pretrained_batch_t *b, const int32_t *ids, bool after)
{
    const int64_t separator = gnn__pretrained_number(b->of, "separator", -1);
    for (int64_t s = 0, at = 0; s < b->count; at += b->lengths[s++]) {
        int64_t found = 0, end = 0;
        for (int64_t p = b->lengths[s] - 1; p >= 0; p--)
            if (ids[at + p] == separator) {
                found++;
                end = p;
            }
        if (found != 3)
            return gnn__error(GNN_EINVALID,
                              "sequence %lld has %lld tokens of id %lld (sep_token_id), three of a "
                              "question and a context are expected where no global tokens are given",
                              (long long)s, (long long)found, (long long)separator);
        for (int64_t p = 0; p < b->lengths[s]; p++)
            b->global[at + p] = after ? p > end + 1 : p < end;
    }
    return GNN_OK;
}

/* The caller's global tokens, else those of the model's head. */
static int take_global(gnn_pretrained_batch_t *b, const gnn_sequences_t *s, const int32_t *given)
{
    const char *rule = gnn__pretrained_word(b->of, "global");
    if (given && !rule)
        return gnn__error(GNN_EUNSUPPORTED, "%s has no global tokens", b->of->arch->name);
    if (rule && strcmp(rule, "none") == 0 && b->of->global_first)
        rule = "first";
    if (!given && (!rule || strcmp(rule, "none") == 0))
        return GNN_OK;
    GNN_TRY(gnn__new(&b->global, b->rows, sizeof *b->global, "global tokens"));
    if (given)
        memcpy(b->global, given, (size_t)b->rows * sizeof *given);
    else if (strcmp(rule, "first") != 0)
        return s->ids ? mark_by_separators(b, s->ids, strcmp(rule, "choice") == 0) : GNN_OK;
    for (int64_t k = 0, at = 0; !given && k < b->count; at += b->lengths[k++])
        if (b->lengths[k] > 0)
            b->global[at] = 1;
    return GNN_OK;
}

/* ---- the whole ---- */

int gnn__pretrained_check_ids(const gnn_pretrained_t *p, const gnn_named_t *value)
{
    const gnn_model_t *model = p->made.model;
    int64_t rows = INT32_MAX;
    for (int64_t k = 0; k < gnn_model_step_count(model); k++) {
        const gnn_step_t *step = gnn_model_step(model, k);
        if (step->kind == GNN_STEP_EMBED && step->inputs[0] &&
            strcmp(step->inputs[0], value->name) == 0)
            rows = gnn__min(rows, step->in);
    }
    for (int64_t k = 0; k < value->count; k++)
        if (value->ids[k] < 0 || value->ids[k] >= rows)
            return gnn__error(GNN_ESHAPE, "%s: row %lld is id %d, the model's table has %lld rows",
                              value->name, (long long)k, (int)value->ids[k], (long long)rows);
    return GNN_OK;
}

/* Fields of the sequences that the model does not read. */
static int check_unread(const gnn_pretrained_t *p, const gnn_sequences_t *s)
{
    enum { ROWS = 1, IDS = 2 };
    const unsigned reads = (gnn__pretrained_reads(p, "patches") ? 0 : ROWS) |
                           (gnn__pretrained_reads(p, "ids") ? IDS : 0);
    const gnn__setting_use_t uses[] = {
        {"lengths", s->lengths, ROWS}, {"ids", s->ids, IDS}, {"types", s->types, IDS}};
    const char *unread = gnn__unread_setting(uses, sizeof uses / sizeof *uses, reads);
    return unread ? gnn__error(GNN_EINVALID, "sequences: %s reads no .%s", p->arch->name, unread)
                  : GNN_OK;
}

/* Types that are all 0 are those of a model without any. */
static int check_types(const gnn_pretrained_batch_t *b, const int32_t *types)
{
    if (!types || gnn__pretrained_reads(b->of, "types"))
        return GNN_OK;
    for (int64_t row = 0; row < b->rows; row++)
        if (types[row] != 0)
            return gnn__error(GNN_EINVALID,
                              "sequences: %s reads no .types, expected 0 of each token, token %lld "
                              "has %d",
                              b->of->arch->name, (long long)row, (int)types[row]);
    return GNN_OK;
}

/* Checks that the batch has the decoder's sequences of an encoder-decoder, and images where patches
 * are read. */
static int check_given(const gnn_pretrained_batch_t *b, const gnn_sequences_t *s)
{
    if (gnn__pretrained_reads(b->of, "decoder_ids") && !s->decoder_lengths && s->count > 0)
        return gnn__error(GNN_EINVALID, "the model is an encoder-decoder: it reads decoder_ids and "
                                        "decoder_lengths, which are not given");
    if (!gnn__pretrained_reads(b->of, "decoder_ids") && (s->decoder_lengths || s->decoder_ids))
        return gnn__error(GNN_EINVALID, "the model has no decoder of its own: it reads no %s",
                          s->decoder_lengths ? "decoder_lengths" : "decoder_ids");
    if (gnn__pretrained_reads(b->of, "patches") != (s->pixels != NULL))
        return gnn__error(GNN_EINVALID, "the model reads %s",
                          s->pixels ? "tokens, no pixels" : "pixels, which are not given");
    if (s->features && !gnn__pretrained_reads(b->of, "features"))
        return gnn__error(GNN_EINVALID, "the model reads tokens or pixels, no features");
    if (!s->pixels && (s->height != 0 || s->width != 0))
        return gnn__error(GNN_EINVALID, "height and width are %lld x %lld without pixels",
                          (long long)s->height, (long long)s->width);
    return check_unread(b->of, s);
}

static int make_graphs(gnn_pretrained_batch_t *b)
{
    const gnn__arch_model_t *made = &b->of->made;
    const gnn__arch_sequences_t sequences = {
        b->count, b->lengths, b->decoder_lengths, b->skipped, b->global, b->height, b->width};
    for (int k = 0; k < made->n_graphs; k++) {
        GNN_TRY(made->graphs[k].kind->make(&b->graphs[k], &sequences, made->graphs[k].width));
        GNN_TRY(gnn_model_prepare(made->model, k, b->graphs[k], GNN_OFF));
    }
    b->inputs.graphs = (const gnn_graph_t *const *)b->graphs;
    b->inputs.n_graphs = made->n_graphs;
    return GNN_OK;
}

static int fill(gnn_pretrained_batch_t *b, const gnn_sequences_t *s, const int32_t *global)
{
    const gnn_model_t *model = b->of->made.model;
    GNN_TRY(check_given(b, s));
    GNN_TRY(take_lengths(b, s));
    GNN_TRY(check_types(b, s->types));
    GNN_TRY(take_global(b, s, global));
    GNN_TRY(make_graphs(b));
    b->inputs.values = b->values;
    for (int64_t k = 0; k < gnn_model_input_count(model); k++)
        GNN_TRY(take_input(b, gnn_model_input_name(model, k), s));
    for (int64_t k = 0; k < b->inputs.n_values; k++)
        GNN_TRY(gnn__pretrained_check_ids(b->of, &b->values[k]));
    return GNN_OK;
}

int gnn__pretrained_batch_prepare(gnn_pretrained_batch_t *batch)
{
    for (int k = 0; k < batch->inputs.n_graphs; k++)
        GNN_TRY(gnn_model_prepare(batch->of->made.model, k, batch->graphs[k], GNN_ON));
    return GNN_OK;
}

int gnn__pretrained_batch_make(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *pretrained,
                               const gnn_sequences_t *sequences, const int32_t *global,
                               int64_t skipped)
{
    gnn_pretrained_batch_t *b = NULL;
    GNN_TRY(gnn__new(&b, 1, sizeof *b, "a batch"));
    b->of = pretrained;
    b->skipped = skipped;
    const int rc = fill(b, sequences, global);
    if (rc != GNN_OK) {
        gnn_pretrained_batch_free(b);
        return rc;
    }
    *batch = b;
    return GNN_OK;
}

int gnn_pretrained_batch_new_with(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *pretrained,
                                  const gnn_sequences_t *sequences,
                                  const gnn_pretrained_batch_config_t *config)
{
    gnn_pretrained_batch_config_t own = config ? *config : (gnn_pretrained_batch_config_t){0};
    GNN__NEED(batch);
    *batch = NULL;
    GNN__NEED(pretrained);
    GNN__NEED(sequences);
    GNN_TRY(gnn__check_flag(own.backward, ".backward"));
    GNN_TRY(gnn__pretrained_batch_make(batch, pretrained, sequences, own.global, 0));
    const int rc = own.backward == GNN_ON ? gnn__pretrained_batch_prepare(*batch) : GNN_OK;
    if (rc != GNN_OK) {
        gnn_pretrained_batch_free(*batch);
        *batch = NULL;
    }
    return rc;
}

int gnn_pretrained_batch_new(gnn_pretrained_batch_t **batch, const gnn_pretrained_t *pretrained,
                             const gnn_sequences_t *sequences)
{
    GNN__NEED(batch);
    GNN__NEED(pretrained);
    GNN__NEED(sequences);
    return gnn_pretrained_batch_new_with(batch, pretrained, sequences, NULL);
}

const gnn_model_inputs_t *gnn_pretrained_batch_inputs(const gnn_pretrained_batch_t *batch)
{
    GNN__NEED_OR(batch, NULL);
    return &batch->inputs;
}

void gnn_pretrained_batch_free(gnn_pretrained_batch_t *batch)
{
    if (!batch)
        return;
    for (int k = 0; k < GNN__ARCH_GRAPHS; k++)
        gnn_graph_free(batch->graphs[k]);
    for (int k = 0; k < MOST_INPUTS; k++) {
        gnn_free(batch->ids[k]);
        gnn_free(batch->dense[k].data);
    }
    gnn_free(batch->global);
    gnn_free(batch->lengths);
    gnn_free(batch->decoder_lengths);
    gnn_free(batch);
}
