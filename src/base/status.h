// Failures with a sentence. The sentence of the last failure is kept per thread and read by weir_error_message.
#ifndef WEIR_BASE_STATUS_H
#define WEIR_BASE_STATUS_H

#include <weir/base.h>

// Keeps the sentence (printf style, at most 255 characters) and returns the status.
__attribute__((format(printf, 2, 3))) weir_status status_fail(weir_status status, const char *format, ...);

#endif
