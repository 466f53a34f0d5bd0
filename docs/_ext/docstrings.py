"""Our docstrings are plain text with ``code`` in backquotes; an indented paragraph is a program.

That is one step from reStructuredText: indented paragraphs become code blocks.
"""

import re

LIST = re.compile(r"\s*([-*+]|\d+[.)])\s")


def with_programs(lines):
    """The lines with a directive before each indented paragraph that follows an empty line."""
    out, previous, inside = [], "", False
    for i, line in enumerate(lines):
        indented = line.startswith("    ")
        if line.strip() and not indented:
            inside = False
        begins = indented and not inside and i and not lines[i - 1].strip()
        if begins and not (
            LIST.match(previous) or previous.endswith("::") or previous.startswith(".. ")
        ):
            out += [".. code-block:: python", ""]
        if indented:
            inside = True
        elif line.strip():
            previous = line
        out.append(line)
    return out


def process(app, what, name, obj, options, lines):
    lines[:] = with_programs(lines)


def setup(app):
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
