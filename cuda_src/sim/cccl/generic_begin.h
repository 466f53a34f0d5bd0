/* Between this header and generic_end.h, libcu++ compiles its code for GPUs without Ampere's
 * asynchronous copies and Hopper's barriers: barriers consist of atomics, and copies are
 * synchronous. */
#include <nv/target>
#pragma push_macro("NV_PROVIDES_SM_80")
#pragma push_macro("NV_PROVIDES_SM_90")
#undef NV_PROVIDES_SM_80
#undef NV_PROVIDES_SM_90
#define NV_PROVIDES_SM_80 NV_NO_TARGET
#define NV_PROVIDES_SM_90 NV_NO_TARGET
