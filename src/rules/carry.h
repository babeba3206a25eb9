// R4: momentum is carried with the mass (docs/how-it-works.md). The control volume of a face is made of the halves of its two
// cells; what flows into it carries the flow of where it comes from. Being a mean of old flows weighted by mass, it cannot grow.
#ifndef WEIR_RULES_CARRY_H
#define WEIR_RULES_CARRY_H

#include "rules/language.h"

// Momentum entering through one side and leaving through the other of a control volume, times 2: in and out are the fluxes
// there, u_low and u_high the flows of the faces beyond them.
RULE float rule_carried(float in, float out, float u_low, float u, float u_high)
{
    float from = in > 0.0f ? u_low : u;
    float to = out > 0.0f ? u : u_high;
    return in * from - out * to;
}

// The new flow: old and new fill of both cells, what was carried along the face's axis and across it, w the open face, and gravity on
// what holds water. Written as products with 1 and 0 rather than as a choice, so that no compiler makes the loads conditional; adding
// 0 at the end turns a negative zero into a plain one.
RULE float rule_carry(float m_before, float m_after, float u, float along, float across_1, float across_2, float w, float empty,
                      float gravity)
{
    float momentum = m_before * u + (along + (across_1 + across_2));
    float holds = m_after > empty ? 1.0f : 0.0f;
    return holds * (w * momentum / rule_larger(m_after, 1e-30f) + w * gravity) + 0.0f;
}

#endif
