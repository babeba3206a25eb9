// Boxes of voxels: made, put into a world, taken out of one.
#include "formats/voxels.h"
#include "formats/volume.h"

#include <stdlib.h>
#include <string.h>

void weir_voxels_free(weir_voxels *voxels)
{
    free(voxels->values);
    *voxels = (weir_voxels){0};
}

weir_status voxels_make(const char *path, const weir_voxels_def *def, double size_x, double size_y, double size_z,
                        weir_voxels *voxels)
{
    double limit = def && def->limit > 0 && def->limit < WEIR_VOXELS_LIMIT ? (double)def->limit : WEIR_VOXELS_LIMIT;
    double cells = size_x * size_y * size_z;
    *voxels = (weir_voxels){0};
    if (!(cells <= limit)) {
        return format_fail(WEIR_ERROR_LIMIT, "%s has %.0f x %.0f x %.0f voxels; at most %.0f in all can be read",
                           file_tail(path), size_x, size_y, size_z, limit);
    }
    voxels->values = calloc((size_t)cells, 1);
    if (!voxels->values)
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the %.0f voxels of %s", cells, file_tail(path));
    voxels->size = (weir_coord){(int32_t)size_x, (int32_t)size_y, (int32_t)size_z};
    return WEIR_OK;
}

// ---- Into a world ----------------------------------------------------------------------------------------------------------
// Voxels that mean the same are gathered into boxes, first along x, then y, then z, since an edit costs about as much for a box as for
// a cell.

enum { MEANS_NOTHING = 0, MEANS_WATER = 256 };  // between them: terrain of that share

typedef struct gathering {
    const weir_voxels *voxels;
    weir_box part;        // of the voxels that lies in the world
    uint16_t means[256];  // of each value
    uint8_t *done;        // a bit per voxel that has been put
} gathering;

static size_t place_of(const gathering *g, int32_t x, int32_t y, int32_t z)
{
    return voxels_place(g->voxels, x, y, z);
}

static bool is_done(const gathering *g, size_t place)
{
    return g->done[place >> 3] >> (place & 7) & 1;
}

static uint16_t meaning(const gathering *g, size_t place)
{
    return is_done(g, place) ? MEANS_NOTHING : g->means[g->voxels->values[place]];
}

static bool row_means(const gathering *g, int32_t x0, int32_t x1, int32_t y, int32_t z, uint16_t what)
{
    size_t place = place_of(g, x0, y, z);
    for (int32_t x = x0; x < x1; x++, place++)
        if (meaning(g, place) != what) return false;
    return true;
}

static bool layer_means(const gathering *g, weir_box box, int32_t z, uint16_t what)
{
    for (int32_t y = box.min.y; y < box.max.y; y++)
        if (!row_means(g, box.min.x, box.max.x, y, z, what)) return false;
    return true;
}

// The largest box from a voxel on that means what it means; its voxels are done then.
static weir_box gather(gathering *g, weir_coord c, uint16_t what)
{
    weir_box box = {c, {c.x + 1, c.y + 1, c.z + 1}};
    while (box.max.x < g->part.max.x && row_means(g, box.max.x, box.max.x + 1, c.y, c.z, what)) box.max.x++;
    while (box.max.y < g->part.max.y && row_means(g, box.min.x, box.max.x, box.max.y, c.z, what)) box.max.y++;
    while (box.max.z < g->part.max.z && layer_means(g, box, box.max.z, what)) box.max.z++;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            size_t place = place_of(g, box.min.x, y, z);
            for (int32_t x = box.min.x; x < box.max.x; x++, place++) g->done[place >> 3] |= (uint8_t)(1 << (place & 7));
        }
    }
    return box;
}

static weir_status put_box(weir_world *world, weir_box box, weir_coord at, uint16_t what)
{
    box.min = (weir_coord){box.min.x + at.x, box.min.y + at.y, box.min.z + at.z};
    box.max = (weir_coord){box.max.x + at.x, box.max.y + at.y, box.max.z + at.z};
    return what == MEANS_WATER ? weir_world_fill(world, box, WEIR_WATER, 1.0f) : weir_world_build(world, box, (uint8_t)what);
}

static weir_status put_all(gathering *g, weir_world *world, weir_coord at)
{
    const weir_box *part = &g->part;
    for (int32_t z = part->min.z; z < part->max.z; z++) {
        for (int32_t y = part->min.y; y < part->max.y; y++) {
            for (int32_t x = part->min.x; x < part->max.x; x++) {
                uint16_t what = meaning(g, place_of(g, x, y, z));
                if (what == MEANS_NOTHING) continue;
                weir_status status = put_box(world, gather(g, (weir_coord){x, y, z}, what), at, what);
                if (status != WEIR_OK) return status;
            }
        }
    }
    return WEIR_OK;
}

// The part of 0 <= i < size for which at + i lies between min and max.
static void cut(int32_t size, int32_t at, int32_t min, int32_t max, int32_t *begin, int32_t *end)
{
    int64_t low = (int64_t)min - at, high = (int64_t)max - at;
    *begin = (int32_t)(low < 0 ? 0 : low > size ? size : low);
    *end = (int32_t)(high < 0 ? 0 : high > size ? size : high);
}

static weir_box part_inside(const weir_world *world, const weir_voxels *v, weir_coord at)
{
    const weir_coord lowest = {-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT};
    const weir_coord highest = {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT};
    weir_box bounds = weir_world_bounds(world), part;
    if (box_empty(bounds)) bounds = (weir_box){lowest, highest};
    cut(v->size.x, at.x, bounds.min.x, bounds.max.x, &part.min.x, &part.max.x);
    cut(v->size.y, at.y, bounds.min.y, bounds.max.y, &part.min.y, &part.max.y);
    cut(v->size.z, at.z, bounds.min.z, bounds.max.z, &part.min.z, &part.max.z);
    return part;
}

weir_status weir_voxels_put(weir_world *world, const weir_voxels *voxels, weir_coord at, int32_t fluid)
{
    if (fluid < 0 || fluid > 255 || (fluid > 0 && voxels->kind != WEIR_VOXELS_PALETTE))
        return format_fail(WEIR_ERROR_ARGUMENT, "%d is not a colour of a palette that could be water; these are 1 to 255",
                           fluid);
    gathering g = {.voxels = voxels, .part = part_inside(world, voxels, at)};
    if (box_empty(g.part)) {
        weir_box b = weir_world_bounds(world);
        return format_fail(
            WEIR_ERROR_OUTSIDE,
            "the %d x %d x %d voxels from (%d, %d, %d) on lie outside the world, which is (%d, %d, %d) to (%d, %d, %d)",
            voxels->size.x, voxels->size.y, voxels->size.z, at.x, at.y, at.z, b.min.x, b.min.y, b.min.z, b.max.x, b.max.y,
            b.max.z);
    }
    for (int32_t value = 1; value < 256; value++)
        g.means[value] = voxels->kind == WEIR_VOXELS_SHARES ? (uint16_t)value : value == fluid ? MEANS_WATER : 255;
    size_t cells = (size_t)voxels->size.x * (size_t)voxels->size.y * (size_t)voxels->size.z;
    g.done = calloc(cells / 8 + 1, 1);
    if (!g.done) return format_fail(WEIR_ERROR_MEMORY, "memory ran out while %zu voxels were put into a world", cells);
    weir_status status = put_all(&g, world, at);
    free(g.done);
    return status;
}

// ---- Out of a world --------------------------------------------------------------------------------------------------------

// A glass of blue for water, stone for terrain.
static const uint8_t WATER_COLOUR[4] = {40, 120, 220, 110}, TERRAIN_COLOUR[4] = {150, 140, 125, 255};

static weir_status take_layer(const weir_world *world, weir_box layer, float *fill, uint8_t *values)
{
    weir_status status = weir_world_read_fill(world, layer, fill);
    if (status == WEIR_OK) status = weir_world_read_terrain(world, layer, values);
    if (status != WEIR_OK) return status;
    size_t cells = (size_t)box_cells(layer);
    for (size_t i = 0; i < cells; i++) values[i] = values[i] >= 128 ? WEIR_VOX_TERRAIN : fill[i] >= 0.5f ? WEIR_VOX_WATER : 0;
    return WEIR_OK;
}

weir_status weir_voxels_of_world(const weir_world *world, const weir_box *asked, weir_voxels *voxels)
{
    weir_box box;
    *voxels = (weir_voxels){0};
    weir_status status = volume_box("voxels", world, asked, &box);
    if (status != WEIR_OK) return status;
    double x = (double)box.max.x - box.min.x, y = (double)box.max.y - box.min.y, z = (double)box.max.z - box.min.z;
    status = voxels_make("the box", NULL, x, y, z, voxels);
    if (status != WEIR_OK) return status;
    voxels->kind = WEIR_VOXELS_PALETTE;
    voxels->origin = box.min;
    memcpy(voxels->palette[WEIR_VOX_WATER], WATER_COLOUR, 4);
    memcpy(voxels->palette[WEIR_VOX_TERRAIN], TERRAIN_COLOUR, 4);

    // By layers of bricks, so that each brick is brought once and the fills take little room.
    float *fill = malloc((size_t)x * (size_t)y * 8 * sizeof *fill);
    if (!fill) status = format_fail(WEIR_ERROR_MEMORY, "memory ran out for a layer of %.0f x %.0f cells", x, y);
    for (int32_t at = box.min.z; at < box.max.z && status == WEIR_OK;) {
        int32_t end = (at & ~7) + 8;
        weir_box layer = {{box.min.x, box.min.y, at}, {box.max.x, box.max.y, end < box.max.z ? end : box.max.z}};
        status = take_layer(world, layer, fill, voxels->values + voxels_place(voxels, 0, 0, at - box.min.z));
        at = layer.max.z;
    }
    free(fill);
    if (status != WEIR_OK) weir_voxels_free(voxels);
    return status;
}
