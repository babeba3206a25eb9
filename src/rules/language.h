// What differs between C11 and OpenCL C 1.2, in one place. The rules below are written once against these few words; every
// operation in them gives the same bits in both languages as long as products and sums are not contracted.
#ifndef WEIR_RULES_LANGUAGE_H
#define WEIR_RULES_LANGUAGE_H

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define RULE static inline
#define RULE_ABS(a) fabs(a)
typedef uint rule_bits;
#else
#include <stdint.h>
#define RULE static inline __attribute__((always_inline))
#define RULE_ABS(a) __builtin_fabsf(a)
typedef uint32_t rule_bits;
#endif

// Drops in a full cell, and the fill of one drop.
#define RULE_DROPS 4194304.0f
#define RULE_DROP (1.0f / 4194304.0f)

// A float's bits as a number, and back. Positive floats are in the order of their bits.
RULE int rule_as_int(float a)
{
#ifdef __OPENCL_VERSION__
    return as_int(a);
#else
    int bits;
    __builtin_memcpy(&bits, &a, sizeof bits);
    return bits;
#endif
}

RULE float rule_as_float(int bits)
{
#ifdef __OPENCL_VERSION__
    return as_float(bits);
#else
    float a;
    __builtin_memcpy(&a, &bits, sizeof a);
    return a;
#endif
}

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

RULE float rule_min(float a, float b)
{
    return a < b ? a : b;
}

RULE float rule_max(float a, float b)
{
    return a > b ? a : b;
}

RULE float rule_abs(float a)
{
    return RULE_ABS(a);
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
