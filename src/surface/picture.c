// Pictures: from a definition to pixels. Every pixel gets one ray; where neighbours then differ much, three more.
#include "surface/picture_scene.h"

#include <assert.h>
#include <string.h>

enum {
    TILE = 32,             // pixels along the edge of a piece of work
    EDGE_DIFFERENCE = 36,  // between neighbours, summed over the colours, from which a pixel gets more rays
    LIGHT_STEPS = 4096     // of the table from light to bytes
};

static const weir_vec DEFAULT_SUN = {0.42f, 0.80f, 0.36f};

typedef struct drawing {
    picture_scene scene;
    uint8_t *rgb;
    uint8_t *edges;  // pixels that get more rays
    uint8_t shown[LIGHT_STEPS + 1];
    float light[256];  // and back
} drawing;

// ---- Definitions -----------------------------------------------------------------------------------------------------------

const char *weir_look_name(weir_look look)
{
    static const char *const names[WEIR_LOOK_COUNT] = {"water", "voxel", "flow", "pressure", "fill", "temperature"};
    return (int32_t)look >= 0 && look < WEIR_LOOK_COUNT ? names[look] : NULL;
}

weir_picture_def weir_picture_def_default(void)
{
    return (weir_picture_def){.width = 1280, .height = 720, .sun = DEFAULT_SUN, .least_fill = 0.05f};
}

static weir_picture_def complete(const weir_picture_def *given)
{
    weir_picture_def def = *given, usual = weir_picture_def_default();
    if (def.width == 0) def.width = usual.width;
    if (def.height == 0) def.height = usual.height;
    if (def.least_fill == 0) def.least_fill = usual.least_fill;
    if (vec_dot(def.sun, def.sun) == 0) def.sun = usual.sun;
    return def;
}

static bool is_finite(weir_vec v)
{
    return isfinite(v.x) && isfinite(v.y) && isfinite(v.z);
}

static bool is_near(weir_point p)
{
    double most = 4.0 * WEIR_COORD_LIMIT;
    return fabs(p.x) <= most && fabs(p.y) <= most && fabs(p.z) <= most;
}

static weir_status check_camera(const weir_camera *c)
{
    if (c->fov == 0) return WEIR_OK;
    if (!(c->fov >= 1 && c->fov <= 150))
        return status_fail(WEIR_ERROR_ARGUMENT, "the camera's field of view is %g degrees; it must be from 1 to 150", c->fov);
    if (!is_near(c->position) || !is_near(c->target))
        return status_fail(WEIR_ERROR_ARGUMENT, "the camera's position or target is not a place in or near a world");
    double x = c->target.x - c->position.x, y = c->target.y - c->position.y, z = c->target.z - c->position.z;
    if (x * x + y * y + z * z < 1e-12)
        return status_fail(WEIR_ERROR_ARGUMENT, "the camera's position (%g, %g, %g) is its target as well: it looks nowhere",
                           c->position.x, c->position.y, c->position.z);
    return WEIR_OK;
}

weir_status weir_picture_def_check(const weir_picture_def *given)
{
    weir_picture_def def = complete(given);
    int32_t most = WEIR_PICTURE_LIMIT;
    if (def.width < 1 || def.height < 1 || def.width > most || def.height > most)
        return status_fail(WEIR_ERROR_ARGUMENT, "a picture of %d x %d pixels; it must be from 1 to %d each way", def.width,
                           def.height, most);
    if (!weir_look_name(def.look)) return status_fail(WEIR_ERROR_ARGUMENT, "there is no look %d", (int)def.look);
    if (!is_finite(def.direction) || !is_finite(def.sun))
        return status_fail(WEIR_ERROR_ARGUMENT, "the direction of the camera or of the sun is not a number");
    if (!(def.least_fill >= 0 && def.least_fill <= 2))
        return status_fail(WEIR_ERROR_ARGUMENT, "least_fill is %g; it must be a number from 0 to 2", def.least_fill);
    if (!(def.clarity >= 0) || !isfinite(def.clarity))
        return status_fail(WEIR_ERROR_ARGUMENT, "clarity is %g; it must be a number of cells", def.clarity);
    if (!(def.range >= 0) || !isfinite(def.range))
        return status_fail(WEIR_ERROR_ARGUMENT, "range is %g; it must be a number of at least 0", def.range);
    if (!(def.range_low >= 0) || (def.range > 0 && !(def.range_low < def.range)))
        return status_fail(WEIR_ERROR_ARGUMENT, "range_low is %g; it must be a number of at least 0, below a range of %g",
                           def.range_low, def.range);
    return check_camera(&def.camera);
}

// ---- The scene -------------------------------------------------------------------------------------------------------------

// A world without bounds is framed by what is in it.
static weir_box world_box(const picture_grid *g)
{
    if (g->bounded) return g->world->terrain.bounds;
    weir_coord low = {8 * g->origin.x, 8 * g->origin.y, 8 * g->origin.z};
    weir_coord extent = {(int32_t)fmax(8, g->high[0]), (int32_t)fmax(8, g->high[1]), (int32_t)fmax(8, g->high[2])};
    return (weir_box){low, {low.x + extent.x, low.y + extent.y, low.z + extent.z}};
}

static bool eye_in_water(const picture_scene *s)
{
    const picture_grid *g = &s->grid;
    for (int32_t axis = 0; axis < 3; axis++)
        if (s->eye[axis] < g->low[axis] || s->eye[axis] >= g->high[axis]) return false;
    int32_t x = (int32_t)s->eye[0], y = (int32_t)s->eye[1], z = (int32_t)s->eye[2];
    const grid_block *block = &g->blocks[grid_at(g, x >> 3, y >> 3, z >> 3)];
    int32_t cell = (x & 7) + 8 * (y & 7) + 64 * (z & 7);
    if (!block->any) return false;
    if (!mask_has(&block->mixed, cell)) return mask_has(&block->water, cell);
    four_floats u = {(float)(s->eye[0] - x), (float)(s->eye[1] - y), (float)(s->eye[2] - z), 0};
    return grid_fill(grid_corner(block->tile, x & 7, y & 7, z & 7), u) >= GRID_SURFACE;
}

// In proportion to the world, so that a scene looks the same at any size; a narrow one would be pale otherwise.
static float usual_clarity(const picture_grid *g)
{
    if (!g->bounded) return 24;
    double sum = 0, narrowest = WALK_FAR;
    for (int32_t axis = 0; axis < 3; axis++) {
        double edge = g->bounds_high[axis] - g->bounds_low[axis];
        sum += edge;
        narrowest = edge < narrowest ? edge : narrowest;
    }
    return (float)(sum / 8 < 2 * narrowest ? sum / 8 : 2 * narrowest);
}

static void set_scene(picture_scene *s, const weir_picture_def *def)
{
    const picture_grid *g = &s->grid;
    const terrain *t = &g->world->terrain;
    double aspect = (double)def->width / def->height;
    weir_box box = world_box(g);
    weir_camera camera = def->camera;
    if (camera.fov == 0) camera = weir_camera_frame(box, def->direction, 0, aspect);
    s->look = def->look;
    s->width = def->width;
    s->height = def->height;
    s->basis = camera_basis_of(&camera, aspect);
    s->pixel = 2 * s->basis.half_height / (float)def->height;
    s->eye[0] = camera.position.x - 8.0 * g->origin.x;
    s->eye[1] = camera.position.y - 8.0 * g->origin.y;
    s->eye[2] = camera.position.z - 8.0 * g->origin.z;
    s->sun = vec_unit(def->sun);
    s->floor = t->bounded && !(t->open_sides & WEIR_SIDE_Y_MIN);
    float clarity = def->clarity > 0 ? def->clarity : usual_clarity(g);
    s->absorb = vec_scale(vec(2.8f, 1.10f, 0.70f), 1 / clarity);
    picture_set_liquids(s, clarity);
    picture_set_gas(s, clarity);
    for (int32_t axis = 0; axis < 3; axis++) {
        s->near_corner[axis] = s->floor && g->bounds_low[axis] < g->low[axis] ? g->bounds_low[axis] : g->low[axis];
        s->far_corner[axis] =
            s->floor && g->bounds_high[axis] > g->high[axis] && axis != 1 ? g->bounds_high[axis] : g->high[axis];
    }
    s->eye_in_water = g->smooth && eye_in_water(s);
    const bool warm = def->look == WEIR_LOOK_TEMPERATURE;
    const bool ranged = def->look == WEIR_LOOK_FLOW || def->look == WEIR_LOOK_PRESSURE || warm;
    s->range = !ranged ? 1 : def->range > 0 ? def->range : weir_world_range(g->world, def->look);
    s->low = !warm ? 0 : def->range > 0 ? def->range_low : weir_world_range_low(g->world, def->look);
    if (!(s->range > s->low)) s->range = s->low + 1;
    if (!g->smooth) picture_set_colours(s);
}

// ---- Pixels ----------------------------------------------------------------------------------------------------------------

static weir_vec direction_at(const picture_scene *s, float x, float y)
{
    const camera_basis *b = &s->basis;
    float across = (2 * x / (float)s->width - 1) * b->half_width, upward = (1 - 2 * y / (float)s->height) * b->half_height;
    return vec_add(b->forward, vec_add(vec_scale(b->right, across), vec_scale(b->up, upward)));
}

// What is seen at a place of the picture, in pixels from its upper left corner.
static weir_vec look_at(const picture_scene *s, float x, float y)
{
    weir_vec direction = vec_unit(direction_at(s, x, y));
    return s->grid.smooth ? picture_trace_water(s, direction) : picture_trace_cubes(s, direction);
}

// The displays' curve (sRGB).
static float shown_of_light(float light)
{
    return light <= 0.0031308f ? 12.92f * light : 1.055f * powf(light, 1 / 2.4f) - 0.055f;
}

static float light_of_shown(float shown)
{
    return shown <= 0.04045f ? shown / 12.92f : powf((shown + 0.055f) / 1.055f, 2.4f);
}

weir_vec picture_light(weir_vec shown)
{
    return vec(light_of_shown(shown.x), light_of_shown(shown.y), light_of_shown(shown.z));
}

static uint8_t byte_of(const drawing *d, float light)
{
    return d->shown[(int32_t)(clampf(light, 0, 1) * LIGHT_STEPS + 0.5f)];
}

static void put(const drawing *d, int32_t x, int32_t y, weir_vec light)
{
    uint8_t *pixel = d->rgb + 3 * ((size_t)y * (size_t)d->scene.width + (size_t)x);
    pixel[0] = byte_of(d, light.x);
    pixel[1] = byte_of(d, light.y);
    pixel[2] = byte_of(d, light.z);
}

typedef struct tile_area {
    int32_t x0, x1, y0, y1;
} tile_area;

static int32_t tiles_across(int32_t pixels)
{
    return (pixels + TILE - 1) / TILE;
}

static tile_area tile_at(const picture_scene *s, int32_t index)
{
    int32_t across = tiles_across(s->width), x = index % across * TILE, y = index / across * TILE;
    return (tile_area){x, x + TILE < s->width ? x + TILE : s->width, y, y + TILE < s->height ? y + TILE : s->height};
}

// Whether all that is not sky lies on the outer side of the plane through the eye and two places of the picture's edge.
static bool all_beyond(const picture_scene *s, weir_vec from, weir_vec to)
{
    weir_vec n = vec_cross(from, to);
    for (int32_t corner = 0; corner < 8; corner++) {
        double side = 0;
        const double parts[3] = {n.x, n.y, n.z};
        for (int32_t axis = 0; axis < 3; axis++)
            side += parts[axis] * ((corner >> axis & 1 ? s->far_corner[axis] : s->near_corner[axis]) - s->eye[axis]);
        if (side <= 1e-6) return false;
    }
    return true;
}

static bool is_sky(const picture_scene *s, tile_area a)
{
    weir_vec c[4] = {direction_at(s, (float)a.x0, (float)a.y0), direction_at(s, (float)a.x0, (float)a.y1),
                     direction_at(s, (float)a.x1, (float)a.y1), direction_at(s, (float)a.x1, (float)a.y0)};
    for (int32_t i = 0; i < 4; i++)
        if (all_beyond(s, c[i], c[(i + 1) % 4])) return true;
    return false;
}

static void draw_tiles(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const drawing *d = context;
    const picture_scene *s = &d->scene;
    for (int32_t i = begin; i < end; i++) {
        tile_area a = tile_at(s, i);
        bool sky = is_sky(s, a);
        for (int32_t y = a.y0; y < a.y1; y++) {
            for (int32_t x = a.x0; x < a.x1; x++) {
                float at_x = (float)x + 0.5f, at_y = (float)y + 0.5f;
                put(d, x, y, sky ? picture_sky(vec_unit(direction_at(s, at_x, at_y))) : look_at(s, at_x, at_y));
            }
        }
    }
}

static bool differ(const uint8_t *a, const uint8_t *b)
{
    int32_t red = a[0] - b[0], green = a[1] - b[1], blue = a[2] - b[2];
    return (red < 0 ? -red : red) + (green < 0 ? -green : green) + (blue < 0 ? -blue : blue) > EDGE_DIFFERENCE;
}

// Whether a pixel differs from its right (1) and from its lower neighbour (2).
static void find_edges(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    const drawing *d = context;
    int32_t width = d->scene.width, height = d->scene.height;
    for (int32_t y = begin; y < end; y++) {
        const uint8_t *row = d->rgb + 3 * (size_t)y * (size_t)width, *below = y + 1 < height ? row + 3 * (size_t)width : row;
        uint8_t *edges = d->edges + (size_t)y * (size_t)width;
        for (int32_t x = 0; x < width; x++) {
            const uint8_t *right = x + 1 < width ? row + 3 * (x + 1) : row + 3 * x;
            edges[x] = (uint8_t)(differ(row + 3 * x, right) | differ(row + 3 * x, below + 3 * x) << 1);
        }
    }
}

static bool on_edge(const drawing *d, int32_t x, int32_t y)
{
    const uint8_t *edge = d->edges + (size_t)y * (size_t)d->scene.width + (size_t)x;
    return *edge || (x > 0 && edge[-1] & 1) || (y > 0 && edge[-d->scene.width] & 2);
}

static weir_vec light_of(const drawing *d, int32_t x, int32_t y)
{
    const uint8_t *pixel = d->rgb + 3 * ((size_t)y * (size_t)d->scene.width + (size_t)x);
    return vec(d->light[pixel[0]], d->light[pixel[1]], d->light[pixel[2]]);
}

// Three places around the middle of a pixel, no two in one row or column.
static void smooth_tiles(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    static const float at[3][2] = {{0.25f, 0.15f}, {0.90f, 0.35f}, {0.35f, 0.90f}};
    const drawing *d = context;
    for (int32_t i = begin; i < end; i++) {
        tile_area a = tile_at(&d->scene, i);
        for (int32_t y = a.y0; y < a.y1; y++) {
            for (int32_t x = a.x0; x < a.x1; x++) {
                if (!on_edge(d, x, y)) continue;
                weir_vec sum = light_of(d, x, y);
                for (int32_t k = 0; k < 3; k++) {
                    weir_vec light = look_at(&d->scene, (float)x + at[k][0], (float)y + at[k][1]);
                    // Light that the picture cannot show must not outweigh the rest of the pixel.
                    sum = vec_add(sum, vec(least_of(light.x, 1), least_of(light.y, 1), least_of(light.z, 1)));
                }
                put(d, x, y, vec_scale(sum, 0.25f));
            }
        }
    }
}

static void draw(drawing *d)
{
    const picture_scene *s = &d->scene;
    for (int32_t i = 0; i <= LIGHT_STEPS; i++) d->shown[i] = (uint8_t)(255 * shown_of_light((float)i / LIGHT_STEPS) + 0.5f);
    for (int32_t i = 0; i < 256; i++) d->light[i] = light_of_shown((float)i / 255);
    int32_t tiles = tiles_across(s->width) * tiles_across(s->height);
    picture_grid_run(&s->grid, draw_tiles, d, tiles, 1);
    picture_grid_run(&s->grid, find_edges, d, s->height, 16);
    picture_grid_run(&s->grid, smooth_tiles, d, tiles, 1);
    picture_legend(s, d->rgb);
}

weir_status weir_world_draw(const weir_world *world, const weir_picture_def *given, uint8_t *rgb)
{
    assert(world && given && rgb);
    weir_status status = weir_picture_def_check(given);
    if (status != WEIR_OK) return status;
    weir_picture_def def = complete(given);
    if (def.look == WEIR_LOOK_TEMPERATURE && !weir_world_knows_temperature(world))
        return status_fail(WEIR_ERROR_UNSUPPORTED,
                           "the look temperature has nothing to show: the solver %s knows no temperature",
                           weir_solver_name(weir_world_solver(world)));

    drawing d = {.rgb = rgb};
    picture_grid *grid = &d.scene.grid;
    size_t pixels = (size_t)def.width * (size_t)def.height;
    status = picture_grid_make(grid, world, def.look, def.least_fill);
    if (status == WEIR_OK) {
        d.edges = memory_alloc(&grid->mem, pixels);
        if (!d.edges) status = status_fail(WEIR_ERROR_MEMORY, "memory ran out for a picture of %d x %d", def.width, def.height);
    }
    if (status == WEIR_OK) {
        set_scene(&d.scene, &def);
        draw(&d);
    }
    memory_free(&grid->mem, d.edges, pixels);
    picture_grid_free(grid);
    return status;
}
