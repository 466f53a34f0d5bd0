/* sim/check: what a kernel's unit of an image that looks for mistakes has of it. The functions that the
 * compiler's instrumentation calls are a unit of their own (hooks.h); irpatch.py puts calls of those at the
 * end of this file into the kernel's. */
#ifndef NUMBALITE_SIM_CHECK_H
#define NUMBALITE_SIM_CHECK_H

#include "checker.h"

namespace numbalite_sim {

/* numbalite/compilers/sim/translation.py puts a call of `drop_value` before an atomicExch whose value nobody asks
 * for: it only writes. */
NUMBALITE_SIM_OWN void drop_value() {
    value_is_dropped = true;
}

NUMBALITE_SIM_OWN void asynccopy::tell(unsigned step, const void *to, const void *from, unsigned long long size,
                                       const void *barrier, unsigned groups, bool bulk) {
    nl_sim_copying what = {static_cast<nl_sim_copy_step>(step), to, from, size, barrier, groups, bulk};
    if (checker->copying)
        checker->copying(&what, __builtin_return_address(0));
}

} // namespace numbalite_sim

/* irpatch.py calls this before a bit-field is written, which reads its neighbours too. */
NUMBALITE_SIM_HOOK inline void nl_sim_write_field(void *p, unsigned long size) {
    numbalite_sim::check_rarely(p, size, NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_RANGE | NL_SIM_ACCESS_UNTOLD,
                                NUMBALITE_SIM_PC);
}

/* The same before a struct is copied, which nobody else looks at. `align`: a power of two. */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_misaligned(void *address, unsigned align,
                                                                              int kind);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_aligned(void *address, unsigned align, int kind) {
    if (__builtin_expect((reinterpret_cast<unsigned long>(address) & (align - 1)) != 0, 0))
        nl_sim_report_misaligned(address, align, kind);
}

/* After a signed division whose quotient may not fit. */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_overflow();
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_quotient_overflow(bool overflows) {
    if (__builtin_expect(overflows, 0))
        nl_sim_report_overflow();
}

/* After a sum, difference or product of `bits` bits on the way to an index. */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_index(long a, long b, int operation, int bits);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_index_overflow(bool overflows, long a, long b, int operation, int bits) {
    if (__builtin_expect(overflows, 0))
        nl_sim_report_index(a, b, operation, bits);
}

/* After floating-point operations. operation: '+', '-', '*', '/', '%', 'f' for a function, or 'h' where a half
 * is made of a number. Those of one number get it twice. */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_not_finite(double result, double a, double b,
                                                                              int operation);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_not_finite(double result, double a, double b, int operation) {
    if (__builtin_expect(!__builtin_isfinite(result), 0) && __builtin_isfinite(a) &&
        __builtin_isfinite(b))
        nl_sim_report_not_finite(result, a, b, operation);
}

#endif
