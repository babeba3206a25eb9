// Weir: living water for voxel worlds.
//
// A game includes this header and nothing else:
//
//     weir_world_def def = weir_world_def_default();
//     def.bounds = (weir_box){{0, 0, 0}, {64, 64, 64}};
//     weir_world *world;
//     if (weir_world_create(&def, &world) != WEIR_OK) return 1;
//     weir_world_fill(world, (weir_box){{0, 0, 0}, {24, 40, 64}}, WEIR_WATER, 1.0f);
//     for (int i = 0; i < 500; i++) weir_world_step(world);
//     weir_world_destroy(world);
//
//   base.h     status codes, version, the game's hooks (memory, log, jobs)
//   types.h    coordinates, boxes, definitions, what queries return
//   params.h   the numbers of the laws, per solver and by name
//   world.h    the world: life, updates, edits, queries, ledger, snapshots
//   device.h   what there is to compute on
//   rule.h     rules of the game's own that run inside an update
//   picture.h  what a camera sees of the world
//   mesh.h     the surface of the water and of the terrain as triangles
#ifndef WEIR_WEIR_H
#define WEIR_WEIR_H

#include <weir/base.h>
#include <weir/device.h>
#include <weir/mesh.h>
#include <weir/params.h>
#include <weir/picture.h>
#include <weir/rule.h>
#include <weir/types.h>
#include <weir/world.h>

#endif
