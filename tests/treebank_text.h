/* A treebank of two sentences, and how a test writes and reads one. */
#ifndef GNN_TESTS_TREEBANK_TEXT_H
#define GNN_TESTS_TREEBANK_TEXT_H

#include "support.h"

#define ROW(id, form, pos, head) id "\t" form "\t_\t" pos "\t_\t_\t" head "\t_\t_\t_\n"

static inline int read_bank(gnn_treebank_t **bank, const char *text)
{
    write_text("bank.conllu", text);
    return gnn_treebank_read(bank, in_folder("bank.conllu"));
}

#endif
