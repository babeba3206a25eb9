// `weir devices`: what Weir can compute on, and how fast its memory is.
#include <stdio.h>

#include "app/app.h"
#include "app/machine.h"

#define DEVICES_SHOWN 64

static int show_processor(void)
{
    // Only a world knows which code path it takes and how many threads it starts.
    weir_world_def def = weir_world_def_default();
    weir_world *world;
    weir_device device;
    weir_status status = weir_device_find(WEIR_BACKEND_CPU, NULL, &device);
    if (status == WEIR_OK) status = weir_world_create(&def, &world);
    if (status != WEIR_OK) return app_fail(app_exit_status(status), "%s", weir_error_message());
    weir_stats stats = weir_world_stats(world);
    weir_world_destroy(world);

    app_print("cpu, device 0: %s", device.name);
    printf("    %d cores, %d threads by default\n", device.units, stats.threads);
    printf("    code path %s\n", machine_simd_name(stats.simd));
    fflush(stdout);
    double bandwidth = machine_bandwidth(stats.threads);
    if (bandwidth <= 0) return app_fail(EXIT_FAILED, "memory ran out for measuring the memory's bandwidth");
    printf("    memory %.1f GB, %.1f GB/s (triad, 12 bytes per element, %d threads)\n", 1e-9 * (double)device.memory,
           1e-9 * bandwidth, stats.threads);
    return EXIT_DONE;
}

static void show_opencl_device(const weir_device *device)
{
    static const char *const kinds[WEIR_DEVICE_KIND_COUNT] = {"cpu", "gpu", "accelerator"};
    app_print("opencl, device %d: %s", device->index, device->name);
    app_print("    %s with %d compute units; %s, driver %s", kinds[device->kind], device->units, device->platform,
              device->driver);
    fflush(stdout);
    char which[16];
    double bandwidth;
    snprintf(which, sizeof which, "%d", device->index);
    const double gigabytes = 1e-9 * (double)device->memory;
    if (weir_device_bandwidth(WEIR_BACKEND_OPENCL, which, &bandwidth) == WEIR_OK)
        app_print("    memory %.1f GB, %.1f GB/s (copy, bytes read and written)", gigabytes, 1e-9 * bandwidth);
    else
        app_print("    memory %.1f GB, bandwidth unknown: %s", gigabytes, weir_error_message());
}

int command_devices(const app_options *options)
{
    (void)options;
    int status = show_processor();
    if (status) return status;

    weir_device devices[DEVICES_SHOWN];
    int32_t count;
    if (weir_devices(WEIR_BACKEND_OPENCL, devices, DEVICES_SHOWN, &count) != WEIR_OK)
        app_print("opencl, no device: %s", weir_error_message());
    for (int32_t i = 0; i < count && i < DEVICES_SHOWN; i++) show_opencl_device(&devices[i]);
    return EXIT_DONE;
}
