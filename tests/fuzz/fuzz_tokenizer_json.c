/* libFuzzer: tokenizer.json by grammar. The input chooses normalizers, pre-tokenizers, a model with
 * a small vocabulary, added tokens, what stands around a text and a decoder; what is left of it is
 * the text. The target `tokenizer` has the broken files. */
#include "fuzz_tokens.h"

#include <stdarg.h>

enum { ROOM = 1 << 14, MOST_STEPS = 3 };

typedef struct {
    char at[ROOM];
    size_t n;
} page_t;

static void say(page_t *p, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(p->at + p->n, ROOM - p->n, format, values);
    va_end(values);
    p->n = n > 0 && p->n + (size_t)n < ROOM ? p->n + (size_t)n : p->n;
}

#define ONE_OF(b, list) ((list)[fuzz_draw(b, sizeof(list) / sizeof *(list))])

static const char *const parts[] = {"a",        "b",        "ab",        "ba", " ", "\xe2\x96\x81",
                                    "\xc4\xa0", "\xc3\xa9", "e\xcc\x81", "1",  "-", "\xe6\x97\xa5"};
static const char *const flags[] = {"true", "false", "null"};
static const char *const patterns[] = {"{\"Regex\": \"\\\\s+\"}", "{\"Regex\": \"[a-z]+\"}",
                                       "{\"Regex\": \"a*\"}",     "{\"Regex\": \".\"}",
                                       "{\"Regex\": \"(?=b)\"}",  "{\"String\": \"a\"}",
                                       "{\"String\": \" \"}",     "{\"String\": \"\"}",
                                       "{\"Regex\": \"\"}",       "{\"String\": \"ab\"}"};
static const char *const behaviors[] = {"Removed", "Isolated", "MergedWithPrevious",
                                        "MergedWithNext", "Contiguous"};
static const char *const schemes[] = {"always", "first", "never"};

static void say_normaliser(page_t *p, fuzz_bytes_t *b)
{
    static const char *const bare[] = {"NFC",       "NFD",          "NFKC", "NFKD",
                                       "Lowercase", "StripAccents", "Nmt"};
    switch (fuzz_draw(b, 5)) {
    case 0: say(p, "{\"type\": \"%s\"}", ONE_OF(b, bare)); break;
    case 1:
        say(p,
            "{\"type\": \"BertNormalizer\", \"clean_text\": %s, \"strip_accents\": %s, \"lowercase\": %s}",
            flags[fuzz_draw(b, 2)], ONE_OF(b, flags), flags[fuzz_draw(b, 2)]);
        break;
    case 2:
        say(p, "{\"type\": \"Strip\", \"strip_left\": %s, \"strip_right\": %s}",
            flags[fuzz_draw(b, 2)], flags[fuzz_draw(b, 2)]);
        break;
    case 3: say(p, "{\"type\": \"Prepend\", \"prepend\": \"%s\"}", ONE_OF(b, parts)); break;
    default:
        say(p, "{\"type\": \"Replace\", \"pattern\": %s, \"content\": \"%s\"}", ONE_OF(b, patterns),
            fuzz_draw(b, 4) ? ONE_OF(b, parts) : "");
    }
}

static void say_splitter(page_t *p, fuzz_bytes_t *b)
{
    static const char *const bare[] = {"BertPreTokenizer", "Whitespace", "WhitespaceSplit"};
    switch (fuzz_draw(b, 6)) {
    case 0: say(p, "{\"type\": \"%s\"}", ONE_OF(b, bare)); break;
    case 1:
        say(p, "{\"type\": \"ByteLevel\", \"add_prefix_space\": %s, \"use_regex\": %s}",
            flags[fuzz_draw(b, 2)], flags[fuzz_draw(b, 2)]);
        break;
    case 2:
        say(p,
            "{\"type\": \"Metaspace\", \"replacement\": \"%s\", \"prepend_scheme\": \"%s\", \"split\": %s}",
            fuzz_draw(b, 4) ? "\xe2\x96\x81" : ONE_OF(b, parts), ONE_OF(b, schemes),
            flags[fuzz_draw(b, 2)]);
        break;
    case 3:
        say(p, "{\"type\": \"Digits\", \"individual_digits\": %s}", flags[fuzz_draw(b, 2)]);
        break;
    case 4:
        say(p, "{\"type\": \"Punctuation\", \"behavior\": \"%s\"}", ONE_OF(b, behaviors));
        break;
    default:
        say(p, "{\"type\": \"Split\", \"pattern\": %s, \"behavior\": \"%s\", \"invert\": %s}",
            ONE_OF(b, patterns), ONE_OF(b, behaviors), flags[fuzz_draw(b, 2)]);
    }
}

static void say_decoder(page_t *p, fuzz_bytes_t *b)
{
    static const char *const bare[] = {"Fuse", "ByteFallback", "ByteLevel"};
    switch (fuzz_draw(b, 5)) {
    case 0: say(p, "{\"type\": \"%s\"}", ONE_OF(b, bare)); break;
    case 1:
        say(p, "{\"type\": \"WordPiece\", \"prefix\": \"%s\", \"cleanup\": %s}",
            fuzz_draw(b, 2) ? "##" : "", flags[fuzz_draw(b, 2)]);
        break;
    case 2:
        say(p, "{\"type\": \"Replace\", \"pattern\": {\"String\": \"%s\"}, \"content\": \" \"}",
            ONE_OF(b, parts));
        break;
    case 3:
        say(p, "{\"type\": \"Strip\", \"content\": \" \", \"start\": %d, \"stop\": 0}",
            fuzz_draw(b, 3));
        break;
    default:
        say(p, "{\"type\": \"BPEDecoder\", \"suffix\": \"%s\"}", fuzz_draw(b, 2) ? "</w>" : "b");
    }
}

/* None, one, or a list of steps. */
static void say_steps(page_t *p, fuzz_bytes_t *b, const char *key, const char *list,
                      void (*step)(page_t *p, fuzz_bytes_t *b))
{
    int n = fuzz_draw(b, MOST_STEPS + 2) - 1;
    if (n < 0)
        return;
    say(p, "\"%s\": %s", key, n == 1 ? "" : "{\"type\": \"Sequence\", ");
    if (n != 1)
        say(p, "\"%s\": [", list);
    for (int k = 0; k < n; k++) {
        say(p, "%s", k ? ", " : "");
        step(p, b);
    }
    say(p, "%s, ", n == 1 ? "" : "]}");
}

static void say_model(page_t *p, fuzz_bytes_t *b)
{
    static const char *const kinds[] = {"BPE", "WordPiece", "Unigram", "WordLevel"};
    const int kind = fuzz_draw(b, 4), n = 2 + fuzz_draw(b, 8),
              bytes = fuzz_draw(b, 64) < 63; /* 0: with a token per byte, which takes most time */
    const char *prefix = fuzz_draw(b, 2) ? "##" : "";
    say(p, "\"model\": {\"type\": \"%s\", ", kinds[kind]);
    if (kind == 0)
        say(p,
            "\"fuse_unk\": %s, \"byte_fallback\": %s, \"ignore_merges\": %s, \"end_of_word_suffix\": \"%s\", "
            "\"merges\": [[\"a\", \"b\"], [\"ab\", \"a\"]], ",
            flags[fuzz_draw(b, 2)], flags[bytes], flags[fuzz_draw(b, 2)],
            fuzz_draw(b, 3) ? "" : "</w>");
    say(p,
        kind == 2
            ? "\"unk_id\": 0, \"vocab\": [[\"<unk>\", 0]"
            : "\"unk_token\": \"<unk>\", \"vocab\": {\"<unk>\": 0, \"a\": 1, \"b\": 2, \"ab\": 3, \"aba\": 4");
    for (int k = 0; k < n; k++)
        say(p, kind == 2 ? ", [\"%s%s%s\", -%d.5]" : ", \"%s%s%s\": %d",
            kind == 1 && k % 2 ? prefix : "", ONE_OF(b, parts), ONE_OF(b, parts),
            kind == 2 ? 1 + fuzz_draw(b, 9) : 5 + k);
    for (int k = 0; k < 256 && bytes == 0; k++)
        say(p, kind == 2 ? ", [\"<0x%02X>\", -20]" : ", \"<0x%02X>\": %d", (unsigned)k, 5 + n + k);
    say(p, "%c}", kind == 2 ? ']' : '}');
}

static void say_added(page_t *p, fuzz_bytes_t *b)
{
    say(p, "\"added_tokens\": [{\"id\": 0, \"content\": \"<unk>\", \"special\": true}");
    for (int k = fuzz_draw(b, 4); k > 0; k--)
        say(p,
            ", {\"id\": %d, \"content\": \"%s\", \"special\": %s, \"normalized\": %s, \"lstrip\": %s, "
            "\"rstrip\": %s, \"single_word\": %s}",
            fuzz_draw(b, 2) ? 1 : 5 + fuzz_draw(b, 32), fuzz_draw(b, 2) ? "a" : ONE_OF(b, parts),
            flags[fuzz_draw(b, 2)], flags[fuzz_draw(b, 2)], flags[fuzz_draw(b, 2)],
            flags[fuzz_draw(b, 2)], flags[fuzz_draw(b, 2)]);
    say(p, "], ");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static page_t page;
    fuzz_bytes_t b = {data, size};
    page.n = 0;
    say(&page, "{");
    say_steps(&page, &b, "normalizer", "normalizers", say_normaliser);
    say_steps(&page, &b, "pre_tokenizer", "pretokenizers", say_splitter);
    say_steps(&page, &b, "decoder", "decoders", say_decoder);
    if (fuzz_draw(&b, 2))
        say(&page,
            "\"post_processor\": {\"type\": \"%s\", \"cls\": [\"a\", %d], \"sep\": [\"b\", %d]}, ",
            fuzz_draw(&b, 2) ? "BertProcessing" : "RobertaProcessing", fuzz_draw(&b, 8),
            fuzz_draw(&b, 8));
    say_added(&page, &b);
    say_model(&page, &b);
    say(&page, "}");
    fuzz_open(fuzz_path((const uint8_t *)page.at, page.n), b.at, b.left);
    return 0;
}
