// What a mesher gives away: meshes of single bricks, and all of them joined into one.
#include "surface/mesher.h"

#include <assert.h>
#include <string.h>

static weir_coord brick_origin(weir_coord coord)
{
    return (weir_coord){coord.x * BRICK_EDGE, coord.y * BRICK_EDGE, coord.z * BRICK_EDGE};
}

static weir_mesh mesh_of(const mesh_block *block, weir_coord origin)
{
    weir_mesh mesh = {.origin = origin};
    if (!block) return mesh;
    mesh.vertex_count = block->vertex_count;
    mesh.triangle_count = block->triangle_count;
    mesh.positions = block->positions;
    mesh.normals = block->normals;
    mesh.indices = block->indices;
    return mesh;
}

int32_t weir_mesher_changed(const weir_mesher *m, int64_t *mark, weir_mesh_brick *bricks, int32_t room)
{
    assert(mark && room >= 0 && (bricks || room == 0));
    int32_t count = 0;
    if (*mark != 0 && *mark < m->forgotten) return -1;
    for (int32_t i = 0; i < m->order_count; i++) {
        const mesher_entry *e = &m->entries[m->order[i].entry];
        // Who begins has no old mesh to forget.
        if (e->change <= *mark || (*mark == 0 && !e->block)) continue;
        if (count < room) bricks[count] = (weir_mesh_brick){e->change, mesh_of(e->block, brick_origin(e->coord))};
        count++;
    }
    if (count <= room) *mark = m->change;
    return count;
}

// ---- Joining ---------------------------------------------------------------------------------------------------------------

typedef struct join_job {
    const weir_mesher *m;
    uint32_t *first;  // number of each entry's first own vertex in the joined mesh
    weir_coord origin;
    mesh_block *to;
} join_job;

static int32_t least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static weir_coord choose_origin(const weir_mesher *m)
{
    weir_coord low = {INT32_MAX, INT32_MAX, INT32_MAX};
    bool near = true;
    for (int32_t i = 0; i < m->entry_count; i++) {
        weir_coord c = m->entries[i].coord;
        if (!m->entries[i].block) continue;
        low = (weir_coord){least(low.x, c.x), least(low.y, c.y), least(low.z, c.z)};
        near = near && mesh_is_near(brick_origin(c));
    }
    return near ? (weir_coord){0, 0, 0} : brick_origin(low);
}

// The number in the joined mesh of a vertex that belongs to a brick above: there its edge begins at 0 where here it began at 8.
static uint32_t borrowed_vertex(const join_job *job, weir_coord coord, int32_t edge)
{
    int32_t axis = edge % 3, x = edge / 3 % 9, y = edge / 27 % 9, z = edge / 243;
    weir_coord above = {coord.x + x / 8, coord.y + y / 8, coord.z + z / 8};
    int32_t wanted = axis + 3 * (x % 8 + 9 * (y % 8 + 9 * (z % 8)));
    int32_t entry = mesher_find(job->m, above);
    assert(entry >= 0 && job->m->entries[entry].block);
    const mesh_block *block = job->m->entries[entry].block;
    int32_t low = 0, high = block->own_count - 1;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (block->edges[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    assert(block->edges[low] == wanted);
    return job->first[entry] + (uint32_t)low;
}

static uint32_t *join_brick(const join_job *job, int32_t entry, uint32_t *indices)
{
    const mesher_entry *e = &job->m->entries[entry];
    const mesh_block *block = e->block;
    uint32_t number[MESH_VERTICES], first = job->first[entry];
    weir_coord origin = brick_origin(e->coord);
    const float shift[3] = {(float)(origin.x - job->origin.x), (float)(origin.y - job->origin.y),
                            (float)(origin.z - job->origin.z)};
    float *position = job->to->positions + 3 * (size_t)first;
    for (int32_t i = 0; i < 3 * block->own_count; i++) position[i] = block->positions[i] + shift[i % 3];
    memcpy(job->to->normals + 3 * (size_t)first, block->normals, (size_t)block->own_count * 3 * sizeof(float));
    for (int32_t v = 0; v < block->vertex_count; v++)
        number[v] = v < block->own_count ? first + (uint32_t)v : borrowed_vertex(job, e->coord, block->edges[v]);
    for (int32_t i = 0; i < 3 * block->triangle_count; i++) *indices++ = number[block->indices[i]];
    return indices;
}

weir_status weir_mesher_join(weir_mesher *m, weir_mesh *mesh)
{
    assert(mesh);
    *mesh = (weir_mesh){0};
    mesher_free_block(m, m->joined);
    m->joined = NULL;
    if (m->anew)
        return status_fail(WEIR_ERROR_MEMORY, "the last update of the mesher failed, and its meshes do not fit together");

    int64_t vertices = 0, triangles = 0;
    for (int32_t i = 0; i < m->entry_count; i++) {
        if (!m->entries[i].block) continue;
        vertices += m->entries[i].block->own_count;
        triangles += m->entries[i].block->triangle_count;
    }
    if (triangles == 0) return WEIR_OK;
    if (vertices > INT32_MAX || triangles > INT32_MAX / 3)
        return status_fail(WEIR_ERROR_LIMIT, "a mesh of %lld triangles is more than one mesh can hold; use those of the bricks",
                           (long long)triangles);

    size_t table_size = (size_t)m->entry_count * sizeof(uint32_t);
    join_job job = {.m = m, .origin = choose_origin(m)};
    job.to = mesher_new_block(m, (int32_t)vertices, (int32_t)vertices, (int32_t)triangles);
    job.first = job.to ? memory_alloc(&m->mem, table_size) : NULL;
    if (!job.first) {
        mesher_free_block(m, job.to);
        return status_fail(WEIR_ERROR_MEMORY, "no memory for a mesh of %lld triangles", (long long)triangles);
    }
    uint32_t next = 0;
    for (int32_t i = 0; i < m->order_count; i++) {
        const mesh_block *block = m->entries[m->order[i].entry].block;
        job.first[m->order[i].entry] = next;
        if (block) next += (uint32_t)block->own_count;
    }
    uint32_t *indices = job.to->indices;
    for (int32_t i = 0; i < m->order_count; i++)
        if (m->entries[m->order[i].entry].block) indices = join_brick(&job, m->order[i].entry, indices);
    memory_free(&m->mem, job.first, table_size);
    m->joined = job.to;
    *mesh = mesh_of(job.to, job.origin);
    return WEIR_OK;
}
