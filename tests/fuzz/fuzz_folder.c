/* libFuzzer: a folder of a published model. Its files are concatenated, separated by a byte 1:
 * config.json, model.safetensors.index.json, modules.json, 1_Pooling/config.json, which is the
 * other configs of sentence-transformers, too, and up to the end model.safetensors or, where there
 * is an index, the file "a.safetensors" that it may name: next to model.safetensors no index is
 * read. What opens is run. */
#include "fuzz.h"

#include <gnn/pretrained.h>
#include <stdbool.h>

static void use(const gnn_pretrained_t *p, gnn_context_t *context)
{
    static const int64_t lengths[] = {2, 1}, ones[] = {1, 1};
    static const int32_t ids[] = {0, 1, 0};
    gnn_pretrained_batch_t *batch = NULL;
    bool decodes = false;
    gnn_model_t *model = gnn_pretrained_model(p);
    const int64_t hidden = gnn_model_find(model, "hidden"),
                  width = hidden < 0 ? 0 : gnn_model_width(model, hidden);
    gnn_sequences_t s = {
        .count = 2, .lengths = lengths, .ids = ids, .decoder_lengths = ones, .decoder_ids = ids};
    for (int64_t k = 0; k < gnn_model_input_count(model); k++)
        if (strcmp(gnn_model_input_name(model, k), "decoder_ids") == 0)
            decodes = true;
    if (!decodes) {
        s.decoder_lengths = NULL;
        s.decoder_ids = NULL;
    }
    if (gnn_pretrained_batch_new(&batch, p, &s) == GNN_OK && width > 0 && width < 1 << 20) {
        gnn_real_t *out = calloc((size_t)(3 * width), sizeof *out);
        const gnn_tensor_t y = gnn_tensor(out, 3, width);
        if (out &&
            gnn_model_value(model, context, gnn_pretrained_batch_inputs(batch), "hidden", &y) !=
                GNN_OK &&
            !*gnn_error_message())
            abort();
        free(out);
    }
    gnn_pretrained_batch_free(batch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"config.json", "model.safetensors.index.json",
                                        "modules.json", "1_Pooling/config.json"},
                             *const others[] = {"config_sentence_transformers.json",
                                                "sentence_bert_config.json", "tokenizer_config.json"};
    static gnn_context_t *context;
    char folder[256];
    gnn_pretrained_t *p = NULL;
    const gnn_pretrained_config_t config = {.keep_16_bits = size % 2 ? GNN_ON : GNN_OFF,
                                            .keep_packed = size % 4 > 1 ? GNN_ON : GNN_OFF};
    if (!context)
        fuzz_must(gnn_context_new(&context, &(gnn_context_config_t){.threads = 1}));
    bool index = false;
    for (int k = 0; k < 4; k++) {
        const uint8_t *part;
        const size_t length = fuzz_part(&part, &data, &size);
        index = index || (k == 1 && length > 0);
        fuzz_file(names[k], part, length);
        for (int other = 0; k == 3 && other < 3; other++)
            fuzz_file(others[other], part, length);
    }
    fuzz_file("a.safetensors", data, index ? size : 0);
    snprintf(folder, sizeof folder, "%s", fuzz_file("model.safetensors", data, index ? 0 : size));
    *strrchr(folder, '/') = '\0';
    const int rc = gnn_pretrained_open_with(&p, context, folder, &config);
    if ((rc != GNN_OK) != (p == NULL) || (rc != GNN_OK && !*gnn_error_message()))
        abort();
    if (p) {
        use(p, context);
        if (gnn_pretrained_choose_prompt(p, "query") != GNN_OK && !*gnn_error_message())
            abort();
    }
    gnn_pretrained_free(p);
    return 0;
}
