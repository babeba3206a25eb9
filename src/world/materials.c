// Materials: what the fluid of a world can be, by number, and the account of each.
#include "world/solver.h"

#include <assert.h>
#include <string.h>

// ---- The table -------------------------------------------------------------------------------------------------------------

static weir_status check_number(const char *material, const char *what, float value, float max)
{
    if (value > 0 && value <= max) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "the %s of %s is %g; it must be a number above 0, up to %g", what, material,
                       (double)value, (double)max);
}

static weir_status check_def(const world_material *materials, int32_t count, const weir_material_def *def)
{
    const size_t room = sizeof materials->name;
    if (!def->name || !def->name[0]) return status_fail(WEIR_ERROR_ARGUMENT, "a material has no name");
    if (strlen(def->name) >= room)
        return status_fail(WEIR_ERROR_ARGUMENT, "a material is called \"%.32s...\"; a name has at most %d letters", def->name,
                           (int)room - 1);
    for (int32_t i = 1; i < count; i++)
        if (strcmp(materials[i].name, def->name) == 0)
            return status_fail(WEIR_ERROR_ARGUMENT, "there is already a material \"%s\"", def->name);
    if (count == WEIR_MATERIAL_MAX)
        return status_fail(WEIR_ERROR_LIMIT, "a world has at most %d materials", WEIR_MATERIAL_MAX - 1);
    weir_status status = check_number(def->name, "density", def->density, 1000);
    if (status == WEIR_OK) status = check_number(def->name, "viscosity", def->viscosity, 1e9f);
    for (int32_t i = 0; i < 3 && status == WEIR_OK; i++)
        if (!(def->colour[i] >= 0 && def->colour[i] <= 1))
            status = status_fail(WEIR_ERROR_ARGUMENT, "a colour of %s is %g; it must be a number from 0 to 1", def->name,
                                 (double)def->colour[i]);
    return status;
}

weir_status materials_add(world_material materials[WEIR_MATERIAL_MAX], int32_t *count, const weir_material_def *def)
{
    weir_status status = check_def(materials, *count, def);
    if (status != WEIR_OK) return status;
    world_material *added = &materials[(*count)++];
    *added = (world_material){.def = *def};
    strcpy(added->name, def->name);
    added->def.name = NULL;                                        // the caller's
    for (int32_t i = 0; i < 3; i++) added->def.colour[i] += 0.0f;  // minus zero becomes zero
    return WEIR_OK;
}

void materials_create(world_material materials[WEIR_MATERIAL_MAX], int32_t *count)
{
    static const weir_material_def built_in[] = {
        {"water", 1, 1, {0.25f, 0.55f, 0.8f}},
        {"oil", 0.9f, 60, {0.25f, 0.2f, 0.08f}},      // crude
        {"lava", 2.7f, 100000, {0.95f, 0.32f, 0.04f}}  // basalt
    };
    *count = 1;
    weir_status status = WEIR_OK;
    for (size_t i = 0; i < sizeof built_in / sizeof *built_in && status == WEIR_OK; i++)
        status = materials_add(materials, count, &built_in[i]);
    assert(status == WEIR_OK && *count == WEIR_MATERIALS_BUILT_IN);
    (void)status;
}

// What a material is, with its name.
static weir_material_def whole_def(const world_material *material)
{
    weir_material_def def = material->def;
    def.name = material->name;
    return def;
}

bool materials_can_hold(const weir_world *world, const world_material *materials, int32_t count, weir_material material)
{
    if (material <= WEIR_NOTHING || material >= count) return false;
    if (!world->solver->can_hold) return material == WEIR_WATER;
    const weir_material_def def = whole_def(&materials[material]);
    return world->solver->can_hold(world->state, material, &def);
}

// ---- The public face -------------------------------------------------------------------------------------------------------

weir_status weir_world_add_material(weir_world *world, const weir_material_def *def, weir_material *material)
{
    assert(def);
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a material cannot be added while a background step runs");
    weir_status status = materials_add(world->materials, &world->material_count, def);
    if (material) *material = status == WEIR_OK ? world->material_count - 1 : WEIR_NOTHING;
    return status;
}

int32_t weir_world_material_count(const weir_world *world)
{
    return world->material_count;
}

bool weir_world_material(const weir_world *world, weir_material material, weir_material_def *def)
{
    assert(def);
    if (material <= WEIR_NOTHING || material >= world->material_count) return false;
    *def = whole_def(&world->materials[material]);
    return true;
}

weir_material weir_world_find_material(const weir_world *world, const char *name)
{
    assert(name);
    for (int32_t i = 1; i < world->material_count; i++)
        if (strcmp(world->materials[i].name, name) == 0) return i;
    return WEIR_NOTHING;
}

// ---- Accounts --------------------------------------------------------------------------------------------------------------

int64_t world_ledger_held(const world_ledger *ledger)
{
    return ledger->added - ledger->removed - ledger->drained - ledger->turned - ledger->unloaded;
}

// Of the materials from `first` on, below `end`.
static int64_t count_held(const weir_world *world, weir_material first, weir_material end)
{
    const fluid_view view = world_fetch_all(world);
    int32_t room[BRICK_CELLS];
    uint8_t materials[BRICK_CELLS];
    int64_t held = 0;
    for (weir_material i = first; i < end && view.owed; i++) held += view.owed(&view, i);
    for (int32_t b = 1; b < view.end; b++) {
        if (!view.alive[b]) continue;
        const int32_t *mass = fluid_drops(&view, b, room);
        fluid_materials(&view, b, 0, BRICK_CELLS, materials);
        for (int32_t i = 0; i < BRICK_CELLS; i++)
            if (materials[i] >= first && materials[i] < end) held += mass[i];
    }
    return held;
}

static weir_ledger sum_ledgers(const weir_world *world, weir_material first, weir_material end)
{
    weir_ledger sum = {.held = count_held(world, first, end)};
    // A background step writes the world's own account, so while it runs that is not even looked at.
    const world_ledger *ledger = world->busy ? world->frozen.ledger : world->ledger;
    sum.drift = sum.held;
    for (weir_material i = first; i < end; i++) {
        sum.added += ledger[i].added;
        sum.removed += ledger[i].removed;
        sum.drained += ledger[i].drained;
        sum.turned += ledger[i].turned;
        sum.unloaded += ledger[i].unloaded;
        sum.drift -= world_ledger_held(&ledger[i]);
    }
    return sum;
}

weir_ledger weir_world_ledger(const weir_world *world)
{
    return sum_ledgers(world, 1, world->material_count);
}

weir_ledger weir_world_material_ledger(const weir_world *world, weir_material material)
{
    const bool known = material > WEIR_NOTHING && material < world->material_count;
    return known ? sum_ledgers(world, material, material + 1) : (weir_ledger){0};
}
