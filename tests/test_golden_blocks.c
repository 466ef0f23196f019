/* Blocks and lists of steps against PyG: outputs and gradients. Weights come by PyG's names where
 * steps are called what its modules are called, else by a list of places. Sizes are the files', so
 * that another set at $GNN_GOLDEN passes as well. */
#include "zoo_case.h"

/* Opens a case of one graph with the input x. */
static bool open_nodes(zoo_t *z, const char *name)
{
    if (!zoo_open_base(z, name))
        return false;
    zoo_input(z, "x");
    zoo_graph(z);
    return true;
}

static void block(zoo_t *z, const char *name, gnn_block_t settings)
{
    settings.name = settings.name ? settings.name : "w";
    ck_ok(gnn_steps_block(z->steps, name, &settings));
}

START_TEST(sage_project)
{
    zoo_t z;
    if (!open_nodes(&z, "sage_project"))
        return;
    block(&z, "sage_project",
          (gnn_block_t){.layer = GNN_SAGE(.in = zoo_cols(&z, "x"), .out = zoo_cols(&z, "y"))});
    zoo_run_imported(&z, GNN_NAMES_PYG, "%s.");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_blocks");
    TCase *c = tcase_create("golden_blocks");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, sage_project);
    suite_add_tcase(suite, c);
    return test_main(suite);
}
