"""Generates, compiles and loads the loops of the cpu and parallel targets.

One source holds all loops of a list of signatures, each under one name for "cpu" and one for "parallel". One
compilation serves programs that use both targets, because the two versions differ by few instructions. The
functions have the signature with which NumPy calls inner loops; their templates are cuda_src/host/ufunc.h and
gufunc.h.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from numbalite import types
from numbalite.kernels.builder import SourceBuilder
from numbalite.python.problem import messages_for_cpu
from numbalite.types import describe

from ..compilers import compile_source, issue_image_warnings, templates
from ..errors import CompileError, SignatureError
from . import element, gusignature

TARGET = ("host",)
# Texts in a source that indicate an early exit from a loop.
_FAULTS = re.compile(r"\b(?:assert|__trap|NUMBALITE_RAISE|__nl_\w+)\b")


class HostLoop(NamedTuple):
    """A loop that can be added to a ufunc."""

    operands: tuple
    """The Scalar types of inputs and outputs, of elements where the parameters are arrays."""
    module: object
    """The _core.HostModule that it is in."""
    name: str

    @property
    def codes(self) -> bytes:
        """The nl_dtype codes of the operands, one byte each."""
        return codes(self.operands)


def codes(operands) -> bytes:
    """Returns the nl_dtype codes of Scalar types, one byte each."""
    return bytes(describe.DTYPES.index(t.dtype.name) for t in operands)


# --- elementwise -----------------------------------------------------------------------------------------


def ufunc_loops(function, signatures, target, options) -> list:
    """Returns the loops for complete signatures of scalars, as a list of HostLoop.

    Raises CompileError, with the signature, if the function does not accept one of the signatures.
    """
    rows = [(s.args, element.returned_types(s)) for s in signatures]
    module = _load_loops(function, signatures, options, _ufunc_source)
    return [HostLoop((*a, *r), module, _loop_name(i, target)) for i, (a, r) in enumerate(rows)]


def _ufunc_source(function, signatures, options):
    """Returns (the builder of the loops of these signatures, their names)"""
    rows = [(s.args, element.returned_types(s)) for s in signatures]
    builder, names = _source_builder(function)
    calls = []
    for i, signature in enumerate(signatures):
        builder.add_types(*signature.args, *rows[i][1])
        typed = element.typed_function(function, signature)
        calls.append((typed, _add_function(builder, typed)))
    _write_head(builder, "ufunc")
    guarded = _is_interruptible(builder, options)
    for i, (typed, namespace) in enumerate(calls):
        inputs, outputs = rows[i]
        _write_ufunc(builder, i, typed, namespace, inputs, [t.cxx for t in outputs])
        run = _ufunc_run(i, inputs, [t.cxx for t in outputs])
        names += _write_entries(builder, i, run, _UFUNC_ARGUMENTS, guarded)
    return builder, names


def lazy_loop(function, inputs, nout, target, options) -> HostLoop:
    """Returns the loop for inputs of these Scalar types; the compiler deduces the types of its results.

    Raises CompileError if the function does not accept these types, TypeError for a result that no array can
    store.
    """
    function = function.of(inputs)
    builder, names = _source_builder(function)
    builder.add_types(*inputs)
    builder.names.add("tuple")
    namespace = _add_function(builder, function)
    _write_head(builder, "ufunc")
    builder.ahead.append(element.RESULTS)
    values = ", ".join(f"*({t.cxx} *)0" for t in inputs)
    call = element.call_text(function, namespace, values)
    outputs = [f"nl_result_of<nl_all, {i}>" for i in range(nout)]
    builder.write_generated(
        element.results_source(call, [*outputs, f"nl_result_of<nl_all, {nout}>"])
    )
    _write_ufunc(builder, 0, function, namespace, inputs, outputs)
    guarded = _is_interruptible(builder, options)
    run = _ufunc_run(0, inputs, outputs)
    names += _write_entries(builder, 0, run, _UFUNC_ARGUMENTS, guarded)
    source = builder.source(function.definition, options, [*names, "nl_results"], describe=True)
    image = _compile(function, source, inputs)
    issue_image_warnings(image, TARGET, tuple)
    rows = describe.parameters(image.descriptions["nl_results"])
    found = [element.result_type(function, row, inputs) for row in rows[:nout]]
    return HostLoop((*inputs, *found), _load_module(image), _loop_name(0, target))


def _source_builder(function):
    return SourceBuilder(function.name, f"loops of {function!r}"), []


def _add_function(builder, function):
    """Adds the function to the builder and
    returns the function's C++ namespace."""
    with messages_for_cpu():
        return builder.add_function(function)


def _write_head(builder, kind):
    builder.names.add("tuple")
    builder.ahead.append(f'#include "host/{kind}.h"\n')


def _write_ufunc(builder, i, function, namespace, inputs, outputs):
    parameters = ", ".join(f"{t.cxx} a{k}" for k, t in enumerate(inputs))
    values = ", ".join(f"a{k}" for k in range(len(inputs)))
    call = element.call_text(function, namespace, values)
    builder.write_generated(
        templates.fill_template("host_ufunc", loop=i, parameters=parameters, call=call)
    )


_UFUNC_ARGUMENTS = "data, *n, strides"


def _ufunc_run(i, inputs, outputs):
    loop = (
        f"numbalite_host::ufunc<nl_call_{i}, "
        f"numbalite_host::types<{', '.join(t.cxx for t in inputs)}>, "
        f"numbalite_host::types<{', '.join(outputs)}>>"
    )
    return f"run<{loop}"


def _write_entries(builder, i, run, arguments, guarded):
    """Writes the C++ functions of loop i, one for each target, and returns the list of their names. `run`
    lacks its last two parameters: whether the loop is parallel, and whether it is guarded."""
    names = [_loop_name(i, target) for target in ("cpu", "parallel")]
    for name, parallel in zip(names, (False, True), strict=True):
        how = f"{run}, {_cxx_bool(parallel)}, {_cxx_bool(guarded)}>"
        builder.write_generated(
            templates.fill_template("host_loop", name=name, run=how, arguments=arguments)
        )
    return names


def _loop_name(i, target):
    return f"nl_parallel_{i}" if target == "parallel" else f"nl_loop_{i}"


def _cxx_bool(value):
    return "true" if value else "false"


def _is_interruptible(builder, options):
    """Returns whether calls of the code must be interruptible."""
    return bool(
        options.has_checks
        or builder.includes
        or any(_FAULTS.search(piece) for piece in builder.pieces if piece)
    )


# --- generalized ---------------------------------------------------------------------------------------


def gufunc_loops(function, signatures, layout, target, options, writable=()) -> list:
    """Returns the loops for signatures of arrays and scalars that fit a gusignature.CoreLayout, as a list of
    HostLoop.

    ``writable``: the indices of the inputs that the function writes.
    """

    def generate_source(function, signatures, options):
        return _gufunc_source(function, signatures, layout, options, writable)

    module = _load_loops(function, signatures, options, generate_source)
    return [
        HostLoop(tuple(element_type(t) for t in s.args), module, _loop_name(i, target))
        for i, s in enumerate(signatures)
    ]


def _gufunc_source(function, signatures, layout, options, writable):
    builder, names = _source_builder(function)
    calls = []
    for signature in signatures:
        builder.add_types(*signature.args)
        typed = element.typed_function(function, signature)
        calls.append((typed, _add_function(builder, typed)))
    builder.names.add("array")
    _write_head(builder, "gufunc")
    guarded = _is_interruptible(builder, options) or any(
        t.is_array and t.layout != "A" for s in signatures for t in s.args
    )
    for i, (typed, namespace) in enumerate(calls):
        _write_gufunc(builder, i, typed, namespace, signatures[i].args, layout, writable)
        names += _write_entries(builder, i, f"run_gufunc<nl_call_{i}", "data, n, strides", guarded)
    return builder, names


def element_type(t):
    """Returns the Scalar type of an argument or of an array's elements."""
    return t.dtype if t.is_array else t


def _written_operands(args, layout, writable) -> list:
    """Returns a list with one bool per operand: whether the function may write to the operand. Without
    outputs and `writable`, the function may write to all arrays that are not const."""
    if not layout.nout and not writable:
        return [t.is_array and not t.readonly for t in args]
    return [k >= layout.nin or k in writable for k in range(len(args))]


def _write_gufunc(builder, i, function, namespace, args, layout, writable):
    lines, values, at = [], [], 0
    is_written = _written_operands(args, layout, writable)
    for k, (t, places) in enumerate(zip(args, layout.operands, strict=True)):
        if not t.is_array:
            values.append(f"numbalite_host::load(({t.cxx} *)at[{k}])")
            continue
        shape = ", ".join(f"sizes[{p}]" for p in places) or "1"
        strides = ", ".join(f"strides[{at + j}]" for j in range(len(places)))
        written = _cxx_bool(is_written[k])
        lines.append(
            f"numbalite_host::parameter<{t.cxx}, {written}> p{k}(at[{k}], {{{shape}}}, "
            f"{{{strides or f'sizeof({t.dtype.cxx})'}}});\n"
        )
        values.append(f"p{k}.view")
        at += len(places)
    call = element.call_text(function, namespace, ", ".join(values))
    builder.write_generated(
        templates.fill_template(
            "host_gufunc",
            loop=i,
            operands=len(args),
            written=f"{sum(1 << k for k, one in enumerate(is_written) if one):x}",
            views="".join(lines),
            call=call,
        )
    )


def check_layout(name, signature, layout, writable=()) -> None:
    """Raises SignatureError if the types of a signature do not match the core dimensions or the written
    inputs."""
    if len(signature.args) != len(layout.operands):
        raise SignatureError(
            f"{name}: the layout {layout} has {len(layout.operands)} operands, "
            f"the signature {signature} {len(signature.args)}"
        )
    for k, (t, places) in enumerate(zip(signature.args, layout.operands, strict=True)):
        if not isinstance(element_type(t), types.Scalar):
            raise SignatureError(f"{name}: argument #{k + 1} of {signature} is no array of numbers")
        wanted = max(len(places), 1)
        if t.is_array and t.ndim != wanted:
            raise SignatureError(
                f"{name}: argument #{k + 1} of {signature} has {t.ndim} dimensions, the layout "
                f"{layout} gives it {len(places)}"
                + (": that is a number, or an array of one element" if not places else "")
            )
        if not t.is_array and (places or k >= layout.nin):
            where = f"has {len(places)} core dimensions" if places else "is an output"
            raise SignatureError(
                f"{name}: argument #{k + 1} of {signature} {where} in the layout {layout}: "
                f"write {t}[{', '.join(':' * wanted)}]"
            )
        if k >= layout.nin and t.readonly:
            raise SignatureError(
                f"{name}: argument #{k + 1} of {signature} is an output, not const"
            )
        if k in writable and (not t.is_array or t.readonly):
            raise SignatureError(
                f"{name}: argument #{k + 1} of {signature} is in writable_args: write an array, such as "
                f"{element_type(t)}[{', '.join(':' * wanted)}], which is not const"
            )


def parse_layout(name, text):
    """Returns the gusignature.CoreLayout of a text. A SignatureError contains the function's name."""
    try:
        return gusignature.parse_layout(text, may_lack_outputs=True)
    except SignatureError as problem:
        text = f"{name}: {problem}"
    raise SignatureError(text)


# --- both ------------------------------------------------------------------------------------------------


def _load_loops(function, signatures, options, generate):
    """Compiles all loops and returns their loaded module. If compilation fails, the error contains the first
    signature that does not compile alone. generate(function, signatures, options) returns a Builder and the
    names of loops."""

    def loops_source(some):
        builder, names = generate(function, some, options)
        return builder.source(function.definition, options, names)

    alone = [[signature] for signature in signatures] if len(signatures) > 1 else []
    try:
        image = _compile(function, loops_source(signatures), signatures)
    except CompileError:
        for one in alone:
            _compile(function, loops_source(one), one)
        raise
    issue_image_warnings(image, TARGET, lambda: map(loops_source, alone))
    return _load_module(image)


def _load_module(image):
    from .. import _core

    if b"ELF" not in image.data[:8]:
        raise ImportError("the compiler created no shared object")
    return _core.HostModule(image.data)


def _compile(function, source, signatures):
    try:
        return compile_source(source, TARGET)
    except CompileError as problem:
        title = element.plain_name(function)
        if len(signatures) == 1 and isinstance(signatures[0], types.Signature):
            title = f"{title}, {signatures[0]}"
        elif not isinstance(signatures[0], types.Signature):
            title = f"{title}({', '.join(map(str, signatures))})"
        explained = element.error_explainer(function, title)(problem)
    raise explained
