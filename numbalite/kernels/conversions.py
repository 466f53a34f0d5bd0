"""Selects the declared signature for the arguments of a call: the one with the least conversion."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from numbalite import types
from numbalite.types import Array, Scalar, Signature, Time, Tuple


def cheapest_signature(
    name: str,
    wanted: Sequence[types.Type],
    given: Sequence[Signature],
    rated: Sequence[tuple[tuple, Signature]],
) -> tuple:
    """Returns the argument types of the signature with the lowest conversion cost. `rated` is a list of
    (cost, signature).

    Raises TypeError if no signature accepts the arguments (the message lists the signatures in `given`), or
    if several have the same cost.
    """
    called = f"{name}({', '.join(map(str, wanted))})"
    if not rated:
        declared = "".join(f"\n    {s}" for s in given)
        raise TypeError(
            f"No matching definition: no signature of {name} takes {called}; it has{declared}"
        )
    least = min(cost for cost, _ in rated)
    best = [signature for cost, signature in rated if cost == least]
    if len(best) > 1:
        listed = "".join(f"\n    {s}" for s in best)
        raise TypeError(f"{called} is ambiguous between{listed}")
    return best[0].args


def closest_signature(wanted: Sequence[types.Type], given: Sequence[Signature]) -> Signature | None:
    """Returns the signature for a call inside a kernel, where conversions may lose digits, as in numba.
    Returns the first of several signatures with equal cost, or None if no signature accepts the arguments."""
    rated = [(_forced_conversions(wanted, s.args), s) for s in given]
    costs = [cost for cost, _ in rated if cost is not None]
    return next((s for cost, s in rated if cost == min(costs)), None) if costs else None


def _forced_conversions(wanted, declared):
    if len(wanted) != len(declared):
        return None
    steps = [
        3 if step is None and _may_lose_values(have, want) else step
        for have, want in zip(wanted, declared, strict=True)
        for step in [_conversion_class(have, want, None)]
    ]
    return None if None in steps else tuple(steps.count(n) for n in (3, 2, 1))


def _may_lose_values(have, want):
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        return len(have) == len(want)
    if not isinstance(have, Scalar) or not isinstance(want, Scalar):
        return False
    kinds = have.dtype.kind, want.dtype.kind
    return kinds[0] != "c" or kinds[1] == "c"


def conversion_cost(
    wanted: Sequence[types.Type], declared: Sequence[types.Type], args: Sequence
) -> tuple | None:
    """Returns the numbers (unsafe, safe, promoting) of conversions that a call needs, or None if the call is
    impossible."""
    if len(wanted) != len(declared):
        return None
    unsafe = safe = promoting = 0
    for have, want, value in zip(wanted, declared, args, strict=True):
        step = _conversion_class(have, want, value)
        if step is None:
            return None
        unsafe += step == 3
        safe += step == 2
        promoting += step == 1
    return unsafe, safe, promoting


def _conversion_class(have, want, value):
    """Returns the class of the conversion from `have` to `want`, or None if the conversion is impossible: 0:
    no conversion is needed; 1: a larger type of the same kind, or layout "A"; 2: a safe conversion to another
    kind; 3: a conversion that the value permits."""
    if have == want:
        return 0
    if isinstance(want, Array):
        if not isinstance(have, Array) or (have.dtype, have.ndim) != (want.dtype, want.ndim):
            return None
        if have.layout == want.layout:
            return 0
        return 1 if want.layout == "A" else None
    if isinstance(have, Tuple) and isinstance(want, Tuple):
        if len(have) != len(want) or not isinstance(value, tuple):
            return None
        costs = [*map(_conversion_class, have.types, want.types, value), 0]
        return None if None in costs else max(costs)
    if isinstance(have, Time) and want == types.int64:
        return 1
    if isinstance(have, Time) or isinstance(want, Time):
        return None
    if isinstance(have, Array) and have.ndim == 0:
        have = have.dtype
        if have == want:
            return 1  # its value
    if not isinstance(have, Scalar) or not isinstance(want, Scalar):
        return None
    if np.can_cast(have.dtype, want.dtype, "safe"):
        return 1 if have.dtype.kind == want.dtype.kind else 2
    is_python = type(value) in (bool, int, float, complex)
    if is_python and np.can_cast(have.dtype, want.dtype, "same_kind"):
        return 3
    if type(value) is int and want.dtype.kind == "u":
        return 3
    return None
