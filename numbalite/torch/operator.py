"""Implements `operator`, which registers an Operation with PyTorch's dispatcher."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import forward_ad

from numbalite import _core
from numbalite.operators import Elementwise, Operation, Sized, operation

from . import gradients, vmap
from .dtypes import TORCH, to_numpy

_libraries: dict[str, torch.library.Library] = {}
_lock = threading.RLock()


def operator(name: str, *, launch: Any = None, out_shapes: Any = None) -> Callable[[Any], Operator]:
    """Makes an operator of PyTorch from a ufunc, a generalized ufunc or a kernel.

    Operands are tensors on one device. Results are new, contiguous tensors.
    CUDA tensors are computed on torch's current stream, in memory of torch's
    allocator; CPU tensors are computed with the same source, compiled for the
    parallel target. With CPU tensors, kernels run only on the simulator.

    A ufunc broadcasts its operands and is differentiated (see the guide,
    Derivatives). A kernel needs one signature with const for the arrays that it
    only reads, and ``launch``. The operator changes arrays without const and
    returns None; with ``out_shapes``, arrays without const are results.

    Parameters
    ----------
    name : str
        "namespace::name": the operator is also
        ``torch.ops.namespace.name``.
    launch : tuple or function
        For kernels: (grid, block), or a function of the kernel's arguments that
        returns (grid, block). ``launch`` receives numbers, and for each tensor
        an object with shape, ndim and size.
    out_shapes : tuple or function
        For kernels: a shape, or a function of the inputs that returns a shape.

    Returns
    -------
    decorator
        The decorator returns an Operator.

    Raises
    ------
    TypeError
        The decorated object has another type, or an unsuitable signature.
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


class Operator(_core.Forwarder):
    """An operator of PyTorch: call it with tensors.

    ``overload`` is the torch._ops.OpOverload that torch.compile and torch.export use; ``function``
    is the ufunc or kernel.
    """

    def __init__(
        self,
        name: str,
        described: Operation,
        function: Any = None,
        rule: Any = gradients.GradientRule,
    ):
        self.name, self.operation, self.function = name, described, function
        self.__name__ = name.partition("::")[2]
        self.__doc__ = getattr(function, "__doc__", None)
        namespace, _, plain = name.partition("::")
        library = _library(name, namespace)
        library.define(schema(plain, described), tags=(torch.Tag.pt2_compliant_tag,))
        kernel = _OperatorKernel(described)
        for key in ("CPU", "CUDA"):
            library.impl(plain, kernel.device_kernel(), key)
        torch.library.register_fake(name, _fake_function(described), lib=library)
        self.overload = getattr(getattr(torch.ops, namespace), plain).default
        self._forward_to(self.overload._op)
        vmap.register(self, library)
        if not described.written:  # torch has no gradients of operators that change their arguments
            rule(self).register_rule(_Autograd(library, kernel))

    def register_related(
        self, suffix: str, described: Operation, rule: Any = gradients.GradientRule
    ) -> Operator:
        """Registers another operator, whose name begins with the name of this operator."""
        return Operator(_unused_name(f"{self.name}_{suffix}"), described, rule=rule)

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.overload(*args, **keywords)

    def __getstate__(self) -> dict:
        return vars(self)

    def __repr__(self) -> str:
        return f"<torch operator {self.overload._schema}>"


class _Autograd:
    """A torch library for torch.library.register_autograd. Replaces autograd's kernel by one that computes tensors
    without gradients directly, so that such calls enter the dispatcher only once."""

    def __init__(self, library: Any, kernel: _OperatorKernel):
        self.library, self.kernel = library, kernel

    def impl(self, name: str, function: Any, key: str, *, with_keyset: bool = False) -> None:
        if key == "Autograd" and with_keyset:
            function = self.kernel.autograd_kernel(_without_duals(name, function))
        self.library.impl(name, function, key, with_keyset=with_keyset)


def _without_duals(name, function):
    def kernel_without_duals(keyset, *args):
        if getattr(forward_ad, "_current_level", -1) >= 0:
            for x in args:
                if isinstance(x, torch.Tensor) and forward_ad.unpack_dual(x).tangent is not None:
                    raise NotImplementedError(
                        f"{name}: operators have no forward mode (forward_ad, torch.func.jvp): use torch.autograd, "
                        "torch.autograd.functional.jvp, or jvp of the ufunc"
                    )
        return function(keyset, *args)

    return kernel_without_duals


@functools.cache
def _keys_after_autograd():
    """Returns the bits of the dispatch keys whose kernels run between those of autograd and of a device; all bits for a
    version of PyTorch that does not have them."""
    try:
        key, keyset = torch._C.DispatchKey, torch._C.DispatchKeySet
        devices = keyset(key.CPU) | keyset(key.CUDA) | keyset(key.ADInplaceOrView)
        return torch._C._after_autograd_keyset.raw_repr() & ~devices.raw_repr()
    except (AttributeError, TypeError):
        return 2**64 - 1


def _library(name, namespace):
    """Returns the torch library that registers one operator. An operator that is defined again replaces the earlier
    one."""
    with _lock:
        earlier = _libraries.pop(name, None)
        if earlier is not None:
            earlier._destroy()
        library = _libraries[name] = torch.library.Library(namespace, "FRAGMENT")
        return library


def _unused_name(name: str) -> str:
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
    return f"{name}({', '.join(listed)}) -> {_schema_of_results(described)}"


def _schema_of_results(described):
    if described.nout == 1:
        return "Tensor"
    return f"({', '.join(['Tensor'] * described.nout)})"


class _ResultTensors:
    """Allocates the result tensors of an operation's calls."""

    def __init__(self, described: Operation):
        self.described = described
        self.create = torch.zeros if described.starts_at_zero else torch.empty
        self.tensors = [i for i in range(described.nin) if described.scalar(i) is None]

    def empty_arguments(self, args: tuple) -> list:
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
            for shape, dtype in zip(
                described.result_shapes(args), described.dtypes(dtypes), strict=True
            )
        ]

    def create_results(self, described: list) -> list:
        create = self.create
        return [create(shape, dtype=dtype, device=device) for shape, dtype, device in described]

    def as_returned(self, results: list) -> Any:
        """Returns the results as the operator does: one tensor, a tuple of tensors, or None."""
        if len(results) == 1:
            return results[0]
        return tuple(results) if results else None


def _fake_function(described):
    of = _ResultTensors(described)

    def fake_results(*args):
        return of.as_returned(of.create_results(of.empty_arguments(args)))

    return fake_results


class _OperatorKernel:
    """The kernel of an operator for tensors of the CPU and of CUDA devices. Calls with plain tensors run as C code
    (_core.TensorKernel), which caches plans by dtype and device, and by shape for operations that are not
    elementwise."""

    def __init__(self, described: Operation):
        self.described, self.of = described, _ResultTensors(described)
        self.elementwise = isinstance(described, Elementwise)
        self.contiguous = sum(1 << i for i in described.contiguous)

    def device_kernel(self) -> Any:
        """Returns the kernel for the dispatch keys of devices."""
        return _core.TensorKernel(
            self.call_general, self.plan_call, self.elementwise, self.contiguous
        )

    def autograd_kernel(self, general: Callable[..., Any]) -> Any:
        """Returns the kernel for autograd's dispatch keys, whose first argument is a DispatchKeySet. The kernel
        computes calls without gradients that go directly to a device's kernel; `general` computes other calls."""
        return _core.TensorKernel(
            general,
            self.plan_call,
            self.elementwise,
            self.contiguous,
            _keys_after_autograd(),
            vars(forward_ad),
        )

    def plan_call(self, *args: Any) -> tuple:
        """Returns (function, allocate, names, results), as TensorKernel calls them."""
        wanted = self.of.empty_arguments(args)
        allocate, names = _allocator(wanted, self.described.starts_at_zero)
        results = tuple(
            (*((None, None) if self.elementwise else (shape, _strides(shape))), dtype, device)
            for shape, dtype, device in wanted
        )
        return (
            self.function(args, [Sized(shape) for shape, _, _ in wanted]),
            allocate,
            names,
            results,
        )

    def function(self, inputs: Any, results: Any) -> Callable[..., Any]:
        """Returns the function (*inputs, *results) that computes the results for these dtypes and shapes."""
        tensors = (x for x in inputs if isinstance(x, torch.Tensor))
        if next(tensors).device.type == "cpu":
            return self.run_on_host
        return self.described.device_call(inputs, results)

    def run_on_host(self, *args: Any) -> None:
        arrays = [x.numpy() if isinstance(x, torch.Tensor) else x for x in args]
        nin = self.described.nin
        self.described.run_on_host(arrays[:nin], arrays[nin:])

    def call_general(self, *args: Any) -> Any:
        """Computes calls that TensorKernel does not, for example those with subclasses of Tensor."""
        inputs = [x.detach() if isinstance(x, torch.Tensor) else x for x in args]
        for i in self.described.contiguous:
            inputs[i] = inputs[i].contiguous()
        results = self.of.create_results(self.of.empty_arguments(args))
        self.function(inputs, results)(*inputs, *results)
        return self.of.as_returned(results)


def _allocator(wanted, zeros):
    """Returns a function (size, stride, dtype, device) that allocates a tensor, and the names of its
    keyword-only parameters."""
    keywords = ("dtype", "device")
    if zeros:
        return _zeros, keywords
    kinds = {device.type for _, _, device in wanted}
    # torch.compile's programs allocate by _empty_strided_cpu and ..._cuda, on the current device
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    fast = getattr(guards, f"_empty_strided_{''.join(kinds)}", None)
    if fast is not None and (kinds == {"cpu"} or torch.cuda.device_count() == 1):
        return fast, ()
    return torch.empty_strided, keywords


def _zeros(size, stride, *, dtype, device):
    return torch.zeros(size, dtype=dtype, device=device)


def _strides(shape):
    """Returns the strides of a contiguous tensor, in elements."""
    return tuple(math.prod(max(size, 1) for size in shape[i + 1 :]) for i in range(len(shape)))
