"""Numbers with numba's arithmetic. If Python runs a kernel's body with such numbers, it computes
the expected results of the kernel.

A Typed is a Python number with a dtype; its operators have numba's result types. Operations
that numba does not define (a signed overflow, a division of integers by zero) raise Undefined.
"""

import math
import operator

import numpy as np


class Undefined(ArithmeticError):
    """The result is undefined."""


INT64, UINT64, FLOAT64, BOOL = (np.dtype(t) for t in ("i8", "u8", "f8", "?"))


def is_whole(t):
    return t.kind in "biu"


def typed(value):
    if isinstance(value, Typed):
        return value
    kinds = {bool: BOOL, int: INT64, float: FLOAT64, complex: np.dtype("c16")}
    return Typed(value, kinds[type(value)])


def _as_float(t):
    """Returns the type of an operand in an operation with a float."""
    return t if not is_whole(t) else np.dtype("f4" if np.can_cast(t, "i2") else "f8")


def common(a, b):
    """Returns the type of a + b."""
    if is_whole(a) and is_whole(b):
        return UINT64 if a.kind == b.kind == "u" else INT64
    return np.promote_types(_as_float(a), _as_float(b))


def common_type(a, b):
    """Returns the common type of a variable that has one type on one path and another type on
    another path."""
    return np.promote_types(a, b)


def cast(value, t):
    """Returns a number as another type, as C++ and numba cast."""
    value, t = typed(value), np.dtype(t)
    v = value.value
    if t.kind == "b":
        return Typed(bool(v), t)
    if t.kind in "iu":
        if not is_whole(value.dtype):
            if not math.isfinite(v):
                raise Undefined
            v = math.trunc(float(v))
            info = np.iinfo(t)
            if not info.min <= v <= info.max:
                raise Undefined
        v = int(v) & (1 << 8 * t.itemsize) - 1
        if t.kind == "i" and v >> 8 * t.itemsize - 1:
            v -= 1 << 8 * t.itemsize
        return Typed(v, t)
    if t.kind == "f":
        with np.errstate(all="ignore"):
            return Typed(t.type(v if not is_whole(value.dtype) else int(v)), t)
    return Typed(t.type(v), t)


def make_result(value, t):
    """Returns the result of an operation whose type is t."""
    if t.kind == "i":
        info = np.iinfo(t)
        if not info.min <= value <= info.max:
            raise Undefined
        return Typed(int(value), t)
    if t.kind == "u":
        return Typed(int(value) & (1 << 8 * t.itemsize) - 1, t)
    return Typed(t.type(value), t)


def _binary(compute):
    def method(self, other):
        other = typed(other)
        t = common(self.dtype, other.dtype)
        a, b = cast(self, t).value, cast(other, t).value
        with np.errstate(all="ignore"):
            return make_result(compute(a, b), t)

    return _with_reflected(method)


def _with_reflected(method):
    def reflected(self, other):
        return method(typed(other), self)

    return method, reflected


def _quotient(self, other):
    other = typed(other)
    t = common(self.dtype, other.dtype)
    t = FLOAT64 if is_whole(t) else t
    a, b = cast(self, t).value, cast(other, t).value
    if b == 0:
        raise Undefined
    with np.errstate(all="ignore"):
        return make_result(a / b, t)


def _floor_operation(which):
    def compute(a, b):
        if b == 0 or not (math.isfinite(a) and math.isfinite(b)):
            raise Undefined
        return which(a, b)

    return compute


def _power(self, other):
    other = typed(other)
    if is_whole(other.dtype) and not is_whole(self.dtype):
        t = self.dtype
    else:
        t = common(self.dtype, other.dtype)
    if self.dtype == BOOL and other.dtype == np.int32:
        t = np.dtype("f4")
    if is_whole(t):
        if other.value < 0:
            raise Undefined
        return make_result(self.value**other.value, t)
    if self.value == 0 or (self.value < 0 and not is_whole(other.dtype)):
        raise Undefined
    with np.errstate(all="ignore"):
        return make_result(cast(self, t).value ** float(other.value), t)


def _bitwise(compute):
    def method(self, other):
        other = typed(other)
        a, b = self.dtype, other.dtype
        if a == b == BOOL:
            return Typed(bool(compute(self.value, other.value)), BOOL)
        t = common(a, b)
        return cast(compute(cast(self, t).value, cast(other, t).value), t)

    return _with_reflected(method)


def _shift(compute):
    def method(self, other):
        other = typed(other)
        if not 0 <= other.value < 64:
            raise Undefined
        t = UINT64 if self.dtype.kind == "u" else INT64
        return cast(Typed(compute(int(self.value), int(other.value)), t), t)

    return _with_reflected(method)


def _comparison(compute):
    def method(self, other):
        other = typed(other)
        a, b = self, other
        if not (is_whole(a.dtype) and is_whole(b.dtype)):
            t = common(a.dtype, b.dtype)
            a, b = cast(a, t), cast(b, t)
        return Typed(bool(compute(a.value, b.value)), BOOL)

    return method


class Typed:
    __slots__ = ("dtype", "value")

    def __init__(self, value, dtype):
        self.value, self.dtype = value, np.dtype(dtype)

    def __repr__(self):
        return f"{self.dtype.name}({self.value!r})"

    __hash__ = None
    __add__, __radd__ = _binary(operator.add)
    __sub__, __rsub__ = _binary(operator.sub)
    __mul__, __rmul__ = _binary(operator.mul)
    __truediv__, __rtruediv__ = _with_reflected(_quotient)
    __floordiv__, __rfloordiv__ = _binary(_floor_operation(operator.floordiv))
    __mod__, __rmod__ = _binary(_floor_operation(operator.mod))
    __pow__, __rpow__ = _with_reflected(_power)
    __and__, __rand__ = _bitwise(operator.and_)
    __or__, __ror__ = _bitwise(operator.or_)
    __xor__, __rxor__ = _bitwise(operator.xor)
    __lshift__, __rlshift__ = _shift(operator.lshift)
    __rshift__, __rrshift__ = _shift(operator.rshift)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)

    def _widened(self):
        if not is_whole(self.dtype):
            return self.dtype
        return UINT64 if self.dtype.kind == "u" else INT64

    def _narrow(self):
        """Returns the type in which a sign is computed: unsigned numbers are widened afterwards."""
        return self.dtype if self.dtype.kind == "u" else self._widened()

    def __neg__(self):
        negated = make_result(-cast(self, self._narrow()).value, self._narrow())
        return cast(negated, self._widened())

    def __pos__(self):
        return cast(self, self._widened())

    def __invert__(self):
        if self.dtype == BOOL:
            return Typed(not self.value, BOOL)
        return cast(make_result(~self.value, self._narrow()), self._widened())

    def __abs__(self):
        if self.dtype.kind == "c":
            return make_result(
                abs(self.value), np.dtype("f4" if self.dtype.itemsize == 8 else "f8")
            )
        return make_result(abs(self.value), self.dtype)

    def __round__(self):
        if is_whole(self.dtype):
            return cast(self, INT64)
        return cast(Typed(np.rint(self.value), self.dtype), INT64)

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


def _extreme(pick):
    def function(first, *others):
        result = typed(first)
        for other in map(typed, others):
            t = common_type(result.dtype, other.dtype)
            a, b = cast(result, t), cast(other, t)
            if a.value != a.value or b.value != b.value:
                raise Undefined
            result = Typed(pick(a.value, b.value), t)
        return result

    return function


def _int(value):
    value = typed(value)
    return value if is_whole(value.dtype) and value.dtype != BOOL else cast(value, INT64)


def _float(value):
    value = typed(value)
    return cast(value, FLOAT64) if is_whole(value.dtype) else value


NAMES = {
    "int": _int, "float": _float, "bool": lambda v: cast(v, BOOL), "abs": abs, "round": round,
    "min": _extreme(min), "max": _extreme(max),
    **{np.dtype(t).name: lambda v, t=t: cast(v, t) for t in "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split()},
}  # fmt: skip
"""What a program finds under these names."""
