"""Prepares a file of a CUDA project for kernel compilers: removes its host code.

`device_code` reads the file and the headers of the project that it includes, removes host code
(cxx/hostcode.py), and returns the rest: the file's text, its headers as texts in memory, and a list
of the removed lines.
#include lines are removed if their header belongs to the host's library or to libraries for the CPU, or does
not exist.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from numbalite import config
from numbalite.compilers import files, headers, toolkit
from numbalite.cxx import hostcode, scanner
from numbalite.cxx.linemap import Text, quote_label

_OF_CUB = re.compile(r"\b(?:(Block|Warp)([A-Z]\w+)|(Thread)(Load|Store|Reduce|Scan|Search|Sort))")
_CUB = "cub/cub.cuh"
# Namespaces that are removed completely.
_USING = re.compile(r"using namespace (std|cub)\b")
_NAMES_OF_NVCC = {
    "uint": "typedef unsigned int uint;",
    "ushort": "typedef unsigned short ushort;",
    "ulong": "typedef unsigned long ulong;",
}
# Headers that nvcc reads before every source: name -> the header that declares it.
_READ_BY_NVCC = (
    ("cstdint", re.compile(r"\bu?int(?:8|16|32|64|ptr)_t\b")),
    ("cfloat", re.compile(r"\b(?:FLT|DBL)_[A-Z]")),
    ("climits", re.compile(r"\bU?(?:INT|CHAR|SHRT|LONG|LLONG)_(?:MAX|MIN)\b")),
    ("cassert", re.compile(r"\bassert\s*\(")),
    ("limits", re.compile(r"\bstd::numeric_limits\b")),
    (
        "cuda_device_runtime_api.h",
        re.compile(r"\bcuda(?:GridDependencySynchronize|TriggerProgrammaticLaunchCompletion)\b"),
    ),
)
# Names that removed headers of other libraries, such as PyTorch's, declare.
_BROUGHT = (
    ("cuda_fp16.h", re.compile(r"\b(?:__)?half2?\b")),
    ("cuda_bf16.h", re.compile(r"\b(?:__)?nv_bfloat162?\b")),
)
_OWN_HALF = re.compile(r"\b(?:struct|class|using)\s+half2?\b|\btypedef\b[^;]*\bhalf2?\s*;")


class Project(NamedTuple):
    """A file of a CUDA project without its host code."""

    text: Text
    headers: tuple
    """(name, text) of its headers."""
    left_out: tuple
    """The removed host code, for messages: "main (k.cu:12)"."""


class _ProjectHeader:
    def __init__(self, path, text):
        self.path, self.file = path, hostcode.read_declarations(text)
        self.name = ""


def device_code(text: Text, folder: str, options=(), names=(), given=()) -> Project:
    """Removes host code from a file in `folder`. `given` contains the names of headers in memory.

    A file without host code whose headers are all available stays unchanged.
    """
    reader = _ProjectReader(text.value, folder, options, given)
    before = _implicit_declarations("\n".join(header.file.text for header in reader.headers))
    if not reader.has_host_code:
        return Project(_prepend_lines(before, text), (), ())
    chosen = hostcode.declarations_to_compile([h.file for h in reader.headers], _plain_names(names))
    made, left_out = [], []
    for number, header in enumerate(reader.headers):
        value, dropped = hostcode.blank_other_declarations(header.file, chosen[number])
        made.append(reader.with_includes(hostcode.replace_host_functions(value), header.path))
        label = os.path.basename(header.path) if number else os.path.basename(text.label)
        gone = [*header.file.members, *((d.title, d.line) for d in dropped if d.title)]
        left_out += [f"{title} ({label}:{line + 1})" for title, line in gone]
    whole = "\n".join(made)
    before = [
        *_implicit_declarations(whole),
        *(_implicit_include_lines(whole) if reader.has_missing else ()),
    ]
    main = _prepend_lines(before, text.replace(made[0]))
    inner = [
        (header.name, f'#line 1 "{quote_label(header.path)}"\n{value}')
        for header, value in zip(reader.headers[1:], made[1:], strict=True)
    ]
    if _CUB in whole and not headers.find_header(_CUB, reader.users):
        inner.append((_CUB, _cub_headers(whole)))
    return Project(main, tuple(inner), tuple(left_out))


def _plain_names(expressions):
    return [name for expression in expressions for name in re.findall(r"\w+", expression)]


def _implicit_declarations(text):
    """Returns the declarations of nvcc's implicit headers for the names that the text uses."""
    used = set(re.findall(r"\b(?:uint|ushort|ulong)\b", text))
    lines = [f"#include <{name}>" for name, mentioned in _READ_BY_NVCC if mentioned.search(text)]
    return [*lines, *(_NAMES_OF_NVCC[name] for name in sorted(used))]


def _implicit_include_lines(text):
    named = [name for name, mentioned in _BROUGHT if mentioned.search(text) and name not in text]
    return [f"#include <{name}>" for name in named if not _OWN_HALF.search(text)]


def _prepend_lines(before, text):
    lines = (*(text.lines[0] for _ in before), *text.lines)
    return Text("\n".join([*before, text.value]), text.label, lines)


def _cub_headers(text):
    """Replaces <cub/cub.cuh> by the used CUB headers that kernels can include."""
    found = set()
    for group, name, thread, what in _OF_CUB.findall(text):
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or what).lower()
        found.add(f"{(group or thread).lower()}/{(group or thread).lower()}_{words}.cuh")
    wanted = [name for name in sorted(found) if _is_available_header(f"cub/{name}")]
    return "#pragma once\n" + "".join(f"#include <cub/{name}>\n" for name in wanted)


def _is_available_header(name):
    own = os.path.join(headers.cuda_src(), "sim", "include")
    return headers.find_header(name, [own, *toolkit.include_directories()]) is not None


class _ProjectReader:
    """Reads a source file and the project headers that the file includes, each once. headers[0] is the source
    file itself."""

    def __init__(self, text, folder, options, given):
        self.users = [*headers.user_include_directories(options), *config.INCLUDE_PATH]
        self.given = frozenset(given)
        self.headers = [_ProjectHeader(os.path.join(folder, ""), text)]
        self.known = {}
        self.has_missing = (
            False  # whether an #include refers to a header that kernel compilers lack
        )
        self._read_includes(text, folder)
        files = hostcode.remove_host_members(header.file for header in self.headers)
        for header, file in zip(self.headers, files, strict=True):
            header.file = file

    @property
    def has_host_code(self):
        files = [header.file for header in self.headers]
        return self.has_missing or any(
            file.members
            or hostcode.replace_host_functions(file.text) != file.text
            or any(hostcode.is_host_declaration(d) for d in file.declarations)
            for file in files
        )

    def _read_includes(self, text, folder):
        for token in scanner.tokenize(text):
            if token.kind != "directive" or scanner.directive_word(token.text) != "include":
                continue
            for name, quoted in headers.included_names(token.text):
                path = self._find_header(name, quoted, folder)
                self.has_missing |= path is None and bool(name) and not self._has_header(name)
                self.has_missing |= name == _CUB
                real = path and os.path.realpath(path)
                if real and real not in self.known:
                    inside = files.read_text(path, "surrogateescape")
                    header = self.known[real] = _ProjectHeader(path, inside)
                    header.name = f"project/{len(self.headers)}/{os.path.basename(path)}"
                    self.headers.append(header)
                    self._read_includes(inside, os.path.dirname(path))

    def _find_header(self, name, quoted, folder):
        """Returns the path of the project's file to which an #include refers, or None."""
        if not name or name in self.given or name in headers.memory_headers():
            return None
        return headers.find_header(name, [folder, *self.users] if quoted else self.users)

    def with_includes(self, text, path):
        """Adds #include lines for headers in memory, and removes those of headers that only host compilers
        have."""
        folder, out, at = os.path.dirname(path), [], 0
        for token in scanner.tokenize(text):
            if token.kind == "directive" and scanner.directive_word(token.text) == "include":
                line = self._read_included_headers(token.text, folder)
                out += text[at : token.start], line + "\n" * token.text.count("\n")
                at = token.start + len(token.text)
            elif token.text == "using" and (used := _USING.match(text, token.start)):
                out += text[at : token.start], f"namespace {used[1]} {{}} "
                at = token.start
        return "".join([*out, text[at:]])

    def _read_included_headers(self, line, folder):
        for name, quoted in headers.included_names(line):
            path = self._find_header(name, quoted, folder)
            if path is not None:
                return f'#include "{self.known[os.path.realpath(path)].name}"'
            if name and not self._has_header(name):
                return ""
        return line

    def _has_header(self, name):
        """Returns whether a kernel compiler has this header."""
        if name in self.given or name in headers.memory_headers():
            return True
        if toolkit.is_for_host_code(name) or toolkit.is_for_nvcc(name):
            return False
        return name == _CUB or _is_available_header(name)
