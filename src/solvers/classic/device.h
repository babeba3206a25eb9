// What the classic solver's OpenCL kernels and their host both know, like compute/opencl_shared.h.
#ifndef WEIR_CLASSIC_DEVICE_H
#define WEIR_CLASSIC_DEVICE_H

// Work-items that iterate on the pressure of a run of bricks along x, and those of a group that takes the divergence, 64 to a brick.
#define DEVICE_MARCH_GROUP 128
#define DEVICE_DIVERGENCE_GROUP 128

#endif
