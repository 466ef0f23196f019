/* Cross-attention scores of the literature, each a few fields of the layer's config, by --score:
 *
 *     scaled     q . k / sqrt(d)           Vaswani et al. 2017
 *     general    q . k, q = W s            Luong, Pham, Manning 2015
 *     additive   v . tanh(q + k)           Bahdanau, Cho, Bengio 2015 (Luong's concat)
 *     cosine     8 q . k / (|q| |k|)       Graves, Wayne, Danihelka 2014
 *     location   W s at the position       Luong, Pham, Manning 2015
 *     hard       q . k / sqrt(d), one-hot at the maximum: Xu et al. 2015, with the gradient of the
 *                softmax (Bengio, Leonard, Courville 2013)
 */
#include "translate.h"

#include <stdio.h>

/* Maximum positions of the score `location`. */
enum { PLACES = 64 };

static void scaled(gnn_layer_config_t *c)
{
    (void)c;
}

static void general(gnn_layer_config_t *c)
{
    c->scale = 1;
}

static void additive(gnn_layer_config_t *c)
{
    c->score = &gnn_score_additive_tanh;
}

static void cosine(gnn_layer_config_t *c)
{
    c->map = gnn_map_find("l2");
    c->scale = 8;
}

/* Scores of queries and keys are zero. */
static void location(gnn_layer_config_t *c)
{
    c->scale = GNN_ZERO;
    c->priors[0] = (gnn_layer_prior_t){.prior = gnn_prior_find("place"), .options = {PLACES}};
}

static void hard(gnn_layer_config_t *c)
{
    c->weigher = gnn_weigher_find("best");
}

static void (*const scores[])(gnn_layer_config_t *c) = {scaled, general,  additive,
                                                        cosine, location, hard};

/* The value with the score of each position per receiver. */
static const char *add_places(gnn_steps_t *steps, const char *of, const gnn_layer_config_t *c,
                              char *name, size_t size)
{
    snprintf(name, size, "%s:places", of);
    gnn_steps_add(steps, &(gnn_step_t){.kind = GNN_STEP_LINEAR,
                                       .name = name,
                                       .inputs = {of},
                                       .in = c->in,
                                       .out = c->heads * PLACES});
    return name;
}

void add_decoder_layer(gnn_steps_t *steps, const char *name, const gnn_layer_config_t *layer,
                       int score)
{
    char cross_name[48], places[48];
    gnn_layer_config_t alone = *layer, cross = *layer;
    alone.update = &gnn_update_linear;
    scores[score](&cross);
    gnn_steps_add(steps, &(gnn_step_t){.name = name, .graph = 1, .layer = alone});
    const char *numbers =
        cross.priors[0].prior ? add_places(steps, name, &cross, places, sizeof places) : NULL;
    snprintf(cross_name, sizeof cross_name, "%s:cross", name);
    gnn_steps_add(steps, &(gnn_step_t){.name = cross_name,
                                       .inputs = {"memory"},
                                       .receivers = name,
                                       .graph = 2,
                                       .priors = {numbers},
                                       .layer = cross});
}
