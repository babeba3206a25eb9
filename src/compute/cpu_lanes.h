// Stands before a loop over the cells of a row: its lanes are independent of each other.
#ifndef WEIR_COMPUTE_CPU_LANES_H
#define WEIR_COMPUTE_CPU_LANES_H

#ifdef CPU_WIDE
#define LANES _Pragma("omp simd")
#else
#define LANES
#endif

#endif
