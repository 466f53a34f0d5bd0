"""Defines the interface to a notebook's front end.

numbalite.jupyter is above all other packages: it defines the display of kernels, arrays and errors
in a notebook. Classes in lower packages get their IPython methods from this module. The package numbalite
sets `load`, which imports numbalite.jupyter when it is first needed.
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
    """Connects numbalite with IPython, if the process runs IPython."""
    if "IPython" in sys.modules and load is not None:
        load().attach()


def suggest_extension() -> None:
    """Adds a note about `%load_ext numbalite` at the end of the running cell, in a Jupyter kernel without the
    extension. Called when a cell imports numbalite.cuda."""
    shell: Any = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    if getattr(shell, "kernel", None) is None:
        return

    def show_hint(result=None):
        shell.events.unregister("post_run_cell", show_hint)
        cell = getattr(getattr(result, "info", None), "raw_cell", None) or ""
        is_loaded = "numbalite" in shell.extension_manager.loaded
        if "numbalite" in cell and not is_loaded and "numbalite.course" not in sys.modules:
            load().hint()

    shell.events.register("post_run_cell", show_hint)


def html_method(kind: str) -> Callable[[Any], str]:
    """Returns a `_repr_html_` method for objects of this class; jupyter/rich.py creates the HTML."""

    def _repr_html_(self):
        return load().picture(kind, self)

    return _repr_html_


def traceback_renderer(kind: str) -> Callable[[Any], list]:
    """Returns a `_render_traceback_` method for errors of this class (jupyter/tracebacks.py)."""

    def _render_traceback_(self):
        return load().traceback(kind, self)

    return _render_traceback_
