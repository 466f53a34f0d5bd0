/* sim/arithmetic: reports arithmetic errors in images that are compiled with arithmetic checks:
 * integer division by zero, quotients that overflow, NaN and infinity from finite numbers.
 *
 * The host compiler reports divisions by calling the function of its own sanitizer, with the source
 * position. irpatch.py inserts calls after floating-point operations, and before divisions that may
 * overflow, which clang++ does not report; the position of these operations is found by the return
 * address. */
#ifndef NUMBALITE_SIM_ARITHMETIC_H
#define NUMBALITE_SIM_ARITHMETIC_H

#define NUMBALITE_SIM_ARITHMETIC \
    extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED

namespace numbalite_sim {

/* The layouts of the structs that the compiler passes to the sanitizer's functions. */
struct division_type {
    unsigned short kind; /* 0: an integer, 1: a floating-point number */
    unsigned short info; /* for integers: bit 0 is set if the type is signed; the other bits are the
                          * logarithm of the width */
};
struct division_place {
    const char *file;
    unsigned line, column;
    const division_type *type;
};

/* Converts an operand to a long long; the compiler passes an integer of at most 64 bits by value,
 * zero-extended. */
NUMBALITE_SIM_INLINE long long extended(const division_type *type, unsigned long value) {
    unsigned shift = 64 - (1u << (type->info >> 1));
    if (type->info >> 1 > 6)
        return 0;
    return type->info & 1 ? static_cast<long long>(value << shift) >> shift
                          : static_cast<long long>(value);
}

} // namespace numbalite_sim

NUMBALITE_SIM_ARITHMETIC void
nl_sim_division(const numbalite_sim::division_place *place, unsigned long dividend,
                unsigned long divisor) __asm__("__ubsan_handle_divrem_overflow");
NUMBALITE_SIM_ARITHMETIC void nl_sim_division(const numbalite_sim::division_place *place,
                                              unsigned long dividend, unsigned long divisor) {
    nl_sim_arithmetic what = {};
    what.file = place->file;
    what.line = static_cast<int>(place->line);
    if (place->type->kind == 0 && place->type->info >> 1 <= 6) {
        what.kind = divisor ? NL_SIM_ARITHMETIC_OVERFLOW : NL_SIM_ARITHMETIC_ZERO;
        what.dividend = numbalite_sim::extended(place->type, dividend);
        what.is_signed = place->type->info & 1;
    } else {
        what.kind = place->type->kind == 0 ? NL_SIM_ARITHMETIC_ZERO : NL_SIM_ARITHMETIC_FLOAT_ZERO;
        what.unknown = true;
    }
    numbalite_sim::checker->arithmetic(&what, __builtin_return_address(0));
}

/* Reports an error that check.h has detected. */
NUMBALITE_SIM_ARITHMETIC void nl_sim_report_overflow() {
    nl_sim_arithmetic what = {};
    what.kind = NL_SIM_ARITHMETIC_OVERFLOW;
    what.unknown = true;
    numbalite_sim::checker->arithmetic(&what, __builtin_return_address(0));
}

NUMBALITE_SIM_ARITHMETIC void nl_sim_report_index(long a, long b, int operation, int bits) {
    nl_sim_arithmetic what = {};
    what.kind = NL_SIM_ARITHMETIC_INDEX;
    what.operation = static_cast<char>(operation);
    what.dividend = a;
    what.divisor = b;
    what.bits = static_cast<unsigned char>(bits);
    numbalite_sim::checker->arithmetic(&what, __builtin_return_address(0));
}

NUMBALITE_SIM_ARITHMETIC void nl_sim_report_not_finite(double result, double a, double b,
                                                       int operation) {
    nl_sim_arithmetic what = {};
    what.kind = NL_SIM_ARITHMETIC_NOT_FINITE;
    what.operation = static_cast<char>(operation);
    what.result = result;
    what.a = a;
    what.b = b;
    numbalite_sim::checker->arithmetic(&what, __builtin_return_address(0));
}

#endif
