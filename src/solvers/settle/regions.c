// Regions of the settling automaton: bricks that leave and come back.
//
// A body that reaches over the border of a box is cut in two by the levels of its cells. What it holds in no cell is shared out so that
// the level of neither part changes. Whether what is left still hangs together is looked at in the next update; if the rest comes back before, as
// it was and to what it left, both are one again, as if nothing had been.
//
// In a region: bricks and bodies as in a snapshot (state.c), then the faces over which bodies hung together with what stays: number of the body,
// cell in the box, side; 0 ends them. Outlets of bricks at the border are not there: bodies beside them may be others when they come back.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum { JOIN_BYTES = 17, OUTLETS_USUAL = 4, SPARE = 256 };

static const int8_t FACES[6][3] = {{-1, 0, 0}, {1, 0, 0}, {0, -1, 0}, {0, 1, 0}, {0, 0, -1}, {0, 0, 1}};

static weir_coord beside(weir_coord at, int32_t face)
{
    return (weir_coord){at.x + FACES[face][0], at.y + FACES[face][1], at.z + FACES[face][2]};
}

static weir_box cells_of(weir_box bricks, int32_t more)
{
    return (weir_box){{8 * (bricks.min.x - more), 8 * (bricks.min.y - more), 8 * (bricks.min.z - more)},
                      {8 * (bricks.max.x + more), 8 * (bricks.max.y + more), 8 * (bricks.max.z + more)}};
}

static region_walk walk_box(const settle *s, weir_box bricks, int32_t more, fluid_view *view)
{
    cells_view(&s->cells, false, view);
    return region_walk_live(view, cells_of(bricks, more));
}

// ---- Cutting bodies ----------------------------------------------------------------------------------------------------------

static void measure_node(const settle *s, int32_t node, settle_cut *cut)
{
    const settle_node *n = node_at(s, node);
    const settle_body *b = body_at(s, n->body);
    const settle_brick *brick = &s->bricks[n->brick];
    settle_body higher = {.top = b->top, .level = b->level < SETTLE_FULL ? b->level + 1 : SETTLE_FULL};
    cut->nodes++;
    for (int32_t y = 0; y < 8; y++) {
        const int32_t layer = 8 * s->cells.pool.coord[n->brick].y + y;
        if (!n->cells.layer[y]) continue;
        cut->at_top |= layer == b->top;
        for (uint64_t left = n->cells.layer[y]; left;) {
            const int32_t capacity = cell_capacity(brick, cell_of(y, region_take(&left)));
            const int32_t holds = body_fill(b, layer, capacity);
            cut->holds += holds;
            cut->grows += body_fill(&higher, layer, capacity) - holds;
            if (layer == b->top && b->level == SETTLE_FULL) cut->grows++;
        }
    }
}

// Of an amount, as much as a part is of a whole.
static int64_t portion(int64_t amount, int64_t part, int64_t whole)
{
    if (whole <= 0) return 0;
    return amount / whole * part + amount % whole * part / whole;
}

// What a body loses with the part that leaves: what its cells hold, and of what is in no cell as much as does not change a level. What
// remains of that stays with the part that leaves, and what is missing is missing in both.
static int64_t find_leaving(const settle *s, const settle_body *b, const settle_cut *cut)
{
    if (cut->nodes == b->nodes) return b->volume;
    const int64_t holds = b->base + settle_layer_holds(s, b, b->level), in_no_cell = b->volume - holds,
                  stays = holds - cut->holds;
    if (in_no_cell < 0) return b->volume - (stays - portion(-in_no_cell, stays, holds));
    const int64_t grows =
        b->level < SETTLE_FULL ? settle_layer_holds(s, b, b->level + 1) - settle_layer_holds(s, b, b->level) : b->area;
    return b->volume - stays - portion(in_no_cell, grows - cut->grows, grows);
}

// Finds what of each body leaves with a box; `cuts` has room for all of them.
static void measure(const settle *s, weir_box bricks, settle_cut *cuts)
{
    fluid_view view;
    memset(cuts, 0, (size_t)s->bodies.end * sizeof *cuts);
    region_walk walk = walk_box(s, bricks, 0, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;)
        for (int32_t n = b < s->brick_room ? s->bricks[b].node : 0; n; n = node_at(s, n)->next_in_brick)
            measure_node(s, n, &cuts[node_at(s, n)->body]);
    for (int32_t body = 1; body < s->bodies.end; body++) {
        if (cuts[body].nodes == 0) continue;
        cuts[body].leaves = find_leaving(s, body_at(s, body), &cuts[body]);
        cuts[body].lost = body_at(s, body)->area == 0;
    }
}

// ---- Saving ------------------------------------------------------------------------------------------------------------------

static void save_joins(const settle *s, snapshot_writer *w, weir_box bricks, int32_t brick, const int32_t *numbers)
{
    const weir_coord at = s->cells.pool.coord[brick];
    for (int32_t face = 0; face < 6; face++) {
        if (region_holds(bricks, beside(at, face))) continue;
        for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) {
            const int32_t body = node_at(s, n)->body;
            for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
                int32_t next, there;
                if (!layers_have(&node_at(s, n)->cells, cell)) continue;
                there = fluid_step((const int32_t(*)[27])s->cells.pool.near, brick, cell, face >> 1, face & 1 ? 1 : -1, &next);
                if (there == brick || !there || settle_body_of(s, there, next) != body) continue;
                snapshot_put_number(w, (uint32_t)numbers[body], 4);
                snapshot_put_coord(w, brick_cell(at, cell));
                snapshot_put_number(w, (uint32_t)face, 1);
                break;
            }
        }
    }
}

void settle_region_save(const void *state, weir_box bricks, snapshot_writer *w)
{
    const settle *s = state;
    const size_t bodies = (size_t)s->bodies.end;
    fluid_view view;
    settle_cut *cuts = snapshot_scratch(w, bodies * sizeof *cuts);
    int32_t *numbers = cuts ? snapshot_scratch(w, bodies * sizeof *numbers) : NULL;
    if (numbers) {
        measure(s, bricks, cuts);
        settle_save_bricks(s, w, &bricks, cuts, numbers);
        region_walk walk = walk_box(s, bricks, 0, &view);
        for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;)
            if (b < s->brick_room) save_joins(s, w, bricks, b, numbers);
        snapshot_put_number(w, 0, 4);
    }
    snapshot_scratch_free(w, numbers, bodies * sizeof *numbers);
    snapshot_scratch_free(w, cuts, bodies * sizeof *cuts);
}

// ---- Leaving -----------------------------------------------------------------------------------------------------------------

weir_status settle_region_prepare(void *state, weir_box bricks)
{
    (void)bricks;
    settle *s = state;
    if (settle_goes_on(s))
        return status_fail(WEIR_ERROR_BUSY,
                           "an update is half done: a region can leave or come when it is finished, which steps do until "
                           "weir_stats.behind_updates is 0, the fewer the larger the budget");
    weir_status status = settle_sync(s);
    // Of bodies that are cut. For what comes back there may be room for more already.
    const int32_t bodies = store_used(&s->bodies), most = s->histograms.budget > bodies ? s->histograms.budget : bodies;
    if (status == WEIR_OK) status = store_reserve(s, &s->histograms, most);
    if (status != WEIR_OK || s->cut_room >= s->bodies.end) return status;
    memory *mem = &s->cells.world->mem;
    settle_cut *cuts = memory_alloc(mem, (size_t)s->bodies.end * sizeof *cuts);
    if (!cuts) return status_fail(WEIR_ERROR_MEMORY, "no memory to cut %d bodies of water", s->bodies.end - 1);
    memory_free(mem, s->cuts, (size_t)s->cut_room * sizeof *cuts);
    s->cuts = cuts;
    s->cut_room = s->bodies.end;
    return WEIR_OK;
}

// Its cells in the box go; those of a body that leaves as a whole need not be counted any more.
static void leave_nodes(settle *s, int32_t brick)
{
    const int32_t bottom = 8 * s->cells.pool.coord[brick].y;
    while (s->bricks[brick].node) {
        const int32_t node = s->bricks[brick].node;
        const settle_node *n = node_at(s, node);
        settle_body *b = body_at(s, n->body);
        for (int32_t y = 0; y < 8; y++)
            if (n->cells.layer[y]) settle_count_cells(s, b, &s->bricks[brick], bottom + y, n->cells.layer[y], -1);
        settle_end_node(s, node);
    }
}

// Bricks that rested beside a body that is gone rest on.
static void forget_outlets(settle *s, int32_t body)
{
    while (body_at(s, body)->outlet) {
        const int32_t brick = outlet_at(s, body_at(s, body)->outlet)->brick;
        settle_end_outlets_of(s, brick, body);
    }
}

static void cut_body(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    const bool dirty = b->dirty && !b->cut_clean, closed = b->closed;
    b->volume -= s->cuts[body].leaves;
    if (b->nodes == 0) {
        assert(b->volume == 0);
        forget_outlets(s, body);
        settle_end_body(s, body);
        return;
    }
    if (b->area == 0 && !s->cuts[body].lost) {
        settle_recount(s, body);
        settle_find_level(s, b);
        b->closed = closed;
    }
    settle_note_body(s, body);
    b->cut_clean = !dirty;
    b->cut_pieces++;
}

// Bricks at the border may be wanted, or not be any more.
static void look_around(settle *s, weir_box bricks, bool dirty)
{
    fluid_view view;
    cells_look_around(&s->cells, bricks);
    s->cells.pool.topology_dirty = dirty;
    s->edited = true;
    region_walk walk = walk_box(s, bricks, 1, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) cells_look_again(&s->cells, b);
}

void settle_unload(void *state, weir_box bricks, int64_t held[WEIR_MATERIAL_MAX])
{
    settle *s = state;
    const bool dirty = s->cells.pool.topology_dirty;
    fluid_view view;
    measure(s, bricks, s->cuts);
    region_walk walk = walk_box(s, bricks, 0, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) leave_nodes(s, b);
    for (int32_t body = 1; body < s->bodies.end; body++) {
        if (s->cuts[body].nodes == 0) continue;
        held[body_at(s, body)->material] += s->cuts[body].leaves * SETTLE_UNIT;
        cut_body(s, body);
    }
    walk = walk_box(s, bricks, 0, &view);
    s->striking = true;
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        const settle_page *page = s->bricks[b].page;
        for (int32_t cell = 0; cell < BRICK_CELLS && page; cell++)
            if (page->fill[page->now][cell] > 0)
                held[page_material(page, cell)] += (int64_t)page->fill[page->now][cell] * SETTLE_UNIT;
        cells_brick_leaves(&s->cells, b);
    }
    settle_strike_ended(s);
    look_around(s, bricks, dirty);
}

// ---- Loading -----------------------------------------------------------------------------------------------------------------

// A face over which a body hung together with what stayed.
typedef struct region_join {
    int32_t body;  // of the arrival
    weir_coord cell;
    int32_t face;
} region_join;

typedef struct region_arrival {
    settle *state;
    region_join *joins;
    int32_t join_count, join_room;
    int32_t *bodies;  // of the arrival: their numbers here
    int32_t body_room;
} region_arrival;

static weir_status load_joins(snapshot_reader *r, weir_box bricks, region_arrival *a, memory *mem)
{
    for (;;) {
        const int32_t body = (int32_t)snapshot_get_number(r, 4);
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        if (body == 0) return WEIR_OK;
        const region_join join = {body, snapshot_get_coord(r), (int32_t)snapshot_get_number(r, 1)};
        if (snapshot_ended(r)) return snapshot_ends_early(r);
        const weir_coord c = join.cell;
        if (body < 0 || body >= a->state->bodies.end || join.face > 5 || !region_holds(bricks, brick_of_cell(c)) ||
            region_holds(bricks, brick_of_cell(beside(c, join.face))))
            return snapshot_damaged(r, "body %d of water does not hang together at (%d, %d, %d)", body, c.x, c.y, c.z);
        if (a->join_count == a->join_room) {
            const int32_t room = a->join_room ? 2 * a->join_room : 64;
            const size_t size = sizeof *a->joins;
            region_join *joins = memory_resize(mem, a->joins, (size_t)a->join_room * size, (size_t)room * size);
            if (!joins) return status_fail(WEIR_ERROR_MEMORY, "no memory for %d borders of water", room);
            a->joins = joins;
            a->join_room = room;
        }
        a->joins[a->join_count++] = join;
    }
}

static int32_t plus(int32_t a, int32_t b)
{
    return a > INT32_MAX / 8 - b ? INT32_MAX / 8 : a + b;
}

// Room for all that comes, and for the outlets of bricks beside it.
static weir_status make_room(settle *s, weir_box bricks, const settle *a)
{
    fluid_view view;
    int32_t near = a->cells.pool.live;
    region_walk walk = walk_box(s, bricks, 1, &view);
    while (region_walk_next(&walk) != BRICK_NOTHING) near++;
    near = near > INT32_MAX / 32 ? INT32_MAX / 32 : near;
    const int32_t nodes = store_used(&a->nodes), bodies = store_used(&a->bodies), outlets = store_used(&a->outlets);
    const int32_t histograms = plus(plus(bodies, bodies), store_used(&a->histograms));
    weir_status status = bricks_reserve(&s->cells.pool, a->cells.pool.live);
    if (status == WEIR_OK) status = settle_sync(s);
    // Twice: what is left to the next update follows from what there is, and that has lists as long as the stores.
    for (int32_t i = 0; i < 2 && status == WEIR_OK; i++) {
        if (i == 1) status = settle_reserve_stores(s);
        if (status == WEIR_OK) status = store_reserve(s, &s->nodes, plus(nodes, SPARE));
        if (status == WEIR_OK) status = store_reserve(s, &s->bodies, plus(bodies, SPARE));
        if (status == WEIR_OK) status = store_reserve(s, &s->outlets, plus(plus(outlets, near * OUTLETS_USUAL), SPARE));
        if (status == WEIR_OK) status = store_reserve(s, &s->histograms, histograms);
    }
    if (status == WEIR_OK) status = settle_reserve_steps(s);
    return status;
}

weir_status settle_region_load(void *state, snapshot_reader *r, weir_box bricks, const terrain *t,
                               int64_t held[WEIR_MATERIAL_MAX], void **arrival)
{
    settle *s = state;
    memory *mem = &s->cells.world->mem;
    region_arrival *a = *arrival = memory_alloc_zero(mem, sizeof *a);
    if (!a) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while loading %s", snapshot_name(r));
    weir_status status = settle_load_bricks(s, r, t, &bricks, held, &a->state);
    if (status == WEIR_OK) status = load_joins(r, bricks, a, mem);
    if (status != WEIR_OK) return status;
    a->bodies = memory_alloc_zero(mem, (size_t)a->state->bodies.end * sizeof *a->bodies);
    if (!a->bodies) return status_fail(WEIR_ERROR_MEMORY, "no memory for %d bodies of water", a->state->bodies.end);
    a->body_room = a->state->bodies.end;
    return make_room(s, bricks, a->state);
}

void settle_region_discard(void *state, void *arrival)
{
    settle *s = state;
    memory *mem = &s->cells.world->mem;
    region_arrival *a = arrival;
    if (!a) return;
    settle_discard(s, a->state);
    memory_free(mem, a->joins, (size_t)a->join_room * sizeof *a->joins);
    memory_free(mem, a->bodies, (size_t)a->body_room * sizeof *a->bodies);
    memory_free(mem, a, sizeof *a);
}

// ---- Coming back ---------------------------------------------------------------------------------------------------------------

static void arrive_brick(settle *s, const region_arrival *arrival, int32_t from)
{
    settle *a = arrival->state;
    settle_brick *source = &a->bricks[from];
    const int32_t brick = cells_brick_arrives(&s->cells, a->cells.pool.coord[from], &a->cells.pool.open[from]);
    settle_brick *b = &s->bricks[brick];
    *b = (settle_brick){.page = source->page, .shares = source->shares, .open = source->open};
    s->page_count += b->page != NULL;
    a->page_count -= b->page != NULL;
    s->share_count += b->shares != NULL;
    a->share_count -= b->shares != NULL;
    s->mixed_count += b->page && b->page->materials;
    a->mixed_count -= b->page && b->page->materials;
    source->page = NULL;
    source->shares = NULL;
    s->known[brick] = 1;
    for (int32_t n = source->node; n; n = node_at(a, n)->next_in_brick) {
        const int32_t node = settle_need_node(s, brick, arrival->bodies[node_at(a, n)->body]);
        node_at(s, node)->cells = node_at(a, n)->cells;
    }
    if (source->active) settle_wake(s, brick);
    if (source->touching) s->touching[s->touching_count++] = brick;
    b->touching = source->touching;
    s->cells.pool.wet_seen[brick] = a->cells.pool.wet_seen[from];
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
}

static void arrive_body(settle *s, const settle_body *from, int32_t body)
{
    settle_recount(s, body);
    settle_body *b = body_at(s, body);
    if (from->area == 0) settle_lose_layers(s, body, from->top);
    b->volume = from->volume;
    b->level = from->level;
    b->closed = from->closed;
    b->may_be_split = from->may_be_split;
    b->cut_pieces = from->cut_pieces;
    b->cut_clean = from->cut_clean;
    if (!from->dirty) settle_forget_body(s, body);
}

static void arrive_outlets(settle *s, const region_arrival *arrival, int32_t from)
{
    const settle *a = arrival->state;
    const int32_t brick = bricks_find(&s->cells.pool, a->cells.pool.coord[from]);
    for (int32_t o = a->bricks[from].outlet; o; o = outlet_at(a, o)->next_in_brick) {
        const settle_outlet *outlet = outlet_at(a, o);
        settle_add_outlet(s, brick, arrival->bodies[outlet->body], outlet->up, outlet->down);
    }
}

// All as it was; which bodies are one with those that stayed is found afterwards.
static void arrive(settle *s, const region_arrival *arrival)
{
    const settle *a = arrival->state;
    for (int32_t body = 1; body < a->bodies.end; body++)
        arrival->bodies[body] = settle_new_body(s, body_at(a, body)->top, body_at(a, body)->material);
    s->liquids |= a->liquids;
    for (int32_t b = 1; b < a->cells.pool.end; b++) arrive_brick(s, arrival, b);
    for (int32_t body = 1; body < a->bodies.end; body++) arrive_body(s, body_at(a, body), arrival->bodies[body]);
    for (int32_t b = 1; b < a->cells.pool.end; b++) arrive_outlets(s, arrival, b);
}

// Whether the cells of two bodies hold what those of one would.
static bool are_level(const settle_body *a, const settle_body *b)
{
    const settle_body *low = a->top < b->top ? a : b;
    if (a->top == b->top) return a->level == b->level;
    return low->level == SETTLE_FULL && (low->dirty || low->volume >= low->base + low->room);
}

static void rejoin(settle *s, int32_t inside, int32_t outside)
{
    const settle_body *a = body_at(s, inside), *b = body_at(s, outside), *high = a->top > b->top ? a : b;
    const int32_t level = high->level, pieces = a->cut_pieces + b->cut_pieces - 2;
    const bool closed = high->closed, dirty = (a->dirty && !a->cut_clean) || (b->dirty && !b->cut_clean);
    if (a->material != b->material || !are_level(a, b)) return;
    const int32_t body = settle_unite(s, inside, outside);
    settle_body *one = body_at(s, body);
    settle_find_level(s, one);
    const bool holds = one->level == level && one->volume >= one->base;
    one->level = level;
    one->closed = closed;
    one->cut_pieces = pieces > 0 ? pieces : 0;
    one->cut_clean = !dirty;
    if (!dirty && holds && one->cut_pieces == 0) settle_forget_body(s, body);
}

static int32_t body_at_cell(const settle *s, weir_coord cell)
{
    const int32_t brick = bricks_find(&s->cells.pool, brick_of_cell(cell));
    return brick ? settle_body_of(s, brick, cell_index(cell)) : 0;
}

static void rejoin_all(settle *s, const region_arrival *a)
{
    for (int32_t i = 0; i < a->join_count; i++) {
        const region_join *join = &a->joins[i];
        const int32_t inside = body_at_cell(s, join->cell), outside = body_at_cell(s, beside(join->cell, join->face));
        if (inside && outside && inside != outside) rejoin(s, inside, outside);
    }
}

static bool is_at_border(weir_box bricks, weir_coord at)
{
    for (int32_t face = 0; face < 6; face++)
        if (region_holds(bricks, at) != region_holds(bricks, beside(at, face))) return true;
    return false;
}

// Bricks that rest on both sides of the border tell the bodies that are beside them now when they must wake.
static void tell_bodies(settle *s, weir_box bricks)
{
    fluid_view view;
    region_walk walk = walk_box(s, bricks, 1, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (s->bricks[b].active || !s->known[b] || !is_at_border(bricks, s->cells.pool.coord[b])) continue;
        settle_end_outlets(s, b);
        if (!settle_rest(s, b)) settle_wake(s, b);
    }
}

static bool has_free_water(const settle *s, int32_t brick)
{
    return s->bricks[brick].page && !layers_empty(&s->bricks[brick].page->wet);
}

// Whether a body beside a brick has come to a height at which the brick must wake.
static bool must_wake(const settle *s, int32_t brick)
{
    for (int32_t o = s->bricks[brick].outlet; o; o = outlet_at(s, o)->next_in_brick) {
        const settle_outlet *outlet = outlet_at(s, o);
        const int64_t height = body_height(body_at(s, outlet->body));
        if (height >= outlet->up || height <= outlet->down) return true;
    }
    return false;
}

// Something is another over a face of the border: free water there goes on, bodies meet, rise and fall.
static void stir(settle *s, int32_t a, int32_t b, int32_t face)
{
    const bool wet = s->cells.pool.wet[a] || s->cells.pool.wet[b], upright = face >> 1 == 1;
    if (has_free_water(s, a) || has_free_water(s, b) || (wet && upright) || must_wake(s, a) || must_wake(s, b)) {
        settle_wake(s, a);
        settle_wake(s, b);
    }
    for (int32_t side = 0; side < 2; side++) {
        const int32_t brick = side ? b : a;
        for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) {
            settle_note_body(s, node_at(s, n)->body);
            settle_mark_touching(s, brick, node_at(s, n)->body);
        }
    }
}

// What holds the water of a box is another: its bodies are levelled anew, and its free water goes on.
static void stir_all(settle *s, weir_box bricks)
{
    fluid_view view;
    region_walk walk = walk_box(s, bricks, 0, &view);
    for (int32_t b; (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (has_free_water(s, b)) settle_wake(s, b);
        for (int32_t n = s->bricks[b].node; n; n = node_at(s, n)->next_in_brick) settle_note_body(s, node_at(s, n)->body);
    }
}

void settle_region_adopt(void *state, weir_box bricks, void *arrival, const region_changes *changes)
{
    settle *s = state;
    const region_arrival *a = arrival;
    const bool dirty = s->cells.pool.topology_dirty;
    if (a) arrive(s, a);
    look_around(s, bricks, dirty);
    if (a) rejoin_all(s, a);
    tell_bodies(s, bricks);
    if (changes->held) stir_all(s, bricks);
    for (int32_t i = 0; i < changes->count; i++) {
        const weir_coord at = changes->stirred[i];
        const int32_t outside = bricks_find(&s->cells.pool, at);
        for (int32_t face = 0; face < 6; face++) {
            const weir_coord next = beside(at, face);
            const int32_t inside = bricks_find(&s->cells.pool, next);
            brick_mask open;
            if (!region_holds(bricks, next)) continue;
            if (outside && inside)
                stir(s, outside, inside, face);
            else if (terrain_open(&s->cells.world->terrain, outside ? next : at, &open))
                settle_wake(s, outside ? outside : inside);
        }
    }
}
