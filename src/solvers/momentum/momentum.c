// The momentum automaton (docs/how-it-works.md): sharp mass fluxes in whole drops, momentum carried with the mass, and a pressure that
// is solved by V-cycles over the pyramid of bricks.
#include "solvers/solver.h"

#include <assert.h>

// One V-cycle from level 1 up to the coarsest and back. The counts of all levels come first: they are turned into weights in place.
static void coarse_levels(backend *b)
{
    int32_t top = b->levels(b);
    assert(top >= 1 && top < PYRAMID_LEVELS);
    for (int32_t l = 2; l <= top; l++) b->run(b, PASS_LEVEL_BUILD, l);
    for (int32_t l = 1; l <= top; l++) b->run(b, PASS_LEVEL_LINK, l);
    for (int32_t l = 1; l < top; l++) {
        b->run(b, PASS_LEVEL_DOWN, l);
        b->run(b, PASS_LEVEL_RESTRICT, l);
    }
    b->run(b, PASS_LEVEL_DOWN, top);
    b->run(b, PASS_LEVEL_SWEEP, top);
    for (int32_t l = top - 1; l >= 1; l--) {
        b->run(b, PASS_LEVEL_UP, l + 1);
        b->run(b, PASS_LEVEL_SMOOTH, l);
    }
}

// Pressure: one cycle, and what it leaves here and there is touched up. Where it leaves much, more cycles follow; how many there may be
// is known from the update before, so that a device can be told all at once. All this depends on largest values and on counts, which are
// the same in whatever order they are found.
static void solve_pressure(const weir_world *world, backend *b)
{
    bricks_catch_up(&world->bricks);
    int32_t most = world->cycles_next, cycles = 0;
    if (most == 0 || most > world->params.cycles) most = world->params.cycles;
    assert(most >= 1);
    do {
        if (cycles > 0) b->run(b, PASS_SMOOTH, 0);
        b->run(b, PASS_RESTRICT, 0);
        coarse_levels(b);
        b->run(b, PASS_CORRECT, 1);
        b->run(b, PASS_SMOOTH, 1);
        cycles++;
        b->run(b, PASS_TOUCH_UP, cycles < most ? 1 : 0);
    } while (b->unsolved(b, cycles) && cycles < most);
}

void momentum_update(weir_world *world, backend *b)
{
    b->run(b, PASS_MOVE, 0);
    solver_after_move(world, b);
    b->run(b, PASS_DIVERGENCE, 0);
    solve_pressure(world, b);
    b->run(b, PASS_GRADIENT, 0);
}
