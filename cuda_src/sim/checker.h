/* sim/checker: declarations that both units of a checked image share: the kernel's unit, which
 * defines them (exports.h), and the unit of functions that instrumented code calls (hooks.h). */
#ifndef NUMBALITE_SIM_CHECKER_H
#define NUMBALITE_SIM_CHECKER_H

#define NUMBALITE_SIM_HOOK \
    extern "C" NUMBALITE_SIM_UNCHECKED __attribute__((visibility("hidden"), used, noinline))
#define NUMBALITE_SIM_PC __builtin_return_address(0)
#define NUMBALITE_SIM_SHARED extern __attribute__((visibility("hidden")))

namespace numbalite_sim {

NUMBALITE_SIM_SHARED const nl_sim_checker *checker;
NUMBALITE_SIM_SHARED long counting_offset; /* nl_sim_checker.counting */
/* Flags for the thread's next atomic operation: the old value is not used (check.h); the operation,
 * or the next fence, has block scope (thread.h). */
NUMBALITE_SIM_SHARED __thread bool value_is_dropped;
NUMBALITE_SIM_SHARED __thread bool is_narrow;
NUMBALITE_SIM_SHARED __thread bool is_update; /* atomics.h */
/* The operation that a load and a compare-and-swap implement, if its old value is not used
 * (nl_sim_operation). */
NUMBALITE_SIM_SHARED __thread unsigned operation;

/* Lets other threads run, so that a thread that waits in a loop does not block them. */
NUMBALITE_SIM_SHARED void let_others_run();

static inline NUMBALITE_SIM_UNCHECKED bool pop_value_is_dropped() {
    bool drops = value_is_dropped;
    value_is_dropped = false;
    return drops;
}

/* Checks accesses that the shadow memory does not clearly allow, and for rare kinds of accesses. */
static NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) void
check_rarely(const volatile void *address, unsigned long long size, unsigned kind, const void *pc) {
    while (checker->access(const_cast<void *>(address), size, kind, pc))
        let_others_run();
}

} // namespace numbalite_sim

#endif
