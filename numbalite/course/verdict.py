"""The verdict on a solution of an exercise: passed or not, the reason, and the measurements.

``assess`` displays a verdict once, in a notebook as a small box, else as text. The verdict is also the value
of the cell's last expression: the first display of the object is silent, so that it does not appear twice.
"""

from __future__ import annotations

import html
import sys


class Verdict:
    """The outcome of one exercise.

    ``passed`` is a bool, and the verdict's own truth. ``reason`` is the reason, in one or more lines;
    ``case`` shows the smallest case that failed ("" where none did); ``notes`` are lines on what was
    measured. ``warnings`` are the texts of KernelWarnings about the answer: lines that compile but are
    probably mistakes. ``work`` counts the launches and the copies of one call, ``seconds`` and
    ``reference_seconds`` are times of the learner's solution and of the reference (None where it did
    not come to that), ``simulated`` tells whether they are times of a CPU.
    """

    def __init__(
        self, name, passed, reason, *, case="", notes=(), work=None, times=None, warnings=()
    ):
        self.name = name
        self.passed = bool(passed)
        self.reason = reason
        self.case = case
        self.notes = tuple(notes)
        self.warnings = tuple(warnings)
        self.work = work
        self.seconds, self.reference_seconds = times or (None, None)
        self.simulated = None
        self._shown = False

    @property
    def ratio(self):
        """The learner's time as a multiple of the reference's; None where nothing was timed."""
        if self.seconds is None or not self.reference_seconds:
            return None
        return self.seconds / self.reference_seconds

    def __bool__(self):
        return self.passed

    @property
    def headline(self) -> str:
        return f"{self.name}: {'passed' if self.passed else 'not passed'}"

    def __str__(self):
        lines = [self.headline, *_indented(self.reason)]
        if self.case:
            lines += ["", *_indented(self.case, "    "), ""]
        for warning in self.warnings:
            lines += _indented(warning)
        for note in self.notes:
            lines += _indented(note)
        return "\n".join(lines).rstrip()

    def __repr__(self):
        return f"<{self.headline}>"

    def _repr_html_(self):
        colour = "#2e7d32" if self.passed else "#c62828"
        parts = [
            f'<div style="border-left: 4px solid {colour}; padding: 0.2em 0.8em">',
            f'<b style="color: {colour}">{html.escape(self.headline)}</b>',
            f'<div style="white-space: pre-wrap">{html.escape(self.reason)}</div>',
        ]
        if self.case:
            parts.append(f"<pre>{html.escape(self.case)}</pre>")
        parts += [f"<pre>{html.escape(warning)}</pre>" for warning in self.warnings]
        if self.notes:
            notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
            parts.append(f'<ul style="margin: 0.3em 0">{notes}</ul>')
        return "".join(parts) + "</div>"

    def show(self):
        """Shows the verdict in the program's output, and returns it."""
        display = _notebook_display()
        if display is None:
            print(self)
        else:
            display({"text/plain": str(self), "text/html": self._repr_html_()}, raw=True)
        self._shown = True
        return self

    def _ipython_display_(self):
        if self._shown:
            self._shown = False  # assess has just shown it; the next display shows it again
        else:
            self.show()
            self._shown = False


def _indented(text, by="  "):
    return [(by + line).rstrip() for line in text.split("\n")]


def _notebook_display():
    """IPython's display function in a notebook, else None."""
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell is not None and hasattr(shell, "get_ipython") else None
    if shell is None or not hasattr(shell, "kernel"):
        return None
    from IPython.display import display

    return display


def duration(seconds) -> str:
    """Seconds in words: "41.3 µs"."""
    unit, scale = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
