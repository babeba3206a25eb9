// What Weir can compute on: the processor, and devices with memory of their own.
#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#include <weir/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum weir_device_kind {
    WEIR_DEVICE_CPU,
    WEIR_DEVICE_GPU,
    WEIR_DEVICE_ACCELERATOR,
    WEIR_DEVICE_KIND_COUNT
} weir_device_kind;

typedef struct weir_device {
    weir_backend backend;
    int32_t index;  // its number, for weir_world_def.device
    weir_device_kind kind;
    char name[128];
    char platform[128];  // whose OpenCL it is; empty for the processor
    char driver[128];
    int64_t memory;  // bytes
    int32_t units;   // compute units: cores of a processor
} weir_device;

// Writes up to `room` of a backend's devices to `devices` (NULL with room 0) and tells in *count how many there are. When there are
// none the status is WEIR_ERROR_UNSUPPORTED, and weir_error_message says why.
WEIR_API weir_status weir_devices(weir_backend backend, weir_device *devices, int32_t room, int32_t *count);

// The device that weir_world_def.device means. WEIR_ERROR_ARGUMENT when nothing fits; the sentence lists what there is.
WEIR_API weir_status weir_device_find(weir_backend backend, const char *which, weir_device *device);

// What a device's memory gives, in bytes per second, measured by copies, bytes read and written both counted; takes a moment.
// WEIR_ERROR_UNSUPPORTED for the cpu backend, whose figure depends on the threads that share it.
WEIR_API weir_status weir_device_bandwidth(weir_backend backend, const char *which, double *bytes_per_second);

#ifdef __cplusplus
}
#endif
#endif
