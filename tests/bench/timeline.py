"""Draws a timeline of docs/guide/programs/diffusion.py as SVG: one bar for each kernel and copy.

python docs/guide/programs/diffusion.py 16384 400 2 timeline.json
python tests/bench/timeline.py timeline.json docs/timeline.svg
"""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.fonttype": "none", "font.size": 9, "svg.hashsalt": "numbalite"})
from matplotlib import pyplot  # noqa: E402

COLOURS = {"rows": "#4477aa", "copy": "#cc6677"}


def draw_bars(bars, path):
    """Draws [(work, device, stream, begin, end)], times in microseconds, into a file."""
    rows = sorted({(device, stream) for _, device, stream, _, _ in bars}, reverse=True)
    drawn, axes = pyplot.subplots(figsize=(7, 0.8 + 0.5 * len(rows)))
    for work, device, stream, begin, end in bars:
        colour = COLOURS[work.split()[0]]
        row, style = rows.index((device, stream)), {"color": colour, "edgecolor": "white"}
        axes.barh(row, end - begin, left=begin, height=0.7, linewidth=0.7, **style)
    axes.set_yticks(range(len(rows)), [f"device {device}, {stream}" for device, stream in rows])
    axes.set_xlabel("microseconds")
    for name, colour in ("kernels", COLOURS["rows"]), ("copies between devices", COLOURS["copy"]):
        axes.barh(0, 0, color=colour, label=name)
    axes.legend(fontsize=7, loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    drawn.tight_layout()
    drawn.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        draw_bars(json.load(file), sys.argv[2])
