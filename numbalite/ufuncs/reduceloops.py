"""Reductions and scans on the device: kernels made from a user's function of two numbers.

The kernels are cuda_src/numbalite/reduce.cuh, short_axes.cuh and scan.cuh. A Loops has those of one function, each
compiled when it is first needed, and the plans (reduceplan.py) for the geometries that there were:
which kernels, how many parts for each result, and the second launch that folds the parts.
"""

from __future__ import annotations

import math
import re
from _thread import RLock
from typing import NamedTuple

import numpy as np

from numbalite import _core, types
from numbalite.compilers import templates
from numbalite.compilers.source import Source
from numbalite.kernels.builder import Builder, identifiers
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import MULTIPROCESSOR_COUNT, SHARED_MEMORY_OF_BLOCK, Kernel
from numbalite.kernels.options import Options
from numbalite.types.describe import Parameter

from . import commuting, element, operands
from . import reduceplan as plans

_KEPT_PLANS = 256
_MAJOR = 75  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_STATIC = 4096  # bytes of shared memory that pipelined_scan has beside its tiles, at most


class Loop(_core.Dispatcher):
    """A generated kernel, launched as any other."""

    def __init__(self, kernel, names):
        self._kernel = kernel
        super().__init__(kernel.name, names, typed=True)

    def _resolve(self, device, codes, args):
        return self._kernel.load(device)


def are_serial() -> bool:
    """Do a block's threads run one after another?"""
    return _core.driver_has("serial_threads")


def pipelines() -> int:
    """How many blocks can have a pipeline of tiles in shared memory; 0 where a device has no bulk copies."""
    most = 0
    for device in range(_core.device_count()):
        memory = _core.device_attribute(device, SHARED_MEMORY_OF_BLOCK)
        if _core.device_attribute(device, _MAJOR) < 9 or memory < plans.PIPELINE_MEMORY + _STATIC:
            return 0
        most = max(most, _core.device_attribute(device, MULTIPROCESSOR_COUNT))
    return most


def cached_bytes() -> int:
    """How large an array is that may lie in the L2 cache, beside others."""
    devices = range(_core.device_count())
    return min(_core.device_attribute(device, _L2_CACHE_SIZE) for device in devices) * 4 // 5


# ------------------------------------------------------------------------------------ the kernels

_SELECT = (  # those that select.cuh has
    "select<{{S}}, numbalite::nl_reduce::{}, {{masked}}, {{width}}>"
    "(p, input, where, output, flags, (numbalite::int64 *)segments, nl_function());"
)
_BODIES = {
    "packed": "rows<{T}, {O}, numbalite::nl_reduce::packed<{S}, {T}, {masked}>, {masked}>"
              "(p, input, where, output, flags, segments, nl_function());",
    "strided": "rows<{T}, {O}, numbalite::nl_reduce::strided<{S}, {T}, {masked}>, {masked}>"
               "(p, input, where, output, flags, segments, nl_function());",
    "stepped": "rows<{T}, {O}, numbalite::nl_reduce::stepped<{S}, {T}, {masked}>, {masked}>"
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
    "select_places": _SELECT.format("PLACES"),
    "select_halves": _SELECT.format("HALVES"),
    "select_spread": _SELECT.format("SPREAD"),
    "select_cover": _SELECT.format("COVER"),
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
# Kernels are named by these words and the numbers of the way that was chosen: columns4, scan_tiles4x2, at_few32.
_KIND = re.compile(r"([a-z_]+)([0-9x]*)")
# The header of a family of kernels, and what the function is there: it combines two numbers in the others.
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
# What kernels take beside the plan; True: they do not write to it.
_TAKEN = {"input": True, "where": True, "output": False, "flags": False, "segments": True}
_TAKEN_BY_BOTH = {
    "input": True, "where": True, "output": False, "flags": False, "parts": False, "counter": False,
}  # fmt: skip
_TAKEN_BY_KEY = {
    "keys": True, "values": True, "out_values": False, "statuses": False, "out_keys": False,
    "count": False,
}  # fmt: skip


def _rows(taken, size):
    pointers = [
        Parameter(name, "pointer", "const void*" if const else "void*", "", 1, 8, 8, 0, "", const)
        for name, const in taken.items()
    ]
    return [Parameter("plan", "struct", "plan", "", size, size, 16, 0, "", False), *pointers]


def code_of(dtype):
    """What stands for a dtype in keys: its number, if that says it all."""
    return dtype.num if dtype.num < 20 else dtype


def _body(kind, names, words):
    word, numbers = _KIND.fullmatch(kind).groups()
    return _BODIES[word].format(**names, **words, width=numbers, tile=numbers.replace("x", ", "))


def _kernel_text(kind, last, names, words, blocks):
    """The kernel of a kind, whose last block folds the parts by the kind ``last``, if that is one. ``names`` are the
    types S, T, O; so many blocks are to fit in a multiprocessor."""
    name, threads = f"nl_{kind}{last}", plans.THREADS
    if last:
        stored = {**names, "O": names["T"]}
        folded = {**names, "S": names["T"]}
        return templates.fill(
            "reduce_both", kernel=name, threads=threads, blocks=blocks,
            body=_body(kind, stored, words), last_body=_body(last, folded, words),
        )  # fmt: skip
    if kind.startswith("pipelined"):
        threads, blocks = plans.PIPELINE_THREADS, 1
    template = "by_key" if kind.startswith("by_key") else "reduce"
    return templates.fill(
        template, kernel=name, threads=threads, blocks=blocks, body=_body(kind, names, words)
    )


class Loops:
    """The kernels of one function of numbers.

    ``function_for(dtype)`` gives the DeviceFunction that combines numbers of a dtype; ``options`` are
    an Options; ``name`` is for messages.
    """

    def __init__(self, function_for, name, options=None):
        self.function_for = function_for
        self.name = name
        self.options = options or Options()
        self._lock = RLock()
        self._loops = {}
        self._plans = {}

    def generated(
        self, kind, stored, loop, result, masked=False, wide=False, unary=False, exclusive=False,
        last="", cached=False, vec=1,
    ):  # fmt: skip
        """(Builder, function) of a kernel: it reads ``stored``, folds ``loop``, writes ``result``. ``last`` is the kind
        of fold of the parts that it leaves, for its last block. ``cached``: what it reads may stay in the caches.
        ``vec``: so many neighbours are an element."""
        builder = Builder(f"{self.name}_{kind}", f"{self.name}: {kind} {loop}")
        names = {
            letter: self._cxx(builder, dtype)
            for letter, dtype in zip("STO", (stored, loop, result), strict=True)
        }
        builder.ahead.append(f"#define NUMBALITE_REDUCE_DIMS {plans.room(wide)}\n")
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
        blocks = plans.blocks_of(kind, vec, vec * loop.itemsize)
        builder.write_own(_kernel_text(kind, last, names, words, blocks))
        return builder, function

    def _cxx(self, builder, dtype):
        """What the type is called in C++."""
        of_dtype = types.from_dtype(dtype)
        builder.use_types(of_dtype)
        return of_dtype.cxx

    def _write_function(self, builder, template, names, loop, unary):
        """nl_function, which the kernels call; what it is made of."""
        function = self.function_for(loop).of((types.from_dtype(loop),) * (1 if unary else 2))
        namespace = builder.add_function(function)
        operand = f"const {names['T']} b = numbalite::nl_convert<{names['T']}>(*operand);\n        "
        builder.write_own(
            templates.fill(
                template,
                **names,
                call=element.call(function, namespace, "a" if unary else "a, b"),
                operand="" if unary else operand,
                commutes=str(self.commutes(loop)).lower(),
            )
        )
        return function

    def _images(self, builder, function, kind, loop):
        """(the images of a kernel, the files that the user's lines are from)"""
        definition = function.definition
        source = builder.source(definition, self.options, [f"nl_{kind}"], suffix=f"_{kind}")
        explain = element.explainer(function, f"{self.name}({loop}, {loop})")
        return Images(source, explain), (definition.text.label,)

    def commutes(self, dtype) -> bool:
        """Whether elements of this dtype may be combined in any order."""
        return commuting.commutes(self.function_for(dtype), dtype)

    def loop(
        self, kind, stored, loop, result, masked=False, wide=False, unary=False, exclusive=False,
        last="", cached=False, vec=1,
    ) -> Loop:  # fmt: skip
        """The kernel; not compiled before its first launch."""
        codes = map(code_of, (stored, loop, result))
        key = kind, *codes, masked, wide, unary, exclusive, last, cached, vec
        with self._lock:
            found = self._loops.get(key)
            if found is None:
                builder, function = self.generated(
                    kind, stored, loop, result, masked, wide, unary, exclusive, last, cached, vec
                )
                images, labels = self._images(builder, function, kind + last, loop)
                taken = _TAKEN_BY_BOTH if last else _TAKEN
                if kind.startswith("by_key"):
                    taken = _TAKEN_BY_KEY
                size = plans.plan_size(wide, vec * loop.itemsize) * (2 if last else 1)
                kernel = Kernel(
                    images,
                    f"nl_{kind}{last}",
                    self.name,
                    _rows(taken, size),
                    self.options,
                    labels=labels,
                )
                found = self._loops[key] = Loop(kernel, ("plan", *taken))
            return found

    def planned(self, key, make):
        """What ``make()`` gave for this key before, or gives now."""
        with self._lock:
            found = self._plans.get(key)
            if found is None:
                found = make()
                if len(self._plans) >= _KEPT_PLANS:
                    self._plans.clear()
                self._plans[key] = found
            return found


class OwnLoops(Loops):
    """The kernels of an operation in cuda_src/numbalite/moments.cuh, "mean_of<float>", which folds in a type of
    its own: ``loop``, of the bytes that it has."""

    def __init__(self, operation, name, itemsize):
        super().__init__(None, name)
        self._operation = operation
        self.loop_dtype = np.dtype((np.void, itemsize))

    def commutes(self, dtype) -> bool:
        return True

    def _cxx(self, builder, dtype):
        return "nl_function::value" if dtype == self.loop_dtype else super()._cxx(builder, dtype)

    def _write_function(self, builder, template, names, loop, unary):
        builder.ahead.append('#include "numbalite/moments.cuh"\n')
        builder.names |= identifiers(self._operation)
        builder.write_own(f"typedef numbalite::nl_reduce::{self._operation} nl_function;\n")

    def _images(self, builder, function, kind, loop):
        fields = self.options.source_fields()
        name = f"{self.name}_{kind}.cu"
        source = Source(builder.finish(fields), name, (f"nl_{kind}",), describe=False, **fields)
        return Images(source), ()


# ---------------------------------------------------------------------------------------- reductions

# What the slots of a step stand for (_core.ReductionPlan): arrays that are given, then scratch arrays.
_INPUT, _WHERE, _OUTPUT, _SEGMENTS, _FIRST_SCRATCH = range(5)


def _step(kernel, way, results, plan, *slots):
    return kernel, plans.grid_of(way, results), way.threads, plan, slots


class _Reduction(NamedTuple):
    """What is to be folded, and into what."""

    loops: Loops
    kept: list
    folded: list
    stored: np.dtype
    loop: np.dtype
    result: np.dtype
    address: int
    masked: bool
    initial: bytes | None
    divisor: float
    reorderable: bool

    @property
    def results(self):
        return math.prod(dim.length for dim in self.kept)

    @property
    def cached(self):
        """Is it so little that it may lie in the cache?"""
        elements = math.prod(dim.length for dim in (*self.kept, *self.folded))
        return elements * self.stored.itemsize <= cached_bytes()

    def way(self, kept, folded):
        """How elements are folded along these dimensions."""
        return plans.choose(
            kept, folded, self.stored.itemsize, self.address, self.masked, are_serial(),
            self.loop.itemsize, self.loops.commutes(self.loop),
        )  # fmt: skip


def _folding(r: _Reduction):
    """The plan of a reduction: one launch, or two with numbers between them."""
    folded, later = r.folded, []
    if r.reorderable and not (r.masked or are_serial()) and r.loops.commutes(r.loop):
        folded, later = plans.divided(r.kept, folded, r.stored.itemsize, r.loop.itemsize)
    kept = plans.together(r.kept, later) if later else r.kept
    way = r.way(kept, folded)
    if r.reorderable and way.kind.startswith("columns") and folded[-1].length < plans.SHORT_RUN:
        folded = sorted(folded, key=lambda dim: dim.length)  # the longest without interruption
    if way.parts == 1 and not later:
        return _one_launch(r, way, folded)
    return _with_parts(r, way, kept, folded, later)


def _by_segments(r: _Reduction, segment):
    """The plan with one part for each result, of which the kernel is told where it ends."""
    usual = [r.folded[0]._replace(length=-(-r.folded[0].length // r.kept[segment].length))]
    way = plans.choose(r.kept, usual, r.stored.itemsize, r.address, r.masked, are_serial())
    return _one_launch(r, way._replace(parts=1, chunk=1 << 62), r.folded, segment)


def _one_launch(r, way, folded, segment=-1):
    plan, wide = plans.packed_plan(
        way, r.kept, folded, initial=r.initial, segment=segment, itemsize=r.loop.itemsize,
        divisor=r.divisor,
    )  # fmt: skip
    kernel = r.loops.loop(way.kind, r.stored, r.loop, r.result, r.masked, wide, cached=r.cached)
    given = _INPUT, _WHERE, _OUTPUT, _OUTPUT, _SEGMENTS
    return _core.ReductionPlan([_step(kernel, way, r.results, plan, *given)], ())


def _with_parts(r, way, kept, folded, later):
    """A launch for these dimensions leaves parts of each number, which the last block folds, or a second launch does,
    together with the later dimensions."""
    # The parts of neighbouring results are neighbours where the results' elements are.
    by_part = way.parts == 1 or way.kind.startswith(("serial", "columns", "narrow"))
    size, each = r.loop.itemsize, math.prod(dim.length for dim in later)
    numbers = r.results * each
    scratch = [(numbers * way.parts, r.loop)]
    parts = flags = _FIRST_SCRATCH
    if r.masked:  # whether a part has any element that the mask selects
        flags = parts + 1
        scratch.append((numbers * way.parts, np.dtype(bool)))
    apart, after = (1, numbers) if by_part else (way.parts, 1)
    of_results, of_later = plans.in_scratch(r.kept, later, apart, size)
    of_one = [plans.Dimension(way.parts, after * size, after), *of_later]
    if later:
        of_one = plans.merged(plans.by_stride(of_one))
    first, first_wide = plans.packed_plan(
        way, kept, folded, is_last=False, by_part=by_part, itemsize=size
    )
    ending = {"initial": r.initial, "itemsize": size, "divisor": r.divisor}
    last = None
    if not (first_wide or later):
        last = plans.by_last_block(way, r.results, r.masked, size)
    if last is not None:
        plan, _ = plans.packed_plan(last, of_results, of_one, by_one=True, **ending)
        counter = parts + len(scratch)
        scratch.append((1, np.dtype("u4"), np.array(0, "u4"), True))
        kernel = r.loops.loop(
            way.kind, r.stored, r.loop, r.result, r.masked, last=last.kind, cached=r.cached
        )
        slots = _INPUT, _WHERE, _OUTPUT, flags, parts, counter
        both = np.void(first.tobytes() + plan.tobytes())
        return _core.ReductionPlan([_step(kernel, way, r.results, both, *slots)], scratch)
    last = plans.choose(
        of_results, of_one, size, 0, r.masked, are_serial(), size, r.loops.commutes(r.loop)
    )._replace(parts=1, chunk=way.parts * each)
    plan, wide = plans.packed_plan(last, of_results, of_one, **ending)
    kernel = r.loops.loop(way.kind, r.stored, r.loop, r.loop, r.masked, first_wide, cached=r.cached)
    steps = [_step(kernel, way, numbers, first, _INPUT, _WHERE, parts, flags, _SEGMENTS)]
    kernel = r.loops.loop(last.kind, r.loop, r.loop, r.result, r.masked, wide, cached=True)
    steps.append(_step(kernel, last, r.results, plan, parts, flags, _OUTPUT, _OUTPUT, parts))
    return _core.ReductionPlan(steps, scratch)


def _step_for_parts(loops, way, kept, along, stored, loop, *slots):
    """The launch that folds each part of a scan's lines."""
    plan, wide = plans.packed_plan(way, kept, [along], is_last=False, itemsize=loop.itemsize)
    results = math.prod(dim.length for dim in kept)
    kernel = loops.loop(way.kind, stored, loop, loop, wide=wide)
    return _step(kernel, way, results, plan, *slots)


def reduce(loops, array, axes, loop, out, *, initial=None, where=None, reorderable=False, stream=0,
           segments=None, divisor=1.0):  # fmt: skip
    """Folds ``array`` along ``axes`` into ``out``, whose shape is that of the other axes in order.

    All on the current device, ``out`` aligned, nothing empty but for the axes that are folded. ``loop`` is the dtype to
    fold in; ``initial`` the bytes of a number of it; ``where`` a boolean array of the array's shape.
    ``reorderable`` allows any order of the axes (not of the elements along one). ``segments`` is
    (axis, int64 array (n, 2) of begins and ends): the axis is folded by segments, and `out` has n
    there. ``divisor`` is for operations whose result is not what they fold. Returns the plan, None if the
    array had to be copied first.
    """
    axis = segments[0] if segments else None
    key = (
        array.shape, array.strides, array.dtype.num, array._address % 16, axes, loop.num,
        out.strides, out.shape, out.dtype.num, initial, None if where is None else where.strides,
        axis, reorderable, divisor,
    )  # fmt: skip

    def make():
        if not operands.is_aligned(array):
            return None
        masks = where.strides if where is not None else (0,) * array.ndim
        steps = iter(zip(out.shape, out.strides, strict=True))
        kept, folded, segment = [], [], None
        for i, (length, step, mask) in enumerate(
            zip(array.shape, array.strides, masks, strict=True)
        ):
            if i in axes:
                folded.append(plans.Dimension(length, step, mask))
            if i == axis:
                count, output = next(steps)
                segment = plans.Dimension(count, 0, 0, output)
            elif i not in axes:
                kept.append(plans.Dimension(length, step, mask, next(steps)[1]))
        kept = plans.merged(plans.by_stride(kept))
        if segment:
            kept = [segment, *kept]  # outermost, so that neighbours have the same segment
        else:
            folded = plans.merged(plans.by_stride(folded) if reorderable else folded)
        reduction = _Reduction(
            loops, kept, folded, array.dtype, loop, out.dtype, array._address % 16,
            where is not None, initial, divisor, reorderable,
        )  # fmt: skip
        return _by_segments(reduction, 0) if segment else _folding(reduction)

    plan = loops.planned(key, make)
    if plan is None:
        reduce(
            loops, array.copy(stream=stream), axes, loop, out,
            initial=initial, where=where, reorderable=reorderable, stream=stream, segments=segments,
            divisor=divisor,
        )  # fmt: skip
        return None
    plan.run(
        array, array if where is None else where, out, segments[1] if segments else array, stream
    )
    return plan


# ----------------------------------------------------------------------------------------------- scans


def accumulate(loops, array, axis, loop, out, stream=0, *, initial=None, exclusive=False):
    """Running folds of ``array`` along ``axis``, into ``out`` of its shape. ``initial``: the bytes of a
    number to begin with; ``exclusive``: of the elements before each one, for which there is an initial
    number. Returns the plan, None if the array had to be copied first."""
    aligned = operands.is_aligned(array)
    if not aligned:
        array = array.copy(stream=stream)
    key = (
        "scan", array.shape, array.strides, code_of(array.dtype), axis, code_of(loop), out.strides,
        code_of(out.dtype), array._address % 16, out._address % 16, initial, exclusive,
    )  # fmt: skip

    def make():
        every = [
            plans.Dimension(length, step, 0, output)
            for length, step, output in zip(array.shape, array.strides, out.strides, strict=True)
        ]
        kept = plans.merged(plans.by_stride(every[:axis] + every[axis + 1 :]))
        dtypes, addresses = (array.dtype, loop, out.dtype), (array._address % 16, out._address % 16)
        return _scan(loops, kept, every[axis], dtypes, addresses, initial, exclusive)

    plan = loops.planned(key, make)
    plan.run(array, array, out, array, stream)
    return plan if aligned else None


def _scan(loops, kept, along, dtypes, addresses, initial, exclusive):
    """The plan of a scan."""
    steps, scratch = [], []
    slots = _INPUT, _OUTPUT
    _add_scan(loops, kept, along, dtypes, addresses, slots, steps, scratch, initial, exclusive)
    return _core.ReductionPlan(steps, scratch)


def _add_scan(
    loops, kept, along, dtypes, addresses, slots, steps, scratch, initial=None, exclusive=False
):
    """Appends the launches of a scan: one, with memory in which tiles publish what they fold to.
    Columns in several parts are folded part by part, the folds of the parts are scanned, and each
    part's scan begins with that of the parts before it."""
    stored, loop, _ = dtypes
    source, target = slots
    vec, kept, along, way, folding, blocks = _chosen_scan(kept, along, dtypes, addresses)
    lines = math.prod(dim.length for dim in kept)
    before = statuses = source
    if folding is not None:
        before = _FIRST_SCRATCH + len(scratch)
        size = loop.itemsize
        scratch.append((lines * way.parts, loop))
        slots = source, source, before, before, source
        steps.append(_step_for_parts(loops, folding, kept, along, stored, loop, *slots))
        of_lines = plans.merged([plans.Dimension(lines, way.parts * size, 0, way.parts * size)])
        parts, own = plans.Dimension(way.parts, size, 0, size), (before, before)
        _add_scan(loops, of_lines, parts, (loop,) * 3, (0, 0), own, steps, scratch)
    elif way.parts > 1:
        statuses = _FIRST_SCRATCH + len(scratch)
        count = 1 + plans.statuses_of_scan(way, lines) * -(-vec * loop.itemsize // 4)
        scratch.append((2 * count, np.dtype("u4"), np.array(0, "u4")))
    slots = source, before, target, statuses, source
    initial = initial and initial * vec
    steps.append(
        _scan_step(loops, way, kept, along, dtypes, slots, blocks, initial, exclusive, vec)
    )


def _chosen_scan(kept, along, dtypes, addresses):
    """(how many columns are an element, the kept dimensions, the axis, how to scan, how to fold parts before, how many
    blocks have a pipeline)"""
    sizes, serial = [dtype.itemsize for dtype in dtypes], are_serial()
    blocks = 0 if serial else pipelines()
    vec, *dims = (1, kept, along) if serial else plans.in_vecs(kept, along, sizes, addresses)
    of_vecs = [vec * size for size in sizes]
    way, folding = plans.choose_scan(*dims, of_vecs, addresses[0], serial, blocks, vec)
    if vec > 1 and folding is not None:  # parts are folded and kept by columns
        vec, dims = 1, (kept, along)
        way, folding = plans.choose_scan(*dims, sizes, addresses[0], serial, blocks)
    return vec, *dims, way, folding, blocks


def _scan_step(
    loops, way, kept, along, dtypes, slots, blocks, initial=None, exclusive=False, vec=1
):
    lines, size = math.prod(dim.length for dim in kept), vec * dtypes[1].itemsize
    plan, wide = plans.packed_plan(way, kept, [along], initial=initial, itemsize=size)
    kernel = loops.loop(way.kind, *dtypes, wide=wide, exclusive=exclusive, vec=vec)
    if way.kind.startswith("pipelined"):
        return kernel, blocks, way.threads, plan, slots, plans.PIPELINE_MEMORY
    grid = plans.scan_grid(way, lines)
    if way.kind == "scan_rows":
        memory = way.threads * plans.scanned_row(along.length, size)
        return kernel, grid, way.threads, plan, slots, memory
    return kernel, grid, way.threads, plan, slots
