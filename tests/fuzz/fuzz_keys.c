/* libFuzzer: config.json by grammar. The input chooses a type of model and values of keys that
 * belong to such; the file of weights has none of what a model asks for, and is named by its shape.
 * The target `config` changes a whole file of BERT's. */
#include "fuzz.h"

#include <gnn/pretrained.h>
#include <stdbool.h>

/* LONG: bytes of an input that may choose a package's own count of layers. */
enum { ROOM = 1 << 13, MOST_KEYS = 24, LARGE = 5, LONG = 128 };

static const char *const types[] = {
    "bert",       "roberta",    "distilbert", "electra",     "albert",     "mpnet",    "roformer",
    "modernbert", "deberta-v2", "nomic_bert", "gte",         "longformer", "bart",     "marian",
    "t5",         "led",        "gpt2",       "gpt_neo",     "gptj",       "gpt_neox", "opt",
    "bloom",      "falcon",     "mpt",        "phi",         "llama",      "mistral",  "qwen2",
    "qwen3",      "gemma",      "gemma2",     "gemma3_text", "olmo2",      "phi3",     "glm",
    "granite",    "smollm3",    "starcoder2", "eurobert",    "vit"};
static const char *const keys[] = {"vocab_size",
                                   "hidden_size",
                                   "n_embd",
                                   "d_model",
                                   "dim",
                                   "num_hidden_layers",
                                   "n_layer",
                                   "num_layers",
                                   "n_layers",
                                   "num_attention_heads",
                                   "n_head",
                                   "num_heads",
                                   "encoder_layers",
                                   "decoder_layers",
                                   "encoder_attention_heads",
                                   "decoder_attention_heads",
                                   "encoder_ffn_dim",
                                   "decoder_ffn_dim",
                                   "num_key_value_heads",
                                   "head_dim",
                                   "d_kv",
                                   "d_ff",
                                   "intermediate_size",
                                   "n_inner",
                                   "max_position_embeddings",
                                   "n_positions",
                                   "type_vocab_size",
                                   "hidden_act",
                                   "activation_function",
                                   "layer_norm_eps",
                                   "rms_norm_eps",
                                   "tie_word_embeddings",
                                   "rope_theta",
                                   "rope_scaling",
                                   "rope_parameters",
                                   "partial_rotary_factor",
                                   "rotary_dim",
                                   "sliding_window",
                                   "layer_types",
                                   "max_window_layers",
                                   "use_sliding_window",
                                   "attention_bias",
                                   "attention_window",
                                   "local_attention",
                                   "global_attn_every_n_layers",
                                   "relative_attention",
                                   "position_buckets",
                                   "is_decoder",
                                   "architectures",
                                   "id2label",
                                   "num_labels",
                                   "problem_type",
                                   "eos_token_id",
                                   "bos_token_id",
                                   "decoder_start_token_id",
                                   "attn_logit_softcapping",
                                   "query_pre_attn_scalar",
                                   "relative_attention_num_buckets",
                                   "multi_query",
                                   "alibi",
                                   "parallel_attn",
                                   "embedding_size",
                                   "image_size",
                                   "patch_size",
                                   "num_channels"};
/* The last LARGE are for models that may have many layers. */
static const char *const values[] = {
    "0",
    "1",
    "2",
    "4",
    "8",
    "-1",
    "0.5",
    "1e-5",
    "1e-300",
    "true",
    "false",
    "null",
    "\"gelu\"",
    "\"relu\"",
    "\"silu\"",
    "\"gelu_new\"",
    "\"nosuch\"",
    "[]",
    "{}",
    "[1, 0]",
    "[8, 8]",
    "[\"full_attention\", \"sliding_attention\"]",
    "[\"BertModel\"]",
    "[\"LlamaForCausalLM\"]",
    "[\"T5ForConditionalGeneration\"]",
    "[\"BertForSequenceClassification\"]",
    "{\"0\": \"a\", \"1\": \"b\"}",
    "{\"rope_type\": \"yarn\", \"factor\": 4.0, \"original_max_position_embeddings\": 8}",
    "{\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, \"high_freq_factor\": 4, \"original_max_position_embeddings\": 8}",
    "{\"type\": \"linear\", \"factor\": 2}",
    "{\"rope_type\": \"default\", \"rope_theta\": 10000.0, \"partial_rotary_factor\": 0.5}",
    "16",
    "64",
    "100",
    "1000000",
    "2147483648"};

static size_t put(char *page, size_t n, const char *format, const char *a, const char *b)
{
    const int more = snprintf(page + n, ROOM - n, format, a, b);
    return more > 0 && n + (size_t)more < ROOM ? n + (size_t)more : n;
}

/* The defaults of the packages are of 6 to 48 layers, which take most of the time. */
static const char *layer_keys(const char *type)
{
    static const char *const other[][2] = {
        {"distilbert", "n_layers"},   {"mpt", "n_layers"},       {"gpt2", "n_layer"},
        {"gptj", "n_layer"},          {"bloom", "n_layer"},      {"gpt_neo", "num_layers"},
        {"t5", "num_layers"},         {"nomic_bert", "n_layer"}, {"bart", "encoder_layers"},
        {"marian", "encoder_layers"}, {"led", "encoder_layers"}};
    for (size_t k = 0; k < sizeof other / sizeof *other; k++)
        if (strcmp(type, other[k][0]) == 0)
            return other[k][1];
    return "num_hidden_layers";
}

/* A config of a type, whose layers are mostly one or two, and of keys that each stand once. */
static size_t draw_config(char *page, fuzz_bytes_t *b)
{
    bool used[sizeof keys / sizeof *keys] = {false};
    const char *type = types[fuzz_draw(b, sizeof types / sizeof *types)], *layers = layer_keys(type);
    const int large = fuzz_draw(b, 32) == 31 && b->left >= LONG;
    size_t n = put(page, 0, "{\"model_type\": \"%s\"%s", type, "");
    if (!large)
        n = put(page, n, ", \"%s\": %s", layers, fuzz_draw(b, 2) ? "2" : "1");
    if (!large && strcmp(layers, "encoder_layers") == 0)
        n = put(page, n, ", \"%s\": %s", "decoder_layers", "1");
    for (int k = fuzz_draw(b, MOST_KEYS); k > 0; k--) {
        const int key = fuzz_draw(b, sizeof keys / sizeof *keys);
        const int value = fuzz_draw(b, sizeof values / sizeof *values - (large ? 0 : LARGE));
        if (used[key] || (!large && strstr(keys[key], "layers")))
            continue;
        used[key] = true;
        n = put(page, n, ", \"%s\": %s", keys[key], values[value]);
    }
    return put(page, n, "}%s%s", "", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t weights[] = "\x02\0\0\0\0\0\0\0{}";
    static gnn_context_t *context;
    static char page[ROOM];
    char folder[256];
    fuzz_bytes_t b = {data, size};
    gnn_pretrained_t *p = NULL;
    if (!context)
        fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    const size_t n = draw_config(page, &b);
    fuzz_file("model.safetensors", weights, sizeof weights - 1);
    snprintf(folder, sizeof folder, "%s", fuzz_file("config.json", (const uint8_t *)page, n));
    *strrchr(folder, '/') = '\0';
    const int rc = gnn_pretrained_open(&p, context, folder);
    if ((rc != GNN_OK) != (p == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    gnn_pretrained_free(p);
    return 0;
}
