"""Shows coverage: as a table of files, as HTML with the source, as an lcov tracefile."""

from __future__ import annotations

import html
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numbalite.coverage.data import FileCoverage


def relative_path(path: str) -> str:
    """Returns the path relative to the working directory, if the file is inside this directory."""
    shown = os.path.relpath(path)
    return path if shown.startswith("..") else shown


def line_ranges_text(numbers: Iterable[int]) -> str:
    """ "3-5, 9" for 3, 4, 5, 9."""
    parts: list[list[int]] = []
    for n in numbers:
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


def coverage_counts(files: Iterable[FileCoverage]) -> tuple[int, int, int, int]:
    """Returns (lines, lines that have not run, branches, branches that were not taken)."""
    total = [0, 0, 0, 0]
    for one in files:
        ways = [way for each in one.branches.values() for way in each]
        for i, n in enumerate(
            (len(one.lines), len(one.missing_lines), len(ways), ways.count(False))
        ):
            total[i] += n
    return total[0], total[1], total[2], total[3]


def covered_percentage(files: Iterable[FileCoverage]) -> float:
    """Returns the covered fraction of lines and branches together, as in coverage.py."""
    lines, missing, branches, untaken = coverage_counts(files)
    total = lines + branches
    return 100.0 if not total else 100.0 * (total - missing - untaken) / total


def report_table(files: list[FileCoverage]) -> str:
    """Returns the text of the report of `numbalite coverage report`."""
    rows: list[tuple[str, ...]] = [
        ("Name", "Lines", "Miss", "Branches", "Miss", "Cover", "Missing")
    ]
    for one in files:
        partial = [line for line in one.partial_lines() if line not in one.missing_lines]
        missing = [
            line_ranges_text(one.missing_lines),
            line_ranges_text(partial) and f"branches of {line_ranges_text(partial)}",
        ]
        rows.append((relative_path(one.path), *map(str, coverage_counts([one])), f"{covered_percentage([one]):.0f}%", "; ".join(filter(None, missing))))  # fmt: skip
    rows.append(
        ("TOTAL", *map(str, coverage_counts(files)), f"{covered_percentage(files):.0f}%", "")
    )
    widths = [max(len(row[i]) for row in rows) for i in range(6)]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 6)), row[6]]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "-" * max(map(len, lines)))
    lines.insert(-1, lines[1])
    return "\n".join(lines)


def lcov(files: list[FileCoverage]) -> str:
    """Returns the text of an lcov tracefile. The counts are 1 for lines that have run, because the simulator
    does not count."""
    out = []
    for one in files:
        out += ["TN:kernels", f"SF:{relative_path(one.path)}"]
        for line, ways in sorted(one.branches.items()):
            has_run = one.lines.get(line, False)
            out += [
                f"BRDA:{line},0,{i},{int(way) if has_run else '-'}" for i, way in enumerate(ways)
            ]
        lines, missing, branches, untaken = coverage_counts([one])
        out += [f"BRF:{branches}", f"BRH:{branches - untaken}"]
        out += [f"DA:{line},{int(has_run)}" for line, has_run in sorted(one.lines.items())]
        out += [f"LF:{lines}", f"LH:{lines - missing}", "end_of_record"]
    return "".join(f"{row}\n" for row in out)


_STYLE = """<style>body{font-family:sans-serif;margin:2em}table{border-collapse:collapse}
td,th{padding:.2em .8em;text-align:right}td:first-child,th:first-child{text-align:left}
pre{line-height:1.35;margin:0}.run{background:#e3f4e3}.miss{background:#fbdcdc}.part{background:#fdf3cf}
.n{color:#888;display:inline-block;width:4em;text-align:right;margin-right:1em}</style>"""


def write_html(files: list[FileCoverage], folder: str) -> str:
    """Writes index.html and a page for each file; returns the path of the index."""
    os.makedirs(folder, exist_ok=True)
    rows = []
    for i, one in enumerate(files):
        name, page = html.escape(relative_path(one.path)), f"file{i}.html"
        lines, missing, branches, untaken = coverage_counts([one])
        cells = f"<td>{lines}<td>{missing}<td>{branches}<td>{untaken}<td>{covered_percentage([one]):.0f}%"
        rows.append(f'<tr><td><a href="{page}">{name}</a>{cells}')
        _write_page(os.path.join(folder, page), f"<h1>{name}</h1>{_source_html(one)}")
    head = "<tr><th>File<th>Lines<th>Miss<th>Branches<th>Miss<th>Cover"
    index = os.path.join(folder, "index.html")
    _write_page(
        index,
        f"<h1>Kernels: {covered_percentage(files):.0f}%</h1><table>{head}{''.join(rows)}</table>",
    )
    return index


def _source_html(one):
    partial, branches, rows = set(one.partial_lines()), one.branches, []
    for n, text in enumerate(one.source(), 1):
        kind = (
            ""
            if n not in one.lines
            else "part"
            if n in partial
            else "run"
            if one.lines[n]
            else "miss"
        )
        ways = branches.get(n, ())
        title = f' title="{sum(ways)} of {len(ways)} branches taken"' if ways else ""
        rows.append(
            f'<pre class="{kind}"{title}><span class="n">{n}</span>{html.escape(text)} </pre>'
        )
    return "".join(rows)


def _write_page(path, body):
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            f'<!doctype html><meta charset="utf-8"><title>Coverage of kernels</title>{_STYLE}{body}\n'
        )
