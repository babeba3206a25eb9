// Kernels that move things: limits, mass, flow, viscosity, forces (docs/how-it-works.md, R1 to R5).

#define FILL_OF(cell) ((float)mass[cell] * RULE_DROP)

// Open cells around a brick; `clear` says that there is no terrain near it.
#define OPEN_AT(x, y, z) (clear[brick] ? 1.0f : flag_at(open, near_here, x, y, z))

// Tiles of the viscosity.
#define L_AT(x, y, z) AT(2, 1, x, y, z)
#define F_AT(x, y, z) AT(1, 1, x, y, z)

// ---- Limits, mass and flow -------------------------------------------------------------------------------------------------

// One work-group marches up a run of bricks along z, two planes of 8 x 8 cells a step, each rule as soon as the one before has come
// far enough:
//
//     step z    fluxes of z and z + 1  | barrier | shares of z - 1 and z       | barrier | moved faces of z - 1 and z
//               new fill of z - 4, - 3 |         | new flow of z - 4 and z - 3 |         | fill and flow for the next steps
//
// A work-item stays with one column of cells and their low faces, so what its rules leave for each other, and for the planes above,
// it keeps to itself. What other columns look at lies in rings of planes in local memory, plane z in slot z & 3, fill in slot z & 7.
//
// Planes reach as far out as the rules look: fill from -4 to 10, fluxes and flow from -2 to 9, shares from -2 to 8, moved faces from
// -1 to 8. Widths are such that rows 0, 2, 4 and 6 of a brick lie in different banks.
#define WIDTH 12
#define PLANE_AT(at) (((at).x + 2) + WIDTH * ((at).y + 2))
#define PLANE_CELLS (WIDTH * WIDTH)
#define FILL_SIDE 15
#define FILL_WIDTH 20
#define RING_FILL_AT(at) (((at).x + 4) + FILL_WIDTH * ((at).y + 4))
#define FILL_CELLS (FILL_WIDTH * FILL_SIDE)

typedef struct move_tile {
    float fill[8 * FILL_CELLS];
    float flow[3][4 * PLANE_CELLS];
    float flux[2][4 * PLANE_CELLS];  // on x and y
    float moved[3][4 * PLANE_CELLS];
    float2 shares[4 * PLANE_CELLS];  // q and h
    float2 fills[4 * PLANE_CELLS];   // before and after
    uint open[8][18];                // two words of each of the nine bricks in a plane
    int bricks[DEVICE_RUN + 2][9];   // those nine, from below the run to above it
    int clear[DEVICE_RUN + 2];
    int found[DEVICE_RUN];        // bits of facts
    int wet_end;                  // no water was seen in this plane or above it
    int self[DEVICE_MOVE_GROUP];  // see self_again
} move_tile;

// Where planes begin in the rings.
#define RING(z) (PLANE_CELLS * ((z)&3))
#define RING_FILL(z) (FILL_CELLS * ((z)&7))

// Planes this far above the last water are dry, and so is all that the rings and the work-items still hold.
#define DRY_BEYOND 16

// The columns in a list: those of the run, those beside its low faces, others that are crossed, others with shares. The last have no
// cell, and a face on x apart from that on y.
#define OWN_COLUMNS 64
#define FILL_COLUMNS 81
#define MOVED_COLUMNS 99
#define SHARE_COLUMNS 117

// Every other row of a brick belongs to one of two times 32 work-items, so that their reads do not meet in one bank.
inline int2 own_cell(int i)
{
    return (int2)(i & 7, (i >> 3 & 3) * 2 + (i >> 5 & 1));
}

inline int2 x_face(int i)
{
    if (i < 64) return own_cell(i);
    if (i < 73) return (int2)(-1, i - 65);
    if (i < 81) return (int2)(i - 73, -1);
    if (i < 90) return (int2)(8, i - 82);
    if (i < 99) return (int2)(i - 91, 8);
    if (i < 108) return (int2)(-2, i - 100);
    if (i < 117) return (int2)(i - 109, -2);
    return i < 118 ? (int2)(8, 8) : i < 119 ? (int2)(8, -2) : (int2)(9, i - 120);
}

inline int2 y_face(int i)
{
    int2 at = x_face(i);
    return i < SHARE_COLUMNS ? at : (int2)(at.y, at.x);
}

// What a work-item keeps of its column between steps. Vectors hold one value for the low face on each axis.
typedef struct move_column {
    int i;
    int x, y, fill_x, fill_y;    // where its faces lie in planes of the rings; the cell lies at x
    int from_x, from_y;          // and in planes of the nine bricks: 64 * brick + cell
    float3 u_below, u, u_above;  // flow in planes z - 1, z and z + 1
    float m_low, m_below, m;     // fill in planes z - 2, z - 1 and z
    float3 flux;                 // in plane z - 1
    float2 share;                // in plane z - 2
} move_column;

inline int nine_at(int2 at)
{
    return 64 * (((at.x + 8) >> 3) + 3 * ((at.y + 8) >> 3)) + (at.x & 7) + 8 * (at.y & 7);
}

inline int column_cell(local const move_tile *t, int from, int z)
{
    return t->bricks[(z >> 3) + 1][from >> 6] * BRICK_CELLS + (from & 63) + 64 * (z & 7);
}

inline uint open_word(local const move_tile *t, global const uint *open, int word, int z)
{
    return open[16 * t->bricks[(z >> 3) + 1][word >> 1] + 2 * (z & 7) + (word & 1)];
}

inline float plane_open(local const move_tile *t, int x, int y, int z)
{
    int side = ((x + 8) >> 3) + 3 * ((y + 8) >> 3);
    return (float)(int)(t->open[z & 7][2 * side + ((y & 7) >> 2)] >> ((x & 7) + 8 * (y & 3)) & 1u);
}

// A work-item's number, and the place of its cell. Known all along, but what follows from them is of use only near terrain, and a
// compiler that sees where they come from keeps all of that in registers throughout the march.
inline int self_again(local const move_tile *t)
{
    return t->self[get_local_id(0)] & 255;
}

inline int2 place_again(local const move_tile *t)
{
    int place = t->self[get_local_id(0)] >> 8;
    return (int2)(place % WIDTH - 2, place / WIDTH - 2);
}

// The tables of a run, and rings full of zeros. Ends with a barrier.
inline void begin_run(local move_tile *t, global const device_run *run, global const int *near, global const uchar *clear)
{
    const int me = (int)get_local_id(0), j = me / 9 - 1, side = me % 9, count = run->count;
    int beside = 0, is_clear = 0;
    if (j <= count) {
        int brick = run->brick[j < 0 ? 0 : j < count ? j : count - 1];
        beside = near[27 * brick + (j < 0 ? 0 : j < count ? 9 : 18) + side];
        is_clear = clear[brick];
    }
    local float *words = (local float *)t;
    for (int i = me; i < (int)(sizeof *t / sizeof *words); i += DEVICE_MOVE_GROUP) words[i] = 0.0f;
    SYNC;
    ONCE t->wet_end = -2 * DRY_BEYOND;
    if (j <= count) {
        t->bricks[j + 1][side] = beside;
        if (side == 0) t->clear[j + 1] = is_clear;
    }
    SYNC;
}

inline bool run_clear(local const move_tile *t, int count)
{
    bool all = true;
    for (int j = 1; j <= count; j++) all = all && t->clear[j];
    return all;
}

// Fill of a cell in planes z and z + 1, z even.
inline void put_fill(local move_tile *t, int i, int z, int2 drops)
{
    t->fill[RING_FILL(z) + i] = (float)drops.x * RULE_DROP;
    t->fill[RING_FILL(z) + FILL_CELLS + i] = (float)drops.y * RULE_DROP;
}

// A note of where there is water: whole bricks count. `known` may be an older one.
inline void note_water(local move_tile *t, int z, int known, int2 drops, int2 others)
{
    const int end = (z | 7) + 1;
    if ((drops.x | drops.y | others.x | others.y) != 0 && known < end) atomic_max(&t->wet_end, end);
}

inline int2 two_drops(global const int *mass, int cell)
{
    return (int2)(mass[cell], mass[cell + 64]);
}

inline int2 fill_cell(int i)
{
    return (int2)(i % FILL_SIDE - 4, i / FILL_SIDE - 4);
}

// Where a cell lies in a plane of fill; -1 where no rule looks.
inline int fill_place(int2 at)
{
    int2 out = max(max(-1 - at, at - 7), 0);
    return out.x + out.y <= 3 ? RING_FILL_AT(at) : -1;
}

// R1 in a plane that begins at `ring` and `fill` in the rings; m is the fill of the column's cells around it.
inline float3 fluxes(local move_tile *t, const move_column *c, int ring, int fill, float3 u, float4 m)
{
    local const float *x = t->fill + fill + c->fill_x, *y = t->fill + fill + c->fill_y;
    float3 flux;
    flux.x = rule_flux(u.x, x[-2], x[-1], m.z, x[1]);
    flux.y = rule_flux(u.y, y[-2 * FILL_WIDTH], y[-FILL_WIDTH], y[0], y[FILL_WIDTH]);
    flux.z = rule_flux(u.z, m.x, m.y, m.z, m.w);
    t->flux[0][ring + c->x] = flux.x;
    t->flux[1][ring + c->y] = flux.y;
    return flux;
}

// R2: the shares of a cell, at p in the rings, with fill m.
inline float2 shares(local move_tile *t, int p, float m, float3 low, float z1, device_numbers n)
{
    float x1 = t->flux[0][p + 1], y1 = t->flux[1][p + WIDTH];
    float out = rule_leaving(low.x, x1, low.y, y1, low.z, z1), in = rule_entering(low.x, x1, low.y, y1, low.z, z1);
    float2 share = (float2)(m < n.dust ? 0.0f : 1.0f, 1.0f);
    if (rule_limited(m, out, in, n.dust, n.fill_cap))
        share = (float2)(rule_giving(m, out, n.dust), rule_taking(m, out, in, n.dust, n.fill_cap));
    t->shares[p] = share;
    return share;
}

// R2, dust: what falls through the open face between two cells, the higher one the work-item's own.
inline float fallen(local const move_tile *t, float low, float high, int z, device_numbers n)
{
    const bool down = n.down_sign < 0;
    const float from = down ? high : low, to = down ? low : high;
    if (!(from < n.dust && to < LIMIT_FULL - n.dust)) return 0.0f;
    float open = 1.0f;
    if (!t->clear[(z >> 3) + 1]) {
        const int2 at = place_again(t);
        open = down ? plane_open(t, at.x - (n.down_axis == 0), at.y - (n.down_axis == 1), z - (n.down_axis == 2))
                    : plane_open(t, at.x, at.y, z);
    }
    return down ? -(open * from) : open * from;
}

inline float crossed(float flux, float2 low, float2 high)
{
    return (float)rule_moved(flux, low.x, low.y, high.x, high.y) * RULE_DROP;
}

// R2: what crosses a column's faces in plane z in whole drops and as dust, as fill. They lie at p in the rings; m is their cell's
// fill, which lies at `fill`.
inline void cross_faces(local move_tile *t, int p, int fill, int z, float3 flux, float2 below, float2 here, float m_below,
                        float m, device_numbers n)
{
    float x = crossed(flux.x, t->shares[p - 1], here);
    float y = crossed(flux.y, t->shares[p - WIDTH], here);
    float up = crossed(flux.z, below, here);
    if (n.down_sign < 0 ? m != 0.0f && m < n.dust : n.down_sign > 0) {
        float low = n.down_axis == 2 ? m_below : t->fill[fill - (n.down_axis == 0 ? 1 : FILL_WIDTH)];
        float dust = fallen(t, low, m, z, n);
        x += n.down_axis == 0 ? dust : 0.0f;
        y += n.down_axis == 1 ? dust : 0.0f;
        up += n.down_axis == 2 ? dust : 0.0f;
    }
    t->moved[0][p] = x;
    t->moved[1][p] = y;
    t->moved[2][p] = up;
}

// R3 on a cell that lies at p and `fill` in the rings, with the face above it at `above`. Gives the fill before and after.
inline float2 new_fill(local move_tile *t, int p, int above, int fill)
{
    local const float *X = t->moved[0] + p, *Y = t->moved[1] + p;
    float before = t->fill[fill];
    float after = before + (((X[0] - X[1]) + (t->moved[2][p] - t->moved[2][above])) + (Y[0] - Y[WIDTH]));
    float2 fills = (float2)(before, after);
    t->fills[p] = fills;
    return fills;
}

// The drops of a new fill; returns what is found of them.
inline int put_drops(global int *restrict mass_next, int cell, float2 fills)
{
    int drops = (int)(fills.y * RULE_DROPS);
    mass_next[cell] = drops;
    return (drops != 0 ? DEVICE_WET : 0) | (fills.y != fills.x ? DEVICE_CHANGED : 0);
}

// Momentum that comes in through one side of a control volume less what goes out through the other.
inline float carried(float in, float out, float u_low, float u, float u_high)
{
    return rule_carried(in, u_low, u) - rule_carried(out, u, u_high);
}

// R4 and gravity on the three low faces of a cell in plane z, at p in a plane.
inline float3 carry(local const move_tile *t, int p, int z, bool all_clear, device_numbers n)
{
    const int here = RING(z) + p, below = RING(z - 1) + p, above = RING(z + 1) + p;
    local const float *X = t->moved[0] + here, *Y = t->moved[1] + here, *Z = t->moved[2] + here, *Z1 = t->moved[2] + above;
    const float2 fill = t->fills[here];
    float3 open = (float3)(1.0f, 1.0f, 1.0f), next;
    if (!all_clear && !t->clear[(z >> 3) + 1]) {
        const int2 at = own_cell(self_again(t));
        float w = plane_open(t, at.x, at.y, z);
        open.x = plane_open(t, at.x - 1, at.y, z) * w;
        open.y = plane_open(t, at.x, at.y - 1, z) * w;
        open.z = plane_open(t, at.x, at.y, z - 1) * w;
    }
    {
        local const float *u = t->flow[0] + here;
        float by_x = carried(X[-1] + X[0], X[0] + X[1], u[-1], u[0], u[1]);
        float by_y = carried(Y[-1] + Y[0], Y[WIDTH - 1] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float by_z = carried(Z[-1] + Z[0], Z1[-1] + Z1[0], t->flow[0][below], u[0], t->flow[0][above]);
        float2 low = t->fills[here - 1];
        next.x = rule_carry(low.x + fill.x, low.y + fill.y, u[0], by_x + (by_y + by_z), open.x, n.empty, n.gravity_x);
    }
    {
        local const float *u = t->flow[1] + here;
        float by_y = carried(Y[-WIDTH] + Y[0], Y[0] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float by_x = carried(X[-WIDTH] + X[0], X[1 - WIDTH] + X[1], u[-1], u[0], u[1]);
        float by_z = carried(Z[-WIDTH] + Z[0], Z1[-WIDTH] + Z1[0], t->flow[1][below], u[0], t->flow[1][above]);
        float2 low = t->fills[here - WIDTH];
        next.y = rule_carry(low.x + fill.x, low.y + fill.y, u[0], by_y + (by_x + by_z), open.y, n.empty, n.gravity_y);
    }
    {
        local const float *u = t->flow[2] + here, *X0 = t->moved[0] + below, *Y0 = t->moved[1] + below,
                          *Z0 = t->moved[2] + below;
        float by_z = carried(Z0[0] + Z[0], Z[0] + Z1[0], t->flow[2][below], u[0], t->flow[2][above]);
        float by_y = carried(Y0[0] + Y[0], Y0[WIDTH] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float by_x = carried(X0[0] + X[0], X0[1] + X[1], u[-1], u[0], u[1]);
        float2 low = t->fills[below];
        next.z = rule_carry(low.x + fill.x, low.y + fill.y, u[0], by_z + (by_y + by_x), open.z, n.empty, n.gravity_z);
    }
    return next;
}

kernel __attribute__((reqd_work_group_size(DEVICE_MOVE_GROUP, 1, 1))) void
move(global const device_run *restrict runs, global const int *restrict near, global const uint *restrict open,
     global const uchar *restrict clear, global const int *restrict mass, global const float *restrict flow_x,
     global const float *restrict flow_y, global const float *restrict flow_z, global int *restrict mass_next,
     global float *restrict next_x, global float *restrict next_y, global float *restrict next_z,
     global float *restrict moved_x, global float *restrict moved_y, global float *restrict moved_z,
     global uchar *restrict facts, device_numbers n)
{
    local move_tile tile;
    local move_tile *t = &tile;
    global const device_run *run = runs + get_group_id(0);
    const int me = (int)get_local_id(0), end = 8 * run->count;
    begin_run(t, run, near, clear);
    const bool all_clear = run_clear(t, run->count);

    move_column c;
    {
        const int2 at_x = x_face(me), at_y = y_face(me);
        c.i = me;
        c.x = PLANE_AT(at_x);
        t->self[me] = me | c.x << 8;
        c.y = PLANE_AT(at_y);
        c.fill_x = RING_FILL_AT(at_x);
        c.fill_y = RING_FILL_AT(at_y);
        c.from_x = nine_at(at_x);
        c.from_y = nine_at(at_y);
        c.u_below = c.flux = (float3)(0.0f, 0.0f, 0.0f);
        c.share = (float2)(0.0f, 0.0f);
        int x = column_cell(t, c.from_x, -2), y = column_cell(t, c.from_y, -2);
        c.u = (float3)(flow_x[x], flow_y[y], flow_z[x]);
        c.u_above = (float3)(flow_x[x + 64], flow_y[y + 64], flow_z[x + 64]);
        c.m_low = FILL_OF(x - 128);
        c.m_below = FILL_OF(x - 64);
        c.m = FILL_OF(x);
    }
    const int carry_from = nine_at(own_cell(me));
    // Two cells of fill.
    const int2 fill_at0 = fill_cell(me), fill_at1 = fill_cell(me + DEVICE_MOVE_GROUP);
    const int fill_to0 = fill_place(fill_at0), fill_to1 = fill_place(fill_at1);
    const int fill_from0 = nine_at(fill_at0), fill_from1 = nine_at(fill_at1);
    for (int z = -4; z < 2; z += 2) {
        int2 drops0 = (int2)(0, 0), drops1 = drops0;
        if (fill_to0 >= 0) drops0 = two_drops(mass, column_cell(t, fill_from0, z));
        if (fill_to1 >= 0) drops1 = two_drops(mass, column_cell(t, fill_from1, z));
        if (fill_to0 >= 0) put_fill(t, fill_to0, z, drops0);
        if (fill_to1 >= 0) put_fill(t, fill_to1, z, drops1);
        note_water(t, z, -2 * DRY_BEYOND, drops0, drops1);
    }
    if (me < 72) t->open[(me / 18 - 2) & 7][me % 18] = open_word(t, open, me % 18, me / 18 - 2);
    SYNC;

    int found = 0;
    for (int z = -2; z <= end + 2; z += 2) {
        const int wet_end = t->wet_end;
        const bool wet = wet_end > z - DRY_BEYOND, rises = wet && z <= end;
        const int here = RING(z) + c.x, below = RING(z - 1) + c.x;
        const float3 u = c.u, u_above = c.u_above;
        int2 drops0 = (int2)(0, 0), drops1 = drops0;
        float3 flux, flux_above;
        float2 share_below, share;
        float m_above, m_high;
        uint open_next = 0;
        if (z < end) {  // asked for now, so that it is there when it is needed
            if (fill_to0 >= 0) drops0 = two_drops(mass, column_cell(t, fill_from0, z + 4));
            if (fill_to1 >= 0) drops1 = two_drops(mass, column_cell(t, fill_from1, z + 4));
            int x = column_cell(t, c.from_x, z + 2), y = column_cell(t, c.from_y, z + 2);
            c.u = (float3)(flow_x[x], flow_y[y], flow_z[x]);
            c.u_above = (float3)(flow_x[x + 64], flow_y[y + 64], flow_z[x + 64]);
            if (!all_clear && me < 36) open_next = open_word(t, open, self_again(t) % 18, z + 2 + self_again(t) / 18);
        }
        if (rises) {
            m_above = t->fill[RING_FILL(z) + FILL_CELLS + c.fill_x];
            m_high = t->fill[RING_FILL(z + 2) + c.fill_x];
            flux = fluxes(t, &c, RING(z), RING_FILL(z), u, (float4)(c.m_low, c.m_below, c.m, m_above));
            flux_above = fluxes(t, &c, RING(z) + PLANE_CELLS, RING_FILL(z) + FILL_CELLS, u_above,
                                (float4)(c.m_below, c.m, m_above, m_high));
        }
        if (wet && z >= 2) {
            if (c.i < FILL_COLUMNS) {
                const int fill = RING_FILL(z - 4) + c.fill_x;
                float2 low = new_fill(t, here, here + PLANE_CELLS, fill);
                float2 high = new_fill(t, here + PLANE_CELLS, RING(z - 2) + c.x, fill + FILL_CELLS);
                if (z >= 4 && c.i < OWN_COLUMNS) {
                    const int to = column_cell(t, c.from_x, z - 4);
                    found |= put_drops(mass_next, to, low) | put_drops(mass_next, to + 64, high);
                }
            }
            if ((z & 7) == 2 && z > 2) {  // the last planes of a brick
                if (found != 0) RAISE(t->found[(z - 4) >> 3], found);
                found = 0;
            }
        }
        SYNC;
        if (rises && c.i < SHARE_COLUMNS) {
            share_below = shares(t, below, c.m_below, c.flux, flux.z, n);
            share = shares(t, here, c.m, flux, flux_above.z, n);
        }
        if (z >= 4) {
            const int2 at = own_cell(me);
            const int d = z - 4 + (me >> 6), to = column_cell(t, carry_from, d);
            if (wet) {
                const int p = RING(d) + PLANE_AT(at);
                float3 next = carry(t, PLANE_AT(at), d, all_clear, n);
                next_x[to] = next.x;
                next_y[to] = next.y;
                next_z[to] = next.z;
                if (moved_x) {
                    moved_x[to] = t->moved[0][p];
                    moved_y[to] = t->moved[1][p];
                    moved_z[to] = t->moved[2][p];
                }
            } else {
                mass_next[to] = 0;
                next_x[to] = next_y[to] = next_z[to] = 0.0f;
                if (moved_x) moved_x[to] = moved_y[to] = moved_z[to] = 0.0f;
            }
        }
        SYNC;
        if (rises) {
            if (c.i < MOVED_COLUMNS && z >= 0) {
                cross_faces(t, below, RING_FILL(z - 1) + c.fill_x, z - 1, c.flux, c.share, share_below, c.m_low, c.m_below, n);
                cross_faces(t, here, RING_FILL(z) + c.fill_x, z, flux, share_below, share, c.m_below, c.m, n);
            }
            c.flux = flux_above;
            c.share = share;
            c.m_low = c.m;
            c.m_below = m_above;
            c.m = m_high;
        }
        if (z <= end) {
            t->flow[0][below] = c.u_below.x;
            t->flow[1][RING(z - 1) + c.y] = c.u_below.y;
            t->flow[2][below] = c.u_below.z;
            t->flow[0][here] = u.x;
            t->flow[1][RING(z) + c.y] = u.y;
            t->flow[2][here] = u.z;
            c.u_below = u_above;
        }
        if (z < end) {
            if (fill_to0 >= 0) put_fill(t, fill_to0, z + 4, drops0);
            if (fill_to1 >= 0) put_fill(t, fill_to1, z + 4, drops1);
            note_water(t, z + 4, wet_end, drops0, drops1);
            if (!all_clear && me < 36) t->open[(z + 2 + self_again(t) / 18) & 7][self_again(t) % 18] = open_next;
        }
        SYNC;
    }
    for (int j = me; j < run->count; j += DEVICE_MOVE_GROUP) facts[run->brick[j]] = (uchar)t->found[j];
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
            to[brick * BRICK_CELLS + cell] = OPEN_AT(x - dx, y - dy, z - dz) * OPEN_AT(x, y, z) * (u_at[0] + n.viscosity * sum);
        }
        SYNC;
    }
}

// R5: the forces of regions and noise, in place.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void forces(global const int *list, global const int *near,
                                                                      global const uint *open, global const int *coords,
                                                                      global const int *mass, global float *flow_x,
                                                                      global float *flow_y, global float *flow_z,
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
            if (n.noise > 0.0f && axis != n.down_axis)
                f *= 1.0f + n.noise * rule_noise(at_x, at_y, at_z, axis, n.noise_seed, n.update);
            *flow = f;
        }
    }
}

// Takes the water out of cells that lie outside the world's bounds, behind an open side; `drained` gets the drops per brick.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void drain_sides(global const int *list, global const int *coords,
                                                                           global int *mass, global uchar *facts,
                                                                           global long *drained, int8 bounds)
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
    ONCE
    {
        long all = 0;
        for (int i = 0; i < GROUP; i++) all += taken[i];
        drained[get_group_id(0)] = all;
        if (!left) facts[brick] &= (uchar)~DEVICE_WET;
    }
}
