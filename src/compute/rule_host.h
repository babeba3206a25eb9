// A game's own rules on the host, over the channels of the pool as they are.
#ifndef WEIR_COMPUTE_RULE_HOST_H
#define WEIR_COMPUTE_RULE_HOST_H

#include "cells/cells.h"

// Which channel a rule sees as fill, and which as flow on the x axis (CHANNEL_NONE: there is none): after the move the new ones.
int32_t rule_mass_seen(const fluid_cells *c, const cell_rule *rule);
int32_t rule_flow_seen(const fluid_cells *c, const cell_rule *rule);

// Runs a rule over all live bricks; its new values are the current ones afterwards.
void rule_host_run(fluid_cells *c, cell_rule *rule);

// The channels that it reads; returns how many.
int32_t rule_host_channels(const fluid_cells *c, const cell_rule *rule, int32_t channels[CHANNEL_MAX]);

#endif
