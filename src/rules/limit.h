// R2: limits on what crosses faces, so that no cell gives more than it has or takes in far more than it has room for
// (docs/how-it-works.md).
//
// Each cell works out two shares from the unlimited flux through its faces: q, by which what it gives is scaled, and h, by which
// what it takes is scaled. Both are rounded down to 15 bits and kept in one word, so that they need no channels of their own.
#ifndef WEIR_RULES_LIMIT_H
#define WEIR_RULES_LIMIT_H

#include "rules/language.h"

#define LIMIT_ONE 32768.0f

// A cell this full takes in nothing, not even the dust that falls into it. So no cell ever holds 4, below which drops are exact in a
// float: what it has, at most its room of what it gives and 1.25 on top, and one fall of dust.
#define LIMIT_FULL 2.0f

// The shares of a cell with fill m. Fluxes through its low and high faces, positive towards higher coordinates.
RULE rule_bits rule_limits(float m, float x0, float x1, float y0, float y1, float z0, float z1, float dust, float cap)
{
    float out = ((rule_larger(0.0f, x1) + rule_larger(0.0f, -x0)) + (rule_larger(0.0f, z1) + rule_larger(0.0f, -z0))) +
                (rule_larger(0.0f, y1) + rule_larger(0.0f, -y0));
    float in = ((rule_larger(0.0f, -x1) + rule_larger(0.0f, x0)) + (rule_larger(0.0f, -z1) + rule_larger(0.0f, z0))) +
               (rule_larger(0.0f, -y1) + rule_larger(0.0f, y0));
    float scale = 0.999999f * m / rule_larger(out, 1e-30f);
    float q = out > m ? scale : 1.0f;
    q = m < dust ? 0.0f : q;
    float room = rule_larger(0.0f, cap - m) + rule_smaller(out, m);
    room = m < LIMIT_FULL - dust ? room : 0.0f;
    float fit = room / rule_larger(in, 1e-30f);
    float h = in > room ? fit : 1.0f;
    rule_bits q_bits = (rule_bits)(int)(q * LIMIT_ONE);
    rule_bits h_bits = (rule_bits)(int)(h * LIMIT_ONE);
    return q_bits | h_bits << 16;
}

RULE float rule_limit_q(rule_bits shares)
{
    return (float)(int)(shares & 0xffffu) * (1.0f / LIMIT_ONE);
}

RULE float rule_limit_h(rule_bits shares)
{
    return (float)(int)(shares >> 16) * (1.0f / LIMIT_ONE);
}

// Whole drops that cross a face with unlimited flux F, between a low and a high cell with these shares.
RULE int rule_moved(float F, float q_low, float h_low, float q_high, float h_high)
{
    float up = q_low * h_high;
    float down = q_high * h_low;
    float share = F > 0.0f ? up : down;
    return (int)(F * share * RULE_DROPS);
}

#endif
