// OpenCL, found when the program runs. Nothing is linked: a machine without OpenCL has a CPU engine, not a program that does not
// start. All calls go through one table of pointers: cl->CreateBuffer(...) is clCreateBuffer.
#ifndef WEIR_COMPUTE_OPENCL_LOAD_H
#define WEIR_COMPUTE_OPENCL_LOAD_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <weir/base.h>

// Every function in use, without its prefix.
#define OPENCL_FUNCTIONS(ITEM)      \
    ITEM(GetPlatformIDs)            \
    ITEM(GetPlatformInfo)           \
    ITEM(GetDeviceIDs)              \
    ITEM(GetDeviceInfo)             \
    ITEM(CreateContext)             \
    ITEM(ReleaseContext)            \
    ITEM(CreateCommandQueue)        \
    ITEM(ReleaseCommandQueue)       \
    ITEM(CreateBuffer)              \
    ITEM(GetMemObjectInfo)          \
    ITEM(ReleaseMemObject)          \
    ITEM(EnqueueReadBuffer)         \
    ITEM(EnqueueWriteBuffer)        \
    ITEM(EnqueueCopyBuffer)         \
    ITEM(EnqueueFillBuffer)         \
    ITEM(EnqueueMapBuffer)          \
    ITEM(EnqueueUnmapMemObject)     \
    ITEM(EnqueueNDRangeKernel)      \
    ITEM(EnqueueMarkerWithWaitList) \
    ITEM(CreateProgramWithSource)   \
    ITEM(CreateProgramWithBinary)   \
    ITEM(BuildProgram)              \
    ITEM(GetProgramInfo)            \
    ITEM(GetProgramBuildInfo)       \
    ITEM(ReleaseProgram)            \
    ITEM(CreateKernel)              \
    ITEM(SetKernelArg)              \
    ITEM(ReleaseKernel)             \
    ITEM(GetEventProfilingInfo)     \
    ITEM(WaitForEvents)             \
    ITEM(ReleaseEvent)              \
    ITEM(Flush)                     \
    ITEM(Finish)

typedef struct opencl_api {
#define OPENCL_POINTER(name) __typeof__(&cl##name) name;
    OPENCL_FUNCTIONS(OPENCL_POINTER)
#undef OPENCL_POINTER
} opencl_api;

// The table, loaded once for all threads; it stays until the program ends. WEIR_ERROR_UNSUPPORTED and a sentence when there is no
// OpenCL. The environment variable WEIR_OPENCL_LIBRARY names a library to take instead of the system's.
weir_status opencl_load(const opencl_api **cl);

// "CL_OUT_OF_RESOURCES"; for sentences.
const char *opencl_error_name(cl_int error);

#endif
