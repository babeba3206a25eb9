// A cube of water falls into an empty box (the thesis's Figure 9). The box stands with its middle on the origin, so that the
// mirror images in x and z and the swap of both must agree to the bit.
#include "scenes/scene.h"

#include <math.h>
#include <stdlib.h>

static void define(int32_t size, weir_world_def *def)
{
    int32_t half = size / 2;
    def->bounds = scene_box(-half, half, 0, size, -half, half);
}

static void set_up(scene_run *run)
{
    int32_t half = run->size * 3 / 16, top = run->size - run->size / 16;
    scene_fill(run, scene_box(-half, half, top - 2 * half, top, -half, half), 1.0f);
}

// Largest differences of fill between the world, its mirror images and its image with x and z swapped. Works on one slab
// across z and one across x at a time, which is all that a comparison needs.
typedef struct differences {
    float mirror, swap;
} differences;

static void compare_slabs(differences *worst, const float *across_z, const float *across_x, int32_t width, int32_t height)
{
    for (int32_t y = 0; y < height; y++) {
        for (int32_t i = 0; i < width; i++) {
            float along_x = across_z[i + width * y], along_z = across_x[y + height * i];
            worst->mirror = fmaxf(worst->mirror, fabsf(along_x - across_z[width - 1 - i + width * y]));
            worst->mirror = fmaxf(worst->mirror, fabsf(along_z - across_x[y + height * (width - 1 - i)]));
            worst->swap = fmaxf(worst->swap, fabsf(along_x - along_z));
        }
    }
}

static void measure(scene_run *run)
{
    int32_t half = run->size / 2, width = 2 * half, height = run->size;
    float *across_z = malloc(sizeof(float) * (size_t)width * (size_t)height);
    float *across_x = malloc(sizeof(float) * (size_t)width * (size_t)height);
    differences worst = {0};
    bool known = across_z && across_x;

    for (int32_t i = -half; known && i < half; i++) {
        known = weir_world_read_fill(run->world, scene_box(-half, half, 0, height, i, i + 1), across_z) == WEIR_OK &&
                weir_world_read_fill(run->world, scene_box(i, i + 1, 0, height, -half, half), across_x) == WEIR_OK;
        if (known) compare_slabs(&worst, across_z, across_x, width, height);
    }
    free(across_z);
    free(across_x);
    scene_set_probe(run, "mirror", known ? worst.mirror : NAN);
    scene_set_probe(run, "swap", known ? worst.swap : NAN);
}

const scene_def watercube_scene = {
    .name = "watercube",
    .summary = "a cube of water falls into an empty box",
    .size_meaning = "edge of the box",
    .size = 64,
    .size_min = 16,
    .size_max = 512,
    .updates = 600,
    .probes = {{"mirror", "largest difference of fill from the mirror images in x and z"},
               {"swap", "largest difference of fill from the image with x and z swapped"}},
    .define = define,
    .set_up = set_up,
    .measure = measure,
};
