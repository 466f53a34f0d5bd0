/* base/mem: allocates host memory, with counters and fault injection.
 *
 * Almost all C code allocates with these functions, so that tests can count live blocks and make
 * the n-th request fail. */
#ifndef NL_BASE_MEM_H
#define NL_BASE_MEM_H

#include <stddef.h>
#include "base/error.h"

/* The allocators return NULL on failure, after filling err (NL_ERR_MEMORY) unless err is NULL. The
 * memory of nl_mem_zalloc is zeroed. */
void *nl_mem_alloc(size_t size, nl_error *err);
void *nl_mem_zalloc(size_t size, nl_error *err);
void *nl_mem_resize(void *block, size_t size, nl_error *err);
char *nl_mem_strdup(const char *text, nl_error *err);
void nl_mem_free(void *block); /* accepts NULL */

/* Allocates zeroed memory that is used until the process ends, and therefore not counted. Free it
 * with free(). */
void *nl_mem_alloc_permanent(size_t size);
/* Counts a request for a resource other than memory, such as a mapping or a thread. Returns whether
 * the request must fail. */
int nl_mem_must_fail(void);

/* Returns the number of live blocks, for leak tests. */
size_t nl_mem_live_blocks(void);

/* Makes the n-th allocation request from now fail (1 is the next request); 0 disables this. Returns
 * the number of allocation requests since the previous call. */
size_t nl_mem_fail_at(size_t n);

#endif
