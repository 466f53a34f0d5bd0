"""Renders the tables of docs/performance.md and README.md: `run.py --write` writes each between two marker
comments."""

import pathlib

BEGIN = "<!-- make bench writes from here -->"
END = "<!-- to here -->"
README_ROWS = ("L1", "C1", "C3", "U3", "U6", "U5")
STEPS = ((1e6, " s", 1e-6), (1e3, " ms", 1e-3), (1, " µs", 1), (0, " ns", 1e3))


def three_digits(value):
    """Returns the text of a number with three significant digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def format_time(value, unit):
    microseconds = value / 1e3 if unit == "ns" else value
    for least, name, factor in STEPS:
        if microseconds >= least:
            return three_digits(microseconds * factor) + name
    return "-"


def format_speed(entry, value):
    return f"{entry['moved'] / value / 1e3:.0f} GB/s"


def format_entry(entry, value):
    if value is None:
        return ""
    text = format_time(value, entry["unit"])
    if entry["moved"]:
        text += f" ({format_speed(entry, value)})"
    return text


def table_row(entry):
    ours, least, limit = entry["ours"], entry["floor"], entry["limit"]
    ratio = f"{ours / least:.2f}" if least else ""
    target = ""
    if limit is not None:
        moved = entry["moved"]
        target = (
            f"≥ {format_speed(entry, limit)}" if moved else f"≤ {format_time(limit, entry['unit'])}"
        )
        if ours > limit:
            target = f"**{target}: missed**"
    best = sorted(entry["peers"].items(), key=lambda item: item[1])
    others = ", ".join(f"{name} {format_time(value, entry['unit'])}" for name, value in best)
    work = entry["work"].replace("](", "]\\(")  # k[g, b](...) is no link
    cells = work, format_entry(entry, ours), format_entry(entry, least), ratio, target, others
    return "| " + " | ".join(cells) + " |"


def count_met(record):
    """Returns (number of rows that meet their target, number of rows that have a target)."""
    judged = [entry for entry in record["rows"].values() if entry["limit"] is not None]
    return sum(entry["ours"] <= entry["limit"] for entry in judged), len(judged)


def format_table(record):
    """Returns the table of all rows of a record that `run.py --json` wrote, as Markdown."""
    met, judged = count_met(record)
    lines = [
        f"{record['device']}, {record['machine']}. {met} of {judged} targets are met.",
        "",
        "| work | numbalite | floor | ratio | target | others |",
        "|---|---|---|---|---|---|",
        *map(table_row, record["rows"].values()),
    ]
    return "\n".join(lines)


def readme_table(record):
    """Returns the table of README.md: a few rows without ratio and target, and the number of met targets."""
    lines = ["| work | numbalite | floor | others |", "|---|---|---|---|"]
    for key in README_ROWS:
        if entry := record["rows"].get(key):
            cells = table_row(entry).strip("| ").split(" | ")
            lines.append("| " + " | ".join((*cells[:3], cells[5])) + " |")
    met, judged = count_met(record)
    return "\n".join([*lines, "", f"{met} of {judged} targets are met."])


def replace_between_markers(path: pathlib.Path, new, begin=BEGIN):
    text = path.read_text()
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(END)
    if not found or not closed:
        raise SystemExit(f"{path}: the comments {begin} and {END} are missing")
    path.write_text(f"{before}{begin}\n{new}\n{END}{after}")


def update_pages(root: pathlib.Path, record):
    """Replaces the tables of docs/performance.md and README.md below ``root``."""
    replace_between_markers(root / "docs" / "performance.md", format_table(record))
    replace_between_markers(root / "README.md", readme_table(record))
