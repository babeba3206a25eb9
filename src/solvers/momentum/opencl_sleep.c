// Sleep of the momentum solver on an OpenCL device (cells/sleep.h). The host decides who is awake; here is what it tells the device of that,
// and what comes back: the drops that the rim gained, and how much each awake brick moved.
#include "cells/sleep.h"

#include "solvers/momentum/opencl_momentum.h"
#include <assert.h>
#include <string.h>

static int32_t rim_count(const device_bricks *d)
{
    return d->worked - d->awake;
}

static int32_t next_of(const brick_pool *pool, brick_phase phase, int32_t brick)
{
    return bricks_next(pool->phase, (int)phase, brick + 1, pool->end);
}

// ---- Room ------------------------------------------------------------------------------------------------------------------

static bool reserve_here(memory *mem, void **here, size_t *room, size_t bytes)
{
    if (*room >= bytes) return true;
    memory_free(mem, *here, *room);
    *here = memory_alloc(mem, bytes + bytes / 4);
    *room = *here ? bytes + bytes / 4 : 0;
    return *here != NULL;
}

// What is there of them is forgotten where either side gets other memory.
static bool reserve_beside(opencl_queue *q, memory *mem, device_sleep *s, int64_t bytes)
{
    void *here = s->beside_here;
    const int64_t there = s->beside_bytes;
    const bool room = queue_at_least(q, &s->beside, &s->beside_bytes, bytes, bytes / 4) &&
                      reserve_here(mem, &here, &s->beside_here_bytes, (size_t)bytes);
    if (here != s->beside_here || there != s->beside_bytes) s->beside_sent = 0;
    s->beside_here = here;
    return room;
}

weir_status opencl_sleep_reserve(momentum *m)
{
    device_sleep *s = &m->opencl->sleep;
    opencl_queue *q = &m->opencl->machine->queue;
    const device_bricks *d = &m->opencl->machine->bricks;
    if (!m->base.cells.sleep->on || d->awake == 0) return WEIR_OK;
    assert(!s->found_pending);
    const int64_t rim = rim_count(d) * (int64_t)sizeof(cl_int), beside = d->awake * (int64_t)sizeof(device_beside);
    const int64_t found = rim_count(d) * (int64_t)sizeof(cl_long) + d->awake;
    memory *mem = &m->base.cells.world->mem;
    const bool room = queue_at_least(q, &s->rim, &s->rim_bytes, rim, rim / 4) &&
                      queue_at_least(q, &s->found, &s->found_bytes, found, found / 4) &&
                      queue_pin(q, &s->found_here, s->found_bytes) && reserve_beside(q, mem, s, beside) &&
                      reserve_here(mem, &s->rim_here, &s->rim_here_bytes, (size_t)rim);
    return room ? queue_status(q) : queue_no_room(q, "what is known of the rest of ", d->worked, rim + beside + found);
}

int64_t opencl_sleep_bytes(const device_sleep *s)
{
    return s->rim_bytes + s->beside_bytes + s->found_bytes;
}

void opencl_sleep_destroy(momentum *m)
{
    device_sleep *s = &m->opencl->sleep;
    opencl_queue *q = &m->opencl->machine->queue;
    queue_wait(q, &s->found_read);
    queue_free(q, &s->rim);
    queue_free(q, &s->beside);
    queue_free(q, &s->found);
    queue_unpin(q, &s->found_here);
    memory_free(&m->base.cells.world->mem, s->rim_here, s->rim_here_bytes);
    memory_free(&m->base.cells.world->mem, s->beside_here, s->beside_here_bytes);
}

// ---- The rim ---------------------------------------------------------------------------------------------------------------

static void send_rim(momentum_opencl *o)
{
    static const uint8_t before[3] = {NEAR(-1, 0, 0), NEAR(0, -1, 0), NEAR(0, 0, -1)};
    const brick_pool *pool = &o->machine->cells->pool;
    cl_int *rim = o->sleep.rim_here;
    int32_t count = 0;
    for (int32_t b = 0; (b = next_of(pool, PHASE_RIM, b)) < pool->end;) {
        cl_int kept = 0;
        for (int axis = 0; axis < 3; axis++) kept |= (pool->phase[pool->near[b][before[axis]]] == PHASE_AWAKE) << axis;
        rim[count++] = 8 * b + kept;
    }
    assert(count == rim_count(&o->machine->bricks));
    queue_write(&o->machine->queue, o->sleep.rim, 0, rim, count * (int64_t)sizeof *rim);
}

void momentum_opencl_double_values(void *solver)
{
    momentum *m = solver;
    const cells_sleep *sleep = m->base.cells.sleep;
    device_bricks_double(&m->opencl->machine->bricks, sleep->doubled, sleep->doubled_count);
}

void momentum_opencl_book_rim(void *solver)
{
    const momentum *m = solver;
    momentum_opencl *o = m->opencl;
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    const cl_int first = m->substep == 0;
    if (first) send_rim(o);
    LAUNCH(&o->machine->queue, book_rim, rim_count(d), ARG(o->sleep.rim), ARG(c.mass), ARG(c.mass_next), ARG(d->tables),
           ARG(o->sleep.found), ARG(first));
}

void momentum_opencl_trim_rim(void *solver)
{
    momentum_opencl *o = ((momentum *)solver)->opencl;
    opencl_channels c = opencl_find_channels(o->machine);
    LAUNCH(&o->machine->queue, trim_rim, rim_count(&o->machine->bricks), ARG(o->sleep.rim), FLOW_ARGS(c));
}

// ---- Rest ------------------------------------------------------------------------------------------------------------------

// A neighbour as in device_beside.
static cl_int beside_of(const brick_pool *pool, int32_t brick)
{
    static const cl_int kind[] = {
        [PHASE_ASLEEP] = DEVICE_BESIDE_ASLEEP, [PHASE_RIM] = DEVICE_BESIDE_RIM, [PHASE_AWAKE] = DEVICE_BESIDE_AWAKE};
    const uint8_t phase = pool->phase[brick];
    return 4 * brick + (phase == PHASE_ASLEEP && !pool->wet[brick] ? DEVICE_BESIDE_NOTHING : kind[phase]);
}

// The shares of its flow that a brick loses, as in device_beside; `up` is the axis of gravity.
static void find_losses(const brick_pool *pool, int32_t brick, int32_t up, cl_float loss[3])
{
    const brick_rest *rest = &pool->rest[brick];
    bool beside_rim = false;
    int open = 0;
    loss[0] = loss[1] = loss[2] = 0.0f;
    if (rest->calm == 0 && !rest->driven) return;
    for (int32_t k = 0; k < 27; k++) beside_rim |= pool->phase[pool->near[brick][k]] == PHASE_RIM;
    for (int32_t z = 0; z < BRICK_EDGE; z++) open += __builtin_popcountll(pool->open[brick].plane[z]);
    for (int32_t axis = 0; axis < 3; axis++)
        loss[axis] = rule_rest_loss(rest->calm, rest->gentle, rest->driven, beside_rim, open, axis == up);
}

static void send_beside(momentum_opencl *o, int32_t up)
{
    const brick_pool *pool = &o->machine->cells->pool;
    device_sleep *s = &o->sleep;
    const int32_t awake = o->machine->bricks.awake;
    bool same = s->beside_sent == awake;
    int32_t count = 0;
    for (int32_t b = 0; (b = next_of(pool, PHASE_AWAKE, b)) < pool->end;) {
        const int32_t *near = pool->near[b];
        cl_float loss[3];
        find_losses(pool, b, up, loss);
        const device_beside beside = {
            .brick = b,
            .x0 = beside_of(pool, near[NEAR(-1, 0, 0)]),
            .x1 = beside_of(pool, near[NEAR(1, 0, 0)]),
            .y0 = beside_of(pool, near[NEAR(0, -1, 0)]),
            .y1 = beside_of(pool, near[NEAR(0, 1, 0)]),
            .z0 = beside_of(pool, near[NEAR(0, 0, -1)]),
            .z1 = beside_of(pool, near[NEAR(0, 0, 1)]),
            .loss_x = loss[0],
            .loss_y = loss[1],
            .loss_z = loss[2],
        };
        same = same && memcmp(&s->beside_here[count], &beside, sizeof beside) == 0;
        s->beside_here[count++] = beside;
    }
    assert(count == awake);
    if (!same) queue_write(&o->machine->queue, s->beside, 0, s->beside_here, count * (int64_t)sizeof *s->beside_here);
    s->beside_sent = count;
}

static int64_t found_at(const device_bricks *d)
{
    return rim_count(d) * (int64_t)sizeof(cl_long);
}

void momentum_opencl_rest(void *solver)
{
    const momentum *m = solver;
    momentum_opencl *o = m->opencl;
    device_sleep *s = &o->sleep;
    device_bricks *d = &o->machine->bricks;
    opencl_channels c = opencl_find_channels(o->machine);
    const weir_params *p = &m->base.cells.world->params;
    const device_rest rest = {p->gravity.x,          p->gravity.y,     p->gravity.z, backend_find_down(p).head,
                              p->momentum.viscosity, p->momentum.sleep};
    const cl_int at = (cl_int)found_at(d);
    send_beside(o, backend_find_down(p).axis);
    LAUNCH_ROWS(&o->machine->queue, rest, d->awake, ARG(s->beside), ARG(d->open), ARG(c.mass), ARG(c.pressure), FLOW_ARGS(c),
                ARG(d->tables), ARG(s->found), ARG(at), ARG(rest), ARG(d->awake));
    queue_read_later(&o->machine->queue, s->found, 0, s->found_here.data, at + d->awake, false, &s->found_read);
    s->found_pending = true;
}

void opencl_sleep_take(momentum *m)
{
    device_sleep *s = &m->opencl->sleep;
    opencl_queue *q = &m->opencl->machine->queue;
    const device_bricks *d = &m->opencl->machine->bricks;
    const brick_pool *pool = &m->base.cells.pool;
    if (!s->found_pending) return;
    s->found_pending = false;
    queue_wait(q, &s->found_read);
    if (q->error != CL_SUCCESS) return;
    const cl_long *gained = s->found_here.data;
    const uint8_t *motion = (const uint8_t *)s->found_here.data + found_at(d);
    for (int32_t b = 0; (b = next_of(pool, PHASE_RIM, b)) < pool->end;) pool->rest[b].owed += *gained++;
    for (int32_t b = 0; (b = next_of(pool, PHASE_AWAKE, b)) < pool->end;) m->base.cells.sleep->motion[b] = *motion++;
}
