// A script runs as a coroutine: it waits in world{...} until the world has been made, and then puts things into it. What it leaves
// with every, at and probe is called between updates.
#include "scenes/script.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifdef WEIR_HAVE_LUA

#include "scenes/script_inside.h"
#include <weir/path.h>

enum {
    TEXT_MAX = 1 << 20,           // bytes of a script
    WORLD_GIGABYTES = 4,          // that its world may take
    MEMORY_MAX = 64 << 20,        // bytes that one may hold
    INSTRUCTIONS_MAX = 50000000,  // in one call: some tenths of a second
    INSTRUCTIONS_STEP = 500,      // between two looks at them
    SECONDS_MAX = 3,              // in one call, for words that take long and instructions that do, such as failing ones
    INSTRUCTION_BYTES = 16        // of new memory that count as an instruction, for the functions that make long strings
};

// ---- Limits ----------------------------------------------------------------------------------------------------------------

static void *allocate(void *user, void *block, size_t old_size, size_t new_size)
{
    scene_script *script = user;
    size_t before = block ? old_size : 0;  // without a block it is a kind of object
    if (new_size == 0) {
        free(block);
        script->memory -= before;
        return NULL;
    }
    if (new_size > before && script->memory - before + new_size > MEMORY_MAX) return NULL;
    void *grown = realloc(block, new_size);
    if (grown) script->memory += new_size - before;
    if (new_size > before) script->instructions += (int64_t)(new_size - before) / INSTRUCTION_BYTES;
    return grown;
}

// Of the processor, on all threads, so that a busy machine fails no script.
static double processor_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static bool takes_too_long(scene_script *script)
{
    if (processor_seconds() - script->begun > SECONDS_MAX) script->instructions = INSTRUCTIONS_MAX + 1;
    return script->instructions > INSTRUCTIONS_MAX;
}

static void count_instructions(lua_State *lua, lua_Debug *unused);

// Once a limit is reached every instruction and every word fails, so that no pcall of the script's own can go on.
static void check_limit(lua_State *lua, int level)
{
    if (!takes_too_long(script_of(lua))) return;
    lua_sethook(lua, count_instructions, LUA_MASKCOUNT, 1);
    luaL_where(lua, level);
    lua_pushfstring(lua, "the script takes too long: more than %d million instructions or %d seconds in one call",
                    INSTRUCTIONS_MAX / 1000000, SECONDS_MAX);
    lua_concat(lua, 2);
    lua_error(lua);
}

static void count_instructions(lua_State *lua, lua_Debug *unused)
{
    (void)unused;
    script_of(lua)->instructions += INSTRUCTIONS_STEP;
    check_limit(lua, 0);
}

void script_check_limit(lua_State *lua)
{
    check_limit(lua, 1);
}

static void limit_instructions(scene_script *script, lua_State *lua)
{
    script->instructions = 0;
    script->begun = processor_seconds();
    lua_sethook(lua, count_instructions, LUA_MASKCOUNT, INSTRUCTIONS_STEP);
}

// ---- The sandbox -----------------------------------------------------------------------------------------------------------

// Of Lua's own library only what can neither reach out nor keep the processor busy without being counted: no files, no code from
// text, no metatables, no patterns, no sorting.
static const char *const kept[] = {"assert", "error",    "ipairs",   "next", "pairs",
                                   "select", "tonumber", "tostring", "type", NULL};
static const char *const kept_string[] = {"byte", "char", "format", "len", "lower", "rep", "reverse", "sub", "upper", NULL};
static const char *const kept_table[] = {"concat", "insert", "pack", "remove", "unpack", NULL};
static const char *const kept_math[] = {"abs",  "ceil", "cos",  "exp",  "floor",     "fmod",       "huge",       "log",
                                        "max",  "min",  "modf", "pi",   "tointeger", "sin",        "sqrt",       "tan",
                                        "type", "ult",  "acos", "asin", "atan",      "maxinteger", "mininteger", NULL};

// Copies what is kept of a table at the top of the stack into a new one that takes its place.
static void keep_only(lua_State *lua, const char *const *names)
{
    lua_newtable(lua);
    for (int i = 0; names[i]; i++) {
        lua_getfield(lua, -2, names[i]);
        lua_setfield(lua, -2, names[i]);
    }
    lua_remove(lua, -2);
}

static void keep_library(lua_State *lua, const char *name, lua_CFunction open, const char *const *names)
{
    luaL_requiref(lua, name, open, 0);
    keep_only(lua, names);
    lua_setfield(lua, -2, name);
}

// The environment that the script sees, on the stack.
static void make_globals(lua_State *lua)
{
    luaL_requiref(lua, "_G", luaopen_base, 0);
    keep_only(lua, kept);
    keep_library(lua, "string", luaopen_string, kept_string);
    keep_library(lua, "table", luaopen_table, kept_table);
    keep_library(lua, "math", luaopen_math, kept_math);
    // ("x"):rep(9) goes through the strings' metatable, which must know no more than the table does.
    lua_pushliteral(lua, "");
    lua_getmetatable(lua, -1);
    lua_getfield(lua, -3, "string");
    lua_setfield(lua, -2, "__index");
    lua_pop(lua, 2);
    luaL_setfuncs(lua, script_words, 0);
    lua_pushvalue(lua, -1);
    lua_setfield(lua, -2, "_G");
}

// ---- Running ---------------------------------------------------------------------------------------------------------------

// Keeps the error at the top of a stack for scene_error. Lua puts file and line before its own, but not before all.
static weir_status fail_as_lua(lua_State *lua, int state)
{
    const scene_script *script = script_of(lua);
    const char *said = lua_type(lua, -1) == LUA_TSTRING ? lua_tostring(lua, -1) : "the script failed without a sentence";
    char sentence[512];
    if (state == LUA_ERRMEM)
        snprintf(sentence, sizeof sentence, "%s: the script wants more than %d MiB of memory", script->path, MEMORY_MAX >> 20);
    else if (strncmp(said, script->path, strlen(script->path)) != 0)
        snprintf(sentence, sizeof sentence, "%s: %s", script->path, said);
    else
        snprintf(sentence, sizeof sentence, "%s", said);
    return weir_error_set(WEIR_ERROR_ARGUMENT, sentence);
}

// Runs the script on, up to its world{...} or to its end.
static weir_status go_on(scene_script *script)
{
    int results;
    limit_instructions(script, script->body);
    int state = lua_resume(script->body, script->lua, 0, &results);
    if (state == LUA_OK || state == LUA_YIELD) return WEIR_OK;
    return fail_as_lua(script->body, state);
}

static scene_script *script_playing(const scene_run *run)
{
    return (scene_script *)((char *)(uintptr_t)run->def - offsetof(scene_script, def));
}

static void set_up(scene_run *run)
{
    scene_script *script = script_playing(run);
    script->run = run;
    run->status = go_on(script);
}

static void loaded(scene_run *run)
{
    scene_script *script = script_playing(run);
    script->loading = true;
    set_up(run);
    script->loading = false;
}

// Calls a function on the stack of the main state with the arguments above it.
static weir_status call(scene_script *script, int arguments, int results)
{
    limit_instructions(script, script->lua);
    int state = lua_pcall(script->lua, arguments, results, 0);
    return state == LUA_OK ? WEIR_OK : fail_as_lua(script->lua, state);
}

static lua_Integer whole_at(lua_State *lua, int index, int i)
{
    lua_rawgeti(lua, index, i);
    lua_Integer whole = lua_tointeger(lua, -1);
    lua_pop(lua, 1);
    return whole;
}

// After every update. What a function adds with every or at counts from the next update on.
static void after(scene_run *run)
{
    scene_script *script = script_playing(run);
    lua_State *lua = script->lua;
    const int32_t count = script->hook_count;
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &script_hooks);
    const int table = lua_gettop(lua);
    for (int32_t i = 1; i <= count && run->status == WEIR_OK; i++) {
        lua_rawgeti(lua, table, i);
        lua_Integer every = whole_at(lua, -1, 2), at = whole_at(lua, -1, 3);
        if (every > 0 ? run->update % every == 0 : run->update == at) {
            lua_rawgeti(lua, -1, 1);
            lua_pushinteger(lua, run->update);
            run->status = call(script, 1, 0);
        }
        lua_settop(lua, table);
    }
    lua_settop(lua, table - 1);
}

// A probe that is no number, or fails, is not known.
static void measure(scene_run *run)
{
    scene_script *script = script_playing(run);
    lua_State *lua = script->lua;
    lua_rawgetp(lua, LUA_REGISTRYINDEX, &script_probes);
    const int table = lua_gettop(lua);
    for (int32_t i = 0; i < SCENE_PROBES && script->def.probes[i].name; i++) {
        lua_rawgeti(lua, table, i + 1);
        weir_status status = call(script, 0, 1);
        double value = status == WEIR_OK && lua_isnumber(lua, -1) ? lua_tonumber(lua, -1) : NAN;
        if (status != WEIR_OK && script->print) {
            char line[384];
            snprintf(line, sizeof line, "weir: probe %s: %s", script->def.probes[i].name, weir_error_message());
            script->print(line);
        }
        scene_set_probe(run, script->def.probes[i].name, value);
        lua_settop(lua, table);
    }
    lua_settop(lua, table - 1);
}

// ---- Life ------------------------------------------------------------------------------------------------------------------

// The whole file, to be freed; NULL with a sentence.
static char *read_text(const char *path, size_t *size)
{
    struct stat info;
    errno = 0;
    // To open a pipe would be to wait for somebody who writes into it.
    bool other = stat(path, &info) == 0 && !S_ISREG(info.st_mode);
    FILE *file = other ? NULL : fopen(path, "rb");
    char *text = file ? malloc(TEXT_MAX + 1) : NULL;
    *size = text ? fread(text, 1, TEXT_MAX + 1, file) : 0;
    bool failed = !file || !text || ferror(file);
    char sentence[256];
    if (failed)
        snprintf(sentence, sizeof sentence, "cannot read %s: %s", weir_path_tail(path),
                 other ? "it is not a plain file" : strerror(errno ? errno : EIO));
    if (file) fclose(file);
    if (!failed && *size > TEXT_MAX) {
        snprintf(sentence, sizeof sentence, "%s is larger than a script may be, which is 1 MiB", weir_path_tail(path));
        failed = true;
    }
    if (!failed) return text;
    free(text);
    weir_error_set(WEIR_ERROR_FILE, sentence);
    return NULL;
}

// Where the script itself begins, as lua finds it too: some editors put the byte-order mark of UTF-8 before all, and a first line with #
// names the program that plays it. The line's end stays, for the lines to be counted.
static size_t beginning(const char *text, size_t size)
{
    size_t at = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    if (at < size && text[at] == '#')
        while (at < size && text[at] != '\n') at++;
    return at;
}

// The file's name without folders and ending, and its folder.
static void name_script(scene_script *script, const char *path)
{
    const char *file = weir_path_name(path);
    size_t length = strlen(path);
    snprintf(script->path, sizeof script->path, "%s",
             length < sizeof script->path ? path : path + length + 1 - sizeof script->path);
    snprintf(script->folder, sizeof script->folder, "%.*s", (int)(file - path), path);
    snprintf(script->name, sizeof script->name, "%.*s", (int)(weir_path_ending(path) - file), file);
}

// Runs protected: making the tables may want more memory than there is.
static int begin_script(lua_State *lua)
{
    scene_script *script = script_of(lua);
    const scene_options *options = lua_touserdata(lua, 1);
    lua_settop(lua, 0);
    lua_newtable(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &script_hooks);
    lua_newtable(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &script_probes);
    script->body = lua_newthread(lua);
    lua_rawsetp(lua, LUA_REGISTRYINDEX, &script->body);
    make_globals(lua);
    if (options->size > 0) {
        lua_pushinteger(lua, options->size);
        lua_setfield(lua, -2, "size");
    }
    lua_pushinteger(lua, options->seed);
    lua_setfield(lua, -2, "seed");
    lua_rawseti(lua, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    return 0;
}

// Runs protected too.
static int read_size(lua_State *lua)
{
    lua_getglobal(lua, "size");
    lua_Integer size = lua_isinteger(lua, -1) ? lua_tointeger(lua, -1) : 1;
    script_of(lua)->def.size = size >= 1 && size <= 1000000 ? (int32_t)size : 1;
    return 0;
}

static weir_status begin(scene_script *script, const char *path, const scene_options *options)
{
    lua_State *lua = script->lua;
    lua_pushcfunction(lua, begin_script);
    lua_pushlightuserdata(lua, (void *)(uintptr_t)options);
    int state = lua_pcall(lua, 1, 0, 0);
    if (state != LUA_OK) return fail_as_lua(lua, state);
    size_t size;
    char *text = read_text(path, &size);
    if (!text) return WEIR_ERROR_FILE;
    char chunk[sizeof script->path + 1];
    snprintf(chunk, sizeof chunk, "@%s", script->path);
    size_t first = beginning(text, size);
    state = luaL_loadbufferx(script->body, text + first, size - first, chunk, "t");
    free(text);
    if (state != LUA_OK) return fail_as_lua(script->body, state);
    weir_status status = go_on(script);
    if (status == WEIR_OK && !script->described) {
        char sentence[256];
        snprintf(sentence, sizeof sentence, "%s has no world: it never calls world{...}", weir_path_tail(path));
        weir_error_set(status = WEIR_ERROR_ARGUMENT, sentence);
    }
    if (status != WEIR_OK) return status;
    lua_pushcfunction(lua, read_size);
    state = lua_pcall(lua, 0, 0, 0);
    return state == LUA_OK ? WEIR_OK : fail_as_lua(lua, state);
}

weir_status scene_script_open(const char *path, const scene_options *options, scene_script **out)
{
    *out = NULL;
    scene_script *script = calloc(1, sizeof *script);
    lua_State *lua = script ? lua_newstate(allocate, script) : NULL;
    if (!lua) {
        free(script);
        return scene_fail_as_weir(weir_error_set(WEIR_ERROR_MEMORY, "memory ran out for a script"));
    }
    *(scene_script **)lua_getextraspace(lua) = script;
    script->lua = lua;
    script->solver = options->def.solver == SCENE_OWN_SOLVER ? WEIR_SOLVER_MOMENTUM : options->def.solver;
    script->params = weir_params_default();
    script->world_def.params = &script->params;
    script->world_def.memory_limit = (int64_t)WORLD_GIGABYTES << 30;
    script->random = scene_random_seeded(options->seed);
    script->print = options->print;
    name_script(script, path);
    script->def = (scene_def){.name = script->name,
                              .summary = script->summary,
                              .size_meaning = "what the script makes of it",
                              .size_min = 1,
                              .size_max = 1000000,
                              .updates = 1000,
                              .world = &script->world_def,
                              .set_up = set_up,
                              .loaded = loaded,
                              .after = after,
                              .measure = measure};
    weir_status status = begin(script, path, options);
    if (status != WEIR_OK) {
        scene_script_close(script);
        return scene_fail_as_weir(status);
    }
    *out = script;
    return WEIR_OK;
}

void scene_script_close(scene_script *script)
{
    if (!script) return;
    lua_close(script->lua);
    free(script);
}

const scene_def *scene_script_def(const scene_script *script)
{
    return &script->def;
}

#else

weir_status scene_script_open(const char *path, const scene_options *options, scene_script **script)
{
    (void)path;
    (void)options;
    *script = NULL;
    return scene_fail_as_weir(weir_error_set(WEIR_ERROR_UNSUPPORTED, "this build of Weir has no Lua (Debian: liblua5.4-dev)"));
}

void scene_script_close(scene_script *script)
{
    (void)script;
}

const scene_def *scene_script_def(const scene_script *script)
{
    (void)script;
    return NULL;
}

#endif
