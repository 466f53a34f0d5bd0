"""Notebooks as pages. They carry no output, so a page is their text and their programs, in order."""

import json

from myst_parser.parsers.sphinx_ import MystParser


def fenced(text, language):
    """A block of code, whatever fences it holds itself."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def language(source):
    """What a code cell is highlighted as; IPython's commands are no Python."""
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%cuda"):
        return "cuda"
    lines = source.splitlines()
    return "none" if any(line.lstrip().startswith(("%", "!")) for line in lines) else "python"


def markdown(book):
    """The text of a notebook, given as its JSON."""
    pieces = []
    for cell in book["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            pieces.append(source)
        elif cell["cell_type"] == "code" and source:
            pieces.append(fenced(source, language(source)))
    return "\n\n".join(pieces) + "\n"


class NotebookParser(MystParser):
    """Reads .ipynb."""

    supported = ("ipynb",)

    def parse(self, inputstring, document):
        super().parse(markdown(json.loads(inputstring)), document)


def setup(app):
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
