// Meshes as OBJ: plain text, a line for every vertex, normal and face. Indices count from 1 through the whole file. The materials stand in
// a second file beside it.
#include "formats/mesh_part.h"

#include <string.h>

enum { NAME_ROOM = 64 };

typedef struct obj_part {
    char name[NAME_ROOM];
    const weir_mesh *mesh;
    part_look look;
} obj_part;

// A name that every reader takes for one word.
static void set_name(obj_part *part, const char *name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    snprintf(part->name, sizeof part->name, "%s", name && name[0] ? name : "_");
    for (char *c = part->name; *c; c++)
        if (!strchr(plain, *c)) *c = '_';
}

// Returns the number of vertices of the file so far.
static int64_t write_object(FILE *file, const char *name, const weir_mesh *mesh, int64_t before)
{
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

static void write_material(FILE *file, const obj_part *part)
{
    const part_look *l = &part->look;
    fprintf(file, "newmtl %s\nKd %.4g %.4g %.4g\n", part->name, (double)l->light[0], (double)l->light[1], (double)l->light[2]);
    if (l->glow > 0)
        fprintf(file, "Ke %.4g %.4g %.4g\n", (double)(l->glow * l->light[0]), (double)(l->glow * l->light[1]),
                (double)(l->glow * l->light[2]));
    if (l->roughness < 0.5f)
        fputs("Ks 0.5 0.5 0.5\nNs 900\n", file);
    else
        fputs("Ks 0 0 0\n", file);
    if (l->opacity < 1) fprintf(file, "%sd %.4g\n", l->roughness < 0.5f ? "Ni 1.33\n" : "", (double)l->opacity);
    fputs(l->roughness < 0.5f ? "illum 2\n" : "illum 1\n", file);
}

static weir_status write_materials(const char *path, const obj_part *parts, int32_t count)
{
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    for (int32_t i = 0; i < count; i++) {
        if (i > 0) fputc('\n', f.file);
        write_material(f.file, &parts[i]);
    }
    return new_file_close(&f, true);
}

static weir_status write_all(const char *path, const obj_part *parts, int32_t count)
{
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    char materials[PATH_MAX];
    snprintf(materials, sizeof materials, "%.*s.mtl", (int)(weir_path_ending(path) - path), path);
    fprintf(f.file, "# made by Weir %s; positions in cells, y up\nmtllib %s\n", weir_version(), weir_path_name(materials));
    int64_t vertices = 0;
    for (int32_t i = 0; i < count; i++)
        if (parts[i].mesh && parts[i].mesh->triangle_count > 0)
            vertices = write_object(f.file, parts[i].name, parts[i].mesh, vertices);
    // A full disk leaves neither file.
    status = new_file_flush(&f);
    if (status == WEIR_OK) status = write_materials(materials, parts, count);
    weir_status closed = new_file_close(&f, status == WEIR_OK);
    return status == WEIR_OK ? closed : status;
}

weir_status weir_obj_write(const char *path, const weir_mesh *water, const weir_mesh *terrain)
{
    const obj_part parts[2] = {{"water", water, WATER_LOOK}, {"terrain", terrain, TERRAIN_LOOK}};
    return write_all(path, parts, 2);
}

weir_status weir_obj_write_parts(const char *path, const weir_mesh_part *parts, int32_t count)
{
    const weir_status status = mesh_parts_check(path, count);
    if (status != WEIR_OK) return status;
    obj_part all[WEIR_MESH_PARTS_MAX];
    for (int32_t i = 0; i < count; i++) {
        all[i] = (obj_part){.mesh = parts[i].mesh, .look = mesh_part_look(&parts[i])};
        set_name(&all[i], parts[i].name);
    }
    return write_all(path, all, count);
}
