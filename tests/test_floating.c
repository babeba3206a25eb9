// Things that float: buoyancy against Archimedes, against integrals, and against mirrored, turned and moved worlds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_world.h"
#include <math.h>

static const double G = 0.01f;  // gravity of a world that is not told another

// Answers are floats, and what is compared is at most a few hundred: rounding, and nothing else, may set exact answers apart.
#define ROUNDING 4e-7

static void assert_close(const char *what, double value, double right, double tolerance)
{
    if (!(fabs(value - right) <= tolerance)) fail_msg("%s is %.9g; it must be %.9g within %g", what, value, right, tolerance);
}

static double part_of(weir_vec v, int32_t axis)
{
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

static void assert_vec(const char *what, weir_vec value, double x, double y, double z, double tolerance)
{
    const double right[3] = {x, y, z};
    for (int32_t axis = 0; axis < 3; axis++)
        if (!(fabs(part_of(value, axis) - right[axis]) <= tolerance))
            fail_msg("%s is (%.9g, %.9g, %.9g); it must be (%.9g, %.9g, %.9g) within %g", what, value.x, value.y, value.z, x, y,
                     z, tolerance);
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static double random_between(uint32_t *state, double min, double max)
{
    return min + (max - min) * random_next(state) / (1 << 24);
}

static weir_quat turned(double x, double y, double z, double degrees)
{
    const double half = degrees * 3.14159265358979323846 / 360, length = sqrt(x * x + y * y + z * z), s = sin(half) / length;
    return (weir_quat){(float)(s * x), (float)(s * y), (float)(s * z), (float)cos(half)};
}

static weir_quat random_turn(uint32_t *state)
{
    double q[4], length = 0;
    while (length < 0.1 || length > 1) {
        for (int32_t i = 0; i < 4; i++) q[i] = random_between(state, -1, 1);
        length = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    }
    return (weir_quat){(float)(q[0] / length), (float)(q[1] / length), (float)(q[2] / length), (float)(q[3] / length)};
}

static weir_floating_box box_at(double x, double y, double z, float half_x, float half_y, float half_z)
{
    return (weir_floating_box){.centre = {x, y, z}, .half_size = {half_x, half_y, half_z}};
}

static weir_buoyancy ask(const weir_world *world, weir_floating_box box)
{
    weir_buoyancy answer;
    assert_ok(weir_world_buoyancy(world, &box, 1, &answer));
    return answer;
}

static double volume_of(weir_floating_box box)
{
    return 8.0 * box.half_size.x * box.half_size.y * box.half_size.z;
}

// A basin of 24 cells with water up to a level.
static weir_world *make_basin(weir_solver solver, double level)
{
    weir_world_def def = test_def(solver, 24, 24, 24);
    weir_world *world = test_make(&def);
    const int32_t whole = (int32_t)level;
    test_fill(world, test_box(0, 0, 0, 24, whole, 24), 1);
    if (level > whole) test_fill(world, test_box(0, whole, 0, 24, whole + 1, 24), (float)(level - whole));
    return world;
}

// ---- Archimedes ------------------------------------------------------------------------------------------------------------

static void check_depths(weir_solver solver)
{
    const double level = 12.625;
    weir_world *world = make_basin(solver, level);
    const weir_floating_box boxes[] = {box_at(12, 0, 12, 2, 1, 4), box_at(11.3, 0, 9.9, 0.35f, 0.6f, 0.2f),
                                       box_at(12.5, 0, 11.5, 1.5f, 0.01f, 3.25f)};
    for (size_t n = 0; n < sizeof boxes / sizeof boxes[0]; n++) {
        for (double y = level - 4; y < level + 4; y += 0.0917) {
            weir_floating_box box = boxes[n];
            box.centre.y = y;
            const weir_buoyancy answer = ask(world, box);
            const double height = 2.0 * box.half_size.y, under = fmin(fmax(level - (y - box.half_size.y), 0), height);
            const double volume = volume_of(box) * under / height, share = under / height;
            assert_close("submerged", answer.submerged, share, ROUNDING);
            assert_close("volume", answer.volume, volume, ROUNDING * volume_of(box));
            assert_vec("force", answer.force, 0, G * volume, 0, ROUNDING * G * volume_of(box));
            assert_vec("torque", answer.torque, 0, 0, 0, ROUNDING * G * volume_of(box) * 4);
            assert_close("level", answer.level, level, 1e-12);
            assert_vec("flow", answer.flow, 0, 0, 0, 0);
            if (under > 1e-3) assert_close("centre.y", answer.centre.y, y - box.half_size.y + under / 2, 1e-9);
        }
    }
    weir_world_destroy(world);
}

static void a_box_in_level_water_is_lifted_by_the_weight_of_what_it_displaces(void **state)
{
    check_depths(WEIR_SOLVER_MOMENTUM);
    check_depths(WEIR_SOLVER_CLASSIC);
}

// Gravity, a vector, and three axes of a box as a plain reader of its orientation has them.
typedef struct integral {
    double share, centre[3];
} integral;

static void turn_axis(weir_quat q, int32_t which, double out[3])
{
    // v + 2 w (q x v) + 2 q x (q x v)
    const double u[3] = {q.x, q.y, q.z}, v[3] = {which == 0, which == 1, which == 2};
    const double c[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    const double d[3] = {u[1] * c[2] - u[2] * c[1], u[2] * c[0] - u[0] * c[2], u[0] * c[1] - u[1] * c[0]};
    for (int32_t i = 0; i < 3; i++) out[i] = v[i] + 2 * q.w * c[i] + 2 * d[i];
}

// The part of a box below a level: midpoints over two of its axes, in closed form along the third, which is the steepest. What is summed
// is linear but for two bends, so the error is that of the cells with a bend: of an order of 1 / SLICES^2.
#define SLICES 200

static integral integrate(weir_floating_box box, double level)
{
    const double half[3] = {box.half_size.x, box.half_size.y, box.half_size.z};
    double axis[3][3], sum = 0, moment[3] = {0, 0, 0};
    int32_t steep = 0;
    for (int32_t i = 0; i < 3; i++) turn_axis(box.orientation, i, axis[i]);
    for (int32_t i = 1; i < 3; i++)
        if (fabs(axis[i][1]) > fabs(axis[steep][1])) steep = i;
    const int32_t a = (steep + 1) % 3, b = (steep + 2) % 3;
    for (int32_t i = 0; i < SLICES; i++) {
        for (int32_t j = 0; j < SLICES; j++) {
            const double s = half[a] * ((2 * i + 1.0) / SLICES - 1), t = half[b] * ((2 * j + 1.0) / SLICES - 1);
            const double meets = (level - box.centre.y - s * axis[a][1] - t * axis[b][1]) / axis[steep][1];
            double low = -half[steep], high = half[steep];
            if (axis[steep][1] > 0) high = fmax(low, fmin(high, meets));
            if (axis[steep][1] < 0) low = fmin(high, fmax(low, meets));
            sum += high - low;
            for (int32_t c = 0; c < 3; c++)
                moment[c] += (high - low) * (s * axis[a][c] + t * axis[b][c] + 0.5 * (low + high) * axis[steep][c]);
        }
    }
    integral result = {.share = sum / (2 * half[steep] * SLICES * SLICES)};
    for (int32_t c = 0; c < 3 && sum > 0; c++) result.centre[c] = moment[c] / sum;
    return result;
}

static void check_integral(const weir_world *world, weir_floating_box box, double level)
{
    const weir_buoyancy answer = ask(world, box);
    const integral right = integrate(box, level);
    const double longest = fmax(fmax(box.half_size.x, box.half_size.y), box.half_size.z);
    const double weight = G * volume_of(box), tolerance = 4.0 / (SLICES * SLICES) + ROUNDING;
    assert_close("submerged", answer.submerged, right.share, tolerance);
    assert_vec("force", answer.force, 0, weight * right.share, 0, weight * tolerance);
    const double lift = weight * right.share;  // at centre: torque = centre x (0, lift, 0)
    assert_vec("torque", answer.torque, -right.centre[2] * lift, 0, right.centre[0] * lift, weight * longest * 2 * tolerance);
    if (right.share < 0.01) return;
    assert_close("centre.x", answer.centre.x - box.centre.x, right.centre[0], longest * 2 * tolerance / right.share);
    assert_close("centre.y", answer.centre.y - box.centre.y, right.centre[1], longest * 2 * tolerance / right.share);
    assert_close("centre.z", answer.centre.z - box.centre.z, right.centre[2], longest * 2 * tolerance / right.share);
}

static void a_turned_box_in_level_water_has_the_buoyancy_of_its_integral(void **state)
{
    const double level = 12.375;
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, level);
    uint32_t random = 11;
    for (int32_t n = 0; n < test_length(300, 60); n++) {
        weir_floating_box box = box_at(random_between(&random, 10, 14), level + random_between(&random, -3, 3),
                                       random_between(&random, 10, 14), (float)random_between(&random, 0.1, 4),
                                       (float)random_between(&random, 0.1, 2), (float)random_between(&random, 0.1, 3));
        box.orientation = random_turn(&random);
        // Also those that are almost upright, where heights of corners are almost alike.
        if (n % 3 == 0)
            box.orientation = turned(1, random_between(&random, -1, 1), 0.5, pow(10, random_between(&random, -9, 1)));
        check_integral(world, box, level);
    }
    weir_world_destroy(world);
}

// A raft, wide and flat. To first order its torque is that of the water that one side gains and the other loses: weight of water times
// the second moment of its waterline times the angle, and then the lift that acts below its centre and wants to turn it over.
static void a_tilted_raft_is_turned_back(void **state)
{
    const double level = 12.5, degrees = 2, angle = degrees * 3.14159265358979323846 / 180;
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, level);
    weir_floating_box raft = box_at(12, level, 12, 4, 1, 3);
    raft.orientation = turned(0, 0, 1, degrees);
    const weir_buoyancy about_z = ask(world, raft);
    raft.orientation = turned(1, 0, 0, degrees);
    const weir_buoyancy about_x = ask(world, raft);
    const double lift = G * volume_of(raft) / 2, lower = 0.5 * angle * lift;  // the centroid is half a cell below the centre
    const double gain_z = G * angle * 6 * 8 * 8 * 8 / 12, gain_x = G * angle * 8 * 6 * 6 * 6 / 12;
    assert_true(about_z.torque.z < 0 && about_x.torque.x < 0);
    assert_close("torque about z", about_z.torque.z, lower - gain_z, 0.01 * gain_z);
    assert_close("torque about x", about_x.torque.x, lower - gain_x, 0.01 * gain_x);
    assert_vec("other torque", (weir_vec){about_z.torque.x, about_z.torque.y, 0}, 0, 0, 0, 1e-6);
    // A pole that stands up is turned over.
    weir_floating_box pole = box_at(12, level, 12, 0.5f, 5, 0.5f);
    pole.orientation = turned(0, 0, 1, degrees);
    assert_true(ask(world, pole).torque.z > 0);
    weir_world_destroy(world);
}

// ---- Other water -----------------------------------------------------------------------------------------------------------

static weir_world *make_splash(weir_solver solver, int32_t threads)
{
    weir_world_def def = test_def(solver, 40, 24, 40);
    def.threads = threads;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 40, 7, 40), 1);
    test_fill(world, test_box(4, 10, 4, 16, 22, 16), 1);
    assert_ok(weir_world_build(world, test_box(24, 0, 24, 31, 9, 31), 255));
    test_step(world, 30);
    return world;
}

// weir_world_submerged cuts every cell exactly.
static void an_upright_box_in_wild_water_has_the_share_of_its_cells(void **state)
{
    for (weir_solver solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        weir_world *world = make_splash(solver, 1);
        uint32_t random = 3;
        int32_t partly = 0;
        for (int32_t n = 0; n < 300; n++) {
            weir_floating_box box = box_at(random_between(&random, -2, 42), random_between(&random, -1, 20),
                                           random_between(&random, -2, 42), (float)random_between(&random, 0.05, 5),
                                           (float)random_between(&random, 0.05, 3), (float)random_between(&random, 0.05, 5));
            if (n % 5 == 0) box.centre.x = round(box.centre.x), box.half_size.x = ceilf(box.half_size.x) - 0.5f;
            const weir_point min = {box.centre.x - box.half_size.x, box.centre.y - box.half_size.y,
                                    box.centre.z - box.half_size.z};
            const weir_point max = {box.centre.x + box.half_size.x, box.centre.y + box.half_size.y,
                                    box.centre.z + box.half_size.z};
            const weir_buoyancy answer = ask(world, box);
            assert_close("submerged", answer.submerged, weir_world_submerged(world, min, max), ROUNDING);
            assert_close("force.y", answer.force.y, G * answer.volume, ROUNDING * G * volume_of(box));
            partly += answer.submerged > 0.1f && answer.submerged < 0.9f;
        }
        assert_true(partly > 50);
        weir_world_destroy(world);
    }
}

static void the_level_is_found_above_and_below_the_box_within_its_reach(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 128, 16);
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 60, 16), 1);
    test_fill(world, test_box(0, 60, 0, 16, 61, 16), 0.25f);
    weir_floating_box box = box_at(8, 0, 8, 1, 1, 1);
    for (int32_t y = -4; y < 130; y++) {
        box.centre.y = y + 0.5;
        box.reach = 0;
        const weir_buoyancy near = ask(world, box);
        box.reach = 200;
        const weir_buoyancy far = ask(world, box);
        // Where there is water the search goes up; below the floor there is nothing, and it goes down.
        if (y >= 0) assert_close("level", far.level, 60.25, 1e-12);
        if (y < 0) assert_true(isnan(far.level));
        if (y >= 28 && y <= 91) assert_close("level", near.level, 60.25, 1e-12);
        if (y < 27 || y > 92) assert_true(isnan(near.level));
    }
    // Thin water on a floor has a level, drops in the air have none.
    assert_ok(weir_world_drain(world, test_box(0, 0, 0, 16, 128, 16)));
    test_fill(world, test_box(0, 0, 0, 16, 1, 16), 0.125f);
    test_fill(world, test_box(0, 3, 0, 16, 4, 16), 0.125f);
    box.centre.y = 4;
    assert_close("level of a film", ask(world, box).level, 0.125, 1e-12);
    weir_world_destroy(world);
}

static void a_box_partly_in_terrain_is_lifted_by_its_part_in_water_alone(void **state)
{
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, 8.0);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 24, 4, 24), 255));
    assert_ok(weir_world_build(world, test_box(12, 0, 0, 24, 24, 24), 255));
    // From 3 to 5 in height, half of it in the floor.
    weir_buoyancy answer = ask(world, box_at(6, 4, 6, 2, 1, 2));
    assert_close("submerged", answer.submerged, 0.5, ROUNDING);
    assert_close("centre.y", answer.centre.y, 4.5, 1e-9);
    // A quarter of it in the wall.
    answer = ask(world, box_at(11, 6, 6, 2, 1, 2));
    assert_close("submerged", answer.submerged, 0.75, ROUNDING);
    assert_close("centre.x", answer.centre.x, 10.5, 1e-9);
    assert_close("torque.z", answer.torque.z, -0.5 * G * 24, 1e-6);
    answer = ask(world, box_at(18, 6, 6, 2, 1, 2));
    assert_true(answer.submerged == 0 && answer.force.y == 0 && isnan(answer.level));
    // Over the edge of the world: half of it is outside.
    answer = ask(world, box_at(0, 6, 6, 2, 1, 2));
    assert_close("submerged", answer.submerged, 0.5, ROUNDING);
    assert_close("centre.x", answer.centre.x, 1, 1e-9);
    weir_world_destroy(world);
}

static void a_turned_box_with_a_floor_in_it_is_cut_by_both(void **state)
{
    const double level = 8.5;
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, level);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 24, 6, 24), 255));
    weir_floating_box box = box_at(12.2, 7, 11.7, 3, 2, 2.5f);
    box.orientation = turned(1, 2, -1, 35);
    const weir_buoyancy answer = ask(world, box);
    const integral above = integrate(box, level), below = integrate(box, 6);
    assert_close("submerged", answer.submerged, above.share - below.share, 4.0 / (SLICES * SLICES));
    weir_world_destroy(world);
}

static void in_the_nothing_there_is_no_force(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    const double places[] = {0, -5.5, 1e9, -1e9, 3e9, -1e300, 1e300};
    for (int32_t wet = 0; wet < 2; wet++) {
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            weir_floating_box box = box_at(places[i], 100, -places[i], 1, 900, 2);
            box.orientation = turned(1, 1, 1, 77);
            box.velocity = (weir_vec){1, 2, 3};
            box.drag = 1;
            const weir_buoyancy answer = ask(world, box);
            assert_true(answer.submerged == 0 && answer.volume == 0 && isnan(answer.level));
            assert_vec("force", answer.force, 0, 0, 0, 0);
            assert_vec("torque", answer.torque, 0, 0, 0, 0);
            assert_vec("flow", answer.flow, 0, 0, 0, 0);
            assert_true(answer.centre.x == box.centre.x && answer.centre.y == 100);
        }
        test_fill(world, test_box(5000, 0, 5000, 5001, 1, 5001), 1);
    }
    weir_world_destroy(world);
}

// ---- Flow ------------------------------------------------------------------------------------------------------------------

static void a_box_in_a_current_is_pulled_along(void **state)
{
    const float flow = 0.125f, drag = 1.5f, damping = 0.25f;
    for (weir_solver solver = 0; solver < (weir_solver)TEST_FLOW_SOLVERS; solver++) {
        weir_world *world = make_basin(solver, 16);
        assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 24, 24, 24), (weir_vec){flow, 0, 0}));
        weir_floating_box box = box_at(12, 8, 12, 3, 1, 2);
        weir_buoyancy answer = ask(world, box);
        assert_vec("flow", answer.flow, flow, 0, 0, ROUNDING);
        assert_vec("force without a coefficient", answer.force, 0, G * 48, 0, 1e-6);

        box.drag = drag;
        const double force = 0.5 * drag * (2 * 4) * flow * flow;  // its end of 2 x 4 cells faces the flow
        answer = ask(world, box);
        assert_vec("force", answer.force, force, G * 48, 0, 1e-6);
        assert_vec("drag", answer.drag, force, 0, 0, 1e-6);
        assert_vec("torque", answer.torque, 0, 0, 0, 1e-6);

        // Turned by a right angle its side faces it.
        box.orientation = turned(0, 1, 0, 90);
        assert_vec("drag of its side", ask(world, box).drag, 0.5 * drag * (2 * 6) * flow * flow, 0, 0, 1e-6);
        // Half under water it feels half.
        box.centre.y = 16;
        assert_vec("drag of a half", ask(world, box).drag, 0.25 * drag * (2 * 6) * flow * flow, 0, 0, 1e-6);
        box.centre.y = 8;
        // It goes with the current, and feels none; twice as fast it is held back.
        box.velocity.x = flow;
        assert_vec("drag in the current", ask(world, box).drag, 0, 0, 0, 1e-6);
        box.velocity.x = 2 * flow;
        assert_vec("drag ahead of it", ask(world, box).drag, -0.5 * drag * (2 * 6) * flow * flow, 0, 0, 1e-6);
        box.velocity.x = 0;
        box.drag = 0;
        box.damping = damping;
        assert_vec("damping", ask(world, box).drag, damping * 48 * flow, 0, 0, 1e-6);
        // What spins is held back.
        box.angular_velocity.y = 0.01f;
        box.drag = 1;
        answer = ask(world, box);
        assert_true(answer.torque.y < 0);
        // Of the damping alone: density times damping times the second moment of the box about y, times the spin.
        box.drag = 0;
        const double moment = 48.0 * (36 + 16) / 12;
        // Parts are a cell long and their own spin is not felt: that of a cell is (1 + 1) / 12 of its mass.
        answer = ask(world, box);
        assert_close("torque of damping", answer.torque.y, -damping * 0.01f * (moment - 48.0 * 2 / 12), 1e-5);
        weir_world_destroy(world);
    }
}

// ---- Gravity ---------------------------------------------------------------------------------------------------------------

// The same basin lying on each of its sides: axis 0, 1, 2 of the upright one become others, and up may be down.
typedef struct side {
    int32_t axis[3];  // of the world, for x, y, z of the upright one
    double up;        // 1, -1
} side;

static weir_vec vec_on(const side *s, const double v[3])
{
    float out[3];
    for (int32_t i = 0; i < 3; i++) out[s->axis[i]] = (float)(i == 1 ? s->up * v[i] : v[i]);
    return (weir_vec){out[0], out[1], out[2]};
}

static void water_lies_at_the_bottom_wherever_that_is(void **state)
{
    const side sides[] = {{{0, 1, 2}, 1}, {{0, 1, 2}, -1}, {{1, 0, 2}, 1}, {{1, 0, 2}, -1}, {{0, 2, 1}, 1}, {{0, 2, 1}, -1}};
    for (size_t n = 0; n < sizeof sides / sizeof sides[0]; n++) {
        const side *s = &sides[n];
        weir_params params = weir_params_default();
        params.gravity = vec_on(s, (double[3]){0, -G, 0});
        weir_world_def def = weir_world_def_default();
        def.bounds = test_box(-16, -16, -16, 16, 16, 16);
        def.params = &params;
        def.threads = 1;
        weir_world *world = test_make(&def);
        // From -16 to 3.25 in height.
        int32_t min[3] = {-16, -16, -16}, max[3] = {16, 16, 16};
        const int32_t down = s->axis[1];
        if (s->up > 0) max[down] = 3;
        if (s->up < 0) min[down] = -3;
        test_fill(world, test_box(min[0], min[1], min[2], max[0], max[1], max[2]), 1);
        min[down] = s->up > 0 ? 3 : -4;
        max[down] = min[down] + 1;
        test_fill(world, test_box(min[0], min[1], min[2], max[0], max[1], max[2]), 0.25f);
        const double half[3] = {2, 1.5, 1};
        const double at[3] = {1, 2.75, 4};
        weir_floating_box box = {0};
        const weir_vec size = vec_on(s, half), place = vec_on(s, at);
        box.half_size = (weir_vec){fabsf(size.x), fabsf(size.y), fabsf(size.z)};
        box.centre = (weir_point){place.x, place.y, place.z};
        const weir_buoyancy answer = ask(world, box);
        const double share = (3.25 - 1.25) / 3;
        const weir_vec force = vec_on(s, (double[3]){0, G * 24 * share, 0});
        assert_close("submerged", answer.submerged, share, ROUNDING);
        assert_close("level", answer.level, s->up * 3.25, 1e-12);
        assert_vec("force", answer.force, force.x, force.y, force.z, 1e-6);
        weir_world_destroy(world);
    }
}

static void under_slanting_gravity_the_lift_is_against_it(void **state)
{
    weir_params params = weir_params_default();
    params.gravity = (weir_vec){0.004f, -0.003f, 0.012f};
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 16, 8), 0.25f);
    test_fill(world, test_box(0, 0, 8, 16, 16, 16), 1);
    weir_floating_box box = box_at(8, 8, 12, 1, 2, 2);
    box.orientation = turned(3, 1, 2, 40);
    assert_vec("force", ask(world, box).force, -0.004 * 32, 0.003 * 32, -0.012 * 32, 1e-6);
    // It is strongest along z, which is where water lies in its cell: at its far end.
    assert_close("submerged", ask(world, box_at(8, 8, 7.875, 1, 1, 0.125f)).submerged, 1, ROUNDING);
    assert_close("submerged", ask(world, box_at(8, 8, 7.5, 1, 1, 0.25f)).submerged, 0, ROUNDING);
    weir_world_destroy(world);
}

static void without_gravity_nothing_is_lifted(void **state)
{
    weir_params params = weir_params_default();
    params.gravity = (weir_vec){0, 0, 0};
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    def.params = &params;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 16, 16, 16), 0.5f);
    assert_ok(weir_world_set_flow(world, test_box(0, 0, 0, 16, 16, 16), (weir_vec){0, 0.125f, 0}));
    weir_floating_box box = box_at(8.2, 7.9, 8.4, 1, 2, 3);
    box.orientation = turned(1, 2, 3, 50);
    weir_buoyancy answer = ask(world, box);
    assert_close("submerged", answer.submerged, 0.5, ROUNDING);
    assert_vec("force", answer.force, 0, 0, 0, 0);
    assert_true(isnan(answer.level));
    box.damping = 1;
    assert_vec("force", ask(world, box).force, 0, 0.125 * 24, 0, 1e-5);
    weir_world_destroy(world);
}

// ---- Elsewhere -------------------------------------------------------------------------------------------------------------

static void assert_same_but_for_place(const weir_buoyancy *a, const weir_buoyancy *b)
{
    assert_memory_equal(&a->submerged, &b->submerged, sizeof a->submerged);
    assert_memory_equal(&a->volume, &b->volume, sizeof a->volume);
    assert_memory_equal(&a->flow, &b->flow, sizeof a->flow);
    assert_memory_equal(&a->force, &b->force, sizeof a->force);
    assert_memory_equal(&a->torque, &b->torque, sizeof a->torque);
    assert_memory_equal(&a->drag, &b->drag, sizeof a->drag);
}

// Places are whole eighths, so that they are the same numbers near and far.
static void far_and_negative_places_are_as_good_as_near_ones(void **state)
{
    const weir_coord shifts[] = {{0, 0, 0}, {-64, -64, -64}, {999999936, 999999936, -999999936}, {-999999936, 64, 999999936}};
    const weir_floating_box boxes[] = {{.centre = {8.125, 6.5, 7.875}, .half_size = {2, 1, 3}},
                                       {.centre = {8, 6.25, 8}, .half_size = {0.3f, 0.4f, 0.5f}}};
    weir_buoyancy near[2];
    for (size_t n = 0; n < sizeof shifts / sizeof shifts[0]; n++) {
        const weir_coord o = shifts[n];
        weir_world_def def = weir_world_def_default();
        def.threads = 1;
        weir_world *world = test_make(&def);
        test_fill(world, test_box(o.x, o.y, o.z, o.x + 16, o.y + 6, o.z + 16), 1);
        test_fill(world, test_box(o.x, o.y + 6, o.z, o.x + 16, o.y + 7, o.z + 16), 0.625f);
        test_fill(world, test_box(o.x, o.y + 6, o.z, o.x + 8, o.y + 7, o.z + 8), 0.25f);
        assert_ok(weir_world_set_flow(world, test_box(o.x, o.y, o.z, o.x + 8, o.y + 8, o.z + 16), (weir_vec){0.25f, 0, 0.5f}));
        for (int32_t i = 0; i < 2; i++) {
            weir_floating_box box = boxes[i];
            box.orientation = turned(1, 1, 2, 25);
            box.drag = 1;
            box.centre = (weir_point){box.centre.x + o.x, box.centre.y + o.y, box.centre.z + o.z};
            const weir_buoyancy answer = ask(world, box);
            assert_true(answer.submerged > 0.2f && answer.submerged < 0.9f);
            if (n == 0) near[i] = answer;
            assert_same_but_for_place(&answer, &near[i]);
            assert_close("level", answer.level - o.y, near[i].level, 3e-7);
            assert_close("centre.x", answer.centre.x - o.x, near[i].centre.x, 3e-7);
        }
        weir_world_destroy(world);
    }
}

// Its lower sides lie in other cells than the rounded places of them do.
static void a_small_box_far_away_loses_no_side_to_rounding(void **state)
{
    const int32_t o = 999999000;
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(o - 4, o - 4, o - 4, o + 4, o + 4, o + 4), 1);
    const double half = 0x1p-10 + 5e-8, at = o + 0x1p-10;
    assert_true(at - half == o);
    assert_close("submerged", ask(world, box_at(at, at, at, (float)half, (float)half, (float)half)).submerged, 1, ROUNDING);
    weir_world_destroy(world);
}

// A world about the origin with a random fill and flow in every cell, or its mirror image in x or z; -1: itself.
static weir_world *make_random(int32_t mirrored)
{
    enum { EDGE = 16, CELLS = EDGE * EDGE * EDGE };
    static float fill[CELLS];
    static weir_vec flow[CELLS];
    uint32_t random = 5;
    weir_world_def def = weir_world_def_default();
    def.bounds = test_box(-EDGE / 2, -EDGE / 2, -EDGE / 2, EDGE / 2, EDGE / 2, EDGE / 2);
    def.threads = 1;
    weir_world *world = test_make(&def);
    for (int32_t i = 0; i < CELLS; i++) {
        const int32_t x = i % EDGE, y = i / EDGE % EDGE, z = i / EDGE / EDGE;
        const int32_t to = (mirrored == 0 ? EDGE - 1 - x : x) + EDGE * (y + EDGE * (mirrored == 2 ? EDGE - 1 - z : z));
        fill[to] = (float)(random_next(&random) % 65 * (y < 12)) / 64;
        flow[to].x = (float)random_between(&random, -0.5, 0.5) * (mirrored == 0 ? -1 : 1);
        flow[to].y = (float)random_between(&random, -0.5, 0.5);
        flow[to].z = (float)random_between(&random, -0.5, 0.5) * (mirrored == 2 ? -1 : 1);
    }
    assert_ok(weir_world_write_fill(world, def.bounds, fill));
    assert_ok(weir_world_write_flow(world, def.bounds, flow));
    return world;
}

static weir_vec mirror_vec(weir_vec v, int32_t axis, float sign)
{
    return (weir_vec){axis == 0 ? sign * v.x : -sign * v.x, -sign * v.y, axis == 2 ? sign * v.z : -sign * v.z};
}

static void assert_equal_vecs(weir_vec a, weir_vec b)
{
    assert_true(a.x == b.x && a.y == b.y && a.z == b.z);
}

static void a_mirrored_box_in_a_mirrored_world_gets_the_mirrored_answer(void **state)
{
    weir_world *world = make_random(-1);
    for (int32_t axis = 0; axis < 3; axis += 2) {
        weir_world *mirror = make_random(axis);
        uint32_t random = 17;
        for (int32_t n = 0; n < 200; n++) {
            weir_floating_box box = box_at(random_between(&random, -8, 8), random_between(&random, -8, 6),
                                           random_between(&random, -8, 8), (float)random_between(&random, 0.1, 3),
                                           (float)random_between(&random, 0.1, 3), (float)random_between(&random, 0.1, 3));
            // Also where cells and parts have their edges and middles at the same places.
            if (n % 4 == 0) box.centre = (weir_point){round(box.centre.x), round(box.centre.y), round(box.centre.z)};
            if (n % 4 == 0) box.half_size = (weir_vec){1.5f, 2, 2.5f};
            if (n % 3 > 0) box.orientation = random_turn(&random);
            box.velocity = (weir_vec){0.1f, -0.2f, 0.3f};
            box.angular_velocity = (weir_vec){0.02f, 0.03f, -0.01f};
            box.drag = 1.1f;
            box.damping = 0.1f;
            weir_floating_box other = box;
            if (axis == 0) other.centre.x = -box.centre.x;
            if (axis == 2) other.centre.z = -box.centre.z;
            // A turn is mirrored as a spin is: what lies along the axis stays, the rest is reversed.
            const weir_quat q = box.orientation;
            other.orientation = (weir_quat){axis == 0 ? q.x : -q.x, -q.y, axis == 2 ? q.z : -q.z, q.w};
            other.velocity = mirror_vec(box.velocity, axis, -1);
            other.angular_velocity = mirror_vec(box.angular_velocity, axis, 1);
            const weir_buoyancy a = ask(world, box), b = ask(mirror, other);
            assert_true(a.submerged == b.submerged && a.volume == b.volume);
            assert_true(a.level == b.level || (isnan(a.level) && isnan(b.level)));
            assert_equal_vecs(b.force, mirror_vec(a.force, axis, -1));
            assert_equal_vecs(b.drag, mirror_vec(a.drag, axis, -1));
            assert_equal_vecs(b.flow, mirror_vec(a.flow, axis, -1));
            assert_equal_vecs(b.torque, mirror_vec(a.torque, axis, 1));
            assert_true(b.centre.x == (axis == 0 ? -a.centre.x : a.centre.x) && b.centre.y == a.centre.y);
            assert_true(b.centre.z == (axis == 2 ? -a.centre.z : a.centre.z));
        }
        weir_world_destroy(mirror);
    }
    weir_world_destroy(world);
}

// ---- Many ------------------------------------------------------------------------------------------------------------------

enum { MANY = 1000 };

static void make_many(weir_floating_box boxes[MANY])
{
    uint32_t random = 23;
    for (int32_t n = 0; n < MANY; n++) {
        boxes[n] =
            box_at(random_between(&random, -2, 42), random_between(&random, 0, 16), random_between(&random, -2, 42), 2, 1, 4);
        boxes[n].orientation = random_turn(&random);
        boxes[n].velocity = (weir_vec){0.1f, 0, -0.1f};
        boxes[n].angular_velocity = (weir_vec){0, 0.02f, 0};
        boxes[n].drag = 1;
    }
}

static void a_thousand_boxes_get_the_same_answers_on_any_number_of_threads(void **state)
{
    static weir_floating_box boxes[MANY];
    static weir_buoyancy one[MANY], four[MANY];
    make_many(boxes);
    for (weir_solver solver = 0; solver < WEIR_SOLVER_COUNT; solver++) {
        memset(one, 0, sizeof one);
        memset(four, 1, sizeof four);
        weir_world *alone = make_splash(solver, 1), *shared = make_splash(solver, 4);
        const uint64_t hash = weir_world_hash(alone);
        assert_ok(weir_world_buoyancy(alone, boxes, MANY, one));
        assert_ok(weir_world_buoyancy(shared, boxes, MANY, four));
        assert_memory_equal(one, four, sizeof one);
        assert_int_equal(weir_world_hash(alone), hash);
        weir_world_destroy(alone);
        weir_world_destroy(shared);
    }
}

static void while_a_step_runs_the_state_before_it_answers(void **state)
{
    static weir_floating_box boxes[MANY];
    static weir_buoyancy before[MANY], during[MANY], after[MANY];
    make_many(boxes);
    weir_world *world = make_splash(WEIR_SOLVER_MOMENTUM, 4), *other = make_splash(WEIR_SOLVER_MOMENTUM, 4);
    assert_ok(weir_world_set_updates_per_step(world, 8));
    assert_ok(weir_world_buoyancy(world, boxes, MANY, before));
    assert_ok(weir_world_step_begin(world));
    for (int32_t n = 0; n < 3; n++) {
        assert_ok(weir_world_buoyancy(world, boxes, MANY, during));
        assert_memory_equal(before, during, sizeof before);
    }
    assert_ok(weir_world_step_end(world));
    assert_ok(weir_world_buoyancy(world, boxes, MANY, after));
    assert_memory_not_equal(before, after, sizeof before);
    test_step(other, 8);
    assert_int_equal(weir_world_hash(world), weir_world_hash(other));
    weir_world_destroy(world);
    weir_world_destroy(other);
}

// ---- What makes no sense ---------------------------------------------------------------------------------------------------

static void assert_refused(const weir_world *world, weir_floating_box box, const char *sentence)
{
    const weir_floating_box boxes[2] = {box_at(1, 1, 1, 1, 1, 1), box};
    weir_buoyancy answers[2];
    memset(answers, 77, sizeof answers);
    assert_int_equal(weir_world_buoyancy(world, boxes, 2, answers), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), sentence);
    for (size_t i = 0; i < sizeof answers; i++) assert_int_equal(((unsigned char *)answers)[i], 77);
}

static void what_makes_no_sense_is_refused_with_a_sentence(void **state)
{
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, 4);
    const weir_floating_box good = box_at(4, 4, 4, 1, 1, 1);
    weir_buoyancy answer;
    weir_floating_box box = good;
    box.centre.y = NAN;
    assert_refused(world, box, "box 1: centre is (4, nan, 4); it must be a place");
    box.centre.y = INFINITY;
    assert_refused(world, box, "box 1: centre is (4, inf, 4); it must be a place");
    box = good, box.half_size.x = 0;
    assert_refused(world, box, "box 1: half_size.x is 0; it must be a number from 0.000976562 to 1024");
    box = good, box.half_size.y = -1;
    assert_refused(world, box, "box 1: half_size.y is -1; it must be a number from 0.000976562 to 1024");
    box = good, box.half_size.z = NAN;
    assert_refused(world, box, "box 1: half_size.z is nan; it must be a number from 0.000976562 to 1024");
    box = good, box.half_size.z = 2000;
    assert_refused(world, box, "box 1: half_size.z is 2000; it must be a number from 0.000976562 to 1024");
    box = good, box.orientation = (weir_quat){0, 0, 1, 1};
    assert_refused(world, box, "box 1: orientation has the length 1.41421; it must be 1, or 0 for unturned");
    box = good, box.orientation.x = NAN;
    assert_refused(world, box, "box 1: orientation has the length nan; it must be 1, or 0 for unturned");
    box = good, box.velocity.z = NAN;
    assert_refused(world, box, "box 1: velocity.z is nan; it must be a number from -1e+06 to 1e+06");
    box = good, box.angular_velocity.x = INFINITY;
    assert_refused(world, box, "box 1: angular_velocity.x is inf; it must be a number from -1e+06 to 1e+06");
    box = good, box.drag = -1;
    assert_refused(world, box, "box 1: drag is -1; it must be a number from 0 to 1000");
    box = good, box.damping = NAN;
    assert_refused(world, box, "box 1: damping is nan; it must be a number from 0 to 1000");
    box = good, box.reach = -1;
    assert_refused(world, box, "box 1: reach is -1; it must be a number from 0 to 4096");

    assert_int_equal(weir_world_buoyancy(NULL, &good, 1, &answer), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "the world is NULL");
    assert_int_equal(weir_world_buoyancy(world, NULL, 3, &answer), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "boxes is NULL, and 3 are asked for");
    assert_int_equal(weir_world_buoyancy(world, &good, 1, NULL), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "answers is NULL, and there are 1 boxes");
    assert_int_equal(weir_world_buoyancy(world, &good, -1, &answer), WEIR_ERROR_ARGUMENT);
    assert_string_equal(weir_error_message(), "the number of boxes is -1; it must be 0 or more");
    assert_ok(weir_world_buoyancy(world, NULL, 0, NULL));
    weir_world_destroy(world);
}

// A box as large as can be asked about still ends, and level water is exact for it as well.
static void the_largest_and_the_smallest_boxes_are_answered(void **state)
{
    weir_world *world = make_basin(WEIR_SOLVER_MOMENTUM, 12.5);
    weir_floating_box box = box_at(12, 12.5, 12, 1024, 1024, 1024);
    weir_buoyancy answer = ask(world, box);
    assert_true(answer.submerged >= 0 && answer.submerged < 0.01f);
    box = box_at(12, 12.5, 12, 1.0f / 1024, 1.0f / 1024, 1.0f / 1024);
    assert_close("submerged", ask(world, box).submerged, 0.5, ROUNDING);
    box.centre.y = 3;
    assert_close("submerged", ask(world, box).submerged, 1, ROUNDING);
    weir_world_destroy(world);

    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 128, 16, 128);
    world = test_make(&def);
    test_fill(world, test_box(0, 0, 0, 128, 8, 128), 1);
    box = box_at(64, 8.5, 64, 50, 2, 40);  // parts of more than a cell
    box.orientation = turned(0.2, 1, 0.1, 7);
    check_integral(world, box, 8);
    weir_world_destroy(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_in_level_water_is_lifted_by_the_weight_of_what_it_displaces),
        cmocka_unit_test(a_turned_box_in_level_water_has_the_buoyancy_of_its_integral),
        cmocka_unit_test(a_tilted_raft_is_turned_back),
        cmocka_unit_test(an_upright_box_in_wild_water_has_the_share_of_its_cells),
        cmocka_unit_test(the_level_is_found_above_and_below_the_box_within_its_reach),
        cmocka_unit_test(a_box_partly_in_terrain_is_lifted_by_its_part_in_water_alone),
        cmocka_unit_test(a_turned_box_with_a_floor_in_it_is_cut_by_both),
        cmocka_unit_test(in_the_nothing_there_is_no_force),
        cmocka_unit_test(a_box_in_a_current_is_pulled_along),
        cmocka_unit_test(water_lies_at_the_bottom_wherever_that_is),
        cmocka_unit_test(under_slanting_gravity_the_lift_is_against_it),
        cmocka_unit_test(without_gravity_nothing_is_lifted),
        cmocka_unit_test(far_and_negative_places_are_as_good_as_near_ones),
        cmocka_unit_test(a_small_box_far_away_loses_no_side_to_rounding),
        cmocka_unit_test(a_mirrored_box_in_a_mirrored_world_gets_the_mirrored_answer),
        cmocka_unit_test(a_thousand_boxes_get_the_same_answers_on_any_number_of_threads),
        cmocka_unit_test(while_a_step_runs_the_state_before_it_answers),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_a_sentence),
        cmocka_unit_test(the_largest_and_the_smallest_boxes_are_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
