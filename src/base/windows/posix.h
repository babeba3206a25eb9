// Weir is written for POSIX. This folder gives Windows, as MinGW-w64 knows it, the part of POSIX that Weir uses, so that no other file
// has to ask which system it is on; what cannot be hidden (folders in paths, the allocator, the locale) is told apart in src/base.
//
// All of it is called windows_ something, so that a game may bring its own of the same names.
//
// The build includes this header before everything else. Names of files and values of the environment are UTF-8 everywhere in Weir;
// here they become the wide characters of Windows. Files are never translated: a line ends as it was written.
//
//     files.c    files and folders
//     system.c   processors, memory, environment, signals, libraries (dlfcn.h)
//     process.c  ffmpeg and the pipe to it (spawn.h, sys/wait.h)
//     main.c     the program's first words
//     fenv.h     how floats are computed
#ifndef WEIR_BASE_WINDOWS_POSIX_H
#define WEIR_BASE_WINDOWS_POSIX_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// gcc takes the plain words for Microsoft's formats; these are checked against what MinGW-w64's own printf knows.
#define format(kind, text, values) format(gnu_##kind, text, values)

// ---- Files and folders (files.c) -------------------------------------------------------------------------------------------

#undef PATH_MAX
#define PATH_MAX 4096  // bytes; Windows' own 260 are wide characters, each of up to three bytes here

struct windows_stat {
    unsigned short st_mode;
    long long st_size;
};

FILE *windows_fopen(const char *path, const char *mode);
FILE *windows_tmpfile(void);
FILE *windows_open_memstream(char **memory, size_t *size);
int windows_fclose(FILE *file);
int windows_open(const char *path, int flags);
int windows_mkstemp(char *path);
int windows_stat(const char *path, struct windows_stat *info);
int windows_fstat(int file, struct windows_stat *info);
int windows_access(const char *path, int mode);
int windows_mkdir(const char *path);
int windows_unlink(const char *path);
int windows_rename(const char *from, const char *to);  // replaces what is there
char *windows_realpath(const char *path, char *real);  // with slashes

#define fopen windows_fopen
#define tmpfile windows_tmpfile
#define open_memstream windows_open_memstream
#define fclose windows_fclose
#define open(path, flags) windows_open(path, flags)
#define mkstemp windows_mkstemp
#undef stat
#define stat windows_stat
#undef fstat
#define fstat windows_fstat
#define access windows_access
#define mkdir(path, mode) windows_mkdir(path)
#define unlink windows_unlink
#define remove(path) windows_unlink(path)
#define rename windows_rename
#define realpath windows_realpath
#define fsync _commit

#define O_CLOEXEC _O_NOINHERIT

// ---- The system (system.c) -------------------------------------------------------------------------------------------------

enum { _SC_NPROCESSORS_ONLN, _SC_PHYS_PAGES, _SC_PAGESIZE };

long windows_sysconf(int what);
char *windows_getenv(const char *name);  // valid until some calls later on this thread

#define sysconf windows_sysconf
#define getenv windows_getenv

// Ctrl-C and Ctrl-Break are SIGINT; a closed window, the end of a session or of the system is SIGHUP, and leaves some seconds.
#define SIGHUP 1
#define SIGKILL 9
#define SIGPIPE 13
#define SA_RESTART 1
#define SA_RESETHAND 2

#define sigaction windows_sigaction

struct sigaction {
    void (*sa_handler)(int number);
    int sa_flags;
};

int sigaction(int number, const struct sigaction *action, struct sigaction *before);

typedef void windows_handler(int number);

// A pipe without a reader fails to be written to and sends no signal.
static inline windows_handler *windows_signal(int number, windows_handler *handler)
{
    return number == SIGPIPE ? SIG_DFL : signal(number, handler);
}

#define signal windows_signal

// The program's own main; see main.c.
int weir_main(int count, char **words);

#endif
