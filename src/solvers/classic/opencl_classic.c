// The classic solver on an OpenCL device: how each of its passes runs.
#include "compute/opencl.h"
#include "solvers/classic/classic.h"
#include "solvers/classic/device.h"
#include <assert.h>

#define CLASSIC_KERNELS(ITEM) \
    ITEM(classic_move)        \
    ITEM(classic_divergence)  \
    ITEM(classic_follow)      \
    ITEM(classic_pressure)    \
    ITEM(classic_gradient)

enum { KERNEL_BEFORE = KERNEL_OWN - 1, CLASSIC_KERNELS(KERNEL_ENUM) };

extern const char opencl_classic_source[];
static const char *const kernel_names[] = {CLASSIC_KERNELS(KERNEL_NAME)};
static const opencl_text text = {"classic", opencl_classic_source, kernel_names, sizeof kernel_names / sizeof *kernel_names};

// The divergence lives in the old flow until the gradient.
#define DIVERGENCE(channels) ((channels).flow[0])

struct classic_opencl {
    opencl_machine *machine;
    cl_int rest;  // iterations of the pressure that are left to the next pass: 0 or 1
};

static int64_t tables_bytes(int64_t room)
{
    return DEVICE_SOLVER_TABLES(room);
}

// ---- An update -------------------------------------------------------------------------------------------------------------

static weir_status reserve(void *solver)
{
    opencl_machine *machine = ((classic *)solver)->opencl->machine;
    weir_status status = opencl_prepare(machine);
    if (status == WEIR_OK) status = opencl_reserve(machine);
    machine->numbers = opencl_find_numbers(machine, &machine->world->params, CLASSIC_PUSH);
    machine->numbers.keep = 1.0f - machine->world->params.classic.damping;
    machine->numbers.max_flow = machine->world->params.classic.max_flow;
    return status;
}

void classic_opencl_move(void *solver)
{
    opencl_machine *machine = ((classic *)solver)->opencl->machine;
    device_bricks *d = &machine->bricks;
    opencl_channels c = opencl_find_channels(machine);
    LAUNCH(&machine->queue, classic_move, d->pair_count, ARG(c.mass), FLOW_ARGS(c), ARG(c.mass_next), NEXT_ARGS(c),
           MOVED_ARGS(c), ARG(d->tables), ARG(d->open), ARG(d->clear), ARG(d->pairs), ARG(machine->numbers));
}

void classic_opencl_open_sides(void *solver)
{
    classic *c = solver;
    c->drained = opencl_drain_sides(c->opencl->machine);
}

void classic_opencl_forces(void *solver)
{
    opencl_forces(((classic *)solver)->opencl->machine);
}

// Iterations of the pressure, two per launch; one that is left over waits for the next call, or for the gradient. `follows`: the first of
// them follows right after the divergence.
static void iterate_pressure(classic_opencl *o, int32_t count, bool follows)
{
    opencl_machine *machine = o->machine;
    device_bricks *d = &machine->bricks;
    const size_t items = (size_t)d->run_count * DEVICE_MARCH_GROUP;
    for (o->rest += count; o->rest >= 2; o->rest -= 2, follows = false) {
        opencl_channels c = opencl_find_channels(machine);
        const kernel_arg args[] = {ARG(d->runs),    ARG(d->near),       ARG(d->open),        ARG(d->clear),
                                   ARG(c.pressure), ARG(DIVERGENCE(c)), ARG(c.pressure_next)};
        queue_launch(&machine->queue, follows ? KERNEL_classic_follow : KERNEL_classic_pressure, items, DEVICE_MARCH_GROUP,
                     args, (int32_t)(sizeof args / sizeof *args));
        opencl_swap_pressure(machine);
    }
    assert(o->rest == 0 || o->rest == 1);
}

// The divergence and the first iteration in one kernel.
void classic_opencl_divergence(void *solver)
{
    const int32_t iterations = ((classic *)solver)->iterations;
    classic_opencl *o = ((classic *)solver)->opencl;
    opencl_machine *machine = o->machine;
    device_bricks *d = &machine->bricks;
    opencl_channels c = opencl_find_channels(machine);
    cl_int follows = iterations - 1 >= 2;
    device_bricks_prefetch_flags(d, d->worked >= machine->transfer_bricks);
    LAUNCH_ROWS_BY(&machine->queue, classic_divergence, DEVICE_DIVERGENCE_GROUP, d->worked, ARG(d->open), ARG(c.mass_next),
                   NEXT_ARGS(c), ARG(DIVERGENCE(c)), ARG(c.pressure), ARG(d->tables), ARG(d->room), ARG(follows),
                   ARG(d->worked));
    o->rest = 0;
    iterate_pressure(o, iterations - 1, follows);
}

void classic_opencl_pressure(void *solver)
{
    const classic *c = solver;
    iterate_pressure(c->opencl, c->iterations, false);
}

void classic_opencl_gradient(void *solver)
{
    classic_opencl *o = ((classic *)solver)->opencl;
    opencl_machine *machine = o->machine;
    device_bricks *d = &machine->bricks;
    iterate_pressure(o, ((classic *)solver)->iterations, false);
    opencl_channels c = opencl_find_channels(machine);
    LAUNCH_ITEMS(&machine->queue, classic_gradient, (size_t)d->run_count * DEVICE_MARCH_GROUP, DEVICE_MARCH_GROUP, ARG(d->runs),
                 ARG(d->near), ARG(d->open), ARG(d->clear), ARG(c.pressure), ARG(DIVERGENCE(c)), ARG(c.pressure_next),
                 NEXT_ARGS(c), ARG(machine->numbers), ARG(o->rest));
    if (o->rest > 0) opencl_swap_pressure(machine);
    opencl_swap_mass(machine);
    opencl_swap_flow(machine);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

static int64_t bytes(const void *solver)
{
    const backend *machine = ((const classic *)solver)->base.machine;
    return machine->bytes(machine);
}

static const char *validate(void *solver)
{
    backend *machine = ((classic *)solver)->base.machine;
    return machine->validate(machine);
}

static void destroy(void *solver)
{
    classic *c = solver;
    classic_opencl *o = c->opencl;
    if (!o) return;
    if (o->machine) o->machine->base.destroy(&o->machine->base);
    memory_free(&c->base.cells.world->mem, o, sizeof *o);
}

static weir_status create(void *solver, const char *device)
{
    classic *c = solver;
    classic_opencl *o = c->opencl = memory_alloc_zero(&c->base.cells.world->mem, sizeof *o);
    if (!o) return status_fail(WEIR_ERROR_MEMORY, "memory ran out while making the OpenCL backend");
    const device_needs needs = {.tables_bytes = tables_bytes, .run_axis = 0, .pairs = true};
    weir_status status = opencl_machine_create(&c->base.cells, device, &text, &needs, &o->machine);
    if (status == WEIR_OK) c->base.machine = &o->machine->base;
    return status;
}

const solver_part classic_on_opencl = {
    .create = create, .destroy = destroy, .reserve = reserve, .validate = validate, .bytes = bytes};
