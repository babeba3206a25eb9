// R4: momentum is carried with the mass (docs/how-it-works.md). The control volume of a face is made of the halves of its two
// cells; what flows into it carries the flow of where it comes from. That is a mean of old flows weighted by mass, which cannot grow, but
// for water that comes round a corner.
#ifndef WEIR_MOMENTUM_CARRY_H
#define WEIR_MOMENTUM_CARRY_H

#include "cells/language.h"

#define CORNER_FEW 1e-3f           // fill
#define SECOND_ORDER_FILL 0.5f     // more than so much in all cells around is inside the water
#define SECOND_ORDER_RAMP 40.0f    // from 1 over so much flow on it begins, and is whole at twice that
#define SECOND_ORDER_SLOW 0.0249f  // a flow for which it surely has not begun

// Momentum that crosses one side of a control volume, times 2: the fluxes out of the halves of its low and its high cell, and the flows of
// the faces before and behind it.
RULE float rule_carried(float flux_low, float flux_high, float u_low, float u_high)
{
    float flux = flux_low + flux_high;
    float from = flux > 0.0f ? u_low : u_high;
    return flux * from;
}

// R4a: the flow that water brings along from behind a corner, where a face is closed and has none. It turns into the flow u of the face
// that it comes to, and is faster the faster it turns: on a bend the inner side runs ahead. `flux` is what crosses the side as in
// rule_carried, `fills` what the two cells at the face hold together, `few` a thousandth of a cell in the same measure.
//
//     v = 2*|flux|/fills     |u| + v*v/(2*|u|) if |u| >= v,  else 1.5*u*u/v
RULE float rule_corner(float u, float flux, float fills, float few)
{
    float v = 2.0f * rule_abs(flux) / rule_max(fills, few);
    float size = rule_abs(u);
    float along = size + v * v / (2.0f * rule_max(size, 1e-6f));
    float across = 1.5f * (size * size) / rule_max(v, 1e-6f);
    return rule_times_sign(rule_choose(size >= v, along, across), u);
}

// rule_carried through a side across the flow's own axis, near terrain: w says which of the two faces are open.
RULE float rule_carried_round(float flux_low, float flux_high, float u_low, float u_high, float w_low, float w_high,
                              float fills_low, float fills_high, float few)
{
    float flux = flux_low + flux_high;
    bool forward = flux > 0.0f;
    float from = rule_choose(forward, u_low, u_high);
    float to = rule_choose(forward, u_high, u_low);
    float round = rule_corner(to, flux, rule_choose(forward, fills_high, fills_low), few);
    return flux * rule_choose(rule_choose(forward, w_low, w_high) > 0.0f, from, round);
}

// R4b: the flow that crosses a side, to second order where it is fast: `from` the flow of the face it comes from, `to` of the one it comes
// to, `behind` of the one before. Only inside the water; a closed face behind has a flow of 0. `quarter` is a quarter of a cell's
// fill in the measure of the flux.
RULE float rule_second_order(float flux, float behind, float from, float to, bool inside, float quarter)
{
    float before = from - behind, after = to - from;
    float before_size = rule_abs(before), after_size = rule_abs(after);
    float slope = rule_min(2.0f * rule_min(before_size, after_size), 0.5f * (before_size + after_size));
    float leaves = rule_max(0.0f, 0.5f - quarter * rule_abs(flux));
    float fast = rule_min(1.0f, rule_max(0.0f, SECOND_ORDER_RAMP * rule_abs(from) - 1.0f));
    bool smooth = inside & (before * after > 0.0f) & (behind != 0.0f);
    return from + rule_choose(smooth, rule_times_sign(leaves * fast * slope, after), 0.0f);
}

// rule_carried with R4b: the flows of four faces in a row, the side between the middle ones, and the least fill of the cells at these two.
RULE float rule_carried_smoothly(float flux_low, float flux_high, float u_low_low, float u_low, float u_high, float u_high_high,
                                 bool inside, float quarter)
{
    float flux = flux_low + flux_high;
    bool forward = flux > 0.0f;
    float behind = rule_choose(forward, u_low_low, u_high_high);
    float from = rule_choose(forward, u_low, u_high);
    float to = rule_choose(forward, u_high, u_low);
    return flux * rule_second_order(flux, behind, from, to, inside, quarter);
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
