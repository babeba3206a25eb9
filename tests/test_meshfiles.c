// Mesh files: what Weir writes as PLY, OBJ and glTF is read back by assimp, with every triangle and vertex where it was.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "test_files.h"
#include "test_locale.h"
#include "test_world.h"
#include <errno.h>
#include <glob.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>
#include <weir/formats.h>

#if WEIR_TEST_ASSIMP
#include <assimp/cimport.h>
#include <assimp/postprocess.h>
#include <assimp/scene.h>
#endif

typedef struct meshes {
    scene_run *run;
    weir_mesher *mesher;
    weir_mesh water, terrain;
} meshes;

static meshes make_meshes(void)
{
    meshes m = {.run = test_open("dambreak", WEIR_SOLVER_MOMENTUM, 16, 100)};
    assert_ok(scene_updates(m.run, 30));
    assert_ok(weir_mesher_create(m.run->world, NULL, &m.mesher));
    assert_ok(weir_mesher_update(m.mesher, NULL));
    assert_ok(weir_mesher_join(m.mesher, &m.water));
    assert_ok(weir_world_terrain_mesh(m.run->world, weir_world_bounds(m.run->world), &m.terrain));
    assert_true(m.water.triangle_count > 1000 && m.terrain.triangle_count == 12);
    return m;
}

static void free_meshes(meshes *m)
{
    weir_mesh_free(&m->terrain);
    weir_mesher_destroy(m->mesher);
    scene_close(m->run);
}

// ---- Read by assimp --------------------------------------------------------------------------------------------------------

#if WEIR_TEST_ASSIMP

typedef struct extent {
    float min[3], max[3];
} extent;

static void widen(extent *e, const float *p)
{
    for (int32_t i = 0; i < 3; i++) {
        e->min[i] = fminf(e->min[i], p[i]);
        e->max[i] = fmaxf(e->max[i], p[i]);
    }
}

static const struct aiScene *read_file(const char *path, unsigned flags)
{
    const struct aiScene *scene = aiImportFile(path, flags);
    if (!scene) fail_msg("assimp does not read %s: %s", path, aiGetErrorString());
    return scene;
}

// The same corners in the same order, and the same normals there.
static void assert_read(const struct aiMesh *read, const weir_mesh *mesh, bool same_vertices)
{
    const extent nowhere = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    extent written = nowhere, found = nowhere;
    assert_int_equal(read->mNumFaces, mesh->triangle_count);
    if (same_vertices) assert_int_equal(read->mNumVertices, mesh->vertex_count);
    assert_non_null(read->mNormals);
    for (int32_t t = 0; t < mesh->triangle_count; t++) {
        assert_int_equal(read->mFaces[t].mNumIndices, 3);
        for (int32_t i = 0; i < 3; i++) {
            unsigned v = read->mFaces[t].mIndices[i];
            const float *p = mesh->positions + 3 * mesh->indices[3 * t + i], *n = mesh->normals + 3 * mesh->indices[3 * t + i];
            const struct aiVector3D *q = &read->mVertices[v], *m = &read->mNormals[v];
            assert_true(fabsf(p[0] - q->x) < 1e-5f && fabsf(p[1] - q->y) < 1e-5f && fabsf(p[2] - q->z) < 1e-5f);
            assert_true(n[0] * m->x + n[1] * m->y + n[2] * m->z > 0.9999f);
            widen(&written, p);
            widen(&found, (const float[3]){q->x, q->y, q->z});
        }
    }
    assert_memory_equal(&written, &found, sizeof found);
}

static const struct aiMesh *mesh_named(const struct aiScene *scene, const char *name)
{
    for (unsigned i = 0; i < scene->mNumMeshes; i++)
        if (strstr(scene->mMeshes[i]->mName.data, name)) return scene->mMeshes[i];
    fail_msg("no mesh is called %s", name);
    return NULL;
}

static void assimp_reads_a_ply(void **state)
{
    meshes m = make_meshes();
    assert_ok(weir_ply_write("test_meshfiles.ply", &m.water));
    const struct aiScene *scene = read_file("test_meshfiles.ply", 0);
    assert_int_equal(scene->mNumMeshes, 1);
    assert_read(scene->mMeshes[0], &m.water, true);
    aiReleaseImport(scene);
    unlink("test_meshfiles.ply");
    free_meshes(&m);
}

static void assimp_reads_an_obj(void **state)
{
    meshes m = make_meshes();
    assert_ok(weir_obj_write("test_meshfiles.obj", &m.water, &m.terrain));
    // assimp gives every corner of an OBJ a vertex of its own until it is asked to join them.
    const struct aiScene *scene = read_file("test_meshfiles.obj", 0);
    assert_int_equal(scene->mNumMeshes, 2);
    assert_read(mesh_named(scene, "water"), &m.water, false);
    assert_read(mesh_named(scene, "terrain"), &m.terrain, false);
    aiReleaseImport(scene);
    scene = read_file("test_meshfiles.obj", aiProcess_JoinIdenticalVertices);
    assert_int_equal(mesh_named(scene, "water")->mNumVertices, m.water.vertex_count);
    assert_int_equal(mesh_named(scene, "terrain")->mNumVertices, m.terrain.vertex_count);
    // Each with a material of its own.
    for (int32_t i = 0; i < 2; i++) {
        const char *name = i ? "terrain" : "water";
        const struct aiMaterial *material = scene->mMaterials[mesh_named(scene, name)->mMaterialIndex];
        struct aiString found;
        struct aiColor4D colour;
        float opacity = 1;
        assert_int_equal(aiGetMaterialString(material, AI_MATKEY_NAME, &found), aiReturn_SUCCESS);
        assert_string_equal(found.data, name);
        assert_int_equal(aiGetMaterialColor(material, AI_MATKEY_COLOR_DIFFUSE, &colour), aiReturn_SUCCESS);
        assert_true(i ? colour.r > colour.b : colour.b > colour.r);
        aiGetMaterialFloatArray(material, AI_MATKEY_OPACITY, &opacity, NULL);
        assert_true(i ? opacity == 1 : opacity < 1);
    }
    aiReleaseImport(scene);
    unlink("test_meshfiles.obj");
    unlink("test_meshfiles.mtl");
    free_meshes(&m);
}

static void assimp_reads_a_glb_with_its_materials(void **state)
{
    meshes m = make_meshes();
    assert_ok(weir_glb_write("test_meshfiles.glb", &m.water, &m.terrain, 0.25));
    const struct aiScene *scene = read_file("test_meshfiles.glb", 0);
    assert_int_equal(scene->mNumMeshes, 2);
    const struct aiMesh *water = mesh_named(scene, "water"), *terrain = mesh_named(scene, "terrain");
    assert_read(water, &m.water, true);
    assert_read(terrain, &m.terrain, true);

    // A quarter of a metre to a cell, y up.
    assert_int_equal(scene->mRootNode->mNumChildren, 2);
    const struct aiMatrix4x4 *place = &scene->mRootNode->mChildren[0]->mTransformation;
    assert_true(place->a1 == 0.25f && place->b2 == 0.25f && place->c3 == 0.25f && place->b4 == 0 && place->b3 == 0);

    const struct aiMaterial *material = scene->mMaterials[water->mMaterialIndex];
    struct aiColor4D colour;
    float roughness = 1;
    assert_int_equal(aiGetMaterialColor(material, "$clr.base", 0, 0, &colour), aiReturn_SUCCESS);
    assert_true(colour.b > colour.r && colour.a < 1);
    assert_int_equal(aiGetMaterialFloatArray(material, "$mat.roughnessFactor", 0, 0, &roughness, NULL), aiReturn_SUCCESS);
    assert_true(roughness < 0.2f);
    material = scene->mMaterials[terrain->mMaterialIndex];
    assert_int_equal(aiGetMaterialColor(material, "$clr.base", 0, 0, &colour), aiReturn_SUCCESS);
    assert_true(colour.a == 1);
    aiReleaseImport(scene);
    unlink("test_meshfiles.glb");
    free_meshes(&m);
}

// Oil on water, and a material with a name that files must not trip over.
typedef struct fluids {
    weir_world *world;
    weir_mesher *mesher[3];
    weir_mesh mesh[3];
    weir_mesh_part part[3];
} fluids;

static const char awkward[] = "\"glue\", <2>\\ \xc3\xa9";

// Parts point to the meshes beside them.
static void make_fluids(fluids *f)
{
    weir_world_def def = test_def(WEIR_SOLVER_MIXTURE, 12, 16, 12);
    weir_material own, all[3] = {WEIR_WATER, WEIR_OIL, WEIR_NOTHING};
    f->world = test_make(&def);
    assert_ok(weir_world_add_material(
        f->world, &(weir_material_def){.name = awkward, .density = 2, .viscosity = 9, .colour = {1, 0.5f, 0}}, &own));
    all[2] = own;
    for (int32_t i = 0; i < 3; i++) {
        const int32_t low = i == 2 ? 0 : 3 + 4 * i;
        assert_ok(weir_world_fill(f->world, test_box(0, low, 0, 12, low + (i == 2 ? 3 : 4), 12), all[i], 1));
        assert_ok(weir_mesher_create(f->world, &(weir_mesher_def){.material = all[i]}, &f->mesher[i]));
        assert_ok(weir_mesher_update(f->mesher[i], NULL));
        assert_ok(weir_mesher_join(f->mesher[i], &f->mesh[i]));
        f->part[i] = weir_mesh_part_of(f->world, all[i], &f->mesh[i]);
    }
}

static void free_fluids(fluids *f)
{
    for (int32_t i = 0; i < 3; i++) weir_mesher_destroy(f->mesher[i]);
    weir_world_destroy(f->world);
}

static void assimp_reads_a_glb_of_several_fluids(void **state)
{
    fluids f;
    make_fluids(&f);
    assert_ok(weir_glb_write_parts("test_meshfiles.glb", f.part, 3, 1));
    const struct aiScene *scene = read_file("test_meshfiles.glb", 0);
    assert_int_equal(scene->mNumMeshes, 3);
    assert_int_equal(scene->mRootNode->mNumChildren, 3);
    const char *names[3] = {"water", "oil", awkward};
    struct aiColor4D colour[3];
    for (int32_t i = 0; i < 3; i++) {
        const struct aiMesh *mesh = mesh_named(scene, names[i]);
        assert_read(mesh, &f.mesh[i], true);
        struct aiString found;
        assert_int_equal(aiGetMaterialString(scene->mMaterials[mesh->mMaterialIndex], AI_MATKEY_NAME, &found),
                         aiReturn_SUCCESS);
        assert_string_equal(found.data, names[i]);
        assert_int_equal(aiGetMaterialColor(scene->mMaterials[mesh->mMaterialIndex], "$clr.base", 0, 0, &colour[i]),
                         aiReturn_SUCCESS);
    }
    assert_true(colour[0].b > colour[0].r && colour[1].r > colour[1].b && colour[0].a < 1);
    assert_true(colour[2].r == 1 && fabsf(colour[2].g - 0.214f) < 0.001f && colour[2].b == 0);  // as light
    aiReleaseImport(scene);
    unlink("test_meshfiles.glb");
    free_fluids(&f);
}

static void assimp_reads_an_obj_of_several_fluids(void **state)
{
    fluids f;
    make_fluids(&f);
    assert_ok(weir_obj_write_parts("test_meshfiles.obj", f.part, 3));
    const struct aiScene *scene = read_file("test_meshfiles.obj", 0);
    assert_int_equal(scene->mNumMeshes, 3);
    const char *names[3] = {"water", "oil", "_glue____2"};
    for (int32_t i = 0; i < 3; i++) assert_read(mesh_named(scene, names[i]), &f.mesh[i], false);
    aiReleaseImport(scene);
    unlink("test_meshfiles.obj");
    unlink("test_meshfiles.mtl");
    free_fluids(&f);
}

static void assimp_reads_a_ply_with_a_colour_at_each_vertex(void **state)
{
    fluids f;
    make_fluids(&f);
    assert_ok(weir_ply_write_parts("test_meshfiles.ply", f.part, 3));
    const struct aiScene *scene = read_file("test_meshfiles.ply", 0);
    assert_int_equal(scene->mNumMeshes, 1);
    const struct aiMesh *mesh = scene->mMeshes[0];
    assert_int_equal(mesh->mNumVertices, f.mesh[0].vertex_count + f.mesh[1].vertex_count + f.mesh[2].vertex_count);
    assert_int_equal(mesh->mNumFaces, f.mesh[0].triangle_count + f.mesh[1].triangle_count + f.mesh[2].triangle_count);
    unsigned vertex = 0, face = 0;
    for (int32_t i = 0; i < 3; i++) {
        for (int32_t t = 0; t < f.mesh[i].triangle_count; t++, face++)
            for (int32_t k = 0; k < 3; k++)
                assert_int_equal(mesh->mFaces[face].mIndices[k], vertex + f.mesh[i].indices[3 * t + k]);
        for (int32_t v = 0; v < f.mesh[i].vertex_count; v++, vertex++) {
            const struct aiColor4D *c = &mesh->mColors[0][vertex];
            assert_true(fabsf(c->r - f.part[i].colour[0]) < 0.003f && fabsf(c->b - f.part[i].colour[2]) < 0.003f);
            assert_true(mesh->mVertices[vertex].y == f.mesh[i].positions[3 * v + 1]);
        }
    }
    aiReleaseImport(scene);
    unlink("test_meshfiles.ply");
    assert_int_equal(weir_ply_write_parts("test_meshfiles.ply", f.part, -1), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_glb_write_parts("test_meshfiles.glb", f.part, WEIR_MESH_PARTS_MAX + 1, 0), WEIR_ERROR_ARGUMENT);
    free_fluids(&f);
}

static void a_world_far_away_keeps_its_place(void **state)
{
    weir_world_def def = weir_world_def_default();
    def.threads = 1;
    weir_world *world = test_make(&def);
    test_fill(world, test_box(80000, 0, -90001, 80006, 6, -90000), 1);
    weir_mesher *mesher;
    weir_mesh mesh;
    assert_ok(weir_mesher_create(world, NULL, &mesher));
    assert_ok(weir_mesher_update(mesher, NULL));
    assert_ok(weir_mesher_join(mesher, &mesh));
    assert_ok(weir_glb_write("test_meshfiles.glb", &mesh, NULL, 1));
    const struct aiScene *scene = read_file("test_meshfiles.glb", 0);
    const struct aiNode *node = scene->mRootNode->mNumChildren ? scene->mRootNode->mChildren[0] : scene->mRootNode;
    assert_true(node->mTransformation.a4 == (float)mesh.origin.x && node->mTransformation.c4 == (float)mesh.origin.z);
    assert_true(node->mTransformation.a4 > 79000 && node->mTransformation.c4 < -89000);
    assert_read(scene->mMeshes[0], &mesh, true);
    aiReleaseImport(scene);
    unlink("test_meshfiles.glb");
    weir_mesher_destroy(mesher);
    weir_world_destroy(world);
}

#endif

// ---- By themselves ---------------------------------------------------------------------------------------------------------

static uint32_t word_at(const uint8_t *bytes, size_t at)
{
    return (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 | (uint32_t)bytes[at + 3] << 24;
}

static size_t read_bytes(const char *path, uint8_t *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(bytes, 1, room, file);
    fclose(file);
    assert_true(size < room);
    return size;
}

static void the_chunks_of_a_glb_are_whole_and_aligned(void **state)
{
    meshes m = make_meshes();
    static uint8_t bytes[1 << 20];
    for (int32_t i = 0; i < 4; i++) {
        const weir_mesh *water = i & 1 ? &m.water : NULL, *terrain = i & 2 ? &m.terrain : NULL;
        size_t expected = 0;
        if (water) expected += (size_t)water->vertex_count * 24 + (size_t)water->triangle_count * 12;
        if (terrain) expected += (size_t)terrain->vertex_count * 24 + (size_t)terrain->triangle_count * 12;
        assert_ok(weir_glb_write("test_meshfiles.glb", water, terrain, 0));
        size_t size = read_bytes("test_meshfiles.glb", bytes, sizeof bytes), text = word_at(bytes, 12);
        assert_memory_equal(bytes, "glTF", 4);
        assert_int_equal(word_at(bytes, 4), 2);
        assert_int_equal(word_at(bytes, 8), size);
        assert_memory_equal(bytes + 16, "JSON", 4);
        assert_int_equal(text % 4, 0);
        assert_int_equal(size, 20 + text + (expected ? 8 + expected : 0));
        if (!expected) continue;
        assert_int_equal(word_at(bytes, 20 + text), expected);
        assert_memory_equal(bytes + 24 + text, "BIN\0", 4);
    }
    unlink("test_meshfiles.glb");
    free_meshes(&m);
}

static void nothing_makes_a_file_of_nothing(void **state)
{
    static uint8_t bytes[4096];
    assert_ok(weir_ply_write("test_meshfiles.ply", NULL));
    bytes[read_bytes("test_meshfiles.ply", bytes, sizeof bytes)] = 0;
    assert_non_null(strstr((const char *)bytes, "element face 0\n"));
    assert_ok(weir_obj_write("test_meshfiles.obj", NULL, NULL));
    unlink("test_meshfiles.ply");
    unlink("test_meshfiles.obj");
    unlink("test_meshfiles.mtl");
}

static void numbers_have_points_in_every_locale(void **state)
{
    if (!test_begin_comma()) skip();
    meshes m = make_meshes();
    assert_ok(weir_obj_write("test_meshfiles.obj", &m.water, &m.terrain));
    test_end_comma();
    test_bytes file = test_read("test_meshfiles.obj");
    assert_ok(weir_obj_write("test_meshfiles.obj", &m.water, &m.terrain));
    test_bytes plain = test_read("test_meshfiles.obj");
    assert_int_equal(file.size, plain.size);
    assert_memory_equal(file.at, plain.at, plain.size);
    free(file.at);
    free(plain.at);
    unlink("test_meshfiles.obj");
    unlink("test_meshfiles.mtl");
    free_meshes(&m);
}

static void a_place_that_cannot_be_written_is_told(void **state)
{
    meshes m = make_meshes();
    const char *nowhere = "/nowhere/at/all/water.glb";
    assert_int_equal(weir_ply_write(nowhere, &m.water), WEIR_ERROR_FILE);
    assert_non_null(strstr(weir_error_message(), nowhere));
    assert_int_equal(weir_obj_write(nowhere, &m.water, &m.terrain), WEIR_ERROR_FILE);
    assert_int_equal(weir_glb_write(nowhere, &m.water, &m.terrain, 0), WEIR_ERROR_FILE);
    assert_int_equal(weir_obj_write("/dev/null", &m.water, NULL), WEIR_ERROR_FILE);
    assert_int_equal(weir_glb_write("/tmp", &m.water, &m.terrain, 0), WEIR_ERROR_FILE);
    assert_int_equal(weir_glb_write("test_meshfiles.glb", &m.water, &m.terrain, -1), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_glb_write("test_meshfiles.glb", &m.water, &m.terrain, (double)NAN), WEIR_ERROR_ARGUMENT);
    assert_int_equal(access("test_meshfiles.glb", F_OK), -1);
    free_meshes(&m);
}

// A limit on the size of files stands for the end of the disk.
static void a_full_disk_leaves_neither_mesh_nor_materials(void **state)
{
    meshes m = make_meshes();
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit small = {8192, before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    weir_status obj = weir_obj_write("test_full.obj", &m.water, &m.terrain);
    bool told = strstr(weir_error_message(), strerror(EFBIG));
    weir_status glb = weir_glb_write("test_full.glb", &m.water, &m.terrain, 0);
    weir_status ply = weir_ply_write("test_full.ply", &m.water);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_true(obj == WEIR_ERROR_FILE && glb == WEIR_ERROR_FILE && ply == WEIR_ERROR_FILE);
    assert_true(told);
    glob_t left;
    assert_int_equal(glob("test_full.*", 0, NULL, &left), GLOB_NOMATCH);
    free_meshes(&m);
}

int main(void)
{
#if !WEIR_TEST_ASSIMP
    print_message("assimp is not here (Debian: libassimp-dev), so nobody else reads the files that Weir writes\n");
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_points_in_every_locale),
#if WEIR_TEST_ASSIMP
        cmocka_unit_test(assimp_reads_a_ply),
        cmocka_unit_test(assimp_reads_an_obj),
        cmocka_unit_test(assimp_reads_a_glb_with_its_materials),
        cmocka_unit_test(assimp_reads_a_glb_of_several_fluids),
        cmocka_unit_test(assimp_reads_an_obj_of_several_fluids),
        cmocka_unit_test(assimp_reads_a_ply_with_a_colour_at_each_vertex),
        cmocka_unit_test(a_world_far_away_keeps_its_place),
#endif
        cmocka_unit_test(the_chunks_of_a_glb_are_whole_and_aligned),
        cmocka_unit_test(nothing_makes_a_file_of_nothing),
        cmocka_unit_test(a_place_that_cannot_be_written_is_told),
        cmocka_unit_test(a_full_disk_leaves_neither_mesh_nor_materials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
