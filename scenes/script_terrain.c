// terrain(file [, x, y, z [, scale [, fluid]]]): the one file that a script may read besides itself.
//
// It has to lie in the script's folder or below, also when all links have been followed, and be one of the kinds whose readers are
// made for strangers' files.
#include "scenes/script.h"

#ifdef WEIR_HAVE_LUA

#include "scenes/script_inside.h"
#include <weir/path.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <weir/formats.h>

enum { VOXELS_MOST = 1 << 26, VOXELS_PER_INSTRUCTION = 16 };

static bool leads_up(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return true;
    return false;
}

// The file as the system knows it; or a Lua error.
static void find_file(lua_State *lua, const char *name, char path[PATH_MAX])
{
    const scene_script *script = script_of(lua);
    char given[PATH_MAX], folder[PATH_MAX];
    if (weir_path_is_absolute(name) || leads_up(name))
        luaL_error(lua, "terrain(\"%s\"): only files in the script's own folder can be read", name);
    if (!weir_path_ends_in(name, ".vox") && !weir_path_ends_in(name, ".png"))
        luaL_error(lua, "terrain(\"%s\"): a script can read .vox and .png files; meshes are for --terrain", name);
    if (snprintf(given, sizeof given, "%s%s", script->folder, name) >= (int)sizeof given)
        luaL_error(lua, "terrain: the name of the file is too long");
    if (!realpath(given, path) || !realpath(script->folder[0] ? script->folder : ".", folder))
        luaL_error(lua, "terrain(\"%s\"): %s", name, strerror(errno));
    size_t length = strlen(folder);
    if (folder[length - 1] == '/') length--;  // the root's name is nothing but its slash
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        luaL_error(lua, "terrain(\"%s\"): it leads out of the script's own folder", name);
}

static int32_t place_or(lua_State *lua, int index, int32_t usual)
{
    if (lua_isnoneornil(lua, index)) return usual;
    lua_Integer place = luaL_checkinteger(lua, index);
    luaL_argcheck(lua, place >= -WEIR_COORD_LIMIT && place <= WEIR_COORD_LIMIT, index, "it lies too far out");
    return (int32_t)place;
}

int script_terrain(lua_State *lua)
{
    scene_script *script = script_of(lua);
    if (!script->run) luaL_error(lua, "there is no world yet: world{...} comes first");
    script_check_limit(lua);
    char path[PATH_MAX];
    find_file(lua, luaL_checkstring(lua, 1), path);
    const weir_coord corner = weir_world_bounds(script->run->world).min;
    const weir_coord at = {place_or(lua, 2, corner.x), place_or(lua, 3, corner.y), place_or(lua, 4, corner.z)};
    const weir_voxels_def def = {.scale = (float)luaL_optnumber(lua, 5, 0), .limit = VOXELS_MOST};
    lua_Integer fluid = luaL_optinteger(lua, 6, 0);
    luaL_argcheck(lua, fluid >= 0 && fluid <= 255, 6, "a palette's colours are 1 to 255");

    weir_voxels voxels;
    weir_status status = weir_voxels_read(path, &def, &voxels);
    if (status == WEIR_OK && !script->loading) status = weir_voxels_put(script->run->world, &voxels, at, (int32_t)fluid);
    const weir_coord size = voxels.size;
    weir_voxels_free(&voxels);
    if (status != WEIR_OK) luaL_error(lua, "%s", weir_error_message());
    // So that a script that reads files without end takes too long, as any other.
    script->instructions += (int64_t)size.x * size.y * size.z / VOXELS_PER_INSTRUCTION;
    script_check_limit(lua);
    lua_pushinteger(lua, size.x);
    lua_pushinteger(lua, size.y);
    lua_pushinteger(lua, size.z);
    return 3;
}

#endif
