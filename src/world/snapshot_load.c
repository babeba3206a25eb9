// Loading. A file may come from anywhere: nothing it claims is believed before it has been compared with what is there, and the
// world is touched only when all of it has been read.
#include "base/hash.h"
#include "world/coord_table.h"
#include "world/solver.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <weir/path.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
    ZSTD_BLOCK_LEAST = 4,       // a block of a zstd frame takes at least this many bytes
    ZSTD_BLOCK_MOST = 1 << 17,  // and unpacks to at most this many, which bounds what a file can claim
    NAME_BYTES = 64,            // of a solver, with its end
    STREAM_ROOM = 1 << 16       // bytes, at first, for what a function of the game's gives
};

#define ACCOUNT_MAX ((int64_t)1 << 61)  // so that sums of the account stay within 64 bits

// ---- Reading ---------------------------------------------------------------------------------------------------------------

struct snapshot_reader {
    const char *path;
    const uint8_t *at, *end;
    bool ended;
    const weir_params *params;  // that came with it; NULL: it brings none
};

static uint64_t load_number(const uint8_t *from, int32_t bytes)
{
    uint64_t value = 0;
    for (int32_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << (8 * i);
    return value;
}

size_t snapshot_left(const snapshot_reader *r)
{
    return (size_t)(r->end - r->at);
}

const uint8_t *snapshot_get_bytes(snapshot_reader *r, size_t size)
{
    if (snapshot_left(r) < size) {
        r->ended = true;
        r->at = r->end;
        return NULL;
    }
    r->at += size;
    return r->at - size;
}

uint64_t snapshot_get_number(snapshot_reader *r, int32_t bytes)
{
    const uint8_t *from = snapshot_get_bytes(r, (size_t)bytes);
    return from ? load_number(from, bytes) : 0;
}

static uint32_t get_u32(snapshot_reader *r)
{
    return (uint32_t)snapshot_get_number(r, 4);
}
static int32_t get_i32(snapshot_reader *r)
{
    return (int32_t)get_u32(r);
}
static int64_t get_i64(snapshot_reader *r)
{
    return (int64_t)snapshot_get_number(r, 8);
}

static float get_float(snapshot_reader *r)
{
    uint32_t bits = get_u32(r);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

weir_coord snapshot_get_coord(snapshot_reader *r)
{
    weir_coord c;
    c.x = get_i32(r);
    c.y = get_i32(r);
    c.z = get_i32(r);
    return c;
}

weir_box snapshot_get_box(snapshot_reader *r)
{
    weir_box box;
    box.min = snapshot_get_coord(r);
    box.max = snapshot_get_coord(r);
    return box;
}

static weir_vec get_vec(snapshot_reader *r)
{
    weir_vec v;
    v.x = get_float(r);
    v.y = get_float(r);
    v.z = get_float(r);
    return v;
}

void snapshot_get_name(snapshot_reader *r, char *name, size_t room)
{
    const size_t length = (size_t)snapshot_get_number(r, 1);
    const uint8_t *letters = snapshot_get_bytes(r, length);
    name[0] = '\0';
    if (!letters || length >= room || memchr(letters, 0, length)) return;
    memcpy(name, letters, length);
    name[length] = '\0';
}

bool snapshot_get_values(snapshot_reader *r, void *values, int32_t count, int32_t bytes)
{
    const uint8_t *from = snapshot_get_bytes(r, (size_t)count * (size_t)bytes);
    uint8_t *to = values;
    for (int32_t i = 0; from && i < count; i++, from += bytes, to += bytes) {
        const uint32_t four = (uint32_t)load_number(from, bytes);
        const uint16_t two = (uint16_t)four;
        if (bytes == 4)
            memcpy(to, &four, 4);
        else if (bytes == 2)
            memcpy(to, &two, 2);
        else
            *to = (uint8_t)four;
    }
    return from != NULL;
}

bool snapshot_ended(const snapshot_reader *r)
{
    return r->ended;
}

const char *snapshot_name(const snapshot_reader *r)
{
    return weir_path_tail(r->path);
}

weir_status snapshot_damaged(const snapshot_reader *r, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return status_fail(WEIR_ERROR_FORMAT, "%s: %s", weir_path_tail(r->path), what);
}

weir_status snapshot_ends_early(const snapshot_reader *r)
{
    return snapshot_damaged(r, "it ends too early");
}

weir_material snapshot_material(const snapshot_reader *r, const weir_world *world)
{
    return solver_material(world->solver, r->params ? r->params : &world->params);
}

// ---- What is read ----------------------------------------------------------------------------------------------------------

// A world's state on its way in; it becomes the world's when all of it is there.
typedef struct arrival {
    weir_params params;
    int64_t update, change;
    world_material materials[WEIR_MATERIAL_MAX];
    int32_t material_count;
    world_reactions reactions;
    world_ledger ledger[WEIR_MATERIAL_MAX];
    int32_t carried;  // see solver.h
    world_source *sources;
    int32_t source_count, source_room, next_source_id;
    terrain terrain;
    world_forming *forming;
    int32_t forming_count, forming_room;
    void *fluid;  // of the solver's
} arrival;

static bool box_sound(weir_box box)
{
    const int32_t min[3] = {box.min.x, box.min.y, box.min.z}, max[3] = {box.max.x, box.max.y, box.max.z};
    for (int32_t i = 0; i < 3; i++) {
        if (min[i] >= max[i] || min[i] < -WEIR_COORD_LIMIT || max[i] > WEIR_COORD_LIMIT) return false;
    }
    return true;
}

static int32_t find_param(const solver_table *solver, const char *name)
{
    const param_def *p;
    for (int32_t i = 0; (p = params_field(solver, i)); i++)
        if (strcmp(p->name, name) == 0) return i;
    return -1;
}

// Each by its name, in any order, none twice and none left out but options, which are off then. What the world has for other solvers is not in the file, and
// stays.
static weir_status get_params(snapshot_reader *r, const weir_world *world, weir_params *params)
{
    const solver_table *solver = world->solver;
    uint64_t got = 0;  // a bit for each
    *params = world->params;
    const int32_t count = get_i32(r);
    for (int32_t k = 0; k < count && !r->ended; k++) {
        char name[NAME_BYTES];
        snapshot_get_name(r, name, sizeof name);
        const uint32_t bits = get_u32(r);
        if (r->ended) break;
        const int32_t i = find_param(solver, name);
        if (i < 0) return snapshot_damaged(r, "it has a parameter \"%s\", which %s has not", name, solver->name);
        assert(i < 64);
        if (got >> i & 1) return snapshot_damaged(r, "it has the parameter %s twice", name);
        got |= (uint64_t)1 << i;
        param_set_bits(params_field(solver, i), params, bits);
    }
    if (r->ended) return snapshot_ends_early(r);
    const param_def *p;
    for (int32_t i = 0; (p = params_field(solver, i)); i++)
        if (!(got >> i & 1) && p->option)
            param_set_bits(p, params, 0);
        else if (!(got >> i & 1))
            return snapshot_damaged(r, "it lacks the parameter %s", p->name);
    if (params_check(params, solver) != WEIR_OK) return snapshot_damaged(r, "%s", weir_error_message());
    return solver->params_fit ? solver->params_fit(world->state, params) : WEIR_OK;
}

static weir_status get_beginning(snapshot_reader *r, weir_world *world, arrival *a)
{
    char solver[NAME_BYTES];
    snapshot_get_name(r, solver, sizeof solver);
    weir_box bounds = snapshot_get_box(r);
    uint32_t open_sides = get_u32(r);
    if (r->ended) return snapshot_ends_early(r);
    if (!solver[0]) return snapshot_damaged(r, "its solver has no sound name");
    if (strcmp(solver, world->solver->name) != 0) {
        return status_fail(WEIR_ERROR_ARGUMENT, "%s: the snapshot is of a %s world, and this one is %s",
                           weir_path_tail(r->path), solver, world->solver->name);
    }
    weir_status status = get_params(r, world, &a->params);
    if (status != WEIR_OK) return status;
    a->update = get_i64(r);
    a->change = get_i64(r);
    if (r->ended) return snapshot_ends_early(r);

    const weir_box unbounded = {{0, 0, 0}, {0, 0, 0}};
    if (memcmp(&bounds, &unbounded, sizeof bounds) != 0 && !box_sound(bounds)) {
        return snapshot_damaged(r, "the bounds (%d, %d, %d) to (%d, %d, %d) are not a box", bounds.min.x, bounds.min.y,
                                bounds.min.z, bounds.max.x, bounds.max.y, bounds.max.z);
    }
    if (open_sides > 63) return snapshot_damaged(r, "open sides 0x%x are more than a box has", open_sides);
    if (a->update < 0 || a->update > ACCOUNT_MAX || a->change < 0 || a->change > ACCOUNT_MAX) {
        return snapshot_damaged(r, "the counters of updates and changes are out of range");
    }
    terrain_create(&world->mem, bounds, open_sides, world->terrain.source, world->terrain.source_user, &a->terrain);
    a->terrain.solid = world->terrain.solid;
    return WEIR_OK;
}

static void get_warmth(snapshot_reader *r, weir_material_def *def)
{
    def->kind = (weir_material_kind)get_u32(r);
    def->heat_capacity = get_float(r);
    def->conductivity = get_float(r);
    def->temperature = get_float(r);
    def->freezes_to = get_i32(r);
    def->melting_point = get_float(r);
    def->melting_heat = get_float(r);
    def->boils_to = get_i32(r);
    def->boiling_point = get_float(r);
    def->boiling_heat = get_float(r);
}

static weir_status get_materials(snapshot_reader *r, arrival *a)
{
    const int32_t added = get_i32(r);
    if (added < 0 || added > WEIR_MATERIAL_MAX - WEIR_MATERIALS_BUILT_IN)
        return snapshot_damaged(r, "it claims %d materials; a world has at most %d", added, WEIR_MATERIAL_MAX - 1);
    materials_create(a->materials, &a->material_count);
    for (int32_t i = 0; i < added; i++) {
        char name[sizeof a->materials->name];
        snapshot_get_name(r, name, sizeof name);
        if (!r->ended && !name[0]) return snapshot_damaged(r, "material %d has no sound name", i + WEIR_MATERIALS_BUILT_IN);
        weir_material_def def = {.name = name};
        def.density = get_float(r);
        def.viscosity = get_float(r);
        for (int32_t k = 0; k < 3; k++) def.colour[k] = get_float(r);
        get_warmth(r, &def);
        if (r->ended) return snapshot_ends_early(r);
        if (materials_add(a->materials, &a->material_count, &def) != WEIR_OK)
            return snapshot_damaged(r, "%s", weir_error_message());
    }
    int64_t total[5] = {0};
    for (int32_t i = WEIR_WATER; i < a->material_count; i++) {
        int64_t account[5];
        for (int32_t k = 0; k < 5; k++) account[k] = get_i64(r);
        // What is turned is less than nothing if more was made of others, and what is unloaded if more came back than left.
        for (int32_t k = 0; k < 5; k++)
            if (account[k] < (k >= 3 ? -ACCOUNT_MAX : 0) || account[k] > ACCOUNT_MAX)
                return snapshot_damaged(r, "the account of drops is out of range");
        a->ledger[i] = (world_ledger){account[0], account[1], account[2], account[3], account[4]};
        for (int32_t k = 0; k < 5; k++) total[k] += account[k] < 0 ? -account[k] : account[k];
        if (total[0] > ACCOUNT_MAX || total[1] > ACCOUNT_MAX || total[2] > ACCOUNT_MAX || total[3] > ACCOUNT_MAX ||
            total[4] > ACCOUNT_MAX)
            return snapshot_damaged(r, "the account of drops is out of range");
    }
    return r->ended ? snapshot_ends_early(r) : WEIR_OK;
}

static weir_status get_reactions(snapshot_reader *r, arrival *a)
{
    const int32_t count = get_i32(r);
    if (count < -1 || count > WEIR_REACTION_MAX)
        return snapshot_damaged(r, "it claims %d reactions; a world has at most %d", count, WEIR_REACTION_MAX);
    if (count < 0) reactions_create(&a->reactions);
    for (int32_t i = 0; i < count; i++) {
        weir_reaction_def def;
        def.first = get_i32(r);
        def.second = get_i32(r);
        def.first_to = get_i32(r);
        def.second_to = get_i32(r);
        def.rate = get_float(r);
        def.heat = get_float(r);
        if (r->ended) return snapshot_ends_early(r);
        if (reactions_add(&a->reactions, a->materials, a->material_count, &def) != WEIR_OK)
            return snapshot_damaged(r, "%s", weir_error_message());
    }
    return r->ended ? snapshot_ends_early(r) : WEIR_OK;
}

static weir_status get_carried(snapshot_reader *r, const weir_world *world, arrival *a)
{
    a->carried = get_i32(r);
    if (a->carried < 0 || (a->carried > 0 && !world->solver->set_carried))
        return snapshot_damaged(r, "a world of %s cannot carry the number %d", world->solver->name, a->carried);
    return WEIR_OK;
}

static bool source_sound(const weir_world *world, const arrival *a, const world_source *s, int32_t last_id)
{
    const float force[3] = {s->force.x, s->force.y, s->force.z};
    for (int32_t i = 0; i < 3; i++) {
        if (!(force[i] >= -1 && force[i] <= 1)) return false;
    }
    if (s->id <= last_id || s->id >= a->next_source_id || !box_sound(s->box)) return false;
    if (s->kind == SOURCE_FORCE) return world->solver->speed > 0 && s->rate == 0 && s->owed == 0;
    if (s->kind == SOURCE_HEATER)
        return world->solver->warm && s->level > 0 && s->level <= WEIR_TEMPERATURE_MAX * EDIT_HEATER_UNIT && s->owed == 0 &&
               region_volume(s->box) <= WORLD_SOURCE_CELLS;
    const int64_t end = (int64_t)EDIT_LEVEL_MOST * WEIR_FULL;
    const bool held = s->kind == SOURCE_RESERVOIR && s->level >= -end && s->level <= end && s->owed == 0;
    const bool rated = s->kind != SOURCE_RESERVOIR && s->rate > 0 && s->rate <= (int64_t)1000000 * WEIR_FULL * 65536 &&
                       s->owed >= 0 && s->owed >> 16 < world->solver->unit;
    return (rated || held) && region_volume(s->box) <= WORLD_SOURCE_CELLS &&
           (s->kind == SOURCE_DRAIN || materials_can_hold(world, &a->params, a->materials, a->material_count, s->material));
}

static weir_status get_sources(snapshot_reader *r, weir_world *world, arrival *a)
{
    a->next_source_id = get_i32(r);
    int32_t count = get_i32(r);
    if (r->ended) return snapshot_ends_early(r);
    if (a->next_source_id < 1) return snapshot_damaged(r, "the next emitter would have the number %d", a->next_source_id);
    if (count < 0 || (size_t)count > snapshot_left(r) / SNAPSHOT_SOURCE_BYTES)
        return snapshot_damaged(r, "it has no room for the %d emitters it claims", count);
    if (count == 0) return WEIR_OK;
    a->sources = memory_alloc(&world->mem, (size_t)count * sizeof *a->sources);
    if (!a->sources)
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d emitters of %s", count, weir_path_tail(r->path));
    a->source_room = count;
    for (int32_t last_id = 0; a->source_count < count; last_id = a->sources[a->source_count++].id) {
        uint32_t kind = get_u32(r);
        world_source *s = &a->sources[a->source_count];
        *s = (world_source){.kind = (source_kind)kind, .id = get_i32(r)};
        s->box = snapshot_get_box(r);
        s->material = get_i32(r);
        *(kind >= SOURCE_RESERVOIR ? &s->level : &s->rate) = get_i64(r);
        s->owed = get_i64(r);
        s->force = get_vec(r);
        bool sound = kind <= SOURCE_HEATER && s->material >= WEIR_NOTHING && s->material < a->material_count &&
                     source_sound(world, a, s, last_id);
        if (!sound)
            return snapshot_damaged(r, "emitter, drain, force, reservoir or heater %d of %d makes no sense",
                                    a->source_count + 1, count);
    }
    return WEIR_OK;
}

static weir_status get_terrain_brick(snapshot_reader *r, terrain *t, weir_coord c, bool keep)
{
    uint8_t kind = (uint8_t)snapshot_get_number(r, 1);
    if (kind > 1) return snapshot_damaged(r, "the terrain of the brick (%d, %d, %d) is of no kind", c.x, c.y, c.z);
    const uint8_t *shares = snapshot_get_bytes(r, kind == 1 ? BRICK_CELLS : 1);
    if (!shares) return snapshot_ends_early(r);
    if (!keep) return WEIR_OK;
    weir_status status = terrain_prepare(t, c);
    if (status != WEIR_OK) return status;
    if (kind == 1)
        memcpy(terrain_write(t, c), shares, BRICK_CELLS);
    else
        memset(terrain_write(t, c), shares[0], BRICK_CELLS);
    terrain_tidy(t, c);
    return WEIR_OK;
}

// Terrain that is the game's own is asked from the game; what the file has of it is then only read over.
weir_status snapshot_get_terrain(snapshot_reader *r, const weir_world *world, const weir_box *bricks, terrain *t)
{
    bool of_game = snapshot_get_number(r, 1) != 0;
    int32_t count = get_i32(r);
    if (r->ended) return snapshot_ends_early(r);
    if (of_game && !world->terrain.source) {
        return status_fail(WEIR_ERROR_ARGUMENT, "%s: the snapshot's terrain was the game's own, and this world has none",
                           weir_path_tail(r->path));
    }
    if (count < 0 || (size_t)count > snapshot_left(r) / SNAPSHOT_TERRAIN_LEAST) {
        return snapshot_damaged(r, "it has no room for the %d bricks of terrain it claims", count);
    }
    weir_coord last = {0, 0, 0};
    for (int32_t i = 0; i < count; i++) {
        weir_coord c = snapshot_get_coord(r);
        if (r->ended) return snapshot_ends_early(r);
        if (!snapshot_brick_sound(c) || (bricks && !region_holds(*bricks, c)))
            return snapshot_damaged(r, "the terrain brick (%d, %d, %d) lies outside any %s", c.x, c.y, c.z,
                                    bricks ? "region" : "world");
        if (i > 0 && coord_compare(last, c) >= 0)
            return snapshot_damaged(r, "the terrain brick (%d, %d, %d) is out of order", c.x, c.y, c.z);
        weir_status status = get_terrain_brick(r, t, c, !world->terrain.source);
        if (status != WEIR_OK) return status;
        last = c;
    }
    return WEIR_OK;
}

// The parts that are not there, of which nothing is kept.
static weir_status get_absent(snapshot_reader *r, weir_world *world, arrival *a)
{
    enum { BOX_BYTES = 24 };
    absent_set *absent = &a->terrain.absent;
    const int32_t count = get_i32(r);
    if (r->ended) return snapshot_ends_early(r);
    if (count < 0 || (size_t)count > snapshot_left(r) / BOX_BYTES)
        return snapshot_damaged(r, "it has no room for the %d unloaded parts it claims", count);
    if (count == 0) return WEIR_OK;
    absent->boxes = memory_alloc(&world->mem, (size_t)count * sizeof *absent->boxes);
    if (!absent->boxes) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d unloaded parts of a world", count);
    absent->room = count;
    for (; absent->count < count; absent->count++) {
        const weir_box b = absent->boxes[absent->count] = snapshot_get_box(r);
        if (!snapshot_box_sound(b)) return snapshot_damaged(r, "an unloaded part lies outside any world");
    }
    if (!absent_sound(absent)) return snapshot_damaged(r, "the unloaded parts are not cut as they should be");
    for (int32_t i = 0; i < a->terrain.slot_count; i++)
        if (a->terrain.slot[i].used && absent_has(absent, a->terrain.slot[i].coord))
            return snapshot_damaged(r, "it has terrain in a part that is unloaded");
    return WEIR_OK;
}

static weir_status get_forming(snapshot_reader *r, weir_world *world, arrival *a)
{
    const int32_t count = get_i32(r);
    if (count < 0 || (size_t)count > snapshot_left(r) / (BRICK_CELLS + 12) || (count > 0 && world->terrain.source))
        return snapshot_damaged(r, "it has no room for the %d bricks of terrain that form, or they are not its own", count);
    if (count == 0) return WEIR_OK;
    a->forming = memory_alloc(&world->mem, (size_t)count * sizeof *a->forming);
    if (!a->forming) return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %d bricks of terrain that form", count);
    a->forming_room = count;
    for (; a->forming_count < count; a->forming_count++) {
        world_forming *forming = &a->forming[a->forming_count];
        forming->brick = snapshot_get_coord(r);
        const uint8_t *shares = snapshot_get_bytes(r, BRICK_CELLS);
        if (!shares) return snapshot_ends_early(r);
        if (!snapshot_brick_sound(forming->brick))
            return snapshot_damaged(r, "a brick of terrain that forms lies outside any world");
        memcpy(forming->shares, shares, BRICK_CELLS);
        for (int32_t i = 0; i < a->forming_count; i++)
            if (coords_equal(a->forming[i].brick, forming->brick)) return snapshot_damaged(r, "a brick of terrain forms twice");
    }
    return WEIR_OK;
}

static weir_status get_fluid(snapshot_reader *r, weir_world *world, arrival *a)
{
    int64_t held[WEIR_MATERIAL_MAX] = {0};
    r->params = &a->params;
    weir_status status = world->solver->load(world->state, r, &a->terrain, held, &a->fluid);
    if (status != WEIR_OK) return status;
    if (snapshot_left(r) > 0) return snapshot_damaged(r, "%zu bytes follow its end", snapshot_left(r));
    const solver_table *solver = world->solver;
    const char *wrong =
        solver->arrival_fits ? solver->arrival_fits(world->state, a->fluid, a->materials, a->material_count) : NULL;
    if (wrong) return snapshot_damaged(r, "%s", wrong);
    for (int32_t i = 1; i < WEIR_MATERIAL_MAX; i++) {
        const int64_t account = world_ledger_held(&a->ledger[i]);
        if (held[i] != account)
            return snapshot_damaged(r, "it holds %lld drops of %s and its account says %lld", (long long)held[i],
                                    a->materials[i].name, (long long)account);
    }
    return WEIR_OK;
}

static weir_status get_world(snapshot_reader *r, weir_world *world, arrival *a)
{
    weir_status status = get_beginning(r, world, a);
    if (status == WEIR_OK) status = get_materials(r, a);
    if (status == WEIR_OK) status = get_reactions(r, a);
    if (status == WEIR_OK) status = get_carried(r, world, a);
    if (status == WEIR_OK) status = get_sources(r, world, a);
    if (status == WEIR_OK) status = snapshot_get_terrain(r, world, NULL, &a->terrain);
    if (status == WEIR_OK) status = get_absent(r, world, a);
    if (status == WEIR_OK) status = get_forming(r, world, a);
    if (status == WEIR_OK) status = get_fluid(r, world, a);
    return status;
}

static void discard(weir_world *world, arrival *a)
{
    memory_free(&world->mem, a->sources, (size_t)a->source_room * sizeof *a->sources);
    memory_free(&world->mem, a->forming, (size_t)a->forming_room * sizeof *a->forming);
    if (a->terrain.mem) terrain_destroy(&a->terrain);
    world->solver->discard(world->state, a->fluid);
}

// Puts the arrival in the place of what the world had; the old things leave with the arrival.
static void move_in(weir_world *world, arrival *a)
{
    arrival old = {.sources = world->sources,
                   .source_room = world->source_room,
                   .terrain = world->terrain,
                   .forming = world->forming,
                   .forming_room = world->forming_room,
                   .fluid = a->fluid};
    world->params = params_plain(&a->params, world->solver);
    world->update = a->update;
    // Marks that the game got from the world as it was must find that everything has changed.
    world->change = (a->change > world->change ? a->change : world->change) + 1;
    memcpy(world->materials, a->materials, sizeof world->materials);
    world->material_count = a->material_count;
    world->reactions = a->reactions;
    world->forming = a->forming;
    world->forming_count = a->forming_count;
    world->forming_room = a->forming_room;
    memcpy(world->ledger, a->ledger, sizeof world->ledger);
    world->sources = a->sources;
    world->source_count = a->source_count;
    world->source_room = a->source_room;
    world->next_source_id = a->next_source_id;
    world->terrain = a->terrain;
    world->solver->adopt(world->state, a->fluid);
    if (world->solver->set_carried) world->solver->set_carried(world->state, a->carried);
    world->delta_mark = 0;
    world->checkpoint.stale = true;
    world->values_lost = false;
    *a = old;
}

// What is loaded, and from where.
typedef struct loading {
    weir_world *world;
    const char *path, *magic;
    snapshot_get *get;
    void *what;
} loading;

static weir_status load_world(snapshot_reader *r, weir_world *world, void *what)
{
    (void)what;
    arrival a = {0};
    weir_status status = get_world(r, world, &a);
    // Bricks around the water are left to the next update, as after an edit. To make them here would also end bricks that hold
    // only values of rules, and the world would not go on as the saved one.
    if (status == WEIR_OK) move_in(world, &a);
    discard(world, &a);
    if (status == WEIR_OK) world_check_change(world);
    return status;
}

weir_status snapshot_restore(weir_world *world, const uint8_t *block, size_t size)
{
    snapshot_reader r = {.path = "checkpoint", .at = block, .end = block + size};
    return load_world(&r, world, NULL);
}

// ---- Where it comes from ---------------------------------------------------------------------------------------------------

static weir_status load_payload(const loading *l, const uint8_t *payload, size_t size)
{
    snapshot_reader r = {.path = l->path, .at = payload, .end = payload + size};
    return l->get(&r, l->world, l->what);
}

static weir_status unpack(const loading *l, const uint8_t *stored, size_t stored_size, uint64_t size)
{
    const char *path = l->path;
    memory *mem = &l->world->mem;
#ifdef WEIR_HAVE_ZSTD
    const snapshot_reader r = {.path = path};
    if (size / ZSTD_BLOCK_MOST > stored_size / ZSTD_BLOCK_LEAST || size > SIZE_MAX / 2) {
        return snapshot_damaged(&r, "%llu bytes cannot come out of %zu", (unsigned long long)size, stored_size);
    }
    if (ZSTD_getFrameContentSize(stored, stored_size) != size)
        return snapshot_damaged(&r, "its packed part has not the size that it claims");
    if (size == 0) return snapshot_ends_early(&r);
    uint8_t *payload = memory_alloc(mem, (size_t)size);
    if (!payload)
        return status_fail(WEIR_ERROR_MEMORY, "no memory for the %llu bytes of %s", (unsigned long long)size,
                           weir_path_tail(path));
    size_t got = ZSTD_decompress(payload, (size_t)size, stored, stored_size);
    weir_status status = got == size ? load_payload(l, payload, (size_t)size)
                                     : snapshot_damaged(&r, "it cannot be unpacked: %s",
                                                        ZSTD_isError(got) ? ZSTD_getErrorName(got) : "too short");
    memory_free(mem, payload, (size_t)size);
    return status;
#else
    (void)mem, (void)stored, (void)stored_size, (void)size;
    return status_fail(WEIR_ERROR_UNSUPPORTED,
                       "cannot read %s: it is packed, and this build of Weir has no zstd (Debian: libzstd-dev)",
                       weir_path_tail(path));
#endif
}

// What the first bytes of a snapshot say.
typedef struct header {
    uint32_t version, flags;
    uint64_t size, stored_size, hash;
} header;

static weir_status get_header(const loading *l, const uint8_t *bytes, size_t size, header *h)
{
    const snapshot_reader r = {.path = l->path};
    if (size < SNAPSHOT_MAGIC_BYTES || memcmp(bytes, l->magic, SNAPSHOT_MAGIC_BYTES) != 0)
        return snapshot_damaged(&r, "this is not a Weir %s", strcmp(l->magic, REGION_MAGIC) == 0 ? "region" : "snapshot");
    if (size < SNAPSHOT_HEADER_BYTES) return snapshot_ends_early(&r);
    *h = (header){.version = (uint32_t)load_number(bytes + 8, 4),
                  .flags = (uint32_t)load_number(bytes + 12, 4),
                  .size = load_number(bytes + 16, 8),
                  .stored_size = load_number(bytes + 24, 8),
                  .hash = load_number(bytes + 32, 8)};
    if (h->version != SNAPSHOT_VERSION) {
        return status_fail(WEIR_ERROR_VERSION, "%s: this is a snapshot of version %u; Weir %s reads version %d",
                           weir_path_tail(l->path), h->version, weir_version(), SNAPSHOT_VERSION);
    }
    if (h->flags & ~(uint32_t)SNAPSHOT_FLAG_ZSTD) return snapshot_damaged(&r, "flags 0x%x are not known", h->flags);
    return WEIR_OK;
}

static weir_status load_stored(const loading *l, const header *h, const uint8_t *stored, size_t size)
{
    const snapshot_reader r = {.path = l->path};
    if (h->stored_size != size) {
        return snapshot_damaged(&r, "it has %zu bytes after its header and claims %llu", size,
                                (unsigned long long)h->stored_size);
    }
    if (size == 0) return snapshot_ends_early(&r);
    if (hash_bytes(stored, size, 0) != h->hash) return snapshot_damaged(&r, "its checksum is wrong: it has been damaged");
    if (h->flags & SNAPSHOT_FLAG_ZSTD) return unpack(l, stored, size, h->size);
    if (h->size != size)
        return snapshot_damaged(&r, "it is not packed, yet claims to hold %llu bytes", (unsigned long long)h->size);
    return load_payload(l, stored, size);
}

static weir_status load_whole(const loading *l, const uint8_t *bytes, size_t size)
{
    header h;
    weir_status status = get_header(l, bytes, size, &h);
    if (status != WEIR_OK) return status;
    return load_stored(l, &h, bytes + SNAPSHOT_HEADER_BYTES, size - SNAPSHOT_HEADER_BYTES);
}

static weir_status refuse_busy(void)
{
    return status_fail(WEIR_ERROR_BUSY, "a snapshot cannot be loaded while a background step runs");
}

weir_status weir_world_load(weir_world *world, const char *path)
{
    assert(path);
    if (world->busy) return refuse_busy();
    struct stat about;
    if (stat(path, &about) != 0)
        return status_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path), strerror(errno));
    if (!S_ISREG(about.st_mode))
        return status_fail(WEIR_ERROR_FILE, "cannot read %s: it is not a plain file", weir_path_tail(path));
    FILE *file = fopen(path, "rb");
    if (!file) return status_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path), strerror(errno));

    weir_status status;
    size_t size = (size_t)about.st_size;
    uint8_t *bytes = memory_alloc(&world->mem, size);
    if (size > 0 && !bytes) {
        status = status_fail(WEIR_ERROR_MEMORY, "no memory for the %zu bytes of %s", size, weir_path_tail(path));
    } else if (size > 0 && fread(bytes, 1, size, file) != size) {
        status = status_fail(WEIR_ERROR_FILE, "cannot read %s: %s", weir_path_tail(path),
                             ferror(file) ? strerror(errno) : "it became shorter");
    } else {
        status = load_whole(&(loading){world, path, SNAPSHOT_MAGIC, load_world, NULL}, bytes, size);
    }
    memory_free(&world->mem, bytes, size);
    fclose(file);
    return status;
}

weir_status weir_world_load_memory(weir_world *world, const void *bytes, size_t size)
{
    assert(bytes || size == 0);
    return world->busy ? refuse_busy()
                       : snapshot_read(world, "the snapshot in memory", SNAPSHOT_MAGIC, load_world, NULL, bytes, size);
}

weir_status snapshot_read(weir_world *world, const char *name, const char *magic, snapshot_get *get, void *what,
                          const void *bytes, size_t size)
{
    return load_whole(&(loading){world, name, magic, get, what}, bytes, size);
}

// ---- From a function of the game's -----------------------------------------------------------------------------------------

typedef struct stream {
    weir_read *read;
    void *user;
    uint64_t given;  // bytes so far
} stream;

static const char *const STREAM_NAME = "the snapshot that was read";

// Reads until `size` bytes are there or the function says that there are no more.
static weir_status read_bytes(stream *from, uint8_t *bytes, size_t size, size_t *got)
{
    *got = 0;
    while (*got < size) {
        int64_t given = from->read(from->user, bytes + *got, (int64_t)(size - *got));
        if (given < 0 || (uint64_t)given > size - *got) {
            return status_fail(WEIR_ERROR_FILE, "the game's function for reading a snapshot failed after %llu bytes",
                               (unsigned long long)from->given);
        }
        if (given == 0) return WEIR_OK;
        *got += (size_t)given;
        from->given += (uint64_t)given;
    }
    return WEIR_OK;
}

// What a header claims is not believed: the room grows with what has come.
typedef struct arrived {
    uint8_t *bytes;
    size_t size, room;
} arrived;

static weir_status read_stored(weir_world *world, stream *from, uint64_t claimed, arrived *to)
{
    while (to->size < claimed) {
        if (to->size == to->room) {
            uint64_t twice = to->room ? 2 * (uint64_t)to->room : STREAM_ROOM, room = claimed < twice ? claimed : twice;
            uint8_t *grown = room < SIZE_MAX / 2 ? memory_resize(&world->mem, to->bytes, to->room, (size_t)room) : NULL;
            if (!grown) {
                return status_fail(WEIR_ERROR_MEMORY, "no memory for %llu bytes of %s", (unsigned long long)room, STREAM_NAME);
            }
            to->bytes = grown;
            to->room = (size_t)room;
        }
        size_t got;
        weir_status status = read_bytes(from, to->bytes + to->size, to->room - to->size, &got);
        if (status != WEIR_OK) return status;
        if (got == 0) break;
        to->size += got;
    }
    return WEIR_OK;
}

weir_status weir_world_load_from(weir_world *world, weir_read *read, void *user)
{
    assert(read);
    if (world->busy) return refuse_busy();
    stream from = {.read = read, .user = user};
    uint8_t first[SNAPSHOT_HEADER_BYTES];
    size_t got;
    header h;
    weir_status status = read_bytes(&from, first, sizeof first, &got);
    const loading l = {world, STREAM_NAME, SNAPSHOT_MAGIC, load_world, NULL};
    if (status == WEIR_OK) status = get_header(&l, first, got, &h);
    if (status != WEIR_OK) return status;
    arrived stored = {0};
    status = read_stored(world, &from, h.stored_size, &stored);
    if (status == WEIR_OK) status = load_stored(&l, &h, stored.bytes, stored.size);
    memory_free(&world->mem, stored.bytes, stored.room);
    return status;
}
