// The kernel that moves mass and flow (docs/how-it-works.md, R1 to R4).

// One work-group marches up a run of bricks along z, two planes of 8 x 8 cells a step, each rule as soon as the one before has come
// far enough:
//
//     step z    fluxes of z and z + 1 | barrier | new flow of z - 4 and z - 3 | barrier | moved faces of z - 1 and z | barrier |
//                                     |         | shares of z - 1 and z       |         |                            |         |
//               new fill of z - 2 and z - 1
//
// A work-item stays with one column of cells and their low faces, so what its rules leave for each other, and for the planes above,
// it keeps to itself. What other columns look at lies in rings of planes in local memory: plane z in slot z & 3, fill and flow in
// slot z & 7, shares in slot z & 1. Fill and all that crosses faces is counted in drops, which floats hold exactly. Local memory is
// what the march waits for most, so whatever a work-item needs again of its own column it keeps.
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

// Where planes begin in the rings.
#define RING(z) (PLANE_CELLS * ((z)&3))
#define RING_FLOW(z) (PLANE_CELLS * ((z)&7))
#define RING_FILL(z) (FILL_CELLS * ((z)&7))

// The rings one behind the other, so that one place of a column in a plane, and a constant, lead to all of its values there.
#define RING_CELLS (4 * PLANE_CELLS)
#define FLOW_CELLS (8 * PLANE_CELLS)
enum {
    FLUX_X = 0,  // in rings
    FLUX_Y = RING_CELLS,
    MOVED_X = 2 * RING_CELLS,
    MOVED_Y = 3 * RING_CELLS,
    MOVED_Z = 4 * RING_CELLS,
    FLOW_X = 0,  // in flow
    FLOW_Y = FLOW_CELLS,
    FLOW_Z = 2 * FLOW_CELLS
};

#define OPEN_WORDS 18  // of the open cells in a plane of nine bricks

typedef struct move_tile {
    float rings[5 * RING_CELLS];  // fluxes on x and y, moved faces
    float flow[3 * FLOW_CELLS];
    float fill[8 * FILL_CELLS];
    float2 fills[RING_CELLS];        // before and after
    float2 shares[2 * PLANE_CELLS];  // q and h, in an even plane and in an odd one
    uint open[8][OPEN_WORDS];        // two words of each of the nine bricks in a plane
    int bricks[DEVICE_RUN + 2][9];   // where the cells of those nine begin, from below the run to above it
    int clear[DEVICE_RUN + 2];
    int found[DEVICE_RUN];        // bits of brick_flags
    int wet_end;                  // no water was seen in this plane or above it
    int self[DEVICE_MOVE_GROUP];  // see self_again
} move_tile;

// Planes this far above the last water are dry, and so is all that the rings and the work-items still hold.
#define DRY_BEYOND 16

// The roles of the work-items: each has a column, and these are where in the list of them a kind ends. Columns beside each other share
// cache lines, so each 32 are from two sides.
enum {
    OWN_END = 64,      // columns of the run itself
    LOW_X_END = 73,    // beside its low faces on x
    LOW_Y_END = 81,    // and on y
    LOWER_X_END = 90,  // beside those
    LOWER_Y_END = 96,
    HIGH_X_END = 105,  // beside its high faces
    HIGH_Y_END = 114,
    CELLS_END = 117,  // the rest of those that end at LOWER_Y_END; what follows has no cell, and its faces on x and y lie apart
    CORNER_END = 119,  // two corners; what lies beside the high ones comes last
};

// New fill gets the run and what is beside its low faces.
inline bool gets_fill(int me)
{
    return me < LOW_Y_END;
}

// Drops cross the faces of these, and of what is beside the run's high faces.
inline bool is_crossed(int me)
{
    return gets_fill(me) || (me >= LOWER_Y_END && me < HIGH_Y_END);
}

inline bool has_cell(int me)
{
    return me < CELLS_END;
}

// Those of two planes, a word each.
inline bool brings_open(int me)
{
    return me < 2 * OPEN_WORDS;
}

// Every other row of a brick belongs to one of two times 32 work-items, so that their reads do not meet in one bank.
inline int2 own_cell(int i)
{
    return (int2)(i & 7, (i >> 3 & 3) * 2 + (i >> 5 & 1));
}

inline int2 x_face(int i)
{
    if (i < OWN_END) return own_cell(i);
    if (i < LOW_X_END) return (int2)(-1, i - OWN_END - 1);
    if (i < LOW_Y_END) return (int2)(i - LOW_X_END, -1);
    if (i < LOWER_X_END) return (int2)(-2, i - LOW_Y_END - 1);
    if (i < LOWER_Y_END) return (int2)(i - LOWER_X_END - 1, -2);
    if (i < HIGH_X_END) return (int2)(8, i - LOWER_Y_END - 1);
    if (i < HIGH_Y_END) return (int2)(i - HIGH_X_END - 1, 8);
    if (i < CELLS_END) return (int2)(i - HIGH_Y_END + 5, -2);
    if (i < CORNER_END) return (int2)(8, i == CELLS_END ? 8 : -2);
    return (int2)(9, i - CORNER_END - 1);
}

inline int2 y_face(int i)
{
    int2 at = x_face(i);
    return has_cell(i) ? at : (int2)(at.y, at.x);
}

// Cells that are looked at and have no column: seven lines of 11 beside the columns, and four corners.
#define FAR_CELLS 81
inline int2 far_cell(int i)
{
    const int line = i / 11, along = i % 11 - 2;
    if (line < 3) return (int2)(line < 2 ? line - 4 : 10, along);
    if (line < 7) return (int2)(along, line < 5 ? line - 7 : line + 4);
    return (int2)(along & 1 ? 9 : -2, along & 2 ? 8 : -2);
}

// What a work-item keeps of its column between steps. Vectors hold one value for the low face on each axis.
typedef struct move_column {
    float3 u, u_above;                 // flow in planes z and z + 1
    float m_low, m_below, m, m_above;  // fill in planes z - 2 to z + 1
    int next;                          // where its cell lies in plane z + 2
    int2 drops, far_drops;             // in planes z + 2 and z + 3, of its cell and of a far one
    uint open;                         // a word of plane z or z + 1
    float3 flux;                       // in plane z - 1
    float2 share;                      // in plane z - 2
    float3 moved;                      // in plane z - 2
    float4 below;                      // flow and moved face on z in the plane below that of its new flow
} move_column;

// Where a cell lies in planes of the nine bricks: 64 * brick + cell.
inline int nine_at(int2 at)
{
    return 64 * (((at.x + 8) >> 3) + 3 * ((at.y + 8) >> 3)) + (at.x & 7) + 8 * (at.y & 7);
}

inline int column_cell(local const move_tile *t, int from, int z)
{
    return t->bricks[(z >> 3) + 1][from >> 6] + (from & 63) + 64 * (z & 7);
}

inline uint open_word(local const move_tile *t, global const uint *open, int word, int z)
{
    return open[t->bricks[(z >> 3) + 1][word >> 1] / 32 + 2 * (z & 7) + (word & 1)];
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
    int neighbour = 0, is_clear = 0;
    if (j <= count) {
        int brick = run->brick[j < 0 ? 0 : j < count ? j : count - 1];
        neighbour = near[27 * brick + (j < 0 ? 0 : j < count ? 9 : 18) + side];
        is_clear = clear[brick];
    }
    local float *words = (local float *)t;
    for (int i = me; i < (int)(sizeof *t / sizeof *words); i += DEVICE_MOVE_GROUP) words[i] = 0.0f;
    SYNC;
    ONCE t->wet_end = -2 * DRY_BEYOND;
    if (j <= count) {
        t->bricks[j + 1][side] = neighbour * BRICK_CELLS;
        if (side == 0) t->clear[j + 1] = is_clear;
    }
    SYNC;
}

// Bit j: brick j of the run is clear.
inline int clear_bits(local const move_tile *t, int count)
{
    int bits = 0;
    for (int j = 0; j < count; j++) bits |= t->clear[j + 1] << j;
    return bits;
}

// A note of where there is water: whole bricks count. `known` may be an older one.
inline void note_water(local move_tile *t, int z, int known, int2 drops, int2 far_drops)
{
    const int end = (z | 7) + 1;
    if (known >= end) return;
    if ((drops.x | drops.y | far_drops.x | far_drops.y) != 0) atomic_max(&t->wet_end, end);
}

inline int2 two_drops(global const int *mass, int cell)
{
    return (int2)(mass[cell], mass[cell + 64]);
}

// Fill of a cell in two planes.
inline void put_fill(local float *fill, int2 drops)
{
    fill[0] = (float)drops.x;
    fill[FILL_CELLS] = (float)drops.y;
}

// Flow through the faces of a column in a plane.
inline void put_flow(local float *x, local float *y, float3 u)
{
    x[FLOW_X] = u.x;
    y[FLOW_Y] = u.y;
    x[FLOW_Z] = u.z;
}

// R1 on the faces of a plane: x and y point to the fill of the cells behind the faces on x and y, m is that of the column's cells.
// `apart`: the cell behind the face on y is not the column's.
inline float3 fluxes(local const float *x, local const float *y, float3 u, float4 m, bool apart)
{
    float m_y = m.z;
    if (apart) m_y = y[0];
    return (float3)(rule_flux(u.x, x[-2], x[-1], m.z, x[1]),
                    rule_flux(u.y, y[-2 * FILL_WIDTH], y[-FILL_WIDTH], m_y, y[FILL_WIDTH]), rule_flux(u.z, m.x, m.y, m.z, m.w));
}

// What leaves and what enters a cell with these fluxes through its low and high faces.
inline float2 turnover(float3 low, float x1, float y1, float z1)
{
    return (float2)(rule_leaving(low.x, x1, low.y, y1, low.z, z1), rule_entering(low.x, x1, low.y, y1, low.z, z1));
}

inline bool is_limited(float m, float2 turns, device_limits limits)
{
    return rule_limited(m, turns.x, turns.y, limits.dust, limits.full, limits.fill_cap);
}

// R2: the shares of a cell with fill m, most often and always.
inline float2 plain_shares(float m, device_limits limits)
{
    return (float2)(rule_giving_freely(m, limits.dust), 1.0f);
}

inline float2 shares(float m, float2 turns, device_limits limits)
{
    return (float2)(rule_giving(m, turns.x, limits.dust), rule_taking(m, turns.x, turns.y, limits.full, limits.fill_cap));
}

// R2: whole drops that cross a face between two cells with these shares.
inline float crossed(float flux, float2 low, float2 high)
{
    return rule_moved(flux, low.x, low.y, high.x, high.y);
}

inline float3 crossed_faces(float3 flux, local const float2 *shares, float2 below, float2 here)
{
    return (float3)(crossed(flux.x, shares[-1], here), crossed(flux.y, shares[-WIDTH], here), crossed(flux.z, below, here));
}

// R2, dust: whether any may fall through a low face of a cell with fill m.
inline bool dust_falls(float m, device_limits limits)
{
    return (m > limits.falls_above) & (m < limits.falls_below);
}

// What falls through a cell's low face on the axis along which it falls; `fill` points to its fill m.
inline float3 fallen(local const move_tile *t, local const float *fill, float m_below, float m, int z, device_numbers n,
                     device_limits limits)
{
    const bool down = n.down_sign < 0;
    const float low = n.down_axis == 2 ? m_below : fill[n.down_axis == 0 ? -1 : -FILL_WIDTH];
    const float3 none = (float3)(0.0f, 0.0f, 0.0f);
    if (!rule_dust_falls(down ? m : low, down ? low : m, limits.dust, limits.full)) return none;
    float open = 1.0f;
    if (!t->clear[(z >> 3) + 1]) {
        const int2 at = place_again(t);
        open = down ? plane_open(t, at.x - (n.down_axis == 0), at.y - (n.down_axis == 1), z - (n.down_axis == 2))
                    : plane_open(t, at.x, at.y, z);
    }
    const float dust = rule_fallen(n.down_sign, low, m, open, limits.dust, limits.full);
    return (float3)(n.down_axis == 0 ? dust : 0.0f, n.down_axis == 1 ? dust : 0.0f, n.down_axis == 2 ? dust : 0.0f);
}

inline void put_moved(local float *at, float3 moved)
{
    at[MOVED_X] = moved.x;
    at[MOVED_Y] = moved.y;
    at[MOVED_Z] = moved.z;
}

// R3 on a cell whose faces lie at `at` in the rings: `in` comes in through its low ones, `up` goes out through that on top. Gives the
// fill before and after.
inline float2 new_fill(local const float *at, float3 in, float up, float before)
{
    return (float2)(before, rule_mass(before, in.x, at[MOVED_X + 1], in.y, at[MOVED_Y + WIDTH], in.z, up));
}

// Flow and moved face on z of a cell at p in plane z.
inline float4 flow_and_face(local const move_tile *t, int p, int z)
{
    local const float *flow = t->flow + p + RING_FLOW(z);
    return (float4)(flow[FLOW_X], flow[FLOW_Y], flow[FLOW_Z], t->rings[p + RING(z) + MOVED_Z]);
}

// R4 and gravity on the three low faces of a cell in plane z, at p in a plane, with this fill; and what is below and above it.
inline float3 carry(local const move_tile *t, int p, int z, float2 fill, float4 below, float4 above, bool is_clear,
                    device_numbers n, float empty)
{
    local const float *rings = t->rings + p, *flows = t->flow + p;
    local const float *at = rings + RING(z), *at_below = rings + RING(z - 1), *flow = flows + RING_FLOW(z);
    local const float *X = at + MOVED_X, *Y = at + MOVED_Y, *Z = at + MOVED_Z, *Z1 = rings + RING(z + 1) + MOVED_Z;
    local const float2 *fills = t->fills + p + RING(z);
    float3 open = (float3)(1.0f, 1.0f, 1.0f), next;
    if (!is_clear) {
        const int2 cell = own_cell(self_again(t));
        float w = plane_open(t, cell.x, cell.y, z);
        open.x = plane_open(t, cell.x - 1, cell.y, z) * w;
        open.y = plane_open(t, cell.x, cell.y - 1, z) * w;
        open.z = plane_open(t, cell.x, cell.y, z - 1) * w;
    }
    {
        local const float *u = flow + FLOW_X;
        float x0 = rule_carried(X[-1], X[0], u[-1], u[0]), x1 = rule_carried(X[0], X[1], u[0], u[1]);
        float y0 = rule_carried(Y[-1], Y[0], u[-WIDTH], u[0]), y1 = rule_carried(Y[WIDTH - 1], Y[WIDTH], u[0], u[WIDTH]);
        float z0 = rule_carried(Z[-1], Z[0], below.x, u[0]), z1 = rule_carried(Z1[-1], above.w, u[0], above.x);
        float2 low = fills[-1];
        next.x = rule_carry(low.x + fill.x, low.y + fill.y, u[0], rule_carried_sum(x0, x1, y0, y1, z0, z1), open.x, empty,
                            n.gravity_x);
    }
    {
        local const float *u = flow + FLOW_Y;
        float y0 = rule_carried(Y[-WIDTH], Y[0], u[-WIDTH], u[0]), y1 = rule_carried(Y[0], Y[WIDTH], u[0], u[WIDTH]);
        float x0 = rule_carried(X[-WIDTH], X[0], u[-1], u[0]), x1 = rule_carried(X[1 - WIDTH], X[1], u[0], u[1]);
        float z0 = rule_carried(Z[-WIDTH], Z[0], below.y, u[0]), z1 = rule_carried(Z1[-WIDTH], above.w, u[0], above.y);
        float2 low = fills[-WIDTH];
        next.y = rule_carry(low.x + fill.x, low.y + fill.y, u[0], rule_carried_sum(y0, y1, x0, x1, z0, z1), open.y, empty,
                            n.gravity_y);
    }
    {
        local const float *u = flow + FLOW_Z, *X0 = at_below + MOVED_X, *Y0 = at_below + MOVED_Y;
        float z0 = rule_carried(below.w, Z[0], below.z, u[0]), z1 = rule_carried(Z[0], above.w, u[0], above.z);
        float y0 = rule_carried(Y0[0], Y[0], u[-WIDTH], u[0]), y1 = rule_carried(Y0[WIDTH], Y[WIDTH], u[0], u[WIDTH]);
        float x0 = rule_carried(X0[0], X[0], u[-1], u[0]), x1 = rule_carried(X0[1], X[1], u[0], u[1]);
        float2 low = t->fills[p + RING(z - 1)];
        next.z = rule_carry(low.x + fill.x, low.y + fill.y, u[0], rule_carried_sum(z0, z1, y0, y1, x0, x1), open.z, empty,
                            n.gravity_z);
    }
    return next;
}

kernel __attribute__((reqd_work_group_size(DEVICE_MOVE_GROUP, 1, 1))) void
move(global const device_run *restrict runs, global const int *restrict near, global const uint *restrict open,
     global const uchar *restrict clear, global const int *restrict mass, global const float *restrict flow_x,
     global const float *restrict flow_y, global const float *restrict flow_z, global int *restrict mass_next,
     global float *restrict next_x, global float *restrict next_y, global float *restrict next_z,
     global float *restrict moved_x, global float *restrict moved_y, global float *restrict moved_z,
     global int *restrict tables, device_numbers n, device_limits limits)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
    local move_tile tile;
    local move_tile *t = &tile;
    global const device_run *run = runs + get_group_id(0);
    const int me = (int)get_local_id(0), end = 8 * run->count;
    begin_run(t, run, near, clear);
    const int clear_here = clear_bits(t, run->count);
    const bool all_clear = clear_here == (1 << run->count) - 1;

    // Where its faces lie in planes of the rings and in those of the nine bricks; the cell goes with the face on x.
    const int2 at_x = x_face(me), at_y = y_face(me), at_far = far_cell(me);
    const int x = PLANE_AT(at_x), y = PLANE_AT(at_y), from_x = nine_at(at_x), from_y = nine_at(at_y);
    const int fill_x = RING_FILL_AT(at_x), fill_y = RING_FILL_AT(at_y);
    const bool crosses = is_crossed(me), apart = !has_cell(me);
    const bool has_far = me < FAR_CELLS;
    const int far = has_far ? RING_FILL_AT(at_far) : 0, from_far = has_far ? nine_at(at_far) : 0;
    // The cell and the plane of which it makes the new flow.
    const int own = PLANE_AT(own_cell(me)), own_plane = me / OWN_END, own_from = (nine_at(own_cell(me)) & 63) + 64 * own_plane;
    t->self[me] = me | x << 8;
    local float *const rings = t->rings + x, *const fill = t->fill + fill_x;

    move_column c;
    for (int z = -4; z < 0; z += 2) {
        c.drops = two_drops(mass, column_cell(t, from_x, z));
        c.far_drops = has_far ? two_drops(mass, column_cell(t, from_far, z)) : (int2)(0, 0);
        put_fill(fill + RING_FILL(z), c.drops);
        if (has_far) put_fill(t->fill + RING_FILL(z) + far, c.far_drops);
        note_water(t, z, -2 * DRY_BEYOND, c.drops, c.far_drops);
    }
    c.m_low = fill[RING_FILL(-4)];
    c.m_below = fill[RING_FILL(-3)];
    c.m = (float)c.drops.x;
    c.m_above = (float)c.drops.y;
    c.next = column_cell(t, from_x, 0);
    c.drops = two_drops(mass, c.next);
    c.far_drops = has_far ? two_drops(mass, column_cell(t, from_far, 0)) : (int2)(0, 0);
    {
        const int to_x = column_cell(t, from_x, -2), to_y = column_cell(t, from_y, -2);
        c.u = (float3)(flow_x[to_x], flow_y[to_y], flow_z[to_x]);
        c.u_above = (float3)(flow_x[to_x + 64], flow_y[to_y + 64], flow_z[to_x + 64]);
    }
    c.flux = c.moved = (float3)(0.0f, 0.0f, 0.0f);
    c.share = (float2)(0.0f, 0.0f);
    c.below = (float4)(0.0f, 0.0f, 0.0f, 0.0f);
    c.open = brings_open(me) ? open_word(t, open, me % OPEN_WORDS, -2 + me / OPEN_WORDS) : 0;
    SYNC;

    int found = 0, changed = 0;  // not 0: the brick has water, and it changed
    for (int z = -2; z <= end + 2; z += 2) {
        const int wet_end = t->wet_end;
        const bool wet = wet_end > z - DRY_BEYOND, rises = wet && z <= end;
        local float *here = rings + RING(z), *there = rings + RING(z - 2);  // planes z and z - 2
        local float *flow = t->flow + x + RING_FLOW(z), *flow_at_y = flow + (y - x);
        const float m_high = (float)c.drops.x, m_higher = (float)c.drops.y;
        // Made and looked at only where the march rises, by the columns that have them.
        float3 flux, flux_above, moved, moved_below;
        float2 share_below, share;
        put_fill(fill + RING_FILL(z + 2), c.drops);
        if (has_far) put_fill(t->fill + far + RING_FILL(z + 2), c.far_drops);
        put_flow(flow, flow_at_y, c.u);
        put_flow(flow + PLANE_CELLS, flow_at_y + PLANE_CELLS, c.u_above);
        if (rises) {
            local const float *m_x = fill + RING_FILL(z), *m_y = m_x + (fill_y - fill_x);
            local float *here_y = here + (y - x);
            flux = fluxes(m_x, m_y, c.u, (float4)(c.m_low, c.m_below, c.m, c.m_above), apart);
            flux_above =
                fluxes(m_x + FILL_CELLS, m_y + FILL_CELLS, c.u_above, (float4)(c.m_below, c.m, c.m_above, m_high), apart);
            here[FLUX_X] = flux.x;
            here_y[FLUX_Y] = flux.y;
            here[FLUX_X + PLANE_CELLS] = flux_above.x;
            here_y[FLUX_Y + PLANE_CELLS] = flux_above.y;
        }
        SYNC;
        note_water(t, z + 2, wet_end, c.drops, c.far_drops);
        if (z < end) {  // loaded now, so that it is there when it is needed
            const int to_x = c.next, to_y = column_cell(t, from_y, z + 2);
            c.next = column_cell(t, from_x, z + 4);
            c.drops = two_drops(mass, c.next);
            if (has_far) c.far_drops = two_drops(mass, column_cell(t, from_far, z + 4));
            c.u = (float3)(flow_x[to_x], flow_y[to_y], flow_z[to_x]);
            c.u_above = (float3)(flow_x[to_x + 64], flow_y[to_y + 64], flow_z[to_x + 64]);
        }
        if (!all_clear && brings_open(me)) {
            const int word = self_again(t) % OPEN_WORDS, plane = z + self_again(t) / OPEN_WORDS;
            t->open[plane & 7][word] = c.open;
            c.open = open_word(t, open, word, plane + 2);
        }
        const int d = z - 4 + own_plane;
        const float4 above = flow_and_face(t, own, d + 1);
        if (z >= 4) {
            const int brick = (z - 4) >> 3, to = t->bricks[brick + 1][4] + own_from + 64 * ((z - 4) & 7);
            if (wet) {
                const float2 fill = t->fills[own + RING(d)];
                const int after = (int)fill.y;
                float3 next = carry(t, own, d, fill, c.below, above, clear_here >> brick & 1, n, limits.empty);
                mass_next[to] = after;
                next_x[to] = next.x;
                next_y[to] = next.y;
                next_z[to] = next.z;
                if (moved_x) {  // adding 0 turns a negative zero into a plain one
                    local const float *at = t->rings + own + RING(d);
                    moved_x[to] = at[MOVED_X] * RULE_DROP + 0.0f;
                    moved_y[to] = at[MOVED_Y] * RULE_DROP + 0.0f;
                    moved_z[to] = at[MOVED_Z] * RULE_DROP + 0.0f;
                }
                found |= after;
                changed |= as_int(fill.x) ^ as_int(fill.y);
            } else {
                mass_next[to] = 0;
                next_x[to] = next_y[to] = next_z[to] = 0.0f;
                if (moved_x) moved_x[to] = moved_y[to] = moved_z[to] = 0.0f;
                c.flux = c.moved = (float3)(0.0f, 0.0f, 0.0f);  // for water further up
                c.share = (float2)(0.0f, 0.0f);
            }
            if ((z & 7) == 2) {  // the last planes of a brick
                found = (found != 0 ? DEVICE_WET : 0) | (changed != 0 ? DEVICE_CHANGED : 0);
                if (found != 0) RAISE(t->found[brick], found);
                found = changed = 0;
            }
        }
        c.below = above;
        if (rises && has_cell(me)) {
            local const float *below = there + PLANE_CELLS;
            const float2 turns_below = turnover(c.flux, below[FLUX_X + 1], below[FLUX_Y + WIDTH], flux.z);
            const float2 turns = turnover(flux, here[FLUX_X + 1], here[FLUX_Y + WIDTH], flux_above.z);
            share_below = plain_shares(c.m_below, limits);
            share = plain_shares(c.m, limits);
            if (is_limited(c.m_below, turns_below, limits) | is_limited(c.m, turns, limits)) {
                share_below = shares(c.m_below, turns_below, limits);
                share = shares(c.m, turns, limits);
            }
            t->shares[x] = share;
            t->shares[x + PLANE_CELLS] = share_below;
        }
        SYNC;
        if (rises && crosses) {
            moved = crossed_faces(flux, t->shares + x, share_below, share);
            moved_below = crossed_faces(c.flux, t->shares + x + PLANE_CELLS, c.share, share_below);
            if (dust_falls(c.m, limits) | dust_falls(c.m_below, limits)) {
                moved += fallen(t, fill + RING_FILL(z), c.m_below, c.m, z, n, limits);
                moved_below += fallen(t, fill + RING_FILL(z - 1), c.m_low, c.m_below, z - 1, n, limits);
            }
            put_moved(here, moved);
            put_moved(there + PLANE_CELLS, moved_below);
            c.share = share;
        }
        SYNC;
        if (rises && gets_fill(me)) {
            local float2 *fills = t->fills + x;
            fills[RING(z - 2)] = new_fill(there, c.moved, moved_below.z, c.m_low);
            fills[RING(z - 2) + PLANE_CELLS] = new_fill(there + PLANE_CELLS, moved_below, moved.z, c.m_below);
            c.moved = moved;
        }
        if (rises) c.flux = flux_above;
        c.m_low = c.m;
        c.m_below = c.m_above;
        c.m = m_high;
        c.m_above = m_higher;
    }
    for (int j = me; j < run->count; j += DEVICE_MOVE_GROUP) brick_flags[run->brick[j]] = (uchar)t->found[j];
}
