// The flows of the laboratory, and their list at the end. Lengths are in cells, times in updates, and theory is that of the world's own
// gravity.
#include "flows.h"

#include <math.h>
#include <string.h>

// ---- Jets ------------------------------------------------------------------------------------------------------------------

// A basin 32 long and 24 deep whose surface is held at `surface`, and a hole of s x s in its wall, 1 thick, from `bottom` up. What comes out
// leaves the world.
//
//      |~~~~~~~~|
//      |########|
//      |########  ->
//      |########|   `.
//      |________|     `
enum { BASIN = 32, BASIN_DEEP = 24, OUTSIDE = BASIN + 1 };

static void open_basin(flow_run *run, int32_t beyond, int32_t surface, int32_t bottom)
{
    const int32_t s = run->def->size, z = BASIN_DEEP / 2 - s / 2;
    flow_open(run, OUTSIDE + beyond, surface + 2, BASIN_DEEP, WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN);
    flow_build(run, flow_box(0, OUTSIDE, 0, 1, 0, BASIN_DEEP));
    flow_build(run, flow_box(BASIN, OUTSIDE, 0, surface + 2, 0, BASIN_DEEP));
    flow_dig(run, flow_box(BASIN, OUTSIDE, bottom, bottom + s, z, z + s));
    flow_fill(run, flow_box(0, BASIN, 1, surface, 0, BASIN_DEEP), 1);
}

static void step_basin(flow_run *run, int32_t surface)
{
    flow_fill(run, flow_box(0, BASIN, surface - 1, surface, 0, BASIN_DEEP), 1);
    flow_step(run);
}

// size: edge of the hole. Torricelli: the jet has the speed of what fell from the surface.
static void play_jet(flow_run *run)
{
    enum { SURFACE = 60, BOTTOM = 20, FROM = 400, UPDATES = 700 };
    const int32_t s = run->def->size, z = BASIN_DEEP / 2 - s / 2;
    const weir_box near = flow_box(OUTSIDE + 2, OUTSIDE + 4, BOTTOM - 2, BOTTOM + s + 2, z - 2, z + s + 2);
    const weir_box far = flow_box(OUTSIDE + 8, OUTSIDE + 11, BOTTOM - 8, BOTTOM + s + 4, 0, BASIN_DEEP);
    const double theory = sqrt(2 * run->gravity * (SURFACE - BOTTOM - 0.5 * s));
    double speed = 0, speed_far = 0;
    open_basin(run, 24, SURFACE, BOTTOM);
    for (int32_t i = 1; i <= UPDATES; i++) {
        step_basin(run, SURFACE);
        if (i <= FROM) continue;
        speed += (double)weir_world_mean_flow(run->world, near).x / (UPDATES - FROM);
        speed_far += (double)weir_world_mean_flow(run->world, far).x / (UPDATES - FROM);
    }
    flow_note(run, speed, theory, "speed");
    if (s == 12) flow_note(run, speed_far, theory, "speed_far");
}

// size: edge of the hole. Its middle lies halfway between the surface and the ground, so that the jet goes far; where it comes down is the
// mean place of what falls through the bottom row, whose middle is half a cell up.
static void play_reach(flow_run *run)
{
    enum { BEYOND = 48, FROM = 400, UPDATES = 1000 };
    const int32_t s = run->def->size, bottom = 16 - s / 2, surface = 2 * bottom + s;
    const double head = 0.5 * surface;
    double falls = 0, places = 0;
    open_basin(run, BEYOND, surface, bottom);
    flow_grid ground = flow_grid_make(flow_box(OUTSIDE, OUTSIDE + BEYOND, 0, 1, 0, BASIN_DEEP));
    for (int32_t i = 1; i <= UPDATES; i++) {
        step_basin(run, surface);
        if (i <= FROM) continue;
        flow_grid_read(run, &ground);
        for (int32_t k = 0; k < BEYOND * BASIN_DEEP; k++) {
            double fall = (double)ground.fill[k] * fmax(0, -(double)ground.flow[k].y);
            falls += fall;
            places += fall * (k % BEYOND + 0.5);
        }
    }
    flow_grid_free(&ground);
    flow_note(run, places / falls, 2 * sqrt(head * (head - 0.5)), "reach");
}

// size: edge of the nozzle, which is at the end of a tunnel from the bottom of a basin 42 higher.
//
//      |~~~~|
//      |####|     ' `
//      |####|      |       |
//      |####|____  |  _____| drained here
//      |#################__|
static void play_fountain(flow_run *run)
{
    enum { SURFACE = 50, GROUND = 8, TOP = 64, DEEP = 24, X = 42, FROM = 400, UPDATES = 1000 };
    const int32_t s = run->def->size, z = DEEP / 2 - s / 2;
    flow_open(run, 64, TOP, DEEP, 0);
    flow_build(run, flow_box(24, 64, 0, GROUND, 0, DEEP));
    flow_build(run, flow_box(24, 26, 0, TOP, 0, DEEP));
    flow_dig(run, flow_box(24, 46, 1, GROUND - 1, 8, 16));
    flow_dig(run, flow_box(X, X + s, GROUND - 1, GROUND, z, z + s));
    flow_fill(run, flow_box(0, 24, 0, SURFACE, 0, DEEP), 1);
    flow_fill(run, flow_box(24, 46, 1, GROUND - 1, 8, 16), 1);

    flow_grid jet = flow_grid_make(flow_box(X - 3, X + s + 3, GROUND, TOP, z - 3, z + s + 3));
    double rise = 0;
    for (int32_t i = 1; i <= UPDATES; i++) {
        flow_fill(run, flow_box(0, 24, SURFACE - 1, SURFACE, 0, DEEP), 1);
        flow_drain(run, flow_box(50, 64, GROUND, GROUND + 2, 0, DEEP));
        flow_step(run);
        if (i <= FROM) continue;
        int32_t top = 0;
        flow_grid_read_fill(run, &jet);
        for (int32_t k = 0; k < jet.x * jet.y * jet.z; k++)
            if (jet.fill[k] > 0.3f && k / jet.x % jet.y >= top) top = k / jet.x % jet.y + 1;
        rise += (double)top / (UPDATES - FROM);
    }
    flow_grid_free(&jet);
    flow_note(run, rise, SURFACE - GROUND, "rise");
}

// ---- Waves -----------------------------------------------------------------------------------------------------------------

// length: of the wave and the tank; depth, amplitude; height of the tank; updates: periods. Linear theory has its period, and nothing takes
// its amplitude.
static void play_wave(flow_run *run)
{
    const flow_def *def = run->def;
    const int32_t n = def->length;
    const double k = 2 * M_PI / n, period = 2 * M_PI / sqrt(run->gravity * k * tanh(k * def->depth));
    flow_open(run, n, def->height, 2, 0);
    for (int32_t x = 0; x < n; x++) {
        double mean = sin(0.5 * k) / (0.5 * k) * cos(k * (x + 0.5));  // of the cosine over a cell
        flow_fill_to(run, x, x + 1, 0, 2, def->depth + def->amplitude * mean);
    }
    flow_swing swing = {0};
    flow_grid side = flow_grid_make(flow_box(0, n, 0, def->height, 0, 1));
    for (int32_t i = 0; i <= (int32_t)(def->updates * period); i++) {
        if (i > 0) flow_step(run);
        double amplitude = 0;
        flow_grid_read_fill(run, &side);
        for (int32_t x = 0; x < n; x++) amplitude += 2.0 / n * cos(k * (x + 0.5)) * flow_grid_column(&side, x, 0);
        flow_swing_look(&swing, i, amplitude);
    }
    flow_grid_free(&side);
    flow_note(run, flow_swing_period(&swing), period, "period");
    flow_note(run, flow_swing_kept(&swing), 1, "kept");
}

// ---- Dams ------------------------------------------------------------------------------------------------------------------

// depth: of the water that is let go, which runs over a dry bed. Ritter: the front runs at twice the speed of a long wave, and is half a
// cell deep somewhat behind that; the depth where the dam was is 4/9.
static void play_ritter(flow_run *run)
{
    const int32_t depth = (int32_t)run->def->depth, dam = depth * 45 / 2;
    const double wave = sqrt(run->gravity * depth);
    const int32_t updates = (int32_t)(0.9 * dam / (2 * wave));
    flow_open(run, 2 * dam, depth + 4, 2, 0);
    flow_fill(run, flow_box(0, dam, 0, depth, 0, 2), 1);
    double before = 0;
    for (int32_t i = 1; i <= updates; i++) {
        flow_step(run);
        if (i == updates / 2) before = flow_front(run, 2 * dam, 0, 0.5);
    }
    const double after = flow_front(run, 2 * dam, 0, 0.5), theory = 2 * wave - 3 * sqrt(0.5 * run->gravity);
    double at_dam =
        0.5 * (weir_world_column(run->world, dam - 1, 0, 0, depth + 4) + weir_world_column(run->world, dam, 0, 0, depth + 4));
    flow_note(run, (after - dam) / updates, theory, "front_mean");
    flow_note(run, (after - before) / (updates - updates / 2), theory, "front_late");
    flow_note(run, at_dam, 4.0 / 9 * depth, "depth_at_dam");
}

// Where the depth passes this one, seen from the far end.
static double bore_place(const flow_run *run, flow_grid *side, double depth)
{
    double ahead = 0;
    flow_grid_read_fill(run, side);
    for (int32_t x = side->x - 1; x >= 0; x--) {
        double here = flow_grid_column(side, x, 0);
        if (here > depth) return x + 0.5 + (here - depth) / (here - ahead);
        ahead = here;
    }
    return 0;
}

// depth and other_depth: on the two sides of the dam. A bore is where the depth has risen by a quarter of the step, its foot, which is well
// defined also where the step is a ramp.
static void play_stoker(flow_run *run)
{
    enum { DAM = 400 };
    const flow_def *def = run->def;
    const int32_t height = (int32_t)def->depth + 8;
    const flow_bore exact = flow_bore_exact(run->gravity, def->depth, def->other_depth);
    const double foot = 0.75 * def->other_depth + 0.25 * exact.depth;
    const int32_t updates = (int32_t)(0.85 * DAM / exact.speed);
    flow_open(run, 2 * DAM, height, 2, 0);
    flow_fill_to(run, 0, DAM, 0, 2, def->depth);
    flow_fill_to(run, DAM, 2 * DAM, 0, 2, def->other_depth);
    flow_grid side = flow_grid_make(flow_box(0, 2 * DAM, 0, height, 0, 1));
    double before = 0;
    for (int32_t i = 1; i <= updates; i++) {
        flow_step(run);
        if (i == updates / 2) before = bore_place(run, &side, foot);
    }
    double after = bore_place(run, &side, foot);
    double behind = 0;  // the mean depth shortly behind the bore
    const int32_t from = DAM + (int32_t)(0.8 * (after - DAM)), to = DAM + (int32_t)(0.95 * (after - DAM));
    for (int32_t x = from; x < to; x++) behind += flow_grid_column(&side, x, 0) / (to - from);
    flow_grid_free(&side);
    flow_note(run, (after - DAM) / updates, exact.speed, "bore_mean");
    flow_note(run, (after - before) / (updates - updates / 2), exact.speed, "bore_late");
    flow_note(run, behind, exact.depth, "depth_behind");
}

// size: width a of a column 2a high. Martin and Moyce (1952): T = t sqrt(2g/a) at which the front is at 2a, 3a, 4a, as in scenes/column.c.
// What it takes from 2a on does not depend on when their column was free to fall, or ours. Potential flow: the same, for a column that is
// free at once and has no friction, by boundary elements; the front is where the surface is a/32 high (docs/testing.md).
static void play_column(flow_run *run)
{
    enum { FRONTS = 3, DEEP = 4, UPDATES = 3000 };
    static const double experiment[FRONTS] = {1.72, 2.55, 3.25}, potential[FRONTS] = {1.472, 2.275, 2.959};
    const int32_t a = run->def->size;
    flow_open(run, 6 * a, 3 * a, DEEP, 0);
    flow_fill(run, flow_box(0, a, 0, 2 * a, 0, DEEP), 1);
    double last = a, first = 0;
    int32_t passed = 0;
    for (int32_t i = 1; i <= UPDATES && passed < FRONTS; i++) {
        flow_step(run);
        double front = flow_front(run, 6 * a, DEEP / 2, a / 32.0);
        for (; passed < FRONTS && front >= (2 + passed) * a; passed++) {
            double time = (i - 1 + ((2 + passed) * a - last) / (front - last)) * sqrt(2 * run->gravity / a);
            flow_note(run, time, experiment[passed], "front_%d", 2 + passed);
            flow_note(run, time, potential[passed], "potential_%d", 2 + passed);
            if (passed == 0)
                first = time;
            else
                flow_note(run, time - first, experiment[passed] - experiment[0], "from_2_to_%d", 2 + passed);
        }
        last = front;
    }
    for (; passed < FRONTS; passed++) flow_note(run, NAN, experiment[passed], "front_%d", 2 + passed);
}

// How full cells get in a tall collapse: size wide and `depth` high, in a tank `length` long and `height` high.
static void play_tall(flow_run *run)
{
    enum { DEEP = 16, EVERY = 4 };
    const flow_def *def = run->def;
    flow_open(run, def->length, def->height, DEEP, 0);
    flow_fill_to(run, 0, def->size, 0, DEEP, def->depth);
    flow_fullness fullness = {0};
    flow_grid all = flow_grid_make(weir_world_bounds(run->world));
    double mean = 0, most = 0;
    for (int32_t i = 1; i <= def->updates; i++) {
        flow_step(run);
        flow_fullness_look(&fullness, run);
        if (i % EVERY != 0) continue;
        flow_grid_read_fill(run, &all);
        double excess = flow_grid_excess(&all);
        mean += excess / (def->updates / EVERY);
        most = fmax(most, excess);
    }
    flow_grid_free(&all);
    flow_note(run, fullness.largest, 1, "fill_largest");
    flow_note(run, mean, 0, "excess_mean");
    flow_note(run, most, 0, "excess_most");
    flow_note(run, fullness.longest, 0, "over_longest");
    flow_fullness_end(&fullness);
}

// ---- Tubes -----------------------------------------------------------------------------------------------------------------

// Two shafts joined at the bottom by a pipe, `length` long and as wide as the narrower shaft: size and `height` are the widths of the shafts,
// depth and other_depth the heights of their water. If both are as wide as the pipe, the water swings as one piece.
static void play_utube(flow_run *run)
{
    const flow_def *def = run->def;
    const int32_t a = def->size, b = def->height, right = a + def->length, x = right + b, z = a > b ? a : b;
    const int32_t top = (int32_t)def->depth + 10;
    flow_open(run, x, top, z, 0);
    flow_build(run, flow_box(0, x, 0, top, 0, z));
    flow_dig(run, flow_box(0, a, 0, top, 0, a));
    flow_dig(run, flow_box(right, x, 0, top, 0, b));
    flow_dig(run, flow_box(a, right, 0, a, 0, a));
    flow_fill_to(run, 0, a, 0, a, def->depth);
    flow_fill_to(run, right, x, 0, b, def->other_depth);
    flow_fill(run, flow_box(a, right, 0, a, 0, a), 1);

    flow_swing swing = {.noise = 1e-3};
    flow_fullness fullness = {0};
    double difference = 0;
    for (int32_t i = 1; i <= def->updates; i++) {
        flow_step(run);
        int64_t left_drops = weir_world_box_sum(run->world, flow_box(0, a, 0, top, 0, a)).drops;
        int64_t right_drops = weir_world_box_sum(run->world, flow_box(right, x, 0, top, 0, b)).drops;
        difference = ((double)left_drops / (a * a) - (double)right_drops / (b * b)) / WEIR_FULL;
        flow_swing_look(&swing, i, difference);
        flow_fullness_look(&fullness, run);
    }
    double water = def->depth + def->other_depth + def->length;
    flow_note(run, difference, 0, "difference");
    flow_note(run, swing.count, NAN, "swings");
    flow_note(run, flow_swing_period(&swing), a == b ? 2 * M_PI * sqrt(water / (2 * run->gravity)) : NAN, "period");
    flow_note(run, fullness.largest, 1, "fill_largest");
    flow_fullness_end(&fullness);
}

// ---- Pools -----------------------------------------------------------------------------------------------------------------

// depth of a pool that has just been filled: how far its surface goes up and down, and how far the pressure at the bottom is off.
static void play_deep(flow_run *run)
{
    enum { EDGE = 8, UPDATES = 200 };
    const int32_t depth = (int32_t)run->def->depth, top = depth + depth / 4;
    flow_open(run, EDGE, top, EDGE, 0);
    flow_fill_to(run, 0, EDGE, 0, EDGE, depth);
    double low = 0, high = 0, least = INFINITY, most = 0;
    for (int32_t i = 1; i <= UPDATES; i++) {
        flow_step(run);
        double surface = 0;
        for (int32_t k = 0; k < EDGE * EDGE; k++)
            surface += weir_world_surface(run->world, k % EDGE, k / EDGE, 0, top) / (EDGE * EDGE);
        double pressure = (double)weir_world_cell(run->world, (weir_coord){EDGE / 2, 0, EDGE / 2}).pressure;
        low = fmin(low, surface - depth);
        high = fmax(high, surface - depth);
        least = fmin(least, pressure);
        most = fmax(most, pressure);
    }
    flow_note(run, low, 0, "heave_down");
    flow_note(run, high, 0, "heave_up");
    flow_note(run, least, run->gravity * depth, "pressure_least");
    flow_note(run, most, run->gravity * depth, "pressure_most");
}

// depth of a pool with a base of size x size: what still moves when it has stood for long.
static void play_rest(flow_run *run)
{
    enum { UPDATES = 2000, LOOKED_AT = 100 };
    const int32_t edge = run->def->size;
    flow_open(run, edge, (int32_t)run->def->depth + 6, edge, 0);
    flow_fill_to(run, 0, edge, 0, edge, run->def->depth);
    double flow = 0;
    for (int32_t i = 1; i <= UPDATES; i++) {
        flow_step(run);
        if (i <= UPDATES - LOOKED_AT) continue;
        flow = fmax(flow, (double)weir_world_box_sum(run->world, weir_world_bounds(run->world)).max_flow);
    }
    flow_note(run, flow, 0, "flow_at_end");
}

// ---- Films -----------------------------------------------------------------------------------------------------------------

// A cube of 4 x 4 x 4 is let go on a floor in a world without bounds, large enough that none of it falls over the edge. Bricks are those that
// live: wet ones and the 26 around each. The floor is a brick thick, and solid bricks are not made; under a slab there would be as many again.
static void play_spill(flow_run *run)
{
    enum { EDGE = 320, MIDDLE = EDGE / 2 };
    static const int32_t looks[] = {400, 1000, 1600};
    const weir_box all = flow_box(INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX);
    flow_open(run, 0, 0, 0, 0);
    flow_build(run, flow_box(0, EDGE, -8, 0, 0, EDGE));
    flow_fill(run, flow_box(MIDDLE - 2, MIDDLE + 2, 0, 4, MIDDLE - 2, MIDDLE + 2), 1);
    int32_t updates = 0;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        for (; updates < looks[i]; updates++) flow_step(run);
        weir_box_sum sum = weir_world_box_sum(run->world, all);
        flow_note(run, (double)sum.wet_cells, NAN, "wet_%d", updates);
        flow_note(run, weir_world_stats(run->world).bricks, NAN, "bricks_%d", updates);
        flow_note(run, (double)sum.max_flow, 0, "flow_%d", updates);
    }
}

// Water is poured on the highest of 8 steps, 8 long and 2 high each, and runs down them and away.
static void play_stairs(flow_run *run)
{
    enum { STEPS = 8, LONG = 8, HIGH = 2, DEEP = 8, X = STEPS * LONG, TOP = STEPS * HIGH + 8, POURED = 300, UPDATES = 1500 };
    flow_open(run, X + 8, TOP, DEEP, WEIR_SIDE_X_MAX | WEIR_SIDE_Y_MIN);
    for (int32_t i = 0; i < STEPS; i++) flow_build(run, flow_box(LONG * i, LONG * (i + 1), 0, HIGH * (STEPS - i), 0, DEEP));
    int32_t tap = flow_pour(run, flow_box(2, 6, TOP - 2, TOP - 1, 2, 6), 1);
    for (int32_t i = 1; i <= UPDATES; i++) {
        flow_step(run);
        if (i == POURED) flow_stop(run, tap);
    }
    double left = (double)weir_world_box_sum(run->world, flow_box(0, X, 0, TOP, 0, DEEP)).drops;
    flow_note(run, left / (double)weir_world_ledger(run->world).added, 0, "left");
}

// A film on a tray with a hole of 1 x 1 in its middle.
static void play_film_hole(flow_run *run)
{
    enum { EDGE = 32, FLOOR = 4, UPDATES = 2000 };
    flow_open(run, EDGE, FLOOR + 4, EDGE, WEIR_SIDE_Y_MIN);
    flow_build(run, flow_box(0, EDGE, FLOOR - 1, FLOOR, 0, EDGE));
    flow_dig(run, flow_box(EDGE / 2, EDGE / 2 + 1, FLOOR - 1, FLOOR, EDGE / 2, EDGE / 2 + 1));
    flow_fill(run, flow_box(0, EDGE, FLOOR, FLOOR + 1, 0, EDGE), run->def->depth);
    for (int32_t i = 1; i <= UPDATES; i++) flow_step(run);
    double left = (double)weir_world_box_sum(run->world, flow_box(0, EDGE, FLOOR, FLOOR + 4, 0, EDGE)).drops;
    flow_note(run, left / (double)weir_world_ledger(run->world).added, 0, "left");
}

// ---- Energy ----------------------------------------------------------------------------------------------------------------

// Nothing adds energy to a closed box. What the world already holds is let go.
static void follow_energy(flow_run *run, int32_t updates)
{
    flow_fullness fullness = {0};
    flow_grid all = flow_grid_make(weir_world_bounds(run->world));
    double start = 0, most = 0;
    for (int32_t i = 0; i <= updates; i++) {
        if (i > 0) flow_step(run);
        flow_grid_read(run, &all);
        flow_energy energy = flow_grid_energy(&all, run->gravity);
        if (i == 0) start = energy.potential;
        most = fmax(most, (energy.kinetic + energy.potential) / start - 1);
        flow_fullness_look(&fullness, run);
    }
    flow_grid_free(&all);
    flow_note(run, most, 0, "energy_gain");
    flow_note(run, fullness.largest, 1, "fill_largest");
    flow_note(run, fullness.longest, 0, "over_longest");
    flow_fullness_end(&fullness);
}

static void play_energy_dam(flow_run *run)
{
    flow_open(run, 64, 48, 16, 0);
    flow_fill_to(run, 0, 20, 0, 16, 40);
    follow_energy(run, 600);
}

static void play_energy_slosh(flow_run *run)
{
    flow_open(run, 64, 80, 4, 0);
    for (int32_t x = 0; x < 64; x++) flow_fill_to(run, x, x + 1, 0, 4, 63.5 - x);
    follow_energy(run, 1500);
}

static void play_energy_block(flow_run *run)
{
    flow_open(run, 32, 90, 32, 0);
    flow_fill_to(run, 0, 32, 0, 32, 12);
    flow_fill(run, flow_box(10, 22, 72, 84, 10, 22), 1);
    follow_energy(run, 500);
}

static void play_energy_column(flow_run *run)
{
    flow_open(run, 48, 80, 8, 0);
    flow_fill_to(run, 0, 12, 0, 8, 64);
    follow_energy(run, 600);
}

// The scene dambreak of this size. Returns its cube.
static weir_box open_dambreak(flow_run *run)
{
    const int32_t size = run->def->size, edge = size / 4, x = size * 5 / 4, z = (size - edge) / 2;
    const weir_box cube = flow_box(x, x + edge, 0, edge, z, z + edge);
    flow_open(run, 2 * size, run->def->height, size, 0);
    flow_build(run, cube);
    flow_fill(run, flow_box(0, size * 3 / 5, 0, size * 4 / 5, 0, size), 1);
    return cube;
}

// How full its cells get.
static void play_dambreak(flow_run *run)
{
    open_dambreak(run);
    flow_fullness fullness = {0};
    for (int32_t i = 1; i <= run->def->updates; i++) {
        flow_step(run);
        flow_fullness_look(&fullness, run);
    }
    flow_note(run, fullness.largest, 1, "fill_largest");
    flow_note(run, fullness.longest, 0, "over_longest");
    flow_fullness_end(&fullness);
}

// How it comes to rest.
static void play_dambreak_rest(flow_run *run)
{
    static const int32_t looks[] = {1000, 2000, 4000, 6000};
    const weir_box cube = open_dambreak(run);
    flow_grid all = flow_grid_make(weir_world_bounds(run->world));
    int32_t updates = 0;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        for (; updates < looks[i]; updates++) flow_step(run);
        flow_grid_read(run, &all);
        double low = INFINITY, high = 0;
        for (int32_t z = 0; z < all.z; z++) {
            for (int32_t x = 0; x < all.x; x++) {
                if (x >= cube.min.x && x < cube.max.x && z >= cube.min.z && z < cube.max.z) continue;
                low = fmin(low, flow_grid_column(&all, x, z));
                high = fmax(high, flow_grid_column(&all, x, z));
            }
        }
        flow_note(run, flow_grid_energy(&all, run->gravity).kinetic, 0, "kinetic_%d", updates);
        flow_note(run, high - low, 0, "spread_%d", updates);
    }
    flow_grid_free(&all);
}

// ---- The list --------------------------------------------------------------------------------------------------------------

static const flow_def flows[] = {
    {"jet-1", "a free jet through a hole of 1 x 1, against Torricelli", play_jet, .size = 1, .cost = FLOW_QUICK},
    {"jet-2", "a hole of 2 x 2", play_jet, .size = 2},
    {"jet-4", "a hole of 4 x 4", play_jet, .size = 4},
    {"jet-12", "a hole of 12 x 12", play_jet, .size = 12},
    {"hole-reach-1", "how far from the wall a jet of 1 x 1 comes down", play_reach, .size = 1},
    {"hole-reach-2", "a jet of 2 x 2", play_reach, .size = 2, .cost = FLOW_QUICK},
    {"hole-reach-4", "a jet of 4 x 4", play_reach, .size = 4},
    {"fountain-1", "how high a fountain of 1 x 1 rises, of its head", play_fountain, .size = 1},
    {"fountain-2", "a fountain of 2 x 2", play_fountain, .size = 2, .cost = FLOW_QUICK},
    {"fountain-4", "a fountain of 4 x 4", play_fountain, .size = 4},
    {"wave-8", "a standing wave 8 long, against linear theory", play_wave, .length = 8, .depth = 8, .amplitude = 0.4,
     .height = 20, .updates = 6, .cost = FLOW_SMALL},
    {"wave-16", "16 long", play_wave, .length = 16, .depth = 16, .amplitude = 0.8, .height = 30, .updates = 6,
     .cost = FLOW_SMALL},
    {"wave-32", "32 long", play_wave, .length = 32, .depth = 24, .amplitude = 1.6, .height = 40, .updates = 6,
     .cost = FLOW_QUICK},
    {"wave-64", "64 long", play_wave, .length = 64, .depth = 40, .amplitude = 3.2, .height = 56, .updates = 6},
    {"wave-128", "128 long", play_wave, .length = 128, .depth = 72, .amplitude = 6.4, .height = 96, .updates = 5},
    {"shallow-64", "a wave 64 long on water 3 deep", play_wave, .length = 64, .depth = 3, .amplitude = 0.6, .height = 8,
     .updates = 5, .cost = FLOW_QUICK},
    {"shallow-256", "a wave 256 long on water 10.5 deep", play_wave, .length = 256, .depth = 10.5, .amplitude = 1.05,
     .height = 24, .updates = 4},
    {"ritter-16", "water 16 deep is let go over a dry bed, against Ritter", play_ritter, .depth = 16, .cost = FLOW_QUICK},
    {"ritter-32", "32 deep", play_ritter, .depth = 32},
    {"stoker-32-16", "water 32 deep is let go over water 16 deep, against Stoker", play_stoker, .depth = 32, .other_depth = 16},
    {"stoker-32-8", "over water 8 deep", play_stoker, .depth = 32, .other_depth = 8},
    {"stoker-32-2", "over water 2 deep", play_stoker, .depth = 32, .other_depth = 2},
    {"column-16", "a column 16 wide collapses, against Martin and Moyce", play_column, .size = 16, .cost = FLOW_SMALL},
    {"column-32", "32 wide", play_column, .size = 32, .cost = FLOW_QUICK},
    {"column-64", "64 wide", play_column, .size = 64},
    {"column-128", "128 wide", play_column, .size = 128},
    {"utube-1x1", "water swings in a tube of 1 x 1", play_utube, .size = 1, .height = 1, .length = 8, .depth = 30,
     .other_depth = 4, .updates = 12000, .cost = FLOW_QUICK},
    {"utube-4x4-12x12", "between a shaft of 4 x 4 and one of 12 x 12", play_utube, .size = 4, .height = 12, .length = 8,
     .depth = 40, .other_depth = 8, .updates = 12000},
    {"utube-pipe-100", "in a tube of 1 x 1 with a pipe 100 long", play_utube, .size = 1, .height = 1, .length = 100,
     .depth = 30, .other_depth = 4, .updates = 12000},
    {"deep-200", "a fresh pool 200 deep stays as it is", play_deep, .depth = 200, .cost = FLOW_QUICK},
    {"deep-400", "400 deep", play_deep, .depth = 400},
    {"pool-rest-12.5", "a pool 12.5 deep comes to rest", play_rest, .size = 12, .depth = 12.5, .cost = FLOW_QUICK},
    {"pool-rest-24.05", "24.05 deep", play_rest, .size = 12, .depth = 24.05, .cost = FLOW_QUICK},
    {"pool-rest-9.95", "9.95 deep", play_rest, .size = 16, .depth = 9.95, .cost = FLOW_QUICK},
    {"spill", "64 cells on a flat floor: how far they spread", play_spill},
    {"stairs", "what stays of water that runs down 8 steps", play_stairs, .cost = FLOW_QUICK},
    {"film-hole", "what stays of a film 0.3 deep on a tray with a hole", play_film_hole, .depth = 0.3, .cost = FLOW_QUICK},
    {"energy-dam", "a dam break gains no energy", play_energy_dam, .cost = FLOW_QUICK},
    {"energy-slosh", "nor does water that begins at 45 degrees", play_energy_slosh},
    {"energy-block", "nor a block that falls into a pool", play_energy_block},
    {"energy-column", "nor a column 64 high", play_energy_column, .cost = FLOW_QUICK},
    {"dam-102", "how full cells get in a dam break 102 high", play_tall, .size = 76, .depth = 102, .length = 256, .height = 128,
     .updates = 600},
    {"column-100", "and in a column 100 high", play_tall, .size = 50, .depth = 100, .length = 300, .height = 150,
     .updates = 600},
    {"dambreak-32", "and in the scene dambreak", play_dambreak, .size = 32, .height = 96, .updates = 700, .cost = FLOW_QUICK},
    {"dambreak-64", "of size 64", play_dambreak, .size = 64, .height = 192, .updates = 600},
    {"dambreak-lid", "of size 32, under a lid as high as it is deep", play_dambreak, .size = 32, .height = 32, .updates = 700,
     .cost = FLOW_QUICK},
    {"dambreak-rest", "the scene dambreak comes to rest", play_dambreak_rest, .size = 64, .height = 192},
};

const flow_def *flow_at(int32_t index)
{
    return index >= 0 && index < (int32_t)(sizeof flows / sizeof flows[0]) ? &flows[index] : NULL;
}

const flow_def *flow_find(const char *name)
{
    const flow_def *def;
    for (int32_t i = 0; (def = flow_at(i)) != NULL; i++)
        if (strcmp(def->name, name) == 0) return def;
    return NULL;
}
