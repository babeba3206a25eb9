// The mesher's memory: which bricks it knows, and the blocks that hold their meshes.
#include "surface/mesher.h"

#include "world/coord_table.h"
#include <stdlib.h>
#include <string.h>

enum { LEAST = 64 };  // items of the first array, slots of the first table

bool mesher_make_room(weir_mesher *m, void **array, int32_t *room, int32_t count, size_t size)
{
    if (count <= *room) return true;
    int64_t more = 2 * (int64_t)*room > count ? 2 * (int64_t)*room : count;
    if (more < LEAST) more = LEAST;
    if (more > INT32_MAX) return false;
    void *larger = memory_resize(&m->mem, *array, (size_t)*room * size, (size_t)more * size);
    if (!larger) return false;
    *array = larger;
    *room = (int32_t)more;
    return true;
}

// ---- Entries ---------------------------------------------------------------------------------------------------------------

int32_t mesher_find(const weir_mesher *m, weir_coord c)
{
    if (m->slot_count == 0) return -1;
    uint32_t mask = (uint32_t)m->slot_count - 1;
    for (uint32_t i = coord_hash(c) & mask; m->slots[i]; i = (i + 1) & mask) {
        if (coords_equal(m->entries[m->slots[i] - 1].coord, c)) return m->slots[i] - 1;
    }
    return -1;
}

static void insert(weir_mesher *m, int32_t entry)
{
    uint32_t mask = (uint32_t)m->slot_count - 1, i = coord_hash(m->entries[entry].coord) & mask;
    while (m->slots[i]) i = (i + 1) & mask;
    m->slots[i] = entry + 1;
}

// At most half of the slots are used.
static bool make_slots(weir_mesher *m)
{
    if (m->slot_count >= 2 * ((int64_t)m->entry_count + 1)) return true;
    if (m->slot_count > INT32_MAX / 4) return false;
    int32_t count = m->slot_count ? 2 * m->slot_count : LEAST;
    int32_t *slots = memory_alloc_zero(&m->mem, (size_t)count * sizeof *slots);
    if (!slots) return false;
    memory_free(&m->mem, m->slots, (size_t)m->slot_count * sizeof *slots);
    m->slots = slots;
    m->slot_count = count;
    for (int32_t e = 0; e < m->entry_count; e++) insert(m, e);
    return true;
}

int32_t mesher_find_or_add(weir_mesher *m, weir_coord c)
{
    int32_t entry = mesher_find(m, c);
    if (entry >= 0) return entry;
    if (!make_slots(m)) return -1;
    if (!mesher_make_room(m, (void **)&m->entries, &m->entry_room, m->entry_count + 1, sizeof *m->entries)) return -1;
    m->entries[m->entry_count] = (mesher_entry){.coord = c, .open = -1, .flags = ENTRY_LOW};
    insert(m, m->entry_count);
    return m->entry_count++;
}

static bool can_forget(const weir_mesher *m, const mesher_entry *e)
{
    bool gone = e->brick == BRICK_NOTHING && !e->block && !(e->flags & ENTRY_WANTED);
    return gone && (e->change == 0 || e->change + WEIR_MESHER_MEMORY <= m->change);
}

void mesher_forget(weir_mesher *m)
{
    int32_t gone = 0, count = 0;
    for (int32_t i = 0; i < m->entry_count; i++) gone += can_forget(m, &m->entries[i]);
    if (gone <= m->entry_count / 2) return;
    for (int32_t i = 0; i < m->entry_count; i++) {
        const mesher_entry *e = &m->entries[i];
        if (!can_forget(m, e))
            m->entries[count++] = *e;
        else if (e->change > m->forgotten)
            m->forgotten = e->change;
    }
    m->entry_count = count;
    m->order_count = 0;
    memset(m->slots, 0, (size_t)m->slot_count * sizeof *m->slots);
    for (int32_t i = 0; i < count; i++) insert(m, i);
}

static int compare_places(const void *a, const void *b)
{
    return coord_compare(((const mesher_place *)a)->coord, ((const mesher_place *)b)->coord);
}

// Since the last time entries were only added, at the end, or mesher_forget has emptied the list.
bool mesher_sort(weir_mesher *m)
{
    if (m->order_count == m->entry_count) return true;
    if (!mesher_make_room(m, (void **)&m->order, &m->order_room, m->entry_count, sizeof *m->order)) return false;
    for (int32_t e = m->order_count; e < m->entry_count; e++) m->order[e] = (mesher_place){m->entries[e].coord, e};
    m->order_count = m->entry_count;
    qsort(m->order, (size_t)m->order_count, sizeof *m->order, compare_places);
    return true;
}

// ---- Blocks ----------------------------------------------------------------------------------------------------------------

mesh_block *mesher_new_block(weir_mesher *m, int32_t vertex_count, int32_t own_count, int32_t triangle_count)
{
    uint64_t vertices = (uint64_t)vertex_count, triangles = (uint64_t)triangle_count;
    uint64_t size = sizeof(mesh_block) + vertices * (6 * sizeof(float) + sizeof(uint16_t)) + triangles * 3 * sizeof(uint32_t);
    if (size > SIZE_MAX) return NULL;
    mesh_block *block = memory_alloc(&m->mem, (size_t)size);
    if (!block) return NULL;
    *block = (mesh_block){
        .size = (size_t)size, .vertex_count = vertex_count, .own_count = own_count, .triangle_count = triangle_count};
    block->positions = (float *)(block + 1);
    block->normals = block->positions + 3 * vertices;
    block->indices = (uint32_t *)(block->normals + 3 * vertices);
    block->edges = (uint16_t *)(block->indices + 3 * triangles);
    return block;
}

void mesher_free_block(weir_mesher *m, mesh_block *block)
{
    if (block) memory_free(&m->mem, block, block->size);
}
