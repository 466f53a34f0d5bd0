/* sim/check/request: computes the cost of a warp's access from the addresses of its lanes. */
#include "sim/check/request.h"

enum { LANES = NL_SIM_REQUEST_LANES, SECTOR = 32, LINE = 128, BANKS = 32, BANK_BYTES = 4 };

/* Returns the number of distinct aligned units of `unit` bytes that the lanes access. Inlined, so
 * that `unit` is a constant and divisions are shifts. */
static inline __attribute__((always_inline)) uint64_t
count_units(const uintptr_t *address, uint32_t mask, unsigned size, unsigned unit) {
    uintptr_t seen[LANES * 4], highest = 0;
    unsigned count = 0;
    for (; mask; mask &= mask - 1) {
        uintptr_t at = address[__builtin_ctz(mask)];
        for (uintptr_t s = at / unit; s <= (at + size - 1) / unit; s++) {
            unsigned i = s > highest ? 0 : count;
            while (i > 0 && seen[i - 1] != s)
                i--;
            if (i > 0 || count == LANES * 4)
                continue;
            seen[count++] = s;
            highest = s > highest ? s : highest;
        }
    }
    return count;
}

/* Returns the number of lanes in one pass: a pass transfers at most 128 bytes, such as 32 lanes of
 * 4 bytes. */
static unsigned lanes_per_pass(unsigned size) {
    return size <= 4 ? LANES : size <= 8 ? LANES / 2 : LANES / 4;
}

/* Returns whether all pairs of lanes whose numbers differ only in a given bit have equal
 * addresses. */
static int are_pairs_equal(const uintptr_t *address, uint32_t mask, unsigned bit) {
    for (unsigned i = 0; i < LANES; i++) {
        unsigned other = i ^ bit;
        if (mask >> i & mask >> other & 1 && address[i] != address[other])
            return 0;
    }
    return 1;
}

/* For loads of 8 and 16 bytes: if all pairs of neighbours (or all pairs with a distance of two)
 * have equal addresses, one pass serves twice as many lanes
 * (https://forums.developer.nvidia.com/t/unexpected-shared-memory-bank-conflict/77228). */
static unsigned lanes_per_load_pass(const uintptr_t *address, uint32_t mask, unsigned size) {
    unsigned lanes = lanes_per_pass(size);
    int is_packed =
        lanes < LANES && (are_pairs_equal(address, mask, 1) || are_pairs_equal(address, mask, 2));
    return is_packed ? 2 * lanes : lanes;
}

static unsigned count_pass_wavefronts(const uintptr_t *address, uint32_t mask, unsigned size) {
    /* 32-bit addresses suffice, because all accessed words are in one block's shared memory */
    uint32_t words[BANKS][LANES];
    unsigned counts[BANKS] = {0}, most = 0;
    for (; mask; mask &= mask - 1) {
        uintptr_t at = address[__builtin_ctz(mask)];
        for (uintptr_t word = at / BANK_BYTES; word <= (at + size - 1) / BANK_BYTES; word++) {
            unsigned bank = (unsigned)(word % BANKS), i = 0;
            while (i < counts[bank] && words[bank][i] != (uint32_t)word)
                i++;
            if (i < counts[bank] || i == LANES)
                continue;
            words[bank][counts[bank]++] = (uint32_t)word;
            if (counts[bank] > most)
                most = counts[bank];
        }
    }
    return most;
}

/* Returns the number of passes, and sets *least to the number that would be needed without bank
 * conflicts. */
static uint64_t count_wavefronts(const uintptr_t *address, uint32_t mask, unsigned size,
                                 int is_store, uint64_t *least) {
    if (address[0] % size == 0 && nl_sim_request_is_consecutive(address, mask, size))
        return *least = LANES / lanes_per_pass(size);
    unsigned lanes = is_store ? lanes_per_pass(size) : lanes_per_load_pass(address, mask, size);
    uint32_t part = lanes == LANES ? UINT32_MAX : (1u << lanes) - 1;
    uint64_t count = 0;
    *least = 0;
    for (unsigned first = 0; first < LANES; first += lanes) {
        uint32_t set = mask & part << first;
        if (!set)
            continue;
        count += count_pass_wavefronts(address, set, size);
        *least += 1;
    }
    return count;
}

/* Returns the largest number of lanes with equal addresses. */
static unsigned max_equal_addresses(const uintptr_t *address, uint32_t mask) {
    unsigned most = 0;
    while (mask) {
        uintptr_t at = address[__builtin_ctz(mask)];
        unsigned equal = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            unsigned i = (unsigned)__builtin_ctz(rest);
            if (address[i] == at) {
                equal++;
                mask &= ~(1u << i);
            }
        }
        most = equal > most ? equal : most;
    }
    return most;
}

/* Counts atomics: the atomic unit updates distinct elements of a sector simultaneously, and equal
 * elements one after another. */
static void count_atomic_request(const uintptr_t *address, uint32_t mask, uint64_t *c) {
    c[NL_PROFILE_global_atomic_requests]++;
    c[NL_PROFILE_global_atomic_lanes] += nl_sim_request_count_bits(mask);
    while (mask) {
        uintptr_t sector = address[__builtin_ctz(mask)] / SECTOR;
        uint32_t inside = 0;
        for (uint32_t rest = mask; rest; rest &= rest - 1) {
            if (address[__builtin_ctz(rest)] / SECTOR == sector)
                inside |= rest & -rest;
        }
        mask &= ~inside;
        c[NL_PROFILE_global_atomic_sectors]++;
        c[NL_PROFILE_global_atomic_passes] += max_equal_addresses(address, inside);
    }
}

static void add_global_request(int is_store, uint64_t sectors, uint64_t lines, uint64_t bytes,
                               uint64_t *c) {
    c[is_store ? NL_PROFILE_global_store_requests : NL_PROFILE_global_load_requests]++;
    c[is_store ? NL_PROFILE_global_store_sectors : NL_PROFILE_global_load_sectors] += sectors;
    c[is_store ? NL_PROFILE_global_store_lines : NL_PROFILE_global_load_lines] += lines;
    c[is_store ? NL_PROFILE_global_store_bytes : NL_PROFILE_global_load_bytes] += bytes;
}

static void add_consecutive_request(uintptr_t address, unsigned size, int is_store, uint64_t *c) {
    uint64_t bytes = (uint64_t)LANES * size;
    uintptr_t last = address + bytes - 1;
    add_global_request(is_store, last / SECTOR - address / SECTOR + 1,
                       last / LINE - address / LINE + 1, bytes, c);
}

static void count_global_request(const uintptr_t *address, uint32_t mask, unsigned size,
                                 int is_store, uint64_t *c) {
    if (nl_sim_request_is_consecutive(address, mask, size)) {
        add_consecutive_request(address[0], size, is_store, c);
        return;
    }
    add_global_request(is_store, count_units(address, mask, size, SECTOR),
                       count_units(address, mask, size, LINE),
                       (uint64_t)nl_sim_request_count_bits(mask) * size, c);
}

void nl_sim_request_add_consecutive(uintptr_t address, unsigned size, int is_store, uint64_t *c) {
    c[NL_PROFILE_requests]++;
    c[NL_PROFILE_lanes] += LANES;
    add_consecutive_request(address, size, is_store, c);
}

static void count_shared_request(const uintptr_t *address, uint32_t mask, unsigned size,
                                 int is_store, uint64_t *c) {
    uint64_t least, wavefronts = count_wavefronts(address, mask, size, is_store, &least);
    c[is_store ? NL_PROFILE_shared_store_requests : NL_PROFILE_shared_load_requests]++;
    c[is_store ? NL_PROFILE_shared_store_wavefronts : NL_PROFILE_shared_load_wavefronts] +=
        wavefronts;
    c[is_store ? NL_PROFILE_shared_store_conflicts : NL_PROFILE_shared_load_conflicts] +=
        wavefronts - least;
}

void nl_sim_request_add_counters(const uintptr_t *address, uint32_t mask, unsigned size,
                                 nl_sim_request_space space, nl_sim_request_kind kind,
                                 uint64_t *c) {
    if (space == NL_SIM_REQUEST_LOOP) {
        c[NL_PROFILE_loop_iterations]++;
        c[NL_PROFILE_loop_lanes] += nl_sim_request_count_bits(mask);
        return;
    }
    c[NL_PROFILE_requests]++;
    c[NL_PROFILE_lanes] += nl_sim_request_count_bits(mask);
    if (kind == NL_SIM_REQUEST_ATOMIC) {
        c[NL_PROFILE_atomic_passes] += max_equal_addresses(address, mask);
        if (space == NL_SIM_REQUEST_SHARED)
            c[NL_PROFILE_shared_atomic_requests]++;
        else
            count_atomic_request(address, mask, c);
        return;
    }
    int is_store = kind == NL_SIM_REQUEST_STORE;
    switch (space) {
    case NL_SIM_REQUEST_GLOBAL:
        count_global_request(address, mask, size, is_store, c);
        break;
    case NL_SIM_REQUEST_SHARED:
        count_shared_request(address, mask, size, is_store, c);
        break;
    case NL_SIM_REQUEST_LOOP:
        break;
    case NL_SIM_REQUEST_VARIABLE:
        c[NL_PROFILE_variable_load_requests]++;
        break;
    }
}
