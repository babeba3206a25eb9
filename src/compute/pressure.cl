// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 to R9).

#define P_AT(x, y, z) AT(1, 1, x, y, z)

// What one cell of a brick knows while the pressure is smoothed; each work-item keeps that of its own cells.
typedef struct pressure_cell {
    float divergence, inverse, floor;
} pressure_cell;

// 1 over the number of open faces of a cell; 0 in a solid cell.
inline float inverse_faces(global const uint *open, local const int *near_here, bool all_open, int x, int y, int z)
{
    if (all_open) return 1.0f / 6.0f;
    float faces = ((flag_at(open, near_here, x - 1, y, z) + flag_at(open, near_here, x + 1, y, z)) +
                   (flag_at(open, near_here, x, y, z - 1) + flag_at(open, near_here, x, y, z + 1))) +
                  (flag_at(open, near_here, x, y - 1, z) + flag_at(open, near_here, x, y + 1, z));
    float inverse = 1.0f / rule_max(faces, 1.0f);
    return faces > 0.0f ? flag_at(open, near_here, x, y, z) * inverse : 0.0f;
}

// R7: sweeps inside one brick with the rim as it is, from the tile p; writes the result and notes the active cells. Ends with a barrier.
inline void smooth_cells(local float *p, local float *q, local uint *bits, const pressure_cell *own, int sweeps,
                                global float *to, global uint *active, int brick)
{
    EACH(i, 16) bits[i] = 0;
    EACH(i, TILE_CELLS(1, 1)) q[i] = p[i];
    SYNC;
    for (int k = 0; k < sweeps; k++) {
        for (int c = 0; c < OWN_CELLS; c++) {
            int cell = (int)get_local_id(0) + c * GROUP;
            int i = P_AT(cell & 7, cell >> 3 & 7, cell >> 6);
            float sum = ((p[i - 1] + p[i + 1]) + (p[i - 100] + p[i + 100])) + (p[i - 10] + p[i + 10]);
            q[i] = rule_smooth(p[i], sum, own[c].divergence, own[c].inverse, own[c].floor);
        }
        SYNC;
        local float *swap = p;
        p = q;
        q = swap;
    }
    for (int c = 0; c < OWN_CELLS; c++) {
        int cell = (int)get_local_id(0) + c * GROUP;
        float result = p[P_AT(cell & 7, cell >> 3 & 7, cell >> 6)];
        to[brick * BRICK_CELLS + cell] = result;
        if (result > own[c].floor) atomic_or(&bits[cell >> 5], 1u << (cell & 31));
    }
    SYNC;
    EACH(i, 16) active[16 * brick + i] = bits[i];
}

// A brick without water or pressure in it or beside it stays without.
inline void rest_brick(global float *to, global uint *active, int brick)
{
    EACH(cell, BRICK_CELLS) to[brick * BRICK_CELLS + cell] = 0.0f;
    EACH(i, 16) active[16 * brick + i] = 0;
}

// R6, and the first smoothing of R7.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
divergence(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
           global const int *mass, global const float *flow_x, global const float *flow_y, global const float *flow_z,
           global const float *pressure, global float *divergence_out, global float *floor_out, global float *pressure_next,
           global uint *active, global uchar *dry, device_numbers n)
{
    local int near_here[27];
    local volatile int any, pressed;
    local float m[TILE_CELLS(2, 2)], F[3 * FACES], p[TILE_CELLS(1, 1)], q[TILE_CELLS(1, 1)];
    local uint bits[16];
    const int brick = list[get_group_id(0)];
    const int start = brick * BRICK_CELLS;
    ONCE pressed = 0;
    load_near(near_here, near, brick);
    bool wet = fill_and_fluxes(m, F, &any, near_here, mass, flow_x, flow_y, flow_z);
#define PLAIN_PRESSURE(cell) pressure[cell]
    LOAD_TILE(p, 1, 1, PLAIN_PRESSURE)
    EACH(i, TILE_CELLS(1, 1)) if (p[i] != 0.0f) RAISE(pressed, 1);
    SYNC;
    ONCE dry[brick] = !wet;
    if (!wet && !pressed) {
        EACH(cell, BRICK_CELLS)
        {
            divergence_out[start + cell] = -1.0f;
            floor_out[start + cell] = 0.0f;
        }
        rest_brick(pressure_next, active, brick);
        return;
    }
    const bool all_open = clear[brick];
    const int below_x = n.down_axis == 0 ? (n.down_sign < 0 ? -1 : 1) : 0;
    const int below_y = n.down_axis == 1 ? (n.down_sign < 0 ? -1 : 1) : 0;
    const int below_z = n.down_axis == 2 ? (n.down_sign < 0 ? -1 : 1) : 0;
    pressure_cell own[OWN_CELLS];
    for (int c = 0; c < OWN_CELLS; c++) {
        int cell = (int)get_local_id(0) + c * GROUP;
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        float fill = m[AT(2, 2, x, y, z)];
        float net = 0.0f;
        if (wet) {
            local const float *X = F + face_index(0, x, y, z);
            local const float *Y = F + FACES + face_index(1, x, y, z);
            local const float *Z = F + 2 * FACES + face_index(2, x, y, z);
            net = ((X[0] - X[1]) + (Z[0] - Z[64])) + (Y[0] - Y[8]);
        }
        own[c].divergence = rule_divergence(fill, net, n.excess_rate, n.excess_cap);
        own[c].inverse = inverse_faces(open, near_here, all_open, x, y, z);
        own[c].floor = rule_head(fill, p[P_AT(x + below_x, y + below_y, z + below_z)],
                                 1.0f - OPEN_AT(x + below_x, y + below_y, z + below_z), OPEN_AT(x, y, z), n.head, n.inverse_head);
        divergence_out[start + cell] = own[c].divergence;
        floor_out[start + cell] = own[c].floor;
    }
    smooth_cells(p, q, bits, own, n.smooths, pressure_next, active, brick);
}

// R7: smoothing alone.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
smooth(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
       global const uchar *dry, global const float *pressure, global const float *divergence_in, global const float *floor_in,
       global float *pressure_next, global uint *active, int sweeps)
{
    local int near_here[27];
    local volatile int pressed;
    local float p[TILE_CELLS(1, 1)], q[TILE_CELLS(1, 1)];
    local uint bits[16];
    const int brick = list[get_group_id(0)];
    ONCE pressed = 0;
    load_near(near_here, near, brick);
    LOAD_TILE(p, 1, 1, PLAIN_PRESSURE)
    EACH(i, TILE_CELLS(1, 1)) if (p[i] != 0.0f) RAISE(pressed, 1);
    SYNC;
    if (dry[brick] && !pressed) {
        rest_brick(pressure_next, active, brick);
        return;
    }
    const bool all_open = clear[brick];
    pressure_cell own[OWN_CELLS];
    for (int c = 0; c < OWN_CELLS; c++) {
        int cell = (int)get_local_id(0) + c * GROUP;
        own[c].divergence = divergence_in[brick * BRICK_CELLS + cell];
        own[c].floor = floor_in[brick * BRICK_CELLS + cell];
        own[c].inverse = inverse_faces(open, near_here, all_open, cell & 7, cell >> 3 & 7, cell >> 6);
    }
    smooth_cells(p, q, bits, own, sweeps, pressure_next, active, brick);
}

// R8 on the faces of one axis, from the one before the brick's first to the one after its last; R9 looks one face each way.
#define LONG_FACES 640

inline int long_face(int axis, int x, int y, int z)
{
    return axis == 0 ? (x + 1) + 10 * (y + 8 * z) : axis == 1 ? x + 8 * ((y + 1) + 10 * z) : x + 8 * (y + 8 * (z + 1));
}

inline void pushed_faces(local float *G, local const float *p, local const int *near_here, global const uint *open,
                                bool all_open, global const float *flow, const int axis, device_numbers n)
{
    const int width = axis == 0 ? 10 : 8, height = axis == 1 ? 10 : 8;
    const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
    EACH(i, LONG_FACES)
    {
        int x = i % width - dx, y = i / width % height - dy, z = i / (width * height) - dz;
        float w = all_open ? 1.0f : flag_at(open, near_here, x - dx, y - dy, z - dz) * flag_at(open, near_here, x, y, z);
        G[i] = rule_gradient(flow[cell_at(near_here, x, y, z)], w, p[L_AT(x - dx, y - dy, z - dz)], p[L_AT(x, y, z)], n.keep,
                             n.max_flow);
    }
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gradient(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
         global const uchar *dry, global const int *mass, global const float *pressure, global const float *from_x,
         global const float *from_y, global const float *from_z, global float *to_x, global float *to_y, global float *to_z,
         device_numbers n)
{
    local int near_here[27];
    local volatile int pressed;
    local float p[TILE_CELLS(2, 1)], m[TILE_CELLS(1, 0)], G[3][LONG_FACES];
    const int brick = list[get_group_id(0)];
    const int start = brick * BRICK_CELLS;
    ONCE pressed = 0;
    load_near(near_here, near, brick);
    LOAD_TILE(p, 2, 1, PLAIN_PRESSURE)
    EACH(i, TILE_CELLS(2, 1)) if (p[i] != 0.0f) RAISE(pressed, 1);
    SYNC;
    if (dry[brick] && !pressed) {
        EACH(cell, BRICK_CELLS) to_x[start + cell] = to_y[start + cell] = to_z[start + cell] = 0.0f;
        return;
    }
    LOAD_TILE(m, 1, 0, FILL_OF)
    const bool all_open = clear[brick];
    pushed_faces(G[0], p, near_here, open, all_open, from_x, 0, n);
    pushed_faces(G[1], p, near_here, open, all_open, from_y, 1, n);
    pushed_faces(G[2], p, near_here, open, all_open, from_z, 2, n);
    SYNC;
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        local const float *at = m + AFTER_AT(x, y, z);
        local const float *X = G[0] + long_face(0, x, y, z), *Y = G[1] + long_face(1, x, y, z), *Z = G[2] + long_face(2, x, y, z);
        to_x[start + cell] = rule_empty_donor(X[0], X[-1], X[1], at[-1], at[0], n.empty);
        to_y[start + cell] = rule_empty_donor(Y[0], Y[-8], Y[8], at[-9], at[0], n.empty);
        to_z[start + cell] = rule_empty_donor(Z[0], Z[-64], Z[64], at[-81], at[0], n.empty);
    }
}
