// Writing deltas (delta.h). They are made of what queries read, also while a background step runs; all memory is given back at the end.
#include "base/hash.h"
#include "world/delta.h"
#include "world/solver.h"

#include <assert.h>
#include <stdlib.h>

#ifdef WEIR_HAVE_ZSTD
#include <zstd.h>
#endif

enum { PACK_LEAST = 64, ZSTD_LEVEL = 3, NUMBER_BYTES = 10 };

// ---- Bytes -----------------------------------------------------------------------------------------------------------------

typedef struct delta_bytes {
    memory *mem;
    uint8_t *at;
    size_t size, room;
    bool failed;  // there was no memory
} delta_bytes;

static bool make_room(delta_bytes *to, size_t more)
{
    if (to->room - to->size >= more) return true;
    const size_t room = 2 * (to->size + more) + 256;
    uint8_t *grown = to->failed ? NULL : memory_resize(to->mem, to->at, to->room, room);
    to->failed = !grown;
    if (to->failed) return false;
    to->at = grown;
    to->room = room;
    return true;
}

static void put_byte(delta_bytes *to, uint8_t value)
{
    if (make_room(to, 1)) to->at[to->size++] = value;
}

static void put_number(delta_bytes *to, uint64_t value)
{
    if (!make_room(to, NUMBER_BYTES)) return;
    for (; value >= 0x80; value >>= 7) to->at[to->size++] = (uint8_t)(value | 0x80);
    to->at[to->size++] = (uint8_t)value;
}

static void free_bytes(delta_bytes *b)
{
    memory_free(b->mem, b->at, b->room);
}

// ---- Cells -----------------------------------------------------------------------------------------------------------------

static void put_run(delta_bytes *to, delta_run kind, int32_t length)
{
    const int32_t code = length - 1;
    put_byte(to, (uint8_t)((int32_t)kind | (code < DELTA_RUN_LONG ? code : DELTA_RUN_LONG) << 2));
    if (code >= DELTA_RUN_LONG) put_number(to, (uint64_t)(code - DELTA_RUN_LONG));
}

// How many values from a place on are the same.
static int32_t same_from(const uint32_t values[BRICK_CELLS], int32_t at)
{
    int32_t end = at + 1;
    while (end < BRICK_CELLS && values[end] == values[at]) end++;
    return end - at;
}

// Values in the order of a delta; `full` is the one that full cells have.
static void put_values(delta_bytes *to, const uint32_t values[BRICK_CELLS], uint32_t full)
{
    enum { SAME_LEAST = 3 };
    for (int32_t at = 0; at < BRICK_CELLS;) {
        int32_t length = same_from(values, at);
        if (values[at] == 0 || values[at] == full) {
            put_run(to, values[at] == 0 ? DELTA_EMPTY : DELTA_FULL, length);
        } else if (length >= SAME_LEAST) {
            put_run(to, DELTA_SAME, length);
            put_number(to, values[at]);
        } else {
            int32_t end = at + length;
            for (int32_t next; end < BRICK_CELLS && values[end] != 0 && values[end] != full; end += next)
                if ((next = same_from(values, end)) >= SAME_LEAST) break;
            length = end - at;
            put_run(to, DELTA_EACH, length);
            for (int32_t i = at; i < end; i++) put_number(to, values[i]);
        }
        at += length;
    }
}

// Drops of the cells, in units. False if there are none.
static bool read_units(const fluid_view *view, int32_t brick, int32_t unit, uint32_t units[BRICK_CELLS])
{
    int32_t room[BRICK_CELLS];
    const int32_t *drops = fluid_drops(view, brick, room);
    uint32_t any = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) any |= units[i] = (uint32_t)(drops[delta_cell(i)] / unit);
    return any != 0;
}

// Flow through low faces, in steps. False if there is none.
static bool read_steps(const fluid_view *view, int32_t brick, int32_t axis, uint32_t steps[BRICK_CELLS])
{
    float room[BRICK_CELLS];
    const float *flow = fluid_values(view, (fluid_part)(FLUID_FLOW_X + axis), brick, 0, BRICK_CELLS, room);
    uint32_t any = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        const float fine = flow[delta_cell(i)] * view->speed * DELTA_FLOW_STEPS;
        int32_t whole = (int32_t)(fine < 0 ? fine - 0.5f : fine + 0.5f);
        whole = whole > DELTA_FLOW_MOST ? DELTA_FLOW_MOST : whole < -DELTA_FLOW_MOST ? -DELTA_FLOW_MOST : whole;
        any |= steps[i] = (uint32_t)delta_folded(whole);
    }
    return any != 0;
}

// ---- Bricks ----------------------------------------------------------------------------------------------------------------

typedef struct listed_brick {
    weir_coord at;
    int32_t brick;  // the nothing: it is gone
} listed_brick;

typedef struct brick_list {
    memory *mem;
    listed_brick *items;
    int32_t count;
} brick_list;

static int compare_listed(const void *a, const void *b)
{
    return coord_compare(((const listed_brick *)a)->at, ((const listed_brick *)b)->at);
}

static bool has_changed(const fluid_view *view, int32_t brick, int64_t from, bool flow)
{
    static const uint8_t before[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
    if (!view->alive[brick]) return false;
    bool changed = view->changed[brick] > from;
    // Low faces of a dry brick are the upper ones of that before it.
    for (int32_t axis = 0; axis < 3 && flow && !view->wet[brick]; axis++) {
        const int32_t there = view->near[brick][before[axis]];
        changed |= there != BRICK_NOTHING && view->changed[there] > from;
    }
    return changed;
}

// Writes what changed since a mark, or only counts it.
static int32_t list_changed(const fluid_view *view, int64_t from, bool flow, listed_brick *items)
{
    int32_t count = 0;
    for (int32_t b = 1; b < view->end; b++) {
        if (!has_changed(view, b, from, flow)) continue;
        if (items) items[count] = (listed_brick){view->coord[b], b};
        count++;
    }
    for (int32_t i = 1; i < view->gone_end && from != 0; i++) {
        if (view->gone_change[i] <= from) continue;
        if (items) items[count] = (listed_brick){view->gone[i], BRICK_NOTHING};
        count++;
    }
    return count;
}

static bool list_bricks(const fluid_view *view, int64_t from, bool flow, brick_list *list)
{
    list->count = list_changed(view, from, flow, NULL);
    if (list->count == 0) return true;
    list->items = memory_alloc(list->mem, (size_t)list->count * sizeof *list->items);
    if (!list->items) return false;
    list_changed(view, from, flow, list->items);
    qsort(list->items, (size_t)list->count, sizeof *list->items, compare_listed);
    return true;
}

static void free_list(brick_list *list)
{
    memory_free(list->mem, list->items, (size_t)list->count * sizeof *list->items);
}

// Fetches what a device has of them, many at a time.
static void fetch_listed(const fluid_view *view, const brick_list *list)
{
    enum { BATCH = 256 };
    int32_t bricks[BATCH], count = 0;
    for (int32_t i = 0; i < list->count && view->fetch; i++) {
        if (list->items[i].brick != BRICK_NOTHING) bricks[count++] = list->items[i].brick;
        if (count < BATCH && i < list->count - 1) continue;
        fluid_fetch(view, bricks, count);
        count = 0;
    }
}

// The materials of a brick that is wet, in the order of a delta, 0 in dry cells. Returns the material, or WEIR_NOTHING if there are several.
static weir_material read_materials(const fluid_view *view, int32_t brick, const uint32_t units[BRICK_CELLS],
                                    uint32_t materials[BRICK_CELLS])
{
    uint8_t of_cells[BRICK_CELLS];
    weir_material all = WEIR_NOTHING;
    bool several = false;
    fluid_materials(view, brick, 0, BRICK_CELLS, of_cells);
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        materials[i] = units[i] > 0 ? of_cells[delta_cell(i)] : WEIR_NOTHING;
        if (materials[i] == WEIR_NOTHING) continue;
        several |= all != WEIR_NOTHING && all != (weir_material)materials[i];
        all = (weir_material)materials[i];
    }
    return several ? WEIR_NOTHING : all;
}

// All that the cells of a brick hold, and how warm they are.
static void put_shares(delta_bytes *to, const fluid_view *view, int32_t brick, int32_t unit, int32_t material_count)
{
    uint32_t values[FLUID_SHARES][BRICK_CELLS];
    weir_material of[FLUID_SHARES];
    int32_t count = 0, room[BRICK_CELLS];
    for (weir_material m = 1; m < material_count; m++) {
        uint32_t any = 0;
        fluid_amounts(view, brick, m, 0, BRICK_CELLS, room);
        for (int32_t i = 0; i < BRICK_CELLS; i++) any |= values[count][i] = (uint32_t)(room[delta_cell(i)] / unit);
        if (any) of[count++] = m;
    }
    put_number(to, (uint64_t)count);
    for (int32_t i = 0; i < count; i++) {
        put_number(to, (uint64_t)of[i]);
        put_values(to, values[i], (uint32_t)(WEIR_FULL / unit));
    }
    view->read_heat(view, brick, room);
    for (int32_t i = 0; i < BRICK_CELLS; i++) values[0][i] = (uint32_t)room[delta_cell(i)];
    put_values(to, values[0], 0);
}

static void put_brick(delta_bytes *to, const fluid_view *view, const listed_brick *item, const weir_coord *last, int32_t unit,
                      int32_t material_count, bool flow, weir_material *material)
{
    uint32_t units[BRICK_CELLS], materials[BRICK_CELLS], steps[3][BRICK_CELLS];
    const weir_coord at = item->at;
    const bool there = item->brick != BRICK_NOTHING, wet = there && read_units(view, item->brick, unit, units);
    bool flows = false;  // also of one that is dry: its low faces may be those of wet cells
    for (int32_t axis = 0; axis < 3 && there && flow; axis++) flows |= read_steps(view, item->brick, axis, steps[axis]);

    const bool shared = wet && view->read_amounts && view->read_heat;
    const weir_material all = wet && !shared ? read_materials(view, item->brick, units, materials) : WEIR_NOTHING;
    const bool next = at.z == last->z && at.y == last->y && at.x == last->x + 1, mixed = wet && !shared && all == WEIR_NOTHING,
               told = wet && !shared && !mixed && all != *material;
    put_byte(to, (uint8_t)((next ? DELTA_NEXT : 0) | (wet ? 0 : DELTA_DRY) | (told ? DELTA_MATERIAL : 0) |
                           (flows ? 0 : DELTA_STILL) | (mixed ? DELTA_MIXED : 0) | (shared ? DELTA_SHARED : 0)));
    if (!next) {
        put_number(to, delta_folded((int64_t)at.x - last->x));
        put_number(to, delta_folded((int64_t)at.y - last->y));
        put_number(to, delta_folded((int64_t)at.z - last->z));
    }
    if (told) put_number(to, (uint64_t)(*material = all));
    if (shared) put_shares(to, view, item->brick, unit, material_count);
    if (wet && !shared) put_values(to, units, (uint32_t)(WEIR_FULL / unit));
    if (mixed) put_values(to, materials, 0);
    for (int32_t axis = 0; axis < 3 && flows; axis++) put_values(to, steps[axis], 0);
}

static void put_materials(delta_bytes *to, const weir_world *world)
{
    put_number(to, (uint64_t)(world->material_count - WEIR_MATERIALS_BUILT_IN));
    for (int32_t i = WEIR_MATERIALS_BUILT_IN; i < world->material_count; i++) {
        const size_t length = strlen(world->materials[i].name);
        put_number(to, (uint64_t)length);
        for (size_t k = 0; k < length; k++) put_byte(to, (uint8_t)world->materials[i].name[k]);
    }
}

static void put_payload(delta_bytes *to, const weir_world *world, const fluid_view *view, const brick_list *list, int64_t from,
                        int64_t mark, bool flow)
{
    weir_coord last = {0, 0, 0};
    weir_material material = WEIR_WATER;
    put_number(to, (uint64_t)from);
    put_number(to, (uint64_t)mark);
    put_number(to, (uint64_t)(world->busy ? world->frozen.update : world->update));
    put_number(to, (uint64_t)__builtin_ctz((unsigned)world->solver->unit));
    put_materials(to, world);
    put_number(to, (uint64_t)list->count);
    for (int32_t i = 0; i < list->count; i++) {
        put_brick(to, view, &list->items[i], &last, world->solver->unit, world->material_count, flow, &material);
        last = list->items[i].at;
    }
}

// ---- The whole -------------------------------------------------------------------------------------------------------------

// The payload as it is stored: packed where that makes it smaller.
static bool pack(const delta_bytes *payload, delta_bytes *stored)
{
#ifdef WEIR_HAVE_ZSTD
    const char *plain = getenv("WEIR_PLAIN_SNAPSHOTS");
    if (payload->size < PACK_LEAST || (plain && strcmp(plain, "1") == 0)) return false;
    if (!make_room(stored, payload->size)) return false;
    const size_t size = ZSTD_compress(stored->at, payload->size, payload->at, payload->size, ZSTD_LEVEL);
    stored->size = ZSTD_isError(size) ? 0 : size;
    return stored->size > 0 && stored->size < payload->size;
#else
    (void)payload, (void)stored;
    return false;
#endif
}

// The beginning of a delta; returns its length.
static size_t put_header(uint8_t header[DELTA_HEADER_BYTES + NUMBER_BYTES], uint8_t flags, size_t size,
                         const delta_bytes *stored)
{
    uint8_t number[NUMBER_BYTES];
    size_t length = 0;
    for (; size >= 0x80; size >>= 7) number[length++] = (uint8_t)(size | 0x80);
    number[length++] = (uint8_t)size;
    const uint64_t check = hash_bytes(stored->at, stored->size, hash_bytes(number, length, flags));
    memcpy(header, DELTA_MAGIC, 4);
    header[4] = DELTA_VERSION;
    header[5] = flags;
    for (int32_t i = 0; i < 4; i++) header[6 + i] = (uint8_t)(check >> 8 * i);
    memcpy(header + DELTA_HEADER_BYTES, number, length);
    return DELTA_HEADER_BYTES + length;
}

static weir_status give(const delta_bytes *payload, const delta_bytes *packed, bool is_packed, uint8_t flags, void *bytes,
                        size_t room, size_t *size)
{
    uint8_t header[DELTA_HEADER_BYTES + NUMBER_BYTES];
    const delta_bytes *stored = is_packed ? packed : payload;
    const size_t length = put_header(header, (uint8_t)(flags | (is_packed ? DELTA_PACKED : 0)), payload->size, stored);
    *size = length + stored->size;
    if (!bytes) return WEIR_OK;
    if (*size > room) return status_fail(WEIR_ERROR_LIMIT, "the delta has %zu bytes, and there is room for %zu", *size, room);
    memcpy(bytes, header, length);
    memcpy((uint8_t *)bytes + length, stored->at, stored->size);
    return WEIR_OK;
}

weir_status weir_world_delta(const weir_world *world, int64_t *mark, uint32_t parts, void *bytes, size_t room, size_t *size)
{
    assert(mark && *mark >= 0 && size && (bytes || room == 0));
    *size = 0;
    if (parts & ~(uint32_t)WEIR_DELTA_FLOW)
        return status_fail(WEIR_ERROR_ARGUMENT, "a delta has no parts 0x%x; the one that can be added is WEIR_DELTA_FLOW",
                           parts);
    if (!world->solver->put)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "a world of %s cannot be told by deltas", world->solver->name);
    fluid_view view = world_fluid(world);
    // All is told again where it is not known any more what is gone.
    const int64_t from = *mark < view.gone_forgotten ? 0 : *mark;
    const int64_t to = world->busy ? world->frozen.change : world->change;
    if (from > to)
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "the mark is %lld, and this world's last change was %lld: it is another world's", (long long)from,
                           (long long)to);

    // While a background step runs the world's memory is the step's.
    memory mem = world->busy ? memory_make((weir_allocator){0}) : world->mem;
    brick_list list = {.mem = &mem};
    delta_bytes payload = {.mem = &mem}, packed = {.mem = &mem};
    const bool flow = parts & WEIR_DELTA_FLOW && view.speed > 0;
    bool enough = list_bricks(&view, from, flow, &list);
    if (enough) fetch_listed(&view, &list);
    const bool lost = !world_check_query(world);
    if (enough && !lost) put_payload(&payload, world, &view, &list, from, to, flow);
    enough &= !payload.failed;
    weir_status status = WEIR_OK;
    if (lost)
        status = world_lost(world);
    else if (!enough)
        status = status_fail(WEIR_ERROR_MEMORY, "memory ran out for a delta of %d bricks", list.count);
    else
        status = give(&payload, &packed, pack(&payload, &packed), flow ? DELTA_FLOW : 0, bytes, room, size);
    if (status == WEIR_OK && bytes) *mark = to;
    free_list(&list);
    free_bytes(&payload);
    free_bytes(&packed);
    return status;
}
