// Meshes as glTF 2.0 in its binary form (.glb):
//
//     | "glTF", version, length | length, "JSON", text, blanks | length, "BIN", positions, normals, indices of each mesh |
//
// Everything is made of four-byte words, so all parts are aligned by themselves but for the text, which blanks fill up. A mesh has
// three accessors, one buffer view each. An empty mesh is left out: an accessor must have elements.
#include "formats/bytes.h"
#include "formats/mesh_part.h"

#include <math.h>
#include <stdlib.h>

enum { TEXT_ROOM = 8192, TEXT_MOST = 1 << 22 };  // at first, and at most

static const uint32_t MAGIC = 0x46546c67, VERSION = 2, JSON_CHUNK = 0x4e4f534a, BIN_CHUNK = 0x004e4942;

typedef struct glb_part {
    const char *name;
    const weir_mesh *mesh;
    part_look look;
} glb_part;

// The text as it grows. Once memory is short nothing is added any more.
typedef struct glb_text {
    char *bytes;
    size_t length, room;
    bool failed;
} glb_text;

static bool make_room(glb_text *text, size_t length)
{
    if (text->length + length < text->room) return !text->failed;
    const size_t room = 2 * (text->length + length) + TEXT_ROOM;
    char *larger = text->failed ? NULL : realloc(text->bytes, room);
    text->failed = !larger;
    if (!larger) return false;
    text->bytes = larger;
    text->room = room;
    return true;
}

__attribute__((format(printf, 2, 3))) static void add(glb_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, arguments);
    if (make_room(text, (size_t)length))
        text->length += (size_t)vsnprintf(text->bytes + text->length, text->room - text->length, format, again);
    va_end(again);
    va_end(arguments);
}

// A name in quotes, as JSON has it.
static void add_name(glb_text *text, const char *name)
{
    add(text, "\"");
    for (size_t i = 0; name && name[i]; i++) {
        const unsigned char c = (unsigned char)name[i];
        if (c < 32)
            add(text, "\\u%04x", c);
        else
            add(text, c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    add(text, "\"");
}

static uint64_t bytes_of_vertices(const weir_mesh *mesh)
{
    return 12 * (uint64_t)mesh->vertex_count;
}

static uint64_t bytes_of_indices(const weir_mesh *mesh)
{
    return 12 * (uint64_t)mesh->triangle_count;
}

static uint64_t bytes_of_mesh(const weir_mesh *mesh)
{
    return 2 * bytes_of_vertices(mesh) + bytes_of_indices(mesh);
}

static void find_extent(const weir_mesh *mesh, float min[3], float max[3])
{
    for (int32_t i = 0; i < 3; i++) min[i] = INFINITY, max[i] = -INFINITY;
    for (int32_t v = 0; v < mesh->vertex_count; v++) {
        for (int32_t i = 0; i < 3; i++) {
            float at = mesh->positions[3 * (size_t)v + (size_t)i];
            if (at < min[i]) min[i] = at;
            if (at > max[i]) max[i] = at;
        }
    }
}

// ---- The parts of the text -------------------------------------------------------------------------------------------------

static void add_node(glb_text *text, const glb_part *part, int32_t index, double cell_size)
{
    weir_coord o = part->mesh->origin;
    add(text, index ? ",{\"name\":" : "{\"name\":");
    add_name(text, part->name);
    add(text, ",\"mesh\":%d,\"scale\":[%.9g,%.9g,%.9g],\"translation\":[%.17g,%.17g,%.17g]}", index, cell_size, cell_size,
        cell_size, o.x * cell_size, o.y * cell_size, o.z * cell_size);
}

static void add_mesh(glb_text *text, const glb_part *part, int32_t index)
{
    add(text, index ? ",{\"name\":" : "{\"name\":");
    add_name(text, part->name);
    add(text, ",\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"NORMAL\":%d},\"indices\":%d,\"material\":%d}]}", 3 * index,
        3 * index + 1, 3 * index + 2, index);
}

static void add_material(glb_text *text, const glb_part *part, int32_t index)
{
    const part_look *l = &part->look;
    add(text, index ? ",{\"name\":" : "{\"name\":");
    add_name(text, part->name);
    if (l->opacity < 1) add(text, ",\"alphaMode\":\"BLEND\"");
    add(text,
        ",\"pbrMetallicRoughness\":{\"baseColorFactor\":[%.4g,%.4g,%.4g,%.4g],\"metallicFactor\":%.4g,\"roughnessFactor\":%."
        "4g}",
        (double)l->light[0], (double)l->light[1], (double)l->light[2], (double)l->opacity, (double)l->metal,
        (double)l->roughness);
    if (l->glow > 0)
        add(text, ",\"emissiveFactor\":[%.4g,%.4g,%.4g]", (double)(l->glow * l->light[0]), (double)(l->glow * l->light[1]),
            (double)(l->glow * l->light[2]));
    add(text, "}");
}

static void add_accessors(glb_text *text, const weir_mesh *mesh, int32_t index)
{
    enum { UNSIGNED_INT = 5125, FLOAT = 5126 };
    float min[3], max[3];
    find_extent(mesh, min, max);
    add(text,
        "%s{\"bufferView\":%d,\"componentType\":%d,\"count\":%d,\"type\":\"VEC3\",\"min\":[%.9g,%.9g,%.9g],\"max\":[%.9g,%.9g,%"
        ".9g]}",
        index ? "," : "", 3 * index, FLOAT, mesh->vertex_count, (double)min[0], (double)min[1], (double)min[2], (double)max[0],
        (double)max[1], (double)max[2]);
    add(text, ",{\"bufferView\":%d,\"componentType\":%d,\"count\":%d,\"type\":\"VEC3\"}", 3 * index + 1, FLOAT,
        mesh->vertex_count);
    add(text, ",{\"bufferView\":%d,\"componentType\":%d,\"count\":%d,\"type\":\"SCALAR\"}", 3 * index + 2, UNSIGNED_INT,
        3 * mesh->triangle_count);
}

static void add_view(glb_text *text, uint64_t *offset, uint64_t bytes, bool indices)
{
    enum { ARRAY_BUFFER = 34962, ELEMENT_ARRAY_BUFFER = 34963 };
    add(text, "%s{\"buffer\":0,\"byteOffset\":%llu,\"byteLength\":%llu,\"target\":%d}", *offset ? "," : "",
        (unsigned long long)*offset, (unsigned long long)bytes, indices ? ELEMENT_ARRAY_BUFFER : ARRAY_BUFFER);
    *offset += bytes;
}

static void add_views(glb_text *text, const weir_mesh *mesh, uint64_t *offset)
{
    add_view(text, offset, bytes_of_vertices(mesh), false);
    add_view(text, offset, bytes_of_vertices(mesh), false);
    add_view(text, offset, bytes_of_indices(mesh), true);
}

static void write_text(glb_text *text, const glb_part *parts, int32_t count, double cell_size)
{
    uint64_t offset = 0;
    add(text, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"Weir %s\"},\"scene\":0,\"scenes\":[{\"name\":\"Weir\"",
        weir_version());
    for (int32_t i = 0; i < count; i++) add(text, i ? ",%d" : ",\"nodes\":[%d", i);
    if (count > 0) add(text, "]");
    add(text, "}]");
    if (count > 0) {
        add(text, ",\"nodes\":[");
        for (int32_t i = 0; i < count; i++) add_node(text, &parts[i], i, cell_size);
        add(text, "],\"meshes\":[");
        for (int32_t i = 0; i < count; i++) add_mesh(text, &parts[i], i);
        add(text, "],\"materials\":[");
        for (int32_t i = 0; i < count; i++) add_material(text, &parts[i], i);
        add(text, "],\"accessors\":[");
        for (int32_t i = 0; i < count; i++) add_accessors(text, parts[i].mesh, i);
        add(text, "],\"bufferViews\":[");
        for (int32_t i = 0; i < count; i++) add_views(text, parts[i].mesh, &offset);
        add(text, "],\"buffers\":[{\"byteLength\":%llu}]", (unsigned long long)offset);
    }
    add(text, "}");
    while (text->length % 4) add(text, " ");
}

// ---- The file --------------------------------------------------------------------------------------------------------------

static weir_status write_file(const char *path, const glb_part *parts, int32_t count, uint64_t bytes, double cell_size)
{
    new_file f;
    weir_status status = new_file_open(&f, path);
    if (status != WEIR_OK) return status;
    glb_text text = {.length = 0};
    write_text(&text, parts, count, cell_size);
    if (text.failed || text.length > TEXT_MOST) {
        free(text.bytes);
        new_file_close(&f, false);
        return text.failed ? format_fail(WEIR_ERROR_MEMORY, "memory ran out while writing %s", weir_path_tail(path))
                           : format_fail(WEIR_ERROR_LIMIT, "cannot write %s: the names of its meshes are too long",
                                         weir_path_tail(path));
    }
    uint64_t length = 12 + 8 + text.length + (count ? 8 + bytes : 0);
    const uint32_t head[5] = {MAGIC, VERSION, (uint32_t)length, (uint32_t)text.length, JSON_CHUNK};
    const uint32_t chunk[2] = {(uint32_t)bytes, BIN_CHUNK};
    write_words(f.file, head, 5);
    fwrite(text.bytes, 1, text.length, f.file);
    free(text.bytes);
    if (count > 0) write_words(f.file, chunk, 2);
    for (int32_t i = 0; i < count; i++) {
        const weir_mesh *mesh = parts[i].mesh;
        write_words(f.file, mesh->positions, 3 * (size_t)mesh->vertex_count);
        write_words(f.file, mesh->normals, 3 * (size_t)mesh->vertex_count);
        write_words(f.file, mesh->indices, 3 * (size_t)mesh->triangle_count);
    }
    return new_file_close(&f, true);
}

// Of parts that have something in them.
static weir_status write_all(const char *path, const glb_part *parts, int32_t count, double cell_size)
{
    uint64_t bytes = 0;
    if (cell_size == 0) cell_size = 0.1;
    if (!(cell_size > 0) || isinf(cell_size))
        return format_fail(WEIR_ERROR_ARGUMENT, "a cell of %g metres; it must be longer than 0", cell_size);
    for (int32_t i = 0; i < count; i++) bytes += bytes_of_mesh(parts[i].mesh);
    if (bytes > UINT32_MAX - TEXT_MOST)
        return format_fail(WEIR_ERROR_LIMIT, "cannot write %s: meshes of %.1f GiB are more than glTF can hold",
                           weir_path_tail(path), (double)bytes / (1 << 30));
    return write_file(path, parts, count, bytes, cell_size);
}

weir_status weir_glb_write(const char *path, const weir_mesh *water, const weir_mesh *terrain, double cell_size)
{
    glb_part parts[2];
    int32_t count = 0;
    if (water && water->triangle_count > 0) parts[count++] = (glb_part){"water", water, WATER_LOOK};
    if (terrain && terrain->triangle_count > 0) parts[count++] = (glb_part){"terrain", terrain, TERRAIN_LOOK};
    return write_all(path, parts, count, cell_size);
}

weir_status weir_glb_write_parts(const char *path, const weir_mesh_part *parts, int32_t count, double cell_size)
{
    const weir_status status = mesh_parts_check(path, count);
    if (status != WEIR_OK) return status;
    glb_part all[WEIR_MESH_PARTS_MAX];
    int32_t seen = 0;
    for (int32_t i = 0; i < count; i++)
        if (mesh_part_seen(&parts[i])) all[seen++] = (glb_part){parts[i].name, parts[i].mesh, mesh_part_look(&parts[i])};
    return write_all(path, all, seen, cell_size);
}
