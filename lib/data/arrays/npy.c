/* The .npy header: a Python dictionary. The parser accepts strings, True, False, tuples of integers
 * and lists (skipped), and evaluates nothing. */
#include <lib/data/arrays/arrays.h>

enum { MAX_NESTING = 8 };

typedef struct text {
    const char *at, *end;
} text_t;

int gnn__npy_prefix(const unsigned char prefix[GNN__NPY_PREFIX], int64_t *start, int64_t *length)
{
    if (memcmp(prefix, "\x93NUMPY", 6) != 0)
        return gnn__error(GNN_EFORMAT, "does not start with numpy's magic bytes");
    int major = prefix[6], minor = prefix[7];
    if (major < 1 || major > 3 || minor != 0)
        return gnn__error(GNN_EFORMAT, "npy version %d.%d, 1.0 to 3.0 are read", major, minor);
    *start = major == 1 ? 10 : 12;
    *length = prefix[8] | prefix[9] << 8;
    if (major > 1)
        *length |= (int64_t)prefix[10] << 16 | (int64_t)prefix[11] << 24;
    if (*length > GNN__NPY_MAX_HEADER)
        return gnn__error(GNN_EFORMAT, "a header of %lld bytes, at most %d are read",
                          (long long)*length, GNN__NPY_MAX_HEADER);
    return GNN_OK;
}

/* ---- tokens ---- */

static void skip_space(text_t *t)
{
    while (t->at < t->end && (*t->at == ' ' || *t->at == '\t' || *t->at == '\n' || *t->at == '\r'))
        t->at++;
}

static bool take(text_t *t, char c)
{
    skip_space(t);
    if (t->at == t->end || *t->at != c)
        return false;
    t->at++;
    return true;
}

static bool take_word(text_t *t, const char *word)
{
    size_t n = strlen(word);
    skip_space(t);
    if ((size_t)(t->end - t->at) < n || memcmp(t->at, word, n) != 0)
        return false;
    t->at += n;
    return true;
}

static int expected(const text_t *t, const char *start, const char *what)
{
    return gnn__error(GNN_EFORMAT, "header, byte %lld: expected %s", (long long)(t->at - start),
                      what);
}

/* A string without escapes: *s .. *s + *n. */
static bool take_string(text_t *t, const char **s, size_t *n)
{
    skip_space(t);
    if (t->at == t->end || (*t->at != '\'' && *t->at != '"'))
        return false;
    char quote = *t->at++;
    *s = t->at;
    while (t->at < t->end && *t->at != quote) {
        if (*t->at == '\\' || *t->at == '\0' || *t->at == '\n')
            return false;
        t->at++;
    }
    if (t->at == t->end)
        return false;
    *n = (size_t)(t->at++ - *s);
    return true;
}

/* A dimension: digits, optionally followed by Python 2's 'L'. */
static int take_dimension(text_t *t, const char *start, int64_t *value)
{
    skip_space(t);
    if (t->at < t->end && *t->at == '-')
        return gnn__error(GNN_EFORMAT, "header, byte %lld: a negative dimension",
                          (long long)(t->at - start));
    if (t->at == t->end || *t->at < '0' || *t->at > '9')
        return expected(t, start, "a dimension");
    if (*t->at == '0' && t->at + 1 < t->end && t->at[1] >= '0' && t->at[1] <= '9')
        return expected(t, start, "a dimension without leading zeros");
    *value = 0;
    for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
        if (!gnn__mul(*value, 10, value) || !gnn__add(*value, *t->at - '0', value))
            return gnn__error(GNN_EFORMAT, "header, byte %lld: a dimension over 2^63",
                              (long long)(t->at - start));
    if (t->at < t->end && *t->at == 'L')
        t->at++;
    return GNN_OK;
}

/* ---- the three values ---- */

static int parse_shape(text_t *t, const char *start, gnn_array_t *like)
{
    bool comma = false;
    if (!take(t, '('))
        return expected(t, start, "a tuple of dimensions");
    like->ndim = 0;
    while (!take(t, ')')) {
        if (like->ndim > 0 && !comma)
            return expected(t, start, "',' or ')'");
        if (like->ndim == GNN__MAX_DIMENSIONS)
            return gnn__error(GNN_EFORMAT, "more than %d dimensions", GNN__MAX_DIMENSIONS);
        GNN_TRY(take_dimension(t, start, &like->shape[like->ndim]));
        like->ndim++;
        comma = take(t, ',');
    }
    if (like->ndim == 1 && !comma)
        return expected(t, start, "a tuple such as (3,)");
    return GNN_OK;
}

/* Skips the list of fields of a structured type, with balanced brackets and strings. */
static int skip_list(text_t *t, const char *start)
{
    char open[MAX_NESTING];
    int depth = 0;
    do {
        const char *s;
        size_t n;
        skip_space(t);
        if (t->at == t->end)
            return expected(t, start, "the end of a list");
        char c = *t->at;
        if (c == '\'' || c == '"') {
            if (!take_string(t, &s, &n))
                return expected(t, start, "a string");
            continue;
        }
        if ((c == '[' || c == '(') && depth == MAX_NESTING)
            return gnn__error(GNN_EFORMAT, "header: lists more than %d deep", MAX_NESTING);
        if (c == '[' || c == '(')
            open[depth++] = c;
        else if ((c == ']' || c == ')') && open[--depth] != (c == ']' ? '[' : '('))
            return expected(t, start, "brackets in pairs");
        t->at++;
    } while (depth > 0);
    return GNN_OK;
}

static void keep_type(gnn__npy_t *npy, const char *type, size_t n)
{
    snprintf(npy->type, sizeof npy->type, "%.*s",
             (int)(n < sizeof npy->type ? n : sizeof npy->type), type);
}

/* Omitted types: object, bytes, text, void, dates and times, complex, and floats wider than
 * double. */
static bool is_no_number(const char *type)
{
    if (type[0] && strchr("<>|=", type[0]))
        type++;
    return type[0] &&
           (strchr("OSUVMmac", type[0]) || strcmp(type, "f16") == 0 || strcmp(type, "f12") == 0);
}

static int parse_type(gnn__npy_t *npy)
{
    const char *s = npy->type;
    npy->left_out = is_no_number(s);
    if (npy->left_out)
        return GNN_OK;
    for (int k = 0; k < gnn__element_types(); k++) {
        const gnn__element_t *type = gnn__element((gnn_dtype_t)k);
        if (!type->npy || strcmp(s + (*s != '\0'), type->npy + 1) != 0)
            continue;
        if (s[0] == '>' && type->size > 1)
            return gnn__error(GNN_EFORMAT, "type '%s' is big-endian, only little-endian is read", s);
        if (s[0] != '<' && s[0] != type->npy[0] && !(s[0] == '>' && type->size == 1))
            break;
        npy->like.dtype = (gnn_dtype_t)k;
        return GNN_OK;
    }
    return gnn__error(GNN_EFORMAT, "type '%s' is not known", s);
}

static int parse_value(gnn__npy_t *npy, text_t *t, const char *start, int key)
{
    const char *s;
    size_t n;
    if (key == 0) {
        skip_space(t);
        if (t->at < t->end && *t->at == '[') {
            keep_type(npy, "structured", 10);
            npy->left_out = true;
            return skip_list(t, start);
        }
        if (!take_string(t, &s, &n))
            return expected(t, start, "a type");
        keep_type(npy, s, n);
        return parse_type(npy);
    }
    if (key == 1) {
        npy->fortran = take_word(t, "True");
        return npy->fortran || take_word(t, "False") ? GNN_OK : expected(t, start, "True or False");
    }
    return parse_shape(t, start, &npy->like);
}

/* ---- the dictionary ---- */

static const char *const keys[] = {"descr", "fortran_order", "shape"};

static int parse_pair(gnn__npy_t *npy, text_t *t, const char *start, bool seen[3])
{
    const char *s;
    size_t n;
    if (!take_string(t, &s, &n))
        return expected(t, start, "a key");
    int key = 0;
    while (key < 3 && (strlen(keys[key]) != n || memcmp(keys[key], s, n) != 0))
        key++;
    if (key == 3)
        return gnn__error(GNN_EFORMAT, "header: unknown key '%.*s'", (int)(n < 40 ? n : 40), s);
    if (seen[key])
        return gnn__error(GNN_EFORMAT, "header: the key '%s' is given twice", keys[key]);
    seen[key] = true;
    if (!take(t, ':'))
        return expected(t, start, "':'");
    return parse_value(npy, t, start, key);
}

static int check_size(gnn__npy_t *npy)
{
    gnn_array_t *like = &npy->like;
    size_t size = npy->left_out ? 1 : gnn__element(like->dtype)->size;
    if (!gnn__shape_count(like->ndim, like->shape, &like->count) ||
        !gnn__mul(like->count, (int64_t)size, &npy->bytes))
        return gnn__error(GNN_EFORMAT, "the shape %s does not fit into memory",
                          gnn__shape_words(like->ndim, like->shape));
    return GNN_OK;
}

int gnn__npy_parse(gnn__npy_t *npy, const char *text, int64_t length)
{
    text_t t = {text, text + length};
    bool seen[3] = {false, false, false};
    memset(npy, 0, sizeof *npy);
    if (!take(&t, '{'))
        return expected(&t, text, "'{'");
    bool comma = true;
    while (!take(&t, '}')) {
        if (!comma)
            return expected(&t, text, "',' or '}'");
        GNN_TRY(parse_pair(npy, &t, text, seen));
        comma = take(&t, ',');
    }
    skip_space(&t);
    if (t.at != t.end)
        return expected(&t, text, "nothing after '}'");
    for (int key = 0; key < 3; key++)
        if (!seen[key])
            return gnn__error(GNN_EFORMAT, "header: the key '%s' is missing", keys[key]);
    return check_size(npy);
}

/* ---- Fortran order, and writing ---- */

void gnn__npy_transpose(const gnn_array_t *like, const void *fortran, void *c)
{
    size_t size = gnn__element(like->dtype)->size;
    int64_t index[GNN__MAX_DIMENSIONS] = {0}, step[GNN__MAX_DIMENSIONS], from = 0;
    for (int k = 0; k < like->ndim; k++)
        step[k] = k == 0 ? 1 : step[k - 1] * like->shape[k - 1];
    for (int64_t to = 0; to < like->count; to++) {
        memcpy((char *)c + (size_t)to * size, (const char *)fortran + (size_t)from * size, size);
        int k = like->ndim - 1;
        for (; k >= 0; k--) {
            from += step[k];
            if (++index[k] < like->shape[k])
                break;
            from -= step[k] * like->shape[k];
            index[k] = 0;
        }
    }
}

int gnn__npy_header(char **header, int64_t *length, const gnn_array_t *array)
{
    char shape[GNN__MAX_DIMENSIONS * 24] = "";
    const gnn__element_t *type = gnn__element(array->dtype);
    if (!type->npy)
        return gnn__error(GNN_EUNSUPPORTED, "array %.80s: .npy has no type %s", array->name,
                          type->name);
    size_t at = 0;
    for (int k = 0; k < array->ndim; k++)
        at += (size_t)snprintf(shape + at, sizeof shape - at, "%lld,%s", (long long)array->shape[k],
                               k + 1 < array->ndim ? " " : "");
    char *text;
    GNN_TRY(gnn__asprintf(&text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                          type->npy, shape));
    /* 10 bytes of prefix, the text, the newline: a multiple of 64, so that a mapped file has
     * aligned data. */
    int64_t words = (int64_t)strlen(text), total;
    int rc = gnn__pad(10 + words + 1, 64, &total) ? gnn__new(header, total, 1, "an npy header")
                                                  : GNN_EOVERFLOW;
    if (rc == GNN_OK) {
        memset(*header, ' ', (size_t)total);
        memcpy(*header, "\x93NUMPY\x01\x00", 8);
        (*header)[8] = (char)((total - 10) & 255);
        (*header)[9] = (char)((total - 10) >> 8);
        memcpy(*header + 10, text, (size_t)words);
        (*header)[total - 1] = '\n';
        *length = total;
    }
    gnn_free(text);
    return rc;
}
