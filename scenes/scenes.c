// The list of all scenes. A new one is a file beside this one and one line here.
#include "scenes/scene.h"

#include <string.h>

#define SCENE_LIST(ITEM) \
    ITEM(watercube)      \
    ITEM(dambreak)       \
    ITEM(damhole)        \
    ITEM(fountain)       \
    ITEM(shallowwave)    \
    ITEM(tsunami)        \
    ITEM(tube)           \
    ITEM(pool)           \
    ITEM(lake)           \
    ITEM(puddle)         \
    ITEM(raft)           \
    ITEM(slosh)          \
    ITEM(wave)           \
    ITEM(fall)           \
    ITEM(column)         \
    ITEM(ground)         \
    ITEM(downhill)       \
    ITEM(ubend)          \
    ITEM(terrain)        \
    ITEM(waterfall)      \
    ITEM(digunderwater)  \
    ITEM(ocean)          \
    ITEM(lavawater)      \
    ITEM(locus)          \
    ITEM(oilwater)       \
    ITEM(layers)         \
    ITEM(lockexchange)   \
    ITEM(honey)          \
    ITEM(kettle)         \
    ITEM(icemelt)        \
    ITEM(gasroom)        \
    ITEM(burst)          \
    ITEM(divingbell)     \
    ITEM(siphon)         \
    ITEM(random)         \
    ITEM(blend)          \
    ITEM(block)

#define SCENE_DECLARE(name) extern const scene_def name##_scene;
SCENE_LIST(SCENE_DECLARE)

#define SCENE_ADDRESS(name) &name##_scene,
static const scene_def *const scenes[] = {SCENE_LIST(SCENE_ADDRESS)};

const scene_def *scene_at(int32_t index)
{
    return index >= 0 && index < (int32_t)(sizeof scenes / sizeof scenes[0]) ? scenes[index] : NULL;
}

const scene_def *scene_find(const char *name)
{
    for (int32_t i = 0; scene_at(i); i++) {
        if (strcmp(scenes[i]->name, name) == 0) return scenes[i];
    }
    return NULL;
}
