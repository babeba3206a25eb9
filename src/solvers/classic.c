// The automaton of van der Scheer's thesis, corrected so that it works (docs/how-it-works.md).
#include "solvers/solver.h"

void classic_update(weir_world *world, backend *b)
{
    b->run(b, PASS_CLASSIC_MOVE, 0);
    solver_after_move(world, b);
    b->run(b, PASS_CLASSIC_DIVERGENCE, 0);
    b->run(b, PASS_CLASSIC_PRESSURE, world->params.iterations - 1);
    b->run(b, PASS_CLASSIC_GRADIENT, 0);
}
