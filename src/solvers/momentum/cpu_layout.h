// Sizes and places that kernels on the CPU and their host both know.
#ifndef WEIR_MOMENTUM_CPU_LAYOUT_H
#define WEIR_MOMENTUM_CPU_LAYOUT_H

enum { COLUMN_X = 8, COLUMN_Y = 2, COLUMN_Z = 8 };  // most bricks on each axis that the move sweeps as one

// The channels of the coarse levels (cells/pyramid.h). While the operator is being built LEVEL_LINK_* hold counts of faces, and
// LEVEL_DIAGONAL, LEVEL_ERROR and LEVEL_ERROR_NEXT the counts of border faces on x, y and z.
enum {
    LEVEL_LINK_X,  // to the cell at x-1
    LEVEL_LINK_Y,
    LEVEL_LINK_Z,
    LEVEL_DIAGONAL,
    LEVEL_RIGHT,
    LEVEL_ERROR,
    LEVEL_ERROR_NEXT,
    LEVEL_THICK_X,
    LEVEL_THICK_Y,
    LEVEL_THICK_Z,
    LEVEL_COUNT,  // active fine cells in it
    LEVEL_CHANNELS
};

#endif
