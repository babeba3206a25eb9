// R7: how many cycles an update takes, and what is touched up after one (docs/how-it-works.md, "How many cycles, and touching up").
//
// Calm water takes another cycle while the last began with the tolerance or more. Wild water, which began with much more, has most of what
// is left in few bricks, and these are touched up: smoothed again, in rounds, while the tolerance or more is left in them. The first round
// looks at all bricks, the others at those that the one before smoothed and at the six at their faces. Another cycle follows only if the
// restless bricks are many, or if the last one took hold of nothing.
#ifndef WEIR_MOMENTUM_CYCLES_H
#define WEIR_MOMENTUM_CYCLES_H

#include "cells/language.h"

#define WATER_IS_WILD 8.0f  // from so many times the tolerance on
#define TOUCH_UP_SHARE 6    // of the live bricks, one in so many
#define TOUCH_UP_ROUNDS 8   // at most, after one cycle

RULE bool rule_is_wild(float begun, float tolerance)
{
    return begun >= WATER_IS_WILD * tolerance;
}

// Whether a brick is restless, from the largest residual in it; one without active cells never is.
RULE bool rule_is_restless(bool has_active, float largest, float tolerance)
{
    return has_active && largest >= tolerance;
}

// Whether a cycle asks for another: `begun` is the largest residual it began with, `left` the largest in the restless bricks.
RULE bool rule_cycle_follows(float begun, float left, int restless, int live, float tolerance)
{
    bool many = TOUCH_UP_SHARE * restless >= live;
    bool rest = restless > 0 && (many || left > begun);
    return rule_is_wild(begun, tolerance) ? rest : begun >= tolerance;
}

// Whether its restless bricks are touched up: in wild water, unless another cycle does better and may follow.
RULE bool rule_touches_up(float begun, bool follows, bool may_follow, float tolerance)
{
    return rule_is_wild(begun, tolerance) && !(follows && may_follow);
}

#endif
