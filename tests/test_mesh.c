// The meshes of the water and of the terrain: closed, in the right place, and made again only where something changed.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "surface/mesh_cases.h"
#include "test_memory.h"
#include "test_world.h"
#include <math.h>
#include <stdio.h>

// ---- Looking at meshes -----------------------------------------------------------------------------------------------------

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

// Every directed edge once, and its opposite once.
static bool is_closed(const uint32_t *indices, int32_t triangle_count)
{
    size_t count = 3 * (size_t)triangle_count;
    uint64_t *ways = malloc(2 * (count + 1) * sizeof *ways), *back = ways + count + 1;
    bool closed = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t a = indices[i], b = indices[i - i % 3 + (i + 1) % 3];
        closed = closed && a != b;
        ways[i] = a << 32 | b;
        back[i] = b << 32 | a;
    }
    qsort(ways, count, sizeof *ways, compare_u64);
    qsort(back, count, sizeof *back, compare_u64);
    for (size_t i = 0; i < count && closed; i++) closed = ways[i] == back[i] && (i == 0 || ways[i] != ways[i - 1]);
    free(ways);
    return closed;
}

static const float *corner(const weir_mesh *mesh, int32_t triangle, int32_t i)
{
    return mesh->positions + 3 * (size_t)mesh->indices[3 * triangle + i];
}

// Twice the area of a triangle as a vector along its normal.
static void face_vector(const weir_mesh *mesh, int32_t triangle, double out[3])
{
    const float *a = corner(mesh, triangle, 0), *b = corner(mesh, triangle, 1), *c = corner(mesh, triangle, 2);
    double u[3], v[3];
    for (int32_t i = 0; i < 3; i++) u[i] = (double)b[i] - a[i], v[i] = (double)c[i] - a[i];
    for (int32_t i = 0; i < 3; i++) out[i] = u[(i + 1) % 3] * v[(i + 2) % 3] - u[(i + 2) % 3] * v[(i + 1) % 3];
}

static double mesh_volume(const weir_mesh *mesh)
{
    double volume = 0, face[3];
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        const float *a = corner(mesh, t, 0);
        face_vector(mesh, t, face);
        volume += (a[0] * face[0] + a[1] * face[1] + a[2] * face[2]) / 6;
    }
    return volume;
}

static double mesh_area(const weir_mesh *mesh)
{
    double area = 0, face[3];
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        face_vector(mesh, t, face);
        area += 0.5 * sqrt(face[0] * face[0] + face[1] * face[1] + face[2] * face[2]);
    }
    return area;
}

static void assert_sound(const weir_mesh *mesh)
{
    for (int32_t i = 0; i < 3 * mesh->triangle_count; i++) assert_true(mesh->indices[i] < (uint32_t)mesh->vertex_count);
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = mesh->positions + 3 * v, *n = mesh->normals + 3 * v;
        assert_true(fabsf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] - 1) < 1e-5f);
        for (int32_t i = 0; i < 3; i++) assert_true(p[i] * 8192 == floorf(p[i] * 8192));
    }
}

static weir_mesher *make_mesher(weir_world *world)
{
    weir_mesher *mesher;
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    return mesher;
}

static weir_mesh update_and_join(weir_mesher *mesher)
{
    weir_mesh mesh;
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_ok(weir_mesher_join(mesher, &mesh));
    return mesh;
}

static void assert_same_mesh(const weir_mesh *a, const weir_mesh *b)
{
    assert_memory_equal(&a->origin, &b->origin, sizeof a->origin);
    assert_int_equal(a->vertex_count, b->vertex_count);
    assert_int_equal(a->triangle_count, b->triangle_count);
    if (a->triangle_count == 0) return;
    assert_memory_equal(a->positions, b->positions, (size_t)a->vertex_count * 3 * sizeof(float));
    assert_memory_equal(a->normals, b->normals, (size_t)a->vertex_count * 3 * sizeof(float));
    assert_memory_equal(a->indices, b->indices, (size_t)a->triangle_count * 3 * sizeof(uint32_t));
}

// What a mesher has, against a new one's.
static void assert_as_if_new(weir_world *world, weir_mesher *mesher)
{
    weir_mesher *fresh = make_mesher(world);
    weir_mesh mesh, anew = update_and_join(fresh);
    assert_ok(weir_mesher_join(mesher, &mesh));
    assert_same_mesh(&mesh, &anew);
    weir_mesher_destroy(fresh);
}

// ---- Welding the bricks' meshes by the bits of their positions -------------------------------------------------------------

typedef struct welded {
    int64_t at[3];  // in 1/8192 cells
    uint32_t index;
} welded;

static int compare_welded(const void *a, const void *b)
{
    return memcmp(a, b, sizeof((const welded *)a)->at);
}

static bool bricks_are_closed(const weir_mesher *mesher)
{
    int64_t mark = 0;
    int32_t count = weir_mesher_changed(mesher, &mark, NULL, 0), corners = 0, next = 0;
    weir_mesh_brick *bricks = malloc(((size_t)count + 1) * sizeof *bricks);
    assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, count), count);
    for (int32_t b = 0; b < count; b++) corners += 3 * bricks[b].mesh.triangle_count;
    welded *all = malloc(((size_t)corners + 1) * sizeof *all);
    uint32_t *indices = malloc(((size_t)corners + 1) * sizeof *indices);
    for (int32_t b = 0; b < count; b++) {
        const weir_mesh *mesh = &bricks[b].mesh;
        const int32_t origin[3] = {mesh->origin.x, mesh->origin.y, mesh->origin.z};
        for (int32_t i = 0; i < 3 * mesh->triangle_count; i++, next++) {
            for (int32_t axis = 0; axis < 3; axis++)
                all[next].at[axis] =
                    (int64_t)(8192 * mesh->positions[3 * mesh->indices[i] + (uint32_t)axis]) + 8192 * (int64_t)origin[axis];
            all[next].index = (uint32_t)next;
        }
    }
    qsort(all, (size_t)corners, sizeof *all, compare_welded);
    for (int32_t i = 0, first = 0; i < corners; i++) {
        if (compare_welded(&all[first], &all[i]) != 0) first = i;
        indices[all[i].index] = (uint32_t)first;
    }
    bool closed = is_closed(indices, corners / 3);
    free(indices);
    free(all);
    free(bricks);
    return closed;
}

// ---- The cases -------------------------------------------------------------------------------------------------------------

// Two cubes side by side along an axis make a block of 3 x 2 x 2 corners. An edge of it by its place there.
static int32_t edge_in_block(int32_t edge, int32_t cube, int32_t axis)
{
    int32_t low = cube_edge_corner(edge, 0), at[3] = {low & 1, low >> 1 & 1, low >> 2};
    at[axis] += cube;
    return (edge >> 2) + 3 * (at[0] + 3 * (at[1] + 3 * at[2]));
}

// Whether two edges of the block lie in one of its outer faces.
static bool in_outer_face(int32_t a, int32_t b, int32_t axis)
{
    for (int32_t along = 0, stride = 3; along < 3; along++, stride *= 3) {
        int32_t last = along == axis ? 2 : 1, at_a = a / stride % 3, at_b = b / stride % 3;
        if (a % 3 != along && b % 3 != along && at_a == at_b && (at_a == 0 || at_a == last)) return true;
    }
    return false;
}

static void count_sides(const mesh_case *c, int32_t cube, int32_t axis, uint8_t ways[81][81])
{
    for (int32_t i = 0; i < 3 * c->triangle_count; i++)
        ways[edge_in_block(c->edge[i], cube, axis)][edge_in_block(c->edge[i - i % 3 + (i + 1) % 3], cube, axis)]++;
}

static void assert_block_closed(const mesh_cases *cases, int32_t first, int32_t second, int32_t axis)
{
    uint8_t ways[81][81] = {{0}};
    count_sides(&cases->of[first], 0, axis, ways);
    count_sides(&cases->of[second], 1, axis, ways);
    for (int32_t a = 0; a < 81; a++) {
        for (int32_t b = 0; b < 81; b++) {
            if (!ways[a][b]) continue;
            int32_t back = in_outer_face(a, b, axis) ? 0 : 1;
            if (ways[a][b] != 1 || ways[b][a] != back)
                fail_msg("cases %02x and %02x along axis %d: %d to %d occurs %d times, back %d times", first, second, axis, a,
                         b, ways[a][b], ways[b][a]);
        }
    }
}

static void all_cases_fit_all_that_can_stand_beside_them(void **state)
{
    mesh_cases cases;
    mesh_cases_make(&cases);
    for (int32_t axis = 0; axis < 3; axis++) {
        for (int32_t pair = 0; pair < 256 * 256; pair++) {
            int32_t first = pair >> 8, second = pair & 255, shared = 0;
            for (int32_t c = 0; c < 8; c++)
                if (!(c >> axis & 1)) shared |= ((first >> (c | 1 << axis)) ^ (second >> c)) & 1;
            if (!shared) assert_block_closed(&cases, first, second, axis);
        }
    }
}

static void every_case_uses_the_edges_that_are_crossed_and_no_others(void **state)
{
    mesh_cases cases;
    mesh_cases_make(&cases);
    for (int32_t inside = 0; inside < CUBE_CASES; inside++) {
        uint32_t crossed = 0, used = 0;
        for (int32_t e = 0; e < CUBE_EDGES; e++)
            crossed |= (uint32_t)((inside >> cube_edge_corner(e, 0) ^ inside >> cube_edge_corner(e, 1)) & 1) << e;
        for (int32_t i = 0; i < 3 * cases.of[inside].triangle_count; i++) used |= 1u << cases.of[inside].edge[i];
        assert_int_equal(used, crossed);
    }
}

// ---- Closed ----------------------------------------------------------------------------------------------------------------

static uint32_t random_below(uint32_t *state, uint32_t bound)
{
    *state = *state * 1664525u + 1013904223u;
    return (*state >> 8) % bound;
}

static const weir_box noise_box = {{-5, -5, -5}, {14, 13, 15}};

// Cells of any fill, among them that of the surface itself, in random terrain.
static weir_world *make_noise(uint32_t seed, int32_t threads)
{
    static const float fills[] = {0, 0, 0.25f, 0.5f, 0.5f, 0.75f, 1, 1};
    weir_world_def def = weir_world_def_default();
    def.bounds = noise_box;
    def.open_sides = seed % 2 ? WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN : 0;
    def.threads = threads;
    weir_world *world = test_make(&def);
    uint32_t random = seed;
    for (int32_t z = -5; z < 15; z++) {
        for (int32_t y = -5; y < 13; y++) {
            for (int32_t x = -5; x < 14; x++) {
                weir_box cell = test_box(x, y, z, x + 1, y + 1, z + 1);
                float fill = fills[random_below(&random, 8)];
                if (random_below(&random, 8) < seed % 4)
                    assert_ok(weir_world_build(world, cell, 255));
                else if (fill > 0)
                    test_fill(world, cell, fill);
            }
        }
    }
    return world;
}

static void a_mesh_of_noise_is_closed(void **state)
{
    for (uint32_t seed = 0; seed < (uint32_t)test_length(8, 2); seed++) {
        weir_world *world = make_noise(seed, 1);
        const float isos[] = {0, 0.5f, 0.25f, 0.9f};
        for (size_t i = 0; i < 4; i++) {
            weir_mesher *mesher;
            assert_ok(weir_mesher_create(world, &(weir_mesher_def){.iso = isos[i]}, &mesher));
            weir_mesh mesh = update_and_join(mesher);
            assert_true(mesh.triangle_count > 1000);
            assert_sound(&mesh);
            assert_true(is_closed(mesh.indices, mesh.triangle_count));
            assert_true(bricks_are_closed(mesher));
            assert_true(mesh_volume(&mesh) > 0);
            weir_mesher_destroy(mesher);
        }
        weir_world_destroy(world);
    }
}

static void an_endless_world_has_a_closed_mesh(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(-9, -9, -9, 3, 9, 16), 1);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh mesh = update_and_join(mesher);
    assert_true(mesh.triangle_count > 0 && is_closed(mesh.indices, mesh.triangle_count) && bricks_are_closed(mesher));
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void assert_scene_closed(const scene_run *run, weir_mesher *mesher)
{
    weir_mesh mesh = update_and_join(mesher);
    assert_sound(&mesh);
    if (!is_closed(mesh.indices, mesh.triangle_count) || !bricks_are_closed(mesher))
        fail_msg("%s at update %d: the mesh is not closed", run->def->name, (int)run->update);
}

// Spray of less than half a cell is not shown, what is inside counts as full, and of films the lower edges are missing: a tenth of a
// cell all over the surface, and a little. Only momentum keeps its water from being pressed together.
static void assert_scene_volume(const scene_run *run, weir_mesher *mesher)
{
    weir_mesh mesh = update_and_join(mesher);
    double water = (double)weir_world_ledger(run->world).held / WEIR_FULL;
    weir_material_def fluid;
    if (!weir_world_material(run->world, weir_world_fluid(run->world), &fluid) || fluid.kind == WEIR_KIND_GAS) return;
    if (water < 64) return;  // a tap that has just been opened: all of it may be spray
    if (fabs(mesh_volume(&mesh) - water) > 0.05 * water + 0.1 * mesh_area(&mesh))
        fail_msg("%s at update %d: the mesh holds %g of %g cells", run->def->name, (int)run->update, mesh_volume(&mesh), water);
}

static void the_mesh_of_every_scene_is_closed_at_all_times(void **state)
{
    for (int32_t s = 0; scene_at(s); s++) {
        for (int32_t solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
            const scene_def *def = scene_at(s);
            if (!test_can_play(def->name, (weir_solver)solver)) continue;
            if (test_length(0, 1) && solver != WEIR_SOLVER_MOMENTUM && solver != (int32_t)def->solver) continue;
            scene_run *run = test_open(def->name, (weir_solver)solver, def->size_min > 24 ? def->size_min : 24, 400);
            weir_mesher *mesher = make_mesher(run->world);
            for (int32_t i = 0; i < (solver == WEIR_SOLVER_MOMENTUM ? test_length(4, 2) : test_length(2, 1)); i++) {
                assert_scene_closed(run, mesher);
                assert_as_if_new(run->world, mesher);
                if (solver == WEIR_SOLVER_MOMENTUM) assert_scene_volume(run, mesher);
                assert_ok(scene_updates(run, test_length(40, 12)));
            }
            weir_mesher_destroy(mesher);
            scene_close(run);
        }
    }
}

// ---- In the right place ----------------------------------------------------------------------------------------------------

// A ball with cells filled by the share that lies in it.
static void fill_ball(weir_world *world, weir_coord about, const double centre[3], double radius)
{
    int32_t reach = (int32_t)radius + 2;
    for (int32_t z = -reach; z < reach; z++) {
        for (int32_t y = -reach; y < reach; y++) {
            for (int32_t x = -reach; x < reach; x++) {
                int32_t inside = 0;
                for (int32_t i = 0; i < 512; i++) {
                    double a = x + ((i & 7) + 0.5) / 8 - centre[0], b = y + ((i >> 3 & 7) + 0.5) / 8 - centre[1];
                    double c = z + ((i >> 6) + 0.5) / 8 - centre[2];
                    inside += a * a + b * b + c * c < radius * radius;
                }
                weir_coord at = {about.x + x, about.y + y, about.z + z};
                if (inside) test_fill(world, test_box(at.x, at.y, at.z, at.x + 1, at.y + 1, at.z + 1), (float)inside / 512);
            }
        }
    }
}

static void a_ball_has_its_radius_and_normals(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    const double centre[3] = {0.3, 0.1, -0.2}, radius = 9.3;
    fill_ball(world, (weir_coord){0, 0, 0}, centre, radius);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh mesh = update_and_join(mesher);
    double sum = 0, squares = 0;
    for (int32_t v = 0; v < mesh.vertex_count; v++) {
        const float *p = mesh.positions + 3 * v, *n = mesh.normals + 3 * v;
        double d[3] = {p[0] - centre[0], p[1] - centre[1], p[2] - centre[2]};
        double r = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        assert_true(fabs(r - radius) < 0.1);
        assert_true((d[0] * n[0] + d[1] * n[1] + d[2] * n[2]) / r > cos(7 * 3.14159265 / 180));
        sum += r - radius;
        squares += (r - radius) * (r - radius);
    }
    // The means around cells shrink a ball a little: half of them, by a quarter cell times the curvature.
    assert_true(fabs(sum / mesh.vertex_count) < 0.05 && sqrt(squares / mesh.vertex_count) < 0.06);
    double ball = 4 * 3.14159265 / 3 * radius * radius * radius;
    assert_true(fabs(mesh_volume(&mesh) / ball - 1) < 0.02);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

// In a basin on the ground `ground` cells high.
static void assert_level(int32_t ground, float level)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 11, 13, 10);
    weir_world *world = test_make(&def);
    int32_t whole = (int32_t)level;
    if (ground > 0) assert_ok(weir_world_build(world, test_box(0, 0, 0, 11, ground, 10), 255));
    if (whole > ground) test_fill(world, test_box(0, ground, 0, 11, whole, 10), 1);
    if (level > (float)whole) test_fill(world, test_box(0, whole, 0, 11, whole + 1, 10), level - (float)whole);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh mesh = update_and_join(mesher);
    float top = 0, low = 99, right = 0;
    for (int32_t v = 0; v < mesh.vertex_count; v++) {
        const float *p = mesh.positions + 3 * v, *n = mesh.normals + 3 * v;
        if (n[1] > 0.9f && fabsf(p[1] - level) >= 0.02f)
            fail_msg("level %g: a vertex at %g, %g, %g", (double)level, (double)p[0], (double)p[1], (double)p[2]);
        top = fmaxf(top, p[1]), low = fminf(low, p[1]), right = fmaxf(right, p[0]);
    }
    assert_true(is_closed(mesh.indices, mesh.triangle_count));
    assert_true(fabsf(top - level) < 0.02f && low == (float)ground + 1.0f / 64 && right == 11 - 1.0f / 64);
    // A 64th of a cell less on every side, and of a film its lower edge at the walls.
    double volume = 110 * (double)(level - (float)ground);
    assert_true(fabs(mesh_volume(&mesh) - volume) < 0.12 * volume + 0.03 * 110);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void level_water_is_as_high_as_it_stands_and_fills_its_basin(void **state)
{
    for (int32_t tenths = 1; tenths <= 30; tenths++) {
        assert_level(0, 0.1f * (float)tenths);
        assert_level(3, 3 + 0.1f * (float)tenths);
        assert_level(7, 7 + 0.1f * (float)tenths);  // films at the border of bricks
        assert_level(8, 8 + 0.1f * (float)tenths);
    }
}

static void water_does_not_show_through_a_wall_of_one_cell(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 24, 12, 12);
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(9, 0, 0, 10, 12, 12), 255));
    test_fill(world, test_box(0, 0, 0, 9, 10, 12), 1);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh mesh = update_and_join(mesher);
    assert_true(mesh.triangle_count > 0);
    for (int32_t v = 0; v < mesh.vertex_count; v++) assert_true(mesh.positions[3 * v] < 9);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void sheets_and_drops_of_one_cell_are_shown(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 3, 0, 12, 4, 12), 1);
    test_fill(world, test_box(5, 12, 5, 6, 13, 6), 1);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh mesh = update_and_join(mesher);
    bool sheet = false, drop = false;
    for (int32_t v = 0; v < mesh.vertex_count; v++) {
        sheet = sheet || mesh.positions[3 * v + 1] < 5;
        drop = drop || mesh.positions[3 * v + 1] > 12;
    }
    assert_true(sheet && drop && is_closed(mesh.indices, mesh.triangle_count));
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void far_from_the_origin_it_is_the_same_mesh(void **state)
{
    const weir_coord places[] = {{0, 0, 0}, {8 * 100000001, -8 * 12345677, 8 * 555555}};
    const double centre[3] = {0.3, 0.1, -0.2};
    weir_mesh meshes[2];
    weir_world *worlds[2];
    weir_mesher *meshers[2];
    for (int32_t i = 0; i < 2; i++) {
        weir_world_def def = weir_world_def_default();
        def.threads = 1;
        worlds[i] = test_make(&def);
        fill_ball(worlds[i], places[i], centre, 5);
        meshers[i] = make_mesher(worlds[i]);
        meshes[i] = update_and_join(meshers[i]);
        assert_true(bricks_are_closed(meshers[i]));
    }
    assert_int_equal(meshes[0].origin.x, 0);
    assert_int_equal(meshes[0].vertex_count, meshes[1].vertex_count);
    const int32_t apart[3] = {meshes[1].origin.x - places[1].x, meshes[1].origin.y - places[1].y,
                              meshes[1].origin.z - places[1].z};
    for (int32_t i = 0; i < 3 * meshes[0].vertex_count; i++) {
        assert_true(meshes[0].positions[i] == meshes[1].positions[i] + (float)apart[i % 3]);
        assert_true(meshes[0].normals[i] == meshes[1].normals[i]);
    }
    for (int32_t i = 0; i < 2; i++) {
        weir_mesher_destroy(meshers[i]);
        weir_world_destroy(worlds[i]);
    }
}

// ---- Only what changed -----------------------------------------------------------------------------------------------------

static void a_change_in_one_brick_is_meshed_there_and_beside_it_only(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 64, 40, 48);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 64, 20, 48), 1);
    test_step(world, 1);
    weir_mesher *mesher = make_mesher(world);
    int32_t meshed;
    int64_t mark = 0;
    weir_mesh_brick bricks[64];
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_true(meshed > 27);
    weir_mesher_changed(mesher, &mark, NULL, 0);
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_int_equal(meshed, 0);

    mark = 1 << 20;
    assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 64), 0);  // moves the mark to the last update
    test_fill(world, test_box(28, 19, 20, 29, 20, 21), 0.3f);
    assert_ok(weir_mesher_update(mesher, &meshed));
    assert_in_range(meshed, 1, 27);
    int32_t count = weir_mesher_changed(mesher, &mark, bricks, 64);
    assert_in_range(count, 1, 8);  // and only these look different
    for (int32_t i = 0; i < count; i++) {
        assert_in_range(bricks[i].mesh.origin.x, 16, 32);
        assert_in_range(bricks[i].mesh.origin.y, 8, 24);
        assert_in_range(bricks[i].mesh.origin.z, 8, 24);
    }
    assert_as_if_new(world, mesher);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

// One random edit or step.
static void change_something(weir_world *world, uint32_t *random)
{
    int32_t at[3], edge = 1 + (int32_t)random_below(random, 9);
    for (int32_t i = 0; i < 3; i++) at[i] = (int32_t)random_below(random, 40);
    weir_box box = test_box(at[0], at[1], at[2], at[0] + edge, at[1] + edge, at[2] + edge);
    switch (random_below(random, 6)) {
    case 0: test_fill(world, box, 1); break;
    case 1: assert_ok(weir_world_drain(world, box)); break;
    case 2: assert_ok(weir_world_build(world, box, 255)); break;
    case 3: assert_ok(weir_world_dig(world, box)); break;
    case 4: assert_ok(weir_world_dig_sphere(world, (weir_sphere){{20, 20, 20}, edge + 3})); break;
    default: test_step(world, edge); break;
    }
}

static void whatever_changes_the_mesh_is_as_if_new(void **state)
{
    for (uint32_t seed = 1; seed <= (uint32_t)test_length(4, 2); seed++) {
        uint32_t random = seed;
        weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 40, 40, 40);
        weir_world *world = test_make(&def);
        // A rock that is solid throughout in the middle, whose bricks are not there until it is dug.
        assert_ok(weir_world_build(world, test_box(8, 8, 8, 32, 32, 32), 255));
        weir_mesher *mesher = make_mesher(world);
        for (int32_t i = 0; i < test_length(60, 15); i++) {
            for (uint32_t n = random_below(&random, 3) + 1; n > 0; n--) change_something(world, &random);
            assert_ok(weir_mesher_update(mesher, NULL));
            assert_as_if_new(world, mesher);
        }
        assert_ok(weir_world_drain(world, test_box(0, 0, 0, 40, 40, 40)));
        assert_int_equal(update_and_join(mesher).triangle_count, 0);
        weir_mesher_destroy(mesher);
        weir_world_destroy(world);
    }
}

static void a_brick_that_lost_its_mesh_is_listed_once_more(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(2, 2, 2, 6, 6, 6), 1);
    test_fill(world, test_box(100, 2, 2, 106, 6, 6), 1);
    weir_mesher *mesher = make_mesher(world);
    weir_mesh_brick bricks[16];
    int64_t mark = 0, late = 0;
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 1), 3);
    assert_int_equal(mark, 0);
    assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 16), 3);
    assert_true(bricks[0].mesh.origin.x == 0 && bricks[1].mesh.origin.x == 96 && bricks[2].mesh.origin.x == 104);

    // The world ends the brick as well, so that nothing is left of it there.
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 8, 8, 8)));
    test_step(world, 1);
    assert_ok(weir_mesher_update(mesher, NULL));
    int32_t count = weir_mesher_changed(mesher, &mark, bricks, 16);
    assert_true(count >= 1 && bricks[0].mesh.origin.x == 0 && bricks[0].mesh.triangle_count == 0);
    assert_int_equal(weir_mesher_changed(mesher, &mark, bricks, 16), 0);
    assert_true(weir_mesher_changed(mesher, &late, bricks, 16) >= 2 && bricks[0].mesh.origin.x >= 96);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

// What a game does with the list of changes.
typedef struct upload {
    int64_t mark;
    weir_coord shown[64];
    int32_t count;
} upload;

static int32_t upload_changes(upload *u, const weir_mesher *mesher)
{
    enum { ROOM = sizeof u->shown / sizeof u->shown[0] };
    weir_mesh_brick bricks[ROOM];
    int32_t count = weir_mesher_changed(mesher, &u->mark, bricks, ROOM);
    assert_true(count <= ROOM);
    for (int32_t i = 0; i < count; i++) {
        int32_t at = 0;
        while (at < u->count && memcmp(&u->shown[at], &bricks[i].mesh.origin, sizeof u->shown[0]) != 0) at++;
        if (at < u->count) u->shown[at] = u->shown[--u->count];
        if (bricks[i].mesh.triangle_count > 0) u->shown[u->count++] = bricks[i].mesh.origin;
    }
    return count;
}

static void water_that_wanders_leaves_no_trail_in_the_mesher(void **state)
{
    enum { JUMPS = 9 * WEIR_MESHER_MEMORY / 4 };
    // Bytes are counted here, which a quick build does as well in a tenth of the time.
    if (test_length(0, 1)) skip();
    weir_world_def def = weir_world_def_default();
    def.solver = WEIR_SOLVER_CLASSIC;  // the quicker one
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_memory out = {0};
    weir_mesher *mesher;
    assert_ok(weir_mesher_create(world, &(weir_mesher_def){.allocator = test_memory_hooks(&out)}, &mesher));
    upload often = {0}, late = {0}, never = {0};
    int64_t bytes = 0;
    for (int32_t i = 0; i < JUMPS; i++) {
        const int32_t x = 16 * i;
        assert_ok(weir_world_drain(world, test_box(x - 16, 0, 0, x, 8, 8)));
        test_fill(world, test_box(x + 2, 2, 2, x + 6, 6, 6), 1);
        test_step(world, 1);
        assert_ok(weir_mesher_update(mesher, NULL));
        assert_true(upload_changes(&often, mesher) >= 1);
        assert_int_equal(often.count, 1);
        if (i == 0) upload_changes(&never, mesher);
        if (i == JUMPS - WEIR_MESHER_MEMORY / 2) upload_changes(&late, mesher);
        if (i == JUMPS - WEIR_MESHER_MEMORY) bytes = out.bytes;
    }
    // Every jump leaves 27 bricks behind, of which it must not keep more than it did before.
    assert_true(out.bytes < bytes + 4096);
    weir_mesh_brick brick;
    int64_t mark = late.mark;
    assert_int_equal(weir_mesher_changed(mesher, &mark, &brick, 1), WEIR_MESHER_MEMORY / 2);
    assert_int_equal(upload_changes(&never, mesher), -1);
    never = (upload){0};
    assert_int_equal(upload_changes(&never, mesher), 1);
    assert_memory_equal(never.shown, often.shown, sizeof never.shown[0]);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

static void after_a_load_the_mesh_is_that_of_the_file(void **state)
{
    const char *path = "test_mesh.weir";
    weir_world *world = make_noise(3, 1);
    weir_mesher *mesher = make_mesher(world);
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_ok(weir_world_save(world, path));
    assert_ok(weir_world_drain(world, noise_box));
    test_step(world, 2);
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_ok(weir_world_load(world, path));
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_as_if_new(world, mesher);
    remove(path);
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

// ---- Threads, memory, arguments --------------------------------------------------------------------------------------------

static void the_mesh_is_the_same_on_any_number_of_threads(void **state)
{
    weir_world *first_world = make_noise(6, 1);
    weir_mesher *first = make_mesher(first_world);
    weir_mesh one = update_and_join(first);
    for (int32_t threads = 2; threads <= 7; threads += test_length(1, 5)) {
        weir_world *world = make_noise(6, threads);
        weir_mesher *mesher = make_mesher(world);
        weir_mesh mesh = update_and_join(mesher);
        assert_same_mesh(&one, &mesh);
        weir_mesher_destroy(mesher);
        weir_world_destroy(world);
    }
    weir_mesher_destroy(first);
    weir_world_destroy(first_world);
}

static void during_a_background_step_the_last_finished_state_is_meshed(void **state)
{
    scene_run *run = test_open("dambreak", WEIR_SOLVER_MOMENTUM, 16, 100);
    assert_ok(scene_updates(run, 20));
    weir_mesher *before = make_mesher(run->world), *during = make_mesher(run->world);
    weir_mesh a = update_and_join(before);
    assert_ok(weir_world_step_begin(run->world));
    weir_mesh b = update_and_join(during);
    assert_same_mesh(&a, &b);
    assert_ok(weir_world_step_end(run->world));
    assert_ok(weir_mesher_update(during, NULL));
    assert_as_if_new(run->world, during);
    weir_mesher_destroy(during);
    weir_mesher_destroy(before);
    scene_close(run);
}

static void when_memory_runs_out_it_says_so_and_the_next_update_mends_it(void **state)
{
    weir_world *world = make_noise(5, 1);
    bool done = false;
    for (int64_t fail_at = 1; !done; fail_at += fail_at < 20 ? 1 : 7) {
        test_memory memory = {.fail_at = fail_at};
        weir_mesher_def def = {.allocator = test_memory_hooks(&memory)};
        weir_mesher *mesher = NULL;
        weir_mesh mesh;
        weir_status status = weir_mesher_create(world, &def, &mesher);
        if (status == WEIR_OK) status = weir_mesher_update(mesher, NULL);
        if (status == WEIR_OK) status = weir_mesher_join(mesher, &mesh);
        done = memory.failures == 0;
        assert_int_equal(status, done ? WEIR_OK : WEIR_ERROR_MEMORY);
        if (mesher) {
            assert_ok(weir_mesher_update(mesher, NULL));
            assert_as_if_new(world, mesher);
        }
        weir_mesher_destroy(mesher);
        assert_int_equal(memory.bytes, 0);
    }
    weir_world_destroy(world);
}

// ---- Several fluids --------------------------------------------------------------------------------------------------------

static weir_mesher *make_mesher_of(weir_world *world, weir_material material)
{
    weir_mesher *mesher;
    assert_ok(weir_mesher_create(world, &(weir_mesher_def){.material = material}, &mesher));
    return mesher;
}

// Of what a box of cells leaves to a mesh that stands a 64th off its walls, floor and ceiling, as far as it touches these.
static double volume_within(double x, double y, double z)
{
    return (x - 2.0 / 64) * y * (z - 2.0 / 64);
}

static void oil_over_water_has_a_mesh_of_each_that_is_closed_and_has_its_volume(void **state)
{
    const weir_solver solvers[] = {WEIR_SOLVER_MIXTURE, WEIR_SOLVER_SETTLE};
    for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
        weir_world_def def = test_def(solvers[i], 20, 24, 12);
        weir_world *world = test_make(&def);
        assert_ok(weir_world_fill(world, test_box(0, 0, 0, 20, 7, 12), WEIR_WATER, 1));
        assert_ok(weir_world_fill(world, test_box(0, 7, 0, 20, 15, 12), WEIR_OIL, 1));
        weir_mesher *water = make_mesher_of(world, WEIR_WATER), *oil = make_mesher_of(world, WEIR_OIL);
        weir_mesher *honey = make_mesher_of(world, WEIR_HONEY), *all = make_mesher(world);
        for (int32_t step = 0; step < 3; step++, test_step(world, 4)) {
            const weir_mesh w = update_and_join(water), o = update_and_join(oil), a = update_and_join(all);
            assert_true(is_closed(w.indices, w.triangle_count) && w.triangle_count > 0);
            assert_true(is_closed(o.indices, o.triangle_count) && o.triangle_count > 0);
            assert_sound(&w);
            assert_sound(&o);
            // The water ends where the oil begins; its floor is a 64th up.
            assert_true(fabs(mesh_volume(&w) - volume_within(20, 7 - 1.0 / 64, 12)) < 0.01 * mesh_volume(&w));
            assert_true(fabs(mesh_volume(&o) - volume_within(20, 8, 12)) < 0.01 * mesh_volume(&o));
            assert_true(fabs(mesh_volume(&a) - mesh_volume(&w) - mesh_volume(&o)) < 0.01 * mesh_volume(&a));
            assert_int_equal(update_and_join(honey).triangle_count, 0);
        }
        weir_mesher_destroy(honey);
        weir_mesher_destroy(all);
        weir_mesher_destroy(oil);
        weir_mesher_destroy(water);
        weir_world_destroy(world);
    }
}

static void assert_of_as_if_new(weir_world *world, weir_mesher *mesher, weir_material material)
{
    weir_mesher *fresh = make_mesher_of(world, material);
    const weir_mesh mesh = update_and_join(mesher), anew = update_and_join(fresh);
    assert_true(is_closed(mesh.indices, mesh.triangle_count));
    assert_same_mesh(&mesh, &anew);
    weir_mesher_destroy(fresh);
}

static void meshes_of_fluids_that_change_places_are_closed_and_as_if_new(void **state)
{
    for (int32_t threshold = 0; threshold < 2; threshold++) {
        weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 20, 20, 12);
        def.change_threshold = threshold ? 0.05f : 0;
        weir_world *world = test_make(&def);
        assert_ok(weir_world_build(world, test_box(8, 0, 4, 10, 3, 8), 255));
        assert_ok(weir_world_fill(world, test_box(0, 0, 0, 11, 9, 12), WEIR_OIL, 1));
        assert_ok(weir_world_fill(world, test_box(3, 9, 2, 9, 16, 10), WEIR_WATER, 1));
        assert_ok(weir_world_fill(world, test_box(14, 0, 4, 18, 3, 8), WEIR_SMOKE, 0.5f));
        weir_mesher *mesher[4];
        const weir_material of[4] = {WEIR_NOTHING, WEIR_WATER, WEIR_OIL, WEIR_SMOKE};
        for (int32_t i = 0; i < 4; i++) mesher[i] = make_mesher_of(world, of[i]);
        for (int32_t step = 0; step < test_length(12, 4); step++) {
            for (int32_t i = 0; i < 4; i++) assert_of_as_if_new(world, mesher[i], of[i]);
            test_step(world, step < 6 ? 1 : 9);
        }
        for (int32_t i = 0; i < 4; i++) weir_mesher_destroy(mesher[i]);
        weir_world_destroy(world);
    }
}

static void gas_is_in_no_mesh_but_its_own(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 12, 12, 12);
    weir_world *world = test_make(&def);
    assert_ok(weir_world_fill(world, test_box(2, 2, 2, 10, 10, 10), WEIR_SMOKE, 1.0f / 16));
    weir_mesher *all = make_mesher(world), *smoke = make_mesher_of(world, WEIR_SMOKE);
    assert_int_equal(update_and_join(all).triangle_count, 0);
    const weir_mesh mesh = update_and_join(smoke);
    assert_true(is_closed(mesh.indices, mesh.triangle_count));
    assert_true(fabs(mesh_volume(&mesh) - 512) < 60);  // its corners are round
    weir_mesher_destroy(smoke);
    weir_mesher_destroy(all);
    weir_world_destroy(world);
}

static void what_makes_no_sense_is_refused(void **state)
{
    weir_world *world = make_noise(0, 1);
    weir_mesher *mesher;
    weir_mesh mesh;
    const float isos[] = {-1, 0.01f, 1, NAN};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(weir_mesher_create(world, &(weir_mesher_def){.iso = isos[i]}, &mesher), WEIR_ERROR_ARGUMENT);
        assert_null(mesher);
    }
    assert_int_equal(weir_mesher_create(world, &(weir_mesher_def){.material = 31}, &mesher), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_mesher_create(world, &(weir_mesher_def){.material = WEIR_TERRAIN}, &mesher), WEIR_ERROR_ARGUMENT);
    assert_null(mesher);
    assert_int_equal(weir_world_terrain_mesh(world, test_box(50, 0, 0, 60, 1, 1), &mesh), WEIR_ERROR_OUTSIDE);
    weir_world_destroy(world);
    weir_world_def def = weir_world_def_default();
    world = test_make(&def);
    weir_box everything = {{INT32_MIN, INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX, INT32_MAX}};
    assert_int_equal(weir_world_terrain_mesh(world, everything, &mesh), WEIR_ERROR_LIMIT);
    weir_mesher_destroy(NULL);
    weir_world_destroy(world);
}

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

static bool is_solid(const weir_world *world, weir_box box, const int32_t at[3])
{
    bool inside = at[0] >= box.min.x && at[0] < box.max.x && at[1] >= box.min.y && at[1] < box.max.y && at[2] >= box.min.z &&
                  at[2] < box.max.z;
    return inside && weir_world_cell(world, (weir_coord){at[0], at[1], at[2]}).solid >= 128;
}

// Counts each rectangle's unit faces into a table of all faces in the box; they must be those between solid and open, once each.
static void assert_terrain(const weir_world *world, weir_box box)
{
    enum { EDGE = 24 };
    static uint8_t faces[6][EDGE][EDGE][EDGE];
    memset(faces, 0, sizeof faces);
    weir_mesh mesh;
    int64_t solids = 0;
    assert_ok(weir_world_terrain_mesh(world, box, &mesh));
    assert_int_equal(mesh.vertex_count, 2 * mesh.triangle_count);
    for (int32_t r = 0; r < mesh.vertex_count / 4; r++) {
        const float *p = mesh.positions + 12 * r, *n = mesh.normals + 12 * r;
        double face[3];
        face_vector(&mesh, 2 * r, face);
        assert_true(face[0] * n[0] + face[1] * n[1] + face[2] * n[2] > 0);
        int32_t axis = n[0] != 0 ? 0 : n[1] != 0 ? 1 : 2, low[3], high[3];
        for (int32_t i = 0; i < 3; i++) {
            low[i] = (int32_t)fminf(p[i], p[6 + i]);
            high[i] = (int32_t)fmaxf(p[i], p[6 + i]);
        }
        // The solid cell lies behind the face.
        low[axis] -= n[axis] > 0;
        high[axis] = low[axis] + 1;
        int32_t side = 2 * axis + (n[axis] > 0);
        for (int32_t z = low[2]; z < high[2]; z++)
            for (int32_t y = low[1]; y < high[1]; y++)
                for (int32_t x = low[0]; x < high[0]; x++) faces[side][z - box.min.z][y - box.min.y][x - box.min.x]++;
    }
    for (int32_t i = 0; i < EDGE * EDGE * EDGE; i++) {
        int32_t at[3] = {box.min.x + i % EDGE, box.min.y + i / EDGE % EDGE, box.min.z + i / EDGE / EDGE};
        bool solid = is_solid(world, box, at);
        solids += solid;
        for (int32_t side = 0; side < 6; side++) {
            int32_t next[3] = {at[0], at[1], at[2]};
            next[side / 2] += side % 2 ? 1 : -1;
            assert_int_equal(faces[side][i / EDGE / EDGE][i / EDGE % EDGE][i % EDGE], solid && !is_solid(world, box, next));
        }
    }
    assert_true(fabs(mesh_volume(&mesh) - (double)solids) < 0.01);
    weir_mesh_free(&mesh);
    assert_null(mesh.positions);
}

static void terrain_shows_every_face_between_solid_and_open_once(void **state)
{
    for (uint32_t seed = 0; seed < (uint32_t)test_length(4, 1); seed++) {
        weir_world *world = make_noise(seed, 1);
        assert_terrain(world, noise_box);
        assert_terrain(world, test_box(-2, -3, 0, 9, 9, 11));
        weir_world_destroy(world);
    }
}

static void flat_terrain_is_few_triangles(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 100, 50, 70);
    weir_world *world = test_make(&def);
    weir_mesh mesh;
    assert_ok(weir_world_terrain_mesh(world, def.bounds, &mesh));
    assert_int_equal(mesh.triangle_count, 0);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 100, 10, 70), 255));
    assert_ok(weir_world_terrain_mesh(world, def.bounds, &mesh));
    assert_int_equal(mesh.triangle_count, 12);
    assert_true(mesh_volume(&mesh) == 70000);
    weir_mesh_free(&mesh);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases_fit_all_that_can_stand_beside_them),
        cmocka_unit_test(every_case_uses_the_edges_that_are_crossed_and_no_others),
        cmocka_unit_test(a_mesh_of_noise_is_closed),
        cmocka_unit_test(an_endless_world_has_a_closed_mesh),
        cmocka_unit_test(the_mesh_of_every_scene_is_closed_at_all_times),
        cmocka_unit_test(a_ball_has_its_radius_and_normals),
        cmocka_unit_test(level_water_is_as_high_as_it_stands_and_fills_its_basin),
        cmocka_unit_test(water_does_not_show_through_a_wall_of_one_cell),
        cmocka_unit_test(sheets_and_drops_of_one_cell_are_shown),
        cmocka_unit_test(far_from_the_origin_it_is_the_same_mesh),
        cmocka_unit_test(a_change_in_one_brick_is_meshed_there_and_beside_it_only),
        cmocka_unit_test(whatever_changes_the_mesh_is_as_if_new),
        cmocka_unit_test(a_brick_that_lost_its_mesh_is_listed_once_more),
        cmocka_unit_test(water_that_wanders_leaves_no_trail_in_the_mesher),
        cmocka_unit_test(after_a_load_the_mesh_is_that_of_the_file),
        cmocka_unit_test(the_mesh_is_the_same_on_any_number_of_threads),
        cmocka_unit_test(during_a_background_step_the_last_finished_state_is_meshed),
        cmocka_unit_test(when_memory_runs_out_it_says_so_and_the_next_update_mends_it),
        cmocka_unit_test(oil_over_water_has_a_mesh_of_each_that_is_closed_and_has_its_volume),
        cmocka_unit_test(meshes_of_fluids_that_change_places_are_closed_and_as_if_new),
        cmocka_unit_test(gas_is_in_no_mesh_but_its_own),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(terrain_shows_every_face_between_solid_and_open_once),
        cmocka_unit_test(flat_terrain_is_few_triangles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
