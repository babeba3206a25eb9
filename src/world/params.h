// The tables of parameters: where each lies, what it may be, what it is when nobody says anything, and what it means. One is of
// what all solvers share, and every solver has one of its own (solver.h). The rows are made of the lists in <weir/params.h>.
#ifndef WEIR_WORLD_PARAMS_H
#define WEIR_WORLD_PARAMS_H

#include <stddef.h>
#include <weir/weir.h>

// Called as the types in the lists are.
typedef enum param_type { PARAM_float, PARAM_int32_t, PARAM_uint32_t } param_type;

typedef struct param_def {
    const char *name;
    param_type type;
    size_t offset;  // in weir_params
    double sign;    // what a caller says is this times what is stored: "gravity" pulls down, gravity.y points up
    double min, max, standard;
    const char *help;
} param_def;

// A row for the field at `place` in weir_params.
#define PARAM_ROW(place, type, name, min, max, standard, help) \
    {#name, PARAM_##type, offsetof(weir_params, place), 1, min, max, standard, help},

typedef struct param_table {
    const param_def *list;
    int32_t count;
    // So many of the last ones came later: at 0, their default, they are in no hash and in no snapshot.
    int32_t late;
} param_table;

typedef struct solver_table solver_table;  // solver.h

// The i-th parameter of a solver's worlds, each field once: first those that all share, then its own. NULL past the last.
const param_def *params_field(const solver_table *solver, int32_t index);

// Whether the parameter with an index counts in hash and snapshot.
bool params_counts(const solver_table *solver, int32_t index, const weir_params *params);

// Its four bytes as they lie there, for hash and snapshot; any bits may come from a file, and are checked afterwards.
uint32_t param_bits(const param_def *p, const weir_params *params);
void param_set_bits(const param_def *p, weir_params *params, uint32_t bits);

weir_status params_check(const weir_params *params, const solver_table *solver);

// The same numbers with minus zero as zero: the state hash looks at bits.
weir_params params_plain(const weir_params *params, const solver_table *solver);

#endif
