// Meshes as PLY: a header in plain text, then vertices and faces in binary.
#include "formats/bytes.h"
#include "formats/new_file.h"

static void write_header(FILE *file, const weir_mesh *mesh)
{
    fprintf(file,
            "ply\n"
            "format binary_little_endian 1.0\n"
            "comment made by Weir %s; positions in cells, y up\n"
            "comment origin %d %d %d\n"
            "element vertex %d\n"
            "property float x\n"
            "property float y\n"
            "property float z\n"
            "property float nx\n"
            "property float ny\n"
            "property float nz\n"
            "element face %d\n"
            "property list uchar uint vertex_indices\n"
            "end_header\n",
            weir_version(), mesh->origin.x, mesh->origin.y, mesh->origin.z, mesh->vertex_count, mesh->triangle_count);
}

weir_status weir_ply_write(const char *path, const weir_mesh *mesh)
{
    const weir_mesh none = {.vertex_count = 0};
    if (!mesh) mesh = &none;
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    write_header(f.file, mesh);
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        write_words(f.file, mesh->positions + 3 * (size_t)v, 3);
        write_words(f.file, mesh->normals + 3 * (size_t)v, 3);
    }
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        fputc(3, f.file);
        write_words(f.file, mesh->indices + 3 * (size_t)t, 3);
    }
    return new_file_close(&f, true);
}
