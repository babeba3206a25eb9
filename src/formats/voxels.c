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
        return format_fail(WEIR_ERROR_LIMIT, "%s has %.0f x %.0f x %.0f voxels; at most %.0f in all are possible",
                           weir_path_tail(path), size_x, size_y, size_z, limit);
    }
    voxels->values = calloc((size_t)cells, 1);
    if (!voxels->values)
        return format_fail(WEIR_ERROR_MEMORY, "memory ran out for the %.0f voxels of %s", cells, weir_path_tail(path));
    voxels->size = (weir_coord){(int32_t)size_x, (int32_t)size_y, (int32_t)size_z};
    return WEIR_OK;
}

// ---- Into a world ----------------------------------------------------------------------------------------------------------

// Voxels on their way in: the part that lies in the world, and where their lowest corner goes.
typedef struct delivery {
    weir_world *world;
    const weir_voxels *voxels;
    weir_coord at;
    weir_box part;  // of the voxels
    int32_t fluid;
} delivery;

static weir_box moved(weir_box box, weir_coord by)
{
    return (weir_box){{box.min.x + by.x, box.min.y + by.y, box.min.z + by.z},
                      {box.max.x + by.x, box.max.y + by.y, box.max.z + by.z}};
}

// ---- Terrain: in blocks, whose borders are those of bricks, so that each brick is changed once.

enum { BLOCK_EDGE = 64 };

static int32_t block_end(int32_t from, int32_t at, int32_t end)
{
    int32_t border = ((from + at) & ~(BLOCK_EDGE - 1)) + BLOCK_EDGE - at;
    return border < end ? border : end;
}

// The shares of a block; false if all of it is open or water.
static bool block_shares(const delivery *d, weir_box block, uint8_t *shares)
{
    const bool palette = d->voxels->kind == WEIR_VOXELS_PALETTE;
    uint8_t any = 0;
    for (int32_t z = block.min.z; z < block.max.z; z++) {
        for (int32_t y = block.min.y; y < block.max.y; y++) {
            const uint8_t *row = d->voxels->values + voxels_place(d->voxels, block.min.x, y, z);
            for (int32_t x = 0; x < block.max.x - block.min.x; x++) {
                uint8_t share = row[x];
                if (palette) share = row[x] == 0 || row[x] == d->fluid ? 0 : 255;
                any |= *shares++ = share;
            }
        }
    }
    return any != 0;
}

static weir_status put_terrain(const delivery *d)
{
    uint8_t *shares = malloc(BLOCK_EDGE * BLOCK_EDGE * BLOCK_EDGE);
    if (!shares) return format_fail(WEIR_ERROR_MEMORY, "memory ran out while voxels were put into a world");
    weir_status status = WEIR_OK;
    weir_box block = {d->part.min, {0, 0, 0}};
    for (; block.min.z < d->part.max.z; block.min.z = block.max.z) {
        block.max.z = block_end(block.min.z, d->at.z, d->part.max.z);
        for (block.min.y = d->part.min.y; block.min.y < d->part.max.y; block.min.y = block.max.y) {
            block.max.y = block_end(block.min.y, d->at.y, d->part.max.y);
            for (block.min.x = d->part.min.x; block.min.x < d->part.max.x; block.min.x = block.max.x) {
                block.max.x = block_end(block.min.x, d->at.x, d->part.max.x);
                if (status == WEIR_OK && block_shares(d, block, shares))
                    status = weir_world_build_shares(d->world, moved(block, d->at), shares);
            }
        }
    }
    free(shares);
    return status;
}

// ---- Water: gathered into boxes, first along x, then y, then z, since an edit costs about as much for a box as for a cell.

typedef struct gathering {
    const delivery *d;
    uint8_t *done;  // a bit per voxel that has been put
} gathering;

static bool wants_water(const gathering *g, size_t place)
{
    return g->d->voxels->values[place] == g->d->fluid && !(g->done[place >> 3] >> (place & 7) & 1);
}

static bool row_wants_water(const gathering *g, int32_t x0, int32_t x1, int32_t y, int32_t z)
{
    size_t place = voxels_place(g->d->voxels, x0, y, z);
    for (int32_t x = x0; x < x1; x++, place++)
        if (!wants_water(g, place)) return false;
    return true;
}

static bool layer_wants_water(const gathering *g, weir_box box, int32_t z)
{
    for (int32_t y = box.min.y; y < box.max.y; y++)
        if (!row_wants_water(g, box.min.x, box.max.x, y, z)) return false;
    return true;
}

// The largest box of water from a voxel on; its voxels are done then.
static weir_box gather(gathering *g, weir_coord c)
{
    const weir_box *part = &g->d->part;
    weir_box box = {c, {c.x + 1, c.y + 1, c.z + 1}};
    while (box.max.x < part->max.x && row_wants_water(g, box.max.x, box.max.x + 1, c.y, c.z)) box.max.x++;
    while (box.max.y < part->max.y && row_wants_water(g, box.min.x, box.max.x, box.max.y, c.z)) box.max.y++;
    while (box.max.z < part->max.z && layer_wants_water(g, box, box.max.z)) box.max.z++;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            size_t place = voxels_place(g->d->voxels, box.min.x, y, z);
            for (int32_t x = box.min.x; x < box.max.x; x++, place++) g->done[place >> 3] |= (uint8_t)(1 << (place & 7));
        }
    }
    return box;
}

static weir_status put_water(const delivery *d)
{
    const weir_coord size = d->voxels->size;
    const weir_box *part = &d->part;
    gathering g = {d, calloc((size_t)size.x * (size_t)size.y * (size_t)size.z / 8 + 1, 1)};
    weir_status status = g.done ? WEIR_OK : format_fail(WEIR_ERROR_MEMORY, "memory ran out while voxels were put into a world");
    for (int32_t z = part->min.z; z < part->max.z && status == WEIR_OK; z++) {
        for (int32_t y = part->min.y; y < part->max.y && status == WEIR_OK; y++) {
            for (int32_t x = part->min.x; x < part->max.x && status == WEIR_OK; x++) {
                if (!wants_water(&g, voxels_place(d->voxels, x, y, z))) continue;
                status = weir_world_fill(d->world, moved(gather(&g, (weir_coord){x, y, z}), d->at), WEIR_WATER, 1.0f);
            }
        }
    }
    free(g.done);
    return status;
}

// The part of 0 <= i < size for which at + i lies between min and max.
static void cut(int32_t size, int32_t at, int32_t min, int32_t max, int32_t *begin, int32_t *end)
{
    int64_t low = (int64_t)min - at, high = (int64_t)max - at;
    *begin = (int32_t)(low < 0 ? 0 : low > size ? size : low);
    *end = (int32_t)(high < 0 ? 0 : high > size ? size : high);
}

// Its bounds, or how far one without bounds can go.
static weir_box reach(const weir_world *world)
{
    const weir_coord lowest = {-WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT, -WEIR_COORD_LIMIT};
    const weir_coord highest = {WEIR_COORD_LIMIT, WEIR_COORD_LIMIT, WEIR_COORD_LIMIT};
    weir_box bounds = weir_world_bounds(world);
    return box_empty(bounds) ? (weir_box){lowest, highest} : bounds;
}

static weir_box part_inside(const weir_world *world, const weir_voxels *v, weir_coord at)
{
    weir_box bounds = reach(world), part;
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
    delivery d = {.world = world, .voxels = voxels, .at = at, .part = part_inside(world, voxels, at), .fluid = fluid};
    if (box_empty(d.part)) {
        weir_box b = reach(world);
        return format_fail(
            WEIR_ERROR_OUTSIDE,
            "the %d x %d x %d voxels from (%d, %d, %d) on lie outside the world, which is (%d, %d, %d) to (%d, %d, %d)",
            voxels->size.x, voxels->size.y, voxels->size.z, at.x, at.y, at.z, b.min.x, b.min.y, b.min.z, b.max.x, b.max.y,
            b.max.z);
    }
    weir_status status = put_terrain(&d);
    return status == WEIR_OK && fluid > 0 ? put_water(&d) : status;
}

// ---- Out of a world --------------------------------------------------------------------------------------------------------

// A glass of blue for water, stone for terrain. Other liquids and gases are glass of their colour, solids are not seen through.
static const uint8_t WATER_COLOUR[4] = {40, 120, 220, 110}, TERRAIN_COLOUR[4] = {150, 140, 125, 255};

// The colours of those that there are.
static void colour_materials(const weir_world *world, weir_voxels *v)
{
    static const uint8_t alpha[WEIR_KIND_COUNT] = {[WEIR_KIND_LIQUID] = 110, [WEIR_KIND_GAS] = 60, [WEIR_KIND_SOLID] = 255};
    const size_t count = (size_t)v->size.x * (size_t)v->size.y * (size_t)v->size.z;
    bool used[256] = {false};
    weir_material_def def;
    for (size_t i = 0; i < count; i++) used[v->values[i]] = true;
    for (weir_material m = WEIR_WATER + 1; weir_world_material(world, m, &def); m++) {
        uint8_t *colour = v->palette[WEIR_VOX_MATERIAL(m)];
        if (!used[WEIR_VOX_MATERIAL(m)]) continue;
        for (int32_t i = 0; i < 3; i++) colour[i] = (uint8_t)(def.colour[i] * 255.0f + 0.5f);
        colour[3] = alpha[def.kind];
    }
}

static uint8_t value_of(uint8_t terrain, float fill, uint8_t material)
{
    if (terrain >= 128) return WEIR_VOX_TERRAIN;
    if (fill < 0.5f) return 0;
    return (uint8_t)(material == WEIR_WATER ? WEIR_VOX_WATER : WEIR_VOX_MATERIAL(material));
}

static weir_status take_layer(const weir_world *world, weir_box layer, float *fill, uint8_t *materials, uint8_t *values)
{
    weir_status status = weir_world_read_fill(world, layer, fill);
    if (status == WEIR_OK) status = weir_world_read_material(world, layer, materials);
    if (status == WEIR_OK) status = weir_world_read_terrain(world, layer, values);
    if (status != WEIR_OK) return status;
    size_t cells = (size_t)box_cells(layer);
    for (size_t i = 0; i < cells; i++) values[i] = value_of(values[i], fill[i], materials[i]);
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
    const size_t cells = (size_t)x * (size_t)y * 8;
    float *fill = malloc(cells * sizeof *fill);
    uint8_t *materials = malloc(cells);
    if (!fill || !materials) status = format_fail(WEIR_ERROR_MEMORY, "memory ran out for a layer of %.0f x %.0f cells", x, y);
    for (int32_t at = box.min.z; at < box.max.z && status == WEIR_OK;) {
        int32_t end = (at & ~7) + 8;
        weir_box layer = {{box.min.x, box.min.y, at}, {box.max.x, box.max.y, end < box.max.z ? end : box.max.z}};
        status = take_layer(world, layer, fill, materials, voxels->values + voxels_place(voxels, 0, 0, at - box.min.z));
        at = layer.max.z;
    }
    free(fill);
    free(materials);
    if (status == WEIR_OK)
        colour_materials(world, voxels);
    else
        weir_voxels_free(voxels);
    return status;
}
