/* host/prelude: the words of CUDA C++ for code that runs on the CPU for its own sake: the cpu and
 * parallel targets of vectorize and guvectorize, and jit for the CPU.
 *
 * It is the simulator's prelude (sim/prelude.h) without a grid: types, mathematical functions and
 * intrinsics are the same, so that one string compiles for every target; thread indices, barriers,
 * shared memory and warps are errors that say so. */
#ifndef NUMBALITE_HOST_PRELUDE_H
#define NUMBALITE_HOST_PRELUDE_H

#define NUMBALITE_HOST 1
#include "../sim/prelude.h"

#endif
