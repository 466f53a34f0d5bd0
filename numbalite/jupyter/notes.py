"""Warnings of ours as notes under the cell.

What goes to stderr is red in a notebook, and looks as if the cell had failed. A warning of ours is
advice: that kernels run on the simulator, or that a small change makes something faster. It is shown in
grey, as a note. Filters decide as before what is shown at all; warnings of others stay as they are.
"""

from __future__ import annotations

import functools
import html
import warnings

from numbalite.errors import NumbaliteWarning, SimulatorWarning
from numbalite.jupyter import session


def take_over() -> None:
    """From now on; once."""
    if not hasattr(warnings.showwarning, "numbalite_before"):
        warnings.showwarning = _in_grey(warnings.showwarning)


def _in_grey(before):
    @functools.wraps(before)
    def showwarning(message, category, filename, lineno, file=None, line=None):
        if file is None and issubclass(category, NumbaliteWarning) and session.in_notebook():
            show(str(message) if category is SimulatorWarning else f"line {lineno}: {message}")
        else:
            before(message, category, filename, lineno, file, line)

    showwarning.numbalite_before = before
    return showwarning


def show(text: str) -> None:
    """A note in the output of the cell."""
    style = "opacity: 0.7; font-size: 90%; margin: 0.2em 0"
    data = {
        "text/plain": f"note: {text}",
        "text/html": f'<p style="{style}">Note: {html.escape(text)}</p>',
    }
    session.shell().display_pub.publish(data=data, metadata={})
