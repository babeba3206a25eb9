// A queue of commands on an OpenCL device: kernels, buffers, transfers, times.
#include "compute/opencl.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    STAGE_BYTES = 8 << 20,
    LOCAL_KIB = 46  // of local memory that the largest kernels take
};

// ---- Failures --------------------------------------------------------------------------------------------------------------

static bool sound(opencl_queue *q, cl_int error, const char *what)
{
    if (error != CL_SUCCESS && q->error == CL_SUCCESS) {
        q->error = error;
        q->what = what;
    }
    return q->error == CL_SUCCESS;
}

// Before every command; false if it is not to be given.
static bool ready(opencl_queue *q)
{
    if (q->error == CL_SUCCESS && ++q->commands == q->fail_at) sound(q, CL_DEVICE_NOT_AVAILABLE, "a command");
    return q->error == CL_SUCCESS;
}

bool queue_forgive(opencl_queue *q)
{
    if (q->error != CL_MEM_OBJECT_ALLOCATION_FAILURE) return false;
    q->error = CL_SUCCESS;
    return true;
}

weir_status queue_status(const opencl_queue *q)
{
    if (q->error == CL_SUCCESS) return WEIR_OK;
    return status_fail(WEIR_ERROR_DEVICE, "%s failed on device %d, %.60s: %s", q->what, q->device.index, q->device.name,
                       opencl_error_name(q->error));
}

weir_status queue_no_room(const opencl_queue *q, const char *what, int32_t bricks, int64_t bytes)
{
    return status_fail(
        WEIR_ERROR_MEMORY, "%s%d bricks need %.1f MiB and more, which device %d, %.100s, does not have free (of %.1f MiB)",
        what, bricks, (double)bytes / (1 << 20), q->device.index, q->device.name, (double)q->device.memory / (1 << 20));
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static const char *const shared_names[KERNEL_OWN] = {OPENCL_KERNELS(KERNEL_NAME)};

static void say(weir_logger logger, weir_log_level level, const char *line)
{
    if (logger.write) logger.write(logger.user, level, line);
}

static weir_status build(opencl_queue *q, const opencl_text *text, weir_logger logger)
{
    // Two cells per work-item. Every device that matters takes 256; PoCL 3.1 compiles some kernels wrongly for smaller groups.
    q->group = 256;
    while (q->group > q->device.group_limit && q->group > 1) q->group /= 2;
    q->row_group = 64;  // one brick: two of them in a group would wait for each other
    q->cell_group = q->device.group_limit < 512 ? q->group : 512;  // one cell per work-item
    if (q->group < q->row_group)
        return status_fail(WEIR_ERROR_DEVICE, "device %d, %s, takes only %zu work-items in a group: Weir needs 64",
                           q->device.index, q->device.name, q->group);
    if (q->device.local_memory < LOCAL_KIB << 10)
        return status_fail(WEIR_ERROR_DEVICE, "device %d, %s, has only %lld KiB of local memory: Weir needs %d",
                           q->device.index, q->device.name, (long long)(q->device.local_memory >> 10), LOCAL_KIB);
    char options[96];
    snprintf(options, sizeof options, "-D GROUP=%zu -D ROW_GROUP=%zu -D CELL_GROUP=%zu", q->group, q->row_group, q->cell_group);
    opencl_build_info info = {0};
    char what[64];
    snprintf(what, sizeof what, "the kernels of %s", text->name);
    weir_status status = opencl_build(q->cl, q->context, &q->device, what, options, text->source, logger, &q->program, &info);
    q->account->program_seconds = info.seconds;
    q->account->program_cached = info.cached;
    if (info.log) say(logger, WEIR_LOG_WARNING, info.log);
    free(info.log);
    if (status != WEIR_OK) return status;
    q->kernel_count = KERNEL_OWN + text->own_count;
    assert(q->kernel_count <= KERNEL_MAX);
    for (int32_t k = 0; k < q->kernel_count; k++) {
        cl_int error;
        q->kernel_name[k] = k < KERNEL_OWN ? shared_names[k] : text->own[k - KERNEL_OWN];
        q->kernel[k] = q->cl->CreateKernel(q->program, q->kernel_name[k], &error);
        if (!sound(q, error, "making the kernels")) return queue_status(q);
    }
    return opencl_self_test(q->cl, q->context, q->queue, q->program, &q->device);
}

weir_status queue_create(const char *which, const opencl_text *text, weir_logger logger, device_account *account,
                         opencl_queue *q)
{
    const char *fail_at = getenv("WEIR_DEVICE_FAIL_AT");
    *q = (opencl_queue){.account = account, .fail_at = fail_at ? atoll(fail_at) : 0};
    weir_status status = opencl_load(&q->cl);
    if (status == WEIR_OK) status = opencl_find_device(which, &q->device);
    if (status != WEIR_OK) return status;
    char line[256];
    snprintf(line, sizeof line, "OpenCL device %d: %.120s, driver %.60s", q->device.index, q->device.name, q->device.driver);
    say(logger, WEIR_LOG_INFO, line);
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)q->device.platform, 0};
    cl_int error;
    q->context = q->cl->CreateContext(properties, 1, &q->device.id, NULL, NULL, &error);
    if (sound(q, error, "opening a context")) q->plain = q->cl->CreateCommandQueue(q->context, q->device.id, 0, &error);
    if (sound(q, error, "opening a queue"))
        q->profiled = q->cl->CreateCommandQueue(q->context, q->device.id, CL_QUEUE_PROFILING_ENABLE, &error);
    if (sound(q, error, "opening a queue")) q->transfer = q->cl->CreateCommandQueue(q->context, q->device.id, 0, &error);
    q->queue = q->plain;
    status = sound(q, error, "opening a queue") ? build(q, text, logger) : queue_status(q);
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
    if (q->transfer) q->cl->Finish(q->transfer);
    forget_times(q);
    queue_unpin(q, &q->stage);
    for (int32_t k = 0; k < q->kernel_count; k++)
        if (q->kernel[k]) q->cl->ReleaseKernel(q->kernel[k]);
    if (q->program) q->cl->ReleaseProgram(q->program);
    if (q->plain) q->cl->ReleaseCommandQueue(q->plain);
    if (q->profiled) q->cl->ReleaseCommandQueue(q->profiled);
    if (q->transfer) q->cl->ReleaseCommandQueue(q->transfer);
    if (q->context) q->cl->ReleaseContext(q->context);
    *q = (opencl_queue){0};
}

// ---- Buffers ---------------------------------------------------------------------------------------------------------------

cl_mem queue_buffer(opencl_queue *q, int64_t bytes)
{
    bytes = bytes > 0 ? (bytes + 3) / 4 * 4 : 4;
    if (q->error != CL_SUCCESS || bytes > q->device.largest_buffer || bytes > q->device.memory - q->held) return NULL;
    cl_int error;
    cl_mem buffer = q->cl->CreateBuffer(q->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &error);
    if (error != CL_SUCCESS) return NULL;
    q->held += bytes;
    return buffer;
}

int64_t queue_size(const opencl_queue *q, cl_mem buffer)
{
    size_t size = 0;
    if (buffer) q->cl->GetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof size, &size, NULL);
    return (int64_t)size;
}

bool queue_at_least(opencl_queue *q, cl_mem *buffer, int64_t *size, int64_t bytes, int64_t spare)
{
    if (*size >= bytes) return true;
    queue_free(q, buffer);
    *buffer = queue_buffer(q, bytes + spare);
    *size = *buffer ? bytes + spare : 0;
    return *buffer != NULL;
}

void queue_free(opencl_queue *q, cl_mem *buffer)
{
    if (!*buffer) return;
    q->held -= queue_size(q, *buffer);
    q->cl->ReleaseMemObject(*buffer);
    *buffer = NULL;
    // A later buffer may get the same handle and must not be taken for this one.
    for (int32_t k = 0; k < q->kernel_count; k++) q->known[k].bytes = 0;
}

bool queue_pin(opencl_queue *q, pinned_memory *p, int64_t bytes)
{
    if (p->bytes >= bytes) return true;
    queue_unpin(q, p);
    if (q->error != CL_SUCCESS) return false;
    cl_int error;
    p->buffer = q->cl->CreateBuffer(q->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, (size_t)bytes, NULL, &error);
    if (error != CL_SUCCESS) return false;
    p->data = q->cl->EnqueueMapBuffer(q->queue, p->buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes, 0, NULL, NULL,
                                      &error);
    if (error != CL_SUCCESS) {
        p->data = NULL;
        queue_unpin(q, p);
        return false;
    }
    p->bytes = bytes;
    return true;
}

void queue_unpin(opencl_queue *q, pinned_memory *p)
{
    if (p->data) {
        q->cl->EnqueueUnmapMemObject(q->queue, p->buffer, p->data, 0, NULL, NULL);
        q->cl->Finish(q->queue);
    }
    if (p->buffer) q->cl->ReleaseMemObject(p->buffer);  // memory of the host, which the device's account knows nothing of
    *p = (pinned_memory){0};
}

// Small writes wait in pinned memory until the device takes them; NULL when there is no room.
static void *stage(opencl_queue *q, int64_t bytes)
{
    if (bytes > STAGE_BYTES || !queue_pin(q, &q->stage, STAGE_BYTES)) return NULL;
    if (q->staged + bytes > STAGE_BYTES) queue_finish(q);
    assert(q->staged % 64 == 0 && q->staged + bytes <= STAGE_BYTES);
    void *room = (char *)q->stage.data + q->staged;
    q->staged += (bytes + 63) / 64 * 64;
    q->writes++;
    return room;
}

void queue_write(opencl_queue *q, cl_mem to, int64_t offset, const void *from, int64_t bytes)
{
    if (bytes == 0 || !ready(q)) return;
    assert(offset >= 0 && bytes > 0 && offset + bytes <= queue_size(q, to));
    void *staged = stage(q, bytes);
    if (staged) from = memcpy(staged, from, (size_t)bytes);
    q->account->sent += bytes;
    sound(q,
          q->cl->EnqueueWriteBuffer(q->queue, to, staged ? CL_FALSE : CL_TRUE, (size_t)offset, (size_t)bytes, from, 0, NULL,
                                    NULL),
          "sending to the device");
}

void queue_read(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes)
{
    if (bytes == 0) return;
    if (ready(q)) {
        assert(offset >= 0 && bytes > 0 && offset + bytes <= queue_size(q, from));
        q->account->brought += bytes;
        sound(q, q->cl->EnqueueReadBuffer(q->queue, from, CL_TRUE, (size_t)offset, (size_t)bytes, to, 0, NULL, NULL),
              "reading from the device");
    }
    if (q->error != CL_SUCCESS) memset(to, 0, (size_t)bytes);
}

void queue_read_later(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes, bool on_transfer_queue,
                      cl_event *done)
{
    if (*done) q->cl->ReleaseEvent(*done);
    *done = NULL;
    if (bytes == 0 || !ready(q)) return;
    assert(offset >= 0 && bytes > 0 && offset + bytes <= queue_size(q, from));
    q->account->brought += bytes;
    cl_command_queue queue = on_transfer_queue ? q->transfer : q->queue;
    cl_event now = NULL;
    cl_int error = CL_SUCCESS;
    if (on_transfer_queue) {
        error = q->cl->EnqueueMarkerWithWaitList(q->queue, 0, NULL, &now);
        q->cl->Flush(q->queue);
    }
    if (error == CL_SUCCESS)
        error = q->cl->EnqueueReadBuffer(queue, from, CL_FALSE, (size_t)offset, (size_t)bytes, to, now ? 1 : 0,
                                         now ? &now : NULL, done);
    sound(q, error, "reading from the device");
    q->cl->Flush(queue);
    if (now) q->cl->ReleaseEvent(now);
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
    if (bytes == 0 || !ready(q)) return;
    assert(from != to && bytes <= queue_size(q, from) && bytes <= queue_size(q, to));
    sound(q, q->cl->EnqueueCopyBuffer(q->queue, from, to, 0, 0, (size_t)bytes, 0, NULL, NULL), "copying on the device");
}

void queue_zero(opencl_queue *q, cl_mem buffer, int64_t bytes)
{
    const cl_uint zero = 0;
    if (bytes == 0 || !ready(q)) return;
    assert((bytes + 3) / 4 * 4 <= queue_size(q, buffer));
    sound(q, q->cl->EnqueueFillBuffer(q->queue, buffer, &zero, sizeof zero, 0, (size_t)(bytes + 3) / 4 * 4, 0, NULL, NULL),
          "clearing memory of the device");
}

void queue_finish(opencl_queue *q)
{
    if (ready(q)) sound(q, q->cl->Finish(q->queue), "waiting for the device");
    q->staged = 0;
}

void queue_time(opencl_queue *q, bool timing)
{
    cl_command_queue queue = timing ? q->profiled : q->plain;
    q->timing = timing;
    if (queue == q->queue) return;
    queue_finish(q);
    q->queue = queue;
}

// ---- Kernels ---------------------------------------------------------------------------------------------------------------

// Tells the kernel those arguments that are not what it was told before: telling costs about as much as a launch.
static bool tell_args(opencl_queue *q, int32_t kernel, const kernel_arg *args, int32_t count)
{
    kernel_known *known = &q->known[kernel];
    size_t at = 0;
    for (int32_t i = 0; i < count; at += args[i++].size) {
        bool fits = at + args[i].size <= sizeof known->args;
        if (fits && at < known->bytes && memcmp(known->args + at, args[i].value, args[i].size) == 0) continue;
        cl_int error = q->cl->SetKernelArg(q->kernel[kernel], (cl_uint)i, args[i].size, args[i].value);
        if (!sound(q, error, q->kernel_name[kernel])) return false;
        if (fits) memcpy(known->args + at, args[i].value, args[i].size);
    }
    known->bytes = at < sizeof known->args ? at : sizeof known->args;
    return true;
}

static void enqueue(opencl_queue *q, cl_kernel kernel, const char *name, size_t items, size_t group)
{
    assert(group > 0 && items % group == 0);
    bool timed = q->timing && q->rule && q->timed_count < OPENCL_EVENTS;
    cl_event *event = timed ? &q->timed[q->timed_count].event : NULL;
    cl_int error = q->cl->EnqueueNDRangeKernel(q->queue, kernel, 1, NULL, &items, &group, 0, NULL, event);
    if (sound(q, error, name) && timed) q->timed[q->timed_count++].name = q->rule;
}

void queue_launch(opencl_queue *q, int32_t kernel, size_t items, size_t group, const kernel_arg *args, int32_t count)
{
    if (items == 0 || !ready(q) || !tell_args(q, kernel, args, count)) return;
    enqueue(q, q->kernel[kernel], q->kernel_name[kernel], items, group);
}

void queue_launch_other(opencl_queue *q, cl_kernel kernel, const char *name, size_t items, size_t group, const kernel_arg *args,
                        int32_t count)
{
    if (items == 0 || !ready(q)) return;
    for (int32_t i = 0; i < count; i++) {
        cl_int error = q->cl->SetKernelArg(kernel, (cl_uint)i, args[i].size, args[i].value);
        if (!sound(q, error, name)) return;
    }
    enqueue(q, kernel, name, items, group);
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
