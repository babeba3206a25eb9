// Colour maps and their legend, with a small font to write it.
#include "base/plain_numbers.h"
#include "surface/picture_scene.h"

#include <stdio.h>
#include <string.h>

// ---- The map ---------------------------------------------------------------------------------------------------------------

// From deep blue over teal and green to a light yellow. The lightness grows evenly (CIE L* from 17 to 93), so that equal steps of a
// value look equal, also in grey and to the colour-blind.
static weir_vec even_map(float share)
{
    static const weir_vec steps[9] = {
        {0.032f, 0.128f, 0.442f}, {0.041f, 0.248f, 0.455f}, {0.059f, 0.353f, 0.509f},
        {0.074f, 0.459f, 0.569f}, {0.092f, 0.569f, 0.618f}, {0.117f, 0.685f, 0.631f},
        {0.178f, 0.809f, 0.536f}, {0.653f, 0.881f, 0.463f}, {0.999f, 0.927f, 0.495f},
    };
    if (!(share > 0)) return steps[0];
    if (share >= 1) return steps[8];
    int32_t i = (int32_t)(share * 8);
    return vec_mix(steps[i], steps[i + 1], share * 8 - (float)i);
}

// Of temperatures: from a dark violet over red and orange to a light yellow, with the same lightness at each step.
static weir_vec warm_map(float share)
{
    static const weir_vec steps[9] = {
        {0.021f, 0.160f, 0.345f}, {0.335f, 0.095f, 0.600f}, {0.611f, 0.051f, 0.519f},
        {0.809f, 0.076f, 0.453f}, {0.969f, 0.199f, 0.365f}, {0.989f, 0.447f, 0.329f},
        {0.992f, 0.627f, 0.357f}, {0.996f, 0.782f, 0.415f}, {0.988f, 0.938f, 0.294f},
    };
    if (!(share > 0)) return steps[0];
    if (share >= 1) return steps[8];
    int32_t i = (int32_t)(share * 8);
    return vec_mix(steps[i], steps[i + 1], share * 8 - (float)i);
}

weir_vec picture_map(weir_look look, float share)
{
    return look == WEIR_LOOK_TEMPERATURE ? warm_map(share) : even_map(share);
}

// ---- Letters ---------------------------------------------------------------------------------------------------------------

enum { GLYPH_WIDTH = 5, GLYPH_HEIGHT = 9, GLYPH_STEP = 6 };

// Rows from the top, the left column in bit 4; the last two rows are below the line.
typedef struct glyph {
    char letter;
    uint8_t rows[GLYPH_HEIGHT];
} glyph;

static const glyph font[] = {
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e, 0x00, 0x00}},
    {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e, 0x00, 0x00}},
    {'2', {0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f, 0x00, 0x00}},
    {'3', {0x0e, 0x11, 0x01, 0x06, 0x01, 0x11, 0x0e, 0x00, 0x00}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02, 0x00, 0x00}},
    {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e, 0x00, 0x00}},
    {'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'7', {0x1f, 0x01, 0x02, 0x04, 0x04, 0x08, 0x08, 0x00, 0x00}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c, 0x00, 0x00}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c, 0x00, 0x00}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x00, 0x06, 0x06, 0x04, 0x08}},
    {'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00, 0x00, 0x00}},
    {'+', {0x00, 0x04, 0x04, 0x1f, 0x04, 0x04, 0x00, 0x00, 0x00}},
    {'K', {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11, 0x00, 0x00}},
    {'a', {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f, 0x00, 0x00}},
    {'c', {0x00, 0x00, 0x0e, 0x10, 0x10, 0x11, 0x0e, 0x00, 0x00}},
    {'d', {0x01, 0x01, 0x0f, 0x11, 0x11, 0x11, 0x0f, 0x00, 0x00}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0e, 0x00, 0x00}},
    {'f', {0x06, 0x09, 0x08, 0x1c, 0x08, 0x08, 0x08, 0x00, 0x00}},
    {'g', {0x00, 0x00, 0x0f, 0x11, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'h', {0x10, 0x10, 0x16, 0x19, 0x11, 0x11, 0x11, 0x00, 0x00}},
    {'i', {0x04, 0x00, 0x0c, 0x04, 0x04, 0x04, 0x0e, 0x00, 0x00}},
    {'l', {0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e, 0x00, 0x00}},
    {'m', {0x00, 0x00, 0x1a, 0x15, 0x15, 0x11, 0x11, 0x00, 0x00}},
    {'n', {0x00, 0x00, 0x16, 0x19, 0x11, 0x11, 0x11, 0x00, 0x00}},
    {'o', {0x00, 0x00, 0x0e, 0x11, 0x11, 0x11, 0x0e, 0x00, 0x00}},
    {'p', {0x00, 0x00, 0x1e, 0x11, 0x11, 0x11, 0x1e, 0x10, 0x10}},
    {'r', {0x00, 0x00, 0x16, 0x19, 0x10, 0x10, 0x10, 0x00, 0x00}},
    {'s', {0x00, 0x00, 0x0f, 0x10, 0x0e, 0x01, 0x1e, 0x00, 0x00}},
    {'t', {0x08, 0x08, 0x1c, 0x08, 0x08, 0x09, 0x06, 0x00, 0x00}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x13, 0x0d, 0x00, 0x00}},
    {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0a, 0x04, 0x00, 0x00}},
    {'w', {0x00, 0x00, 0x11, 0x11, 0x15, 0x15, 0x0a, 0x00, 0x00}},
    {'y', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0f, 0x01, 0x11, 0x0e}},
};

// Part of the picture that is drawn over, in units of `scale` pixels from its upper left corner.
typedef struct canvas {
    uint8_t *rgb;
    int32_t width, height, scale;
} canvas;

static void fill_unit(const canvas *c, int32_t x, int32_t y, weir_vec colour, float share)
{
    const float parts[3] = {colour.x, colour.y, colour.z};
    for (int32_t j = y * c->scale; j < (y + 1) * c->scale && j < c->height; j++) {
        for (int32_t i = x * c->scale; i < (x + 1) * c->scale && i < c->width; i++) {
            uint8_t *pixel = c->rgb + 3 * ((size_t)j * (size_t)c->width + (size_t)i);
            for (int32_t k = 0; k < 3; k++) pixel[k] = (uint8_t)((float)pixel[k] * (1 - share) + 255 * parts[k] * share + 0.5f);
        }
    }
}

static void write_letter(const canvas *c, int32_t x, int32_t y, char letter)
{
    const weir_vec ink = vec(0.10f, 0.13f, 0.18f);
    for (size_t g = 0; g < sizeof font / sizeof font[0]; g++) {
        if (font[g].letter != letter) continue;
        for (int32_t j = 0; j < GLYPH_HEIGHT; j++)
            for (int32_t i = 0; i < GLYPH_WIDTH; i++)
                if (font[g].rows[j] >> (GLYPH_WIDTH - 1 - i) & 1) fill_unit(c, x + i, y + j, ink, 1);
    }
}

static void write_text(const canvas *c, int32_t x, int32_t y, const char *text)
{
    for (; *text; text++, x += GLYPH_STEP) write_letter(c, x, y, *text);
}

static int32_t text_width(const char *text)
{
    return GLYPH_STEP * (int32_t)strlen(text) - 1;
}

// ---- The legend ------------------------------------------------------------------------------------------------------------

enum { MARGIN = 8, PAD = 6, BAR_WIDTH = 144, BAR_HEIGHT = 8, PANEL_HEIGHT = 2 * PAD + 2 * GLYPH_HEIGHT + BAR_HEIGHT + 5 };

static void write_numbers(const canvas *c, int32_t x, int32_t y, float low, float range)
{
    plain_numbers numbers = plain_numbers_begin();
    for (int32_t i = 0; i <= 2; i++) {
        char number[24];
        snprintf(number, sizeof number, "%g", (double)(low + 0.5f * (float)i * (range - low)));
        int32_t at = x + i * (BAR_WIDTH - 1) / 2, width = text_width(number);
        fill_unit(c, at, y - 3, vec(0.10f, 0.13f, 0.18f), 1);
        fill_unit(c, at, y - 2, vec(0.10f, 0.13f, 0.18f), 1);
        write_text(c, i == 0 ? x : i == 1 ? at - width / 2 : x + BAR_WIDTH - width, y, number);
    }
    plain_numbers_end(&numbers);
}

void picture_legend(const picture_scene *s, uint8_t *rgb)
{
    static const char *const titles[WEIR_LOOK_COUNT] = {[WEIR_LOOK_FLOW] = "flow, cells per update",
                                                        [WEIR_LOOK_PRESSURE] = "pressure",
                                                        [WEIR_LOOK_FILL] = "fill",
                                                        [WEIR_LOOK_TEMPERATURE] = "temperature, K"};
    const char *title = titles[s->look];
    canvas c = {rgb, s->width, s->height, s->height < 720 ? 1 : s->height / 360};
    int32_t right = MARGIN + BAR_WIDTH + 2 * PAD;
    while (c.scale > 1 && right * c.scale > c.width) c.scale--;
    if (!title || right * c.scale > c.width || (MARGIN + PANEL_HEIGHT) * c.scale > c.height) return;

    for (int32_t y = MARGIN; y < MARGIN + PANEL_HEIGHT; y++)
        for (int32_t x = MARGIN; x < right; x++) fill_unit(&c, x, y, vec(1, 1, 1), 0.7f);
    int32_t left = MARGIN + PAD, bar = MARGIN + PAD + GLYPH_HEIGHT + 2;
    write_text(&c, left, MARGIN + PAD, title);
    for (int32_t x = 0; x < BAR_WIDTH; x++)
        for (int32_t y = 0; y < BAR_HEIGHT; y++)
            fill_unit(&c, left + x, bar + y, picture_map(s->look, (float)x / (BAR_WIDTH - 1)), 1);
    write_numbers(&c, left, bar + BAR_HEIGHT + 3, s->low, s->range);
}
