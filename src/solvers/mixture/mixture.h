// The mixture automaton from the inside (docs/mixture.md): several fluids in a cell, layered by density, warm or cold, boiling and
// freezing.
//
// State: a channel of 2 bytes per cell for every material that the world has held, and one of 4 bytes for heat. An update looks at pairs of
// cells, and changes them in place: the blocks of 2 x 2 x 2 cells whose lowest corner is even in even updates, odd in odd ones. A tile is 4
// x 4 x 4 such blocks: a brick in even updates, and what lies one cell lower on every axis in odd ones.
//
//     even update                    odd update
//     +-------+-------+              +---+---------+-----
//     | brick | brick |              |   |         |          one tile of the odd update, of which cells lie
//     |       |       |              +---+---+-----+---       in eight bricks
//     +-------+-------+              |   |   x     |
//
// Tiles are worked on in any order and by any thread. Within one the eight cells of all blocks lie apart, so that 64 pairs are worked on at
// once: cell (x, y, z) of a tile is lane x/2 + 4(y/2) + 16(z/2) of part (x&1) + 2(y&1) + 4(z&1).
#ifndef WEIR_SOLVERS_MIXTURE_H
#define WEIR_SOLVERS_MIXTURE_H

#include "cells/cells.h"
#include "solvers/mixture/laws.h"

enum {
    MIXTURE_UNIT = WEIR_FULL / MIXTURE_FULL,  // drops
    MIXTURE_FLUIDS = 16,                      // materials that a world can have held
    MIXTURE_HEAT = 0,                         // its channel; those of materials follow
    MIXTURE_CHANNELS = MIXTURE_FLUIDS + 2,    // with that of what was reported, if there is one
    MIXTURE_CALM = 4,                         // updates in a cycle, after which what did not change will not
    MIXTURE_AMOUNT_MOST = 65535,
    MIXTURE_LEAVES = -1,  // what a reaction makes that is no fluid
    MIXTURE_HARDENS = -2,
    TILE_PARTS = 8,
    TILE_LANES = 64
};

#define MIXTURE_AIR 0.0012f  // density of air, of water: 1

// A material as the laws see it.
typedef struct mixture_fluid {
    weir_material material;
    weir_material_kind kind;
    int32_t channel;
    int32_t rate;      // of diffusion and descent, of 256
    int32_t up;        // of a gas: its part of 256 that rises
    int32_t heat;      // capacity of a unit, per quarter kelvin
    int32_t conducts;  // heat
    int32_t warm;      // quarter kelvins that it comes with
} mixture_fluid;

// What melts or boils. cold and hot are places in the order of the fluids.
typedef struct mixture_change {
    int32_t cold, hot;
    int32_t point;   // quarter kelvins
    int32_t latent;  // heat per unit
    int32_t turned;  // what a unit takes of a cell's heat: latent, and the difference of heat capacities at the point
    bool boils;
} mixture_change;

// What two materials become that meet. All are places in the order of the fluids.
typedef struct mixture_reaction {
    int32_t first, second;
    int32_t first_to, second_to;  // MIXTURE_LEAVES, MIXTURE_HARDENS: it is out of the world, or terrain
    rule_reaction law;
} mixture_reaction;

// Liquids from the densest to the lightest, gases from the lightest to the densest, then solids. Of equals the lower number comes first.
typedef struct mixture_order {
    int32_t count, liquids, gases;
    mixture_fluid fluid[MIXTURE_FLUIDS];
    int32_t changes;
    mixture_change change[MIXTURE_FLUIDS];
    int32_t reactions;
    bool hardens;  // one of them makes terrain
    mixture_reaction reaction[WEIR_REACTION_MAX];
} mixture_order;

typedef struct mixture_tile {
    mixture_order order;  // of what is, or may come to be, in the tile
    int32_t film, pressure;
    bool z_first, walls, passes;  // passes: no cell of it is solid
    // What came of it.
    int64_t warmed, cooled;                // heat from and to walls
    int64_t turned[MIXTURE_FLUIDS];        // units, by change; less than nothing: back to the cold one
    int64_t reacted[WEIR_REACTION_MAX];    // units of each of the two, by reaction
    int64_t taken;                         // heat that reactions took up, or that left with what left
    int32_t open[TILE_PARTS][TILE_LANES];  // -1, or 0: solid
    int32_t wall[TILE_PARTS][TILE_LANES];  // quarter kelvins at which terrain is held; 0: it is not
    int32_t heat[TILE_PARTS][TILE_LANES];
    int32_t amount[MIXTURE_FLUIDS][TILE_PARTS][TILE_LANES];
    int32_t hardened[TILE_PARTS][TILE_LANES];  // units that became terrain, where the order has reactions that make any
} mixture_tile;

// The passes over a tile, compiled once per width of SIMD.
typedef struct mixture_kernels {
    void (*update)(mixture_tile *tile);
    // The least and greatest temperature in a tile, in whole quarter kelvins.
    void (*range)(const mixture_tile *tile, int32_t *low, int32_t *high);
} mixture_kernels;

extern const mixture_kernels mixture_kernels_scalar, mixture_kernels_avx2, mixture_kernels_avx512;

// What a worker books until the update ends.
typedef struct mixture_books {
    int64_t turned[WEIR_MATERIAL_MAX];  // drops less of a material
    int64_t warmed, cooled, turned_heat;
} mixture_books;

typedef struct mixture_worker {
    mixture_tile tile;
    mixture_books books;
} mixture_worker;

typedef struct mixture {
    fluid_cells cells;  // first
    cell_channel channels[MIXTURE_CHANNELS];
    cell_layout layout;
    const mixture_kernels *kernels;
    mixture_worker *workers;
    int32_t worker_count;
    mixture_order order, frozen_order;
    uint32_t known;  // materials that have a channel, as bits; part of the state
    world_ledger heat, frozen_heat;
    // By brick.
    uint32_t *holds;     // materials in it, as bits, if it is wet
    uint8_t *touched;    // 8 per brick, by the part of it that a tile has: whether that changed
    uint16_t *hardened;  // 512 per brick: units that became terrain in this update; NULL where no reaction makes any
    int32_t brick_room;
    int32_t film, pressure;         // of the parameters, as they were in the last update
    uint64_t heater_digest;         // of the heaters there were then
    struct mixture_opencl *opencl;  // NULL: the world runs on the CPU
    int32_t awake;                  // bricks that the last update worked on
} mixture;

// ---- fluids.c: what materials are like -----------------------------------------------------------------------------------------

// Makes the order of some materials, without reactions.
void mixture_arrange(const world_material *materials, uint32_t known, const int32_t channel[WEIR_MATERIAL_MAX],
                     mixture_order *order);
// The materials that some may be or become in an update where it is so cold and so hot, in quarter kelvins, and that much more.
uint32_t mixture_reach(const mixture_order *all, uint32_t materials, int32_t low, int32_t high, int32_t margin);
// Those of an order that are of some materials, and the changes and reactions among them.
void mixture_choose(const mixture_order *all, uint32_t materials, mixture_order *order);
// Lists the next channel as one of amounts.
void mixture_name_channel(mixture *s);
// Makes channels for some materials, as bits, and all that they can turn into. Fails on memory, and when there are too many; none is known then that
// was not.
weir_status mixture_know(mixture *s, uint32_t materials);
// The same for what may be made of the materials that are known: a game may add what they melt from, and reactions. What there is no
// place for is left out.
weir_status mixture_know_products(mixture *s);
weir_status mixture_reaction_prepare(void *state, const weir_reaction_def *def);
void mixture_reactions_changed(void *state);
// Looks at the world's materials and reactions anew.
void mixture_learn(mixture *s);
// The place of a material in an order; -1: it is not there.
int32_t mixture_place(const mixture_order *order, weir_material material);

// ---- edits.c -------------------------------------------------------------------------------------------------------------------

extern const cell_store mixture_cell_store;

weir_status mixture_prepare(void *state, const world_edit *edit);
void mixture_apply(void *state, const world_edit *edit);
void mixture_terrain_changed(void *state, weir_box bricks);
weir_status mixture_materials_prepare(void *state, uint32_t materials);
void mixture_drain_sides(mixture *s);
// The materials in a brick, as bits.
uint32_t mixture_holds(const mixture *s, int32_t brick);
// Counts a brick anew into wet and holds.
void mixture_count(mixture *s, int32_t brick);
// Hands what became terrain in an update to the world.
void mixture_harden(mixture *s);

// ---- cpu_mixture.c: an update --------------------------------------------------------------------------------------------------

weir_status mixture_reserve(void *state);
weir_status mixture_update(void *state);
// Room for tables of so many bricks as the pool can have.
weir_status mixture_reserve_tables(mixture *s);
// All bricks are looked at in the next updates.
void mixture_wake_all(mixture *s);
// The same if heaters or parameters are others than in the last update; true if they are.
bool mixture_wake_for_surroundings(mixture *s);

// ---- opencl_mixture.c: the same on a device --------------------------------------------------------------------------------------

typedef struct mixture_opencl mixture_opencl;

weir_status mixture_opencl_create(mixture *s, const char *device);
void mixture_opencl_destroy(mixture *s);
// Behind mixture_reserve.
weir_status mixture_opencl_reserve(mixture *s);
weir_status mixture_opencl_update(mixture *s);
// Another state was adopted.
void mixture_opencl_adopted(mixture *s);
const char *mixture_opencl_validate(mixture *s);

// ---- state.c -------------------------------------------------------------------------------------------------------------------

void mixture_view(const void *state, bool frozen, fluid_view *view);
weir_status mixture_freeze(void *state);
uint64_t mixture_hash(const void *state, bool frozen);
void mixture_save(const void *state, snapshot_writer *w);
weir_status mixture_load(void *state, snapshot_reader *r, const terrain *t, int64_t held[WEIR_MATERIAL_MAX], void **arrival);
const char *mixture_arrival_fits(const void *state, const void *arrival, const world_material *materials, int32_t count);
void mixture_adopt(void *state, void *arrival);
void mixture_discard(void *state, void *arrival);
const char *mixture_validate(void *state, bool cells_only, int64_t held[WEIR_MATERIAL_MAX], bool *all_here);
void mixture_heat(const void *state, bool frozen, weir_heat_ledger *ledger);
// The pieces of these for regions: the bricks, or those of a box, with the amounts of some materials; and back, into `a`, which says which.
void mixture_put_bricks(const mixture *s, snapshot_writer *w, const weir_box *box, uint32_t materials);
weir_status mixture_get_bricks(const mixture *s, snapshot_reader *r, const terrain *t, const weir_box *box,
                               int64_t held[WEIR_MATERIAL_MAX], mixture *a);
// NULL, or what is wrong with what a cell is to hold.
const char *mixture_cell_fits(const mixture_order *order, const int32_t amounts[MIXTURE_FLUIDS], int32_t heat, weir_coord at);

// ---- regions.c -----------------------------------------------------------------------------------------------------------------

void mixture_region_save(const void *state, weir_box bricks, snapshot_writer *w);
void mixture_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX]);
weir_status mixture_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                                int64_t held[WEIR_MATERIAL_MAX], void **arrival);
void mixture_region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes);
const char *mixture_put_fits(const void *state, const fluid_brick *brick);
weir_status mixture_put_prepare(void *state, const weir_coord *bricks, int32_t count);
void mixture_put(void *state, fluid_next_brick *next, void *source, fluid_brick *from);

static inline uint16_t *mixture_amounts(const brick_pool *pool, const mixture_fluid *fluid, int32_t brick)
{
    return bricks_values(pool, fluid->channel, brick);
}

// The order that belongs to a pool, which may be the frozen one.
static inline const mixture_order *mixture_order_of(const mixture *s, const brick_pool *pool)
{
    return pool == &s->cells.frozen ? &s->frozen_order : &s->order;
}

#endif
