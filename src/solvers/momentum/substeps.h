// Substeps: fast water takes an update in several moves, so that none carries it further than a cell (docs/how-it-works.md, "Substeps").
//
// The flow is scaled to what a substep does, 1/n of an update, all numbers of the laws with it, and back in the end. How many there are follows
// from the flow that the update before began with, of water that is enough to matter.
#ifndef WEIR_MOMENTUM_SUBSTEPS_H
#define WEIR_MOMENTUM_SUBSTEPS_H

#include "cells/language.h"

#define SUBSTEP_FLOW 0.92f   // cells in one substep that are not too many
#define SUBSTEP_FILL 0.5f    // a cell that holds less gives too little to matter
#define SUBSTEP_FACES 16     // nor do fewer faces: what is faster than a substep allows is slowed to that
#define SUBSTEP_JAM 1.1f     // a cell that holds more could not give what came in
#define SUBSTEP_JAMMED 2.0f  // and its flow counts for so many times as much

// The flow of a face that counts: its donor holds enough. A cell gives to all sides at once, so water that runs aslant jams where none of
// its flows is too fast, but all of them together are. Fills and `full`, of a full cell, are in one measure.
RULE float rule_counting_flow(float f, float m_low, float m_high, float full)
{
    float donor = f > 0.0f ? m_low : m_high;
    float size = rule_abs(f);
    float counts = donor > SUBSTEP_JAM * full ? SUBSTEP_JAMMED * size : size;
    return donor >= SUBSTEP_FILL * full ? counts : 0.0f;
}

// Of a gas, which thins out as it goes: less in a substep, since it goes to all sides and sound goes further.
#define SUBSTEP_GAS_FLOW 0.5f
#define SUBSTEP_GAS_FILL 0.015625f

RULE float rule_gas_counting_flow(float f, float m_low, float m_high, float full)
{
    float donor = f > 0.0f ? m_low : m_high;
    return donor >= SUBSTEP_GAS_FILL * full ? rule_abs(f) : 0.0f;
}

// How many substeps an update may take: 1, 2, 3, 4, 6 or 8, by their number.
#define SUBSTEP_RUNGS 5  // but for the last

RULE int rule_rung(int k)
{
    return k < 4 ? k + 1 : 2 * k - 2;
}

// The least that is enough for all but a few faces: `fast` of them are too fast for each.
RULE int rule_substeps(const int fast[SUBSTEP_RUNGS], int most)
{
    int k = 0;
    while (k < SUBSTEP_RUNGS && fast[k] >= SUBSTEP_FACES) k++;
    return rule_rung(k) < most ? rule_rung(k) : most;
}

// A flow, or a pressure, in another measure.
RULE float rule_scaled(float value, float factor, float limit)
{
    return rule_still(rule_clamp(value * factor, limit));
}

#endif
