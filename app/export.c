// Exports. A format is a line in the table and a function that writes the world to a path.
#include "app/export.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/app.h"
#include <weir/formats.h>
#include <weir/path.h>

#define VTI_CELLS 0x1p40  // 23 TB

typedef struct export_format {
    const char *ending;
    const char *meaning;
    double box_cells;  // most cells of a part of the world that it can be told to hold; 0: it holds the whole
    weir_status (*write)(exporter *e, const char *path);
} export_format;

// ---- Meshes ----------------------------------------------------------------------------------------------------------------

// The surface of a material, or of all fluid; what has not changed since the last export is not meshed again.
static weir_status fluid_mesh(exporter *e, weir_material material, weir_mesh *mesh)
{
    const weir_mesher_def def = {.material = material};
    weir_mesher **mesher = &e->meshers[material];
    weir_status status = *mesher ? WEIR_OK : weir_mesher_create(e->world, &def, mesher);
    if (status == WEIR_OK) status = weir_mesher_update(*mesher, NULL);
    if (status == WEIR_OK) status = weir_mesher_join(*mesher, mesh);
    return status;
}

static int32_t lower(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int32_t upper(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

// The world's bounds; of one without any, the box around its bricks.
static weir_box world_box(const weir_world *world)
{
    weir_box box = weir_world_bounds(world);
    if (box.min.x < box.max.x) return box;
    int32_t count = weir_world_bricks(world, NULL, 0);
    weir_coord *bricks = count > 0 ? malloc((size_t)count * sizeof *bricks) : NULL;
    if (!bricks) return box;
    weir_world_bricks(world, bricks, count);
    box = (weir_box){bricks[0], bricks[0]};
    for (int32_t i = 0; i < count; i++) {
        weir_coord b = bricks[i];
        box.min = (weir_coord){lower(box.min.x, b.x), lower(box.min.y, b.y), lower(box.min.z, b.z)};
        box.max = (weir_coord){upper(box.max.x, b.x + 8), upper(box.max.y, b.y + 8), upper(box.max.z, b.z + 8)};
    }
    free(bricks);
    return box;
}

static weir_status terrain_mesh(exporter *e)
{
    weir_mesh_free(&e->terrain);
    weir_box box = world_box(e->world);
    return box.min.x < box.max.x ? weir_world_terrain_mesh(e->world, box, &e->terrain) : WEIR_OK;
}

// Whether there is any fluid but water, so that each gets a mesh of its own.
static bool has_several(const exporter *e)
{
    for (weir_material m = 1; m < weir_world_material_count(e->world); m++)
        if (m != WEIR_WATER && weir_world_material_ledger(e->world, m).held > 0) return true;
    return false;
}

typedef struct part_list {
    weir_mesh mesh[WEIR_MATERIAL_MAX];
    weir_mesh_part part[WEIR_MATERIAL_MAX + 1];
    int32_t count;
} part_list;

static weir_status fluid_parts(exporter *e, part_list *list)
{
    weir_status status = WEIR_OK;
    list->count = 0;
    for (weir_material m = 1; m < weir_world_material_count(e->world) && status == WEIR_OK; m++) {
        if (weir_world_material_ledger(e->world, m).held <= 0) continue;
        status = fluid_mesh(e, m, &list->mesh[m]);
        list->part[list->count++] = weir_mesh_part_of(e->world, m, &list->mesh[m]);
    }
    return status;
}

static weir_status all_parts(exporter *e, part_list *list)
{
    weir_status status = terrain_mesh(e);
    if (status == WEIR_OK) status = fluid_parts(e, list);
    if (status == WEIR_OK) list->part[list->count++] = weir_mesh_part_of(e->world, WEIR_TERRAIN, &e->terrain);
    return status;
}

static weir_status both_meshes(exporter *e, weir_mesh *water)
{
    weir_status status = terrain_mesh(e);
    return status == WEIR_OK ? fluid_mesh(e, WEIR_NOTHING, water) : status;
}

static weir_status write_ply(exporter *e, const char *path)
{
    part_list list;
    weir_mesh water;
    const bool several = has_several(e);
    weir_status status = several ? fluid_parts(e, &list) : fluid_mesh(e, WEIR_NOTHING, &water);
    if (status != WEIR_OK) return status;
    return several ? weir_ply_write_parts(path, list.part, list.count) : weir_ply_write(path, &water);
}

static weir_status write_obj(exporter *e, const char *path)
{
    part_list list;
    weir_mesh water;
    const bool several = has_several(e);
    weir_status status = several ? all_parts(e, &list) : both_meshes(e, &water);
    if (status != WEIR_OK) return status;
    return several ? weir_obj_write_parts(path, list.part, list.count) : weir_obj_write(path, &water, &e->terrain);
}

static weir_status write_glb(exporter *e, const char *path)
{
    part_list list;
    weir_mesh water;
    const bool several = has_several(e);
    weir_status status = several ? all_parts(e, &list) : both_meshes(e, &water);
    if (status != WEIR_OK) return status;
    return several ? weir_glb_write_parts(path, list.part, list.count, 0) : weir_glb_write(path, &water, &e->terrain, 0);
}

// ---- Voxels ----------------------------------------------------------------------------------------------------------------

static double cells_of(weir_box box)
{
    return ((double)box.max.x - box.min.x) * ((double)box.max.y - box.min.y) * ((double)box.max.z - box.min.z);
}

// The files of a series have one box, that of a bounded world, so that a program which plays them does not jump.
static weir_status write_vti(exporter *e, const char *path)
{
    weir_box bounds = weir_world_bounds(e->world);
    double cells = cells_of(bounds);
    bool steady = e->every && cells > 0 && cells <= WEIR_VOLUME_LIMIT;
    return weir_vti_write(path, e->world, e->box ? e->box : steady ? &bounds : NULL);
}

static weir_status write_nvdb(exporter *e, const char *path)
{
    return weir_nvdb_write(path, e->world);
}

static weir_status write_vox(exporter *e, const char *path)
{
    weir_voxels voxels;
    weir_status status = weir_voxels_of_world(e->world, e->box, &voxels);
    if (status == WEIR_OK) status = weir_vox_write(path, &voxels);
    weir_voxels_free(&voxels);
    return status;
}

// ---- The table -------------------------------------------------------------------------------------------------------------

static const export_format formats[] = {
    {".ply", "the surface of the water, or of each fluid in its colour, as a PLY mesh", 0, write_ply},
    {".obj", "water, or each fluid, and terrain as OBJ meshes, with a .mtl file", 0, write_obj},
    {".glb", "water, or each fluid, and terrain as binary glTF, with materials", 0, write_glb},
    {".vti", "fill, flow, pressure, terrain, materials and temperature of every cell, for ParaView", VTI_CELLS, write_vti},
    {".nvdb", "fill, flow, materials and temperature as NanoVDB grids", 0, write_nvdb},
    {".vox", "water and terrain as MagicaVoxel models", WEIR_VOXELS_LIMIT, write_vox},
};

enum { FORMAT_COUNT = sizeof formats / sizeof formats[0] };

static const export_format *find_format(const char *path)
{
    for (int32_t i = 0; i < FORMAT_COUNT; i++)
        if (weir_path_ends_in(path, formats[i].ending)) return &formats[i];
    return NULL;
}

void export_print_formats(void)
{
    printf("\nFiles for --export, by their endings:\n");
    for (int32_t i = 0; i < FORMAT_COUNT; i++) printf("  %-22s %s\n", formats[i].ending, formats[i].meaning);
}

static int check_box(const export_format *format, weir_box box)
{
    if (format->box_cells == 0)
        return app_fail(EXIT_WRONG, "--export-box is for .vti and .vox files; %s files hold the whole world", format->ending);
    if (cells_of(box) <= format->box_cells) return 0;
    return app_fail(EXIT_WRONG, "--export-box has %.0f cells, and a %s file holds at most %.0f", cells_of(box), format->ending,
                    format->box_cells);
}

static int check_paths(const export_format *format, const char *path)
{
    int status = app_check_path("export", path);
    if (status || strcmp(format->ending, ".obj") != 0) return status;
    char materials[PATH_MAX];
    int length = snprintf(materials, sizeof materials, "%.*s.mtl", (int)(weir_path_ending(path) - path), path);
    return length < (int)sizeof materials ? app_check_path("export", materials) : 0;
}

static int unknown_format(const char *path)
{
    char all[256] = "";
    for (int32_t i = 0; i < FORMAT_COUNT; i++) {
        size_t used = strlen(all);
        const char *before = i == 0 ? "" : i == FORMAT_COUNT - 1 ? " and " : ", ";
        snprintf(all + used, sizeof all - used, "%s%s", before, formats[i].ending);
    }
    if (weir_path_ending(path)[0] == '\0')
        return app_fail(EXIT_WRONG, "--export %s: the name has no ending, which says what to write; there are %s", path, all);
    return app_fail(EXIT_WRONG, "--export %s: there is no format of this ending; there are %s", path, all);
}

int export_check(const app_options *options)
{
    if (!options->export) {
        const char *lonely = options->export_every ? "export-every" : options->export_boxed ? "export-box" : NULL;
        return lonely ? app_fail(EXIT_WRONG, "--%s needs --export FILE to say what to write", lonely) : 0;
    }
    const export_format *format = find_format(options->export);
    if (!format) return unknown_format(options->export);
    int status = options->export_boxed ? check_box(format, options->export_box) : 0;
    return status ? status : check_paths(format, options->export);
}

int export_check_box(const app_options *options, const weir_world *world)
{
    const weir_box w = weir_world_bounds(world), b = options->export_box;
    const bool bounded = w.min.x < w.max.x;
    const bool meets = b.min.x < w.max.x && b.min.y < w.max.y && b.min.z < w.max.z &&  //
                       w.min.x < b.max.x && w.min.y < b.max.y && w.min.z < b.max.z;
    if (!options->export_boxed || !bounded || meets) return 0;
    return app_fail(EXIT_WRONG, "--export-box lies outside the world, which is (%d, %d, %d) to (%d, %d, %d)", w.min.x, w.min.y,
                    w.min.z, w.max.x, w.max.y, w.max.z);
}

// ---- During the run --------------------------------------------------------------------------------------------------------

exporter export_begin(const app_options *options, weir_world *world)
{
    return (exporter){.world = world,
                      .path = options->export,
                      .every = options->export_every,
                      .box = options->export_boxed ? &options->export_box : NULL,
                      .written = -1};
}

static weir_status write_now(exporter *e, int64_t update)
{
    char path[PATH_MAX];
    const char *ending = weir_path_ending(e->path);
    int length = e->every
                     ? snprintf(path, sizeof path, "%.*s-%06" PRId64 "%s", (int)(ending - e->path), e->path, update, ending)
                     : snprintf(path, sizeof path, "%s", e->path);
    if (length >= (int)sizeof path) return weir_error_set(WEIR_ERROR_FILE, "the name of the file to export to is too long");
    e->written = update;
    return find_format(e->path)->write(e, path);
}

weir_status export_update(exporter *e, int64_t update)
{
    return e->path && e->every && update % e->every == 0 ? write_now(e, update) : WEIR_OK;
}

weir_status export_last(exporter *e, int64_t update)
{
    return e->path && e->written != update ? write_now(e, update) : WEIR_OK;
}

void export_end(exporter *e)
{
    for (int32_t i = 0; i < WEIR_MATERIAL_MAX; i++) weir_mesher_destroy(e->meshers[i]);
    weir_mesh_free(&e->terrain);
    *e = (exporter){0};
}
