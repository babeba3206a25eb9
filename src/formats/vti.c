// VTK ImageData: an XML head that tells where which array begins, then the arrays as they lie in memory.
//
//     <VTKFile ...> ... offsets ... <AppendedData encoding="raw"> _ | size u64, fill | size u64, flow | ... </AppendedData>
//
// A world's y is up and stays so; ParaView takes any axis for up.
#include "formats/volume.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = 8 };  // layers that are read at once: those of a brick

typedef struct volume_array volume_array;

struct volume_array {
    const char *name, *type;
    int32_t parts;       // numbers per cell
    int32_t cell_bytes;  // of all parts
    weir_status (*read)(const volume_array *array, const weir_world *world, weir_box box, void *values);
    weir_material material;  // of whose amounts it is; else WEIR_NOTHING
};

static weir_status read_fill(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    (void)array;
    return weir_world_read_fill(world, box, values);
}

static weir_status read_flow(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    (void)array;
    return weir_world_read_flow(world, box, values);
}

static weir_status read_pressure(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    (void)array;
    return weir_world_read_pressure(world, box, values);
}

static weir_status read_terrain(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    (void)array;
    return weir_world_read_terrain(world, box, values);
}

static weir_status read_amounts(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    return weir_world_read_amounts(world, box, array->material, values);
}

static weir_status read_temperature(const volume_array *array, const weir_world *world, weir_box box, void *values)
{
    (void)array;
    return weir_world_read_temperature(world, box, values);
}

static const volume_array usual[] = {
    {"fill", "Float32", 1, 4, read_fill, WEIR_NOTHING},
    {"flow", "Float32", 3, 12, read_flow, WEIR_NOTHING},
    {"pressure", "Float32", 1, 4, read_pressure, WEIR_NOTHING},
    {"terrain", "UInt8", 1, 1, read_terrain, WEIR_NOTHING},
};
enum { USUAL = sizeof usual / sizeof usual[0], ARRAYS = USUAL + 1 + WEIR_MATERIAL_MAX, LARGEST_CELL = 12 };

typedef struct array_list {
    volume_array array[ARRAYS];
    int32_t count;
    char names[WEIR_MATERIAL_MAX][MATERIAL_FIELD];
} array_list;

// The same ones for all files of a series, whatever has boiled away meanwhile.
static void list_arrays(const weir_world *world, array_list *list)
{
    bool known[WEIR_MATERIAL_MAX];
    memcpy(list->array, usual, sizeof usual);
    list->count = USUAL;
    volume_materials(world, known);
    for (weir_material m = 1; m < weir_world_material_count(world); m++) {
        if (!known[m]) continue;
        volume_field_name(world, m, list->names[m]);
        list->array[list->count++] = (volume_array){list->names[m], "Float32", 1, 4, read_amounts, m};
    }
    if (weir_world_knows_temperature(world))
        list->array[list->count++] = (volume_array){"temperature", "Float32", 1, 4, read_temperature, WEIR_NOTHING};
}

// A name may be a game's, with whatever in it.
static void write_name(FILE *file, const char *name)
{
    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;
        if (c == '"' || c == '&' || c == '<' || c == '>')
            fprintf(file, "&#%d;", c);
        else
            fputc(c < 32 ? '_' : c, file);
    }
}

static const char *byte_order(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one ? "LittleEndian" : "BigEndian";
}

static void write_head(FILE *file, weir_box box, uint64_t cells, const array_list *list)
{
    const weir_coord n = {box.max.x - box.min.x, box.max.y - box.min.y, box.max.z - box.min.z};
    fprintf(file, "<?xml version=\"1.0\"?>\n");
    fprintf(file, "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"%s\" header_type=\"UInt64\">\n", byte_order());
    fprintf(file, "<ImageData WholeExtent=\"0 %d 0 %d 0 %d\" Origin=\"%d %d %d\" Spacing=\"1 1 1\">\n", n.x, n.y, n.z,
            box.min.x, box.min.y, box.min.z);
    fprintf(file, "<Piece Extent=\"0 %d 0 %d 0 %d\">\n<CellData Scalars=\"fill\" Vectors=\"flow\">\n", n.x, n.y, n.z);
    uint64_t offset = 0;
    for (int32_t i = 0; i < list->count; i++) {
        const volume_array *array = &list->array[i];
        fprintf(file, "<DataArray type=\"%s\" Name=\"", array->type);
        write_name(file, array->name);
        fprintf(file, "\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%" PRIu64 "\"/>\n", array->parts, offset);
        offset += sizeof(uint64_t) + cells * (uint64_t)array->cell_bytes;
    }
    fprintf(file, "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_");
}

static weir_status write_array(new_file *f, const volume_array *array, const weir_world *world, weir_box box, void *slab)
{
    const uint64_t size = (uint64_t)box_cells(box) * (uint64_t)array->cell_bytes;
    new_file_write(f, &size, sizeof size);
    for (int32_t z = box.min.z; z < box.max.z && !ferror(f->file);) {
        // Up to the next border of bricks, so that each is brought once.
        int32_t end = (z & ~(SLAB - 1)) + SLAB;
        weir_box part = {{box.min.x, box.min.y, z}, {box.max.x, box.max.y, end < box.max.z ? end : box.max.z}};
        weir_status status = array->read(array, world, part, slab);
        if (status != WEIR_OK) return status;
        new_file_write(f, slab, (size_t)array->cell_bytes * (size_t)box_cells(part));
        z = part.max.z;
    }
    return WEIR_OK;
}

weir_status weir_vti_write(const char *path, const weir_world *world, const weir_box *asked)
{
    weir_box box;
    weir_status status = volume_box(path, world, asked, &box);
    if (status != WEIR_OK) return status;
    double slab_bytes = ((double)box.max.x - box.min.x) * ((double)box.max.y - box.min.y) * SLAB * LARGEST_CELL;
    void *slab = slab_bytes < (double)(SIZE_MAX / 2) && box_cells(box) < 0x1p53 ? malloc((size_t)slab_bytes) : NULL;
    if (!slab)
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out for %.0f bytes while writing %s", slab_bytes,
                           weir_path_tail(path));
    array_list list;
    list_arrays(world, &list);
    new_file f;
    status = new_file_open(&f, path);
    if (status == WEIR_OK) {
        write_head(f.file, box, (uint64_t)box_cells(box), &list);
        for (int32_t i = 0; i < list.count && status == WEIR_OK; i++)
            status = write_array(&f, &list.array[i], world, box, slab);
        fprintf(f.file, "\n</AppendedData>\n</VTKFile>\n");
        weir_status closed = new_file_close(&f, status == WEIR_OK);
        if (status == WEIR_OK) status = closed;
    }
    free(slab);
    return status;
}
