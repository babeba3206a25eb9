// Bodies that touch. The higher one runs into the lower one until their levels are close; then they are one, and level at once.
#include "solvers/settle/settle.h"

#include "world/coord_table.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS_MAX = 256,            // that meet in one update
    HEAD_MERGES = SETTLE_FULL,  // difference of heights at which two become one, units
    HEAD_MOST = 1 << 22         // difference of heights that is reckoned with, units: so that products fit
};

static const uint64_t LOW_X = UINT64_C(0x0101010101010101);

// Bodies of different materials do not run into each other.
static bool can_meet(const settle *s, int32_t a, int32_t b)
{
    return a != b && body_at(s, a)->material == body_at(s, b)->material;
}

static bool has_other(const settle *s, int32_t brick, int32_t body)
{
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick)
        if (can_meet(s, node_at(s, n)->body, body)) return true;
    return false;
}

// A face belongs to the lower one of its bricks.
void settle_mark_touching(settle *s, int32_t brick, int32_t body)
{
    static const int8_t places[7][2] = {{NEAR(0, 0, 0), NEAR(0, 0, 0)},   {NEAR(-1, 0, 0), NEAR(-1, 0, 0)},
                                        {NEAR(0, -1, 0), NEAR(0, -1, 0)}, {NEAR(0, 0, -1), NEAR(0, 0, -1)},
                                        {NEAR(1, 0, 0), NEAR(0, 0, 0)},   {NEAR(0, 1, 0), NEAR(0, 0, 0)},
                                        {NEAR(0, 0, 1), NEAR(0, 0, 0)}};
    settle_wake_strangers(s, brick, body);
    for (int32_t k = 0; k < 7; k++) {
        const int32_t there = s->cells.pool.near[brick][places[k][0]], owner = s->cells.pool.near[brick][places[k][1]];
        if (!there || s->bricks[owner].touching || !has_other(s, there, body)) continue;
        s->bricks[owner].touching = 1;
        s->touching[s->touching_count++] = owner;
    }
}

// ---- Faces -------------------------------------------------------------------------------------------------------------------

static int32_t bits(uint64_t word)
{
    return __builtin_popcountll(word);
}

// Faces between cells of two masks of one brick.
static int32_t faces_within(const layer_mask *a, const layer_mask *b)
{
    int32_t faces = 0;
    for (int32_t y = 0; y < 8; y++) {
        const uint64_t here = a->layer[y];
        faces += bits((here << 1 & ~LOW_X) & b->layer[y]) + bits((here >> 1 & ~(LOW_X << 7)) & b->layer[y]) +
                 bits(here << 8 & b->layer[y]) + bits(here >> 8 & b->layer[y]);
        if (y > 0) faces += bits(here & b->layer[y - 1]);
        if (y < 7) faces += bits(here & b->layer[y + 1]);
    }
    return faces;
}

static const int32_t NEXT[3] = {NEAR(1, 0, 0), NEAR(0, 1, 0), NEAR(0, 0, 1)};

// Faces between cells of a brick and of the next one on an axis.
static int32_t faces_across(const layer_mask *a, const layer_mask *b, int32_t axis)
{
    int32_t faces = 0;
    if (axis == 1) return bits(a->layer[7] & b->layer[0]);
    for (int32_t y = 0; y < 8; y++)
        faces += axis == 0 ? bits(a->layer[y] >> 7 & b->layer[y] & LOW_X) : bits(a->layer[y] >> 56 & b->layer[y] & 0xff);
    return faces;
}

// ---- Pairs -------------------------------------------------------------------------------------------------------------------

typedef struct body_pair {
    int32_t a, b;
    int64_t faces;
} body_pair;

typedef struct pair_list {
    body_pair items[PAIRS_MAX];
    int32_t count;
    bool full;
} pair_list;

static void add_pair(pair_list *list, int32_t a, int32_t b, int32_t faces)
{
    for (int32_t i = 0; i < list->count; i++) {
        body_pair *p = &list->items[i];
        if ((p->a == a && p->b == b) || (p->a == b && p->b == a)) {
            p->faces += faces;
            return;
        }
    }
    if (list->count < PAIRS_MAX)
        list->items[list->count++] = (body_pair){a, b, faces};
    else
        list->full = true;
}

// The nodes of a brick in the order of their lowest cells.
int32_t settle_ordered_nodes(const settle *s, int32_t brick, int32_t nodes[BRICK_CELLS])
{
    int32_t count = 0;
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) {
        int32_t at = count++;
        const int32_t cell = settle_lowest_cell(&node_at(s, n)->cells);
        for (; at > 0 && settle_lowest_cell(&node_at(s, nodes[at - 1])->cells) > cell; at--) nodes[at] = nodes[at - 1];
        nodes[at] = n;
    }
    return count;
}

// Lists the bodies that touch in a brick, or over its upper faces. False if there are none.
static bool find_pairs(const settle *s, int32_t brick, pair_list *list)
{
    int32_t here[BRICK_CELLS], there[BRICK_CELLS];
    const int32_t count = settle_ordered_nodes(s, brick, here);
    bool any = false;
    for (int32_t i = 0; i < count; i++) {
        const settle_node *a = node_at(s, here[i]);
        for (int32_t k = i + 1; k < count; k++) {
            const settle_node *b = node_at(s, here[k]);
            const int32_t faces = can_meet(s, a->body, b->body) ? faces_within(&a->cells, &b->cells) : 0;
            if (faces > 0) add_pair(list, a->body, b->body, faces);
            any |= faces > 0;
        }
    }
    for (int32_t axis = 0; axis < 3 && count > 0; axis++) {
        const int32_t next = s->cells.pool.near[brick][NEXT[axis]];
        const int32_t beyond = next ? settle_ordered_nodes(s, next, there) : 0;
        for (int32_t i = 0; i < count; i++) {
            for (int32_t k = 0; k < beyond; k++) {
                const settle_node *a = node_at(s, here[i]), *b = node_at(s, there[k]);
                const int32_t faces = can_meet(s, a->body, b->body) ? faces_across(&a->cells, &b->cells, axis) : 0;
                if (faces > 0) add_pair(list, a->body, b->body, faces);
                any |= faces > 0;
            }
        }
    }
    return any;
}

// ---- Bodies become one -------------------------------------------------------------------------------------------------------

// The outlet of a brick to a body; 0: it has none.
static int32_t find_outlet(const settle *s, int32_t brick, int32_t body)
{
    int32_t o = s->bricks[brick].outlet;
    while (o && outlet_at(s, o)->body != body) o = outlet_at(s, o)->next_in_brick;
    return o;
}

// A brick that rests beside both has one outlet then, as if it came to rest now.
static void move_outlets(settle *s, settle_body *from, int32_t body)
{
    settle_body *to = body_at(s, body);
    while (from->outlet) {
        const int32_t outlet = from->outlet;
        settle_outlet *o = outlet_at(s, outlet);
        const int32_t has = find_outlet(s, o->brick, body);
        if (has) {
            settle_outlet *one = outlet_at(s, has);
            if (o->up < one->up) one->up = o->up;
            if (o->down > one->down) one->down = o->down;
            settle_end_outlets_of(s, o->brick, o->body);
            continue;
        }
        from->outlet = o->next;
        if (o->next) outlet_at(s, o->next)->before = 0;
        o->body = body;
        o->before = 0;
        o->next = to->outlet;
        if (o->next) outlet_at(s, o->next)->before = outlet;
        to->outlet = outlet;
    }
    if (from->least_up < to->least_up) to->least_up = from->least_up;
    if (from->most_down > to->most_down) to->most_down = from->most_down;
}

// The layers below `top` are full ones then.
static void bury_layers(settle *s, settle_body *b, int32_t top)
{
    if (b->top == top) return;
    b->base += b->room;
    settle_clear_layer(s, b);
}

// Counts what fits into one body for another with the same top layer.
static void add_counts(settle *s, settle_body *to, settle_body *from)
{
    to->base += from->base;
    to->room += from->room;
    to->area += from->area;
    to->partly += from->partly;
    if (from->partly > 0 && to->histogram)
        for (int32_t share = 1; share < 255; share++) histogram_of(s, to)[share] += histogram_of(s, from)[share];
    if (from->partly == 0 || to->histogram) return;
    to->histogram = from->histogram;
    from->histogram = 0;
}

// `low` is full below its top layer and, where it is closed, up to it. A closed one presses from a layer above its own, so that `high` may
// have the lower top layer; it is full then. Returns which is left.
static int32_t merge(settle *s, int32_t high, int32_t low)
{
    if (!body_at(s, low)->closed)
        while (body_at(s, high)->top > body_at(s, low)->top) settle_drop_layer(s, high);
    return settle_unite(s, high, low);
}

// The one with fewer nodes gives them to the other.
int32_t settle_unite(settle *s, int32_t a, int32_t b)
{
    const settle_body *h = body_at(s, a), *l = body_at(s, b);
    const int32_t keeps = h->nodes >= l->nodes ? a : b, gives = keeps == a ? b : a;
    settle_body *to = body_at(s, keeps), *from = body_at(s, gives);
    const int32_t top = h->top > l->top ? h->top : l->top;
    if (h->top != l->top || h->level != l->level) {
        settle_flag_surface(s, h);
        settle_flag_surface(s, l);
    }
    bury_layers(s, to, top);
    bury_layers(s, from, top);
    settle_set_top(s, keeps, top);
    add_counts(s, to, from);
    to->volume += from->volume;
    from->volume = 0;
    to->may_be_split |= from->may_be_split;
    to->cut_pieces += from->cut_pieces;
    settle_move_nodes(s, gives, keeps);
    move_outlets(s, from, keeps);
    settle_end_body(s, gives);
    settle_note_body(s, keeps);
    return keeps;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// What runs from the higher to the lower one: through the faces at which they touch, and no more than half of what would level them.
static void run_over(settle *s, int32_t high, int32_t low, int64_t faces)
{
    settle_body *h = body_at(s, high), *l = body_at(s, low);
    const int64_t head = least(body_height(h) - body_height(l), HEAD_MOST);
    const int64_t through = faces * least(head, SETTLE_FULL) + 1;
    // a*b/(a + b) of both areas, the lesser one first, in 1/256 of a cell.
    const int64_t a = least(h->area, l->area), b = (int64_t)h->area + l->area - a;
    const int64_t area = a * ((b << 16) / (a + b)) >> 8;
    const int64_t runs = least(least(through, (head * area >> 9) + 1), h->volume);
    h->volume -= runs;
    l->volume += runs;
    settle_note_body(s, high);
    settle_note_body(s, low);
}

// A body that is held does not give up its top layer to become one with another: that one rises to it first.
static bool stands_over(const settle *s, int32_t high, int32_t low)
{
    return body_at(s, high)->top > body_at(s, low)->top && settle_holder(s, high);
}

void settle_meet(settle *s)
{
    pair_list pairs = {.count = 0};
    int32_t kept = 0;
    bricks_sort(&s->cells.pool, s->touching, s->touching_count);
    for (int32_t i = 0; i < s->touching_count; i++) {
        const int32_t brick = s->touching[i];
        s->bricks[brick].touching = pairs.full || find_pairs(s, brick, &pairs);
        if (s->bricks[brick].touching) s->touching[kept++] = brick;
    }
    s->touching_count = kept;
    for (int32_t i = 0; i < pairs.count; i++) {
        int32_t high = pairs.items[i].a, low = pairs.items[i].b;
        if (high == low) continue;
        if (body_height(body_at(s, high)) < body_height(body_at(s, low))) high = low, low = pairs.items[i].a;
        const int64_t head = body_height(body_at(s, high)) - body_height(body_at(s, low));
        if ((head > HEAD_MERGES || stands_over(s, high, low)) && !body_at(s, low)->closed) {
            run_over(s, high, low, pairs.items[i].faces);
            continue;
        }
        const int32_t left = merge(s, high, low);
        for (int32_t k = i + 1; k < pairs.count; k++) {
            body_pair *p = &pairs.items[k];
            if (p->a == high || p->a == low) p->a = left;
            if (p->b == high || p->b == low) p->b = left;
        }
    }
}
