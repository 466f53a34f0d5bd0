/* cuda_awbarrier_primitives.h: barriers in shared memory, of which the simulator has none: where one is
 * used is an error. */
#pragma once

#define NUMBALITE_SIM_NO_BARRIERS \
    NUMBALITE_SIM_CANNOT("barriers (cuda_awbarrier.h) cannot run on the CPU simulator")

typedef unsigned long long __mbarrier_t NUMBALITE_SIM_NO_BARRIERS;
typedef unsigned long long __mbarrier_token_t NUMBALITE_SIM_NO_BARRIERS;
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS void __mbarrier_init(Arguments...);
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS void __mbarrier_inval(Arguments...);
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS int __mbarrier_arrive(Arguments...);
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS int __mbarrier_arrive_and_drop(Arguments...);
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS bool __mbarrier_test_wait(Arguments...);
template <class... Arguments> NUMBALITE_SIM_NO_BARRIERS bool __mbarrier_try_wait(Arguments...);

#undef NUMBALITE_SIM_NO_BARRIERS
