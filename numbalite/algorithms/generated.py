"""Generates kernels from a template of cuda_src and a user's function, for given types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite import types
from numbalite.compilers import templates
from numbalite.kernels.builder import SourceBuilder
from numbalite.kernels.images import Images
from numbalite.kernels.kernel import Kernel
from numbalite.kernels.results import error_explainer, result_types
from numbalite.kernels.targets import current_device, target_of
from numbalite.types.describe import Parameter
from numbalite.ufuncs import element
from numbalite.ufuncs.reduceloops import LoopKernel

if TYPE_CHECKING:
    from typing import Any


def pointer_type(name: str, const: bool = False) -> Parameter:
    """Returns the C++ type of a parameter that is the address of an array."""
    ctype = "const void*" if const else "void*"
    return Parameter(name, "pointer", ctype, "", 1, 8, 8, 0, "", const)


def count_type(name: str) -> Parameter:
    """Returns the C++ type of a parameter that is a number of elements."""
    return Parameter(name, "scalar", "unsigned long long", "uint64", 8, 8, 8, 0, "", False)


def result_dtype(function: Any, dtype: np.dtype) -> np.dtype:
    """Returns the dtype that a user's function returns for an element of this dtype."""
    found = result_types(function, (types.from_dtype(dtype),), target_of(current_device()))
    if len(found) != 1:
        raise TypeError(f"{function.name} returns {len(found)} values of a {dtype}, not one")
    return found[0].dtype


class Generated:
    """The kernels of one template for one function and element type, compiled together."""

    def __init__(
        self,
        function: Any,
        options: Any,
        dtype: np.dtype,
        arguments: str,
        template: str,
        header: str,
        kernels: dict[str, list[Parameter]],
        words: dict[str, Any],
    ) -> None:
        """``arguments``: of the call, "a, b". ``words`` are the template's placeholders besides T and call; a
        dtype is replaced by its C++ type."""
        of_element = types.from_dtype(dtype)
        builder = SourceBuilder(
            f"{function.name}_{template}", f"{function.name}: {template} {dtype}"
        )
        given = {"T": of_element}
        for word, value in words.items():
            given[word] = types.from_dtype(value) if isinstance(value, np.dtype) else value
        builder.add_types(*(t for t in given.values() if isinstance(t, types.Type)))
        builder.ahead.append(f'#include "numbalite/{header}.cuh"\n')
        called = function.of((of_element,) * (arguments.count(",") + 1))
        namespace = builder.add_function(called)
        spelled = {
            word: t.cxx if isinstance(t, types.Type) else str(t) for word, t in given.items()
        }
        builder.write_generated(
            templates.fill_template(
                template, call=element.call_text(called, namespace, arguments), **spelled
            )
        )
        source = builder.source(called.definition, options, [*kernels], suffix=f"_{template}")
        images = Images(source, error_explainer(called, f"{function.name}({dtype})"))
        label = function.definition.text.label
        self.kernels = {
            name: LoopKernel(
                Kernel(images, name, function.name, rows, options, labels=(label,)),
                tuple(row.name for row in rows),
            )
            for name, rows in kernels.items()
        }

    def __getitem__(self, name: str) -> Any:
        return self.kernels[name]
