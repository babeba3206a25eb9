#include "compute/opencl_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/status.h"
#include "compute/device_name.h"

// ---- Asking ----------------------------------------------------------------------------------------------------------------

// One text without blanks at its ends and with single blanks within: some drivers pad their names.
static void tidy(char text[128])
{
    char *to = text;
    for (const char *from = text; *from; from++)
        if (*from != ' ' || (to > text && to[-1] != ' ')) *to++ = *from;
    if (to > text && to[-1] == ' ') to--;
    *to = '\0';
}

// Cut to the room there is, where OpenCL would refuse.
static void query_text(const opencl_api *cl, cl_device_id id, cl_device_info what, char text[128])
{
    char all[1024] = "";
    if (cl->GetDeviceInfo(id, what, sizeof all, all, NULL) != CL_SUCCESS) all[0] = '\0';
    snprintf(text, 128, "%.127s", all);
    tidy(text);
}

static void query_platform_text(const opencl_api *cl, cl_platform_id id, cl_platform_info what, char text[128])
{
    char all[1024] = "";
    if (cl->GetPlatformInfo(id, what, sizeof all, all, NULL) != CL_SUCCESS) all[0] = '\0';
    snprintf(text, 128, "%.127s", all);
    tidy(text);
}

#define QUERY(id, what, value) cl->GetDeviceInfo(id, what, sizeof(value), &(value), NULL)

static bool is_usable(const opencl_api *cl, cl_device_id id)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    QUERY(id, CL_DEVICE_AVAILABLE, available);
    QUERY(id, CL_DEVICE_COMPILER_AVAILABLE, compiler);
    QUERY(id, CL_DEVICE_ENDIAN_LITTLE, little);
    return available && compiler && little;
}

// WEIR_DEVICE_MEMORY=bytes in the environment makes every device a small one.
static int64_t less_for_tests(int64_t bytes)
{
    const char *wish = getenv("WEIR_DEVICE_MEMORY");
    int64_t most = wish ? atoll(wish) : 0;
    return most > 0 && most < bytes ? most : bytes;
}

static opencl_device describe(const opencl_api *cl, cl_platform_id platform, cl_device_id id, int32_t index)
{
    opencl_device device = {.platform = platform, .id = id, .index = index};
    query_text(cl, id, CL_DEVICE_NAME, device.name);
    query_text(cl, id, CL_DRIVER_VERSION, device.driver);
    query_platform_text(cl, platform, CL_PLATFORM_NAME, device.platform_name);
    query_platform_text(cl, platform, CL_PLATFORM_VERSION, device.version);

    cl_device_type type = 0;
    cl_ulong memory = 0, largest_buffer = 0, local_memory = 0;
    cl_uint units = 0;
    cl_device_fp_config floats = 0;
    QUERY(id, CL_DEVICE_TYPE, type);
    QUERY(id, CL_DEVICE_GLOBAL_MEM_SIZE, memory);
    QUERY(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, largest_buffer);
    QUERY(id, CL_DEVICE_LOCAL_MEM_SIZE, local_memory);
    QUERY(id, CL_DEVICE_MAX_COMPUTE_UNITS, units);
    QUERY(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, device.group_limit);
    QUERY(id, CL_DEVICE_SINGLE_FP_CONFIG, floats);
    device.kind = type & CL_DEVICE_TYPE_GPU           ? WEIR_DEVICE_GPU
                  : type & CL_DEVICE_TYPE_ACCELERATOR ? WEIR_DEVICE_ACCELERATOR
                                                      : WEIR_DEVICE_CPU;
    device.memory = less_for_tests((int64_t)memory);
    device.largest_buffer = less_for_tests((int64_t)largest_buffer);
    device.local_memory = (int64_t)local_memory;
    device.units = (int32_t)units;
    device.correct_division = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    device.denormals = (floats & CL_FP_DENORM) != 0;
    return device;
}

#undef QUERY

weir_status opencl_devices(opencl_device *devices, int32_t room, int32_t *count)
{
    *count = 0;
    const opencl_api *cl;
    weir_status status = opencl_load(&cl);
    if (status != WEIR_OK) return status;

    cl_platform_id platforms[OPENCL_DEVICES];
    cl_uint platform_count = 0;
    // A loader without a driver says so by an error of its own.
    if (cl->GetPlatformIDs(OPENCL_DEVICES, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
    if (platform_count == 0)
        return status_fail(
            WEIR_ERROR_UNSUPPORTED,
            "there is an OpenCL library but no driver for it (Debian: pocl-opencl-icd computes on the processor)");

    for (cl_uint p = 0; p < platform_count && p < OPENCL_DEVICES; p++) {
        cl_device_id ids[OPENCL_DEVICES];
        cl_uint id_count = 0;
        if (cl->GetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, OPENCL_DEVICES, ids, &id_count) != CL_SUCCESS) continue;
        for (cl_uint i = 0; i < id_count && i < OPENCL_DEVICES; i++) {
            if (*count == OPENCL_DEVICES || !is_usable(cl, ids[i])) continue;
            if (*count < room) devices[*count] = describe(cl, platforms[p], ids[i], *count);
            ++*count;
        }
    }
    if (*count == 0) return status_fail(WEIR_ERROR_UNSUPPORTED, "there is an OpenCL driver but no device that it can use");
    return WEIR_OK;
}

// ---- Choosing --------------------------------------------------------------------------------------------------------------

static const opencl_device *first_of_kind(const opencl_device *devices, int32_t count, weir_device_kind kind)
{
    for (int32_t i = 0; i < count; i++)
        if (devices[i].kind == kind) return &devices[i];
    return NULL;
}

static const opencl_device *choose_any(const opencl_device *devices, int32_t count)
{
    const opencl_device *device = first_of_kind(devices, count, WEIR_DEVICE_GPU);
    if (!device) device = first_of_kind(devices, count, WEIR_DEVICE_ACCELERATOR);
    return device ? device : &devices[0];
}

static const char *const kinds[WEIR_DEVICE_KIND_COUNT] = {"cpu", "gpu", "accelerator"};

static const opencl_device *choose(const opencl_device *devices, int32_t count, const char *which)
{
    if (!which || !which[0]) return choose_any(devices, count);

    if (strspn(which, "0123456789") == strlen(which)) {
        // The longest number that strtol reads without overflow is still no device's.
        long index = strtol(which, NULL, 10);
        return index < count ? &devices[index] : NULL;
    }

    for (int32_t k = 0; k < WEIR_DEVICE_KIND_COUNT; k++)
        if (strcasecmp(which, kinds[k]) == 0) return first_of_kind(devices, count, (weir_device_kind)k);

    for (int32_t i = 0; i < count; i++)
        if (device_name_has(devices[i].name, which)) return &devices[i];
    return NULL;
}

weir_status opencl_find_device(const char *which, opencl_device *device)
{
    opencl_device devices[OPENCL_DEVICES];
    int32_t count;
    weir_status status = opencl_devices(devices, OPENCL_DEVICES, &count);
    if (status != WEIR_OK) return status;

    const opencl_device *chosen = choose(devices, count, which);
    if (!chosen) {
        char all[256] = "";
        for (int32_t i = 0; i < count; i++) {
            size_t used = strlen(all);
            snprintf(all + used, sizeof all - used, "%s%d: %s (%s)", i ? ", " : "", i, devices[i].name, kinds[devices[i].kind]);
        }
        return status_fail(WEIR_ERROR_ARGUMENT, "there is no OpenCL device '%.60s'; there is %s", which, all);
    }
    *device = *chosen;
    return WEIR_OK;
}

// ---- Bandwidth -------------------------------------------------------------------------------------------------------------

#define COPY_BYTES (512 << 20)  // at most; far more than any cache
#define COPY_ROUNDS 5
#define COPY_ROUND_SECONDS 0.02  // long beside the time that starting a copy takes

// Seconds of `count` copies, or a negative number.
static double time_copies(const opencl_api *cl, cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes, int32_t count)
{
    double start = clock_seconds();
    for (int32_t i = 0; i < count; i++)
        if (cl->EnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, NULL) != CL_SUCCESS) return -1;
    return cl->Finish(queue) == CL_SUCCESS ? clock_seconds() - start : -1;
}

// Seconds of the fastest copy, or a negative number.
static double best_copy(const opencl_api *cl, cl_command_queue queue, cl_mem from, cl_mem to, size_t bytes)
{
    // Written first, so that the memory is there before the clock runs.
    cl_int zero = 0;
    if (cl->EnqueueFillBuffer(queue, from, &zero, sizeof zero, 0, bytes, 0, NULL, NULL) != CL_SUCCESS) return -1;
    if (time_copies(cl, queue, from, to, bytes, 1) < 0) return -1;

    double best = time_copies(cl, queue, from, to, bytes, 1);
    if (best < 0) return -1;
    int32_t count = best < COPY_ROUND_SECONDS ? (int32_t)(COPY_ROUND_SECONDS / (best + 1e-6)) + 1 : 1;
    for (int32_t round = 0; round < COPY_ROUNDS; round++) {
        double seconds = time_copies(cl, queue, from, to, bytes, count);
        if (seconds < 0) return -1;
        if (seconds / count < best) best = seconds / count;
    }
    return best;
}

weir_status opencl_bandwidth(const opencl_device *device, double *bytes_per_second)
{
    const opencl_api *cl;
    weir_status status = opencl_load(&cl);
    if (status != WEIR_OK) return status;

    int64_t bytes = device->memory / 8;
    if (bytes > device->largest_buffer) bytes = device->largest_buffer;
    if (bytes > COPY_BYTES) bytes = COPY_BYTES;
    bytes -= bytes % (int64_t)sizeof(cl_int);

    cl_int error;
    cl_context context = cl->CreateContext(NULL, 1, &device->id, NULL, NULL, &error);
    cl_command_queue queue = context ? cl->CreateCommandQueue(context, device->id, 0, &error) : NULL;
    cl_mem from = queue ? cl->CreateBuffer(context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error) : NULL;
    cl_mem to = from ? cl->CreateBuffer(context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error) : NULL;
    double seconds = to ? best_copy(cl, queue, from, to, (size_t)bytes) : -1;
    if (to) cl->ReleaseMemObject(to);
    if (from) cl->ReleaseMemObject(from);
    if (queue) cl->ReleaseCommandQueue(queue);
    if (context) cl->ReleaseContext(context);

    if (seconds <= 0)
        return status_fail(WEIR_ERROR_MEMORY, "device %s has no memory free to measure its bandwidth", device->name);
    *bytes_per_second = 2.0 * (double)bytes / seconds;
    return WEIR_OK;
}
