// Falling sand, a solver of the tests' own: docs/adding-a-solver.md goes through it.
#ifndef WEIR_TESTS_SAND_H
#define WEIR_TESTS_SAND_H

#include "world/solver.h"

extern const solver_table sand_solver;

#endif
