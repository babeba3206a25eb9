// The channels of a solver with mass in drops, flow on faces and pressure, each with one that takes its new values. They are the first of
// such a solver's list, with the largest flow there is, and its own follow:
//
//     enum { HEAT = FLOW_CHANNELS, CHANNELS };
//     static const cell_channel channels[CHANNELS] = {FLOW_CHANNEL_ROWS(1), [HEAT] = {"heat", CHANNEL_FLOAT, 4, true, CHANNEL_NONE, 1}};
//     static const cell_layout layout = {channels, CHANNELS, FLOW_CHANNEL_PLACES};
#ifndef WEIR_CELLS_FLOW_CHANNELS_H
#define WEIR_CELLS_FLOW_CHANNELS_H

#include "cells/cells.h"

// What an update reads is the plain ones; when it has finished they hold the new state.
enum {
    CHANNEL_MASS,
    CHANNEL_MASS_NEXT,
    CHANNEL_FLOW_X,  // through the face towards the lower neighbour; positive moves mass towards higher coordinates
    CHANNEL_FLOW_Y,
    CHANNEL_FLOW_Z,
    CHANNEL_FLOW_X_NEXT,
    CHANNEL_FLOW_Y_NEXT,
    CHANNEL_FLOW_Z_NEXT,
    CHANNEL_PRESSURE,
    CHANNEL_PRESSURE_NEXT,
    FLOW_CHANNELS
};

// clang-format off
#define FLOW_CHANNEL_ROWS(flow_max)                                                               \
    [CHANNEL_MASS] = {"mass", CHANNEL_UNITS, 4, true, CHANNEL_MASS_NEXT, 0},                      \
    [CHANNEL_MASS_NEXT] = {"mass_next", CHANNEL_UNITS, 4, false, CHANNEL_NONE, 0},                \
    [CHANNEL_FLOW_X] = {"flow_x", CHANNEL_FLOAT, 4, true, CHANNEL_FLOW_X_NEXT, flow_max},              \
    [CHANNEL_FLOW_Y] = {"flow_y", CHANNEL_FLOAT, 4, true, CHANNEL_FLOW_Y_NEXT, flow_max},              \
    [CHANNEL_FLOW_Z] = {"flow_z", CHANNEL_FLOAT, 4, true, CHANNEL_FLOW_Z_NEXT, flow_max},              \
    [CHANNEL_FLOW_X_NEXT] = {"flow_x_next", CHANNEL_FLOAT, 4, false, CHANNEL_NONE, flow_max},          \
    [CHANNEL_FLOW_Y_NEXT] = {"flow_y_next", CHANNEL_FLOAT, 4, false, CHANNEL_NONE, flow_max},          \
    [CHANNEL_FLOW_Z_NEXT] = {"flow_z_next", CHANNEL_FLOAT, 4, false, CHANNEL_NONE, flow_max},          \
    [CHANNEL_PRESSURE] = {"pressure", CHANNEL_FLOAT, 4, true, CHANNEL_PRESSURE_NEXT, 1e6},        \
    [CHANNEL_PRESSURE_NEXT] = {"pressure_next", CHANNEL_FLOAT, 4, false, CHANNEL_NONE, 1e6}
// clang-format on

#define FLOW_CHANNEL_PLACES .mass = CHANNEL_MASS, .flow = CHANNEL_FLOW_X, .pressure = CHANNEL_PRESSURE

#endif
