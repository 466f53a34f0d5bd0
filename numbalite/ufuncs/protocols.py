"""Implements ufuncs of NumPy and SciPy on device arrays: np.add(d, 1), np.add.reduce(d, axis=0), d * 2 + e,
special.erf(d).

NumPy calls DeviceNDArray.__array_ufunc__, which calls this module. If the table below contains NumPy's ufunc,
a CUDA ufunc of the same expression runs. NumPy's type resolution selects the loop, so dtypes, exceptions,
`out=`, `where=`, `casting=` and the methods are NumPy's. Other ufuncs raise TypeError with the reason and a
remedy; no ufunc of device arrays computes on the host.
"""

from __future__ import annotations

import importlib

import numpy as np

from .. import _core
from . import element, operands, resolve, special
from .cudaufunc import CudaUfunc

# The names of NumPy's ufuncs -> (expression, dtype kinds of the loops: b u i f c).
_REAL, _ALL, _WHOLE = "buif", "buifc", "bui"
_TABLE = {
    "add": ("x + y", _ALL),
    "subtract": ("x - y", _ALL),
    "multiply": ("x * y", _ALL),
    "divide": ("x / y", "fc"),
    "floor_divide": ("np_floor_divide(x, y)", _REAL),
    "remainder": ("np_remainder(x, y)", _REAL),
    "fmod": ("np_fmod(x, y)", _REAL),
    "divmod": ("make_tuple(np_floor_divide(x, y), np_remainder(x, y))", _REAL),
    "power": ("np_power(x, y)", _ALL),
    "float_power": ("np_power(x, y)", "fc"),
    "negative": ("np_negative(x)", _ALL),
    "positive": ("x", _ALL),
    "absolute": ("np_absolute(x)", _ALL),
    "fabs": ("np_absolute(x)", "f"),
    "sign": ("np_sign(x)", _ALL),
    "square": ("x * x", _ALL),
    "reciprocal": ("np_reciprocal(x)", _ALL),
    "conjugate": ("np_conjugate(x)", _ALL),
    "ldexp": ("np_ldexp(x, y)", "fi"),
    "frexp": ("make_tuple(np_mantissa(x), np_exponent(x))", "f"),
    "modf": ("make_tuple(np_fraction(x), np_trunc(x))", "f"),
    "nextafter": ("np_nextafter(x, y)", "f"),
    "spacing": ("np_spacing(x)", "f"),
    "heaviside": ("np_heaviside(x, y)", "f"),
    "maximum": ("np_maximum(x, y)", _ALL),
    "minimum": ("np_minimum(x, y)", _ALL),
    "fmax": ("np_fmax(x, y)", _ALL),
    "fmin": ("np_fmin(x, y)", _ALL),
    **{name: (f"np_{name}(x)", _REAL) for name in ("floor", "ceil", "trunc")},
    "rint": ("np_rint(x)", _ALL),
    **{name: (f"{name}(x)", "fc") for name in ("sqrt", "exp", "log", "log2", "log10")},
    **{name: (f"{name}(x)", "fc") for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: (f"{name}(x)", "fc") for name in ("exp2", "expm1", "log1p")},
    "cbrt": ("cbrt(x)", "f"),
    **{f"arc{name}": (f"a{name}(x)", "fc") for name in ("sin", "cos", "tan")},
    **{name: (f"np_{name}(x)", "fc") for name in ("arcsinh", "arccosh", "arctanh")},
    "arctan2": ("np_arctan2(x, y)", "f"),
    "hypot": ("np_hypot(x, y)", "f"),
    "copysign": ("np_copysign(x, y)", "f"),
    "logaddexp": ("np_logaddexp(x, y)", "f"),
    "logaddexp2": ("np_logaddexp2(x, y)", "f"),
    **dict.fromkeys(("degrees", "rad2deg"), ("np_degrees(x)", "f")),
    **dict.fromkeys(("radians", "deg2rad"), ("np_radians(x)", "f")),
    "bitwise_and": ("x & y", _WHOLE),
    "bitwise_or": ("x | y", _WHOLE),
    "bitwise_xor": ("x ^ y", _WHOLE),
    "invert": ("np_invert(x)", _WHOLE),
    "left_shift": ("np_left_shift(x, y)", _WHOLE),
    "right_shift": ("np_right_shift(x, y)", _WHOLE),
    "bitwise_count": ("np_bitwise_count(x)", _WHOLE),
    "gcd": ("np_gcd(x, y)", _WHOLE),
    "lcm": ("np_lcm(x, y)", _WHOLE),
    "equal": ("np_equal(x, y)", _ALL),
    "not_equal": ("!np_equal(x, y)", _ALL),
    "less": ("np_less(x, y)", _ALL),
    "less_equal": ("np_less_equal(x, y)", _ALL),
    "greater": ("np_less(y, x)", _ALL),
    "greater_equal": ("np_less_equal(y, x)", _ALL),
    "logical_and": ("np_true(x) && np_true(y)", _ALL),
    "logical_or": ("np_true(x) || np_true(y)", _ALL),
    "logical_xor": ("np_true(x) != np_true(y)", _ALL),
    "logical_not": ("!np_true(x)", _ALL),
    "isnan": ("np_isnan(x)", _ALL),
    "isinf": ("np_isinf(x)", _ALL),
    "isfinite": ("np_isfinite(x)", _ALL),
    "signbit": ("np_signbit(x)", "f"),
}
# Ufuncs without an identity whose reductions over several axes do not depend on the order of the axes.
_REORDERABLE = (np.maximum, np.minimum, np.fmax, np.fmin)
# Ufuncs whose reductions and scans may be split into parts.
# NumPy applies all other ufuncs strictly from left to right.
_ASSOCIATIVE = {
    *("add", "multiply", "maximum", "minimum", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2"),
    *("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("gcd", "lcm"),
}
_LOGICAL = {np.logical_and, np.logical_or, np.logical_xor}
_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}
# Ufuncs of matrices: importing these modules adds their device versions to the table of the C code.
_LATER = dict.fromkeys(("matmul", "vecdot", "matvec", "vecmat"), "numbalite.linalg.matmul")


class NumpyUfunc(CudaUfunc):
    """The device version of a ufunc of NumPy or SciPy, which uses that ufunc's type resolution."""

    is_numpys = True

    def __init__(self, ufunc, expression, kinds, module="numpy"):
        self._numpy = ufunc
        self._kinds = kinds
        self._called = f"{module}.{ufunc.__name__}"
        args = "x, y" if ufunc.nin == 2 else "x"
        function = element.element_function(
            source=expression, args=args, name=f"np_{_ufunc_name(ufunc)}_"
        )
        identity = "reorderable" if ufunc in _REORDERABLE else ufunc.identity
        super().__init__(function, (), None, identity, ufunc.__doc__)
        self.__name__ = ufunc.__name__

    def _operand_counts(self, nout):
        return self._numpy.nin, self._numpy.nout

    def _check_binary(self, method):
        super()._check_binary(method)
        if method != "outer" and _ufunc_name(self._numpy) not in _ASSOCIATIVE:
            raise TypeError(
                f"{self._called}.{method} has no counterpart on the device, where several "
                "threads reduce one result and the function must be associative: copy_to_host() first"
            )

    def _loop_for(self, *asked):
        request = resolve.CallTypes(self, *asked)
        if any(getattr(one, "names", None) for one in request.inputs):
            raise TypeError(
                f"{self._called} of records has no counterpart on the device: compute with their "
                "fields, as d['name'], or copy_to_host() first"
            )
        keywords = {"casting": request.casting}
        if request.fixed is not None and any(request.fixed):
            keywords["signature"] = request.fixed
        if request.casting == "equiv":  # NumPy's resolve_dtypes crashes for Python numbers
            inputs = [np.dtype(one) if isinstance(one, type) else one for one in request.inputs]
        else:
            inputs = request.inputs
        loop = self._numpy.resolve_dtypes((*inputs, *request.outputs), **keywords)
        for t in loop[: self.nin]:
            if t.kind not in self._kinds:
                raise TypeError(
                    f"{self._called} of {' and '.join(map(str, loop[: self.nin]))} has no "
                    "counterpart on the device: copy_to_host() first, or use vectorize"
                )
        return tuple(loop)

    def _loop_dtype(self, method, inputs, dtype=None):
        """Returns the loop's dtype. Reductions of logical ufuncs convert the elements to booleans first."""
        if self._numpy not in _LOGICAL or method == "at":
            if dtype is not None:  # raises NumPy's exception if NumPy has no loop for this dtype
                same = (np.dtype(dtype),) * 3
                operands.check_dtype(same[0], self.__name__)
                self._loop_for(same[:2], same[2:], "same_kind", None, same)
            return super()._loop_dtype(method, inputs, dtype)
        if dtype is not None and np.dtype(dtype) != bool:
            raise resolve.no_loop_error(self)
        return np.dtype(bool)

    def _reduction_dtype(self, dtype, array, out):
        """Returns the reduction's dtype. As in NumPy, sums and products of integers use at least the default
        integer."""
        if dtype is not None or out is not None or self._numpy not in (np.add, np.multiply):
            return dtype
        default = np.dtype(np.uintp if array.dtype.kind == "u" else np.intp)
        return default if array.dtype.kind in "bui" and array.dtype.itemsize < 8 else None

    def _reduction_loops_for(self, stored, loop):
        """Returns (the object with the kernels of a reduction, its loop dtype). Sums and products of
        floating-point numbers use an accumulator of higher precision."""
        if self._numpy in (np.add, np.multiply) and loop.kind in "fc":
            onepass = importlib.import_module("numbalite.functions.onepass")
            is_sum = self._numpy is np.add
            loops = onepass.sum_loops(stored, loop) if is_sum else onepass.product_loops(loop)
            return loops, loops.loop_dtype
        return super()._reduction_loops_for(stored, loop)

    def __reduce__(self):
        return cuda_ufunc_for, (self._numpy,)


def _ufunc_name(ufunc):
    return "conjugate" if ufunc.__name__ == "conj" else ufunc.__name__


def cuda_ufunc_for(ufunc) -> CudaUfunc:
    """Returns the CUDA ufunc for a NumPy ufunc; raises TypeError if there is none."""
    made = _core.ufunc_counterparts.get(ufunc)
    if made is not None:
        return made
    if not isinstance(ufunc, np.ufunc):
        raise TypeError(f"a NumPy ufunc is expected, not {ufunc!r}")
    name = _ufunc_name(ufunc)
    if getattr(np, name, None) is ufunc and name in _TABLE:
        made = NumpyUfunc(ufunc, *_TABLE[name])
        if ufunc is np.power:
            made._check = _check_powers
        return _core.ufunc_counterparts.setdefault(ufunc, made)
    if getattr(np, name, None) is ufunc and name in _LATER:
        importlib.import_module(_LATER[name])
        return _core.ufunc_counterparts[ufunc]
    found = special.find_expression(ufunc)
    if found is not None:
        made = NumpyUfunc(ufunc, *found, "scipy.special")
        return _core.ufunc_counterparts.setdefault(ufunc, made)
    if _core.ufunc_owner(ufunc) is not None:
        raise TypeError(
            f"{name} runs on the CPU, but an argument is a device array: make it with target='cuda', or "
            "pass copy_to_host()"
        )
    if special.is_scipy_ufunc(ufunc):
        raise TypeError(
            f"scipy.special.{name} has no counterpart on the device. CuPy may have it: "
            f"cupyx.scipy.special.{name}(cupy.asarray(d)), without a copy; or copy_to_host() first, or "
            "write it with vectorize(target='cuda')"
        )
    raise TypeError(
        f"{name} has no counterpart on the device: copy_to_host() first, or write it with "
        "vectorize(target='cuda')"
    )


def _is_supported(operand):
    """Returns whether a CUDA ufunc accepts this operand. An operand of another type can implement the call
    itself, as in NumPy."""
    if isinstance(operand, (np.ndarray, np.generic, int, float, complex, list, tuple)):
        return True
    if isinstance(operand, _core.DeviceArray) or operand is None:
        return True
    override = getattr(type(operand), "__array_ufunc__", None)
    return override is None or hasattr(operand, "__cuda_array_interface__")


def array_ufunc(ufunc, method, *inputs, **keywords):
    """Returns the result of DeviceNDArray.__array_ufunc__ for calls that the C fast path does not handle."""
    if not all(map(_is_supported, (*inputs, *keywords.get("out", ())))):
        return NotImplemented
    made = cuda_ufunc_for(ufunc)
    return (made if method == "__call__" else getattr(made, method))(*inputs, **keywords)


def compare_out_of_range(ufunc, method, *inputs, **keywords):
    """Returns NumPy's comparison with a Python integer that is out of the dtype's range, which the C fast
    path rejects.

    The integer is replaced by an infinity of the same sign. Returns None for other calls.
    """
    if ufunc not in _COMPARISONS:
        return None
    dtypes = [one.dtype for one in inputs if hasattr(one, "dtype") and one.dtype.kind in "iu"]
    nearer = [_as_infinity(one, dtypes) for one in inputs]
    if all(one is other for one, other in zip(nearer, inputs, strict=True)):
        return None
    return array_ufunc(ufunc, method, *nearer, **keywords)


def _as_infinity(value, dtypes):
    """Returns an infinity for a Python integer out of the range of one of the dtypes; returns other values
    unchanged."""
    if type(value) is int:
        for info in map(np.iinfo, dtypes):
            if not info.min <= value <= info.max:
                return np.inf if value > 0 else -np.inf
    return value


def _check_powers(exponent, where):
    """Raises ValueError for integers to negative integer powers, as in NumPy. Exponents in device memory are
    checked on the device, and the caller waits for the result."""
    if type(exponent) is int and exponent >= 0:
        return
    on_device = operands.is_on_device(exponent)
    value = operands.device_view(exponent) if on_device else operands.host_array(exponent)
    if value.dtype.kind != "i":
        return
    negative = np.less(value, 0)
    if where is not True:
        negative = np.logical_and(negative, where)
    if bool(np.any(negative)):
        raise ValueError("Integers to negative integer powers are not allowed.")
