// Random terrain and random blobs of moving water in a closed box, all from the seed: for checks that something holds always.
#include "scenes/scene.h"

#define SOLIDS 12
#define BLOBS 12

static void define(int32_t size, weir_world_def *def)
{
    def->bounds = scene_box(0, size, 0, size, 0, size);
}

static weir_box random_box(scene_random *random, int32_t size)
{
    weir_coord min, extent;
    int32_t *place[3] = {&min.x, &min.y, &min.z}, *length[3] = {&extent.x, &extent.y, &extent.z};
    for (int32_t axis = 0; axis < 3; axis++) {
        *length[axis] = scene_random_between(random, 1, size / 3);
        *place[axis] = scene_random_between(random, 0, size - *length[axis]);
    }
    return (weir_box){min, {min.x + extent.x, min.y + extent.y, min.z + extent.z}};
}

// Centres and radii in halves: their squares are exact, so every machine puts the same cells into a sphere.
static weir_sphere random_sphere(scene_random *random, int32_t size)
{
    weir_sphere sphere;
    sphere.centre.x = 0.5 * scene_random_between(random, 0, 2 * size);
    sphere.centre.y = 0.5 * scene_random_between(random, 0, 2 * size);
    sphere.centre.z = 0.5 * scene_random_between(random, 0, 2 * size);
    sphere.radius = 0.5 * scene_random_between(random, 2, size / 2);
    return sphere;
}

static void add_solid(scene_run *run, scene_random *random)
{
    if (scene_random_between(random, 0, 1)) {
        scene_build(run, random_box(random, run->size));
        return;
    }
    weir_sphere sphere = random_sphere(random, run->size);
    if (run->status == WEIR_OK) run->status = weir_world_build_sphere(run->world, sphere, 255);
}

static void add_blob(scene_run *run, scene_random *random)
{
    float fill = (float)scene_random_between(random, 1, 16) / 16;
    if (scene_random_between(random, 0, 1)) {
        weir_sphere sphere = random_sphere(random, run->size);
        if (run->status == WEIR_OK)
            run->status = weir_world_fill_sphere(run->world, sphere, weir_world_fluid(run->world), fill);
        return;
    }
    weir_box box = random_box(random, run->size);
    scene_fill(run, box, fill);
    weir_vec flow;  // within what both solvers allow
    flow.x = (float)scene_random_between(random, -10, 10) / 64;
    flow.y = (float)scene_random_between(random, -10, 10) / 64;
    flow.z = (float)scene_random_between(random, -10, 10) / 64;
    if (run->status == WEIR_OK) run->status = weir_world_set_flow(run->world, box, flow);
}

static void set_up(scene_run *run)
{
    scene_random random = scene_random_seeded(run->seed);
    for (int32_t i = 0; i < SOLIDS; i++) add_solid(run, &random);
    for (int32_t i = 0; i < BLOBS; i++) add_blob(run, &random);
}

const scene_def random_scene = {
    .name = "random",
    .summary = "random terrain and blobs of water, from the seed",
    .size_meaning = "edge of the box",
    .size = 32,
    .size_min = 8,
    .size_max = 256,
    .updates = 500,
    .define = define,
    .set_up = set_up,
};
