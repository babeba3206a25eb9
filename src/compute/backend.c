// What all backends share.
#include "compute/backend.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const pass_names[PASS_COUNT] = {
#define PASS_NAME(name, text) [PASS_##name] = text,
    PASS_LIST(PASS_NAME)
#undef PASS_NAME
};

const char *backend_pass_name(pass_id pass)
{
    assert((unsigned)pass < PASS_COUNT);
    return pass_names[pass];
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
