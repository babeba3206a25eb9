// Floors: friction, and films (docs/how-it-works.md, "Floors and films"). After R9, on the faces across the axis of gravity.
//
// Water that runs over a floor loses flow as its square, as in any channel. And a film has a thickness at which it stops to spread.
// Drops stick: a cell that holds less than the film gives nothing to an empty neighbour on the floor, and less than half of it over an edge. And
// what is thin is slowed by the floor it runs on, as the square of its thickness.
#ifndef WEIR_MOMENTUM_FILM_H
#define WEIR_MOMENTUM_FILM_H

#include "cells/language.h"

#define FILM_DRAG 0.05f
#define FILM_SLOWED 8.0f  // films: up to where the floor is felt

// The flow through a face between a low and a high cell; `floor` says whether the cell below either is closed.
RULE float rule_film(float f, float m_low, float m_high, bool floor_low, bool floor_high, float film, float empty)
{
    bool forward = f > 0.0f;
    float donor = rule_choose(forward, m_low, m_high);
    float acceptor = rule_choose(forward, m_high, m_low);
    float to_low = rule_choose(floor_low, film, 0.5f * film);
    float to_high = rule_choose(floor_high, film, 0.5f * film);
    float sticks = rule_choose(forward, to_high, to_low);
    float h = rule_max(m_low, m_high);
    float slowed = f * (h * h / (h * h + FILM_DRAG * (film * film)));
    bool thin = floor_low & floor_high & (h < FILM_SLOWED * film);
    float runs = rule_choose(thin, rule_still(slowed), f);
    return rule_choose((donor < sticks) & (acceptor < empty), 0.0f, runs);
}

// The flow through a face over a floor; `friction` is 0 over anything else.
RULE float rule_friction(float f, float friction)
{
    return rule_still(f * (1.0f - friction * rule_abs(f)));
}

#endif
