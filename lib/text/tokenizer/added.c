/* Added tokens: extracted from a text before all other steps, or after its normalizers. */
#include <lib/text/tokenizer/tokenizer.h>

int gnn__added_add(gnn_tokenizer_t *t, gnn__added_t token)
{
    GNN_TRY(gnn__token_add(t, token.id, token.text));
    if (token.special)
        t->flags[token.id] |= GNN__TOKEN_SPECIAL;
    GNN_TRY(gnn__one_more(&t->added, t->n_added, sizeof *t->added, "added tokens"));
    t->added[t->n_added++] = token;
    return GNN_OK;
}

/* The package assigns ids of added tokens itself: tokens of the model keep theirs, others follow
 * the count of the model's tokens. `most`: the largest id so far, -1: none. */
static int check_id(const gnn_tokenizer_t *t, gnn__string_t text, int64_t id, int64_t of_model,
                    int64_t most)
{
    const int32_t known = gnn__token_find(t, text, (gnn__string_t){"", 0});
    const int64_t expected = known >= 0 ? known : most >= of_model ? most + 1 : of_model;
    if (id == expected)
        return GNN_OK;
    return gnn__error(GNN_EUNSUPPORTED, "\"%.60s\" has the id %lld, %lld is expected%s", text.at,
                      (long long)id, (long long)expected,
                      known >= 0 ? ", as in the model" : ": ids follow on each other");
}

static int read_one(gnn_tokenizer_t *t, const json_t *json, int64_t of_model, int64_t *most)
{
    gnn__added_t token = {0};
    int64_t id = 0;
    GNN_TRY(gnn__json_closed(json, "id content special normalized single_word lstrip rstrip"));
    GNN_TRY(gnn__json_string(json, "content", true, &token.text));
    GNN_TRY(gnn__json_number(json, "id", true, &id));
    GNN_TRY(gnn__json_bool(json, "special", &token.special));
    token.normalised = !token.special;
    GNN_TRY(gnn__json_bool(json, "normalized", &token.normalised));
    GNN_TRY(gnn__json_bool(json, "single_word", &token.single_word));
    GNN_TRY(gnn__json_bool(json, "lstrip", &token.strip_left));
    GNN_TRY(gnn__json_bool(json, "rstrip", &token.strip_right));
    token.id = (int32_t)gnn__min(id, INT32_MAX);
    if (token.text.length == 0)
        return GNN_OK;
    GNN_TRY(check_id(t, token.text, id, of_model, *most));
    *most = gnn__max(*most, id);
    return gnn__added_add(t, token);
}

int gnn__added_read(gnn_tokenizer_t *t, const json_t *list)
{
    if (!list || json_is_null(list))
        return GNN_OK;
    if (!json_is_array(list))
        return gnn__error(GNN_EFORMAT, "\"added_tokens\" is %s, a list is expected",
                          gnn__json_type(list));
    t->expected = t->count + (int64_t)json_array_size(list);
    const int64_t of_model = t->count;
    int64_t most = -1;
    for (size_t k = 0; k < json_array_size(list); k++) {
        int rc = read_one(t, json_array_get(list, k), of_model, &most);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "added token %lld", (long long)k);
    }
    return GNN_OK;
}

/* Bytes that normalisers may make of an added token: all that are made are kept. */
enum { MADE_PER_BYTE = 16, MADE_PER_TOKEN = 64 };

/* It is written as it is found. */
static int keep_normal(gnn_tokenizer_t *t, int32_t which, const gnn__flow_t *text)
{
    gnn__added_t *token = &t->added[which];
    if (!t->written)
        GNN_TRY(gnn__new(&t->written, t->size, sizeof *t->written, "texts of added tokens"));
    GNN_TRY(gnn__new(&token->normal, text->n + 1, 1, "an added token"));
    if (text->n > 0)
        memcpy(token->normal, text->at, (size_t)text->n);
    t->written[token->id] = (gnn__string_t){token->normal, text->n};
    return GNN_OK;
}

static int check_only(const gnn_tokenizer_t *t, int32_t which, const gnn__flow_t *text)
{
    const int32_t other =
        t->normalised_added.nodes > 0 ? gnn__trie_find(&t->normalised_added, text->at, text->n) : -1;
    if (other < 0 || t->added[other].id == t->added[which].id)
        return GNN_OK;
    return gnn__error(
        GNN_EUNSUPPORTED, "\"%.60s\" is \"%.60s\" after the normalizers, as is added token %d",
        t->added[which].text.at,
        t->added[other].normal ? t->added[other].normal : t->added[other].text.at, (int)other);
}

/* Tokens that are searched after the normalizers are normalized too. */
static int normalise(gnn_tokenizer_t *t, int32_t which)
{
    gnn__work_t work;
    const gnn__string_t text = t->added[which].text;
    GNN_TRY(gnn__work_new(&work, t, false));
    gnn__work_begin(&work, text.length);
    work.most = gnn__min(GNN__MOST_TOKEN_BYTES, MADE_PER_BYTE * text.length + MADE_PER_TOKEN);
    gnn__put_bytes(&work, text.at, text.length, (gnn__span_t){0, 0});
    gnn__add_span(&work, 0, work.next.n);
    const gnn__flow_t made = work.next;
    work.next = work.text;
    work.text = made;
    const gnn__spans_t spans = work.next_spans;
    work.next_spans = work.spans;
    work.spans = spans;
    gnn__pipeline_run(&t->normalisers, &work);
    int rc = work.rc;
    if (rc == GNN_OK &&
        (work.text.n != text.length || memcmp(work.text.at, text.at, (size_t)text.length) != 0))
        rc = keep_normal(t, which, &work.text);
    if (rc == GNN_OK)
        rc = check_only(t, which, &work.text);
    if (rc == GNN_OK && work.text.n == 0)
        rc = gnn__error(GNN_EUNSUPPORTED, "normalizers leave nothing of \"%.60s\"", text.at);
    if (rc == GNN_OK)
        rc = gnn__trie_add(&t->normalised_added, work.text.at, work.text.n, which);
    gnn__work_free(&work);
    return rc;
}

int gnn__added_prepare(gnn_tokenizer_t *t)
{
    for (int32_t k = 0; k < t->n_added; k++) {
        const gnn__added_t *token = &t->added[k];
        int rc;
        if (token->normalised)
            rc = normalise(t, k);
        else
            rc = gnn__trie_add(&t->raw_added, token->text.at, token->text.length, k);
        if (rc != GNN_OK)
            return gnn__error_prefix(rc, "added token %d", (int)k);
    }
    return GNN_OK;
}
