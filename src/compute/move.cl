// Kernels that move things: limits, mass, flow, viscosity, forces (docs/how-it-works.md, R1 to R5).

#define FILL_OF(cell) ((float)mass[cell] * RULE_DROP)

// Cells of one work-item in a brick.
#define OWN_CELLS (BRICK_CELLS / GROUP)

// Open cells around a brick; `clear` says that there is no terrain near it.
#define OPEN_AT(x, y, z) (clear[brick] ? 1.0f : flag_at(open, near_here, x, y, z))

// Faces of one axis of a brick's own cells: the low ones, and the high ones of its last cells.
#define FACES 576

inline int face_index(int axis, int x, int y, int z)
{
    return x + (8 + (axis == 0)) * (y + (8 + (axis == 1)) * z);
}

// R1 on those faces. m is a tile of fill with two cells of rim.
inline void own_fluxes(local float *F, local const float *m, local const int *near_here, global const float *flow,
                       const int axis)
{
    const int width = 8 + (axis == 0), height = 8 + (axis == 1);
    const int stride = axis == 0 ? 1 : axis == 1 ? EDGE(2, 2) : EDGE(2, 2) * EDGE(2, 2);
    EACH(i, FACES)
    {
        int x = i % width, y = i / width % height, z = i / (width * height);
        local const float *at = m + AT(2, 2, x, y, z);
        F[i] = rule_flux(flow[cell_at(near_here, x, y, z)], at[-2 * stride], at[-stride], at[0], at[stride]);
    }
}

// Loads the fill with two cells of rim, tells whether there is any, and if so works out the fluxes. Ends with a barrier.
inline bool fill_and_fluxes(local float *m, local float *F, local volatile int *any, local const int *near_here, global const int *mass,
                            global const float *flow_x, global const float *flow_y, global const float *flow_z)
{
    ONCE *any = 0;
    SYNC;
    LOAD_TILE(m, 2, 2, FILL_OF)
    EACH(i, TILE_CELLS(2, 2)) if (m[i] != 0.0f) RAISE(*any, 1);
    SYNC;
    bool wet = *any;
    if (wet) {
        own_fluxes(F, m, near_here, flow_x, 0);
        own_fluxes(F + FACES, m, near_here, flow_y, 1);
        own_fluxes(F + 2 * FACES, m, near_here, flow_z, 2);
        SYNC;
    }
    return wet;
}

// R2: each cell's shares.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
limit(global const int *list, global const int *near, global const int *mass, global const float *flow_x,
      global const float *flow_y, global const float *flow_z, global uint *limits, device_numbers n)
{
    local int near_here[27];
    local volatile int any;
    local float m[TILE_CELLS(2, 2)], F[3 * FACES];
    const int brick = list[get_group_id(0)];
    load_near(near_here, near, brick);
    bool wet = fill_and_fluxes(m, F, &any, near_here, mass, flow_x, flow_y, flow_z);
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        local const float *X = F + face_index(0, x, y, z);
        local const float *Y = F + FACES + face_index(1, x, y, z);
        local const float *Z = F + 2 * FACES + face_index(2, x, y, z);
        limits[brick * BRICK_CELLS + cell] =
            wet ? rule_limits(m[AT(2, 2, x, y, z)], X[0], X[1], Y[0], Y[8], Z[0], Z[64], n.dust, n.fill_cap)
                : rule_limits(0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, n.dust, n.fill_cap);
    }
}

// Tiles of the move. Flows and fluxes reach one cell out on each side.
#define M_AT(x, y, z) AT(3, 2, x, y, z)
#define L_AT(x, y, z) AT(2, 1, x, y, z)
#define F_AT(x, y, z) AT(1, 1, x, y, z)
#define AFTER_AT(x, y, z) AT(1, 0, x, y, z)

#define SOME_BEFORE 4  // beside DEVICE_WET and DEVICE_CHANGED: there was water in the tile

// R1 and R2 with dust: what crosses the faces of one axis, as fill. A face counts where a cell at -1 to 7 touches it.
#define MOVED_FACES 810

inline void moved_faces(local float *F, local const float *flow, local const float *m, local const uint *limits,
                        local const int *near_here, global const uint *open, bool all_open, const int axis, device_numbers n)
{
    const int width = 9 + (axis == 0), height = 9 + (axis == 1);
    const int dx = axis == 0, dy = axis == 1, dz = axis == 2;
    const int stride = M_AT(dx, dy, dz) - M_AT(0, 0, 0);
    EACH(i, MOVED_FACES)
    {
        int x = i % width - 1, y = i / width % height - 1, z = i / (width * height) - 1;
        local const float *at = m + M_AT(x, y, z);
        float flux = rule_flux(flow[F_AT(x, y, z)], at[-2 * stride], at[-stride], at[0], at[stride]);
        uint low = limits[L_AT(x - dx, y - dy, z - dz)], high = limits[L_AT(x, y, z)];
        float moved = (float)rule_moved(flux, rule_limit_q(low), rule_limit_h(low), rule_limit_q(high), rule_limit_h(high)) *
                      RULE_DROP;
        if (axis == n.down_axis && n.down_sign < 0 && at[0] < n.dust && at[-stride] < LIMIT_FULL - n.dust)
            moved -= (all_open ? 1.0f : flag_at(open, near_here, x - dx, y - dy, z - dz)) * at[0];
        if (axis == n.down_axis && n.down_sign > 0 && at[-stride] < n.dust && at[0] < LIMIT_FULL - n.dust)
            moved += (all_open ? 1.0f : flag_at(open, near_here, x, y, z)) * at[-stride];
        F[F_AT(x, y, z)] = moved;
    }
}

// R4 and gravity on the low face of one cell. f and m are strides of the flow and fill tiles, s of the tile of new fill.
inline float carried_flow(local const float *u, local const float *before, local const float *after, local const float *Fa,
                          local const float *F1, local const float *F2, const int along, const int across_1,
                          const int across_2, const int m_along, const int after_along, float w, float empty, float gravity)
{
    float a = rule_carried(Fa[-along] + Fa[0], u[-along], u[0]) - rule_carried(Fa[0] + Fa[along], u[0], u[along]);
    float b = rule_carried(F1[-along] + F1[0], u[-across_1], u[0]) -
              rule_carried(F1[across_1 - along] + F1[across_1], u[0], u[across_1]);
    float c = rule_carried(F2[-along] + F2[0], u[-across_2], u[0]) -
              rule_carried(F2[across_2 - along] + F2[across_2], u[0], u[across_2]);
    return rule_carry(before[-m_along] + before[0], after[-after_along] + after[0], u[0], a + (b + c), w, empty, gravity);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
move(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
     global const int *mass, global const float *flow_x, global const float *flow_y, global const float *flow_z,
     global const uint *limits, global int *mass_next, global float *next_x, global float *next_y, global float *next_z,
     global float *moved_x, global float *moved_y, global float *moved_z, global uchar *facts, device_numbers n)
{
    local int near_here[27];
    local volatile int found;  // bits
    local float m[TILE_CELLS(3, 2)], flow[3][TILE_CELLS(1, 1)], F[3][TILE_CELLS(1, 1)];
    local uint shares[TILE_CELLS(2, 1)];
    local float *after = (local float *)shares;  // the new fill takes the place of the limits
    const int brick = list[get_group_id(0)];
    const int start = brick * BRICK_CELLS;
    ONCE found = 0;
    load_near(near_here, near, brick);
    LOAD_TILE(m, 3, 2, FILL_OF)
    EACH(i, TILE_CELLS(3, 2)) if (m[i] != 0.0f) RAISE(found, SOME_BEFORE);
    SYNC;
    if (!(found & SOME_BEFORE)) {
        EACH(cell, BRICK_CELLS)
        {
            mass_next[start + cell] = 0;
            next_x[start + cell] = next_y[start + cell] = next_z[start + cell] = 0.0f;
            if (moved_x) moved_x[start + cell] = moved_y[start + cell] = moved_z[start + cell] = 0.0f;
        }
        ONCE facts[brick] = 0;
        return;
    }
#define PLAIN_X(cell) flow_x[cell]
#define PLAIN_Y(cell) flow_y[cell]
#define PLAIN_Z(cell) flow_z[cell]
#define PLAIN_LIMITS(cell) limits[cell]
    LOAD_TILE(flow[0], 1, 1, PLAIN_X)
    LOAD_TILE(flow[1], 1, 1, PLAIN_Y)
    LOAD_TILE(flow[2], 1, 1, PLAIN_Z)
    LOAD_TILE(shares, 2, 1, PLAIN_LIMITS)
    SYNC;
    const bool all_open = clear[brick];
    moved_faces(F[0], flow[0], m, shares, near_here, open, all_open, 0, n);
    moved_faces(F[1], flow[1], m, shares, near_here, open, all_open, 1, n);
    moved_faces(F[2], flow[2], m, shares, near_here, open, all_open, 2, n);
    SYNC;
    // R3, on the cells beside the brick's low faces too.
    EACH(i, TILE_CELLS(1, 0))
    {
        int x = i % 9 - 1, y = i / 9 % 9 - 1, z = i / 81 - 1;
        int at = F_AT(x, y, z);
        after[i] = m[M_AT(x, y, z)] + (((F[0][at] - F[0][at + 1]) + (F[2][at] - F[2][at + 100])) + (F[1][at] - F[1][at + 10]));
    }
    SYNC;
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        float filled = after[AFTER_AT(x, y, z)], before = m[M_AT(x, y, z)];
        int drops = (int)(filled * RULE_DROPS);
        mass_next[start + cell] = drops;
        if (drops != 0) RAISE(found, DEVICE_WET);
        if (filled != before) RAISE(found, DEVICE_CHANGED);
        float here = OPEN_AT(x, y, z);
        local const float *m_at = m + M_AT(x, y, z), *after_at = after + AFTER_AT(x, y, z);
        local const float *X = F[0] + F_AT(x, y, z), *Y = F[1] + F_AT(x, y, z), *Z = F[2] + F_AT(x, y, z);
        next_x[start + cell] = carried_flow(flow[0] + F_AT(x, y, z), m_at, after_at, X, Y, Z, 1, 10, 100, 1, 1,
                                            OPEN_AT(x - 1, y, z) * here, n.empty, n.gravity_x);
        next_y[start + cell] = carried_flow(flow[1] + F_AT(x, y, z), m_at, after_at, Y, X, Z, 10, 1, 100, 13, 9,
                                            OPEN_AT(x, y - 1, z) * here, n.empty, n.gravity_y);
        next_z[start + cell] = carried_flow(flow[2] + F_AT(x, y, z), m_at, after_at, Z, Y, X, 100, 10, 1, 169, 81,
                                            OPEN_AT(x, y, z - 1) * here, n.empty, n.gravity_z);
        if (moved_x) {
            moved_x[start + cell] = X[0];
            moved_y[start + cell] = Y[0];
            moved_z[start + cell] = Z[0];
        }
    }
    SYNC;
    ONCE facts[brick] = (uchar)(found & (DEVICE_WET | DEVICE_CHANGED));
}

// R5: exchange with the six neighbour faces that carry water.
inline float pull(local const float *u, local const float *m, int u_offset, int m_offset, int m_along)
{
    return (m[m_offset] + m[m_offset - m_along] > 0.5f ? 1.0f : 0.0f) * (u[u_offset] - u[0]);
}

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
viscosity(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
          global const int *mass, global const float *from_x, global const float *from_y, global const float *from_z,
          global float *to_x, global float *to_y, global float *to_z, device_numbers n)
{
    local int near_here[27];
    local float m[TILE_CELLS(2, 1)], u[TILE_CELLS(1, 1)];
    const int brick = list[get_group_id(0)];
    load_near(near_here, near, brick);
    LOAD_TILE(m, 2, 1, FILL_OF)
    for (int axis = 0; axis < 3; axis++) {
        global const float *from = axis == 0 ? from_x : axis == 1 ? from_y : from_z;
        global float *to = axis == 0 ? to_x : axis == 1 ? to_y : to_z;
        const int dx = axis == 0, dy = axis == 1, dz = axis == 2, along = dx + 11 * dy + 121 * dz;
#define PLAIN_FROM(cell) from[cell]
        LOAD_TILE(u, 1, 1, PLAIN_FROM)
        SYNC;
        EACH(cell, BRICK_CELLS)
        {
            int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
            local const float *u_at = u + F_AT(x, y, z), *m_at = m + L_AT(x, y, z);
            float sum = ((pull(u_at, m_at, -1, -1, along) + pull(u_at, m_at, 1, 1, along)) +
                         (pull(u_at, m_at, -100, -121, along) + pull(u_at, m_at, 100, 121, along))) +
                        (pull(u_at, m_at, -10, -11, along) + pull(u_at, m_at, 10, 11, along));
            to[brick * BRICK_CELLS + cell] =
                OPEN_AT(x - dx, y - dy, z - dz) * OPEN_AT(x, y, z) * (u_at[0] + n.viscosity * sum);
        }
        SYNC;
    }
}

// R5: the forces of regions and noise, in place.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
forces(global const int *list, global const int *near, global const uint *open, global const int *coords,
       global const int *mass, global float *flow_x, global float *flow_y, global float *flow_z,
       global const device_force *sources, device_numbers n)
{
    local int near_here[27];
    const int brick = list[get_group_id(0)];
    load_near(near_here, near, brick);
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        int at_x = coords[3 * brick] * 8 + x, at_y = coords[3 * brick + 1] * 8 + y, at_z = coords[3 * brick + 2] * 8 + z;
        float push[3] = {0.0f, 0.0f, 0.0f};
        for (int k = 0; k < n.source_count; k++) {
            device_force s = sources[k];
            if (at_x < s.min_x || at_x >= s.max_x || at_y < s.min_y || at_y >= s.max_y || at_z < s.min_z || at_z >= s.max_z)
                continue;
            push[0] += s.x;
            push[1] += s.y;
            push[2] += s.z;
        }
        float here = FILL_OF(brick * BRICK_CELLS + cell), open_here = flag_at(open, near_here, x, y, z);
        for (int axis = 0; axis < 3; axis++) {
            int lx = x - (axis == 0), ly = y - (axis == 1), lz = z - (axis == 2);
            global float *flow = (axis == 0 ? flow_x : axis == 1 ? flow_y : flow_z) + brick * BRICK_CELLS + cell;
            float w = open_here * flag_at(open, near_here, lx, ly, lz);
            float f = *flow;
            if (here + FILL_OF(cell_at(near_here, lx, ly, lz)) > n.empty) f += w * (push[axis] * n.force_scale);
            if (n.noise > 0.0f && axis != n.down_axis) f *= 1.0f + n.noise * rule_noise(at_x, at_y, at_z, axis, n.noise_seed, n.update);
            *flow = f;
        }
    }
}

// Takes the water out of cells that lie outside the world's bounds, behind an open side; `drained` gets the drops per brick.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
drain_sides(global const int *list, global const int *coords, global int *mass, global uchar *facts, global long *drained,
            int8 bounds)
{
    local volatile int left;
    local long taken[GROUP];
    const int brick = list[get_group_id(0)];
    ONCE left = 0;
    SYNC;
    long sum = 0;
    EACH(cell, BRICK_CELLS)
    {
        int x = coords[3 * brick] * 8 + (cell & 7), y = coords[3 * brick + 1] * 8 + (cell >> 3 & 7);
        int z = coords[3 * brick + 2] * 8 + (cell >> 6);
        bool inside = x >= bounds.s0 && y >= bounds.s1 && z >= bounds.s2 && x < bounds.s3 && y < bounds.s4 && z < bounds.s5;
        int drops = mass[brick * BRICK_CELLS + cell];
        if (inside) {
            if (drops != 0) RAISE(left, 1);
        } else {
            sum += drops;
            mass[brick * BRICK_CELLS + cell] = 0;
        }
    }
    taken[get_local_id(0)] = sum;
    SYNC;
    ONCE {
        long all = 0;
        for (int i = 0; i < GROUP; i++) all += taken[i];
        drained[get_group_id(0)] = all;
        if (!left) facts[brick] &= (uchar)~DEVICE_WET;
    }
}
