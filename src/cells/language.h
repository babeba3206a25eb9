// What differs between C11 and OpenCL C 1.2, in one place. The rules below are written once against these few words; every
// operation in them gives the same bits in both languages as long as products and sums are not contracted.
#ifndef WEIR_CELLS_LANGUAGE_H
#define WEIR_CELLS_LANGUAGE_H

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define RULE static inline
#define rule_abs fabs
// One instruction each on a device. They differ from those of C below only in what they make of NaN and of two zeros, and no rule
// depends on either.
#define rule_least fmin
#define rule_most fmax
#define rule_unit(a) clamp(a, 0.0f, 1.0f)
#define rule_whole trunc
#define rule_as_int as_int
#define rule_as_float as_float
#define rule_choose(asked, a, b) ((asked) ? (a) : (b))
typedef uint rule_bits;
typedef uint rule_mask;  // a bit for each of some cells, as many as are worked on at once

// a / b of numbers that are not negative. Most a are zero, and devices divide zero slowly: so 1 takes its place.
RULE float rule_divided(float a, float b)
{
    float some = (a > 0.0f ? a : 1.0f) / b;
    return a > 0.0f ? some : 0.0f;
}

// a / b, and 0 where that is not asked for or a is zero; b is positive where it is asked for. Dividing is left out where it can be.
RULE float rule_divided_if(bool asked, float a, float b)
{
    float result = 0.0f;
    if (asked && a != 0.0f) result = a / b;
    return result;
}
#else
#include <stdbool.h>
#include <stdint.h>
#define RULE static inline __attribute__((always_inline))
#define rule_abs __builtin_fabsf
typedef uint32_t rule_bits;
typedef uint64_t rule_mask;

RULE float rule_divided(float a, float b)
{
    return a / b;
}

// Without a branch, which would keep lanes apart.
RULE float rule_divided_if(bool asked, float a, float b)
{
    float result = a / (b > 1e-30f ? b : 1e-30f);
    return asked ? result : 0.0f;
}

RULE int rule_as_int(float a)
{
    union {
        float f;
        int32_t i;
    } same = {a};
    return same.i;
}

RULE float rule_as_float(int a)
{
    union {
        int32_t i;
        float f;
    } same = {a};
    return same.f;
}

// a where that is asked for, else b, both of which are at hand. In a function, so that they are: of a choice between two places in memory
// compilers make a choice of addresses, which keeps lanes apart.
RULE float rule_choose(bool asked, float a, float b)
{
    return asked ? a : b;
}

// What is whole of a number, towards zero; of what is none either zero.
RULE float rule_whole(float a)
{
    return (float)(int)a;
}

// rule_min and rule_max for numbers of which b is not negative: their order is that of their bits, which takes one instruction on more
// machines.
RULE float rule_least(float a, float b)
{
    return rule_as_float(rule_as_int(a) < rule_as_int(b) ? rule_as_int(a) : rule_as_int(b));
}

RULE float rule_most(float a, float b)
{
    return rule_as_float(rule_as_int(a) > rule_as_int(b) ? rule_as_int(a) : rule_as_int(b));
}

// The lesser of 1 and a number that is not negative.
RULE float rule_unit(float a)
{
    return rule_least(a, 1.0f);
}
#endif

// Drops in a full cell, and the fill of one drop.
#define RULE_DROPS 4194304.0f
#define RULE_DROP (1.0f / 4194304.0f)

// What is above and what is below zero of a number; of -0 either zero. Written on bits, since compilers make one instruction of this
// in any register, and three of a comparison of floats in a wide one.
RULE float rule_positive(float a)
{
    int bits = rule_as_int(a);
    return rule_as_float(bits > 0 ? bits : 0);
}

RULE float rule_negative(float a)
{
    int bits = rule_as_int(a);
    return rule_as_float(bits < 0 ? bits : 0);
}

// a where b is positive, -a where it is negative.
RULE float rule_times_sign(float a, float b)
{
    return rule_as_float(rule_as_int(a) ^ (rule_as_int(b) & (int)0x80000000u));
}

RULE float rule_min(float a, float b)
{
    return a < b ? a : b;
}

RULE float rule_max(float a, float b)
{
    return a > b ? a : b;
}

// Zero in place of numbers that mean nothing any more. Left alone they would fade into the range where processors count a hundred
// times slower.
#define RULE_STILL 1e-15f

RULE float rule_still(float a)
{
    return rule_abs(a) > RULE_STILL ? a : 0.0f;
}

RULE float rule_clamp(float a, float limit)
{
    return rule_max(-limit, rule_min(limit, a));
}

#endif
