// The automaton of van der Scheer's thesis, corrected so that it works (docs/how-it-works.md).
#include "solvers/solver.h"

enum { VISIT_ITERATIONS = 2 };  // pressure iterations per visit to a brick

void classic_update(weir_world *world, backend *b)
{
    b->run(b, PASS_CLASSIC_MOVE, 0);
    solver_after_move(world, b);
    b->run(b, PASS_CLASSIC_DIVERGENCE, 0);
    for (int32_t left = world->params.iterations - 1; left > 0; left -= VISIT_ITERATIONS)
        b->run(b, PASS_CLASSIC_PRESSURE, left < VISIT_ITERATIONS ? left : VISIT_ITERATIONS);
    b->run(b, PASS_CLASSIC_GRADIENT, 0);
}
