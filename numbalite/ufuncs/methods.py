"""Implements NumPy's ufunc methods for CUDA ufuncs: reduce, accumulate, reduceat, at, outer.

Arguments, exceptions and results equal those of NumPy. Results of device arrays are device arrays
(0-dimensional where NumPy returns a scalar). Elements are combined in order, unless the function is
recognized as commutative (commuting.py). Equal calls return bitwise equal results. Several threads compute
one result, so the function must be associative, which NumPy does not require: ``(a - b) - c`` is not ``a - (b
- c)``. ``at`` accepts any function and applies the function to one index after another. If the function is
  recognized as independent of the order, the rounding of floating-point sums may differ from call to call.
"""

from __future__ import annotations

import functools

import numpy as np

from numbalite import _core
from numbalite.ndarray import assign
from numbalite.runtime.traced import traced
from numbalite.types import describe

from . import element, operands, reduceloops, scatter
from .reduction import reduce_axes

_NO_VALUE = np._NoValue
_NOT_SAID = np._NoValue


class ReductionMethods:
    """A mixin for ufuncs with ``_function _options _given nin nout identity __name__`` and ``_choose``."""

    # --- selection of the loop

    @property
    def _reduction_loops(self):
        """The object with the kernels of the reductions, which the first reduction creates."""
        loops = self.__dict__.get("_reduction_loops_made")
        if loops is None:
            made = reduceloops.Loops(self._function_for, self.__name__, self._options)
            loops = self.__dict__.setdefault("_reduction_loops_made", made)
        return loops

    def _reduction_loops_for(self, stored, loop):
        """Returns (the kernels of a reduction that reads dtype `stored`, their accumulator
        dtype)"""
        return self._reduction_loops, loop

    def _function_for(self, dtype):
        """Returns the DeviceFunction that combines two numbers of a dtype."""
        for signature in self._given:
            if all(t.dtype == dtype for t in signature.args):
                return element.typed_function(self._function, signature)
        return self._function

    def _check_binary(self, method):
        if self.nin != 2:
            what = "outer product" if method == "outer" else method
            raise ValueError(f"{what} only supported for binary functions")
        if self.nout != 1 and method != "outer":
            raise ValueError(f"{method} only supported for functions returning a single value")

    def _loop_dtype(self, method, inputs, dtype=None):
        """Returns the dtype of the loop whose operands and result have one and the same dtype.

        Without signatures, a function with a larger result dtype (C++ adds int8 as int) is reduced in that dtype.
        """
        if dtype is not None:
            dtype = np.dtype(dtype)
            operands.check_dtype(dtype, self.__name__)
            if not self._given:
                return dtype
            inputs = (dtype,) * self.nin
        found = self._loop_for_inputs(inputs)
        widest = found[-1]
        if len(set(found)) > 1 and not self._given and np.can_cast(found[0], widest, "safe"):
            found = self._loop_for_inputs((widest,) * self.nin)
        if method == "at" and _can_write_back(found, inputs[0]):
            return found[0]
        if len(set(found)) > 1:
            raise TypeError(
                f"the resolved dtypes are not compatible with {self.__name__}.{method}. "
                f"Resolved {found}"
            )
        return found[0]

    def _cached_reduction_dtype(self, method, call, dtype):
        """Returns the accumulator dtype of a call of reduce, accumulate or reduceat; the dtype is resolved
        once per combination of dtypes."""
        x, out = call.array, call.out_dtype
        key = method, x.dtype, dtype, out
        can_be_kept = dtype is None or isinstance(dtype, np.dtype)
        found = self._reduction_dtypes.get(key) if can_be_kept else None
        if found is None:
            wanted = self._reduction_dtype(dtype, x, call.out)
            found = self._loop_dtype(method, (out or x.dtype, x.dtype), wanted)
            if can_be_kept:
                self._reduction_dtypes[key] = found
        return found

    @functools.cached_property
    def _reduction_dtypes(self):
        return {}

    def _loop_for_inputs(self, inputs):
        codes = self._choose(inputs, (None,) * self.nout, "same_kind", None, None)
        return tuple(np.dtype(describe.DTYPES[code]) for code in codes)

    def _identity_value(self):
        """Returns the identity as a number, or None if there is no identity or the identity is a text."""
        return None if isinstance(self.identity, str) else self.identity

    def _is_reorderable(self):
        return self.identity is not None

    # --- the methods

    def _reduction_dtype(self, dtype, array, out):
        """Returns the default of a reduction's `dtype` argument."""
        return dtype

    def _initial_value(self, initial, loop, has_mask, is_empty):
        """Returns the initial value of a reduction, in the reduction's dtype; None means the first element.

        As in NumPy, the initial value is the identity if there is one. The identity can change the result: for
        example, hypot(0, -1) is 1, and 0.0 + -0.0 is 0.0.
        """
        if initial is _NO_VALUE:
            initial = self._identity_value()
            if (
                initial is not None
            ):  # the identity -1 (all bits set) is valid for unsigned dtypes, too
                return np.array(initial).astype(loop)
        if initial is not None:
            initial = np.array(initial, loop)
            if initial.ndim:
                raise ValueError("initial= is a number")
        elif has_mask:
            raise ValueError(
                f"reduction operation '{self.__name__}' does not have an identity, so to use a where "
                f"mask one has to specify 'initial'"
            )
        elif is_empty:
            raise ValueError(
                f"zero-size array to reduction operation {self.__name__} which has no identity"
            )
        return initial

    def _reduce(
        self,
        array,
        axis=0,
        dtype=None,
        out=None,
        keepdims=False,
        initial=_NO_VALUE,
        where=True,
        *,
        stream=0,
    ):
        """Handles calls of `reduce` outside the C fast path: the first call with its dtypes, and calls with
        host arrays."""
        self._check_binary("reduce")
        call = _MethodCall(self, array, out, (where,), stream)
        x = call.array
        axes = operands.axes_of(axis, x.ndim)
        if len(axes) > 1 and not self._is_reorderable():
            raise ValueError(
                f"reduction operation '{self.__name__}' is not reorderable, so at most one axis may "
                f"be specified"
            )
        kept = operands.drop_axes(x.shape, axes)
        shape = kept
        if keepdims:
            shape = tuple(1 if i in axes else n for i, n in enumerate(x.shape))
        call.check_out(shape, bool(keepdims), self.__name__)
        loop = self._cached_reduction_dtype("reduce", call, dtype)
        mask = _broadcast_mask(where, x)
        is_empty = any(x.shape[i] == 0 for i in axes)
        initial = self._initial_value(initial, loop, mask is not None, is_empty)
        with call.device():
            x = call.upload_array()
            mask = None if mask is None else operands.to_device(mask, stream)
            if mask is not None:
                mask = operands.broadcast_view(mask, x.shape)
            axis_order = x.strides if keepdims else operands.drop_axes(x.strides, axes)
            target = call.target_array(shape, axis_order, loop, x, mask)
            flat = target
            if keepdims:
                flat = target._view_with_layout(kept, operands.drop_axes(target.strides, axes))
            loops, computed_in = self._reduction_loops_for(x.dtype, loop)
            reducer = reduce_axes(
                loops, x, axes, computed_in, flat, initial=initial, where=mask,
                reorderable=self._is_reorderable(), stream=stream,
            )  # fmt: skip
            if reducer is not None:
                self._register_dtypes("reduce", call, dtype, reducer, loop)
            return call.result(target)

    def _register_dtypes(self, method, call, dtype, reducer, loop):
        """Registers dtypes for the C fast path, which plans later calls with device arrays of these
        dtypes."""
        if call.is_device and (call.out is None or call.out_on_device):
            start = self._initial_value(_NO_VALUE, loop, False, False)
            start = None if start is None else start.tobytes()
            dtype = None if dtype is None else np.dtype(dtype)
            self._note(method, call.array.dtype, dtype, call.out_dtype, reducer, start, loop)

    def _accumulate(self, array, axis=0, dtype=None, out=None, *, stream=0):
        """Handles calls of `accumulate` outside the C fast path: the first call with its dtypes, and calls
        with host arrays."""
        self._check_binary("accumulate")
        call = _MethodCall(self, array, out, (), stream)
        along = _single_axis(axis, call.array, "accumulate")
        loop = self._cached_reduction_dtype("accumulate", call, dtype)
        call.check_out(call.array.shape, None, self.__name__)
        with call.device():
            x = call.upload_array()
            target = call.target_array(x.shape, x.strides, loop, x, exact=True)
            if x.size:
                reducer = reduceloops.accumulate(
                    self._reduction_loops, x, along, loop, target, stream
                )
                self._register_dtypes("accumulate", call, dtype, reducer, loop)
            return call.result(target)

    def reduceat(self, array, indices, axis=0, dtype=None, out=None, *, stream=0):
        """Reduces array[indices[i]:indices[i + 1]] along one axis, as numpy.ufunc.reduceat.

        The last segment extends to the end. If indices[i] >= indices[i + 1], the result for segment i is
        array[indices[i]].
        """
        return _core.call_for_owners(self._reduceat, array, indices, axis, dtype, out, stream)

    def _reduceat(self, array, indices, axis, dtype, out, stream):
        self._check_binary("reduceat")
        call = _MethodCall(self, array, out, (indices,), stream)
        axis = _single_axis(axis, call.array, "reduceat")
        ends = _segment_bounds(indices, call.array.shape[axis], self.__name__)
        loop = self._cached_reduction_dtype("reduceat", call, dtype)
        shape = list(call.array.shape)
        shape[axis] = len(ends)
        shape = tuple(shape)
        call.check_out(shape, None, self.__name__)
        with call.device():
            x = call.upload_array()
            target = call.target_array(shape, None, loop, x)
            if target.size:
                where_to = operands.to_device(ends, stream)
                loops, computed_in = self._reduction_loops_for(x.dtype, loop)
                reduceloops.reduce(
                    loops, x, (axis,), computed_in, target, stream=stream, segments=(axis, where_to)
                )
            return call.result(target)

    def at(self, a, indices, b=_NOT_SAID, /, *, stream=0):
        """Applies the function in place to ``a[indices]``, with ``b`` as the second operand, as numpy.ufunc.at.

        The function is applied once for each occurrence of an index, in order.
        """
        found = self._traced_scatter(a, indices, b, stream)
        if found is not None:
            scatter.wait_for_bounds_check(a.shape, indices, found)

    @functools.cached_property
    def _traced_scatter(self):
        return traced(self._launch_scatter)

    def _launch_scatter(self, a, indices, b, stream):
        """Runs `at` without waiting for the bounds check. Returns the argument of
        scatter.wait_for_bounds_check, or None if no check is needed."""
        on_device = operands.is_on_device(a)
        if not on_device and not isinstance(a, np.ndarray):
            raise TypeError("first operand must be array")
        if self.nout != 1:
            raise ValueError("Only single output ufuncs supported at this time")
        if self.nin > 2:
            raise ValueError("Only unary and binary ufuncs supported at this time")
        if self.nin == 1 and b is not _NOT_SAID:
            raise ValueError("second operand provided when ufunc is unary")
        if self.nin == 2 and b is _NOT_SAID:
            raise ValueError("second operand needed for ufunc")
        x = operands.device_view(a) if on_device else a
        if x.readonly if on_device else not x.flags.writeable:
            raise ValueError("operand array with iterator write flag set is read-only")
        operands.check_dtype(x.dtype, self.__name__)
        inputs, second = (x.dtype,), None
        if self.nin == 2:
            second = operands.device_view(b) if operands.is_on_device(b) else operands.host_array(b)
            operands.check_dtype(second.dtype, self.__name__)
            inputs = (x.dtype, type(b) if type(b) in (int, float, complex) else second.dtype)
        with assign.on_device_of(x if on_device else second):
            places = scatter.flat_indices(x.shape, indices, stream)
            if self.nin == 2 and not _is_broadcastable(second.shape, places.shape):
                raise ValueError("array is not broadcastable to correct shape")
            loop = self._loop_dtype("at", inputs)
            if not places.size:
                return None
            if type(b) in (int, float, complex):
                second = np.array(b, loop)
            target = x if on_device else operands.to_device(operands.host_array(x), stream)
            if not operands.is_aligned(target):
                target = target.copy(stream=stream)
            if second is not None and (second.ndim or operands.is_on_device(second)):
                second = operands.to_device(second, stream)
                if assign.may_overlap(second, target) or not operands.is_aligned(second):
                    second = second.copy(stream=stream)
                second = operands.broadcast_view(second, places.shape)
            found = scatter.apply_at(self._reduction_loops, target, places, second, loop, stream)
            if on_device and target is not x:
                x._copy(target, stream)
            if not on_device:
                a[...] = target.copy_to_host(stream=stream)
            return found

    def outer(self, A, B, /, **keywords):
        """Applies the function to all pairs of elements; the shape is A.shape + B.shape, as numpy.ufunc.outer."""
        self._check_binary("outer")
        A, B = (
            operands.device_view(x)
            if operands.is_on_device(x)
            else np.asarray(x)  # other arguments may be Python numbers, as in NumPy
            for x in (A, B)
        )
        behind = len(getattr(B, "shape", ()))
        if behind and getattr(A, "shape", ()):
            A = A.reshape(tuple(A.shape) + (1,) * behind)
        return self(A, B, **keywords)


def _can_write_back(loop, stored):
    """Returns whether `at` can convert the results of a loop, such as the booleans of a comparison, to the
    dtypes of its operands and of the array."""
    return (
        len(set(loop[:-1])) == 1
        and np.can_cast(loop[-1], loop[0], "safe")
        and np.can_cast(loop[-1], stored, "same_kind")
    )


class _MethodCall:
    """The array, the output and the device of a method call."""

    def __init__(self, ufunc, array, out, others, stream):
        self.stream = stream
        if isinstance(out, tuple):
            if len(out) != 1:
                raise ValueError("The 'out' tuple must have exactly one entry per ufunc output")
            out = out[0]
            if out is None:
                raise TypeError("return arrays must be of ArrayType")
        self.given = out
        self.out = out
        self.out_on_device = out is not None and operands.is_on_device(out)
        if self.out_on_device:
            self.out = operands.device_view(out)
            read_only = self.out.readonly
        elif out is not None:
            if not isinstance(out, np.ndarray):
                raise TypeError("return arrays must be of ArrayType")
            read_only = not out.flags.writeable
        if out is not None and read_only:
            raise ValueError("output array is read-only")
        self.is_device = operands.is_on_device(array)
        self.array = operands.device_view(array) if self.is_device else operands.host_array(array)
        operands.check_dtype(self.array.dtype, ufunc.__name__)
        self.gives_device = self.is_device or any(map(operands.is_on_device, others))
        self.out_dtype = None if out is None else self.out.dtype
        if out is not None:
            operands.check_dtype(self.out_dtype, ufunc.__name__)

    def check_out(self, shape, keepdims, name):
        """Checks the shape of `out`. ``keepdims`` is None for methods without this argument."""
        if self.out is None or self.out.shape == shape:
            return
        if self.out.ndim != len(shape) and keepdims is not None:
            tail = " (must match the operand's when keepdims=True)" if keepdims else ""
            raise ValueError(
                f"output parameter for reduction operation {name} has the wrong number of "
                f"dimensions: Found {self.out.ndim} but expected {len(shape)}{tail}"
            )
        raise ValueError(f"{name}: the output array has shape {self.out.shape}, the result {shape}")

    def device(self):
        """Returns a context manager that makes the device of the array, or of the output, current."""
        return assign.on_device_of(self.array if self.is_device else self.out)

    def upload_array(self):
        if not self.is_device:
            self.array = operands.to_device(self.array, self.stream)
        return self.array

    def target_array(self, shape, axis_order, loop, *sources, exact=False):
        """Returns the device array to write: the output, or a new array.

        A new array is needed if kernels cannot write to the output, or if the output shares memory with a
        source (with ``exact``, unless all elements have the same addresses). The axis order of a new array is
        that of the strides ``axis_order``; without ``axis_order``, C order.
        """
        if self.out_on_device and operands.is_aligned(self.out):
            same = exact and all(
                (s._address, s.strides, s.dtype)
                == (self.out._address, self.out.strides, self.out.dtype)
                for s in sources
            )
            if same or not any(s is not None and assign.may_overlap(s, self.out) for s in sources):
                return self.out
        dtype = self.out_dtype or loop
        if axis_order is None:
            return operands.empty_array(shape, dtype)
        return operands.empty_along(shape, dtype, axis_order)

    def result(self, target):
        if self.out_on_device:
            if target is not self.out:
                self.out._copy(target, self.stream)
            return self.given
        if self.out is not None:
            self.out[...] = target.copy_to_host(stream=self.stream)
            return self.given
        if self.gives_device:
            return target
        return target.copy_to_host(stream=self.stream)[()]


def _broadcast_mask(where, array):
    """Returns the argument `where` as a boolean array that broadcasts to the array, or None if all elements are
    included."""
    if where is True:
        return None
    if operands.is_on_device(where):
        mask = operands.device_view(where)
        if mask.dtype != bool:
            mask = mask.astype(bool)
    else:
        mask = np.asarray(where, dtype=bool)
    if mask.ndim > array.ndim:
        raise ValueError("input operand has more dimensions than allowed by the axis remapping")
    if not _is_broadcastable(mask.shape, array.shape):
        raise ValueError(
            f"operands could not be broadcast together with shapes {array.shape} {mask.shape}"
        )
    return mask


def _is_broadcastable(shape, wanted):
    pairs = zip(shape[::-1], wanted[::-1], strict=False)
    return len(shape) <= len(wanted) and all(have in (1, want) for have, want in pairs)


def _single_axis(axis, array, method):
    if array.ndim == 0 and axis in (0, -1):
        raise TypeError(f"cannot {method} on a scalar")
    axes = operands.axes_of(axis, array.ndim)
    if len(axes) != 1:
        raise ValueError(f"{method} does not allow multiple axes")
    return axes[0]


def _segment_bounds(indices, length, name):
    """Returns an array of shape (n, 2) with the begin and the end of each segment, from the indices of reduceat."""
    if operands.is_on_device(indices):
        indices = operands.device_view(indices).copy_to_host()
    if isinstance(indices, np.ndarray) and not np.can_cast(indices.dtype, np.int64, "safe"):
        raise TypeError(
            f"Cannot cast array data from {indices.dtype!r} to {np.dtype(np.int64)!r} according to "
            f"the rule 'safe'"
        )
    indices = np.asarray(indices, dtype=np.int64)
    if indices.ndim != 1:
        what = "object of too small depth" if indices.ndim == 0 else "object too deep"
        raise ValueError(f"{what} for desired array")
    for index in indices[(indices < 0) | (indices >= length)][:1]:
        raise IndexError(f"index {index} out-of-bounds in {name}.reduceat [0, {length})")
    ends = np.append(indices[1:], length)[: len(indices)]
    return np.stack([indices, np.maximum(ends, indices + 1)], axis=1)
