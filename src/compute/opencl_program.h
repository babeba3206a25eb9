// Kernels: their source, which is part of the library, their compilation, which is kept on disk, and the test that the device
// computes as the contract says.
#ifndef WEIR_COMPUTE_OPENCL_PROGRAM_H
#define WEIR_COMPUTE_OPENCL_PROGRAM_H

#include "compute/opencl_device.h"

// What stands before and behind a game's rule; made by the build (cmake/embed_opencl.cmake).
extern const char opencl_rule_begin[], opencl_rule_end[];

typedef struct opencl_build_info {
    double seconds;
    bool cached;  // the compiled program came from the disk
    char *log;    // after a failure all that the compiler said, or NULL; to be freed with free
} opencl_build_info;

// Compiles `source` by the contract's flags and `options` ("-D GROUP=128"; NULL: none), or takes what an earlier run compiled from
// $XDG_CACHE_HOME/weir or ~/.cache/weir. After a failure the sentence says that `what` could not be compiled and holds the first lines
// of the compiler's log. The logger is told before a compilation, which can take a minute. info may be NULL.
weir_status opencl_build(const opencl_api *cl, cl_context context, const opencl_device *device, const char *what,
                         const char *options, const char *source, weir_logger logger, cl_program *program,
                         opencl_build_info *info);

// Runs the operations that rules are made of on the device, over thousands of bit patterns, and compares with the processor bit for
// bit. WEIR_ERROR_UNSUPPORTED with a sentence that names device, driver and operation if one differs. `program` is one of a
// solver. With WEIR_BREAK_CONTRACT=1 in the environment of opencl_build the device breaks the contract on purpose.
weir_status opencl_self_test(const opencl_api *cl, cl_context context, cl_command_queue queue, cl_program program,
                             const opencl_device *device);

#endif
