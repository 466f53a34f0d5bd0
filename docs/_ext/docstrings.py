"""Converts docstrings: plain text with ``code`` in backquotes, and numpydoc's sections.

An indented paragraph is a program and becomes a code block. The sections (Parameters, Returns, Raises, ...) are
converted by sphinx.ext.napoleon, without its other changes to the summary.
"""

import re

from sphinx.ext.napoleon import Config
from sphinx.ext.napoleon.docstring import NumpyDocstring

LIST = re.compile(r"\s*([-*+]|\d+[.)])\s")
UNDERLINE = re.compile(r"-{3,}$")
CONFIG = Config(napoleon_use_rtype=False)


def with_programs(lines):
    """Returns the lines with a directive before each indented paragraph that follows an empty
    line."""
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


def split_sections(lines):
    """Returns (text before the first section, sections); sections begin with an underlined
    title."""
    for i, line in enumerate(lines[1:], 1):
        if UNDERLINE.match(line) and lines[i - 1].strip():
            return lines[: i - 1], lines[i - 1 :]
    return lines, []


def process(app, what, name, obj, options, lines):
    text, sections = split_sections(list(lines))
    converted = NumpyDocstring(sections, CONFIG, what=what).lines() if sections else []
    lines[:] = [*with_programs(text), *converted]


def setup(app):
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
