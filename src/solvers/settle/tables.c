// Tables of the settling automaton: what it keeps of bricks, pages of free water, and stores of numbered things.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

// ---- Stores ----------------------------------------------------------------------------------------------------------------

weir_status store_reserve(settle *s, settle_store *store, int32_t budget)
{
    const int64_t needed = (int64_t)store_used(store) + budget + 1;  // 1 for none
    if (needed > store->room) {
        const int64_t more = store->room + (int64_t)store->room / 4;  // so that one that grows need not ask in every update
        const int64_t room = needed > more ? needed : more;
        void *items = room > INT32_MAX ? NULL
                                       : memory_resize(&s->cells.world->mem, store->items, (size_t)store->room * store->size,
                                                       (size_t)room * store->size);
        if (!items) return status_fail(WEIR_ERROR_MEMORY, "no memory for %d more parts of bodies of water", budget);
        store->items = items;
        store->room = (int32_t)room;
    }
    if (store->end == 0) store->end = 1;
    store->budget = budget;
    return WEIR_OK;
}

// The first free one is linked to the next through what it begins with.
static int32_t *link_of(const settle_store *store, int32_t item)
{
    return (int32_t *)(void *)((char *)store->items + (size_t)item * store->size);
}

int32_t store_take(settle_store *store)
{
    int32_t item = store->free_first;
    assert(store->budget > 0);
    store->budget--;
    if (item) {
        store->free_first = *link_of(store, item);
        store->free_count--;
    } else {
        item = store->end++;
    }
    memset(link_of(store, item), 0, store->size);
    return item;
}

void store_give(settle_store *store, int32_t item)
{
    assert(item > 0 && item < store->end);
    memset(link_of(store, item), 0, store->size);
    *link_of(store, item) = store->free_first;
    store->free_first = item;
    store->free_count++;
}

static void free_store(settle *s, settle_store *store)
{
    memory_free(&s->cells.world->mem, store->items, (size_t)store->room * store->size);
    *store = (settle_store){.size = store->size};
}

// ---- Pages -----------------------------------------------------------------------------------------------------------------

weir_status settle_need_page(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (b->page) return WEIR_OK;
    b->page = memory_alloc_zero(&s->cells.world->mem, sizeof *b->page);
    if (!b->page) return status_fail(WEIR_ERROR_MEMORY, "no memory for the water of one more brick");
    s->page_count++;
    return WEIR_OK;
}

weir_status settle_need_pending(settle *s, int32_t brick)
{
    settle_page *page = s->bricks[brick].page;
    if (page->pending) return WEIR_OK;
    page->pending = memory_alloc(&s->cells.world->mem, sizeof *page->pending);
    if (!page->pending) return status_fail(WEIR_ERROR_MEMORY, "no memory for what one more brick is going to hold");
    s->pending_count++;
    return WEIR_OK;
}

void settle_drop_page(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (!b->page) return;
    if (b->page->pending) {
        memory_free(&s->cells.world->mem, b->page->pending, sizeof *b->page->pending);
        s->pending_count--;
    }
    if (b->page->materials) {
        memory_free(&s->cells.world->mem, b->page->materials, SETTLE_MIXED_BYTES);
        s->mixed_count--;
    }
    memory_free(&s->cells.world->mem, b->page, sizeof *b->page);
    b->page = NULL;
    s->page_count--;
}

static void note_settled(settle_page *page, int32_t patience)
{
    page->settled = (layer_mask){{0}};
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        if (page_fill(page)[cell] > 0 && page->calm[cell] >= patience) page->settled.layer[layer_of(cell)] |= bit_of(cell);
}

void settle_look_at_page(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    settle_page *page = b->page;
    if (!page) return;
    page->wet = page->full = (layer_mask){{0}};
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t fill = page_fill(page)[cell], capacity = cell_capacity(b, cell), y = layer_of(cell);
        if (fill > 0) page->wet.layer[y] |= bit_of(cell);
        if (fill > 0 && fill >= capacity) page->full.layer[y] |= bit_of(cell);
    }
    note_settled(page, settle_get_limits(s).patience);
}

void settle_look_at_cell(settle *s, int32_t brick, int32_t cell)
{
    settle_brick *b = &s->bricks[brick];
    settle_page *page = b->page;
    if (!page) return;
    const int32_t fill = page_fill(page)[cell], y = layer_of(cell);
    const uint64_t bit = bit_of(cell);
    page->wet.layer[y] = fill > 0 ? page->wet.layer[y] | bit : page->wet.layer[y] & ~bit;
    page->full.layer[y] = fill > 0 && fill >= cell_capacity(b, cell) ? page->full.layer[y] | bit : page->full.layer[y] & ~bit;
    if (fill == 0 || page->calm[cell] < settle_get_limits(s).patience) page->settled.layer[y] &= ~bit;
}

void settle_note_settled(settle *s, int32_t patience)
{
    for (int32_t b = 1; b < s->brick_room; b++)
        if (s->bricks[b].page) note_settled(s->bricks[b].page, patience);
}

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

weir_status settle_need_shares(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (b->shares) return WEIR_OK;
    b->shares = memory_alloc(&s->cells.world->mem, BRICK_CELLS);
    if (!b->shares) return status_fail(WEIR_ERROR_MEMORY, "no memory for the terrain of one more brick");
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) b->shares[cell] = layers_have(&b->open, cell) ? 0 : 255;
    s->share_count++;
    return WEIR_OK;
}

static void drop_shares(settle *s, int32_t brick)
{
    if (!s->bricks[brick].shares) return;
    memory_free(&s->cells.world->mem, s->bricks[brick].shares, BRICK_CELLS);
    s->bricks[brick].shares = NULL;
    s->share_count--;
}

weir_status settle_learn(settle *s, int32_t brick, const terrain *t)
{
    settle_brick *b = &s->bricks[brick];
    uint8_t shares[BRICK_CELLS];
    bool partly = false;
    layer_mask open = {{0}};
    terrain_shares(t, s->cells.pool.coord[brick], shares);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        partly |= shares[cell] != 0 && shares[cell] != 255;
        if (shares[cell] != 255) open.layer[layer_of(cell)] |= bit_of(cell);
    }
    if (partly) {
        const weir_status status = settle_need_shares(s, brick);
        if (status != WEIR_OK) return status;
        memcpy(b->shares, shares, BRICK_CELLS);
    } else {
        drop_shares(s, brick);
    }
    b->open = open;
    s->known[brick] = 1;
    return WEIR_OK;
}

// A table of another length, with what it had; NULL without memory, and the old one stays.
static void *longer(memory *mem, const void *old, size_t old_count, size_t count, size_t size)
{
    char *table = memory_alloc(mem, count * size);
    if (!table) return NULL;
    if (old_count > 0) memcpy(table, old, old_count * size);
    memset(table + old_count * size, 0, (count - old_count) * size);
    return table;
}

#define TABLES(ITEM) \
    ITEM(bricks) ITEM(known) ITEM(active) ITEM(touching) ITEM(queue) ITEM(joining) ITEM(order) ITEM(redo) ITEM(slice)

// All tables or none.
weir_status settle_grow(settle *s, int32_t room)
{
    memory *mem = &s->cells.world->mem;
    const size_t old = (size_t)s->brick_room, new = (size_t)room;
    settle grown = {0};
    bool enough = true;
#define MAKE(table) enough = enough && (grown.table = longer(mem, s->table, old, new, sizeof *s->table));
    TABLES(MAKE)
#undef MAKE
#define TAKE(table)                                     \
    memory_free(mem, s->table, old * sizeof *s->table); \
    s->table = grown.table;
#define DROP(table) memory_free(mem, grown.table, new * sizeof *s->table);
    if (enough) {
        TABLES(TAKE)
        s->brick_room = room;
        return WEIR_OK;
    }
    TABLES(DROP)
#undef TAKE
#undef DROP
    return status_fail(WEIR_ERROR_MEMORY, "no memory for tables of %d bricks", room);
}

// The first brick from `brick` on of which the shape is not known.
static int32_t next_unknown(const settle *s, int32_t brick)
{
    const brick_pool *pool = &s->cells.pool;
    while (brick + 64 <= pool->end && memcmp(pool->alive + brick, s->known + brick, 64) == 0) brick += 64;
    while (brick < pool->end && pool->alive[brick] == s->known[brick]) brick++;
    return brick;
}

// Water beside a new brick may have waited for it to come to be, or a reservoir, and a body below to rise into it. All are looked at before
// the first wakes: their order is an accident. One that woke for that wakes no other, if more come in the next update.
static void wake_newborn(settle *s, const int32_t *bricks, int32_t count, settle_birth births)
{
    for (int32_t i = 0; i < count; i++) {
        for (int32_t k = 0; k < 27; k++) {
            const settle_brick *near = &s->bricks[s->cells.pool.near[bricks[i]][k]];
            s->bricks[bricks[i]].queued |= near->active && !near->fresh;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        settle_brick *b = &s->bricks[bricks[i]];
        b->queued |= settle_is_filled(s, bricks[i]);
        if (b->queued) settle_wake(s, bricks[i]);
        b->fresh = b->queued && births != BORN_OF_EDIT;
        b->queued = 0;
        settle_note_below(s, bricks[i], 0, ~UINT64_C(0));
    }
}

// Returns where it was.
static int32_t strike(int32_t *list, int32_t *count, int32_t item)
{
    int32_t i = 0;
    while (list[i] != item) i++;
    memmove(list + i, list + i + 1, (size_t)(--*count - i) * sizeof *list);
    return i;
}

weir_status settle_keep_room(settle *s, int32_t budget)
{
    brick_pool *pool = &s->cells.pool;
    if (budget == 0 || pool->live < pool->capacity - pool->capacity / 4) return WEIR_OK;
    const weir_status status = bricks_reserve(pool, pool->capacity - pool->live);
    return status == WEIR_OK && s->brick_room < pool->capacity ? settle_grow(s, pool->capacity) : status;
}

void settle_strike_ended(settle *s)
{
    s->striking = false;
    int32_t kept = 0;
    for (int32_t i = 0; i < s->active_count; i++)
        if (s->bricks[s->active[i]].active) s->active[kept++] = s->active[i];
    s->active_count = kept;
}

// The generation under way goes on without it.
static void leave_generation(settle *s, int32_t brick)
{
    const bool redo = s->stage == STAGE_WORK && s->bricks[brick].worked && !s->bricks[brick].done;
    const int32_t at = strike(s->active, &s->active_count, brick);
    if (at < s->work_count) s->work_count--;
    if (redo && at < s->cursor) strike(s->redo, &s->redo_count, brick);
    if (at < s->cursor) s->cursor--;
}

weir_status settle_sync(settle *s)
{
    const settle_birth births = s->births;
    const brick_pool *pool = &s->cells.pool;
    weir_status status = s->brick_room < pool->capacity ? settle_grow(s, pool->capacity) : WEIR_OK;
    int32_t count = 0;
    for (int32_t b = 1; status == WEIR_OK && (b = next_unknown(s, b)) < pool->end;) {
        status = settle_learn(s, b, &s->cells.world->terrain);
        if (status == WEIR_OK) s->queue[count++] = b;
    }
    if (count > 0) settle_end_search(s);
    if (status == WEIR_OK) {
        wake_newborn(s, s->queue, count, births);
        for (int32_t i = 0; i < count && births != BORN_OF_WATER; i++) cells_look_again(&s->cells, s->queue[i]);
        s->births = BORN_OF_EDIT;
    } else {
        // All come anew the next time: those that woke now would be neighbours that are awake then.
        for (int32_t i = 0; i < count; i++) s->known[s->queue[i]] = 0;
    }
    return status;
}

weir_status settle_sync_failed(settle *s)
{
    return s->births == BORN_OF_EDIT ? WEIR_OK : settle_sync(s);
}

void settle_brick_ended(fluid_cells *c, int32_t brick)
{
    settle *s = (settle *)c;
    if (brick >= s->brick_room) return;
    settle_brick *b = &s->bricks[brick];
    assert(!b->node);
    settle_end_outlets(s, brick);
    settle_drop_page(s, brick);
    drop_shares(s, brick);
    settle_undo_around(s, brick);
    if (b->active && !s->striking) leave_generation(s, brick);
    if (b->touching) strike(s->touching, &s->touching_count, brick);
    *b = (settle_brick){0};
    s->known[brick] = 0;
}

int64_t settle_bytes(const settle *s)
{
    const settle_store *stores[] = {&s->nodes, &s->bodies, &s->outlets, &s->histograms};
    int64_t bytes = s->page_count * (int64_t)sizeof(settle_page) + s->pending_count * (int64_t)sizeof(settle_pending) +
                    s->share_count * BRICK_CELLS + s->mixed_count * SETTLE_MIXED_BYTES +
                    s->spare_page_count * (int64_t)sizeof(settle_page) + s->spare_mixed_count * (int64_t)SETTLE_MIXED_BYTES;
    for (int32_t i = 0; i < 4; i++) bytes += (int64_t)stores[i]->room * (int64_t)stores[i]->size;
#define ADD(table) bytes += (int64_t)s->brick_room * (int64_t)sizeof *s->table;
    TABLES(ADD)
#undef ADD
    bytes += s->changed_room * (int64_t)sizeof *s->changed + s->gain_room * (int64_t)sizeof *s->gains;
    return bytes + settle_search_bytes(s);
}

void settle_free_tables(settle *s)
{
    memory *mem = &s->cells.world->mem;
    for (int32_t b = 1; b < s->brick_room; b++) {
        settle_drop_page(s, b);
        drop_shares(s, b);
    }
    const size_t room = (size_t)s->brick_room;
#define FREE(table)                                      \
    memory_free(mem, s->table, room * sizeof *s->table); \
    s->table = NULL;
    TABLES(FREE)
#undef FREE
    s->brick_room = 0;
    free_store(s, &s->nodes);
    free_store(s, &s->bodies);
    free_store(s, &s->outlets);
    free_store(s, &s->histograms);
    memory_free(mem, s->changed, (size_t)s->changed_room * sizeof *s->changed);
    s->changed = NULL;
    s->changed_room = 0;
    memory_free(mem, s->gains, (size_t)s->gain_room * sizeof *s->gains);
    s->gains = NULL;
    s->gain_room = 0;
    memory_free(mem, s->cuts, (size_t)s->cut_room * sizeof *s->cuts);
    s->cuts = NULL;
    s->cut_room = 0;
    settle_free_search(s);
}
