// Meshes as OBJ: plain text, a line for every vertex, normal and face. Indices count from 1 through the whole file. The materials, the
// same for every world, stand in a second file beside it.
#include "formats/new_file.h"

// Returns the number of vertices of the file so far.
static int64_t write_object(FILE *file, const char *name, const weir_mesh *mesh, int64_t before)
{
    if (!mesh || mesh->triangle_count == 0) return before;
    const double origin[3] = {mesh->origin.x, mesh->origin.y, mesh->origin.z};
    fprintf(file, "o %s\nusemtl %s\n", name, name);
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        const float *p = mesh->positions + 3 * (size_t)v;
        fprintf(file, "v %.14g %.14g %.14g\n", origin[0] + (double)p[0], origin[1] + (double)p[1], origin[2] + (double)p[2]);
    }
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        const float *n = mesh->normals + 3 * (size_t)v;
        fprintf(file, "vn %.5g %.5g %.5g\n", (double)n[0], (double)n[1], (double)n[2]);
    }
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *i = mesh->indices + 3 * (size_t)t;
        long long a = before + i[0] + 1, b = before + i[1] + 1, c = before + i[2] + 1;
        fprintf(file, "f %lld//%lld %lld//%lld %lld//%lld\n", a, a, b, b, c, c);
    }
    return before + mesh->vertex_count;
}

static weir_status write_materials(const char *path)
{
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    fputs("newmtl water\nKd 0.05 0.27 0.45\nKs 0.5 0.5 0.5\nNs 900\nNi 1.33\nd 0.6\nillum 2\n\n"
          "newmtl terrain\nKd 0.38 0.33 0.27\nKs 0 0 0\nillum 1\n",
          f.file);
    return new_file_close(&f, true);
}

weir_status weir_obj_write(const char *path, const weir_mesh *water, const weir_mesh *terrain)
{
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    char materials[PATH_MAX];
    snprintf(materials, sizeof materials, "%.*s.mtl", (int)(weir_path_ending(path) - path), path);
    fprintf(f.file, "# made by Weir %s; positions in cells, y up\nmtllib %s\n", weir_version(), weir_path_name(materials));
    int64_t count = write_object(f.file, "water", water, 0);
    write_object(f.file, "terrain", terrain, count);
    // A full disk leaves neither file.
    status = new_file_flush(&f);
    if (status == WEIR_OK) status = write_materials(materials);
    weir_status closed = new_file_close(&f, status == WEIR_OK);
    return status == WEIR_OK ? closed : status;
}
