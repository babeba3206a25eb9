// Fluid that comes from another world. Which of it stands still there is not told, and so all of it is free here: bodies end, and begin again
// if the world is stepped. What is left of one would come to another level than the other world's when it loses cells, where nothing tells.
#include "solvers/settle/settle.h"

#include <assert.h>

static weir_status need_place(settle *s, int32_t brick)
{
    const weir_status status = brick ? settle_need_page(s, brick) : WEIR_OK;
    return brick && status == WEIR_OK ? settle_need_materials(s, brick) : status;
}

weir_status settle_put_prepare(void *state, const weir_coord *bricks, int32_t count)
{
    settle *s = state;
    weir_status status = settle_sync_failed(s);
    if (status == WEIR_OK) status = cells_put_prepare(state, bricks, count);
    if (status == WEIR_OK) status = settle_sync(s);
    if (status == WEIR_OK) status = store_reserve(s, &s->histograms, s->changed_count + 1);  // of bodies that fall
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) status = need_place(s, bricks_find(&s->cells.pool, bricks[i]));
    const int32_t end = store_used(&s->bodies) > 0 ? s->cells.pool.end : 0;
    for (int32_t b = 1; b < end && status == WEIR_OK; b++)
        if (s->bricks[b].node) status = need_place(s, b);
    return status;
}

// Takes a brick's cells out of its bodies, with what they hold. What a body then holds in no cell at all is removed.
static void leave_bodies(settle *s, int32_t brick)
{
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    while (s->bricks[brick].node) {
        const int32_t n = s->bricks[brick].node, body = node_at(s, n)->body;
        settle_body *b = body_at(s, body);
        const layer_mask cells = node_at(s, n)->cells;
        settle_keep_seen(s, b);
        for (int32_t y = 0; y < 8; y++) {
            if (!cells.layer[y]) continue;
            for (uint64_t left = cells.layer[y]; left;)
                b->volume -= body_fill(b, bottom + y, cell_capacity(&s->bricks[brick], cell_of(y, region_take(&left))));
            settle_count_cells(s, b, &s->bricks[brick], bottom + y, cells.layer[y], -1);
        }
        settle_end_node(s, n);
        b->may_be_split = true;
        settle_note_body(s, body);
        if (b->nodes > 0) continue;
        settle_ledger(s, b->material)->removed += b->volume * SETTLE_UNIT;
        b->volume = 0;
        settle_end_body(s, body);
    }
}

// What the cells of bodies hold is theirs.
static void free_bodies(settle *s, int32_t brick)
{
    const layer_mask taken = settle_taken(s, brick);
    settle_page *page = s->bricks[brick].page;
    int32_t units[BRICK_CELLS];
    uint8_t materials[BRICK_CELLS];
    settle_read_units(s, brick, units);
    settle_read_materials(s, brick, materials);
    leave_bodies(s, brick);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        if (layers_have(&taken, cell)) settle_set_cell(page, cell, materials[cell], units[cell]);
    settle_look_at_page(s, brick);
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
    settle_wake_around(s, brick);
}

static void free_all_bodies(settle *s)
{
    for (int32_t b = 1; b < s->cells.pool.end; b++)
        if (s->bricks[b].node) free_bodies(s, b);
}

static void put_brick(settle *s, int32_t brick, const fluid_brick *from)
{
    settle_brick *b = &s->bricks[brick];
    int32_t units[BRICK_CELLS];
    uint8_t materials[BRICK_CELLS];
    bool changed = false;
    settle_read_units(s, brick, units);
    settle_read_materials(s, brick, materials);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t drops = from->drops[cell], had = units[cell] * SETTLE_UNIT, of = from->materials[cell];
        if (drops == had && of == materials[cell]) continue;
        changed = true;
        if (of == materials[cell]) {
            cells_book(&s->cells, of, drops - had);
            continue;
        }
        cells_book(&s->cells, materials[cell], -had);
        cells_book(&s->cells, of, drops);
    }
    if (!changed) return;
    assert(b->page || from->material == WEIR_NOTHING);
    for (int32_t cell = 0; cell < BRICK_CELLS && b->page; cell++) {
        settle_set_cell(b->page, cell, from->materials[cell], from->drops[cell] / SETTLE_UNIT);
        if (from->materials[cell]) s->liquids |= UINT32_C(1) << from->materials[cell];
    }
    settle_look_at_page(s, brick);
    settle_wake_around(s, brick);
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
    s->cells.pool.changed[brick] = s->cells.world->change;
}

void settle_put(void *state, fluid_next_brick *next, void *source, fluid_brick *from)
{
    settle *s = state;
    settle_follow_volumes(s);
    const bool frees = store_used(&s->bodies) > 0;
    if (frees) free_all_bodies(s);
    while (next(source, from)) {
        const int32_t brick = bricks_find(&s->cells.pool, from->at);
        assert(brick || from->material == WEIR_NOTHING);
        if (!brick) continue;
        put_brick(s, brick, from);
        const settle_brick *b = &s->bricks[brick];
        if (b->page && !b->worked && layers_empty(&b->page->wet)) settle_drop_page(s, brick);
        settle_drop_materials(s, brick);
    }
    for (int32_t b = 1; b < s->cells.pool.end && frees; b++) settle_drop_materials(s, b);
    cells_topology(&s->cells);  // without memory it is done the next time
}
