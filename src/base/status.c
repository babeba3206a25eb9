// What went wrong, in words: one general sentence per status, and the particular one of the last failure on each thread. Per
// thread, so that two worlds that fail on two threads do not write over each other's sentence.
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

#define VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch
#define VERSION_TEXT(major, minor, patch) VERSION_TEXT_OF(major, minor, patch)

static _Thread_local char message[STATUS_BYTES];

weir_status status_fail(weir_status status, const char *format, ...)
{
    // Written beside the old sentence first: that one may be among the arguments.
    char sentence[sizeof message];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);

    snprintf(message, sizeof message, "%s", sentence);
    return status;
}

weir_status weir_error_set(weir_status status, const char *sentence)
{
    return status_fail(status, "%s", sentence);
}

const char *weir_error_message(void)
{
    return message;
}

const char *weir_status_text(weir_status status)
{
#define STATUS_TEXT(name, text) text,
    static const char *const texts[WEIR_STATUS_COUNT] = {WEIR_STATUS_LIST(STATUS_TEXT)};
#undef STATUS_TEXT
    // A binding may hand over any number.
    if ((int)status < 0 || status >= WEIR_STATUS_COUNT) return "unknown status";
    return texts[status];
}

const char *weir_version(void)
{
    return VERSION_TEXT(WEIR_VERSION_MAJOR, WEIR_VERSION_MINOR, WEIR_VERSION_PATCH);
}
