// What the two halves of the scene scripts share: script.c runs a script and limits it, script_words.c holds what it can say.
#ifndef SCENES_SCRIPT_INSIDE_H
#define SCENES_SCRIPT_INSIDE_H

#include "scenes/script.h"

#include <lauxlib.h>
#include <limits.h>
#include <lua.h>
#include <lualib.h>

struct scene_script {
    scene_def def;
    weir_world_def world_def;  // bounds and open sides, as world{...} said
    weir_params params;
    weir_solver solver;
    lua_State *lua, *body;
    size_t memory;
    int64_t instructions;  // of the call that runs
    double begun;          // the processor's time at which it began
    scene_run *run;        // NULL until the world is there
    bool described;        // world{...} has been called
    bool loading;          // the world came from a snapshot: edits are already in it
    int32_t next_source;   // number of the next emitter, drain or force while loading
    scene_random random;
    int32_t hook_count;
    void (*print)(const char *line);
    char path[LUA_IDSIZE - 4];  // the end of it, which Lua's own messages show whole
    char folder[PATH_MAX];      // where it lies and may read terrain; with its slash, or empty
    char name[64], summary[128];
    char probe_names[SCENE_PROBES][32], probe_meanings[SCENE_PROBES][96];
};

static inline scene_script *script_of(lua_State *lua)
{
    return *(scene_script **)lua_getextraspace(lua);
}

// Fails if the call has run for too long. One word can take as long as millions of instructions, so each that works on the world
// looks before and after.
void script_check_limit(lua_State *lua);

// Tables in Lua's registry: of {function, every or 0, at}, and of the probes' functions.
extern const char script_hooks, script_probes;

// terrain(file [, x, y, z [, scale [, fluid]]]); script_terrain.c.
int script_terrain(lua_State *lua);

// The functions that scripts call.
extern const luaL_Reg script_words[];

#endif
