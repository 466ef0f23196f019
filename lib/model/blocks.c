/* Lists of steps, and the table of blocks. */
#include <lib/base/room.h>
#include <lib/model/blocks.h>

/* ---- lists ---- */

int gnn_steps_new(gnn_steps_t **steps)
{
    GNN__NEED(steps);
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
    GNN__NEED_OR(steps, 0);
    return steps->count;
}

const gnn_step_t *gnn_steps_list(const gnn_steps_t *steps)
{
    GNN__NEED_OR(steps, NULL);
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
    GNN__NEED(steps);
    GNN__NEED(step);
    if (steps->status != GNN_OK)
        return gnn__error(steps->status, "%s", steps->message);
    return gnn__steps_fail(steps, append(steps, step));
}

int gnn_model_build(gnn_model_t **model, gnn_context_t *context, const gnn_steps_t *steps)
{
    GNN__NEED(model);
    GNN__NEED(context);
    GNN__NEED(steps);
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

static const struct {
    const char *name;
    void (*append)(gnn_steps_t *steps, const gnn_block_t *b);
    gnn__offsets_t reads; /* settings besides name and input */
} blocks[] = {
#define LAYER GNN__WHOLE_LAYER
#define AT(member) offsetof(gnn_block_t, member)
#define GNN_BLOCK(name, ...) {#name, gnn__block_##name, GNN__READS(__VA_ARGS__)},
#include <lib/model/blocks.def>
#undef GNN_BLOCK
#undef AT
#undef LAYER
};

enum { BLOCKS = sizeof blocks / sizeof *blocks };

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
    GNN__NEED(steps);
    GNN__NEED(block);
    GNN__NEED(settings);
    if (steps->status != GNN_OK)
        return gnn__error(steps->status, "%s", steps->message);
    for (size_t k = 0; k < BLOCKS; k++)
        if (strcmp(blocks[k].name, block) == 0) {
            if (!settings->name)
                return gnn__steps_fail(steps,
                                       gnn__error(GNN_EINVALID, "block %s needs .name", block));
            GNN_TRY(gnn__steps_fail(
                steps, gnn__block_check_unread(settings, blocks[k].name, blocks[k].reads)));
            blocks[k].append(steps, settings);
            return steps->status;
        }
    return gnn__steps_fail(steps, unknown(block));
}
