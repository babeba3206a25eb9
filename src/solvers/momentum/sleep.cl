// Kernels of sleep (cells/sleep.h): what the rim gained, and how much each awake brick moves. The CPU's are in cpu_momentum.c and cpu_rest.h.

// ---- The rim ---------------------------------------------------------------------------------------------------------------

// What a move brought to a brick of the rim, or took from it, is added to what earlier ones did if it is not the first of its update; its
// cells stay as they are. One group per brick: see device_sleep.rim.
GROUP_KERNEL void book_rim(global const int *rim, global const int *mass, global int *mass_next, global int *tables,
                           global long *gained, int first)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
    local long sums[GROUP];
    local volatile int wet;  // not if its body has just fallen below it
    const int number = (int)get_group_id(0), brick = rim[number] >> 3;
    long sum = 0;
    ONCE wet = 0;
    SYNC;
    EACH(cell, BRICK_CELLS)
    {
        const int at = brick * BRICK_CELLS + cell, before = mass[at];
        sum += mass_next[at] - before;
        mass_next[at] = before;
        if (before != 0) RAISE(wet, 1);
    }
    sums[get_local_id(0)] = sum;
    SYNC;
    ONCE
    {
        long all = first ? 0 : gained[number];
        for (int i = 0; i < GROUP; i++) all += sums[i];
        gained[number] = all;
        brick_flags[brick] = wet ? DEVICE_WET : 0;
    }
}

// Within the rim nothing flows: only low faces towards awake bricks keep their flow.
GROUP_KERNEL void trim_rim(global const int *rim, global float *flow_x, global float *flow_y, global float *flow_z)
{
    const int kept = rim[get_group_id(0)], first = (kept >> 3) * BRICK_CELLS;
    EACH(cell, BRICK_CELLS)
    {
        if (!(BIT(kept, 0) && (cell & 7) == 0)) flow_x[first + cell] = 0.0f;
        if (!(BIT(kept, 1) && (cell >> 3 & 7) == 0)) flow_y[first + cell] = 0.0f;
        if (!(BIT(kept, 2) && cell >> 6 == 0)) flow_z[first + cell] = 0.0f;
    }
}

// ---- Rest ------------------------------------------------------------------------------------------------------------------

// A row of cells: fill, pressure, and bits of those that are open.
typedef struct rest_cells {
    float m[8], p[8];
    uint open;
} rest_cells;

inline void load_cells(rest_cells *c, global const int *mass, global const float *pressure, uint open, int row)
{
    load_fill(c->m, mass, row);
    load_row(c->p, pressure, row);
    c->open = open;
}

// The cells one step on x from those of a row; `beyond` is the one past its end.
inline void shift_cells(rest_cells *to, const rest_cells *c, global const int *mass, global const float *pressure, uint open,
                        int beyond, int step)
{
    const int end = step < 0 ? 0 : 7;
    EACH_X
    {
        to->m[x] = x == end ? (float)mass[beyond] * RULE_DROP : c->m[(x + step) & 7];
        to->p[x] = x == end ? pressure[beyond] : c->p[(x + step) & 7];
    }
    to->open = open;
}

// The largest kick over some faces between the cells of two rows.
inline float row_kick(const rest_cells *low, const rest_cells *high, uint faces, float g)
{
    const uint open = low->open & high->open & faces;
    float most = 0.0f;
    if (open == 0u) return most;
    EACH_X if (BIT(open, x)) most = rule_max(most, rule_rest_kick(low->p[x], high->p[x], low->m[x], high->m[x], g));
    return most;
}

// And the largest flux.
inline float row_flux(const float f[8], const rest_cells *low, const rest_cells *high, uint faces, float moves)
{
    float most = 0.0f;
    EACH_X if (BIT(faces, x)) most = rule_max(most, rule_rest_flux(f[x], low->m[x], high->m[x], REST_FAST * moves));
    return most;
}

// A row's flow on one axis, of still water after its loss. `low` are the cells before its own.
inline void load_flow(float f[8], global float *flow, const rest_cells *low, const rest_cells *here, int row, float loss)
{
    load_row(f, flow, row);
    if (loss == 0.0f) return;
    EACH_X f[x] = rule_rest_damped(f[x], low->m[x], here->m[x], loss);
    store_row(flow, row, f);
}

// What a row finds out.
typedef struct row_motion {
    float flux, kick, swell;
    bool pushes;
} row_motion;

// The faces before a row's cells on one axis, and those behind them to a brick that is not awake. `beside` is the brick there, as in
// device_beside, and `faces` are those that the row has to it.
inline void look_low(row_motion *r, const rest_cells *low, const rest_cells *here, const float f[8], int beside, uint faces,
                     float g, device_rest rest)
{
    r->flux = rule_max(r->flux, row_flux(f, low, here, 255u, rest.moves));
    r->kick = rule_max(r->kick, row_kick(low, here, 255u, g));
    if ((beside & 3) == DEVICE_BESIDE_ASLEEP) r->pushes |= rule_rest_pushes(row_kick(low, here, faces, g), rest.head);
    if ((beside & 3) == DEVICE_BESIDE_RIM) r->swell = rule_max(r->swell, row_kick(low, here, faces, g));
}

inline void look_high(row_motion *r, const rest_cells *here, const rest_cells *high, const float f[8], int beside, uint faces,
                      float g, device_rest rest)
{
    const float kick = row_kick(here, high, faces, g);
    r->kick = rule_max(r->kick, kick);
    if ((beside & 3) == DEVICE_BESIDE_ASLEEP) r->pushes |= rule_rest_pushes(kick, rest.head);
    if ((beside & 3) != DEVICE_BESIDE_RIM) return;
    r->swell = rule_max(r->swell, kick);
    r->flux = rule_max(r->flux, row_flux(f, here, high, faces, rest.moves));
}

inline row_motion look_at_row(device_beside b, global const uchar *open, global const int *mass, global const float *pressure,
                              global float *flow_x, global float *flow_y, global float *flow_z, device_rest rest)
{
    const device_place place = {b.brick, b.x0 >> 2, b.x1 >> 2, b.y0 >> 2, b.y1 >> 2, b.z0 >> 2, b.z1 >> 2, 0};
    const rows_around at = look_from(place, ROW);
    const bits_around o = look_at_bits(open, at);
    row_motion r = {0.0f, 0.0f, 0.0f, false};
    rest_cells here, other;
    float f[8];
    load_cells(&here, mass, pressure, o.self, at.self);

    shift_cells(&other, &here, mass, pressure, o.x0, 8 * at.x0 + 7, -1);
    load_flow(f, flow_x, &other, &here, at.self, b.loss_x);
    look_low(&r, &other, &here, f, b.x0, 1u, rest.gravity_x, rest);
    if ((b.x1 & 3) != DEVICE_BESIDE_AWAKE) {
        shift_cells(&other, &here, mass, pressure, o.x1, 8 * at.x1, 1);
        EACH_X f[x] = flow_x[8 * at.x1];
        look_high(&r, &here, &other, f, b.x1, 128u, rest.gravity_x, rest);
    }

    load_cells(&other, mass, pressure, o.y0, at.y0);
    load_flow(f, flow_y, &other, &here, at.self, b.loss_y);
    look_low(&r, &other, &here, f, b.y0, (ROW & 7) == 0 ? 255u : 0u, rest.gravity_y, rest);
    if ((b.y1 & 3) != DEVICE_BESIDE_AWAKE && (ROW & 7) == 7) {
        load_cells(&other, mass, pressure, o.y1, at.y1);
        load_row(f, flow_y, at.y1);
        look_high(&r, &here, &other, f, b.y1, 255u, rest.gravity_y, rest);
    }

    load_cells(&other, mass, pressure, o.z0, at.z0);
    load_flow(f, flow_z, &other, &here, at.self, b.loss_z);
    look_low(&r, &other, &here, f, b.z0, ROW >> 3 == 0 ? 255u : 0u, rest.gravity_z, rest);
    if ((b.z1 & 3) != DEVICE_BESIDE_AWAKE && ROW >> 3 == 7) {
        load_cells(&other, mass, pressure, o.z1, at.z1);
        load_row(f, flow_z, at.z1);
        look_high(&r, &here, &other, f, b.z1, 255u, rest.gravity_z, rest);
    }
    return r;
}

// Lets still water come to rest, and finds out how much each awake brick moves; `found` is where that goes, behind what the rim gained.
ROW_KERNEL void rest(global const device_beside *beside, global const uchar *open, global const int *mass,
                     global const float *pressure, global float *flow_x, global float *flow_y, global float *flow_z,
                     global const int *tables, global uchar *found, int found_at, device_rest rest, int awake)
{
    global const uchar *brick_flags = TABLE(tables, const uchar, DEVICE_BRICK_FLAGS);
    local volatile int flux[GROUP_BRICKS], kick[GROUP_BRICKS], swell[GROUP_BRICKS], pushes[GROUP_BRICKS];
    EACH(i, GROUP_BRICKS) flux[i] = kick[i] = swell[i] = pushes[i] = 0;
    SYNC;
    const int number = (int)get_group_id(0) * GROUP_BRICKS + SLOT;
    if (number < awake) {
        device_beside b = beside[number];
        if (!(brick_flags[b.brick] & DEVICE_WET)) b.loss_x = b.loss_y = b.loss_z = 0.0f;
        const row_motion r = look_at_row(b, open, mass, pressure, flow_x, flow_y, flow_z, rest);
        if (as_int(r.flux) > flux[SLOT]) atomic_max(&flux[SLOT], as_int(r.flux));
        if (as_int(r.kick) > kick[SLOT]) atomic_max(&kick[SLOT], as_int(r.kick));
        if (as_int(r.swell) > swell[SLOT]) atomic_max(&swell[SLOT], as_int(r.swell));
        if (r.pushes) RAISE(pushes[SLOT], 1);
    }
    SYNC;
    _Pragma("unroll 1") EACH(i, GROUP_BRICKS)
    {
        const int n = (int)get_group_id(0) * GROUP_BRICKS + i;
        if (n < awake) {
            int motion = rule_motion(as_float(flux[i]), as_float(kick[i]), as_float(swell[i]), rest.viscosity, rest.moves, rest.head);
            if ((motion & MOTION_MOVES) != MOTION_MOVES && pushes[i]) motion |= MOTION_PUSHES;
            if (!(brick_flags[beside[n].brick] & DEVICE_WET)) motion = MOTION_QUIET;
            found[found_at + n] = (uchar)motion;
        }
    }
}
