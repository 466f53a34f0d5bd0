// malloc and free are built into NVRTC.
#pragma once
#include <stddef.h>

#ifndef EXIT_SUCCESS
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#endif

#ifdef NUMBALITE_FAIL // numbalite/check.cuh
__device__ inline void abort(int line = NUMBALITE_HERE) {
    NUMBALITE_FAIL_AT(fault_trap, "", "abort", line, file);
}
#else
__device__ inline void abort() { __trap(); }
#endif
