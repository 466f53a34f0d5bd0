"""The headers of a kernel: numbalite's own, the small standard ones, and what a source includes.

`cuda_src` is the directory of all CUDA C++ that numbalite brings. NVRTC gets numbalite.cuh with its
parts, and the standard headers that it lacks (cuda_src/std), as in-memory headers; everything else
is found on disk in the toolkit's and the user's directories.

The disk cache must know every text that goes into an image. `closure` follows the #include lines of
a source the way the compilers do and gives the contents of the user's files; the toolkit's headers,
which nobody edits, count by size and date of the one that is included.
"""

from __future__ import annotations

import os

from numbalite import config

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_directory = None
_in_memory = None


def cuda_src() -> str:
    """The directory of numbalite's CUDA C++: beside the package in a checkout, in it otherwise."""
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


def _text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def in_memory() -> dict:
    """Name -> text of the headers that NVRTC gets with every source."""
    global _in_memory
    if _in_memory is None:
        root = cuda_src()
        texts = {"numbalite.cuh": _text(f"{root}/numbalite.cuh")}
        for name in sorted(os.listdir(f"{root}/numbalite")):
            if name.endswith((".cuh", ".h")):
                texts[f"numbalite/{name}"] = _text(f"{root}/numbalite/{name}")
        for name in sorted(os.listdir(f"{root}/std")):
            texts[name] = _text(f"{root}/std/{name}")
        _in_memory = texts
    return _in_memory


def user_directories(options) -> list:
    """The include directories among compiler options."""
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


def includes(text: str) -> list:
    """(name, quoted) for each #include of a text; the name is "" where it is a macro.

    Comments are not understood: what they include is looked at for nothing, and that is all.
    """
    found = []
    at = text.find("include")
    while at >= 0:
        start = text.rfind("\n", 0, at) + 1
        if text[start:at].replace(" ", "").replace("\t", "") == "#":
            end = text.find("\n", at)
            rest = text[at + 7 : end if end >= 0 else len(text)].strip()
            if rest[:1] == '"':
                found.append((rest[1:].partition('"')[0], True))
            elif rest[:1] == "<":
                found.append((rest[1:].partition(">")[0], False))
            elif rest[:1].isidentifier():
                found.append(("", False))
        at = text.find("include", at + 7)
    return found


class Places:
    """Where NVRTC finds the headers that a unit includes itself."""

    def __init__(self, unit, toolkit_directories):
        self.memory = frozenset(name for name, _ in unit.headers)
        self._beside = os.path.dirname(unit.name)
        self._users = [*user_directories(unit.options), *config.INCLUDE_PATH]
        self._toolkit = toolkit_directories

    def is_of_toolkit(self, name, quoted) -> bool:
        """Is the file that an #include of this name means one of the toolkit's?"""
        before = [self._beside, *self._users] if quoted else self._users
        if any(f not in self._toolkit and os.path.isfile(os.path.join(f, name)) for f in before):
            return False
        return any(os.path.isfile(os.path.join(folder, name)) for folder in self._toolkit)


class Closure:
    """What a source includes, transitively. `parts` decides the cache key; None: cannot be known."""

    def __init__(self, unit, toolkit_directories, forced=()):
        self.parts = []
        self._memory = dict(unit.headers)
        self._directories = user_directories(unit.options)
        self._toolkit = toolkit_directories  # called when the first header is looked for on disk
        self._seen = set()
        before = "".join(f'#include "{name}"\n' for name in forced)
        self._scan(before + unit.source, os.path.dirname(unit.name))
        for text in self._memory.values():
            self._scan(text, None)

    def _scan(self, text, directory):
        for name, quoted in includes(text):
            if self.parts is None:
                return
            if not name:
                self.parts = None
            elif not _is_own(name) and name not in self._memory:
                self._follow(name, directory if quoted else None)

    def _follow(self, name, directory):
        path = self._find(name, directory)
        if path is None:
            self.parts.append((name, "missing"))
            return
        if path in self._seen:
            return
        self._seen.add(path)
        if path.startswith(self._toolkit_prefixes):
            status = os.stat(path)
            self.parts.append((path, status.st_size, status.st_mtime_ns))
            return
        with open(path, "rb") as file:
            raw = file.read()
        self.parts.append((name, raw))
        self._scan(raw.decode("utf-8", "replace"), os.path.dirname(path))

    @property
    def _toolkit_prefixes(self):
        if callable(self._toolkit):
            self._toolkit = self._toolkit()
        return tuple(folder + "/" for folder in self._toolkit)

    def _find(self, name, directory):
        places = [] if directory is None else [directory]
        places += self._directories
        for place in places:
            path = os.path.join(place, name)
            if os.path.isfile(path):
                return path
        for place in self._toolkit_prefixes:
            if os.path.isfile(place + name):
                return place + name
        return None


_own_names = None


def _is_own(name):
    """Is it a header that numbalite brings? (Their contents are in the key as a whole.)"""
    global _own_names
    if name.startswith("numbalite"):
        return name == "numbalite.cuh" or name.startswith("numbalite/")
    if _own_names is None:
        _own_names = frozenset([*os.listdir(f"{cuda_src()}/std"), "host/function.h"])
    return name in _own_names


def closure(unit, toolkit_directories):
    """All that `unit` includes beside numbalite's own, as a list that a key can be made of.

    None if it cannot be told (an #include of a macro, options in a file): such a unit is not cached.
    `toolkit_directories` is called when it is needed.
    """
    forced = []
    for option in unit.options:
        if option.startswith(("--options-file", "-optf", "@")):
            return None
        if option.startswith(("--pre-include", "-include")):
            forced.append(option.partition("=")[2])
    if not unit.headers and not forced:
        if all(_is_own(name) for name, _ in includes(unit.source)):
            return []  # the usual case
    return Closure(unit, toolkit_directories, forced).parts
