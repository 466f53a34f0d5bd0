/* core/bounce: copies between pageable host memory and the device through page-locked memory, with
 * several threads. The copy is cut into chunks, and the page-locked memory is a ring of slots:
 * chunk k uses slot k % slot_count. The design keeps the bus busy. The driver runs one call at a
 * time, so one thread at a time calls it: the first thread with chunks to submit that finds the
 * flag `asking` clear.
 *
 * For a copy to the device, the blocks of a call form one sequence of chunks. Each thread claims
 * the next chunk, copies the chunk into its slot and continues; the thread waits only if the slot
 * still contains an earlier chunk. Each driver copy costs the bus a few microseconds, so
 * neighbouring full slots are submitted as one copy. The copies run on the caller's stream, and
 * this code does not wait for their completion. The bus reads data slowly from another processor's
 * cache, so slots are written with non-temporal stores. Large copies use normal stores: their
 * sources are in memory, not in a cache, and non-temporal stores would exceed the memory bandwidth.
 *
 * For a copy to the host, the thread that holds `asking` submits copies into all free slots, on a
 * private stream, and records which copies are complete; all threads empty complete slots. Linux
 * clears an untouched host page on first use, which is slower than the copy. So a copy into
 * untouched pages uses more threads, and a thread populates a page while the chunks of that page
 * are being copied. With fewer threads, the slots stay full while pages are cleared, and the bus
 * waits: 16 threads copy 34 GB/s instead of 43.
 *
 * The ring is a block of the page-locked pool. The events and the stream are reused by later
 * copies. Only one copy at a time uses the ring; a concurrent copy returns 0 without waiting,
 * because the first copy may wait for its stream. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1 /* as pyconfig.h defines it */
#endif
#include "core/bounce.h"

#include <string.h>
#include <sys/mman.h>
#include "base/threads.h"
#include "core/hostblock.h"
#include "core/wait.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* These constants were measured on an H200 with 16 cores. */

/* Copies to the device of at most this size use non-temporal stores. */
#define MIDDLE_COPY ((size_t)128 << 20)
#define MIDDLE_RING ((size_t)16 << 20) /* ring size for those copies */
#define MIN_CHUNK ((size_t)64 << 10)
#define MIDDLE_CHUNK ((size_t)256 << 10)
#define NEW_CHUNK ((size_t)512 << 10) /* for untouched pages */
#define MIN_GROUP ((size_t)256 << 10) /* minimum size of one copy to the device */
/* Copies to the host of at least this size use non-temporal stores. */
#define LARGE_COPY ((size_t)256 << 20)
#define MIN_SHARED_THREADS 4
#define MORE_THREADS 8
#define MAX_THREADS 32
#define MAX_SLOTS 256
#define HUGE_PAGE ((size_t)2 << 20)
#define POPULATE_WRITE \
    23 /* MADV_POPULATE_WRITE of Linux 5.14; an older Linux returns an error, which is ignored */

static uint64_t threads_to_device = 8, threads_to_host = 8, threads_to_new = 16;
static uint64_t largest_chunk = (uint64_t)2 << 20;
static uint64_t ring_size = (uint64_t)32 << 20, largest_group = (uint64_t)2 << 20;
static uint64_t least = (uint64_t)1 << 20, shared = (uint64_t)1 << 20, polls = 1000, always;

static struct { /* state that only the copy that has set `taken` uses */
    nl_device *device;
    uint64_t generation;
    CUevent events[MAX_SLOTS];
    int count;
    CUevent last; /* event that is recorded after all earlier copies to the device, if `sent` is
                   * set */
    CUstream stream;
    int sent, received; /* whether a copy to the device, or to the host, has used these events */
} marks;

static size_t smaller_size(size_t a, size_t b) {
    return a < b ? a : b;
}

static void store_positive_setting(uint64_t *setting, int64_t value) {
    if (value > 0)
        nl_atomic_store(setting, (uint64_t)value);
}

nl_bounce_settings nl_bounce_configure(const nl_bounce_settings *s) {
    if (s != NULL) {
        store_positive_setting(&threads_to_device,
                               s->to_device < MAX_THREADS ? s->to_device : MAX_THREADS);
        store_positive_setting(&threads_to_host,
                               s->to_host < MAX_THREADS ? s->to_host : MAX_THREADS);
        store_positive_setting(&threads_to_new, s->to_new < MAX_THREADS ? s->to_new : MAX_THREADS);
        store_positive_setting(&largest_chunk, (int64_t)s->chunk);
        store_positive_setting(&ring_size, (int64_t)s->ring);
        store_positive_setting(&largest_group, (int64_t)s->group);
        store_positive_setting(&least, (int64_t)s->least);
        store_positive_setting(&shared, (int64_t)s->shared);
        store_positive_setting(&polls, s->polls);
        nl_atomic_store(&always, s->always != 0);
    }
    return (nl_bounce_settings){.to_device = (int)nl_atomic_load(&threads_to_device),
                                .to_host = (int)nl_atomic_load(&threads_to_host),
                                .to_new = (int)nl_atomic_load(&threads_to_new),
                                .chunk = nl_atomic_load(&largest_chunk),
                                .ring = nl_atomic_load(&ring_size),
                                .group = nl_atomic_load(&largest_group),
                                .least = nl_atomic_load(&least),
                                .shared = nl_atomic_load(&shared),
                                .polls = (int)nl_atomic_load(&polls),
                                .always = (int)nl_atomic_load(&always)};
}

int nl_bounce_can_lock(size_t size) {
    return size <= nl_hostblock_cache_limit() && (!nl_cu.memory_is_host || nl_atomic_load(&always));
}

size_t nl_bounce_min_size(void) {
    return nl_atomic_load(&least);
}

int nl_bounce_is_faster(size_t size) {
    return size >= nl_bounce_min_size() && nl_bounce_can_lock(nl_bounce_min_size());
}

int64_t nl_bounce_count_shared(void) {
    return (int64_t)nl_atomic_load(&shared);
}

size_t nl_bounce_round_size(size_t size) {
    size_t rounded = (size_t)64 << 10;
    while (rounded < size)
        rounded *= 2;
    return rounded;
}

int nl_bounce_is_locked(const void *host) {
    nl_address a;
    nl_error ignored;
    return nl_device_query_pointer((CUdeviceptr)(uintptr_t)host, &a, &ignored) == 0 &&
           (a.type == CU_MEMORYTYPE_HOST || a.type == CU_MEMORYTYPE_UNIFIED);
}

/* Copies with non-temporal stores, so that the destination is not read into the cache before it is
 * overwritten. Use this function if the destination is not read soon: large results in pages that
 * were touched before need half the processor time. Do not use this function for pages that were
 * just cleared, because these pages are in the CPU's cache. */
static void copy_past_caches(char *to, const char *from, size_t size) {
#if defined(__x86_64__)
    size_t head = (size_t)(-(uintptr_t)to & 63);
    if (size < 4096) {
        memcpy(to, from, size);
        return;
    }
    memcpy(to, from, head);
    to += head;
    from += head;
    size -= head;
    for (; size >= 64; size -= 64, to += 64, from += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)from);
        __m128i b = _mm_loadu_si128((const __m128i *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(from + 32));
        __m128i d = _mm_loadu_si128((const __m128i *)(from + 48));
        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)(to + 16), b);
        _mm_stream_si128((__m128i *)(to + 32), c);
        _mm_stream_si128((__m128i *)(to + 48), d);
    }
    _mm_sfence();
#endif
    memcpy(to, from, size);
}

/* ---------------------------------------------------------------------- both directions */

static void destroy_event(CUevent event) {
    if (nl_device_bind_for_release(marks.device, marks.generation))
        nl_driver_print_failure(nl_cu.EventDestroy(event), "cuEventDestroy");
}

static void destroy_clearing_events(void) {
    for (int i = 0; i < marks.count; i++)
        destroy_event(marks.events[i]);
    if (marks.last != NULL)
        destroy_event(marks.last);
    if (marks.stream != NULL && nl_device_bind_for_release(marks.device, marks.generation))
        nl_driver_print_failure(nl_cu.StreamDestroy(marks.stream), "cuStreamDestroy");
    memset(&marks, 0, sizeof marks);
}

static int create_event(CUevent *event, nl_error *err) {
    if (*event != NULL || NL_CU(err, EventCreate, event, CU_EVENT_DISABLE_TIMING) == 0)
        return 0;
    *event = NULL;
    return -1;
}

static int create_clearing_events(nl_device *dev, uint64_t events, nl_error *err) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    if (marks.device != dev || marks.generation != generation)
        destroy_clearing_events();
    marks.device = dev;
    marks.generation = generation;
    if (nl_device_bind(dev, err) < 0 || create_event(&marks.last, err) < 0)
        return -1;
    for (; marks.count < (int)events; marks.count++)
        if (create_event(&marks.events[marks.count], err) < 0)
            return -1;
    if (marks.stream == NULL &&
        NL_CU(err, StreamCreateWithPriority, &marks.stream, CU_STREAM_NON_BLOCKING, 0) < 0) {
        marks.stream = NULL;
        return -1;
    }
    return 0;
}

static nl_mutex lock = NL_MUTEX_INIT;
static int taken; /* 1 while a copy uses the ring, the events and the stream */

/* Clears `taken` in a forked child, in which the thread that set `taken` does not exist. */
static void release_ring_in_child(void) {
    nl_mutex_init(&lock);
    taken = 0;
}

static int is_staging_possible(size_t size) {
    return nl_bounce_is_faster(size) && nl_bounce_can_lock(nl_atomic_load(&ring_size));
}

/* Returns 1 if this thread may use the ring, the events and the stream until release_ring_lock(); 0
 * if another copy uses them. */
static int try_acquire_ring_lock(void) {
    nl_thread_call_in_child(release_ring_in_child);
    nl_mutex_lock(&lock);
    int is_free = !taken;
    taken = 1;
    nl_mutex_unlock(&lock);
    return is_free;
}

static void release_ring_lock(void) {
    nl_mutex_lock(&lock);
    taken = 0;
    nl_mutex_unlock(&lock);
}

static size_t round_to_pages(size_t size) {
    return (size + 4095) & ~(size_t)4095;
}

static size_t clamp_size(size_t low, size_t size, size_t high) {
    return size > low ? smaller_size(size, high) : smaller_size(low, high);
}

/* Returns the chunk size for a copy: at most a quarter of the ring, so that the ring has at least
 * four slots. */
static size_t choose_chunk(size_t low, size_t size, size_t high) {
    size_t most = smaller_size(nl_atomic_load(&largest_chunk), nl_atomic_load(&ring_size) / 4);
    return clamp_size(low, round_to_pages(size), smaller_size(high, most));
}

static int count_threads(uint64_t setting, uint64_t chunks) {
    return (int)smaller_size(smaller_size(setting, (size_t)nl_threads_count_processors()), chunks);
}

/* Runs own(data) in this thread, and others(data) in up to members - 1 pool threads. A pool thread
 * that has not started when own() returns does not run others(data), so own() must complete all
 * work that no other thread has claimed. */
static void run_among_threads(int members, void (*own)(void *), void (*others)(void *),
                              void *data) {
    nl_threads_job job = {.run = others, .data = data};
    unsigned count = (unsigned)members - 1;
    if (members <= nl_threads_count_processors())
        job.polls = nl_atomic_load(&polls);
    if (members > 1)
        nl_threads_offer_job(&job, count, count);
    own(data);
    if (members > 1)
        nl_threads_close(&job);
}

typedef struct ring {
    char *memory;
    uint64_t next, pages; /* number of huge pages */
} ring;

static void populate_ring_pages(void *job) {
    ring *r = job;
    uint64_t k;
    while ((k = nl_atomic_add(&r->next, 1)) < r->pages)
        (void)madvise(r->memory + k * HUGE_PAGE, HUGE_PAGE, POPULATE_WRITE);
}

/* Gets a block for the ring from the page-locked pool. All copies request the same size, so that
 * they reuse the same block. Before a new block is page-locked, all threads populate its pages,
 * because page-locking would populate them in one thread. Returns NULL if no block is available;
 * the caller must then copy without the ring. */
static nl_host_block *acquire_ring(nl_device *dev, int members) {
    nl_host_block *block = NULL;
    nl_error ignored;
    size_t size = nl_atomic_load(&ring_size);
    if (nl_hostblock_alloc(dev, size, NL_HOST_RESULT, 0, &block, &ignored) < 0)
        return NULL;
    if (nl_hostblock_is_locked(block))
        return block;
    ring r = {block->memory, 0, size / HUGE_PAGE};
    run_among_threads(members, populate_ring_pages, populate_ring_pages, &r);
    if (nl_hostblock_lock(block, dev, &ignored) == 0)
        return block;
    nl_hostblock_release(block);
    return NULL;
}

/* ------------------------------------------------------------------------------- to the device
 */

typedef struct sending {
    nl_device *device;
    CUstream stream;
    const nl_bounce_part *parts;
    int count, past_caches;
    uint64_t first[NL_BOUNCE_PARTS + 1]; /* first chunk of each part, then the number of chunks */
    size_t total, chunk;
    uint64_t slot_count, chunks; /* of all parts */
    uint64_t group;              /* minimum number of full slots that are submitted as one copy */
    char *ring;
    uint64_t next;              /* the next chunk to claim */
    uint64_t filled[MAX_SLOTS]; /* 1 + the chunk in the slot */
    /* asking: set while a thread calls the driver; asked: number of chunks submitted to the
     * stream */
    uint64_t asking, asked;
    int mark[MAX_SLOTS]; /* index of the event that is recorded after the copy from the slot */
    uint64_t failed;
    nl_error error; /* error of the first thread that failed to send */
} sending;

static void record_send_failure(sending *s, const nl_error *err) {
    if (nl_atomic_swap(&s->failed, 1) == 0)
        s->error = *err;
}

static int part_of_chunk(const sending *s, uint64_t k) {
    int i = 0;
    while (k >= s->first[i + 1])
        i++;
    return i;
}

/* Returns the number of full slots to submit next as one copy, or 0 if too few slots are full or a
 * thread has failed. The first chunk is submitted alone, so that the bus starts early. */
static uint64_t count_submittable_slots(const sending *s) {
    uint64_t first = nl_atomic_load(&s->asked), k = first;
    if (first == s->chunks || nl_atomic_load(&s->failed))
        return 0;
    uint64_t end = s->first[part_of_chunk(s, first) + 1];
    uint64_t round = (first / s->slot_count + 1) * s->slot_count;
    if (end > round)
        end = round;
    while (k < end && nl_atomic_load(&s->filled[k % s->slot_count]) == k + 1)
        k++;
    return k == end || first == 0 || k - first >= s->group ? k - first : 0;
}

static int submit_copy(sending *s, uint64_t count, nl_error *err) {
    uint64_t first = s->asked, slot = first % s->slot_count;
    const nl_bounce_part *part = &s->parts[part_of_chunk(s, first)];
    size_t offset = (size_t)(first - s->first[part - s->parts]) * s->chunk;
    size_t size = smaller_size(part->size - offset, (size_t)count * s->chunk);
    if (NL_CU(err, MemcpyHtoDAsync, part->device + offset, s->ring + (size_t)slot * s->chunk, size,
              s->stream) < 0)
        return -1;
    if (first + s->slot_count < s->chunks) { /* the slots will be reused */
        if (NL_CU(err, EventRecord, marks.events[slot], s->stream) < 0)
            return -1;
        for (uint64_t i = 0; i < count; i++)
            s->mark[slot + i] = (int)slot;
    }
    nl_atomic_store(&s->asked, first + count);
    return 0;
}

/* Submits full slots to the stream, if no other thread is doing so. The submitting thread checks
 * for full slots again after it clears `asking`. Two threads that fill slots at the same time may
 * both return without submitting, because each may miss the other's slot. A missed slot is
 * submitted by the next thread that fills a slot or waits, or by send_with_threads after all
 * threads have returned. */
static void submit_sends(sending *s) {
    uint64_t count;
    nl_error err;
    while (count_submittable_slots(s) > 0 && nl_atomic_swap(&s->asking, 1) == 0) {
        while ((count = count_submittable_slots(s)) > 0)
            if (submit_copy(s, count, &err) < 0)
                record_send_failure(s, &err);
        nl_atomic_swap(&s->asking, 0);
    }
}

/* Waits until the slot of chunk k is free, or until a thread has failed. */
static int wait_for_slot(sending *s, uint64_t k, nl_error *err) {
    while (nl_atomic_load(&s->asked) + s->slot_count <= k) {
        submit_sends(s);
        if (nl_atomic_load(&s->failed))
            return 0;
        nl_thread_yield();
    }
    return NL_CU(err, EventSynchronize, marks.events[s->mark[k % s->slot_count]]);
}

static void fill_slots_uninterrupted(sending *s) {
    nl_error err;
    uint64_t k;
    if (nl_device_bind(s->device, &err) < 0)
        record_send_failure(s, &err);
    while (!nl_atomic_load(&s->failed) && (k = nl_atomic_add(&s->next, 1)) < s->chunks) {
        const nl_bounce_part *part = &s->parts[part_of_chunk(s, k)];
        size_t offset = (size_t)(k - s->first[part - s->parts]) * s->chunk;
        size_t size = smaller_size(part->size - offset, s->chunk);
        char *slot = s->ring + (size_t)(k % s->slot_count) * s->chunk;
        if (k >= s->slot_count && wait_for_slot(s, k, &err) < 0)
            record_send_failure(s, &err);
        if (nl_atomic_load(&s->failed))
            return;
        if (s->past_caches)
            copy_past_caches(slot, part->host + offset, size);
        else
            memcpy(slot, part->host + offset, size);
        nl_atomic_store(&s->filled[k % s->slot_count], k + 1);
        submit_sends(s);
    }
}

/* The waits in this function are not interruptible (nl_wait_hold_interrupts). Interrupts are not
 * needed: if the ring is reused within one copy, send_with_threads has already waited for the
 * stream. */
static void fill_slots(void *job) {
    nl_wait_hold_interrupts();
    fill_slots_uninterrupted(job);
    nl_wait_release_interrupts();
}

static void choose_send_chunks(sending *s) {
    size_t members = nl_atomic_load(&threads_to_device), ring_bytes = nl_atomic_load(&ring_size);
    s->past_caches = s->total <= MIDDLE_COPY;
    if (s->past_caches) {
        s->chunk = choose_chunk(MIN_CHUNK, s->total / (members * 2), MIDDLE_CHUNK);
        ring_bytes = smaller_size(ring_bytes, MIDDLE_RING);
    } else {
        s->chunk = choose_chunk(MIN_CHUNK, s->total, SIZE_MAX);
    }
    for (int i = 0; i < s->count; i++)
        s->first[i + 1] = s->first[i] + (s->parts[i].size + s->chunk - 1) / s->chunk;
    s->chunks = s->first[s->count];
    s->slot_count = smaller_size(ring_bytes / s->chunk, MAX_SLOTS);
    size_t bytes = clamp_size(MIN_GROUP, s->total / 8, nl_atomic_load(&largest_group));
    s->group = smaller_size(bytes / s->chunk, s->slot_count / 4);
}

/* Waits for the previous copy to the device, so that its ring can be reused: a second ring costs
 * more time than this wait. If the ring has fewer slots than there are chunks, also waits for the
 * earlier work of the stream, because otherwise the threads would poll while that work runs. */
static int prepare_stream_for_send(sending *s, nl_error *err) {
    if (marks.sent && NL_CU(err, EventSynchronize, marks.last) < 0)
        return -1;
    marks.sent = 0;
    return s->chunks > s->slot_count ? NL_CU(err, StreamSynchronize, s->stream) : 0;
}

static int send_with_threads(sending *s, nl_error *err) {
    nl_host_block *block;
    nl_error ignored;
    choose_send_chunks(s);
    int members = count_threads(nl_atomic_load(&threads_to_device), s->chunks);
    if (create_clearing_events(s->device, s->chunks > s->slot_count ? s->slot_count : 0, &ignored) <
        0)
        return 0;
    if (prepare_stream_for_send(s, err) < 0)
        return -1;
    block = acquire_ring(s->device, members);
    if (block == NULL)
        return 0;
    s->ring = block->memory;
    run_among_threads(members, fill_slots, fill_slots, s);
    submit_sends(s);
    if (s->failed) {
        *err = s->error;
        nl_hostblock_release_after_work(block, s->device, s->stream);
        return -1;
    }
    nl_hostblock_release_after_work(block, s->device, s->stream);
    marks.sent = NL_CU(&ignored, EventRecord, marks.last, s->stream) == 0;
    return 1;
}

int nl_bounce_send(nl_device *dev, const nl_bounce_part *parts, int count, CUstream stream,
                   nl_error *err) {
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].size;
    if (!is_staging_possible(total) || !try_acquire_ring_lock())
        return 0;
    sending s = {.device = dev, .stream = stream, .parts = parts, .count = count, .total = total};
    int done = send_with_threads(&s, err);
    release_ring_lock();
    return done;
}

/* --------------------------------------------------------------------------------- to the host
 */

typedef struct receiving {
    nl_device *device;
    CUdeviceptr there;
    char *here, *ring;
    size_t size, chunk;
    size_t shift;    /* difference between the chunk size and the size of the first chunk */
    int is_new;      /* the host pages are untouched */
    CUstream before; /* the caller's stream, whose earlier work must complete first */
    /* is_ready: set to stop threads from populating pages ahead; cleared: number of pages claimed
     * for populating */
    uint64_t is_ready, cleared;
    uint64_t slot_count, chunks;
    uint64_t asking; /* 1 while a thread calls the driver */
    uint64_t asked;  /* number of chunks whose copies were submitted to the driver */
    /* arrived: number of complete chunks; taken: number of claimed chunks (or claimed untouched
     * pages) */
    uint64_t arrived, taken;
    uint64_t free[MAX_SLOTS]; /* number of times that the slot was emptied */
    uint64_t failed;
    nl_error error; /* error of the first thread that failed to receive */
} receiving;

static size_t chunk_offset(const receiving *r, uint64_t k) {
    return k == 0 ? 0 : (size_t)k * r->chunk - r->shift;
}

static size_t chunk_size(const receiving *r, uint64_t k) {
    return smaller_size(r->size, (size_t)(k + 1) * r->chunk - r->shift) - chunk_offset(r, k);
}

static int submit_chunk(receiving *r, nl_error *err) {
    uint64_t slot = r->asked % r->slot_count;
    if (NL_CU(err, MemcpyDtoHAsync, r->ring + (size_t)slot * r->chunk,
              r->there + chunk_offset(r, r->asked), chunk_size(r, r->asked), marks.stream) < 0 ||
        NL_CU(err, EventRecord, marks.events[slot], marks.stream) < 0)
        return -1;
    nl_atomic_store(&r->asked, r->asked + 1);
    return 0;
}

static int is_slot_free(const receiving *r, uint64_t k) {
    return nl_atomic_load(&r->free[k % r->slot_count]) == k / r->slot_count;
}

/* Submits copies into all free slots and updates `arrived`, the number of complete chunks. If
 * `wait` is set, waits for at least one chunk if the copy of any chunk is in progress. */
static int submit_copies_to_slots(receiving *r, int wait, nl_error *err) {
    uint64_t arrived = r->arrived;
    while (r->asked < r->chunks && is_slot_free(r, r->asked))
        if (submit_chunk(r, err) < 0)
            return -1;
    while (arrived < r->asked) {
        CUevent event = marks.events[arrived % r->slot_count];
        CUresult status = wait ? nl_cu.EventSynchronize(event) : nl_cu.EventQuery(event);
        if (status == CUDA_ERROR_NOT_READY)
            break;
        if (status != CUDA_SUCCESS)
            return nl_driver_check(status, wait ? "cuEventSynchronize" : "cuEventQuery", err);
        wait = 0;
        arrived++;
    }
    nl_atomic_store(&r->arrived, arrived);
    return 0;
}

/* Calls submit_copies_to_slots, unless another thread is executing it; if so, yields the processor
 * if `wait` is set. The waits are not interruptible, because receive_with_threads has already
 * waited for the earlier work of the stream. */
static void try_submit_receives(receiving *r, int wait) {
    nl_error err;
    if (nl_atomic_load(&r->asking) || nl_atomic_swap(&r->asking, 1)) {
        if (wait)
            nl_thread_yield();
        return;
    }
    nl_wait_hold_interrupts();
    if (!nl_atomic_load(&r->failed) && submit_copies_to_slots(r, wait, &err) < 0 &&
        nl_atomic_swap(&r->failed, 1) == 0)
        r->error = err;
    nl_wait_release_interrupts();
    nl_atomic_swap(&r->asking, 0);
}

static void copy_slot_to_host(receiving *r, uint64_t k) {
    uint64_t slot = k % r->slot_count;
    char *to = r->here + chunk_offset(r, k), *from = r->ring + (size_t)slot * r->chunk;
    if (r->size >= LARGE_COPY && !r->is_new)
        copy_past_caches(to, from, chunk_size(r, k));
    else
        memcpy(to, from, chunk_size(r, k));
    nl_atomic_store(&r->free[slot], k / r->slot_count + 1);
}

/* Computes the chunks in the given untouched huge page: [*first, *end). Returns 0 if the page is
 * past the end of the copy. */
static int find_chunks_of_page(const receiving *r, uint64_t page, uint64_t *first, uint64_t *end) {
    uint64_t each = HUGE_PAGE / r->chunk;
    uint64_t lead = ((uintptr_t)r->here & (HUGE_PAGE - 1)) / r->chunk;
    *first = page * each > lead ? page * each - lead : 0;
    *end = smaller_size((page + 1) * each - lead, r->chunks);
    return *first < r->chunks;
}

/* Populates the pages of the chunks [first, end). If madvise fails, the copies into the pages
 * populate them. */
static void populate_page(const receiving *r, uint64_t first, uint64_t end) {
    uintptr_t from = (uintptr_t)r->here + chunk_offset(r, first);
    uintptr_t to = (uintptr_t)r->here + chunk_offset(r, end - 1) + chunk_size(r, end - 1);
    from = round_to_pages(from);
    if (to > from)
        (void)madvise((void *)from, (to - from) & ~(uintptr_t)4095, POPULATE_WRITE);
}

/* Populates the next huge page. Returns 0 if no untouched page is left, or if `is_ready` is set. */
static int populate_next_page(receiving *r) {
    uint64_t first, end;
    if (nl_atomic_load(&r->is_ready) ||
        !find_chunks_of_page(r, nl_atomic_add(&r->cleared, 1), &first, &end))
        return 0;
    populate_page(r, first, end);
    return 1;
}

static void populate_remaining_pages(void *job) {
    while (populate_next_page(job))
        ;
}

static void populate_pages_and_query_stream(void *job) {
    receiving *r = job;
    while (populate_next_page(r))
        if (nl_cu.StreamQuery(r->before) != CUDA_ERROR_NOT_READY)
            nl_atomic_store(&r->is_ready, 1);
}

/* Populates the host pages while the stream computes the data to copy. If all pages are populated,
 * the copy continues as for touched pages. An error of StreamQuery is ignored, because the
 * following StreamSynchronize also returns it. */
static void populate_pages_before_copy(receiving *r, int *members) {
    uint64_t first, end;
    if (!r->is_new || nl_cu.StreamQuery(r->before) != CUDA_ERROR_NOT_READY)
        return;
    run_among_threads(*members, populate_pages_and_query_stream, populate_remaining_pages, r);
    if (find_chunks_of_page(r, r->cleared, &first, &end))
        return;
    r->is_new = 0;
    *members =
        count_threads(smaller_size((size_t)*members, nl_atomic_load(&threads_to_host)), r->chunks);
}

/* Starts the first copy to the host, for which the driver prepares for 2 ms: one thread submits the
 * first chunks while the other threads populate pages. */
static void submit_first_chunks(void *job) {
    receiving *r = job;
    nl_error ignored; /* ignored, because receive_chunks receives the same error */
    if (nl_device_bind(r->device, &ignored) == 0)
        try_submit_receives(r, 0);
    nl_atomic_store(&r->is_ready, 1);
}

static void populate_and_fill_page(receiving *r, uint64_t first, uint64_t end) {
    populate_page(r, first, end);
    for (uint64_t k = first; k < end; k++) {
        while (k >= nl_atomic_load(&r->arrived)) {
            if (nl_atomic_load(&r->failed))
                return;
            try_submit_receives(r, 1);
        }
        copy_slot_to_host(r, k);
        try_submit_receives(r, 0);
    }
}

static void receive_chunks(void *job) {
    receiving *r = job;
    uint64_t k, end;
    nl_error err;
    if (nl_device_bind(r->device, &err) < 0 && nl_atomic_swap(&r->failed, 1) == 0)
        r->error = err;
    while (r->is_new && !nl_atomic_load(&r->failed)) {
        if (!find_chunks_of_page(r, nl_atomic_add(&r->taken, 1), &k, &end))
            return;
        populate_and_fill_page(r, k, end);
    }
    while (!nl_atomic_load(&r->failed) && (k = nl_atomic_load(&r->taken)) < r->chunks) {
        try_submit_receives(r, 0);
        if (k < nl_atomic_load(&r->arrived)) {
            if (nl_atomic_compare_swap(&r->taken, k, k + 1))
                copy_slot_to_host(r, k);
        } else {
            try_submit_receives(r, 1);
        }
    }
}

/* Returns whether the destination's pages are untouched; checks only the first page, the last page
 * and a middle page. */
static int are_pages_untouched(const receiving *r) {
    for (int i = 0; i < 3; i++) {
        unsigned char resident = 1;
        uintptr_t place = (uintptr_t)r->here + (r->size - 1) / 2 * (uintptr_t)i;
        if (mincore((void *)(place & ~(uintptr_t)4095), 1, &resident) < 0 || (resident & 1))
            return 0;
    }
    return 1;
}

/* Chooses the chunk size and returns the number of threads. For untouched pages, chunk boundaries
 * are page boundaries, because two threads that touch the same new page at the same time would both
 * clear a page. */
static int choose_receive_chunks(receiving *r) {
    uint64_t threads = nl_atomic_load(&threads_to_host);
    r->is_new = r->size >= HUGE_PAGE && are_pages_untouched(r);
    r->chunk = choose_chunk(MIDDLE_CHUNK, r->size / 32, SIZE_MAX);
    if (r->is_new) {
        size_t most = choose_chunk(NEW_CHUNK, NEW_CHUNK, NEW_CHUNK);
        for (r->chunk = HUGE_PAGE; r->chunk > most; r->chunk /= 2)
            ;
        r->shift = (uintptr_t)r->here & (r->chunk - 1) & ~(uintptr_t)255;
        threads = smaller_size(nl_atomic_load(&threads_to_new), r->size / HUGE_PAGE + 1);
    } else if (r->size < LARGE_COPY) {
        threads = clamp_size(MIN_SHARED_THREADS, r->size / HUGE_PAGE,
                             smaller_size(MORE_THREADS, threads));
    }
    r->chunks = (r->size + r->shift + r->chunk - 1) / r->chunk;
    r->slot_count = smaller_size(nl_atomic_load(&ring_size) / r->chunk, MAX_SLOTS);
    return count_threads(threads, r->chunks);
}

/* Copies to the host, after waiting for the stream. When the stream is idle, no thread polls for
 * the stream's earlier work, and the ring of an earlier copy to the device on that stream is free
 * again. (Creating a second ring costs 3 ms.) */
static int receive_with_threads(receiving *r, nl_error *err) {
    nl_host_block *block;
    nl_error ignored;
    int members = choose_receive_chunks(r);
    if (create_clearing_events(r->device, smaller_size(r->slot_count, r->chunks), &ignored) < 0)
        return 0;
    populate_pages_before_copy(r, &members);
    if (NL_CU(err, StreamSynchronize, r->before) < 0)
        return -1;
    if ((block = acquire_ring(r->device, members)) == NULL)
        return 0;
    r->ring = block->memory;
    if (r->is_new && members > 1 && !marks.received) {
        r->is_ready = 0;
        run_among_threads(members, submit_first_chunks, populate_remaining_pages, r);
    }
    marks.received = 1;
    run_among_threads(members, receive_chunks, receive_chunks, r);
    if (r->failed) {
        *err = r->error;
        nl_wait_hold_interrupts();
        (void)nl_cu.StreamSynchronize(marks.stream);
        nl_wait_release_interrupts();
    }
    nl_hostblock_release(block);
    return r->failed ? -1 : 1;
}

int nl_bounce_receive(nl_device *dev, CUdeviceptr device, void *host, size_t size, CUstream stream,
                      nl_error *err) {
    if (!is_staging_possible(size) || nl_bounce_is_locked(host) || !try_acquire_ring_lock())
        return 0;
    receiving r = {.device = dev, .there = device, .here = host, .size = size, .before = stream};
    int done = receive_with_threads(&r, err);
    release_ring_lock();
    return done;
}
