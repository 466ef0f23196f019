/* Described models: a list of steps and blocks, each with the settings that differ from their
 * defaults.
 *
 *     {"format": 1, "steps": [
 *         {"kind": "layer", "name": "conv1", "layer": {"preset": "gcn", "in": 16, "out": 8}},
 *         {"block": "sgc", "name": "conv2", "width": 8, "out": 3, "hops": 2}]}
 *
 * and, under a separate key, an object per graph slot: {"kind": "edges", "source": "edge_index"}.
 * Files are not trusted: repetitions in a block are bounded. */
#include <lib/weights/config_json.h>
#include <lib/weights/description.h>

#include <lib/base/base.h>
#include <lib/model/blocks.h>
#include <lib/model/model.h>
#include <lib/tape/tape.h>

enum { MOST_SLOTS = 1001, MOST_REPEATED = GNN__MOST_STEPS_READ };

/* ---- steps and blocks ---- */

/* Repetitions in a block are limited like the steps of a file. */
static int check_repeated(const gnn_block_t *b)
{
    const int64_t hops = b->hops > 0 ? b->hops : 1, rows = b->rows > 0 ? b->rows : 1;
    if (hops > MOST_REPEATED || rows > MOST_REPEATED || hops * rows > MOST_REPEATED)
        return gnn__error(GNN_EFORMAT, "hops = %lld and rows = %lld: their product may be %d",
                          (long long)b->hops, (long long)b->rows, MOST_REPEATED);
    if (b->heads > 4096)
        return gnn__error(GNN_EFORMAT, "heads = %lld, at most 4096 are read", (long long)b->heads);
    return GNN_OK;
}

static int read_block(gnn_steps_t *steps, const char *name, json_t *object, const gnn_rows_t *rows)
{
    gnn_block_t block = {0};
    int rc = gnn__block_read(&block, object, rows);
    if (rc == GNN_OK)
        rc = check_repeated(&block);
    if (rc == GNN_OK)
        rc = gnn_steps_block(steps, name, &block);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "block %.40s", name);
}

static int read_entry(gnn_steps_t *steps, json_t *object, const gnn_rows_t *rows)
{
    json_t *block = json_object_get(object, "block");
    if (block && !json_is_string(block))
        return gnn__error(GNN_EFORMAT, "field block: a string is expected");
    if (block)
        GNN_TRY(read_block(steps, json_string_value(block), object, rows));
    else {
        gnn_step_t step = {0};
        GNN_TRY(gnn__step_read(&step, object, rows));
        GNN_TRY(gnn_steps_add(steps, &step));
    }
    return GNN_OK;
}

static int read_entries(gnn_steps_t *steps, json_t *root, const gnn_rows_t *rows)
{
    json_t *list;
    GNN_TRY(gnn__steps_array(&list, root));
    for (size_t k = 0; k < json_array_size(list); k++) {
        const int rc = read_entry(steps, json_array_get(list, k), rows);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "entry %zu", k);
    }
    return GNN_OK;
}

int gnn__described_model(gnn_model_t **model, gnn_context_t *context, const gnn_arrays_t *arrays,
                         int64_t most, const gnn_rows_t *rows)
{
    const char *text = gnn_arrays_metadata(arrays, GNN__DESCRIPTION_KEY);
    gnn_steps_t *steps = NULL;
    json_t *root = NULL;
    int rc;
    GNN_CHECK(gnn_steps_new(&steps));
    gnn__steps_limit(steps, GNN__MOST_STEPS_READ);
    GNN_CHECK(gnn__json_load(&root, text));
    GNN_CHECK(read_entries(steps, root, rows));
    GNN_CHECK(gnn__model_make(model, context, gnn_steps_count(steps), gnn_steps_list(steps), most));
    for (int32_t id = 0; id < gnn_parameters_count((*model)->parameters); id++)
        gnn__parameters_clear((*model)->parameters, id); /* fields without an array are 0 */
done:
    json_decref(root);
    gnn_steps_free(steps);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "metadata \"" GNN__DESCRIPTION_KEY "\"");
}

/* ---- slots ---- */

int gnn__slots_write(char **text, const gnn_model_t *model)
{
    *text = NULL;
    if (model->n_slots == 0)
        return GNN_OK;
    json_t *list = json_array();
    bool complete = list != NULL;
    for (int k = 0; complete && k < model->n_slots; k++) {
        const char *source = NULL;
        int64_t number = 0;
        const char *kind = gnn_model_slot(model, k, &source, &number);
        complete = json_array_append_new(list, json_pack("{s:s,s:I,s:s*}", "kind", kind, "number",
                                                         (json_int_t)number, "source", source)) == 0;
    }
    const int rc = gnn__json_write(text, complete ? list : NULL, JSON_COMPACT);
    json_decref(list);
    return rc;
}

/* An object of these three keys; only the kind is required. */
static int check_slot(const json_t *object)
{
    const json_t *kind = json_object_get(object, "kind"),
                 *source = json_object_get(object, "source"),
                 *number = json_object_get(object, "number");
    const size_t known = 1 + (source ? 1U : 0U) + (number ? 1U : 0U);
    if (json_is_string(kind) && (!source || json_is_string(source)) &&
        (!number || json_is_integer(number)) && json_object_size(object) == known)
        return GNN_OK;
    return gnn__error(GNN_EFORMAT,
                      "expected an object of \"kind\", a string, and at most \"source\", a string, "
                      "and \"number\", an integer; got other keys or types");
}

static int read_slot(gnn_model_t *model, int64_t slot, const json_t *object)
{
    GNN_TRY(check_slot(object));
    const json_int_t number = json_integer_value(json_object_get(object, "number"));
    if (number < 0 || number > MOST_REPEATED)
        return gnn__error(GNN_EFORMAT, "number %lld lies outside 0..%d", (long long)number,
                          MOST_REPEATED);
    return gnn__model_set_slot(model, slot, json_string_value(json_object_get(object, "kind")),
                               json_string_value(json_object_get(object, "source")), number);
}

static int read_slots(gnn_model_t *model, json_t *list)
{
    const int64_t count = (int64_t)json_array_size(list);
    if (!json_is_array(list) || count > MOST_SLOTS)
        return gnn__error(GNN_EFORMAT, "an array of at most %d objects is expected", MOST_SLOTS);
    GNN_TRY(gnn__model_new_slots(model, count));
    for (int64_t k = 0; k < count; k++) {
        const int rc = read_slot(model, k, json_array_get(list, (size_t)k));
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "slot %lld", (long long)k);
    }
    return GNN_OK;
}

int gnn__slots_read(gnn_model_t *model, const char *text)
{
    json_t *root = NULL;
    if (!text)
        return GNN_OK;
    int rc = gnn__json_load(&root, text);
    if (rc == GNN_OK)
        rc = read_slots(model, root);
    json_decref(root);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "metadata \"" GNN__SLOTS_KEY "\"");
}
