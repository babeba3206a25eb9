// The update of the momentum solver, rule by rule (docs/how-it-works.md, sections 2 and 3). Names are those of the equations: m fill, f and
// u flow, F what crosses a face, P pressure; l is the cell before i on the axis A, so that face i lies between l and i.
#include "plain/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DROPS 4194304.0f

// R1: the fill that crosses a face, before limits.
static float flux(float f, float m_ll, float m_l, float m_r, float m_rr)
{
    float donor = f > 0.0f ? m_l : m_r, acceptor = f > 0.0f ? m_r : m_l, behind = f > 0.0f ? m_ll : m_rr;
    float size = fabsf(f), e = donor - behind, d = acceptor - behind, c = plain_most(size, 0.02f);
    float crosses = size * donor;
    if (e * d > 0.0f && fabsf(e) < fabsf(d)) {
        crosses = size * acceptor;
        if (fabsf(e) < c * fabsf(d)) crosses = size * behind + plain_least(50.0f * size, 1.0f) * e;
    }
    return signbit(f) ? -crosses : crosses;
}

// Of a gas, which has no surface.
static float gas_flux(float f, float m_l, float m_r)
{
    return f * (f > 0.0f ? m_l : m_r);
}

static bool is_gas(const plain_world *w)
{
    return w->params.momentum.gas > 0.0f;
}

static void flux_everywhere(plain_world *w, float *const flow[3], const float *m)
{
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = w->grid.step[axis];
        EACH_CELL(&w->grid, i)
        {
            w->F[axis][i] = is_gas(w) ? gas_flux(flow[axis][i], m[i - A], m[i])
                                      : flux(flow[axis][i], m[i - 2 * A], m[i - A], m[i], m[i + A]);
        }
    }
}

// R2: how much of what wants to leave and to enter a cell may do so.
static float positive(float a)
{
    return a > 0.0f ? a : 0.0f;
}

static float out_through(float low, float high)
{
    return positive(high) + (positive(low) - low);
}

static float in_through(float low, float high)
{
    return positive(low) + (positive(high) - high);
}

static float rounded_down(float share)
{
    return (float)(int32_t)(share * 32768.0f) / 32768.0f;
}

static void find_shares(plain_world *w, float dust)
{
    const int64_t X = w->grid.step[0], Y = w->grid.step[1], Z = w->grid.step[2];
    const float *Fx = w->F[0], *Fy = w->F[1], *Fz = w->F[2];
    EACH_CELL(&w->grid, i)
    {
        float m = w->m[i];
        float out = (out_through(Fx[i], Fx[i + X]) + out_through(Fz[i], Fz[i + Z])) + out_through(Fy[i], Fy[i + Y]);
        float in = (in_through(Fx[i], Fx[i + X]) + in_through(Fz[i], Fz[i + Z])) + in_through(Fy[i], Fy[i + Y]);
        float q = out > m ? 0.999999f * m / out : 1.0f;
        w->q[i] = m < dust ? 0.0f : rounded_down(q);
        float room = m < 2.0f - dust ? positive(w->params.momentum.fill_cap - m) + plain_least(out, m) : 0.0f;
        if (is_gas(w)) room = positive(3.984375f - m);
        w->h[i] = rounded_down(in > room ? room / in : 1.0f);
    }
}

// R2: whole drops cross a face.
static void limit_everywhere(plain_world *w)
{
    for (int axis = 0; axis < 3; axis++) {
        EACH_CELL(&w->grid, i)
        {
            int64_t l = i - w->grid.step[axis];
            float F = w->F[axis][i], share = F > 0.0f ? w->q[l] * w->h[i] : w->q[i] * w->h[l];
            w->F[axis][i] = (float)(int32_t)(F * share * DROPS) / DROPS;
        }
    }
}

// R2: dust falls one cell, into one that is open and not over-full.
static void let_dust_fall(plain_world *w, plain_down down, float dust)
{
    if (down.sign == 0) return;
    float *F = w->F[down.axis];
    EACH_CELL(&w->grid, i)
    {
        int64_t l = i - w->grid.step[down.axis];
        int64_t from = down.sign < 0 ? i : l, to = down.sign < 0 ? l : i;
        if (w->m[from] < dust && w->there[to] && w->m[to] < 2.0f - dust) F[i] += (float)down.sign * w->m[from];
    }
}

// R3.
static void move_mass(plain_world *w)
{
    const int64_t X = w->grid.step[0], Y = w->grid.step[1], Z = w->grid.step[2];
    const float *Fx = w->F[0], *Fy = w->F[1], *Fz = w->F[2];
    EACH_CELL(&w->grid, i) w->m2[i] = w->m[i] + (((Fx[i] - Fx[i + X]) + (Fz[i] - Fz[i + Z])) + (Fy[i] - Fy[i + Y]));
    EACH_CELL(&w->grid, i) w->mass[i] = (int32_t)(w->m2[i] * DROPS);
}

static bool face_open(const plain_world *w, int64_t i, int64_t A)
{
    return w->there[i - A] && w->there[i];
}

// R4a: water that comes round a corner into the control volume of a face with flow u, whose two cells hold `fills`.
static float corner(float u, float flux, float fills)
{
    float v = 2.0f * fabsf(flux) / plain_most(fills, 1e-3f), size = fabsf(u), result;
    if (size >= v)
        result = size + v * v / (2.0f * plain_most(size, 1e-6f));
    else
        result = 1.5f * (size * size) / plain_most(v, 1e-6f);
    return signbit(u) ? -result : result;
}

// R4: the flow that a flux carries from face `from` to face `to`, A being the axis of both; `across`: they do not lie behind each other on it.
static float carried_from(const plain_world *w, const float *u, float flux, int64_t from, int64_t to, int64_t A, bool across)
{
    if (is_gas(w)) return u[from];
    if (across && !face_open(w, from, A)) return corner(u[to], flux, w->m[to - A] + w->m[to]);
    // R4b: to second order inside the water, where it is fast.
    float behind = u[from + (from - to)], before = u[from] - behind, after = u[to] - u[from];
    bool inside = w->m[from - A] > 0.5f && w->m[from] > 0.5f && w->m[to - A] > 0.5f && w->m[to] > 0.5f;
    if (!inside || before * after <= 0.0f || behind == 0.0f) return u[from];
    float slope = plain_least(2.0f * plain_least(fabsf(before), fabsf(after)), 0.5f * (fabsf(before) + fabsf(after)));
    float leaves = plain_most(0.0f, 0.5f - 0.25f * fabsf(flux));
    float fast = plain_least(1.0f, plain_most(0.0f, 40.0f * fabsf(u[from]) - 1.0f));
    return after > 0.0f ? u[from] + leaves * fast * slope : u[from] - leaves * fast * slope;
}

// R4: what the fluxes through both sides of face i's control volume on one axis bring, times 2. T is that axis, A the face's own.
static float carried(const plain_world *w, const float *F, const float *u, int64_t i, int64_t A, int64_t T)
{
    float in = F[i - A] + F[i], out = F[i - A + T] + F[i + T];
    float enters = in > 0.0f ? carried_from(w, u, in, i - T, i, A, T != A) : carried_from(w, u, in, i, i - T, A, T != A);
    float leaves = out > 0.0f ? carried_from(w, u, out, i, i + T, A, T != A) : carried_from(w, u, out, i + T, i, A, T != A);
    return in * enters - out * leaves;
}

// R4, and gravity of R5.
static void carry_flow(plain_world *w)
{
    const float gravity[3] = {w->params.gravity.x, w->params.gravity.y, w->params.gravity.z};
    const float empty = is_gas(w) ? 1e-6f : w->params.empty;
    for (int axis = 0; axis < 3; axis++) {
        const int along = axis, across_1 = axis == 0 ? 1 : 0, across_2 = axis == 2 ? 1 : 2;
        const int64_t A = w->grid.step[axis];
        const float *u = w->flow[axis];
        EACH_CELL(&w->grid, i)
        {
            float sides[3];
            for (int side = 0; side < 3; side++) sides[side] = carried(w, w->F[side], u, i, A, w->grid.step[side]);
            float sum = sides[along] + (sides[across_1] + sides[across_2]);
            float before = w->m[i - A] + w->m[i], after = w->m2[i - A] + w->m2[i];
            bool open = face_open(w, i, A);
            w->flow2[axis][i] = open && after > empty ? ((before * u[i] + sum) / after + gravity[axis]) + 0.0f : 0.0f;
        }
    }
}

// R6: what a cell will hold too much, and the least pressure it has.
static void find_divergence(plain_world *w, plain_down down)
{
    const int64_t X = w->grid.step[0], Y = w->grid.step[1], Z = w->grid.step[2];
    const float *Fx = w->F[0], *Fy = w->F[1], *Fz = w->F[2];
    const weir_momentum_params *p = &w->params.momentum;
    flux_everywhere(w, w->flow2, w->m2);
    // What comes from a part-filled cell into an over-full one counts as if it came from a full one.
    for (int axis = 0; axis < 3; axis++) {
        EACH_CELL(&w->grid, i)
        {
            float f = w->flow2[axis][i], low = w->m2[i - w->grid.step[axis]], high = w->m2[i];
            if ((f > 0.0f ? low : high) < 0.6f && (f > 0.0f ? high : low) > 1.0f) w->F[axis][i] = f;
        }
    }
    EACH_CELL(&w->awake, i)
    {
        float e = w->m2[i] - 1.0f, net = ((Fx[i] - Fx[i + X]) + (Fz[i] - Fz[i + Z])) + (Fy[i] - Fy[i + Y]);
        w->divergence[i] =
            (e > 0.0f ? plain_least(p->excess_rate * plain_most(e, 2.0f * (e - 0.0125f)), p->excess_cap) : e) + net;
        int64_t below = i + (down.sign < 0 ? -1 : 1) * w->grid.step[down.axis];
        float support = w->there[below] ? plain_least(1.0f, w->pressure[below] * down.inverse_head) : 1.0f;
        w->floor[i] = w->there[i] ? down.head * plain_least(1.0f, w->m2[i]) * support : 0.0f;
        if (!w->gas || !w->there[i]) continue;
        // With air the head is that over the pressure of the air; without any beside it water holds together down to a vacuum.
        float over = plain_most(0.0f, w->pressure[below] - w->air[i]);
        support = w->there[below] ? plain_least(1.0f, over * down.inverse_head) : 1.0f;
        w->floor[i] = w->air[i] + down.head * plain_least(1.0f, w->m2[i]) * support;
        if (w->air[i] > -1e30f) continue;
        w->floor[i] = -p->air;
        // And it is drawn to where some is lacking as gently as it is pushed out where there is too much.
        if (e < 0.0f) w->divergence[i] += plain_most(p->excess_rate * e, -p->excess_cap) - e;
    }
}

static int32_t open_faces(const plain_world *w, int64_t i)
{
    int32_t n = 0;
    for (int axis = 0; axis < 3; axis++) n += w->there[i - w->grid.step[axis]] + w->there[i + w->grid.step[axis]];
    return n;
}

// R7: sweeps inside one brick; the cells around it stay as they were. Cells above their floor are active.
static void smooth_brick(plain_world *w, int64_t first, const float *from, float *to)
{
    const plain_grid *g = &w->awake;
    const int64_t step[3] = {1, 8, 64};
    float now[512], next[512];
    int32_t k = 0;
    EACH_CELL_OF(g, first, i) now[k++] = from[i];
    for (int32_t sweep = 0; sweep < w->params.momentum.smooths; sweep++) {
        k = 0;
        EACH_CELL_OF(g, first, i)
        {
            float pair[3];
            for (int axis = 0; axis < 3; axis++) {
                int32_t place = k / (int32_t)step[axis] % 8;
                float low = place > 0 ? now[k - step[axis]] : from[i - g->step[axis]];
                pair[axis] = low + (place < 7 ? now[k + step[axis]] : from[i + g->step[axis]]);
            }
            int32_t n = open_faces(w, i);
            float inverse = w->there[i] && n > 0 ? 1.0f / (float)n : 0.0f;
            float a = (w->divergence[i] + ((pair[0] + pair[2]) + pair[1])) * inverse;
            next[k] = plain_still(plain_most(w->floor[i], now[k] + 0.9f * (a - now[k])));
            k++;
        }
        memcpy(now, next, sizeof now);
    }
    k = 0;
    EACH_CELL_OF(g, first, i)
    {
        to[i] = now[k++];
        w->active[i] = to[i] > w->floor[i];
    }
}

static void smooth_everywhere(plain_world *w, const float *from, float *to)
{
    for (int32_t b = 0; b < w->awake.bricks; b++) smooth_brick(w, w->awake.brick[b], from, to);
}

static float residual_at(const plain_world *w, const float *P, int64_t i)
{
    const int64_t X = w->grid.step[0], Y = w->grid.step[1], Z = w->grid.step[2];
    if (!w->active[i]) return 0.0f;
    float sum = ((P[i - X] + P[i + X]) + (P[i - Z] + P[i + Z])) + (P[i - Y] + P[i + Y]);
    return w->divergence[i] + sum - (float)open_faces(w, i) * P[i];
}

static float largest_of_brick(const plain_world *w, const float *P, int64_t first)
{
    float largest = 0.0f;
    EACH_CELL_OF(&w->grid, first, i) largest = plain_most(largest, fabsf(residual_at(w, P, i)));
    return largest;
}

static bool has_active(const plain_world *w, int64_t first)
{
    bool any = false;
    EACH_CELL_OF(&w->grid, first, i) any |= w->active[i];
    return any;
}

// After a cycle with a large residual: the bricks in which the tolerance or more is left are smoothed, and then those of them and at their
// faces in which that is so then; 8 rounds at most. `chosen` says which bricks begin.
static void local_relax(plain_world *w, uint8_t *chosen)
{
    const plain_grid *g = &w->awake;
    uint8_t *near = calloc((size_t)g->all_cells / 512, 1);
    for (int32_t round = 0; round < 8; round++) {
        memcpy(near, chosen, (size_t)g->all_cells / 512);
        for (int32_t b = 0; b < g->bricks; b++)
            if (chosen[plain_brick_of(g, g->brick[b])]) smooth_brick(w, g->brick[b], w->pressure, w->pressure2);
        for (int32_t b = 0; b < g->bricks; b++) {
            if (!chosen[plain_brick_of(g, g->brick[b])]) continue;
            EACH_CELL_OF(g, g->brick[b], i) w->pressure[i] = w->pressure2[i];
            for (int axis = 0; axis < 3; axis++) {
                near[plain_brick_of(g, g->brick[b] - 8 * g->step[axis])] = 1;
                near[plain_brick_of(g, g->brick[b] + 8 * g->step[axis])] = 1;
            }
        }
        for (int32_t b = 0; b < g->bricks; b++) {
            int64_t first = g->brick[b], at = plain_brick_of(g, first);
            chosen[at] =
                near[at] && has_active(w, first) && largest_of_brick(w, w->pressure, first) >= w->params.momentum.tolerance;
        }
    }
    free(near);
}

// R7: V-cycles, local relaxation, and whether another cycle follows.
static void solve_pressure(plain_world *w)
{
    const plain_grid *g = &w->awake;
    const float tolerance = w->params.momentum.tolerance;
    float *residual = calloc((size_t)g->all_cells, sizeof *residual);
    uint8_t *chosen = malloc((size_t)g->all_cells / 512);
    int32_t most = w->cycles_next, cycles = 0;
    if (most == 0 || most > w->params.momentum.cycles) most = w->params.momentum.cycles;
    bool follows = true, fresh = w->cycles_next == 0;
    while (follows && cycles < most) {
        smooth_everywhere(w, w->pressure, w->pressure2);
        float begun = 0.0f, left = 0.0f;
        EACH_CELL(g, i) residual[i] = residual_at(w, w->pressure2, i);
        EACH_CELL(g, i) begun = plain_most(begun, fabsf(residual[i]));
        plain_coarse_correction(w, residual);
        smooth_everywhere(w, w->pressure2, w->pressure);
        cycles++;
        // A large residual is 8 times the tolerance.
        bool large = begun >= 8.0f * tolerance;
        int32_t unconverged = 0;
        memset(chosen, 0, (size_t)g->all_cells / 512);
        for (int32_t b = 0; large && b < g->bricks; b++) {
            if (!has_active(w, g->brick[b])) continue;
            float largest = largest_of_brick(w, w->pressure, g->brick[b]);
            left = plain_most(left, largest);
            chosen[plain_brick_of(g, g->brick[b])] = largest >= tolerance;
            unconverged += largest >= tolerance;
        }
        follows = large && !fresh ? unconverged > 0 && (6 * unconverged >= g->bricks || left > begun) : begun >= tolerance;
        if (!follows || cycles == most) local_relax(w, chosen);
    }
    w->cycles_next = cycles + (follows ? 1 : 0);
    free(residual);
    free(chosen);
}

// R8: what the pressure does to the flow, and damping of what is slow.
static void push(plain_world *w, int axis)
{
    const weir_momentum_params *p = &w->params.momentum;
    const int64_t A = w->grid.step[axis];
    const float inverse_calm = p->damping_flow > 0.0f ? 1.0f / p->damping_flow : 0.0f;
    float *f = w->flow2[axis];
    EACH_CELL(&w->grid, i)
    {
        float pushed = f[i] + (float)face_open(w, i, A) * (w->pressure[i - A] - w->pressure[i]);
        float damped = pushed * (1.0f - p->damping * plain_most(0.0f, 1.0f - fabsf(pushed) * inverse_calm));
        f[i] = plain_still(plain_most(-p->max_flow, plain_least(p->max_flow, damped)));
    }
}

// R9: a face whose donor is empty takes its flow from the next face downstream.
static void fill_behind_the_front(plain_world *w, int axis)
{
    const int64_t A = w->grid.step[axis];
    const float *f = w->flow2[axis], empty = w->params.empty;
    float *to = w->flow[axis];
    EACH_CELL(&w->grid, i)
    {
        to[i] = f[i];
        if (f[i] > 0.0f && w->m2[i - A] < empty) to[i] = plain_most(0.0f, plain_least(f[i], f[i + A]));
        if (f[i] < 0.0f && w->m2[i] < empty) to[i] = plain_least(0.0f, plain_most(f[i], f[i - A]));
    }
}

// R9b: the face on top of a surface that rises goes along with it.
static void let_surfaces_rise(plain_world *w, plain_down down)
{
    const int64_t A = w->grid.step[down.axis];
    const float up = down.sign < 0 ? 1.0f : -1.0f, empty = w->params.empty, gap = 0.05f * down.head;
    EACH_CELL(&w->grid, i)
    {
        int64_t upper = down.sign < 0 ? i : i - A, lower = down.sign < 0 ? i - A : i, below = lower + down.sign * A;
        float *f = &w->flow[down.axis][i];
        float rise = up * w->flow2[down.axis][down.sign < 0 ? i - A : i + A] - gap;
        bool wet = w->m2[lower] >= empty && w->m2[below] >= empty && w->pressure[lower] > (w->gas ? w->pressure[upper] : 0.0f);
        if (wet && w->there[upper] && w->m2[upper] < 0.005f && rise > 0.0f && rise > up * *f) *f = up * rise;
    }
}

// Friction on the floor, and films: what is thin sticks to it.
static void let_films_stick(plain_world *w, plain_down down, int axis)
{
    const int64_t A = w->grid.step[axis], below = down.sign * w->grid.step[down.axis];
    const float film = w->params.momentum.film;
    EACH_CELL(&w->grid, i)
    {
        float *f = &w->flow[axis][i], h = plain_most(w->m2[i - A], w->m2[i]);
        bool on_floor = !w->there[i - A + below] && !w->there[i + below];
        int64_t donor = *f > 0.0f ? i - A : i, acceptor = *f > 0.0f ? i : i - A;
        if (on_floor) *f = plain_still(*f * (1.0f - w->params.momentum.friction * fabsf(*f)));
        float sticks = !w->there[acceptor + below] ? film : !w->there[donor + below] ? 0.5f * film : 0.0f;
        if (w->m2[donor] < sticks && w->m2[acceptor] < w->params.empty)
            *f = 0.0f;
        else if (on_floor && h < 8.0f * film)
            *f = plain_still(*f * (h * h / (h * h + 0.05f * (film * film) * w->substep_share)));
    }
}

static void project(plain_world *w, plain_down down)
{
    for (int axis = 0; axis < 3; axis++) {
        push(w, axis);
        fill_behind_the_front(w, axis);
        if (down.sign != 0 && axis == down.axis) let_surfaces_rise(w, down);
        if (down.sign != 0 && axis != down.axis) let_films_stick(w, down, axis);
    }
}

// A gas: what cells hold presses.
static void press(plain_world *w)
{
    const weir_momentum_params *p = &w->params.momentum;
    const float inverse_calm = p->damping_flow > 0.0f ? 1.0f / p->damping_flow : 0.0f;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = w->grid.step[axis];
        EACH_CELL(&w->grid, i)
        {
            const float low = w->m2[i - A], high = w->m2[i], sum = low + high;
            const float push = sum > 1e-6f ? 2.0f * p->gas * (low - high) / sum : 0.0f;
            const float f = w->flow2[axis][i] + (float)face_open(w, i, A) * push;
            const float damped = f * (1.0f - p->damping * plain_most(0.0f, 1.0f - fabsf(f) * inverse_calm));
            const float kept = plain_still(plain_most(-p->max_flow, plain_least(p->max_flow, damped)));
            w->flow[axis][i] = sum > 1e-6f ? kept : 0.0f;
        }
    }
    EACH_CELL(&w->grid, i) w->pressure[i] = plain_still(p->gas * w->m2[i]);
    w->cycles_next = 0;
}

// An update takes as many substeps as carry what crosses all but a few faces 0.92 cells far at most, and half that out of over-full cells.
static const int32_t rungs[] = {1, 2, 3, 4, 6, 8};

// Of a gas less, and there more of it counts.
static float one_substep(const plain_world *w)
{
    return is_gas(w) ? 0.5f : 0.92f;
}

int32_t plain_substeps(const plain_world *w, float flow)
{
    int32_t k = 0;
    while (k < 5 && flow > (float)rungs[k] * one_substep(w)) k++;
    return rungs[k] < w->params.momentum.substeps ? rungs[k] : w->params.momentum.substeps;
}

// The same for all water, in the measure of a substep.
static int32_t needed_substeps(const plain_world *w, float share)
{
    int32_t fast[5] = {0}, k = 0;
    EACH_CELL(&w->grid, i)
    {
        for (int axis = 0; axis < 3; axis++) {
            float f = w->flow[axis][i];
            float donor = (float)w->mass[f > 0.0f ? i - w->grid.step[axis] : i] / DROPS;
            float counts = donor < 0.5f ? 0.0f : donor > 1.1f ? 2.0f * fabsf(f) : fabsf(f);
            if (is_gas(w)) counts = donor < 1.0f / 64.0f ? 0.0f : fabsf(f);
            for (int r = 0; r < 5; r++) fast[r] += counts > (float)rungs[r] * (one_substep(w) * share);
        }
    }
    while (k < 5 && fast[k] >= 16) k++;
    return rungs[k];
}

static void substep(plain_world *w)
{
    const plain_down down = plain_find_down(&w->params);
    const float dust = down.sign != 0 && !is_gas(w) ? w->params.momentum.dust : 0.0f;
    EACH_CELL(&w->grid, i) w->m[i] = (float)w->mass[i] / DROPS;
    flux_everywhere(w, w->flow, w->m);
    find_shares(w, dust);
    limit_everywhere(w);
    if (!is_gas(w)) let_dust_fall(w, down, dust);
    move_mass(w);
    carry_flow(w);
    plain_sleep_book(w);
    plain_after_move(w);
    if (is_gas(w)) {
        press(w);
        return;
    }
    if (w->gas) plain_air_find(w, w->substep_share);
    find_divergence(w, down);
    solve_pressure(w);
    project(w, down);
    plain_sleep_trim(w);
}

static void rescale(plain_world *w, float scale, float limit)
{
    for (int axis = 0; axis < 3; axis++) EACH_CELL(&w->grid, i)
    w->flow[axis][i] = plain_still(plain_most(-limit, plain_least(limit, w->flow[axis][i] * scale)));
    EACH_CELL(&w->grid, i) w->pressure[i] = plain_still(plain_least(1e6f, w->pressure[i] * (scale * scale)));
}

void plain_momentum_update(plain_world *w)
{
    const weir_params all = w->params;
    int32_t n = w->substeps_next < 1 ? 1 : w->substeps_next;
    if (n > all.momentum.substeps) n = all.momentum.substeps;
    const float share = 1.0f / (float)n, square = share * share;
    w->params.gravity = (weir_vec){all.gravity.x * square, all.gravity.y * square, all.gravity.z * square};
    w->params.noise *= share;
    w->params.momentum.gas *= square;
    w->params.momentum.damping *= share;
    w->params.momentum.damping_flow *= share;
    w->params.momentum.viscosity *= share;
    w->params.momentum.air *= square;
    w->air_whole = all.momentum.air;
    w->params.momentum.max_flow = plain_least(1.0f, all.momentum.max_flow * share);
    w->substep_share = share;
    w->force_share = square;
    rescale(w, share, 1.0f);
    int32_t needed = needed_substeps(w, share);
    for (int32_t k = 0; k < n; k++) substep(w);
    w->params = all;
    w->substeps_next = needed < all.momentum.substeps ? needed : all.momentum.substeps;
    rescale(w, (float)n, 8.0f);
}
