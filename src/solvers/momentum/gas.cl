// The kernel of a gas that presses (docs/how-it-works.md, "A gas").

kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
gas(global int *tables, device_fast fast, global const int *list, global const int *near, global const uint *open,
    global const int *mass, global const float *from_x, global const float *from_y, global const float *from_z,
    global float *to_x, global float *to_y, global float *to_z, global float *pressure, device_gas law)
{
    if (get_global_id(0) < SUBSTEP_RUNGS) tables[fast.clears + (int)get_global_id(0)] = 0;
    local int near_here[27];
    const int brick = list[get_group_id(0)];
    load_near(near_here, near, brick);
    EACH(cell, BRICK_CELLS)
    {
        const int x = cell & 7, y = cell >> 3 & 7, z = cell >> 6, at = brick * BRICK_CELLS + cell;
        const float here = FILL_OF(at), open_here = flag_at(open, near_here, x, y, z);
        for (int axis = 0; axis < 3; axis++) {
            const int lx = x - (axis == 0), ly = y - (axis == 1), lz = z - (axis == 2);
            global const float *from = axis == 0 ? from_x : axis == 1 ? from_y : from_z;
            global float *to = axis == 0 ? to_x : axis == 1 ? to_y : to_z;
            const float w = open_here * flag_at(open, near_here, lx, ly, lz);
            const float low = FILL_OF(cell_at(near_here, lx, ly, lz));
            to[at] = rule_gas_push(from[at], w, low, here, law.twice_k, law.damping, law.inverse_calm, law.max_flow);
        }
        pressure[at] = rule_gas_pressure(here, law.k);
    }
}
