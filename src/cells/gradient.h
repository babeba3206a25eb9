// R8: what pressure does to flow.
#ifndef WEIR_CELLS_GRADIENT_H
#define WEIR_CELLS_GRADIENT_H

#include "cells/language.h"

// Flow after the pressure difference across its face; w is 1 if both cells are open, and 0 if not.
RULE float rule_gradient(float f, float w, float p_low, float p_high, float keep, float limit)
{
    return rule_still(rule_clamp((f + w * (p_low - p_high)) * keep, limit));
}

#endif
