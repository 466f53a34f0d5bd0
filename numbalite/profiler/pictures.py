"""Draws pictures of a profile, as SVG: the sectors and the banks that one access of a warp touches, and a
roofline.

Colors have enough contrast on white and on dark pages; each picture has its own white background.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numbalite.profiler.counters import Launch, Line

SECTOR, LINE, BANKS, BANK_BYTES = 32, 128, 32, 4
_CELL, _GAP = 16, 2
_WANTED, _FREE, _PARTLY, _INK, _LIGHT = "#2166ac", "#f0f0f0", "#92c5de", "#222222", "#8a8a8a"
_BAD = "#d6604d"
_MAX_LINES, _FEW_WORDS, _MAX_WORDS = 16, 8, 32


class AccessSample(NamedTuple):
    """One access of a warp: its kind, the number of bytes of a lane, and the addresses of lanes that take
    part, None for all other lanes."""

    kind: str
    size: int
    addresses: tuple

    @property
    def active_lanes(self) -> list:
        """Returns (lane, address) of each active lane."""
        return [(lane, at) for lane, at in enumerate(self.addresses) if at is not None]


class Picture:
    """An SVG drawing. A notebook shows it; ``save("name.svg")`` writes a file."""

    def __init__(self, width: float, height: float, parts: list) -> None:
        self.svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11">'
            f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>'
        )

    def __repr__(self) -> str:
        return "<Picture>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str) -> None:
        """Writes the SVG to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)


def _text_svg(x, y, text, color=_INK, anchor="start", size=11):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )


def _rectangle_svg(x, y, width, height, color, title=""):
    inside = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{color}" '
        f'stroke="white" stroke-width="1">{inside}</rect>'
    )


KINDS = ("global_load", "global_store", "shared_load", "shared_store")


def samples(records: tuple):
    """Yields (kind, AccessSample) of the simulator's records (bytes of a lane, mask, addresses)."""
    for kind, (size, mask, addresses) in zip(KINDS, records, strict=False):
        if mask:
            active = (at if mask >> lane & 1 else None for lane, at in enumerate(addresses))
            yield kind, AccessSample(kind, size, tuple(active))


def access_picture(line: Line, sample: AccessSample) -> Picture:
    """Returns the picture of one access of a line."""
    return (
        bank_picture(line, sample)
        if sample.kind.startswith("shared")
        else sector_picture(line, sample)
    )


def relative_cost(sample: AccessSample) -> float:
    """Returns the number of sectors, or of words in the busiest bank, as a multiple of the minimum number."""
    words = {(at + b) // BANK_BYTES for _, at in sample.active_lanes for b in range(sample.size)}
    if sample.kind.startswith("shared"):
        columns = [word % BANKS for word in words]
        return max(map(columns.count, columns)) / max(1, math.ceil(len(words) / BANKS))
    sectors = {word * BANK_BYTES // SECTOR for word in words}
    return len(sectors) / max(1, math.ceil(len(words) * BANK_BYTES / SECTOR))


# --- sectors


def sector_picture(line: Line, sample: AccessSample) -> Picture:
    """Draws one access of a warp to global memory: a row for each cache line of 128 bytes, with its 4 sectors
    of 32 bytes as squares of 8 words. Words that lanes access are dark."""
    touched: dict = {}
    for lane, at in sample.active_lanes:
        for byte in range(at, at + sample.size, min(BANK_BYTES, sample.size)):
            touched.setdefault(byte // BANK_BYTES, []).append(lane)
    used = {word * BANK_BYTES // SECTOR for word in touched}
    rows = sorted({sector * SECTOR // LINE for sector in used})
    first = rows[0] * LINE
    asked = len({at + b for _, at in sample.active_lanes for b in range(sample.size)})
    parts = [
        _text_svg(10, 18, f"{line.place}: {_shorten_text(line.text, 70)}", size=12),
        _text_svg(
            10, 36, f"{_access_name(sample)} of one warp: {len(used)} sectors of 32 bytes, {_share_text(asked, len(used))} of their "
            f"bytes are accessed",
        ),
    ]  # fmt: skip
    y = 50
    for row in rows[:_MAX_LINES]:
        parts.append(_text_svg(78, y + 12, f"+{row * LINE - first}", _LIGHT, "end"))
        for number in range(LINE // SECTOR):
            parts += _sector_boxes(row * LINE // SECTOR + number, used, touched, y)
        y += _CELL + 6
    if len(rows) > _MAX_LINES:
        parts.append(
            _text_svg(84, y + 10, f"and {len(rows) - _MAX_LINES} more cache lines", _LIGHT)
        )
        y += 18
    parts += _legend_svg(
        84, y + 8, ((_WANTED, "accessed"), (_PARTLY, "rest of the sector"), (_FREE, "not accessed"))
    )
    return Picture(84 + 4 * (8 * (_CELL - 4) + 10) + 16, y + 30, parts)


def _shorten_text(text, length):
    text = text.strip()
    return text if len(text) <= length else f"{text[: length - 1]}\u2026"


def _access_name(sample):
    return "A store" if sample.kind.endswith("store") else "A load"


def _share_text(asked, count):
    return f"{asked / (count * SECTOR):.0%}"


def _sector_boxes(sector, used, touched, y):
    words = SECTOR // BANK_BYTES
    x = 84 + sector % (LINE // SECTOR) * (words * (_CELL - 4) + 10)
    for word in range(sector * words, (sector + 1) * words):
        lanes = touched.get(word)
        color = _WANTED if lanes else _PARTLY if sector in used else _FREE
        title = f"lanes {', '.join(map(str, lanes))}" if lanes else ""
        yield _rectangle_svg(x, y, _CELL - 4, _CELL, color, title)
        x += _CELL - 4


def _legend_svg(x, y, entries):
    for color, text in entries:
        yield _rectangle_svg(x, y, 10, 10, color)
        yield _text_svg(x + 14, y + 9, text, _LIGHT)
        x += 32 + 5.5 * len(text)


# --- banks


def bank_picture(line: Line, sample: AccessSample) -> Picture:
    """Draws one access of a warp to shared memory: a column for each of the 32 banks, with a square for each
    requested word of 4 bytes. One pass transfers 32 words, one of each bank; words above the necessary number
    of passes must wait."""
    columns: list = [[] for _ in range(BANKS)]
    for lane, at in sample.active_lanes:
        for byte in range(at, at + sample.size, min(BANK_BYTES, sample.size)):
            word = byte // BANK_BYTES
            column = columns[word % BANKS]
            found = next((entry for entry in column if entry[0] == word), None)
            if found:
                found[1].append(lane)
            else:
                column.append((word, [lane]))
    highest = max(map(len, columns))
    necessary = max(1, math.ceil(sum(map(len, columns)) / BANKS))
    shown = min(highest, _MAX_WORDS)
    tall = _CELL if shown <= _FEW_WORDS else _CELL // 3
    base = 52 + shown * (tall + _GAP)
    parts = [
        _text_svg(10, 18, f"{line.place}: {_shorten_text(line.text, 80)}", size=12),
        _text_svg(
            10,
            36,
            f"{_access_name(sample)} of one warp: up to {highest} word{'s' * (highest > 1)} of a bank, "
            f"{necessary} without conflicts",
        ),
    ]
    for bank, column in enumerate(columns):
        x = 20 + bank * (_CELL + _GAP)
        for number, (_, lanes) in enumerate(column[:_MAX_WORDS]):
            color = _WANTED if number < necessary else _BAD
            title = f"lanes {', '.join(map(str, lanes))}"
            parts.append(
                _rectangle_svg(x, base - (number + 1) * (tall + _GAP), _CELL, tall, color, title)
            )
        if not column:
            parts.append(_rectangle_svg(x, base - tall - _GAP, _CELL, tall, _FREE))
        parts.append(_text_svg(x + _CELL / 2, base + 11, str(bank), _LIGHT, "middle", 9))
    parts.append(_text_svg(20, base + 26, "bank", _LIGHT))
    entries = ((_WANTED, "necessary pass"), (_BAD, "waits"), (_FREE, "not used"))
    parts += _legend_svg(70, base + 18, entries)
    return Picture(40 + BANKS * (_CELL + _GAP), base + 38, parts)


# --- roofline

_PLOT = (70, 40, 460, 280)
"""left, top, width, height"""


def roofline_plot(launches: list) -> Picture:
    """Plots the predicted float32 operations per second over the operations per byte of DRAM, and the GPU's
    limits as lines. Kernels under the sloped line are limited by memory, kernels under the flat line by
    arithmetic."""
    gpu = launches[0].gpu
    peak = 2 * gpu.float32_per_clock * gpu.multiprocessors * gpu.clock_mhz * 1e6
    bandwidth = gpu.dram_bytes_per_second
    points = [(name, *_roofline_point(launch)) for name, launch in _last_launches(launches)]
    points = [(name, x, y) for name, x, y in points if x > 0 and y > 0]
    ridge = peak / bandwidth
    low_x = 10 ** math.floor(math.log10(min([x for _, x, _ in points] + [ridge / 100])))
    high_x = 10 ** math.ceil(math.log10(max([x for _, x, _ in points] + [ridge * 10])))
    high_y = 10 ** math.ceil(math.log10(peak))
    low_y = 10 ** math.floor(math.log10(min([y for _, _, y in points] + [low_x * bandwidth])))
    left, top, width, height = _PLOT

    def position_of(x, y):
        return (
            left + width * math.log(x / low_x) / math.log(high_x / low_x),
            top + height * (1 - math.log(y / low_y) / math.log(high_y / low_y)),
        )

    parts = [_text_svg(10, 18, f"Roofline of the {gpu.name}: predicted, not measured", size=12)]
    parts += _axes_svg(position_of, low_x, high_x, low_y, high_y)
    corners = [(low_x, low_x * bandwidth), (ridge, peak), (high_x, peak)]
    path = " ".join("{:.1f},{:.1f}".format(*position_of(*corner)) for corner in corners)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{_INK}" stroke-width="2"/>')
    x, y = position_of(high_x, peak)
    parts.append(_text_svg(x - 6, y + 16, f"float32: {peak / 1e12:.3g} Tflop/s", _INK, "end"))
    x, y = position_of(low_x * 1.5, low_x * 1.5 * bandwidth)
    parts.append(_text_svg(x + 8, y + 16, f"DRAM: {bandwidth / 1e12:.3g} TB/s"))
    labels: list = []
    for name, across, up in points:
        x, y = position_of(across, up)
        label = y + 4
        while any(abs(label - other) < 12 for other in labels):
            label += 12
        labels.append(label)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{_BAD}"><title>{escape(name)}</title></circle>'
        )
        is_right = x > left + 0.6 * width  # the name is on the left of its point, in the picture
        parts.append(
            _text_svg(
                x - 8 if is_right else x + 8, label, name, anchor="end" if is_right else "start"
            )
        )
    if not points:
        has_counts = any(launch.work is not None for launch in launches)
        why = (
            "no kernel has float32 arithmetic"
            if has_counts
            else "operations are counted with nvdisasm"
        )
        parts.append(_text_svg(left + width - 8, top + height - 12, why, _LIGHT, "end"))
    return Picture(left + width + 30, top + height + 50, parts)


def _last_launches(launches):
    """Returns pairs (kernel's name, its last launch)."""
    return {launch.kernel: launch for launch in launches}.items()


def _roofline_point(launch: Launch):
    if launch.work is None or not launch.dram_bytes.high:
        return 0, 0
    operations = launch.work.float32_operations * 32
    return operations / launch.dram_bytes.middle, operations / launch.time


def _axes_svg(place, low_x, high_x, low_y, high_y):
    left, top, width, height = _PLOT
    yield f'<rect x="{left}" y="{top}" width="{width}" height="{height}" fill="none" stroke="{_LIGHT}"/>'
    for power in range(round(math.log10(low_x)), round(math.log10(high_x)) + 1):
        x, _ = place(10.0**power, low_y)
        yield f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + height}" stroke="{_FREE}"/>'
        yield _text_svg(x, top + height + 15, f"{10.0**power:g}", _LIGHT, "middle")
    for power in range(round(math.log10(low_y)), round(math.log10(high_y)) + 1):
        _, y = place(low_x, 10.0**power)
        yield f'<line x1="{left}" y1="{y:.1f}" x2="{left + width}" y2="{y:.1f}" stroke="{_FREE}"/>'
        yield _text_svg(left - 6, y + 4, _rate_text(10.0**power), _LIGHT, "end")
    yield _text_svg(
        left + width / 2, top + height + 34, "operations for each byte of DRAM", _INK, "middle"
    )
    yield _text_svg(left, top - 6, "flop/s")


def _rate_text(value):
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g}"
