// Another program and the pipe to it; see spawn.h. A process is known by its handle.
#include "base/windows/spawn.h"
#include "base/windows/sys/wait.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { PIPE_BYTES = 1 << 16, COMMAND_MAX = 32767 };  // Windows takes no longer command

// ---- What is asked for -----------------------------------------------------------------------------------------------------

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
{
    *actions = (posix_spawn_file_actions_t){{-1, -1, -1}, -1};
    return 0;
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int file, int as)
{
    actions->files[as] = file;
    return 0;
}

int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions, int as, const char *path, int flags, int mode)
{
    (void)mode;
    actions->opened = open(strcmp(path, "/dev/null") == 0 ? "NUL" : path, flags | O_CLOEXEC);
    actions->files[as] = actions->opened;
    return actions->opened < 0 ? errno : 0;
}

int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
{
    if (actions->opened >= 0) close(actions->opened);
    return 0;
}

int posix_spawnattr_init(posix_spawnattr_t *manner)
{
    manner->flags = 0;
    return 0;
}

int posix_spawnattr_setpgroup(posix_spawnattr_t *manner, pid_t group)
{
    (void)manner;
    return group == 0 ? 0 : EINVAL;
}

int posix_spawnattr_setflags(posix_spawnattr_t *manner, short flags)
{
    manner->flags = flags;
    return 0;
}

int posix_spawnattr_destroy(posix_spawnattr_t *manner)
{
    (void)manner;
    return 0;
}

// ---- The command -----------------------------------------------------------------------------------------------------------

typedef struct command_line {
    wchar_t *text;
    size_t length;
    bool full;
} command_line;

static void add_letters(command_line *line, wchar_t letter, size_t count)
{
    if (line->length + count >= COMMAND_MAX) line->full = true;
    for (size_t i = 0; i < count && !line->full; i++) line->text[line->length++] = letter;
}

// A program gets one line and cuts it into words itself. Between quotes only quotes need a backslash, and so do backslashes that
// stand before one.
static void add_word(command_line *line, const wchar_t *word)
{
    if (line->length > 0) add_letters(line, L' ', 1);
    add_letters(line, L'"', 1);
    for (;; word++) {
        size_t slashes = wcsspn(word, L"\\");
        word += slashes;
        bool quoted = *word == L'"' || *word == L'\0';
        add_letters(line, L'\\', quoted ? 2 * slashes : slashes);
        if (*word == L'\0') break;
        if (*word == L'"') add_letters(line, L'\\', 1);
        add_letters(line, *word, 1);
    }
    add_letters(line, L'"', 1);
}

static int write_command(char *const words[], wchar_t *text)
{
    command_line line = {.text = text};
    for (; *words; words++) {
        wchar_t wide[PATH_MAX];
        if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, *words, -1, wide, PATH_MAX) == 0) return EINVAL;
        add_word(&line, wide);
    }
    line.text[line.length] = L'\0';
    return line.full ? E2BIG : 0;
}

// ---- Starting --------------------------------------------------------------------------------------------------------------

// The child gets handles of its own: those of the caller's files are not for children.
static HANDLE child_handle(int file)
{
    HANDLE mine = file >= 0 ? (HANDLE)_get_osfhandle(file) : INVALID_HANDLE_VALUE, given = NULL;
    HANDLE self = GetCurrentProcess();
    if (mine == INVALID_HANDLE_VALUE) return NULL;
    return DuplicateHandle(self, mine, self, &given, 0, TRUE, DUPLICATE_SAME_ACCESS) ? given : NULL;
}

static int start(const wchar_t *program, wchar_t *command, const posix_spawn_file_actions_t *actions, DWORD flags,
                 pid_t *process)
{
    STARTUPINFOW manner = {.cb = sizeof manner, .dwFlags = STARTF_USESTDHANDLES};
    PROCESS_INFORMATION made;
    HANDLE handles[3];
    for (int i = 0; i < 3; i++) handles[i] = child_handle(actions->files[i]);
    manner.hStdInput = handles[0];
    manner.hStdOutput = handles[1];
    manner.hStdError = handles[2];
    bool good = CreateProcessW(program, command, NULL, NULL, TRUE, flags, NULL, NULL, &manner, &made);
    for (int i = 0; i < 3; i++)
        if (handles[i]) CloseHandle(handles[i]);
    if (!good) return ENOEXEC;
    CloseHandle(made.hThread);
    *process = (pid_t)(intptr_t)made.hProcess;
    return 0;
}

int posix_spawnp(pid_t *process, const char *name, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *manner,
                 char *const words[], char *const surroundings[])
{
    (void)surroundings;
    wchar_t wide[PATH_MAX], program[PATH_MAX];
    const wchar_t *path = _wgetenv(L"PATH");
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, name, -1, wide, PATH_MAX) == 0) return EINVAL;
    // Only in the folders of PATH: left alone, Windows looks into the current folder first.
    DWORD found = path ? SearchPathW(path, wide, L".exe", PATH_MAX, program, NULL) : 0;
    if (found == 0 || found >= PATH_MAX) return ENOENT;
    wchar_t *command = malloc((COMMAND_MAX + 1) * sizeof *command);
    if (!command) return ENOMEM;
    int reason = write_command(words, command);
    DWORD flags = manner->flags & POSIX_SPAWN_SETPGROUP ? CREATE_NEW_PROCESS_GROUP : 0;
    if (!reason) reason = start(program, command, actions, flags, process);
    free(command);
    return reason;
}

// ---- Meanwhile -------------------------------------------------------------------------------------------------------------

int windows_pipe(int ends[2])
{
    return _pipe(ends, PIPE_BYTES, _O_BINARY | _O_NOINHERIT);
}

int kill(pid_t process, int number)
{
    return TerminateProcess((HANDLE)(intptr_t)process, 128 + (unsigned)number) ? 0 : -1;
}

pid_t waitpid(pid_t process, int *status, int options)
{
    (void)options;
    HANDLE handle = (HANDLE)(intptr_t)process;
    DWORD code = 0;
    bool good = WaitForSingleObject(handle, INFINITE) == WAIT_OBJECT_0 && GetExitCodeProcess(handle, &code);
    CloseHandle(handle);
    *status = (int)code;
    errno = good ? errno : ECHILD;
    return good ? process : -1;
}
