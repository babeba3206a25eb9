// Reactions: what materials that meet become. One table per world, for any solver that knows more than one material.
//
// The table is kept in one order, whatever that in which it was made: each pair with its lower number first, pairs by their first, then by
// their second material. So the same reactions give the same hash.
#include "world/solver.h"

#include <assert.h>
#include <math.h>
#include <string.h>

// A full cell of each sets free that much at most: far more than any material holds.
#define HEAT_MAX 1e12f

static const char *name_of(const world_material *materials, weir_material material)
{
    return materials[material].name;
}

static bool is_known(int32_t material_count, weir_material material)
{
    return material > WEIR_NOTHING && material < material_count;
}

// ---- Tables that end -------------------------------------------------------------------------------------------------------

static uint32_t bit_of(weir_material material)
{
    return material > WEIR_NOTHING ? UINT32_C(1) << material : 0;
}

// The materials that a reaction uses up.
static uint32_t used_up(const weir_reaction_def *def)
{
    return (def->first_to != def->first ? bit_of(def->first) : 0) | (def->second_to != def->second ? bit_of(def->second) : 0);
}

// And those that it makes.
static uint32_t made(const weir_reaction_def *def)
{
    return (def->first_to != def->first ? bit_of(def->first_to) : 0) |
           (def->second_to != def->second ? bit_of(def->second_to) : 0);
}

// A reaction ends for good if it uses up a material that no reaction makes which itself may go on: there is only so much of it. Those
// are struck out until none is left, or some that could feed each other for ever. What is struck out can happen only so often, however
// much there is, so a table of which nothing is left comes to an end. Returns one that is left, or NULL.
static const weir_reaction_def *find_endless(const world_reactions *table)
{
    bool ends[WEIR_REACTION_MAX] = {false};
    for (bool struck = true; struck;) {
        uint32_t fed = 0;
        struck = false;
        for (int32_t i = 0; i < table->count; i++)
            if (!ends[i]) fed |= made(&table->items[i]);
        for (int32_t i = 0; i < table->count; i++) {
            if (ends[i] || !(used_up(&table->items[i]) & ~fed)) continue;
            ends[i] = true;
            struck = true;
        }
    }
    for (int32_t i = 0; i < table->count; i++)
        if (!ends[i]) return &table->items[i];
    return NULL;
}

// ---- The table -------------------------------------------------------------------------------------------------------------

static weir_reaction_def in_order(const weir_reaction_def *def)
{
    weir_reaction_def d = *def;
    if (d.first > d.second) {
        d.first = def->second;
        d.first_to = def->second_to;
        d.second = def->first;
        d.second_to = def->first_to;
    }
    d.heat += 0.0f;  // minus zero becomes zero
    return d;
}

static weir_status check_material(int32_t material_count, weir_material material, const char *what, bool product)
{
    if (is_known(material_count, material) || (product && (material == WEIR_NOTHING || material == WEIR_TERRAIN)))
        return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "a reaction %s material %d, and the materials of this world are those from 1 to %d",
                       what, material, material_count - 1);
}

static weir_status check_def(const world_material *materials, int32_t material_count, const weir_reaction_def *d)
{
    weir_status status = check_material(material_count, d->first, "is of", false);
    if (status == WEIR_OK) status = check_material(material_count, d->second, "is of", false);
    if (status == WEIR_OK) status = check_material(material_count, d->first_to, "makes", true);
    if (status == WEIR_OK) status = check_material(material_count, d->second_to, "makes", true);
    if (status != WEIR_OK) return status;
    const char *first = name_of(materials, d->first), *second = name_of(materials, d->second);
    if (d->first == d->second) return status_fail(WEIR_ERROR_ARGUMENT, "%s cannot react with itself", first);
    if (!used_up(d)) return status_fail(WEIR_ERROR_ARGUMENT, "the reaction of %s and %s changes neither", first, second);
    if (!(d->rate > 0 && d->rate <= 1))
        return status_fail(WEIR_ERROR_ARGUMENT, "the rate of the reaction of %s and %s is %g; it must be above 0, up to 1",
                           first, second, (double)d->rate);
    if (!(fabsf(d->heat) <= HEAT_MAX))
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "the heat of the reaction of %s and %s is %g; it must be a number from %g to %g", first, second,
                           (double)d->heat, -(double)HEAT_MAX, (double)HEAT_MAX);
    return WEIR_OK;
}

// The first entry that does not come before a pair.
static int32_t place_of(const world_reactions *table, weir_material first, weir_material second)
{
    int32_t i = 0;
    while (i < table->count &&
           (table->items[i].first < first || (table->items[i].first == first && table->items[i].second < second)))
        i++;
    return i;
}

static bool is_pair(const world_reactions *table, int32_t index, weir_material first, weir_material second)
{
    return index < table->count && table->items[index].first == first && table->items[index].second == second;
}

weir_status reactions_add(world_reactions *table, const world_material *materials, int32_t material_count,
                          const weir_reaction_def *def)
{
    const weir_reaction_def d = in_order(def);
    weir_status status = check_def(materials, material_count, &d);
    if (status != WEIR_OK) return status;
    const char *first = name_of(materials, d.first), *second = name_of(materials, d.second);
    const int32_t place = place_of(table, d.first, d.second);
    if (is_pair(table, place, d.first, d.second))
        return status_fail(WEIR_ERROR_ARGUMENT, "there is already a reaction of %s and %s; remove it first", first, second);
    if (table->count == WEIR_REACTION_MAX)
        return status_fail(WEIR_ERROR_LIMIT, "a world has at most %d reactions", WEIR_REACTION_MAX);
    world_reactions next = *table;
    memmove(&next.items[place + 1], &next.items[place], (size_t)(next.count - place) * sizeof *next.items);
    next.items[place] = d;
    next.count++;
    const weir_reaction_def *endless = find_endless(&next);
    if (endless)
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "with a reaction of %s and %s there would be no end: what reactions use up, that of %s and %s among "
                           "them, others would make again",
                           first, second, name_of(materials, endless->first), name_of(materials, endless->second));
    *table = next;
    return WEIR_OK;
}

// The built-in ones, in order. Basalt that cools to stone gives off what boils about as much water away as there was of it.
static const weir_reaction_def BUILT_IN[] = {{WEIR_WATER, WEIR_LAVA, WEIR_STEAM, WEIR_STONE, 0.5f, 0}};
enum { BUILT_IN_COUNT = sizeof BUILT_IN / sizeof *BUILT_IN };

void reactions_create(world_reactions *table)
{
    *table = (world_reactions){.count = BUILT_IN_COUNT};
    memcpy(table->items, BUILT_IN, sizeof BUILT_IN);
}

bool reactions_are_built_in(const world_reactions *table)
{
    if (table->count != BUILT_IN_COUNT) return false;
    for (int32_t i = 0; i < table->count; i++) {
        const weir_reaction_def *a = &table->items[i], *b = &BUILT_IN[i];
        if (a->first != b->first || a->second != b->second || a->first_to != b->first_to || a->second_to != b->second_to ||
            a->rate != b->rate || a->heat != b->heat)
            return false;
    }
    return true;
}

const weir_reaction_def *reactions_find(const world_reactions *table, weir_material a, weir_material b)
{
    const weir_material first = a < b ? a : b, second = a < b ? b : a;
    const int32_t place = place_of(table, first, second);
    return is_pair(table, place, first, second) ? &table->items[place] : NULL;
}

weir_material reactions_product(const weir_world *world, weir_material to)
{
    if (to <= WEIR_NOTHING || materials_can_hold(world, &world->params, world->materials, world->material_count, to)) return to;
    return world->materials[to].def.kind == WEIR_KIND_SOLID ? WEIR_TERRAIN : WEIR_NOTHING;
}

// ---- The public face -------------------------------------------------------------------------------------------------------

static void tell_solver(weir_world *world)
{
    if (world->solver->reactions_changed) world->solver->reactions_changed(world->state);
}

weir_status weir_world_add_reaction(weir_world *world, const weir_reaction_def *def)
{
    assert(def);
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a reaction cannot be added while a background step runs");
    const world_reactions had = world->reactions;
    weir_status status = reactions_add(&world->reactions, world->materials, world->material_count, def);
    if (status == WEIR_OK && world->solver->reaction_prepare) status = world->solver->reaction_prepare(world->state, def);
    if (status == WEIR_OK)
        tell_solver(world);
    else
        world->reactions = had;
    return status;
}

weir_status weir_world_remove_reaction(weir_world *world, weir_material first, weir_material second)
{
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a reaction cannot be removed while a background step runs");
    world_reactions *table = &world->reactions;
    weir_status status = check_material(world->material_count, first, "is of", false);
    if (status == WEIR_OK) status = check_material(world->material_count, second, "is of", false);
    if (status != WEIR_OK) return status;
    const weir_reaction_def *found = reactions_find(table, first, second);
    if (!found)
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no reaction of %s and %s", name_of(world->materials, first),
                           name_of(world->materials, second));
    const int32_t place = (int32_t)(found - table->items);
    memmove(&table->items[place], &table->items[place + 1], (size_t)(table->count - place - 1) * sizeof *table->items);
    table->count--;
    tell_solver(world);
    return WEIR_OK;
}

int32_t weir_world_reaction_count(const weir_world *world)
{
    return world->reactions.count;
}

bool weir_world_reaction(const weir_world *world, int32_t index, weir_reaction_def *def)
{
    assert(def);
    if (index < 0 || index >= world->reactions.count) return false;
    *def = world->reactions.items[index];
    return true;
}
