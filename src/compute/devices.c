// The public list of devices: the processor for the cpu backend, and what OpenCL finds.
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <weir/device.h>

#include "base/status.h"
#include "compute/device_name.h"
#if WEIR_HAVE_OPENCL
#include "compute/opencl_device.h"
#endif
#ifdef __x86_64__
#include <cpuid.h>  // the last: on Windows others bring functions that are macros in it
#endif

// ---- The processor ---------------------------------------------------------------------------------------------------------

// Where Linux does not tell its name, processors of this kind do so themselves.
static void query_processor_name(char name[128])
{
#ifdef __x86_64__
    unsigned words[3][4];
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[i][0], &words[i][1], &words[i][2], &words[i][3])) return;
    const char *text = (const char *)words;
    while (text < (const char *)words + sizeof words - 1 && *text == ' ') text++;
    snprintf(name, 128, "%.*s", (int)((const char *)words + sizeof words - text), text);
#else
    (void)name;
#endif
}

// Stays as it is where nobody tells it.
static void read_processor_name(char name[128])
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) {
        query_processor_name(name);
        return;
    }
    char line[512];
    while (fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, 128, "%.127s", colon + 1 + strspn(colon + 1, " \t"));
        break;
    }
    fclose(file);
}

static weir_device processor(void)
{
    weir_device device = {.backend = WEIR_BACKEND_CPU, .kind = WEIR_DEVICE_CPU, .name = "unknown processor"};
    read_processor_name(device.name);
    long cores = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    device.units = cores > 0 ? (int32_t)cores : 1;
    device.memory = pages > 0 && page > 0 ? (int64_t)pages * page : 0;
    return device;
}

// There is one: number 0, whose kind is cpu.
static weir_status find_processor(const char *which, weir_device *device)
{
    *device = processor();
    if (!which || !which[0] || strcasecmp(which, "cpu") == 0) return WEIR_OK;
    bool number = strspn(which, "0123456789") == strlen(which);
    if (number ? strspn(which, "0") == strlen(which) : device_name_has(device->name, which)) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no processor '%.60s'; the cpu backend has device 0, %.100s", which,
                       device->name);
}

// ---- OpenCL ----------------------------------------------------------------------------------------------------------------

#if WEIR_HAVE_OPENCL

static weir_device public_device(const opencl_device *from)
{
    weir_device device = {
        .backend = WEIR_BACKEND_OPENCL, .index = from->index, .kind = from->kind, .memory = from->memory, .units = from->units};
    memcpy(device.name, from->name, sizeof device.name);
    memcpy(device.platform, from->platform_name, sizeof device.platform);
    memcpy(device.driver, from->driver, sizeof device.driver);
    return device;
}

static weir_status list_opencl(weir_device *devices, int32_t room, int32_t *count)
{
    opencl_device found[OPENCL_DEVICES];
    weir_status status = opencl_devices(found, OPENCL_DEVICES, count);
    if (status != WEIR_OK) return status;
    for (int32_t i = 0; i < *count && i < room; i++) devices[i] = public_device(&found[i]);
    return WEIR_OK;
}

static weir_status find_opencl(const char *which, weir_device *device)
{
    opencl_device found;
    weir_status status = opencl_find_device(which, &found);
    if (status == WEIR_OK) *device = public_device(&found);
    return status;
}

static weir_status measure_opencl(const char *which, double *bytes_per_second)
{
    opencl_device found;
    weir_status status = opencl_find_device(which, &found);
    return status == WEIR_OK ? opencl_bandwidth(&found, bytes_per_second) : status;
}

#else

static weir_status no_opencl(void)
{
    return status_fail(WEIR_ERROR_UNSUPPORTED, "this build of Weir has no OpenCL (Debian: opencl-headers)");
}

static weir_status list_opencl(weir_device *devices, int32_t room, int32_t *count)
{
    (void)devices, (void)room, (void)count;
    return no_opencl();
}

static weir_status find_opencl(const char *which, weir_device *device)
{
    (void)which, (void)device;
    return no_opencl();
}

static weir_status measure_opencl(const char *which, double *bytes_per_second)
{
    (void)which, (void)bytes_per_second;
    return no_opencl();
}

#endif

// ---- The public face -------------------------------------------------------------------------------------------------------

static weir_status no_backend(weir_backend backend)
{
    return status_fail(WEIR_ERROR_ARGUMENT, "there is no backend %d", (int)backend);
}

weir_status weir_devices(weir_backend backend, weir_device *devices, int32_t room, int32_t *count)
{
    *count = 0;
    if (backend == WEIR_BACKEND_OPENCL) return list_opencl(devices, room, count);
    if (backend != WEIR_BACKEND_CPU) return no_backend(backend);
    if (room > 0) devices[0] = processor();
    *count = 1;
    return WEIR_OK;
}

weir_status weir_device_find(weir_backend backend, const char *which, weir_device *device)
{
    if (backend == WEIR_BACKEND_OPENCL) return find_opencl(which, device);
    if (backend != WEIR_BACKEND_CPU) return no_backend(backend);
    return find_processor(which, device);
}

weir_status weir_device_bandwidth(weir_backend backend, const char *which, double *bytes_per_second)
{
    *bytes_per_second = 0;
    if (backend == WEIR_BACKEND_OPENCL) return measure_opencl(which, bytes_per_second);
    if (backend != WEIR_BACKEND_CPU) return no_backend(backend);
    return status_fail(WEIR_ERROR_UNSUPPORTED, "what the processor's memory gives depends on the threads that share it");
}
