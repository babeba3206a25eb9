// Rules of the game's own: what is asked of one, and its channels. Running them is the solver's work.
#include "base/hash.h"
#include "cells/cells.h"

#include <assert.h>
#include <string.h>

enum { SEES_ALL = WEIR_SEES_FILL | WEIR_SEES_FLOW | WEIR_SEES_PRESSURE | WEIR_SEES_OPEN | WEIR_SEES_MOVED };

int32_t cells_find_channel(const void *state, const char *name)
{
    const fluid_cells *c = state;
    for (int32_t r = 0; r < c->rule_count; r++) {
        const cell_rule *rule = &c->rules[r];
        for (int32_t i = 0; i < rule->def.channel_count; i++) {
            if (strcmp(rule->channel_names[i], name) == 0) return rule->values[i];
        }
    }
    return -1;
}

static weir_status check_name(const char *what, const char *name)
{
    size_t room = sizeof((cell_rule *)0)->name;
    if (!name || !name[0]) return status_fail(WEIR_ERROR_ARGUMENT, "%s has no name", what);
    if (strlen(name) < room) return WEIR_OK;
    return status_fail(WEIR_ERROR_ARGUMENT, "%s is called \"%.32s...\"; a name has at most %d letters", what, name,
                       (int)room - 1);
}

// Whether a rule is the first that wants to see what moved. Updates keep that only when somebody does.
static bool wants_moved(const fluid_cells *c, const weir_rule_def *def)
{
    return def->sees & WEIR_SEES_MOVED && !c->moved[0];
}

static weir_status check_channels(const fluid_cells *c, const weir_rule_def *def)
{
    if (def->channel_count < 0 || def->channel_count > WEIR_RULE_CHANNELS) {
        return status_fail(WEIR_ERROR_ARGUMENT, "rule \"%s\" has %d channels; it must be from 0 to %d", def->name,
                           def->channel_count, WEIR_RULE_CHANNELS);
    }
    for (int32_t i = 0; i < def->channel_count; i++) {
        weir_status status = check_name("a channel of a rule", def->channels[i]);
        if (status != WEIR_OK) return status;
        bool taken = cells_find_channel(c, def->channels[i]) >= 0;
        for (int32_t j = 0; j < i; j++) taken |= strcmp(def->channels[i], def->channels[j]) == 0;
        if (taken) return status_fail(WEIR_ERROR_ARGUMENT, "there is already a channel \"%s\"", def->channels[i]);
    }
    int32_t needed = 2 * def->channel_count + (wants_moved(c, def) ? 3 : 0);
    if (c->pool.channel_count + needed > CHANNEL_MAX) {
        return status_fail(WEIR_ERROR_LIMIT,
                           "rule \"%s\" needs %d channels, two for each of its own; of the world's %d only %d are free",
                           def->name, needed, CHANNEL_MAX, CHANNEL_MAX - c->pool.channel_count);
    }
    return WEIR_OK;
}

// The name goes to a compiler's command line.
static bool is_identifier(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t length = name ? strlen(name) : 0;
    return length > 0 && length < 64 && strspn(name, letters) == length && !(name[0] >= '0' && name[0] <= '9');
}

static weir_status check_device(const weir_rule_def *def)
{
    if (!def->device_text) return WEIR_OK;
    if (!is_identifier(def->device_cell))
        return status_fail(WEIR_ERROR_ARGUMENT, "rule \"%s\" has a text for devices, but does not name a function in it",
                           def->name);
    if (def->user_bytes > WEIR_RULE_USER_BYTES || def->user_bytes % 4 != 0 || (def->user_bytes > 0 && !def->user))
        return status_fail(
            WEIR_ERROR_ARGUMENT,
            "rule \"%s\" hands %zu bytes of its user to devices; it must be a multiple of 4 up to %d, and user not NULL",
            def->name, def->user_bytes, WEIR_RULE_USER_BYTES);
    return WEIR_OK;
}

static weir_status check_rule(const fluid_cells *c, const weir_rule_def *def)
{
    weir_status status = check_name("the rule", def->name);
    if (status != WEIR_OK) return status;
    for (int32_t r = 0; r < c->rule_count; r++) {
        if (strcmp(c->rules[r].name, def->name) != 0) continue;
        return status_fail(WEIR_ERROR_ARGUMENT, "there is already a rule \"%s\"", def->name);
    }
    if (c->rule_count == RULE_MAX) return status_fail(WEIR_ERROR_LIMIT, "a world has at most %d rules", RULE_MAX);
    if (!def->run) return status_fail(WEIR_ERROR_ARGUMENT, "rule \"%s\" has no function", def->name);
    if ((int)def->place < 0 || def->place >= WEIR_PLACE_COUNT) {
        return status_fail(WEIR_ERROR_ARGUMENT, "rule \"%s\" wants to run at place %d, which there is not", def->name,
                           (int)def->place);
    }
    if (def->sees & ~(uint32_t)SEES_ALL) {
        return status_fail(WEIR_ERROR_ARGUMENT, "rule \"%s\" wants to see 0x%x, of which only 0x%x is there", def->name,
                           def->sees, SEES_ALL);
    }
    if (def->sees & WEIR_SEES_MOVED && def->place != WEIR_PLACE_AFTER_MOVE) {
        return status_fail(WEIR_ERROR_ARGUMENT,
                           "rule \"%s\" wants to see what moved, which is there only at WEIR_PLACE_AFTER_MOVE", def->name);
    }
    const cell_layout *layout = c->layout;
    const bool counts_drops = layout->channels[layout->mass].bytes == 4 && c->world->solver->unit == 1;
    const bool blind = (def->sees & WEIR_SEES_FLOW && layout->flow == CHANNEL_NONE) ||
                       (def->sees & WEIR_SEES_PRESSURE && layout->pressure == CHANNEL_NONE) ||
                       (def->sees & WEIR_SEES_MOVED && layout->flow == CHANNEL_NONE) ||
                       (def->sees & (WEIR_SEES_FILL | WEIR_SEES_MOVED) && !counts_drops);
    if (blind)
        return status_fail(WEIR_ERROR_UNSUPPORTED, "rule \"%s\" wants to see 0x%x, which a world of %s cannot show", def->name,
                           def->sees, c->world->solver->name);
    status = check_device(def);
    return status == WEIR_OK ? check_channels(c, def) : status;
}

static weir_status add_moved(fluid_cells *c)
{
    int32_t channels[3];
    for (int32_t axis = 0; axis < 3; axis++) {
        weir_status status = bricks_add_channel(&c->pool, 4, &channels[axis]);
        if (status != WEIR_OK) return status;
    }
    memcpy(c->moved, channels, sizeof channels);
    return WEIR_OK;
}

weir_status cells_add_rule(void *state, const weir_rule_def *def)
{
    fluid_cells *c = state;
    weir_status status = check_rule(c, def);
    if (status != WEIR_OK) return status;

    int32_t channels_before = c->pool.channel_count;
    cell_rule *rule = &c->rules[c->rule_count];
    *rule = (cell_rule){.def = *def};
    strcpy(rule->name, def->name);
    rule->def.name = rule->name;
    for (int32_t i = 0; i < def->channel_count; i++) {
        strcpy(rule->channel_names[i], def->channels[i]);
        rule->def.channels[i] = rule->channel_names[i];
        if (status == WEIR_OK) status = bricks_add_channel(&c->pool, 4, &rule->values[i]);
        if (status == WEIR_OK) status = bricks_add_channel(&c->pool, 4, &rule->next[i]);
    }
    if (status == WEIR_OK && wants_moved(c, def)) status = add_moved(c);
    if (status == WEIR_OK)
        c->rule_count++;
    else
        bricks_drop_channels(&c->pool, channels_before);
    return status;
}

float cells_channel_value(const fluid_view *view, int32_t channel, int32_t brick, int32_t cell)
{
    return bricks_floats(cells_viewed(view), channel, brick)[cell];
}

// Rules count by name: what they do is the game's own.
uint64_t cells_hash_rules(const void *state, uint64_t hash)
{
    const fluid_cells *c = state;
    for (int32_t r = 0; r < c->rule_count; r++) {
        const cell_rule *rule = &c->rules[r];
        hash = hash_bytes(rule->name, strlen(rule->name), hash);
        for (int32_t i = 0; i < rule->def.channel_count; i++)
            hash = hash_bytes(rule->channel_names[i], strlen(rule->channel_names[i]), hash);
    }
    return hash;
}
