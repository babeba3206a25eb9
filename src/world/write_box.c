// Cells of a box written from an array, x fastest, then y, then z: the counterpart of read_box.c. Here the values are checked; edits.c
// applies them.
#include "world/solver.h"

#include <assert.h>

// Looks at all values of a box in the order of the array until one is refused.
typedef weir_status check_value(const void *values, size_t index, weir_coord cell, float limit);

static weir_status check_values(weir_box box, const void *values, float limit, check_value *check)
{
    size_t i = 0;
    for (int32_t z = box.min.z; z < box.max.z; z++) {
        for (int32_t y = box.min.y; y < box.max.y; y++) {
            for (int32_t x = box.min.x; x < box.max.x; x++) {
                weir_status status = check(values, i++, (weir_coord){x, y, z}, limit);
                if (status != WEIR_OK) return status;
            }
        }
    }
    return WEIR_OK;
}

static weir_status check_fill(const void *values, size_t index, weir_coord cell, float limit)
{
    const float fill = ((const float *)values)[index];
    if (fill >= 0 && fill <= limit) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "fill at cell (%d, %d, %d) is %.9g; it must be a number from 0 to %.9g", cell.x,
                       cell.y, cell.z, (double)fill, (double)limit);
}

static weir_status check_flow(const void *values, size_t index, weir_coord cell, float limit)
{
    const weir_vec flow = ((const weir_vec *)values)[index];
    const float parts[3] = {flow.x, flow.y, flow.z};
    for (int32_t i = 0; i < 3; i++) {
        if (parts[i] >= -limit && parts[i] <= limit) continue;
        return status_fail(WEIR_ERROR_ARGUMENT, "flow.%c at cell (%d, %d, %d) is %.9g; it must be a number from %.9g to %.9g",
                           "xyz"[i], cell.x, cell.y, cell.z, (double)parts[i], -(double)limit, (double)limit);
    }
    return WEIR_OK;
}

weir_status weir_world_write_fill(weir_world *world, weir_box box, const float *fill)
{
    assert(fill);
    world_edit edit = {.kind = EDIT_FILL, .material = world_fluid(world).material};
    const float most = (float)world->solver->cell_max / WEIR_FULL;
    weir_status status = edit_place_values(world, box, fill, sizeof *fill, &edit);
    if (status == WEIR_OK) status = check_values(box, fill, most, check_fill);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}

weir_status weir_world_write_flow(weir_world *world, weir_box box, const weir_vec *flow)
{
    assert(flow);
    world_edit edit = {.kind = EDIT_FLOW};
    const float most = solver_flow_max(world);
    weir_status status = edit_check_flow(world);
    if (status == WEIR_OK) status = edit_place_values(world, box, flow, sizeof *flow, &edit);
    if (status == WEIR_OK) status = check_values(box, flow, most, check_flow);
    return status == WEIR_OK ? edit_submit(world, &edit) : status;
}
