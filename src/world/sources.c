// Emitters, drains and reservoirs: fluid that comes and goes in every update, exact to the drop in the long run.
//
// A source owes `rate` more with every update, in 1/65536 drops; what makes whole units of the solver is moved, the rest stays owed. How it
// is spread over the box is EDIT_POUR's affair. A reservoir owes nothing: EDIT_KEEP brings what moves in its box back to its level.
#include "world/solver.h"

// The whole drops of what a source owes that its solver can count.
static int64_t due(const weir_world *world, const world_source *source)
{
    return (source->owed + source->rate) >> 16 & ~(int64_t)(world->solver->unit - 1);
}

bool world_source_acts(const weir_world *world, const world_source *source)
{
    return source->kind <= SOURCE_DRAIN && due(world, source) > 0;
}

// Along the axis with the most gravity; of equals y comes first, then x.
world_edit edit_of_reservoir(const weir_world *world, const world_source *source, edit_kind kind)
{
    const weir_vec g = world->params.gravity;
    const float x = g.x < 0 ? -g.x : g.x, y = g.y < 0 ? -g.y : g.y, z = g.z < 0 ? -g.z : g.z;
    int32_t axis = x > y ? 0 : 1;
    if (z > (axis == 0 ? x : y)) axis = 2;
    if (world->solver->falls) axis = 1;
    const float along = axis == 0 ? g.x : axis == 1 ? g.y : g.z;
    return (world_edit){.kind = kind,
                        .place = {.box = source->box},
                        .material = source->material,
                        .surface = {.axis = axis, .up = along > 0 && !world->solver->falls ? -1 : 1, .level = source->level}};
}

void world_apply_sources(weir_world *world)
{
    const solver_table *solver = world->solver;
    if (solver->sources_wait && solver->sources_wait(world->state)) return;
    for (int32_t i = 0; i < world->source_count; i++) {
        world_source *source = &world->sources[i];
        if (source->kind == SOURCE_FORCE) continue;
        if (source->kind == SOURCE_HEATER) {
            const world_edit warm = {
                .kind = EDIT_WARM, .place = {.box = source->box}, .value = (float)source->level / EDIT_HEATER_UNIT};
            world->solver->apply(world->state, &warm);
            continue;
        }
        if (source->kind == SOURCE_RESERVOIR) {
            const world_edit keep = edit_of_reservoir(world, source, EDIT_KEEP);
            world->solver->apply(world->state, &keep);
            continue;
        }
        const int64_t drops = due(world, source);
        source->owed += source->rate - drops * 65536;
        if (drops == 0) continue;
        world_edit edit = {.kind = EDIT_POUR,
                           .place = {.box = source->box},
                           .material = source->material,
                           .amount = source->kind == SOURCE_DRAIN ? -drops : drops};
        solver->apply(world->state, &edit);
    }
}
