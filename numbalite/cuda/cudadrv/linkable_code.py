"""Represents code to link with kernels, under numba's names: sources and compiled code."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from numbalite.compilers import files

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "LTOIR",
    "Archive",
    "CUSource",
    "Cubin",
    "Fatbin",
    "LinkableCode",
    "Object",
    "PTXSource",
]


class LinkableCode:
    """Code in memory: `data` is a str, bytes or a file object.

    A CUSource is compiled with the kernel. All other classes are linked by nvJitLink on a GPU, and rejected
    on the simulator. Callbacks on loading and unloading are not called, so passing a callback raises an error.
    """

    default_name = "<unnamed-linkable>"
    suffixes: tuple = ()

    def __init__(
        self,
        data: Any,
        name: str | None = None,
        setup_callback: Any = None,
        teardown_callback: Any = None,
        nrt: bool = False,
    ) -> None:
        if setup_callback is not None or teardown_callback is not None:
            raise NotImplementedError("callbacks of linked code are not called: pass none")
        if nrt:
            raise NotImplementedError("there is no NRT to link")
        self._data = data
        self._name = name

    @property
    def name(self) -> str:
        return self._name or self.default_name

    @property
    def data(self) -> Any:
        if isinstance(self._data, (io.StringIO, io.BytesIO)):
            return self._data.getvalue()
        return self._data

    @classmethod
    def from_path(cls, path: Any) -> Any:
        """Returns the code in a file, as an object of the class for the file's suffix."""
        suffix = os.path.splitext(os.fspath(path))[1][1:]
        for kind in (CUSource, PTXSource, Cubin, Fatbin, Archive, Object, LTOIR):
            if suffix in kind.suffixes:
                return kind(files.read_bytes(path), name=os.path.basename(path))
        raise RuntimeError(f"Don't know how to link file with extension {suffix!r}: {path}")

    @classmethod
    def from_path_or_obj(cls, path_or_obj: Any) -> Any:
        """Returns `from_path(...)` for a path, or the object itself if it is LinkableCode."""
        if isinstance(path_or_obj, LinkableCode):
            return path_or_obj
        return cls.from_path(path_or_obj)


class CUSource(LinkableCode):
    """CUDA C++ source."""

    default_name = "<unnamed-cu>"
    suffixes = ("cu", "cuh", "cpp", "cc", "h")


class PTXSource(LinkableCode):
    """PTX."""

    default_name = "<unnamed-ptx>"
    suffixes = ("ptx",)


class Cubin(LinkableCode):
    """Machine code of one architecture."""

    default_name = "<unnamed-cubin>"
    suffixes = ("cubin",)


class Fatbin(LinkableCode):
    """Machine code of several architectures."""

    default_name = "<unnamed-fatbin>"
    suffixes = ("fatbin",)


class Archive(LinkableCode):
    """An archive of objects."""

    default_name = "<unnamed-archive>"
    suffixes = ("a", "lib")


class Object(LinkableCode):
    """An object file."""

    default_name = "<unnamed-object>"
    suffixes = ("o", "obj")


class LTOIR(LinkableCode):
    """The compiler's intermediate representation."""

    default_name = "<unnamed-ltoir>"
    suffixes = ("ltoir",)
