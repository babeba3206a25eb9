// Kernels that every solver with flow on faces has use for after its move: forces and noise, and open sides.

#define FILL_OF(cell) ((float)mass[cell] * RULE_DROP)

// R5: the forces of regions and noise, in place.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void forces(global const int *list, global const int *near,
                                                                      global const uint *open, global const int *coords,
                                                                      global const int *mass, global float *flow_x,
                                                                      global float *flow_y, global float *flow_z,
                                                                      global const rule_region *sources, device_numbers n)
{
    local int near_here[27];
    const int brick = list[get_group_id(0)];
    load_near(near_here, near, brick);
    EACH(cell, BRICK_CELLS)
    {
        int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6;
        int at_x = coords[3 * brick] * 8 + x, at_y = coords[3 * brick + 1] * 8 + y, at_z = coords[3 * brick + 2] * 8 + z;
        rule_push sum = {0.0f, 0.0f, 0.0f};
        for (int k = 0; k < n.source_count; k++) sum = rule_regional(sum, sources[k], at_x, at_y, at_z);
        const float push[3] = {sum.x, sum.y, sum.z};
        float here = FILL_OF(brick * BRICK_CELLS + cell), open_here = flag_at(open, near_here, x, y, z);
        for (int axis = 0; axis < 3; axis++) {
            int lx = x - (axis == 0), ly = y - (axis == 1), lz = z - (axis == 2);
            global float *flow = (axis == 0 ? flow_x : axis == 1 ? flow_y : flow_z) + brick * BRICK_CELLS + cell;
            float w = open_here * flag_at(open, near_here, lx, ly, lz);
            float fills = here + FILL_OF(cell_at(near_here, lx, ly, lz));
            *flow = rule_pushed(*flow, w, push[axis] * n.force_scale, fills, n.empty, n.noise, at_x, at_y, at_z, axis,
                                n.down_axis, n.noise_seed, n.update);
        }
    }
}

// Takes the water out of cells that lie outside the world's bounds, behind an open side; `drained` gets the drops per brick.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void drain_sides(global const int *list, global const int *coords,
                                                                           global int *mass, global int *tables,
                                                                           global long *drained, rule_box bounds)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
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
        int drops = mass[brick * BRICK_CELLS + cell];
        if (rule_side_takes(bounds, x, y, z)) {
            sum += drops;
            mass[brick * BRICK_CELLS + cell] = 0;
        } else if (drops != 0) {
            RAISE(left, 1);
        }
    }
    taken[get_local_id(0)] = sum;
    SYNC;
    ONCE
    {
        long all = 0;
        for (int i = 0; i < GROUP; i++) all += taken[i];
        drained[get_group_id(0)] = all;
        if (!left) brick_flags[brick] &= (uchar)~DEVICE_WET;
        if (all) brick_flags[brick] |= DEVICE_DRAINED;
    }
}
