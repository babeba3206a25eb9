// Volumes out, height maps and meshes in, and voxels on their way into a world. What other programs make of the files is asked by
// test_exports.sh; .vox files have test_vox.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "formats/mesh_read.h"
#include "test_files.h"
#include "test_world.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <weir/formats.h>
#include <weir/path.h>

// A quarter of a pool on uneven ground, a few updates on.
static weir_world *make_scene(void)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 40, 24, 20);
    weir_world *world = test_make(&def);
    assert_ok(weir_world_build(world, test_box(20, 0, 0, 26, 5, 12), 255));
    assert_ok(weir_world_build(world, test_box(30, 0, 0, 31, 1, 20), 60));
    test_fill(world, test_box(0, 0, 0, 11, 17, 20), 1);
    test_step(world, 5);
    return world;
}

static void assert_says(const char *what)
{
    if (!strstr(weir_error_message(), what)) fail_msg("'%s' does not say '%s'", weir_error_message(), what);
}

// ---- A full disk -----------------------------------------------------------------------------------------------------------

// A limit on the size of files stands for the end of the disk.
static void a_full_disk_is_told_by_its_reason(void **state)
{
    weir_world *world = make_scene();
    enum { EDGE = 300 };
    uint8_t *rgb = malloc(EDGE * EDGE * 3);
    assert_non_null(rgb);
    for (size_t i = 0; i < EDGE * EDGE * 3; i++) rgb[i] = (uint8_t)(i * i >> 3);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {8192, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const char *paths[3] = {test_path(".vti"), test_path(".nvdb"), test_path(".png")};
    for (int32_t i = 0; i < 3; i++) {
        weir_status status = i == 0   ? weir_vti_write(paths[i], world, NULL)
                             : i == 1 ? weir_nvdb_write(paths[i], world)
                                      : weir_png_write(paths[i], EDGE, EDGE, rgb);
        if (status == WEIR_ERROR_UNSUPPORTED) continue;
        assert_int_equal(status, WEIR_ERROR_FILE);
        assert_says(strerror(EFBIG));
        assert_int_equal(access(paths[i], F_OK), -1);
    }
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    free(rgb);
    weir_world_destroy(world);
}

// ---- Volumes ---------------------------------------------------------------------------------------------------------------

static void a_vti_file_holds_the_values_of_its_box(void **state)
{
    const char *path = test_path(".vti");
    weir_world *world = make_scene();
    const weir_box box = test_box(-2, 1, 3, 27, 12, 21);
    const size_t cells = 29 * 11 * 18;
    assert_ok(weir_vti_write(path, world, &box));
    test_bytes b = test_read(path);
    test_put(&b, "", 1);
    const char *text = (const char *)b.at;
    assert_non_null(strstr(text, "WholeExtent=\"0 29 0 11 0 18\" Origin=\"-2 1 3\" Spacing=\"1 1 1\""));
    assert_non_null(strstr(text, "type=\"UInt8\" Name=\"terrain\""));
    const uint8_t *data = (const uint8_t *)strstr(text, "<AppendedData encoding=\"raw\">\n_");
    assert_non_null(data);
    data += strlen("<AppendedData encoding=\"raw\">\n_");

    void *values = malloc(cells * sizeof(weir_vec));
    assert_non_null(values);
    assert_ok(weir_world_read_fill(world, box, values));
    assert_int_equal(test_u64(data), 4 * cells);
    assert_memory_equal(data + 8, values, 4 * cells);
    data += 8 + 4 * cells;
    assert_ok(weir_world_read_flow(world, box, values));
    assert_int_equal(test_u64(data), 12 * cells);
    assert_memory_equal(data + 8, values, 12 * cells);
    data += 8 + 12 * cells;
    assert_ok(weir_world_read_pressure(world, box, values));
    assert_memory_equal(data + 8, values, 4 * cells);
    data += 8 + 4 * cells;
    assert_ok(weir_world_read_terrain(world, box, values));
    assert_int_equal(test_u64(data), cells);
    assert_memory_equal(data + 8, values, cells);
    assert_memory_equal(data + 8 + cells, "\n</AppendedData>", 16);
    free(values);
    free(b.at);
    unlink(path);
    weir_world_destroy(world);
}

// What a world of several materials adds to the file.
static void a_vti_file_knows_materials_and_temperature(void **state)
{
    const char *path = test_path(".vti");
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 16, 16, 16);
    weir_world *world = test_make(&def);
    weir_material own;
    assert_ok(weir_world_add_material(world, &(weir_material_def){.name = "a<\"&>", .density = 2, .viscosity = 9}, &own));
    assert_ok(weir_world_fill(world, test_box(0, 0, 0, 16, 4, 16), WEIR_OIL, 1));
    assert_ok(weir_world_fill(world, test_box(0, 4, 0, 16, 8, 16), own, 1));
    assert_ok(weir_world_set_temperature(world, test_box(0, 0, 0, 8, 8, 8), 350));
    test_step(world, 5);
    const weir_box box = test_box(0, 0, 0, 16, 16, 16);
    const size_t cells = 16 * 16 * 16;
    assert_ok(weir_vti_write(path, world, &box));
    test_bytes b = test_read(path);
    test_put(&b, "", 1);
    const char *text = (const char *)b.at;
    assert_null(strstr(text, "fill_water"));
    assert_non_null(strstr(text, "Name=\"fill_oil\" NumberOfComponents=\"1\" format=\"appended\" offset="));
    assert_non_null(strstr(text, "Name=\"fill_a&#60;&#34;&#38;&#62;\""));
    assert_non_null(strstr(text, "Name=\"temperature\""));
    const uint8_t *data = (const uint8_t *)strstr(text, "<AppendedData encoding=\"raw\">\n_");
    data += strlen("<AppendedData encoding=\"raw\">\n_") + 2 * (8 + 4 * cells) + 8 + 12 * cells + 8 + cells;
    float *values = malloc(cells * sizeof *values);
    assert_non_null(values);
    for (int32_t i = 0; i < 3; i++, data += 8 + 4 * cells) {
        if (i == 2)
            assert_ok(weir_world_read_temperature(world, box, values));
        else
            assert_ok(weir_world_read_amounts(world, box, i == 0 ? WEIR_OIL : own, values));
        assert_int_equal(test_u64(data), 4 * cells);
        assert_memory_equal(data + 8, values, 4 * cells);
    }
    assert_memory_equal(data, "\n</AppendedData>", 16);
    free(values);
    free(b.at);
    unlink(path);
    weir_world_destroy(world);
}

static void a_box_that_nobody_asked_for_is_not_endless(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    const char *path = test_path(".vti");
    assert_ok(weir_vti_write(path, world, NULL));  // empty, and a file all the same
    assert_ok(weir_nvdb_write(path, world));
    unlink(path);
    test_fill(world, test_box(0, 0, 0, 1, 1, 1), 1);
    test_fill(world, test_box(100000, 100000, 0, 100001, 100001, 1), 1);
    assert_int_equal(weir_vti_write(path, world, NULL), WEIR_ERROR_LIMIT);
    assert_says("ask for a box");
    assert_int_not_equal(access(path, F_OK), 0);
    weir_voxels voxels;
    assert_int_equal(weir_voxels_of_world(world, NULL, &voxels), WEIR_ERROR_LIMIT);
    const weir_box box = test_box(0, 0, 0, 4, 4, 4), none = test_box(0, 0, 0, 0, 4, 4);
    assert_ok(weir_vti_write(path, world, &box));
    assert_int_equal(weir_vti_write(path, world, &none), WEIR_ERROR_ARGUMENT);
    assert_ok(weir_nvdb_write(path, world));  // which has no box
    unlink(path);
    weir_world_destroy(world);
}

static void an_nvdb_file_has_the_fields_of_the_format(void **state)
{
    const char *path = test_path(".nvdb");
    weir_world *world = make_scene();
    assert_ok(weir_nvdb_write(path, world));
    test_bytes b = test_read(path);
    // Header: magic, version, two grids, not packed.
    assert_memory_equal(b.at, "NanoVDB0", 8);
    assert_int_equal(test_i32(b.at + 8), 32 << 21 | 4 << 10 | 2);
    assert_int_equal(test_i32(b.at + 12), 2);
    // About the grids: sizes add up to the file's, names and types are right, voxels are the cells with water.
    int64_t wet = 0;
    float *fill = test_fills(world, test_box(0, 0, 0, 40, 24, 20));
    for (int32_t i = 0; i < 40 * 24 * 20; i++) wet += fill[i] > 0;
    free(fill);
    const uint8_t *about = b.at + 16;
    size_t sizes = 0, grid = 16 + 2 * (176 + 5);
    for (int32_t i = 0; i < 2; i++, about += 176 + 5) {
        assert_string_equal((const char *)about + 176, i ? "flow" : "fill");
        assert_int_equal(test_i32(about + 32), i ? 6 : 1);
        assert_int_equal(test_i32(about + 36), i ? 0 : 2);
        assert_int_equal(test_u64(about + 24), wet);
        assert_int_equal(test_u64(about), test_u64(about + 8));
        assert_memory_equal(b.at + grid + sizes, "NanoVDB0", 8);
        assert_int_equal(test_u64(b.at + grid + sizes + 32), test_u64(about));
        sizes += (size_t)test_u64(about);
    }
    assert_int_equal(grid + sizes, b.size);
    free(b.at);
    unlink(path);
    weir_world_destroy(world);
}

static void what_cannot_be_written_is_told_and_leaves_nothing(void **state)
{
    weir_world *world = make_scene();
    weir_voxels voxels;
    assert_ok(weir_voxels_of_world(world, NULL, &voxels));
    assert_int_equal(weir_vti_write("/nowhere/at/all.vti", world, NULL), WEIR_ERROR_FILE);
    assert_int_equal(weir_nvdb_write("/nowhere/at/all.nvdb", world), WEIR_ERROR_FILE);
    assert_int_equal(weir_vox_write("/nowhere/at/all.vox", &voxels), WEIR_ERROR_FILE);
    assert_says("/nowhere/at/all.vox");
    voxels.kind = WEIR_VOXELS_SHARES;
    assert_int_equal(weir_vox_write(test_path(".vox"), &voxels), WEIR_ERROR_ARGUMENT);
    weir_voxels_free(&voxels);
    weir_voxels_free(&voxels);  // twice does no harm
    weir_world_destroy(world);
}

// ---- Voxels into a world ---------------------------------------------------------------------------------------------------

static weir_voxels make_voxels(weir_voxels_kind kind, int32_t x, int32_t y, int32_t z)
{
    weir_voxels v = {.kind = kind, .size = {x, y, z}, .values = calloc((size_t)x * (size_t)y * (size_t)z, 1)};
    assert_non_null(v.values);
    return v;
}

static void voxels_become_terrain_and_water_where_they_lie(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 30, 30, 30);
    weir_world *world = test_make(&def);
    weir_voxels v = make_voxels(WEIR_VOXELS_PALETTE, 17, 13, 11);
    uint32_t random = 5;
    for (int32_t i = 0; i < 17 * 13 * 11; i++) {
        random = random * 1664525u + 1013904223u;
        v.values[i] = (uint8_t)((random >> 20) % 4);  // in lumps of runs, so that boxes are found
        if (i > 0 && (random >> 10) % 4) v.values[i] = v.values[i - 1];
    }
    assert_ok(weir_voxels_put(world, &v, (weir_coord){3, 4, 5}, 2));
    for (int32_t i = 0; i < 17 * 13 * 11; i++) {
        weir_cell cell = weir_world_cell(world, (weir_coord){3 + i % 17, 4 + i / 17 % 13, 5 + i / 17 / 13});
        uint8_t value = v.values[i];
        assert_int_equal(cell.solid, value == 0 || value == 2 ? 0 : 255);
        assert_true(cell.fill == (value == 2 ? 1.0f : 0.0f));
    }
    assert_exact(world);
    weir_voxels_free(&v);
    weir_world_destroy(world);
}

static void voxels_are_cut_to_the_world_and_refused_outside(void **state)
{
    weir_world_def def = test_def(WEIR_SOLVER_MOMENTUM, 16, 16, 16);
    weir_world *world = test_make(&def);
    weir_voxels v = make_voxels(WEIR_VOXELS_SHARES, 10, 10, 10);
    memset(v.values, 200, 1000);
    assert_ok(weir_voxels_put(world, &v, (weir_coord){-5, 10, 12}, 0));
    assert_int_equal(16 * 16 * 16 - weir_world_box_sum(world, def.bounds).open_cells, 5 * 6 * 4);
    assert_int_equal(weir_world_cell(world, (weir_coord){4, 15, 15}).solid, 200);
    assert_int_equal(weir_voxels_put(world, &v, (weir_coord){16, 0, 0}, 0), WEIR_ERROR_OUTSIDE);
    assert_says("10 x 10 x 10 voxels from (16, 0, 0) on lie outside");
    assert_int_equal(weir_voxels_put(world, &v, (weir_coord){INT32_MIN, 0, 0}, 0), WEIR_ERROR_OUTSIDE);
    assert_int_equal(weir_voxels_put(world, &v, (weir_coord){INT32_MAX, 0, 0}, 0), WEIR_ERROR_OUTSIDE);
    weir_world_def endless = weir_world_def_default();
    weir_world *other = test_make(&endless);
    assert_int_equal(weir_voxels_put(other, &v, (weir_coord){WEIR_COORD_LIMIT, 0, 0}, 0), WEIR_ERROR_OUTSIDE);
    assert_says("to (1000000000, 1000000000, 1000000000)");
    weir_world_destroy(other);
    assert_int_equal(weir_voxels_put(world, &v, (weir_coord){0, 0, 0}, 3), WEIR_ERROR_ARGUMENT);  // it has no palette
    assert_int_equal(weir_voxels_put(world, &v, (weir_coord){0, 0, 0}, 256), WEIR_ERROR_ARGUMENT);
    weir_voxels_free(&v);
    weir_world_destroy(world);
}

// ---- Height maps -----------------------------------------------------------------------------------------------------------

static void put_big_endian(test_bytes *b, uint32_t value)
{
    const uint8_t bytes[4] = {(uint8_t)(value >> 24), (uint8_t)(value >> 16), (uint8_t)(value >> 8), (uint8_t)value};
    test_put(b, bytes, 4);
}

static void put_png_chunk(test_bytes *b, const char *id, const test_bytes *content)
{
    put_big_endian(b, (uint32_t)content->size);
    size_t begin = b->size;
    test_put(b, id, 4);
    test_put(b, content->at, content->size);
    uint32_t crc = ~0u;
    for (size_t i = begin; i < b->size; i++) {
        crc ^= b->at[i];
        for (int32_t k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    put_big_endian(b, ~crc);
}

// A PNG of any kind, its rows (with their filter bytes) stored, not packed. `width` is what the header claims.
static test_bytes make_png(uint32_t width, uint32_t height, uint8_t bits, uint8_t colour, const test_bytes *rows)
{
    test_bytes b = {0}, head = {0}, data = {0}, nothing = {0};
    test_put(&b, "\x89PNG\r\n\x1a\n", 8);
    put_big_endian(&head, width);
    put_big_endian(&head, height);
    const uint8_t rest[5] = {bits, colour, 0, 0, 0};
    test_put(&head, rest, 5);
    put_png_chunk(&b, "IHDR", &head);
    const uint16_t size = (uint16_t)rows->size, not_size = (uint16_t)~size;
    const uint8_t block[7] = {0x78, 0x01, 1, (uint8_t)size, (uint8_t)(size >> 8), (uint8_t)not_size, (uint8_t)(not_size >> 8)};
    test_put(&data, block, 7);
    test_put(&data, rows->at, rows->size);
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < rows->size; i++) low = (low + rows->at[i]) % 65521, high = (high + low) % 65521;
    put_big_endian(&data, high << 16 | low);
    put_png_chunk(&b, "IDAT", &data);
    put_png_chunk(&b, "IEND", &nothing);
    free(head.at);
    free(data.at);
    return b;
}

static weir_status read_png(test_bytes png, float scale, weir_voxels *voxels)
{
    const char *path = test_path(".png");
    test_write(path, png.at, png.size);
    weir_status status = weir_voxels_read(path, &(weir_voxels_def){.scale = scale}, voxels);
    unlink(path);
    free(png.at);
    if (status == WEIR_ERROR_UNSUPPORTED) skip();
    return status;
}

// Height of a column, a part of a cell by its share.
static double height_at(const weir_voxels *v, int32_t x, int32_t z)
{
    double height = 0;
    for (int32_t y = 0; y < v->size.y; y++) height += v->values[x + v->size.x * (y + v->size.y * z)] / 255.0;
    return height;
}

static void heights_are_brightness_of_8_or_16_bits(void **state)
{
    weir_voxels v;
    // 3 x 2 in 16 bits, grey.
    const uint16_t values[2][3] = {{0, 1, 32768}, {65535, 6553, 300}};
    test_bytes rows = {0};
    for (int32_t z = 0; z < 2; z++) {
        test_put(&rows, "", 1);
        for (int32_t x = 0; x < 3; x++) {
            const uint8_t bytes[2] = {(uint8_t)(values[z][x] >> 8), (uint8_t)values[z][x]};
            test_put(&rows, bytes, 2);
        }
    }
    assert_ok(read_png(make_png(3, 2, 16, 0, &rows), 1000, &v));
    assert_true(v.kind == WEIR_VOXELS_SHARES && v.size.x == 3 && v.size.y == 1000 && v.size.z == 2);
    for (int32_t i = 0; i < 6; i++)
        assert_float_equal(height_at(&v, i % 3, i / 3), 1000.0 * values[i / 3][i % 3] / 65535, 0.003);
    weir_voxels_free(&v);
    free(rows.at);

    // 2 x 1 in 8 bits, red, green and blue; and the usual height of white.
    const uint8_t colours[7] = {0, 255, 0, 0, 255, 255, 255};
    rows = (test_bytes){0};
    test_put(&rows, colours, 7);
    assert_ok(read_png(make_png(2, 1, 8, 2, &rows), 30, &v));
    assert_float_equal(height_at(&v, 0, 0), 10, 1e-6);
    assert_float_equal(height_at(&v, 1, 0), 30, 1e-6);
    weir_voxels_free(&v);
    assert_ok(read_png(make_png(2, 1, 8, 2, &rows), 0, &v));
    assert_float_equal(height_at(&v, 1, 0), WEIR_VOXELS_EDGE, 1e-6);
    weir_voxels_free(&v);
    free(rows.at);

    // 8 x 1 in 1 bit; black is a floor of nothing.
    const uint8_t bits[2] = {0, 0xa5};
    rows = (test_bytes){0};
    test_put(&rows, bits, 2);
    assert_ok(read_png(make_png(8, 1, 1, 0, &rows), 7, &v));
    for (int32_t x = 0; x < 8; x++) assert_float_equal(height_at(&v, x, 0), (0xa5 >> (7 - x) & 1) ? 7 : 0, 1e-6);
    weir_voxels_free(&v);
    free(rows.at);
}

static void pictures_that_lie_are_refused(void **state)
{
    weir_voxels v;
    test_bytes rows = {0};
    test_put(&rows, "\0abc", 4);
    test_bytes png = make_png(3, 1, 8, 0, &rows);
    assert_ok(read_png(make_png(3, 1, 8, 0, &rows), 5, &v));
    weir_voxels_free(&v);
    for (size_t size = 0; size + 12 < png.size; size++) {  // without its end all is there
        test_bytes part = {0};
        test_put(&part, png.at, size);
        assert_int_equal(read_png(part, 5, &v), WEIR_ERROR_FORMAT);
    }
    png.at[50] ^= 1;
    assert_int_equal(read_png(png, 5, &v), WEIR_ERROR_FORMAT);
    assert_int_equal(read_png(make_png(3, 100, 8, 0, &rows), 5, &v), WEIR_ERROR_FORMAT);  // fewer rows than it claims
    assert_int_equal(read_png(make_png(60000, 60000, 16, 2, &rows), 5, &v), WEIR_ERROR_LIMIT);
    assert_says("60000 x 60000");
    assert_int_equal(read_png(make_png(1u << 30, 1, 16, 2, &rows), 5, &v), WEIR_ERROR_FORMAT);
    assert_int_equal(read_png(make_png(0, 1, 8, 0, &rows), 5, &v), WEIR_ERROR_FORMAT);
    assert_int_equal(read_png(make_png(3, 1, 8, 0, &rows), -1, &v), WEIR_ERROR_ARGUMENT);
    assert_int_equal(read_png(make_png(3, 1, 8, 0, &rows), 1e6f * 1000, &v), WEIR_ERROR_ARGUMENT);
    free(rows.at);
}

// ---- Meshes ----------------------------------------------------------------------------------------------------------------

static weir_status read_obj(const test_bytes *text, float scale, weir_voxels *voxels)
{
    const char *path = test_path(".obj");
    test_write(path, text->at, text->size);
    weir_status status = weir_voxels_read(path, &(weir_voxels_def){.scale = scale}, voxels);
    unlink(path);
    if (status == WEIR_ERROR_UNSUPPORTED) skip();
    return status;
}

__attribute__((format(printf, 2, 3))) static void put_line(test_bytes *b, const char *format, ...)
{
    char line[128];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    test_put(b, line, (size_t)length);
}

// The faces of a box look outwards; `before` corners have been put before. `inside_out` turns two of them round.
static void put_box(test_bytes *b, int32_t before, weir_vec min, weir_vec max, bool inside_out)
{
    static const int32_t faces[6][4] = {{0, 4, 6, 2}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 2, 3, 1}, {4, 5, 7, 6}};
    for (int32_t i = 0; i < 8; i++)
        put_line(b, "v %.9g %.9g %.9g\n", i & 1 ? max.x : min.x, i & 2 ? max.y : min.y, i & 4 ? max.z : min.z);
    for (int32_t f = 0; f < 6; f++) {
        const int32_t *c = faces[f], n = before + 1;
        bool turned = inside_out && f < 4;
        put_line(b, "f %d %d %d %d\n", n + c[turned ? 3 : 0], n + c[turned ? 2 : 1], n + c[turned ? 1 : 2],
                 n + c[turned ? 0 : 3]);
    }
}

static int64_t count_solid(const weir_voxels *v)
{
    int64_t count = 0;
    for (int64_t i = 0; i < (int64_t)v->size.x * v->size.y * v->size.z; i++) count += v->values[i] == 255;
    return count;
}

static void a_cube_is_solid_and_of_its_size(void **state)
{
    weir_voxels v;
    test_bytes b = {0};
    put_box(&b, 0, (weir_vec){-2, 1, 3}, (weir_vec){1, 3, 8}, false);
    assert_ok(read_obj(&b, 4, &v));
    assert_true(v.kind == WEIR_VOXELS_SHARES && v.size.x == 12 && v.size.y == 8 && v.size.z == 20);
    assert_true(v.origin.x == -8 && v.origin.y == 4 && v.origin.z == 12);
    assert_int_equal(count_solid(&v), 12 * 8 * 20);
    weir_voxels_free(&v);
    assert_ok(read_obj(&b, 0, &v));  // the longest side becomes 64 cells
    assert_int_equal(v.size.z, WEIR_VOXELS_EDGE);
    weir_voxels_free(&v);
    // Centres of cells on its sides, edges and corners: each belongs to one of two cubes that share the side. A grain at 0 keeps the cells
    // where they are.
    free(b.at);
    b = (test_bytes){0};
    put_box(&b, 0, (weir_vec){0.5f, 0.5f, 0.5f}, (weir_vec){4.5f, 4.5f, 4.5f}, false);
    put_box(&b, 8, (weir_vec){4.5f, 0.5f, 0.5f}, (weir_vec){8.5f, 4.5f, 4.5f}, false);
    put_box(&b, 16, (weir_vec){0, 0, 0}, (weir_vec){0.125f, 0.125f, 0.125f}, false);
    assert_ok(read_obj(&b, 1, &v));
    assert_int_equal(count_solid(&v), 8 * 4 * 4);
    weir_voxels_free(&v);
    free(b.at);
}

static void put_sphere(test_bytes *b, int32_t rings, int32_t parts, double radius)
{
    for (int32_t i = 0; i <= rings; i++) {
        for (int32_t k = 0; k < parts; k++) {
            double a = 3.14159265358979323846 * i / rings, c = 2 * 3.14159265358979323846 * k / parts;
            put_line(b, "v %.9g %.9g %.9g\n", radius * sin(a) * cos(c), radius * cos(a), radius * sin(a) * sin(c));
        }
    }
    for (int32_t i = 0; i < rings; i++) {
        for (int32_t k = 0; k < parts; k++) {
            int32_t here = 1 + i * parts + k, next = 1 + i * parts + (k + 1) % parts;
            put_line(b, "f %d %d %d %d\n", here, next, next + parts, here + parts);
        }
    }
}

static void a_sphere_has_the_volume_of_a_sphere(void **state)
{
    weir_voxels v;
    test_bytes b = {0};
    put_sphere(&b, 60, 120, 1);
    assert_ok(read_obj(&b, 40, &v));
    // The inscribed polyhedron lacks some parts in a thousand; counting cells by their centres errs by less than one in a thousand.
    double volume = 4.0 / 3 * 3.14159265358979323846 * 40 * 40 * 40;
    assert_true(fabs((double)count_solid(&v) / volume - 1) < 0.004);
    // And it is filled in its middle, and round: the same from both sides.
    assert_int_equal(v.values[40 + v.size.x * (40 + v.size.y * 40)], 255);
    int64_t left = 0, right = 0;
    for (int32_t i = 0; i < v.size.x * v.size.y * v.size.z; i++) *(i % v.size.x < 40 ? &left : &right) += v.values[i] != 0;
    assert_true(llabs(left - right) < 200);
    weir_voxels_free(&v);
    free(b.at);
}

static void bodies_may_overlap_and_faces_be_turned(void **state)
{
    weir_voxels v;
    test_bytes b = {0};
    put_box(&b, 0, (weir_vec){0, 0, 0}, (weir_vec){10, 10, 10}, false);
    put_box(&b, 8, (weir_vec){5, 5, 5}, (weir_vec){15, 15, 15}, false);
    put_box(&b, 16, (weir_vec){2, 2, 2}, (weir_vec){4, 4, 4}, false);
    assert_ok(read_obj(&b, 1, &v));
    assert_int_equal(count_solid(&v), 2000 - 125);
    weir_voxels_free(&v);
    free(b.at);
    b = (test_bytes){0};
    put_box(&b, 0, (weir_vec){0, 0, 0}, (weir_vec){10, 10, 10}, true);
    assert_ok(read_obj(&b, 1, &v));
    assert_int_equal(count_solid(&v), 1000);
    weir_voxels_free(&v);
    free(b.at);
}

static void meshes_that_enclose_nothing_are_refused(void **state)
{
    weir_voxels v;
    const char *const texts[] = {
        "",
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n",
        "v 0 0 0\nv 1 0 0\nv 0 0 1\nf 1 2 3\n",        // a roof over nothing
        "v 0 0 0\nv 0 0 0\nv 0 0 0\nf 1 2 3\n",        // a point
        "v 1e30 0 0\nv 0 1e30 0\nv 0 0 1\nf 1 2 3\n",  // too far
        "v nan 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\n",
        "f 1 2 3\nf 4 5 6\nf -1 -2 -3\n",
        "v 0 0\nv 1\nf\nf 1\nf 1 2\nusemtl\nmtllib /etc/passwd\ng\no\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        test_bytes b = {0};
        test_put(&b, texts[i], strlen(texts[i]));
        weir_status status = read_obj(&b, 1, &v);
        if (status != WEIR_ERROR_FORMAT && status != WEIR_ERROR_LIMIT) fail_msg("mesh %zu: status %d", i, (int)status);
        free(b.at);
    }
    test_bytes b = {0};
    put_box(&b, 0, (weir_vec){0, 0, 0}, (weir_vec){1, 1, 1}, false);
    assert_int_equal(read_obj(&b, 100000, &v), WEIR_ERROR_LIMIT);
    assert_int_equal(read_obj(&b, 16000, &v), WEIR_ERROR_LIMIT);
    assert_int_equal(read_obj(&b, -1, &v), WEIR_ERROR_ARGUMENT);
    assert_int_equal(read_obj(&b, 0.25f, &v), WEIR_ERROR_FORMAT);
    assert_says("fills no cell");
    free(b.at);
    assert_int_equal(weir_voxels_read("/nowhere/at/all.obj", NULL, &v), WEIR_ERROR_FILE);
    assert_int_equal(weir_voxels_read("/nowhere/at/all", NULL, &v), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_voxels_read("/nowhere.is/all", NULL, &v), WEIR_ERROR_ARGUMENT);
}

// Damaged PLY files crash assimp more often than not, which must not reach us.
static void a_file_that_breaks_its_reader_is_refused(void **state)
{
    const char *path = test_path(".ply");
    for (int32_t size = 0; size < 400; size += 40) {
        test_bytes b = {0};
        put_line(&b, "ply\nformat binary_little_endian 1.0\nelement vertex 1000\nproperty float x\nproperty float y\n");
        put_line(&b, "property float z\nelement face 1000\nproperty list uchar uint vertex_indices\nend_header\n");
        for (int32_t i = 0; i < size; i++) test_put(&b, "\xff", 1);
        test_write(path, b.at, b.size);
        free(b.at);
        weir_voxels v;
        weir_status status = weir_voxels_read(path, NULL, &v);
        if (status == WEIR_ERROR_UNSUPPORTED) skip();
        assert_int_equal(status, WEIR_ERROR_FORMAT);
    }
    unlink(path);
}

// Reads triangles with limits of our own; they must not come.
static void assert_no_triangles(const char *path, mesh_limits limits)
{
    triangle_soup soup;
    if (!mesh_can_import()) skip();
    assert_int_equal(mesh_triangles_read(path, &limits, &soup), WEIR_ERROR_FORMAT);
    free(soup.corners);
}

// assimp opens a material's file whatever it is, and of a pipe that nobody writes to waits for the first byte.
static void a_reader_that_waits_for_ever_is_ended(void **state)
{
    const char *path = test_path(".obj"), *pipe_path = test_path(".mtl");
    test_bytes b = {0};
    unlink(pipe_path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    put_line(&b, "mtllib %s\n", weir_path_name(pipe_path));
    put_box(&b, 0, (weir_vec){0, 0, 0}, (weir_vec){1, 1, 1}, false);
    test_write(path, b.at, b.size);
    free(b.at);
    assert_no_triangles(path, (mesh_limits){.seconds = 0.3, .memory = 1 << 30});
    assert_says("takes too long");
    unlink(path);
    unlink(pipe_path);
}

static void a_reader_that_takes_too_much_memory_is_told_from_a_slow_one(void **state)
{
    const char *path = test_path(".ply");
    test_bytes b = {0};
    put_line(&b, "ply\nformat binary_little_endian 1.0\nelement vertex 100000000\nproperty float x\nproperty float y\n");
    put_line(&b, "property float z\nelement face 1\nproperty list uchar uint vertex_indices\nend_header\n");
    test_write(path, b.at, b.size);
    free(b.at);
    assert_no_triangles(path, (mesh_limits){.seconds = 60, .memory = 1 << 28});
#if !defined(__SANITIZE_ADDRESS__)
    assert_says("too much memory");
#endif
    unlink(path);
}

static void an_answer_that_lies_or_ends_early_is_refused(void **state)
{
    const mesh_header lying = {.count = INT64_MAX}, empty = {.count = 2}, silent = {.count = INT64_MIN};
    const struct {
        const void *bytes;
        size_t size;
        weir_status status;
        mesh_answer answer;
    } answers[] = {{&lying, sizeof lying, WEIR_ERROR_LIMIT, MESH_WHOLE},
                   {&empty, sizeof empty, WEIR_OK, MESH_CUT_SHORT},
                   {&silent, sizeof silent, WEIR_ERROR_FORMAT, MESH_WHOLE},
                   {&empty, sizeof empty - 1, WEIR_OK, MESH_CUT_SHORT},
                   {&empty, 0, WEIR_OK, MESH_CUT_SHORT}};
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        int ends[2];
        triangle_soup soup;
        mesh_answer answer;
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], answers[i].bytes, answers[i].size), answers[i].size);
        close(ends[1]);
        assert_int_equal(mesh_receive("test.obj", ends[0], 60, &soup, &answer), answers[i].status);
        assert_int_equal(answer, answers[i].answer);
        close(ends[0]);
        free(soup.corners);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_told_by_its_reason),
        cmocka_unit_test(a_vti_file_holds_the_values_of_its_box),
        cmocka_unit_test(a_vti_file_knows_materials_and_temperature),
        cmocka_unit_test(a_box_that_nobody_asked_for_is_not_endless),
        cmocka_unit_test(an_nvdb_file_has_the_fields_of_the_format),
        cmocka_unit_test(what_cannot_be_written_is_told_and_leaves_nothing),
        cmocka_unit_test(voxels_become_terrain_and_water_where_they_lie),
        cmocka_unit_test(voxels_are_cut_to_the_world_and_refused_outside),
        cmocka_unit_test(heights_are_brightness_of_8_or_16_bits),
        cmocka_unit_test(pictures_that_lie_are_refused),
        cmocka_unit_test(a_cube_is_solid_and_of_its_size),
        cmocka_unit_test(a_sphere_has_the_volume_of_a_sphere),
        cmocka_unit_test(bodies_may_overlap_and_faces_be_turned),
        cmocka_unit_test(meshes_that_enclose_nothing_are_refused),
        cmocka_unit_test(a_file_that_breaks_its_reader_is_refused),
        cmocka_unit_test(a_reader_that_waits_for_ever_is_ended),
        cmocka_unit_test(a_reader_that_takes_too_much_memory_is_told_from_a_slow_one),
        cmocka_unit_test(an_answer_that_lies_or_ends_early_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
