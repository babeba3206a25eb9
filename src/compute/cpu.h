// The CPU as a machine: bricks over threads, kernels by the width of SIMD that the processor has. It knows how to cut the live bricks
// into pieces of work and how to run a solver's kernel over them, and no law.
#ifndef WEIR_COMPUTE_CPU_H
#define WEIR_COMPUTE_CPU_H

#include "cells/pyramid.h"
#include "compute/backend.h"

// ---- Pieces of work --------------------------------------------------------------------------------------------------------

enum { RUN_MAX = 4 };  // bricks side by side along x that are worked on as one

// A run of 1, 2 or 4 bricks side by side along x: long rows for wide registers, and fewer rims to copy.
typedef struct brick_run {
    int32_t count;
    int32_t brick[RUN_MAX];
} brick_run;

// Bricks that hang together inside one box of a grid, worked on as one by sweeps along z. Some of the box may be missing.
typedef struct brick_column {
    int32_t first;         // the others follow by cpu_bricks.next
    weir_coord low, size;  // of the box that holds them, in bricks
} brick_column;

// ---- Kernels ---------------------------------------------------------------------------------------------------------------

// What kernels see of the bricks, whatever the law. The first thing in a solver's arguments.
typedef struct cpu_bricks {
    int32_t end;  // indices of bricks are below it
    const uint8_t *alive;
    const uint8_t *phase;  // brick_phase
    const int32_t (*near)[27];
    const weir_coord *coord;
    const brick_mask *open;
    const uint8_t *clear;  // 1: the brick and its 26 neighbours are open throughout and worked on
    const int32_t *next;   // the next brick of a column, or BRICK_NOTHING
    uint8_t *wet;
    int64_t *changed;
    int64_t change;           // the number of the change under way
    const float (*flags)[8];  // eight flags in a byte as floats 1 and 0
    const float *ones;        // a run tile that is all 1
} cpu_bricks;

// What forces and noise work on, after the move of a solver with flow on faces.
typedef struct cpu_forces {
    const int32_t *mass;
    float *flow[3];
    float scale;        // flow that an acceleration of 1 gives per update
    float empty;        // fill of two cells up to which nothing pushes them
    float noise;        // 0: none
    int32_t down_axis;  // on which there is no noise
    uint32_t noise_seed;
    int64_t update;
    const world_source *sources;
    int32_t source_count;
} cpu_forces;

// Kernels get the solver's arguments and a worker's scratch. One on a brick gives a number, of which the largest is wanted.
typedef void run_kernel(const void *args, void *scratch, const brick_run *r);
typedef void column_kernel(const void *args, void *scratch, const brick_column *c);
typedef float brick_kernel(const void *args, void *scratch, int32_t brick);
typedef void level_kernel(const void *args, void *scratch, int32_t level, int32_t brick);

// ---- The machine -----------------------------------------------------------------------------------------------------------

enum { CPU_WIDTHS = 3 };  // of SIMD: scalar, AVX2, AVX-512

// What a solver asks of the machine: which pieces of work, and how much scratch a worker needs. Its kernels are compiled once per
// width; of a width that this build has not got `scratch` is 0.
typedef struct cpu_needs {
    // Most bricks on each axis that are swept as one, powers of two: columns begin at multiples of them, and are less deep where there
    // would not be enough of them for all threads. Zero: it has no use for columns.
    weir_coord column;
    size_t scratch[CPU_WIDTHS];
    size_t tile;  // of a run tile: see cpu_bricks.ones
} cpu_needs;

typedef struct cpu_machine {
    backend base;
    weir_world *world;
    fluid_cells *cells;
    cpu_needs needs;
    int32_t width;      // of SIMD, from 0 on
    cpu_bricks bricks;  // as they are now
    brick_run *runs;    // of bricks that are not asleep
    int32_t run_count;
    brick_run *awake_runs;  // of those that are awake
    int32_t awake_run_count;
    brick_column *columns;
    int32_t column_count;
    int32_t run_room;  // runs and columns there is room for
    uint64_t version;  // of the pool that all these were made for
    uint64_t tried;    // and for which validate has tried what columns write
    uint8_t *clear;    // see cpu_bricks
    int32_t *next;
    int32_t room;  // bricks there is room for in these
    char *scratch;
    float *largest;  // of each worker, a cache line apart
    int32_t workers;
    bool backwards;  // passes go forwards and backwards in turn
    float flags[256][8];
    float *ones;
} cpu_machine;

// The widest kernels that this build and this processor have, or those that were asked for; refused if there are none.
weir_status cpu_choose_width(weir_simd asked, weir_simd *chosen);

weir_status cpu_machine_create(fluid_cells *c, const cpu_needs *needs, cpu_machine **out);

// Makes the lists for the bricks that are live now. May fail on memory, with nothing changed.
weir_status cpu_prepare(cpu_machine *cpu);

// Runs a kernel over all runs, those of awake bricks, columns, or bricks of a coarse level. `args` begins with a copy of `bricks`.
void cpu_over_awake_runs(cpu_machine *cpu, run_kernel *kernel, const void *args);
void cpu_over_runs(cpu_machine *cpu, run_kernel *kernel, const void *args);
void cpu_over_columns(cpu_machine *cpu, column_kernel *kernel, const void *args);
void cpu_over_level(cpu_machine *cpu, level_kernel *kernel, const void *args, const pyramid *levels, int32_t level);
// Over some bricks; NULL: those with the numbers 1 to `count`. Returns the largest number that the kernel gave, or 0.
float cpu_over_bricks(cpu_machine *cpu, brick_kernel *kernel, const void *args, const int32_t *bricks, int32_t count,
                      int32_t grain);

// The forces of the update under way, but for the channels.
cpu_forces cpu_find_forces(const cpu_machine *cpu, float scale);

// Makes the new values of mass, flow or pressure the current ones.
void cpu_swap_mass(cpu_machine *cpu);
void cpu_swap_flow(cpu_machine *cpu);
void cpu_swap_pressure(cpu_machine *cpu);

// Takes the drops, after the move, out of cells that lie behind an open side and returns how many. drained[b], if not NULL, becomes 1 for the
// bricks that lost some and 0 for the others.
int64_t cpu_drain_sides(cpu_machine *cpu, uint8_t *drained);

// NULL, or what is broken: that every live brick is written by one column, seen by what `try_column` does with each of them alone. It
// gives a brick that it writes a value in `wet`.
typedef void cpu_try(void *solver, const brick_column *column, uint8_t *wet, int64_t *changed);
const char *cpu_validate_columns(cpu_machine *cpu, cpu_try *try_column, void *solver);

#endif
