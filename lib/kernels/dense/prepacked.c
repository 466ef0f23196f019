/* A list that only grows; many threads may read the weights that it belongs to. */
#include <lib/kernels/dense/prepacked.h>

#include <pthread.h>

typedef struct {
    gnn__prepacked_key_t key;
    gnn__layout_t layout; /* the own copy of key.layout; NULL if that is */
    void *numbers;
} pack_t;

struct gnn__prepacked {
    const gnn_real_t *begin, *end;
    pthread_mutex_t mutex;
    pack_t *list;
    int64_t count, room;
};

int gnn__prepacked_new(gnn__prepacked_t **prepacked, const gnn_real_t *begin, int64_t length)
{
    GNN_TRY(gnn__new(prepacked, 1, sizeof **prepacked, "laid out weights"));
    (*prepacked)->begin = begin;
    (*prepacked)->end = begin + length;
    pthread_mutex_init(&(*prepacked)->mutex, NULL);
    return GNN_OK;
}

void gnn__prepacked_free(gnn__prepacked_t *prepacked)
{
    if (!prepacked)
        return;
    for (int64_t k = 0; k < prepacked->count; k++) {
        gnn_free(prepacked->list[k].numbers);
        gnn__layout_free(prepacked->list[k].layout);
    }
    gnn_free(prepacked->list);
    pthread_mutex_destroy(&prepacked->mutex);
    gnn_free(prepacked);
}

bool gnn__prepacked_cover(const gnn__prepacked_t *prepacked, const gnn_real_t *b)
{
    return prepacked && b >= prepacked->begin && b < prepacked->end;
}

static bool is_same(const pack_t *pack, const gnn__prepacked_key_t *key)
{
    const gnn__prepacked_key_t *own = &pack->key;
    return own->b == key->b && own->rows == key->rows && own->cols == key->cols &&
           own->stride == key->stride && own->transposed == key->transposed &&
           own->level == key->level && !own->layout == !key->layout &&
           (!key->layout || dnnl_memory_desc_equal(pack->layout, key->layout));
}

static void *look_up(const gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key)
{
    for (int64_t k = 0; k < prepacked->count; k++)
        if (is_same(&prepacked->list[k], key))
            return prepacked->list[k].numbers;
    return NULL;
}

void *gnn__prepacked_find(gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key)
{
    pthread_mutex_lock(&prepacked->mutex);
    void *found = look_up(prepacked, key);
    pthread_mutex_unlock(&prepacked->mutex);
    return found;
}

static int append(gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key, void *numbers)
{
    if (prepacked->count == prepacked->room) {
        const int64_t room = gnn__max(16, 2 * prepacked->room);
        GNN_TRY(gnn__grow(&prepacked->list, prepacked->count, room, sizeof *prepacked->list,
                          "laid out weights"));
        prepacked->room = room;
    }
    const gnn__layout_t layout = key->layout ? gnn__layout_copy(key->layout) : NULL;
    if (key->layout && !layout)
        return GNN_EMEMORY;
    prepacked->list[prepacked->count++] = (pack_t){.key = *key, .layout = layout, .numbers = numbers};
    return GNN_OK;
}

void *gnn__prepacked_add(gnn__prepacked_t *prepacked, const gnn__prepacked_key_t *key, void *pack)
{
    pthread_mutex_lock(&prepacked->mutex);
    void *kept = look_up(prepacked, key);
    if (kept)
        gnn_free(pack);
    else if (append(prepacked, key, pack) == GNN_OK)
        kept = pack;
    pthread_mutex_unlock(&prepacked->mutex);
    return kept;
}
