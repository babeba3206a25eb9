// Surfaces: the water, or one fluid of several, as a closed, smooth mesh that follows the simulation brick by brick, and the terrain as
// merged faces.
//
//     weir_mesher *mesher;
//     if (weir_mesher_create(world, NULL, &mesher) != WEIR_OK) return 1;
//     for (;;) {
//         weir_world_step(world);
//         weir_mesher_update(mesher, NULL);                       // meshes again what changed
//         count = weir_mesher_changed(mesher, &mark, bricks, ROOM);  // what to upload
//     }
//     weir_mesher_destroy(mesher);
//
// A mesher is asked from the thread that its world belongs to, and destroyed before its world.
#ifndef WEIR_MESH_H
#define WEIR_MESH_H

#include <weir/world.h>

#ifdef __cplusplus
extern "C" {
#endif

// Triangles with shared vertices. Seen from outside, a triangle's vertices run anticlockwise. Positions are in cells, relative to
// `origin`, so that they are exact however far from the world's origin the water is; they are whole multiples of 1/8192.
typedef struct weir_mesh {
    weir_coord origin;
    int32_t vertex_count, triangle_count;
    const float *positions;   // 3 per vertex
    const float *normals;     // 3 per vertex, of length 1, away from the water or terrain
    const uint32_t *indices;  // 3 per triangle
} weir_mesh;

// ---- Water -----------------------------------------------------------------------------------------------------------------

typedef struct weir_mesher weir_mesher;

// How a mesher is made. Zero in any field means its default.
typedef struct weir_mesher_def {
    // Fill at which the surface lies, 0.05 to 0.95; default 0.5. Less makes thin sheets and spray fuller.
    float iso;
    // The fluid whose surface is meshed, whatever else is in its cells; default all liquids and solids together. Where two lie side by side
    // their surfaces fall together. Of a gas, fill counts 16 times: a 16th of a cell is what it fills at its usual density.
    weir_material material;
    // Default malloc. Called from the thread that calls the mesher, also while a background step runs.
    weir_allocator allocator;
} weir_mesher_def;

// Makes a mesher with nothing meshed yet. def may be NULL. Fails on memory, and on an iso or a material that makes no sense.
WEIR_API weir_status weir_mesher_create(weir_world *world, const weir_mesher_def *def, weir_mesher **mesher);

// NULL is allowed.
WEIR_API void weir_mesher_destroy(weir_mesher *mesher);

// Brings the meshes in line with the world: bricks that changed since the last call, and their neighbours, are meshed again, on the
// world's threads. *meshed, if not NULL, gets how many. While a background step runs, the last finished state is meshed, on the calling
// thread alone. After a failure (memory, a lost device) the meshes are of different states until an update succeeds.
// With weir_world_def.change_threshold bricks at rest are left alone, and meshes show the water within that fill; but a mesher of one of
// several materials, and any while there is gas, looks at all bricks then, and shows what there is.
WEIR_API weir_status weir_mesher_update(weir_mesher *mesher, int32_t *meshed);

// The surface within one brick: that of the cubes between cell centres whose lowest corner is a cell of the brick. So it reaches half a
// cell over the brick's upper sides and begins half a cell behind its lower ones. Along its rim its vertices are those of its
// neighbours, bit by bit once the origins are added: meshes of bricks drawn side by side show no crack.
typedef struct weir_mesh_brick {
    int64_t change;  // number of the update of the mesher that changed it last
    weir_mesh mesh;  // its origin is that of the brick; valid until the next update
} weir_mesh_brick;

#define WEIR_MESHER_MEMORY 1000  // updates of the mesher for which it surely remembers a brick that has lost its mesh

// Bricks whose mesh changed since a mark, in coordinate order (z, then y, then x). A mark is what the last call returned in *mark;
// begin with 0. Writes up to `room` of them and returns how many there are; call again with more room if that is larger. A brick
// that has lost its mesh is listed once more with no triangles; WEIR_MESHER_MEMORY updates later the mesher may have forgotten it.
// Whoever has not asked for so long, and missed one that is forgotten, gets -1: drop all meshes and begin again with a mark of 0.
WEIR_API int32_t weir_mesher_changed(const weir_mesher *mesher, int64_t *mark, weir_mesh_brick *bricks, int32_t room);

// The whole surface as one mesh. It is closed: every edge belongs to exactly two triangles, which run along it in opposite
// directions. Valid until the next call of this function or the mesher's end. The origin is 0 unless water is more than 4096 cells from it.
WEIR_API weir_status weir_mesher_join(weir_mesher *mesher, weir_mesh *mesh);

// ---- Terrain ---------------------------------------------------------------------------------------------------------------

// The faces of the solid cells (share of 128 and more) of a box towards open cells, merged into rectangles, four vertices and two
// triangles each. What lies beyond the box or the world counts as open, so the faces enclose the solid cells. Where a rectangle
// ends at the middle of another's side, they share no vertex. At most 2^30 cells. Give the mesh back by weir_mesh_free.
WEIR_API weir_status weir_world_terrain_mesh(const weir_world *world, weir_box box, weir_mesh *mesh);

// Frees a mesh that weir_world_terrain_mesh made, and empties it.
WEIR_API void weir_mesh_free(weir_mesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
