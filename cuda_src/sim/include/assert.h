/* <assert.h>: as in C, each inclusion tests NDEBUG again, so there is no #pragma once. */
#undef assert
#ifdef NDEBUG
#define assert(...) static_cast<void>(0)
#elif defined(NUMBALITE_FAIL) /* numbalite/check.cuh */
#define assert(...)                                                                                \
    (static_cast<bool>(__VA_ARGS__) ? static_cast<void>(0)                                         \
                                    : NUMBALITE_FAIL(fault_assert, #__VA_ARGS__))
#else
#define assert(...)                                                                                \
    (static_cast<bool>(__VA_ARGS__)                                                                \
         ? static_cast<void>(0)                                                                    \
         : ::numbalite_sim::fault(710, "Assertion `" #__VA_ARGS__ "` failed.", __FILE__, __LINE__))
#endif
