// R7 on coarse levels: a cell stands for 2 x 2 x 2 cells of the level below (docs/how-it-works.md, "R7 as a V-cycle").
//
// Two cells are linked by the number of open faces between active fine cells, over the distance of their middles; the
// thickness t of a cell is how many active fine cells it has along an axis on average.
#ifndef WEIR_MOMENTUM_COARSE_H
#define WEIR_MOMENTUM_COARSE_H

#include "cells/language.h"

#define COARSE_LEAST 1e-6f  // a diagonal below this means that the cell has no active fine cells

RULE float rule_link(float faces, float t_low, float t_high)
{
    return faces * 2.0f / rule_max(1.0f, t_low + t_high);
}

// Weight of the faces to open cells that are not active, where the correction is 0.
RULE float rule_border(float faces, float t)
{
    return faces * 2.0f / (t + 1.0f);
}

RULE float rule_inverse(float diagonal)
{
    float inverse = 1.0f / rule_max(diagonal, COARSE_LEAST);
    return diagonal > COARSE_LEAST ? inverse : 0.0f;
}

RULE float rule_coarse_smooth(float e, float right, float weighted_sum, float inverse)
{
    float a = (right + weighted_sum) * inverse;
    return rule_still(e + 0.9f * (a - e));
}

// Mean thickness of one half, and the sum of both (count-weighted; 4 cells in each half).
RULE float rule_thickness(float sum_tc_low, float count_low, float sum_tc_high, float count_high)
{
    float low = sum_tc_low / rule_max(1.0f, count_low);
    float high = sum_tc_high / rule_max(1.0f, count_high);
    return low + high;
}

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
