"""Defines the verdict on a solution of an exercise, with its time and the work of one call."""

from __future__ import annotations

from numbalite.judge import verdict


class Verdict(verdict.Verdict):
    """The outcome of one exercise.

    ``passed`` is a bool, and the truth value of the verdict. ``reason`` is the reason, in one or more lines;
    ``case`` shows the smallest case that failed ("" if no case failed); ``notes`` are lines about the
    measurements. ``warnings`` are the texts of KernelWarnings about the answer: lines that compile but are
    probably mistakes. ``work`` counts the launches and the copies of one call, ``seconds`` and
    ``reference_seconds`` are times of the learner's solution and of the reference (None if they were not
    measured), ``simulated`` is True if these are times of a CPU.
    """

    def __init__(self, name, passed, reason, *, work=None, times=None, **given):
        super().__init__(name, passed, reason, **given)
        self.work = work
        self.seconds, self.reference_seconds = times or (None, None)
        self.simulated = None

    @property
    def ratio(self):
        """The learner's time as a multiple of the reference's time, or None if they were not measured."""
        if self.seconds is None or not self.reference_seconds:
            return None
        return self.seconds / self.reference_seconds


def duration_text(seconds) -> str:
    """Returns seconds in words: "41.3 µs"."""
    unit, scale = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("µs", 1e6)
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
