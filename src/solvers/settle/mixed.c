// The laws over a brick near which there are several materials: those of laws.h, cell by cell, and what they leave open: which one an empty
// cell takes. A cell holds one material, and takes in no other until it is empty. An empty one takes what falls into it from above; else
// what is pressed up into it; else, of what would run in from its sides, the material of the largest flow, and of equal ones that of the higher
// number. What would bring another waits.
//
// A tile reaches two cells beyond the brick at its sides: which material an empty cell beside the brick takes depends on those.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum {
    BEYOND = 2,
    EDGE = BRICK_EDGE + 2 * BEYOND,
    PLANE = EDGE * EDGE,
    CELLS = EDGE * PLANE,
    UP = EDGE,  // steps: x 1, y EDGE, z PLANE
    WAYS = 4
};
#define MIXED_AT(x, y, z) ((x) + BEYOND + EDGE * ((y) + BEYOND) + PLANE * ((z) + BEYOND))

static const int32_t SIDES[WAYS] = {-1, 1, -PLANE, PLANE};

typedef struct settle_mixed {
    const settle *s;
    uint16_t film[WEIR_MATERIAL_MAX];
    uint16_t fill[CELLS], capacity[CELLS], body[CELLS], top[CELLS], pressed[CELLS], head[CELLS];
    uint16_t down[CELLS], up[CELLS], fill_1[CELLS];
    uint16_t out[WAYS][CELLS];  // what a cell's neighbour at a side gets of it
    uint8_t material[CELLS];    // that a cell takes in alone; 0: any
    uint8_t material_1[CELLS];  // after water has fallen and risen
    uint8_t material_2[CELLS];  // and run
} settle_mixed;

size_t settle_mixed_bytes(void)
{
    return sizeof(settle_mixed);
}

// ---- Filling in ----------------------------------------------------------------------------------------------------------------

static void load_node(const settle *s, settle_mixed *m, const settle_brick *b, const settle_node *node, weir_coord low,
                      int32_t bottom)
{
    const settle_body *body = body_at(s, node->body);
    const settle_surface surface = settle_seen(body);
    for (int32_t layer = 0; layer < BRICK_EDGE; layer++) {
        const int32_t y = low.y + layer;
        if (y < -BEYOND || y >= BRICK_EDGE + BEYOND) continue;
        const int64_t head = surface_height(surface) - ((int64_t)bottom + layer + 1) * SETTLE_FULL;
        for (uint64_t left = node->cells.layer[layer]; left;) {
            const int32_t bit = region_take(&left), x = low.x + (bit & 7), z = low.z + (bit >> 3);
            if (x < -BEYOND || x >= BRICK_EDGE + BEYOND || z < -BEYOND || z >= BRICK_EDGE + BEYOND) continue;
            const int32_t i = MIXED_AT(x, y, z), capacity = cell_capacity(b, cell_of(layer, bit));
            m->fill[i] = (uint16_t)surface_fill(surface, bottom + layer, capacity);
            m->capacity[i] = (uint16_t)capacity;
            m->material[i] = body->material;
            m->body[i] = 0xffff;
            m->top[i] = rule_settle_mask(bottom + layer >= surface.top);
            m->pressed[i] = rule_settle_mask(head >= 0);
            m->head[i] = (uint16_t)(head < 0 ? 0 : head < SETTLE_FULL ? head : SETTLE_FULL);
        }
    }
}

static int32_t from(int32_t low)
{
    return low < 0 ? BRICK_EDGE - BEYOND : 0;
}

static int32_t to(int32_t low)
{
    return low > 0 ? BEYOND : BRICK_EDGE;
}

// A brick of which the lowest cell is at `low` in the tile. Free cells of one at rest count as solid.
static void load_brick(const settle *s, settle_mixed *m, int32_t brick, weir_coord low)
{
    const settle_brick *b = &s->bricks[brick];
    for (int32_t z = from(low.z); z < to(low.z) && b->worked; z++) {
        for (int32_t y = from(low.y); y < to(low.y); y++) {
            for (int32_t x = from(low.x); x < to(low.x); x++) {
                const int32_t cell = x + 8 * y + 64 * z, i = MIXED_AT(low.x + x, low.y + y, low.z + z);
                m->fill[i] = b->page ? page_fill(b->page)[cell] : 0;
                m->capacity[i] = (uint16_t)cell_capacity(b, cell);
                m->material[i] = (uint8_t)(m->fill[i] > 0 ? page_material(b->page, cell) : WEIR_NOTHING);
            }
        }
    }
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick)
        load_node(s, m, b, node_at(s, n), low, 8 * s->cells.pool.coord[brick].y);
}

static void load(const settle *s, settle_mixed *m, int32_t brick)
{
    memset(m, 0, sizeof *m);
    m->s = s;
    for (int32_t i = 1; i < s->cells.world->material_count; i++) m->film[i] = (uint16_t)settle_film(s, i);
    for (int32_t k = 0; k < 27; k++) {
        const int32_t near = s->cells.pool.near[brick][k];
        if (near) load_brick(s, m, near, (weir_coord){8 * (k % 3 - 1), 8 * (k / 3 % 3 - 1), 8 * (k / 9 - 1)});
    }
}

// ---- The laws ------------------------------------------------------------------------------------------------------------------

// What a cell can take in of a material from above or below.
static uint16_t room_for(const settle_mixed *m, int32_t i, int32_t material)
{
    if (m->material[i] && m->material[i] != material) return 0;
    return rule_settle_room(m->fill[i], m->capacity[i], m->body[i], m->top[i]);
}

// The same after water has fallen and risen.
static uint16_t room_for_1(const settle_mixed *m, int32_t i, int32_t material)
{
    if (m->material_1[i] && m->material_1[i] != material) return 0;
    return rule_settle_room(m->fill_1[i], m->capacity[i], m->body[i], m->top[i]);
}

static void find_down(settle_mixed *m, int32_t i)
{
    const uint16_t room = room_for(m, i - UP, m->material[i]);
    const uint16_t falls = rule_settle_down(m->fill[i], m->capacity[i], room, m->body[i], m->body[i - UP]);
    m->down[i] = rule_settle_slow_fall(falls, room, m->s->slow[m->material[i]]);
}

// Whether a body's cell stands on something full; `lowest` in the lowest layer of a tile, below which nothing is known.
static uint16_t stands(const settle_mixed *m, int32_t i, bool lowest)
{
    return (uint16_t)(lowest ? 0xffff : m->body[i - UP] | rule_settle_mask(room_for(m, i - UP, m->material[i]) == 0));
}

static void find_up(settle_mixed *m, int32_t i, bool lowest)
{
    const int32_t above = i + UP, material = m->material[i];
    const bool falls_in = m->material[above] == WEIR_NOTHING && m->down[above + UP] > 0 && m->material[above + UP] != material;
    if (material == WEIR_NOTHING || falls_in || (m->material[above] && m->material[above] != material)) return;
    m->up[i] = rule_settle_up(m->fill[i], m->capacity[i], m->head[i], stands(m, i, lowest),
                              rule_settle_level(m->fill[above], m->capacity[above]), room_for(m, above, material), m->body[i],
                              m->body[above]);
}

static void move_upright(settle_mixed *m, int32_t i)
{
    const uint16_t moved = (uint16_t)(m->fill[i] - m->down[i] + m->down[i + UP] - m->up[i] + m->up[i - UP]);
    m->fill_1[i] = rule_settle_choose(m->body[i], m->fill[i], moved);
    if (m->body[i] || (m->fill_1[i] > 0 && m->material[i]))
        m->material_1[i] = m->material[i];
    else if (m->fill_1[i] > 0)
        m->material_1[i] = m->down[i + UP] > 0 ? m->material[i + UP] : m->material[i - UP];
}

// What would run from a cell to one at its side if nothing else did.
static uint16_t would_run(const settle_mixed *m, int32_t a, int32_t b)
{
    const int32_t material = m->material_1[a];
    if (m->fill_1[a] == 0 || (m->material_1[b] && m->material_1[b] != material)) return 0;
    const uint16_t gives = m->body[a] ? stands(m, a, false) : rule_settle_mask(room_for_1(m, a - UP, material) == 0);
    const bool dry = m->fill_1[b] == 0 && room_for_1(m, b - UP, material) == 0;
    return rule_settle_side(m->fill_1[a], rule_settle_level(m->fill_1[a], m->capacity[a]),
                            rule_settle_level(m->fill_1[b], m->capacity[b]), m->body[a], m->pressed[a], gives,
                            rule_settle_mask(m->fill_1[a] < m->film[material]), rule_settle_mask(dry),
                            rule_settle_mask(m->capacity[b] != 0), (uint16_t)(m->body[a] & m->body[b]), m->s->slow[material]);
}

// What runs into a cell from its sides. An empty one takes but one material.
static void find_sides(settle_mixed *m, int32_t i)
{
    uint16_t runs[WAYS], most = 0;
    int32_t taken = m->material_1[i];
    for (int32_t k = 0; k < WAYS; k++) {
        const int32_t a = i + SIDES[k], material = m->material_1[a];
        runs[k] = would_run(m, a, i);
        if (m->material_1[i] || runs[k] == 0 || (runs[k] == most ? material <= taken : runs[k] < most)) continue;
        taken = material;
        most = runs[k];
    }
    for (int32_t k = 0; k < WAYS; k++)
        if (m->material_1[i + SIDES[k]] == taken) m->out[k ^ 1][i + SIDES[k]] = runs[k];
    m->material_2[i] = (uint8_t)taken;
}

// Over the cells of a tile, as many beyond the brick as are given.
#define OVER_CELLS(beyond, y_from, y_to)                        \
    for (int32_t z = -(beyond); z < BRICK_EDGE + (beyond); z++) \
        for (int32_t y = (y_from); y < (y_to); y++)             \
            for (int32_t x = -(beyond), i = MIXED_AT(x, y, z); x < BRICK_EDGE + (beyond); x++, i++)

static void find_flows(settle_mixed *m)
{
    OVER_CELLS(BEYOND, -1, BRICK_EDGE + 2) find_down(m, i);
    OVER_CELLS(BEYOND, -2, BRICK_EDGE) find_up(m, i, y == -2);
    OVER_CELLS(BEYOND, -1, BRICK_EDGE) move_upright(m, i);
    OVER_CELLS(1, 0, BRICK_EDGE) find_sides(m, i);
}

// ---- What becomes of it ----------------------------------------------------------------------------------------------------------

static uint16_t larger(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

// What the kernel that takes it and the booking read of a tile.
static void hand_over(const settle_mixed *m, settle_tile *t)
{
    memset(t->body, 0, sizeof t->body);
    OVER_CELLS(1, -1, BRICK_EDGE + 1)
    {
        const int at = TILE_AT(x, y, z);
        t->capacity[at] = m->capacity[i];
        t->body[at] = m->body[i];
        t->down[at] = m->down[i];
        t->up[at] = m->up[i];
        t->to_x[at] = m->out[1][i];
        t->from_x[at] = m->out[0][i + 1];
        t->to_z[at] = m->out[3][i];
        t->from_z[at] = m->out[2][i + PLANE];
    }
    OVER_CELLS(0, 0, BRICK_EDGE)
    {
        uint16_t in = 0, out = 0, most = larger(larger(m->down[i], m->up[i]), larger(m->down[i + UP], m->up[i - UP]));
        for (int32_t k = 0; k < WAYS; k++) {
            const uint16_t comes = m->out[k ^ 1][i + SIDES[k]], goes = m->out[k][i];
            in = (uint16_t)(in + comes);
            out = (uint16_t)(out + goes);
            most = larger(most, larger(comes, goes));
        }
        const bool free = m->capacity[i] != 0 && !m->body[i];
        t->room[TILE_AT(x, y, z)] = (uint16_t)(free ? m->fill_1[i] + in - out : 0);
        t->level[TILE_AT(x, y, z)] = most;
    }
}

bool settle_mixed_flows(const settle *s, int32_t brick, settle_tile *t, void *room)
{
    settle_mixed *m = room;
    settle_page *page = s->bricks[brick].page;
    const uint8_t *old = page->materials[page->now];
    uint8_t *new = page->materials[1 - page->now];
    bool turned = false;
    load(s, m, brick);
    find_flows(m);
    hand_over(m, t);
    OVER_CELLS(0, 0, BRICK_EDGE)
    {
        const int32_t cell = x + 8 * y + 64 * z;
        const bool wet = t->room[TILE_AT(x, y, z)] > 0;
        new[cell] = (uint8_t)(wet ? m->material_2[i] : WEIR_NOTHING);
        turned |= wet && page_fill(page)[cell] > 0 && new[cell] != old[cell];
    }
    return turned;
}
