"""Computes jvp and vjp of generalized ufuncs, by dual numbers.

As for ufuncs (derivatives.py), the text of the function is compiled with dual numbers instead of float and double.

jvp: a value and its derivative have the memory layout of a complex number. The jvp is therefore a generalized
ufunc of complex arrays with the same layout, whose real parts are values and whose imaginary parts are
tangents.

vjp: if all floating-point operands have core dimensions of fixed sizes, as in (3),(3)->(3), a generalized ufunc computes
all gradients in one pass, with one direction for each element of the inputs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from numbalite import _core, types
from numbalite.cxx import capture, linemap
from numbalite.cxx.definition import Definition
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.ndarray.arrays import device_array

from . import element, operands
from .derivatives import check_source_text, is_floating
from .gusignature import CoreLayout

MAX_DIRECTIONS = 64
"""The number of floating-point elements of the inputs of a vjp: each dual has a derivative for each of them."""
_COMPLEX = {types.float32: types.complex64, types.float64: types.complex128}
_INNER = "nl_f"


class GufuncDefinition(NamedTuple):
    """The definition of a generalized ufunc."""

    function: DeviceFunction
    layout: CoreLayout
    written: tuple
    block: Any


class GeneralFamily:
    """A generalized ufunc and its derivatives. ``make`` creates a generalized ufunc of another function, for
    the same target."""

    def __init__(self, ufunc, made, make):
        self.ufunc, self.made, self.make = ufunc, made, make
        self.name = ufunc.__name__
        self._ufuncs = {}
        if made.written or made.block:
            what = "writes its inputs" if made.written else "runs by blocks of threads"
            raise TypeError(f"{self.name} {what}: it has no derivatives")

    def element_types(self, dtypes) -> tuple:
        """Returns the element types of all operands as a tuple, for inputs of these dtypes."""
        layout = self.made.layout
        if len(dtypes) != layout.nin:
            raise TypeError(f"{self.name} has {layout.nin} inputs, not {len(dtypes)}")
        asked = (*dtypes, *(None,) * layout.nout)
        found = tuple(map(types.scalar, self.ufunc.resolve_dtypes(asked)))
        if not any(map(is_floating, found[: layout.nin])) or not all(
            map(is_floating, found[layout.nin :])
        ):
            listed = ", ".join(map(str, found))
            raise TypeError(
                f"{self.name}({listed}) has no derivative: at least one input and all results must be float32 or "
                "float64"
            )
        return found

    # --- jvp

    def jvp(self, primals, tangents):
        if len(primals) != len(tangents):
            raise TypeError(f"{self.name}.jvp: {len(primals)} primals, {len(tangents)} tangents")
        loop = self.element_types(tuple(map(operands.dtype_of_value, primals)))
        joined = [
            _dual_array(x, t, number) for x, t, number in zip(primals, tangents, loop, strict=False)
        ]
        results = self._cached_ufunc(("jvp", loop), lambda: self._jvp_body(loop))(*joined)
        several = results if isinstance(results, tuple) else (results,)
        parts = [tuple(getattr(z, part).copy() for z in several) for part in ("real", "imag")]
        return tuple(p if len(several) > 1 else p[0] for p in parts)

    def _jvp_body(self, loop):
        names = [f"x{i}" for i in range(len(loop))]
        values = [
            f"numbalite::nl_as_duals<numbalite::nl_dual<{t.cxx}, 1>>({name})"
            if is_floating(t)
            else name
            for t, name in zip(loop, names, strict=True)
        ]
        text = f"{_INNER}({', '.join(values)});"
        layout = self.made.layout
        args = self._parameter_types(
            [_COMPLEX.get(t, t) for t in loop], layout.operands, layout.nin
        )
        return self._compiled_gufunc("jvp", names, text, args, str(layout), loop, 1)

    # --- vjp

    def vjp(self, primals, cotangents):
        layout = self.made.layout
        if len(cotangents) != layout.nout:
            raise TypeError(f"{self.name}.vjp: {layout.nout} results, {len(cotangents)} cotangents")
        dtypes = tuple(map(operands.dtype_of_value, primals))
        found = self.gradients(dtypes)(*primals, *cotangents)
        found = found if isinstance(found, tuple) else (found,)
        result: list = [None] * layout.nin
        for i, one in zip(self.differentiated(dtypes), found, strict=True):
            result[i] = one
        return tuple(result)

    def differentiated(self, dtypes) -> tuple:
        """Returns the indices of the inputs for which `gradients` computes gradients."""
        loop = self.element_types(dtypes)[: self.made.layout.nin]
        return tuple(i for i, t in enumerate(loop) if is_floating(t))

    def gradients(self, dtypes):
        """Returns the generalized ufunc that computes the gradients. The inputs of the returned ufunc are
        those of the function and one cotangent per result."""
        loop = self.element_types(dtypes)
        return self._cached_ufunc(("vjp", loop), lambda: self._vjp_body(loop))

    def _vjp_body(self, loop):
        layout = self.made.layout
        nin, by = layout.nin, [i for i, t in enumerate(loop[: layout.nin]) if is_floating(t)]
        shapes = {i: self._fixed_shape(i) for i in (*by, *range(nin, len(loop)))}
        sizes = {i: math.prod(shape) for i, shape in shapes.items()}
        count = sum(sizes[i] for i in by)
        if count > MAX_DIRECTIONS:
            raise TypeError(
                f"{self.name}.vjp: the inputs have {count} elements in {layout}; a vjp supports {MAX_DIRECTIONS}"
            )
        lines, values, first = [], [f"x{i}" for i in range(nin)], {}
        for i in by:
            first[i] = sum(sizes[j] for j in by if j < i)
            dual = f"numbalite::nl_dual<{loop[i].cxx}, {count}>"
            if not layout.operands[i]:
                lines.append(f"const {dual} v{i} = numbalite::nl_seed<{dual}>(x{i}, {first[i]});")
            else:
                lines.append(f"{dual} a{i}[{sizes[i]}];")
                lines.append(f"const auto v{i} = numbalite::nl_seeds(a{i}, x{i}, {first[i]});")
            values[i] = f"v{i}"
        for o in range(nin, len(loop)):
            dual = f"numbalite::nl_dual<{loop[o].cxx}, {count}>"
            shape = ", ".join(map(str, shapes[o])) or "1"
            dims = max(len(shapes[o]), 1)
            lines.append(f"{dual} r{o}[{sizes[o]}];")
            lines.append(f"const numbalite::int64 n{o}[{dims}] = {{{shape}}};")
            values.append(f"numbalite::nl_results(r{o}, n{o})")
        lines.append(f"{_INNER}({', '.join(values)});")
        for i in by:
            dots = " + ".join(
                f"numbalite::nl_dot(g{o}, r{o}, {first[i]} + k)" for o in range(nin, len(loop))
            )
            lines.append(
                f"for (int k = 0; k < {sizes[i]}; ++k) numbalite::nl_element(d{i}, k) = {dots};"
            )
        names = [f"x{i}" for i in range(nin)] + [f"g{o}" for o in range(nin, len(loop))]
        names += [f"d{i}" for i in by]
        cores = [*layout.operands, *(layout.operands[i] for i in by)]
        args = self._parameter_types([*loop, *(loop[i] for i in by)], cores, len(loop))
        shown = [self._core_text(core) for core in cores]
        text = f"{','.join(shown[: len(loop)])}->{','.join(shown[len(loop) :])}"
        return self._compiled_gufunc("vjp", names, "\n".join(lines), args, text, loop, count)

    def _fixed_shape(self, operand):
        """Returns the fixed core shape of an operand."""
        layout = self.made.layout
        found = [layout.dimensions[i] for i in layout.operands[operand]]
        if any(d.size < 0 or d.optional for d in found):
            raise TypeError(
                f"{self.name}.vjp: the layout {layout} lacks fixed sizes, such as (3),(3)->(3): use jvp"
            )
        return tuple(d.size for d in found)

    def _core_text(self, core):
        dimensions = [self.made.layout.dimensions[i] for i in core]
        return "(" + ",".join(d.name + "?" * d.optional for d in dimensions) + ")"

    # --- both

    def _parameter_types(self, numbers, cores, nin):
        """Returns the list of parameter types, in which inputs without core dimensions are numbers."""
        return [
            types.Array(t, max(len(core), 1)) if core or i >= nin else t
            for i, (t, core) in enumerate(zip(numbers, cores, strict=True))
        ]

    def _compiled_gufunc(self, kind, names, text, args, layout, loop, directions):
        inner = self._typed_function(loop)
        check_source_text(inner)
        numbers = f"numbalite::nl_dual<{{}}, {directions}>"
        scope = capture.Scope({_INNER: inner.with_numbers(numbers)})
        name = f"{element.plain_name(self.made.function)}_{kind}"
        definition = Definition(
            name, names, linemap.consecutive_text(text, f"<{name}>"), scope,
            module=self.made.function.__module__,
        )  # fmt: skip
        function = DeviceFunction(definition, (), self.made.function.options)
        return self.make(function, [types.Signature(types.void, args)], layout)

    def _typed_function(self, loop):
        """Returns the function for a loop; a Python body is translated for the loop's types."""
        layout = self.made.layout
        args = [
            t.copy(readonly=True) if t.is_array and i < layout.nin else t
            for i, t in enumerate(self._parameter_types(loop, layout.operands, layout.nin))
        ]
        return self.made.function.of(args)

    def _cached_ufunc(self, key, make):
        if key not in self._ufuncs:
            self._ufuncs[key] = make()
        return self._ufuncs[key]


def _dual_array(x: Any, tangent: Any, t: Any) -> Any:
    """Returns a complex array whose real parts are the values and whose imaginary parts are the tangents;
    returns x itself if x is not a floating-point input."""
    if not is_floating(t):
        if tangent is not None:
            raise TypeError(f"jvp: the tangent of an input of type {t} is None")
        return x
    tangent = 0.0 if tangent is None else tangent
    shape = np.broadcast_shapes(np.shape(x), np.shape(tangent))
    dtype = _COMPLEX[t].dtype
    on_device = any(isinstance(one, _core.DeviceArray) for one in (x, tangent))
    joined: Any = device_array(shape, dtype) if on_device else np.empty(shape, dtype)
    parts = joined.reshape((*shape, 1)).view(t.dtype)
    parts[..., 0] = x
    parts[..., 1] = tangent
    return joined
