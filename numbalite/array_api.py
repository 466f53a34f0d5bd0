"""Implements the array API standard, 2024.12, with device arrays: `import numbalite.array_api as xp`.

The functions are those of numbalite.cuda with the standard's names; the dtypes are NumPy's. A device is
represented by its number. `x.to_device("cpu")` returns a NumPy array. As in NumPy, the functions accept more
types than the standard requires.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite import cuda
from numbalite.ndarray import dispatch
from numbalite.runtime.devices import device_number

if TYPE_CHECKING:
    from typing import Any

    from numbalite.arguments import DeviceLike
    from numbalite.ndarray.arrays import DeviceNDArray

__array_api_version__ = "2024.12"

_VERSIONS = "2021.12", "2022.12", "2023.12", "2024.12"
_CONSTANTS = "e", "inf", "nan", "newaxis", "pi"
_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = (*_KINDS["signed integer"], *_KINDS["unsigned integer"])
_KINDS["numeric"] = (
    *_KINDS["integral"],
    *_KINDS["real floating"],
    *_KINDS["complex floating"],
)
_DTYPES = {name: np.dtype(name) for name in (*_KINDS["bool"], *_KINDS["numeric"])}
_FUNCTIONS = frozenset("""
    abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan
    atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift
    bitwise_xor broadcast_arrays broadcast_to can_cast ceil clip concat conj copysign cos
    cosh count_nonzero cumulative_prod cumulative_sum diff divide empty empty_like equal exp
    expand_dims expm1 eye finfo flip floor floor_divide from_dlpack full full_like greater
    greater_equal hypot iinfo imag isdtype isfinite isinf isnan less less_equal linspace log
    log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matmul
    matrix_transpose max maximum mean meshgrid min minimum moveaxis multiply negative
    nextafter nonzero not_equal ones ones_like permute_dims positive pow prod real
    reciprocal remainder repeat reshape result_type roll round searchsorted sign signbit sin
    sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh
    tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values
    unstack var vecdot where zeros zeros_like
    """.split())  # fmt: skip
_EXTENSIONS = "fft", "linalg"

__all__ = [
    "__array_api_version__",
    "__array_namespace_info__",
    *_CONSTANTS,
    *_DTYPES,
    *sorted(_FUNCTIONS),
    *_EXTENSIONS,
]


class Finfo(NamedTuple):
    """The result of `finfo`, whose attributes are Python floats."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


def finfo(type: Any, /) -> Finfo:
    """Returns the limits of a real or complex floating-point dtype, or of an array's dtype."""
    dtype = getattr(type, "dtype", type)
    found = np.finfo(dtype if isinstance(dtype, np.dtype) else type)
    limits: Any = (getattr(found, name) for name in ("eps", "max", "min", "smallest_normal"))
    eps, largest, least, smallest_normal = map(float, limits)
    return Finfo(found.bits, eps, largest, least, smallest_normal, found.dtype)


def sort(
    x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> DeviceNDArray:
    """Returns a sorted copy; always stable."""
    made: Any = cuda.sort(descending=True)(x, axis) if descending else np.sort(x, axis)
    return made


def argsort(
    x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> DeviceNDArray:
    """Returns the indices that sort an array; the sort is always stable."""
    made: Any = cuda.sort(descending=True).argsort(x, axis) if descending else np.argsort(x, axis)
    return made


def clip(x: Any, /, min: Any = None, max: Any = None) -> DeviceNDArray:
    """Returns the elements limited to an interval; a limit of None has no effect."""
    return np.clip(x, min, max)


def broadcast_arrays(*arrays: Any) -> list[DeviceNDArray]:
    """Returns views of the arrays with a common shape."""
    return list(cuda.broadcast_arrays(*arrays))


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[DeviceNDArray]:
    """Returns the coordinates of a grid, one array for each axis."""
    return list(cuda.meshgrid(*arrays, indexing=indexing))


class _Fft:
    """Provides numbalite.cuda.fft, with the standard's parameters."""

    def __getattr__(self, name: str) -> Any:
        return getattr(cuda.fft, name)

    def fftfreq(
        self, n: int, /, *, d: float = 1.0, dtype: Any = None, device: DeviceLike | None = None
    ) -> DeviceNDArray:
        """Returns the frequencies of `fft`; float64 without a dtype."""
        return _fft_frequencies(cuda.fft.fftfreq, n, d, dtype, device)

    def rfftfreq(
        self, n: int, /, *, d: float = 1.0, dtype: Any = None, device: DeviceLike | None = None
    ) -> DeviceNDArray:
        """Returns the frequencies of `rfft`; float64 without a dtype."""
        return _fft_frequencies(cuda.fft.rfftfreq, n, d, dtype, device)


def _fft_frequencies(function, n, d, dtype, device):
    number = cuda.get_current_device().id if device is None else device_number(device)
    with cuda.gpus[number]:
        found = function(n, d)
        return found if dtype is None else found.astype(dtype, copy=False)


fft = _Fft()


def __getattr__(name: str) -> Any:
    if name in _DTYPES:
        # NumPy's namespace uses scalar types, too, because np.dtype("float64") == None is true.
        found: Any = _DTYPES[name].type
    elif name in _FUNCTIONS and not hasattr(np, name):  # NumPy before 2.1 and 2.2
        found = dispatch.function_of_later_numpy(name)
    elif name in _FUNCTIONS or name in _CONSTANTS or name in _EXTENSIONS:
        found = getattr(cuda, name)
    else:
        raise AttributeError(
            f"the array API standard {__array_api_version__} has no {name!r}: numbalite.cuda has the other "
            "names of NumPy"
        )
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


class Info:
    """The result of `__array_namespace_info__()`: devices, dtypes and capabilities."""

    def capabilities(self) -> dict[str, Any]:
        """Indexing by booleans and shapes that depend on data are supported; arrays have up to 32 axes."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 32}

    def default_device(self) -> int:
        """Returns the number of the calling thread's device."""
        return cuda.get_current_device().id

    def default_dtypes(self, *, device: DeviceLike | None = None) -> dict[str, np.dtype]:
        """Returns the default dtypes of new arrays."""
        _check_device(device)
        return {
            "real floating": np.dtype("float64"),
            "complex floating": np.dtype("complex128"),
            "integral": np.dtype("int64"),
            "indexing": np.dtype("int64"),
        }

    def dtypes(
        self, *, device: DeviceLike | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype]:
        """Returns the dtypes of one kind, or of several kinds, by their names."""
        _check_device(device)
        kinds = ("bool", "numeric") if kind is None else (kind,) if isinstance(kind, str) else kind
        unsupported = [one for one in kinds if one not in _KINDS]
        if unsupported:
            raise ValueError(
                f"unsupported kind: {unsupported[0]!r}, not one of {', '.join(_KINDS)}"
            )
        return {name: _DTYPES[name] for one in kinds for name in _KINDS[one]}

    def devices(self) -> list[int]:
        """Returns the ordinals of the devices."""
        return [device.id for device in cuda.gpus]


def __array_namespace_info__() -> Info:
    """Returns the devices, dtypes and capabilities of the namespace."""
    return Info()


def namespace(api_version: str | None = None) -> Any:
    """Returns this module, for a version of the standard that it supports; raises ValueError for any other
    version."""
    if api_version is not None and api_version not in _VERSIONS:
        raise ValueError(
            f"unsupported version of the array API standard: {api_version!r}, not one of {', '.join(_VERSIONS)}"
        )
    import numbalite.array_api

    return numbalite.array_api


def _check_device(device):
    if device is not None:
        device_number(device)
