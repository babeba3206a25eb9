// The surface of one brick: a field made of its cells and the rims of its neighbours, and marching cubes over it.
//
// The field. A cell's value is the mean of its fill and of the fills around it, weighted 1 2 1 along each axis. The half that is the
// cell's own keeps sheets and drops of one cell, the other half takes the steps out of surfaces where fills jump from 0 to 1.
//
// Solid cells are left out of the mean: water is as high at a wall as it is beside it. They are outside, so that water never reaches
// through a wall, not even one of a single cell; the surface stands just before their faces (WALL), and its vertices slide along the
// wall up to the water line, or into the corner that it makes with another wall:
//
//            |      .---- surface          |      .----
//      wall  | o---o                       |o----o          o vertices, before and after
//            | |                           ||
//            | o   + cell centre           |o    +
//
// Ground is different, since water lies on it and most of what a flood leaves behind is less than half a cell deep. A solid cell under
// water counts as full in the mean, as the water under other water does. And where a cell on the ground is outside but holds a film, the
// ground under it is inside: the surface then lies between the two centres, at the film's height, as it would with more water below. The
// rest of the surface of such a ground cell, its sides and bottom, is laid flat on the ground.
//
// A dry cell is outside, whatever its neighbours hold, so the surface stays with the bricks that hold water.
//
// Vertices. Each lies on the line between two cell centres or has slid from there, at multiples of 1/8192, and never nearer than NUDGE to
// either centre, so that two of them never fall together where a value is exactly that of the surface. All that it is made of are the
// cells around its line, so every brick that needs it finds the same bits.
#ifndef WEIR_SURFACE_MESH_BRICK_H
#define WEIR_SURFACE_MESH_BRICK_H

#include "surface/mesh_cases.h"
#include "surface/shown.h"

enum {
    MESH_VERTICES = 3 * 8 * 9 * 9,                  // most vertices of a brick: its edges
    MESH_TRIANGLES = CUBE_TRIANGLES * BRICK_CELLS,  // most triangles
    MESH_EDGES = 3 * 9 * 9 * 9,                     // an edge's number is axis + 3 (x + 9 (y + 9 z)), from its low cell
    // Cells of the tile: the corners of cubes 0 to 8, one more for slopes, one more for the mean, and above those what lies on them.
    TILE_CELLS = 13,
    TILE_HEIGHT = 14,
    FIELD_CELLS = 11,
    FIELD_ROW = 16  // values are stored by rows of this many, so that rows are whole registers
};

// What a brick's mesh is made of. A brick that is dry counts as nothing.
typedef struct mesh_near {
    int32_t brick[27];
    const brick_mask *open[27];
} mesh_near;

// Working memory of one worker.
typedef struct mesh_field {
    int32_t drops[27][BRICK_CELLS];  // of the bricks, where the fluid has them in another form
    int32_t other[BRICK_CELLS];
    int32_t tile[TILE_CELLS][TILE_HEIGHT][FIELD_ROW];     // drops, a full cell's at most; [z + 2][y + 2][x + 2]
    int32_t sum[TILE_CELLS][TILE_CELLS][FIELD_ROW];       // weighted drops around a cell, while it is summed up
    int32_t weight[TILE_CELLS][TILE_CELLS][FIELD_ROW];    // weights of the cells that count among them, in sixteenths
    uint16_t open[TILE_CELLS][TILE_HEIGHT];               // bit x + 2
    float value[FIELD_CELLS * FIELD_CELLS * FIELD_ROW];   // x + 1 + 16 (y + 1) + 176 (z + 1)
    float around[FIELD_CELLS * FIELD_CELLS * FIELD_ROW];  // the half of the value that is the mean around the cell
    uint8_t kind[FIELD_CELLS * FIELD_CELLS * FIELD_ROW];  // bits of cell_kind
    uint16_t inside[9][9];                                // bit x, of the cubes' corners; [z][y]
    int16_t vertex[MESH_EDGES];                           // on each edge that the surface crosses
} mesh_field;

// A mesh as it comes out. Vertices of edges that begin in the brick itself come first, by the edge's number; then those that belong to
// the bricks above it.
typedef struct mesh_output {
    int32_t vertex_count, own_count, triangle_count;
    float position[MESH_VERTICES][3];
    float normal[MESH_VERTICES][3];
    uint16_t edge[MESH_VERTICES];
    uint16_t index[3 * MESH_TRIANGLES];
} mesh_output;

// The least drops of a film that is shown, for a surface at iso drops: where no cell has as many, there is no surface.
static inline int32_t mesh_film(int32_t iso)
{
    return iso / 8;
}

// Meshes a brick. iso is a whole number of drops.
void mesh_brick(const mesh_cases *cases, const fluid_view *fluid, const shown_part *shown, const mesh_near *near, int32_t iso,
                mesh_field *field, mesh_output *out);

#endif
