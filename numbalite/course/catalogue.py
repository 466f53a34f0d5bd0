"""Contains the list of all exercises: those of the course and of teachers' own modules."""

from __future__ import annotations

import importlib
import importlib.util
import pathlib
import sys

from . import section1, section2, section3  # noqa: F401  (they fill the list)
from .assessment import EXERCISES, Assessment


def exercises() -> dict:
    """Returns all exercises, in the order of the course.

    Returns
    -------
    dict
        Name -> Assessment class.
    """
    return dict(EXERCISES)


def find_exercise(name) -> Assessment:
    """Returns the exercise with that name; raises KeyError, with the existing names, if there is none."""
    known = exercises()
    if not isinstance(name, str) or name not in known:
        raise KeyError(f"no exercise is called {name!r}; there are {', '.join(known)}")
    return known[name]()


def load_exercises(module) -> list:
    """Imports a module, by its name or by its file, and returns the names of the exercises that it defines.

    Raises ImportError if there is no such module, ValueError: it defines no exercise. What it raises itself
    passes.
    """
    name = _import_module(module)
    found = [
        exercise
        for exercise, kind in EXERCISES.items()
        if f"{kind.__module__}.".startswith(f"{name}.")
    ]
    if not found:
        raise ValueError(
            f"{module} defines no exercise: none of its classes has the decorator @exercise"
        )
    return found


def _import_module(module):
    """Imports a module, and returns its name. A file becomes a module with the name that ``import`` would
    use."""
    if not str(module).endswith(".py"):
        if "" not in sys.path and "." not in sys.path:
            sys.path.insert(0, "")
        importlib.import_module(module)
        return module
    path = pathlib.Path(module).resolve()
    if not path.is_file():
        raise ImportError(f"no such file: {module}")
    name = path.stem
    known = sys.modules.get(name)
    if known is not None and getattr(known, "__file__", None) == str(path):
        return name
    if known is not None:
        raise ImportError(f"{module}: a module called {name} exists already: use another name")
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.path.append(str(path.parent))
    sys.modules[name] = made
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[name]
        raise
    return name
