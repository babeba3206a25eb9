// R5: what acts on a face besides the water: the forces of regions, and noise that breaks symmetry.
#ifndef WEIR_CELLS_FORCES_H
#define WEIR_CELLS_FORCES_H

#include "cells/language.h"

RULE rule_bits rule_mix(rule_bits a)
{
    a ^= a >> 16;
    a *= 0x7feb352du;
    a ^= a >> 15;
    a *= 0x846ca68bu;
    return a ^ (a >> 16);
}

// Flow with a push from forces, where the two cells at the face hold enough together; w is 1 if both are open, and 0 if not.
RULE float rule_force(float f, float w, float push, float fills, float empty)
{
    return fills > empty ? f + w * push : f;
}

// A number from -1 to 1 for the low face of a cell on an axis. It depends on the cell, the update and the seed alone, so it is the same
// on every machine.
RULE float rule_noise(int x, int y, int z, int axis, rule_bits seed, rule_bits update)
{
    rule_bits h = rule_mix((rule_bits)z ^ rule_mix((rule_bits)axis + seed));
    h = rule_mix((rule_bits)x ^ rule_mix((rule_bits)y ^ h));
    h = rule_mix(h ^ update);
    return (float)((int)(h >> 8) - 8388608) * (1.0f / 8388608.0f);
}

RULE float rule_noisy(float f, float noise, int x, int y, int z, int axis, rule_bits seed, rule_bits update)
{
    return f * (1.0f + noise * rule_noise(x, y, z, axis, seed, update));
}

// Both on the low face of a cell on an axis. Noise leaves the axis alone along which water falls.
RULE float rule_pushed(float f, float w, float push, float fills, float empty, float noise, int x, int y, int z, int axis,
                       int down_axis, rule_bits seed, rule_bits update)
{
    float pushed = rule_force(f, w, push, fills, empty);
    return noise > 0.0f && axis != down_axis ? rule_noisy(pushed, noise, x, y, z, axis, seed, update) : pushed;
}

#endif
