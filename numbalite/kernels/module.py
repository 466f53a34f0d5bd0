"""A module is a complete translation unit (``cuda.module``) with its kernels and variables.

A module is one Source, compiled with all kernels that are not templates. A template instance is compiled when
it is requested: together with the other kernels as long as the module is not loaded, alone afterwards. An
instance compiled alone would have its own copies of the variables. An instance that may use a __constant__ or
__device__ variable is therefore compiled together with all other kernels, and the contents of the variables
are copied. The second compilation raises RuntimeError while arrays over the old variables exist.
"""

from __future__ import annotations

import gc
import os
import re
from _thread import RLock
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from numbalite import frontend, types
from numbalite.compilers import Source, files
from numbalite.cxx import cooperative, linemap, scanner
from numbalite.errors import CompileError, SignatureError
from numbalite.kernels import builder
from numbalite.kernels.dispatcher import Dispatcher, ExtendedDispatcher
from numbalite.kernels.fault import VARIABLE
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.options import Options
from numbalite.kernels.targets import current_device, target_of
from numbalite.runtime import devices
from numbalite.types import describe, parameters


class Module:
    """A compiled source: kernels are attributes or items, by name expression; get_global returns
    variables."""

    def __init__(
        self,
        text: linemap.Text,
        options: Options,
        names: Iterable[str] = (),
        label: str = "module",
        only: bool | None = None,
        before: linemap.Text | None = None,
        refused: Any = (),
        left_out: tuple = (),
    ) -> None:
        """``before`` is a Text to compile before the source. ``refused`` maps names of the Python scope that
        cannot be captured to the reason. ``left_out`` is the host code that was removed from the source."""
        self.left_out = left_out
        self._text = text
        self._options = options
        self._label = label
        self._before = before
        self._refused = dict(refused)
        kernels, variables = scanner.scan_source(text.value)
        for piece in options.link:
            variables += scanner.scan_source(piece.value)[1]
        self._kernels = {k.name: k for k in kernels}
        self._variables = {v.name: v for v in variables}
        # ::x would be ambiguous between a placeholder and a variable in an unnamed namespace.
        # Names of a unit with such a variable are therefore looked up late.
        known = [v for v in variables if not v.template and not (v.conditional and v.unnamed)]
        self._keys = {v.name: f"::{v.name}" if v.conditional else v.name for v in known}
        self._names: list[str] = []
        instances: list[str] = []
        for name in names:
            is_variable = (
                self._qualified_name(
                    scanner.base_name(scanner.normalized_expression(name)), self._variables
                )
                is not None
            )
            (instances if is_variable else self._names).append(self._qualified_expression(name))
        self._lock = RLock()
        self._dispatchers: dict[str, Dispatcher] = {}
        _check_void_returns(kernels, text)
        wanted = [k.name for k in kernels if _can_be_named(k)] if only is None else []
        prepended = (*options.link, before) if before else options.link
        self._whole = builder.unit_source(text, prepended)
        self._whole += builder.placeholder_text([v.name for v in known if v.conditional])
        self._images = self._make_images(
            list(dict.fromkeys([*wanted, *self._names])),
            list(dict.fromkeys([*self._keys.values(), *map(self._variable_expression, instances)])),
        )
        self._late: dict[str, Images] = {}  # by expression

    def _make_images(self, kernels, variables):
        source = Source(
            text=self._whole,
            name=builder.generated_path(self._label, self._text.label),
            kernels=tuple(kernels),
            variables=tuple(variables),
            users=tuple(map(builder.line_range, (self._text, *self._options.link))),
            **self._options.source_fields(),
        )
        return Images(source, self._add_hints)

    def _add_hints(self, problem):
        from numbalite.compilers import hints

        return hints.add_hints(problem, self._label, self._refused, (), self._text)

    # --- kernels

    def __getattr__(self, name: str) -> Dispatcher:
        if "_kernels" not in self.__dict__ or name.startswith("__"):
            raise AttributeError(name)
        found = self._qualified_name(name, self._kernels)
        if found is not None:
            if self._kernels[found].template:
                raise AttributeError(
                    f"{name} is a template: select an instance, such as module[{name + '<float>'!r}]"
                )
            return self[found]
        if overloads := self._overloads(name):
            raise AttributeError(
                f"{name} is overloaded: select one overload, such as module[{overloads[0]!r}]"
            )
        if self._qualified_name(name, self._variables) is not None:
            raise AttributeError(
                f"{name} is a variable: module.get_global({name!r}) is its device array"
            )
        raise AttributeError(f"{self!r} has no kernel {name!r}; it has {self._list_kernels()}")

    def __getitem__(self, name: str) -> Dispatcher:
        if not isinstance(name, str):
            raise TypeError(f"select a module's kernel by its name, not by {name!r}")
        expression = self._qualified_expression(name)
        kernel = self._dispatchers.get(expression)
        if kernel is None:
            scanned = self._scanned_kernel(expression)
            if scanned is not None and scanned.template and "<" not in expression:
                raise KeyError(
                    f"{name} is a template: select an instance, such as {name + '<float>'!r}"
                )
            if scanned is None and (overloads := self._overloads(expression)):
                raise KeyError(f"{name} is overloaded: select one of {', '.join(overloads)}")
            try:
                if scanned is not None or self._may_contain_kernel(expression):
                    self._include_kernel(expression)
                    scanned = True
            except CompileError:
                if scanned is not None or self._is_name_in_text(expression):
                    raise
            if scanned is None:
                raise KeyError(f"{self!r} has no kernel {name!r}; it has {self._list_kernels()}")
            kind = ExtendedDispatcher if self._options.extensions else Dispatcher
            kernel = kind(ModuleSource(self, expression)).compile_given()
            self._dispatchers[expression] = kernel
        return kernel

    get_function = __getitem__  # as in other libraries

    def _qualified_name(self, name, among):
        """Returns the qualified name for a name without namespaces, or None if the name is missing or
        ambiguous."""
        if name in among:
            return name
        found = [full for full in among if _without_namespaces(full) == name]
        return found[0] if len(found) == 1 else None

    def _overloads(self, name):
        """Returns the list of name expressions of the overloaded kernels with this name."""
        return [full for full in self._kernels if "(" in full and _matches_name(full, name)]

    def _qualified_expression(self, name):
        """Returns the name expression with its namespaces, in its canonical spelling."""
        expression = scanner.normalized_expression(name)
        if known := self._qualified_name(expression, self._kernels):
            return known
        base = scanner.base_name(expression)
        return (self._qualified_name(base, self._kernels) or base) + expression[len(base) :]

    def _scanned_kernel(self, expression):
        base = scanner.base_name(expression)
        found = self._kernels.get(expression)
        return found or self._kernels.get(self._qualified_name(base, self._kernels) or base)

    def _may_contain_kernel(self, name):
        """Returns whether the module may contain a kernel that was not found in the source text, because a
        macro generates it or a header defines it."""
        return "#include" in self._text.value or self._is_name_in_text(name)

    def _is_name_in_text(self, name):
        word = re.escape(scanner.last_name(name))
        texts = (self._text, *self._options.link)
        return any(re.search(rf"\b{word}\b", text.value) for text in texts)

    def _include_kernel(self, expression):
        """Ensures that the images contain the kernel."""
        if expression in self._images.source.kernels or expression in self._late:
            return
        with self._lock:
            known = self._images.source.kernels
            if not self._images.is_loaded:
                images = self._make_images([*known, expression], self._variable_names())
                # Compile first, so that an error in the name expression leaves the module unchanged
                images.image()
                self._images = images
            elif self._may_use_variables(expression):
                self._recompile(expression, kernels=[expression])
            else:
                images = self._make_images([expression], [])
                images.image()
                self._late[expression] = images

    def _may_use_variables(self, expression):
        """Returns whether code that the kernel may use mentions a variable, apart from the variable's
        declaration."""
        if not self._variables:
            return False
        options, text = self._options, self._text.value
        headers = dict(options.headers or {})
        unseen = set(re.findall(r'#\s*include\s*"([^"]*)"', text)) - headers.keys()
        if unseen or options.link or self._before or any(o[:2] == "-I" for o in options.options):
            return True
        kernel = scanner.last_name(expression)
        named = scanner.reachable_names("\n".join([text, *headers.values()]), kernel)
        return any(named.count(name.rpartition("::")[2]) > 1 for name in self._variables)

    def _recompile(self, expression, kernels=(), variables=()):
        """Replaces the loaded image by an image with more kernels, and copies the contents of the
        variables."""
        templates = [v.name for v in self._variables.values() if v.template]
        if templates and self._loaded_kernels():
            self._refuse_late_instance(expression, f"instances of {', '.join(templates)}")
        old, names = self._images, self._variable_names()
        images = self._make_images([*old.source.kernels, *kernels], [*names, *variables])
        images.image()
        with old.lock:
            loaded = {n: m for n, m in old.loaded.items() if m.alive}
            if any(map(self._has_outside_references, loaded.values())):
                raise RuntimeError(
                    f"{self._label}: {expression} may use the variables "
                    f"{', '.join(self._variables)}, and arrays over these variables or graphs with kernels of this module exist already; delete them first, or name the instance in cuda.module(..., names=[{expression!r}])"
                )
            for device, module in loaded.items():
                _copy_variables(old, module, images, device, names)
            self._images = images
            for kernel in self._dispatchers.values():
                kernel._clear()

    def _loaded_kernels(self):
        overloads = (o for d in self._dispatchers.values() for o in d.overloads.values())
        return [kernel for overload in overloads for kernel in overload.loaded]

    def _has_outside_references(self, module):
        """Returns whether anything other than kernels of this module uses a _core.Module."""
        kernels = [k for k in self._loaded_kernels() if k.module is module]
        from numbalite import _core

        captured = any(isinstance(r, _core.CapturedLaunch) for r in gc.get_referrers(*kernels))
        return captured or module.references > 1 + len(kernels)

    def _variable_names(self):
        return [name for name in self._images.source.variables if name != VARIABLE]

    def _images_of(self, expression) -> Images:
        return self._late.get(expression, self._images)

    def _compile(self):
        """Compiles the kernels that were requested so far, and reports errors in the source."""
        self._images.image()
        return self

    # --- variables

    def get_global(self, name: str, dtype: Any = None) -> Any:
        """Returns a __constant__ or __device__ variable, as a device array.

        The variable is that of the current device.

        Parameters
        ----------
        name : str
            The name of the variable.
        dtype : dtype
            A structured dtype for a variable of a class type; the default dtype of
            such a variable is "V<size>".

        Returns
        -------
        DeviceNDArray
            The array over the variable's memory.

        Raises
        ------
        TypeError
            ``dtype`` has another size than the variable's elements.
        """
        found = self._variable_expression(name)
        if found not in self._images.source.variables:
            self._include_variable(found)
        device = current_device()
        image = self._images.image(target_of(device))
        if builder.STAND_IN in image.descriptions[found]:
            raise self._missing_variable(name)
        kind, shape = describe.variable(image.descriptions[found])
        if dtype is not None:
            dtype = np.dtype(dtype)
            if dtype.itemsize != np.dtype(kind).itemsize:
                raise TypeError(
                    f"{name} has elements of {np.dtype(kind).itemsize} bytes, "
                    f"the dtype {dtype} has {dtype.itemsize}"
                )
        module = self._images.module(device)
        return module.variable(image.lowered[found], np.dtype(dtype or kind), tuple(shape))

    def _variable_expression(self, name):
        """Returns the name expression of a variable in the images."""
        if not isinstance(name, str):
            raise TypeError(f"select a module's variable by its name, not by {name!r}")
        expression = scanner.normalized_expression(name)
        base = scanner.base_name(expression)
        found = self._qualified_name(base, self._variables)
        if found is None:
            listing = ", ".join(self._variables) or "none"
            raise KeyError(f"{self!r} has no variable {name!r}; its variables: {listing}")
        if self._variables[found].template and base == expression:
            raise KeyError(
                f"{name} is a template: select an instance, such as {name + '<float>'!r}"
            )
        return self._keys.get(found) or found + expression[len(base) :]

    def _include_variable(self, expression):
        """Ensures that the images contain the template instance."""
        with self._lock:
            if self._loaded_kernels():
                self._refuse_late_instance(expression, expression)
            try:
                self._recompile(expression, variables=[expression])
            except CompileError:
                variable = self._variables.get(expression)
                if variable is None or not variable.conditional:
                    raise
                raise self._missing_variable(expression) from None

    def _missing_variable(self, name):
        return KeyError(f"{self!r} has no variable {name!r}: the condition of its #if is false")

    def _refuse_late_instance(self, expression, lost):
        raise RuntimeError(
            f"{self._label}: {expression} is requested after the first launch, and the values that kernels have "
            f"written to {lost} would be lost: name the instance in cuda.module(..., names=[{expression!r}])"
        )

    # --- other members

    def inspect_source(self) -> str:
        """Returns the CUDA C++ source."""
        return self._whole

    def inspect_asm(self) -> str:
        """Returns the PTX."""
        from numbalite.kernels import inspection

        return inspection.ptx_text(self._images)

    def inspect_sass(self) -> str:
        """Returns the disassembled machine code; requires nvdisasm or cuobjdump."""
        from numbalite.kernels import inspection

        return inspection.sass_text(self._images)

    def _list_kernels(self):
        shown = [f"{n}<...>" if k.template else n for n, k in self._kernels.items()]
        return (
            ", ".join(shown)
            or 'no kernels (if the source is a file: Path("k.cu"); else name them with names=)'
        )

    def __dir__(self) -> list[str]:
        plain = [scanner.last_name(n) for n, k in self._kernels.items() if not k.template]
        return sorted({*super().__dir__(), *plain})

    def __iter__(self) -> Iterator[str]:
        return iter(self._images.source.kernels)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (
            self._qualified_name(scanner.normalized_expression(name), self._kernels) is not None
            or name in self._images.source.kernels
        )

    def __repr__(self) -> str:
        return f"<CUDA module {self._label}: {self._list_kernels()}>"

    _repr_html_ = frontend.html_method("module")

    def __reduce__(self) -> tuple:
        instances = [name for name in self._variable_names() if "<" in name]
        names = [*self._images.source.kernels, *self._late, *instances]
        before = tuple(self._before) if self._before else None
        return _unpickle, (tuple(self._text), self._options, names, self._label, before)


def device_code(text: linemap.Text, options: Options, names: Iterable[str]) -> tuple:
    """Returns (text, options, removed code) of a file of a CUDA project, with its host code removed."""
    from numbalite.kernels import project

    folder = os.path.dirname(os.path.abspath(text.label))
    known = [name for name, _ in options.headers]
    found = project.device_code(text, folder, options.options, names, known)
    options = options.replace(headers=(*options.headers, *found.headers))
    return found.text, options, found.left_out


def _copy_variables(old, module, images, device, names):
    """Loads new images on a device, and copies the contents of the variables from a module of the old
    images."""
    with devices.gpus[device]:
        target = target_of(device)
        was, now = old.image(target).lowered, images.image(target).lowered
        fresh = images.module(device)
        devices.synchronize()
        for name in names:
            value = module.variable(was[name], np.uint8, None)
            fresh.variable(now[name], np.uint8, None).copy_to_device(value)
        devices.synchronize()


def _unpickle(text, options, names, label, before=None):
    before = linemap.Text(*before) if before else None
    return Module(linemap.Text(*text), options, names, label, only=True, before=before)


def _without_namespaces(expression):
    base = scanner.base_name(expression)
    return expression[base.rfind("::") + 2 :] if "::" in base else expression


def _matches_name(overload, name):
    base = scanner.base_name(overload)
    return name in (base, base.rpartition("::")[2])


def _check_void_returns(kernels, text):
    for kernel in kernels:
        if not kernel.returns_void:
            raise TypeError(
                f"CUDA kernel must have void return type. (line {text.lines[kernel.line]})"
            )


def _can_be_named(kernel):
    """Returns whether a kernel's name alone identifies the kernel, without the source."""
    return not (kernel.template or kernel.conditional or _has_types_of_namespace(kernel.name))


def _has_types_of_namespace(expression):
    """Returns whether the types of an overload may be undefined outside of its namespace."""
    return "(" in expression and "::" in scanner.base_name(expression)


class ModuleSource:
    """The source of a kernel in a module. The source declares the types, so there is only one kernel.

    rows: the parameters at the time of pickling; the parameters are read again when the source is compiled.
    """

    is_typed = True
    defaults = ()

    def __init__(self, module: Module, expression: str, rows: list | None = None) -> None:
        self.module = module
        self.expression = expression
        self.options = module._options
        scanned = module._scanned_kernel(expression)
        self._scanned_names = scanned.parameters if scanned else None
        self.name = expression
        self.qualname = expression
        self.module_name = "__main__"
        self.doc = None
        declared = self.options.cooperative
        if declared is None:
            declared = cooperative.waits_for_grid(module._text.value, expression)
        self.cooperative = declared
        self._is_compiled = rows is None
        if rows is None:
            rows = self._parameter_rows(module._images_of(expression).image())
        self.rows = rows
        self.parameter_names = [row.name for row in self.rows]
        self.args = tuple(parameters.type_of_row(row) for row in self.rows)

    def find_name(self, name: str) -> None:
        return None

    def _parameter_rows(self, image):
        """Returns the list of Parameters: types from the compiled code, names from the text."""
        rows = describe.parameters(image.descriptions[self.expression])
        names = self._scanned_names
        if names is None or len(names) != len(rows):
            names = ("",) * len(rows)
        return [row.named(n or f"arg{i}") for i, (row, n) in enumerate(zip(rows, names))]

    def _current_rows(self, image):
        """Returns the Parameters of an unpickled kernel."""
        rows = self._parameter_rows(image)
        if [row.ctype for row in rows] != [row.ctype for row in self.rows]:
            listed = [", ".join(row.ctype for row in each) for each in (rows, self.rows)]
            raise TypeError(
                f"{self.name} was pickled with the parameters ({listed[1]}); compiled here, it has "
                f"({listed[0]})"
            )
        return rows

    def kernel(self, args: tuple) -> Kernel:
        module, expression = self.module, self.expression
        return Kernel(
            # A function, because a module with more kernels has other images
            lambda: module._images_of(expression),
            expression, self.name, self.rows if self._is_compiled else self._current_rows,
            self.options.replace(cooperative=self.cooperative), types.Signature(types.void, args),
            [module._text.label],
        )  # fmt: skip

    def __reduce__(self) -> tuple:
        return ModuleSource, (self.module, self.expression, self.rows)


UnitKernel = ModuleSource  # the name of the class in pickles of earlier versions


def check_signature(kernel: Dispatcher, signature: types.Signature) -> None:
    """Raises an error if a signature passed with a source does not match the source."""
    rows = kernel._source.rows
    if signature.return_type not in (None, types.void):
        raise TypeError("CUDA kernel must have void return type.")
    declared = [parameters.parameter_row(t, row.name) for t, row in zip(signature.args, rows)]
    fits = len(signature.args) == len(rows) and all(
        want.dtype == have.dtype
        and (have.kind == want.kind or (want.kind, have.kind) == ("array", "pointer"))
        and (have.kind != "array" or want.ndim == have.ndim)
        for want, have in zip(declared, rows)
    )
    if not fits:
        listed = ", ".join(f"{row.ctype} {row.name}" for row in rows)
        raise SignatureError(
            f"the signature {signature} does not fit the source: {kernel.__name__}({listed})"
        )


def only_kernel(text: linemap.Text) -> str:
    """Returns the name of the source's only kernel that is not a template."""
    kernels, _ = scanner.scan_source(text.value)
    if not kernels:
        raise CompileError(
            f"{text.label}: no kernel (a function with __global__) was found in the source",
            source=text.value,
        )
    if len(kernels) > 1:
        listed = ", ".join(k.name for k in kernels)
        raise TypeError(f"the source has several kernels; select one with name=: {listed}")
    if kernels[0].template:
        name = kernels[0].name
        raise TypeError(f"{name} is a template; select an instance: name={name + '<float>'!r}")
    return kernels[0].name


_FILE_NAME = re.compile(r"[^\n;{}()<>\"]+\.(cu|cuh|cpp|cxx|hpp|hxx|ptx|cubin|fatbin)\s*")
"""A line that is not a declaration and ends like a file name."""


def source_text(code: Any, name: str, frame: Any) -> linemap.Text:
    """Returns the Text of a source given as a string, or as the path of a file."""
    if isinstance(code, os.PathLike):
        path = os.fspath(code)
        return linemap.consecutive_text(files.read_text(path), path)
    if not isinstance(code, str):
        raise TypeError(f"a source is a string (or the path of a file), not {type(code).__name__}")
    if _FILE_NAME.fullmatch(code):
        file = code.strip()
        raise ValueError(
            f"{file!r} is a file name, not a source: pass pathlib.Path({file!r}) to read the file"
        )
    return linemap.source_text(code, name, frame)
