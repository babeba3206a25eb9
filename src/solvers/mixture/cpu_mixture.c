// An update of the mixture automaton on the CPU: which tiles are worked on, how their cells are fetched and put back, and what is booked.
//
// A brick is calm when nothing in it changed for a whole cycle of updates: in each of both parities, in each of both orders of the sides. A
// tile whose bricks are all calm would come out as it is, since what it does depends on its cells and on where in the cycle the update is,
// and so it is passed over. Calm is kept where other solvers keep how bricks sleep, and is no part of the state: nothing but cost depends
// on it.
#include "base/hash.h"
#include "solvers/mixture/mixture.h"

#include <string.h>

enum { BRICK_GRAIN = 4 };

// ---- Room --------------------------------------------------------------------------------------------------------------------

weir_status mixture_reserve_tables(mixture *s)
{
    memory *mem = &s->cells.world->mem;
    const int32_t room = s->cells.pool.capacity, old = s->brick_room;
    if (room <= old) return WEIR_OK;
    uint8_t *touched = memory_alloc_zero(mem, 8 * (size_t)room);
    uint32_t *holds = touched ? memory_alloc_zero(mem, (size_t)room * sizeof *holds) : NULL;
    const size_t hardened_bytes = BRICK_CELLS * sizeof *s->hardened;
    uint16_t *hardened = holds && s->hardened ? memory_alloc_zero(mem, hardened_bytes * (size_t)room) : NULL;
    if (!holds || (s->hardened && !hardened)) {
        memory_free(mem, holds, (size_t)room * sizeof *holds);
        memory_free(mem, touched, 8 * (size_t)room);
        return status_fail(WEIR_ERROR_MEMORY, "no memory to keep what %d bricks hold", room);
    }
    if (old > 0) memcpy(holds, s->holds, (size_t)old * sizeof *holds);
    memory_free(mem, s->touched, 8 * (size_t)old);
    memory_free(mem, s->holds, (size_t)old * sizeof *s->holds);
    if (s->hardened) memory_free(mem, s->hardened, hardened_bytes * (size_t)old);
    s->hardened = hardened;
    s->touched = touched;
    s->holds = holds;
    s->brick_room = room;
    return WEIR_OK;
}

// Room for what becomes terrain.
static weir_status reserve_hardened(mixture *s)
{
    const brick_pool *pool = &s->cells.pool;
    if (s->order.hardens && !s->hardened) {
        s->hardened = memory_alloc_zero(&s->cells.world->mem, BRICK_CELLS * sizeof *s->hardened * (size_t)s->brick_room);
        if (!s->hardened) return status_fail(WEIR_ERROR_MEMORY, "no memory for what becomes terrain in %d bricks", pool->live);
    }
    return world_forming_reserve(s->cells.world, s->order.hardens ? pool->live : 0);
}

weir_status mixture_reserve(void *state)
{
    mixture *s = state;
    const weir_world *world = s->cells.world;
    weir_status status = mixture_know_products(s);
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK; i++)
        if (world->sources[i].kind == SOURCE_EMITTER || world->sources[i].kind == SOURCE_RESERVOIR)
            status = mixture_know(s, UINT32_C(1) << world->sources[i].material);
    if (status == WEIR_OK) status = cells_reserve(state);
    if (status == WEIR_OK) status = mixture_reserve_tables(s);
    return status == WEIR_OK ? reserve_hardened(s) : status;
}

// ---- Who is awake --------------------------------------------------------------------------------------------------------------

void mixture_wake_all(mixture *s)
{
    for (int32_t b = 1; b < s->cells.pool.end; b++) s->cells.pool.rest[b].calm = 0;
}

// What else a tile depends on: heaters, and the parameters.
bool mixture_wake_for_surroundings(mixture *s)
{
    const weir_world *world = s->cells.world;
    uint64_t digest = 0;
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *source = &world->sources[i];
        if (source->kind != SOURCE_HEATER) continue;
        digest = hash_bytes(&source->box, sizeof source->box, digest);
        digest = hash_bytes(&source->level, sizeof source->level, digest);
    }
    const bool same = s->film == world->params.mixture.film && s->pressure == world->params.mixture.pressure;
    if (digest == s->heater_digest && same) return false;
    s->heater_digest = digest;
    s->film = world->params.mixture.film;
    s->pressure = world->params.mixture.pressure;
    mixture_wake_all(s);
    return true;
}

// ---- Fetching a tile -----------------------------------------------------------------------------------------------------------

// The eight bricks in which a tile lies: 1, 2 and 4 for those at the upper side of x, y and z. In even updates all are the same one.
typedef struct tile_place {
    weir_coord low;  // its lowest cell
    int32_t odd;
    int32_t brick[8];
} tile_place;

// A row of a tile along x: its lower cell lies in one brick, the others in the next one in odd updates.
typedef struct tile_row {
    int32_t low, high;  // of the eight bricks
    int32_t cell;       // the first of the row in its brick
    int32_t part, lane;
} tile_row;

static tile_row row_at(const tile_place *place, int32_t y, int32_t z)
{
    const int32_t odd = place->odd, of_y = y >= odd ? 2 : 0, of_z = z >= odd ? 4 : 0;
    return (tile_row){.low = of_y + of_z + (odd ? 0 : 1),
                      .high = of_y + of_z + 1,
                      .cell = 8 * ((y - odd) & 7) + 64 * ((z - odd) & 7),
                      .part = 2 * (y & 1) + 4 * (z & 1),
                      .lane = 4 * (y >> 1) + 16 * (z >> 1)};
}

static void fetch_amounts(const brick_pool *pool, const tile_place *place, int32_t channel,
                          int32_t parts[TILE_PARTS][TILE_LANES])
{
    const uint16_t *of[8];
    for (int32_t i = 0; i < 8; i++) of[i] = bricks_values(pool, channel, place->brick[i]);
    for (int32_t z = 0; z < 8; z++) {
        for (int32_t y = 0; y < 8; y++) {
            const tile_row r = row_at(place, y, z);
            int32_t *even = parts[r.part] + r.lane, *odd = parts[r.part + 1] + r.lane;
            const uint16_t *from = of[r.high] + r.cell;
            if (!place->odd) {
                for (int32_t x = 0; x < 4; x++) even[x] = from[2 * x], odd[x] = from[2 * x + 1];
            } else {
                even[0] = of[r.low][r.cell + 7];
                for (int32_t x = 0; x < 4; x++) odd[x] = from[2 * x];
                for (int32_t x = 1; x < 4; x++) even[x] = from[2 * x - 1];
            }
        }
    }
}

static void fetch_heat(const brick_pool *pool, const tile_place *place, int32_t parts[TILE_PARTS][TILE_LANES])
{
    const int32_t *of[8];
    for (int32_t i = 0; i < 8; i++) of[i] = bricks_ints(pool, MIXTURE_HEAT, place->brick[i]);
    for (int32_t z = 0; z < 8; z++) {
        for (int32_t y = 0; y < 8; y++) {
            const tile_row r = row_at(place, y, z);
            int32_t *even = parts[r.part] + r.lane, *odd = parts[r.part + 1] + r.lane;
            const int32_t *from = of[r.high] + r.cell;
            if (!place->odd) {
                for (int32_t x = 0; x < 4; x++) even[x] = from[2 * x], odd[x] = from[2 * x + 1];
            } else {
                even[0] = of[r.low][r.cell + 7];
                for (int32_t x = 0; x < 4; x++) odd[x] = from[2 * x];
                for (int32_t x = 1; x < 4; x++) even[x] = from[2 * x - 1];
            }
        }
    }
}

static void fetch_open(const brick_pool *pool, const tile_place *place, mixture_tile *t)
{
    bool full = true;
    for (int32_t i = 0; i < 8; i++) full = full && mask_full(&pool->open[place->brick[i]]);
    t->passes = full;
    if (full) {
        memset(t->open, 0xff, sizeof t->open);
        return;
    }
    for (int32_t z = 0; z < 8; z++) {
        for (int32_t y = 0; y < 8; y++) {
            const tile_row r = row_at(place, y, z);
            int32_t *even = t->open[r.part] + r.lane, *odd = t->open[r.part + 1] + r.lane;
            const uint64_t low = pool->open[place->brick[r.low]].plane[r.cell >> 6] >> (r.cell & 63) & 0xff;
            const uint64_t high = pool->open[place->brick[r.high]].plane[r.cell >> 6] >> (r.cell & 63) & 0xff;
            const uint64_t bits = place->odd ? low >> 7 | high << 1 : high;
            for (int32_t x = 0; x < 4; x++)
                even[x] = -(int32_t)(bits >> 2 * x & 1), odd[x] = -(int32_t)(bits >> (2 * x + 1) & 1);
        }
    }
}

// The temperatures at which terrain is held, where the last heater has its way.
static void fetch_walls(const weir_world *world, const tile_place *place, mixture_tile *t)
{
    t->walls = false;
    if (t->passes) return;
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *source = &world->sources[i];
        const weir_box b = source->box;
        const weir_coord low = place->low;
        if (source->kind != SOURCE_HEATER || b.max.x <= low.x || b.max.y <= low.y || b.max.z <= low.z || b.min.x >= low.x + 8 ||
            b.min.y >= low.y + 8 || b.min.z >= low.z + 8)
            continue;
        if (!t->walls) memset(t->wall, 0, sizeof t->wall);
        t->walls = true;
        for (int32_t z = region_clamp(b.min.z - low.z, 0, 8); z < region_clamp(b.max.z - low.z, 0, 8); z++)
            for (int32_t y = region_clamp(b.min.y - low.y, 0, 8); y < region_clamp(b.max.y - low.y, 0, 8); y++)
                for (int32_t x = region_clamp(b.min.x - low.x, 0, 8); x < region_clamp(b.max.x - low.x, 0, 8); x++)
                    t->wall[(x & 1) + 2 * (y & 1) + 4 * (z & 1)][(x >> 1) + 4 * (y >> 1) + 16 * (z >> 1)] =
                        (int32_t)source->level;
    }
}

// ---- Putting it back -----------------------------------------------------------------------------------------------------------

// Puts a row back into its brick, where there is one; true if that changes anything.
#define PUT_ROW(type, channel_of)                                                                                \
    for (int32_t z = 0; z < 8; z++) {                                                                            \
        for (int32_t y = 0; y < 8; y++) {                                                                        \
            const tile_row r = row_at(place, y, z);                                                              \
            const int32_t *even = parts[r.part] + r.lane, *odd = parts[r.part + 1] + r.lane;                     \
            type *low = channel_of[r.low] + r.cell, *high = channel_of[r.high] + r.cell;                         \
            if (!place->odd) {                                                                                   \
                int32_t differs = 0;                                                                             \
                for (int32_t x = 0; x < 4; x++) differs |= (high[2 * x] ^ even[x]) | (high[2 * x + 1] ^ odd[x]); \
                if (!differs) continue;                                                                          \
                for (int32_t x = 0; x < 4; x++) high[2 * x] = (type)even[x], high[2 * x + 1] = (type)odd[x];     \
                changed[r.high] = 1;                                                                             \
            } else {                                                                                             \
                int32_t differs = 0;                                                                             \
                for (int32_t x = 0; x < 4; x++) differs |= high[2 * x] ^ odd[x];                                 \
                for (int32_t x = 1; x < 4; x++) differs |= high[2 * x - 1] ^ even[x];                            \
                if (low[7] != even[0]) low[7] = (type)even[0], changed[r.low] = 1;                               \
                if (!differs) continue;                                                                          \
                for (int32_t x = 0; x < 4; x++) high[2 * x] = (type)odd[x];                                      \
                for (int32_t x = 1; x < 4; x++) high[2 * x - 1] = (type)even[x];                                 \
                changed[r.high] = 1;                                                                             \
            }                                                                                                    \
        }                                                                                                        \
    }

static void put_amounts(const brick_pool *pool, const tile_place *place, int32_t channel, int32_t parts[TILE_PARTS][TILE_LANES],
                        uint8_t changed[8])
{
    uint16_t *of[8];
    for (int32_t i = 0; i < 8; i++) of[i] = bricks_values(pool, channel, place->brick[i]);
    PUT_ROW(uint16_t, of)
}

static void put_heat(const brick_pool *pool, const tile_place *place, int32_t parts[TILE_PARTS][TILE_LANES], uint8_t changed[8])
{
    int32_t *of[8];
    for (int32_t i = 0; i < 8; i++) of[i] = bricks_ints(pool, MIXTURE_HEAT, place->brick[i]);
    PUT_ROW(int32_t, of)
}

// ---- A tile ------------------------------------------------------------------------------------------------------------------

static void book(const mixture_tile *t, mixture_books *books)
{
    books->warmed += t->warmed;
    books->cooled += t->cooled;
    for (int32_t i = 0; i < t->order.changes; i++) {
        const mixture_change *c = &t->order.change[i];
        books->turned[t->order.fluid[c->cold].material] += t->turned[i] * MIXTURE_UNIT;
        books->turned[t->order.fluid[c->hot].material] -= t->turned[i] * MIXTURE_UNIT;
        books->turned_heat += t->turned[i] * c->turned;
    }
    for (int32_t i = 0; i < t->order.reactions; i++) {
        const mixture_reaction *r = &t->order.reaction[i];
        const int64_t drops = t->reacted[i] * MIXTURE_UNIT;
        books->turned[t->order.fluid[r->first].material] += drops;
        books->turned[t->order.fluid[r->second].material] += drops;
        if (r->first_to >= 0) books->turned[t->order.fluid[r->first_to].material] -= drops;
        if (r->second_to >= 0) books->turned[t->order.fluid[r->second_to].material] -= drops;
    }
    books->turned_heat += t->taken;
}

// What materials of a tile may turn into in this update, of which there is none so far. Nothing gets hotter than the hottest cell and
// colder than the coldest one but by what is left over when whole temperatures are shared, a unit for each of a few moves.
static void add_products(const mixture *s, uint32_t materials, mixture_tile *t)
{
    int32_t low, high;
    s->kernels->range(t, &low, &high);
    if (t->walls) low = 0, high = 4 * WEIR_TEMPERATURE_MAX;
    const uint32_t all = mixture_reach(&s->order, materials, low, high, MIXTURE_MARGIN);
    const mixture_order had = t->order;
    if (all == materials) return;
    mixture_choose(&s->order, all, &t->order);
    int32_t from = had.count;
    for (int32_t f = t->order.count - 1; f >= 0; f--) {
        const bool there = from > 0 && had.fluid[from - 1].material == t->order.fluid[f].material;
        if (there)
            memmove(t->amount[f], t->amount[--from], sizeof t->amount[f]);
        else
            memset(t->amount[f], 0, sizeof t->amount[f]);
    }
}

// Each cell is in one tile of an update.
static void note_hardened(mixture *s, const mixture_tile *t, const tile_place *place)
{
    for (int32_t part = 0; part < TILE_PARTS; part++) {
        for (int32_t lane = 0; lane < TILE_LANES; lane++) {
            const int32_t units = t->hardened[part][lane], odd = place->odd;
            if (units == 0) continue;
            const int32_t x = 2 * (lane & 3) + (part & 1), y = 2 * (lane >> 2 & 3) + (part >> 1 & 1),
                          z = 2 * (lane >> 4) + (part >> 2);
            const int32_t of = odd ? (x > 0) + 2 * (y > 0) + 4 * (z > 0) : 0;
            const int32_t cell = ((x - odd) & 7) + 8 * ((y - odd) & 7) + 64 * ((z - odd) & 7);
            s->hardened[BRICK_CELLS * (size_t)place->brick[of] + (size_t)cell] = (uint16_t)units;
        }
    }
}

static void work_on(mixture *s, mixture_worker *w, const tile_place *place)
{
    const brick_pool *pool = &s->cells.pool;
    const weir_world *world = s->cells.world;
    mixture_tile *t = &w->tile;
    uint32_t materials = 0;
    bool calm = true;
    for (int32_t i = 0; i < 8; i++) {
        const int32_t b = place->brick[i];
        if (pool->wet[b]) materials |= s->holds[b];
        calm = calm && (b == BRICK_NOTHING || pool->rest[b].calm >= MIXTURE_CALM);
    }
    if (materials == 0 || calm) return;
    t->film = s->film;
    t->pressure = s->pressure;
    t->z_first = ((world->update >> 1 ^ world->update) & 1) != 0;
    t->warmed = t->cooled = t->taken = 0;
    memset(t->turned, 0, sizeof t->turned);
    fetch_open(pool, place, t);
    fetch_walls(world, place, t);
    fetch_heat(pool, place, t->heat);
    mixture_choose(&s->order, materials, &t->order);
    for (int32_t f = 0; f < t->order.count; f++) fetch_amounts(pool, place, t->order.fluid[f].channel, t->amount[f]);
    if (s->order.changes + s->order.reactions > 0) add_products(s, materials, t);
    memset(t->reacted, 0, (size_t)t->order.reactions * sizeof *t->reacted);
    if (t->order.hardens) memset(t->hardened, 0, sizeof t->hardened);
    s->kernels->update(t);
    uint8_t changed[8] = {0};
    for (int32_t f = 0; f < t->order.count; f++) put_amounts(pool, place, t->order.fluid[f].channel, t->amount[f], changed);
    put_heat(pool, place, t->heat, changed);
    if (t->order.hardens) note_hardened(s, t, place);
    // A brick's parts are known to its tiles by where the tile lies from it, so no two write to one place.
    for (int32_t i = 0; i < 8; i++)
        if (changed[i]) s->touched[8 * place->brick[i] + i] = 1;
    book(t, &w->books);
}

static void work_on_brick(mixture *s, mixture_worker *w, int32_t brick)
{
    const brick_pool *pool = &s->cells.pool;
    const weir_coord at = pool->coord[brick];
    tile_place place = {.low = {8 * at.x, 8 * at.y, 8 * at.z}, .odd = (int32_t)(s->cells.world->update & 1)};
    if (!place.odd) {
        for (int32_t i = 0; i < 8; i++) place.brick[i] = brick;
        work_on(s, w, &place);
        return;
    }
    // Of the eight tiles in which it lies it works on those that have no other brick before it, from the upper end on.
    for (int32_t k = 0; k < 8; k++) {
        const int32_t x = k & 1, y = k >> 1 & 1, z = k >> 2;
        for (int32_t i = 0; i < 8; i++)
            place.brick[i] = pool->near[brick][NEAR(x - 1 + (i & 1), y - 1 + (i >> 1 & 1), z - 1 + (i >> 2))];
        int32_t first = 7;
        while (place.brick[first] == BRICK_NOTHING) first--;
        if (place.brick[first] != brick) continue;
        place.low = (weir_coord){8 * (at.x + x) - 1, 8 * (at.y + y) - 1, 8 * (at.z + z) - 1};
        work_on(s, w, &place);
    }
}

static void work_on_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    mixture *s = context;
    for (int32_t b = begin > 1 ? begin : 1; b < end; b++)
        if (s->cells.pool.alive[b]) work_on_brick(s, &s->workers[worker], b);
}

// ---- After the tiles -----------------------------------------------------------------------------------------------------------

static void look_at_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    mixture *s = context;
    brick_pool *pool = &s->cells.pool;
    for (int32_t b = begin > 1 ? begin : 1; b < end; b++) {
        uint64_t touched;
        memcpy(&touched, s->touched + 8 * b, sizeof touched);
        if (!pool->alive[b]) continue;
        if (touched == 0) {
            pool->rest[b].calm = (uint8_t)(pool->rest[b].calm + (pool->rest[b].calm < MIXTURE_CALM));
            continue;
        }
        memset(s->touched + 8 * b, 0, 8);
        pool->rest[b].calm = 0;
        cells_flags(&s->cells)[b] = s->cells.world->change;
        mixture_count(s, b);
    }
}

static void take_books(mixture *s)
{
    weir_world *world = s->cells.world;
    for (int32_t i = 0; i < s->worker_count; i++) {
        mixture_books *books = &s->workers[i].books;
        for (weir_material m = 1; m < WEIR_MATERIAL_MAX; m++) world->ledger[m].turned += books->turned[m];
        s->heat.added += books->warmed;
        s->heat.removed += books->cooled;
        s->heat.turned += books->turned_heat;
        *books = (mixture_books){.warmed = 0};
    }
}

weir_status mixture_update(void *state)
{
    mixture *s = state;
    brick_pool *pool = &s->cells.pool;
    mixture_wake_for_surroundings(s);
    s->awake = 0;
    for (int32_t b = 1; b < pool->end; b++) s->awake += pool->alive[b] && pool->rest[b].calm < MIXTURE_CALM;
    workers_run(s->cells.world->workers, work_on_bricks, s, pool->end, BRICK_GRAIN);
    workers_run(s->cells.world->workers, look_at_bricks, s, pool->end, 64);
    take_books(s);
    mixture_harden(s);
    mixture_drain_sides(s);
    cells_report_changes(&s->cells);
    const size_t hardened = s->hardened ? BRICK_CELLS * sizeof *s->hardened : 0;
    cells_count_bytes(&s->cells, (int64_t)s->brick_room * (int64_t)(8 + sizeof *s->holds + hardened));
    return WEIR_OK;
}
