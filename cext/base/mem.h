/* base/mem: host memory, counted and failable.
 *
 * Every block that the C code owns comes from here, so that tests can ask how many are live and can
 * make the n-th request fail. */
#ifndef NL_BASE_MEM_H
#define NL_BASE_MEM_H

#include <stddef.h>
#include "base/error.h"

/* Each returns NULL after filling err (NL_ERR_MEMORY) if it is not NULL. nl_mem_zalloc gives zeroed
 * memory. */
void *nl_mem_alloc(size_t size, nl_error *err);
void *nl_mem_zalloc(size_t size, nl_error *err);
void *nl_mem_resize(void *block, size_t size, nl_error *err);
char *nl_mem_strdup(const char *text, nl_error *err);
void nl_mem_free(void *block); /* accepts NULL */

/* Zeroed memory that is kept until the process ends, or nearly so: not counted; free() frees it. */
void *nl_mem_keep(size_t size);
/* A request of another kind (a mapping, a thread): must it fail? */
int nl_mem_refuses(void);

/* Live blocks, for leak tests. */
size_t nl_mem_live(void);

/* The n-th request from now fails (1 = the next); 0 switches the fault off.
 * Returns the number of requests seen since the last call. */
size_t nl_mem_fail_at(size_t n);

#endif
