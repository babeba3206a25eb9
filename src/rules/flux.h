// R1: how much fill crosses a face in one update, before limits (docs/how-it-works.md).
//
//     m_ll | m_l | m_r | m_rr        f on the face between m_l and m_r
//
// The compressive (hyper-C) face value keeps the surface sharp: it leans as far towards the acceptor as stays bounded. With
// donor md, acceptor ma and the cell behind the donor mu, the document's value is  mu + min(t/c, 1)*d,  d = ma - mu,
// t = (md - mu)/d, c = max(|f|, 0.02), taken while 0 < t < 1. Multiplied out with f the divisions cancel:
// f*(md - mu)/c is (md - mu) times f/c, and f/c is 50 f clamped to [-1, 1].
#ifndef WEIR_RULES_FLUX_H
#define WEIR_RULES_FLUX_H

#include "rules/language.h"

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
    float c = rule_larger(rule_abs(f), 0.02f);
    float steep = f * mu + rule_larger(-1.0f, rule_smaller(1.0f, 50.0f * f)) * e;
    float all = f * ma;
    float donor = f * md;
    float sharp = e_size < c * d_size ? steep : all;
    float between = e * d > 0.0f ? d_size - e_size : 0.0f;
    return between > 0.0f ? sharp : donor;
}

#endif
