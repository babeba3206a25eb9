// Floors: friction, and films (docs/how-it-works.md, "Floors and films"). After R9, on the faces across the axis of gravity.
//
// Water that runs over a floor loses flow as its square, as in any channel. And a film has a thickness at which it stops to spread.
// Drops stick: a cell that holds less than the film gives nothing to an empty neighbour on the floor, and less than half of it over an edge. In
// the air nothing sticks. And what is thin is slowed by the floor it runs on, as the square of its thickness.
#ifndef WEIR_MOMENTUM_FILM_H
#define WEIR_MOMENTUM_FILM_H

#include "cells/language.h"

#define FILM_DRAG 0.05f   // of an update
#define FILM_SLOWED 8.0f  // films: up to where the floor is felt

// How much a film is slowed in one of n substeps, of which each is `share` of an update.
RULE float rule_film_drag(float film, float share)
{
    return FILM_DRAG * (film * film) * share;
}

// The flow through a face between a low and a high cell; `floor` says whether the cell below either is closed, `drag` is rule_film_drag.
RULE float rule_film(float f, float m_low, float m_high, bool floor_low, bool floor_high, float film, float drag, float empty)
{
    bool forward = f > 0.0f;
    float donor = rule_choose(forward, m_low, m_high);
    float acceptor = rule_choose(forward, m_high, m_low);
    float over_edge = rule_choose(floor_low | floor_high, 0.5f * film, 0.0f);
    float to_low = rule_choose(floor_low, film, over_edge);
    float to_high = rule_choose(floor_high, film, over_edge);
    float sticks = rule_choose(forward, to_high, to_low);
    float h = rule_max(m_low, m_high);
    float slowed = f * (h * h / (h * h + drag));
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
