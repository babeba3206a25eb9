// For tests that look inside a world whose solver keeps its fluid in cells. Include after cmocka.h.
#ifndef WEIR_TEST_CELLS_H
#define WEIR_TEST_CELLS_H

#include "cells/cells.h"

// The channels of both solvers, as their tables have them.
enum {
    CHANNEL_MASS,
    CHANNEL_MASS_NEXT,
    CHANNEL_FLOW_X,
    CHANNEL_FLOW_Y,
    CHANNEL_FLOW_Z,
    CHANNEL_FLOW_X_NEXT,
    CHANNEL_FLOW_Y_NEXT,
    CHANNEL_FLOW_Z_NEXT,
    CHANNEL_PRESSURE,
    CHANNEL_PRESSURE_NEXT,
    CHANNEL_FIXED_COUNT
};

static inline fluid_cells *test_cells(const weir_world *world)
{
    fluid_cells *cells = world->state;
    const cell_layout *layout = cells->layout;
    assert_true(layout->mass == CHANNEL_MASS && layout->flow == CHANNEL_FLOW_X && layout->pressure == CHANNEL_PRESSURE);
    assert_int_equal(layout->count, CHANNEL_FIXED_COUNT);
    return cells;
}

static inline brick_pool *test_pool(const weir_world *world)
{
    return &test_cells(world)->pool;
}

#endif
