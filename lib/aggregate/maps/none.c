/* No map: queries and keys meet as they are projected. */
#include <lib/aggregate/tables.h>

const gnn_map_t gnn_map_none = {.name = "none", .help = "rows stay as they are"};
