// The thesis's rules, corrected so that they work (docs/how-it-works.md). Flow f moves c*f of the donor's mass, c = 1/2. The sign of a
// zero within them never reaches a result: fluxes become integers or are added to what is no minus zero, flows end with a plain
// zero.
#ifndef WEIR_RULES_CLASSIC_H
#define WEIR_RULES_CLASSIC_H

#include "rules/language.h"

#define CLASSIC_C 0.5f
#define CLASSIC_MOST 128.0f  // a cell this full takes in nothing, so that drops fit their integer under any abuse

// Fill that crosses a face.
RULE float rule_classic_flux(float f, float m_low, float m_high)
{
    float F = CLASSIC_C * (rule_either_max(f, 0.0f) * m_low + rule_either_min(f, 0.0f) * m_high);
    float taker = f > 0.0f ? m_high : m_low;
    return taker < CLASSIC_MOST ? F : 0.0f;
}

// Share of a cell's mass that leaves it, from the flows on its faces.
RULE float rule_classic_leaving(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return CLASSIC_C * ((rule_either_max(0.0f, x1) + rule_either_max(0.0f, -x0)) +
                        ((rule_either_max(0.0f, y1) + rule_either_max(0.0f, -y0)) +
                         (rule_either_max(0.0f, z1) + rule_either_max(0.0f, -z0))));
}

// Momentum that comes in along the axis: from the cell behind the low one, and from the cell behind the high one.
RULE float rule_classic_along(float u_low, float m_low_low, float u_high, float m_high_high)
{
    float forward = rule_either_max(0.0f, u_low);
    float backward = rule_either_min(0.0f, u_high);
    return CLASSIC_C * forward * m_low_low * forward - CLASSIC_C * backward * m_high_high * backward;
}

// Momentum that comes in across the axis through one transverse face: v is the flow through it towards the cell, m and u the
// fill and flow of where it comes from; only the part of u that points out of the receiving cell through our face counts.
RULE float rule_classic_across(float v, float m, float u)
{
    return CLASSIC_C * rule_either_max(0.0f, v) * m * u;
}

RULE float rule_classic_pressure(float sum, float divergence, float inverse_n)
{
    return rule_still(rule_max(0.0f, (divergence * (1.0f / CLASSIC_C) + sum) * inverse_n));
}

#endif
