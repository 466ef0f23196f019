/* Settings of a generation: in every way of generation each of them changes the result, or is
 * refused by name. */
#include "writer_small.h"

enum { LENGTH = 12 };

static gnn_context_t *context;
static gnn_tokenizer_t *tokenizer;
static gnn_model_t *model;
static gnn_writer_t writer;

static void set_up(void)
{
    const char *text = "a bee sees a tree";
    ck_ok(gnn_context_new(&context, &(gnn_context_config_t){.seed = 6}));
    ck_ok(gnn_tokenizer_learn(&tokenizer, &(gnn_texts_t){1, &text, NULL},
                              &(gnn_learning_t){.size = 258}));
    model = small_writer(context, gnn_tokenizer_size(tokenizer));
    writer = (gnn_writer_t){.model = model,
                            .ids = "letters",
                            .positions = "places",
                            .tokenizer = tokenizer,
                            .max_length = SMALL_PLACES};
}

static void tear_down(void)
{
    gnn_model_free(model);
    gnn_tokenizer_free(tokenizer);
    gnn_context_free(context);
}

static int run(const gnn_generation_t *how, gnn_written_t **w)
{
    const char *const prompts[] = {"a bee", "tree"};
    return gnn_generate_texts(&writer, context, &(gnn_texts_t){2, prompts, NULL}, how, w);
}

static gnn_written_t *written(const gnn_generation_t *how)
{
    gnn_written_t *w = NULL;
    ck_ok(run(how, &w));
    return w;
}

/* ---- members ---- */

static int stop_text(void *user, int64_t text, const char *piece, int64_t bytes)
{
    (void)user, (void)text, (void)piece, (void)bytes;
    return 1;
}

static int stop_token(void *user, int64_t text, int32_t id)
{
    (void)user, (void)text, (void)id;
    return 1;
}

/* Values that other members of the same way do not hide: the first text of the way itself ends with
 * `end`, begins with `never` and contains `stop`. */
static struct {
    int32_t ids[LENGTH];
    char stop[2];
} first;
static const char *const stops[] = {first.stop};

#define MEMBER(member)                                                                        \
    {                                                                                         \
#member, offsetof(gnn_generation_t, member), sizeof((gnn_generation_t *)NULL)->member \
    }
static const struct {
    const char *name;
    size_t offset, size;
} members[] = {MEMBER(length),         MEMBER(temperature),    MEMBER(top_k),   MEMBER(top_p),
               MEMBER(repetition),     MEMBER(seed),           MEMBER(samples), MEMBER(beams),
               MEMBER(length_penalty), MEMBER(early_stopping), MEMBER(end),     MEMBER(n_end),
               MEMBER(never),          MEMBER(n_never),        MEMBER(stop),    MEMBER(n_stop),
               MEMBER(on_text),        MEMBER(on_token)};
#undef MEMBER

enum { MEMBERS = sizeof members / sizeof *members };

/* Values other than those of the ways below. Lists are set with their counts: alone they are empty,
 * or NULL, which is refused. */
static void set(gnn_generation_t *how, const char *name)
{
    const gnn_generation_t other = {.length = 7,
                                    .temperature = (gnn_real_t)2.5,
                                    .top_k = 2,
                                    .top_p = (gnn_real_t)0.2,
                                    .repetition = (gnn_real_t)1.7,
                                    .seed = 11,
                                    .samples = 2,
                                    .beams = 3,
                                    .length_penalty = (gnn_real_t)0.3,
                                    .early_stopping = GNN_ON,
                                    .end = first.ids + 1,
                                    .n_end = 1,
                                    .never = first.ids,
                                    .n_never = 1,
                                    .stop = stops,
                                    .n_stop = 1,
                                    .on_text = stop_text,
                                    .on_token = stop_token};
    static const char *const lists[][2] = {{"end", "n_end"}, {"never", "n_never"}, {"stop", "n_stop"}};
    for (int m = 0; m < MEMBERS; m++) {
        bool also = strcmp(members[m].name, name) == 0;
        for (int k = 0; k < 3; k++)
            also = also ||
                   (strcmp(name, lists[k][0]) == 0 && strcmp(members[m].name, lists[k][1]) == 0);
        if (also)
            memcpy((char *)how + members[m].offset, (const char *)&other + members[m].offset,
                   members[m].size);
    }
}

static bool same_written(const gnn_written_t *a, const gnn_written_t *b)
{
    const int32_t *x = a->ids, *y = b->ids;
    if (a->count != b->count)
        return false;
    for (int64_t k = 0; k < a->count; x += a->lengths[k], y += b->lengths[k], k++)
        if (a->lengths[k] != b->lengths[k] || a->ended[k] != b->ended[k] ||
            a->scores[k] != b->scores[k] || strcmp(a->texts[k], b->texts[k]) != 0 ||
            memcmp(x, y, (size_t)a->lengths[k] * sizeof *x) != 0)
            return false;
    return true;
}

/* Is the member read, or refused by its name? */
static bool is_obeyed(const char *way, const gnn_generation_t *base, const char *name)
{
    gnn_generation_t how = *base;
    gnn_written_t *a = written(base), *b = NULL;
    char text[32];
    set(&how, name);
    const int rc = run(&how, &b);
    const bool changed = rc == GNN_OK && !same_written(a, b);
    snprintf(text, sizeof text, ".%s", name);
    const bool refused =
        rc == GNN_EINVALID && (strstr(gnn_error_message(), text) || strcmp(name, "beams") == 0);
    if (!changed && !refused)
        printf("%s: .%s: %s\n", way, name, rc == GNN_OK ? "changes nothing" : gnn_error_message());
    gnn_written_free(a);
    gnn_written_free(b);
    return changed || refused;
}

static const struct {
    const char *name;
    gnn_generation_t how;
} ways[] = {{"greedy", {.length = LENGTH}},
            {"sampling", {.length = LENGTH, .temperature = 1, .seed = 3}},
            {"beams", {.length = LENGTH, .beams = 4}}};

static void take_first(const gnn_generation_t *how)
{
    gnn_written_t *w = written(how);
    memcpy(first.ids, w->ids, sizeof first.ids);
    first.stop[0] = '\0';
    for (const char *c = w->texts[0]; *c && !first.stop[0]; c++)
        if ((unsigned char)*c < 0x80)
            first.stop[0] = *c;
    ck_assert_msg(first.stop[0], "the text has no character of one byte");
    gnn_written_free(w);
}

START_TEST(each_setting_is_obeyed_or_refused)
{
    int silent = 0;
    take_first(&ways[_i].how);
    for (int m = 0; m < MEMBERS; m++)
        if (strncmp(members[m].name, "n_", 2) != 0 && strcmp(members[m].name, "early_stopping") != 0)
            silent += !is_obeyed(ways[_i].name, &ways[_i].how, members[m].name);
    ck_assert_int_eq(silent, 0);
}
END_TEST

/* It depends on the tokens that end texts: of those tried one set changes the result. */
START_TEST(early_stopping_is_obeyed_or_refused)
{
    enum { SETS = 8, ENDS = 32 };
    int changed = 0;
    for (int k = 0; k < SETS; k++) {
        gnn_generation_t base = ways[_i].how;
        gnn_written_t *a, *b = NULL;
        int32_t ends[ENDS];
        for (int i = 0; i < ENDS; i++)
            ends[i] = i * SETS + k;
        base.end = ends, base.n_end = ENDS;
        a = written(&base);
        base.early_stopping = GNN_ON;
        if (base.beams > 1) {
            ck_ok(run(&base, &b));
            changed += !same_written(a, b);
        } else {
            ck_fails(run(&base, &b), GNN_EINVALID, "reads no .early_stopping; .beams above 1");
            changed++;
        }
        gnn_written_free(a);
        gnn_written_free(b);
    }
    ck_assert_int_gt(changed, 0);
}
END_TEST

/* The list above has every member but `user`: between two of them there is at most padding. */
START_TEST(the_list_has_every_member)
{
    size_t end = 0;
    for (int m = 0; m < MEMBERS; m++) {
        ck_assert_msg(members[m].offset - end < 8, "before .%s", members[m].name);
        end = members[m].offset + members[m].size;
    }
    ck_assert_int_eq(end, offsetof(gnn_generation_t, user));
}
END_TEST

/* Of single tokens the settings of whole texts are the loop's. */
START_TEST(single_tokens_refuse_what_they_do_not_read)
{
    const gnn_real_t logits[4] = {1, 2, (gnn_real_t)2.5, 0};
    static const char *const refused[] = {"beams", "length_penalty", "early_stopping"},
                             *const drawn[] = {"top_k", "top_p", "seed"};
    int32_t id;
    for (int draws = 0; draws < 2; draws++)
        for (int k = 0; k < 3; k++) {
            gnn_generation_t how = {.temperature = draws ? 1 : 0};
            char text[40];
            set(&how, refused[k]);
            snprintf(text, sizeof text, ".%s", refused[k]);
            ck_fails(gnn_next_token(&how, logits, 4, NULL, 0, 0, 0, &id), GNN_EINVALID, text);
            how = (gnn_generation_t){.temperature = draws ? 1 : GNN_ZERO};
            set(&how, drawn[k]);
            snprintf(text, sizeof text, "greedy decoding reads no .%s", drawn[k]);
            if (draws)
                ck_ok(gnn_next_token(&how, logits, 4, NULL, 0, 0, 0, &id));
            else
                ck_fails(gnn_next_token(&how, logits, 4, NULL, 0, 0, 0, &id), GNN_EINVALID, text);
        }
}
END_TEST

static int refused(const gnn_writer_t *w, const gnn_sequences_t *prompts, const gnn_generation_t *how)
{
    gnn_written_t *got = NULL;
    const int rc = gnn_generate(w, context, prompts, how, &got);
    ck_assert_ptr_null(got);
    return rc;
}

START_TEST(fields_of_writers_and_prompts_are_read_or_refused)
{
    const int64_t length = 2;
    const int32_t ids[2] = {5, 6};
    const gnn_sequences_t plain = {.count = 1, .lengths = &length, .ids = ids};
    gnn_sequences_t s = plain;
    gnn_writer_t w = writer;
    const gnn_state_config_t state = {.segments = 1, .capacity = 3};
    s.types = ids;
    ck_fails(refused(&writer, &s, NULL), GNN_EINVALID, "reads no .types");
    s = plain, s.decoder_ids = ids;
    ck_fails(refused(&writer, &s, NULL), GNN_EINVALID, "reads no .decoder_ids");
    s = plain, s.height = 2;
    ck_fails(refused(&writer, &s, NULL), GNN_EINVALID, "reads no .height");
    w.state = &state;
    ck_fails(refused(&w, &plain, NULL), GNN_EINVALID, ".segments = 1 and .capacity = 3, expected 0");
    w = writer, w.max_length = -1;
    ck_fails(refused(&w, &plain, NULL), GNN_EINVALID, ".max_length = -1");
    w = writer, w.tokenizer = NULL;
    ck_fails(refused(&w, &plain, &(gnn_generation_t){.on_text = stop_text}), GNN_EINVALID,
             ".on_text is given, but the writer has no tokenizer");
    ck_fails(refused(&writer, &plain, &(gnn_generation_t){.n_end = 2}), GNN_EINVALID,
             ".n_end = 2, but .end is NULL");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("generation_settings");
    TCase *c = tcase_create("generation_settings");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, each_setting_is_obeyed_or_refused, 0, 3);
    tcase_add_loop_test(c, early_stopping_is_obeyed_or_refused, 0, 3);
    tcase_add_test(c, the_list_has_every_member);
    tcase_add_test(c, single_tokens_refuse_what_they_do_not_read);
    tcase_add_test(c, fields_of_writers_and_prompts_are_read_or_refused);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
