"""Declares the types of NumPy's ufuncs in numbalite.cuda, for type checkers: `cuda.sqrt(d)` of a device array
is a device array.

At run time, each of these ufuncs is a NumpyUfunc.
"""

from typing import Any, TypeVar, overload

from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.ufuncs.protocols import NumpyUfunc

_Out = TypeVar("_Out")

class Unary(NumpyUfunc):
    """Of one array: one result."""

    @overload
    def __call__(self, x: DeviceNDArray, /, out: None = None, **keywords: Any) -> DeviceNDArray: ...
    @overload
    def __call__(self, x: Any, /, out: tuple[_Out], **keywords: Any) -> _Out: ...
    @overload
    def __call__(self, x: Any, /, out: None = None, **keywords: Any) -> Any: ...
    @overload
    def __call__(self, x: Any, /, out: _Out, **keywords: Any) -> _Out: ...

class Binary(NumpyUfunc):
    """Of two arrays: one result."""

    @overload
    def __call__(
        self, x: DeviceNDArray, y: Any, /, out: None = None, **keywords: Any
    ) -> DeviceNDArray: ...
    @overload
    def __call__(
        self, x: Any, y: DeviceNDArray, /, out: None = None, **keywords: Any
    ) -> DeviceNDArray: ...
    @overload
    def __call__(self, x: Any, y: Any, /, out: tuple[_Out], **keywords: Any) -> _Out: ...
    @overload
    def __call__(self, x: Any, y: Any, /, out: None = None, **keywords: Any) -> Any: ...
    @overload
    def __call__(self, x: Any, y: Any, /, out: _Out, **keywords: Any) -> _Out: ...

class UnaryPair(NumpyUfunc):
    """Of one array: two results."""

    @overload
    def __call__(
        self, x: DeviceNDArray, /, **keywords: Any
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    @overload
    def __call__(self, x: Any, /, *outs: Any, **keywords: Any) -> tuple[Any, Any]: ...

class BinaryPair(NumpyUfunc):
    """Of two arrays: two results."""

    @overload
    def __call__(
        self, x: DeviceNDArray, y: Any, /, **keywords: Any
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    @overload
    def __call__(
        self, x: Any, y: DeviceNDArray, /, **keywords: Any
    ) -> tuple[DeviceNDArray, DeviceNDArray]: ...
    @overload
    def __call__(self, x: Any, y: Any, /, *outs: Any, **keywords: Any) -> tuple[Any, Any]: ...

abs: Unary
absolute: Unary
acos: Unary
acosh: Unary
arccos: Unary
arccosh: Unary
arcsin: Unary
arcsinh: Unary
arctan: Unary
arctanh: Unary
asin: Unary
asinh: Unary
atan: Unary
atanh: Unary
bitwise_count: Unary
bitwise_invert: Unary
bitwise_not: Unary
cbrt: Unary
ceil: Unary
conj: Unary
conjugate: Unary
cos: Unary
cosh: Unary
deg2rad: Unary
degrees: Unary
exp: Unary
exp2: Unary
expm1: Unary
fabs: Unary
floor: Unary
invert: Unary
isfinite: Unary
isinf: Unary
isnan: Unary
log: Unary
log10: Unary
log1p: Unary
log2: Unary
logical_not: Unary
negative: Unary
positive: Unary
rad2deg: Unary
radians: Unary
reciprocal: Unary
rint: Unary
sign: Unary
signbit: Unary
sin: Unary
sinh: Unary
spacing: Unary
sqrt: Unary
square: Unary
tan: Unary
tanh: Unary
trunc: Unary

add: Binary
arctan2: Binary
atan2: Binary
bitwise_and: Binary
bitwise_left_shift: Binary
bitwise_or: Binary
bitwise_right_shift: Binary
bitwise_xor: Binary
copysign: Binary
divide: Binary
equal: Binary
float_power: Binary
floor_divide: Binary
fmax: Binary
fmin: Binary
fmod: Binary
gcd: Binary
greater: Binary
greater_equal: Binary
heaviside: Binary
hypot: Binary
lcm: Binary
ldexp: Binary
left_shift: Binary
less: Binary
less_equal: Binary
logaddexp: Binary
logaddexp2: Binary
logical_and: Binary
logical_or: Binary
logical_xor: Binary
maximum: Binary
minimum: Binary
mod: Binary
multiply: Binary
nextafter: Binary
not_equal: Binary
pow: Binary
power: Binary
remainder: Binary
right_shift: Binary
subtract: Binary
true_divide: Binary

frexp: UnaryPair
modf: UnaryPair

divmod: BinaryPair
