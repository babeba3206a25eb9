// The plain reading of settle: which bricks live and are awake, edits, sources, and the order of an update. See plain_settle.h.
#include "plain/plain_settle_inside.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- What is counted -------------------------------------------------------------------------------------------------------

plain_sums plain_settle_count_body(const plain_settle *w, int32_t body)
{
    const plain_pool *b = &w->bodies[body];
    plain_sums s = {0};
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        const int64_t before = s.cells;
        EACH_CELL_OF(&w->grid, w->grid.brick[n], i)
        {
            if (w->body[i] != body) continue;
            s.cells++;
            if (y_of(w, i) < b->top) s.base += w->fits[i];
            if (y_of(w, i) == b->top) s.room += w->fits[i], s.area++;
            assert(y_of(w, i) <= b->top);
        }
        s.bricks += s.cells > before;
    }
    return s;
}

int32_t plain_settle_still_fill(const plain_pool *b, int32_t y, int32_t fits)
{
    return y < b->top ? fits : lesser(above_0(b->level - (FULL - fits)), fits);
}

int64_t plain_settle_height(const plain_pool *b)
{
    return (int64_t)b->top * FULL + b->level + (b->closed ? FULL : 0);
}

int32_t plain_settle_units(const plain_settle *w, int64_t i)
{
    return w->body[i] ? plain_settle_still_fill(&w->bodies[w->body[i]], y_of(w, i), w->fits[i]) : w->fill[i];
}

int64_t plain_settle_held(const plain_settle *w)
{
    int64_t held = 0;
    EACH_CELL(&w->grid, i) held += w->fill[i];
    for (int32_t b = 1; b < w->body_end; b++) held += w->bodies[b].there ? w->bodies[b].volume : 0;
    return held;
}

int32_t plain_settle_new_body(plain_settle *w)
{
    int32_t body = 1;
    while (body < w->body_end && w->bodies[body].there) body++;
    if (body >= w->body_room) {
        w->body_room = 2 * w->body_room + 64;
        w->bodies = realloc(w->bodies, (size_t)w->body_room * sizeof *w->bodies);
        assert(w->bodies);
    }
    if (body >= w->body_end) w->body_end = body + 1;
    w->bodies[body] = (plain_pool){.there = true};
    return body;
}

int32_t plain_settle_bodies_in(const plain_settle *w, int64_t brick, int32_t bodies[512])
{
    int32_t count = 0;
    if (!w->grid.live[brick]) return 0;
    EACH_CELL_UP(w, brick, i)
    {
        int32_t k = 0;
        while (k < count && bodies[k] != w->body[i]) k++;
        if (w->body[i] && k == count) bodies[count++] = w->body[i];
    }
    return count;
}

// ---- Waking ----------------------------------------------------------------------------------------------------------------

static void forget_shores(plain_settle *w, int64_t brick)
{
    int32_t kept = 0;
    for (int32_t k = 0; k < w->shore_count; k++)
        if (w->shores[k].brick != brick) w->shores[kept++] = w->shores[k];
    w->shore_count = kept;
}

void plain_settle_wake(plain_settle *w, int64_t brick)
{
    if (!w->grid.live[brick]) return;
    w->stirred[brick] = 1;
    if (w->awake[brick]) return;
    w->awake[brick] = 1;
    forget_shores(w, brick);
}

static void wake_around(plain_settle *w, int64_t brick)
{
    for (int32_t k = 0; k < 27; k++) plain_settle_wake(w, brick_beside(w, brick, k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1));
}

// Where free cells are at the sides of a body's cell, both bricks wake.
void plain_settle_wake_sides(plain_settle *w, int64_t i)
{
    for (int32_t side = 0; side < 6; side++) {
        const int64_t j = beside(w, i, side);
        if (side >> 1 == 1 || !is_live(w, j) || !is_free(w, j)) continue;
        plain_settle_wake(w, brick_of(w, i));
        plain_settle_wake(w, brick_of(w, j));
    }
}

void plain_settle_wake_top_sides(plain_settle *w, int32_t body)
{
    EACH_CELL(&w->grid, i) if (w->body[i] == body && y_of(w, i) == w->bodies[body].top) plain_settle_wake_sides(w, i);
}

// The bricks at rest that wait for a body's height, or all that wait for it.
void plain_settle_wake_shores(plain_settle *w, int32_t body, bool all)
{
    for (int32_t k = 0; k < w->shore_count;) {
        const plain_shore s = w->shores[k];
        const int64_t now = plain_settle_height(&w->bodies[body]);
        if (s.body != body || (!all && now < s.up && now > s.down)) {
            k++;
            continue;
        }
        w->counts.woken++;
        plain_settle_wake(w, s.brick);  // which takes all of its shores out of the list
        k = 0;
    }
}

// ---- Reservoirs ------------------------------------------------------------------------------------------------------------

void plain_settle_book(plain_settle *w, int64_t units)
{
    *(units > 0 ? &w->added : &w->removed) += llabs(units) * PLAIN_UNIT;
}

static int64_t floor_of(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

plain_surface plain_settle_surface(const plain_source *reservoir)
{
    const int64_t units = floor_of(reservoir->level + PLAIN_UNIT / 2, PLAIN_UNIT), top = floor_of(units - 1, FULL);
    return (plain_surface){(int32_t)top, (int32_t)(units - top * FULL)};
}

const plain_source *plain_settle_holder(const plain_settle *w, int32_t body)
{
    for (int32_t k = 0; k < w->source_count; k++) {
        if (w->sources[k].kind != PLAIN_RESERVOIR) continue;
        EACH_COORD(w->sources[k].box, c) if (w->body[plain_index(&w->grid, c)] == body) return &w->sources[k];
    }
    return NULL;
}

// What a fill up to the level puts into a cell, were it open.
static int32_t units_under(const plain_source *reservoir, int32_t y)
{
    const int64_t depth = reservoir->level - (int64_t)y * PLAIN_FULL;
    return (int32_t)((lesser64(depth > 0 ? depth : 0, PLAIN_FULL) + PLAIN_UNIT / 2) / PLAIN_UNIT);
}

// Whether it puts water into some cell of a brick; `added`: or would into one that is solid.
static bool is_filled(const plain_settle *w, const plain_source *reservoir, int64_t brick, bool added)
{
    bool filled = false;
    const weir_coord low = plain_at(&w->grid, plain_first_of(&w->grid, brick));
    const weir_box b = reservoir->box;
    if (!inside((weir_box){{b.min.x & ~7, b.min.y & ~7, b.min.z & ~7}, b.max}, low)) return false;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
    filled |=
        (added || w->fits[i] > 0) && inside(reservoir->box, plain_at(&w->grid, i)) && units_under(reservoir, y_of(w, i)) > 0;
    return filled;
}

// Free water in bricks that are worked on comes to the level.
static void keep_free(plain_settle *w, const plain_source *reservoir)
{
    const plain_surface surface = plain_settle_surface(reservoir);
    const plain_pool like = {.top = surface.top, .level = surface.level};
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        const int64_t brick = plain_brick_of(&w->grid, w->grid.brick[n]);
        int64_t given = 0;
        bool any = false;
        EACH_CELL_OF(&w->grid, w->grid.brick[n], i)
        {
            if (!w->worked[brick] || !is_free(w, i) || !inside(reservoir->box, plain_at(&w->grid, i))) continue;
            const int32_t y = y_of(w, i), wanted = y > like.top ? 0 : plain_settle_still_fill(&like, y, w->fits[i]);
            if (wanted == w->fill[i] || (wanted < w->fill[i] && wanted == w->fits[i])) continue;
            given += wanted - w->fill[i];
            w->fill[i] = wanted;
            w->calm[i] = 0;
            any = true;
        }
        plain_settle_book(w, given);
        if (any) wake_around(w, brick);
    }
}

// ---- Which bricks live -----------------------------------------------------------------------------------------------------

static bool any_open(const plain_settle *w, int64_t brick)
{
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) if (w->fits[i] > 0) return true;
    return false;
}

static bool is_wet(const plain_settle *w, int64_t brick)
{
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i) if (w->fill[i] > 0 || w->body[i]) return true;
    return false;
}

// A brick lives if it has an open cell, and water or a neighbour with water.
static void find_live(plain_settle *w)
{
    const int64_t all = w->grid.all_cells / 512;
    uint8_t *wanted = calloc((size_t)all, 1);
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        const int64_t brick = plain_brick_of(&w->grid, w->grid.brick[n]);
        const bool wet = is_wet(w, brick);
        for (int32_t k = 0; wet && k < 27; k++) wanted[brick_beside(w, brick, k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)] = 1;
    }
    for (int64_t b = 0; b < all; b++) {
        w->grid.live[b] = wanted[b] && any_open(w, b);
        if (w->grid.live[b] || !w->known[b]) continue;
        w->known[b] = w->awake[b] = w->stirred[b] = 0;
        forget_shores(w, b);
        // To those beside it, it is solid.
        EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i)
        w->F[i] = w->C[i] = w->down[i] = w->up[i] = w->moved[i] = w->moved_below[i] = 0;
    }
    free(wanted);
    plain_grid_list(&w->grid);
}

static void make_live(plain_settle *w, weir_box box)
{
    for (int32_t z = box.min.z & ~7; z < box.max.z; z += 8)
        for (int32_t y = box.min.y & ~7; y < box.max.y; y += 8)
            for (int32_t x = box.min.x & ~7; x < box.max.x; x += 8) {
                const int64_t brick = brick_of(w, plain_index(&w->grid, (weir_coord){x, y, z}));
                if (any_open(w, brick)) w->grid.live[brick] = 1;
            }
    plain_grid_list(&w->grid);
}

// The bricks that a reservoir puts water into.
static void make_reservoir_live(plain_settle *w, const plain_source *reservoir, bool added)
{
    for (int64_t b = 0; b < w->grid.all_cells / 512; b++)
        if (is_filled(w, reservoir, b, added) && any_open(w, b)) w->grid.live[b] = 1;
    plain_grid_list(&w->grid);
}

// Bricks that have come to be wake if one beside them is awake, and bodies under them may rise into them. All are looked at before the first wakes.
static void wake_newborn(plain_settle *w)
{
    const int64_t all = w->grid.all_cells / 512;
    uint8_t *wakes = calloc((size_t)all, 1);
    for (int64_t b = 0; b < all; b++)
        for (int32_t k = 0; w->grid.live[b] && !w->known[b] && k < 27; k++)
            wakes[b] |= w->awake[brick_beside(w, b, k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1)];
    for (int32_t k = 0; k < w->source_count; k++)
        for (int64_t b = 0; b < all && w->sources[k].kind == PLAIN_RESERVOIR; b++)
            wakes[b] |= w->grid.live[b] && !w->known[b] && is_filled(w, &w->sources[k], b, false);
    for (int64_t b = 0; b < all; b++) {
        if (wakes[b]) plain_settle_wake(w, b);
        if (w->grid.live[b] && !w->known[b])
            EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, b), i) if ((y_of(w, i) & 7) == 0) plain_settle_note_below(w, i);
        w->known[b] = w->grid.live[b];
    }
    free(wakes);
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static weir_box clip(const plain_settle *w, weir_box b)
{
    const int32_t end = WEIR_COORD_LIMIT;
    const weir_box to = w->bounded ? w->bounds : (weir_box){{-end, -end, -end}, {end, end, end}};
    if (b.min.x < to.min.x) b.min.x = to.min.x;
    if (b.min.y < to.min.y) b.min.y = to.min.y;
    if (b.min.z < to.min.z) b.min.z = to.min.z;
    if (b.max.x > to.max.x) b.max.x = to.max.x;
    if (b.max.y > to.max.y) b.max.y = to.max.y;
    if (b.max.z > to.max.z) b.max.z = to.max.z;
    return b;
}

static bool in_shape(const plain_shape *shape, weir_coord c)
{
    const double radius = shape->sphere.radius;
    if (!inside(shape->box, c)) return false;
    if (radius <= 0) return true;
    const weir_point to = shape->sphere.centre;
    const double x = c.x + 0.5 - to.x, y = c.y + 0.5 - to.y, z = c.z + 0.5 - to.z;
    return x * x + y * y + z * z <= radius * radius;
}

// Puts units into an open cell, or takes them out: of a body as a whole.
static void change_cell(plain_settle *w, int64_t i, int32_t more)
{
    if (more == 0) return;
    if (w->body[i]) {
        w->bodies[w->body[i]].volume += more;
        w->bodies[w->body[i]].changed = true;
    } else {
        w->fill[i] += more;
        w->calm[i] = 0;
        assert(w->fill[i] >= 0);
    }
    *(more > 0 ? &w->added : &w->removed) += (int64_t)abs(more) * PLAIN_UNIT;
    wake_around(w, brick_of(w, i));
}

void plain_settle_fill(plain_settle *w, plain_shape shape, float fill)
{
    const int32_t units = (int32_t)(((int64_t)((double)fill * PLAIN_FULL + 0.5) + PLAIN_UNIT / 2) / PLAIN_UNIT);
    shape.box = clip(w, shape.box);
    if (units > 0) make_live(w, shape.box);
    wake_newborn(w);
    plain_settle_follow_volumes(w);
    EACH_COORD(shape.box, c)
    {
        const int64_t i = plain_index(&w->grid, c);
        if (!is_live(w, i) || w->fits[i] == 0 || !in_shape(&shape, c)) continue;
        change_cell(w, i, lesser(units, w->fits[i]) - plain_settle_units(w, i));
    }
}

// Gives water that lost its cell to one beside that. Returns what it did not take.
static int32_t give_to(plain_settle *w, int64_t i, int32_t units, bool to_bodies)
{
    if (units == 0 || !is_live(w, i) || w->fits[i] == 0 || to_bodies != (w->body[i] != 0)) return units;
    if (to_bodies) {
        w->bodies[w->body[i]].volume += units;
        w->bodies[w->body[i]].changed = true;
        return 0;
    }
    const int32_t given = lesser(units, above_0(MOST - w->fill[i]));
    if (given == 0) return units;
    w->fill[i] += given;
    w->calm[i] = 0;
    wake_around(w, brick_of(w, i));
    return units - given;
}

// To a body beside it, or up, to a side, or down; what finds no room is removed.
static void displace(plain_settle *w, int64_t i)
{
    static const int32_t ways[6] = {3, 0, 1, 4, 5, 2};
    int32_t units = w->fill[i];
    w->fill[i] = w->calm[i] = 0;
    w->counts.displaced += units > 0;
    for (int32_t bodies = 1; bodies >= 0; bodies--)
        for (int32_t k = 0; k < 6; k++) units = give_to(w, beside(w, i, ways[k]), units, bodies);
    w->removed += (int64_t)units * PLAIN_UNIT;
}

// The part of a shape that lies in one brick.
static void build_brick(plain_settle *w, const plain_shape *shape, weir_box part, uint8_t share, const uint8_t *shares)
{
    const weir_box all = shape->box;
    const int64_t brick = brick_of(w, plain_index(&w->grid, part.min)), first = plain_first_of(&w->grid, brick);
    int32_t here[512], touched[512], count = plain_settle_bodies_in(w, brick, here), touched_count = 0;
    bool any = false;
    EACH_COORD(part, c)
    {
        const int64_t i = plain_index(&w->grid, c);
        const size_t at = (size_t)(c.x - all.min.x) +
                          (size_t)(all.max.x - all.min.x) *
                              ((size_t)(c.y - all.min.y) + (size_t)(all.max.y - all.min.y) * (size_t)(c.z - all.min.z));
        if (!in_shape(shape, c)) continue;
        any = true;
        if (shares && shares[at] == 0) continue;
        w->share[i] = shares ? shares[at] : share;
        w->fits[i] = w->share[i] == 0 ? FULL : 64 * (255 - w->share[i]);
    }
    if (!any) return;
    if (!w->grid.live[brick]) {
        // It cannot tell of its change itself.
        for (int32_t k = 0; k < 27; k++) {
            const int64_t near = brick_beside(w, brick, k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1);
            plain_settle_wake(w, near);
            touched_count = plain_settle_bodies_in(w, near, touched);
            for (int32_t n = 0; n < touched_count; n++) w->bodies[touched[n]].changed = true;
        }
        return;
    }
    EACH_CELL_OF(&w->grid, first, i)
    {
        if (!w->body[i] || w->fits[i] > 0) continue;
        w->bodies[w->body[i]].cut = true;
        w->body[i] = 0;
    }
    for (int32_t k = 0; k < count; k++) {
        plain_pool *b = &w->bodies[here[k]];
        b->changed = true;
        if (plain_settle_first_place(w, here[k]) != INT64_MAX) continue;
        w->removed += b->volume * PLAIN_UNIT;
        plain_settle_end_body(w, here[k]);
    }
    EACH_CELL_OF(&w->grid, first, i) if (w->fits[i] == 0 && w->fill[i] > 0) displace(w, i);
    EACH_CELL_OF(&w->grid, first, i) plain_settle_note_below(w, i);
    wake_around(w, brick);
}

void plain_settle_build(plain_settle *w, plain_shape shape, uint8_t share, const uint8_t *shares)
{
    const weir_box all = clip(w, shape.box);
    wake_newborn(w);
    for (int32_t z = all.min.z & ~7; z < all.max.z; z += 8)
        for (int32_t y = all.min.y & ~7; y < all.max.y; y += 8)
            for (int32_t x = all.min.x & ~7; x < all.max.x; x += 8) {
                weir_box part = {{x, y, z}, {x + 8, y + 8, z + 8}};
                if (part.min.x < all.min.x) part.min.x = all.min.x;
                if (part.min.y < all.min.y) part.min.y = all.min.y;
                if (part.min.z < all.min.z) part.min.z = all.min.z;
                if (part.max.x > all.max.x) part.max.x = all.max.x;
                if (part.max.y > all.max.y) part.max.y = all.max.y;
                if (part.max.z > all.max.z) part.max.z = all.max.z;
                build_brick(w, &shape, part, share, shares);
            }
}

void plain_settle_set(plain_settle *w, const char *name, double value)
{
    weir_params params = w->params;
    if (weir_params_set(&params, WEIR_SOLVER_SETTLE, name, value) != WEIR_OK) return;
    const weir_settle_params old = w->params.settle, new = params.settle;
    w->params = params;
    if (old.film == new.film && old.calm == new.calm &&old.patience == new.patience &&old.body_cells == new.body_cells) return;
    EACH_CELL(&w->grid, i) if (is_free(w, i) && w->fill[i] > 0) plain_settle_wake(w, brick_of(w, i));
    while (w->shore_count > 0) plain_settle_wake(w, w->shores[0].brick);
}

// ---- Emitters and drains ---------------------------------------------------------------------------------------------------

void plain_settle_add(plain_settle *w, plain_kind kind, weir_box box, float rate)
{
    assert(w->source_count < PLAIN_SOURCES);
    w->sources[w->source_count++] = (plain_source){
        .kind = kind, .id = w->next_id++, .box = clip(w, box), .rate = (int64_t)((double)rate * 65536.0 * PLAIN_FULL + 0.5)};
}

void plain_settle_add_reservoir(plain_settle *w, weir_box box, double level)
{
    plain_settle_add(w, PLAIN_RESERVOIR, box, 0);
    plain_source reservoir = w->sources[--w->source_count];  // which is filled before it is there
    reservoir.level = (int64_t)floor(level * PLAIN_FULL + 0.5);
    make_reservoir_live(w, &reservoir, true);
    wake_newborn(w);
    plain_settle_follow_volumes(w);
    EACH_COORD(reservoir.box, c)
    {
        const int64_t i = plain_index(&w->grid, c);
        if (!is_live(w, i) || w->fits[i] == 0) continue;
        change_cell(w, i, lesser(units_under(&reservoir, c.y), w->fits[i]) - plain_settle_units(w, i));
    }
    EACH_COORD(reservoir.box, c)
    {
        const int32_t body = w->body[plain_index(&w->grid, c)];
        if (body) w->bodies[body].changed = true;
    }
    w->sources[w->source_count++] = reservoir;
}

void plain_settle_remove(plain_settle *w, int32_t id)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < w->source_count; i++)
        if (w->sources[i].id != id) w->sources[kept++] = w->sources[i];
    w->source_count = kept;
}

static int64_t due(const plain_source *source)
{
    return (source->owed + source->rate) / 65536 / PLAIN_UNIT;
}

static int32_t can_move(const plain_settle *w, const plain_source *source, int64_t i)
{
    if (!is_live(w, i) || w->fits[i] == 0) return 0;
    const int32_t units = plain_settle_units(w, i);
    return source->kind == PLAIN_DRAIN ? units : above_0(w->fits[i] - units);
}

static int64_t moved_at(const plain_settle *w, const plain_source *source, int64_t most_each)
{
    int64_t sum = 0;
    EACH_COORD(source->box, c) sum += lesser64(can_move(w, source, plain_index(&w->grid, c)), most_each);
    return sum;
}

// Every cell moves as many units as any other, or all it can; what is left then goes, one each, to the first cells that can move another:
// bricks in the order of coordinates, and in a brick its cells.
static void move_units(plain_settle *w, const plain_source *source, int64_t units)
{
    int64_t low = 0, high = INT32_MAX;
    if (moved_at(w, source, high) <= units) low = high;
    while (low < high - 1) {
        const int64_t middle = (low + high) / 2;
        if (moved_at(w, source, middle) <= units)
            low = middle;
        else
            high = middle;
    }
    int64_t left = units - moved_at(w, source, low);
    const weir_box b = source->box;
    for (int32_t z = b.min.z & ~7; z < b.max.z; z += 8)
        for (int32_t y = b.min.y & ~7; y < b.max.y; y += 8)
            for (int32_t x = b.min.x & ~7; x < b.max.x; x += 8)
                EACH_CELL_OF(&w->grid, plain_index(&w->grid, (weir_coord){x, y, z}), i)
                {
                    if (!inside(b, plain_at(&w->grid, i))) continue;
                    const int32_t most = can_move(w, source, i);
                    int32_t part = (int32_t)lesser64(most, low);
                    if (most > low && left > 0) part++, left--;
                    change_cell(w, i, source->kind == PLAIN_DRAIN ? -part : part);
                }
}

static void pour_sources(plain_settle *w)
{
    for (int32_t k = 0; k < w->source_count; k++) {
        plain_source *source = &w->sources[k];
        if (source->kind == PLAIN_RESERVOIR) continue;
        const int64_t units = due(source);
        source->owed += source->rate - units * PLAIN_UNIT * 65536;
        if (units == 0) continue;
        plain_settle_follow_volumes(w);
        move_units(w, source, units);
    }
}

// ---- Evaporation -----------------------------------------------------------------------------------------------------------

// A brick's turn comes once in 64 updates.
static bool is_due(plain_settle *w, int64_t brick)
{
    const weir_coord c = plain_at(&w->grid, plain_first_of(&w->grid, brick));
    return (int32_t)(((c.x >> 3) + 3 * (c.y >> 3) + 5 * (c.z >> 3)) & 63) == w->phase;
}

// What is thinner than a film loses something: free cells each, a body of one layer as a whole, in the turn of its first brick.
static void evaporate(plain_settle *w)
{
    const int32_t film = (int32_t)(w->params.settle.film * FULL), most = (int32_t)(w->params.settle.evaporation * 64 * FULL);
    w->phase = w->params.settle.evaporation > 0 ? (w->phase + 1) % 64 : 0;
    if (most == 0) return;
    EACH_CELL(&w->grid, i)
    {
        if (w->fill[i] == 0 || w->fill[i] >= film || !is_due(w, brick_of(w, i))) continue;
        const int32_t units = lesser(w->fill[i], most);
        w->fill[i] -= units;
        w->turned += (int64_t)units * PLAIN_UNIT;
        if (w->fill[i] == 0) w->calm[i] = 0;
        w->counts.evaporated++;
    }
    for (int32_t body = 1; body < w->body_end; body++) {
        plain_pool *b = &w->bodies[body];
        if (!b->there) continue;
        const plain_sums s = plain_settle_count_body(w, body);
        if (s.cells == 0 || s.base > 0 || b->volume >= s.area * film || plain_settle_holder(w, body)) continue;
        int64_t first = -1;
        for (int32_t n = 0; n < w->grid.bricks && first < 0; n++)
            EACH_CELL_OF(&w->grid, w->grid.brick[n], i) if (w->body[i] == body) first = brick_of(w, i);
        if (first < 0 || !is_due(w, first)) continue;
        const int64_t units = lesser64(b->volume, s.area * most);
        b->volume -= units;
        b->changed = true;
        w->turned += units * PLAIN_UNIT;
        w->counts.evaporated++;
    }
}

// ---- One update ------------------------------------------------------------------------------------------------------------

void plain_settle_step(plain_settle *w)
{
    const size_t bricks = (size_t)(w->grid.all_cells / 512);
    find_live(w);
    for (int32_t k = 0; k < w->source_count; k++)
        if (w->sources[k].kind == PLAIN_EMITTER && due(&w->sources[k]) > 0) make_live(w, w->sources[k].box);
    for (int32_t k = 0; k < w->source_count; k++)
        if (w->sources[k].kind == PLAIN_RESERVOIR) make_reservoir_live(w, &w->sources[k], false);
    wake_newborn(w);
    memcpy(w->worked, w->awake, bricks);  // what wakes from now on is for the next update
    pour_sources(w);
    evaporate(w);
    for (int32_t k = 0; k < w->source_count; k++)
        if (w->sources[k].kind == PLAIN_RESERVOIR) keep_free(w, &w->sources[k]);
    plain_settle_level_bodies(w);
    plain_settle_meet(w);
    plain_settle_level_bodies(w);
    plain_settle_update_free(w);
    for (size_t b = 0; b < bricks; b++) w->stirred[b] &= !w->worked[b];
    plain_settle_commit(w);
    w->applied = true;
    plain_settle_level_bodies(w);
    for (int32_t n = 0; n < w->grid.bricks; n++)
        if (w->worked[plain_brick_of(&w->grid, w->grid.brick[n])])
            plain_settle_join_brick(w, plain_brick_of(&w->grid, w->grid.brick[n]));
    for (int32_t n = 0; n < w->grid.bricks; n++)
        if (w->worked[plain_brick_of(&w->grid, w->grid.brick[n])])
            plain_settle_begin_bodies(w, plain_brick_of(&w->grid, w->grid.brick[n]));
    plain_settle_level_bodies(w);
    plain_settle_wake_beside_changes(w);
    plain_settle_rest(w);
    memset(w->worked, 0, bricks);
    w->applied = false;
    w->update++;
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

// Behind a wall all is solid, behind an open side nothing. Nothing lies further than the end of the world.
static uint8_t share_outside(const plain_settle *w, weir_coord c)
{
    const int32_t end = WEIR_COORD_LIMIT;
    const weir_box world = {{-end, -end, -end}, {end, end, end}};
    if (!inside(world, c)) return 255;
    if (!w->bounded) return 0;
    const int32_t at[3] = {c.x, c.y, c.z}, min[3] = {w->bounds.min.x, w->bounds.min.y, w->bounds.min.z},
                  max[3] = {w->bounds.max.x, w->bounds.max.y, w->bounds.max.z};
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < min[axis] && !(w->open_sides >> (2 * axis) & 1)) return 255;
        if (at[axis] >= max[axis] && !(w->open_sides >> (2 * axis + 1) & 1)) return 255;
    }
    return 0;
}

static void *zeros(int64_t count, size_t size)
{
    void *values = calloc((size_t)count, size);
    assert(values);
    return values;
}

plain_settle *plain_settle_create(const weir_world_def *def, weir_box reach)
{
    plain_settle *w = zeros(1, sizeof *w);
    const weir_box none = {{0, 0, 0}, {0, 0, 0}};
    w->params = def->params ? *def->params : weir_params_default();
    w->bounds = def->bounds;
    w->bounded = memcmp(&def->bounds, &none, sizeof none) != 0;
    w->open_sides = def->open_sides;
    w->next_id = w->body_end = 1;
    // Two bricks more than water reaches: one that is live beside it, and one to look at.
    const weir_coord low = {(reach.min.x >> 3) - 2, (reach.min.y >> 3) - 2, (reach.min.z >> 3) - 2};
    const weir_coord high = {((reach.max.x - 1) >> 3) + 3, ((reach.max.y - 1) >> 3) + 3, ((reach.max.z - 1) >> 3) + 3};
    plain_grid_make(&w->grid, (weir_coord){8 * low.x, 8 * low.y, 8 * low.z},
                    (const int32_t[3]){8 * (high.x - low.x), 8 * (high.y - low.y), 8 * (high.z - low.z)});
    plain_grid_list(&w->grid);
    const int64_t cells = w->grid.all_cells;
    int32_t **const ints[] = {&w->fits, &w->fill, &w->body,  &w->y,           &w->brick, &w->F,   &w->C,
                              &w->down, &w->up,   &w->moved, &w->moved_below, &w->next,  &w->most};
    uint8_t **const tables[] = {&w->known, &w->awake, &w->worked, &w->stirred, &w->changed, &w->uneasy};
    for (size_t k = 0; k < sizeof ints / sizeof ints[0]; k++) *ints[k] = zeros(cells, sizeof(int32_t));
    for (size_t k = 0; k < sizeof tables / sizeof tables[0]; k++) *tables[k] = zeros(cells / 512, 1);
    w->share = zeros(cells, 1);
    w->calm = zeros(cells, 1);
    w->list = zeros(cells, sizeof *w->list);
    for (int64_t i = 0; i < cells; i++) {
        w->share[i] = share_outside(w, plain_at(&w->grid, i));
        w->fits[i] = w->share[i] == 0 ? FULL : 0;
        w->y[i] = plain_at(&w->grid, i).y;
        w->brick[i] = (int32_t)plain_brick_of(&w->grid, i);
    }
    return w;
}

void plain_settle_destroy(plain_settle *w)
{
    void *const all[] = {w->share, w->fits,   w->fill,    w->body,    w->calm,        w->y,      w->brick,  w->known,
                         w->awake, w->worked, w->stirred, w->changed, w->uneasy,      w->bodies, w->shores, w->F,
                         w->C,     w->down,   w->up,      w->moved,   w->moved_below, w->next,   w->most,   w->list};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) free(all[k]);
    plain_grid_free(&w->grid);
    free(w);
}
