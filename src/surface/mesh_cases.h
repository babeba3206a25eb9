// The 256 cases of marching cubes, worked out and not written down.
//
// A cube has its corners at the centres of eight cells. Corner c lies at x = c & 1, y = c >> 1 & 1, z = c >> 2; bit c of a case
// says that the corner is inside the water. Edge 4 a + k runs along the axis a from its low corner, and k has the place of that
// corner on the two other axes:
//
//          6 ---- 7         edges  0 to  3 along x, k = y + 2 z
//         /|     /|                4 to  7 along y, k = x + 2 z
//        4 ---- 5 |                8 to 11 along z, k = x + 2 y
//        | 2 ---|-3
//        |/     |/
//        0 ---- 1
//
// The surface crosses an edge with one end inside. On each face of the cube the crossed edges are joined by segments, and the
// segments of all faces make loops, which are cut into triangles.
#ifndef WEIR_SURFACE_MESH_CASES_H
#define WEIR_SURFACE_MESH_CASES_H

#include <stdint.h>

enum {
    CUBE_CASES = 256,
    CUBE_EDGES = 12,
    CUBE_TRIANGLES = 5  // in a case, at most
};

typedef struct mesh_case {
    uint8_t triangle_count;
    uint8_t edge[3 * CUBE_TRIANGLES];  // seen from outside the water, each triangle runs anticlockwise
} mesh_case;

typedef struct mesh_cases {
    mesh_case of[CUBE_CASES];
} mesh_cases;

void mesh_cases_make(mesh_cases *cases);

// The corner at the low (0) or high (1) end of an edge.
static inline int32_t cube_edge_corner(int32_t edge, int32_t end)
{
    int32_t axis = edge >> 2, k = edge & 3;
    int32_t low = axis == 0 ? k << 1 : axis == 1 ? (k & 1) | (k & 2) << 1 : k;
    return low | end << axis;
}

#endif
