/* The message x_j, as it is. */
#include <lib/aggregate/messages/from_sender.h>

const gnn_message_t gnn_message_none = {
    .name = "none",
    .paper = "Hamilton, Ying, Leskovec 2017 (GraphSAGE)",
    .help = "x_j: the sender's features as they are",
    .projects = 0,
    .src_parts = 1,
    .is_sender = 1,
    .message = sender_message,
    .message_grad = sender_message_grad,
};
