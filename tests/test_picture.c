// Pictures: what is where in them, that they are the same however they are drawn, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_memory.h"

#include "surface/picture_scene.h"
#include "test_locale.h"
#include "test_world.h"
#include <math.h>

typedef struct colour {
    int32_t red, green, blue;
} colour;

typedef struct picture {
    int32_t width, height;
    uint8_t *rgb;
} picture;

static picture draw(const weir_world *world, const weir_picture_def *def)
{
    picture p = {def->width, def->height, malloc((size_t)def->width * (size_t)def->height * 3)};
    assert_non_null(p.rgb);
    if (weir_world_draw(world, def, p.rgb) != WEIR_OK) fail_msg("%s", weir_error_message());
    return p;
}

static colour pixel(const picture *p, int32_t x, int32_t y)
{
    const uint8_t *at = p->rgb + 3 * ((size_t)y * (size_t)p->width + (size_t)x);
    return (colour){at[0], at[1], at[2]};
}

static void assert_same(const picture *a, const picture *b)
{
    assert_int_equal(a->width, b->width);
    assert_int_equal(a->height, b->height);
    assert_memory_equal(a->rgb, b->rgb, (size_t)a->width * (size_t)a->height * 3);
}

static weir_picture_def small(weir_look look)
{
    weir_picture_def def = weir_picture_def_default();
    def.width = 96;
    def.height = 64;
    def.look = look;
    return def;
}

// From the front: x to the right, y up.
static weir_camera front_camera(double x, double y, double z, double distance)
{
    return (weir_camera){.position = {x, y, z + distance}, .target = {x, y, z}, .fov = 40};
}

static bool is_sky(colour c)
{
    return c.blue > 150 && c.red > 120 && c.blue >= c.red;
}

static bool is_deep_blue(colour c)
{
    return c.blue > 90 && c.red < 20 && c.green < 20;
}

// ---- What is where ---------------------------------------------------------------------------------------------------------

static void an_empty_world_is_all_sky(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
        weir_picture_def view = small((weir_look)look);
        view.width = 320;  // room for a legend, which lies in the upper left
        picture p = draw(world, &view);
        assert_true(is_sky(pixel(&p, 300, 10)));
        assert_true(is_sky(pixel(&p, 160, 60)));
        free(p.rgb);
    }
    weir_world_destroy(world);
}

static void full_cubes_are_deep_blue_and_thin_ones_lighter(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(-8, -4, 0, 0, 4, 4), 1);
    test_fill(world, test_box(0, -4, 0, 8, 4, 4), 0.25f);
    weir_picture_def view = small(WEIR_LOOK_VOXEL);
    view.camera = front_camera(0, 0, 4, 20);
    picture p = draw(world, &view);
    colour full = pixel(&p, 40, 32), thin = pixel(&p, 56, 32);
    assert_true(is_deep_blue(full));
    assert_true(thin.green > 50 && thin.red < 20 && thin.blue > 90);
    assert_true(is_sky(pixel(&p, 2, 2)));
    assert_true(is_sky(pixel(&p, 93, 61)));
    free(p.rgb);
    weir_world_destroy(world);
}

// What one ray that goes to the middle of a cell sees, from 6 cells before it: no surface of the water bends it.
static colour seen_along(const weir_world *world, weir_look look, weir_coord cell, weir_vec way)
{
    weir_picture_def view = small(look);
    weir_point middle = {cell.x + 0.5, cell.y + 0.5, cell.z + 0.5};
    view.width = view.height = 1;
    view.camera = (weir_camera){{middle.x - 6 * way.x, middle.y - 6 * way.y, middle.z - 6 * way.z}, middle, 1};
    picture p = draw(world, &view);
    colour c = pixel(&p, 0, 0);
    free(p.rgb);
    return c;
}

static bool same_colour(colour a, colour b)
{
    return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

// Rays pass a brick at once where nothing is near their way. A cube in the air and a stone in the water are seen in every cell of a
// brick.
static void a_single_cell_is_seen_wherever_it_lies(void **state)
{
    static const weir_vec ways[] = {{0.6f, -0.3f, 0.74f}, {-0.5f, 0.8f, 0.33f}, {0.35f, 0.4f, -0.85f}, {-0.9f, -0.2f, -0.4f}};
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *air = test_make(&def), *water = test_make(&def);
    test_fill(water, test_box(-8, -8, -8, 16, 16, 16), 1);
    // An odd stride meets all ways and all rows.
    for (int32_t i = 0; i < 512; i += test_length(1, 5)) {
        weir_coord at = {i & 7, i >> 3 & 7, i >> 6};
        weir_box cell = {at, {at.x + 1, at.y + 1, at.z + 1}};
        weir_vec way = ways[(at.x + at.y + at.z) % 4];
        colour no_cube = seen_along(air, WEIR_LOOK_VOXEL, at, way), no_stone = seen_along(water, WEIR_LOOK_WATER, at, way);
        test_fill(air, cell, 1);
        assert_ok(weir_world_build(water, cell, 255));
        bool cube = !same_colour(seen_along(air, WEIR_LOOK_VOXEL, at, way), no_cube);
        bool stone = !same_colour(seen_along(water, WEIR_LOOK_WATER, at, way), no_stone);
        if (!cube || !stone) fail_msg("no %s at %d, %d, %d", cube ? "stone" : "cube", at.x, at.y, at.z);
        assert_ok(weir_world_drain(air, cell));
        assert_ok(weir_world_dig(water, cell));
        test_fill(water, cell, 1);
    }
    weir_world_destroy(air);
    weir_world_destroy(water);
}

static void up_is_up_and_right_is_right(void **state)
{
    static const weir_look looks[] = {WEIR_LOOK_WATER, WEIR_LOOK_VOXEL};
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    // Terrain to the right and water above, nothing to the left and below.
    assert_ok(weir_world_build(world, test_box(6, -2, 0, 10, 2, 4), 255));
    test_fill(world, test_box(-2, 6, 0, 2, 10, 4), 1);
    for (size_t i = 0; i < 2; i++) {
        weir_picture_def view = small(looks[i]);
        view.camera = front_camera(0, 0, 4, 32);
        picture p = draw(world, &view);
        colour right = pixel(&p, 48 + 22, 32), left = pixel(&p, 48 - 22, 32);
        colour above = pixel(&p, 48, 32 - 22), below = pixel(&p, 48, 32 + 22);
        assert_true(right.red > right.blue && right.red > 40);  // stone is warm
        assert_true(is_sky(left) && is_sky(below));
        assert_true(above.blue > above.red + 20);
        free(p.rgb);
    }
    weir_world_destroy(world);
}

static void a_floor_is_drawn_and_walls_are_not(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    weir_world *world = test_make(&def);
    weir_picture_def view = small(WEIR_LOOK_WATER);
    view.camera = (weir_camera){{8, 12, 40}, {8, 4, 8}, 40};
    picture p = draw(world, &view);
    colour floor = pixel(&p, 48, 44);
    assert_true(floor.red > floor.blue);
    assert_true(is_sky(pixel(&p, 48, 4)));
    free(p.rgb);

    // One that is open has no floor.
    weir_world_destroy(world);
    def.open_sides = WEIR_SIDE_Y_MIN;
    world = test_make(&def);
    p = draw(world, &view);
    assert_true(is_sky(pixel(&p, 48, 44)));
    free(p.rgb);
    weir_world_destroy(world);
}

static void water_against_a_wall_is_seen_as_through_glass(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 8, 16), 1);
    weir_picture_def view = small(WEIR_LOOK_WATER);
    view.camera = front_camera(8, 8, 16, 24);
    picture p = draw(world, &view);
    colour above = pixel(&p, 48, 24), below = pixel(&p, 48, 44);
    assert_true(is_sky(above));
    assert_true(below.blue > below.red + 60);
    // The side is flat: one colour along a row.
    colour beside = pixel(&p, 40, 44);
    assert_true(abs(beside.green - below.green) < 12);
    free(p.rgb);
    weir_world_destroy(world);
}

// Entering, the ray meets the surface at one depth in the cells, and leaving at another, all over the sheet: neither may show.
static void a_thin_sheet_of_water_is_smooth(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(-20, -20, 0, 20, 20, 2), 0.7f);
    weir_picture_def view = small(WEIR_LOOK_WATER);
    view.camera = (weir_camera){{14, 9, 24}, {0, 0, 1}, 40};
    view.clarity = 3;
    picture p = draw(world, &view);
    int32_t roughest = 0;
    for (int32_t y = 12; y < 52; y++) {
        for (int32_t x = 24; x < 72; x++) {
            colour a = pixel(&p, x, y), b = pixel(&p, x + 1, y);
            int32_t step = abs(a.red - b.red) + abs(a.green - b.green) + abs(a.blue - b.blue);
            roughest = step > roughest ? step : roughest;
        }
    }
    assert_true(pixel(&p, 48, 32).blue > pixel(&p, 48, 32).red + 40);
    assert_in_range(roughest, 0, 6);
    free(p.rgb);
    weir_world_destroy(world);
}

static void terrain_casts_shadows(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 32, 32, 32);
    weir_world *world = test_make(&def);
    weir_picture_def view = small(WEIR_LOOK_WATER);
    view.camera = (weir_camera){{16, 60, 16.1}, {16, 0, 16}, 40};
    view.sun = (weir_vec){-1, 1, 0};
    picture before = draw(world, &view);
    assert_ok(weir_world_build(world, test_box(8, 0, 12, 12, 12, 20), 255));
    picture after = draw(world, &view);
    // The sun stands to the left, so the shadow lies to the right of the block, which ends at x = 12.
    colour lit = pixel(&before, 54, 33), shaded = pixel(&after, 54, 33);
    assert_true(shaded.red < lit.red - 30);
    assert_true(abs(pixel(&before, 54, 52).red - pixel(&after, 54, 52).red) < 4);
    free(before.rgb);
    free(after.rgb);
    weir_world_destroy(world);
}

static void a_framed_box_is_wholly_in_the_picture(void **state)
{
    static const weir_vec directions[] = {{0, 0, 0}, {0, -1, 0}, {1, -0.5f, 0.2f}, {-0.3f, 0.4f, -1}};
    weir_box box = test_box(-40, 5, 100, 60, 25, 130);
    for (size_t i = 0; i < sizeof directions / sizeof directions[0]; i++) {
        double aspect = i % 2 ? 0.5 : 16.0 / 9;
        weir_camera camera = weir_camera_frame(box, directions[i], 0, aspect);
        camera_basis b = camera_basis_of(&camera, aspect);
        float widest = 0;
        for (int32_t corner = 0; corner < 8; corner++) {
            weir_vec p = vec((float)((corner & 1 ? box.max.x : box.min.x) - camera.position.x),
                             (float)((corner & 2 ? box.max.y : box.min.y) - camera.position.y),
                             (float)((corner & 4 ? box.max.z : box.min.z) - camera.position.z));
            float forward = vec_dot(p, b.forward);
            assert_true(forward > 0);
            float across = fabsf(vec_dot(p, b.right)) / forward / b.half_width;
            float upward = fabsf(vec_dot(p, b.up)) / forward / b.half_height;
            assert_true(across < 1 && upward < 1);
            widest = fmaxf(widest, fmaxf(across, upward));
        }
        assert_true(widest > 0.9f);
    }
}

// ---- The same however it is drawn ------------------------------------------------------------------------------------------

static scene_run *splash(int32_t threads, weir_backend backend)
{
    scene_options options = scene_options_default();
    options.size = 16;
    options.def.threads = threads;
    options.def.backend = backend;
    scene_run *run;
    if (scene_open(scene_find("dambreak"), &options, &run) != WEIR_OK) return NULL;
    assert_ok(scene_updates(run, 60));
    return run;
}

static void pictures_do_not_depend_on_threads(void **state)
{
    static const int32_t threads[] = {1, 2, 3, 8};
    picture one[WEIR_LOOK_TEMPERATURE];
    for (size_t i = 0; i < 4; i++) {
        scene_run *run = splash(threads[i], WEIR_BACKEND_CPU);
        for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
            weir_picture_def view = small((weir_look)look);
            view.width = 200;
            view.height = 120;
            picture p = draw(run->world, &view);
            if (i > 0) assert_same(&one[look], &p);
            if (i > 0)
                free(p.rgb);
            else
                one[look] = p;
        }
        scene_close(run);
    }
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) free(one[look].rgb);
}

static void pictures_do_not_depend_on_the_backend(void **state)
{
    int32_t devices;
    if (weir_devices(WEIR_BACKEND_OPENCL, NULL, 0, &devices) != WEIR_OK) skip();
    scene_run *run = splash(1, WEIR_BACKEND_CPU), *there = splash(1, WEIR_BACKEND_OPENCL);
    if (!there) fail_msg("%s", scene_error());
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
        weir_picture_def view = small((weir_look)look);
        picture here = draw(run->world, &view), device = draw(there->world, &view);
        assert_same(&here, &device);
        free(here.rgb);
        free(device.rgb);
    }
    scene_close(run);
    scene_close(there);
}

static void drawing_changes_nothing(void **state)
{
    scene_run *run = splash(2, WEIR_BACKEND_CPU);
    uint64_t hash = weir_world_hash(run->world);
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
        weir_picture_def view = small((weir_look)look);
        picture a = draw(run->world, &view), b = draw(run->world, &view);
        assert_same(&a, &b);
        free(a.rgb);
        free(b.rgb);
    }
    assert_int_equal(weir_world_hash(run->world), hash);
    scene_close(run);
}

static weir_world *place_scene(int32_t far)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(far - 12, -2, far - 12, far + 12, 0, far + 12), 255));
    assert_ok(weir_world_build(world, test_box(far - 6, 0, far - 2, far - 3, 7, far + 2), 255));
    assert_ok(weir_world_fill_sphere(world, (weir_sphere){{far, 6, far}, 5}, WEIR_WATER, 1));
    test_step(world, 4);
    return world;
}

static void a_far_world_looks_as_a_near_one(void **state)
{
    static const weir_look looks[] = {WEIR_LOOK_WATER, WEIR_LOOK_VOXEL};
    enum { FAR = 1000000 };
    weir_world *near = place_scene(0), *far = place_scene(FAR);
    for (size_t i = 0; i < 2; i++) {
        weir_picture_def view = small(looks[i]);
        view.camera = (weir_camera){{10, 14, 30}, {0, 3, 0}, 40};
        picture here = draw(near, &view);
        view.camera.position.x += FAR, view.camera.position.z += FAR;
        view.camera.target.x += FAR, view.camera.target.z += FAR;
        picture there = draw(far, &view);
        int32_t different = 0, bytes = here.width * here.height * 3;
        for (int32_t k = 0; k < bytes; k++) different += abs(here.rgb[k] - there.rgb[k]) > 3;
        assert_true(different < bytes / 200);
        free(here.rgb);
        free(there.rgb);
    }
    weir_world_destroy(near);
    weir_world_destroy(far);
}

static void a_world_spread_wide_is_drawn_as_its_parts_are(void **state)
{
    // Water so far off that the grid over all of it is a coarse one changes nothing here, but for what is seen far behind.
    weir_world *world = place_scene(0);
    weir_picture_def view = small(WEIR_LOOK_VOXEL);
    view.camera = (weir_camera){{10, 14, 30}, {0, 3, 0}, 40};
    picture alone = draw(world, &view);
    view.look = WEIR_LOOK_WATER;
    picture alone_water = draw(world, &view);
    test_fill(world, test_box(900000000, 900000000, 900000000, 900000004, 900000004, 900000004), 1);
    picture both_water = draw(world, &view);
    view.look = WEIR_LOOK_VOXEL;
    picture both = draw(world, &view);
    int32_t different = 0, bytes = alone.width * alone.height * 3;
    for (int32_t k = 0; k < bytes; k++) different += abs(alone.rgb[k] - both.rgb[k]) > 3;
    assert_true(different < bytes / 200);
    different = 0;
    for (int32_t k = 0; k < bytes; k++) different += abs(alone_water.rgb[k] - both_water.rgb[k]) > 3;
    assert_true(different < bytes / 200);
    free(alone.rgb);
    free(both.rgb);
    free(alone_water.rgb);
    free(both_water.rgb);
    weir_world_destroy(world);
}

static void a_background_step_leaves_the_picture_as_it_was(void **state)
{
    for (int32_t look = 0; look < WEIR_LOOK_TEMPERATURE; look++) {
        weir_picture_def view = small((weir_look)look);
        scene_run *run = splash(2, WEIR_BACKEND_CPU);
        picture before = draw(run->world, &view);
        assert_ok(weir_world_step_begin(run->world));
        picture during = draw(run->world, &view);
        assert_same(&before, &during);
        assert_ok(weir_world_step_end(run->world));
        test_step(run->world, 10);
        picture after = draw(run->world, &view);
        assert_memory_not_equal(before.rgb, after.rgb, (size_t)before.width * (size_t)before.height * 3);
        free(before.rgb);
        free(during.rgb);
        free(after.rgb);
        scene_close(run);
    }
}

// ---- Every scene -----------------------------------------------------------------------------------------------------------

// Not one colour, and no pixel black: neither NaN nor a ray that got lost.
static void assert_sound(const picture *p, const char *scene, weir_look look)
{
    int32_t pixels = p->width * p->height, black = 0, least = 255, most = 0;
    for (int32_t i = 0; i < pixels; i++) {
        int32_t sum = (p->rgb[3 * i] + p->rgb[3 * i + 1] + p->rgb[3 * i + 2]) / 3;
        black += sum < 6;
        least = sum < least ? sum : least;
        most = sum > most ? sum : most;
    }
    if (black > 0 || most - least < 30)
        fail_msg("%s, %s: %d black pixels, brightness from %d to %d", scene, weir_look_name(look), black, least, most);
}

static void every_scene_can_be_seen_in_every_look(void **state)
{
    for (int32_t i = 0; scene_at(i); i++) {
        const scene_def *def = scene_at(i);
        const weir_solver solver = test_can_play(def->name, WEIR_SOLVER_MOMENTUM) ? WEIR_SOLVER_MOMENTUM : def->solver;
        scene_run *run = test_open(def->name, solver, def->size_min, 0);
        for (int32_t update = 0; update <= 40; update += test_length(20, 40)) {
            assert_ok(scene_updates(run, update - run->update));
            for (int32_t look = 0; look < WEIR_LOOK_COUNT; look++) {
                if (look == WEIR_LOOK_TEMPERATURE && !weir_world_knows_temperature(run->world)) continue;
                weir_picture_def view = small((weir_look)look);
                view.direction = def->view;
                picture p = draw(run->world, &view);
                assert_sound(&p, def->name, (weir_look)look);
                free(p.rgb);
            }
        }
        scene_close(run);
    }
}

static void a_camera_anywhere_sees_something(void **state)
{
    static const weir_point places[] = {{4, 4, 4},  {16, 1, 4},     {16, 15.9, 4}, {0, 0, 0},
                                        {21, 2, 8}, {-500, 300, 8}, {16, 1e6, 8}};
    scene_run *run = splash(1, WEIR_BACKEND_CPU);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (int32_t look = 0; look < 2; look++) {
            weir_picture_def view = small((weir_look)look);
            view.camera = (weir_camera){places[i], {16, 3, 7}, 60};
            picture p = draw(run->world, &view);
            free(p.rgb);
        }
    }
    // Straight along the axes, on the faces of cells.
    for (int32_t axis = 0; axis < 3; axis++) {
        weir_picture_def view = small(WEIR_LOOK_WATER);
        view.camera = (weir_camera){{16, 8, 8}, {16, 8, 8}, 40};
        double *position[3] = {&view.camera.position.x, &view.camera.position.y, &view.camera.position.z};
        *position[axis] += 60;
        picture p = draw(run->world, &view);
        assert_sound(&p, "dambreak", WEIR_LOOK_WATER);
        free(p.rgb);
    }
    scene_close(run);
}

// ---- Terrain of the game's own ---------------------------------------------------------------------------------------------

static void flat_ground(void *user, weir_coord origin, uint8_t shares[512])
{
    int32_t *asked = user;
    (*asked)++;
    for (int32_t i = 0; i < 512; i++) shares[i] = origin.y + (i >> 3 & 7) < 0 ? 255 : 0;
}

static void terrain_of_the_game_is_drawn_around_the_water(void **state)
{
    int32_t asked = 0;
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    def.terrain = flat_ground;
    def.terrain_user = &asked;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 4, 4, 4), 1);
    test_step(world, 1);
    weir_picture_def view = small(WEIR_LOOK_WATER);
    view.camera = (weir_camera){{2, 20, 30}, {2, 0, 2}, 40};
    asked = 0;
    picture p = draw(world, &view);
    assert_true(asked > 0);
    colour ground = pixel(&p, 20, 36);
    assert_true(ground.red >= ground.blue && ground.red > 60);
    free(p.rgb);
    weir_world_destroy(world);
}

// ---- The map ---------------------------------------------------------------------------------------------------------------

static float luminance(weir_vec shown)
{
    weir_vec light = picture_light(shown);
    return 0.2126f * light.x + 0.7152f * light.y + 0.0722f * light.z;
}

static void assert_map(weir_look look)
{
    float last = 0;
    for (int32_t i = 0; i <= 64; i++) {
        float lightness = 116 * cbrtf(luminance(picture_map(look, (float)i / 64))) - 16;  // CIE L*
        assert_true(fabsf(lightness - (17 + 76 * (float)i / 64)) < 3);
        assert_true(lightness > last);
        last = lightness;
    }
    weir_vec unknown = picture_map(look, NAN), lowest = picture_map(look, 0);
    assert_memory_equal(&unknown, &lowest, sizeof unknown);
}

static void the_map_grows_lighter_evenly(void **state)
{
    assert_map(WEIR_LOOK_FLOW);
    assert_map(WEIR_LOOK_TEMPERATURE);
}

// ---- Several materials -----------------------------------------------------------------------------------------------------

// The middle of a picture from the front, of a box 8 cells wide and high and 4 deep that holds these, side by side.
static colour seen_of(weir_solver solver, weir_look look, weir_material first, float fill, weir_material second, float more)
{
    weir_world_def def = test_def(solver, 8, 8, 4);
    weir_world *world = test_make(&def);
    weir_picture_def view = small(look);
    view.camera = front_camera(4, 4, 4, 20);
    if (fill > 0) assert_ok(weir_world_fill(world, test_box(0, 0, 0, 8, 8, 4), first, fill));
    // What fills give is all of one material; an emitter adds another to it.
    if (more > 0) {
        assert_ok(weir_world_add_emitter(world, test_box(0, 0, 0, 8, 8, 4), second, more * 256, NULL));
        test_step(world, 1);
    }
    picture p = draw(world, &view);
    const colour seen = pixel(&p, 50, 34);
    free(p.rgb);
    weir_world_destroy(world);
    return seen;
}

static int32_t brightness(colour c)
{
    return c.red + c.green + c.blue;
}

static void colours_mix_by_the_share_of_each_material(void **state)
{
    const weir_solver mixture = WEIR_SOLVER_MIXTURE;
    const weir_look looks[2] = {WEIR_LOOK_VOXEL, WEIR_LOOK_WATER};
    for (int32_t i = 0; i < 2; i++) {
        const colour water = seen_of(mixture, looks[i], WEIR_WATER, 1, WEIR_NOTHING, 0);
        const colour honey = seen_of(mixture, looks[i], WEIR_HONEY, 1, WEIR_NOTHING, 0);
        const colour most = seen_of(mixture, looks[i], WEIR_HONEY, 0.75f, WEIR_WATER, 0.25f);
        const colour half = seen_of(mixture, looks[i], WEIR_HONEY, 0.5f, WEIR_WATER, 0.5f);
        assert_true(honey.red > water.red + 60 && water.blue > honey.blue + 60);
        assert_true(honey.red > most.red && most.red > half.red && half.red > water.red);
        assert_true(honey.blue < most.blue && most.blue < half.blue && half.blue < water.blue);
    }
}

static void gas_hides_the_more_the_more_there_is(void **state)
{
    const weir_solver mixture = WEIR_SOLVER_MIXTURE;
    const weir_look looks[2] = {WEIR_LOOK_VOXEL, WEIR_LOOK_WATER};
    for (int32_t i = 0; i < 2; i++) {
        const int32_t none = brightness(seen_of(mixture, looks[i], WEIR_SMOKE, 0, WEIR_NOTHING, 0));
        const int32_t thin = brightness(seen_of(mixture, looks[i], WEIR_SMOKE, 1.0f / 64, WEIR_NOTHING, 0));
        const int32_t usual = brightness(seen_of(mixture, looks[i], WEIR_SMOKE, 1.0f / 16, WEIR_NOTHING, 0));
        const int32_t thick = brightness(seen_of(mixture, looks[i], WEIR_SMOKE, 1.0f / 4, WEIR_NOTHING, 0));
        assert_true(none > thin + 3 && thin > usual + 10 && usual > thick + 30);
    }
}

static void hot_gas_glows(void **state)
{
    colour seen[2];
    for (int32_t hot = 0; hot < 2; hot++) {
        weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 8, 8, 4);
        weir_world *world = test_make(&def);
        weir_picture_def view = small(WEIR_LOOK_WATER);
        view.camera = front_camera(4, 4, 4, 20);
        assert_ok(weir_world_fill(world, def.bounds, WEIR_SMOKE, 0.25f));
        assert_ok(weir_world_set_temperature(world, def.bounds, hot ? 1500 : 700));
        picture p = draw(world, &view);
        seen[hot] = pixel(&p, 50, 34);
        free(p.rgb);
        weir_world_destroy(world);
    }
    assert_true(seen[1].red > seen[0].red + 50 && seen[1].red > 2 * seen[1].blue);
    assert_true(seen[0].red <= seen[0].blue + 10);
}

static void solids_and_metals_are_not_seen_through_and_lava_glows(void **state)
{
    // Each before a dark block of terrain and before the sky.
    const weir_material all[] = {WEIR_STONE, WEIR_LAVA, WEIR_MERCURY, WEIR_WATER};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        colour seen[2];
        for (int32_t wall = 0; wall < 2; wall++) {
            weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 8, 8, 8);
            weir_world *world = test_make(&def);
            weir_picture_def view = small(WEIR_LOOK_WATER);
            view.camera = front_camera(4, 4, 8, 20);
            view.clarity = 40;
            if (wall) assert_ok(weir_world_build(world, test_box(0, 0, 0, 8, 8, 4), 255));
            assert_ok(weir_world_fill(world, test_box(0, 0, 6, 8, 8, 8), all[i], 1));
            picture p = draw(world, &view);
            seen[wall] = pixel(&p, 50, 34);
            free(p.rgb);
            weir_world_destroy(world);
        }
        const bool same = abs(brightness(seen[0]) - brightness(seen[1])) < 3;
        assert_int_equal(same, all[i] != WEIR_WATER);
        if (all[i] == WEIR_LAVA) assert_true(seen[0].red > 180 && seen[0].red > 2 * seen[0].blue);
    }
}

static void ice_in_water_is_seen(void **state)
{
    colour seen[2];
    for (int32_t ice = 0; ice < 2; ice++) {
        weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 16, 16);
        weir_world *world = test_make(&def);
        weir_picture_def view = small(WEIR_LOOK_WATER);
        view.camera = front_camera(8, 8, 16, 40);
        assert_ok(weir_world_fill(world, test_box(0, 0, 0, 16, 16, 16), WEIR_WATER, 1));
        if (ice) assert_ok(weir_world_drain(world, test_box(4, 4, 8, 12, 12, 14)));
        if (ice) assert_ok(weir_world_fill(world, test_box(4, 4, 8, 12, 12, 14), WEIR_ICE, 1));
        picture p = draw(world, &view);
        seen[ice] = pixel(&p, 48, 32);
        free(p.rgb);
        weir_world_destroy(world);
    }
    assert_true(brightness(seen[1]) > brightness(seen[0]) + 40);
}

static void the_temperature_map_has_a_range_of_round_numbers(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 8, 8);
    weir_world *world = test_make(&def);
    assert_true(weir_world_range(world, WEIR_LOOK_TEMPERATURE) == 0);
    test_fill(world, test_box(0, 0, 0, 16, 8, 8), 1);
    assert_true(weir_world_range_low(world, WEIR_LOOK_TEMPERATURE) == 290);
    assert_true(weir_world_range(world, WEIR_LOOK_TEMPERATURE) == 300);
    assert_ok(weir_world_set_temperature(world, test_box(0, 0, 0, 8, 8, 8), 355));
    assert_true(weir_world_range_low(world, WEIR_LOOK_TEMPERATURE) == 280);
    assert_true(weir_world_range(world, WEIR_LOOK_TEMPERATURE) == 360);
    assert_true(weir_world_range_low(world, WEIR_LOOK_FLOW) == 0);

    weir_picture_def view = small(WEIR_LOOK_TEMPERATURE);
    view.camera = front_camera(8, 4, 8, 20);
    picture p = draw(world, &view), again;
    const colour warm = pixel(&p, 34, 32), cold = pixel(&p, 62, 32);
    assert_true(warm.red > cold.red && brightness(warm) > brightness(cold) + 100);
    view.range_low = 280;
    view.range = 360;
    again = draw(world, &view);
    assert_same(&p, &again);
    free(p.rgb);
    free(again.rgb);
    weir_world_destroy(world);
}

static void pictures_of_several_materials_do_not_depend_on_threads(void **state)
{
    for (int32_t look = 0; look < WEIR_LOOK_COUNT; look++) {
        picture first = {0};
        for (int32_t threads = 1; threads <= 3; threads++) {
            weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 20, 20, 12);
            def.threads = threads;
            weir_world *world = test_make(&def);
            assert_ok(weir_world_fill(world, test_box(0, 0, 0, 11, 9, 12), WEIR_OIL, 1));
            assert_ok(weir_world_fill(world, test_box(3, 9, 2, 9, 16, 10), WEIR_WATER, 1));
            assert_ok(weir_world_fill(world, test_box(14, 0, 4, 18, 3, 8), WEIR_SMOKE, 0.5f));
            assert_ok(weir_world_fill(world, test_box(12, 0, 4, 14, 3, 8), WEIR_ICE, 1));
            test_step(world, 3);
            const weir_picture_def view = small((weir_look)look);
            picture p = draw(world, &view);
            if (threads > 1) assert_same(&first, &p);
            if (threads > 1)
                free(p.rgb);
            else
                first = p;
            weir_world_destroy(world);
        }
        free(first.rgb);
    }
}

static void a_range_is_a_round_number_above_nearly_all(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 64, 16);
    weir_world *world = test_make(&def);
    assert_true(weir_world_range(world, WEIR_LOOK_FLOW) == 0);
    assert_true(weir_world_range(world, WEIR_LOOK_WATER) == 0);
    test_fill(world, test_box(4, 40, 4, 12, 48, 12), 1);
    assert_ok(weir_world_set_flow(world, test_box(4, 40, 4, 12, 48, 12), (weir_vec){0, -0.37f, 0}));
    float range = weir_world_range(world, WEIR_LOOK_FLOW);
    assert_true(fabsf(range - 0.4f) < 1e-4f);
    weir_world_destroy(world);
}

// ---- What is refused -------------------------------------------------------------------------------------------------------

static void assert_refused(const weir_picture_def *def, weir_status status, const char *word)
{
    weir_world_def world_def = test_def(WEIR_SOLVER_MOMENTUM, 8, 8, 8);
    weir_world *world = test_make(&world_def);
    uint8_t untouched[12] = {1, 2, 3};
    assert_int_equal(weir_world_draw(world, def, untouched), status);
    assert_int_equal(untouched[0], 1);
    if (!strstr(weir_error_message(), word)) fail_msg("'%s' does not say '%s'", weir_error_message(), word);
    weir_world_destroy(world);
}

static void definitions_that_make_no_sense_are_refused(void **state)
{
    weir_picture_def def = small(WEIR_LOOK_TEMPERATURE);
    assert_refused(&def, WEIR_ERROR_UNSUPPORTED, "temperature");
    def = small((weir_look)77);
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "look");
    def = small(WEIR_LOOK_WATER);
    def.width = -1;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "pixels");
    def.width = WEIR_PICTURE_LIMIT + 1;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "pixels");
    def = small(WEIR_LOOK_WATER);
    def.camera.fov = NAN;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "field of view");
    def.camera.fov = 170;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "field of view");
    def.camera = (weir_camera){{1, 2, 3}, {1, 2, 3}, 40};
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "nowhere");
    def.camera = (weir_camera){{NAN, 2, 3}, {1, 2, 3}, 40};
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "place");
    def.camera = (weir_camera){{INFINITY, 2, 3}, {1, 2, 3}, 40};
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "place");
    def = small(WEIR_LOOK_WATER);
    def.sun.x = NAN;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "sun");
    def = small(WEIR_LOOK_WATER);
    def.clarity = -1;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "clarity");
    def = small(WEIR_LOOK_VOXEL);
    def.least_fill = NAN;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "least_fill");
    def = small(WEIR_LOOK_FLOW);
    def.range = INFINITY;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "range");
    def = small(WEIR_LOOK_TEMPERATURE);
    def.range = 300, def.range_low = 310;
    assert_refused(&def, WEIR_ERROR_ARGUMENT, "range_low");
}

static void assert_memory_told(weir_solver solver)
{
    test_memory hooks = {0};
    weir_world_def def = test_def(solver, 32, 16, 16);
    def.allocator = test_memory_hooks(&hooks);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 8, 12, 16), 1);
    if (solver == WEIR_SOLVER_MIXTURE) assert_ok(weir_world_fill(world, test_box(8, 0, 0, 16, 8, 8), WEIR_SMOKE, 0.1f));
    test_step(world, 10);
    for (int32_t look = 0; look < 2; look++) {
        weir_picture_def view = small((weir_look)look);
        int64_t held = hooks.bytes;
        picture p = draw(world, &view);
        assert_int_equal(hooks.bytes, held);
        weir_status status = WEIR_ERROR_MEMORY;
        for (int32_t call = 1; status != WEIR_OK; call++) {
            assert_true(call < 20);
            hooks.calls = 0;
            hooks.fail_at = call;
            status = weir_world_draw(world, &view, p.rgb);
            hooks.fail_at = 0;
            if (status != WEIR_OK) assert_int_equal(status, WEIR_ERROR_MEMORY);
            assert_int_equal(hooks.bytes, held);
            if (call == 1) assert_int_equal(status, WEIR_ERROR_MEMORY);
        }
        free(p.rgb);
    }
    weir_world_destroy(world);
    assert_int_equal(hooks.bytes, 0);
}

static void memory_that_runs_out_is_told(void **state)
{
    assert_memory_told(WEIR_SOLVER_MOMENTUM);
    assert_memory_told(WEIR_SOLVER_MIXTURE);
}

static void a_legend_has_points_in_every_locale(void **state)
{
    if (!test_begin_comma()) skip();
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    weir_picture_def view = small(WEIR_LOOK_FLOW);
    view.width = 320;
    view.range = 0.25f;
    char number[16];
    snprintf(number, sizeof number, "%g", 0.5);
    assert_string_equal(number, "0,5");
    picture p = draw(world, &view);
    snprintf(number, sizeof number, "%g", 0.5);
    test_end_comma();
    assert_string_equal(number, "0,5");  // the game has its locale back
    picture plain = draw(world, &view);
    assert_same(&plain, &p);
    free(plain.rgb);
    free(p.rgb);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_world_is_all_sky),
        cmocka_unit_test(full_cubes_are_deep_blue_and_thin_ones_lighter),
        cmocka_unit_test(a_single_cell_is_seen_wherever_it_lies),
        cmocka_unit_test(up_is_up_and_right_is_right),
        cmocka_unit_test(a_floor_is_drawn_and_walls_are_not),
        cmocka_unit_test(water_against_a_wall_is_seen_as_through_glass),
        cmocka_unit_test(a_thin_sheet_of_water_is_smooth),
        cmocka_unit_test(terrain_casts_shadows),
        cmocka_unit_test(a_framed_box_is_wholly_in_the_picture),
        cmocka_unit_test(pictures_do_not_depend_on_threads),
        cmocka_unit_test(pictures_do_not_depend_on_the_backend),
        cmocka_unit_test(drawing_changes_nothing),
        cmocka_unit_test(a_far_world_looks_as_a_near_one),
        cmocka_unit_test(a_world_spread_wide_is_drawn_as_its_parts_are),
        cmocka_unit_test(a_background_step_leaves_the_picture_as_it_was),
        cmocka_unit_test(every_scene_can_be_seen_in_every_look),
        cmocka_unit_test(a_camera_anywhere_sees_something),
        cmocka_unit_test(terrain_of_the_game_is_drawn_around_the_water),
        cmocka_unit_test(the_map_grows_lighter_evenly),
        cmocka_unit_test(colours_mix_by_the_share_of_each_material),
        cmocka_unit_test(gas_hides_the_more_the_more_there_is),
        cmocka_unit_test(hot_gas_glows),
        cmocka_unit_test(solids_and_metals_are_not_seen_through_and_lava_glows),
        cmocka_unit_test(ice_in_water_is_seen),
        cmocka_unit_test(the_temperature_map_has_a_range_of_round_numbers),
        cmocka_unit_test(pictures_of_several_materials_do_not_depend_on_threads),
        cmocka_unit_test(a_range_is_a_round_number_above_nearly_all),
        cmocka_unit_test(definitions_that_make_no_sense_are_refused),
        cmocka_unit_test(a_legend_has_points_in_every_locale),
        cmocka_unit_test(memory_that_runs_out_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
