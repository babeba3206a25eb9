#include "compute/opencl_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/status.h"

// Where systems keep it; the sentence is for those who have none.
#ifdef _WIN32
static const char *const LIBRARIES[] = {"OpenCL.dll"};
#define LIBRARY_MISSING "OpenCL.dll was not found; it comes with the driver of a graphics card"
#else
static const char *const LIBRARIES[] = {"libOpenCL.so.1", "libOpenCL.so"};
#define LIBRARY_MISSING "libOpenCL.so.1 was not found (Debian: ocl-icd-libopencl1 and a driver such as pocl-opencl-icd)"
#endif

static pthread_once_t once = PTHREAD_ONCE_INIT;
static opencl_api api;
static char failure[256];  // empty: loaded

static void *open_library(void)
{
    const char *named = getenv("WEIR_OPENCL_LIBRARY");
    if (named && named[0]) {
        void *library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
        if (!library) snprintf(failure, sizeof failure, "WEIR_OPENCL_LIBRARY names no OpenCL library: %s", dlerror());
        return library;
    }
    for (size_t i = 0; i < sizeof LIBRARIES / sizeof LIBRARIES[0]; i++) {
        void *library = dlopen(LIBRARIES[i], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
    }
    snprintf(failure, sizeof failure, "there is no OpenCL on this machine: %s", LIBRARY_MISSING);
    return NULL;
}

// The library is never closed: drivers start threads that would go on running in it.
static void load(void)
{
    void *library = open_library();
    if (!library) return;
#define LOAD(name)                                    \
    *(void **)&api.name = dlsym(library, "cl" #name); \
    if (!api.name) snprintf(failure, sizeof failure, "this machine's OpenCL is older than 1.2: it has no cl%s", #name);
    OPENCL_FUNCTIONS(LOAD)
#undef LOAD
}

weir_status opencl_load(const opencl_api **cl)
{
    pthread_once(&once, load);
    *cl = failure[0] ? NULL : &api;
    return failure[0] ? status_fail(WEIR_ERROR_UNSUPPORTED, "%s", failure) : WEIR_OK;
}

#define ERROR_LIST(ITEM)                               \
    ITEM(CL_SUCCESS)                                   \
    ITEM(CL_DEVICE_NOT_FOUND)                          \
    ITEM(CL_DEVICE_NOT_AVAILABLE)                      \
    ITEM(CL_COMPILER_NOT_AVAILABLE)                    \
    ITEM(CL_MEM_OBJECT_ALLOCATION_FAILURE)             \
    ITEM(CL_OUT_OF_RESOURCES)                          \
    ITEM(CL_OUT_OF_HOST_MEMORY)                        \
    ITEM(CL_PROFILING_INFO_NOT_AVAILABLE)              \
    ITEM(CL_MEM_COPY_OVERLAP)                          \
    ITEM(CL_BUILD_PROGRAM_FAILURE)                     \
    ITEM(CL_MAP_FAILURE)                               \
    ITEM(CL_MISALIGNED_SUB_BUFFER_OFFSET)              \
    ITEM(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) \
    ITEM(CL_INVALID_VALUE)                             \
    ITEM(CL_INVALID_DEVICE_TYPE)                       \
    ITEM(CL_INVALID_PLATFORM)                          \
    ITEM(CL_INVALID_DEVICE)                            \
    ITEM(CL_INVALID_CONTEXT)                           \
    ITEM(CL_INVALID_QUEUE_PROPERTIES)                  \
    ITEM(CL_INVALID_COMMAND_QUEUE)                     \
    ITEM(CL_INVALID_HOST_PTR)                          \
    ITEM(CL_INVALID_MEM_OBJECT)                        \
    ITEM(CL_INVALID_BINARY)                            \
    ITEM(CL_INVALID_BUILD_OPTIONS)                     \
    ITEM(CL_INVALID_PROGRAM)                           \
    ITEM(CL_INVALID_PROGRAM_EXECUTABLE)                \
    ITEM(CL_INVALID_KERNEL_NAME)                       \
    ITEM(CL_INVALID_KERNEL_DEFINITION)                 \
    ITEM(CL_INVALID_KERNEL)                            \
    ITEM(CL_INVALID_ARG_INDEX)                         \
    ITEM(CL_INVALID_ARG_VALUE)                         \
    ITEM(CL_INVALID_ARG_SIZE)                          \
    ITEM(CL_INVALID_KERNEL_ARGS)                       \
    ITEM(CL_INVALID_WORK_DIMENSION)                    \
    ITEM(CL_INVALID_WORK_GROUP_SIZE)                   \
    ITEM(CL_INVALID_WORK_ITEM_SIZE)                    \
    ITEM(CL_INVALID_GLOBAL_OFFSET)                     \
    ITEM(CL_INVALID_EVENT_WAIT_LIST)                   \
    ITEM(CL_INVALID_EVENT)                             \
    ITEM(CL_INVALID_OPERATION)                         \
    ITEM(CL_INVALID_BUFFER_SIZE)                       \
    ITEM(CL_INVALID_GLOBAL_WORK_SIZE)                  \
    ITEM(CL_INVALID_PROPERTY)                          \
    ITEM(CL_INVALID_COMPILER_OPTIONS)

const char *opencl_error_name(cl_int error)
{
    switch (error) {
#define ERROR_NAME(name) \
    case name: return #name;
        ERROR_LIST(ERROR_NAME)
#undef ERROR_NAME
    default: return "an unknown OpenCL error";
    }
}
