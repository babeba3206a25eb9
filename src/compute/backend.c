// What all backends share.
#include "compute/backend.h"

#include <assert.h>
#include <math.h>
#include <string.h>

weir_status solver_state_create(weir_world *world, const weir_world_def *def, size_t bytes, const cell_layout *layout,
                                const solver_part *cpu, const solver_part *opencl, void **state)
{
    *state = NULL;
    if (def->backend == WEIR_BACKEND_OPENCL && !opencl)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "the solver %s does not run on OpenCL", world->solver->name);
    solver_state *s = memory_alloc_zero(&world->mem, bytes);
    if (!s) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a world");
    s->part = def->backend == WEIR_BACKEND_OPENCL ? opencl : cpu;
    weir_status status = cells_create(&s->cells, world, def, layout);
    if (status == WEIR_OK) status = s->part->create(s, def->device);
    if (status == WEIR_OK)
        *state = s;
    else
        solver_state_free(s, bytes);
    return status;
}

void solver_state_free(void *state, size_t bytes)
{
    solver_state *s = state;
    memory *mem = &s->cells.world->mem;
    s->part->destroy(s);
    cells_destroy(&s->cells);
    memory_free(mem, s, bytes);
}

weir_status solver_state_reserve(void *state)
{
    weir_status status = cells_reserve(state);
    return status == WEIR_OK ? ((solver_state *)state)->part->reserve(state) : status;
}

weir_status solver_state_finish(solver_state *s)
{
    weir_status status = s->machine->finish ? s->machine->finish(s->machine) : WEIR_OK;
    if (status != WEIR_OK) return status;
    if (s->part->finished) s->part->finished(s);
    cells_report_changes(&s->cells);
    cells_count_bytes(&s->cells, s->part->bytes(s));
    return WEIR_OK;
}

const char *solver_state_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here)
{
    const char *wrong = cells_validate(state, cells_only, held, all_here);
    return wrong || cells_only ? wrong : ((solver_state *)state)->part->validate(state);
}

void backend_rules(solver_state *s, weir_place place)
{
    for (int32_t i = 0; i < s->cells.rule_count; i++)
        if (s->cells.rules[i].def.place == place) s->machine->run_rule(s->machine, &s->cells.rules[i]);
}

bool backend_drains(const weir_world *world)
{
    return world->terrain.bounded && world->terrain.open_sides;
}

bool backend_pushes(const weir_world *world)
{
    if (world->params.noise > 0.0f) return true;
    for (int32_t i = 0; i < world->source_count; i++)
        if (world->sources[i].kind == SOURCE_FORCE) return true;
    return false;
}

void backend_book_time(weir_world *world, const char *name, double seconds)
{
    assert(world->rule_time_count <= WEIR_RULE_TIMES);
    for (int32_t i = 0; i < world->rule_time_count; i++) {
        if (strcmp(world->rule_names[i], name) == 0) {
            world->rule_seconds[i] += seconds;
            return;
        }
    }
    if (world->rule_time_count == WEIR_RULE_TIMES) return;
    world->rule_names[world->rule_time_count] = name;
    world->rule_seconds[world->rule_time_count++] = seconds;
}

backend_down backend_find_down(const weir_params *params)
{
    const float gravity[3] = {params->gravity.x, params->gravity.y, params->gravity.z};
    backend_down down = {.axis = 1};
    for (int axis = 0; axis < 3; axis++)
        if (fabsf(gravity[axis]) > fabsf(gravity[down.axis])) down.axis = axis;
    float along = gravity[down.axis];
    down.sign = along < 0.0f ? -1 : along > 0.0f ? 1 : 0;
    down.head = fabsf(along);
    down.inverse_head = 1.0f / (down.head > 1e-9f ? down.head : 1e-9f);
    return down;
}
