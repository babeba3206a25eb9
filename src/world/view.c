// The frozen view: a copy of the last finished state that queries read while a background step works on the world.
//
// The solver copies its own state; here is the rest.
#include "world/solver.h"
#include <string.h>

fluid_view world_fluid(const weir_world *world)
{
    return solver_view(world, world->busy);
}

static void fetch_all(const fluid_view *view)
{
    enum { BATCH = 1024 };
    int32_t bricks[BATCH], count = 0;
    if (!view->fetch) return;
    for (int32_t b = 1; b < view->end; b++) {
        if (view->alive[b]) bricks[count++] = b;
        if (count < BATCH) continue;
        fluid_fetch(view, bricks, count);
        count = 0;
    }
    fluid_fetch(view, bricks, count);
}

fluid_view world_fetch_all(const weir_world *world)
{
    fluid_view view = world_fluid(world);
    fetch_all(&view);
    return world_check_query(world) ? view : world_fluid(world);
}

void world_fetch_state(weir_world *world)
{
    const fluid_view view = solver_view(world, false);
    fetch_all(&view);
    solver_catch_up(world);
}

static weir_status freeze_sources(weir_world *world)
{
    world_frozen *frozen = &world->frozen;
    if (frozen->source_room < world->source_count) {
        size_t size = sizeof *frozen->sources;
        world_source *sources =
            memory_resize(&world->mem, frozen->sources, (size_t)frozen->source_room * size, (size_t)world->source_count * size);
        if (!sources)
            return status_fail(WEIR_ERROR_MEMORY, "no memory to copy %d emitters, drains, forces and reservoirs",
                               world->source_count);
        frozen->sources = sources;
        frozen->source_room = world->source_count;
    }
    if (world->source_count > 0) memcpy(frozen->sources, world->sources, (size_t)world->source_count * sizeof *frozen->sources);
    frozen->source_count = world->source_count;
    return WEIR_OK;
}

weir_status world_freeze(weir_world *world)
{
    world_fetch_state(world);
    if (world->lost[0] || !world_check(world)) return world_lost(world);
    weir_status status = freeze_sources(world);
    if (status == WEIR_OK) status = world->solver->freeze(world->state);
    if (status != WEIR_OK) return status;

    world_frozen *frozen = &world->frozen;
    frozen->stats = weir_world_stats(world);
    frozen->update = world->update;
    frozen->change = world->change;
    memcpy(frozen->ledger, world->ledger, sizeof frozen->ledger);
    frozen->carried = solver_carried(world);
    frozen->next_source_id = world->next_source_id;
    return WEIR_OK;
}

void world_thaw(weir_world *world)
{
    world_frozen *frozen = &world->frozen;
    memory_free(&world->mem, frozen->sources, (size_t)frozen->source_room * sizeof *frozen->sources);
    *frozen = (world_frozen){0};
}
