/* core/bounce: several threads copy, page-locked memory is in between, and the bus is to have
 * something to do all the time. What is to be copied is cut into chunks, the page-locked
 * memory into slots, a ring; a chunk takes the next slot. The driver is asked by one member at a
 * time, because it lets only one in anyway: by whoever has something for it and finds nobody there.
 *
 * Up to the device the blocks of a call are one row of chunks. A member takes the next one, copies
 * it into its slot, and goes on; only who comes round the ring waits. Each copy costs the bus a few
 * microseconds, so that slots that are full go together, as neighbours. They go by the caller's
 * stream: nobody waits for their arrival here. The bus reads slowly what lies in another
 * processor's cache, so slots are written past the caches; not in large copies, whose sources are
 * in memory, for then memory has too much to do.
 *
 * Down, whoever asks puts copies into all slots that are free on a stream of ours, and notes which
 * have arrived; members empty those. Pages of the host's that are new have to be cleared first,
 * which takes longer than copying: they want more threads, each of which gets a page ready while
 * its chunks are on their way, for a slot that is full while its page is cleared keeps the bus
 * waiting (16 threads had all 16 slots so: 34 GB/s instead of 43).
 *
 * The ring is a block of the page-locked pool, the events and the stream stay from copy to copy.
 * One copy at a time has all this; another that finds it taken does without, because the first may
 * have to wait for its stream. */
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

/* Measured on an H200 with 16 cores. */
#define MIDDLE_COPY ((size_t)128 << 20) /* up to here, to the device: past the caches */
#define MIDDLE_RING ((size_t)16 << 20)  /* of which these need no more */
#define MIN_CHUNK ((size_t)64 << 10)
#define MIDDLE_CHUNK ((size_t)256 << 10)
#define NEW_CHUNK ((size_t)512 << 10)  /* of pages that nobody has touched */
#define MIN_GROUP ((size_t)256 << 10)  /* of slots, that go to the device as one */
#define LARGE_COPY ((size_t)256 << 20) /* from here on to the host: past the caches */
#define FEW_THREADS 4
#define MORE_THREADS 8
#define MAX_THREADS 32
#define MAX_SLOTS 256
#define HUGE_PAGE ((size_t)2 << 20)
#define POPULATE_WRITE \
    23 /* MADV_POPULATE_WRITE, of Linux 5.14; elsewhere an error without effect */

static uint64_t threads_to_device = 8, threads_to_host = 8, threads_to_new = 16;
static uint64_t largest_chunk = (uint64_t)2 << 20;
static uint64_t ring_size = (uint64_t)32 << 20, largest_group = (uint64_t)2 << 20;
static uint64_t least = (uint64_t)1 << 20, shared = (uint64_t)1 << 20, polls = 1000, always;

static struct { /* of the copy that has entered */
    nl_device *device;
    uint64_t generation;
    CUevent events[MAX_SLOTS];
    int count;
    CUevent last; /* behind all that was sent before, if `sent` */
    CUstream stream;
    int sent, received; /* something was, since they were opened */
} marks;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

static void set(uint64_t *setting, int64_t value) {
    if (value > 0)
        nl_atomic_store(setting, (uint64_t)value);
}

nl_bounce_settings nl_bounce_configure(const nl_bounce_settings *s) {
    if (s != NULL) {
        set(&threads_to_device, s->to_device < MAX_THREADS ? s->to_device : MAX_THREADS);
        set(&threads_to_host, s->to_host < MAX_THREADS ? s->to_host : MAX_THREADS);
        set(&threads_to_new, s->to_new < MAX_THREADS ? s->to_new : MAX_THREADS);
        set(&largest_chunk, (int64_t)s->chunk);
        set(&ring_size, (int64_t)s->ring);
        set(&largest_group, (int64_t)s->group);
        set(&least, (int64_t)s->least);
        set(&shared, (int64_t)s->shared);
        set(&polls, s->polls);
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
    return size <= nl_hostblock_limit() && (!nl_cu.memory_is_host || nl_atomic_load(&always));
}

size_t nl_bounce_least(void) {
    return nl_atomic_load(&least);
}

int nl_bounce_is_worth(size_t size) {
    return size >= nl_bounce_least() && nl_bounce_can_lock(nl_bounce_least());
}

int64_t nl_bounce_shared(void) {
    return (int64_t)nl_atomic_load(&shared);
}

size_t nl_bounce_round(size_t size) {
    size_t rounded = (size_t)64 << 10;
    while (rounded < size)
        rounded *= 2;
    return rounded;
}

int nl_bounce_is_locked(const void *host) {
    nl_address a;
    nl_error ignored;
    return nl_device_ask((CUdeviceptr)(uintptr_t)host, &a, &ignored) == 0 &&
           (a.type == CU_MEMORYTYPE_HOST || a.type == CU_MEMORYTYPE_UNIFIED);
}

/* Past the caches: what is written is not read soon, and is not fetched before it is overwritten.
 * Large results go so, in half the processor time, if they are written to pages that have been
 * used: those that have just been cleared are in a cache. */
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

/* ---------------------------------------------------------------------- what both ways share
 */

static void drop_event(CUevent event) {
    if (nl_device_bind_for_release(marks.device, marks.generation))
        nl_driver_report(nl_cu.EventDestroy(event), "cuEventDestroy");
}

static void drop_marks(void) {
    for (int i = 0; i < marks.count; i++)
        drop_event(marks.events[i]);
    if (marks.last != NULL)
        drop_event(marks.last);
    if (marks.stream != NULL && nl_device_bind_for_release(marks.device, marks.generation))
        nl_driver_report(nl_cu.StreamDestroy(marks.stream), "cuStreamDestroy");
    memset(&marks, 0, sizeof marks);
}

static int make_event(CUevent *event, nl_error *err) {
    if (*event != NULL || NL_CU(err, EventCreate, event, CU_EVENT_DISABLE_TIMING) == 0)
        return 0;
    *event = NULL;
    return -1;
}

static int open_marks(nl_device *dev, uint64_t events, nl_error *err) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    if (marks.device != dev || marks.generation != generation)
        drop_marks();
    marks.device = dev;
    marks.generation = generation;
    if (nl_device_bind(dev, err) < 0 || make_event(&marks.last, err) < 0)
        return -1;
    for (; marks.count < (int)events; marks.count++)
        if (make_event(&marks.events[marks.count], err) < 0)
            return -1;
    if (marks.stream == NULL &&
        NL_CU(err, StreamCreateWithPriority, &marks.stream, CU_STREAM_NON_BLOCKING, 0) < 0) {
        marks.stream = NULL;
        return -1;
    }
    return 0;
}

static nl_mutex lock = NL_MUTEX_INIT;
static int taken; /* by a copy */

/* The thread that had it does not exist in a forked child. */
static void after_fork(void) {
    nl_mutex_init(&lock);
    taken = 0;
}

static int is_possible(size_t size) {
    return nl_bounce_is_worth(size) && nl_bounce_can_lock(nl_atomic_load(&ring_size));
}

/* 1: the ring, the events and the stream are this thread's until it leaves. */
static int enter(void) {
    nl_fork_on_child(after_fork);
    nl_mutex_lock(&lock);
    int is_free = !taken;
    taken = 1;
    nl_mutex_unlock(&lock);
    return is_free;
}

static void leave(void) {
    nl_mutex_lock(&lock);
    taken = 0;
    nl_mutex_unlock(&lock);
}

static size_t round_to_pages(size_t size) {
    return (size + 4095) & ~(size_t)4095;
}

static size_t between(size_t low, size_t size, size_t high) {
    return size > low ? smaller(size, high) : smaller(low, high);
}

/* Of the ring there are four at least. */
static size_t choose_chunk(size_t low, size_t size, size_t high) {
    size_t most = smaller(nl_atomic_load(&largest_chunk), nl_atomic_load(&ring_size) / 4);
    return between(low, round_to_pages(size), smaller(high, most));
}

static int count_members(uint64_t setting, uint64_t chunks) {
    return (int)smaller(smaller(setting, (size_t)nl_threads_processors()), chunks);
}

/* own(data) here, and others(data) on those of members - 1 threads that come before it has
 * returned; it must leave nothing undone that nobody has begun. */
static void share(int members, void (*own)(void *), void (*others)(void *), void *data) {
    nl_threads_job job = {.run = others, .data = data};
    unsigned count = (unsigned)members - 1;
    if (members <= nl_threads_processors())
        job.polls = nl_atomic_load(&polls);
    if (members > 1)
        nl_threads_share(&job, count, count);
    own(data);
    if (members > 1)
        nl_threads_close(&job);
}

typedef struct ring {
    char *memory;
    uint64_t next, pages; /* huge ones */
} ring;

static void touch_some(void *job) {
    ring *r = job;
    uint64_t k;
    while ((k = nl_atomic_add(&r->next, 1)) < r->pages)
        (void)madvise(r->memory + k * HUGE_PAGE, HUGE_PAGE, POPULATE_WRITE);
}

/* One size for all copies, so that the same block serves again. The first time its pages are made
 * by all members, for locking them one by one makes them one by one. NULL: do without. */
static nl_host_block *take_ring(nl_device *dev, int members) {
    nl_host_block *block = NULL;
    nl_error ignored;
    size_t size = nl_atomic_load(&ring_size);
    if (nl_hostblock_take(dev, size, NL_HOST_RESULT, 0, &block, &ignored) < 0)
        return NULL;
    if (nl_hostblock_is_locked(block))
        return block;
    ring r = {block->memory, 0, size / HUGE_PAGE};
    share(members, touch_some, touch_some, &r);
    if (nl_hostblock_lock(block, dev, &ignored) == 0)
        return block;
    nl_hostblock_give(block);
    return NULL;
}

/* ------------------------------------------------------------------------------- to the device
 */

typedef struct sending {
    nl_device *device;
    CUstream stream;
    const nl_bounce_part *parts;
    int count, past_caches;
    uint64_t first[NL_BOUNCE_PARTS + 1]; /* chunk of each part */
    size_t total, chunk;
    uint64_t slot_count, chunks; /* chunks of all parts */
    uint64_t group;              /* slots that are worth a copy */
    char *ring;
    uint64_t next;              /* chunk that nobody has taken */
    uint64_t filled[MAX_SLOTS]; /* 1 + the chunk that is in the slot */
    uint64_t asking, asked;     /* is somebody at the driver; chunks that are on the stream */
    int mark[MAX_SLOTS];        /* the event behind what the slot held */
    uint64_t failed;
    nl_error error; /* of the first who failed */
} sending;

static void fail_to_send(sending *s, const nl_error *err) {
    if (nl_atomic_swap(&s->failed, 1) == 0)
        s->error = *err;
}

static int part_of(const sending *s, uint64_t k) {
    int i = 0;
    while (k >= s->first[i + 1])
        i++;
    return i;
}

/* How many full slots go next, as one copy; 0: it is too early, or somebody has failed. The first
 * chunk goes alone, so that the bus begins. */
static uint64_t count_ready(const sending *s) {
    uint64_t first = nl_atomic_load(&s->asked), k = first;
    if (first == s->chunks || nl_atomic_load(&s->failed))
        return 0;
    uint64_t end = s->first[part_of(s, first) + 1];
    uint64_t round = (first / s->slot_count + 1) * s->slot_count;
    if (end > round)
        end = round;
    while (k < end && nl_atomic_load(&s->filled[k % s->slot_count]) == k + 1)
        k++;
    return k == end || first == 0 || k - first >= s->group ? k - first : 0;
}

static int put_on_stream(sending *s, uint64_t count, nl_error *err) {
    uint64_t first = s->asked, slot = first % s->slot_count;
    const nl_bounce_part *part = &s->parts[part_of(s, first)];
    size_t offset = (size_t)(first - s->first[part - s->parts]) * s->chunk;
    size_t size = smaller(part->size - offset, (size_t)count * s->chunk);
    if (NL_CU(err, MemcpyHtoDAsync, part->device + offset, s->ring + (size_t)slot * s->chunk, size,
              s->stream) < 0)
        return -1;
    if (first + s->slot_count < s->chunks) { /* the slots will be used again */
        if (NL_CU(err, EventRecord, marks.events[slot], s->stream) < 0)
            return -1;
        for (uint64_t i = 0; i < count; i++)
            s->mark[slot + i] = (int)slot;
    }
    nl_atomic_store(&s->asked, first + count);
    return 0;
}

/* Puts what is ready on the stream, if nobody is at it; who is, looks again before leaving. Two who
 * fill slots at the same moment may each miss the other's, and leave: whoever fills the next one,
 * or waits, finds them, and in the end the caller, when all members have returned. */
static void ask_to_send(sending *s) {
    uint64_t count;
    nl_error err;
    while (count_ready(s) > 0 && nl_atomic_swap(&s->asking, 1) == 0) {
        while ((count = count_ready(s)) > 0)
            if (put_on_stream(s, count, &err) < 0)
                fail_to_send(s, &err);
        nl_atomic_swap(&s->asking, 0);
    }
}

/* Until the slot of chunk k is free, or somebody has failed. */
static int wait_for_slot(sending *s, uint64_t k, nl_error *err) {
    while (nl_atomic_load(&s->asked) + s->slot_count <= k) {
        ask_to_send(s);
        if (nl_atomic_load(&s->failed))
            return 0;
        nl_thread_yield();
    }
    return NL_CU(err, EventSynchronize, marks.events[s->mark[k % s->slot_count]]);
}

static void send_some_held(sending *s) {
    nl_error err;
    uint64_t k;
    if (nl_device_bind(s->device, &err) < 0)
        fail_to_send(s, &err);
    while (!nl_atomic_load(&s->failed) && (k = nl_atomic_add(&s->next, 1)) < s->chunks) {
        const nl_bounce_part *part = &s->parts[part_of(s, k)];
        size_t offset = (size_t)(k - s->first[part - s->parts]) * s->chunk;
        size_t size = smaller(part->size - offset, s->chunk);
        char *slot = s->ring + (size_t)(k % s->slot_count) * s->chunk;
        if (k >= s->slot_count && wait_for_slot(s, k, &err) < 0)
            fail_to_send(s, &err);
        if (nl_atomic_load(&s->failed))
            return;
        if (s->past_caches)
            copy_past_caches(slot, part->host + offset, size);
        else
            memcpy(slot, part->host + offset, size);
        nl_atomic_store(&s->filled[k % s->slot_count], k + 1);
        ask_to_send(s);
    }
}

/* The stream was waited for before, as far as anything waits here. */
static void send_some(void *job) {
    nl_wait_hold();
    send_some_held(job);
    nl_wait_release();
}

static void cut(sending *s) {
    size_t members = nl_atomic_load(&threads_to_device), room = nl_atomic_load(&ring_size);
    s->past_caches = s->total <= MIDDLE_COPY;
    if (s->past_caches) {
        s->chunk = choose_chunk(MIN_CHUNK, s->total / (members * 2), MIDDLE_CHUNK);
        room = smaller(room, MIDDLE_RING);
    } else {
        s->chunk = choose_chunk(MIN_CHUNK, s->total, SIZE_MAX);
    }
    for (int i = 0; i < s->count; i++)
        s->first[i + 1] = s->first[i] + (s->parts[i].size + s->chunk - 1) / s->chunk;
    s->chunks = s->first[s->count];
    s->slot_count = smaller(room / s->chunk, MAX_SLOTS);
    size_t bytes = between(MIN_GROUP, s->total / 8, nl_atomic_load(&largest_group));
    s->group = smaller(bytes / s->chunk, s->slot_count / 4);
}

/* The ring of the copy before is waited for: a second one would cost more. Where the ring is too
 * small for all, so is what came before on the stream, here, where nobody spins for it. */
static int prepare_stream(sending *s, nl_error *err) {
    if (marks.sent && NL_CU(err, EventSynchronize, marks.last) < 0)
        return -1;
    marks.sent = 0;
    return s->chunks > s->slot_count ? NL_CU(err, StreamSynchronize, s->stream) : 0;
}

static int send_shared(sending *s, nl_error *err) {
    nl_host_block *block;
    nl_error ignored;
    cut(s);
    int members = count_members(nl_atomic_load(&threads_to_device), s->chunks);
    if (open_marks(s->device, s->chunks > s->slot_count ? s->slot_count : 0, &ignored) < 0)
        return 0;
    if (prepare_stream(s, err) < 0)
        return -1;
    block = take_ring(s->device, members);
    if (block == NULL)
        return 0;
    s->ring = block->memory;
    share(members, send_some, send_some, s);
    ask_to_send(s);
    if (s->failed) {
        *err = s->error;
        nl_hostblock_give_after(block, s->device, s->stream);
        return -1;
    }
    nl_hostblock_give_after(block, s->device, s->stream);
    marks.sent = NL_CU(&ignored, EventRecord, marks.last, s->stream) == 0;
    return 1;
}

int nl_bounce_send(nl_device *dev, const nl_bounce_part *parts, int count, CUstream stream,
                   nl_error *err) {
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].size;
    if (!is_possible(total) || !enter())
        return 0;
    sending s = {.device = dev, .stream = stream, .parts = parts, .count = count, .total = total};
    int done = send_shared(&s, err);
    leave();
    return done;
}

/* --------------------------------------------------------------------------------- to the host
 */

typedef struct receiving {
    nl_device *device;
    CUdeviceptr there;
    char *here, *ring;
    size_t size, chunk;
    size_t shift;               /* what the first chunk is smaller by */
    int is_new;                 /* nobody has touched the pages */
    CUstream before;            /* what was on it comes first */
    uint64_t is_ready, cleared; /* need nobody clear ahead any more; new pages that were */
    uint64_t slot_count, chunks;
    uint64_t asking, asked;   /* is somebody at the driver; chunks that it was asked for */
    uint64_t arrived, taken;  /* of those; chunks, or new pages, that members have taken */
    uint64_t free[MAX_SLOTS]; /* how often the slot has been emptied */
    uint64_t failed;
    nl_error error; /* of the first who failed */
} receiving;

static size_t begin_of_chunk(const receiving *r, uint64_t k) {
    return k == 0 ? 0 : (size_t)k * r->chunk - r->shift;
}

static size_t size_of_chunk(const receiving *r, uint64_t k) {
    return smaller(r->size, (size_t)(k + 1) * r->chunk - r->shift) - begin_of_chunk(r, k);
}

static int ask_for_chunk(receiving *r, nl_error *err) {
    uint64_t slot = r->asked % r->slot_count;
    if (NL_CU(err, MemcpyDtoHAsync, r->ring + (size_t)slot * r->chunk,
              r->there + begin_of_chunk(r, r->asked), size_of_chunk(r, r->asked),
              marks.stream) < 0 ||
        NL_CU(err, EventRecord, marks.events[slot], marks.stream) < 0)
        return -1;
    nl_atomic_store(&r->asked, r->asked + 1);
    return 0;
}

static int is_free(const receiving *r, uint64_t k) {
    return nl_atomic_load(&r->free[k % r->slot_count]) == k / r->slot_count;
}

/* Copies into all free slots, and what has arrived; `wait`: for one chunk at least, if one is on
 * its way. */
static int ask_to_receive(receiving *r, int wait, nl_error *err) {
    uint64_t arrived = r->arrived;
    while (r->asked < r->chunks && is_free(r, r->asked))
        if (ask_for_chunk(r, err) < 0)
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

/* What came before was waited for, so nothing ends the waits for these copies. */
static void take_turn(receiving *r, int wait) {
    nl_error err;
    if (nl_atomic_load(&r->asking) || nl_atomic_swap(&r->asking, 1)) {
        if (wait)
            nl_thread_yield();
        return;
    }
    nl_wait_hold();
    if (!nl_atomic_load(&r->failed) && ask_to_receive(r, wait, &err) < 0 &&
        nl_atomic_swap(&r->failed, 1) == 0)
        r->error = err;
    nl_wait_release();
    nl_atomic_swap(&r->asking, 0);
}

static void empty_slot(receiving *r, uint64_t k) {
    uint64_t slot = k % r->slot_count;
    char *to = r->here + begin_of_chunk(r, k), *from = r->ring + (size_t)slot * r->chunk;
    if (r->size >= LARGE_COPY && !r->is_new)
        copy_past_caches(to, from, size_of_chunk(r, k));
    else
        memcpy(to, from, size_of_chunk(r, k));
    nl_atomic_store(&r->free[slot], k / r->slot_count + 1);
}

/* The chunks of a new huge page: 0 if there is no such page. */
static int chunks_of_page(const receiving *r, uint64_t page, uint64_t *first, uint64_t *end) {
    uint64_t each = HUGE_PAGE / r->chunk;
    uint64_t lead = ((uintptr_t)r->here & (HUGE_PAGE - 1)) / r->chunk;
    *first = page * each > lead ? page * each - lead : 0;
    *end = smaller((page + 1) * each - lead, r->chunks);
    return *first < r->chunks;
}

/* Where madvise cannot do it, the copies will. */
static void clear_page(const receiving *r, uint64_t first, uint64_t end) {
    uintptr_t from = (uintptr_t)r->here + begin_of_chunk(r, first);
    uintptr_t to = (uintptr_t)r->here + begin_of_chunk(r, end - 1) + size_of_chunk(r, end - 1);
    from = round_to_pages(from);
    if (to > from)
        (void)madvise((void *)from, (to - from) & ~(uintptr_t)4095, POPULATE_WRITE);
}

/* 0: there is none any more. */
static int clear_next(receiving *r) {
    uint64_t first, end;
    if (nl_atomic_load(&r->is_ready) ||
        !chunks_of_page(r, nl_atomic_add(&r->cleared, 1), &first, &end))
        return 0;
    clear_page(r, first, end);
    return 1;
}

static void clear_some(void *job) {
    while (clear_next(job))
        ;
}

static void clear_and_ask(void *job) {
    receiving *r = job;
    while (clear_next(r))
        if (nl_cu.StreamQuery(r->before) != CUDA_ERROR_NOT_READY)
            nl_atomic_store(&r->is_ready, 1);
}

/* While the stream is busy with what is to be copied, pages are made ready for it; if all are, they
 * are not new any more. What the stream says of errors is asked again by whoever waits for it. */
static void clear_ahead(receiving *r, int *members) {
    uint64_t first, end;
    if (!r->is_new || nl_cu.StreamQuery(r->before) != CUDA_ERROR_NOT_READY)
        return;
    share(*members, clear_and_ask, clear_some, r);
    if (chunks_of_page(r, r->cleared, &first, &end))
        return;
    r->is_new = 0;
    *members =
        count_members(smaller((size_t)*members, nl_atomic_load(&threads_to_host)), r->chunks);
}

/* For the first copy to the host, for which the driver makes ready for 2 ms: one member asks for
 * the first chunks, the others clear pages meanwhile. */
static void ask_first(void *job) {
    receiving *r = job;
    nl_error ignored; /* whoever goes on finds it too */
    if (nl_device_bind(r->device, &ignored) == 0)
        take_turn(r, 0);
    nl_atomic_store(&r->is_ready, 1);
}

static void fill_page(receiving *r, uint64_t first, uint64_t end) {
    clear_page(r, first, end);
    for (uint64_t k = first; k < end; k++) {
        while (k >= nl_atomic_load(&r->arrived)) {
            if (nl_atomic_load(&r->failed))
                return;
            take_turn(r, 1);
        }
        empty_slot(r, k);
        take_turn(r, 0);
    }
}

static void receive_some(void *job) {
    receiving *r = job;
    uint64_t k, end;
    nl_error err;
    if (nl_device_bind(r->device, &err) < 0 && nl_atomic_swap(&r->failed, 1) == 0)
        r->error = err;
    while (r->is_new && !nl_atomic_load(&r->failed)) {
        if (!chunks_of_page(r, nl_atomic_add(&r->taken, 1), &k, &end))
            return;
        fill_page(r, k, end);
    }
    while (!nl_atomic_load(&r->failed) && (k = nl_atomic_load(&r->taken)) < r->chunks) {
        take_turn(r, 0);
        if (k < nl_atomic_load(&r->arrived)) {
            if (nl_atomic_swap_if(&r->taken, k, k + 1))
                empty_slot(r, k);
        } else {
            take_turn(r, 1);
        }
    }
}

/* Are these pages that nobody has touched, as far as the first, the last and one between tell? */
static int is_new(const receiving *r) {
    for (int i = 0; i < 3; i++) {
        unsigned char resident = 1;
        uintptr_t place = (uintptr_t)r->here + (r->size - 1) / 2 * (uintptr_t)i;
        if (mincore((void *)(place & ~(uintptr_t)4095), 1, &resident) < 0 || (resident & 1))
            return 0;
    }
    return 1;
}

/* How many members are to empty slots. Chunks of new pages begin and end with the pages: two who
 * touch a new page at once both clear one. */
static int cut_for_host(receiving *r) {
    uint64_t threads = nl_atomic_load(&threads_to_host);
    r->is_new = r->size >= HUGE_PAGE && is_new(r);
    r->chunk = choose_chunk(MIDDLE_CHUNK, r->size / 32, SIZE_MAX);
    if (r->is_new) {
        size_t most = choose_chunk(NEW_CHUNK, NEW_CHUNK, NEW_CHUNK);
        for (r->chunk = HUGE_PAGE; r->chunk > most; r->chunk /= 2)
            ;
        r->shift = (uintptr_t)r->here & (r->chunk - 1) & ~(uintptr_t)255;
        threads = smaller(nl_atomic_load(&threads_to_new), r->size / HUGE_PAGE + 1);
    } else if (r->size < LARGE_COPY) {
        threads = between(FEW_THREADS, r->size / HUGE_PAGE, smaller(MORE_THREADS, threads));
    }
    r->chunks = (r->size + r->shift + r->chunk - 1) / r->chunk;
    r->slot_count = smaller(nl_atomic_load(&ring_size) / r->chunk, MAX_SLOTS);
    return count_members(threads, r->chunks);
}

/* What came before on the stream is waited for first: nobody spins for it, and the ring of a copy
 * to the device that was part of it is free again. (Making a second one takes 3 ms.) */
static int receive_shared(receiving *r, nl_error *err) {
    nl_host_block *block;
    nl_error ignored;
    int members = cut_for_host(r);
    if (open_marks(r->device, smaller(r->slot_count, r->chunks), &ignored) < 0)
        return 0;
    clear_ahead(r, &members);
    if (NL_CU(err, StreamSynchronize, r->before) < 0)
        return -1;
    if ((block = take_ring(r->device, members)) == NULL)
        return 0;
    r->ring = block->memory;
    if (r->is_new && members > 1 && !marks.received) {
        r->is_ready = 0;
        share(members, ask_first, clear_some, r);
    }
    marks.received = 1;
    share(members, receive_some, receive_some, r);
    if (r->failed) {
        *err = r->error;
        nl_wait_hold();
        (void)nl_cu.StreamSynchronize(marks.stream);
        nl_wait_release();
    }
    nl_hostblock_give(block);
    return r->failed ? -1 : 1;
}

int nl_bounce_receive(nl_device *dev, CUdeviceptr device, void *host, size_t size, CUstream stream,
                      nl_error *err) {
    if (!is_possible(size) || nl_bounce_is_locked(host) || !enter())
        return 0;
    receiving r = {.device = dev, .there = device, .here = host, .size = size, .before = stream};
    int done = receive_shared(&r, err);
    leave();
    return done;
}
