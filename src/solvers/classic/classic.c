// The automaton of van der Scheer's thesis, corrected so that it works (docs/how-it-works.md).
#include "solvers/solver.h"

#include <assert.h>

enum { SWEEP_ITERATIONS = 4 };  // most pressure iterations in one sweep: as far as a sweep looks around its box

void classic_update(weir_world *world, backend *b)
{
    b->run(b, PASS_CLASSIC_MOVE, 0);
    solver_after_move(world, b);
    int32_t left = world->params.iterations;
    assert(left >= 1);
    int32_t first = left < SWEEP_ITERATIONS ? left : SWEEP_ITERATIONS;
    b->run(b, PASS_CLASSIC_DIVERGENCE, first);
    for (left -= first; left > SWEEP_ITERATIONS; left -= SWEEP_ITERATIONS) b->run(b, PASS_CLASSIC_PRESSURE, SWEEP_ITERATIONS);
    assert(left >= 0 && left <= SWEEP_ITERATIONS);
    b->run(b, PASS_CLASSIC_GRADIENT, left);
}
