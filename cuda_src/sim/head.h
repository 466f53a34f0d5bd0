/* sim/head: all that is read before a source, where no macro of its options comes between. It is
 * precompiled in one piece (numbalite/compilers/hostprelude.py); the #include lines that follow in what the
 * compiler gets find it read. */
#include "prelude.h"
#include "../numbalite/describe.cuh"
#include "exports.h"
