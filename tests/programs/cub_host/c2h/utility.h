#ifndef SUITE_C2H_UTILITY
#define SUITE_C2H_UTILITY
#include "../host.h"
namespace c2h {
template <class T> const char *type_name() { return __PRETTY_FUNCTION__; }
} // namespace c2h

#endif
