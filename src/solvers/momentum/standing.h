// Standing pressure: water that is filled in has the pressure at once that its weight will give it (docs/how-it-works.md, "Deep starts").
#ifndef WEIR_MOMENTUM_STANDING_H
#define WEIR_MOMENTUM_STANDING_H

#include "cells/language.h"

#define STANDING_LEAST 0.5f  // cells of water that a fill adds to a column; less leaves its pressure alone
#define STANDING_JUMP 4.0f   // cells of water: after more than that the pressure is solved anew

// The pressure of a cell under so much water, its own included, of which a fill added some; all in cells. No more than what was added
// counts, since water that flows has less than it would have at rest.
RULE float rule_standing(float p, float above, float added, float g)
{
    return rule_max(p, rule_min(g * above, p + g * added));
}

#endif
