// The box of a world that a file is to hold.
#include "formats/volume.h"

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
