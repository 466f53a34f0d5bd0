"""Provides CUB, Thrust, libcu++ and cuRAND for the simulator: the toolkit's headers, with translated inline
PTX. cuda_src/sim/include contains the parts of libcu++ and cuRAND that most sources use; they compile ten
times faster. The toolkit's headers are used with CUB, with Thrust, for libcu++ headers that
cuda_src/sim/include lacks, and for sources that do not compile with numbalite's headers.

Headers with asm statements are translated once (sim/ptx.py) and stored in the cache directory, which precedes
the toolkit's folder in the search path. libcu++ sees a compiler that looks like NVRTC; cuda_src/sim/cccl
contains the necessary differences. Without the toolkit, the headers in cuda_src/sim/include report errors.
"""

from __future__ import annotations

import os
import re

from numbalite.compilers import cache, files, headers, toolkit
from numbalite.compilers.folders import create_folder, find_folder, is_undamaged
from numbalite.compilers.sim import translation
from numbalite.cxx import scanner

_INCLUDES = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"]((cub|thrust|cuda)/[^>\"\n]+)", re.MULTILINE
)
_PROBE = "cub/block/block_reduce.cuh"
_PROBE_OF_CURAND = "curand_kernel.h"
_ASM = re.compile(r"\basm\b|\b__asm")
_PARTS = ("cub/thread", "cub/warp", "cub/block", "cub/detail", "cuda")
# Matches a class that refers to an instance of a template by the template's name, which g++ rejects.
_SAME_NAME = re.compile(r"\b(using (\w+)\s*=\s*(?:typename )?)(?=\2<)")
_OFFSET = "!(&(((type*) 0)->member))"  # an expression that clang++ does not accept as a constant
_LARGEST = 400_000  # maximum characters of a header: larger headers, tables of cuda::ptx, are replaced by empty files

_kept: dict[
    str, str | None
] = {}  # the toolkit's folder, or cuRAND's header -> result of _translated_folder


def root_of_toolkit(probe: str = _PROBE) -> str | None:
    """Returns the toolkit's folder that contains the header (by default CUB's), or None."""
    path = headers.find_header(probe, toolkit.include_directories())
    return path and path[: -len(probe) - 1]


def search_folders(texts, all_of_it: bool = False) -> list:
    """Returns the include folders that texts need, or [] if the texts need no such headers, or if the folders
    are not available.

    all_of_it: use the toolkit's headers also in place of numbalite's part of libcu++.
    """
    if not any(_header_needs_translation(text, all_of_it) for text in texts):
        return []
    root = root_of_toolkit()
    if root is None:
        return []
    if root not in _kept:
        _kept[root] = _translated_folder(root, _headers_with_changes(root))
    own = os.path.join(headers.cuda_src(), "sim", "cccl")
    return [own, _kept[root], root] if _kept[root] else []


def search_curand() -> tuple:
    """Returns the include folders of cuRAND: (folders to search before numbalite's, folders after), or () if
    cuRAND is missing."""
    root, libcuxx = root_of_toolkit(_PROBE_OF_CURAND), root_of_toolkit()
    if root is None or libcuxx is None:
        return ()
    place = os.path.join(root, _PROBE_OF_CURAND)
    if place not in _kept:
        paths = [os.path.join(root, name) for name in os.listdir(root) if name.startswith("curand")]
        _kept[place] = _translated_folder(root, filter(_changed_text, paths))
    return ([_kept[place]], [root, libcuxx]) if _kept[place] else ()


def _header_needs_translation(text, all_of_it):
    ours = os.path.join(headers.cuda_src(), "sim", "include")
    return any(
        all_of_it or folder != "cuda" or not os.path.isfile(os.path.join(ours, name))
        for name, folder in _INCLUDES.findall(text)
    )


def _translated_folder(root, paths):
    """Returns the folder with the translated headers, created if necessary, or None if the folder cannot be
    created."""
    parent = cache.usable_directory()
    if parent is None:
        return None
    found = sorted(paths)
    stats = [os.stat(path) for path in (*found, *_translator_paths(), __file__)]
    stamps = [(status.st_size, status.st_mtime_ns) for status in stats]
    folder = os.path.join(parent, f"{cache.PRELUDE}{cache.hash_values(found, stamps).hex()}")
    if kept := find_folder(folder, "made"):
        return kept

    def write_headers(working):
        for path in found:
            target = os.path.join(working, os.path.relpath(path, root))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "w", encoding="utf-8") as file:
                file.write(_translate_text(files.read_text(path, "replace")))
        with open(os.path.join(working, "made"), "w", encoding="utf-8") as file:
            file.write(root)
        return True

    create_folder(folder, write_headers)
    return find_folder(folder, "made")


def forget_damaged_headers() -> bool:
    """Returns whether translated headers or the headers that NVRTC contains are damaged, and forgets damaged
    headers, so that the next search creates them again."""
    if toolkit.forget_damaged_headers():
        _kept.clear()  # the cached headers may be translations of the damaged headers
        return True
    damaged = [
        place
        for place, folder in _kept.items()
        if folder is not None and not is_undamaged(folder, "made")
    ]
    for place in damaged:
        del _kept[place]
    return bool(damaged)


def _translator_paths():
    """Returns the sorted paths of the files that determine the translation of a header: all of sim/, and the
    tokenizer."""
    packages = [os.path.dirname(module.__file__) for module in (translation, scanner)]
    paths = [os.path.join(package, name) for package in packages for name in os.listdir(package)]
    return sorted(path for path in paths if path.endswith(".py"))


def _translate_text(text):
    if _ASM.search(text):
        text = translation.translate_source(text) if len(text) < _LARGEST else "#pragma once\n"
        text = text.replace("NUMBALITE_SIM_ASM(", "NUMBALITE_SIM_ASM_LATER(")
    text = _SAME_NAME.sub(r"\1cub::", text)
    return text.replace(_OFFSET, "!__builtin_offsetof(type, member)")


def _headers_with_changes(root):
    places = [(os.path.join(root, "cub"), False)]
    places += [(os.path.join(root, part), True) for part in _PARTS]
    for place, is_deep in places:
        for where, below, names in os.walk(place):
            if not is_deep:
                below.clear()
            for name in names:
                path = os.path.join(where, name)
                if _changed_text(path):
                    yield path


def _changed_text(path):
    text = files.read_text(path, "replace")
    return _ASM.search(text) or _SAME_NAME.search(text)
