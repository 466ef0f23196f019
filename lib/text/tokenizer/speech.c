/* How tokens become text, as tokenizer.json's decoder says it. */
#include <lib/text/tokenizer/tokenizer.h>

static int read_wordpiece(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t prefix = {"##", 2};
    GNN_TRY(gnn__json_string(json, "prefix", false, &prefix));
    s->spaced = true;
    s->tidy = true;
    s->prefix = prefix.at;
    return gnn__json_bool(json, "cleanup", &s->tidy);
}

static int read_byte_level(gnn__speech_t *s, const json_t *json)
{
    (void)json;
    s->bytewise = true;
    return GNN_OK;
}

static int read_metaspace(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t blank = {GNN__BLANK, 3}, scheme = {"always", 6};
    bool prefix = true;
    GNN_TRY(gnn__json_string(json, "replacement", false, &blank));
    GNN_TRY(gnn__json_string(json, "prepend_scheme", false, &scheme));
    GNN_TRY(gnn__json_bool(json, "add_prefix_space", &prefix));
    s->blank = blank.at;
    s->bare_first = prefix && strcmp(scheme.at, "never") != 0;
    return GNN_OK;
}

static int read_suffix(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t suffix = {"</w>", 4};
    GNN_TRY(gnn__json_string(json, "suffix", false, &suffix));
    s->suffix = suffix.at;
    return GNN_OK;
}

static int read_replace(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t from = {0}, to = {0};
    GNN_TRY(gnn__json_string(json_object_get(json, "pattern"), "String", true, &from));
    GNN_TRY(gnn__json_string(json, "content", true, &to));
    if (strcmp(to.at, " ") != 0 || from.length == 0)
        return gnn__error(GNN_EUNSUPPORTED, "only a string that becomes a blank is known");
    s->blank = from.at;
    return GNN_OK;
}

static int read_byte_tokens(gnn__speech_t *s, const json_t *json)
{
    (void)json;
    s->byte_tokens = s->whole_runs = true;
    return GNN_OK;
}

static int read_strip(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t content = {0};
    int64_t right = 0;
    GNN_TRY(gnn__json_string(json, "content", true, &content));
    GNN_TRY(gnn__json_number(json, "start", true, &s->strip_left));
    GNN_TRY(gnn__json_number(json, "stop", false, &right));
    return strcmp(content.at, " ") == 0 && right == 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "only blanks at the start are known");
}

static int read_nothing(gnn__speech_t *s, const json_t *json)
{
    (void)s, (void)json;
    return GNN_OK;
}

static const struct {
    const char *type;
    int (*read)(gnn__speech_t *s, const json_t *json);
} parts[] = {
    {"WordPiece", read_wordpiece}, {"ByteLevel", read_byte_level},
    {"Metaspace", read_metaspace}, {"BPEDecoder", read_suffix},
    {"Replace", read_replace},     {"ByteFallback", read_byte_tokens},
    {"Strip", read_strip},         {"Fuse", read_nothing},
};

static int read_part(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t type;
    GNN_TRY(gnn__json_string(json, "type", true, &type));
    for (size_t k = 0; k < sizeof parts / sizeof parts[0]; k++)
        if (strcmp(parts[k].type, type.at) == 0)
            return parts[k].read(s, json);
    return gnn__error(GNN_EUNSUPPORTED, "a step \"%.60s\" is not known", type.at);
}

static int read_all(gnn__speech_t *s, const json_t *decoder)
{
    const json_t *type = json_object_get(decoder, "type"),
                 *list = json_object_get(decoder, "decoders");
    if (!json_is_string(type) || strcmp(json_string_value(type), "Sequence") != 0)
        return read_part(s, decoder);
    if (!json_is_array(list))
        return gnn__error(GNN_EFORMAT, "\"decoders\" is %s, a list is expected",
                          gnn__json_type(list));
    for (size_t k = 0; k < json_array_size(list); k++)
        GNN_TRY(read_part(s, json_array_get(list, k)));
    return GNN_OK;
}

int gnn__speech_read(gnn__speech_t *s, const json_t *decoder)
{
    *s = (gnn__speech_t){.blank = "", .prefix = "", .suffix = ""};
    if (!decoder || json_is_null(decoder)) {
        s->spaced = true;
        return GNN_OK;
    }
    int rc = read_all(s, decoder);
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "decoder");
}
