// What a game may do to a machine and Weir must not mind, as far as it differs between systems: tests/machine.sh builds this for
// another machine, with that machine's library, and runs it in an empty folder.
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir/formats.h>
#include <weir/weir.h>
#ifdef __x86_64__
#include <xmmintrin.h>
#endif

static void check(bool good, const char *what)
{
    if (good) return;
    fprintf(stderr, "machine: not true here: %s (%s)\n", what, weir_error_message());
    exit(1);
}

static weir_world *play(int32_t threads, int32_t updates)
{
    weir_world_def def = weir_world_def_default();
    def.bounds = (weir_box){{0, 0, 0}, {32, 32, 32}};
    def.threads = threads;
    weir_world *world;
    check(weir_world_create(&def, &world) == WEIR_OK, "a world can be made");
    weir_world_fill(world, (weir_box){{0, 0, 0}, {12, 20, 32}}, WEIR_WATER, 1.0f);
    for (int32_t i = 0; i < updates; i++) check(weir_world_step(world) == WEIR_OK, "a world can be stepped");
    return world;
}

// ---- Floats ----------------------------------------------------------------------------------------------------------------

// Many games let small numbers be zero.
static uint64_t read_control(void)
{
#ifdef __x86_64__
    return _mm_getcsr();
#else
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control));
    return control;
#endif
}

static void write_control(uint64_t control)
{
#ifdef __x86_64__
    _mm_setcsr((unsigned)control);
#else
    __asm__ volatile("msr fpcr, %0" ::"r"(control));
#endif
}

// A rule of the game's sees what all rules are computed with.
static void note_control(const weir_rule_brick *brick, void *user)
{
    (void)brick;
    *(uint64_t *)user = read_control();
}

static void games_that_flush_small_numbers_to_zero_change_no_rule(void)
{
#ifdef __x86_64__
    const uint64_t flush = 0x8040;
#else
    const uint64_t flush = 1 << 24;
#endif
    const uint64_t before = read_control();
    uint64_t seen = flush;
    const weir_rule_def rule = {.name = "control", .place = WEIR_PLACE_AFTER, .run = note_control, .user = &seen};
    weir_world *world = play(1, 0);
    check(weir_world_add_rule(world, &rule) == WEIR_OK, "a rule can be added");
    write_control(before | flush);
    check(weir_world_step(world) == WEIR_OK, "a world with it can be stepped");
    const uint64_t after = read_control();
    write_control(before);
    check((seen & flush) == 0, "rules are computed with all small numbers");
    check((after & flush) == flush, "and the game goes on to flush its own");
    weir_world_destroy(world);
}

// ---- Names of files --------------------------------------------------------------------------------------------------------

static void files_have_names_in_any_language(void)
{
    const char *name = "Tr\xc3\xb6pfchen \xe6\xb0\xb4.weir";
    weir_world *first = play(2, 10), *second = play(2, 20);
    check(weir_world_save(first, name) == WEIR_OK, "a world can be saved under such a name");
    check(weir_world_save(second, name) == WEIR_OK, "and another in its place");
    check(weir_world_load(first, name) == WEIR_OK, "and can be loaded from there");
    check(weir_world_hash(first) == weir_world_hash(second), "and then is that other");
    check(weir_world_load(first, "no such folder/a.weir") == WEIR_ERROR_FILE, "a file that is not there is said not to be");
    check(weir_world_save(first, "no such folder/a.weir") == WEIR_ERROR_FILE, "nor can it be made");
    check(weir_world_save(first, ".") == WEIR_ERROR_FILE, "a folder is no file");
    weir_world_destroy(first);
    weir_world_destroy(second);
}

// ---- Numbers ---------------------------------------------------------------------------------------------------------------

static void files_have_points_where_a_game_has_commas(void)
{
    const char *const names[] = {"de_DE.UTF-8", "de_DE", "German", "de-DE"};
    bool commas = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && !commas; i++) commas = setlocale(LC_ALL, names[i]) != NULL;
    char text[4096] = "", number[16];
    float places[] = {0.5f, 0, 0, 1, 0, 0, 0, 1.25f, 0}, normals[] = {0, 0, 1, 0, 0, 1, 0, 0, 1};
    uint32_t corners[] = {0, 1, 2};
    weir_mesh mesh = {.positions = places, .normals = normals, .indices = corners, .vertex_count = 3, .triangle_count = 1};
    check(weir_obj_write("numbers.obj", &mesh, NULL) == WEIR_OK, "a mesh can be written");
    FILE *file = fopen("numbers.obj", "rb");
    check(file && fread(text, 1, sizeof text - 1, file) > 0, "and be read");
    fclose(file);
    check(strstr(text, "0.5 0 0") && strstr(text, "0 1.25 0"), "numbers have points");
    check(!strchr(text, '\r'), "lines end as everywhere");
    snprintf(number, sizeof number, "%.1f", 0.5);
    check(!commas || strcmp(number, "0,5") == 0, "a game keeps its commas");
    printf("commas %s\n", commas ? "tried" : "not here");
}

int main(void)
{
    games_that_flush_small_numbers_to_zero_change_no_rule();
    files_have_names_in_any_language();
    files_have_points_where_a_game_has_commas();
    return 0;
}
