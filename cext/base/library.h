/* base/library: loads a shared object from bytes in memory into this process. */
#ifndef NL_BASE_LIBRARY_H
#define NL_BASE_LIBRARY_H

#include <stddef.h>

/* Loads the shared object as dlopen does and returns a handle for dlsym and nl_library_close. Each
 * loaded copy has its own variables, even if the same bytes are loaded several times. Returns NULL
 * on an error; dlerror() may return the reason. */
void *nl_library_open(const void *bytes, size_t size);
void nl_library_close(void *library); /* accepts NULL */

#endif
