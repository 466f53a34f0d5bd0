"""Words that generated C++ uses itself: a variable of such a name gets an underscore behind it."""

from __future__ import annotations

from numbalite.text.devicelib import LAYOUTS, LIBRARY_NAMES

_MATH = """
abs acos acosh asin asinh atan atan2 atanh cbrt ceil conj copysign cos cosh erf erfc exp exp2 expm1 fabs
floor fma fmod hypot isfinite isinf isnan lgamma log log10 log1p log2 max min nextafter pow remainder rint sin
sinh sqrt tan tanh tgamma trunc
"""
_CUDA = """
assert atomicAdd atomicAnd atomicCAS atomicDec atomicExch atomicInc atomicMax atomicMin atomicOr atomicSub atomicXor
blockDim blockIdx clock clock64 gridDim printf threadIdx warpSize
"""

RESERVED = (LIBRARY_NAMES - LAYOUTS) | set(f"{_MATH} {_CUDA} get py".split())
