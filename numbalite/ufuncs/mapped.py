"""Reductions of what is computed element by element, in one pass: the kernels fold the results of a
function of several arrays as others fold the elements of one (reduce.cuh). No array of the results is
made in between."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core, types
from numbalite.compilers import templates
from numbalite.cuda import assign, shapes
from numbalite.kernels.builder import Builder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.options import Options
from numbalite.types.describe import Parameter

from . import element, operands, reduceloops
from . import reduceplan as plans
from .reduction import fold

if TYPE_CHECKING:
    from typing import Any

_SCALE = 4  # bytes that the plan takes an element to have
_KEPT_PLANS = 256
_MANY_PARTS = 1024
_KERNEL = "nl_mapped_fold"
_NAMES = ("plan", "operands", "output")


class Place:
    """Stands for the number of an element among those that are folded together, in C order."""

    shape: tuple[int, ...] = ()
    dtype = np.dtype(np.int64)


PLACE = Place()


class MappedFold:
    """The fold by a ufunc, in ``dtype``, of a function's results for all elements of its arguments."""

    def __init__(
        self, function: Any, signature: Any, ufunc: Any, dtype: np.dtype, loops: Any = None
    ):
        self._function = function
        self._signature = signature
        self._ufunc = ufunc
        self._loops = loops or ufunc._folds
        self._dtype = dtype
        self._kernels: dict[tuple, Any] = {}
        self._plans: dict[tuple, Any] = {}

    def __call__(self, args: tuple, axis: Any, keepdims: Any, out: Any, stream: Any) -> Any:
        device = next((one for one in args if isinstance(one, _core.DeviceArray)), None)
        with assign.on_device_of(device):
            given = [self._operand(one, stream) for one in args]
            shape = np.broadcast_shapes(*(one.shape for one in given))
            axes = operands.axes_of(axis, len(shape))
            if len(axes) > 1 and not self._ufunc._is_reorderable():
                raise ValueError(
                    f"reduction operation '{self._ufunc.__name__}' is not reorderable, so at most one "
                    "axis may be specified"
                )
            kept = operands.without(shape, axes)
            whole = tuple(1 if i in axes else n for i, n in enumerate(shape)) if keepdims else kept
            if out is not None and out.shape != whole:
                raise ValueError(f"out= has shape {out.shape}, the result {whole}")
            target = operands.empty(whole, self._dtype)
            flat = target
            if keepdims:
                flat = target._geometry(kept, operands.without(target.strides, axes))
            self._run(given, shape, axes, flat, stream)
        if out is not None:
            out[...] = target if isinstance(out, _core.DeviceArray) else target.copy_to_host()
            return out
        if device is None and not any(map(operands.is_on_device, args)):
            return target.copy_to_host(stream=stream)[()]
        return target

    def _operand(self, value, stream):
        """An array on the device, or a NumPy number."""
        if value is PLACE:
            return value
        if operands.is_on_device(value):
            array = operands.device_view(value)
            return array if operands.is_aligned(array) else array.copy(stream=stream)
        host = operands.host_array(value)
        return host[()] if host.ndim == 0 else operands.to_device(host, stream)

    def _run(self, given, shape, axes, target, stream):
        if 0 in target.shape:
            return
        if 0 in shape:
            start = self._ufunc._start()
            if start is None:
                raise ValueError(
                    f"zero-size array to reduction operation {self._ufunc.__name__} which has no identity"
                )
            target._fill(np.array(start, self._dtype), stream)
            return
        key = shape, axes, *((type(one), one.dtype, getattr(one, "strides", None)) for one in given)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _KEPT_PLANS:
                self._plans.clear()
            found = self._plans[key] = self._planned(given, shape, axes)
        kernel, grid, way, plan, lengths, strides, parts = found
        slots = b"".join(map(_slot, given, self._signature.args))
        block = np.void(
            (slots + lengths + strides).ljust(_size(len(given), len(lengths) // 8), b"\0")
        )
        arrays = [operands.first_of(one) for one in given if isinstance(one, _core.DeviceArray)]
        if parts == 1:
            kernel[grid, way.threads, stream](plan, block, operands.first_of(target), *arrays)
            return
        scratch = operands.empty((*target.shape, parts), self._dtype)
        kernel[grid, way.threads, stream](plan, block, scratch, *arrays)
        fold(self._loops, scratch, (target.ndim,), self._dtype, target, stream=stream)

    def _planned(self, given, shape, axes):
        """How the elements of this geometry are divided, and the kernel for it."""
        linear = shapes.packed(shape, _SCALE, "C")
        results = iter(shapes.packed(operands.without(shape, axes), self._dtype.itemsize, "C"))
        kept, folded = [], []
        for i, length in enumerate(shape):
            if i in axes:
                folded.append(plans.Dimension(length, linear[i]))
            else:
                kept.append(plans.Dimension(length, linear[i], 0, next(results)))
        kept, folded = plans.merged(kept), plans.merged(folded)
        serial = reduceloops.are_serial()
        commutes = self._loops.commutes(self._dtype)
        way = plans.choose(kept, folded, _SCALE, 0, False, serial, 0, commutes)
        is_serial = way.kind == "serial"
        if (
            way.parts >= _MANY_PARTS
        ):  # there is more to do before a part than where elements are read
            chunk = way.chunk * 4
            length = math.prod(dim.length for dim in folded)
            way = way._replace(parts=-(-length // chunk), chunk=chunk)
        plan, wide = plans.packed_plan(way, kept, folded, is_last=way.parts == 1, by_part=False)
        lengths, strides = _geometry(given, shape)
        dims = len(lengths) // 8
        kinds = tuple(
            "array" if isinstance(one, _core.DeviceArray) else "place" if one is PLACE else "value"
            for one in given
        )
        stored = tuple(np.dtype(one.dtype) for one in given)
        kernel = self._kernel(is_serial, wide, dims, kinds, stored)
        grid = plans.grid_of(way, math.prod(dim.length for dim in kept))
        return kernel, grid, way, plan, lengths, strides, way.parts

    def _kernel(self, is_serial, wide, dims, kinds, stored):
        key = is_serial, wide, dims, kinds, stored
        found = self._kernels.get(key)
        if found is None:
            found = self._kernels[key] = self._made(*key)
        return found

    def _made(self, is_serial, wide, dims, kinds, stored):
        builder, inputs = self.generated(is_serial, wide, dims, kinds, stored)
        source = builder.source(self._function.definition, Options(), [_KERNEL])
        explain = element.explainer(self._function, self._title(), builder.refused)
        rows = [
            _struct("plan", plans.plan_size(wide)),
            _struct("operands", _size(len(stored), dims)),
            Parameter("output", "pointer", "void*", "", 1, 8, 8, 0, "", False),
            *(Parameter(one, "pointer", "const void*", "", 1, 8, 8, 0, "", True) for one in inputs),
        ]
        kernel = Kernel(Images(source, explain), _KERNEL, self._function.name, rows, Options())
        return reduceloops.Loop(kernel, (*_NAMES, *inputs))

    def _title(self):
        return f"{self._function.name}, {self._ufunc.__name__}: {self._signature}"

    def generated(self, is_serial: bool, wide: bool, dims: int, kinds: tuple, stored: tuple) -> Any:
        """(Builder, names of the parameters that are arrays) of a kernel."""
        result = types.from_dtype(self._dtype)
        typed = element.typed(self._function, self._signature)
        builder = Builder(element.plain_name(self._function), self._title())
        builder.use_types(result, *self._signature.args, *map(types.from_dtype, stored))
        builder.ahead.append(f"#define NUMBALITE_REDUCE_DIMS {plans.room(wide)}\n")
        builder.ahead.append('#include "numbalite/ufunc.cuh"\n#include "numbalite/reduce.cuh"\n')
        namespace = builder.add_function(typed)
        function = self._loops.function_for(self._dtype).of([result, result])
        combining = builder.add_function(function)
        builder.write_own(
            templates.fill(
                "reduce_pair", S=result.cxx, T=result.cxx, O=result.cxx,
                call=element.call(function, combining, "a, b"),
                commutes=str(self._loops.commutes(self._dtype)).lower(),
            )
        )  # fmt: skip
        words = ", ".join(
            _read(kind, i, t.cxx, dtype)
            for i, (kind, t, dtype) in enumerate(
                zip(kinds, self._signature.args, stored, strict=True)
            )
        )
        inputs = [f"a{i}" for i, kind in enumerate(kinds) if kind == "array"]
        builder.write_own(
            templates.fill(
                "mapped", scale=_SCALE, count=len(stored), dims=dims, T=result.cxx, O=result.cxx,
                mapped=element.call(typed, namespace, words), threads=plans.THREADS, kernel=_KERNEL,
                serial=str(is_serial).lower(),
                parameters="".join(f", const void *{name}" for name in inputs),
                arrays=", ".join(f"a{i}" if kind == "array" else "nullptr" for i, kind in enumerate(kinds)),
            )
        )  # fmt: skip
        return builder, inputs


def _struct(name, size):
    return Parameter(name, "struct", name, "", size, size, 16, 0, "", False)


def _size(count, dims):
    size = 16 * count + 8 * dims * (1 + count)
    return -(-size // 16) * 16


def _read(kind, number, cxx, dtype):
    if kind == "array":
        return f"load<{_in_memory(dtype)}, {cxx}>({number}, index)"
    return f"value<{cxx}>({number})" if kind == "value" else "i"


def _in_memory(dtype):
    return "unsigned char" if dtype.kind == "b" else types.from_dtype(dtype).cxx


def _slot(value, scalar):
    if value is PLACE or isinstance(value, _core.DeviceArray):
        return bytes(16)
    return np.asarray(value).astype(scalar.dtype).tobytes().ljust(16, b"\0")


def _geometry(given, shape):
    """(lengths, strides of all operands) as bytes: neighbouring axes that all walk as one are merged,
    in C order."""
    every = [
        shapes.spread(one.shape, one.strides, shape)
        if isinstance(one, _core.DeviceArray)
        else (0,) * len(shape)
        for one in given
    ]
    rows = [row for row in zip(shape, *every, strict=True) if row[0] != 1]
    made = rows[:1] or [(1, *(0 for _ in given))]
    for length, *steps in rows[1:]:
        outer = made[-1]
        if all(a == b * length for a, b in zip(outer[1:], steps, strict=True)):
            made[-1] = (outer[0] * length, *steps)
        else:
            made.append((length, *steps))
    lengths, *strides = zip(*made, strict=True)
    count = len(lengths)
    return struct.pack(f"<{count}q", *lengths), b"".join(
        struct.pack(f"<{count}q", *steps) for steps in strides
    )
