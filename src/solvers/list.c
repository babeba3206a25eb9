// All solvers. To add one is to add its folder, its name in weir_solver, its parameters in <weir/params.h> if it has any,
// and a line here.
#include "world/solver.h"

extern const solver_table solver_momentum, solver_classic, solver_settle, solver_mixture;

const solver_table *const solver_list[WEIR_SOLVER_COUNT] = {
    [WEIR_SOLVER_MOMENTUM] = &solver_momentum,
    [WEIR_SOLVER_CLASSIC] = &solver_classic,
    [WEIR_SOLVER_SETTLE] = &solver_settle,
    [WEIR_SOLVER_MIXTURE] = &solver_mixture,
};
