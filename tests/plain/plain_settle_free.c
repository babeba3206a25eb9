// The plain reading of settle: the laws of free water, and its rest.
#include "plain/plain_settle_inside.h"

#include <stdlib.h>
#include <string.h>

// ---- The laws of free water ------------------------------------------------------------------------------------------------

// What the laws see: free cells of bricks that are worked on, and all bodies. Everything else is solid.
static void look(plain_settle *w)
{
    EACH_CELL(&w->grid, i)
    {
        const bool seen = w->body[i] || w->worked[brick_of(w, i)];
        w->F[i] = seen ? plain_settle_units(w, i) : 0;
        w->C[i] = seen ? w->fits[i] : 0;
    }
}

static int32_t room(const plain_settle *w, const int32_t *fill, int64_t i)
{
    if (!w->body[i]) return above_0(w->C[i] - fill[i]);
    return y_of(w, i) == w->bodies[w->body[i]].top ? ENDLESS : 0;
}

static int32_t level(const plain_settle *w, const int32_t *fill, int64_t i)
{
    return lesser(fill[i] + FULL - w->C[i], MOST);
}

static bool is_carried(const plain_settle *w, int64_t i)
{
    const int64_t below = beside(w, i, 2);
    return w->body[below] || room(w, w->F, below) == 0;
}

static int32_t falls(const plain_settle *w, int64_t i)
{
    const int64_t below = beside(w, i, 2);
    if (w->body[i] && w->body[below]) return 0;
    return lesser(w->body[i] ? w->F[i] : lesser(w->F[i], w->C[i]), room(w, w->F, below));
}

// Height of the body of a cell above the cell's top; below 0 if it does not reach it.
static int64_t head(const plain_settle *w, int64_t i)
{
    return plain_settle_height(&w->bodies[w->body[i]]) - ((int64_t)y_of(w, i) + 1) * FULL;
}

static int32_t rises(const plain_settle *w, int64_t i, bool carried)
{
    const int64_t above = beside(w, i, 3);
    if (!w->body[i]) return lesser(above_0(w->F[i] - w->C[i]), w->body[above] ? ENDLESS : room(w, w->F, above));
    if (w->body[above] || !carried) return 0;
    const int32_t h = above_0((int32_t)lesser64(head(w, i), FULL));
    return lesser(w->F[i] / 5, above_0(h - level(w, w->F, above)));
}

// What a cell holds once water has fallen and risen. A brick takes it for granted that what lies two layers under it is carried.
static void move_up_and_down(plain_settle *w)
{
    EACH_CELL(&w->grid, i)
    {
        w->down[i] = falls(w, i);
        w->up[i] = rises(w, i, is_carried(w, i));
    }
    EACH_CELL(&w->grid, i)
    {
        const int64_t below = beside(w, i, 2), above = beside(w, i, 3);
        const int32_t rest = w->F[i] - w->down[i] + w->down[above] - w->up[i];
        w->moved[i] = w->body[i] ? w->F[i] : rest + w->up[below];
        w->moved_below[i] = w->body[i] ? w->F[i] : rest + (is_live(w, below) ? rises(w, below, true) : 0);
    }
}

// Whether there is no room in what lies under a cell, after that.
static bool stands(const plain_settle *w, int64_t i)
{
    const int64_t below = beside(w, i, 2);
    return room(w, (y_of(w, i) & 7) == 0 ? w->moved_below : w->moved, below) == 0;
}

// What runs from a cell to one at its side.
static int32_t runs(const plain_settle *w, int64_t i, int64_t j)
{
    const int32_t film = (int32_t)(w->params.settle.film * FULL);
    const int32_t body = w->body[i], has = w->moved[i];
    if (w->C[j] == 0 || (body && w->body[j]) || !(body ? is_carried(w, i) : stands(w, i))) return 0;
    if (has < film && w->moved[j] == 0 && stands(w, j)) return 0;
    const int32_t from = body && head(w, i) >= 0 ? FULL : level(w, w->moved, i);
    const int32_t difference = above_0(from - level(w, w->moved, j));
    return body ? lesser(has / 5, (difference + 1) / 2) : lesser(difference, has) / 5;
}

static void book(plain_settle *w, int64_t j, int32_t gain)
{
    if (w->body[j]) w->bodies[w->body[j]].gained += gain;
}

void plain_settle_update_free(plain_settle *w)
{
    look(w);
    move_up_and_down(w);
    EACH_CELL(&w->grid, i)
    {
        if (!w->worked[brick_of(w, i)] || !is_free(w, i)) continue;
        const int64_t below = beside(w, i, 2), above = beside(w, i, 3);
        int32_t most = w->down[i], held = w->moved[i];
        if (w->up[i] > most) most = w->up[i];
        if (w->down[above] > most) most = w->down[above];
        if (w->up[below] > most) most = w->up[below];
        book(w, below, w->down[i] - w->up[below]);
        book(w, above, w->up[i] - w->down[above]);
        for (int32_t side = 0; side < 6; side++) {
            const int64_t j = beside(w, i, side);
            if (side >> 1 == 1) continue;
            const int32_t out = runs(w, i, j), in = runs(w, j, i);
            held += in - out;
            if (in > most) most = in;
            if (out > most) most = out;
            book(w, j, out - in);
        }
        assert(held >= 0 && held <= MOST);
        w->next[i] = held;
        w->most[i] = most;
    }
}

// ---- Commit ----------------------------------------------------------------------------------------------------------------

// The sides near which something changed: -x, +x, -y, +y (two layers), -z, +z.
static uint8_t sides_of(const plain_settle *w, int64_t i)
{
    const weir_coord c = plain_at(&w->grid, i);
    return (uint8_t)(((c.x & 7) == 0) | ((c.x & 7) == 7) << 1 | ((c.y & 7) == 0) << 2 | ((c.y & 7) >= 6) << 3 |
                     ((c.z & 7) == 0) << 4 | ((c.z & 7) == 7) << 5);
}

enum { ANY = 64 };  // in `changed`: something did

void plain_settle_commit(plain_settle *w)
{
    const int32_t calm = (int32_t)(w->params.settle.calm * FULL);
    memset(w->changed, 0, (size_t)(w->grid.all_cells / 512));
    memset(w->uneasy, 0, (size_t)(w->grid.all_cells / 512));
    EACH_CELL(&w->grid, i)
    {
        const int64_t brick = brick_of(w, i);
        if (!w->worked[brick] || !is_free(w, i)) continue;
        if (w->next[i] != w->fill[i]) w->changed[brick] |= ANY | sides_of(w, i);
        w->fill[i] = w->next[i];
        if (w->fill[i] > 0 && w->most[i] <= calm)
            w->calm[i] = (uint8_t)lesser(w->calm[i] + 1, 255);
        else
            w->calm[i] = 0;
        if (w->fill[i] > 0 && !is_settled(w, i)) w->uneasy[brick] = 1;
        if (w->bounded && !inside(w->bounds, plain_at(&w->grid, i))) {
            w->drained += (int64_t)w->fill[i] * PLAIN_UNIT;
            w->fill[i] = w->calm[i] = 0;
        }
    }
    for (int32_t k = 1; k < w->body_end; k++) {
        plain_pool *b = &w->bodies[k];
        b->changed |= b->gained != 0;
        b->volume += b->gained;
        b->gained = 0;
        assert(b->volume >= 0);
    }
}

// ---- Rest ------------------------------------------------------------------------------------------------------------------

void plain_settle_wake_beside_changes(plain_settle *w)
{
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        const int64_t brick = plain_brick_of(&w->grid, w->grid.brick[n]);
        const uint8_t sides = w->changed[brick];
        for (int32_t k = 0; w->worked[brick] && sides && k < 27; k++) {
            const int32_t x = k % 3 - 1, y = k / 3 % 3 - 1, z = k / 9 - 1;
            if ((x == 0 || sides >> (x > 0) & 1) && (y == 0 || sides >> (2 + (y > 0)) & 1) &&
                (z == 0 || sides >> (4 + (z > 0)) & 1))
                plain_settle_wake(w, brick_beside(w, brick, x, y, z));
        }
    }
}

// The heights of a body at which water would run between it and the free cells of a brick.
static void wait_for(plain_settle *w, int64_t brick, int32_t body)
{
    const int32_t film = (int32_t)(w->params.settle.film * FULL);
    int64_t up = INT64_MAX, down = INT64_MIN;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
    {
        if (!is_free(w, i)) continue;
        const int64_t bottom = (int64_t)y_of(w, i) * FULL, stands_at = lesser(w->fill[i] + FULL - w->fits[i], MOST);
        for (int32_t side = 0; side < 6; side++) {
            const int64_t j = beside(w, i, side);
            if (side >> 1 == 1 || w->body[j] != body) continue;
            const int64_t floor = FULL - w->fits[j];
            int64_t runs_in = stands_at + 1;
            if (w->fill[i] == 0 && floor + film > runs_in) runs_in = floor + film;
            up = lesser64(up, bottom + runs_in);
            if (w->fill[i] > 0 && bottom + stands_at - 5 > down) down = bottom + stands_at - 5;
        }
    }
    if (up == INT64_MAX) return;
    if (w->shore_count == w->shore_room) {
        w->shore_room = 2 * w->shore_room + 64;
        w->shores = realloc(w->shores, (size_t)w->shore_room * sizeof *w->shores);
        assert(w->shores);
    }
    w->shores[w->shore_count++] = (plain_shore){brick, body, up, down};
}

void plain_settle_rest(plain_settle *w)
{
    int32_t near[NEIGHBOURS];
    for (int32_t n = 0; n < w->grid.bricks; n++) {
        const int64_t brick = plain_brick_of(&w->grid, w->grid.brick[n]);
        if (!w->worked[brick] || w->changed[brick] || w->uneasy[brick] || w->stirred[brick]) continue;
        const int32_t count = plain_settle_bodies_near(w, brick, near);
        if (count == NEIGHBOURS) continue;  // there may be more
        w->awake[brick] = 0;
        w->counts.rested++;
        for (int32_t k = 0; k < count; k++) wait_for(w, brick, near[k]);
    }
}
