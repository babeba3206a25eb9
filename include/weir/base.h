// Status codes, version, and the hooks through which a game lends Weir its memory, its log, its threads and its save files.
#ifndef WEIR_BASE_H
#define WEIR_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32) && defined(WEIR_SHARED)
#define WEIR_API __declspec(dllexport)
#elif defined(__GNUC__) && !defined(_WIN32)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

#define WEIR_VERSION_MAJOR 0
#define WEIR_VERSION_MINOR 1
#define WEIR_VERSION_PATCH 0

// Every status and its sentence. One list makes the enum and the texts, so that they cannot drift apart.
#define WEIR_STATUS_LIST(ITEM)                                             \
    ITEM(OK, "all went well")                                              \
    ITEM(ERROR_ARGUMENT, "an argument is not valid")                       \
    ITEM(ERROR_OUTSIDE, "the place lies outside the world")                \
    ITEM(ERROR_MEMORY, "memory ran out")                                   \
    ITEM(ERROR_LIMIT, "the request is larger than Weir can hold")          \
    ITEM(ERROR_BUSY, "a background step is running")                       \
    ITEM(ERROR_FILE, "a file could not be read or written")                \
    ITEM(ERROR_FORMAT, "the file is damaged or not a Weir snapshot")       \
    ITEM(ERROR_VERSION, "the file was written by another version of Weir") \
    ITEM(ERROR_UNSUPPORTED, "this build or machine cannot do that")        \
    ITEM(ERROR_THREAD, "a thread could not be started")                    \
    ITEM(ERROR_DEVICE, "the device failed")

typedef enum weir_status {
#define WEIR_STATUS_ENUM(name, text) WEIR_##name,
    WEIR_STATUS_LIST(WEIR_STATUS_ENUM)
#undef WEIR_STATUS_ENUM
        WEIR_STATUS_COUNT
} weir_status;

// The general sentence of a status, such as "memory ran out". Never NULL.
WEIR_API const char *weir_status_text(weir_status status);

// The particular sentence of the last failure on the calling thread, such as
// "gravity.y is nan; it must be a number from -1 to 1". Empty before the first failure. Valid until the next failure.
WEIR_API const char *weir_error_message(void);

// Keeps a sentence for weir_error_message, at most 511 bytes of it, and returns the status: for code beside Weir that fails in the same way.
WEIR_API weir_status weir_error_set(weir_status status, const char *sentence);

// "0.1.0"
WEIR_API const char *weir_version(void);

// Memory. alloc returns NULL when there is none; memory must be aligned to 64 bytes. free gets the size that was asked for.
// Both may be called from the thread that steps or edits the world, never from two threads of one world at once.
typedef struct weir_allocator {
    void *(*alloc)(void *user, size_t size);
    void (*free)(void *user, void *memory, size_t size);
    void *user;
} weir_allocator;

typedef enum weir_log_level { WEIR_LOG_DEBUG, WEIR_LOG_INFO, WEIR_LOG_WARNING, WEIR_LOG_ERROR } weir_log_level;

// Log. One line without its newline. NULL write: Weir is silent.
typedef struct weir_logger {
    void (*write)(void *user, weir_log_level level, const char *line);
    void *user;
} weir_logger;

// A piece of work over the items begin <= i < end. worker is below weir_jobs.workers, and no two pieces that run at the same
// time have the same one.
typedef void weir_task(void *context, int32_t begin, int32_t end, int32_t worker);

// Jobs. run must call task until all of 0 <= i < count is covered, in pieces of any size and order, on any threads, and return
// when all are done. Results never depend on how the work was split. NULL run: Weir uses a thread pool of its own.
typedef struct weir_jobs {
    void (*run)(void *user, weir_task *task, void *context, int32_t count);
    int32_t workers;
    void *user;
} weir_jobs;

// Bytes out and in, for snapshots that a game keeps its own way. write takes some of the bytes, at least one, and returns how many: 0 or
// less is a failure. read gives up to `size` bytes and returns how many: 0 is the end, less than 0 a failure.
typedef int64_t weir_write(void *user, const void *bytes, int64_t size);
typedef int64_t weir_read(void *user, void *bytes, int64_t size);

#ifdef __cplusplus
}
#endif
#endif
