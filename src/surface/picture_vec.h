// Small vectors for the ray caster: directions, normals and colours (linear light, 0 to 1 and above) are weir_vec.
#ifndef WEIR_SURFACE_PICTURE_VEC_H
#define WEIR_SURFACE_PICTURE_VEC_H

#include <math.h>
#include <weir/types.h>

// Four numbers that are computed with at once, where the processor can: along x, y and z, and one that stands for nothing. A function
// gets four doubles by their address: how they would be passed depends on the processor.
typedef float four_floats __attribute__((vector_size(16)));
typedef double four_doubles __attribute__((vector_size(32)));
typedef int32_t four_ints __attribute__((vector_size(16)));

static inline weir_vec vec(float x, float y, float z)
{
    return (weir_vec){x, y, z};
}

static inline weir_vec vec_add(weir_vec a, weir_vec b)
{
    return vec(a.x + b.x, a.y + b.y, a.z + b.z);
}

static inline weir_vec vec_sub(weir_vec a, weir_vec b)
{
    return vec(a.x - b.x, a.y - b.y, a.z - b.z);
}

// Part by part, as light and surfaces are.
static inline weir_vec vec_mul(weir_vec a, weir_vec b)
{
    return vec(a.x * b.x, a.y * b.y, a.z * b.z);
}

static inline weir_vec vec_scale(weir_vec a, float s)
{
    return vec(a.x * s, a.y * s, a.z * s);
}

static inline float vec_dot(weir_vec a, weir_vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline weir_vec vec_cross(weir_vec a, weir_vec b)
{
    return vec(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

static inline weir_vec vec_unit(weir_vec a)
{
    float length = sqrtf(vec_dot(a, a));
    return length > 0 ? vec_scale(a, 1 / length) : a;
}

static inline weir_vec vec_mix(weir_vec a, weir_vec b, float share)
{
    return vec_add(vec_scale(a, 1 - share), vec_scale(b, share));
}

// As fminf and fmaxf, but for NaN: one instruction each.
static inline float least_of(float a, float b)
{
    return a < b ? a : b;
}

static inline float most_of(float a, float b)
{
    return a > b ? a : b;
}

static inline float clampf(float value, float low, float high)
{
    return value < low ? low : value > high ? high : value;
}

// From 0 to `most`.
static inline four_ints four_clamp(four_ints v, four_ints most)
{
    v &= v > 0;
    four_ints less = v < most;
    return (v & less) | (most & ~less);
}

// From 0 to 1. Floats of at least 0 are in the order of their bits, and integers are compared sooner.
static inline four_floats four_clamp_to_one(four_floats v)
{
    const four_ints one = (four_ints)(four_floats){1, 1, 1, 1};
    four_ints bits = (four_ints)v & ~((four_ints)v >> 31), above = bits > one;
    return (four_floats)((bits & ~above) | (one & above));
}

// 0 below `from`, 1 above `to`, without a kink between.
static inline float smooth_step(float from, float to, float value)
{
    float s = clampf((value - from) / (to - from), 0, 1);
    return s * s * (3 - 2 * s);
}

#endif
