// What the flows of the laboratory share: setting up a world, looking at it, and following what it does.
#include "flows.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const flow_run *run, weir_status status)
{
    if (status == WEIR_OK) return;
    fprintf(stderr, "%s: %s\n", run->def->name, weir_error_message());
    exit(1);
}

static void *room_for(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (room) return room;
    fprintf(stderr, "memory ran out\n");
    exit(1);
}

// ---- Setting up and stepping -----------------------------------------------------------------------------------------------

flow_run flow_play(const flow_def *def, const weir_world_def *base, void (*print)(const flow_run *, const flow_result *))
{
    flow_run run = {.def = def, .base = *base, .gravity = -base->params->gravity.y, .print = print};
    def->play(&run);
    run.drift = weir_world_ledger(run.world).drift;
    weir_world_destroy(run.world);
    run.world = NULL;
    return run;
}

void flow_open(flow_run *run, int32_t x, int32_t y, int32_t z, uint32_t open_sides)
{
    weir_world_def def = run->base;
    def.bounds = flow_box(0, x, 0, y, 0, z);
    def.open_sides = open_sides;
    must(run, weir_world_create(&def, &run->world));
}

void flow_fill(flow_run *run, weir_box box, double fill)
{
    must(run, weir_world_fill(run->world, box, WEIR_WATER, (float)fill));
}

void flow_drain(flow_run *run, weir_box box)
{
    must(run, weir_world_drain(run->world, box));
}

void flow_build(flow_run *run, weir_box box)
{
    must(run, weir_world_build(run->world, box, 255));
}

void flow_dig(flow_run *run, weir_box box)
{
    must(run, weir_world_dig(run->world, box));
}

void flow_fill_to(flow_run *run, int32_t x0, int32_t x1, int32_t z0, int32_t z1, double height)
{
    int32_t whole = (int32_t)height;
    if (whole > 0) flow_fill(run, flow_box(x0, x1, 0, whole, z0, z1), 1);
    if (height - whole > 1e-6) flow_fill(run, flow_box(x0, x1, whole, whole + 1, z0, z1), height - whole);
}

int32_t flow_pour(flow_run *run, weir_box box, double rate)
{
    int32_t tap;
    must(run, weir_world_add_emitter(run->world, box, WEIR_WATER, (float)rate, &tap));
    return tap;
}

void flow_stop(flow_run *run, int32_t tap)
{
    must(run, weir_world_remove(run->world, tap));
}

void flow_step(flow_run *run)
{
    must(run, weir_world_step(run->world));
}

void flow_note(flow_run *run, double value, double theory, const char *name, ...)
{
    if (run->count == FLOW_RESULTS) {
        fprintf(stderr, "%s has more results than there is room for\n", run->def->name);
        exit(1);
    }
    flow_result *result = &run->results[run->count++];
    va_list arguments;
    va_start(arguments, name);
    vsnprintf(result->name, sizeof result->name, name, arguments);
    va_end(arguments);
    result->value = value;
    result->theory = theory;
    if (run->print) run->print(run, result);
}

// ---- Grids -----------------------------------------------------------------------------------------------------------------

flow_grid flow_grid_make(weir_box box)
{
    flow_grid grid = {.box = box, .x = box.max.x - box.min.x, .y = box.max.y - box.min.y, .z = box.max.z - box.min.z};
    size_t cells = (size_t)grid.x * (size_t)grid.y * (size_t)grid.z;
    grid.fill = room_for(cells, sizeof *grid.fill);
    grid.flow = room_for(cells, sizeof *grid.flow);
    return grid;
}

void flow_grid_free(flow_grid *grid)
{
    free(grid->fill);
    free(grid->flow);
    *grid = (flow_grid){0};
}

void flow_grid_read(const flow_run *run, flow_grid *grid)
{
    flow_grid_read_fill(run, grid);
    must(run, weir_world_read_flow(run->world, grid->box, grid->flow));
}

void flow_grid_read_fill(const flow_run *run, flow_grid *grid)
{
    must(run, weir_world_read_fill(run->world, grid->box, grid->fill));
}

double flow_grid_column(const flow_grid *grid, int32_t x, int32_t z)
{
    double sum = 0;
    for (int32_t y = 0; y < grid->y; y++) sum += (double)grid->fill[flow_grid_index(grid, x, y, z)];
    return sum;
}

double flow_grid_excess(const flow_grid *grid)
{
    double excess = 0, water = 0;
    for (int64_t i = 0; i < (int64_t)grid->x * grid->y * grid->z; i++) {
        water += (double)grid->fill[i];
        if (grid->fill[i] > 1) excess += (double)grid->fill[i] - 1;
    }
    return water > 0 ? excess / water : 0;
}

// Kinetic energy along one axis of a row of cells that begins and ends at walls: n cells, `stride` apart.
static double row_energy(const float *fill, const float *flow, int32_t n, int64_t stride)
{
    double sum = 0, face = 0;  // the face below the cell
    for (int32_t i = 0; i < n; i++) {
        if (i > 0) sum += 0.25 * (double)(fill[(i - 1) * stride] + fill[i * stride]) * face * face;
        face = 2 * (double)flow[3 * i * stride] - face;
    }
    if (fabs(face) < 1e-3) return sum;
    fprintf(stderr, "the far wall has a flow of %g: kinetic energy is for worlds with walls all round\n", face);
    exit(1);
}

flow_energy flow_grid_energy(const flow_grid *grid, double gravity)
{
    const int64_t plane = (int64_t)grid->x * grid->y;
    flow_energy energy = {0};
    for (int32_t z = 0; z < grid->z; z++) {
        for (int32_t y = 0; y < grid->y; y++) {
            const int64_t row = flow_grid_index(grid, 0, y, z);
            energy.kinetic += row_energy(&grid->fill[row], &grid->flow[row].x, grid->x, 1);
            for (int32_t x = 0; x < grid->x; x++) {
                double fill = (double)grid->fill[row + x];
                energy.potential += gravity * fill * (y + 0.5 * fill);
            }
        }
        for (int32_t x = 0; x < grid->x; x++) {
            const int64_t row = flow_grid_index(grid, x, 0, z);
            energy.kinetic += row_energy(&grid->fill[row], &grid->flow[row].y, grid->y, grid->x);
        }
    }
    for (int64_t row = 0; row < plane; row++)
        energy.kinetic += row_energy(&grid->fill[row], &grid->flow[row].z, grid->z, plane);
    return energy;
}

// ---- Following -------------------------------------------------------------------------------------------------------------

void flow_fullness_look(flow_fullness *fullness, const flow_run *run)
{
    const weir_box all = weir_world_bounds(run->world);
    const size_t cells = (size_t)(all.max.x - all.min.x) * (size_t)(all.max.y - all.min.y) * (size_t)(all.max.z - all.min.z);
    if (!fullness->fill) {
        fullness->fill = calloc(cells, sizeof *fullness->fill);
        fullness->over = calloc(cells, sizeof *fullness->over);
    }
    must(run, weir_world_read_fill(run->world, all, fullness->fill));
    for (size_t i = 0; i < cells; i++) {
        fullness->largest = fmax(fullness->largest, (double)fullness->fill[i]);
        fullness->over[i] = fullness->fill[i] > 1.05f ? fullness->over[i] + 1 : 0;
        if (fullness->over[i] > fullness->longest) fullness->longest = fullness->over[i];
    }
}

void flow_fullness_end(flow_fullness *fullness)
{
    free(fullness->fill);
    free(fullness->over);
}

void flow_swing_look(flow_swing *swing, int32_t update, double value)
{
    const int32_t sign = value > swing->noise ? 1 : value < -swing->noise ? -1 : 0;
    if (sign != 0 && sign == -swing->sign && swing->count < FLOW_SWINGS) {
        swing->passed[swing->count] = update - value / (value - swing->last);
        swing->peaks[swing->count++] = swing->peak;
        swing->peak = 0;
    }
    if (sign != 0) swing->sign = sign;
    swing->peak = fmax(swing->peak, fabs(value));
    swing->last = value;
}

double flow_swing_period(const flow_swing *swing)
{
    const int32_t last = swing->count - 1;
    return last < 1 ? NAN : 2 * (swing->passed[last] - swing->passed[0]) / last;
}

double flow_swing_kept(const flow_swing *swing)
{
    const int32_t last = swing->count - 1;
    return last < 2 ? NAN : pow(swing->peaks[last] / swing->peaks[0], 2.0 / last);
}

double flow_front(const flow_run *run, int32_t length, int32_t z, double depth)
{
    enum { LONGEST = 4096, HIGHEST = 8 };
    static float fill[LONGEST * HIGHEST];
    const int32_t height = (int32_t)depth + 1;
    double ahead = 0;
    assert(length <= LONGEST && height <= HIGHEST);
    must(run, weir_world_read_fill(run->world, flow_box(0, length, 0, height, z, z + 1), fill));
    for (int32_t x = length - 1; x >= 0; x--) {
        double here = 0;
        for (int32_t y = 0; y < height; y++) here += (double)fill[x + length * y];
        if (here > depth) return x + 0.5 + (here - depth) / (here - ahead);
        ahead = here;
    }
    return 0;
}

// ---- Theory ----------------------------------------------------------------------------------------------------------------

// Flow behind a bore of this depth: as the bore wants it, less than the wave that runs back gives.
static double bore_lacks(double g, double depth, double other_depth, double behind)
{
    double flow = 2 * (sqrt(g * depth) - sqrt(g * behind));
    return flow - (behind - other_depth) * sqrt(0.5 * g * (behind + other_depth) / (behind * other_depth));
}

flow_bore flow_bore_exact(double gravity, double depth, double other_depth)
{
    double low = other_depth, high = depth;
    for (int32_t i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        *(bore_lacks(gravity, depth, other_depth, middle) > 0 ? &low : &high) = middle;
    }
    double flow = 2 * (sqrt(gravity * depth) - sqrt(gravity * low));
    return (flow_bore){low * flow / (low - other_depth), low};
}
