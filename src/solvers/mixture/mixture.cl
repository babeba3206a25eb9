// Kernels of the mixture automaton. One work-group works on one tile (mixture.h): it copies what the tile holds to local memory, works
// there on the pairs of each axis in turn with a pair per work-item, and puts back what changed. Tiles share no cell, so that all of it
// happens in place.
//
// What a pair holds lies in registers while it is worked on. That needs loops that are unrolled, as often as there can be materials: so a
// tile of few is worked on by a kernel that knows no more, and leaves others to one that knows all (`crowded`).
//
// A tile's cells lie in local memory by their part of a block of 2 x 2 x 2, as on the CPU, so that neighbouring work-items use neighbouring
// banks; parts lie a little apart, so that they do when rows are copied too.

#define TILE_LANES 64
#define TILE_APART 72
#define TILE_ROOM (8 * TILE_APART)
#define SOLID (-1)  // the heat of a solid cell, in local memory

// Into both kernels of tiles, or their constants would be none.
#define INLINE static inline __attribute__((always_inline))

#define CHANNELS(ITEM) \
    ITEM(0)            \
    ITEM(1)            \
    ITEM(2) ITEM(3) ITEM(4) ITEM(5) ITEM(6) ITEM(7) ITEM(8) ITEM(9) ITEM(10) ITEM(11) ITEM(12) ITEM(13) ITEM(14) ITEM(15)
#define CHANNEL_PARAM(k) , global ushort *c##k
#define CHANNEL_ARG(k) , c##k
#define CHANNEL_PARAMS CHANNELS(CHANNEL_PARAM)
#define CHANNEL_ARGS CHANNELS(CHANNEL_ARG)

// The materials of a tile, or those from some place on, of which there are `end` in all. As many as there can be are written out, since
// that number is known wherever a compiler looks; those that a kernel does not know, from `most` on, it leaves out again.
#ifdef POCL_DEVICE_ADDRESS_BITS
#define UNROLLED _Pragma("unroll 1")  // for a processor that is four times the work of compiling, and no gain
#else
#define UNROLLED _Pragma("unroll")
#endif
#define FLUIDS(f, end) UNROLLED for (int f = 0; f < DEVICE_FLUIDS; f++) if (f < most && f < (end))
#define FLUIDS_FROM(f, begin, end) FLUIDS(f, end) if (f >= (begin))

// ---- What a tile holds -------------------------------------------------------------------------------------------------------

// A tile's own order: of what is, or may come to be, in it.
typedef struct tile_order {
    int count, liquids, moving, changes, reactions;  // moving: liquids and gases
    int reaction[DEVICE_REACTIONS];                  // by their numbers in the world's order, as are the materials there
    int place[DEVICE_FLUIDS];                        // of a material of the world's order; -1: it is not there
    int4 fluid[DEVICE_FLUIDS];                       // rate, up, heat, conducts
    device_change change[DEVICE_FLUIDS];
} tile_order;

// What work-items find out together of a tile.
typedef struct tile_shared {
    int brick[8];              // in which it lies, as in DEVICE_PARTS
    volatile uint materials;   // in it
    volatile int open, walls;  // all of it is open; some terrain is held at a temperature
    volatile int low, high;    // its temperatures
    uint chosen;               // materials of its order
    volatile int turned[DEVICE_FLUIDS], reacted[DEVICE_REACTIONS];
    volatile uint taken_low;  // heat by its lower 15 bits and the others
    volatile int taken_high;
    volatile int hardened;               // units
    volatile uint warmed[2], cooled[2];  // by their lower 16 bits and the others
    volatile uint parts[8];
} tile_shared;

INLINE void choose(global const device_order *all, uint materials, local tile_order *order)
{
    int count = 0, liquids = 0, moving = 0, changes = 0, reactions = 0;
    for (int i = 0; i < DEVICE_FLUIDS; i++) {
        const device_fluid f = all->fluid[i];
        order->place[i] = materials & f.bit ? count : -1;  // of what is not in the world's order the bit is 0
        if (!(materials & f.bit)) continue;
        order->fluid[count++] = (int4)(f.rate, f.up, f.heat, f.conducts);
        liquids += i < all->liquids;
        moving += i < all->liquids + all->gases;
    }
    for (int i = 0; i < all->changes; i++) {
        device_change c = all->change[i];
        c.cold = order->place[c.cold];
        c.hot = order->place[c.hot];
        if (c.cold >= 0 && c.hot >= 0) order->change[changes++] = c;
    }
    for (int i = 0; i < all->reactions; i++)
        if (order->place[all->reaction[i].first] >= 0 && order->place[all->reaction[i].second] >= 0)
            order->reaction[reactions++] = i;
    order->reactions = reactions;
    order->count = count;
    order->liquids = liquids;
    order->moving = moving;
    order->changes = changes;
}

// The materials that a tile's may be or become in this update.
INLINE uint find_reach(global const device_order *all, uint materials, int low, int high)
{
    low -= MIXTURE_MARGIN;
    high += MIXTURE_MARGIN;
    for (bool more = true; more;) {
        const uint had = materials;
        for (int i = 0; i < all->reactions; i++) {
            global const device_reaction *r = &all->reaction[i];
            if (!(materials & all->fluid[r->first].bit) || !(materials & all->fluid[r->second].bit)) continue;
            // What reacts may come out at any temperature.
            low = 0;
            high = (int)MIXTURE_HOTTEST;
            if (r->first_to >= 0) materials |= all->fluid[r->first_to].bit;
            if (r->second_to >= 0) materials |= all->fluid[r->second_to].bit;
        }
        more = materials != had;
        for (int i = 0; i < all->changes; i++) {
            const uint cold = all->fluid[all->change[i].cold].bit, hot = all->fluid[all->change[i].hot].bit;
            const int least = low, most = high;
            if (!rule_mixture_reaches((materials & cold) != 0, (materials & hot) != 0, all->change[i].point, MIXTURE_MARGIN,
                                      &low, &high))
                continue;
            more = more || least != low || most != high || ((cold | hot) & ~materials);
            materials |= cold | hot;
        }
    }
    return materials;
}

// Where a cell of a tile lies: in the tile as it is kept, among all cells of a channel, and in which part of its brick.
typedef struct tile_cell {
    int at, cell, part;
} tile_cell;

INLINE tile_cell find_cell(local const tile_shared *t, int odd, int i)
{
    const int x = i & 7, y = i >> 3 & 7, z = i >> 6;
    const int in_x = (x - odd) & 7, in_y = (y - odd) & 7, in_z = (z - odd) & 7;
    tile_cell c;
    c.at = TILE_APART * ((x & 1) + 2 * (y & 1) + 4 * (z & 1)) + (x >> 1) + 4 * (y >> 1) + 16 * (z >> 1);
    c.part = (in_x < 7) + 2 * (in_y < 7) + 4 * (in_z < 7);
    c.cell = BRICK_CELLS * t->brick[c.part] + in_x + 8 * in_y + 64 * in_z;
    return c;
}

// ---- Pairs -------------------------------------------------------------------------------------------------------------------

// What the cells of a pair hold, summed up.
typedef struct cell_sums {
    int volume, capacity, gas, weight;
} cell_sums;

INLINE cell_sums sum_up(local const tile_order *order, const int amount[DEVICE_FLUIDS], const int most)
{
    cell_sums s = {0, MIXTURE_FULL, 0, 0};
    FLUIDS(f, order->count)
    {
        if (f < order->liquids)
            s.volume += amount[f];
        else if (f < order->moving)
            s.gas += amount[f];
        else
            s.capacity -= amount[f];
        s.weight += amount[f] * order->fluid[f].z;
    }
    return s;
}

// Trims what moves so that neither side is over-full, the lightest first, and adds that to `moved`.
INLINE void trim_and_move(local const tile_order *order, int amount_a[DEVICE_FLUIDS], int amount_b[DEVICE_FLUIDS], cell_sums *a,
                          cell_sums *b, const int wish[DEVICE_FLUIDS], int capacity_a, int capacity_b, int moved[DEVICE_FLUIDS],
                          const int most)
{
    int gained = 0;
    FLUIDS(f, order->liquids) gained += wish[f];
    int over_a = rule_mixture_over(a->volume, -gained, capacity_a);
    int over_b = rule_mixture_over(b->volume, gained, capacity_b);
    UNROLLED for (int f = DEVICE_FLUIDS - 1; f >= 0; f--)
    {
        if (f >= most || f >= order->liquids) continue;
        const int left = rule_mixture_trim(wish[f], over_a, over_b);
        over_b -= rule_mixture_max(wish[f], 0) - rule_mixture_max(left, 0);
        over_a -= rule_mixture_max(-wish[f], 0) - rule_mixture_max(-left, 0);
        amount_a[f] -= left;
        amount_b[f] += left;
        a->volume -= left;
        b->volume += left;
        moved[f] += left;
    }
}

INLINE void flow_sideways(local const tile_order *order, int amount_a[DEVICE_FLUIDS], int amount_b[DEVICE_FLUIDS], cell_sums *a,
                          cell_sums *b, bool flows, int pressure, int moved[DEVICE_FLUIDS], const int most)
{
    int wish[DEVICE_FLUIDS], most_a = a->capacity, most_b = b->capacity;
    FLUIDS(f, order->liquids)
    {
        wish[f] = flows ? rule_mixture_side(amount_a[f], amount_b[f], order->fluid[f].x) : 0;
        moved[f] = 0;
    }
    if (pressure > 0) {  // what is pressed into one cell presses into the other
        most_a = rule_mixture_pressed(a->capacity, b->volume - b->capacity, a->gas);
        most_b = rule_mixture_pressed(b->capacity, a->volume - a->capacity, b->gas);
    }
    trim_and_move(order, amount_a, amount_b, a, b, wish, most_a, most_b, moved, most);
}

// First what falls into room below, then what is sorted by density.
INLINE void flow_down(local const tile_order *order, int amount_a[DEVICE_FLUIDS], int amount_b[DEVICE_FLUIDS], cell_sums *a,
                      cell_sums *b, bool flows, int pressure, int moved[DEVICE_FLUIDS], const int most)
{
    int wish[DEVICE_FLUIDS], most_a = a->capacity, most_b = b->capacity;
    int room = flows ? rule_mixture_max(0, b->capacity - b->volume) : 0;
    FLUIDS(f, order->liquids)
    {
        const int falls = rule_mixture_min(amount_a[f], room);
        room -= falls;
        amount_a[f] -= falls;
        amount_b[f] += falls;
        a->volume -= falls;
        b->volume += falls;
        moved[f] = falls;
    }
    const int total = a->volume + b->volume;
    room = rule_mixture_bottom(total, a->capacity, b->capacity, pressure);
    if (pressure > 0) {
        most_a = rule_mixture_pressed(a->capacity, total - room - a->capacity + 3 * pressure, a->gas);
        most_b = rule_mixture_pressed(b->capacity, room - b->capacity + 3 * pressure, b->gas);
    }
    FLUIDS(f, order->liquids)
    {
        const int wanted = rule_mixture_min(amount_a[f] + amount_b[f], room);
        room -= wanted;
        const int sorts = pressure > 0 ? rule_mixture_press(wanted, amount_b[f], order->fluid[f].x, pressure)
                                       : rule_mixture_sort(wanted, amount_b[f], order->fluid[f].x);
        wish[f] = flows ? rule_mixture_max(-amount_b[f], rule_mixture_min(amount_a[f], sorts)) : 0;  // not more than there is
    }
    trim_and_move(order, amount_a, amount_b, a, b, wish, most_a, most_b, moved, most);
}

INLINE void move_gas(local const tile_order *order, int amount_a[DEVICE_FLUIDS], int amount_b[DEVICE_FLUIDS], cell_sums *a,
                     cell_sums *b, bool passes, bool down, int pressure, int moved[DEVICE_FLUIDS], const int most)
{
    const int room_a = rule_mixture_room(a->capacity, a->volume), room_b = rule_mixture_room(b->capacity, b->volume);
    const int total = a->gas + b->gas, usual = (room_a >> 4) + (room_b >> 4);
    int top = rule_mixture_gas_top(total, room_a, room_b);
    int bottom = total > usual ? total - top : room_b >> 4;
    const bool may = passes && room_a + room_b > 0;
    FLUIDS_FROM(f, order->liquids, order->moving)
    {
        int wish;
        if (down) {
            const int rises = rule_mixture_rise(amount_a[f] + amount_b[f], order->fluid[f].y, top, bottom);
            wish = amount_a[f] - rises;
            top -= rises;
            bottom -= amount_a[f] + amount_b[f] - rises;
        } else {
            wish = rule_mixture_gas_side(amount_a[f], amount_b[f], room_a, room_b, order->fluid[f].x);
        }
        const int left = rule_mixture_gas_moves(may ? wish : 0, amount_a[f], amount_b[f],
                                                rule_mixture_gas_takes(a->gas, a->capacity, a->volume, pressure),
                                                rule_mixture_gas_takes(b->gas, b->capacity, b->volume, pressure));
        amount_a[f] -= left;
        amount_b[f] += left;
        a->gas -= left;
        b->gas += left;
        moved[f] = left;
    }
}

// Heat that is carried and conducted.
INLINE void move_heat(local const tile_order *order, const int amount_a[DEVICE_FLUIDS], const int amount_b[DEVICE_FLUIDS],
                      cell_sums *a, cell_sums *b, const int moved[DEVICE_FLUIDS], int *heat_a, int *heat_b, const int most)
{
    int out_a = 0, out_b = 0, flow_a = 0, flow_b = 0;
    FLUIDS(f, order->moving)
    {
        out_a += rule_mixture_max(moved[f], 0) * order->fluid[f].z;
        out_b += rule_mixture_max(-moved[f], 0) * order->fluid[f].z;
    }
    const int carried = rule_mixture_carried(*heat_a, a->weight, out_a) - rule_mixture_carried(*heat_b, b->weight, out_b);
    *heat_a -= carried;
    *heat_b += carried;
    a->weight += out_b - out_a;
    b->weight += out_a - out_b;
    FLUIDS(f, order->count)
    {
        flow_a += amount_a[f] * order->fluid[f].w;
        flow_b += amount_b[f] * order->fluid[f].w;
    }
    const int flow = rule_mixture_conducted(rule_mixture_warmth(*heat_a, a->weight), rule_mixture_warmth(*heat_b, b->weight),
                                            rule_mixture_min(flow_a, flow_b));
    *heat_a -= flow;
    *heat_b += flow;
}

// ---- Changes of phase --------------------------------------------------------------------------------------------------------
// These happen in few tiles, and work on local memory.

INLINE rule_change law_of(local const device_change *c)
{
    rule_change law = {c->point, c->latent, c->turned, c->heavier, c->boils != 0};
    return law;
}

// Turns units of a cell.
INLINE void turn(local tile_shared *t, local const device_change *c, local int *amount, int at, int units, cell_sums *s)
{
    if (units == 0) return;
    amount[c->cold * TILE_ROOM + at] -= units;
    amount[c->hot * TILE_ROOM + at] += units;
    s->weight += units * c->heavier;
    s->gas += c->boils ? units : 0;
    atomic_add(&t->turned[c->number], units);
}

INLINE void change_between(local tile_shared *t, local const device_change *c, local int *amount, int a, int b, cell_sums *of_a,
                           cell_sums *of_b, int *heat_a, int *heat_b, int film)
{
    const int cold_a = amount[c->cold * TILE_ROOM + a], cold_b = amount[c->cold * TILE_ROOM + b];
    const int hot_a = amount[c->hot * TILE_ROOM + a], hot_b = amount[c->hot * TILE_ROOM + b];
    if ((cold_a | cold_b | hot_a | hot_b) == 0) return;
    const rule_change law = law_of(c);
    const int excess_a = rule_mixture_excess(*heat_a, of_a->weight, law.point);
    const int excess_b = rule_mixture_excess(*heat_b, of_b->weight, law.point);
    // Of two cells that could do the same with each other's help it is the one that needs less; of equals neither.
    const bool hot_of_a = rule_mixture_lent(excess_a, excess_b, law.latent, cold_a) && excess_a >= excess_b;
    const bool hot_of_b = rule_mixture_lent(excess_b, excess_a, law.latent, cold_b) && excess_b >= excess_a;
    const bool cold_of_a = rule_mixture_lent(-excess_a, -excess_b, law.latent, hot_a) && excess_a <= excess_b;
    const bool cold_of_b = rule_mixture_lent(-excess_b, -excess_a, law.latent, hot_b) && excess_b <= excess_a;
    const int warm_a = (int)rule_mixture_warmth(*heat_a, of_a->weight);
    const int warm_b = (int)rule_mixture_warmth(*heat_b, of_b->weight);
    const rule_lending to_a = rule_mixture_lends(law, excess_a, excess_b, law.point - warm_b, cold_a, hot_a, of_a->gas, *heat_a,
                                                 of_a->weight, film, hot_of_b, cold_of_b);
    const rule_lending to_b = rule_mixture_lends(law, excess_b, excess_a, law.point - warm_a, cold_b, hot_b, of_b->gas, *heat_b,
                                                 of_b->weight, film, hot_of_a, cold_of_a);
    turn(t, c, amount, a, to_a.turned, of_a);
    turn(t, c, amount, b, to_b.turned, of_b);
    *heat_a += to_a.heat - to_b.heat - to_a.turned * law.turned;
    *heat_b += to_b.heat - to_a.heat - to_b.turned * law.turned;
}

// ---- Reactions ---------------------------------------------------------------------------------------------------------------

// Makes of units of a material in a cell what becomes of it.
INLINE void put_product(local tile_shared *t, local const tile_order *order, local int *amount, local int *hardened, int at,
                        int from, int to, int units)
{
    amount[order->place[from] * TILE_ROOM + at] -= units;
    if (to >= 0) amount[order->place[to] * TILE_ROOM + at] += units;
    if (to != DEVICE_HARDENS) return;
    hardened[at] += units;
    atomic_add(&t->hardened, units);
}

INLINE void book_reaction(local tile_shared *t, int number, rule_reacting done)
{
    atomic_add(&t->reacted[number], done.forth + done.back);
    atomic_add(&t->taken_low, (uint)done.taken & 0x7fff);
    atomic_add(&t->taken_high, done.taken >> 15);
}

INLINE void react_between(local tile_shared *t, local const tile_order *order, global const device_order *all, int number,
                          local int *amount, local int *hardened, int a, int b, cell_sums *of_a, cell_sums *of_b, int *heat_a,
                          int *heat_b)
{
    global const device_reaction *r = &all->reaction[number];
    const int first_a = amount[order->place[r->first] * TILE_ROOM + a],
              first_b = amount[order->place[r->first] * TILE_ROOM + b];
    const int second_a = amount[order->place[r->second] * TILE_ROOM + a],
              second_b = amount[order->place[r->second] * TILE_ROOM + b];
    const int forth = rule_mixture_reacts(first_a, second_b, r->law.rate),
              back = rule_mixture_reacts(first_b, second_a, r->law.rate);
    if ((forth | back) == 0) return;
    const rule_reacting done =
        rule_mixture_reacts_between(r->law, forth, back, *heat_a, *heat_b, of_a->weight, of_b->weight, of_a->gas, of_b->gas);
    if ((done.forth | done.back) == 0) return;
    put_product(t, order, amount, hardened, a, r->first, r->first_to, done.forth);
    put_product(t, order, amount, hardened, b, r->second, r->second_to, done.forth);
    put_product(t, order, amount, hardened, b, r->first, r->first_to, done.back);
    put_product(t, order, amount, hardened, a, r->second, r->second_to, done.back);
    book_reaction(t, number, done);
    *heat_a = done.heat_a;
    *heat_b = done.heat_b;
    of_a->weight = done.weight_a;
    of_b->weight = done.weight_b;
    of_a->gas = done.gas_a;
    of_b->gas = done.gas_b;
}

INLINE void react_within(local tile_shared *t, local const tile_order *order, global const device_order *all, int number,
                         local int *amount, local int *hardened, int at, cell_sums *s, int *heat)
{
    global const device_reaction *r = &all->reaction[number];
    const int wish = rule_mixture_reacts(amount[order->place[r->first] * TILE_ROOM + at],
                                         amount[order->place[r->second] * TILE_ROOM + at], r->law.rate);
    if (wish == 0) return;
    const rule_reacting done = rule_mixture_reacts_within(r->law, wish, *heat, s->weight, s->gas);
    if (done.forth == 0) return;
    put_product(t, order, amount, hardened, at, r->first, r->first_to, done.forth);
    put_product(t, order, amount, hardened, at, r->second, r->second_to, done.forth);
    book_reaction(t, number, done);
    *heat = done.heat_a;
    s->weight = done.weight_a;
    s->gas = done.gas_a;
}

// ---- Walls, and cells by themselves ----------------------------------------------------------------------------------------------

// The last heater has its way.
INLINE int wall_at(global const device_heater *heaters, int count, int3 low, int at)
{
    const int part = at / TILE_APART, lane = at % TILE_APART;
    const int x = low.x + 2 * (lane & 3) + (part & 1), y = low.y + 2 * (lane >> 2 & 3) + (part >> 1 & 1);
    const int z = low.z + 2 * (lane >> 4) + (part >> 2);
    int level = 0;
    for (int i = 0; i < count; i++)
        if (rule_in_box(heaters[i].box, x, y, z)) level = heaters[i].level;
    return level;
}

INLINE void book_wall(local tile_shared *t, int came)
{
    local volatile uint *sum = came > 0 ? t->warmed : t->cooled;
    const uint heat = (uint)(came > 0 ? came : -came);
    if (heat == 0) return;
    atomic_add(&sum[0], heat & 0xffff);
    atomic_add(&sum[1], heat >> 16);
}

// A cell beside terrain.
INLINE void touch_wall(local tile_shared *t, local const tile_order *order, local int *amount, int at, int wall, cell_sums *s,
                       int *heat, int film)
{
    if (wall == 0 || s->weight == 0) return;
    int flow = 0;
    for (int f = 0; f < order->count; f++) flow += amount[f * TILE_ROOM + at] * order->fluid[f].w;
    const int came = rule_mixture_conducted((float)wall, rule_mixture_warmth(*heat, s->weight), flow);
    *heat += came;
    book_wall(t, came);
    for (int i = 0; i < order->changes; i++) {
        local const device_change *c = &order->change[i];
        const int cold = amount[c->cold * TILE_ROOM + at], hot = amount[c->hot * TILE_ROOM + at];
        if ((cold | hot) == 0) continue;
        const rule_lending of =
            rule_mixture_lends(law_of(c), rule_mixture_excess(*heat, s->weight, c->point), rule_mixture_endless(wall, c->point),
                               c->point - wall, cold, hot, s->gas, *heat, s->weight, film, false, false);
        turn(t, c, amount, at, of.turned, s);
        *heat += of.heat - of.turned * c->turned;
        book_wall(t, of.heat);
    }
}

INLINE void change_within(local tile_shared *t, local const tile_order *order, global const device_order *all,
                          local int *amount, local int *hardened, int at, int *heat)
{
    cell_sums s = {0, 0, 0, 0};
    for (int f = 0; f < order->count; f++) {
        s.weight += amount[f * TILE_ROOM + at] * order->fluid[f].z;
        if (f >= order->liquids && f < order->moving) s.gas += amount[f * TILE_ROOM + at];
    }
    for (int i = 0; i < order->reactions; i++) react_within(t, order, all, order->reaction[i], amount, hardened, at, &s, heat);
    for (int i = 0; i < order->changes; i++) {
        local const device_change *c = &order->change[i];
        const int units = rule_mixture_turns(law_of(c), amount[c->cold * TILE_ROOM + at], amount[c->hot * TILE_ROOM + at],
                                             s.gas, *heat, s.weight);
        turn(t, c, amount, at, units, &s);
        *heat -= units * c->turned;
    }
}

// ---- A tile ------------------------------------------------------------------------------------------------------------------

// Works on a pair of cells; `down`: a lies above b.
INLINE void work_on_pair(local tile_shared *t, local const tile_order *order, global const device_order *all, local int *amount,
                         local int *heat, local int *hardened, global const device_heater *heaters, device_update u, int3 low,
                         int a, int b, bool down, const int most)
{
    int amount_a[DEVICE_FLUIDS], amount_b[DEVICE_FLUIDS], moved[DEVICE_FLUIDS];
    int heat_a = heat[a], heat_b = heat[b];
    const bool open_a = heat_a != SOLID, open_b = heat_b != SOLID, passes = open_a && open_b;
    if (!passes && (!t->walls || open_a == open_b)) return;
    FLUIDS(f, order->count)
    {
        amount_a[f] = amount[f * TILE_ROOM + a];
        amount_b[f] = amount[f * TILE_ROOM + b];
    }
    cell_sums of_a = sum_up(order, amount_a, most), of_b = sum_up(order, amount_b, most);
    if (passes) {
        const bool flows = rule_mixture_open(of_a.capacity) && rule_mixture_open(of_b.capacity);
        if (down)
            flow_down(order, amount_a, amount_b, &of_a, &of_b, flows, u.pressure, moved, most);
        else
            flow_sideways(order, amount_a, amount_b, &of_a, &of_b, flows, u.pressure, moved, most);
        if (order->moving > order->liquids)
            move_gas(order, amount_a, amount_b, &of_a, &of_b, passes, down, u.pressure, moved, most);
        move_heat(order, amount_a, amount_b, &of_a, &of_b, moved, &heat_a, &heat_b, most);
        FLUIDS(f, order->moving)
        {
            amount[f * TILE_ROOM + a] = amount_a[f];
            amount[f * TILE_ROOM + b] = amount_b[f];
        }
        for (int i = 0; i < order->changes; i++)
            change_between(t, &order->change[i], amount, a, b, &of_a, &of_b, &heat_a, &heat_b, u.film);
        for (int i = 0; i < order->reactions; i++)
            react_between(t, order, all, order->reaction[i], amount, hardened, a, b, &of_a, &of_b, &heat_a, &heat_b);
    }
    if (open_a && !open_b) touch_wall(t, order, amount, a, wall_at(heaters, u.heaters, low, b), &of_a, &heat_a, u.film);
    if (open_b && !open_a) touch_wall(t, order, amount, b, wall_at(heaters, u.heaters, low, a), &of_b, &heat_b, u.film);
    heat[a] = heat_a;
    heat[b] = heat_b;
}

// Copies a cell to local memory and returns its weight.
INLINE int load_cell(local const tile_order *order, local int *amount, local int *heat, tile_cell c, bool open,
                     global const int *heats CHANNEL_PARAMS)
{
    int weight = 0;
#define LOAD(k)                                                  \
    if (order->place[k] >= 0) {                                  \
        const int units = c##k[c.cell], place = order->place[k]; \
        amount[place * TILE_ROOM + c.at] = units;                \
        weight += units * order->fluid[place].z;                 \
    }
    CHANNELS(LOAD)
#undef LOAD
    heat[c.at] = open ? heats[c.cell] : SOLID;
    return weight;
}

// Puts back what changed of a cell, and tells what it holds.
INLINE void store_cell(global const device_order *all, local tile_shared *t, local const tile_order *order,
                       local const int *amount, int heat, tile_cell c, global int *heats CHANNEL_PARAMS)
{
    uint bits = 0;
#define STORE(k)                                                      \
    if (order->place[k] >= 0) {                                       \
        const int units = amount[order->place[k] * TILE_ROOM + c.at]; \
        bits |= units ? all->fluid[k].bit : 0;                        \
        bits |= c##k[c.cell] != units;                                \
        if (c##k[c.cell] != units) c##k[c.cell] = (ushort)units;      \
    }
    CHANNELS(STORE)
#undef STORE
    bits |= heats[c.cell] != heat;
    if (heats[c.cell] != heat) heats[c.cell] = heat;
    RAISE(t->parts[c.part], bits);
}

// Adds to one of the sums.
INLINE void add_sum(global int *tables, int sum, long more)
{
    global volatile uint *at = TABLE(tables, uint, DEVICE_SUMS) + 2 * sum;
    if (more == 0) return;
    const uint low = (uint)more, before = atomic_add(at, low);
    const uint high = (uint)((ulong)more >> 32) + (before + low < before ? 1u : 0u);
    if (high) atomic_add(at + 1, high);
}

INLINE long wide(local volatile uint *sum)
{
    return (long)sum[0] + ((long)sum[1] << 16);
}

// Whether a cell of a tile is open.
INLINE bool is_open(global const uint *open, local const tile_shared *t, int cell)
{
    return t->open || bit_at(open, cell);
}

// `tile`: 8 times the brick on which it was found, and which of the eight tiles of odd updates it is of that brick. A tile with more than
// `most` materials is told in `crowded`, and left as it is.
INLINE void work_on_tile(int tile, global const int *near, global const uint *open, global const uchar *clear,
                         global const int *coords, global int *tables, global const device_order *all,
                         global const device_heater *heaters, global int *crowded, global ushort *all_hardened, device_update u,
                         const int most, local tile_shared *t, local tile_order *order, local int *amount, local int *heat,
                         local int *hardened, global int *heats CHANNEL_PARAMS)
{
    global uint *parts = TABLE(tables, uint, DEVICE_PARTS(u.room));
    const int brick = tile >> 3, up_x = tile & 1, up_y = tile >> 1 & 1, up_z = tile >> 2 & 1;
    const int3 low = (int3)(8 * (coords[3 * brick] + up_x) - u.odd, 8 * (coords[3 * brick + 1] + up_y) - u.odd,
                            8 * (coords[3 * brick + 2] + up_z) - u.odd);
    ONCE
    {
        t->materials = 0;
        t->open = t->walls = 0;
        t->low = (int)MIXTURE_HOTTEST;
        t->high = 0;
        t->taken_low = 0;
        t->taken_high = t->hardened = 0;
        t->warmed[0] = t->warmed[1] = t->cooled[0] = t->cooled[1] = 0;
    }
    EACH(i, DEVICE_FLUIDS) t->turned[i] = 0;
    EACH(i, DEVICE_REACTIONS) t->reacted[i] = 0;
    EACH(i, TILE_ROOM) hardened[i] = 0;
    EACH(i, 8) t->parts[i] = 0;
    SYNC;
    EACH(i, 8)
    {
        const int side = SELF + (up_x - 1 + (i & 1)) + 3 * (up_y - 1 + (i >> 1 & 1)) + 9 * (up_z - 1 + (i >> 2));
        const int in = u.odd ? near[27 * brick + side] : brick;
        t->brick[i] = in;
        RAISE(t->materials, parts[8 * in + i] & ~1u);
        if (clear[in]) RAISE(t->open, 1);
    }
    EACH(i, u.heaters)
    {
        const rule_box b = heaters[i].box;
        if (b.max_x > low.x && b.max_y > low.y && b.max_z > low.z && b.min_x < low.x + 8 && b.min_y < low.y + 8 &&
            b.min_z < low.z + 8)
            RAISE(t->walls, 1);
    }
    SYNC;
    if (t->materials == 0) return;
    ONCE
    {
        t->walls = t->walls && !t->open;
        t->chosen = t->materials;
        if (popcount(t->chosen) <= most) choose(all, t->chosen, order);
    }
    SYNC;
    const bool ranges = all->changes + all->reactions > 0 && popcount(t->chosen) <= most;
    EACH(i, popcount(t->chosen) <= most ? BRICK_CELLS : 0)
    {
        const tile_cell c = find_cell(t, u.odd, i);
        const int weight = load_cell(order, amount, heat, c, is_open(open, t, c.cell), heats CHANNEL_ARGS);
        if (!ranges || weight == 0) continue;
        const int warm = (int)rule_mixture_warmth(heat[c.at], weight);
        if (warm < t->low) atomic_min(&t->low, warm);
        if (warm > t->high) atomic_max(&t->high, warm);
    }
    SYNC;
    ONCE
    {
        if (all->changes + all->reactions > 0)
            t->chosen = find_reach(all, t->materials, t->walls ? 0 : t->low, t->walls ? (int)MIXTURE_HOTTEST : t->high);
        if (popcount(t->chosen) > most)
            crowded[atomic_inc(TABLE(tables, int, DEVICE_CROWDED))] = tile;
        else if (t->chosen != t->materials)
            choose(all, t->chosen, order);
    }
    SYNC;
    if (popcount(t->chosen) > most) return;
    EACH(i, t->chosen != t->materials ? BRICK_CELLS : 0)
    {
        const tile_cell c = find_cell(t, u.odd, i);
        load_cell(order, amount, heat, c, is_open(open, t, c.cell), heats CHANNEL_ARGS);
    }
    SYNC;
    const int first = u.z_first ? 4 : 1, second = 5 - first;
    _Pragma("unroll 1") for (int axis = 0; axis < 3; axis++)
    {
        EACH(i, 4 * TILE_LANES)
        {
            const int along = i >> 6, lane = i & 63;
            const int across =
                axis == 2 ? (along & 1) + 4 * (along >> 1) : 2 * (along & 1) + (axis == 0 ? second : first) * (along >> 1);
            const int lower = TILE_APART * across + lane, upper = lower + TILE_APART * (axis == 0   ? first
                                                                                        : axis == 1 ? second
                                                                                                    : 2);
            work_on_pair(t, order, all, amount, heat, hardened, heaters, u, low, axis == 2 ? upper : lower,
                         axis == 2 ? lower : upper, axis == 2, most);
        }
        SYNC;
    }
    EACH(i, BRICK_CELLS)
    {
        const tile_cell c = find_cell(t, u.odd, i);
        int warmth = heat[c.at];
        if (warmth == SOLID) continue;
        if (order->changes + order->reactions > 0) change_within(t, order, all, amount, hardened, c.at, &warmth);
        if (hardened[c.at]) all_hardened[c.cell] = (ushort)hardened[c.at];
        store_cell(all, t, order, amount, warmth, c, heats CHANNEL_ARGS);
    }
    SYNC;
    EACH(i, 8)
    {
        if (t->brick[i]) parts[8 * t->brick[i] + i] = t->parts[i];
    }
    ONCE
    {
        add_sum(tables, DEVICE_SUM_WARMED, wide(t->warmed));
        add_sum(tables, DEVICE_SUM_COOLED, wide(t->cooled));
    }
    ONCE
    {
        add_sum(tables, DEVICE_SUM_TAKEN, (long)t->taken_low + 32768 * (long)t->taken_high);
        add_sum(tables, DEVICE_SUM_HARDENED, t->hardened);
    }
    EACH(i, DEVICE_FLUIDS) add_sum(tables, DEVICE_SUM_TURNED + i, t->turned[i]);
    EACH(i, DEVICE_REACTIONS) add_sum(tables, DEVICE_SUM_REACTED + i, t->reacted[i]);
    SYNC;  // behind the last one PoCL 3.1 lets work-items do what is for a few of them
}

GROUP_KERNEL void mixture_tiles(global const int *tiles, global const int *near, global const uint *open,
                                global const uchar *clear, global const int *coords, global int *tables,
                                global const device_order *all, global const device_heater *heaters, global int *crowded,
                                global ushort *all_hardened, device_update u, global int *heats CHANNEL_PARAMS)
{
    local tile_shared t;
    local tile_order order;
    local int amount[DEVICE_FEW * TILE_ROOM], heat[TILE_ROOM], hardened[TILE_ROOM];
    work_on_tile(tiles[get_group_id(0)], near, open, clear, coords, tables, all, heaters, crowded, all_hardened, u, DEVICE_FEW,
                 &t, &order, amount, heat, hardened, heats CHANNEL_ARGS);
}

// Those that the kernel before left.
GROUP_KERNEL void mixture_crowded_tiles(global const int *near, global const uint *open, global const uchar *clear,
                                        global const int *coords, global int *tables, global const device_order *all,
                                        global const device_heater *heaters, global int *crowded, global ushort *all_hardened,
                                        device_update u, global int *heats CHANNEL_PARAMS)
{
    local tile_shared t;
    local tile_order order;
    local int amount[DEVICE_FLUIDS * TILE_ROOM], heat[TILE_ROOM], hardened[TILE_ROOM];
    const int number = (int)get_group_id(0);
    if (number >= *TABLE(tables, int, DEVICE_CROWDED)) return;
    work_on_tile(crowded[number], near, open, clear, coords, tables, all, heaters, crowded, all_hardened, u, DEVICE_FLUIDS, &t,
                 &order, amount, heat, hardened, heats CHANNEL_ARGS);
}

// ---- Bricks ------------------------------------------------------------------------------------------------------------------

// The materials of a cell, as bits.
INLINE uint look_at(global const device_order *all, int cell CHANNEL_PARAMS)
{
    uint bits = 0;
#define LOOK(k) \
    if (k < all->count) bits |= c##k[cell] ? all->fluid[k].bit : 0;
    CHANNELS(LOOK)
#undef LOOK
    return bits;
}

INLINE int part_of(int cell)
{
    return ((cell & 7) < 7) + 2 * ((cell >> 3 & 7) < 7) + 4 * (cell >> 6 < 7);
}

// What bricks hold that the host has sent.
GROUP_KERNEL void mixture_look(global const int *list, global int *tables, int room,
                               global const device_order *all CHANNEL_PARAMS)
{
    local volatile uint parts[8];
    const int brick = list[get_group_id(0)];
    EACH(i, 8) parts[i] = 0;
    SYNC;
    EACH(i, BRICK_CELLS) RAISE(parts[part_of(i)], look_at(all, BRICK_CELLS * brick + i CHANNEL_ARGS));
    SYNC;
    EACH(i, 8) TABLE(tables, uint, DEVICE_PARTS(room))[8 * brick + i] = parts[i];
}

// What lies behind open sides leaves.
GROUP_KERNEL void mixture_drain(global const int *list, global const int *coords, global int *tables, int room, rule_box bounds,
                                global const device_order *all, global int *heats CHANNEL_PARAMS)
{
    local volatile uint parts[8], warm[2];
    local volatile int units[DEVICE_FLUIDS];
    global uint *words = TABLE(tables, uint, DEVICE_PARTS(room)) + 8 * list[get_group_id(0)];
    const int brick = list[get_group_id(0)];
    EACH(i, 8) parts[i] = words[i] & 1u;
    EACH(i, DEVICE_FLUIDS) units[i] = 0;
    EACH(i, 2) warm[i] = 0;
    SYNC;
    EACH(i, BRICK_CELLS)
    {
        const int cell = BRICK_CELLS * brick + i;
        const uint bits = look_at(all, cell CHANNEL_ARGS);
        const bool leaves = rule_side_takes(bounds, 8 * coords[3 * brick] + (i & 7), 8 * coords[3 * brick + 1] + (i >> 3 & 7),
                                            8 * coords[3 * brick + 2] + (i >> 6));
        RAISE(parts[part_of(i)], leaves ? (bits != 0) : bits);
        if (!leaves || bits == 0) continue;
        atomic_add(&warm[0], (uint)heats[cell] & 0xffff);
        atomic_add(&warm[1], (uint)heats[cell] >> 16);
        heats[cell] = 0;
#define LEAVE(k)                           \
    if (bits & all->fluid[k].bit) {        \
        atomic_add(&units[k], c##k[cell]); \
        c##k[cell] = 0;                    \
    }
        CHANNELS(LEAVE)
#undef LEAVE
    }
    SYNC;
    EACH(i, 8) words[i] = parts[i];
    ONCE add_sum(tables, DEVICE_SUM_DRAINED, wide(warm));
    EACH(i, DEVICE_FLUIDS) add_sum(tables, DEVICE_SUM_LEFT + i, units[i]);
    SYNC;  // as in work_on_tile
}

// Which bricks hold something and which changed, of `count`.
GROUP_KERNEL void mixture_flags(global const int *list, global int *tables, int room, int count)
{
    const int i = (int)get_global_id(0);
    if (i == 0) *TABLE(tables, int, DEVICE_CROWDED) = 0;
    if (i >= count) return;
    global uint *words = TABLE(tables, uint, DEVICE_PARTS(room)) + 8 * list[i];
    uint all = 0;
    for (int k = 0; k < 8; k++) {
        all |= words[k];
        words[k] &= ~1u;
    }
    TABLE(tables, uchar, DEVICE_BRICK_FLAGS)[list[i]] = (uchar)((all & ~1u ? DEVICE_WET : 0) | (all & 1u ? DEVICE_CHANGED : 0));
}

// With a threshold: the drops in cells of bricks that may count as changed.
GROUP_KERNEL void mixture_sum(global const int *list, global const int *tables, global int *drops, int unit,
                              global const device_order *all CHANNEL_PARAMS)
{
    const int brick = list[get_group_id(0)];
    EACH(i, BRICK_CELLS)
    {
        const int cell = BRICK_CELLS * brick + i;
        int units = 0;
#define ADD(k) \
    if (k < all->count) units += c##k[cell];
        CHANNELS(ADD)
#undef ADD
        drops[cell] = units * unit;
    }
}
