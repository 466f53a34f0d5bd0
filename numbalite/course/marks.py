"""Creates the table of marks: a row for each learner, a column for each exercise. The table has three
formats: text for the terminal, CSV, and a page."""

from __future__ import annotations

import csv
import html
import io
import pathlib
from typing import NamedTuple

FORMATS = (".csv", ".html")


class Mark(NamedTuple):
    """One answer: ``outcome`` is "passed", "failed" or "missing", ``text`` is the verdict."""

    learner: str
    exercise: str
    outcome: str
    text: str = ""


_SHORT = {"passed": "yes", "failed": "no", "missing": "-"}
_NUMBER = {"passed": 1, "failed": 0, "missing": 0}


class MarkTable:
    """All marks of a run. ``points`` maps exercises to their points, in the order of the course; unknown
    exercises follow, with one point each."""

    def __init__(self, marks, points=None):
        self.marks = sorted(marks, key=lambda mark: (mark.learner, mark.exercise))
        found = {mark.exercise for mark in self.marks}
        self._points = points or {}
        known = [name for name in self._points if name in found]
        self.exercises = known + sorted(found - set(known))
        self.learners = sorted({mark.learner for mark in self.marks})
        self._of = {(mark.learner, mark.exercise): mark for mark in self.marks}

    def of(self, learner):
        """Returns the marks of a learner, in the order of the exercises."""
        found = (self._of.get((learner, name)) for name in self.exercises)
        return [mark for mark in found if mark is not None]

    def passed(self, learner) -> str:
        """ "3 of 5" """
        marks = self.of(learner)
        return f"{sum(mark.outcome == 'passed' for mark in marks)} of {len(marks)}"

    def points(self, learner) -> int:
        """Returns the sum of the points of passed exercises."""
        passed = (mark.exercise for mark in self.of(learner) if mark.outcome == "passed")
        return sum(self._points.get(name, 1) for name in passed)

    def _outcomes_by_learner(self, texts):
        for learner in self.learners:
            found = (self._of.get((learner, name)) for name in self.exercises)
            yield learner, ["" if mark is None else texts[mark.outcome] for mark in found]

    def lines(self, width=100) -> list:
        """Returns the table as text. If the table is too wide, its columns have numbers, and a legend
        follows."""
        titles, legend = self.exercises, []
        names = max(map(len, [*self.learners, "learner"]))
        if names + sum(len(title) + 2 for title in titles) + 20 > width:
            titles = [str(number) for number in range(1, len(self.exercises) + 1)]
            legend = ["", *(f"{n:>3}  {name}" for n, name in zip(titles, self.exercises))]
        wide = [max(len(title), 3) for title in titles]
        cells = "".join(f"  {title:>{w}}" for title, w in zip(titles, wide))
        lines = [f"{'learner':{names}}{cells}  passed   points"]
        for learner, row in self._outcomes_by_learner(_SHORT):
            cells = "".join(f"  {cell:>{w}}" for cell, w in zip(row, wide))
            lines.append(
                f"{learner:{names}}{cells}  {self.passed(learner):8} {self.points(learner):6}"
            )
        return lines + legend

    def csv(self) -> str:
        """Returns rows for CSV: 1 for passed, 0 for failed, nothing for exercises that were not requested;
        then the sum, and the points."""
        out = io.StringIO()
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["learner", *map(_escape_formula, self.exercises), "passed", "points"])
        for learner, row in self._outcomes_by_learner(_NUMBER):
            table.writerow(
                [
                    _escape_formula(learner),
                    *row,
                    sum(cell or 0 for cell in row),
                    self.points(learner),
                ]
            )
        return out.getvalue()

    def html(self) -> str:
        """Returns a page with the table, then the verdicts for each learner, on separate sheets."""
        head = "".join(
            f"<th>{html.escape(name)}</th>" for name in ["", *self.exercises, "passed", "points"]
        )
        rows = "".join(
            f"<tr><th>{html.escape(learner)}</th>"
            + "".join(f'<td class="{cell}">{cell}</td>' for cell in row)
            + f"<td>{self.passed(learner)}</td><td>{self.points(learner)}</td></tr>\n"
            for learner, row in self._outcomes_by_learner(_SHORT)
        )
        sheets = "".join(map(self._learner_html, self.learners))
        return _PAGE.format(head=head, rows=rows, sheets=sheets)

    def _learner_html(self, learner):
        parts = "".join(
            f'<h3 class="{_SHORT[mark.outcome]}">{html.escape(mark.exercise)}: {mark.outcome}</h3>'
            f"<pre>{html.escape(mark.text)}</pre>\n"
            for mark in self.of(learner)
        )
        return f"<section><h2>{html.escape(learner)}: {self.passed(learner)}, {self.points(learner)} points</h2>\n{parts}</section>\n"

    def write(self, file):
        """Writes the table in the format of the file's suffix."""
        file = pathlib.Path(file)
        text = self.html() if file.suffix == ".html" else self.csv()
        file.write_text(text, encoding="utf-8")


def _escape_formula(text):
    """Adds an apostrophe before text that a spreadsheet would interpret as a formula."""
    return (
        f"'{text}"
        if text.lstrip().startswith(("=", "+", "-", "@")) or text[:1] in "\t\r\n"
        else text
    )


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Marks</title>
<style>
body {{ font: 15px sans-serif; margin: 2em }}
table {{ border-collapse: collapse }}
th, td {{ border: 1px solid #999; padding: 0.2em 0.6em; text-align: center }}
td.yes, h3.yes {{ color: #1b5e20 }} td.no, h3.no {{ color: #b71c1c; font-weight: bold }}
pre {{ white-space: pre-wrap }}
@media print {{ section {{ break-before: page }} }}
</style>
<h1>Marks</h1>
<table><tr>{head}</tr>
{rows}</table>
{sheets}</html>
"""
