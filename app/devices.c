// `weir devices`: what Weir can compute on, and how fast its memory is.
#include <stdio.h>

#include "app/app.h"
#include "app/machine.h"

int command_devices(const app_options *options)
{
    (void)options;
    // Only a world knows which code path it takes and how many threads it starts.
    weir_world_def def = weir_world_def_default();
    weir_world *world;
    weir_status status = weir_world_create(&def, &world);
    if (status != WEIR_OK) return app_fail(app_exit_status(status), "%s", weir_error_message());
    weir_stats stats = weir_world_stats(world);
    weir_world_destroy(world);

    printf("cpu, device 0: %s\n", machine_processor());
    printf("    %d cores, %d threads by default\n", machine_cores(), stats.threads);
    printf("    code path %s\n", machine_simd_name(stats.simd));
    fflush(stdout);
    double bandwidth = machine_bandwidth(stats.threads);
    if (bandwidth <= 0) return app_fail(EXIT_FAILED, "memory ran out for measuring the memory's bandwidth");
    printf("    memory %.1f GB/s (triad, 12 bytes per element, %d threads)\n", 1e-9 * bandwidth, stats.threads);
    return EXIT_DONE;
}
