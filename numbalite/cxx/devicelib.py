"""Selects the headers of the device library that a source needs, by the names that occur in it.

The compiler reads a header of cuda_src/numbalite/ only if the source uses one of its names (index and array are
always read), because parsing dominates the compile time. The following times were measured with NVRTC 13
(processor time of a small kernel on a slow machine): 46 ms without any header, 62 ms with the head, 153 ms
with all headers.
"""

from __future__ import annotations

HEAD = "numbalite.cuh"

_HALF = ("float16", "half", "half2", "__half", "__half2")
_COMPLEX = ("complex", "complex64", "complex128")
_TUPLE = ("tuple", "make_tuple", "type_of")
_ATOMICS = tuple(
    f"atomic_{name}" for name in "add sub max min nanmax nanmin inc dec and or xor exch cas".split()
)
_WARP = (
    *("laneid", "warpid", "lanemask_lt", "thread_rank", "match_any_sync", "eq_sync"),
    *("shfl_sync", "shfl_up_sync", "shfl_down_sync", "shfl_xor_sync"),
)
_RANDOM = (
    *("xoroshiro128p_state", "init_xoroshiro128p_state"),
    *(
        f"xoroshiro128p_{name}"
        for name in (
            "next jump uniform_float32 uniform_float64 normal_float32 normal_float64 advance"
        ).split()
    ),
)
_WIDE = ("double", "longlong", "ulonglong")
_CPU = ("parallel_for", "random_uniform", "random_normal", "random_seed")
_GROUPS = (
    *("cg", "cooperative_groups", "groups", "this_thread_block", "this_grid", "coalesced_threads"),
    *("tiled_partition", "binary_partition", "labeled_partition"),
    *("thread_block", "thread_block_tile", "coalesced_group", "thread_group", "grid_group"),
)

_NUMPY = tuple(
    f"np_{name}"
    for name in (
        "absolute arccosh arcsinh arctan2 arctanh bitwise_count ceil conjugate copysign degrees digamma equal "
        "exponent floor floor_divide fmax fmin fmod fraction gcd heaviside hypot invert isfinite isinf "
        "isnan lcm ldexp left_shift less less_equal logaddexp logaddexp2 mantissa maximum minimum negative nextafter power radians "
        "reciprocal remainder right_shift rint rounded_product sign signbit spacing true trunc"
    ).split()
)

_THREAD_REDUCTIONS = tuple(
    f"np_{name}"
    for name in (
        "sum prod mean var std min max nansum nanprod nanmean nanvar nanstd nanmin nanmax argmin argmax "
        "count_nonzero all any"
    ).split()
)

_MATH_CONSTANTS = (
    *("INFINITY", "HUGE_VAL", "HUGE_VALF", "NAN"),
    *("M_E", "M_LOG2E", "M_LOG10E", "M_LN2", "M_LN10", "M_PI", "M_PI_2", "M_PI_4"),
    *("M_1_PI", "M_2_PI", "M_2_SQRTPI", "M_SQRT2", "M_SQRT1_2"),
)
_MATH_INTEGER = (
    *("sqrt", "rsqrt", "cbrt", "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2", "exp10", "expm1"),
    *("log", "log2", "log10", "log1p", "erf", "erfc", "tgamma", "lgamma"),
    *("ceil", "floor", "trunc", "round", "rint", "fabs"),
)
_MATH_MIXED = {
    **dict.fromkeys(("min", "max"), "product"),
    **dict.fromkeys(("pow", "atan2", "hypot", "fmod", "remainder"), "floating_of"),
    **dict.fromkeys(("fmin", "fmax", "fdim", "copysign"), "floating_of"),
}
_LIMITS = (
    *("CHAR_BIT", "SCHAR_MIN", "SCHAR_MAX", "UCHAR_MAX", "CHAR_MIN", "CHAR_MAX"),
    *("SHRT_MIN", "SHRT_MAX", "USHRT_MAX", "INT_MIN", "INT_MAX", "UINT_MAX"),
    *("LONG_MIN", "LONG_MAX", "ULONG_MAX", "LLONG_MIN", "LLONG_MAX", "ULLONG_MAX", "SIZE_MAX"),
    *(f"{sign}INT{bits}_MAX" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *(f"INT{bits}_MIN" for bits in (8, 16, 32, 64)),
    *("FLT_RADIX", "FLT_DIG", "FLT_MANT_DIG", "FLT_MIN_EXP", "FLT_MAX_EXP"),
    *("FLT_MIN", "FLT_MAX", "FLT_EPSILON", "DBL_DIG", "DBL_MANT_DIG", "DBL_MIN_EXP"),
    *("DBL_MAX_EXP", "DBL_MIN", "DBL_MAX", "DBL_EPSILON"),
)

# Identifier -> part of the library; parts are listed in the order in which they are included.
PARTS = {
    name: part
    for part, names in (
        ("limits", _LIMITS),
        ("math", (*_MATH_CONSTANTS, *_MATH_INTEGER, *_MATH_MIXED)),
        ("half", _HALF),
        ("complex", _COMPLEX),
        ("tuple", _TUPLE),
        ("none", ("none_type", "is_none")),
        ("foreign", ("foreign_pointer",)),
        ("dual", ("nl_dual", "nl_seed")),
        ("dualcomplex", ("nl_complex_seed", "nl_complex_tangent")),
        ("dualarray", ("nl_as_duals", "nl_seeds", "nl_results")),
        ("python", ("py", "NUMBALITE_RAISE", "NUMBALITE_DIVISOR", "NUMBALITE_ITEM")),
        ("vectors", tuple(f"{make}{t}4_16a" for make in ("", "make_") for t in _WIDE)),
        ("numpy", _NUMPY),
        ("thread_reduce", _THREAD_REDUCTIONS),
        ("atomics", _ATOMICS),
        ("warp", _WARP),
        ("random", _RANDOM),
        ("philox", ("philox4x32",)),
        ("groups", _GROUPS),
        ("cpu", _CPU),
        ("constant", ("constant_array",)),
    )
    for name in names
}
ORDER = tuple(dict.fromkeys(PARTS.values()))

# The names that the head, numbalite.cuh, declares.
# The head and the parts declare all names of the library.
HEAD_NAMES = frozenset(
    (
        *("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("intp", "uintp", "float32", "float64", "index2", "index3", "grid", "gridsize"),
        *("layout", "array", "ushort", "uint", "ulong"),
    )
)
LAYOUTS = frozenset(("any", "C", "F"))
LIBRARY_NAMES = HEAD_NAMES | PARTS.keys() | LAYOUTS
# Library parts that define macros, and parts whose functions are included individually
OF_MACROS = frozenset(("limits", "math"))

# part -> names; the part is omitted if the source includes a header with one of these names.
REPLACED_BY = {"groups": ("cooperative_groups",)}


def header_name(part: str) -> str:
    """Returns the name in the #include of a part of the library."""
    return f"numbalite/{part}.cuh"


def library_parts(identifiers: set, includes=()) -> list:
    """Returns the list of library parts ("complex", ...) that a source with these identifiers needs, in include order.

    identifiers: every identifier of the source, including its parameter types. includes: the names of the
    headers that the source itself includes.
    """
    wanted = {PARTS[name] for name in identifiers if name in PARTS}
    if "array" in identifiers and not identifiers.isdisjoint(("any", "C", "F")):
        wanted.add("layout")
    if {"dual", "complex"} <= wanted:
        wanted.add("dualcomplex")
    for part, words in REPLACED_BY.items():
        if any(word in include for word in words for include in includes):
            wanted.discard(part)
    return [part for part in (*ORDER, "layout") if part in wanted]


def prologue_text(identifiers: set, includes=()) -> str:
    """Returns the C++ text at the beginning of a source with these identifiers: includes of the head and the parts.

    The parts are those of `library_parts`. Only mathematical functions that the source uses are included.
    """
    parts = library_parts(identifiers, includes)
    names = [HEAD, *(header_name("math_base" if part == "math" else part) for part in parts)]
    text = "".join(f'#include "{name}"\n' for name in names)
    math = [f"NUMBALITE_MATH_INTEGER({f})" for f in _MATH_INTEGER if f in identifiers]
    math += [f"NUMBALITE_MATH_MIXED({f}, {t})" for f, t in _MATH_MIXED.items() if f in identifiers]
    return text + (f"namespace numbalite {{ {' '.join(math)} }}\n" if math else "")
