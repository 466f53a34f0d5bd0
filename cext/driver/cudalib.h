/* driver/cudalib: CUDA's libraries above the driver (cuSOLVER, cuSPARSE), opened by dlopen. Each of
 * their functions that numbalite calls takes pointers and whole numbers only and returns a status;
 * the ABIs of Linux on x86-64 and AArch64 pass every one of those as a word of eight bytes, in
 * registers or on the stack, so one C type is enough to call them all. */
#ifndef NL_DRIVER_CUDALIB_H
#define NL_DRIVER_CUDALIB_H

#include <stdint.h>
#include "base/error.h"

#define NL_CUDALIB_WORDS 24 /* the most parameters that a function has */

typedef int (*nl_cudalib_function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                                   uintptr_t);

/* A function of the library at `path`, which stays loaded. 0, or -1 with NL_ERR_SUPPORT. */
int nl_cudalib_find(const char *path, const char *name, nl_cudalib_function *out, nl_error *err);
/* Calls it with the words; those that it does not take are not looked at. Its status. */
int nl_cudalib_call(nl_cudalib_function function, const uintptr_t words[NL_CUDALIB_WORDS]);

#endif
