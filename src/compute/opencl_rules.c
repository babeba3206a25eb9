// A game's own rules on the device. Each is a program of its own: the words of weir/rule.h (game_rule.cl), the rule's text, and a
// kernel that calls it for every cell (game_rule_kernel.cl).
#include "compute/opencl.h"

#include "compute/rule_host.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = WEIR_TILE_CELLS * 4, NEAR_BYTES = 27 * 4 };

// ---- Compiling -------------------------------------------------------------------------------------------------------------

static int64_t local_bytes(const weir_rule_def *def)
{
    uint32_t sees = def->sees;
    int32_t tiles = def->channel_count + (sees & WEIR_SEES_FILL ? 1 : 0) + (sees & WEIR_SEES_FLOW ? 3 : 0) +
                    (sees & WEIR_SEES_PRESSURE ? 1 : 0) + (sees & WEIR_SEES_OPEN ? 1 : 0) + (sees & WEIR_SEES_MOVED ? 4 : 0);
    return (int64_t)(tiles > 0 ? tiles : 1) * TILE_BYTES + NEAR_BYTES;
}

// The rule's program in one text, to be freed; NULL without memory.
static char *write_source(const cell_rule *rule)
{
    const char *const pattern = "%s\n#line 1 \"device_text\"\n%s\n%s";
    int length = snprintf(NULL, 0, pattern, opencl_rule_begin, rule->def.device_text, opencl_rule_end);
    char *source = malloc((size_t)length + 1);
    if (source) sprintf(source, pattern, opencl_rule_begin, rule->def.device_text, opencl_rule_end);
    return source;
}

static weir_status compile(device_rules *r, int32_t i, const device_bricks *d, const cell_rule *rule)
{
    const opencl_queue *q = d->queue;
    const weir_rule_def *def = &rule->def;
    if (local_bytes(def) > q->device.local_memory)
        return status_fail(WEIR_ERROR_LIMIT, "it sees more tiles than fit into the %lld bytes of local memory of %.60s",
                           (long long)q->device.local_memory, q->device.name);
    char *source = write_source(rule);
    if (!source) return status_fail(WEIR_ERROR_MEMORY, "there is no memory for its text");
    char options[256], what[96];
    snprintf(what, sizeof what, "the rule %s", rule->name);
    snprintf(options, sizeof options, "-D GROUP=%zu -D SEES=%u -D CHANNELS=%d -D USER_WORDS=%d -D CELL=%s", q->group, def->sees,
             def->channel_count, (int)(def->user_bytes / 4), def->device_cell);
    opencl_build_info info = {0};
    weir_status status =
        opencl_build(q->cl, q->context, &q->device, what, options, source, d->world->logger, &r->program[i], &info);
    free(source);
    if (info.log) world_log(d->world, WEIR_LOG_WARNING, "%s", info.log);
    free(info.log);
    if (status != WEIR_OK) return status;
    cl_int error;
    r->kernel[i] = q->cl->CreateKernel(r->program[i], "game_rule", &error);
    if (error == CL_SUCCESS) return WEIR_OK;
    r->kernel[i] = NULL;
    return status_fail(WEIR_ERROR_DEVICE, "%s on %.60s", opencl_error_name(error), q->device.name);
}

void device_rules_prepare(device_rules *r, device_bricks *d)
{
    for (; r->count < d->cells->rule_count; r->count++) {
        const cell_rule *rule = &d->cells->rules[r->count];
        weir_status status = status_fail(WEIR_ERROR_UNSUPPORTED, "it has no text for devices");
        if (rule->def.device_text) status = compile(r, r->count, d, rule);
        if (status != WEIR_OK)
            world_log(d->world, WEIR_LOG_WARNING,
                      "the rule %s runs on the host, its channels are brought over in every update: %s", rule->name,
                      weir_error_message());
    }
}

// ---- Running ---------------------------------------------------------------------------------------------------------------

bool device_rules_run(device_rules *r, device_bricks *d, const cell_rule *rule)
{
    const weir_world *world = d->world;
    const int32_t i = (int32_t)(rule - d->cells->rules);
    if (!r->kernel[i]) return false;
    const cl_mem *c = d->channel, none = NULL, pressure = device_channel(d, d->cells->layout->pressure);
    const int32_t flow_seen = rule_flow_seen(d->cells, rule);
    cl_mem flow[3], moved[3], old[WEIR_RULE_CHANNELS] = {none}, next[WEIR_RULE_CHANNELS] = {none};
    for (int axis = 0; axis < 3; axis++) {
        flow[axis] = flow_seen == CHANNEL_NONE ? none : c[flow_seen + axis];
        moved[axis] = d->cells->moved[axis] ? c[d->cells->moved[axis]] : none;
    }
    for (int32_t k = 0; k < rule->def.channel_count; k++) {
        old[k] = c[rule->values[k]];
        next[k] = c[rule->next[k]];
    }
    int32_t user[WEIR_RULE_USER_BYTES / 4] = {0};
    if (rule->def.user_bytes > 0) memcpy(user, rule->def.user, rule->def.user_bytes);
    const cl_long update = world->update;
    const size_t user_bytes = rule->def.user_bytes > 0 ? rule->def.user_bytes : 4;
    const kernel_arg args[] = {ARG(d->list),
                               ARG(d->near),
                               ARG(d->open),
                               ARG(d->coords),
                               ARG(c[rule_mass_seen(d->cells, rule)]),
                               ARG(c[d->cells->layout->mass]),
                               ARG(flow[0]),
                               ARG(flow[1]),
                               ARG(flow[2]),
                               ARG(moved[0]),
                               ARG(moved[1]),
                               ARG(moved[2]),
                               ARG(pressure),
                               ARG(old[0]),
                               ARG(old[1]),
                               ARG(old[2]),
                               ARG(old[3]),
                               ARG(next[0]),
                               ARG(next[1]),
                               ARG(next[2]),
                               ARG(next[3]),
                               {user_bytes, user},
                               ARG(update)};
    d->queue->rule = rule->name;
    queue_launch_other(d->queue, r->kernel[i], rule->name, (size_t)d->worked * d->queue->group, d->queue->group, args,
                       (int32_t)(sizeof args / sizeof *args));
    d->queue->rule = NULL;
    for (int32_t k = 0; k < rule->def.channel_count; k++) {
        d->channel[rule->values[k]] = next[k];
        d->channel[rule->next[k]] = old[k];
    }
    return true;
}

void device_rules_destroy(device_rules *r, opencl_queue *q)
{
    for (int32_t i = 0; i < r->count; i++) {
        if (r->kernel[i]) q->cl->ReleaseKernel(r->kernel[i]);
        if (r->program[i]) q->cl->ReleaseProgram(r->program[i]);
    }
    *r = (device_rules){0};
}
