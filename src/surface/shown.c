#include "surface/shown.h"

shown_part shown_of(const weir_world *world, weir_material material)
{
    const world_ledger *ledger = world->busy ? world->frozen.ledger : world->ledger;
    shown_part part = {.material = material, .scale = 1};
    if (material) part.scale = world->materials[material].def.kind == WEIR_KIND_GAS ? SHOWN_GAS : 1;
    for (weir_material i = 1; i < world->material_count && !material; i++)
        if (world->materials[i].def.kind == WEIR_KIND_GAS && world_ledger_held(&ledger[i]) != 0)
            part.gases[part.gas_count++] = (uint8_t)i;
    return part;
}

const int32_t *shown_drops(const shown_part *part, const fluid_view *view, int32_t brick, int32_t room[BRICK_CELLS],
                           int32_t other[BRICK_CELLS])
{
    const int32_t *all;
    if (part->material && view->read_materials) {
        fluid_amounts(view, brick, part->material, 0, BRICK_CELLS, room);
        for (int32_t i = 0; i < BRICK_CELLS && part->scale > 1; i++)
            room[i] = room[i] < WEIR_FULL ? room[i] * part->scale : WEIR_FULL;
        return room;
    }
    if (part->material && part->material != view->material) {
        memset(room, 0, BRICK_CELLS * sizeof *room);
        return room;
    }
    all = fluid_reported_drops(view, brick, room);
    if (part->gas_count == 0) return all;
    if (all != room) memcpy(room, all, BRICK_CELLS * sizeof *room);
    for (int32_t g = 0; g < part->gas_count; g++) {
        fluid_amounts(view, brick, part->gases[g], 0, BRICK_CELLS, other);
        for (int32_t i = 0; i < BRICK_CELLS; i++) room[i] -= other[i];
    }
    return room;
}
