/* sim/check/request: computes the cost of one request, which is an access of a warp to memory:
 * distinct sectors of 32 bytes, passes over the 32 banks, lanes with equal addresses. */
#ifndef NL_SIM_CHECK_REQUEST_H
#define NL_SIM_CHECK_REQUEST_H

#include <stdint.h>
#include "driver/profile.h"
#include "sim/debuginfo/lines.h"

enum { NL_SIM_REQUEST_LANES = 32 };

typedef enum nl_sim_request_space {
    NL_SIM_REQUEST_GLOBAL,
    NL_SIM_REQUEST_SHARED,
    NL_SIM_REQUEST_VARIABLE,
    NL_SIM_REQUEST_LOOP, /* the begin of a loop iteration, not an access */
} nl_sim_request_space;
typedef enum nl_sim_request_kind {
    NL_SIM_REQUEST_LOAD,
    NL_SIM_REQUEST_STORE,
    NL_SIM_REQUEST_ATOMIC,
} nl_sim_request_kind;

/* One instruction and the address space that it accessed. */
typedef struct nl_sim_request_site {
    const void *pc;
    nl_sim_site place; /* position in the user's source; file is NULL if the position is not
                        * available */
    uint32_t line;     /* a number that all sites of a source line share */
    unsigned size;     /* bytes per lane */
    nl_sim_request_space space;
    nl_sim_request_kind kind;
    uint64_t counters[NL_PROFILE_COUNT];
    uint64_t widened[NL_PROFILE_WIDTHS][NL_PROFILE_COUNT]; /* minus counters, modulo 2^64 */
    nl_profile_sample sample; /* the sample of the first request with the most lanes */
} nl_sim_request_site;

typedef struct nl_sim_request {
    uint64_t iteration;
    const void *pc;  /* of its site */
    uint32_t traits; /* bits of nl_sim_request_traits */
    uint32_t site, number, mask;
    int is_consecutive; /* after the end of the trace: nl_sim_request_is_consecutive */
    uintptr_t address[NL_SIM_REQUEST_LANES];
} nl_sim_request;

/* Returns a number that is equal for requests of equal size, address space and kind. */
static inline uint32_t nl_sim_request_traits(unsigned size, nl_sim_request_space space,
                                             nl_sim_request_kind kind) {
    return size * 16 + space * 4 + kind;
}

/* Returns whether all 32 lanes access consecutive elements. */
static inline int nl_sim_request_is_consecutive(const uintptr_t *address, uint32_t mask,
                                                unsigned size) {
    uintptr_t differences = 0, even = address[0], odd = even + size;
    if (mask != UINT32_MAX || address[1] != odd)
        return 0;
    for (unsigned i = 2; i < NL_SIM_REQUEST_LANES; i += 2) {
        even += 2 * size;
        odd += 2 * size;
        differences |= (address[i] ^ even) | (address[i + 1] ^ odd);
    }
    return differences == 0;
}

/* Returns the number of set bits, without the call that __builtin_popcount makes on x86-64. */
static inline unsigned nl_sim_request_count_bits(uint64_t bits) {
    bits -= bits >> 1 & UINT64_C(0x5555555555555555);
    bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
    bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)(bits * UINT64_C(0x0101010101010101) >> 56);
}

/* Adds the counters of one request to `counters`. `mask` contains the participating lanes. */
void nl_sim_request_add_counters(const uintptr_t *address, uint32_t mask, unsigned size,
                                 nl_sim_request_space space, nl_sim_request_kind kind,
                                 uint64_t *counters);

/* Adds the counters of a consecutive load or store of global memory to `counters`. */
void nl_sim_request_add_consecutive(uintptr_t address, unsigned size, int is_store,
                                    uint64_t *counters);

#endif
