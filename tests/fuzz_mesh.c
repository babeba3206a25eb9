// Throws bytes at what takes a mesh from the process that reads it: libFuzzer makes the bytes of the pipe, out of some good meshes to begin
// with. They must neither crash it nor take long nor much memory, and the voxels that become of them must make sense. assimp itself is
// in the other process, where it may break down.
#include "formats/mesh_read.h"
#include "fuzz_seeds.h"
#include <string.h>
#include <unistd.h>
#include <weir/formats.h>

enum { VOXELS_MOST = 1 << 16 };

// The sides of a box, two triangles each.
static void write_box(const char *name, float x, float y, float z, int64_t count)
{
    static const uint8_t corners[12][3] = {{0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}, {0, 1, 5}, {0, 5, 4},
                                           {2, 6, 7}, {2, 7, 3}, {0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}};
    const char *path = seed_path(name);
    FILE *file = path ? fopen(path, "wb") : NULL;
    if (!file) return;
    const mesh_header header = {.count = count, .said = "as it likes"};
    fwrite(&header, sizeof header, 1, file);
    for (int32_t i = 0; i < 36; i++) {
        const uint8_t c = corners[i / 3][i % 3];
        const float at[3] = {c & 1 ? x : 0, c & 2 ? y : 0, c & 4 ? z : 0};
        fwrite(at, sizeof at, 1, file);
    }
    MUST(fclose(file) == 0);
}

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    write_box("cube.mesh", 1, 1, 1, 12);
    write_box("plate.mesh", 60, 0.25f, 3, 12);
    write_box("open.mesh", 5, 6, 7, 10);
    write_box("refused.mesh", 1, 1, 1, -1);
    return 0;
}

// Whether triangles came.
static bool receive(const uint8_t *data, size_t size, triangle_soup *soup)
{
    int ends[2];
    mesh_answer answer;
    *soup = (triangle_soup){0};
    if (pipe(ends) != 0) return false;
    bool written = size == 0 || write(ends[1], data, size) == (ssize_t)size;
    close(ends[1]);
    weir_status status = written ? mesh_receive("fuzz.obj", ends[0], 10, soup, &answer) : WEIR_OK;
    close(ends[0]);
    if (!written) return false;
    MUST(answer != MESH_TOO_SLOW);
    MUST(status == WEIR_OK || status == WEIR_ERROR_FORMAT || status == WEIR_ERROR_LIMIT || status == WEIR_ERROR_MEMORY);
    if (status != WEIR_OK) MUST(strstr(weir_error_message(), "fuzz.obj") != NULL);
    return status == WEIR_OK && answer == MESH_WHOLE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536) return 0;  // more than a pipe holds
    const weir_voxels_def def = {.limit = VOXELS_MOST};
    triangle_soup soup;
    weir_voxels v = {0};
    bool whole = receive(data, size, &soup);
    weir_status status = whole ? voxelise("fuzz.obj", &soup, &def, &v) : WEIR_ERROR_FORMAT;
    free(soup.corners);
    if (status != WEIR_OK) {
        MUST(v.values == NULL);
        MUST(status == WEIR_ERROR_FORMAT || status == WEIR_ERROR_LIMIT);
        return 0;
    }
    int64_t cells = (int64_t)v.size.x * v.size.y * v.size.z;
    MUST(v.kind == WEIR_VOXELS_SHARES && v.size.x > 0 && v.size.y > 0 && v.size.z > 0 && cells <= VOXELS_MOST);
    for (int64_t i = 0; i < cells; i++) MUST(v.values[i] == 0 || v.values[i] == 255);
    weir_voxels_free(&v);
    return 0;
}
