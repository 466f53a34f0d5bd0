"""`operator`: registers an Operation with PyTorch's dispatcher."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from numbalite.operators import Operation, operation

from . import gradients, vmap
from .dtypes import TORCH, to_numpy

_libraries: dict[str, torch.library.Library] = {}
_lock = threading.RLock()


def operator(name: str, *, launch: Any = None, out_shapes: Any = None) -> Callable[[Any], Operator]:
    """Makes an operator of PyTorch from a ufunc, a generalized ufunc or a kernel.

    Operands are tensors on one device. Results are new, contiguous tensors.
    CUDA tensors are computed on torch's current stream, in memory of
    torch's allocator; CPU tensors are computed with the same source,
    compiled for the parallel target. Kernels run on CPU tensors on the
    simulator alone.

    A ufunc broadcasts its operands and is differentiated (see the guide,
    Derivatives). A kernel needs one signature with const for the arrays
    that it only reads, and ``launch``. It changes the other arrays and
    returns None; with ``out_shapes``, they are results.

    Parameters
    ----------
    name : str
        "namespace::name": the operator is also
        ``torch.ops.namespace.name``.
    launch : tuple or function
        For kernels: (grid, block), or a function of the kernel's arguments
        that returns them. It gets the numbers, and for each tensor shape,
        ndim and size.
    out_shapes : tuple or function
        For kernels: a shape, or a function of the inputs that returns one.

    Returns
    -------
    decorator
        It returns an Operator.

    Raises
    ------
    TypeError
        The decorator raises it for other objects and unsuitable signatures.
    ValueError
        ``name`` is invalid.

    Examples
    --------
    A kernel with one result::

        @operator("mylib::scale", launch=lambda x, a, y: (-(-x.size // 256), 256), out_shapes=lambda x, a: x.shape)
        @cuda.jit("void(const float32[:], float32, float32[:])")
        def scale(x, a, y):
            "int i = grid<1>(); if (i < x.size()) y[i] = a * x[i];"
    """
    if not isinstance(name, str) or name.count("::") != 1 or not _is_name(name):
        raise ValueError(
            f"the name of an operator is 'namespace::name', as in 'mylib::f', not {name!r}"
        )
    return lambda f: Operator(name, operation(f, launch, out_shapes), f)


def _is_name(name):
    return all(part.isidentifier() and part.isascii() for part in name.split("::"))


class Operator:
    """An operator of PyTorch: call it with tensors.

    ``overload`` is the torch._ops.OpOverload that torch.compile and torch.export use; ``function``
    is the ufunc or kernel.
    """

    def __init__(
        self, name: str, described: Operation, function: Any = None, rule: Any = gradients.Rule
    ):
        self.name, self.operation, self.function = name, described, function
        self.__name__ = name.partition("::")[2]
        self.__doc__ = getattr(function, "__doc__", None)
        namespace, _, plain = name.partition("::")
        library = _library(name, namespace)
        library.define(schema(plain, described), tags=(torch.Tag.pt2_compliant_tag,))
        library.impl(plain, _on_host(described), "CPU")
        library.impl(plain, _on_device(described), "CUDA")
        torch.library.register_fake(name, _fake(described), lib=library)
        self.overload = getattr(getattr(torch.ops, namespace), plain).default
        vmap.register(self, library)
        if not described.written:  # torch has no gradients of operators that change their arguments
            rule(self).register(library)

    def related(self, suffix: str, described: Operation, rule: Any = gradients.Rule) -> Operator:
        """Returns another operator, whose name begins with the name of this one."""
        return Operator(_unused(f"{self.name}_{suffix}"), described, rule=rule)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.overload(*args, **keywords)

    def __repr__(self) -> str:
        return f"<torch operator {self.overload._schema}>"


def _library(name, namespace):
    """Returns the torch library that registers one operator. An operator that is defined again replaces the earlier
    one."""
    with _lock:
        earlier = _libraries.pop(name, None)
        if earlier is not None:
            earlier._destroy()
        library = _libraries[name] = torch.library.Library(namespace, "FRAGMENT")
        return library


def _unused(name: str) -> str:
    """Returns the name, or the first of name_2, name_3, ... that no operator of numbalite has."""
    with _lock:
        number, found = 1, name
        while found in _libraries:
            number += 1
            found = f"{name}_{number}"
        return found


_SCHEMA_TYPES = {bool: "bool", int: "int", float: "float", complex: "complex"}


def schema(name: str, described: Operation) -> str:
    """Returns the text of the operator's schema: names, types, and which tensors are written."""
    listed = []
    for i, parameter in enumerate(described.parameters):
        number = described.scalar(i)
        if number is not None:
            kind = "SymInt" if number is int else _SCHEMA_TYPES[number]
        else:
            kind = f"Tensor(a{i}!)" if i in described.written else "Tensor"
        listed.append(f"{kind} {parameter}")
    return f"{name}({', '.join(listed)}) -> {_returned(described)}"


def _returned(described):
    if described.nout == 1:
        return "Tensor"
    return f"({', '.join(['Tensor'] * described.nout)})"


MAX_PLANS = 1024
"""The number of lists of shapes and dtypes for which an operator keeps what it has computed."""


class _Plan(NamedTuple):
    """The cached data of calls with arguments of certain shapes and dtypes on one device."""

    results: list
    """Shape, dtype and device of each result."""
    run: Callable
    """Computes the results, given the inputs."""


class _Results:
    """The results of calls of an operation."""

    def __init__(self, described: Operation):
        self.described = described
        self.create = torch.zeros if described.starts_at_zero else torch.empty
        self.tensors = [i for i in range(described.nin) if described.scalar(i) is None]

    def described_for(self, args: tuple) -> list:
        """Returns the arguments of torch.empty for each result."""
        described = self.described
        given = iter(to_numpy(described.name, [args[i] for i in self.tensors]))
        dtypes: Any = [next(given) if i in self.tensors else None for i in range(described.nin)]
        device = args[self.tensors[0]].device
        for i in self.tensors:
            if args[i].device != device:
                raise ValueError(
                    f"{described.name}: the tensors are on {device} and {args[i].device}"
                )
        return [
            (shape, TORCH[dtype], device)
            for shape, dtype in zip(described.shapes(args), described.dtypes(dtypes), strict=True)
        ]

    def created(self, described: list) -> list:
        create = self.create
        return [create(shape, dtype=dtype, device=device) for shape, dtype, device in described]

    def returned(self, results: list) -> Any:
        """Returns the results as the operator does: one tensor, a tuple of tensors, or None."""
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None


def _fake(described):
    of = _Results(described)

    def fake(*args):
        return of.returned(of.created(of.described_for(args)))

    return fake


def _planned(described, start):
    """Returns a kernel (a function) for torch's dispatcher. ``start(inputs, results)`` returns the function of a
    plan."""
    of = _Results(described)
    plans: dict[tuple, _Plan] = {}
    contiguous, numbers = described.contiguous, frozenset((bool, int, float, complex))

    def kernel(*args):
        key = tuple([x if type(x) in numbers else (x.dtype, x.shape, x.get_device()) for x in args])
        plan = plans.get(key)
        inputs = [x.detach() if type(x) not in numbers and x.requires_grad else x for x in args]
        for i in contiguous:
            inputs[i] = inputs[i].contiguous()
        if plan is None:
            wanted = of.described_for(args)
            results = of.created(wanted)
            if len(plans) >= MAX_PLANS:
                plans.clear()
            plan = plans[key] = _Plan(wanted, start(inputs, results))
        else:
            results = of.created(plan.results)
        plan.run(inputs, results)
        return of.returned(results)

    return kernel


def _on_device(described):
    return _planned(described, described.device_call)


def _on_host(described):
    def run(inputs, results):
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in inputs]
        described.run_on_host(arrays, [x.numpy() for x in results])

    return _planned(described, lambda inputs, results: run)
