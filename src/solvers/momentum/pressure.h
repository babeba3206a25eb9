// R6 to R9: the flow is made free of divergence where cells are full (docs/how-it-works.md).
//
// P is the least field with P >= floor and no cell taking in more than fits: a linear complementarity problem, smoothed by
// damped projected Jacobi. floor is the hydrostatic head of a part-filled cell, so that a surface inside a cell has the right
// pressure; it counts only as far as the water below carries it (last update's pressure).
#ifndef WEIR_MOMENTUM_PRESSURE_H
#define WEIR_MOMENTUM_PRESSURE_H

#include "cells/language.h"

#define PRESSURE_DAMPING 0.9f
#define RISING_THIN 0.005f      // fill below which a cell counts as the one above a surface
#define RISING_GAP 0.05f        // how far it stays behind, in gravity
#define PRESSURE_MAX 1e6f       // no pressure is larger
#define EXCESS_LITTLE 0.0125f   // of what is twice as much, and of more, the rest is pushed out twice as fast
#define DIVERGENCE_DRY (-1.0f)  // rule_divergence of a cell without water or flow around it

// R6: what a cell will hold too much after the next move: its excess now, pushed out gently where it is little, and the net inflow.
RULE float rule_divergence(float m, float net_inflow, float rate, float cap)
{
    float e = m - 1.0f;
    float pushed = rule_min(rate * rule_max(e, 2.0f * (e - EXCESS_LITTLE)), cap);
    return (e > 0.0f ? pushed : e) + net_inflow;
}

// R6: the head of a cell with fill m over a cell with pressure `below`; supported says that terrain is below. It is at most g.
RULE float rule_head(float m, float below, float supported, float open, float g, float inverse_g)
{
    float support = rule_min(1.0f, below * inverse_g);
    support = supported > 0.0f ? 1.0f : support;
    return open * (g * rule_min(1.0f, m) * support);
}

// R7: one sweep. inverse_n is 1 over the number of open faces, 0 in a solid cell.
RULE float rule_smooth(float p, float sum, float divergence, float inverse_n, float floor)
{
    float a = (divergence + sum) * inverse_n;
    return rule_still(rule_max(floor, p + PRESSURE_DAMPING * (a - p)));
}

// R7: what is left of a cell's equation; `active` is 1 where the pressure is above its floor, and 0 where it is not.
RULE float rule_residual(float p, float sum, float divergence, float faces, float active)
{
    return active * (divergence + sum - faces * p);
}

// R7: the pressure with the correction from the coarse levels, of which only active cells take part.
RULE float rule_correct(float p, float correction, bool active, float floor)
{
    float corrected = rule_max(floor, p + correction);
    return active ? corrected : p;
}

// R8: flow after the pressure difference across its face, and damping: the slower it is the more is lost, and nothing from 1/inverse_calm on.
RULE float rule_damped_gradient(float f, float w, float p_low, float p_high, float damping, float inverse_calm, float limit)
{
    float pushed = f + w * (p_low - p_high);
    float calm = rule_max(0.0f, 1.0f - rule_abs(pushed) * inverse_calm);
    return rule_still(rule_clamp(pushed * (1.0f - damping * calm), limit));
}

// R9: whether a cell is so empty that a face does not count it as a donor.
RULE bool rule_is_empty(float m, float empty)
{
    return m < empty;
}

// R9: a face whose donor is empty takes its flow from the next face downstream.
RULE float rule_empty_donor(float f, float f_before, float f_after, bool low_empty, bool high_empty)
{
    float forward = rule_max(0.0f, rule_min(f, f_after));
    float backward = rule_min(0.0f, rule_max(f, f_before));
    forward = low_empty ? forward : f;
    backward = high_empty ? backward : f;
    float moving = f < 0.0f ? backward : f;
    return f > 0.0f ? forward : moving;
}

// R9b: a surface that rises takes the cell above along. Without it the face on top of the highest water would stand still as a lid until
// water is there. On the axis of gravity: `up` is 1 or -1, f_below the flow of the face below the lower cell, and the cells are the upper
// and the lower one at the face and the one below them. `gap` is less than what gravity takes per update, so that a level that
// stands at the border of two cells does not flicker.
RULE bool rule_is_above(float m_upper)
{
    return m_upper < RISING_THIN;
}

// `surface` says whether the upper cell is open and rule_is_above, and the other two are not empty; p_air is the pressure of the air there.
RULE float rule_rise(float f, float f_below, float up, bool surface, float p_lower, float p_air, float gap)
{
    float rise = up * f_below - gap;
    int rises = (p_lower > p_air) & (rise > 0.0f) & (rise > up * f);
    return rule_choose((int)surface & rises, up * rise, f);
}

RULE float rule_rising(float f, float f_below, float up, float m_upper, float m_lower, float m_below, float p_lower,
                       float p_air, float w_upper, float gap, float empty)
{
    bool surface = (m_lower >= empty) & (m_below >= empty) & (m_upper < RISING_THIN) & (w_upper > 0.0f);
    return rule_rise(f, f_below, up, surface, p_lower, p_air, gap);
}

#endif
