"""Implements reductions and scans on the device with a user's function of two numbers.

`Loops` generates the kernels of one function from templates in cuda_src/numbalite (reduce.cuh, short_axes.cuh, scan.cuh
and others) and compiles each at its first use. `reduce` and `accumulate` run them. C code plans each call
(core/reduceplan, core/scanplan): the plan selects the kernels, the number of parts per result, and the
launches that reduce the parts.
"""

from __future__ import annotations

import functools
import re
from _thread import RLock

import numpy as np

from numbalite import _core, types
from numbalite.compilers import templates
from numbalite.compilers.source import Source
from numbalite.kernels.builder import SourceBuilder, identifiers
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import MULTIPROCESSOR_COUNT, SHARED_MEMORY_OF_BLOCK, Kernel
from numbalite.kernels.options import Options
from numbalite.types.describe import Parameter

from . import commuting, element, operands
from . import reduceplan as plans

_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_STATIC = 4096  # maximum bytes of shared memory that pipelined_scan uses in addition to its tiles


class LoopKernel(_core.Dispatcher):
    """A generated kernel that is launched like a user's kernel."""

    def __init__(self, kernel, names):
        self._kernel = kernel
        super().__init__(kernel.name, names, typed=True)

    def _resolve(self, device, codes, args):
        return self._kernel.load(device)


def pipeline_blocks() -> int:
    """Returns the number of blocks that can pipeline tiles in shared memory, or 0 if any device lacks bulk
    copies or enough shared memory."""
    most = 0
    for device in range(_core.device_count()):
        memory = _core.device_attribute(device, SHARED_MEMORY_OF_BLOCK)
        if _core.device_attribute(device, _MAJOR) < 9 or memory < plans.PIPELINE_MEMORY + _STATIC:
            return 0
        most = max(most, _core.device_attribute(device, MULTIPROCESSOR_COUNT))
    return most


def l2_cache_bytes() -> int:
    """Returns the maximum size of an array that is expected to stay in the L2 cache: 4/5 of the smallest
    cache of all devices."""
    devices = range(_core.device_count())
    return min(_core.device_attribute(device, _L2_CACHE_SIZE) for device in devices) * 4 // 5


@functools.cache
def describe_devices() -> None:
    """Passes the device limits to the planner in C. All devices use the same limits, so that plans, and
    therefore results, are equal on all of them."""
    _core.reduction_limit("PIPELINES", pipeline_blocks())
    _core.reduction_limit("CACHED_BYTES", l2_cache_bytes())


# ------------------------------------------------------------------------------------ the kernels

_SELECT = (  # kernels of select.cuh
    "select<{{S}}, numbalite::nl_reduce::{}, {{masked}}, {{width}}>"
    "(p, input, where, output, flags, (numbalite::int64 *)segments, nl_function());"
)
_SELECT_PACKED = (
    "select_packed<{{S}}, numbalite::nl_reduce::{}, {{width}}>"
    "(p, input, where, output, flags, (numbalite::int64 *)segments);"
)
_BODIES = {
    "packed": "rows<{T}, {O}, numbalite::nl_reduce::packed<{S}, {T}, {masked}>, {masked}, {width}>"
              "(p, input, where, output, flags, segments, nl_function());",
    "strided": "rows<{T}, {O}, numbalite::nl_reduce::strided<{S}, {T}, {masked}>, {masked}, {width}>"
               "(p, input, where, output, flags, segments, nl_function());",
    "stepped": "rows<{T}, {O}, numbalite::nl_reduce::stepped<{S}, {T}, {masked}>, {masked}, {width}>"
               "(p, input, where, output, flags, segments, nl_function());",
    "short_packed": "short_rows<{T}, {O}, numbalite::nl_reduce::packed<{S}, {T}, false>, {width}>"
                    "(p, input, output, nl_function());",
    "short_strided": "short_rows<{T}, {O}, numbalite::nl_reduce::strided<{S}, {T}, false>, {width}>"
                     "(p, input, output, nl_function());",
    "gapped_packed": "gapped_rows<{T}, {O}, numbalite::nl_reduce::packed<{S}, {T}, false>, {width}>"
                     "(p, input, output, nl_function());",
    "gapped_stepped": "gapped_rows<{T}, {O}, numbalite::nl_reduce::stepped<{S}, {T}, false>, {width}>"
                      "(p, input, output, nl_function());",
    "columns": "columns<{S}, {T}, {O}, {width}>(p, input, output, nl_function());",
    "teams": "teams<{S}, {T}, {O}, {width}>(p, input, output, nl_function());",
    "stripes": "stripes<{S}, {T}, {O}, {tile}>(p, input, output, nl_function());",
    "staged_columns": "staged_columns<{S}, {T}, {O}>(p, input, output, nl_function());",
    "narrow": "narrow<{S}, {T}, {O}, {width}>(p, input, output, nl_function());",
    "serial": "serial<{S}, {T}, {O}, {masked}>"
              "(p, input, where, output, flags, segments, nl_function());",
    "scan_serial": "scan_serial<{S}, {T}, {O}, {exclusive}>(p, input, where, output, "
                   "{function});",
    "scan_rows": "scan_rows<{S}, {T}, {O}, {exclusive}>(p, input, where, output, {function});",
    "scan_warps": "scan_warps<{S}, {T}, {O}, {tile}, {exclusive}>(p, input, output, {function});",
    "scan_columns": "scan_columns<{S}, {T}, {O}, {exclusive}>(p, input, output, flags, {function});",
    "scan_tiles": "scan_tiles<{S}, {T}, {O}, {tile}, {exclusive}>(p, input, output, flags, "
                  "{function});",
    "pipelined_scan": "pipelined_scan<{S}, {T}, {O}, {width}, {exclusive}>(p, input, output, flags, "
                      "{function});",
    "select_values": _SELECT.format("VALUES"),
    "select_indices": _SELECT.format("INDICES"),
    "select_halves": _SELECT.format("HALVES"),
    "select_spread": _SELECT.format("SPREAD"),
    "select_cover": _SELECT.format("COVER"),
    "select_packed_values": _SELECT_PACKED.format("VALUES"),
    "select_packed_indices": _SELECT_PACKED.format("INDICES"),
    "select_packed_spread": _SELECT_PACKED.format("SPREAD"),
    "reverse_rest": "reverse_rest<{S}>(p, output, segments);",
    "by_key": "by_key<{S}, {T}, {O}, {width}>(p, keys, values, out_values, statuses, out_keys, count, "
              "nl_function());",
    "at_in_order": "at_in_order<{O}, {S}, {T}>(p, output, input, (const numbalite::int64 *)where, segments, "
                   "nl_function());",
    "at_each_any": "at_each<{O}, {S}, {T}, numbalite::nl_reduce::any_update>(p, output, input, "
                   "(const numbalite::int{width} *)where, (const numbalite::uint64 *)flags, nl_function());",
    "at_each_sum": "at_each<{O}, {S}, {T}, numbalite::nl_reduce::sum_update>(p, output, input, "
                   "(const numbalite::int{width} *)where, (const numbalite::uint64 *)flags, nl_function());",
    "at_few": "at_few<{O}, {S}>(p, output, input, (const numbalite::int{width} *)where, "
              "(numbalite::uint64 *)flags);",
}  # fmt: skip
# kernel name, a key of _BODIES with the numbers of the schedule: columns4, scan_tiles4x2, at_few32.
_KIND = re.compile(r"([a-z_]+)([0-9x]*)")
# Type of kernel -> (header, template of the function). Other families: ("scan", "reduce_pair").
_FAMILIES = {
    "at": ("scatter", "reduce_at"),
    **dict.fromkeys(
        "columns teams short gapped stripes narrow".split(), ("short_axes", "reduce_pair")
    ),
    "staged": ("staged_columns", "reduce_pair"),
    "by": ("by_key", "reduce_pair"),
    "pipelined": ("pipelined_scan", "reduce_pair"),
    "select": ("select", "reduce_test"),
    "reverse": ("select", "reduce_test"),
}
# kernel type -> parameters after the plan; True marks read-only parameters
_TAKEN = {"input": True, "where": True, "output": False, "flags": False, "segments": True}
_TAKEN_BY_BOTH = {
    "input": True, "where": True, "output": False, "flags": False, "parts": False, "counter": False,
}  # fmt: skip
_TAKEN_BY_KEY = {
    "keys": True, "values": True, "out_values": False, "statuses": False, "out_keys": False,
    "count": False,
}  # fmt: skip


_MAX_LANES = 32
_ROWS = "packed", "strided", "stepped"
# Kernel types whose variants are compiled together, because different shapes need different variants.
_ALTERNATING = "columns", "narrow", "scan_warps"
_TEAM = plans.THREADS // plans.WARP
_TILE_BYTES, _TILE_RUNS, _WARP_LENGTH = 128, 16, 512  # as in core/scanplan.c


def _powers_of_two(first, last):
    """Returns the powers of two from ``first`` to ``last``."""
    return [1 << k for k in range(first.bit_length() - 1, last.bit_length())]


def _column_widths(size, accumulator):
    """Returns the possible numbers of neighbouring columns that a thread reduces, from the sizes of
    elements."""
    most = max(1, min(16 // size, 128 // accumulator))
    return _powers_of_two(1, 1 << (most.bit_length() - 1))


def _access_counts(word, width, accumulator, vec):
    """Returns the list of possible numbers of accesses per thread of a scan."""
    if word == "scan_warps" and vec > 1:
        return [1]
    if word == "scan_tiles":
        return sorted({1, max(1, min(_TILE_RUNS, _TILE_BYTES // (width * accumulator)))})
    return [
        runs
        for runs in _powers_of_two(1, _WARP_LENGTH)
        if runs == 1
        or (
            runs * width * accumulator <= _TILE_BYTES // 2
            and runs * width * plans.WARP < 2 * _WARP_LENGTH
        )
    ]


def _template_arguments_of_kind(word, numbers, size, accumulator, vec):
    """Returns the template arguments, as texts, of all kernels of a type for dtypes of these sizes.

    core/reduceplan.c and core/scanplan.c select among them by shape and alignment.
    """
    if word in ("columns", "narrow"):
        return list(map(str, _column_widths(size, accumulator)))
    if word == "stripes":
        return [
            f"{width}x{ahead}" for width in _column_widths(size, accumulator) for ahead in (2, 4, 8)
        ]
    if word in ("scan_warps", "scan_tiles"):
        width = int(numbers.partition("x")[0])
        return [f"{width}x{runs}" for runs in _access_counts(word, width, accumulator, vec)]
    lanes = {
        **dict.fromkeys(_ROWS, (1, _TEAM)),
        "teams": _powers_of_two(1, _MAX_LANES),
        "gapped": _powers_of_two(2, _MAX_LANES),
        "short": _powers_of_two(2, _MAX_LANES // 2),
    }
    return list(map(str, lanes.get(word.partition("_")[0], ())))


def _kernel_variants(kind, last, size, accumulator, vec=1):
    """Returns all variants of a reduction kernel, as pairs (kind, kind of the reduction by the last block). One
    source contains all of them, because other shapes of the same dtypes may need another variant."""
    word, numbers = _KIND.fullmatch(kind).groups()
    kinds = [
        f"{word}{one}" for one in _template_arguments_of_kind(word, numbers, size, accumulator, vec)
    ]
    if kind not in kinds:
        return [(kind, last)]
    if (
        word == "columns" and not last
    ):  # the small variant without a last block supports the same layouts
        kinds.append("serial")
    if (
        word in _ROWS and last
    ):  # one block reduces each part, and the last block computes several results
        word = _KIND.fullmatch(last)[1]
        return [(kind, f"{word}{team}") for team in (1, _TEAM)]
    if word != "narrow" or not last:
        return [(one, last) for one in kinds]
    return [
        (f"narrow{width}", f"narrow{min(width, _column_widths(accumulator, accumulator)[-1])}")
        for width in _column_widths(size, accumulator)
    ]


def _row_count(taken, size):
    pointers = [
        Parameter(name, "pointer", "const void*" if const else "void*", "", 1, 8, 8, 0, "", const)
        for name, const in taken.items()
    ]
    return [Parameter("plan", "struct", "plan", "", size, size, 16, 0, "", False), *pointers]


def dtype_key(dtype):
    """Returns the key of a dtype: its type number if the number identifies the dtype, otherwise the dtype
    itself."""
    return dtype.num if dtype.num < 20 else dtype


def _kernel_body(kind, names, words):
    word, numbers = _KIND.fullmatch(kind).groups()
    return _BODIES[word].format(**names, **words, width=numbers, tile=numbers.replace("x", ", "))


def _kernel_text(kind, last, names, words, blocks):
    """Returns the C++ source of one kernel.

    ``last``: the type of reduction by which the last block combines the parts, or "". ``names``: the C++
    types S (read), T (accumulator) and O (written). ``blocks``: the number of blocks that must fit in a
    multiprocessor.
    """
    name, threads = f"nl_{kind}{last}", plans.THREADS
    if last:
        stored = {**names, "O": names["T"]}
        reduced = {**names, "S": names["T"]}
        return templates.fill_template(
            "reduce_both", kernel=name, threads=threads, blocks=blocks,
            body=_kernel_body(kind, stored, words), last_body=_kernel_body(last, reduced, words),
        )  # fmt: skip
    if kind.startswith("pipelined"):
        threads, blocks = plans.PIPELINE_THREADS, 1
    template = "by_key" if kind.startswith("by_key") else "reduce"
    return templates.fill_template(
        template, kernel=name, threads=threads, blocks=blocks, body=_kernel_body(kind, names, words)
    )


class Loops:
    """The reduction and scan kernels of one function.

    ``function_for(dtype)`` returns the DeviceFunction that combines two numbers of a dtype. ``name`` is used in
    messages. ``options`` are the compiler Options.
    """

    def __init__(self, function_for, name, options=None):
        self.function_for = function_for
        self.name = name
        self.options = options or Options()
        self._lock = RLock()
        self._loops = {}
        self._families = set()
        self._reducers = {}
        self.selections = {}  # (dtype, number of a kernel) -> result of selection_kernel
        self.natures = {}  # type number -> the operation that scatter.apply_at recognizes in the function

    def generate_kernel(
        self, kind, stored, loop, result, masked=False, wide=False, unary=False, exclusive=False,
        last="", cached=False, vec=1,
    ):  # fmt: skip
        """Generates a kernel that reads dtype ``stored``, accumulates ``loop`` and writes ``result``.

        ``last`` is the type of reduction by which the kernel's last block combines the parts. ``cached`` states
        whether the kernel's loads may stay in the caches. ``vec`` is the number of neighbouring numbers in one
        element.
        Returns (Builder, function).
        """
        return self._generate_kernels(
            [(kind, last)], stored, loop, result, masked, wide, unary, exclusive, cached, vec
        )

    def _generate_kernels(
        self, kinds, stored, loop, result, masked, wide, unary, exclusive, cached, vec
    ):  # fmt: skip
        """Like `generate_kernel`, for several kernels (type, type of the last block's reduction) that differ only
        in their widths."""
        kind = kinds[0][0]
        builder = SourceBuilder(f"{self.name}_{kind}", f"{self.name}: {kind} {loop}")
        names = {
            letter: self._cxx_name(builder, dtype)
            for letter, dtype in zip("STO", (stored, loop, result), strict=True)
        }
        builder.ahead.append(f"#define NUMBALITE_REDUCE_DIMS {plans.max_dimensions(wide)}\n")
        if cached:
            builder.ahead.append("#define NUMBALITE_REDUCE_CACHED\n")
        if vec * loop.itemsize > 16:
            size = plans.initial_size(vec * loop.itemsize)
            builder.ahead.append(f"#define NUMBALITE_REDUCE_INITIAL {size}\n")
        word = _KIND.fullmatch(kind)[1]
        header, template = _FAMILIES.get(word.partition("_")[0], ("scan", "reduce_pair"))
        unary = unary or template == "reduce_test"
        builder.ahead.append(f'#include "numbalite/{header}.cuh"\n')
        function = self._write_function(builder, template, names, loop, unary)

        words = {
            "masked": str(masked).lower(),
            "exclusive": str(exclusive).lower(),
            "function": "nl_function()",
        }
        if vec > 1:
            words["function"] = f"numbalite::nl_reduce::on_vec<{names['T']}, {vec}, nl_function>()"
            names = {
                letter: f"numbalite::nl_reduce::vec<{cxx}, {vec}>" for letter, cxx in names.items()
            }
        for kind, last in kinds:
            blocks = plans.min_blocks(kind, vec, vec * loop.itemsize)
            builder.write_generated(_kernel_text(kind, last, names, words, blocks))
        return builder, function

    def _cxx_name(self, builder, dtype):
        """Returns the C++ name of a dtype."""
        of_dtype = types.from_dtype(dtype)
        builder.add_types(of_dtype)
        return of_dtype.cxx

    def _write_function(self, builder, template, names, loop, unary):
        """Writes nl_function, which the kernels call, to the source. Returns the device function that
        nl_function calls."""
        function = self.function_for(loop).of((types.from_dtype(loop),) * (1 if unary else 2))
        namespace = builder.add_function(function)
        operand = f"const {names['T']} b = numbalite::nl_convert<{names['T']}>(*operand);\n        "
        builder.write_generated(
            templates.fill_template(
                template,
                **names,
                call=element.call_text(function, namespace, "a" if unary else "a, b"),
                operand="" if unary else operand,
                commutes=str(self.commutes(loop)).lower(),
            )
        )
        return function

    def _kernel_images(self, builder, function, kernels, loop):
        """Returns (the images of kernels, the files of the user's lines)"""
        definition, suffix = function.definition, kernels[0].removeprefix("nl")
        source = builder.source(definition, self.options, kernels, suffix=suffix)
        explain = element.error_explainer(function, f"{self.name}({loop}, {loop})")
        return Images(source, explain), (definition.text.label,)

    def commutes(self, dtype) -> bool:
        """Returns whether elements of this dtype may be combined in any order."""
        return commuting.is_commutative(self.function_for(dtype), dtype)

    def loop(
        self, kind, stored, loop, result, masked=False, wide=False, unary=False, exclusive=False,
        last="", cached=False, vec=1,
    ) -> LoopKernel:  # fmt: skip
        """Returns the kernel with these dtypes and options; the first launch compiles it.

        The first variant of most kernels is compiled alone, which is the fastest. If another shape needs a second
        variant, all remaining variants are compiled with it, so that later shapes need no compilation.
        """
        common = (
            *map(dtype_key, (stored, loop, result)),
            masked,
            wide,
            unary,
            exclusive,
            cached,
            vec,
        )
        key = kind, last, *common
        with self._lock:
            found = self._loops.get(key)
            if found is None:
                kinds = _kernel_variants(kind, last, stored.itemsize, vec * loop.itemsize, vec)
                family = kinds[0], common
                is_first = family not in self._families
                self._families.add(family)
                if len(kinds) == 2 or (is_first and not kind.startswith(_ALTERNATING)):
                    kinds = [(kind, last)]
                builder, function = self._generate_kernels(
                    kinds, stored, loop, result, masked, wide, unary, exclusive, cached, vec
                )
                names = [f"nl_{one}{of_last}" for one, of_last in kinds]
                images, labels = self._kernel_images(builder, function, names, loop)
                taken = _TAKEN_BY_BOTH if last else _TAKEN
                if kind.startswith("by_key"):
                    taken = _TAKEN_BY_KEY
                size = plans.plan_size(wide, vec * loop.itemsize) * (2 if last else 1)
                rows = _row_count(taken, size)
                for one, name in zip(kinds, names, strict=True):
                    kernel = Kernel(images, name, self.name, rows, self.options, labels=labels)
                    self._loops.setdefault((*one, *common), LoopKernel(kernel, ("plan", *taken)))
                found = self._loops[key]
            return found

    def reduction_planner(
        self, stored, loop, result, reorderable=False, exclusive=False
    ) -> _core.Reducer:
        """Returns the C object that plans and launches reductions and scans for these dtypes."""
        key = (*map(dtype_key, (stored, loop, result)), reorderable, exclusive)
        found = self._reducers.get(key)
        if found is None:
            describe_devices()
            find = functools.partial(self._kernel, (stored, loop, result))
            made = _core.Reducer(
                find, stored, loop, result, self.commutes(loop), reorderable, exclusive
            )
            found = self._reducers.setdefault(key, made)
        return found

    def selection_kernel(self, kind, dtype, masked, wide):
        """Returns (the kernel that selects elements, the dtype of its plan argument). C code calls this for the
        first selection with each kernel (cext/py/selection.c)."""
        kernel = self.loop(kind, dtype, dtype, dtype, masked, wide)
        return kernel, np.dtype((np.void, plans.plan_size(wide, dtype.itemsize)))

    def _kernel(self, dtypes, kind, last, reads, writes, masked, wide, exclusive, cached, vec):
        """Returns (the kernel, the dtype of its plan argument). The planner in C calls this for
        each launch that it plans."""
        loop = dtypes[1]
        kernel = self.loop(
            kind, dtypes[reads], loop, dtypes[writes], masked, wide and not last,
            exclusive=exclusive, last=last, cached=cached, vec=vec,
        )  # fmt: skip
        size = plans.plan_size(wide and not last, vec * loop.itemsize) * (2 if last else 1)
        return kernel, np.dtype((np.void, size))


class OperatorLoops(Loops):
    """The kernels of a reduction operator of cuda_src/numbalite/reduce_operators.cuh, such as "mean_of<float>".

    The operator has its own accumulator type of ``itemsize`` bytes; ``loop_dtype`` represents the accumulator
    type.
    """

    def __init__(self, operation, name, itemsize):
        super().__init__(None, name)
        self._operation = operation
        self.loop_dtype = np.dtype((np.void, itemsize))

    def commutes(self, dtype) -> bool:
        return True

    def _cxx_name(self, builder, dtype):
        return (
            "nl_function::value" if dtype == self.loop_dtype else super()._cxx_name(builder, dtype)
        )

    def _write_function(self, builder, template, names, loop, unary):
        builder.ahead.append('#include "numbalite/reduce_operators.cuh"\n')
        builder.names |= identifiers(self._operation)
        builder.write_generated(f"typedef numbalite::nl_reduce::{self._operation} nl_function;\n")

    def _kernel_images(self, builder, function, kernels, loop):
        fields = self.options.source_fields()
        name = f"{self.name}{kernels[0].removeprefix('nl')}.cu"
        source = Source(builder.join_source(fields), name, tuple(kernels), describe=False, **fields)
        return Images(source), ()


# ---------------------------------------------------------------------------------- reductions and scans


def aligned_array(array, stream):
    """Returns the array, or an aligned copy if its elements are not aligned."""
    return array if operands.is_aligned(array) else array.copy(stream=stream)


def reduce(loops, array, axes, loop, out, *, initial=None, where=None, reorderable=False, stream=0,
           segments=None, divisor=1.0):  # fmt: skip
    """Reduces ``array`` along ``axes`` into ``out``, whose shape is that of the other axes in order.

    All arrays are non-empty and on the current device; ``out`` is aligned. ``loop`` is the dtype of the accumulators;
    ``initial`` contains the bytes of one accumulator. ``where`` is a boolean array of the array's shape.
    ``reorderable`` allows any order of the axes (not of the elements along one axis). ``segments`` is (axis,
    int64 array (n, 2) of begins and ends): the axis is reduced by segments, and has length n in ``out``.
    ``divisor`` is for reduction operators that divide their result. Returns the Reducer.
    """
    reducer = loops.reduction_planner(array.dtype, loop, out.dtype, reorderable)
    axis, ends = segments or (-1, None)
    reducer.reduce(
        aligned_array(array, stream), axes, out, initial=initial, where=where, segments=ends, axis=axis,
        divisor=divisor, stream=stream,
    )  # fmt: skip
    return reducer


def accumulate(loops, array, axis, loop, out, stream=0, *, initial=None, exclusive=False):
    """Scans ``array`` along ``axis`` into ``out``, which has the same shape.

    ``loop`` is the dtype of the accumulators. ``initial`` is the bytes of a number that precedes the first element.
    ``exclusive``: each result excludes its own element; requires ``initial``. Returns the Reducer.
    """
    reducer = loops.reduction_planner(array.dtype, loop, out.dtype, exclusive=exclusive)
    reducer.scan(aligned_array(array, stream), out, axis, initial, stream)
    return reducer
