/* sim/engine/memory: allocates simulated memory from a range of reserved pages, with a table of
 * allocations sorted by address. Allocation makes pages at the cursor accessible; freeing returns
 * the pages to the system. The cursor only moves forward, and restarts at the bottom when it
 * reaches the top. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "sim/engine/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/lock.h"
#include "sim/engine/shadow.h"

enum {
    MAX_DEVICES = 64,
    ALIGNMENT = 256,
    GUARD = 65536,
    HEAP_PART = 4, /* 1/4 of the range is reserved for the heap of kernels */
    HUGE_PAGE = 2 << 20,
    /* maximum distance in bytes between an invalid address and the allocation that a report
     * names */
    NEAR = 256 << 20,
    RED = 0xa5,
    FREED = 64, /* number of freed allocations that are remembered to explain faults */
};
static const size_t device_limit = (size_t)8 << 30;
static const size_t range_wanted = (size_t)256 << 30, range_least = (size_t)1 << 30;

typedef struct allocation {
    nl_sim_memory_info info;
    uintptr_t low; /* of its pages; 0 for memory of another owner */
    size_t span;
    int file;            /* file descriptor plus 1 if the memory is shared; otherwise 0 */
    int written;         /* set if the memory was written, or may have been written */
    uint32_t generation; /* value of memory.generation when this memory was allocated */
} allocation;

static nl_mutex lock = NL_MUTEX_INIT;
static struct {
    uintptr_t low, high, cursor;
    uintptr_t top; /* end of the addresses for allocations; the heap follows */
    size_t page, total;
    size_t used[MAX_DEVICES];
    uint64_t last_id;
    allocation *table; /* sorted by address */
    size_t count, capacity;
    nl_sim_memory_info freed[FREED];
    size_t freed_count;
    uint32_t generation; /* number of kernels that may have written to any address */
} memory;

static size_t round_up(size_t value, size_t to) {
    return (value + to - 1) / to * to;
}

void nl_sim_memory_open(int devices) {
    (void)devices;
    nl_mutex_lock(&lock);
    if (!memory.page) {
        memory.page = (size_t)sysconf(_SC_PAGESIZE);
        size_t physical = (size_t)sysconf(_SC_PHYS_PAGES) * memory.page;
        memory.total = physical < device_limit ? physical : device_limit;
        for (size_t size = range_wanted; size >= range_least; size /= 2) {
            void *range =
                mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            if (range != MAP_FAILED) {
                memory.low = round_up((uintptr_t)range + GUARD, HUGE_PAGE);
                memory.high = (uintptr_t)range + size;
                memory.top = memory.high - size / HEAP_PART;
                memory.cursor = memory.low;
                break;
            }
        }
    }
    nl_mutex_unlock(&lock);
}

uintptr_t nl_sim_memory_heap_range(size_t *size) {
    uintptr_t low = round_up(memory.top + NEAR, HUGE_PAGE);
    *size = low < memory.high ? memory.high - low : 0;
    return *size ? low : 0;
}

size_t nl_sim_memory_total_size(void) {
    return memory.total;
}

size_t nl_sim_memory_used(int device) {
    nl_mutex_lock(&lock);
    size_t used = memory.used[device];
    nl_mutex_unlock(&lock);
    return used;
}

/* The table */

/* Returns the index of the first entry whose address is above `address`. */
static size_t index_of_first_above(uintptr_t address) {
    size_t low = 0, high = memory.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memory.table[middle].info.address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static allocation *allocation_containing(uintptr_t address) {
    size_t i = index_of_first_above(address);
    if (i == 0)
        return NULL;
    allocation *a = &memory.table[i - 1];
    return address - a->info.address < a->info.size ? a : NULL;
}

static int reserve_entry(void) {
    if (memory.count < memory.capacity)
        return 0;
    size_t capacity = memory.capacity ? memory.capacity * 2 : 256;
    allocation *table = realloc(memory.table, capacity * sizeof *table);
    if (!table)
        return -1;
    memory.table = table;
    memory.capacity = capacity;
    return 0;
}

/* Returns whether the allocation was certainly not written. Returns 0 for memory that the host or
 * other processes can access, because their writes are not recorded. */
static int is_unwritten(const allocation *a) {
    nl_sim_memory_kind kind = a->info.kind;
    return (kind == NL_SIM_MEMORY_DEVICE || kind == NL_SIM_MEMORY_POOLED) && !a->written &&
           !a->file && a->generation == memory.generation;
}

static void set_shadow(const allocation *a) {
    nl_sim_shadow_set(a->info.address, a->info.size,
                      is_unwritten(a) ? NL_SIM_THERE : NL_SIM_THERE | NL_SIM_WRITTEN);
}

static nl_sim_memory_heard_fn heard;

void nl_sim_memory_set_listener(nl_sim_memory_heard_fn hear) {
    nl_mutex_lock(&lock);
    heard = hear;
    nl_mutex_unlock(&lock);
}

static void insert_allocation(allocation entry) {
    size_t i = index_of_first_above(entry.info.address);
    memmove(&memory.table[i + 1], &memory.table[i], (memory.count - i) * sizeof entry);
    entry.info.id = ++memory.last_id;
    entry.generation = memory.generation;
    memory.table[i] = entry;
    memory.count++;
    if (heard)
        heard(entry.info.address, entry.info.size);
    if (nl_sim_shadow_is_recorded())
        set_shadow(&entry);
}

static void erase_allocation(allocation *entry) {
    size_t i = (size_t)(entry - memory.table);
    if (heard)
        heard(entry->info.address, entry->info.size);
    if (nl_sim_shadow_is_recorded() && entry->low)
        nl_sim_shadow_free_pages(entry->low, entry->span);
    else if (nl_sim_shadow_is_recorded())
        nl_sim_shadow_set(entry->info.address, entry->info.size, 0);
    memory.freed[memory.freed_count++ % FREED] = entry->info;
    memmove(entry, entry + 1, (memory.count - i - 1) * sizeof *entry);
    memory.count--;
}

/* Red zones */

/* Returns the first byte in [low, high) that differs from the pattern, or `high`. */
static uintptr_t find_first_damage(uintptr_t low, uintptr_t high) {
    static const uint64_t red = 0x0101010101010101u * RED;
    while (low % sizeof red == 0 && low + sizeof red <= high && *(const uint64_t *)low == red)
        low += sizeof red;
    while (low < high && *(const volatile unsigned char *)low == RED)
        low++;
    return low;
}

static void fill_guard_bytes(const allocation *a) {
    uintptr_t end = a->info.address + a->info.size;
    memset((void *)a->low, RED, a->info.address - a->low);
    memset((void *)end, RED, a->low + a->span - end);
}

static const char *noun_of_kind(nl_sim_memory_kind kind) {
    static const char *const nouns[] = {
        "device memory",       "managed memory", "page-locked memory",        "registered memory",
        "a module's variable", "device memory",  "memory of another process", "shared memory"};
    return nouns[kind];
}

/* Describes a write outside of the allocation, if there was one, and restores the pattern. */
static int check_guard_pattern(const allocation *a, char damage[NL_SIM_MEMORY_TEXT]) {
    damage[0] = '\0';
    if (!a->low || a->info.kind == NL_SIM_MEMORY_HOST)
        return 0;
    uintptr_t end = a->info.address + a->info.size, high = a->low + a->span;
    uintptr_t behind = find_first_damage(end, high),
              before = find_first_damage(a->low, a->info.address);
    if (behind < high)
        snprintf(
            damage, NL_SIM_MEMORY_TEXT,
            "a write outside of an array: "
            "the first byte that changed is %zu bytes after the end of %s of %zu bytes at 0x%llx",
            (size_t)(behind - end), noun_of_kind(a->info.kind), a->info.size,
            (unsigned long long)a->info.address);
    else if (before < a->info.address)
        snprintf(damage, NL_SIM_MEMORY_TEXT,
                 "a write outside of an array: "
                 "bytes changed before the beginning of %s of %zu bytes at 0x%llx",
                 noun_of_kind(a->info.kind), a->info.size, (unsigned long long)a->info.address);
    else
        return 0;
    fill_guard_bytes(a);
    return 1;
}

int nl_sim_memory_check_guards(const uintptr_t *words, size_t count,
                               char damage[NL_SIM_MEMORY_TEXT], size_t *word) {
    int found = 0;
    nl_mutex_lock(&lock);
    for (size_t i = 0; i < count && !found; i++) {
        const allocation *a = allocation_containing(words[i]);
        found = a && check_guard_pattern(a, damage);
        *word = i;
    }
    nl_mutex_unlock(&lock);
    return found;
}

/* Allocating */

/* Finds `span` bytes of free addresses followed by a guard, and moves the cursor past them. */
static uintptr_t find_addresses(size_t span, size_t alignment) {
    int wrapped = 0;
    uintptr_t low = round_up(memory.cursor, alignment);
    for (;;) {
        if (low + span + GUARD > memory.top || low + span + GUARD < low) {
            if (wrapped)
                return 0;
            wrapped = 1;
            low = round_up(memory.low, alignment);
            continue;
        }
        /* only the last allocation that begins below the end of the new allocation can overlap
         * it */
        size_t i = index_of_first_above(low + span + GUARD - 1);
        const allocation *a = i ? &memory.table[i - 1] : NULL;
        if (a && !a->low) { /* memory of other owners is skipped, because it is never in this
                             * range */
            while (i && !memory.table[i - 1].low)
                i--;
            a = i ? &memory.table[i - 1] : NULL;
        }
        if (!a || a->low + a->span + GUARD <= low)
            break;
        low = round_up(a->low + a->span + GUARD, alignment);
    }
    memory.cursor = low + span + GUARD;
    return low;
}

static void unmap_range(uintptr_t low, size_t span) {
    mmap((void *)low, span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
         0);
}

static CUresult allocate_lock_held(nl_sim_memory_kind kind, int device, size_t size,
                                   uintptr_t *address) {
    int counted = kind != NL_SIM_MEMORY_HOST && kind != NL_SIM_MEMORY_SHARED;
    if (size > memory.top - memory.low)
        return CUDA_ERROR_OUT_OF_MEMORY;
    size_t padded = round_up(size, ALIGNMENT), span = round_up(padded, memory.page);
    if (counted && (padded > memory.total || memory.used[device] > memory.total - padded))
        return CUDA_ERROR_OUT_OF_MEMORY;
    int huge = span >= 2 * HUGE_PAGE;
    uintptr_t low = find_addresses(span, huge ? HUGE_PAGE : memory.page);
    if (!low || reserve_entry() < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (mprotect((void *)low, span, PROT_READ | PROT_WRITE) != 0) {
        unmap_range(low, span);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
#ifdef MADV_HUGEPAGE
    if (huge)
        (void)madvise((void *)low, span, MADV_HUGEPAGE);
#endif
    allocation a = {
        .info = {.address = low + span - padded, .size = size, .kind = kind, .device = device},
        .low = low,
        .span = span};
    fill_guard_bytes(&a);
    insert_allocation(a);
    if (counted)
        memory.used[device] += padded;
    *address = a.info.address;
    return CUDA_SUCCESS;
}

CUresult nl_sim_memory_alloc(nl_sim_memory_kind kind, int device, size_t size, uintptr_t *address) {
    nl_mutex_lock(&lock);
    CUresult status = allocate_lock_held(kind, device, size, address);
    nl_mutex_unlock(&lock);
    return status;
}

static void free_allocation_lock_held(allocation *a) {
    if (a->file)
        close(a->file - 1);
    if (a->low) {
        unmap_range(a->low, a->span);
        if (a->info.kind != NL_SIM_MEMORY_HOST && a->info.kind != NL_SIM_MEMORY_OPENED)
            memory.used[a->info.device] -= round_up(a->info.size, ALIGNMENT);
    }
    erase_allocation(a);
}

static int has_kind(const allocation *a, nl_sim_memory_kind kind) {
    return a->info.kind == kind ||
           (kind == NL_SIM_MEMORY_DEVICE &&
            (a->info.kind == NL_SIM_MEMORY_MANAGED || a->info.kind == NL_SIM_MEMORY_POOLED));
}

CUresult nl_sim_memory_free(nl_sim_memory_kind kind, uintptr_t address,
                            char damage[NL_SIM_MEMORY_TEXT]) {
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    damage[0] = '\0';
    nl_mutex_lock(&lock);
    allocation *a = allocation_containing(address);
    if (a && a->info.address == address && has_kind(a, kind)) {
        (void)check_guard_pattern(a, damage);
        free_allocation_lock_held(a);
        status = CUDA_SUCCESS;
    }
    nl_mutex_unlock(&lock);
    return status;
}

/* Writes the whole buffer. Memory that is shared with other processes is copied to an unnamed file,
 * which is mapped at the same address. */

static int write_file(int fd, uintptr_t from, size_t size) {
    while (size > 0) {
        ssize_t written = write(fd, (const void *)from, size);
        if (written < 0 && errno != EINTR)
            return -1;
        if (written > 0) {
            from += (size_t)written;
            size -= (size_t)written;
        }
    }
    return 0;
}

static int map_file(int fd, uintptr_t low, size_t span) {
    return mmap((void *)low, span, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
                   MAP_FAILED
               ? -1
               : 0;
}

static CUresult share_allocation_lock_held(allocation *a, nl_sim_memory_file *file) {
    if (!a->file) {
        int fd = memfd_create("numbalite-device-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0)
            return CUDA_ERROR_OUT_OF_MEMORY;
        if (write_file(fd, a->low, a->span) < 0 ||
            fcntl(fd, F_ADD_SEALS, NL_SIM_MEMORY_SEALS) < 0 || map_file(fd, a->low, a->span) < 0) {
            close(fd);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        a->file = fd + 1;
    }
    *file = (nl_sim_memory_file){
        .fd = a->file - 1, .span = a->span, .lead = a->info.address - a->low, .size = a->info.size};
    return CUDA_SUCCESS;
}

CUresult nl_sim_memory_share_allocation(uintptr_t address, nl_sim_memory_file *file) {
    CUresult status = CUDA_ERROR_INVALID_VALUE;
    nl_mutex_lock(&lock);
    allocation *a = allocation_containing(address);
    if (a && a->info.address == address && a->info.kind == NL_SIM_MEMORY_DEVICE)
        status = share_allocation_lock_held(a, file);
    nl_mutex_unlock(&lock);
    return status;
}

static CUresult map_shared_file_lock_held(int device, const nl_sim_memory_file *file,
                                          uintptr_t *address) {
    if (file->span > memory.top - memory.low)
        return CUDA_ERROR_OUT_OF_MEMORY;
    uintptr_t low = find_addresses(file->span, memory.page);
    if (!low || reserve_entry() < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (map_file(file->fd, low, file->span) < 0) {
        unmap_range(low, file->span);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *address = low + file->lead;
    insert_allocation((allocation){.info = {.address = *address,
                                            .size = file->size,
                                            .kind = NL_SIM_MEMORY_OPENED,
                                            .device = device},
                                   .low = low,
                                   .span = file->span});
    return CUDA_SUCCESS;
}

CUresult nl_sim_memory_open_file(int device, const nl_sim_memory_file *file, uintptr_t *address) {
    nl_mutex_lock(&lock);
    CUresult status = map_shared_file_lock_held(device, file, address);
    nl_mutex_unlock(&lock);
    return status;
}

CUresult nl_sim_memory_register(nl_sim_memory_kind kind, int device, void *address, size_t size) {
    CUresult status = CUDA_SUCCESS;
    nl_mutex_lock(&lock);
    size_t i = index_of_first_above((uintptr_t)address + size - 1);
    const allocation *a = i ? &memory.table[i - 1] : NULL;
    /* registering fails if the new range overlaps an existing entry */
    if (a && a->info.address + a->info.size > (uintptr_t)address)
        status = kind == NL_SIM_MEMORY_GLOBAL ? CUDA_SUCCESS : 712;
    else if (reserve_entry() < 0)
        status = CUDA_ERROR_OUT_OF_MEMORY;
    else
        insert_allocation((allocation){
            .info = {.address = (uintptr_t)address, .size = size, .kind = kind, .device = device}});
    nl_mutex_unlock(&lock);
    return status;
}

CUresult nl_sim_memory_unregister(nl_sim_memory_kind kind, void *address) {
    CUresult status = 713;
    nl_mutex_lock(&lock);
    allocation *a = allocation_containing((uintptr_t)address);
    if (a && a->info.address == (uintptr_t)address && a->info.kind == kind) {
        erase_allocation(a);
        status = CUDA_SUCCESS;
    }
    nl_mutex_unlock(&lock);
    return status;
}

void nl_sim_memory_clear(int device) {
    nl_mutex_lock(&lock);
    for (size_t i = memory.count; i-- > 0;) {
        if (memory.table[i].info.device == device)
            free_allocation_lock_held(&memory.table[i]);
    }
    nl_mutex_unlock(&lock);
}

/* Lookup */

int nl_sim_memory_find_allocation(uintptr_t address, nl_sim_memory_info *info) {
    nl_mutex_lock(&lock);
    const allocation *a = allocation_containing(address);
    if (a)
        *info = a->info;
    nl_mutex_unlock(&lock);
    return a != NULL;
}

int nl_sim_memory_covers(uintptr_t address, size_t size) {
    nl_mutex_lock(&lock);
    const allocation *a = allocation_containing(address);
    int covers = a && size <= a->info.size - (address - a->info.address);
    nl_mutex_unlock(&lock);
    return covers;
}

int nl_sim_memory_covers_target(uintptr_t address, size_t size) {
    nl_mutex_lock(&lock);
    allocation *a = allocation_containing(address);
    int covers = a && size <= a->info.size - (address - a->info.address);
    if (covers && !nl_sim_shadow_is_recorded())
        a->written = 1;
    nl_mutex_unlock(&lock);
    return covers;
}

int nl_sim_memory_is_pinned(const void *address) {
    nl_sim_memory_info info;
    return nl_sim_memory_find_allocation((uintptr_t)address, &info);
}

/* Returns the most recently freed allocation that contained `address`, or NULL. */
static const nl_sim_memory_info *find_freed(uintptr_t address) {
    size_t kept = memory.freed_count < FREED ? memory.freed_count : FREED;
    for (size_t i = 1; i <= kept; i++) {
        const nl_sim_memory_info *info = &memory.freed[(memory.freed_count - i) % FREED];
        if (address - info->address < info->size)
            return info;
    }
    return NULL;
}

int nl_sim_memory_find_nearest(uintptr_t address, nl_sim_memory_info *info) {
    int found = 0;
    nl_mutex_lock(&lock);
    size_t i = index_of_first_above(address);
    const allocation *below = i ? &memory.table[i - 1] : NULL;
    const allocation *next = i < memory.count ? &memory.table[i] : NULL;
    const nl_sim_memory_info *freed = find_freed(address);
    uintptr_t end = below ? below->info.address + below->info.size : 0;
    if (below && address < end) {
        *info = below->info;
        found = 1;
    } else if (freed) {
        *info = *freed;
        found = 2;
    } else if (below && below->low && address - end < NEAR &&
               (!next || address - end <= next->info.address - address)) {
        *info = below->info;
        found = 1;
    } else if (next && next->low && next->info.address - address < NEAR) {
        *info = next->info;
        found = 1;
    }
    nl_mutex_unlock(&lock);
    return found;
}

void nl_sim_memory_describe(uintptr_t address, char *text, size_t size) {
    nl_sim_memory_info found;
    if (address < 65536) {
        snprintf(text, size, " (a null pointer)");
        return;
    }
    int near = nl_sim_memory_find_nearest(address, &found);
    if (!near) {
        nl_mutex_lock(&lock);
        if (address >= memory.low && address < memory.high)
            snprintf(text, size, ", in no allocation");
        nl_mutex_unlock(&lock);
        return;
    }
    char where[64] = "in";
    if (address < found.address)
        snprintf(where, sizeof where, "%zu bytes before the beginning of",
                 (size_t)(found.address - address));
    else if (address - found.address >= found.size)
        snprintf(where, sizeof where, "%zu bytes after the end of",
                 (size_t)(address - found.address - found.size));
    snprintf(text, size, ", %s %s of %zu bytes at 0x%llx%s", where, noun_of_kind(found.kind),
             found.size, (unsigned long long)found.address,
             near == 2 ? " that has been freed" : "");
}

/* For the shadow */

void nl_sim_memory_address_range(uintptr_t *low, uintptr_t *high) {
    *low = memory.low;
    *high = memory.high;
}

/* Enables the shadow memory after filling it. Writes of other threads during this call are not
 * lost, because the table marked the written allocations when their addresses were checked. */
int nl_sim_memory_enable_shadow(void (*also)(void)) {
    int status = 0;
    nl_mutex_lock(&lock);
    if (!nl_sim_shadow_is_recorded()) {
        status = nl_sim_shadow_map(memory.low, memory.high - memory.low);
        for (size_t i = 0; status == 0 && i < memory.count; i++)
            set_shadow(&memory.table[i]);
        if (status == 0) {
            also();
            nl_sim_shadow_enable();
        }
    }
    nl_mutex_unlock(&lock);
    return status;
}

static void mark_all_written(void) {
    for (size_t i = 0; i < memory.count; i++) {
        allocation *a = &memory.table[i];
        if (!a->written && a->info.kind != NL_SIM_MEMORY_SHARED)
            nl_sim_shadow_set(a->info.address, a->info.size, NL_SIM_THERE | NL_SIM_WRITTEN);
        a->written = 1;
    }
}

void nl_sim_memory_mark_all_written(void) {
    nl_mutex_lock(&lock);
    if (nl_sim_shadow_is_recorded())
        mark_all_written();
    else
        memory.generation++;
    nl_mutex_unlock(&lock);
}

void nl_sim_memory_reset_in_child(void) {
    nl_mutex_init(&lock);
}
