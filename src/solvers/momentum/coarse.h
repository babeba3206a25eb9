// R7 on coarse levels: a cell stands for 2 x 2 x 2 cells of the level below (docs/how-it-works.md, "R7 as a V-cycle").
//
// Two cells are linked by the number of open faces between active fine cells, over the distance of their middles; the
// thickness t of a cell is how many active fine cells it has along an axis on average.
#ifndef WEIR_MOMENTUM_COARSE_H
#define WEIR_MOMENTUM_COARSE_H

#include "cells/neighbours.h"

#define COARSEST_SWEEPS 32  // on the coarsest level
#define COARSE_LEAST 1e-6f  // a diagonal below this means that the cell has no active fine cells

// ---- Counts ----------------------------------------------------------------------------------------------------------------

// Of level 1, from masks of the fine cells and of what lies beside them. A face links two active cells; a border face leads from an active
// cell to one that is open and not active. Those links count that cross from one coarse cell to the next, at the fine cells that are the
// first of theirs on the axis.
RULE rule_mask rule_link_faces(rule_mask own, rule_mask neighbour)
{
    return own & neighbour;
}

RULE rule_mask rule_border_faces(rule_mask own, rule_mask neighbour, rule_mask neighbour_open)
{
    return own & neighbour_open & ~neighbour;
}

#define COARSE_EVEN_X ((rule_mask)0x5555555555555555)  // bit x, and likewise x + 8y: the cells that are first on x

// Thickness is the number of halves that hold an active cell: 1 or 0 for each, of one coarse cell or of many in the bits of a word.
RULE rule_mask rule_first_thickness(rule_mask low_any, rule_mask high_any)
{
    return low_any + high_any;
}

// Of the levels above, from those of eight cells of the level below: index c of an array and, sx, sy and sz away from it, the next on
// each axis. The sums are paired on the x-z diagonals so that mirroring in x and z and swapping them changes no bit.
#define COARSE_CUBE(v, c, sx, sy, sz)                                                                          \
    (v)[c], (v)[(c) + (sx)], (v)[(c) + (sy)], (v)[(c) + (sx) + (sy)], (v)[(c) + (sz)], (v)[(c) + (sx) + (sz)], \
        (v)[(c) + (sy) + (sz)], (v)[(c) + (sx) + (sy) + (sz)]

RULE float rule_children(float v000, float v100, float v010, float v110, float v001, float v101, float v011, float v111)
{
    return ((v000 + v101) + (v100 + v001)) + ((v010 + v111) + (v110 + v011));
}

// The four of them on one side, a and b away from each other.
#define COARSE_SIDE(v, c, a, b) (v)[c], (v)[(c) + (a)], (v)[(c) + (b)], (v)[(c) + (a) + (b)]

// Their sum. Of links it is that of the low side; these are whole numbers below 2^24 on any level that fits a world.
RULE float rule_side(float v00, float v10, float v01, float v11)
{
    return (v00 + v11) + (v10 + v01);
}

// Their mean thickness, weighted by their counts n.
RULE float rule_side_thickness(float t00, float t10, float t01, float t11, float n00, float n10, float n01, float n11)
{
    return rule_side(t00 * n00, t10 * n10, t01 * n01, t11 * n11) / rule_max(1.0f, rule_side(n00, n10, n01, n11));
}

// Both halves one behind the other: `along` leads from the low side to the high one.
#define COARSE_THICKNESS(t, n, c, along, a, b)                               \
    (rule_side_thickness(COARSE_SIDE(t, c, a, b), COARSE_SIDE(n, c, a, b)) + \
     rule_side_thickness(COARSE_SIDE(t, (c) + (along), a, b), COARSE_SIDE(n, (c) + (along), a, b)))

// ---- The operator ----------------------------------------------------------------------------------------------------------

// The distance of the middles of two cells, times 2.
RULE float rule_apart(float t_low, float t_high)
{
    return rule_max(1.0f, t_low + t_high);
}

RULE float rule_link(float faces, float t_low, float t_high)
{
    return rule_divided(faces * 2.0f, rule_apart(t_low, t_high));
}

// The same with 1 over rule_apart, where that is exact.
RULE float rule_link_by_inverse(float faces, float inverse)
{
    return faces * 2.0f * inverse;
}

// Weight of the faces to open cells that are not active, where the correction is 0.
RULE float rule_border(float faces, float t)
{
    return rule_divided(faces * 2.0f, t + 1.0f);
}

// The weights of a cell's border faces on the three axes, and of its links.
RULE float rule_diagonal(float border_x, float border_y, float border_z, float x0, float x1, float y0, float y1, float z0,
                         float z1)
{
    return rule_over_axes(border_x, border_y, border_z) + rule_around(x0, x1, y0, y1, z0, z1);
}

RULE float rule_inverse(float diagonal)
{
    float inverse = 1.0f / rule_max(diagonal, COARSE_LEAST);
    return diagonal > COARSE_LEAST ? inverse : 0.0f;
}

// The errors of the six neighbours, each times the weight of its link.
RULE float rule_weighted_sum(float x0, float x1, float y0, float y1, float z0, float z1, float e_x0, float e_x1, float e_y0,
                             float e_y1, float e_z0, float e_z1)
{
    return rule_around(x0 * e_x0, x1 * e_x1, y0 * e_y0, y1 * e_y1, z0 * e_z0, z1 * e_z1);
}

RULE float rule_coarse_smooth(float e, float right, float weighted_sum, float inverse)
{
    float a = (right + weighted_sum) * inverse;
    return rule_still(e + 0.9f * (a - e));
}

// What is left of a cell's equation, for the level above.
RULE float rule_coarse_residual(float right, float diagonal, float e, float weighted_sum)
{
    float left = right - diagonal * e + weighted_sum;
    return diagonal > COARSE_LEAST ? left : 0.0f;
}

// ---- Corrections -----------------------------------------------------------------------------------------------------------

// Linear prolongation: a quarter of the way towards the neighbour on each side, across links only.
RULE float rule_towards(float own, float other, float link)
{
    float difference = other - own;
    return link > 0.0f ? difference : 0.0f;
}

RULE float rule_prolong(float own, float dx, float dy, float dz)
{
    return own + 0.25f * ((dx + dz) + dy);
}

// The error of a coarse cell with its correction from the level above, of which it takes less than all. A residual right under a free
// surface counts on the level above as one in the middle of a cell, further from the surface, and so the correction is too large: taken
// whole, one cycle per update lets the surface of still water swing up.
#define COARSE_TAKEN 0.8f

RULE float rule_coarse_correct(float e, float correction, float diagonal)
{
    float taken = COARSE_TAKEN * correction;
    return e + (diagonal > COARSE_LEAST ? taken : 0.0f);
}

#endif
