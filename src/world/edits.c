// Edits: what a game does to its world between updates.
//
// Every edit becomes a world_edit whose arguments have been checked and whose region has been cut to the world. It is applied
// at once, or waits in the queue while a background step runs. Applying has two halves: first everything that can fail (bricks,
// copies of terrain), then the change itself, which cannot. So an edit that fails has changed nothing.
#include "world/edits.h"
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Arguments -------------------------------------------------------------------------------------------------------------

// Whether the square of a length can be reckoned with, which no world comes near.
static bool is_length(double length)
{
    return fabs(length) < 1e100;
}

static weir_status place_outside(const weir_world *world, weir_box b)
{
    weir_coord min = {-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT};
    weir_coord max = {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT};
    if (world->terrain.bounded) min = world->terrain.bounds.min, max = world->terrain.bounds.max;
    return status_fail(WEIR_ERROR_OUTSIDE,
                       "the cells (%d, %d, %d) to (%d, %d, %d) lie outside the world, which is (%d, %d, %d) to (%d, %d, %d)",
                       b.min.x, b.min.y, b.min.z, b.max.x, b.max.y, b.max.z, min.x, min.y, min.z, max.x, max.y, max.z);
}

weir_status edit_place_box(const weir_world *world, weir_box box, region *place)
{
    if (box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z) {
        return status_fail(WEIR_ERROR_ARGUMENT, "the box (%d, %d, %d) to (%d, %d, %d) holds no cell; min must be below max",
                           box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    }
    *place = (region){.box = box};
    return world_clip(world, &place->box) ? WEIR_OK : place_outside(world, box);
}

weir_status edit_place_values(const weir_world *world, weir_box box, const void *values, size_t value_bytes, world_edit *edit)
{
    weir_status status = edit_place_box(world, box, &edit->place);
    if (status != WEIR_OK) return status;
    if (region_volume(box) > (double)(SIZE_MAX / 2 / value_bytes))
        return status_fail(WEIR_ERROR_LIMIT, "the box has %.0f cells, more than an array can hold", region_volume(box));
    edit->values = values;
    edit->value_bytes = value_bytes;
    edit->whole = box;
    return WEIR_OK;
}

// The cell in which a coordinate lies; one just outside the world for what an int32 could not say.
static int32_t cell_at(double coordinate)
{
    double cell = floor(coordinate);
    if (cell < -WEIR_COORD_LIMIT - 1) return -WEIR_COORD_LIMIT - 1;
    return cell > WEIR_COORD_LIMIT + 1 ? WEIR_COORD_LIMIT + 1 : (int32_t)cell;
}

static weir_status place_sphere(const weir_world *world, weir_sphere sphere, region *place)
{
    weir_point c = sphere.centre;
    double r = sphere.radius;
    if (!is_length(c.x) || !is_length(c.y) || !is_length(c.z))
        return status_fail(WEIR_ERROR_ARGUMENT, "the sphere's centre (%g, %g, %g) is not a place", c.x, c.y, c.z);
    if (!(r > 0) || !is_length(r)) return status_fail(WEIR_ERROR_ARGUMENT, "the sphere's radius is %g; it must be above 0", r);
    weir_box box = {{cell_at(c.x - r), cell_at(c.y - r), cell_at(c.z - r)},
                    {cell_at(c.x + r) + 1, cell_at(c.y + r) + 1, cell_at(c.z + r) + 1}};
    *place = (region){.box = box, .round = true, .sphere = sphere};
    return world_clip(world, &place->box) ? WEIR_OK : place_outside(world, box);
}

weir_status edit_check_fill(weir_material material, float fill)
{
    if (!(fill >= 0 && fill <= 1)) return status_fail(WEIR_ERROR_ARGUMENT, "fill is %g; it must be a number from 0 to 1", fill);
    if (fill > 0 && material != WEIR_WATER) {
        return status_fail(WEIR_ERROR_ARGUMENT, "material %d cannot be filled in; there is only water (%d)", (int)material,
                           WEIR_WATER);
    }
    return WEIR_OK;
}

weir_status edit_check_vec(const char *what, weir_vec v, float limit)
{
    const char *axes = "xyz";
    float parts[3] = {v.x, v.y, v.z};
    for (int32_t i = 0; i < 3; i++) {
        if (parts[i] >= -limit && parts[i] <= limit) continue;
        return status_fail(WEIR_ERROR_ARGUMENT, "%s.%c is %g; it must be a number from %g to %g", what, axes[i], parts[i],
                           -limit, limit);
    }
    return WEIR_OK;
}

// ---- Faces -----------------------------------------------------------------------------------------------------------------

// The flow through a cell's face on one side of an axis. The lower face is the cell's own, the upper one belongs to the next
// cell; NULL if that one lies in a brick that is not there.
static float *face(const brick_pool *pool, int32_t brick, int32_t cell, int32_t axis, int32_t side)
{
    if (side > 0) brick = region_step(pool, brick, cell, axis, side, &cell);
    if (brick == BRICK_NOTHING) return NULL;
    bricks_write(pool, brick);
    return bricks_floats(pool, CHANNEL_FLOW_X + axis, brick) + cell;
}

// ---- One value per cell ----------------------------------------------------------------------------------------------------

// To the nearest drop. As a double: a float above 2 cannot have a half of one added.
static int32_t drops_of(float fill)
{
    return (int32_t)((double)fill * WEIR_FULL + 0.5);
}

static int32_t wanted_drops(const world_edit *edit, weir_coord cell)
{
    if (!edit->values) return edit->drops;
    const float *fills = edit->values;
    return drops_of(fills[region_index(edit->whole, cell)]);
}

static uint8_t wanted_share(const world_edit *edit, weir_coord cell)
{
    const uint8_t *shares = edit->values;
    return shares[region_index(edit->whole, cell)];
}

// As a channel has it: how far a flow of 1 moves depends on the solver.
static void wanted_flow(const weir_world *world, const world_edit *edit, weir_coord cell, float parts[3])
{
    weir_vec flow = edit->flow;
    if (edit->values) {
        const weir_vec *flows = edit->values;
        float speed = world->solver->speed;
        flow = flows[region_index(edit->whole, cell)];
        flow = (weir_vec){flow.x / speed + 0.0f, flow.y / speed + 0.0f, flow.z / speed + 0.0f};
    }
    parts[0] = flow.x;
    parts[1] = flow.y;
    parts[2] = flow.z;
}

// Whether water is to be put into a brick.
static bool brick_gets_water(const void *context, weir_coord brick)
{
    const world_edit *edit = context;
    brick_mask cells;
    if (!region_mask(&edit->place, brick, &cells)) return false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells.plane[z]; left;)
            if (wanted_drops(edit, brick_cell(brick, region_take(&left) + 64 * z)) > 0) return true;
    }
    return false;
}

// ---- Water -----------------------------------------------------------------------------------------------------------------

// Brings the cells of a mask to the drops that they are to have.
static void fill_brick(weir_world *world, int32_t brick, const brick_mask *cells, const world_edit *edit)
{
    brick_pool *pool = &world->bricks;
    bricks_write(pool, brick);
    int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    float *pressure = bricks_floats(pool, CHANNEL_PRESSURE, brick);
    bool touched = false;
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            int32_t drops = wanted_drops(edit, brick_cell(pool->coord[brick], cell)), more = drops - mass[cell];
            if (more == 0) continue;
            if (more > 0)
                world->added += more;
            else
                world->removed -= more;
            mass[cell] = drops;
            if (drops == 0) pressure[cell] = 0;
            touched = true;
        }
    }
    if (!touched) return;
    world_count_brick(pool, brick);
    pool->changed[brick] = world->change;
}

// Flow between two dry cells is nothing's flow. Left behind by a drain, it would move the next water that is put there.
static void still_brick(weir_world *world, int32_t brick, const brick_mask *cells)
{
    const brick_pool *pool = &world->bricks;
    bricks_read(pool, brick);
    const int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            if (mass[cell] != 0) continue;
            for (int32_t way = 0; way < 6; way++) {
                int32_t axis = way >> 1, side = way & 1 ? 1 : -1, next;
                int32_t there = region_step(pool, brick, cell, axis, side, &next);
                float *flow = face(pool, brick, cell, axis, side);
                bricks_read(pool, there);
                if (flow && bricks_ints(pool, CHANNEL_MASS, there)[next] == 0) *flow = 0;
            }
        }
    }
}

static weir_status apply_fill(weir_world *world, const world_edit *edit)
{
    const bool all_wet = !edit->values && edit->drops > 0;
    weir_status status = WEIR_OK;
    if (all_wet)
        status = world_touch(world, edit->place.box);
    else if (edit->values)
        status = world_touch_some(world, edit->place.box, brick_gets_water, edit);
    if (status != WEIR_OK) return status;
    world->change++;
    brick_mask cells;
    region_walk walk = region_walk_live(&world->bricks, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (region_mask(&edit->place, world->bricks.coord[brick], &cells)) fill_brick(world, brick, &cells, edit);
    }
    if (all_wet) return WEIR_OK;

    walk = region_walk_live(&world->bricks, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (region_mask(&edit->place, world->bricks.coord[brick], &cells)) still_brick(world, brick, &cells);
    }
    return WEIR_OK;
}

// The flow of a cell's water is that of its faces, so each wet cell sets all six. Those that lead into terrain stay shut, and one between
// two wet cells of the region gets the mean of what they are to have.
static void flow_brick(weir_world *world, int32_t brick, const brick_mask *cells, const world_edit *edit)
{
    brick_pool *pool = &world->bricks;
    bricks_read(pool, brick);
    const int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z] & pool->open[brick].plane[z]; left;) {
            int32_t cell = region_take(&left) + 64 * z;
            if (mass[cell] == 0) continue;
            const weir_coord here = brick_cell(pool->coord[brick], cell);
            float flow[3];
            wanted_flow(world, edit, here, flow);
            for (int32_t way = 0; way < 6; way++) {
                int32_t axis = way >> 1, side = way & 1 ? 1 : -1, next;
                int32_t there = region_step(pool, brick, cell, axis, side, &next);
                float *place = face(pool, brick, cell, axis, side), value = flow[axis];
                if (!place) continue;
                weir_coord beside = here;
                *(axis == 0 ? &beside.x : axis == 1 ? &beside.y : &beside.z) += side;
                if (edit->values && region_holds(edit->place.box, beside)) {
                    bricks_read(pool, there);
                    float other[3];
                    wanted_flow(world, edit, beside, other);
                    if (bricks_ints(pool, CHANNEL_MASS, there)[next] > 0) value = 0.5f * (value + other[axis]);
                }
                *place = mask_has(&pool->open[there], next) ? value : 0;
            }
            pool->changed[brick] = world->change;
        }
    }
}

static weir_status apply_flow(weir_world *world, const world_edit *edit)
{
    // Water that was just filled in has no neighbour bricks yet, and so no upper faces at the rim of its own.
    weir_status status = world_topology(world);
    if (status != WEIR_OK) return status;
    world->change++;
    brick_mask cells;
    region_walk walk = region_walk_live(&world->bricks, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (region_mask(&edit->place, world->bricks.coord[brick], &cells)) flow_brick(world, brick, &cells, edit);
    }
    return WEIR_OK;
}

static weir_status apply_channel(weir_world *world, const world_edit *edit)
{
    brick_pool *pool = &world->bricks;
    world->change++;
    brick_mask cells;
    region_walk walk = region_walk_live(pool, edit->place.box);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (!region_mask(&edit->place, pool->coord[brick], &cells)) continue;
        bricks_write(pool, brick);
        float *values = bricks_floats(pool, edit->channel, brick);
        for (int32_t z = 0; z < BRICK_EDGE; z++) {
            for (uint64_t left = cells.plane[z] & pool->open[brick].plane[z]; left;)
                values[region_take(&left) + 64 * z] = edit->value;
        }
        pool->changed[brick] = world->change;
    }
    return WEIR_OK;
}

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

// A cell that has become solid gives its water to the account and keeps nothing that an update could read.
static void shut_cell(weir_world *world, int32_t brick, int32_t cell)
{
    brick_pool *pool = &world->bricks;
    bricks_write(pool, brick);
    int32_t *mass = bricks_ints(pool, CHANNEL_MASS, brick);
    world->removed += mass[cell];
    mass[cell] = 0;
    bricks_floats(pool, CHANNEL_PRESSURE, brick)[cell] = 0;
    for (int32_t r = 0; r < world->rule_count; r++) {
        const world_rule *rule = &world->rules[r];
        for (int32_t i = 0; i < rule->def.channel_count; i++) bricks_floats(pool, rule->values[i], brick)[cell] = 0;
    }
    for (int32_t way = 0; way < 6; way++) {
        float *flow = face(pool, brick, cell, way >> 1, way & 1 ? 1 : -1);
        if (flow) *flow = 0;
    }
}

// Looks again at which cells of a brick are open, and shuts those that no longer are.
static void refresh_brick(weir_world *world, weir_coord coord)
{
    brick_pool *pool = &world->bricks;
    int32_t brick = bricks_find(pool, coord);
    brick_mask before = pool->open[brick];
    world_terrain_changed_brick(world, coord);
    if (brick == BRICK_NOTHING) {
        // It cannot tell of its change itself, and a surface beside it changes with it.
        for (int32_t k = 0; k < 27; k++) {
            int32_t neighbour = bricks_find(pool, brick_neighbour(coord, k));
            if (neighbour) pool->changed[neighbour] = world->change;
        }
        return;
    }
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = before.plane[z] & ~pool->open[brick].plane[z]; left;) {
            shut_cell(world, brick, region_take(&left) + 64 * z);
        }
    }
    world_count_brick(pool, brick);
    pool->changed[brick] = world->change;
}

// The brick after one, x fastest; false past the last.
static bool next_brick(weir_box bricks, weir_coord *at)
{
    if (++at->x == bricks.max.x) at->x = bricks.min.x, at->y++;
    if (at->y == bricks.max.y) at->y = bricks.min.y, at->z++;
    return at->z < bricks.max.z;
}

static weir_status prepare_terrain(weir_world *world, const region *place)
{
    weir_box bricks = region_bricks(place->box);
    brick_mask cells;
    weir_coord at = bricks.min;
    do {
        if (!region_mask(place, at, &cells)) continue;
        weir_status status = terrain_prepare(&world->terrain, at);
        if (status == WEIR_OK) continue;
        weir_coord done = bricks.min;
        do terrain_tidy(&world->terrain, done);
        while (next_brick(bricks, &done) && (done.x != at.x || done.y != at.y || done.z != at.z));
        return status;
    } while (next_brick(bricks, &at));
    return WEIR_OK;
}

static void shape_cells(const world_edit *edit, weir_coord brick, const brick_mask *cells, uint8_t *shares)
{
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells->plane[z]; left;) {
            int32_t i = region_take(&left);
            uint8_t share = edit->values ? wanted_share(edit, brick_cell(brick, i + 64 * z)) : edit->share;
            if (share > 0 || !edit->values) shares[i + 64 * z] = share;
        }
    }
}

static weir_status apply_shape(weir_world *world, const world_edit *edit)
{
    weir_status status = prepare_terrain(world, &edit->place);
    if (status != WEIR_OK) return status;
    world->change++;
    brick_mask cells;
    weir_box bricks = region_bricks(edit->place.box);
    weir_coord at = bricks.min;
    do {
        if (!region_mask(&edit->place, at, &cells)) continue;
        shape_cells(edit, at, &cells, terrain_write(&world->terrain, at));
        terrain_tidy(&world->terrain, at);
        refresh_brick(world, at);
    } while (next_brick(bricks, &at));
    return WEIR_OK;
}

static weir_status apply_ask(weir_world *world, const world_edit *edit)
{
    world->change++;
    brick_pool *pool = &world->bricks;
    // A brick of the box that was solid throughout is not there to be asked; its live neighbours must look for it again.
    weir_box around = edit->place.box;
    around.min = (weir_coord){around.min.x - BRICK_EDGE, around.min.y - BRICK_EDGE, around.min.z - BRICK_EDGE};
    around.max = (weir_coord){around.max.x + BRICK_EDGE, around.max.y + BRICK_EDGE, around.max.z + BRICK_EDGE};
    region_walk walk = region_walk_live(pool, around);
    for (int32_t brick; (brick = region_walk_next(&walk)) != BRICK_NOTHING;) {
        pool->closed[brick] = 0;
        refresh_brick(world, pool->coord[brick]);
    }
    pool->unsettled = true;
    return WEIR_OK;
}

// ---- Now or later ----------------------------------------------------------------------------------------------------------

// Brings the bricks here that an edit looks at, many at a time: those of its region and what lies next to them.
static weir_status bring_region(weir_world *world, const world_edit *edit)
{
    if (world->lost[0]) return world_lost(world);
    int32_t rim = edit->kind == EDIT_ASK ? BRICK_EDGE + 1 : 1;
    weir_box box = edit->place.box;
    if (edit_of_source(edit->kind)) return WEIR_OK;
    box.min = (weir_coord){box.min.x - rim, box.min.y - rim, box.min.z - rim};
    box.max = (weir_coord){box.max.x + rim, box.max.y + rim, box.max.z + rim};
    region_bring(&world->bricks, box);
    return world_check(world) ? WEIR_OK : world_lost(world);
}

static weir_status change(weir_world *world, const world_edit *edit)
{
    switch (edit->kind) {
    case EDIT_FILL: return apply_fill(world, edit);
    case EDIT_SHAPE: return apply_shape(world, edit);
    case EDIT_ASK: return apply_ask(world, edit);
    case EDIT_FLOW: return apply_flow(world, edit);
    case EDIT_CHANNEL: return apply_channel(world, edit);
    case EDIT_ADD:
    case EDIT_REMOVE:
    case EDIT_MOVE:
    case EDIT_RATE:
    case EDIT_FORCE: return edit_apply_source(world, edit);
    }
    return WEIR_OK;
}

static weir_status apply(weir_world *world, const world_edit *edit)
{
    weir_status status = bring_region(world, edit);
    if (status != WEIR_OK) return status;
    status = change(world, edit);
    world_check_change(world);
    return status;
}

// What no world could hold is refused at the call, also if it would only be applied later.
static weir_status check_size(const world_edit *edit)
{
    if (edit->kind == EDIT_FILL && (edit->values || edit->drops > 0)) return world_check_touch(edit->place.box);
    const double bricks = region_volume(region_bricks(edit->place.box));
    if (edit->kind != EDIT_SHAPE || bricks <= BRICK_MAX) return WEIR_OK;
    return status_fail(WEIR_ERROR_LIMIT,
                       "the region covers %.0f bricks of 8 x 8 x 8 cells; terrain can be changed in %d at once", bricks,
                       BRICK_MAX);
}

// The queue is not in the world's memory: that belongs to the background step for as long as the queue is in use.
static weir_status enqueue(weir_world *world, const world_edit *edit)
{
    if (world->queue_count == world->queue_room) {
        int32_t room = world->queue_room ? 2 * world->queue_room : 16;
        world_edit *grown = room > 0 ? realloc(world->queue, (size_t)room * sizeof *grown) : NULL;
        if (!grown) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d waiting edits", world->queue_count + 1);
        world->queue = grown;
        world->queue_room = room;
    }
    world_edit waiting = *edit;
    if (edit->values) {
        size_t size = (size_t)region_volume(edit->whole) * edit->value_bytes;
        waiting.values = waiting.kept = malloc(size);
        if (!waiting.kept) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %zu bytes of an edit that waits", size);
        memcpy(waiting.kept, edit->values, size);
    }
    world->queue[world->queue_count++] = waiting;
    return WEIR_OK;
}

weir_status edit_submit(weir_world *world, const world_edit *edit)
{
    weir_status status = check_size(edit);
    if (status != WEIR_OK) return status;
    return world->busy ? enqueue(world, edit) : apply(world, edit);
}

// ---- The queue -------------------------------------------------------------------------------------------------------------

// The function of the public face that makes such an edit.
static const char *edit_call(const world_edit *edit)
{
    const bool round = edit->place.round;
    switch (edit->kind) {
    case EDIT_FILL:
        if (edit->values) return "weir_world_write_fill";
        if (edit->drops > 0) return round ? "weir_world_fill_sphere" : "weir_world_fill";
        return round ? "weir_world_fill_sphere or _drain_sphere" : "weir_world_fill or _drain";
    case EDIT_SHAPE:
        if (edit->values) return "weir_world_build_shares";
        if (edit->share > 0) return round ? "weir_world_build_sphere" : "weir_world_build";
        return round ? "weir_world_dig_sphere" : "weir_world_dig";
    case EDIT_ASK: return "weir_terrain_changed";
    case EDIT_FLOW: return edit->values ? "weir_world_write_flow" : "weir_world_set_flow";
    case EDIT_CHANNEL: return "weir_world_set_channel";
    case EDIT_ADD:
        if (edit->source.kind == SOURCE_FORCE) return "weir_world_add_force";
        return edit->source.kind == SOURCE_DRAIN ? "weir_world_add_drain" : "weir_world_add_emitter";
    case EDIT_REMOVE: return "weir_world_remove";
    case EDIT_MOVE: return "weir_world_move_source";
    case EDIT_RATE: return "weir_world_set_rate";
    case EDIT_FORCE: return "weir_world_set_force";
    }
    return "an edit";
}

// Puts which edit it was in front of the sentence of its failure.
static void fail_queued(const weir_world *world, int32_t index, weir_status status)
{
    const world_edit *edit = &world->queue[index];
    const weir_box b = edit->place.box;
    char what[128];
    if (edit_of_source(edit->kind))
        snprintf(what, sizeof what, "%d", edit->source.id);
    else
        snprintf(what, sizeof what, "(%d, %d, %d) to (%d, %d, %d)", b.min.x, b.min.y, b.min.z, b.max.x, b.max.y, b.max.z);
    status_fail(status, "edit %d of %d that waited, %s of %s: %s", index + 1, world->queue_count, edit_call(edit), what,
                weir_error_message());
    world_log(world, WEIR_LOG_WARNING, "%s", weir_error_message());
}

weir_status world_apply_queue(weir_world *world)
{
    assert(!world->busy);
    weir_status first = WEIR_OK;
    char sentence[256] = "";
    for (int32_t i = 0; i < world->queue_count; i++) {
        weir_status status = apply(world, &world->queue[i]);
        if (status != WEIR_OK) fail_queued(world, i, status);
        free(world->queue[i].kept);
        if (status == WEIR_OK || first != WEIR_OK) continue;
        first = status;
        strncpy(sentence, weir_error_message(), sizeof sentence - 1);
    }
    world->queue_count = 0;
    // Later failures have written over the first one's sentence.
    return first == WEIR_OK ? WEIR_OK : status_fail(first, "%s", sentence);
}

void world_free_edits(weir_world *world)
{
    for (int32_t i = 0; i < world->queue_count; i++) free(world->queue[i].kept);
    free(world->queue);
    world->queue = NULL;
    world->queue_count = world->queue_room = 0;
    memory_free(&world->mem, world->sources, (size_t)world->source_room * sizeof world->sources[0]);
    world->sources = NULL;
    world->source_count = world->source_room = 0;
}

// ---- The public face -------------------------------------------------------------------------------------------------------

weir_status weir_world_fill(weir_world *world, weir_box box, weir_material material, float fill)
{
    world_edit edit = {.kind = EDIT_FILL};
    weir_status status = edit_check_fill(material, fill);
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    if (status != WEIR_OK) return status;
    edit.drops = drops_of(fill);
    return edit_submit(world, &edit);
}

weir_status weir_world_fill_sphere(weir_world *world, weir_sphere sphere, weir_material material, float fill)
{
    world_edit edit = {.kind = EDIT_FILL};
    weir_status status = edit_check_fill(material, fill);
    if (status == WEIR_OK) status = place_sphere(world, sphere, &edit.place);
    if (status != WEIR_OK) return status;
    edit.drops = drops_of(fill);
    return edit_submit(world, &edit);
}

weir_status weir_world_drain(weir_world *world, weir_box box)
{
    return weir_world_fill(world, box, WEIR_NOTHING, 0);
}

weir_status weir_world_drain_sphere(weir_world *world, weir_sphere sphere)
{
    return weir_world_fill_sphere(world, sphere, WEIR_NOTHING, 0);
}

static weir_status check_shape(const weir_world *world)
{
    if (!world->terrain.source) return WEIR_OK;
    return status_fail(WEIR_ERROR_UNSUPPORTED,
                       "this world's terrain is the game's own: change it there and call weir_terrain_changed");
}

static weir_status shape_box(weir_world *world, weir_box box, uint8_t share)
{
    world_edit edit = {.kind = EDIT_SHAPE, .share = share};
    weir_status status = check_shape(world);
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

static weir_status shape_sphere(weir_world *world, weir_sphere sphere, uint8_t share)
{
    world_edit edit = {.kind = EDIT_SHAPE, .share = share};
    weir_status status = check_shape(world);
    if (status == WEIR_OK) status = place_sphere(world, sphere, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

static weir_status check_share(uint8_t share)
{
    return share > 0 ? WEIR_OK
                     : status_fail(WEIR_ERROR_ARGUMENT, "share is 0; it must be from 1 to 255, and 0 is what dig does");
}

weir_status weir_world_dig(weir_world *world, weir_box box)
{
    return shape_box(world, box, 0);
}

weir_status weir_world_dig_sphere(weir_world *world, weir_sphere sphere)
{
    return shape_sphere(world, sphere, 0);
}

weir_status weir_world_build(weir_world *world, weir_box box, uint8_t share)
{
    weir_status status = check_share(share);
    return status == WEIR_OK ? shape_box(world, box, share) : status;
}

weir_status weir_world_build_shares(weir_world *world, weir_box box, const uint8_t *shares)
{
    assert(shares);
    world_edit edit = {.kind = EDIT_SHAPE};
    weir_status status = check_shape(world);
    if (status == WEIR_OK) status = edit_place_values(world, box, shares, sizeof *shares, &edit);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_build_sphere(weir_world *world, weir_sphere sphere, uint8_t share)
{
    weir_status status = check_share(share);
    return status == WEIR_OK ? shape_sphere(world, sphere, share) : status;
}

weir_status weir_terrain_changed(weir_world *world, weir_box box)
{
    world_edit edit = {.kind = EDIT_ASK};
    weir_status status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_flow(weir_world *world, weir_box box, weir_vec flow)
{
    float speed = world->solver->speed;
    world_edit edit = {.kind = EDIT_FLOW, .flow = {flow.x / speed + 0.0f, flow.y / speed + 0.0f, flow.z / speed + 0.0f}};
    weir_status status = edit_check_vec("flow", flow, solver_flow_max(world));
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_channel(weir_world *world, weir_box box, const char *channel, float value)
{
    assert(channel);
    world_edit edit = {.kind = EDIT_CHANNEL, .value = value + 0.0f, .channel = world_channel(world, channel)};
    if (edit.channel < 0) return status_fail(WEIR_ERROR_ARGUMENT, "no rule of this world has a channel \"%.64s\"", channel);
    if (!isfinite(value))
        return status_fail(WEIR_ERROR_ARGUMENT, "the value for \"%.64s\" is %g; it must be finite", channel, value);
    weir_status status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}
