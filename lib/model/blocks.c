/* Lists of steps, and the table of blocks. */
#include <lib/base/flags.h>
#include <lib/base/room.h>
#include <lib/layer/config_fields.h>
#include <lib/model/blocks.h>

/* ---- lists ---- */

int gnn_steps_new(gnn_steps_t **steps)
{
    return gnn__new(steps, 1, sizeof **steps, "a list of steps");
}

void gnn_steps_free(gnn_steps_t *steps)
{
    if (!steps)
        return;
    for (int64_t k = 0; k < steps->count; k++)
        gnn__step_free_strings(&steps->list[k]);
    gnn_free(steps->list);
    gnn_free(steps);
}

int64_t gnn_steps_count(const gnn_steps_t *steps)
{
    return steps->count;
}

const gnn_step_t *gnn_steps_list(const gnn_steps_t *steps)
{
    return steps->list;
}

int gnn__steps_fail(gnn_steps_t *steps, int rc)
{
    if (rc != GNN_OK && steps->status == GNN_OK) {
        steps->status = rc;
        snprintf(steps->message, sizeof steps->message, "%s", gnn_error_message());
    }
    return rc;
}

void gnn__steps_limit(gnn_steps_t *steps, int64_t most)
{
    steps->most = most;
}

static int append(gnn_steps_t *steps, const gnn_step_t *step)
{
    if (steps->most > 0 && steps->count == steps->most)
        return gnn__error(GNN_EFORMAT, "expected at most %lld steps, got more",
                          (long long)steps->most);
    GNN_TRY(gnn__room(&steps->list, steps->count, &steps->room, sizeof *steps->list,
                      "a list of steps"));
    gnn_step_t *copy = &steps->list[steps->count];
    *copy = *step;
    steps->count++;
    GNN_TRY(gnn__step_copy_strings(copy));
    if (copy->name)
        return GNN_OK;
    char *number = NULL;
    GNN_TRY(gnn__asprintf(&number, "%lld", (long long)steps->count - 1));
    copy->name = number;
    return GNN_OK;
}

int gnn_steps_add(gnn_steps_t *steps, const gnn_step_t *step)
{
    if (steps->status != GNN_OK)
        return gnn__error(steps->status, "%s", steps->message);
    return gnn__steps_fail(steps, append(steps, step));
}

int gnn_model_build(gnn_model_t **model, gnn_context_t *context, const gnn_steps_t *steps)
{
    if (steps->status != GNN_OK)
        return gnn__error(steps->status, "%s", steps->message);
    return gnn_model_from_steps(model, context, steps->count, steps->list);
}

/* ---- for blocks ---- */

const char *gnn__block_add(gnn_steps_t *steps, const gnn_block_t *b, const char *part, gnn_step_t step)
{
    char *name = NULL;
    const char *dot = *part && *part != ':' ? "." : "";
    if (steps->status != GNN_OK)
        return "";
    int rc = gnn__steps_fail(steps, gnn__asprintf(&name, "%s%s%s", b->name, dot, part));
    step.name = name;
    if (rc == GNN_OK)
        rc = gnn_steps_add(steps, &step);
    gnn_free(name);
    return rc == GNN_OK ? steps->list[steps->count - 1].name : "";
}

const char *gnn__block_input(gnn_steps_t *steps, const gnn_block_t *b)
{
    return b->input ? b->input : steps->count > 0 ? steps->list[steps->count - 1].name : "x";
}

int gnn__block_graph(const gnn_block_t *b, int k)
{
    return b->graphs[k] ? b->graphs[k] : b->graph + 1 + k;
}

void gnn__block_need(gnn_steps_t *steps, const gnn_block_t *b, const char *field, bool given)
{
    if (!given && steps->status == GNN_OK)
        gnn__steps_fail(steps, gnn__error(GNN_EINVALID, "block %s needs .%s", b->name, field));
}

/* ---- the table ---- */

static const struct block {
    const char *name;
    void (*append)(gnn_steps_t *steps, const gnn_block_t *b);
    const size_t *reads; /* offsets of the settings that it reads, END after the last */
} blocks[] = {
/* clang-format off */
#define END SIZE_MAX
#define LAYER (SIZE_MAX - 1),
#define AT(member) offsetof(gnn_block_t, member),
#define GNN_BLOCK(name, reads) {#name, gnn__block_##name, (const size_t[]){reads END}},
#include <lib/model/blocks.def>
#undef GNN_BLOCK
#undef AT
    /* clang-format on */
};

enum { BLOCKS = sizeof blocks / sizeof *blocks };

static const struct {
    const char *name;
    size_t offset, size;
} settings_of_all[] = {
#define MEMBER(member) \
    {#member, offsetof(gnn_block_t, member), sizeof((gnn_block_t *)NULL)->member},
    MEMBER(memory) MEMBER(edges) MEMBER(globals) MEMBER(graph) MEMBER(graphs) MEMBER(width)
        MEMBER(edge_width) MEMBER(global_width) MEMBER(heads) MEMBER(hidden) MEMBER(rows)
            MEMBER(hops) MEMBER(factor) MEMBER(dropout) MEMBER(maximum) MEMBER(out)
                MEMBER(edge_weight) MEMBER(theta) MEMBER(aggregators) MEMBER(types) MEMBER(relations)
#undef MEMBER
};

static bool reads(const struct block *block, size_t offset)
{
    for (const size_t *at = block->reads; *at != END; at++)
        if (*at == offset)
            return true;
    return false;
}

static bool is_set(const gnn_block_t *b, size_t offset, size_t size)
{
    const char *bytes = (const char *)b + offset;
    for (size_t k = 0; k < size; k++)
        if (bytes[k])
            return true;
    return false;
}

/* Settings that the block does not read must be 0, so that none is silently ignored. */
static int check_unread(const struct block *block, const gnn_block_t *b)
{
    const gnn__field_row_t *f;
    for (size_t k = 0; k < sizeof settings_of_all / sizeof *settings_of_all; k++)
        if (!reads(block, settings_of_all[k].offset) &&
            is_set(b, settings_of_all[k].offset, settings_of_all[k].size))
            return gnn__error(GNN_EINVALID, "block %s (%s) reads no .%s", b->name, block->name,
                              settings_of_all[k].name);
    for (size_t k = 0; !reads(block, SIZE_MAX - 1) && (f = gnn__config_field(k)); k++)
        if (!reads(block, offsetof(gnn_block_t, layer) + f->offset) &&
            is_set(b, offsetof(gnn_block_t, layer) + f->offset, f->size))
            return gnn__error(GNN_EINVALID, "block %s (%s) reads no .layer.%s", b->name,
                              block->name, f->name);
    return gnn__check_flag(b->maximum, "a block's .maximum");
}

const char *gnn_block_name(size_t index)
{
    return index < BLOCKS ? blocks[index].name : NULL;
}

static int unknown(const char *name)
{
    char list[1024] = "";
    for (size_t k = 0; k < BLOCKS; k++)
        gnn__append_name(list, sizeof list, ", ", blocks[k].name);
    return gnn__error(GNN_ENOTFOUND, "there is no block \"%.40s\"; there are %s", name, list);
}

int gnn_steps_block(gnn_steps_t *steps, const char *block, const gnn_block_t *settings)
{
    if (steps->status != GNN_OK)
        return gnn__error(steps->status, "%s", steps->message);
    for (size_t k = 0; k < BLOCKS; k++)
        if (strcmp(blocks[k].name, block) == 0) {
            if (!settings->name)
                return gnn__steps_fail(steps,
                                       gnn__error(GNN_EINVALID, "block %s needs .name", block));
            GNN_TRY(gnn__steps_fail(steps, check_unread(&blocks[k], settings)));
            blocks[k].append(steps, settings);
            return steps->status;
        }
    return gnn__steps_fail(steps, unknown(block));
}
