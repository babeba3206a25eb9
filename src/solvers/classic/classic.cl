// Kernels of the thesis's rules (docs/how-it-works.md); the CPU's are in cpu_sweep.h.
//
// A row of a brick is what memory gives at once, so the cells beside a brick on x cost as much as the whole neighbour. In the move
// one group therefore works on two bricks side by side on x, which need two such neighbours instead of four. All else works on rows
// (brick_rows.cl).
//
// An entry of `pairs` is the bricks in and around a pair, of which the right one may be nothing. A work-item takes a column of cells
// along z at a time: it looks up where the column lies only once, and keeps what it has read for the next layer.
//
//     pairs:  36 bricks each, 4 on x by 3 on y by 3 on z; the pair is at LEFT and RIGHT
//     tile:   cell (x, y, z) at x + low + PITCH * (y + low) + LAYER * (z + low)
//
// Local memory has 32 banks: 16 columns on x and the same four layers higher lie in different ones if the layer is 4 more than a
// multiple of 8.

#define FILL(drops) ((float)(drops)*RULE_DROP)

#define PAIR 36
#define LEFT 17
#define RIGHT 18
#define HALF 4  // half of a column

// EACH where it goes round once or twice: a compiler that unrolls that works out how often, in vain.
#define EACH_FEW(i, count) _Pragma("unroll 1") EACH(i, count)

// The group's pair into local memory. Ends with a barrier.
inline void load_pair(local int *near_here, global const int *pairs)
{
    EACH_FEW(i, PAIR) near_here[i] = pairs[PAIR * get_group_id(0) + i];
    SYNC;
}

// Which column a work-item takes: first the pair's own 128, then those up to two cells beside them on y, on x, and at the corners. So
// 32 work-items in a row read from as few lines of memory as can be.
#define COLUMNS (20 * 12)

inline int2 column_of_item(int i)
{
    if (i < 128) return (int2)((i & 7) + (i >> 2 & 8), (i >> 3 & 3) + (i >> 4 & 4));
    i -= 128;
    if (i < 64) {
        int row = (i >> 3 & 3) - 2;
        return (int2)((i & 7) + (i >= 32 ? 8 : 0), row < 0 ? row : row + 8);
    }
    i -= 64;
    int x = i & 1;
    if (i < 32) return (int2)(i >= 16 ? 16 + x : x - 2, i >> 1 & 7);
    i = (i - 32) >> 1;
    int y = i >> 1 & 1;
    return (int2)(i & 1 ? 16 + x : x - 2, i >> 2 & 1 ? 8 + y : y - 2);
}

// Where the cells of a column lie in a channel: its first cell in the brick below, in the pair's own layer, and above.
typedef struct column {
    int below, here, above;
} column;

inline column column_at(local const int *near_here, int x, int y)
{
    int side = ((x + 8) >> 3) + 4 * ((y + 8) >> 3);
    int cell = (x & 7) + 8 * (y & 7);
    column c = {near_here[side] * BRICK_CELLS + cell, near_here[side + 12] * BRICK_CELLS + cell,
                near_here[side + 24] * BRICK_CELLS + cell};
    return c;
}

inline int in_column(column c, int z)
{
    return z < 0 ? c.below + 64 * (z + 8) : z < 8 ? c.here + 64 * z : c.above + 64 * (z - 8);
}

// Tiles have a NAME, and NAME_LOW, NAME_HIGH, NAME_PITCH and NAME_LAYER.
#define TILE_AT(NAME, x, y, z) ((x) + NAME##_LOW + NAME##_PITCH * ((y) + NAME##_LOW) + NAME##_LAYER * ((z) + NAME##_LOW))
#define TILE_SIZE(NAME) (NAME##_LAYER * (8 + NAME##_LOW + NAME##_HIGH))

// Masks around a pair: a word per column, whose bit z + 2 tells whether the cell is open.
#define MASK_PITCH 20
#define MASK_AT(x, y) ((x) + 2 + MASK_PITCH * ((y) + 2))
#define MASKS (MASK_PITCH * 12)

inline void load_masks(local uint *masks, local const int *near_here, global const uint *open)
{
    EACH_FEW(i, COLUMNS)
    {
        int2 at = column_of_item(i);
        column c = column_at(near_here, at.x, at.y);
        uint bits = 0;
        for (int z = -2; z < 10; z++) bits |= bit_at(open, in_column(c, z)) << (z + 2);
        masks[MASK_AT(at.x, at.y)] = bits;
    }
}

inline int pair_clear(global const uchar *clear, local const int *near_here)
{
    return clear[near_here[LEFT]] & clear[near_here[RIGHT]];
}

// ---- Move ------------------------------------------------------------------------------------------------------------------

// Tiles of the move: the fill reaches two cells below the pair, all else one.
#define FILL_LOW 2
#define FILL_HIGH 1
#define FILL_PITCH 19
#define FILL_LAYER 212
#define FLOW_LOW 1
#define FLOW_HIGH 1
#define FLOW_PITCH 18
#define FLOW_LAYER 180
#define NEXT_LOW 1
#define NEXT_HIGH 0
#define NEXT_PITCH 17
#define NEXT_LAYER 156
#define FILL_LAYERS (8 + FILL_LOW + FILL_HIGH)
#define FLOW_LAYERS (8 + FLOW_LOW + FLOW_HIGH)
#define FILL_AT(x, y, z) TILE_AT(FILL, x, y, z)
#define FLOW_AT(x, y, z) TILE_AT(FLOW, x, y, z)
#define NEXT_AT(x, y, z) TILE_AT(NEXT, x, y, z)
#define FILL_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? FILL_PITCH : FILL_LAYER)

typedef struct classic_tiles {
    float m[TILE_SIZE(FILL)];
    float flow[3][TILE_SIZE(FLOW)];
    float m2[TILE_SIZE(NEXT)];      // fill after the move
    float leaves[TILE_SIZE(NEXT)];  // share of each cell's mass that leaves it
    uint open[MASKS];
    int near_here[PAIR];
    volatile int any, brick_flags[2];
} classic_tiles;

// A column of the flow along one axis, out of memory and into its tile.
inline void load_flow(float f[FLOW_LAYERS], global const float *channel, column c)
{
#pragma unroll
    for (int k = 0; k < FLOW_LAYERS; k++) f[k] = channel[in_column(c, k - FLOW_LOW)];
}

inline void write_flow(local float *tile, const float f[FLOW_LAYERS])
{
#pragma unroll
    for (int k = 0; k < FLOW_LAYERS; k++) tile[k * FLOW_LAYER] = f[k];
}

inline int classic_moved(local const classic_tiles *t, int axis, int x, int y, int z)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    return rule_classic_moved(t->flow[axis][FLOW_AT(x, y, z)], m[-FILL_STRIDE(axis)], m[0], true);
}

// What a column knows of a plane and keeps until it has gone two planes up: fill and flow of its cell, and of those beside it that
// are looked at from other planes. 0 and 1 are the cells before and behind it.
typedef struct classic_plane {
    float m, m_x0, m_x1, m_y0, m_y1;
    float x, x_x1, y, y_y1, z, z_x0, z_y0;
} classic_plane;

inline classic_plane read_plane(local const classic_tiles *t, int x, int y, int z)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    local const float *f_x = t->flow[0] + FLOW_AT(x, y, z), *f_y = t->flow[1] + FLOW_AT(x, y, z);
    local const float *f_z = t->flow[2] + FLOW_AT(x, y, z);
    classic_plane p = {m[0],   m[-1],           m[1],   m[-FILL_PITCH], m[FILL_PITCH],   f_x[0], f_x[1],
                       f_y[0], f_y[FLOW_PITCH], f_z[0], f_z[-1],        f_z[-FLOW_PITCH]};
    return p;
}

// What comes in along an axis, with the fill of the cells before and behind the faces beside ours.
inline float classic_along(float u0, float m0, float u1, float m1)
{
    return rule_classic_along(rule_classic_cross_from(u0, m0), u0, rule_classic_cross_from(u1, m1), u1);
}

// What comes in across an axis: the flows through two faces of the cell before our face, and of the one behind it, each with the fill of
// the cell beyond; and the flows u0 and u1 beside ours.
inline float classic_across(float4 v, float4 m, float u0, float u1)
{
    return rule_classic_across(rule_classic_cross_from(v.x, m.x), rule_classic_cross_from(v.y, m.y),
                               rule_classic_cross_from(v.z, m.z), rule_classic_cross_from(v.w, m.w), u0, u1);
}

// The cells on both sides of a face: fill before and after the move, and the share that leaves.
typedef struct classic_sides {
    float m0, m1, after0, after1, leaves0, leaves1;
} classic_sides;

// The new flow of a face with flow u and what comes in.
inline float classic_carry(float u, classic_sides c, float into, bool open, float empty, float gravity)
{
    return rule_classic_carry(u, c.m0, c.m1, c.after0, c.after1, c.leaves0, c.leaves1, into, open ? 1.0f : 0.0f, empty,
                              gravity);
}

// What comes in to a cell's low face on x: along its axis, and across it on y and z. So for the other two axes.
inline float classic_into_x(local const classic_tiles *t, int x, int y, int z, classic_plane low, classic_plane p,
                            classic_plane high)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    local const float *f_x = t->flow[0] + FLOW_AT(x, y, z), *f_y = t->flow[1] + FLOW_AT(x, y, z);
    float along = classic_along(f_x[-1], m[-2], p.x_x1, p.m_x1);
    float by_y =
        classic_across((float4)(f_y[-1], f_y[-1 + FLOW_PITCH], p.y, p.y_y1),
                       (float4)(m[-1 - FILL_PITCH], m[-1 + FILL_PITCH], p.m_y0, p.m_y1), f_x[-FLOW_PITCH], f_x[FLOW_PITCH]);
    float by_z =
        classic_across((float4)(p.z_x0, high.z_x0, p.z, high.z), (float4)(low.m_x0, high.m_x0, low.m, high.m), low.x, high.x);
    return rule_classic_into(along, by_y, by_z);
}

inline float classic_into_y(local const classic_tiles *t, int x, int y, int z, classic_plane low, classic_plane p,
                            classic_plane high)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    local const float *f_x = t->flow[0] + FLOW_AT(x, y, z), *f_y = t->flow[1] + FLOW_AT(x, y, z);
    float along = classic_along(f_y[-FLOW_PITCH], m[-2 * FILL_PITCH], p.y_y1, p.m_y1);
    float by_x = classic_across((float4)(f_x[-FLOW_PITCH], f_x[-FLOW_PITCH + 1], p.x, p.x_x1),
                                (float4)(m[-FILL_PITCH - 1], m[-FILL_PITCH + 1], p.m_x0, p.m_x1), f_y[-1], f_y[1]);
    float by_z =
        classic_across((float4)(p.z_y0, high.z_y0, p.z, high.z), (float4)(low.m_y0, high.m_y0, low.m, high.m), low.y, high.y);
    return rule_classic_into(along, by_x, by_z);
}

inline float classic_into_z(local const classic_tiles *t, int x, int y, int z, float m_low, classic_plane low, classic_plane p,
                            classic_plane high)
{
    local const float *f_z = t->flow[2] + FLOW_AT(x, y, z);
    float along = classic_along(low.z, m_low, high.z, high.m);
    float by_y = classic_across((float4)(low.y, low.y_y1, p.y, p.y_y1), (float4)(low.m_y0, low.m_y1, p.m_y0, p.m_y1), p.z_y0,
                                f_z[FLOW_PITCH]);
    float by_x =
        classic_across((float4)(low.x, low.x_x1, p.x, p.x_x1), (float4)(low.m_x0, low.m_x1, p.m_x0, p.m_x1), p.z_x0, f_z[1]);
    return rule_classic_into(along, by_y, by_x);
}

#define CROWDED (1 << 28)  // drops: half of CLASSIC_MOST, and a bit that emptier cells do not have

// The fill after the move of the cells z to end - 1 of a column, and what leaves them. Returns flags if the cells are the pair's own.
inline int classic_mass(local classic_tiles *t, int x, int y, int z, int end, column c, global const int *mass,
                        global int *mass_next, bool crowded)
{
    bool own = x >= 0 && y >= 0 && c.here >= BRICK_CELLS;
    int wet = 0, changed = 0;
    float m = t->m[FILL_AT(x, y, z)], f_z = t->flow[2][FLOW_AT(x, y, z)];
    int low = rule_classic_moved(f_z, t->m[FILL_AT(x, y, z - 1)], m, crowded);
    for (; z < end; z++) {
        local const float *fill = t->m + FILL_AT(x, y, z), *f_x = t->flow[0] + FLOW_AT(x, y, z);
        local const float *f_y = t->flow[1] + FLOW_AT(x, y, z);
        float m_high = fill[FILL_LAYER], f_z1 = t->flow[2][FLOW_AT(x, y, z + 1)];
        float x0 = f_x[0], x1 = f_x[1], y0 = f_y[0], y1 = f_y[FLOW_PITCH];
        int high = rule_classic_moved(f_z1, m, m_high, crowded);
        int before = m < 4.0f ? (int)(m * RULE_DROPS) : mass[in_column(c, z)];  // up to there a float counts drops exactly
        int after =
            rule_classic_mass(before, rule_classic_moved(x0, fill[-1], m, crowded), rule_classic_moved(x1, m, fill[1], crowded),
                              rule_classic_moved(y0, fill[-FILL_PITCH], m, crowded),
                              rule_classic_moved(y1, m, fill[FILL_PITCH], crowded), low, high);
        t->m2[NEXT_AT(x, y, z)] = FILL(after);
        t->leaves[NEXT_AT(x, y, z)] = rule_classic_leaving(x0, x1, y0, y1, f_z, f_z1);
        low = high;
        m = m_high;
        f_z = f_z1;
        if (!own || z < 0) continue;
        mass_next[c.here + 64 * z] = after;
        wet |= after;
        changed |= after ^ before;
    }
    return (wet ? DEVICE_WET : 0) | (changed ? DEVICE_CHANGED : 0);
}

// brick_flags[brick] becomes DEVICE_WET and DEVICE_CHANGED as they apply. moved_* may be NULL.
GROUP_KERNEL void classic_move(global const int *mass, global const float *flow_x, global const float *flow_y,
                               global const float *flow_z, global int *mass_next, global float *flow_x_next,
                               global float *flow_y_next, global float *flow_z_next, global float *moved_x,
                               global float *moved_y, global float *moved_z, global int *tables, global const uint *open,
                               global const uchar *clear, global const int *pairs, device_numbers numbers)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
    local classic_tiles t;
    local int *near_here = t.near_here;
    ONCE t.any = t.brick_flags[0] = t.brick_flags[1] = 0;
    load_pair(near_here, pairs);
    int left = near_here[LEFT], right = near_here[RIGHT];

    int any = 0;
    // Each channel is asked for before the one ahead of it has come into its tile.
    EACH_FEW(i, COLUMNS)
    {
        int2 place = column_of_item(i);
        column c = column_at(near_here, place.x, place.y);
        int to = FILL_AT(place.x, place.y, -2), flow_to = FLOW_AT(place.x, place.y, -1);
        if (place.x > 16 || place.y > 8) continue;
        bool has_flow = place.x >= -1 && place.y >= -1;
        int drops[FILL_LAYERS];
        float f_x[FLOW_LAYERS], f_y[FLOW_LAYERS], f_z[FLOW_LAYERS];
#pragma unroll
        for (int k = 0; k < FILL_LAYERS; k++) drops[k] = mass[in_column(c, k - FILL_LOW)];
        if (has_flow) load_flow(f_x, flow_x, c);
#pragma unroll
        for (int k = 0; k < FILL_LAYERS; k++) {
            any |= drops[k];
            t.m[to + k * FILL_LAYER] = FILL(drops[k]);
        }
        if (!has_flow) continue;
        load_flow(f_y, flow_y, c);
        write_flow(t.flow[0] + flow_to, f_x);
        load_flow(f_z, flow_z, c);
        write_flow(t.flow[1] + flow_to, f_y);
        write_flow(t.flow[2] + flow_to, f_z);
    }
    if (pair_clear(clear, near_here))
        EACH_FEW(i, MASKS) t.open[i] = ~0u;
    else
        load_masks(t.open, near_here, open);
    if (any) RAISE(t.any, any >= CROWDED ? 1 | CROWDED : 1);
    SYNC;
    if (!t.any) {
        EACH_FEW(i, 2 * BRICK_CELLS)
        {
            int brick = i < BRICK_CELLS ? left : right, at = brick * BRICK_CELLS + (i & (BRICK_CELLS - 1));
            if (brick == 0) continue;
            mass_next[at] = 0;
            flow_x_next[at] = flow_y_next[at] = flow_z_next[at] = 0.0f;
            if (moved_x) moved_x[at] = 0.0f;
            if (moved_y) moved_y[at] = 0.0f;
            if (moved_z) moved_z[at] = 0.0f;
        }
        ONCE brick_flags[left] = 0;
        if (right) ONCE brick_flags[right] = 0;
        return;
    }

    // The fill after the move: halves of columns, lower and upper ones four layers apart, then thirds of those at x = -1.
    EACH_FEW(i, 32 * 9 + 3 * 9)
    {
        int low_x = i - 32 * 9, upper = i >> 4 & 1;
        int x = low_x < 0 ? i & 15 : -1, y = low_x < 0 ? (i >> 5) - 1 : low_x % 9 - 1;
        int z = low_x < 0 ? 4 * upper - 1 : 3 * (low_x / 9) - 1, end = low_x < 0 ? 5 * upper + 3 : z + 3;
        column c = column_at(near_here, x, y);
        int found = t.any & CROWDED ? classic_mass(&t, x, y, z, end, c, mass, mass_next, true)
                                    : classic_mass(&t, x, y, z, end, c, mass, mass_next, false);
        if (found) RAISE(t.brick_flags[x >> 3], found);
    }
    SYNC;
    ONCE brick_flags[left] = (uchar)t.brick_flags[0];
    if (right) ONCE brick_flags[right] = (uchar)t.brick_flags[1];

    EACH_FEW(i, 256)
    {
        int x = i & 15, y = i >> 5, first = HALF * (i >> 4 & 1);
        int brick = x < 8 ? left : right;
        local const uint *o = t.open + MASK_AT(x, y);
        uint bits = o[0], w_x = bits & o[-1], w_y = bits & o[-MASK_PITCH], w_z = bits & bits << 1;
        if (brick == 0) continue;
        classic_plane low = read_plane(&t, x, y, first - 1), p = read_plane(&t, x, y, first);
        float m_low = t.m[FILL_AT(x, y, first - 2)];
        float after_low = t.m2[NEXT_AT(x, y, first - 1)], leaves_low = t.leaves[NEXT_AT(x, y, first - 1)];
#pragma unroll 1  // twice or more takes more registers than it saves time
        for (int k = 0; k < HALF; k++) {
            int z = first + k, at = brick * BRICK_CELLS + (x & 7) + 8 * y + 64 * z;
            classic_plane high = read_plane(&t, x, y, z + 1);
            local const float *m2 = t.m2 + NEXT_AT(x, y, z), *leaves = t.leaves + NEXT_AT(x, y, z);
            float after = m2[0], leaving = leaves[0];
            classic_sides on_x = {p.m_x0, p.m, m2[-1], after, leaves[-1], leaving};
            classic_sides on_y = {p.m_y0, p.m, m2[-NEXT_PITCH], after, leaves[-NEXT_PITCH], leaving};
            classic_sides on_z = {low.m, p.m, after_low, after, leaves_low, leaving};
            float into_x = classic_into_x(&t, x, y, z, low, p, high), into_y = classic_into_y(&t, x, y, z, low, p, high);
            float into_z = classic_into_z(&t, x, y, z, m_low, low, p, high);
            flow_x_next[at] = classic_carry(p.x, on_x, into_x, w_x >> (z + 2) & 1u, numbers.empty, numbers.gravity_x);
            flow_y_next[at] = classic_carry(p.y, on_y, into_y, w_y >> (z + 2) & 1u, numbers.empty, numbers.gravity_y);
            flow_z_next[at] = classic_carry(p.z, on_z, into_z, w_z >> (z + 2) & 1u, numbers.empty, numbers.gravity_z);
            m_low = low.m;
            after_low = after;
            leaves_low = leaving;
            low = p;
            p = high;
        }
    }
    if (!moved_x && !moved_y && !moved_z) return;
    EACH_FEW(i, 2 * BRICK_CELLS)
    {
        int x = i & 15, y = i >> 4 & 7, z = i >> 7, brick = x < 8 ? left : right;
        int at = brick * BRICK_CELLS + (x & 7) + 8 * y + 64 * z;
        if (brick == 0) continue;
        if (moved_x) moved_x[at] = FILL(classic_moved(&t, 0, x, y, z));
        if (moved_y) moved_y[at] = FILL(classic_moved(&t, 1, x, y, z));
        if (moved_z) moved_z[at] = FILL(classic_moved(&t, 2, x, y, z));
    }
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

// 1 over the number of a cell's open faces.
constant float classic_inverses[8] = RULE_INVERSE_FACES;

// Fill that crosses a row of faces.
inline void flux_between(float F[8], const float flow[8], const float low[8], const float high[8])
{
    EACH_X F[x] = rule_classic_flux(flow[x], low[x], high[x], true);
}

// The first iteration, which starts from nothing, where all faces are open.
inline float first_pressure(float divergence)
{
    return rule_classic_pressure(0.0f, divergence, 1.0f / 6.0f);
}

// The excess to come, and the first iteration of the pressure. Mass and flow are those after the move. Without local memory: rows of
// a group look at each other, and the second to look finds them near. `follows`: classic_follow comes next, and works out the first
// iteration itself in bricks that are clear.
kernel __attribute__((reqd_work_group_size(DEVICE_DIVERGENCE_GROUP, 1, 1))) void
classic_divergence(global const uchar *open, global const int *mass, global const float *flow_x, global const float *flow_y,
                   global const float *flow_z, global float *divergence, global float *pressure, global const int *tables,
                   int room, int follows, int live)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    const int row = (int)get_local_id(0) & 63;
    const int index = (int)get_group_id(0) * (DEVICE_DIVERGENCE_GROUP / ROWS) + ((int)get_local_id(0) >> 6);
    const device_place place = places[min(index, live - 1)];
    const rows_around at = look_from(place, row);
    float m[8], neighbour[8], flow[8], low[8], high[8], on_x[8], on_z[8], d[8], p[8];
    load_fill(m, mass, at.self);
    {
        const float m_low = FILL(mass[8 * at.x0 + 7]), m_high = FILL(mass[8 * at.x1]);
        load_row(flow, flow_x, at.self);
        EACH_X neighbour[x] = x > 0 ? m[(x + 7) & 7] : m_low;
        flux_between(low, flow, neighbour, m);
        const float last = rule_classic_flux(flow_x[8 * at.x1], m[7], m_high, true);
        EACH_X on_x[x] = low[x] - (x < 7 ? low[(x + 1) & 7] : last);
    }
    load_fill(neighbour, mass, at.z0);
    load_row(flow, flow_z, at.self);
    flux_between(low, flow, neighbour, m);
    load_fill(neighbour, mass, at.z1);
    load_row(flow, flow_z, at.z1);
    flux_between(high, flow, m, neighbour);
    EACH_X on_z[x] = low[x] - high[x];
    load_fill(neighbour, mass, at.y0);
    load_row(flow, flow_y, at.self);
    flux_between(low, flow, neighbour, m);
    load_fill(neighbour, mass, at.y1);
    load_row(flow, flow_y, at.y1);
    flux_between(high, flow, m, neighbour);
    const bits_around o = look_at_open(open, at, place.clear);
    EACH_X d[x] = rule_classic_divergence(m[x], rule_over_axes(on_x[x], low[x] - high[x], on_z[x]), (float)(int)BIT(o.self, x));
    if (place.clear) {
        EACH_X p[x] = first_pressure(d[x]);
    } else {
        EACH_X
        {
            uint faces = BIT(o.x0, x) + BIT(o.x1, x) + BIT(o.y0, x) + BIT(o.y1, x) + BIT(o.z0, x) + BIT(o.z1, x);
            p[x] = rule_classic_pressure(0.0f, d[x], BIT(o.self, x) ? classic_inverses[faces] : 0.0f);
        }
    }
    store_row(divergence, at.self, d);
    if (!(follows && place.clear)) store_row(pressure, at.self, p);
}

// ---- Marches ---------------------------------------------------------------------------------------------------------------

// Iterations march along x: one group takes the bricks of a run one after the other, so that every row that memory gives at once is
// used whole. A work-item stays with one row (y, z):
//
//     its role, up to   MARCH_OWN         the run's own rows
//                       MARCH_NEIGHBOURS  those beside them on y and z, for the first iteration
//                       the last          those two beside them; together they also bring the four rows at the edges, a cell each
//
// With p up to x = 7 of a brick an iteration gives its cells -1 to 6, and a second one -2 to 5: results come a little later than the
// bricks.
#define MARCH_OWN 64
#define MARCH_NEIGHBOURS 96
#define MARCH_PITCH 13  // in float4; odd, so that rows one above the other on z lie in different banks
#define MARCH_AT(at) ((at).x + 2 + MARCH_PITCH * ((at).y + 2))
#define MARCH_ROWS (MARCH_PITCH * 12)
#define OUT_APART (ROWS + 4)  // 4 more than there are rows, so that both halves of four rows lie in different banks
#define MARCH_KERNEL kernel __attribute__((reqd_work_group_size(DEVICE_MARCH_GROUP, 1, 1)))

typedef struct march_tile {
    float4 p[2 * MARCH_ROWS], q[2 * MARCH_ROWS];  // before and after the first iteration
    uint open[2][2][MARCH_ROWS];                  // spread bits of the cells that each iteration gives; of two bricks in turn
    float4 out[2][2 * OUT_APART];                 // results on their way to memory; of two bricks in turn
    float before[ROWS];                           // for the gradient: the cells before the rows in q
    float inverses[16];                           // 1 over the number of open faces, and zeros from 8 on for solid cells
    int bricks[DEVICE_RUN + 2][9];                // in a plane across x, from before the run to behind it
    int clear[DEVICE_RUN + 2];
    uchar unwritten[DEVICE_RUN + 2][9];  // 1: the pressure of that brick is still to be worked out, from its divergence
} march_tile;

// What a work-item knows of its row while it marches.
typedef struct march_row {
    int role, at;   // which row it has, by number (march_place), and where that lies in the tiles
    int side, row;  // which of the nine bricks of a plane its row lies in, and its number there
    int edge_side, edge_row, edge_at, edge_cell;
    float v[10], d[10];  // pressure and divergence from two cells before a brick on
    uint bits;           // open cells of the brick before and, 8 bits higher, of the brick
} march_row;

// Of the rows beside the run: whether they lie beyond its high faces.
inline bool is_high(int role)
{
    return role >> 3 & 1;
}

inline int2 march_place(int role)
{
    int out = role >> 5, along = role & 7, side = role >> 3 & 3;
    if (role < MARCH_OWN) return (int2)(along, role >> 3);
    int across = is_high(role) ? 6 + out : 1 - out;
    return side < 2 ? (int2)(across, along) : (int2)(along, across);
}

inline int march_side(int2 at)
{
    return ((at.x + 8) >> 3) + 3 * ((at.y + 8) >> 3);
}

inline int march_number(int2 at)
{
    return (at.x & 7) + 8 * (at.y & 7);
}

// Its row in brick j of the run, counted over all bricks, and that at its edge.
#define ROW_IN(r, t, j) (ROWS * (t)->bricks[(j) + 1][(r)->side] + (r)->row)
#define EDGE_IN(r, t, j) (ROWS * (t)->bricks[(j) + 1][(r)->edge_side] + (r)->edge_row)

// The pressure of a cell in one of the nine bricks of a plane.
inline float march_pressure(local const march_tile *t, int plane, int side, global const float *pressure,
                            global const float *divergence, int cell, bool follows)
{
    return follows && t->unwritten[plane][side] ? first_pressure(divergence[cell]) : pressure[cell];
}

// Eight bits, four apart: so six of them add up to the open faces of eight cells.
inline uint spread_bits(uint bits)
{
    bits &= 255u;
    bits = (bits | bits << 12) & 0x000f000fu;
    bits = (bits | bits << 6) & 0x03030303u;
    return (bits | bits << 3) & 0x11111111u;
}

// `follows`: as in classic_divergence; here a constant, so that what it does not need is not there.
inline void begin_march(march_row *r, local march_tile *t, global const device_run *run, global const int *near,
                        global const uchar *clear, global const float *pressure, global const float *divergence, bool follows)
{
    const int count = run->count;
    for (int i = (int)get_local_id(0); i < 9 * (count + 2); i += DEVICE_MARCH_GROUP) {
        int j = i / 9 - 1, side = i % 9, brick = run->brick[j < 0 ? 0 : j < count ? j : count - 1];
        int neighbour = near[27 * brick + (j < 0 ? 0 : j < count ? 1 : 2) + 3 * side];
        t->bricks[j + 1][side] = neighbour;
        if (follows) t->unwritten[j + 1][side] = neighbour != 0 ? clear[neighbour] : 0;
        if (side == 0) t->clear[j + 1] = clear[brick];
    }
    for (int i = (int)get_local_id(0); i < 16; i += DEVICE_MARCH_GROUP) t->inverses[i] = i < 7 ? classic_inverses[i] : 0.0f;
    // A processor's quarters share the work best if groups give the roles to different ones.
    r->role = ((int)get_local_id(0) + 32 * (int)get_group_id(0)) & (DEVICE_MARCH_GROUP - 1);
    const int2 place = march_place(r->role), edge = (int2)(r->role & 8 ? 8 : -1, r->role & 16 ? 8 : -1);
    r->at = MARCH_AT(place);
    r->side = march_side(place);
    r->row = march_number(place);
    r->edge_side = march_side(edge);
    r->edge_row = march_number(edge);
    r->edge_at = MARCH_AT(edge);
    r->edge_cell = r->role & 7;
    r->bits = 0;
    SYNC;
    EACH_X r->d[x] = 0.0f;
    r->d[8] = 0.0f;
    r->d[9] = divergence[8 * ROW_IN(r, t, -1) + 7];
    r->v[8] = march_pressure(t, 0, r->side, pressure, divergence, 8 * ROW_IN(r, t, -1) + 6, follows);
    r->v[9] = march_pressure(t, 0, r->side, pressure, divergence, 8 * ROW_IN(r, t, -1) + 7, follows);
}

// Whether there is terrain near what brick j gives.
inline bool march_terrain(local const march_tile *t, int j, int count)
{
    return !((j == 0 || t->clear[j]) && (j == count || t->clear[j + 1]));
}

// Brick j of the run: its pressure into the tile, its divergence if the row `iterates`. Ends with a barrier.
inline void enter_brick(march_row *r, local march_tile *t, int j, int count, bool iterates, global const uchar *open,
                        global const float *pressure, global const float *divergence, bool follows)
{
    float edge = 0.0f;
    r->v[0] = r->v[8];
    r->v[1] = r->v[9];
    const bool unwritten = follows && t->unwritten[j + 1][r->side];
    if (!unwritten) load_row(r->v + 2, pressure, ROW_IN(r, t, j));
    if (r->role >= MARCH_NEIGHBOURS) {
        const int plane = r->edge_cell > 0 ? j : j - 1;
        edge = march_pressure(t, plane + 1, r->edge_side, pressure, divergence,
                              8 * EDGE_IN(r, t, plane) + ((r->edge_cell + 7) & 7), follows);
    }
    r->d[0] = r->d[8];
    r->d[1] = r->d[9];
    if (iterates || unwritten) load_row(r->d + 2, divergence, ROW_IN(r, t, j));
    if (unwritten) EACH_X r->v[x + 2] = first_pressure(r->d[x + 2]);
    write_row(t->p, MARCH_ROWS, r->at, r->v + 1);
    if (r->role >= MARCH_NEIGHBOURS)
        ((local float *)t->p)[4 * (r->edge_at + (r->edge_cell & 4 ? MARCH_ROWS : 0)) + (r->edge_cell & 3)] = edge;
    if (march_terrain(t, j, count)) {
        r->bits = open[ROW_IN(r, t, j - 1)] | (uint)open[ROW_IN(r, t, j)] << 8;
        t->open[j & 1][0][r->at] = spread_bits(r->bits >> 7);
        t->open[j & 1][1][r->at] = spread_bits(r->bits >> 6);
        if (r->role >= MARCH_NEIGHBOURS)
            t->open[j & 1][0][r->edge_at] = spread_bits((open[EDGE_IN(r, t, j - 1)] | (uint)open[EDGE_IN(r, t, j)] << 8) >> 7);
    }
    SYNC;
}

// An iteration on a row: `v` is the row and the cells beside its ends, `tile` has its neighbours on y and z. `bits` is the row's mask
// from the cell before it on, and the masks of other rows are near `open`.
inline void march_iterate(float next[8], const float v[10], local const float4 *tile, int at, const float d[8], bool terrain,
                          uint bits, local const uint *open, local const float *inverses)
{
    float y0[8], y1[8], z0[8], z1[8];
    read_row(y0, tile, MARCH_ROWS, at - 1);
    read_row(y1, tile, MARCH_ROWS, at + 1);
    read_row(z0, tile, MARCH_ROWS, at - MARCH_PITCH);
    read_row(z1, tile, MARCH_ROWS, at + MARCH_PITCH);
    EACH_X next[x] = rule_around(v[x], v[x + 2], y0[x], y1[x], z0[x], z1[x]);
    if (terrain) {
        uint faces = spread_bits(bits) + spread_bits(bits >> 2) + 8u * spread_bits(~bits >> 1);
        faces += open[at - 1] + open[at + 1] + open[at - MARCH_PITCH] + open[at + MARCH_PITCH];
        EACH_X next[x] = rule_classic_pressure(next[x], d[x], inverses[faces >> 4 * x & 15u]);
    } else {
        EACH_X next[x] = rule_classic_pressure(next[x], d[x], 1.0f / 6.0f);
    }
}

// The results of brick j of the run into memory, in one piece: half a row for each work-item.
inline void store_out(const march_row *r, local const march_tile *t, int j, global float *pressure_next)
{
    const float4 half_row = t->out[j & 1][(r->role >> 1) + (r->role & 1 ? OUT_APART : 0)];
    ((global float4 *)pressure_next)[2 * ROWS * t->bricks[j + 1][4] + r->role] = half_row;
}

// Two iterations on a run.
inline void iterate_twice(local march_tile *t, global const device_run *restrict run, global const int *restrict near,
                          global const uchar *restrict open, global const uchar *restrict clear,
                          global const float *restrict pressure, global const float *restrict divergence,
                          global float *restrict pressure_next, bool follows)
{
    const int count = run->count;
    march_row r;
    begin_march(&r, t, run, near, clear, pressure, divergence, follows);
    float q[10];
    EACH_X q[x] = 0.0f;
    q[8] = q[9] = 0.0f;
    for (int j = 0; j <= count; j++) {
        const bool terrain = march_terrain(t, j, count);
        float next[8];
        enter_brick(&r, t, j, count, r.role < MARCH_NEIGHBOURS, open, pressure, divergence, follows);
        if (j > 1) store_out(&r, t, j - 2, pressure_next);
        if (r.role < MARCH_NEIGHBOURS) {
            march_iterate(next, r.v, t->p, r.at, r.d + 1, terrain, r.bits >> 6, t->open[j & 1][0], t->inverses);
            q[0] = q[8];
            q[1] = q[9];
            EACH_X q[x + 2] = next[x];
            write_row(t->q, MARCH_ROWS, r.at, q + 1);
        }
        SYNC;
        if (r.role < MARCH_OWN) {
            march_iterate(next, q, t->q, r.at, r.d, terrain, r.bits >> 5, t->open[j & 1][1], t->inverses);
            local float2 *high_before = (local float2 *)(t->out[(j + 1) & 1] + OUT_APART + r.role);
            local float2 *high = (local float2 *)(t->out[j & 1] + OUT_APART + r.role);
            high_before[1] = (float2)(next[0], next[1]);  // the last two cells of the brick before
            t->out[j & 1][r.role] = (float4)(next[2], next[3], next[4], next[5]);
            high[0] = (float2)(next[6], next[7]);
        }
    }
    SYNC;
    store_out(&r, t, count - 1, pressure_next);
}

#define ITERATION_KERNEL(name, follows)                                                                                \
    MARCH_KERNEL void name(global const device_run *restrict runs, global const int *restrict near,                    \
                           global const uchar *restrict open, global const uchar *restrict clear,                      \
                           global const float *restrict pressure, global const float *restrict divergence,             \
                           global float *restrict pressure_next)                                                       \
    {                                                                                                                  \
        local march_tile tile;                                                                                         \
        iterate_twice(&tile, runs + get_group_id(0), near, open, clear, pressure, divergence, pressure_next, follows); \
    }

ITERATION_KERNEL(classic_pressure, false)
ITERATION_KERNEL(classic_follow, true)  // right after classic_divergence: the second and the third iteration

// The gradient on half a row of faces, of which those with a bit are open.
inline float4 gradient_4(float4 f, uint w, float4 low, float4 high, device_numbers n)
{
    return (float4)(rule_gradient(f.x, (float)(int)BIT(w, 0), low.x, high.x, n.keep, n.max_flow),
                    rule_gradient(f.y, (float)(int)BIT(w, 1), low.y, high.y, n.keep, n.max_flow),
                    rule_gradient(f.z, (float)(int)BIT(w, 2), low.z, high.z, n.keep, n.max_flow),
                    rule_gradient(f.w, (float)(int)BIT(w, 3), low.w, high.w, n.keep, n.max_flow));
}

// The last iteration, if `iterations` is 1 and not 0, and the gradient. In place on the flow after the move: no face looks at
// another face's flow.
MARCH_KERNEL void classic_gradient(global const device_run *restrict runs, global const int *restrict near,
                                   global const uchar *restrict open, global const uchar *restrict clear,
                                   global const float *restrict pressure, global const float *restrict divergence,
                                   global float *restrict pressure_next, global float *restrict flow_x,
                                   global float *restrict flow_y, global float *restrict flow_z, device_numbers n,
                                   int iterations)
{
    local march_tile tile;
    local march_tile *t = &tile;
    global const device_run *run = runs + get_group_id(0);
    const int count = run->count;
    march_row r;
    begin_march(&r, t, run, near, clear, pressure, divergence, false);
    const bool iterates =
        r.role < MARCH_OWN || (r.role < MARCH_NEIGHBOURS && !is_high(r.role));  // beside the run only before its low faces
    if (r.role >= MARCH_NEIGHBOURS && is_high(r.role))
        r.side = 4;  // nobody looks so far beyond its high faces: a row that is near will do
    // The gradient of a brick, once all of it has come: half a row for each work-item.
    const int row = r.role >> 1, upper = r.role & 1;
    const int2 place = (int2)(row & 7, row >> 3), y0 = (int2)(place.x - 1, place.y), z0 = (int2)(place.x, place.y - 1);
    const int half_at = MARCH_AT(place) + MARCH_ROWS * upper;
    global float4 *x_4 = (global float4 *)flow_x, *y_4 = (global float4 *)flow_y, *z_4 = (global float4 *)flow_z;
    float last[8];  // what the iteration gave last
    EACH_X last[x] = 0.0f;
    for (int j = 0; j <= count; j++) {
        const int brick = t->bricks[j][4], at = 2 * ROWS * brick + r.role;  // the one before
        float4 f_x, f_y, f_z;
        f_x = f_y = f_z = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
        if (j > 0) {
            f_x = x_4[at];
            f_y = y_4[at];
            f_z = z_4[at];
        }
        enter_brick(&r, t, j, count, iterates && iterations, open, pressure, divergence, false);
        if (iterates) {
            float next[8], whole[8];
            EACH_X next[x] = r.v[x + 1];
            if (iterations)
                march_iterate(next, r.v, t->p, r.at, r.d + 1, march_terrain(t, j, count), r.bits >> 6, t->open[j & 1][0],
                              t->inverses);
            EACH_X whole[x] = x < 7 ? last[(x + 1) & 7] : next[0];
            write_row(t->q, MARCH_ROWS, r.at, whole);
            if (r.role < MARCH_OWN) t->before[r.role] = last[0];
            EACH_X last[x] = next[x];
        }
        SYNC;
        if (j == 0) continue;
        uint w_x = 15u, w_y = 15u, w_z = 15u;
        if (!t->clear[j]) {
            const uint here = open[ROWS * brick + row], before = open[ROWS * t->bricks[j - 1][4] + row];
            w_x = (here & (here << 1 | before >> 7)) >> 4 * upper;
            w_y = (here & open[ROWS * t->bricks[j][march_side(y0)] + march_number(y0)]) >> 4 * upper;
            w_z = (here & open[ROWS * t->bricks[j][march_side(z0)] + march_number(z0)]) >> 4 * upper;
        }
        const float4 q = t->q[half_at];
        const float before = upper ? t->q[half_at - MARCH_ROWS].w : t->before[row];
        if (iterations) ((global float4 *)pressure_next)[at] = q;
        x_4[at] = gradient_4(f_x, w_x, (float4)(before, q.x, q.y, q.z), q, n);
        y_4[at] = gradient_4(f_y, w_y, t->q[half_at - 1], q, n);
        z_4[at] = gradient_4(f_z, w_z, t->q[half_at - MARCH_PITCH], q, n);
    }
}
