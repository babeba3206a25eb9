// Kernels of the pressure on the live bricks themselves (docs/how-it-works.md, R6 to R9). They work on rows (brick_rows.cl).

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
                       int room, int sweeps, int live)
{
    if (cycle_is_over(tables, cycle)) return;
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *dry = TABLE(tables, const uchar, DEVICE_DRY(room));
    global uchar *active = TABLE(tables, uchar, DEVICE_ACTIVE(room));
    global int *stamps = TABLE(tables, int, DEVICE_STAMPS(room));
    local float4 tiles[GROUP_BRICKS][2][2 * P_ROWS];
    const int number = ROW_NUMBER(live);
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

// R1 on a row of faces whose rows of fill lie `stride` apart in the tile.
inline void flux_row(float F[8], const float flow[8], local const float4 *m, int at, int stride, const float here[8])
{
    float low_low[8], low[8], high[8];
    read_row(low_low, m, M_ROWS, at - 2 * stride);
    read_row(low, m, M_ROWS, at - stride);
    read_row(high, m, M_ROWS, at + stride);
    EACH_X F[x] = rule_flux(flow[x], low_low[x], low[x], here[x], high[x]);
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
        (float2)(rule_flux(flow.x, low_low.x, low.x, here.x, high.x), rule_flux(flow.y, low_low.y, low.y, here.y, high.y));
}

// R6: the floor of a row, from the pressure of the cells below it before any smoothing.
inline void floor_row(pressure_row *r, const float m[8], local const float4 *p, global const uchar *open, rows_around at,
                      bool all_open, device_numbers n)
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
    EACH_X r->floor[x] =
        rule_head(m[x], below[x], 1.0f - (float)(int)BIT(open_below, x), (float)(int)BIT(open_here, x), n.head, n.inverse_head);
}

// Which cells of a row are so empty that R9 asks about them.
inline uint empty_bits(const float m[8], float empty)
{
    uint bits = 0;
    EACH_X bits |= (rule_is_empty(m[x], empty) ? 1u : 0u) << x;
    return bits;
}

// Neighbours that share no face with a brick, by their bits.
#define EDGE_BRICKS (0x7ffffffu & ~(1u << 13 | 1u << 12 | 1u << 14 | 1u << 10 | 1u << 16 | 1u << 4 | 1u << 22))

// R6, and the first smoothing of R7. A brick is dry when no cell in it or two beside it holds water; of the bricks at its edges and
// corners it is enough to know that they are not empty. Near a brick that an open side took water from it is not: that water's
// flow is still there. The statistics of the last update's cycles are cleared for the new ones.
ROW_KERNEL void divergence(global const int *near, global const uchar *open, global const int *mass, global const float *flow_x,
                           global const float *flow_y, global const float *flow_z, global const float *pressure,
                           global float *divergence_out, global float *floor_out, global float *pressure_next,
                           global int *tables, device_numbers n, float excess_rate, float excess_cap, int sweeps, int room,
                           int live)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *brick_flags = TABLE(tables, const uchar, DEVICE_BRICK_FLAGS);
    global uchar *dry = TABLE(tables, uchar, DEVICE_DRY(room)), *active = TABLE(tables, uchar, DEVICE_ACTIVE(room));
    global uchar *empty = TABLE(tables, uchar, DEVICE_EMPTY(room));
    global int *stamps = TABLE(tables, int, DEVICE_STAMPS(room));
    for (int i = (int)get_global_id(0) + 1; i < DEVICE_HEADER_INTS; i += (int)get_global_size(0))
        tables[i] = 0;  // all but the number
    // First fill and fluxes, then the two tiles of pressure in their place.
    local float4 tiles[GROUP_BRICKS][2 * M_ROWS + 4 * Y_ROWS];
    local volatile int wet[GROUP_BRICKS];
    local float4 *m_tile = tiles[SLOT], *F_y = m_tile + 2 * M_ROWS, *F_z = F_y + 2 * Y_ROWS;
    EACH(i, GROUP_BRICKS) wet[i] = 0;
    const int number = ROW_NUMBER(live), y = ROW & 7, z = ROW >> 3;
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
        _Pragma("unroll") for (int x = 0; x < 9; x++) X[x] = rule_flux(f[x], v[x], v[x + 1], v[x + 2], v[x + 3]);
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
    if (ROW == 0) dry[number] = !wet[SLOT];
    empty[at.self] = (uchar)empty_bits(m, n.empty);
    SYNC;
    other[rim_at] = rim;
    floor_row(&r, m, tile, open, at, all_open, n);
    store_row(divergence_out, at.self, r.divergence);
    store_row(floor_out, at.self, r.floor);
    smooth_rows(&r, tile, other, sweeps);
    store_pressure(&r, pressure_next, active, active_before, stamps, stamp, at.self);
}

// ---- Gradient --------------------------------------------------------------------------------------------------------------

// R9 looks one face each way: the faces across y go from y = -1 to 8 and those across z likewise.
#define G_ROWS 80
#define GY_AT(y, z) ((y) + 1 + 10 * (z))
#define GZ_AT(y, z) ((y) + 8 * ((z) + 1))
// Pressure of the brick's own rows and of those before its first.
#define LOW_ROWS 81
#define LOW_AT(y, z) ((y) + 1 + 9 * ((z) + 1))

// R8 on the faces outside the brick's own, which R9 asks about only where the cell inside is empty: half a row for each work-item. The
// pressure before the brick goes to the tile.
inline void rim_gradient(local float4 *G_y, local float4 *G_z, local float4 *p_tile, rim_piece edge, int brick,
                         global const uchar *empty, global const float *pressure, global const float *from_y,
                         global const float *from_z, global const uchar *open, bool all_open, device_numbers n)
{
    const bool high = edge.side & 1, across_y = edge.side < 2;
    const int row = rim_row(edge, 0), step = across_y ? 1 : 8, first = ROWS * brick + (across_y ? 8 : 1) * edge.along;
    const int inside = first + (high ? 6 * step : 0);  // the row whose cells are asked
    global const float4 *p = (global const float4 *)pressure, *f = (global const float4 *)(across_y ? from_y : from_z);
    const uint asked = empty[inside] >> 4 * edge.upper & 15u;
    float4 p_here = (float4)(0.0f);
    if (!high) {
        p_here = p[2 * row + edge.upper];
        p_tile[(across_y ? LOW_AT(-1, edge.along) : LOW_AT(edge.along, -1)) + LOW_ROWS * edge.upper] = p_here;
    }
    if (asked == 0u) return;
    // The row before: the brick's own last one, or one further out.
    const int before = high ? first + 7 * step : rim_row(edge, 1);
    if (high) p_here = p[2 * row + edge.upper];
    const float4 p_before = p[2 * before + edge.upper];
    uint w = all_open ? 15u : (uint)(open[row] & open[before]) >> 4 * edge.upper;
    int across = high ? 8 : -1;
    local float4 *to = across_y ? G_y + GY_AT(across, edge.along) : G_z + GZ_AT(edge.along, across);
    to[G_ROWS * edge.upper] = gradient_4(f[2 * row + edge.upper], w, p_before, p_here, n);
}

// R9 on a row; a bit stands for an empty cell.
inline void donor_row(float out[8], const float f[8], const float before[8], const float after[8], uint empty_low,
                      uint empty_high)
{
    EACH_X out[x] = rule_empty_donor(f[x], before[x], after[x], BIT(empty_low, x), BIT(empty_high, x));
}

#define GRADIENT_BRICKS (DEVICE_GRADIENT_GROUP / ROWS)

// R8 and R9. A dry brick has no flow of its own. Two bricks share a group: mostly they lie beside each other on x, and
// each finds the other's rows near.
kernel __attribute__((reqd_work_group_size(DEVICE_GRADIENT_GROUP, 1, 1))) void
gradient(global const uchar *open, global const float *pressure, global const float *from_x, global const float *from_y,
         global const float *from_z, global float *to_x, global float *to_y, global float *to_z, global const int *tables,
         device_numbers n, int room, int live)
{
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *dry = TABLE(tables, const uchar, DEVICE_DRY(room)),
                       *empty = TABLE(tables, const uchar, DEVICE_EMPTY(room));
    local float4 p_tiles[GRADIENT_BRICKS][2 * LOW_ROWS], G_tiles[GRADIENT_BRICKS][4 * G_ROWS];
    local float4 *p_tile = p_tiles[SLOT], *G_y = G_tiles[SLOT], *G_z = G_y + 2 * G_ROWS;
    const int number = min((int)get_group_id(0) * GRADIENT_BRICKS + SLOT, live - 1), y = ROW & 7, z = ROW >> 3;
    const device_place place = places[number];
    const bool all_open = place.clear, resting = dry[number];
    const rows_around at = look_from(place, ROW);
    const uint empty_here = empty[at.self], empty_before = (uint)empty[at.x0] >> 7;
    const uint empty_y = empty[at.y0], empty_z = empty[at.z0];
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
    rim_gradient(G_y, G_z, p_tile, rim_from(place, ROW), place.brick, empty, pressure, from_y, from_z, open, all_open, n);
    uint open_here = 255u, w_x = 255u, w_y = 255u, w_z = 255u;  // open faces
    uint w_before = 1u, w_after = 1u;
    if (!all_open) {
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
    read_row(low, p_tile, LOW_ROWS, LOW_AT(y - 1, z));
    EACH_X f_y[x] = rule_gradient(f_y[x], (float)(int)BIT(w_y, x), low[x], p[x], n.keep, n.max_flow);
    write_row(G_y, G_ROWS, GY_AT(y, z), f_y);
    read_row(low, p_tile, LOW_ROWS, LOW_AT(y, z - 1));
    EACH_X f_z[x] = rule_gradient(f_z[x], (float)(int)BIT(w_z, x), low[x], p[x], n.keep, n.max_flow);
    write_row(G_z, G_ROWS, GZ_AT(y, z), f_z);
    EACH_X G[x] = rule_gradient(f_x[x], (float)(int)BIT(w_x, x), x > 0 ? p[(x + 7) & 7] : p_low, p[x], n.keep, n.max_flow);
    {
        // The faces beyond the row's ends are asked about only where the cells inside are empty.
        float G_before = 0.0f, G_after = 0.0f, before[8], after[8];
        if (BIT(empty_here, 0))
            G_before = rule_gradient(from_x[8 * at.x0 + 7], (float)(int)(w_before & 1u), pressure[8 * at.x0 + 6], p_low, n.keep,
                                     n.max_flow);
        if (BIT(empty_here, 6))
            G_after =
                rule_gradient(from_x[8 * at.x1], (float)(int)(w_after & 1u), p[7], pressure[8 * at.x1], n.keep, n.max_flow);
        EACH_X before[x] = x > 0 ? G[(x + 7) & 7] : G_before;
        EACH_X after[x] = x < 7 ? G[(x + 1) & 7] : G_after;
        donor_row(result, G, before, after, empty_here << 1 | empty_before, empty_here);
        store_row(to_x, at.self, result);
    }
    SYNC;

    float before[8], after[8];
    read_row(before, G_y, G_ROWS, GY_AT(y - 1, z));
    read_row(after, G_y, G_ROWS, GY_AT(y + 1, z));
    donor_row(result, f_y, before, after, empty_y, empty_here);
    store_row(to_y, at.self, result);
    read_row(before, G_z, G_ROWS, GZ_AT(y, z - 1));
    read_row(after, G_z, G_ROWS, GZ_AT(y, z + 1));
    donor_row(result, f_z, before, after, empty_z, empty_here);
    store_row(to_z, at.self, result);
}
