"""Maps names of numba.cuda for use inside kernels to their equivalents in CUDA C++.

Each name is an object of the class KernelName, which kernels with Python bodies use (numbalite/python). A call
outside of a kernel raises an error with the CUDA C++ equivalent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numbalite import missingnames

if TYPE_CHECKING:
    from typing import Any, NoReturn

INSTEAD = {
    "grid": "grid<1>(), or auto [x, y] = grid<2>();",
    "gridsize": "gridsize<1>()",
    "threadIdx": "threadIdx.x",
    "blockIdx": "blockIdx.x",
    "blockDim": "blockDim.x",
    "gridDim": "gridDim.x",
    "laneid": "laneid()",
    "warpsize": "warpSize",
    "shared": "__shared__ float s[16][16];",
    "local": "float a[8];",
    "const": "the name of a NumPy array of the Python scope",
    "atomic": "atomic_add(a, i, value), atomic_max(a, i, value), ...",
    "cg": "cg::this_grid().sync();",
    "selp": "condition ? a : b",
    "fma": "fma(a, b, c)",
    "cbrt": "cbrt(x)",
    "popc": "__popc(x), of 64 bits __popcll(x)",
    "brev": "__brev(x), of 64 bits __brevll(x)",
    "clz": "__clz(x), of 64 bits __clzll(x)",
    "ffs": "__ffs(x), of 64 bits __ffsll(x)",
    "activemask": "__activemask()",
    "lanemask_lt": "lanemask_lt()",
    "nanosleep": "__nanosleep(ns)",
    "threadfence": "__threadfence()",
    "threadfence_block": "__threadfence_block()",
    "threadfence_system": "__threadfence_system()",
    "syncwarp": "__syncwarp()",
    "syncthreads": "__syncthreads()",
    "syncthreads_count": "__syncthreads_count(p)",
    "syncthreads_and": "__syncthreads_and(p)",
    "syncthreads_or": "__syncthreads_or(p)",
    "shfl_sync": "shfl_sync(mask, value, lane)",
    "shfl_up_sync": "shfl_up_sync(mask, value, n)",
    "shfl_down_sync": "shfl_down_sync(mask, value, n)",
    "shfl_xor_sync": "shfl_xor_sync(mask, value, lanes)",
    "all_sync": "__all_sync(mask, p)",
    "any_sync": "__any_sync(mask, p)",
    "eq_sync": "eq_sync(mask, p)",
    "ballot_sync": "__ballot_sync(mask, p)",
    "match_any_sync": "match_any_sync(mask, value)",
    "match_all_sync": "__match_all_sync(mask, value, &all)",
    "fp16": "#include <cuda_fp16.h> and __hadd(a, b), or plain arithmetic of float16",
    "bf16": "#include <cuda_bf16.h>",
    "bfloat16": "#include <cuda_bf16.h> and __nv_bfloat16",
    "libdevice": "CUDA's mathematical functions: sin(x), rsqrt(x)",
}

INSTEAD.update({f"ld{how}": f"__ld{how}(&a[i])" for how in ("ca", "cg", "cs", "lu", "cv")})
INSTEAD.update({f"st{how}": f"__st{how}(&a[i], value)" for how in ("cg", "cs", "wb", "wt")})
_VECTORS = {
    "int8": "char",
    "int16": "short",
    "int32": "int",
    "int64": "longlong",
    "uint8": "uchar",
    "uint16": "ushort",
    "uint32": "uint",
    "uint64": "ulonglong",
    "float32": "float",
    "float64": "double",
}
INSTEAD.update(
    {
        name: f"{of}{n} v = make_{of}{n}({', '.join('xyzw'[:n])});"
        for numpys, of in _VECTORS.items()
        for n in (1, 2, 3, 4)
        for name in (f"{numpys}x{n}", f"{of}{n}")
    }
)


def missing_name_message(name: str) -> str:
    """Returns the message for a name that numbalite.cuda does not have."""
    instead = INSTEAD.get(name.partition(".")[0])
    if instead is None:
        return f"numbalite.cuda has no {name!r}{missingnames.missing_name_advice(name)}"
    return f"cuda.{name} is for the inside of kernels; in CUDA C++ it is {instead}"


# Lists names with several components (atomic.add), and names of values rather than functions.
_AXES = "xyz"
_ATOMICS = "add sub max min nanmax nanmin inc dec and_ or_ xor exch cas compare_and_swap".split()
_HALVES = """hadd hsub hmul hdiv hfma hneg habs hmax hmin heq hne hge hgt hle hlt hsin hcos hlog hlog10 hlog2
    hexp hexp10 hexp2 hfloor hceil hsqrt hrsqrt hrcp hrint htrunc""".split()
_BFLOATS = (
    """bfloat16 nv_bfloat16 hneg habs hadd hsub hmul hdiv hmax hmin hmax_nan hmin_nan hadd_rn hsub_rn hmul_rn
    hadd_sat hsub_sat hmul_sat hfma hfma_sat hfma_relu heq hne hge hgt hle hlt hisnan hisinf htrunc hceil
    hfloor hrint hsqrt hrsqrt hrcp hlog hlog2 hlog10 hcos hsin hexp hexp2 hexp10 htanh htanh_approx
    bfloat16_to_int8_rz bfloat16_to_uint8_rz bfloat16_as_int16 bfloat16_as_uint16 int16_as_bfloat16
    uint16_as_bfloat16 bfloat16_to_float32 float32_to_bfloat16 float64_to_bfloat16""".split()
    + [f"float32_to_bfloat16_{way}" for way in ("rn", "rz", "rd", "ru")]
    + [
        f"{name}_{way}"
        for sign in ("int", "uint")
        for bits in (16, 32, 64)
        for name in (f"bfloat16_to_{sign}{bits}", f"{sign}{bits}_to_bfloat16")
        for way in ("rn", "rz", "rd", "ru")
    ]
)
PARTS = {
    **{name: tuple(_AXES) for name in ("threadIdx", "blockIdx", "blockDim", "gridDim")},
    "shared": ("array",),
    "local": ("array",),
    "const": ("array_like",),
    "atomic": tuple(_ATOMICS),
    "cg": ("this_grid",),
    "fp16": tuple(_HALVES),
    "bf16": tuple(_BFLOATS),
}
_VALUES = frozenset(("laneid", "warpsize"))


class KernelName:
    """A name for use inside kernels, such as ``cuda.grid``. In a Python body, the name is translated to CUDA
    C++; a call outside of kernels raises an error with the C++ equivalent."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    @property
    def is_value(self) -> bool:
        """Returns whether the name is a value, such as threadIdx.x or laneid, rather than a function."""
        return self.path in _VALUES or self.path.partition(".")[2] in tuple(_AXES)

    @property
    def __name__(self) -> str:
        return self.path.rpartition(".")[2]

    def __getattr__(self, name: str) -> KernelName:
        if name in PARTS.get(self.path, ()):
            return KernelName(f"{self.path}.{name}")
        raise AttributeError(f"cuda.{self.path} has no {name!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(missing_name_message(self.path))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KernelName) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return KernelName, (self.path,)

    def __repr__(self) -> str:
        return f"<cuda.{self.path}, for the inside of kernels>"
