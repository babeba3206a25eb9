// For tests that look inside a world whose solver keeps its fluid in cells. Include after cmocka.h.
#ifndef WEIR_TEST_CELLS_H
#define WEIR_TEST_CELLS_H

#include "cells/flow_channels.h"

static inline fluid_cells *test_cells(const weir_world *world)
{
    fluid_cells *cells = world->state;
    const cell_layout *layout = cells->layout;
    assert_true(layout->mass == CHANNEL_MASS && layout->flow == CHANNEL_FLOW_X && layout->pressure == CHANNEL_PRESSURE);
    assert_true(layout->count >= FLOW_CHANNELS);
    return cells;
}

static inline brick_pool *test_pool(const weir_world *world)
{
    return &test_cells(world)->pool;
}

#endif
