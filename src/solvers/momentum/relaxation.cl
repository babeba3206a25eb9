// Local relaxation (R7, docs/how-it-works.md): after a cycle with a large residual, bricks in which the tolerance or more is left are
// smoothed again, in rounds.
//
// All bricks of a round see each other as they were before it. So a brick is read from the one of the two channels of pressure that
// was written last and written to the other one; in the end what is newer in the second channel is copied to the first. What a round
// changes is felt in those bricks and at their faces only: these are looked at in the next.
//
// Of a brick, `relaxed` has bit k where round k smoothed it and bit 8 + k where round k looked at it. `unconverged` lists the bricks in
// which the tolerance or more was left, first after the cycle and then round by round; the cycle's statistics say how many there were.

#define RELAXED_BEFORE(round) ((1u << (round)) - 1u)
#define LOOKED_AT(round) (0x100 << (round))

// How many bricks list k of a cycle has. List 0 is that after the cycle, k + 1 that of round k.
inline global volatile int *count_of_list(global volatile int *tables, device_cycle cycle, int k)
{
    return k == 0 ? tables + DEVICE_CYCLE_STATS(cycle.index) + DEVICE_UNCONVERGED
                  : tables + DEVICE_SMOOTHED(cycle.index) + k - 1;
}

// And how many are listed before it.
inline int listed_before(global volatile int *tables, device_cycle cycle, int k)
{
    int count = 0;
    for (int i = 0; i < k; i++) count += *count_of_list(tables, cycle, i);
    return count;
}

inline void list_unconverged(global int *unconverged, global volatile int *tables, device_cycle cycle, int k, int brick)
{
    unconverged[listed_before(tables, cycle, k) + atomic_inc(count_of_list(tables, cycle, k))] = brick;
}

// Whether a brick is unconverged, from the bits of its largest residual, which are -1 without active cells.
inline bool is_unconverged(int most, float tolerance)
{
    return rule_is_unconverged(most >= 0, as_float(most), tolerance);
}

// Lists the unconverged bricks among all that are awake.
ROW_KERNEL void find_unconverged(global const uchar *open, global const float *pressure, global const float *divergence,
                                 global volatile int *tables, device_cycle cycle, int room)
{
    if (!cycle_residual_is_large((global const int *)tables, cycle)) return;
    global const device_place *places = TABLE(tables, const device_place, DEVICE_PLACES(room));
    global const uchar *active = TABLE(tables, const uchar, DEVICE_ACTIVE(room));
    global int *relaxed = TABLE(tables, int, DEVICE_RELAXED(room)), *unconverged = TABLE(tables, int, DEVICE_LISTED(room));
    local volatile int most[GROUP_BRICKS];
    EACH(i, GROUP_BRICKS) most[i] = -1;
    const device_place place = places[ROW_NUMBER(cycle.awake)];
    const rows_around at = look_from(place, ROW);
    const uint bits = active[at.self];
    float left[8], largest = 0.0f;
    if (bits != 0u)
        largest = find_residual(left, pressure, divergence, at, bits, look_at_open(open, at, place.clear), place.clear);
    SYNC;
    if (bits != 0u && as_int(largest) > most[SLOT]) atomic_max(&most[SLOT], as_int(largest));
    SYNC;
    global volatile int *stats = tables + DEVICE_CYCLE_STATS(cycle.index);
    _Pragma("unroll 1") EACH(i, GROUP_BRICKS)
    {
        const int number = (int)get_group_id(0) * GROUP_BRICKS + i;
        if (number < cycle.awake) {
            relaxed[places[number].brick] = 0;
            if (is_unconverged(most[i], cycle.tolerance)) {
                list_unconverged(unconverged, tables, cycle, 0, places[number].brick);
                if (most[i] > stats[DEVICE_LEFT]) atomic_max(stats + DEVICE_LEFT, most[i]);
            }
        }
    }
}

// Whether a brick's pressure is in the second channel when a round begins.
inline bool is_in_next(global const volatile int *relaxed, int brick, int round)
{
    return popcount((uint)relaxed[brick] & RELAXED_BEFORE(round)) & 1u;
}

// A round. The bricks listed before it and those at their faces are shared out among the groups. Each is looked at by whoever comes
// first, and smoothed if it is unconverged.
ROW_KERNEL void local_relax(global const int *near, global const uchar *clear, global const uchar *open, global float *pressure,
                            global float *pressure_next, global const float *divergence, global const float *floor,
                            global volatile int *tables, device_cycle cycle, int room, int round, int sweeps)
{
    if (!cycle_relaxes_locally((global const int *)tables, cycle)) return;
    global uchar *active = TABLE(tables, uchar, DEVICE_ACTIVE(room));
    global int *stamps = TABLE(tables, int, DEVICE_STAMPS(room)), *unconverged = TABLE(tables, int, DEVICE_LISTED(room));
    global volatile int *relaxed = TABLE(tables, volatile int, DEVICE_RELAXED(room));
    local float4 tiles[GROUP_BRICKS][2][2 * P_ROWS];
    local volatile int most[GROUP_BRICKS];
    local int bricks[GROUP_BRICKS];  // that the group works on; 0: none
    // In the first round the neighbours are known: what is not listed has converged.
    const int each = round == 0 ? 1 : 7, first = listed_before(tables, cycle, round);
    const int jobs = each * *count_of_list(tables, cycle, round);
    const int stamp = tables[DEVICE_CYCLE_NUMBER];
    for (int job = (int)get_group_id(0) * GROUP_BRICKS; job < jobs; job += (int)get_num_groups(0) * GROUP_BRICKS) {
        EACH(i, GROUP_BRICKS)
        {
            int brick = 0;
            if (job + i < jobs) {
                const device_place from = find_place(near, unconverged[first + (job + i) / each]);
                const int around[7] = {from.brick, from.x0, from.x1, from.y0, from.y1, from.z0, from.z1};
                brick = around[(job + i) % each];
                if (brick > 0 && (atomic_or(relaxed + brick, LOOKED_AT(round)) & LOOKED_AT(round)) != 0) brick = 0;
            }
            bricks[i] = brick;
            most[i] = -1;
        }
        SYNC;
        const device_place place = find_place(near, bricks[SLOT]);
        const bool all_open = clear[place.brick];
        const rows_around at = look_from(place, ROW);
        const rim_piece edge = rim_from(place, ROW);
        const int rim_at = rim_place(edge) + P_ROWS * edge.upper, here = P_AT(ROW & 7, ROW >> 3);
        const uint bits = active[at.self];
        const bool in_next = is_in_next(relaxed, place.brick, round);
#define NEWEST(brick) (is_in_next(relaxed, brick, round) ? pressure_next : pressure)
        pressure_row r;
        load_row(r.p, in_next ? pressure_next : pressure, at.self);
        r.x_low = NEWEST(place.x0)[8 * at.x0 + 7];
        r.x_high = NEWEST(place.x1)[8 * at.x1];
        const float4 rim = ((global const float4 *)NEWEST(edge.neighbour))[2 * rim_row(edge, 0) + edge.upper];
#undef NEWEST
        load_row(r.divergence, divergence, at.self);
        load_row(r.floor, floor, at.self);
        inverse_faces(r.inverse, open, at, all_open);
        local float4 *tile = tiles[SLOT][0], *other = tiles[SLOT][1];
        write_row(tile, P_ROWS, here, r.p);
        tile[rim_at] = other[rim_at] = rim;
        SYNC;
        if (bits != 0u) {
            float left[8], y0[8], y1[8], z0[8], z1[8];
            read_row(y0, tile, P_ROWS, here - 1);
            read_row(y1, tile, P_ROWS, here + 1);
            read_row(z0, tile, P_ROWS, here - 10);
            read_row(z1, tile, P_ROWS, here + 10);
            const float largest = row_residual(left, &r, y0, y1, z0, z1, bits, look_at_open(open, at, all_open), all_open);
            if (as_int(largest) > most[SLOT]) atomic_max(&most[SLOT], as_int(largest));
        }
        smooth_rows(&r, tile, other, sweeps);
        SYNC;
        if (is_unconverged(most[SLOT], cycle.tolerance))
            store_pressure(&r, in_next ? pressure : pressure_next, active, bits, stamps, stamp, at.self);
        EACH(i, GROUP_BRICKS)
        {
            if (is_unconverged(most[i], cycle.tolerance)) {
                list_unconverged(unconverged, tables, cycle, round + 1, bricks[i]);
                atomic_or(relaxed + bricks[i], 1 << round);
            }
        }
        SYNC;
    }
}

// Copies what is newer in the second channel to the first.
ROW_KERNEL void copy_newest(global float *pressure, global const float *pressure_next, global volatile int *tables,
                            device_cycle cycle, int room)
{
    if (!cycle_relaxes_locally((global const int *)tables, cycle)) return;
    global const int *relaxed = TABLE(tables, const int, DEVICE_RELAXED(room)),
                     *unconverged = TABLE(tables, const int, DEVICE_LISTED(room));
    const int count = listed_before(tables, cycle, LOCAL_RELAX_ROUNDS + 1);
    for (int i = (int)get_group_id(0) * GROUP_BRICKS + SLOT; i < count; i += (int)get_num_groups(0) * GROUP_BRICKS) {
        const int row = ROWS * unconverged[i] + ROW;
        if (is_in_next(relaxed, unconverged[i], LOCAL_RELAX_ROUNDS)) {
            float p[8];
            load_row(p, pressure_next, row);
            store_row(pressure, row, p);
        }
    }
}
