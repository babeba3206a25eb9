// R5: what acts on a face besides the water: the forces of regions, and noise that breaks symmetry. And what open sides take.
#ifndef WEIR_CELLS_FORCES_H
#define WEIR_CELLS_FORCES_H

#include "cells/language.h"

// A box of cells, as far as before its highest.
typedef struct rule_box {
    int min_x, min_y, min_z, max_x, max_y, max_z;
} rule_box;

typedef struct rule_push {
    float x, y, z;
} rule_push;

// A force and the cells on which it acts.
typedef struct rule_region {
    rule_box box;
    rule_push force;
} rule_region;

RULE bool rule_in_box(rule_box box, int x, int y, int z)
{
    return x >= box.min_x && x < box.max_x && y >= box.min_y && y < box.max_y && z >= box.min_z && z < box.max_z;
}

// The forces on a cell, with that of one more region. They are added up in the order in which the world got them.
RULE rule_push rule_regional(rule_push before, rule_region more, int x, int y, int z)
{
    rule_push sum = before;
    if (rule_in_box(more.box, x, y, z)) {
        sum.x += more.force.x;
        sum.y += more.force.y;
        sum.z += more.force.z;
    }
    return sum;
}

// Whether an open side takes what is in a cell: all that lies outside the world's bounds. Behind walls there is nothing.
RULE bool rule_side_takes(rule_box bounds, int x, int y, int z)
{
    return !rule_in_box(bounds, x, y, z);
}

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
