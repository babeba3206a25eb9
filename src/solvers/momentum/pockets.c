// Pockets of air. What follows a move:
//
//     pieces     per brick: which of its cells are air, and which of these hang together in it
//     pockets    pieces that touch over the faces of bricks are one; one with a way out is open air
//     sums       volume, gas, and how the move changed the volume, of each pocket
//     pressure   from these
//     cells      get their pocket's pressure and their share of its gas
//
// Bricks do their part alone, several at a time; sums are of integers, so their order does not matter. The pieces of a brick are only looked
// for where its air has changed.
//
// Water that is thin enough to be no air and still not full has a part in the volume of the air beside it: what it lacks goes in equal parts
// to its faces with air. So the volume does not jump where a surface passes from one cell to the next.
#include "base/workers.h"
#include "compute/backend.h"
#include "solvers/momentum/air.h"
#include "solvers/momentum/momentum.h"
#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 16,          // bricks per piece of work
    AIR = WEIR_FULL / 2  // a cell with less water is air
};

static const uint64_t COLUMN_0 = 0x0101010101010101;

// Of pockets that swing faster than moves follow, see pressure_of: how much softer they are, how much water moves with their surface, and the
// most that gas is compressed.
#define POCKET_SOFT 22.0
#define POCKET_REACH 7.8
#define POCKET_TIMES 16.0

// Of the pieces of a pocket that were joined one stands for all, and has its sums.
typedef struct air_piece {
    int32_t parent;
    bool open;  // it reaches the open air
    float pressure;
    weir_coord at;        // the brick of its first cell
    int32_t brick, cell;  // that cell
    int32_t empty;        // what an empty cell has of its gas
    int64_t each, rest;   // of its gas, for a volume of 64 drops, and what that leaves
    _Atomic int64_t volume, volume_before, gas, weight, given;
} air_piece;

// A piece of a brick's air by itself.
typedef struct brick_piece {
    uint16_t cells, first;
    bool exits;
} brick_piece;

// Bricks without water around them, that air is followed through.
typedef struct dry_brick {
    brick_mask open;
    uint8_t label[BRICK_CELLS];
    uint8_t state[AIR_PIECES + 1];  // of each piece: dry_state
} dry_brick;

typedef enum dry_state { DRY_UNKNOWN, DRY_SEEN, DRY_OPEN, DRY_SHUT } dry_state;

typedef struct dry_search {
    dry_brick *brick;
    weir_coord *at;
    int32_t *slot;
    int32_t *node;  // pieces met in this search, as AIR_PIECES + 1 times the brick's number and the label
    int32_t count, room, slots;
    int32_t node_count, node_room;
    weir_box known;  // bricks beyond which there is nothing, if the world is not bounded
} dry_search;

struct momentum_pockets {
    fluid_cells *c;
    int32_t room;      // bricks there is room for in the tables by brick
    uint64_t version;  // of the pool that exits and pieces are of
    brick_mask *air;
    brick_mask *exits;  // cells that are open air if they are air: beyond the bounds, or beside a brick that is not there
    uint8_t (*label)[BRICK_CELLS];
    uint8_t *pieces;  // how many; UINT8_MAX: nobody has looked
    brick_piece (*of)[AIR_PIECES];
    uint8_t *dry;           // 1: no water was in it before the move or is after it
    float *calm_air;        // see pockets_calm_air
    int32_t (*rising)[64];  // gas that leaves the brick upwards, by the face's cells
    uint8_t *rises;         // 1: some does, or may within the brick
    air_piece *piece;       // AIR_PIECES a brick
    dry_search search;
    // Bricks of shut air that are not near water.
    weir_coord *kept;  // the first place is free
    int32_t *kept_slot;
    int32_t kept_count, kept_room, kept_slots;
    bool found;             // they are those of the water as it is
    uint8_t *wet;           // by brick, as it was when they were found
    uint64_t kept_version;  // of the pool in which they were found
};

// ---- Pieces of a brick -----------------------------------------------------------------------------------------------------

static inline uint64_t spread(uint64_t plane)
{
    return plane | (plane << 1 & ~COLUMN_0) | (plane >> 1 & ~(COLUMN_0 << 7)) | plane << 8 | plane >> 8;
}

// All of a mask that hangs together with some cells of it.
static brick_mask grow(const brick_mask *all, brick_mask some)
{
    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t k = 0; k < 16; k++) {
            const int32_t z = k < 8 ? k : 15 - k;
            uint64_t more = spread(some.plane[z]) | (z > 0 ? some.plane[z - 1] : 0) | (z < 7 ? some.plane[z + 1] : 0);
            more &= all->plane[z];
            grown |= more != some.plane[z];
            some.plane[z] = more;
        }
    }
    return some;
}

// Gives the cells of a mask the number of their piece, from 1 on, in the order of their first cells; the others 0.
static int32_t find_pieces(const brick_mask *mask, uint8_t label[BRICK_CELLS])
{
    brick_mask left = *mask;
    int32_t pieces = 0;
    memset(label, 0, BRICK_CELLS);
    for (int32_t z = 0; z < 8; z++) {
        while (left.plane[z]) {
            brick_mask piece = {{0}};
            piece.plane[z] = left.plane[z] & (~left.plane[z] + 1);
            piece = grow(&left, piece);
            if (pieces < AIR_PIECES) pieces++;
            for (int32_t k = 0; k < 8; k++) {
                left.plane[k] &= ~piece.plane[k];
                for (uint64_t cells = piece.plane[k]; cells; cells &= cells - 1)
                    label[64 * k + __builtin_ctzll(cells)] = (uint8_t)pieces;
            }
        }
    }
    return pieces;
}

// ---- Faces of bricks -------------------------------------------------------------------------------------------------------

// The neighbour on an axis, before (side -1) or behind.
static inline int32_t near_of(int32_t axis, int32_t side)
{
    static const int32_t step[3] = {NEAR(1, 0, 0) - BRICK_SELF, NEAR(0, 1, 0) - BRICK_SELF, NEAR(0, 0, 1) - BRICK_SELF};
    return BRICK_SELF + side * step[axis];
}

// A cell of a brick's first layer on an axis, or of its last.
static inline int32_t face_cell(int32_t axis, int32_t i, bool last)
{
    return cells_low_face(axis, i) + (last ? 7 << 3 * axis : 0);
}

// The number of a cell in its layer across an axis.
static inline int32_t face_index(int32_t axis, int32_t cell)
{
    return axis == 0 ? cell >> 3 : axis == 1 ? (cell & 7) + (cell >> 6) * 8 : cell & 63;
}

// ---- Bricks of shut air ----------------------------------------------------------------------------------------------------

static bool is_wanted(const brick_pool *pool, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++)
        if (pool->wet[pool->near[brick][k]]) return true;
    return false;
}

// Whether a brick that no water needs is to stay: any, until it has been found out which are to.
static bool keeps(const fluid_cells *c, int32_t brick)
{
    const momentum_pockets *p = c->keeper;
    if (!p->found) return true;
    if (p->kept_count == 0) return false;
    return *coord_slot(p->kept_slot, (uint32_t)p->kept_slots - 1, p->kept, c->pool.coord[brick]) != 0;
}

static weir_status no_room(const char *what)
{
    return status_fail(WEIR_ERROR_MEMORY, "memory ran out for %s", what);
}

static bool grow_slots(memory *mem, int32_t **slot, int32_t *slots, int32_t wanted)
{
    if (wanted <= *slots) return true;
    memory_free(mem, *slot, (size_t)*slots * sizeof **slot);
    *slots = 0;
    *slot = memory_alloc_zero(mem, (size_t)wanted * sizeof **slot);
    if (*slot) *slots = wanted;
    return *slot != NULL;
}

// Room for one brick more.
static bool grow_search(memory *mem, dry_search *s)
{
    if (s->slot && s->count + 2 < s->room) return true;
    const int32_t room = s->room ? 2 * s->room : 64;
    dry_brick *brick = memory_resize(mem, s->brick, (size_t)s->room * sizeof *brick, (size_t)room * sizeof *brick);
    if (!brick) return false;
    s->brick = brick;
    weir_coord *at = memory_resize(mem, s->at, (size_t)s->room * sizeof *at, (size_t)room * sizeof *at);
    if (!at) {
        // Both have the same room, or none.
        memory_free(mem, s->brick, (size_t)room * sizeof *brick);
        memory_free(mem, s->at, (size_t)s->room * sizeof *at);
        s->brick = NULL;
        s->at = NULL;
        s->room = s->count = 0;
        return false;
    }
    s->at = at;
    s->room = room;
    if (!grow_slots(mem, &s->slot, &s->slots, 4 * room)) return false;
    memset(s->slot, 0, (size_t)s->slots * sizeof *s->slot);
    for (int32_t i = 1; i <= s->count; i++) *coord_slot(s->slot, (uint32_t)s->slots - 1, s->at, s->at[i]) = i;
    return true;
}

// The number of a brick in the search, from 1 on; 0 if memory ran out.
static int32_t find_dry(const momentum_pockets *p, dry_search *s, weir_coord at)
{
    memory *mem = &p->c->world->mem;
    if (!grow_search(mem, s)) return 0;
    int32_t *slot = coord_slot(s->slot, (uint32_t)s->slots - 1, s->at, at);
    if (*slot) return *slot;
    *slot = ++s->count;
    dry_brick *brick = &s->brick[s->count];
    s->at[s->count] = at;
    memset(brick->state, DRY_UNKNOWN, sizeof brick->state);
    terrain_open(&p->c->world->terrain, at, &brick->open);
    find_pieces(&brick->open, brick->label);
    return s->count;
}

static bool add_node(memory *mem, dry_search *s, int32_t node)
{
    if (s->node_count == s->node_room) {
        const int32_t room = s->node_room ? 2 * s->node_room : 256;
        int32_t *more = memory_resize(mem, s->node, (size_t)s->node_room * sizeof *more, (size_t)room * sizeof *more);
        if (!more) return false;
        s->node = more;
        s->node_room = room;
    }
    s->node[s->node_count++] = node;
    return true;
}

// Whether a piece of a dry brick lies in the open by itself.
static bool lies_open(const momentum_pockets *p, const dry_search *s, int32_t number, int32_t label)
{
    const terrain *t = &p->c->world->terrain;
    const weir_coord at = s->at[number];
    const dry_brick *brick = &s->brick[number];
    if (!t->bounded) {
        const weir_box *k = &s->known;
        return !t->source && (at.x < k->min.x || at.y < k->min.y || at.z < k->min.z || at.x >= k->max.x || at.y >= k->max.y ||
                              at.z >= k->max.z);
    }
    if (t->open_sides == 0 || !backend_reaches_out(backend_box(t->bounds), at)) return false;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        if (brick->label[cell] == label && !terrain_inside(t, brick_cell(at, cell))) return true;
    return false;
}

typedef enum follow_end { FOLLOW_SHUT, FOLLOW_OPEN, FOLLOW_NO_MEMORY } follow_end;

// Goes from a piece of a dry brick to those beside it.
static follow_end follow(const momentum_pockets *p, dry_search *s, int32_t number, int32_t label)
{
    const brick_pool *pool = &p->c->pool;
    // Up comes last, and is followed first.
    static const int32_t ways[6][2] = {{1, -1}, {0, -1}, {0, 1}, {2, -1}, {2, 1}, {1, 1}};
    for (int32_t w = 0; w < 6; w++) {
        const int32_t axis = ways[w][0], side = ways[w][1];
        const weir_coord at = brick_neighbour(s->at[number], near_of(axis, side));
        const int32_t there = bricks_find(pool, at);
        if (there != BRICK_NOTHING && is_wanted(pool, there)) continue;
        const int32_t other = find_dry(p, s, at);
        if (other == 0) return FOLLOW_NO_MEMORY;
        for (int32_t i = 0; i < 64; i++) {
            if (s->brick[number].label[face_cell(axis, i, side > 0)] != label) continue;
            const int32_t next = s->brick[other].label[face_cell(axis, i, side < 0)];
            if (next == 0) continue;
            uint8_t *state = &s->brick[other].state[next];
            if (*state == DRY_OPEN) return FOLLOW_OPEN;
            if (*state != DRY_UNKNOWN) continue;
            *state = DRY_SEEN;
            if (!add_node(&p->c->world->mem, s, other * (AIR_PIECES + 1) + next)) return FOLLOW_NO_MEMORY;
        }
    }
    return FOLLOW_SHUT;
}

// Finds out whether a piece of a dry brick hangs together with the open air, and gives all that were met on the way what was found.
static follow_end follow_from(const momentum_pockets *p, dry_search *s, int32_t number, int32_t label)
{
    follow_end end = FOLLOW_SHUT;
    s->node_count = 0;
    s->brick[number].state[label] = DRY_SEEN;
    if (!add_node(&p->c->world->mem, s, number * (AIR_PIECES + 1) + label)) return FOLLOW_NO_MEMORY;
    // Those before `done` have been gone from. The last ones come next, so they change places.
    for (int32_t done = 0; done < s->node_count && end == FOLLOW_SHUT; done++) {
        const int32_t last = s->node_count - 1, node = s->node[last];
        s->node[last] = s->node[done];
        s->node[done] = node;
        const int32_t brick = node / (AIR_PIECES + 1), piece = node % (AIR_PIECES + 1);
        end = s->node_count > AIR_SEARCHED || lies_open(p, s, brick, piece) ? FOLLOW_OPEN : follow(p, s, brick, piece);
    }
    if (end == FOLLOW_NO_MEMORY) return end;
    for (int32_t i = 0; i < s->node_count; i++)
        s->brick[s->node[i] / (AIR_PIECES + 1)].state[s->node[i] % (AIR_PIECES + 1)] = end == FOLLOW_OPEN ? DRY_OPEN : DRY_SHUT;
    return end;
}

static weir_status keep(momentum_pockets *p, weir_coord at)
{
    memory *mem = &p->c->world->mem;
    if (!p->kept_slot || p->kept_count + 2 >= p->kept_room) {
        const int32_t room = p->kept_room ? 2 * p->kept_room : 64;
        weir_coord *more = memory_resize(mem, p->kept, (size_t)p->kept_room * sizeof *more, (size_t)room * sizeof *more);
        if (!more) return no_room("bricks of air");
        p->kept = more;
        p->kept_room = room;
        if (!grow_slots(mem, &p->kept_slot, &p->kept_slots, 4 * room)) return no_room("bricks of air");
        memset(p->kept_slot, 0, (size_t)p->kept_slots * sizeof *p->kept_slot);
        for (int32_t i = 1; i <= p->kept_count; i++)
            *coord_slot(p->kept_slot, (uint32_t)p->kept_slots - 1, p->kept, p->kept[i]) = i;
    }
    int32_t *slot = coord_slot(p->kept_slot, (uint32_t)p->kept_slots - 1, p->kept, at);
    if (*slot) return WEIR_OK;
    *slot = ++p->kept_count;
    p->kept[p->kept_count] = at;
    return WEIR_OK;
}

static void take_in(weir_box *box, weir_coord min, weir_coord max)
{
    if (min.x < box->min.x) box->min.x = min.x;
    if (min.y < box->min.y) box->min.y = min.y;
    if (min.z < box->min.z) box->min.z = min.z;
    if (max.x > box->max.x) box->max.x = max.x;
    if (max.y > box->max.y) box->max.y = max.y;
    if (max.z > box->max.z) box->max.z = max.z;
}

// The bricks of all that is in the world: beyond them there is only open air.
static weir_box find_known(const momentum_pockets *p)
{
    const terrain *t = &p->c->world->terrain;
    const brick_pool *pool = &p->c->pool;
    weir_box box = {{INT32_MAX, INT32_MAX, INT32_MAX}, {INT32_MIN, INT32_MIN, INT32_MIN}};
    for (int32_t i = 0; i < t->slot_count; i++) {
        const weir_coord at = t->slot[i].coord;
        if (t->slot[i].used) take_in(&box, at, (weir_coord){at.x + 1, at.y + 1, at.z + 1});
    }
    for (int32_t b = 1; b < pool->end; b++) {
        const weir_coord at = pool->coord[b];
        if (pool->alive[b]) take_in(&box, at, (weir_coord){at.x + 1, at.y + 1, at.z + 1});
    }
    for (int32_t i = 0; i < t->absent.count; i++) take_in(&box, t->absent.boxes[i].min, t->absent.boxes[i].max);
    return box;
}

// Follows the air behind one face of a brick that water needs.
static weir_status follow_face(momentum_pockets *p, int32_t brick, int32_t axis, int32_t side)
{
    const brick_pool *pool = &p->c->pool;
    dry_search *s = &p->search;
    const int32_t k = near_of(axis, side), there = pool->near[brick][k];
    if (there != BRICK_NOTHING ? is_wanted(pool, there) : pool->closed[brick] >> k & 1) return WEIR_OK;
    const int32_t number = find_dry(p, s, brick_neighbour(pool->coord[brick], k));
    if (number == 0) return no_room("air");
    for (int32_t i = 0; i < 64; i++) {
        if (!mask_has(&pool->open[brick], face_cell(axis, i, side > 0))) continue;
        const int32_t label = s->brick[number].label[face_cell(axis, i, side < 0)];
        if (label == 0 || s->brick[number].state[label] != DRY_UNKNOWN) continue;
        const follow_end end = follow_from(p, s, number, label);
        if (end == FOLLOW_NO_MEMORY) return no_room("air");
        for (int32_t n = 0; end == FOLLOW_SHUT && n < s->node_count; n++) {
            const weir_status status = keep(p, s->at[s->node[n] / (AIR_PIECES + 1)]);
            if (status != WEIR_OK) return status;
        }
    }
    return WEIR_OK;
}

// Finds the bricks of shut air that no water needs.
static weir_status find_kept(momentum_pockets *p)
{
    const brick_pool *pool = &p->c->pool;
    dry_search *s = &p->search;
    weir_status status = WEIR_OK;
    s->count = 0;
    if (s->slot) memset(s->slot, 0, (size_t)s->slots * sizeof *s->slot);
    s->known = find_known(p);
    p->kept_count = 0;
    if (p->kept_slot) memset(p->kept_slot, 0, (size_t)p->kept_slots * sizeof *p->kept_slot);
    for (int32_t b = 1; b < pool->end && status == WEIR_OK; b++) {
        if (!pool->alive[b] || !is_wanted(pool, b)) continue;
        for (int32_t axis = 0; axis < 3 && status == WEIR_OK; axis++) {
            status = follow_face(p, b, axis, -1);
            if (status == WEIR_OK) status = follow_face(p, b, axis, 1);
        }
    }
    if (status != WEIR_OK) p->kept_count = 0;
    return status;
}

// ---- Room ------------------------------------------------------------------------------------------------------------------

#define BRICK_TABLES(TABLE) \
    TABLE(wet)              \
    TABLE(air) TABLE(exits) TABLE(label) TABLE(pieces) TABLE(of) TABLE(dry) TABLE(calm_air) TABLE(rising) TABLE(rises)

static void free_tables(momentum_pockets *p)
{
    memory *mem = &p->c->world->mem;
    const size_t room = (size_t)p->room;
#define FREE(table)                                      \
    memory_free(mem, p->table, room * sizeof *p->table); \
    p->table = NULL;
    BRICK_TABLES(FREE)
#undef FREE
    memory_free(mem, p->piece, room * AIR_PIECES * sizeof *p->piece);
    p->piece = NULL;
    p->room = 0;
}

static weir_status reserve_tables(momentum_pockets *p)
{
    memory *mem = &p->c->world->mem;
    const int32_t capacity = p->c->pool.capacity;
    if (p->room >= capacity) return WEIR_OK;
    free_tables(p);
    pockets_forget(p);
    p->room = capacity;
    const size_t room = (size_t)capacity;
    bool complete = true;
#define MAKE(table)                                             \
    p->table = memory_alloc_zero(mem, room * sizeof *p->table); \
    complete = complete && p->table;
    BRICK_TABLES(MAKE)
#undef MAKE
    p->piece = memory_alloc_zero(mem, room * AIR_PIECES * sizeof *p->piece);
    if (complete && p->piece) return WEIR_OK;
    free_tables(p);
    return no_room("pockets of air");
}

// The cells of a brick from which air has a way out.
static brick_mask find_exits(const momentum_pockets *p, int32_t brick)
{
    const brick_pool *pool = &p->c->pool;
    const terrain *t = &p->c->world->terrain;
    const weir_coord at = pool->coord[brick];
    brick_mask exits = {{0}}, open;
    if (t->bounded && t->open_sides && backend_reaches_out(backend_box(t->bounds), at))
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
            if (!terrain_inside(t, brick_cell(at, cell))) exits.plane[cell >> 6] |= (uint64_t)1 << (cell & 63);
    for (int32_t way = 0; way < 6; way++) {
        const int32_t axis = way >> 1, k = near_of(axis, way & 1 ? 1 : -1);
        if (pool->near[brick][k] != BRICK_NOTHING || pool->closed[brick] >> k & 1) continue;
        if (!terrain_open(t, brick_neighbour(at, k), &open)) continue;
        for (int32_t i = 0; i < 64; i++) {
            const int32_t cell = face_cell(axis, i, way & 1);
            if (mask_has(&open, face_cell(axis, i, !(way & 1)))) exits.plane[cell >> 6] |= (uint64_t)1 << (cell & 63);
        }
    }
    return exits;
}

weir_status pockets_reserve(momentum_pockets *p)
{
    fluid_cells *c = p->c;
    brick_pool *pool = &c->pool;
    bool reservoirs = !cells_topology_holds(c);  // otherwise their bricks are there
    weir_status status = cells_topology(c);
    if (status != WEIR_OK) return status;
    if (p->kept_version != pool->version || memcmp(pool->wet, p->wet, (size_t)pool->end) != 0) {
        p->kept_version = UINT64_MAX;
        reservoirs = true;
        status = find_kept(p);
        if (status == WEIR_OK && p->kept_count > 0) status = cells_touch_list(c, p->kept + 1, p->kept_count);
        p->found = status == WEIR_OK;
        pool->topology_dirty = true;  // for those that are kept no longer
        if (status == WEIR_OK) status = cells_topology(c);
        p->found = false;
        if (status == WEIR_OK) p->kept_version = pool->version;
    }
    if (status == WEIR_OK) status = cells_touch_sources(c, reservoirs);
    if (status == WEIR_OK) status = reserve_tables(p);
    if (status != WEIR_OK) return status;
    memcpy(p->wet, pool->wet, (size_t)pool->end);
    if (p->version == pool->version) return WEIR_OK;
    memset(p->pieces, UINT8_MAX, (size_t)p->room);
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b]) p->exits[b] = find_exits(p, b);
    p->version = pool->version;
    return WEIR_OK;
}

void pockets_forget(momentum_pockets *p)
{
    p->version = p->kept_version = UINT64_MAX;
}

// ---- Pieces ----------------------------------------------------------------------------------------------------------------

typedef struct find_job {
    momentum_pockets *p;
    const air_cells *cells;
    int32_t up_axis, up;  // up 0: nowhere
} find_job;

static brick_mask find_air(const int32_t *drops, const brick_mask *open)
{
    brick_mask air;
    for (int32_t z = 0; z < 8; z++) {
        uint64_t bits = 0;
        for (int32_t i = 0; i < 64; i++) bits |= (uint64_t)(drops[64 * z + i] < AIR) << i;
        air.plane[z] = bits & open->plane[z];
    }
    return air;
}

static bool is_dry(const int32_t *drops)
{
    int32_t any = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) any |= drops[i];
    return any == 0;
}

static void look_at_pieces(momentum_pockets *p, int32_t brick)
{
    const uint8_t *label = p->label[brick];
    p->pieces[brick] = (uint8_t)find_pieces(&p->air[brick], p->label[brick]);
    memset(p->of[brick], 0, sizeof p->of[brick]);
    for (int32_t cell = 0; cell < BRICK_CELLS && p->pieces[brick] > 0; cell++) {
        if (label[cell] == 0) continue;
        brick_piece *piece = &p->of[brick][label[cell] - 1];
        if (piece->cells++ == 0) piece->first = (uint16_t)cell;
        piece->exits |= mask_has(&p->exits[brick], cell);
    }
}

static void find_pieces_of(void *context, int32_t begin, int32_t end, int32_t worker)
{
    const find_job *job = context;
    momentum_pockets *p = job->p;
    const brick_pool *pool = &p->c->pool;
    (void)worker;
    for (int32_t b = begin; b < end; b++) {
        if (b == BRICK_NOTHING || !pool->alive[b]) continue;
        const int32_t *after = job->cells->after + (size_t)b * BRICK_CELLS;
        p->dry[b] = is_dry(after) && is_dry(job->cells->before + (size_t)b * BRICK_CELLS);
        const brick_mask air = p->dry[b] ? pool->open[b] : find_air(after, &pool->open[b]);
        if (p->pieces[b] == UINT8_MAX || memcmp(&air, &p->air[b], sizeof air) != 0) {
            p->air[b] = air;
            look_at_pieces(p, b);
        }
        for (int32_t k = 0; k < p->pieces[b]; k++) {
            const brick_piece *of = &p->of[b][k];
            p->piece[b * AIR_PIECES + k] = (air_piece){
                .parent = b * AIR_PIECES + k, .open = of->exits, .at = pool->coord[b], .brick = b, .cell = of->first};
        }
    }
}

static int32_t root_of(const momentum_pockets *p, int32_t piece)
{
    while (p->piece[piece].parent != piece) piece = p->piece[piece].parent;
    return piece;
}

static int32_t shorten(momentum_pockets *p, int32_t piece)
{
    const int32_t root = root_of(p, piece);
    while (p->piece[piece].parent != root) {
        const int32_t next = p->piece[piece].parent;
        p->piece[piece].parent = root;
        piece = next;
    }
    return root;
}

static void join(momentum_pockets *p, int32_t a, int32_t b)
{
    a = shorten(p, a);
    b = shorten(p, b);
    if (a == b) return;
    air_piece *to = &p->piece[a], *from = &p->piece[b];
    from->parent = a;
    to->open |= from->open;
    const int order = coord_compare(from->at, to->at);
    if (order > 0 || (order == 0 && from->cell > to->cell)) return;
    to->at = from->at;
    to->brick = from->brick;
    to->cell = from->cell;
}

// Joins the pieces that touch over a brick's upper faces.
static void join_over_faces(momentum_pockets *p, int32_t brick)
{
    for (int32_t axis = 0; axis < 3; axis++) {
        const int32_t next = p->c->pool.near[brick][near_of(axis, 1)];
        if (next == BRICK_NOTHING || p->pieces[next] == 0) continue;
        int32_t before = 0, behind = 0;
        for (int32_t i = 0; i < 64; i++) {
            const int32_t a = p->label[brick][face_cell(axis, i, true)], b = p->label[next][face_cell(axis, i, false)];
            if (a == 0 || b == 0 || (a == before && b == behind)) continue;
            join(p, brick * AIR_PIECES + a - 1, next * AIR_PIECES + b - 1);
            before = a;
            behind = b;
        }
    }
}

static void join_pieces(momentum_pockets *p)
{
    const brick_pool *pool = &p->c->pool;
    for (int32_t b = 1; b < pool->end; b++)
        if (pool->alive[b] && p->pieces[b] > 0) join_over_faces(p, b);
    for (int32_t b = 1; b < pool->end; b++)
        for (int32_t k = 0; pool->alive[b] && k < p->pieces[b]; k++) shorten(p, b * AIR_PIECES + k);
}

// ---- Sums ------------------------------------------------------------------------------------------------------------------

// The pocket of an air cell.
static inline air_piece *pocket_of(const momentum_pockets *p, int32_t brick, int32_t cell)
{
    return &p->piece[p->piece[brick * AIR_PIECES + p->label[brick][cell] - 1].parent];
}

static inline int32_t gas_of(int32_t gas)
{
    return gas > 0 ? gas - 1 : 0;
}

// What a cell lacks to be full.
static inline int32_t lacks(int32_t drops)
{
    return drops < WEIR_FULL ? WEIR_FULL - drops : 0;
}

static inline void add_to(_Atomic int64_t *sum, int64_t value)
{
    atomic_fetch_add_explicit(sum, value, memory_order_relaxed);
}

// The cells of a plane whose neighbour on one side is air.
static uint64_t beside_air(const momentum_pockets *p, int32_t brick, int32_t z, int32_t way)
{
    const int32_t *near = p->c->pool.near[brick];
    const uint64_t *own = p->air[brick].plane;
#define OF(axis, side) p->air[near[near_of(axis, side)]].plane
    switch (way) {
    case 0: return (own[z] << 1 & ~COLUMN_0) | (OF(0, -1)[z] >> 7 & COLUMN_0);
    case 1: return (own[z] >> 1 & ~(COLUMN_0 << 7)) | (OF(0, 1)[z] << 7 & COLUMN_0 << 7);
    case 2: return own[z] << 8 | OF(1, -1)[z] >> 56;
    case 3: return own[z] >> 8 | OF(1, 1)[z] << 56;
    case 4: return z > 0 ? own[z - 1] : OF(2, -1)[7];
    default: return z < 7 ? own[z + 1] : OF(2, 1)[0];
    }
#undef OF
}

// Cells of water beside air.
static brick_mask find_shores(const momentum_pockets *p, int32_t brick)
{
    brick_mask shores;
    for (int32_t z = 0; z < 8; z++) {
        uint64_t any = 0;
        for (int32_t way = 0; way < 6; way++) any |= beside_air(p, brick, z, way);
        shores.plane[z] = any & p->c->pool.open[brick].plane[z] & ~p->air[brick].plane[z];
    }
    return shores;
}

// The pockets at the faces of a cell, one for each face with air. Returns how many.
static int32_t pockets_beside(const momentum_pockets *p, int32_t brick, int32_t cell, air_piece *beside[6])
{
    int32_t count = 0;
    for (int32_t way = 0; way < 6; way++) {
        int32_t next;
        const int32_t there = fluid_step((const int32_t(*)[27])p->c->pool.near, brick, cell, way >> 1, way & 1 ? 1 : -1, &next);
        if (mask_has(&p->air[there], next)) beside[count++] = pocket_of(p, there, next);
    }
    return count;
}

// The gas that rises from a cell of water without air beside it into the cell above, which is no air either.
static int32_t rises_from(const find_job *job, int32_t brick, int32_t cell)
{
    const brick_pool *pool = &job->p->c->pool;
    const int32_t gas = gas_of(job->cells->gas[(size_t)brick * BRICK_CELLS + (size_t)cell]);
    if (gas == 0 || gas > AIR_GAS_MOST / 2 || job->up == 0) return 0;
    int32_t next;
    const int32_t above = fluid_step((const int32_t(*)[27])pool->near, brick, cell, job->up_axis, job->up, &next);
    if (!mask_has(&pool->open[above], next)) return 0;
    return gas_of(job->cells->gas[(size_t)above * BRICK_CELLS + (size_t)next]) > AIR_GAS_MOST / 2 ? 0 : gas;
}

static void add_shore(const find_job *job, int32_t brick, int32_t cell)
{
    const momentum_pockets *p = job->p;
    const size_t at = (size_t)brick * BRICK_CELLS + (size_t)cell;
    const int32_t gas = job->cells->gas[at], volume = lacks(job->cells->after[at]);
    air_piece *beside[6];
    const int32_t count = pockets_beside(p, brick, cell, beside);
    // Of the open air it has as much as the open air would have.
    const int32_t part = gas == 0 ? volume / count : gas_of(gas) / count;
    for (int32_t k = 0; k < count; k++) {
        if (beside[k]->open) continue;
        add_to(&beside[k]->volume, volume / count);
        add_to(&beside[k]->volume_before, lacks(job->cells->before[at]) / count);
        add_to(&beside[k]->gas, part);
    }
}

typedef struct air_sums {
    int64_t volume, before, gas, weight;
} air_sums;

static void add_brick(const find_job *job, int32_t b, air_sums sums[AIR_PIECES])
{
    const momentum_pockets *p = job->p;
    const size_t at = (size_t)b * BRICK_CELLS;
    const int32_t *before = job->cells->before + at, *after = job->cells->after + at, *gas = job->cells->gas + at;
    const uint8_t *label = p->label[b];
    memset(sums, 0, AIR_PIECES * sizeof *sums);
    for (int32_t k = 0; k < p->pieces[b] && p->dry[b]; k++) {
        sums[k].volume = sums[k].before = (int64_t)p->of[b][k].cells * WEIR_FULL;
        sums[k].weight = sums[k].volume >> 6;
    }
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        if (label[cell] == 0) continue;
        air_sums *sum = &sums[label[cell] - 1];
        const int32_t volume = lacks(after[cell]);
        sum->gas += gas[cell] > 0 ? gas[cell] - 1 : volume;
        if (p->dry[b]) continue;
        sum->volume += volume;
        sum->before += lacks(before[cell]);
        sum->weight += volume >> 6;
    }
}

// Gas that rises, or stays, in water without air beside it; looked for before any is written.
static void find_rising(const find_job *job, int32_t b, const brick_mask *shores)
{
    momentum_pockets *p = job->p;
    const int32_t *gas = job->cells->gas + (size_t)b * BRICK_CELLS;
    int32_t most = 0;
    p->rises[b] = 0;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) most = gas[cell] > most ? gas[cell] : most;
    for (int32_t cell = 0; cell < BRICK_CELLS && most > 1; cell++)
        p->rises[b] |= gas[cell] > 1 && p->label[b][cell] == 0 && !mask_has(shores, cell);
    if (!p->rises[b]) return;
    memset(p->rising[b], 0, sizeof p->rising[b]);
    for (int32_t i = 0; i < 64 && job->up != 0; i++) {
        const int32_t cell = face_cell(job->up_axis, i, job->up > 0);
        if (p->label[b][cell] == 0 && !mask_has(shores, cell)) p->rising[b][i] = rises_from(job, b, cell);
    }
}

static void add_sums(void *context, int32_t begin, int32_t end, int32_t worker)
{
    const find_job *job = context;
    momentum_pockets *p = job->p;
    air_sums sums[AIR_PIECES];
    (void)worker;
    for (int32_t b = begin; b < end; b++) {
        if (b == BRICK_NOTHING || !p->c->pool.alive[b]) continue;
        bool shut = false;
        for (int32_t k = 0; k < p->pieces[b]; k++) shut |= !p->piece[p->piece[b * AIR_PIECES + k].parent].open;
        if (shut) add_brick(job, b, sums);
        for (int32_t k = 0; k < p->pieces[b]; k++) {
            air_piece *pocket = &p->piece[p->piece[b * AIR_PIECES + k].parent];
            if (pocket->open) continue;
            add_to(&pocket->volume, sums[k].volume);
            add_to(&pocket->volume_before, sums[k].before);
            add_to(&pocket->gas, sums[k].gas);
            add_to(&pocket->weight, sums[k].weight);
        }
        p->rises[b] = 0;
        if (p->dry[b]) continue;
        const brick_mask shores = find_shores(p, b);
        for (int32_t z = 0; z < 8; z++)
            for (uint64_t left = shores.plane[z]; left; left &= left - 1) add_shore(job, b, 64 * z + __builtin_ctzll(left));
        find_rising(job, b, &shores);
    }
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

// The pressure of a pocket over that of the open air, in the measure of a whole update, from what is in cells: its gas, its volume, and how
// much that grew in the move.
//
// By the gas law it is air * (gas/volume - 1). Two things are there for stability, since water hears of it a move late. Small pockets swing
// faster than moves can follow: they are as soft as if they had some more volume of open air. And the pressure runs ahead of the volume by
// some moves, by more where the swing is slow, which damps it.
static double pressure_of(double air, double gas, double volume, double grew)
{
    const double least = POCKET_SOFT * air * sqrt(air), dense = gas < volume ? gas / volume : 1.0;
    const double soft = least * least / (least + gas) * dense * dense;
    const double slope = POCKET_REACH * air * (gas + soft) / ((volume + soft) * (volume + soft));
    const double lead = 1.0 + 7.0 / (1.0 + 4096.0 * slope * slope * slope * volume);
    double ahead = volume + lead * grew;
    if (ahead < 0.5 * volume) ahead = 0.5 * volume;
    if (ahead > 2.0 * volume) ahead = 2.0 * volume;
    const double times = (gas + soft) / (ahead + soft);
    return air * ((times < POCKET_TIMES ? times : POCKET_TIMES) - 1.0);
}

static double cells_of(int64_t drops)
{
    return (double)drops / WEIR_FULL;
}

// The gas of a cell of a pocket: its share by volume.
static int32_t share_of(const air_piece *pocket, int64_t weight, int32_t volume)
{
    const int64_t part = volume >> 6, share = pocket->each * part + pocket->rest * part / weight;
    return (int32_t)(share < AIR_GAS_MOST ? share : AIR_GAS_MOST);
}

static void find_pressures(momentum_pockets *p, double air, double square)
{
    const brick_pool *pool = &p->c->pool;
    for (int32_t b = 1; b < pool->end; b++) {
        for (int32_t k = 0; pool->alive[b] && k < p->pieces[b]; k++) {
            air_piece *pocket = &p->piece[b * AIR_PIECES + k];
            if (pocket->parent != b * AIR_PIECES + k || pocket->open) continue;
            const int64_t gas = atomic_load(&pocket->gas), volume = atomic_load(&pocket->volume);
            const int64_t weight = atomic_load(&pocket->weight);
            const double grew = cells_of(volume - atomic_load(&pocket->volume_before));
            assert(weight > 0 && gas >= 0 && volume > 0);
            pocket->pressure = (float)(pressure_of(air, cells_of(gas), cells_of(volume), grew) * square);
            pocket->each = gas / weight;
            pocket->rest = gas % weight;
            pocket->empty = share_of(pocket, weight, WEIR_FULL);
        }
    }
}

// ---- Cells -----------------------------------------------------------------------------------------------------------------

// Of water beside air: what does not go in equal parts stays.
static int32_t write_shore(const find_job *job, int32_t brick, int32_t cell, float *air)
{
    const momentum_pockets *p = job->p;
    const size_t at = (size_t)brick * BRICK_CELLS + (size_t)cell;
    const int32_t has = gas_of(job->cells->gas[at]);
    air_piece *beside[6];
    bool open = false;
    const int32_t count = pockets_beside(p, brick, cell, beside);
    int32_t given = 0;
    *air = AIR_NONE;
    for (int32_t k = 0; k < count; k++) {
        const float pressure = beside[k]->open ? 0.0f : beside[k]->pressure;
        if (pressure > *air) *air = pressure;
        open |= beside[k]->open;
        if (!beside[k]->open) given += has / count;
    }
    return open ? 0 : has - given + 1;
}

// The gas that rises from the cells of a brick, from what they had before any was written.
static void find_leaving(const find_job *job, int32_t brick, const brick_mask *shores, int32_t leaves[BRICK_CELLS])
{
    const momentum_pockets *p = job->p;
    for (int32_t cell = 0; cell < BRICK_CELLS && job->up != 0; cell++) {
        if (p->label[brick][cell] > 0 || mask_has(shores, cell)) continue;
        const bool last = (cell >> 3 * job->up_axis & 7) == (job->up > 0 ? 7 : 0);
        leaves[cell] = last ? p->rising[brick][face_index(job->up_axis, cell)] : rises_from(job, brick, cell);
    }
}

// What the cells of a piece of air get.
typedef struct air_values {
    float pressure;
    bool open;
    int32_t empty;   // an empty cell's gas
    int64_t given;   // in all
    int64_t weight;  // of its pocket
    const air_piece *pocket;
} air_values;

static void find_values(const momentum_pockets *p, int32_t brick, air_values values[AIR_PIECES + 1])
{
    values[0] = (air_values){.pressure = AIR_NONE};
    for (int32_t k = 0; k < p->pieces[brick]; k++) {
        const air_piece *pocket = &p->piece[p->piece[brick * AIR_PIECES + k].parent];
        values[k + 1] = (air_values){.open = pocket->open, .pocket = pocket};
        if (pocket->open) continue;
        values[k + 1].pressure = pocket->pressure;
        values[k + 1].empty = pocket->empty;
        values[k + 1].weight = atomic_load_explicit(&pocket->weight, memory_order_relaxed);
    }
}

static void write_air(const find_job *job, int32_t b, air_values values[AIR_PIECES + 1])
{
    const momentum_pockets *p = job->p;
    const size_t at = (size_t)b * BRICK_CELLS;
    const int32_t *after = job->cells->after + at;
    const uint8_t *label = p->label[b];
    int32_t *gas = job->cells->gas + at;
    float *air = job->cells->air + at;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        air_values *value = &values[label[cell]];
        air[cell] = value->pressure;
        if (label[cell] == 0) continue;
        gas[cell] = 0;
        if (value->open) continue;
        const int32_t share = after[cell] == 0 ? value->empty : share_of(value->pocket, value->weight, lacks(after[cell]));
        value->given += share;
        gas[cell] = share + 1;
    }
}

// Of cells that are no air. Tells whether any is open.
static bool write_water(const find_job *job, int32_t b)
{
    momentum_pockets *p = job->p;
    const size_t at = (size_t)b * BRICK_CELLS;
    int32_t *gas = job->cells->gas + at, leaves[BRICK_CELLS] = {0};
    float *air = job->cells->air + at;
    const brick_mask shores = find_shores(p, b), open = p->c->pool.open[b];
    const int32_t below = job->up == 0 ? BRICK_NOTHING : p->c->pool.near[b][near_of(job->up_axis, -job->up)];
    bool any = false;
    if (p->rises[b]) find_leaving(job, b, &shores, leaves);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        if (p->label[b][cell] > 0) continue;
        if (!mask_has(&open, cell)) {
            air[cell] = 0.0f;
        } else if (mask_has(&shores, cell)) {
            gas[cell] = write_shore(job, b, cell, &air[cell]);
            any = true;
        } else {
            gas[cell] = 1 + gas_of(gas[cell]) - leaves[cell];
            any = true;
        }
    }
    if (!p->rises[b] && !p->rises[below]) return any;
    for (int32_t cell = 0; cell < BRICK_CELLS && job->up != 0; cell++) {
        const int32_t step = job->up * (1 << 3 * job->up_axis), place = cell >> 3 * job->up_axis & 7;
        int32_t comes = 0;
        if (place == (job->up > 0 ? 0 : 7))
            comes = p->rises[below] ? p->rising[below][face_index(job->up_axis, cell)] : 0;
        else
            comes = leaves[cell - step];
        if (comes > 0) gas[cell] = 1 + gas_of(gas[cell]) + comes;
    }
    return any;
}

static void write_brick(const find_job *job, int32_t b)
{
    momentum_pockets *p = job->p;
    air_values values[AIR_PIECES + 1];
    find_values(p, b, values);
    write_air(job, b, values);
    float calm = p->pieces[b] > 0 ? values[1].pressure : 0.0f;
    for (int32_t k = 0; k < p->pieces[b]; k++) {
        if (values[k + 1].pressure != calm) calm = AIR_NONE;
        add_to(&p->piece[p->piece[b * AIR_PIECES + k].parent].given, values[k + 1].given);
    }
    if (!mask_full(&p->air[b]) && write_water(job, b)) calm = AIR_NONE;
    p->calm_air[b] = calm == rule_still(calm) ? calm : AIR_NONE;
}

static void write_cells(void *context, int32_t begin, int32_t end, int32_t worker)
{
    const find_job *job = context;
    momentum_pockets *p = job->p;
    (void)worker;
    for (int32_t b = begin; b < end; b++)
        if (b != BRICK_NOTHING && p->c->pool.alive[b]) write_brick(job, b);
}

// What shares leave over lies in a pocket's first cell.
static void write_rests(momentum_pockets *p, int32_t *gas)
{
    const brick_pool *pool = &p->c->pool;
    for (int32_t b = 1; b < pool->end; b++) {
        for (int32_t k = 0; pool->alive[b] && k < p->pieces[b]; k++) {
            air_piece *pocket = &p->piece[b * AIR_PIECES + k];
            if (pocket->parent != b * AIR_PIECES + k || pocket->open) continue;
            int32_t *first = &gas[(size_t)pocket->brick * BRICK_CELLS + (size_t)pocket->cell];
            const int64_t has = *first + atomic_load(&pocket->gas) - atomic_load(&pocket->given);
            *first = (int32_t)(has < AIR_GAS_MOST + 1 ? has : AIR_GAS_MOST + 1);
        }
    }
}

void pockets_find(momentum_pockets *p, const air_cells *cells, int32_t substeps)
{
    const weir_params *params = &p->c->world->params;
    workers *w = p->c->world->workers;
    const backend_down down = backend_find_down(params);
    find_job job = {.p = p, .cells = cells, .up_axis = down.axis, .up = -down.sign};
    const int32_t end = p->c->pool.end;
    const float share = 1.0f / (float)substeps;
    workers_run(w, find_pieces_of, &job, end, GRAIN);
    join_pieces(p);
    workers_run(w, add_sums, &job, end, GRAIN);
    find_pressures(p, (double)params->momentum.air, (double)(share * share));
    workers_run(w, write_cells, &job, end, GRAIN);
    write_rests(p, cells->gas);
}

const float *pockets_calm_air(const momentum_pockets *p)
{
    return p->calm_air;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

momentum_pockets *pockets_create(fluid_cells *c)
{
    momentum_pockets *p = memory_alloc_zero(&c->world->mem, sizeof *p);
    if (!p) return NULL;
    p->c = c;
    p->version = p->kept_version = UINT64_MAX;
    c->keeps = keeps;
    c->keeper = p;
    return p;
}

void pockets_destroy(momentum_pockets *p)
{
    if (!p) return;
    memory *mem = &p->c->world->mem;
    dry_search *s = &p->search;
    free_tables(p);
    memory_free(mem, s->brick, (size_t)s->room * sizeof *s->brick);
    memory_free(mem, s->at, (size_t)s->room * sizeof *s->at);
    memory_free(mem, s->slot, (size_t)s->slots * sizeof *s->slot);
    memory_free(mem, s->node, (size_t)s->node_room * sizeof *s->node);
    memory_free(mem, p->kept, (size_t)p->kept_room * sizeof *p->kept);
    memory_free(mem, p->kept_slot, (size_t)p->kept_slots * sizeof *p->kept_slot);
    memory_free(mem, p, sizeof *p);
}

int64_t pockets_bytes(const momentum_pockets *p)
{
    if (!p) return 0;
    const dry_search *s = &p->search;
    size_t brick = AIR_PIECES * sizeof *p->piece;
#define ADD(table) brick += sizeof *p->table;
    BRICK_TABLES(ADD)
#undef ADD
    return (int64_t)((size_t)p->room * brick + (size_t)s->room * (sizeof *s->brick + sizeof *s->at) +
                     ((size_t)s->slots + (size_t)s->node_room + (size_t)p->kept_slots) * sizeof(int32_t) +
                     (size_t)p->kept_room * sizeof *p->kept);
}
