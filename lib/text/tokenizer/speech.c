/* Reads tokenizer.json's decoder: tokens to text. */
#include <lib/text/tokenizer/tokenizer.h>

static int read_wordpiece(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t prefix = {"##", 2};
    GNN_TRY(gnn__json_string(json, "prefix", false, &prefix));
    s->spaced = prefix.length > 0; /* the empty prefix matches every token */
    s->tidy = true;
    s->prefix = prefix.at;
    return gnn__json_bool(json, "cleanup", &s->tidy);
}

/* Connectionist temporal classification: Graves et al. 2006. */
static int read_ctc(gnn__speech_t *s, const json_t *json)
{
    gnn__string_t pad = {0}, delimiter = {0};
    GNN_TRY(gnn__json_string(json, "pad_token", true, &pad));
    GNN_TRY(gnn__json_string(json, "word_delimiter_token", true, &delimiter));
    GNN_TRY(gnn__json_bool(json, "cleanup", &s->tidy));
    s->pad = pad.at;
    s->delimiter = delimiter.at;
    return json_is_boolean(json_object_get(json, "cleanup")) && delimiter.length > 0
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "expected \"cleanup\" and a \"word_delimiter_token\" that has characters");
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
    GNN_TRY(gnn__json_closed(json_object_get(json, "pattern"), "String"));
    GNN_TRY(gnn__json_string(json_object_get(json, "pattern"), "String", true, &from));
    GNN_TRY(gnn__json_string(json, "content", true, &to));
    if (strcmp(to.at, " ") != 0 || from.length == 0)
        return gnn__error(GNN_EUNSUPPORTED, "expected a string that becomes a space");
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
               : gnn__error(GNN_EUNSUPPORTED, "expected spaces at the start");
}

static int read_nothing(gnn__speech_t *s, const json_t *json)
{
    (void)s, (void)json;
    return GNN_OK;
}

/* A Sequence has its steps in the order of their ranks, each once. `alone`: combines with no step
 * but Fuse. */
enum { REPLACE = 1, BYTES, FUSE, STRIP };
static const struct {
    const char *type, *keys;
    int (*read)(gnn__speech_t *s, const json_t *json);
    int rank;
    bool alone;
} parts[] = {
    {"WordPiece", "type prefix cleanup", read_wordpiece, BYTES, true},
    {"ByteLevel", "type add_prefix_space trim_offsets use_regex", read_byte_level, BYTES, true},
    {"Metaspace", "type replacement prepend_scheme split add_prefix_space str_rep", read_metaspace,
     BYTES, true},
    {"BPEDecoder", "type suffix", read_suffix, BYTES, true},
    {"CTC", "type pad_token word_delimiter_token cleanup", read_ctc, BYTES, true},
    {"Replace", "type pattern content", read_replace, REPLACE, false},
    {"ByteFallback", "type", read_byte_tokens, BYTES, false},
    {"Fuse", "type", read_nothing, FUSE, false},
    {"Strip", "type content start stop", read_strip, STRIP, false},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

/* The steps so far. */
typedef struct order {
    int rank;
    bool alone;
} order_t;

static int check_order(order_t *order, size_t k)
{
    const bool fused = order->rank == FUSE, fuses = parts[k].rank == FUSE;
    if (parts[k].rank <= order->rank || (parts[k].rank == STRIP && !fused) ||
        (parts[k].alone && order->rank > 0) || (order->alone && !fuses))
        return gnn__error(GNN_EUNSUPPORTED, "\"%s\" follows another step than expected",
                          parts[k].type);
    *order = (order_t){parts[k].rank, order->alone || parts[k].alone};
    return GNN_OK;
}

static int read_part(gnn__speech_t *s, const json_t *json, order_t *order)
{
    gnn__string_t type;
    size_t k = 0;
    GNN_TRY(gnn__json_string(json, "type", true, &type));
    while (k < PARTS && strcmp(parts[k].type, type.at) != 0)
        k++;
    if (k == PARTS)
        return gnn__error(GNN_EUNSUPPORTED, "a step \"%.60s\" is not known", type.at);
    GNN_TRY(check_order(order, k));
    GNN_TRY(gnn__json_closed(json, parts[k].keys));
    return parts[k].read(s, json);
}

static int read_all(gnn__speech_t *s, const json_t *decoder)
{
    const json_t *type = json_object_get(decoder, "type"),
                 *list = json_object_get(decoder, "decoders");
    order_t order = {0, false};
    if (!json_is_string(type) || strcmp(json_string_value(type), "Sequence") != 0)
        return read_part(s, decoder, &order);
    GNN_TRY(gnn__json_closed(decoder, "type decoders"));
    if (!json_is_array(list))
        return gnn__error(GNN_EFORMAT, "\"decoders\" is %s, a list is expected",
                          gnn__json_type(list));
    for (size_t k = 0; k < json_array_size(list); k++)
        GNN_TRY(read_part(s, json_array_get(list, k), &order));
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
