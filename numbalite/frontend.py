"""What numbalite asks of a notebook's front end.

numbalite.jupyter is above all other packages: it knows how kernels, arrays and errors look in a notebook.
The classes below it get their IPython methods here. The package numbalite sets `load`, which imports
numbalite.jupyter when something is first asked of it.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

load: Callable[[], Any] | None = None
"""Imports numbalite.jupyter and returns it."""


def attach() -> None:
    """Connects numbalite with IPython, where the process runs in it."""
    if "IPython" in sys.modules and load is not None:
        load().attach()


def picture(kind: str) -> Callable[[Any], str]:
    """A `_repr_html_`: how a thing of this kind looks (the functions of jupyter/rich.py)."""

    def _repr_html_(self):
        return load().picture(kind, self)

    return _repr_html_


def traceback(kind: str) -> Callable[[Any], list]:
    """A `_render_traceback_`: how an error of this kind looks (jupyter/tracebacks.py)."""

    def _render_traceback_(self):
        return load().traceback(kind, self)

    return _render_traceback_
