"""The kernels that are generated: files of cuda_src/templates with words to be filled in."""

from __future__ import annotations

import functools
import os
import string

from numbalite.compilers import files, headers


@functools.cache
def _template(name: str) -> string.Template:
    text = files.text(os.path.join(headers.cuda_src(), "templates", f"{name}.cu"))
    return string.Template(text[text.index("*/\n") + 3 :])  # without what the file says of itself


def fill(name: str, /, **words: object) -> str:
    """The text of a template; KeyError for a word that is not given."""
    return _template(name).substitute(words)


def fill_around(name: str, /, **words: object) -> tuple[str, str]:
    """What comes before and behind the user's text."""
    before, _, after = fill(name, user="\0", **words).partition("\0")
    return before, after.rstrip("\n")
