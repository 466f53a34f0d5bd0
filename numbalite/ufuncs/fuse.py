"""Implements ``numbalite.fuse``, which compiles an element-wise Python function of arrays to one kernel.

The function is called once for each list of types, with operands that record operations (`_TracedValue`). The trace becomes
the body of a ufunc, or of a map-reduce kernel. Each step of the trace uses the loop of its ufunc, so the
types equal those of the unfused function.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from numbalite import _core, types
from numbalite.cxx import capture, linemap
from numbalite.cxx.definition import Definition
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.options import Options
from numbalite.ndarray import assign

from . import mapped, operands
from .cudaufunc import CudaUfunc
from .protocols import cuda_ufunc_for
from .ruled import where_function

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_WEAK = {int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)}
_PYTHON = {"i": int, "u": int, "f": float, "c": complex}
_REDUCTIONS = {
    "sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum, "amax": np.maximum,
    "amin": np.minimum, "any": np.logical_or, "all": np.logical_and,
}  # fmt: skip


@overload
def fuse(function: Callable[..., Any]) -> Fused: ...
@overload
def fuse(function: None = None) -> type[Fused]: ...
def fuse(function: Callable | None = None) -> Any:
    """Compiles an element-wise Python function of arrays to one kernel.

    The function may use NumPy's ufuncs, operators, numbalite's GPU ufuncs,
    ``np.where``, ``np.clip``, ``.astype``, and as the last step one sum, prod,
    max, min, any or all. The function is called once for each list of argument
    types, with placeholders for the arrays; the placeholders record the
    operations. Types and results equal those of the function without ``fuse``.

    Parameters
    ----------
    function : function
        The function of arrays.

    Returns
    -------
    Fused or decorator
        The fused function. The arguments of the fused function are device
        arrays, host arrays and numbers, which are broadcast. ``out=`` and
        ``stream=`` have the same meaning as for ufuncs. Without a function, a
        decorator is returned.

    Raises
    ------
    TypeError
        ``function`` is not callable. A call raises TypeError for operations
        that cannot be fused: branches on values, indexing, functions of
        whole arrays, and a reduction before the last step.

    Examples
    --------
    >>> @numbalite.fuse
    ... def distance(x, y):
    ...     return np.sqrt(x * x + y * y)
    >>> d = cuda.to_device(np.array([3.0, 6.0]))
    >>> print(distance(d, 4.0)[0])
    5.0
    """
    return Fused if function is None else Fused(function)


class Fused:
    """A fused function; see numbalite.fuse."""

    __name__: str

    def __init__(self, function: Callable):
        if not callable(function):
            raise TypeError(f"fuse takes a function, not {function!r}")
        functools.update_wrapper(self, function)
        self.function = function
        self._programs: dict[tuple, Any] = {}

    def __call__(self, *args: Any, out: Any = None, stream: Any = 0) -> Any:
        key = tuple(map(_argument_type, args))
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = _program_for(self.function, key)
        return _core.call_for_owners(program, args, out, stream)

    def jvp(self, primals: Any, tangents: Any) -> Any:
        """Returns (f(x...), its derivative in the direction of the tangents), as for ufuncs.

        Raises TypeError for a function whose last step is a reduction other than a sum.
        """
        return self._differentiable(primals).jvp(tuple(primals), tuple(tangents))

    def vjp(self, primals: Any, cotangents: Any) -> tuple:
        """Returns the gradients with respect to the primals, as for ufuncs.

        Raises TypeError for a function whose last step is a reduction other than a sum.
        """
        return self._differentiable(primals).vjp(tuple(primals), cotangents)

    def _differentiable(self, primals):
        key = tuple(map(_argument_type, primals))
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = _program_for(self.function, key)
        return program

    def inspect_source(self, *args: Any) -> str:
        """Returns the generated C++ body for arguments of these types."""
        return _program_for(self.function, tuple(map(_argument_type, args))).text

    def __repr__(self) -> str:
        return f"<fused {self.__name__}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def _argument_type(value):
    """Returns the dtype of an argument; int, float or complex for a number without a dtype."""
    kind = type(value)
    if kind in _WEAK:
        return kind
    if isinstance(value, _core.DeviceArray):
        return _number_type(value.dtype)
    dtype = getattr(value, "dtype", None)
    if dtype is None or not isinstance(dtype, np.dtype):
        if operands.is_on_device(value):
            dtype = operands.device_view(value).dtype
        else:
            dtype = np.asarray(value).dtype
    return _number_type(dtype)


@functools.lru_cache(64)
def _number_type(dtype):
    """Returns the dtype in native byte order; raises TypeError if the device does not support it."""
    if not assign.is_number(dtype.newbyteorder("=")):
        raise operands.unsupported_dtype_error(dtype, "fuse")
    return dtype.newbyteorder("=")


# ------------------------------------------------------------------------------------------- tracing


class _Statement(NamedTuple):
    """One statement of the generated body."""

    text: str
    dtype: np.dtype


class _Reduction(NamedTuple):
    """The reduction in the last step."""

    ufunc: np.ufunc
    value: _TracedValue
    keywords: dict


class _Trace:
    """The recorded operations of a function."""

    def __init__(self, name):
        self.name = name
        self.constants: list = []
        self.steps: list[_Statement] = []
        self.functions: dict[str, DeviceFunction] = {}
        self.count = 0

    def add_statement(self, text, dtype):
        self.steps.append(_Statement(text, dtype))
        return f"v{len(self.steps) - 1}"

    def add_constant(self, value):
        """Adds a constant of the function as another parameter of the kernel."""
        dtype = _argument_type(value)
        self.constants.append(value)
        return _TracedValue(self, f"c{len(self.constants) - 1}", dtype)

    def function(self, ufunc):
        for name, known in self.functions.items():
            if known is ufunc._function:
                return name
        name = f"u{len(self.functions)}"
        self.functions[name] = ufunc._function
        return name

    def record_call(self, ufunc, given, keywords, is_operator=False):
        """Records a call of a ufunc. Returns its traced results."""
        if ufunc.signature is not None:
            raise TypeError(f"fuse: {ufunc.__name__} is a function of whole arrays")
        made = ufunc if isinstance(ufunc, CudaUfunc) else cuda_ufunc_for(ufunc)
        for word in keywords:
            if word not in ("dtype", "casting", "signature"):
                raise TypeError(f"fuse: {ufunc.__name__} with {word}= cannot be fused")
        if len(given) != made.nin:
            raise TypeError(f"fuse: {ufunc.__name__} takes {made.nin} inputs")
        inputs = [
            one if isinstance(one, _TracedValue) else self.add_constant(_constant_number(one))
            for one in given
        ]
        loop = made._loop_for(
            tuple(one.type for one in inputs), (None,) * made.nout,
            keywords.get("casting", "same_kind"), keywords.get("dtype"), keywords.get("signature"),
        )  # fmt: skip
        words = ", ".join(map(_conversion_text, inputs, loop))
        name = self.function(made)
        if made.nout > 1:
            whole = self.add_statement(f"const auto {{}} = {name}({words});", None)
            return tuple(
                self.store_result(f"numbalite::get<{i}>({whole})", dtype)
                for i, dtype in enumerate(loop[made.nin :])
            )
        result = self.store_result(f"{name}({words})", loop[-1])
        if is_operator and all(one.type in _WEAK for one in inputs) and loop[-1].kind in _PYTHON:
            result.type = _PYTHON[loop[-1].kind]  # results of Python numbers remain Python numbers
        return result

    def store_result(self, text, dtype):
        cxx = types.scalar(dtype).cxx
        name = self.add_statement(
            f"const {cxx} {{}} = numbalite::nl_convert<{cxx}>({text});", dtype
        )
        return _TracedValue(self, name, dtype)

    def body_text(self, result):
        lines = [step.text.format(f"v{i}") for i, step in enumerate(self.steps)]
        return "\n".join([*lines, f"return {result};"])


def _conversion_text(one, dtype):
    if _dtype_of_kind(one.type) == dtype:
        return one.name
    return f"numbalite::nl_convert<{types.scalar(dtype).cxx}>({one.name})"


def _dtype_of_kind(kind):
    return _WEAK.get(kind, kind)


def _constant_number(value):
    """Returns a constant of the function as a number; raises TypeError for other values."""
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    raise TypeError(
        f"fuse: {type(value).__name__} is used in the function: give arrays as arguments"
    )


def _unsupported_method(what):
    def raise_unsupported(self, *args, **keywords):
        raise TypeError(f"fuse: {what}")

    return raise_unsupported


_BY_VALUE = (
    "the function decides by values (if, while, and, or, min(), float()), which are not known when it "
    "is fused: use np.where, np.minimum, &, |"
)


def _binary_operator(ufunc, is_turned=False):
    def record_operator(self, other):
        if isinstance(other, (_core.DeviceArray, np.ndarray)) and getattr(other, "ndim", 0):
            _constant_number(other)
        pair = (other, self) if is_turned else (self, other)
        return self.trace.record_call(ufunc, pair, {}, True)

    return record_operator


class _TracedValue:
    """A placeholder for an array or a number while a function is traced."""

    __array_priority__ = 1000

    def __init__(self, trace, name, kind):
        self.trace = trace
        self.name = name
        self.type = kind

    @property
    def dtype(self):
        return _dtype_of_kind(self.type)

    def astype(self, dtype, *args, **keywords):
        dtype = types.scalar(np.dtype(dtype)).dtype
        return self.trace.store_result(self.name, dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **keywords):
        if method == "__call__":
            return self.trace.record_call(ufunc, inputs, keywords)
        if method == "reduce" and inputs[0] is self:
            names = ("axis", "dtype", "out", "keepdims")
            return _ReductionResult(
                _Reduction(ufunc, self, {**dict(zip(names, inputs[1:])), **keywords})
            )
        raise TypeError(f"fuse: {ufunc.__name__}.{method} cannot be fused")

    def __array_function__(self, function, kinds, args, keywords):
        name = function.__name__
        # Functions are compared by name, because other code may wrap numpy.where.
        of_numpy = name if function.__module__ == "numpy" else ""
        if of_numpy in _REDUCTIONS and args and args[0] is self:
            return _trace_reduction(name, *args, **keywords)
        if of_numpy == "where" and len(args) == 3:
            return self.trace.record_call(where_function(), args, {})
        if of_numpy == "clip":
            return _trace_clip(*args, **keywords)
        raise TypeError(f"fuse: numpy.{name} is not an element-wise function and cannot be fused")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise TypeError(f"fuse: the placeholder of an array has no attribute {name}")

    def clip(self, min=None, max=None):
        return _trace_clip(self, min, max)

    def conj(self):
        return np.conjugate(self)

    conjugate = conj

    def __pow__(self, other):
        special = {2: np.square, 1: np.positive, 0.5: np.sqrt, -1: np.reciprocal}
        if type(other) in (int, float) and other in special and self.dtype.kind in "fc":
            if self.type not in _WEAK:
                return self.trace.record_call(special[other], (self,), {})
        return self.trace.record_call(np.power, (self, other), {}, True)

    def __neg__(self):
        return self.trace.record_call(np.negative, (self,), {}, True)

    def __pos__(self):
        return self.trace.record_call(np.positive, (self,), {}, True)

    def __abs__(self):
        return self.trace.record_call(np.absolute, (self,), {}, True)

    def __invert__(self):
        return self.trace.record_call(np.invert, (self,), {}, True)

    __bool__ = __float__ = __int__ = __complex__ = __index__ = _unsupported_method(_BY_VALUE)
    __iter__ = __len__ = __getitem__ = __setitem__ = __array__ = _unsupported_method(
        "the function asks for elements or for whole arrays: it computes element by element"
    )
    shape = ndim = size = property(
        _unsupported_method("the function asks for a shape, which calls may differ in")
    )
    __hash__ = None  # type: ignore[assignment]


for _word, _ufunc in {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "divmod": np.divmod, "and": np.bitwise_and,
    "or": np.bitwise_or, "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift,
}.items():  # fmt: skip
    setattr(_TracedValue, f"__{_word}__", _binary_operator(_ufunc))
    setattr(_TracedValue, f"__r{_word}__", _binary_operator(_ufunc, True))
_TracedValue.__rpow__ = _binary_operator(np.power, True)  # type: ignore[attr-defined]
for _word, _ufunc in {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}.items():  # fmt: skip
    setattr(_TracedValue, f"__{_word}__", _binary_operator(_ufunc))


def _trace_reduction(name, a, axis=None, dtype=None, out=None, keepdims=False, **more):
    if name in (
        "max",
        "min",
        "amax",
        "amin",
        "any",
        "all",
    ):  # max, min, any and all have no dtype parameter
        dtype, out, keepdims = None, dtype, more.pop("keepdims", out or False)
    for word, value in {"out": out, **more}.items():
        if value is not None and value is not np._NoValue:
            raise TypeError(f"fuse: {name} with {word}= cannot be fused")
    keepdims = keepdims is not np._NoValue and bool(keepdims)
    return _ReductionResult(
        _Reduction(_REDUCTIONS[name], a, {"axis": axis, "dtype": dtype, "keepdims": keepdims})
    )


def _reduction_method(name):
    def trace_reduction(self, *args, **keywords):
        return _trace_reduction(name, self, *args, **keywords)

    return trace_reduction


for _word in ("sum", "prod", "max", "min", "any", "all"):
    setattr(_TracedValue, _word, _reduction_method(_word))


class _ReductionResult:
    """The placeholder for the result of a reduction, which must be the last step."""

    __array_priority__ = 1000
    __array_ufunc__ = _unsupported_method("a reduction must be the last step of the function")
    __array_function__ = __array_ufunc__
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, reduction):
        self.reduction = reduction

    def __getattr__(self, name):
        raise TypeError("fuse: a reduction must be the last step of the function")


for _word in (
    *("add radd sub rsub mul rmul truediv rtruediv floordiv mod pow rpow neg abs eq ne lt le gt ge").split(),
    *("bool", "float", "int", "getitem", "and", "or", "xor", "invert"),
):  # fmt: skip
    setattr(
        _ReductionResult,
        f"__{_word}__",
        _unsupported_method("a reduction must be the last step of the function"),
    )


def _trace_clip(a, a_min=None, a_max=None, *, min=None, max=None):
    low, high = (a_min, a_max) if a_min is not None or a_max is not None else (min, max)
    if low is not None:
        a = np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


# ------------------------------------------------------------------------------------------- programs


def _program_for(function, kinds):
    """Returns the cached program for arguments of these types."""
    trace = _Trace(function.__name__)
    given = [_TracedValue(trace, f"x{i}", kind) for i, kind in enumerate(kinds)]
    made = function(*given)
    if isinstance(made, _ReductionResult):
        return _FusedReduction(trace, kinds, made.reduction)
    results = made if isinstance(made, tuple) else (made,)
    results = tuple(
        one if isinstance(one, _TracedValue) else trace.add_constant(_constant_number(one))
        for one in results
    )
    return _FusedMapping(trace, kinds, results)


def _traced_function(trace, kinds, results):
    """Returns (DeviceFunction, signature) of the generated body."""
    parameters = [f"x{i}" for i in range(len(kinds))]
    parameters += [f"c{i}" for i in range(len(trace.constants))]
    of = [
        types.scalar(_dtype_of_kind(kind))
        for kind in (*kinds, *map(_argument_type, trace.constants))
    ]
    to = [types.scalar(one.dtype) for one in results]
    names = ", ".join(one.name for one in results)
    text = trace.body_text(names if len(results) == 1 else f"make_tuple({names})")
    name = trace.name if trace.name.isidentifier() else "fused"
    definition = Definition(
        name,
        parameters,
        linemap.consecutive_text(text, f"<{name}, fused>"),
        capture.Scope(trace.functions),
    )
    returned = to[0] if len(to) == 1 else types.Tuple(to)
    return DeviceFunction(definition, (), None), types.Signature(returned, of), text


class _FusedMapping:
    """A program without a reduction: a ufunc of the trace."""

    def __init__(self, trace, kinds, results):
        function, signature, self.text = _traced_function(trace, kinds, results)
        self.constants = trace.constants
        self.ufunc = CudaUfunc(
            function, [signature], Options(), None, "", compile=False, quick=True
        )

    def __call__(self, args, out, stream):
        device = next((one for one in args if isinstance(one, _core.DeviceArray)), None)
        with assign.on_device_of(device):
            return self.ufunc(*args, *self.constants, out=out, casting="unsafe", stream=stream)

    def jvp(self, primals, tangents):
        fixed = self._typed_constants()
        return self.ufunc.jvp((*primals, *fixed), (*tangents, *(None,) * len(fixed)))

    def vjp(self, primals, cotangents):
        found = self.ufunc.vjp((*primals, *self._typed_constants()), cotangents)
        return found[: len(primals)]

    def _typed_constants(self):
        """Returns the list of constants, converted to the types of their parameters."""
        loop = self.ufunc._given[0].args[len(self.ufunc._given[0].args) - len(self.constants) :]
        return [t.dtype.type(c) for t, c in zip(loop, self.constants, strict=True)]


class _FusedReduction:
    """A program with a reduction: a map-reduce kernel of the trace."""

    def __init__(self, trace, kinds, reduction):
        value = reduction.value
        made = cuda_ufunc_for(reduction.ufunc)
        if reduction.ufunc in (np.logical_or, np.logical_and) and value.dtype != bool:
            value = trace.record_call(np.not_equal, (value, 0), {})
        dtype = reduction.keywords.get("dtype")
        dtype = made._reduction_dtype(dtype, value, None)
        dtype = value.dtype if dtype is None else np.dtype(dtype)
        self.axis, self.keepdims = (
            reduction.keywords.get("axis"),
            reduction.keywords.get("keepdims"),
        )
        if value.dtype != dtype:
            value = trace.store_result(value.name, dtype)
        function, signature, self.text = _traced_function(trace, kinds, (value,))
        self.constants = trace.constants
        self.name, self.is_sum = trace.name, reduction.ufunc is np.add
        self.mapping = _FusedMapping(trace, kinds, (value,))
        self.reduction = mapped.MapReduce(function, signature, made, dtype)

    def __call__(self, args, out, stream):
        return self.reduction((*args, *self.constants), self.axis, self.keepdims, out, stream)

    def jvp(self, primals, tangents):
        self._check_sum()
        return tuple(map(self._sum_over_axes, self.mapping.jvp(primals, tangents)))

    def vjp(self, primals, cotangents):
        self._check_sum()
        shape = np.broadcast_shapes(*map(np.shape, primals))
        if not self.keepdims and np.ndim(cotangents) and self.axis is not None:
            cotangents = np.expand_dims(cotangents, self._reduced_axes(len(shape)))
        return self.mapping.vjp(primals, np.broadcast_to(cotangents, shape))

    def _reduced_axes(self, ndim):
        axes = self.axis if isinstance(self.axis, tuple) else (self.axis,)
        return tuple(axis % ndim for axis in axes)

    def _sum_over_axes(self, array):
        return np.sum(array, axis=self.axis, keepdims=bool(self.keepdims))

    def _check_sum(self):
        if not self.is_sum:
            raise TypeError(
                f"fuse: {self.name} ends with a reduction other than a sum, which has no derivative"
            )
