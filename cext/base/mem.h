/* base/mem: host memory with counters and fault injection.
 *
 * The C code allocates its memory with these functions, with few exceptions. So tests can count
 * live blocks and can make the n-th request fail. */
#ifndef NL_BASE_MEM_H
#define NL_BASE_MEM_H

#include <stddef.h>
#include "base/error.h"

/* Return NULL on failure, after filling err (NL_ERR_MEMORY) unless err is NULL. The memory of
 * nl_mem_zalloc is zeroed. */
void *nl_mem_alloc(size_t size, nl_error *err);
void *nl_mem_zalloc(size_t size, nl_error *err);
void *nl_mem_resize(void *block, size_t size, nl_error *err);
char *nl_mem_strdup(const char *text, nl_error *err);
void nl_mem_free(void *block); /* accepts NULL */

/* Zeroed memory for (almost) the whole life of the process: not counted. Free it with free(). */
void *nl_mem_keep(size_t size);
/* Counts a request for another resource (a mapping, a thread). Returns whether it must fail. */
int nl_mem_refuses(void);

/* Returns the number of live blocks, for leak tests. */
size_t nl_mem_live(void);

/* Makes the n-th request from now fail (1 = the next); 0 disables this. Returns the number of
 * requests since the previous call. */
size_t nl_mem_fail_at(size_t n);

#endif
