// A queue of commands on an OpenCL device: kernels, buffers, transfers, times.
#include "compute/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Failures --------------------------------------------------------------------------------------------------------------

static bool sound(opencl_queue *q, cl_int error, const char *what)
{
    if (error != CL_SUCCESS && q->error == CL_SUCCESS) {
        q->error = error;
        q->what = what;
    }
    return q->error == CL_SUCCESS;
}

weir_status queue_status(const opencl_queue *q)
{
    if (q->error == CL_SUCCESS) return WEIR_OK;
    bool no_memory = q->error == CL_MEM_OBJECT_ALLOCATION_FAILURE || q->error == CL_OUT_OF_HOST_MEMORY;
    return status_fail(no_memory ? WEIR_ERROR_MEMORY : WEIR_ERROR_DEVICE, "%s failed on device %d, %s: %s", q->what,
                       q->device.index, q->device.name, opencl_error_name(q->error));
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static const char *const kernel_names[KERNEL_COUNT] = {
#define KERNEL_NAME(name) #name,
    OPENCL_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

static void tell(weir_logger logger, const char *line)
{
    if (logger.write) logger.write(logger.user, WEIR_LOG_WARNING, line);
}

static weir_status build(opencl_queue *q, weir_logger logger)
{
    // Two cells per work-item. Every device that matters takes 256; PoCL 3.1 compiles some kernels wrongly for smaller groups.
    q->group = 256;
    while (q->group > q->device.group_limit && q->group > 1) q->group /= 2;
    char options[64];
    snprintf(options, sizeof options, "-D GROUP=%zu", q->group);
    opencl_build_info info = {0};
    weir_status status = opencl_build(q->cl, q->context, &q->device, options, opencl_source, &q->program, &info);
    q->build_seconds = info.seconds;
    if (info.log) tell(logger, info.log);
    free(info.log);
    if (status != WEIR_OK) return status;
    for (int32_t k = 0; k < KERNEL_COUNT; k++) {
        cl_int error;
        q->kernel[k] = q->cl->CreateKernel(q->program, kernel_names[k], &error);
        if (!sound(q, error, "making the kernels")) return queue_status(q);
        size_t items[3];
        error = q->cl->GetKernelWorkGroupInfo(q->kernel[k], q->device.id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof items,
                                              items, NULL);
        if (!sound(q, error, "asking for the size of work-groups")) return queue_status(q);
        q->items[k] = items[0] > 0 ? items[0] : q->group;
    }
    return opencl_self_test(q->cl, q->context, q->queue, q->program, &q->device);
}

weir_status queue_create(const char *which, weir_logger logger, opencl_queue *q)
{
    *q = (opencl_queue){0};
    weir_status status = opencl_load(&q->cl);
    if (status == WEIR_OK) status = opencl_find_device(which, &q->device);
    if (status != WEIR_OK) return status;
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)q->device.platform, 0};
    cl_int error;
    q->context = q->cl->CreateContext(properties, 1, &q->device.id, NULL, NULL, &error);
    if (sound(q, error, "opening a context"))
        q->queue = q->cl->CreateCommandQueue(q->context, q->device.id, CL_QUEUE_PROFILING_ENABLE, &error);
    status = sound(q, error, "opening a queue") ? build(q, logger) : queue_status(q);
    if (status != WEIR_OK) queue_destroy(q);
    return status;
}

static void forget_times(opencl_queue *q)
{
    for (int32_t i = 0; i < q->timed_count; i++) q->cl->ReleaseEvent(q->timed[i].event);
    q->timed_count = 0;
}

void queue_destroy(opencl_queue *q)
{
    if (!q->cl) return;
    if (q->queue) q->cl->Finish(q->queue);
    forget_times(q);
    for (int32_t k = 0; k < KERNEL_COUNT; k++)
        if (q->kernel[k]) q->cl->ReleaseKernel(q->kernel[k]);
    if (q->program) q->cl->ReleaseProgram(q->program);
    if (q->queue) q->cl->ReleaseCommandQueue(q->queue);
    if (q->context) q->cl->ReleaseContext(q->context);
    *q = (opencl_queue){0};
}

// ---- Buffers ---------------------------------------------------------------------------------------------------------------

cl_mem queue_buffer(opencl_queue *q, int64_t bytes)
{
    if (q->error != CL_SUCCESS) return NULL;
    cl_int error;
    cl_mem buffer = q->cl->CreateBuffer(q->context, CL_MEM_READ_WRITE, bytes > 0 ? (size_t)bytes : 4, NULL, &error);
    return error == CL_SUCCESS ? buffer : NULL;
}

void queue_free(opencl_queue *q, cl_mem *buffer)
{
    if (*buffer) q->cl->ReleaseMemObject(*buffer);
    *buffer = NULL;
}

void queue_write(opencl_queue *q, cl_mem to, int64_t offset, const void *from, int64_t bytes)
{
    if (q->error != CL_SUCCESS || bytes == 0) return;
    q->up += bytes;
    sound(q, q->cl->EnqueueWriteBuffer(q->queue, to, CL_TRUE, (size_t)offset, (size_t)bytes, from, 0, NULL, NULL),
          "sending to the device");
}

void queue_read(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes)
{
    if (bytes == 0) return;
    if (q->error == CL_SUCCESS) {
        q->down += bytes;
        sound(q, q->cl->EnqueueReadBuffer(q->queue, from, CL_TRUE, (size_t)offset, (size_t)bytes, to, 0, NULL, NULL),
              "reading from the device");
    }
    if (q->error != CL_SUCCESS) memset(to, 0, (size_t)bytes);
}

void queue_read_later(opencl_queue *q, cl_mem from, void *to, int64_t bytes, cl_event *done)
{
    *done = NULL;
    if (q->error != CL_SUCCESS || bytes == 0) return;
    q->down += bytes;
    sound(q, q->cl->EnqueueReadBuffer(q->queue, from, CL_FALSE, 0, (size_t)bytes, to, 0, NULL, done),
          "reading from the device");
    q->cl->Flush(q->queue);
}

void queue_wait(opencl_queue *q, cl_event *done)
{
    if (!*done) return;
    sound(q, q->cl->WaitForEvents(1, done), "waiting for the device");
    q->cl->ReleaseEvent(*done);
    *done = NULL;
}

void queue_copy(opencl_queue *q, cl_mem from, cl_mem to, int64_t bytes)
{
    if (q->error != CL_SUCCESS || bytes == 0) return;
    sound(q, q->cl->EnqueueCopyBuffer(q->queue, from, to, 0, 0, (size_t)bytes, 0, NULL, NULL), "copying on the device");
}

void queue_zero(opencl_queue *q, cl_mem buffer, int64_t bytes)
{
    const cl_uint zero = 0;
    if (q->error != CL_SUCCESS || bytes == 0) return;
    sound(q, q->cl->EnqueueFillBuffer(q->queue, buffer, &zero, sizeof zero, 0, (size_t)(bytes + 3) / 4 * 4, 0, NULL, NULL),
          "clearing memory of the device");
}

void queue_finish(opencl_queue *q)
{
    if (q->error == CL_SUCCESS) sound(q, q->cl->Finish(q->queue), "waiting for the device");
}

// ---- Kernels ---------------------------------------------------------------------------------------------------------------

void queue_launch(opencl_queue *q, kernel_id kernel, int32_t groups, const kernel_arg *args, int32_t count)
{
    if (q->error != CL_SUCCESS || groups <= 0) return;
    for (int32_t i = 0; i < count; i++)
        if (!sound(q, q->cl->SetKernelArg(q->kernel[kernel], (cl_uint)i, args[i].size, args[i].value), kernel_names[kernel]))
            return;
    size_t items = (size_t)groups * q->items[kernel];
    bool timed = q->timing && q->rule && q->timed_count < OPENCL_EVENTS;
    cl_event *event = timed ? &q->timed[q->timed_count].event : NULL;
    cl_int error = q->cl->EnqueueNDRangeKernel(q->queue, q->kernel[kernel], 1, NULL, &items, &q->items[kernel], 0, NULL, event);
    if (sound(q, error, kernel_names[kernel]) && timed) q->timed[q->timed_count++].name = q->rule;
}

void queue_book(opencl_queue *q, weir_world *world, double weight)
{
    for (int32_t i = 0; i < q->timed_count && q->error == CL_SUCCESS; i++) {
        cl_ulong begin = 0, end = 0;
        q->cl->GetEventProfilingInfo(q->timed[i].event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
        q->cl->GetEventProfilingInfo(q->timed[i].event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
        if (end > begin) backend_book_time(world, q->timed[i].name, weight * 1e-9 * (double)(end - begin));
    }
    forget_times(q);
}
