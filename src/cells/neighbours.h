// Sums over what lies around a cell, in the one order that all machines add in: first the two neighbours, or faces, on each axis, then x
// and z, then y.
#ifndef WEIR_CELLS_NEIGHBOURS_H
#define WEIR_CELLS_NEIGHBOURS_H

#include "cells/language.h"

// The sum of the six values around a cell: before it and behind it on each axis.
RULE float rule_around(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return ((x0 + x1) + (z0 + z1)) + (y0 + y1);
}

// What comes into a cell through its low faces less what leaves it through the high ones.
RULE float rule_inflow(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return ((x0 - x1) + (z0 - z1)) + (y0 - y1);
}

#endif
