/* Unigram: the segmentation of a text into pieces with the largest sum of scores (Viterbi). Kudo
 * 2018. */
#include <lib/text/tokenizer/tokenizer.h>

#include <math.h>

typedef struct place {
    double score;
    int32_t begin,
        id; /* of the piece that ends here; -1: an unknown character, -2: nothing ends here */
} place_t;

enum { UNKNOWN = -1, NOTHING = -2 };

static inline void offer(bool single, place_t *to, double score, int64_t begin, int32_t id)
{
    score = single ? (double)(float)score : score;
    if (to->id == NOTHING || score > to->score)
        *to = (place_t){score, (int32_t)begin, id};
}

/* SentencePiece sums in float, which is coarse for large sums: release 0.2.3, unlike 0.2.0,
 * restarts from 0 past this sum. */
static const double far_from_0 = 100000;

/* Subtracts the sum at position k from those at k .. `front`. */
static void count_anew(place_t *places, int64_t k, int64_t front)
{
    const float offset = (float)places[k].score;
    for (int64_t end = k; end <= front; end++)
        if (places[end].id != NOTHING)
            places[end].score = (double)((float)places[end].score - offset);
}

/* Relaxes all pieces that begin at k, and the unknown character if no piece is exactly that
 * character. Returns the largest end position. */
static int64_t offer_pieces(const gnn_tokenizer_t *t, place_t *places, const char *word, int64_t k,
                            int64_t next, int64_t n)
{
    int64_t last = next;
    const bool single = t->rules.single;
    const double before = places[k].score;
    bool alone = false;
    int32_t node = 0;
    for (int64_t end = k; end < n;) {
        node = gnn__packed_step(&t->packed, node, word[end++]);
        if (node < 0)
            break;
        const int32_t id = t->packed.at[node].value;
        if (id < 0)
            continue;
        offer(single, &places[end], before + t->rules.scores[id], k, id);
        alone = alone || end == next;
        last = gnn__max(last, end);
    }
    if (!alone)
        offer(single, &places[next], before + t->rules.unknown_score, k, UNKNOWN);
    return last;
}

/* Reverses the chain of pieces, which leads from the end to the start: begin becomes the end of the
 * next piece. */
static void turn(place_t *places, int64_t n)
{
    for (int64_t k = n, next = -1; k >= 0;) {
        const int64_t before = k > 0 ? places[k].begin : -1;
        places[k].begin = (int32_t)next;
        next = k;
        k = before;
    }
}

/* The piece of "unk_id", where a text has it literally, joins the unknown characters next to it. */
static bool is_unknown(const gnn_tokenizer_t *t, int32_t id)
{
    return id < 0 || id == t->rules.unknown;
}

/* The text of an unknown token is that of its characters. */
static void note_text(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word)
{
    const gnn__token_t *token = work->tokens.n > 0 ? &work->tokens.at[work->tokens.n - 1] : NULL;
    if (token && token->id == t->rules.unknown)
        gnn__note_text(work, (gnn__string_t){word + token->begin, token->end - token->begin});
}

static void encode(const gnn_tokenizer_t *t, gnn__work_t *work, const char *word, int64_t n)
{
    place_t *places = gnn__work_scratch(work, n + 1, sizeof *places);
    if (!places)
        return;
    for (int64_t k = 0; k <= n; k++)
        places[k] = (place_t){0, 0, k ? NOTHING : 0};
    for (int64_t k = 0, next = 0, front = 0; k < n; k = next) {
        gnn__utf8_next(word, &next);
        if (t->rules.single && fabs(places[k].score) > far_from_0)
            count_anew(places, k, front);
        front = gnn__max(front, offer_pieces(t, places, word, k, next, n));
    }
    turn(places, n);
    for (int64_t k = 0, end; k < n; k = end) {
        end = places[k].begin;
        const int32_t id = places[end].id;
        const bool unknown = is_unknown(t, id);
        while (unknown && !t->rules.single && end < n && is_unknown(t, places[places[end].begin].id))
            end = places[end].begin;
        if (!unknown || (id >= 0 && end == places[k].begin))
            gnn__add_token(work, id, k, end);
        else
            gnn__add_unknown(work, word, k, end);
        if (unknown && t->n_trims > 0 && work->rc == GNN_OK)
            note_text(t, work, word);
    }
}

/* ---- reading ---- */

static int read_piece(gnn_tokenizer_t *t, const json_t *piece, int64_t id)
{
    const json_t *text = json_array_get(piece, 0), *score = json_array_get(piece, 1);
    if (!json_is_string(text) || !json_is_number(score))
        return gnn__error(GNN_EFORMAT, "piece %lld: a string and a number are expected",
                          (long long)id);
    const double value = json_number_value(score);
    t->rules.scores[id] = value;
    t->rules.unknown_score = id == 0 ? value - 10 : fmin(t->rules.unknown_score, value - 10);
    GNN_TRY(gnn__token_add(
        t, id, (gnn__string_t){json_string_value(text), (int64_t)json_string_length(text)}));
    return json_string_length(text) > 0 ? gnn__piece_add(t, (int32_t)id) : GNN_OK;
}

/* A run of unknown characters becomes bytes, or one unknown token. */
static int check_bytes(const gnn__rules_t *rules)
{
    int count = 0;
    for (int b = 0; b < 256; b++)
        count += rules->bytes[b] >= 0;
    return !rules->byte_fallback || count == 0 || count == 256
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED,
                            "\"byte_fallback\" is true, but \"vocab\" has %d of the 256 pieces "
                            "<0x00> to <0xFF>",
                            count);
}

static int read(gnn_tokenizer_t *t, const json_t *model)
{
    const json_t *pieces = json_object_get(model, "vocab");
    int64_t unknown = -1;
    if (!json_is_array(pieces) || json_array_size(pieces) == 0)
        return gnn__error(GNN_EFORMAT, "\"vocab\" is %s, a list of pieces is expected",
                          json_is_array(pieces) ? "empty" : gnn__json_type(pieces));
    const int64_t count = (int64_t)json_array_size(pieces);
    GNN_TRY(gnn__new(&t->rules.scores, count, sizeof *t->rules.scores, "scores"));
    for (int64_t k = 0; k < count; k++)
        GNN_TRY(read_piece(t, json_array_get(pieces, (size_t)k), k));
    GNN_TRY(gnn__json_number(model, "unk_id", false, &unknown));
    if (unknown >= count)
        return gnn__error(GNN_EFORMAT, "\"unk_id\" is %lld, but there are %lld pieces",
                          (long long)unknown, (long long)count);
    t->rules.unknown = (int32_t)unknown;
    t->rules.fuse_unknown = true;
    gnn__byte_tokens_find(t);
    GNN_TRY(gnn__json_bool(model, "byte_fallback", &t->rules.byte_fallback));
    GNN_TRY(check_bytes(&t->rules));
    return unknown >= 0 || t->rules.byte_fallback
               ? GNN_OK
               : gnn__error(GNN_EUNSUPPORTED, "\"unk_id\" is %s, the id of a piece is expected",
                            gnn__json_type(json_object_get(model, "unk_id")));
}

/* A user-defined piece beats any other segmentation of its bytes. */
static int ready(gnn_tokenizer_t *t)
{
    for (int64_t id = 0; id < t->size; id++)
        if (t->flags[id] & GNN__TOKEN_KEPT)
            t->rules.scores[id] = (double)((float)t->tokens[id].length * (float)t->rules.most) - 0.1;
    GNN_TRY(gnn__trie_pack(&t->packed, &t->pieces));
    gnn__trie_free(&t->pieces);
    return GNN_OK;
}

const gnn__token_kind_t gnn__token_kind_unigram = {.name = "Unigram",
                                                   .keys = "type vocab unk_id byte_fallback",
                                                   .paper = "Kudo 2018, Subword regularization",
                                                   .read = read,
                                                   .encode = encode,
                                                   .ready = ready};
