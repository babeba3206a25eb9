// Checkpoints: when a device has the values, a copy of the state here, for the day on which the device is lost.
//
// A checkpoint is the payload of a snapshot, kept in memory. It is taken before the first update, when nothing has gone to the device
// yet, and then now and then. A world that has lost its device becomes the one of its checkpoint, with all values here; it can be asked
// and saved, and refuses edits and updates.
#include "base/clock.h"
#include "world/solver.h"

#include <stdio.h>

enum { USUAL_UPDATES = 256 };     // between two checkpoints
static const double REST = 49.0;  // times as long as a checkpoint took there is none: 2 % of the time at most

static bool is_due(const weir_world *world)
{
    const world_checkpoint *c = &world->checkpoint;
    if (!solver_is_remote(world) || world->checkpoint_every < 0) return false;
    if (!c->bytes || c->stale) return true;
    int64_t since = world->update - c->update;
    if (world->checkpoint_every > 0) return since >= world->checkpoint_every;
    return since >= USUAL_UPDATES && clock_seconds() - c->taken >= REST * c->duration;
}

weir_status world_keep(weir_world *world)
{
    if (world->lost[0] || !world_check(world)) return world_lost(world);
    if (!is_due(world)) return WEIR_OK;
    double start = clock_seconds();
    world_fetch_state(world);
    if (world->lost[0] || !world_check(world)) return world_lost(world);
    world_checkpoint *c = &world->checkpoint;
    if (snapshot_keep(world, &c->bytes, &c->room, &c->size) != WEIR_OK) {
        // An update is worth more than its insurance. An older checkpoint stays, unless it is of a state that has been replaced.
        world_log(world, WEIR_LOG_WARNING, "%s", weir_error_message());
        if (c->stale) world_free_checkpoint(world);
        return WEIR_OK;
    }
    c->update = world->update;
    c->stale = false;
    c->taken = clock_seconds();
    c->duration = c->taken - start;
    return WEIR_OK;
}

static void go_back(weir_world *world, const char *why)
{
    world_checkpoint *c = &world->checkpoint;
    char reason[120];
    snprintf(reason, sizeof reason, "%s", why);
    int64_t update = world->update;
    world->change++;
    world->solver->leave_device(world->state);
    world->values_lost = !c->bytes || c->stale || snapshot_restore(world, c->bytes, c->size) != WEIR_OK;
    if (world->values_lost) {
        snprintf(world->lost, sizeof world->lost, "%s. The world's values at update %lld are lost: there was no checkpoint",
                 reason, (long long)update);
    } else {
        snprintf(world->lost, sizeof world->lost,
                 "%s. The world went back from update %lld to %lld and stays there: save it, and load it into a new world",
                 reason, (long long)update, (long long)world->update);
    }
    world_log(world, WEIR_LOG_ERROR, "%s", world->lost);
    world_free_checkpoint(world);
}

bool world_check(weir_world *world)
{
    if (!solver_is_remote(world) || world->solver->device_status(world->state) == WEIR_OK) return true;
    if (world->busy) return false;  // queries read what going back would replace, so weir_world_step_end does it
    go_back(world, weir_error_message());
    return false;
}

bool world_check_query(const weir_world *world)
{
    // While a background step runs, queries read bricks that are here, and the step checks for itself.
    return world->busy || world_check((weir_world *)(uintptr_t)world);
}

weir_status world_lost(const weir_world *world)
{
    if (!world->lost[0]) return world->solver->device_status(world->state);
    return status_fail(WEIR_ERROR_DEVICE, "%s", world->lost);
}

void world_free_checkpoint(weir_world *world)
{
    memory_free(&world->mem, world->checkpoint.bytes, world->checkpoint.room);
    world->checkpoint = (world_checkpoint){0};
}
