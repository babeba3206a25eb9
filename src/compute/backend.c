// What all backends share.
#include "compute/backend.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void backend_rules(backend *b, weir_world *world, weir_place place)
{
    for (int32_t i = 0; i < world->rule_count; i++)
        if (world->rules[i].def.place == place) b->run_rule(b, &world->rules[i]);
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
