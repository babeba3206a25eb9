// The inside of a mesher, for the files that make, list and join its meshes.
//
// The mesher knows bricks by their coordinate, since those of the world come, go and move. It remembers those that are gone for a while,
// so that one that lost its mesh can still be told of, and forgets them then: water that wanders through an endless world leaves no trail.
#ifndef WEIR_SURFACE_MESHER_H
#define WEIR_SURFACE_MESHER_H

#include "surface/mesh_brick.h"
#include "world/world.h"

// A mesh that is kept: this head, and behind it in the same block positions, normals, indices, and the numbers of the edges that the
// vertices lie on. The first own_count vertices are the brick's own, by edge; the others belong to the bricks above it.
typedef struct mesh_block {
    size_t size;
    int32_t vertex_count, own_count, triangle_count;
    float *positions, *normals;
    uint32_t *indices;
    uint16_t *edges;
} mesh_block;

// What the last update saw of a brick, and what this one found out.
typedef enum entry_flag {
    ENTRY_SEEN_LIVE = 1,
    ENTRY_SEEN_WET = 2,
    ENTRY_HIGH = 4,  // it has cells with water to show, if only a film
    ENTRY_LOW = 8,   // it has cells at or below the surface's fill, solid ones among them
    ENTRY_CHANGED = 16,
    ENTRY_WANTED = 32,  // it may have a mesh
    ENTRY_STALE = 64    // and has to be meshed again
} entry_flag;

typedef struct mesher_entry {
    weir_coord coord;
    int32_t brick;      // in the world's pool; BRICK_NOTHING: it is not there
    int32_t open;       // of one that is not there: where its open cells are kept; -1: not asked yet
    uint32_t flags;     // entry_flag
    int64_t change;     // number of the update that changed its mesh; 0: it never had one
    mesh_block *block;  // NULL: there is no surface in it
} mesher_entry;

// An entry in coordinate order.
typedef struct mesher_place {
    weir_coord coord;
    int32_t entry;
} mesher_place;

// Bricks that are meshed at once, between two times of putting away: enough that threads seldom wait for each other, little enough
// that it is some megabytes.
enum { MESH_BATCH = 128 };

typedef struct mesh_batch {
    int32_t count;
    int32_t entry[MESH_BATCH];
    mesh_near near[MESH_BATCH];
    mesh_output output[MESH_BATCH];
} mesh_batch;

struct weir_mesher {
    memory mem;
    weir_world *world;
    fluid_view fluid;        // of the update under way
    weir_material material;  // whose surface it is; WEIR_NOTHING: that of all but gases
    shown_part shown;        // of the update under way
    // Whether the last meshes were made of amounts as they are, where the fluid tells them also as they were when they last counted as
    // changed: what is next to a change is then not as it was, so all is looked at again.
    bool exact;
    int32_t iso;        // drops
    int64_t mark;       // the world's change up to which all is meshed
    int64_t change;     // number of the last update
    int64_t forgotten;  // number of the last update that changed the mesh of a brick which is forgotten
    bool anew;          // the last update failed: all has to be meshed again
    mesher_entry *entries;
    int32_t entry_count, entry_room;
    int32_t *slots;  // hash table: entry + 1 or 0
    int32_t slot_count;
    mesher_place *order;
    int32_t order_count, order_room;
    int32_t *entry_of;  // of a brick of the pool
    int32_t entry_of_room;
    int32_t *todo;  // entries to look at
    int32_t todo_count, todo_room;
    brick_mask *open;  // open cells of bricks that are not there
    int32_t open_count, open_room;
    int32_t worker_count;
    mesh_field *fields;  // one per worker
    mesh_batch *batch;
    mesh_block *joined;
    mesh_cases cases;
};

// Whether a cell is so near to the origin that every position there is exact without another one.
static inline bool mesh_is_near(weir_coord cell)
{
    const int32_t far = 4096;
    return cell.x >= -far && cell.x <= far && cell.y >= -far && cell.y <= far && cell.z >= -far && cell.z <= far;
}

// ---- mesher_entries.c ----

// The entry of a brick coordinate; -1: there is none.
int32_t mesher_find(const weir_mesher *m, weir_coord coord);
// The same, made if there is none; -1: memory ran out. Entries may move.
int32_t mesher_find_or_add(weir_mesher *m, weir_coord coord);
// Forgets bricks that are gone, when they are more than half of all. Entries may move.
void mesher_forget(weir_mesher *m);
// Brings m->order in line with the entries; false if memory ran out.
bool mesher_sort(weir_mesher *m);
// An array with room for `count` items: the same or a larger one; false if memory ran out, and the old one stays.
bool mesher_make_room(weir_mesher *m, void **array, int32_t *room, int32_t count, size_t size);
// A block for a mesh of this size, its counts set; NULL if memory ran out.
mesh_block *mesher_new_block(weir_mesher *m, int32_t vertex_count, int32_t own_count, int32_t triangle_count);
// NULL is allowed.
void mesher_free_block(weir_mesher *m, mesh_block *block);

#endif
