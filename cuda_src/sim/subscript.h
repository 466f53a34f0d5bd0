/* sim/subscript: checks indices of arrays whose size is a compile-time constant. Instrumented
 * images check each such index, and call the function of the compiler's own sanitizer, which this
 * header implements. No other check covers arrays on a thread's stack and variables of the
 * module. */
#ifndef NUMBALITE_SIM_SUBSCRIPT_H
#define NUMBALITE_SIM_SUBSCRIPT_H

namespace numbalite_sim {

/* The data that the compiler passes to the sanitizer's functions. */
struct subscript_type {
    unsigned short kind; /* 0: an integer */
    unsigned short info; /* for integers: bit 0 is set if the type is signed; the other bits are the
                          * logarithm of the width */
    char name[1];        /* type name in quotes; extends past the end of the struct */
};
struct subscript_place {
    const char *file;
    unsigned line, column;
    const subscript_type *array, *index;
};

} // namespace numbalite_sim

extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_subscript_fails(const numbalite_sim::subscript_place *place,
                       unsigned long index) __asm__("__ubsan_handle_out_of_bounds");
extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_subscript_fails(const numbalite_sim::subscript_place *place, unsigned long index) {
    unsigned width = 1u << (place->index->info >> 1), shift = width < 64 ? 64 - width : 0;
    long long value = static_cast<long long>(index);
    if (place->index->info & 1)
        value = static_cast<long long>(index << shift) >> shift;
    numbalite_sim::checker->subscript(place->array->name, value,
                                      nl_sim_site{place->file, static_cast<int>(place->line)},
                                      place->column, __builtin_return_address(0));
}

/* Reports a pointer that is misaligned for its type. */
namespace numbalite_sim {
struct mismatch_place {
    const char *file;
    unsigned line, column;
    const subscript_type *type;
    unsigned char log_alignment, kind;
};
} // namespace numbalite_sim

extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_alignment_fails(const numbalite_sim::mismatch_place *place,
                       unsigned long address) __asm__("__ubsan_handle_type_mismatch_v1");
extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_alignment_fails(const numbalite_sim::mismatch_place *place, unsigned long address) {
    numbalite_sim::checker->misaligned(reinterpret_cast<void *>(address),
                                       1u << place->log_alignment, place->kind,
                                       __builtin_return_address(0));
}

/* Reports a pointer that is not aligned as __builtin_assume_aligned promises. */
extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_assumption_fails(const void *place, unsigned long address, unsigned long align,
                        unsigned long offset) __asm__("__ubsan_handle_alignment_assumption");
extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_assumption_fails(const void *, unsigned long address, unsigned long align,
                        unsigned long offset) {
    numbalite_sim::checker->misaligned(reinterpret_cast<void *>(address - offset),
                                       static_cast<unsigned>(align), NL_SIM_ASSUMED_ALIGNMENT,
                                       __builtin_return_address(0));
}

extern "C" __attribute__((visibility("hidden"), used, noinline, cold)) NUMBALITE_SIM_UNCHECKED void
nl_sim_report_misaligned(void *address, unsigned align, int kind) {
    numbalite_sim::checker->misaligned(address, align, kind, __builtin_return_address(0));
}

#endif
