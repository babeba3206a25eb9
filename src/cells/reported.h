// The fill of a cell as it is kept to tell what has changed, in 2 bytes: in steps of 1/16384, up to just below 4.
#ifndef WEIR_CELLS_REPORTED_H
#define WEIR_CELLS_REPORTED_H

#include "cells/language.h"

#define REPORTED_BITS 8     // a step is so many bits of drops
#define REPORTED_MAX 65535  // what is above counts as this

RULE int reported_steps(int drops)
{
    const int steps = drops >> REPORTED_BITS;
    return steps < REPORTED_MAX ? steps : REPORTED_MAX;
}

// How far two such fills are apart.
RULE int reported_apart(int a, int b)
{
    return a < b ? b - a : a - b;
}

#endif
