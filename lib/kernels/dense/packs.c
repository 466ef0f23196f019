/* A list of packs, which only grows; many threads may read the weights that it belongs to. */
#include <lib/kernels/dense/packs.h>

#include <pthread.h>

typedef struct {
    gnn__pack_key_t key;
    dnnl_memory_desc_t layout; /* that key.layout is compared with, if that is not NULL */
    void *numbers;
} pack_t;

struct gnn__packs {
    const gnn_real_t *begin, *end;
    pthread_mutex_t mutex;
    pack_t *list;
    int64_t count, room;
};

int gnn__packs_new(gnn__packs_t **packs, const gnn_real_t *begin, int64_t length)
{
    GNN_TRY(gnn__new(packs, 1, sizeof **packs, "laid out weights"));
    (*packs)->begin = begin;
    (*packs)->end = begin + length;
    pthread_mutex_init(&(*packs)->mutex, NULL);
    return GNN_OK;
}

void gnn__packs_free(gnn__packs_t *packs)
{
    if (!packs)
        return;
    for (int64_t k = 0; k < packs->count; k++)
        gnn_free(packs->list[k].numbers);
    gnn_free(packs->list);
    pthread_mutex_destroy(&packs->mutex);
    gnn_free(packs);
}

bool gnn__packs_cover(const gnn__packs_t *packs, const gnn_real_t *b)
{
    return packs && b >= packs->begin && b < packs->end;
}

static bool is_same(const pack_t *pack, const gnn__pack_key_t *key)
{
    const gnn__pack_key_t *own = &pack->key;
    return own->b == key->b && own->rows == key->rows && own->cols == key->cols &&
           own->stride == key->stride && own->transposed == key->transposed &&
           own->level == key->level && !own->layout == !key->layout &&
           (!key->layout || dnnl_memory_desc_equal(&pack->layout, key->layout));
}

static void *look_up(const gnn__packs_t *packs, const gnn__pack_key_t *key)
{
    for (int64_t k = 0; k < packs->count; k++)
        if (is_same(&packs->list[k], key))
            return packs->list[k].numbers;
    return NULL;
}

void *gnn__packs_find(gnn__packs_t *packs, const gnn__pack_key_t *key)
{
    pthread_mutex_lock(&packs->mutex);
    void *found = look_up(packs, key);
    pthread_mutex_unlock(&packs->mutex);
    return found;
}

static int append(gnn__packs_t *packs, const gnn__pack_key_t *key, void *numbers)
{
    if (packs->count == packs->room) {
        const int64_t room = gnn__max(16, 2 * packs->room);
        GNN_TRY(gnn__grow(&packs->list, packs->count, room, sizeof *packs->list, "laid out weights"));
        packs->room = room;
    }
    pack_t *pack = &packs->list[packs->count++];
    *pack = (pack_t){.key = *key, .numbers = numbers};
    if (key->layout)
        pack->layout = *key->layout;
    return GNN_OK;
}

void *gnn__packs_add(gnn__packs_t *packs, const gnn__pack_key_t *key, void *pack)
{
    pthread_mutex_lock(&packs->mutex);
    void *kept = look_up(packs, key);
    if (kept)
        gnn_free(pack);
    else if (append(packs, key, pack) == GNN_OK)
        kept = pack;
    pthread_mutex_unlock(&packs->mutex);
    return kept;
}
