/* sim/check/flags: records which thread has written the flag that a thread has read. Only hints in
 * reports use these records: if a thread has read a flag that another thread wrote by an atomic or
 * volatile access, and other accesses of these threads race, then fences around the flag are
 * missing. */
#ifndef NL_SIM_CHECK_FLAGS_H
#define NL_SIM_CHECK_FLAGS_H

#include <stdint.h>

/* A thread of the launch. */
typedef struct nl_sim_flag_thread {
    uint64_t block;
    uint32_t thread;
    int exists;
} nl_sim_flag_thread;

/* The last writers, in a hash table by address: a newer address replaces an older one. */
enum { NL_SIM_FLAGS = 64 };
typedef struct nl_sim_flags {
    uintptr_t address[NL_SIM_FLAGS];
    nl_sim_flag_thread writer[NL_SIM_FLAGS];
} nl_sim_flags;

static inline int nl_sim_flag_is_of_thread(nl_sim_flag_thread t, uint64_t block, uint32_t thread) {
    return t.exists && t.block == block && t.thread == thread;
}

/* Must be called for each atomic or volatile access of `me`. `seen` is the writer of the flag that
 * the thread has read last. */
static inline void nl_sim_flags_record_access(nl_sim_flags *flags, nl_sim_flag_thread *seen,
                                              nl_sim_flag_thread me, uintptr_t address,
                                              int writes) {
    unsigned at = (unsigned)(address / 4 % NL_SIM_FLAGS);
    nl_sim_flag_thread *writer = &flags->writer[at];
    if (flags->address[at] == address && writer->exists &&
        !nl_sim_flag_is_of_thread(*writer, me.block, me.thread))
        *seen = *writer;
    if (writes) {
        flags->address[at] = address;
        *writer = me;
    }
}

#endif
