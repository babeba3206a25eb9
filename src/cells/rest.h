// Rest: how much water moves, by which bricks fall asleep (docs/how-it-works.md, "Sleep").
//
// Two things are looked at on every face of a brick: the flux, and the kick, which is what gravity and pressure would add to the flow. Water
// whose fluxes and kicks are small is still. Still water loses some of its flow in every update, besides the usual damping, so that it comes
// to rest.
#ifndef WEIR_CELLS_REST_H
#define WEIR_CELLS_REST_H

#include "cells/language.h"

// Flows and fluxes in the least flux that moves, kicks in gravity: a kick of 1/10 is a step of 1/10 cell in a level.
#define REST_FAST 5.0f   // flow that counts whole, however thin the water
#define REST_STILL 0.5f  // the largest flux of water that is still
#define REST_STILL_KICK 0.075f
#define REST_RIPPLE 0.01f  // a kick that waves make, where they count
#define REST_SWELL 0.012f  // and one that they make over a face to the rim, if they are to run on behind it
#define REST_WAVE 0.1f     // a flux that long ones make, which hardly tilt the surface, in either place
#define REST_QUIET 0.05f   // and of water in which nothing is left that swings
#define REST_QUIET_KICK 0.015f
#define REST_PUSH 0.03f       // a kick that wakes small water beside
#define REST_DAMPING 0.02f    // share of flow that water at rest loses per update
#define REST_SPONGE 0.01f     // and all water beside the rim of an island that is driven, whose waves are to end there
#define REST_SPONGE_UP 0.09f  // of its flow up and down, which all waves have, and what runs to a drain has not
#define REST_THIN 0.5f        // where neither cell at a face holds as much it loses none
#define REST_UPDATES 16       // for which water has been still when it is at rest
#define REST_WILD 10.0f       // the least flux of wild water: from then on it takes long until its slow swings are damped
#define REST_GENTLE 80        // so long, counted in 16 updates
#define REST_FADED 112        // and so long its waves still keep it awake, while they fade
#define REST_DRIVEN 16  // wild so long on end, counted likewise, water is driven: something makes its waves that goes on and on
#define REST_AREA 36    // bricks with a surface: as large is an island whose waves run on behind its rim
#define REST_WIDE \
    192  // open cells of a brick: with less it is part of a narrow pipe or channel, in which water is left to swing

// How much a brick moves. Besides: it pushes against small water that is asleep; it is wild; there are waves in it; they run into the rim.
#define MOTION_QUIET 0
#define MOTION_STILL 1
#define MOTION_SOME 2
#define MOTION_MOVES 3
#define MOTION_PUSHES 4
#define MOTION_WILD 8
#define MOTION_RIPPLES 16
#define MOTION_SWELLS 32

// The flux over a face, by which water counts as moving; `fast` is the flow from which on it counts whole.
RULE float rule_rest_flux(float f, float m_low, float m_high, float fast)
{
    float donor = rule_choose(f > 0.0f, m_low, m_high);
    float size = rule_abs(f);
    float flux = size * rule_min(1.0f, donor);
    return rule_choose((size > fast) & (donor > 0.0f), size, flux);
}

// The kick over an open face; g is gravity along its axis.
RULE float rule_rest_kick(float p_low, float p_high, float m_low, float m_high, float g)
{
    float push = g + (p_low - p_high);
    float donor = rule_choose(push > 0.0f, m_low, m_high);
    return rule_abs(push) * rule_min(1.0f, donor);
}

// The share of flow that the water of a brick loses: it lies beside the rim of an island that is driven; or it has been quiet; or it is
// still and lies beside a rim, which would throw waves back; or it is still, has been gentle for long, and is no thread. `calm`,
// `gentle` and `driven` are those of its brick_rest, and it has so many open cells; `up`: of the flow along gravity.
RULE float rule_rest_loss(int calm, int gentle, bool driven, bool beside_rim, int open, bool up)
{
    bool swings_out = gentle >= REST_GENTLE && open >= REST_WIDE;
    bool rests = calm > REST_UPDATES || (calm > 0 && (beside_rim || swings_out));
    if (driven && beside_rim) return up ? REST_SPONGE_UP : REST_SPONGE;
    return rests ? REST_DAMPING : 0.0f;
}

// The flow over a face of water that loses a share of it. A film has friction enough, and would hardly drain under more.
RULE float rule_rest_damped(float f, float m_low, float m_high, float loss)
{
    bool thin = rule_max(m_low, m_high) < REST_THIN;
    return rule_choose(thin, f, rule_still(f * (1.0f - loss)));
}

// Whether a brick pushes against small water beside it, from its largest kick over the faces there; g is the size of gravity.
RULE bool rule_rest_pushes(float kick, float g)
{
    return kick > REST_PUSH * g;
}

// How much a brick moves whose largest flux and kick are known. Viscosity bears a share of gravity at a face beside a closed one, at most on
// both sides: so large a kick is no motion.
RULE int rule_motion(float flux, float kick, float swell, float viscosity, float moves, float g)
{
    float borne = 2.0f * viscosity * g;
    int still = (flux <= REST_STILL * moves) & (kick <= REST_STILL_KICK * g + borne);
    int quiet = (flux <= REST_QUIET * moves) & (kick <= REST_QUIET_KICK * g + borne);
    int some = quiet ? MOTION_QUIET : still ? MOTION_STILL : MOTION_SOME;
    int runs = flux > REST_WAVE * moves;
    int ripples = (kick > REST_RIPPLE * g + borne) | runs;
    int swells = (swell > REST_SWELL * g + borne) | (runs & (swell > 0.0f));
    int waves = (ripples ? MOTION_RIPPLES : 0) | (swells ? MOTION_SWELLS : 0);
    return flux > REST_WILD * moves ? MOTION_MOVES | MOTION_WILD : flux > moves ? MOTION_MOVES : some | waves;
}

#endif
