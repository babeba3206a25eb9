// The layers of a body: it rises by a whole one, and gives back a whole one.
//
// What that takes is found first, node by node, over as many updates as it needs: the cells, what fits into them, and which few of them
// have anything beside them that must hear of it. Nothing changes by that. Then all of it is done at once, which is short: most nodes get a
// mask, or lose one.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum {
    STEP_SHORE = 1,    // free cells lie at its sides
    STEP_TOUCHES = 2,  // of a layer above: other bodies are near
    STEP_ABSORBS = 4,  // and free water is in it
    STEP_SHOWS = 8,    // of the top layer: other bodies lie below it
    STEP_NEXT = 16     // a node that holds the layer below the top one
};

static const int32_t SIDES[4] = {NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};

weir_status settle_reserve_steps(settle *s)
{
    if (s->step_room >= s->nodes.room) return WEIR_OK;
    memory *mem = &s->cells.world->mem;
    const size_t size = sizeof *s->steps;
    settle_step *steps = memory_resize(mem, s->steps, (size_t)s->step_room * size, (size_t)s->nodes.room * size);
    if (!steps) return status_fail(WEIR_ERROR_MEMORY, "no memory for a layer of %d bricks of water", s->nodes.room);
    s->steps = steps;
    s->step_room = s->nodes.room;
    return WEIR_OK;
}

// ---- Cells -------------------------------------------------------------------------------------------------------------------

// The cells of a layer that belong to bodies.
static uint64_t taken_in(const settle *s, int32_t brick, int32_t layer)
{
    uint64_t taken = 0;
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) taken |= node_at(s, n)->cells.layer[layer];
    return taken;
}

// Where the cells above a node's top layer are: their brick and layer; 0 if there is no brick.
static int32_t brick_above(const settle *s, const settle_body *b, const settle_node *n, int32_t *layer)
{
    *layer = (b->top + 1) & 7;
    return *layer ? n->brick : s->cells.pool.near[n->brick][NEAR(0, 1, 0)];
}

// Cells that a body would get above a node: not those that hold another material.
static uint64_t cells_above(const settle *s, const settle_body *b, const settle_node *n)
{
    int32_t layer;
    const int32_t brick = brick_above(s, b, n, &layer);
    if (!brick) return 0;
    const settle_page *page = s->bricks[brick].page;
    uint64_t taken = taken_in(s, brick, layer);
    if (page) taken |= page->wet.layer[layer] & ~settle_wet_of(page, layer, b->material);
    if (taken && several_liquids(s)) taken &= ~settle_yielding(s, brick, b->top + 1, b->material);
    return n->cells.layer[b->top & 7] & s->bricks[brick].open.layer[layer] & ~taken;
}

bool settle_can_rise(const settle *s, const settle_body *b)
{
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next)
        if (cells_above(s, b, node_at(s, n))) return true;
    return false;
}

// The cells of a body right below those of a node's layer, as a layer.
static uint64_t cells_below(const settle *s, const settle_node *n, int32_t layer)
{
    if (layer > 0) return n->cells.layer[layer - 1];
    const int32_t brick = s->cells.pool.near[n->brick][NEAR(0, -1, 0)], node = brick ? settle_find_node(s, brick, n->body) : 0;
    return node ? node_at(s, node)->cells.layer[7] : 0;
}

// Cells of the bricks at the sides that lie beside those of a layer.
static void find_touched(uint64_t cells, uint64_t touched[4])
{
    const uint64_t low_x = UINT64_C(0x0101010101010101);
    touched[0] = (cells & low_x) << 7;
    touched[1] = cells >> 7 & low_x;
    touched[2] = cells << 56;
    touched[3] = cells >> 56;
}

// Whether free cells lie beside those of a layer, when those above all nodes of a body have become its own; `below`: the brick of the node.
static bool has_shore_above(const settle *s, const settle_body *b, int32_t body, int32_t below, int32_t brick, uint64_t cells)
{
    const int32_t layer = (b->top + 1) & 7;
    uint64_t touched[4];
    if (layer_sides(cells) & s->bricks[brick].open.layer[layer] & ~cells & ~taken_in(s, brick, layer)) return true;
    find_touched(cells, touched);
    for (int32_t k = 0; k < 4; k++) {
        const int32_t there = s->cells.pool.near[brick][SIDES[k]], lower = s->cells.pool.near[below][SIDES[k]];
        uint64_t free = there ? touched[k] & s->bricks[there].open.layer[layer] : 0;
        const int32_t node = free && lower ? settle_find_node(s, lower, body) : 0;
        if (node) free &= ~node_at(s, node)->cells.layer[b->top & 7];
        if (free && free & ~taken_in(s, there, layer)) return true;
    }
    return false;
}

// The same of a layer that is the body's.
static bool has_shore(const settle *s, int32_t brick, int32_t layer, uint64_t cells)
{
    uint64_t touched[4];
    if (layer_sides(cells) & s->bricks[brick].open.layer[layer] & ~taken_in(s, brick, layer)) return true;
    find_touched(cells, touched);
    for (int32_t k = 0; k < 4; k++) {
        const int32_t there = s->cells.pool.near[brick][SIDES[k]];
        const uint64_t free = there ? touched[k] & s->bricks[there].open.layer[layer] : 0;
        if (free && free & ~taken_in(s, there, layer)) return true;
    }
    return false;
}

// Whether other bodies are in a brick, or at its faces.
static bool has_others_near(const settle *s, int32_t brick, int32_t body)
{
    static const int32_t near[7] = {BRICK_SELF,    NEAR(-1, 0, 0), NEAR(1, 0, 0), NEAR(0, -1, 0),
                                    NEAR(0, 1, 0), NEAR(0, 0, -1), NEAR(0, 0, 1)};
    if (store_used(&s->bodies) == 1) return false;
    for (int32_t k = 0; k < 7; k++)
        for (int32_t n = s->bricks[s->cells.pool.near[brick][near[k]]].node; n; n = node_at(s, n)->next_in_brick)
            if (node_at(s, n)->body != body) return true;
    return false;
}

// Bodies that lie under cells which have become free may rise into them.
void settle_note_below(settle *s, int32_t brick, int32_t layer, uint64_t cells)
{
    const int32_t below = layer > 0 ? brick : s->cells.pool.near[brick][NEAR(0, -1, 0)];
    for (int32_t n = below ? s->bricks[below].node : 0; n; n = node_at(s, n)->next_in_brick)
        if (node_at(s, n)->cells.layer[(layer + 7) & 7] & cells) settle_note_body(s, node_at(s, n)->body);
}

void settle_absorb(settle *s, int32_t body, int32_t brick, int32_t layer, uint64_t cells)
{
    settle_page *page = s->bricks[brick].page;
    if (!page) return;
    cells &= page->wet.layer[layer];
    page->wet.layer[layer] &= ~cells;
    page->full.layer[layer] &= ~cells;
    page->settled.layer[layer] &= ~cells;
    for (uint64_t left = cells; left;) {
        const int32_t cell = cell_of(layer, region_take(&left));
        body_at(s, body)->volume += page_fill(page)[cell];
        page_fill(page)[cell] = 0;
        page->calm[cell] = 0;
    }
}

// ---- Looking -----------------------------------------------------------------------------------------------------------------

// Adds some cells of a layer to what it counts for.
static void count_found(settle_search *q, const settle_brick *brick, int32_t layer, uint64_t cells)
{
    const int32_t number = __builtin_popcountll(cells);
    q->area += number;
    if (!brick->shares) {
        q->room += (int64_t)number * SETTLE_FULL;
        return;
    }
    while (cells) {
        const int32_t share = brick->shares[cell_of(layer, region_take(&cells))];
        q->room += rule_settle_capacity(share);
        if (share == 0) continue;
        q->histogram[share]++;
        q->partly++;
    }
}

static void add_step(settle *s, int32_t node, int32_t brick, uint64_t cells, uint32_t flags)
{
    assert(s->search.count < s->step_room);
    s->steps[s->search.count++] = (settle_step){node, brick, cells, flags};
}

static void look_above(settle *s, int32_t body, int32_t node)
{
    const settle_body *b = body_at(s, body);
    const settle_node *n = node_at(s, node);
    const uint64_t cells = cells_above(s, b, n);
    int32_t layer;
    if (!cells) return;
    const int32_t brick = brick_above(s, b, n, &layer);
    const settle_page *page = s->bricks[brick].page;
    uint32_t flags = page && page->wet.layer[layer] & cells ? STEP_ABSORBS : 0;
    if (!several_liquids(s) && has_shore_above(s, b, body, n->brick, brick, cells)) flags |= STEP_SHORE;
    if (several_liquids(s) || has_others_near(s, brick, body)) flags |= STEP_TOUCHES;
    add_step(s, node, brick, cells, flags);
    count_found(&s->search, &s->bricks[brick], layer, cells);
}

static void look_at_top(settle *s, int32_t body, int32_t node)
{
    settle_search *q = &s->search;
    const settle_node *n = node_at(s, node);
    const int32_t layer = q->top & 7, below = layer > 0 ? n->brick : s->cells.pool.near[n->brick][NEAR(0, -1, 0)];
    const uint64_t cells = n->cells.layer[layer];
    uint32_t flags = 0;
    if (layer > 0) count_found(q, &s->bricks[n->brick], layer - 1, n->cells.layer[layer - 1]);
    if (!cells) return;
    q->alone |= (cells & ~cells_below(s, n, layer)) != 0;
    for (int32_t m = below ? s->bricks[below].node : 0; m; m = node_at(s, m)->next_in_brick) {
        if (!(node_at(s, m)->cells.layer[(layer + 7) & 7] & cells)) continue;
        if (node_at(s, m)->body == body)
            q->under = true;
        else
            flags |= STEP_SHOWS;
    }
    if (has_shore(s, n->brick, layer, cells)) flags |= STEP_SHORE;
    add_step(s, node, n->brick, cells, flags);
}

// A deep node, of which the uppermost layer may be the next one.
static void look_below(settle *s, int32_t node)
{
    settle_search *q = &s->search;
    const settle_node *n = node_at(s, node);
    if (s->cells.pool.coord[n->brick].y != (q->top - 1) >> 3) return;
    count_found(q, &s->bricks[n->brick], 7, n->cells.layer[7]);
    add_step(s, node, n->brick, n->cells.layer[7], STEP_NEXT);
}

// Goes on with a search, or begins one.
static settle_search *search_of(settle *s, settle_search_kind kind, int32_t body)
{
    settle_search *q = &s->search;
    const settle_body *b = body_at(s, body);
    if (q->kind == kind && q->body == body && q->top == b->top) return q;
    const int64_t owed = q->kind == kind && q->body == 0 ? q->owed : 0;
    *q = (settle_search){.kind = kind, .body = body, .top = b->top, .node = b->first[LIST_SURFACE], .owed = owed};
    return q;
}

bool settle_searches_above(const settle *s, int32_t body)
{
    const settle_search *q = &s->search;
    return q->kind == SEARCH_ABOVE && (q->body == body || q->body == 0);
}

bool settle_search_above(settle *s, int32_t body, bool all)
{
    settle_search *q = search_of(s, SEARCH_ABOVE, body);
    while (q->node) {
        if (!all && !settle_look_on(s, SETTLE_COST_AROUND)) return false;
        const int32_t node = q->node;
        q->node = node_at(s, node)->next;
        look_above(s, body, node);
    }
    return true;
}

bool settle_search_top(settle *s, int32_t body, bool all)
{
    settle_search *q = search_of(s, SEARCH_TOP, body);
    for (; q->stage < 2; q->stage++) {
        while (q->node) {
            if (!all && !settle_look_on(s, SETTLE_COST_AROUND)) return false;
            const int32_t node = q->node;
            q->node = node_at(s, node)->next;
            if (q->stage == 0)
                look_at_top(s, body, node);
            else
                look_below(s, node);
        }
        if (q->stage == 0 && (q->top & 7) == 0) q->node = body_at(s, body)->first[LIST_DEEP];
    }
    return true;
}

int64_t settle_found_holds(const settle *s, int32_t level)
{
    const settle_search *q = &s->search;
    int64_t holds = (int64_t)(q->area - q->partly) * level;
    for (int32_t share = 1; share < 255 && q->partly > 0; share++) {
        const int32_t above_floor = level - (SETTLE_FULL - rule_settle_capacity(share));
        if (q->histogram[share] && above_floor > 0) holds += (int64_t)q->histogram[share] * above_floor;
    }
    return holds;
}

// ---- Rising ------------------------------------------------------------------------------------------------------------------

// Free water at the sides of the top layer. To be called while all cells of the layer are the body's.
static void wake_shore(settle *s, const settle_body *b)
{
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next)
        settle_wake_sides(s, node_at(s, n)->brick, b->top & 7, node_at(s, n)->cells.layer[b->top & 7]);
}

void settle_take_layer(settle *s)
{
    const settle_search *q = &s->search;
    const int32_t body = q->body, layer = (q->top + 1) & 7;
    const bool next_bricks = layer == 0, several = several_liquids(s);
    settle_body *b = body_at(s, body);
    assert(q->kind == SEARCH_ABOVE && !q->node);
    if (next_bricks) {
        settle_flag_surface(s, b);  // which is full now, and no surface any more
        s->climbed = true;
        settle_sink_nodes(s, b);
    }
    b->base += b->room;
    b->top++;
    settle_set_layer(s, b, q->room, q->area, q->partly, q->histogram);
    for (int32_t i = 0; i < q->count; i++) {
        const settle_step *step = &s->steps[i];
        if (several) settle_push_bodies_up(s, step->brick, b->top, step->cells);
        const int32_t node = next_bricks ? settle_need_node(s, step->brick, body) : step->node;
        node_at(s, node)->cells.layer[layer] |= step->cells;
        if (next_bricks) s->cells.pool.wet[step->brick] = 1;
        if (step->flags & STEP_ABSORBS) settle_absorb(s, body, step->brick, layer, step->cells);
        if (step->flags & STEP_TOUCHES) settle_mark_touching(s, step->brick, body);
    }
    for (int32_t i = 0; i < q->count; i++)
        if (s->steps[i].flags & STEP_SHORE) settle_wake_sides(s, s->steps[i].brick, layer, s->steps[i].cells);
    if (several) wake_shore(s, b);
    s->search.kind = SEARCH_NOTHING;
}

void settle_rise(settle *s, int32_t body)
{
    settle_search_above(s, body, true);
    settle_take_layer(s);
}

// ---- Falling -----------------------------------------------------------------------------------------------------------------

// The layer below becomes the top one. One without cells there is only in a body that has come apart and does not know it yet.
static void next_layer_below(settle *s, settle_body *b)
{
    b->top--;
    if ((b->top & 7) == 7) settle_relist(s, b);
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next) {
        const settle_node *node = node_at(s, n);
        settle_count_cells(s, b, &s->bricks[node->brick], b->top, node->cells.layer[b->top & 7], 1);
    }
    b->base -= b->room;
    assert(b->base >= 0);
}

// Terrain may have taken all cells of the top layer: the highest that it has left is the top one then.
void settle_leave_lost_layers(settle *s, settle_body *b)
{
    while (b->nodes > 0 && b->area == 0) next_layer_below(s, b);
}

// Where all cells of the layer have one of the body below them, every way through the layer is one through the cells below as well, and the
// body does not come apart.
void settle_give_layer(settle *s)
{
    const settle_search *q = &s->search;
    const int32_t body = q->body, layer = q->top & 7;
    settle_body *b = body_at(s, body);
    assert(q->kind == SEARCH_TOP && q->stage == 2);
    for (int32_t i = 0; i < q->count; i++)
        if (s->steps[i].flags & STEP_SHORE) settle_wake_sides(s, s->steps[i].brick, layer, s->steps[i].cells);
    b->top--;
    for (int32_t i = 0; i < q->count; i++) {
        const settle_step *step = &s->steps[i];
        settle_node *node = node_at(s, step->node);
        if (step->flags & STEP_NEXT) continue;
        node->cells.layer[layer] = 0;
        settle_undo_around(s, step->brick);
        if (step->flags & STEP_SHOWS) settle_note_below(s, step->brick, layer, step->cells);
        cells_flags(&s->cells)[step->brick] = s->cells.world->change;
        if (layers_empty(&node->cells)) settle_end_node(s, step->node);
    }
    if (q->under) settle_note_body(s, body);
    for (int32_t i = 0; i < q->count; i++)
        if (s->steps[i].flags & STEP_NEXT) settle_hand_node(s, s->steps[i].node, body);
    b->closed = false;
    b->may_be_split |= q->alone;
    settle_set_layer(s, b, q->room, q->area, q->partly, q->histogram);
    b->base -= b->room;
    assert(b->base >= 0);
    s->search.kind = SEARCH_NOTHING;
    settle_leave_lost_layers(s, b);
}

void settle_drop_layer(settle *s, int32_t body)
{
    settle_search_top(s, body, true);
    settle_give_layer(s);
}
