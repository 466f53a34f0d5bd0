/* driver/profile: the counters of one launch, which a driver that supports counting (the simulator)
 * returns to Python. */
#ifndef NL_DRIVER_PROFILE_H
#define NL_DRIVER_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* Each counter is a sum over the warps of the launch. A request is one access by one warp; `lanes`
 * is the number of participating threads, summed over all requests. */
#define NL_PROFILE_COUNTERS(X) \
    X(global_load_requests) \
    X(global_load_sectors) \
    X(global_load_bytes) \
    X(global_load_lines) \
    X(global_store_requests) \
    X(global_store_sectors) \
    X(global_store_bytes) \
    X(global_store_lines) \
    X(shared_load_requests) \
    X(shared_load_wavefronts) \
    X(shared_store_requests) \
    X(shared_store_wavefronts) \
    X(shared_load_conflicts) \
    X(shared_store_conflicts) \
    X(global_repeated_requests) \
    X(global_repeated_sectors) \
    X(global_repeated_lines) \
    X(shared_repeated_requests) \
    X(shared_repeated_wavefronts) \
    X(variable_load_requests) \
    X(global_atomic_requests) \
    X(global_atomic_lanes) \
    X(global_atomic_sectors) \
    X(global_atomic_passes) \
    X(shared_atomic_requests) \
    X(atomic_passes) \
    X(requests) \
    X(lanes) \
    X(barrier_waits) \
    X(loop_iterations) \
    X(loop_lanes)

enum {
#define NL_PROFILE_DECLARE(name) NL_PROFILE_##name,
    NL_PROFILE_COUNTERS(NL_PROFILE_DECLARE)
#undef NL_PROFILE_DECLARE
        NL_PROFILE_COUNT
};

/* The widths in bytes to which adjacent accesses in one source line may be merged: 8 and 16
 * bytes. */
enum { NL_PROFILE_WIDTHS = 2, NL_PROFILE_REUSE = 26 };
#define NL_PROFILE_WIDTH(level) (8u << (level))

/* A sample is the first access of its kind (see NL_PROFILE_SAMPLES) by a warp in a source line. The
 * profiler draws the sample's addresses. */
typedef struct nl_profile_sample {
    unsigned size; /* bytes of a lane; 0: there is none */
    uint32_t mask; /* lanes that take part */
    uint64_t address[32];
} nl_profile_sample;

/* A source line has one sample for each of four kinds of access: global loads, global stores,
 * shared loads, shared stores. */
enum { NL_PROFILE_SAMPLES = 4 };

typedef struct nl_profile_line {
    const char *file; /* name that is never freed, or "" if the line is unknown */
    int line;
    uint64_t counters[NL_PROFILE_COUNT];                   /* as written */
    uint64_t widened[NL_PROFILE_WIDTHS][NL_PROFILE_COUNT]; /* with merged accesses */
    nl_profile_sample samples[NL_PROFILE_SAMPLES];
} nl_profile_line;

/* The properties of a launch that the driver of a GPU reports. */
typedef struct nl_profile_measured {
    int is_there;
    double milliseconds;
    int registers, local_bytes, static_shared_bytes, resident_blocks; /* of a multiprocessor */
} nl_profile_measured;

typedef struct nl_profile {
    uint64_t token; /* value of nl_checks.profile in the thread that requested this profile */
    char kernel[200];
    char symbol[200]; /* mangled name in its image */
    uint64_t image;   /* checksum of the kernel's image (core/image.c) */
    unsigned grid[3], block[3];
    uint64_t shared_bytes;   /* dynamic */
    uint64_t loaded_sectors; /* number of distinct 32-byte sectors of device memory that were
                              * read */
    uint64_t stored_sectors; /* and written */
    /* Histogram of the sectors of global loads by reuse distance: the number of other 128-byte
     * cache lines that the block has loaded since it last loaded the sector's line. Entry 0 counts
     * first loads of a sector, and distances that exceed an L1 cache. Entry 1 + 2 * n counts
     * distances from 2^n - 1, entry 2 + 2 * n distances from 1.5 * 2^n - 1. */
    uint64_t reuse[NL_PROFILE_REUSE];
    nl_profile_measured measured; /* on a GPU, without counters */
    int incomplete;               /* set if the launch failed, or if memory for the counters ran
                                   * out */
    unsigned count;
    struct nl_profile *next;
    nl_profile_line lines[];
} nl_profile;

#endif
