// Cameras: from a place and a target to rays.
#ifndef WEIR_SURFACE_PICTURE_CAMERA_H
#define WEIR_SURFACE_PICTURE_CAMERA_H

#include "surface/picture_vec.h"
#include <weir/picture.h>

// What a pixel's ray is made of: forward + x * right + y * up, x and y in the plane one cell ahead.
typedef struct camera_basis {
    weir_vec right, up, forward;    // of length 1
    float half_width, half_height;  // of that plane
} camera_basis;

camera_basis camera_basis_of(const weir_camera *camera, double aspect);

#endif
