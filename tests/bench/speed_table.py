"""The table of docs/performance.md: `run.py --write` writes it between two marker comments."""

import pathlib

BEGIN = "<!-- make bench writes from here -->"
END = "<!-- to here -->"
STEPS = ((1e6, " s", 1e-6), (1e3, " ms", 1e-3), (1, " µs", 1), (0, " ns", 1e3))


def digits(value):
    """Three significant ones."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def time(value, unit):
    microseconds = value / 1e3 if unit == "ns" else value
    for least, name, factor in STEPS:
        if microseconds >= least:
            return digits(microseconds * factor) + name
    return "-"


def speed(entry, value):
    return f"{entry['moved'] / value / 1e3:.0f} GB/s"


def format_entry(entry, value):
    if value is None:
        return ""
    text = time(value, entry["unit"])
    if entry["moved"]:
        text += f" ({speed(entry, value)})"
    return text


def table_row(entry):
    ours, least, limit = entry["ours"], entry["floor"], entry["limit"]
    ratio = f"{ours / least:.2f}" if least else ""
    target = ""
    if limit is not None:
        moved = entry["moved"]
        target = f"≥ {speed(entry, limit)}" if moved else f"≤ {time(limit, entry['unit'])}"
        if ours > limit:
            target = f"**{target}: missed**"
    best = sorted(entry["peers"].items(), key=lambda item: item[1])
    others = ", ".join(f"{name} {time(value, entry['unit'])}" for name, value in best)
    work = entry["work"].replace("](", "]\\(")  # k[g, b](...) is no link
    cells = work, format_entry(entry, ours), format_entry(entry, least), ratio, target, others
    return "| " + " | ".join(cells) + " |"


def table(record):
    """Markdown of a record as `run.py --json` writes it."""
    rows = record["rows"].values()
    missed = sum(
        1 for entry in rows if entry["limit"] is not None and entry["ours"] > entry["limit"]
    )
    judged = sum(1 for entry in rows if entry["limit"] is not None)
    lines = [
        f"{record['device']}, {record['machine']}. {judged - missed} of {judged} targets are met.",
        "",
        "| work | numbalite | floor | ratio | target | others |",
        "|---|---|---|---|---|---|",
        *map(table_row, rows),
    ]
    return "\n".join(lines)


def update(path: pathlib.Path, record):
    """Replaces the text between the markers by the table."""
    text = path.read_text()
    before, found, rest = text.partition(BEGIN)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{path}: the comments {BEGIN} and {END} are not there")
    path.write_text(f"{before}{BEGIN}\n{table(record)}\n{END}{after}")
