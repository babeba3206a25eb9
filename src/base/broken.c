#include "base/broken.h"

#include <stdarg.h>
#include <stdio.h>

const char *broken(const char *format, ...)
{
    static _Thread_local char sentence[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return sentence;
}
