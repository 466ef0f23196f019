/* libFuzzer: SentencePiece's .model, a protocol buffer that is whole, of pieces, types, scores and
 * settings that the input picks, and a text. The target `tokenizer` has the broken ones. */
#include "fuzz_tokens.h"

enum { ROOM = 1 << 14, LONGEST = 8 };

typedef struct {
    uint8_t at[ROOM];
    size_t n;
} model_t;

static void put(model_t *m, int byte)
{
    if (m->n < ROOM)
        m->at[m->n++] = (uint8_t)byte;
}

/* A field of bytes, of less than 128 or with two bytes of size. */
static void put_field(model_t *m, int number, const uint8_t *at, size_t n)
{
    put(m, number << 3 | 2);
    put(m, (int)(n & 127) | (n > 127 ? 128 : 0));
    if (n > 127)
        put(m, (int)(n >> 7));
    for (size_t k = 0; k < n; k++)
        put(m, at[k]);
}

static void put_number(model_t *m, int number, int value)
{
    if (number > 15) {
        put(m, (number << 3 & 127) | 128);
        put(m, number >> 4);
    } else {
        put(m, number << 3);
    }
    put(m, value & 127);
}

static void put_piece(model_t *to, fuzz_bytes_t *b)
{
    /* A blank, parts of characters, and what normalisers change. */
    static const char *const parts[] = {
        "\xe2\x96\x81", "a",        "b",    "ab",  " ",   "\xcc\x81",
        "\xe6\x97\xa5", "\xef\xac", "\x81", "<0x", "0A>", "e"};
    uint8_t text[LONGEST * 4];
    model_t piece = {.n = 0};
    size_t n = 0;
    for (int k = fuzz_draw(b, LONGEST); k > 0; k--) {
        const char *part = parts[fuzz_draw(b, sizeof parts / sizeof *parts)];
        memcpy(text + n, part, strlen(part));
        n += strlen(part);
    }
    const float score = (float)(fuzz_draw(b, 256) - 128) / 16;
    put_field(&piece, 1, text, n);
    put(&piece, 2 << 3 | 5);
    for (size_t k = 0; k < sizeof score; k++)
        put(&piece, ((const uint8_t *)&score)[k]);
    put_number(&piece, 3, fuzz_draw(b, 8));
    put_field(to, 1, piece.at, piece.n);
}

static void put_settings(model_t *to, fuzz_bytes_t *b)
{
    model_t trainer = {.n = 0}, normaliser = {.n = 0};
    uint8_t map[256];
    const int n = fuzz_draw(b, 2) ? 4 * (1 + fuzz_draw(b, 40)) : 0;
    put_number(&trainer, 3, 1 + fuzz_draw(b, 5));
    put_number(&trainer, 35, fuzz_draw(b, 2));
    for (int k = 3; k <= 5; k++)
        put_number(&normaliser, k, fuzz_draw(b, 2));
    for (int k = 0; k < n; k++)
        map[k] = (uint8_t)fuzz_draw(b, 256);
    if (n > 0) { /* the tree's size, the tree, strings that end */
        memcpy(map, &(uint32_t){(uint32_t)n / 2 & ~3u}, sizeof(uint32_t));
        map[n - 1] = 0;
        put_field(&normaliser, 2, map, (size_t)n);
    }
    put_field(to, 2, trainer.at, trainer.n);
    put_field(to, 3, normaliser.at, normaliser.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static model_t model;
    fuzz_bytes_t b = {data, size};
    model.n = 0;
    put_field(&model, 1, (const uint8_t *)"\n\5<unk>\30\2", 9);
    for (int k = fuzz_draw(&b, 40); k > 0; k--)
        put_piece(&model, &b);
    put_settings(&model, &b);
    fuzz_open(fuzz_path(model.at, model.n), b.at, b.left);
    return 0;
}
