"""Accesses the IPython shell in which numbalite runs."""

from __future__ import annotations

import sys


def shell():
    """Returns the running IPython shell, or None; never imports IPython."""
    module = sys.modules.get("IPython")
    found = getattr(module, "get_ipython", None)
    return found() if found is not None else None


def in_notebook() -> bool:
    """Returns whether a front end shows the output in cells (a kernel, not a terminal)."""
    return getattr(shell(), "kernel", None) is not None
