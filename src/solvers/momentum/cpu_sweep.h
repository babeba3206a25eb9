// The move: limits, mass and flow (docs/how-it-works.md, R1 to R4) in one sweep along z over a column of bricks. Part of
// cpu_kernels.c.
//
// What lies around the column is taken in plane by plane, and each rule follows the one before as closely as it can. So every value is
// worked out once, and only a few planes of each are kept, next to the processor:
//
//     plane   p+2    p+1             p                                p-1
//             fill   flow, flux z    flux x and y, shares, drops      mass, new flow
//
// A plane's row is  8 rim | 8 to 64 cells | rim  along x, and the rows are  4 rim | 8 or 16 cells | 4 rim  along y. Rows are worked on
// in whole groups of lanes, and those without water in reach left out. Lanes whose neighbours are not in the plane hold numbers of no
// meaning and are never stored.
#ifndef WEIR_MOMENTUM_CPU_SWEEP_H
#define WEIR_MOMENTUM_CPU_SWEEP_H

#include "solvers/momentum/cpu_carry.h"
#include "solvers/momentum/flux.h"
#include "solvers/momentum/limit.h"
#include "solvers/momentum/mass.h"

// ---- Rules over rows of a plane --------------------------------------------------------------------------------------------

// R1. The four cells around a face are m_ll | m_l | m_r | m_rr; wet_l and wet are of the rows of the middle ones.
KERNEL flux_plane(const column_bricks *c, int y0, int y1, const row_pairs *wet_l, const row_pairs *wet, float *restrict F,
                  const float *restrict f, const float *restrict m_ll, const float *restrict m_l, const float *restrict m_r,
                  const float *restrict m_rr, const bool gas)
{
    for (int y = y0; y <= y1; y++) {
        const row_pairs crossed = wet_l[y] | wet[y];
        for (int x = ROW_BEGIN, to; x < row_end(c); x = to) {
            to = run_end(crossed, x, c);
            if (!in_group(crossed, x, GROUP)) {
                memset(F + SWEEP_AT(x, y), 0, (size_t)(to - x) * sizeof *F);
                continue;
            }
            if (gas) {
                for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                    LANES
                    for (int i = v; i < v + GROUP; i++) F[i] = rule_gas_flux(f[i], m_l[i], m_r[i]);
                }
                continue;
            }
            for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                LANES
                for (int i = v; i < v + GROUP; i++) F[i] = rule_flux(f[i], m_ll[i], m_l[i], m_r[i], m_rr[i]);
            }
        }
    }
}

// R2: each cell's shares.
KERNEL shares_plane(const column_bricks *c, int y0, int y1, const row_pairs *near, float *restrict q, float *restrict h,
                    const float *restrict m, const float *restrict F_x, const float *restrict F_y, const float *restrict F_z,
                    const float *restrict F_z_next, float dust, float cap, const bool gas)
{
    const float full = rule_full(dust);
    for (int y = y0; y <= y1; y++) {
        for (int x = ROW_BEGIN, to; x < row_end(c); x = to) {
            to = run_end(near[y], x, c);
            if (!in_group(near[y], x, GROUP)) {
                memset(q + SWEEP_AT(x, y), 0, (size_t)(to - x) * sizeof *q);
                memset(h + SWEEP_AT(x, y), 0, (size_t)(to - x) * sizeof *h);
                continue;
            }
            if (gas) {
                for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                    LANES
                    for (int i = v; i < v + GROUP; i++) {
                        float out = rule_leaving(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                        float in = rule_entering(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                        q[i] = rule_giving(m[i], out, 0.0f);
                        h[i] = rule_gas_taking(m[i], in, cap);
                    }
                }
                continue;
            }
            for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                LANES
                for (int i = v; i < v + GROUP; i++) {
                    float out = rule_leaving(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                    float in = rule_entering(F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
                    q[i] = rule_giving(m[i], out, dust);
                    h[i] = rule_taking(m[i], out, in, full, cap);
                }
            }
        }
    }
}

// R2: whole drops that cross, as fill, in place of the fluxes. The low cell's shares are q_l and h_l.
KERNEL moved_plane(const column_bricks *c, int y0, int y1, const row_pairs *wet_l, const row_pairs *wet, float *F,
                   const float *q_l, const float *h_l, const float *q, const float *h)
{
    for (int y = y0; y <= y1; y++) {
        const row_pairs crossed = wet_l[y] | wet[y];
        for (int x = ROW_BEGIN, to; x < row_end(c); x = to) {
            to = run_end(crossed, x, c);
            if (!in_group(crossed, x, GROUP)) continue;
            for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                LANES
                for (int i = v; i < v + GROUP; i++)
                    F[i] = rule_moved(F[i] * RULE_DROPS, q_l[i], h_l[i], q[i], h[i]) * RULE_DROP;
            }
        }
    }
}

// R2: dust falls one cell per update, through the face below it if that is open.
KERNEL dust_plane(const column_bricks *c, int y0, int y1, const row_pairs *wet_l, const row_pairs *wet, float *F,
                  const float *m_l, const float *m, const float *open_l, const float *open, int sign, float dust)
{
    const float full = rule_full(dust), *below = sign < 0 ? open_l : open;
    for (int y = y0; y <= y1; y++) {
        const row_pairs crossed = wet_l[y] | wet[y];
        for (int x = ROW_BEGIN, to; x < row_end(c); x = to) {
            to = run_end(crossed, x, c);
            if (!in_group(crossed, x, GROUP)) continue;
            for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                if (sign < 0) {
                    LANES
                    for (int i = v; i < v + GROUP; i++) F[i] += rule_fallen(-1, m_l[i], m[i], below[i], dust, full);
                } else {
                    LANES
                    for (int i = v; i < v + GROUP; i++) F[i] += rule_fallen(1, m_l[i], m[i], below[i], dust, full);
                }
            }
        }
    }
}

// R3.
KERNEL mass_plane(const column_bricks *c, int y0, int y1, const row_pairs *near, float *restrict m2, const float *restrict m,
                  const float *restrict F_x, const float *restrict F_y, const float *restrict F_z,
                  const float *restrict F_z_next)
{
    for (int y = y0; y <= y1; y++) {
        for (int x = ROW_BEGIN, to; x < row_end(c); x = to) {
            to = run_end(near[y], x, c);
            if (!in_group(near[y], x, GROUP)) {
                memset(m2 + SWEEP_AT(x, y), 0, (size_t)(to - x) * sizeof *m2);
                continue;
            }
            for (int v = SWEEP_AT(x, y); v < SWEEP_AT(to, y); v += GROUP) {
                LANES
                for (int i = v; i < v + GROUP; i++)
                    m2[i] = rule_mass(m[i], F_x[i], F_x[i + 1], F_y[i], F_y[i + SY], F_z[i], F_z_next[i]);
            }
        }
    }
}

// Turns fill back into drops and notes which lanes hold water and which changed.
KERNEL store_mass(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    const float *m2 = RING(s->m2, z), *m = RING(s->m, z);
    for (int y = 0; y < 8 * c->y; y++) {
        int32_t *restrict row = s->drops, *restrict holds = s->holds[y >> 3], *restrict differs = s->differs[y >> 3];
        const float *restrict after = m2 + SWEEP_AT(0, y), *restrict before = m + SWEEP_AT(0, y);
        for (int v = 0; v < (8 * c->x + GROUP - 1) / GROUP * GROUP; v += GROUP) {
            LANES
            for (int i = v; i < v + GROUP; i++) {
                row[i] = (int32_t)(after[i] * RULE_DROPS);
                holds[i] |= row[i];
                differs[i] |= after[i] != before[i];
            }
        }
        for (int k = 0; k < c->x; k++)
            if (c->at[(z >> 3) + 1][(y >> 3) + 1][k + 1] != BRICK_NOTHING) must_be_drops(row + 8 * k, 8, 4 * WEIR_FULL - 1);
        scatter_row(a->mass_next, c, y, z, row);
    }
}

// After the last plane of a layer of bricks.
static void note_bricks(const momentum_args *a, sweep_planes *s, const column_bricks *c, int layer)
{
    for (int y = 0; y < c->y; y++) {
        for (int x = 0; x < c->x; x++) {
            int32_t brick = c->at[layer + 1][y + 1][x + 1];
            int32_t wet = 0, changed = 0;
            for (int i = 8 * x; i < 8 * x + 8; i++) {
                wet |= s->holds[y][i];
                changed |= s->differs[y][i];
            }
            if (brick == BRICK_NOTHING) continue;
            a->bricks.wet[brick] = wet != 0;
            if (changed && a->bricks.phase[brick] == PHASE_AWAKE) a->bricks.changed[brick] = a->bricks.change;
        }
    }
    memset(s->holds, 0, sizeof s->holds);
    memset(s->differs, 0, sizeof s->differs);
}

// What crossed the faces, for a game's rules.
static void store_moved(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    const float *F[3] = {RING(s->F_x, z), RING(s->F_y, z), RING(s->F_z, z)};
    for (int axis = 0; axis < 3; axis++)
        for (int y = 0; y < 8 * c->y && a->moved[axis]; y++) scatter_row(a->moved[axis], c, y, z, F[axis] + SWEEP_AT(0, y));
}

// ---- The sweep -------------------------------------------------------------------------------------------------------------

// Drops that cross the low faces of plane z: those beside the column at -1 too.
KERNEL moved_faces(const momentum_args *a, sweep_planes *s, const column_bricks *c, const float *open_l, const float *open,
                   int z)
{
    const float *m = RING(s->m, z), *q = RING(s->q, z), *h = RING(s->h, z);
    float *F_x = RING(s->F_x, z), *F_y = RING(s->F_y, z), *F_z = RING(s->F_z, z);
    const row_pairs *wet = RING(s->wet, z) + 4, *wet_z = RING(s->wet, z - 1) + 4;
    const int top = 8 * c->y, sign = a->down_sign;
    moved_plane(c, -1, top - 1, wet, wet, F_x, q - 1, h - 1, q, h);
    moved_plane(c, -1, top, wet - 1, wet, F_y, q - SY, h - SY, q, h);
    moved_plane(c, -1, top - 1, wet_z, wet, F_z, RING(s->q, z - 1), RING(s->h, z - 1), q, h);
    if (sign == 0 || a->gas > 0.0f) return;
    if (a->down_axis == 0) dust_plane(c, -1, top - 1, wet, wet, F_x, m - 1, m, open - 1, open, sign, a->dust);
    if (a->down_axis == 1) dust_plane(c, -1, top, wet - 1, wet, F_y, m - SY, m, open - SY, open, sign, a->dust);
    if (a->down_axis == 2) dust_plane(c, -1, top - 1, wet_z, wet, F_z, RING(s->m, z - 1), m, open_l, open, sign, a->dust);
}

KERNEL flux_z_plane(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    flux_plane(c, -2, 8 * c->y, RING(s->wet, z - 1) + 4, RING(s->wet, z) + 4, RING(s->F_z, z), RING(s->flow_z, z),
               RING(s->m, z - 2), RING(s->m, z - 1), RING(s->m, z), RING(s->m, z + 1), a->gas > 0.0f);
}

static void gather_mass(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    gather_plane_fill(RING(s->m, z), a->mass, c, z);
    find_wet(s, c, z);
}

static void gather_flow(const momentum_args *a, sweep_planes *s, const column_bricks *c, int z)
{
    gather_plane(RING(s->flow_x, z), a->flow[0], c, z);
    gather_plane(RING(s->flow_y, z), a->flow[1], c, z);
    gather_plane(RING(s->flow_z, z), a->flow[2], c, z);
    find_fast(a, s, c, z);
}

// Moves the bricks of a column.
static void sweep_column(const momentum_args *a, sweep_planes *s, const column_bricks *c)
{
    const int z0 = 0, z1 = 8 * c->z, top = 8 * c->y;
    const bool gas = a->gas > 0.0f;
    assert(c->x >= 1 && c->x <= COLUMN_X && c->y >= 1 && c->y <= COLUMN_Y && c->z >= 1 && c->z <= COLUMN_Z);
    const float *open = NULL, *open_l = NULL, *open_ll = NULL;  // planes z, z-1, z-2
    int open_planes = 0;
    for (int z = z0 - 4; z < z0; z++) gather_mass(a, s, c, z);
    gather_flow(a, s, c, z0 - 2);
    flux_z_plane(a, s, c, z0 - 2);
    for (int z = z0 - 2; z <= z1; z++) {
        prefetch_list list;
        list_step(&list, a, c, z, z >= z0 && z < z1);
        gather_mass(a, s, c, z + 2);
        gather_flow(a, s, c, z + 1);
        open_ll = open_l;
        open_l = open;
        if (z == z0 - 2 || !open_as_before(a, c, z)) {
            float *fresh = RING(s->open, ++open_planes);
            gather_plane_open(fresh, a, c, z);
            open = fresh;
        }
        find_corners(a, s, c, open_l, open, z);
        find_near(s, c, z);
        const float *m = RING(s->m, z);
        const row_pairs *wet = RING(s->wet, z) + 4;
        flux_z_plane(a, s, c, z + 1);
        flux_plane(c, -2, top, wet, wet, RING(s->F_x, z), RING(s->flow_x, z), m - 2, m - 1, m, m + 1, gas);
        flux_plane(c, -2, top + 1, wet - 1, wet, RING(s->F_y, z), RING(s->flow_y, z), m - 2 * SY, m - SY, m, m + SY, gas);
        shares_plane(c, -2, top, RING(s->near, z) + 2, RING(s->q, z), RING(s->h, z), m, RING(s->F_x, z), RING(s->F_y, z),
                     RING(s->F_z, z), RING(s->F_z, z + 1), a->dust, a->fill_cap, gas);
        if (z < z0 - 1) continue;
        moved_faces(a, s, c, open_l, open, z);
        if (z < z0) continue;
        mass_plane(c, -1, top - 1, RING(s->near, z - 1) + 2, RING(s->m2, z - 1), RING(s->m, z - 1), RING(s->F_x, z - 1),
                   RING(s->F_y, z - 1), RING(s->F_z, z - 1), RING(s->F_z, z));
        new_flow(a, s, c, open_ll, open_l, open, z - 1, z > z0, &list);
        if (z == z0) continue;
        store_mass(a, s, c, z - 1);
        store_moved(a, s, c, z - 1);
        if ((z & 7) == 0) note_bricks(a, s, c, (z >> 3) - 1);
    }
}

// Whether a brick holds water. Most that do show it in their first plane.
static bool holds_water(const momentum_args *a, int32_t brick)
{
    const int32_t *mass = a->mass + (size_t)brick * BRICK_CELLS;
    int32_t any = 0;
    for (int z = 0; z < 8 && any == 0 && brick != BRICK_NOTHING; z++)
        for (int c = 0; c < PLANE; c++) any |= mass[PLANE * z + c];
    return any != 0;
}

// Whether water lies within reach of a brick, three cells, in the one beside it at an offset.
static bool in_reach(const momentum_args *a, int32_t beside, int dx, int dy, int dz)
{
    static const int LOW[3] = {5, 0, 0}, HIGH[3] = {7, 7, 2};  // by offset, from -1 on
    const int32_t *mass = a->mass + (size_t)beside * BRICK_CELLS;
    int32_t columns[8] = {0}, any = 0;
    for (int z = LOW[dz + 1]; z <= HIGH[dz + 1]; z++)
        for (int y = LOW[dy + 1]; y <= HIGH[dy + 1]; y++)
            for (int x = 0; x < 8; x++) columns[x] |= mass[PLANE * z + PY * y + x];
    for (int x = LOW[dx + 1]; x <= HIGH[dx + 1]; x++) any |= columns[x];
    return any != 0;
}

// Which bricks of a column and around it hold water.
typedef bool column_water[COLUMN_Z + 2][COLUMN_Y + 2][COLUMN_X + 2];

static bool brick_moves(const momentum_args *a, const column_bricks *c, const column_water water, int x, int y, int z)
{
    if (water[z + 1][y + 1][x + 1]) return true;
    for (int dz = -1; dz <= 1; dz++)
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                if (water[z + 1 + dz][y + 1 + dy][x + 1 + dx] &&
                    in_reach(a, c->at[z + 1 + dz][y + 1 + dy][x + 1 + dx], dx, dy, dz))
                    return true;
    return false;
}

// The smallest box of a layer's bricks that holds all that have water in reach. False if none has.
static bool find_moving(const momentum_args *a, const column_bricks *c, const column_water water, int z, weir_coord *low,
                        weir_coord *high)
{
    *low = (weir_coord){COLUMN_X, COLUMN_Y, z};
    *high = (weir_coord){-1, -1, z};
    for (int y = 0; y < c->y; y++) {
        for (int x = 0; x < c->x; x++) {
            if (c->at[z + 1][y + 1][x + 1] == BRICK_NOTHING || !brick_moves(a, c, water, x, y, z)) continue;
            low->x = x < low->x ? x : low->x;
            low->y = y < low->y ? y : low->y;
            high->x = x > high->x ? x : high->x;
            high->y = y > high->y ? y : high->y;
        }
    }
    return high->x >= 0;
}

// A part of a column, with what is around it.
static void cut_column(column_bricks *part, const column_bricks *c, weir_coord low, weir_coord high)
{
    assert(low.x >= 0 && low.x <= high.x && high.x < c->x && low.y >= 0 && low.y <= high.y && high.y < c->y);
    assert(low.z >= 0 && low.z <= high.z && high.z < c->z);
    part->x = high.x - low.x + 1;
    part->y = high.y - low.y + 1;
    part->z = high.z - low.z + 1;
    for (int z = 0; z < part->z + 2; z++)
        for (int y = 0; y < part->y + 2; y++)
            memcpy(part->at[z][y], &c->at[low.z + z][low.y + y][low.x], (size_t)(part->x + 2) * sizeof(int32_t));
}

// Clears the bricks of some layers that lie outside a part of them.
static void clear_rest(const momentum_args *a, const column_bricks *c, int begin, int end, weir_coord low, weir_coord high)
{
    for (int z = begin; z < end; z++)
        for (int y = 0; y < c->y; y++)
            for (int x = 0; x < c->x; x++) {
                int32_t brick = c->at[z + 1][y + 1][x + 1];
                bool inside = x >= low.x && x <= high.x && y >= low.y && y <= high.y && z >= low.z && z <= high.z;
                if (brick != BRICK_NOTHING && !inside) move_nothing(&a->bricks, brick, a->mass_next, a->flow_next, a->moved);
            }
}

// Bricks without water in reach are cleared; the others are moved, as many in one sweep as lie together.
static void move(const momentum_args *a, momentum_scratch *s, const brick_column *column)
{
    column_bricks c, part;
    column_water water;
    find_bricks(&c, a, column);
    for (int z = 0; z < c.z + 2; z++)
        for (int y = 0; y < c.y + 2; y++)
            for (int x = 0; x < c.x + 2; x++) water[z][y][x] = holds_water(a, c.at[z][y][x]);
    for (int begin = 0, end; begin < c.z; begin = end) {
        weir_coord low, high, next_low, next_high;
        bool moves = find_moving(a, &c, water, begin, &low, &high);
        for (end = begin + 1; end < c.z && find_moving(a, &c, water, end, &next_low, &next_high) == moves; end++) {
            low.x = next_low.x < low.x ? next_low.x : low.x;
            low.y = next_low.y < low.y ? next_low.y : low.y;
            high = (weir_coord){next_high.x > high.x ? next_high.x : high.x, next_high.y > high.y ? next_high.y : high.y, end};
        }
        clear_rest(a, &c, begin, end, low, high);
        if (!moves) continue;
        cut_column(&part, &c, low, high);
        sweep_column(a, &s->sweep, &part);
    }
}

#endif
