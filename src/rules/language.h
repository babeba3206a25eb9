// What differs between C11 and OpenCL C 1.2, in one place. The rules below are written once against these few words; every
// operation in them gives the same bits in both languages as long as products and sums are not contracted.
#ifndef WEIR_RULES_LANGUAGE_H
#define WEIR_RULES_LANGUAGE_H

#ifdef __OPENCL_VERSION__
#pragma OPENCL FP_CONTRACT OFF
#define RULE static inline
typedef uint rule_bits;
#else
#include <stdint.h>
#define RULE static inline __attribute__((always_inline))
typedef uint32_t rule_bits;
#endif

// Drops in a full cell, and the fill of one drop.
#define RULE_DROPS 4194304.0f
#define RULE_DROP (1.0f / 4194304.0f)

RULE float rule_min(float a, float b)
{
    return a < b ? a : b;
}

RULE float rule_max(float a, float b)
{
    return a > b ? a : b;
}

// A zero may keep its sign or lose it: to be compared, not to be kept.
RULE float rule_abs(float a)
{
#ifdef __OPENCL_VERSION__
    return fabs(a);
#else
    return a < 0.0f ? -a : a;
#endif
}

// rule_min and rule_max for places where it does not matter which of two zeros they give: one instruction on a GPU.
RULE float rule_smaller(float a, float b)
{
#ifdef __OPENCL_VERSION__
    return fmin(a, b);
#else
    return rule_min(a, b);
#endif
}

RULE float rule_larger(float a, float b)
{
#ifdef __OPENCL_VERSION__
    return fmax(a, b);
#else
    return rule_max(a, b);
#endif
}

// Zero in place of numbers that mean nothing any more. Left alone they would fade into the range where processors count a hundred
// times slower.
RULE float rule_still(float a)
{
    return rule_abs(a) > 1e-15f ? a : 0.0f;
}

RULE float rule_clamp(float a, float limit)
{
    return rule_max(-limit, rule_min(limit, a));
}

#endif
