// R1: how much fill crosses a face in one update, before limits (docs/how-it-works.md).
//
//     m_ll | m_l | m_r | m_rr        f on the face between m_l and m_r
//
// The compressive (hyper-C) face value keeps the surface sharp: it leans as far towards the acceptor as stays bounded. With
// donor md, acceptor ma and the cell behind the donor mu, the document's value is  mu + min(t/c, 1)*d,  d = ma - mu,
// t = (md - mu)/d, c = max(|f|, 0.02), taken while 0 < t < 1. Multiplied out with f the divisions cancel:
// |f|*(md - mu)/c is (md - mu) times |f|/c, and |f|/c is 50 |f|, at most 1. The flux has the sign of f.
#ifndef WEIR_MOMENTUM_FLUX_H
#define WEIR_MOMENTUM_FLUX_H

#include "cells/language.h"

RULE float rule_flux(float f, float m_ll, float m_l, float m_r, float m_rr)
{
    int forward = f > 0.0f;
    float md = forward ? m_l : m_r;
    float ma = forward ? m_r : m_l;
    float mu = forward ? m_ll : m_rr;
    float e = md - mu;
    float d = ma - mu;
    float e_size = rule_abs(e);
    float d_size = rule_abs(d);
    float f_size = rule_abs(f);
    float c = rule_most(f_size, 0.02f);
    float steep = f_size * mu + rule_unit(50.0f * f_size) * e;
    int between = (e * d > 0.0f) & (e_size < d_size);
    float plain = f_size * (between ? ma : md);
    int leans = between & (e_size < c * d_size);
    float size = leans ? steep : plain;
    return rule_times_sign(size, f);
}

// R1 of a gas, which has no surface: the donor's fill as it is.
RULE float rule_gas_flux(float f, float m_low, float m_high)
{
    return f * (f > 0.0f ? m_low : m_high);
}

#define DIVERGENCE_THIN 0.6f  // a donor that holds less counts as full where it gives to an over-full cell

// R6: the flux that the divergence counts. What comes from a part-filled cell into an over-full one counts as if the cell were full: the
// pressure turns flow back as if all water were full cells. Less would let spray go on filling what is too full, and what gravity would let
// fall on a surface would hold its excess down for ever.
RULE float rule_divergence_flux(float f, float m_ll, float m_l, float m_r, float m_rr)
{
    float flux = rule_flux(f, m_ll, m_l, m_r, m_rr);
    bool forward = f > 0.0f;
    float donor = forward ? m_l : m_r;
    float acceptor = forward ? m_r : m_l;
    return rule_choose((donor < DIVERGENCE_THIN) & (acceptor > 1.0f), f, flux);
}

#endif
