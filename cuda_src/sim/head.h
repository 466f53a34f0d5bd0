/* sim/head: all code before a source, if its options define no macros that must come before it. It
   is precompiled in one piece (numbalite/compilers/hostprelude.py); the #include lines in the
   compiler's input find it included. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
