"""Checks the names of exported C functions, and phrases that no text of the project may contain."""

import ast
import json
import pathlib
import re

import pytest

from .test_layout import C_FILES, CEXT, product_files, relative_name, strip_comments

# Files whose exported functions have other prefixes, with the reason.
OTHER_PREFIXES = {
    "base/lock": (
        ("nl_mutex", "nl_cond", "nl_thread"),
        "all primitives of threads are in one file",
    ),
    "py/error": (("nl_py_raise",), "every file of py uses it"),
    "sim/engine/trampoline": (
        ("nl_sim_",),
        "entry points in assembler of the functions of other files",
    ),
}
DEFINITION = re.compile(r"^(?!static|typedef|#)[A-Za-z_][\w \*]*?\b(nl_\w+)\([^;{}]*\)\s*\{", re.M)
# Pattern of a phrase -> what to write instead.
PHRASES = {
    "whoever|whomever": "the caller that, the thread that",
    "nobody|somebody|anybody": "no caller, a user, the thread that",
    "whom|hears|wants to": "the thread that, receives, must",
    "told|says to|is said to|spoken of|speaks of": "reports, returns, documents",
    "what is known of|known of": "the cached properties of",
    "beside": "next to, compared with, like=",
    "as they lie|how it lies|how they lie": "the layout of the arrays, contiguous, aligned",
    "gives? back|given back": "returns, releases",
    "mend|mends|mended": "fix, fixed",
    "behind the end": "past the end",
    "comes to|comes by|goes through|travels?": "reaches, passes through, is copied",
    "the own": "its own, a private",
    "a second look": "a review",
    "whole numbers?": "integers",
    "folded|folding": "reduced, reduction",
    "in so many words|in vain|by lot|to and fro|take along": "the field's term",
    "what somebody|who asks|lets? go": "the caller, releases",
}
PREFIXES = re.compile(r"\b(?:MOST|LEAST|FEW)_[A-Z]\w*")  # write MAX_, MIN_, SMALL_
TABLES = "docs/mistakes.md"  # contains names of kernel pairs in recorded results


@pytest.mark.parametrize(
    "path", [path for path in C_FILES if path.suffix == ".c"], ids=relative_name
)
def test_exported_names_begin_with_the_noun_of_their_file(path):
    stem = str(path.relative_to(CEXT).with_suffix(""))
    layer = {"py": "py_", "sim": "sim_"}.get(stem.split("/")[0], "")
    noun = path.stem.replace("_", "")
    allowed = tuple(f"nl{layer}{one}".replace("_", "") for one in (noun, noun.rstrip("s")))
    others = OTHER_PREFIXES.get(stem, ((), ""))[0]
    found = DEFINITION.findall(strip_comments(path.read_text()))
    wrong = [
        one
        for one in found
        if not one.replace("_", "").startswith(allowed) and not one.startswith(others or ("?",))
    ]
    assert not wrong, f"begin these with {allowed[0]}, or move them to another file"


def prose_of_file(path):
    """Returns the comments and docstrings of a file, roughly: the whole file except strings in
    Python code."""
    text = path.read_text(errors="replace")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    if path.suffix != ".py":
        return text
    found = re.findall(r"#.*", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            found.append(ast.get_docstring(node) or "")
    return "\n".join(found)


def test_texts_use_the_terms_of_the_field():
    found = []
    suffixes = {".c", ".h", ".cuh", ".cu", ".py", ".md", ".ipynb"}
    for path in product_files():
        if path.suffix in suffixes and path.name not in {
            "CHANGELOG.md",
            pathlib.Path(TABLES).name,
            pathlib.Path(__file__).name,
        }:
            text = prose_of_file(path)
            found += [
                f"{relative_name(path)}: {phrase!r}: write {instead!r}"
                for phrase, instead in PHRASES.items()
                if re.search(rf"\b(?:{phrase})\b", text)
            ]
            found += [
                f"{relative_name(path)}: {one}: write MAX_, MIN_ or SMALL_"
                for one in PREFIXES.findall(text)
            ]
    assert not found, "\n".join(found)
