// Kernels of the thesis's rules (docs/how-it-works.md); the CPU's are in cpu_classic.h.
//
// One group works on two bricks side by side on x: a row of a brick is what memory gives at once, so the cells beside a brick on x
// cost as much as the whole neighbour, and two bricks together need two such neighbours instead of four. An entry of `pairs` is
// the bricks in and around a pair, of which the right one may be nothing. A work-item takes a column of cells along z at a time, so that it looks
// up where the column lies only once.
//
//     pairs:  36 bricks each, 4 on x by 3 on y by 3 on z; the pair is at LEFT and RIGHT
//     tile:   cell (x, y, z) at x + low + WIDE * (y + low) + LAYER * (z + low)

#define FILL(drops) ((float)(drops)*RULE_DROP)

#define WIDE(low, high) (16 + (low) + (high))
#define LAYER(low, high) (WIDE(low, high) * EDGE(low, high))
#define PAIR_CELLS(low, high) (LAYER(low, high) * EDGE(low, high))
#define PAIR_AT(low, high, x, y, z) ((x) + (low) + WIDE(low, high) * ((y) + (low)) + LAYER(low, high) * ((z) + (low)))

// A column of the pair's own cells and half of its height, for each of 256 items.
#define EACH_HALF_COLUMN(i) EACH(i, 256)
#define HALF 4

#define PAIR 36
#define LEFT 17
#define RIGHT 18

// Makes the pairs, given the left brick of each.
GROUP_KERNEL void pair_bricks(global const int *lefts, global const int *near, global int *pairs)
{
    int left = lefts[get_group_id(0)], right = near[27 * left + 14];
    EACH(i, PAIR)
    {
        int x = i & 3, beside = 3 * (i >> 2) + (x < 3 ? x : 2);
        pairs[PAIR * get_group_id(0) + i] = near[27 * (x < 3 ? left : right) + beside];
    }
}

// The group's pair into local memory. Ends with a barrier.
inline void load_pair(local int *near_here, global const int *pairs)
{
    EACH(i, PAIR) near_here[i] = pairs[PAIR * get_group_id(0) + i];
    SYNC;
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

// Fills a tile from a channel, VALUE(cell index) giving the value. No barrier.
#define LOAD_PAIR(tile, low, high, VALUE)                                                                           \
    EACH(load_i, LAYER(low, high))                                                                                  \
    {                                                                                                               \
        column load_c = column_at(near_here, load_i % WIDE(low, high) - (low), load_i / WIDE(low, high) - (low));   \
        _Pragma("unroll") for (int load_z = -(low); load_z < 8 + (high); load_z++)                                  \
            (tile)[load_i + LAYER(low, high) * (load_z + (low))] = VALUE(in_column(load_c, load_z));                \
    }

// A tile of masks: a word per column, whose bit z + low tells whether the cell is open.
#define LOAD_OPEN(tile, low, high, open)                                                                            \
    EACH(load_i, LAYER(low, high))                                                                                  \
    {                                                                                                               \
        column load_c = column_at(near_here, load_i % WIDE(low, high) - (low), load_i / WIDE(low, high) - (low));   \
        uint load_bits = 0;                                                                                         \
        for (int load_z = -(low); load_z < 8 + (high); load_z++)                                                    \
            load_bits |= bit_at(open, in_column(load_c, load_z)) << (load_z + (low));                               \
        (tile)[load_i] = load_bits;                                                                                 \
    }

inline float bit_float(uint bits, int bit)
{
    return (float)(int)(bits >> bit & 1u);
}

inline int pair_clear(global const uchar *clear, local const int *near_here)
{
    return clear[near_here[LEFT]] & clear[near_here[RIGHT]];
}

// ---- Move ------------------------------------------------------------------------------------------------------------------

// Tiles of the move: the fill reaches two cells below the pair, all else one.
#define FILL_AT(x, y, z) PAIR_AT(2, 1, x, y, z)
#define FILL_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? WIDE(2, 1) : LAYER(2, 1))
#define FLOW_AT(x, y, z) PAIR_AT(1, 1, x, y, z)
#define FLOW_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? WIDE(1, 1) : LAYER(1, 1))
#define NEXT_AT(x, y, z) PAIR_AT(1, 0, x, y, z)
#define NEXT_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? WIDE(1, 0) : LAYER(1, 0))

typedef struct classic_tiles {
    float m[PAIR_CELLS(2, 1)];
    float flow[3][PAIR_CELLS(1, 1)];
    float m2[PAIR_CELLS(1, 0)];      // fill after the move
    float leaves[PAIR_CELLS(1, 0)];  // share of each cell's mass that leaves it
    uint open[LAYER(1, 0)];
    int near_here[PAIR];
    volatile int any, facts[2];
} classic_tiles;

// Whole drops that cross the low face of a cell. Cells may hold more than a float counts exactly, so drops stay integers.
inline int classic_moved(local const classic_tiles *t, int axis, int x, int y, int z)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    return (int)(rule_classic_flux(t->flow[axis][FLOW_AT(x, y, z)], m[-FILL_STRIDE(axis)], m[0]) * RULE_DROPS);
}

inline float classic_leaves(local const classic_tiles *t, int i)
{
    local const float *x = t->flow[0] + i, *y = t->flow[1] + i, *z = t->flow[2] + i;
    return rule_classic_leaving(x[0], x[1], y[0], y[FLOW_STRIDE(1)], z[0], z[FLOW_STRIDE(2)]);
}

// What comes in through the two faces across an axis on which the tiles' strides are M and S, on both sides of our face.
inline float classic_across(local const float *u, local const float *v, local const float *m, int A, int S, int MA, int M)
{
    return (rule_classic_across(v[-A], m[-MA - M], rule_max(0.0f, u[-S])) +
            rule_classic_across(-v[-A + S], m[-MA + M], rule_max(0.0f, u[S]))) +
           (rule_classic_across(v[0], m[-M], rule_min(0.0f, u[-S])) + rule_classic_across(-v[S], m[M], rule_min(0.0f, u[S])));
}

// The flow along an axis, w being its open face; v_1 and v_2 are the flows across.
inline float classic_carry(local const classic_tiles *t, int axis, int across_1, int across_2, int x, int y, int z, float w,
                           float empty, float gravity)
{
    int i = FLOW_AT(x, y, z), A = FLOW_STRIDE(axis), MA = FILL_STRIDE(axis), NA = NEXT_STRIDE(axis);
    local const float *u = t->flow[axis] + i, *v_1 = t->flow[across_1] + i, *v_2 = t->flow[across_2] + i;
    local const float *m = t->m + FILL_AT(x, y, z), *m2 = t->m2 + NEXT_AT(x, y, z), *leaves = t->leaves + NEXT_AT(x, y, z);
    float forward = u[0] > 0.0f ? 1.0f : 0.0f;
    float backward = 1.0f - forward;
    float leaving = forward * leaves[-NA] + backward * leaves[0];
    float momentum = u[0] * (forward * m[-MA] + backward * m[0]);
    float in = rule_classic_along(u[-A], m[-2 * MA], u[A], m[MA]);
    in = in + (classic_across(u, v_1, m, A, FLOW_STRIDE(across_1), MA, FILL_STRIDE(across_1)) +
               classic_across(u, v_2, m, A, FLOW_STRIDE(across_2), MA, FILL_STRIDE(across_2)));
    float p = (momentum - momentum * leaving) + in;
    float onward = p > 0.0f ? 1.0f : 0.0f;
    float carrier = onward * m2[-NA] + (1.0f - onward) * m2[0];
    float holds = carrier > empty ? 1.0f : 0.0f;
    float touches = m2[-NA] + m2[0] > empty ? 1.0f : 0.0f;
    return holds * (w * p / rule_max(carrier, 1e-30f)) + touches * (w * gravity) + 0.0f;
}

// The fill of some drops; *any remembers that there were some.
inline float classic_fill(int drops, int *any)
{
    *any |= drops;
    return FILL(drops);
}

// facts[brick] becomes DEVICE_WET and DEVICE_CHANGED as they apply. moved_* may be NULL.
GROUP_KERNEL void classic_move(global const int *mass, global const float *flow_x, global const float *flow_y,
                               global const float *flow_z, global int *mass_next, global float *flow_x_next,
                               global float *flow_y_next, global float *flow_z_next, global float *moved_x,
                               global float *moved_y, global float *moved_z, global uchar *facts, global const uint *open,
                               global const uchar *clear, global const int *pairs,
                               device_numbers numbers)
{
    local classic_tiles t;
    local int *near_here = t.near_here;
    ONCE t.any = t.facts[0] = t.facts[1] = 0;
    load_pair(near_here, pairs);
    int left = near_here[LEFT], right = near_here[RIGHT];

    int any = 0;
#define LOAD(at) classic_fill(mass[at], &any)
    LOAD_PAIR(t.m, 2, 1, LOAD)
#undef LOAD
#define LOAD(at) flow_x[at]
    LOAD_PAIR(t.flow[0], 1, 1, LOAD)
#undef LOAD
#define LOAD(at) flow_y[at]
    LOAD_PAIR(t.flow[1], 1, 1, LOAD)
#undef LOAD
#define LOAD(at) flow_z[at]
    LOAD_PAIR(t.flow[2], 1, 1, LOAD)
#undef LOAD
    if (pair_clear(clear, near_here))
        EACH(i, LAYER(1, 0)) t.open[i] = ~0u;
    else
        LOAD_OPEN(t.open, 1, 0, open)
    if (any) RAISE(t.any, 1);
    SYNC;
    if (!t.any) {
        EACH(i, 2 * BRICK_CELLS)
        {
            int brick = i < BRICK_CELLS ? left : right, at = brick * BRICK_CELLS + (i & (BRICK_CELLS - 1));
            if (brick == 0) continue;
            mass_next[at] = 0;
            flow_x_next[at] = flow_y_next[at] = flow_z_next[at] = 0.0f;
            if (moved_x) moved_x[at] = 0.0f;
            if (moved_y) moved_y[at] = 0.0f;
            if (moved_z) moved_z[at] = 0.0f;
        }
        ONCE facts[left] = 0;
        if (right) ONCE facts[right] = 0;
        return;
    }

    // The fill after the move, three cells of a column at a time.
    EACH(i, 3 * LAYER(1, 0))
    {
        int x = i % LAYER(1, 0) % WIDE(1, 0) - 1, y = i % LAYER(1, 0) / WIDE(1, 0) - 1, z = 3 * (i / LAYER(1, 0)) - 1;
        column c = column_at(near_here, x, y);
        bool own = x >= 0 && y >= 0 && c.here >= BRICK_CELLS;
        int low = classic_moved(&t, 2, x, y, z), wet = 0, changed = 0;
        for (int end = z + 3; z < end; z++) {
            float m = t.m[FILL_AT(x, y, z)];
            int at = in_column(c, z), high = classic_moved(&t, 2, x, y, z + 1);
            int before = m < 4.0f ? (int)(m * RULE_DROPS) : mass[at];  // up to there a float counts drops exactly
            int after = before + (classic_moved(&t, 0, x, y, z) - classic_moved(&t, 0, x + 1, y, z)) + (low - high) +
                        (classic_moved(&t, 1, x, y, z) - classic_moved(&t, 1, x, y + 1, z));
            low = high;
            t.m2[NEXT_AT(x, y, z)] = FILL(after);
            t.leaves[NEXT_AT(x, y, z)] = classic_leaves(&t, FLOW_AT(x, y, z));
            if (!own || z < 0) continue;
            mass_next[at] = after;
            wet |= after;
            changed |= after ^ before;
        }
        int found = (wet ? DEVICE_WET : 0) | (changed ? DEVICE_CHANGED : 0);
        if (found) RAISE(t.facts[x >> 3], found);
    }
    SYNC;
    ONCE facts[left] = (uchar)t.facts[0];
    if (right) ONCE facts[right] = (uchar)t.facts[1];

    EACH_HALF_COLUMN(i)
    {
        int x = i & 15, y = i >> 4 & 7, z = HALF * (i >> 7);
        int brick = x < 8 ? left : right;
        local const uint *o = t.open + x + 1 + WIDE(1, 0) * (y + 1);
        uint bits = o[0], w_x = bits & o[-1], w_y = bits & o[-WIDE(1, 0)], w_z = bits & bits << 1;
        for (int end = brick ? z + HALF : z; z < end; z++) {
            int at = brick * BRICK_CELLS + (x & 7) + 8 * y + 64 * z;
            flow_x_next[at] = classic_carry(&t, 0, 1, 2, x, y, z, bit_float(w_x, z + 1), numbers.empty, numbers.gravity_x);
            flow_y_next[at] = classic_carry(&t, 1, 0, 2, x, y, z, bit_float(w_y, z + 1), numbers.empty, numbers.gravity_y);
            flow_z_next[at] = classic_carry(&t, 2, 1, 0, x, y, z, bit_float(w_z, z + 1), numbers.empty, numbers.gravity_z);
            if (moved_x) moved_x[at] = FILL(classic_moved(&t, 0, x, y, z));
            if (moved_y) moved_y[at] = FILL(classic_moved(&t, 1, x, y, z));
            if (moved_z) moved_z[at] = FILL(classic_moved(&t, 2, x, y, z));
        }
    }
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

// 1 over the number of a cell's open faces.
constant float classic_inverses[7] = {0.0f, 1.0f, 1.0f / 2.0f, 1.0f / 3.0f, 1.0f / 4.0f, 1.0f / 5.0f, 1.0f / 6.0f};

// The same for the cell at `bit` of a column of masks, `wide` being the width of their tile; 0 in a solid cell.
inline float classic_inverse(local const uint *open, int wide, int bit)
{
    uint faces = (open[-1] >> bit & 1u) + (open[1] >> bit & 1u) + (open[-wide] >> bit & 1u) + (open[wide] >> bit & 1u) +
                 (open[0] >> (bit - 1) & 1u) + (open[0] >> (bit + 1) & 1u);
    return (open[0] >> bit & 1u) ? classic_inverses[faces] : 0.0f;
}

// What comes in through the low face of a cell and leaves through the high one.
inline float classic_net(float low, float high, float m_low, float m, float m_high)
{
    return rule_classic_flux(low, m_low, m) - rule_classic_flux(high, m, m_high);
}

// The excess to come, and the first iteration of the pressure, which starts from nothing. Mass and flow are those after the
// move.
GROUP_KERNEL void classic_divergence(global const int *mass, global const float *flow_x, global const float *flow_y,
                                     global const float *flow_z, global float *divergence, global float *pressure,
                                     global const uint *open, global const uchar *clear, global const int *pairs)
{
    local int near_here[PAIR];
    local uint masks[LAYER(1, 1)];
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) LOAD_OPEN(masks, 1, 1, open)
    SYNC;
    EACH_HALF_COLUMN(i)
    {
        int x = i & 15, y = i >> 4 & 7, z = HALF * (i >> 7);
        column c = column_at(near_here, x, y);
        if (c.here < BRICK_CELLS) continue;
        int x0 = column_at(near_here, x - 1, y).here, x1 = column_at(near_here, x + 1, y).here;
        int y0 = column_at(near_here, x, y - 1).here, y1 = column_at(near_here, x, y + 1).here;
        local const uint *o = masks + x + 1 + WIDE(1, 1) * (y + 1);
        float m_low = FILL(mass[in_column(c, z - 1)]), m = FILL(mass[c.here + 64 * z]), low = flow_z[c.here + 64 * z];
        for (int end = z + HALF; z < end; z++) {
            int at = c.here + 64 * z, above = in_column(c, z + 1);
            float m_high = FILL(mass[above]), high = flow_z[above];
            float net_x = classic_net(flow_x[at], flow_x[x1 + 64 * z], FILL(mass[x0 + 64 * z]), m, FILL(mass[x1 + 64 * z]));
            float net_y = classic_net(flow_y[at], flow_y[y1 + 64 * z], FILL(mass[y0 + 64 * z]), m, FILL(mass[y1 + 64 * z]));
            float net_z = classic_net(low, high, m_low, m, m_high);
            float opens = terrain ? bit_float(o[0], z + 1) : 1.0f;
            float d = opens * ((m - 1.0f) + ((net_x + net_z) + net_y));
            divergence[at] = d;
            pressure[at] = rule_classic_pressure(0.0f, d, terrain ? classic_inverse(o, WIDE(1, 1), z + 1) : 1.0f / 6.0f);
            m_low = m;
            m = m_high;
            low = high;
        }
    }
}

// The new pressure of a cell, with `p` pointing at it in a tile of this width, and its neighbours on z.
inline float classic_iterate(local const float *p, int wide, float low, float high, float divergence, float inverse)
{
    float sum = ((p[-1] + p[1]) + (low + high)) + (p[-wide] + p[wide]);
    return rule_classic_pressure(sum, divergence, inverse);
}

// Two iterations, the first also on the cells beside the pair.
GROUP_KERNEL void classic_pressure(global const float *pressure, global float *pressure_next, global const float *divergence,
                                   global const uint *open, global const uchar *clear, global const int *pairs)
{
    local float p[PAIR_CELLS(2, 2)], q[PAIR_CELLS(1, 1)], d[PAIR_CELLS(1, 1)];
    local uint masks[LAYER(2, 2)];
    local int near_here[PAIR];
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) LOAD_OPEN(masks, 2, 2, open)
#define LOAD(at) pressure[at]
    LOAD_PAIR(p, 2, 2, LOAD)
#undef LOAD
#define LOAD(at) divergence[at]
    LOAD_PAIR(d, 1, 1, LOAD)
#undef LOAD
    SYNC;

    // Half columns of five cells.
    EACH(i, 2 * LAYER(1, 1))
    {
        int first = i < LAYER(1, 1) ? -1 : 4, of = i < LAYER(1, 1) ? i : i - LAYER(1, 1);
        int x = of % WIDE(1, 1) - 1, y = of / WIDE(1, 1) - 1;
        int to = PAIR_AT(1, 1, x, y, first);
        local const float *from = p + PAIR_AT(2, 2, x, y, first);
        local const uint *o = masks + x + 2 + WIDE(2, 2) * (y + 2);
        float low = from[-LAYER(2, 2)], here = from[0];
#pragma unroll
        for (int k = 0; k < 5; k++)
        {
            float high = from[(k + 1) * LAYER(2, 2)];
            float inverse = terrain ? classic_inverse(o, WIDE(2, 2), first + k + 2) : 1.0f / 6.0f;
            q[to + k * LAYER(1, 1)] = classic_iterate(from + k * LAYER(2, 2), WIDE(2, 2), low, high, d[to + k * LAYER(1, 1)],
                                                      inverse);
            low = here;
            here = high;
        }
    }
    SYNC;
    EACH_HALF_COLUMN(i)
    {
        int x = i & 15, y = i >> 4 & 7, first = HALF * (i >> 7);
        int at = column_at(near_here, x, y).here + 64 * first;
        if (at < BRICK_CELLS) continue;
        local const float *from = q + PAIR_AT(1, 1, x, y, first), *e = d + PAIR_AT(1, 1, x, y, first);
        local const uint *o = masks + x + 2 + WIDE(2, 2) * (y + 2);
        float low = from[-LAYER(1, 1)], here = from[0];
#pragma unroll
        for (int k = 0; k < HALF; k++)
        {
            float high = from[(k + 1) * LAYER(1, 1)];
            float inverse = terrain ? classic_inverse(o, WIDE(2, 2), first + k + 2) : 1.0f / 6.0f;
            pressure_next[at + 64 * k] =
                classic_iterate(from + k * LAYER(1, 1), WIDE(1, 1), low, high, e[k * LAYER(1, 1)], inverse);
            low = here;
            here = high;
        }
    }
}

// The last iteration, if `iterations` is 1 and not 0, and the gradient. In place on the flow after the move: no face looks at
// another face's flow.
GROUP_KERNEL void classic_gradient(global const float *pressure, global float *pressure_next, global const float *divergence,
                                   global float *flow_x, global float *flow_y, global float *flow_z, global const uint *open,
                                   global const uchar *clear, global const int *pairs,
                                   device_numbers numbers, int iterations)
{
    local float p[PAIR_CELLS(2, 1)], q[PAIR_CELLS(1, 0)], d[PAIR_CELLS(1, 0)];
    local uint masks[LAYER(2, 1)];
    local int near_here[PAIR];
    float keep = numbers.keep, limit = numbers.max_flow;
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) LOAD_OPEN(masks, 2, 1, open)
#define LOAD(at) pressure[at]
    LOAD_PAIR(p, 2, 1, LOAD)
#undef LOAD
#define LOAD(at) divergence[at]
    if (iterations) LOAD_PAIR(d, 1, 0, LOAD)
#undef LOAD
    SYNC;

    EACH(i, 3 * LAYER(1, 0))
    {
        int of = i % LAYER(1, 0), first = 3 * (i / LAYER(1, 0)) - 1;
        int x = of % WIDE(1, 0) - 1, y = of / WIDE(1, 0) - 1;
        column c = column_at(near_here, x, y);
        local const float *from = p + PAIR_AT(2, 1, x, y, first);
        local const uint *o = masks + x + 2 + WIDE(2, 1) * (y + 2);
        int to = PAIR_AT(1, 0, x, y, first);
        bool own = x >= 0 && y >= 0 && c.here >= BRICK_CELLS;
        float low = from[-LAYER(2, 1)], here = from[0];
#pragma unroll
        for (int k = 0; k < 3; k++)
        {
            float high = from[(k + 1) * LAYER(2, 1)], next = here;
            if (iterations) {
                float inverse = terrain ? classic_inverse(o, WIDE(2, 1), first + k + 2) : 1.0f / 6.0f;
                next = classic_iterate(from + k * LAYER(2, 1), WIDE(2, 1), low, high, d[to + k * LAYER(1, 0)], inverse);
                if (own && first + k >= 0) pressure_next[c.here + 64 * (first + k)] = next;
            }
            q[to + k * LAYER(1, 0)] = next;
            low = here;
            here = high;
        }
    }
    SYNC;
    EACH_HALF_COLUMN(i)
    {
        int x = i & 15, y = i >> 4 & 7, first = HALF * (i >> 7);
        int at = column_at(near_here, x, y).here + 64 * first;
        if (at < BRICK_CELLS) continue;
        local const float *from = q + PAIR_AT(1, 0, x, y, first);
        local const uint *o = masks + x + 2 + WIDE(2, 1) * (y + 2);
        uint bits = terrain ? o[0] : ~0u;
        uint w_x = terrain ? bits & o[-1] : ~0u, w_y = terrain ? bits & o[-WIDE(2, 1)] : ~0u;
        uint w_z = terrain ? bits & bits << 1 : ~0u;
        float low = from[-LAYER(1, 0)];
#pragma unroll
        for (int k = 0; k < HALF; k++, at += 64)
        {
            local const float *here = from + k * LAYER(1, 0);
            int bit = first + k + 2;
            flow_x[at] = rule_gradient(flow_x[at], bit_float(w_x, bit), here[-1], here[0], keep, limit);
            flow_y[at] = rule_gradient(flow_y[at], bit_float(w_y, bit), here[-WIDE(1, 0)], here[0], keep, limit);
            flow_z[at] = rule_gradient(flow_z[at], bit_float(w_z, bit), low, here[0], keep, limit);
            low = here[0];
        }
    }
}
