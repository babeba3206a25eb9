// The state of a mixture: read, frozen, hashed, saved, loaded and looked over.
//
// In a snapshot: materials that have a channel, as bits | account of heat | bricks in coordinate order that hold something, each as its
// coordinate, 512 heats of 4 bytes, and for each of those materials, by number, 512 amounts of 2 bytes.
#include "base/broken.h"
#include "base/hash.h"
#include "solvers/mixture/mixture.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

enum { HASH_GRAIN = 32 };

// ---- Reading -----------------------------------------------------------------------------------------------------------------

static const mixture *owner_of(const fluid_view *view)
{
    return view->owner;
}

static const mixture_order *viewed_order(const fluid_view *view)
{
    return mixture_order_of(owner_of(view), cells_viewed(view));
}

static void read_temperatures(const fluid_view *view, int32_t brick, int32_t first, int32_t count, float *values)
{
    const brick_pool *pool = cells_viewed(view);
    const mixture_order *order = viewed_order(view);
    const int32_t *heat = bricks_ints(pool, MIXTURE_HEAT, brick) + first;
    for (int32_t k = 0; k < count; k++) {
        int32_t weight = 0;
        for (int32_t i = 0; i < order->count; i++)
            weight += mixture_amounts(pool, &order->fluid[i], brick)[first + k] * order->fluid[i].heat;
        values[k] = 0.25f * rule_mixture_warmth(heat[k], weight);
    }
}

static void read_part(const fluid_view *view, fluid_part part, int32_t brick, int32_t first, int32_t count, void *values)
{
    int32_t drops[BRICK_CELLS];
    if (part == FLUID_DROPS) {
        mixture_cell_store.read(view->owner, cells_viewed(view), brick, drops);
        memcpy(values, drops + first, (size_t)count * sizeof *drops);
    } else if (part == FLUID_TEMPERATURE) {
        read_temperatures(view, brick, first, count, values);
    } else {
        memset(values, 0, 4 * (size_t)count);
    }
}

static void read_heat(const fluid_view *view, int32_t brick, int32_t *heat)
{
    memcpy(heat, bricks_ints(cells_viewed(view), MIXTURE_HEAT, brick), BRICK_CELLS * sizeof *heat);
}

static void read_amounts(const fluid_view *view, int32_t brick, weir_material material, int32_t first, int32_t count,
                         int32_t *drops)
{
    const mixture_order *order = viewed_order(view);
    const int32_t place = mixture_place(order, material);
    memset(drops, 0, (size_t)count * sizeof *drops);
    if (place < 0) return;
    const uint16_t *amount = mixture_amounts(cells_viewed(view), &order->fluid[place], brick) + first;
    for (int32_t k = 0; k < count; k++) drops[k] = amount[k] * MIXTURE_UNIT;
}

// Of which there is most; of equals the lower number.
static void read_materials(const fluid_view *view, int32_t brick, int32_t first, int32_t count, uint8_t *materials)
{
    const mixture_order *order = viewed_order(view);
    uint16_t most[BRICK_CELLS] = {0};
    memset(materials, WEIR_NOTHING, (size_t)count);
    for (int32_t i = 0; i < order->count; i++) {
        const uint16_t *amount = mixture_amounts(cells_viewed(view), &order->fluid[i], brick) + first;
        const uint8_t number = (uint8_t)order->fluid[i].material;
        for (int32_t k = 0; k < count; k++) {
            if (amount[k] < most[k] || amount[k] == 0 || (amount[k] == most[k] && number > materials[k])) continue;
            most[k] = amount[k];
            materials[k] = number;
        }
    }
}

void mixture_view(const void *state, bool frozen, fluid_view *view)
{
    cells_view(state, frozen, view);
    view->read = read_part;
    view->read_materials = read_materials;
    view->read_amounts = read_amounts;
    view->read_heat = read_heat;
}

weir_status mixture_freeze(void *state)
{
    mixture *s = state;
    const weir_status status = cells_freeze(state);
    if (status != WEIR_OK) return status;
    s->frozen_order = s->order;
    s->frozen_heat = s->heat;
    return WEIR_OK;
}

void mixture_heat(const void *state, bool frozen, weir_heat_ledger *ledger)
{
    const mixture *s = state;
    const brick_pool *pool = frozen ? &s->cells.frozen : &s->cells.pool;
    const world_ledger *account = frozen ? &s->frozen_heat : &s->heat;
    *ledger = (weir_heat_ledger){.added = account->added,
                                 .removed = account->removed,
                                 .drained = account->drained,
                                 .turned = account->turned,
                                 .unloaded = account->unloaded};
    for (int32_t b = 1; b < pool->end; b++) {
        const int32_t *heat = bricks_ints(pool, MIXTURE_HEAT, b);
        for (int32_t cell = 0; cell < BRICK_CELLS && pool->alive[b]; cell++) ledger->held += heat[cell];
    }
}

// ---- Hash --------------------------------------------------------------------------------------------------------------------

// The order of materials by their numbers, whatever channels they have: the place of each, -1 past the last.
typedef struct by_number {
    int32_t place[MIXTURE_FLUIDS];
    int32_t count;
} by_number;

static by_number number_order(const mixture_order *order)
{
    by_number numbers = {.count = 0};
    for (weir_material m = 1; m < WEIR_MATERIAL_MAX; m++) {
        const int32_t place = mixture_place(order, m);
        if (place >= 0) numbers.place[numbers.count++] = place;
    }
    return numbers;
}

static uint32_t known_of(const mixture_order *order)
{
    uint32_t known = 0;
    for (int32_t i = 0; i < order->count; i++) known |= UINT32_C(1) << order->fluid[i].material;
    return known;
}

typedef struct hash_job {
    const brick_pool *pool;
    const mixture_order *order;
    by_number numbers;
    _Atomic uint64_t sum;
} hash_job;

// A brick that holds nothing has no heat either.
static uint64_t hash_brick(const hash_job *job, int32_t brick)
{
    const brick_pool *pool = job->pool;
    uint64_t digests[MIXTURE_FLUIDS + 1];
    for (int32_t i = 0; i < job->numbers.count; i++)
        digests[i] = hash_bytes(mixture_amounts(pool, &job->order->fluid[job->numbers.place[i]], brick), 2 * BRICK_CELLS, 0);
    digests[job->numbers.count] = hash_bytes(bricks_ints(pool, MIXTURE_HEAT, brick), 4 * BRICK_CELLS, 0);
    uint64_t hash = hash_bytes(&pool->coord[brick], sizeof pool->coord[brick], 0);
    hash = hash_bytes(&pool->open[brick], sizeof pool->open[brick], hash);
    return hash_bytes(digests, ((size_t)job->numbers.count + 1) * sizeof *digests, hash);
}

static void hash_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    hash_job *job = context;
    uint64_t sum = 0;
    for (int32_t b = begin; b < end; b++)
        if (job->pool->alive[b] && job->pool->wet[b]) sum += hash_brick(job, b);
    atomic_fetch_add_explicit(&job->sum, sum, memory_order_relaxed);
}

uint64_t mixture_hash(const void *state, bool frozen)
{
    const mixture *s = state;
    hash_job job = {.pool = frozen ? &s->cells.frozen : &s->cells.pool, .order = frozen ? &s->frozen_order : &s->order};
    job.numbers = number_order(job.order);
    // While a background step runs the workers are its own.
    if (frozen)
        hash_bricks(&job, 0, job.pool->end, 0);
    else
        workers_run(s->cells.world->workers, hash_bricks, &job, job.pool->end, HASH_GRAIN);
    const uint32_t known = known_of(job.order);
    return atomic_load(&job.sum) + hash_bytes(&known, sizeof known, 0);
}

// ---- Saving ------------------------------------------------------------------------------------------------------------------

static bool is_saved(const brick_pool *pool, int32_t brick, const weir_box *box)
{
    return pool->wet[brick] && (!box || region_holds(*box, pool->coord[brick]));
}

void mixture_put_bricks(const mixture *s, snapshot_writer *w, const weir_box *box, uint32_t materials)
{
    const brick_pool *pool = &s->cells.pool;
    mixture_order chosen;
    mixture_choose(&s->order, materials, &chosen);
    const by_number numbers = number_order(&chosen);
    const size_t size = (size_t)pool->live * sizeof(int32_t);
    int32_t count = 0, *bricks = snapshot_scratch(w, size);
    if (pool->live > 0 && !bricks) return;
    if (pool->live > 0) bricks_sorted(pool, bricks);
    for (int32_t i = 0; i < pool->live; i++) count += is_saved(pool, bricks[i], box);
    snapshot_put_number(w, (uint32_t)count, 4);
    for (int32_t i = 0; i < pool->live; i++) {
        if (!is_saved(pool, bricks[i], box)) continue;
        snapshot_put_coord(w, pool->coord[bricks[i]]);
        snapshot_put_values(w, bricks_ints(pool, MIXTURE_HEAT, bricks[i]), BRICK_CELLS, 4);
        for (int32_t k = 0; k < numbers.count; k++)
            snapshot_put_values(w, mixture_amounts(pool, &chosen.fluid[numbers.place[k]], bricks[i]), BRICK_CELLS, 2);
    }
    snapshot_scratch_free(w, bricks, size);
}

void mixture_save(const void *state, snapshot_writer *w)
{
    const mixture *s = state;
    snapshot_put_number(w, s->known, 4);
    snapshot_put_number(w, (uint64_t)s->heat.added, 8);
    snapshot_put_number(w, (uint64_t)s->heat.removed, 8);
    snapshot_put_number(w, (uint64_t)s->heat.drained, 8);
    snapshot_put_number(w, (uint64_t)s->heat.turned, 8);
    snapshot_put_number(w, (uint64_t)s->heat.unloaded, 8);
    mixture_put_bricks(s, w, NULL, s->known);
}

// ---- Loading -----------------------------------------------------------------------------------------------------------------

static bool account_sound(const world_ledger *heat)
{
    const int64_t most = (int64_t)1 << 61;
    const int64_t parts[5] = {heat->added, heat->removed, heat->drained, heat->turned, heat->unloaded};
    for (int32_t i = 0; i < 5; i++)
        if (parts[i] > most || parts[i] < (i >= 3 ? -most : 0)) return false;
    return true;
}

// Channels as in the world, then those of materials by number.
static weir_status make_pool(const mixture *s, int32_t count, mixture *a)
{
    uint8_t bytes[MIXTURE_CHANNELS] = {4, 2, 0};
    int32_t channel = s->cells.reported == CHANNEL_NONE ? 1 : 2;
    a->layout.count = channel;
    for (weir_material m = 1; m < WEIR_MATERIAL_MAX; m++) {
        if (!(a->known >> m & 1)) continue;
        bytes[channel] = 2;
        a->order.fluid[a->order.count++] = (mixture_fluid){.material = m, .channel = channel++};
    }
    return bricks_create(&s->cells.world->mem, count, channel, bytes, &a->cells.pool);
}

static weir_status get_brick(mixture *a, snapshot_reader *r, const terrain *t, const weir_box *box,
                             int64_t held[WEIR_MATERIAL_MAX])
{
    brick_pool *pool = &a->cells.pool;
    const weir_coord at = snapshot_get_coord(r);
    brick_mask open;
    if (!snapshot_brick_sound(at) || (box && !region_holds(*box, at)))
        return snapshot_damaged(r, "the brick (%d, %d, %d) lies outside any %s", at.x, at.y, at.z, box ? "region" : "world");
    if (bricks_find(pool, at)) return snapshot_damaged(r, "the brick (%d, %d, %d) is there twice", at.x, at.y, at.z);
    if (!terrain_open(t, at, &open)) return snapshot_damaged(r, "the brick (%d, %d, %d) is solid throughout", at.x, at.y, at.z);
    const int32_t b = bricks_born(pool, at, &open);
    int32_t *heat = bricks_ints(pool, MIXTURE_HEAT, b);
    if (!snapshot_get_values(r, heat, BRICK_CELLS, 4)) return snapshot_ends_early(r);
    uint16_t any[BRICK_CELLS] = {0}, all = 0;
    for (int32_t i = 0; i < a->order.count; i++) {
        uint16_t *amount = mixture_amounts(pool, &a->order.fluid[i], b);
        if (!snapshot_get_values(r, amount, BRICK_CELLS, 2)) return snapshot_ends_early(r);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            any[cell] |= amount[cell];
            held[a->order.fluid[i].material] += (int64_t)amount[cell] * MIXTURE_UNIT;
        }
    }
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const weir_coord c = brick_cell(at, cell);
        all |= any[cell];
        if (heat[cell] < 0 || (any[cell] == 0 && heat[cell] != 0))
            return snapshot_damaged(r, "cell (%d, %d, %d) has %d units of heat", c.x, c.y, c.z, heat[cell]);
        if (any[cell] && !mask_has(&open, cell))
            return snapshot_damaged(r, "cell (%d, %d, %d) is solid and holds something", c.x, c.y, c.z);
    }
    if (!all) return snapshot_damaged(r, "the brick (%d, %d, %d) holds nothing", at.x, at.y, at.z);
    pool->wet[b] = 1;
    return WEIR_OK;
}

weir_status mixture_get_bricks(const mixture *s, snapshot_reader *r, const terrain *t, const weir_box *box,
                               int64_t held[WEIR_MATERIAL_MAX], mixture *a)
{
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (a->known & 1 || __builtin_popcount(a->known) > MIXTURE_FLUIDS)
        return snapshot_damaged(r, "a world of mixture cannot hold the materials 0x%x", a->known);
    const size_t brick_bytes = 12 + BRICK_CELLS * (4 + 2 * (size_t)__builtin_popcount(a->known));
    if (count < 0 || count > BRICK_MAX || snapshot_left(r) < (uint64_t)count * brick_bytes)
        return snapshot_damaged(r, "it does not hold the %d bricks it claims", count);
    weir_status status = make_pool(s, count, a);
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) status = get_brick(a, r, t, box, held);
    return status;
}

static weir_status get_state(mixture *s, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], mixture *a)
{
    a->known = (uint32_t)snapshot_get_number(r, 4);
    a->heat.added = (int64_t)snapshot_get_number(r, 8);
    a->heat.removed = (int64_t)snapshot_get_number(r, 8);
    a->heat.drained = (int64_t)snapshot_get_number(r, 8);
    a->heat.turned = (int64_t)snapshot_get_number(r, 8);
    a->heat.unloaded = (int64_t)snapshot_get_number(r, 8);
    if (!account_sound(&a->heat)) return snapshot_damaged(r, "the account of heat is out of range");
    weir_status status = mixture_get_bricks(s, r, t, NULL, held, a);
    int64_t heat = 0;
    for (int32_t b = 1; b < a->cells.pool.end && status == WEIR_OK; b++)
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) heat += bricks_ints(&a->cells.pool, MIXTURE_HEAT, b)[cell];
    if (status == WEIR_OK && heat != world_ledger_held(&a->heat))
        status = snapshot_damaged(r, "it holds %lld units of heat and its account says %lld", (long long)heat,
                                  (long long)world_ledger_held(&a->heat));
    return status;
}

// Room for the tables of the bricks that come.
static weir_status reserve_for(mixture *s, int32_t capacity)
{
    const int32_t own = s->cells.pool.capacity;
    if (capacity <= own) return WEIR_OK;
    s->cells.pool.capacity = capacity;
    const weir_status status = mixture_reserve_tables(s);
    s->cells.pool.capacity = own;
    return status;
}

weir_status mixture_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    mixture *s = state;
    mixture *a = *arrival = memory_alloc_zero(&s->cells.world->mem, sizeof *a);
    if (!a) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while loading %s", snapshot_name(r));
    const weir_status status = get_state(s, r, t, held, a);
    return status == WEIR_OK ? reserve_for(s, a->cells.pool.capacity) : status;
}

const char *mixture_cell_fits(const mixture_order *order, const int32_t amounts[MIXTURE_FLUIDS], int32_t heat, weir_coord at)
{
    int32_t liquid = 0, gas = 0, weight = 0;
    for (int32_t i = 0; i < order->count; i++) {
        *(order->fluid[i].kind == WEIR_KIND_GAS ? &gas : &liquid) += amounts[i];
        weight += amounts[i] * order->fluid[i].heat;
    }
    const int64_t most = (int64_t)weight * (4 * WEIR_TEMPERATURE_MAX + 2);
    if (liquid > MIXTURE_FULL + MIXTURE_GAS_MOST || gas > MIXTURE_GAS_MOST || weight > MIXTURE_WEIGHT_MOST)
        return broken("cell (%d, %d, %d) holds %d units, and %d of gases", at.x, at.y, at.z, liquid, gas);
    if (heat < 0 || heat > most) return broken("cell (%d, %d, %d) has %d units of heat", at.x, at.y, at.z, heat);
    return NULL;
}

static const char *look_at_cell(const brick_pool *pool, const mixture_order *order, int32_t brick, int32_t cell)
{
    int32_t amounts[MIXTURE_FLUIDS];
    for (int32_t i = 0; i < order->count; i++) amounts[i] = mixture_amounts(pool, &order->fluid[i], brick)[cell];
    return mixture_cell_fits(order, amounts, bricks_ints(pool, MIXTURE_HEAT, brick)[cell],
                             brick_cell(pool->coord[brick], cell));
}

const char *mixture_arrival_fits(const void *state, const void *arrival, const world_material *materials, int32_t count)
{
    (void)state;
    const mixture *a = arrival;
    int32_t channel[WEIR_MATERIAL_MAX] = {0};
    mixture_order order;
    if (a->known >> (count - 1) > 1) return broken("it holds materials that it does not know");
    for (int32_t i = 0; i < a->order.count; i++) channel[a->order.fluid[i].material] = a->order.fluid[i].channel;
    mixture_arrange(materials, a->known, channel, &order);
    const char *wrong = NULL;
    for (int32_t b = 1; b < a->cells.pool.end && !wrong; b++)
        for (int32_t cell = 0; cell < BRICK_CELLS && !wrong; cell++) wrong = look_at_cell(&a->cells.pool, &order, b, cell);
    return wrong;
}

void mixture_adopt(void *state, void *arrival)
{
    mixture *s = state;
    mixture *a = arrival;
    cells_adopt_pool(&s->cells, &a->cells.pool);
    s->known = a->known;
    s->heat = a->heat;
    s->order = a->order;
    s->layout.count = a->layout.count;
    for (int32_t i = 0; i < a->order.count; i++) mixture_name_channel(s);
    mixture_learn(s);
    for (int32_t b = 1; b < s->cells.pool.end; b++) mixture_count(s, b);
    mixture_wake_all(s);
#if WEIR_HAVE_OPENCL
    if (s->opencl) mixture_opencl_adopted(s);
#endif
}

void mixture_discard(void *state, void *arrival)
{
    mixture *s = state;
    mixture *a = arrival;
    if (!a) return;
    if (a->cells.pool.mem) bricks_destroy(&a->cells.pool);
    memory_free(&s->cells.world->mem, a, sizeof *a);
}

// ---- Looking it over -----------------------------------------------------------------------------------------------------------

static const char *look_at_brick(const mixture *s, int32_t brick, int64_t held[WEIR_MATERIAL_MAX], int64_t *heat)
{
    const brick_pool *pool = &s->cells.pool;
    uint32_t holds = 0;
    for (int32_t i = 0; i < s->order.count; i++) {
        const uint16_t *amount = mixture_amounts(pool, &s->order.fluid[i], brick);
        int64_t units = 0;
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) units += amount[cell];
        held[s->order.fluid[i].material] += units * MIXTURE_UNIT;
        holds |= units > 0 ? UINT32_C(1) << s->order.fluid[i].material : 0;
    }
    if (!pool->remote && pool->wet[brick] && (brick >= s->brick_room || s->holds[brick] != holds))
        return broken("brick %d is noted as holding other materials than it does", brick);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const char *wrong = look_at_cell(pool, &s->order, brick, cell);
        if (wrong) return wrong;
        *heat += bricks_ints(pool, MIXTURE_HEAT, brick)[cell];
    }
    return NULL;
}

// Whether a device does not have other values of a brick.
static bool is_here(const brick_pool *pool, int32_t brick)
{
    return !pool->remote || pool->place[brick] == PLACE_BOTH || pool->place[brick] == PLACE_HERE;
}

const char *mixture_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here)
{
    mixture *s = state;
    int64_t all[WEIR_MATERIAL_MAX] = {0}, heat = 0;
    const char *wrong = cells_validate(state, cells_only, all, all_here);
    for (int32_t b = 1; b < s->cells.pool.end && !wrong; b++)
        if (s->cells.pool.alive[b] && is_here(&s->cells.pool, b)) wrong = look_at_brick(s, b, held, &heat);
    if (!wrong && *all_here && heat != world_ledger_held(&s->heat))
        wrong = broken("the world holds %lld units of heat and its account says %lld", (long long)heat,
                       (long long)world_ledger_held(&s->heat));
    if (!wrong && s->layout.count != s->cells.pool.channel_count)
        wrong = broken("%d channels are listed of %d", s->layout.count, s->cells.pool.channel_count);
#if WEIR_HAVE_OPENCL
    if (!wrong && !cells_only && s->opencl) wrong = mixture_opencl_validate(s);
#endif
    return wrong;
}
