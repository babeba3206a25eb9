// What the mixture automaton's OpenCL kernels and their host both know, like compute/opencl_shared.h.
#ifndef WEIR_MIXTURE_DEVICE_H
#define WEIR_MIXTURE_DEVICE_H

#ifndef __OPENCL_VERSION__
#include "cells/forces.h"
#include "compute/opencl_shared.h"
#include "solvers/mixture/laws.h"
#endif

#define DEVICE_FLUIDS 16  // materials that a tile can hold, and those that one with few can
#define DEVICE_FEW 4

// A material as the laws see it, and its bit.
typedef struct device_fluid {
    int rate, up, heat, conducts;
    device_uint bit;
} device_fluid;

// A change of phase; cold and hot are places in the order.
typedef struct device_change {
    int cold, hot;
    int point, latent, turned, heavier, boils;
    int number;  // among those of the world
} device_change;

// What two materials become. All are places in the order; of what leaves the world -1, of terrain DEVICE_HARDENS.
typedef struct device_reaction {
    int first, second, first_to, second_to;
    rule_reaction law;
} device_reaction;

#define DEVICE_REACTIONS 64
#define DEVICE_HARDENS (-2)

// The order of the world's materials (mixture_order).
typedef struct device_order {
    int count, liquids, gases, changes, reactions, hardens;
    device_reaction reaction[DEVICE_REACTIONS];
    device_fluid fluid[DEVICE_FLUIDS];
    device_change change[DEVICE_FLUIDS];
} device_order;

// Terrain that is held at a temperature, in quarter kelvins.
typedef struct device_heater {
    rule_box box;
    int level;
} device_heater;

// What is told of an update.
typedef struct device_update {
    int odd, z_first, film, pressure, heaters, room;
} device_update;

// The header of the tables ends with sums of 8 bytes, which only grow and begin anew with larger tables, and how many tiles hold more than
// few materials.
#define DEVICE_SUM_WARMED 0  // heat from walls, to walls, and with what left by open sides
#define DEVICE_SUM_COOLED 1
#define DEVICE_SUM_DRAINED 2
#define DEVICE_SUM_TURNED 3                                       // units, by change of the world
#define DEVICE_SUM_LEFT (DEVICE_SUM_TURNED + DEVICE_FLUIDS)       // units that left, by place in the order
#define DEVICE_SUM_REACTED (DEVICE_SUM_LEFT + DEVICE_FLUIDS)      // units of each of the two, by reaction of the world
#define DEVICE_SUM_TAKEN (DEVICE_SUM_REACTED + DEVICE_REACTIONS)  // heat that they took up
#define DEVICE_SUM_HARDENED (DEVICE_SUM_TAKEN + 1)                // units that became terrain
#define DEVICE_SUMS_COUNT (DEVICE_SUM_HARDENED + 1)
#define DEVICE_SUMS (DEVICE_CROWDED - 8 * DEVICE_SUMS_COUNT)
#define DEVICE_CROWDED (DEVICE_HEADER - 8)

// The solver's own table: 8 words per brick, by the part of it that a tile of odd updates has: 1 for cells that are not the uppermost on
// x, 2 on y, 4 on z. Bits of the materials that it holds, and bit 0 if it changed in this update.
#define DEVICE_PARTS(room) DEVICE_SOLVER_TABLES(room)
#define DEVICE_TABLES_END(room) (DEVICE_PARTS(room) + 32 * (room))

#endif
