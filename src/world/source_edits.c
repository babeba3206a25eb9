// Emitters, drains, forces and reservoirs from the outside: added, moved, changed, removed and listed. What they do in an update is in
// sources.c.
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define RATE_MAX 1e6f                    // cells' worth per update of one emitter or drain
#define RATE_UNIT (65536.0 * WEIR_FULL)  // world_source.rate counts 1/65536 drops
#define FORCE_MAX 1.0f

// ---- Applying --------------------------------------------------------------------------------------------------------------

// A reservoir is filled to its level as soon as it is there, moved or given another one.
static weir_status fill_reservoir(weir_world *world, const world_source *source)
{
    if (source->kind != SOURCE_RESERVOIR) return WEIR_OK;
    const world_edit edit = edit_of_reservoir(world, source, EDIT_FILL);
    return edit_change_fluid(world, &edit);
}

// Room for the material that it will bring.
static weir_status prepare_emitter(weir_world *world, const world_source *source)
{
    if (source->kind != SOURCE_EMITTER || !world->solver->materials_prepare) return WEIR_OK;
    return world->solver->materials_prepare(world->state, UINT32_C(1) << source->material);
}

static weir_status apply_add(weir_world *world, const world_edit *edit)
{
    if (world->source_count == world->source_room) {
        int32_t room = world->source_room ? 2 * world->source_room : 8;
        world_source *grown = memory_resize(&world->mem, world->sources, (size_t)world->source_room * sizeof *grown,
                                            (size_t)room * sizeof *grown);
        if (!grown)
            return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d emitters, drains, forces and reservoirs", room);
        world->sources = grown;
        world->source_room = room;
    }
    weir_status status = fill_reservoir(world, &edit->source);
    if (status == WEIR_OK) status = prepare_emitter(world, &edit->source);
    if (status == WEIR_OK) world->sources[world->source_count++] = edit->source;
    return status;
}

weir_status edit_apply_source(weir_world *world, const world_edit *edit)
{
    if (edit->kind == EDIT_ADD) return apply_add(world, edit);
    int32_t i = 0;
    while (i < world->source_count && world->sources[i].id != edit->source.id) i++;
    // Not there only if it was added while a step ran and that addition then failed, which has been said already.
    if (i == world->source_count) return WEIR_OK;
    world_source *source = &world->sources[i];
    if (edit->kind == EDIT_REMOVE) {
        world->source_count--;
        memmove(source, source + 1, (size_t)(world->source_count - i) * sizeof *source);
        return WEIR_OK;
    }
    // Whatever changes, `owed` stays.
    world_source changed = *source;
    if (edit->kind == EDIT_MOVE) changed.box = edit->place.box;
    if (edit->kind == EDIT_RATE) changed.rate = edit->source.rate;
    if (edit->kind == EDIT_FORCE) changed.force = edit->source.force;
    if (edit->kind == EDIT_LEVEL || edit->kind == EDIT_HEATER) changed.level = edit->source.level;
    const weir_status status = fill_reservoir(world, &changed);
    if (status == WEIR_OK) *source = changed;
    return status;
}

// ---- Looking them up -------------------------------------------------------------------------------------------------------

// Those of the last finished state: the ones at work may be replaced by a background step that loses its device.
static const world_source *finished_sources(const weir_world *world, int32_t *count)
{
    *count = world->busy ? world->frozen.source_count : world->source_count;
    return world->busy ? world->frozen.sources : world->sources;
}

// What acts now, or will when the queue has been applied, under a number. Its number and kind can be relied on, which never change.
static weir_status find_source(const weir_world *world, int32_t id, const world_source **source)
{
    int32_t count;
    const world_source *sources = finished_sources(world, &count);
    *source = NULL;
    for (int32_t i = 0; i < count; i++)
        if (sources[i].id == id) *source = &sources[i];
    for (int32_t i = 0; i < world->queue_count; i++) {
        const world_edit *edit = &world->queue[i];
        if (edit->source.id != id) continue;
        if (edit->kind == EDIT_ADD) *source = &edit->source;
        if (edit->kind == EDIT_REMOVE) *source = NULL;
    }
    if (*source) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no emitter, drain, force, reservoir or heater %d in this world", id);
}

static void show(const world_source *source, weir_source *to)
{
    _Static_assert((int)SOURCE_EMITTER == (int)WEIR_SOURCE_EMITTER && (int)SOURCE_DRAIN == (int)WEIR_SOURCE_DRAIN &&
                       (int)SOURCE_FORCE == (int)WEIR_SOURCE_FORCE && (int)SOURCE_RESERVOIR == (int)WEIR_SOURCE_RESERVOIR &&
                       (int)SOURCE_HEATER == (int)WEIR_SOURCE_HEATER,
                   "the same kinds inside and out");
    memset(to, 0, sizeof *to);  // bytes between its parts too, so that lists can be compared whole
    to->id = source->id;
    to->kind = (weir_source_kind)source->kind;
    to->box = source->box;
    to->material = source->material;
    to->rate = (float)((double)source->rate / RATE_UNIT);  // which, when set again, gives the same number of drops
    to->acceleration = source->force;
    if (source->kind == SOURCE_HEATER)
        to->temperature = (float)source->level / EDIT_HEATER_UNIT;
    else
        to->level = (double)source->level / WEIR_FULL;
}

int32_t weir_world_sources(const weir_world *world, weir_source *sources, int32_t room)
{
    assert(sources || room <= 0);
    int32_t count;
    const world_source *from = finished_sources(world, &count);
    for (int32_t i = 0; i < count && i < room; i++) show(&from[i], &sources[i]);
    return count;
}

static const char *name_of(source_kind kind)
{
    static const char *const names[] = {"an emitter", "a drain", "a force", "a reservoir", "a heater"};
    return names[kind];
}

// ---- Arguments -------------------------------------------------------------------------------------------------------------

static weir_status check_rate(float rate, int64_t *units)
{
    if (!(rate > 0 && rate <= RATE_MAX)) {
        return status_fail(WEIR_ERROR_ARGUMENT, "rate is %g; it must be a number above 0, up to %g cells per update", rate,
                           RATE_MAX);
    }
    *units = (int64_t)(rate * RATE_UNIT + 0.5);
    if (*units > 0) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "rate is %g; the smallest that can be counted is %g cells per update", rate,
                       1 / RATE_UNIT);
}

static weir_status check_level(double level, int64_t *drops)
{
    if (!(level >= -EDIT_LEVEL_MOST && level <= EDIT_LEVEL_MOST)) {
        return status_fail(WEIR_ERROR_ARGUMENT, "level is %g; it must be a coordinate, from %g to %g", level, -EDIT_LEVEL_MOST,
                           EDIT_LEVEL_MOST);
    }
    *drops = (int64_t)floor(level * WEIR_FULL + 0.5);
    return WEIR_OK;
}

static weir_status place_source(const weir_world *world, source_kind kind, weir_box box, region *place)
{
    weir_status status = edit_place_box(world, box, place);
    if (status != WEIR_OK || kind == SOURCE_FORCE || region_volume(place->box) <= WORLD_SOURCE_CELLS) return status;
    return status_fail(WEIR_ERROR_LIMIT, "the box has %.0f cells; an emitter, drain, reservoir or heater can have %d",
                       region_volume(place->box), WORLD_SOURCE_CELLS);
}

// ---- The public face -------------------------------------------------------------------------------------------------------

static weir_status add_source(weir_world *world, weir_box box, world_source source, int32_t *id)
{
    world_edit edit = {.kind = EDIT_ADD, .source = source};
    weir_status status = place_source(world, source.kind, box, &edit.place);
    if (status != WEIR_OK) return status;
    if (world->next_source_id == INT32_MAX) {
        return status_fail(WEIR_ERROR_LIMIT,
                           "this world has had %d emitters, drains, forces and reservoirs, all that it can number",
                           INT32_MAX - 1);
    }
    edit.source.id = world->next_source_id;
    edit.source.box = edit.place.box;
    status = edit_submit(world, &edit);
    if (status != WEIR_OK) return status;
    world->next_source_id++;
    if (id) *id = edit.source.id;
    return WEIR_OK;
}

weir_status weir_world_add_emitter(weir_world *world, weir_box box, weir_material material, float rate, int32_t *id)
{
    world_source source = {.kind = SOURCE_EMITTER, .material = material};
    weir_status status = edit_check_fill(world, material, 1);
    if (status == WEIR_OK) status = check_rate(rate, &source.rate);
    return status == WEIR_OK ? add_source(world, box, source, id) : status;
}

weir_status weir_world_add_drain(weir_world *world, weir_box box, float rate, int32_t *id)
{
    world_source source = {.kind = SOURCE_DRAIN};
    weir_status status = check_rate(rate, &source.rate);
    return status == WEIR_OK ? add_source(world, box, source, id) : status;
}

weir_status weir_world_add_force(weir_world *world, weir_box box, weir_vec acceleration, int32_t *id)
{
    weir_status status = edit_check_flow(world);
    if (status == WEIR_OK) status = edit_check_vec("acceleration", acceleration, FORCE_MAX);
    return status == WEIR_OK ? add_source(world, box, (world_source){.kind = SOURCE_FORCE, .force = acceleration}, id) : status;
}

weir_status weir_world_add_reservoir(weir_world *world, weir_box box, weir_material material, double level, int32_t *id)
{
    world_source source = {.kind = SOURCE_RESERVOIR, .material = material};
    weir_status status = edit_check_fill(world, material, 1);
    if (status == WEIR_OK) status = check_level(level, &source.level);
    return status == WEIR_OK ? add_source(world, box, source, id) : status;
}

weir_status weir_world_remove(weir_world *world, int32_t id)
{
    const world_source *source;
    weir_status status = find_source(world, id, &source);
    return status == WEIR_OK ? edit_submit(world, &(world_edit){.kind = EDIT_REMOVE, .source = {.id = id}}) : status;
}

weir_status weir_world_move_source(weir_world *world, int32_t id, weir_box box)
{
    const world_source *source;
    world_edit edit = {.kind = EDIT_MOVE, .source = {.id = id}};
    weir_status status = find_source(world, id, &source);
    if (status == WEIR_OK) status = place_source(world, source->kind, box, &edit.place);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_rate(weir_world *world, int32_t id, float rate)
{
    const world_source *source;
    world_edit edit = {.kind = EDIT_RATE, .source = {.id = id}};
    weir_status status = find_source(world, id, &source);
    if (status != WEIR_OK) return status;
    if (source->kind == SOURCE_FORCE)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is a force, which has no rate; set its acceleration", id);
    if (source->kind == SOURCE_RESERVOIR)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is a reservoir, which has no rate; set its level", id);
    if (source->kind == SOURCE_HEATER)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is a heater, which has no rate; set its temperature", id);
    status = check_rate(rate, &edit.source.rate);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_set_force(weir_world *world, int32_t id, weir_vec acceleration)
{
    const world_source *source;
    weir_status status = find_source(world, id, &source);
    if (status != WEIR_OK) return status;
    if (source->kind != SOURCE_FORCE) {
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is %s, which accelerates nothing; set its %s", id, name_of(source->kind),
                           source->kind == SOURCE_RESERVOIR ? "level"
                           : source->kind == SOURCE_HEATER  ? "temperature"
                                                            : "rate");
    }
    status = edit_check_vec("acceleration", acceleration, FORCE_MAX);
    if (status != WEIR_OK) return status;
    return edit_submit(world, &(world_edit){.kind = EDIT_FORCE, .source = {.id = id, .force = acceleration}});
}

weir_status weir_world_set_level(weir_world *world, int32_t id, double level)
{
    const world_source *source;
    world_edit edit = {.kind = EDIT_LEVEL, .source = {.id = id}};
    weir_status status = find_source(world, id, &source);
    if (status != WEIR_OK) return status;
    if (source->kind != SOURCE_RESERVOIR)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is %s, which holds no level", id, name_of(source->kind));
    status = check_level(level, &edit.source.level);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

// To the nearest quarter, and above 0.
static int64_t quarters_of(float temperature)
{
    const int64_t quarters = (int64_t)((double)temperature * EDIT_HEATER_UNIT + 0.5);
    return quarters > 0 ? quarters : 1;
}

weir_status weir_world_add_heater(weir_world *world, weir_box box, float temperature, int32_t *id)
{
    const weir_status status = edit_check_temperature(world, temperature);
    if (status != WEIR_OK) return status;
    return add_source(world, box, (world_source){.kind = SOURCE_HEATER, .level = quarters_of(temperature)}, id);
}

weir_status weir_world_set_heater(weir_world *world, int32_t id, float temperature)
{
    const world_source *source;
    weir_status status = find_source(world, id, &source);
    if (status != WEIR_OK) return status;
    if (source->kind != SOURCE_HEATER)
        return status_fail(WEIR_ERROR_ARGUMENT, "%d is %s, which holds no temperature", id, name_of(source->kind));
    status = edit_check_temperature(world, temperature);
    if (status != WEIR_OK) return status;
    return edit_submit(world, &(world_edit){.kind = EDIT_HEATER, .source = {.id = id, .level = quarters_of(temperature)}});
}
