/* base/divide: emulates integer division by zero, which traps on x86-64 but not on a GPU.
 *
 * The emulation is used only for images compiled by g++: numbalite/compilers/sim/divisions.py
 * selects g++ for sources whose divisions cannot be instrumented or are checked, and for code
 * linked with such sources. In images compiled by clang, no division traps
 * (numbalite/compilers/sim/irpatch.py). */
#ifndef NL_BASE_DIVIDE_H
#define NL_BASE_DIVIDE_H

/* `context` is the third argument of a signal handler for a trapped division. Sets the result that
 * the division has on a GPU (division by zero: quotient all ones, remainder the dividend; overflow:
 * the dividend and 0) and skips the instruction. Returns 0 if the instruction is not a division
 * that this code can decode, 1 after a division by zero, 2 after an overflow. */
int nl_divide_resume(void *context);

#endif
