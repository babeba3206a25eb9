// The state of the settling automaton: read, frozen, hashed, saved and loaded.
//
// In a snapshot: bricks in coordinate order, each as
//
//     coordinate | flags of 2 bytes | number of nodes, of outlets | with free water: 512 fills of 2 bytes, 512 calm counts, its material or 512 of them
//     | of the generation under way: what came of it, and whether several materials were around
//     | each node, by its lowest cell: number of its body, eight layers of 8 bytes
//     | each outlet: number of its body, the two heights of 8 bytes
//
// then the bodies, numbered in the order in which they come: material, volume of 8 bytes, level of 4, flags of 2, the top layer of 4 if terrain
// took it, and what the laws see of it if that is something else: level and top layer of 4 bytes. Where a generation stands comes first, and
// at the end the body that is being levelled, if there is one, and what of a flood is left. All live bricks are there, also dry ones: one that comes to be is worked on if a
// neighbour is, so it matters which have been there before.
#include "base/hash.h"
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum {
    FLAG_ACTIVE = 1,
    FLAG_FREE = 2,  // it has free water
    FLAG_TOUCHING = 4,
    FLAG_WET_SEEN = 8,  // as the topology saw it last
    FLAG_WORKED = 16,
    FLAG_DONE = 32,
    FLAG_STIRRED = 64,
    FLAG_MIXED = 128,  // its free water is of several materials
    FLAG_LOOK = 256,   // the topology is to look at it again
    FLAG_FRESH = 512,
    FLAG_CLOSED = 1,  // of a body
    FLAG_DIRTY = 2,
    FLAG_SPLIT = 4,
    FLAG_SEEN = 8,
    FLAG_SEEN_CLOSED = 16,
    FLAG_CUT = 32,
    FLAG_CLEAN = 64,  // but for that it was cut
    FLAG_DUE = 128,   // to be levelled in the round under way
    FLAG_LOST = 256,  // terrain took its top layer since it was levelled
    LOST_MOST = 1 << 20,
    FLAG_AGAIN = 1,  // of the body that is being levelled: and in the next round
    FLAG_APART = 2,
    HASH_GRAIN = 64
};

// ---- Reading -----------------------------------------------------------------------------------------------------------------

void settle_read_units(const settle *s, int32_t brick, int32_t units[BRICK_CELLS])
{
    const settle_brick *b = brick < s->brick_room ? &s->bricks[brick] : NULL;
    memset(units, 0, BRICK_CELLS * sizeof *units);
    if (!b || brick == BRICK_NOTHING) return;
    for (int32_t i = 0; i < BRICK_CELLS && b->page; i++) units[i] = page_fill(b->page)[i];
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick) {
        const settle_node *node = node_at(s, n);
        const settle_body *body = body_at(s, node->body);
        for (int32_t y = 0; y < 8; y++) {
            const int32_t whole = body_fill(body, bottom + y, SETTLE_FULL);
            for (uint64_t left = node->cells.layer[y]; left;) {
                const int32_t cell = cell_of(y, region_take(&left));
                units[cell] = b->shares ? body_fill(body, bottom + y, cell_capacity(b, cell)) : whole;
            }
        }
    }
}

// What bodies hold in no cell.
int64_t settle_owed(const settle *s, int32_t material)
{
    int64_t owed = 0;
    for (int32_t body = 1; body < s->bodies.end; body++) {
        const settle_body *b = body_at(s, body);
        if (b->used && b->material == material) owed += b->volume - b->base - settle_layer_holds(s, b, b->level);
    }
    return owed;
}

static const settle *viewed(const fluid_view *view)
{
    const settle *s = view->owner;
    return view->alive == s->cells.frozen.alive ? s->frozen : s;
}

static int64_t read_owed(const fluid_view *view, weir_material material)
{
    return settle_owed(viewed(view), material) * SETTLE_UNIT;
}

static void read_materials(const fluid_view *view, int32_t brick, int32_t first, int32_t count, uint8_t *materials)
{
    uint8_t all[BRICK_CELLS];
    settle_read_materials(viewed(view), brick, all);
    memcpy(materials, all + first, (size_t)count);
}

void settle_view(const void *state, bool frozen, fluid_view *view)
{
    cells_view(state, frozen, view);
    view->owed = read_owed;
    view->read_materials = read_materials;
}

// ---- The frozen copy ---------------------------------------------------------------------------------------------------------

void settle_free_frozen(settle *s)
{
    if (!s->frozen) return;
    settle_free_tables(s->frozen);
    memory_free(&s->cells.world->mem, s->frozen, sizeof *s->frozen);
    s->frozen = NULL;
}

static bool copy_store(memory *mem, const settle_store *from, settle_store *to)
{
    *to = *from;
    to->items = memory_alloc(mem, (size_t)from->room * from->size);
    if (!to->items) to->room = 0;
    if (to->items) memcpy(to->items, from->items, (size_t)from->end * from->size);
    return to->items || from->room == 0;
}

// Pages and shares of a brick.
static bool copy_brick(settle *copy, int32_t brick, const settle_brick *from)
{
    settle_brick *to = &copy->bricks[brick];
    *to = *from;
    to->page = NULL;
    to->shares = NULL;
    if (from->page && settle_need_page(copy, brick) != WEIR_OK) return false;
    if (from->page && from->page->materials && settle_need_materials(copy, brick) != WEIR_OK) return false;
    if (from->page) {
        uint8_t(*materials)[BRICK_CELLS] = to->page->materials;
        *to->page = *from->page;
        to->page->materials = materials;
        to->page->pending = NULL;
        if (materials) memcpy(materials, from->page->materials, SETTLE_MIXED_BYTES);
    }
    if (from->shares && settle_need_shares(copy, brick) != WEIR_OK) return false;
    if (from->shares) memcpy(to->shares, from->shares, BRICK_CELLS);
    return true;
}

weir_status settle_freeze(void *state)
{
    settle *s = state;
    memory *mem = &s->cells.world->mem;
    settle_free_frozen(s);
    weir_status status = cells_freeze(state);
    if (status != WEIR_OK) return status;
    settle *copy = s->frozen = memory_alloc_zero(mem, sizeof *copy);
    bool enough = copy != NULL;
    if (enough) {
        settle_begin(copy, s->cells.world);
        copy->cells.pool = s->cells.frozen;
        copy->cells.material = s->cells.material;
        copy->stage = s->stage;
        copy->growing = s->growing;
        copy->cursor = s->cursor;
        copy->late = s->late;
        copy->undone = s->undone;
        copy->levels = s->levels;
        copy->search = s->search;
        copy->flood = s->flood;
        enough = settle_grow(copy, s->brick_room) == WEIR_OK && copy_store(mem, &s->nodes, &copy->nodes) &&
                 copy_store(mem, &s->bodies, &copy->bodies) && copy_store(mem, &s->histograms, &copy->histograms);
    }
    for (int32_t b = 1; b < s->brick_room && enough; b++) enough = copy_brick(copy, b, &s->bricks[b]);
    if (enough) return WEIR_OK;
    settle_free_frozen(s);
    return status_fail(WEIR_ERROR_MEMORY, "no memory to keep the water as it is while a background step runs");
}

// ---- Hash --------------------------------------------------------------------------------------------------------------------

typedef struct hash_job {
    const settle *s;
    _Atomic uint64_t sum;
} hash_job;

// Shares may also be there because they were about to become others.
static bool is_partly_solid(const settle_brick *b)
{
    bool partly = false;
    for (int32_t cell = 0; cell < BRICK_CELLS && b->shares; cell++) partly |= b->shares[cell] != 0 && b->shares[cell] != 255;
    return partly;
}

// Where a brick stands in the generation under way: its flags, and what came of it as soon as that will not be found again. What stirred it
// before the laws see it is no matter.
static uint32_t place_of(const settle *s, const settle_brick *b)
{
    if (s->stage == STAGE_BEGIN) return 0;
    const int32_t outcome = b->worked && s->stage > STAGE_WORK ? b->outcome : 0;
    const bool several = b->worked && s->stage > STAGE_WORK && b->liquid == SETTLE_SEVERAL;
    return (uint32_t)(several << 16 | b->joins << 17 | (b->worked ? FLAG_WORKED : 0) | (b->done ? FLAG_DONE : 0) |
                      (b->stirred && b->worked && s->stage >= STAGE_WORK ? FLAG_STIRRED : 0) | outcome << 8);
}

// Bricks that have been let rest, or kept, are in the list no more when it is read again.
static int32_t cursor_of(const settle *s)
{
    return s->stage == STAGE_REST ? 0 : s->cursor;
}

// What has been spent on the search under way.
static int64_t found_so_far(const settle *s)
{
    return s->search.kind == SEARCH_NOTHING ? 0 : s->search.spent + s->search.owed;
}

// A dry brick at rest counts nothing.
static uint64_t hash_brick(const settle *s, int32_t brick)
{
    const settle_brick *b = &s->bricks[brick];
    const bool free = b->page && !layers_empty(&b->page->wet);
    if (!b->active && !free && !b->node) return 0;
    uint64_t hash = hash_bytes(&s->cells.pool.coord[brick], sizeof(weir_coord), b->active | (uint64_t)place_of(s, b) << 1);
    hash = hash_bytes(&b->open, sizeof b->open, hash);
    if (is_partly_solid(b)) hash = hash_bytes(b->shares, BRICK_CELLS, hash);
    if (!free) return hash;
    hash = hash_bytes(page_fill(b->page), sizeof b->page->fill[0], hash);
    hash = hash_bytes(b->page->calm, sizeof b->page->calm, hash);
    uint8_t materials[BRICK_CELLS];
    return settle_page_materials(b->page, materials) == WEIR_WATER ? hash : hash_bytes(materials, sizeof materials, hash);
}

static uint64_t hash_body(const settle *s, int32_t body)
{
    const settle_body *b = body_at(s, body);
    uint64_t cells = body_may_be_split(b) | (uint64_t)(b->material != WEIR_WATER ? b->material : 0) << 8;
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) {
            const settle_node *node = node_at(s, n);
            const uint64_t place = hash_bytes(&s->cells.pool.coord[node->brick], sizeof(weir_coord), 0);
            cells += hash_bytes(&node->cells, sizeof node->cells, place);
        }
    }
    if (b->seen_kept) {
        const int32_t seen[3] = {b->seen.top, b->seen.level, b->seen.closed};
        cells += hash_bytes(seen, sizeof seen, 1);
    }
    return hash_bytes(&b->volume, sizeof b->volume, cells);
}

static void hash_bricks(void *context, int32_t begin, int32_t end, int32_t worker)
{
    (void)worker;
    hash_job *job = context;
    uint64_t sum = 0;
    for (int32_t b = begin; b < end; b++)
        if (job->s->cells.pool.alive[b] && b < job->s->brick_room) sum += hash_brick(job->s, b);
    atomic_fetch_add_explicit(&job->sum, sum, memory_order_relaxed);
}

uint64_t settle_hash(const void *state, bool frozen)
{
    const settle *s = frozen ? ((const settle *)state)->frozen : state;
    hash_job job = {.s = s};
    if (frozen)
        hash_bricks(&job, 0, s->cells.pool.end, 0);
    else
        workers_run(s->cells.world->workers, hash_bricks, &job, s->cells.pool.end, HASH_GRAIN);
    uint64_t sum = atomic_load(&job.sum);
    for (int32_t body = 1; body < s->bodies.end; body++)
        if (body_at(s, body)->used) sum += hash_body(s, body);
    if (settle_goes_on(s)) {
        const settle_levels *l = &s->levels;
        const settle_flood *f = &s->flood;
        const int32_t place[13] = {(int32_t)s->stage, cursor_of(s), s->late,           s->undone, l->round, l->due,  l->apart,
                                   f->seeding,        f->layer,     f->left - f->next, f->tries,  f->face,  f->count};
        sum += hash_bytes(place, sizeof place, 1 + (uint64_t)found_so_far(s) + f->seeds);
    }
    return sum;
}

// ---- Saving ------------------------------------------------------------------------------------------------------------------

// The numbers of bodies in a snapshot, in the order in which they are met.
typedef struct body_numbers {
    int32_t *of;
    int32_t last;
} body_numbers;

static void save_number(snapshot_writer *w, body_numbers *numbers, int32_t body)
{
    if (!numbers->of[body]) numbers->of[body] = ++numbers->last;
    snapshot_put_number(w, (uint32_t)numbers->of[body], 4);
}

static void save_outlets(const settle *s, snapshot_writer *w, int32_t brick, body_numbers *numbers)
{
    int32_t list[SETTLE_OUTLETS], count = 0;
    for (int32_t o = s->bricks[brick].outlet; o; o = outlet_at(s, o)->next_in_brick) list[count++] = o;
    // From the first to the last: each that is read comes before those read already.
    while (count > 0) {
        const settle_outlet *outlet = outlet_at(s, list[--count]);
        save_number(w, numbers, outlet->body);
        snapshot_put_number(w, (uint64_t)outlet->up, 8);
        snapshot_put_number(w, (uint64_t)outlet->down, 8);
    }
}

// Whether a brick lies at the border of a box: bodies beside it may not be in the box.
static bool is_at_border(const weir_box *box, weir_coord at)
{
    return box && (at.x == box->min.x || at.y == box->min.y || at.z == box->min.z || at.x == box->max.x - 1 ||
                   at.y == box->max.y - 1 || at.z == box->max.z - 1);
}

static int32_t count_outlets(const settle *s, int32_t brick, const weir_box *box)
{
    int32_t count = 0;
    if (is_at_border(box, s->cells.pool.coord[brick])) return 0;
    for (int32_t o = s->bricks[brick].outlet; o; o = outlet_at(s, o)->next_in_brick) count++;
    return count;
}

static void save_brick(const settle *s, snapshot_writer *w, int32_t brick, const weir_box *box, body_numbers *numbers)
{
    const settle_brick *b = &s->bricks[brick];
    const bool free = b->page && !layers_empty(&b->page->wet);
    int32_t nodes[BRICK_CELLS];
    const int32_t count = settle_ordered_nodes(s, brick, nodes);
    uint8_t materials[BRICK_CELLS];
    const int32_t material = free ? settle_page_materials(b->page, materials) : 0;
    snapshot_put_coord(w, s->cells.pool.coord[brick]);
    snapshot_put_number(w,
                        (b->active ? FLAG_ACTIVE : 0) | (free ? FLAG_FREE : 0) | (b->touching ? FLAG_TOUCHING : 0) |
                            (s->cells.pool.wet_seen[brick] == 1 ? FLAG_WET_SEEN : 0) | (place_of(s, b) & 0xff) |
                            (s->cells.pool.wet_seen[brick] > 1 ? FLAG_LOOK : 0) | (b->fresh ? FLAG_FRESH : 0) |
                            (material == SETTLE_SEVERAL ? FLAG_MIXED : 0),
                        2);
    snapshot_put_number(w, (uint32_t)count, 2);
    snapshot_put_number(w, (uint32_t)count_outlets(s, brick, box), 1);
    if (free) {
        snapshot_put_values(w, page_fill(b->page), BRICK_CELLS, 2);
        snapshot_put_values(w, b->page->calm, BRICK_CELLS, 1);
        if (material == SETTLE_SEVERAL)
            snapshot_put_values(w, materials, BRICK_CELLS, 1);
        else
            snapshot_put_number(w, (uint32_t)material, 1);
    }
    if (place_of(s, b) & FLAG_WORKED) snapshot_put_number(w, place_of(s, b) >> 8 & 0x1ff, 2);
    for (int32_t i = 0; i < count; i++) {
        save_number(w, numbers, node_at(s, nodes[i])->body);
        for (int32_t y = 0; y < 8; y++) snapshot_put_number(w, node_at(s, nodes[i])->cells.layer[y], 8);
    }
    if (count_outlets(s, brick, box) > 0) save_outlets(s, w, brick, numbers);
}

// What of a body a cut takes along, or all of it. A part below the top layer is full; where terrain took that, all parts keep it.
static void save_body(snapshot_writer *w, const settle_body *b, const settle_cut *cut, bool due, bool levelled)
{
    const bool part = cut && cut->nodes < b->nodes, dirty = (b->dirty && !b->cut_clean) || levelled;
    const bool lost = b->area == 0;
    const int32_t pieces = part ? 1 : b->cut_pieces;
    snapshot_put_number(w, b->material, 1);
    snapshot_put_number(w, (uint64_t)(cut ? cut->leaves : b->volume), 8);
    snapshot_put_number(w, (uint32_t)(cut && !cut->at_top && !lost ? SETTLE_FULL : b->level), 4);
    snapshot_put_number(w,
                        (b->closed ? FLAG_CLOSED : 0) | (dirty || pieces > 0 ? FLAG_DIRTY : 0) |
                            (b->may_be_split ? FLAG_SPLIT : 0) | (pieces > 0 ? FLAG_CUT : 0) |
                            (pieces > 0 && !dirty ? FLAG_CLEAN : 0) |
                            (b->seen_kept ? FLAG_SEEN | (b->seen.closed ? FLAG_SEEN_CLOSED : 0) : 0) | (due ? FLAG_DUE : 0) |
                            (lost ? FLAG_LOST : 0),
                        2);
    if (pieces > 0) snapshot_put_number(w, (uint32_t)pieces, 4);
    if (lost) snapshot_put_number(w, (uint32_t)b->top, 4);
    if (!b->seen_kept) return;
    snapshot_put_number(w, (uint32_t)b->seen.level, 4);
    snapshot_put_number(w, (uint32_t)b->seen.top, 4);
}

static void save_stage(const settle *s, snapshot_writer *w)
{
    snapshot_put_number(w, s->stage, 1);
    snapshot_put_number(w, s->growing, 1);
    if (!settle_goes_on(s)) return;
    snapshot_put_number(w, (uint32_t)cursor_of(s), 4);
    snapshot_put_number(w, (uint32_t)s->late, 4);
    snapshot_put_number(w, s->undone, 1);
    snapshot_put_number(w, (uint32_t)s->age, 4);
}

// Of the body that is being levelled: which one it is, and what has been spent on what.
static void save_levels(const settle *s, snapshot_writer *w, const body_numbers *numbers)
{
    const settle_levels *l = &s->levels;
    if (s->stage == STAGE_BEGIN) return;
    snapshot_put_number(w, (uint32_t)(l->body ? numbers->of[l->body] : 0), 4);
    if (!l->body) return;
    snapshot_put_number(w, (uint32_t)l->round, 1);
    snapshot_put_number(w, (body_at(s, l->body)->dirty ? FLAG_AGAIN : 0) | (l->apart ? FLAG_APART : 0), 1);
    snapshot_put_number(w, (uint32_t)l->held, 4);
    snapshot_put_number(w, s->search.kind, 1);
    snapshot_put_number(w, (uint64_t)found_so_far(s), 8);
    snapshot_put_number(w, (uint32_t)settle_parts_wanted(s), 4);
}

// Of the flood: the body that grows, those that come after it, and where others may begin.
static void save_flood(const settle *s, snapshot_writer *w, const body_numbers *numbers)
{
    const settle_flood *f = &s->flood;
    if (s->stage != STAGE_JOIN && s->stage != STAGE_SEED) return;
    snapshot_put_number(w, (uint32_t)f->count, 4);
    for (int32_t i = 0; i < f->count; i++)
        snapshot_put_coord(w, s->cells.pool.coord[s->joining[(f->first + i) % s->brick_room]]);
    if (f->count > 0) snapshot_put_number(w, (uint32_t)numbers->of[f->body], 4);
    snapshot_put_number(w, (uint32_t)(f->left - f->next), 1);
    for (int32_t i = f->next; i < f->left; i++) snapshot_put_number(w, (uint32_t)numbers->of[f->bodies[i]], 4);
    snapshot_put_number(w, f->seeding, 1);
    if (!f->seeding) return;
    snapshot_put_number(w, (uint32_t)(f->layer + 1), 1);
    snapshot_put_number(w, (uint32_t)f->tries, 1);
    snapshot_put_number(w, (uint32_t)f->face, 1);
    snapshot_put_number(w, f->seeds, 8);
}

static bool is_due(const settle *s, int32_t body)
{
    for (int32_t i = 0; i < s->levels.due; i++)
        if (s->changed[i] == body) return true;
    return false;
}

static bool is_saved(const settle *s, int32_t brick, const weir_box *box)
{
    return brick < s->brick_room && s->known[brick] && (!box || region_holds(*box, s->cells.pool.coord[brick]));
}

void settle_save_bricks(const settle *s, snapshot_writer *w, const weir_box *box, const settle_cut *cuts, int32_t *of)
{
    const brick_pool *pool = &s->cells.pool;
    const size_t live = (size_t)pool->live, bodies = (size_t)s->bodies.end;
    int32_t *bricks = snapshot_scratch(w, (live + 1) * sizeof *bricks);
    int32_t *by_number = bricks ? snapshot_scratch(w, bodies * sizeof *by_number) : NULL;
    body_numbers numbers = {of, 0};
    if (by_number) {
        int32_t known = 0;
        memset(numbers.of, 0, bodies * sizeof *numbers.of);
        bricks_sorted(pool, bricks);
        for (int32_t i = 0; i < pool->live; i++) known += is_saved(s, bricks[i], box);
        save_stage(s, w);
        snapshot_put_number(w, pool->topology_dirty, 1);
        snapshot_put_number(w, s->edited, 1);
        snapshot_put_number(w, (uint32_t)known, 4);
        for (int32_t i = 0; i < pool->live; i++)
            if (is_saved(s, bricks[i], box)) save_brick(s, w, bricks[i], box, &numbers);
        for (size_t body = 1; body < bodies; body++)
            if (numbers.of[body]) by_number[numbers.of[body]] = (int32_t)body;
        snapshot_put_number(w, (uint32_t)numbers.last, 4);
        for (int32_t i = 1; i <= numbers.last; i++)
            save_body(w, body_at(s, by_number[i]), cuts ? &cuts[by_number[i]] : NULL, is_due(s, by_number[i]),
                      by_number[i] == s->levels.body);
        save_levels(s, w, &numbers);
        save_flood(s, w, &numbers);
    }
    snapshot_scratch_free(w, by_number, bodies * sizeof *by_number);
    snapshot_scratch_free(w, bricks, (live + 1) * sizeof *bricks);
}

void settle_save(const void *state, snapshot_writer *w)
{
    const settle *s = state;
    const size_t size = (size_t)s->bodies.end * sizeof(int32_t);
    int32_t *numbers = snapshot_scratch(w, size);
    if (numbers) settle_save_bricks(s, w, NULL, NULL, numbers);
    snapshot_scratch_free(w, numbers, size);
}

// ---- Loading -----------------------------------------------------------------------------------------------------------------

static bool is_material(int32_t material)
{
    return material > WEIR_NOTHING && material < WEIR_MATERIAL_MAX;
}

// The materials of a brick's free water, of which the fills are there.
static weir_status load_materials(settle *a, snapshot_reader *r, int32_t brick, bool mixed)
{
    const weir_coord at = a->cells.pool.coord[brick];
    settle_page *page = a->bricks[brick].page;
    if (!mixed) {
        page->material = (uint8_t)snapshot_get_number(r, 1);
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        a->liquids |= UINT32_C(1) << (page->material & 31);
        if (is_material(page->material)) return WEIR_OK;
        return snapshot_damaged(r, "the water of the brick (%d, %d, %d) is of no material", at.x, at.y, at.z);
    }
    const weir_status status = settle_need_materials(a, brick);
    if (status != WEIR_OK) return status;
    if (!snapshot_get_values(r, page->materials[page->now], BRICK_CELLS, 1)) return snapshot_ends_early(r);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t material = page->materials[page->now][cell];
        const weir_coord c = brick_cell(at, cell);
        if (page_fill(page)[cell] > 0 ? !is_material(material) : material != WEIR_NOTHING)
            return snapshot_damaged(r, "cell (%d, %d, %d) holds a material %d", c.x, c.y, c.z, material);
        if (material) a->liquids |= UINT32_C(1) << material;
    }
    return WEIR_OK;
}

static weir_status load_free(settle *a, snapshot_reader *r, int32_t brick, bool mixed)
{
    const weir_coord at = a->cells.pool.coord[brick];
    settle_brick *b = &a->bricks[brick];
    weir_status status = settle_need_page(a, brick);
    if (status != WEIR_OK) return status;
    if (!snapshot_get_values(r, page_fill(b->page), BRICK_CELLS, 2) || !snapshot_get_values(r, b->page->calm, BRICK_CELLS, 1))
        return snapshot_ends_early(r);
    bool any = false;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t units = page_fill(b->page)[cell];
        const weir_coord c = brick_cell(at, cell);
        any |= units > 0;
        if (units > SETTLE_MOST || (units == 0 && b->page->calm[cell]))
            return snapshot_damaged(r, "cell (%d, %d, %d) holds %d drops", c.x, c.y, c.z, units * SETTLE_UNIT);
        if (units > 0 && !layers_have(&b->open, cell))
            return snapshot_damaged(r, "cell (%d, %d, %d) is solid and holds water", c.x, c.y, c.z);
    }
    status = load_materials(a, r, brick, mixed);
    if (status != WEIR_OK) return status;
    settle_look_at_page(a, brick);
    return any ? WEIR_OK : snapshot_damaged(r, "the brick (%d, %d, %d) has free water and holds none", at.x, at.y, at.z);
}

// The body of a number, which may be new.
static weir_status load_number(settle *a, snapshot_reader *r, int32_t *body)
{
    *body = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    const weir_status status = store_reserve(a, &a->bodies, 1);
    if (status != WEIR_OK) return status;
    if (*body < 1 || *body > a->bodies.end)
        return snapshot_damaged(r, "body %d of water comes after body %d", *body, a->bodies.end - 1);
    if (*body == a->bodies.end) settle_new_body(a, 0, WEIR_NOTHING);
    return WEIR_OK;
}

static weir_status load_outlet(settle *a, snapshot_reader *r, int32_t brick)
{
    int32_t body;
    weir_status status = load_number(a, r, &body);
    const int64_t up = (int64_t)snapshot_get_number(r, 8), down = (int64_t)snapshot_get_number(r, 8);
    if (status == WEIR_OK) status = store_reserve(a, &a->outlets, 1);
    if (status == WEIR_OK) settle_add_outlet(a, brick, body, up, down);
    return status;
}

static weir_status load_node(settle *a, snapshot_reader *r, int32_t brick)
{
    const weir_coord at = a->cells.pool.coord[brick];
    const settle_brick *b = &a->bricks[brick];
    layer_mask cells, taken = settle_taken(a, brick);
    int32_t body;
    weir_status status = load_number(a, r, &body);
    for (int32_t y = 0; y < 8; y++) cells.layer[y] = snapshot_get_number(r, 8);
    if (status == WEIR_OK && snapshot_ended(r)) return snapshot_ends_early(r);
    if (status == WEIR_OK) status = store_reserve(a, &a->nodes, 1);
    if (status != WEIR_OK) return status;
    if (settle_find_node(a, brick, body) || layers_empty(&cells))
        return snapshot_damaged(r, "the brick (%d, %d, %d) has water of a body %d", at.x, at.y, at.z, body);
    for (int32_t y = 0; y < 8; y++)
        if (cells.layer[y] & (~b->open.layer[y] | taken.layer[y] | (b->page ? b->page->wet.layer[y] : 0)))
            return snapshot_damaged(r, "a body of water in the brick (%d, %d, %d) lies in other cells", at.x, at.y, at.z);
    const int32_t node = settle_need_node(a, brick, body);
    node_at(a, node)->cells = cells;
    return WEIR_OK;
}

// A brick that was built over whole is there until the next update looks which are wanted: `dirty` says that it will.
static weir_status load_brick(settle *a, snapshot_reader *r, const terrain *t, const weir_box *box, bool dirty)
{
    const weir_coord at = snapshot_get_coord(r);
    const int32_t flags = (int32_t)snapshot_get_number(r, 2), nodes = (int32_t)snapshot_get_number(r, 2),
                  outlets = (int32_t)snapshot_get_number(r, 1);
    brick_mask open;
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (!snapshot_brick_sound(at) || (box && !region_holds(*box, at)))
        return snapshot_damaged(r, "the brick (%d, %d, %d) lies outside any %s", at.x, at.y, at.z, box ? "region" : "world");
    if (bricks_find(&a->cells.pool, at)) return snapshot_damaged(r, "the brick (%d, %d, %d) is there twice", at.x, at.y, at.z);
    if (!terrain_open(t, at, &open) && !dirty && !(flags & FLAG_LOOK))
        return snapshot_damaged(r, "the brick (%d, %d, %d) is solid throughout", at.x, at.y, at.z);
    const bool worked = flags & FLAG_WORKED;
    if ((flags & FLAG_MIXED && !(flags & FLAG_FREE)) || nodes > BRICK_CELLS || outlets > SETTLE_OUTLETS ||
        (outlets > 0 && flags & FLAG_ACTIVE) || (worked && (a->stage == STAGE_BEGIN || !(flags & FLAG_ACTIVE))) ||
        (flags & FLAG_DONE && !(worked && a->stage == STAGE_WORK)))
        return snapshot_damaged(r, "the brick (%d, %d, %d) makes no sense", at.x, at.y, at.z);
    const int32_t brick = bricks_born(&a->cells.pool, at, &open);
    weir_status status = settle_learn(a, brick, t);
    if (status == WEIR_OK && worked) status = settle_need_page(a, brick);
    if (status == WEIR_OK && flags & FLAG_FREE) status = load_free(a, r, brick, flags & FLAG_MIXED);
    const int32_t came = worked ? (int32_t)snapshot_get_number(r, 2) : 0;
    a->bricks[brick].outcome = (uint8_t)came;
    a->bricks[brick].liquid = came >> 8 ? SETTLE_SEVERAL : WEIR_NOTHING;
    if (status == WEIR_OK && came >> 8) status = settle_need_materials(a, brick);
    for (int32_t i = 0; i < nodes && status == WEIR_OK; i++) status = load_node(a, r, brick);
    for (int32_t i = 0; i < outlets && status == WEIR_OK; i++) status = load_outlet(a, r, brick);
    if (status == WEIR_OK && flags & FLAG_ACTIVE) settle_wake(a, brick);
    a->bricks[brick].worked = worked;
    a->bricks[brick].done = (flags & FLAG_DONE) != 0;
    a->bricks[brick].stirred = (flags & FLAG_STIRRED) != 0 || (a->stage == STAGE_BEGIN && a->bricks[brick].stirred);
    if (status == WEIR_OK && flags & FLAG_TOUCHING) {
        a->bricks[brick].touching = 1;
        a->touching[a->touching_count++] = brick;
    }
    a->cells.pool.wet_seen[brick] = flags & FLAG_LOOK ? WET_SEEN_AGAIN : (flags & FLAG_WET_SEEN) != 0;
    a->bricks[brick].fresh = (flags & FLAG_FRESH) != 0;
    a->cells.pool.wet[brick] = flags & FLAG_FREE || nodes > 0;
    return status;
}

static weir_status load_seen(snapshot_reader *r, settle_body *b, int32_t body, bool closed)
{
    b->seen.level = (int32_t)snapshot_get_number(r, 4);
    b->seen.top = (int32_t)snapshot_get_number(r, 4);
    b->seen.closed = closed;
    b->seen_kept = true;
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    const bool sound = b->seen.level >= 0 && b->seen.level <= SETTLE_FULL && b->seen.top >= -WEIR_COORD_LIMIT &&
                       b->seen.top <= WEIR_COORD_LIMIT;
    return sound ? WEIR_OK : snapshot_damaged(r, "body %d of water is seen at a level of %d", body, b->seen.level);
}

static bool may_have_lost(const settle_body *b, int32_t top)
{
    return top > b->top && top <= WEIR_COORD_LIMIT && top - b->top <= LOST_MOST;
}

// Among those that changed, to those of the round under way.
static void put_first(settle *a, int32_t body)
{
    settle_forget_body(a, body);
    a->changed[a->changed_count++] = a->changed[a->levels.due];
    a->changed[a->levels.due++] = body;
    body_at(a, body)->dirty = true;
}

static weir_status load_bodies(settle *a, snapshot_reader *r, bool of_region, int64_t held[WEIR_MATERIAL_MAX])
{
    enum { PIECES_MOST = 1 << 24 };
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (count != store_used(&a->bodies))
        return snapshot_damaged(r, "it has %d bodies of water, and claims %d", store_used(&a->bodies), count);
    weir_status status = settle_reserve_stores(a);
    for (int32_t body = 1; body <= count && status == WEIR_OK; body++) {
        const int32_t material = (int32_t)snapshot_get_number(r, 1);
        const int64_t volume = (int64_t)snapshot_get_number(r, 8);
        const int32_t level = (int32_t)snapshot_get_number(r, 4), flags = (int32_t)snapshot_get_number(r, 2);
        const int32_t pieces = flags & FLAG_CUT ? (int32_t)snapshot_get_number(r, 4) : 0;
        const int32_t lost = flags & FLAG_LOST ? (int32_t)snapshot_get_number(r, 4) : 0;
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        settle_body *b = body_at(a, body);
        if (!is_material(material)) return snapshot_damaged(r, "body %d of water is of no material", body);
        if (volume < 0 || volume > INT64_MAX / SETTLE_UNIT / 4 - held[material] / SETTLE_UNIT || level < 0 ||
            level > SETTLE_FULL || (flags & FLAG_DUE && (!(flags & FLAG_DIRTY) || a->stage == STAGE_BEGIN)) ||
            (flags & FLAG_SEEN && !(flags & FLAG_DIRTY && a->stage == STAGE_WORK)) || b->nodes == 0 || pieces < 0 ||
            pieces > PIECES_MOST)
            return snapshot_damaged(r, "body %d of water holds %lld units at a level of %d", body, (long long)volume, level);
        b->volume = volume;
        b->material = (uint8_t)material;
        a->liquids |= UINT32_C(1) << material;
        settle_recount(a, body);
        if (flags & FLAG_LOST && !(flags & FLAG_DIRTY && may_have_lost(b, lost)))
            return snapshot_damaged(r, "body %d of water has lost its cells up to layer %d", body, lost);
        if (flags & FLAG_LOST) settle_lose_layers(a, body, lost);
        settle_find_level(a, b);
        // One of which nothing changed holds what its cells do, and no less: edits count on it.
        const bool holds = b->level == level && volume >= b->base;
        if (!(flags & FLAG_DIRTY) && !holds && !of_region)
            return snapshot_damaged(r, "body %d of water holds %lld units at a level of %d", body, (long long)volume, level);
        b->level = level;
        b->closed = flags & FLAG_CLOSED;
        b->may_be_split = flags & FLAG_SPLIT;
        if (flags & FLAG_SEEN) status = load_seen(r, b, body, flags & FLAG_SEEN_CLOSED);
        b->cut_pieces = pieces;
        b->cut_clean = flags & FLAG_CLEAN || !(flags & FLAG_DIRTY);
        if (!(flags & FLAG_DIRTY) && holds) settle_forget_body(a, body);
        if (flags & FLAG_DUE) put_first(a, body);
        held[material] += volume * SETTLE_UNIT;
    }
    return status;
}

static weir_status load_levels(settle *a, snapshot_reader *r)
{
    settle_levels *l = &a->levels;
    if (a->stage == STAGE_BEGIN) return WEIR_OK;
    const int32_t body = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (body == 0 && l->due == 0) return WEIR_OK;
    l->round = (int32_t)snapshot_get_number(r, 1);
    const int32_t flags = (int32_t)snapshot_get_number(r, 1);
    l->held = (int32_t)snapshot_get_number(r, 4);
    const int32_t kind = (int32_t)snapshot_get_number(r, 1);
    const int64_t spent = (int64_t)snapshot_get_number(r, 8);
    const int32_t wanted = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    const bool levels = a->stage == STAGE_LEVEL_FIRST || a->stage == STAGE_LEVEL_MET || a->stage == STAGE_LEVEL ||
                        a->stage == STAGE_LEVEL_AGAIN;
    if (!levels || body < 1 || body >= a->bodies.end || !body_at(a, body)->dirty || l->round < 1 || kind >= SEARCH_COUNT ||
        spent < 0 || wanted < 0 || wanted / BRICK_CELLS > store_used(&a->nodes) || flags > FLAG_AGAIN + FLAG_APART)
        return snapshot_damaged(r, "body %d of water is being levelled in round %d", body, l->round);
    // It is not among those of the round any more.
    const bool clean = body_at(a, body)->cut_clean;
    settle_forget_body(a, body);
    if (flags & FLAG_AGAIN) settle_note_body(a, body);
    body_at(a, body)->cut_clean = clean;
    l->body = body;
    l->begun = true;
    l->apart = flags & FLAG_APART;
    a->search = (settle_search){.kind = (settle_search_kind)kind, .owed = spent, .wanted = wanted};
    return WEIR_OK;
}

static weir_status load_flood(settle *a, snapshot_reader *r)
{
    settle_flood *f = &a->flood;
    if (a->stage != STAGE_JOIN && a->stage != STAGE_SEED) return WEIR_OK;
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    bool sound = count >= 0 && count <= a->cells.pool.live;
    for (int32_t i = 0; i < count && sound; i++) {
        const int32_t brick = bricks_find(&a->cells.pool, snapshot_get_coord(r));
        sound = brick && a->bricks[brick].page && !a->bricks[brick].joins;
        if (!sound) break;
        a->bricks[brick].joins = 1;
        a->joining[f->count++] = brick;
    }
    if (count > 0) f->body = (int32_t)snapshot_get_number(r, 4);
    f->left = (int32_t)snapshot_get_number(r, 1);
    sound = sound && f->body >= (count > 0) && f->body < a->bodies.end && f->left <= 64;
    for (int32_t i = 0; i < f->left && sound; i++) {
        f->bodies[i] = (int32_t)snapshot_get_number(r, 4);
        sound = f->bodies[i] > 0 && f->bodies[i] < a->bodies.end;
    }
    f->seeding = snapshot_get_number(r, 1);
    if (f->seeding) {
        f->layer = (int32_t)snapshot_get_number(r, 1) - 1;
        f->tries = (int32_t)snapshot_get_number(r, 1);
        f->face = (int32_t)snapshot_get_number(r, 1);
        f->seeds = snapshot_get_number(r, 8);
    }
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    const bool within = f->count > 0 || f->left > 0 || f->seeding;
    sound = sound && f->seeding <= (a->stage == STAGE_SEED) && f->layer < 8 && f->tries <= SETTLE_SEEDS &&
            f->face <= FLOOD_FACES && (f->seeds == 0 || f->layer >= 0) && (!within || a->cursor > 0);
    return sound ? WEIR_OK : snapshot_damaged(r, "body %d of water takes in water in %d bricks", f->body, f->count);
}

static weir_status load_stage(settle *a, snapshot_reader *r)
{
    const uint64_t stage = snapshot_get_number(r, 1), growing = snapshot_get_number(r, 1);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (stage >= STAGE_COUNT || growing > 1 || (growing && stage != STAGE_BEGIN))
        return snapshot_damaged(r, "its water is at a stage %d", (int)stage);
    a->stage = (settle_stage)stage;
    a->growing = growing;
    if (!settle_goes_on(a)) return WEIR_OK;
    a->cursor = (int32_t)snapshot_get_number(r, 4);
    a->late = (int32_t)snapshot_get_number(r, 4);
    a->undone = snapshot_get_number(r, 1);
    a->age = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    return a->cursor >= 0 && a->late >= 0 && a->age > 0
               ? WEIR_OK
               : snapshot_damaged(r, "its water has come to brick %d in %d updates", a->cursor, a->age);
}

// The bricks of the generation under way come first, and those that edits undid are listed.
static weir_status list_worked(settle *a, snapshot_reader *r)
{
    int32_t others = 0;
    a->lost = a->stage == STAGE_WORK;
    for (int32_t i = 0; i < a->active_count; i++) {
        const int32_t brick = a->active[i];
        if (a->bricks[brick].worked)
            a->active[a->work_count++] = brick;
        else
            a->queue[others++] = brick;
    }
    memcpy(a->active + a->work_count, a->queue, (size_t)others * sizeof *a->active);
    if (a->cursor > a->work_count) return snapshot_damaged(r, "its water has come to brick %d of %d", a->cursor, a->work_count);
    for (int32_t i = 0; i < a->work_count && a->lost; i++) {
        const int32_t brick = a->active[i];
        if (i >= a->cursor && a->bricks[brick].done)
            return snapshot_damaged(r, "its water has come to brick %d of %d, and further", a->cursor, a->work_count);
        if (i < a->cursor && !a->bricks[brick].done) a->redo[a->redo_count++] = brick;
    }
    return WEIR_OK;
}

weir_status settle_load_bricks(settle *s, snapshot_reader *r, const terrain *t, const weir_box *box,
                               int64_t held[WEIR_MATERIAL_MAX], settle **arrival)
{
    settle *a = *arrival = memory_alloc_zero(&s->cells.world->mem, sizeof *a);
    if (!a) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while loading %s", snapshot_name(r));
    settle_begin(a, s->cells.world);
    const weir_status stage = load_stage(a, r);
    if (stage != WEIR_OK) return stage;
    if (box && settle_goes_on(a)) return snapshot_damaged(r, "it left in the middle of an update");
    const bool dirty = snapshot_get_number(r, 1);
    a->edited = snapshot_get_number(r, 1);
    const int32_t count = (int32_t)snapshot_get_number(r, 4);
    if (snapshot_ended(r)) return snapshot_ends_early(r);
    if (count < 0 || count > BRICK_MAX)
        return snapshot_damaged(r, "it claims %d bricks; a world holds at most %d", count, BRICK_MAX);
    if ((uint64_t)snapshot_left(r) < (uint64_t)count * 16)
        return snapshot_damaged(r, "it does not hold the %d bricks it claims", count);
    weir_status status =
        bricks_create(&s->cells.world->mem, count, s->cells.pool.channel_count, s->cells.pool.channel_bytes, &a->cells.pool);
    if (status == WEIR_OK) status = settle_sync(a);
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) status = load_brick(a, r, t, box, dirty);
    if (status == WEIR_OK) status = list_worked(a, r);
    if (status == WEIR_OK) status = load_bodies(a, r, box != NULL, held);
    if (status == WEIR_OK) status = load_levels(a, r);
    if (status == WEIR_OK) status = load_flood(a, r);
    if (status != WEIR_OK) return status;
    for (int32_t b = 1; b < a->cells.pool.end; b++)
        for (int32_t i = 0; i < BRICK_CELLS && a->bricks[b].page; i++)
            held[page_material(a->bricks[b].page, i)] += (int64_t)page_fill(a->bricks[b].page)[i] * SETTLE_UNIT;
    a->cells.pool.topology_dirty = dirty;
    return WEIR_OK;
}

weir_status settle_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    settle *a = NULL;
    const weir_status status = settle_load_bricks(state, r, t, NULL, held, &a);
    *arrival = a;
    return status;
}

void settle_adopt(void *state, void *arrival)
{
    settle *s = state, *a = arrival;
    cells_adopt_pool(&s->cells, &a->cells.pool);
    s->cells.pool.least = INT32_MAX;
    const settle old = *s;
#define SWAP(field) (s->field = a->field, a->field = old.field)
    SWAP(bricks);
    SWAP(known);
    SWAP(brick_room);
    SWAP(nodes);
    SWAP(bodies);
    SWAP(outlets);
    SWAP(histograms);
    SWAP(active);
    SWAP(active_count);
    SWAP(touching);
    SWAP(touching_count);
    SWAP(queue);
    SWAP(joining);
    SWAP(flood);
    SWAP(order);
    SWAP(changed);
    SWAP(changed_count);
    SWAP(changed_room);
    SWAP(parts);
    SWAP(part_room);
    SWAP(part_most);
    SWAP(pieces);
    SWAP(piece_room);
    SWAP(steps);
    SWAP(step_room);
    SWAP(levels);
    SWAP(search);
    SWAP(page_count);
    SWAP(share_count);
    SWAP(mixed_count);
    SWAP(liquids);
    SWAP(pending_count);
    SWAP(stage);
    SWAP(growing);
    SWAP(edited);
    SWAP(work_count);
    SWAP(cursor);
    SWAP(late);
    SWAP(undone);
    SWAP(age);
    SWAP(redo);
    SWAP(redo_count);
    SWAP(slice);
    SWAP(lost);
#undef SWAP
    atomic_store(&s->gain_count, 0);
    s->births = BORN_OF_EDIT;
    s->failed = false;  // an update of the world that was here
    // It was read while the world had the patience of before.
    settle_note_settled(s, settle_get_limits(s).patience);
}

void settle_discard(void *state, void *arrival)
{
    settle *s = state, *a = arrival;
    if (!a) return;
    settle_free_tables(a);
    if (a->cells.pool.mem) bricks_destroy(&a->cells.pool);
    memory_free(&s->cells.world->mem, a, sizeof *a);
}
