// Bodies of sleeping water: which bricks make one, what it is owed, and how it levels.
//
// The head of a brick is the height of the surface over its water: y + P/g of its cells, P being the pressure in a cell of height y. Water that
// rests has the same head everywhere. So the pressure of a sleeping brick with a head follows from it, and is written only where somebody
// reads it. A brick whose cells have several heads, or whose water terrain splits into parts, has none: it sleeps by itself.
#include "cells/sleep.h"

#include <assert.h>
#include <string.h>

enum {
    HEAD_RANGE = WEIR_FULL * 3 / 10,  // of the cells of a brick that has one: ripples fall asleep with it, and level then
    APART_MOST = WEIR_FULL / 10,      // of water that touches and is not one body
    SPREAD_LEAST = 1024,              // drops per cell of surface that are worth spreading
    SURFACE_LEAST = 16,               // cells, of a body that may have a rim
    LEVEL_EVERY = 16,                 // updates
    LEVEL_SHARE = 4,                  // of the way to the level, one part in so many
    LEVEL_MOST = 32768,               // drops that a cell moves
    THICK_FILMS = 2,                  // films that a cell holds which leads water on to one beside it
};

// ---- Cells of a brick ------------------------------------------------------------------------------------------------------

static const int32_t *mass_of(const fluid_cells *c, int32_t brick)
{
    bricks_read(&c->pool, brick);
    return bricks_ints(&c->pool, c->layout->mass, brick);
}

// The next cell up or down; the nothing where no brick is.
static int32_t step_along(const fluid_cells *c, int32_t brick, int32_t cell, int32_t side, int32_t *next)
{
    return fluid_step((const int32_t(*)[27])c->pool.near, brick, cell, c->sleep->gravity.axis, side, next);
}

static int32_t up(const fluid_cells *c)
{
    return -c->sleep->gravity.down;
}

// The cells of a brick with nothing but air above them, and their number.
static int32_t find_surface(const fluid_cells *c, int32_t brick, brick_mask *surface)
{
    const brick_pool *pool = &c->pool;
    const int32_t *mass = mass_of(c, brick);
    int32_t count = 0;
    memset(surface, 0, sizeof *surface);
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        if (mass[i] == 0) continue;
        int32_t next, above = step_along(c, brick, i, up(c), &next);
        if (!mask_has(&pool->open[above], next)) continue;
        if ((above == brick ? mass : mass_of(c, above))[next] != 0) continue;
        surface->plane[i >> 6] |= UINT64_C(1) << (i & 63);
        count++;
    }
    return count;
}

// Whether all wet cells of a brick hang together within it.
static bool in_one_part(const int32_t *mass)
{
    uint64_t wet[8], seen[8] = {0};
    int32_t first = -1;
    for (int32_t z = 0; z < 8; z++) {
        wet[z] = 0;
        for (int32_t i = 0; i < 64; i++) wet[z] |= (uint64_t)(mass[64 * z + i] != 0) << i;
        if (first < 0 && wet[z]) first = z;
    }
    if (first < 0) return false;
    const uint64_t low_x = UINT64_C(0x0101010101010101);
    seen[first] = wet[first] & (~wet[first] + 1);
    for (bool grown = true; grown;) {
        grown = false;
        for (int32_t z = 0; z < 8; z++) {
            uint64_t all = seen[z] | (seen[z] << 1 & ~low_x) | (seen[z] >> 1 & ~(low_x << 7)) | seen[z] << 8 | seen[z] >> 8;
            all |= (z > 0 ? seen[z - 1] : 0) | (z < 7 ? seen[z + 1] : 0);
            all &= wet[z];
            grown |= all != seen[z];
            seen[z] = all;
        }
    }
    return memcmp(wet, seen, sizeof wet) == 0;
}

// The head of a brick's water in drops, REST_NO_HEAD if it has no single one.
static int64_t find_head(const fluid_cells *c, int32_t brick, const brick_mask *surface)
{
    const sleep_gravity *g = &c->sleep->gravity;
    const int32_t *mass = mass_of(c, brick);
    const float *pressure = bricks_floats(&c->pool, c->layout->pressure, brick);
    const int64_t base = sleep_height(g, c->pool.coord[brick], 0);
    int64_t low = INT64_MAX, high = INT64_MIN, sum = 0;
    int32_t count = 0;
    if (!in_one_part(mass)) return REST_NO_HEAD;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        if (mass[i] == 0) continue;
        const int64_t height = sleep_height(g, c->pool.coord[brick], i) - base;
        const float above = pressure[i] * g->inverse_size;
        const int64_t head = height * WEIR_FULL + (mask_has(surface, i) ? mass[i] : (int64_t)(above * (float)WEIR_FULL));
        low = head < low ? head : low;
        high = head > high ? head : high;
        sum += head;
        count++;
    }
    return high - low <= HEAD_RANGE ? base * WEIR_FULL + sum / count : REST_NO_HEAD;
}

void bodies_look(const fluid_cells *c, int32_t brick, brick_rest *rest)
{
    brick_mask surface;
    *rest = (brick_rest){.asleep = 1, .calm = REST_LONG, .head = REST_NO_HEAD, .shown = REST_NO_HEAD};
    if (!c->pool.wet[brick] || c->sleep->whole) return;
    rest->surface = (uint16_t)find_surface(c, brick, &surface);
    rest->head = find_head(c, brick, &surface);
}

bool bodies_show_head(fluid_cells *c, int32_t brick)
{
    const sleep_gravity *g = &c->sleep->gravity;
    const int64_t head = c->pool.rest[brick].head;
    if (head == REST_NO_HEAD || head == c->pool.rest[brick].shown) return false;
    c->pool.rest[brick].shown = head;
    bricks_write(&c->pool, brick);
    const int32_t *mass = mass_of(c, brick);
    float *pressure = bricks_floats(&c->pool, c->layout->pressure, brick);
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        const int64_t above = head - sleep_height(g, c->pool.coord[brick], i) * WEIR_FULL;
        pressure[i] = mass[i] > 0 && above > 0 ? g->size * ((float)above / (float)WEIR_FULL) : 0.0f;
    }
    return true;
}

// ---- Links -----------------------------------------------------------------------------------------------------------------

int32_t bodies_neighbour(const brick_pool *pool, int32_t brick, int32_t face)
{
    static const uint8_t near[6] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1),
                                    NEAR(1, 0, 0),  NEAR(0, 1, 0),  NEAR(0, 0, 1)};
    return pool->near[brick][near[face]];
}

// Water hangs together over a face where both cells hold much; one above another, where the lower one does.
bool bodies_touch(const fluid_cells *c, int32_t brick, int32_t face)
{
    const int32_t axis = face % 3, other = bodies_neighbour(&c->pool, brick, face);
    if (!c->pool.wet[brick] || !c->pool.wet[other]) return false;
    const int32_t low = face < 3 ? other : brick, high = face < 3 ? brick : other;
    const int32_t *below = mass_of(c, low), *above = mass_of(c, high);
    const bool along = axis == c->sleep->gravity.axis, upwards = up(c) > 0;
    const int32_t thick = THICK_FILMS * c->sleep->film > 0 ? THICK_FILMS * c->sleep->film : 1;
    const int32_t least_below = along && !upwards ? 1 : thick, least_above = along && upwards ? 1 : thick;
    static const int32_t stride[3] = {1, 8, 64};
    const int32_t s = stride[axis], t = stride[axis == 0 ? 1 : 0], u = stride[axis == 2 ? 1 : 2];
    for (int32_t j = 0; j < 8; j++)
        for (int32_t i = 0; i < 8; i++) {
            const int32_t at = i * t + j * u;
            if (below[at + 7 * s] >= least_below && above[at] >= least_above) return true;
        }
    return false;
}

// The plan of a brick that turns, or what it is.
static const brick_rest *next_rest(const fluid_cells *c, int32_t brick)
{
    return c->sleep->turn[brick] ? &c->sleep->plan[brick] : &c->pool.rest[brick];
}

uint8_t bodies_links(const fluid_cells *c, int32_t brick, const brick_rest *rest, const uint8_t *awake)
{
    uint8_t links = 0;
    if (rest->head == REST_NO_HEAD) return 0;
    for (int32_t face = 0; face < 6; face++) {
        const int32_t other = bodies_neighbour(&c->pool, brick, face);
        if (awake[other] || next_rest(c, other)->head == REST_NO_HEAD || other == BRICK_NOTHING) continue;
        if (bodies_touch(c, brick, face)) links |= (uint8_t)(1 << face);
    }
    return links;
}

// ---- Finding bodies --------------------------------------------------------------------------------------------------------

int32_t bodies_root(int32_t *parent, int32_t b)
{
    while (parent[b] != b) b = parent[b] = parent[parent[b]];
    return b;
}

// Adds a brick to its body.
static void join(const fluid_cells *c, sleep_body *body, int32_t brick, const brick_rest *rest)
{
    const weir_coord *coord = c->pool.coord;
    if (body->bricks == 0 || coord_compare(coord[brick], coord[body->first]) < 0) body->first = brick;
    body->bricks++;
    body->owed += rest->owed;
    body->surface += rest->surface;
    body->low = rest->head < body->low ? rest->head : body->low;
    body->high = rest->head > body->high ? rest->head : body->high;
    body->open = rest->head != REST_NO_HEAD && body->surface >= SURFACE_LEAST;
}

int32_t bodies_find(const fluid_cells *c, int32_t *body, sleep_body *bodies, bool planned)
{
    const brick_pool *pool = &c->pool;
    cells_sleep *s = c->sleep;
    int32_t *parent = s->list, count = 0;
#define REST(b) (planned ? next_rest(c, b) : &pool->rest[b])
#define SLEEPS(b) (pool->alive[b] && pool->wet[b] && (b) < s->room && REST(b)->asleep)
    const int32_t end = pool->end < s->room ? pool->end : s->room;
    for (int32_t b = 0; b < end; b++) parent[b] = b;
    for (int32_t b = 1; b < end; b++) {
        if (!SLEEPS(b)) continue;
        for (int32_t face = 0, links = REST(b)->links; links; face++, links >>= 1) {
            const int32_t other = links & 1 ? bodies_neighbour(pool, b, face) : BRICK_NOTHING;
            if (other == BRICK_NOTHING || !SLEEPS(other)) continue;
            parent[bodies_root(parent, b)] = bodies_root(parent, other);
        }
    }
    for (int32_t b = 0; b < end; b++) body[b] = 0;
    for (int32_t b = 1; b < end; b++) {
        if (!SLEEPS(b)) continue;
        const int32_t top = bodies_root(parent, b);
        if (body[top] == 0) {
            body[top] = ++count;
            bodies[count] = (sleep_body){.low = INT64_MAX, .high = INT64_MIN};
        }
        body[b] = body[top];
        join(c, &bodies[body[b]], b, REST(b));
    }
#undef SLEEPS
#undef REST
    return count;
}

void bodies_list_members(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    int32_t *next = s->list, begin = 0;  // of each body: where its next brick goes
    for (int32_t i = 1; i <= s->body_count; begin += s->bodies[i++].bricks) s->bodies[i].begin = next[i] = begin;
    for (int32_t b = 1; b < c->pool.end && b < s->room; b++)
        if (s->body[b]) s->members[next[s->body[b]]++] = b;
}

// Every brick b of a body.
#define EACH_MEMBER(s, body, b) \
    for (int32_t n_ = 0, b = 0; n_ < (s)->bodies[body].bricks && (b = (s)->members[(s)->bodies[body].begin + n_], true); n_++)

// ---- Drops into cells and out of them --------------------------------------------------------------------------------------

// A brick's drops have changed.
static void touch(fluid_cells *c, int32_t brick)
{
    cells_flags(c)[brick] = c->world->change;
    sleep_changed(c, brick);
}

// A dry brick above a body has got its first drops. It may have dried up a moment before, and still have what was booked to it.
static void take_in(fluid_cells *c, int32_t brick, int32_t below)
{
    brick_pool *pool = &c->pool;
    const brick_rest *under = &pool->rest[below];
    pool->wet[brick] = 1;
    pool->rest[brick] = (brick_rest){
        .asleep = 1, .calm = REST_LONG, .head = under->head, .shown = REST_NO_HEAD, .owed = pool->rest[brick].owed};
    pool->rest[brick].links = (uint8_t)(1 << (c->sleep->gravity.axis + (up(c) > 0 ? 0 : 3)));
    c->sleep->dirty = true;
}

static void recount(fluid_cells *c, int32_t brick)
{
    brick_mask surface;
    if (brick == BRICK_NOTHING || !c->pool.rest[brick].asleep) return;
    c->pool.wet[brick] = 0;
    const int32_t *mass = mass_of(c, brick);
    for (int32_t i = 0; i < BRICK_CELLS; i++) c->pool.wet[brick] |= mass[i] != 0;
    c->pool.rest[brick].surface = (uint16_t)find_surface(c, brick, &surface);
    if (!c->pool.wet[brick]) c->sleep->dirty = true;
}

// Surfaces of bricks one above the other have changed.
static void recount_around(fluid_cells *c, int32_t brick)
{
    const int32_t axis = c->sleep->gravity.axis;
    recount(c, brick);
    recount(c, bodies_neighbour(&c->pool, brick, axis));
    recount(c, bodies_neighbour(&c->pool, brick, axis + 3));
}

// Water of a surface has become so thick that it would run off: its brick wakes.
static void look_over_brim(fluid_cells *c, int32_t brick, int32_t cell)
{
    const brick_pool *pool = &c->pool;
    for (int32_t way = 0; way < 6; way++) {
        int32_t next, axis = way >> 1;
        if (axis == c->sleep->gravity.axis) continue;
        const int32_t other = fluid_step((const int32_t(*)[27])pool->near, brick, cell, axis, way & 1 ? 1 : -1, &next);
        if (!mask_has(&pool->open[other], next) || mass_of(c, other)[next] != 0) continue;
        pool->rest[brick].calm = 0;
        c->sleep->dirty = true;
    }
}

// Puts drops on the surface at a cell, or takes them off. Returns those for which there was no place, or which were not there.
static int64_t put(fluid_cells *c, int32_t brick, int32_t cell, int64_t drops)
{
    brick_pool *pool = &c->pool;
    while (drops != 0) {
        bricks_write(pool, brick);
        int32_t *mass = &bricks_ints(pool, c->layout->mass, brick)[cell];
        const int32_t before = *mass;
        int64_t part = drops;
        if (part > 0 && part > WEIR_FULL - before) part = before < WEIR_FULL ? WEIR_FULL - before : 0;
        if (part < -before) part = -before;
        *mass += (int32_t)part;
        drops -= part;
        if (part != 0) touch(c, brick);
        if (before == 0 || *mass == 0) recount_around(c, brick);
        if (before < c->sleep->film && *mass >= c->sleep->film) look_over_brim(c, brick, cell);
        if (drops == 0) break;
        int32_t next, other = step_along(c, brick, cell, drops > 0 ? up(c) : -up(c), &next);
        if (!mask_has(&pool->open[other], next) || !pool->rest[other].asleep) break;
        if (drops < 0 && mass_of(c, other)[next] == 0) break;
        if (drops > 0 && !pool->wet[other]) take_in(c, other, brick);
        brick = other;
        cell = next;
    }
    return drops;
}

// ---- Spreading and levelling -----------------------------------------------------------------------------------------------

// The bricks of a body that have a surface, or `all` of them, by coordinate. Returns how many there are.
static int32_t list_body(const fluid_cells *c, int32_t body, bool all)
{
    const cells_sleep *s = c->sleep;
    int32_t count = 0;
    EACH_MEMBER(s, body, b)
    if (all || c->pool.rest[b].surface > 0) s->list[count++] = b;
    bricks_sort(&c->pool, s->list, count);
    return count;
}

static int64_t head_of(const fluid_cells *c, int32_t brick, int32_t cell)
{
    const int64_t height = sleep_height(&c->sleep->gravity, c->pool.coord[brick], cell);
    return height * WEIR_FULL + bricks_ints(&c->pool, c->layout->mass, brick)[cell];
}

// The pressure of a rim follows its body's head.
static void raise_head(fluid_cells *c, int32_t brick, int64_t drops)
{
    if (drops == 0) return;
    c->pool.rest[brick].head += drops;
    if (c->pool.phase[brick] == PHASE_RIM && bodies_show_head(c, brick)) sleep_changed(c, brick);
}

static int64_t sum_owed(const fluid_cells *c, int32_t body)
{
    int64_t owed = 0;
    EACH_MEMBER(c->sleep, body, b) owed += c->pool.rest[b].owed;
    return owed;
}

// Puts drops into the wet cells of a brick, or takes them out; returns those that are left.
static int64_t force_brick(fluid_cells *c, int32_t brick, int64_t owed)
{
    bricks_write(&c->pool, brick);
    int32_t *mass = bricks_ints(&c->pool, c->layout->mass, brick);
    const int64_t most = c->world->solver->cell_max;
    for (int32_t cell = 0; cell < BRICK_CELLS && owed != 0; cell++) {
        if (mass[cell] == 0) continue;
        const int64_t room = owed > 0 ? most - mass[cell] : 1 - (int64_t)mass[cell];  // a brick that is wet stays so
        const int64_t part = owed > 0 ? (owed < room ? owed : room) : (owed > room ? owed : room);
        mass[cell] += (int32_t)part;
        owed -= part;
    }
    cells_flags(c)[brick] = c->world->change;
    if (c->pool.rest[brick].asleep) sleep_changed(c, brick);
    return owed;
}

// Drops that a body is owed and that it cannot take go to whatever water there is, or come from it, by coordinate: it has just got them.
static void force_anywhere(fluid_cells *c, int64_t owed)
{
    cells_sleep *s = c->sleep;
    int32_t count = 0;
    for (int32_t b = 1; b < c->pool.end && b < s->room; b++)
        if (c->pool.alive[b] && c->pool.wet[b]) s->list[count++] = b;
    bricks_sort(&c->pool, s->list, count);
    for (int32_t i = 0; i < count && owed != 0; i++) owed = force_brick(c, s->list[i], owed);
    assert(owed == 0);
}

int64_t bodies_forgive(fluid_cells *c, int32_t body)
{
    const int64_t owed = sum_owed(c, body);
    EACH_MEMBER(c->sleep, body, b) c->pool.rest[b].owed = 0;
    c->sleep->bodies[body].owed = 0;
    return owed;
}

// What a body is owed lies with the first of its bricks that are wet.
static void set_owed(fluid_cells *c, int32_t body, int64_t owed)
{
    cells_sleep *s = c->sleep;
    const brick_pool *pool = &c->pool;
    int32_t first = BRICK_NOTHING;
    EACH_MEMBER(s, body, b)
    {
        pool->rest[b].owed = 0;
        if (!pool->wet[b]) continue;
        if (first == BRICK_NOTHING || coord_compare(pool->coord[b], pool->coord[first]) < 0) first = b;
    }
    if (first == BRICK_NOTHING) force_anywhere(c, owed);
    s->bodies[body].owed = first == BRICK_NOTHING ? 0 : owed;
    if (first != BRICK_NOTHING) pool->rest[first].owed = owed;
}

// A brick of a body that another one is linked to; the nothing if there is none.
static int32_t linked_brick(const fluid_cells *c, int32_t brick)
{
    for (int32_t face = 0; face < 6; face++) {
        const int32_t other = bodies_neighbour(&c->pool, brick, face);
        const bool linked = c->pool.rest[brick].links >> face & 1 || c->pool.rest[other].links >> (face + 3) % 6 & 1;
        if (linked && c->sleep->body[other]) return other;
    }
    return BRICK_NOTHING;
}

void bodies_keep_owed_with_water(fluid_cells *c)
{
    const cells_sleep *s = c->sleep;
    const brick_pool *pool = &c->pool;
    const int32_t end = pool->end < s->room ? pool->end : s->room;
    // Those that dried up before the bodies were found are of none any more.
    for (int32_t b = 1; b < end; b++) {
        const int64_t owed = pool->rest[b].owed;
        if (pool->wet[b] || owed == 0 || s->body[b]) continue;
        const int32_t other = linked_brick(c, b);
        pool->rest[b].owed = 0;
        if (other == BRICK_NOTHING)
            force_anywhere(c, owed);
        else
            pool->rest[other].owed += owed;
    }
    for (int32_t b = 1; b < end; b++)
        if (!pool->wet[b] && pool->rest[b].owed != 0) set_owed(c, s->body[b], sum_owed(c, s->body[b]));
}

// Spreads what a body is owed evenly over its surface; `all`: to the last drop, those left over one by one.
static void spread(fluid_cells *c, int32_t body, bool all)
{
    cells_sleep *s = c->sleep;
    int32_t count = list_body(c, body, false);
    int64_t cells = 0, owed = sum_owed(c, body), left = owed;
    brick_mask surface;
    for (int32_t i = 0; i < count; i++) cells += c->pool.rest[s->list[i]].surface;
    if (cells == 0 || owed == 0) return;
    const int64_t each = owed / cells;
    int64_t single = all ? owed % cells : 0;
    for (int32_t i = 0; i < count; i++) {
        const int32_t brick = s->list[i];
        find_surface(c, brick, &surface);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (!mask_has(&surface, cell)) continue;
            const int32_t one = single > 0 ? 1 : single < 0 ? -1 : 0;
            single -= one;
            left -= each + one - put(c, brick, cell, each + one);
        }
    }
    EACH_MEMBER(s, body, b)
    if (c->pool.rest[b].head != REST_NO_HEAD) raise_head(c, b, each);
    set_owed(c, body, left);
    s->bodies[body].level = false;
}

void bodies_settle(fluid_cells *c, int32_t body)
{
    if (sum_owed(c, body) == 0) return;
    spread(c, body, true);
    // What no surface took goes anywhere in the body.
    int64_t owed = sum_owed(c, body);
    const int32_t count = owed != 0 ? list_body(c, body, true) : 0;
    for (int32_t i = 0; i < count && owed != 0; i++) owed = force_brick(c, c->sleep->list[i], owed);
    set_owed(c, body, 0);
    if (owed != 0) force_anywhere(c, owed);
}

static int64_t part_of_way(int64_t way)
{
    const int64_t part = way / LEVEL_SHARE;
    return part > LEVEL_MOST ? LEVEL_MOST : part < -LEVEL_MOST ? -LEVEL_MOST : part;
}

// Water that stands over a cell with room fills it first.
static void sink(fluid_cells *c, int32_t brick, int32_t cell)
{
    const brick_pool *pool = &c->pool;
    int32_t next, below = step_along(c, brick, cell, -up(c), &next);
    if (below == BRICK_NOTHING || !pool->rest[below].asleep || c->sleep->body[below] != c->sleep->body[brick]) return;
    int32_t *from = &bricks_ints(pool, c->layout->mass, brick)[cell];
    int32_t *to = &bricks_ints(pool, c->layout->mass, below)[next];
    const int32_t room = WEIR_FULL - *to, part = *from < room ? *from : room;
    if (*to == 0 || part <= 0) return;
    bricks_write(pool, brick);
    bricks_write(pool, below);
    *from -= part;
    *to += part;
    touch(c, brick);
    touch(c, below);
    if (*from == 0) recount_around(c, brick);
}

// Lets every cell of a body's surface go a part of its way to the level, and every brick's head.
static void level(fluid_cells *c, int32_t body)
{
    cells_sleep *s = c->sleep;
    const int32_t count = list_body(c, body, false);
    brick_mask surface;
    int64_t sum = 0, cells = 0, moved = 0;
    bool done = true;
    if (count == 0) return;
    const int64_t base = sleep_height(&s->gravity, c->pool.coord[s->bodies[body].first], 0) * WEIR_FULL;
    for (int32_t i = 0; i < count; i++) {
        find_surface(c, s->list[i], &surface);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++)
            if (mask_has(&surface, cell)) sink(c, s->list[i], cell);
    }
    for (int32_t i = 0; i < count; i++) {
        find_surface(c, s->list[i], &surface);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (!mask_has(&surface, cell)) continue;
            sum += head_of(c, s->list[i], cell) - base;
            cells++;
        }
    }
    if (cells == 0) return;
    const int64_t level = base + sum / cells;
    for (int32_t i = 0; i < count; i++) {
        find_surface(c, s->list[i], &surface);
        for (int32_t cell = 0; cell < BRICK_CELLS; cell++) {
            if (!mask_has(&surface, cell)) continue;
            const int64_t part = part_of_way(level - head_of(c, s->list[i], cell));
            if (part == 0) continue;
            moved += part - put(c, s->list[i], cell, part);
            done = false;
        }
    }
    EACH_MEMBER(s, body, b)
    {
        const int64_t part = part_of_way(level - c->pool.rest[b].head);
        raise_head(c, b, part);
        done = done && part == 0;
    }
    set_owed(c, body, sum_owed(c, body) - moved);
    s->bodies[body].level = done;
}

// How far the heads of two bricks lie apart over the face between them; the second one may have none.
static int64_t heads_apart(const fluid_cells *c, int32_t brick, int32_t face)
{
    const sleep_gravity *g = &c->sleep->gravity;
    const int32_t other = bodies_neighbour(&c->pool, brick, face), axis = face % 3;
    const int64_t head = c->pool.rest[brick].head, there = c->pool.rest[other].head;
    if (there != REST_NO_HEAD) return head > there ? head - there : there - head;
    const float *pressure = bricks_floats(&c->pool, c->layout->pressure, other);
    const int32_t *mass = mass_of(c, other);
    int64_t most = 0;
    for (int32_t i = 0; i < BRICK_CELLS; i++) {
        if ((i >> 3 * axis & 7) != (face < 3 ? 7 : 0) || mass[i] == 0 || pressure[i] == 0.0f) continue;
        const int64_t above = (int64_t)(pressure[i] * g->inverse_size * (float)WEIR_FULL);
        const int64_t apart = head - sleep_height(g, c->pool.coord[other], i) * WEIR_FULL - above;
        most = apart > most ? apart : -apart > most ? -apart : most;
    }
    return most;
}

// Where a body has risen or fallen beside sleeping water that is not part of it, both wake.
static void wake_apart(fluid_cells *c, int32_t body)
{
    const cells_sleep *s = c->sleep;
    const brick_pool *pool = &c->pool;
    EACH_MEMBER(s, body, b)
    {
        if (pool->rest[b].head == REST_NO_HEAD) continue;
        for (int32_t face = 0; face < 6; face++) {
            const int32_t other = bodies_neighbour(pool, b, face);
            if (s->body[other] == body || s->body[other] == 0 || !bodies_touch(c, b, face)) continue;
            if (heads_apart(c, b, face) <= APART_MOST) continue;
            pool->rest[b].calm = pool->rest[other].calm = 0;
            c->sleep->dirty = true;
        }
    }
}

void bodies_update(fluid_cells *c)
{
    cells_sleep *s = c->sleep;
    if (s->body_count == 0) return;
    for (int32_t i = 1; i <= s->body_count; i++) s->bodies[i].owed = 0;
    for (int32_t b = 1; b < c->pool.end && b < s->room; b++) s->bodies[s->body[b]].owed += c->pool.rest[b].owed;
    for (int32_t i = 1; i <= s->body_count; i++) {
        const sleep_body *body = &s->bodies[i];
        if (!body->open) continue;
        const int64_t owed = body->owed < 0 ? -body->owed : body->owed;
        if (owed >= SPREAD_LEAST * body->surface) {
            spread(c, i, false);
            wake_apart(c, i);
        }
        if (!body->level && c->world->update % LEVEL_EVERY == 0) level(c, i);
    }
}
