// Kernels of the coarse levels above the first, where there are few bricks (levels.cl tells of a cycle as a whole).

// A group has a brick, and a work-item one cell of it, or several on devices that take only small groups.
#define CELL_KERNEL kernel __attribute__((reqd_work_group_size(CELL_GROUP, 1, 1)))
#define CELL_OWN (BRICK_CELLS / CELL_GROUP)
#define EACH_OWN _Pragma("unroll") for (int k = 0; k < CELL_OWN; k++)
#define OWN_CELL(k) ((int)get_local_id(0) + (k)*CELL_GROUP)
#define EACH_ITEM(i, count) for (int i = (int)get_local_id(0); i < (count); i += CELL_GROUP)

// A tile has a rim of one cell.
#define CELL_EDGE 10
#define CELL_TILE (CELL_EDGE * CELL_EDGE * CELL_EDGE)
#define CELL_AT(x, y, z) ((x) + 1 + CELL_EDGE * ((y) + 1 + CELL_EDGE * ((z) + 1)))

// The octant that a cell of a brick lies in, and its number there.
#define OCTANT_OF(cell) (((cell) >> 2 & 1) + ((cell) >> 4 & 2) + ((cell) >> 6 & 4))
#define IN_OCTANT(cell) (((cell)&3) + ((cell) >> 1 & 12) + ((cell) >> 2 & 48))

// A cell's equation: links, right side, diagonal and 1 over it.
typedef struct coarse_cell {
    float x0, x1, y0, y1, z0, z1, right, diagonal, inverse;
} coarse_cell;

inline float cell_sum(coarse_cell c, local const float *e, int edge)
{
    const int over = edge * edge;
    return rule_weighted_sum(c.x0, c.x1, c.y0, c.y1, c.z0, c.z1, e[-1], e[1], e[-edge], e[edge], e[-over], e[over]);
}

// Sweeps over a brick, the own cells of which lie at `at`. The rims of both tiles are as they should be, and the barrier after what
// `from` got is still to come.
inline void sweep_cells(float e[CELL_OWN], const coarse_cell own[CELL_OWN], const int at[CELL_OWN], local float *from,
                        local float *to, int sweeps)
{
    SYNC;
    for (int sweep = 0; sweep < sweeps; sweep++) {
        EACH_OWN
        {
            e[k] = rule_coarse_smooth(e[k], own[k].right, cell_sum(own[k], from + at[k], CELL_EDGE), own[k].inverse);
            to[at[k]] = e[k];
        }
        SYNC;
        local float *swap = from;
        from = to;
        to = swap;
    }
}

// A cell and those beside it, counted over all bricks.
typedef struct cells_around {
    int self, low[3], high[3];
} cells_around;

inline cells_around look_around(device_place place, int cell)
{
    const int low[3] = {place.x0, place.y0, place.z0}, high[3] = {place.x1, place.y1, place.z1};
    cells_around at;
    at.self = BRICK_CELLS * place.brick + cell;
    _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
    {
        const int stride = 1 << 3 * axis, along = cell >> 3 * axis & 7;
        at.low[axis] = along > 0 ? at.self - stride : BRICK_CELLS * low[axis] + cell + 7 * stride;
        at.high[axis] = along < 7 ? at.self + stride : BRICK_CELLS * high[axis] + cell - 7 * stride;
    }
    return at;
}

// Weights and diagonal of a cell, from the counts.
inline void make_cell(coarse_cell *c, global float *pyramid, const device_level *level, cells_around at)
{
    float faces[3], beyond[3], border[3], thick[3], thick_low[3], thick_high[3], low[3], high[3];
    _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
    {
        global const float *links = CHANNEL(DEVICE_LINK_X + axis), *thicks = CHANNEL(DEVICE_THICK_X + axis);
        faces[axis] = links[at.self];
        beyond[axis] = links[at.high[axis]];
        thick[axis] = thicks[at.self];
        thick_low[axis] = thicks[at.low[axis]];
        thick_high[axis] = thicks[at.high[axis]];
        border[axis] = CHANNEL(DEVICE_BORDER_X + axis)[at.self];
    }
    _Pragma("unroll") for (int axis = 0; axis < 3; axis++)
    {
        low[axis] = rule_link(faces[axis], thick_low[axis], thick[axis]);
        high[axis] = rule_link(beyond[axis], thick[axis], thick_high[axis]);
        border[axis] = rule_border(border[axis], thick[axis]);
        CHANNEL(DEVICE_WEIGHT_X + axis)[at.self] = low[axis];
    }
    c->x0 = low[0];
    c->x1 = high[0];
    c->y0 = low[1];
    c->y1 = high[1];
    c->z0 = low[2];
    c->z1 = high[2];
    c->diagonal = rule_diagonal(border[0], border[1], border[2], c->x0, c->x1, c->y0, c->y1, c->z0, c->z1);
    CHANNEL(DEVICE_DIAGONAL)[at.self] = c->diagonal;
}

// The same as they were left.
inline void load_cell(coarse_cell *c, global float *pyramid, const device_level *level, cells_around at)
{
    global const float *x = CHANNEL(DEVICE_WEIGHT_X), *y = CHANNEL(DEVICE_WEIGHT_Y), *z = CHANNEL(DEVICE_WEIGHT_Z);
    c->x0 = x[at.self];
    c->x1 = x[at.high[0]];
    c->y0 = y[at.self];
    c->y1 = y[at.high[1]];
    c->z0 = z[at.self];
    c->z1 = z[at.high[2]];
    c->diagonal = CHANNEL(DEVICE_DIAGONAL)[at.self];
}

// Counts of the octant above a brick; cells and channels are spread over all work-items.
inline void build_counts(global float *pyramid, const device_level *level, int brick, int up, int cells)
{
    const size_t channel = (size_t)level[1].room * BRICK_CELLS;
    EACH_ITEM(job, 7 * cells)
    {
        const int part = job >> 6, i = OCTANT_CELL(job & 63), c = 2 * i;
        global float *to = level_cells(pyramid, level + 1, 0, up >> 3) + octant_start(up & 7) + i;
        if (part >= 3) {
            global const float *v = level_cells(pyramid, level, DEVICE_BORDER_X + part - 3, brick);
            to[(DEVICE_BORDER_X + part - 3) * channel] = rule_children(COARSE_CUBE(v, c, 1, 8, 64));
        } else {
            const int a = part == 0 ? 8 : 1, b = part == 2 ? 8 : 64, along = 1 << 3 * part;
            global const float *link = level_cells(pyramid, level, DEVICE_LINK_X + part, brick);
            global const float *thick = level_cells(pyramid, level, DEVICE_THICK_X + part, brick);
            global const float *n = level_cells(pyramid, level, DEVICE_COUNT, brick);
            to[(DEVICE_LINK_X + part) * channel] = rule_side(COARSE_SIDE(link, c, a, b));
            to[(DEVICE_THICK_X + part) * channel] = COARSE_THICKNESS(thick, n, c, along, a, b);
        }
    }
}

// What is left on half a row after the sweeps: its low half or its upper one.
inline float4 left_half(global float *pyramid, const device_level *level, rows_around at, int upper)
{
#define HALF_ROW(channel, row) ((global const float4 *)CHANNEL(channel))[2 * (row) + upper]
    const float4 x0 = HALF_ROW(DEVICE_WEIGHT_X, at.self);
    const float4 y0 = HALF_ROW(DEVICE_WEIGHT_Y, at.self), y1 = HALF_ROW(DEVICE_WEIGHT_Y, at.y1);
    const float4 z0 = HALF_ROW(DEVICE_WEIGHT_Z, at.self), z1 = HALF_ROW(DEVICE_WEIGHT_Z, at.z1);
    const float4 e_y0 = HALF_ROW(DEVICE_ERROR, at.y0), e_y1 = HALF_ROW(DEVICE_ERROR, at.y1);
    const float4 e_z0 = HALF_ROW(DEVICE_ERROR, at.z0), e_z1 = HALF_ROW(DEVICE_ERROR, at.z1);
    const float4 e = HALF_ROW(DEVICE_ERROR, at.self), right = HALF_ROW(DEVICE_RIGHT, at.self);
    const float4 diagonal = HALF_ROW(DEVICE_DIAGONAL, at.self);
#undef HALF_ROW
    const int before = upper ? 8 * at.self + 3 : 8 * at.x0 + 7, after = upper ? 8 * at.x1 : 8 * at.self + 4;
    const float low = CHANNEL(DEVICE_ERROR)[before], high = CHANNEL(DEVICE_ERROR)[after];
    const float4 x1 = (float4)(x0.yzw, CHANNEL(DEVICE_WEIGHT_X)[after]);
#define LEFT(i, e_x0, e_x1)                        \
    rule_coarse_residual(right.i, diagonal.i, e.i, \
                         rule_weighted_sum(x0.i, x1.i, y0.i, y1.i, z0.i, z1.i, e_x0, e_x1, e_y0.i, e_y1.i, e_z0.i, e_z1.i))
    return (float4)(LEFT(x, low, e.y), LEFT(y, e.x, e.z), LEFT(z, e.y, e.w), LEFT(w, e.z, high));
#undef LEFT
}

// The right side of own cells: what is left on the eight bricks below them, of which every work-item does some half rows. If those
// are live bricks it comes from elsewhere.
inline void gather_left(float right[CELL_OWN], local float4 *room, global float *pyramid, const device_level *below,
                        global const int *tree, global const int *child, bool live)
{
    float4 left[2 * CELL_OWN];
    _Pragma("unroll") for (int k = 0; k < 2 * CELL_OWN; k++)
    {
        const int i = OWN_CELL(k);
        left[k] = (float4)(0.0f);
        if (!live) left[k] = left_half(pyramid, below, look_around_row(tree + below->near, child[i >> 7], i >> 1 & 63), i & 1);
    }
    _Pragma("unroll") for (int k = 0; k < 2 * CELL_OWN; k++)
    {
        const int i = OWN_CELL(k);
        room[(i >> 7) * 2 * ROWS + (i >> 1 & 63) + ROWS * (i & 1)] = left[k];
    }
    SYNC;
    EACH_OWN
    {
        const int i = IN_OCTANT(OWN_CELL(k));
        right[k] = sum_pairs(room + OCTANT_OF(OWN_CELL(k)) * 2 * ROWS, 2 * (i >> 2 & 3) + 16 * (i >> 4), i & 3);
    }
}

// On the way down, as first_down; the right side comes first.
CELL_KERNEL void level_down(global float *pyramid, device_level below, device_level here, device_level above, global int *tree,
                            global const int *tables, device_cycle cycle, int is_top, int sweeps)
{
    if (cycle_is_over(tables, cycle)) return;
    local float4 left_halves[8 * 2 * ROWS];
    local float tiles[2][CELL_TILE];
    const device_level levels[2] = {here, above}, *level = levels;
    const int brick = (int)get_group_id(0) + 1, stamp = tables[DEVICE_CYCLE_NUMBER], up = tree[level->up + brick];
    const device_place place = find_place(tree + level->near, brick);
    global int *stamps = tree + level->stamp;
    const bool stamped = stamps[brick] == stamp, stamped_near = stamped_around(stamps, place, stamp);
    const bool changed = cycle.anew || stamped_near, counted = !is_top && (cycle.anew || stamped);
    float right[CELL_OWN], e[CELL_OWN];
    coarse_cell own[CELL_OWN];
    int at[CELL_OWN];
    EACH_ITEM(i, CELL_TILE) tiles[0][i] = tiles[1][i] = 0.0f;
    EACH_OWN
    {
        const cells_around near = look_around(place, OWN_CELL(k));
        if (changed)
            make_cell(&own[k], pyramid, level, near);
        else
            load_cell(&own[k], pyramid, level, near);
        own[k].inverse = rule_inverse(own[k].diagonal);
    }
    build_counts(pyramid, level, brick, up, counted ? ROWS : 0);
    if (counted) tree[level[1].stamp + (up >> 3)] = stamp;
    gather_left(right, left_halves, pyramid, &below, tree, tree + level->child + 8 * brick, false);
    EACH_OWN
    {
        const int cell = OWN_CELL(k);
        own[k].right = CHANNEL(DEVICE_RIGHT)[BRICK_CELLS * brick + cell] = right[k];
        at[k] = CELL_AT(cell & 7, cell >> 3 & 7, cell >> 6);
        e[k] = sweeps > 0 ? FIRST_SWEEP(right[k], own[k].inverse) : 0.0f;
        tiles[0][at[k]] = e[k];
    }
    sweep_cells(e, own, at, tiles[0], tiles[1], sweeps - 1);
    EACH_OWN CHANNEL(DEVICE_ERROR)[BRICK_CELLS * brick + OWN_CELL(k)] = e[k];
}

// A cell of the rim of a brick: 64 on each of its six sides.
typedef struct rim_cell {
    int cell;  // over all bricks
    int at;    // in the tile
} rim_cell;

inline rim_cell find_rim_cell(device_place place, int i)
{
    const int side = i >> 6, axis = side >> 1, high = side & 1, stride = 1 << 3 * axis;
    const int a = i & 7, b = i >> 3 & 7, along = high ? 0 : 7;
    const int neighbour = axis == 0   ? (high ? place.x1 : place.x0)
                          : axis == 1 ? (high ? place.y1 : place.y0)
                                      : (high ? place.z1 : place.z0);
    const int x = axis == 0 ? along : a, y = axis == 0 ? a : axis == 1 ? along : b, z = axis == 2 ? along : b;
    const int step = axis == 0 ? 1 : axis == 1 ? CELL_EDGE : CELL_EDGE * CELL_EDGE;
    rim_cell r = {BRICK_CELLS * neighbour + x + 8 * y + 64 * z, CELL_AT(x, y, z) + (high ? 8 : -8) * step};
    return r;
}

// Sweeps on every brick of a level. `error_above` is the channel with the error of the level above, with which the own one is
// corrected first; -1: it is not, and there is one sweep.
CELL_KERNEL void level_smooth(global float *pyramid, device_level here, device_level above, global const int *tree,
                              global const int *tables, device_cycle cycle, int from, int to, int sweeps, int error_above)
{
    if (cycle_is_over(tables, cycle)) return;
    local float tiles[2][CELL_TILE];
    const device_level levels[2] = {here, above}, *level = levels;
    const int brick = (int)get_group_id(0) + 1, up = tree[level->up + brick];
    const device_place place = find_place(tree + level->near, brick);
    float e[CELL_OWN];
    coarse_cell own[CELL_OWN];
    int at[CELL_OWN];
    EACH_OWN
    {
        const int cell = OWN_CELL(k);
        const cells_around near = look_around(place, cell);
        load_cell(&own[k], pyramid, level, near);
        own[k].right = CHANNEL(DEVICE_RIGHT)[near.self];
        own[k].inverse = rule_inverse(own[k].diagonal);
        e[k] = CHANNEL(from)[near.self];
        if (error_above >= 0)
            e[k] = rule_coarse_correct(e[k], prolong(pyramid, level + 1, tree, error_above, up, cell), own[k].diagonal);
        at[k] = CELL_AT(cell & 7, cell >> 3 & 7, cell >> 6);
        tiles[0][at[k]] = e[k];
    }
    EACH_ITEM(i, 6 * ROWS)
    {
        const rim_cell rim = find_rim_cell(place, i);
        tiles[0][rim.at] = tiles[1][rim.at] =
            error_above < 0 ? CHANNEL(from)[rim.cell] : corrected(pyramid, level, tree, error_above, rim.cell);
    }
    sweep_cells(e, own, at, tiles[0], tiles[1], sweeps);
    EACH_OWN CHANNEL(to)[BRICK_CELLS * brick + OWN_CELL(k)] = e[k];
}
