// Making, playing and printing recipes. See recipe.h.
#include "recipe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- Chance ----------------------------------------------------------------------------------------------------------------

typedef struct chance {
    uint64_t state;
} chance;

static uint32_t next(chance *c)
{
    c->state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t a = c->state;
    a = (a ^ a >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    a = (a ^ a >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)((a ^ a >> 31) >> 32);
}

// A whole number, both ends included.
static int32_t whole(chance *c, int32_t low, int32_t high)
{
    return low + (int32_t)(next(c) % (uint32_t)(high - low + 1));
}

static bool one_in(chance *c, int32_t n)
{
    return whole(c, 1, n) == 1;
}

static float number(chance *c, float low, float high)
{
    return low + (high - low) * ((float)(next(c) >> 8) / 16777216.0f);
}

#define PICK(c, array) ((array)[whole(c, 0, (int32_t)(sizeof(array) / sizeof((array)[0])) - 1)])

// ---- Making ----------------------------------------------------------------------------------------------------------------

typedef struct maker {
    recipe *r;
    chance *c;
    weir_box room;     // in which things are put
    int32_t added;     // emitters, drains, forces and reservoirs so far
    int32_t substeps;  // that an update may take
} maker;

static recipe_step *add(maker *m, step_kind kind)
{
    static recipe_step full;
    recipe_step *step = m->r->count < RECIPE_STEPS ? &m->r->steps[m->r->count++] : &full;
    *step = (recipe_step){.kind = kind};
    return step;
}

// A box of at most so many cells on each axis, within the room or a little over its edge.
static weir_box some_box(maker *m, int32_t most)
{
    int32_t low[3], high[3];
    const int32_t min[3] = {m->room.min.x, m->room.min.y, m->room.min.z},
                  max[3] = {m->room.max.x, m->room.max.y, m->room.max.z};
    for (int axis = 0; axis < 3; axis++) {
        low[axis] = whole(m->c, min[axis], max[axis] - 1);
        high[axis] = low[axis] + whole(m->c, 1, most);
        if (high[axis] > max[axis]) high[axis] = max[axis];
    }
    return (weir_box){{low[0], low[1], low[2]}, {high[0], high[1], high[2]}};
}

// A brick of the world's grid, cut to the room.
static weir_box some_brick(maker *m)
{
    weir_box b = some_box(m, 1);
    b.min = (weir_coord){b.min.x & ~7, b.min.y & ~7, b.min.z & ~7};
    b.max = (weir_coord){b.min.x + 8, b.min.y + 8, b.min.z + 8};
    return b;
}

// A line of cells along an axis, one wide.
static weir_box some_shaft(maker *m)
{
    weir_box b = some_box(m, 1);
    int32_t length = whole(m->c, 4, 30);
    switch (whole(m->c, 0, 2)) {
    case 0: b.max.x = b.min.x + length; break;
    case 1: b.max.y = b.min.y + length; break;
    default: b.max.z = b.min.z + length; break;
    }
    if (b.max.x > m->room.max.x) b.max.x = m->room.max.x;
    if (b.max.y > m->room.max.y) b.max.y = m->room.max.y;
    if (b.max.z > m->room.max.z) b.max.z = m->room.max.z;
    return b;
}

static int32_t cell_at(double coordinate)
{
    return (int32_t)floor(coordinate);
}

static plain_shape some_shape(maker *m, int32_t most)
{
    plain_shape shape = {.box = some_box(m, most)};
    if (!one_in(m->c, 3)) return shape;
    weir_coord at = shape.box.min;
    float radius = number(m->c, 0.5f, 0.5f * (float)most + 1.0f);
    shape.sphere =
        (weir_sphere){{at.x + (double)number(m->c, 0, 1), at.y + (double)number(m->c, 0, 1), at.z + (double)number(m->c, 0, 1)},
                      (double)radius};
    // The box of the columns that a fill makes stand: as tight as the public face has it.
    const weir_point c = shape.sphere.centre;
    shape.box =
        (weir_box){{cell_at(c.x - shape.sphere.radius), cell_at(c.y - shape.sphere.radius), cell_at(c.z - shape.sphere.radius)},
                   {cell_at(c.x + shape.sphere.radius) + 1, cell_at(c.y + shape.sphere.radius) + 1,
                    cell_at(c.z + shape.sphere.radius) + 1}};
    return shape;
}

static uint8_t some_share(maker *m)
{
    static const uint8_t shares[] = {255, 255, 255, 255, 128, 127, 200, 1};
    return PICK(m->c, shares);
}

static void build(maker *m, plain_shape shape, uint8_t share)
{
    recipe_step *step = add(m, STEP_BUILD);
    step->shape = shape;
    step->share = share;
}

static void make_terrain(maker *m)
{
    chance *c = m->c;
    const plain_shape all = {.box = m->room};
    // Solid at first, or open.
    bool solid = one_in(c, 2);
    if (solid) build(m, all, 255);
    int32_t kinds = whole(c, solid ? 1 : 0, 3);
    for (int32_t k = 0; k < kinds; k++) {
        switch (whole(c, 0, 6)) {
        case 0:  // bricks dug open, or built
            for (int32_t n = whole(c, 1, 14); n > 0; n--)
                build(m, (plain_shape){.box = some_brick(m)}, solid ? 0 : some_share(m));
            break;
        case 1:  // caves
            for (int32_t n = whole(c, 1, 8); n > 0; n--) build(m, some_shape(m, 14), one_in(c, 4) ? some_share(m) : 0);
            break;
        case 2:  // single cells
            for (int32_t n = whole(c, 1, 12); n > 0; n--)
                build(m, (plain_shape){.box = some_box(m, 1)}, one_in(c, 2) ? some_share(m) : 0);
            break;
        case 3: {  // a slab, with a hole
            weir_box slab = m->room, hole = some_box(m, 3);
            int32_t y = whole(c, slab.min.y, slab.max.y - 1);
            slab.min.y = hole.min.y = y;
            slab.max.y = hole.max.y = y + 1;
            build(m, (plain_shape){.box = slab}, 255);
            build(m, (plain_shape){.box = hole}, 0);
            break;
        }
        case 4: {  // a pattern of cells
            recipe_step *step = add(m, STEP_PATTERN);
            step->shape.box = some_box(m, 20);
            step->share = 255;
            step->pattern = (recipe_pattern)whole(c, 0, PATTERN_COUNT - 1);
            break;
        }
        case 5:  // overhangs
            for (int32_t n = whole(c, 1, 5); n > 0; n--) build(m, (plain_shape){.box = some_box(m, 16)}, some_share(m));
            break;
        default:  // shafts and tunnels, one cell wide
            for (int32_t n = whole(c, 1, 6); n > 0; n--) build(m, (plain_shape){.box = some_shaft(m)}, one_in(c, 4) ? 255 : 0);
            break;
        }
    }
}

static float some_fill(maker *m)
{
    switch (whole(m->c, 0, 7)) {
    case 0: return number(m->c, 0, 1);
    case 1: return 1.0f / 4194304.0f * (float)whole(m->c, 1, 500);
    case 2: return 0.5f;
    case 3: return number(m->c, 0, 0.06f);
    default: return 1.0f;
    }
}

static weir_vec some_vec(maker *m, float most)
{
    weir_vec v = {number(m->c, -most, most), number(m->c, -most, most), number(m->c, -most, most)};
    if (one_in(m->c, 3)) v.x = 0;
    if (one_in(m->c, 3)) v.z = 0;
    return v;
}

static void fill(maker *m)
{
    recipe_step *step = add(m, STEP_FILL);
    step->shape = some_shape(m, whole(m->c, 1, 3) == 1 ? 4 : 20);
    step->value = m->r->gas && one_in(m->c, 2) ? number(m->c, 0, 3.98f) : some_fill(m);
}

// Sets water in motion, often faster than it would come to be in so few updates.
static void flow(maker *m)
{
    recipe_step *step = add(m, STEP_FLOW);
    step->shape.box = some_box(m, 20);
    step->vec = some_vec(m, one_in(m->c, 6) ? 3.0f : one_in(m->c, 3) ? 0.6f : 0.15f);
}

static void set(maker *m, const char *name, float value)
{
    recipe_step *step = add(m, STEP_SET);
    step->name = name;
    step->value = value;
}

// Bricks dug open in solid terrain, about a third of them, with water in some: pieces of work that touch at edges and corners and lie in each
// other's boxes.
static void make_brick_caves(maker *m)
{
    chance *c = m->c;
    build(m, (plain_shape){.box = m->room}, 255);
    for (int32_t n = whole(c, 20, 70); n > 0; n--) {
        weir_box brick = some_brick(m);
        build(m, (plain_shape){.box = brick}, 0);
        if (one_in(c, 2)) continue;
        recipe_step *step = add(m, STEP_FILL);
        step->shape.box = brick;
        step->shape.box.max.y -= whole(c, 0, 7);
        step->value = 1.0f;
    }
}

static void make_gravity(maker *m)
{
    chance *c = m->c;
    static const float sizes[] = {0.01f, 0.002f, 0.1f, 1.0f, 0.0f, 1e-6f};
    float g = PICK(c, sizes);
    switch (whole(c, 0, 3)) {
    case 0: set(m, "gravity.y", g); break;
    case 1:
        set(m, "gravity.y", 0);
        set(m, one_in(c, 2) ? "gravity.x" : "gravity.z", one_in(c, 2) ? g : -g);
        break;
    case 2:
        set(m, "gravity.x", number(c, -g, g));
        set(m, "gravity.y", number(c, -g, g));
        set(m, "gravity.z", number(c, -g, g));
        break;
    default: set(m, "gravity.y", -g); break;
    }
}

// Some of the parameters, anywhere in their ranges.
static void make_params(maker *m)
{
    chance *c = m->c;
    const bool momentum = m->r->solver == WEIR_SOLVER_MOMENTUM;
    static const float tolerances[] = {0.0f, 1e-5f, 0.001f, 0.05f, 1.0f};
    if (one_in(c, 3)) make_gravity(m);
    if (one_in(c, 6)) set(m, "damping", one_in(c, 2) ? 0.0f : number(c, 0, 1));
    if (one_in(c, 5)) set(m, "noise", number(c, 0, one_in(c, 3) ? 1.0f : 0.1f));
    if (one_in(c, 8)) set(m, "noise_seed", (float)whole(c, 0, 1000000));
    if (one_in(c, 6)) set(m, "empty", one_in(c, 2) ? 0.0f : number(c, 0, 0.1f));
    if (one_in(c, 6)) set(m, "max_flow", number(c, 0, !momentum ? 1.0f / 3.0f : one_in(c, 2) ? 1.0f : 8.0f));
    if (!momentum) {
        if (one_in(c, 2)) set(m, "iterations", (float)whole(c, 1, one_in(c, 4) ? 40 : 13));
        return;
    }
    if (m->r->gas && one_in(c, 6)) set(m, "gas", one_in(c, 2) ? 0.2f : number(c, 1e-6f, 0.2f));
    if (one_in(c, 4)) set(m, "substeps", (float)whole(c, 1, m->substeps));
    if (one_in(c, 4)) set(m, "friction", one_in(c, 2) ? 0.0f : number(c, 0, 1));
    if (one_in(c, 4)) set(m, "damping_flow", one_in(c, 3) ? 0.0f : number(c, 0, one_in(c, 3) ? 16.0f : 1.0f));
    if (one_in(c, 3)) set(m, "film", one_in(c, 4) ? 0.0f : number(c, 0, one_in(c, 2) ? 0.5f : 0.1f));
    if (one_in(c, 3)) set(m, "sleep", one_in(c, 3) ? 0.0f : number(c, 0, one_in(c, 2) ? 1.0f : 0.1f));
    if (one_in(c, 4)) set(m, "viscosity", number(c, 0, 1.0f / 6.0f));
    if (one_in(c, 4)) set(m, "smooths", (float)whole(c, 1, one_in(c, 4) ? 16 : 4));
    if (one_in(c, 4)) set(m, "cycles", (float)whole(c, 1, one_in(c, 4) ? 16 : 3));
    if (one_in(c, 3)) set(m, "tolerance", PICK(c, tolerances));
    if (one_in(c, 6)) set(m, "excess_rate", number(c, 0, 1));
    if (one_in(c, 6)) set(m, "excess_cap", number(c, 0, 1));
    if (one_in(c, 6)) set(m, "fill_cap", number(c, 1, 2));
    if (one_in(c, 6)) set(m, "dust", one_in(c, 2) ? 0.0f : number(c, 0, 0.1f));
}

static void make_source(maker *m)
{
    chance *c = m->c;
    step_kind kind = (step_kind)(STEP_EMITTER + whole(c, 0, 3));
    recipe_step *step = add(m, kind);
    step->shape.box = some_box(m, one_in(c, 3) ? 12 : 4);
    if (kind == STEP_RESERVOIR) {
        // Gravity may be along any axis; some levels lie outside the box.
        const weir_box b = step->shape.box;
        const int axis = one_in(c, 2) ? 1 : whole(c, 0, 2);
        const int32_t low = axis == 0 ? b.min.x : axis == 1 ? b.min.y : b.min.z;
        const int32_t high = axis == 0 ? b.max.x : axis == 1 ? b.max.y : b.max.z;
        step->count = whole(c, low - 1, high);
        step->value = one_in(c, 3) ? 0.0f : number(c, 0, 1);
        m->added++;
        return;
    }
    step->value = one_in(c, 4) ? number(c, 1e-7f, 1e-3f) : number(c, 0.01f, 20.0f);
    if (kind == STEP_FORCE) step->vec = some_vec(m, one_in(c, 4) ? 1.0f : 0.05f);
    m->added++;
}

// Something that a game does between updates.
static void make_edit(maker *m)
{
    chance *c = m->c;
    switch (whole(c, 0, 9)) {
    case 0:
    case 1: fill(m); break;
    case 2: {
        recipe_step *step = add(m, STEP_FILL);
        step->shape = some_shape(m, 12);
        break;
    }
    case 3: build(m, some_shape(m, 8), some_share(m)); break;
    case 4: build(m, some_shape(m, 8), 0); break;
    case 5: flow(m); break;
    case 6: make_source(m); break;
    case 7:
        if (m->added > 0) add(m, STEP_REMOVE)->count = whole(c, 1, m->added);
        break;
    case 8: make_params(m); break;
    default:
        if (one_in(c, 3)) add(m, STEP_RELOAD);
        break;
    }
}

static void make_times(maker *m, int32_t left)
{
    chance *c = m->c;
    while (left > 0) {
        int32_t part = whole(c, 1, 6);
        if (part > left) part = left;
        add(m, STEP_UPDATES)->count = part;
        left -= part;
        for (int32_t n = left > 0 ? whole(c, 0, 2) : 0; n > 0; n--) make_edit(m);
    }
}

// ---- Calm worlds -----------------------------------------------------------------------------------------------------------
// Long basins of water that come to rest, and in which little happens then: most of it sleeps while some of it moves.

// Walls across a basin, some with a hole; pits and steps in its floor; shafts.
static void make_basin(maker *m, int32_t along)
{
    chance *c = m->c;
    for (int32_t n = whole(c, 0, 2); n > 0; n--) {
        weir_box wall = m->room;
        int32_t at = whole(c, (along == 0 ? wall.min.x : wall.min.z), (along == 0 ? wall.max.x : wall.max.z) - 1);
        *(along == 0 ? &wall.min.x : &wall.min.z) = at;
        *(along == 0 ? &wall.max.x : &wall.max.z) = at + whole(c, 1, 2);
        build(m, (plain_shape){.box = wall}, 255);
        if (one_in(c, 2)) build(m, (plain_shape){.box = some_box(m, 3)}, 0);
    }
    for (int32_t n = whole(c, 0, 3); n > 0; n--) build(m, some_shape(m, 9), one_in(c, 4) ? 0 : some_share(m));
    if (one_in(c, 3)) build(m, (plain_shape){.box = some_shaft(m)}, one_in(c, 2) ? 255 : 0);
}

// Fills a basin up to a level, over the side that gravity points to.
static void fill_basin(maker *m, weir_vec down)
{
    weir_box b = m->room;
    const int axis = down.x != 0 ? 0 : down.y != 0 ? 1 : 2;
    int32_t *low = axis == 0 ? &b.min.x : axis == 1 ? &b.min.y : &b.min.z;
    int32_t *high = axis == 0 ? &b.max.x : axis == 1 ? &b.max.y : &b.max.z;
    const int32_t depth = whole(m->c, 1, *high - *low);
    weir_box top;
    if (down.x + down.y + down.z < 0) {
        *high = *low + depth;
        top = b;
        *(axis == 0 ? &top.min.x : axis == 1 ? &top.min.y : &top.min.z) = *high - 1;
    } else {
        *low = *high - depth;
        top = b;
        *(axis == 0 ? &top.max.x : axis == 1 ? &top.max.y : &top.max.z) = *low + 1;
    }
    recipe_step *step = add(m, STEP_FILL);
    step->shape.box = b;
    step->value = 1.0f;
    if (one_in(m->c, 2)) return;
    step = add(m, STEP_FILL);
    step->shape.box = top;
    step->value = number(m->c, 0.05f, 1.0f);
}

// Small emitters and drains keep some water awake for ever; what they move is booked.
static void make_trickle(maker *m)
{
    recipe_step *step = add(m, one_in(m->c, 3) ? STEP_DRAIN : STEP_EMITTER);
    step->shape.box = some_box(m, 2);
    step->value = number(m->c, 0.001f, one_in(m->c, 3) ? 2.0f : 0.3f);
    m->added++;
}

static weir_vec make_calm_params(maker *m)
{
    chance *c = m->c;
    static const float flows[] = {0.01f, 0.05f, 0.2f, 0.5f, 0.5f};
    weir_vec down = {0, -0.01f, 0};
    set(m, "sleep", PICK(c, flows));
    if (one_in(c, 3)) {
        const float g = one_in(c, 3) ? 0.002f : 0.01f, signed_g = one_in(c, 2) ? g : -g;
        const int axis = whole(c, 0, 2);
        down = (weir_vec){axis == 0 ? signed_g : 0, axis == 1 ? signed_g : 0, axis == 2 ? signed_g : 0};
        set(m, "gravity.x", down.x);
        set(m, "gravity.y", down.y);
        set(m, "gravity.z", down.z);
    }
    if (one_in(c, 4)) set(m, "film", one_in(c, 3) ? 0.0f : number(c, 0, 0.2f));
    if (one_in(c, 6)) set(m, "viscosity", number(c, 0, 1.0f / 6.0f));
    if (one_in(c, 6)) set(m, "tolerance", one_in(c, 2) ? 0.0f : 0.05f);
    if (one_in(c, 6)) set(m, "substeps", (float)whole(c, 1, 8));
    return down;
}

// First it comes to rest, which takes three looks that are 32 updates apart.
static void make_calm_times(maker *m)
{
    chance *c = m->c;
    add(m, STEP_UPDATES)->count = whole(c, 60, 170);
    for (int32_t n = whole(c, 1, 4); n > 0; n--) {
        if (one_in(c, 4)) make_trickle(m);
        if (one_in(c, 6)) add(m, STEP_RELOAD);
        if (!one_in(c, 4)) make_edit(m);
        add(m, STEP_UPDATES)->count = whole(c, 1, one_in(c, 4) ? 80 : 30);
    }
}

static void make_calm(maker *m, int32_t along)
{
    const weir_vec down = make_calm_params(m);
    make_basin(m, along);
    fill_basin(m, down);
    if (one_in(m->c, 3)) make_trickle(m);
    if (one_in(m->c, 4)) fill(m);
    make_calm_times(m);
}

static int32_t far_away(chance *c)
{
    // The last ones reach over the end of the world.
    static const int32_t places[] = {0, 0, 0, 0, -13, -24, 5, 1000003, -99999992, WEIR_COORD_LIMIT - 20, 8 - WEIR_COORD_LIMIT};
    return PICK(c, places);
}

void recipe_make(recipe *r, uint64_t seed, bool calm)
{
    chance c = {seed * UINT64_C(0xd1342543de82ef95) + 1};
    *r = (recipe){.seed = seed, .solver = one_in(&c, 3) ? WEIR_SOLVER_CLASSIC : WEIR_SOLVER_MOMENTUM};
    int32_t size[3], at[3];
    for (int axis = 0; axis < 3; axis++) {
        size[axis] = whole(&c, 1, one_in(&c, 6) ? 60 : 26);
        at[axis] = far_away(&c);
    }
    // Most of the caves lie in one column of the move (src/compute/cpu.h), where most of its pieces meet.
    bool brick_caves = one_in(&c, 4), one_column = !one_in(&c, 4);
    for (int axis = 0; axis < 3 && brick_caves; axis++) {
        size[axis] = axis == 1 ? 16 : whole(&c, 24, 64);
        if (one_column) at[axis] &= axis == 1 ? ~15 : ~63;
    }
    if (one_in(&c, 10)) size[whole(&c, 0, 2)] = whole(&c, 100, 300);
    const int32_t along = calm && one_in(&c, 2) ? 0 : 2;
    for (int axis = 0; axis < 3 && calm; axis++)
        size[axis] = axis == along ? whole(&c, 16, 56) : whole(&c, 3, one_in(&c, 6) ? 32 : 14);
    if (calm) r->solver = WEIR_SOLVER_MOMENTUM;
    weir_box room = {{at[0], at[1], at[2]}, {at[0] + size[0], at[1] + size[1], at[2] + size[2]}};
    bool bounded = brick_caves || calm || !one_in(&c, 3);
    if (bounded) {
        const int32_t end = WEIR_COORD_LIMIT;
        r->bounds = room;
        if (r->bounds.max.x > end) r->bounds.max.x = end;
        if (r->bounds.max.y > end) r->bounds.max.y = end;
        if (r->bounds.max.z > end) r->bounds.max.z = end;
        if (one_in(&c, calm ? 8 : 2)) r->open_sides = next(&c) & next(&c) & 63;
    }
    // Water goes one cell far in a substep at most; where nothing bounds it the plain reading has to have room for that.
    maker m = {.r = r, .c = &c, .room = room, .substeps = bounded ? 8 : whole(&c, 1, 2)};
    if (!bounded && r->solver == WEIR_SOLVER_MOMENTUM) set(&m, "substeps", (float)m.substeps);
    if (!calm && r->solver == WEIR_SOLVER_MOMENTUM && seed % 6 == 5) {
        r->gas = true;
        set(&m, "gas", number(&c, 1e-3f, 0.2f));
    }
    if (calm) {
        make_calm(&m, along);
        r->reach =
            (weir_box){{room.min.x - 8, room.min.y - 8, room.min.z - 8}, {room.max.x + 8, room.max.y + 8, room.max.z + 8}};
        return;
    }
    if (one_in(&c, 2)) make_params(&m);
    if (one_in(&c, 6)) make_gravity(&m);
    if (brick_caves)
        make_brick_caves(&m);
    else
        make_terrain(&m);
    for (int32_t n = whole(&c, brick_caves ? 0 : 1, brick_caves ? 1 : 4); n > 0; n--) fill(&m);
    if (one_in(&c, 3)) make_source(&m);
    if (one_in(&c, 4)) make_source(&m);
    for (int32_t n = whole(&c, 0, 3); n > 0; n--) flow(&m);
    const bool fast = !bounded && m.substeps > 1;
    make_times(&m, brick_caves || fast ? whole(&c, 3, 10) : whole(&c, 4, one_in(&c, 8) ? 40 : 16));

    int32_t updates = 0;
    for (int32_t i = 0; i < r->count; i++) updates += r->steps[i].kind == STEP_UPDATES ? r->steps[i].count : 0;
    int32_t rim = bounded ? 8 : m.substeps * updates + 24;
    r->reach = (weir_box){{room.min.x - rim, room.min.y - rim, room.min.z - rim},
                          {room.max.x + rim, room.max.y + rim, room.max.z + rim}};
}

// ---- Worlds of settle ------------------------------------------------------------------------------------------------------

static weir_box cut(weir_box b, weir_box to)
{
    if (b.min.x < to.min.x) b.min.x = to.min.x;
    if (b.min.y < to.min.y) b.min.y = to.min.y;
    if (b.min.z < to.min.z) b.min.z = to.min.z;
    if (b.max.x > to.max.x) b.max.x = to.max.x;
    if (b.max.y > to.max.y) b.max.y = to.max.y;
    if (b.max.z > to.max.z) b.max.z = to.max.z;
    return b;
}

// Two arms, dug from a floor up, and the tunnel that connects them at their feet.
static void make_bend(maker *m)
{
    chance *c = m->c;
    const weir_box a = some_box(m, one_in(c, 3) ? 3 : 1);
    weir_box b = a, foot = a;
    int32_t *far_low = one_in(c, 2) ? &b.min.x : &b.min.z, *far_high = far_low == &b.min.x ? &b.max.x : &b.max.z;
    const int32_t apart = whole(c, 2, 14);
    *far_low += apart;
    *far_high += apart + whole(c, 0, 2);
    foot.max = (weir_coord){b.max.x, a.min.y + 1, b.max.z};
    const int32_t high[2] = {whole(c, 2, 20), whole(c, 2, 20)};
    b.max.y = a.min.y + high[0];
    weir_box left = a;
    left.max.y = a.min.y + high[1];
    const weir_box all[3] = {cut(left, m->room), cut(b, m->room), cut(foot, m->room)};
    for (int32_t k = 0; k < 3; k++)
        if (all[k].min.x < all[k].max.x && all[k].min.y < all[k].max.y && all[k].min.z < all[k].max.z)
            build(m, (plain_shape){.box = all[k]}, 0);
}

static uint8_t any_share(maker *m)
{
    return one_in(m->c, 2) ? 255 : (uint8_t)whole(m->c, 1, 254);
}

// Walls across, steps, and pits; partly solid here and there.
static void make_ground(maker *m)
{
    chance *c = m->c;
    weir_box floor = m->room;
    floor.max.y = floor.min.y + whole(c, 1, 1 + (floor.max.y - floor.min.y) / 2);
    build(m, (plain_shape){.box = floor}, 255);
    for (int32_t n = whole(c, 0, 5); n > 0; n--) {
        weir_box pit = cut(some_box(m, 7), floor);
        pit.max.y = floor.max.y;
        if (pit.min.x < pit.max.x && pit.min.y < pit.max.y && pit.min.z < pit.max.z) build(m, (plain_shape){.box = pit}, 0);
    }
    for (int32_t n = whole(c, 0, 3); n > 0; n--) {
        weir_box wall = some_box(m, 2);
        if (one_in(c, 2))
            wall.min.x = m->room.min.x, wall.max.x = m->room.max.x;
        else
            wall.min.z = m->room.min.z, wall.max.z = m->room.max.z;
        wall.min.y = m->room.min.y;
        build(m, (plain_shape){.box = wall}, 255);
    }
    for (int32_t n = whole(c, 0, 3); n > 0; n--) build(m, (plain_shape){.box = some_box(m, 6)}, any_share(m));
}

// A shore: steps of less than a cell along an axis, over which a lake comes slowly.
static void make_shore(maker *m)
{
    chance *c = m->c;
    const bool along_x = one_in(c, 2);
    weir_box step = m->room;
    int32_t *low = along_x ? &step.min.x : &step.min.z, *high = along_x ? &step.max.x : &step.max.z;
    const int32_t end = *high, width = whole(c, 1, 3), rise = whole(c, 8, 128);
    step.max.y = step.min.y + 1;
    for (int32_t share = rise; *low < end && step.max.y <= m->room.max.y && m->r->count < RECIPE_STEPS / 3; share += rise) {
        *high = *low + width < end ? *low + width : end;
        if (share >= 255) {
            build(m, (plain_shape){.box = step}, 255);
            share -= 255;
            step.min.y++;
            step.max.y++;
            if (step.max.y > m->room.max.y) break;
        }
        if (share > 0) build(m, (plain_shape){.box = step}, (uint8_t)share);
        *low += width;
    }
}

// Layers of water from somewhere up to somewhere.
static void fill_layers(maker *m)
{
    recipe_step *step = add(m, STEP_FILL);
    weir_box b = one_in(m->c, 2) ? m->room : some_box(m, 20);
    const int32_t high = b.max.y - b.min.y;
    b.max.y = b.min.y + whole(m->c, 1, high);
    step->shape.box = b;
    step->value = one_in(m->c, 3) ? some_fill(m) : 1.0f;
}

// A slice of terrain, which shuts what lies under it.
static void make_ceiling(maker *m)
{
    weir_box b = one_in(m->c, 2) ? m->room : some_box(m, 20);
    b.min.y = whole(m->c, m->room.min.y, m->room.max.y - 1);
    b.max.y = b.min.y + whole(m->c, 1, 2);
    build(m, (plain_shape){.box = b}, one_in(m->c, 4) ? any_share(m) : 255);
}

static void make_settle_params(maker *m)
{
    chance *c = m->c;
    if (!one_in(c, 3)) set(m, "patience", (float)whole(c, 1, one_in(c, 4) ? 30 : 8));
    if (one_in(c, 3)) set(m, "film", one_in(c, 3) ? 0.0f : number(c, 0, one_in(c, 4) ? 1.0f : 0.3f));
    if (one_in(c, 4)) set(m, "evaporation", one_in(c, 4) ? number(c, 0, 1) : number(c, 1e-6f, 2e-3f));
    if (one_in(c, 4)) set(m, "calm", one_in(c, 3) ? 0.0f : number(c, 0, one_in(c, 4) ? 1.0f : 0.05f));
    if (one_in(c, 3)) set(m, "body_cells", (float)whole(c, 1, one_in(c, 4) ? 64 : 8));
}

static void settle_source(maker *m, step_kind kind)
{
    chance *c = m->c;
    recipe_step *step = add(m, kind);
    step->shape.box = some_box(m, one_in(c, 3) ? 6 : 2);
    step->value = one_in(c, 4) ? number(c, 1e-5f, 0.01f) : one_in(c, 4) ? number(c, 1.0f, 60.0f) : number(c, 0.01f, 3.0f);
    m->added++;
}

static void settle_reservoir(maker *m)
{
    chance *c = m->c;
    recipe_step *step = add(m, STEP_RESERVOIR);
    const weir_box b = step->shape.box = some_box(m, one_in(c, 3) ? 12 : 3);
    step->count = one_in(c, 4) ? whole(c, m->room.min.y - 1, m->room.max.y) : whole(c, b.min.y - 1, b.max.y);
    step->value = one_in(c, 3) ? 0.0f : number(c, 0, 1);
    m->added++;
}

static void make_settle_edit(maker *m)
{
    chance *c = m->c;
    switch (whole(c, 0, 20)) {
    case 0: fill_layers(m); break;
    case 1: fill(m); break;
    case 2:
    case 3: {
        recipe_step *step = add(m, STEP_FILL);
        step->shape = some_shape(m, one_in(c, 3) ? 20 : 5);
        break;
    }
    case 4:
    case 5: build(m, some_shape(m, one_in(c, 3) ? 14 : 4), any_share(m)); break;
    case 6:
    case 7: build(m, some_shape(m, one_in(c, 3) ? 14 : 4), 0); break;
    case 8: build(m, (plain_shape){.box = some_shaft(m)}, one_in(c, 4) ? 255 : 0); break;
    case 9: make_bend(m); break;
    case 10: settle_source(m, STEP_EMITTER); break;
    case 11: settle_source(m, STEP_DRAIN); break;
    case 12:
        if (m->added > 0) add(m, STEP_REMOVE)->count = whole(c, 1, m->added);
        break;
    case 13:
        if (one_in(c, 3)) make_settle_params(m);
        break;
    case 14: {
        recipe_step *step = add(m, STEP_PATTERN);
        step->shape.box = some_box(m, 12);
        step->share = any_share(m);
        step->pattern = (recipe_pattern)whole(c, 0, PATTERN_COUNT - 1);
        break;
    }
    case 15: make_ceiling(m); break;
    case 16:  // into the lowest layers, where water is
    case 17: {
        weir_box b = some_box(m, one_in(c, 3) ? 12 : 5);
        b.max.y -= b.min.y - m->room.min.y;
        b.min.y = m->room.min.y;
        build(m, (plain_shape){.box = b}, one_in(c, 3) ? 0 : any_share(m));
        break;
    }
    case 18: settle_source(m, one_in(c, 3) ? STEP_DRAIN : STEP_EMITTER); break;
    case 19: settle_reservoir(m); break;
    default: add(m, STEP_RELOAD); break;
    }
}

void recipe_make_settle(recipe *r, uint64_t seed)
{
    chance c = {seed * UINT64_C(0x9fb21c651e98df25) + 7};
    *r = (recipe){.seed = seed, .solver = WEIR_SOLVER_SETTLE};
    int32_t size[3], at[3];
    for (int axis = 0; axis < 3; axis++) {
        size[axis] = whole(&c, one_in(&c, 8) ? 1 : 5, one_in(&c, 5) ? 34 : 20);
        at[axis] = far_away(&c);
    }
    const weir_box room = {{at[0], at[1], at[2]}, {at[0] + size[0], at[1] + size[1], at[2] + size[2]}};
    const bool bounded = !one_in(&c, 4);
    const int32_t end = WEIR_COORD_LIMIT;
    const weir_box world = {{-end, -end, -end}, {end, end, end}};
    if (bounded) {
        r->bounds = cut(room, world);
        if (one_in(&c, 3)) r->open_sides = next(&c) & next(&c) & 63;
        if (one_in(&c, 8)) r->open_sides |= WEIR_SIDE_Y_MAX;
    }
    maker m = {.r = r, .c = &c, .room = room};
    if (one_in(&c, 2)) make_settle_params(&m);
    if (one_in(&c, 2))
        make_ground(&m);
    else
        make_terrain(&m);
    if (one_in(&c, 3)) make_shore(&m);
    for (int32_t n = whole(&c, 0, 3); n > 0; n--) make_bend(&m);
    for (int32_t n = whole(&c, 1, 3); n > 0; n--)
        if (one_in(&c, 2))
            fill_layers(&m);
        else
            fill(&m);
    if (one_in(&c, 3)) settle_source(&m, STEP_EMITTER);
    if (one_in(&c, 6)) settle_reservoir(&m);
    int32_t updates = 0;
    for (int32_t left = bounded ? whole(&c, 20, one_in(&c, 5) ? 300 : 120) : whole(&c, 10, 40); left > 0;) {
        int32_t part = whole(&c, 1, one_in(&c, 3) ? 40 : 12);
        if (part > left) part = left;
        add(&m, STEP_UPDATES)->count = part;
        left -= part;
        updates += part;
        for (int32_t n = left > 0 ? whole(&c, 0, one_in(&c, 4) ? 6 : 2) : 0; n > 0; n--) make_settle_edit(&m);
    }
    // Water goes one cell far in an update, and is a brick ahead of where it is seen.
    const int32_t rim = bounded ? 8 : updates + 16;
    r->reach = (weir_box){{room.min.x - rim, room.min.y - rim, room.min.z - rim},
                          {room.max.x + rim, room.max.y + rim, room.max.z + rim}};
}

void recipe_make_air(recipe *r, uint64_t seed)
{
    chance c = {seed * UINT64_C(0xd1342543de82ef95) + 3};
    const bool calm = one_in(&c, 4);
    do recipe_make(r, next(&c), calm);
    while (r->solver != WEIR_SOLVER_MOMENTUM || r->gas);
    r->seed = seed;
    r->air = one_in(&c, 3) ? number(&c, 0.001f, 16.0f) : number(&c, 0.05f, 2.0f);
}

weir_world_def recipe_def(const recipe *r, weir_params *params)
{
    weir_world_def def = weir_world_def_default();
    def.solver = r->solver;
    def.bounds = r->bounds;
    def.open_sides = r->open_sides;
    *params = weir_params_default();
    params->momentum.air = r->air;
    def.params = params;
    return def;
}

// ---- Playing ---------------------------------------------------------------------------------------------------------------

static bool in_pattern(recipe_pattern pattern, int32_t x, int32_t y, int32_t z)
{
    switch (pattern) {
    case PATTERN_CHECKERS: return (x + y + z) % 2 == 0;
    case PATTERN_PILLARS: return x % 3 == 0 && z % 3 == 0;
    case PATTERN_SPONGE: return x % 4 != 1 && y % 4 != 1 && z % 4 != 1;
    default: return (x * 7 + y * 11 + z * 13) % 10 == 0;
    }
}

// The shares of a pattern's box, 0 for what stays as it is; free them.
static uint8_t *pattern_shares(const recipe_step *step)
{
    weir_box b = step->shape.box;
    int32_t nx = b.max.x - b.min.x, ny = b.max.y - b.min.y, nz = b.max.z - b.min.z;
    uint8_t *shares = calloc((size_t)nx * (size_t)ny * (size_t)nz, 1);
    for (int32_t i = 0; i < nx * ny * nz; i++)
        if (in_pattern(step->pattern, i % nx, i / nx % ny, i / nx / ny)) shares[i] = step->share;
    return shares;
}

static weir_status build_pattern(const recipe_step *step, weir_world *world)
{
    uint8_t *shares = pattern_shares(step);
    weir_status status = weir_world_build_shares(world, step->shape.box, shares);
    free(shares);
    return status;
}

static weir_status apply(const recipe_step *step, weir_world *world)
{
    const plain_shape *s = &step->shape;
    bool round = s->sphere.radius > 0;
    switch (step->kind) {
    case STEP_FILL:
        return round ? weir_world_fill_sphere(world, s->sphere, weir_world_fluid(world), step->value)
                     : weir_world_fill(world, s->box, weir_world_fluid(world), step->value);
    case STEP_BUILD:
        if (step->share == 0) return round ? weir_world_dig_sphere(world, s->sphere) : weir_world_dig(world, s->box);
        return round ? weir_world_build_sphere(world, s->sphere, step->share) : weir_world_build(world, s->box, step->share);
    case STEP_PATTERN: return build_pattern(step, world);
    case STEP_FLOW: return weir_world_set_flow(world, s->box, step->vec);
    case STEP_EMITTER: return weir_world_add_emitter(world, s->box, weir_world_fluid(world), step->value, NULL);
    case STEP_DRAIN: return weir_world_add_drain(world, s->box, step->value, NULL);
    case STEP_FORCE: return weir_world_add_force(world, s->box, step->vec, NULL);
    case STEP_RESERVOIR:
        return weir_world_add_reservoir(world, s->box, weir_world_fluid(world), (double)step->count + (double)step->value,
                                        NULL);
    case STEP_REMOVE: return weir_world_remove(world, step->count);
    case STEP_SET: {
        weir_params params = weir_world_params(world);
        weir_status status = weir_params_set(&params, weir_world_solver(world), step->name, (double)step->value);
        return status == WEIR_OK ? weir_world_set_params(world, &params) : status;
    }
    default: return WEIR_OK;
    }
}

// A parameter may shrink the largest flow below one that is asked for later, a number may have been removed already, and water cannot be filled in
// as gas can.
static bool may_be_refused(step_kind kind)
{
    return kind == STEP_REMOVE || kind == STEP_FLOW || kind == STEP_FILL;
}

weir_status recipe_apply(const recipe_step *step, weir_world *world)
{
    weir_status status = apply(step, world);
    if (status == WEIR_ERROR_OUTSIDE) return WEIR_OK;
    return status == WEIR_ERROR_ARGUMENT && may_be_refused(step->kind) ? WEIR_OK : status;
}

// Outside of bounds, or of the world where there are none (NULL).
static bool lies_outside_of(const weir_box *bounds, weir_box b)
{
    const int32_t end = WEIR_COORD_LIMIT;
    weir_box to = bounds ? *bounds : (weir_box){{-end, -end, -end}, {end, end, end}};
    return b.max.x <= to.min.x || b.max.y <= to.min.y || b.max.z <= to.min.z || b.min.x >= to.max.x || b.min.y >= to.max.y ||
           b.min.z >= to.max.z;
}

static bool lies_outside(const plain_world *w, weir_box b)
{
    return lies_outside_of(w->bounded ? &w->bounds : NULL, b);
}

static bool too_fast(const plain_world *w, weir_vec v)
{
    float most = w->solver == WEIR_SOLVER_CLASSIC ? w->params.classic.max_flow * 0.5f
                                                  : fminf(w->params.momentum.max_flow, (float)w->params.momentum.substeps);
    const float parts[3] = {v.x, v.y, v.z};
    for (int axis = 0; axis < 3; axis++)
        if (parts[axis] < -most || parts[axis] > most) return true;
    return false;
}

// Brick by brick, as an edit of a box goes; those without a cell of the pattern wake too.
static void build_plain_pattern(const recipe_step *step, plain_world *w)
{
    const weir_box b = step->shape.box;
    for (int32_t n = 0; n < 512; n++) {
        const weir_coord low = {(b.min.x & ~7) + 8 * (n & 7), (b.min.y & ~7) + 8 * (n >> 3 & 7), (b.min.z & ~7) + 8 * (n >> 6)};
        const weir_box brick = {
            {low.x > b.min.x ? low.x : b.min.x, low.y > b.min.y ? low.y : b.min.y, low.z > b.min.z ? low.z : b.min.z},
            {low.x + 8 < b.max.x ? low.x + 8 : b.max.x, low.y + 8 < b.max.y ? low.y + 8 : b.max.y,
             low.z + 8 < b.max.z ? low.z + 8 : b.max.z}};
        if (lies_outside(w, brick) || brick.min.x >= brick.max.x || brick.min.y >= brick.max.y || brick.min.z >= brick.max.z)
            continue;
        plain_disturb(w, brick);
        for (int32_t z = brick.min.z; z < brick.max.z; z++)
            for (int32_t y = brick.min.y; y < brick.max.y; y++)
                for (int32_t x = brick.min.x; x < brick.max.x; x++)
                    if (in_pattern(step->pattern, x - b.min.x, y - b.min.y, z - b.min.z))
                        plain_build(w, (plain_shape){.box = {{x, y, z}, {x + 1, y + 1, z + 1}}}, step->share);
    }
}

void recipe_apply_plain(const recipe_step *step, plain_world *w)
{
    const plain_shape *s = &step->shape;
    weir_box b = s->box;
    const weir_vec none = {0, 0, 0};
    if (step->kind == STEP_SET) {
        plain_set(w, step->name, (double)step->value);
        return;
    }
    if (step->kind == STEP_REMOVE) {
        plain_remove(w, step->count);
        return;
    }
    if (lies_outside(w, b)) return;
    switch (step->kind) {
    case STEP_FILL:
        if (step->value <= (w->params.momentum.gas > 0.0f ? 3.984375f : 1.0f)) plain_fill(w, *s, step->value);
        break;
    case STEP_BUILD: plain_build(w, *s, step->share); break;
    case STEP_PATTERN: build_plain_pattern(step, w); break;
    case STEP_FLOW:
        if (!too_fast(w, step->vec)) plain_set_flow(w, b, step->vec);
        break;
    case STEP_EMITTER: plain_add(w, PLAIN_EMITTER, b, step->value, none); break;
    case STEP_DRAIN: plain_add(w, PLAIN_DRAIN, b, step->value, none); break;
    case STEP_FORCE: plain_add(w, PLAIN_FORCE, b, 0, step->vec); break;
    case STEP_RESERVOIR: plain_add_reservoir(w, b, (double)step->count + (double)step->value); break;
    default: break;
    }
}

void recipe_apply_plain_settle(const recipe_step *step, plain_settle *w)
{
    const plain_shape *s = &step->shape;
    if (step->kind == STEP_SET) plain_settle_set(w, step->name, (double)step->value);
    if (step->kind == STEP_REMOVE) plain_settle_remove(w, step->count);
    if (step->kind == STEP_SET || step->kind == STEP_REMOVE || lies_outside_of(w->bounded ? &w->bounds : NULL, s->box)) return;
    uint8_t *shares = step->kind == STEP_PATTERN ? pattern_shares(step) : NULL;
    switch (step->kind) {
    case STEP_FILL: plain_settle_fill(w, *s, step->value); break;
    case STEP_BUILD:
    case STEP_PATTERN: plain_settle_build(w, *s, step->share, shares); break;
    case STEP_EMITTER: plain_settle_add(w, PLAIN_EMITTER, s->box, step->value); break;
    case STEP_DRAIN: plain_settle_add(w, PLAIN_DRAIN, s->box, step->value); break;
    case STEP_RESERVOIR: plain_settle_add_reservoir(w, s->box, (double)step->count + (double)step->value); break;
    default: break;
    }
    free(shares);
}

// ---- Cutting down ----------------------------------------------------------------------------------------------------------

static bool drop_steps(recipe *r, recipe_finds *finds, void *context)
{
    bool any = false;
    recipe *less = malloc(sizeof *less);
    for (int32_t size = r->count / 2 > 0 ? r->count / 2 : 1; size > 0; size /= 2) {
        for (int32_t begin = 0; begin + size <= r->count;) {
            *less = *r;
            memmove(&less->steps[begin], &less->steps[begin + size], (size_t)(r->count - begin - size) * sizeof less->steps[0]);
            less->count -= size;
            if (finds(less, context)) {
                *r = *less;
                any = true;
            } else {
                begin += size;
            }
        }
    }
    free(less);
    return any;
}

static bool drop_updates(recipe *r, recipe_finds *finds, void *context)
{
    bool any = false;
    for (int32_t i = 0; i < r->count; i++) {
        while (r->steps[i].kind == STEP_UPDATES && r->steps[i].count > 1) {
            int32_t before = r->steps[i].count;
            r->steps[i].count = before / 2;
            if (!finds(r, context)) r->steps[i].count = before - 1;
            if (r->steps[i].count == before - 1 && !finds(r, context)) {
                r->steps[i].count = before;
                break;
            }
            any = true;
        }
    }
    return any;
}

void recipe_cut_down(recipe *r, recipe_finds *finds, void *context)
{
    while (drop_steps(r, finds, context) || drop_updates(r, finds, context)) continue;
    uint32_t sides = r->open_sides;
    r->open_sides = 0;
    if (!finds(r, context)) r->open_sides = sides;
}

// ---- Printing --------------------------------------------------------------------------------------------------------------

static int32_t within_limits(int32_t at)
{
    return at < -WEIR_COORD_LIMIT ? -WEIR_COORD_LIMIT : at > WEIR_COORD_LIMIT ? WEIR_COORD_LIMIT : at;
}

// A box cut to the end of the world, beyond which scripts know no cells.
static void print_box(FILE *file, weir_box b)
{
    fprintf(file, "box(%d, %d, %d, %d, %d, %d)", within_limits(b.min.x), within_limits(b.min.y), within_limits(b.min.z),
            within_limits(b.max.x), within_limits(b.max.y), within_limits(b.max.z));
}

static void print_shape(FILE *file, const plain_shape *s)
{
    weir_point c = s->sphere.centre;
    if (s->sphere.radius > 0)
        fprintf(file, "sphere(%.17g, %.17g, %.17g, %.17g)", c.x, c.y, c.z, s->sphere.radius);
    else
        print_box(file, s->box);
}

static void print_pattern(FILE *file, const recipe_step *step)
{
    static const char *const rules[PATTERN_COUNT] = {"(x + y + z) % 2 == 0", "x % 3 == 0 and z % 3 == 0",
                                                     "x % 4 ~= 1 and y % 4 ~= 1 and z % 4 ~= 1",
                                                     "(x * 7 + y * 11 + z * 13) % 10 == 0"};
    weir_box b = step->shape.box;
    fprintf(file, "for z = 0, %d do for y = 0, %d do for x = 0, %d do\n", b.max.z - b.min.z - 1, b.max.y - b.min.y - 1,
            b.max.x - b.min.x - 1);
    fprintf(file, "    if %s then pcall(build, box(%d + x, %d + y, %d + z, %d + x, %d + y, %d + z), %d) end\n",
            rules[step->pattern], b.min.x, b.min.y, b.min.z, b.min.x + 1, b.min.y + 1, b.min.z + 1, step->share);
    fprintf(file, "end end end\n");
}

static void print_step(FILE *file, const recipe_step *step)
{
    static const char *const words[] = {
        [STEP_FLOW] = "flow", [STEP_EMITTER] = "emitter", [STEP_DRAIN] = "sink", [STEP_FORCE] = "force"};
    switch (step->kind) {
    case STEP_FILL:
        fprintf(file, "pcall(fill, ");
        print_shape(file, &step->shape);
        fprintf(file, ", %.9g)\n", (double)step->value);
        break;
    case STEP_BUILD:
        fprintf(file, step->share == 0 ? "pcall(dig, " : "pcall(build, ");
        print_shape(file, &step->shape);
        if (step->share != 0) fprintf(file, ", %d", step->share);
        fprintf(file, ")\n");
        break;
    case STEP_PATTERN: print_pattern(file, step); break;
    case STEP_FLOW:
    case STEP_FORCE:
        fprintf(file, "pcall(%s, ", words[step->kind]);
        print_box(file, step->shape.box);
        fprintf(file, ", %.9g, %.9g, %.9g)\n", (double)step->vec.x, (double)step->vec.y, (double)step->vec.z);
        break;
    case STEP_EMITTER:
    case STEP_DRAIN:
        fprintf(file, "pcall(%s, ", words[step->kind]);
        print_box(file, step->shape.box);
        fprintf(file, ", %.9g)\n", (double)step->value);
        break;
    case STEP_RESERVOIR:
        fprintf(file, "pcall(reservoir, ");
        print_box(file, step->shape.box);
        // The sum is of doubles: nine digits give the float back, and not the double that it is here.
        fprintf(file, ", %d + %.17g)\n", step->count, (double)step->value);
        break;
    case STEP_REMOVE: fprintf(file, "pcall(remove, %d)\n", step->count); break;
    case STEP_SET: fprintf(file, "pcall(set, \"%s\", %.9g)\n", step->name, (double)step->value); break;
    case STEP_RELOAD: fprintf(file, "-- here it is saved and loaded\n"); break;
    case STEP_UPDATES: break;
    }
}

void recipe_print(const recipe *r, FILE *file)
{
    static const char *const sides[6] = {"-x", "+x", "-y", "+y", "-z", "+z"};
    const weir_box none = {{0, 0, 0}, {0, 0, 0}};
    int32_t updates = 0;
    for (int32_t i = 0; i < r->count; i++) updates += r->steps[i].kind == STEP_UPDATES ? r->steps[i].count : 0;
    fprintf(file, "-- World %llu; run it with --solver %s.\nworld {\n", (unsigned long long)r->seed,
            weir_solver_name(r->solver));
    if (r->air > 0.0f) fprintf(file, "    params = {air = %.9g},\n", (double)r->air);
    if (memcmp(&r->bounds, &none, sizeof none) != 0) {
        fprintf(file, "    bounds = ");
        print_box(file, r->bounds);
        fprintf(file, ",\n    open = {");
        for (int32_t side = 0; side < 6; side++)
            if (r->open_sides >> side & 1) fprintf(file, "\"%s\", ", sides[side]);
        fprintf(file, "},\n");
    }
    fprintf(file, "    updates = %d,\n}\n", updates);
    // What a world refuses, since it lies outside or is not there, is passed over in a scene as well: hence pcall. Nothing shows of what comes
    // after the last update.
    int32_t update = 0;
    bool later = false;
    for (int32_t i = 0; i < r->count && update < updates; i++) {
        const recipe_step *step = &r->steps[i];
        if (step->kind == STEP_UPDATES) {
            if (later) fprintf(file, "end)\n");
            update += step->count;
            later = i + 1 < r->count && update < updates;
            if (later) fprintf(file, "at(%d, function()\n", update);
        } else {
            print_step(file, step);
        }
    }
    if (later) fprintf(file, "end)\n");
}
