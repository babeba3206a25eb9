// A solver: which passes run, in which order. One function per solver, over the backend of a world.
#ifndef WEIR_SOLVERS_SOLVER_H
#define WEIR_SOLVERS_SOLVER_H

#include "compute/backend.h"

// One update. The bricks are in place and the backend is prepared, so that nothing can fail any more.
void momentum_update(weir_world *world, backend *b);
void classic_update(weir_world *world, backend *b);

// NULL, or what of the world or of its backend is broken: see world_validate. Between updates.
const char *solver_validate(weir_world *world);

// Runs the game's rules of one place.
void solver_rules(weir_world *world, backend *b, weir_place place);

// What every solver does once mass has moved: open sides, rules, forces.
void solver_after_move(weir_world *world, backend *b);

#endif
