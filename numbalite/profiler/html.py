"""Shows a profile in a notebook: the source of each kernel with columns of counters; expensive lines are
shaded."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from numbalite.profiler import pictures, source, text

if TYPE_CHECKING:
    from numbalite.profiler.counters import KernelProfile
    from numbalite.profiler.session import profile

_AROUND = 2
"""Lines of source above the first line with counters and below the last one."""
MAX_GAP = 40
MAX_PICTURES = 2
"""Of each kernel."""
_CELL = "text-align: right; padding: 0 0.6em; white-space: nowrap"
_SOURCE = (
    "text-align: left; white-space: pre; font-family: monospace; padding: 0 0.6em; max-width: 38em; "
    "overflow: hidden; text-overflow: ellipsis"
)


def profile_html(p: profile) -> str:
    """Returns the HTML for all kernels of a profile."""
    kernels = p.kernels
    if not kernels:
        return f"<p>{escape(text.profile_text(p))}</p>"
    most = max(map(_highest_weight, kernels.values()))
    parts = [_summary_html(p)] if len(kernels) > 1 else []
    parts += [kernel_html(kernel, most) for kernel in kernels.values()]
    return "".join([*parts, f"<p><small>{escape(text.counter_source_note(p))}</small></p>"])


def _summary_html(p):
    title, rows, rest = text.summary_rows(p)
    styles = (_CELL, _CELL, "padding: 0 0.6em; white-space: nowrap", "padding: 0 0.6em")
    cells = [
        "".join(
            f"<td style='{style}'>{escape(cell)}</td>"
            for style, cell in zip(styles, row, strict=True)
        )
        for row in rows
    ]
    table = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<p><b>{escape(title)}</b></p><table>{table}</table><p>{escape(rest)}</p>"


def _highest_weight(kernel):
    return max(map(text.line_weight, kernel.lines), default=0)


def kernel_html(kernel: KernelProfile, most: float = 0) -> str:
    """Returns the HTML for one kernel. ``most`` is the weight of the darkest line, by default the weight of
    the kernel's most expensive line."""
    count = len(kernel.launches)
    out = [
        f"<p><b>{escape(kernel.name)}</b>: {count} launch{'es' if count > 1 else ''}, for the "
        f"{escape(kernel.launches[0].gpu.name)}</p>"
    ]
    seen = dict.fromkeys(tuple(text.launch_facts(launch)) for launch in kernel.launches)
    out += [f"<p>{escape('. '.join(sentences))}.</p>" for sentences in list(seen)[:3]]
    out.append(_line_table_html(kernel, most or _highest_weight(kernel)))
    out.append(_pictures_html(kernel))
    if kernel.advice:
        out.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in kernel.advice)}</ul>")
    return f"<div class='numbalite-profile'>{''.join(out)}</div>"


def html_page(p: profile) -> str:
    """Returns the text of a complete HTML file, with a roofline of all kernels."""
    head = f"<meta charset='utf-8'><title>Profile for the {escape(p.gpu.name)}</title>"
    style = "<style>body {font-family: sans-serif} table {border-collapse: collapse}</style>"
    roofline = pictures.roofline_plot(list(p.launches)).svg if p.launches else ""
    return f"<!DOCTYPE html>{head}{style}{profile_html(p)}{roofline}"


def _pictures_html(kernel):
    """Returns SVG pictures of the accesses of the most expensive lines whose accesses cost more than
    necessary."""
    wasteful = sorted(
        filter(_has_wasteful_access, kernel.lines), key=text.line_weight, reverse=True
    )
    shown = []
    for line in wasteful[:MAX_PICTURES]:
        kind = max(line.samples, key=lambda kind: pictures.relative_cost(line.samples[kind]))
        shown.append(pictures.access_picture(line, line.samples[kind]).svg)
    return "".join(f"<div>{svg}</div>" for svg in shown)


def _has_wasteful_access(line):
    return any(pictures.relative_cost(sample) > 1.5 for sample in line.samples.values())


def _line_table_html(kernel, most):
    heads = zip(*text.COLUMNS, strict=True)
    head = "".join(
        f"<th style='{_CELL}' title='{escape(meaning)}'>{escape(name)}</th>"
        for name, meaning in heads
    )
    rows = [f"<tr><th style='{_CELL}'>line</th><th style='text-align: left'>source</th>{head}</tr>"]
    for file, lines in _lines_by_file(kernel.lines).items():
        last = 0
        for number in _shown_lines(lines):
            if last and number > last + 1:
                rows.append("<tr><td></td><td>&#8942;</td></tr>")
            last = number
            line = lines.get(number)
            values = text.row_cells(line) if line else ("",) * len(text.COLUMNS[0])
            cells = "".join(f"<td style='{_CELL}'>{escape(value)}</td>" for value in values)
            share = text.line_weight(line) / most if line and most else 0
            shade = f" style='background: rgba(230, 80, 40, {0.45 * share:.2f})'" if share else ""
            shown = source.source_line(file, number)
            rows.append(
                f"<tr{shade}><td style='{_CELL}'>{number or ''}</td>"
                f"<td style='{_SOURCE}' title='{escape(shown.strip())}'>{escape(shown)}</td>{cells}</tr>"
            )
    return f"<table>{''.join(rows)}</table>"


def _lines_by_file(lines):
    found: dict = {}
    for line in lines:
        found.setdefault(line.file, {})[line.number] = line
    return found


def _shown_lines(lines):
    """Returns the sorted numbers of the source lines to show: lines with counters, and lines between and
    around them."""
    shown = set()
    numbers = sorted(lines)
    for number, following in zip(numbers, [*numbers[1:], numbers[-1]], strict=True):
        end = following if following - number <= MAX_GAP else number + _AROUND
        shown.update(range(number, end + 1))
    shown.update(range(max(1, numbers[0] - _AROUND), numbers[0]))
    shown.update(range(numbers[-1], numbers[-1] + _AROUND + 1))
    return sorted(shown)
