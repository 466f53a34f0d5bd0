"""Defines the source of a kernel as the user wrote it. Each Dispatcher has a source object, which creates a
Kernel for each list of argument types. BodySource represents a function whose body is the source text.
ModuleSource (module.py) represents a kernel of a module."""

from __future__ import annotations

from typing import Any

from numbalite import types
from numbalite.cxx.definition import Definition, calls_cooperative, device_texts, unpickle
from numbalite.kernels import translations
from numbalite.kernels.builder import kernel_source
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.options import Options
from numbalite.types import Array, Signature, parameters


class BodySource:
    """The source of a kernel that is a function with a body. Creates one Kernel for each list of argument
    types."""

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
        """Returns the kernel for these argument types, not yet compiled. A Python body whose translation is
        in the disk cache is not translated again."""
        contents = self.definition.kernel_contents(args, self.options)
        key, found = translations.find_translation(contents)
        if found is not None:
            return self._kernel_of_translation(found, args)
        definition, builder, found = self._translate_body(args)
        if not builder.pointers:
            translations.store_translation(key, contents, found, definition.warnings)
        return self._kernel_of_translation(found, args, (definition, builder))

    def _translate_body(self, args):
        """Returns (the Definition in C++, the Builder, the Translated) for these argument types."""
        options = self.options
        definition = self.definition.typed_definition(args, options.debug and not options.fastmath)
        signature = Signature(types.void, self._declared_types(args, definition.read_only))
        builder, expression = kernel_source(
            definition, signature, options.launch_bounds, options.link, bool(options.options)
        )
        source = builder.source(
            definition, options, [expression], is_python=self.definition.is_python
        )
        return definition, builder, translations.Translation(
            source, expression, frozenset(definition.read_only), builder.labels(definition),
            definition.exceptions, definition.variables,
        )  # fmt: skip

    def _declared_types(self, args, read_only):
        """Returns the types of the parameters in C++."""
        return tuple(
            t.copy(readonly=True) if name in read_only else parameters.parameter_kind(t)
            for name, t in zip(self.parameter_names, args, strict=True)
        )

    def _kernel_of_translation(self, found, args, made=None):
        """Returns the Kernel of a Translated; ``made`` contains the Definition and the Builder, if they
        already exist."""
        declared = self._declared_types(args, found.read_only)
        pairs = list(zip(self.parameter_names, declared, strict=True))

        def explain_error(problem):
            from numbalite.compilers import hints

            definition, builder = made or self._translate_body(args)[:2]
            arrays = [(name, t) for name, t in pairs if isinstance(t, Array)]
            others = device_texts(definition)
            return hints.add_hints(
                problem, self.name, builder.refused, arrays, definition.cxx, others
            )

        images = Images(found.source, explain_error, made[1].pointers if made else None)
        kernel = Kernel(
            images, found.expression, self.name, [parameters.parameter_row(t, name) for name, t in pairs],
            self.options.replace(cooperative=self.cooperative), Signature(types.void, args), found.labels,
        )  # fmt: skip
        kernel.is_python, kernel.exceptions = self.definition.is_python, found.exceptions
        kernel.variables = found.variables
        return kernel

    def __reduce__(self) -> tuple:
        return BodySource, (self.definition.frozen_copy(), self.options)


_definition = unpickle  # the name of the function in pickles of earlier versions
