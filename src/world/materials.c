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

static weir_status check_name(const world_material *materials, int32_t count, const char *name)
{
    const size_t room = sizeof materials->name;
    if (!name || !name[0]) return status_fail(WEIR_ERROR_ARGUMENT, "a material has no name");
    if (strlen(name) >= room)
        return status_fail(WEIR_ERROR_ARGUMENT, "a material is called \"%.32s...\"; a name has at most %d letters", name,
                           (int)room - 1);
    for (int32_t i = 1; i < count; i++)
        if (strcmp(materials[i].name, name) == 0)
            return status_fail(WEIR_ERROR_ARGUMENT, "there is already a material \"%s\"", name);
    return WEIR_OK;
}

// What a liquid turns into at a temperature, and that nothing else turns into that.
static weir_status check_change(const world_material *materials, int32_t count, const weir_material_def *def, bool boils)
{
    const weir_material to = boils ? def->boils_to : def->freezes_to;
    const float point = boils ? def->boiling_point : def->melting_point, heat = boils ? def->boiling_heat : def->melting_heat;
    const weir_material_kind kind = boils ? WEIR_KIND_GAS : WEIR_KIND_SOLID;
    const char *what = boils ? "boils" : "freezes";
    if (to == WEIR_NOTHING) {
        if (point == 0 && heat == 0) return WEIR_OK;
        return status_fail(WEIR_ERROR_ARGUMENT, "%s has a point or a heat at which it %s, and nothing that it %s to", def->name,
                           what, what);
    }
    if (def->kind != WEIR_KIND_LIQUID)
        return status_fail(WEIR_ERROR_ARGUMENT, "%s %s to something, which only liquids do: tell it of the liquid", def->name,
                           what);
    if (to < 0 || to >= count)
        return status_fail(WEIR_ERROR_ARGUMENT, "%s %s to the material %d, which is not there; the last is %d", def->name, what,
                           to, count - 1);
    if (materials[to].def.kind != kind)
        return status_fail(WEIR_ERROR_ARGUMENT, "%s %s to %s, which is no %s", def->name, what, materials[to].name,
                           boils ? "gas" : "solid");
    for (int32_t i = 1; i < count; i++)
        if (materials[i].def.boils_to == to || materials[i].def.freezes_to == to)
            return status_fail(WEIR_ERROR_ARGUMENT, "%s %s to %s, as %s does already", def->name, what, materials[to].name,
                               materials[i].name);
    weir_status status = check_number(def->name, boils ? "boiling point" : "melting point", point, WEIR_TEMPERATURE_MAX);
    if (status == WEIR_OK) status = check_number(def->name, boils ? "heat of boiling" : "heat of melting", heat, 2000);
    return status;
}

// Numbers of which 0 means their default.
static weir_status check_warmth(const world_material *materials, int32_t count, const weir_material_def *def)
{
    if ((unsigned)def->kind >= WEIR_KIND_COUNT)
        return status_fail(WEIR_ERROR_ARGUMENT, "%s is of the kind %d, which is none", def->name, (int)def->kind);
    weir_status status = WEIR_OK;
    if (def->heat_capacity != 0)
        status = check_number(def->name, "heat capacity", def->heat_capacity, def->kind == WEIR_KIND_GAS ? 0.5f : 1);
    if (status == WEIR_OK && def->conductivity != 0) status = check_number(def->name, "conductivity", def->conductivity, 1000);
    if (status == WEIR_OK && def->temperature != 0)
        status = check_number(def->name, "temperature", def->temperature, WEIR_TEMPERATURE_MAX);
    for (int32_t boils = 0; boils < 2 && status == WEIR_OK; boils++) status = check_change(materials, count, def, boils);
    if (status == WEIR_OK && def->freezes_to && def->boils_to && def->boiling_point <= def->melting_point)
        status = status_fail(WEIR_ERROR_ARGUMENT, "%s boils at %g K, which is not above the %g K at which it melts", def->name,
                             (double)def->boiling_point, (double)def->melting_point);
    return status;
}

static weir_status check_def(const world_material *materials, int32_t count, const weir_material_def *def)
{
    weir_status status = check_name(materials, count, def->name);
    if (status == WEIR_OK && count == WEIR_MATERIAL_MAX)
        status = status_fail(WEIR_ERROR_LIMIT, "a world has at most %d materials", WEIR_MATERIAL_MAX - 1);
    if (status == WEIR_OK) status = check_number(def->name, "density", def->density, 1000);
    if (status == WEIR_OK) status = check_number(def->name, "viscosity", def->viscosity, 1e9f);
    for (int32_t i = 0; i < 3 && status == WEIR_OK; i++)
        if (!(def->colour[i] >= 0 && def->colour[i] <= 1))
            status = status_fail(WEIR_ERROR_ARGUMENT, "a colour of %s is %g; it must be a number from 0 to 1", def->name,
                                 (double)def->colour[i]);
    return status == WEIR_OK ? check_warmth(materials, count, def) : status;
}

static void set(world_material *material, const weir_material_def *def)
{
    *material = (world_material){.def = *def};
    strcpy(material->name, def->name);
    weir_material_def *kept = &material->def;
    kept->name = NULL;                                        // the caller's
    for (int32_t i = 0; i < 3; i++) kept->colour[i] += 0.0f;  // minus zero becomes zero
    if (kept->heat_capacity == 0) kept->heat_capacity = kept->kind == WEIR_KIND_LIQUID ? 1 : 0.5f;
    if (kept->conductivity == 0) kept->conductivity = kept->heat_capacity;
    if (kept->temperature == 0) kept->temperature = (float)WEIR_TEMPERATURE;
    kept->melting_point += 0.0f, kept->boiling_point += 0.0f, kept->melting_heat += 0.0f, kept->boiling_heat += 0.0f;
}

weir_status materials_add(world_material materials[WEIR_MATERIAL_MAX], int32_t *count, const weir_material_def *def)
{
    const weir_status status = check_def(materials, *count, def);
    if (status == WEIR_OK) set(&materials[(*count)++], def);
    return status;
}

static const weir_material_def built_in[WEIR_MATERIALS_BUILT_IN] = {
    [WEIR_WATER] = {"water",
                    1,
                    1,
                    {0.25f, 0.55f, 0.8f},
                    .heat_capacity = 1,
                    .conductivity = 1,
                    .freezes_to = WEIR_ICE,
                    .melting_point = 273.15f,
                    .melting_heat = 80,
                    .boils_to = WEIR_STEAM,
                    .boiling_point = 373.15f,
                    .boiling_heat = 540},
    [WEIR_OIL] = {"oil", 0.9f, 60, {0.25f, 0.2f, 0.08f}, .heat_capacity = 0.375f, .conductivity = 0.1875f},  // crude
    [WEIR_LAVA] = {"lava",
                   2.7f,
                   100000,
                   {0.95f, 0.32f, 0.04f},
                   .heat_capacity = 0.75f,
                   .conductivity = 0.375f,
                   .temperature = 1473,
                   .freezes_to = WEIR_STONE,
                   .melting_point = 1273,
                   .melting_heat = 258},  // basalt
    [WEIR_HONEY] = {"honey", 1.4f, 5000, {0.85f, 0.6f, 0.1f}, .heat_capacity = 0.75f, .conductivity = 0.375f},
    [WEIR_MERCURY] = {"mercury", 13.6f, 1.5f, {0.7f, 0.7f, 0.75f}, .heat_capacity = 0.5f, .conductivity = 2},
    // Gases conduct more than in nature, where they would flow about.
    [WEIR_STEAM] = {"steam",
                    0.0006f,
                    0.012f,
                    {0.86f, 0.89f, 0.92f},
                    .kind = WEIR_KIND_GAS,
                    .heat_capacity = 0.5f,
                    .conductivity = 0.5f,
                    .temperature = 393.15f},
    [WEIR_SMOKE] = {"smoke",
                    0.001f,
                    0.02f,
                    {0.35f, 0.35f, 0.36f},
                    .kind = WEIR_KIND_GAS,
                    .heat_capacity = 0.25f,
                    .conductivity = 0.25f,
                    .temperature = 353.15f},
    [WEIR_ICE] = {"ice",
                  0.917f,
                  1e9f,
                  {0.76f, 0.88f, 0.95f},
                  .kind = WEIR_KIND_SOLID,
                  .heat_capacity = 0.5f,
                  .conductivity = 1.5f,
                  .temperature = 263.15f},
    [WEIR_STONE] =
        {"stone", 2.6f, 1e9f, {0.45f, 0.43f, 0.4f}, .kind = WEIR_KIND_SOLID, .heat_capacity = 0.625f, .conductivity = 0.625f},
};

void materials_create(world_material materials[WEIR_MATERIAL_MAX], int32_t *count)
{
    for (int32_t i = 1; i < WEIR_MATERIALS_BUILT_IN; i++) set(&materials[i], &built_in[i]);
    *count = WEIR_MATERIALS_BUILT_IN;
}

// What a material is, with its name.
static weir_material_def whole_def(const world_material *material)
{
    weir_material_def def = material->def;
    def.name = material->name;
    return def;
}

bool materials_can_hold(const weir_world *world, const weir_params *params, const world_material *materials, int32_t count,
                        weir_material material)
{
    if (material <= WEIR_NOTHING || material >= count) return false;
    if (!world->solver->can_hold) return material == solver_material(world->solver, params);
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

weir_material weir_world_fluid(const weir_world *world)
{
    return solver_material(world->solver, &world->params);
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
        for (weir_material m = first; m < end && view.read_amounts && view.wet[b]; m++) {
            view.read_amounts(&view, b, m, 0, BRICK_CELLS, room);
            for (int32_t i = 0; i < BRICK_CELLS; i++) held += room[i];
        }
        if (view.read_amounts) continue;
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

bool weir_world_knows_temperature(const weir_world *world)
{
    return world->solver->warm;
}

weir_heat_ledger weir_world_heat_ledger(const weir_world *world)
{
    weir_heat_ledger ledger = {0};
    world_fetch_all(world);
    if (world->solver->heat) world->solver->heat(world->state, world->busy, &ledger);
    ledger.drift = ledger.held - (ledger.added - ledger.removed - ledger.drained - ledger.turned - ledger.unloaded);
    return ledger;
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
