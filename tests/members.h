/* Settings as a list of the members of their struct: each is obeyed, known to be harmless, or
 * refused by its name. */
#ifndef GNN_TESTS_MEMBERS_H
#define GNN_TESTS_MEMBERS_H

#include "support.h"

typedef struct member {
    const char *name;
    size_t offset, size;
    bool harmless; /* no value of it changes the result */
} member_t;

#define MEMBER(type, member)                                                \
    {                                                                       \
#member, offsetof(type, member), sizeof(((type *)0)->member), false \
    }
#define HARMLESS(type, member)                                             \
    {                                                                      \
#member, offsetof(type, member), sizeof(((type *)0)->member), true \
    }

/* Fails unless the list has all members of a struct of `bytes` bytes; gaps are for alignment. */
static inline void ck_complete(const member_t *members, size_t count, size_t bytes)
{
    size_t end = 0, most = 1;
    for (size_t k = 0; k < count; k++) {
        const size_t by = members[k].size < 8 ? members[k].size : 8;
        most = by > most ? by : most;
        end = (end + by - 1) / by * by;
        ck_assert_msg(members[k].offset == end, "there is a member before %s that no test sets",
                      members[k].name);
        end += members[k].size;
    }
    ck_assert_msg((end + most - 1) / most * most == bytes, "the last member is not %s",
                  members[count - 1].name);
}

/* Adds bytes to a hash of a result. */
static inline void digest(uint64_t *sum, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t k = 0; k < bytes; k++)
        *sum = (*sum ^ at[k]) * 0x100000001b3u;
}

/* Runs with settings; *sum receives a hash of the result. */
typedef int run_t(const void *config, uint64_t *sum);

static inline int run_digested(run_t *run, const void *config, uint64_t *sum)
{
    *sum = 0xcbf29ce484222325u;
    return run(config, sum);
}

/* Sets each member in turn to that of `other`. `way`: what the settings are of, for messages. */
static inline void ck_members(const char *way, run_t *run, const void *base, const void *other,
                              const member_t *members, size_t count, size_t bytes)
{
    char config[512];
    uint64_t before, after;
    int wrong = 0;
    ck_complete(members, count, bytes);
    ck_assert_uint_le(bytes, sizeof config);
    ck_ok(run_digested(run, base, &before));
    for (size_t k = 0; k < count; k++) {
        const member_t *m = &members[k];
        memcpy(config, base, bytes);
        memcpy(config + m->offset, (const char *)other + m->offset, m->size);
        /* structs have bytes between their members, which nothing sets */
        ck_assert_msg(m->size > sizeof(void *) ||
                          memcmp(config + m->offset, (const char *)base + m->offset, m->size) != 0,
                      "%s: .%s is set to what it is", way, m->name);
        const int rc = run_digested(run, config, &after);
        const bool named = rc != GNN_OK && strstr(gnn_error_message(), m->name);
        const bool right = m->harmless ? rc == GNN_OK && after == before
                                       : named || (rc == GNN_OK && after != before);
        if (!right)
            printf("%s: .%s: %s\n", way, m->name,
                   rc != GNN_OK      ? gnn_error_message()
                   : after == before ? "changes nothing"
                                     : "changes the result");
        fflush(stdout);
        wrong += !right;
    }
    ck_assert_msg(wrong == 0, "%s: %d members are passed over", way, wrong);
}

#endif
