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

// How light fares in a material.
typedef struct picture_material {
    weir_vec absorb, deep;  // share that a cell of it takes, by colour; what it sends back of the light that falls into it
    weir_vec light;         // its colour
    bool gas;
    float cover;  // how much it hides of what is behind its surface, as solids do; 0: it is seen through
    float glow, mirror;
} picture_material;

// What is at a place, gases left out.
typedef struct picture_mix {
    weir_vec absorb, deep;  // of what is seen through
    float covered;          // share of what covers
    int32_t covering;       // of which there is most; -1: none
} picture_mix;

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
    weir_vec absorb;                                // share of light that a cell of water takes, by colour
    bool several;                                   // there are other materials than water
    picture_material materials[WEIR_MATERIAL_MAX];  // in the order of the grid's kinds
    bool gassy;                                     // there are gases
    float gas;                                      // optical depth of a cell with as much gas as there usually is
    bool warm;                                      // the world knows temperature
    bool gas_map;                                   // gases have the colours of the look's map
    float low, range;                               // values at the legend's lower and upper end
    weir_vec colours[PICTURE_COLOURS];              // looks of cubes: light of a cell by its value, from 0 to the range
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

// The colour of a share of the range, 0 to 1, as it is shown (sRGB, 0 to 1). Temperatures have another map.
weir_vec picture_map(weir_look look, float share);

// The light of a value in a look that is a map.
static inline weir_vec picture_map_colour(const picture_scene *s, float value)
{
    const float share = clampf((value - s->low) / (s->range - s->low), 0, 1);
    return s->colours[(int32_t)(share * (PICTURE_COLOURS - 1) + 0.5f)];
}

// Fills the colours of a look of cubes.
void picture_set_colours(picture_scene *scene);

// ---- picture_liquids.c ----

void picture_set_liquids(picture_scene *scene, float clarity);
// The shares of the grid's kinds at a place, between those of the cells around it.
void picture_shares_at(const picture_scene *scene, const double p[3], float shares[WEIR_MATERIAL_MAX]);
// What is at a place, or beside it.
picture_mix picture_mix_at(const picture_scene *scene, const double p[3]);
// The normal of the surface of what covers, and what is seen of it.
weir_vec picture_cover_normal(const picture_scene *scene, const double p[3], weir_vec otherwise);
weir_vec picture_cover(const picture_scene *scene, int32_t kind, const double p[3], weir_vec normal, weir_vec direction);
// The light of a cell as a cube, by its shares (NULL: water) and its fill, 0 to 1.
weir_vec picture_cube_colour(const picture_scene *scene, const uint8_t *shares, float fill);

// ---- picture_gas.c ----

void picture_set_gas(picture_scene *scene, float clarity);
// Goes through the gas between two distances of a ray: what it adds to what is seen, and what it leaves of the share of what comes from
// ahead.
void picture_gas(const picture_scene *scene, const picture_ray *ray, double begin, double end, weir_vec *seen, weir_vec *share);

// A display's colour as light.
weir_vec picture_light(weir_vec shown);

// Draws the legend of a look that has one over the picture.
void picture_legend(const picture_scene *scene, uint8_t *rgb);

// What a look that is a map shows of a cell.
float picture_value(const fluid_view *fluid, weir_look look, int32_t brick, int32_t cell);

#endif
