// Air under water, read plainly (docs/how-it-works.md, "Air"): which cells are air, what hangs together, how much gas is in it, and what
// pressure that makes. Everything is found by looking at all cells, update by update.
#include "plain/plain.h"

#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 16, SEARCHED = 4096, GAS_MOST = 1 << 30 };

#define NO_AIR (-1e30f)

// Cells of bricks in pieces: those of a brick that hang together within it, by number over the whole grid. A brick has 16 at most, in the
// order of their first cells; what is left belongs to the last one.
typedef struct pieces {
    int32_t *of;  // of each cell, from 1 on; 0: none
    int32_t count;
} pieces;

static void spread_piece(const plain_grid *g, int64_t first, const uint8_t *in, int32_t *of, int64_t from, int32_t piece)
{
    int64_t stack[512];
    int32_t height = 0;
    stack[height++] = from;
    of[from] = piece;
    while (height > 0) {
        const int64_t i = stack[--height];
        for (int way = 0; way < 6; way++) {
            const int64_t next = i + (way & 1 ? 1 : -1) * g->step[way >> 1];
            if (plain_brick_of(g, next) != plain_brick_of(g, first) || !in[next] || of[next] != 0) continue;
            of[next] = piece;
            stack[height++] = next;
        }
    }
}

// `in` says which cells count, `bricks` of which bricks.
static pieces find_pieces(const plain_world *w, const uint8_t *in, const uint8_t *bricks)
{
    const plain_grid *g = &w->grid;
    pieces p = {.of = calloc((size_t)g->all_cells, sizeof *p.of)};
    for (int64_t b = 0; b < g->all_cells / 512; b++) {
        if (!bricks[b]) continue;
        const int64_t first = plain_first_of(g, b);
        int32_t here = 0;
        EACH_CELL_OF(g, first, i)
        {
            if (!in[i] || p.of[i] != 0) continue;
            if (here < PIECES) {
                here++;
                p.count++;
            }
            spread_piece(g, first, in, p.of, i, p.count);
        }
    }
    return p;
}

// Joins pieces that touch: each gets the number of its group, which is the least one in it.
static int32_t group_of(int32_t *group, int32_t piece)
{
    while (group[piece] != piece) piece = group[piece] = group[group[piece]];
    return piece;
}

static int32_t *join_pieces(const plain_world *w, const pieces *p)
{
    const plain_grid *g = &w->grid;
    int32_t *group = malloc(((size_t)p->count + 1) * sizeof *group);
    for (int32_t k = 0; k <= p->count; k++) group[k] = k;
    for (int64_t i = 0; i < g->all_cells; i++) {
        for (int axis = 0; p->of[i] && axis < 3; axis++) {
            const int64_t next = i + g->step[axis];
            if (!p->of[next]) continue;
            const int32_t a = group_of(group, p->of[i]), b = group_of(group, p->of[next]);
            group[a < b ? b : a] = a < b ? a : b;
        }
    }
    for (int32_t k = 1; k <= p->count; k++) group[k] = group_of(group, k);
    return group;
}

static bool is_inside(const plain_world *w, int64_t i)
{
    const weir_coord c = plain_at(&w->grid, i);
    const weir_box *b = &w->bounds;
    return !w->bounded ||
           (c.x >= b->min.x && c.y >= b->min.y && c.z >= b->min.z && c.x < b->max.x && c.y < b->max.y && c.z < b->max.z);
}

static bool at_rim_of_grid(const plain_grid *g, int64_t brick)
{
    const int64_t nx = g->size[0] / 8, ny = g->size[1] / 8, nz = g->size[2] / 8;
    const int64_t x = brick % nx, y = brick / nx % ny, z = brick / nx / ny;
    return x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1;
}

// ---- Bricks of shut air ----------------------------------------------------------------------------------------------------

// Air that no water is near is followed through at most so many pieces; beyond them, beyond the bounds and beyond the grid all is open.
void plain_air_keep(plain_world *w, const uint8_t *wanted)
{
    const plain_grid *g = &w->grid;
    const int64_t all = g->all_cells / 512;
    memset(w->kept, 0, (size_t)all);
    if (!w->gas) return;
    uint8_t *dry = malloc((size_t)all);
    for (int64_t b = 0; b < all; b++) dry[b] = !wanted[b] && !at_rim_of_grid(g, b);
    pieces p = find_pieces(w, w->open, dry);
    int32_t *group = join_pieces(w, &p), *count = calloc((size_t)p.count + 1, sizeof *count);
    uint8_t *open = calloc((size_t)p.count + 1, 1), *met = calloc((size_t)p.count + 1, 1);
    for (int32_t k = 1; k <= p.count; k++) open[group[k]] |= ++count[group[k]] > SEARCHED;
    for (int64_t i = 0; i < g->all_cells; i++) {
        if (!p.of[i]) continue;
        if (!is_inside(w, i)) open[group[p.of[i]]] = 1;
        for (int way = 0; way < 6; way++) {
            const int64_t next = i + (way & 1 ? 1 : -1) * g->step[way >> 1], b = plain_brick_of(g, next);
            if (!w->open[next]) continue;
            if (wanted[b]) met[group[p.of[i]]] = 1;
            if (at_rim_of_grid(g, b)) open[group[p.of[i]]] = 1;
        }
    }
    for (int64_t i = 0; i < g->all_cells; i++)
        if (p.of[i] && met[group[p.of[i]]] && !open[group[p.of[i]]]) w->kept[plain_brick_of(g, i)] = 1;
    free(dry);
    free(group);
    free(count);
    free(open);
    free(met);
    free(p.of);
}

// ---- Pockets ---------------------------------------------------------------------------------------------------------------

typedef struct pocket {
    bool open;
    int64_t volume, before, gas, weight, given;
    int64_t first;  // cell
    float pressure;
} pocket;

static double pressure_of(double air, double gas, double volume, double grew)
{
    const double least = 22.0 * air * sqrt(air), dense = gas < volume ? gas / volume : 1.0;
    const double soft = least * least / (least + gas) * dense * dense;
    const double slope = 7.8 * air * (gas + soft) / ((volume + soft) * (volume + soft));
    const double lead = 1.0 + 7.0 / (1.0 + 4096.0 * slope * slope * slope * volume);
    double ahead = volume + lead * grew;
    if (ahead < 0.5 * volume) ahead = 0.5 * volume;
    if (ahead > 2.0 * volume) ahead = 2.0 * volume;
    const double times = (gas + soft) / (ahead + soft);
    return air * ((times < 16.0 ? times : 16.0) - 1.0);
}

static int32_t lacks(int32_t drops)
{
    return drops < PLAIN_FULL ? PLAIN_FULL - drops : 0;
}

static int32_t gas_in(const plain_world *w, int64_t i)
{
    return w->gas[i] > 0 ? w->gas[i] - 1 : 0;
}

// Whether brick a comes before brick b in the order of coordinates, or a cell of one brick before another.
static bool comes_before(const plain_grid *g, int64_t i, int64_t j)
{
    const int64_t a = plain_brick_of(g, i), b = plain_brick_of(g, j);
    if (a != b) return a < b;
    const weir_coord c = plain_at(g, i), d = plain_at(g, j);
    return c.z != d.z ? c.z < d.z : c.y != d.y ? c.y < d.y : c.x < d.x;
}

void plain_air_find(plain_world *w, float share)
{
    const plain_grid *g = &w->grid;
    const plain_down down = plain_find_down(&w->params);
    const int64_t up = -down.sign * g->step[down.axis];
    uint8_t *is_air = calloc((size_t)g->all_cells, 1);
    EACH_CELL(g, i) is_air[i] = w->there[i] && w->mass[i] < PLAIN_FULL / 2;
    pieces p = find_pieces(w, is_air, g->live);
    int32_t *group = join_pieces(w, &p);
    pocket *pockets = calloc((size_t)p.count + 1, sizeof *pockets);
    // Where the air has a way out.
    EACH_CELL(g, i)
    {
        if (!p.of[i]) continue;
        pocket *in = &pockets[group[p.of[i]]];
        in->open |= !is_inside(w, i);
        for (int way = 0; way < 6; way++) {
            const int64_t next = i + (way & 1 ? 1 : -1) * g->step[way >> 1];
            in->open |= w->open[next] && !g->live[plain_brick_of(g, next)];
        }
    }
    // Volumes, and gas.
    int32_t *sides = calloc((size_t)g->all_cells, sizeof *sides);  // faces of water with air
    EACH_CELL(g, i)
    {
        const int32_t before = (int32_t)(w->m[i] * (float)PLAIN_FULL), volume = lacks(w->mass[i]);
        if (p.of[i]) {
            pocket *in = &pockets[group[p.of[i]]];
            if (in->weight == 0 || comes_before(g, i, in->first)) in->first = i;
            in->volume += volume;
            in->before += lacks(before);
            in->weight += volume >> 6;
            in->gas += w->gas[i] > 0 ? w->gas[i] - 1 : volume;
        } else if (w->there[i]) {
            for (int way = 0; way < 6; way++) sides[i] += is_air[i + (way & 1 ? 1 : -1) * g->step[way >> 1]];
            for (int way = 0; way < 6; way++) {
                const int64_t next = i + (way & 1 ? 1 : -1) * g->step[way >> 1];
                if (!is_air[next]) continue;
                pocket *in = &pockets[group[p.of[next]]];
                in->volume += volume / sides[i];
                in->before += lacks(before) / sides[i];
                in->gas += w->gas[i] > 0 ? (w->gas[i] - 1) / sides[i] : volume / sides[i];
            }
        }
    }
    for (int32_t k = 1; k <= p.count; k++) {
        pocket *in = &pockets[k];
        if (group[k] != k || in->open) continue;
        const double grew = (double)(in->volume - in->before) / PLAIN_FULL;
        in->pressure =
            (float)(pressure_of((double)w->air_whole, (double)in->gas / PLAIN_FULL, (double)in->volume / PLAIN_FULL, grew) *
                    (double)(share * share));
    }
    // What each cell has then.
    int32_t *gas = calloc((size_t)g->all_cells, sizeof *gas);
    EACH_CELL(g, i)
    {
        w->air[i] = w->there[i] ? NO_AIR : 0.0f;
        if (!w->there[i]) continue;
        if (p.of[i]) {
            pocket *in = &pockets[group[p.of[i]]];
            w->air[i] = in->open ? 0.0f : in->pressure;
            if (in->open) continue;
            const int64_t part = lacks(w->mass[i]) >> 6;
            int64_t has = in->gas / in->weight * part + in->gas % in->weight * part / in->weight;
            if (has > GAS_MOST) has = GAS_MOST;
            in->given += has;
            gas[i] = (int32_t)has + 1;
            continue;
        }
        gas[i] = w->gas[i] > 0 ? w->gas[i] : 1;
        if (sides[i] == 0) {
            const int64_t above = i + up;
            const bool rises = up != 0 && w->there[above] && gas_in(w, i) <= GAS_MOST / 2 && gas_in(w, above) <= GAS_MOST / 2;
            if (rises) gas[i] -= gas_in(w, i);
            continue;
        }
        bool open = false;
        int32_t gives = 0;
        for (int way = 0; way < 6; way++) {
            const int64_t next = i + (way & 1 ? 1 : -1) * g->step[way >> 1];
            if (!is_air[next]) continue;
            const pocket *in = &pockets[group[p.of[next]]];
            w->air[i] = plain_most(w->air[i], in->open ? 0.0f : in->pressure);
            open |= in->open;
            if (!in->open) gives += gas_in(w, i) / sides[i];
        }
        gas[i] = open ? 0 : gas[i] - gives;
    }
    // What rises: gas in water that has no air beside it.
    EACH_CELL(g, i)
    {
        const int64_t below = i - up;
        if (up == 0 || !w->there[i] || p.of[i] || !w->there[below] || p.of[below] || sides[below] > 0) continue;
        const int32_t comes = gas_in(w, below);
        if (comes > 0 && comes <= GAS_MOST / 2 && gas_in(w, i) <= GAS_MOST / 2) gas[i] = (gas[i] > 0 ? gas[i] : 1) + comes;
    }
    for (int32_t k = 1; k <= p.count; k++) {
        pocket *in = &pockets[k];
        if (group[k] != k || in->open) continue;
        const int64_t has = gas[in->first] + in->gas - in->given;
        gas[in->first] = (int32_t)(has < GAS_MOST + 1 ? has : GAS_MOST + 1);
    }
    EACH_CELL(g, i) w->gas[i] = gas[i];
    free(gas);
    free(sides);
    free(pockets);
    free(group);
    free(is_air);
    free(p.of);
}
