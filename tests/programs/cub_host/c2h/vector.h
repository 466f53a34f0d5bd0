#ifndef SUITE_C2H_VECTOR
#define SUITE_C2H_VECTOR
#include "../host.h"
namespace c2h {
template <class T> using device_vector = ::suite::Vector<T, 1>;
template <class T> using host_vector = ::suite::Vector<T, 0>;
} // namespace c2h

#endif
