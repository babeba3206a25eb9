// What must hold of a world between updates, looked at plainly and from scratch. Of its fluid the solver knows.
#include "base/broken.h"
#include "world/solver.h"

#include <stdio.h>
#include <stdlib.h>

// ---- Sources -----------------------------------------------------------------------------------------------------

static const char *validate_sources(const weir_world *world)
{
    if (world->source_count < 0 || world->source_count > world->source_room)
        return broken("%d emitters, drains, forces and reservoirs have room for %d", world->source_count, world->source_room);
    for (int32_t i = 0, last = 0; i < world->source_count; last = world->sources[i++].id) {
        const world_source *s = &world->sources[i];
        // The number of one that is just being added counts as taken when its edit is done.
        if (s->id <= last || s->id > world->next_source_id) return broken("source %d comes after source %d", s->id, last);
        if (s->box.min.x >= s->box.max.x || s->box.min.y >= s->box.max.y || s->box.min.z >= s->box.max.z)
            return broken("the box of source %d holds no cell", s->id);
        if (s->kind <= SOURCE_DRAIN && (s->rate <= 0 || s->owed < 0 || s->owed >> 16 >= world->solver->unit))
            return broken("source %d moves %lld and owes %lld", s->id, (long long)s->rate, (long long)s->owed);
    }
    return NULL;
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

// The accounts: not a drop is lost.
static const char *validate_solver(weir_world *world, bool cells_only)
{
    int64_t held[WEIR_MATERIAL_MAX] = {0};
    bool all_here = true;
    const char *wrong = world->solver->validate(world->state, cells_only, held, &all_here);
    if (wrong || !all_here || world->values_lost) return wrong;
    for (int32_t i = 1; i < WEIR_MATERIAL_MAX; i++) {
        const int64_t account = world_ledger_held(&world->ledger[i]);
        if (held[i] != account)
            return broken("the world holds %lld drops of %s and its account says %lld", (long long)held[i],
                          world->materials[i].name, (long long)account);
    }
    return NULL;
}

const char *world_validate(weir_world *world, bool cells_only)
{
    const char *wrong = terrain_validate(&world->terrain);
    if (!wrong) wrong = validate_sources(world);
    return wrong ? wrong : validate_solver(world, cells_only);
}

void world_check_change(weir_world *world)
{
#ifndef NDEBUG
    enum { FEW_BRICKS = 64 };
    if (world_fluid(world).live <= FEW_BRICKS) world_must_hold(world, world_validate(world, true));
#else
    (void)world;
#endif
}

void world_must_hold(const weir_world *world, const char *wrong)
{
    if (!wrong) return;
    world_log(world, WEIR_LOG_ERROR, "after update %lld: %s", (long long)world->update, wrong);
    fprintf(stderr, "Weir is broken after update %lld: %s\n", (long long)world->update, wrong);
    abort();
}
