// The thesis's rules, corrected so that they work (docs/how-it-works.md). Flow f moves c*f of the donor's mass, c = 1/2. The sign of a
// zero within them never reaches a result: fluxes become integers or are added to what is no minus zero, flows end with a plain
// zero.
#ifndef WEIR_CLASSIC_LAWS_H
#define WEIR_CLASSIC_LAWS_H

#include "cells/language.h"

#define CLASSIC_C 0.5f
#define CLASSIC_MOST 128.0f  // a cell this full takes in nothing, so that drops fit their integer under any abuse

// Fill that would cross a face.
RULE float rule_classic_cross(float f, float m_low, float m_high)
{
    return CLASSIC_C * f * (f > 0.0f ? m_low : m_high);
}

// Fill that does: none into a cell that holds too much.
RULE float rule_classic_flux(float f, float m_low, float m_high)
{
    float taker = f > 0.0f ? m_high : m_low;
    return taker < CLASSIC_MOST ? rule_classic_cross(f, m_low, m_high) : 0.0f;
}

// Share of a cell's mass that leaves it, from the flows on its faces.
RULE float rule_classic_leaving(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return CLASSIC_C * ((rule_positive(x1) - rule_negative(x0)) +
                        ((rule_positive(y1) - rule_negative(y0)) + (rule_positive(z1) - rule_negative(z0))));
}

// Momentum that comes in along the axis: what crosses the face before and the face behind, and their flows.
RULE float rule_classic_along(float cross_low, float u_low, float cross_high, float u_high)
{
    return cross_low * rule_positive(u_low) - cross_high * rule_negative(u_high);
}

// Momentum that comes into one cell across the axis: what crosses its lower and its upper transverse face, and the part of the flow
// where it comes from that points out of the cell through our face.
RULE float rule_classic_across(float cross_low, float u_low, float cross_high, float u_high)
{
    return rule_positive(cross_low) * u_low - rule_negative(cross_high) * u_high;
}

RULE float rule_classic_pressure(float sum, float divergence, float inverse_n)
{
    float p = (divergence * (1.0f / CLASSIC_C) + sum) * inverse_n;
    return p > RULE_STILL ? p : 0.0f;
}

#endif
