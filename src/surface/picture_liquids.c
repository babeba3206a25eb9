// How liquids other than water look: each takes light of its own colours on the way through it and sends its own back, and lava glows, so
// that nothing is seen through it. What is smoothed is the fill of all liquids together; which one is at a place its cell tells.
#include "surface/picture_scene.h"

// So that the thickest look thick and none is black.
#define DARKEST 0.02f
#define CLEAREST 0.9f

static float absorbed(float light)
{
    return -logf(clampf(light, DARKEST, CLEAREST));
}

void picture_set_liquids(picture_scene *s, float clarity)
{
    const weir_world *world = s->grid.world;
    const world_ledger *ledger = world->busy ? world->frozen.ledger : world->ledger;
    s->liquids[WEIR_WATER] = (picture_liquid){.absorb = s->absorb, .deep = PICTURE_DEEP};
    for (weir_material i = WEIR_WATER + 1; i < world->material_count; i++) {
        const float *colour = world->materials[i].def.colour;
        const weir_vec light = picture_light(vec(colour[0], colour[1], colour[2]));
        s->several |= s->grid.fluid.read_materials && world_ledger_held(&ledger[i]) != 0;
        s->liquids[i] = (picture_liquid){
            .absorb = vec_scale(vec(absorbed(light.x), absorbed(light.y), absorbed(light.z)), 3 / clarity),
            .deep = vec_scale(light, 0.8f),
            .glows = i == WEIR_LAVA,
            .light = light,
        };
    }
}

// The material of a cell that holds at least so many drops; else WEIR_NOTHING.
static weir_material material_in(const picture_scene *s, int32_t x, int32_t y, int32_t z, int32_t *drops)
{
    const picture_grid *g = &s->grid;
    const int32_t at = x < 0 || y < 0 || z < 0 ? 0 : grid_at(g, x >> 3, y >> 3, z >> 3);
    const int32_t brick = at > 0 ? g->blocks[at].brick : BRICK_NOTHING, cell = (x & 7) + 8 * (y & 7) + 64 * (z & 7);
    if (brick == BRICK_NOTHING || !g->fluid.wet[brick]) return WEIR_NOTHING;
    const int32_t here = fluid_drops_at(&g->fluid, brick, cell);
    if (here <= *drops) return WEIR_NOTHING;
    *drops = here;
    return fluid_material_at(&g->fluid, brick, cell);
}

weir_material picture_material_at(const picture_scene *s, const double p[3])
{
    const int32_t x = (int32_t)floor(p[0]), y = (int32_t)floor(p[1]), z = (int32_t)floor(p[2]);
    int32_t drops = 0;
    weir_material found = material_in(s, x, y, z, &drops);
    if (found) return found;
    // The smoothed surface reaches out of cells that hold something: the fullest one beside the place tells.
    for (int32_t k = 0; k < 27; k++) {
        const weir_material other = material_in(s, x + k % 3 - 1, y + k / 3 % 3 - 1, z + k / 9 - 1, &drops);
        if (other) found = other;
    }
    return found;
}

weir_vec picture_glow(const picture_scene *s, weir_material material, weir_vec normal)
{
    const weir_vec light = s->liquids[material].light, hot = vec(light.x * 1.6f, light.y * 3.2f, light.z * 2.0f);
    const float facing = most_of(0, vec_dot(normal, s->sun)), up = most_of(0, normal.y);
    return vec_add(vec_scale(vec_mix(light, hot, up * up * 0.5f), 0.75f + 0.25f * facing), vec_scale(light, 0.15f));
}
