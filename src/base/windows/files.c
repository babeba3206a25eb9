// Files and folders by names in UTF-8; see posix.h.
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

static int fail(int reason)
{
    errno = reason;
    return -1;
}

// What the last failure of a function of Windows is called here.
static int fail_as_windows(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME: return fail(ENOENT);
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
    case ERROR_WRITE_PROTECT: return fail(EACCES);
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: return fail(EEXIST);
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: return fail(ENOSPC);
    case ERROR_FILENAME_EXCED_RANGE: return fail(ENAMETOOLONG);
    case ERROR_NOT_ENOUGH_MEMORY: return fail(ENOMEM);
    default: return fail(EIO);
    }
}

static bool widen(const char *path, wchar_t wide[PATH_MAX])
{
    if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, PATH_MAX) > 0) return true;
    fail(GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : ENOENT);
    return false;
}

// ---- Opening ---------------------------------------------------------------------------------------------------------------

FILE *windows_fopen(const char *path, const char *mode)
{
    wchar_t wide[PATH_MAX], manner[8] = {0};
    if (!widen(path, wide)) return NULL;
    size_t length = strlen(mode);
    for (size_t i = 0; i < length && i < 5; i++) manner[i] = (wchar_t)mode[i];
    if (!strchr(mode, 'b')) wcscat(manner, L"b");
    return _wfopen(wide, wcscat(manner, L"N"));
}

// In the user's own folder for such files; the system's tmpfile uses the root of the drive, where few may write.
FILE *windows_tmpfile(void)
{
    wchar_t folder[MAX_PATH + 1], name[MAX_PATH + 1];
    DWORD length = GetTempPathW(MAX_PATH + 1, folder);
    if (length == 0 || length > MAX_PATH || !GetTempFileNameW(folder, L"wei", 0, name)) {
        fail_as_windows();
        return NULL;
    }
    return _wfopen(name, L"w+bTDN");  // short-lived, and deleted when it is closed
}

// ---- Files that are memory -------------------------------------------------------------------------------------------------

// They are temporary files, and memory when they are closed.
typedef struct memory_file {
    FILE *file;
    char **memory;
    size_t *size;
    struct memory_file *next;
} memory_file;

static memory_file *memory_files;
static SRWLOCK memory_files_lock = SRWLOCK_INIT;

FILE *windows_open_memstream(char **memory, size_t *size)
{
    memory_file *made = malloc(sizeof *made);
    FILE *file = made ? windows_tmpfile() : NULL;
    *memory = NULL;
    *size = 0;
    if (!file) {
        free(made);
        return NULL;
    }
    AcquireSRWLockExclusive(&memory_files_lock);
    *made = (memory_file){file, memory, size, memory_files};
    memory_files = made;
    ReleaseSRWLockExclusive(&memory_files_lock);
    return file;
}

static memory_file *take_memory_file(const FILE *file)
{
    AcquireSRWLockExclusive(&memory_files_lock);
    memory_file **link = &memory_files, *found;
    while (*link && (*link)->file != file) link = &(*link)->next;
    found = *link;
    if (found) *link = found->next;
    ReleaseSRWLockExclusive(&memory_files_lock);
    return found;
}

static bool read_back(const memory_file *from)
{
    long long size = fflush(from->file) == 0 && !ferror(from->file) ? _ftelli64(from->file) : -1;
    char *memory = size >= 0 ? malloc((size_t)size + 1) : NULL;
    if (!memory) return false;
    rewind(from->file);
    if (fread(memory, 1, (size_t)size, from->file) != (size_t)size) {
        free(memory);
        return false;
    }
    memory[size] = '\0';
    *from->memory = memory;
    *from->size = (size_t)size;
    return true;
}

#undef fclose
int windows_fclose(FILE *file)
{
    memory_file *kept = take_memory_file(file);
    bool whole = !kept || read_back(kept);
    free(kept);
    return fclose(file) == 0 && whole ? 0 : EOF;
}

// ---- Opening by number -----------------------------------------------------------------------------------------------------

int windows_open(const char *path, int flags)
{
    wchar_t wide[PATH_MAX];
    return widen(path, wide) ? _wopen(wide, flags | _O_BINARY) : -1;
}

int windows_mkstemp(char *path)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345";
    char *last = path + strlen(path) - 6;
    wchar_t wide[PATH_MAX];
    for (int trial = 0; trial < 100; trial++) {
        LARGE_INTEGER now;
        QueryPerformanceCounter(&now);
        uint64_t number = (uint64_t)now.QuadPart * 2654435761u + GetCurrentThreadId() + 40503u * (unsigned)trial;
        for (int i = 0; i < 6; i++) last[i] = letters[number >> 5 * i & 31];
        if (!widen(path, wide)) return -1;
        int file = _wopen(wide, _O_RDWR | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT, _S_IREAD | _S_IWRITE);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

// ---- Looking ---------------------------------------------------------------------------------------------------------------

static HANDLE look_at(const char *path)
{
    wchar_t wide[PATH_MAX];
    if (!widen(path, wide)) return INVALID_HANDLE_VALUE;
    // With backup semantics folders can be opened too.
    HANDLE handle = CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) fail_as_windows();
    return handle;
}

static int tell_about(HANDLE handle, struct windows_stat *info)
{
    BY_HANDLE_FILE_INFORMATION about;
    *info = (struct windows_stat){0};
    switch (GetFileType(handle)) {
    case FILE_TYPE_CHAR: info->st_mode = _S_IFCHR; return 0;
    case FILE_TYPE_PIPE: info->st_mode = _S_IFIFO; return 0;
    default: break;
    }
    if (!GetFileInformationByHandle(handle, &about)) return fail_as_windows();
    info->st_mode = about.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY ? _S_IFDIR : _S_IFREG;
    info->st_size = (long long)about.nFileSizeHigh << 32 | about.nFileSizeLow;
    return 0;
}

int windows_stat(const char *path, struct windows_stat *info)
{
    HANDLE handle = look_at(path);
    if (handle == INVALID_HANDLE_VALUE) return -1;
    int result = tell_about(handle, info);
    CloseHandle(handle);
    return result;
}

int windows_fstat(int file, struct windows_stat *info)
{
    return tell_about((HANDLE)_get_osfhandle(file), info);
}

// Whether a folder can be written to only shows when it is tried.
int windows_access(const char *path, int mode)
{
    wchar_t wide[PATH_MAX];
    if (!widen(path, wide)) return -1;
    DWORD attributes = GetFileAttributesW(wide);
    if (attributes == INVALID_FILE_ATTRIBUTES) return fail_as_windows();
    bool fixed = (attributes & FILE_ATTRIBUTE_READONLY) && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
    return fixed && (mode & W_OK) ? fail(EACCES) : 0;
}

char *windows_realpath(const char *path, char *real)
{
    HANDLE handle = look_at(path);
    if (handle == INVALID_HANDLE_VALUE) return NULL;
    wchar_t wide[PATH_MAX];
    char narrow[PATH_MAX];
    DWORD length = GetFinalPathNameByHandleW(handle, wide, PATH_MAX, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    if (length == 0) fail_as_windows();
    CloseHandle(handle);
    if (length == 0) return NULL;
    // \\?\C:\folder is C:/folder, and \\?\UNC\server\share is //server/share.
    const wchar_t *from = wide;
    if (length < PATH_MAX && wcsncmp(wide, L"\\\\?\\UNC\\", 8) == 0) {
        from = wide + 6;
        wide[6] = L'\\';
    } else if (length < PATH_MAX && wcsncmp(wide, L"\\\\?\\", 4) == 0) {
        from = wide + 4;
    }
    if (length >= PATH_MAX || WideCharToMultiByte(CP_UTF8, 0, from, -1, narrow, PATH_MAX, NULL, NULL) == 0) {
        fail(ENAMETOOLONG);
        return NULL;
    }
    for (char *c = narrow; *c; c++)
        if (*c == '\\') *c = '/';
    return real ? strcpy(real, narrow) : _strdup(narrow);
}

// ---- Changing --------------------------------------------------------------------------------------------------------------

int windows_mkdir(const char *path)
{
    wchar_t wide[PATH_MAX];
    return widen(path, wide) ? _wmkdir(wide) : -1;
}

int windows_unlink(const char *path)
{
    wchar_t wide[PATH_MAX];
    return widen(path, wide) ? _wunlink(wide) : -1;
}

int windows_rename(const char *from, const char *to)
{
    wchar_t wide_from[PATH_MAX], wide_to[PATH_MAX];
    if (!widen(from, wide_from) || !widen(to, wide_to)) return -1;
    return MoveFileExW(wide_from, wide_to, MOVEFILE_REPLACE_EXISTING) ? 0 : fail_as_windows();
}
