/* base/divide: integer division by zero, which traps on x86-64 but not on a GPU.
 *
 * For images of g++ alone: in sources whose divisions cannot be marked
 * (numbalite/compilers/sim/divisions.py says which) and in those that are checked for divisions,
 * and for what is linked with them. In clang's, no division traps
 * (numbalite/compilers/sim/irpatch.py). */
#ifndef NL_BASE_DIVIDE_H
#define NL_BASE_DIVIDE_H

/* `context` is a signal handler's third argument, at a trapped division. Gives the instruction the
 * result that it has on a GPU (by zero: quotient all ones, remainder the dividend; overflow: the
 * dividend and 0) and steps over it. Returns 0 if this is no division that it understands, 1 after
 * a division by zero, 2 after one that overflowed. */
int nl_divide_resume(void *context);

#endif
