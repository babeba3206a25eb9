// MagicaVoxel files: what is written is read back, what the format can say is understood, and what it cannot is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "formats/vox_read.h"
#include "test_files.h"
#include "test_world.h"
#include <weir/formats.h>

// ---- Files by hand ---------------------------------------------------------------------------------------------------------

static void put_chunk(test_bytes *b, const char *id, test_bytes content)
{
    test_put(b, id, 4);
    test_put_i32(b, (int64_t)content.size);
    test_put_i32(b, 0);
    test_put(b, content.at, content.size);
    free(content.at);
}

static void put_word(test_bytes *b, const char *word)
{
    test_put_i32(b, (int64_t)strlen(word));
    test_put(b, word, strlen(word));
}

static test_bytes begin_file(void)
{
    test_bytes b = {0};
    test_put(&b, "VOX ", 4);
    test_put_i32(&b, 150);
    test_put(&b, "MAIN", 4);
    test_put_i32(&b, 0);
    test_put_i32(&b, 0);
    return b;
}

static void put_model(test_bytes *b, int64_t x, int64_t y, int64_t z, const uint8_t (*voxels)[4], int64_t count)
{
    test_bytes size = {0}, content = {0};
    test_put_i32(&size, x);
    test_put_i32(&size, y);
    test_put_i32(&size, z);
    put_chunk(b, "SIZE", size);
    test_put_i32(&content, count);
    test_put(&content, voxels, (size_t)count * 4);
    put_chunk(b, "XYZI", content);
}

static void put_transform(test_bytes *b, int32_t node, int32_t child, int32_t layer, bool hidden, const char *turn,
                          const char *shift)
{
    test_bytes c = {0};
    test_put_i32(&c, node);
    test_put_i32(&c, hidden ? 1 : 0);
    if (hidden) {
        put_word(&c, "_hidden");
        put_word(&c, "1");
    }
    test_put_i32(&c, child);
    test_put_i32(&c, -1);
    test_put_i32(&c, layer);
    test_put_i32(&c, 1);
    test_put_i32(&c, (turn != NULL) + (shift != NULL));
    if (turn) {
        put_word(&c, "_r");
        put_word(&c, turn);
    }
    if (shift) {
        put_word(&c, "_t");
        put_word(&c, shift);
    }
    put_chunk(b, "nTRN", c);
}

static void put_group(test_bytes *b, int32_t node, const int32_t *children, int32_t count)
{
    test_bytes c = {0};
    test_put_i32(&c, node);
    test_put_i32(&c, 0);
    test_put_i32(&c, count);
    for (int32_t i = 0; i < count; i++) test_put_i32(&c, children[i]);
    put_chunk(b, "nGRP", c);
}

static void put_shape(test_bytes *b, int32_t node, int32_t model)
{
    test_bytes c = {0};
    test_put_i32(&c, node);
    test_put_i32(&c, 0);
    test_put_i32(&c, 1);
    test_put_i32(&c, model);
    test_put_i32(&c, 0);
    put_chunk(b, "nSHP", c);
}

static weir_status parse(const test_bytes *b, weir_voxels *voxels)
{
    return vox_read_bytes("test.vox", b->at, b->size, NULL, voxels);
}

// The file must be refused, in a sentence that holds `why`.
static void assert_refused(test_bytes b, const char *why)
{
    weir_voxels voxels;
    weir_status status = parse(&b, &voxels);
    assert_true(status == WEIR_ERROR_FORMAT || status == WEIR_ERROR_LIMIT);
    if (!strstr(weir_error_message(), why)) fail_msg("'%s' does not say '%s'", weir_error_message(), why);
    assert_null(voxels.values);
    free(b.at);
}

static uint8_t value_at(const weir_voxels *v, int32_t x, int32_t y, int32_t z)
{
    return v->values[x + v->size.x * (y + v->size.y * z)];
}

// ---- There and back --------------------------------------------------------------------------------------------------------

static weir_voxels random_voxels(weir_coord size, weir_coord origin, uint32_t one_in)
{
    weir_voxels v = {.kind = WEIR_VOXELS_PALETTE, .origin = origin, .size = size};
    size_t cells = (size_t)size.x * (size_t)size.y * (size_t)size.z;
    v.values = calloc(cells, 1);
    assert_non_null(v.values);
    uint32_t state = 1;
    for (size_t i = 0; i < cells; i++) {
        state = state * 1664525u + 1013904223u;
        if (state >> 16 < 65536 / one_in) v.values[i] = (uint8_t)(1 + (state >> 8) % 255);
    }
    for (int32_t i = 1; i < 256; i++) {
        const uint8_t colour[4] = {(uint8_t)i, (uint8_t)(3 * i), (uint8_t)(7 * i), (uint8_t)(i == 9 ? 100 : 255)};
        memcpy(v.palette[i], colour, 4);
    }
    return v;
}

static void assert_same_voxels(const weir_voxels *a, const weir_voxels *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_memory_equal(&a->size, &b->size, sizeof a->size);
    assert_memory_equal(&a->origin, &b->origin, sizeof a->origin);
    assert_memory_equal(a->palette[1], b->palette[1], 4 * 255);
    assert_memory_equal(a->values, b->values, (size_t)a->size.x * (size_t)a->size.y * (size_t)a->size.z);
}

static void assert_comes_back(weir_coord size, weir_coord origin, uint32_t one_in)
{
    const char *path = test_path(".vox");
    weir_voxels voxels = random_voxels(size, origin, one_in), again;
    assert_ok(weir_vox_write(path, &voxels));
    assert_ok(weir_voxels_read(path, NULL, &again));
    assert_same_voxels(&voxels, &again);
    weir_voxels_free(&voxels);
    weir_voxels_free(&again);
    unlink(path);
}

static void what_is_written_is_read_back(void **state)
{
    assert_comes_back((weir_coord){37, 20, 41}, (weir_coord){0, 0, 0}, 3);
    assert_comes_back((weir_coord){8, 9, 10}, (weir_coord){-100, 7, -3}, 2);
    assert_comes_back((weir_coord){1, 1, 1}, (weir_coord){5, -6, 7}, 1);
}

static void larger_worlds_are_made_of_several_models(void **state)
{
    assert_comes_back((weir_coord){300, 20, 520}, (weir_coord){-11, 3, 12345}, 50);
    assert_comes_back((weir_coord){257, 256, 3}, (weir_coord){0, 0, -257}, 5);
    // Tiles without voxels are left out, but for the corners.
    assert_comes_back((weir_coord){700, 5, 700}, (weir_coord){1, 2, 3}, 60000);
}

static void the_header_is_as_the_format_says(void **state)
{
    const char *path = test_path(".vox");
    weir_voxels voxels = random_voxels((weir_coord){5, 6, 7}, (weir_coord){0, 0, 0}, 1);
    assert_ok(weir_vox_write(path, &voxels));
    test_bytes b = test_read(path);
    assert_memory_equal(b.at, "VOX ", 4);
    assert_int_equal(test_i32(b.at + 4), 150);
    assert_memory_equal(b.at + 8, "MAIN", 4);
    assert_int_equal(test_i32(b.at + 12), 0);
    assert_int_equal(test_i32(b.at + 16), b.size - 20);
    // Their z is up.
    assert_memory_equal(b.at + 20, "SIZE", 4);
    assert_int_equal(test_i32(b.at + 24), 12);
    assert_true(test_i32(b.at + 32) == 5 && test_i32(b.at + 36) == 7 && test_i32(b.at + 40) == 6);
    assert_memory_equal(b.at + 44, "XYZI", 4);
    int32_t count = test_i32(b.at + 56);
    assert_int_equal(test_i32(b.at + 48), 4 + 4 * count);
    assert_int_equal(count, 5 * 6 * 7);
    // The chunks follow one another up to the end, and there are a palette and a glass.
    int32_t palettes = 0, glasses = 0, nodes = 0;
    for (size_t at = 20; at < b.size; at += 12 + (size_t)test_i32(b.at + at + 4)) {
        assert_true(at + 12 <= b.size);
        palettes += memcmp(b.at + at, "RGBA", 4) == 0 && test_i32(b.at + at + 4) == 1024;
        glasses += memcmp(b.at + at, "MATL", 4) == 0 && test_i32(b.at + at + 12) == 9;
        nodes += b.at[at] == 'n';
    }
    assert_true(palettes == 1 && glasses == 1 && nodes == 4);
    free(b.at);
    weir_voxels_free(&voxels);
    unlink(path);
}

static void a_world_becomes_water_and_terrain(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 24, 24, 24);
    weir_world *world = test_make(&def);
    weir_voxels voxels;
    assert_ok(weir_voxels_of_world(world, NULL, &voxels));
    assert_int_equal(voxels.size.x * voxels.size.y * voxels.size.z, 1);  // there is nothing yet
    weir_voxels_free(&voxels);
    assert_ok(weir_world_build(world, test_box(0, 0, 0, 24, 2, 24), 255));
    test_fill(world, test_box(3, 2, 4, 5, 6, 9), 0.75f);
    test_fill(world, test_box(10, 2, 4, 11, 6, 9), 0.25f);
    assert_ok(weir_voxels_of_world(world, NULL, &voxels));
    int32_t counts[3] = {0};
    for (int32_t i = 0; i < voxels.size.x * voxels.size.y * voxels.size.z; i++) counts[voxels.values[i]]++;
    assert_int_equal(counts[WEIR_VOX_TERRAIN], 24 * 2 * 24);
    assert_int_equal(counts[WEIR_VOX_WATER], 2 * 4 * 5);
    assert_int_equal(value_at(&voxels, 3 - voxels.origin.x, 2 - voxels.origin.y, 4 - voxels.origin.z), WEIR_VOX_WATER);
    weir_voxels_free(&voxels);
    weir_world_destroy(world);
}

static void other_materials_have_their_colours(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 8, 8);
    weir_world *world = test_make(&def);
    weir_voxels voxels;
    test_fill(world, test_box(0, 0, 0, 2, 2, 2), 1);
    assert_ok(weir_world_fill(world, test_box(4, 0, 0, 6, 2, 2), WEIR_OIL, 1));
    assert_ok(weir_world_fill(world, test_box(8, 0, 0, 9, 2, 2), WEIR_ICE, 0.75f));
    assert_ok(weir_voxels_of_world(world, NULL, &voxels));
    int32_t counts[256] = {0};
    for (int32_t i = 0; i < voxels.size.x * voxels.size.y * voxels.size.z; i++) counts[voxels.values[i]]++;
    assert_int_equal(counts[WEIR_VOX_WATER], 8);
    assert_int_equal(counts[WEIR_VOX_MATERIAL(WEIR_OIL)], 8);
    assert_int_equal(counts[WEIR_VOX_MATERIAL(WEIR_ICE)], 4);
    const uint8_t oil[4] = {64, 51, 20, 110}, ice[4] = {194, 224, 242, 255}, none[4] = {0};
    assert_memory_equal(voxels.palette[WEIR_VOX_MATERIAL(WEIR_OIL)], oil, 4);
    assert_memory_equal(voxels.palette[WEIR_VOX_MATERIAL(WEIR_ICE)], ice, 4);
    assert_memory_equal(voxels.palette[WEIR_VOX_MATERIAL(WEIR_LAVA)], none, 4);
    weir_voxels_free(&voxels);
    weir_world_destroy(world);
}

// ---- What the format can say -----------------------------------------------------------------------------------------------

static const uint8_t ONE[1][4] = {{0, 0, 0, 7}};

static void a_model_alone_lies_at_the_origin_with_z_up_turned_to_y_up(void **state)
{
    const uint8_t voxels[2][4] = {{0, 0, 0, 1}, {2, 3, 4, 200}};
    test_bytes b = begin_file();
    put_model(&b, 3, 4, 5, voxels, 2);
    put_model(&b, 1, 1, 1, ONE, 1);  // the next frame of an animation
    weir_voxels v;
    assert_ok(parse(&b, &v));
    assert_true(v.origin.x == 0 && v.origin.y == 0 && v.origin.z == 0);
    assert_true(v.size.x == 3 && v.size.y == 5 && v.size.z == 4);
    assert_int_equal(value_at(&v, 0, 0, 3), 1);
    assert_int_equal(value_at(&v, 2, 4, 0), 200);
    // The usual palette: white first, then less blue; a step of red, and black's neighbour last.
    const uint8_t second[4] = {255, 255, 204, 255}, red[4] = {0xee, 0, 0, 255}, last[4] = {0x11, 0x11, 0x11, 255};
    assert_memory_equal(v.palette[2], second, 4);
    assert_memory_equal(v.palette[216], red, 4);
    assert_memory_equal(v.palette[255], last, 4);
    weir_voxels_free(&v);
    free(b.at);
}

// The example of the format's description: rows (0 1 0), (0 0 -1), (-1 0 0).
static void rotations_are_read_as_the_format_says(void **state)
{
    const uint8_t voxels[2][4] = {{0, 0, 0, 1}, {4, 2, 6, 2}};
    const int32_t child = 2;
    test_bytes b = begin_file();
    put_model(&b, 5, 3, 7, voxels, 2);
    put_transform(&b, 0, 1, -1, false, NULL, NULL);
    put_group(&b, 1, &child, 1);
    char turn[8];
    snprintf(turn, sizeof turn, "%d", 1 << 0 | 2 << 2 | 0 << 4 | 1 << 5 | 1 << 6);
    put_transform(&b, 2, 3, 0, false, turn, "10 20 30");
    put_shape(&b, 3, 0);
    weir_voxels v;
    assert_ok(parse(&b, &v));
    // Size 5 x 3 x 7 becomes 3 x 7 x 5 in their axes, 3 x 5 x 7 in ours.
    assert_true(v.size.x == 3 && v.size.y == 5 && v.size.z == 7);
    // Voxel centres, seen from the middle (2, 1, 3): (-1.5, -0.5, -2.5) and (2.5, 1.5, 3.5). Turned: (y, -z, -x), so (-0.5, 2.5, 1.5)
    // and (1.5, -3.5, -2.5); shifted and rounded down: (9, 22, 31) and (11, 16, 27). Ours: (9, 31, -23) and (11, 27, -17).
    assert_true(v.origin.x == 9 && v.origin.y == 27 && v.origin.z == -23);
    assert_int_equal(value_at(&v, 0, 4, 0), 1);
    assert_int_equal(value_at(&v, 2, 0, 6), 2);
    weir_voxels_free(&v);
    free(b.at);
}

// A model of 4 x 3 x 2, whose middle is (2, 1, 1): on the axes of even length that is the model's true middle, on the odd one it is rounded
// down. Seen from there the centres of its three voxels are
//
//     a (-1.5, -0.5, -0.5)     b (1.5, 0.5, -0.5)     c (-0.5, 1.5, 0.5)
//
// Every turn puts them at the places below, worked out by hand: turned, shifted by (10, 20, 30), rounded down.
static void turns_keep_the_middle_of_models_that_are_no_cubes(void **state)
{
    static const uint8_t voxels[3][4] = {{0, 0, 0, 1}, {3, 1, 0, 2}, {1, 2, 1, 3}};
    static const struct {
        const char *turn;
        int32_t size[3], places[3][3];
    } turns[] = {
        {"4", {4, 3, 2}, {{8, 19, 29}, {11, 20, 29}, {9, 21, 30}}},    // (x, y, z)
        {"17", {3, 4, 2}, {{10, 18, 29}, {9, 21, 29}, {8, 19, 30}}},   // (-y, x, z)
        {"52", {4, 3, 2}, {{11, 20, 29}, {8, 19, 29}, {10, 18, 30}}},  // (-x, -y, z)
        {"40", {4, 2, 3}, {{8, 20, 29}, {11, 20, 30}, {9, 19, 31}}},   // (x, -z, y)
        {"9", {3, 2, 4}, {{9, 19, 28}, {10, 19, 31}, {11, 20, 29}}},   // (y, z, x)
        {"2", {2, 4, 3}, {{9, 18, 29}, {9, 21, 30}, {10, 19, 31}}},    // (z, x, y)
        {"68", {4, 3, 2}, {{8, 19, 30}, {11, 20, 30}, {9, 21, 29}}},   // (x, y, -z), a mirror
        {"121", {3, 2, 4}, {{10, 20, 31}, {9, 20, 28}, {8, 19, 30}}},  // (-y, -z, -x)
    };
    const int32_t child = 2;
    for (size_t t = 0; t < sizeof turns / sizeof turns[0]; t++) {
        test_bytes b = begin_file();
        put_model(&b, 4, 3, 2, voxels, 3);
        put_transform(&b, 0, 1, -1, false, NULL, NULL);
        put_group(&b, 1, &child, 1);
        put_transform(&b, 2, 3, 0, false, turns[t].turn, "10 20 30");
        put_shape(&b, 3, 0);
        weir_voxels v;
        assert_ok(parse(&b, &v));
        const int32_t *size = turns[t].size;
        assert_true(v.size.x == size[0] && v.size.y == size[2] && v.size.z == size[1]);
        for (int32_t i = 0; i < 3; i++) {
            // Their (x, y, z) is our (x, z, -1 - y).
            const int32_t *p = turns[t].places[i], x = p[0] - v.origin.x, y = p[2] - v.origin.y, z = -1 - p[1] - v.origin.z;
            assert_true(x >= 0 && y >= 0 && z >= 0 && x < v.size.x && y < v.size.y && z < v.size.z);
            if (value_at(&v, x, y, z) != i + 1) fail_msg("turn %s puts voxel %d elsewhere", turns[t].turn, i);
        }
        weir_voxels_free(&v);
        free(b.at);
    }
}

static void transforms_add_up_and_what_is_hidden_is_left_out(void **state)
{
    const int32_t upper[3] = {2, 6, 8}, lower[2] = {4, 10};
    test_bytes b = begin_file(), layer = {0};
    put_model(&b, 1, 1, 1, ONE, 1);
    put_transform(&b, 0, 1, -1, false, NULL, NULL);
    put_group(&b, 1, upper, 3);
    // A quarter turn about z, x to y, around a shift along x: the shift ends along y.
    put_transform(&b, 2, 3, 0, false, "17", "100 0 0");
    put_group(&b, 3, lower, 2);
    put_transform(&b, 4, 5, 0, false, NULL, "10 0 0");
    put_shape(&b, 5, 0);
    put_transform(&b, 6, 7, 0, true, NULL, "5000 0 0");
    put_shape(&b, 7, 0);
    put_transform(&b, 8, 9, 3, false, NULL, "6000 0 0");
    put_shape(&b, 9, 0);
    put_transform(&b, 10, 11, 0, false, NULL, "0 0 0");
    put_shape(&b, 11, 0);
    test_put_i32(&layer, 3);
    test_put_i32(&layer, 1);
    put_word(&layer, "_hidden");
    put_word(&layer, "1");
    test_put_i32(&layer, -1);
    put_chunk(&b, "LAYR", layer);
    weir_voxels v;
    assert_ok(parse(&b, &v));
    // Packed 17: rows (0 -1 0), (1 0 0), (0 0 1).
    assert_true(v.size.x == 1 && v.size.y == 1 && v.size.z == 11);
    assert_true(v.origin.x == 99 && v.origin.y == 0 && v.origin.z == -11);
    assert_true(value_at(&v, 0, 0, 0) == 7 && value_at(&v, 0, 0, 10) == 7);
    weir_voxels_free(&v);
    free(b.at);
}

static void colours_have_the_numbers_that_the_editor_shows(void **state)
{
    test_bytes b = begin_file(), palette = {0}, order = {0};
    put_model(&b, 1, 1, 1, ONE, 1);
    for (int32_t i = 0; i < 256; i++) test_put_i32(&palette, i + 1);
    put_chunk(&b, "RGBA", palette);
    for (int32_t i = 0; i < 256; i++) {
        uint8_t colour = (uint8_t)(i == 0 ? 7 : i == 6 ? 1 : i + 1);  // colours 1 and 7 have changed places
        test_put(&order, &colour, 1);
    }
    put_chunk(&b, "IMAP", order);
    weir_voxels v;
    assert_ok(parse(&b, &v));
    assert_int_equal(v.values[0], 1);
    assert_int_equal(test_i32(v.palette[1]), 7);
    assert_int_equal(test_i32(v.palette[7]), 1);
    assert_int_equal(test_i32(v.palette[8]), 8);
    weir_voxels_free(&v);
    free(b.at);
}

// ---- What it cannot --------------------------------------------------------------------------------------------------------

static void a_file_that_ends_anywhere_is_refused(void **state)
{
    const char *path = test_path(".vox");
    weir_voxels voxels = random_voxels((weir_coord){4, 4, 4}, (weir_coord){0, 0, 0}, 2), v;
    assert_ok(weir_vox_write(path, &voxels));
    test_bytes b = test_read(path);
    unlink(path);
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *part = malloc(size + 1);  // of its own, so that a sanitizer sees a step too far
        assert_non_null(part);
        memcpy(part, b.at, size);
        weir_status status = vox_read_bytes("test.vox", part, size, NULL, &v);
        if (status == WEIR_OK) weir_voxels_free(&v);  // it ended between chunks that nothing needs
        free(part);
    }
    for (size_t i = 0; i < b.size; i++) {
        uint8_t kept = b.at[i];
        for (int32_t k = 0; k < 3; k++) {
            b.at[i] = (uint8_t)(k == 0 ? 0xff : k == 1 ? 0 : kept ^ 0x80);
            const weir_voxels_def def = {.limit = 1 << 20};
            if (vox_read_bytes("test.vox", b.at, b.size, &def, &v) == WEIR_OK) weir_voxels_free(&v);
        }
        b.at[i] = kept;
    }
    free(b.at);
    weir_voxels_free(&voxels);
}

static void what_is_no_file_of_the_kind_is_refused(void **state)
{
    assert_refused((test_bytes){0}, "not a MagicaVoxel file");
    test_bytes b = {0};
    test_put(&b, "PNG ", 4);
    assert_refused(b, "not a MagicaVoxel file");
    assert_refused(begin_file(), "no model");
    weir_voxels v;
    assert_int_equal(weir_vox_read("/nowhere/at/all.vox", NULL, &v), WEIR_ERROR_FILE);
    assert_int_equal(weir_vox_read("/", NULL, &v), WEIR_ERROR_FILE);
    assert_int_equal(weir_vox_read("x.vox", &(weir_voxels_def){.scale = 2}, &v), WEIR_ERROR_ARGUMENT);
}

static void models_that_make_no_sense_are_refused(void **state)
{
    test_bytes b = begin_file();
    put_model(&b, 0, 1, 1, ONE, 1);
    assert_refused(b, "0 x 1 x 1");
    b = begin_file();
    put_model(&b, 1 << 30, 1 << 30, 1, ONE, 1);
    assert_refused(b, "1 to 256");
    b = begin_file();
    put_model(&b, 1, 1, -1, ONE, 1);
    assert_refused(b, "1 to 256");
    const uint8_t outside[1][4] = {{0, 2, 0, 1}};
    b = begin_file();
    put_model(&b, 2, 2, 2, outside, 1);
    assert_refused(b, "outside");

    const int64_t claims[] = {INT32_MAX, -1, 2};
    for (int32_t i = 0; i < 3; i++) {
        test_bytes content = {0};
        b = begin_file();
        put_model(&b, 1, 1, 1, ONE, 1);
        b.size -= 20;  // its voxels
        test_put_i32(&content, claims[i]);
        test_put(&content, ONE, 4);
        put_chunk(&b, "XYZI", content);
        assert_refused(b, "no room");
    }
    b = begin_file();
    put_model(&b, 1, 1, 1, ONE, 1);
    b.size -= 20;
    assert_refused(b, "no voxels");
    test_bytes content = {0};
    b = begin_file();
    test_put_i32(&content, 0);
    put_chunk(&b, "XYZI", content);
    assert_refused(b, "belong to no model");
}

static test_bytes with_model(void)
{
    test_bytes b = begin_file();
    put_model(&b, 1, 1, 1, ONE, 1);
    return b;
}

static void graphs_that_loop_or_are_too_deep_are_refused(void **state)
{
    const int32_t back[1] = {0}, twice[2] = {2, 2};
    test_bytes b = with_model();
    put_transform(&b, 0, 1, -1, false, NULL, NULL);
    put_group(&b, 1, back, 1);
    assert_refused(b, "loop");
    b = with_model();
    put_transform(&b, 0, 1, -1, false, NULL, NULL);
    put_group(&b, 1, twice, 2);
    put_shape(&b, 2, 0);
    assert_refused(b, "two parents");
    b = with_model();
    put_transform(&b, 0, 9, -1, false, NULL, NULL);
    assert_refused(b, "node 9 is not there");
    b = with_model();
    put_shape(&b, 0, 5);
    assert_refused(b, "model 5");
    b = with_model();
    put_shape(&b, 0, 0);
    put_shape(&b, 0, 0);
    assert_refused(b, "two nodes 0");
    b = with_model();
    for (int32_t i = 0; i < 10000; i++) put_transform(&b, i, i + 1, 0, false, NULL, NULL);
    put_shape(&b, 10000, 0);
    assert_refused(b, "deep");
    b = with_model();
    put_transform(&b, 0, 1, -1, true, NULL, NULL);
    put_shape(&b, 1, 0);
    assert_refused(b, "shows no model");
}

static void transforms_that_make_no_sense_are_refused(void **state)
{
    const char *const turns[] = {"0", "5", "3", "128", "-1", "x", "", "4 4"};
    for (size_t i = 0; i < sizeof turns / sizeof turns[0]; i++) {
        test_bytes b = with_model();
        put_transform(&b, 0, 1, -1, false, turns[i], NULL);
        put_shape(&b, 1, 0);
        assert_refused(b, "rotation");
    }
    const char *const shifts[] = {"1 2", "1 2 3 4", "a b c", "", "99999999999999999999 0 0", "2000000000 0 0"};
    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        test_bytes b = with_model();
        put_transform(&b, 0, 1, -1, false, NULL, shifts[i]);
        put_shape(&b, 1, 0);
        assert_refused(b, "translation");
    }
}

static void voxels_too_far_apart_are_refused_before_room_is_made(void **state)
{
    const int32_t children[2] = {2, 4};
    const char *const far[] = {"900000000 0 0", "1000000000 0 0"};
    for (int32_t i = 0; i < 2; i++) {
        test_bytes b = with_model();
        put_transform(&b, 0, 1, -1, false, NULL, i ? far[1] : NULL);
        put_group(&b, 1, children, 2);
        put_transform(&b, 2, 3, 0, false, NULL, "0 0 0");
        put_shape(&b, 3, 0);
        put_transform(&b, 4, 5, 0, false, NULL, far[i]);
        put_shape(&b, 5, 0);
        assert_refused(b, i ? "outside any world" : "at most");
    }
}

// A model of 4096 voxels, placed 300 times over: more than a limit of a million.
static void voxels_placed_over_and_over_are_refused(void **state)
{
    test_bytes b = begin_file();
    uint8_t(*voxels)[4] = calloc(4096, 4);
    assert_non_null(voxels);
    put_model(&b, 1, 1, 1, voxels, 4096);
    free(voxels);
    int32_t children[300];
    for (int32_t i = 0; i < 300; i++) put_shape(&b, children[i] = i + 1, 0);
    put_group(&b, 0, children, 300);
    weir_voxels v;
    const weir_voxels_def def = {.limit = 1000000};
    assert_int_equal(vox_read_bytes("test.vox", b.at, b.size, &def, &v), WEIR_ERROR_FORMAT);
    assert_non_null(strstr(weir_error_message(), "1228800"));
    free(b.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(larger_worlds_are_made_of_several_models),
        cmocka_unit_test(the_header_is_as_the_format_says),
        cmocka_unit_test(a_world_becomes_water_and_terrain),
        cmocka_unit_test(other_materials_have_their_colours),
        cmocka_unit_test(a_model_alone_lies_at_the_origin_with_z_up_turned_to_y_up),
        cmocka_unit_test(rotations_are_read_as_the_format_says),
        cmocka_unit_test(turns_keep_the_middle_of_models_that_are_no_cubes),
        cmocka_unit_test(transforms_add_up_and_what_is_hidden_is_left_out),
        cmocka_unit_test(colours_have_the_numbers_that_the_editor_shows),
        cmocka_unit_test(a_file_that_ends_anywhere_is_refused),
        cmocka_unit_test(what_is_no_file_of_the_kind_is_refused),
        cmocka_unit_test(models_that_make_no_sense_are_refused),
        cmocka_unit_test(graphs_that_loop_or_are_too_deep_are_refused),
        cmocka_unit_test(transforms_that_make_no_sense_are_refused),
        cmocka_unit_test(voxels_too_far_apart_are_refused_before_room_is_made),
        cmocka_unit_test(voxels_placed_over_and_over_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
