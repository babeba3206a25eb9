// Free water that becomes still: it joins a body that it touches, or begins one.
//
// All water joins that stands on something and lies no higher than the body's top layer, whatever its level: what reaches a lake is the
// lake's at once, and neither a heap stays where it came nor a slope where it runs. A flood from brick to brick finds all that hangs
// together; which brick comes first makes no difference to it.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

static const uint64_t LOW_X = UINT64_C(0x0101010101010101);
static const int32_t FACES[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, -1, 0), NEAR(0, 1, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};

// ---- What can join -----------------------------------------------------------------------------------------------------------

// Cells of a layer on which a material stands: solid ones, full ones, and those that hold another.
static uint64_t firm(const settle *s, int32_t brick, int32_t layer, int32_t material)
{
    const settle_brick *b = &s->bricks[brick];
    if (!brick) return ~UINT64_C(0);
    const int32_t y = 8 * s->cells.pool.coord[brick].y + layer;
    uint64_t cells = ~b->open.layer[layer];
    if (b->page) cells |= b->page->full.layer[layer] | (b->page->wet.layer[layer] & ~settle_wet_of(b->page, layer, material));
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick) {
        const settle_body *body = body_at(s, node_at(s, n)->body);
        if (y < body->top || body->level == SETTLE_FULL || body->material != material)
            cells |= node_at(s, n)->cells.layer[layer];
    }
    return cells;
}

static uint64_t firm_below(const settle *s, int32_t brick, int32_t layer, int32_t material)
{
    if (layer > 0) return firm(s, brick, layer - 1, material);
    return firm(s, s->cells.pool.near[brick][NEAR(0, -1, 0)], 7, material);
}

// The free cells of a layer of a brick that can join a body of a material.
static uint64_t joining(const settle *s, int32_t brick, int32_t layer, int32_t top, int32_t material)
{
    const settle_brick *b = &s->bricks[brick];
    const int32_t y = 8 * s->cells.pool.coord[brick].y + layer;
    if (!b->page || y > top) return 0;
    const uint64_t cells = settle_wet_of(b->page, layer, material);
    return cells ? cells & firm_below(s, brick, layer, material) : 0;
}

// ---- The flood ---------------------------------------------------------------------------------------------------------------

// The cells of a brick that lie beside a body's cells in the bricks around it.
layer_mask settle_beside(const settle *s, int32_t brick, int32_t body)
{
    layer_mask cells = {{0}};
    for (int32_t f = 0; f < 6; f++) {
        const int32_t there = s->cells.pool.near[brick][FACES[f]];
        const int32_t node = there ? settle_find_node(s, there, body) : 0;
        if (!node) continue;
        const layer_mask *mask = &node_at(s, node)->cells;
        for (int32_t y = 0; y < 8 && f != 2 && f != 3; y++) {
            const uint64_t layer = mask->layer[y];
            cells.layer[y] |= f == 0 ? layer >> 7 & LOW_X : f == 1 ? (layer & LOW_X) << 7 : f == 4 ? layer >> 56 : layer << 56;
        }
        if (f == 2) cells.layer[0] |= mask->layer[7];
        if (f == 3) cells.layer[7] |= mask->layer[0];
    }
    return cells;
}

// Lets a body grow within a brick. Returns the cells it got.
static layer_mask grow(const settle *s, int32_t brick, int32_t body)
{
    const int32_t node = settle_find_node(s, brick, body);
    layer_mask can, had = {{0}}, has = settle_beside(s, brick, body);
    if (node) had = node_at(s, node)->cells;
    for (int32_t y = 0; y < 8; y++) {
        can.layer[y] = joining(s, brick, y, body_at(s, body)->top, body_at(s, body)->material);
        has.layer[y] = (has.layer[y] & can.layer[y]) | had.layer[y];
    }
    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t y = 0; y < 8; y++) {
            uint64_t wider = layer_sides(has.layer[y]);
            if (y > 0) wider |= has.layer[y - 1];
            if (y < 7) wider |= has.layer[y + 1];
            wider = (wider & can.layer[y]) | has.layer[y];
            grown |= wider != has.layer[y];
            has.layer[y] = wider;
        }
    }
    for (int32_t y = 0; y < 8; y++) has.layer[y] &= ~had.layer[y];
    return has;
}

// A body presses up where it is lower than its top layer.
static void wake_above(settle *s, int32_t brick, int32_t layer, uint64_t cells)
{
    const int32_t above = layer < 7 ? brick : s->cells.pool.near[brick][NEAR(0, 1, 0)];
    const int32_t next = (layer + 1) & 7;
    if (above && cells & s->bricks[above].open.layer[next] & ~settle_taken(s, above).layer[next]) settle_wake(s, above);
}

// Makes free cells of a brick a body's.
static void take_cells(settle *s, int32_t brick, int32_t body, const layer_mask *cells)
{
    const int32_t node = settle_need_node(s, brick, body);
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    for (int32_t y = 0; y < 8; y++) {
        if (!cells->layer[y]) continue;
        node_at(s, node)->cells.layer[y] |= cells->layer[y];
        settle_count_cells(s, body_at(s, body), &s->bricks[brick], bottom + y, cells->layer[y], 1);
        settle_absorb(s, body, brick, y, cells->layer[y]);
    }
    for (int32_t y = 0; y < 8; y++) {
        if (!cells->layer[y]) continue;
        settle_wake_sides(s, brick, y, cells->layer[y]);
        if (bottom + y < body_at(s, body)->top) wake_above(s, brick, y, cells->layer[y]);
    }
    settle_wake(s, brick);
    settle_mark_touching(s, brick, body);
    settle_note_body(s, body);
    s->cells.pool.wet[brick] = 1;
    cells_flags(&s->cells)[brick] = s->cells.world->change;
}

static void push(settle *s, int32_t brick)
{
    settle_flood *f = &s->flood;
    const settle_page *page = s->bricks[brick].page;
    if (!brick || s->bricks[brick].joins || !page || layers_empty(&page->wet)) return;
    s->bricks[brick].joins = 1;
    s->joining[(f->first + f->count++) % s->brick_room] = brick;
}

static int32_t pop(settle *s)
{
    settle_flood *f = &s->flood;
    const int32_t brick = s->joining[f->first];
    f->first = (f->first + 1) % s->brick_room;
    f->count--;
    s->bricks[brick].joins = 0;
    return brick;
}

// Each brick is in the queue at most once, so that there is room for all. In their order, since what joins gives others to stand on. False if the next update goes on.
static bool flood_on(settle *s)
{
    settle_flood *f = &s->flood;
    while (f->count > 0) {
        if (!settle_spend(s, SETTLE_COST_VISIT)) return false;
        const int32_t here = pop(s);
        const layer_mask cells = grow(s, here, f->body);
        if (layers_empty(&cells) || s->nodes.budget == 0) continue;
        settle_charge(s, SETTLE_COST_JOIN);
        take_cells(s, here, f->body, &cells);
        for (int32_t k = 0; k < 6; k++) push(s, s->cells.pool.near[here][FACES[k]]);
    }
    return true;
}

// What an edit changes may be what is flooded. Water that would have joined does so in the next turn.
void settle_end_flood(settle *s)
{
    while (s->flood.count > 0) settle_wake(s, pop(s));
    s->flood = (settle_flood){0};
}

// ---- Joining -----------------------------------------------------------------------------------------------------------------

enum { NEIGHBOURS_MAX = 64 };

// In the order of their lowest cells in the brick.
static void add_bodies(const settle *s, int32_t brick, int32_t bodies[NEIGHBOURS_MAX], int32_t *count)
{
    int32_t nodes[BRICK_CELLS];
    const int32_t here = settle_ordered_nodes(s, brick, nodes);
    for (int32_t i = 0; i < here && *count < NEIGHBOURS_MAX; i++) {
        const int32_t body = node_at(s, nodes[i])->body;
        int32_t k = 0;
        while (k < *count && bodies[k] != body) k++;
        if (k == *count) bodies[(*count)++] = body;
    }
}

int32_t settle_bodies_near(const settle *s, int32_t brick, int32_t bodies[64])
{
    int32_t count = 0;
    add_bodies(s, brick, bodies, &count);
    for (int32_t f = 0; f < 6; f++) {
        const int32_t there = s->cells.pool.near[brick][FACES[f]];
        if (there) add_bodies(s, there, bodies, &count);
    }
    return count;
}

void settle_join(settle *s, int32_t brick)
{
    settle_flood *f = &s->flood;
    const settle_page *page = s->bricks[brick].page;
    if (!page || layers_empty(&page->wet)) return;
    f->left = settle_bodies_near(s, brick, f->bodies);
    f->next = 0;
}

bool settle_join_on(settle *s)
{
    settle_flood *f = &s->flood;
    for (;;) {
        if (!flood_on(s)) return false;
        if (f->next == f->left) return true;
        f->body = f->bodies[f->next++];
        push(s, s->active[s->cursor - 1]);
    }
}

// ---- Beginning ---------------------------------------------------------------------------------------------------------------

typedef struct cell_place {
    int32_t brick, cell;
} cell_place;

static bool can_join(const settle *s, cell_place at, int32_t top, int32_t material)
{
    return at.brick && joining(s, at.brick, layer_of(at.cell), top, material) & bit_of(at.cell);
}

// Whether at least so many cells would join.
static bool is_enough(const settle *s, cell_place seed, int32_t top, int32_t material, int32_t wanted)
{
    enum { MOST = 64 };
    cell_place met[MOST] = {seed};
    int32_t count = 1;
    assert(wanted <= MOST);
    for (int32_t i = 0; i < count && count < wanted; i++) {
        for (int32_t way = 0; way < 6 && count < wanted; way++) {
            cell_place next;
            next.brick = fluid_step((const int32_t(*)[27])s->cells.pool.near, met[i].brick, met[i].cell, way >> 1,
                                    way & 1 ? 1 : -1, &next.cell);
            int32_t k = 0;
            while (k < count && (met[k].brick != next.brick || met[k].cell != next.cell)) k++;
            if (k == count && can_join(s, next, top, material)) met[count++] = next;
        }
    }
    return count >= wanted;
}

// The water over a cell up to where it ends: the top layer of a body that begins with it.
static int32_t top_over(const settle *s, cell_place at, int32_t material)
{
    for (;;) {
        cell_place above;
        above.brick = fluid_step((const int32_t(*)[27])s->cells.pool.near, at.brick, at.cell, 1, 1, &above.cell);
        const settle_page *page = above.brick ? s->bricks[above.brick].page : NULL;
        if (!layers_have(&s->bricks[at.brick].page->full, at.cell) || !page || !layers_have(&page->wet, above.cell) ||
            page_material(page, above.cell) != material)
            return 8 * s->cells.pool.coord[at.brick].y + layer_of(at.cell);
        at = above;
    }
}

// Where bodies of a layer may begin.
static uint64_t seeds_of(const settle *s, int32_t brick, int32_t layer)
{
    const settle_page *page = s->bricks[brick].page;
    const uint64_t seeds = page->settled.layer[layer];
    return seeds && !page->materials ? seeds & firm_below(s, brick, layer, page->material) : seeds;
}

// Begins the next body of a brick, as far as its first cell. False if there is none.
static bool begin_next(settle *s, int32_t brick)
{
    const settle_limits limits = settle_get_limits(s);
    settle_page *page = s->bricks[brick].page;
    settle_flood *f = &s->flood;
    while (f->tries > 0) {
        if (!f->seeds) {
            if (++f->layer == 8) return false;
            f->seeds = seeds_of(s, brick, f->layer);
            continue;
        }
        const cell_place seed = {brick, cell_of(f->layer, region_take(&f->seeds))};
        const int32_t material = page_material(page, seed.cell);
        if (page_fill(page)[seed.cell] < limits.least_fill || s->slow[material] >= SETTLE_STIFF) continue;
        const int32_t top = top_over(s, seed, material);
        if (page->materials && !can_join(s, seed, top, material)) continue;
        f->tries--;
        if (!can_join(s, seed, top, material) || s->bodies.budget == 0 || s->nodes.budget == 0) continue;
        if (!is_enough(s, seed, top, material, limits.least_cells)) continue;
        layer_mask first = {{0}};
        first.layer[f->layer] = bit_of(seed.cell);
        f->body = settle_new_body(s, top, material);
        take_cells(s, brick, f->body, &first);
        f->face = 0;
        return true;
    }
    return false;
}

void settle_begin_bodies(settle *s, int32_t brick)
{
    if (s->bricks[brick].page)
        s->flood = (settle_flood){.seeding = true, .layer = -1, .tries = SETTLE_SEEDS, .face = FLOOD_FACES};
}

bool settle_begin_on(settle *s)
{
    settle_flood *f = &s->flood;
    if (!f->seeding) return true;
    const int32_t brick = s->active[s->cursor - 1];
    do {
        for (;;) {
            if (!flood_on(s)) return false;
            if (f->face == FLOOD_FACES) break;
            push(s, f->face > 0 ? s->cells.pool.near[brick][FACES[f->face - 1]] : brick);
            f->face++;
        }
        if (f->layer >= 0) f->seeds &= s->bricks[brick].page->settled.layer[f->layer];
    } while (begin_next(s, brick));
    *f = (settle_flood){0};
    return true;
}
