"""Returns the text of a line of a file, or of a notebook's cell, which messages call "Cell In[3]"."""

from __future__ import annotations

import linecache
import re
import sys

_CELL = re.compile(r"In\[(\d+)\]|ipython-input-(\d+)")


def source_line(file: str, number: int) -> str:
    """Returns the text of a source line without its line end, or "" if the line cannot be read."""
    text = linecache.getline(file, number)
    if not text and (cell := _CELL.search(file)):
        rows = _cell_text(int(cell[1] or cell[2])).split("\n")
        text = rows[number - 1] if 0 < number <= len(rows) else ""
    return text.rstrip("\n")


def _cell_text(number):
    """Returns the text of a notebook's cell."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    typed = shell.history_manager.input_hist_raw if shell and shell.history_manager else ()
    return typed[number] if number < len(typed) else ""
