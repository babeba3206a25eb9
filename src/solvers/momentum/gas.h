// A gas in place of water (docs/how-it-works.md, "A gas"): it fills whatever it is in, and what a cell holds presses on what is around it, k
// times its fill. This stands for R6 to R9; R1 and R2 of a gas are in flux.h and limit.h.
#ifndef WEIR_MOMENTUM_GAS_H
#define WEIR_MOMENTUM_GAS_H

#include "cells/language.h"

#define GAS_FEW 1e-6f    // two cells that hold less together have no flow between them
#define GAS_LEAST 1e-6f  // least k: in the measure of a substep it is a 64th, and must not become 0

// The flow after what both cells hold has pushed, and damping as in R8; twice_k is 2 k.
RULE float rule_gas_push(float f, float w, float m_low, float m_high, float twice_k, float damping, float inverse_calm,
                         float limit)
{
    float sum = m_low + m_high;
    float pushed = f + w * (twice_k * (m_low - m_high) / rule_max(sum, GAS_FEW));
    float calm = rule_max(0.0f, 1.0f - rule_abs(pushed) * inverse_calm);
    float flow = rule_still(rule_clamp(pushed * (1.0f - damping * calm), limit));
    return rule_choose(sum > GAS_FEW, flow, 0.0f);
}

// What a cell presses with.
RULE float rule_gas_pressure(float m, float k)
{
    return rule_still(k * m);
}

#endif
