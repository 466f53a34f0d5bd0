"""Converts a user's function (a decorated body, a source, an expression) for ufuncs, reductions and host
functions to a DeviceFunction.

The source builder writes the DeviceFunction, and generated code calls it:

    namespace = builder.add_function(function)
    f"{namespace}::{function.cxx_name}(x, y)"
"""

from __future__ import annotations

import sys

from numbalite import types
from numbalite.cxx import capture, scanner
from numbalite.cxx.capture import ascii_name
from numbalite.cxx.definition import Definition
from numbalite.kernels import builder
from numbalite.kernels.decorators import definition_of
from numbalite.kernels.devicefunction import DeviceFunction
from numbalite.kernels.results import (  # noqa: F401  (found here by loops)
    MAX_RESULTS,
    RESULTS,
    error_explainer,
    result_type,
    result_types,
    results_source,
)

from ..errors import CompileError, SignatureError, TranslationError


def element_function(
    function=None, *, source=None, name=None, args=None, what="ufunc", options=None, frame=None
) -> DeviceFunction:
    """Returns the DeviceFunction of a function whose body is a string, or of a source.

    ``source`` is a complete C++ function (template, overloads; ``name`` selects one of several), or with
    ``args`` ("x, y") a body or an expression with these parameters, which may use numbers of the enclosing Python
    scope. ``what`` is the type of the created object, for messages. ``frame`` is the caller's frame, which
    contains the source. Raises TypeError unless exactly one of function and source is passed.
    """
    frame = frame or sys._getframe(1)
    if source is None:
        if name is not None or args is not None:
            raise TypeError("name= and args= require source=")
        function = capture.device_function(function)
        if isinstance(function, DeviceFunction):
            return function
        if isinstance(function, (staticmethod, classmethod)):
            function = function.__func__
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                f"a {what} is made from a function whose body is a string of C++, or from source=; "
                f"not from {function!r}"
            )
        return DeviceFunction(definition_of(function, what), (), options, function)
    if function is not None:
        raise TypeError("give either a function or source=, not both")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name= is text such as 'f', not {name!r}")
    if args is not None:
        return _function_from_body(source, name, args, options, frame)
    return _function_from_unit(source, name, options, frame)


def _function_from_body(code, name, args, options, frame):
    from numbalite.kernels import module as modules

    if isinstance(args, str):
        parameters = [word.strip() for word in args.split(",")] if args.strip() else []
    else:
        parameters = list(args)
    for word in parameters:
        if not isinstance(word, str) or not word.isidentifier():
            raise TypeError(f"args= lists the names of parameters, as in 'x, y'; not {args!r}")
    if len(set(parameters)) != len(parameters):
        raise TypeError(f"args= has a name twice: {args!r}")
    name = name or "expression"
    if not name.isidentifier():
        raise TypeError(f"name={name!r} is no name for a function")
    capture.check_parameters(name, parameters)
    text = modules.source_text(code, name, frame)
    if not text.value.strip():
        raise TypeError(f"{name}: the source is empty")
    here = frame.f_globals
    made = Definition(name, parameters, text, capture.Scope({}, here), module=here.get("__name__"))
    if frame.f_locals is not here:
        local = {key: frame.f_locals[key] for key in made.names if key in frame.f_locals}
        made.scope = capture.Scope(local, here)
    return DeviceFunction(made, (), options)


def _function_from_unit(code, name, options, frame):
    from numbalite.kernels import module as modules

    text = modules.source_text(code, name or "a function", frame)
    defined = list(scanner.parameter_lists(text.value))
    if name is None:
        if not defined:
            raise TypeError(
                "no function was found in the source: write a complete one, as in "
                "'float f(float x) { return x; }', or give args= for a body or an expression"
            )
        name = defined[-1]  # the functions before the last one are its helpers
    made = Definition(
        name, (), text, capture.Scope(), is_unit=True, module=frame.f_globals.get("__name__")
    )
    return DeviceFunction(made, (), options)


def check_only_operation(what, functor, more):
    """Raises TypeError if a call that creates a function from an operation passes arrays as further
    arguments."""
    if more:
        raise TypeError(
            f"{what} accepts an operation and returns a function, which accepts the array: "
            f"{what}({functor!r})(x)"
        )


def operation_function(
    functor, parameters, what, noun, *, source=None, name=None, args=None, options=None, frame=None
) -> DeviceFunction:
    """Returns the DeviceFunction of an argument of ``cuda.reduce`` (``what``; ``noun``: "reduction") and similar
    functions.

    The argument is a text in ``parameters`` ("a, b"), a complete source, or a function. Raises TypeError if
    the function has another number of parameters."""
    if isinstance(functor, str):
        if source is not None:
            raise TypeError(f"{what}: two sources are given")
        functor, source = None, functor
        if name is None and args is None and not scanner.parameter_lists(source):
            args = parameters
    if args is not None and name is None:
        name = noun
    function = element_function(
        functor, source=source, name=name, args=args, what=noun, options=options, frame=frame
    )
    count, wanted = parameter_count(function), parameters.count(",") + 1
    if count not in (wanted, None):
        words = ("", "one number", "two numbers", "three numbers")
        raise TypeError(
            f"{what} takes a function of {words[wanted]}, {function.name} has {count} "
            f"parameter{'s' * (count != 1)}"
        )
    return function


def is_from_body(function) -> bool:
    """Returns whether the function is written as a body, for which generated code declares the types."""
    return not function.definition.is_unit


def parameter_count(function: DeviceFunction) -> int | None:
    """Returns the number of parameters, or None if the source's overloads have different numbers."""
    counts = {len(names) for names in _parameter_lists(function)}
    return counts.pop() if len(counts) == 1 else None


def parameter_names(function: DeviceFunction) -> tuple:
    """Returns the names of the parameters, or () if the source does not determine them."""
    lists = {tuple(names) for names in _parameter_lists(function)}
    names = lists.pop() if len(lists) == 1 else ()
    return names if all(names) else ()


def _parameter_lists(function):
    definition = function.definition
    if is_from_body(function):
        return [[ascii_name(name) for name in definition.parameters]]
    base = "".join(definition.name.split()).partition("<")[0]
    found = scanner.parameter_lists(definition.text.value)
    return found.get(base) or next(
        (lists for full, lists in found.items() if full.rpartition("::")[2] == base), []
    )


def typed_function(function: DeviceFunction, signature) -> DeviceFunction:
    """Returns the function with the types of one signature: the body of the returned function converts its
    result to the declared type.

    A source that contains a whole function declares its own types, and is returned unchanged."""
    if not is_from_body(function):
        return function
    count = len(function.definition.parameters)
    if len(signature.args) != count:
        raise SignatureError(
            f"{function.name} has {count} parameter{'s' * (count != 1)}, "
            f"the signature {signature} has {len(signature.args)}"
        )
    return function.with_signature(signature)


def returned_types(signature) -> tuple:
    """Returns the result types of a signature as a tuple, which has several items if the return type is a Tuple."""
    t = signature.return_type
    return t.types if isinstance(t, types.Tuple) else (t,)


def call_text(function: DeviceFunction, namespace: str, arguments: str) -> str:
    """Returns the C++ call of a function in the ``namespace`` that ``builder.add_function`` returned."""
    return f"{namespace}::{function.cxx_name}({arguments})"


def plain_name(function: DeviceFunction) -> str:
    """Returns the function's name without namespaces and template arguments."""
    return builder.plain_name(function.name)


def result_count(function: DeviceFunction, target) -> int:
    """Returns the number of values that a ufunc's function returns, for unknown argument types.

    The number is 1 unless the text mentions a tuple; in this case, the function is compiled for some types.
    ``target`` may be a function that returns the target for this compilation. Raises TypeError if the
    function compiles for none of these types, so that the user must declare a signature.
    """
    if not _mentions_tuple(function, set()):
        return 1
    count = parameter_count(function)
    target = target() if callable(target) else target
    problem = None
    for t in (types.float64, types.int64, types.float32, types.complex128, types.boolean):
        if count is not None:
            try:
                return len(result_types(function, (t,) * count, target))
            except (CompileError, TypeError) as found:
                problem = problem or found
    if isinstance(problem, TranslationError):
        raise problem.with_traceback(None) from None  # the message includes the line
    raise TypeError(
        f"how many values {function.name} returns depends on the types of its arguments: "
        f'give a signature, such as "Tuple((float32, float32))(float32)"'
    ) from problem


def _mentions_tuple(function, seen):
    if function in seen:
        return False
    seen.add(function)
    definition = function.definition
    if definition.is_python:
        return True  # searching the text needs no compiler
    if builder.identifiers(definition.text.value) & {"tuple", "make_tuple"}:
        return True
    inner = definition.capture().functions.values()
    return any(_mentions_tuple(f, seen) for f in inner)
