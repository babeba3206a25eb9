// Kernels that find out which bricks have come to rest (docs/how-it-works.md, "Sleep"). Part of cpu_kernels.c.
#ifndef WEIR_MOMENTUM_CPU_REST_H
#define WEIR_MOMENTUM_CPU_REST_H

#include "cells/sleep.h"
#include "solvers/momentum/cpu_scratch.h"

// One value of every cell of a brick, and of the cells before them on an axis: its own, shifted, and the last ones of its neighbour.
static void shift_cells(float *restrict low, const float *restrict own, const float *restrict before, int axis)
{
    const int s = 1 << (3 * axis);
    memcpy(low + s, own, (size_t)(BRICK_CELLS - s) * sizeof *low);
    for (int j = 0; j < 8; j++)
        for (int i = 0; i < 8; i++) {
            const int at = axis == 0 ? 8 * i + 64 * j : axis == 1 ? i + 64 * j : i + 8 * j;
            low[at] = before[at + 7 * s];
        }
}

static void read_fills(const momentum_args *a, int32_t brick, float *restrict m)
{
    const int32_t *restrict mass = a->mass + (size_t)brick * BRICK_CELLS;
    LANES
    for (int i = 0; i < BRICK_CELLS; i++) m[i] = (float)mass[i] * (1.0f / RULE_DROPS);
}

static void read_open(const momentum_args *a, int32_t brick, float *open)
{
    for (int z = 0; z < 8; z++) spread_flags(open + 64 * z, a->bricks.open[brick].plane[z], a->bricks.flags);
}

static float largest_flux(const float *restrict f, const float *restrict low, const float *restrict high, float fast)
{
    float most[8] = {0};
    for (int i = 0; i < BRICK_CELLS; i += 8) {
        LANES
        for (int k = 0; k < 8; k++) most[k] = rule_max(most[k], rule_rest_flux(f[i + k], low[i + k], high[i + k], fast));
    }
    for (int k = 1; k < 8; k++) most[0] = rule_max(most[0], most[k]);
    return most[0];
}

// Every cell before a face and behind it: fills, pressures, and 1 where they are open.
typedef struct rest_faces {
    float m[2][BRICK_CELLS], p[2][BRICK_CELLS], open[2][BRICK_CELLS];
} rest_faces;

static inline float kick_at(const rest_faces *s, int at, float g)
{
    return s->open[0][at] * s->open[1][at] * rule_rest_kick(s->p[0][at], s->p[1][at], s->m[0][at], s->m[1][at], g);
}

static float largest_kick(const rest_faces *s, float g)
{
    float most[8] = {0};
    for (int i = 0; i < BRICK_CELLS; i += 8)
        for (int k = 0; k < 8; k++) most[k] = rule_max(most[k], kick_at(s, i + k, g));
    for (int k = 1; k < 8; k++) most[0] = rule_max(most[0], most[k]);
    return most[0];
}

// Only that of the first faces on an axis, those to the brick before.
static float largest_kick_before(const rest_faces *s, float g, int axis)
{
    const int step = 1 << (3 * axis);
    float most = 0.0f;
    for (int i = 0; i < 64; i++) most = rule_max(most, kick_at(s, i / step * 8 * step + i % step, g));
    return most;
}

// The faces between a brick and the one before it on an axis, and those within it.
static void read_faces(const momentum_args *a, int32_t before, int32_t brick, int axis, rest_faces *s)
{
    float other[BRICK_CELLS];
    read_fills(a, brick, s->m[1]);
    read_fills(a, before, other);
    shift_cells(s->m[0], s->m[1], other, axis);
    memcpy(s->p[1], a->pressure + (size_t)brick * BRICK_CELLS, sizeof s->p[1]);
    shift_cells(s->p[0], s->p[1], a->pressure + (size_t)before * BRICK_CELLS, axis);
    read_open(a, brick, s->open[1]);
    read_open(a, before, other);
    shift_cells(s->open[0], s->open[1], other, axis);
}

static bool sleeps(const momentum_args *a, int32_t brick)
{
    return a->bricks.phase[brick] == PHASE_ASLEEP && a->bricks.wet[brick];
}

static int rest_of_brick(const momentum_args *a, int32_t brick)
{
    static const uint8_t before[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
    static const uint8_t behind[3] = {NEAR(1, 0, 0), NEAR(0, 1, 0), NEAR(0, 0, 1)};
    const int32_t *near = a->near_all[brick];
    const float moves = a->rest_flux, fast = REST_FAST * moves;
    float own[BRICK_CELLS], other[BRICK_CELLS], low[BRICK_CELLS], kick = 0.0f, flux = 0.0f, swell = 0.0f;
    bool pushes = false;
    rest_faces s;
    if (!a->bricks.wet[brick]) return MOTION_QUIET;
    read_fills(a, brick, own);
    for (int axis = 0; axis < 3; axis++) {
        const int32_t above = near[behind[axis]];
        read_fills(a, near[before[axis]], other);
        shift_cells(low, own, other, axis);
        flux = rule_max(flux, largest_flux(a->flow[axis] + (size_t)brick * BRICK_CELLS, low, own, fast));
        if (a->bricks.phase[above] == PHASE_RIM) {
            // Only its faces to this brick carry anything of its lower ones that this brick could see.
            float faces[BRICK_CELLS] = {0};
            const float *from = a->flow[axis] + (size_t)above * BRICK_CELLS;
            for (int i = 0; i < BRICK_CELLS; i++) faces[i] = (i >> (3 * axis)) % 8 == 0 ? from[i] : 0.0f;
            read_fills(a, above, other);
            shift_cells(low, other, own, axis);
            flux = rule_max(flux, largest_flux(faces, low, other, fast));
        }
        if (flux > REST_WILD * moves) return rule_motion(flux, 0.0f, 0.0f, a->viscosity, moves, a->head);
    }
    if (flux > moves) return rule_motion(flux, 0.0f, 0.0f, a->viscosity, moves, a->head);
    for (int axis = 0; axis < 3; axis++) {
        const int32_t under = near[before[axis]], above = near[behind[axis]];
        read_faces(a, under, brick, axis, &s);
        kick = rule_max(kick, largest_kick(&s, a->gravity[axis]));
        if (sleeps(a, under)) pushes |= rule_rest_pushes(largest_kick_before(&s, a->gravity[axis], axis), a->head);
        if (a->bricks.phase[under] == PHASE_RIM) swell = rule_max(swell, largest_kick_before(&s, a->gravity[axis], axis));
        if (a->bricks.phase[above] == PHASE_AWAKE) continue;
        read_faces(a, brick, above, axis, &s);
        const float upper = largest_kick_before(&s, a->gravity[axis], axis);
        kick = rule_max(kick, upper);
        if (a->bricks.phase[above] == PHASE_RIM) swell = rule_max(swell, upper);
        if (sleeps(a, above)) pushes |= rule_rest_pushes(upper, a->head);
    }
    return rule_motion(flux, kick, swell, a->viscosity, moves, a->head) | (pushes ? MOTION_PUSHES : 0);
}

static int count_open(const momentum_args *a, int32_t brick)
{
    int count = 0;
    for (int z = 0; z < 8; z++) count += __builtin_popcountll(a->bricks.open[brick].plane[z]);
    return count;
}

static bool lies_beside_rim(const momentum_args *a, int32_t brick)
{
    for (int k = 0; k < 27; k++)
        if (a->bricks.phase[a->near_all[brick][k]] == PHASE_RIM) return true;
    return false;
}

static void damp_brick(const momentum_args *a, int32_t brick, const float loss[3])
{
    static const uint8_t before[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
    float own[BRICK_CELLS], other[BRICK_CELLS], low[BRICK_CELLS];
    read_fills(a, brick, own);
    for (int axis = 0; axis < 3; axis++) {
        float *restrict flow = a->flow[axis] + (size_t)brick * BRICK_CELLS;
        if (loss[axis] == 0.0f) continue;
        read_fills(a, a->near_all[brick][before[axis]], other);
        shift_cells(low, own, other, axis);
        LANES
        for (int i = 0; i < BRICK_CELLS; i++) flow[i] = rule_rest_damped(flow[i], low[i], own[i], loss[axis]);
    }
}

// Lets still water come to rest, and finds out how much each brick moves.
static void rest_run(const momentum_args *a, const brick_run *r)
{
    for (int k = 0; k < r->count; k++) {
        const int32_t brick = r->brick[k];
        const brick_rest *rest = &a->rest[brick];
        if (a->bricks.wet[brick] && (rest->calm > 0 || rest->driven)) {
            const bool beside_rim = lies_beside_rim(a, brick);
            const int open = count_open(a, brick);
            float loss[3];
            for (int axis = 0; axis < 3; axis++)
                loss[axis] = rule_rest_loss(rest->calm, rest->gentle, rest->driven, beside_rim, open, axis == a->down_axis);
            if (loss[a->down_axis] > 0.0f) damp_brick(a, brick, loss);  // nowhere is it larger
        }
        a->motion[brick] = (uint8_t)rest_of_brick(a, brick);
    }
}

#endif
