// The mixture automaton on an OpenCL device: its kernels (mixture.cl), and what they are told.
//
// The device keeps amounts, heat, and what each part of a brick holds. It tells which bricks hold something and which changed; from that
// the host knows as on the CPU who is calm, and lists the tiles that are worked on. Where all are calm nothing is launched.
#include "compute/opencl.h"
#include "solvers/mixture/device.h"
#include "solvers/mixture/mixture.h"

#include <assert.h>
#include <string.h>

#define MIXTURE_KERNELS(ITEM)   \
    ITEM(mixture_tiles)         \
    ITEM(mixture_crowded_tiles) \
    ITEM(mixture_look)          \
    ITEM(mixture_drain)         \
    ITEM(mixture_flags)         \
    ITEM(mixture_sum)

enum { KERNEL_BEFORE = KERNEL_OWN - 1, MIXTURE_KERNELS(KERNEL_ENUM) };

extern const char opencl_mixture_source[];
static const char *const kernel_names[] = {MIXTURE_KERNELS(KERNEL_NAME)};
static const opencl_text text = {"mixture", opencl_mixture_source, kernel_names, sizeof kernel_names / sizeof *kernel_names};

_Static_assert(DEVICE_FLUIDS == MIXTURE_FLUIDS, "so many materials a world can have held");
_Static_assert(DEVICE_REACTIONS == WEIR_REACTION_MAX, "so many reactions a world can have");
_Static_assert(DEVICE_SUMS >= 0, "the header has room for the sums");

// Tiles by where they were found: see mixture.cl.
typedef struct tile_list {
    cl_mem there;
    int64_t bytes;
    int32_t count;
} tile_list;

struct mixture_opencl {
    opencl_machine *machine;
    cl_mem order, heaters, crowded, looked, drops;
    cl_mem hardened;  // units that became terrain, 2 bytes per cell; zero between updates
    int64_t order_bytes, heater_bytes, crowded_bytes, looked_bytes, drop_bytes, hardened_bytes;
    device_order order_told;
    bool heaters_told;
    tile_list tiles[2], awake;  // all of even and odd updates, as of a version of the pool; those that are not calm
    uint64_t version;
    int32_t *list_here;  // a list in the making: of tiles, of bricks or of heaters
    size_t list_here_bytes;
    int32_t parts_known;  // bricks that there was room for when all parts were known: with more the tables are new, and empty
    uint64_t sums[DEVICE_SUMS_COUNT];
};

// ---- Tiles -------------------------------------------------------------------------------------------------------------------

// The tile of odd updates beside a brick, in terms of the uppermost brick in which it lies.
static int32_t tile_beside(const brick_pool *pool, int32_t brick, int32_t k)
{
    for (int32_t i = 7; i > 0; i--) {
        const int32_t x = (k & 1) - 1 + (i & 1), y = (k >> 1 & 1) - 1 + (i >> 1 & 1), z = (k >> 2) - 1 + (i >> 2);
        const int32_t owner = pool->near[brick][NEAR(x, y, z)];
        if (owner != BRICK_NOTHING) return 8 * owner + 7 - i;
    }
    return 8 * brick + 7;
}

static int32_t list_tiles(const brick_pool *pool, bool odd, int32_t *tiles)
{
    int32_t count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->alive, 1, b + 1, pool->end)) < pool->end;) {
        for (int32_t k = 0; k < (odd ? 8 : 1); k++) {
            if (k > 0 && tile_beside(pool, b, k) != 8 * b + k) continue;
            if (tiles) tiles[count] = 8 * b + k;
            count++;
        }
    }
    return count;
}

// Those in which a brick lies that is not calm. `touched` has a mark for each tile, and is zero before and after.
static int32_t list_awake(const mixture *s, bool odd, int32_t *tiles)
{
    const brick_pool *pool = &s->cells.pool;
    int32_t count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->alive, 1, b + 1, pool->end)) < pool->end;) {
        if (pool->rest[b].calm >= MIXTURE_CALM) continue;
        for (int32_t k = 0; k < (odd ? 8 : 1); k++) {
            const int32_t tile = odd ? tile_beside(pool, b, k) : 8 * b;
            if (s->touched[tile]) continue;
            s->touched[tile] = 1;
            tiles[count++] = tile;
        }
    }
    for (int32_t i = 0; i < count; i++) s->touched[tiles[i]] = 0;
    return count;
}

// ---- Room --------------------------------------------------------------------------------------------------------------------

static int64_t tables_bytes(int64_t room)
{
    return DEVICE_TABLES_END(room);
}

static bool reserve_list(mixture_opencl *o, size_t bytes)
{
    memory *mem = &o->machine->world->mem;
    if (o->list_here_bytes >= bytes) return true;
    memory_free(mem, o->list_here, o->list_here_bytes);
    o->list_here = memory_alloc(mem, bytes + bytes / 8);
    o->list_here_bytes = o->list_here ? bytes + bytes / 8 : 0;
    return o->list_here != NULL;
}

static bool reserve_tiles(mixture_opencl *o)
{
    const brick_pool *pool = &o->machine->cells->pool;
    opencl_queue *q = &o->machine->queue;
    if (o->version == pool->version) return true;
    o->version = UINT64_MAX;
    for (int32_t odd = 0; odd < 2; odd++) {
        tile_list *list = &o->tiles[odd];
        const int64_t bytes = 4 * (int64_t)list_tiles(pool, odd, NULL);
        if (!reserve_list(o, (size_t)bytes) || !queue_at_least(q, &list->there, &list->bytes, bytes, bytes / 8)) return false;
        list->count = list_tiles(pool, odd, o->list_here);
        queue_write(q, list->there, 0, o->list_here, bytes);
    }
    const int64_t most = 4 * (int64_t)(o->tiles[0].count > o->tiles[1].count ? o->tiles[0].count : o->tiles[1].count);
    if (!queue_at_least(q, &o->awake.there, &o->awake.bytes, most, most / 8) ||
        !queue_at_least(q, &o->crowded, &o->crowded_bytes, most, most / 8))
        return false;
    o->version = pool->version;
    return true;
}

static bool reserve_hardened(mixture_opencl *o, bool hardens)
{
    opencl_queue *q = &o->machine->queue;
    const int64_t bytes = hardens ? o->machine->bricks.capacity * (int64_t)(2 * BRICK_CELLS) : 4;
    if (o->hardened_bytes >= bytes) return true;
    if (!queue_at_least(q, &o->hardened, &o->hardened_bytes, bytes, 0)) return false;
    queue_zero(q, o->hardened, bytes);
    return true;
}

static bool reserve_buffers(mixture_opencl *o, bool hardens)
{
    const fluid_cells *c = o->machine->cells;
    opencl_queue *q = &o->machine->queue;
    const int64_t heaters = (c->world->source_count + 1) * (int64_t)sizeof(device_heater), bricks = 4 * (int64_t)c->pool.end;
    if (heaters > o->heater_bytes) o->heaters_told = false;
    return reserve_tiles(o) && reserve_hardened(o, hardens) && reserve_list(o, (size_t)(heaters > bricks ? heaters : bricks)) &&
           queue_at_least(q, &o->order, &o->order_bytes, sizeof(device_order), 0) &&
           queue_at_least(q, &o->heaters, &o->heater_bytes, heaters, heaters) &&
           queue_at_least(q, &o->looked, &o->looked_bytes, bricks, bricks / 8) &&
           (c->reported == CHANNEL_NONE ||
            queue_at_least(q, &o->drops, &o->drop_bytes, o->machine->bricks.capacity * (int64_t)(4 * BRICK_CELLS), 0));
}

weir_status mixture_opencl_reserve(mixture *s)
{
    mixture_opencl *o = s->opencl;
    weir_status status = opencl_prepare(o->machine);
    if (status == WEIR_OK && !reserve_buffers(o, s->order.hardens)) {
        status = queue_status(&o->machine->queue);
        if (status == WEIR_OK) status = queue_no_room(&o->machine->queue, "tiles of ", s->cells.pool.live, o->tiles[1].bytes);
    }
    return status == WEIR_OK ? opencl_reserve(o->machine) : status;
}

// Channels that a state had which was replaced are not there any more: another material may get one of them.
void mixture_opencl_adopted(mixture *s)
{
    device_bricks *d = &s->opencl->machine->bricks;
    while (d->channel_count > s->cells.pool.channel_count) queue_free(d->queue, &d->channel[--d->channel_count]);
}

// ---- What kernels are told -----------------------------------------------------------------------------------------------------

// The channels of materials, in their order; behind the last one any will do.
static void find_channels(const mixture *s, cl_mem channels[DEVICE_FLUIDS])
{
    const device_bricks *d = &s->opencl->machine->bricks;
    for (int32_t i = 0; i < DEVICE_FLUIDS; i++)
        channels[i] = device_channel(d, i < s->order.count ? s->order.fluid[i].channel : MIXTURE_HEAT);
}

#define CHANNEL_ARGS(c)                                                                                                       \
    ARG(c[0]), ARG(c[1]), ARG(c[2]), ARG(c[3]), ARG(c[4]), ARG(c[5]), ARG(c[6]), ARG(c[7]), ARG(c[8]), ARG(c[9]), ARG(c[10]), \
        ARG(c[11]), ARG(c[12]), ARG(c[13]), ARG(c[14]), ARG(c[15])

static void tell_order(mixture *s)
{
    mixture_opencl *o = s->opencl;
    const mixture_order *from = &s->order;
    device_order to;
    memset(&to, 0, sizeof to);
    to.count = from->count;
    to.liquids = from->liquids;
    to.gases = from->gases;
    to.changes = from->changes;
    for (int32_t i = 0; i < from->count; i++) {
        const mixture_fluid *f = &from->fluid[i];
        to.fluid[i] = (device_fluid){f->rate, f->up, f->heat, f->conducts, UINT32_C(1) << f->material};
    }
    for (int32_t i = 0; i < from->changes; i++) {
        const mixture_change *c = &from->change[i];
        const int32_t heavier = from->fluid[c->hot].heat - from->fluid[c->cold].heat;
        to.change[i] = (device_change){c->cold, c->hot, c->point, c->latent, c->turned, heavier, c->boils, i};
    }
    to.reactions = from->reactions;
    to.hardens = from->hardens;
    for (int32_t i = 0; i < from->reactions; i++) {
        const mixture_reaction *r = &from->reaction[i];
        to.reaction[i] = (device_reaction){r->first, r->second, r->first_to, r->second_to, r->law};
    }
    if (memcmp(&to, &o->order_told, sizeof to) == 0) return;
    queue_write(&o->machine->queue, o->order, 0, &to, sizeof to);
    o->order_told = to;
}

// Returns how many there are.
static int32_t tell_heaters(mixture_opencl *o)
{
    const weir_world *world = o->machine->world;
    device_heater *heaters = (device_heater *)o->list_here;
    int32_t count = 0;
    for (int32_t i = 0; i < world->source_count; i++) {
        const world_source *source = &world->sources[i];
        if (source->kind == SOURCE_HEATER) heaters[count++] = (device_heater){backend_box(source->box), (int)source->level};
    }
    if (!o->heaters_told) queue_write(&o->machine->queue, o->heaters, 0, heaters, count * (int64_t)sizeof *heaters);
    o->heaters_told = true;
    return count;
}

// ---- Passes --------------------------------------------------------------------------------------------------------------------

// What bricks hold of which the host sends the values; of all if the tables are new. To be listed before they are sent.
static int32_t list_sent(mixture_opencl *o)
{
    const device_bricks *d = &o->machine->bricks;
    const brick_pool *pool = &d->cells->pool;
    const bool all = o->parts_known != d->capacity;
    int32_t count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->alive, 1, b + 1, pool->end)) < pool->end;)
        if (all || pool->place[b] == PLACE_HERE || pool->place[b] == PLACE_NOWHERE) o->list_here[count++] = b;
    if (all) memset(o->sums, 0, sizeof o->sums);
    o->parts_known = d->capacity;
    if (count > 0) queue_write(d->queue, o->looked, 0, o->list_here, 4 * (int64_t)count);
    return count;
}

static void look_at_sent(mixture *s, int32_t count)
{
    mixture_opencl *o = s->opencl;
    device_bricks *d = &o->machine->bricks;
    cl_mem c[DEVICE_FLUIDS];
    const cl_int room = d->room;
    find_channels(s, c);
    LAUNCH(d->queue, mixture_look, count, ARG(o->looked), ARG(d->tables), ARG(room), ARG(o->order), CHANNEL_ARGS(c));
}

static void work_on_tiles(void *solver)
{
    mixture *s = solver;
    mixture_opencl *o = s->opencl;
    device_bricks *d = &o->machine->bricks;
    const weir_world *world = s->cells.world;
    cl_mem c[DEVICE_FLUIDS], heats = device_channel(d, MIXTURE_HEAT);
    const device_update u = {.odd = (int)(world->update & 1),
                             .z_first = (int)((world->update >> 1 ^ world->update) & 1),
                             .film = s->film,
                             .pressure = s->pressure,
                             .heaters = tell_heaters(o),
                             .room = d->room};
    find_channels(s, c);
    // A few calm tiles more cost less than a list of the others.
    const tile_list *list = &o->tiles[u.odd];
    if (2 * s->awake < s->cells.pool.live) {
        o->awake.count = list_awake(s, u.odd, o->list_here);
        queue_write(d->queue, o->awake.there, 0, o->list_here, 4 * (int64_t)o->awake.count);
        list = &o->awake;
    }
    LAUNCH(d->queue, mixture_tiles, list->count, ARG(list->there), ARG(d->near), ARG(d->open), ARG(d->clear), ARG(d->coords),
           ARG(d->tables), ARG(o->order), ARG(o->heaters), ARG(o->crowded), ARG(o->hardened), ARG(u), ARG(heats),
           CHANNEL_ARGS(c));
    if (s->order.count > DEVICE_FEW)
        LAUNCH(d->queue, mixture_crowded_tiles, list->count, ARG(d->near), ARG(d->open), ARG(d->clear), ARG(d->coords),
               ARG(d->tables), ARG(o->order), ARG(o->heaters), ARG(o->crowded), ARG(o->hardened), ARG(u), ARG(heats),
               CHANNEL_ARGS(c));
}

static void drain_sides(void *solver)
{
    mixture *s = solver;
    mixture_opencl *o = s->opencl;
    device_bricks *d = &o->machine->bricks;
    const brick_pool *pool = &s->cells.pool;
    const rule_box bounds = backend_box(s->cells.world->terrain.bounds);
    int32_t count = 0;
    for (int32_t b = 0; (b = bricks_next(pool->alive, 1, b + 1, pool->end)) < pool->end;)
        if (backend_reaches_out(bounds, pool->coord[b])) o->list_here[count++] = b;
    if (count == 0) return;
    cl_mem c[DEVICE_FLUIDS], heats = device_channel(d, MIXTURE_HEAT);
    const cl_int room = d->room;
    find_channels(s, c);
    queue_write(d->queue, o->looked, 0, o->list_here, 4 * (int64_t)count);
    LAUNCH(d->queue, mixture_drain, count, ARG(o->looked), ARG(d->coords), ARG(d->tables), ARG(room), ARG(bounds),
           ARG(o->order), ARG(heats), CHANNEL_ARGS(c));
}

// And begins to read what the device tells of the update.
static void flag_bricks(void *solver)
{
    mixture *s = solver;
    device_bricks *d = &s->opencl->machine->bricks;
    const int32_t group = (int32_t)d->queue->group;
    const cl_int room = d->room, count = d->worked;
    LAUNCH(d->queue, mixture_flags, (count + group - 1) / group, ARG(d->list), ARG(d->tables), ARG(room), ARG(count));
    device_bricks_prefetch_header(d, DEVICE_SUMS, true, false, &d->flags_read);
}

// For the threshold of changes.
static cl_mem sum_up(void *solver)
{
    mixture *s = solver;
    mixture_opencl *o = s->opencl;
    device_bricks *d = &o->machine->bricks;
    cl_mem c[DEVICE_FLUIDS];
    const cl_int unit = MIXTURE_UNIT;
    find_channels(s, c);
    LAUNCH(d->queue, mixture_sum, d->worked, ARG(d->list), ARG(d->tables), ARG(o->drops), ARG(unit), ARG(o->order),
           CHANNEL_ARGS(c));
    return o->drops;
}

static const pass TILES = {"tiles", NULL, work_on_tiles}, OPEN_SIDES = {"open sides", NULL, drain_sides},
                  FLAGS = {"flags", NULL, flag_bricks};

// ---- An update -----------------------------------------------------------------------------------------------------------------

// What a sum has grown by.
static int64_t take_sum(mixture_opencl *o, int32_t sum)
{
    uint32_t parts[2];
    memcpy(parts, (const char *)o->machine->bricks.tables_here.data + DEVICE_SUMS + 8 * sum, sizeof parts);
    const uint64_t now = parts[0] | (uint64_t)parts[1] << 32, before = o->sums[sum];
    o->sums[sum] = now;
    return (int64_t)(now - before);
}

static void take_books(mixture *s)
{
    mixture_opencl *o = s->opencl;
    world_ledger *ledger = s->cells.world->ledger;
    s->heat.added += take_sum(o, DEVICE_SUM_WARMED);
    s->heat.removed += take_sum(o, DEVICE_SUM_COOLED);
    s->heat.drained += take_sum(o, DEVICE_SUM_DRAINED);
    for (int32_t i = 0; i < s->order.changes; i++) {
        const mixture_change *c = &s->order.change[i];
        const int64_t units = take_sum(o, DEVICE_SUM_TURNED + i);
        ledger[s->order.fluid[c->cold].material].turned += units * MIXTURE_UNIT;
        ledger[s->order.fluid[c->hot].material].turned -= units * MIXTURE_UNIT;
        s->heat.turned += units * c->turned;
    }
    for (int32_t i = 0; i < s->order.reactions; i++) {
        const mixture_reaction *r = &s->order.reaction[i];
        const int64_t drops = take_sum(o, DEVICE_SUM_REACTED + i) * MIXTURE_UNIT;
        ledger[s->order.fluid[r->first].material].turned += drops;
        ledger[s->order.fluid[r->second].material].turned += drops;
        if (r->first_to >= 0) ledger[s->order.fluid[r->first_to].material].turned -= drops;
        if (r->second_to >= 0) ledger[s->order.fluid[r->second_to].material].turned -= drops;
    }
    s->heat.turned += take_sum(o, DEVICE_SUM_TAKEN);
    for (int32_t i = 0; i < s->order.count; i++)
        ledger[s->order.fluid[i].material].drained += take_sum(o, DEVICE_SUM_LEFT + i) * MIXTURE_UNIT;
}

// What became terrain is brought here, of all bricks: it is seldom, and the world builds it here.
static void take_hardened(mixture *s)
{
    mixture_opencl *o = s->opencl;
    const int64_t bytes = s->cells.pool.end * (int64_t)(2 * BRICK_CELLS);
    if (take_sum(o, DEVICE_SUM_HARDENED) == 0) return;
    queue_read(&o->machine->queue, o->hardened, 0, s->hardened, bytes);
    queue_zero(&o->machine->queue, o->hardened, bytes);
    mixture_harden(s);
}

static void note_calm(mixture *s)
{
    brick_pool *pool = &s->cells.pool;
    const uint8_t *flags = device_bricks_take_flags(&s->opencl->machine->bricks);
    for (int32_t b = 1; b < pool->end; b++) {
        const int32_t calm = pool->rest[b].calm + (pool->rest[b].calm < MIXTURE_CALM);
        if (pool->alive[b]) pool->rest[b].calm = flags[b] & DEVICE_CHANGED ? 0 : (uint8_t)calm;
    }
}

static weir_status work(mixture *s)
{
    backend *machine = &s->opencl->machine->base;
    const int32_t sent = list_sent(s->opencl);
    machine->begin(machine);
    tell_order(s);
    if (sent > 0) look_at_sent(s, sent);
    machine->run(machine, &TILES, s);
    if (backend_drains(s->cells.world)) machine->run(machine, &OPEN_SIDES, s);
    machine->run(machine, &FLAGS, s);
    const weir_status status = machine->finish(machine);
    if (status != WEIR_OK) return status;
    take_books(s);
    take_hardened(s);
    note_calm(s);
    return WEIR_OK;
}

weir_status mixture_opencl_update(mixture *s)
{
    mixture_opencl *o = s->opencl;
    const brick_pool *pool = &s->cells.pool;
    weir_status status = WEIR_OK;
    if (mixture_wake_for_surroundings(s)) o->heaters_told = false;
    s->awake = 0;
    for (int32_t b = 1; b < pool->end; b++) s->awake += pool->alive[b] && pool->rest[b].calm < MIXTURE_CALM;
    if (s->awake > 0) status = work(s);
    if (status != WEIR_OK) return status;
    cells_report_changes(&s->cells);
    cells_count_bytes(&s->cells, o->machine->base.bytes(&o->machine->base));
    return WEIR_OK;
}

// ---- Life --------------------------------------------------------------------------------------------------------------------

const char *mixture_opencl_validate(mixture *s)
{
    backend *machine = &s->opencl->machine->base;
    return machine->validate(machine);
}

void mixture_opencl_destroy(mixture *s)
{
    mixture_opencl *o = s->opencl;
    memory *mem = &s->cells.world->mem;
    if (!o) return;
    if (o->machine) {
        cl_mem *const buffers[] = {&o->hardened, &o->order,          &o->heaters,        &o->crowded,    &o->looked,
                                   &o->drops,    &o->tiles[0].there, &o->tiles[1].there, &o->awake.there};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) queue_free(&o->machine->queue, buffers[i]);
        o->machine->base.destroy(&o->machine->base);
    }
    memory_free(mem, o->list_here, o->list_here_bytes);
    memory_free(mem, o, sizeof *o);
}

weir_status mixture_opencl_create(mixture *s, const char *device)
{
    mixture_opencl *o = s->opencl = memory_alloc_zero(&s->cells.world->mem, sizeof *o);
    if (!o) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the OpenCL backend");
    o->version = UINT64_MAX;
    const device_needs needs = {.tables_bytes = tables_bytes, .run_axis = 0, .mass = sum_up, .solver = s};
    return opencl_machine_create(&s->cells, device, &text, &needs, &o->machine);
}
