/* sim/unpredefined: undefines macros that NVRTC does not predefine, immediately before a source, so
 * that the source's conditional code is the same as on a GPU. This header is read in each
 * compilation, because a header that g++ has precompiled restores the macros. */
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
