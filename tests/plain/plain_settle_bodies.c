// The plain reading of settle: bodies. Their levels and layers, what comes apart, what meets, and what joins.
#include "plain/plain_settle_inside.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEEDS = 4,               // places in a brick at which a body may begin in an update
    LEAST_FILL = FULL / 64,  // of a cell with which it begins
    ROUNDS = 3,              // of levelling, at a time
    PAIRS = 256,             // of bodies that meet in an update
    HEAD_MOST = 1 << 22      // difference of heights that is reckoned with
};

// ---- Levels ----------------------------------------------------------------------------------------------------------------

// What the top layer holds at a level.
static int64_t layer_holds(const plain_settle *w, int32_t body, int32_t level)
{
    const plain_pool at_level = {.top = w->bodies[body].top, .level = level};
    int64_t holds = 0;
    EACH_CELL(&w->grid, i)
    if (w->body[i] == body && y_of(w, i) == at_level.top) holds += plain_settle_still_fill(&at_level, at_level.top, w->fits[i]);
    return holds;
}

// The highest level at which the top layer holds no more than is left for it.
static void find_level(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    const plain_sums s = plain_settle_count_body(w, body);
    const int64_t left = b->volume - s.base;
    int32_t low = 0, high = FULL;
    while (left < s.room && high - low > 1) {
        const int32_t middle = (low + high) / 2;
        if (layer_holds(w, body, middle) <= left)
            low = middle;
        else
            high = middle;
    }
    b->level = left >= s.room ? FULL : low;
}

// The bodies whose cells lie directly under one.
void plain_settle_note_below(plain_settle *w, int64_t i)
{
    const int64_t j = beside(w, i, 2);
    if (w->body[j]) w->bodies[w->body[j]].changed = true;
}

static bool can_rise_into(const plain_settle *w, int64_t i)
{
    return is_live(w, i) && is_free(w, i);
}

static int64_t count_above(const plain_settle *w, int32_t body)
{
    int64_t count = 0;
    EACH_CELL(&w->grid, i)
    if (w->body[i] == body && y_of(w, i) == w->bodies[body].top) count += can_rise_into(w, beside(w, i, 3));
    return count;
}

// A free cell becomes a body's, with what is in it.
static void take(plain_settle *w, int64_t i, int32_t body)
{
    assert(is_live(w, i) && is_free(w, i));
    w->body[i] = body;
    w->bodies[body].volume += w->fill[i];
    w->fill[i] = 0;
    w->calm[i] = 0;
}

static void rise(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    EACH_CELL(&w->grid, i)
    {
        const int64_t above = beside(w, i, 3);
        if (w->body[i] == body && y_of(w, i) == b->top && can_rise_into(w, above)) take(w, above, body);
    }
    b->top++;
    w->counts.rose++;
    plain_settle_wake_top_sides(w, body);
}

// The top layer is given up; the highest below in which the body has cells is its top one then.
static void drop_layer(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    plain_settle_wake_top_sides(w, body);
    EACH_CELL(&w->grid, i)
    {
        if (w->body[i] != body || y_of(w, i) != b->top) continue;
        w->body[i] = 0;
        plain_settle_note_below(w, i);
    }
    b->closed = false;
    b->cut = true;
    w->counts.fell++;
    do b->top--;
    while (plain_settle_count_body(w, body).cells > 0 && plain_settle_count_body(w, body).area == 0);
}

static void drop_layers(plain_settle *w, int32_t body)
{
    for (plain_sums s = plain_settle_count_body(w, body); s.cells > 0 && s.base > 0 && w->bodies[body].volume - s.base < s.area;
         s = plain_settle_count_body(w, body))
        drop_layer(w, body);
}

// Terrain may have taken all cells of the top layer.
static void leave_lost_layers(plain_settle *w, int32_t body)
{
    while (plain_settle_count_body(w, body).cells > 0 && plain_settle_count_body(w, body).area == 0) w->bodies[body].top--;
}

// What would rise through an open side above leaves the world.
static void leave_through_top(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    const plain_sums s = plain_settle_count_body(w, body);
    const int64_t over = b->volume - s.base - s.room;
    if (!w->bounded || !(w->open_sides & WEIR_SIDE_Y_MAX) || b->top + 1 != w->bounds.max.y) return;
    if (over <= 0 || count_above(w, body) == 0) return;
    b->volume -= over;
    w->drained += over * PLAIN_UNIT;
}

void plain_settle_end_body(plain_settle *w, int32_t body)
{
    plain_settle_wake_shores(w, body, true);
    EACH_CELL(&w->grid, i) if (w->body[i] == body) w->body[i] = 0;
    w->bodies[body] = (plain_pool){0};
}

// Less than a unit per cell, and nothing below: it becomes free again, a unit per cell from the first on, once the laws
// have been applied to its bricks.
static void dissolve(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    bool waits = false;
    EACH_CELL(&w->grid, i)
    {
        const int64_t brick = brick_of(w, i);
        if (w->body[i] != body || (w->worked[brick] && w->applied) || b->volume == 0) continue;
        if (!w->worked[brick]) plain_settle_wake(w, brick);
        waits = true;
    }
    if (waits) {
        b->changed = true;
        return;
    }
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        EACH_CELL_UP(w, plain_brick_of(&w->grid, w->grid.brick[n]), i)
        {
            if (w->body[i] != body) continue;
            if (b->volume > 0) w->fill[i] = 1, b->volume--;
            plain_settle_wake(w, brick_of(w, i));
        }
    }
    assert(b->volume == 0);
    w->counts.dissolved++;
    plain_settle_end_body(w, body);
}

// As many layers as the volume needs. Returns whether the body is still there.
static bool find_layers(plain_settle *w, int32_t body)
{
    plain_pool *b = &w->bodies[body];
    b->closed = false;
    leave_lost_layers(w, body);
    leave_through_top(w, body);
    for (plain_sums s = plain_settle_count_body(w, body); b->volume > s.base + s.room; s = plain_settle_count_body(w, body)) {
        const int64_t above = count_above(w, body);
        b->closed = above == 0;
        if (above == 0 || b->volume - s.base - s.room < above) break;
        rise(w, body);
        leave_through_top(w, body);
    }
    w->counts.closed += b->closed;
    drop_layers(w, body);
    const plain_sums s = plain_settle_count_body(w, body);
    if (s.base > 0 || b->volume >= s.area) return true;
    dissolve(w, body);
    return b->there;
}

// ---- Reservoirs ------------------------------------------------------------------------------------------------------------

static bool ends_at_top(const plain_settle *w, int32_t body)
{
    return w->bounded && w->open_sides & WEIR_SIDE_Y_MAX && w->bodies[body].top + 1 == w->bounds.max.y;
}

// As many layers as the level asks for and terrain allows.
static void rise_to(plain_settle *w, int32_t body, plain_surface surface)
{
    plain_pool *b = &w->bodies[body];
    while (b->top < surface.top && !ends_at_top(w, body)) {
        const plain_pool above = {.top = b->top + 1, .level = b->top + 1 == surface.top ? surface.level : FULL};
        int64_t holds = 0, cells = 0;
        EACH_CELL(&w->grid, i)
        {
            const int64_t j = beside(w, i, 3);
            if (w->body[i] != body || y_of(w, i) != b->top || !can_rise_into(w, j)) continue;
            holds += plain_settle_still_fill(&above, above.top, w->fits[j]);
            cells++;
        }
        b->closed = cells == 0;
        if (cells == 0 || holds < cells) return;
        rise(w, body);
    }
}

// A body that is held has the volume that follows from the level, and the difference is booked. Returns whether it is still there.
static bool hold(plain_settle *w, int32_t body, plain_surface surface)
{
    plain_pool *b = &w->bodies[body];
    b->closed = false;
    leave_lost_layers(w, body);
    while (plain_settle_count_body(w, body).cells > 0 && b->top > surface.top) drop_layer(w, body);
    if (plain_settle_count_body(w, body).cells > 0) rise_to(w, body, surface);
    const plain_sums s = plain_settle_count_body(w, body);
    int64_t volume = s.cells == 0 ? 0 : s.base + (b->top == surface.top ? layer_holds(w, body, surface.level) : s.room);
    if (volume == 0 && s.cells > 0) drop_layer(w, body);
    plain_settle_book(w, volume - b->volume);
    b->volume = volume;
    if (volume > 0) return true;
    plain_settle_end_body(w, body);
    return false;
}

// ---- Order -----------------------------------------------------------------------------------------------------------------

// Where a body comes first: bricks by coordinate, and in a brick as EACH_CELL_UP goes.
int64_t plain_settle_first_place(const plain_settle *w, int32_t body)
{
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        int64_t place = 512 * (int64_t)n;
        EACH_CELL_UP(w, plain_brick_of(&w->grid, w->grid.brick[n]), i)
        {
            if (w->body[i] == body) return place;
            place++;
        }
    }
    return INT64_MAX;
}

typedef struct placed {
    int64_t place;
    int32_t body;
} placed;

static int compare_placed(const void *a, const void *b)
{
    const int64_t x = ((const placed *)a)->place, y = ((const placed *)b)->place;
    return (x > y) - (x < y);
}

// The bodies of which something changed, in order; free the list.
static placed *list_changed(const plain_settle *w, int32_t *count)
{
    placed *list = malloc((size_t)(w->body_end + 1) * sizeof *list);
    *count = 0;
    for (int32_t b = 1; b < w->body_end; b++)
        if (w->bodies[b].there && w->bodies[b].changed) list[(*count)++] = (placed){plain_settle_first_place(w, b), b};
    qsort(list, (size_t)*count, sizeof *list, compare_placed);
    return list;
}

// ---- Coming apart ----------------------------------------------------------------------------------------------------------

// Gives all that hangs together with a cell of a body to another, but for its volume.
static void relabel(plain_settle *w, int64_t cell, int32_t to)
{
    const int32_t from = w->body[cell];
    int64_t count = 0;
    w->list[count++] = cell;
    w->body[cell] = to;
    for (int64_t n = 0; n < count; n++) {
        for (int32_t side = 0; side < 6; side++) {
            const int64_t j = beside(w, w->list[n], side);
            if (w->body[j] != from) continue;
            w->body[j] = to;
            w->list[count++] = j;
        }
    }
}

// A part stands as it stood in the whole.
static void find_top(plain_settle *w, int32_t body, const plain_pool *whole)
{
    plain_pool *b = &w->bodies[body];
    b->top = INT32_MIN;
    EACH_CELL(&w->grid, i) if (w->body[i] == body && y_of(w, i) > b->top) b->top = y_of(w, i);
    b->level = b->top == whole->top ? whole->level : PLAIN_CELL;
    b->closed = false;
    b->changed = true;
}

static int64_t shown_volume(const plain_settle *w, int32_t label, const plain_pool *as)
{
    int64_t volume = 0;
    EACH_CELL(&w->grid, i) if (w->body[i] == label) volume += plain_settle_still_fill(as, y_of(w, i), w->fits[i]);
    return volume;
}

// Each part takes what its cells show; the one that comes first keeps what is in no cell.
static void split(plain_settle *w, int32_t body)
{
    const plain_pool before = w->bodies[body];
    int32_t *parts = malloc((size_t)w->grid.cells * sizeof *parts), count = 0;
    w->bodies[body].cut = false;
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        EACH_CELL_UP(w, plain_brick_of(&w->grid, w->grid.brick[n]), i)
        {
            if (w->body[i] != body) continue;
            parts[count] = plain_settle_new_body(w);
            relabel(w, i, parts[count++]);
        }
    }
    // The first one was only given another number to find the others.
    EACH_CELL(&w->grid, i) if (w->body[i] == parts[0]) w->body[i] = body;
    w->bodies[parts[0]] = (plain_pool){0};
    if (count > 1) {
        w->counts.split++;
        plain_settle_wake_shores(w, body, true);
        for (int32_t k = 1; k < count; k++) {
            const int64_t volume = shown_volume(w, parts[k], &before);
            w->bodies[parts[k]].volume = volume;
            w->bodies[body].volume -= volume;
            find_top(w, parts[k], &before);
        }
        find_top(w, body, &before);
    }
    free(parts);
}

static void level_body(plain_settle *w, int32_t body)
{
    w->bodies[body].changed = false;
    const plain_source *holder = plain_settle_holder(w, body);
    if (holder ? hold(w, body, plain_settle_surface(holder)) : find_layers(w, body)) {
        find_level(w, body);
        plain_settle_wake_shores(w, body, false);
    }
    if (w->bodies[body].there && w->bodies[body].cut) split(w, body);
}

// What still waits after some rounds waits for the next time.
void plain_settle_level_bodies(plain_settle *w)
{
    for (int32_t round = 0; round < ROUNDS; round++) {
        int32_t count;
        placed *list = list_changed(w, &count);
        for (int32_t k = 0; k < count; k++) level_body(w, list[k].body);
        free(list);
    }
}

// Before an edit takes and gives: levels come down, and nothing rises yet.
void plain_settle_follow_volumes(plain_settle *w)
{
    int32_t count;
    placed *list = list_changed(w, &count);
    for (int32_t k = 0; k < count; k++) {
        leave_lost_layers(w, list[k].body);
        drop_layers(w, list[k].body);
        find_level(w, list[k].body);
    }
    free(list);
}

// ---- Contacts --------------------------------------------------------------------------------------------------------------

typedef struct pair {
    int32_t a, b;
    int64_t faces;
} pair;

// The pairs of bodies, without order, that touch, in the order in which they are met: for each brick the bodies in it by where they come
// first there, each with those behind it; then those over its upper faces, axis by axis.
typedef struct pairs {
    pair items[PAIRS];
    int32_t count;
    bool full;
} pairs;

static void add_pair(pairs *list, int32_t a, int32_t b, int64_t faces)
{
    if (faces == 0) return;
    for (int32_t k = 0; k < list->count; k++) {
        pair *p = &list->items[k];
        if ((p->a == a && p->b == b) || (p->a == b && p->b == a)) {
            p->faces += faces;
            return;
        }
    }
    if (list->count < PAIRS)
        list->items[list->count++] = (pair){a, b, faces};
    else
        list->full = true;
}

// Faces between cells of body a in one brick and of b in another, or the same.
static int64_t count_faces(const plain_settle *w, int64_t brick_a, int32_t a, int64_t brick_b, int32_t b)
{
    int64_t faces = 0;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick_a), i)
    {
        for (int32_t side = 0; w->body[i] == a && side < 6; side++) {
            const int64_t j = beside(w, i, side);
            faces += w->body[j] == b && brick_of(w, j) == brick_b;
        }
    }
    return faces;
}

static void find_pairs(const plain_settle *w, pairs *list)
{
    int32_t here[512], there[512];
    for (int32_t n = 0; n < w->grid.bricks && !list->full; n++) {
        const int64_t brick = plain_brick_of(&w->grid, w->grid.brick[n]);
        const int32_t count = plain_settle_bodies_in(w, brick, here);
        for (int32_t i = 0; i < count; i++)
            for (int32_t k = i + 1; k < count; k++)
                add_pair(list, here[i], here[k], count_faces(w, brick, here[i], brick, here[k]));
        for (int32_t axis = 0; axis < 3 && count > 0; axis++) {
            const int64_t next = brick_at_face(w, brick, 2 * axis + 1);
            const int32_t beyond = plain_settle_bodies_in(w, next, there);
            for (int32_t i = 0; i < count; i++)
                for (int32_t k = 0; k < beyond; k++)
                    if (here[i] != there[k]) add_pair(list, here[i], there[k], count_faces(w, brick, here[i], next, there[k]));
        }
    }
}

// They become one. Until its level is found anew its surface is that of the one with cells in more bricks.
static int32_t merge(plain_settle *w, int32_t high, int32_t low)
{
    if (!w->bodies[low].closed)
        while (w->bodies[high].top > w->bodies[low].top) drop_layer(w, high);
    const int32_t keeps = plain_settle_count_body(w, high).bricks >= plain_settle_count_body(w, low).bricks ? high : low;
    const int32_t gives = keeps == high ? low : high;
    plain_pool *to = &w->bodies[keeps], *from = &w->bodies[gives];
    if (from->top > to->top) to->top = from->top;
    to->volume += from->volume;
    to->cut |= from->cut;
    to->changed = true;
    EACH_CELL(&w->grid, i) if (w->body[i] == gives) w->body[i] = keeps;
    for (int32_t k = 0; k < w->shore_count; k++)
        if (w->shores[k].body == gives) w->shores[k].body = keeps;
    *from = (plain_pool){0};
    w->counts.merged++;
    return keeps;
}

// Through the faces at which they touch, and no more than half of what would level them.
static void run_over(plain_settle *w, int32_t high, int32_t low, int64_t faces)
{
    plain_pool *h = &w->bodies[high], *l = &w->bodies[low];
    const int64_t area_h = plain_settle_count_body(w, high).area, area_l = plain_settle_count_body(w, low).area;
    const int64_t head = lesser64(plain_settle_height(h) - plain_settle_height(l), HEAD_MOST),
                  through = faces * lesser64(head, FULL) + 1;
    const int64_t a = lesser64(area_h, area_l), b = area_h + area_l - a;
    const int64_t area = a * ((b << 16) / (a + b)) >> 8;  // a*b/(a + b) in 1/256 cells
    const int64_t runs = lesser64(lesser64(through, (head * area >> 9) + 1), h->volume);
    h->volume -= runs;
    l->volume += runs;
    h->changed = l->changed = true;
    w->counts.ran_over++;
}

void plain_settle_meet(plain_settle *w)
{
    static pairs list;
    list = (pairs){0};
    find_pairs(w, &list);
    for (int32_t i = 0; i < list.count; i++) {
        const pair p = list.items[i];
        if (p.a == p.b) continue;
        const bool a_high = plain_settle_height(&w->bodies[p.a]) >= plain_settle_height(&w->bodies[p.b]);
        const int32_t high = a_high ? p.a : p.b, low = a_high ? p.b : p.a;
        // One that is held gives no layer up: the other rises to it.
        const bool stands_over = w->bodies[high].top > w->bodies[low].top && plain_settle_holder(w, high);
        const int64_t apart = plain_settle_height(&w->bodies[high]) - plain_settle_height(&w->bodies[low]);
        if ((apart > FULL || stands_over) && !w->bodies[low].closed) {
            run_over(w, high, low, p.faces);
            continue;
        }
        const int32_t left = merge(w, high, low);
        for (int32_t k = i + 1; k < list.count; k++) {
            if (list.items[k].a == high || list.items[k].a == low) list.items[k].a = left;
            if (list.items[k].b == high || list.items[k].b == low) list.items[k].b = left;
        }
    }
}

// ---- Joining ---------------------------------------------------------------------------------------------------------------

// Whether something stands on a cell.
static bool is_firm(const plain_settle *w, int64_t i)
{
    if (!is_live(w, i) || w->fits[i] == 0) return true;
    if (!w->body[i]) return w->fill[i] > 0 && w->fill[i] >= w->fits[i];
    const plain_pool *b = &w->bodies[w->body[i]];
    return y_of(w, i) < b->top || b->level == FULL;
}

static bool can_join(const plain_settle *w, int64_t i, int32_t top)
{
    return is_live(w, i) && w->fill[i] > 0 && y_of(w, i) <= top && is_firm(w, beside(w, i, 2));
}

// Lets a body grow within a brick, by the cells that can join as it is looked at. Returns whether it got any.
static bool grow(plain_settle *w, int64_t brick, int32_t body)
{
    const int64_t first = plain_first_of(&w->grid, brick);
    bool joins[512] = {false}, any = false;
    int32_t n = 0;
    int64_t cells[512], count = 0;
    EACH_CELL_OF(&w->grid, first, i) joins[n++] = can_join(w, i, w->bodies[body].top);
    for (bool grown = true; grown;) {
        grown = false;
        n = 0;
        EACH_CELL_OF(&w->grid, first, i)
        {
            bool touches = false;
            for (int32_t side = 0; side < 6; side++) touches |= w->body[beside(w, i, side)] == body;
            if (touches && joins[n]) {
                take(w, i, body);
                joins[n] = false;
                cells[count++] = i;
                grown = any = true;
            }
            n++;
        }
    }
    for (int64_t k = 0; k < count; k++) {
        const int64_t above = beside(w, cells[k], 3);
        plain_settle_wake_sides(w, cells[k]);
        if (y_of(w, cells[k]) < w->bodies[body].top && is_live(w, above) && is_free(w, above))
            plain_settle_wake(w, brick_of(w, above));
    }
    if (!any) return false;
    plain_settle_wake(w, brick);
    w->bodies[body].changed = true;
    return true;
}

// From a brick on, through those beside bricks in which it got cells, in the order in which they come up.
static void flood(plain_settle *w, int64_t brick, int32_t body)
{
    const int64_t all = w->grid.all_cells / 512;
    uint8_t *queued = calloc((size_t)all, 1);
    int64_t begin = 0, end = 0, room_for = 64;
    int64_t *queue = malloc((size_t)room_for * sizeof *queue);
    queue[end++] = brick;
    while (begin < end) {
        const int64_t here = queue[begin++];
        queued[here] = 0;
        if (!w->grid.live[here] || !grow(w, here, body)) continue;
        w->counts.joined++;
        for (int32_t side = 0; side < 6; side++) {
            const int64_t there = brick_at_face(w, here, side);
            if (queued[there]) continue;
            if (end == room_for) queue = realloc(queue, (size_t)(room_for *= 2) * sizeof *queue);
            queued[there] = 1;
            queue[end++] = there;
        }
    }
    free(queue);
    free(queued);
}

// The bodies that have cells in a brick or those at its faces. Returns how many there are, at most so many as are looked at.
int32_t plain_settle_bodies_near(const plain_settle *w, int64_t brick, int32_t near[NEIGHBOURS])
{
    int32_t here[512], count = 0;
    for (int32_t side = -1; side < 6; side++) {
        const int32_t all = plain_settle_bodies_in(w, side < 0 ? brick : brick_at_face(w, brick, side), here);
        for (int32_t i = 0; i < all && count < NEIGHBOURS; i++) {
            int32_t k = 0;
            while (k < count && near[k] != here[i]) k++;
            if (k == count) near[count++] = here[i];
        }
    }
    return count;
}

static bool has_free_water(const plain_settle *w, int64_t brick)
{
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) if (w->fill[i] > 0) return true;
    return false;
}

void plain_settle_join_brick(plain_settle *w, int64_t brick)
{
    int32_t near[NEIGHBOURS];
    if (!has_free_water(w, brick)) return;
    const int32_t count = plain_settle_bodies_near(w, brick, near);
    for (int32_t k = 0; k < count; k++) flood(w, brick, near[k]);
}

// Whether at least so many cells would join that hang together with one.
static bool is_enough(plain_settle *w, int64_t seed, int32_t top, int32_t wanted)
{
    int32_t count = 1;
    w->list[0] = seed;
    for (int32_t n = 0; n < count && count < wanted; n++) {
        for (int32_t side = 0; side < 6 && count < wanted; side++) {
            const int64_t j = beside(w, w->list[n], side);
            int32_t k = 0;
            while (k < count && w->list[k] != j) k++;
            if (k == count && can_join(w, j, top)) w->list[count++] = j;
        }
    }
    return count >= wanted;
}

static int32_t top_over(const plain_settle *w, int64_t i)
{
    while (w->fill[i] >= w->fits[i] && is_live(w, beside(w, i, 3)) && w->fill[beside(w, i, 3)] > 0) i = beside(w, i, 3);
    return y_of(w, i);
}

void plain_settle_begin_bodies(plain_settle *w, int64_t brick)
{
    bool firm[64] = {false};  // under the cells of a layer, before the first of them begins a body
    int32_t tries = SEEDS, n = 0;
    EACH_CELL_UP(w, brick, i)
    {
        for (int32_t k = 0; n % 64 == 0 && k < 64; k++)
            firm[k] = is_firm(w, beside(w, i + (k & 7) + (k >> 3) * w->grid.step[2], 2));
        const bool stands = firm[n++ % 64];
        if (tries == 0 || !is_settled(w, i) || !stands || w->fill[i] < LEAST_FILL) continue;
        const int32_t top = top_over(w, i);
        tries--;
        if (!can_join(w, i, top) || !is_enough(w, i, top, w->params.settle.body_cells)) continue;
        const int32_t body = plain_settle_new_body(w);
        w->bodies[body].top = top;
        w->bodies[body].changed = true;
        take(w, i, body);
        plain_settle_wake_sides(w, i);
        if (y_of(w, i) < top && is_live(w, beside(w, i, 3)) && is_free(w, beside(w, i, 3)))
            plain_settle_wake(w, brick_of(w, beside(w, i, 3)));
        plain_settle_wake(w, brick);
        flood(w, brick, body);
        for (int32_t side = 0; side < 6; side++) flood(w, brick_at_face(w, brick, side), body);
        w->counts.begun++;
    }
}
