/* A graph attention network on your own arrays: plain C arrays become a data set in one call, like
 * PyG's Data(x, edge_index, y, train_mask), and train like a set from a file.
 *
 * The arrays are random: 300 people in three groups, who mostly know people of their own group,
 * with weakly informative features. */
#include <gnn/gnn.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEOPLE = 300, LINKS = 900, FEATURES = 8, GROUPS = 3 };

static int64_t from[LINKS], to[LINKS];
static gnn_real_t closeness[LINKS], features[PEOPLE * FEATURES];
static int32_t group[PEOPLE];
static uint8_t train[PEOPLE], validation[PEOPLE], test[PEOPLE];

static unsigned draw(unsigned below)
{
    static unsigned state = 1;
    state = state * 1664525u + 1013904223u;
    return (state >> 16) % below;
}

static void draw_people(void)
{
    for (int i = 0; i < PEOPLE; i++) {
        group[i] = (int32_t)(i % GROUPS);
        for (int f = 0; f < FEATURES; f++)
            features[i * FEATURES + f] = (gnn_real_t)draw(100) / 100 + (f == i % GROUPS ? 0.3f : 0);
        uint8_t *part = i < 30 ? train : i < 100 ? validation : test;
        part[i] = 1;
    }
    for (int k = 0; k < LINKS; k++) {
        from[k] = draw(PEOPLE);
        to[k] = draw(10) < 8 ? (from[k] + GROUPS * draw(PEOPLE / GROUPS)) % PEOPLE : draw(PEOPLE);
        closeness[k] = (gnn_real_t)(1 + draw(9)) / 10;
    }
}

static int make_data(gnn_data_t **data)
{
    const gnn_tensor_t x = gnn_tensor(features, PEOPLE, FEATURES);
    gnn_split_t *split;
    GNN_TRY(gnn_split_from_masks(&split, PEOPLE, 1, train, validation, test));
    const int rc = gnn_data_new(data, &(gnn_data_config_t){.name = "people",
                                                           .nodes = PEOPLE,
                                                           .edges = LINKS,
                                                           .src = gnn_ints(from),
                                                           .dst = gnn_ints(to),
                                                           .both_ways = GNN_ON,
                                                           .weight = closeness,
                                                           .x = &x,
                                                           .labels = gnn_ints(group),
                                                           .split = split});
    gnn_split_free(split);
    return rc;
}

/* Two steps; `.edge_weight` names the edge array of the set that multiplies the messages. */
static int make_model(gnn_model_t **gat, gnn_context_t *context)
{
    return gnn_model_from_steps(
        gat, context, 2,
        (gnn_step_t[]){{.layer = GNN_GAT(.in = FEATURES, .out = 8, .heads = 4, .activation = GNN_ELU),
                        .edge_weight = "weight"},
                       {.layer = GNN_GAT(.in = 32, .out = GROUPS), .edge_weight = "weight"}});
}

static int run(gnn_context_t *context, gnn_data_t **data, gnn_model_t **gat)
{
    char text[256];
    double accuracy;
    draw_people();
    GNN_TRY(make_data(data));
    gnn_data_describe(*data, text, sizeof text);
    puts(text);
    GNN_TRY(make_model(gat, context));
    GNN_TRY(gnn_train(*gat, context, *data,
                      &(gnn_train_config_t){.optimizer.lr = 0.01f, .epochs = 100}, NULL));
    GNN_TRY(gnn_evaluate(*gat, context, *data, 0, GNN_TEST, GNN_METRIC_ACCURACY, &accuracy));
    printf("test accuracy %.1f\n", 100 * accuracy);
    return GNN_OK;
}

int main(void)
{
    gnn_context_t *context = NULL;
    gnn_data_t *data = NULL;
    gnn_model_t *gat = NULL;
    int rc = gnn_context_new(&context, NULL);
    if (rc == GNN_OK)
        rc = run(context, &data, &gat);
    if (rc != GNN_OK)
        fprintf(stderr, "own_data: %s: %s\n", gnn_error_string(rc), gnn_error_message());
    gnn_model_free(gat);
    gnn_data_free(data);
    gnn_context_free(context);
    if (ferror(stdout) || fflush(stdout) != 0) {
        perror("own_data");
        return EXIT_FAILURE;
    }
    return rc == GNN_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
