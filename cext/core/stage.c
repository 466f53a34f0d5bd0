/* core/stage: each member of the team has two slots of page-locked memory. Down: it takes the next
 * chunk, copies it into a slot and gives the slot to the bus; while that travels it fills the
 * other. Up: it asks the bus for the next chunk, and while that travels it empties the slot before.
 * No member waits for another, so the bus has something to do all the time. The slots are a block
 * of the page-locked pool, the events stay from copy to copy. All this belongs to whoever has the
 * team. */
#include "core/stage.h"

#include <string.h>
#include "core/hostblock.h"
#include "core/team.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#define LEAST_CHUNK ((size_t)128 << 10)
#define MIDDLE_COPY ((size_t)8 << 20) /* up to here chunks are no larger than MIDDLE_CHUNK */
#define MIDDLE_CHUNK ((size_t)256 << 10)
#define SLOTS 2

/* Measured on an H200 with 16 cores: more threads do not make it faster. */
static uint64_t threads_to_device = 8, threads_to_host = 12, largest_chunk = (uint64_t)2 << 20;
static uint64_t always;

static struct { /* of the team's owner */
    nl_device *device;
    uint64_t generation;
    CUevent events[NL_TEAM_MOST * SLOTS];
    CUstream streams[NL_TEAM_MOST];
    int count, stream_count;
} marks;

typedef struct staging {
    nl_device *device;
    nl_direction direction;
    CUdeviceptr there;
    char *here, *slots;
    size_t size, chunk;
    CUstream stream;
    uint64_t next, failed;
    nl_error error; /* of the first who failed */
} staging;

static size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

nl_stage_settings nl_stage_configure(const nl_stage_settings *s) {
    if (s != NULL && s->to_device > 0)
        nl_atomic_store(&threads_to_device, smaller((size_t)s->to_device, NL_TEAM_MOST));
    if (s != NULL && s->to_host > 0)
        nl_atomic_store(&threads_to_host, smaller((size_t)s->to_host, NL_TEAM_MOST));
    if (s != NULL && s->chunk > 0)
        nl_atomic_store(&largest_chunk, s->chunk);
    if (s != NULL)
        nl_atomic_store(&always, s->always != 0);
    return (nl_stage_settings){(int)nl_atomic_load(&threads_to_device),
                               (int)nl_atomic_load(&threads_to_host),
                               nl_atomic_load(&largest_chunk), (int)nl_atomic_load(&always)};
}

int nl_stage_can_lock(size_t size) {
    return size <= nl_hostblock_limit() && (!nl_cu.shares_memory || nl_atomic_load(&always));
}

int nl_stage_is_worth(size_t size) {
    return size >= NL_STAGE_LEAST && nl_stage_can_lock(NL_STAGE_LEAST);
}

int nl_stage_is_locked(const void *host) {
    unsigned type = 0;
    return nl_cu.PointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                     (CUdeviceptr)(uintptr_t)host) == CUDA_SUCCESS &&
           (type == CU_MEMORYTYPE_HOST || type == CU_MEMORYTYPE_UNIFIED);
}

/* Past the caches: what is written is not read soon, and is not fetched before it is overwritten.
 */
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

/* --------------------------------------------------------------------------------- a member's work
 */

static void fail(staging *s, const nl_error *err) {
    if (nl_atomic_swap(&s->failed, 1) == 0)
        s->error = *err;
}

/* The next chunk: 0 when there is none, or when somebody has failed. */
static size_t next_chunk(staging *s, size_t *offset) {
    if (nl_atomic_load(&s->failed))
        return 0;
    *offset = (size_t)nl_atomic_add(&s->next, 1) * s->chunk;
    if (*offset >= s->size)
        return 0;
    return s->size - *offset < s->chunk ? s->size - *offset : s->chunk;
}

static int send_all(staging *s, char *const *slot, const CUevent *event, CUstream stream,
                    nl_error *err) {
    size_t offset, size;
    for (unsigned k = 0; (size = next_chunk(s, &offset)) > 0; k++) {
        unsigned i = k % SLOTS;
        if (k >= SLOTS && NL_CU(err, EventSynchronize, event[i]) < 0)
            return -1;
        memcpy(slot[i], s->here + offset, size);
        if (NL_CU(err, MemcpyHtoDAsync, s->there + offset, slot[i], size, stream) < 0 ||
            NL_CU(err, EventRecord, event[i], stream) < 0)
            return -1;
    }
    return NL_CU(err, StreamSynchronize, stream);
}

static int receive_all(staging *s, char *const *slot, const CUevent *event, CUstream stream,
                       nl_error *err) {
    size_t offset[SLOTS], size[SLOTS] = {0};
    for (unsigned k = 0;; k++) {
        unsigned i = k % SLOTS, before = (k + 1) % SLOTS;
        size[i] = next_chunk(s, &offset[i]);
        if (size[i] > 0 &&
            (NL_CU(err, MemcpyDtoHAsync, slot[i], s->there + offset[i], size[i], stream) < 0 ||
             NL_CU(err, EventRecord, event[i], stream) < 0))
            return -1;
        if (size[before] > 0) {
            if (NL_CU(err, EventSynchronize, event[before]) < 0)
                return -1;
            copy_past_caches(s->here + offset[before], slot[before], size[before]);
        }
        if (size[i] == 0)
            return 0;
    }
}

static void take_part(void *job, int member) {
    staging *s = job;
    nl_error err;
    char *slot[SLOTS];
    for (int i = 0; i < SLOTS; i++)
        slot[i] = s->slots + (size_t)(member * SLOTS + i) * s->chunk;
    const CUevent *event = &marks.events[member * SLOTS];
    CUstream stream = marks.streams[member];
    if (nl_device_bind(s->device, &err) < 0 ||
        (s->direction == NL_HOST_TO_DEVICE ? send_all(s, slot, event, stream, &err)
                                           : receive_all(s, slot, event, stream, &err)) < 0)
        fail(s, &err);
}

/* -------------------------------------------------------------------------------------- all of it
 */

static void drop_marks(void) {
    for (int i = 0; i < marks.count; i++)
        if (nl_device_bind_for_release(marks.device, marks.generation))
            nl_driver_report(nl_cu.EventDestroy(marks.events[i]), "cuEventDestroy");
    for (int i = 0; i < marks.stream_count; i++)
        if (nl_device_bind_for_release(marks.device, marks.generation))
            nl_driver_report(nl_cu.StreamDestroy(marks.streams[i]), "cuStreamDestroy");
    marks.count = marks.stream_count = 0;
}

static int open_marks(nl_device *dev, int members, nl_error *err) {
    uint64_t generation = nl_atomic_load(&dev->generation);
    if (marks.stream_count > 0 && (marks.device != dev || marks.generation != generation))
        drop_marks();
    marks.device = dev;
    marks.generation = generation;
    if (nl_device_bind(dev, err) < 0)
        return -1;
    for (; marks.stream_count < members; marks.stream_count++)
        if (NL_CU(err, StreamCreateWithPriority, &marks.streams[marks.stream_count],
                  CU_STREAM_NON_BLOCKING, 0) < 0)
            return -1;
    for (; marks.count < members * SLOTS; marks.count++)
        if (NL_CU(err, EventCreate, &marks.events[marks.count], CU_EVENT_DISABLE_TIMING) < 0)
            return -1;
    return 0;
}

/* Chunks small enough for everybody to have two, and no more members than there are chunks.
 * *slots_size is one of two for all copies, so that page-locked memory of no more sizes is needed.
 */
static int divide(staging *s, size_t *slots_size) {
    size_t down = nl_atomic_load(&threads_to_device), up = nl_atomic_load(&threads_to_host);
    size_t processors = (size_t)nl_team_processors();
    size_t most = smaller(s->direction == NL_HOST_TO_DEVICE ? down : up, processors);
    size_t largest = nl_atomic_load(&largest_chunk);
    if (s->size <= MIDDLE_COPY)
        largest = smaller(largest, MIDDLE_CHUNK);
    s->chunk = (s->size / (most * SLOTS) + 4095) & ~(size_t)4095;
    if (s->chunk < LEAST_CHUNK)
        s->chunk = LEAST_CHUNK;
    s->chunk = smaller(s->chunk, largest);
    *slots_size = smaller(down > up ? down : up, processors) * SLOTS * largest;
    return (int)smaller((s->size + s->chunk - 1) / s->chunk, most);
}

/* What came before on the stream is waited for here, where nobody spins for it. */
static int copy_with_team(staging *s, nl_error *err) {
    size_t slots_size;
    int members = divide(s, &slots_size);
    nl_host_block *block = NULL;
    if (!nl_stage_can_lock(slots_size) || open_marks(s->device, members, err) < 0 ||
        nl_hostblock_take(s->device, slots_size, NL_HOST_LOCKED, 0, &block, err) < 0)
        return 0;
    int status = NL_CU(err, StreamSynchronize, s->stream);
    if (status == 0) {
        s->slots = block->memory;
        nl_team_run(members, take_part, s);
        if (s->failed) {
            *err = s->error;
            status = -1;
            for (int i = 0; i < members; i++)
                (void)nl_cu.StreamSynchronize(marks.streams[i]);
        }
    }
    nl_hostblock_give(block);
    return status < 0 ? -1 : 1;
}

int nl_stage_copy(nl_device *dev, nl_direction direction, CUdeviceptr device, void *host,
                  size_t size, CUstream stream, nl_error *err) {
    staging s = {.device = dev,
                 .direction = direction,
                 .there = device,
                 .here = host,
                 .size = size,
                 .stream = stream};
    if (!nl_stage_is_worth(size) || nl_stage_is_locked(host) || !nl_team_enter())
        return 0;
    int done = copy_with_team(&s, err);
    nl_team_leave();
    return done;
}
