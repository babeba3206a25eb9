// Pouring: drops spread evenly over the open cells of a box, or taken out of them. Every cell takes the same number, or as much as it can
// if that is less. That number, the level, is the largest with
//
//     sum over cells of min(capacity, level) <= drops
//
// and what is then left, less than one unit per cell, goes to the first cells in coordinate order of bricks and, in a brick, of
// cells. All of it is whole numbers and coordinates, so the order of bricks in the pool changes nothing.
#include "cells/cells.h"

// All here is counted in the solver's units.
typedef struct pour {
    const fluid_cells *cells;
    fluid_view view;
    weir_box box;
    int32_t sign;            // -1: taken out
    weir_material material;  // of what is poured in; whatever there is is taken out
    int32_t most;            // drops that a cell is filled to, where no store tells
} pour;

// What a cell can take in or give away: a cell that holds another material takes nothing.
static int32_t capacity(const pour *p, int32_t brick, int32_t cell, int32_t drops, const uint8_t *materials)
{
    const int32_t unit = p->cells->world->solver->unit;
    const cell_store *store = p->cells->store;
    if (store && store->room) return store->room(p->cells, brick, cell, p->sign < 0 ? WEIR_NOTHING : p->material);
    if (p->sign < 0) return drops / unit;
    if (materials && materials[cell] && materials[cell] != p->material) return 0;
    const int32_t full = store ? cells_full(p->cells, brick, cell) : p->most;
    return drops < full ? (full - drops) / unit : 0;
}

// What the cells move at a level. *more gets how many could move another one, *any how many could move one at all.
static int64_t moved_at(const pour *p, int64_t level, int64_t *more, int64_t *any)
{
    int64_t sum = 0;
    *more = *any = 0;
    brick_mask mask;
    int32_t room[BRICK_CELLS];
    uint8_t room_of_materials[BRICK_CELLS];
    region_walk walk = region_walk_live(&p->view, p->box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_box_mask(p->box, p->view.coord[brick], &mask)) continue;
        const int32_t *mass = fluid_drops(&p->view, brick, room);
        const uint8_t *materials = cells_materials(p->cells, brick, room_of_materials);
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = mask.plane[z] & p->view.open[brick].plane[z]; left;) {
                const int32_t cell = region_take(&left) + 64 * z;
                int32_t most = capacity(p, brick, cell, mass[cell], materials);
                sum += most < level ? most : level;
                *more += most > level;
                *any += most > 0;
            }
        }
    }
    return sum;
}

// The level for an amount; *rest gets what is left over, less than there are cells that could move another unit.
static int64_t find_level(const pour *p, int64_t amount, int64_t *rest)
{
    int64_t cells, more, any;
    const int64_t most = moved_at(p, INT32_MAX, &more, &cells);
    *rest = 0;
    if (cells == 0) return 0;
    if (most <= amount) return INT32_MAX;

    // Enough for every cell to get its even part, not enough for all to get all they can; often the even part is the answer.
    int64_t low = amount / cells, high = INT32_MAX, sum = moved_at(p, low, &more, &any);
    while (sum + more <= amount && high - low > 1) {
        const int64_t probe = low + (high - low) / 2;
        int64_t more_there;
        const int64_t there = moved_at(p, probe, &more_there, &any);
        if (there > amount) {
            high = probe;
            continue;
        }
        low = probe;
        sum = there;
        more = more_there;
    }
    *rest = amount - sum;
    return low;
}

void cells_pour(fluid_cells *c, const world_edit *edit)
{
    weir_world *world = c->world;
    brick_pool *pool = &c->pool;
    const int32_t unit = world->solver->unit;
    pour p = {.cells = c, .box = edit->place.box, .sign = edit->amount < 0 ? -1 : 1, .material = edit->material};
    p.most = (int32_t)(solver_fill_max(world) * WEIR_FULL);
    cells_view(c, false, &p.view);
    region_fetch(&p.view, p.box);
    int64_t rest, level = find_level(&p, p.sign * edit->amount / unit, &rest);
    brick_mask mask;
    int32_t room[BRICK_CELLS];
    uint8_t room_of_materials[BRICK_CELLS];
    const bool several = c->store && c->store->move;
    region_walk walk = region_walk_ordered(&p.view, p.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_box_mask(p.box, pool->coord[brick], &mask)) continue;
        bricks_write(pool, brick);
        int32_t *mass = cells_drops(c, pool, brick, room);
        uint8_t *materials = cells_materials(c, brick, room_of_materials);
        bool moved = false;
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = mask.plane[z] & pool->open[brick].plane[z]; left;) {
                int32_t cell = region_take(&left) + 64 * z;
                int32_t most = capacity(&p, brick, cell, mass[cell], materials);
                int32_t part = most < level ? most : (int32_t)level;
                if (most > level && rest > 0) part++, rest--;
                if (part == 0) continue;
                moved = true;
                if (several) {
                    c->store->move(c, brick, cell, p.sign < 0 ? WEIR_NOTHING : p.material, part);
                    continue;
                }
                const weir_material of = p.sign > 0 ? p.material : materials ? materials[cell] : c->material;
                mass[cell] += p.sign * part * unit;
                cells_book(c, of, (int64_t)p.sign * part * unit);
                if (materials) materials[cell] = (uint8_t)(mass[cell] > 0 ? of : WEIR_NOTHING);
            }
        }
        if (!moved) continue;
        if (!several) cells_put_drops(c, pool, brick, mass, materials);
        cells_count_brick(c, pool, brick);
        cells_flags(c)[brick] = world->change;
    }
}
