"""Defines exercises: their data, the correct answers, the limits. The judge (judging.py) runs and
compares the solutions.

An exercise is a small class. The class creates new arguments of a size from a random generator, computes the
expected results (with NumPy, in float64 if rounding matters), calls a solution, and contains a reference
solution. The time of the reference on the same machine is the measure of speed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite.judge.cases import SMALL
from numbalite.required import short_repr
from numbalite.types.tolerance import tolerance

if TYPE_CHECKING:
    from .counters import Limit

EXERCISES: dict[str, type[Assessment]] = {}
"""Name -> Assessment class, in the order of the course; the modules of the sections fill it."""


class Assessment:
    """An exercise. Class attributes define the requirements, methods create the data.

    ``wants`` is "kernel" (made by cuda.jit), "ufunc" (by vectorize or guvectorize with target="cuda") or
    "function" (of Python). ``parameters`` contains the names of the arguments, ``outputs`` the names of the
    arguments that the solution writes; without ``outputs``, the solution's return value is judged.
    """

    name = ""
    section = 0
    points = 1
    """The points in the table of marks."""
    wants = "kernel"
    parameters: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Inputs that a call may change as well, without their content being judged."""
    host_arrays = False
    """Do arrays stay on the host when the solution is called? Else they are device arrays."""
    sizes: tuple[int, ...] = SMALL
    checked: tuple[int, ...] = (33, 257)
    """Sizes that are run under cuda.checks on the simulator, or () for none."""
    terms = 1
    """The number of terms of a sum in the result at the largest of ``sizes``; widens the tolerance."""
    launches: tuple[int, int | None] = (1, None)
    """The fewest and the most launches of a call; None: no limit."""
    spare_bytes = 0
    """The bytes that a call may copy in addition to the arguments and results on the host."""
    counted = 1000
    """The size at which launches and copies are counted."""
    limits: tuple[Limit, ...] = ()
    """Limits for counters of memory accesses, which the profiler counts at the same size."""
    large: tuple[int, int] | None = (10_000_000, 20_000)
    """The size for timing, on a GPU and on the simulator; None: speed is not judged."""
    limit = 1.5
    """The most that a solution may take on a GPU, as a multiple of the reference."""
    simulated_limit = 8.0
    """The same on the simulator, where times say little."""
    hint = ""
    """A hint for a solution that is right but too slow."""
    noun = "element"
    """The noun of a size, "rows" for example; see `said`."""

    def make(self, rng, n) -> tuple:
        """Returns new arguments of size n: NumPy arrays and numbers, in the order of ``parameters``."""
        raise NotImplementedError

    def expected(self, *arguments: Any, **named: Any) -> Any:
        """Returns the expected outputs or results for these arguments, as NumPy arrays; see `wrong`."""
        raise NotImplementedError

    def wrong(self, arguments, results):
        """Returns the mistake, or None, for results that `expected` cannot predict (then `expected` returns
        None)."""
        return None

    def call(self, solution: Any, *arguments: Any, **named: Any) -> Any:
        """Runs a solution and returns its results, or None if the solution writes to ``outputs``."""
        return solution(*arguments, **named)

    def reference(self):
        """Returns the reference solution, in the same form as a learner's solution."""
        raise NotImplementedError

    def said(self, n) -> str:
        """Returns a size, in words."""
        return count_with_noun(n, self.noun)

    def further(self, solution, call):
        """Returns the mistake found by further tests of a correct solution, or None.

        ``call(n)`` runs the solution on new arguments of size n and returns (arguments, results).
        """
        return None

    def properties(self, solution):
        """Checks other properties of a correct solution, such as shared memory. Returns the missing property,
        or None."""
        return None

    def allowed(self, dtype):
        """Returns the tolerance of results of a dtype."""
        return tolerance(dtype, self.terms)


def exercise(kind):
    """Registers an Assessment class for ``assess``.

    Parameters
    ----------
    kind : type
        The class.

    Returns
    -------
    type
        The class itself, so that the function can be used as a decorator.
    """
    if not (isinstance(kind, type) and issubclass(kind, Assessment)):
        raise TypeError(f"exercise accepts a subclass of Assessment, not {short_repr(kind)}")
    EXERCISES[kind.name] = kind
    return kind


def repeat_to_length(n, *arrays) -> tuple:
    """Returns the arrays, repeated until they have n elements, because drawing many random numbers takes
    seconds."""
    return tuple(array if array.size == n else np.resize(array, n) for array in arrays)


def drawn_element_count(n) -> int:
    """Returns the number of random elements that are drawn for arrays of n elements, which `repeat_to_length` then
    creates."""
    return min(n, 1 << 20)


def count_with_noun(n, noun) -> str:
    """Returns a count with its noun: "1 row", "2,000 rows"."""
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def block_count(n, threads):
    """Returns the number of blocks of ``threads`` threads for n elements, at least 1."""
    return max(1, -(-n // threads))
