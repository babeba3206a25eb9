// A game's own rules on the host, over the channels of the pool as they are.
#ifndef WEIR_COMPUTE_RULE_HOST_H
#define WEIR_COMPUTE_RULE_HOST_H

#include "world/world.h"

// Which channel a rule sees as fill, and which as flow on the x axis: after the move the new ones.
int32_t rule_mass_seen(const world_rule *rule);
int32_t rule_flow_seen(const world_rule *rule);

// Runs a rule over all live bricks; its new values are the current ones afterwards.
void rule_host_run(weir_world *world, world_rule *rule);

// The channels that it reads; returns how many.
int32_t rule_host_channels(const weir_world *world, const world_rule *rule, int32_t channels[CHANNEL_MAX]);

#endif
