// A plain reading of mixture: the judge of src/solvers/mixture.
//
// docs/mixture.md written down once more: one dense box of cells, one pair after the other, on one thread. There are no bricks but where
// the laws speak of them, no channels, tiles or lanes, and nothing sleeps. No code of the product is used; materials are asked for as a
// game would.
#ifndef WEIR_TESTS_PLAIN_MIXTURE_H
#define WEIR_TESTS_PLAIN_MIXTURE_H

#include <weir/weir.h>

enum { PLAIN_MIXTURE_FULL = 16384, PLAIN_MIXTURE_UNIT = 256, PLAIN_MIXTURE_SOURCES = 16 };

typedef struct plain_mix {
    int32_t amount[WEIR_MATERIAL_MAX];  // units
    int32_t heat;
    int32_t share;     // of terrain, of 255
    int32_t hardened;  // units that became terrain in this update
    bool solid;
    bool outside;  // behind an open side
} plain_mix;

// A material as the laws see it.
typedef struct plain_kind {
    weir_material_def def;
    int32_t rate, up, heat, conducts, warm;
} plain_kind;

typedef struct plain_source {
    int32_t id;
    int32_t kind;  // weir_source_kind
    weir_box box;
    weir_material material;
    int64_t rate, owed;
    int32_t warm;  // quarter kelvins
} plain_source;

typedef struct plain_heat {
    int64_t added, removed, drained, turned;
} plain_heat;

typedef struct plain_mixture {
    weir_box box;  // of cells, in whole bricks: the world's bounds and what lies behind open sides
    weir_box bounds;
    uint32_t open_sides;
    int32_t film, pressure;
    int64_t update;
    plain_mix *cell;
    uint8_t *live;  // by brick
    plain_kind kind[WEIR_MATERIAL_MAX];
    int32_t kinds;
    int32_t order[WEIR_MATERIAL_MAX];  // liquids from dense to light, gases from light to dense, solids
    int32_t liquids, gases;
    plain_source source[PLAIN_MIXTURE_SOURCES];
    int32_t sources;
    weir_reaction_def reaction[WEIR_REACTION_MAX];
    int32_t reactions;
    plain_heat heat;
} plain_mixture;

// For a world that is bounded; its materials and reactions are read from it, and again when it has others.
plain_mixture *plain_mixture_make(const weir_world *world, uint32_t open_sides);
void plain_mixture_free(plain_mixture *w);
void plain_mixture_learn(plain_mixture *w, const weir_world *world);

plain_mix *plain_mixture_at(const plain_mixture *w, weir_coord at);

void plain_mixture_fill(plain_mixture *w, weir_box box, weir_material material, float fill);
void plain_mixture_warm(plain_mixture *w, weir_box box, float kelvins);
void plain_mixture_build(plain_mixture *w, weir_box box, bool solid);
void plain_mixture_add(plain_mixture *w, plain_source source);
void plain_mixture_update(plain_mixture *w);

#endif
