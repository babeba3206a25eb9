// Which materials a world of mixture holds, and what they are like to the laws. A material gets its channel when it is first put in, and
// with it all that it can turn into.
#include "solvers/mixture/mixture.h"

#include <assert.h>

// ---- Numbers -----------------------------------------------------------------------------------------------------------------

// By viscosity, each eight times that of the one before. Compared and not computed, so that all machines agree.
static int32_t rate_of(float viscosity, bool gas)
{
    static const int32_t rates[] = {224, 192, 128, 64, 16, 6, 2};
    int32_t i = 0;
    for (float least = 8; i < 6 && viscosity >= least; least *= 8) i++;
    return gas && i == 0 ? rates[1] : rates[i];
}

static int32_t whole(float value, float unit, int32_t least, int32_t most)
{
    const float scaled = value * unit + 0.5f;
    return scaled < (float)least ? least : scaled > (float)most ? most : (int32_t)scaled;
}

static int32_t quarters(float kelvins)
{
    return whole(kelvins, 4, 1, 4 * WEIR_TEMPERATURE_MAX);
}

static mixture_fluid fluid_of(const world_material *materials, weir_material material, int32_t channel)
{
    const weir_material_def *def = &materials[material].def;
    mixture_fluid f = {.material = material, .kind = def->kind, .channel = channel};
    const bool gas = def->kind == WEIR_KIND_GAS;
    f.rate = rate_of(def->viscosity, gas);
    f.up = gas ? (int32_t)(256.0f / (1.0f + def->density / MIXTURE_AIR)) : 0;
    f.heat = whole(def->heat_capacity, 8, 1, gas ? 4 : 8);
    f.conducts = whole(def->conductivity, 32, 0, 128 * f.heat);
    f.warm = quarters(def->temperature);
    return f;
}

// ---- The order ---------------------------------------------------------------------------------------------------------------

// Liquids first, then gases, then solids.
static bool comes_before(const world_material *materials, const mixture_fluid *a, const mixture_fluid *b)
{
    const float x = materials[a->material].def.density, y = materials[b->material].def.density;
    if (a->kind != b->kind) return a->kind < b->kind;
    if (x != y) return a->kind == WEIR_KIND_GAS ? x < y : x > y;
    return a->material < b->material;
}

int32_t mixture_place(const mixture_order *order, weir_material material)
{
    for (int32_t i = 0; i < order->count; i++)
        if (order->fluid[i].material == material) return i;
    return -1;
}

static void add_change(mixture_order *order, int32_t cold, int32_t hot, float point, float heat, bool boils)
{
    if (cold < 0 || hot < 0) return;
    mixture_change change = {.cold = cold, .hot = hot, .point = quarters(point), .boils = boils};
    change.latent = whole(heat, 32, 1, 32 * 2000);
    change.turned = change.latent + (order->fluid[cold].heat - order->fluid[hot].heat) * change.point;
    order->change[order->changes++] = change;
}

void mixture_arrange(const world_material *materials, uint32_t known, const int32_t channel[WEIR_MATERIAL_MAX],
                     mixture_order *order)
{
    *order = (mixture_order){.count = 0};
    for (weir_material m = 1; m < WEIR_MATERIAL_MAX; m++) {
        if (!(known >> m & 1)) continue;
        const mixture_fluid f = fluid_of(materials, m, channel[m]);
        int32_t at = order->count++;
        assert(order->count <= MIXTURE_FLUIDS);
        for (; at > 0 && comes_before(materials, &f, &order->fluid[at - 1]); at--) order->fluid[at] = order->fluid[at - 1];
        order->fluid[at] = f;
        order->liquids += f.kind == WEIR_KIND_LIQUID;
        order->gases += f.kind == WEIR_KIND_GAS;
    }
    for (int32_t i = 0; i < order->liquids; i++) {
        const weir_material_def *def = &materials[order->fluid[i].material].def;
        if (def->freezes_to)
            add_change(order, mixture_place(order, def->freezes_to), i, def->melting_point, def->melting_heat, false);
        if (def->boils_to)
            add_change(order, i, mixture_place(order, def->boils_to), def->boiling_point, def->boiling_heat, true);
    }
}

static uint32_t bit_of(const mixture_order *order, int32_t place)
{
    return UINT32_C(1) << order->fluid[place].material;
}

void mixture_choose(const mixture_order *all, uint32_t materials, mixture_order *order)
{
    int32_t place[MIXTURE_FLUIDS];
    order->count = order->liquids = order->gases = order->changes = 0;
    for (int32_t i = 0; i < all->count; i++) {
        place[i] = -1;
        if (!(materials & bit_of(all, i))) continue;
        place[i] = order->count;
        order->fluid[order->count++] = all->fluid[i];
        order->liquids += all->fluid[i].kind == WEIR_KIND_LIQUID;
        order->gases += all->fluid[i].kind == WEIR_KIND_GAS;
    }
    for (int32_t i = 0; i < all->changes; i++) {
        mixture_change change = all->change[i];
        if (place[change.cold] < 0 || place[change.hot] < 0) continue;
        change.cold = place[change.cold];
        change.hot = place[change.hot];
        order->change[order->changes++] = change;
    }
}

uint32_t mixture_reach(const mixture_order *all, uint32_t materials, int32_t low, int32_t high, int32_t margin)
{
    low -= margin;
    high += margin;
    for (bool more = true; more;) {
        more = false;
        for (int32_t i = 0; i < all->changes; i++) {
            const mixture_change *c = &all->change[i];
            const uint32_t cold = bit_of(all, c->cold), hot = bit_of(all, c->hot), both = cold | hot;
            const int32_t least = low, most = high;
            if (!rule_mixture_reaches(materials & cold, materials & hot, c->point, margin, &low, &high)) continue;
            more = more || least != low || most != high || (both & ~materials);
            materials |= both;
        }
    }
    return materials;
}

// ---- Channels ----------------------------------------------------------------------------------------------------------------

static uint32_t with_products(const weir_world *world, weir_material material)
{
    uint32_t all = UINT32_C(1) << material;
    for (bool more = true; more;) {
        more = false;
        for (weir_material m = 1; m < world->material_count; m++) {
            const weir_material_def *def = &world->materials[m].def;
            uint32_t group = UINT32_C(1) << m;
            if (def->freezes_to) group |= UINT32_C(1) << def->freezes_to;
            if (def->boils_to) group |= UINT32_C(1) << def->boils_to;
            if (!(group & all) || !(group & ~all)) continue;
            all |= group;
            more = true;
        }
    }
    return all;
}

void mixture_learn(mixture *s)
{
    int32_t channel[WEIR_MATERIAL_MAX] = {0};
    for (int32_t i = 0; i < s->order.count; i++) channel[s->order.fluid[i].material] = s->order.fluid[i].channel;
    mixture_arrange(s->cells.world->materials, s->known, channel, &s->order);
}

void mixture_name_channel(mixture *s)
{
    assert(s->layout.count < MIXTURE_CHANNELS);
    s->channels[s->layout.count++] = (cell_channel){.name = "amounts",
                                                    .type = CHANNEL_UNITS,
                                                    .bytes = sizeof(uint16_t),
                                                    .kept = true,
                                                    .next = CHANNEL_NONE,
                                                    .max = MIXTURE_AMOUNT_MOST};
}

static weir_status add_channel(mixture *s, weir_material material)
{
    int32_t channel;
    const weir_status status = bricks_add_channel(&s->cells.pool, sizeof(uint16_t), &channel);
    if (status != WEIR_OK) return status;
    mixture_name_channel(s);
    s->order.fluid[s->order.count++] =
        (mixture_fluid){.material = material, .channel = channel};  // arranged when all are there
    return WEIR_OK;
}

weir_status mixture_know(mixture *s, weir_material material)
{
    const weir_world *world = s->cells.world;
    if (s->known >> material & 1) return WEIR_OK;
    const uint32_t wanted = with_products(world, material);
    if (__builtin_popcount(s->known | wanted) > MIXTURE_FLUIDS)
        return status_fail(WEIR_ERROR_LIMIT,
                           "a world of mixture holds %d materials at most; %s, with what it turns into, would make them %d",
                           MIXTURE_FLUIDS, world->materials[material].name, __builtin_popcount(s->known | wanted));
    const int32_t channels = s->layout.count, count = s->order.count;
    weir_status status = WEIR_OK;
    for (weir_material m = 1; m < world->material_count && status == WEIR_OK; m++)
        if (wanted >> m & 1 && !(s->known >> m & 1)) status = add_channel(s, m);
    if (status == WEIR_OK) {
        s->known |= wanted;
        mixture_learn(s);
    } else {
        bricks_drop_channels(&s->cells.pool, channels);
        s->layout.count = channels;
        s->order.count = count;
    }
    return status;
}
