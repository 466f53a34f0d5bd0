/* sim/checker: what the two units of an image that looks for mistakes share: the kernel's, which defines it
 * (exports.h), and the functions that instrumented code calls (hooks.h). */
#ifndef NUMBALITE_SIM_CHECKER_H
#define NUMBALITE_SIM_CHECKER_H

#define NUMBALITE_SIM_HOOK \
    extern "C" NUMBALITE_SIM_UNCHECKED __attribute__((visibility("hidden"), used, noinline))
#define NUMBALITE_SIM_PC __builtin_return_address(0)
#define NUMBALITE_SIM_SHARED extern __attribute__((visibility("hidden")))

namespace numbalite_sim {

NUMBALITE_SIM_SHARED const nl_sim_checker *checker;
/* Of the thread's next atomic operation: nobody asks for the old value (check.h); it is for the block alone
 * (atomics.h). */
NUMBALITE_SIM_SHARED __thread bool value_is_dropped;
NUMBALITE_SIM_SHARED __thread bool is_narrow;
NUMBALITE_SIM_SHARED __thread bool is_update; /* atomics.h */

/* A thread that waits for another in a loop must not keep it from running. */
NUMBALITE_SIM_SHARED void let_others_run();

static inline NUMBALITE_SIM_UNCHECKED bool take_dropped() {
    bool drops = value_is_dropped;
    value_is_dropped = false;
    return drops;
}

/* What the shadow does not plainly allow, and all that is rare. */
static NUMBALITE_SIM_UNCHECKED __attribute__((noinline)) void
check_rarely(const volatile void *address, unsigned long long size, unsigned kind, const void *pc) {
    while (checker->access(const_cast<void *>(address), size, kind, pc))
        let_others_run();
}

} // namespace numbalite_sim

#endif
