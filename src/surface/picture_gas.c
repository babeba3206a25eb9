// Gases: smoke and steam that a ray goes through on its way. Where there is more they hide more, and send back light of their own colour:
// from the sky, and from the sun as far as the gas before it lets it through. Hot gas glows by itself. In the look of temperature they
// have the colour of theirs, and a gas that is alone has that of its flow, pressure or fill in those looks.
#include "surface/picture_scene.h"

// Optical depth of as many cells as one sees through water, filled as gas usually fills them.
#define GAS_DEPTH 1.0f
// How far towards the sun is looked, cells, and how much of the light what is there takes.
#define SUN_STEP 2.0
#define SUN_DEPTH 3.0f
#define STEP 1.0  // cells, at most
// Kelvins from which gas begins to glow, and at which nothing else is seen of it.
#define GLOW_FROM 800.0f
#define GLOW_WHOLLY 1500.0f

static const weir_vec HOT = {1.2f, 0.42f, 0.07f};

// How much gas there is at a place, 1 being as much as there usually is in a cell, and its colour.
static float gas_at(const picture_scene *s, const double p[3], weir_vec *light)
{
    float shares[WEIR_MATERIAL_MAX], sum = 0;
    weir_vec colour = {0, 0, 0};
    picture_shares_at(s, p, shares);
    for (int32_t i = 0; i < s->grid.kinds; i++) {
        if (!s->materials[i].gas) continue;
        colour = vec_add(colour, vec_scale(s->materials[i].light, shares[i]));
        sum += shares[i];
    }
    *light = sum > 0 ? vec_scale(colour, 1 / sum) : colour;
    return sum * GRID_GAS_MOST;
}

static weir_vec lit(const picture_scene *s, const double p[3], weir_vec light)
{
    weir_vec other;
    const double toward[3] = {p[0] + SUN_STEP * (double)s->sun.x, p[1] + SUN_STEP * (double)s->sun.y,
                              p[2] + SUN_STEP * (double)s->sun.z};
    const float sun = expf(-SUN_DEPTH * s->gas * gas_at(s, toward, &other));
    return vec_mul(light, vec(0.50f + 0.55f * sun, 0.53f + 0.53f * sun, 0.58f + 0.48f * sun));
}

// What gas of a block sends back, or gives off by itself.
static weir_vec sent_back(const picture_scene *s, const grid_block *block, const double p[3], weir_vec light)
{
    if ((!s->warm && !s->gas_map) || block->brick == BRICK_NOTHING) return lit(s, p, light);
    const int32_t x = (int32_t)p[0] & 7, y = (int32_t)p[1] & 7, z = (int32_t)p[2] & 7;
    const int32_t cell = x + 8 * y + 64 * z;
    if (s->gas_map) return picture_map_colour(s, picture_value(&s->grid.fluid, s->look, block->brick, cell));
    const float kelvins = picture_value(&s->grid.fluid, WEIR_LOOK_TEMPERATURE, block->brick, cell);
    return vec_mix(lit(s, p, light), HOT, smooth_step(GLOW_FROM, GLOW_WHOLLY, kelvins));
}

void picture_gas(const picture_scene *s, const picture_ray *r, double begin, double end, weir_vec *seen, weir_vec *share)
{
    const picture_grid *g = &s->grid;
    ray_part part;
    if (!ray_cut(r, g->low, g->high, &part)) return;
    if (part.begin < begin) part.begin = begin, part.entered = -1;
    if (part.end > end) part.end = end;
    if (part.begin >= part.end) return;
    block_walk w = walk_begin(g, r, part.begin, part.end, part.entered);
    while (walk_next(&w)) {
        const grid_block *block = &g->blocks[w.block];
        const double from = w.in > begin ? w.in : begin, to = w.out < end ? w.out : end;
        if (!block->gas || from >= to) continue;
        const int32_t steps = (int32_t)((to - from) / STEP) + 1;
        const double step = (to - from) / steps;
        for (int32_t i = 0; i < steps; i++) {
            const double t = from + (i + 0.5) * step;
            const double p[3] = {r->o[0] + r->d[0] * t, r->o[1] + r->d[1] * t, r->o[2] + r->d[2] * t};
            weir_vec light;
            const float here = gas_at(s, p, &light);
            if (here < 1e-3f) continue;
            const float kept = expf(-s->gas * here * (float)step);
            const weir_vec colour = sent_back(s, block, p, light);
            *seen = vec_add(*seen, vec_scale(vec_mul(*share, colour), 1 - kept));
            *share = vec_scale(*share, kept);
        }
        if (share->y < 0.005f) return;
    }
}

void picture_set_gas(picture_scene *s, float clarity)
{
    s->gassy = false;
    for (int32_t i = 0; i < s->grid.kinds; i++) s->gassy |= s->materials[i].gas;
    s->warm = weir_world_knows_temperature(s->grid.world);
    // Flow, pressure and fill are a gas's own where it is alone.
    const bool alone = !s->grid.fluid.read_amounts && s->look != WEIR_LOOK_WATER && s->look != WEIR_LOOK_VOXEL;
    s->gas_map = s->look == WEIR_LOOK_TEMPERATURE ? s->warm : alone;
    s->gas = GAS_DEPTH / clarity;
}
