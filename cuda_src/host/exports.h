/* host/exports: creates the table that the runtime requires from an image (abi.h). Include
 * host/exports.h before the user's source, and use its macros after the source, like those of
 * sim/exports.h.
 *
 *   NUMBALITE_HOST_TABLE_BEGIN
 *   NUMBALITE_HOST_ENTRY("nl_loop", &nl_loop)
 *   NUMBALITE_HOST_TABLE_END
 *   NUMBALITE_SIM_DESCRIBE(0, some_type)          stores the type's name in the image. */
#ifndef NUMBALITE_HOST_EXPORTS_H
#define NUMBALITE_HOST_EXPORTS_H

#define NUMBALITE_SIM_EXPORT extern "C" __attribute__((__visibility__("default"), __used__))

namespace numbalite_sim {

static void nl_host_init(const nl_host_ops *table) {
    ops = table;
}

/* The types in a function's description: only the parameters if the function returns nothing. */
template <class F> struct described { typedef int type; };
#ifdef NUMBALITE_DESCRIBE_CUH
template <class F> struct described<F *> { typedef numbalite::nl_description::signature<> type; };
template <class... A> struct described<void (*)(A...)> {
    typedef numbalite::nl_kernel_description<void (*)(A...)> type;
};
#endif

/* The compiler's spelling of T, extracted from the name of this function. */
template <int index, class T> constexpr const char *NLDESC() {
    return __PRETTY_FUNCTION__;
}

template <class F> using nl_described = typename described<F>::type;

} // namespace numbalite_sim

#define NUMBALITE_HOST_TABLE_BEGIN \
    namespace numbalite_sim { \
    static const nl_host_entry nl_host_entries[] = {
#define NUMBALITE_HOST_ENTRY(nl_text, ...) {nl_text, (void *)(__VA_ARGS__)},
#define NUMBALITE_HOST_TABLE_END \
    { 0, 0 } \
    } \
    ; \
    } \
    NUMBALITE_SIM_EXPORT const nl_host_image nl_host_image_table = { \
        NL_HOST_ABI, sizeof(numbalite_sim::nl_host_entries) / sizeof(nl_host_entry) - 1, \
        numbalite_sim::nl_host_entries, numbalite_sim::nl_host_init};
#define NUMBALITE_SIM_DESCRIBE(nl_i, ...) \
    NUMBALITE_SIM_EXPORT const char *const nl_sim_description_##nl_i = \
        numbalite_sim::NLDESC<nl_i, __VA_ARGS__>();

#endif
