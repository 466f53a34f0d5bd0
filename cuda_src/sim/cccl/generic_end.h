/* See generic_begin.h. */
#pragma pop_macro("NV_PROVIDES_SM_90")
#pragma pop_macro("NV_PROVIDES_SM_80")
