// What a script can say: edits, questions, what is to happen later, and world{...}.
#include "scenes/script.h"

#ifdef WEIR_HAVE_LUA

#include "scenes/script_inside.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { EDIT_CELLS_MAX = 1 << 27 };  // that one edit may go through, so that it takes seconds at most

// ---- What scripts hand over ------------------------------------------------------------------------------------------------

static scene_run *run_of(lua_State *lua)
{
    scene_script *script = script_of(lua);
    if (!script->run) luaL_error(lua, "there is no world yet: world{...} comes first");
    script_check_limit(lua);
    return script->run;
}

static void check(lua_State *lua, weir_status status)
{
    if (status != WEIR_OK) luaL_error(lua, "%s", weir_error_message());
    script_check_limit(lua);
}

// The i-th number of the table at `index`.
static double number_in(lua_State *lua, int index, int i)
{
    int is_number;
    lua_geti(lua, index, i);
    double number = lua_tonumberx(lua, -1, &is_number);
    if (!is_number) luaL_argerror(lua, index, "it must hold numbers only");
    lua_pop(lua, 1);
    return number;
}

static int32_t whole_in(lua_State *lua, int index, int i)
{
    double number = number_in(lua, index, i);
    if (!(fabs(number) <= WEIR_COORD_LIMIT) || floor(number) != number)
        luaL_argerror(lua, index, "a box takes whole numbers of cells, up to a thousand million");
    return (int32_t)number;
}

static weir_box to_box(lua_State *lua, int index)
{
    luaL_checktype(lua, index, LUA_TTABLE);
    if (lua_rawlen(lua, index) != 6) luaL_argerror(lua, index, "a box is six numbers: {x0, y0, z0, x1, y1, z1}");
    int32_t c[6];
    for (int i = 0; i < 6; i++) c[i] = whole_in(lua, index, i + 1);
    return (weir_box){{c[0], c[1], c[2]}, {c[3], c[4], c[5]}};
}

static bool is_sphere(lua_State *lua, int index)
{
    return lua_istable(lua, index) && lua_rawlen(lua, index) == 4;
}

static weir_sphere to_sphere(lua_State *lua, int index)
{
    double c[4];
    for (int i = 0; i < 4; i++) c[i] = number_in(lua, index, i + 1);
    return (weir_sphere){{c[0], c[1], c[2]}, c[3]};
}

// What an edit works on.
typedef struct edit_shape {
    bool round;
    weir_box box;  // if it is round, the box around it; one that is no place is for the edit to refuse
    weir_sphere sphere;
} edit_shape;

static weir_box box_around(weir_sphere s)
{
    const double radius = s.radius, centre[3] = {s.centre.x, s.centre.y, s.centre.z};
    int32_t ends[6];
    for (int i = 0; i < 6; i++) {
        double end = i < 3 ? floor(centre[i] - radius) : floor(centre[i - 3] + radius) + 1;
        ends[i] = (int32_t)fmin(fmax(end, -WEIR_COORD_LIMIT), WEIR_COORD_LIMIT);
    }
    return (weir_box){{ends[0], ends[1], ends[2]}, {ends[3], ends[4], ends[5]}};
}

static edit_shape to_shape(lua_State *lua, int index)
{
    edit_shape s = {.round = is_sphere(lua, index)};
    if (s.round) s.sphere = to_sphere(lua, index);
    s.box = s.round ? box_around(s.sphere) : to_box(lua, index);
    return s;
}

static double length_within(int32_t min, int32_t max, int32_t low, int32_t high)
{
    return fmax(0, fmin(max, high) - fmax(min, low));
}

// For what goes through all cells of its shape that lie in the world. Drain and flow go through the water only, which the world's
// memory limits.
static void check_size(lua_State *lua, const weir_world *world, weir_box box)
{
    weir_box in = weir_world_bounds(world);
    if (in.min.x >= in.max.x) in = box;
    double cells = length_within(box.min.x, box.max.x, in.min.x, in.max.x) *
                   length_within(box.min.y, box.max.y, in.min.y, in.max.y) *
                   length_within(box.min.z, box.max.z, in.min.z, in.max.z);
    if (cells <= EDIT_CELLS_MAX) return;
    luaL_error(lua, "the shape has more than %d million cells, too many for one edit of a script: take it in parts",
               EDIT_CELLS_MAX / 1000000);
}

// ---- Materials -------------------------------------------------------------------------------------------------------------

// The material of a name that the script gives; the world's own if it gives none.
static weir_material to_material(lua_State *lua, int index)
{
    const weir_world *world = run_of(lua)->world;
    if (lua_isnoneornil(lua, index)) return weir_world_fluid(world);
    const weir_material material = weir_world_find_material(world, luaL_checkstring(lua, index));
    if (material == WEIR_NOTHING) luaL_argerror(lua, index, "there is no material of this name");
    return material;
}

static void set_kind(lua_State *lua, int index, weir_material_def *def)
{
    static const char *const kinds[] = {[WEIR_KIND_LIQUID] = "liquid", [WEIR_KIND_GAS] = "gas", [WEIR_KIND_SOLID] = "solid"};
    const char *name = luaL_checkstring(lua, index);
    for (int i = 0; i < WEIR_KIND_COUNT; i++) {
        if (strcmp(name, kinds[i]) != 0) continue;
        def->kind = (weir_material_kind)i;
        return;
    }
    luaL_error(lua, "a material is of the kind \"liquid\", \"gas\" or \"solid\", and not \"%s\"", name);
}

// What a material is besides, by the names of weir_material_def. The pair of name and value is on top of the stack.
static void set_detail(lua_State *lua, weir_material_def *def)
{
    const struct {
        const char *name;
        float *number;
        weir_material *material;
    } details[] = {{"heat_capacity", &def->heat_capacity, NULL},
                   {"conductivity", &def->conductivity, NULL},
                   {"temperature", &def->temperature, NULL},
                   {"melting_point", &def->melting_point, NULL},
                   {"boiling_point", &def->boiling_point, NULL},
                   {"melting_heat", &def->melting_heat, NULL},
                   {"boiling_heat", &def->boiling_heat, NULL},
                   {"freezes_to", NULL, &def->freezes_to},
                   {"boils_to", NULL, &def->boils_to}};
    const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "";
    if (strcmp(name, "kind") == 0) {
        set_kind(lua, -1, def);
        return;
    }
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        if (strcmp(name, details[i].name) != 0) continue;
        if (details[i].number) *details[i].number = (float)luaL_checknumber(lua, -1);
        if (details[i].material) *details[i].material = to_material(lua, lua_gettop(lua));
        return;
    }
    luaL_error(lua, "a material has no \"%s\"", name);
}

// material(name, density, viscosity [, {red, green, blue} [, {kind = ..., ...}]])
static int edit_material(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_material_def def = {
        luaL_checkstring(lua, 1), (float)luaL_checknumber(lua, 2), (float)luaL_checknumber(lua, 3), {0.5f, 0.5f, 0.5f}};
    if (!lua_isnoneornil(lua, 4)) {
        luaL_checktype(lua, 4, LUA_TTABLE);
        for (int i = 0; i < 3; i++) def.colour[i] = (float)number_in(lua, 4, i + 1);
    }
    if (!lua_isnoneornil(lua, 5)) {
        luaL_checktype(lua, 5, LUA_TTABLE);
        for (lua_pushnil(lua); lua_next(lua, 5); lua_pop(lua, 1)) set_detail(lua, &def);
    }
    if (!script_of(lua)->loading) check(lua, weir_world_add_material(world, &def, NULL));
    return 0;
}

static weir_material to_product(lua_State *lua, int index)
{
    const char *name = luaL_checkstring(lua, index);
    const weir_material material = weir_world_find_material(run_of(lua)->world, name);
    if (material != WEIR_NOTHING || strcmp(name, "nothing") == 0) return material;
    if (strcmp(name, "terrain") != 0) luaL_argerror(lua, index, "there is no material of this name");
    return WEIR_TERRAIN;
}

// reaction(first, second, first_to, second_to [, rate [, heat]])
static int edit_reaction(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    luaL_checkstring(lua, 1);
    luaL_checkstring(lua, 2);
    const weir_reaction_def def = {to_material(lua, 1),
                                   to_material(lua, 2),
                                   to_product(lua, 3),
                                   to_product(lua, 4),
                                   (float)luaL_optnumber(lua, 5, 1),
                                   (float)luaL_optnumber(lua, 6, 0)};
    if (!script_of(lua)->loading) check(lua, weir_world_add_reaction(world, &def));
    return 0;
}

static int edit_no_reaction(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    luaL_checkstring(lua, 1);
    luaL_checkstring(lua, 2);
    const weir_material first = to_material(lua, 1), second = to_material(lua, 2);
    if (!script_of(lua)->loading) check(lua, weir_world_remove_reaction(world, first, second));
    return 0;
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static int edit_fill(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    float fill = (float)luaL_optnumber(lua, 2, 1.0);
    edit_shape s = to_shape(lua, 1);
    const weir_material material = to_material(lua, 3);
    if (script_of(lua)->loading) return 0;
    check_size(lua, world, s.box);
    check(lua,
          s.round ? weir_world_fill_sphere(world, s.sphere, material, fill) : weir_world_fill(world, s.box, material, fill));
    return 0;
}

static int edit_drain(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    edit_shape s = to_shape(lua, 1);
    if (script_of(lua)->loading) return 0;
    check(lua, s.round ? weir_world_drain_sphere(world, s.sphere) : weir_world_drain(world, s.box));
    return 0;
}

static int edit_build(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    lua_Integer share = luaL_optinteger(lua, 2, 255);
    luaL_argcheck(lua, share >= 1 && share <= 255, 2, "a solid share is from 1 to 255");
    edit_shape s = to_shape(lua, 1);
    if (script_of(lua)->loading) return 0;
    check_size(lua, world, s.box);
    check(lua,
          s.round ? weir_world_build_sphere(world, s.sphere, (uint8_t)share) : weir_world_build(world, s.box, (uint8_t)share));
    return 0;
}

static int edit_dig(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    edit_shape s = to_shape(lua, 1);
    if (script_of(lua)->loading) return 0;
    check_size(lua, world, s.box);
    check(lua, s.round ? weir_world_dig_sphere(world, s.sphere) : weir_world_dig(world, s.box));
    return 0;
}

static weir_vec to_vec(lua_State *lua, int first)
{
    return (weir_vec){(float)luaL_checknumber(lua, first), (float)luaL_checknumber(lua, first + 1),
                      (float)luaL_checknumber(lua, first + 2)};
}

static int edit_flow(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_box box = to_box(lua, 1);
    weir_vec flow = to_vec(lua, 2);
    if (!script_of(lua)->loading) check(lua, weir_world_set_flow(world, box, flow));
    return 0;
}

// Emitters, drains, forces and reservoirs have numbers in the order in which they were made, also those of a snapshot.
static int give_source(lua_State *lua, weir_status status, int32_t id)
{
    scene_script *script = script_of(lua);
    if (script->loading) id = ++script->next_source;
    check(lua, status);
    lua_pushinteger(lua, id);
    return 1;
}

static int edit_emitter(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_box box = to_box(lua, 1);
    float rate = (float)luaL_checknumber(lua, 2);
    const weir_material material = to_material(lua, 3);
    int32_t id = 0;
    weir_status status = script_of(lua)->loading ? WEIR_OK : weir_world_add_emitter(world, box, material, rate, &id);
    return give_source(lua, status, id);
}

static int edit_sink(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_box box = to_box(lua, 1);
    float rate = (float)luaL_checknumber(lua, 2);
    int32_t id = 0;
    weir_status status = script_of(lua)->loading ? WEIR_OK : weir_world_add_drain(world, box, rate, &id);
    return give_source(lua, status, id);
}

static int edit_force(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_box box = to_box(lua, 1);
    weir_vec acceleration = to_vec(lua, 2);
    int32_t id = 0;
    weir_status status = script_of(lua)->loading ? WEIR_OK : weir_world_add_force(world, box, acceleration, &id);
    return give_source(lua, status, id);
}

static int edit_reservoir(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_box box = to_box(lua, 1);
    double level = luaL_checknumber(lua, 2);
    const weir_material material = to_material(lua, 3);
    int32_t id = 0;
    weir_status status = script_of(lua)->loading ? WEIR_OK : weir_world_add_reservoir(world, box, material, level, &id);
    return give_source(lua, status, id);
}

static int edit_level(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    lua_Integer id = luaL_checkinteger(lua, 1);
    double level = luaL_checknumber(lua, 2);
    luaL_argcheck(lua, id >= 1 && id <= INT32_MAX, 1, "it is not what reservoir gave");
    if (!script_of(lua)->loading) check(lua, weir_world_set_level(world, (int32_t)id, level));
    return 0;
}

static int edit_remove(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    lua_Integer id = luaL_checkinteger(lua, 1);
    luaL_argcheck(lua, id >= 1 && id <= INT32_MAX, 1, "it is not what emitter, sink, force or reservoir gave");
    if (!script_of(lua)->loading) check(lua, weir_world_remove(world, (int32_t)id));
    return 0;
}

static int edit_set(lua_State *lua)
{
    weir_world *world = run_of(lua)->world;
    weir_params params = weir_world_params(world);
    check(lua, weir_params_set(&params, weir_world_solver(world), luaL_checkstring(lua, 1), luaL_checknumber(lua, 2)));
    if (!script_of(lua)->loading) check(lua, weir_world_set_params(world, &params));
    return 0;
}

// ---- Questions -------------------------------------------------------------------------------------------------------------

static int32_t to_whole(lua_State *lua, int index)
{
    lua_Integer whole = luaL_checkinteger(lua, index);
    luaL_argcheck(lua, whole >= -WEIR_COORD_LIMIT && whole <= WEIR_COORD_LIMIT, index, "it lies too far out");
    return (int32_t)whole;
}

static void put_field(lua_State *lua, const char *name, double value)
{
    lua_pushnumber(lua, value);
    lua_setfield(lua, -2, name);
}

static int ask_cell(lua_State *lua)
{
    weir_coord at = {to_whole(lua, 1), to_whole(lua, 2), to_whole(lua, 3)};
    weir_cell cell = weir_world_cell(run_of(lua)->world, at);
    weir_material_def material;
    lua_createtable(lua, 0, 7);
    if (cell.fill > 0 && weir_world_material(run_of(lua)->world, cell.material, &material)) {
        lua_pushstring(lua, material.name);
        lua_setfield(lua, -2, "material");
    }
    put_field(lua, "fill", (double)cell.fill);
    put_field(lua, "x", (double)cell.flow.x);
    put_field(lua, "y", (double)cell.flow.y);
    put_field(lua, "z", (double)cell.flow.z);
    put_field(lua, "pressure", (double)cell.pressure);
    put_field(lua, "solid", cell.solid);
    return 1;
}

static int ask_volume(lua_State *lua)
{
    scene_run *run = run_of(lua);
    bool all = lua_isnoneornil(lua, 1);
    double volume = all ? (double)weir_world_ledger(run->world).held / WEIR_FULL : scene_volume(run, to_box(lua, 1));
    lua_pushnumber(lua, volume);
    return 1;
}

// account(material), in full cells.
static int ask_account(lua_State *lua)
{
    luaL_checkstring(lua, 1);
    const weir_ledger ledger = weir_world_material_ledger(run_of(lua)->world, to_material(lua, 1));
    const double full = WEIR_FULL;
    lua_createtable(lua, 0, 5);
    put_field(lua, "held", (double)ledger.held / full);
    put_field(lua, "added", (double)ledger.added / full);
    put_field(lua, "removed", (double)ledger.removed / full);
    put_field(lua, "drained", (double)ledger.drained / full);
    put_field(lua, "turned", (double)ledger.turned / full);
    return 1;
}

// Nothing where the column is dry.
static int ask_surface(lua_State *lua)
{
    scene_run *run = run_of(lua);
    weir_box bounds = weir_world_bounds(run->world);
    int32_t x = to_whole(lua, 1), z = to_whole(lua, 2);
    bool unbounded = bounds.min.y >= bounds.max.y;
    if (unbounded && lua_isnoneornil(lua, 3))
        luaL_error(lua, "surface(x, z, y0, y1): a world without bounds needs a range of y");
    int32_t low = lua_isnoneornil(lua, 3) ? bounds.min.y : to_whole(lua, 3);
    int32_t high = lua_isnoneornil(lua, 4) ? bounds.max.y : to_whole(lua, 4);
    double height = weir_world_surface(run->world, x, z, low, high);
    if (isnan(height)) return 0;
    lua_pushnumber(lua, height);
    return 1;
}

static int ask_submerged(lua_State *lua)
{
    scene_run *run = run_of(lua);
    luaL_checktype(lua, 1, LUA_TTABLE);
    double c[6];
    for (int i = 0; i < 6; i++) c[i] = number_in(lua, 1, i + 1);
    const weir_point min = {c[0], c[1], c[2]}, max = {c[3], c[4], c[5]};
    lua_pushnumber(lua, (double)weir_world_submerged(run->world, min, max));
    return 1;
}

static int ask_updates(lua_State *lua)
{
    lua_pushinteger(lua, run_of(lua)->update);
    return 1;
}

// ---- Shapes, numbers, words ------------------------------------------------------------------------------------------------

static int make_table(lua_State *lua, int count)
{
    lua_createtable(lua, count, 0);
    for (int i = 1; i <= count; i++) {
        lua_pushnumber(lua, luaL_checknumber(lua, i));
        lua_rawseti(lua, -2, i);
    }
    return 1;
}

static int make_box(lua_State *lua)
{
    return make_table(lua, 6);
}

static int make_sphere(lua_State *lua)
{
    return make_table(lua, 4);
}

static int random_whole(lua_State *lua)
{
    int32_t low = to_whole(lua, 1), high = to_whole(lua, 2);
    luaL_argcheck(lua, low <= high, 2, "the first number is the smaller one");
    lua_pushinteger(lua, scene_random_between(&script_of(lua)->random, low, high));
    return 1;
}

static int print_line(lua_State *lua)
{
    int count = lua_gettop(lua);
    luaL_Buffer line;
    luaL_buffinit(lua, &line);
    for (int i = 1; i <= count; i++) {
        if (i > 1) luaL_addchar(&line, ' ');
        luaL_tolstring(lua, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    if (script_of(lua)->print) script_of(lua)->print(lua_tostring(lua, -1));
    return 0;
}

// Lua's own pcall nests as deep as there is memory within a coroutine, and each level takes its time to fail; this one goes a few
// hundred levels deep.
static int call_protected(lua_State *lua)
{
    luaL_checkany(lua, 1);
    int state = lua_pcall(lua, lua_gettop(lua) - 1, LUA_MULTRET, 0);
    lua_pushboolean(lua, state == LUA_OK);
    lua_insert(lua, 1);
    return lua_gettop(lua);
}

// ---- What happens later ----------------------------------------------------------------------------------------------------

const char script_hooks, script_probes;

static int add_hook(lua_State *lua, lua_Integer every, lua_Integer at)
{
    scene_script *script = script_of(lua);
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    if (script->hook_count >= 10000) luaL_error(lua, "that is more than 10000 calls of every and at");
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &script_hooks);
    lua_createtable(lua, 3, 0);
    lua_pushvalue(lua, 2);
    lua_rawseti(lua, -2, 1);
    lua_pushinteger(lua, every);
    lua_rawseti(lua, -2, 2);
    lua_pushinteger(lua, at);
    lua_rawseti(lua, -2, 3);
    lua_rawseti(lua, -2, ++script->hook_count);
    return 0;
}

static int hook_every(lua_State *lua)
{
    lua_Integer every = luaL_checkinteger(lua, 1);
    luaL_argcheck(lua, every >= 1, 1, "it must be at least 1");
    return add_hook(lua, every, 0);
}

static int hook_at(lua_State *lua)
{
    lua_Integer at = luaL_checkinteger(lua, 1);
    luaL_argcheck(lua, at >= 1, 1,
                  "it must be at least 1: what is to happen before the first update stands in the script itself");
    return add_hook(lua, 0, at);
}

static int hook_probe(lua_State *lua)
{
    scene_script *script = script_of(lua);
    const char *name = luaL_checkstring(lua, 1), *meaning = luaL_optstring(lua, 3, "");
    luaL_checktype(lua, 2, LUA_TFUNCTION);
    int32_t count = 0;
    while (count < SCENE_PROBES && script->def.probes[count].name) count++;
    if (count == SCENE_PROBES) luaL_error(lua, "a scene has at most %d probes", SCENE_PROBES);
    size_t length = strlen(name);
    luaL_argcheck(lua, length > 0 && length < sizeof script->probe_names[0], 1, "a probe's name has 1 to 31 letters");
    for (int32_t i = 0; i < count; i++)
        luaL_argcheck(lua, strcmp(script->probe_names[i], name) != 0, 1, "there is already a probe of this name");
    snprintf(script->probe_names[count], sizeof script->probe_names[count], "%s", name);
    snprintf(script->probe_meanings[count], sizeof script->probe_meanings[count], "%s", meaning);
    script->def.probes[count] = (scene_probe_def){script->probe_names[count], script->probe_meanings[count], false};
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &script_probes);
    lua_pushvalue(lua, 2);
    lua_rawseti(lua, -2, count + 1);
    return 0;
}

// ---- world{...} ------------------------------------------------------------------------------------------------------------

static uint32_t side_of(const char *name)
{
    static const char *const names[] = {"-x", "+x", "-y", "+y", "-z", "+z"};
    for (uint32_t i = 0; i < 6; i++)
        if (strcmp(names[i], name) == 0) return 1u << i;
    return 0;
}

static void read_open(lua_State *lua, scene_script *script)
{
    if (lua_isnil(lua, -1)) return;
    if (!lua_istable(lua, -1)) luaL_error(lua, "open takes a table of sides, such as {\"+x\"}");
    int table = lua_gettop(lua);
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(lua, table); i++) {
        lua_geti(lua, table, i);
        const char *name = lua_tostring(lua, -1);
        uint32_t side = name ? side_of(name) : 0;
        if (!side) luaL_error(lua, "open takes a table of sides: \"-x\", \"+x\", \"-y\", \"+y\", \"-z\", \"+z\"");
        script->world_def.open_sides |= side;
        lua_pop(lua, 1);
    }
}

static void read_params(lua_State *lua, scene_script *script)
{
    if (lua_isnil(lua, -1)) return;
    if (!lua_istable(lua, -1)) luaL_error(lua, "params takes names and numbers, such as {gravity = 0.02}");
    int table = lua_gettop(lua);
    for (lua_pushnil(lua); lua_next(lua, table); lua_pop(lua, 1)) {
        if (lua_type(lua, -2) != LUA_TSTRING || !lua_isnumber(lua, -1))
            luaL_error(lua, "params takes names and numbers, such as {gravity = 0.02}");
        check(lua, weir_params_set(&script->params, script->solver, lua_tostring(lua, -2), lua_tonumber(lua, -1)));
    }
}

static void refuse_unknown(lua_State *lua)
{
    static const char *const known[] = {"bounds", "open", "params", "updates", "summary", NULL};
    for (lua_pushnil(lua); lua_next(lua, 1); lua_pop(lua, 1)) {
        const char *name = lua_type(lua, -2) == LUA_TSTRING ? lua_tostring(lua, -2) : "a number";
        bool found = false;
        for (int i = 0; known[i]; i++) found = found || strcmp(known[i], name) == 0;
        if (!found) luaL_error(lua, "world{...} knows bounds, open, params, updates and summary, not %s", name);
    }
}

// Keeps what the world is to be, and waits until it is there.
static int describe_world(lua_State *lua)
{
    scene_script *script = script_of(lua);
    luaL_checktype(lua, 1, LUA_TTABLE);
    if (script->described) luaL_error(lua, "a script has one world");
    if (!lua_isyieldable(lua)) luaL_error(lua, "world{...} cannot be called within pcall or another function's call");
    refuse_unknown(lua);
    if (lua_getfield(lua, 1, "bounds") != LUA_TNIL) {
        weir_box b = script->world_def.bounds = to_box(lua, lua_gettop(lua));
        if (b.min.x >= b.max.x || b.min.y >= b.max.y || b.min.z >= b.max.z) luaL_error(lua, "the world's bounds hold no cell");
    }
    lua_getfield(lua, 1, "open");
    read_open(lua, script);
    lua_getfield(lua, 1, "params");
    read_params(lua, script);
    if (lua_getfield(lua, 1, "updates") != LUA_TNIL) {
        lua_Integer updates = lua_isinteger(lua, -1) ? lua_tointeger(lua, -1) : 0;
        if (updates < 1 || updates > 1000000000) luaL_error(lua, "updates must be from 1 to 1000000000");
        script->def.updates = (int32_t)updates;
    }
    if (lua_getfield(lua, 1, "summary") != LUA_TNIL) {
        if (!lua_isstring(lua, -1)) luaL_error(lua, "summary takes a line of text");
        snprintf(script->summary, sizeof script->summary, "%s", lua_tostring(lua, -1));
    }
    script->described = true;
    return lua_yield(lua, 0);
}

// ---- The list --------------------------------------------------------------------------------------------------------------

// clang-format off
const luaL_Reg script_words[] = {
    {"world", describe_world},
    {"box", make_box}, {"sphere", make_sphere},
    {"fill", edit_fill}, {"drain", edit_drain}, {"build", edit_build}, {"dig", edit_dig}, {"flow", edit_flow},
    {"terrain", script_terrain},
    {"material", edit_material}, {"reaction", edit_reaction}, {"noreaction", edit_no_reaction},
    {"emitter", edit_emitter}, {"sink", edit_sink}, {"force", edit_force}, {"reservoir", edit_reservoir},
    {"level", edit_level}, {"remove", edit_remove}, {"set", edit_set},
    {"cell", ask_cell}, {"volume", ask_volume}, {"account", ask_account}, {"surface", ask_surface}, {"submerged", ask_submerged},
    {"updates", ask_updates},
    {"every", hook_every}, {"at", hook_at}, {"probe", hook_probe},
    {"random", random_whole}, {"print", print_line}, {"pcall", call_protected},
    {NULL, NULL}};
// clang-format on

#endif
