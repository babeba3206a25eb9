#include "surface/mesh_cases.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum {
    NO_EDGE = -1,
    FORBIDDEN = 10000  // cost of a diagonal that must not be
};

// ---- Loops -----------------------------------------------------------------------------------------------------------------

static int32_t edge_between(int32_t a, int32_t b)
{
    int32_t low = a < b ? a : b, bit = a ^ b;
    if (bit == 1) return low >> 1;
    if (bit == 2) return 4 + ((low & 1) | (low >> 1 & 2));
    return 8 + low;
}

// The corner number i of a face (an axis and a side of it), anticlockwise for somebody who looks at the cube from outside.
static int32_t face_corner(int32_t axis, int32_t side, int32_t i)
{
    static const uint8_t u[4] = {0, 1, 1, 0}, v[4] = {0, 0, 1, 1};
    if (side == 0) i = 3 - i;
    return side << axis | u[i & 3] << (axis + 1) % 3 | v[i & 3] << (axis + 2) % 3;
}

// Adds the segments of a face: on the way around it, from where the inside is entered back to where it was left. So what is cut
// off is always the outside, and two inside corners across from each other stay joined: water that only just holds together does so
// in the mesh. The choice looks at the four corners of the face and at nothing else, so the cube on its other side, which goes
// around the other way, makes the same segments in the opposite direction.
static void join_face(int32_t inside, int32_t axis, int32_t side, int32_t next[CUBE_EDGES])
{
    int32_t left = NO_EDGE, first_entered = NO_EDGE;
    for (int32_t i = 0; i < 4; i++) {
        int32_t a = face_corner(axis, side, i), b = face_corner(axis, side, (i + 1) & 3);
        bool a_inside = inside >> a & 1, b_inside = inside >> b & 1;
        int32_t edge = edge_between(a, b);
        if (a_inside && !b_inside) left = edge;
        if (!a_inside && b_inside) {
            if (left != NO_EDGE)
                next[edge] = left;
            else
                first_entered = edge;
        }
    }
    if (first_entered != NO_EDGE) next[first_entered] = left;
}

// ---- Triangles -------------------------------------------------------------------------------------------------------------

static bool on_face(int32_t edge, int32_t axis, int32_t side)
{
    return (cube_edge_corner(edge, 0) >> axis & 1) == side && (cube_edge_corner(edge, 1) >> axis & 1) == side;
}

static bool share_face(int32_t a, int32_t b)
{
    for (int32_t axis = 0; axis < 3; axis++)
        for (int32_t side = 0; side < 2; side++)
            if (on_face(a, axis, side) && on_face(b, axis, side)) return true;
    return false;
}

// Square of the distance of two edges' middles, in half cells.
static int32_t distance(int32_t a, int32_t b)
{
    int32_t sum = 0;
    for (int32_t axis = 0; axis < 3; axis++) {
        int32_t at_a = (cube_edge_corner(a, 0) >> axis & 1) + (cube_edge_corner(a, 1) >> axis & 1);
        int32_t at_b = (cube_edge_corner(b, 0) >> axis & 1) + (cube_edge_corner(b, 1) >> axis & 1);
        sum += (at_a - at_b) * (at_a - at_b);
    }
    return sum;
}

// The cost of a diagonal from one vertex of a loop to another: its length, and more than all others together if it lies in a face of
// the cube, where the cube behind that face could have the same one. Diagonals between parallel edges cost less. At a wall those are
// edges into the wall, and the diagonal between them is the water line, which then runs along the wall without notches.
static int32_t diagonal_cost(const int8_t *loop, int32_t count, int32_t i, int32_t j)
{
    enum { PARALLEL = 3 };
    if (j - i == 1 || j - i == count - 1) return 0;
    bool parallel = loop[i] >> 2 == loop[j] >> 2;
    return distance(loop[i], loop[j]) - (parallel ? PARALLEL : 0) + (share_face(loop[i], loop[j]) ? FORBIDDEN : 0);
}

// Cuts the part of a loop from vertex i to vertex j into the cheapest triangles; returns the cost of their diagonals. `out` NULL: only
// the cost.
static int32_t cut_loop(const int8_t *loop, int32_t count, int32_t i, int32_t j, mesh_case *out)
{
    if (j - i < 2) return 0;
    int32_t best = INT32_MAX, best_k = 0;
    for (int32_t k = i + 1; k < j; k++) {
        int32_t cost = diagonal_cost(loop, count, i, k) + diagonal_cost(loop, count, k, j) + cut_loop(loop, count, i, k, NULL) +
                       cut_loop(loop, count, k, j, NULL);
        if (cost < best) best = cost, best_k = k;
    }
    if (!out) return best;
    assert(out->triangle_count < CUBE_TRIANGLES && best < FORBIDDEN);
    uint8_t *edge = out->edge + 3 * out->triangle_count++;
    edge[0] = (uint8_t)loop[i], edge[1] = (uint8_t)loop[best_k], edge[2] = (uint8_t)loop[j];
    cut_loop(loop, count, i, best_k, out);
    cut_loop(loop, count, best_k, j, out);
    return best;
}

static void make_case(int32_t inside, mesh_case *out)
{
    int32_t next[CUBE_EDGES];
    for (int32_t e = 0; e < CUBE_EDGES; e++) next[e] = NO_EDGE;
    for (int32_t axis = 0; axis < 3; axis++)
        for (int32_t side = 0; side < 2; side++) join_face(inside, axis, side, next);

    for (int32_t first = 0; first < CUBE_EDGES; first++) {
        int8_t loop[CUBE_EDGES];
        int32_t count = 0;
        for (int32_t e = first, then; next[e] != NO_EDGE; e = then) {
            then = next[e];
            next[e] = NO_EDGE;
            loop[count++] = (int8_t)e;
        }
        cut_loop(loop, count, 0, count - 1, out);
    }
}

void mesh_cases_make(mesh_cases *cases)
{
    memset(cases, 0, sizeof *cases);
    for (int32_t inside = 0; inside < CUBE_CASES; inside++) make_case(inside, &cases->of[inside]);
}
