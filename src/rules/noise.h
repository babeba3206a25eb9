// R5: noise that breaks symmetry. It depends on the cell, the update and the seed alone, so it is the same on every machine.
#ifndef WEIR_RULES_NOISE_H
#define WEIR_RULES_NOISE_H

#include "rules/language.h"

RULE rule_bits rule_mix(rule_bits a)
{
    a ^= a >> 16;
    a *= 0x7feb352du;
    a ^= a >> 15;
    a *= 0x846ca68bu;
    return a ^ (a >> 16);
}

// A number from -1 to 1 for the low face of a cell on an axis.
RULE float rule_noise(int x, int y, int z, int axis, rule_bits seed, rule_bits update)
{
    rule_bits h = rule_mix((rule_bits)z ^ rule_mix((rule_bits)axis + seed));
    h = rule_mix((rule_bits)x ^ rule_mix((rule_bits)y ^ h));
    h = rule_mix(h ^ update);
    return (float)((int)(h >> 8) - 8388608) * (1.0f / 8388608.0f);
}

#endif
