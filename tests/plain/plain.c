// The plain world: grid, live bricks, edits, emitters and drains, forces.
#include "plain/plain.h"

#undef NDEBUG  // the judge is judged in every build
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Grid ------------------------------------------------------------------------------------------------------------------

void plain_grid_make(plain_grid *g, weir_coord low, const int32_t size[3])
{
    *g = (plain_grid){.low = low, .size = {size[0], size[1], size[2]}};
    g->step[0] = 1;
    g->step[1] = size[0];
    g->step[2] = (int64_t)size[0] * size[1];
    g->all_cells = g->step[2] * size[2];
    g->live = calloc((size_t)(g->all_cells / 512), 1);
}

void plain_grid_free(plain_grid *g)
{
    free(g->live);
    free(g->brick);
    free(g->cell);
}

void plain_grid_list(plain_grid *g)
{
    plain_grid_list_phase(g, NULL, PLAIN_ASLEEP);
}

void plain_grid_list_phase(plain_grid *g, const uint8_t *phase, plain_phase least)
{
    int64_t all = g->all_cells / 512, nx = g->size[0] / 8, ny = g->size[1] / 8;
#define LISTED(b) (g->live[b] && (!phase || phase[b] >= least))
    g->bricks = 0;
    for (int64_t b = 0; b < all; b++) g->bricks += LISTED(b);
    g->cells = 512 * (int64_t)g->bricks;
    g->brick = realloc(g->brick, ((size_t)g->bricks + 1) * sizeof *g->brick);
    g->cell = realloc(g->cell, ((size_t)g->cells + 1) * sizeof *g->cell);
    int32_t bricks = 0;
    int64_t cells = 0;
    for (int64_t b = 0; b < all; b++) {
        if (!LISTED(b)) continue;
        int64_t x = b % nx, y = b / nx % ny, z = b / nx / ny;
        // Whatever lives lies one brick away from the grid's edge: neighbours need no question.
        assert(x > 0 && y > 0 && z > 0 && x < nx - 1 && y < ny - 1 && z < g->size[2] / 8 - 1);
        int64_t first = 8 * (x + y * g->step[1] + z * g->step[2]);
        g->brick[bricks++] = first;
        EACH_CELL_OF(g, first, i) g->cell[cells++] = i;
    }
#undef LISTED
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static bool inside(weir_box b, weir_coord c)
{
    return c.x >= b.min.x && c.x < b.max.x && c.y >= b.min.y && c.y < b.max.y && c.z >= b.min.z && c.z < b.max.z;
}

// Whether the bounds leave a cell open: it lies inside, or behind open sides only. Nothing lies further than the end of the world.
static bool bounds_open(const plain_world *w, weir_coord c)
{
    const weir_box world = {{-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT},
                            {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT}};
    if (!inside(world, c)) return false;
    if (!w->bounded) return true;
    const int32_t at[3] = {c.x, c.y, c.z};
    const int32_t min[3] = {w->bounds.min.x, w->bounds.min.y, w->bounds.min.z};
    const int32_t max[3] = {w->bounds.max.x, w->bounds.max.y, w->bounds.max.z};
    for (int axis = 0; axis < 3; axis++) {
        if (at[axis] < min[axis] && !(w->open_sides >> (2 * axis) & 1)) return false;
        if (at[axis] >= max[axis] && !(w->open_sides >> (2 * axis + 1) & 1)) return false;
    }
    return true;
}

static void *zeros(const plain_world *w, size_t size)
{
    void *values = calloc((size_t)w->grid.all_cells, size);
    assert(values);
    return values;
}

plain_world *plain_create(const weir_world_def *def, weir_box reach)
{
    plain_world *w = calloc(1, sizeof *w);
    const weir_box none = {{0, 0, 0}, {0, 0, 0}};
    w->solver = def->solver;
    w->params = def->params ? *def->params : weir_params_default();
    w->bounds = def->bounds;
    w->bounded = memcmp(&def->bounds, &none, sizeof none) != 0;
    w->open_sides = def->open_sides;
    w->next_id = 1;
    // Two bricks more than water reaches: one that is live beside it, and one to look at.
    weir_coord low = {(reach.min.x >> 3) - 2, (reach.min.y >> 3) - 2, (reach.min.z >> 3) - 2};
    weir_coord high = {((reach.max.x - 1) >> 3) + 3, ((reach.max.y - 1) >> 3) + 3, ((reach.max.z - 1) >> 3) + 3};
    plain_grid_make(&w->grid, (weir_coord){8 * low.x, 8 * low.y, 8 * low.z},
                    (const int32_t[3]){8 * (high.x - low.x), 8 * (high.y - low.y), 8 * (high.z - low.z)});
    plain_grid_list(&w->grid);
    plain_grid_make(&w->awake, w->grid.low, w->grid.size);
    plain_sleep_make(w);
    w->share = zeros(w, 1);
    w->open = zeros(w, 1);
    w->there = zeros(w, 1);
    w->active = zeros(w, 1);
    w->mass = zeros(w, sizeof *w->mass);
    float **const floats[] = {&w->pressure, &w->m, &w->m2, &w->q, &w->h, &w->divergence, &w->floor, &w->pressure2, &w->air};
    for (size_t k = 0; k < sizeof floats / sizeof floats[0]; k++) *floats[k] = zeros(w, sizeof(float));
    for (int axis = 0; axis < 3; axis++) {
        w->flow[axis] = zeros(w, sizeof(float));
        w->flow2[axis] = zeros(w, sizeof(float));
        w->F[axis] = zeros(w, sizeof(float));
    }
    if (w->params.momentum.air > 0.0f) w->gas = zeros(w, sizeof *w->gas);
    w->kept = zeros(w, 1);
    for (int64_t i = 0; i < w->grid.all_cells; i++) w->open[i] = bounds_open(w, plain_at(&w->grid, i));
    return w;
}

static float **all_floats(plain_world *w, int32_t k)
{
    float **const floats[] = {&w->pressure, &w->m,         &w->m2,      &w->q,       &w->h,       &w->divergence,
                              &w->floor,    &w->pressure2, &w->flow[0], &w->flow[1], &w->flow[2], &w->flow2[0],
                              &w->flow2[1], &w->flow2[2],  &w->F[0],    &w->F[1],    &w->F[2],    &w->air};
    return k < (int32_t)(sizeof floats / sizeof floats[0]) ? floats[k] : NULL;
}

void plain_destroy(plain_world *w)
{
    float **each;
    for (int32_t k = 0; (each = all_floats(w, k)); k++) free(*each);
    plain_grid_free(&w->grid);
    plain_grid_free(&w->awake);
    plain_sleep_free(w);
    free(w->share);
    free(w->open);
    free(w->there);
    free(w->active);
    free(w->mass);
    free(w->gas);
    free(w->kept);
    free(w);
}

// ---- Live bricks -----------------------------------------------------------------------------------------------------------

// A brick lives if it holds mass or touches one that does, and has an open cell; and those of shut air, which are looked for if that is asked;
// until they are, none ends where air has a pressure. What is in others is gone.
static void find_live(plain_world *w, bool air)
{
    plain_grid *g = &w->grid;
    const int64_t nx = g->size[0] / 8, ny = g->size[1] / 8, all = g->all_cells / 512;
    uint8_t *wanted = calloc((size_t)all, 1), *was = malloc((size_t)all);
    memcpy(was, g->live, (size_t)all);
    for (int64_t b = 0; b < all; b++) {
        if (!was[b]) continue;
        int64_t first = 8 * (b % nx + b / nx % ny * g->step[1] + b / nx / ny * g->step[2]);
        bool wet = false;
        EACH_CELL_OF(g, first, i) wet |= w->mass[i] > 0;
        for (int64_t k = 0; wet && k < 27; k++) wanted[b + (k % 3 - 1) + nx * (k / 3 % 3 - 1) + nx * ny * (k / 9 - 1)] = 1;
    }
    if (air) plain_air_keep(w, wanted);
    for (int64_t b = 0; b < all; b++) {
        int64_t first = 8 * (b % nx + b / nx % ny * g->step[1] + b / nx / ny * g->step[2]);
        bool any_open = false;
        wanted[b] |= air ? w->kept[b] : was[b] && w->gas;
        if (wanted[b]) EACH_CELL_OF(g, first, i) any_open |= w->open[i];
        g->live[b] = wanted[b] && any_open;
        if (!was[b] || g->live[b]) continue;
        plain_sleep_end_brick(w, b);
        EACH_CELL_OF(g, first, i)
        {
            float **each;
            for (int32_t k = 0; (each = all_floats(w, k)); k++) (*each)[i] = 0.0f;
            w->mass[i] = 0;
            if (w->gas) w->gas[i] = 0;
            w->active[i] = 0;
            w->there[i] = 0;
        }
    }
    free(wanted);
    free(was);
}

// Makes all bricks of a box live that have an open cell.
static void make_live(plain_world *w, weir_box box)
{
    plain_grid *g = &w->grid;
    for (int32_t z = box.min.z & ~7; z < box.max.z; z += 8)
        for (int32_t y = box.min.y & ~7; y < box.max.y; y += 8)
            for (int32_t x = box.min.x & ~7; x < box.max.x; x += 8) {
                int64_t first = plain_index(g, (weir_coord){x, y, z});
                bool any_open = false;
                EACH_CELL_OF(g, first, i) any_open |= w->open[i];
                if (any_open) g->live[plain_brick_of(g, first)] = 1;
            }
}

// ---- Edits -----------------------------------------------------------------------------------------------------------------

static weir_box clip(const plain_world *w, weir_box b)
{
    const int32_t end = WEIR_COORD_LIMIT;
    weir_box to = w->bounded ? w->bounds : (weir_box){{-end, -end, -end}, {end, end, end}};
    if (b.min.x < to.min.x) b.min.x = to.min.x;
    if (b.min.y < to.min.y) b.min.y = to.min.y;
    if (b.min.z < to.min.z) b.min.z = to.min.z;
    if (b.max.x > to.max.x) b.max.x = to.max.x;
    if (b.max.y > to.max.y) b.max.y = to.max.y;
    if (b.max.z > to.max.z) b.max.z = to.max.z;
    return b;
}

static bool in_shape(plain_shape shape, weir_coord c)
{
    if (!inside(shape.box, c)) return false;
    double radius = shape.sphere.radius;
    if (radius <= 0) return true;
    double x = c.x + 0.5 - shape.sphere.centre.x, y = c.y + 0.5 - shape.sphere.centre.y, z = c.z + 0.5 - shape.sphere.centre.z;
    return x * x + y * y + z * z <= radius * radius;
}

// Every cell of a box, in the order of coordinates.
#define EACH_COORD(box, c)                                   \
    for (weir_coord c = (box).min; c.z < (box).max.z; c.z++) \
        for (c.y = (box).min.y; c.y < (box).max.y; c.y++)    \
            for (c.x = (box).min.x; c.x < (box).max.x; c.x++)

// Flow between two dry cells is nothing's flow.
static void still_dry_faces(plain_world *w, int64_t i)
{
    for (int axis = 0; axis < 3; axis++) {
        int64_t step = w->grid.step[axis];
        if (w->mass[i] == 0 && w->mass[i - step] == 0) w->flow[axis][i] = 0.0f;
        if (w->mass[i] == 0 && w->mass[i + step] == 0) w->flow[axis][i + step] = 0.0f;
    }
}

// Standing pressure under what a fill added to a column, `top` being its highest cell in the fill's box, of so many: from the top of
// each run of wet cells down, if something carries it.
static void stand(plain_world *w, plain_down down, int64_t top, int32_t height, int64_t added)
{
    const int64_t step = down.sign * w->grid.step[down.axis];
    const float more = (float)((double)added / PLAIN_FULL);
    if (more < 0.5f) return;
    int64_t first = top, end = top + height * step;
    while (w->mass[first] > 0) first -= step, height++;
    for (first += step; (end - first) / step > 0;) {
        int64_t bottom = first, above = 0;
        while (w->mass[bottom] > 0) bottom += step;
        for (int64_t i = first; i != bottom && !w->open[bottom]; i += step) {
            above += w->mass[i] < PLAIN_FULL ? w->mass[i] : PLAIN_FULL;
            if (w->sleep.rest[plain_brick_of(&w->grid, i)].asleep) continue;
            float p = w->pressure[i], head = down.head * (float)((double)above / PLAIN_FULL);
            w->pressure[i] = plain_most(p, plain_least(head, p + down.head * more));
            if (w->pressure[i] - p > 4.0f * down.head) w->cycles_next = 0;
        }
        first = bottom + step;
    }
}

// Drops in a column of a shape, and how many cells of its box lie on it.
static int64_t in_column(const plain_world *w, plain_shape shape, int32_t axis, weir_coord at)
{
    int64_t sum = 0;
    EACH_COORD(shape.box, c)
    {
        bool on = (axis == 0 || c.x == at.x) && (axis == 1 || c.y == at.y) && (axis == 2 || c.z == at.z);
        if (on && in_shape(shape, c)) sum += w->mass[plain_index(&w->grid, c)];
    }
    return sum;
}

// What a fill brings cells to: the same everywhere, or what a reservoir's level leaves in them.
typedef struct plain_amount {
    int32_t drops;
    const plain_source *reservoir;
} plain_amount;

static void fill_cells(plain_world *w, plain_shape shape, plain_amount amount);

// Fills what is live already.
static void fill_shape(plain_world *w, plain_shape shape, plain_amount amount)
{
    const plain_down down = plain_find_down(&w->params);
    plain_sleep_wake(w, shape.box);
    if (w->solver != WEIR_SOLVER_MOMENTUM || w->params.momentum.gas > 0.0f || down.sign == 0 ||
        (amount.drops == 0 && !amount.reservoir)) {
        fill_cells(w, shape, amount);
        return;
    }
    // A column for every cell on the side of the box that gravity points away from.
    weir_box side = shape.box;
    const int32_t size[3] = {side.max.x - side.min.x, side.max.y - side.min.y, side.max.z - side.min.z};
    int32_t *low = down.axis == 0 ? &side.min.x : down.axis == 1 ? &side.min.y : &side.min.z;
    int32_t *high = down.axis == 0 ? &side.max.x : down.axis == 1 ? &side.max.y : &side.max.z;
    if (down.sign < 0)
        *low = *high - 1;
    else
        *high = *low + 1;
    int64_t *before = calloc((size_t)w->grid.all_cells, sizeof *before);
    EACH_COORD(side, c) before[plain_index(&w->grid, c)] = in_column(w, shape, down.axis, c);
    fill_cells(w, shape, amount);
    EACH_COORD(side, c)
    {
        int64_t i = plain_index(&w->grid, c);
        stand(w, down, i, size[down.axis], in_column(w, shape, down.axis, c) - before[i]);
    }
    free(before);
}

// What a cell holds under a level: water lies on the side to which gravity points, or below where there is none.
static int32_t drops_under(const plain_world *w, const plain_source *reservoir, weir_coord c)
{
    const plain_down down = plain_find_down(&w->params);
    const int64_t at = down.axis == 0 ? c.x : down.axis == 1 ? c.y : c.z;
    const int64_t depth = down.sign > 0 ? (at + 1) * PLAIN_FULL - reservoir->level : reservoir->level - at * PLAIN_FULL;
    return depth < 0 ? 0 : depth > PLAIN_FULL ? PLAIN_FULL : (int32_t)depth;
}

bool plain_wants_water(const plain_world *w, const plain_source *reservoir, int64_t brick)
{
    bool wants = false;
    EACH_CELL_OF(&w->grid, plain_first_of(&w->grid, brick), i)
    {
        const weir_coord c = plain_at(&w->grid, i);
        wants |= w->open[i] && inside(reservoir->box, c) && drops_under(w, reservoir, c) > 0;
    }
    return wants;
}

void plain_fill(plain_world *w, plain_shape shape, float fill)
{
    const plain_amount amount = {.drops = (int32_t)((double)fill * PLAIN_FULL + 0.5)};
    shape.box = clip(w, shape.box);
    if (amount.drops > 0) make_live(w, shape.box);
    fill_shape(w, shape, amount);
}

static void fill_cells(plain_world *w, plain_shape shape, plain_amount amount)
{
    EACH_COORD(shape.box, c)
    {
        int64_t i = plain_index(&w->grid, c);
        const int32_t drops = amount.reservoir ? drops_under(w, amount.reservoir, c) : amount.drops;
        if (!w->open[i] || !in_shape(shape, c) || w->mass[i] == drops) continue;
        if (drops > w->mass[i])
            w->added += drops - w->mass[i];
        else
            w->removed += w->mass[i] - drops;
        w->mass[i] = drops;
        if (drops == 0) w->pressure[i] = 0.0f;
    }
    if (amount.drops == 0) EACH_COORD(shape.box, c) if (in_shape(shape, c)) still_dry_faces(w, plain_index(&w->grid, c));
}

// A cell that becomes solid loses its water to the account and keeps nothing.
static void shut(plain_world *w, int64_t i)
{
    w->removed += w->mass[i];
    w->mass[i] = 0;
    if (w->gas) w->gas[i] = 0;
    w->pressure[i] = 0.0f;
    for (int axis = 0; axis < 3; axis++) w->flow[axis][i] = w->flow[axis][i + w->grid.step[axis]] = 0.0f;
}

// The part of a shape that lies in one brick.
static void build_brick(plain_world *w, plain_shape shape, uint8_t share)
{
    bool any = false;
    EACH_COORD(shape.box, c) any |= in_shape(shape, c);
    if (!any) return;
    plain_sleep_wake(w, shape.box);
    EACH_COORD(shape.box, c)
    {
        int64_t i = plain_index(&w->grid, c);
        if (!in_shape(shape, c)) continue;
        w->share[i] = share;
        bool open = share < 128 && bounds_open(w, c);
        if (w->open[i] && !open) shut(w, i);
        w->open[i] = open;
    }
}

static weir_box meet(weir_box a, weir_box b)
{
    if (a.min.x < b.min.x) a.min.x = b.min.x;
    if (a.min.y < b.min.y) a.min.y = b.min.y;
    if (a.min.z < b.min.z) a.min.z = b.min.z;
    if (a.max.x > b.max.x) a.max.x = b.max.x;
    if (a.max.y > b.max.y) a.max.y = b.max.y;
    if (a.max.z > b.max.z) a.max.z = b.max.z;
    return a;
}

// Brick by brick: those beside one that changes wake before the next one does.
void plain_build(plain_world *w, plain_shape shape, uint8_t share)
{
    const weir_box all = clip(w, shape.box);
    for (int32_t z = all.min.z & ~7; z < all.max.z; z += 8)
        for (int32_t y = all.min.y & ~7; y < all.max.y; y += 8)
            for (int32_t x = all.min.x & ~7; x < all.max.x; x += 8) {
                shape.box = meet(all, (weir_box){{x, y, z}, {x + 8, y + 8, z + 8}});
                build_brick(w, shape, share);
            }
    w->cycles_next = 0;
}

void plain_disturb(plain_world *w, weir_box box)
{
    plain_sleep_wake(w, clip(w, box));
    w->cycles_next = 0;
}

// What rests under gravity does not rest under another.
void plain_set(plain_world *w, const char *name, double value)
{
    weir_params params = w->params;
    if (weir_params_set(&params, w->solver, name, value) != WEIR_OK) return;
    const weir_vec a = w->params.gravity, b = params.gravity;
    if (a.x != b.x || a.y != b.y || a.z != b.z) {
        weir_coord low = w->grid.low;
        plain_sleep_wake(w,
                         (weir_box){{low.x + 8, low.y + 8, low.z + 8},
                                    {low.x + w->grid.size[0] - 8, low.y + w->grid.size[1] - 8, low.z + w->grid.size[2] - 8}});
    }
    w->params = params;
}

void plain_set_flow(plain_world *w, weir_box box, weir_vec flow)
{
    find_live(w, false);
    float speed = w->solver == WEIR_SOLVER_CLASSIC ? 0.5f : 1.0f;
    const float to[3] = {flow.x / speed + 0.0f, flow.y / speed + 0.0f, flow.z / speed + 0.0f};
    box = clip(w, box);
    plain_sleep_wake(w, box);
    EACH_COORD(box, c)
    {
        int64_t i = plain_index(&w->grid, c);
        if (w->mass[i] == 0) continue;
        for (int axis = 0; axis < 3; axis++) {
            int64_t step = w->grid.step[axis];
            w->flow[axis][i] = w->open[i - step] ? to[axis] : 0.0f;
            w->flow[axis][i + step] = w->open[i + step] ? to[axis] : 0.0f;
        }
    }
    float most = 0.0f;
    for (int axis = 0; axis < 3; axis++) most = plain_most(most, fabsf(to[axis]));
    int32_t needed = w->solver == WEIR_SOLVER_MOMENTUM ? plain_substeps(w, most) : 0;
    if (needed > w->substeps_next) w->substeps_next = needed;
}

void plain_add(plain_world *w, plain_kind kind, weir_box box, float rate, weir_vec force)
{
    assert(w->source_count < PLAIN_SOURCES);
    w->sources[w->source_count++] = (plain_source){.kind = kind,
                                                   .id = w->next_id++,
                                                   .box = clip(w, box),
                                                   .rate = (int64_t)((double)rate * 65536.0 * PLAIN_FULL + 0.5),
                                                   .force = force};
}

void plain_remove(plain_world *w, int32_t id)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < w->source_count; i++)
        if (w->sources[i].id != id) w->sources[kept++] = w->sources[i];
    w->source_count = kept;
}

// The bricks that it puts water into are live; when it is added also those of which all cells there are solid.
static void make_reservoir_live(plain_world *w, const plain_source *reservoir, bool added)
{
    const weir_box b = reservoir->box;
    for (int32_t z = b.min.z & ~7; z < b.max.z; z += 8)
        for (int32_t y = b.min.y & ~7; y < b.max.y; y += 8)
            for (int32_t x = b.min.x & ~7; x < b.max.x; x += 8) {
                const weir_box part = meet(b, (weir_box){{x, y, z}, {x + 8, y + 8, z + 8}});
                bool wants = false;
                EACH_COORD(part, c)
                wants |= (added || w->open[plain_index(&w->grid, c)]) && drops_under(w, reservoir, c) > 0;
                if (wants) make_live(w, part);
            }
}

void plain_add_reservoir(plain_world *w, weir_box box, double level)
{
    plain_add(w, PLAIN_RESERVOIR, box, 0, (weir_vec){0, 0, 0});
    plain_source *reservoir = &w->sources[w->source_count - 1];
    reservoir->level = (int64_t)floor(level * PLAIN_FULL + 0.5);
    make_reservoir_live(w, reservoir, true);
    fill_shape(w, (plain_shape){.box = reservoir->box}, (plain_amount){.reservoir = reservoir});
}

// ---- Emitters and drains ---------------------------------------------------------------------------------------------------

static int32_t capacity(const plain_world *w, const plain_source *source, int64_t i)
{
    if (source->kind == PLAIN_DRAIN) return w->mass[i];
    const int32_t full = w->params.momentum.gas > 0.0f ? (int32_t)(3.984375f * PLAIN_FULL) : PLAIN_FULL;
    return w->open[i] && w->mass[i] < full ? full - w->mass[i] : 0;
}

static int64_t moved_at(const plain_world *w, const plain_source *source, int64_t level)
{
    int64_t sum = 0;
    EACH_COORD(source->box, c)
    {
        int32_t most = capacity(w, source, plain_index(&w->grid, c));
        sum += most < level ? most : level;
    }
    return sum;
}

// Every cell moves the same number of drops, or as many as it can; what is left then goes, a drop each, to the first cells that can
// move another one: bricks in the order of coordinates, and in a brick its cells.
static void move_drops(plain_world *w, const plain_source *source, int64_t drops)
{
    int64_t low = 0, high = INT32_MAX;  // moved_at(low) <= drops
    if (moved_at(w, source, high) <= drops) low = high;
    while (low < high - 1) {
        int64_t middle = (low + high) / 2;
        if (moved_at(w, source, middle) <= drops)
            low = middle;
        else
            high = middle;
    }
    int64_t rest = drops - moved_at(w, source, low), moved = 0;
    weir_box b = source->box;
    for (int32_t z = b.min.z & ~7; z < b.max.z; z += 8)
        for (int32_t y = b.min.y & ~7; y < b.max.y; y += 8)
            for (int32_t x = b.min.x & ~7; x < b.max.x; x += 8)
                EACH_CELL_OF(&w->grid, plain_index(&w->grid, (weir_coord){x, y, z}), i)
                {
                    if (!inside(b, plain_at(&w->grid, i))) continue;
                    int32_t most = capacity(w, source, i);
                    int32_t part = most < low ? most : (int32_t)low;
                    if (most > low && rest > 0) part++, rest--;
                    w->mass[i] += source->kind == PLAIN_DRAIN ? -part : part;
                    moved += part;
                }
    *(source->kind == PLAIN_DRAIN ? &w->removed : &w->added) += moved;
}

// ---- After the move --------------------------------------------------------------------------------------------------------

static void drain_open_sides(plain_world *w)
{
    if (!w->bounded || !w->open_sides) return;
    EACH_CELL(&w->awake, i)
    {
        if (inside(w->bounds, plain_at(&w->grid, i))) continue;
        w->drained += w->mass[i];
        w->mass[i] = 0;
        w->m2[i] = 0.0f;
    }
}

// R5: u' = u + nu * sum(neighbour - u) over the six faces beside it whose two cells hold more than half a cell together.
static void viscosity(plain_world *w)
{
    const plain_grid *g = &w->grid;
    float *next = calloc((size_t)g->all_cells, sizeof *next);
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = g->step[axis];
        float *u = w->flow2[axis];
        const float *m = w->m2;
#define PULL(step) ((m[i + (step)] + m[i + (step)-A] > 0.5f ? 1.0f : 0.0f) * (u[i + (step)] - u[i]))
        EACH_CELL(g, i)
        {
            float x = PULL(-g->step[0]) + PULL(g->step[0]), y = PULL(-g->step[1]) + PULL(g->step[1]);
            float z = PULL(-g->step[2]) + PULL(g->step[2]), open = (float)(w->there[i - A] * w->there[i]);
            next[i] = open * (u[i] + w->params.momentum.viscosity * ((x + z) + y));
        }
#undef PULL
        EACH_CELL(g, i) u[i] = next[i];
    }
    free(next);
}

static uint32_t mix(uint32_t a)
{
    a = (a ^ a >> 16) * 0x7feb352du;
    a = (a ^ a >> 15) * 0x846ca68bu;
    return a ^ a >> 16;
}

// A number from -1 to 1 of a face, for this update.
static float noise_at(const plain_world *w, weir_coord c, int axis)
{
    uint32_t h = mix((uint32_t)c.z ^ mix((uint32_t)axis + w->params.noise_seed));
    h = mix(mix((uint32_t)c.x ^ mix((uint32_t)c.y ^ h)) ^ (uint32_t)w->update);
    return (float)((int32_t)(h >> 8) - 8388608) / 8388608.0f;
}

// R5: forces on what touches water, then noise on all but the vertical flow.
static void forces_and_noise(plain_world *w)
{
    const plain_grid *g = &w->grid;
    const float scale = w->solver == WEIR_SOLVER_CLASSIC ? 2.0f : w->force_share;
    const plain_down down = plain_find_down(&w->params);
    EACH_CELL(g, i)
    {
        weir_coord c = plain_at(g, i);
        float push[3] = {0, 0, 0};
        for (int32_t k = 0; k < w->source_count; k++) {
            if (w->sources[k].kind != PLAIN_FORCE || !inside(w->sources[k].box, c)) continue;
            push[0] += w->sources[k].force.x;
            push[1] += w->sources[k].force.y;
            push[2] += w->sources[k].force.z;
        }
        for (int axis = 0; axis < 3; axis++) {
            int64_t l = i - g->step[axis];
            float *u = &w->flow2[axis][i];
            if (w->m2[l] + w->m2[i] > w->params.empty) *u += (float)(w->there[l] * w->there[i]) * (push[axis] * scale);
            if (w->params.noise > 0.0f && axis != down.axis) *u *= 1.0f + w->params.noise * noise_at(w, c, axis);
        }
    }
}

void plain_after_move(plain_world *w)
{
    bool forces = false;
    for (int32_t k = 0; k < w->source_count; k++) forces |= w->sources[k].kind == PLAIN_FORCE;
    drain_open_sides(w);
    if (w->solver == WEIR_SOLVER_MOMENTUM && w->params.momentum.viscosity > 0.0f) viscosity(w);
    if (forces || w->params.noise > 0.0f) forces_and_noise(w);
}

plain_down plain_find_down(const weir_params *params)
{
    const float gravity[3] = {params->gravity.x, params->gravity.y, params->gravity.z};
    float size[3];
    for (int axis = 0; axis < 3; axis++) size[axis] = gravity[axis] < 0.0f ? -gravity[axis] : gravity[axis];
    // Of equals y comes first, then x.
    int32_t axis = size[0] > size[1] ? 0 : 1;
    if (size[2] > size[axis]) axis = 2;
    int32_t sign = gravity[axis] < 0.0f ? -1 : gravity[axis] > 0.0f ? 1 : 0;
    return (plain_down){axis, sign, size[axis], 1.0f / plain_most(size[axis], 1e-9f)};
}

// ---- One update ------------------------------------------------------------------------------------------------------------

// Those that are awake, with the rim around them.
static void list_bricks(plain_world *w)
{
    memcpy(w->awake.live, w->grid.live, (size_t)(w->grid.all_cells / 512));
    for (int64_t b = 0; b < w->grid.all_cells / 512; b++) w->awake.live[b] &= w->sleep.phase[b] == PLAIN_AWAKE;
    plain_grid_list(&w->awake);
    plain_grid_list_phase(&w->grid, w->sleep.phase, PLAIN_RIM);
}

// What is awake comes back to the level: cells are filled up to it, and what is over it is taken.
static void keep(plain_world *w, const plain_source *reservoir)
{
    plain_sleep_forgive(w, reservoir->box);
    EACH_COORD(reservoir->box, c)
    {
        const int64_t i = plain_index(&w->grid, c), brick = plain_brick_of(&w->grid, i);
        if (!w->open[i] || !w->grid.live[brick] || w->sleep.phase[brick] != PLAIN_AWAKE) continue;
        const int32_t drops = drops_under(w, reservoir, c);
        if (drops == PLAIN_FULL && w->mass[i] > drops) continue;
        *(drops > w->mass[i] ? &w->added : &w->removed) += abs(drops - w->mass[i]);
        w->mass[i] = drops;
    }
}

static void pour_sources(plain_world *w)
{
    for (int32_t k = 0; k < w->source_count; k++) {
        plain_source *source = &w->sources[k];
        if (source->kind == PLAIN_FORCE) continue;
        if (source->kind == PLAIN_RESERVOIR) {
            keep(w, source);
            continue;
        }
        int64_t owed = source->owed + source->rate;
        source->owed = owed % 65536;
        if (owed / 65536 > 0) move_drops(w, source, owed / 65536);
    }
}

static void update_all(plain_world *w)
{
    list_bricks(w);
    plain_sleep_hide(w);
    memset(w->there, 0, (size_t)w->grid.all_cells);
    EACH_CELL(&w->grid, i) w->there[i] = w->open[i];
    if (w->awake.bricks > 0 && w->solver == WEIR_SOLVER_CLASSIC) plain_classic_update(w);
    if (w->awake.bricks > 0 && w->solver == WEIR_SOLVER_MOMENTUM) plain_momentum_update(w);
    plain_sleep_unhide(w);
    plain_grid_list(&w->grid);
}

void plain_step(plain_world *w)
{
    find_live(w, true);
    for (int32_t k = 0; k < w->source_count; k++) {
        plain_source *source = &w->sources[k];
        if (source->kind == PLAIN_EMITTER && (source->owed + source->rate) >> 16 > 0) make_live(w, source->box);
        if (source->kind == PLAIN_RESERVOIR) make_reservoir_live(w, source, false);
    }
    plain_sleep_plan(w);
    pour_sources(w);
    plain_sleep_commit(w);
    update_all(w);
    plain_sleep_note(w);
    if (w->grid.bricks == 0) w->cycles_next = w->substeps_next = 0;
    w->update++;
}
