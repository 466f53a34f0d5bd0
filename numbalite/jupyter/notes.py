"""Shows numbalite's warnings as notes under the cell.

Output to stderr is red in a notebook, as if the cell had failed. A warning of numbalite is advice: kernels
run on the simulator, or a small change would make a line faster. Warnings of numbalite are shown in grey, as notes.
Python's warning filters still apply; warnings of other packages are not changed.
"""

from __future__ import annotations

import functools
import html
import os
import warnings

from numbalite.errors import KernelWarning, NumbaliteWarning, SimulatorWarning
from numbalite.jupyter import session


def install_warning_hook() -> None:
    """Installs the hook for warnings, if it is not installed."""
    if not hasattr(warnings.showwarning, "numbalite_before"):
        warnings.showwarning = _grey_text(warnings.showwarning)


def _grey_text(before):
    @functools.wraps(before)
    def showwarning(message, category, filename, lineno, file=None, line=None):
        if file is None and issubclass(category, NumbaliteWarning) and session.in_notebook():
            where = f"line {lineno}: "
            if issubclass(category, KernelWarning):
                where = f"{os.path.basename(filename)}, {where}"
            show_note(str(message) if category is SimulatorWarning else f"{where}{message!s}")
        else:
            before(message, category, filename, lineno, file, line)

    showwarning.numbalite_before = before
    return showwarning


def show_note(text: str) -> None:
    """Shows a note in the output of the cell."""
    style = "opacity: 0.7; font-size: 90%; margin: 0.2em 0"
    head, *lines = map(html.escape, text.split("\n"))
    shown = "\n".join(lines)  # the source lines, with a mark below a column
    data = {
        "text/plain": f"note: {text}",
        "text/html": f'<p style="{style}">Note: {head}</p>'
        + (f'<pre style="{style}">{shown}</pre>' if lines else ""),
    }
    session.shell().display_pub.publish(data=data, metadata={})
