// The operations that rules are made of, written once for the processor and for OpenCL devices: opencl_self_test.c compares their
// results bit for bit. Operands and results are bit patterns, so that nothing on the way rounds them.
#ifndef WEIR_COMPUTE_SELF_TEST_H
#define WEIR_COMPUTE_SELF_TEST_H

#include "cells/language.h"

#ifdef __OPENCL_VERSION__
#define self_test_float(bits) as_float(bits)
#define self_test_bits(value) as_uint(value)
#define self_test_root(value) sqrt(value)
#else
#include <math.h>
#include <string.h>

RULE float self_test_float(rule_bits bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

RULE rule_bits self_test_bits(float value)
{
    rule_bits bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define self_test_root(value) sqrtf(value)
#endif

// A fused operation, which rounds once where two operations round twice, shows in the products that are followed by sums.
#define SELF_TEST_LIST(ITEM)                                  \
    ITEM(SUM, "a sum")                                        \
    ITEM(DIFFERENCE, "a difference")                          \
    ITEM(PRODUCT, "a product")                                \
    ITEM(QUOTIENT, "a quotient")                              \
    ITEM(ROOT, "a square root")                               \
    ITEM(PRODUCT_SUM, "a product followed by a sum")          \
    ITEM(PRODUCT_DIFFERENCE, "a product taken from a number") \
    ITEM(PRODUCTS, "a difference of two products")            \
    ITEM(COMPARISON, "a comparison")                          \
    ITEM(LESSER, "the lesser of two numbers")                 \
    ITEM(GREATER, "the greater of two numbers")               \
    ITEM(UNIT, "a number limited to 1")                       \
    ITEM(WHOLE, "what is whole of a number")                  \
    ITEM(DIVIDED, "a quotient of a number that may be zero")  \
    ITEM(DIVIDED_IF, "a quotient that is asked for")          \
    ITEM(FROM_INTEGER, "a whole number turned into a float")  \
    ITEM(TO_INTEGER, "a float turned into a whole number")

enum {
#define SELF_TEST_ENUM(name, text) SELF_TEST_##name,
    SELF_TEST_LIST(SELF_TEST_ENUM)
#undef SELF_TEST_ENUM
        SELF_TEST_OPERATIONS
};

#define SELF_TEST_PATTERNS 6144  // triples of operands

// Which NaN an operation gives is nobody's promise.
RULE rule_bits self_test_result(float value)
{
    return value == value ? self_test_bits(value) : 0x7fc00000u;
}

// For the test that a broken contract is noticed.
RULE float self_test_product_sum(float a, float b, float c)
{
#if defined(__OPENCL_VERSION__) && defined(BREAK_CONTRACT)
    return fma(a, b, c);
#else
    return a * b + c;
#endif
}

RULE rule_bits self_test_operation(int operation, rule_bits a_bits, rule_bits b_bits, rule_bits c_bits)
{
    float a = self_test_float(a_bits), b = self_test_float(b_bits), c = self_test_float(c_bits);
    bool numbers = a == a && b == b;  // no rule compares others
    // What lies outside the whole numbers has no meaning that is the same everywhere.
    float inside = rule_abs(a) < 2147483648.0f ? a : 0.0f;
    float some_zero = c > 0.0f ? rule_abs(a) : 0.0f;
    switch (operation) {
    case SELF_TEST_SUM: return self_test_result(a + b);
    case SELF_TEST_DIFFERENCE: return self_test_result(a - b);
    case SELF_TEST_PRODUCT: return self_test_result(a * b);
    case SELF_TEST_QUOTIENT: return self_test_result(a / b);
    case SELF_TEST_ROOT: return self_test_result(self_test_root(rule_abs(a)));
    case SELF_TEST_PRODUCT_SUM: return self_test_result(self_test_product_sum(a, b, c));
    case SELF_TEST_PRODUCT_DIFFERENCE: return self_test_result(c - a * b);
    case SELF_TEST_PRODUCTS: return self_test_result(a * b - b * c);
    case SELF_TEST_COMPARISON: return (a < b ? 1u : 0u) | (a > b ? 2u : 0u) | (a == b ? 4u : 0u) | (a > 0.0f ? 8u : 0u);
    case SELF_TEST_LESSER: return numbers ? self_test_bits(rule_least(rule_abs(a), rule_abs(b))) : 0u;
    case SELF_TEST_GREATER: return numbers ? self_test_bits(rule_most(rule_abs(a), rule_abs(b))) : 0u;
    case SELF_TEST_UNIT: return numbers ? self_test_bits(rule_unit(rule_abs(a))) : 0u;
    case SELF_TEST_FROM_INTEGER: return self_test_bits((float)(int)a_bits);
    // Of zero either sign will do.
    case SELF_TEST_WHOLE: return self_test_bits(rule_whole(inside) + 0.0f);
    case SELF_TEST_DIVIDED: return numbers && b != 0.0f ? self_test_result(rule_divided(some_zero, rule_abs(b))) : 0u;
    case SELF_TEST_DIVIDED_IF:
        return numbers ? self_test_result(rule_divided_if(b > 0.0f, some_zero, rule_max(rule_abs(b), 1e-30f)) + 0.0f) : 0u;
    default: return (rule_bits)(int)inside;
    }
}

#endif
