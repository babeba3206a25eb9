// Seconds since some moment in the past, for measuring.
#ifndef WEIR_BASE_CLOCK_H
#define WEIR_BASE_CLOCK_H

double clock_seconds(void);

#endif
