// Pictures: what a camera sees of a world, drawn by the processor into an array of pixels. No display is needed.
//
//     weir_picture_def def = weir_picture_def_default();
//     uint8_t *rgb = malloc((size_t)def.width * def.height * 3);
//     if (weir_world_draw(world, &def, rgb) != WEIR_OK) puts(weir_error_message());
//     weir_png_write("water.png", def.width, def.height, rgb);  // <weir/formats.h>
#ifndef WEIR_PICTURE_H
#define WEIR_PICTURE_H

#include <weir/types.h>
#include <weir/world.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEIR_PICTURE_LIMIT 16384  // most pixels along a picture's edge

// How water is shown.
//   water:        a smooth surface with reflection, refraction and shadows.
//   voxel:        cells as cubes, full ones deep blue, thin ones lighter.
//   flow:         cells coloured by speed, cells per update, with a legend.
//   pressure:     by pressure, cells of water height times gravity, with a legend.
//   fill:         by fill, with a legend.
//   temperature:  by temperature, K, gases included, with a legend; WEIR_ERROR_UNSUPPORTED of solvers that know none.
// In worlds of several materials water and voxel show each in its colour, mixed by what of each is in a cell; gases are seen through
// where there is little of them.
typedef enum weir_look {
    WEIR_LOOK_WATER,
    WEIR_LOOK_VOXEL,
    WEIR_LOOK_FLOW,
    WEIR_LOOK_PRESSURE,
    WEIR_LOOK_FILL,
    WEIR_LOOK_TEMPERATURE,
    WEIR_LOOK_COUNT
} weir_look;

// The name of a look, as above; NULL if there is no such look.
WEIR_API const char *weir_look_name(weir_look look);

#define WEIR_CAMERA_FOV 35.0f  // degrees, where none is said

// Looks from `position` to `target`, y up (straight up or down, -z is up in the picture).
typedef struct weir_camera {
    weir_point position, target;
    float fov;  // field of view from the picture's bottom to its top, degrees, 1 to 150
} weir_camera;

// The camera that looks along `direction` and sees the whole box as large as it can be, in a picture that is `aspect` times as
// wide as high. The box must not be empty; a direction of 0 or a fov of 0 means the default: from the front, the right and above.
WEIR_API weir_camera weir_camera_frame(weir_box box, weir_vec direction, float fov, double aspect);

// What to draw. Zero in any field means its default.
typedef struct weir_picture_def {
    int32_t width, height;  // pixels, default 1280 x 720; at most WEIR_PICTURE_LIMIT each
    weir_look look;         // default water
    weir_camera camera;     // fov 0: frames the world's bounds or, without bounds, all that is in it, from `direction`
    weir_vec direction;     // of the camera that frames the world
    weir_vec sun;           // direction towards the sun
    float least_fill;       // cells that hold less are not drawn as cubes, default 0.05
    float clarity;          // water look: how many cells one sees through water; default in proportion to the bounds
    float range;            // flow, pressure and temperature: value at the legend's upper end; default as weir_world_range says
    float range_low;        // temperature: value at its lower end; with a range of 0 as weir_world_range_low says
} weir_picture_def;

WEIR_API weir_picture_def weir_picture_def_default(void);

// WEIR_OK, or why nothing can be drawn so: WEIR_ERROR_ARGUMENT.
WEIR_API weir_status weir_picture_def_check(const weir_picture_def *def);

// Draws the world into width * height pixels of red, green and blue, rows from the top. The same bytes on any number of threads and
// on any backend. The walls of a bounded world are left out, but for its floor; water against a wall is seen as through glass. While
// a background step runs the last finished state is drawn, on the calling thread alone.
WEIR_API weir_status weir_world_draw(const weir_world *world, const weir_picture_def *def, uint8_t *rgb);

// What `range` is by default: a round number that 99 of 100 cells with water stay below; 0 where there is nothing to show,
// and for looks other than flow, pressure and temperature. For a film give
// the largest so far, so that colours do not jump.
WEIR_API float weir_world_range(const weir_world *world, weir_look look);

// What `range_low` is then: of temperature a round number that 99 of 100 cells stay above; else 0. For a film give the least so far.
WEIR_API float weir_world_range_low(const weir_world *world, weir_look look);

#ifdef __cplusplus
}
#endif
#endif
