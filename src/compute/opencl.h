// OpenCL devices as machines: a queue on a device (opencl_queue.c), the bricks there (opencl_bricks.c), a game's rules (opencl_rules.c),
// and what all solvers need of them (opencl.c).
#ifndef WEIR_COMPUTE_OPENCL_H
#define WEIR_COMPUTE_OPENCL_H

#include "compute/backend.h"
#include "compute/opencl_program.h"
#include "compute/opencl_shared.h"

// ---- opencl_queue.c --------------------------------------------------------------------------------------------------------

// Kernels that every solver's program has. A solver's own follow them in its list.
#define OPENCL_KERNELS(ITEM) \
    ITEM(pack_bricks)        \
    ITEM(unpack_bricks)      \
    ITEM(clear_bricks)       \
    ITEM(move_bricks)        \
    ITEM(double_bricks)      \
    ITEM(take_rows)          \
    ITEM(place_bricks)       \
    ITEM(pair_bricks)        \
    ITEM(flag_bricks)        \
    ITEM(report_changes)     \
    ITEM(forces)             \
    ITEM(drain_sides)

#define KERNEL_ENUM(name) KERNEL_##name,
#define KERNEL_NAME(name) #name,

enum {
    OPENCL_KERNELS(KERNEL_ENUM) KERNEL_OWN,  // the first of the solver's own
    KERNEL_MAX = 40
};

// A solver's program: its text, which the build makes (cmake/embed_opencl.cmake), and its kernels.
typedef struct opencl_text {
    const char *name;  // of the solver
    const char *source;
    const char *const *own;  // the names of its own kernels, from KERNEL_OWN on
    int32_t own_count;
} opencl_text;

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
    cl_command_queue transfer;         // for reads that nothing is to wait for
    cl_program program;
    cl_kernel kernel[KERNEL_MAX];
    const char *kernel_name[KERNEL_MAX];
    int32_t kernel_count;
    kernel_known known[KERNEL_MAX];
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
weir_status queue_create(const char *which, const opencl_text *text, weir_logger logger, device_account *account,
                         opencl_queue *q);
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
// pinned, or the device makes the caller wait after all. `on_transfer_queue`: the commands that follow do not wait until the bytes are
// out. None of them may write these bytes before somebody has waited for them here.
void queue_read_later(opencl_queue *q, cl_mem from, int64_t offset, void *to, int64_t bytes, bool on_transfer_queue,
                      cl_event *done);
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
void queue_launch(opencl_queue *q, int32_t kernel, size_t items, size_t group, const kernel_arg *args, int32_t count);
// The same for a kernel that is not one of Weir's own.
void queue_launch_other(opencl_queue *q, cl_kernel kernel, const char *name, size_t items, size_t group, const kernel_arg *args,
                        int32_t count);

// LAUNCH(q, forces, groups, ARG(list), ARG(near), ...)
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
#define ARG(value)              \
    {                           \
        sizeof(value), &(value) \
    }

// ---- opencl_bricks.c -------------------------------------------------------------------------------------------------------

// What a solver asks of the bricks on a device.
typedef struct device_needs {
    int64_t (*tables_bytes)(int64_t room);  // of the buffer of tables: see opencl_shared.h
    int32_t run_axis;                       // along which the bricks are cut into runs
    bool pairs;                             // bricks two by two on x
    // With a threshold of changes, at the end of an update: the drops in cells of the bricks that are worked on, 4 bytes each. NULL: they
    // are in the channel of mass.
    cl_mem (*mass)(void *solver);
    // Waits for what the last update left on its way, which the solver then knows. NULL: nothing is.
    void (*catch_up)(void *solver);
    void *solver;
} device_needs;

// The bricks on the device, at the same indices as in the pool.
typedef struct device_bricks {
    opencl_queue *queue;
    weir_world *world;
    fluid_cells *cells;
    device_needs needs;
    brick_remote remote;
    int32_t capacity;
    cl_mem channel[CHANNEL_MAX];
    int32_t channel_count;
    bool lean;                         // channels of scratch are missing, after a growth that failed
    bool doubles_lost;                 // channels of scratch do not hold the values of sleeping bricks any more
    cl_mem near, open, coords, clear;  // what the host tells of them
    cl_mem tables;                     // tables that the kernels keep of them, behind a header: see opencl_shared.h
    int32_t room;                      // bricks there is room for in the tables
    cl_mem list;     // bricks that passes work on (cells/sleep.h): those that are awake, then those of the rim
    int32_t awake;   // how many are awake
    int32_t worked;  // and how many there are in the list
    cl_mem pairs;    // they two by two on x, each pair as its 36 neighbours
    int32_t pair_count;
    cl_mem runs;  // they in runs, as device_run
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
    pinned_memory tables_here;  // the header of the tables, and the flags
    cl_mem flags;               // what the host says of bricks before their changes are told: 32 times a brick, and its bits
    int64_t flags_bytes;
    int32_t *flags_here;
    int32_t flags_room;
    cl_event flags_read;
    cl_event *read_along;  // a read of the solver's that brings the flags along; NULL: none
    int64_t writes;        // of the queue when the flags were prefetched
} device_bricks;

void device_bricks_create(device_bricks *d, const device_needs *needs, opencl_queue *queue, fluid_cells *c);
void device_bricks_destroy(device_bricks *d);

// Makes room for all bricks of the pool and tells the device where they lie. Fails on memory, with nothing changed.
weir_status device_bricks_prepare(device_bricks *d);

// Sends what was edited here.
void device_bricks_send(device_bricks *d);

// Gives the channels that take new values those that some bricks have. Passes that swap channels do not write bricks asleep, which must find
// the same in both.
void device_bricks_double(device_bricks *d, const int32_t *bricks, int32_t count);

// Copies a whole channel between the pool and the device, for rules that run here.
void device_bricks_fetch_channel(device_bricks *d, int32_t channel);
void device_bricks_send_channel(device_bricks *d, int32_t channel);

// Begins to read the flags that the move leaves of every brick; `on_transfer_queue` as in queue_read_later. The new mass is to be in the
// channel that takes it, and final: with a threshold of changes it is compared here with what was told.
void device_bricks_prefetch_flags(device_bricks *d, bool on_transfer_queue);
// Begins to read the header of the tables from a byte on, and the flags with it if they are wanted, in one read. *done, zero at first,
// gets an event for queue_wait.
void device_bricks_prefetch_header(device_bricks *d, int64_t first, bool with_flags, bool on_transfer_queue, cl_event *done);
// Waits for the flags and gives a byte per brick.
const uint8_t *device_bricks_take_flags(device_bricks *d);

int64_t device_bricks_bytes(const device_bricks *d);  // of tables, without the channels

// NULL, or what is broken of what the host keeps of the bricks there.
const char *device_bricks_validate(const device_bricks *d);

// The buffer of a channel; NULL for CHANNEL_NONE.
static inline cl_mem device_channel(const device_bricks *d, int32_t channel)
{
    return channel == CHANNEL_NONE ? NULL : d->channel[channel];
}

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
bool device_rules_run(device_rules *r, device_bricks *d, const cell_rule *rule);

void device_rules_destroy(device_rules *r, opencl_queue *q);

// ---- opencl.c --------------------------------------------------------------------------------------------------------------

// A device as a machine: the queue, the bricks there, and what every solver's update needs of them.
typedef struct opencl_machine {
    backend base;
    weir_world *world;
    fluid_cells *cells;
    opencl_queue queue;
    device_bricks bricks;
    device_rules rules;
    device_numbers numbers;
    cl_mem forces;
    int64_t force_bytes;
    cl_mem drained;
    int64_t drained_bytes;
    cl_mem outer;  // bricks that reach over the bounds
    int64_t outer_bytes;
    rule_region *forces_here;  // what goes to these buffers, or comes from them
    int32_t forces_room;
    int32_t *outer_here;
    int64_t *drops;
    int32_t outer_room;
    int32_t transfer_bricks;  // bricks from which on answers are read on the transfer queue, while kernels run
} opencl_machine;

weir_status opencl_machine_create(fluid_cells *c, const char *device, const opencl_text *text, const device_needs *needs,
                                  opencl_machine **out);

// The first half of an update: `opencl_prepare` tells the device of the bricks, `opencl_reserve` makes room for the rest. Between them
// a solver makes what it needs itself. Both may fail on memory, with nothing changed.
weir_status opencl_prepare(opencl_machine *o);
weir_status opencl_reserve(opencl_machine *o);

// The numbers of an update that solvers share; `scale` is the flow that an acceleration of 1 gives per update.
device_numbers opencl_find_numbers(const opencl_machine *o, const weir_params *p, float scale);

// Makes the new values of mass, flow or pressure the current ones.
void opencl_swap_mass(opencl_machine *o);
void opencl_swap_flow(opencl_machine *o);
void opencl_swap_pressure(opencl_machine *o);

// The channels of a solver with mass, flow on faces and pressure, as they are now.
typedef struct opencl_channels {
    cl_mem mass, mass_next, flow[3], next[3], pressure, pressure_next, moved[3];
} opencl_channels;

opencl_channels opencl_find_channels(const opencl_machine *o);

#define FLOW_ARGS(c) ARG((c).flow[0]), ARG((c).flow[1]), ARG((c).flow[2])
#define NEXT_ARGS(c) ARG((c).next[0]), ARG((c).next[1]), ARG((c).next[2])
#define MOVED_ARGS(c) ARG((c).moved[0]), ARG((c).moved[1]), ARG((c).moved[2])

// Forces and noise, and open sides, after the move; the second returns the drops that they took.
void opencl_forces(opencl_machine *o);
int64_t opencl_drain_sides(opencl_machine *o);

// A number of bricks; tests, whose worlds are small, say another one in the environment.
int32_t opencl_bricks_from(const char *name, int32_t usual);

#endif
