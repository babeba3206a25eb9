// The mesher: one mesh per brick, made again when the brick or one beside it has changed. An update goes like this:
//
//     look      which bricks are there, hold water, and have changed since the last time
//     want      a brick may have a mesh if it or one above it (towards +x, +y, +z) holds water: its cubes reach one cell into those
//     list      wanted bricks beside a changed one, 27 at most for each, and those that have a mesh and are not wanted any more
//     sum up    whether a changed brick has cells with water to show, and cells that are not inside; where 27 lack one of both, there
//               is no surface
//     mesh      the others, in batches, on all threads; between two batches the calling thread, which may ask for memory, puts them away
#include "surface/mesher.h"

#include <assert.h>
#include <string.h>

enum {
    MESH_GRAIN = 2,  // bricks per piece of work: when meshing, when summing up
    SUM_GRAIN = 64
};

static weir_status no_memory(const weir_mesher *m)
{
    return status_fail(WEIR_ERROR_MEMORY, "no memory for the mesh of the water in %d bricks", m->entry_count);
}

// A background step has the world's threads.
static void run(const weir_mesher *m, weir_task *task, void *context, int32_t count, int32_t grain)
{
    if (m->world->busy)
        task(context, 0, count, 0);
    else
        workers_run(m->world->workers, task, context, count, grain);
}

// ---- Looking around --------------------------------------------------------------------------------------------------------

// The entry of the neighbour k of an entry; -1: there is none.
static int32_t neighbour(const weir_mesher *m, const fluid_view *fluid, int32_t entry, int32_t k)
{
    const mesher_entry *e = &m->entries[entry];
    int32_t there = fluid->near[e->brick][k];
    return there ? m->entry_of[there] : mesher_find(m, brick_neighbour(e->coord, k));
}

static bool find_bricks(weir_mesher *m, const fluid_view *fluid)
{
    if (!mesher_make_room(m, (void **)&m->entry_of, &m->entry_of_room, fluid->end, sizeof *m->entry_of)) return false;
    for (int32_t i = 0; i < m->entry_count; i++) {
        m->entries[i].brick = BRICK_NOTHING;
        m->entries[i].open = -1;
        m->entries[i].flags &= ~(uint32_t)(ENTRY_CHANGED | ENTRY_WANTED | ENTRY_STALE);
    }
    for (int32_t b = 1; b < fluid->end; b++) {
        if (!fluid->alive[b]) continue;
        int32_t i = mesher_find_or_add(m, fluid->coord[b]);
        if (i < 0) return false;
        m->entries[i].brick = b;
        m->entry_of[b] = i;
    }
    return true;
}

static bool is_wet(const fluid_view *fluid, const mesher_entry *e)
{
    return e->brick && fluid->wet[e->brick];
}

// A brick that died has no number of a change: it is told by what was seen of it. So is one that became wet or dry by too little to count.
static void find_changes(weir_mesher *m, const fluid_view *fluid)
{
    const bool exact = fluid->read_reported && (m->shown.material || m->shown.gas_count > 0),
               all = m->anew || exact || m->exact;
    m->exact = exact;
    for (int32_t i = 0; i < m->entry_count; i++) {
        mesher_entry *e = &m->entries[i];
        bool live = e->brick != BRICK_NOTHING, wet = is_wet(fluid, e);
        bool other = live != !!(e->flags & ENTRY_SEEN_LIVE) || wet != !!(e->flags & ENTRY_SEEN_WET);
        if (all || other || (live && fluid->changed[e->brick] > m->mark)) e->flags |= ENTRY_CHANGED;
    }
}

static bool find_wanted(weir_mesher *m, const fluid_view *fluid)
{
    for (int32_t i = 0, count = m->entry_count; i < count; i++) {
        if (!is_wet(fluid, &m->entries[i])) continue;
        for (int32_t below = 0; below < 8; below++) {
            int32_t k = NEAR(-(below & 1), -(below >> 1 & 1), -(below >> 2));
            int32_t other = neighbour(m, fluid, i, k);
            if (other < 0) other = mesher_find_or_add(m, brick_neighbour(m->entries[i].coord, k));
            if (other < 0) return false;
            m->entries[other].flags |= ENTRY_WANTED;
        }
    }
    return true;
}

static bool list_todo(weir_mesher *m, const fluid_view *fluid)
{
    m->todo_count = 0;
    if (!mesher_make_room(m, (void **)&m->todo, &m->todo_room, m->entry_count, sizeof *m->todo)) return false;
    for (int32_t i = 0; i < m->entry_count; i++) {
        const mesher_entry *e = &m->entries[i];
        if (e->block && !(e->flags & ENTRY_WANTED)) m->todo[m->todo_count++] = i;
        for (int32_t k = 0; k < 27 && e->flags & ENTRY_CHANGED; k++) {
            int32_t other = neighbour(m, fluid, i, k);
            if (other < 0 || (m->entries[other].flags & (ENTRY_WANTED | ENTRY_STALE)) != ENTRY_WANTED) continue;
            m->entries[other].flags |= ENTRY_STALE;
            m->todo[m->todo_count++] = other;
        }
    }
    return true;
}

// Fetches the water of all bricks that are to be meshed, and of their neighbours. False if the world went back to a checkpoint
// meanwhile, so that its bricks are others.
static bool fetch_water(const weir_mesher *m, const fluid_view *fluid)
{
    enum { FETCH_BATCH = 1024 };
    int32_t bricks[FETCH_BATCH + 27], count = 0;
    if (!fluid->fetch) return true;
    for (int32_t t = 0; t < m->todo_count; t++) {
        for (int32_t k = 0; k < 27; k++) {
            int32_t other = neighbour(m, fluid, m->todo[t], k);
            if (other >= 0 && is_wet(fluid, &m->entries[other])) bricks[count++] = m->entries[other].brick;
        }
        if (count < FETCH_BATCH) continue;
        fluid_fetch(fluid, bricks, count);
        count = 0;
    }
    fluid_fetch(fluid, bricks, count);
    return world_check_query(m->world);
}

// ---- Meshing ---------------------------------------------------------------------------------------------------------------

static uint32_t high_and_low(const int32_t *mass, int32_t iso)
{
    int32_t any = 0, all = -1, film = mesh_film(iso) - 1;  // the sign is set where a cell has more than that
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        any |= film - mass[i];
        all &= iso - mass[i];
    }
    return (any < 0 ? ENTRY_HIGH : 0) | (all < 0 ? 0 : ENTRY_LOW);
}

static void sum_up(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    weir_mesher *m = context;
    const fluid_view *fluid = &m->fluid;
    int32_t room[BRICK_CELLS], rest[BRICK_CELLS];
    for (int32_t i = begin; i < end; i++) {
        mesher_entry *e = &m->entries[i];
        if (!(e->flags & ENTRY_CHANGED)) continue;
        e->flags &= ~(uint32_t)(ENTRY_HIGH | ENTRY_LOW);
        const bool wet = is_wet(fluid, e);
        e->flags |= wet ? high_and_low(shown_drops(&m->shown, fluid, e->brick, room, rest), m->iso) : ENTRY_LOW;
    }
}

static bool may_have_surface(const weir_mesher *m, const fluid_view *fluid, int32_t entry)
{
    const uint32_t both = ENTRY_HIGH | ENTRY_LOW;
    uint32_t seen = 0;
    if (!(m->entries[entry].flags & ENTRY_WANTED)) return false;
    for (int32_t k = 0; k < 27 && (seen & both) != both; k++) {
        int32_t other = neighbour(m, fluid, entry, k);
        seen |= other < 0 ? ENTRY_LOW : m->entries[other].flags;
    }
    return (seen & both) == both;
}

// Adds a brick to a batch. The terrain of a neighbour that is not there is asked for on this thread, and once: the game may be
// behind it. There is room for all of a batch's.
static bool add_to_batch(weir_mesher *m, const fluid_view *fluid, int32_t entry)
{
    mesh_batch *batch = m->batch;
    mesh_near *near = &batch->near[batch->count];
    for (int32_t k = 0; k < 27; k++) {
        int32_t brick = fluid->near[m->entries[entry].brick][k];
        if (!brick) {
            weir_coord coord = brick_neighbour(m->entries[entry].coord, k);
            int32_t other = mesher_find_or_add(m, coord);
            if (other < 0) return false;
            mesher_entry *e = &m->entries[other];
            brick = e->brick;
            if (!brick && e->open < 0) {
                e->open = m->open_count++;
                terrain_open(&m->world->terrain, coord, &m->open[e->open]);
            }
            near->open[k] = brick ? &fluid->open[brick] : &m->open[e->open];
        } else {
            near->open[k] = &fluid->open[brick];
        }
        near->brick[k] = fluid->wet[brick] ? brick : BRICK_NOTHING;
    }
    batch->entry[batch->count++] = entry;
    return true;
}

static void mesh_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    weir_mesher *m = context;
    mesh_batch *batch = m->batch;
    for (int32_t i = begin; i < end; i++)
        mesh_brick(&m->cases, &m->fluid, &m->shown, &batch->near[i], m->iso, &m->fields[worker], &batch->output[i]);
}

static bool same_mesh(const mesh_block *a, const mesh_block *b)
{
    size_t head = sizeof *a;
    return a && b && a->size == b->size && a->vertex_count == b->vertex_count &&
           memcmp((const char *)a + head, (const char *)b + head, a->size - head) == 0;
}

static void replace(weir_mesher *m, mesher_entry *e, mesh_block *block)
{
    bool same = e->block == block || same_mesh(e->block, block);
    mesher_free_block(m, same && e->block != block ? block : same ? NULL : e->block);
    if (same) return;
    e->block = block;
    e->change = m->change;
}

// Puts a mesh away.
static bool keep(weir_mesher *m, int32_t entry, const mesh_output *out)
{
    mesh_block *block = NULL;
    if (out->triangle_count > 0) {
        block = mesher_new_block(m, out->vertex_count, out->own_count, out->triangle_count);
        if (!block) return false;
        memcpy(block->positions, out->position, (size_t)out->vertex_count * sizeof *out->position);
        memcpy(block->normals, out->normal, (size_t)out->vertex_count * sizeof *out->normal);
        memcpy(block->edges, out->edge, (size_t)out->vertex_count * sizeof *out->edge);
        for (int32_t i = 0; i < 3 * out->triangle_count; i++) block->indices[i] = out->index[i];
    }
    replace(m, &m->entries[entry], block);
    return true;
}

static bool finish_batch(weir_mesher *m)
{
    mesh_batch *batch = m->batch;
    run(m, mesh_bricks, m, batch->count, MESH_GRAIN);
    for (int32_t i = 0; i < batch->count; i++)
        if (!keep(m, batch->entry[i], &batch->output[i])) return false;
    batch->count = 0;
    return true;
}

static bool mesh_todo(weir_mesher *m, const fluid_view *fluid)
{
    m->batch->count = m->open_count = 0;
    for (int32_t t = 0; t < m->todo_count; t++) {
        if (!may_have_surface(m, fluid, m->todo[t])) {
            replace(m, &m->entries[m->todo[t]], NULL);
            continue;
        }
        // The masks must not move while a batch points to them.
        if (m->batch->count == 0 &&
            !mesher_make_room(m, (void **)&m->open, &m->open_room, m->open_count + 27 * MESH_BATCH, sizeof *m->open))
            return false;
        if (!add_to_batch(m, fluid, m->todo[t])) return false;
        if (m->batch->count == MESH_BATCH && !finish_batch(m)) return false;
    }
    return finish_batch(m);
}

static void remember(weir_mesher *m, const fluid_view *fluid)
{
    for (int32_t i = 0; i < m->entry_count; i++) {
        mesher_entry *e = &m->entries[i];
        e->flags &= ~(uint32_t)(ENTRY_SEEN_LIVE | ENTRY_SEEN_WET);
        e->flags |= (e->brick ? ENTRY_SEEN_LIVE : 0) | (is_wet(fluid, e) ? ENTRY_SEEN_WET : 0);
    }
}

// ---- Exported --------------------------------------------------------------------------------------------------------------

weir_status weir_mesher_create(weir_world *world, const weir_mesher_def *def, weir_mesher **out)
{
    assert(world && out);
    weir_mesher_def plain = def ? *def : (weir_mesher_def){0};
    *out = NULL;
    if (plain.iso == 0) plain.iso = 0.5f;
    if (!(plain.iso >= 0.05f && plain.iso <= 0.95f))
        return status_fail(WEIR_ERROR_ARGUMENT, "an iso of %g; it must be a fill from 0.05 to 0.95", (double)plain.iso);
    if (plain.material < 0 || plain.material >= world->material_count)
        return status_fail(WEIR_ERROR_ARGUMENT, "a mesh of the material %d, which is not there; the last is %d", plain.material,
                           world->material_count - 1);
    if ((plain.allocator.alloc == NULL) != (plain.allocator.free == NULL))
        return status_fail(WEIR_ERROR_ARGUMENT, "an allocator needs both alloc and free");

    memory mem = memory_make(plain.allocator);
    weir_mesher *m = memory_alloc_zero(&mem, sizeof *m);
    if (!m) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a mesher");
    m->mem = mem;
    m->world = world;
    m->iso = (int32_t)(plain.iso * WEIR_FULL);
    m->material = plain.material;
    m->mark = -1;
    mesh_cases_make(&m->cases);
    m->worker_count = workers_count(world->workers);
    m->fields = memory_alloc(&m->mem, (size_t)m->worker_count * sizeof *m->fields);
    m->batch = memory_alloc(&m->mem, sizeof *m->batch);
    if (!m->fields || !m->batch) {
        weir_mesher_destroy(m);
        return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making a mesher");
    }
    *out = m;
    return WEIR_OK;
}

void weir_mesher_destroy(weir_mesher *m)
{
    if (!m) return;
    for (int32_t i = 0; i < m->entry_count; i++) mesher_free_block(m, m->entries[i].block);
    mesher_free_block(m, m->joined);
    memory_free(&m->mem, m->entries, (size_t)m->entry_room * sizeof *m->entries);
    memory_free(&m->mem, m->slots, (size_t)m->slot_count * sizeof *m->slots);
    memory_free(&m->mem, m->order, (size_t)m->order_room * sizeof *m->order);
    memory_free(&m->mem, m->entry_of, (size_t)m->entry_of_room * sizeof *m->entry_of);
    memory_free(&m->mem, m->todo, (size_t)m->todo_room * sizeof *m->todo);
    memory_free(&m->mem, m->open, (size_t)m->open_room * sizeof *m->open);
    memory_free(&m->mem, m->fields, (size_t)m->worker_count * sizeof *m->fields);
    memory_free(&m->mem, m->batch, sizeof *m->batch);
    memory mem = m->mem;
    memory_free(&mem, m, sizeof *m);
}

weir_status weir_mesher_update(weir_mesher *m, int32_t *meshed)
{
    const weir_world *world = m->world;
    if (meshed) *meshed = 0;
    bool there, found;
    const fluid_view *fluid = &m->fluid;
    do {
        m->fluid = world_fluid(world);
        m->shown = shown_of(world, m->material);
        found = find_bricks(m, fluid);
        if (found) find_changes(m, fluid);
        found = found && find_wanted(m, fluid) && list_todo(m, fluid);
        there = !found || fetch_water(m, fluid);
    } while (!there);
    if (found && world->values_lost) return world_lost(world);

    m->change++;
    if (found) run(m, sum_up, m, m->entry_count, SUM_GRAIN);
    found = found && mesh_todo(m, fluid);
    if (found) mesher_forget(m);
    if (!found || !mesher_sort(m)) {
        m->anew = true;
        return no_memory(m);
    }
    remember(m, fluid);
    m->anew = false;
    m->mark = world->busy ? world->frozen.change : world->change;
    if (meshed) *meshed = m->todo_count;
    return WEIR_OK;
}
