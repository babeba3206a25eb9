// VTK ImageData: an XML head that tells where which array begins, then the arrays as they lie in memory.
//
//     <VTKFile ...> ... offsets ... <AppendedData encoding="raw"> _ | size u64, fill | size u64, flow | ... </AppendedData>
//
// A world's y is up and stays so; ParaView takes any axis for up.
#include "formats/volume.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SLAB = 8 };  // layers that are read at once: those of a brick

typedef struct volume_array {
    const char *name, *type;
    int32_t parts;       // numbers per cell
    int32_t cell_bytes;  // of all parts
    weir_status (*read)(const weir_world *world, weir_box box, void *values);
} volume_array;

static weir_status read_fill(const weir_world *world, weir_box box, void *values)
{
    return weir_world_read_fill(world, box, values);
}

static weir_status read_flow(const weir_world *world, weir_box box, void *values)
{
    return weir_world_read_flow(world, box, values);
}

static weir_status read_pressure(const weir_world *world, weir_box box, void *values)
{
    return weir_world_read_pressure(world, box, values);
}

static weir_status read_terrain(const weir_world *world, weir_box box, void *values)
{
    return weir_world_read_terrain(world, box, values);
}

static const volume_array arrays[] = {
    {"fill", "Float32", 1, 4, read_fill},
    {"flow", "Float32", 3, 12, read_flow},
    {"pressure", "Float32", 1, 4, read_pressure},
    {"terrain", "UInt8", 1, 1, read_terrain},
};
enum { ARRAYS = sizeof arrays / sizeof arrays[0], LARGEST_CELL = 12 };

static const char *byte_order(void)
{
    const uint16_t one = 1;
    return *(const uint8_t *)&one ? "LittleEndian" : "BigEndian";
}

static void write_head(FILE *file, weir_box box, uint64_t cells)
{
    const weir_coord n = {box.max.x - box.min.x, box.max.y - box.min.y, box.max.z - box.min.z};
    fprintf(file, "<?xml version=\"1.0\"?>\n");
    fprintf(file, "<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"%s\" header_type=\"UInt64\">\n", byte_order());
    fprintf(file, "<ImageData WholeExtent=\"0 %d 0 %d 0 %d\" Origin=\"%d %d %d\" Spacing=\"1 1 1\">\n", n.x, n.y, n.z,
            box.min.x, box.min.y, box.min.z);
    fprintf(file, "<Piece Extent=\"0 %d 0 %d 0 %d\">\n<CellData Scalars=\"fill\" Vectors=\"flow\">\n", n.x, n.y, n.z);
    uint64_t offset = 0;
    for (int32_t i = 0; i < ARRAYS; i++) {
        fprintf(file,
                "<DataArray type=\"%s\" Name=\"%s\" NumberOfComponents=\"%d\" format=\"appended\" offset=\"%" PRIu64 "\"/>\n",
                arrays[i].type, arrays[i].name, arrays[i].parts, offset);
        offset += sizeof(uint64_t) + cells * (uint64_t)arrays[i].cell_bytes;
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
        weir_status status = array->read(world, part, slab);
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
    new_file f;
    status = new_file_open(&f, path);
    if (status == WEIR_OK) {
        write_head(f.file, box, (uint64_t)box_cells(box));
        for (int32_t i = 0; i < ARRAYS && status == WEIR_OK; i++) status = write_array(&f, &arrays[i], world, box, slab);
        fprintf(f.file, "\n</AppendedData>\n</VTKFile>\n");
        weir_status closed = new_file_close(&f, status == WEIR_OK);
        if (status == WEIR_OK) status = closed;
    }
    free(slab);
    return status;
}
