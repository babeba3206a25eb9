// The thesis's rules, corrected so that they work (docs/how-it-works.md). Flow f moves c*f of the donor's mass, c = 1/2. The sign of a
// zero within them never reaches a result: fluxes become integers or are added to what is no minus zero, flows end with a plain
// zero.
#ifndef WEIR_CLASSIC_LAWS_H
#define WEIR_CLASSIC_LAWS_H

#include "cells/neighbours.h"

#define CLASSIC_C 0.5f
#define CLASSIC_PUSH (1.0f / CLASSIC_C)  // flow f moves at the speed c*f, so what an acceleration adds to it counts double
#define CLASSIC_MOST 128.0f              // a cell this full takes in nothing, so that drops fit their integer under any abuse

// ---- Mass ------------------------------------------------------------------------------------------------------------------

// The momentum of a face, and what would cross it, over c.
RULE float rule_classic_cross(float f, float m_low, float m_high)
{
    return f * (f > 0.0f ? m_low : m_high);
}

// The same if it came out of a given cell, with the fill m: with the wrong sign where it does not.
RULE float rule_classic_cross_from(float f, float m)
{
    return f * m;
}

// Fill that crosses: none into a cell that holds too much. Unless some cell is `crowded`, all take in what comes.
RULE float rule_classic_flux(float f, float m_low, float m_high, bool crowded)
{
    float taker = f > 0.0f ? m_high : m_low;
    float flux = CLASSIC_C * rule_classic_cross(f, m_low, m_high);
    return !crowded || taker < CLASSIC_MOST ? flux : 0.0f;
}

// Whole drops of it. Cells may hold more than a float counts exactly, so drops stay integers here.
RULE int rule_classic_moved(float f, float m_low, float m_high, bool crowded)
{
    return (int)(rule_classic_flux(f, m_low, m_high, crowded) * RULE_DROPS);
}

// A cell's drops after those that crossed its faces.
RULE int rule_classic_mass(int before, int x0, int x1, int y0, int y1, int z0, int z1)
{
    return before + (x0 - x1) + (z0 - z1) + (y0 - y1);
}

// Share of a cell's mass that leaves it, from the flows on its faces.
RULE float rule_classic_leaving(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return CLASSIC_C * ((rule_positive(x1) - rule_negative(x0)) +
                        ((rule_positive(y1) - rule_negative(y0)) + (rule_positive(z1) - rule_negative(z0))));
}

// ---- Flow ------------------------------------------------------------------------------------------------------------------
// What comes into the control volume of a face, over c. The crossings may be those of rule_classic_cross or of rule_classic_cross_from:
// one with the wrong sign is left out.

// Along the axis: what crosses the face before and the face behind, and their flows.
RULE float rule_classic_along(float cross_low, float u_low, float cross_high, float u_high)
{
    return cross_low * rule_positive(u_low) - cross_high * rule_negative(u_high);
}

// Into one of the two cells across the axis: what crosses its lower and its upper transverse face, and the part of the flow where it
// comes from that points out of the cell through our face.
RULE float rule_classic_into_cell(float cross_low, float u_low, float cross_high, float u_high)
{
    return rule_positive(cross_low) * u_low - rule_negative(cross_high) * u_high;
}

// Into both: what crosses the transverse faces of the cell before our face and of the one behind it, and the flows of the faces beside
// ours.
RULE float rule_classic_across(float low_in, float low_out, float high_in, float high_out, float u_before, float u_behind)
{
    return rule_classic_into_cell(low_in, rule_positive(u_before), low_out, rule_positive(u_behind)) +
           rule_classic_into_cell(high_in, rule_negative(u_before), high_out, rule_negative(u_behind));
}

RULE float rule_classic_into(float along, float across_1, float across_2)
{
    return along + (across_1 + across_2);
}

// The new flow of a face with flow u: fill of both cells before and after the move, the share that leaves each, what comes in, w the
// open face, and gravity on what touches water.
RULE float rule_classic_carry(float u, float m_low, float m_high, float after_low, float after_high, float leaves_low,
                              float leaves_high, float into, float w, float empty, float gravity)
{
    float momentum = rule_classic_cross(u, m_low, m_high);
    float leaving = u > 0.0f ? leaves_low : leaves_high;
    float p = (momentum - momentum * leaving) + CLASSIC_C * into;
    float carrier = p > 0.0f ? after_low : after_high;
    float carried = rule_divided_if(carrier > empty, w * p, carrier);
    float fallen = after_low + after_high > empty ? w * gravity : 0.0f;
    return carried + fallen + 0.0f;
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

// What a cell will hold too much after the next move.
RULE float rule_classic_divergence(float m, float net_inflow, float open)
{
    return open * ((m - 1.0f) + net_inflow);
}

RULE float rule_classic_pressure(float sum, float divergence, float inverse_n)
{
    float p = (divergence * (1.0f / CLASSIC_C) + sum) * inverse_n;
    return p > RULE_STILL ? p : 0.0f;
}

#endif
