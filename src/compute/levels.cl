// Kernels of the coarse levels of the pressure (docs/how-it-works.md, "R7 as a V-cycle"); the CPU's are in cpu_levels.h.
//
// A cycle, `top` being the coarsest level:
//
//     restrict_fine                          residual and counts of the live bricks, to level 1
//     level_build     lower = 1 .. top-1     counts to the level above
//     level_link      level = 1 .. top       counts become weights
//     level_down      level = 1 .. top-1     with level_restrict after each; sweeps = smooths
//     level_down      level = top            sweeps = 0
//     level_sweep     level = top            from ERROR to ERROR_NEXT and back, an even number of times; on a level of a single
//                                            brick all at once, from ERROR to ERROR
//     level_up        lower = top-1 .. 1     with level_smooth after each
//     correct_fine
//
// coarse_tail does all that from level `first` up, once that level is built and its right side is there; level_up of first-1
// comes after it. Every cycle begins with ERROR and ERROR_NEXT in their places; it leaves the error of the coarsest level in
// ERROR and that of the others in ERROR_NEXT.
//
// Cells without active fine cells have no links, and an error of exactly 0 whether they are worked on or not: leaving them out
// is a matter of speed.

// Cells of a brick that one work-item works on: cell local id + k * GROUP for k below this.
#define OWN (BRICK_CELLS / GROUP)
#define OWN_CELL(k) ((int)get_local_id(0) + (k)*GROUP)

#define BLOCK TILE_CELLS(1, 1)
#define BLOCK_AT(cell) AT(1, 1, (cell)&7, (cell) >> 3 & 7, (cell) >> 6)
#define BLOCK_Y EDGE(1, 1)
#define BLOCK_Z (EDGE(1, 1) * EDGE(1, 1))

typedef struct level_scratch {
    float block[BLOCK];
    volatile int any;
} level_scratch;

inline global float *level_cells(global float *pyramid, constant device_level *level, int channel, int brick)
{
    return pyramid + (size_t)(level->first + channel * level->room + brick) * BRICK_CELLS;
}

inline global const int *level_near(constant device_level *level, global const int *tree, int brick)
{
    return tree + level->near + 27 * brick;
}

// Where the cells of an octant begin in their parent's brick.
inline int octant_start(int octant)
{
    return 4 * (octant & 1) + 32 * (octant >> 1 & 1) + 256 * (octant >> 2);
}

// The cell of 4 x 4 x 4 with number i, at the stride of a brick. Twice that is the first of the 2 x 2 x 2 cells below it.
#define OCTANT_CELL(i) (((i)&3) + (((i)&12) << 1) + (((i)&48) << 2))

// Sum over 2 x 2 x 2 cells, paired as on the CPU.
#define SUM_8(v, c)                                                \
    ((((v)[c] + (v)[(c) + 65]) + ((v)[(c) + 1] + (v)[(c) + 64])) + \
     (((v)[(c) + 8] + (v)[(c) + 73]) + ((v)[(c) + 9] + (v)[(c) + 72])))

// The channel with the error that a level hands down.
inline int final_error(int level, int top)
{
    return level == top ? DEVICE_ERROR : DEVICE_ERROR_NEXT;
}

inline int mask_is_empty(global const uint *masks, int brick)
{
    uint16 words = ((global const uint16 *)masks)[brick];
    uint8 eight = words.lo | words.hi;
    uint4 four = eight.lo | eight.hi;
    uint2 two = four.lo | four.hi;
    return (two.x | two.y) == 0u;
}

// ---- From the live bricks to level 1 ---------------------------------------------------------------------------------------

// What one cell adds to its parent's counts, 4 bits each so that 8 cells can be added at once: itself, then for each axis its
// link across the parent's low side, then for each axis its border faces. No sum is above 8.
#define COUNT_FIELD(counts, n) ((float)(int)((counts) >> (4 * (n)) & 15u))

inline uint count_faces(global const uint *active, global const uint *open, int low, int high, int cell, int axis)
{
    uint a_low = bit_at(active, low), a_high = bit_at(active, high);
    uint crossing = ~(uint)cell >> 3 * axis & 1u;
    uint border = (bit_at(open, low) & ~a_low) + (bit_at(open, high) & ~a_high);
    return (crossing & a_low) << 4 * (1 + axis) | border << 4 * (4 + axis);
}

inline uint count_cell(global const uint *active, global const uint *open, around at, int cell)
{
    if (bit_at(active, at.self) == 0u) return 0u;
    return 1u | count_faces(active, open, at.x0, at.x1, cell, 0) | count_faces(active, open, at.y0, at.y1, cell, 1) |
           count_faces(active, open, at.z0, at.z1, cell, 2);
}

// Halves along an axis of 2 x 2 x 2 cells that hold anything; `across` are the strides of the other axes.
inline float thickness(local const uint *counts, int along, int across_1, int across_2)
{
    uint low = counts[0] | counts[across_1] | counts[across_2] | counts[across_1 + across_2];
    counts += along;
    uint high = counts[0] | counts[across_1] | counts[across_2] | counts[across_1 + across_2];
    return (float)(int)((low & 1u) + (high & 1u));
}

// One group per live brick. *residual begins as 0 and becomes the bits of the largest residual.
GROUP_KERNEL void restrict_fine(global const float *pressure, global const float *divergence, global const uint *active,
                                global const uint *open, global const int *near, global const int *list, global float *pyramid,
                                constant device_level *levels, global const int *tree, global int *residual)
{
    local float left[BRICK_CELLS];
    local uint counts[BRICK_CELLS];
    local float most[GROUP];
    int brick = list[get_group_id(0)];
    int up = tree[levels[0].up + brick];
    global float *parent = level_cells(pyramid, levels + 1, 0, up >> 3) + octant_start(up & 7);
    size_t channel = (size_t)levels[1].room * BRICK_CELLS;
    if (mask_is_empty(active, brick)) {
        EACH(i, 64 * DEVICE_LEVEL_CHANNELS) parent[channel * (size_t)(i >> 6) + (size_t)OCTANT_CELL(i)] = 0.0f;
        return;
    }

    float largest = 0.0f;
    EACH(cell, BRICK_CELLS)
    {
        around at = look_around(near + 27 * brick, cell);
        float faces = (float)(int)open_faces(open, at);
        float flag = (float)(int)bit_at(active, at.self);
        left[cell] = flag * (divergence[at.self] + SUM_AROUND(pressure, at) - faces * pressure[at.self]);
        largest = rule_max(largest, rule_abs(left[cell]));
        counts[cell] = count_cell(active, open, at, cell);
    }
    most[get_local_id(0)] = largest;
    SYNC;

    EACH(i, 64)
    {
        int to = OCTANT_CELL(i);
        local const uint *c = counts + 2 * to;
        uint sum = SUM_8(c, 0);
        global float *cell = parent + to;
        cell[DEVICE_LINK_X * channel] = COUNT_FIELD(sum, 1);
        cell[DEVICE_LINK_Y * channel] = COUNT_FIELD(sum, 2);
        cell[DEVICE_LINK_Z * channel] = COUNT_FIELD(sum, 3);
        cell[DEVICE_DIAGONAL * channel] = COUNT_FIELD(sum, 4);
        cell[DEVICE_ERROR * channel] = COUNT_FIELD(sum, 5);
        cell[DEVICE_ERROR_NEXT * channel] = COUNT_FIELD(sum, 6);
        cell[DEVICE_COUNT * channel] = COUNT_FIELD(sum, 0);
        cell[DEVICE_THICK_X * channel] = thickness(c, 1, 8, 64);
        cell[DEVICE_THICK_Y * channel] = thickness(c, 8, 1, 64);
        cell[DEVICE_THICK_Z * channel] = thickness(c, 64, 1, 8);
        cell[DEVICE_RIGHT * channel] = SUM_8(left, 2 * to);
    }

    int me = (int)get_local_id(0);
    for (int n = GROUP / 2; n > 0; n /= 2) {
        if (me < n) most[me] = rule_max(most[me], most[me + n]);
        SYNC;
    }
    // Bits of floats that are not negative are in the order of the floats.
    if (me == 0) atomic_max(residual, as_int(most[0]));
}

// ---- Steps between coarse levels, without barriers -------------------------------------------------------------------------

// Only what is inlined knows the step as a constant and keeps a work-item's cells in registers.
#define STEP inline __attribute__((always_inline))

// Counts and thickness of an octant of the level above.
STEP void build_octant(global float *pyramid, constant device_level *lower, global const int *tree, int brick)
{
    constant device_level *upper = lower + 1;
    int up = tree[lower->up + brick];
    int start = octant_start(up & 7);
    global const float *count = level_cells(pyramid, lower, DEVICE_COUNT, brick);
    EACH(i, 64 * 7)
    {
        int part = i >> 6;  // the three axes, then what is only summed
        int to = start + OCTANT_CELL(i);
        int c = 2 * OCTANT_CELL(i);
        if (part >= 3) {
            int channel = part == 3 ? DEVICE_DIAGONAL : part == 4 ? DEVICE_ERROR : part == 5 ? DEVICE_ERROR_NEXT : DEVICE_COUNT;
            global const float *v = level_cells(pyramid, lower, channel, brick);
            level_cells(pyramid, upper, channel, up >> 3)[to] = SUM_8(v, c);
            continue;
        }
        global const float *link = level_cells(pyramid, lower, DEVICE_LINK_X + part, brick);
        global const float *thick = level_cells(pyramid, lower, DEVICE_THICK_X + part, brick);
        int a1 = part == 0 ? 8 : 1, a2 = part == 2 ? 8 : 64;  // strides across the axis
        int h = c + (1 << 3 * part);                          // the half beyond
#define WEIGHED(k) (thick[k] * count[k])
        level_cells(pyramid, upper, DEVICE_LINK_X + part, up >> 3)[to] =
            (link[c] + link[c + a1]) + (link[c + a2] + link[c + a1 + a2]);
        level_cells(pyramid, upper, DEVICE_THICK_X + part, up >> 3)[to] =
            rule_thickness((WEIGHED(c) + WEIGHED(c + a1 + a2)) + (WEIGHED(c + a1) + WEIGHED(c + a2)),
                           (count[c] + count[c + a1 + a2]) + (count[c + a1] + count[c + a2]),
                           (WEIGHED(h) + WEIGHED(h + a1 + a2)) + (WEIGHED(h + a1) + WEIGHED(h + a2)),
                           (count[h] + count[h + a1 + a2]) + (count[h + a1] + count[h + a2]));
#undef WEIGHED
    }
}

// Counts of faces become weights.
STEP void link_cells(global float *pyramid, constant device_level *level, global const int *tree, int brick)
{
    EACH(i, 3 * BRICK_CELLS)
    {
        int axis = i / BRICK_CELLS, cell = i % BRICK_CELLS;
        global float *link = level_cells(pyramid, level, DEVICE_LINK_X + axis, brick);
        global const float *thick = level_cells(pyramid, level, DEVICE_THICK_X + axis, 0);
        int low = beside(level_near(level, tree, brick), cell, axis, -1);
        link[cell] = rule_link(link[cell], thick[low], thick[brick * BRICK_CELLS + cell]);
    }
}

// A cell's equation: its links, its right side, and 1 over its diagonal.
typedef struct coarse_cell {
    float x0, x1, y0, y1, z0, z1;
    float right, inverse;
} coarse_cell;

inline coarse_cell load_cell(global float *pyramid, constant device_level *level, around at)
{
    global const float *lx = level_cells(pyramid, level, DEVICE_LINK_X, 0);
    global const float *ly = level_cells(pyramid, level, DEVICE_LINK_Y, 0);
    global const float *lz = level_cells(pyramid, level, DEVICE_LINK_Z, 0);
    coarse_cell c;
    c.x0 = lx[at.self];
    c.x1 = lx[at.x1];
    c.y0 = ly[at.self];
    c.y1 = ly[at.y1];
    c.z0 = lz[at.self];
    c.z1 = lz[at.z1];
    c.right = level_cells(pyramid, level, DEVICE_RIGHT, 0)[at.self];
    c.inverse = rule_inverse(level_cells(pyramid, level, DEVICE_DIAGONAL, 0)[at.self]);
    return c;
}

#define WEIGHTED_SUM(c, x_low, x_high, y_low, y_high, z_low, z_high) \
    (((c.x0 * (x_low) + c.x1 * (x_high)) + (c.z0 * (z_low) + c.z1 * (z_high))) + (c.y0 * (y_low) + c.y1 * (y_high)))
#define WEIGHTED_AROUND(c, e, at) WEIGHTED_SUM(c, e[at.x0], e[at.x1], e[at.y0], e[at.y1], e[at.z0], e[at.z1])

// On the way down: the diagonal from the counts of border faces, and an error of nothing to begin with.
STEP void diagonal_cells(global float *pyramid, constant device_level *level, global const int *tree, int brick,
                         coarse_cell own[OWN], local float *block)
{
    global float *diagonal = level_cells(pyramid, level, DEVICE_DIAGONAL, brick);
    global const float *border_y = level_cells(pyramid, level, DEVICE_ERROR, brick);
    global const float *border_z = level_cells(pyramid, level, DEVICE_ERROR_NEXT, brick);
    global const float *tx = level_cells(pyramid, level, DEVICE_THICK_X, brick);
    global const float *ty = level_cells(pyramid, level, DEVICE_THICK_Y, brick);
    global const float *tz = level_cells(pyramid, level, DEVICE_THICK_Z, brick);
    for (int k = 0; k < OWN; k++) {
        int i = OWN_CELL(k);
        coarse_cell c = load_cell(pyramid, level, look_around(level_near(level, tree, brick), i));
        float border = (rule_border(diagonal[i], tx[i]) + rule_border(border_z[i], tz[i])) + rule_border(border_y[i], ty[i]);
        diagonal[i] = border + (((c.x0 + c.x1) + (c.z0 + c.z1)) + (c.y0 + c.y1));
        c.inverse = rule_inverse(diagonal[i]);
        own[k] = c;
    }
    EACH(i, BLOCK) block[i] = 0.0f;
}

// What is left on this level.
STEP void residual_cells(global float *pyramid, constant device_level *level, global const int *tree, int brick,
                         local float *left)
{
    global const float *diagonal = level_cells(pyramid, level, DEVICE_DIAGONAL, brick);
    global const float *e = level_cells(pyramid, level, DEVICE_ERROR, 0);
    EACH(cell, BRICK_CELLS)
    {
        around at = look_around(level_near(level, tree, brick), cell);
        coarse_cell c = load_cell(pyramid, level, at);
        float all = c.right - diagonal[cell] * e[at.self] + WEIGHTED_AROUND(c, e, at);
        left[cell] = diagonal[cell] > COARSE_LEAST ? all : 0.0f;
    }
}

// The errors of a brick and beside its six faces, and its cells' equations.
STEP void load_errors(global float *pyramid, constant device_level *level, global const int *tree, int brick, int channel,
                      coarse_cell own[OWN], local float *block)
{
    global const float *e = level_cells(pyramid, level, channel, 0);
    for (int k = 0; k < OWN; k++) {
        int cell = OWN_CELL(k);
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        around at = look_around(level_near(level, tree, brick), cell);
        own[k] = load_cell(pyramid, level, at);
        local float *to = block + BLOCK_AT(cell);
        to[0] = e[at.self];
        if (x == 0) to[-1] = e[at.x0];
        if (x == 7) to[1] = e[at.x1];
        if (y == 0) to[-BLOCK_Y] = e[at.y0];
        if (y == 7) to[BLOCK_Y] = e[at.y1];
        if (z == 0) to[-BLOCK_Z] = e[at.z0];
        if (z == 7) to[BLOCK_Z] = e[at.z1];
    }
}

// One sweep over all bricks of a level by a single group, straight from memory: few cells of a coarsest level are active.
STEP void sweep_all(global float *pyramid, constant device_level *level, global const int *tree, int from, int to)
{
    global const float *count = level_cells(pyramid, level, DEVICE_COUNT, 0);
    global const float *e = level_cells(pyramid, level, from, 0);
    global float *out = level_cells(pyramid, level, to, 0);
    EACH(i, (level->count - 1) * BRICK_CELLS)
    {
        int place = BRICK_CELLS + i;
        if (count[place] == 0.0f) continue;
        around at = look_around(level_near(level, tree, place / BRICK_CELLS), place % BRICK_CELLS);
        coarse_cell c = load_cell(pyramid, level, at);
        out[place] = rule_coarse_smooth(e[place], c.right, WEIGHTED_AROUND(c, e, at), c.inverse);
    }
}

// How the error changes towards a neighbour of the coarse cell, across a link.
inline float towards(global float *pyramid, constant device_level *level, global const float *e, global const int *near,
                     int coarse, int axis, int step)
{
    int own = near[SELF] * BRICK_CELLS + coarse, other = beside(near, coarse, axis, step);
    global const float *link = level_cells(pyramid, level, DEVICE_LINK_X + axis, 0);
    return rule_towards(e[own], e[other], link[step < 0 ? own : other]);
}

// The correction of one cell below the octant that `up` names, from the level above it and its channel `error`.
STEP float prolong(global float *pyramid, constant device_level *level, global const int *tree, int error, int up, int cell)
{
    global const float *e = level_cells(pyramid, level, error, 0);
    global const int *near = level_near(level, tree, up >> 3);
    int coarse = octant_start(up & 7) + (cell >> 1 & 3) + 8 * (cell >> 4 & 3) + 64 * (cell >> 7);
    float dx = towards(pyramid, level, e, near, coarse, 0, cell & 1 ? 1 : -1);
    float dy = towards(pyramid, level, e, near, coarse, 1, cell & 8 ? 1 : -1);
    float dz = towards(pyramid, level, e, near, coarse, 2, cell & 64 ? 1 : -1);
    return rule_prolong(e[near[SELF] * BRICK_CELLS + coarse], dx, dy, dz);
}

STEP void correct_cells(global float *pyramid, constant device_level *lower, global const int *tree, int brick, int channel)
{
    global float *error = level_cells(pyramid, lower, DEVICE_ERROR, brick);
    global const float *diagonal = level_cells(pyramid, lower, DEVICE_DIAGONAL, brick);
    int up = tree[lower->up + brick];
    EACH(cell, BRICK_CELLS)
    {
        if (diagonal[cell] > COARSE_LEAST) error[cell] += prolong(pyramid, lower + 1, tree, channel, up, cell);
    }
}

// ---- One visit to a brick --------------------------------------------------------------------------------------------------

enum { STEP_BUILD, STEP_LINK, STEP_DOWN, STEP_RESTRICT, STEP_SMOOTH, STEP_SWEEP_ALL, STEP_UP };

// Whether a brick has active cells. The barriers also end whatever used the scratch before.
STEP int is_active(global float *pyramid, constant device_level *level, int brick, local level_scratch *s)
{
    global const float *count = level_cells(pyramid, level, DEVICE_COUNT, brick);
    SYNC;
    ONCE s->any = 0;
    SYNC;
    int any = 0;
    EACH(i, BRICK_CELLS) any |= count[i] > 0.0f;
    if (any) RAISE(s->any, 1);
    SYNC;
    return s->any;
}

// Sweeps on one coarse brick with its rim as it is.
STEP void sweep_block(local float *block, const coarse_cell own[OWN], int sweeps)
{
    float next[OWN];
    for (int sweep = 0; sweep < sweeps; sweep++) {
        for (int k = 0; k < OWN; k++) {
            local const float *e = block + BLOCK_AT(OWN_CELL(k));
            float sum = WEIGHTED_SUM(own[k], e[-1], e[1], e[-BLOCK_Y], e[BLOCK_Y], e[-BLOCK_Z], e[BLOCK_Z]);
            next[k] = rule_coarse_smooth(e[0], own[k].right, sum, own[k].inverse);
        }
        SYNC;
        for (int k = 0; k < OWN; k++) block[BLOCK_AT(OWN_CELL(k))] = next[k];
        SYNC;
    }
}

// One step on one brick by a whole group; all work-items must come here. The channels `from` and `to` are those of the error
// when it is smoothed; for STEP_UP `from` is the one of the level above. All steps share the same barriers and coarse_tail has
// this code only once, because compilers for CPUs take a time that doubles with every barrier that depends on a condition.
STEP void visit(global float *pyramid, constant device_level *level, global const int *tree, int step, int brick, int from,
                int to, int sweeps, local level_scratch *s)
{
    coarse_cell own[OWN];
    int active = is_active(pyramid, level, brick, s);
    // Without active cells all counts are 0, and so are links, diagonal and errors.
    if (!active)
        EACH(i, BLOCK) s->block[i] = 0.0f;
    else if (step == STEP_LINK)
        link_cells(pyramid, level, tree, brick);
    else if (step == STEP_DOWN)
        diagonal_cells(pyramid, level, tree, brick, own, s->block);
    else if (step == STEP_RESTRICT)
        residual_cells(pyramid, level, tree, brick, s->block);
    else if (step == STEP_SMOOTH)
        load_errors(pyramid, level, tree, brick, from, own, s->block);
    if (step == STEP_BUILD) build_octant(pyramid, level, tree, brick);
    if (step == STEP_SWEEP_ALL) sweep_all(pyramid, level, tree, from, to);
    if (step == STEP_UP) correct_cells(pyramid, level, tree, brick, from);
    SYNC;

    int smooths = step == STEP_DOWN || step == STEP_SMOOTH;
    sweep_block(s->block, own, active && smooths ? sweeps : 0);
    if (smooths) {
        global float *error = level_cells(pyramid, level, to, brick);
        for (int k = 0; k < OWN; k++) error[OWN_CELL(k)] = s->block[BLOCK_AT(OWN_CELL(k))];
    }
    if (step == STEP_RESTRICT) {
        int up = tree[level->up + brick];
        global float *right = level_cells(pyramid, level + 1, DEVICE_RIGHT, up >> 3) + octant_start(up & 7);
        EACH(i, 64) right[OCTANT_CELL(i)] = SUM_8(s->block, 2 * OCTANT_CELL(i));
    }
}

// ---- Kernels of one level --------------------------------------------------------------------------------------------------

#define VISIT(level, step, from, to, sweeps) \
    local level_scratch scratch;             \
    visit(pyramid, levels + (level), tree, step, (int)get_group_id(0) + 1, from, to, sweeps, &scratch)

// One group per brick of `lower`, which writes its octant of the level above.
GROUP_KERNEL void level_build(global float *pyramid, constant device_level *levels, global const int *tree, int lower)
{
    VISIT(lower, STEP_BUILD, 0, 0, 0);
}

// One group per brick of `level`, here and below.
GROUP_KERNEL void level_link(global float *pyramid, constant device_level *levels, global const int *tree, int level)
{
    VISIT(level, STEP_LINK, 0, 0, 0);
}

GROUP_KERNEL void level_down(global float *pyramid, constant device_level *levels, global const int *tree, int level,
                             int sweeps)
{
    VISIT(level, STEP_DOWN, 0, DEVICE_ERROR, sweeps);
}

GROUP_KERNEL void level_restrict(global float *pyramid, constant device_level *levels, global const int *tree, int level)
{
    VISIT(level, STEP_RESTRICT, 0, 0, 0);
}

// From the channel `from` to the channel `to`. More than one sweep at a time only on a level of a single brick.
GROUP_KERNEL void level_sweep(global float *pyramid, constant device_level *levels, global const int *tree, int level, int from,
                              int to, int sweeps)
{
    VISIT(level, STEP_SMOOTH, from, to, sweeps);
}

GROUP_KERNEL void level_smooth(global float *pyramid, constant device_level *levels, global const int *tree, int level,
                               int sweeps)
{
    VISIT(level, STEP_SMOOTH, DEVICE_ERROR, DEVICE_ERROR_NEXT, sweeps);
}

// One group per brick of `lower`, which takes its correction from the level above.
GROUP_KERNEL void level_up(global float *pyramid, constant device_level *levels, global const int *tree, int lower, int top)
{
    VISIT(lower, STEP_UP, final_error(lower + 1, top), 0, 0);
}

// One group per live brick. The pressure is corrected in place.
GROUP_KERNEL void correct_fine(global float *pressure, global const float *floor, global const uint *active,
                               global const int *list, global float *pyramid, constant device_level *levels,
                               global const int *tree, int top)
{
    int brick = list[get_group_id(0)];
    if (mask_is_empty(active, brick)) return;
    int up = tree[levels[0].up + brick];
    EACH(cell, BRICK_CELLS)
    {
        int at = brick * BRICK_CELLS + cell;
        float correction = prolong(pyramid, levels + 1, tree, final_error(1, top), up, cell);
        pressure[at] = rule_max(floor[at], pressure[at] + (float)(int)bit_at(active, at) * correction);
    }
}

// ---- All small levels at once ----------------------------------------------------------------------------------------------

// A step on all bricks of a level.
typedef struct tail_step {
    int step, level;
    int swept;  // sweeps of a coarsest level of several bricks so far
} tail_step;

// What follows; below `first` all is done.
STEP tail_step next_step(tail_step s, int first, int top, int single, int sweeps)
{
    int coarsest = s.level == top;
    switch (s.step) {
    case STEP_BUILD:
        s.level++;
        if (s.level == top) {
            s.step = STEP_LINK;
            s.level = first;
        }
        break;
    case STEP_LINK:
        s.level++;
        if (coarsest) {
            s.step = STEP_DOWN;
            s.level = first;
        }
        break;
    case STEP_DOWN: s.step = !coarsest ? STEP_RESTRICT : single ? STEP_SMOOTH : STEP_SWEEP_ALL; break;
    case STEP_RESTRICT:
        s.step = STEP_DOWN;
        s.level++;
        break;
    case STEP_SWEEP_ALL:
        s.swept++;
        if (s.swept < sweeps) break;
        s.step = STEP_UP;
        s.level--;
        break;
    case STEP_UP: s.step = STEP_SMOOTH; break;
    case STEP_SMOOTH:
        s.step = STEP_UP;
        s.level--;
        break;
    }
    return s;
}

// One group in all. `sweeps` are those of the coarsest level: an even number.
GROUP_KERNEL void coarse_tail(global float *pyramid, constant device_level *levels, global const int *tree, int first, int top,
                              int smooths, int sweeps)
{
    local level_scratch scratch;
    int single = levels[top].count == 2;
    tail_step now = {first < top ? STEP_BUILD : STEP_LINK, first, 0};
    while (now.level >= first) {
        int l = now.level, coarsest = l == top;
        int from = DEVICE_ERROR, to = DEVICE_ERROR_NEXT, bricks = levels[l].count - 1, n = smooths;
        if (now.step == STEP_DOWN) {
            to = DEVICE_ERROR;
            n = coarsest ? 0 : smooths;
        } else if (now.step == STEP_SMOOTH && coarsest) {
            to = DEVICE_ERROR;
            n = sweeps;
        } else if (now.step == STEP_SWEEP_ALL) {
            from = now.swept % 2 == 0 ? DEVICE_ERROR : DEVICE_ERROR_NEXT;
            to = now.swept % 2 == 0 ? DEVICE_ERROR_NEXT : DEVICE_ERROR;
            bricks = 1;
        } else if (now.step == STEP_UP) {
            from = final_error(l + 1, top);
        }
        for (int brick = 1; brick <= bricks; brick++) visit(pyramid, levels + l, tree, now.step, brick, from, to, n, &scratch);
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        now = next_step(now, first, top, single, sweeps);
    }
}
