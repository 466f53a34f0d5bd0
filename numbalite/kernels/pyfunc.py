"""Defines PyFunc, the ``py_func`` of a compiled function with a C++ body.

In numba, py_func is the Python function, which runs without a GPU. A Python function whose body is a string
of C++ would return None without an effect. Calling a PyFunc therefore raises an error that explains the
reason.
"""

from __future__ import annotations


class PyFunc:
    """The Python function of a kernel or a device function, as ``__wrapped__``. ``cuda.jit`` and the other
    decorators accept a PyFunc like the function; its attributes are those of the function."""

    def __init__(self, function, remedy):
        self._remedy = remedy
        self.__wrapped__ = function
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__

    def __getattr__(self, name):
        if name in ("__wrapped__", "_remedy"):  # not yet there
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    def __call__(self, *args, **kwargs):
        raise TypeError(f"{self.__name__} has a C++ body, which Python cannot call: {self._remedy}")

    def __eq__(self, other):
        return unwrap(self) is unwrap(other)

    def __hash__(self):
        return hash(self.__wrapped__)

    def __repr__(self):
        return f"<the Python function that holds the text of {self.__name__}>"


CALL = "call it in a kernel"
LAUNCH = "launch it, without a GPU on the simulator (NUMBALITE_DRIVER=sim)"


def callable_pyfunc(function, name, is_python=False):
    """Like `get_pyfunc`, for functions that are called, not launched. Returns None without a Python
    function."""
    return function and get_pyfunc(function, name, is_python, f"call {name} itself")


def get_pyfunc(function, name, is_python=False, remedy=LAUNCH):
    """Returns the PyFunc of a function, or the function itself if its body is Python; raises AttributeError
    if there is no function."""
    if function is None:
        raise AttributeError(
            f"{name} has no py_func: it comes from a source in CUDA C++ (or from a pickle), not from a "
            "Python function"
        )
    return function if is_python or isinstance(function, PyFunc) else PyFunc(function, remedy)


def unwrap(function):
    """Returns the wrapped function of a PyFunc; any other function is returned unchanged."""
    return function.__wrapped__ if isinstance(function, PyFunc) else function
