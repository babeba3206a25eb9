// A compiled program on disk is one file, named by its key:
//
//     entry header | binary as the driver gave it
//
// The key is a hash over all that the binary depends on, so that a file is never stale under its name. Files that were cut, damaged
// or renamed do not match their header; they are compiled anew and replaced. Whatever goes wrong with the disk, the program is built.
#include "compute/opencl_program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/status.h"
#include <weir/path.h>

#define ENTRY_MAGIC "weircl1"
#define ENTRY_BYTES_MAX (256 << 20)  // a larger file is none of ours

typedef struct entry_header {
    char magic[8];
    uint64_t key, size, checksum;
} entry_header;

// ---- The cache's files -----------------------------------------------------------------------------------------------------

static uint64_t key_of(const opencl_device *device, const char *options, const char *source)
{
    const char *const parts[] = {source, options, device->name, device->driver, device->version, weir_version()};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) key = hash_bytes(parts[i], strlen(parts[i]) + 1, key);
    return key;
}

// Makes the folder where it is missing. False when there is none to write to: some drivers take seconds to give a binary.
static bool cache_folder(char folder[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (cache && weir_path_is_absolute(cache)) {
        length = snprintf(folder, PATH_MAX, "%s", cache);
    } else if (home && weir_path_is_absolute(home)) {
        length = snprintf(folder, PATH_MAX, "%s/.cache", home);
    } else {
        return false;
    }
    if (length > PATH_MAX - 64) return false;
    mkdir(folder, 0700);
    strcat(folder, "/weir");
    mkdir(folder, 0700);
    return access(folder, R_OK | W_OK | X_OK) == 0;
}

static bool read_all(int file, void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = read(file, (char *)bytes + done, size - done);
        if (part <= 0) return false;
        done += (size_t)part;
    }
    return true;
}

static bool write_all(int file, const void *bytes, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t part = write(file, (const char *)bytes + done, size - done);
        if (part <= 0) return false;
        done += (size_t)part;
    }
    return true;
}

static void *read_open_entry(int file, uint64_t key, size_t *size)
{
    struct stat info;
    entry_header header;
    if (fstat(file, &info) || !S_ISREG(info.st_mode) || info.st_size > ENTRY_BYTES_MAX) return NULL;
    if (!read_all(file, &header, sizeof header)) return NULL;
    if (memcmp(header.magic, ENTRY_MAGIC, sizeof header.magic) != 0 || header.key != key) return NULL;
    if (header.size == 0 || header.size != (uint64_t)info.st_size - sizeof header) return NULL;

    void *binary = malloc((size_t)header.size);
    if (!binary) return NULL;
    if (!read_all(file, binary, (size_t)header.size) || hash_bytes(binary, (size_t)header.size, key) != header.checksum) {
        free(binary);
        return NULL;
    }
    *size = (size_t)header.size;
    return binary;
}

// The binary, to be freed; NULL when there is none that is whole.
static void *read_entry(const char *path, uint64_t key, size_t *size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return NULL;
    void *binary = read_open_entry(file, key, size);
    close(file);
    return binary;
}

// Beside its place first and then renamed, so that two programs that start at once never read half an entry.
static void write_entry(const char *path, uint64_t key, const void *binary, size_t size)
{
    char draft[PATH_MAX + 8];
    snprintf(draft, sizeof draft, "%s.XXXXXX", path);
    int file = mkstemp(draft);
    if (file < 0) return;
    entry_header header = {.magic = ENTRY_MAGIC, .key = key, .size = size, .checksum = hash_bytes(binary, size, key)};
    bool written = write_all(file, &header, sizeof header) && write_all(file, binary, size);
    if (close(file) || !written || rename(draft, path)) unlink(draft);
}

// ---- Compiling -------------------------------------------------------------------------------------------------------------

// The contract's flags, then the caller's. False when they do not fit.
static bool all_options(const opencl_device *device, const char *options, char all[1024])
{
    const char *broken = getenv("WEIR_BREAK_CONTRACT");
    int length =
        snprintf(all, 1024, "-cl-std=CL1.2%s%s%s%s", device->correct_division ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
                 broken && strcmp(broken, "1") == 0 ? " -D BREAK_CONTRACT" : "", options ? " " : "", options ? options : "");
    return length < 1024;
}

static cl_program build_binary(const opencl_api *cl, cl_context context, const opencl_device *device, const char *options,
                               const void *binary, size_t size)
{
    const unsigned char *bytes = binary;
    cl_int loaded, error;
    cl_program program = cl->CreateProgramWithBinary(context, 1, &device->id, &size, &bytes, &loaded, &error);
    if (!program) return NULL;
    if (loaded == CL_SUCCESS && cl->BuildProgram(program, 1, &device->id, options, NULL, NULL) == CL_SUCCESS) return program;
    cl->ReleaseProgram(program);
    return NULL;
}

static char *build_log(const opencl_api *cl, cl_program program, const opencl_device *device)
{
    size_t size = 0;
    cl->GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = size > 0 ? malloc(size + 1) : NULL;
    if (!log) return NULL;
    log[0] = log[size] = '\0';
    cl->GetProgramBuildInfo(program, device->id, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    return log;
}

// The beginning of a log as one line, for a sentence.
static void first_lines(const char *log, char line[160])
{
    snprintf(line, 160, "%s", log ? log : "");
    for (char *c = line; *c; c++)
        if (*c == '\n' || *c == '\t') *c = ' ';
}

static weir_status build_source(const opencl_api *cl, cl_context context, const opencl_device *device, const char *what,
                                const char *options, const char *source, cl_program *program, char **log)
{
    cl_int error;
    *program = cl->CreateProgramWithSource(context, 1, &source, NULL, &error);
    if (*program) error = cl->BuildProgram(*program, 1, &device->id, options, NULL, NULL);
    if (error == CL_SUCCESS) return WEIR_OK;

    *log = *program ? build_log(cl, *program, device) : NULL;
    if (*program) cl->ReleaseProgram(*program);
    *program = NULL;
    char line[160];
    first_lines(*log, line);
    return status_fail(WEIR_ERROR_UNSUPPORTED, "OpenCL on %.60s could not compile %s (%s): %s", device->name, what,
                       opencl_error_name(error), line);
}

static void keep_binary(const opencl_api *cl, cl_program program, const char *path, uint64_t key)
{
    size_t size = 0;
    if (cl->GetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) != CL_SUCCESS || size == 0) return;
    unsigned char *binary = malloc(size);
    if (!binary) return;
    if (cl->GetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS)
        write_entry(path, key, binary, size);
    free(binary);
}

static void tell_of_compilation(weir_logger logger, const opencl_device *device, const char *what, bool keeps)
{
    char line[256];
    if (!logger.write) return;
    snprintf(line, sizeof line, "compiling %.80s for %.80s; this can take a minute%s", what, device->name,
             keeps ? ", and is kept for the next time" : "");
    logger.write(logger.user, WEIR_LOG_INFO, line);
}

weir_status opencl_build(const opencl_api *cl, cl_context context, const opencl_device *device, const char *what,
                         const char *options, const char *source, weir_logger logger, cl_program *program,
                         opencl_build_info *info)
{
    double start = clock_seconds();
    opencl_build_info done = {0};
    char all[1024], path[PATH_MAX];
    *program = NULL;
    if (info) *info = done;
    if (!all_options(device, options, all))
        return status_fail(WEIR_ERROR_LIMIT, "the options of an OpenCL program are too long");

    uint64_t key = key_of(device, all, source);
    bool keeps = cache_folder(path);
    if (keeps) {
        size_t length = strlen(path), size;
        snprintf(path + length, sizeof path - length, "/%016llx.bin", (unsigned long long)key);
        void *binary = read_entry(path, key, &size);
        if (binary) *program = build_binary(cl, context, device, all, binary, size);
        free(binary);
    }
    done.cached = *program != NULL;

    weir_status status = WEIR_OK;
    if (!*program) tell_of_compilation(logger, device, what, keeps);
    if (!*program) status = build_source(cl, context, device, what, all, source, program, &done.log);
    if (*program && keeps && !done.cached) keep_binary(cl, *program, path, key);
    done.seconds = clock_seconds() - start;
    if (info)
        *info = done;
    else
        free(done.log);
    return status;
}
