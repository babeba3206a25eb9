// Which bricks are worked on. A brick rests when nothing in it changes and its free water has been calm for a while. It wakes when something
// changes beside it, or when a body's surface comes to where its water would run in or out: it tells the body at which heights
// that is, so that a lake that rises need not ask its whole shore in every update.
#include "solvers/settle/settle.h"

#include <assert.h>

// ---- Outlets -----------------------------------------------------------------------------------------------------------------

static void end_outlet(settle *s, int32_t outlet)
{
    const settle_outlet *o = outlet_at(s, outlet);
    if (o->next) outlet_at(s, o->next)->before = o->before;
    if (o->before)
        outlet_at(s, o->before)->next = o->next;
    else
        body_at(s, o->body)->outlet = o->next;
    store_give(&s->outlets, outlet);
}

void settle_end_outlets(settle *s, int32_t brick)
{
    for (int32_t o = s->bricks[brick].outlet, next; o; o = next) {
        next = outlet_at(s, o)->next_in_brick;
        end_outlet(s, o);
    }
    s->bricks[brick].outlet = 0;
}

void settle_end_outlets_of(settle *s, int32_t brick, int32_t body)
{
    for (int32_t *link = &s->bricks[brick].outlet; *link;) {
        const int32_t outlet = *link, next = outlet_at(s, outlet)->next_in_brick;
        if (outlet_at(s, outlet)->body != body) {
            link = &outlet_at(s, outlet)->next_in_brick;
            continue;
        }
        end_outlet(s, outlet);
        *link = next;
    }
}

void settle_add_outlet(settle *s, int32_t brick, int32_t body, int64_t up, int64_t down)
{
    const int32_t outlet = store_take(&s->outlets);
    settle_body *b = body_at(s, body);
    settle_outlet *o = outlet_at(s, outlet);
    *o = (settle_outlet){brick, body, s->bricks[brick].outlet, 0, b->outlet, up, down};
    s->bricks[brick].outlet = outlet;
    if (o->next) outlet_at(s, o->next)->before = outlet;
    b->outlet = outlet;
    if (up < b->least_up) b->least_up = up;
    if (down > b->most_down) b->most_down = down;
}

// In three goes: to wake a brick ends all of its outlets.
void settle_wake_outlets(settle *s, int32_t body, bool all)
{
    settle_body *b = body_at(s, body);
    const int64_t height = body_height(b);
    int32_t count = 0;
    for (int32_t o = b->outlet; o; o = outlet_at(s, o)->next) {
        const settle_outlet *outlet = outlet_at(s, o);
        if ((!all && height < outlet->up && height > outlet->down) || s->bricks[outlet->brick].queued) continue;
        s->bricks[outlet->brick].queued = 1;
        s->queue[count++] = outlet->brick;
    }
    for (int32_t i = 0; i < count; i++) {
        s->bricks[s->queue[i]].queued = 0;
        settle_wake(s, s->queue[i]);
    }
    b->least_up = INT64_MAX;
    b->most_down = INT64_MIN;
    for (int32_t o = b->outlet; o; o = outlet_at(s, o)->next) {
        const settle_outlet *outlet = outlet_at(s, o);
        if (outlet->up < b->least_up) b->least_up = outlet->up;
        if (outlet->down > b->most_down) b->most_down = outlet->down;
    }
}

// ---- Waking ------------------------------------------------------------------------------------------------------------------

void settle_wake(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (!brick) return;
    b->stirred = 1;
    settle_undo(s, brick);
    if (b->active) return;
    b->active = 1;
    assert(s->active_count < s->brick_room);
    s->active[s->active_count++] = brick;
    settle_end_outlets(s, brick);
}

void settle_wake_around(settle *s, int32_t brick)
{
    for (int32_t k = 0; k < 27; k++) settle_wake(s, s->cells.pool.near[brick][k]);
}

// The bricks in which free water could run to or from cells of a layer wake.
void settle_wake_sides(settle *s, int32_t brick, int32_t layer, uint64_t cells)
{
    static const int32_t sides[4] = {NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};
    const uint64_t low_x = UINT64_C(0x0101010101010101);
    const uint64_t touched[4] = {(cells & low_x) << 7, cells >> 7 & low_x, cells << 56, cells >> 56};
    if (layer_sides(cells) & s->bricks[brick].open.layer[layer] & ~settle_taken(s, brick).layer[layer]) settle_wake(s, brick);
    for (int32_t k = 0; k < 4; k++) {
        const int32_t there = s->cells.pool.near[brick][sides[k]];
        if (!touched[k] || !there || !(touched[k] & s->bricks[there].open.layer[layer] & ~settle_taken(s, there).layer[layer]))
            continue;
        settle_wake(s, brick);
        settle_wake(s, there);
    }
}

// ---- Resting -----------------------------------------------------------------------------------------------------------------

// The heights of a body's surface at which water would run between it and a free cell at its side.
static void find_heights(const settle *s, int32_t brick, int32_t cell, int32_t body, int64_t *up, int64_t *down)
{
    const settle_brick *b = &s->bricks[brick];
    const int32_t material = body_at(s, body)->material, slow = s->slow[material];
    const int32_t from_body = (2 << slow) - 1, to_body = 5 << slow;  // differences of levels at which a unit runs
    if (b->page && layers_have(&b->page->wet, cell) && page_material(b->page, cell) != material) return;
    const int32_t capacity = cell_capacity(b, cell), fill = b->page ? page_fill(b->page)[cell] : 0;
    const int32_t level = rule_settle_level((uint16_t)fill, (uint16_t)capacity);
    const int64_t bottom = ((int64_t)8 * s->cells.pool.coord[brick].y + layer_of(cell)) * SETTLE_FULL;
    for (int32_t way = 0; way < 4; way++) {
        int32_t next,
            there = fluid_step((const int32_t(*)[27])s->cells.pool.near, brick, cell, way & 2, way & 1 ? 1 : -1, &next);
        if (!there || settle_body_of(s, there, next) != body) continue;
        const int32_t floor = SETTLE_FULL - cell_capacity(&s->bricks[there], next);
        int32_t least = level + from_body;
        if (fill == 0 && floor + settle_film(s, material) > least) least = floor + settle_film(s, material);
        if (bottom + least < *up) *up = bottom + least;
        if (fill > 0 && bottom + level - to_body > *down) *down = bottom + level - to_body;
    }
}

// Its free cells at the sides of a body.
static layer_mask shore(const settle *s, int32_t brick, int32_t body)
{
    const layer_mask taken = settle_taken(s, brick);
    const int32_t node = settle_find_node(s, brick, body);
    layer_mask cells = settle_beside(s, brick, body);
    for (int32_t y = 0; y < 8; y++) {
        if (node) cells.layer[y] |= layer_sides(node_at(s, node)->cells.layer[y]);
        cells.layer[y] &= s->bricks[brick].open.layer[y] & ~taken.layer[y];
    }
    return cells;
}

// Tells a body when the brick must wake. False if there is no room for it to be told.
static bool tell_body(settle *s, int32_t brick, int32_t body)
{
    const layer_mask cells = shore(s, brick, body);
    int64_t up = INT64_MAX, down = INT64_MIN;
    for (int32_t y = 0; y < 8; y++)
        for (uint64_t left = cells.layer[y]; left;) find_heights(s, brick, cell_of(y, region_take(&left)), body, &up, &down);
    if (up == INT64_MAX && down == INT64_MIN) return true;
    if (s->outlets.budget == 0) return false;
    settle_add_outlet(s, brick, body, up, down);
    return true;
}

static bool tell_bodies(settle *s, int32_t brick)
{
    int32_t bodies[64];
    const int32_t count = settle_bodies_near(s, brick, bodies);
    bool told = count < SETTLE_OUTLETS;  // there may be more than are listed
    for (int32_t i = 0; i < count && told; i++) told = tell_body(s, brick, bodies[i]);
    if (!told) settle_end_outlets(s, brick);
    return told;
}

bool settle_rest(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (!tell_bodies(s, brick)) return false;
    b->active = 0;
    if (b->page && layers_empty(&b->page->wet)) settle_drop_page(s, brick);
    settle_drop_materials(s, brick);
    return true;
}
