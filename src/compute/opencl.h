// The inside of the OpenCL backend: a queue on a device (opencl_queue.c), the bricks there (opencl_bricks.c), and the passes over
// them (opencl.c).
#ifndef WEIR_COMPUTE_OPENCL_H
#define WEIR_COMPUTE_OPENCL_H

#include "compute/backend.h"
#include "compute/opencl_program.h"
#include "compute/opencl_shared.h"

// ---- opencl_queue.c --------------------------------------------------------------------------------------------------------

#define OPENCL_KERNELS(ITEM) \
    ITEM(pack_bricks)        \
    ITEM(unpack_bricks)      \
    ITEM(clear_bricks)       \
    ITEM(move_bricks)        \
    ITEM(take_news)          \
    ITEM(place_bricks)       \
    ITEM(move)               \
    ITEM(viscosity)          \
    ITEM(forces)             \
    ITEM(drain_sides)        \
    ITEM(divergence)         \
    ITEM(smooth)             \
    ITEM(look_for_restless)  \
    ITEM(touch_up)           \
    ITEM(settle)             \
    ITEM(gradient)           \
    ITEM(grow_tree)          \
    ITEM(restrict_fine)      \
    ITEM(correct_fine)       \
    ITEM(first_down)         \
    ITEM(first_smooth)       \
    ITEM(level_down)         \
    ITEM(level_smooth)       \
    ITEM(coarse_tail)        \
    ITEM(pair_bricks)        \
    ITEM(classic_move)       \
    ITEM(classic_divergence) \
    ITEM(classic_follow)     \
    ITEM(classic_pressure)   \
    ITEM(classic_gradient)

typedef enum kernel_id {
#define KERNEL_ENUM(name) KERNEL_##name,
    OPENCL_KERNELS(KERNEL_ENUM)
#undef KERNEL_ENUM
        KERNEL_COUNT
} kernel_id;

enum { OPENCL_EVENTS = 512 };  // timed launches in one update; more are not timed

typedef struct timed_launch {
    cl_event event;
    const char *name;  // of the rule its time is booked under
} timed_launch;

// What a kernel was told as its arguments, one after the other; the first `bytes` of them are known.
typedef struct kernel_known {
    size_t bytes;
    unsigned char args[320];
} kernel_known;

// Memory of this machine that the device reads and writes by itself.
typedef struct pinned_memory {
    cl_mem buffer;
    void *data;
    int64_t bytes;
} pinned_memory;

// A queue of commands. The first failure stays: what comes after it does nothing.
typedef struct opencl_queue {
    const opencl_api *cl;
    opencl_device device;
    cl_context context;
    cl_command_queue queue;            // the one of the two below that is in use
    cl_command_queue plain, profiled;  // telling times makes every command slower
    cl_command_queue reader;           // for reads that nothing is to wait for
    cl_program program;
    cl_kernel kernel[KERNEL_COUNT];
    kernel_known known[KERNEL_COUNT];
    size_t group;       // work-items in a group
    size_t row_group;   // and of kernels on rows of bricks, 64 to a brick
    size_t cell_group;  // and of kernels on coarse levels, a group to a brick
    cl_int error;       // the first failure
    const char *what;   // and what failed
    int64_t held;       // bytes of buffers
    int64_t commands;   // so far
    int64_t fail_at;    // the command at which the device is lost, for tests; 0: none
    device_account *account;
    pinned_memory stage;
    int64_t staged;  // bytes in it that the device may not have taken yet
    int64_t writes;  // that were staged so far
    bool timing;     // whether launches are timed now
    timed_launch timed[OPENCL_EVENTS];
    int32_t timed_count;
    const char *rule;  // that launches belong to
} opencl_queue;

// Finds the device, builds the kernels and tests that it keeps the contract. With WEIR_DEVICE_FAIL_AT=n in the environment the n-th
// command after that fails, and all later ones, as on a device that is lost.
weir_status queue_create(const char *which, weir_logger logger, device_account *account, opencl_queue *q);
void queue_destroy(opencl_queue *q);

// WEIR_OK, or the sentence of the first failure.
weir_status queue_status(const opencl_queue *q);
// WEIR_ERROR_MEMORY, with a sentence that says so; `what`: of the bricks, or nothing for the bricks themselves.
weir_status queue_no_room(const opencl_queue *q, const char *what, int32_t bricks, int64_t bytes);

// Forgets a failure if it was only that there is no memory: some devices say so when a new buffer is first used. True if it did.
bool queue_forgive(opencl_queue *q);

// A buffer on the device; NULL if there is no memory for it, or after a failure. Its content does not matter.
cl_mem queue_buffer(opencl_queue *q, int64_t bytes);
void queue_free(opencl_queue *q, cl_mem *buffer);
int64_t queue_size(const opencl_queue *q, cl_mem buffer);  // in bytes
// Makes a buffer at least so large, and `spare` larger if it must be made; its content does not matter. *size is its size.
bool queue_at_least(opencl_queue *q, cl_mem *buffer, int64_t *size, int64_t bytes, int64_t spare);

// Room in pinned memory for at least so many bytes. Its content does not matter.
bool queue_pin(opencl_queue *q, pinned_memory *p, int64_t bytes);
void queue_unpin(opencl_queue *q, pinned_memory *p);

// Sends a copy of the bytes.
void queue_write(opencl_queue *q, cl_mem to, int64_t offset, const void *from, int64_t bytes);
// Waits until the bytes are there.
void queue_read(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes);
// Does not wait: *done, zero at first, gets an event for queue_wait; an answer that nobody waited for is forgotten. `to` should be
// pinned, or the device makes the caller wait after all. `beside`: the commands that follow do not wait until the bytes are out. None
// of them may write these bytes before somebody has waited for them here.
void queue_read_later(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes, bool beside, cl_event *done);
void queue_wait(opencl_queue *q, cl_event *done);
void queue_copy(opencl_queue *q, cl_mem from, cl_mem to, int64_t bytes);
void queue_zero(opencl_queue *q, cl_mem buffer, int64_t bytes);
void queue_finish(opencl_queue *q);

// Whether launches are timed from now on.
void queue_time(opencl_queue *q, bool timing);

// Books the times of finished launches, `weight` times over.
void queue_book(opencl_queue *q, weir_world *world, double weight);

typedef struct kernel_arg {
    size_t size;
    const void *value;
} kernel_arg;

// `items` is a multiple of `group`.
void queue_launch(opencl_queue *q, kernel_id kernel, size_t items, size_t group, const kernel_arg *args, int32_t count);
// The same for a kernel that is not one of Weir's own.
void queue_launch_other(opencl_queue *q, cl_kernel kernel, const char *name, size_t items, size_t group, const kernel_arg *args,
                        int32_t count);

// LAUNCH(q, forces, groups, A(list), A(near), ...)
#define LAUNCH_ITEMS(q, name, items, group, ...)                                                                        \
    do {                                                                                                                \
        const kernel_arg launch_args[] = {__VA_ARGS__};                                                                 \
        queue_launch(q, KERNEL_##name, items, group, launch_args, (int32_t)(sizeof launch_args / sizeof *launch_args)); \
    } while (0)
#define LAUNCH(q, name, groups, ...) LAUNCH_ITEMS(q, name, (size_t)(groups) * (q)->group, (q)->group, __VA_ARGS__)
// For kernels on rows, 64 work-items to a brick: as many groups of a size as the bricks need.
#define LAUNCH_ROWS_BY(q, name, size, bricks, ...) \
    LAUNCH_ITEMS(q, name, ((size_t)(bricks)*64 + (size)-1) / (size) * (size), size, __VA_ARGS__)
#define LAUNCH_ROWS(q, name, bricks, ...) LAUNCH_ROWS_BY(q, name, (q)->row_group, bricks, __VA_ARGS__)
// For kernels with a group per brick of a coarse level.
#define LAUNCH_CELLS(q, name, bricks, ...) \
    LAUNCH_ITEMS(q, name, (size_t)(bricks) * (q)->cell_group, (q)->cell_group, __VA_ARGS__)
#define A(value)                \
    {                           \
        sizeof(value), &(value) \
    }

// ---- opencl_bricks.c -------------------------------------------------------------------------------------------------------

// What a cycle noted: see opencl_shared.h.
typedef struct device_note {
    bool ran;
    float begun, left;
    int32_t restless;
} device_note;

// The bricks on the device, at the same indices as in the pool.
typedef struct device_bricks {
    opencl_queue *queue;
    weir_world *world;
    brick_home home;
    int32_t capacity;
    cl_mem channel[CHANNEL_MAX];
    int32_t channel_count;
    bool lean;                         // channels of scratch are missing, after a growth that failed
    cl_mem near, open, coords, clear;  // what the host tells of them
    cl_mem marks;                      // what the kernels note of them and of the cycles of the pressure
    int32_t room;                      // bricks there is room for in the marks
    cl_mem list;                       // live bricks
    int32_t live;
    cl_mem pairs;  // live bricks two by two on x, each pair as its 36 neighbours; for the classic kernels
    int32_t pair_count;
    cl_mem runs;  // live bricks in runs, as device_run: along z for the move, in the classic solver along x for the pressure
    int64_t runs_bytes;
    int32_t run_count;
    int32_t *behind;  // of every brick: twice the one behind it on its line, and 1 more if it is the first of its line
    int32_t behind_room;
    uint64_t version;  // of the pool that the device knows
    cl_mem names;      // bricks that a copy is about
    int64_t names_bytes;
    cl_mem block;  // their values, packed
    int64_t block_bytes;
    void *host_block;  // the same here
    size_t host_bytes;
    pinned_memory marks_here;  // notes and facts
    cl_event notes_read, facts_read;
    bool along;          // the notes that were asked for last bring the facts along
    int64_t writes;      // of the queue when facts were asked for
    device_cycle cycle;  // the one under way
    device_cycle noted;  // the one after which notes were asked for
} device_bricks;

void device_bricks_create(device_bricks *d, opencl_queue *queue, weir_world *world);
void device_bricks_destroy(device_bricks *d);

// Makes room for all bricks of the pool and tells the device where they lie. Fails on memory, with nothing changed.
weir_status device_bricks_prepare(device_bricks *d);

// Sends what was edited here.
void device_bricks_send(device_bricks *d);

// Copies a whole channel between the pool and the device, for rules that run here.
void device_bricks_fetch_channel(device_bricks *d, int32_t channel);
void device_bricks_send_channel(device_bricks *d, int32_t channel);

// Asks for what the move found out of every brick, or for what the cycles of the update noted, `beside` the commands that
// follow (queue_read_later). `facts`: the notes bring the facts along.
void device_bricks_ask_facts(device_bricks *d, bool beside);
void device_bricks_ask_notes(device_bricks *d, bool beside, bool facts);
// Waits for the facts and gives a byte per brick.
const uint8_t *device_bricks_take_facts(device_bricks *d);
// Waits for the notes, if they were asked for, and tells the world.
void device_bricks_take_notes(device_bricks *d);
// Of a cycle of the last update whose notes were taken.
device_note device_bricks_note(const device_bricks *d, int32_t index);

int64_t device_bricks_bytes(const device_bricks *d);  // of tables, without the channels

// NULL, or what is broken of what the host keeps of the bricks there.
const char *device_bricks_validate(const device_bricks *d);

// ---- opencl_rules.c --------------------------------------------------------------------------------------------------------

// A game's rules that gave a text for devices, by their numbers in the world.
typedef struct device_rules {
    cl_program program[RULE_MAX];
    cl_kernel kernel[RULE_MAX];  // NULL: it runs on the host
    int32_t count;               // rules that have been looked at
} device_rules;

// Compiles the texts of rules that are new. A rule without one, or with one that does not compile, runs on the host; the log is told.
void device_rules_prepare(device_rules *r, device_bricks *d);

// Runs a rule on the device; false if it must run on the host.
bool device_rules_run(device_rules *r, device_bricks *d, const world_rule *rule);

void device_rules_destroy(device_rules *r, opencl_queue *q);

#endif
