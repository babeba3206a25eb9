// Terrain that a solver makes in an update: lava that becomes stone. The solver notes it, and the world builds it between updates as it
// builds
// for a game, so that what queries, meshes and the fluid know of it is what they know of any terrain.
//
// A background step must not touch terrain, which queries read: it ends early when something has formed, and the rest of it is done
// when it is ended. Where memory runs out for the terrain it waits, and comes before the next update.
#include "world/solver.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

weir_status world_forming_reserve(weir_world *world, int32_t bricks)
{
    const int64_t room = (int64_t)world->forming_count + bricks;
    const size_t size = sizeof *world->forming;
    world->forming_most = (int32_t)(room < INT32_MAX ? room : INT32_MAX);
    if (room <= world->forming_room) return WEIR_OK;
    const int64_t more = room + room / 4;
    world_forming *forming =
        more > INT32_MAX ? NULL
                         : memory_resize(&world->mem, world->forming, (size_t)world->forming_room * size, (size_t)more * size);
    if (!forming) return status_fail(WEIR_ERROR_MEMORY, "no memory for terrain that forms in %d bricks", bricks);
    world->forming = forming;
    world->forming_room = (int32_t)more;
    return WEIR_OK;
}

static world_forming *find(const weir_world *world, weir_coord brick)
{
    for (int32_t i = world->forming_count - 1; i >= 0; i--)
        if (coords_equal(world->forming[i].brick, brick)) return &world->forming[i];
    return NULL;
}

bool world_can_form(const weir_world *world, weir_coord brick)
{
    if (world->terrain.source) return false;
    return world->forming_count < world->forming_most || find(world, brick);
}

void world_form(weir_world *world, weir_coord brick, int32_t cell, uint8_t share)
{
    world_forming *forming = find(world, brick);
    assert(world_can_form(world, brick) && share > 0);
    if (!forming) {
        forming = &world->forming[world->forming_count++];
        memset(forming, 0, sizeof *forming);
        forming->brick = brick;
    }
    forming->shares[cell] = share;
}

uint8_t world_formed(const weir_world *world, weir_coord brick, int32_t cell)
{
    const world_forming *forming = world->forming_count > 0 ? find(world, brick) : NULL;
    return forming ? forming->shares[cell] : 0;
}

static int compare_bricks(const void *a, const void *b)
{
    return coord_compare(((const world_forming *)a)->brick, ((const world_forming *)b)->brick);
}

static weir_status build(weir_world *world, const world_forming *forming)
{
    const weir_coord at = forming->brick;
    const weir_box box = {at, {at.x + 1, at.y + 1, at.z + 1}};
    weir_status status = WEIR_OK;
    if (terrain_is_absent(&world->terrain, at)) return WEIR_OK;
    if (world->solver->terrain_prepare) status = world->solver->terrain_prepare(world->state, box);
    if (status == WEIR_OK) status = terrain_prepare(&world->terrain, at);
    if (status != WEIR_OK) return status;
    uint8_t *shares = terrain_write(&world->terrain, at);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        if (forming->shares[cell] > 0) shares[cell] = forming->shares[cell];
    terrain_tidy(&world->terrain, at);
    world->solver->terrain_changed(world->state, box);
    return WEIR_OK;
}

weir_status world_build_formed(weir_world *world)
{
    int32_t built = 0;
    weir_status status = WEIR_OK;
    assert(!world->busy);
    if (world->forming_count == 0) return WEIR_OK;
    qsort(world->forming, (size_t)world->forming_count, sizeof *world->forming, compare_bricks);
    while (built < world->forming_count && status == WEIR_OK) {
        status = build(world, &world->forming[built]);
        built += status == WEIR_OK;
    }
    world->forming_count -= built;
    memmove(world->forming, world->forming + built, (size_t)world->forming_count * sizeof *world->forming);
    return status;
}

void world_free_forming(weir_world *world)
{
    memory_free(&world->mem, world->forming, (size_t)world->forming_room * sizeof *world->forming);
    world->forming = NULL;
    world->forming_count = world->forming_room = 0;
}
