"""Copies the user's headers that must be translated for the host compiler; the user's folders are not
modified.

A header on disk that sim/translation.py changes, or that includes such a header, is copied into the working
folder under a new name, and #include lines refer to the copy. A copied header includes files of its original
folder by their full paths, because the copy is in another folder. Headers in memory are written into the
working folder under their own names, which therefore must not contain paths that leave the folder.
"""

from __future__ import annotations

import os
import re

from numbalite.compilers import files, headers
from numbalite.compilers.sim import divisions, translation
from numbalite.cxx import scanner

_ASKED = re.compile(r'(__has_include\s*\(\s*)"([^"\n]*)"')
_COPIES = "numbalite-copies"


class _Header:
    """A header on disk."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.is_copied = False
        self.included = []  # the headers that it includes
        self.name = ""  # of the copy


class CopiedHeaders:
    """The user's headers that a source includes, copied to a folder.

    before: the text that is compiled before the source; users: the user's include directories, near: the folder
    of the source, all of them absolute; marks: whether the compiler needs marks at divisions.
    """

    def __init__(self, source, before, users, near, folder, checked, kind, marks=False):
        self._memory = dict(source.headers)
        self._users, self._near, self._folder = users, near, folder
        self._checked, self._kind = checked, kind
        self._known = {}  # real path -> _Header
        self._read_included_headers(before, None)
        self._read_included_headers(source.text, None)
        for text in self._memory.values():
            self._read_included_headers(text, None)
        own = (header.text for header in self._known.values())
        self.texts = [source.text, *self._memory.values(), *own]  # the texts of all user headers
        self._spared = divisions.unmarked_macros(self.texts) if marks else None
        for header in self._known.values():
            header.is_copied = self._translate_header(header.text) != header.text
        self._copy_includers()
        copied = [header for header in self._known.values() if header.is_copied]
        for i, header in enumerate(copied):
            header.name = f"{_COPIES}/{i}/{os.path.basename(header.path)}"
        for name, text in self._memory.items():
            self._write_header(name, self.include_copies(self._translate_header(text)))
        for header in copied:
            text = self.include_copies(
                self._translate_header(header.text), os.path.dirname(header.path)
            )
            self._write_header(header.name, f'#line 1 "{escape_file_name(header.path)}"\n{text}')

    def search_options(self) -> list:
        """Returns the compiler options that set the search path of the user's headers, in NVRTC's order."""
        own = ["-I", self._folder] if self._memory or self._known else []
        own += ["-iquote", self._folder, "-iquote", self._near]
        return [*own, *(word for path in self._users for word in ("-I", path))]

    def include_copies(self, text: str, directory: str | None = None) -> str:
        """Returns a text whose #include lines refer to the copied headers; `directory` is the original folder
        of a header."""
        if not self._known:
            return text
        out: list[str] = []
        at = 0
        for token in scanner.tokenize(text):
            if token.kind == "directive":
                out += text[at : token.start], self._rewrite_directive(token.text, directory)
                at = token.start + len(token.text)
        return "".join([*out, text[at:]])

    @property
    def has_division_marks(self) -> bool:
        """Returns whether a text contains marks at divisions."""
        return self._spared is not None

    def translate_source_text(self, text: str) -> str:
        """Returns a text of the source, translated for the host compiler."""
        return translation.translate_source(text, self._checked, self._kind, self._spared)

    def _translate_header(self, text):
        """Returns the text of a header, translated like the source. A function that cannot be translated is
        an error only if it is called."""
        return self.translate_source_text(text).replace(
            "NUMBALITE_SIM_ASM(", "NUMBALITE_SIM_ASM_USED("
        )

    def _rewrite_directive(self, text, directory):
        if "__has_include" in text:
            return _ASKED.sub(lambda match: self._copied_include(match, directory), text)
        if scanner.directive_word(text) not in ("include", "import"):
            return text
        for name, is_quoted in headers.included_names(text):
            header = self._find_copied_header(name, is_quoted, directory)
            if header is None:
                continue
            if header.is_copied:
                return f"#include <{header.name}>" + "\n" * text.count("\n")
            if is_quoted and directory is not None:
                return f'#include "{header.path}"' + "\n" * text.count("\n")
        return text

    def _copied_include(self, match, directory):
        header = self._find_copied_header(match[2], True, directory) if directory else None
        return f'{match[1]}"{header.path}"' if header else match[0]

    def _read_included_headers(self, text, directory):
        """Reads the headers on disk that a text includes, directly or through other headers; returns the
        headers that the text itself includes."""
        found = []
        for name, is_quoted in headers.included_names(text):
            path = self._header_path(name, is_quoted, directory)
            if path is None:
                continue
            real = os.path.realpath(path)
            header = self._known.get(real)
            if header is None:
                inside = files.read_text(path, "surrogateescape")
                header = _Header(path, inside)
                self._known[real] = header
                header.included = self._read_included_headers(inside, os.path.dirname(path))
            found.append(header)
        return found

    def _copy_includers(self):
        """Copies all headers that include a copied header."""
        todo = True
        while todo:
            todo = [
                header
                for header in self._known.values()
                if not header.is_copied and any(h.is_copied for h in header.included)
            ]
            for header in todo:
                header.is_copied = True

    def _find_copied_header(self, name, is_quoted, directory):
        path = self._header_path(name, is_quoted, directory)
        return path and self._known.get(os.path.realpath(path))

    def _header_path(self, name, is_quoted, directory):
        """Returns the path of the user's file on disk to which an #include refers, or None if the header is in
        memory or not the user's."""
        near = [directory] if is_quoted and directory is not None else []
        path = headers.find_header(name, near) if name else None
        if path is None and name and name not in self._memory:
            path = headers.find_header(
                name, [self._near, *self._users] if is_quoted else self._users
            )
        return path

    def _write_header(self, name, text):
        path = os.path.join(self._folder, name)
        if os.path.relpath(path, self._folder).startswith(".."):
            raise ValueError(f"headers: the name {name!r} is outside of the folder of headers")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def escape_file_name(name: str) -> str:
    """Returns the escaped file name of a #line directive."""
    return name.replace("\\", "\\\\").replace('"', '\\"')
