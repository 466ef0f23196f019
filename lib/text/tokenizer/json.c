/* Values of JSON, checked. */
#include <lib/weights/arch/arch.h>
#include <lib/text/tokenizer/tokenizer.h>

const char *gnn__json_type(const json_t *value)
{
    static const char *const names[] = {"an object", "a list", "a string", "an integer",
                                        "a number",  "true",   "false",    "null"};
    return value ? names[json_typeof(value)] : "nothing";
}

static bool is_absent(const json_t *value, bool needed)
{
    return !needed && (!value || json_is_null(value));
}

int gnn__json_string(const json_t *object, const char *key, bool needed, gnn__string_t *out)
{
    GNN_TRY(gnn__json_long_string(object, key, needed, out));
    const json_t *value = json_object_get(object, key);
    if (json_string_length(value) > GNN__MOST_TOKEN_BYTES)
        return gnn__error(GNN_EFORMAT, "\"%s\" has %zu bytes, at most %d are read", key,
                          json_string_length(value), GNN__MOST_TOKEN_BYTES);
    return GNN_OK;
}

int gnn__json_long_string(const json_t *object, const char *key, bool needed, gnn__string_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (is_absent(value, needed))
        return GNN_OK;
    if (!json_is_string(value))
        return gnn__error(GNN_EFORMAT, "\"%s\" is %s, a string is expected", key,
                          gnn__json_type(value));
    *out = (gnn__string_t){json_string_value(value), (int64_t)json_string_length(value)};
    return GNN_OK;
}

int gnn__json_bool(const json_t *object, const char *key, bool *out)
{
    const json_t *value = json_object_get(object, key);
    if (is_absent(value, false))
        return GNN_OK;
    if (!json_is_boolean(value))
        return gnn__error(GNN_EFORMAT, "\"%s\" is %s, true or false is expected", key,
                          gnn__json_type(value));
    *out = json_is_true(value);
    return GNN_OK;
}

int gnn__json_number(const json_t *object, const char *key, bool needed, int64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (is_absent(value, needed))
        return GNN_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return gnn__error(GNN_EFORMAT, "\"%s\" is %s, a count is expected", key,
                          json_is_integer(value) ? "negative" : gnn__json_type(value));
    *out = (int64_t)json_integer_value(value);
    return GNN_OK;
}
