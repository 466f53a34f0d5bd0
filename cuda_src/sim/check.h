/* sim/check: the functions of the checks that are compiled with the kernel, in its compilation unit
 * of an instrumented image. The functions that the compiler's instrumentation calls are in a
 * separate unit (hooks.h). irpatch.py inserts calls of the functions at the end of this file into
 * the kernel's code. */
#ifndef NUMBALITE_SIM_CHECK_H
#define NUMBALITE_SIM_CHECK_H

#include "checker.h"

namespace numbalite_sim {

/* For g++, numbalite/compilers/sim/translation.py inserts a call of `drop_value` before an
 * atomicExch whose result is not used, so that it counts only as a write. */
NUMBALITE_SIM_OWN void drop_value() {
    value_is_dropped = true;
}

NUMBALITE_SIM_OWN void asynccopy::report_step(unsigned step, const void *to, const void *from,
                                       unsigned long long size, const void *barrier,
                                       unsigned groups, bool bulk) {
    nl_sim_copying what = {
        static_cast<nl_sim_copy_step>(step), to, from, size, barrier, groups, bulk};
    if (checker->copying)
        checker->copying(&what, __builtin_return_address(0));
}

NUMBALITE_SIM_OWN int phases::report_step(unsigned step, const void *barrier, unsigned phase,
                                   unsigned value, bool is_over, bool blocks) {
    nl_sim_phase what = {
        static_cast<nl_sim_phase_step>(step), barrier, phase, value, is_over, blocks};
    return checker->phase ? checker->phase(&what, __builtin_return_address(0)) : is_over;
}

} // namespace numbalite_sim

/* irpatch.py inserts a call of this function before a call of an atomic function whose result is
 * not used. */
NUMBALITE_SIM_HOOK inline void nl_sim_drop_value() {
    numbalite_sim::value_is_dropped = true;
}

/* irpatch.py inserts a call of this function before a write to a bit-field, which also reads
 * neighbouring bits. */
NUMBALITE_SIM_HOOK inline void nl_sim_write_field(void *p, unsigned long size) {
    numbalite_sim::check_rarely(p, size,
                                NL_SIM_ACCESS_WRITE | NL_SIM_ACCESS_RANGE | NL_SIM_ACCESS_UNTOLD,
                                NUMBALITE_SIM_PC);
}

/* irpatch.py inserts a call of this function before the copy of a struct, whose alignment no other
 * check covers. `align`: the required alignment, a power of two. */
extern "C" __attribute__((visibility("hidden"))) void
nl_sim_report_misaligned(void *address, unsigned align, int kind);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_aligned(void *address, unsigned align, int kind) {
    if (__builtin_expect((reinterpret_cast<unsigned long>(address) & (align - 1)) != 0, 0))
        nl_sim_report_misaligned(address, align, kind);
}

/* irpatch.py inserts a call of this function after a signed division whose quotient may overflow.
 * */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_overflow();
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_quotient_overflow(bool overflows) {
    if (__builtin_expect(overflows, 0))
        nl_sim_report_overflow();
}

/* irpatch.py inserts a call of this function after a sum, difference or product of `bits` bits that
 * is used in an index. */
extern "C" __attribute__((visibility("hidden"))) void nl_sim_report_index(long a, long b,
                                                                          int operation, int bits);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_index_overflow(bool overflows, long a, long b, int operation, int bits) {
    if (__builtin_expect(overflows, 0))
        nl_sim_report_index(a, b, operation, bits);
}

/* irpatch.py inserts a call of this function after floating-point operations. operation: '+', '-',
 * '*', '/', '%', 'f' for a function, or 'h' for a conversion to float16. Operations with one
 * operand pass it twice. */
extern "C" __attribute__((visibility("hidden"))) void
nl_sim_report_not_finite(double result, double a, double b, int operation);
extern "C" __attribute__((visibility("hidden"), used)) inline void
nl_sim_not_finite(double result, double a, double b, int operation) {
    if (__builtin_expect(!__builtin_isfinite(result), 0) && __builtin_isfinite(a) &&
        __builtin_isfinite(b))
        nl_sim_report_not_finite(result, a, b, operation);
}

#endif
