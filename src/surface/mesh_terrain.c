// The terrain as a mesh: the faces of solid cells towards open ones, layer by layer and side by side, merged into rectangles.
//
// A layer's faces are a picture of bytes. The first face of it, by rows, is widened to the end of its run, and the run then grows over
// the rows above as long as they have all of it. Not the fewest rectangles there can be, but nearly, and the same ones every time.
#include "surface/mesher.h"
#include "world/region.h"

#include <assert.h>
#include <string.h>

static const double CELLS_MOST = 1 << 30;

typedef struct rectangle {
    int32_t axis, side, layer;  // the side, 0 or 1, of the axis on which the open cells are
    int32_t u0, v0, u1, v1;     // on the next axis and the one after it
} rectangle;

typedef struct terrain_job {
    memory mem;
    const weir_world *world;
    fluid_view fluid;
    weir_box box;
    int32_t size[3];
    uint8_t *solid;  // one byte per cell of the box, x fastest, then y, then z
    size_t cell_count;
    uint8_t *picture;  // of one layer
    size_t picture_size;
    rectangle *rectangles;
    int64_t count, room;
} terrain_job;

// ---- Cells -----------------------------------------------------------------------------------------------------------------

static void read_brick(terrain_job *job, weir_coord coord)
{
    int32_t brick = fluid_find(&job->fluid, coord);
    brick_mask open, cells;
    if (brick == BRICK_NOTHING)
        terrain_open(&job->world->terrain, coord, &open);
    else
        open = job->fluid.open[brick];
    region_box_mask(job->box, coord, &cells);
    for (int32_t z = 0; z < BRICK_EDGE; z++) {
        for (uint64_t left = cells.plane[z] & ~open.plane[z]; left;) {
            int32_t i = region_take(&left);
            size_t x = (size_t)(8 * coord.x + (i & 7) - job->box.min.x), y = (size_t)(8 * coord.y + (i >> 3) - job->box.min.y);
            size_t row = y + (size_t)job->size[1] * (size_t)(8 * coord.z + z - job->box.min.z);
            job->solid[x + (size_t)job->size[0] * row] = 1;
        }
    }
}

static void read_cells(terrain_job *job)
{
    weir_box bricks = region_bricks(job->box);
    for (int32_t z = bricks.min.z; z < bricks.max.z; z++)
        for (int32_t y = bricks.min.y; y < bricks.max.y; y++)
            for (int32_t x = bricks.min.x; x < bricks.max.x; x++) read_brick(job, (weir_coord){x, y, z});
}

// ---- Rectangles ------------------------------------------------------------------------------------------------------------

// Draws the faces of a layer; false if there are none.
static bool draw_layer(const terrain_job *job, int32_t axis, int32_t side, int32_t layer)
{
    const size_t stride[3] = {1, (size_t)job->size[0], (size_t)job->size[0] * (size_t)job->size[1]};
    int32_t u = (axis + 1) % 3, v = (axis + 2) % 3;
    bool last = layer == (side ? job->size[axis] - 1 : 0);
    const uint8_t *here = job->solid + (size_t)layer * stride[axis];
    const uint8_t *beyond = last ? here : side ? here + stride[axis] : here - stride[axis];
    uint8_t any = 0, *face = job->picture;
    for (int32_t j = 0; j < job->size[v]; j++) {
        for (int32_t i = 0; i < job->size[u]; i++, face++) {
            size_t at = (size_t)i * stride[u] + (size_t)j * stride[v];
            *face = (uint8_t)(here[at] & (last ? 1 : !beyond[at]));
            any |= *face;
        }
    }
    return any;
}

static bool add_rectangle(terrain_job *job, const rectangle *one)
{
    if (job->count == job->room) {
        int64_t room = job->room ? 2 * job->room : 256;
        rectangle *larger =
            memory_resize(&job->mem, job->rectangles, (size_t)job->room * sizeof *larger, (size_t)room * sizeof *larger);
        if (!larger) return false;
        job->rectangles = larger;
        job->room = room;
    }
    job->rectangles[job->count++] = *one;
    return true;
}

static bool row_has(const uint8_t *row, int32_t u0, int32_t u1)
{
    for (int32_t i = u0; i < u1; i++)
        if (!row[i]) return false;
    return true;
}

// Takes the rectangles out of the picture of a layer.
static bool merge_layer(terrain_job *job, int32_t axis, int32_t side, int32_t layer)
{
    int32_t width = job->size[(axis + 1) % 3], height = job->size[(axis + 2) % 3];
    for (int32_t v = 0; v < height; v++) {
        uint8_t *row = job->picture + (size_t)v * (size_t)width;
        for (int32_t u = 0; u < width; u++) {
            if (!row[u]) continue;
            rectangle one = {axis, side, layer, u, v, u + 1, v + 1};
            while (one.u1 < width && row[one.u1]) one.u1++;
            while (one.v1 < height && row_has(job->picture + (size_t)one.v1 * (size_t)width, one.u0, one.u1)) one.v1++;
            for (int32_t j = v; j < one.v1; j++)
                memset(job->picture + (size_t)j * (size_t)width + one.u0, 0, (size_t)(one.u1 - one.u0));
            if (!add_rectangle(job, &one)) return false;
            u = one.u1 - 1;
        }
    }
    return true;
}

static bool merge_all(terrain_job *job)
{
    for (int32_t axis = 0; axis < 3; axis++)
        for (int32_t side = 0; side < 2; side++)
            for (int32_t layer = 0; layer < job->size[axis]; layer++)
                if (draw_layer(job, axis, side, layer) && !merge_layer(job, axis, side, layer)) return false;
    return true;
}

// ---- The mesh --------------------------------------------------------------------------------------------------------------

static size_t mesh_size(int32_t vertices, int32_t triangles)
{
    return (size_t)vertices * 6 * sizeof(float) + (size_t)triangles * 3 * sizeof(uint32_t);
}

static void write_rectangle(const rectangle *one, const int32_t shift[3], float *positions, float *normals)
{
    const int32_t u[4] = {one->u0, one->u1, one->u1, one->u0}, v[4] = {one->v0, one->v0, one->v1, one->v1};
    int32_t axis_u = (one->axis + 1) % 3, axis_v = (one->axis + 2) % 3;
    for (int32_t i = 0; i < 4; i++) {
        int32_t corner = one->side ? i : 3 - i;  // anticlockwise from the open side
        positions[3 * i + one->axis] = (float)(one->layer + one->side + shift[one->axis]);
        positions[3 * i + axis_u] = (float)(u[corner] + shift[axis_u]);
        positions[3 * i + axis_v] = (float)(v[corner] + shift[axis_v]);
        normals[3 * i + one->axis] = one->side ? 1 : -1;
        normals[3 * i + axis_u] = normals[3 * i + axis_v] = 0;
    }
}

static bool build_mesh(terrain_job *job, weir_mesh *mesh)
{
    if (job->count == 0) return true;
    if (job->count > INT32_MAX / 6) return false;
    const uint32_t corners[6] = {0, 1, 2, 0, 2, 3};
    int32_t vertices = (int32_t)(4 * job->count), triangles = (int32_t)(2 * job->count);
    float *positions = memory_alloc(&job->mem, mesh_size(vertices, triangles));
    if (!positions) return false;
    float *normals = positions + 3 * (size_t)vertices;
    uint32_t *indices = (uint32_t *)(normals + 3 * (size_t)vertices);
    weir_coord min = job->box.min, max = job->box.max;
    bool near = mesh_is_near(min) && mesh_is_near(max);
    const int32_t shift[3] = {near ? min.x : 0, near ? min.y : 0, near ? min.z : 0};
    for (int64_t r = 0; r < job->count; r++) {
        write_rectangle(&job->rectangles[r], shift, positions + 12 * r, normals + 12 * r);
        for (int32_t i = 0; i < 6; i++) indices[6 * r + i] = (uint32_t)(4 * r) + corners[i];
    }
    *mesh = (weir_mesh){.origin = near ? (weir_coord){0, 0, 0} : min,
                        .vertex_count = vertices,
                        .triangle_count = triangles,
                        .positions = positions,
                        .normals = normals,
                        .indices = indices};
    return true;
}

static size_t largest_picture(const int32_t size[3])
{
    size_t xy = (size_t)size[0] * (size_t)size[1], yz = (size_t)size[1] * (size_t)size[2],
           zx = (size_t)size[2] * (size_t)size[0];
    size_t most = xy > yz ? xy : yz;
    return most > zx ? most : zx;
}

weir_status weir_world_terrain_mesh(const weir_world *world, weir_box box, weir_mesh *mesh)
{
    assert(mesh);
    *mesh = (weir_mesh){0};
    if (!world_clip(world, &box))
        return status_fail(WEIR_ERROR_OUTSIDE, "the box of the terrain mesh holds no cell of the world");
    if (region_volume(box) > CELLS_MOST)
        return status_fail(WEIR_ERROR_LIMIT, "the box of the terrain mesh has %.0f cells; it may have %.0f", region_volume(box),
                           CELLS_MOST);
    terrain_job job = {.mem = memory_make((weir_allocator){0}),
                       .fluid = world_fluid(world),
                       .world = world,
                       .box = box,
                       .size = {box.max.x - box.min.x, box.max.y - box.min.y, box.max.z - box.min.z},
                       .cell_count = (size_t)region_volume(box)};
    job.picture_size = largest_picture(job.size);
    job.solid = memory_alloc_zero(&job.mem, job.cell_count);
    job.picture = memory_alloc(&job.mem, job.picture_size);
    bool done = job.solid && job.picture;
    if (done) read_cells(&job);
    done = done && merge_all(&job) && build_mesh(&job, mesh);
    memory_free(&job.mem, job.solid, job.cell_count);
    memory_free(&job.mem, job.picture, job.picture_size);
    memory_free(&job.mem, job.rectangles, (size_t)job.room * sizeof *job.rectangles);
    if (done) return WEIR_OK;
    return status_fail(WEIR_ERROR_MEMORY, "no memory for the mesh of the terrain in a box of %.0f cells", region_volume(box));
}

void weir_mesh_free(weir_mesh *mesh)
{
    memory mem = memory_make((weir_allocator){0});
    memory_free(&mem, (void *)(uintptr_t)mesh->positions, mesh_size(mesh->vertex_count, mesh->triangle_count));
    *mesh = (weir_mesh){0};
}
