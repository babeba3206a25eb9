// Edits: what a game does to its world between updates.
//
// Every edit becomes a world_edit whose arguments have been checked and whose region has been cut to the world. It is applied
// at once, or waits in the queue while a background step runs. Applying has two halves: first everything that can fail (bricks,
// copies of terrain), then the change itself, which cannot. So an edit that fails has changed nothing.
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

// What is not there cannot be changed.
static weir_status check_loaded(const weir_world *world, weir_box b)
{
    const absent_set *absent = &world->terrain.absent;
    if (absent->count == 0 || !absent_has_all(absent, region_bricks(b))) return WEIR_OK;
    return status_fail(WEIR_ERROR_OUTSIDE, "the cells (%d, %d, %d) to (%d, %d, %d) lie in a part of the world that is unloaded",
                       b.min.x, b.min.y, b.min.z, b.max.x, b.max.y, b.max.z);
}

weir_status edit_place_box(const weir_world *world, weir_box box, region *place)
{
    if (box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z) {
        return status_fail(WEIR_ERROR_ARGUMENT, "the box (%d, %d, %d) to (%d, %d, %d) holds no cell; min must be below max",
                           box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    }
    *place = (region){.box = box};
    return world_clip(world, &place->box) ? check_loaded(world, place->box) : place_outside(world, box);
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
    if (!(r > 0) || !is_length(r))
        return status_fail(WEIR_ERROR_ARGUMENT, "the sphere's radius is %g; it must be above 0 and below 1e100", r);
    weir_box box = {{cell_at(c.x - r), cell_at(c.y - r), cell_at(c.z - r)},
                    {cell_at(c.x + r) + 1, cell_at(c.y + r) + 1, cell_at(c.z + r) + 1}};
    *place = (region){.box = box, .round = true, .sphere = sphere};
    return world_clip(world, &place->box) ? check_loaded(world, place->box) : place_outside(world, box);
}

static int32_t drops_of(float fill)
{
    return (int32_t)((double)fill * WEIR_FULL + 0.5);
}

weir_status edit_check_fill(const weir_world *world, weir_material material, float fill)
{
    const float most = solver_fill_max(world);
    if (!(fill >= 0 && fill <= most))
        return status_fail(WEIR_ERROR_ARGUMENT, "fill is %g; it must be a number from 0 to %g", (double)fill, (double)most);
    if (fill == 0 || materials_can_hold(world, &world->params, world->materials, world->material_count, material))
        return WEIR_OK;
    if (material <= WEIR_NOTHING || material >= world->material_count)
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no material %d in this world; the last is %d, %s", material,
                           world->material_count - 1, world->materials[world->material_count - 1].name);
    return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s cannot hold %s", world->solver->name,
                       world->materials[material].name);
}

weir_status edit_check_flow(const weir_world *world)
{
    if (world->solver->speed > 0) return WEIR_OK;
    return status_fail(WEIR_ERROR_UNSUPPORTED, "what a world of %s holds has no flow that could be set", world->solver->name);
}

weir_status edit_check_temperature(const weir_world *world, float temperature)
{
    if (!world->solver->warm)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s knows no temperature", world->solver->name);
    if (temperature > 0 && temperature <= WEIR_TEMPERATURE_MAX) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "the temperature is %g; it must be a number above 0, up to %d kelvins",
                       (double)temperature, WEIR_TEMPERATURE_MAX);
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

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

// The brick after one, x fastest; false past the last.
static bool next_brick(weir_box bricks, weir_coord *at)
{
    if (++at->x == bricks.max.x) at->x = bricks.min.x, at->y++;
    if (at->y == bricks.max.y) at->y = bricks.min.y, at->z++;
    return at->z < bricks.max.z;
}

static weir_status prepare_solver(weir_world *world, weir_box bricks)
{
    return world->solver->terrain_prepare ? world->solver->terrain_prepare(world->state, bricks) : WEIR_OK;
}

static weir_status prepare_terrain(weir_world *world, const region *place)
{
    weir_box bricks = region_bricks(place->box);
    const weir_status prepared = prepare_solver(world, bricks);
    if (prepared != WEIR_OK) return prepared;
    brick_mask cells;
    weir_coord at = bricks.min;
    do {
        if (!region_mask(place, at, &cells) || terrain_is_absent(&world->terrain, at)) continue;
        weir_status status = terrain_prepare(&world->terrain, at);
        if (status == WEIR_OK) continue;
        weir_coord done = bricks.min;
        do terrain_tidy(&world->terrain, done);
        while (next_brick(bricks, &done) && (done.x != at.x || done.y != at.y || done.z != at.z));
        return status;
    } while (next_brick(bricks, &at));
    return WEIR_OK;
}

static uint8_t wanted_share(const world_edit *edit, weir_coord cell)
{
    const uint8_t *shares = edit->values;
    return shares[region_index(edit->whole, cell)];
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
        if (!region_mask(&edit->place, at, &cells) || terrain_is_absent(&world->terrain, at)) continue;
        shape_cells(edit, at, &cells, terrain_write(&world->terrain, at));
        terrain_tidy(&world->terrain, at);
        world->solver->terrain_changed(world->state, (weir_box){at, {at.x + 1, at.y + 1, at.z + 1}});
    } while (next_brick(bricks, &at));
    return WEIR_OK;
}

static weir_status apply_terrain_changed(weir_world *world, const world_edit *edit)
{
    const weir_status status = prepare_solver(world, region_bricks(edit->place.box));
    if (status != WEIR_OK) return status;
    world->change++;
    world->solver->terrain_changed(world->state, region_bricks(edit->place.box));
    return WEIR_OK;
}

// ---- Now or later ----------------------------------------------------------------------------------------------------------

// Fetches the bricks that an edit looks at, many at a time: those of its region and what lies next to them.
static weir_status fetch_region(weir_world *world, const world_edit *edit)
{
    if (world->lost[0]) return world_lost(world);
    int32_t rim = edit->kind == EDIT_TERRAIN_CHANGED ? BRICK_EDGE + 1 : 1;
    weir_box box = edit->place.box;
    if (edit_of_source(edit->kind)) return WEIR_OK;
    box.min = (weir_coord){box.min.x - rim, box.min.y - rim, box.min.z - rim};
    box.max = (weir_coord){box.max.x + rim, box.max.y + rim, box.max.z + rim};
    fluid_view view = world_fluid(world);
    region_fetch(&view, box);
    return world_check(world) ? WEIR_OK : world_lost(world);
}

static weir_status change_fluid(weir_world *world, const world_edit *edit)
{
    world->change++;  // bricks may come and go already while it is prepared
    weir_status status = world->solver->prepare(world->state, edit);
    if (status != WEIR_OK) return status;
    world->solver->apply(world->state, edit);
    return WEIR_OK;
}

weir_status edit_change_fluid(weir_world *world, const world_edit *edit)
{
    const weir_status status = fetch_region(world, edit);
    return status == WEIR_OK ? change_fluid(world, edit) : status;
}

static weir_status change(weir_world *world, const world_edit *edit)
{
    if (edit_of_solver(edit->kind)) return change_fluid(world, edit);
    if (edit_of_source(edit->kind)) return edit_apply_source(world, edit);
    return edit->kind == EDIT_SHAPE ? apply_shape(world, edit) : apply_terrain_changed(world, edit);
}

static weir_status apply(weir_world *world, const world_edit *edit)
{
    weir_status status = fetch_region(world, edit);
    if (status != WEIR_OK) return status;
    status = change(world, edit);
    world_check_change(world);
    return status;
}

weir_status edit_check_size(weir_box box)
{
    double volume = region_volume(region_bricks(box));
    if (volume <= BRICKS_TOUCHED_MAX) return WEIR_OK;
    return status_fail(WEIR_ERROR_LIMIT, "the box covers %.0f bricks of 8 x 8 x 8 cells; at most %d can be filled at once",
                       volume, BRICKS_TOUCHED_MAX);
}

// How many bricks with open cells a box that is to be filled has at least. What is solid throughout the terrain keeps, or will when the
// edits that wait are done. A game's own terrain is not asked; nor is looked at what of a sphere or of values gets fluid.
static double least_open(const weir_world *world, const world_edit *edit)
{
    if (world->terrain.source || edit->place.round || edit->values) return 0;
    double open = region_volume(region_bricks(edit->place.box)) - world->terrain.brick_count;
    for (int32_t i = 0; i < world->queue_count; i++)
        if (world->queue[i].kind == EDIT_SHAPE) open -= region_volume(region_bricks(world->queue[i].place.box));
    return open;
}

static weir_status check_fill_size(const weir_world *world, const world_edit *edit)
{
    const double open = least_open(world, edit);
    if (open <= BRICK_MAX) return edit_check_size(edit->place.box);
    return status_fail(WEIR_ERROR_LIMIT, "the box has at least %.0f bricks with open cells; a world holds %d at most", open,
                       BRICK_MAX);
}

// What no world could hold is refused at the call, also if it would only be applied later.
static weir_status check_size(const weir_world *world, const world_edit *edit)
{
    if (edit->kind == EDIT_FILL && (edit->values || edit->drops > 0)) return check_fill_size(world, edit);
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
    weir_status status = check_size(world, edit);
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
    case EDIT_TERRAIN_CHANGED: return "weir_terrain_changed";
    case EDIT_FLOW: return edit->values ? "weir_world_write_flow" : "weir_world_set_flow";
    case EDIT_CHANNEL: return "weir_world_set_channel";
    case EDIT_WARM: return "weir_world_set_temperature";
    case EDIT_ADD:
        if (edit->source.kind == SOURCE_FORCE) return "weir_world_add_force";
        if (edit->source.kind == SOURCE_RESERVOIR) return "weir_world_add_reservoir";
        if (edit->source.kind == SOURCE_HEATER) return "weir_world_add_heater";
        return edit->source.kind == SOURCE_DRAIN ? "weir_world_add_drain" : "weir_world_add_emitter";
    case EDIT_REMOVE: return "weir_world_remove";
    case EDIT_MOVE: return "weir_world_move_source";
    case EDIT_RATE: return "weir_world_set_rate";
    case EDIT_FORCE: return "weir_world_set_force";
    case EDIT_LEVEL: return "weir_world_set_level";
    case EDIT_HEATER: return "weir_world_set_heater";
    case EDIT_POUR:
    case EDIT_KEEP: break;  // by sources alone
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
    char sentence[STATUS_BYTES] = "";
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
    weir_status status = edit_check_fill(world, material, fill);
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    if (status != WEIR_OK) return status;
    edit.material = material;
    edit.drops = drops_of(fill);
    return edit_submit(world, &edit);
}

weir_status weir_world_fill_sphere(weir_world *world, weir_sphere sphere, weir_material material, float fill)
{
    world_edit edit = {.kind = EDIT_FILL};
    weir_status status = edit_check_fill(world, material, fill);
    if (status == WEIR_OK) status = place_sphere(world, sphere, &edit.place);
    if (status != WEIR_OK) return status;
    edit.material = material;
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
    world_edit edit = {.kind = EDIT_TERRAIN_CHANGED};
    weir_status status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_flow(weir_world *world, weir_box box, weir_vec flow)
{
    world_edit edit = {.kind = EDIT_FLOW, .flow = flow};
    weir_status status = edit_check_flow(world);
    if (status == WEIR_OK) status = edit_check_vec("flow", flow, solver_flow_max(world));
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_temperature(weir_world *world, weir_box box, float temperature)
{
    world_edit edit = {.kind = EDIT_WARM, .value = temperature};
    weir_status status = edit_check_temperature(world, temperature);
    if (status == WEIR_OK) status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_channel(weir_world *world, weir_box box, const char *channel, float value)
{
    assert(channel);
    const solver_table *solver = world->solver;
    world_edit edit = {.kind = EDIT_CHANNEL,
                       .value = value + 0.0f,
                       .channel = solver->find_channel ? solver->find_channel(world->state, channel) : -1};
    if (edit.channel < 0) return status_fail(WEIR_ERROR_ARGUMENT, "no rule of this world has a channel \"%.64s\"", channel);
    if (!isfinite(value))
        return status_fail(WEIR_ERROR_ARGUMENT, "the value for \"%.64s\" is %g; it must be finite", channel, value);
    weir_status status = edit_place_box(world, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}
