// Kernels of the pressure on the bricks themselves (docs/how-it-works.md, R6 to R9b and films). They work on rows (brick_rows.cl).

// ---- Smoothing -------------------------------------------------------------------------------------------------------------

// 1 over the number of open faces of each cell of a row; 0 in a solid cell.
inline void inverse_faces(float inverse[8], global const uchar *open, rows_around at, bool all_open)
{
    EACH_X inverse[x] = 1.0f / 6.0f;
    if (all_open) return;
    bits_around o = look_at_bits(open, at);
    EACH_X inverse[x] = rule_inverse_faces((float)(int)BIT(o.self, x), faces_of_bits(o, x));
}

// R7: one sweep over a row, with the rows beside it from a tile.
inline void smooth_row(pressure_row *r, local const float4 *tile)
{
    const int at = P_AT(ROW & 7, ROW >> 3);
    float y0[8], y1[8], z0[8], z1[8], next[8];
    read_row(y0, tile, P_ROWS, at - 1);
    read_row(y1, tile, P_ROWS, at + 1);
    read_row(z0, tile, P_ROWS, at - 10);
    read_row(z1, tile, P_ROWS, at + 10);
    EACH_X
    {
        float x0 = x > 0 ? r->p[(x + 7) & 7] : r->x_low, x1 = x < 7 ? r->p[(x + 1) & 7] : r->x_high;
        float sum = rule_around(x0, x1, y0[x], y1[x], z0[x], z1[x]);
        next[x] = rule_smooth(r->p[x], sum, r->divergence[x], r->inverse[x], r->floor[x]);
    }
    EACH_X r->p[x] = next[x];
}

// Sweeps inside one brick with the rim as it is. The tile `from` holds the pressure; of `to` only its rim matters. All work-items of
// the group come here. Only they have the result of the last sweep.
inline void smooth_rows(pressure_row *r, local float4 *from, local float4 *to, int sweeps)
{
    for (int k = 1; k < sweeps; k++) {
        smooth_row(r, from);
        write_row(to, P_ROWS, P_AT(ROW & 7, ROW >> 3), r->p);
        SYNC;
        local float4 *swap = from;
        from = to;
        to = swap;
    }
    smooth_row(r, from);
}

// The result, and which of the row's cells are active. A brick where others were before is stamped.
inline void store_pressure(const pressure_row *r, global float *to, global uchar *active, uint before, global int *stamps,
                           int stamp, int row)
{
    uint bits = 0;
    EACH_X bits |= (r->p[x] > r->floor[x] ? 1u : 0u) << x;
    store_row(to, row, r->p);
    if (bits != before) {
        active[row] = (uchar)bits;
        stamps[row / ROWS] = stamp;
    }
}

// R7: smoothing alone. A dry brick has the divergence of nothing.
ROW_KERNEL void smooth(global const uchar *open, global const float *pressure, global const float *divergence_in,
                       global const float *floor_in, global float *pressure_next, global int *tables, device_cycle cycle,
                       int room, int sweeps, int awake)
{
    if (cycle_is_over(tables, cycle)) return;
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *dry = TABLE(tables, const uchar, DEVICE_DRY(room));
    global uchar *active = TABLE(tables, uchar, DEVICE_ACTIVE(room));
    global int *stamps = TABLE(tables, int, DEVICE_STAMPS(room));
    local float4 tiles[GROUP_BRICKS][2][2 * P_ROWS];
    const int number = ROW_NUMBER(awake);
    const device_place place = places[number];
    const bool resting = dry[number];
    const rows_around at = look_from(place, ROW);
    const rim_piece edge = rim_from(place, ROW);
    const int rim_at = rim_place(edge) + P_ROWS * edge.upper;
    const uint active_before = active[at.self];
    const int stamp = tables[DEVICE_CYCLE_NUMBER];
    pressure_row r;
    load_row(r.p, pressure, at.self);
    r.x_low = pressure[8 * at.x0 + 7];
    r.x_high = pressure[8 * at.x1];
    const float4 rim = ((global const float4 *)pressure)[2 * rim_row(edge, 0) + edge.upper];
    if (resting) {
        EACH_X r.divergence[x] = DIVERGENCE_DRY;
        EACH_X r.floor[x] = 0.0f;
    } else {
        load_row(r.divergence, divergence_in, at.self);
        load_row(r.floor, floor_in, at.self);
    }
    inverse_faces(r.inverse, open, at, place.clear);
    local float4 *tile = tiles[SLOT][0], *other = tiles[SLOT][1];
    write_row(tile, P_ROWS, P_AT(ROW & 7, ROW >> 3), r.p);
    tile[rim_at] = other[rim_at] = rim;
    SYNC;
    smooth_rows(&r, tile, other, sweeps);
    store_pressure(&r, pressure_next, active, active_before, stamps, stamp, at.self);
}

// ---- Divergence ------------------------------------------------------------------------------------------------------------

// A tile of rows of fill with two rows of rim on each side, and the fluxes through the faces across y and z.
#define M_ROWS 144
#define MASS_AT(y, z) ((y) + 2 + 12 * ((z) + 2))
#define Y_ROWS 72
#define Y_FACE(y, z) ((y) + 9 * (z))
#define Z_FACE(y, z) ((y) + 8 * (z))

// R1, as the divergence counts it, on a row of faces whose rows of fill lie `stride` apart in the tile.
inline void flux_row(float F[8], const float flow[8], local const float4 *m, int at, int stride, const float here[8])
{
    float low_low[8], low[8], high[8];
    read_row(low_low, m, M_ROWS, at - 2 * stride);
    read_row(low, m, M_ROWS, at - stride);
    read_row(high, m, M_ROWS, at + stride);
    EACH_X F[x] = rule_divergence_flux(flow[x], low_low[x], low[x], here[x], high[x]);
}

// The brick's last faces across y and z, behind its cells: each work-item has two of them.
inline void last_fluxes(local float4 *F_y, local float4 *F_z, local const float4 *m, device_place place,
                        global const float *flow_y, global const float *flow_z)
{
    const int along = ROW >> 2 & 7, pair = ROW & 3;
    const bool across_y = ROW < 32;
    const int at = across_y ? MASS_AT(8, along) : MASS_AT(along, 8), stride = across_y ? 1 : 12;
    const int row = ROWS * (across_y ? place.y1 : place.z1) + (across_y ? 8 * along : along);
    local const float2 *M = (local const float2 *)m;
    float2 low_low = *PAIR_OF(M, M_ROWS, at - 2 * stride, pair), low = *PAIR_OF(M, M_ROWS, at - stride, pair);
    float2 here = *PAIR_OF(M, M_ROWS, at, pair), high = *PAIR_OF(M, M_ROWS, at + stride, pair);
    float2 flow = ((global const float2 *)(across_y ? flow_y : flow_z))[4 * row + pair];
    local float2 *F = (local float2 *)(across_y ? F_y : F_z);
    *PAIR_OF(F, Y_ROWS, across_y ? Y_FACE(8, along) : Z_FACE(along, 8), pair) =
        (float2)(rule_divergence_flux(flow.x, low_low.x, low.x, here.x, high.x),
                 rule_divergence_flux(flow.y, low_low.y, low.y, here.y, high.y));
}

// R6: the floor of a row, from the pressure of the cells below it before any smoothing; with `air` above 0 also from that of the air in and
// beside its cells. Gives bits of the cells over terrain.
inline uint floor_row(pressure_row *r, const float m[8], local const float4 *p, global const uchar *open,
                      global const float *air_in, rows_around at, bool all_open, device_numbers n, float air,
                      float excess_rate, float excess_cap)
{
    const int here = P_AT(ROW & 7, ROW >> 3);
    const bool up = n.down_sign >= 0;  // towards higher coordinates
    float below[8];
    if (n.down_axis == 0) {
        EACH_X
        {
            float low = x > 0 ? r->p[(x + 7) & 7] : r->x_low, high = x < 7 ? r->p[(x + 1) & 7] : r->x_high;
            below[x] = up ? high : low;
        }
    } else {
        int stride = n.down_axis == 1 ? 1 : 10;
        read_row(below, p, P_ROWS, here + (up ? stride : -stride));
    }
    uint open_here = 255u, open_below = 255u;
    if (!all_open) {
        bits_around o = look_at_bits(open, at);
        open_here = o.self;
        open_below = n.down_axis == 0 ? (up ? o.x1 : o.x0) : n.down_axis == 1 ? (up ? o.y1 : o.y0) : (up ? o.z1 : o.z0);
    }
    if (air > 0.0f) {
        float beside[8];
        load_row(beside, air_in, at.self);
        EACH_X r->divergence[x] = rule_air_divergence(r->divergence[x], m[x], beside[x], excess_rate, excess_cap);
        EACH_X r->floor[x] = rule_air_floor(beside[x], m[x], below[x], 1.0f - (float)(int)BIT(open_below, x),
                                            (float)(int)BIT(open_here, x), n.head, n.inverse_head, -air);
    } else {
        EACH_X r->floor[x] = rule_head(m[x], below[x], 1.0f - (float)(int)BIT(open_below, x), (float)(int)BIT(open_here, x),
                                       n.head, n.inverse_head);
    }
    return ~open_below & 255u;
}

// Which cells of a row hold less than `least`.
inline uint thin_bits(const float m[8], float least)
{
    uint bits = 0;
    EACH_X bits |= (m[x] < least ? 1u : 0u) << x;
    return bits;
}

// What R9, R9b, friction and films ask about a row: which cells are empty, and which are thin (device_finish); which have a floor, and of rows
// in which any is thin also which count as above a surface.
inline void store_thin(global ushort *thin, global ushort *surface, int row, const float m[8], uint floors, float empty,
                       float thick)
{
    uint is_empty = 0, above = 0;
    const uint is_thin = thin_bits(m, thick);
    EACH_X is_empty |= (rule_is_empty(m[x], empty) ? 1u : 0u) << x;
    thin[row] = (ushort)(is_empty | is_thin << 8);
    if (is_thin != 0u) EACH_X above |= (rule_is_above(m[x]) ? 1u : 0u) << x;
    surface[row] = (ushort)(above | floors << 8);
}

// Neighbours that share no face with a brick, by their bits.
#define EDGE_BRICKS (0x7ffffffu & ~(1u << 13 | 1u << 12 | 1u << 14 | 1u << 10 | 1u << 16 | 1u << 4 | 1u << 22))

// R6, and the first smoothing of R7. A brick is dry when no cell in it or two beside it holds water; of the bricks at its edges and
// corners it is enough to know that they are not empty. Near a brick that an open side took water from it is not: that water's
// flow is still there. With `air` above 0 none is dry, and the pressure of air in and beside cells lies where the floor goes. The statistics of the last update's cycles are cleared for the new ones. A brick of the rim, one behind those that are
// awake, keeps its pressure and has no active cells: only what the gradient asks about is made of it.
ROW_KERNEL void divergence(global const int *near, global const uchar *open, global const int *mass, global const float *flow_x,
                           global const float *flow_y, global const float *flow_z, global const float *pressure,
                           global float *divergence_out, global float *floor_out, global float *pressure_next,
                           global int *tables, device_numbers n, float excess_rate, float excess_cap, float thick,
                           device_fast fast, float air, int sweeps, int room, int awake, int worked)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *brick_flags = TABLE(tables, const uchar, DEVICE_BRICK_FLAGS);
    global uchar *dry = TABLE(tables, uchar, DEVICE_DRY(room)), *active = TABLE(tables, uchar, DEVICE_ACTIVE(room));
    global ushort *thin = TABLE(tables, ushort, DEVICE_THIN(room)), *surface = TABLE(tables, ushort, DEVICE_SURFACE(room));
    global int *stamps = TABLE(tables, int, DEVICE_STAMPS(room));
    for (int i = (int)get_global_id(0) + 1; i < DEVICE_HEADER_INTS; i += (int)get_global_size(0))
        tables[i] = 0;  // all but the number
    if (get_global_id(0) < SUBSTEP_RUNGS) tables[fast.clears + (int)get_global_id(0)] = 0;
    // First fill and fluxes, then the two tiles of pressure in their place.
    local float4 tiles[GROUP_BRICKS][2 * M_ROWS + 4 * Y_ROWS];
    local volatile int wet[GROUP_BRICKS];
    local float4 *m_tile = tiles[SLOT], *F_y = m_tile + 2 * M_ROWS, *F_z = F_y + 2 * Y_ROWS;
    EACH(i, GROUP_BRICKS) wet[i] = 0;
    const int number = ROW_NUMBER(worked), y = ROW & 7, z = ROW >> 3;
    const bool is_awake = number < awake;
    const device_place place = places[number];
    const rows_around at = look_from(place, ROW);
    const rim_piece edge = rim_from(place, ROW);
    const bool all_open = place.clear;
    const uint active_before = active[at.self];
    const int stamp = tables[DEVICE_CYCLE_NUMBER];

    float m[8];
    load_fill(m, mass, at.self);
    global const int2 *mass_2 = (global const int2 *)mass;
    const float2 m_low = convert_float2(mass_2[4 * at.x0 + 3]) * RULE_DROP,
                 m_high = convert_float2(mass_2[4 * at.x1]) * RULE_DROP;
    write_row(m_tile, M_ROWS, MASS_AT(y, z), m);
    float some = m_low.x + m_low.y + m_high.x + m_high.y;
    EACH_X some += m[x];
    for (int depth = 0; depth < 2; depth++) {
        float4 piece = fill_of_4(((global const int4 *)mass)[2 * rim_row(edge, depth) + edge.upper]);
        int across = edge.side & 1 ? 8 + depth : -1 - depth;
        m_tile[(edge.side < 2 ? MASS_AT(across, edge.along) : MASS_AT(edge.along, across)) + M_ROWS * edge.upper] = piece;
        some += piece.x + piece.y + piece.z + piece.w;
    }
    const int neighbour = ROW < 27 ? near[27 * place.brick + ROW] : 0;
    const uint telling = BIT(EDGE_BRICKS, ROW) ? DEVICE_WET | DEVICE_DRAINED : DEVICE_DRAINED;
    const bool neighbour_wet = neighbour > 0 && (brick_flags[neighbour] & telling) != 0;
    SYNC;
    if (some != 0.0f || neighbour_wet) RAISE(wet[SLOT], 1);

    float X[9], Y[8], Z[8], flow[8];
    load_row(flow, flow_x, at.self);
    {
        float f[9], v[12];
        EACH_X f[x] = flow[x];
        f[8] = flow_x[8 * at.x1];
        v[0] = m_low.x;
        v[1] = m_low.y;
        EACH_X v[x + 2] = m[x];
        v[10] = m_high.x;
        v[11] = m_high.y;
        _Pragma("unroll") for (int x = 0; x < 9; x++) X[x] = rule_divergence_flux(f[x], v[x], v[x + 1], v[x + 2], v[x + 3]);
    }
    load_row(flow, flow_y, at.self);
    flux_row(Y, flow, m_tile, MASS_AT(y, z), 1, m);
    write_row(F_y, Y_ROWS, Y_FACE(y, z), Y);
    load_row(flow, flow_z, at.self);
    flux_row(Z, flow, m_tile, MASS_AT(y, z), 12, m);
    write_row(F_z, Y_ROWS, Z_FACE(y, z), Z);
    last_fluxes(F_y, F_z, m_tile, place, flow_y, flow_z);
    pressure_row r;
    load_row(r.p, pressure, at.self);
    r.x_low = pressure[8 * at.x0 + 7];
    r.x_high = pressure[8 * at.x1];
    const float4 rim = ((global const float4 *)pressure)[2 * rim_row(edge, 0) + edge.upper];
    inverse_faces(r.inverse, open, at, all_open);
    SYNC;

    float Y_high[8], Z_high[8];
    read_row(Y_high, F_y, Y_ROWS, Y_FACE(y + 1, z));
    read_row(Z_high, F_z, Y_ROWS, Z_FACE(y, z + 1));
    EACH_X
    {
        float net = rule_inflow(X[x], X[x + 1], Y[x], Y_high[x], Z[x], Z_high[x]);
        r.divergence[x] = rule_divergence(m[x], net, excess_rate, excess_cap);
    }
    local float4 *tile = m_tile, *other = F_y;
    const int rim_at = rim_place(edge) + P_ROWS * edge.upper;
    write_row(tile, P_ROWS, P_AT(y, z), r.p);
    tile[rim_at] = rim;
    if (ROW == 0) dry[number] = is_awake && !wet[SLOT] && air == 0.0f;
    SYNC;
    other[rim_at] = rim;
    const uint floors = floor_row(&r, m, tile, open, floor_out, at, all_open, n, air, excess_rate, excess_cap);
    store_thin(thin, surface, at.self, m, floors, n.empty, thick);
    store_row(divergence_out, at.self, r.divergence);
    store_row(floor_out, at.self, r.floor);
    smooth_rows(&r, tile, other, sweeps);
    if (is_awake)
        store_pressure(&r, pressure_next, active, active_before, stamps, stamp, at.self);
    else
        active[at.self] = 0;
}

// ---- Gradient --------------------------------------------------------------------------------------------------------------

// R9 and R9b look one face each way: the faces across y go from y = -1 to 8 and those across z likewise.
#define G_ROWS 80
#define GY_AT(y, z) ((y) + 1 + 10 * (z))
#define GZ_AT(y, z) ((y) + 8 * ((z) + 1))
// Pressure of the brick's own rows and of those before its first.
#define LOW_ROWS 81
#define LOW_AT(y, z) ((y) + 1 + 9 * ((z) + 1))

inline float pushed(float f, uint open, float p_low, float p_high, device_finish finish, float max_flow)
{
    return rule_damped_gradient(f, (float)(int)open, p_low, p_high, finish.damping, finish.inverse_calm, max_flow);
}

// Cells of which the faces beside them are asked about: those that are empty, for R9, and across the axis of gravity all thin ones, for
// R9b. `thin` is of the row.
inline uint asked_bits(uint thin, int axis, device_numbers n)
{
    return axis == n.down_axis ? thin >> 8 : thin & 255u;
}

// R8 on the faces outside the brick's own, which are asked about only in some places: half a row for each work-item. The pressure before
// the brick goes to the tile.
inline void rim_gradient(local float4 *G_y, local float4 *G_z, local float4 *p_tile, rim_piece edge, int brick,
                         global const ushort *thin, global const float *pressure, global const float *from_y,
                         global const float *from_z, global const uchar *open, bool all_open, device_numbers n,
                         device_finish finish)
{
    const bool high = edge.side & 1, across_y = edge.side < 2;
    const int row = rim_row(edge, 0), step = across_y ? 1 : 8, first = ROWS * brick + (across_y ? 8 : 1) * edge.along;
    const int inside = first + (high ? 6 * step : 0);  // the row whose cells are asked
    global const float4 *p = (global const float4 *)pressure, *f = (global const float4 *)(across_y ? from_y : from_z);
    const uint asked = asked_bits(thin[inside], across_y ? 1 : 2, n) >> 4 * edge.upper & 15u;
    float4 p_here = (float4)(0.0f);
    if (!high) {
        p_here = p[2 * row + edge.upper];
        p_tile[(across_y ? LOW_AT(-1, edge.along) : LOW_AT(edge.along, -1)) + LOW_ROWS * edge.upper] = p_here;
    }
    if (asked == 0u) return;
    // The row before: the brick's own last one, or one further out.
    const int before = high ? first + 7 * step : rim_row(edge, 1);
    if (high) p_here = p[2 * row + edge.upper];
    const float4 p_before = p[2 * before + edge.upper], u = f[2 * row + edge.upper];
    const uint w = all_open ? 15u : (uint)(open[row] & open[before]) >> 4 * edge.upper;
    const int across = high ? 8 : -1;
    local float4 *to = across_y ? G_y + GY_AT(across, edge.along) : G_z + GZ_AT(edge.along, across);
    to[G_ROWS * edge.upper] = (float4)(pushed(u.x, BIT(w, 0), p_before.x, p_here.x, finish, n.max_flow),
                                       pushed(u.y, BIT(w, 1), p_before.y, p_here.y, finish, n.max_flow),
                                       pushed(u.z, BIT(w, 2), p_before.z, p_here.z, finish, n.max_flow),
                                       pushed(u.w, BIT(w, 3), p_before.w, p_here.w, finish, n.max_flow));
}

// R9 on a row; a bit stands for an empty cell.
inline void donor_row(float out[8], const float f[8], const float before[8], const float after[8], uint empty_low,
                      uint empty_high)
{
    EACH_X out[x] = rule_empty_donor(f[x], before[x], after[x], BIT(empty_low, x), BIT(empty_high, x));
}

// What a mask's row says of the cells before its own on x; `before` is the row there. In rows of two bytes, each of them.
inline uint bits_before(uint row, uint before)
{
    return (row << 1 & 0xfefeu) | (before >> 7 & 0x0101u);
}

// R9b: at which faces of a row across the axis of gravity it is a surface that may rise. `thin_low` is of the cells before the faces.
inline uint surface_bits(global const ushort *thin, global const ushort *surface, global const uchar *open, rows_around at,
                         device_place place, uint thin_low, uint thin_here, device_numbers n)
{
    const bool down = n.down_sign < 0;  // towards lower coordinates: the upper cell is the one behind the face
    const uint candidates = (down ? thin_here : thin_low) >> 8 & ~(down ? thin_low : thin_here);
    if (n.down_sign == 0 || candidates == 0u) return 0u;
    const int y = ROW & 7, z = ROW >> 3;
    const int upper = down ? at.self : n.down_axis == 1 ? at.y0 : at.z0;
    uint above = surface[upper], below = 0u, is_open = 255u;
    if (!place.clear) is_open = open[upper];
    if (n.down_axis == 1) {
        below = thin[down ? (y > 1 ? at.self - 2 : ROWS * place.y0 + ROW + 6) : at.y1];
    } else if (n.down_axis == 2) {
        below = thin[down ? (z > 1 ? at.self - 16 : ROWS * place.z0 + ROW + 48) : at.z1];
    } else if (down) {
        below = bits_before(thin_low, (uint)thin[at.x0] << 1);
    } else {
        below = (thin_here & 255u) >> 1 | (thin[at.x1] & 1u) << 7;
        above = bits_before(surface[at.self], surface[at.x0]);
        if (!place.clear) is_open = bits_before(open[at.self], open[at.x0]);
    }
    return candidates & above & is_open & ~below & 255u;
}

// R9b on a row of faces, of which those with a bit are at a surface; with the flow behind the lower cells, their pressure and that of the
// upper ones.
inline void rising_row(float f[8], uint bits, const float below[8], const float lower[8], const float upper[8], device_numbers n,
                       device_finish finish)
{
    const float up = n.down_sign < 0 ? 1.0f : -1.0f;
    EACH_X f[x] =
        rule_rise(f[x], below[x], up, BIT(bits, x), lower[x], finish.air > 0.0f ? upper[x] : 0.0f, finish.gap);
}

// Friction on a row of faces, on an axis that is not that of gravity: `floors` are those of the cells before the faces, and of their own.
inline void friction_row(float f[8], uint floors_low, uint floors_here, device_finish finish)
{
    const uint floors = floors_low & floors_here;
    if (floors != 0u) EACH_X f[x] = rule_friction(f[x], BIT(floors, x) ? finish.friction : 0.0f);
}

// Faces of a row that films may be about: flow between two thin cells.
inline uint film_bits(const float f[8], uint thin_low, uint thin_here)
{
    const uint both = thin_low & thin_here & 0xff00u;
    uint moves = 0;
    if (both == 0u) return 0u;
    EACH_X moves |= (f[x] != 0.0f ? 1u : 0u) << x;
    return both >> 8 & moves;
}

// Films, on the axes that are not that of gravity, where `faces` has bits, 8 for each axis. Last of all, on flow that is stored already: few
// rows have films, and the others need no registers for them.
inline void film_rows(global const ushort *thin, global const ushort *surface, global const int *mass, global float *to_x,
                      global float *to_y, global float *to_z, rows_around at, uint faces, device_numbers n,
                      device_finish finish)
{
    global const int4 *mass_4 = (global const int4 *)mass;
    _Pragma("unroll 1") for (int axis = 0; axis < 3; axis++)
    {
        const uint moves = faces >> 8 * axis & 255u;
        if (axis == n.down_axis || moves == 0u) continue;
        const int low = axis == 0 ? at.x0 : axis == 1 ? at.y0 : at.z0;
        uint thin_low = thin[low], surface_low = surface[low];
        const uint thin_here = thin[at.self], surface_here = surface[at.self];
        if (axis == 0) {
            thin_low = bits_before(thin_here, thin_low);
            surface_low = bits_before(surface_here, surface_low);
        }
        const uint floors = surface_low & surface_here & 0xff00u;
        const uint asked = moves & (thin_low | thin_here | floors >> 8);  // beside an empty cell, or on the floor
        global float4 *to = (global float4 *)(axis == 0 ? to_x : axis == 1 ? to_y : to_z) + 2 * at.self;
        _Pragma("unroll 1") for (int upper = 0; upper < 2; upper++)
        {
            if ((asked >> 4 * upper & 15u) == 0u) continue;
            const uint floor_low = surface_low >> (8 + 4 * upper), floor_here = surface_here >> (8 + 4 * upper);
            const float4 f = to[upper], m = fill_of_4(mass_4[2 * at.self + upper]);
            float4 m_low;
            if (axis == 0)
                m_low = (float4)((float)mass[upper ? 8 * at.self + 3 : 8 * low + 7] * RULE_DROP, m.x, m.y, m.z);
            else
                m_low = fill_of_4(mass_4[2 * low + upper]);
            to[upper] = (float4)(
                rule_film(f.x, m_low.x, m.x, BIT(floor_low, 0), BIT(floor_here, 0), finish.film, finish.film_drag, n.empty),
                rule_film(f.y, m_low.y, m.y, BIT(floor_low, 1), BIT(floor_here, 1), finish.film, finish.film_drag, n.empty),
                rule_film(f.z, m_low.z, m.z, BIT(floor_low, 2), BIT(floor_here, 2), finish.film, finish.film_drag, n.empty),
                rule_film(f.w, m_low.w, m.w, BIT(floor_low, 3), BIT(floor_here, 3), finish.film, finish.film_drag, n.empty));
        }
    }
}

#define GRADIENT_BRICKS (DEVICE_GRADIENT_GROUP / ROWS)

// R8, R9, R9b and films. A dry brick has no flow of its own. Two bricks share a group: mostly they lie beside each other on x, and
// each finds the other's rows near.
kernel __attribute__((reqd_work_group_size(DEVICE_GRADIENT_GROUP, 1, 1))) void
gradient(global const uchar *open, global const int *mass, global const float *pressure, global const float *from_x,
         global const float *from_y, global const float *from_z, global float *to_x, global float *to_y, global float *to_z,
         global const int *tables, device_numbers n, device_finish finish, int room, int worked)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *dry = TABLE(tables, const uchar, DEVICE_DRY(room));
    global const ushort *thin = TABLE(tables, const ushort, DEVICE_THIN(room)),
                        *surface = TABLE(tables, const ushort, DEVICE_SURFACE(room));
    local float4 p_tiles[GRADIENT_BRICKS][2 * LOW_ROWS], G_tiles[GRADIENT_BRICKS][4 * G_ROWS];
    local float4 *p_tile = p_tiles[SLOT], *G_y = G_tiles[SLOT], *G_z = G_y + 2 * G_ROWS;
    const int wanted = (int)get_group_id(0) * GRADIENT_BRICKS + SLOT, number = min(wanted, worked - 1), y = ROW & 7, z = ROW >> 3;
    const device_place place = places[number];
    const bool all_open = place.clear, resting = dry[number], down = n.down_sign < 0;
    const rows_around at = look_from(place, ROW);
    const uint thin_here = thin[at.self], thin_x = bits_before(thin_here, thin[at.x0]);
    const uint thin_y = thin[at.y0], thin_z = thin[at.z0];
    float p[8], f_x[8], f_y[8], f_z[8];
    load_row(p, pressure, at.self);
    EACH_X f_x[x] = f_y[x] = f_z[x] = 0.0f;
    if (!resting) {
        load_row(f_x, from_x, at.self);
        load_row(f_y, from_y, at.self);
        load_row(f_z, from_z, at.self);
    }
    const float p_low = pressure[8 * at.x0 + 7];
    write_row(p_tile, LOW_ROWS, LOW_AT(y, z), p);
    rim_gradient(G_y, G_z, p_tile, rim_from(place, ROW), place.brick, thin, pressure, from_y, from_z, open, all_open, n,
                 finish);
    uint open_here = 255u, w_x = 255u, w_y = 255u, w_z = 255u;  // open faces
    uint w_before = 1u, w_after = 1u;
    uint floors_here = 0u, floors_x = 0u, floors_y = 0u, floors_z = 0u;
    if (!all_open) {
        if (finish.friction > 0.0f) {
            floors_here = surface[at.self];
            floors_x = bits_before(floors_here, surface[at.x0]) >> 8;
            floors_y = (uint)surface[at.y0] >> 8;
            floors_z = (uint)surface[at.z0] >> 8;
            floors_here >>= 8;
        }
        open_here = open[at.self];
        uint before = open[at.x0], after = open[at.x1];
        w_x = open_here & (open_here << 1 | before >> 7);
        w_before = before >> 7 & before >> 6;
        w_after = open_here >> 7 & after;
        w_y = open_here & open[at.y0];
        w_z = open_here & open[at.z0];
    }
    SYNC;

    float G[8], low[8], result[8];
    uint films = 0u;
    read_row(low, p_tile, LOW_ROWS, LOW_AT(y - 1, z));
    EACH_X f_y[x] = pushed(f_y[x], BIT(w_y, x), low[x], p[x], finish, n.max_flow);
    write_row(G_y, G_ROWS, GY_AT(y, z), f_y);
    read_row(low, p_tile, LOW_ROWS, LOW_AT(y, z - 1));
    EACH_X f_z[x] = pushed(f_z[x], BIT(w_z, x), low[x], p[x], finish, n.max_flow);
    write_row(G_z, G_ROWS, GZ_AT(y, z), f_z);
    EACH_X low[x] = x > 0 ? p[(x + 7) & 7] : p_low;
    EACH_X G[x] = pushed(f_x[x], BIT(w_x, x), low[x], p[x], finish, n.max_flow);
    {
        // The faces beyond the row's ends are asked about only next to some of the cells inside.
        const uint asked = asked_bits(thin_here, 0, n);
        float G_before = 0.0f, G_after = 0.0f, before[8], after[8];
        if (BIT(asked, 0))
            G_before = pushed(from_x[8 * at.x0 + 7], w_before & 1u, pressure[8 * at.x0 + 6], p_low, finish, n.max_flow);
        if (BIT(asked, 6))
            G_after = pushed(from_x[8 * at.x1], w_after & 1u, p[7], pressure[8 * at.x1], finish, n.max_flow);
        EACH_X before[x] = x > 0 ? G[(x + 7) & 7] : G_before;
        EACH_X after[x] = x < 7 ? G[(x + 1) & 7] : G_after;
        donor_row(result, G, before, after, thin_x, thin_here);
        if (n.down_axis == 0) {
            const uint bits = surface_bits(thin, surface, open, at, place, thin_x, thin_here, n);
            if (bits != 0u) rising_row(result, bits, down ? before : after, down ? low : p, down ? p : low, n, finish);
        } else {
            friction_row(result, floors_x, floors_here, finish);
        }
        if (wanted < worked) store_row(to_x, at.self, result);
        films |= film_bits(result, thin_x, thin_here);
    }
    SYNC;

    if (wanted >= worked) return;  // films must not be slowed twice
    float before[8], after[8];
    read_row(before, G_y, G_ROWS, GY_AT(y - 1, z));
    read_row(after, G_y, G_ROWS, GY_AT(y + 1, z));
    donor_row(result, f_y, before, after, thin_y, thin_here);
    if (n.down_axis == 1) {
        const uint bits = surface_bits(thin, surface, open, at, place, thin_y, thin_here, n);
        if (bits != 0u) {
            read_row(low, p_tile, LOW_ROWS, LOW_AT(y - 1, z));
            rising_row(result, bits, down ? before : after, down ? low : p, down ? p : low, n, finish);
        }
    } else {
        friction_row(result, floors_y, floors_here, finish);
    }
    store_row(to_y, at.self, result);
    films |= film_bits(result, thin_y, thin_here) << 8;
    read_row(before, G_z, G_ROWS, GZ_AT(y, z - 1));
    read_row(after, G_z, G_ROWS, GZ_AT(y, z + 1));
    donor_row(result, f_z, before, after, thin_z, thin_here);
    if (n.down_axis == 2) {
        const uint bits = surface_bits(thin, surface, open, at, place, thin_z, thin_here, n);
        if (bits != 0u) {
            read_row(low, p_tile, LOW_ROWS, LOW_AT(y, z - 1));
            rising_row(result, bits, down ? before : after, down ? low : p, down ? p : low, n, finish);
        }
    } else {
        friction_row(result, floors_z, floors_here, finish);
    }
    store_row(to_z, at.self, result);
    films |= film_bits(result, thin_z, thin_here) << 16;
    if (films != 0u && n.down_sign != 0) film_rows(thin, surface, mass, to_x, to_y, to_z, at, films, n, finish);
}

// ---- Substeps --------------------------------------------------------------------------------------------------------------

inline void rescale_row(global float *channel, int row, float scale, float limit)
{
    float v[8];
    load_row(v, channel, row);
    EACH_X v[x] = rule_scaled(v[x], scale, limit);
    store_row(channel, row, v);
}

// Brings flow and pressure into the measure of a substep, or back. The pressure of the rim stays the same in both channels.
ROW_KERNEL void rescale(global float *flow_x, global float *flow_y, global float *flow_z, global float *pressure,
                        global float *pressure_next, global const int *tables, float scale, float limit, int room, int awake,
                        int worked)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    const int number = (int)get_group_id(0) * GROUP_BRICKS + SLOT;
    if (number >= worked) return;
    const int row = ROWS * places[number].brick + ROW;
    rescale_row(flow_x, row, scale, limit);
    rescale_row(flow_y, row, scale, limit);
    rescale_row(flow_z, row, scale, limit);
    rescale_row(pressure, row, scale * scale, PRESSURE_MAX);
    if (number >= awake) {
        float p[8];
        load_row(p, pressure, row);
        store_row(pressure_next, row, p);
    }
}
