"""Finds the headers of a source: numbalite's, the standard headers that NVRTC lacks, and the files that it includes.

`cuda_src` is the directory of numbalite's CUDA C++. NVRTC receives numbalite.cuh, the headers that it includes, and
standard headers (cuda_src/std) as in-memory headers; all other headers are found on disk in the toolkit's and
the user's directories.

The key of the disk cache must depend on each text that is compiled: `include_closure` returns the contents of the
user's headers for the key. `include_closure` follows #include lines as the compilers do. Of the toolkit's headers,
which users do not edit, only the size and date of the included header are used.
"""

from __future__ import annotations

import functools
import os
import re
import stat

from numbalite import config
from numbalite.compilers import files, toolkit
from numbalite.errors import CompileError

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_directory = None
_in_memory = None


def cuda_src() -> str:
    """Returns the directory of numbalite's CUDA C++: next to the package in a checkout, in the
    package otherwise."""
    global _directory
    if _directory is None:
        for place in (os.path.join(os.path.dirname(_HERE), "cuda_src"), f"{_HERE}/_cuda_src"):
            if os.path.exists(f"{place}/numbalite.cuh"):
                _directory = place
                break
        else:
            raise FileNotFoundError(
                f"numbalite.cuh is missing: {_HERE} is not a whole installation"
            )
    return _directory


def _read_text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def memory_headers() -> dict:
    """Returns {name: text} of the headers that NVRTC receives with each source."""
    global _in_memory
    if _in_memory is None:
        root = cuda_src()
        texts = {"numbalite.cuh": _read_text(f"{root}/numbalite.cuh")}
        for name in sorted(os.listdir(f"{root}/numbalite")):
            if name.endswith((".cuh", ".h")):
                texts[f"numbalite/{name}"] = _read_text(f"{root}/numbalite/{name}")
        for name in sorted(os.listdir(f"{root}/std")):
            texts[name] = _read_text(f"{root}/std/{name}")
        _in_memory = texts
    return _in_memory


# CCCL of CUDA 12.3 to 12.5 includes private headers by the names of standard headers, as in #include "climits".
# NVRTC prefers headers in memory to files next to the including one.
# Therefore, a header in memory includes CCCL's private header of the same name.
_PRIVATE_SINCE, _PRIVATE_UNTIL = (12, 3), (12, 6)
_PRIVATE = "algorithm climits cmath cstddef cstdint cstdlib ctime initializer_list utility".split()
_WITH_PRIVATE = """\
#if defined(_LIBCUDACXX_BEGIN_NAMESPACE_STD) && __has_include(<cuda/std/detail/libcxx/include/{name}>)
#include <cuda/std/detail/libcxx/include/{name}>
#endif
#ifndef NUMBALITE_STD_{guard}
#define NUMBALITE_STD_{guard}
{text}
#endif
"""


def headers_for_version(version) -> dict:
    """Returns {name: text} of the headers that an NVRTC of this version receives with each source."""
    texts = memory_headers()
    if not _PRIVATE_SINCE <= version < _PRIVATE_UNTIL:
        return texts
    return {**texts, **_private_headers()}


@functools.cache
def _private_headers():
    """Returns {name: text} of the standard headers that include CCCL's private header of the same name."""
    return {
        name: _WITH_PRIVATE.format(
            name=name, guard=name.upper(), text=memory_headers()[name].replace("#pragma once\n", "")
        )
        for name in _PRIVATE
    }


def user_include_directories(options) -> list:
    """Returns the include directories among compiler options."""
    found, following = [], False
    for option in options:
        if following:
            found.append(option)
            following = False
        elif option in ("-I", "--include-path", "-include-path", "-isystem"):
            following = True
        else:
            for prefix in ("-I", "--include-path=", "-include-path=", "-isystem"):
                if option.startswith(prefix):
                    found.append(option[len(prefix) :])
                    break
    return found


_GAP = r"(?:[ \t\f\v]|/\*.*?\*/)*"
_MARK = rf"(?:\#|%:){_GAP}"
# Matches comments, and literals that may contain the characters of a comment.
_COMMENT_OR_NOT = re.compile(
    rf"""//[^\n]*|/\*.*?(?:\*/|\Z)
      |{_MARK}(?:include|import|include_next|embed)\b{_GAP}<[^>\n]*>
      |(?<!\w)(?:u8|[uUL])?R"([^()\\\s"]{{0,16}})\(.*?(?:\)\1"|\Z)
      |"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""",
    re.VERBOSE | re.DOTALL,
)
_SPLICE = re.compile(r"\\[ \t]*\r?\n")
_TRIGRAPHS = {"??=": "#", "??/": "\\"}
_WORD = re.compile(r"\b(?:include|import|include_next|embed|__has_\w+)\b")
_PLAIN = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]*)"|<([^>\n]*)>)[ \t]*\r?$', re.MULTILINE
)
_DIRECTIVE = re.compile(
    rf"""^[ \t\f\v]*{_MARK}(?:(?P<next>include_next)|include|import|embed)\b{_GAP}
       (?:"(?P<quoted>[^"\n]*)"|<(?P<angled>[^>\n]*)>|(?P<macro>\w))
      |\b__has_(?:include|embed)(?P<after>_next)?{_GAP}\({_GAP}
       (?:"(?P<asked>[^"\n]*)"|<(?P<asked_angled>[^>\n]*)>|(?P<asked_macro>\w))""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


def included_names(text: str) -> list:
    """Returns (name, quoted) for each header that a text includes or tests with __has_include.

    The name is "" if an #include depends on the preprocessor (a macro, #include_next).
    """
    plain = _PLAIN.findall(text)
    unusual = ("/*", "\\", "??", 'R"')
    if len(plain) == len(_WORD.findall(text)) and not any(sign in text for sign in unusual):
        return [(quoted or angled, bool(quoted)) for quoted, angled in plain]
    found = []
    for match in _DIRECTIVE.finditer(_without_comments(text)):
        kinds = match.groupdict()
        if kinds["next"] or kinds["after"] or kinds["macro"] or kinds["asked_macro"]:
            found.append(("", False))
        else:
            quoted = kinds["quoted"] or kinds["asked"]
            found.append((quoted or kinds["angled"] or kinds["asked_angled"] or "", bool(quoted)))
    return found


def _without_comments(text):
    """Prepares a text for the search of directives: joins continued lines, and blanks comments and multi-line
    strings."""
    for trigraph, sign in _TRIGRAPHS.items():
        text = text.replace(trigraph, sign)
    text = _SPLICE.sub("", text)
    return _COMMENT_OR_NOT.sub(_replace_comment, text)


def _replace_comment(match):
    if match[0].startswith("/"):
        return " "
    return match[0] if match[1] is None else '""'


def find_header(name: str, folders) -> str | None:
    """Returns the path of a file in the first of these folders that has the file, or None.

    Raises CompileError for a pipe or a device, because reading a pipe or device could block.
    """
    for folder in folders:
        path = os.path.join(folder, name)
        try:
            mode = os.stat(path).st_mode
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(mode):
            return path
        if not stat.S_ISDIR(mode):
            raise CompileError(
                f'error: the header "{name}" is {files.kind_of_file(mode)}, not a file: {path}'
            )
    return None


class SearchFolders:
    """The folders in which NVRTC searches the headers that a source includes directly."""

    def __init__(self, source, toolkit_directories):
        self.memory = frozenset(name for name, _ in source.headers)
        self._beside = os.path.dirname(source.name)
        self._users = [*user_include_directories(source.options), *config.INCLUDE_PATH]
        self._toolkit = toolkit_directories

    def is_toolkit_header(self, name, quoted) -> bool:
        """Returns whether an #include of this name refers to a header of the toolkit."""
        before = [self._beside, *self._users] if quoted else self._users
        if find_header(name, [folder for folder in before if folder not in self._toolkit]):
            return False
        return find_header(name, self._toolkit) is not None


class Closure:
    """The transitive includes of a source. `included_files` is part of the cache key. None: they cannot be
    determined."""

    def __init__(self, source, toolkit_directories, forced=()):
        self._parts = []
        self._is_complete = True
        self._memory = dict(source.headers)
        self._directories = [*user_include_directories(source.options), *config.INCLUDE_PATH]
        self._toolkit = toolkit_directories  # function that returns the directories; called at the first search on disk
        self._seen = set()
        before = "".join(f'#include "{name}"\n' for name in forced)
        self._scan_includes(before + source.text, os.path.dirname(source.name))
        for text in self._memory.values():
            self._scan_includes(text, None)

    @property
    def included_files(self):
        return self._parts if self._is_complete else None

    def _scan_includes(self, text, directory):
        for name, quoted in included_names(text):
            near = directory if quoted else None
            if not name:
                self._is_complete = False
            elif name in self._memory:  # a file in the folder of the including file has priority
                if near is not None and find_header(name, [near]):
                    self._follow_include(name, near)
            elif not _is_numbalite_header(name):
                self._follow_include(name, near)
            elif not name.startswith("numbalite") and self._is_user_header(name, near):
                self._follow_include(name, near)

    def _follow_include(self, name, directory):
        path = self._find_included_header(name, directory)
        if path is None:
            self._parts.append((name, "missing"))
            return
        folder, own_name = os.path.split(path)
        # Canonical path, to detect repeated includes such as x/../x/a.h
        place = os.path.realpath(folder), own_name
        if place in self._seen:
            return
        self._seen.add(place)
        if path.startswith(self._toolkit_prefixes):
            status = os.stat(path)
            self._parts.append((path, status.st_size, status.st_mtime_ns))
            return
        raw = files.read_bytes(path)
        self._parts.append((name, raw))
        self._scan_includes(raw.decode("utf-8", "replace"), folder)

    def _is_user_header(self, name, directory):
        """Returns whether the user has a file with the name of a standard header."""
        near = [] if directory is None else [directory]
        return find_header(name, [*near, *self._directories]) is not None

    @property
    def _toolkit_prefixes(self):
        if callable(self._toolkit):
            self._toolkit = self._toolkit()
        return tuple(folder + "/" for folder in self._toolkit)

    def _find_included_header(self, name, directory):
        near = [] if directory is None else [directory]
        return find_header(name, [*near, *self._directories]) or find_header(
            name, self._toolkit_prefixes
        )


_own_names = None


def _is_numbalite_header(name):
    """Returns whether the header is part of numbalite; the key always contains all of numbalite's headers."""
    global _own_names
    if name.startswith("numbalite"):
        return name == "numbalite.cuh" or name.startswith("numbalite/")
    if _own_names is None:
        _own_names = frozenset([*os.listdir(f"{cuda_src()}/std"), "host/function.h"])
    return name in _own_names


def include_closure(source, toolkit_directories):
    """Returns a list that identifies all headers that `source` includes, except numbalite's. The returned
    list is part of the cache key.

    Returns None if the headers cannot be determined (an #include of a macro, options in a file): such a
    source is not cached. `toolkit_directories` is called only if a header of the toolkit is included.
    """
    forced = []
    for option in source.options:
        if option.startswith(("--options-file", "-optf", "@")):
            return None
        if option.startswith(("--pre-include", "-include")):
            forced.append(option.partition("=")[2])
    if not source.headers and not forced and not config.INCLUDE_PATH:
        found = included_names(source.text)
        if not found:
            return []
        if all(name.startswith("numbalite") and _is_numbalite_header(name) for name, _ in found):
            return []  # the usual case
    return Closure(source, toolkit_directories, forced).included_files


def included_texts(source) -> list:
    """Returns the texts of the user's headers that `source` includes."""
    parts = Closure(source, toolkit.include_directories).included_files or ()
    read = [part[1] for part in parts if isinstance(part[1], bytes)]
    return [*dict(source.headers).values(), *(raw.decode("utf-8", "replace") for raw in read)]
