"""Generalized ufuncs on the GPU, with the interface of NumPy's.

C code implements calls. The C code calls this module once for each combination of types (`_choose`), once for
each kernel (`_compile`), and in rare cases: operands that need conversion, layouts that a signature requires,
and an ``out=`` of another dtype.
"""

from __future__ import annotations

import inspect
import operator
from typing import Any

import numpy as np

from numbalite.ndarray.arrays import DeviceNDArray, to_device

from .. import _core, frontend, types
from ..errors import SignatureError
from ..kernels.kernel import SHARED_SIZE
from . import generalderivatives, gufuncloops, hostloops, hostufunc, resolve
from .deviceufunc import DeviceUfunc

CAST_THERE = 1 << 20
"""Bytes from which host arrays are converted on the device, which takes less time than here."""
_P = inspect.Parameter
_OPTIONS = (
    ("out", None), ("axes", _P.empty), ("axis", _P.empty), ("keepdims", False),
    ("casting", "same_kind"), ("order", "K"), ("dtype", None), ("subok", True),
    ("signature", None), ("stream", 0),
)  # fmt: skip
MAX_FIXED = 8
"""Kernels for core shapes of their own that one loop may have; further shapes take the general one."""


class CudaGUfunc(DeviceUfunc, _core.GUfunc):
    """The result of ``guvectorize(..., target="cuda")``: a callable like NumPy's generalized ufuncs.

    ``f(*inputs, out=None, axes=, axis=, keepdims=, casting="same_kind", order="K", dtype=None,
    signature=None, stream=0)``; outputs can be passed after the inputs. Inputs are device arrays, NumPy arrays, arrays
    of other libraries and numbers; results are on the host if all inputs are. A call raises ValueError if
    core or loop dimensions do not match, TypeError if no loop matches.
    """

    def __init__(
        self, function, signatures, layout, options, block=False, identity=None, compile=True,
        writable=(),
    ):  # fmt: skip
        self._initialize(function, signatures, options)
        self._block = block
        self._layout = hostloops.parse_layout(function.name, layout)
        self._writable = hostufunc.written_input_indices(function, writable, self._layout)
        self._written = self._written_inputs()
        self.signature = str(self._layout)
        self.identity = identity
        self._cores = tuple(map(len, self._layout.operands))
        self._threads = _block_size(block)
        self._fixed_plans = {}  # types -> launch plans for fixed core shapes
        self._loops += [
            _checked_signature(function, s, self._layout, self._written) for s in self._given
        ]
        super().__init__(
            self.__name__,
            self.signature,
            tuple((d.size, d.optional) for d in self._layout.dimensions),
            self._layout.operands,
            self.nin,
            bool(block),
            sum(1 << i for i in self._written),
        )
        if compile:
            self._compile_plans(map(self._launch_plan, self._loops))

    def _written_inputs(self):
        """Returns the indices of the inputs that the function writes, as listed in writable_args. Without
        writable_args and outputs, the function writes all arrays that are not const in the layout or the
        signatures."""
        if self._layout.nout or self._writable:
            return self._writable
        loops = [signature.args[: self.nin] for signature in self._given]
        columns = list(zip(*loops, strict=True)) or [()] * self.nin
        return tuple(
            i
            for i, (core, column) in enumerate(zip(self._layout.inputs, columns, strict=False))
            if (column or core) and all(map(_is_written_array, column))
        )

    # --- NumPy's attributes

    nin = property(lambda self: self._layout.nin, doc="Number of inputs.")
    nout = property(lambda self: self._layout.nout, doc="Number of outputs.")
    nargs = property(lambda self: self.nin + self.nout, doc="Number of operands.")

    @property
    def signatures(self) -> list:
        """Returns the types of the function's parameters, for each loop."""
        return [types.Signature(types.void, loop) for loop in self._loops]

    def _inspected_plan(self, signature):
        """Returns the default launch plan for operands of the loop's types."""
        return self._launch_plan(signature.args)

    def _dtypes(self, loop):
        return tuple(map(_dtype_of, loop))

    @property
    def __signature__(self):
        names = self._function.definition.parameters
        if len(names) != self.nargs:
            names = [f"x{i + 1}" for i in range(self.nargs)]
        parameters = [_P(name, _P.POSITIONAL_ONLY) for name in names[: self.nin]]
        parameters += [_P(name, _P.POSITIONAL_ONLY, default=None) for name in names[self.nin :]]
        parameters += [_P(name, _P.KEYWORD_ONLY, default=value) for name, value in _OPTIONS]
        return inspect.Signature(parameters)

    # --- derivatives

    def jvp(self, primals: Any, tangents: Any) -> tuple:
        """Returns (f(x...), its derivative at x... in the direction of the tangents): see
        numbalite.ufuncs.differentiation."""
        from . import differentiation

        return differentiation.jvp(self, primals, tangents)

    def vjp(self, primals: Any, cotangents: Any) -> tuple:
        """Returns the gradients with respect to the primals, if the layout has fixed sizes, as
        (3),(3)->(3) has."""
        from . import differentiation

        return differentiation.vjp(self, primals, cotangents)

    def _family_arguments(self) -> tuple:
        """Returns the arguments of GeneralFamily except the ufunc."""
        made = generalderivatives.GufuncDefinition(
            self._function, self._layout, self._written, self._block
        )
        return made, self._with_function

    def _with_function(self, function, signatures, layout):
        """Returns a generalized ufunc of another function with the same options, compiled at its first call."""
        return CudaGUfunc(function, signatures, layout, self._options, compile=False)

    def _raise_undefined(self, method, *args, **kwargs):
        raise RuntimeError(
            f"{method} is not defined for {self.__name__}, whose signature is {self.signature}"
        )

    def reduce(self, *args, **kwargs):
        """Generalized ufuncs have no reductions: RuntimeError."""
        self._raise_undefined("reduce")

    def accumulate(self, *args, **kwargs):
        """RuntimeError."""
        self._raise_undefined("accumulate")

    def reduceat(self, *args, **kwargs):
        """RuntimeError."""
        self._raise_undefined("reduceat")

    def outer(self, *args, **kwargs):
        """RuntimeError."""
        self._raise_undefined("outer")

    def at(self, *args, **kwargs):
        """RuntimeError."""
        self._raise_undefined("at")

    def __repr__(self):
        return f"<CUDA gufunc '{self.__name__}' with signature {self.signature}>"

    _repr_html_ = frontend.html_method("ufunc")

    def __reduce__(self):
        return _unpickle_gufunc, (
            self._function, self._given, self.signature, self._options, self._block, self.identity,
            self._writable,
        )  # fmt: skip

    # --- called by C code

    def _choose(self, inputs, outputs, casting, dtype, signature):
        """Returns the loop for operands of these types as bytes: one dtype code per operand, then one letter
        per operand for its memory layout."""
        loop = self._loop_for(inputs, outputs, casting, dtype, signature)
        codes = [types.SCALARS.index(t.dtype if t.is_array else t) + 1 for t in loop]
        return bytes(codes) + "".join(t.layout if t.is_array else "A" for t in loop).encode()

    def _loop_for(self, *asked):
        request = resolve.CallTypes(self, *asked)
        if self._given:
            loops = [self._dtypes(loop) for loop in self._loops]
            return self._loops[loops.index(resolve.choose_loop(request, loops))]
        found = resolve.choose_lazily(request, lambda have: self._lazy_results(request, have))
        return self._lazy_loop_types([types.scalar(t) for t in found])

    def _lazy_results(self, request, inputs):
        """Returns the output dtypes of a function without signatures, as in numba: from dtype= or signature=,
        otherwise from the passed outputs, otherwise the promoted dtype of the inputs."""
        common = types.scalar(np.result_type(*inputs)).dtype
        asked = request.fixed[self.nin :] if request.fixed else (None,) * self.nout
        return tuple(
            want or (out if out is not None and _accepts_output(out, common) else common)
            for want, out in zip(asked, request.outputs, strict=True)
        )

    def _loop_types(self, chosen):
        """Returns the parameter types of the loop whose dtype codes _choose returned."""
        count = self.nargs
        for loop in self._loops:
            codes = bytes(types.SCALARS.index(t.dtype if t.is_array else t) + 1 for t in loop)
            orders = "".join(t.layout if t.is_array else "A" for t in loop).encode()
            if chosen == codes + orders:
                return loop
        return self._lazy_loop_types([types.SCALARS[code - 1] for code in chosen[:count]])

    def _lazy_loop_types(self, scalars):
        """Returns the parameter types of a function without signatures, for these dtypes."""
        return tuple(
            t if not core and i < self.nin and i not in self._written else types.Array(t, core or 1)
            for i, (t, core) in enumerate(zip(scalars, self._cores, strict=True))
        )

    def _compile(self, device, chosen, dims, wide, values, staged, loaded, is_long, fixed):
        """Returns (the kernel on the current device, its block size, whether the kernel stages cores in
        shared memory)"""
        with self._lock:
            plan = self._launch_plan(self._loop_types(chosen), dims, bool(wide), values)
            special = self._specialized_plan(chosen, plan, fixed)
            if special is plan and staged:
                special = plan._replace(
                    staged=staged,
                    loaded=loaded,
                    is_long=bool(is_long),
                    threads=gufuncloops.LONG_THREADS if is_long else gufuncloops.STAGED_THREADS,
                )
            kernel = self._compiled_overload(special).load(device)
            if special.staged and kernel.attribute(
                SHARED_SIZE
            ):  # cores are not staged: the user's function itself uses shared memory
                special = plan
                kernel = self._compiled_overload(plan).load(device)
            if plan.types not in self._loops:
                self._loops.append(plan.types)
            return kernel, special.threads, bool(special.staged)

    def _specialized_plan(self, chosen, plan, fixed):
        """Returns the launch plan specialized for fixed core shapes, unless too many specialized plans
        exist."""
        if fixed is None:
            return plan
        special = plan._replace(fixed=tuple(gufuncloops.FixedCore(*f) for f in fixed))
        known = self._fixed_plans.setdefault(chosen, set())
        if special not in known and len(known) >= MAX_FIXED:
            return plan
        known.add(special)
        return special

    def _launch_plan(self, loop, dims=1, wide=False, values=0):
        return gufuncloops.GufuncPlan(
            loop, self.nin, self._cores, dims, wide, values, None, self._threads, bool(self._block),
            written=sum(1 << i for i in self._written),
        )  # fmt: skip

    def _generate(self, plan):
        return gufuncloops.plan_kernel(self._function, plan, self._options)

    def _cast(self, array, dtype, stream):
        if isinstance(array, np.ndarray):
            if array.nbytes >= CAST_THERE and 0 not in array.strides:
                return _device_cast(to_device(array, stream or 0), dtype, stream)
            distinct = array[
                tuple(_first_repeated(n, s) for n, s in zip(array.shape, array.strides))
            ]
            return np.broadcast_to(distinct.astype(dtype), array.shape)
        return _device_cast(array, dtype, stream)

    def _cast_to_write(self, array, dtype, stream):
        """Returns a converted copy of an input, which the function may overwrite."""
        if isinstance(array, np.ndarray):
            return array.astype(dtype)
        return _device_cast(array, dtype, stream)

    def _copy_contiguous(self, array, axes, order, stream):
        """Returns a copy of an array whose core, along `axes`, is contiguous in that order."""
        axes = list(axes) if order == "C" else list(axes)[::-1]
        rest = [axis for axis in range(array.ndim) if axis not in axes]
        moved = array.transpose(*rest, *axes)
        if isinstance(array, np.ndarray):
            copy = moved.copy("C")
        else:
            copy = moved.copy("C", stream or 0)
        return copy.transpose(*np.argsort([*rest, *axes]).tolist())

    def _copy_result(self, out, result, stream):
        """Copies a result to the caller's output array."""
        if isinstance(out, np.ndarray):
            np.copyto(out, result, casting="unsafe")
            return
        if result.dtype != out.dtype:
            result = _device_cast(result, out.dtype, stream)
        out._copy(result, stream)


def _unpickle_gufunc(function, signatures, layout, options, block, identity, writable=()):
    return CudaGUfunc(function, signatures, layout, options, block, identity, False, writable)


def _is_written_array(t):
    return isinstance(t, types.Array) and not t.readonly


def _block_size(block):
    if not block:
        return gufuncloops.THREADS
    if block is True:
        return gufuncloops.BLOCK_THREADS
    threads = operator.index(block)
    if not 1 <= threads <= 1024:
        raise ValueError(f"block is True or the threads of a block, 1 to 1024; not {threads}")
    return threads


def _first_repeated(n, stride):
    return slice(0, 1) if stride == 0 and n > 1 else slice(None)


def _accepts_output(out, dtype):
    """Returns whether a function can write results of the dtype directly to `out`."""
    try:
        types.scalar(out)
    except TypeError:
        return False
    return out.isnative and np.can_cast(dtype, out, "same_kind")


def _dtype_of(t):
    return (t.dtype if t.is_array else t).dtype


def _checked_signature(function, signature, layout, written):
    """Returns the parameter types of a declared signature, checked against the layout."""
    name, args = function.name, signature.args
    count = layout.nin + layout.nout
    if len(args) != count:
        raise SignatureError(
            f"the signature {signature} of {name} has {len(args)} types, its layout {layout} has "
            f"{layout.nin} inputs and {layout.nout} outputs"
        )
    for i, (t, core) in enumerate(zip(args, layout.operands, strict=True)):
        there = f"its layout has {len(core)} core dimension{'s' * (len(core) != 1)} there"
        is_output = i >= layout.nin or i in written
        which = f"output {i - layout.nin}" if i >= layout.nin else f"input {i}"
        noun = "an output" if i >= layout.nin else "an input of writable_args"
        wrong = None
        if isinstance(t, types.Scalar):
            if is_output:
                wrong = f"{noun} is an array: write {t}[{', '.join(':' * max(len(core), 1))}]"
            elif core:
                wrong = there
        elif not isinstance(t, types.Array) or not isinstance(t.dtype, types.Scalar):
            wrong = "guvectorize takes numbers and arrays of numbers"
        elif t.ndim != max(len(core), 1):
            wrong = there
            if not core:
                wrong += ", which a number or an array of one element stands for"
        elif is_output and t.readonly:
            wrong = f"{noun} cannot be const"
        if wrong:
            raise SignatureError(
                f"the signature {signature} of {name} has the type {t} for {which}, but {wrong}; the "
                f"layout is {layout}"
            )
    return tuple(t.copy(readonly=False) if isinstance(t, types.Array) else t for t in args)


def _device_cast(array, dtype, stream) -> DeviceNDArray:
    from . import cudaufunc

    return cudaufunc.cast(array, dtype, stream or 0)
