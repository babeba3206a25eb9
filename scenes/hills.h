// Hills from a seed, and the lakes that their hollows can hold. Heights are whole cells, made of integer noise, so that every machine has
// the same ones.
//
//     hills ground;
//     if (!hills_make(&def, run, &ground)) return;      // run->status has the reason
//     hills_build(run, &ground, run->size);
//     hills_fill(run, &ground);
//     hills_free(&ground);
#ifndef SCENES_HILLS_H
#define SCENES_HILLS_H

#include "scenes/scene.h"

typedef struct hills_def {
    int32_t length, width;  // columns along x and z
    int32_t period;         // of the widest hills
    int32_t low, relief;    // the ground's least height, and how much higher hills are at most
    int32_t slope;          // how much more the ground rises from x = 0 to the far end
    int32_t sea;            // height of a sea that comes in at x = 0; 0: none
} hills_def;

// A hollow's water: columns that hang together, a cell below where it would spill over.
typedef struct hills_lake {
    int32_t level, columns;
} hills_lake;

// Columns are numbered x + length * z.
typedef struct hills {
    int32_t length, width, sea;
    int32_t *ground;  // height of each column
    int32_t *lake;    // which lake it is in; -1: none. The sea is no lake
    hills_lake *lakes;
    int32_t lake_count;
    int32_t lowest, highest;  // of the ground
} hills;

// The run's seed says which hills. False, and the run has failed, if memory ran out.
bool hills_make(const hills_def *def, scene_run *run, hills *made);
void hills_free(hills *made);

// Builds the ground, by blocks of `block` columns in each direction: for each a box of what is solid throughout, and one of shares.
void hills_build(scene_run *run, const hills *made, int32_t block);

// Fills the sea by one box and the lakes by boxes that are cut to them.
void hills_fill(scene_run *run, const hills *made);

#endif
