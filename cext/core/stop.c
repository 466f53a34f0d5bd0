/* core/stop: the modules with records in one list, and for each device a stream and page-locked
 * memory, which are made when its first such module is loaded: while a kernel runs that never ends,
 * the driver may not be able to make them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/stop.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/lock.h"
#include "base/mem.h"
#include "core/wait.h"

#define PATIENCE_NS UINT64_C(2000000000)
#define NAP_NS 50000
#define MAX_DEVICES 64

/* As in numbalite/compilers/stoppable.py. */
typedef struct {
    uint32_t flag, claimed, site, block[3], thread[3];
} record;

struct nl_stop {
    nl_device *device;
    uint64_t generation; /* of the device */
    CUdeviceptr address;
    char *sites;
    size_t size;
    char kernel[128], outputs[128]; /* of the last launch */
    uint64_t launched;              /* when */
    record found;
    nl_stop *next;
};

/* In page-locked memory. */
typedef struct {
    uint32_t set, clear;
    record found;
} page;

static struct {
    CUstream stream;
    page *page;
    uint64_t generation;
} lines[MAX_DEVICES];

static nl_mutex lock = NL_MUTEX_INIT; /* of the list and of its items */
static nl_stop *first;

static int open_line_lock_held(nl_device *dev, nl_error *err) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    CUstream stream;
    void *memory;
    if (lines[dev->ordinal].page != NULL && lines[dev->ordinal].generation == generation)
        return 0;
    if (NL_CU(err, StreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0) < 0)
        return -1;
    if (NL_CU(err, MemHostAlloc, &memory, sizeof(page), 0) < 0) {
        nl_driver_report(nl_cu.StreamDestroy(stream), "cuStreamDestroy");
        return -1;
    }
    lines[dev->ordinal].stream = stream;
    lines[dev->ordinal].page = memory;
    lines[dev->ordinal].generation = generation;
    *lines[dev->ordinal].page = (page){.set = 1};
    return 0;
}

static int stop_kernels(const nl_wait_end *how, char *text, size_t size);

size_t nl_stop_record_size(void) {
    return sizeof(record);
}

int nl_stop_add(nl_device *dev, CUdeviceptr address, const char *sites, size_t size, nl_stop **out,
                nl_error *err) {
    nl_stop *s = nl_mem_zalloc(sizeof *s, err);
    if (s == NULL)
        return -1;
    *s = (nl_stop){.device = dev, .address = address, .size = size};
    s->generation = nl_atomic_load(&dev->generation);
    s->sites = nl_mem_alloc(size + 1, err);
    if (s->sites == NULL) {
        nl_mem_free(s);
        return -1;
    }
    memcpy(s->sites, sites, size);
    s->sites[size] = '\0';
    nl_mutex_lock(&lock);
    int status = open_line_lock_held(dev, err);
    if (status == 0) {
        s->next = first;
        first = s;
    }
    nl_mutex_unlock(&lock);
    if (status < 0) {
        nl_mem_free(s->sites);
        nl_mem_free(s);
        return -1;
    }
    nl_wait_set_stopper(stop_kernels);
    *out = s;
    return 0;
}

void nl_stop_remove(nl_stop *s) {
    if (s == NULL)
        return;
    nl_mutex_lock(&lock);
    nl_stop **link = &first;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    nl_mutex_unlock(&lock);
    nl_mem_free(s->sites);
    nl_mem_free(s);
}

/* The arrays that the kernel may write, for messages. */
static void list_outputs(const nl_params *params, char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (int i = 0; i < params->count && used < size; i++) {
        const nl_param *p = &params->items[i];
        if ((p->kind == NL_PARAM_ARRAY || p->kind == NL_PARAM_POINTER) && !p->is_const) {
            int wrote = snprintf(text + used, size - used, "%s%s", used ? ", " : "", p->name);
            used += wrote > 0 ? (size_t)wrote : 0;
        }
    }
}

void nl_stop_note_launch(nl_stop *s, const char *kernel, const nl_params *params) {
    nl_mutex_lock(&lock);
    if (strncmp(s->kernel, kernel, sizeof s->kernel - 1) != 0) {
        snprintf(s->kernel, sizeof s->kernel, "%s", kernel);
        list_outputs(params, s->outputs, sizeof s->outputs);
    }
    s->launched = nl_clock_ns();
    nl_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------ stopping */

static int is_live(const nl_stop *s) {
    const nl_device *dev = s->device;
    return s->generation == nl_atomic_load(&dev->generation) &&
           lines[dev->ordinal].generation == s->generation;
}

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* The flags of all modules; errors are left to the wait, which finds them again. */
static void write_flags_lock_held(int set) {
    for (nl_stop *s = first; s != NULL; s = s->next) {
        if (!is_live(s) || nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
            continue;
        page *p = lines[s->device->ordinal].page;
        (void)nl_cu.MemcpyHtoDAsync(s->address, set ? &p->set : &p->clear, sizeof p->set,
                                    lines[s->device->ordinal].stream);
    }
}

static int is_first_on_device(const nl_stop *s) {
    for (const nl_stop *t = first; t != s; t = t->next)
        if (t->device == s->device && is_live(t))
            return 0;
    return 1;
}

/* Until each device with such modules is idle: 1; 0 after the deadline. */
static int drain_lock_held(const nl_wait_end *how, CUcontext current, uint64_t deadline) {
    CUresult status;
    (void)nl_cu.CtxSetCurrent(current);
    while ((status = how->query(how->handle)) == CUDA_ERROR_NOT_READY) {
        if (nl_clock_ns() > deadline)
            return 0;
        nap();
    }
    for (nl_stop *s = first; s != NULL; s = s->next) {
        if (!is_live(s) || !is_first_on_device(s) ||
            nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
            continue;
        while (how->drain() == CUDA_ERROR_NOT_READY && nl_clock_ns() < deadline)
            nap();
    }
    return 1;
}

/* What the threads of each module have written, and the records empty again. */
static void read_records_lock_held(void) {
    const record none = {0};
    for (nl_stop *s = first; s != NULL; s = s->next) {
        s->found = none;
        if (!is_live(s) || nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
            continue;
        page *p = lines[s->device->ordinal].page;
        CUstream stream = lines[s->device->ordinal].stream;
        p->found = none;
        if (nl_cu.MemcpyDtoHAsync(&p->found, s->address, sizeof p->found, stream) == CUDA_SUCCESS &&
            nl_cu.StreamSynchronize(stream) == CUDA_SUCCESS)
            s->found = p->found;
        p->found = none;
        if (nl_cu.MemcpyHtoDAsync(s->address, &p->found, sizeof p->found, stream) == CUDA_SUCCESS)
            (void)nl_cu.StreamSynchronize(stream);
    }
}

/* ------------------------------------------------------------------------------------ messages */

static const char *site_of(const nl_stop *s, uint32_t number) {
    const char *site = s->sites;
    for (; number > 0 && site < s->sites + s->size; number--)
        site += strlen(site) + 1;
    return site < s->sites + s->size ? site : "";
}

/* "kernel k, block (0,0,0), thread (5,0,0), k.cu:3". */
static void describe_thread(const nl_stop *s, char *text, size_t size) {
    const record *r = &s->found;
    const char *site = site_of(s, r->site), *position = strchr(site, '\t');
    int length = position != NULL ? (int)(position - site) : 0;
    int used = snprintf(text, size, "kernel %.*s", length ? length : (int)sizeof s->kernel,
                        length ? site : s->kernel);
    if (used < 0 || (size_t)used >= size)
        return;
    snprintf(text + used, size - (size_t)used, ", block (%u,%u,%u), thread (%u,%u,%u)%s%s",
             r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2],
             position != NULL && position[1] ? ", " : "", position != NULL ? position + 1 : "");
}

static void describe(const nl_wait_end *how, uint64_t now, char *text, size_t size) {
    char thread[400] = "";
    const char *how_long =
        how->is_timeout ? "stopped by the time limit after" : "interrupted after";
    const nl_stop *s = first;
    while (s != NULL && !s->found.claimed)
        s = s->next;
    if (s == NULL) {
        snprintf(text, size, "%s %.1f s", how_long, (double)how->elapsed / 1e9);
        return;
    }
    uint64_t since = s->launched ? now - s->launched : how->elapsed;
    describe_thread(s, thread, sizeof thread);
    snprintf(text, size, "%s: %s %.1f s%s%s", thread, how_long, (double)since / 1e9,
             s->outputs[0] ? "; undefined contents: " : "", s->outputs);
}

static int stop_kernels(const nl_wait_end *how, char *text, size_t size) {
    CUcontext current = NULL;
    int done = 0;
    uint64_t now = nl_clock_ns();
    nl_mutex_lock(&lock);
    if (first != NULL && nl_cu.CtxGetCurrent(&current) == CUDA_SUCCESS) {
        write_flags_lock_held(1);
        done = drain_lock_held(how, current, now + PATIENCE_NS);
        write_flags_lock_held(0);
        read_records_lock_held();
        (void)nl_cu.CtxSetCurrent(current);
        if (done)
            describe(how, now, text, size);
    }
    nl_mutex_unlock(&lock);
    return done;
}
