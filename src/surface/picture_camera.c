#include "surface/picture_camera.h"

#include <assert.h>

#define MARGIN 1.06  // the picture is this much larger than what it frames

static const weir_vec DEFAULT_DIRECTION = {-0.42f, -0.46f, -1.0f};

// Right-handed, y up: who looks along -z sees x to the right.
static camera_basis basis_along(weir_vec forward, float fov, double aspect)
{
    camera_basis b = {.forward = vec_unit(forward)};
    weir_vec right = vec_cross(b.forward, vec(0, 1, 0));
    bool steep = vec_dot(right, right) < 1e-12f;
    b.right = vec_unit(steep ? vec_cross(b.forward, vec(0, 0, -1)) : right);
    b.up = vec_cross(b.right, b.forward);
    b.half_height = tanf(fov * 0.5f * 0.017453293f);
    b.half_width = (float)(b.half_height * aspect);
    return b;
}

camera_basis camera_basis_of(const weir_camera *camera, double aspect)
{
    double x = camera->target.x - camera->position.x, y = camera->target.y - camera->position.y,
           z = camera->target.z - camera->position.z;
    double length = sqrt(x * x + y * y + z * z);
    return basis_along(vec((float)(x / length), (float)(y / length), (float)(z / length)), camera->fov, aspect);
}

// Along one axis of the picture a corner at `side` and `depth` (from the box's middle) is seen from distance D and offset s if
//     side - s <= (D + depth) k    and    s - side <= (D + depth) k,
// where k is half the picture's width one cell ahead. Of all corners that leaves a - D k <= s <= b + D k.
typedef struct fit {
    double k, a, b;
} fit;

static void fit_corner(fit *f, double side, double depth)
{
    f->a = fmax(f->a, side - depth * f->k);
    f->b = fmin(f->b, side + depth * f->k);
}

weir_camera weir_camera_frame(weir_box box, weir_vec direction, float fov, double aspect)
{
    assert(box.min.x < box.max.x && box.min.y < box.max.y && box.min.z < box.max.z && aspect > 0);
    bool known = vec_dot(direction, direction) > 0 && isfinite(vec_dot(direction, direction));
    if (!(fov > 0)) fov = WEIR_CAMERA_FOV;
    camera_basis b = basis_along(known ? direction : DEFAULT_DIRECTION, fov, aspect);
    fit across = {b.half_width / MARGIN, -INFINITY, INFINITY}, upward = {b.half_height / MARGIN, -INFINITY, INFINITY};
    double half[3] = {0.5 * ((double)box.max.x - box.min.x), 0.5 * ((double)box.max.y - box.min.y),
                      0.5 * ((double)box.max.z - box.min.z)};
    for (int32_t corner = 0; corner < 8; corner++) {
        double x = corner & 1 ? half[0] : -half[0], y = corner & 2 ? half[1] : -half[1], z = corner & 4 ? half[2] : -half[2];
        double depth = x * b.forward.x + y * b.forward.y + z * b.forward.z;
        fit_corner(&across, x * b.right.x + y * b.right.y + z * b.right.z, depth);
        fit_corner(&upward, x * b.up.x + y * b.up.y + z * b.up.z, depth);
    }
    double distance = fmax((across.a - across.b) / (2 * across.k), (upward.a - upward.b) / (2 * upward.k));
    double s = 0.5 * (across.a + across.b), u = 0.5 * (upward.a + upward.b);
    weir_point target = {box.min.x + half[0] + s * b.right.x + u * b.up.x, box.min.y + half[1] + s * b.right.y + u * b.up.y,
                         box.min.z + half[2] + s * b.right.z + u * b.up.z};
    return (weir_camera){
        .position = {target.x - distance * b.forward.x, target.y - distance * b.forward.y, target.z - distance * b.forward.z},
        .target = target,
        .fov = fov,
    };
}
