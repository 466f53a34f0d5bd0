"""The source of a kernel as the user wrote it. A Dispatcher has one and asks it for the Kernel of a list of argument
types. BodySource is for functions whose body is the text; ModuleSource, in module.py, for kernels of a module.
"""

from __future__ import annotations

from typing import Any

from numbalite import types
from numbalite.cxx.definition import Definition, calls_cooperative, device_texts, unpickle
from numbalite.kernels import builder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.options import Options
from numbalite.types import Array, Signature, parameters


class BodySource:
    """The source of kernels whose body is given: one is made for each list of argument types."""

    is_typed = False
    module = None

    def __init__(self, definition: Definition, options: Options) -> None:
        self.definition = definition
        self.options = options
        self.name = definition.name
        self.qualname = definition.qualname
        self.module_name = definition.module
        self.doc = definition.doc
        self.parameter_names = definition.parameters
        self.defaults = definition.last_defaults
        declared = options.cooperative
        self.cooperative = declared
        if declared is None:
            self.cooperative = definition.waits_for_grid or calls_cooperative(definition)

    def find_name(self, name: str) -> Any:
        return self.definition.scope.get(name)

    def kernel(self, args: tuple) -> Kernel:
        """The kernel for these argument types, not yet compiled."""
        signature = Signature(types.void, args)
        options = self.options
        definition = self.definition.typed(args, options.debug and not options.fastmath)
        args = tuple(
            t.copy(readonly=True) if name in definition.read_only else parameters.by_reference(t)
            for name, t in zip(self.parameter_names, args, strict=True)
        )
        made, expression = builder.kernel_source(
            definition, Signature(types.void, args), options.launch_bounds, options.link,
            bool(options.options),
        )  # fmt: skip
        arrays = [
            (name, t)
            for name, t in zip(self.parameter_names, args, strict=True)
            if isinstance(t, Array)
        ]

        def explain(problem):
            from numbalite.compilers import hints

            others = device_texts(definition)
            return hints.explain(problem, self.name, made.refused, arrays, definition.cxx, others)

        rows = [parameters.row(t, name) for name, t in zip(self.parameter_names, args, strict=True)]
        is_python = self.definition.is_python
        source = made.source(definition, options, [expression], is_python=is_python)
        images = Images(source, explain, made.pointers)
        kernel = Kernel(
            images, expression, self.name, rows, options.replace(cooperative=self.cooperative),
            signature, made.labels(definition),
        )  # fmt: skip
        kernel.is_python, kernel.exceptions = is_python, definition.exceptions
        kernel.variables = definition.variables
        return kernel

    def __reduce__(self) -> tuple:
        return BodySource, (self.definition.frozen(), self.options)


_definition = unpickle  # its name in pickles of earlier versions
