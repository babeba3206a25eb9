// Applying deltas (delta.h). They come over a network: all of one is looked at before any of it counts, and what it says is compared with
// what is there.
#include "base/hash.h"
#include "world/delta.h"
#include "world/solver.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum {
    ZSTD_BLOCK_LEAST = 4,       // a block of a zstd frame takes at least this many bytes
    ZSTD_BLOCK_MOST = 1 << 17,  // and unpacks to at most this many, which bounds what a delta can claim
    NAME_BYTES = 64
};

// ---- Reading ---------------------------------------------------------------------------------------------------------------

// Past the end everything reads as 0.
typedef struct delta_reader {
    const uint8_t *at, *end;
    bool wrong;  // it has ended, or a number is longer than 64 bits
} delta_reader;

__attribute__((format(printf, 1, 2))) static weir_status damaged(const char *format, ...)
{
    char what[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return status_fail(WEIR_ERROR_FORMAT, "the delta: %s", what);
}

static weir_status ends_early(void)
{
    return damaged("it ends too early");
}

static uint8_t get_byte(delta_reader *r)
{
    if (r->at < r->end) return *r->at++;
    r->wrong = true;
    return 0;
}

static uint64_t get_number(delta_reader *r)
{
    uint64_t value = 0;
    for (int32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = get_byte(r);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
    r->wrong = true;
    return 0;
}

// One that is at most `most`; a larger one is wrong.
static int64_t get_count(delta_reader *r, int64_t most)
{
    const uint64_t value = get_number(r);
    if (value <= (uint64_t)most) return (int64_t)value;
    r->wrong = true;
    return 0;
}

// Values in the order of a delta, none above `most`.
static void get_values(delta_reader *r, uint32_t values[BRICK_CELLS], uint32_t full, int64_t most)
{
    for (int32_t at = 0; at < BRICK_CELLS && !r->wrong;) {
        const uint8_t run = get_byte(r);
        const delta_run kind = (delta_run)(run & 3);
        int64_t length = (run >> 2) + 1;
        if (length > DELTA_RUN_LONG) length += get_count(r, BRICK_CELLS);
        if (length > BRICK_CELLS - at) r->wrong = true;
        if (r->wrong) return;
        uint32_t value = kind == DELTA_FULL ? full : kind == DELTA_SAME ? (uint32_t)get_count(r, most) : 0;
        for (int64_t end = at + length; at < end; at++) {
            if (kind == DELTA_EACH) value = (uint32_t)get_count(r, most);
            values[at] = value;
        }
    }
}

// ---- What a delta says -----------------------------------------------------------------------------------------------------

typedef struct delta_head {
    int64_t from, to;
    int32_t unit, count;
    bool flow;
} delta_head;

// A delta as it is read, brick by brick.
typedef struct delta_bricks {
    weir_world *world;
    delta_head head;
    delta_reader r;
    int32_t done;
    weir_coord last;
    weir_material material;
    uint32_t materials;        // of those that were looked at, as bits
    const weir_coord *listed;  // all of them
    int32_t others;            // of a delta that tells everything: bricks looked at that are not among them
} delta_bricks;

static weir_status get_materials(delta_reader *r, const weir_world *world)
{
    const int64_t count = get_count(r, WEIR_MATERIAL_MAX);
    for (int64_t i = 0; i < count; i++) {
        char name[NAME_BYTES] = {0};
        const int64_t length = get_count(r, NAME_BYTES - 1), number = i + WEIR_MATERIALS_BUILT_IN;
        for (int64_t k = 0; k < length; k++) name[k] = (char)get_byte(r);
        if (r->wrong) return ends_early();
        if (number < world->material_count && strcmp(world->materials[number].name, name) == 0) continue;
        return status_fail(
            WEIR_ERROR_ARGUMENT,
            "the delta is of a world whose material %d is \"%s\": add the same materials to this one in the same order",
            (int)number, name);
    }
    return r->wrong ? ends_early() : WEIR_OK;
}

static weir_status check_marks(const weir_world *world, const delta_head *head)
{
    const int64_t at = world->delta_mark;
    if (head->from > head->to)
        return damaged("it goes back from mark %lld to %lld", (long long)head->from, (long long)head->to);
    if (head->from == 0) return WEIR_OK;
    if (head->from > at)
        return status_fail(
            WEIR_ERROR_ARGUMENT,
            "the delta goes on from mark %lld, and this world is at mark %lld: one before it is missing. Ask for it again "
            "from mark %lld, or for everything from mark 0",
            (long long)head->from, (long long)at, (long long)at);
    if (head->to < at)
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "the delta brings a world to mark %lld, and this one is at mark %lld: it came late",
                           (long long)head->to, (long long)at);
    return WEIR_OK;
}

static weir_status get_head(delta_reader *r, const weir_world *world, delta_head *head)
{
    const int64_t most = (int64_t)1 << DELTA_MARK_BITS;
    head->from = get_count(r, most);
    head->to = get_count(r, most);
    get_count(r, most);  // of the update nothing depends here
    head->unit = 1 << get_count(r, 22);
    if (r->wrong) return ends_early();
    weir_status status = check_marks(world, head);
    if (status == WEIR_OK) status = get_materials(r, world);
    if (status != WEIR_OK) return status;
    head->count = (int32_t)get_count(r, BRICK_MAX);
    if (r->wrong || (size_t)head->count > (size_t)(r->end - r->at)) return ends_early();
    return WEIR_OK;
}

static weir_coord get_coord(delta_reader *r, weir_coord last)
{
    int64_t part[3];
    for (int32_t i = 0; i < 3; i++) {
        const int64_t before = i == 0 ? last.x : i == 1 ? last.y : last.z;
        part[i] = before + delta_unfolded((uint64_t)get_count(r, (int64_t)1 << 32));
        if (part[i] < INT32_MIN / 8 || part[i] > INT32_MAX / 8) r->wrong = true;
    }
    if (r->wrong) return last;
    return (weir_coord){(int32_t)part[0], (int32_t)part[1], (int32_t)part[2]};
}

// Of a brick whose cells hold several materials each; what they hold together, and that of which there is most, follows from it.
static void get_shares(delta_bricks *d, fluid_brick *brick)
{
    delta_reader *r = &d->r;
    uint32_t values[BRICK_CELLS] = {0};
    int32_t most[BRICK_CELLS] = {0};
    const int64_t drops_most = INT32_MAX / FLUID_SHARES;
    memset(brick->drops, 0, sizeof brick->drops);
    memset(brick->materials, WEIR_NOTHING, sizeof brick->materials);
    brick->shares = (int32_t)get_count(r, FLUID_SHARES);
    if (brick->shares == 0) r->wrong = true;
    for (int32_t k = 0; k < brick->shares && !r->wrong; k++) {
        fluid_share *share = &brick->share[k];
        share->material = (weir_material)get_count(r, WEIR_MATERIAL_MAX - 1);
        if (share->material <= (k > 0 ? share[-1].material : WEIR_NOTHING)) r->wrong = true;
        get_values(r, values, (uint32_t)(WEIR_FULL / d->head.unit), drops_most / d->head.unit);
        for (int32_t i = 0; i < BRICK_CELLS && !r->wrong; i++) {
            const int32_t cell = delta_cell(i), drops = (int32_t)values[i] * d->head.unit;
            share->drops[cell] = drops;
            brick->drops[cell] += drops;
            if (drops > most[cell]) most[cell] = drops, brick->materials[cell] = (uint8_t)share->material;
        }
    }
    get_values(r, values, 0, INT32_MAX);
    for (int32_t i = 0; i < BRICK_CELLS && !r->wrong; i++) brick->heat[delta_cell(i)] = (int32_t)values[i];
}

// The next brick of a delta. What it holds is not yet compared with anything; false if it cannot be read.
static bool get_brick(delta_bricks *d, fluid_brick *brick)
{
    delta_reader *r = &d->r;
    uint32_t values[BRICK_CELLS];
    const uint8_t flags = get_byte(r);
    const int64_t cell_most = d->world->solver->cell_max / d->head.unit;
    brick->at = flags & DELTA_NEXT ? (weir_coord){d->last.x + 1, d->last.y, d->last.z} : get_coord(r, d->last);
    if (flags & DELTA_MATERIAL) d->material = (weir_material)get_count(r, WEIR_MATERIAL_MAX - 1);
    const int32_t kinds =
        !!(flags & DELTA_DRY) + !!(flags & DELTA_MIXED) + !!(flags & DELTA_SHARED) + !!(flags & DELTA_MATERIAL);
    if (flags >= 2 * DELTA_SHARED || kinds > 1 || (!d->head.flow && !(flags & DELTA_STILL)) || d->material == WEIR_NOTHING)
        r->wrong = true;
    brick->material = flags & DELTA_DRY ? WEIR_NOTHING : d->material;
    brick->flows = d->head.flow;
    d->last = brick->at;
    brick->shares = 0;
    if (flags & DELTA_SHARED) {
        get_shares(d, brick);
    } else if (!(flags & DELTA_DRY)) {
        get_values(r, values, (uint32_t)(WEIR_FULL / d->head.unit), cell_most);
        for (int32_t i = 0; i < BRICK_CELLS && !r->wrong; i++) brick->drops[delta_cell(i)] = (int32_t)values[i] * d->head.unit;
    } else {
        memset(brick->drops, 0, sizeof brick->drops);
    }
    if (flags & DELTA_MIXED) get_values(r, values, 0, WEIR_MATERIAL_MAX - 1);
    for (int32_t i = 0; i < BRICK_CELLS && !r->wrong && !(flags & DELTA_SHARED); i++) {
        const int32_t cell = delta_cell(i);
        const weir_material of_cell = flags & DELTA_MIXED ? (weir_material)values[i] : d->material;
        if (flags & DELTA_MIXED && (brick->drops[cell] > 0) != (of_cell != WEIR_NOTHING)) r->wrong = true;
        brick->materials[cell] = (uint8_t)(brick->drops[cell] > 0 ? of_cell : WEIR_NOTHING);
    }
    for (int32_t axis = 0; axis < 3; axis++) {
        memset(values, 0, sizeof values);
        if (!(flags & DELTA_STILL)) get_values(r, values, 0, 2 * DELTA_FLOW_MOST);
        for (int32_t i = 0; i < BRICK_CELLS && !r->wrong; i++)
            brick->flow[axis][delta_cell(i)] = (float)delta_unfolded(values[i]) / DELTA_FLOW_STEPS;
    }
    return !r->wrong;
}

// ---- Whether it can be applied -----------------------------------------------------------------------------------------------

static bool find_open(const weir_world *world, const fluid_view *view, weir_coord at, brick_mask *open)
{
    const int32_t brick = fluid_find(view, at);
    if (brick == BRICK_NOTHING) return terrain_open(&world->terrain, at, open);
    *open = view->open[brick];
    return true;
}

static weir_status check_cells(const weir_world *world, const fluid_view *view, const fluid_brick *brick)
{
    brick_mask open = {{0}};
    weir_material known = WEIR_NOTHING;  // that it can hold
    if (brick->material == WEIR_NOTHING) return WEIR_OK;
    find_open(world, view, brick->at, &open);
    for (int32_t i = 0; i < brick->shares && world->solver->put_fits; i++)
        if (!materials_can_hold(world, &world->params, world->materials, world->material_count, brick->share[i].material))
            return status_fail(WEIR_ERROR_UNSUPPORTED, "the delta has material %d, which a world of %s cannot hold",
                               brick->share[i].material, world->solver->name);
    const char *wrong = brick->shares > 0 && world->solver->put_fits ? world->solver->put_fits(world->state, brick) : NULL;
    if (wrong) return damaged("%s", wrong);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t drops = brick->drops[cell];
        const weir_coord c = brick_cell(brick->at, cell);
        if (drops % world->solver->unit != 0)
            return status_fail(WEIR_ERROR_UNSUPPORTED, "the delta has %d drops in the cell (%d, %d, %d), and %s counts by %d",
                               drops, c.x, c.y, c.z, world->solver->name, world->solver->unit);
        if (brick->shares > 0 && !world->solver->put_fits && drops > world->solver->cell_max)
            return status_fail(WEIR_ERROR_UNSUPPORTED,
                               "the delta has %d drops in the cell (%d, %d, %d), and a cell of %s holds %d at most", drops, c.x,
                               c.y, c.z, world->solver->name, world->solver->cell_max);
        const weir_material material = brick->materials[cell];
        if (drops > 0 && material != known &&
            !materials_can_hold(world, &world->params, world->materials, world->material_count, material))
            return status_fail(WEIR_ERROR_UNSUPPORTED, "the delta has material %d, which a world of %s cannot hold", material,
                               world->solver->name);
        if (drops > 0) known = material;
        if (drops > 0 && !mask_has(&open, cell))
            return status_fail(
                WEIR_ERROR_ARGUMENT,
                "the delta has water in the cell (%d, %d, %d), which is solid in this world: bring its terrain up to date "
                "first",
                c.x, c.y, c.z);
    }
    return WEIR_OK;
}

static void note_materials(delta_bricks *d, const fluid_brick *brick)
{
    for (int32_t i = 0; i < brick->shares; i++) d->materials |= UINT32_C(1) << brick->share[i].material;
    for (int32_t cell = 0; cell < BRICK_CELLS && brick->shares == 0; cell++)
        d->materials |= UINT32_C(1) << brick->materials[cell];
}

static weir_status check_brick(delta_bricks *d, const fluid_view *view, weir_coord *listed, fluid_brick *brick)
{
    const weir_world *world = d->world;
    if (!get_brick(d, brick)) return damaged("brick %d of %d is cut off or makes no sense", d->done + 1, d->head.count);
    const weir_coord at = brick->at;
    if (!snapshot_brick_sound(at)) return damaged("the brick (%d, %d, %d) lies outside any world", at.x, at.y, at.z);
    if (d->done > 0 && coord_compare(listed[d->done - 1], at) >= 0)
        return damaged("the brick (%d, %d, %d) is out of order", at.x, at.y, at.z);
    listed[d->done++] = at;
    note_materials(d, brick);
    return check_cells(world, view, brick);
}

// Looks at all of it.
static weir_status check_bricks(delta_bricks d, weir_coord *listed, fluid_brick *brick, uint32_t *materials)
{
    const fluid_view view = world_fluid(d.world);
    weir_status status = WEIR_OK;
    while (d.done < d.head.count && status == WEIR_OK) status = check_brick(&d, &view, listed, brick);
    *materials = d.materials;
    if (status == WEIR_OK && d.r.at != d.r.end) return damaged("%zu bytes follow its end", (size_t)(d.r.end - d.r.at));
    return status;
}

// ---- Applying --------------------------------------------------------------------------------------------------------------

static int compare_coords(const void *a, const void *b)
{
    return coord_compare(*(const weir_coord *)a, *(const weir_coord *)b);
}

// For solver_table.put: the bricks of the delta, and then, if it tells everything, all others that are wet, as dry ones.
static bool next_brick(void *source, fluid_brick *brick)
{
    delta_bricks *d = source;
    if (d->done < d->head.count) {
        d->done++;
        const bool read = get_brick(d, brick);
        assert(read);
        return read;
    }
    const fluid_view view = world_fluid(d->world);
    while (d->head.from == 0 && ++d->others < view.end) {
        if (!view.alive[d->others] || !view.wet[d->others]) continue;
        const weir_coord at = view.coord[d->others];
        if (d->head.count > 0 && bsearch(&at, d->listed, (size_t)d->head.count, sizeof at, compare_coords)) continue;
        brick->at = at;
        brick->material = WEIR_NOTHING;
        brick->flows = false;
        brick->shares = 0;
        memset(brick->drops, 0, sizeof brick->drops);
        memset(brick->materials, WEIR_NOTHING, sizeof brick->materials);
        return true;
    }
    return false;
}

static weir_status apply_bricks(delta_bricks *d, weir_coord *listed, fluid_brick *brick)
{
    weir_world *world = d->world;
    const solver_table *solver = world->solver;
    uint32_t materials;
    weir_status status = check_bricks(*d, listed, brick, &materials);
    if (status != WEIR_OK) return status;
    d->listed = listed;
    world->change++;
    status = solver->put_prepare(world->state, listed, d->head.count);
    if (status == WEIR_OK && solver->materials_prepare)
        status = solver->materials_prepare(world->state, materials & ~(UINT32_C(1) << WEIR_NOTHING));
    if (status != WEIR_OK) return status;
    solver->put(world->state, next_brick, d, brick);
    world->delta_mark = d->head.to;
    world_check_change(world);
    return WEIR_OK;
}

static weir_status apply_payload(weir_world *world, const uint8_t *payload, size_t size, bool flow)
{
    delta_bricks d = {.world = world, .r = {payload, payload + size, false}, .head = {.flow = flow}, .material = WEIR_WATER};
    weir_status status = get_head(&d.r, world, &d.head);
    if (status != WEIR_OK) return status;
    const size_t bytes = ((size_t)d.head.count + 1) * sizeof(weir_coord);
    weir_coord *listed = memory_alloc(&world->mem, bytes);
    fluid_brick *brick = listed ? memory_alloc(&world->mem, sizeof *brick) : NULL;
    status = brick ? apply_bricks(&d, listed, brick)
                   : status_fail(WEIR_ERROR_MEMORY, "memory ran out for a delta of %d bricks", d.head.count);
    memory_free(&world->mem, brick, sizeof *brick);
    memory_free(&world->mem, listed, bytes);
    return status;
}

static weir_status unpack(weir_world *world, const uint8_t *stored, size_t stored_size, uint64_t size, bool flow)
{
#ifdef WEIR_HAVE_ZSTD
    if (size / ZSTD_BLOCK_MOST > stored_size / ZSTD_BLOCK_LEAST || size == 0 ||
        ZSTD_getFrameContentSize(stored, stored_size) != size)
        return damaged("%llu bytes cannot come out of %zu", (unsigned long long)size, stored_size);
    uint8_t *payload = memory_alloc(&world->mem, (size_t)size);
    if (!payload) return status_fail(WEIR_ERROR_MEMORY, "no memory for the %llu bytes of a delta", (unsigned long long)size);
    const size_t got = ZSTD_decompress(payload, (size_t)size, stored, stored_size);
    const weir_status status =
        got == size ? apply_payload(world, payload, (size_t)size, flow) : damaged("it cannot be unpacked");
    memory_free(&world->mem, payload, (size_t)size);
    return status;
#else
    (void)world, (void)stored, (void)stored_size, (void)size, (void)flow;
    return status_fail(
        WEIR_ERROR_UNSUPPORTED,
        "the delta is packed, and this build of Weir has no zstd (Debian: libzstd-dev); WEIR_PLAIN_SNAPSHOTS=1 in the "
        "surroundings of the server makes plain ones");
#endif
}

weir_status weir_world_apply_delta(weir_world *world, const void *bytes, size_t size)
{
    assert(bytes || size == 0);
    const uint8_t *from = bytes;
    if (world->busy) return status_fail(WEIR_ERROR_BUSY, "a delta cannot be applied while a background step runs");
    if (world->lost[0]) return world_lost(world);
    if (!world->solver->put)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s takes no fluid from another", world->solver->name);
    if (size < DELTA_HEADER_BYTES || memcmp(from, DELTA_MAGIC, 4) != 0) return damaged("this is none");
    if (from[4] != DELTA_VERSION)
        return status_fail(WEIR_ERROR_VERSION, "the delta has version %d; Weir %s reads version %d", from[4], weir_version(),
                           DELTA_VERSION);
    const uint8_t flags = from[5];
    if (flags & ~(DELTA_PACKED | DELTA_FLOW)) return damaged("flags 0x%x are not known", flags);
    delta_reader r = {from + DELTA_HEADER_BYTES, from + size, false};
    const uint64_t payload = get_number(&r);
    if (r.wrong) return ends_early();
    const size_t number = (size_t)(r.at - from) - DELTA_HEADER_BYTES, stored = (size_t)(r.end - r.at);
    const uint64_t check = hash_bytes(r.at, stored, hash_bytes(from + DELTA_HEADER_BYTES, number, flags));
    for (int32_t i = 0; i < 4; i++)
        if (from[6 + i] != (uint8_t)(check >> 8 * i)) return damaged("its checksum is wrong: it was damaged on its way");
    if (flags & DELTA_PACKED) return unpack(world, r.at, stored, payload, flags & DELTA_FLOW);
    if (payload != stored) return damaged("it has %zu bytes and claims %llu", stored, (unsigned long long)payload);
    return apply_payload(world, r.at, stored, flags & DELTA_FLOW);
}

int64_t weir_world_delta_mark(const weir_world *world)
{
    return world->delta_mark;
}
