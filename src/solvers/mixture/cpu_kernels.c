// The mixture automaton's kernels for the CPU: the passes of an update over a tile. This file is compiled once per width of SIMD with
// CPU_WIDTH as its name; the compiler turns loops over the 64 pairs of two parts into vector code. All widths give the same bits.
#include "compute/cpu_lanes.h"
#include "solvers/mixture/mixture.h"

#define OVER_LANES \
    LANES          \
    for (int k = 0; k < TILE_LANES; k++)

typedef int32_t lanes[TILE_LANES];

// What a part's cells hold, summed up.
typedef struct part_sums {
    lanes volume, capacity, gas, weight;
} part_sums;

static void sum_up(const mixture_tile *t, int part, part_sums *s)
{
    const mixture_order *order = &t->order;
    int32_t *restrict volume = s->volume, *restrict capacity = s->capacity, *restrict gas = s->gas,
                      *restrict weight = s->weight;
    OVER_LANES
    {
        volume[k] = gas[k] = weight[k] = 0;
        capacity[k] = MIXTURE_FULL;
    }
    for (int f = 0; f < order->count; f++) {
        const int32_t *restrict amount = t->amount[f][part];
        const int32_t heat = order->fluid[f].heat;
        if (f < order->liquids) {
            OVER_LANES volume[k] += amount[k];
        } else if (f < order->liquids + order->gases) {
            OVER_LANES gas[k] += amount[k];
        } else {
            OVER_LANES capacity[k] -= amount[k];
        }
        OVER_LANES weight[k] += amount[k] * heat;
    }
}

// ---- What flows --------------------------------------------------------------------------------------------------------------

// A pair of parts at work.
typedef struct pair {
    part_sums a, b;
    lanes flows;   // -1 where liquid goes from one to the other
    lanes passes;  // -1 where both are open
    lanes moved[MIXTURE_FLUIDS];
} pair;

static void find_open(const mixture_tile *t, int a, int b, pair *p)
{
    const int32_t *restrict open_a = t->open[a], *restrict open_b = t->open[b], *restrict capacity_a = p->a.capacity,
                            *restrict capacity_b = p->b.capacity;
    int32_t *restrict flows = p->flows, *restrict passes = p->passes;
    OVER_LANES
    {
        passes[k] = open_a[k] & open_b[k];
        flows[k] = rule_mixture_open(capacity_a[k]) && rule_mixture_open(capacity_b[k]) ? passes[k] : 0;
    }
}

// Trims what moves so that neither side is over-full, the lightest first, and adds that to `moved`.
static void trim_and_move(mixture_tile *t, int a, int b, pair *p, lanes *wish, const int32_t *restrict capacity_a,
                          const int32_t *restrict capacity_b)
{
    const int liquids = t->order.liquids;
    int32_t *restrict volume_a = p->a.volume, *restrict volume_b = p->b.volume;
    lanes gained, over_a, over_b;
    OVER_LANES gained[k] = 0;
    for (int f = 0; f < liquids; f++) {
        const int32_t *restrict q = wish[f];
        OVER_LANES gained[k] += q[k];
    }
    OVER_LANES
    {
        over_a[k] = rule_mixture_over(volume_a[k], -gained[k], capacity_a[k]);
        over_b[k] = rule_mixture_over(volume_b[k], gained[k], capacity_b[k]);
    }
    for (int f = liquids - 1; f >= 0; f--) {
        int32_t *restrict amount_a = t->amount[f][a], *restrict amount_b = t->amount[f][b], *restrict moved = p->moved[f];
        const int32_t *restrict q = wish[f];
        OVER_LANES
        {
            const int32_t left = rule_mixture_trim(q[k], over_a[k], over_b[k]);
            over_b[k] -= rule_mixture_max(q[k], 0) - rule_mixture_max(left, 0);
            over_a[k] -= rule_mixture_max(-q[k], 0) - rule_mixture_max(-left, 0);
            amount_a[k] -= left;
            amount_b[k] += left;
            volume_a[k] -= left;
            volume_b[k] += left;
            moved[k] += left;
        }
    }
}

static void flow_sideways(mixture_tile *t, int a, int b, pair *p)
{
    lanes wish[MIXTURE_FLUIDS];
    const int32_t *restrict flows = p->flows;
    for (int f = 0; f < t->order.liquids; f++) {
        const int32_t *restrict amount_a = t->amount[f][a], *restrict amount_b = t->amount[f][b];
        const int32_t rate = t->order.fluid[f].rate;
        int32_t *restrict q = wish[f], *restrict moved = p->moved[f];
        OVER_LANES
        {
            q[k] = rule_mixture_side(amount_a[k], amount_b[k], rate) & flows[k];
            moved[k] = 0;
        }
    }
    if (t->pressure == 0) {
        trim_and_move(t, a, b, p, wish, p->a.capacity, p->b.capacity);
        return;
    }
    // What is pressed into one cell presses into the other.
    lanes most_a, most_b;
    const int32_t *restrict volume_a = p->a.volume, *restrict volume_b = p->b.volume, *restrict capacity_a = p->a.capacity,
                            *restrict capacity_b = p->b.capacity, *restrict gas_a = p->a.gas, *restrict gas_b = p->b.gas;
    OVER_LANES
    {
        most_a[k] = rule_mixture_pressed(capacity_a[k], volume_b[k] - capacity_b[k], gas_a[k]);
        most_b[k] = rule_mixture_pressed(capacity_b[k], volume_a[k] - capacity_a[k], gas_b[k]);
    }
    trim_and_move(t, a, b, p, wish, most_a, most_b);
}

// First what falls into room below, then what is sorted by density.
static void flow_down(mixture_tile *t, int a, int b, pair *p)
{
    lanes wish[MIXTURE_FLUIDS], room;
    const int32_t *restrict flows = p->flows, *restrict capacity_b = p->b.capacity;
    int32_t *restrict volume_a = p->a.volume, *restrict volume_b = p->b.volume;
    OVER_LANES room[k] = rule_mixture_max(0, capacity_b[k] - volume_b[k]) & flows[k];
    for (int f = 0; f < t->order.liquids; f++) {
        int32_t *restrict amount_a = t->amount[f][a], *restrict amount_b = t->amount[f][b], *restrict moved = p->moved[f];
        OVER_LANES
        {
            const int32_t falls = rule_mixture_min(amount_a[k], room[k]);
            room[k] -= falls;
            amount_a[k] -= falls;
            amount_b[k] += falls;
            volume_a[k] -= falls;
            volume_b[k] += falls;
            moved[k] = falls;
        }
    }
    const int pressure = t->pressure;
    lanes most_a, most_b;
    const int32_t *restrict capacity_a = p->a.capacity, *restrict gas_a = p->a.gas, *restrict gas_b = p->b.gas;
    OVER_LANES
    {
        const int32_t total = volume_a[k] + volume_b[k];
        room[k] = rule_mixture_bottom(total, capacity_a[k], capacity_b[k], pressure);
        const int32_t over_a = total - room[k] - capacity_a[k] + 3 * pressure, over_b = room[k] - capacity_b[k] + 3 * pressure;
        most_a[k] = pressure > 0 ? rule_mixture_pressed(capacity_a[k], over_a, gas_a[k]) : capacity_a[k];
        most_b[k] = pressure > 0 ? rule_mixture_pressed(capacity_b[k], over_b, gas_b[k]) : capacity_b[k];
    }
    for (int f = 0; f < t->order.liquids; f++) {
        const int32_t *restrict amount_a = t->amount[f][a], *restrict amount_b = t->amount[f][b];
        const int32_t rate = t->order.fluid[f].rate;
        int32_t *restrict q = wish[f];
        OVER_LANES
        {
            const int32_t wanted = rule_mixture_min(amount_a[k] + amount_b[k], room[k]);
            room[k] -= wanted;
            q[k] = (pressure > 0 ? rule_mixture_press(wanted, amount_b[k], rate, pressure)
                                 : rule_mixture_sort(wanted, amount_b[k], rate)) &
                   flows[k];
            // Not more than there is.
            q[k] = rule_mixture_max(-amount_b[k], rule_mixture_min(amount_a[k], q[k]));
        }
    }
    trim_and_move(t, a, b, p, wish, most_a, most_b);
}

// ---- Gases -------------------------------------------------------------------------------------------------------------------

static void move_gas(mixture_tile *t, int a, int b, pair *p, bool down)
{
    lanes room_a, room_b, top, bottom;
    const int32_t *restrict passes = p->passes, *restrict volume_a = p->a.volume, *restrict volume_b = p->b.volume,
                            *restrict capacity_a = p->a.capacity, *restrict capacity_b = p->b.capacity;
    int32_t *restrict gas_a = p->a.gas, *restrict gas_b = p->b.gas;
    OVER_LANES
    {
        room_a[k] = rule_mixture_room(capacity_a[k], volume_a[k]);
        room_b[k] = rule_mixture_room(capacity_b[k], volume_b[k]);
        const int32_t total = gas_a[k] + gas_b[k], usual = (room_a[k] >> 4) + (room_b[k] >> 4);
        top[k] = rule_mixture_gas_top(total, room_a[k], room_b[k]);
        bottom[k] = total > usual ? total - top[k] : room_b[k] >> 4;
    }
    const int first = t->order.liquids, end = first + t->order.gases;
    for (int f = first; f < end; f++) {
        int32_t *restrict amount_a = t->amount[f][a], *restrict amount_b = t->amount[f][b], *restrict moved = p->moved[f];
        const int32_t rate = t->order.fluid[f].rate, up = t->order.fluid[f].up;
        OVER_LANES
        {
            const int32_t rises = rule_mixture_rise(amount_a[k] + amount_b[k], up, top[k], bottom[k]);
            const int32_t side = rule_mixture_gas_side(amount_a[k], amount_b[k], room_a[k], room_b[k], rate);
            const int32_t wish = (down ? amount_a[k] - rises : side) & (room_a[k] + room_b[k] > 0 ? passes[k] : 0);
            top[k] -= rises;
            bottom[k] -= amount_a[k] + amount_b[k] - rises;
            const int32_t left = rule_mixture_gas_moves(
                wish, amount_a[k], amount_b[k], rule_mixture_gas_takes(gas_a[k], capacity_a[k], volume_a[k], t->pressure),
                rule_mixture_gas_takes(gas_b[k], capacity_b[k], volume_b[k], t->pressure));
            amount_a[k] -= left;
            amount_b[k] += left;
            gas_a[k] -= left;
            gas_b[k] += left;
            moved[k] = left;
        }
    }
}

// ---- Heat --------------------------------------------------------------------------------------------------------------------

static void carry_heat(mixture_tile *t, int a, int b, pair *p)
{
    lanes out_a, out_b;
    int32_t *restrict heat_a = t->heat[a], *restrict heat_b = t->heat[b], *restrict weight_a = p->a.weight,
                      *restrict weight_b = p->b.weight;
    OVER_LANES out_a[k] = out_b[k] = 0;
    for (int f = 0; f < t->order.liquids + t->order.gases; f++) {
        const int32_t *restrict moved = p->moved[f];
        const int32_t heat = t->order.fluid[f].heat;
        OVER_LANES
        {
            out_a[k] += rule_mixture_max(moved[k], 0) * heat;
            out_b[k] += rule_mixture_max(-moved[k], 0) * heat;
        }
    }
    OVER_LANES
    {
        const int32_t carried =
            rule_mixture_carried(heat_a[k], weight_a[k], out_a[k]) - rule_mixture_carried(heat_b[k], weight_b[k], out_b[k]);
        heat_a[k] -= carried;
        heat_b[k] += carried;
        weight_a[k] += out_b[k] - out_a[k];
        weight_b[k] += out_a[k] - out_b[k];
    }
}

static void sum_conduction(const mixture_tile *t, int part, int32_t *restrict sum)
{
    OVER_LANES sum[k] = 0;
    for (int f = 0; f < t->order.count; f++) {
        const int32_t *restrict amount = t->amount[f][part];
        const int32_t conducts = t->order.fluid[f].conducts;
        OVER_LANES sum[k] += amount[k] * conducts;
    }
}

static void conduct(mixture_tile *t, int a, int b, pair *p)
{
    lanes flow_a, flow_b;
    int32_t *restrict heat_a = t->heat[a], *restrict heat_b = t->heat[b];
    const int32_t *restrict weight_a = p->a.weight, *restrict weight_b = p->b.weight;
    sum_conduction(t, a, flow_a);
    sum_conduction(t, b, flow_b);
    OVER_LANES
    {
        const int32_t flow =
            rule_mixture_conducted(rule_mixture_warmth(heat_a[k], weight_a[k]), rule_mixture_warmth(heat_b[k], weight_b[k]),
                                   rule_mixture_min(flow_a[k], flow_b[k]));
        heat_a[k] -= flow;
        heat_b[k] += flow;
    }
}

// ---- Changes of phase between two cells ------------------------------------------------------------------------------------------

static inline rule_change law_of(const mixture_order *order, const mixture_change *c)
{
    return (rule_change){c->point, c->latent, c->turned, order->fluid[c->hot].heat - order->fluid[c->cold].heat, c->boils};
}

static void change_between(mixture_tile *t, int a, int b, pair *p, int at)
{
    const mixture_change c = t->order.change[at];
    int32_t *restrict cold_a = t->amount[c.cold][a], *restrict cold_b = t->amount[c.cold][b],
                      *restrict hot_a = t->amount[c.hot][a], *restrict hot_b = t->amount[c.hot][b],
                      *restrict heat_a = t->heat[a], *restrict heat_b = t->heat[b], *restrict weight_a = p->a.weight,
                      *restrict weight_b = p->b.weight, *restrict gas_a = p->a.gas, *restrict gas_b = p->b.gas;
    const rule_change law = law_of(&t->order, &c);
    const int32_t heavier = law.heavier, film = t->film;
    int32_t any = 0;
    OVER_LANES any |= (cold_a[k] | hot_a[k] | cold_b[k] | hot_b[k]);
    if (!any) return;
    lanes turned;
    OVER_LANES
    {
        const int32_t excess_a = rule_mixture_excess(heat_a[k], weight_a[k], c.point);
        const int32_t excess_b = rule_mixture_excess(heat_b[k], weight_b[k], c.point);
        // Of two cells that could do the same with each other's help it is the one that needs less; of equals neither.
        const bool hot_of_a = rule_mixture_lent(excess_a, excess_b, c.latent, cold_a[k]) && excess_a >= excess_b;
        const bool hot_of_b = rule_mixture_lent(excess_b, excess_a, c.latent, cold_b[k]) && excess_b >= excess_a;
        const bool cold_of_a = rule_mixture_lent(-excess_a, -excess_b, c.latent, hot_a[k]) && excess_a <= excess_b;
        const bool cold_of_b = rule_mixture_lent(-excess_b, -excess_a, c.latent, hot_b[k]) && excess_b <= excess_a;
        const int32_t warm_a = (int32_t)rule_mixture_warmth(heat_a[k], weight_a[k]);
        const int32_t warm_b = (int32_t)rule_mixture_warmth(heat_b[k], weight_b[k]);
        const rule_lending of_a = rule_mixture_lends(law, excess_a, excess_b, c.point - warm_b, cold_a[k], hot_a[k], gas_a[k],
                                                     heat_a[k], weight_a[k], film, hot_of_b, cold_of_b);
        const rule_lending of_b = rule_mixture_lends(law, excess_b, excess_a, c.point - warm_a, cold_b[k], hot_b[k], gas_b[k],
                                                     heat_b[k], weight_b[k], film, hot_of_a, cold_of_a);
        cold_a[k] -= of_a.turned;
        hot_a[k] += of_a.turned;
        cold_b[k] -= of_b.turned;
        hot_b[k] += of_b.turned;
        weight_a[k] += of_a.turned * heavier;
        weight_b[k] += of_b.turned * heavier;
        heat_a[k] += of_a.heat - of_b.heat - of_a.turned * c.turned;
        heat_b[k] += of_b.heat - of_a.heat - of_b.turned * c.turned;
        gas_a[k] += c.boils ? of_a.turned : 0;
        gas_b[k] += c.boils ? of_b.turned : 0;
        turned[k] = of_a.turned + of_b.turned;
    }
    for (int k = 0; k < TILE_LANES; k++) t->turned[at] += turned[k];
}

// ---- Reactions -----------------------------------------------------------------------------------------------------------------

// Adds to a part what became of so many units.
static void put_product(mixture_tile *t, int part, int from, int to, const int32_t *restrict units)
{
    int32_t *restrict left = t->amount[from][part];
    OVER_LANES left[k] -= units[k];
    if (to >= 0) {
        int32_t *restrict more = t->amount[to][part];
        OVER_LANES more[k] += units[k];
    } else if (to == MIXTURE_HARDENS) {
        int32_t *restrict more = t->hardened[part];
        OVER_LANES more[k] += units[k];
    }
}

static void react_between(mixture_tile *t, int a, int b, pair *p, int at)
{
    const mixture_reaction r = t->order.reaction[at];
    const rule_reaction law = r.law;
    const int32_t *restrict passes = p->passes, *restrict first_a = t->amount[r.first][a],
                            *restrict second_a = t->amount[r.second][a], *restrict first_b = t->amount[r.first][b],
                            *restrict second_b = t->amount[r.second][b];
    int32_t *restrict heat_a = t->heat[a], *restrict heat_b = t->heat[b], *restrict weight_a = p->a.weight,
                      *restrict weight_b = p->b.weight, *restrict gas_a = p->a.gas, *restrict gas_b = p->b.gas;
    int32_t any = 0;
    OVER_LANES any |= passes[k] & (rule_mixture_min(first_a[k], second_b[k]) | rule_mixture_min(first_b[k], second_a[k]));
    if (!any) return;
    lanes forth, back, taken;
    OVER_LANES
    {
        const int32_t wish_forth = rule_mixture_reacts(first_a[k], second_b[k], law.rate) & passes[k];
        const int32_t wish_back = rule_mixture_reacts(first_b[k], second_a[k], law.rate) & passes[k];
        const rule_reacting done = rule_mixture_reacts_between(law, wish_forth, wish_back, heat_a[k], heat_b[k], weight_a[k],
                                                               weight_b[k], gas_a[k], gas_b[k]);
        forth[k] = done.forth;
        back[k] = done.back;
        taken[k] = done.taken;
        heat_a[k] = done.heat_a;
        heat_b[k] = done.heat_b;
        weight_a[k] = done.weight_a;
        weight_b[k] = done.weight_b;
        gas_a[k] = done.gas_a;
        gas_b[k] = done.gas_b;
    }
    put_product(t, a, r.first, r.first_to, forth);
    put_product(t, b, r.second, r.second_to, forth);
    put_product(t, b, r.first, r.first_to, back);
    put_product(t, a, r.second, r.second_to, back);
    for (int k = 0; k < TILE_LANES; k++) {
        t->reacted[at] += forth[k] + back[k];
        t->taken += taken[k];
    }
}

static void react_within(mixture_tile *t, int part, part_sums *s, int at)
{
    const mixture_reaction r = t->order.reaction[at];
    const rule_reaction law = r.law;
    const int32_t *restrict first = t->amount[r.first][part], *restrict second = t->amount[r.second][part];
    int32_t *restrict heat = t->heat[part], *restrict weight = s->weight, *restrict gas = s->gas;
    int32_t any = 0;
    OVER_LANES any |= rule_mixture_min(first[k], second[k]);
    if (!any) return;
    lanes units, taken;
    OVER_LANES
    {
        const int32_t wish = rule_mixture_reacts(first[k], second[k], law.rate);
        const rule_reacting done = rule_mixture_reacts_within(law, wish, heat[k], weight[k], gas[k]);
        units[k] = done.forth;
        taken[k] = done.taken;
        heat[k] = done.heat_a;
        weight[k] = done.weight_a;
        gas[k] = done.gas_a;
    }
    put_product(t, part, r.first, r.first_to, units);
    put_product(t, part, r.second, r.second_to, units);
    for (int k = 0; k < TILE_LANES; k++) {
        t->reacted[at] += units[k];
        t->taken += taken[k];
    }
}

// ---- Walls that are held at a temperature ------------------------------------------------------------------------------------------

// Part b is terrain in some lanes.
static void touch_walls(mixture_tile *t, int a, int b, part_sums *s)
{
    lanes flow;
    sum_conduction(t, a, flow);
    for (int k = 0; k < TILE_LANES; k++) {
        const int32_t wall = t->wall[b][k];
        if (wall == 0 || t->open[b][k] || !t->open[a][k] || s->weight[k] == 0) continue;
        const int32_t came = rule_mixture_conducted((float)wall, rule_mixture_warmth(t->heat[a][k], s->weight[k]), flow[k]);
        t->heat[a][k] += came;
        *(came > 0 ? &t->warmed : &t->cooled) += came > 0 ? came : -came;
    }
    for (int at = 0; at < t->order.changes; at++) {
        const mixture_change c = t->order.change[at];
        const rule_change law = law_of(&t->order, &c);
        for (int k = 0; k < TILE_LANES; k++) {
            const int32_t wall = t->wall[b][k];
            int32_t *cold = &t->amount[c.cold][a][k], *hot = &t->amount[c.hot][a][k], *heat = &t->heat[a][k];
            if (wall == 0 || t->open[b][k] || !t->open[a][k] || (*cold | *hot) == 0) continue;
            const rule_lending of =
                rule_mixture_lends(law, rule_mixture_excess(*heat, s->weight[k], c.point), rule_mixture_endless(wall, c.point),
                                   c.point - wall, *cold, *hot, s->gas[k], *heat, s->weight[k], t->film, false, false);
            *cold -= of.turned;
            *hot += of.turned;
            *heat += of.heat - of.turned * c.turned;
            s->weight[k] += of.turned * law.heavier;
            s->gas[k] += c.boils ? of.turned : 0;
            t->turned[at] += of.turned;
            *(of.heat > 0 ? &t->warmed : &t->cooled) += of.heat > 0 ? of.heat : -of.heat;
        }
    }
}

// ---- In a cell ---------------------------------------------------------------------------------------------------------------

static void change_within(mixture_tile *t, int part)
{
    part_sums s;
    if (t->order.changes + t->order.reactions == 0) return;
    sum_up(t, part, &s);
    for (int at = 0; at < t->order.reactions; at++) react_within(t, part, &s, at);
    int32_t *restrict heat = t->heat[part], *restrict weight = s.weight, *restrict gas = s.gas;
    for (int at = 0; at < t->order.changes; at++) {
        const mixture_change c = t->order.change[at];
        const rule_change law = law_of(&t->order, &c);
        int32_t *restrict cold = t->amount[c.cold][part], *restrict hot = t->amount[c.hot][part];
        lanes turned;
        OVER_LANES
        {
            turned[k] = rule_mixture_turns(law, cold[k], hot[k], gas[k], heat[k], weight[k]);
            cold[k] -= turned[k];
            hot[k] += turned[k];
            heat[k] -= turned[k] * c.turned;
            weight[k] += turned[k] * law.heavier;
            gas[k] += c.boils ? turned[k] : 0;
        }
        for (int k = 0; k < TILE_LANES; k++) t->turned[at] += turned[k];
    }
}

// ---- A tile ------------------------------------------------------------------------------------------------------------------

// Works on the pairs of two parts; `down`: a lies above b.
static void work_on(mixture_tile *t, int a, int b, bool down)
{
    pair p;
    sum_up(t, a, &p.a);
    sum_up(t, b, &p.b);
    find_open(t, a, b, &p);
    if (down)
        flow_down(t, a, b, &p);
    else
        flow_sideways(t, a, b, &p);
    if (t->order.gases > 0) move_gas(t, a, b, &p, down);
    carry_heat(t, a, b, &p);
    conduct(t, a, b, &p);
    for (int at = 0; at < t->order.changes; at++) change_between(t, a, b, &p, at);
    for (int at = 0; at < t->order.reactions; at++) react_between(t, a, b, &p, at);
    if (!t->walls) return;
    touch_walls(t, a, b, &p.a);
    touch_walls(t, b, a, &p.b);
}

static void update_tile(mixture_tile *t)
{
    enum { X = 1, Y = 2, Z = 4 };
    const int first = t->z_first ? Z : X, second = X + Z - first;
    for (int along = 0; along < 4; along++)
        work_on(t, (along & 1) * Y + (along >> 1) * second, first + (along & 1) * Y + (along >> 1) * second, false);
    for (int along = 0; along < 4; along++)
        work_on(t, (along & 1) * Y + (along >> 1) * first, second + (along & 1) * Y + (along >> 1) * first, false);
    for (int along = 0; along < 4; along++)
        work_on(t, Y + (along & 1) * X + (along >> 1) * Z, (along & 1) * X + (along >> 1) * Z, true);
    for (int part = 0; part < TILE_PARTS; part++) change_within(t, part);
}

static void find_range(const mixture_tile *t, int32_t *low, int32_t *high)
{
    lanes least, most;
    OVER_LANES
    {
        least[k] = 4 * WEIR_TEMPERATURE_MAX;
        most[k] = 0;
    }
    for (int part = 0; part < TILE_PARTS; part++) {
        const int32_t *restrict heat = t->heat[part];
        lanes weight;
        OVER_LANES weight[k] = 0;
        for (int f = 0; f < t->order.count; f++) {
            const int32_t *restrict amount = t->amount[f][part];
            const int32_t of_unit = t->order.fluid[f].heat;
            OVER_LANES weight[k] += amount[k] * of_unit;
        }
        OVER_LANES
        {
            const int32_t warm = (int32_t)rule_mixture_warmth(heat[k], weight[k]);
            least[k] = weight[k] > 0 ? rule_mixture_min(least[k], warm) : least[k];
            most[k] = rule_mixture_max(most[k], warm);
        }
    }
    *low = least[0];
    *high = most[0];
    for (int k = 1; k < TILE_LANES; k++) {
        *low = rule_mixture_min(*low, least[k]);
        *high = rule_mixture_max(*high, most[k]);
    }
}

#define TABLE_OF(width) mixture_kernels_##width
#define TABLE(width) TABLE_OF(width)

const mixture_kernels TABLE(CPU_WIDTH) = {.update = update_tile, .range = find_range};
