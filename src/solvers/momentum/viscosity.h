// R5: viscosity, an exchange of flow with the six neighbouring faces that carry water.
#ifndef WEIR_MOMENTUM_VISCOSITY_H
#define WEIR_MOMENTUM_VISCOSITY_H

#include "cells/neighbours.h"

// How a neighbouring face pulls at a flow: not at all unless the cells at that face hold half a fill together.
RULE float rule_pull(float f, float f_there, float fills_there)
{
    return (fills_there > 0.5f ? 1.0f : 0.0f) * (f_there - f);
}

// Flow after the pull of the neighbours before and behind on each axis; w is 1 if both cells are open, and 0 if not.
RULE float rule_viscosity(float f, float w, float x0, float x1, float y0, float y1, float z0, float z1, float viscosity)
{
    return w * (f + viscosity * rule_around(x0, x1, y0, y1, z0, z1));
}

#endif
