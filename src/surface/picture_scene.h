// What the looks share: the scene that rays are sent into, its light, and its terrain.
#ifndef WEIR_SURFACE_PICTURE_SCENE_H
#define WEIR_SURFACE_PICTURE_SCENE_H

#include "surface/picture_camera.h"
#include "surface/picture_walk.h"

// Functions in which most of the time goes are compiled a second time for processors with AVX2, where the compiler can do that and the
// C library can choose when a program starts, for which sanitizers are not ready yet. The bits are the same. They take what they call in
// the same file into themselves, as that would not be compiled twice, and they are static, because a shared library would show the
// others.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PICTURE_HOT __attribute__((flatten, target_clones("avx2", "default")))
#else
#define PICTURE_HOT
#endif

enum { PICTURE_COLOURS = 256 };

// How light fares in a liquid.
typedef struct picture_liquid {
    weir_vec absorb, deep;  // share that a cell of it takes, by colour; what it sends back of the light that falls into it
    bool glows;             // and lets no light through
    weir_vec light;         // its colour
} picture_liquid;

// What water sends back.
#define PICTURE_DEEP ((weir_vec){0.010f, 0.125f, 0.26f})

typedef struct picture_scene {
    picture_grid grid;
    weir_look look;
    int32_t width, height;
    camera_basis basis;
    double eye[3];                         // from the grid's origin
    float pixel;                           // width of a pixel, one cell ahead
    weir_vec sun;                          // of length 1
    double near_corner[3], far_corner[3];  // the box of all that is not sky
    bool floor;                            // the world has one
    bool eye_in_water;
    weir_vec absorb;  // share of light that a cell of water takes, by colour
    bool several;     // there are other liquids than water
    picture_liquid liquids[WEIR_MATERIAL_MAX];
    float range;                        // value at the legend's upper end
    weir_vec colours[PICTURE_COLOURS];  // looks of cubes: light of a cell by its value, from 0 to the range
} picture_scene;

// A point of terrain, or of the floor, that a ray met.
typedef struct solid_hit {
    double t, p[3];  // from the ray's beginning; place from the grid's origin
    int32_t axis;    // of the face
    int32_t side;    // its normal, -1 or 1
    bool floor;
} solid_hit;

weir_vec picture_sky(weir_vec direction);

// Where the ray meets the floor of the world's box, before `end`.
bool picture_floor(const picture_scene *scene, const picture_ray *ray, double begin, double end, solid_hit *hit);

// A point of terrain in the light; `lit` is the share of the sun that comes through, footprint the width of a pixel there.
weir_vec picture_terrain(const picture_scene *scene, const solid_hit *hit, float lit, float footprint);

// Share of the sun's light that reaches a point, through terrain and water.
float picture_sunlight(const picture_scene *scene, const double p[3], weir_vec normal);

// How much of a line of half a width around the distance `from` covers a pixel.
float picture_line(float from, float half_width, float footprint);

// What the eye sees in a direction, one for each kind of look.
weir_vec picture_trace_water(const picture_scene *scene, weir_vec direction);
weir_vec picture_trace_cubes(const picture_scene *scene, weir_vec direction);

// The colour of a share of the range, 0 to 1, as it is shown (sRGB, 0 to 1).
weir_vec picture_map(float share);

// Fills the colours of a look of cubes.
void picture_set_colours(picture_scene *scene);

// ---- picture_liquids.c ----

void picture_set_liquids(picture_scene *scene, float clarity);
// The liquid at a place, or beside it; WEIR_NOTHING: there is none.
weir_material picture_material_at(const picture_scene *scene, const double p[3]);
// What is seen of a surface that glows.
weir_vec picture_glow(const picture_scene *scene, weir_material material, weir_vec normal);

// A display's colour as light.
weir_vec picture_light(weir_vec shown);

// Draws the legend of a look that has one over the picture.
void picture_legend(const picture_scene *scene, uint8_t *rgb);

// What a look that is a map shows of a cell.
float picture_value(const fluid_view *fluid, weir_look look, int32_t brick, int32_t cell);

#endif
