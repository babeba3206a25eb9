// The OpenCL devices of this machine that can be used (are available and have a compiler), numbered from 0 over all platforms in the
// order in which OpenCL tells of them.
#ifndef WEIR_COMPUTE_OPENCL_DEVICE_H
#define WEIR_COMPUTE_OPENCL_DEVICE_H

#include <stdbool.h>
#include <weir/device.h>

#include "compute/opencl_load.h"

typedef struct opencl_device {
    cl_platform_id platform;
    cl_device_id id;
    int32_t index;
    char name[128], platform_name[128], driver[128];
    char version[128];  // the platform's
    weir_device_kind kind;
    int64_t memory, largest_buffer;  // bytes
    int32_t units;                   // compute units
    size_t group_limit;              // most work-items in a group
    int64_t local_memory;            // bytes per group
    bool correct_division;           // can round divisions and roots as IEEE 754 says
    bool denormals;
} opencl_device;

enum { OPENCL_DEVICES = 64 };  // more are not looked at

// Writes up to `room` devices and tells in *count how many there are. WEIR_ERROR_UNSUPPORTED with a sentence when there is no OpenCL,
// or no device.
weir_status opencl_devices(opencl_device *devices, int32_t room, int32_t *count);

// The device that is meant by `which`: NULL or "" is the first GPU, else the first accelerator, else the first device; otherwise a
// number, a kind (gpu, cpu, accelerator) or a part of a name, capitals or not. WEIR_ERROR_ARGUMENT with a sentence that lists what
// there is when nothing fits.
weir_status opencl_find_device(const char *which, opencl_device *device);

// What the device's memory gives, in bytes per second: the best of several copies between two buffers, bytes read and written both
// counted.
weir_status opencl_bandwidth(const opencl_device *device, double *bytes_per_second);

#endif
