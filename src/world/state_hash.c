// The state hash: one number over all that the next update depends on, and the numbers by which a game calls its emitters: the same edits
// and steps bring two worlds that have it in common to the same state. What tells of the past is not in it: the account of drops, and the
// marks of changes.
//
// The solver hashes its own state. Everything else is chained in a fixed order, field by field, so that no padding gets in.
#include "base/hash.h"
#include "world/solver.h"
#include <string.h>

#define CHAIN(hash, field) hash_bytes(&(field), sizeof(field), hash)

static uint64_t chain_box(uint64_t hash, const weir_box *box)
{
    _Static_assert(sizeof *box == 6 * sizeof(int32_t), "a box has no padding");
    return hash_bytes(box, sizeof *box, hash);
}

static uint64_t chain_vec(uint64_t hash, const weir_vec *vec)
{
    _Static_assert(sizeof *vec == 3 * sizeof(float), "a vector has no padding");
    return hash_bytes(vec, sizeof *vec, hash);
}

// What all solvers share, and the world's own solver's: those of the others play no part in what comes next.
static uint64_t chain_params(uint64_t hash, const weir_world *world)
{
    const param_def *p;
    for (int32_t i = 0; (p = params_field(world->solver, i)); i++) {
        if (!params_counts(world->solver, i, &world->params)) continue;
        uint32_t bits = param_bits(p, &world->params);
        hash = CHAIN(hash, bits);
    }
    return hash;
}

static uint64_t chain_warmth(uint64_t hash, const weir_material_def *def)
{
    const int32_t numbers[3] = {(int32_t)def->kind, def->freezes_to, def->boils_to};
    const float values[7] = {def->heat_capacity, def->conductivity, def->temperature, def->melting_point,
                             def->boiling_point, def->melting_heat, def->boiling_heat};
    return hash_bytes(values, sizeof values, hash_bytes(numbers, sizeof numbers, hash));
}

// Those that a game added; water is what it is.
static uint64_t chain_materials(uint64_t hash, const weir_world *world)
{
    for (int32_t i = WEIR_MATERIALS_BUILT_IN; i < world->material_count; i++) {
        const world_material *material = &world->materials[i];
        hash = hash_bytes(material->name, strlen(material->name), hash);
        hash = CHAIN(hash, material->def.density);
        hash = CHAIN(hash, material->def.viscosity);
        hash = chain_warmth(hash, &material->def);
    }
    return hash;
}

// The whole table, if it is another than the built-in one.
static uint64_t chain_reactions(uint64_t hash, const weir_world *world)
{
    const world_reactions *table = &world->reactions;
    if (reactions_are_built_in(table)) return hash;
    hash = CHAIN(hash, table->count);
    for (int32_t i = 0; i < table->count; i++) {
        const weir_reaction_def *def = &table->items[i];
        hash = CHAIN(hash, def->first);
        hash = CHAIN(hash, def->second);
        hash = CHAIN(hash, def->first_to);
        hash = CHAIN(hash, def->second_to);
        hash = CHAIN(hash, def->rate);
        hash = CHAIN(hash, def->heat);
    }
    return hash;
}

static uint64_t chain_terrain(uint64_t hash, const terrain *t)
{
    const weir_box unbounded = {{0, 0, 0}, {0, 0, 0}};
    hash = chain_box(hash, t->bounded ? &t->bounds : &unbounded);
    uint32_t open_sides = t->bounded ? t->open_sides : 0;
    hash = CHAIN(hash, open_sides);
    uint64_t kept = terrain_hash(t);
    for (int32_t i = 0; i < t->absent.count; i++) hash = chain_box(hash, &t->absent.boxes[i]);
    return CHAIN(hash, kept);
}

static uint64_t chain_source(uint64_t hash, const world_source *source)
{
    int32_t kind = (int32_t)source->kind, material = (int32_t)source->material;
    hash = CHAIN(hash, kind);
    hash = CHAIN(hash, source->id);
    hash = CHAIN(hash, material);
    hash = chain_box(hash, &source->box);
    hash = CHAIN(hash, source->rate);
    hash = CHAIN(hash, source->owed);
    if (source->kind >= SOURCE_RESERVOIR) hash = CHAIN(hash, source->level);
    return chain_vec(hash, &source->force);
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

uint64_t world_hash(const weir_world *world)
{
    int64_t update = world->busy ? world->frozen.update : world->update;
    int32_t carried = world->busy ? world->frozen.carried : solver_carried(world);
    int32_t next_source_id = world->busy ? world->frozen.next_source_id : world->next_source_id;
    const world_source *sources = world->busy ? world->frozen.sources : world->sources;
    int32_t source_count = world->busy ? world->frozen.source_count : world->source_count;
    int32_t solver = (int32_t)world->solver->id;

    uint64_t hash = world->solver->hash(world->state, world->busy);
    hash = chain_terrain(hash, &world->terrain);
    hash = chain_params(hash, world);
    hash = chain_materials(hash, world);
    hash = chain_reactions(hash, world);
    hash = CHAIN(hash, solver);
    hash = CHAIN(hash, update);
    hash = CHAIN(hash, carried);
    hash = CHAIN(hash, next_source_id);
    for (int32_t i = 0; i < source_count; i++) hash = chain_source(hash, &sources[i]);
    for (int32_t i = 0; i < world->forming_count && !world->busy; i++) {
        _Static_assert(sizeof *world->forming == sizeof(weir_coord) + BRICK_CELLS, "it has no padding");
        hash = CHAIN(hash, world->forming[i]);
    }
    return world->solver->hash_rules ? world->solver->hash_rules(world->state, hash) : hash;
}

uint64_t weir_world_hash(const weir_world *world)
{
    world_fetch_all(world);
    if (!world->busy) solver_catch_up(world);
    world_check_query(world);
    return world->values_lost ? 0 : world_hash(world);
}
