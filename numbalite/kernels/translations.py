"""Implements the disk cache of translated Python bodies: the assembled source for one or more lists of
argument types.

The key is the digest of all values that determine the source (python/cachekey.py), and of numbalite's own
code. A body whose translation is in the cache is not translated again. The compiled image has a separate key
(compilers/__init__.py).
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, NamedTuple

import numpy as np

from numbalite.compilers import Source, cache, file_stamps, package_digest

_PACKAGES = ("cxx", "kernels", "python", "types")
_IN_MEMORY = "ipykernel_"  # names of notebook cells, which contain the process number


class Translation(NamedTuple):
    """The data from which a Kernel is created."""

    source: Source
    expression: str
    read_only: frozenset
    """Array parameters to which the body does not write."""
    labels: tuple
    exceptions: dict
    variables: dict


def find_translation(contents: tuple | None) -> tuple:
    """Returns (key, the object that `store_translation` stored in an earlier process, or None). Also issues the warnings
    that are stored with the translation."""
    key = cache_key(contents)
    found = cache.load_entry(_unpickle, key, cache.TRANSLATION)
    if found is None or contents is None:
        return key, None
    made, warnings = found
    contents[1].issue_warnings(warnings)
    return key, made


def store_translation(key: bytes | None, contents: tuple | None, made: Any, warnings: Any) -> None:
    """Stores a translation and its warnings, (function or None, message), if both can be pickled."""
    if key is None or contents is None:
        return
    try:
        data = pickle.dumps((made, contents[1].number_warnings(warnings)), pickle.HIGHEST_PROTOCOL)
    except Exception:  # for example, a class defined in a function cannot be pickled
        return
    cache.store_bytes(key, data, cache.TRANSLATION)


def cache_key(contents: tuple | None) -> bytes | None:
    """Returns the key in the disk cache, or None if the translation must not be cached."""
    if contents is None or cache.usable_directory() is None:
        return None
    text = repr(contents[0])
    if _IN_MEMORY in text:
        return None
    return cache.hash_values(cache.SCHEMA, "body", text, package_digest(), _translator_version())


def _unpickle(data):
    try:
        return pickle.loads(data)
    except Exception as problem:  # unpickling calls code of other modules, which may raise anything
        raise ValueError("not a translation") from problem


_own = None


def _translator_version():
    """Returns the versions of Python and NumPy, and the names, sizes and dates of the translator's
    files."""
    global _own
    if _own is None:
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        found = sorted(file_stamps(*(f"{package}/{name}" for name in _PACKAGES)))
        _own = cache.hash_values(sys.version, np.__version__, *found)
    return _own
