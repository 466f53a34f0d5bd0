"""Fills the placeholders in templates of generated kernels, the files of cuda_src/templates."""

from __future__ import annotations

import functools
import os
import string

from numbalite.compilers import files, headers


@functools.cache
def _load_template(name: str) -> string.Template:
    text = files.read_text(os.path.join(headers.cuda_src(), "templates", f"{name}.cu"))
    # Skips the comment at the beginning of the file
    return string.Template(text[text.index("*/\n") + 3 :])


def fill_template(name: str, /, **words: object) -> str:
    """Returns the text of a template with its placeholders replaced; raises KeyError for a missing
    placeholder."""
    return _load_template(name).substitute(words)


def template_halves(name: str, /, **words: object) -> tuple[str, str]:
    """Returns the template's texts before and after the user's text."""
    before, _, after = fill_template(name, user="\0", **words).partition("\0")
    return before, after.rstrip("\n")
