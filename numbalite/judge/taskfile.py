"""Defines tasks: a task is a NumPy function that defines the result of a kernel, with sizes and a launch
configuration."""

from __future__ import annotations

import inspect
import os
import runpy
import types
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from numbalite.judge import formats
from numbalite.required import require, require_kind
from numbalite.types import Array, Scalar, Type, signatures
from numbalite.types.tolerance import Tolerance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KINDS = ("normal", "equal", "sorted", "zeros", "large", "huge", "tiny", "nan", "inf")
"""The values of floating-point inputs: cases of a task have "normal" data at all sizes, the others at some."""
_TASKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tasks")


class Parameter(NamedTuple):
    """A parameter of a task's kernel. ``type`` is its numbalite type, ``is_output`` is True for an array that
    is not const."""

    name: str
    type: Type
    is_output: bool

    @property
    def is_array(self) -> bool:
        return isinstance(self.type, Array)

    @property
    def dtype(self) -> np.dtype:
        return self.type.dtype.dtype if isinstance(self.type, Array) else self.type.dtype  # type: ignore[attr-defined]


_OPTIONS: dict[str, Any] = {
    "shapes": None, "values": None, "inout": (), "valid": None, "kinds": KINDS, "tolerance": None,
    "reference": None, "operations": None, "generate": None, "benchmarks": (),
}  # fmt: skip


class Task:
    """A task, created by the decorator ``task``, or read by `formats`, which sets two more options:
    ``generate(rng, size)`` returns all arguments, ``benchmarks`` are the sizes for times."""

    def __init__(self, function: Callable, **given: Any) -> None:
        require_kind(function, "Task", "a function", types.FunctionType)
        missing = [name for name in ("sizes", "launch") if given.get(name) is None]
        if missing:
            raise TypeError(
                f"task {function.__name__}: {missing[0]}= is missing; use the decorator `task`"
            )
        given = {**_OPTIONS, **given}
        self.function = function
        self.name: str = function.__name__
        self.text = inspect.getdoc(function) or ""
        annotations = inspect.get_annotations(function, eval_str=False)
        parameters = inspect.signature(function).parameters
        missing = [name for name in parameters if name not in annotations]
        if missing:
            raise TypeError(f"task {self.name}: parameter {missing[0]!r} has no type")
        signature = ", ".join(_annotation_text(annotations[name]) for name in parameters)
        self.signature = f"void({signature})"
        arguments = signatures.signature(self.signature).args
        self.parameters = tuple(
            Parameter(name, t, isinstance(t, Array) and not t.readonly)
            for name, t in zip(parameters, arguments, strict=True)
        )
        for p in self.parameters:
            if not isinstance(p.type, (Array, Scalar)):
                raise TypeError(f"task {self.name}: {p.name} is an array or a number, not {p.type}")
        if not any(p.is_output for p in self.parameters):
            raise TypeError(f"task {self.name}: no parameter is an array that the kernel writes")
        self.sizes: list[tuple] = [s if isinstance(s, tuple) else (s,) for s in given["sizes"]]
        self.launch: Callable = given["launch"]
        self.shapes: dict = dict(given["shapes"] or {})
        self.values: dict = dict(given["values"] or {})
        self.inout = tuple(given["inout"])
        self.valid: Callable | None = given["valid"]
        self.kinds = tuple(given["kinds"])
        self.tolerance: Tolerance | None = given["tolerance"]
        self.reference: str | None = given["reference"]
        self.operations: Callable | None = given["operations"]
        self.generate: Callable | None = given["generate"]
        self.benchmarks = tuple(given["benchmarks"])
        for name in (*self.shapes, *self.values, *self.inout):
            if name not in parameters:
                raise ValueError(f"task {self.name}: there is no parameter {name!r}")
        unknown = [kind for kind in self.kinds if kind not in KINDS]
        if unknown:
            raise ValueError(f"task {self.name}: kinds are {', '.join(KINDS)}, not {unknown[0]!r}")

    def shape(self, p: Parameter, size: tuple) -> tuple:
        """Returns the shape of an array at a size: ``shapes[name](*size)``, or the first dimensions
        of the size."""
        if p.name in self.shapes:
            found = self.shapes[p.name](*size)
            return tuple(found) if isinstance(found, (tuple, list)) else (found,)
        ndim = p.type.ndim  # type: ignore[attr-defined]
        if ndim > len(size):
            raise ValueError(
                f"task {self.name}: {p.name} has {ndim} dimensions, the size {size} fewer: shapes="
            )
        return size[:ndim]

    def is_valid(self, size: tuple) -> bool:
        return self.valid is None or bool(self.valid(*size))


def task(
    sizes: Iterable[Any],
    launch: Callable,
    *,
    shapes: dict | None = None,
    values: dict | None = None,
    inout: Iterable[str] = (),
    valid: Callable | None = None,
    kinds: Iterable[str] = KINDS,
    tolerance: Tolerance | None = None,
    reference: str | None = None,
    operations: Callable | None = None,
) -> Callable[[Callable], Task]:
    """Creates a task for ``numbalite judge``; used as a decorator.

    The decorator is for a function in NumPy with the kernel's parameters. The
    annotations of the parameters are types as strings, such as "const
    float32[:, ::1]"; arrays that are not const are outputs. The function
    computes the outputs from the other arguments: ``out[:] = ...``. The
    function is called with float64 for all floats. An array has the first
    dimensions of the size as its shape, and an integer is the first dimension,
    unless ``shapes`` or ``values`` contains its name.

    Parameters
    ----------
    sizes : list of int or tuple
        The sizes; sizes around those of warps and blocks are added.
    launch : function
        ``launch(*arguments)`` returns (grid, block) or (grid, block, shared
        memory).
    shapes : dict
        ``shapes[name](*size)`` returns the shape of an array.
    values : dict
        ``values[name](rng, *size)`` returns an integer, or an array's data.
    inout : list of str
        Outputs whose values the kernel reads.
    valid : function
        ``valid(*size)`` is a condition on the sizes.
    kinds : list of str
        The kinds of data.
    tolerance : Tolerance
        Replaces the computed tolerance.
    reference : str
        The source of a kernel whose time is compared with that of a submission.
    operations : function
        ``operations(*size)`` returns the minimum number of arithmetic
        operations.

    Returns
    -------
    decorator
        The decorator returns a Task.
    """
    for name, listed in (("sizes", sizes), ("inout", inout), ("kinds", kinds)):
        require(listed, "task", f"a list as {name}=", "__iter__")
    for name, function in (("launch", launch), ("valid", valid), ("operations", operations)):
        if name == "launch" or function is not None:
            require(function, "task", f"a function of the size as {name}=", "__call__")
    for name, functions in (("shapes", shapes), ("values", values)):
        require_kind(functions or {}, "task", f"a dict of functions as {name}=", dict)
    chosen = {
        "sizes": list(sizes), "launch": launch, "shapes": shapes, "values": values, "inout": inout, "valid": valid,
        "kinds": kinds, "tolerance": tolerance, "reference": reference, "operations": operations,
    }  # fmt: skip
    return lambda function: Task(function, **chosen)


def _annotation_text(annotation):
    return annotation.strip("'\"") if isinstance(annotation, str) else str(annotation)


def task_names() -> list[str]:
    """Returns the tasks that are included in numbalite."""
    return sorted(f[:-3] for f in os.listdir(_TASKS) if f.endswith(".py") and f[0] != "_")


def load_task(name: str, launch: str | None = None) -> Task:
    """Returns the only task of a file, or a task that is included in numbalite, by its name. A task in another
    format may have ``launch``, an expression of the kernel's parameters."""
    path = (
        name if name.endswith(".py") or os.path.exists(name) else os.path.join(_TASKS, f"{name}.py")
    )
    if not os.path.exists(path):
        raise ValueError(f"there is no task {name!r}: a file, or one of {', '.join(task_names())}")
    foreign = formats.read_task(path, launch)
    if foreign is not None:
        return Task(**foreign)
    if launch is not None:
        raise ValueError(f"{path} defines the launch; --launch is for tasks in other formats")
    found = [value for value in runpy.run_path(path).values() if isinstance(value, Task)]
    if len(found) != 1:
        raise ValueError(f"{path} has {len(found)} tasks; one is needed")
    return found[0]
