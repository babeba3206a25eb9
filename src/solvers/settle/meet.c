// Bodies that touch, and bodies that come apart.
//
// Where two touch, the higher one runs into the lower one until their levels are close; then they are one, and level at once. A body out of which cells were
// taken may be several: its cells are cut into parts that hang together, by bricks first and then from brick to brick.
#include "solvers/settle/settle.h"

#include "world/coord_table.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAIRS_MAX = 256,            // that meet in one update
    HEAD_MERGES = SETTLE_FULL,  // difference of heights at which two become one, units
    PARTS_SPARE = 1024,         // more parts than nodes that a body may have
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

static void move_outlets(settle *s, settle_body *from, int32_t body)
{
    settle_body *to = body_at(s, body);
    while (from->outlet) {
        const int32_t outlet = from->outlet;
        settle_outlet *o = outlet_at(s, outlet);
        from->outlet = o->next;
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
    for (int32_t list = 0; list < 2; list++)
        while (from->first[list]) settle_relabel_node(s, from->first[list], keeps);
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

// ---- Bodies come apart -------------------------------------------------------------------------------------------------------

// Cells of a node that hang together.
typedef struct settle_part {
    int32_t node;
    int32_t root;  // a part with which it hangs together
    int32_t body;  // of a root: that its parts become
    layer_mask cells;
} settle_part;

weir_status settle_reserve_parts(settle *s)
{
    const int32_t room = store_used(&s->nodes) + s->nodes.budget + PARTS_SPARE;
    if (room <= s->part_room) return WEIR_OK;
    memory *mem = &s->cells.world->mem;
    const int32_t more = room + room / 4;  // so that a world that grows need not ask in every update
    settle_part *parts = memory_alloc(mem, (size_t)more * sizeof *parts);
    if (!parts) return status_fail(WEIR_ERROR_MEMORY, "no memory to tell %d parts of water apart", more);
    memory_free(mem, s->parts, (size_t)s->part_room * sizeof *parts);
    s->parts = parts;
    s->part_room = more;
    return WEIR_OK;
}

int64_t settle_part_bytes(const settle *s)
{
    return s->part_room * (int64_t)sizeof *s->parts;
}

void settle_free_parts(settle *s)
{
    memory_free(&s->cells.world->mem, s->parts, (size_t)s->part_room * sizeof *s->parts);
    s->parts = NULL;
    s->part_room = 0;
}

// Takes the cells that hang together with the lowest one out of a mask. Most nodes have whole layers, which hang together without a look.
static layer_mask take_part(layer_mask *cells)
{
    layer_mask part = {{0}};
    for (int32_t y = 0; y < 8; y++) {
        if (!cells->layer[y]) continue;
        part.layer[y] = cells->layer[y] == ~UINT64_C(0) ? cells->layer[y] : cells->layer[y] & -cells->layer[y];
        break;
    }
    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t y = 0; y < 8; y++) {
            uint64_t wider = part.layer[y] | layer_sides(part.layer[y]);
            if (y > 0) wider |= part.layer[y - 1];
            if (y < 7) wider |= part.layer[y + 1];
            wider &= cells->layer[y];
            grown |= wider != part.layer[y];
            part.layer[y] = wider;
        }
    }
    for (int32_t y = 0; y < 8; y++) cells->layer[y] &= ~part.layer[y];
    return part;
}

static int32_t root_of(settle_part *parts, int32_t part)
{
    while (parts[part].root != part) part = parts[part].root = parts[parts[part].root].root;
    return part;
}

int32_t settle_count_parts(const settle *s)
{
    int32_t count = 0;
    for (int32_t i = 0; i < s->changed_count; i++) {
        const settle_body *b = body_at(s, s->changed[i]);
        for (int32_t list = 0; list < 2 && body_may_be_split(b); list++) {
            for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) {
                layer_mask left = node_at(s, n)->cells;
                for (; !layers_empty(&left); count++) take_part(&left);
            }
        }
    }
    return count;
}

// Cuts a body's nodes into parts. Returns how many there are, or 0 if there are too many to look at now.
static int32_t find_parts(settle *s, const settle_body *b)
{
    int32_t count = 0;
    const int32_t most = store_used(&s->nodes) + s->nodes.budget + PARTS_SPARE;  // as many as there was room made for, or fewer
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) {
            layer_mask left = node_at(s, n)->cells;
            node_at(s, n)->part = count;
            while (!layers_empty(&left)) {
                if (count == most) return 0;
                s->parts[count] = (settle_part){.node = n, .root = count, .cells = take_part(&left)};
                count++;
            }
        }
    }
    return count;
}

// Joins the parts of nodes that touch over the upper faces of bricks. The lower number is the root.
static void join_parts(settle *s, int32_t body, int32_t count)
{
    settle_part *parts = s->parts;
    for (int32_t p = 0; p < count; p++) {
        for (int32_t axis = 0; axis < 3; axis++) {
            const int32_t next = s->cells.pool.near[node_at(s, parts[p].node)->brick][NEXT[axis]];
            const int32_t node = next ? settle_find_node(s, next, body) : 0;
            for (int32_t q = node ? node_at(s, node)->part : count; q < count && parts[q].node == node; q++) {
                if (!faces_across(&parts[p].cells, &parts[q].cells, axis)) continue;
                const int32_t a = root_of(parts, p), c = root_of(parts, q);
                if (a < c)
                    parts[c].root = a;
                else
                    parts[a].root = c;
            }
        }
    }
}

static int64_t volume_of(const settle *s, const settle_body *b, const settle_part *part)
{
    const settle_node *n = node_at(s, part->node);
    const settle_brick *brick = &s->bricks[n->brick];
    const int32_t bottom = 8 * s->cells.pool.coord[n->brick].y;
    int64_t volume = 0;
    for (int32_t y = 0; y < 8; y++) {
        if (!brick->shares) {
            volume += (int64_t)bits(part->cells.layer[y]) * body_fill(b, bottom + y, SETTLE_FULL);
            continue;
        }
        for (uint64_t left = part->cells.layer[y]; left;)
            volume += body_fill(b, bottom + y, cell_capacity(brick, cell_of(y, region_take(&left))));
    }
    return volume;
}

// The root of the part that has the lowest cell by coordinate.
static int32_t lowest_root(settle *s, int32_t count)
{
    int32_t lowest = 0;
    for (int32_t p = 1; p < count; p++) {
        const weir_coord *coord = s->cells.pool.coord;
        const settle_part *a = &s->parts[p], *b = &s->parts[lowest];
        const int order = coord_compare(coord[node_at(s, a->node)->brick], coord[node_at(s, b->node)->brick]);
        if (order < 0 || (order == 0 && settle_lowest_cell(&a->cells) < settle_lowest_cell(&b->cells))) lowest = p;
    }
    return root_of(s->parts, lowest);
}

// Gives a part to the body of its root.
static void move_part(settle *s, int32_t part)
{
    settle_part *p = &s->parts[part];
    const int32_t body = s->parts[root_of(s->parts, part)].body;
    settle_node *n = node_at(s, p->node);
    if (n->body == body) return;
    const int32_t there = settle_need_node(s, n->brick, body);
    n = node_at(s, p->node);
    for (int32_t y = 0; y < 8; y++) {
        node_at(s, there)->cells.layer[y] |= p->cells.layer[y];
        n->cells.layer[y] &= ~p->cells.layer[y];
    }
}

// The part with the lowest cell keeps what is in no cell.
void settle_split(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    const int32_t count = b->nodes > 0 ? find_parts(s, b) : 0;
    int32_t roots = 0;
    if (count > 0) join_parts(s, body, count);
    for (int32_t p = 0; p < count; p++) roots += root_of(s->parts, p) == p;
    if (count == 0 || roots - 1 > s->bodies.budget || count > s->nodes.budget) {
        if (b->nodes > 0) settle_note_body(s, body);  // in the next update, for which there will be room
        return;
    }
    b->may_be_split = false;
    b->cut_pieces = 0;
    if (roots == 1) return;

    settle_wake_outlets(s, body, true);
    const int32_t first = lowest_root(s, count);
    for (int32_t p = 0; p < count; p++)
        if (root_of(s->parts, p) == p)
            s->parts[p].body = p == first ? body : settle_new_body(s, body_at(s, body)->top, body_at(s, body)->material);
    const settle_body before = *body_at(s, body);
    int64_t given = 0;
    for (int32_t p = 0; p < count; p++) {
        const int32_t root = root_of(s->parts, p);
        if (root == first) continue;
        const int64_t volume = volume_of(s, &before, &s->parts[p]);
        body_at(s, s->parts[root].body)->volume += volume;
        given += volume;
    }
    body_at(s, body)->volume -= given;
    assert(body_at(s, body)->volume >= 0);
    for (int32_t p = 0; p < count; p++) move_part(s, p);
    for (int32_t p = 0; p < count; p++)
        if (root_of(s->parts, p) == p) settle_recount(s, s->parts[p].body);
}
