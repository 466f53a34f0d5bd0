/* host/check: replaces numbalite/check.cuh on CPU targets: with debug=True array indices are
 * checked, and a failed check or assert ends the call with a message (`fault`, abi.h). */
#ifndef NUMBALITE_HOST_CHECK_H
#define NUMBALITE_HOST_CHECK_H

#include "numbalite/checked.cuh"

extern "C" int nl_host_snprintf(char *, size_t, const char *, ...) __asm__("snprintf");

namespace numbalite {
namespace nl_detail {

/* The address ranges and names of arrays, for messages. */
struct array_name {
    const char *low, *high, *name;
};
static __thread array_name array_names[16];

[[noreturn]] static __noinline__ void
fail_index(const index &i, int axis, const int64 *shape, int ndim, const void *pointer) {
    static __thread char text[512];
    const char *name = "";
    for (const array_name &a : array_names)
        if (a.name && a.low <= (const char *)pointer && (const char *)pointer < a.high)
            name = a.name;
    int length =
        nl_host_snprintf(text, sizeof text, "%s: index %lld is out of bounds",
                         *name ? name : "an array", i.value);
    if (ndim > 1)
        length += nl_host_snprintf(text + length, sizeof text - length, " for axis %d", axis);
    length += nl_host_snprintf(text + length, sizeof text - length, ", the shape is (");
    for (int k = 0; k < ndim && length < (int)sizeof text - 32; ++k)
        length += nl_host_snprintf(text + length, sizeof text - length, "%s%lld%s", k ? ", " : "",
                                   shape[k], ndim == 1 ? "," : "");
    nl_host_snprintf(text + length, sizeof text - length, ")");
    nl_host_fault what = {text, i.file, i.line, 710, name, i.value};
    numbalite_sim::ops->fault(&what);
}

/* Registers the name of an array for its address range. */
template <class A> static void nl_name_array(int slot, const A &a, const char *name) {
    const char *low = (const char *)a.data(), *high = low + sizeof(*a.data());
    for (int k = 0; k < A::ndim; ++k) {
        if (a.shape[k] == 0)
            high = low;
        int64 reach = (a.shape[k] - 1) * a.strides[k];
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    if (low >= high)
        high = low + 1; /* an empty array still has an address */
    if (slot < 16)
        array_names[slot] = array_name{low, high, name};
}

} // namespace nl_detail
} // namespace numbalite

#define NUMBALITE_LEAVE_AFTER_FAULT static_cast<void>(0)
#define NUMBALITE_NAME_ARRAY(nl_slot, nl_array) \
    ::numbalite::nl_detail::nl_name_array(nl_slot, nl_array, #nl_array)

#endif
