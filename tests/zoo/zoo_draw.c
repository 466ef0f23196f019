/* The arrays of a case, drawn: tests/zoo/sizes.txt has their shapes and ranges. */
#include "zoo_run.h"

#include <lib/data/arrays/arrays.h>
#include <stdio.h>

/* Seed of an array: of its name, so that it does not depend on the others. */
static uint64_t seed_of(const char *name)
{
    uint64_t seed = 1469598103934665603u;
    for (const char *c = name; *c; c++)
        seed = (seed ^ (uint64_t)(unsigned char)*c) * 1099511628211u;
    return seed;
}

static void add(gnn_arrays_t *arrays, const char *name, const gnn_array_t *like, void *data)
{
    ck_ok(gnn__arrays_add(arrays, name, strlen(name), like, data));
}

static void *room_for(int64_t count)
{
    double *data = NULL;
    ck_ok(gnn__new(&data, count + 1, sizeof *data, "an array of a case"));
    return data;
}

/* The middle half of the range: scores stay small enough to compare gradients. */
static void draw_reals(gnn_arrays_t *arrays, const char *name, gnn_array_t like, const char *rest)
{
    char *end;
    const double low = strtod(rest, &end), high = strtod(end, &end);
    double *data = room_for(like.count);
    uint64_t seed = seed_of(name);
    like.dtype = GNN_DTYPE_FLOAT64;
    for (int64_t k = 0; k < like.count; k++)
        data[k] = (low + high) / 2 + (high - low) / 4 * test_uniform(&seed);
    add(arrays, name, &like, data);
    if (strchr(end, '*')) {
        char gradient[72];
        snprintf(gradient, sizeof gradient, "d%s", name);
        add(arrays, gradient, &like, room_for(like.count));
    }
}

static void read_values(gnn_arrays_t *arrays, const char *name, gnn_array_t like, const char *rest,
                        bool integers, int64_t times)
{
    const char *at = strchr(rest, '=') + 1;
    double *reals = room_for(like.count);
    int64_t *whole = room_for(like.count);
    for (int64_t k = 0; k < like.count; k++) {
        char *end;
        reals[k] = (double)times * strtod(at, &end);
        whole[k] = (int64_t)reals[k];
        at = end;
    }
    like.dtype = integers ? GNN_DTYPE_INT64 : GNN_DTYPE_FLOAT64;
    add(arrays, name, &like, integers ? (void *)whole : (void *)reals);
    gnn_free(integers ? (void *)reals : (void *)whole);
}

/* A case that is drawn with more rows: those of x and mem, and of other inputs with as many. */
typedef struct {
    int64_t times, rows[2]; /* rows: of x and of mem in the file */
} scale_t;

/* Stored pairs do not scale; the graphs that an entry makes do. */
static bool is_scaled(const scale_t *s, const char *name, const gnn_array_t *a)
{
    const bool input = !strchr(name, '.') && a->ndim > 0 && strcmp(name, "gy") != 0;
    return s->times > 1 && (strncmp(name, "lengths", 7) != 0) && input &&
           (a->shape[0] == s->rows[0] || a->shape[0] == s->rows[1]);
}

/* " x f 30x12 -2.5 2.5 *" */
static void add_line(gnn_arrays_t *arrays, const scale_t *scale, char *line)
{
    char *rest = NULL, *name = strtok_r(line, " \n", &rest), *type = strtok_r(NULL, " \n", &rest),
         *dims = strtok_r(NULL, " \n", &rest);
    gnn_array_t like = {.count = 1};
    ck_assert_msg(name && type && dims, "a line of tests/zoo/sizes.txt has too few words");
    for (char *at = dims; *at; at += *at == 'x') {
        ck_assert_int_lt(like.ndim, 8);
        like.shape[like.ndim] = strtoll(at, &at, 10);
        like.count *= like.shape[like.ndim++];
    }
    if (scale->times > 1 && (strcmp(name, "src") == 0 || strcmp(name, "dst") == 0))
        return;
    if (is_scaled(scale, name, &like)) {
        like.shape[0] *= scale->times;
        like.count *= scale->times;
    }
    if (*type == 'f')
        draw_reals(arrays, name, like, rest);
    else
        read_values(arrays, name, like, rest, *type == 'i',
                    strncmp(name, "lengths", 7) == 0 ? scale->times : 1);
}

/* Calls of `read` for the lines of a case; false: it has none. */
static bool each_line(const char *name, void (*read)(void *to, char *line), void *to)
{
    char *line = NULL;
    size_t room = 0;
    bool own = false, found = false;
    FILE *file = fopen(GNN_SOURCE_ROOT "/tests/zoo/sizes.txt", "r");
    ck_assert_ptr_nonnull(file);
    while (getline(&line, &room, file) > 0) {
        if (line[0] != ' ') {
            line[strcspn(line, "\n")] = '\0';
            own = strcmp(line, name) == 0;
            found = found || own;
        } else if (own) {
            read(to, line);
        }
    }
    free(line);
    fclose(file);
    return found;
}

typedef struct {
    gnn_arrays_t *arrays;
    scale_t scale;
} drawing_t;

static void find_rows(void *to, char *line)
{
    scale_t *scale = to;
    if (strncmp(line, " x f ", 5) == 0)
        scale->rows[0] = strtoll(line + 5, NULL, 10);
    if (strncmp(line, " mem f ", 7) == 0)
        scale->rows[1] = strtoll(line + 7, NULL, 10);
}

static void draw_line(void *to, char *line)
{
    drawing_t *d = to;
    add_line(d->arrays, &d->scale, line);
}

bool zoo_draw(zoo_t *z, const char *name, int64_t times)
{
    drawing_t d = {.scale = {.times = times, .rows = {-1, -1}}};
    each_line(name, find_rows, &d.scale);
    snprintf(z->g.name, sizeof z->g.name, "%s, drawn", name);
    ck_ok(gnn__arrays_new(&z->g.arrays));
    d.arrays = z->g.arrays;
    const bool found = each_line(name, draw_line, &d);
    ck_ok(gnn__arrays_seal(z->g.arrays));
    ck_ok(gnn_context_new(&z->g.context, &(gnn_context_config_t){.threads = times > 1 ? 1 : 0}));
    ck_ok(gnn_steps_new(&z->steps));
    return found;
}
