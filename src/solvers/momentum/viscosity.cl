// The kernel of viscosity (docs/how-it-works.md, R5).

// Open cells around a brick; `clear` says that there is no terrain near it.
#define OPEN_AT(x, y, z) (clear[brick] ? 1.0f : flag_at(open, near_here, x, y, z))

#define L_AT(x, y, z) AT(2, 1, x, y, z)
#define F_AT(x, y, z) AT(1, 1, x, y, z)

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
viscosity(global const int *list, global const int *near, global const uint *open, global const uchar *clear,
          global const int *mass, global const float *from_x, global const float *from_y, global const float *from_z,
          global float *to_x, global float *to_y, global float *to_z, float strength)
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
            float w = OPEN_AT(x - dx, y - dy, z - dz) * OPEN_AT(x, y, z);
#define PULL(u_offset, m_offset) rule_pull(u_at[0], u_at[u_offset], m_at[m_offset] + m_at[(m_offset)-along])
            to[brick * BRICK_CELLS + cell] = rule_viscosity(u_at[0], w, PULL(-1, -1), PULL(1, 1), PULL(-10, -11), PULL(10, 11),
                                                            PULL(-100, -121), PULL(100, 121), strength);
#undef PULL
        }
        SYNC;
    }
}
