"""What the lessons in notebooks/ use: where a program runs, sizes that fit, times, and the judge of exercises.

``where`` and ``size`` let one text run on a GPU and on the simulator, ``timed`` measures on either, ``stamp`` says
on a plot where that was,
``examine`` looks for mistakes in a launch on either.
Importing this touches no driver and no compiler. Uses the library's public names, as a learner's program
does, and nothing of the library uses it. Begin with judging.py.
"""

from __future__ import annotations

import importlib

_WHERE = {
    "assess": "judging",
    "judge": "judging",
    "Verdict": "verdict",
    "check": "tasks",
    "examine": "checked",
    "Assessment": "assessment",
    "exercise": "assessment",
    "exercises": "catalogue",
    "unwritten": "assessment",
    "size": "place",
    "stamp": "place",
    "where": "place",
    "timed": "timing",
    "tolerance": "compare",
}

__all__ = [
    "Assessment",
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


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'numbalite.course' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"numbalite.course.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_WHERE} - {"importlib", "annotations"})
