// R4: momentum is carried with the mass (docs/how-it-works.md). The control volume of a face is made of the halves of its two
// cells; what flows into it carries the flow of where it comes from. Being a mean of old flows weighted by mass, it cannot grow.
#ifndef WEIR_MOMENTUM_CARRY_H
#define WEIR_MOMENTUM_CARRY_H

#include "cells/language.h"

// Momentum that crosses one side of a control volume, times 2: the fluxes out of the halves of its low and its high cell, and the flows of
// the faces before and behind it.
RULE float rule_carried(float flux_low, float flux_high, float u_low, float u_high)
{
    float flux = flux_low + flux_high;
    float from = flux > 0.0f ? u_low : u_high;
    return flux * from;
}

// What was carried into the control volume through its six sides, those along the flow's own axis first. Sums begin with the two axes
// across.
RULE float rule_carried_sum(float along_in, float along_out, float first_in, float first_out, float second_in, float second_out)
{
    return (along_in - along_out) + ((first_in - first_out) + (second_in - second_out));
}

// The new flow: old and new fill of both cells, what was carried into the control volume, w the open face, and gravity on
// what holds water. Written as products with 1 and 0 rather than as a choice, so that no compiler makes the loads conditional; adding
// 0 at the end turns a negative zero into a plain one.
RULE float rule_carry(float m_before, float m_after, float u, float carried, float w, float empty, float gravity)
{
    float momentum = m_before * u + carried;
    float holds = m_after > empty ? 1.0f : 0.0f;
    return holds * w * (momentum / rule_most(m_after, 1e-30f) + gravity) + 0.0f;
}

#endif
