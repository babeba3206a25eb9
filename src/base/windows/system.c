// Processors, memory, environment, signals and libraries; see posix.h.
#include "base/windows/dlfcn.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <windows.h>

// ---- The machine -----------------------------------------------------------------------------------------------------------

// The processors that this program may use.
static long processors(void)
{
    DWORD_PTR allowed = 0, all = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &allowed, &all) || allowed == 0) {
        // It runs on more than one group of 64.
        return (long)GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    }
    return __builtin_popcountll(allowed);
}

long windows_sysconf(int what)
{
    SYSTEM_INFO system;
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    if (what == _SC_NPROCESSORS_ONLN) return processors();
    GetSystemInfo(&system);
    if (what == _SC_PAGESIZE) return (long)system.dwPageSize;
    return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / system.dwPageSize) : -1;
}

// ---- The environment -------------------------------------------------------------------------------------------------------

static char *environment(const wchar_t *name)
{
    enum { KEPT = 8 };
    static _Thread_local char *kept[KEPT];
    static _Thread_local unsigned next;
    const wchar_t *wide = _wgetenv(name);
    int size = wide ? WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL) : 0;
    char *value = size > 0 ? malloc((size_t)size) : NULL;
    if (!value) return NULL;
    WideCharToMultiByte(CP_UTF8, 0, wide, -1, value, size, NULL, NULL);
    free(kept[next % KEPT]);
    return kept[next++ % KEPT] = value;
}

char *windows_getenv(const char *name)
{
    wchar_t wide[64];
    if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide, 64) == 0) return NULL;
    char *value = environment(wide);
    // What the others call XDG_CACHE_HOME.
    return value || strcmp(name, "XDG_CACHE_HOME") != 0 ? value : environment(L"LOCALAPPDATA");
}

// ---- Signals ---------------------------------------------------------------------------------------------------------------

static struct sigaction actions[NSIG];

// Called by Windows, on a thread that it makes for it. What it does not answer with TRUE ends the program.
static BOOL WINAPI on_event(DWORD event)
{
    bool closing = event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT;
    int number = closing ? SIGHUP : SIGINT;
    struct sigaction action = actions[number];
    if (action.sa_handler == SIG_DFL) return FALSE;
    if (action.sa_flags & SA_RESETHAND) actions[number] = (struct sigaction){.sa_handler = SIG_DFL};
    if (action.sa_handler != SIG_IGN) action.sa_handler(number);
    // When this returns the program is ended; until then it has some seconds to end by itself.
    if (closing) Sleep(INFINITE);
    return TRUE;
}

int sigaction(int number, const struct sigaction *action, struct sigaction *before)
{
    static bool listening;
    if (number < 0 || number >= NSIG) {
        errno = EINVAL;
        return -1;
    }
    if (before) *before = actions[number];
    if (!action) return 0;
    actions[number] = *action;
    if (!listening) listening = SetConsoleCtrlHandler(on_event, TRUE);
    return 0;
}

// ---- Libraries -------------------------------------------------------------------------------------------------------------

static _Thread_local char library_failure[256];

static void fail_library(const char *name)
{
    DWORD error = GetLastError();
    wchar_t words[128] = L"";
    char said[192] = "";
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, error, 0, words, 128, NULL);
    while (length > 0 && (words[length - 1] <= L' ' || words[length - 1] == L'.')) words[--length] = L'\0';
    WideCharToMultiByte(CP_UTF8, 0, words, -1, said, sizeof said, NULL, NULL);
    snprintf(library_failure, sizeof library_failure, "%.60s: %s (error %lu)", name, said[0] ? said : "it cannot be loaded",
             (unsigned long)error);
}

void *dlopen(const char *name, int flags)
{
    (void)flags;
    wchar_t wide[PATH_MAX];
    HMODULE library = NULL;
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, PATH_MAX) > 0) library = LoadLibraryW(wide);
    if (!library) fail_library(name);
    return library;
}

void *dlsym(void *library, const char *name)
{
    FARPROC found = GetProcAddress(library, name);
    if (!found) fail_library(name);
    void *address;
    memcpy(&address, &found, sizeof address);
    return address;
}

char *dlerror(void)
{
    return library_failure;
}
