// One body of still water: its cells, its volume and its level.
#include "solvers/settle/settle.h"

#include "world/coord_table.h"
#include <assert.h>
#include <string.h>

// ---- Nodes -----------------------------------------------------------------------------------------------------------------

int32_t settle_find_node(const settle *s, int32_t brick, int32_t body)
{
    int32_t n = s->bricks[brick].node;
    while (n && node_at(s, n)->body != body) n = node_at(s, n)->next_in_brick;
    return n;
}

int32_t settle_body_of(const settle *s, int32_t brick, int32_t cell)
{
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick)
        if (layers_have(&node_at(s, n)->cells, cell)) return node_at(s, n)->body;
    return 0;
}

layer_mask settle_taken(const settle *s, int32_t brick)
{
    layer_mask taken = {{0}};
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick)
        for (int32_t y = 0; y < 8; y++) taken.layer[y] |= node_at(s, n)->cells.layer[y];
    return taken;
}

static bool lies_before(const settle *s, int32_t a, int32_t b)
{
    const weir_coord *coord = s->cells.pool.coord;
    return coord_compare(coord[node_at(s, a)->brick], coord[node_at(s, b)->brick]) < 0;
}

static void link_node(settle *s, int32_t node, int32_t list)
{
    settle_node *n = node_at(s, node);
    settle_body *body = body_at(s, n->body);
    n->list = list;
    n->before = 0;
    n->next = body->first[list];
    if (n->next) node_at(s, n->next)->before = node;
    body->first[list] = node;
    if (body->nodes++ == 0 || (body->lowest && lies_before(s, node, body->lowest))) body->lowest = node;
}

static void unlink_node(settle *s, int32_t node)
{
    settle_node *n = node_at(s, node);
    settle_body *body = body_at(s, n->body);
    if (n->next) node_at(s, n->next)->before = n->before;
    if (n->before)
        node_at(s, n->before)->next = n->next;
    else
        body->first[n->list] = n->next;
    body->nodes--;
    if (body->lowest == node) body->lowest = 0;
}

// The list of a body in which the nodes of a brick are.
static int32_t list_of(const settle *s, const settle_body *body, int32_t brick)
{
    return s->cells.pool.coord[brick].y == body->top >> 3 ? LIST_SURFACE : LIST_DEEP;
}

int32_t settle_need_node(settle *s, int32_t brick, int32_t body)
{
    int32_t node = settle_find_node(s, brick, body);
    if (node) return node;
    node = store_take(&s->nodes);
    settle_node *n = node_at(s, node);
    n->brick = brick;
    n->body = body;
    n->next_in_brick = s->bricks[brick].node;
    s->bricks[brick].node = node;
    link_node(s, node, list_of(s, body_at(s, body), brick));
    return node;
}

void settle_end_node(settle *s, int32_t node)
{
    settle_node *n = node_at(s, node);
    unlink_node(s, node);
    int32_t *link = &s->bricks[n->brick].node;
    while (*link != node) link = &node_at(s, *link)->next_in_brick;
    *link = n->next_in_brick;
    const int32_t brick = n->brick;
    store_give(&s->nodes, node);
    s->cells.pool.wet[brick] = s->cells.store->wet(&s->cells, brick);
}

// All nodes of a list come before those of another list.
static void join_lists(settle *s, int32_t *from, int32_t last, int32_t *to)
{
    if (!last) return;
    node_at(s, last)->next = *to;
    if (*to) node_at(s, *to)->before = last;
    *to = *from;
    *from = 0;
}

void settle_move_nodes(settle *s, int32_t from, int32_t to)
{
    settle_body *f = body_at(s, from), *t = body_at(s, to);
    const int32_t lowest = f->lowest;
    if (!lowest || !t->lowest)
        t->lowest = 0;
    else if (lies_before(s, lowest, t->lowest))
        t->lowest = lowest;
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = f->first[list], next; n; n = next) {
            settle_node *node = node_at(s, n);
            next = node->next;
            const int32_t there = settle_find_node(s, node->brick, to);
            if (!there) continue;
            for (int32_t y = 0; y < 8; y++) node_at(s, there)->cells.layer[y] |= node->cells.layer[y];
            settle_end_node(s, n);
        }
    }
    for (int32_t list = 0; list < 2; list++) {
        const int32_t right = f->first[list] ? list_of(s, t, node_at(s, f->first[list])->brick) : list;
        int32_t last = 0;
        for (int32_t n = f->first[list]; n; n = node_at(s, n)->next) {
            assert(list_of(s, t, node_at(s, n)->brick) == right);
            node_at(s, n)->body = to;
            node_at(s, n)->list = right;
            last = n;
        }
        join_lists(s, &f->first[list], last, &t->first[right]);
    }
    t->nodes += f->nodes;
    f->nodes = 0;
    f->lowest = 0;
}

void settle_hand_node(settle *s, int32_t node, int32_t body)
{
    settle_body *b = body_at(s, body);
    unlink_node(s, node);
    node_at(s, node)->body = body;
    b->lowest = 0;
    link_node(s, node, list_of(s, b, node_at(s, node)->brick));
    b->lowest = 0;
}

void settle_sink_nodes(settle *s, settle_body *b)
{
    int32_t last = 0;
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next) {
        node_at(s, n)->list = LIST_DEEP;
        last = n;
    }
    join_lists(s, &b->first[LIST_SURFACE], last, &b->first[LIST_DEEP]);
}

void settle_relist(settle *s, settle_body *b)
{
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list], next; n; n = next) {
            next = node_at(s, n)->next;
            const int32_t right = list_of(s, b, node_at(s, n)->brick);
            if (right == list) continue;
            unlink_node(s, n);
            link_node(s, n, right);
        }
    }
}

// ---- Bodies ----------------------------------------------------------------------------------------------------------------

int32_t settle_new_body(settle *s, int32_t top, int32_t material)
{
    const int32_t body = store_take(&s->bodies);
    settle_body *b = body_at(s, body);
    b->used = true;
    b->material = (uint8_t)material;
    b->top = top;
    b->least_up = INT64_MAX;
    b->most_down = INT64_MIN;
    return body;
}

void settle_note_body(settle *s, int32_t body)
{
    body_at(s, body)->cut_clean = false;
    if (body_at(s, body)->dirty) return;
    body_at(s, body)->dirty = true;
    assert(s->changed_count < s->changed_room);
    s->changed[s->changed_count++] = body;
}

void settle_forget_body(settle *s, int32_t body)
{
    if (!body_at(s, body)->dirty) return;
    int32_t i = 0;
    while (s->changed[i] != body) i++;
    memmove(s->changed + i, s->changed + i + 1, (size_t)(--s->changed_count - i) * sizeof *s->changed);
    if (i < s->levels.due) s->levels.due--;
    body_at(s, body)->dirty = false;
}

// One that is not needed any more may be taken again in the same update.
static void drop_histogram(settle *s, settle_body *b)
{
    if (!b->histogram || b->partly > 0) return;
    store_give(&s->histograms, b->histogram);
    s->histograms.budget++;
    b->histogram = 0;
}

void settle_end_body(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    assert(b->volume == 0);
    settle_wake_outlets(s, body, true);
    for (int32_t list = 0; list < 2; list++)
        while (b->first[list]) settle_end_node(s, b->first[list]);
    settle_forget_body(s, body);
    b->partly = 0;
    drop_histogram(s, b);
    store_give(&s->bodies, body);
}

// ---- What fits ---------------------------------------------------------------------------------------------------------------

static void count_share(settle *s, settle_body *body, int32_t share, int32_t sign)
{
    if (!body->histogram) body->histogram = store_take(&s->histograms);
    histogram_of(s, body)[share] += sign;
    body->partly += sign;
}

void settle_count_cells(settle *s, settle_body *body, const settle_brick *brick, int32_t y, uint64_t cells, int32_t sign)
{
    const int32_t number = __builtin_popcountll(cells);
    int64_t fits = (int64_t)number * SETTLE_FULL;
    assert(y <= body->top);
    if (brick->shares) {
        fits = 0;
        for (uint64_t left = cells; left;) {
            const int32_t share = brick->shares[cell_of(y & 7, region_take(&left))];
            fits += rule_settle_capacity(share);
            if (y == body->top && share > 0) count_share(s, body, share, sign);
        }
    }
    if (y == body->top) {
        body->room += sign * fits;
        body->area += sign * number;
    } else {
        body->base += sign * fits;
    }
}

static void count_node(settle *s, settle_body *body, int32_t node)
{
    const settle_node *n = node_at(s, node);
    const int32_t bottom = 8 * s->cells.pool.coord[n->brick].y;
    for (int32_t y = 0; y < 8; y++)
        if (n->cells.layer[y]) settle_count_cells(s, body, &s->bricks[n->brick], bottom + y, n->cells.layer[y], 1);
}

void settle_clear_layer(settle *s, settle_body *b)
{
    b->room = 0;
    b->area = b->partly = 0;
    if (b->histogram) memset(histogram_of(s, b), 0, sizeof(settle_histogram));
}

void settle_set_layer(settle *s, settle_body *b, int64_t room, int32_t area, int32_t partly, const int32_t *histogram)
{
    settle_clear_layer(s, b);
    b->room = room;
    b->area = area;
    b->partly = partly;
    if (partly == 0) return;
    if (!b->histogram) b->histogram = store_take(&s->histograms);
    memcpy(histogram_of(s, b), histogram, sizeof(settle_histogram));
}

void settle_recount(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    int32_t top = INT32_MIN;
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list], next; n; n = next) {
            const settle_node *node = node_at(s, n);
            next = node->next;
            const int32_t bottom = 8 * s->cells.pool.coord[node->brick].y;
            if (layers_empty(&node->cells)) {
                settle_end_node(s, n);
                continue;
            }
            for (int32_t y = 0; y < 8; y++)
                if (node->cells.layer[y] && bottom + y > top) top = bottom + y;
        }
    }
    b->base = 0;
    settle_clear_layer(s, b);
    b->closed = false;
    if (top == INT32_MIN) return;
    b->top = top;
    settle_relist(s, b);
    for (int32_t list = 0; list < 2; list++)
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) count_node(s, b, n);
    settle_note_body(s, body);
}

void settle_lose_layers(settle *s, int32_t body, int32_t top)
{
    settle_body *b = body_at(s, body);
    assert(top > b->top);
    b->base += b->room;
    settle_clear_layer(s, b);
    b->top = top;
    settle_relist(s, b);
}

void settle_set_top(settle *s, int32_t body, int32_t top)
{
    settle_body *b = body_at(s, body);
    if (b->top >> 3 != top >> 3) settle_sink_nodes(s, b);
    b->top = top;
}

// ---- The level ---------------------------------------------------------------------------------------------------------------

// What the top layer holds at a level.
int64_t settle_layer_holds(const settle *s, const settle_body *b, int32_t level)
{
    int64_t holds = (int64_t)(b->area - b->partly) * level;
    if (b->partly == 0) return holds;
    const int32_t *count = histogram_of(s, b);
    for (int32_t share = 1; share < 255; share++) {
        const int32_t above_floor = level - (SETTLE_FULL - rule_settle_capacity(share));
        if (count[share] && above_floor > 0) holds += (int64_t)count[share] * above_floor;
    }
    return holds;
}

// The highest level at which the top layer holds no more than is left for it. What is then over, less than a unit per cell, is in no cell.
void settle_find_level(const settle *s, settle_body *b)
{
    const int64_t left = b->volume - b->base;
    int32_t low = 0, high = SETTLE_FULL;
    if (left >= b->room) {
        b->level = SETTLE_FULL;
        return;
    }
    if (b->partly == 0) {
        b->level = left <= 0 ? 0 : (int32_t)(left / b->area);
        return;
    }
    while (high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (settle_layer_holds(s, b, middle) <= left)
            low = middle;
        else
            high = middle;
    }
    b->level = low;
}

void settle_flag_surface(settle *s, const settle_body *b)
{
    for (int32_t n = b->first[LIST_SURFACE]; n; n = node_at(s, n)->next)
        cells_flags(&s->cells)[node_at(s, n)->brick] = s->cells.world->change;
}

int32_t settle_release(settle *s, int32_t brick, int32_t cell)
{
    const int32_t y = layer_of(cell), layer = 8 * s->cells.pool.coord[brick].y + y;
    int32_t node = s->bricks[brick].node;
    while (!layers_have(&node_at(s, node)->cells, cell)) node = node_at(s, node)->next_in_brick;
    const int32_t body = node_at(s, node)->body;
    settle_body *b = body_at(s, body);
    const int32_t units = body_left(b, layer, cell_capacity(&s->bricks[brick], cell));
    settle_keep_seen(s, b);
    settle_count_cells(s, b, &s->bricks[brick], layer, bit_of(cell), -1);
    node_at(s, node)->cells.layer[y] &= ~bit_of(cell);
    b->volume -= units;
    b->may_be_split = true;
    settle_note_body(s, body);
    if (layers_empty(&node_at(s, node)->cells)) settle_end_node(s, node);
    return units;
}

// Whether the bricks of a body's cells have pages that can hold its water: they do once the laws have been applied to them. If not they are to have
// them in the next update.
static bool can_dissolve(settle *s, const settle_body *b)
{
    bool can = true;
    for (int32_t list = 0; list < 2; list++) {
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) {
            const settle_brick *brick = &s->bricks[node_at(s, n)->brick];
            const settle_page *page = brick->page;
            if (b->volume == 0) continue;
            if (brick->worked && s->stage < STAGE_WORK) {
                can = false;
                continue;
            }
            if (brick->worked && (page->materials || page->material == b->material || layers_empty(&page->wet))) continue;
            settle_wake(s, node_at(s, n)->brick);
            can = false;
        }
    }
    return can;
}

// A body with less than a unit per cell and nothing below: its water is free again, a unit per cell from the first on. The bricks have
// pages, or it waits until they do.
static void dissolve(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    int32_t count = 0;
    if (!can_dissolve(s, b)) {
        settle_note_body(s, body);
        return;
    }
    for (int32_t list = 0; list < 2; list++)
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next) s->queue[count++] = node_at(s, n)->brick;
    bricks_sort(&s->cells.pool, s->queue, count);
    for (int32_t i = 0; i < count && b->volume > 0; i++) {
        settle_brick *brick = &s->bricks[s->queue[i]];
        const settle_node *node = node_at(s, settle_find_node(s, s->queue[i], body));
        for (int32_t y = 0; y < 8; y++) {
            for (uint64_t left = node->cells.layer[y]; left && b->volume > 0;) {
                const int32_t cell = cell_of(y, region_take(&left));
                settle_set_cell(brick->page, cell, b->material, 1);
                brick->page->wet.layer[y] |= bit_of(cell);
                b->volume--;
            }
        }
    }
    for (int32_t i = 0; i < count; i++) {
        settle_wake(s, s->queue[i]);
        cells_flags(&s->cells)[s->queue[i]] = s->cells.world->change;
    }
    settle_end_body(s, body);
}

// ---- Levels of all -----------------------------------------------------------------------------------------------------------

// What would rise through an open side above leaves the world.
static void leave_through_top(settle *s, settle_body *b)
{
    const terrain *t = &s->cells.world->terrain;
    const int64_t over = b->volume - b->base - b->room;
    if (!(t->open_sides & WEIR_SIDE_Y_MAX) || b->top + 1 != t->bounds.max.y || over <= 0 || !settle_can_rise(s, b)) return;
    b->volume -= over;
    settle_ledger(s, b->material)->drained += over * SETTLE_UNIT;
}

static bool has_layer_too_many(const settle_body *b)
{
    return b->nodes > 0 && b->base > 0 && b->volume - b->base < b->area;
}

// As many layers as the volume needs: a layer that would hold less than a unit per cell is none. Begins anew where it was left.
static settle_found find_layers(settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    b->closed = false;
    settle_leave_lost_layers(s, b);
    leave_through_top(s, b);
    while (b->volume > b->base + b->room) {
        if (!settle_searches_above(s, body) && b->volume - b->base - b->room >= b->area) settle_lift_cover(s, body);
        if (!settle_search_above(s, body, false)) return FOUND_LATER;
        const int64_t above = s->search.area;
        b->closed = above == 0;
        if (b->volume - b->base - b->room < above || above == 0) break;
        if (s->nodes.budget < b->nodes || !settle_may_change(s, s->search.count)) return FOUND_LATER;
        settle_take_layer(s);
        leave_through_top(s, b);
    }
    while (has_layer_too_many(b)) {
        if (!settle_search_top(s, body, false) || !settle_may_change(s, s->search.count)) return FOUND_LATER;
        settle_give_layer(s);
    }
    if (b->nodes > 0 && (b->base > 0 || b->volume >= b->area)) return FOUND_LAYERS;
    dissolve(s, body);
    return b->used && b->nodes > 0 ? FOUND_LAYERS : FOUND_END;
}

// The reservoir that held a body when it was begun with: by its layers it may have come out of the box since.
static const world_source *holder_of(settle *s, int32_t body)
{
    const weir_world *world = s->cells.world;
    settle_levels *l = &s->levels;
    if (!l->begun) {
        const world_source *holder = settle_holder(s, body);
        l->begun = true;
        l->held = holder ? holder->id : 0;
        return holder;
    }
    for (int32_t i = 0; i < world->source_count && l->held; i++)
        if (world->sources[i].id == l->held && world->sources[i].kind == SOURCE_RESERVOIR) return &world->sources[i];
    return NULL;
}

// Its layers, its level, and who wakes of it. What of it is left to the next update stands at a level meanwhile, too.
static settle_found level_body(settle *s, int32_t body)
{
    const int32_t level = body_at(s, body)->level, top = body_at(s, body)->top;
    const world_source *holder = holder_of(s, body);
    const settle_found found = holder ? settle_hold(s, body, holder) : find_layers(s, body);
    if (found != FOUND_LATER) s->search.kind = SEARCH_NOTHING;
    if (found == FOUND_END) return found;
    settle_body *b = body_at(s, body);
    settle_find_level(s, b);
    if (b->level != level || b->top != top) settle_flag_surface(s, b);
    if (found == FOUND_LATER) return found;
    drop_histogram(s, b);
    const int64_t height = body_height(b);
    if (height >= b->least_up || height <= b->most_down) settle_wake_outlets(s, body, false);
    return found;
}

// Bodies that rise take cells from each other: the lowest by coordinate goes first. Insertion, since most updates change few.
static void sort_changed(settle *s, int32_t count)
{
    for (int32_t i = 1; i < count; i++) {
        const int32_t body = s->changed[i];
        int32_t k = i;
        for (; k > 0 && settle_comes_before(s, body, s->changed[k - 1]); k--) s->changed[k] = s->changed[k - 1];
        s->changed[k] = body;
    }
}

// An edit takes and gives what the cells hold, so it must not find them as they were before the last one. Bodies only fall here: to rise is
// the update's, and water that waits for it is in no cell.
void settle_follow_volumes(settle *s)
{
    settle_end_search(s);
    sort_changed(s, s->changed_count);
    for (int32_t i = 0; i < s->changed_count; i++) {
        settle_body *b = body_at(s, s->changed[i]);
        const int32_t level = b->level, top = b->top;
        settle_keep_seen(s, b);
        settle_leave_lost_layers(s, b);
        while (has_layer_too_many(b)) settle_drop_layer(s, s->changed[i]);
        settle_find_level(s, b);
        if (b->level != level || b->top != top) settle_flag_surface(s, b);
    }
}

// Levels a body, and looks whether it has come apart. False if the next update goes on with it.
static bool look_over(settle *s, int32_t body)
{
    if (!s->levels.apart) {
        const settle_found found = level_body(s, body);
        if (found == FOUND_LATER) return false;
        if (found == FOUND_END && !body_at(s, body)->used) return true;
        s->levels.apart = body_may_be_split(body_at(s, body));
    }
    if (s->levels.apart && !settle_split(s, body)) return false;
    return true;
}

// What comes of a body that came apart is looked at too, and what still waits then waits for the next turn.
bool settle_level_bodies(settle *s)
{
    enum { ROUNDS = 3 };
    settle_levels *l = &s->levels;
    sort_changed(s, l->due);
    for (;;) {
        if (l->body == 0) {
            if (l->due == 0 && (l->round >= ROUNDS || s->changed_count == 0)) break;
            if (l->due == 0) {
                l->round++;
                l->due = s->changed_count;
                sort_changed(s, l->due);
            }
            // From the front: new ones come behind.
            l->body = s->changed[0];
            memmove(s->changed, s->changed + 1, (size_t)(--s->changed_count) * sizeof *s->changed);
            l->due--;
            body_at(s, l->body)->dirty = false;
        }
        if (!look_over(s, l->body)) return false;
        *l = (settle_levels){.round = l->round, .due = l->due};
    }
    l->round = 0;
    return true;
}

void settle_end_levels(settle *s)
{
    settle_levels *l = &s->levels;
    if (l->body == 0) return;
    settle_note_body(s, l->body);
    *l = (settle_levels){.round = l->round - 1};
}

// ---- Order -------------------------------------------------------------------------------------------------------------------

static int32_t lowest_node(const settle *s, int32_t body)
{
    settle_body *b = body_at(s, body);
    if (b->lowest) return b->lowest;
    for (int32_t list = 0; list < 2; list++)
        for (int32_t n = b->first[list]; n; n = node_at(s, n)->next)
            if (!b->lowest || lies_before(s, n, b->lowest)) b->lowest = n;
    return b->lowest;
}

int32_t settle_lowest_cell(const layer_mask *cells)
{
    for (int32_t y = 0; y < 8; y++)
        if (cells->layer[y]) return 64 * y + __builtin_ctzll(cells->layer[y]);
    return BRICK_CELLS;
}

int32_t settle_lowest_brick(const settle *s, int32_t body)
{
    const int32_t node = lowest_node(s, body);
    return node ? node_at(s, node)->brick : BRICK_NOTHING;
}

bool settle_comes_before(const settle *s, int32_t a, int32_t b)
{
    const int32_t node_a = lowest_node(s, a), node_b = lowest_node(s, b);
    if (!node_a || !node_b) return node_a != 0;
    const int order =
        coord_compare(s->cells.pool.coord[node_at(s, node_a)->brick], s->cells.pool.coord[node_at(s, node_b)->brick]);
    return order ? order < 0 : settle_lowest_cell(&node_at(s, node_a)->cells) < settle_lowest_cell(&node_at(s, node_b)->cells);
}
