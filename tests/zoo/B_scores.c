/* Sequence models, and attention before the Transformer. */
#include "zoo.h"

/* B7 | Luong, dot | s_ij = q_i . k_j | O(n m d) | Luong et al. 2015 */
ENTRY(luong_dot)
{
    ATTEND("y", zoo_across(z), "x", "mem", "mem", COLS("x"), .scale = 1);
    zoo_also(z, "y", "y");
}

/* B8 | Luong, general | s_ij = q_i . W k_j | O(n m d) | Luong et al. 2015 */
ENTRY(luong_general)
{
    LINEAR("W", "x", COLS("x"), COLS("mem"));
    ATTEND("y", zoo_across(z), "W", "mem", "mem", COLS("x"), .scale = 1);
    BIND("W.weight", "W", .layout = SAME);
}

FAMILY(B, AT(luong_dot), AT(luong_general))
