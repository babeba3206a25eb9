// R7: how many cycles an update takes, and what is relaxed locally after one (docs/how-it-works.md, "How many cycles, and local
// relaxation").
//
// Another cycle follows while the last began with a residual of the tolerance or more. If it began with a large one, many times that,
// most of what is left sits in few bricks, the unconverged ones, in which the tolerance or more is left. These are relaxed locally:
// smoothed again, in rounds. The first round looks at all bricks, the others at those that the one before smoothed and at the six at
// their faces. Another cycle then follows only if the unconverged bricks are many, or if the last one took hold of nothing.
#ifndef WEIR_MOMENTUM_CYCLES_H
#define WEIR_MOMENTUM_CYCLES_H

#include "cells/language.h"

#define LARGE_RESIDUAL 8.0f   // from so many times the tolerance on
#define LOCAL_RELAX_SHARE 6   // of the live bricks, one in so many
#define LOCAL_RELAX_ROUNDS 8  // at most, after one cycle

RULE bool rule_residual_is_large(float begun, float tolerance)
{
    return begun >= LARGE_RESIDUAL * tolerance;
}

// Whether a brick is unconverged, from the largest residual in it; one without active cells never is.
RULE bool rule_is_unconverged(bool has_active, float largest, float tolerance)
{
    return has_active && largest >= tolerance;
}

// Whether a cycle needs another: `begun` is the largest residual it began with, `left` the largest in the unconverged bricks; `fresh`: the
// pressure is solved anew, and no local relaxation does that.
RULE bool rule_cycle_follows(float begun, float left, int unconverged, int live, float tolerance, bool fresh)
{
    bool many = LOCAL_RELAX_SHARE * unconverged >= live;
    bool rest = unconverged > 0 && (many || left > begun);
    return rule_residual_is_large(begun, tolerance) && !fresh ? rest : begun >= tolerance;
}

// Whether its unconverged bricks are relaxed locally: after a large residual, unless another cycle does better and may follow.
RULE bool rule_relaxes_locally(float begun, bool follows, bool may_follow, float tolerance)
{
    return rule_residual_is_large(begun, tolerance) && !(follows && may_follow);
}

#endif
