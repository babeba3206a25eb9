// Regions: boxes of bricks that leave a world and come back (weir_world_unload). They are kept as snapshots are (snapshot.h), with this payload:
//
//     name of the solver, box of bricks | names of materials | digest of what holds its fluid
//     bricks beside the box: count, and each with a digest | terrain of the box | what the solver saves
//
// The digests tell, when the box comes back, where something is another than it was. What is away is a set of boxes (absent.h) that the terrain
// has, which says of its cells that they are solid.
#include "base/hash.h"
#include "world/region.h"
#include "world/solver.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { RIM_BYTES = 20, NAME_BYTES = 64 };

static const char *const NAME = "the region";

// ---- Beside a box ----------------------------------------------------------------------------------------------------------

// A brick beside a box at a face, and a digest of what it holds.
typedef struct rim_brick {
    weir_coord at;
    uint64_t digest;
} rim_brick;

typedef struct rim {
    memory *mem;
    rim_brick *items;
    int32_t count, room;
    bool failed;  // there was no memory
} rim;

static void free_rim(rim *r)
{
    memory_free(r->mem, r->items, (size_t)r->room * sizeof *r->items);
    *r = (rim){.mem = r->mem};
}

// A brick that is away is as one that is solid.
static uint64_t digest(const weir_world *world, const fluid_view *view, weir_coord at)
{
    const int32_t brick = fluid_find(view, at);
    brick_mask open = {{0}};
    int32_t room[BRICK_CELLS] = {0};
    const int32_t *drops = room;
    uint8_t of_cells[BRICK_CELLS];
    if (brick == BRICK_NOTHING)
        terrain_open(&world->terrain, at, &open);
    else
        open = view->open[brick], drops = fluid_drops(view, brick, room);
    uint64_t hash = hash_bytes(drops, sizeof room, hash_bytes(&open, sizeof open, 0));
    if (world->solver->solid_share > 0) {
        terrain_shares(&world->terrain, at, of_cells);
        hash = hash_bytes(of_cells, sizeof of_cells, hash);
    }
    if (!view->read_materials || brick == BRICK_NOTHING || !view->wet[brick]) return hash;
    fluid_materials(view, brick, 0, BRICK_CELLS, of_cells);
    for (int32_t i = 0; i < BRICK_CELLS; i++) of_cells[i] = drops[i] > 0 ? of_cells[i] : WEIR_NOTHING;
    return hash_bytes(of_cells, sizeof of_cells, hash);
}

// What fluid of a box stands under besides its neighbours: gravity, and the reservoirs that reach into it.
static uint64_t digest_held(const weir_world *world, weir_box bricks)
{
    uint64_t hash = hash_bytes(&world->params.gravity, sizeof world->params.gravity, 0);
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *s = &world->sources[i];
        if (s->kind != SOURCE_RESERVOIR || !region_meet(region_bricks(s->box), bricks)) continue;
        hash = hash_bytes(&s->box, sizeof s->box, hash_bytes(&s->level, sizeof s->level, hash ^ (uint64_t)s->material));
    }
    return hash;
}

static void add_rim(const weir_world *world, const fluid_view *view, rim *r, weir_coord at)
{
    if (r->failed) return;
    if (r->count == r->room) {
        const int32_t room = r->room ? 2 * r->room : 64;
        rim_brick *items = memory_resize(r->mem, r->items, (size_t)r->room * sizeof *items, (size_t)room * sizeof *items);
        r->failed = !items;
        if (!items) return;
        r->items = items;
        r->room = room;
    }
    r->items[r->count++] = (rim_brick){at, digest(world, view, at)};
}

static int compare_rim(const void *a, const void *b)
{
    return coord_compare(((const rim_brick *)a)->at, ((const rim_brick *)b)->at);
}

static void sort_rim(rim *r)
{
    int32_t kept = 0;
    if (r->count > 0) qsort(r->items, (size_t)r->count, sizeof *r->items, compare_rim);
    for (int32_t i = 0; i < r->count; i++)
        if (i == 0 || !coords_equal(r->items[i].at, r->items[kept - 1].at)) r->items[kept++] = r->items[i];
    r->count = kept;
}

// The cells of a box of bricks, and of some more around it.
static weir_box cells_of(weir_box bricks, int32_t more)
{
    return (weir_box){{8 * (bricks.min.x - more), 8 * (bricks.min.y - more), 8 * (bricks.min.z - more)},
                      {8 * (bricks.max.x + more), 8 * (bricks.max.y + more), 8 * (bricks.max.z + more)}};
}

static const int8_t FACES[6][3] = {{-1, 0, 0}, {0, -1, 0}, {0, 0, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

static weir_coord beside(weir_coord at, int32_t face)
{
    return (weir_coord){at.x + FACES[face][0], at.y + FACES[face][1], at.z + FACES[face][2]};
}

// Whether a brick lies outside a box and touches it at a face.
static bool touches(weir_box bricks, weir_coord at)
{
    for (int32_t face = 0; face < 6; face++)
        if (!region_holds(bricks, at) && region_holds(bricks, beside(at, face))) return true;
    return false;
}

// The bricks beside the box that are wet, and those beside live bricks in it.
static void find_rim(const weir_world *world, const fluid_view *view, weir_box bricks, rim *r)
{
    region_walk walk = region_walk_live(view, cells_of(bricks, 1));
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        const weir_coord at = view->coord[b];
        if (!region_holds(bricks, at)) {
            if (view->wet[b] && touches(bricks, at)) add_rim(world, view, r, at);
            continue;
        }
        for (int32_t face = 0; face < 6; face++) {
            const weir_coord next = beside(at, face);
            // Beyond the farthest cells there is nothing to come back beside.
            if (!region_holds(bricks, next) && snapshot_brick_sound(next)) add_rim(world, view, r, next);
        }
    }
    sort_rim(r);
}

// Which bricks beside a box that comes back are others than those it left: of the ones it knew, and of the wet ones. `known` may be all that
// there were, in order.
static void find_stirred(const weir_world *world, const fluid_view *view, weir_box bricks, const rim *known, rim *stirred)
{
    for (int32_t i = 0; i < known->count; i++)
        if (!terrain_is_absent(&world->terrain, known->items[i].at) &&
            digest(world, view, known->items[i].at) != known->items[i].digest)
            add_rim(world, view, stirred, known->items[i].at);
    region_walk walk = region_walk_live(view, cells_of(bricks, 1));
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        const rim_brick item = {.at = view->coord[b]};
        if (!view->wet[b] || !touches(bricks, item.at)) continue;
        if (known->count > 0 && bsearch(&item, known->items, (size_t)known->count, sizeof item, compare_rim)) continue;
        add_rim(world, view, stirred, item.at);
    }
    sort_rim(stirred);
}

// ---- Leaving ---------------------------------------------------------------------------------------------------------------

typedef struct leaving {
    weir_box bricks;
    const rim *rim;
} leaving;

// Its solver, and the options that it has on: what is water in one world may be a gas in another.
static void name_fluid(const weir_world *world, char name[NAME_BYTES])
{
    const param_def *p;
    size_t length = (size_t)snprintf(name, NAME_BYTES, "%s", world->solver->name);
    for (int32_t i = 0; (p = params_field(world->solver, i)) && length < NAME_BYTES; i++)
        if (p->option && !param_is_off(p, &world->params))
            length += (size_t)snprintf(name + length, NAME_BYTES - length, " with %s", p->name);
}

static void put_region(snapshot_writer *w, const weir_world *world, const void *what)
{
    const leaving *l = what;
    char name[NAME_BYTES];
    name_fluid(world, name);
    snapshot_put_name(w, name);
    snapshot_put_box(w, l->bricks);
    snapshot_put_names(w, world);
    snapshot_put_number(w, digest_held(world, l->bricks), 8);
    snapshot_put_number(w, (uint32_t)l->rim->count, 4);
    for (int32_t i = 0; i < l->rim->count; i++) {
        snapshot_put_coord(w, l->rim->items[i].at);
        snapshot_put_number(w, l->rim->items[i].digest, 8);
    }
    snapshot_put_terrain(w, &world->terrain, &l->bricks);
    world->solver->region_save(world->state, l->bricks, w);
}

// The part that is away becomes another one.
static void change_absent(weir_world *world, absent_set *next)
{
    absent_free(&world->terrain.absent, &world->mem);
    world->terrain.absent = *next;
    world->change++;
    world->checkpoint.stale = true;
}

static weir_status no_memory(void)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out for what is unloaded");
}

static weir_status prepare(weir_world *world, weir_box bricks)
{
    return world->solver->region_prepare ? world->solver->region_prepare(world->state, bricks) : WEIR_OK;
}

static weir_status leave(weir_world *world, weir_box bricks)
{
    absent_set next;
    int64_t held[WEIR_MATERIAL_MAX] = {0};
    if (!absent_change(&world->terrain.absent, bricks, true, &world->mem, &next)) return no_memory();
    const weir_status status = prepare(world, bricks);
    if (status != WEIR_OK) {
        absent_free(&next, &world->mem);
        return status;
    }
    terrain_forget(&world->terrain, bricks);
    change_absent(world, &next);
    world->solver->unload(world->state, bricks, held);
    for (int32_t i = 1; i < WEIR_MATERIAL_MAX; i++) world->ledger[i].unloaded += held[i];
    world_check_change(world);
    return WEIR_OK;
}

// ---- Coming back -------------------------------------------------------------------------------------------------------------

typedef struct returning {
    weir_box bricks;
    rim known, stirred;
    weir_coord *at;  // of those
    bool held_anew;  // see region_changes
    terrain terrain;
    void *fluid;
    int64_t held[WEIR_MATERIAL_MAX];
} returning;

static weir_status check_absent(const weir_world *world, weir_box b)
{
    if (absent_has_all(&world->terrain.absent, b)) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT,
                       "the region (%d, %d, %d) to (%d, %d, %d) is not unloaded in this world, or not all of it", 8 * b.min.x,
                       8 * b.min.y, 8 * b.min.z, 8 * b.max.x, 8 * b.max.y, 8 * b.max.z);
}

static weir_status get_beginning(snapshot_reader *r, const weir_world *world, weir_box *bricks)
{
    char name[NAME_BYTES], own[NAME_BYTES];
    snapshot_get_name(r, name, sizeof name);
    *bricks = snapshot_get_box(r);
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    name_fluid(world, own);
    if (strcmp(name, own) != 0)
        return status_fail(WEIR_ERROR_ARGUMENT, "the region is of a %s world, and this one is %s", name, own);
    if (!snapshot_box_sound(*bricks)) return snapshot_damaged(r, "it is no box of bricks");
    if (count < 0 || count > WEIR_MATERIAL_MAX) return snapshot_damaged(r, "it claims %d materials", count);
    for (int32_t i = 0; i < count; i++) {
        const int32_t number = i + WEIR_MATERIALS_BUILT_IN;
        snapshot_get_name(r, name, sizeof name);
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        if (number < world->material_count && strcmp(world->materials[number].name, name) == 0) continue;
        return status_fail(
            WEIR_ERROR_ARGUMENT,
            "the region is of a world whose material %d is \"%s\": add the same materials to this one in the same order",
            number, name);
    }
    return check_absent(world, *bricks);
}

static weir_status get_rim(snapshot_reader *r, weir_box bricks, rim *known)
{
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (count < 0 || (size_t)count > snapshot_left(r) / RIM_BYTES)
        return snapshot_damaged(r, "it has no room for the %d bricks beside it that it claims", count);
    if (count == 0) return WEIR_OK;
    known->items = memory_alloc(known->mem, (size_t)count * sizeof *known->items);
    if (!known->items) return no_memory();
    known->room = count;
    for (; known->count < count; known->count++) {
        rim_brick *item = &known->items[known->count];
        item->at = snapshot_get_coord(r);
        item->digest = snapshot_get_number(r, 8);
        if (!snapshot_brick_sound(item->at) || !touches(bricks, item->at) ||
            (known->count > 0 && coord_compare(item[-1].at, item->at) >= 0))
            return snapshot_damaged(r, "the brick (%d, %d, %d) does not lie beside it", item->at.x, item->at.y, item->at.z);
    }
    return WEIR_OK;
}

static weir_status get_content(snapshot_reader *r, weir_world *world, returning *a)
{
    terrain *t = &world->terrain;
    weir_status status = get_beginning(r, world, &a->bricks);
    if (status != WEIR_OK) return status;
    a->held_anew = snapshot_get_number(r, 8) != digest_held(world, a->bricks);
    status = get_rim(r, a->bricks, &a->known);
    if (status != WEIR_OK) return status;
    terrain_create(&world->mem, t->bounded ? t->bounds : (weir_box){{0, 0, 0}, {0, 0, 0}}, t->open_sides, t->source,
                   t->source_user, &a->terrain);
    a->terrain.solid = t->solid;
    status = snapshot_get_terrain(r, world, &a->bricks, &a->terrain);
    if (status == WEIR_OK) status = world->solver->region_load(world->state, r, a->bricks, &a->terrain, a->held, &a->fluid);
    for (int32_t i = world->material_count; i < WEIR_MATERIAL_MAX && status == WEIR_OK; i++)
        if (a->held[i] != 0) return snapshot_damaged(r, "it has a material %d, which is none", i);
    if (status == WEIR_OK && snapshot_left(r) > 0) return snapshot_damaged(r, "%zu bytes follow its end", snapshot_left(r));
    return status;
}

// What of the world is looked at when a box comes or goes.
static weir_status fetch_around(weir_world *world, weir_box bricks, fluid_view *view)
{
    *view = world_fluid(world);
    region_fetch(view, cells_of(bricks, 1));
    solver_catch_up(world);
    if (!world_check(world)) return world_lost(world);
    *view = world_fluid(world);
    return WEIR_OK;
}

static weir_status prepare_return(weir_world *world, returning *a, absent_set *next)
{
    fluid_view view;
    weir_status status = fetch_around(world, a->bricks, &view);
    if (status != WEIR_OK) return status;
    find_stirred(world, &view, a->bricks, &a->known, &a->stirred);
    if (a->stirred.count > 0) a->at = memory_alloc(&world->mem, (size_t)a->stirred.count * sizeof *a->at);
    if (a->stirred.failed || (a->stirred.count > 0 && !a->at)) return no_memory();
    for (int32_t i = 0; i < a->stirred.count; i++) a->at[i] = a->stirred.items[i].at;
    status = terrain_reserve(&world->terrain, a->terrain.brick_count);
    if (status != WEIR_OK) return status;
    return absent_change(&world->terrain.absent, a->bricks, false, &world->mem, next) ? WEIR_OK : no_memory();
}

static weir_status come_back(weir_world *world, returning *a)
{
    absent_set next;
    weir_status status = prepare(world, a->bricks);
    if (status == WEIR_OK) status = prepare_return(world, a, &next);
    if (status != WEIR_OK) return status;
    change_absent(world, &next);
    for (int32_t i = 0; i < a->terrain.slot_count; i++)
        if (a->terrain.slot[i].used) terrain_take(&world->terrain, &a->terrain.slot[i]);
    world->solver->region_adopt(world->state, a->bricks, a->fluid, &(region_changes){a->at, a->stirred.count, a->held_anew});
    for (int32_t i = 1; i < WEIR_MATERIAL_MAX; i++) world->ledger[i].unloaded -= a->held[i];
    world_check_change(world);
    return WEIR_OK;
}

static void discard(weir_world *world, returning *a)
{
    memory_free(&world->mem, a->at, (size_t)a->stirred.count * sizeof *a->at);
    free_rim(&a->known);
    free_rim(&a->stirred);
    if (a->terrain.mem) terrain_destroy(&a->terrain);
    if (a->fluid) world->solver->region_discard(world->state, a->fluid);
}

static weir_status get_region(snapshot_reader *r, weir_world *world, void *what)
{
    (void)what;
    returning a = {.known = {.mem = &world->mem}, .stirred = {.mem = &world->mem}};
    weir_status status = get_content(r, world, &a);
    if (status == WEIR_OK) status = come_back(world, &a);
    discard(world, &a);
    return status;
}

// ---- The public face -------------------------------------------------------------------------------------------------------

static weir_status check_world(const weir_world *world)
{
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a region cannot be unloaded or loaded while a background step runs");
    if (world->lost[0]) return world_lost(world);
    if (world->solver->unload) return WEIR_OK;
    return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s cannot be unloaded in parts", world->solver->name);
}

static bool is_whole(int32_t corner, int32_t bound)
{
    return (corner & 7) == 0 || corner == bound;
}

// Cuts a box to the world; what is left must be whole bricks.
static weir_status find_bricks(const weir_world *world, weir_box box, weir_box *bricks)
{
    const weir_box all = {{INT32_MIN, INT32_MIN, INT32_MIN}, {INT32_MAX, INT32_MAX, INT32_MAX}};
    weir_box b = box, bounds = all;
    world_clip(world, &bounds);
    if (box.min.x >= box.max.x || box.min.y >= box.max.y || box.min.z >= box.max.z)
        return status_fail(WEIR_ERROR_ARGUMENT, "the region (%d, %d, %d) to (%d, %d, %d) holds no cell; min must be below max",
                           box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    if (!world_clip(world, &b))
        return status_fail(WEIR_ERROR_OUTSIDE, "the region (%d, %d, %d) to (%d, %d, %d) holds no cell of the world", box.min.x,
                           box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    const bool whole = is_whole(b.min.x, bounds.min.x) && is_whole(b.min.y, bounds.min.y) && is_whole(b.min.z, bounds.min.z) &&
                       is_whole(b.max.x, bounds.max.x) && is_whole(b.max.y, bounds.max.y) && is_whole(b.max.z, bounds.max.z);
    if (!whole)
        return status_fail(
            WEIR_ERROR_ARGUMENT,
            "the region (%d, %d, %d) to (%d, %d, %d) is not made of whole bricks: its corners must be multiples of 8, or "
            "those of the world",
            box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    *bricks = region_bricks(b);
    return WEIR_OK;
}

weir_status weir_world_unload(weir_world *world, weir_box box, void *bytes, size_t room, size_t *size)
{
    assert(size && (bytes || room == 0));
    *size = 0;
    weir_box bricks;
    fluid_view view;
    weir_status status = check_world(world);
    if (status == WEIR_OK) status = find_bricks(world, box, &bricks);
    if (status != WEIR_OK) return status;
    if (absent_has_any(&world->terrain.absent, bricks))
        return status_fail(WEIR_ERROR_ARGUMENT, "the region (%d, %d, %d) to (%d, %d, %d) is unloaded already, or a part of it",
                           box.min.x, box.min.y, box.min.z, box.max.x, box.max.y, box.max.z);
    status = fetch_around(world, bricks, &view);
    if (status != WEIR_OK) return status;
    rim r = {.mem = &world->mem};
    find_rim(world, &view, bricks, &r);
    status = r.failed ? no_memory()
                      : snapshot_write(world, NAME, REGION_MAGIC, put_region, &(leaving){bricks, &r}, bytes, room, size);
    free_rim(&r);
    return status == WEIR_OK && bytes ? leave(world, bricks) : status;
}

weir_status weir_world_load_region(weir_world *world, const void *bytes, size_t size)
{
    assert(bytes || size == 0);
    const weir_status status = check_world(world);
    return status == WEIR_OK ? snapshot_read(world, NAME, REGION_MAGIC, get_region, NULL, bytes, size) : status;
}

weir_status weir_world_load_new(weir_world *world, weir_box box)
{
    returning a = {.known = {.mem = &world->mem}, .stirred = {.mem = &world->mem}};
    weir_status status = check_world(world);
    if (status == WEIR_OK) status = find_bricks(world, box, &a.bricks);
    if (status == WEIR_OK) status = check_absent(world, a.bricks);
    if (status == WEIR_OK) status = come_back(world, &a);
    discard(world, &a);
    return status;
}

int32_t weir_world_unloaded(const weir_world *world, weir_box *boxes, int32_t room)
{
    assert(boxes || room <= 0);
    const absent_set *absent = &world->terrain.absent;
    for (int32_t i = 0; i < absent->count && i < room; i++) {
        boxes[i] = cells_of(absent->boxes[i], 0);
        world_clip(world, &boxes[i]);
    }
    return absent->count;
}
