// OpenCL around the simulation: finding devices, compiling and keeping programs, and the test that a device computes as the
// contract says. Without OpenCL on the machine most of it is skipped.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weir/weir.h>

#include <cmocka.h>

static void the_cpu_backend_has_one_device(void **state)
{
    weir_device device;
    int32_t count;
    assert_int_equal(weir_devices(WEIR_BACKEND_CPU, &device, 1, &count), WEIR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(device.backend, WEIR_BACKEND_CPU);
    assert_int_equal(device.kind, WEIR_DEVICE_CPU);
    assert_true(device.name[0] != '\0' && device.units > 0 && device.memory > 0);
    assert_int_equal(weir_devices(WEIR_BACKEND_CPU, NULL, 0, &count), WEIR_OK);
    assert_int_equal(count, 1);

    double bandwidth;
    assert_int_equal(weir_device_bandwidth(WEIR_BACKEND_CPU, NULL, &bandwidth), WEIR_ERROR_UNSUPPORTED);
}

static void the_processor_is_found_by_its_number_kind_and_name(void **state)
{
    weir_device device;
    assert_int_equal(weir_device_find(WEIR_BACKEND_CPU, NULL, &device), WEIR_OK);
    char part[8];
    snprintf(part, sizeof part, "%.7s", device.name);
    const char *good[] = {"", "0", "CPU", part}, *bad[] = {"1", "99999999999999999", "-0", "0x0", "gpu", "no such processor"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        assert_int_equal(weir_device_find(WEIR_BACKEND_CPU, good[i], &device), WEIR_OK);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(weir_device_find(WEIR_BACKEND_CPU, bad[i], &device), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), bad[i]));
    }
}

static void a_backend_that_is_none_has_no_devices(void **state)
{
    weir_device device;
    double bandwidth;
    int32_t count = 7;
    assert_int_equal(weir_devices(WEIR_BACKEND_COUNT, &device, 1, &count), WEIR_ERROR_ARGUMENT);
    assert_int_equal(count, 0);
    assert_int_equal(weir_device_find(WEIR_BACKEND_COUNT, NULL, &device), WEIR_ERROR_ARGUMENT);
    assert_int_equal(weir_device_bandwidth(WEIR_BACKEND_COUNT, NULL, &bandwidth), WEIR_ERROR_ARGUMENT);
}

#if WEIR_HAVE_OPENCL

#include <dirent.h>

#include "compute/opencl_program.h"

// ---- Machines without OpenCL -----------------------------------------------------------------------------------------------

// What weir_devices says in a child process in whose environment a variable is set. OpenCL is loaded once per process, so these
// tests come before all others.
static weir_status devices_in_child(const char *variable, const char *value, char message[256])
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int32_t count = -1;
        setenv(variable, value, 1);
        weir_status status = weir_devices(WEIR_BACKEND_OPENCL, NULL, 0, &count);
        const char *text = count == 0 ? weir_error_message() : "";
        ssize_t written = write(ends[1], text, strlen(text));
        _exit(written < 0 ? 255 : (int)status);
    }
    close(ends[1]);
    memset(message, 0, 256);
    for (ssize_t used = 0, part; (part = read(ends[0], message + used, (size_t)(255 - used))) > 0;) used += part;
    close(ends[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return (weir_status)WEXITSTATUS(status);
}

static void a_library_that_is_not_there_is_told(void **state)
{
    char message[256];
    assert_int_equal(devices_in_child("WEIR_OPENCL_LIBRARY", "/nonexistent", message), WEIR_ERROR_UNSUPPORTED);
    assert_non_null(strstr(message, "/nonexistent"));
}

static void a_library_that_is_not_opencl_is_told(void **state)
{
    char message[256];
    assert_int_equal(devices_in_child("WEIR_OPENCL_LIBRARY", "libm.so.6", message), WEIR_ERROR_UNSUPPORTED);
    assert_non_null(strstr(message, "it has no cl"));
}

static void a_library_without_a_driver_is_told(void **state)
{
    char folder[] = "/tmp/weir-test-XXXXXX", message[256];
    assert_non_null(mkdtemp(folder));
    assert_int_equal(devices_in_child("OCL_ICD_VENDORS", folder, message), WEIR_ERROR_UNSUPPORTED);
    assert_true(strstr(message, "no driver") || strstr(message, "no OpenCL"));
    rmdir(folder);
}

// ---- Devices ---------------------------------------------------------------------------------------------------------------

static void need_opencl(void)
{
    int32_t count;
    if (opencl_devices(NULL, 0, &count) == WEIR_OK) return;
    print_message("skipped: %s\n", weir_error_message());
    skip();
}

static void devices_are_numbered_and_described(void **state)
{
    need_opencl();
    opencl_device devices[OPENCL_DEVICES];
    int32_t count, again;
    assert_int_equal(opencl_devices(devices, OPENCL_DEVICES, &count), WEIR_OK);
    assert_in_range(count, 1, OPENCL_DEVICES);
    for (int32_t i = 0; i < count; i++) {
        const opencl_device *device = &devices[i];
        assert_int_equal(device->index, i);
        assert_true(device->name[0] && device->platform_name[0] && device->driver[0] && device->version[0]);
        assert_true(device->memory > 0 && device->largest_buffer > 0 && device->local_memory > 0);
        assert_true(device->units > 0 && device->group_limit > 0);
    }

    weir_device public_devices[OPENCL_DEVICES];
    assert_int_equal(weir_devices(WEIR_BACKEND_OPENCL, public_devices, OPENCL_DEVICES, &again), WEIR_OK);
    assert_int_equal(again, count);
    for (int32_t i = 0; i < count; i++) {
        assert_int_equal(public_devices[i].index, i);
        assert_string_equal(public_devices[i].name, devices[i].name);
        assert_int_equal(public_devices[i].memory, devices[i].memory);
    }
}

static void a_list_with_little_room_still_counts_all(void **state)
{
    need_opencl();
    opencl_device device = {.index = -1};
    int32_t all, count;
    assert_int_equal(opencl_devices(NULL, 0, &all), WEIR_OK);
    assert_int_equal(opencl_devices(&device, 1, &count), WEIR_OK);
    assert_int_equal(count, all);
    assert_int_equal(device.index, 0);
}

static void a_device_is_found_by_its_number(void **state)
{
    need_opencl();
    int32_t count;
    assert_int_equal(opencl_devices(NULL, 0, &count), WEIR_OK);
    for (int32_t i = 0; i < count; i++) {
        char which[16];
        opencl_device device;
        snprintf(which, sizeof which, "%d", i);
        assert_int_equal(opencl_find_device(which, &device), WEIR_OK);
        assert_int_equal(device.index, i);
    }
}

static void a_device_is_found_by_its_kind(void **state)
{
    need_opencl();
    static const char *const kinds[WEIR_DEVICE_KIND_COUNT] = {"cpu", "GPU", "Accelerator"};
    opencl_device devices[OPENCL_DEVICES], device;
    int32_t count;
    assert_int_equal(opencl_devices(devices, OPENCL_DEVICES, &count), WEIR_OK);
    for (int32_t kind = 0; kind < WEIR_DEVICE_KIND_COUNT; kind++) {
        int32_t first = 0;
        while (first < count && (int32_t)devices[first].kind != kind) first++;
        weir_status status = opencl_find_device(kinds[kind], &device);
        assert_int_equal(status, first < count ? WEIR_OK : WEIR_ERROR_ARGUMENT);
        if (first < count) assert_int_equal(device.index, first);
    }
}

static void a_device_is_found_by_a_part_of_its_name(void **state)
{
    need_opencl();
    opencl_device first, device;
    assert_int_equal(opencl_find_device("0", &first), WEIR_OK);
    // The end of the name, in the other case; with a letter, since a number alone is a number.
    char part[128];
    size_t length = strlen(first.name), from = length > 12 ? length - 12 : 0;
    snprintf(part, sizeof part, "%s", first.name + from);
    for (char *c = part; *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z')) *c ^= 0x20;
    assert_int_equal(opencl_find_device(part, &device), WEIR_OK);
    assert_int_equal(device.index, 0);
}

static void without_a_wish_a_gpu_is_taken_before_others(void **state)
{
    need_opencl();
    opencl_device device, empty, gpu;
    assert_int_equal(opencl_find_device(NULL, &device), WEIR_OK);
    assert_int_equal(opencl_find_device("", &empty), WEIR_OK);
    assert_int_equal(device.index, empty.index);
    if (opencl_find_device("gpu", &gpu) == WEIR_OK) assert_int_equal(device.index, gpu.index);
}

static void a_wish_that_nothing_fits_lists_what_there_is(void **state)
{
    need_opencl();
    static const char *const wrong[] = {"no such device", "64", "99999999999999999999", "-1"};
    opencl_device first, device;
    assert_int_equal(opencl_find_device("0", &first), WEIR_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(opencl_find_device(wrong[i], &device), WEIR_ERROR_ARGUMENT);
        assert_non_null(strstr(weir_error_message(), wrong[i]));
        assert_non_null(strstr(weir_error_message(), first.name));
    }
}

static void a_copy_has_a_bandwidth(void **state)
{
    need_opencl();
    double bandwidth;
    assert_int_equal(weir_device_bandwidth(WEIR_BACKEND_OPENCL, "0", &bandwidth), WEIR_OK);
    assert_true(bandwidth > 1e7 && bandwidth < 1e15);
    assert_int_equal(weir_device_bandwidth(WEIR_BACKEND_OPENCL, "no such device", &bandwidth), WEIR_ERROR_ARGUMENT);
    assert_true(bandwidth == 0);
}

// ---- Programs --------------------------------------------------------------------------------------------------------------

typedef struct rig {
    const opencl_api *cl;
    opencl_device device;
    cl_context context;
    cl_command_queue queue;
    char folder[64];  // stands for the user's cache
} rig;

static const char twice[] = "kernel void twice(global float *a) { a[get_global_id(0)] *= FACTOR; }";

static int set_up(void **state)
{
    static rig r;
    *state = NULL;
    if (opencl_load(&r.cl) != WEIR_OK || opencl_find_device(NULL, &r.device) != WEIR_OK) return 0;
    cl_int error;
    r.context = r.cl->CreateContext(NULL, 1, &r.device.id, NULL, NULL, &error);
    r.queue = r.context ? r.cl->CreateCommandQueue(r.context, r.device.id, 0, &error) : NULL;
    strcpy(r.folder, "/tmp/weir-test-XXXXXX");
    if (!r.queue || !mkdtemp(r.folder)) return 1;
    setenv("XDG_CACHE_HOME", r.folder, 1);
    *state = &r;
    return 0;
}

static void delete_tree(const char *folder)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0) print_message("%s could not be deleted\n", folder);
}

static int tear_down(void **state)
{
    rig *r = *state;
    if (!r) return 0;
    r->cl->ReleaseCommandQueue(r->queue);
    r->cl->ReleaseContext(r->context);
    delete_tree(r->folder);
    return 0;
}

static rig *need_rig(void **state)
{
    need_opencl();
    return *state;
}

static float run_twice(const rig *r, cl_program program)
{
    const opencl_api *cl = r->cl;
    cl_int error;
    float value = 21.0f;
    size_t one = 1;
    cl_kernel kernel = cl->CreateKernel(program, "twice", &error);
    assert_non_null(kernel);
    cl_mem memory = cl->CreateBuffer(r->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof value, &value, &error);
    assert_non_null(memory);
    assert_int_equal(cl->SetKernelArg(kernel, 0, sizeof memory, &memory), CL_SUCCESS);
    assert_int_equal(cl->EnqueueNDRangeKernel(r->queue, kernel, 1, NULL, &one, NULL, 0, NULL, NULL), CL_SUCCESS);
    assert_int_equal(cl->EnqueueReadBuffer(r->queue, memory, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL), CL_SUCCESS);
    cl->ReleaseMemObject(memory);
    cl->ReleaseKernel(kernel);
    return value;
}

// Builds the small program, checks that it works, and tells whether it came from the disk.
static bool built_from_disk(const rig *r, const char *options, float expected)
{
    cl_program program;
    opencl_build_info info;
    assert_int_equal(
        opencl_build(r->cl, r->context, &r->device, "a program", options, twice, (weir_logger){0}, &program, &info), WEIR_OK);
    assert_null(info.log);
    assert_true(info.seconds >= 0);
    assert_true(run_twice(r, program) == expected);
    r->cl->ReleaseProgram(program);
    return info.cached;
}

// Finds the one entry of the cache; false if there is not exactly one file.
static bool find_entry(const rig *r, char path[512])
{
    char folder[80];
    snprintf(folder, sizeof folder, "%s/weir", r->folder);
    DIR *dir = opendir(folder);
    int files = 0;
    for (struct dirent *item; dir && (item = readdir(dir));) {
        if (item->d_name[0] == '.') continue;
        snprintf(path, 512, "%s/%s", folder, item->d_name);
        files++;
    }
    if (dir) closedir(dir);
    return files == 1;
}

static void empty_cache(const rig *r)
{
    char folder[80];
    snprintf(folder, sizeof folder, "%s/weir", r->folder);
    delete_tree(folder);
}

static void a_program_is_compiled_once(void **state)
{
    rig *r = need_rig(state);
    char path[512];
    empty_cache(r);
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_true(find_entry(r, path));
    assert_true(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_true(find_entry(r, path));
}

static void other_options_are_another_program(void **state)
{
    rig *r = need_rig(state);
    empty_cache(r);
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_false(built_from_disk(r, "-D FACTOR=3", 63.0f));
    assert_true(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_true(built_from_disk(r, "-D FACTOR=3", 63.0f));
}

static void another_driver_is_another_program(void **state)
{
    rig *r = need_rig(state), updated = *r;
    empty_cache(r);
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    strcpy(updated.device.driver, "a later one");
    assert_false(built_from_disk(&updated, "-D FACTOR=2", 42.0f));
    assert_true(built_from_disk(r, "-D FACTOR=2", 42.0f));
}

static void an_entry_that_was_cut_is_replaced(void **state)
{
    rig *r = need_rig(state);
    char path[512];
    struct stat info;
    empty_cache(r);
    built_from_disk(r, "-D FACTOR=2", 42.0f);
    assert_true(find_entry(r, path));
    assert_int_equal(stat(path, &info), 0);
    const off_t lengths[] = {0, 1, 31, 32, info.st_size / 2, info.st_size - 1, info.st_size + 1};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        assert_int_equal(truncate(path, lengths[i]), 0);
        assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
        assert_true(find_entry(r, path));
        assert_true(built_from_disk(r, "-D FACTOR=2", 42.0f));
    }
}

static void flip_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 0x10, file);
    assert_int_equal(fclose(file), 0);
}

static void an_entry_with_a_flipped_byte_is_replaced(void **state)
{
    rig *r = need_rig(state);
    char path[512];
    struct stat info;
    empty_cache(r);
    built_from_disk(r, "-D FACTOR=2", 42.0f);
    assert_true(find_entry(r, path));
    assert_int_equal(stat(path, &info), 0);
    // Magic, key, size, checksum, and the binary itself.
    const long places[] = {3, 9, 17, 25, 32, (long)info.st_size / 2, (long)info.st_size - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        flip_byte(path, places[i]);
        assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
        assert_true(built_from_disk(r, "-D FACTOR=2", 42.0f));
    }
}

static void an_entry_under_anothers_name_is_not_taken(void **state)
{
    rig *r = need_rig(state);
    char two[512], three[512], aside[600];
    empty_cache(r);
    built_from_disk(r, "-D FACTOR=2", 42.0f);
    assert_true(find_entry(r, two));
    snprintf(aside, sizeof aside, "%s/aside", r->folder);
    assert_int_equal(rename(two, aside), 0);
    built_from_disk(r, "-D FACTOR=3", 63.0f);
    assert_true(find_entry(r, three));
    assert_int_equal(rename(aside, three), 0);
    assert_false(built_from_disk(r, "-D FACTOR=3", 63.0f));
}

static void a_cache_that_cannot_be_written_is_no_error(void **state)
{
    rig *r = need_rig(state);
    char path[128];
    empty_cache(r);
    // A file in the folder's place: it stops even the superuser.
    snprintf(path, sizeof path, "%s/weir", r->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    unlink(path);

    // A folder in the entry's place.
    built_from_disk(r, "-D FACTOR=2", 42.0f);
    char entry[512];
    assert_true(find_entry(r, entry));
    assert_int_equal(unlink(entry), 0);
    assert_int_equal(mkdir(entry, 0700), 0);
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_true(find_entry(r, entry));
}

static void without_a_home_nothing_is_kept(void **state)
{
    rig *r = need_rig(state);
    char home[512] = "";
    if (getenv("HOME")) snprintf(home, sizeof home, "%s", getenv("HOME"));
    setenv("XDG_CACHE_HOME", "not/absolute", 1);
    unsetenv("HOME");
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    assert_false(built_from_disk(r, "-D FACTOR=2", 42.0f));
    if (home[0]) setenv("HOME", home, 1);
    setenv("XDG_CACHE_HOME", r->folder, 1);
}

static void a_program_with_a_mistake_tells_what_the_compiler_said(void **state)
{
    rig *r = need_rig(state);
    cl_program program;
    opencl_build_info info;
    weir_status status = opencl_build(r->cl, r->context, &r->device, "a program", NULL, "kernel void wrong() { swim(1); }",
                                      (weir_logger){0}, &program, &info);
    assert_int_equal(status, WEIR_ERROR_UNSUPPORTED);
    assert_null(program);
    assert_non_null(strstr(weir_error_message(), "swim"));
    assert_non_null(info.log);
    assert_non_null(strstr(info.log, "swim"));
    free(info.log);
    assert_int_equal(opencl_build(r->cl, r->context, &r->device, "a program", NULL, "swim", (weir_logger){0}, &program, NULL),
                     WEIR_ERROR_UNSUPPORTED);

    char options[2048];
    memset(options, ' ', sizeof options);
    options[sizeof options - 1] = '\0';
    assert_int_equal(opencl_build(r->cl, r->context, &r->device, "a program", options, twice, (weir_logger){0}, &program, NULL),
                     WEIR_ERROR_LIMIT);
}

// ---- The source and the contract -------------------------------------------------------------------------------------------

extern const char opencl_momentum_source[];

// Appends the files of the embedded source whose names begin and end so.
static void append_files(char *text, const char *beginning, const char *ending)
{
    char mark[64];
    snprintf(mark, sizeof mark, "#line 1 \"%s", beginning);
    for (const char *from = opencl_momentum_source; (from = strstr(from, mark)); from++) {
        const char *to = strstr(from + 1, "#line 1 \""), *name_end = strchr(from + strlen(mark), '"');
        assert_non_null(name_end);
        if (strncmp(name_end - strlen(ending), ending, strlen(ending)) != 0) continue;
        strncat(text, from, to ? (size_t)(to - from) : strlen(from));
    }
}

static void the_rules_compile_as_opencl(void **state)
{
    rig *r = need_rig(state);
    char *text = calloc(1, strlen(opencl_momentum_source) + 200);
    assert_non_null(text);
    append_files(text, "cells/", ".h");
    append_files(text, "solvers/", ".h");
    assert_null(strstr(text, "#include \""));
    strcat(text, "kernel void flux(global float *f) { f[0] = rule_flux(f[0], f[1], f[2], f[3], f[4]); }");
    cl_program program;
    opencl_build_info info;
    if (opencl_build(r->cl, r->context, &r->device, "a program", NULL, text, (weir_logger){0}, &program, &info) != WEIR_OK)
        fail_msg("%s", info.log);
    r->cl->ReleaseProgram(program);
    free(text);
}

static weir_status self_test(const rig *r)
{
    char *text = calloc(1, strlen(opencl_momentum_source) + 1);
    assert_non_null(text);
    append_files(text, "cells/language", ".h");
    append_files(text, "compute/self_test", ".h");
    append_files(text, "compute/self_test", ".cl");
    cl_program program;
    opencl_build_info info;
    if (opencl_build(r->cl, r->context, &r->device, "a program", NULL, text, (weir_logger){0}, &program, &info) != WEIR_OK)
        fail_msg("%s", info.log);
    weir_status status = opencl_self_test(r->cl, r->context, r->queue, program, &r->device);
    r->cl->ReleaseProgram(program);
    free(text);
    return status;
}

static void this_device_keeps_the_contract(void **state)
{
    rig *r = need_rig(state);
    if (self_test(r) != WEIR_OK) fail_msg("%s", weir_error_message());
}

static void a_device_that_contracts_is_refused(void **state)
{
    rig *r = need_rig(state);
    setenv("WEIR_BREAK_CONTRACT", "1", 1);
    weir_status status = self_test(r);
    unsetenv("WEIR_BREAK_CONTRACT");
    assert_int_equal(status, WEIR_ERROR_UNSUPPORTED);
    assert_non_null(strstr(weir_error_message(), r->device.name));
    assert_non_null(strstr(weir_error_message(), r->device.driver));
    assert_non_null(strstr(weir_error_message(), "a product followed by a sum"));
}

static void a_program_without_the_self_test_is_told(void **state)
{
    rig *r = need_rig(state);
    cl_program program;
    assert_int_equal(
        opencl_build(r->cl, r->context, &r->device, "a program", "-D FACTOR=2", twice, (weir_logger){0}, &program, NULL),
        WEIR_OK);
    assert_int_equal(opencl_self_test(r->cl, r->context, r->queue, program, &r->device), WEIR_ERROR_UNSUPPORTED);
    assert_non_null(strstr(weir_error_message(), "CL_INVALID_KERNEL_NAME"));
    r->cl->ReleaseProgram(program);
}

static void errors_have_names(void **state)
{
    assert_string_equal(opencl_error_name(CL_SUCCESS), "CL_SUCCESS");
    assert_string_equal(opencl_error_name(CL_OUT_OF_RESOURCES), "CL_OUT_OF_RESOURCES");
    assert_string_equal(opencl_error_name(-123456), "an unknown OpenCL error");
}

int main(void)
{
    const struct CMUnitTest first[] = {
        cmocka_unit_test(the_cpu_backend_has_one_device),
        cmocka_unit_test(the_processor_is_found_by_its_number_kind_and_name),
        cmocka_unit_test(a_backend_that_is_none_has_no_devices),
        cmocka_unit_test(a_library_that_is_not_there_is_told),
        cmocka_unit_test(a_library_that_is_not_opencl_is_told),
        cmocka_unit_test(a_library_without_a_driver_is_told),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_numbered_and_described),
        cmocka_unit_test(a_list_with_little_room_still_counts_all),
        cmocka_unit_test(a_device_is_found_by_its_number),
        cmocka_unit_test(a_device_is_found_by_its_kind),
        cmocka_unit_test(a_device_is_found_by_a_part_of_its_name),
        cmocka_unit_test(without_a_wish_a_gpu_is_taken_before_others),
        cmocka_unit_test(a_wish_that_nothing_fits_lists_what_there_is),
        cmocka_unit_test(a_copy_has_a_bandwidth),
        cmocka_unit_test(a_program_is_compiled_once),
        cmocka_unit_test(other_options_are_another_program),
        cmocka_unit_test(another_driver_is_another_program),
        cmocka_unit_test(an_entry_that_was_cut_is_replaced),
        cmocka_unit_test(an_entry_with_a_flipped_byte_is_replaced),
        cmocka_unit_test(an_entry_under_anothers_name_is_not_taken),
        cmocka_unit_test(a_cache_that_cannot_be_written_is_no_error),
        cmocka_unit_test(without_a_home_nothing_is_kept),
        cmocka_unit_test(a_program_with_a_mistake_tells_what_the_compiler_said),
        cmocka_unit_test(the_rules_compile_as_opencl),
        cmocka_unit_test(this_device_keeps_the_contract),
        cmocka_unit_test(a_device_that_contracts_is_refused),
        cmocka_unit_test(a_program_without_the_self_test_is_told),
        cmocka_unit_test(errors_have_names),
    };
    int failed = cmocka_run_group_tests_name("opencl loading", first, NULL, NULL);
    return failed + cmocka_run_group_tests_name("opencl devices", tests, set_up, tear_down);
}

#else

static void a_build_without_opencl_says_so(void **state)
{
    weir_device device;
    double bandwidth;
    int32_t count = 7;
    assert_int_equal(weir_devices(WEIR_BACKEND_OPENCL, &device, 1, &count), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(count, 0);
    assert_string_equal(weir_error_message(), "this build of Weir has no OpenCL (Debian: opencl-headers)");
    assert_int_equal(weir_device_find(WEIR_BACKEND_OPENCL, NULL, &device), WEIR_ERROR_UNSUPPORTED);
    assert_int_equal(weir_device_bandwidth(WEIR_BACKEND_OPENCL, NULL, &bandwidth), WEIR_ERROR_UNSUPPORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_backend_has_one_device),
        cmocka_unit_test(the_processor_is_found_by_its_number_kind_and_name),
        cmocka_unit_test(a_backend_that_is_none_has_no_devices),
        cmocka_unit_test(a_build_without_opencl_says_so),
    };
    return cmocka_run_group_tests_name("opencl devices", tests, NULL, NULL);
}

#endif
