// Kernels that move things: limits, mass, flow, viscosity, forces (docs/how-it-works.md, R1 to R5).

#define FILL_OF(cell) ((float)mass[cell] * RULE_DROP)

// Open cells around a brick; `clear` says that there is no terrain near it.
#define OPEN_AT(x, y, z) (clear[brick] ? 1.0f : flag_at(open, near_here, x, y, z))

// Tiles of the viscosity.
#define L_AT(x, y, z) AT(2, 1, x, y, z)
#define F_AT(x, y, z) AT(1, 1, x, y, z)

// ---- Limits, mass and flow -------------------------------------------------------------------------------------------------

// One work-group marches up a run of bricks along z, two planes of 8 x 8 cells a step, each rule as soon as the one before has come
// far enough. What a rule leaves for the next lies in rings of planes in local memory, plane z in slot z & 3, fill in slot z & 7:
//
//     step z    fluxes of z and z + 1  | barrier | shares of z - 1 and z       | barrier | moved faces of z - 1 and z
//               new fill of z - 4, - 3 |         | new flow of z - 4 and z - 3 |         | fill and flow for the next steps
//
// Planes reach as far out as the rules look: fill from -4 to 10, fluxes and flow from -2 to 9, shares from -2 to 8, moved faces from
// -1 to 8. The work-items take the places of a plane in lists that leave out its corners.
#define WIDTH 12
#define PLANE_AT(at) (((at).x + 2) + WIDTH * ((at).y + 2))
#define PLANE_CELLS (WIDTH * WIDTH)
#define FILL_WIDTH 15
#define RING_FILL_AT(at) (((at).x + 4) + FILL_WIDTH * ((at).y + 4))
#define FILL_CELLS (FILL_WIDTH * FILL_WIDTH)

typedef struct move_tile {
    float fill[8][FILL_CELLS];
    float flow[3][4][PLANE_CELLS];
    float flux[3][4][PLANE_CELLS];
    float2 shares[4][PLANE_CELLS];  // q and h
    float moved[3][4][PLANE_CELLS];
    float2 fills[4][PLANE_CELLS];   // before and after
    uint open[8][18];               // two words of each of the nine bricks in a plane
    int bricks[DEVICE_RUN + 2][9];  // those nine, from below the run to above it
    int clear[DEVICE_RUN + 2];
    int found[DEVICE_RUN];  // bits of facts
    int wet_end;            // no water was seen in this plane or above it
} move_tile;

// Planes this far above the last water are dry, and so is all that the rings still hold.
#define DRY_BEYOND 16

// A work-item's places in a plane: a face on x, one on y, a cell (of 117), and where they lie along z.
#define SHARE_CELLS 117
#define MOVED_FACES 90  // the first of each list are what the rules after R2 need too
#define MOVED_CELLS 81

typedef struct move_column {
    int side, cell;  // in which of the nine bricks, and where in a plane of that
} move_column;

typedef struct move_item {
    int i;
    int2 at[3];
    move_column from[3];
} move_item;

inline int2 x_face(int i)
{
    if (i < 90) return (int2)(i % 10 - 1, i / 10 - 1);
    if (i < 108) return (int2)(i & 1 ? 9 : -2, (i - 90) / 2 - 1);
    return (int2)((i - 108) % 10 - 1, i < 118 ? -2 : 8);
}

inline int2 y_face(int i)
{
    if (i < 90) return (int2)(i % 9 - 1, i / 9 - 1);
    if (i < 108) return (int2)(i % 9 - 1, i < 99 ? -2 : 9);
    return (int2)(i & 1 ? 8 : -2, (i - 108) / 2 - 1);
}

inline int2 share_cell(int i)
{
    if (i < 81) return (int2)(i % 9 - 1, i / 9 - 1);
    if (i < 99) return (int2)(i % 9 - 1, i < 90 ? -2 : 8);
    return (int2)(i < 108 ? -2 : 8, i % 9 - 1);
}

inline move_column move_column_at(int2 at)
{
    move_column c = {((at.x + 8) >> 3) + 3 * ((at.y + 8) >> 3), (at.x & 7) + 8 * (at.y & 7)};
    return c;
}

inline move_item find_item(int i)
{
    move_item item;
    item.i = i;
    item.at[0] = x_face(i);
    item.at[1] = y_face(i);
    item.at[2] = share_cell(i < SHARE_CELLS ? i : 0);
    for (int axis = 0; axis < 3; axis++) item.from[axis] = move_column_at(item.at[axis]);
    return item;
}

inline int move_column_cell(local const move_tile *t, move_column c, int z)
{
    return t->bricks[(z >> 3) + 1][c.side] * BRICK_CELLS + c.cell + 64 * (z & 7);
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

// The tables of a run, and rings full of zeros. Ends with a barrier.
inline void begin_run(local move_tile *t, global const device_run *run, global const int *near, global const uchar *clear)
{
    const int me = (int)get_local_id(0), j = me / 9 - 1, side = me % 9, count = run->count;
    local float *words = (local float *)t;
    for (int i = me; i < (int)(sizeof *t / sizeof *words); i += DEVICE_MOVE_GROUP) words[i] = 0.0f;
    SYNC;
    ONCE t->wet_end = -2 * DRY_BEYOND;
    if (j <= count) {
        int brick = run->brick[j < 0 ? 0 : j < count ? j : count - 1];
        t->bricks[j + 1][side] = near[27 * brick + (j < 0 ? 0 : j < count ? 9 : 18) + side];
        if (side == 0) t->clear[j + 1] = clear[brick];
    }
    SYNC;
}

inline bool run_clear(local const move_tile *t, int count)
{
    bool all = true;
    for (int j = 1; j <= count; j++) all = all && t->clear[j];
    return all;
}

// A cell of fill, and a note of where there is water: whole bricks count.
inline void put_fill(local move_tile *t, int i, int z, float fill)
{
    const int end = (z | 7) + 1;
    t->fill[z & 7][i] = fill;
    if (fill != 0.0f && t->wet_end < end) atomic_max(&t->wet_end, end);
}

// R1 in planes z and z + 1.
inline void fluxes(local move_tile *t, move_item item, int z, const float u[3][2])
{
    for (int s = 0; s < 2; s++) {
        local const float *x = t->fill[(z + s) & 7] + RING_FILL_AT(item.at[0]), *y = t->fill[(z + s) & 7] + RING_FILL_AT(item.at[1]);
        t->flux[0][(z + s) & 3][PLANE_AT(item.at[0])] = rule_flux(u[0][s], x[-2], x[-1], x[0], x[1]);
        t->flux[1][(z + s) & 3][PLANE_AT(item.at[1])] =
            rule_flux(u[1][s], y[-2 * FILL_WIDTH], y[-FILL_WIDTH], y[0], y[FILL_WIDTH]);
    }
    if (item.i >= SHARE_CELLS) return;
    float m[5];
    for (int k = 0; k < 5; k++) m[k] = t->fill[(z - 2 + k) & 7][RING_FILL_AT(item.at[2])];
    for (int s = 0; s < 2; s++)
        t->flux[2][(z + s) & 3][PLANE_AT(item.at[2])] = rule_flux(u[2][s], m[s], m[s + 1], m[s + 2], m[s + 3]);
}

// R2: the shares in planes z - 1 and z.
inline void shares(local move_tile *t, move_item item, int z, device_numbers n)
{
    const int p = PLANE_AT(item.at[2]);
    if (item.i >= SHARE_CELLS) return;
    for (int d = z - 1; d <= z; d++) {
        local const float *X = t->flux[0][d & 3] + p, *Y = t->flux[1][d & 3] + p;
        float m = t->fill[d & 7][RING_FILL_AT(item.at[2])], z0 = t->flux[2][d & 3][p], z1 = t->flux[2][(d + 1) & 3][p];
        float out = rule_leaving(X[0], X[1], Y[0], Y[WIDTH], z0, z1), in = rule_entering(X[0], X[1], Y[0], Y[WIDTH], z0, z1);
        t->shares[d & 3][p] = (float2)(rule_giving(m, out, n.dust), rule_taking(m, out, in, n.dust, n.fill_cap));
    }
}

// R2, dust: what falls through the open face between two cells, the higher one at `at`.
inline float fallen(local const move_tile *t, float low, float high, int2 at, int z, device_numbers n)
{
    bool all_open = t->clear[(z >> 3) + 1];
    if (n.down_sign < 0) {
        if (!(high < n.dust && low < LIMIT_FULL - n.dust)) return 0.0f;
        float open = all_open ? 1.0f : plane_open(t, at.x - (n.down_axis == 0), at.y - (n.down_axis == 1), z - (n.down_axis == 2));
        return -(open * high);
    }
    if (!(low < n.dust && high < LIMIT_FULL - n.dust)) return 0.0f;
    return (all_open ? 1.0f : plane_open(t, at.x, at.y, z)) * low;
}

inline float moved_face(float flux, float2 low, float2 high)
{
    return (float)rule_moved(flux, low.x, low.y, high.x, high.y) * RULE_DROP;
}

// R2: what crosses the faces of planes z - 1 and z in whole drops and as dust, as fill.
inline void cross_faces(local move_tile *t, move_item item, int z, device_numbers n)
{
    const int x = PLANE_AT(item.at[0]), y = PLANE_AT(item.at[1]), p = PLANE_AT(item.at[2]);
    if (item.i >= MOVED_FACES) return;
    for (int d = z - 1; d <= z; d++) {
        local const float2 *shares = t->shares[d & 3];
        local const float *fill = t->fill[d & 7];
        float by_x = moved_face(t->flux[0][d & 3][x], shares[x - 1], shares[x]);
        float by_y = moved_face(t->flux[1][d & 3][y], shares[y - WIDTH], shares[y]);
        if (n.down_axis == 0 && n.down_sign != 0) {
            local const float *m = fill + RING_FILL_AT(item.at[0]);
            by_x += fallen(t, m[-1], m[0], item.at[0], d, n);
        }
        if (n.down_axis == 1 && n.down_sign != 0) {
            local const float *m = fill + RING_FILL_AT(item.at[1]);
            by_y += fallen(t, m[-FILL_WIDTH], m[0], item.at[1], d, n);
        }
        t->moved[0][d & 3][x] = by_x;
        t->moved[1][d & 3][y] = by_y;
        if (item.i >= MOVED_CELLS) continue;
        float by_z = moved_face(t->flux[2][d & 3][p], t->shares[(d - 1) & 3][p], shares[p]);
        if (n.down_axis == 2 && n.down_sign != 0) {
            int m = RING_FILL_AT(item.at[2]);
            by_z += fallen(t, t->fill[(d - 1) & 7][m], fill[m], item.at[2], d, n);
        }
        t->moved[2][d & 3][p] = by_z;
    }
}

// R3 in planes z and z + 1, on the cells beside the run's low faces too; returns what is found of the run's own.
inline int new_fill(local move_tile *t, move_item item, int z, global int *restrict mass_next)
{
    const int2 at = item.at[2];
    const int p = PLANE_AT(at);
    int found = 0;
    if (item.i >= MOVED_CELLS) return 0;
    for (int d = z; d < z + 2; d++) {
        local const float *X = t->moved[0][d & 3] + p, *Y = t->moved[1][d & 3] + p;
        float before = t->fill[d & 7][RING_FILL_AT(at)];
        float after =
            before + (((X[0] - X[1]) + (t->moved[2][d & 3][p] - t->moved[2][(d + 1) & 3][p])) + (Y[0] - Y[WIDTH]));
        t->fills[d & 3][p] = (float2)(before, after);
        if (z < 0 || at.x < 0 || at.y < 0) continue;
        int drops = (int)(after * RULE_DROPS);
        mass_next[move_column_cell(t, item.from[2], d)] = drops;
        found |= (drops != 0 ? DEVICE_WET : 0) | (after != before ? DEVICE_CHANGED : 0);
    }
    return found;
}

// R4 and gravity on the three low faces of a cell, and what crosses them if that is asked for.
// Momentum that comes in through one side of a control volume less what goes out through the other.
inline float carried(float in, float out, float u_low, float u, float u_high)
{
    return rule_carried(in, u_low, u) - rule_carried(out, u, u_high);
}

inline void carry_cell(local const move_tile *t, int2 at, int z, global float *restrict next_x, global float *restrict next_y,
                       global float *restrict next_z, global float *restrict moved_x, global float *restrict moved_y,
                       global float *restrict moved_z, device_numbers n)
{
    const int p = PLANE_AT(at), below = (z - 1) & 3, here = z & 3, above = (z + 1) & 3;
    const move_column own = {4, at.x + 8 * at.y};
    const int cell = move_column_cell(t, own, z);
    local const float *X = t->moved[0][here] + p, *Y = t->moved[1][here] + p, *Z = t->moved[2][here] + p;
    local const float *X0 = t->moved[0][below] + p, *Y0 = t->moved[1][below] + p, *Z0 = t->moved[2][below] + p;
    local const float *Z1 = t->moved[2][above] + p;
    const float2 fill = t->fills[here][p];
    float w_x = 1.0f, w_y = 1.0f, w_z = 1.0f;
    if (!t->clear[(z >> 3) + 1]) {
        float w = plane_open(t, at.x, at.y, z);
        w_x = plane_open(t, at.x - 1, at.y, z) * w;
        w_y = plane_open(t, at.x, at.y - 1, z) * w;
        w_z = plane_open(t, at.x, at.y, z - 1) * w;
    }
    {
        local const float *u = t->flow[0][here] + p;
        float a = carried(X[-1] + X[0], X[0] + X[1], u[-1], u[0], u[1]);
        float b = carried(Y[-1] + Y[0], Y[WIDTH - 1] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float c = carried(Z[-1] + Z[0], Z1[-1] + Z1[0], t->flow[0][below][p], u[0], t->flow[0][above][p]);
        float2 low = t->fills[here][p - 1];
        next_x[cell] = rule_carry(low.x + fill.x, low.y + fill.y, u[0], a + (b + c), w_x, n.empty, n.gravity_x);
    }
    {
        local const float *u = t->flow[1][here] + p;
        float a = carried(Y[-WIDTH] + Y[0], Y[0] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float b = carried(X[-WIDTH] + X[0], X[1 - WIDTH] + X[1], u[-1], u[0], u[1]);
        float c = carried(Z[-WIDTH] + Z[0], Z1[-WIDTH] + Z1[0], t->flow[1][below][p], u[0], t->flow[1][above][p]);
        float2 low = t->fills[here][p - WIDTH];
        next_y[cell] = rule_carry(low.x + fill.x, low.y + fill.y, u[0], a + (b + c), w_y, n.empty, n.gravity_y);
    }
    {
        local const float *u = t->flow[2][here] + p;
        float a = carried(Z0[0] + Z[0], Z[0] + Z1[0], t->flow[2][below][p], u[0], t->flow[2][above][p]);
        float b = carried(Y0[0] + Y[0], Y0[WIDTH] + Y[WIDTH], u[-WIDTH], u[0], u[WIDTH]);
        float c = carried(X0[0] + X[0], X0[1] + X[1], u[-1], u[0], u[1]);
        float2 low = t->fills[below][p];
        next_z[cell] = rule_carry(low.x + fill.x, low.y + fill.y, u[0], a + (b + c), w_z, n.empty, n.gravity_z);
    }
    if (moved_x) {
        moved_x[cell] = X[0];
        moved_y[cell] = Y[0];
        moved_z[cell] = Z[0];
    }
}

kernel __attribute__((reqd_work_group_size(DEVICE_MOVE_GROUP, 1, 1))) void
move(global const device_run *restrict runs, global const int *restrict near, global const uint *restrict open,
     global const uchar *restrict clear, global const int *restrict mass, global const float *restrict flow_x,
     global const float *restrict flow_y, global const float *restrict flow_z, global int *restrict mass_next,
     global float *restrict next_x, global float *restrict next_y, global float *restrict next_z, global float *restrict moved_x,
     global float *restrict moved_y, global float *restrict moved_z, global uchar *restrict facts, device_numbers n)
{
    local move_tile tile;
    local move_tile *t = &tile;
    global const device_run *run = runs + get_group_id(0);
    const int me = (int)get_local_id(0), end = 8 * run->count;
    const move_item item = find_item(me);
    begin_run(t, run, near, clear);
    const bool all_clear = run_clear(t, run->count);

    // Flow of two planes, and of the one below them.
    float u[3][2], u_below[3] = {0.0f, 0.0f, 0.0f};
    for (int s = 0; s < 2; s++) {
        u[0][s] = flow_x[move_column_cell(t, item.from[0], s - 2)];
        u[1][s] = flow_y[move_column_cell(t, item.from[1], s - 2)];
        u[2][s] = flow_z[move_column_cell(t, item.from[2], s - 2)];
    }
    // Two cells of fill.
    move_column fill_from[2];
    bool fill_used[2];
    for (int k = 0; k < 2; k++) {
        int i = me + k * DEVICE_MOVE_GROUP;
        int2 at = (int2)(i % FILL_WIDTH - 4, i / FILL_WIDTH - 4), out = max(max(-1 - at, at - 7), 0);
        fill_used[k] = i < FILL_CELLS && out.x + out.y <= 3;
        fill_from[k] = move_column_at(at);
        if (fill_used[k])
            for (int z = -4; z < 2; z++) put_fill(t, i, z, FILL_OF(move_column_cell(t, fill_from[k], z)));
    }
    if (me < 72) t->open[(me / 18 - 2) & 7][me % 18] = open_word(t, open, me % 18, me / 18 - 2);
    SYNC;

    int found = 0;
    for (int z = -2; z <= end + 2; z += 2) {
        const bool wet = t->wet_end > z - DRY_BEYOND, rises = z <= end;
        float u_next[3][2], fill_next[2][2];
        uint open_next = 0;
        if (z < end) {  // asked for now, so that it is there when it is needed
            for (int k = 0; k < 2; k++) {
                if (!fill_used[k]) continue;
                int cell = move_column_cell(t, fill_from[k], z + 4);
                fill_next[k][0] = FILL_OF(cell);
                fill_next[k][1] = FILL_OF(cell + 64);
            }
            int x = move_column_cell(t, item.from[0], z + 2), y = move_column_cell(t, item.from[1], z + 2);
            int deep = move_column_cell(t, item.from[2], z + 2);
            for (int s = 0; s < 2; s++) {
                u_next[0][s] = flow_x[x + 64 * s];
                u_next[1][s] = flow_y[y + 64 * s];
                u_next[2][s] = flow_z[deep + 64 * s];
            }
            if (!all_clear && me < 36) open_next = open_word(t, open, me % 18, z + 2 + me / 18);
        }
        if (wet && rises) fluxes(t, item, z, u);
        if (wet && z >= 2) {
            found |= new_fill(t, item, z - 4, mass_next);
            if ((z & 7) == 2 && z > 2) {  // the last planes of a brick
                if (found != 0) RAISE(t->found[(z - 4) >> 3], found);
                found = 0;
            }
        }
        SYNC;
        if (wet && rises) shares(t, item, z, n);
        if (z >= 4) {
            // Every other row belongs to one of two times 32 work-items, so that their reads do not meet in one bank.
            const int2 at = (int2)(me & 7, (me >> 3 & 3) * 2 + (me >> 5 & 1));
            const int d = z - 4 + (me >> 6);
            if (wet) {
                carry_cell(t, at, d, next_x, next_y, next_z, moved_x, moved_y, moved_z, n);
            } else {
                const move_column own = {4, at.x + 8 * at.y};
                const int cell = move_column_cell(t, own, d);
                mass_next[cell] = 0;
                next_x[cell] = next_y[cell] = next_z[cell] = 0.0f;
                if (moved_x) moved_x[cell] = moved_y[cell] = moved_z[cell] = 0.0f;
            }
        }
        SYNC;
        if (wet && rises && z >= 0) cross_faces(t, item, z, n);
        if (rises) {
            for (int axis = 0; axis < 3; axis++) {
                int p = PLANE_AT(item.at[axis]);
                if (axis == 2 && me >= SHARE_CELLS) continue;
                t->flow[axis][(z - 1) & 3][p] = u_below[axis];
                t->flow[axis][z & 3][p] = u[axis][0];
                u_below[axis] = u[axis][1];
            }
        }
        if (z < end) {
            for (int k = 0; k < 2; k++) {
                if (!fill_used[k]) continue;
                put_fill(t, me + k * DEVICE_MOVE_GROUP, z + 4, fill_next[k][0]);
                put_fill(t, me + k * DEVICE_MOVE_GROUP, z + 5, fill_next[k][1]);
            }
            for (int axis = 0; axis < 3; axis++)
                for (int s = 0; s < 2; s++) u[axis][s] = u_next[axis][s];
            if (!all_clear && me < 36) t->open[(z + 2 + me / 18) & 7][me % 18] = open_next;
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
            to[brick * BRICK_CELLS + cell] =
                OPEN_AT(x - dx, y - dy, z - dz) * OPEN_AT(x, y, z) * (u_at[0] + n.viscosity * sum);
        }
        SYNC;
    }
}

// R5: the forces of regions and noise, in place.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
forces(global const int *list, global const int *near, global const uint *open, global const int *coords,
       global const int *mass, global float *flow_x, global float *flow_y, global float *flow_z,
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
            if (n.noise > 0.0f && axis != n.down_axis) f *= 1.0f + n.noise * rule_noise(at_x, at_y, at_z, axis, n.noise_seed, n.update);
            *flow = f;
        }
    }
}

// Takes the water out of cells that lie outside the world's bounds, behind an open side; `drained` gets the drops per brick.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
drain_sides(global const int *list, global const int *coords, global int *mass, global uchar *facts, global long *drained,
            int8 bounds)
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
    ONCE {
        long all = 0;
        for (int i = 0; i < GROUP; i++) all += taken[i];
        drained[get_group_id(0)] = all;
        if (!left) facts[brick] &= (uchar)~DEVICE_WET;
    }
}
