// Kernels of the thesis's rules (docs/how-it-works.md); the CPU's are in cpu_classic.h.
//
// One group works on two bricks side by side on x: a row of a brick is what memory gives at once, so the cells beside a brick on x
// cost as much as the whole neighbour, and two bricks together need two such neighbours instead of four. An entry of `pairs` is
// the bricks in and around a pair, of which the right one may be nothing. A work-item takes a column of cells along z at a time,
// so that it looks up where the column lies only once.
//
//     pairs:  36 bricks each, 4 on x by 3 on y by 3 on z; the pair is at LEFT and RIGHT
//     tile:   cell (x, y, z) at x + low + PITCH * (y + low) + LAYER * (z + low)
//
// Local memory has 32 banks. 8 x 4 columns of a layer lie in different ones if the pitch is 24; 16 columns on x and the same four
// layers higher do if the layer is 4 more than a multiple of 8.

#define FILL(drops) ((float)(drops)*RULE_DROP)

#define PAIR 36
#define LEFT 17
#define RIGHT 18
#define HALF 4  // half of a column
#define ROUNDS(items) (((items) + GROUP - 1) / GROUP)  // that EACH takes

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

// Which column a work-item takes: first the pair's own 128, then those up to `rim` cells (1 or 2) beside them on y, on x, and at the
// corners. So 32 work-items in a row read from as few lines of memory as can be.
#define COLUMNS(rim) ((16 + 2 * (rim)) * (8 + 2 * (rim)))

inline int2 column_of_item(int i, int rim)
{
    if (i < 128) return (int2)((i & 7) + (i >> 2 & 8), (i >> 3 & 3) + (i >> 4 & 4));
    i -= 128;
    if (i < 32 * rim) {
        int row = (i >> 3 & (2 * rim - 1)) - rim;
        return (int2)((i & 7) + (i >= 16 * rim ? 8 : 0), row < 0 ? row : row + 8);
    }
    i -= 32 * rim;
    int x = i & (rim - 1);
    if (i < 16 * rim) return (int2)(i >= 8 * rim ? 16 + x : x - rim, i >> (rim - 1) & 7);
    i = (i - 16 * rim) >> (rim - 1);
    int y = i >> 1 & (rim - 1);
    return (int2)(i & 1 ? 16 + x : x - rim, i >> rim & 1 ? 8 + y : y - rim);
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

// Fills a tile NAME (NAME_LOW, NAME_HIGH, NAME_PITCH, NAME_LAYER) from a channel, VALUE(cell index) giving the value. No barrier.
#define LOAD_PAIR(tile, NAME, VALUE)                                                                                           \
    EACH(load_i, COLUMNS(NAME##_LOW))                                                                                          \
    {                                                                                                                          \
        int2 load_at = column_of_item(load_i, NAME##_LOW);                                                                     \
        column load_c = column_at(near_here, load_at.x, load_at.y);                                                            \
        if (load_at.x >= 16 + NAME##_HIGH || load_at.y >= 8 + NAME##_HIGH) continue;                                           \
        _Pragma("unroll") for (int load_z = -NAME##_LOW; load_z < 8 + NAME##_HIGH; load_z++)                                   \
            (tile)[TILE_AT(NAME, load_at.x, load_at.y, load_z)] = VALUE(in_column(load_c, load_z));                            \
    }

#define TILE_AT(NAME, x, y, z) ((x) + NAME##_LOW + NAME##_PITCH * ((y) + NAME##_LOW) + NAME##_LAYER * ((z) + NAME##_LOW))
#define TILE_SIZE(NAME) (NAME##_LAYER * (8 + NAME##_LOW + NAME##_HIGH))

// Masks around a pair: a word per column, whose bit z + 2 tells whether the cell is open.
#define MASK_PITCH 20
#define MASK_AT(x, y) ((x) + 2 + MASK_PITCH * ((y) + 2))
#define MASKS (MASK_PITCH * 12)

inline void load_masks(local uint *masks, local const int *near_here, global const uint *open)
{
    EACH(i, COLUMNS(2))
    {
        int2 at = column_of_item(i, 2);
        column c = column_at(near_here, at.x, at.y);
        uint bits = 0;
        for (int z = -2; z < 10; z++) bits |= bit_at(open, in_column(c, z)) << (z + 2);
        masks[MASK_AT(at.x, at.y)] = bits;
    }
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
#define FILL_AT(x, y, z) TILE_AT(FILL, x, y, z)
#define FLOW_AT(x, y, z) TILE_AT(FLOW, x, y, z)
#define NEXT_AT(x, y, z) TILE_AT(NEXT, x, y, z)
#define FILL_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? FILL_PITCH : FILL_LAYER)
#define FLOW_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? FLOW_PITCH : FLOW_LAYER)
#define NEXT_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? NEXT_PITCH : NEXT_LAYER)

typedef struct classic_tiles {
    float m[TILE_SIZE(FILL)];
    float flow[3][TILE_SIZE(FLOW)];
    float m2[TILE_SIZE(NEXT)];      // fill after the move
    float leaves[TILE_SIZE(NEXT)];  // share of each cell's mass that leaves it
    uint open[MASKS];
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

// What would cross a face if it came out of a cell with the fill m: with the wrong sign where it does not, which the rules leave out.
inline float classic_cross_from(float f, float m)
{
    return rule_classic_cross(f, m, m);
}

// What comes in through the two faces across an axis on which the tiles' strides are M and S, on both sides of our face.
inline float classic_across(local const float *u, local const float *v, local const float *m, int A, int S, int MA, int M)
{
    return rule_classic_across(classic_cross_from(v[-A], m[-MA - M]), rule_positive(u[-S]),
                               classic_cross_from(v[-A + S], m[-MA + M]), rule_positive(u[S])) +
           rule_classic_across(classic_cross_from(v[0], m[-M]), rule_negative(u[-S]), classic_cross_from(v[S], m[M]),
                               rule_negative(u[S]));
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
    float in = rule_classic_along(classic_cross_from(u[-A], m[-2 * MA]), u[-A], classic_cross_from(u[A], m[MA]), u[A]);
    in = in + (classic_across(u, v_1, m, A, FLOW_STRIDE(across_1), MA, FILL_STRIDE(across_1)) +
               classic_across(u, v_2, m, A, FLOW_STRIDE(across_2), MA, FILL_STRIDE(across_2)));
    float p = (momentum - momentum * leaving) + in;
    float onward = p > 0.0f ? 1.0f : 0.0f;
    float carrier = onward * m2[-NA] + (1.0f - onward) * m2[0];
    float holds = carrier > empty ? 1.0f : 0.0f;
    float touches = m2[-NA] + m2[0] > empty ? 1.0f : 0.0f;
    float carried = w * p;
    if (carried != 0.0f) carried = carried / rule_max(carrier, 1e-30f);  // devices divide zero slowly
    return holds * carried + touches * (w * gravity) + 0.0f;
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
    LOAD_PAIR(t.m, FILL, LOAD)
#undef LOAD
#define LOAD(at) flow_x[at]
    LOAD_PAIR(t.flow[0], FLOW, LOAD)
#undef LOAD
#define LOAD(at) flow_y[at]
    LOAD_PAIR(t.flow[1], FLOW, LOAD)
#undef LOAD
#define LOAD(at) flow_z[at]
    LOAD_PAIR(t.flow[2], FLOW, LOAD)
#undef LOAD
    if (pair_clear(clear, near_here))
        EACH(i, MASKS) t.open[i] = ~0u;
    else
        load_masks(t.open, near_here, open);
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

    // The fill after the move: halves of columns, lower and upper ones four layers apart, then thirds of those at x = -1.
    EACH(i, 32 * 9 + 3 * 9)
    {
        int beside = i - 32 * 9, upper = i >> 4 & 1;
        int x = beside < 0 ? i & 15 : -1, y = beside < 0 ? (i >> 5) - 1 : beside % 9 - 1;
        int z = beside < 0 ? 4 * upper - 1 : 3 * (beside / 9) - 1, end = beside < 0 ? 5 * upper + 3 : z + 3;
        column c = column_at(near_here, x, y);
        bool own = x >= 0 && y >= 0 && c.here >= BRICK_CELLS;
        int low = classic_moved(&t, 2, x, y, z), wet = 0, changed = 0;
        for (; z < end; z++) {
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

    EACH(i, 256)
    {
        int x = i & 15, y = i >> 5, z = HALF * (i >> 4 & 1);
        int brick = x < 8 ? left : right;
        local const uint *o = t.open + MASK_AT(x, y);
        uint bits = o[0], w_x = bits & o[-1], w_y = bits & o[-MASK_PITCH], w_z = bits & bits << 1;
        if (brick == 0) continue;
        for (int end = z + HALF; z < end; z++) {
            int at = brick * BRICK_CELLS + (x & 7) + 8 * y + 64 * z;
            flow_x_next[at] = classic_carry(&t, 0, 1, 2, x, y, z, bit_float(w_x, z + 2), numbers.empty, numbers.gravity_x);
            flow_y_next[at] = classic_carry(&t, 1, 0, 2, x, y, z, bit_float(w_y, z + 2), numbers.empty, numbers.gravity_y);
            flow_z_next[at] = classic_carry(&t, 2, 1, 0, x, y, z, bit_float(w_z, z + 2), numbers.empty, numbers.gravity_z);
            if (moved_x) moved_x[at] = FILL(classic_moved(&t, 0, x, y, z));
            if (moved_y) moved_y[at] = FILL(classic_moved(&t, 1, x, y, z));
            if (moved_z) moved_z[at] = FILL(classic_moved(&t, 2, x, y, z));
        }
    }
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

// 1 over the number of a cell's open faces.
constant float classic_inverses[7] = {0.0f, 1.0f, 1.0f / 2.0f, 1.0f / 3.0f, 1.0f / 4.0f, 1.0f / 5.0f, 1.0f / 6.0f};

// The same for the cell z of a column of masks; 0 in a solid cell.
inline float classic_inverse(local const uint *open, int z)
{
    int bit = z + 2;
    uint faces = (open[-1] >> bit & 1u) + (open[1] >> bit & 1u) + (open[-MASK_PITCH] >> bit & 1u) +
                 (open[MASK_PITCH] >> bit & 1u) + (open[0] >> (bit - 1) & 1u) + (open[0] >> (bit + 1) & 1u);
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
    local uint masks[MASKS];
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) load_masks(masks, near_here, open);
    SYNC;
    EACH(i, 256)
    {
        int2 place = column_of_item(i & 127, 1);
        int x = place.x, y = place.y, z = HALF * (i >> 7);
        column c = column_at(near_here, x, y);
        if (c.here < BRICK_CELLS) continue;
        int x0 = column_at(near_here, x - 1, y).here, x1 = column_at(near_here, x + 1, y).here;
        int y0 = column_at(near_here, x, y - 1).here, y1 = column_at(near_here, x, y + 1).here;
        local const uint *o = masks + MASK_AT(x, y);
        float m_low = FILL(mass[in_column(c, z - 1)]), m = FILL(mass[c.here + 64 * z]), low = flow_z[c.here + 64 * z];
        for (int end = z + HALF; z < end; z++) {
            int at = c.here + 64 * z, above = in_column(c, z + 1);
            float m_high = FILL(mass[above]), high = flow_z[above];
            float net_x = classic_net(flow_x[at], flow_x[x1 + 64 * z], FILL(mass[x0 + 64 * z]), m, FILL(mass[x1 + 64 * z]));
            float net_y = classic_net(flow_y[at], flow_y[y1 + 64 * z], FILL(mass[y0 + 64 * z]), m, FILL(mass[y1 + 64 * z]));
            float net_z = classic_net(low, high, m_low, m, m_high);
            float opens = terrain ? bit_float(o[0], z + 2) : 1.0f;
            float d = opens * ((m - 1.0f) + ((net_x + net_z) + net_y));
            divergence[at] = d;
            pressure[at] = rule_classic_pressure(0.0f, d, terrain ? classic_inverse(o, z) : 1.0f / 6.0f);
            m_low = m;
            m = m_high;
            low = high;
        }
    }
}

// The new pressure of a cell, with `p` pointing at it in a tile of this pitch, and its neighbours on z.
inline float classic_iterate(local const float *p, int pitch, float low, float high, float divergence, float inverse)
{
    float sum = ((p[-1] + p[1]) + (low + high)) + (p[-pitch] + p[pitch]);
    return rule_classic_pressure(sum, divergence, inverse);
}

// Tiles of the pressure, before and after an iteration.
#define OLD_LOW 2
#define OLD_HIGH 2
#define OLD_PITCH 24
#define OLD_LAYER 288
#define NEW_LOW 1
#define NEW_HIGH 1
#define NEW_PITCH 24
#define NEW_LAYER 244

// Two iterations, the first also on the cells beside the pair.
GROUP_KERNEL void classic_pressure(global const float *pressure, global float *pressure_next, global const float *divergence,
                                   global const uint *open, global const uchar *clear, global const int *pairs)
{
    local float p[TILE_SIZE(OLD)], q[TILE_SIZE(NEW)];
    local uint masks[MASKS];
    local int near_here[PAIR];
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) load_masks(masks, near_here, open);
#define LOAD(at) pressure[at]
    LOAD_PAIR(p, OLD, LOAD)
#undef LOAD
    SYNC;

    EACH(i, COLUMNS(1))
    {
        int2 place = column_of_item(i, 1);
        column c = column_at(near_here, place.x, place.y);
        local const float *from = p + TILE_AT(OLD, place.x, place.y, -1);
        local float *to = q + TILE_AT(NEW, place.x, place.y, -1);
        local const uint *o = masks + MASK_AT(place.x, place.y);
        float low = from[-OLD_LAYER], here = from[0];
#pragma unroll
        for (int k = 0; k < 10; k++) {
            float high = from[(k + 1) * OLD_LAYER];
            float inverse = terrain ? classic_inverse(o, k - 1) : 1.0f / 6.0f;
            to[k * NEW_LAYER] =
                classic_iterate(from + k * OLD_LAYER, OLD_PITCH, low, high, divergence[in_column(c, k - 1)], inverse);
            low = here;
            here = high;
        }
    }
    SYNC;
    EACH(i, 256)
    {
        int x = i & 15, y = i >> 5, first = HALF * (i >> 4 & 1);
        int at = column_at(near_here, x, y).here + 64 * first;
        if (at < BRICK_CELLS) continue;
        local const float *from = q + TILE_AT(NEW, x, y, first);
        local const uint *o = masks + MASK_AT(x, y);
        float low = from[-NEW_LAYER], here = from[0];
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            float high = from[(k + 1) * NEW_LAYER];
            float inverse = terrain ? classic_inverse(o, first + k) : 1.0f / 6.0f;
            pressure_next[at + 64 * k] =
                classic_iterate(from + k * NEW_LAYER, NEW_PITCH, low, high, divergence[at + 64 * k], inverse);
            low = here;
            here = high;
        }
    }
}

#define LAST_LOW 2
#define LAST_HIGH 1
#define LAST_PITCH 24
#define LAST_LAYER 264
#define FINAL_LOW 1
#define FINAL_HIGH 0
#define FINAL_PITCH 24
#define FINAL_LAYER 220

// The last iteration, if `iterations` is 1 and not 0, and the gradient. In place on the flow after the move: no face looks at
// another face's flow.
GROUP_KERNEL void classic_gradient(global const float *pressure, global float *pressure_next, global const float *divergence,
                                   global float *flow_x, global float *flow_y, global float *flow_z, global const uint *open,
                                   global const uchar *clear, global const int *pairs, device_numbers numbers, int iterations)
{
    local float p[TILE_SIZE(LAST)], q[TILE_SIZE(FINAL)];
    local uint masks[MASKS];
    local int near_here[PAIR];
    float keep = numbers.keep, limit = numbers.max_flow;
    load_pair(near_here, pairs);
    int terrain = !pair_clear(clear, near_here);
    if (terrain) load_masks(masks, near_here, open);
#define LOAD(at) pressure[at]
    LOAD_PAIR(p, LAST, LOAD)
#undef LOAD
    // Asked for before the barrier, so that it comes meanwhile.
    float f_x[ROUNDS(256)][HALF], f_y[ROUNDS(256)][HALF], f_z[ROUNDS(256)][HALF];
    EACH(i, 256)
    {
        int2 place = column_of_item(i & 127, 1);
        int at = column_at(near_here, place.x, place.y).here + 64 * HALF * (i >> 7);
#pragma unroll
        for (int k = 0; k < HALF; k++) {
            f_x[i / GROUP][k] = flow_x[at + 64 * k];
            f_y[i / GROUP][k] = flow_y[at + 64 * k];
            f_z[i / GROUP][k] = flow_z[at + 64 * k];
        }
    }
    SYNC;

    EACH(i, COLUMNS(1))
    {
        int2 place = column_of_item(i, 1);
        if (place.x >= 16 || place.y >= 8) continue;
        column c = column_at(near_here, place.x, place.y);
        local const float *from = p + TILE_AT(LAST, place.x, place.y, -1);
        local float *to = q + TILE_AT(FINAL, place.x, place.y, -1);
        local const uint *o = masks + MASK_AT(place.x, place.y);
        bool own = i < 128 && c.here >= BRICK_CELLS;
        float low = from[-LAST_LAYER], here = from[0];
#pragma unroll
        for (int k = 0; k < 9; k++) {
            float high = from[(k + 1) * LAST_LAYER], next = here;
            if (iterations) {
                int at = in_column(c, k - 1);
                float inverse = terrain ? classic_inverse(o, k - 1) : 1.0f / 6.0f;
                next = classic_iterate(from + k * LAST_LAYER, LAST_PITCH, low, high, divergence[at], inverse);
                if (own && k > 0) pressure_next[at] = next;
            }
            to[k * FINAL_LAYER] = next;
            low = here;
            here = high;
        }
    }
    SYNC;
    EACH(i, 256)
    {
        int2 place = column_of_item(i & 127, 1);
        int x = place.x, y = place.y, first = HALF * (i >> 7);
        int at = column_at(near_here, x, y).here + 64 * first;
        if (at < BRICK_CELLS) continue;
        local const float *from = q + TILE_AT(FINAL, x, y, first);
        local const uint *o = masks + MASK_AT(x, y);
        uint bits = terrain ? o[0] : ~0u;
        uint w_x = terrain ? bits & o[-1] : ~0u, w_y = terrain ? bits & o[-MASK_PITCH] : ~0u;
        uint w_z = terrain ? bits & bits << 1 : ~0u;
        float low = from[-FINAL_LAYER];
#pragma unroll
        for (int k = 0; k < HALF; k++, at += 64) {
            local const float *here = from + k * FINAL_LAYER;
            int bit = first + k + 2;
            flow_x[at] = rule_gradient(f_x[i / GROUP][k], bit_float(w_x, bit), here[-1], here[0], keep, limit);
            flow_y[at] = rule_gradient(f_y[i / GROUP][k], bit_float(w_y, bit), here[-FINAL_PITCH], here[0], keep, limit);
            flow_z[at] = rule_gradient(f_z[i / GROUP][k], bit_float(w_z, bit), low, here[0], keep, limit);
            low = here[0];
        }
    }
}
