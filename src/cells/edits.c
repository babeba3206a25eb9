// Edits of fluid in cells: fills, flow, the channels of rules, and what a change of terrain does to the fluid.
#include "cells/cells.h"

#include <assert.h>

// ---- Faces -----------------------------------------------------------------------------------------------------------------

// The flow through a cell's face on one side of an axis. The lower face is the cell's own, the upper one belongs to the next
// cell; NULL if that one lies in a brick that is not there.
static float *face(const fluid_cells *c, int32_t brick, int32_t cell, int32_t axis, int32_t side)
{
    const brick_pool *pool = &c->pool;
    if (side > 0) brick = fluid_step((const int32_t(*)[27])pool->near, brick, cell, axis, side, &cell);
    if (brick == BRICK_NOTHING) return NULL;
    bricks_write(pool, brick);
    return bricks_floats(pool, c->layout->flow + axis, brick) + cell;
}

// The drops in the cell next to one.
static int32_t neighbour_drops(const fluid_cells *c, const fluid_view *view, int32_t brick, int32_t cell, int32_t axis,
                               int32_t side)
{
    int32_t next, there = fluid_step(view->near, brick, cell, axis, side, &next);
    bricks_read(&c->pool, there);
    return fluid_drops_at(view, there, next);
}

// ---- Fills -----------------------------------------------------------------------------------------------------------------

int32_t cells_whole_units(const fluid_cells *c, int32_t drops)
{
    const int32_t unit = c->world->solver->unit;
    return unit == 1 ? drops : (int32_t)(((int64_t)drops + unit / 2) / unit * unit);
}

typedef struct fill_request {
    const fluid_cells *cells;
    const world_edit *edit;
} fill_request;

// Whether fluid is to be put into a brick.
static bool brick_gets_fluid(const void *context, weir_coord brick)
{
    const fill_request *request = context;
    brick_mask mask;
    if (!region_mask(&request->edit->place, brick, &mask)) return false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = mask.plane[z]; left;) {
            const weir_coord cell = brick_cell(brick, region_take(&left) + 64 * z);
            if (cells_whole_units(request->cells, edit_drops(request->edit, cell)) > 0) return true;
        }
    }
    return false;
}

int32_t cells_wanted(const fluid_cells *c, const world_edit *edit, int32_t brick, int32_t cell)
{
    const int32_t drops = cells_whole_units(c, edit_drops(edit, brick_cell(c->pool.coord[brick], cell)));
    const int32_t full = cells_full(c, brick, cell);
    return drops > full && drops <= WEIR_FULL ? full : drops;
}

// Brings the cells of a mask to the drops that they are to have.
static void fill_brick(fluid_cells *c, int32_t brick, const brick_mask *mask, const world_edit *edit)
{
    brick_pool *pool = &c->pool;
    weir_world *world = c->world;
    bricks_write(pool, brick);
    int32_t room[BRICK_CELLS], *mass = cells_drops(c, pool, brick, room);
    uint8_t room_of_materials[BRICK_CELLS], *materials = cells_materials(c, brick, room_of_materials);
    float *pressure = c->layout->pressure == CHANNEL_NONE ? NULL : bricks_floats(pool, c->layout->pressure, brick);
    bool touched = false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = mask->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            const int32_t drops = cells_wanted(c, edit, brick, cell);
            const weir_material had = materials ? materials[cell] : mass[cell] > 0 ? c->material : WEIR_NOTHING;
            // Fills of their own are of what is there.
            const weir_material gets = drops == 0 ? WEIR_NOTHING : edit->values && had ? had : edit->material;
            if (drops == mass[cell] && gets == had) continue;
            if (had && had != gets) cells_book(c, had, -mass[cell]);
            if (gets) cells_book(c, gets, drops - (had == gets ? mass[cell] : 0));
            if (materials) materials[cell] = (uint8_t)gets;
            mass[cell] = drops;
            if (drops == 0 && pressure) pressure[cell] = 0;
            touched = true;
        }
    }
    if (!touched) return;
    cells_put_drops(c, pool, brick, mass, materials);
    cells_count_brick(c, pool, brick);
    pool->changed[brick] = world->change;
}

// Flow between two dry cells is nothing's flow. Left behind by a drain, it would move the next fluid that is put there.
static void stop_dry_flow(fluid_cells *c, const fluid_view *view, int32_t brick, const brick_mask *mask)
{
    const brick_pool *pool = &c->pool;
    bricks_read(pool, brick);
    int32_t room[BRICK_CELLS];
    const int32_t *mass = cells_drops(c, pool, brick, room);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = mask->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            if (mass[cell] != 0) continue;
            for (int32_t way = 0; way < 6; way++) {
                int32_t axis = way >> 1, side = way & 1 ? 1 : -1;
                float *flow = face(c, brick, cell, axis, side);
                if (flow && neighbour_drops(c, view, brick, cell, axis, side) == 0) *flow = 0;
            }
        }
    }
}

static bool fills_all(const fluid_cells *c, const world_edit *edit)
{
    return !edit->values && edit->surface.up == 0 && cells_whole_units(c, edit->drops) > 0;
}

static void apply_fill(fluid_cells *c, const world_edit *edit)
{
    fluid_view view;
    brick_mask mask;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (region_mask(&edit->place, view.coord[brick], &mask)) fill_brick(c, brick, &mask, edit);
    if (fills_all(c, edit) || c->layout->flow == CHANNEL_NONE) return;

    walk = region_walk_live(&view, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (region_mask(&edit->place, view.coord[brick], &mask)) stop_dry_flow(c, &view, brick, &mask);
}

// ---- Flow ------------------------------------------------------------------------------------------------------------------

// As a channel has it: how far a flow of 1 moves depends on the solver.
static void wanted_flow(const fluid_cells *c, const world_edit *edit, weir_coord cell, float parts[3])
{
    const float speed = c->world->solver->speed;
    const weir_vec flow = edit_flow(edit, cell);
    parts[0] = flow.x / speed + 0.0f;
    parts[1] = flow.y / speed + 0.0f;
    parts[2] = flow.z / speed + 0.0f;
}

// The flow of a cell's fluid is that of its faces, so each wet cell sets all six. Those that lead into terrain stay shut, and one between
// two wet cells of the region gets the mean of what they are to have.
static void flow_brick(fluid_cells *c, const fluid_view *view, int32_t brick, const brick_mask *mask, const world_edit *edit)
{
    brick_pool *pool = &c->pool;
    bricks_read(pool, brick);
    int32_t room[BRICK_CELLS];
    const int32_t *mass = cells_drops(c, pool, brick, room);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = mask->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            if (mass[cell] == 0) continue;
            const weir_coord here = brick_cell(pool->coord[brick], cell);
            float flow[3];
            wanted_flow(c, edit, here, flow);
            for (int32_t way = 0; way < 6; way++) {
                int32_t axis = way >> 1, side = way & 1 ? 1 : -1, next;
                int32_t there = fluid_step(view->near, brick, cell, axis, side, &next);
                float *place = face(c, brick, cell, axis, side), value = flow[axis];
                if (!place) continue;
                weir_coord neighbour = here;
                *(axis == 0 ? &neighbour.x : axis == 1 ? &neighbour.y : &neighbour.z) += side;
                if (edit->values && region_holds(edit->place.box, neighbour)) {
                    float other[3];
                    wanted_flow(c, edit, neighbour, other);
                    if (neighbour_drops(c, view, brick, cell, axis, side) > 0) value = 0.5f * (value + other[axis]);
                }
                *place = mask_has(&pool->open[there], next) ? value : 0;
            }
            pool->changed[brick] = c->world->change;
        }
    }
}

static void apply_flow(fluid_cells *c, const world_edit *edit)
{
    fluid_view view;
    brick_mask mask;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;)
        if (region_mask(&edit->place, view.coord[brick], &mask)) flow_brick(c, &view, brick, &mask, edit);
}

// ---- Channels of rules -----------------------------------------------------------------------------------------------------

static void apply_channel(fluid_cells *c, const world_edit *edit)
{
    brick_pool *pool = &c->pool;
    fluid_view view;
    brick_mask mask;
    cells_view(c, false, &view);
    region_walk walk = region_walk_live(&view, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_mask(&edit->place, pool->coord[brick], &mask)) continue;
        bricks_write(pool, brick);
        float *values = bricks_floats(pool, edit->channel, brick);
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = mask.plane[z] & pool->open[brick].plane[z]; left;)
                values[region_take(&left) + 64 * z] = edit->value;
        }
        pool->changed[brick] = c->world->change;
    }
}

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

// Cells that have become solid give their fluid to the account and keep nothing that an update could read.
static void shut_cells(fluid_cells *c, int32_t brick, const brick_mask *shut)
{
    brick_pool *pool = &c->pool;
    int32_t channels[CHANNEL_MAX], count = cells_state_channels(c, channels);
    int32_t room[BRICK_CELLS];
    bricks_write(pool, brick);
    const int32_t *mass = cells_drops(c, pool, brick, room);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = shut->plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            cells_ledger(c)->removed += mass[cell];
            for (int32_t i = 0; i < count; i++) {
                const size_t bytes = pool->channel_bytes[channels[i]];
                memset((char *)bricks_values(pool, channels[i], brick) + (size_t)cell * bytes, 0, bytes);
            }
            for (int32_t axis = 0; axis < 3 && c->layout->flow != CHANNEL_NONE; axis++) {
                float *above = face(c, brick, cell, axis, 1);  // that below is the cell's own
                if (above) *above = 0;
            }
        }
    }
}

// Looks again at which cells of a brick are open, and shuts those that no longer are.
static void refresh_brick(fluid_cells *c, weir_coord coord)
{
    brick_pool *pool = &c->pool;
    int32_t brick = bricks_find(pool, coord);
    brick_mask shut = pool->open[brick];
    cells_terrain_changed_brick(c, coord);
    if (brick == BRICK_NOTHING) {
        // It cannot tell of its change itself, and a surface beside it changes with it.
        for (int32_t k = 0; k < 27; k++) {
            int32_t neighbour = bricks_find(pool, brick_neighbour(coord, k));
            if (neighbour) pool->changed[neighbour] = c->world->change;
        }
        return;
    }
    for (int32_t z = 0; z < BRICK_EDGE; z++) shut.plane[z] &= ~pool->open[brick].plane[z];
    if (!mask_empty(&shut)) shut_cells(c, brick, &shut);
    cells_count_brick(c, pool, brick);
    pool->changed[brick] = c->world->change;
}

void cells_terrain_changed(void *state, weir_box bricks)
{
    fluid_cells *c = state;
    brick_pool *pool = &c->pool;
    pool->topology_dirty = true;
    if (region_volume(bricks) <= pool->live) {
        for (weir_coord at = {0, 0, bricks.min.z}; at.z < bricks.max.z; at.z++)
            for (at.y = bricks.min.y; at.y < bricks.max.y; at.y++)
                for (at.x = bricks.min.x; at.x < bricks.max.x; at.x++) refresh_brick(c, at);
        return;
    }
    // A brick of the box that was solid throughout is not there to be asked; its live neighbours must look for it again.
    const weir_box around = {{bricks.min.x - 1, bricks.min.y - 1, bricks.min.z - 1},
                             {bricks.max.x + 1, bricks.max.y + 1, bricks.max.z + 1}};
    for (int32_t brick = 1; brick < pool->end; brick++) {
        if (!pool->alive[brick] || !region_holds(around, pool->coord[brick])) continue;
        pool->closed[brick] = 0;
        refresh_brick(c, pool->coord[brick]);
    }
}

// ---- For the table ---------------------------------------------------------------------------------------------------------

weir_status cells_prepare(void *state, const world_edit *edit)
{
    fluid_cells *c = state;
    switch (edit->kind) {
    case EDIT_FILL:
        if (fills_all(c, edit)) return cells_touch(c, edit->place.box);
        return edit->values || edit->surface.up != 0
                   ? cells_touch_some(c, edit->place.box, brick_gets_fluid, &(fill_request){c, edit})
                   : WEIR_OK;
    case EDIT_FLOW:
        // Fluid that was just filled in has no neighbour bricks yet, and so no upper faces at the rim of its own.
        return cells_topology(c);
    default: return WEIR_OK;
    }
}

void cells_apply(void *state, const world_edit *edit)
{
    fluid_cells *c = state;
    switch (edit->kind) {
    case EDIT_FILL: apply_fill(c, edit); break;
    case EDIT_FLOW: apply_flow(c, edit); break;
    case EDIT_CHANNEL: apply_channel(c, edit); break;
    case EDIT_POUR: cells_pour(c, edit); break;
    case EDIT_KEEP: cells_keep(c, edit); break;
    default: assert(!"an edit that is not for a solver");
    }
}
