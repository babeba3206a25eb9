// The laws of mixture, as functions of a pair of cells or of one (docs/mixture.md). A pair lies side by side, or one cell above the other;
// what is left of a pair is called a here, what is right b, and of two that lie one above the other a is the upper one. Amounts are units
// of 2^8 drops, temperatures quarter kelvins, heat is units times heat capacity times temperature.
//
// After Heintz et al. 2017: constancy (what one cell of a pair gets the other gives), diffusion by viscosity, descent by density.
#ifndef WEIR_SOLVERS_MIXTURE_LAWS_H
#define WEIR_SOLVERS_MIXTURE_LAWS_H

#include "cells/language.h"

#define MIXTURE_FULL 16384          // units in a full cell
#define MIXTURE_GAS_MOST 32767      // units of all gases together in a cell
#define MIXTURE_WEIGHT_MOST 262143  // most that a cell's amounts times their heat capacities come to, so that heat fits an int
#define MIXTURE_HOTTEST 8000.0f     // quarter kelvins
#define MIXTURE_REACTS_MOST 8192    // units of each of two materials that react over a face in an update
#define MIXTURE_STILL (1.0f / 64)   // difference of temperature below which nothing is conducted
#define MIXTURE_MARGIN 16  // quarter kelvins by which a cell may get warmer or colder than all around by sharing out remainders

RULE int rule_mixture_min(int a, int b)
{
    return a < b ? a : b;
}

RULE int rule_mixture_max(int a, int b)
{
    return a > b ? a : b;
}

// ---- Liquids -----------------------------------------------------------------------------------------------------------------

// Whether liquid goes in and out of a cell: what solids leave of it is more than half.
RULE bool rule_mixture_open(int capacity)
{
    return capacity > MIXTURE_FULL / 2;
}

// Diffusion: what a liquid's difference moves from a to b. Rates above 128 go past the middle, which levels long pools sooner; a difference
// of two units moves one whatever the rate, one of one unit rests.
RULE int rule_mixture_side(int a, int b, int rate)
{
    const int d = a - b, m = d < 0 ? -d : d;
    const int part = (m * rate) >> 8, least = m >= 2 ? 1 : 0;
    const int moved = rule_mixture_max(part, least);
    return d < 0 ? -moved : moved;
}

// Descent: what moves down where the lower cell has `has` of a liquid and is to have `wanted`.
RULE int rule_mixture_sort(int wanted, int has, int rate)
{
    const int d = wanted - has, m = d < 0 ? -d : d;
    const int moved = (m * rule_mixture_min(256, 2 * rate) + 255) >> 8;
    return d < 0 ? -moved : moved;
}

// By how much a cell would be over-full with what it gains.
RULE int rule_mixture_over(int volume, int gained, int capacity)
{
    return rule_mixture_max(0, volume + gained - rule_mixture_max(capacity, volume));
}

// What of a move is left when b can take `over_b` less, and a `over_a`.
RULE int rule_mixture_trim(int moved, int over_a, int over_b)
{
    const int forth = rule_mixture_max(moved, 0), back = rule_mixture_max(-moved, 0);
    return forth - rule_mixture_min(forth, over_b) - (back - rule_mixture_min(back, over_a));
}

// ---- Pressure ----------------------------------------------------------------------------------------------------------------
// With a pressure, cells deep in a liquid hold more than a full one, by that many units for each cell above: what is deeper on one side
// of a pipe goes over to the other.

// How much the lower cell of a pair holds of what both do, when it rests.
RULE int rule_mixture_bottom(int total, int capacity_a, int capacity_b, int pressure)
{
    const int above = rule_mixture_max(0, total - capacity_b), full = capacity_a + pressure;
    const int part = (int)((float)(above * pressure) / (float)rule_mixture_max(full, 1));
    const int pressed = above > full ? (above - capacity_a + pressure) >> 1 : part;
    return capacity_b + (pressure > 0 ? pressed : 0);
}

// What moves to where it rests: small parts go past it, which carries pressure on sooner.
RULE int rule_mixture_press(int wanted, int has, int rate, int pressure)
{
    const int d = wanted - has, m = d < 0 ? -d : d;
    const int fast = (m * rule_mixture_min(448, (7 * rate) >> 1)) >> 8;
    const int moved = rule_mixture_max(fast, m > 0 ? 1 : 0);
    return m > 4 * pressure ? rule_mixture_sort(wanted, has, rate) : d < 0 ? -moved : moved;
}

// What a cell may hold at most that is pressed by another, so that its gas has room and its heat can be counted; `other` is what that holds
// over its capacity.
RULE int rule_mixture_pressed(int capacity, int other, int gas)
{
    const int most = rule_mixture_min(MIXTURE_FULL / 2, rule_mixture_max(0, (MIXTURE_GAS_MOST - gas) >> 1));
    return capacity + rule_mixture_min(rule_mixture_max(0, other), most);
}

// ---- Gases -------------------------------------------------------------------------------------------------------------------

// The room that gas has in a cell.
RULE int rule_mixture_room(int capacity, int volume)
{
    const int left = rule_mixture_max(capacity - volume, MIXTURE_FULL / 8);
    return rule_mixture_open(capacity) ? left : 0;
}

// Diffusion of a gas, by how much room it has on either side.
RULE int rule_mixture_gas_side(int a, int b, int room_a, int room_b, int rate)
{
    const float apart = (float)(a * room_b - b * room_a);
    const float part = (float)rate * (1.0f / 128);
    return (int)(apart / (float)rule_mixture_max(room_a + room_b, 1) * part);
}

// How much gas the upper cell holds before it is denser than usual; `total` is what both hold, of which nothing is lost where that is more.
RULE int rule_mixture_gas_top(int total, int room_a, int room_b)
{
    const int usual = (room_a >> 4) + (room_b >> 4);
    const int share = (int)((float)total * (float)room_a / (float)rule_mixture_max(room_a + room_b, 1));
    return total > usual ? rule_mixture_min(share, total) : room_a >> 4;
}

// Ascent: how much of a gas is to be in the upper cell, of `both` there is in the two; `up` of 256 parts rise. top and bottom are what of
// the room there no lighter gas has taken.
RULE int rule_mixture_rise(int both, int up, int top, int bottom)
{
    const int wanted = (both * up + 255) >> 8;
    return rule_mixture_min(top, rule_mixture_max(wanted, both - bottom));
}

// What of a gas goes from a to b, where it wants to move `moved`: not more than is there, nor than the other can take.
RULE int rule_mixture_gas_moves(int moved, int a, int b, int take_a, int take_b)
{
    const int least = -rule_mixture_min(b, take_a), most = rule_mixture_min(a, take_b);
    return rule_mixture_max(least, rule_mixture_min(most, moved));
}

// What gas a cell can still take in: none where it is over-full, unless that is by pressure.
RULE int rule_mixture_gas_takes(int gas, int capacity, int volume, int pressure)
{
    const int over = rule_mixture_max(0, volume - capacity);
    return over > 0 && pressure == 0 ? 0 : rule_mixture_max(MIXTURE_GAS_MOST - 2 * over - gas, 0);
}

// ---- Heat --------------------------------------------------------------------------------------------------------------------

// The heat that leaves a cell of this heat and weight (amounts times heat capacities) with `out` of that weight. Temperatures are whole,
// with a remainder of heat that is shared as far as it goes, so that no part comes out warmer by a unit than the whole was.
RULE int rule_mixture_carried(int heat, int weight, int out)
{
    const int all = rule_mixture_max(weight, 1);
    const float inverse = 1.0f / (float)all;
    int warm = (int)((float)heat * inverse), rest = heat - warm * all;
    const int low = rest < 0 ? 1 : 0, high = rest >= all ? 1 : 0;
    warm += high - low;
    rest += (low - high) * all;
    int part = (int)((float)rest * ((float)out * inverse));
    part = rule_mixture_min(rule_mixture_min(part, rest), out);
    part = rule_mixture_max(part, rule_mixture_max(0, rest - (weight - out)));
    return warm * out + part;
}

RULE float rule_mixture_warmth(int heat, int weight)
{
    return (float)heat / (float)rule_mixture_max(weight, 1);
}

// Conduction: the heat that goes from a to b. `flow` is the lesser of the two cells' amounts times conductivities.
RULE int rule_mixture_conducted(float warm_a, float warm_b, int flow)
{
    const float d = warm_a - warm_b;
    const float apart = rule_abs(d) < MIXTURE_STILL ? 0.0f : d;
    return (int)(apart * ((float)flow * (1.0f / 256)));
}

// ---- Changes of phase --------------------------------------------------------------------------------------------------------
// A cold material becomes a hot one at `point` and takes up `latent` per unit. Excess is the heat by which a cell is warmer than that.

RULE int rule_mixture_excess(int heat, int weight, int point)
{
    return heat - weight * point;
}

// How much a cell's own excess turns into the hot one; less than nothing: back.
RULE int rule_mixture_turned(int excess, int latent, int cold, int hot)
{
    const int turned = (int)((float)excess / (float)latent);
    return rule_mixture_max(-hot, rule_mixture_min(cold, turned));
}

// Whether a cell of this heat can turn so many units that take `turned` of it each, which leaves it this weight. What is far from the point
// cannot always: heat capacities differ, and the cell would have less than no heat, or be hotter than anything may be.
RULE bool rule_mixture_can_turn(int heat, int weight, int units, int turned)
{
    const float left = (float)heat - (float)units * (float)turned;
    return left >= (float)heat * 0.0001f && left <= (float)weight * MIXTURE_HOTTEST;
}

// 1 where a cell turns one unit with what the other lends it, when its own excess is not enough for that: only where both together have it,
// and of two that could it is the one that needs less.
RULE int rule_mixture_lent(int excess, int other, int latent, int there)
{
    const bool own = excess >= 0 && excess < latent && there > 0;
    return own && other > 0 && other >= latent - excess ? 1 : 0;
}

// How much of a gas condenses on a neighbour that lacks `lack` of the heat to be as warm as its boiling point, and is `apart` colder than
// that.
RULE int rule_mixture_film(int gas, int apart, int lack, int latent, int film)
{
    const int wanted = 1 + ((gas * rule_mixture_max(0, rule_mixture_min(apart, 256)) * film) >> 16);
    const int most = (int)((float)(lack >> 1) / (float)latent);
    return rule_mixture_max(0, rule_mixture_min(rule_mixture_min(wanted, gas), most));
}

// A change of phase as these laws see it.
typedef struct rule_change {
    int point, latent;
    int turned;   // what a unit takes of a cell's heat: latent, and the difference of heat capacities at the point
    int heavier;  // the hot one's heat capacity less the cold one's
    bool boils;
} rule_change;

// Whether a cell's weight stays within what it may be.
RULE bool rule_mixture_weighs_little(int weight)
{
    return weight <= MIXTURE_WEIGHT_MOST;
}

// What turns in a cell by its own heat; less than nothing: back to the cold one.
RULE int rule_mixture_turns(rule_change c, int cold, int hot, int gas, int heat, int weight)
{
    const int wish = rule_mixture_turned(rule_mixture_excess(heat, weight, c.point), c.latent, cold, hot);
    const int fits = c.boils ? rule_mixture_min(wish, rule_mixture_max(MIXTURE_GAS_MOST - gas, 0)) : wish;
    const int left = weight + fits * c.heavier;
    return rule_mixture_weighs_little(left) && rule_mixture_can_turn(heat, left, fits, c.turned) ? fits : 0;
}

// What a cell makes of a change by what another lends it or takes from it: units that turn, and the heat that comes from the other.
typedef struct rule_lending {
    int turned, heat;
} rule_lending;

// `other` is the other's excess, which is so many quarter kelvins colder than the point; a rival is the other where it turns a unit first.
RULE rule_lending rule_mixture_lends(rule_change c, int excess, int other, int apart, int cold, int hot, int gas, int heat,
                                     int weight, int film, bool rival_melts, bool rival_freezes)
{
    const int condensed = c.boils ? rule_mixture_film(hot, apart, rule_mixture_max(-other, 0), c.latent, film) : 0;
    const int left = weight - condensed * c.heavier;
    const bool can = rule_mixture_weighs_little(left) && rule_mixture_can_turn(heat, left, condensed, c.heavier * c.point);
    const int films = other < 0 && can ? condensed : 0;
    const bool melts = rule_mixture_lent(excess, other, c.latent, cold) && rule_mixture_weighs_little(weight + c.heavier) &&
                       (!c.boils || gas < MIXTURE_GAS_MOST) && !rival_melts;
    const bool freezes = rule_mixture_lent(-excess, -other, c.latent, hot) && rule_mixture_weighs_little(weight - c.heavier) &&
                         films == 0 && !rival_freezes;
    rule_lending result;
    result.turned = melts ? 1 : freezes ? -1 : -films;
    result.heat = melts ? c.latent - excess : freezes ? -c.latent - excess : -films * c.latent;
    return result;
}

// The excess of a wall that is held at a temperature: without end.
RULE int rule_mixture_endless(int wall, int point)
{
    return wall > point ? 1 << 30 : wall < point ? -(1 << 30) : 0;
}

// Where a change may happen in cells that are no colder than `low` and no hotter than `high`, the two are widened by what it may cool or
// warm them: what freezes or condenses warms its cell up to the point, what melts or boils cools it.
RULE bool rule_mixture_reaches(bool cold, bool hot, int point, int margin, int *low, int *high)
{
    const bool warms = cold && *high >= point, cools = hot && *low <= point;
    if (warms && *low > point - margin) *low = point - margin;
    if (cools && *high < point + margin) *high = point + margin;
    return warms || cools;
}

// ---- Reactions ---------------------------------------------------------------------------------------------------------------
// Two materials that meet, in a cell or over a face, become others where they are, as much of the one as of the other.

// How much of each does; `rate` of 256.
RULE int rule_mixture_reacts(int first, int second, int rate)
{
    return rule_mixture_min((rule_mixture_min(first, second) * rate + 255) >> 8, MIXTURE_REACTS_MOST);
}

// Whether units that brought this heat with them can react, each of which takes up `taken` of it.
RULE bool rule_mixture_can_react(int heat, int units, int taken)
{
    return (float)units * (float)taken <= (float)heat * 0.9999f;
}

// The heat of what such units became, which weighs `weight`: nothing comes out hotter than anything may be.
RULE int rule_mixture_reacted(int heat, int units, int weight, int taken)
{
    const int most = weight * (int)MIXTURE_HOTTEST;
    const float left = (float)heat - (float)units * (float)taken;
    return left < (float)most ? rule_mixture_min(most, heat - units * taken) : most;
}

// A reaction as these laws see it: per unit of its first and of its second material the heat capacities that go and that come, how much
// more gas there is then, and the heat capacity of both products together.
typedef struct rule_reaction {
    int rate, taken;
    int out_first, out_second, in_first, in_second;
    int gas_first, gas_second;
    int weight;
} rule_reaction;

// How many units reacted, of two cells with the first material of a and with that of b; what became of heat, weight and gas; and the heat
// that was taken up.
typedef struct rule_reacting {
    int forth, back, taken;
    int heat_a, heat_b, weight_a, weight_b, gas_a, gas_b;
} rule_reacting;

RULE bool rule_mixture_has_room(int weight, int gas)
{
    return weight <= MIXTURE_WEIGHT_MOST && gas <= MIXTURE_GAS_MOST;
}

// Over a face both ways at once: the first material of one cell with the second of the other. What both cells give is as warm as the mean
// of it when it comes back. `forth` and `back` are what wants to react.
RULE rule_reacting rule_mixture_reacts_between(rule_reaction r, int forth, int back, int heat_a, int heat_b, int weight_a,
                                               int weight_b, int gas_a, int gas_b)
{
    const int out_a = forth * r.out_first + back * r.out_second, out_b = back * r.out_first + forth * r.out_second;
    const int in_a = forth * r.in_first + back * r.in_second, in_b = back * r.in_first + forth * r.in_second;
    const int more_a = forth * r.gas_first + back * r.gas_second, more_b = back * r.gas_first + forth * r.gas_second;
    const int from_a = rule_mixture_carried(heat_a, weight_a, out_a), from_b = rule_mixture_carried(heat_b, weight_b, out_b);
    const int units = forth + back, weight = units * r.weight;
    const bool can = rule_mixture_can_react(from_a + from_b, units, r.taken) &&
                     rule_mixture_has_room(weight_a + in_a - out_a, gas_a + more_a) &&
                     rule_mixture_has_room(weight_b + in_b - out_b, gas_b + more_b);
    const int comes = can ? rule_mixture_reacted(from_a + from_b, units, weight, r.taken) : 0;
    const int to_a = rule_mixture_carried(comes, weight, in_a), to_b = rule_mixture_carried(comes, weight, in_b);
    rule_reacting result;
    result.forth = can ? forth : 0;
    result.back = can ? back : 0;
    result.taken = can ? from_a + from_b - to_a - to_b : 0;
    result.heat_a = heat_a + (can ? to_a - from_a : 0);
    result.heat_b = heat_b + (can ? to_b - from_b : 0);
    result.weight_a = weight_a + (can ? in_a - out_a : 0);
    result.weight_b = weight_b + (can ? in_b - out_b : 0);
    result.gas_a = gas_a + (can ? more_a : 0);
    result.gas_b = gas_b + (can ? more_b : 0);
    return result;
}

// In a cell, which is a.
RULE rule_reacting rule_mixture_reacts_within(rule_reaction r, int wish, int heat, int weight, int gas)
{
    const int out = wish * (r.out_first + r.out_second), in = wish * (r.in_first + r.in_second);
    const int more = wish * (r.gas_first + r.gas_second), all = wish * r.weight;
    const int from = rule_mixture_carried(heat, weight, out);
    const bool can = rule_mixture_can_react(from, wish, r.taken) && rule_mixture_has_room(weight + in - out, gas + more);
    const int comes = can ? rule_mixture_reacted(from, wish, all, r.taken) : 0;
    const int to = rule_mixture_carried(comes, all, in);
    rule_reacting result = {
        can ? wish : 0,         0, can ? from - to : 0, heat + (can ? to - from : 0), 0, weight + (can ? in - out : 0), 0,
        gas + (can ? more : 0), 0};
    return result;
}

#endif
