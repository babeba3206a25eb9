// What the program knows of the machine it runs on.
#ifndef APP_MACHINE_H
#define APP_MACHINE_H

#include <weir/weir.h>

// "AMD EPYC 9R14, avx512": the processor and the code path in use; or the name and driver of a device of another backend.
const char *machine_device(weir_backend backend, const char *which, weir_simd simd);

const char *machine_simd_name(weir_simd simd);
const char *machine_backend_name(weir_backend backend);

// What the memory gives to this many threads, bytes per second: the best of several triads a[i] = b[i] + s * c[i] over arrays
// too large for any cache, counted as STREAM does, 12 bytes per element. 0 if there is no memory for the arrays.
double machine_bandwidth(int32_t threads);

#define MACHINE_TRIAD_BYTES (256 << 20)  // of each array

#endif
