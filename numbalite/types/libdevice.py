"""Lists libdevice's functions, such as ``libdevice.rsqrtf(x)``, for kernels with Python bodies.

Parameters and results are those of NVIDIA's libdevice. Values that a libdevice function writes through
pointers are returned, several values as a tuple, as in ``s, c = libdevice.sincos(x)``. CUDA C++ has all of
these functions under its own names.
"""

from __future__ import annotations

from typing import NamedTuple

from numbalite import types
from numbalite.types.inkernel import KernelName

_TYPES = {
    "d": types.float64,
    "f": types.float32,
    "h": types.int16,
    "i": types.int32,
    "l": types.int64,
}


class Signature(NamedTuple):
    """The parameter types and result types of a function; several results are a tuple."""

    args: tuple[types.Type, ...]
    returns: tuple[types.Type, ...]


# Maps "result types=parameter types" to function names; "df=" means that the results are a double and a float.
_NAMES = {
    "d=d": """acos acosh asin asinh atan atanh cbrt ceil cos cosh cospi drcp_rd drcp_rn drcp_ru drcp_rz dsqrt_rd
        dsqrt_rn dsqrt_ru dsqrt_rz erf erfc erfcinv erfcx erfinv exp exp10 exp2 expm1 fabs floor j0 j1 lgamma log
        log10 log1p log2 logb nearbyint normcdf normcdfinv rcbrt rint round rsqrt sin sinh sinpi sqrt tan tanh
        tgamma trunc y0 y1""",
    "f=f": """acosf acoshf asinf asinhf atanf atanhf cbrtf ceilf cosf coshf cospif erfcf erfcinvf erfcxf erff
        erfinvf exp10f exp2f expf expm1f fabsf fast_cosf fast_exp10f fast_expf fast_log10f fast_log2f fast_logf
        fast_sinf fast_tanf floorf frcp_rd frcp_rn frcp_ru frcp_rz frsqrt_rn fsqrt_rd fsqrt_rn fsqrt_ru fsqrt_rz
        j0f j1f lgammaf log10f log1pf log2f logbf logf nearbyintf normcdff normcdfinvf rcbrtf rintf roundf rsqrtf
        saturatef sinf sinhf sinpif sqrtf tanf tanhf tgammaf truncf y0f y1f""",
    "d=dd": """atan2 copysign dadd_rd dadd_rn dadd_ru dadd_rz ddiv_rd ddiv_rn ddiv_ru ddiv_rz dmul_rd dmul_rn
        dmul_ru dmul_rz fdim fmax fmin fmod hypot nextafter pow remainder""",
    "f=ff": """atan2f copysignf fadd_rd fadd_rn fadd_ru fadd_rz fast_fdividef fast_powf fdimf fdiv_rd fdiv_rn
        fdiv_ru fdiv_rz fmaxf fminf fmodf fmul_rd fmul_rn fmul_ru fmul_rz fsub_rd fsub_rn fsub_ru fsub_rz hypotf
        nextafterf powf remainderf""",
    "d=ddd": "fma fma_rd fma_rn fma_ru fma_rz",
    "f=fff": "fmaf fmaf_rd fmaf_rn fmaf_ru fmaf_rz",
    "i=i": "abs brev clz ffs popc",
    "l=l": "brevll llabs",
    "i=l": "clzll ffsll popcll",
    "i=ii": "hadd max min mul24 mulhi rhadd uhadd umax umin umul24 umulhi urhadd",
    "i=iii": "byte_perm sad usad",
    "l=ll": "llmax llmin mul64hi ullmax ullmin umul64hi",
    "f=d": "double2float_rd double2float_rn double2float_ru double2float_rz",
    "i=d": """double2hiint double2int_rd double2int_rn double2int_ru double2int_rz double2loint double2uint_rd
        double2uint_rn double2uint_ru double2uint_rz ilogb isfinited isinfd isnand signbitd""",
    "l=d": """double2ll_rd double2ll_rn double2ll_ru double2ll_rz double2ull_rd double2ull_rn double2ull_ru
        double2ull_rz double_as_longlong llrint llround""",
    "i=f": """finitef float2int_rd float2int_rn float2int_ru float2int_rz float2uint_rd float2uint_rn
        float2uint_ru float2uint_rz float_as_int ilogbf isinff isnanf signbitf""",
    "l=f": """float2ll_rd float2ll_rn float2ll_ru float2ll_rz float2ull_rd float2ull_rn float2ull_ru
        float2ull_rz llrintf llroundf""",
    "h=f": "float2half_rn",
    "f=h": "half2float",
    "d=ii": "hiloint2double",
    "d=i": "int2double_rn uint2double_rn",
    "f=i": """int2float_rd int2float_rn int2float_ru int2float_rz int_as_float uint2float_rd uint2float_rn
        uint2float_ru uint2float_rz""",
    "d=l": """ll2double_rd ll2double_rn ll2double_ru ll2double_rz longlong_as_double ull2double_rd
        ull2double_rn ull2double_ru ull2double_rz""",
    "f=l": """ll2float_rd ll2float_rn ll2float_ru ll2float_rz ull2float_rd ull2float_rn ull2float_ru
        ull2float_rz""",
    "d=id": "jn yn",
    "f=if": "jnf ynf",
    "d=di": "ldexp powi scalbn",
    "f=fi": "ldexpf powif scalbnf",
    "di=d": "frexp",
    "fi=f": "frexpf",
    "dd=d": "modf sincos sincospi",
    "ff=f": "modff fast_sincosf sincosf sincospif",
    "di=dd": "remquo",
    "fi=ff": "remquof",
}  # fmt: skip


def _libdevice_signatures():
    for kinds, names in _NAMES.items():
        returns, _, args = kinds.partition("=")
        made = Signature(tuple(_TYPES[k] for k in args), tuple(_TYPES[k] for k in returns))
        yield from ((name, made) for name in names.split())


SIGNATURES: dict[str, Signature] = dict(_libdevice_signatures())


def __getattr__(name: str) -> KernelName:
    if name not in SIGNATURES:
        raise AttributeError(f"libdevice has no {name!r}")
    return KernelName(f"libdevice.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *SIGNATURES})
