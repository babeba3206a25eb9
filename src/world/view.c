// The frozen view: a copy of the last finished state that queries read while a background step works on the world.
//
// Bricks keep their indices, so tables are copied as they are; of the channels only those that queries and the state hash read.
// The memory stays from one background step to the next.
#include "world/solver.h"
#include <string.h>

enum { COPY_GRAIN = 64 };  // bricks per piece of work

typedef struct copy_job {
    const brick_pool *from;
    brick_pool *to;
} copy_job;

static void copy_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const copy_job *job = context;
    for (int32_t c = 0; c < job->from->channel_count; c++) {
        if (!job->to->channel[c]) continue;
        for (int32_t b = begin; b < end; b++)
            if (job->from->alive[b] || b == BRICK_NOTHING)
                memcpy(bricks_ints(job->to, c, b), bricks_ints(job->from, c, b), BRICK_CELLS * 4);
    }
}

static uint64_t channels_to_read(const weir_world *world)
{
    uint64_t channels =
        1u << CHANNEL_MASS | 1u << CHANNEL_FLOW_X | 1u << CHANNEL_FLOW_Y | 1u << CHANNEL_FLOW_Z | 1u << CHANNEL_PRESSURE;
    for (int32_t r = 0; r < world->rule_count; r++)
        for (int32_t i = 0; i < world->rules[r].def.channel_count; i++) channels |= (uint64_t)1 << world->rules[r].values[i];
    return channels;
}

static weir_status freeze_sources(weir_world *world)
{
    world_frozen *frozen = &world->frozen;
    if (frozen->source_room < world->source_count) {
        size_t size = sizeof *frozen->sources;
        world_source *sources =
            memory_resize(&world->mem, frozen->sources, (size_t)frozen->source_room * size, (size_t)world->source_count * size);
        if (!sources)
            return status_fail(WEIR_ERROR_MEMORY, "no memory to copy %d emitters, drains and forces", world->source_count);
        frozen->sources = sources;
        frozen->source_room = world->source_count;
    }
    if (world->source_count > 0) memcpy(frozen->sources, world->sources, (size_t)world->source_count * sizeof *frozen->sources);
    frozen->source_count = world->source_count;
    return WEIR_OK;
}

weir_status world_freeze(weir_world *world)
{
    bricks_bring_all(&world->bricks);
    bricks_catch_up(&world->bricks);
    if (!world_check(world)) return world_lost(world);
    weir_status status = freeze_sources(world);
    if (status != WEIR_OK) return status;
    status = bricks_mirror(&world->bricks, channels_to_read(world), &world->front);
    if (status != WEIR_OK) return status;
    copy_job job = {&world->bricks, &world->front};
    workers_run(world->workers, copy_bricks, &job, world->bricks.end, COPY_GRAIN);

    world_frozen *frozen = &world->frozen;
    frozen->stats = weir_world_stats(world);
    frozen->update = world->update;
    frozen->change = world->change;
    frozen->added = world->added;
    frozen->removed = world->removed;
    frozen->drained = world->drained;
    frozen->turned = world->turned;
    frozen->carried = solver_carried(world);
    frozen->next_source_id = world->next_source_id;
    return WEIR_OK;
}

void world_thaw(weir_world *world)
{
    bricks_destroy(&world->front);
    world_frozen *frozen = &world->frozen;
    memory_free(&world->mem, frozen->sources, (size_t)frozen->source_room * sizeof *frozen->sources);
    *frozen = (world_frozen){0};
}
