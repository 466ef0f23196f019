/* The message W x_j. */
#include <lib/aggregate/messages/from_sender.h>

const gnn_message_t gnn_message_linear = {
    .name = "linear",
    .paper = "Kipf, Welling 2017 (GCN)",
    .help = "W x_j: the sender's features after a linear map",
    .projects = 1,
    .src_parts = 1,
    .is_sender = 1,
    .message = sender_message,
    .message_grad = sender_message_grad,
};
