/* sim/head: includes all code that is read before a source, for sources whose options define no
 * macros that must precede this code. The header is precompiled
 * (numbalite/compilers/hostprelude.py); then the #include lines in the compiler's input have no
 * effect. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
