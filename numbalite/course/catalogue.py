"""The list of all exercises."""

from __future__ import annotations

from . import section1, section2, section3  # noqa: F401  (they fill the list)
from .assessment import EXERCISES, Assessment


def exercises() -> dict:
    """Every exercise there is: name -> Assessment class, in the order of the course."""
    return dict(EXERCISES)


def find(name) -> Assessment:
    """The exercise of that name. KeyError with the names that there are."""
    known = exercises()
    if not isinstance(name, str) or name not in known:
        raise KeyError(f"no exercise is called {name!r}; there are {', '.join(known)}")
    return known[name]()
