// Files in and out, for pictures, meshes and voxels. They live in a library of their own, weir-formats, because some of them need
// other libraries; a game that reads and writes no such files does without it and them.
//
// Every writer writes beside the old file first and renames it then, so that nobody ever sees half a file.
#ifndef WEIR_FORMATS_H
#define WEIR_FORMATS_H

#include <weir/mesh.h>
#include <weir/world.h>

#ifdef __cplusplus
extern "C" {
#endif

// Writes a picture as PNG: rows from the top, red, green and blue bytes. WEIR_ERROR_FILE if it cannot be written,
// WEIR_ERROR_UNSUPPORTED in a build without libpng.
WEIR_API weir_status weir_png_write(const char *path, int32_t width, int32_t height, const uint8_t *rgb);

// Whether this build can write them, to be asked before a long run.
WEIR_API bool weir_png_supported(void);

// ---- Meshes ----------------------------------------------------------------------------------------------------------------
// weir/mesh.h makes them. A mesh may be empty or NULL. WEIR_ERROR_FILE if the file cannot be written.

// Writes one mesh as PLY, binary and little endian: x y z nx ny nz as floats, faces as lists of three indices. Positions are in cells,
// relative to the mesh's origin, which stands in a comment.
WEIR_API weir_status weir_ply_write(const char *path, const weir_mesh *mesh);

// Writes water and terrain as OBJ, as two objects of these names with normals. Positions are in cells of the world. Their materials go
// into a second file beside it, of the same name but for the ending .mtl.
WEIR_API weir_status weir_obj_write(const char *path, const weir_mesh *water, const weir_mesh *terrain);

// Writes water and terrain as glTF 2.0 in its binary form, one file: two meshes of these names with a material each. A node scales cells
// to metres: cell_size of them to a cell, 0 for 0.1, which suits the default gravity at 100 updates per second. WEIR_ERROR_LIMIT if the
// file would be larger than 4 GiB.
WEIR_API weir_status weir_glb_write(const char *path, const weir_mesh *water, const weir_mesh *terrain, double cell_size);

// A mesh with its name and how it looks, for files that hold several: those of a world's fluids one by one (weir_mesher_def.material).
typedef struct weir_mesh_part {
    const char *name;
    const weir_mesh *mesh;  // may be empty or NULL: it is left out
    float colour[3];        // red, green, blue, each 0 to 1, as a screen shows them
    float opacity;          // from 0 up to 1, through which nothing is seen; 0: 1
    float roughness;        // 0: smooth as a mirror, 1: matt
    float metal;            // 1: what it mirrors has its colour
    float glow;             // 1: it shines in its colour by itself
} weir_mesh_part;

#define WEIR_MESH_PARTS_MAX 256  // that a file holds

// A part for the mesh of a material, or of terrain (WEIR_TERRAIN): its name, its colour, and the rest by what it is. The name is good for
// as long as that of weir_world_material.
WEIR_API weir_mesh_part weir_mesh_part_of(const weir_world *world, weir_material material, const weir_mesh *mesh);

// The same files as above with any number of parts, from none to WEIR_MESH_PARTS_MAX. PLY, which has no parts, gets one mesh with a colour,
// red, green and blue, at each vertex; positions are relative to the origin of the first part that is not empty. In OBJ what a name has
// besides letters, digits, '-', '.' and '_' becomes '_'.
WEIR_API weir_status weir_ply_write_parts(const char *path, const weir_mesh_part *parts, int32_t count);
WEIR_API weir_status weir_obj_write_parts(const char *path, const weir_mesh_part *parts, int32_t count);
WEIR_API weir_status weir_glb_write_parts(const char *path, const weir_mesh_part *parts, int32_t count, double cell_size);

// ---- Volumes out -----------------------------------------------------------------------------------------------------------

#define WEIR_VOLUME_LIMIT 134217728  // most cells, 2^27, of a box that nobody asked for

// Writes a box of the world as VTK ImageData (.vti), for ParaView: fill, pressure and flow as 32-bit floats, terrain as bytes, all per
// cell, 21 bytes each. Worlds that hold anything but water, or know temperature, add arrays of 4 bytes: "fill_oil" and so on for each
// material, and "temperature" in K. box NULL: that of weir_world_extent, refused with WEIR_ERROR_LIMIT above WEIR_VOLUME_LIMIT cells.
WEIR_API weir_status weir_vti_write(const char *path, const weir_world *world, const weir_box *box);

// Writes the water of the world as NanoVDB (.nvdb), the grids "fill", a fog volume, and "flow", a vector per cell. The tree has a leaf
// for every brick with water, so empty space costs nothing. Cells with water are active; a cell's centre lies at its corner plus a half.
// Worlds that hold anything but water, or know temperature, add the grids "temperature" and, of each material that is there, "fill_oil"
// and so on.
WEIR_API weir_status weir_nvdb_write(const char *path, const weir_world *world);

// ---- Voxels in and out -----------------------------------------------------------------------------------------------------

// What the values of voxels mean; 0 is nothing in both.
typedef enum weir_voxels_kind {
    WEIR_VOXELS_SHARES,  // solid shares of terrain, as weir_world_build takes them
    WEIR_VOXELS_PALETTE  // colours of a palette
} weir_voxels_kind;

// A box of voxels, one byte each, x fastest, then y, then z. y is up.
typedef struct weir_voxels {
    weir_voxels_kind kind;
    weir_coord origin;  // of the lowest cell, as the file says; for formats that have no such place 0
    weir_coord size;    // cells along each axis
    uint8_t *values;
    uint8_t palette[256][4];  // red, green, blue, alpha of each value; of a palette only
} weir_voxels;

// Frees the values and empties the box. An empty one is allowed.
WEIR_API void weir_voxels_free(weir_voxels *voxels);

// How a file becomes voxels. Zero in any field means its default.
typedef struct weir_voxels_def {
    // Height maps: height in cells of white; meshes: cells per unit. Default: the height of white, or the longest side of the mesh, is
    // WEIR_VOXELS_EDGE cells. Files in voxels have no scale.
    float scale;
    int64_t limit;  // most cells of the box, at most and by default WEIR_VOXELS_LIMIT
} weir_voxels_def;

#define WEIR_VOXELS_EDGE 64
#define WEIR_VOXELS_LIMIT 536870912  // 2^29

// Reads voxels from a file, by the ending of its name: MagicaVoxel (.vox), a height map (.png), or a mesh (.obj, .ply, .stl, .glb and
// what else assimp knows), which must be closed and is filled inside. def may be NULL. A file that is damaged or makes no sense gives
// WEIR_ERROR_FORMAT and a sentence, one that needs a library which this build lacks WEIR_ERROR_UNSUPPORTED.
WEIR_API weir_status weir_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels);

// The same, one by one.
//   vox:         all models as the scene graph places them, hidden ones left out; without a scene graph the first model. z up
//                becomes y up: (x, y, z) goes to (x, z, -1 - y).
//   height map:  grey or the mean of the colours, 8 or 16 bits; the picture's rows run along z, its columns along x. The top cell of a
//                column gets the share that is left.
//   mesh:        a cell is solid if its centre lies inside, 1 unit is `scale` cells. assimp reads the file in a process of its own.
WEIR_API weir_status weir_vox_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels);
WEIR_API weir_status weir_height_map_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels);
WEIR_API weir_status weir_mesh_voxels_read(const char *path, const weir_voxels_def *def, weir_voxels *voxels);

// Puts voxels into a world, with their lowest corner at `at`: as terrain, but for those of a palette's value `fluid` (0: none), which
// become full cells of water. Cells that lie beyond the bounds are left out; WEIR_ERROR_OUTSIDE if all do. On a failure a part may
// have been put.
WEIR_API weir_status weir_voxels_put(weir_world *world, const weir_voxels *voxels, weir_coord at, int32_t fluid);

#define WEIR_VOX_WATER 1  // the palette's values in weir_voxels_of_world
#define WEIR_VOX_TERRAIN 2
#define WEIR_VOX_MATERIAL(material) (16 + (material))  // of other materials than water

// The world as voxels of a palette: cells at least half full are water, or what they hold most of, cells of a solid share from 128
// up terrain. box NULL: as in weir_vti_write. Give them back by weir_voxels_free.
WEIR_API weir_status weir_voxels_of_world(const weir_world *world, const weir_box *box, weir_voxels *voxels);

// Writes voxels of a palette as MagicaVoxel (.vox, version 150), in models of at most 256 cells each way that a scene graph puts
// together, so that weir_vox_read gives the same voxels at the same origin. Colours with an alpha below 255 become glass.
WEIR_API weir_status weir_vox_write(const char *path, const weir_voxels *voxels);

#ifdef __cplusplus
}
#endif
#endif
