"""Implements map-reduce: a kernel applies a function to the elements of several arrays and reduces the
results.

`MapReduce` uses the reductions of cuda_src/numbalite/reduce.cuh, without a temporary array of the function's results.
"""

from __future__ import annotations

import itertools
import math
import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite import _core, types
from numbalite.compilers import templates
from numbalite.kernels.builder import SourceBuilder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.options import Options
from numbalite.ndarray import assign
from numbalite.runtime import shapes
from numbalite.types.describe import Parameter

from . import element, operands, reduceloops
from . import reduceplan as plans
from .reduction import reduce_axes

if TYPE_CHECKING:
    from typing import Any

# The launch plan assumes elements of 4 bytes, so a byte offset in the plan is 4 times the element's index
_SCALE = 4
_MANY_PARTS = 1024
_KERNEL = "nl_map_reduce"
_NAMES = ("plan", "operands", "output")
_ARRAYS = "array", "same"
IN_OWN_PRECISION = "fdFD"  # dtypes that NumPy sums without a wider type


class KernelForm(NamedTuple):
    """The compile-time parameters of a map-reduce kernel."""

    lanes: int
    """The number of threads that reduce a row together."""
    wide: bool
    dims: int
    """The number of axes of all operands together, after merging."""
    width: int
    """The width of mapped.cu; 0: each element's offset is computed from its number."""
    kinds: tuple[str, ...]
    """For each operand: "array", "same" (an array with stride 0 along the reduced axes) or "value"
    (a number)."""
    stored: tuple[np.dtype, ...]


class MapReduce:
    """Reduces a function's results for all elements of its arguments with a ufunc, in ``dtype``.

    ``loops``: the reduction kernels, by default those of the ufunc. ``mapped``: the C++ name of a function of
    cuda_src/numbalite/reduce_operators.cuh that creates the accumulators of ``loops`` from elements.
    """

    def __init__(
        self,
        function: Any,
        signature: Any,
        ufunc: Any,
        dtype: np.dtype,
        loops: Any = None,
        mapped: str = "",
    ):
        self._function = function
        self._signature = signature
        self._ufunc = ufunc
        self._dtype = dtype
        self._mapped = mapped
        if loops is None:
            loops, accumulator = ufunc._reduction_loops_for(dtype, dtype)
        else:
            accumulator = loops.loop_dtype
        self._loops: Any = loops
        self._accumulator: np.dtype = accumulator
        self._kernels: dict[tuple, Any] = {}

    def __call__(self, args: tuple, axis: Any, keepdims: Any, out: Any, stream: Any) -> Any:
        device = next((one for one in args if isinstance(one, _core.DeviceArray)), None)
        with assign.on_device_of(device):
            given = [self._as_operand(one, stream) for one in args]
            shape = np.broadcast_shapes(*(one.shape for one in given))
            axes = operands.axes_of(axis, len(shape))
            if len(axes) > 1 and not self._ufunc._is_reorderable():
                raise ValueError(
                    f"reduction operation '{self._ufunc.__name__}' is not reorderable, so at most one "
                    "axis may be specified"
                )
            kept = operands.drop_axes(shape, axes)
            whole = tuple(1 if i in axes else n for i, n in enumerate(shape)) if keepdims else kept
            if out is not None and out.shape != whole:
                raise ValueError(f"out= has shape {out.shape}, the result {whole}")
            target = (
                out
                if self._can_write_into(out, given)
                else operands.empty_array(whole, self._dtype)
            )
            flat = target
            if keepdims:
                flat = target._view_with_layout(kept, operands.drop_axes(target.strides, axes))
            self._launch_loop(given, shape, axes, flat, stream)
        if out is not None:
            if target is not out:
                out[...] = target if isinstance(out, _core.DeviceArray) else target.copy_to_host()
            return out
        if device is None and not any(map(operands.is_on_device, args)):
            return target.copy_to_host(stream=stream)[()]
        return target

    def _can_write_into(self, out, given):
        """Returns whether the kernel can write its results directly to ``out``."""
        return (
            isinstance(out, _core.DeviceArray)
            and out.dtype == self._dtype
            and out.is_c_contiguous()
            and operands.is_aligned(out)
            and not out.readonly
            and not any(
                isinstance(one, _core.DeviceArray) and assign.may_overlap(one, out) for one in given
            )
        )

    def _as_operand(self, value, stream):
        """Returns the operand as an aligned device array or a NumPy scalar."""
        if operands.is_on_device(value):
            array = operands.device_view(value)
            return array if operands.is_aligned(array) else array.copy(stream=stream)
        host = operands.host_array(value)
        return host[()] if host.ndim == 0 else operands.to_device(host, stream)

    def _launch_loop(self, given, shape, axes, target, stream):
        if 0 in target.shape:
            return
        if 0 in shape:
            start = self._ufunc._identity_value()
            if start is None:
                raise ValueError(
                    f"zero-size array to reduction operation {self._ufunc.__name__} which has no identity"
                )
            target._fill(np.array(start, self._dtype), stream)
            return
        every = [_broadcast_strides(one, shape) for one in given]
        kernel, grid, schedule, plan, geometry, size, parts = self._plan_launch(
            given, every, shape, axes
        )
        slots = b"".join(map(_operand_slot, given, self._signature.args))
        block = np.void((slots + geometry).ljust(size, b"\0"))
        arrays = [
            operands.from_first_element(one) for one in given if isinstance(one, _core.DeviceArray)
        ]
        if parts == 1:
            kernel[grid, schedule.threads, stream](
                plan, block, operands.from_first_element(target), *arrays
            )
            return
        scratch = operands.empty_array((*target.shape, parts), self._accumulator)
        kernel[grid, schedule.threads, stream](
            plan, block, operands.from_first_element(scratch), *arrays
        )
        reduce_axes(self._loops, scratch, (target.ndim,), self._accumulator, target, stream=stream)

    def _plan_launch(self, given, every, shape, axes):
        """Plans the launch for operands of these shapes and strides: returns kernel, grid, schedule, launch
        plan and packed strides."""
        linear = shapes.packed(shape, _SCALE, "C")
        places = iter(shapes.packed(operands.drop_axes(shape, axes), self._dtype.itemsize, "C"))
        kept, reduced = [], []
        for i, length in enumerate(shape):
            if i in axes:
                reduced.append(plans.Dimension(length, linear[i]))
            else:
                kept.append(plans.Dimension(length, linear[i], 0, next(places)))
        kept, reduced = plans.merge_dimensions(kept), plans.merge_dimensions(reduced)
        commutes = self._loops.commutes(self._accumulator)
        schedule = plans.Schedule(
            *_core.reduction_schedule(kept, reduced, _SCALE, 0, 0, False, commutes)
        )
        results = math.prod(dim.length for dim in kept)
        rows, *along = _merge_axes(shape, every, axes)
        schedule, in_row = _adapt_parts(schedule, rows, results, commutes)
        steps = [step[-1] for step in along] if in_row else None
        lengths, *strides = _merge_axes(shape, every, range(len(shape)))
        outer = [
            [*operands.drop_axes(row, axes), *step[:-1]]
            for row, step in zip(every, along, strict=True)
        ]
        kinds = tuple(map(_operand_kind, given, steps or [1] * len(given)))
        width = _access_width(given, steps, outer, rows, self._dtype)
        if schedule.team == 1 and schedule.parts == 1 and schedule.kind != "serial" and commutes:
            size = self._accumulator.itemsize
            lanes = _core.reduction_lanes(math.prod(rows), width or 1, size, results)
            if lanes < plans.WARP:
                schedule = schedule._replace(kind=f"short_rows{lanes}")
        plan, wide = plans.packed_plan(schedule, kept, reduced, is_last=schedule.parts == 1)
        form = KernelForm(
            plans.lanes_per_row(schedule), wide, len(lengths), width, kinds,
            tuple(np.dtype(one.dtype) for one in given),
        )  # fmt: skip
        numbers = *lengths, *itertools.chain(*strides), *(steps or [0] * len(given))
        geometry = struct.pack(f"<{len(numbers)}q", *numbers)
        grid = plans.grid_size(schedule, results)
        return (
            self._loop_kernel(form),
            grid,
            schedule,
            plan,
            geometry,
            _operands_size(form),
            schedule.parts,
        )

    def _loop_kernel(self, form):
        found = self._kernels.get(form)
        if found is None:
            found = self._kernels[form] = self._compiled_loop(form)
        return found

    def _compiled_loop(self, form):
        builder, inputs = self.generate_kernel(form)
        source = builder.source(self._function.definition, Options(), [_KERNEL])
        explain = element.error_explainer(self._function, self._function_title(), builder.refused)
        rows = [
            _struct_type("plan", plans.plan_size(form.wide)),
            _struct_type("operands", _operands_size(form)),
            Parameter("output", "pointer", "void*", "", 1, 8, 8, 0, "", False),
            *(Parameter(one, "pointer", "const void*", "", 1, 8, 8, 0, "", True) for one in inputs),
        ]
        kernel = Kernel(Images(source, explain), _KERNEL, self._function.name, rows, Options())
        return reduceloops.LoopKernel(kernel, (*_NAMES, *inputs))

    def _function_title(self):
        return f"{self._function.name}, {self._ufunc.__name__}: {self._signature}"

    def generate_kernel(self, form: KernelForm) -> Any:
        """Generates a kernel. Returns (Builder, names of its array parameters)."""
        result = types.from_dtype(self._dtype)
        computed = self._signature.return_type or result
        typed = element.typed_function(self._function, self._signature)
        builder = SourceBuilder(element.plain_name(self._function), self._function_title())
        builder.add_types(
            result, computed, *self._signature.args, *map(types.from_dtype, form.stored)
        )
        builder.ahead.append(f"#define NUMBALITE_REDUCE_DIMS {plans.max_dimensions(form.wide)}\n")
        builder.ahead.append(
            '#include "numbalite/ufunc.cuh"\n#include "numbalite/short_axes.cuh"\n'
        )
        namespace = builder.add_function(typed)
        number = accumulator = result.cxx
        if isinstance(self._loops, reduceloops.OperatorLoops):
            self._loops._write_function(builder, None, None, None, False)
            accumulator = "nl_function::value"
            number = accumulator if self._mapped else computed.cxx
        else:
            function = self._loops.function_for(self._dtype).of([result, result])
            combining = builder.add_function(function)
            builder.write_generated(
                templates.fill_template(
                    "reduce_pair", S=number, T=number, O=number,
                    call=element.call_text(function, combining, "a, b"),
                    commutes=str(self._loops.commutes(self._dtype)).lower(),
                )
            )  # fmt: skip
        read = [
            _load_statement(i, kind, dtype)
            for i, (kind, dtype) in enumerate(zip(form.kinds, form.stored, strict=True))
        ]
        words = ", ".join(
            _element_expression(i, kind, t.cxx)
            for i, (kind, t) in enumerate(zip(form.kinds, self._signature.args, strict=True))
        )
        call = (
            f"{self._mapped}({words})"
            if self._mapped
            else element.call_text(typed, namespace, words)
        )
        names = [f"a{i}" if kind in _ARRAYS else "nullptr" for i, kind in enumerate(form.kinds)]
        inputs = [name for name in names if name != "nullptr"]
        builder.write_generated(
            templates.fill_template(
                "mapped", scale=_SCALE, count=len(form.stored), dims=form.dims, width=form.width,
                M=number, T=accumulator, O=result.cxx, reads="\n        ".join(filter(None, read)),
                mapped=call, threads=plans.THREADS, kernel=_KERNEL,
                lanes=form.lanes, arrays=", ".join(names),
                parameters="".join(f", const void *{name}" for name in inputs),
            )
        )  # fmt: skip
        return builder, inputs


def _struct_type(name, size):
    return Parameter(name, "struct", name, "", size, size, 16, 0, "", False)


def _operands_size(form):
    """Returns the size in bytes of nl_operands in mapped.cu."""
    count = len(form.stored)
    size = 16 * count + 8 * (form.dims * (1 + count) + count)
    return -(-size // 16) * 16


def _operand_kind(value, step):
    if isinstance(value, _core.DeviceArray):
        return "array" if step else "same"
    return "value"


def _load_statement(number, kind, dtype):
    """Returns the C++ statement that loads N neighbouring elements of an operand, or "" if the operand is not an
    array."""
    if kind not in _ARRAYS:
        return ""
    items = f"nl_items<{_memory_type(dtype)}, {'N' if kind == 'array' else 1}>"
    return f"const {items} x{number} = *(const {items} *)place[{number}];"


def _element_expression(number, kind, cxx):
    """Returns the C++ expression for element j of the N loaded elements of an operand."""
    if kind in _ARRAYS:
        return f"x{number}.template get<{cxx}>(j)"
    return f"numbalite::nl_ufunc::value_in<{cxx}>(given.operands.slots[{number}])"


def _memory_type(dtype):
    return "unsigned char" if dtype.kind == "b" else types.from_dtype(dtype).cxx


def _operand_slot(value, scalar):
    if isinstance(value, _core.DeviceArray):
        return bytes(16)
    return np.asarray(value).astype(scalar.dtype).tobytes().ljust(16, b"\0")


def _broadcast_strides(value, shape):
    """Returns the strides of an operand along all axes of the broadcast shape."""
    if isinstance(value, _core.DeviceArray):
        return shapes.broadcast_strides(value.shape, value.strides, shape)
    return (0,) * len(shape)


def _merge_axes(shape, every, axes):
    """Returns [lengths, strides of each operand] along these axes in C order.

    Neighbouring axes are merged if the strides of all operands allow it.
    """
    rows = [(shape[i], *(steps[i] for steps in every)) for i in sorted(axes) if shape[i] != 1]
    made = rows[:1] or [(1, *(0 for _ in every))]
    for length, *steps in rows[1:]:
        outer = made[-1]
        if all(a == b * length for a, b in zip(outer[1:], steps, strict=True)):
            made[-1] = (outer[0] * length, *steps)
        else:
            made.append((length, *steps))
    return [list(row) for row in zip(*made, strict=True)]


def _adapt_parts(schedule, rows, results, commutes):
    """Adapts the number of parts of a schedule to rows of equal stride.

    `rows` are the lengths of the merged reduced axes; elements along the last axis have equal strides.
    Returns (schedule, whether all elements of a part have equal strides).
    """
    length = math.prod(rows)
    if schedule.parts > 1 and schedule.kind != "serial":
        *outer, row = rows
        chunk = outer and _core.reduction_row_part(math.prod(outer), row, _SCALE, results, commutes)
        if chunk:
            return schedule._replace(parts=length // chunk, chunk=chunk), True
        if (
            schedule.parts >= _MANY_PARTS
        ):  # use fewer parts, because a part starts more slowly than in reductions of one array
            schedule = schedule._replace(
                parts=-(-length // (4 * schedule.chunk)), chunk=4 * schedule.chunk
            )
    return schedule, len(rows) == 1


def _access_width(given, steps, outer, rows, result):
    """Returns the number of elements that one access of mapped.cu loads.

    1: the elements are not contiguous. 0: the strides differ within a part. `steps` are the strides along the
    reduced axis (None for width 0), `outer` the strides along all other axes.
    """
    if steps is None:
        return 0
    walked = [
        (one, strides) for one, step, strides in zip(given, steps, outer, strict=True) if step
    ]
    if not walked or any(
        step not in (0, one.dtype.itemsize) for one, step in zip(given, steps, strict=True)
    ):
        return 1
    width = 16 // max(result.itemsize, *(one.dtype.itemsize for one, _ in walked))
    while len(rows) > 1 and width > 1 and rows[-1] % width:
        width //= 2
    for one, strides in walked:
        while width > 1 and any(n % (width * one.dtype.itemsize) for n in (one._address, *strides)):
            width //= 2
    return max(width, 1)
