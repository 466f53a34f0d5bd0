"""Renders a record of run.py as one HTML file: a bar for each library and row, and the versions of the
libraries."""

import html
import pathlib

from speed_table import format_entry

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; width: 100%; }
td { padding: .1rem .5rem; vertical-align: middle; }
td.name { width: 9rem; text-align: right; color: #555; }
td.time { width: 13rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
th { text-align: left; font-weight: 600; padding: .9rem .5rem .1rem; }
div.bar { height: .8rem; background: #b9c2cc; min-width: 2px; }
div.ours { background: #2f7d32; }
div.floor { background: #d9b44a; }
.missed { color: #a11; }
@media (prefers-color-scheme: dark) { body { background: #181a1c; color: #ddd; } td.name { color: #aaa; } }
@media (max-width: 40rem) { td.name { width: 5rem; } td.time { width: 7rem; white-space: normal; } }
"""


def bars_of_row(entry):
    """Returns [(library, time, class)] of a row, fastest first after the floor."""
    measured = [("numbalite", entry["ours"], "ours")]
    measured += [(name, value, "") for name, value in entry["peers"].items()]
    measured.sort(key=lambda item: item[1])
    return [("floor", entry["floor"], "floor")] * bool(entry["floor"]) + measured


def render_row(entry):
    """Returns the lines of one row of the benchmark. Bars are times; the longest one has the full width."""
    longest = max(value for _, value, _ in bars_of_row(entry))
    title = html.escape(entry["work"])
    if entry["limit"] is not None and entry["ours"] > entry["limit"]:
        title += f' <span class="missed">target {html.escape(format_entry(entry, entry["limit"]))} missed</span>'
    yield f'<tr><th colspan="3">{title}</th></tr>'
    for name, value, kind in bars_of_row(entry):
        width = max(100 * value / longest, 0.2)
        yield (
            f'<tr><td class="name">{html.escape(name)}</td>'
            f'<td class="time">{html.escape(format_entry(entry, value))}</td>'
            f'<td><div class="bar {kind}" style="width: {width:.1f}%"></div></td></tr>'
        )


def render_page(record):
    """Returns the HTML of a record as `run.py --json` writes it."""
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    rows = "\n".join(line for entry in record["rows"].values() for line in render_row(entry))
    left_out = "".join(f"<li>{html.escape(line)}</li>" for line in record["left_out"])
    machine = html.escape(f"{record['device']}; {record['machine']}")
    return f"""<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>numbalite: speed</title><style>{STYLE}</style>
<h1>Speed of numbalite and other libraries</h1>
<p>{machine}. Versions: {html.escape(versions)}.</p>
<p>Times of one run; shorter is better. The floor is the limit of the machine, measured in the same run. Each result
was checked before it was timed.</p>
<table>
{rows}
</table>
{f"<h2>Not measured</h2><ul>{left_out}</ul>" if left_out else ""}
</html>
"""


def write_page(path, record):
    """Writes the page, and creates the folders of its path."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render_page(record))
