// Meshes as PLY: a header in plain text, then vertices and faces in binary.
#include "formats/bytes.h"
#include "formats/mesh_part.h"
#include "formats/new_file.h"

typedef struct ply_size {
    weir_coord origin;
    int64_t vertices, triangles;
    bool coloured;
} ply_size;

static void write_header(FILE *file, const ply_size *size)
{
    fprintf(file,
            "ply\n"
            "format binary_little_endian 1.0\n"
            "comment made by Weir %s; positions in cells, y up\n"
            "comment origin %d %d %d\n"
            "element vertex %lld\n"
            "property float x\n"
            "property float y\n"
            "property float z\n"
            "property float nx\n"
            "property float ny\n"
            "property float nz\n"
            "%s"
            "element face %lld\n"
            "property list uchar uint vertex_indices\n"
            "end_header\n",
            weir_version(), size->origin.x, size->origin.y, size->origin.z, (long long)size->vertices,
            size->coloured ? "property uchar red\nproperty uchar green\nproperty uchar blue\n" : "",
            (long long)size->triangles);
}

static void write_vertices(FILE *file, const weir_mesh_part *part, const ply_size *size)
{
    const weir_mesh *mesh = part->mesh;
    const float shift[3] = {(float)(mesh->origin.x - size->origin.x), (float)(mesh->origin.y - size->origin.y),
                            (float)(mesh->origin.z - size->origin.z)};
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = mesh->positions + 3 * (size_t)v;
        const float moved[3] = {p[0] + shift[0], p[1] + shift[1], p[2] + shift[2]};
        write_words(file, moved, 3);
        write_words(file, mesh->normals + 3 * (size_t)v, 3);
        for (int32_t i = 0; i < 3 && size->coloured; i++) {
            const float c = part->colour[i];
            fputc(c > 0 ? c < 1 ? (int)(c * 255 + 0.5f) : 255 : 0, file);
        }
    }
}

static weir_status write_all(const char *path, const weir_mesh_part *parts, int32_t count, bool coloured)
{
    ply_size size = {.coloured = coloured};
    new_file f;
    for (int32_t i = 0; i < count; i++) {
        if (!mesh_part_seen(&parts[i])) continue;
        if (size.triangles == 0) size.origin = parts[i].mesh->origin;
        size.vertices += parts[i].mesh->vertex_count;
        size.triangles += parts[i].mesh->triangle_count;
    }
    if (size.vertices > UINT32_MAX || size.triangles > UINT32_MAX)
        return format_fail(WEIR_ERROR_LIMIT, "cannot write %s: %lld triangles are more than PLY can number",
                           weir_path_tail(path), (long long)size.triangles);
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    write_header(f.file, &size);
    for (int32_t i = 0; i < count; i++)
        if (mesh_part_seen(&parts[i])) write_vertices(f.file, &parts[i], &size);
    uint32_t first = 0;
    for (int32_t i = 0; i < count; i++) {
        const weir_mesh *mesh = parts[i].mesh;
        for (int32_t t = 0; mesh_part_seen(&parts[i]) && t < mesh->triangle_count; t++) {
            const uint32_t *at = mesh->indices + 3 * (size_t)t, corners[3] = {first + at[0], first + at[1], first + at[2]};
            fputc(3, f.file);
            write_words(f.file, corners, 3);
        }
        if (mesh_part_seen(&parts[i])) first += (uint32_t)mesh->vertex_count;
    }
    return new_file_close(&f, true);
}

weir_status weir_ply_write_parts(const char *path, const weir_mesh_part *parts, int32_t count)
{
    const weir_status status = mesh_parts_check(path, count);
    return status == WEIR_OK ? write_all(path, parts, count, true) : status;
}

weir_status weir_ply_write(const char *path, const weir_mesh *mesh)
{
    const weir_mesh_part part = {.mesh = mesh};
    return write_all(path, &part, 1, false);
}
