// Which material is where. A cell holds one, and so does a body. A page's water is of one material as long as all of it is; only where
// several meet it has a byte for each of its cells.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

// ---- What materials are like -------------------------------------------------------------------------------------------------

// By how many halves a liquid's flows are slower than those of water: one for each 32 times of viscosity. Compared and not computed, so that
// all machines agree.
static uint8_t slowness(float viscosity)
{
    uint8_t slow = 0;
    for (float least = 32; slow < SETTLE_SLOWEST && viscosity >= least; least *= 32) slow++;
    return slow;
}

void settle_learn_liquids(settle *s)
{
    const weir_world *world = s->cells.world;
    for (int32_t i = 1; i < world->material_count; i++) s->slow[i] = slowness(world->materials[i].def.viscosity);
}

// ---- Cells -------------------------------------------------------------------------------------------------------------------

uint64_t settle_wet_of(const settle_page *page, int32_t layer, int32_t material)
{
    if (!page->materials) return page->material == material ? page->wet.layer[layer] : 0;
    uint64_t cells = 0;
    for (uint64_t left = page->wet.layer[layer]; left;) {
        const int32_t bit = region_take(&left);
        if (page->materials[page->now][cell_of(layer, bit)] == material) cells |= UINT64_C(1) << bit;
    }
    return cells;
}

int32_t settle_page_materials(const settle_page *page, uint8_t materials[BRICK_CELLS])
{
    int32_t all = WEIR_NOTHING;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        materials[cell] = WEIR_NOTHING;
        if (page->fill[page->now][cell] == 0) continue;
        materials[cell] = (uint8_t)page_material(page, cell);
        all = all == WEIR_NOTHING || all == materials[cell] ? materials[cell] : SETTLE_SEVERAL;
    }
    return all;
}

void settle_read_materials(const settle *s, int32_t brick, uint8_t materials[BRICK_CELLS])
{
    const settle_brick *b = brick < s->brick_room ? &s->bricks[brick] : NULL;
    memset(materials, WEIR_NOTHING, BRICK_CELLS);
    if (!b || brick == BRICK_NOTHING) return;
    if (b->page) settle_page_materials(b->page, materials);
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick) {
        const settle_node *node = node_at(s, n);
        const settle_body *body = body_at(s, node->body);
        for (int32_t y = 0; y < 8; y++) {
            for (uint64_t left = node->cells.layer[y]; left;) {
                const int32_t cell = cell_of(y, region_take(&left));
                if (body_fill(body, bottom + y, cell_capacity(b, cell)) > 0) materials[cell] = body->material;
            }
        }
    }
}

void settle_set_cell(settle_page *page, int32_t cell, int32_t material, int32_t units)
{
    page_fill(page)[cell] = (uint16_t)units;
    page->calm[cell] = 0;
    if (page->materials)
        page->materials[page->now][cell] = (uint8_t)(units > 0 ? material : WEIR_NOTHING);
    else if (units > 0)
        page->material = (uint8_t)material;
}

// ---- Pages of several --------------------------------------------------------------------------------------------------------

void settle_note_materials(settle *s, settle_page *page, void *room)
{
    page->materials = room;
    s->mixed_count++;
    // Also of what it is going to hold, if it has been worked on.
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
        for (int32_t k = 0; k < 2; k++) page->materials[k][cell] = page->fill[k][cell] > 0 ? page->material : WEIR_NOTHING;
}

weir_status settle_need_materials(settle *s, int32_t brick)
{
    settle_page *page = s->bricks[brick].page;
    if (page->materials) return WEIR_OK;
    void *room = memory_alloc_zero(&s->cells.world->mem, SETTLE_MIXED_BYTES);
    if (!room) return status_fail(WEIR_ERROR_MEMORY, "no memory for the liquids of one more brick");
    settle_note_materials(s, page, room);
    return WEIR_OK;
}

void settle_drop_materials(settle *s, int32_t brick)
{
    settle_page *page = s->bricks[brick].page;
    uint8_t materials[BRICK_CELLS];
    if (!page || !page->materials || s->bricks[brick].done) return;  // it may be going to hold several
    const int32_t all = settle_page_materials(page, materials);
    if (all == SETTLE_SEVERAL) return;
    memory_free(&s->cells.world->mem, page->materials, SETTLE_MIXED_BYTES);
    s->mixed_count--;
    page->materials = NULL;
    page->material = (uint8_t)all;
}

// ---- Before an update --------------------------------------------------------------------------------------------------------

static bool is_several(uint32_t liquids)
{
    return liquids & (liquids - 1);
}

// The materials in a brick, as bits.
static uint32_t liquids_in(const settle *s, int32_t brick)
{
    const settle_brick *b = &s->bricks[brick];
    uint32_t liquids = 0;
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick)
        liquids |= UINT32_C(1) << body_at(s, node_at(s, n)->body)->material;
    if (!b->page || layers_empty(&b->page->wet)) return liquids;
    if (!b->page->materials) return liquids | UINT32_C(1) << b->page->material;
    // Eight cells at once, since most are of what was found before.
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t known = 0;
    for (int32_t row = 0; row < BRICK_CELLS; row += 8) {
        const uint8_t *materials = &b->page->materials[b->page->now][row];
        uint64_t word;
        memcpy(&word, materials, sizeof word);
        if (word == 0 || word == known) continue;
        for (int32_t i = 0; i < 8; i++)
            if (page_fill(b->page)[row + i] > 0) liquids |= UINT32_C(1) << materials[i];
        if (word == each * materials[0] && liquids >> materials[0] & 1) known = word;
    }
    return liquids;
}

// In one update nothing comes farther than from the bricks around: what runs into a cell depends on those two cells away.
uint32_t settle_liquids_around(const settle *s, int32_t brick)
{
    uint32_t liquids = 0;
    for (int32_t k = 0; k < 27; k++) liquids |= liquids_in(s, s->cells.pool.near[brick][k]);
    return liquids;
}

uint32_t settle_liquids_beside(const settle *s, int32_t brick)
{
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    uint32_t liquids = liquids_in(s, brick);
    for (int32_t f = 0; f < 6; f++) liquids |= liquids_in(s, s->cells.pool.near[brick][faces[f]]);
    return liquids;
}

layer_mask settle_meeting_cells(const settle *s, int32_t brick)
{
    const uint64_t all = ~UINT64_C(0), low_x = UINT64_C(0x0101010101010101);
    const uint32_t own = liquids_in(s, brick);
    const int32_t *near = s->cells.pool.near[brick];
    layer_mask cells = {{0}};
    uint64_t sides = is_several(own) ? all : 0;
    if (liquids_in(s, near[NEAR(-1, 0, 0)]) & ~own) sides |= low_x;
    if (liquids_in(s, near[NEAR(1, 0, 0)]) & ~own) sides |= low_x << 7;
    if (liquids_in(s, near[NEAR(0, 0, -1)]) & ~own) sides |= 0xff;
    if (liquids_in(s, near[NEAR(0, 0, 1)]) & ~own) sides |= UINT64_C(0xff) << 56;
    for (int32_t y = 0; y < 8; y++) cells.layer[y] = sides;
    if (liquids_in(s, near[NEAR(0, -1, 0)]) & ~own) cells.layer[0] = all;
    if (liquids_in(s, near[NEAR(0, 1, 0)]) & ~own) cells.layer[7] = all;
    return cells;
}

uint32_t settle_liquids_noted(settle *s, int32_t brick)
{
    uint32_t liquids = 0;
    for (int32_t k = 0; k < 27; k++) {
        const int32_t near = s->cells.pool.near[brick][k];
        settle_brick *b = &s->bricks[near];
        if (!near) continue;
        if (b->noted != s->note) {
            b->noted = s->note;
            b->liquids = liquids_in(s, near);
        }
        liquids |= b->liquids;
    }
    return liquids;
}

// And those that reservoirs keep there.
static uint32_t liquids_kept(const settle *s, int32_t brick)
{
    const weir_world *world = s->cells.world;
    const weir_coord at = s->cells.pool.coord[brick];
    uint32_t liquids = 0;
    for (int32_t i = 0; i < world->source_count; i++) {
        if (world->sources[i].kind != SOURCE_RESERVOIR) continue;
        weir_box box = region_bricks(world->sources[i].box);
        box.min = (weir_coord){box.min.x - 1, box.min.y - 1, box.min.z - 1};
        box.max = (weir_coord){box.max.x + 1, box.max.y + 1, box.max.z + 1};
        if (region_holds(box, at)) liquids |= UINT32_C(1) << world->sources[i].material;
    }
    return liquids;
}

static uint8_t one_of(uint32_t liquids)
{
    return (uint8_t)(is_several(liquids) ? SETTLE_SEVERAL : liquids ? __builtin_ctz(liquids) : WEIR_NOTHING);
}

// Whatever an emitter will have poured by then may run on.
static weir_status reserve_emitter(settle *s, weir_box box)
{
    fluid_view view;
    cells_view(&s->cells, false, &view);
    region_walk walk = region_walk_live(&view, box);
    weir_status status = WEIR_OK;
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        for (int32_t k = 0; k < 27 && status == WEIR_OK; k++) {
            const int32_t near = s->cells.pool.near[b][k];
            if (!near) continue;
            s->bricks[near].liquid = SETTLE_SEVERAL;
            if (s->bricks[near].page) status = settle_need_materials(s, near);
        }
    }
    return status;
}

// The liquid of a brick by what is around it now.
static uint8_t find_liquid(const settle *s, int32_t brick)
{
    return one_of(settle_liquids_around(s, brick) | liquids_kept(s, brick));
}

bool settle_liquids_hold(settle *s)
{
    for (int32_t i = 0; i < s->work_count && s->climbed && is_several(s->liquids); i++) {
        settle_brick *b = &s->bricks[s->active[i]];
        if (b->liquid == SETTLE_SEVERAL) continue;
        const uint8_t liquid = find_liquid(s, s->active[i]);
        if (liquid == SETTLE_SEVERAL) return false;
        b->liquid = liquid;
    }
    return true;
}

weir_status settle_reserve_liquids(settle *s, const int32_t *bricks, int32_t count, bool sources)
{
    const weir_world *world = s->cells.world;
    uint32_t liquids = s->liquids;
    for (int32_t i = 0; i < world->source_count; i++)
        if (world->sources[i].kind == SOURCE_EMITTER || world->sources[i].kind == SOURCE_RESERVOIR)
            liquids |= UINT32_C(1) << world->sources[i].material;
    if (is_several(liquids) && !s->mixed_scratch) {
        s->mixed_scratch = memory_alloc(&s->cells.world->mem, (size_t)s->workers * settle_mixed_bytes());
        if (!s->mixed_scratch) return status_fail(WEIR_ERROR_MEMORY, "no memory to work on bricks of several liquids");
    }
    weir_status status = WEIR_OK;
    s->climbed = false;
    for (int32_t i = 0; i < count && status == WEIR_OK; i++) {
        settle_brick *b = &s->bricks[bricks[i]];
        b->liquid =
            is_several(liquids) ? one_of(settle_liquids_noted(s, bricks[i]) | liquids_kept(s, bricks[i])) : one_of(liquids);
        if (b->liquid == SETTLE_SEVERAL)
            status = settle_need_materials(s, bricks[i]);
        else
            settle_drop_materials(s, bricks[i]);
    }
    for (int32_t i = 0; i < world->source_count && status == WEIR_OK && sources && is_several(liquids); i++)
        if (world->sources[i].kind == SOURCE_EMITTER && world_source_acts(world, &world->sources[i]))
            status = reserve_emitter(s, world->sources[i].box);
    return status;
}

// ---- Meeting -----------------------------------------------------------------------------------------------------------------

void settle_wake_strangers(settle *s, int32_t brick, int32_t body)
{
    static const int32_t near[7] = {BRICK_SELF,    NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, -1, 0),
                                    NEAR(0, 1, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};
    const uint32_t own = UINT32_C(1) << body_at(s, body)->material;
    if (!is_several(s->liquids | own)) return;
    for (int32_t k = 0; k < 7; k++) {
        const int32_t there = s->cells.pool.near[brick][near[k]];
        if (!there || !(liquids_in(s, there) & ~own)) continue;
        settle_wake(s, brick);
        settle_wake(s, there);
    }
}
