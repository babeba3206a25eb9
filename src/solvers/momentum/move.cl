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
//
// Two laws of the carrying have something to say in few places, and nobody else pays for them: R4b where water is fast, R4a at corners of
// terrain. The march notes the last plane where there is any, and only near it looks closer.
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
#define OPEN_ROWS 10   // of the open cells in a brick's plane and around it

typedef struct move_tile {
    float rings[5 * RING_CELLS];  // fluxes on x and y, moved faces
    float flow[3 * FLOW_CELLS];
    float fill[8 * FILL_CELLS];
    float2 fills[RING_CELLS];        // before and after
    float2 shares[2 * PLANE_CELLS];  // q and h, in an even plane and in an odd one
    uint open[8][OPEN_WORDS];        // two words of each of the nine bricks in a plane
    uint rows[8][OPEN_ROWS];         // the same by rows, from -1 to 8 on both axes; only in runs with terrain
    uchar deep[FLOW_CELLS];          // which faces of a cell lie inside the water, near fast water: see put_deep_faces
    int bricks[DEVICE_RUN + 2][9];   // where the cells of those nine begin, from below the run to above it
    int clear[DEVICE_RUN + 2];
    int found[DEVICE_RUN];        // bits of brick_flags
    int wet_end;                  // no water was seen in this plane or above it
    int fast_last;                // in this plane fast water was seen last, for R4b
    int corner_last;              // and in this one, or between it and the one below, a corner of terrain, for R4a
    int self[DEVICE_MOVE_GROUP];  // see self_again
} move_tile;

// Planes this far above the last water are dry, and so is all that the rings and the work-items still hold.
#define DRY_BEYOND 16
#define NONE_YET (-2 * DRY_BEYOND)

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

// Besides, some of the last ones look after what few places need.
#define FAR_FLOWS 24  // in a plane
enum {
    FAR_FLOW_BEGIN = DEVICE_MOVE_GROUP - 2 * FAR_FLOWS,  // flows that have no column
    OPEN_ROW_BEGIN = DEVICE_MOVE_GROUP - 2 * OPEN_ROWS   // rows of open cells
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

// Flows that only R4b looks at and that have no column: eight of each axis, two beyond the high faces across it.
typedef struct far_flow {
    int axis, plane;
    int2 at;
} far_flow;

inline far_flow find_far_flow(int me, int z)
{
    const int k = me - FAR_FLOW_BEGIN, axis = k % FAR_FLOWS >> 3, i = k & 7;
    const far_flow f = {axis, z - 1 + k / FAR_FLOWS, axis == 1 ? (int2)(9, i) : (int2)(i, 9)};
    return f;
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

// Row y of plane z by its open cells: bit 0 is the cell before x, bit 1 that at x.
inline uint open_row(local const move_tile *t, int x, int y, int z)
{
    return t->rows[z & 7][y + 1] >> x;
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
    ONCE t->wet_end = t->fast_last = t->corner_last = NONE_YET;
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

// R4b: whether a cell is inside the water, and has a face with fast flow.
#define DEEP (SECOND_ORDER_FILL * RULE_DROPS)
inline bool is_fast(float m, float3 u)
{
    return (m > DEEP) & (fmax(fmax(fabs(u.x), fabs(u.y)), fabs(u.z)) > SECOND_ORDER_SLOW);
}

// R4b: which of its low faces a cell inside the water shares with another such cell, a bit for each axis; and three bits further those
// of them with fast flow. m is its fill, m_below that of the cell before it on z.
inline void put_deep_faces(local move_tile *t, int2 at, int z, float m_below, float m)
{
    local const float *fill = t->fill + RING_FILL_AT(at) + RING_FILL(z), *flow = t->flow + PLANE_AT(at) + RING_FLOW(z);
    const uint deep = (fill[-1] > DEEP ? 1u : 0u) | (fill[-FILL_WIDTH] > DEEP ? 2u : 0u) | (m_below > DEEP ? 4u : 0u);
    const uint fast = (fabs(flow[FLOW_X]) > SECOND_ORDER_SLOW ? 1u : 0u) | (fabs(flow[FLOW_Y]) > SECOND_ORDER_SLOW ? 2u : 0u) |
                      (fabs(flow[FLOW_Z]) > SECOND_ORDER_SLOW ? 4u : 0u);
    t->deep[PLANE_AT(at) + RING_FLOW(z)] = (uchar)(m > DEEP ? deep | (deep & fast) << 3 : 0u);
}

// Sides between two such faces, one of them with fast flow.
inline uint fast_side(uint a, uint b)
{
    return a & b & (a | b) >> 3 & 7u;
}

// Which sides of the control volumes of a cell's low faces R4b is about: a bit for each axis of the flow, and that for each side.
enum { SIDE_X0 = 0, SIDE_X1 = 3, SIDE_Y0 = 6, SIDE_Y1 = 9, SIDE_Z0 = 12, SIDE_Z1 = 15 };
inline uint fast_sides(local const move_tile *t, int p, int z)
{
    local const uchar *deep = t->deep + p + RING_FLOW(z);
    const uint here = deep[0], below = t->deep[p + RING_FLOW(z - 1)], above = t->deep[p + RING_FLOW(z + 1)];
    return fast_side(here, deep[-1]) << SIDE_X0 | fast_side(here, deep[1]) << SIDE_X1 |
           fast_side(here, deep[-WIDTH]) << SIDE_Y0 | fast_side(here, deep[WIDTH]) << SIDE_Y1 |
           fast_side(here, below) << SIDE_Z0 | fast_side(here, above) << SIDE_Z1;
}

// Cells around edges of which three are open, a bit for each edge.
inline uint three_of(uint a, uint b, uint c, uint d)
{
    return (a & b & (c ^ d)) | ((a ^ b) & c & d);
}

// R4a: whether there is a corner of terrain at row y of plane z, towards the row and the plane before it.
inline bool has_corner(local const move_tile *t, int y, int z)
{
    const uint here = open_row(t, 0, y, z), before = open_row(t, 0, y - 1, z);
    const uint below = open_row(t, 0, y, z - 1), below_before = open_row(t, 0, y - 1, z - 1);
    return (three_of(here, here >> 1, before, before >> 1) | three_of(here, here >> 1, below, below >> 1) |
            three_of(here, before, below, below_before)) != 0u;
}

// Two planes of them, a row for each work-item; and a note of the corners there.
inline void put_open_row(local move_tile *t, int z)
{
    const int k = self_again(t) - OPEN_ROW_BEGIN, y = k % OPEN_ROWS - 1, plane = z + k / OPEN_ROWS;
    const int row = 2 * 3 * ((y + 8) >> 3) + ((y & 7) >> 2), shift = 8 * (y & 3);
    local const uint *open = t->open[plane & 7] + row;
    t->rows[plane & 7][y + 1] = (open[0] >> (shift + 7) & 1u) | (open[2] >> shift & 255u) << 1 | (open[4] >> shift & 1u) << 9;
}

inline void note_corner(local move_tile *t, int z)
{
    const int k = self_again(t) - OPEN_ROW_BEGIN, y = k % OPEN_ROWS - 1, plane = z + k / OPEN_ROWS;
    if (y >= 0 && has_corner(t, y, plane)) atomic_max(&t->corner_last, plane);
}

// R4a: sides of the control volumes of a cell's low faces, across the flow, behind which terrain makes a corner: the face itself is open,
// and of the cells beyond the side one is. Four bits for each axis of a flow: low and high on the first axis across, then on the second,
// which are y and z, x and z, x and y.
inline uint corner_sides(local const move_tile *t, int2 cell, int z)
{
    const int x = cell.x, y = cell.y;
    const uint here = open_row(t, x, y, z), before = open_row(t, x, y - 1, z), after = open_row(t, x, y + 1, z);
    const uint below = open_row(t, x, y, z - 1), above = open_row(t, x, y, z + 1), below_before = open_row(t, x, y - 1, z - 1);
    // Of two cells at a face, one is open: at this cell and beside it.
    const uint on_y = here ^ before, on_y_below = below ^ below_before, on_y_above = above ^ open_row(t, x, y - 1, z + 1);
    const uint on_z = here ^ below, on_z_before = before ^ below_before, on_z_after = after ^ open_row(t, x, y + 1, z - 1);
    const uint flow_x = BIT(before ^ before >> 1, 0) | BIT(after ^ after >> 1, 0) << 1 | BIT(below ^ below >> 1, 0) << 2 |
                        BIT(above ^ above >> 1, 0) << 3;
    const uint flow_y = BIT(on_y, 0) | BIT(on_y, 2) << 1 | BIT(on_y_below, 1) << 2 | BIT(on_y_above, 1) << 3;
    const uint flow_z = BIT(on_z, 0) | BIT(on_z, 2) << 1 | BIT(on_z_before, 1) << 2 | BIT(on_z_after, 1) << 3;
    return (BIT(here & here >> 1, 0) ? flow_x : 0u) | (BIT(here & before, 1) ? flow_y << 4 : 0u) |
           (BIT(here & below, 1) ? flow_z << 8 : 0u);
}

// Substeps: counts the lower faces of a cell that are too fast for so many. `fill` points to its fill m.
inline void count_fast(const bool gas, global int *counts, local const float *fill, float m_below, float m, float3 u,
                       float too_fast)
{
    if (!(SUBSTEP_JAMMED * fmax(fmax(fabs(u.x), fabs(u.y)), fabs(u.z)) > too_fast)) return;
    const float on_x =
        gas ? rule_gas_counting_flow(u.x, fill[-1], m, RULE_DROPS) : rule_counting_flow(u.x, fill[-1], m, RULE_DROPS);
    const float on_y = gas ? rule_gas_counting_flow(u.y, fill[-FILL_WIDTH], m, RULE_DROPS)
                           : rule_counting_flow(u.y, fill[-FILL_WIDTH], m, RULE_DROPS);
    const float on_z =
        gas ? rule_gas_counting_flow(u.z, m_below, m, RULE_DROPS) : rule_counting_flow(u.z, m_below, m, RULE_DROPS);
    for (int k = 0; k < SUBSTEP_RUNGS; k++) {
        const float most = (float)rule_rung(k) * too_fast;
        const int faces = (on_x > most) + (on_y > most) + (on_z > most);
        if (faces > 0) atomic_add(&counts[k], faces);
    }
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
inline float3 fluxes(const bool gas, local const float *x, local const float *y, float3 u, float4 m, bool apart)
{
    float m_y = m.z;
    if (apart) m_y = y[0];
    if (gas)
        return (float3)(rule_gas_flux(u.x, x[-1], m.z), rule_gas_flux(u.y, y[-FILL_WIDTH], m_y), rule_gas_flux(u.z, m.y, m.z));
    return (float3)(rule_flux(u.x, x[-2], x[-1], m.z, x[1]),
                    rule_flux(u.y, y[-2 * FILL_WIDTH], y[-FILL_WIDTH], m_y, y[FILL_WIDTH]), rule_flux(u.z, m.x, m.y, m.z, m.w));
}

// What leaves and what enters a cell with these fluxes through its low and high faces.
inline float2 turnover(float3 low, float x1, float y1, float z1)
{
    return (float2)(rule_leaving(low.x, x1, low.y, y1, low.z, z1), rule_entering(low.x, x1, low.y, y1, low.z, z1));
}

inline bool is_limited(const bool gas, float m, float2 turns, device_limits limits)
{
    if (gas) return rule_gas_limited(m, turns.x, turns.y, limits.fill_cap);
    return rule_limited(m, turns.x, turns.y, limits.dust, limits.full, limits.fill_cap);
}

// R2: the shares of a cell with fill m, most often and always.
inline float2 plain_shares(float m, device_limits limits)
{
    return (float2)(rule_giving_freely(m, limits.dust), 1.0f);
}

inline float2 shares(const bool gas, float m, float2 turns, device_limits limits)
{
    if (gas) return (float2)(rule_giving(m, turns.x, limits.dust), rule_gas_taking(m, turns.y, limits.fill_cap));
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

// Which of a cell's low faces are open, a bit for each axis.
inline uint open_faces(local const move_tile *t, int2 cell, int z)
{
    const uint here = open_row(t, cell.x, cell.y, z);
    const uint y = here & open_row(t, cell.x, cell.y - 1, z), before = here & open_row(t, cell.x, cell.y, z - 1);
    return BIT(here & here >> 1, 0) | BIT(y, 1) << 1 | BIT(before, 1) << 2;
}

// R4 and gravity on the three low faces of a cell in plane z, at p in a plane, with this fill; and what is below and above it.
inline float3 carry(local const move_tile *t, int p, int z, float2 fill, float4 below, float4 above, bool is_clear,
                    device_numbers n, float empty)
{
    local const float *rings = t->rings + p, *flows = t->flow + p;
    local const float *at = rings + RING(z), *at_below = rings + RING(z - 1), *flow = flows + RING_FLOW(z);
    local const float *X = at + MOVED_X, *Y = at + MOVED_Y, *Z = at + MOVED_Z, *Z1 = rings + RING(z + 1) + MOVED_Z;
    local const float2 *fills = t->fills + p + RING(z);
    const uint faces = is_clear ? 7u : open_faces(t, own_cell(self_again(t)), z);
    const float3 open = (float3)((float)(int)BIT(faces, 0), (float)(int)BIT(faces, 1), (float)(int)BIT(faces, 2));
    float3 next;
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

// R4a through a side across a flow u at which there is a corner: on its other side the face is closed. The cells at the face hold `fills`.
inline float carried_round(float flux_low, float flux_high, float u, float fills, bool is_high)
{
    return rule_carried_round(flux_low, flux_high, u, u, is_high ? 1.0f : 0.0f, is_high ? 0.0f : 1.0f, fills, fills,
                              CORNER_FEW * RULE_DROPS);
}

// The same as carry, with R4b on some sides and R4a at some corners: `fast` is of fast_sides, `corners` of corner_sides. One axis after
// the other, and on each one pair of sides after the other, so that the march needs no more registers for it.
#define QUARTER (0.25f * RULE_DROP)
inline void carry_closely(local const move_tile *t, int2 cell, int z, uint fast, uint corners, bool is_clear, device_numbers n,
                          float empty, global float *next_x, global float *next_y, global float *next_z, int to)
{
    const int p = PLANE_AT(cell);
    const float2 fill = t->fills[p + RING(z)];
    const uint faces = is_clear ? 7u : open_faces(t, cell, z);
    _Pragma("unroll 1") for (int axis = 0; axis < 3; axis++)
    {
        const int low = axis == 0 ? -1 : axis == 1 ? -WIDTH : RING(z - 1) - RING(z);
        const float2 fill_low = t->fills[p + RING(z) + low];
        const float m_before = fill_low.x + fill.x, m_after = fill_low.y + fill.y;
        local const float *flow = t->flow + FLOW_CELLS * axis + p;
        const float u = flow[RING_FLOW(z)];
        float along = 0.0f, first = 0.0f, second = 0.0f;
        _Pragma("unroll 1") for (int side = 0; side < 3; side++)
        {
            const int step = side == 0 ? 1 : side == 1 ? WIDTH : 0, up = side == 2 ? 1 : 0;  // to the next face on this axis
            local const float *in = t->rings + MOVED_X + RING_CELLS * side + p + RING(z);
            local const float *out = t->rings + MOVED_X + RING_CELLS * side + p + step + RING(z + up);
            const float in_low = in[low], in_high = in[0], out_low = side == axis ? in_high : out[low], out_high = out[0];
            const float u_low = flow[RING_FLOW(z - up) - step], u_high = flow[RING_FLOW(z + up) + step];
            float enters, leaves;
            const uint sides = fast >> (6 * side + axis);
            if ((sides & 9u) != 0u) {
                const float u_low_low = flow[RING_FLOW(z - 2 * up) - 2 * step];
                const float u_high_high = flow[RING_FLOW(z + 2 * up) + 2 * step];
                enters = rule_carried_smoothly(in_low, in_high, u_low_low, u_low, u, u_high, BIT(sides, 0), QUARTER);
                leaves = rule_carried_smoothly(out_low, out_high, u_low, u, u_high, u_high_high, BIT(sides, 3), QUARTER);
            } else {
                enters = rule_carried(in_low, in_high, u_low, u);
                leaves = rule_carried(out_low, out_high, u, u_high);
            }
            if (side == axis) {
                along = enters - leaves;
                continue;
            }
            if (BIT(corners, 0)) enters = carried_round(in_low, in_high, u, m_before, false);
            if (BIT(corners, 1)) leaves = carried_round(out_low, out_high, u, m_before, true);
            corners >>= 2;
            first = second;
            second = enters - leaves;
        }
        const float carried = rule_carried_sum(along, 0.0f, first, 0.0f, second, 0.0f);
        const float gravity = axis == 0 ? n.gravity_x : axis == 1 ? n.gravity_y : n.gravity_z;
        global float *next = axis == 0 ? next_x : axis == 1 ? next_y : next_z;
        next[to] = rule_carry(m_before, m_after, u, carried, (float)(int)BIT(faces, axis), empty, gravity);
    }
}

// The march of a group, of water or of a gas.
inline void march(const bool gas, local move_tile *t, global const device_run *restrict runs, global const int *restrict near,
                  global const uint *restrict open, global const uchar *restrict clear, global const int *restrict mass,
                  global const float *restrict flow_x, global const float *restrict flow_y, global const float *restrict flow_z,
                  global int *restrict mass_next, global float *restrict next_x, global float *restrict next_y,
                  global float *restrict next_z, global float *restrict moved_x, global float *restrict moved_y,
                  global float *restrict moved_z, global int *restrict tables, device_numbers n, device_limits limits,
                  device_fast fast)
{
    global uchar *brick_flags = TABLE(tables, uchar, DEVICE_BRICK_FLAGS);
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
        note_water(t, z, NONE_YET, c.drops, c.far_drops);
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
        // Looked at only where the march rises, by the columns that have them; and set to zero by others where they are made, since for a
        // compiler they would live on from step to step.
        float3 flux, flux_above, moved, moved_below;
        float2 share_below, share;
        put_fill(fill + RING_FILL(z + 2), c.drops);
        if (has_far) put_fill(t->fill + far + RING_FILL(z + 2), c.far_drops);
        put_flow(flow, flow_at_y, c.u);
        put_flow(flow + PLANE_CELLS, flow_at_y + PLANE_CELLS, c.u_above);
        if (rises) {
            local const float *m_x = fill + RING_FILL(z), *m_y = m_x + (fill_y - fill_x);
            local float *here_y = here + (y - x);
            flux = fluxes(gas, m_x, m_y, c.u, (float4)(c.m_low, c.m_below, c.m, c.m_above), apart);
            flux_above =
                fluxes(gas, m_x + FILL_CELLS, m_y + FILL_CELLS, c.u_above, (float4)(c.m_below, c.m, c.m_above, m_high), apart);
            here[FLUX_X] = flux.x;
            here_y[FLUX_Y] = flux.y;
            here[FLUX_X + PLANE_CELLS] = flux_above.x;
            here_y[FLUX_Y + PLANE_CELLS] = flux_above.y;
            if (!gas && (is_fast(c.m, c.u) | is_fast(c.m_above, c.u_above))) t->fast_last = z + 1;
            if (fast.counts >= 0 && me < OWN_END && z >= 0 && z < end) {
                count_fast(gas, tables + fast.counts, m_x, c.m_below, c.m, c.u, fast.too_fast);
                count_fast(gas, tables + fast.counts, m_x + FILL_CELLS, c.m, c.m_above, c.u_above, fast.too_fast);
            }
        }
        SYNC;
        note_water(t, z + 2, wet_end, c.drops, c.far_drops);
        // Where R4b or R4a may have something to say. Before anything is loaded, since it takes many registers.
        const int d = z - 4 + own_plane, fast_last = t->fast_last;
        bool carried = false;
        if (wet && z >= 4 && (fast_last >= z - 5 || t->corner_last >= z - 4)) {
            const int brick = (z - 4) >> 3;
            const bool is_clear = clear_here >> brick & 1;
            const int2 cell = own_cell(self_again(t));
            const uint fast = fast_last >= z - 5 ? fast_sides(t, PLANE_AT(cell), d) : 0u;
            const uint corners = is_clear ? 0u : corner_sides(t, cell, d);
            carried = (fast | corners) != 0u;
            if (carried)
                carry_closely(t, cell, d, fast, corners, is_clear, n, limits.empty, next_x, next_y, next_z,
                              t->bricks[brick + 1][4] + own_from + 64 * ((z - 4) & 7));
        }
        if (z < end) {  // loaded now, so that it is there when it is needed
            const int to_x = c.next, to_y = column_cell(t, from_y, z + 2);
            c.next = column_cell(t, from_x, z + 4);
            c.drops = two_drops(mass, c.next);
            if (has_far) c.far_drops = two_drops(mass, column_cell(t, from_far, z + 4));
            c.u = (float3)(flow_x[to_x], flow_y[to_y], flow_z[to_x]);
            c.u_above = (float3)(flow_x[to_x + 64], flow_y[to_y + 64], flow_z[to_x + 64]);
        } else {
            c.u = c.u_above = (float3)(0.0f, 0.0f, 0.0f);
            c.drops = c.far_drops = (int2)(0, 0);
            c.next = 0;
        }
        if (!all_clear && brings_open(me)) {
            const int word = self_again(t) % OPEN_WORDS, plane = z + self_again(t) / OPEN_WORDS;
            t->open[plane & 7][word] = c.open;
            c.open = open_word(t, open, word, plane + 2);
        }
        // R4b asks about planes z - 1 and z where water is fast from z - 2 to z + 1. Behind that no old faces may stay in the ring.
        const bool fast_ahead = fast_last >= z - 2 && z <= end;
        if (fast_last >= z - 9 && z <= end && has_cell(me)) {
            const int2 at = place_again(t);
            put_deep_faces(t, at, z, c.m_below, fast_ahead ? c.m : 0.0f);
            put_deep_faces(t, at, z - 1, c.m_low, fast_ahead ? c.m_below : 0.0f);
        }
        float far_u = 0.0f;  // stored when it is there
        if (fast_ahead && me >= FAR_FLOW_BEGIN) {
            const far_flow f = find_far_flow(self_again(t), z);
            const int from = column_cell(t, nine_at(f.at), f.plane);
            far_u = f.axis == 0 ? flow_x[from] : f.axis == 1 ? flow_y[from] : flow_z[from];
        }
        const float4 above = flow_and_face(t, own, d + 1);
        if (z >= 4) {
            const int brick = (z - 4) >> 3, to = t->bricks[brick + 1][4] + own_from + 64 * ((z - 4) & 7);
            if (wet) {
                const float2 fill = t->fills[own + RING(d)];
                const int after = (int)fill.y;
                if (!carried) {
                    float3 next = carry(t, own, d, fill, c.below, above, clear_here >> brick & 1, n, limits.empty);
                    next_x[to] = next.x;
                    next_y[to] = next.y;
                    next_z[to] = next.z;
                }
                mass_next[to] = after;
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
            if (is_limited(gas, c.m_below, turns_below, limits) | is_limited(gas, c.m, turns, limits)) {
                share_below = shares(gas, c.m_below, turns_below, limits);
                share = shares(gas, c.m, turns, limits);
            }
            t->shares[x] = share;
            t->shares[x + PLANE_CELLS] = share_below;
        } else {
            share_below = share = (float2)(0.0f, 0.0f);
        }
        SYNC;
        if (rises && crosses) {
            moved = crossed_faces(flux, t->shares + x, share_below, share);
            moved_below = crossed_faces(c.flux, t->shares + x + PLANE_CELLS, c.share, share_below);
            if (!gas && (dust_falls(c.m, limits) | dust_falls(c.m_below, limits))) {
                moved += fallen(t, fill + RING_FILL(z), c.m_below, c.m, z, n, limits);
                moved_below += fallen(t, fill + RING_FILL(z - 1), c.m_low, c.m_below, z - 1, n, limits);
            }
            put_moved(here, moved);
            put_moved(there + PLANE_CELLS, moved_below);
            c.share = share;
        } else {
            moved = moved_below = (float3)(0.0f, 0.0f, 0.0f);
        }
        if (!all_clear && me >= OPEN_ROW_BEGIN) put_open_row(t, z);
        SYNC;
        if (!gas && !all_clear && me >= OPEN_ROW_BEGIN) note_corner(t, z);
        if (fast_ahead && me >= FAR_FLOW_BEGIN) {
            const far_flow f = find_far_flow(self_again(t), z);
            t->flow[FLOW_CELLS * f.axis + PLANE_AT(f.at) + RING_FLOW(f.plane)] = far_u;
        }
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
    for (int j = me; j < run->count; j += DEVICE_MOVE_GROUP) {
        // What changed in one substep has changed in the update.
        const int before = fast.counts < 0 ? brick_flags[run->brick[j]] & DEVICE_CHANGED : 0;
        brick_flags[run->brick[j]] = (uchar)(t->found[j] | before);
    }
}

#define MOVE_KERNEL(name, gas)                                                                                               \
    kernel __attribute__((reqd_work_group_size(DEVICE_MOVE_GROUP, 1, 1))) void name(                                         \
        global const device_run *restrict runs, global const int *restrict near, global const uint *restrict open,           \
        global const uchar *restrict clear, global const int *restrict mass, global const float *restrict flow_x,            \
        global const float *restrict flow_y, global const float *restrict flow_z, global int *restrict mass_next,            \
        global float *restrict next_x, global float *restrict next_y, global float *restrict next_z,                         \
        global float *restrict moved_x, global float *restrict moved_y, global float *restrict moved_z,                      \
        global int *restrict tables, device_numbers n, device_limits limits, device_fast fast)                               \
    {                                                                                                                        \
        local move_tile tile;                                                                                                \
        march(gas, &tile, runs, near, open, clear, mass, flow_x, flow_y, flow_z, mass_next, next_x, next_y, next_z, moved_x, \
              moved_y, moved_z, tables, n, limits, fast);                                                                    \
    }

MOVE_KERNEL(move, false)
MOVE_KERNEL(move_gas, true)
