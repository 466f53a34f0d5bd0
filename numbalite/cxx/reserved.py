"""Lists the names of functions and types of CUDA and numbalite that generated C++ uses without a qualifier.

A user's function, variable or constant of such a name gets a trailing underscore in C++. Therefore, calls in
generated C++ refer to CUDA's functions, not to a user's function of the same name.
"""

from __future__ import annotations

from numbalite.cxx.devicelib import LAYOUTS, LIBRARY_NAMES

_MATH = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 erf erfc
erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs fdim fdivide floor fma fmax fmin fmod frexp hypot ilogb j0 j1 jn
ldexp lgamma llrint llround log log10 log1p log2 logb lrint lround max min modf nearbyint nextafter norm norm3d
norm4d normcdf normcdfinv pow powi rcbrt remainder remquo rhypot rint rnorm rnorm3d rnorm4d round rsqrt scalbln
scalbn sin sincos sincospi sinh sinpi sqrt tan tanh tgamma trunc y0 y1 yn
"""
_MATH_WITHOUT_FLOAT = """
abs div labs llabs llmax llmin umax umin ullmax ullmin finite isfinite isinf isnan isnormal mul24 mul64hi mulhi
nan nanf saturate signbit umul24 umul64hi umulhi arg conj imag polar proj real dadd_rn
"""
_HALF = """
hsin hcos htanh hlog hlog10 hlog2 hexp hexp10 hexp2 hfloor hceil hsqrt hrsqrt hrcp hrint htrunc htanh_approx h2tanh_approx
h2sin h2cos h2tanh h2log h2log10 h2log2 h2exp h2exp10 h2exp2 h2floor h2ceil h2sqrt h2rsqrt h2rcp h2rint h2trunc
"""
_CUDA = """
assert atomicAdd atomicAnd atomicCAS atomicDec atomicExch atomicInc atomicMax atomicMin atomicOr atomicSub atomicXor
blockDim blockIdx clock clock64 free gridDim malloc memcpy memmove memset printf threadIdx warpSize
"""

RESERVED = (LIBRARY_NAMES - LAYOUTS) | {
    *(f"{name}{end}" for name in _MATH.split() for end in ("", "f")),
    *f"{_MATH_WITHOUT_FLOAT} {_HALF} {_CUDA} get py".split(),
}


def is_reserved(name: str) -> bool:
    """Returns whether a name is reserved for CUDA or numbalite in generated C++. All names with two leading
    underscores belong to CUDA."""
    return name in RESERVED or name.startswith("__")


def avoid_reserved(name: str) -> str:
    """Returns a name that is not reserved: the name itself, with a trailing underscore, or with the prefix
    ``py`` if it begins with two underscores."""
    if name.startswith("__"):
        return f"py{name}"
    return f"{name}_" if is_reserved(name) else name
