"""Implements the finder, which returns numbalite's modules for imports of numba's, minpy's and skcuda's
modules."""

from __future__ import annotations

import importlib
import importlib.util
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TYPE_CHECKING

from numbalite.numba import names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec


class Finder(MetaPathFinder):
    """The finder is the first in sys.meta_path and handles `numba`, `minpy`, `skcuda` and all their
    submodules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        root = fullname.partition(".")[0]
        if root == "minpy":
            return importlib.util.spec_from_loader(
                fullname, _MinpyLoader(fullname), is_package=True
            )
        if fullname == "skcuda":
            return importlib.util.spec_from_loader(fullname, _SkcudaLoader(), is_package=True)
        if fullname == "skcuda.cufft":
            return importlib.util.spec_from_loader(fullname, _AliasLoader("numbalite.numba.cufft"))
        if root == "skcuda":
            raise ModuleNotFoundError(f"{fullname}: of skcuda, numbalite has skcuda.cufft")
        if root != "numba":
            return _check_missing_name(fullname, path)
        if fullname in names.MODULES:
            return importlib.util.spec_from_loader(
                fullname, _AliasLoader(names.MODULES[fullname]), is_package=True
            )
        if fullname in names.FOLDERS:
            return importlib.util.spec_from_loader(fullname, _FolderLoader(), is_package=True)
        # Without name=, "from numba import x" raises this error instead of Python's own.
        raise ModuleNotFoundError(names.missing_module(fullname))


def _check_missing_name(fullname, path):
    """Returns None, or raises ModuleNotFoundError if numbalite's module of this numba name lacks the name:
    "from numba.types import x" tries to import numbalite.types.x last."""
    outer, _, name = fullname.rpartition(".")
    numbas = names.NUMBAS.get(outer)
    if numbas is None or PathFinder.find_spec(fullname, path) is not None:
        return None
    raise ModuleNotFoundError(names.missing_name(numbas, name))


class _AliasLoader(Loader):
    """Returns a module of numbalite unchanged."""

    def __init__(self, ours: str) -> None:
        self._ours = ours

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._module = importlib.import_module(self._ours)
        self._spec = self._module.__spec__
        if not hasattr(
            self._module, "__path__"
        ):  # numba's module has submodules, or might have submodules
            self._module.__path__ = []
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has set __spec__ to the spec of numba's name


class _MinpyLoader(Loader):
    """Returns a module of numbalite.autograd.minpy."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        from numbalite.autograd import minpy

        found = minpy.MODULES.get(self._name)
        if found is None:
            raise ModuleNotFoundError(
                f"{self._name}: of minpy, numbalite has {', '.join(sorted(minpy.MODULES))}"
            )
        module = ModuleType(self._name)
        module.__path__ = []
        vars(module)["__getattr__"] = lambda name: getattr(found, name)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


class _SkcudaLoader(Loader):
    """Makes the package skcuda."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        pass


class _FolderLoader(Loader):
    """Creates a package that only contains other modules."""

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def __getattr__(name: str) -> ModuleType:
            below = f"{module.__name__}.{name}"
            if below in names.MODULES or below in names.FOLDERS:
                return importlib.import_module(below)
            raise AttributeError(names.missing_name(module.__name__, name))

        vars(module)["__getattr__"] = __getattr__
