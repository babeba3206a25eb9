// The settling automaton's state (docs/settle.md).
//
// Water is free, in cells with a fill of their own, or still, in bodies. A body is a set of cells that hang together, one number of units
// and one level: cells below its top layer are full, those in it hold what the level gives them. So a lake takes in, gives and levels
// without a look at its cells, and only bricks in which free water moves are worked on.
//
//     brick    what the solver keeps of one beside the pool's tables: its shape, a page if it has free water, its nodes and outlets
//     page     the fills of a brick's free cells, and their materials if it has more than one
//     node     the cells of a body in one brick
//     outlet   a brick at rest beside a body, and the levels of the body that wake it
//
// Cells are counted by layers here: bit x + 8z of word y. Nodes, bodies and outlets are numbered from 1 on, 0 is none. Numbers and
// the order of lists are accidents of history, and no result depends on them: where order matters it is that of coordinates.
#ifndef WEIR_SETTLE_SETTLE_H
#define WEIR_SETTLE_SETTLE_H

#include "cells/cells.h"
#include "compute/cpu.h"
#include "solvers/settle/laws.h"
#include <stdatomic.h>

enum {
    SETTLE_UNIT = WEIR_FULL / SETTLE_FULL,  // drops
    SETTLE_SEEDS = 4,                       // bodies that may begin in a brick in one update
    SETTLE_OUTLETS = 64,                    // bodies beside which a brick may rest
    SETTLE_SLOWEST = 5,
    SETTLE_SEVERAL = 255,                  // in place of a material: more than one
    SETTLE_MIXED_BYTES = 2 * BRICK_CELLS,  // of the materials of a page's cells
    LIST_DEEP = 0,                         // nodes below those
    LIST_SURFACE = 1                       // in the layer of bricks that holds the body's top layer
};

// The cells of a brick by layers.
typedef struct layer_mask {
    uint64_t layer[8];
} layer_mask;

// What is known of a brick's cells after a generation that is not finished yet.
typedef struct settle_pending {
    layer_mask wet, full, settled;
    uint8_t calm[BRICK_CELLS];
    int32_t gain, gain_count;  // of bodies, in the list of gains
} settle_pending;

typedef struct settle_page {
    uint16_t fill[2][BRICK_CELLS];      // units in free cells, now and after the generation under way
    uint8_t calm[BRICK_CELLS];          // updates for which the cell has been calm
    layer_mask wet, full;               // free cells that hold something, and as much as fits
    layer_mask settled;                 // wet and calm for long enough
    uint8_t now;                        // which of the two fills counts
    settle_pending *pending;            // NULL unless a generation took more than one update
    uint8_t material;                   // of all its water, while `materials` is NULL
    uint8_t (*materials)[BRICK_CELLS];  // of wet cells, like the fills
} settle_page;

typedef struct settle_brick {
    settle_page *page;  // NULL: it has no free water
    uint8_t *shares;    // solid shares of its cells; NULL: each is wholly open or wholly solid
    layer_mask open;    // cells that are not wholly solid
    int32_t node, outlet;
    uint8_t active;    // it is to be worked on, and listed
    uint8_t worked;    // it is one of those that the generation under way works on, and has a page
    uint8_t done;      // its fills after this generation are known
    uint8_t outcome;   // what came of it: see OUTCOME_CHANGED
    uint8_t stirred;   // something changed in it or beside it since it was worked on
    uint8_t touching;  // bodies may touch in it
    uint8_t queued;    // for a moment, where bricks are listed once
    uint8_t joins;     // it is in the queue of the flood
    uint32_t noted;    // when its liquids were, of `note`
    uint32_t liquids;  // the materials in it then, as bits
    uint8_t fresh;     // it woke because it is newborn, and the generation has not begun yet
    uint8_t
        liquid;  // in an update, of a worked one: the material that it and the 26 around it hold; 0: none, or SETTLE_SEVERAL
} settle_brick;

typedef struct settle_node {
    int32_t brick, body;
    int32_t next_in_brick;
    int32_t list, before, next;  // in the body
    int32_t part;                // the first of its parts, while these are looked for
    layer_mask cells;
} settle_node;

typedef struct settle_outlet {
    int32_t brick, body;
    int32_t next_in_brick;
    int32_t before, next;  // of the body
    int64_t up, down;      // heights of the body's surface from which on, or down to which, the brick wakes
} settle_outlet;

// Of a body, as the laws see it.
typedef struct settle_surface {
    int32_t top, level;
    bool closed;
} settle_surface;

typedef struct settle_body {
    int32_t link;  // while its number is free (settle_store)
    bool used;
    bool closed;         // it holds more than fits, and there is nowhere to rise to
    bool dirty;          // its volume or its cells changed
    bool may_be_split;   // cells were taken out of it
    bool cut_clean;      // nothing but that it was cut made it dirty
    int32_t cut_pieces;  // that left with regions since it was looked over last: it may be split for that too
    uint8_t material;
    bool seen_kept;  // an edit changed its level while bricks are worked on, which go on with `seen`
    settle_surface seen;
    int64_t volume;  // units
    int64_t base;    // that fit below the top layer
    int64_t room;    // and in it
    int32_t top;     // y of the top layer
    int32_t area;    // cells in it
    int32_t level;   // of the surface above the bottom of the top layer, units
    int32_t nodes;
    int32_t first[2], outlet;
    int32_t lowest;               // its node in the lowest brick by coordinate; 0: not known
    int64_t least_up, most_down;  // of its outlets
    int32_t partly;               // cells of the top layer that are partly solid
    int32_t histogram;            // of their shares; 0: there are none
    _Atomic int64_t gained;       // in the generation under way
} settle_body;

// The partly solid cells of a body's top layer by their solid share. Most bodies have none.
typedef struct settle_histogram {
    int32_t count[256];  // the first is the link while it is free: of no share are wholly open cells
} settle_histogram;

// What of a body leaves with a box of bricks.
typedef struct settle_cut {
    int32_t nodes;   // that lie in the box
    bool at_top;     // some of their cells are in the top layer
    bool lost;       // the body has none there, since terrain took them
    int64_t holds;   // units, at the body's level
    int64_t grows;   // units that they would hold more at a level higher by one
    int64_t leaves;  // units
} settle_cut;

// What the kernel tells of a brick. Behind these two where something changed near: x = 0, x = 7, y = 0, y = 6 or 7, z = 0, z = 7.
enum {
    OUTCOME_CHANGED = 1,
    OUTCOME_UNEASY = 2,  // a wet cell has not been calm for long enough
    OUTCOME_SIDES = 2    // bits below those of the sides
};

// What a body gets from, or gives to, the free cells of a brick.
typedef struct settle_gain {
    int32_t body, units;
} settle_gain;

// Where a generation stands: generation.c.
typedef enum settle_stage {
    STAGE_BEGIN,
    STAGE_LEVEL_FIRST,
    STAGE_MEET,
    STAGE_LEVEL_MET,
    STAGE_WORK,
    STAGE_LEVEL,
    STAGE_JOIN,
    STAGE_SEED,
    STAGE_LEVEL_AGAIN,
    STAGE_WAKE,
    STAGE_SORT,
    STAGE_REACT,
    STAGE_REST,
    STAGE_COUNT
} settle_stage;

// Why bricks have come to be: but for water that is near they may go again.
typedef enum settle_birth { BORN_OF_EDIT, BORN_OF_WATER, BORN_OF_SOURCE } settle_birth;

// Numbered things in one array, some of them free.
typedef struct settle_store {
    void *items;
    size_t size;
    int32_t room, end, free_first, free_count;  // the free ones are linked through their first int32_t
    // How many may be taken in this update. It follows from how many there are, never from the room, so that all machines stop alike.
    int32_t budget;
} settle_store;

// What the parts of an update cost, about in proportion to their time: a budget of one brick pays for one that goes through all stages.
enum {
    SETTLE_COST_WORK = 128,   // the laws
    SETTLE_COST_MIXED = 768,  // where several liquids are near
    SETTLE_COST_VISIT = 8,    // a stage after them
    SETTLE_COST_JOIN = 48,    // of a brick in which water joins a body
    SETTLE_COST_SORT = 384,   // of one in which liquids find their order, or react
    SETTLE_COST_MOVE = 16,    // and of each cell that does
    SETTLE_COST_POUR = 96,    // of a brick that a source fills or empties
    SETTLE_COST_LOOK = 2,     // at a node of a body, or a part of one
    SETTLE_COST_AROUND = 5,   // and at those beside it
    SETTLE_COST_CHANGE = 2,   // of a node of a body
    SETTLE_COST_BRICK = SETTLE_COST_WORK + 8 * SETTLE_COST_VISIT
};

// What is found out about a body over as many updates as that takes, before anything of it changes (layers.c, parts.c). It counts nothing:
// an edit ends it, and then it begins anew. How far it is follows from what was spent on it; which nodes it has come to is an accident.
typedef enum settle_search_kind { SEARCH_NOTHING, SEARCH_ABOVE, SEARCH_TOP, SEARCH_PARTS, SEARCH_COUNT } settle_search_kind;

typedef struct settle_search {
    settle_search_kind kind;
    int32_t body, top;   // of which, with what top layer
    int32_t stage;       // from 0 on
    int32_t list, node;  // at which it goes on; node 0: the stage is over
    int32_t part;        // or the part at which it does
    int32_t count;       // of steps, or of parts
    int64_t spent;
    int64_t owed;    // that was spent before a snapshot, which knows nothing of what it was spent on
    int32_t wanted;  // room for parts that was asked for then
    // Of a layer: what it would count for.
    int64_t room;
    int32_t area, partly;
    int32_t histogram[256];
    bool alone;  // some of its cells have none of the body below them
    bool under;  // others have
    // Of parts.
    int32_t roots;    // that do not hang together
    int32_t loose;    // parts of nodes that have several
    int32_t lacking;  // for which there was no room
    int32_t pieces;   // that are known
    int32_t lowest;   // the part with the lowest cell
} settle_search;

// A node of the layer that a body gets or gives back.
typedef struct settle_step {
    int32_t node, brick;  // where the cells are
    uint64_t cells;
    uint32_t flags;
} settle_step;

// Free water that joins a body, from brick to brick (join.c). It may take several updates.
typedef struct settle_flood {
    int32_t body;          // that gets it
    int32_t first, count;  // bricks that are to be looked at, in `joining`
    // Bodies that get some of the last brick that was come to, after this one.
    int32_t bodies[64];
    int32_t next, left;
    // Or those that begin in it: where it is looked for the next, and how many more there may be.
    bool seeding;
    int32_t layer, tries, face;
    uint64_t seeds;
} settle_flood;

enum { FLOOD_FACES = 7 };  // from which a body that begins is flooded, one after the other: of the brick and of those around

// Levels that are being found (bodies.c).
typedef struct settle_levels {
    int32_t round;  // 0: not begun
    int32_t due;    // bodies of this round, the first ones of those that changed
    int32_t body;   // that is looked at, and not among them; 0: none
    int32_t held;   // the id of the reservoir that held it when it was begun with; 0: none did
    bool begun;
    bool apart;  // it has its level, and may have come apart
} settle_levels;

// A cell, and what it holds, of its own or as a body's; brick 0: there is none.
typedef struct settle_place {
    int32_t brick, cell;
} settle_place;

typedef struct settle_held {
    int32_t body, material, units, capacity;
} settle_held;

// What an update may still do, and what it did.
typedef struct settle_work_left {
    int64_t units;
    int64_t more;  // besides these, of what edits ended or undid before
    double until;  // by the clock, in seconds; 0: no limit
    int64_t spent;
    int32_t bricks;  // that the laws were applied to
} settle_work_left;

typedef struct settle_kernels settle_kernels;

typedef struct settle {
    fluid_cells cells;  // first
    settle_brick *bricks;
    uint8_t *known;  // 1: the shape of the brick is
    int32_t brick_room;
    settle_store nodes, bodies, outlets, histograms;
    int32_t *active;  // bricks to be worked on
    int32_t active_count;
    int32_t *touching;
    int32_t touching_count;
    int32_t *order;    // of bricks by coordinate; room for every one
    int32_t *queue;    // of bricks that are gone through; room for every one
    int32_t *joining;  // of the flood; room for every one
    settle_flood flood;
    int32_t *changed;  // bodies of which something changed
    int32_t changed_count, changed_room;
    settle_cut *cuts;  // of bodies, while a region leaves
    int32_t cut_room;
    settle_levels levels;
    settle_search search;
    settle_step *steps;  // of it; room for every node
    int32_t step_room;
    struct settle_part *parts;
    int32_t part_room, part_most;  // how many there may be in this update, which follows from what there is
    struct settle_piece *pieces;   // that it comes apart into
    int32_t piece_room;
    const settle_kernels *kernels;
    char *scratch;        // a tile per thread
    char *mixed_scratch;  // and one for mixed bricks, from the second material on
    int32_t workers;
    int64_t page_count, share_count, pending_count, mixed_count;  // that there are; mixed: pages with materials
    uint32_t note;                    // how often liquids of bricks have begun to be noted, for as long as nothing changes
    uint32_t liquids;                 // bit 1 << material of each that it has held since it was empty
    bool climbed;                     // a body has risen into other bricks since the liquids of bricks were noted
    uint8_t slow[WEIR_MATERIAL_MAX];  // of materials: by how many halves their flows are slower than those of water
    // The generation under way.
    settle_stage stage;
    bool edited;          // something changed since the bricks of reservoirs were looked for
    bool failed;          // the last update was not run, for want of memory
    settle_birth births;  // why bricks have come to be that are not known yet
    bool growing;         // it has not begun, since bricks are still to come or go
    bool striking;        // bricks end that the list of active ones still has
    int32_t
        work_count;  // of the active ones, the first ones, that it works on: in the order of coordinates, 0 for one that rests
    int32_t cursor;  // as far as the stage has come with them
    int32_t late;    // how often edits have undone as much as an update does, or ended a search
    bool undone;     // edits have undone something since the last update
    int32_t age;     // updates that it has taken before this one
    int32_t *redo;   // bricks that had been worked on before an edit changed something near them; room for every one
    int32_t redo_count;
    settle_gain *gains;
    int32_t gain_room;
    _Atomic int32_t gain_count;
    bool sliced;     // this update goes on with the laws, over the bricks of the slice
    int32_t *slice;  // room for every brick
    // How many; of them, in this order, those whose results were lost and those at the cursor, the others having been undone.
    int32_t slice_count, slice_lost, slice_first;
    bool lost;             // it comes from a snapshot, and the results of bricks that are done are to be found again
    int32_t phase;         // of evaporation, which comes to each brick in its phase; 0 while nothing evaporates
    double brick_seconds;  // that the laws take of a brick, where there is a limit of time
    settle_work_left left;
    // Pages, and rooms for materials, that wait for liquids that come to where there was none in the midst of an update.
    void *spare_pages, *spare_mixed;
    int32_t spare_page_count, spare_mixed_count, spare_page_budget, spare_mixed_budget;
    struct settle *frozen;  // a copy for reading, while a background step runs; its pool is that of the cells' frozen one
} settle;

// ---- What it is made of --------------------------------------------------------------------------------------------------

static inline settle_node *node_at(const settle *s, int32_t node)
{
    return (settle_node *)s->nodes.items + node;
}

static inline settle_body *body_at(const settle *s, int32_t body)
{
    return (settle_body *)s->bodies.items + body;
}

static inline settle_outlet *outlet_at(const settle *s, int32_t outlet)
{
    return (settle_outlet *)s->outlets.items + outlet;
}

// Whether a generation is under way.
static inline bool settle_goes_on(const settle *s)
{
    return s->stage != STAGE_BEGIN || s->growing;
}

static inline bool several_liquids(const settle *s)
{
    return s->liquids & (s->liquids - 1);
}

static inline int32_t *histogram_of(const settle *s, const settle_body *body)
{
    return ((settle_histogram *)s->histograms.items + body->histogram)->count;
}

static inline uint16_t *page_fill(settle_page *page)
{
    return page->fill[page->now];
}

// A cell's place in its layer, and the other way round; cells of a brick are numbered x + 8y + 64z.
static inline int32_t layer_of(int32_t cell)
{
    return cell >> 3 & 7;
}

static inline uint64_t bit_of(int32_t cell)
{
    return UINT64_C(1) << ((cell & 7) + 8 * (cell >> 6));
}

static inline int32_t cell_of(int32_t layer, int32_t bit)
{
    return (bit & 7) + 8 * layer + 64 * (bit >> 3);
}

static inline bool layers_have(const layer_mask *mask, int32_t cell)
{
    return mask->layer[layer_of(cell)] & bit_of(cell);
}

static inline bool layers_empty(const layer_mask *mask)
{
    uint64_t any = 0;
    for (int32_t y = 0; y < 8; y++) any |= mask->layer[y];
    return any == 0;
}

// The cells at the sides of some in a layer.
static inline uint64_t layer_sides(uint64_t cells)
{
    const uint64_t low = UINT64_C(0x0101010101010101);
    return (cells << 1 & ~low) | (cells >> 1 & ~(low << 7)) | cells << 8 | cells >> 8;
}

// What a share of a cell leaves room for, by brick and cell; 0 in solid ones.
static inline int32_t cell_capacity(const settle_brick *brick, int32_t cell)
{
    if (brick->shares) return rule_settle_capacity(brick->shares[cell]);
    return layers_have(&brick->open, cell) ? SETTLE_FULL : 0;
}

// The fill of a body's cell in layer y of the world.
static inline int32_t surface_fill(settle_surface surface, int32_t y, int32_t capacity)
{
    if (y < surface.top) return capacity;
    const int32_t above_floor = y > surface.top ? 0 : surface.level - (SETTLE_FULL - capacity);
    return above_floor < 0 ? 0 : above_floor < capacity ? above_floor : capacity;
}

static inline int32_t body_fill(const settle_body *body, int32_t y, int32_t capacity)
{
    return surface_fill((settle_surface){body->top, body->level, body->closed}, y, capacity);
}

// What a body's cell can give. Where the body gave since it was levelled there may be less left than its level says.
static inline int32_t body_left(const settle_body *body, int32_t y, int32_t capacity)
{
    const int32_t units = body_fill(body, y, capacity);
    return units < body->volume ? units : (int32_t)body->volume;
}

// A body as the laws see it.
static inline settle_surface settle_seen(const settle_body *body)
{
    return body->seen_kept ? body->seen : (settle_surface){body->top, body->level, body->closed};
}

// The height of a body's surface, in units from y = 0 on. One that is closed presses as if a layer more were full.
static inline int64_t surface_height(settle_surface surface)
{
    return (int64_t)surface.top * SETTLE_FULL + surface.level + (surface.closed ? SETTLE_FULL : 0);
}

static inline int64_t body_height(const settle_body *body)
{
    return surface_height((settle_surface){body->top, body->level, body->closed});
}

static inline bool body_may_be_split(const settle_body *body)
{
    return body->may_be_split || body->cut_pieces > 0;
}

// The film of a liquid at which it stops on a dry floor: the slower it is, the thicker.
static inline int32_t settle_film(const settle *s, int32_t material)
{
    const int32_t film = (int32_t)(s->cells.world->params.settle.film * SETTLE_FULL), most = SETTLE_FULL / 2;
    const int32_t thick = film * (1 + s->slow[material]);
    return thick < most || s->slow[material] == 0 ? thick : film < most ? most : film;
}

static inline world_ledger *settle_ledger(const settle *s, int32_t material)
{
    return &s->cells.world->ledger[material];
}

// The material of a wet cell.
static inline int32_t page_material(const settle_page *page, int32_t cell)
{
    return page->materials ? page->materials[page->now][cell] : page->material;
}

// Whether a cell of a page can hold a material: not beside another without room to note which is which.
static inline bool page_can_hold(const settle_page *page, int32_t cell, int32_t material)
{
    if (page->materials) return !layers_have(&page->wet, cell) || page->materials[page->now][cell] == material;
    return page->material == material || layers_empty(&page->wet);
}

// The parameters in units.
typedef struct settle_limits {
    int32_t calm, patience, least_cells, least_fill;
} settle_limits;

static inline settle_limits settle_get_limits(const settle *s)
{
    const weir_settle_params *p = &s->cells.world->params.settle;
    return (settle_limits){.calm = (int32_t)(p->calm * SETTLE_FULL),
                           .patience = p->patience,
                           .least_cells = p->body_cells,
                           .least_fill = SETTLE_FULL / 64};
}

// ---- cpu_kernels.c: the laws over a brick, once per width of SIMD ----

enum {
    TILE_ROW = 16,     // cells in a row of a tile: x from -4 to 11, of which -1 to 8 mean something
    TILE_LAYERS = 11,  // y from -2 to 8
    TILE_PLANE = TILE_ROW * TILE_LAYERS,
    TILE_CELLS = TILE_PLANE * 10,  // z from -1 to 8
    TILE_PAD = TILE_PLANE
};
#define TILE_AT(x, y, z) (TILE_PAD + (x) + 4 + TILE_ROW * ((y) + 2) + TILE_PLANE * ((z) + 1))

// A brick and what lies around it, and what crosses its faces.
typedef uint16_t settle_row[TILE_CELLS + 2 * TILE_PAD];
typedef struct settle_tile {
    settle_row fill, capacity;
    settle_row body, top, pressed, head;  // only with bodies
    settle_row room, supported, fill_1, room_1, level, gives, thin, dry;
    settle_row down, up;      // out of a cell
    settle_row to_x, from_x;  // from a cell towards x + 1, and the other way
    settle_row to_z, from_z;
} settle_tile;

struct settle_kernels {
    // Works out what crosses faces in a tile that has been filled in, and what its cells then hold.
    void (*flows)(settle_tile *t, bool bodies, uint16_t film, int slow);
    // The new fills of a brick's free cells, and what is calm: its page's own notes, or those that wait, whose counts are the page's yet.
    uint8_t (*take)(settle_tile *t, settle_page *page, bool waits, uint16_t calm, uint8_t patience);
};

extern const settle_kernels settle_kernels_scalar, settle_kernels_avx2, settle_kernels_avx512;

// ---- settle.c ----

// A state without bricks, of which nothing can have failed yet.
void settle_begin(settle *s, weir_world *world);

// ---- tables.c: bricks, pages, and stores of numbered things ----

// Room for the bricks of the pool, and what is known of their shape. Fails without changing anything that counts.
weir_status settle_sync(settle *s);
// The same before an edit makes bricks: those of an update that was not run came for another reason.
weir_status settle_sync_failed(settle *s);
// Where there is a budget: tables for more bricks before they are full, from edits, so that no update has to make them.
weir_status settle_keep_room(settle *s, int32_t budget);
// Bricks that ended leave the list of active ones.
void settle_strike_ended(settle *s);
weir_status settle_grow(settle *s, int32_t room);
void settle_free_tables(settle *s);
int64_t settle_bytes(const settle *s);
// A page for a brick that may have none.
weir_status settle_need_page(settle *s, int32_t brick);
// Room for what it will hold, with a page.
weir_status settle_need_pending(settle *s, int32_t brick);
void settle_drop_page(settle *s, int32_t brick);
// Notes anew which free cells are wet, full and settled.
void settle_look_at_page(settle *s, int32_t brick);
// The same of one cell.
void settle_look_at_cell(settle *s, int32_t brick, int32_t cell);
// Which ones of all pages have been calm for so many updates.
void settle_note_settled(settle *s, int32_t patience);
// Room for the shares of a brick's cells, which may be between.
weir_status settle_need_shares(settle *s, int32_t brick);
// Looks at a brick's terrain.
weir_status settle_learn(settle *s, int32_t brick, const terrain *t);
// When a brick of the pool ends.
void settle_brick_ended(fluid_cells *c, int32_t brick);

// Lets so many be taken.
weir_status store_reserve(settle *s, settle_store *store, int32_t budget);
static inline int32_t store_used(const settle_store *store)
{
    return store->end > 0 ? store->end - 1 - store->free_count : 0;
}
int32_t store_take(settle_store *store);
void store_give(settle_store *store, int32_t item);

// ---- liquids.c: which material is where ----

// What the materials of the world are like to it.
void settle_learn_liquids(settle *s);
// The cells of a layer of a page that hold a material.
uint64_t settle_wet_of(const settle_page *page, int32_t layer, int32_t material);
// The materials of a brick's cells, in free water and bodies; 0 in dry ones.
void settle_read_materials(const settle *s, int32_t brick, uint8_t materials[BRICK_CELLS]);
// The same of a page's alone. Returns the material if all is of one, or SETTLE_SEVERAL.
int32_t settle_page_materials(const settle_page *page, uint8_t materials[BRICK_CELLS]);
// Puts units of a material into a free cell that can hold it.
void settle_set_cell(settle_page *page, int32_t cell, int32_t material, int32_t units);
// Room to note the materials of a page's cells one by one; and back, if all are of one.
weir_status settle_need_materials(settle *s, int32_t brick);
void settle_drop_materials(settle *s, int32_t brick);
// Finds out of bricks that the next update works on which have several materials around, and makes room for them; `sources`: also where
// emitters will pour.
weir_status settle_reserve_liquids(settle *s, const int32_t *bricks, int32_t count, bool sources);
// Whether what was noted then still holds of the bricks that are worked on, bodies having risen.
bool settle_liquids_hold(settle *s);

// The materials in a brick and the 26 around it, as bits; the same of the first half of an update, which looks at each brick once; and those in
// it and at its faces.
uint32_t settle_liquids_around(const settle *s, int32_t brick);
uint32_t settle_liquids_noted(settle *s, int32_t brick);
uint32_t settle_liquids_beside(const settle *s, int32_t brick);
// The cells of a brick that may have another liquid at a face: those towards bricks with others, or all if it has several itself.
layer_mask settle_meeting_cells(const settle *s, int32_t brick);
// Notes the materials of a page's cells in a room of SETTLE_MIXED_BYTES.
void settle_note_materials(settle *s, settle_page *page, void *room);
// A body has got cells in a brick: liquids beside it that are others wake.
void settle_wake_strangers(settle *s, int32_t brick, int32_t body);

// ---- sink.c: the denser below, the lighter above ----

// The cell beside one: -x, +x, -y, +y, -z, +z.
settle_place settle_next(const settle *s, settle_place at, int32_t way);
settle_held settle_look_at(const settle *s, settle_place at);
// Whether a body has but one cell.
bool settle_is_last(const settle *s, int32_t body);
// What a cell holds has changed.
void settle_stir(settle *s, settle_place at);
// Makes a free cell one that can hold a material. False if it holds another, or there are no spare pages.
bool settle_ready(settle *s, settle_place at, int32_t material);
// Room for so many bricks more to hold liquids that rise, sink or react in the next update.
weir_status settle_reserve_spares(settle *s, int32_t count);
void settle_free_spares(settle *s);
// The cells of lighter bodies in a layer that a body of a material may take, since these can rise. In world coordinates.
uint64_t settle_yielding(const settle *s, int32_t brick, int32_t y, int32_t material);
// Bodies lose cells of a layer to one below, and keep their volume.
void settle_push_bodies_up(settle *s, int32_t brick, int32_t y, uint64_t cells);
// Before a body rises: lighter ones whose top layer lies on it get another layer, so that they can give way.
void settle_lift_cover(settle *s, int32_t body);
// Liquids of a brick change places with what is around.
void settle_sort_liquids(settle *s, int32_t brick);

// ---- react.c ----

void settle_react(settle *s, int32_t brick);
// Whether some materials, as bits, can react so that one becomes terrain.
bool settle_may_form(const settle *s, uint32_t liquids);
void settle_reactions_changed(void *state);
// At the beginning of a turn: some of the films that there are lose something.
void settle_evaporate(settle *s);

// ---- mixed.c: the laws where there are several materials ----

// As the kernels' `flows`, of the tile of a brick. `room` is a settle_mixed of the thread's own. Notes what cells are of then; returns whether any of
// the brick's became another.
bool settle_mixed_flows(const settle *s, int32_t brick, settle_tile *t, void *room);
size_t settle_mixed_bytes(void);

// ---- tile.c: the laws over a brick ----

// Works on bricks, which have pages: their new fills, and what bodies gain. If it waits, both are kept with the bricks, for which there is
// room.
void settle_work(settle *s, const int32_t *bricks, int32_t count, bool waits);
// How many bodies may gain from a brick.
int32_t settle_count_gains(const settle *s, int32_t brick);

// ---- generation.c: what an update does ----

weir_status settle_reserve_stores(settle *s);
weir_status settle_reserve(void *state);
weir_status settle_update(void *state);
bool settle_sources_wait(const void *state);
// Whether there is time for so much more work; it is spent then.
bool settle_spend(settle *s, int64_t cost);
// What has been done costs more, as far as there is any left.
void settle_charge(settle *s, int64_t cost);
// The same for a node of a search; free where that was done before and lost.
bool settle_look_on(settle *s, int64_t cost);
// The same for what has been found, of so many nodes, to be done: in an update that has as much left as that takes, or has done nothing
// else.
bool settle_may_change(settle *s, int32_t nodes);
// Before anything changes outside of an update.
void settle_end_search(settle *s);
// Something changed that the laws see in a brick: what it was going to hold is found again.
void settle_undo(settle *s, int32_t brick);
void settle_undo_around(settle *s, int32_t brick);
void settle_params_change(void *state, const weir_params *next);
// The level of a body is about to change.
void settle_keep_seen(settle *s, settle_body *body);

// ---- bodies.c: one body: its cells and level ----

// What has come of a body that was to get its layers.
typedef enum settle_found { FOUND_LAYERS, FOUND_END, FOUND_LATER } settle_found;

// The node of a body in a brick; 0: it has none there.
int32_t settle_find_node(const settle *s, int32_t brick, int32_t body);
// Which body a cell belongs to.
int32_t settle_body_of(const settle *s, int32_t brick, int32_t cell);
// All cells of a brick that belong to bodies.
layer_mask settle_taken(const settle *s, int32_t brick);

int32_t settle_new_body(settle *s, int32_t top, int32_t material);
// Takes a cell out of its body, with what it holds; returns that, in units.
int32_t settle_release(settle *s, int32_t brick, int32_t cell);
void settle_end_body(settle *s, int32_t body);
// The node of a body in a brick, made if there is none.
int32_t settle_need_node(settle *s, int32_t brick, int32_t body);
void settle_end_node(settle *s, int32_t node);
// Gives all nodes of a body to another. Where that one has a node in the same brick, it gets the cells.
void settle_move_nodes(settle *s, int32_t from, int32_t to);
// Cells of a node in a layer begin, or end (`sign` -1), to count for what fits into the body.
void settle_count_cells(settle *s, settle_body *body, const settle_brick *brick, int32_t y, uint64_t cells, int32_t sign);
// Gives a node to a body that has none in its brick. Which one of the body's is the lowest is not known then.
void settle_hand_node(settle *s, int32_t node, int32_t body);
// Brings nodes into the lists in which they belong with the body's top layer.
void settle_relist(settle *s, settle_body *b);
// All of a body's nodes become deep ones.
void settle_sink_nodes(settle *s, settle_body *b);
// What fits into the top layer, all of it counted anew.
void settle_set_layer(settle *s, settle_body *b, int64_t room, int32_t area, int32_t partly, const int32_t *histogram);
// Counts all cells of a body anew, with another top layer: its highest.
void settle_recount(settle *s, int32_t body);
void settle_note_body(settle *s, int32_t body);
void settle_forget_body(settle *s, int32_t body);
// All that is left of a body lies below the top layer that it has until it is levelled, since terrain took all cells of that.
void settle_lose_layers(settle *s, int32_t body, int32_t top);
// No cells are in the top layer any more.
void settle_clear_layer(settle *s, settle_body *b);
// Another layer is the top one; what fits is the caller's to count.
void settle_set_top(settle *s, int32_t body, int32_t top);

// What the top layer holds at a level, and the level that the volume has.
int64_t settle_layer_holds(const settle *s, const settle_body *b, int32_t level);
void settle_find_level(const settle *s, settle_body *b);
// Notes for weir_world_changed that the bricks of a body's top layer show, or are about to show, another level.
void settle_flag_surface(settle *s, const settle_body *b);
// Brings the levels of bodies that changed down or up to their volumes, as far as the layers that they have allow.
void settle_follow_volumes(settle *s);
// After a change: as many layers as its volume needs, its level, and who wakes of it. False if it goes on in the next update.
bool settle_level_bodies(settle *s);
// Bodies whose levels were being found are among those that changed again.
void settle_end_levels(settle *s);

// Whether a comes before b, by the lowest brick and cell of each.
int32_t settle_lowest_cell(const layer_mask *cells);
bool settle_comes_before(const settle *s, int32_t a, int32_t b);
// The lowest brick of a body that has any; 0: it has none.
int32_t settle_lowest_brick(const settle *s, int32_t body);

// ---- layers.c: layers that a body gets and gives back ----

// Gives free water in some cells of a layer to a body, which has them or will have.
void settle_absorb(settle *s, int32_t body, int32_t brick, int32_t layer, uint64_t cells);

// Bodies that lie under cells which have become free may rise into them.
void settle_note_below(settle *s, int32_t brick, int32_t layer, uint64_t cells);
// Whether there are any cells above its top layer that it can get.
bool settle_can_rise(const settle *s, const settle_body *b);
// Whether that has begun with a body that is being levelled, also in the world of which a snapshot was loaded.
bool settle_searches_above(const settle *s, int32_t body);
// Finds the cells above the top layer of a body, or those in it and what is below; `all`: in this update. False if the next one goes on.
bool settle_search_above(settle *s, int32_t body, bool all);
bool settle_search_top(settle *s, int32_t body, bool all);
// What the layer that was found would hold at a level.
int64_t settle_found_holds(const settle *s, int32_t level);
// Gives the body what was found above it, or takes its top layer away; its volume stays.
void settle_take_layer(settle *s);
void settle_give_layer(settle *s);
// Both at once: found, and done.
void settle_rise(settle *s, int32_t body);
void settle_drop_layer(settle *s, int32_t body);
// Leaves top layers of which terrain has taken all cells.
void settle_leave_lost_layers(settle *s, settle_body *b);
weir_status settle_reserve_steps(settle *s);

// ---- parts.c: bodies that come apart ----

weir_status settle_reserve_parts(settle *s);
int64_t settle_search_bytes(const settle *s);
void settle_free_search(settle *s);
// Whether a body has come apart, and what it is then. False if it goes on in the next update.
bool settle_split(settle *s, int32_t body);
// What the next update is to have room for to go on with that.
int32_t settle_parts_wanted(const settle *s);

// ---- reservoirs.c: what is held at a level ----

// The reservoir that holds a body; NULL: none does.
const world_source *settle_holder(const settle *s, int32_t body);
// Gives a body that is held the layers and the volume of its reservoir's level, and books the difference.
settle_found settle_hold(settle *s, int32_t body, const world_source *holder);
// Brings the free cells of the worked bricks to the levels of reservoirs.
void settle_keep_free(settle *s);
// The bodies that reach into a box are levelled in the next update.
void settle_note_box(settle *s, weir_box box);
// Whether a newborn brick is one that a reservoir fills.
bool settle_is_filled(const settle *s, int32_t brick);

// ---- meet.c: bodies that touch ----

void settle_meet(settle *s);
// Two bodies become one, of which the lower one is full up to the top layer of the other; it is left to the caller to find its level. Returns
// which is left.
int32_t settle_unite(settle *s, int32_t a, int32_t b);
// A body got cells in a brick: it may touch another there.
void settle_mark_touching(settle *s, int32_t brick, int32_t body);
// The nodes of a brick in the order of their lowest cells. Returns how many there are.
int32_t settle_ordered_nodes(const settle *s, int32_t brick, int32_t nodes[BRICK_CELLS]);

// ---- join.c: free water that becomes still ----

// Lets the free water around a brick join bodies, the one before the cursor, and goes on with that: false if the next update does.
void settle_join(settle *s, int32_t brick);
bool settle_join_on(settle *s);
// Lets bodies begin in it.
void settle_begin_bodies(settle *s, int32_t brick);
bool settle_begin_on(settle *s);
// Before anything changes outside of an update.
void settle_end_flood(settle *s);
// The bodies that have cells in a brick or at its faces. Returns how many there are, of which the first 64 are listed.
int32_t settle_bodies_near(const settle *s, int32_t brick, int32_t bodies[64]);
// The cells of a brick that lie beside a body's cells in the bricks around it.
layer_mask settle_beside(const settle *s, int32_t brick, int32_t body);

// ---- rest.c: which bricks are worked on ----

void settle_wake(settle *s, int32_t brick);
void settle_wake_around(settle *s, int32_t brick);
void settle_wake_sides(settle *s, int32_t brick, int32_t layer, uint64_t cells);
// Lets a brick rest, if the bodies beside it can be told when it must wake.
bool settle_rest(settle *s, int32_t brick);
void settle_add_outlet(settle *s, int32_t brick, int32_t body, int64_t up, int64_t down);
// Wakes the bricks at rest beside a body that its surface has come to, or all.
void settle_wake_outlets(settle *s, int32_t body, bool all);
void settle_end_outlets(settle *s, int32_t brick);
// The brick does not tell a body any more when it must wake.
void settle_end_outlets_of(settle *s, int32_t brick, int32_t body);

// ---- edits.c ----

extern const cell_store settle_cell_store;
weir_status settle_prepare(void *state, const world_edit *edit);
void settle_apply(void *state, const world_edit *edit);
// Pages for the bricks of a box into which a material may be put. `bodies_fall`: bodies may do so before it comes, also those of which nothing
// changed yet.
weir_status settle_need_pages(settle *s, weir_box box, int32_t material, bool bodies_fall);
weir_status settle_terrain_prepare(void *state, weir_box bricks);
void settle_terrain_changed(void *state, weir_box bricks);

// ---- put.c ----

weir_status settle_put_prepare(void *state, const weir_coord *bricks, int32_t count);
void settle_put(void *state, fluid_next_brick *next, void *source, fluid_brick *from);

// ---- regions.c ----

void settle_region_save(const void *state, weir_box bricks, snapshot_writer *w);
weir_status settle_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                               int64_t held[WEIR_MATERIAL_MAX], void **arrival);
void settle_region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes);
void settle_region_discard(void *state, void *arrival);
weir_status settle_region_prepare(void *state, weir_box bricks);
void settle_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX]);

// ---- state.c ----

// The bricks and bodies, or those of a box, of which bodies leave what `cuts` says. Their numbers go into `numbers`, with room for all of the
// solver's bodies.
void settle_save_bricks(const settle *s, snapshot_writer *w, const weir_box *box, const settle_cut *cuts, int32_t *numbers);
weir_status settle_load_bricks(settle *s, snapshot_reader *r, const terrain *t, const weir_box *box,
                               int64_t held[WEIR_MATERIAL_MAX], settle **arrival);

// The units of a brick's cells, in free water and bodies.
void settle_read_units(const settle *s, int32_t brick, int32_t units[BRICK_CELLS]);
int64_t settle_owed(const settle *s, int32_t material);
void settle_view(const void *state, bool frozen, fluid_view *view);
weir_status settle_freeze(void *state);
void settle_free_frozen(settle *s);
uint64_t settle_hash(const void *state, bool frozen);
void settle_save(const void *state, snapshot_writer *w);
weir_status settle_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival);
void settle_adopt(void *state, void *arrival);
void settle_discard(void *state, void *arrival);

// ---- validate.c ----
const char *settle_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here);

#endif
