"""Queries the result types of a C++ function from the compiler, and converts compile errors to messages about
the user's code."""

from __future__ import annotations

from numbalite import types
from numbalite.compilers import compile_source, hints, templates
from numbalite.cxx.definition import device_texts
from numbalite.errors import CompileError
from numbalite.kernels.builder import SourceBuilder
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.options import Options

MAX_RESULTS = 8  # items of numbalite's tuple

RESULTS = '#include "numbalite/results.cuh"\n'


def results_source(call, types, attribute="") -> str:
    """Returns a function `nl_results` whose parameters are pointers to the result types; the C++ type nl_all
    is the result type of `call`."""
    pointers = ", ".join(f"{t} *" for t in types)
    return templates.fill_template("results", call=call, pointers=pointers, attribute=attribute)


def result_types(function: DeviceFunction, arg_types, target) -> tuple:
    """Returns the result types of a call with these argument types, as the compiler deduces them.

    The tuple has one item for a number, several for a tuple<...>, none for void. ``target`` is a target of
    compile_source. Raises CompileError if the function does not accept these types, TypeError for a result
    that is not a number.
    """
    arg_types = tuple(arg_types)
    function = function.of(arg_types)
    if function.definition.is_python:
        (instance,) = function.definition.instances(function)
        return _result_types(function, instance.result, arg_types)
    builder = SourceBuilder(function.name, f"the results of {function!r}")
    builder.add_types(*arg_types)
    builder.names.add("tuple")
    namespace = builder.add_function(function)
    values = ", ".join(f"*({t.cxx} *)0" for t in arg_types)
    builder.ahead.append(RESULTS)
    wanted = [f"nl_result_of<nl_all, {i}>" for i in range(MAX_RESULTS)]
    builder.write_generated(
        results_source(_call_text(function, namespace, values), wanted, "__global__")
    )
    image = _compile_for_results(function, builder, target, arg_types)
    from numbalite.types import describe

    found = []
    for row in describe.parameters(image.descriptions["nl_results"]):
        if row.ctype in ("void*", "?") and not row.dtype:
            break
        found.append(result_type(function, row, arg_types))
    return tuple(found)


def _result_types(function, result, arg_types):
    found = result.types if isinstance(result, types.Tuple) else (result,)
    for t in found:
        if not isinstance(t, (types.Scalar, types.Void)):
            raise _not_a_number_error(function, t, arg_types)
    return tuple(t for t in found if t is not types.void)


def _not_a_number_error(function, what, arg_types):
    return TypeError(
        f"{function.name} returns {what} for ({', '.join(map(str, arg_types))}): that is no number "
        "that an array can hold"
    )


def result_type(function: DeviceFunction, row, arg_types):
    """Returns the result type from the description of a parameter that points to it; raises TypeError for a
    type that is not a number."""
    ctype = row.ctype.removesuffix("*").rstrip()
    if not row.dtype or ctype.endswith("*"):
        raise _not_a_number_error(function, ctype, arg_types)
    return types.scalar(row.dtype)


def _compile_for_results(function, builder, target, arg_types):
    options = function.options or Options()
    source = builder.source(function.definition, options, ["nl_results"], describe=True)
    try:
        return compile_source(source, target)
    except CompileError as problem:
        title = f"{function.name}({', '.join(map(str, arg_types))})"
        explained = error_explainer(function, title, builder.refused)(problem)
    raise explained


def _call_text(function, namespace, arguments):
    return f"{namespace}::{function.cxx_name}({arguments})"


def error_explainer(function: DeviceFunction, title: str = "", refused=None):
    """Returns a function that converts a CompileError in generated code to an error about the user's
    function. ``refused`` is the Builder's attribute: names of the Python scope that could not be captured."""

    def explain_error(problem):
        definition = function.definition
        names = definition.capture().refused if refused is None else refused
        others = device_texts(definition)
        return hints.add_hints(problem, title or function.name, names, (), definition.cxx, others)

    return explain_error
