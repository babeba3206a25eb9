// Meshes as glTF 2.0 in its binary form (.glb):
//
//     | "glTF", version, length | length, "JSON", text, blanks | length, "BIN", positions, normals, indices of each mesh |
//
// Everything is made of four-byte words, so all parts are aligned by themselves but for the text, which blanks fill up. A mesh has
// three accessors, one buffer view each. An empty mesh is left out: an accessor must have elements.
#include "formats/bytes.h"
#include "formats/new_file.h"

#include <math.h>

enum { MESHES = 2, TEXT_ROOM = 8192 };

static const uint32_t MAGIC = 0x46546c67, VERSION = 2, JSON_CHUNK = 0x4e4f534a, BIN_CHUNK = 0x004e4942;

typedef struct glb_part {
    const char *name;
    const weir_mesh *mesh;
    const char *material;
} glb_part;

// The text as it grows; it is far from the room's end.
typedef struct glb_text {
    char bytes[TEXT_ROOM];
    size_t length;
} glb_text;

// Water one sees through, smooth as a mirror; terrain matt.
static const char water_material[] =
    "{\"name\":\"water\",\"alphaMode\":\"BLEND\",\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.05,0.27,0.45,0.6],"
    "\"metallicFactor\":0,\"roughnessFactor\":0.05}}";
static const char terrain_material[] = "{\"name\":\"terrain\",\"pbrMetallicRoughness\":{\"baseColorFactor\":[0.38,0.33,0.27,1],"
                                       "\"metallicFactor\":0,\"roughnessFactor\":0.95}}";

__attribute__((format(printf, 2, 3))) static void add(glb_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->bytes + text->length, sizeof text->bytes - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
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
    add(text, "%s{\"name\":\"%s\",\"mesh\":%d,\"scale\":[%.9g,%.9g,%.9g],\"translation\":[%.17g,%.17g,%.17g]}",
        index ? "," : "", part->name, index, cell_size, cell_size, cell_size, o.x * cell_size, o.y * cell_size,
        o.z * cell_size);
}

static void add_mesh(glb_text *text, const glb_part *part, int32_t index)
{
    add(text,
        "%s{\"name\":\"%s\",\"primitives\":[{\"attributes\":{\"POSITION\":%d,\"NORMAL\":%d},\"indices\":%d,\"material\":%d}]}",
        index ? "," : "", part->name, 3 * index, 3 * index + 1, 3 * index + 2, index);
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
    if (count > 0) add(text, ",\"nodes\":[%s]", count == 2 ? "0,1" : "0");
    add(text, "}]");
    if (count > 0) {
        add(text, ",\"nodes\":[");
        for (int32_t i = 0; i < count; i++) add_node(text, &parts[i], i, cell_size);
        add(text, "],\"meshes\":[");
        for (int32_t i = 0; i < count; i++) add_mesh(text, &parts[i], i);
        add(text, "],\"materials\":[");
        for (int32_t i = 0; i < count; i++) add(text, "%s%s", i ? "," : "", parts[i].material);
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
    uint64_t length = 12 + 8 + text.length + (count ? 8 + bytes : 0);
    const uint32_t head[5] = {MAGIC, VERSION, (uint32_t)length, (uint32_t)text.length, JSON_CHUNK};
    const uint32_t chunk[2] = {(uint32_t)bytes, BIN_CHUNK};
    write_words(f.file, head, 5);
    fwrite(text.bytes, 1, text.length, f.file);
    if (count > 0) write_words(f.file, chunk, 2);
    for (int32_t i = 0; i < count; i++) {
        const weir_mesh *mesh = parts[i].mesh;
        write_words(f.file, mesh->positions, 3 * (size_t)mesh->vertex_count);
        write_words(f.file, mesh->normals, 3 * (size_t)mesh->vertex_count);
        write_words(f.file, mesh->indices, 3 * (size_t)mesh->triangle_count);
    }
    return new_file_close(&f, true);
}

weir_status weir_glb_write(const char *path, const weir_mesh *water, const weir_mesh *terrain, double cell_size)
{
    const glb_part all[MESHES] = {{"water", water, water_material}, {"terrain", terrain, terrain_material}};
    glb_part parts[MESHES];
    int32_t count = 0;
    uint64_t bytes = 0;
    if (cell_size == 0) cell_size = 0.1;
    if (!(cell_size > 0) || isinf(cell_size))
        return format_fail(WEIR_ERROR_ARGUMENT, "a cell of %g metres; it must be longer than 0", cell_size);
    for (int32_t i = 0; i < MESHES; i++) {
        if (!all[i].mesh || all[i].mesh->triangle_count == 0) continue;
        parts[count++] = all[i];
        bytes += bytes_of_mesh(all[i].mesh);
    }
    if (bytes > UINT32_MAX - TEXT_ROOM)
        return format_fail(WEIR_ERROR_LIMIT, "cannot write %s: meshes of %.1f GiB are more than glTF can hold",
                           weir_path_tail(path), (double)bytes / (1 << 30));
    return write_file(path, parts, count, bytes, cell_size);
}
