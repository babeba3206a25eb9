// Liquids that meet find their order: the denser one below, the lighter one above. Late in a turn, in the bricks that it worked on.
//
//     free over free     the two cells change what they hold
//     in a denser body   what lies below its surface comes up through it, to the first place above that takes it
//     on a lighter body  free liquid falls through it, to the lowest of its cells, and lies under it
//
// A body fills what is left behind by its own laws, and one that lost a cell keeps its volume and rises. Each of these brings something
// lighter up and something denser down, so they come to an end.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

static const int32_t FACES[5] = {3, 0, 1, 4, 5};  // up, -x, +x, -z, +z

// ---- Places ------------------------------------------------------------------------------------------------------------------

settle_place settle_next(const settle *s, settle_place at, int32_t way)
{
    settle_place next;
    next.brick =
        fluid_step((const int32_t(*)[27])s->cells.pool.near, at.brick, at.cell, way >> 1, way & 1 ? 1 : -1, &next.cell);
    return next;
}

static int32_t y_of(const settle *s, settle_place at)
{
    return 8 * s->cells.pool.coord[at.brick].y + layer_of(at.cell);
}

settle_held settle_look_at(const settle *s, settle_place at)
{
    const settle_brick *b = &s->bricks[at.brick];
    settle_held held = {0};
    if (!at.brick) return held;
    held.capacity = cell_capacity(b, at.cell);
    held.body = settle_body_of(s, at.brick, at.cell);
    if (held.body) {
        held.material = body_at(s, held.body)->material;
        held.units = body_left(body_at(s, held.body), y_of(s, at), held.capacity);
    } else if (b->page && page_fill(b->page)[at.cell] > 0) {
        held.material = page_material(b->page, at.cell);
        held.units = page_fill(b->page)[at.cell];
    }
    return held;
}

bool settle_is_last(const settle *s, int32_t body)
{
    const settle_body *b = body_at(s, body);
    int32_t cells = 0;
    if (b->nodes > 1) return false;
    for (int32_t list = 0; list < 2; list++)
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next)
            for (int32_t y = 0; y < 8; y++) cells += __builtin_popcountll(node_at(s, n)->cells.layer[y]);
    return cells <= 1;
}

void settle_stir(settle *s, settle_place at)
{
    settle_look_at_cell(s, at.brick, at.cell);
    s->cells.pool.wet[at.brick] = s->cells.store->wet(&s->cells, at.brick);
    cells_flags(&s->cells)[at.brick] = s->cells.world->change;
    settle_wake_around(s, at.brick);
}

// ---- Room --------------------------------------------------------------------------------------------------------------------
// A cell far away may come to hold something in the midst of an update, where no memory can be asked for: so there are some pages ready.

// The first bytes of one that waits say which comes next.
static void put_spare(void **list, void *block)
{
    memcpy(block, list, sizeof *list);
    *list = block;
}

static void *take_spare(void **list, size_t size)
{
    void *block = *list;
    memcpy(list, block, sizeof *list);
    memset(block, 0, size);
    return block;
}

static weir_status fill_spares(settle *s, void **list, int32_t *have, int32_t wanted, size_t size)
{
    memory *mem = &s->cells.world->mem;
    for (; *have < wanted; ++*have) {
        void *block = memory_alloc(mem, size);
        if (!block) return status_fail(WEIR_ERROR_MEMORY, "no memory for liquids that rise and sink through others");
        put_spare(list, block);
    }
    return WEIR_OK;
}

void settle_free_spares(settle *s)
{
    memory *mem = &s->cells.world->mem;
    for (; s->spare_page_count > 0; s->spare_page_count--)
        memory_free(mem, take_spare(&s->spare_pages, sizeof(settle_page)), sizeof(settle_page));
    for (; s->spare_mixed_count > 0; s->spare_mixed_count--)
        memory_free(mem, take_spare(&s->spare_mixed, SETTLE_MIXED_BYTES), SETTLE_MIXED_BYTES);
}

weir_status settle_reserve_spares(settle *s, int32_t count)
{
    if (count == 0) settle_free_spares(s);
    weir_status status = fill_spares(s, &s->spare_pages, &s->spare_page_count, count, sizeof(settle_page));
    if (status == WEIR_OK) status = fill_spares(s, &s->spare_mixed, &s->spare_mixed_count, count, SETTLE_MIXED_BYTES);
    s->spare_page_budget = s->spare_mixed_budget = count;
    return status;
}

bool settle_ready(settle *s, settle_place at, int32_t material)
{
    settle_brick *b = &s->bricks[at.brick];
    if (!b->page) {
        if (s->spare_page_budget == 0) return false;
        s->spare_page_budget--, s->spare_page_count--;
        b->page = take_spare(&s->spare_pages, sizeof *b->page);
        s->page_count++;
    }
    if (page_can_hold(b->page, at.cell, material)) return true;
    if (b->page->materials || page_fill(b->page)[at.cell] > 0 || s->spare_mixed_budget == 0) return false;
    s->spare_mixed_budget--, s->spare_mixed_count--;
    settle_note_materials(s, b->page, take_spare(&s->spare_mixed, SETTLE_MIXED_BYTES));
    return true;
}

// ---- What rises and what sinks -----------------------------------------------------------------------------------------------

static bool is_denser(const settle *s, int32_t a, int32_t b)
{
    const world_material *materials = s->cells.world->materials;
    return a && b && materials[a].def.density > materials[b].def.density;
}

// Whether one is to come up through, or sink in, the other: not if they react, which ends that sooner or later.
static bool changes_places(const settle *s, int32_t denser, int32_t lighter)
{
    return is_denser(s, denser, lighter) && !reactions_find(&s->cells.world->reactions, denser, lighter);
}

static void set_free(settle *s, settle_place at, int32_t material, int32_t units)
{
    settle_set_cell(s->bricks[at.brick].page, at.cell, material, units);
    settle_stir(s, at);
}

// Where liquids meet that were not beside each other when the update began, there may be no room: then the next one does it.
static bool has_spares(settle *s, settle_place at)
{
    if (s->spare_page_budget >= 2 && s->spare_mixed_budget >= 2) return true;
    settle_wake(s, at.brick);
    return false;
}

static void put_free(settle *s, settle_place at, int32_t material, int32_t units)
{
    const bool ready = settle_ready(s, at, material);
    assert(ready);
    (void)ready;
    set_free(s, at, material, units);
}

// A free cell under one that holds something denser.
static bool swap_free(settle *s, settle_place at, settle_held holds, layer_mask *moved)
{
    const settle_place above = settle_next(s, at, 3);
    const settle_held there = settle_look_at(s, above);
    if (holds.body || there.body || there.units == 0 || !changes_places(s, there.material, holds.material)) return false;
    if (!s->bricks[above.brick].worked) return false;
    if (!has_spares(s, at)) return false;
    set_free(s, at, WEIR_NOTHING, 0);
    set_free(s, above, WEIR_NOTHING, 0);
    put_free(s, at, there.material, there.units);
    put_free(s, above, holds.material, holds.units);
    moved->layer[layer_of(at.cell)] |= bit_of(at.cell);
    if (above.brick == at.brick) moved->layer[layer_of(above.cell)] |= bit_of(above.cell);
    return true;
}

// Where something comes out that rises from a cell: in a body of its own kind, in a cell with room, or in place of a lighter body's,
// whatever
// lies between.
static bool find_exit(settle *s, settle_place from, int32_t material, int32_t units, settle_place *exit)
{
    for (settle_place at = settle_next(s, from, 3); at.brick; at = settle_next(s, at, 3)) {
        const settle_held there = settle_look_at(s, at);
        if (there.capacity == 0) return false;
        *exit = at;
        if (there.material == WEIR_NOTHING) return true;
        if (there.material == material && (there.body || there.units + units <= there.capacity)) return true;
        if (there.body && is_denser(s, material, there.material)) return !settle_is_last(s, there.body);
    }
    return false;
}

// The same over any cell of the surface of a body, the first one by coordinate.
static bool find_far_exit(settle *s, int32_t body, int32_t material, int32_t units, settle_place *exit)
{
    const settle_body *b = body_at(s, body);
    int32_t count = 0;
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next) s->order[count++] = node_at(s, n)->brick;
    bricks_sort(&s->cells.pool, s->order, count);
    for (int32_t i = 0; i < count; i++) {
        const settle_node *node = node_at(s, settle_find_node(s, s->order[i], body));
        for (uint64_t left = node->cells.layer[b->top & 7]; left;)
            if (find_exit(s, (settle_place){s->order[i], cell_of(b->top & 7, region_take(&left))}, material, units, exit))
                return true;
    }
    return false;
}

// What a cell gives up when it rises: of a body that is closed also what is too much, and of its last cell all, as far as a cell can hold
// it.
static int32_t gives(const settle *s, settle_held holds)
{
    const settle_body *b = holds.body ? body_at(s, holds.body) : NULL;
    int64_t more = 0;
    if (b && settle_is_last(s, holds.body))
        more = b->volume - holds.units;
    else if (b && b->closed)
        more = b->volume - b->base - b->room;
    if (more > SETTLE_MOST - holds.units) more = SETTLE_MOST - holds.units;
    return holds.units + (int32_t)(more > 0 ? more : 0);
}

static void give_up(settle *s, settle_place at, settle_held holds, int32_t units)
{
    if (!holds.body) {
        set_free(s, at, WEIR_NOTHING, 0);
        return;
    }
    settle_body *b = body_at(s, holds.body);
    settle_note_body(s, holds.body);
    if (!settle_is_last(s, holds.body)) {
        b->volume -= units - holds.units;
        settle_release(s, at.brick, at.cell);
    } else {
        b->volume -= units;
        if (b->volume == 0) settle_end_body(s, holds.body);
    }
    settle_stir(s, at);
}

// A body loses a cell and keeps its volume.
static void push_up(settle *s, settle_place at, int32_t body)
{
    body_at(s, body)->volume += settle_release(s, at.brick, at.cell);
}

// As much of the denser body as fits comes into a cell from which something rose. One that goes on being a body's lets nothing in.
static void fill_behind(settle *s, settle_place at, int32_t body)
{
    settle_body *b = body_at(s, body);
    const settle_held left = settle_look_at(s, at);
    if (left.body || left.units > 0) return;
    const int32_t units = b->volume < left.capacity ? (int32_t)b->volume : left.capacity;
    b->volume -= units;
    settle_note_body(s, body);
    if (units > 0) put_free(s, at, b->material, units);
}

// The weight on the bottom of a layer under a body's surface.
static double weight_of(const settle *s, int32_t body, int32_t y)
{
    const settle_body *b = body_at(s, body);
    return (double)(body_height(b) - (int64_t)y * SETTLE_FULL) * (double)s->cells.world->materials[b->material].def.density;
}

// Whether what a body holds in a cell is to make room for a denser body beside it, which weighs more there, with what lies on it in that
// column. A
// body that lies on the other one anyway always does.
static bool gives_way(const settle *s, settle_place at, settle_held holds, int32_t body, settle_place from, settle_place exit)
{
    const int32_t y = y_of(s, at);
    if (!holds.body || y_of(s, from) > y || settle_look_at(s, exit).body == holds.body) return true;
    double weight = weight_of(s, body, y);
    settle_held there = settle_look_at(s, from);
    for (settle_place next = from; there.units > 0; there = settle_look_at(s, next)) {
        if (there.body != body) weight += (double)there.units * (double)s->cells.world->materials[there.material].def.density;
        next = settle_next(s, next, 3);
        if (!next.brick) break;
    }
    return weight > weight_of(s, holds.body, y);
}

// From a cell of a denser body beside it on.
static bool rise_through(settle *s, settle_place at, settle_held holds, int32_t body, settle_place from, bool *looked_far)
{
    settle_place exit;
    const int32_t units = gives(s, holds);
    if (units == 0 || !has_spares(s, at)) return false;
    if (!find_exit(s, from, holds.material, units, &exit)) {
        const bool again = *looked_far;
        *looked_far = true;
        if (again || !find_far_exit(s, body, holds.material, units, &exit)) return false;
    }
    if (!gives_way(s, at, holds, body, from, exit)) return false;
    const settle_held there = settle_look_at(s, exit);
    give_up(s, at, holds, units);
    if (there.body && there.material == holds.material) {
        body_at(s, there.body)->volume += units;
        settle_note_body(s, there.body);
        settle_stir(s, exit);
    } else {
        if (there.body) push_up(s, exit, there.body);
        put_free(s, exit, holds.material, units + (there.body ? 0 : there.units));
    }
    fill_behind(s, at, body);
    return true;
}

// Free liquid over a lighter body.
static bool sink_through(settle *s, settle_place at, settle_held holds)
{
    settle_place low = settle_next(s, at, 2);
    const settle_held below = settle_look_at(s, low);
    if (holds.body || !below.body || !changes_places(s, holds.material, below.material) || !has_spares(s, at)) return false;
    settle_place under = settle_next(s, low, 2);
    while (under.brick && settle_body_of(s, under.brick, under.cell) == below.body) {
        low = under;
        under = settle_next(s, low, 2);
    }
    const settle_held there = settle_look_at(s, under);
    if (there.material == holds.material && (there.body || there.units + holds.units <= there.capacity)) {
        set_free(s, at, WEIR_NOTHING, 0);
        if (there.body) {
            body_at(s, there.body)->volume += holds.units;
            settle_note_body(s, there.body);
            settle_stir(s, under);
        } else {
            set_free(s, under, holds.material, there.units + holds.units);
        }
        return true;
    }
    if (!settle_is_last(s, below.body)) {
        push_up(s, low, below.body);
        set_free(s, at, WEIR_NOTHING, 0);
        put_free(s, low, holds.material, holds.units);
        return true;
    }
    settle_body *b = body_at(s, below.body);
    if (b->volume > SETTLE_MOST) return false;
    const int32_t units = (int32_t)b->volume;
    b->volume = 0;
    settle_end_body(s, below.body);
    set_free(s, at, WEIR_NOTHING, 0);
    put_free(s, low, holds.material, holds.units);
    if (units > 0) put_free(s, at, below.material, units);
    return true;
}

// ---- Bodies that rise under lighter ones ---------------------------------------------------------------------------------------

uint64_t settle_yielding(const settle *s, int32_t brick, int32_t y, int32_t material)
{
    uint64_t cells = 0;
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) {
        const settle_body *b = body_at(s, node_at(s, n)->body);
        // One without cells in its top layer has lost them and does not know it yet: it could come to have none at all.
        if (b->material != material && !b->closed && b->area > 0 && y < b->top && changes_places(s, material, b->material))
            cells |= node_at(s, n)->cells.layer[y & 7];
    }
    return cells;
}

void settle_push_bodies_up(settle *s, int32_t brick, int32_t y, uint64_t cells)
{
    for (int32_t n = s->bricks[brick].node, next; n; n = next) {
        settle_node *node = node_at(s, n);
        const uint64_t taken = node->cells.layer[y & 7] & cells;
        next = node->next_in_brick;
        if (!taken) continue;
        settle_body *b = body_at(s, node->body);
        settle_keep_seen(s, b);
        settle_count_cells(s, b, &s->bricks[brick], y, taken, -1);
        node->cells.layer[y & 7] &= ~taken;
        b->may_be_split = true;
        settle_note_body(s, node->body);
        if (layers_empty(&node->cells)) settle_end_node(s, n);
    }
}

// A lighter body that has its top layer in a layer of a brick, and can rise.
static int32_t find_cover(const settle *s, int32_t brick, int32_t y, const settle_body *below)
{
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) {
        const settle_body *c = body_at(s, node_at(s, n)->body);
        if (c->top == y && !c->closed && node_at(s, n)->cells.layer[y & 7] && changes_places(s, below->material, c->material) &&
            s->nodes.budget >= below->nodes + c->nodes && settle_can_rise(s, c))
            return node_at(s, n)->body;
    }
    return 0;
}

void settle_lift_cover(settle *s, int32_t body)
{
    const settle_body *b = body_at(s, body);
    const int32_t y = b->top + 1;
    if (!(s->liquids & (s->liquids - 1))) return;
    // The bricks of the surface: nodes change their places in the lists.
    int32_t count = 0;
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next) {
        const int32_t brick = node_at(s, n)->brick, above = y & 7 ? brick : s->cells.pool.near[brick][NEAR(0, 1, 0)];
        if (above) s->order[count++] = above;
    }
    bricks_sort(&s->cells.pool, s->order, count);
    for (int32_t i = 0; i < count; i++) {
        for (int32_t cover; (cover = find_cover(s, s->order[i], y, b)) != 0;) {
            settle_rise(s, cover);
            settle_note_body(s, cover);
        }
    }
}

// ---- Bricks ------------------------------------------------------------------------------------------------------------------

// Whether a cell lies beside a denser body, or under it, and below its surface; *from: that body's cell.
static int32_t find_denser(const settle *s, settle_place at, settle_held holds, settle_place *from)
{
    const int32_t y = y_of(s, at);
    for (int32_t k = 0; k < 5; k++) {
        *from = settle_next(s, at, FACES[k]);
        const int32_t body = from->brick ? settle_body_of(s, from->brick, from->cell) : 0;
        if (body && changes_places(s, body_at(s, body)->material, holds.material) && y < body_at(s, body)->top) return body;
    }
    return 0;
}

void settle_sort_liquids(settle *s, int32_t brick)
{
    layer_mask moved = {{0}}, cells = settle_meeting_cells(s, brick);
    uint64_t risen = 0;  // columns out of which something has risen: one cell of each in an update
    bool looked_far = false, any = false;
    for (int32_t y = 0; y < 8; y++) {
        const uint64_t open = s->bricks[brick].open.layer[y];
        for (uint64_t left = any ? open : open & cells.layer[y]; left;) {
            const int32_t bit = region_take(&left);
            const settle_place at = {brick, cell_of(y, bit)};
            const settle_held holds = settle_look_at(s, at);
            settle_place from;
            if (!holds.material || layers_have(&moved, at.cell)) continue;
            bool moves = swap_free(s, at, holds, &moved) || sink_through(s, at, holds);
            const int32_t body = moves || risen >> bit & 1 ? 0 : find_denser(s, at, holds, &from);
            if (body && rise_through(s, at, holds, body, from, &looked_far)) {
                risen |= UINT64_C(1) << bit;
                moves = true;
            }
            // From the first one on that moves any cell may be beside another liquid.
            if (moves) settle_charge(s, SETTLE_COST_MOVE);
            if (moves && !any) left = bit < 63 ? open & ~UINT64_C(0) << (bit + 1) : 0;
            any |= moves;
        }
    }
}
