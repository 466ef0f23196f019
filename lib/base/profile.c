/* Profiles: seconds, calls and work by op and place, collected if GNN_PROFILE is set. */
#include <lib/base/base.h>

#include <stdlib.h>
#include <time.h>

double gnn__seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int gnn__profile_new(gnn__profile_t **profile)
{
    const char *wish = getenv("GNN_PROFILE");
    *profile = NULL;
    if (!wish || !*wish || strcmp(wish, "0") == 0)
        return GNN_OK;
    if (strcmp(wish, "1") != 0)
        return gnn__error(GNN_EINVALID,
                          "the environment variable GNN_PROFILE: expected 0 or 1, got \"%.40s\"",
                          wish);
    GNN_TRY(gnn__new(profile, 1, sizeof **profile, "a profile"));
    (*profile)->start = gnn__seconds();
    return GNN_OK;
}

void gnn__profile_free(gnn__profile_t *profile)
{
    if (!profile)
        return;
    gnn_free(profile->rows);
    gnn_free(profile);
}

static bool same(const gnn__profile_row_t *row, const char *name, const char *where, bool backward)
{
    return row->backward == backward && strcmp(row->name, name) == 0 &&
           strncmp(row->where, where, sizeof row->where - 1) == 0;
}

/* NULL if there is no memory for a new entry. */
static gnn__profile_row_t *find(gnn__profile_t *profile, const char *name, const char *where,
                                bool backward)
{
    for (int64_t k = 0; k < profile->count; k++)
        if (same(&profile->rows[k], name, where, backward))
            return &profile->rows[k];
    if (profile->count == profile->room) {
        const int64_t room = profile->room ? 2 * profile->room : 64;
        if (gnn__grow(&profile->rows, profile->room, room, sizeof *profile->rows, "a profile") !=
            GNN_OK)
            return NULL;
        profile->room = room;
    }
    gnn__profile_row_t *row = &profile->rows[profile->count++];
    *row = (gnn__profile_row_t){.backward = backward};
    snprintf(row->name, sizeof row->name, "%s", name);
    snprintf(row->where, sizeof row->where, "%s", where);
    return row;
}

void gnn__profile_add(gnn__profile_t *profile, const char *name, const char *where, bool backward,
                      double seconds, gnn_op_work_t work)
{
    char full[sizeof profile->rows->name];
    const char *detail = profile->detail;
    snprintf(full, sizeof full, *detail ? "%s[%s]" : "%s", name, detail);
    profile->detail[0] = '\0';
    gnn__profile_row_t *row = find(profile, full, where ? where : "", backward);
    if (!row)
        return;
    row->calls++;
    row->seconds += seconds;
    row->flops += work.flops;
    row->bytes += work.bytes;
}
