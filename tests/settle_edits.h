// Random edits for tests of the settling automaton. Include after cmocka.h.
#ifndef WEIR_SETTLE_EDITS_H
#define WEIR_SETTLE_EDITS_H

#include "test_world.h"

static inline uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*random >> 4) * below >> 28);
}

static inline weir_box random_box(uint32_t *random, int32_t size, int32_t most)
{
    weir_box box;
    int32_t *low[3] = {&box.min.x, &box.min.y, &box.min.z}, *high[3] = {&box.max.x, &box.max.y, &box.max.z};
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t length = 1 + (int32_t)draw(random, (uint32_t)most);
        *low[axis] = (int32_t)draw(random, (uint32_t)(size - length + 1)) - size / 2;
        *high[axis] = *low[axis] + length;
    }
    return box;
}

// One edit of those that a game makes, the same for the same number.
static inline void random_edit(weir_world *world, uint32_t *random, int32_t size)
{
    const weir_box box = random_box(random, size, 12), small = random_box(random, size, 4);
    switch (draw(random, 12)) {
    case 0:
    case 1: assert_ok(weir_world_fill(world, box, WEIR_WATER, 1.0f)); break;
    case 2: assert_ok(weir_world_fill(world, small, WEIR_WATER, (float)draw(random, 129) / 128)); break;
    case 3: assert_ok(weir_world_fill(world, small, WEIR_WATER, 0)); break;
    case 4:
    case 5: assert_ok(weir_world_dig(world, box)); break;
    case 6:
    case 7: assert_ok(weir_world_build(world, box, 255)); break;
    case 8: assert_ok(weir_world_build(world, small, (uint8_t)(1 + draw(random, 255)))); break;
    case 9: assert_ok(weir_world_build_sphere(world, (weir_sphere){{small.min.x, small.min.y, small.min.z}, 4.5}, 255)); break;
    case 10: assert_ok(weir_world_add_emitter(world, small, WEIR_WATER, 0.1f + (float)draw(random, 100) / 50, NULL)); break;
    default: {
        weir_source source;
        if (weir_world_sources(world, &source, 1) > 0) assert_ok(weir_world_remove(world, source.id));
    }
    }
}

#endif
