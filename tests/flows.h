// A laboratory of flows: small worlds of the default solver that each show one thing water does, measured beside theory or experiment.
//
// flows.c has the flows, flows_measure.c the instruments they share, test_flows.c plays them. All goes through the public face.
//
//     flow_run run = flow_play(flow_find("jet-2"), &base, print);
//     for (int32_t i = 0; i < run.count; i++) printf("%s %g\n", run.results[i].name, run.results[i].value);
#ifndef WEIR_TESTS_FLOWS_H
#define WEIR_TESTS_FLOWS_H

#include <weir/weir.h>

enum { FLOW_RESULTS = 16 };

// How long a flow takes on one core. The test plays those that are quick, a second or two; slow builds only those that are small.
typedef enum flow_cost { FLOW_LONG, FLOW_QUICK, FLOW_SMALL } flow_cost;

typedef struct flow_run flow_run;
typedef struct flow_def flow_def;

// What a flow showed. theory: what theory or experiment says; NaN where neither does.
typedef struct flow_result {
    char name[24];
    double value, theory;
} flow_result;

struct flow_def {
    const char *name, *summary;
    void (*play)(flow_run *run);
    flow_cost cost;

    // What it is made of; each flow says which of these it reads.
    int32_t size, length, height, updates;
    double depth, other_depth, amplitude;
};

// A flow being played, and what it has shown so far.
struct flow_run {
    const flow_def *def;
    weir_world_def base;  // of its world: parameters, backend, threads
    double gravity;       // downward, cells per update squared
    weir_world *world;
    int64_t drift;  // of the ledger at the end
    flow_result results[FLOW_RESULTS];
    int32_t count;
    void (*print)(const flow_run *run, const flow_result *result);  // gets every result when it is known; NULL: nobody does
};

// The index-th flow; NULL past the last. NULL if there is none of that name.
const flow_def *flow_at(int32_t index);
const flow_def *flow_find(const char *name);

// Plays a flow to its end. base has parameters, backend and threads, and must have gravity. What fails ends the program with a sentence.
flow_run flow_play(const flow_def *def, const weir_world_def *base, void (*print)(const flow_run *, const flow_result *));

// ---- Setting up and stepping -----------------------------------------------------------------------------------------------

// The box x0 <= x < x1 and so on.
static inline weir_box flow_box(int32_t x0, int32_t x1, int32_t y0, int32_t y1, int32_t z0, int32_t z1)
{
    return (weir_box){{x0, y0, z0}, {x1, y1, z1}};
}

// Makes the flow's world: from the origin to (x, y, z), with these sides open (weir_side); or without bounds if x is 0.
void flow_open(flow_run *run, int32_t x, int32_t y, int32_t z, uint32_t open_sides);

void flow_fill(flow_run *run, weir_box box, double fill);
void flow_drain(flow_run *run, weir_box box);
void flow_build(flow_run *run, weir_box box);
void flow_dig(flow_run *run, weir_box box);

// Fills columns from the floor (y = 0) to a height between cells.
void flow_fill_to(flow_run *run, int32_t x0, int32_t x1, int32_t z0, int32_t z1, double height);

// Begins to pour `rate` full cells per update into a box, and ends it; flow_pour returns what flow_stop takes.
int32_t flow_pour(flow_run *run, weir_box box, double rate);
void flow_stop(flow_run *run, int32_t tap);

void flow_step(flow_run *run);

// Notes a result; the name may be made with a number, as in ("wet_%d", 400).
__attribute__((format(printf, 4, 5))) void flow_note(flow_run *run, double value, double theory, const char *name, ...);

// ---- Instruments -----------------------------------------------------------------------------------------------------------

// The cells of a box, x fastest, then y, then z.
typedef struct flow_grid {
    weir_box box;
    int32_t x, y, z;  // cells
    float *fill;
    weir_vec *flow;
} flow_grid;

flow_grid flow_grid_make(weir_box box);
void flow_grid_free(flow_grid *grid);
void flow_grid_read(const flow_run *run, flow_grid *grid);  // fills and flows
void flow_grid_read_fill(const flow_run *run, flow_grid *grid);

static inline int64_t flow_grid_index(const flow_grid *grid, int32_t x, int32_t y, int32_t z)
{
    return x + (int64_t)grid->x * (y + (int64_t)grid->y * z);
}

// Sum of the fills of a column of a grid.
double flow_grid_column(const flow_grid *grid, int32_t x, int32_t z);

// What is over 1 in all cells of a grid, as a share of its water.
double flow_grid_excess(const flow_grid *grid);

// Energy of the water in a grid that is a whole world with walls all round, in full cells times (cells per update) squared. Kinetic energy is
// that of the faces: cells tell the mean of two, and a wall has none, so one is known after the other. A cell's mean alone would hide what
// swings from face to face.
typedef struct flow_energy {
    double kinetic, potential;
} flow_energy;

flow_energy flow_grid_energy(const flow_grid *grid, double gravity);

// Largest fill so far, and for how many updates on end a cell was over 1.05, the longest of them. Zero at first; to be ended.
typedef struct flow_fullness {
    double largest;
    int32_t longest;
    float *fill;    // of the world's cells
    int32_t *over;  // updates for which each has been too full
} flow_fullness;

void flow_fullness_look(flow_fullness *fullness, const flow_run *run);
void flow_fullness_end(flow_fullness *fullness);

// Follows something that swings about 0: when it passed, and how far out it went before. What is within `noise` of 0 passes nothing.
enum { FLOW_SWINGS = 256 };
typedef struct flow_swing {
    double noise;
    double last, peak;
    int32_t sign, count;
    double passed[FLOW_SWINGS], peaks[FLOW_SWINGS];
} flow_swing;

void flow_swing_look(flow_swing *swing, int32_t update, double value);
double flow_swing_period(const flow_swing *swing);  // NaN before two passes
double flow_swing_kept(const flow_swing *swing);  // share of the amplitude that is left after a period; NaN before three passes

// Where the water first stands so deep, seen from the far end, between the middles of two cells; 0 if nowhere.
double flow_front(const flow_run *run, int32_t length, int32_t z, double depth);

// A bore that runs into still water, after Stoker (1957): its speed, and the depth behind it.
typedef struct flow_bore {
    double speed, depth;
} flow_bore;

flow_bore flow_bore_exact(double gravity, double depth, double other_depth);

#endif
