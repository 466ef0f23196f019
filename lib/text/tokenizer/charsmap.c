/* SentencePiece's precompiled table of characters: four bytes of size, a tree of that size, strings
 * that each end with a zero byte. Every unit of the tree is four bytes: a label, the distance to
 * the units below, or a value (Yata's Darts-clone). */
#include <lib/text/tokenizer/tokenizer.h>

static uint32_t word_at(const unsigned char *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

int gnn__charsmap_read(gnn__charsmap_t *map, const char *bytes, int64_t n)
{
    *map = (gnn__charsmap_t){0};
    if (n == 0)
        return GNN_OK;
    const unsigned char *at = (const unsigned char *)bytes;
    const int64_t size = n >= 4 ? (int64_t)word_at(at) : -1;
    if (size < 4 || size % 4 != 0 || size >= n - 4 || at[n - 1] != 0)
        return gnn__error(GNN_EFORMAT,
                          "the table of characters has %lld bytes, and its tree %lld of them",
                          (long long)n, (long long)size);
    *map = (gnn__charsmap_t){at + 4, size / 4, bytes + 4 + size, n - 4 - size};
    bool whole = true, open;
    for (int64_t k = 0; k < map->n_strings && whole;)
        k += gnn__utf8_part((const unsigned char *)map->strings + k, map->n_strings - k, &whole,
                            &open);
    return whole ? GNN_OK
                 : gnn__error(GNN_EFORMAT, "the strings of the table of characters are not UTF-8");
}

static bool has_leaf(uint32_t unit)
{
    return unit >> 8 & 1;
}

static uint64_t below(uint32_t unit)
{
    return (uint64_t)(unit >> 10) << ((unit & 1u << 9) >> 6);
}

int64_t gnn__charsmap_find(const gnn__charsmap_t *map, const char *at, int64_t n, bool longest,
                           gnn__string_t *to)
{
    int64_t found = 0;
    if (map->n_units == 0)
        return 0;
    uint64_t node = below(word_at(map->units));
    n = gnn__min(n, GNN__MOST_CHARSMAP_KEY); /* a damaged tree may lead back to itself */
    for (int64_t k = 0; k < n && (longest || found == 0); k++) {
        const unsigned char byte = (unsigned char)at[k];
        node ^= byte;
        if (byte == 0 || node >= (uint64_t)map->n_units)
            break;
        const uint32_t unit = word_at(map->units + 4 * node);
        if ((unit & (1u << 31 | 0xff)) != byte)
            break;
        node ^= below(unit);
        if (!has_leaf(unit) || node >= (uint64_t)map->n_units)
            continue;
        const int64_t value = word_at(map->units + 4 * node) & 0x7fffffff;
        if (value >= map->n_strings || ((unsigned char)map->strings[value] & 0xc0) == 0x80)
            break;
        *to = (gnn__string_t){map->strings + value, (int64_t)strlen(map->strings + value)};
        found = k + 1;
    }
    return found;
}
