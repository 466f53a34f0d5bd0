/* base/library: a shared object that is not a file yet: bytes in memory, loaded into this process.
 */
#ifndef NL_BASE_LIBRARY_H
#define NL_BASE_LIBRARY_H

#include <stddef.h>

/* Loads it, as dlopen does: what it gives is for dlsym and nl_library_close. Each load is one of
 * its own, with variables of its own, however often the same bytes are loaded. NULL where that is
 * not possible; dlerror() may know why. */
void *nl_library_open(const void *bytes, size_t size);
void nl_library_close(void *library); /* accepts NULL */

#endif
