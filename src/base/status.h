// Failures with a sentence. The sentence of the last failure is kept per thread and read by weir_error_message.
#ifndef WEIR_BASE_STATUS_H
#define WEIR_BASE_STATUS_H

#include <weir/base.h>

enum { STATUS_BYTES = 512 };  // that a sentence may take, with its end; a longer one is cut

// Keeps the sentence (printf style) and returns the status.
__attribute__((format(printf, 2, 3))) weir_status status_fail(weir_status status, const char *format, ...);

#endif
