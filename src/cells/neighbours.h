// Sums over what lies around a cell, in the one order that all machines add in: first the two neighbours, or faces, on each axis, then x
// and z, then y. So a world that is mirrored in x or z, or has them swapped, gives the mirrored bits.
#ifndef WEIR_CELLS_NEIGHBOURS_H
#define WEIR_CELLS_NEIGHBOURS_H

#include "cells/language.h"

// What the three axes bring together.
RULE float rule_over_axes(float x, float y, float z)
{
    return (x + z) + y;
}

// The sum of the six values around a cell: before it and behind it on each axis.
RULE float rule_around(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return rule_over_axes(x0 + x1, y0 + y1, z0 + z1);
}

// 1 over the number of open faces of a cell, 0 if it has none or is solid (open is 0); and the same of open cells as a table.
RULE float rule_inverse_faces(float open, float faces)
{
    float one = 1.0f / rule_max(faces, 1.0f);
    return faces > 0.0f ? open * one : 0.0f;
}

#define RULE_INVERSE_FACES                                                                \
    {                                                                                     \
        0.0f, 1.0f, 1.0f / 2.0f, 1.0f / 3.0f, 1.0f / 4.0f, 1.0f / 5.0f, 1.0f / 6.0f, 0.0f \
    }

// What comes into a cell through its low faces less what leaves it through the high ones.
RULE float rule_inflow(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return rule_over_axes(x0 - x1, y0 - y1, z0 - z1);
}

#endif
