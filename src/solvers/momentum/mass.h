// R3: the new fill of a cell, from what crossed its faces (docs/how-it-works.md). All terms are whole drops, and cells hold less than 4, so
// the sums are exact.
#ifndef WEIR_MOMENTUM_MASS_H
#define WEIR_MOMENTUM_MASS_H

#include "cells/neighbours.h"

RULE float rule_mass(float m, float x0, float x1, float y0, float y1, float z0, float z1)
{
    return m + rule_inflow(x0, x1, y0, y1, z0, z1);
}

#endif
