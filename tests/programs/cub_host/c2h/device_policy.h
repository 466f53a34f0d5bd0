#ifndef SUITE_C2H_DEVICE_POLICY
#define SUITE_C2H_DEVICE_POLICY
#include "../host.h"
namespace c2h {
constexpr thrust::suite_policy device_policy{}, nosync_device_policy{};
}

#endif
