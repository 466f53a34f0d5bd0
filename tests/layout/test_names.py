"""Names of exported C functions, and phrases that no text of the project contains."""

import ast
import pathlib
import re

import pytest

from .test_layout import C_FILES, CEXT, name, ours, strip_comments

# Files whose exported functions have other prefixes, and why.
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
# Phrase -> what to write instead.
PHRASES = {
    "whoever": "the caller that, the thread that",
    "as they lie": "the layout of the arrays",
    "how it lies": "its layout",
    "give back": "return",
    "mended": "fixed",
    "behind the end": "past the end",
    "what is known of": "the cached properties of",
    "is said to": "is documented to",
    "a second look": "a review",
    "of somebody's": "of a user",
}


@pytest.mark.parametrize("path", [path for path in C_FILES if path.suffix == ".c"], ids=name)
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


def prose(path):
    """The comments and docstrings of a file, roughly: all of it but strings in Python code."""
    text = path.read_text(errors="replace")
    if path.suffix != ".py":
        return text
    found = re.findall(r"#.*", text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            found.append(ast.get_docstring(node) or "")
    return "\n".join(found)


def test_texts_use_the_terms_of_the_field():
    found = []
    suffixes = {".c", ".h", ".cuh", ".cu", ".py", ".md"}
    for path in ours():
        if path.suffix in suffixes and path.name not in {
            "CHANGELOG.md",
            pathlib.Path(__file__).name,
        }:
            text = prose(path)
            found += [
                f"{name(path)}: {phrase!r}: write {instead!r}"
                for phrase, instead in PHRASES.items()
                if re.search(rf"\b{phrase}\b", text)
            ]
    assert not found, "\n".join(found)
