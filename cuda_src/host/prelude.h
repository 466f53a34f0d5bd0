/* host/prelude: defines CUDA C++ keywords and builtins for CPU targets (the cpu and parallel
 * targets of vectorize and guvectorize, and jit for the CPU).
 *
 * This header contains the simulator's prelude (sim/prelude.h), except the grid. Types,
 * mathematical functions and intrinsics are those of the simulator, so that the same source
 * compiles for every target. Uses of thread indices, barriers, shared memory and warps are compile
 * errors with an explanation. */
#ifndef NUMBALITE_HOST_PRELUDE_H
#define NUMBALITE_HOST_PRELUDE_H

#define NUMBALITE_HOST 1
#include "../sim/prelude.h"

#endif
