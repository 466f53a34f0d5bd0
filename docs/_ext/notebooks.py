"""Renders notebooks as pages: their text, their programs, and the stored outputs."""

import html
import json
import pathlib
import re

from myst_parser.parsers.sphinx_ import MystParser

ATTACHED = re.compile(r"!\[([^\]]*)\]\(attachment:([^)]+)\)")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def fenced(text, language):
    """Returns a code block whose fence is longer than any fence in the code."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


def language(source):
    """Returns the language for the highlighting of a code cell; IPython's commands are no
    Python."""
    first = source.lstrip().partition("\n")[0]
    if first.startswith("%%cuda"):
        return "cuda"
    lines = source.splitlines()
    return "none" if any(line.lstrip().startswith(("%", "!")) for line in lines) else "python"


def picture(data, said):
    """Returns an image of a notebook, embedded in the page."""
    source = "".join(data).replace("\n", "")
    return f'<img class="result" alt="{html.escape(said)}" src="data:image/png;base64,{source}">'


def with_pictures(text, attachments):
    """Returns a text cell, with its attached pictures."""
    return ATTACHED.sub(lambda found: picture(attachments[found[2]]["image/png"], found[1]), text)


def result(output):
    """Returns the output of a cell: a picture, a table or box in HTML, or text."""
    data = output.get("data", {})
    if "image/png" in data:
        return picture(data["image/png"], "the figure that this program draws")
    if "text/html" in data:
        lines = "".join(data["text/html"]).splitlines()
        return '<div class="result">\n' + "\n".join(filter(str.strip, lines)) + "\n</div>"
    text = COLOUR.sub("", "".join(output.get("text", data.get("text/plain", ""))))
    return fenced(text.rstrip(), "none")


def joined_streams(outputs):
    """Returns the outputs of a cell, with consecutive texts that the cell printed joined to one text."""
    joined = []
    for output in outputs:
        if (
            output["output_type"] == "stream"
            and joined
            and joined[-1].get("name") == output["name"]
        ):
            joined[-1] = {**output, "text": [*joined[-1]["text"], *output["text"]]}
        else:
            joined.append(output)
    return joined


def markdown(book):
    """Returns the text of a notebook, from its JSON."""
    pieces = []
    for cell in book["cells"]:
        source = "".join(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            pieces.append(with_pictures(source, cell.get("attachments", {})))
        elif cell["cell_type"] == "code" and source:
            pieces.append(fenced(source, language(source)))
            pieces += map(result, joined_streams(cell["outputs"]))
    return "\n\n".join(pieces) + "\n"


class NotebookParser(MystParser):
    """Reads .ipynb."""

    supported = ("ipynb",)

    def parse(self, inputstring, document):
        title, end, rest = markdown(json.loads(inputstring)).partition("\n\n")
        name = pathlib.Path(document["source"]).name
        load = f"{{download}}`This page is a notebook: {name} <{name}>`"
        super().parse(f"{title}{end}{load}\n\n{rest}", document)


def setup(app):
    app.add_source_suffix(".ipynb", "ipynb")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
