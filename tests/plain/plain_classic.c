// The update of the classic solver (docs/how-it-works.md, section 5): flow f moves c*f of the donor's mass, c = 1/2.
#include "plain/plain.h"

#include <string.h>

#define C 0.5f
#define DROPS 4194304.0f
#define TOO_FULL 128.0f  // a cell that holds so much takes in nothing

static float positive(float a)
{
    return a > 0.0f ? a : 0.0f;
}

static float negative(float a)
{
    return a < 0.0f ? a : 0.0f;
}

// Fill that a flow would carry across a face.
static float crossing(float f, float m_l, float m_r)
{
    return C * f * (f > 0.0f ? m_l : m_r);
}

// And what it does carry.
static float flux(float f, float m_l, float m_r)
{
    return (f > 0.0f ? m_r : m_l) < TOO_FULL ? crossing(f, m_l, m_r) : 0.0f;
}

// 1. Mass. Cells may hold more than a float counts, so drops stay whole numbers. F keeps what would cross.
static void move_mass(plain_world *w)
{
    const plain_grid *g = &w->grid;
    int32_t *const before = w->mass;
    EACH_CELL(g, i) w->m[i] = (float)before[i] / DROPS;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = g->step[axis];
        EACH_CELL(g, i) w->F[axis][i] = crossing(w->flow[axis][i], w->m[i - A], w->m[i]);
        // Each face is booked once, to both of its cells: a face between two live cells is that of the higher one.
        EACH_CELL(g, i)
        {
            int32_t drops = (int32_t)(flux(w->flow[axis][i], w->m[i - A], w->m[i]) * DROPS);
            w->mass[i - A] -= drops;
            w->mass[i] += drops;
        }
    }
    EACH_CELL(g, i) w->m2[i] = (float)w->mass[i] / DROPS;
}

// The share of each cell's mass that leaves it.
static void find_leaving(plain_world *w)
{
    const plain_grid *g = &w->grid;
    EACH_CELL(g, i)
    {
        float out[3];
        for (int axis = 0; axis < 3; axis++)
            out[axis] = positive(w->flow[axis][i + g->step[axis]]) - negative(w->flow[axis][i]);
        w->q[i] = C * (out[0] + (out[1] + out[2]));
    }
}

// What comes into one cell across the axis: what crosses its transverse faces into it, times the part of the flow there that points out
// of the cell through our face. `part` takes that part.
static float across(float low_in, float u_low, float high_in, float u_high, float (*part)(float))
{
    return positive(low_in) * part(u_low) - negative(high_in) * part(u_high);
}

// 2. Momentum, 3. gravity.
static void carry_flow(plain_world *w)
{
    const plain_grid *g = &w->grid;
    const float gravity[3] = {w->params.gravity.x / C, w->params.gravity.y / C, w->params.gravity.z / C};
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = g->step[axis];
        const float *u = w->flow[axis], *along = w->F[axis];
        EACH_CELL(g, i)
        {
            int64_t l = i - A;
            float in = along[i - A] * positive(u[i - A]) - along[i + A] * negative(u[i + A]), sides[2];
            for (int k = 0; k < 2; k++) {
                int other = axis == 0 ? 1 + k : axis == 1 ? 2 * k : k;
                int64_t T = g->step[other];
                const float *v = w->F[other];
                sides[k] =
                    across(v[l], u[i - T], v[l + T], u[i + T], positive) + across(v[i], u[i - T], v[i + T], u[i + T], negative);
            }
            in = in + (sides[0] + sides[1]);
            float momentum = u[i] * (u[i] > 0.0f ? w->m[l] : w->m[i]), leaving = u[i] > 0.0f ? w->q[l] : w->q[i];
            float p = (momentum - momentum * leaving) + in, carrier = p > 0.0f ? w->m2[l] : w->m2[i];
            float open = (float)(w->there[l] * w->there[i]);
            float carried = carrier > w->params.empty ? open * p / carrier : 0.0f;
            float fallen = w->m2[l] + w->m2[i] > w->params.empty ? open * gravity[axis] : 0.0f;
            w->flow2[axis][i] = carried + fallen + 0.0f;
        }
    }
}

// 4. Pressure, from zero.
static void solve_pressure(plain_world *w)
{
    const plain_grid *g = &w->grid;
    const int64_t X = g->step[0], Y = g->step[1], Z = g->step[2];
    for (int axis = 0; axis < 3; axis++)
        EACH_CELL(g, i) w->F[axis][i] = flux(w->flow2[axis][i], w->m2[i - g->step[axis]], w->m2[i]);
    const float *Fx = w->F[0], *Fy = w->F[1], *Fz = w->F[2];
    EACH_CELL(g, i)
    {
        float net = ((Fx[i] - Fx[i + X]) + (Fz[i] - Fz[i + Z])) + (Fy[i] - Fy[i + Y]);
        w->divergence[i] = w->there[i] ? (w->m2[i] - 1.0f) + net : 0.0f;
        w->pressure[i] = 0.0f;
    }
    for (int32_t k = 0; k < w->params.classic.iterations; k++) {
        const float *P = w->pressure;
        EACH_CELL(g, i)
        {
            int32_t n =
                w->there[i - X] + w->there[i + X] + w->there[i - Y] + w->there[i + Y] + w->there[i - Z] + w->there[i + Z];
            float inverse = w->there[i] && n > 0 ? 1.0f / (float)n : 0.0f;
            float sum = ((P[i - X] + P[i + X]) + (P[i - Z] + P[i + Z])) + (P[i - Y] + P[i + Y]);
            float p = (w->divergence[i] * 2.0f + sum) * inverse;
            w->pressure2[i] = p > 1e-15f ? p : 0.0f;
        }
        EACH_CELL(g, i) w->pressure[i] = w->pressure2[i];
    }
}

// 4. and 5.: gradient, damping and limit.
static void project(plain_world *w)
{
    const float keep = 1.0f - w->params.classic.damping, limit = w->params.classic.max_flow;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t A = w->grid.step[axis];
        EACH_CELL(&w->grid, i)
        {
            float open = (float)(w->there[i - A] * w->there[i]);
            float pushed = (w->flow2[axis][i] + open * (w->pressure[i - A] - w->pressure[i])) * keep;
            w->flow[axis][i] = plain_still(plain_most(-limit, plain_least(limit, pushed)));
        }
    }
}

void plain_classic_update(plain_world *w)
{
    move_mass(w);
    find_leaving(w);
    carry_flow(w);
    plain_after_move(w);
    solve_pressure(w);
    project(w);
}
