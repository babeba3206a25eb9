// R2: limits on what crosses faces, so that no cell gives more than it has or takes in far more than it has room for
// (docs/how-it-works.md).
//
// Each cell works out two shares from the unlimited flux through its faces: q, by which what it gives is scaled, and h, by which
// what it takes is scaled. Both are rounded down to 15 bits after the point, which keeps both promises. Fill and fluxes may be counted in
// cells or in drops: a cell has a power of two of them, so that every step gives the same bits.
#ifndef WEIR_MOMENTUM_LIMIT_H
#define WEIR_MOMENTUM_LIMIT_H

#include "cells/language.h"

#define LIMIT_ONE 32768.0f

// A cell this full takes in nothing, not even the dust that falls into it. So no cell ever holds 4, below which drops are exact in a
// float: what it has, at most its room of what it gives and 1.25 on top, and one fall of dust.
RULE float rule_full(float dust)
{
    return 2.0f - dust;
}

// What leaves a cell, and what enters it, through all of its faces: fluxes through the low and the high ones, positive towards higher
// coordinates.
RULE float rule_leaving(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return ((rule_most(x1, 0.0f) + (rule_most(x0, 0.0f) - x0)) + (rule_most(z1, 0.0f) + (rule_most(z0, 0.0f) - z0))) +
           (rule_most(y1, 0.0f) + (rule_most(y0, 0.0f) - y0));
}

RULE float rule_entering(float x0, float x1, float y0, float y1, float z0, float z1)
{
    return rule_leaving(x1, x0, y1, y0, z1, z0);
}

RULE float rule_rounded_share(float share)
{
    return (float)(int)(share * LIMIT_ONE) * (1.0f / LIMIT_ONE);
}

// q of a cell with fill m that `out` leaves.
RULE float rule_giving(float m, float out, float dust)
{
    float scale = 0.999999f * m / rule_most(out, 1e-30f);
    float q = out > m ? scale : 1.0f;
    return rule_rounded_share(m < dust ? 0.0f : q);
}

// What a cell with fill m that `out` leaves has room for; from `full` on, which is rule_full, it takes in nothing.
RULE float rule_room(float m, float out, float full, float cap)
{
    float room = rule_most(cap - m, 0.0f) + rule_least(out, m);
    return m < full ? room : 0.0f;
}

// h of a cell with fill m that `out` leaves and `in` enters.
RULE float rule_taking(float m, float out, float in, float full, float cap)
{
    float room = rule_room(m, out, full, cap);
    float fit = room / rule_most(in, 1e-30f);
    return rule_rounded_share(in > room ? fit : 1.0f);
}

// q of a cell that more than it has does not leave.
RULE float rule_giving_freely(float m, float dust)
{
    return m < dust ? 0.0f : 1.0f;
}

// Whether any share of a cell takes a division: if not, h is 1 and q is rule_giving_freely.
RULE int rule_limited(float m, float out, float in, float dust, float full, float cap)
{
    return ((out > m) & (m >= dust)) | (in > rule_room(m, out, full, cap));
}

// R2 of a gas, which fills a cell as full as whole drops can be counted, below 4. What leaves a cell may be held back elsewhere, and makes no room.
#define GAS_MOST 3.984375f

// h of a cell of gas that `in` enters.
RULE float rule_gas_taking(float m, float in, float most)
{
    float room = rule_most(most - m, 0.0f);
    float fit = room / rule_most(in, 1e-30f);
    return rule_rounded_share(in > room ? fit : 1.0f);
}

// Whether any share of a cell of gas takes a division.
RULE int rule_gas_limited(float m, float out, float in, float most)
{
    return (out > m) | (in > rule_most(most - m, 0.0f));
}

// Whether dust falls out of a cell into the one below: if it holds nothing more, and the cell below is not full.
RULE int rule_dust_falls(float fill, float fill_below, float dust, float full)
{
    return (fill < dust) & (fill_below < full);
}

// What falls: all of it, into an open cell.
RULE float rule_dust(float fill, float fill_below, float open_below, float dust, float full)
{
    float falls = open_below * fill;
    return rule_dust_falls(fill, fill_below, dust, full) ? falls : 0.0f;
}

// What falls through the face between a low and a high cell, positive towards the high one; `sign` says which way is down, and open_below
// whether the cell on that side is open.
RULE float rule_fallen(int sign, float m_low, float m_high, float open_below, float dust, float full)
{
    return sign < 0 ? -rule_dust(m_high, m_low, open_below, dust, full) : rule_dust(m_low, m_high, open_below, dust, full);
}

// What is left of an unlimited flux F between a low and a high cell with these shares.
RULE float rule_limited_flux(float F, float q_low, float h_low, float q_high, float h_high)
{
    float up = q_low * h_high;
    float down = q_high * h_low;
    return F * (F > 0.0f ? up : down);
}

// Whole drops of it that cross the face; F in drops.
RULE float rule_moved(float F, float q_low, float h_low, float q_high, float h_high)
{
    return rule_whole(rule_limited_flux(F, q_low, h_low, q_high, h_high));
}

#endif
