// Kernels of the thesis's rules (docs/how-it-works.md), as sweeps. Part of cpu_kernels.c.
#ifndef WEIR_CLASSIC_CPU_SWEEP_H
#define WEIR_CLASSIC_CPU_SWEEP_H

#include "cells/gradient.h"
#include "compute/cpu_forces.h"
#include "solvers/classic/cpu_args.h"
#include "solvers/classic/cpu_planes.h"
#include "solvers/classic/laws.h"

typedef struct classic_move_planes {
    _Alignas(64) drop_plane drops[2], whole[3][2];
    cell_plane m[4], m2[2], leaves[2], flow[3][4], open[2];
    cell_plane cross[3][4];  // what would cross a face, over c
    cell_plane moved;
} classic_move_planes;

typedef struct classic_pressure_planes {
    _Alignas(64) drop_plane drops;
    cell_plane m[2], flow, F[2], Fz[2];
    cell_plane divergence[4], p[5][4];
    cell_plane open[8], inverse[4];
} classic_pressure_planes;

typedef union classic_scratch {
    classic_move_planes move;
    classic_pressure_planes pressure;
    struct {
        _Alignas(64) run_tile m, open;
    } forces;
} classic_scratch;

// The arguments that a sweep was begun with: the bricks are their first field.
static inline const classic_args *args_of(const column_sweep *w)
{
    return (const classic_args *)w->bricks;
}

KERNEL classic_fill(const int count, float *restrict m, const int32_t *restrict drops)
{
    LANES
    for (int i = 0; i < count; i++) m[i] = (float)drops[i] * RULE_DROP;
}

// ---- Move ------------------------------------------------------------------------------------------------------------------

// What crosses the faces between the cells `low` and `m`: as momentum, and as whole drops.
KERNEL classic_cross_row(const int count, float *restrict cross, int32_t *restrict whole, const float *restrict f,
                         const float *low, const float *m)
{
    LANES
    for (int i = 0; i < count; i++) {
        cross[i] = rule_classic_cross(f[i], low[i], m[i]);
        whole[i] = rule_classic_moved(f[i], low[i], m[i], true);
    }
}

KERNEL classic_mass_row(const int count, const int stride, int32_t *restrict after, float *restrict m2,
                        const int32_t *restrict before, const int32_t *restrict x, const int32_t *restrict y,
                        const int32_t *restrict z, const int32_t *restrict z_next)
{
    LANES
    for (int i = 0; i < count; i++) {
        after[i] = rule_classic_mass(before[i], x[i], x[i + 1], y[i], y[i + stride], z[i], z_next[i]);
        m2[i] = (float)after[i] * RULE_DROP;
    }
}

// Share of each cell's mass that leaves it.
KERNEL classic_leaving_row(const int count, const int stride, float *restrict out, const float *restrict x,
                           const float *restrict y, const float *restrict z, const float *restrict z_next)
{
    LANES
    for (int i = 0; i < count; i++) out[i] = rule_classic_leaving(x[i], x[i + 1], y[i], y[i + stride], z[i], z_next[i]);
}

// What a face sees across its axis: what crosses the transverse faces of the cell below it and of the one above, and the flows of the
// faces beside it.
typedef struct classic_across {
    const float *low_in, *low_out, *high_in, *high_out;
    const float *u_before, *u_behind;
} classic_across;

// What it sees along its axis: its own flow, the flows of the faces before and behind it, and what crosses those.
typedef struct classic_along {
    const float *u, *u_before, *u_behind;
    const float *cross_before, *cross_behind;
} classic_along;

// And the cells on one side of it.
typedef struct classic_cells {
    const float *m, *m2, *leaves, *open;
} classic_cells;

KERNEL classic_carry_row(const int count, float *restrict out, const classic_along f, const classic_across v1,
                         const classic_across v2, const classic_cells low, const classic_cells high, float empty, float gravity)
{
#define ACROSS(v) rule_classic_across(v.low_in[i], v.low_out[i], v.high_in[i], v.high_out[i], v.u_before[i], v.u_behind[i])
    LANES
    for (int i = 0; i < count; i++) {
        float along = rule_classic_along(f.cross_before[i], f.u_before[i], f.cross_behind[i], f.u_behind[i]);
        out[i] =
            rule_classic_carry(f.u[i], low.m[i], high.m[i], low.m2[i], high.m2[i], low.leaves[i], high.leaves[i],
                               rule_classic_into(along, ACROSS(v1), ACROSS(v2)), low.open[i] * high.open[i], empty, gravity);
    }
#undef ACROSS
}

// Whether the bricks around a layer held mass before the move.
static bool classic_layer_wet(const column_sweep *w, int layer)
{
    for (int z = layer - 1; z <= layer + 1; z++)
        for (int y = 0; y < w->column->ny + 2; y++)
            for (int x = 0; x < w->column->nx + 2; x++)
                if (args_of(w)->held[w->column->at[z][y][x]]) return true;
    return false;
}

static void classic_gather_mass(const column_sweep *w, classic_move_planes *s, int z)
{
    plane_gather(SLOT(s->drops, z), args_of(w)->mass, w, z, -2, w->rows);
    int i = rows_begin(w, -2);
    classic_fill(rows_count(w, -2, w->rows), SLOT(s->m, z) + i, SLOT(s->drops, z) + i);
}

// A row of a plane that lies in a ring, and of the planes below and above it.
#define BELOW(ring) (SLOT(ring, slot - 1) + i)
#define HERE(ring) (SLOT(ring, slot) + i)
#define ABOVE(ring) (SLOT(ring, slot + 1) + i)

// The next three work on ROW_LANES cells at once, from place `i` of the plane in a slot on. With a known slot and stride all they look at
// lies at constant distances.

// What crosses their faces.
KERNEL classic_cross_cells(classic_move_planes *s, const int stride, const int slot, int i)
{
    const float *m = HERE(s->m);
    classic_cross_row(ROW_LANES, HERE(s->cross[0]), HERE(s->whole[0]), HERE(s->flow[0]), m - 1, m);
    classic_cross_row(ROW_LANES, HERE(s->cross[1]), HERE(s->whole[1]), HERE(s->flow[1]), m - stride, m);
    classic_cross_row(ROW_LANES, HERE(s->cross[2]), HERE(s->whole[2]), HERE(s->flow[2]), BELOW(s->m), m);
}

// Their new mass, and what leaves them.
KERNEL classic_mass_cells(classic_move_planes *s, const int stride, const int slot, int i, int32_t *after)
{
    classic_mass_row(ROW_LANES, stride, after, HERE(s->m2), HERE(s->drops), HERE(s->whole[0]), HERE(s->whole[1]),
                     HERE(s->whole[2]), ABOVE(s->whole[2]));
    classic_leaving_row(ROW_LANES, stride, HERE(s->leaves), HERE(s->flow[0]), HERE(s->flow[1]), HERE(s->flow[2]),
                        ABOVE(s->flow[2]));
}

// Their new flow.
KERNEL classic_carry_cells(const classic_args *a, classic_move_planes *s, const int stride, const int slot, int i,
                           const float *const open[2], float *out_x, float *out_y, float *out_z)
{
    const float *cross_x = HERE(s->cross[0]), *cross_y = HERE(s->cross[1]);
    const float *cross_z = HERE(s->cross[2]), *cross_z1 = ABOVE(s->cross[2]);
    const float *below_x = BELOW(s->cross[0]), *below_y = BELOW(s->cross[1]);
    const float *x = HERE(s->flow[0]), *y = HERE(s->flow[1]), *z = HERE(s->flow[2]);
    const float *m = HERE(s->m), *m2 = HERE(s->m2), *leaves = HERE(s->leaves), *o = open[1] + i;
    const classic_across x_by_y = {.low_in = cross_y - 1,
                                   .low_out = cross_y - 1 + stride,
                                   .high_in = cross_y,
                                   .high_out = cross_y + stride,
                                   .u_before = x - stride,
                                   .u_behind = x + stride};
    const classic_across x_by_z = {.low_in = cross_z - 1,
                                   .low_out = cross_z1 - 1,
                                   .high_in = cross_z,
                                   .high_out = cross_z1,
                                   .u_before = BELOW(s->flow[0]),
                                   .u_behind = ABOVE(s->flow[0])};
    const classic_across y_by_x = {.low_in = cross_x - stride,
                                   .low_out = cross_x - stride + 1,
                                   .high_in = cross_x,
                                   .high_out = cross_x + 1,
                                   .u_before = y - 1,
                                   .u_behind = y + 1};
    const classic_across y_by_z = {.low_in = cross_z - stride,
                                   .low_out = cross_z1 - stride,
                                   .high_in = cross_z,
                                   .high_out = cross_z1,
                                   .u_before = BELOW(s->flow[1]),
                                   .u_behind = ABOVE(s->flow[1])};
    const classic_across z_by_y = {.low_in = below_y,
                                   .low_out = below_y + stride,
                                   .high_in = cross_y,
                                   .high_out = cross_y + stride,
                                   .u_before = z - stride,
                                   .u_behind = z + stride};
    const classic_across z_by_x = {.low_in = below_x,
                                   .low_out = below_x + 1,
                                   .high_in = cross_x,
                                   .high_out = cross_x + 1,
                                   .u_before = z - 1,
                                   .u_behind = z + 1};
    const classic_along along_x = {
        .u = x, .u_before = x - 1, .u_behind = x + 1, .cross_before = cross_x - 1, .cross_behind = cross_x + 1};
    const classic_along along_y = {.u = y,
                                   .u_before = y - stride,
                                   .u_behind = y + stride,
                                   .cross_before = cross_y - stride,
                                   .cross_behind = cross_y + stride};
    const classic_along along_z = {.u = z,
                                   .u_before = BELOW(s->flow[2]),
                                   .u_behind = ABOVE(s->flow[2]),
                                   .cross_before = BELOW(s->cross[2]),
                                   .cross_behind = cross_z1};
    const classic_cells low_x = {.m = m - 1, .m2 = m2 - 1, .leaves = leaves - 1, .open = o - 1};
    const classic_cells low_y = {.m = m - stride, .m2 = m2 - stride, .leaves = leaves - stride, .open = o - stride};
    const classic_cells low_z = {.m = BELOW(s->m), .m2 = BELOW(s->m2), .leaves = BELOW(s->leaves), .open = open[0] + i};
    const classic_cells high = {.m = m, .m2 = m2, .leaves = leaves, .open = o};
    classic_carry_row(ROW_LANES, out_x, along_x, x_by_y, x_by_z, low_x, high, a->empty, a->gravity[0]);
    classic_carry_row(ROW_LANES, out_y, along_y, y_by_x, y_by_z, low_y, high, a->empty, a->gravity[1]);
    classic_carry_row(ROW_LANES, out_z, along_z, z_by_y, z_by_x, low_z, high, a->empty, a->gravity[2]);
}

#undef BELOW
#undef HERE
#undef ABOVE

// Writes a row of a plane back to its bricks, and prefetches where the row behind it goes: `cell` is the number of its first cell in
// each.
KERNEL classic_store_row(void *channel, const int32_t *bricks, const int nx, const int cell, const void *row)
{
    assert(nx >= 1 && nx <= SWEEP_X && cell >= 0 && cell < BRICK_CELLS);
    float *to = (float *)channel + cell;
    for (int x = 0; x < nx; x++) {
        if (bricks[x] == BRICK_NOTHING) continue;
        float *cells = to + (size_t)bricks[x] * BRICK_CELLS;
        prefetch_line(cells + 64);
        memcpy(cells, (const float *)row + 8 * x, 32);
    }
}

// Which bricks of a plane hold mass now, and which changed.
typedef struct classic_flags {
    int32_t any[8 * SWEEP_X], differs[8 * SWEEP_X];
} classic_flags;

KERNEL classic_flag_row(const int count, classic_flags *flags, const int32_t *restrict after, const int32_t *restrict before)
{
    LANES
    for (int i = 0; i < count; i++) {
        flags->any[i] |= after[i];
        flags->differs[i] |= after[i] ^ before[i];
    }
}

// Flags of a row of bricks. They begin anew with the first plane.
static void classic_write_flags(const classic_args *a, const int32_t *bricks, int nx, int z, const classic_flags *flags)
{
    for (int x = 0; x < nx; x++) {
        int32_t any = 0, differs = 0;
        for (int i = 8 * x; i < 8 * x + 8; i++) any |= flags->any[i], differs |= flags->differs[i];
        if (bricks[x] == BRICK_NOTHING) continue;
        a->bricks.wet[bricks[x]] = (uint8_t)((((z & 7) != 0) & a->bricks.wet[bricks[x]]) | (any != 0));
        if (differs) a->bricks.changed[bricks[x]] = a->bricks.change;
    }
}

static void classic_store_moved(const column_sweep *w, classic_move_planes *s, int z)
{
    int i = rows_begin(w, 0);
    for (int axis = 0; axis < 3; axis++) {
        if (!args_of(w)->moved[axis]) continue;
        classic_fill(rows_count(w, 0, w->rows - 1), s->moved + i, SLOT(s->whole[axis], z) + i);
        plane_scatter(args_of(w)->moved[axis], w, z, s->moved);
    }
}

// New mass of the row of plane z that begins at `i`, and the flags of its bricks. Row -1 and plane z0 - 1 are not the column's own.
KERNEL classic_mass_of_row(const column_sweep *w, classic_move_planes *s, const int stride, const int slot, int z, int y, int i,
                           bool own, classic_flags *flags)
{
    const int nx = stride / 8 - 2;
    int32_t after[8 * (SWEEP_X + 2) + ROW_LANES];
    for (int x = 0; x < stride; x += ROW_LANES) classic_mass_cells(s, stride, slot, i - ROW_LANES + x, after + x);
    if (!own || y < 0) return;
    const int32_t *bricks = w->column->at[LAYER(z)][LAYER(y)] + 1;
    for (int x = 0; x < nx; x++)
        if (bricks[x] != BRICK_NOTHING) must_be_drops(after + ROW_LANES + 8 * x, 8, 511 * WEIR_FULL);
    classic_store_row(args_of(w)->mass_next, bricks, nx, 8 * (y & 7) + 64 * (z & 7), after + ROW_LANES);
    if ((y & 7) == 0) *flags = (classic_flags){{0}};
    classic_flag_row(8 * nx, flags, after + ROW_LANES, SLOT(s->drops, slot) + i);
    if ((y & 7) == 7) classic_write_flags(args_of(w), bricks, nx, z, flags);
}

KERNEL classic_flow_of_row(const column_sweep *w, classic_move_planes *s, const int stride, const int slot, int z, int y, int i,
                           const float *const open[2])
{
    const classic_args *a = args_of(w);
    const int nx = stride / 8 - 2;
    float out[3][8 * SWEEP_X];
    for (int x = 0; x < 8 * nx; x += ROW_LANES)
        classic_carry_cells(a, s, stride, slot, i + x, open, out[0] + x, out[1] + x, out[2] + x);
    const int32_t *bricks = w->column->at[LAYER(z)][LAYER(y)] + 1;
    for (int axis = 0; axis < 3; axis++)
        classic_store_row(a->flow_next[axis], bricks, nx, 8 * (y & 7) + 64 * (z & 7), out[axis]);
}

// Works out what crosses the faces of plane z + 1, then the new mass and flow of plane z, row by row: so that what a row looks at is
// brought near the processor once. The flow follows one row behind the mass, whose values must have arrived in memory when it looks
// at them one cell aside.
INLINE void classic_move_rows(const column_sweep *w, classic_move_planes *s, const int stride, const int slot, int z, int z0,
                              const float *const open[2])
{
    classic_flags flags;
    for (int y = -1; y <= w->rows; y++) {
        const int i = PLANE_START + stride * (y + PLANE_RIM);
        for (int x = 0; x < stride; x += ROW_LANES) classic_cross_cells(s, stride, slot + 1, i - ROW_LANES + x);
        if (z < z0 - 1) continue;
        if (y < w->rows) classic_mass_of_row(w, s, stride, slot, z, y, i, z >= z0, &flags);
        if (z >= z0 && y > 0) classic_flow_of_row(w, s, stride, slot, z, y - 1, i - stride, open);
    }
}

// The same, with what is usual as constants.
static void classic_move_plane(const column_sweep *w, classic_move_planes *s, int z, int z0, const float *const open[2])
{
    const int widest = 8 * (SWEEP_X + 2), slot = z & 3;
    if (w->stride != widest)
        classic_move_rows(w, s, w->stride, slot, z, z0, open);
    else if (slot == 0)
        classic_move_rows(w, s, widest, 0, z, z0, open);
    else if (slot == 1)
        classic_move_rows(w, s, widest, 1, z, z0, open);
    else if (slot == 2)
        classic_move_rows(w, s, widest, 2, z, z0, open);
    else
        classic_move_rows(w, s, widest, 3, z, z0, open);
}

// Moves planes z0 to z1 - 1.
static void classic_move_planes_from(const column_sweep *w, classic_move_planes *s, int z0, int z1)
{
    const float *open[2] = {NULL, NULL};
    classic_gather_mass(w, s, z0 - 2);
    for (int next = z0 - 1; next <= z1; next++) {
        const int z = next - 1;
        classic_gather_mass(w, s, next);
        for (int axis = 0; axis < 3; axis++)
            plane_gather(SLOT(s->flow[axis], next), args_of(w)->flow[axis], w, next, -1, w->rows);
        open[0] = open[1];
        if (z >= z0 - 1 && (!open[0] || !plane_goes_on(w, z))) {
            float *fresh = open[0] == s->open[0] ? s->open[1] : s->open[0];
            plane_open(fresh, w, z, -1, w->rows - 1);
            open[1] = fresh;
        }
        classic_move_plane(w, s, z, z0, open);
        if (z >= z0) classic_store_moved(w, s, z);
    }
}

// A layer of bricks without any mass around it.
static void classic_move_nothing(const column_sweep *w, int layer)
{
    const classic_args *a = args_of(w);
    for (int y = 1; y <= w->column->ny; y++) {
        for (int x = 1; x <= w->column->nx; x++) {
            const int32_t brick = w->column->at[layer][y][x];
            if (brick != BRICK_NOTHING) move_nothing(w->bricks, brick, a->mass_next, a->flow_next, a->moved);
        }
    }
}

static void classic_move(const classic_args *a, classic_scratch *scratch, const brick_column *column)
{
    const column_sweep sweep = sweep_begin(a, column), *w = &sweep;
    for (int layer = 1, end; layer <= w->column->nz; layer = end) {
        end = layer + 1;
        if (!classic_layer_wet(w, layer)) {
            classic_move_nothing(w, layer);
            continue;
        }
        while (end <= w->column->nz && classic_layer_wet(w, end)) end++;
        classic_move_planes_from(w, &scratch->move, 8 * (layer - 1), 8 * (end - 1));
    }
}

// ---- Pressure --------------------------------------------------------------------------------------------------------------

KERNEL classic_flux(const int count, float *restrict F, const float *restrict f, const float *low, const float *m)
{
    LANES
    for (int i = 0; i < count; i++) F[i] = rule_classic_flux(f[i], low[i], m[i], true);
}

// 1 over the number of open faces; 0 in solid cells.
KERNEL classic_inverse(const int count, const int stride, float *restrict out, const float *below, const float *o,
                       const float *above)
{
    LANES
    for (int i = 0; i < count; i++) {
        float faces = rule_around(o[i - 1], o[i + 1], o[i - stride], o[i + stride], below[i], above[i]);
        out[i] = rule_inverse_faces(o[i], faces);
    }
}

// The excess to come, and the first iteration of the pressure, which starts from nothing.
KERNEL classic_divergence(const int count, const int stride, float *restrict out, float *restrict p, const float *restrict m,
                          const float *restrict x, const float *restrict y, const float *restrict z, const float *restrict z1,
                          const float *restrict open, const float *restrict inverse)
{
    LANES
    for (int i = 0; i < count; i++) {
        float net = rule_inflow(x[i], x[i + 1], y[i], y[i + stride], z[i], z1[i]);
        out[i] = rule_classic_divergence(m[i], net, open[i]);
        p[i] = rule_classic_pressure(0.0f, out[i], inverse[i]);
    }
}

KERNEL classic_iterate(const int count, const int stride, float *restrict out, const float *restrict below,
                       const float *restrict p, const float *restrict above, const float *restrict divergence,
                       const float *restrict inverse)
{
    LANES
    for (int i = 0; i < count; i++) {
        float sum = rule_around(p[i - 1], p[i + 1], p[i - stride], p[i + stride], below[i], above[i]);
        out[i] = rule_classic_pressure(sum, divergence[i], inverse[i]);
    }
}

// The terrain of the last planes: open cells, and 1 over the number of open faces. Planes with the same terrain share them.
typedef struct classic_terrain {
    const float *open[8], *inverse[4];
    int opens, inverses;  // how many were made
} classic_terrain;

static void classic_add_open(const column_sweep *w, classic_pressure_planes *s, classic_terrain *t, int z, int y0, int y1)
{
    if (t->opens > 0 && plane_goes_on(w, z)) {
        SLOT(t->open, z) = SLOT(t->open, z - 1);
        return;
    }
    float *plane = SLOT(s->open, t->opens++);
    plane_open(plane, w, z, y0, y1);
    SLOT(t->open, z) = plane;
}

static void classic_add_inverse(const column_sweep *w, classic_pressure_planes *s, classic_terrain *t, int z, int y0, int y1)
{
    const float *below = SLOT(t->open, z - 1), *open = SLOT(t->open, z), *above = SLOT(t->open, z + 1);
    if (t->inverses > 0 && SLOT(t->open, z - 2) == below && below == open && open == above) {
        SLOT(t->inverse, z) = SLOT(t->inverse, z - 1);
        return;
    }
    float *plane = SLOT(s->inverse, t->inverses++);
    int i = rows_begin(w, y0);
    classic_inverse(rows_count(w, y0, y1), w->stride, plane + i, below + i, open + i, above + i);
    SLOT(t->inverse, z) = plane;
}

// Iteration `k` of plane z, on rows y0..y1.
static void classic_iterate_plane(const column_sweep *w, classic_pressure_planes *s, const classic_terrain *t, int k, int z,
                                  int y0, int y1)
{
    int i = rows_begin(w, y0);
    classic_iterate(rows_count(w, y0, y1), w->stride, SLOT(s->p[k], z) + i, SLOT(s->p[k - 1], z - 1) + i,
                    SLOT(s->p[k - 1], z) + i, SLOT(s->p[k - 1], z + 1) + i, SLOT(s->divergence, z) + i,
                    SLOT(t->inverse, z) + i);
}

// The divergence, and the first iterations of the pressure. Iteration k of a plane runs one plane behind iteration k - 1, which
// reaches one cell further around the column.
static void classic_divergence_sweep(const classic_args *a, classic_scratch *scratch, const brick_column *column)
{
    classic_pressure_planes *s = &scratch->pressure;
    const column_sweep sweep = sweep_begin(a, column), *w = &sweep;
    const int last = a->iterations, rim = last - 1, rows = w->rows;
    assert(last >= 1 && last < PLANE_RIM);
    classic_terrain around = {{NULL}}, *t = &around;
    for (int next = -last; next < w->planes + last; next++) {
        plane_gather(s->drops, a->mass_next, w, next, -last, rows + rim);
        int i = rows_begin(w, -last);
        classic_fill(rows_count(w, -last, rows + rim), SLOT(s->m, next) + i, s->drops + i);
        classic_add_open(w, s, t, next, -last, rows + rim);
        if (next < -rim) continue;
        const int z = next - 1, count = rows_count(w, -rim, rows - 1 + rim);
        i = rows_begin(w, -rim);
        plane_gather(s->flow, a->flow_next[2], w, next, -rim, rows - 1 + rim);
        classic_flux(count, SLOT(s->Fz, next) + i, s->flow + i, SLOT(s->m, z) + i, SLOT(s->m, next) + i);
        if (z < -rim) continue;
        const float *m = SLOT(s->m, z) + i;
        plane_gather(s->flow, a->flow_next[0], w, z, -rim, rows - 1 + rim);
        classic_flux(count, s->F[0] + i, s->flow + i, m - 1, m);
        plane_gather(s->flow, a->flow_next[1], w, z, -rim, rows + rim);
        classic_flux(rows_count(w, -rim, rows + rim), s->F[1] + i, s->flow + i, m - w->stride, m);
        classic_add_inverse(w, s, t, z, -rim, rows - 1 + rim);
        classic_divergence(count, w->stride, SLOT(s->divergence, z) + i, SLOT(s->p[1], z) + i, m, s->F[0] + i, s->F[1] + i,
                           SLOT(s->Fz, z) + i, SLOT(s->Fz, next) + i, SLOT(t->open, z) + i, SLOT(t->inverse, z) + i);
        if (z >= 0 && z < w->planes) plane_scatter(a->divergence, w, z, SLOT(s->divergence, z));
        for (int k = 2; k <= last && z - k + 1 >= k - last; k++)
            classic_iterate_plane(w, s, t, k, z - k + 1, k - last, rows - 1 + last - k);
        int done = z - last + 1;
        if (done >= 0) plane_scatter(a->pressure, w, done, SLOT(s->p[last], done));
    }
}

// The flow after the pressure difference across its face, in place: no face looks at another face's flow.
static void classic_gradient_plane(const column_sweep *w, int z, const float *p_low, const float *p, const float *open_low,
                                   const float *open)
{
    const classic_args *a = args_of(w);
    const float keep = a->keep, limit = a->max_flow;
    const int stride = w->stride;
    float *const x = a->flow_next[0] + 64 * (z & 7), *const y = a->flow_next[1] + 64 * (z & 7),
                 *const deep = a->flow_next[2] + 64 * (z & 7);
#define PIECE                                                                                                       \
    {                                                                                                               \
        const size_t start = (size_t)brick * BRICK_CELLS;                                                           \
        prefetch_plane(x + start + 64);                                                                             \
        prefetch_plane(y + start + 64);                                                                             \
        prefetch_plane(deep + start + 64);                                                                          \
        for (int row = 0; row < 8; row++) {                                                                         \
            const int i = at + row * stride;                                                                        \
            const size_t c = start + (size_t)(8 * row);                                                             \
            LANES                                                                                                   \
            for (int k = 0; k < 8; k++) {                                                                           \
                float here = p[i + k], o = open[i + k];                                                             \
                x[c + k] = rule_gradient(x[c + k], open[i + k - 1] * o, p[i + k - 1], here, keep, limit);           \
                y[c + k] = rule_gradient(y[c + k], open[i + k - stride] * o, p[i + k - stride], here, keep, limit); \
                deep[c + k] = rule_gradient(deep[c + k], open_low[i + k] * o, p_low[i + k], here, keep, limit);     \
            }                                                                                                       \
            must_be_within(x + c, 8, limit);                                                                        \
            must_be_within(y + c, 8, limit);                                                                        \
            must_be_within(deep + c, 8, limit);                                                                     \
        }                                                                                                           \
    }
    OWN_BRICKS(w, z, PIECE)
#undef PIECE
}

// Further iterations of the pressure, and after the last ones the gradient. One cell below the column counts as the column's own, since the
// gradient looks at it.
INLINE void classic_iterations(const classic_args *a, classic_scratch *scratch, const brick_column *column, const bool gradient)
{
    classic_pressure_planes *s = &scratch->pressure;
    const column_sweep sweep = sweep_begin(a, column), *w = &sweep;
    const int last = a->iterations, rows = w->rows;
    assert(last >= (gradient ? 0 : 1) && last < PLANE_RIM);
    classic_terrain around = {{NULL}}, *t = &around;
    for (int next = -1 - last; next < w->planes + last; next++) {
        plane_gather(SLOT(s->p[0], next), a->pressure, w, next, -1 - last, rows - 1 + last);
        classic_add_open(w, s, t, next, -1 - last, rows - 1 + last);
        const int z = next - 1;
        if (last > 0 && z >= -last) {
            plane_gather(SLOT(s->divergence, z), a->divergence, w, z, -last, rows - 2 + last);
            classic_add_inverse(w, s, t, z, -last, rows - 2 + last);
        }
        for (int k = 1; k <= last && next - k >= k - last - 1; k++)
            classic_iterate_plane(w, s, t, k, next - k, k - last - 1, rows - 1 + last - k);
        const int done = next - last;
        if (done < 0) continue;
        if (last > 0) plane_scatter(a->pressure_next, w, done, SLOT(s->p[last], done));
        if (gradient)
            classic_gradient_plane(w, done, SLOT(s->p[last], done - 1), SLOT(s->p[last], done), SLOT(t->open, done - 1),
                                   SLOT(t->open, done));
    }
}

static void classic_pressure_sweep(const classic_args *a, classic_scratch *scratch, const brick_column *column)
{
    classic_iterations(a, scratch, column, false);
}

static void classic_gradient_sweep(const classic_args *a, classic_scratch *scratch, const brick_column *column)
{
    classic_iterations(a, scratch, column, true);
}

#endif
