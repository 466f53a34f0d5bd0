/* base/mem: implements allocation by malloc, with a count of live blocks and fault injection. The
 * counters are atomic, so an injected fault makes exactly one request fail. */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include "base/lock.h"

static uint64_t live, seen;
static uint64_t fuse; /* the value of `seen` at which a request fails, or 0 */

/* Counts a request. Returns whether it must fail. */
static int is_injected_failure(void) {
    uint64_t number = nl_atomic_add(&seen, 1) + 1;
    return number == nl_atomic_load(&fuse);
}

static void *no_memory(nl_error *err, size_t size) {
    if (err != NULL)
        nl_error_no_memory(err, size);
    return NULL;
}

void *nl_mem_alloc(size_t size, nl_error *err) {
    void *block = is_injected_failure() ? NULL : malloc(size ? size : 1);
    if (block == NULL)
        return no_memory(err, size);
    nl_atomic_add(&live, 1);
    return block;
}

void *nl_mem_zalloc(size_t size, nl_error *err) {
    void *block = is_injected_failure() ? NULL : calloc(1, size ? size : 1);
    if (block == NULL)
        return no_memory(err, size);
    nl_atomic_add(&live, 1);
    return block;
}

void *nl_mem_resize(void *block, size_t size, nl_error *err) {
    if (block == NULL)
        return nl_mem_alloc(size, err);
    void *moved = is_injected_failure() ? NULL : realloc(block, size ? size : 1);
    return moved != NULL ? moved : no_memory(err, size);
}

char *nl_mem_strdup(const char *text, nl_error *err) {
    size_t size = strlen(text) + 1;
    char *copy = nl_mem_alloc(size, err);
    if (copy != NULL)
        memcpy(copy, text, size);
    return copy;
}

void *nl_mem_alloc_permanent(size_t size) {
    return is_injected_failure() ? NULL : calloc(1, size ? size : 1);
}

int nl_mem_must_fail(void) {
    return is_injected_failure();
}

void nl_mem_free(void *block) {
    if (block == NULL)
        return;
    nl_atomic_sub(&live, 1);
    free(block);
}

size_t nl_mem_live_blocks(void) {
    return nl_atomic_load(&live);
}

size_t nl_mem_fail_at(size_t n) {
    nl_atomic_store(&fuse, 0);
    uint64_t count = nl_atomic_swap(&seen, 0);
    nl_atomic_store(&fuse, n);
    return count;
}
