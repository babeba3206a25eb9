// Air: pockets of it under water have a pressure, and water that touches none hangs together (docs/how-it-works.md, "Air").
//
// Only where the parameter `air`, the pressure of the open air, is above 0. All pressures are those above it: that of the open air is 0, and
// the least there is, of nothing, is -air. A cell counts as air that holds less than half a cell of water. Air cells that lie side by side
// are a pocket; one that reaches the open air is none. What of it is worked out for cells is written once for all machines in pockets.c.
#ifndef WEIR_MOMENTUM_AIR_H
#define WEIR_MOMENTUM_AIR_H

#include "cells/language.h"

#define AIR_NONE (-1e30f)  // in place of the pressure of air, where none is beside a cell

// R6: the least pressure of a cell with fill m over a cell with pressure `below`. `air` is that of the air in it or beside it, whose surface
// has a head; water without air holds together down to `vacuum`.
RULE float rule_air_floor(float air, float m, float below, float supported, float open, float g, float inverse_g, float vacuum)
{
    float carried = rule_max(0.0f, below - air) * inverse_g;
    float support = supported > 0.0f ? 1.0f : rule_min(1.0f, carried);
    float surface = air + open * (g * rule_min(1.0f, m) * support);
    return air > AIR_NONE ? surface : vacuum;
}

// R6: what a cell with fill m will hold too much. Water without air beside it is drawn to where some is lacking, as gently as it is pushed out
// where there is too much; to where air is it may come or not.
RULE float rule_air_divergence(float divergence, float m, float air, float rate, float cap)
{
    float lacks = rule_min(0.0f, m - 1.0f);
    float drawn = rule_max(rate * lacks, -cap);
    return air > AIR_NONE ? divergence : divergence + (drawn - lacks);
}

#endif
