// The bricks of a column and around it.
#ifndef WEIR_COMPUTE_CPU_COLUMN_H
#define WEIR_COMPUTE_CPU_COLUMN_H

#include "compute/cpu.h"
#include <string.h>

// Writes them into a table by z, y, x, from -1 on, that is zero before: [z][y][x] with so many places in a row and in a layer. It stays
// nothing where no brick is near one of the column's own. Those that it gets inside the column are all the column's own: bricks that
// touch there hang together.
static inline void column_find_bricks(const cpu_bricks *a, const brick_column *column, int32_t *table, int row, int layer)
{
    for (int32_t b = column->first; b != BRICK_NOTHING; b = a->next[b]) {
        const weir_coord at = a->coord[b];
        const int32_t *near = a->near[b];
        int32_t *to = table + (at.x - column->low.x) + row * (at.y - column->low.y) + layer * (at.z - column->low.z);
        for (int z = 0; z < 3; z++)
            for (int y = 0; y < 3; y++, near += 3) memcpy(to + row * y + layer * z, near, 3 * sizeof *near);
    }
}

#endif
