// The laws over bricks: each is copied into a tile with what lies around it, the kernels work out what crosses its faces, and what crosses
// to and from bodies is booked.
//
// A face moves water only if the bricks of its free cells are all worked on: free cells of a brick at rest count as solid. Bodies are
// there for everybody; what crosses between one and a free cell is booked by the brick of the free cell.
#include "solvers/settle/settle.h"

#include <assert.h>
#include <string.h>

enum { WORK_GRAIN = 4 };

typedef struct work_job {
    settle *s;
    const int32_t *bricks;
    bool waits;
    settle_limits limits;
} work_job;

// Copies the free cells of a whole row, into a tile that is dry: a brick may have no page yet. Where cells are wholly open or solid, eight bits are spread to eight numbers at once: each lane
// keeps its own bit, which is then multiplied up to a full cell.
static void copy_row(const settle_brick *b, int32_t cell, uint16_t *fill, uint16_t *capacity)
{
    if (b->page) memcpy(fill, page_fill(b->page) + cell, 8 * sizeof *fill);
    if (b->shares) {
        for (int32_t i = 0; i < 8; i++) capacity[i] = (uint16_t)rule_settle_capacity(b->shares[cell + i]);
        return;
    }
    const uint32_t open = b->open.layer[layer_of(cell)] >> 8 * (cell >> 6) & 0xff;
    for (int32_t i = 0; i < 8; i++) capacity[i] = (uint16_t)((open >> i & 1) * SETTLE_FULL);
}

static void copy_cell(const settle_brick *b, int32_t cell, uint16_t *fill, uint16_t *capacity)
{
    if (b->page) *fill = page_fill(b->page)[cell];
    *capacity = (uint16_t)cell_capacity(b, cell);
}

// Puts the cells of a body in a row into the tile.
static void put_body_row(settle_tile *t, const settle_brick *b, settle_surface body, int32_t y, uint64_t cells, int32_t cell,
                         int at)
{
    const int64_t head = surface_height(body) - ((int64_t)y + 1) * SETTLE_FULL;
    const uint16_t pressed = rule_settle_mask(head >= 0), top = rule_settle_mask(y >= body.top);
    while (cells) {
        const int32_t x = region_take(&cells), i = at + x;
        const int32_t capacity = cell_capacity(b, cell + x);
        t->fill[i] = (uint16_t)surface_fill(body, y, capacity);
        t->capacity[i] = (uint16_t)capacity;
        t->body[i] = 0xffff;
        t->top[i] = top;
        t->pressed[i] = pressed;
        t->head[i] = (uint16_t)(head < 0 ? 0 : head < SETTLE_FULL ? head : SETTLE_FULL);
    }
}

// One row of a brick, of which cells x0 to x0 + count - 1 lie in the tile from `at` on.
static bool load_row(const settle *s, settle_tile *t, int32_t brick, int32_t y, int32_t z, int32_t x0, int32_t count, int at)
{
    const settle_brick *b = &s->bricks[brick];
    const int32_t cell = x0 + 8 * (y & 7) + 64 * (z & 7);
    bool bodies = false;
    if (b->worked && count == 8) copy_row(b, cell, t->fill + at, t->capacity + at);
    if (b->worked && count == 1) copy_cell(b, cell, t->fill + at, t->capacity + at);
    for (int32_t n = b->node; n; n = node_at(s, n)->next_in_brick) {
        const settle_node *node = node_at(s, n);
        const uint64_t cells = node->cells.layer[y & 7] >> (8 * (z & 7) + x0) & ((1u << count) - 1);
        if (!cells) continue;
        const int32_t layer = 8 * s->cells.pool.coord[brick].y + (y & 7);
        put_body_row(t, b, settle_seen(body_at(s, node->body)), layer, cells, cell, at);
        bodies = true;
    }
    return bodies;
}

// Fills a tile in. Returns whether there are bodies in it.
static bool load_tile(const settle *s, int32_t brick, settle_tile *t)
{
    bool bodies = false;
    memset(t->fill, 0, sizeof t->fill);
    memset(t->capacity, 0, sizeof t->capacity);
    memset(t->body, 0, sizeof t->body);
    memset(t->pressed, 0, sizeof t->pressed);
    for (int32_t z = -1; z <= 8; z++) {
        for (int32_t y = -2; y <= 8; y++) {
            const int32_t *near = s->cells.pool.near[brick];
            const int32_t left = near[NEAR(-1, y >> 3, z >> 3)], middle = near[NEAR(0, y >> 3, z >> 3)],
                          right = near[NEAR(1, y >> 3, z >> 3)];
            if (left) bodies |= load_row(s, t, left, y, z, 7, 1, TILE_AT(-1, y, z));
            if (middle) bodies |= load_row(s, t, middle, y, z, 0, 8, TILE_AT(0, y, z));
            if (right) bodies |= load_row(s, t, right, y, z, 0, 1, TILE_AT(8, y, z));
        }
    }
    return bodies;
}

// What crosses between a free cell and the body's cell towards a side: positive into the body. Sides: -x, +x, -y, +y, -z, +z.
static int32_t crosses(const settle_tile *t, int i, int32_t side)
{
    switch (side) {
    case 0: return t->from_x[i - 1] - t->to_x[i - 1];
    case 1: return t->to_x[i] - t->from_x[i];
    case 2: return t->down[i] - t->up[i - TILE_ROW];
    case 3: return t->up[i] - t->down[i + TILE_ROW];
    case 4: return t->from_z[i - TILE_PLANE] - t->to_z[i - TILE_PLANE];
    default: return t->to_z[i] - t->from_z[i];
    }
}

// What the bodies around a brick gain from it.
enum { GAINS_MAX = BRICK_CELLS + 6 * 64 };  // each cell of it and beside it in another

typedef struct gain_list {
    settle_gain items[GAINS_MAX];
    int32_t count;
} gain_list;

static void add_gain(gain_list *list, int32_t body, int32_t units)
{
    int32_t i = list->count - 1;  // mostly the last one
    while (i >= 0 && list->items[i].body != body) i--;
    if (i < 0) list->items[i = list->count++] = (settle_gain){body, 0};
    list->items[i].units += units;
}

static void find_gains(const settle *s, int32_t brick, const settle_tile *t, const layer_mask *free, gain_list *gains)
{
    static const int step[6] = {-1, 1, -TILE_ROW, TILE_ROW, -TILE_PLANE, TILE_PLANE};
    for (int32_t y = 0; y < 8; y++) {
        for (uint64_t left = free->layer[y]; left;) {
            const int32_t bit = region_take(&left), cell = cell_of(y, bit);
            const int i = TILE_AT(bit & 7, y, bit >> 3);
            for (int32_t side = 0; side < 6; side++) {
                if (!t->body[i + step[side]]) continue;
                const int32_t gain = crosses(t, i, side);
                if (gain == 0) continue;
                int32_t next, there = fluid_step((const int32_t(*)[27])s->cells.pool.near, brick, cell, side >> 1,
                                                 side & 1 ? 1 : -1, &next);
                const int32_t body = settle_body_of(s, there, next);
                assert(body);
                add_gain(gains, body, gain);
            }
        }
    }
}

// Gives the bodies what they gain, or keeps it with the brick.
static void book(settle *s, const gain_list *gains, settle_pending *pending)
{
    if (!pending) {
        for (int32_t i = 0; i < gains->count; i++)
            atomic_fetch_add_explicit(&body_at(s, gains->items[i].body)->gained, gains->items[i].units, memory_order_relaxed);
        return;
    }
    pending->gain_count = gains->count;
    pending->gain = atomic_fetch_add_explicit(&s->gain_count, gains->count, memory_order_relaxed);
    assert(pending->gain + gains->count <= s->gain_room);
    for (int32_t i = 0; i < gains->count; i++) s->gains[pending->gain + i] = gains->items[i];
}

static void work_brick(const work_job *job, int32_t brick, settle_tile *t, void *mixed)
{
    settle *s = job->s;
    settle_brick *b = &s->bricks[brick];
    gain_list gains;
    gains.count = 0;
    bool bodies = true, turned = false;
    if (!b->page->materials && layers_empty(&b->page->wet)) b->page->material = b->liquid;
    if (b->liquid == SETTLE_SEVERAL) {
        turned = settle_mixed_flows(s, brick, t, mixed);
    } else {
        bodies = load_tile(s, brick, t);
        s->kernels->flows(t, bodies, (uint16_t)settle_film(s, b->liquid), s->slow[b->liquid]);
    }
    b->outcome = s->kernels->take(t, b->page, job->waits, (uint16_t)job->limits.calm, (uint8_t)job->limits.patience);
    if (turned) b->outcome |= OUTCOME_CHANGED | 0x3f << OUTCOME_SIDES;
    if (bodies) {
        layer_mask free = settle_taken(s, brick);
        for (int32_t y = 0; y < 8; y++) free.layer[y] = b->open.layer[y] & ~free.layer[y];
        find_gains(s, brick, t, &free, &gains);
    }
    if (bodies || job->waits) book(s, &gains, job->waits ? b->page->pending : NULL);
}

static void work(void *context, int32_t begin, int32_t end, int32_t worker)
{
    const work_job *job = context;
    settle_tile *t = (settle_tile *)(void *)(job->s->scratch + (size_t)worker * sizeof(settle_tile));
    void *mixed = job->s->mixed_scratch ? job->s->mixed_scratch + (size_t)worker * settle_mixed_bytes() : NULL;
    for (int32_t i = begin; i < end; i++) work_brick(job, job->bricks[i], t, mixed);
}

void settle_work(settle *s, const int32_t *bricks, int32_t count, bool waits)
{
    work_job job = {s, bricks, waits, settle_get_limits(s)};
    workers_run(s->cells.world->workers, work, &job, count, WORK_GRAIN);
}

static int32_t count_nodes(const settle *s, int32_t brick)
{
    int32_t count = 0;
    for (int32_t n = s->bricks[brick].node; n; n = node_at(s, n)->next_in_brick) count++;
    return count;
}

int32_t settle_count_gains(const settle *s, int32_t brick)
{
    static const int32_t faces[6] = {NEAR(-1, 0, 0), NEAR(1, 0, 0),  NEAR(0, -1, 0),
                                     NEAR(0, 1, 0),  NEAR(0, 0, -1), NEAR(0, 0, 1)};
    int32_t count = count_nodes(s, brick);
    for (int32_t f = 0; f < 6; f++) count += count_nodes(s, s->cells.pool.near[brick][faces[f]]);
    return count;
}
