// Edits of the settling automaton's water: fills and pours through cells/edits.c, which sees it as drops in cells, and terrain.
//
// A body takes and gives as a whole: a fill of some of its cells changes its volume, and its level follows. Water over which terrain is
// built goes to a body beside it, or up, or to a side, or down; only what finds no room at all is removed.
#include "solvers/settle/settle.h"

#include <assert.h>

// ---- Cells as drops ----------------------------------------------------------------------------------------------------------

static void read_drops(const fluid_cells *c, const brick_pool *pool, int32_t brick, int32_t drops[BRICK_CELLS])
{
    const settle *s = (const settle *)c;
    settle_read_units(pool == &c->frozen ? s->frozen : s, brick, drops);
    for (int32_t i = 0; i < BRICK_CELLS; i++) drops[i] *= SETTLE_UNIT;
}

// A cell of a body that is to hold another material leaves it. What the body's last cell leaves behind, which is in no cell, is removed.
static void leave_body(settle *s, int32_t brick, int32_t cell, int32_t body)
{
    settle_body *b = body_at(s, body);
    settle_release(s, brick, cell);
    if (b->nodes > 0) return;
    settle_ledger(s, b->material)->removed += b->volume * SETTLE_UNIT;
    b->volume = 0;
    settle_end_body(s, body);
}

static void put_drops(fluid_cells *c, int32_t brick, const int32_t drops[BRICK_CELLS], const uint8_t *materials)
{
    settle *s = (settle *)c;
    int32_t units[BRICK_CELLS];
    uint8_t before[BRICK_CELLS];
    settle_read_units(s, brick, units);
    settle_read_materials(s, brick, before);
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t more = drops[cell] / SETTLE_UNIT - units[cell], material = materials[cell];
        if (more == 0 && material == before[cell]) continue;
        const int32_t body = settle_body_of(s, brick, cell);
        if (body && (material == WEIR_NOTHING || material == body_at(s, body)->material)) {
            body_at(s, body)->volume += more;
            settle_note_body(s, body);
        } else {
            if (body) leave_body(s, brick, cell, body);
            settle_set_cell(s->bricks[brick].page, cell, material, drops[cell] / SETTLE_UNIT);
            s->liquids |= material ? UINT32_C(1) << material : 0;
        }
    }
    settle_look_at_page(s, brick);
    settle_wake_around(s, brick);
}

static int32_t full_drops(const fluid_cells *c, int32_t brick, int32_t cell)
{
    return cell_capacity(&((const settle *)c)->bricks[brick], cell) * SETTLE_UNIT;
}

static bool is_wet(const fluid_cells *c, int32_t brick)
{
    const settle_brick *b = &((const settle *)c)->bricks[brick];
    return b->node || (b->page && !layers_empty(&b->page->wet));
}

static void read_materials(const fluid_cells *c, int32_t brick, uint8_t materials[BRICK_CELLS])
{
    settle_read_materials((const settle *)c, brick, materials);
}

const cell_store settle_cell_store = {
    .read = read_drops, .put = put_drops, .materials = read_materials, .full = full_drops, .wet = is_wet};

// ---- Fills -------------------------------------------------------------------------------------------------------------------

// Whether a brick has free cells, or may get some before a material comes: from a body that falls, or is of another.
static bool may_take_water(const settle *s, int32_t brick, int32_t material, bool bodies_fall)
{
    const layer_mask taken = settle_taken(s, brick);
    uint64_t free = 0;
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick)
        if (bodies_fall || body_at(s, node_at(s, n)->body)->dirty || body_at(s, node_at(s, n)->body)->material != material)
            return true;
    for (int32_t y = 0; y < 8; y++) free |= s->bricks[brick].open.layer[y] & ~taken.layer[y];
    return free != 0;
}

weir_status settle_need_pages(settle *s, weir_box box, int32_t material, bool bodies_fall)
{
    fluid_view view;
    cells_view(&s->cells, false, &view);
    region_walk walk = region_walk_live(&view, box);
    weir_status status = WEIR_OK;
    for (int32_t b; status == WEIR_OK && (b = region_walk_next(&walk)) != BRICK_NOTHING;) {
        if (may_take_water(s, b, material, bodies_fall)) status = settle_need_page(s, b);
        const settle_page *page = s->bricks[b].page;
        if (status == WEIR_OK && page && page->material != material && !layers_empty(&page->wet))
            status = settle_need_materials(s, b);
    }
    return status;
}

weir_status settle_prepare(void *state, const world_edit *edit)
{
    settle *s = state;
    const bool dirty = s->cells.pool.topology_dirty;
    weir_status status = settle_sync_failed(s);
    if (status == WEIR_OK) status = cells_prepare(state, edit);
    // What is born of it is looked at by itself.
    s->cells.pool.topology_dirty &= dirty || edit->kind == EDIT_FLOW;
    s->edited = true;
    if (status == WEIR_OK) status = settle_sync(s);
    if (status == WEIR_OK) status = settle_keep_room(s, s->cells.world->params.settle.budget);
    if (status == WEIR_OK && s->share_count > 0)
        status = store_reserve(s, &s->histograms, s->changed_count + 1);  // of bodies that fall
    if (status == WEIR_OK && edit->kind == EDIT_FILL && (edit->values || edit->drops > 0 || edit->surface.up != 0)) {
        weir_box box = edit->place.box;
        status = settle_need_pages(s, box, edit->material, false);
    }
    return status;
}

void settle_apply(void *state, const world_edit *edit)
{
    // The update keeps reservoirs at their level.
    if (edit->kind == EDIT_KEEP) return;
    settle *s = state;
    s->edited = true;
    settle_follow_volumes(s);
    cells_apply(state, edit);
    // What sources pour counts for the update that they do it in.
    if (edit->kind == EDIT_POUR) settle_charge(s, (int64_t)region_volume(region_bricks(edit->place.box)) * SETTLE_COST_POUR);
    if (edit->surface.up != 0) settle_note_box(state, edit->place.box);
}

// ---- Terrain -----------------------------------------------------------------------------------------------------------------

// Gives units of a material to a cell beside one; returns what it did not take.
static int32_t give_to(settle *s, int32_t brick, int32_t cell, int32_t axis, int32_t side, int32_t material, int32_t units,
                       bool to_bodies)
{
    int32_t next, there = fluid_step((const int32_t(*)[27])s->cells.pool.near, brick, cell, axis, side, &next);
    if (!there || units == 0 || cell_capacity(&s->bricks[there], next) == 0) return units;
    const int32_t body = settle_body_of(s, there, next);
    settle_page *page = s->bricks[there].page;
    if (to_bodies != (body != 0) || (!body && !page)) return units;
    if (body) {
        if (body_at(s, body)->material != material) return units;
        body_at(s, body)->volume += units;
        settle_note_body(s, body);
        return 0;
    }
    if (!page_can_hold(page, next, material)) return units;
    const int32_t room = SETTLE_MOST - page_fill(page)[next], given = units < room ? units : room;
    if (given <= 0) return units;
    settle_set_cell(page, next, material, page_fill(page)[next] + given);
    settle_look_at_page(s, there);
    s->cells.pool.wet[there] = 1;
    settle_wake_around(s, there);
    cells_flags(&s->cells)[there] = s->cells.world->change;
    return units - given;
}

// Water of a cell that has become solid. Where a world follows another (world/delta.h) it is not pushed aside: the delta that comes with the
// terrain tells where it is, and does not list what it would be pushed into here.
static void displace(settle *s, int32_t brick, int32_t cell, int32_t material, int32_t units)
{
    static const int8_t ways[6][2] = {{1, 1}, {0, -1}, {0, 1}, {2, -1}, {2, 1}, {1, -1}};
    const bool follows = s->cells.world->delta_mark != 0;
    for (int32_t bodies = 1; bodies >= 0 && !follows; bodies--)
        for (int32_t k = 0; k < 6; k++) units = give_to(s, brick, cell, ways[k][0], ways[k][1], material, units, bodies);
    settle_ledger(s, material)->removed += (int64_t)units * SETTLE_UNIT;
}

// All that a node's cells count for, as the terrain is known.
static void count_node(settle *s, int32_t node, int32_t sign)
{
    const settle_node *n = node_at(s, node);
    const int32_t bottom = 8 * s->cells.pool.coord[n->brick].y;
    for (int32_t y = 0; y < 8; y++)
        if (n->cells.layer[y])
            settle_count_cells(s, body_at(s, n->body), &s->bricks[n->brick], bottom + y, n->cells.layer[y], sign);
}

// Takes cells that have become solid out of the bodies of a brick.
static void shut_bodies(settle *s, int32_t brick)
{
    for (int32_t n = s->bricks[brick].node, next; n; n = next) {
        settle_node *node = node_at(s, n);
        const int32_t body = node->body;
        next = node->next_in_brick;
        settle_keep_seen(s, body_at(s, body));
        for (int32_t y = 0; y < 8; y++) {
            const uint64_t open = s->bricks[brick].open.layer[y];
            body_at(s, body)->may_be_split |= (node->cells.layer[y] & ~open) != 0;
            node->cells.layer[y] &= open;
        }
        count_node(s, n, 1);
        settle_note_body(s, body);
        if (!layers_empty(&node->cells)) continue;
        settle_end_node(s, n);
        if (body_at(s, body)->nodes > 0) continue;
        settle_ledger(s, body_at(s, body)->material)->removed += body_at(s, body)->volume * SETTLE_UNIT;
        body_at(s, body)->volume = 0;
        settle_end_body(s, body);
    }
}

static void shut_free(settle *s, int32_t brick)
{
    settle_brick *b = &s->bricks[brick];
    if (!b->page) return;
    for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
        const int32_t units = page_fill(b->page)[cell];
        if (units == 0 || layers_have(&b->open, cell)) continue;
        page_fill(b->page)[cell] = 0;
        b->page->calm[cell] = 0;
        displace(s, brick, cell, page_material(b->page, cell), units);
    }
    settle_look_at_page(s, brick);
}

static void refresh_brick(settle *s, weir_coord coord)
{
    fluid_cells *c = &s->cells;
    brick_pool *pool = &c->pool;
    const int32_t brick = bricks_find(pool, coord);
    const bool dirty = pool->topology_dirty;
    cells_terrain_changed_brick(c, coord);
    pool->topology_dirty = dirty;
    for (int32_t k = 0; k < 27; k++)
        cells_look_again(c, brick ? pool->near[brick][k] : bricks_find(pool, brick_neighbour(coord, k)));
    if (!brick) {
        for (int32_t k = 0; k < 27; k++) {
            const int32_t near = bricks_find(pool, brick_neighbour(coord, k));
            if (!near) continue;
            pool->changed[near] = c->world->change;
            settle_wake(s, near);
            for (int32_t n = s->bricks[near].node; n; n = node_at(s, n)->next_in_brick)
                settle_note_body(s, node_at(s, n)->body);
        }
        return;
    }
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) count_node(s, n, -1);
    const weir_status status = settle_learn(s, brick, &c->world->terrain);
    assert(status == WEIR_OK);
    (void)status;
    shut_bodies(s, brick);
    shut_free(s, brick);
    for (int32_t y = 0; y < 8; y++) settle_note_below(s, brick, y, ~UINT64_C(0));
    pool->wet[brick] = is_wet(c, brick);
    pool->changed[brick] = c->world->change;
    settle_wake_around(s, brick);
}

// Whether to go by coordinate or by index.
static bool is_small(const settle *s, weir_box bricks)
{
    return region_volume(bricks) <= s->cells.pool.live;
}

// A page that can hold whatever the world has.
static weir_status need_place(settle *s, int32_t brick)
{
    const weir_status status = settle_need_page(s, brick);
    return status == WEIR_OK && (s->liquids & (s->liquids - 1)) ? settle_need_materials(s, brick) : status;
}

// Room for shares that are between, and for water that is pushed aside. Counts the nodes.
static weir_status prepare_brick(settle *s, int32_t brick, int32_t *nodes)
{
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    weir_status status = settle_need_shares(s, brick);
    if (status == WEIR_OK) status = need_place(s, brick);  // it may be pushed in, and on
    for (int32_t f = 0; f < 6 && status == WEIR_OK; f++) {
        const int32_t there = s->cells.pool.near[brick][faces[f]];
        if (there) status = need_place(s, there);
    }
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) ++*nodes;
    return status;
}

weir_status settle_terrain_prepare(void *state, weir_box bricks)
{
    settle *s = state;
    const brick_pool *pool = &s->cells.pool;
    const bool small = is_small(s, bricks);
    int32_t nodes = 0;
    weir_status status = settle_sync(s);
    if (status == WEIR_OK) status = settle_keep_room(s, s->cells.world->params.settle.budget);
    for (int32_t b = 1; b < pool->end && status == WEIR_OK && !small; b++)
        if (pool->alive[b] && region_holds(bricks, pool->coord[b])) status = prepare_brick(s, b, &nodes);
    for (weir_coord at = {0, 0, bricks.min.z}; at.z < bricks.max.z && small; at.z++) {
        for (at.y = bricks.min.y; at.y < bricks.max.y; at.y++) {
            for (at.x = bricks.min.x; at.x < bricks.max.x && status == WEIR_OK; at.x++) {
                const int32_t brick = bricks_find(pool, at);
                if (brick) status = prepare_brick(s, brick, &nodes);
            }
        }
    }
    // Bodies that get partly solid cells count their shares.
    const int32_t bodies = store_used(&s->bodies);
    return status == WEIR_OK ? store_reserve(s, &s->histograms, nodes < bodies ? nodes : bodies) : status;
}

void settle_terrain_changed(void *state, weir_box bricks)
{
    settle *s = state;
    brick_pool *pool = &s->cells.pool;
    settle_end_search(s);
    s->edited = true;
    if (is_small(s, bricks)) {
        for (weir_coord at = {0, 0, bricks.min.z}; at.z < bricks.max.z; at.z++)
            for (at.y = bricks.min.y; at.y < bricks.max.y; at.y++)
                for (at.x = bricks.min.x; at.x < bricks.max.x; at.x++) refresh_brick(s, at);
        return;
    }
    const weir_box around = {{bricks.min.x - 1, bricks.min.y - 1, bricks.min.z - 1},
                             {bricks.max.x + 1, bricks.max.y + 1, bricks.max.z + 1}};
    int32_t count = 0;
    for (int32_t brick = 1; brick < pool->end; brick++)
        if (pool->alive[brick] && region_holds(around, pool->coord[brick])) s->order[count++] = brick;
    bricks_sort(pool, s->order, count);
    for (int32_t i = 0; i < count; i++) {
        const int32_t brick = s->order[i];
        pool->closed[brick] = 0;
        cells_look_again(&s->cells, brick);
        settle_wake(s, brick);
        if (region_holds(bricks, pool->coord[brick])) refresh_brick(s, pool->coord[brick]);
    }
}
