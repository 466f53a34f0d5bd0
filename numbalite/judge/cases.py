"""Creates the cases of a task: sizes around those of warps and blocks, with several kinds of data."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numbalite.judge.guarded import unwritten
from numbalite.types import Array
from numbalite.types.tolerance import Tolerance, tolerance

if TYPE_CHECKING:
    from numbalite.judge.taskfile import Parameter, Task

SMALL = (1, 2, 3, 31, 32, 33, 64, 100, 255, 257, 1000, 1025)
"""Sizes at which kernels go wrong first: around a warp, around a block, several blocks."""
_EDGES = (0, *SMALL, 127, 128, 129)
_SPECIAL = 3000  # approximate number of elements of a size with special data
_SMALL = 1 << 20
_DRAWS = 2
_RANDOM_SIZES = 24
_RANDOM_ELEMENTS = 1 << 20  # maximum product of the dimensions of a random size
_RANDOM_LENGTH = 1100  # and maximum of a dimension, unless the task's sizes have larger ones
_WIDTH = 16  # random dimensions have all remainders of the division by this number
_AMPLIFIED = 8.0  # factor of the change of the result when the inputs change by one rounding


class JudgeCase(NamedTuple):
    """One call: the arguments, the expected results, and the tolerances."""

    size: tuple
    kind: str
    arguments: tuple
    expected: dict
    """Name -> array."""
    allowed: dict
    """Name -> Tolerance."""
    undecided: dict
    """Name -> elements whose value overflows without float64: they are not compared."""

    def __str__(self) -> str:
        return f"size {'x'.join(map(str, self.size))}, {self.kind} data"


def sizes(task: Task) -> list[tuple]:
    """Returns the list of sizes to judge, the smallest first: the task's sizes, and each of its dimensions at
    the sizes of warps and blocks."""
    found = {s for s in task.sizes if task.is_valid(s)}
    small = min(task.sizes, key=prod)
    for at in range(len(small)):
        for n in _EDGES:
            size = (*small[:at], n, *small[at + 1 :])
            if task.is_valid(size) and prod(size) <= _SMALL:
                found.add(size)
    return sorted(found, key=lambda s: (prod(s), s))


def random_sizes(task: Task, rng: Any) -> list[tuple]:
    """Returns sizes that no submission can know: each dimension is a random number, or has the value of one of the
    task's sizes. The list is shorter, or empty, if the task accepts few sizes."""
    found: set = set()
    longest = np.array([max(_RANDOM_LENGTH, *lengths) for lengths in zip(*task.sizes, strict=True)])
    remainders = np.array([rng.permutation(_WIDTH) for _ in longest])
    for attempt in range(20 * _RANDOM_SIZES):
        given = np.array(task.sizes[rng.integers(len(task.sizes))])
        lengths = np.exp(rng.uniform(0, np.log(longest / _WIDTH + 1))) - 1
        if attempt % 2:  # all dimensions are long if the task's are
            lengths = given / _WIDTH * rng.uniform(0.1, 1.1, len(given))
        drawn = _WIDTH * lengths.astype(int) + remainders[:, attempt % _WIDTH]
        size = tuple(map(int, np.where(rng.random(len(given)) < 0.8, drawn, given)))
        if 0 < prod(size) <= _RANDOM_ELEMENTS and task.is_valid(size):
            found.add(size)
        if len(found) == _RANDOM_SIZES:
            break
    return sorted(found)


def case_plan(task: Task, rng: Any) -> list[tuple]:
    """Returns (size, kind of the data) of all cases, the smallest first."""
    chosen = sizes(task)
    cases = [(size, "normal") for size in random_sizes(task, rng)]
    cases += [(size, "normal") for size in chosen if prod(size) <= _SMALL for _ in range(_DRAWS)]
    cases += [(size, "normal") for size in chosen if prod(size) > _SMALL]
    near = min(chosen, key=lambda s: abs(prod(s) - _SPECIAL))
    little = min((s for s in chosen if prod(s) > 1), key=prod, default=near)
    if any(
        (_is_floating_array(p) and not p.is_output) or p.name in task.inout for p in task.parameters
    ):
        cases += [
            (size, kind)
            for kind in task.kinds
            if kind != "normal"
            for size in dict.fromkeys((little, near))
        ]
    return sorted(cases, key=lambda case: prod(case[0]))


def draw_case(task: Task, size: tuple, kind: str, rng: Any) -> JudgeCase | None:
    """Returns a JudgeCase with new data, or None if the task's function does not accept the size,
    for example if it is the maximum and the size is 0."""
    given = draw_arguments(task, size, kind, rng)
    try:
        expected = _output_arrays(task, given, np.float64)
        native = _output_arrays(task, given, None)
        changed = [
            _output_arrays(task, _perturbed_inputs(task, given, rng), np.float64) for _ in range(2)
        ]
    except (ValueError, ZeroDivisionError, IndexError):
        if prod(size) == 0:
            return None
        raise
    terms = max(
        1, sum(_array_size(a) for a in given) // max(1, sum(a.size for a in expected.values()))
    )
    allowed, undecided, results = {}, {}, {}
    for p in task.parameters:
        if not p.is_output:
            continue
        want = expected[p.name]
        with np.errstate(all="ignore"):
            results[p.name] = want.astype(p.dtype)
            allowed[p.name] = task.tolerance or _tolerance(
                p, want, [c[p.name] for c in changed], terms
            )
        if p.dtype.kind in "fc":
            undecided[p.name] = np.isfinite(want) & ~(
                np.isfinite(native[p.name]) & np.isfinite(results[p.name])
            )
    return JudgeCase(size, kind, given, results, allowed, undecided)


def draw_arguments(task: Task, size: tuple, kind: str, rng: Any) -> tuple:
    """Returns new arguments of a kernel."""
    if task.generate:
        return task.generate(rng, size)
    return tuple(_random_argument(task, p, size, kind, rng) for p in task.parameters)


def _tolerance(p, want, changed, terms):
    """Returns the tolerance: a few roundings of a sum of this many terms, plus a multiple of the change that
    one rounding of the inputs causes."""
    base = tolerance(p.dtype, terms)
    if p.dtype.kind not in "fc":
        return base
    change = np.max([np.abs(np.nan_to_num(c - want, posinf=0, neginf=0)) for c in changed], axis=0)
    return base._replace(absolute=_AMPLIFIED * change + float(np.finfo(p.dtype).tiny))


def tolerance_text(allowed: Tolerance) -> str:
    """Returns a tolerance in words."""
    most = float(np.max(allowed.absolute)) if np.size(allowed.absolute) else 0.0
    return f"{allowed.rtol:.2g} of the value + {allowed.atol:.2g} of the largest + up to {most:.2g}"


def _array_size(argument):
    return argument.size if isinstance(argument, np.ndarray) else 0


def _is_floating_array(p: Parameter) -> bool:
    return isinstance(p.type, Array) and p.dtype.kind in "fc"


def _random_argument(task, p, size, kind, rng):
    if p.name in task.values:
        value = task.values[p.name](rng, *size)
        return np.ascontiguousarray(value, p.dtype) if p.is_array else p.dtype.type(value).item()
    if not p.is_array:
        return size[0] if p.dtype.kind in "iu" else float(np.float32(rng.uniform(-2, 2)))
    shape = task.shape(p, size)
    if p.is_output and p.name not in task.inout:
        return rng.random(shape) < 0.5 if p.dtype.kind == "b" else unwritten(shape, p.dtype)
    if p.dtype.kind not in "fc":
        return rng.integers(0 if p.dtype.kind in "ub" else -100, 100, shape).astype(p.dtype)
    return _random_floats(p.dtype, shape, kind, rng)


def _random_floats(dtype, shape, kind, rng):
    values = rng.standard_normal(shape)
    if dtype.kind == "c":
        values = values + 1j * rng.standard_normal(shape)
    with np.errstate(all="ignore"):
        if kind == "equal":
            values = np.full(shape, rng.uniform(-3, 3))
        elif kind == "sorted":
            values = np.sort(values, axis=None).reshape(shape)
        elif kind == "zeros":
            values = values * 0
        elif kind in ("large", "huge", "tiny"):
            values = values * {"large": 1e4, "huge": 1e30, "tiny": 1e-39}[kind]
        values = values.astype(dtype)
    if kind in ("nan", "inf") and values.size:
        some = rng.integers(0, values.size, max(1, values.size // 500))
        flat = values.reshape(-1)
        flat[some] = np.nan if kind == "nan" else rng.choice([np.inf, -np.inf], some.size)
    return values


def _perturbed_inputs(task, given, rng):
    out = []
    for p, value in zip(task.parameters, given, strict=True):
        if _is_floating_array(p) and (not p.is_output or p.name in task.inout):
            wide = value.astype(np.complex128 if p.dtype.kind == "c" else np.float64)
            wide *= 1 + float(np.finfo(p.dtype).eps) * rng.uniform(-1, 1, value.shape)
            value = wide
        out.append(value)
    return tuple(out)


def _output_arrays(task, given, wide):
    """Returns {name: expected output of the task's function}, computed with float64 (or with the declared
    types) for floats."""
    arguments = []
    with np.errstate(all="ignore"):
        for value in given:
            if isinstance(value, np.ndarray):
                is_wide = wide is not None and value.dtype.kind in "fc"
                value = value.astype(np.result_type(value.dtype, wide) if is_wide else value.dtype)
            arguments.append(value)
        task.function(*arguments)
    return {p.name: a for p, a in zip(task.parameters, arguments) if p.is_output}
