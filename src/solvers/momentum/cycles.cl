// Which cycles of the pressure are needed, and which bricks changed since the last one.

// Whether what a cycle of this update left needs another one.
inline bool needs_another_cycle(global const int *tables, int index, device_cycle cycle)
{
    global const int *stats = tables + DEVICE_CYCLE_STATS(index);
    return rule_cycle_follows(as_float(stats[DEVICE_BEGUN]), as_float(stats[DEVICE_LEFT]), stats[DEVICE_UNCONVERGED],
                              cycle.awake, cycle.tolerance, cycle.fresh != 0);
}

// Whether a cycle is not needed.
inline bool cycle_is_over(global const int *tables, device_cycle cycle)
{
    return cycle.speculative != 0 && cycle.index > 0 && !needs_another_cycle(tables, cycle.index - 1, cycle);
}

// Whether a cycle was needed, and its residual large.
inline bool cycle_residual_is_large(global const int *tables, device_cycle cycle)
{
    global const int *stats = tables + DEVICE_CYCLE_STATS(cycle.index);
    return stats[DEVICE_RAN] != 0 && rule_residual_is_large(as_float(stats[DEVICE_BEGUN]), cycle.tolerance);
}

// Whether a cycle was needed, and what it left is relaxed locally.
inline bool cycle_relaxes_locally(global const int *tables, device_cycle cycle)
{
    global const int *stats = tables + DEVICE_CYCLE_STATS(cycle.index);
    const bool follows = needs_another_cycle(tables, cycle.index, cycle);
    return stats[DEVICE_RAN] != 0 &&
           rule_relaxes_locally(as_float(stats[DEVICE_BEGUN]), follows, cycle.may_follow != 0, cycle.tolerance);
}

// Whether a brick or one of the six at its faces bears this stamp. All of them are asked at once: one after the other takes longer.
inline bool stamped_around(global const int *stamps, device_place place, int stamp)
{
    return (stamps[place.brick] == stamp) | (stamps[place.x0] == stamp) | (stamps[place.x1] == stamp) |
           (stamps[place.y0] == stamp) | (stamps[place.y1] == stamp) | (stamps[place.z0] == stamp) |
           (stamps[place.z1] == stamp);
}
