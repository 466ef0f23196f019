/* Words, corpora, vocabularies, packs, positions, and writing GraphML; valid and invalid files. */
#include "readers.h"

#include <lib/text/corpus.h>
#if GNN_WITH_IGRAPH
#include <igraph/igraph.h>
#endif

/* ---- words ---- */

static void ck_words(const char *sentence, const char *joined)
{
    gnn_words_t *words;
    char got[400] = "";
    ck_ok(gnn_words_split(&words, sentence));
    for (int64_t k = 0; k < words->count; k++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%s", k ? "|" : "", words->at[k]);
    ck_assert_str_eq(got, joined);
    gnn_words_free(words);
}

START_TEST(words_follow_the_rules)
{
    ck_words("A stirring, funny film.", "a|stirring|,|funny|film|.");
    ck_words("It's a K-19 , is n't it ?", "it|'s|a|k-19|,|is|n't|it|?");
    ck_words("DON'T can't won'tx", "do|n't|ca|n't|won|'tx");
    ck_words("n't", "n't");
    ck_words("cr\xc3\xa8me \xe6\xbc\xa2\xe5\xad\x97", "cr\xc3\xa8me|\xe6\xbc\xa2\xe5\xad\x97");
    ck_words("a - b -c d- 'quoted' ''", "a|-|b|-|c|d|-|'quoted|'|'|'");
    ck_words("\x01tab\ttab\x7f!\r\n", "tab|tab|!");
    ck_words(" \t ", "");
    ck_words("", "");
    ck_fails(gnn_words_split(NULL, "a"), GNN_EINVALID, "words is NULL");
}
END_TEST

/* Splitting what was split before changes nothing. */
START_TEST(splitting_words_is_idempotent)
{
    gnn_words_t *once, *twice;
    char joined[2000] = "";
    ck_ok(gnn_words_split(
        &once, "Don't say \"it's the re-make's end\" -- $5,000.50 isn't cheap; na\xc3\xafve 'tis!"));
    for (int64_t k = 0; k < once->count; k++)
        snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s ", once->at[k]);
    ck_ok(gnn_words_split(&twice, joined));
    ck_assert_int_eq(once->count, twice->count);
    for (int64_t k = 0; k < once->count; k++)
        ck_assert_str_eq(once->at[k], twice->at[k]);
    gnn_words_free(once);
    gnn_words_free(twice);
}
END_TEST

/* ---- corpora ---- */

static gnn_corpus_t *read_ok(const char *text)
{
    gnn_corpus_t *corpus = NULL;
    ck_ok(gnn_corpus_read(&corpus, write_text("c.tsv", text), NULL));
    return corpus;
}

START_TEST(corpus_forms)
{
    gnn_corpus_t *c = read_ok("pos\tA film .\r\n\n  \nneg \t  not   a film\nneg\tdull");
    ck_assert_int_eq(c->count, 3);
    ck_assert_int_eq(c->n_labels, 2);
    ck_assert_str_eq(c->label_names[0], "neg");
    ck_assert(c->labels[0] == 1 && c->labels[1] == 0 && c->labels[2] == 0);
    ck_assert_str_eq(c->sentences[0], "A film .");
    ck_assert_str_eq(c->sentences[1], "not   a film");
    ck_assert_str_eq(c->sentences[2], "dull");
    ck_assert_int_eq(c->words, 7);
    gnn_corpus_free(c);
    c = read_ok("1 good\n0 bad film\n");
    ck_assert(c->n_labels == 2 && c->labels[0] == 1 && c->labels[1] == 0);
    ck_assert_str_eq(c->sentences[1], "bad film");
    gnn_corpus_free(c);
    ck_ok(gnn_corpus_read(&c, write_packed("c.tsv.gz", "x\ty\n"), NULL));
    ck_assert_str_eq(c->sentences[0], "y");
    gnn_corpus_free(c);
}
END_TEST

static void ck_bad(const void *data, size_t n, const char *words)
{
    gnn_corpus_t *corpus = NULL;
    ck_fails(gnn_corpus_read(&corpus, write_bytes("bad.tsv", data, n), NULL), GNN_EFORMAT, words);
    ck_assert_ptr_null(corpus);
}
#define CK_BAD(text, words) ck_bad(text, sizeof(text) - 1, words)

START_TEST(corpus_bad_files)
{
    CK_BAD("", "bad.tsv: is empty");
    CK_BAD("\n \n\t\n", "bad.tsv: no sentence, all lines are blank");
    CK_BAD("a\tfine\nb\tze\0ro\n", "bad.tsv: line 2: a zero byte");
    CK_BAD("a\tfine\nb\tlatin \xe8\n", "bad.tsv: line 2: the sentence is not UTF-8");
    CK_BAD("a\tsurrogate \xed\xa0\x80\n", "bad.tsv: line 1: the sentence is not UTF-8");
    CK_BAD("\xff\tx\n", "bad.tsv: line 1: the label is not UTF-8");
    CK_BAD("a\tfine\nno tab\n", "bad.tsv: line 2: no tab");
    CK_BAD("\nLabel\tsentence\npos\tgood\nneg\tbad\n",
           "bad.tsv: line 2: \"Label\", which no other line has, names a column");
    CK_BAD("sentence\tlabel\ngood\tpos\nbad\tneg\n",
           "bad.tsv: line 1: \"sentence\", which no other line has, names a column");
    CK_BAD("a\tfine\nb\ttwo\tcolumns\n", "bad.tsv: line 2: more than two columns");
    CK_BAD("a\tfine\n\tx\n", "bad.tsv: line 2: the label is missing");
    CK_BAD("a\tfine\n\nb\t\x01\n", "bad.tsv: line 3: the sentence has no words");
    CK_BAD("a\x02\tx\n", "line 1: a control character in the label");
    CK_BAD(
        "0 fine\n2 what\n",
        "bad.tsv: line 2: \"label<TAB>sentence\", \"0 sentence\" or \"1 sentence\" is expected, got \"2 what\"");
    CK_BAD("0 fine\n1\n", "line 2: ");
    CK_BAD("0 fine\n1what\n", "line 2: ");
    CK_BAD("just words\n", "line 1: ");
    gnn_corpus_t *corpus = NULL;
    ck_fails(gnn_corpus_read(&corpus, in_folder("none.tsv"), NULL), GNN_EIO, "none.tsv");
    ck_fails(gnn_corpus_read(&corpus, test_folder, NULL), GNN_EIO, "a folder");
    ck_fails(gnn_corpus_read(NULL, "x", NULL), GNN_EINVALID, "corpus is NULL");
}
END_TEST

START_TEST(corpus_long_lines_and_many_labels)
{
    size_t n = 1000000;
    gnn_corpus_t *corpus;
    char *text = malloc(n + 8), *to;
    memset(text, 'x', n + 1);
    memcpy(text, "1 ", 2);
    ck_ok(gnn_corpus_read(&corpus, write_bytes("long.txt", text, n), NULL));
    ck_assert_uint_eq(strlen(corpus->sentences[0]), n - 2);
    gnn_corpus_free(corpus);
    ck_bad(text, n + 1, "bad.tsv: line 1: 1000001 bytes, at most 1000000");
    free(text);
    text = to = malloc(1 << 16);
    for (int k = 0; k < 1001; k++)
        to += sprintf(to, "label%d\tword\n", k);
    ck_bad(text, (size_t)(to - text), "1001 different labels");
    free(text);
}
END_TEST

/* Whatever is cut off, the reader answers; every whole line of the good file is a good file. */
START_TEST(corpus_cut_at_every_byte)
{
    static const char text[] = "pos\tcr\xc3\xa8me , it 's\nneg\tdo n't \xe6\xbc\xa2\n";
    for (size_t n = 0; n < sizeof text; n++) {
        gnn_corpus_t *corpus = NULL;
        int rc = gnn_corpus_read(&corpus, write_bytes("cut.tsv", text, n), NULL);
        bool inside = n < 5 || n == 7 || (n >= 20 && n < 24) || n == 31 || n == 32;
        ck_assert_msg((rc == GNN_EFORMAT) == inside, "%d bytes: %d, %s", (int)n, rc,
                      gnn_error_message());
        gnn_corpus_free(corpus);
    }
}
END_TEST

START_TEST(labels_of_a_vocabulary)
{
    gnn_corpus_t *class = read_ok("class\tone\nstruct\ttwo\nclass\tthree\n");
    ck_assert_int_eq(class->n_labels, 2);
    gnn_corpus_free(class);
    gnn_corpus_t *train = read_ok("b\tone\na\ttwo\nc\tthree\n"), *dev = NULL;
    gnn_vocabulary_t *v;
    ck_ok(gnn_vocabulary_new(&v, train, 1));
    ck_ok(gnn_corpus_read(&dev, write_text("dev.tsv", "c\tx\nb\ty\n"), v));
    ck_assert(dev->n_labels == 3 && dev->labels[0] == 2 && dev->labels[1] == 1);
    gnn_corpus_free(dev);
    ck_fails(gnn_corpus_read(&dev, write_text("dev.tsv", "c\tx\n\nd\ty\n"), v), GNN_EFORMAT,
             "dev.tsv: line 3: the label \"d\" is none of the 3");
    const char *sentences[] = {"x y", "z"}, *labels[] = {"a", "d"};
    ck_fails(gnn_corpus_new(&dev, 2, labels, sentences, v), GNN_EFORMAT,
             "sentence 1: the label \"d\"");
    ck_ok(gnn_corpus_new(&dev, 2, NULL, sentences, v));
    ck_assert(dev->labels[0] == -1 && dev->words == 3);
    gnn_corpus_free(dev);
    ck_fails(gnn_corpus_new(&dev, 0, NULL, sentences, v), GNN_EINVALID, "at least 1");
    sentences[1] = " ";
    ck_fails(gnn_corpus_new(&dev, 2, NULL, sentences, v), GNN_EFORMAT,
             "sentence 1: the sentence has no words");
    gnn_vocabulary_free(v);
    gnn_corpus_free(train);
}
END_TEST

/* ---- vocabularies ---- */

#define WORDS "b\tThe the THE cat\na\ta cat sat cr\xc3\xa8me\n"

static gnn_vocabulary_t *vocabulary_of(const char *text, int64_t min_count)
{
    gnn_corpus_t *corpus = read_ok(text);
    gnn_vocabulary_t *v;
    ck_ok(gnn_vocabulary_new(&v, corpus, min_count));
    gnn_corpus_free(corpus);
    return v;
}

START_TEST(vocabulary_counts_and_finds)
{
    gnn_vocabulary_t *v = vocabulary_of(WORDS, 1);
    const char *const order[] = {"<unknown>", "the", "cat", "a", "cr\xc3\xa8me", "sat"};
    ck_assert_int_eq(gnn_vocabulary_size(v), 6);
    for (int k = 0; k < 6; k++) {
        ck_assert_str_eq(gnn_vocabulary_word(v, k), order[k]);
        ck_assert_int_eq(gnn_vocabulary_find(v, order[k]), k);
    }
    ck_assert_int_eq(gnn_vocabulary_find(v, "SAT"), 5);
    ck_assert_int_eq(gnn_vocabulary_find(v, "ca"), 0);
    ck_assert_int_eq(gnn_vocabulary_find(v, ""), 0);
    ck_assert_ptr_null(gnn_vocabulary_word(v, 6));
    ck_assert_ptr_null(gnn_vocabulary_word(v, -1));
    ck_assert_int_eq(gnn_vocabulary_labels(v), 2);
    ck_assert_str_eq(gnn_vocabulary_label(v, 1), "b");
    gnn_vocabulary_free(v);
    v = vocabulary_of(WORDS, 2);
    ck_assert_int_eq(gnn_vocabulary_size(v), 3);
    gnn_vocabulary_free(v);
    v = vocabulary_of(WORDS, 9);
    ck_assert_int_eq(gnn_vocabulary_size(v), 1);
    ck_assert_int_eq(gnn_vocabulary_find(v, "the"), 0);
    gnn_vocabulary_free(v);
}
END_TEST

START_TEST(vocabulary_survives_saving)
{
    gnn_vocabulary_t *v = vocabulary_of(WORDS, 1), *again;
    ck_ok(gnn_vocabulary_save(v, in_folder("w")));
    ck_ok(gnn_vocabulary_load(&again, in_folder("w")));
    ck_assert_int_eq(gnn_vocabulary_size(again), gnn_vocabulary_size(v));
    ck_assert_int_eq(gnn_vocabulary_labels(again), 2);
    for (int64_t k = 0; k < gnn_vocabulary_size(v); k++) {
        ck_assert_str_eq(gnn_vocabulary_word(again, k), gnn_vocabulary_word(v, k));
        ck_assert_int_eq(gnn_vocabulary_find(again, gnn_vocabulary_word(v, k)), (int)k);
    }
    gnn_vocabulary_free(v);
    gnn_vocabulary_free(again);
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "words 1 2 3\n")), GNN_EFORMAT,
             "w: no vocabulary");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 2 0 0\n")), GNN_EFORMAT,
             "version 2");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 0 900000000\n")),
             GNN_EFORMAT, "900000000 words in a file of");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 1 2\na\nx\n")),
             GNN_EFORMAT, "ends after 2 of 3");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 1 2\na\nx\nx\n")),
             GNN_EFORMAT, "the word \"x\" a second time");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 2 0\na\na\n")),
             GNN_EFORMAT, "the label \"a\" a second time");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 1 1\na\nx y\n")),
             GNN_EFORMAT, "line 3: more than one word");
    ck_fails(gnn_vocabulary_load(&again, write_text("w", "gnn-vocabulary 1 1 1\na\nx\ny\n")),
             GNN_EFORMAT, "line 4: more than the first line counts");
}
END_TEST

/* ---- packs ---- */

START_TEST(packs_hold_every_sentence_once)
{
    gnn_corpus_t *c = read_ok("b\tthe the cat\na\tcat\nb\tsat the cat the\n");
    gnn_vocabulary_t *v;
    gnn_packs_t *p;
    ck_ok(gnn_vocabulary_new(&v, c, 2));
    ck_ok(gnn_packs_new(&p, c, v, &(gnn_packing_t){.sentences = 2, .max_words = 3}));
    ck_assert_int_eq(p->count, 2);
    ck_assert_mem_eq(p->at[0].ids, ((const int32_t[]){1, 1, 2, 2}), 16);
    ck_assert_mem_eq(p->at[0].positions, ((const int32_t[]){0, 1, 2, 0}), 16);
    ck_assert_mem_eq(p->at[0].lengths, ((const int64_t[]){3, 1}), 16);
    ck_assert_mem_eq(p->at[0].labels, ((const int32_t[]){1, 0}), 8);
    ck_assert(p->at[0].rows == 4 && p->at[1].sentences == 1 && p->at[1].rows == 3);
    ck_assert_mem_eq(p->at[1].ids, ((const int32_t[]){0, 1, 2}), 12); /* first three words */
    gnn_packs_free(p);
    for (uint64_t seed = 0; seed < 5; seed++) {
        int64_t seen = 0;
        ck_ok(gnn_packs_new(&p, c, v,
                            &(gnn_packing_t){.sentences = 1, .shuffle = GNN_ON, .seed = seed}));
        for (int64_t k = 0; k < p->count; k++) {
            seen |= (int64_t)1 << p->at[k].index[0];
            ck_assert_int_eq(p->at[k].labels[0], c->labels[p->at[k].index[0]]);
        }
        ck_assert_int_eq(seen, 7);
        gnn_packs_free(p);
    }
    ck_fails(gnn_packs_new(&p, c, v, &(gnn_packing_t){.sentences = -1}), GNN_EINVALID,
             ".sentences = -1");
    gnn_vocabulary_free(v);
    gnn_corpus_free(c);
}
END_TEST

/* Held-out sentences have their classes in another order, or an unknown class. */
START_TEST(classes_of_packs_match_by_name)
{
    gnn_corpus_t *train = read_ok("b\tone\na\ttwo\nc\tthree\n"), *other = read_ok("c\tx\nb\ty\n"),
                 *unknown = read_ok("b\tx\nd\ty\n");
    gnn_vocabulary_t *v;
    gnn_packs_t *p;
    ck_ok(gnn_vocabulary_new(&v, train, 1));
    ck_assert_mem_eq(other->labels, ((const int32_t[]){1, 0}), 8);
    ck_ok(gnn_packs_new(&p, other, v, NULL));
    ck_assert_mem_eq(p->at[0].labels, ((const int32_t[]){2, 1}), 8);
    gnn_packs_free(p);
    ck_fails(gnn_packs_new(&p, unknown, v, NULL), GNN_EINVALID,
             "the corpus has the class \"d\", which is none of the 3 of the vocabulary");
    gnn_vocabulary_free(v);
    gnn_corpus_free(train);
    gnn_corpus_free(other);
    gnn_corpus_free(unknown);
}
END_TEST

/* Dropping a word depends on its sentence and position only. */
START_TEST(word_dropout_does_not_depend_on_packs)
{
    char text[20000] = "";
    for (int k = 0, at = 0; k < 100; k++)
        at += sprintf(text + at, "a\tone two three four five six seven eight nine ten\n");
    gnn_corpus_t *c = read_ok(text);
    gnn_vocabulary_t *v;
    gnn_packs_t *large, *small;
    int32_t ids[1000], other[10], dropped = 0, changed = 0;
    ck_ok(gnn_vocabulary_new(&v, c, 1));
    ck_ok(gnn_packs_new(&large, c, v, &(gnn_packing_t){.sentences = 100}));
    ck_ok(gnn_packs_new(&small, c, v, &(gnn_packing_t){.sentences = 1, .shuffle = GNN_ON, .seed = 3}));
    gnn_pack_drop_words(&large->at[0], 0.3, 7, 1, ids);
    for (int k = 0; k < 1000; k++)
        dropped += ids[k] == 0;
    ck_assert_int_ge(dropped, 240);
    ck_assert_int_le(dropped, 360);
    for (int64_t k = 0; k < 100; k++) {
        gnn_pack_drop_words(&small->at[k], 0.3, 7, 1, other);
        ck_assert_mem_eq(other, ids + 10 * small->at[k].index[0], sizeof other);
        gnn_pack_drop_words(&small->at[k], 0.3, 7, 2, other);
        changed += memcmp(other, ids + 10 * small->at[k].index[0], sizeof other) != 0;
    }
    ck_assert_int_ge(changed, 90);
    gnn_pack_drop_words(&large->at[0], 0, 7, 1, ids);
    ck_assert_mem_eq(ids, large->at[0].ids, sizeof ids);
    gnn_packs_free(large);
    gnn_packs_free(small);
    gnn_vocabulary_free(v);
    gnn_corpus_free(c);
}
END_TEST

START_TEST(sinusoidal_positions)
{
    gnn_real_t values[3 * 5];
    gnn_tensor_t table = gnn_tensor(values, 3, 5);
    ck_ok(gnn_positions_sinusoidal(&table));
    for (int p = 0; p < 3; p++) {
        const double want[5] = {sin(p), cos(p), sin(p / pow(10000, 0.4)), cos(p / pow(10000, 0.4)),
                                sin(p / pow(10000, 0.8))};
        for (int c = 0; c < 5; c++)
            ck_assert_msg(fabs((double)values[5 * p + c] - want[c]) < 1e-6,
                          "position %d, column %d: %g", p, c, (double)values[5 * p + c]);
    }
    ck_fails(gnn_positions_sinusoidal(NULL), GNN_EINVALID, "NULL");
}
END_TEST

/* ---- memory ---- */

/* Everything from file to packs, the n-th allocation failing: no leak (the sanitizer looks),
 * nothing half built, and success in the end. */
START_TEST(every_allocation_may_fail)
{
    char *words = strdup(in_folder("words")),
         *path = strdup(write_text("c.tsv", WORDS)); /* in_folder's storage is static */
    int n = 1, rc;
    do {
        gnn_corpus_t *c = NULL, *copy = NULL;
        gnn_vocabulary_t *v = NULL, *again = NULL;
        gnn_packs_t *p = NULL;
        gnn_words_t *w = NULL;
        gnn__fail_allocation(n);
        rc = gnn_corpus_read(&c, path, NULL);
        rc = rc ? rc : gnn_vocabulary_new(&v, c, 1);
        rc = rc ? rc
                : gnn_corpus_new(&copy, c->count, (const char *const[]){"a", "b"}, c->sentences, v);
        rc = rc ? rc : gnn_packs_new(&p, c, v, &(gnn_packing_t){.shuffle = GNN_ON});
        rc = rc ? rc : gnn_words_split(&w, c->sentences[0]);
        rc = rc ? rc : gnn_vocabulary_save(v, words);
        rc = rc ? rc : gnn_vocabulary_load(&again, words);
        gnn__fail_allocation(0);
        ck_assert_msg(rc == GNN_OK || rc == GNN_EMEMORY, "allocation %d: %d, %s", n, rc,
                      gnn_error_message());
        gnn_words_free(w);
        gnn_packs_free(p);
        gnn_vocabulary_free(again);
        gnn_vocabulary_free(v);
        gnn_corpus_free(copy);
        gnn_corpus_free(c);
    } while (rc != GNN_OK && n++ < 500);
    free(words);
    free(path);
    ck_assert_int_eq(rc, GNN_OK);
    ck_assert_int_ge(n, 30);
}
END_TEST

/* ---- GraphML ---- */

#if GNN_WITH_IGRAPH
START_TEST(graphml_holds_names_and_weights)
{
    const int64_t src[] = {0, 1, 2, 1}, dst[] = {1, 0, 1, 1};
    const gnn_real_t weight[] = {(gnn_real_t)0.25, (gnn_real_t)0.5, (gnn_real_t)0.125, 1};
    const char *const names[] = {"<a>", "b \"&\" c", "cr\xc3\xa8me"};
    gnn_graph_t *graph, *wide;
    static bytes_t file;
    ck_ok(gnn_graph_from_edges(&graph, 3, 3, 4, src, dst));
    ck_ok(gnn_graph_write_graphml(graph, names, weight, in_folder("a.graphml")));
    /* Our reader sees the graph; igraph, with its own attribute handler, the names and weights. */
    gnn_data_t *data = opened(in_folder("a.graphml"));
    ck_assert_int_eq(gnn_data_nodes(data), 3);
    gnn_data_free(data);
    FILE *stream = fopen(in_folder("a.graphml"), "r");
    igraph_t g;
    igraph_set_attribute_table(&igraph_cattribute_table);
    ck_assert_int_eq(igraph_read_graph_graphml(&g, stream, 0), IGRAPH_SUCCESS);
    fclose(stream);
    ck_assert(igraph_vcount(&g) == 3 && igraph_ecount(&g) == 4 && igraph_is_directed(&g));
    for (int k = 0; k < 3; k++)
        ck_assert_str_eq(VAS(&g, "name", k), names[k]);
    int64_t s[4], d[4];
    ck_ok(gnn_graph_pairs(graph, s, d, NULL));
    for (int k = 0; k < 4; k++)
        ck_assert(IGRAPH_FROM(&g, k) == s[k] && IGRAPH_TO(&g, k) == d[k] &&
                  EAN(&g, "weight", k) == (double)weight[k]);
    igraph_destroy(&g);
    igraph_set_attribute_table(NULL);
    ck_ok(gnn_graph_write_graphml(graph, NULL, NULL, in_folder("b.graphml")));
    read_bytes(in_folder("b.graphml"), &file);
    file.at[file.n] = 0;
    ck_assert(!strstr((char *)file.at, "<data") && strstr((char *)file.at, "<edge"));
    ck_fails(gnn_graph_write_graphml(graph, (const char *const[]){"a", "\xff", "c"}, NULL,
                                     in_folder("c.graphml")),
             GNN_EINVALID, "node 1");
    ck_fails(gnn_graph_write_graphml(graph, NULL, (const gnn_real_t[]){1, NAN, 1, 1},
                                     in_folder("c.graphml")),
             GNN_ENUMERIC, "pair 1");
    ck_fails(gnn_graph_write_graphml(graph, NULL, NULL, in_folder("none/c.graphml")), GNN_EIO,
             "none");
    ck_fails(gnn_graph_write_graphml(NULL, NULL, NULL, "c"), GNN_EINVALID, "NULL");
    ck_ok(gnn_graph_bipartite(&wide, 1, (const int64_t[]){1}, (const int64_t[]){3}));
    ck_fails(gnn_graph_write_graphml(wide, NULL, NULL, in_folder("c.graphml")), GNN_ETOPOLOGY,
             "1 receivers and 3 senders");
    ck_assert_int_ne(access(in_folder("c.graphml"), F_OK), 0);
    gnn_graph_free(wide);
    gnn_graph_free(graph);
}
END_TEST
#endif

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *tests = tcase_create("text");
    tcase_set_timeout(tests, 120);
    tcase_add_checked_fixture(tests, make_folder, remove_tree);
    tcase_add_test(tests, words_follow_the_rules);
    tcase_add_test(tests, splitting_words_is_idempotent);
    tcase_add_test(tests, corpus_forms);
    tcase_add_test(tests, corpus_bad_files);
    tcase_add_test(tests, corpus_long_lines_and_many_labels);
    tcase_add_test(tests, corpus_cut_at_every_byte);
    tcase_add_test(tests, labels_of_a_vocabulary);
    tcase_add_test(tests, vocabulary_counts_and_finds);
    tcase_add_test(tests, vocabulary_survives_saving);
    tcase_add_test(tests, packs_hold_every_sentence_once);
    tcase_add_test(tests, classes_of_packs_match_by_name);
    tcase_add_test(tests, word_dropout_does_not_depend_on_packs);
    tcase_add_test(tests, sinusoidal_positions);
    tcase_add_test(tests, every_allocation_may_fail);
#if GNN_WITH_IGRAPH
    tcase_add_test(tests, graphml_holds_names_and_weights);
#endif
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
