/* sim/head: includes all code that is read before a source, if the source's options define no
   macros that must precede this code. The header is precompiled
   (numbalite/compilers/hostprelude.py); the #include lines in the compiler's input then have no
   effect. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
