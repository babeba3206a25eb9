// Kernels of the thesis's rules (docs/how-it-works.md); the CPU's are in cpu_classic.h. One group per entry of `list`.

#define FILL(drops) ((float)(drops)*RULE_DROP)

// Tiles of the move: the fill reaches two cells below the brick, all else one.
#define FILL_AT(x, y, z) AT(2, 1, x, y, z)
#define FILL_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? EDGE(2, 1) : EDGE(2, 1) * EDGE(2, 1))
#define FLOW_AT(x, y, z) AT(1, 1, x, y, z)
#define FLOW_STRIDE(axis) ((axis) == 0 ? 1 : (axis) == 1 ? EDGE(1, 1) : EDGE(1, 1) * EDGE(1, 1))

typedef struct classic_tiles {
    float m[TILE_CELLS(2, 1)];
    float flow[3][TILE_CELLS(1, 1)];
    float m2[TILE_CELLS(1, 1)];      // fill after the move
    float leaves[TILE_CELLS(1, 1)];  // share of each cell's mass that leaves it
    int near_here[27];
    volatile int any, wet, changed;
} classic_tiles;

// Whole drops that cross the low face of a cell. Cells may hold more than a float counts exactly, so drops stay integers.
inline int classic_moved(local const classic_tiles *t, int axis, int x, int y, int z)
{
    local const float *m = t->m + FILL_AT(x, y, z);
    return (int)(rule_classic_flux(t->flow[axis][FLOW_AT(x, y, z)], m[-FILL_STRIDE(axis)], m[0]) * RULE_DROPS);
}

inline int classic_drops_after(local const classic_tiles *t, int before, int x, int y, int z)
{
    return before + (classic_moved(t, 0, x, y, z) - classic_moved(t, 0, x + 1, y, z)) +
           (classic_moved(t, 2, x, y, z) - classic_moved(t, 2, x, y, z + 1)) +
           (classic_moved(t, 1, x, y, z) - classic_moved(t, 1, x, y + 1, z));
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
    int i = FLOW_AT(x, y, z), A = FLOW_STRIDE(axis), MA = FILL_STRIDE(axis);
    local const float *u = t->flow[axis] + i, *v_1 = t->flow[across_1] + i, *v_2 = t->flow[across_2] + i;
    local const float *m = t->m + FILL_AT(x, y, z), *m2 = t->m2 + i, *leaves = t->leaves + i;
    float forward = u[0] > 0.0f ? 1.0f : 0.0f;
    float backward = 1.0f - forward;
    float leaving = forward * leaves[-A] + backward * leaves[0];
    float momentum = u[0] * (forward * m[-MA] + backward * m[0]);
    float in = rule_classic_along(u[-A], m[-2 * MA], u[A], m[MA]);
    in = in + (classic_across(u, v_1, m, A, FLOW_STRIDE(across_1), MA, FILL_STRIDE(across_1)) +
               classic_across(u, v_2, m, A, FLOW_STRIDE(across_2), MA, FILL_STRIDE(across_2)));
    float p = (momentum - momentum * leaving) + in;
    float onward = p > 0.0f ? 1.0f : 0.0f;
    float carrier = onward * m2[-A] + (1.0f - onward) * m2[0];
    float holds = carrier > empty ? 1.0f : 0.0f;
    float touches = m2[-A] + m2[0] > empty ? 1.0f : 0.0f;
    return holds * (w * p / rule_max(carrier, 1e-30f)) + touches * (w * gravity) + 0.0f;
}

// facts[brick] becomes DEVICE_WET and DEVICE_CHANGED as they apply. moved_* may be NULL.
GROUP_KERNEL void classic_move(global const int *mass, global const float *flow_x, global const float *flow_y,
                               global const float *flow_z, global int *mass_next, global float *flow_x_next,
                               global float *flow_y_next, global float *flow_z_next, global float *moved_x,
                               global float *moved_y, global float *moved_z, global uchar *facts, global const uint *open,
                               global const int *near, global const int *list, device_numbers numbers)
{
    local classic_tiles t;
    local int *near_here = t.near_here;
    int brick = list[get_group_id(0)];
    ONCE t.any = t.wet = t.changed = 0;
    load_near(near_here, near, brick);

#define LOAD(at) FILL(mass[at])
    LOAD_TILE(t.m, 2, 1, LOAD)
#undef LOAD
    int any = 0;
    EACH(i, TILE_CELLS(2, 1)) any |= t.m[i] != 0.0f;
    if (any) RAISE(t.any, 1);
    SYNC;
    if (!t.any) {
        EACH(cell, BRICK_CELLS)
        {
            int at = brick * BRICK_CELLS + cell;
            mass_next[at] = 0;
            flow_x_next[at] = flow_y_next[at] = flow_z_next[at] = 0.0f;
            if (moved_x) moved_x[at] = 0.0f;
            if (moved_y) moved_y[at] = 0.0f;
            if (moved_z) moved_z[at] = 0.0f;
        }
        ONCE facts[brick] = 0;
        return;
    }

    EACH(i, TILE_CELLS(1, 1))
    {
        int at = cell_at(near_here, i % 10 - 1, i / 10 % 10 - 1, i / 100 - 1);
        t.flow[0][i] = flow_x[at];
        t.flow[1][i] = flow_y[at];
        t.flow[2][i] = flow_z[at];
    }
    SYNC;
    int wet = 0, changed = 0;
    EACH(i, 9 * 9 * 9)
    {
        int x = i % 9 - 1, y = i / 9 % 9 - 1, z = i / 81 - 1;
        int at = cell_at(near_here, x, y, z);
        int after = classic_drops_after(&t, mass[at], x, y, z);
        t.m2[FLOW_AT(x, y, z)] = FILL(after);
        t.leaves[FLOW_AT(x, y, z)] = classic_leaves(&t, FLOW_AT(x, y, z));
        if (x < 0 || y < 0 || z < 0) continue;
        mass_next[at] = after;
        wet |= after;
        changed |= after ^ mass[at];
    }
    if (wet) RAISE(t.wet, DEVICE_WET);
    if (changed) RAISE(t.changed, DEVICE_CHANGED);
    SYNC;
    ONCE facts[brick] = (uchar)(t.wet | t.changed);

    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        int at = brick * BRICK_CELLS + cell;
        float o = flag_at(open, near_here, x, y, z);
        float w_x = flag_at(open, near_here, x - 1, y, z) * o;
        float w_y = flag_at(open, near_here, x, y - 1, z) * o;
        float w_z = flag_at(open, near_here, x, y, z - 1) * o;
        flow_x_next[at] = classic_carry(&t, 0, 1, 2, x, y, z, w_x, numbers.empty, numbers.gravity_x);
        flow_y_next[at] = classic_carry(&t, 1, 0, 2, x, y, z, w_y, numbers.empty, numbers.gravity_y);
        flow_z_next[at] = classic_carry(&t, 2, 1, 0, x, y, z, w_z, numbers.empty, numbers.gravity_z);
        if (moved_x) moved_x[at] = FILL(classic_moved(&t, 0, x, y, z));
        if (moved_y) moved_y[at] = FILL(classic_moved(&t, 1, x, y, z));
        if (moved_z) moved_z[at] = FILL(classic_moved(&t, 2, x, y, z));
    }
}

// 1 over the number of a cell's open faces.
inline float classic_inverse(float open, float faces)
{
    float inverse = 1.0f / rule_max(faces, 1.0f);
    return faces > 0.0f ? open * inverse : 0.0f;
}

// What comes in through the low face of a cell and leaves through the high one.
inline float classic_net(global const float *flow, float m_low, float m, float m_high, int self, int high)
{
    return rule_classic_flux(flow[self], m_low, m) - rule_classic_flux(flow[high], m, m_high);
}

// The excess to come, and the first iteration of the pressure, which starts from nothing. Mass and flow are those after the
// move.
GROUP_KERNEL void classic_divergence(global const int *mass, global const float *flow_x, global const float *flow_y,
                                     global const float *flow_z, global float *divergence, global float *pressure,
                                     global const uint *open, global const int *near, global const int *list)
{
    int brick = list[get_group_id(0)];
    EACH(cell, BRICK_CELLS)
    {
        around at = look_around(near + 27 * brick, cell);
        float m = FILL(mass[at.self]);
        float net_x = classic_net(flow_x, FILL(mass[at.x0]), m, FILL(mass[at.x1]), at.self, at.x1);
        float net_y = classic_net(flow_y, FILL(mass[at.y0]), m, FILL(mass[at.y1]), at.self, at.y1);
        float net_z = classic_net(flow_z, FILL(mass[at.z0]), m, FILL(mass[at.z1]), at.self, at.z1);
        float o = (float)(int)bit_at(open, at.self);
        float d = o * ((m - 1.0f) + ((net_x + net_z) + net_y));
        divergence[at.self] = d;
        pressure[at.self] = rule_classic_pressure(0.0f, d, classic_inverse(o, (float)(int)open_faces(open, at)));
    }
}

// The new pressure of a cell, with `p` pointing at it in a tile of this edge.
inline float classic_iterate(local const float *p, int edge, float divergence, float inverse)
{
    int Y = edge, Z = edge * edge;
    float sum = ((p[-1] + p[1]) + (p[-Z] + p[Z])) + (p[-Y] + p[Y]);
    return rule_classic_pressure(sum, divergence, inverse);
}

// 1 over the number of open faces, from a tile of flags with two cells of rim.
inline float classic_flag_inverse(local const uchar *flags, int x, int y, int z)
{
    int Y = EDGE(2, 2), Z = EDGE(2, 2) * EDGE(2, 2);
    local const uchar *o = flags + AT(2, 2, x, y, z);
    return classic_inverse((float)o[0], (float)(o[-1] + o[1] + o[-Y] + o[Y] + o[-Z] + o[Z]));
}

// One or two iterations, the first of two also on the cells beside the brick.
GROUP_KERNEL void classic_pressure(global const float *pressure, global float *pressure_next, global const float *divergence,
                                   global const uint *open, global const int *near, global const int *list, int iterations)
{
    local float p[TILE_CELLS(2, 2)], q[TILE_CELLS(1, 1)];
    local uchar flags[TILE_CELLS(2, 2)];
    local int near_here[27];
    local volatile int terrain;  // 1: there is some in the brick or in its neighbours
    int brick = list[get_group_id(0)];
    ONCE terrain = 0;
    load_near(near_here, near, brick);

    int solid = 0;
    EACH(i, 27 * 16) solid |= open[16 * near_here[i >> 4] + (i & 15)] != 0xffffffffu;
    if (solid) RAISE(terrain, 1);
#define LOAD(at) pressure[at]
    if (iterations == 2)
        LOAD_TILE(p, 2, 2, LOAD)
    else
        LOAD_TILE(q, 1, 1, LOAD)
#undef LOAD
    SYNC;
    if (terrain) {
        LOAD_FLAGS(flags, 2, 2, open)
        SYNC;
    }

    if (iterations == 2) {
        EACH(i, TILE_CELLS(1, 1))
        {
            int x = i % 10 - 1, y = i / 10 % 10 - 1, z = i / 100 - 1;
            float inverse = terrain ? classic_flag_inverse(flags, x, y, z) : 1.0f / 6.0f;
            q[i] = classic_iterate(p + AT(2, 2, x, y, z), EDGE(2, 2), divergence[cell_at(near_here, x, y, z)], inverse);
        }
        SYNC;
    }
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        int to = brick * BRICK_CELLS + cell;
        float inverse = terrain ? classic_flag_inverse(flags, x, y, z) : 1.0f / 6.0f;
        pressure_next[to] = classic_iterate(q + AT(1, 1, x, y, z), EDGE(1, 1), divergence[to], inverse);
    }
}

// In place on the flow after the move: no face looks at another face's flow.
GROUP_KERNEL void classic_gradient(global const float *pressure, global float *flow_x, global float *flow_y,
                                   global float *flow_z, global const uint *open, global const int *near,
                                   global const int *list, device_numbers numbers)
{
    int brick = list[get_group_id(0)];
    float keep = numbers.keep, limit = numbers.max_flow;
    EACH(cell, BRICK_CELLS)
    {
        around at = look_around(near + 27 * brick, cell);
        float o = (float)(int)bit_at(open, at.self), p = pressure[at.self];
        float w_x = (float)(int)bit_at(open, at.x0) * o;
        float w_y = (float)(int)bit_at(open, at.y0) * o;
        float w_z = (float)(int)bit_at(open, at.z0) * o;
        flow_x[at.self] = rule_gradient(flow_x[at.self], w_x, pressure[at.x0], p, keep, limit);
        flow_y[at.self] = rule_gradient(flow_y[at.self], w_y, pressure[at.y0], p, keep, limit);
        flow_z[at.self] = rule_gradient(flow_z[at.self], w_z, pressure[at.z0], p, keep, limit);
    }
}
