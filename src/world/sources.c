// Emitters and drains: fluid that comes and goes in every update, exact to the drop in the long run.
//
// A source owes `rate` more with every update, in 1/65536 drops; what makes whole units of the solver is moved, the rest stays owed. How it
// is spread over the box is EDIT_POUR's affair.
#include "world/solver.h"

// The whole drops of what a source owes that its solver can count.
static int64_t due(const weir_world *world, const world_source *source)
{
    return (source->owed + source->rate) >> 16 & ~(int64_t)(world->solver->unit - 1);
}

bool world_source_acts(const weir_world *world, const world_source *source)
{
    return source->kind != SOURCE_FORCE && due(world, source) > 0;
}

void world_apply_sources(weir_world *world)
{
    for (int32_t i = 0; i < world->source_count; i++) {
        world_source *source = &world->sources[i];
        if (source->kind == SOURCE_FORCE) continue;
        const int64_t drops = due(world, source);
        source->owed += source->rate - drops * 65536;
        if (drops == 0) continue;
        world_edit edit = {.kind = EDIT_POUR,
                           .place = {.box = source->box},
                           .material = source->material,
                           .amount = source->kind == SOURCE_DRAIN ? -drops : drops};
        world->solver->apply(world->state, &edit);
    }
}
