// Which cycles of the pressure are needed, and which bricks changed since the last one.

// Whether what a cycle of this update left asks for another one.
inline bool asks_for_more(global const int *notes, int index, device_cycle cycle)
{
    global const int *note = notes + DEVICE_NOTE(index);
    return rule_cycle_follows(as_float(note[DEVICE_BEGUN]), as_float(note[DEVICE_LEFT]), note[DEVICE_RESTLESS], cycle.live,
                              cycle.tolerance);
}

// Whether a cycle is not needed.
inline bool cycle_is_over(global const int *notes, device_cycle cycle)
{
    return cycle.ahead != 0 && cycle.index > 0 && !asks_for_more(notes, cycle.index - 1, cycle);
}

// Whether a cycle was needed, and the water wild.
inline bool cycle_is_wild(global const int *notes, device_cycle cycle)
{
    global const int *note = notes + DEVICE_NOTE(cycle.index);
    return note[DEVICE_RAN] != 0 && rule_is_wild(as_float(note[DEVICE_BEGUN]), cycle.tolerance);
}

// Whether a cycle was needed, and what it left is touched up.
inline bool cycle_is_touched_up(global const int *notes, device_cycle cycle)
{
    global const int *note = notes + DEVICE_NOTE(cycle.index);
    const bool follows = asks_for_more(notes, cycle.index, cycle);
    return note[DEVICE_RAN] != 0 &&
           rule_touches_up(as_float(note[DEVICE_BEGUN]), follows, cycle.may_follow != 0, cycle.tolerance);
}

// Whether a brick or one of the six at its faces bears this stamp. All of them are asked at once: one after the other takes longer.
inline bool stamped_around(global const int *stamps, device_place place, int stamp)
{
    return (stamps[place.brick] == stamp) | (stamps[place.x0] == stamp) | (stamps[place.x1] == stamp) |
           (stamps[place.y0] == stamp) | (stamps[place.y1] == stamp) | (stamps[place.z0] == stamp) |
           (stamps[place.z1] == stamp);
}
