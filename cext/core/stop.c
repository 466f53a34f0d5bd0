/* core/stop: stores a list of the modules that have records, and a stream and page-locked memory
 * for each device. The stream and the memory are created when the first such module is loaded on
 * the device, because the driver may be unable to create them while an endless kernel runs. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/stop.h"

#include <stddef.h>
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

/* The structs of records have the same layout as in numbalite/compilers/stoppable.py. */
typedef struct {
    uint32_t flag, claimed, site, block[3], thread[3];
} record;

typedef struct {
    uint32_t claimed, line, block[3], thread[3];
    uint64_t word; /* device address of page.failed in host memory */
    char text[128], file[256];
} failure;

struct nl_stop {
    nl_device *device;
    uint64_t generation;          /* of the device */
    CUdeviceptr address, failure; /* of the two records, or 0 */
    char *sites;
    size_t size;
    char kernel[128], outputs[128]; /* of the last launch */
    uint64_t launched;              /* nl_clock_ns() of the last launch */
    record found;
    nl_stop *next;
};

/* Page-locked memory of a device, for copies from and to the records. */
typedef struct {
    uint32_t set, clear;
    uint32_t failed; /* flag that a kernel with a failed assert sets */
    uint64_t word;   /* device address of `failed` */
    record found;
    failure failure;
} page;

static struct {
    CUstream stream;
    page *page;
    uint64_t generation;
} lines[MAX_DEVICES];

static nl_mutex lock = NL_MUTEX_INIT; /* protects the list of modules and its elements */
static nl_stop *first;
static nl_fault kept; /* failed assert that was read but not yet reported */
static int has_kept;

static int open_flag_page_lock_held(nl_device *dev, nl_error *err) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    CUstream stream;
    void *memory;
    if (lines[dev->ordinal].page != NULL && lines[dev->ordinal].generation == generation)
        return 0;
    if (NL_CU(err, StreamCreateWithPriority, &stream, CU_STREAM_NON_BLOCKING, 0) < 0)
        return -1;
    if (NL_CU(err, MemHostAlloc, &memory, sizeof(page),
              CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP) < 0) {
        nl_driver_print_failure(nl_cu.StreamDestroy(stream), "cuStreamDestroy");
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

static int has_kernel_failed(void);
static int pop_failure(nl_fault *fault);
static int read_failure(const nl_stop *s, nl_fault *fault);

size_t nl_stop_failure_size(void) {
    return sizeof(failure);
}

/* Writes the device address of page.failed to the module's failure record. */
static int write_word_lock_held(const nl_stop *s, nl_error *err) {
    page *p = lines[s->device->ordinal].page;
    CUstream stream = lines[s->device->ordinal].stream;
    CUdeviceptr mapped;
    if (s->failure == 0)
        return 0;
    if (NL_CU(err, MemHostGetDevicePointer, &mapped, p, 0) < 0)
        return -1;
    p->word = mapped + offsetof(page, failed);
    return NL_CU(err, MemcpyHtoDAsync, s->failure + offsetof(failure, word), &p->word,
                 sizeof p->word, stream) < 0
               ? -1
               : NL_CU(err, StreamSynchronize, stream);
}

static void free_stop(nl_stop *s) {
    nl_mem_free(s->sites);
    nl_mem_free(s);
}

int nl_stop_add_module(nl_device *dev, const nl_stop_records *records, nl_stop **out,
                       nl_error *err) {
    nl_stop *s = nl_mem_zalloc(sizeof *s, err);
    if (s == NULL)
        return -1;
    *s = (nl_stop){.device = dev, .size = records->size};
    s->address = records->flag;
    s->failure = records->failure;
    s->generation = nl_atomic_load(&dev->generation);
    s->sites = nl_mem_alloc(records->size + 1, err);
    if (s->sites == NULL) {
        free_stop(s);
        return -1;
    }
    memcpy(s->sites, records->sites, records->size);
    s->sites[records->size] = '\0';
    nl_mutex_lock(&lock);
    int status = open_flag_page_lock_held(dev, err);
    if (status == 0)
        status = write_word_lock_held(s, err);
    if (status == 0) {
        s->next = first;
        first = s;
    }
    nl_mutex_unlock(&lock);
    if (status < 0) {
        free_stop(s);
        return -1;
    }
    if (s->address)
        nl_wait_set_stopper(stop_kernels);
    if (s->failure)
        nl_wait_set_failure_hooks(has_kernel_failed, pop_failure);
    *out = s;
    return 0;
}

void nl_stop_remove_module(nl_stop *s) {
    if (s == NULL)
        return;
    nl_mutex_lock(&lock);
    if (s->failure && has_kernel_failed() && !has_kept)
        has_kept = read_failure(s, &kept);
    nl_stop **link = &first;
    while (*link != s)
        link = &(*link)->next;
    *link = s->next;
    nl_mutex_unlock(&lock);
    free_stop(s);
}

/* Writes the names of the arrays that the kernel may write, for messages. */
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

void nl_stop_record_launch(nl_stop *s, const char *kernel, const nl_params *params) {
    nl_mutex_lock(&lock);
    if (strncmp(s->kernel, kernel, sizeof s->kernel - 1) != 0) {
        snprintf(s->kernel, sizeof s->kernel, "%s", kernel);
        list_outputs(params, s->outputs, sizeof s->outputs);
    }
    s->launched = nl_clock_ns();
    nl_mutex_unlock(&lock);
}

/* ------------------------------------------------------------------------------------ stopping */

static int is_module_current(const nl_stop *s) {
    const nl_device *dev = s->device;
    return s->generation == nl_atomic_load(&dev->generation) &&
           lines[dev->ordinal].generation == s->generation;
}

static void sleep_briefly(void) {
    nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Sets or clears the stop flags of all modules. Errors are ignored, because the following wait also
 * returns them. */
static void write_flags_lock_held(int set) {
    for (nl_stop *s = first; s != NULL; s = s->next) {
        if (!s->address || !is_module_current(s) ||
            nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
            continue;
        page *p = lines[s->device->ordinal].page;
        (void)nl_cu.MemcpyHtoDAsync(s->address, set ? &p->set : &p->clear, sizeof p->set,
                                    lines[s->device->ordinal].stream);
    }
}

static int is_first_on_device(const nl_stop *s) {
    for (const nl_stop *t = first; t != s; t = t->next)
        if (t->device == s->device && is_module_current(t))
            return 0;
    return 1;
}

/* Returns whether the work is complete before the deadline. */
static int is_complete_by_deadline(uint64_t deadline, CUresult (*query)(void *handle),
                                   void *handle) {
    while (query(handle) == CUDA_ERROR_NOT_READY) {
        if (nl_clock_ns() > deadline)
            return 0;
        sleep_briefly();
    }
    return 1;
}

/* Waits for the awaited work, and then for all work of the devices that have modules with records:
 * queued kernels must also find the stop flag set. Returns 1 if the awaited work was complete
 * before the deadline, even if another kernel, which is not stoppable, is still running. */
static int wait_for_devices_lock_held(const nl_wait_end *how, CUcontext current,
                                      uint64_t deadline) {
    (void)nl_cu.CtxSetCurrent(current);
    if (!is_complete_by_deadline(deadline, how->query, how->handle))
        return 0;
    for (nl_stop *s = first; s != NULL; s = s->next)
        if (is_module_current(s) && is_first_on_device(s) &&
            nl_cu.CtxSetCurrent(s->device->context) == CUDA_SUCCESS)
            (void)is_complete_by_deadline(deadline, how->drain, NULL);
    return 1;
}

/* Reads the record of each module into `found`, and clears the record on the device. */
static void read_stop_records_lock_held(void) {
    const record none = {0};
    for (nl_stop *s = first; s != NULL; s = s->next) {
        s->found = none;
        if (!s->address || !is_module_current(s) ||
            nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
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

static const char *find_site(const nl_stop *s, uint32_t number) {
    const char *site = s->sites;
    for (; number > 0 && site < s->sites + s->size; number--)
        site += strlen(site) + 1;
    return site < s->sites + s->size ? site : "";
}

/* Writes the kernel and the position of the thread that has stopped, for example "kernel k, block
 * (0,0,0), thread (5,0,0), k.cu:3". */
static void describe_thread(const nl_stop *s, char *text, size_t size) {
    const record *r = &s->found;
    const char *site = find_site(s, r->site), *position = strchr(site, '\t');
    int length = position != NULL ? (int)(position - site) : 0;
    int used = snprintf(text, size, "kernel %.*s", length ? length : (int)sizeof s->kernel,
                        length ? site : s->kernel);
    if (used < 0 || (size_t)used >= size)
        return;
    snprintf(text + used, size - (size_t)used, ", block (%u,%u,%u), thread (%u,%u,%u)%s%s",
             r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2],
             position != NULL && position[1] ? ", " : "", position != NULL ? position + 1 : "");
}

static void describe_ended_wait(const nl_wait_end *how, uint64_t now, char *text, size_t size) {
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
        done = wait_for_devices_lock_held(how, current, now + PATIENCE_NS);
        write_flags_lock_held(0);
        read_stop_records_lock_held();
        (void)nl_cu.CtxSetCurrent(current);
        if (done)
            describe_ended_wait(how, now, text, size);
    }
    nl_mutex_unlock(&lock);
    return done;
}

/* ------------------------------------------------------------------------------------ asserts */

static int has_kernel_failed(void) {
    for (int i = 0; i < MAX_DEVICES && nl_device_exists(i); i++) {
        const page *p = lines[i].page;
        if (p != NULL && nl_device_is_ready(i) && *(const volatile uint32_t *)&p->failed)
            return 1;
    }
    return 0;
}

static void fill_assert_fault(const nl_stop *s, const failure *f, nl_fault *fault) {
    nl_fault_init(fault, NL_FAULT_ASSERT, NL_FAULT_HEAD_THREAD, s->kernel);
    fault->at.has_block = fault->at.has_thread = 1;
    memcpy(fault->at.block, f->block, sizeof f->block);
    memcpy(fault->at.thread, f->thread, sizeof f->thread);
    nl_fault_set_location(&fault->at, f->file, (int)f->line);
    nl_fault_set_text(fault, "assertion `%s` failed", f->text);
}

/* Reads and clears the module's failure record. Returns 1 if an assert has failed. On return, the
 * module's device is current. The status of the synchronization is ignored: it also reports another
 * failed assert, and if the copy fails, `claimed` remains 0. */
static int read_failure(const nl_stop *s, nl_fault *fault) {
    if (!s->failure || !is_module_current(s) ||
        nl_cu.CtxSetCurrent(s->device->context) != CUDA_SUCCESS)
        return 0;
    page *p = lines[s->device->ordinal].page;
    CUstream stream = lines[s->device->ordinal].stream;
    size_t texts = offsetof(failure, text);
    p->failure.claimed = 0;
    if (nl_cu.MemcpyDtoHAsync(&p->failure, s->failure, sizeof p->failure, stream) != CUDA_SUCCESS)
        return 0;
    (void)nl_cu.StreamSynchronize(stream);
    if (!p->failure.claimed)
        return 0;
    p->failure.text[sizeof p->failure.text - 1] = '\0';
    p->failure.file[sizeof p->failure.file - 1] = '\0';
    fill_assert_fault(s, &p->failure, fault);
    if (nl_cu.MemsetD8Async(s->failure, 0, offsetof(failure, word), stream) == CUDA_SUCCESS &&
        nl_cu.MemsetD8Async(s->failure + texts, 0, sizeof(failure) - texts, stream) == CUDA_SUCCESS)
        (void)nl_cu.StreamSynchronize(stream);
    return 1;
}

/* Removes and returns one failure. The `failed` flags are cleared before the records are read: a
 * record written later sets its flag again. */
static int pop_failure_lock_held(nl_fault *fault) {
    int found = has_kept;
    if (has_kept)
        *fault = kept;
    has_kept = 0;
    for (int i = 0; i < MAX_DEVICES && nl_device_exists(i); i++)
        if (lines[i].page != NULL && nl_device_is_ready(i))
            *(volatile uint32_t *)&lines[i].page->failed = 0;
    for (nl_stop *s = first; s != NULL; s = s->next) {
        if (!found)
            found = read_failure(s, fault);
        else if (!has_kept && (has_kept = read_failure(s, &kept)))
            *(volatile uint32_t *)&lines[s->device->ordinal].page->failed = 1;
    }
    return found;
}

static int pop_failure(nl_fault *fault) {
    CUcontext current = NULL;
    if (!has_kernel_failed() || nl_mutex_held > 0 || nl_cu.CtxGetCurrent(&current) != CUDA_SUCCESS)
        return 0;
    nl_wait_hold_interrupts();
    nl_mutex_lock(&lock);
    int found = pop_failure_lock_held(fault);
    nl_mutex_unlock(&lock);
    (void)nl_cu.CtxSetCurrent(current);
    nl_wait_release_interrupts();
    return found;
}
