/* Between this and generic_end.h libcu++'s code is that for GPUs before the asynchronous copies of Ampere and the barriers of
 * Hopper: barriers are made of atomics, and copies are made at once. */
#include <nv/target>
#pragma push_macro("NV_PROVIDES_SM_80")
#pragma push_macro("NV_PROVIDES_SM_90")
#undef NV_PROVIDES_SM_80
#undef NV_PROVIDES_SM_90
#define NV_PROVIDES_SM_80 NV_NO_TARGET
#define NV_PROVIDES_SM_90 NV_NO_TARGET
