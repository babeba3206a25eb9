// What of a world a file is to hold.
#include "formats/volume.h"

#include <string.h>

void volume_field_name(const weir_world *world, weir_material material, char name[MATERIAL_FIELD])
{
    weir_material_def def;
    weir_world_material(world, material, &def);
    snprintf(name, MATERIAL_FIELD, "fill_%s", def.name);
}

// A liquid that is known makes known what it turns into, and the other way round. Returns whether one was added.
static bool add_changes(const weir_world *world, bool known[WEIR_MATERIAL_MAX])
{
    bool added = false;
    weir_material_def def;
    for (weir_material m = 1; weir_world_material(world, m, &def); m++) {
        const weir_material all[3] = {m, def.freezes_to, def.boils_to};
        const bool any = known[m] || known[all[1]] || known[all[2]];
        for (int32_t i = 0; i < 3 && any; i++) {
            added |= all[i] != WEIR_NOTHING && !known[all[i]];
            known[all[i]] = all[i] != WEIR_NOTHING;
        }
    }
    return added;
}

void volume_materials(const weir_world *world, bool known[WEIR_MATERIAL_MAX])
{
    bool several = weir_world_knows_temperature(world);
    memset(known, 0, WEIR_MATERIAL_MAX * sizeof *known);
    for (weir_material m = 1; m < weir_world_material_count(world); m++) {
        const weir_ledger l = weir_world_material_ledger(world, m);
        known[m] = l.held || l.added || l.removed || l.drained || l.turned || l.unloaded;
        several |= known[m] && m != WEIR_WATER;
    }
    if (!several) known[WEIR_WATER] = false;
    while (weir_world_knows_temperature(world) && add_changes(world, known)) continue;
}

weir_status volume_box(const char *path, const weir_world *world, const weir_box *asked, weir_box *box)
{
    if (asked) {
        *box = *asked;
        if (!box_empty(*box)) return WEIR_OK;
        return format_fail(WEIR_ERROR_ARGUMENT, "cannot write %s: the box holds no cell; min must be below max",
                           weir_path_tail(path));
    }
    if (!weir_world_extent(world, box)) {
        weir_coord c = weir_world_bounds(world).min;
        *box = (weir_box){c, {c.x + 1, c.y + 1, c.z + 1}};
    }
    if (box_cells(*box) <= WEIR_VOLUME_LIMIT) return WEIR_OK;
    return format_fail(WEIR_ERROR_LIMIT,
                       "cannot write %s: water and terrain reach over %.0f x %.0f x %.0f cells, more than %d in all; ask "
                       "for a box of them (weir run: --export-box)",
                       weir_path_tail(path), (double)box->max.x - box->min.x, (double)box->max.y - box->min.y,
                       (double)box->max.z - box->min.z, WEIR_VOLUME_LIMIT);
}
