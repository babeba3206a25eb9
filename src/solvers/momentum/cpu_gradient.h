// The flow after the pressure, brick by brick (docs/how-it-works.md, R8 and R9, "Floors and films"). Part of cpu_kernels.c.
//
// R8 comes first, for all faces of a brick and for those next to them on their axis, since R9 looks at the faces before and behind. What
// follows it is done plane by plane, and left out where it changes nothing: between cells that hold much, or where nothing flows.
#ifndef WEIR_MOMENTUM_CPU_GRADIENT_H
#define WEIR_MOMENTUM_CPU_GRADIENT_H

#include "compute/cpu_brick.h"
#include "solvers/momentum/cpu_scratch.h"
#include "solvers/momentum/film.h"
#include "solvers/momentum/pressure.h"

// The brick next to another one, before or behind it on an axis.
static const uint8_t BEFORE[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
static const uint8_t BEHIND[3] = {NEAR(1, 0, 0), NEAR(0, 1, 0), NEAR(0, 0, 1)};

static inline size_t first_cell(int32_t brick)
{
    return (size_t)brick * BRICK_CELLS;
}

// ---- R8 --------------------------------------------------------------------------------------------------------------------

// R8 on some faces: w says which are open.
KERNEL push_faces(const int count, float *restrict out, const float *restrict f, const float *restrict w,
                  const float *restrict p_low, const float *restrict p_high, const momentum_args *a)
{
    const float damping = a->damping, calm = a->inverse_calm, limit = a->max_flow;
    LANES
    for (int c = 0; c < count; c++) out[c] = rule_damped_gradient(f[c], w[c], p_low[c], p_high[c], damping, calm, limit);
}

// The lower faces of a brick's plane that are open.
static uint64_t open_faces(const momentum_args *a, int32_t brick, int axis, int z)
{
    const mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    return open.own->plane[z] & plane_shifted(&open, z, axis, -1);
}

// R8 on all faces of a brick, to the places of its plane 0 in `out` and on by `stride` per plane. The pressure is in s->tile[0] and
// s->sides[0].
KERNEL push_brick(const momentum_args *a, const momentum_scratch *s, int32_t brick, float *const out[3], const int stride)
{
    const bool clear = a->bricks.clear[brick];
    const float damping = a->damping, calm = a->inverse_calm, limit = a->max_flow;
    for (int z = 0; z < 8; z++) {
        const float *restrict plane = s->tile[0] + PLANE_AT(z);
        const size_t at = first_cell(brick) + (size_t)(PLANE * z);
        float neighbour[PLANE], faces[3][PLANE];
        values_below_x(neighbour, plane, s->sides[0].low + PLANE * z);
        for (int axis = 0; axis < 3 && !clear; axis++)
            spread_flags(faces[axis], open_faces(a, brick, axis, z), a->bricks.flags);
        const float *restrict wx = clear ? a->bricks.ones : faces[0], *restrict wy = clear ? a->bricks.ones : faces[1];
        const float *restrict wz = clear ? a->bricks.ones : faces[2];
        const float *restrict x = a->flow_next[0] + at, *restrict y = a->flow_next[1] + at,
                              *restrict deep = a->flow_next[2] + at;
        float *restrict to_x = out[0] + stride * z, *restrict to_y = out[1] + stride * z, *restrict to_z = out[2] + stride * z;
        LANES
        for (int c = 0; c < PLANE; c++) {
            to_x[c] = rule_damped_gradient(x[c], wx[c], neighbour[c], plane[c], damping, calm, limit);
            to_y[c] = rule_damped_gradient(y[c], wy[c], plane[c - PY], plane[c], damping, calm, limit);
            to_z[c] = rule_damped_gradient(deep[c], wz[c], plane[c - PZ], plane[c], damping, calm, limit);
        }
    }
}

// R8 on the faces next to those of a plane on x: in the planes of the bricks before and behind, of which only the faces at x = 7 and at
// x = 0 mean anything. Values of two cells side by side that lie seven places apart in memory are brought together by reading the plane
// behind from seven places before it on. `before` and `behind` take part of what lies around their planes, too.
static void push_beside_x(const momentum_args *a, int32_t brick, int z, float *before, float *behind)
{
    const int32_t *near = a->bricks.near[brick], low = near[BEFORE[0]], high = near[BEHIND[0]];
    const bool clear = a->bricks.clear[brick];
    const float *flow = a->flow_next[0] + PLANE * z, *p = a->pressure + PLANE * z;
    float flags[16 + PLANE] = {0}, *w = flags + 16;
    if (!clear) spread_flags(w, open_faces(a, low, 0, z), a->bricks.flags);
    if (low != BRICK_NOTHING)
        push_faces(PLANE, before, flow + first_cell(low), clear ? a->bricks.ones : w, p + first_cell(low) - 1,
                   p + first_cell(low), a);
    if (!clear) spread_flags(w, open_faces(a, high, 0, z), a->bricks.flags);
    if (high != BRICK_NOTHING)
        push_faces(PLANE, behind - 7, flow + first_cell(high) - 7, clear ? a->bricks.ones : w - 7, p + first_cell(brick),
                   p + first_cell(high) - 7, a);
}

// And on y, for all planes: a row each.
static void push_beside_y(const momentum_args *a, momentum_scratch *s, int32_t brick)
{
    const int32_t *near = a->bricks.near[brick], low = near[BEFORE[1]], high = near[BEHIND[1]];
    const bool clear = a->bricks.clear[brick];
    const float *flow = a->flow_next[1], *p = a->pressure, *ones = a->bricks.ones;
    for (int z = 0; z < 8; z++) {
        const size_t before = first_cell(low) + (size_t)(PLANE * z + 7 * PY), behind = first_cell(high) + (size_t)(PLANE * z);
        const float *w_before = clear ? ones : a->bricks.flags[open_faces(a, low, 1, z) >> 56];
        const float *w_behind = clear ? ones : a->bricks.flags[open_faces(a, high, 1, z) & 255];
        float *to = s->pushed[1] + PLANE_AT(z);
        push_faces(PY, to - PY, flow + before, w_before, p + before - PY, p + before, a);
        push_faces(PY, to + 8 * PY, flow + behind, w_behind, s->tile[0] + PLANE_AT(z) + 7 * PY, p + behind, a);
    }
}

// And on z.
static void push_beside_z(const momentum_args *a, momentum_scratch *s, int32_t brick)
{
    const int32_t *near = a->bricks.near[brick], low = near[BEFORE[2]], high = near[BEHIND[2]];
    const bool clear = a->bricks.clear[brick];
    const float *flow = a->flow_next[2], *p = a->pressure;
    const size_t before = first_cell(low) + 7 * PLANE, behind = first_cell(high);
    float w_before[PLANE], w_behind[PLANE];
    if (!clear) spread_flags(w_before, open_faces(a, low, 2, 7), a->bricks.flags);
    if (!clear) spread_flags(w_behind, open_faces(a, high, 2, 0), a->bricks.flags);
    push_faces(PLANE, s->pushed[2] + PLANE_AT(-1), flow + before, clear ? a->bricks.ones : w_before, p + before - PLANE,
               p + before, a);
    push_faces(PLANE, s->pushed[2] + PLANE_AT(8), flow + behind, clear ? a->bricks.ones : w_behind, s->tile[0] + PLANE_AT(7),
               p + behind, a);
}

// ---- R9, friction and films ------------------------------------------------------------------------------------------------

// A plane of faces across one axis, and what lies around them on it.
typedef struct face_plane {
    const float *f, *f_before, *f_behind;  // after R8
    const float *m_low, *m_high;           // the fill of the cells at the face
} face_plane;

#define EMPTY_DONOR(c) \
    rule_empty_donor(f[c], before[c], behind[c], rule_is_empty(m_low[c], empty), rule_is_empty(m_high[c], empty))

// R9.
KERNEL donor_plane(float *restrict out, const face_plane *on, float empty)
{
    const float *restrict f = on->f, *restrict before = on->f_before, *restrict behind = on->f_behind;
    const float *restrict m_low = on->m_low, *restrict m_high = on->m_high;
    LANES
    for (int c = 0; c < PLANE; c++) out[c] = EMPTY_DONOR(c);
}

// R9 and R9b on faces across the axis of gravity; `up` is 1 or -1.
KERNEL rising_plane(float *restrict out, const face_plane *on, const float *restrict f_below, const float *restrict m_upper,
                    const float *restrict m_lower, const float *restrict m_below, const float *restrict p_lower,
                    const float *restrict p_air, const float *restrict open_upper, float up, float gap, float empty)
{
    const float *restrict f = on->f, *restrict before = on->f_before, *restrict behind = on->f_behind;
    const float *restrict m_low = on->m_low, *restrict m_high = on->m_high;
    LANES
    for (int c = 0; c < PLANE; c++)
        out[c] = rule_rising(EMPTY_DONOR(c), f_below[c], up, m_upper[c], m_lower[c], m_below[c], p_lower[c], p_air[c],
                             open_upper[c], gap, empty);
}

// R9, friction and films on the other faces. `on_low` and `on_high` say which of their cells stand on a floor; where none of a plane does, and
// `floors` says so, nothing has to be divided.
KERNEL film_plane(const bool floors, float *restrict out, const face_plane *on, const float *restrict on_low,
                  const float *restrict on_high, const momentum_args *a)
{
    const float film = a->film, drag = a->film_drag, friction = a->friction, empty = a->empty;
    const float *restrict f = on->f, *restrict before = on->f_before, *restrict behind = on->f_behind;
    const float *restrict m_low = on->m_low, *restrict m_high = on->m_high;
    LANES
    for (int c = 0; c < PLANE; c++) {
        const bool floor_low = floors && on_low[c] > 0.0f, floor_high = floors && on_high[c] > 0.0f;
        float rubbed = rule_friction(EMPTY_DONOR(c), rule_choose(floor_low & floor_high, friction, 0.0f));
        out[c] = rule_film(rubbed, m_low[c], m_high[c], floor_low, floor_high, film, drag, empty);
    }
}
#undef EMPTY_DONOR

// The cells of a brick's plane z that stand on a floor, and those whose neighbour before them on an axis does.
static uint64_t floor_plane(const momentum_args *a, int32_t brick, int z)
{
    const mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    return ~plane_shifted(&open, z, a->down_axis, a->down_sign);
}

static uint64_t floor_plane_before(const momentum_args *a, int32_t brick, int axis, int z)
{
    const int32_t *near = a->bricks.near[brick];
    uint64_t own = floor_plane(a, brick, z);
    if (axis == 0) return (own << 1 & ~COLUMN_0) | (floor_plane(a, near[BEFORE[0]], z) >> 7 & COLUMN_0);
    if (axis == 1) return own << 8 | floor_plane(a, near[BEFORE[1]], z) >> 56;
    return z > 0 ? floor_plane(a, brick, z - 1) : floor_plane(a, near[BEFORE[2]], 7);
}

// Friction between cells that hold much, on the faces that lie over a floor.
static void rub_plane(const momentum_args *a, int32_t brick, int axis, int z, float *restrict f)
{
    if (a->bricks.clear[brick] || a->friction == 0.0f || axis == a->down_axis) return;
    const uint64_t floors = floor_plane(a, brick, z) & floor_plane_before(a, brick, axis, z);
    if (floors == 0) return;
    float on_floor[PLANE];
    spread_flags(on_floor, floors, a->bricks.flags);
    LANES
    for (int c = 0; c < PLANE; c++) f[c] = rule_friction(f[c], a->friction * on_floor[c]);
}

static void finish_film(const momentum_args *a, int32_t brick, int axis, int z, const face_plane *on, float *out)
{
    const bool clear = a->bricks.clear[brick];
    const uint64_t low = clear ? 0 : floor_plane_before(a, brick, axis, z), high = clear ? 0 : floor_plane(a, brick, z);
    if ((low | high) == 0) {
        film_plane(false, out, on, NULL, NULL, a);
        return;
    }
    float on_low[PLANE], on_high[PLANE];
    spread_flags(on_low, low, a->bricks.flags);
    spread_flags(on_high, high, a->bricks.flags);
    film_plane(true, out, on, on_low, on_high, a);
}

// The fill of a brick's plane that lies before or behind the one with the fill m, at x + step.
static void fill_beside_x(const momentum_args *a, int32_t brick, int z, const float *m, const int step, float *out)
{
    float beyond[16 + PLANE + 16] = {0};
    const int32_t side = a->bricks.near[brick][step < 0 ? BEFORE[0] : BEHIND[0]];
    fill_cells(beyond + 16, a->mass_next + first_cell(side) + PLANE * z, PLANE);
    values_along_x(out, m, beyond + 16, step);
}

static void finish_rising(const momentum_args *a, const momentum_scratch *s, int32_t brick, int z, const face_plane *on,
                          float *out)
{
    const int axis = a->down_axis;
    const bool falls = a->down_sign < 0;  // down is towards lower coordinates
    const int m_stride = axis == 1 ? PY : MZ, p_stride = axis == 1 ? PY : PZ;
    const float *m = on->m_high, *p = s->tile[0] + PLANE_AT(z);
    const float *m_below = falls ? m - 2 * m_stride : m + m_stride, *p_lower = falls ? p - p_stride : p;
    const float *p_upper = falls ? p : p - p_stride;
    float m_beside[PLANE], p_beside[PLANE], flags[PLANE];
    if (axis == 0) {
        if (falls)
            fill_beside_x(a, brick, z, m, -2, m_beside);
        else
            fill_beside_x(a, brick, z, m, 1, m_beside);
        values_below_x(p_beside, p, s->sides[0].low + PLANE * z);
        m_below = m_beside;
        p_lower = falls ? p_beside : p;
        p_upper = falls ? p : p_beside;
    }
    static const float open_air[PLANE];
    const mask_view open = view_mask(a->bricks.open, a->bricks.near[brick]);
    spread_flags(flags, falls ? open.own->plane[z] : plane_shifted(&open, z, axis, -1), a->bricks.flags);
    rising_plane(out, on, falls ? on->f_before : on->f_behind, falls ? m : on->m_low, falls ? on->m_low : m, m_below, p_lower,
                 a->air > 0.0f ? p_upper : open_air, flags, falls ? 1.0f : -1.0f, RISING_GAP * a->head, a->empty);
}

// All of them on a plane of faces with cells of little fill.
static void finish_plane(const momentum_args *a, const momentum_scratch *s, int32_t brick, int axis, int z, float *out)
{
    const float *f = s->pushed[axis] + PLANE_AT(z), *m = s->fill[0] + FILL_PLANE_AT(z);
    float before[PLANE], behind[PLANE], m_beside[PLANE];
    face_plane on = {f, before, behind, m_beside, m};
    if (axis == 0) {
        float beside[2][16 + PLANE + 16] = {0};
        push_beside_x(a, brick, z, beside[0] + 16, beside[1] + 16);
        values_along_x(before, f, beside[0] + 16, -1);
        values_along_x(behind, f, beside[1] + 16, 1);
        fill_beside_x(a, brick, z, m, -1, m_beside);
    } else {
        const int stride = axis == 1 ? PY : PZ;
        on = (face_plane){f, f - stride, f + stride, m - (axis == 1 ? PY : MZ), m};
    }
    if (a->down_sign == 0)
        donor_plane(out, &on, a->empty);
    else if (axis == a->down_axis)
        finish_rising(a, s, brick, z, &on, out);
    else
        finish_film(a, brick, axis, z, &on, out);
}

// ---- A brick ---------------------------------------------------------------------------------------------------------------

// Whether a plane of faces carries nothing, bit for bit.
static inline bool plane_is_still(const float *f)
{
    uint32_t any = 0;
    for (int c = 0; c < PLANE; c++) any |= float_bits(f[c]);
    return any == 0;
}

// Whether the pressure in a brick and beyond its lower sides is one and the same, bit for bit, as far as there is a brick.
static bool below_is_all(const float *tile, const float *low, const int32_t near[27], float value)
{
    const uint32_t bits = float_bits(value);
    uint32_t other = 0;
    for (int z = 0; z < 8; z++)
        for (int i = PLANE_AT(z); i < PLANE_AT(z) + PLANE; i++) other |= float_bits(tile[i]) ^ bits;
    for (int i = PLANE_AT(-1); i < PLANE_AT(-1) + PLANE && near[BEFORE[2]]; i++) other |= float_bits(tile[i]) ^ bits;
    for (int z = 0; z < 8 && near[BEFORE[1]]; z++)
        for (int i = PLANE_AT(z) - PY; i < PLANE_AT(z); i++) other |= float_bits(tile[i]) ^ bits;
    for (int row = 0; row < 64 && near[BEFORE[0]]; row++) other |= float_bits(low[8 * row]) ^ bits;
    return other == 0;
}

static bool is_thick(const momentum_args *a, int32_t brick)
{
    return mask_empty(&a->thin[brick]);
}

static void gradient_brick(const momentum_args *a, momentum_scratch *s, int32_t brick)
{
    const int32_t *near = a->bricks.near[brick];
    const size_t at = first_cell(brick);
    gather_planes(s->tile[0], a->pressure, brick);
    gather_rows_below(s->tile[0], a->pressure, near);
    gather_low(s->sides[0].low, a->pressure, near);
    if (a->dry[brick] && below_is_all(s->tile[0], s->sides[0].low, near, a->air > 0.0f ? a->calm_air[brick] : 0.0f)) {
        for (int axis = 0; axis < 3; axis++) memset(a->flow[axis] + at, 0, BRICK_CELLS * sizeof(float));
        return;
    }
    float *out[3] = {a->flow[0] + at, a->flow[1] + at, a->flow[2] + at};
    float *pushed[3] = {s->pushed[0] + PLANE_AT(0), s->pushed[1] + PLANE_AT(0), s->pushed[2] + PLANE_AT(0)};
    if (is_thick(a, brick) && is_thick(a, near[BEFORE[0]]) && is_thick(a, near[BEFORE[1]]) && is_thick(a, near[BEFORE[2]])) {
        push_brick(a, s, brick, out, PLANE);
        for (int axis = 0; axis < 3; axis++)
            for (int z = 0; z < 8; z++) rub_plane(a, brick, axis, z, out[axis] + PLANE * z);
        return;
    }
    push_brick(a, s, brick, pushed, PZ);
    push_beside_y(a, s, brick);
    push_beside_z(a, s, brick);
    gather_brick_fill(s->fill[0], a->mass_next, near);
    const mask_view thin = view_mask(a->thin, near);
    for (int axis = 0; axis < 3; axis++) {
        for (int z = 0; z < 8; z++) {
            const float *f = pushed[axis] + PZ * z;
            float *to = out[axis] + PLANE * z;
            if ((thin.own->plane[z] | plane_shifted(&thin, z, axis, -1)) == 0) {
                memcpy(to, f, PLANE * sizeof *to);
                rub_plane(a, brick, axis, z, to);
            } else if (axis != a->down_axis && plane_is_still(f)) {
                memset(to, 0, PLANE * sizeof *to);
            } else {
                finish_plane(a, s, brick, axis, z, to);
            }
        }
    }
}

static void gradient_run(const momentum_args *a, momentum_scratch *s, const brick_run *r)
{
    must_be_run(&a->bricks, r);
    for (int k = 0; k < r->count; k++) {
        gradient_brick(a, s, r->brick[k]);
        for (int axis = 0; axis < 3; axis++) must_be_within(a->flow[axis] + first_cell(r->brick[k]), BRICK_CELLS, a->max_flow);
    }
}

#endif
