// The smallest user of an installed Weir. It is compiled as C11 and as C++17, so it keeps to what both have.
#include <stdio.h>
#include <weir/path.h>
#include <weir/weir.h>

int main(void)
{
    weir_world_def def = weir_world_def_default();
    def.bounds.max.x = def.bounds.max.y = def.bounds.max.z = 64;

    weir_world *world;
    if (weir_world_create(&def, &world) != WEIR_OK) {
        fprintf(stderr, "%s\n", weir_error_message());
        return 1;
    }
    weir_box left = {{0, 0, 0}, {24, 40, 64}};
    if (weir_world_fill(world, left, WEIR_WATER, 1.0f) != WEIR_OK) return 1;
    for (int i = 0; i < 5; i++) {
        if (weir_world_step(world) != WEIR_OK) return 1;
    }

    weir_coord below = {10, 2, 32};
    weir_cell cell = weir_world_cell(world, below);
    weir_ledger ledger = weir_world_ledger(world);
    printf("weir %s: fill %.2f, flow %.2f, drift %d\n", weir_version(), (double)cell.fill, (double)cell.flow.x,
           (int)ledger.drift);
    weir_world_destroy(world);

    int wet = cell.fill > 0.5f;
    int whole = ledger.drift == 0 && ledger.held == (int64_t)24 * 40 * 64 * WEIR_FULL;
    return wet && whole && weir_path_ends_in("folder/Flood.VOX", ".vox") ? 0 : 1;
}
