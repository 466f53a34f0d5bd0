/* sim/editor: defines CUDA C++ for editors, which read a source like the simulator's compiler, but
 * without the translation. `numbalite editor` makes clangd include sim/editor.h before every .cu
 * file. No code is compiled with this header. */
#include "prelude.h"

/* Defines keywords that translation.py (numbalite/compilers/sim) would translate. */
#undef __shared__
#define __shared__

#include "../numbalite.cuh"
#include "../numbalite/limits.cuh"
#include "../numbalite/math_base.cuh"
#include "../numbalite/half.cuh"
#include "../numbalite/complex.cuh"
#include "../numbalite/tuple.cuh"
#include "../numbalite/none.cuh"
#include "../numbalite/foreign.cuh"
#include "../numbalite/dual.cuh"
#include "../numbalite/dualcomplex.cuh"
#include "../numbalite/dualarray.cuh"
#include "../numbalite/python.cuh"
#include "../numbalite/vectors.cuh"
#include "../numbalite/numpy.cuh"
#include "../numbalite/thread_reduce.cuh"
#include "../numbalite/atomics.cuh"
#include "../numbalite/warp.cuh"
#include "../numbalite/random.cuh"
#include "../numbalite/philox.cuh"
#include "../numbalite/groups.cuh"
#include "../numbalite/constant.cuh"
#include "../numbalite/layout.cuh"

namespace numbalite {
// clang-format off
NUMBALITE_MATH_INTEGER(sqrt) NUMBALITE_MATH_INTEGER(rsqrt) NUMBALITE_MATH_INTEGER(cbrt)
NUMBALITE_MATH_INTEGER(sin) NUMBALITE_MATH_INTEGER(cos) NUMBALITE_MATH_INTEGER(tan)
NUMBALITE_MATH_INTEGER(asin) NUMBALITE_MATH_INTEGER(acos) NUMBALITE_MATH_INTEGER(atan)
NUMBALITE_MATH_INTEGER(sinh) NUMBALITE_MATH_INTEGER(cosh) NUMBALITE_MATH_INTEGER(tanh)
NUMBALITE_MATH_INTEGER(asinh) NUMBALITE_MATH_INTEGER(acosh) NUMBALITE_MATH_INTEGER(atanh)
NUMBALITE_MATH_INTEGER(exp) NUMBALITE_MATH_INTEGER(exp2) NUMBALITE_MATH_INTEGER(exp10)
NUMBALITE_MATH_INTEGER(expm1) NUMBALITE_MATH_INTEGER(log) NUMBALITE_MATH_INTEGER(log2)
NUMBALITE_MATH_INTEGER(log10) NUMBALITE_MATH_INTEGER(log1p) NUMBALITE_MATH_INTEGER(erf)
NUMBALITE_MATH_INTEGER(erfc) NUMBALITE_MATH_INTEGER(tgamma) NUMBALITE_MATH_INTEGER(lgamma)
NUMBALITE_MATH_INTEGER(ceil) NUMBALITE_MATH_INTEGER(floor) NUMBALITE_MATH_INTEGER(trunc)
NUMBALITE_MATH_INTEGER(round) NUMBALITE_MATH_INTEGER(rint) NUMBALITE_MATH_INTEGER(fabs)
NUMBALITE_MATH_MIXED(min, product) NUMBALITE_MATH_MIXED(max, product)
NUMBALITE_MATH_MIXED(pow, floating_of) NUMBALITE_MATH_MIXED(atan2, floating_of)
NUMBALITE_MATH_MIXED(hypot, floating_of) NUMBALITE_MATH_MIXED(fmod, floating_of)
NUMBALITE_MATH_MIXED(remainder, floating_of) NUMBALITE_MATH_MIXED(fmin, floating_of)
NUMBALITE_MATH_MIXED(fmax, floating_of) NUMBALITE_MATH_MIXED(fdim, floating_of)
NUMBALITE_MATH_MIXED(copysign, floating_of)
// clang-format on
} // namespace numbalite
using namespace numbalite;
