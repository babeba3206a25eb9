// The program's first words: what the user typed becomes UTF-8, as everything in Weir, and what is printed stays so. The build has
// the program's own main under the name weir_main.
#include <stdbool.h>
#include <wchar.h>
#include <windows.h>

int wmain(int count, wchar_t **wide);

// So that a console understands the progress bar; one that is too old for it shows some odd letters.
static void set_up_console(void)
{
    DWORD mode;
    HANDLE console = GetStdHandle(STD_ERROR_HANDLE);
    SetConsoleOutputCP(CP_UTF8);
    if (GetConsoleMode(console, &mode)) SetConsoleMode(console, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

int wmain(int count, wchar_t **wide)
{
    // A report on stdout is the same bytes on all systems.
    _setmode(STDOUT_FILENO, _O_BINARY);
    _setmode(STDERR_FILENO, _O_BINARY);
    set_up_console();
    char **words = calloc((size_t)count + 1, sizeof *words);
    for (int i = 0; words && i < count; i++) {
        int size = WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, NULL, 0, NULL, NULL);
        words[i] = malloc((size_t)size);
        if (!words[i]) return 1;
        WideCharToMultiByte(CP_UTF8, 0, wide[i], -1, words[i], size, NULL, NULL);
    }
    return words ? weir_main(count, words) : 1;
}
