/* sim/unpredefined: takes away what NVRTC does not predefine, right before a source, which chooses by it what it chooses on a
 * GPU. Our own headers ask for NUMBALITE_SIM_CLANG. It is read each time: what a header that g++ has precompiled takes away
 * is back behind it. */
#undef __clang__
#undef __GNUC__
#undef __GNUC_MINOR__
#undef __GNUC_PATCHLEVEL__
#undef __GNUG__
#undef __linux__
#undef __linux
#undef linux
#undef __gnu_linux__
#undef __unix__
#undef __unix
#undef unix
