"""`assert_type` at runtime: asserts that the value is an instance of the type."""

import typing

import numpy as np


def assert_type(value, kind):
    """Returns the value. Raises TypeError if the value is not an instance of the type, which may be
    generic."""
    if kind is not typing.Any and not is_instance_of_hint(value, kind):
        raise TypeError(f"{value!r} is no {kind}")
    return value


def is_instance_of_hint(value, kind):
    if kind is None:
        return value is None
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if hasattr(origin, "__value__"):  # a `type` statement: NDArray since NumPy 2.5
        return is_instance_of_hint(value, origin.__value__[arguments])
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            arguments = arguments[:1] * len(value)
        pairs = zip(value, arguments, strict=True)
        return isinstance(value, tuple) and all(is_instance_of_hint(one, t) for one, t in pairs)
    if origin is np.ndarray and typing.get_args(arguments[1]) not in ((), (typing.Any,)):
        (scalar,) = typing.get_args(arguments[1])
        return isinstance(value, np.ndarray) and value.dtype.type is scalar
    return isinstance(value, origin or kind)
