// The laws of the settling automaton (docs/settle.md): what crosses the faces of a cell, in whole units of which a full cell holds 2^14.
//
// A wet cell is free, and then has a fill of its own, or belongs to a body of still water, and then has the fill that the body's level gives
// it. All numbers fit 16 bits: a free cell holds at most two full cells, and levels are cut to as much. A mask is all ones for yes and
// 0 for no, so that rows of cells need no branches.
#ifndef WEIR_SETTLE_LAWS_H
#define WEIR_SETTLE_LAWS_H

#include "cells/language.h"

#define SETTLE_FULL 16384      // units in a full cell
#define SETTLE_MOST 32768      // that a free cell can hold
#define SETTLE_ENDLESS 0xffff  // room of a body
#define SETTLE_SHARE 64        // units in 1/255 of a cell that is not wholly open
#define SETTLE_STIFF 3         // slowness from which on a liquid is stiff

// What fits into a cell of which `share` (0 to 255) is solid.
RULE int rule_settle_capacity(int share)
{
    return share == 0 ? SETTLE_FULL : SETTLE_SHARE * (255 - share);
}

RULE uint16_t rule_settle_min(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

// a - b, or 0 if b is more.
RULE uint16_t rule_settle_less(uint16_t a, uint16_t b)
{
    uint16_t most = a > b ? a : b;
    return (uint16_t)(most - b);
}

RULE uint16_t rule_settle_fifth(uint16_t a)
{
    return (uint16_t)((uint32_t)a * 52429u >> 18);
}

RULE uint16_t rule_settle_mask(int yes)
{
    return (uint16_t) - (yes != 0);
}

RULE uint16_t rule_settle_choose(uint16_t mask, uint16_t a, uint16_t b)
{
    return (uint16_t)((mask & a) | (~mask & b));
}

// What a cell can take in from above or below. A body takes anything through its top layer: it joins all of it at once.
RULE uint16_t rule_settle_room(uint16_t fill, uint16_t capacity, uint16_t body, uint16_t top)
{
    return rule_settle_choose(body, top, rule_settle_less(capacity, fill));
}

// What falls out of a cell: all of it, as far as there is room below. Nothing falls within bodies.
RULE uint16_t rule_settle_down(uint16_t fill, uint16_t capacity, uint16_t room_below, uint16_t body, uint16_t body_below)
{
    uint16_t loose = rule_settle_min(fill, (uint16_t)(capacity | body));
    return (uint16_t)(rule_settle_min(loose, room_below) & ~(body & body_below));
}

// What falls of a liquid that is slower than water by so many halves: at least a unit, so that nothing stays in the air. What is to fill up a
// cell that is half full comes at once: of what stands there the upper layers run too, and they do so only on full ones.
RULE uint16_t rule_settle_slow_fall(uint16_t falls, uint16_t room_below, int slow)
{
    return rule_settle_choose(rule_settle_mask(room_below <= SETTLE_FULL / 2), falls,
                              (uint16_t)((falls + (1 << slow) - 1) >> slow));
}

// The difference of levels up to which a stiff liquid stands: its slopes come to rest, and it forms no bodies, which are level.
RULE uint16_t rule_settle_yield(int slow)
{
    return (uint16_t)(slow < SETTLE_STIFF ? 0 : 256 << slow);
}

// What rises out of a cell: excess, or what a body presses up, whose surface would stand `head` above the cell. `level_above` is the level in
// the cell above, counted from its bottom; `supported` says whether a body's cell stands on something full.
RULE uint16_t rule_settle_up(uint16_t fill, uint16_t capacity, uint16_t head, uint16_t supported, uint16_t level_above,
                             uint16_t room_above, uint16_t body, uint16_t body_above)
{
    uint16_t excess = rule_settle_min(rule_settle_less(fill, capacity), (uint16_t)(room_above | body_above));
    uint16_t pressed = rule_settle_min(rule_settle_fifth(fill), rule_settle_less(head, level_above));
    return rule_settle_choose(body, (uint16_t)(pressed & supported & ~body_above), excess);
}

// The level of a cell's water above its bottom, of what stands on the solid share in it.
RULE uint16_t rule_settle_level(uint16_t fill, uint16_t capacity)
{
    return rule_settle_min((uint16_t)(fill + (SETTLE_FULL - capacity)), SETTLE_MOST);
}

// What runs out of a cell towards one at its side: a fifth of the difference of their levels, so that a cross of five cells comes level and no
// more. A body brings the other up to its level, half of the way in an update, or full where its surface stands above the cell (`pressed`):
// so its rim advances at its level, and does not run out as a slope. A film stops at a dry floor.
RULE uint16_t rule_settle_side(uint16_t fill, uint16_t level, uint16_t level_there, uint16_t body, uint16_t pressed,
                               uint16_t supported, uint16_t thin, uint16_t dry_there, uint16_t open_there, uint16_t bodies,
                               int slow)
{
    uint16_t above = rule_settle_less(rule_settle_choose(pressed, SETTLE_FULL, level), level_there);
    uint16_t difference = (uint16_t)(above & rule_settle_mask(above > rule_settle_yield(slow)));
    uint16_t runs = rule_settle_fifth(rule_settle_min(difference, fill));
    uint16_t fills = rule_settle_min(rule_settle_fifth(fill), (uint16_t)((difference + 1) >> 1));
    return (uint16_t)((rule_settle_choose(body, fills, runs) >> slow) & supported & open_there & ~bodies & ~(thin & dry_there));
}

#endif
