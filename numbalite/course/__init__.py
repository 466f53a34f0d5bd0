"""Provides the functions that the lessons in notebooks/ use: the device of a program, suitable sizes, times,
and the judge of exercises.

``where`` and ``size`` are for programs that run on a GPU and on the simulator, ``timed`` measures times on
both, ``stamp`` labels a plot with the device, ``examine`` checks a launch for mistakes on both. Importing
this package loads no driver and no compiler. The package course uses types, cxx, compilers, kernels,
cuda, profiler and judge. Begin with judging.py.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if (
    TYPE_CHECKING
):  # for type checkers: at run time, __getattr__ imports these names at their first use
    from typing import Any

    from numbalite.course.assessment import Assessment, exercise
    from numbalite.course.catalogue import exercises
    from numbalite.course.checked import examine
    from numbalite.course.counters import Limit
    from numbalite.course.device import size, stamp, where
    from numbalite.course.judging import assess, judge
    from numbalite.course.tasks import check
    from numbalite.course.timing import timed
    from numbalite.course.verdict import Verdict
    from numbalite.judge.guarded import unwritten
    from numbalite.types.tolerance import tolerance

_WHERE = {
    "assess": "course.judging",
    "judge": "course.judging",
    "Verdict": "course.verdict",
    "check": "course.tasks",
    "examine": "course.checked",
    "Assessment": "course.assessment",
    "exercise": "course.assessment",
    "Limit": "course.counters",
    "exercises": "course.catalogue",
    "unwritten": "judge.guarded",
    "size": "course.device",
    "stamp": "course.device",
    "where": "course.device",
    "timed": "course.timing",
    "tolerance": "types.tolerance",
}

__all__ = [
    "Assessment",
    "Limit",
    "Verdict",
    "assess",
    "check",
    "examine",
    "exercise",
    "exercises",
    "judge",
    "size",
    "stamp",
    "timed",
    "tolerance",
    "unwritten",
    "where",
]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'numbalite.course' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numbalite.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE} - {"importlib", "annotations"})
