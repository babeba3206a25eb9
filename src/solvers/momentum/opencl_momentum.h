// What the momentum solver keeps on an OpenCL device.
#ifndef WEIR_MOMENTUM_OPENCL_MOMENTUM_H
#define WEIR_MOMENTUM_OPENCL_MOMENTUM_H

#include "cells/pyramid.h"
#include "compute/opencl.h"
#include "solvers/momentum/device.h"
#include "solvers/momentum/momentum.h"

#define MOMENTUM_KERNELS(ITEM) \
    ITEM(move)                 \
    ITEM(move_gas)             \
    ITEM(gas)                  \
    ITEM(viscosity)            \
    ITEM(divergence)           \
    ITEM(smooth)               \
    ITEM(find_unconverged)     \
    ITEM(local_relax)          \
    ITEM(copy_newest)          \
    ITEM(gradient)             \
    ITEM(rescale)              \
    ITEM(grow_tree)            \
    ITEM(restrict_fine)        \
    ITEM(correct_fine)         \
    ITEM(first_down)           \
    ITEM(first_smooth)         \
    ITEM(level_down)           \
    ITEM(level_smooth)         \
    ITEM(coarse_tail)          \
    ITEM(book_rim)             \
    ITEM(trim_rim)             \
    ITEM(rest)

enum { KERNEL_BEFORE = KERNEL_OWN - 1, MOMENTUM_KERNELS(KERNEL_ENUM) };

// The pyramid on the device: one block of floats, one of ints, and a table of levels.
typedef struct device_pyramid {
    pyramid tables;
    device_level level[PYRAMID_LEVELS + 1];  // one more, since kernels get a level with the one above it
    cl_mem cells, tree;
    int64_t cell_bytes, tree_bytes;
    int32_t *tree_here;
    size_t here_bytes;
    int32_t told;      // where the host's part of the tree begins, with the table of levels; before it is what grow_tree finds
    int32_t box;       // where the octants of the tail's first level are: see coarse_tail
    int32_t split;     // axes on which the cells of the tail lie in two bricks: bit 3k + axis for level tail + k
    int32_t tail;      // the first level that coarse_tail does; past the top: none
    bool fresh;        // no cycle has been over it yet
    uint64_t version;  // of the pool it was built for
} device_pyramid;

// Sleep there: what the host tells of it and what comes back (opencl_sleep.c).
typedef struct device_sleep {
    cl_mem rim;     // bricks of the rim: 8 times each, and bit `axis` where the brick before it on that axis is awake
    cl_mem beside;  // awake bricks and those at their faces, as device_beside
    cl_mem found;   // what each brick of the rim gained, as a long, then how much each awake one moved, as a byte
    int64_t rim_bytes, beside_bytes, found_bytes;
    pinned_memory found_here;
    // What was sent last; of the awake bricks it is sent again only when it has changed.
    void *rim_here;
    device_beside *beside_here;
    size_t rim_here_bytes, beside_here_bytes;
    int32_t beside_sent;  // so many of them the device has
    cl_event found_read;
    bool found_pending;  // it is on its way
} device_sleep;

struct momentum_opencl {
    opencl_machine *machine;
    device_pyramid pyramid;
    device_sleep sleep;
    int32_t speculative_bricks;  // bricks from which on cycles are enqueued before they are known to be needed
    device_limits limits;
    device_finish finish;
    cl_float thick;  // fill from which on R9, R9b and films have nothing to say
    device_fast fast;
    int32_t counted;           // updates in which fast cells were counted so far
    cl_int smooths;            // of a smoothing
    device_cycle cycle;        // the one under way
    device_cycle stats_cycle;  // the one after which statistics were prefetched
    bool stats_pending;        // they were, and nobody has taken them yet
    cl_event stats_read;
};

// ---- opencl_sleep.c --------------------------------------------------------------------------------------------------------

// Room for what the passes of sleep send and bring back, if the next update has any.
weir_status opencl_sleep_reserve(momentum *m);
// Waits for what the update found out, if it did, and notes it.
void opencl_sleep_take(momentum *m);
int64_t opencl_sleep_bytes(const device_sleep *s);
void opencl_sleep_destroy(momentum *m);

#endif
