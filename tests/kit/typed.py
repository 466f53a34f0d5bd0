"""Numbers with numba's arithmetic. If Python runs a kernel's body with such numbers, it computes
the expected results of the kernel.

A TypedValue is a Python number with a dtype; its operators have numba's result types. Operations
that numba does not define (a signed overflow, a division of integers by zero) raise UndefinedResult.
"""

import math
import operator

import numpy as np


class UndefinedResult(ArithmeticError):
    """Raised if the result is undefined."""


INT64, UINT64, FLOAT64, BOOL = (np.dtype(t) for t in ("i8", "u8", "f8", "?"))


def is_whole(t):
    return t.kind in "biu"


def to_typed(value):
    if isinstance(value, TypedValue):
        return value
    kinds = {bool: BOOL, int: INT64, float: FLOAT64, complex: np.dtype("c16")}
    return TypedValue(value, kinds[type(value)])


def _float_type_for(t):
    """Returns the type to which an operand is converted in an operation with a float."""
    return t if not is_whole(t) else np.dtype("f4" if np.can_cast(t, "i2") else "f8")


def common_type_of(a, b):
    """Returns the type of a + b."""
    if is_whole(a) and is_whole(b):
        return UINT64 if a.kind == b.kind == "u" else INT64
    return np.promote_types(_float_type_for(a), _float_type_for(b))


def common_type(a, b):
    """Returns the common type of a variable that has one type on one path and another type on
    another path."""
    return np.promote_types(a, b)


def cast_to_type(value, t):
    """Returns a number as another type, as C++ and numba cast."""
    value, t = to_typed(value), np.dtype(t)
    v = value.value
    if t.kind == "b":
        return TypedValue(bool(v), t)
    if t.kind in "iu":
        if not is_whole(value.dtype):
            if not math.isfinite(v):
                raise UndefinedResult
            v = math.trunc(float(v))
            info = np.iinfo(t)
            if not info.min <= v <= info.max:
                raise UndefinedResult
        v = int(v) & (1 << 8 * t.itemsize) - 1
        if t.kind == "i" and v >> 8 * t.itemsize - 1:
            v -= 1 << 8 * t.itemsize
        return TypedValue(v, t)
    if t.kind == "f":
        with np.errstate(all="ignore"):
            return TypedValue(t.type(v if not is_whole(value.dtype) else int(v)), t)
    return TypedValue(t.type(v), t)


def make_result(value, t):
    """Returns the result of an operation whose type is t."""
    if t.kind == "i":
        info = np.iinfo(t)
        if not info.min <= value <= info.max:
            raise UndefinedResult
        return TypedValue(int(value), t)
    if t.kind == "u":
        return TypedValue(int(value) & (1 << 8 * t.itemsize) - 1, t)
    return TypedValue(t.type(value), t)


def _binary_operator(compute):
    def apply_binary(self, other):
        other = to_typed(other)
        t = common_type_of(self.dtype, other.dtype)
        a, b = cast_to_type(self, t).value, cast_to_type(other, t).value
        with np.errstate(all="ignore"):
            return make_result(compute(a, b), t)

    return _with_reflected(apply_binary)


def _with_reflected(method):
    def apply_reflected(self, other):
        return method(to_typed(other), self)

    return method, apply_reflected


def _true_division(self, other):
    other = to_typed(other)
    t = common_type_of(self.dtype, other.dtype)
    t = FLOAT64 if is_whole(t) else t
    a, b = cast_to_type(self, t).value, cast_to_type(other, t).value
    if b == 0:
        raise UndefinedResult
    with np.errstate(all="ignore"):
        return make_result(a / b, t)


def _floor_operation(which):
    def checked_floor(a, b):
        if b == 0 or not (math.isfinite(a) and math.isfinite(b)):
            raise UndefinedResult
        return which(a, b)

    return checked_floor


def _power_operator(self, other):
    other = to_typed(other)
    if is_whole(other.dtype) and not is_whole(self.dtype):
        t = self.dtype
    else:
        t = common_type_of(self.dtype, other.dtype)
    if self.dtype == BOOL and other.dtype == np.int32:
        t = np.dtype("f4")
    if is_whole(t):
        if other.value < 0:
            raise UndefinedResult
        return make_result(self.value**other.value, t)
    if self.value == 0 or (self.value < 0 and not is_whole(other.dtype)):
        raise UndefinedResult
    with np.errstate(all="ignore"):
        return make_result(cast_to_type(self, t).value ** float(other.value), t)


def _bitwise_operator(compute):
    def apply_bitwise(self, other):
        other = to_typed(other)
        a, b = self.dtype, other.dtype
        if a == b == BOOL:
            return TypedValue(bool(compute(self.value, other.value)), BOOL)
        t = common_type_of(a, b)
        return cast_to_type(compute(cast_to_type(self, t).value, cast_to_type(other, t).value), t)

    return _with_reflected(apply_bitwise)


def _shift_operator(compute):
    def apply_shift(self, other):
        other = to_typed(other)
        if not 0 <= other.value < 64:
            raise UndefinedResult
        t = UINT64 if self.dtype.kind == "u" else INT64
        return cast_to_type(TypedValue(compute(int(self.value), int(other.value)), t), t)

    return _with_reflected(apply_shift)


def _comparison_operator(compute):
    def apply_comparison(self, other):
        other = to_typed(other)
        a, b = self, other
        if not (is_whole(a.dtype) and is_whole(b.dtype)):
            t = common_type_of(a.dtype, b.dtype)
            a, b = cast_to_type(a, t), cast_to_type(b, t)
        return TypedValue(bool(compute(a.value, b.value)), BOOL)

    return apply_comparison


class TypedValue:
    __slots__ = ("dtype", "value")

    def __init__(self, value, dtype):
        self.value, self.dtype = value, np.dtype(dtype)

    def __repr__(self):
        return f"{self.dtype.name}({self.value!r})"

    __hash__ = None
    __add__, __radd__ = _binary_operator(operator.add)
    __sub__, __rsub__ = _binary_operator(operator.sub)
    __mul__, __rmul__ = _binary_operator(operator.mul)
    __truediv__, __rtruediv__ = _with_reflected(_true_division)
    __floordiv__, __rfloordiv__ = _binary_operator(_floor_operation(operator.floordiv))
    __mod__, __rmod__ = _binary_operator(_floor_operation(operator.mod))
    __pow__, __rpow__ = _with_reflected(_power_operator)
    __and__, __rand__ = _bitwise_operator(operator.and_)
    __or__, __ror__ = _bitwise_operator(operator.or_)
    __xor__, __rxor__ = _bitwise_operator(operator.xor)
    __lshift__, __rlshift__ = _shift_operator(operator.lshift)
    __rshift__, __rrshift__ = _shift_operator(operator.rshift)
    __lt__, __le__ = _comparison_operator(operator.lt), _comparison_operator(operator.le)
    __gt__, __ge__ = _comparison_operator(operator.gt), _comparison_operator(operator.ge)
    __eq__, __ne__ = _comparison_operator(operator.eq), _comparison_operator(operator.ne)

    def _widened_dtype(self):
        if not is_whole(self.dtype):
            return self.dtype
        return UINT64 if self.dtype.kind == "u" else INT64

    def _dtype_of_sign(self):
        """Returns the type in which a sign is computed: unsigned numbers are widened afterwards."""
        return self.dtype if self.dtype.kind == "u" else self._widened_dtype()

    def __neg__(self):
        negated = make_result(
            -cast_to_type(self, self._dtype_of_sign()).value, self._dtype_of_sign()
        )
        return cast_to_type(negated, self._widened_dtype())

    def __pos__(self):
        return cast_to_type(self, self._widened_dtype())

    def __invert__(self):
        if self.dtype == BOOL:
            return TypedValue(not self.value, BOOL)
        return cast_to_type(make_result(~self.value, self._dtype_of_sign()), self._widened_dtype())

    def __abs__(self):
        if self.dtype.kind == "c":
            return make_result(
                abs(self.value), np.dtype("f4" if self.dtype.itemsize == 8 else "f8")
            )
        return make_result(abs(self.value), self.dtype)

    def __round__(self):
        if is_whole(self.dtype):
            return cast_to_type(self, INT64)
        return cast_to_type(TypedValue(np.rint(self.value), self.dtype), INT64)

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        if not is_whole(self.dtype):
            raise TypeError(f"{self} is no index")
        return int(self.value)

    real = property(lambda self: _real_or_imaginary(self, "real"))
    imag = property(lambda self: _real_or_imaginary(self, "imag"))


def _real_or_imaginary(number, name):
    return make_result(
        getattr(number.value, name), np.dtype("f4" if number.dtype.itemsize == 8 else "f8")
    )


def _extreme_of(pick):
    def pick_extreme(first, *others):
        result = to_typed(first)
        for other in map(to_typed, others):
            t = common_type(result.dtype, other.dtype)
            a, b = cast_to_type(result, t), cast_to_type(other, t)
            if a.value != a.value or b.value != b.value:
                raise UndefinedResult
            result = TypedValue(pick(a.value, b.value), t)
        return result

    return pick_extreme


def _to_int(value):
    value = to_typed(value)
    return value if is_whole(value.dtype) and value.dtype != BOOL else cast_to_type(value, INT64)


def _to_float(value):
    value = to_typed(value)
    return cast_to_type(value, FLOAT64) if is_whole(value.dtype) else value


NAMES = {
    "int": _to_int, "float": _to_float, "bool": lambda v: cast_to_type(v, BOOL), "abs": abs, "round": round,
    "min": _extreme_of(min), "max": _extreme_of(max),
    **{np.dtype(t).name: lambda v, t=t: cast_to_type(v, t) for t in "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split()},
}  # fmt: skip
"""What a program finds under these names."""
