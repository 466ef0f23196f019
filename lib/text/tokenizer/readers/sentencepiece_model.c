/* SentencePiece's .model: a protocol buffer of pieces, the trainer's settings and the normaliser's.
 * Kudo and Richardson 2018. */
#include <lib/data/arrays/arrays.h>
#include <lib/text/tokenizer/tokenizer.h>

#include <math.h>

enum { LONGEST = 4096, UNIGRAM = 1, PAIRS = 2, WORD = 3, CHARACTER = 4 };
enum { NORMAL = 1, UNKNOWN = 2, CONTROL = 3, USER = 4, UNUSED = 5, BYTE = 6 };
/* Field tags of the protocol buffer. */
enum { MODEL_PIECES = 1, MODEL_TRAINER = 2, MODEL_NORMALISER = 3 };
enum { PIECE_TEXT = 1, PIECE_SCORE = 2, PIECE_TYPE = 3 };
enum { TRAINER_KIND = 3, TRAINER_SUFFIX = 24, TRAINER_BYTES = 35, TRAINER_SURFACE = 44 };
static const gnn__sentencepiece_options_t usual = {.prefix = true, .squeeze = true, .escape = true};
enum { NORMALISER_MAP = 2, NORMALISER_PREFIX = 3, NORMALISER_SQUEEZE = 4, NORMALISER_ESCAPE = 5 };

/* ---- protocol buffers ---- */

typedef struct message {
    const char *at, *end;
    const char *start; /* of the file, for messages */
} message_t;

typedef struct field {
    int64_t number;
    int wire;        /* 0: a varint, 1: 8 bytes, 2: bytes, 5: 4 bytes */
    uint64_t value;  /* of wire types 0 and 5 */
    message_t bytes; /* of wire type 2 */
} field_t;

static bool read_varint(message_t *m, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && m->at < m->end; shift += 7) {
        const unsigned char c = (unsigned char)*m->at++;
        *value |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

static bool read_fixed(message_t *m, int bytes, uint64_t *value)
{
    *value = 0;
    if (m->end - m->at < bytes)
        return false;
    for (int k = 0; k < bytes; k++)
        *value |= (uint64_t)(unsigned char)*m->at++ << 8 * k;
    return true;
}

static bool read_bytes(message_t *m, message_t *bytes)
{
    uint64_t n;
    if (!read_varint(m, &n) || n > (uint64_t)(m->end - m->at))
        return false;
    *bytes = (message_t){m->at, m->at + n, m->start};
    m->at += n;
    return true;
}

/* The next field; GNN_EFORMAT if the message breaks off. To be called while there are bytes left.
 */
static int next_field(message_t *m, field_t *f)
{
    const int64_t place = m->at - m->start;
    uint64_t tag;
    bool good = read_varint(m, &tag);
    *f = (field_t){.number = (int64_t)(tag >> 3), .wire = (int)(tag & 7)};
    if (good)
        good = f->wire == 0   ? read_varint(m, &f->value)
               : f->wire == 1 ? read_fixed(m, 8, &f->value)
               : f->wire == 2 ? read_bytes(m, &f->bytes)
               : f->wire == 5 ? read_fixed(m, 4, &f->value)
                              : false;
    return good ? GNN_OK
                : gnn__error(GNN_EFORMAT, "byte %lld: a field that is whole is expected",
                             (long long)place);
}

/* ---- the parts of a model ---- */

typedef struct model {
    int64_t kind, n_pieces;
    bool byte_fallback, suffix;
    message_t map, surface;
    gnn__sentencepiece_options_t blanks;
    int32_t unknown;
    float least, most;
    char *to; /* next free byte for texts */
} model_t;

static int read_trainer(model_t *model, message_t m)
{
    while (m.at < m.end) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        if (f.number == TRAINER_KIND && f.wire == 0)
            model->kind = (int64_t)f.value;
        else if (f.number == TRAINER_SUFFIX && f.wire == 0)
            model->suffix = f.value != 0;
        else if (f.number == TRAINER_BYTES && f.wire == 0)
            model->byte_fallback = f.value != 0;
        else if (f.number == TRAINER_SURFACE && f.wire == 2)
            model->surface = f.bytes;
    }
    return GNN_OK;
}

static int read_normaliser(model_t *model, message_t m)
{
    while (m.at < m.end) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        if (f.number == NORMALISER_MAP && f.wire == 2)
            model->map = f.bytes;
        else if (f.number == NORMALISER_PREFIX && f.wire == 0)
            model->blanks.prefix = f.value != 0;
        else if (f.number == NORMALISER_SQUEEZE && f.wire == 0)
            model->blanks.squeeze = f.value != 0;
        else if (f.number == NORMALISER_ESCAPE && f.wire == 0)
            model->blanks.escape = f.value != 0;
    }
    return GNN_OK;
}

/* Reads the settings and counts the pieces. */
static int read_outline(model_t *model, message_t m)
{
    while (m.at < m.end) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        if (f.wire == 2 && f.number == MODEL_PIECES)
            model->n_pieces++;
        else if (f.wire == 2 && f.number == MODEL_TRAINER)
            GNN_TRY(read_trainer(model, f.bytes));
        else if (f.wire == 2 && f.number == MODEL_NORMALISER)
            GNN_TRY(read_normaliser(model, f.bytes));
    }
    if (model->n_pieces == 0)
        return gnn__error(GNN_EFORMAT, "has no pieces");
    if (model->suffix || model->kind < UNIGRAM || model->kind > CHARACTER)
        return gnn__error(GNN_EUNSUPPORTED, "%s",
                          model->suffix ? "spaces that end words (treat_whitespace_as_suffix)"
                                        : "a model that is neither unigram, bpe, word nor char");
    return GNN_OK;
}

/* ---- pieces ---- */

static bool is_text(const char *at, int64_t n)
{
    bool whole = !memchr(at, '\0', (size_t)n), open;
    for (int64_t k = 0; k < n && whole;)
        k += gnn__utf8_part((const unsigned char *)at + k, n - k, &whole, &open);
    return whole;
}

static int check_piece(const model_t *model, int64_t id, message_t text, int64_t type, float score)
{
    const int64_t n = text.end - text.at;
    const char *fault = n > LONGEST                              ? "is longer than 4096 bytes"
                        : n == 0                                 ? "is empty"
                        : !is_text(text.at, n)                   ? "is not UTF-8"
                        : !isfinite(score)                       ? "has a score that is not finite"
                        : type < NORMAL || type > BYTE           ? "has an unknown type"
                        : type == UNKNOWN && model->unknown >= 0 ? "is a second unknown one"
                                                                 : NULL;
    return fault ? gnn__error(GNN_EFORMAT, "piece %lld %s", (long long)id, fault) : GNN_OK;
}

static int add_piece(gnn_tokenizer_t *t, model_t *model, int64_t id, message_t text, int64_t type,
                     float score)
{
    const int64_t n = text.end - text.at;
    GNN_TRY(check_piece(model, id, text, type, score));
    memcpy(model->to, text.at, (size_t)n);
    GNN_TRY(gnn__token_add(t, id, (gnn__string_t){model->to, n}));
    model->to += n + 1;
    t->rules.scores[id] = (double)score;
    if (type == UNKNOWN)
        model->unknown = (int32_t)id;
    if (type == CONTROL)
        t->flags[id] |= GNN__TOKEN_SPECIAL;
    if (type == UNUSED && model->kind == PAIRS)
        return gnn__error(GNN_EUNSUPPORTED, "piece %lld is one that is never used", (long long)id);
    if (type == NORMAL) {
        model->least = fminf(model->least, score);
        model->most = fmaxf(model->most, score);
    }
    if (type == USER) {
        t->flags[id] |= GNN__TOKEN_KEPT;
        GNN_TRY(gnn__trie_add(&t->kept, t->tokens[id].at, n, (int32_t)id));
    }
    return type == NORMAL || type == USER ? gnn__piece_add(t, (int32_t)id) : GNN_OK;
}

typedef struct raw_piece {
    message_t text;
    int64_t type;
    float score;
} raw_piece_t;

static int read_piece(raw_piece_t *piece, message_t m)
{
    *piece = (raw_piece_t){.text = {"", "", ""}, .type = NORMAL};
    while (m.at < m.end) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        const uint32_t bits = (uint32_t)f.value;
        if (f.number == PIECE_TEXT && f.wire == 2)
            piece->text = f.bytes;
        else if (f.number == PIECE_SCORE && f.wire == 5)
            memcpy(&piece->score, &bits, sizeof piece->score);
        else if (f.number == PIECE_TYPE && f.wire == 0)
            piece->type = (int64_t)(f.value & 0xff);
    }
    return GNN_OK;
}

static int read_pieces(gnn_tokenizer_t *t, model_t *model, message_t m)
{
    int64_t bytes;
    if (!gnn__add(m.end - m.at, model->n_pieces, &bytes))
        return gnn__error(GNN_EOVERFLOW, "the pieces do not fit");
    GNN_TRY(gnn__new(&t->more, bytes + 64, 1, "pieces"));
    GNN_TRY(gnn__new(&t->rules.scores, model->n_pieces, sizeof *t->rules.scores, "scores"));
    model->to = t->more;
    for (int64_t id = 0; m.at < m.end;) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        raw_piece_t p;
        if (f.wire != 2 || f.number != MODEL_PIECES)
            continue;
        GNN_TRY(read_piece(&p, f.bytes));
        GNN_TRY(add_piece(t, model, id++, p.text, p.type, p.score));
    }
    return model->unknown >= 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "no piece is the unknown one");
}

/* ---- the tokenizer ---- */

static int add_normaliser(gnn_tokenizer_t *t, const model_t *model)
{
    gnn__text_step_t *step;
    GNN_TRY(gnn__pipeline_add(&t->normalisers, &gnn__text_step_sentencepiece, &step));
    GNN_TRY(gnn__new(&step->options, 1, sizeof(gnn__sentencepiece_options_t), "a step"));
    gnn__sentencepiece_options_t *o = step->options;
    *o = model->blanks;
    o->kept = &t->kept;
    GNN_TRY(gnn__charsmap_read(&o->map, model->map.at, model->map.end - model->map.at));
    gnn__sentencepiece_plain(o);
    return GNN_OK;
}

static int set_rules(gnn_tokenizer_t *t, const model_t *model)
{
    gnn__rules_t *r = &t->rules;
    t->kind = model->kind == UNIGRAM ? &gnn__token_kind_unigram
              : model->kind == WORD  ? &gnn__token_kind_word_level
                                     : &gnn__token_kind_byte_pairs;
    r->unknown = model->unknown;
    r->byte_fallback = model->byte_fallback;
    r->fuse_unknown = r->join_unknown = !model->byte_fallback;
    r->single = true;
    r->never_cached = model->kind == UNIGRAM;
    r->unknown_score = (double)(model->least - 10);
    r->most = (double)model->most;
    gnn__byte_tokens_find(t);
    if (model->kind == PAIRS)
        GNN_TRY(gnn__merges_of_scores(t));
    return model->kind == UNIGRAM || !model->blanks.escape ? GNN_OK
                                                           : gnn__split_at_blanks(t, GNN__BLANK);
}

static int set_speech(gnn_tokenizer_t *t, model_t *model)
{
    const gnn__sentencepiece_options_t *b = &model->blanks;
    const int64_t n = model->surface.end - model->surface.at;
    t->speech = (gnn__speech_t){.byte_tokens = model->byte_fallback,
                                .strip_left = b->squeeze ? INT64_MAX : b->prefix,
                                .blank = b->escape ? GNN__BLANK : "",
                                .prefix = "",
                                .suffix = "",
                                .unknown = " \xe2\x81\x87 "};
    if (model->surface.at && is_text(model->surface.at, n)) {
        memcpy(model->to, model->surface.at, (size_t)n);
        t->speech.unknown = model->to;
    }
    return gnn__template_plain(t);
}

static bool is(const gnn__tokenizer_file_t *file)
{
    return file->size > 4 && file->data[0] == '\n' &&
           (file->data[2] == '\n' || file->data[3] == '\n');
}

static int read(gnn_tokenizer_t *t, const gnn__tokenizer_file_t *file)
{
    const message_t whole = {file->data, file->data + file->size, file->data};
    model_t model = {
        .kind = UNIGRAM, .unknown = -1, .least = INFINITY, .most = -INFINITY, .blanks = usual};
    GNN_TRY(read_outline(&model, whole));
    GNN_TRY(read_pieces(t, &model, whole));
    if (!isfinite(model.least))
        model.least = model.most = 0;
    GNN_TRY(add_normaliser(t, &model));
    GNN_TRY(set_rules(t, &model));
    return set_speech(t, &model);
}

const gnn__reader_t gnn__reader_sentencepiece_model = {is, read};

/* ---- pieces alone ---- */

static int list_piece(gnn__piece_list_t *list, model_t *model, message_t m)
{
    raw_piece_t p;
    GNN_TRY(read_piece(&p, m));
    GNN_TRY(check_piece(model, list->n, p.text, p.type, p.score));
    if (p.type == UNKNOWN)
        model->unknown = (int32_t)list->n;
    list->at[list->n++] = (gnn__listed_piece_t){
        {p.text.at, p.text.end - p.text.at}, p.score, p.type == CONTROL, p.type == USER};
    return GNN_OK;
}

static int list_pieces(gnn__piece_list_t *list, const gnn__tokenizer_file_t *file)
{
    message_t m = {file->data, file->data + file->size, file->data};
    model_t model = {.kind = UNIGRAM, .unknown = -1, .blanks = usual};
    GNN_TRY(read_outline(&model, m));
    GNN_TRY(gnn__new(&list->at, model.n_pieces, sizeof *list->at, "pieces"));
    while (m.at < m.end) {
        field_t f;
        GNN_TRY(next_field(&m, &f));
        if (f.wire == 2 && f.number == MODEL_PIECES)
            GNN_TRY(list_piece(list, &model, f.bytes));
    }
    list->unknown = model.unknown;
    list->unigram = model.kind == UNIGRAM;
    list->pairs = model.kind == PAIRS;
    list->byte_fallback = model.byte_fallback;
    list->map = (gnn__string_t){model.map.at, model.map.end - model.map.at};
    return model.unknown >= 0 ? GNN_OK : gnn__error(GNN_EFORMAT, "no piece is the unknown one");
}

int gnn__piece_list_open(gnn__piece_list_t *list, const char *path)
{
    gnn__tokenizer_file_t file = {.path = path};
    *list = (gnn__piece_list_t){.n = 0};
    GNN_TRY(gnn__bytes_of_file(path, &file.data, &file.size));
    list->data = file.data;
    const int rc = is(&file) ? list_pieces(list, &file)
                             : gnn__error(GNN_EFORMAT, "is not a model of SentencePiece");
    return rc == GNN_OK ? rc : gnn__error_prefix(rc, "%s", gnn__file_name(path));
}

void gnn__piece_list_close(gnn__piece_list_t *list)
{
    gnn_free(list->at);
    gnn_free(list->data);
}
