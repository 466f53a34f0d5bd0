"""Defines the module `numba` of programs that run on numbalite: numbalite's names, and names of numba that
differ."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numbalite
from numbalite.cuda.core import errors
from numbalite.numba import names
from numbalite.numba.decorators import jit_module  # noqa: F401
from numbalite.numba.special import literal_unroll  # noqa: F401
from numbalite.numba.threads import threading_layer  # noqa: F401
from numbalite.python.pointers import carray, farray  # noqa: F401
from numbalite.types import *  # noqa: F403

if TYPE_CHECKING:
    from typing import Any, NoReturn

__version__ = "0.62.1"
"""The numba release that this module represents; only numbers, because programs split the string at dots."""

_VersionInfo = collections.namedtuple(
    "_VersionInfo", "major minor patch short full string tuple git_revision"
)
version_info = _VersionInfo(
    0, 62, 1, (0, 62), (0, 62, 1), __version__, tuple(__version__.split(".")), None
)


def __getattr__(name: str) -> Any:
    if name in names.INSTEAD:
        return _MissingName(name)
    if name in errors.__all__:
        return getattr(errors, name)
    try:
        return getattr(numbalite, name)
    except AttributeError:
        raise AttributeError(names.missing_name("numba", name)) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(numbalite)})


class _MissingName:
    """A name that programs import from numba; it raises an error only when it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def _raise_missing_name(self) -> NoReturn:
        raise NotImplementedError(names.missing_name("numba", self._name))

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        self._raise_missing_name()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self._raise_missing_name()

    def __repr__(self) -> str:
        return f"<{names.missing_name('numba', self._name)}>"
