/* Random input for the tests. */
#ifndef SUITE_C2H_GENERATORS
#define SUITE_C2H_GENERATORS
#include <c2h/custom_type.h>
#include "vector.h"
namespace c2h {
struct seed_t {
    unsigned long long value;
    unsigned long long get() const { return value; }
};
struct modulo_t {
    size_t value;
    explicit modulo_t(size_t value) : value(value) {}
};
template <class T> struct Limits {
    static T lowest() { return ::cuda::std::numeric_limits<T>::lowest(); }
    static T max() { return ::cuda::std::numeric_limits<T>::max(); }
};
template <class T> void gen(seed_t seed, device_vector<T> &data, T lowest = Limits<T>::lowest(), T highest = Limits<T>::max()) {
    ::suite::Random random(seed.value);
    for (size_t i = 0; i < data.size(); ++i) data[i] = ::suite::draw(random, lowest, highest);
}
template <class T> void gen(modulo_t modulo, device_vector<T> &data) {
    for (size_t i = 0; i < data.size(); ++i) {
        T value = T();
        unsigned long long number = i % modulo.value;
        if constexpr (::suite::has_key<T>::value)
            value.key = number, value.val = number;
        else if constexpr (::suite::has_x<T>::value && !::cuda::std::is_arithmetic_v<T>) {
            value.x = number;
            if constexpr (::suite::has_y<T>::value) value.y = number;
            if constexpr (::suite::has_z<T>::value) value.z = number;
            if constexpr (::suite::has_w<T>::value) value.w = number;
        } else
            value = static_cast<T>(static_cast<int>(number));
        data[i] = value;
    }
}
} // namespace c2h

#endif
