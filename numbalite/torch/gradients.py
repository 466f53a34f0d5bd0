"""Defines gradients of operators, for torch's autograd.

The gradient of a ufunc is one operator, with the inputs and a cotangent for each result (dual numbers compute it in one
pass). The derivatives of the gradient operator are sums of gradients of the first derivatives of the ufunc,
so that derivatives of all orders exist. Gradient operators are registered with torch at their first use.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from numbalite.operators import Elementwise

from .dtypes import to_numpy


class GradientRule:
    """Registers the derivative of an operator, by its operation's `gradients`. Without `gradients`, the
    operator works, but backward raises an error."""

    def __init__(self, operator: Any):
        self.operator, self.operation = operator, operator.operation

    def register_rule(self, library: Any) -> None:
        torch.library.register_autograd(
            self.operator.name, self.backward, setup_context=self.save_inputs, lib=library
        )

    def save_inputs(self, ctx: Any, inputs: tuple, output: Any) -> None:
        ctx.save_for_backward(*[x for x in inputs if isinstance(x, torch.Tensor)])
        ctx.numbers = tuple(None if isinstance(x, torch.Tensor) else x for x in inputs)

    def saved_inputs(self, ctx: Any) -> list:
        """Returns the list of inputs of the forward call, including numbers."""
        tensors = iter(ctx.saved_tensors)
        return [next(tensors) if x is None else x for x in ctx.numbers]

    def backward(self, ctx: Any, *cotangents: Any) -> Any:
        inputs = self.saved_inputs(ctx)
        dtypes = dtypes_of(self.operation.name, inputs)
        cotangents = tuple(map(conjugate, cotangents))
        found = as_tuple(gradient_operator(self.operator, dtypes)(*inputs, *cotangents))
        result: list = [None] * len(inputs)
        for i, one in zip(self.operation.differentiated(dtypes), found, strict=True):
            result[i] = sum_to_shape(conjugate(one), inputs[i])
        return tuple(result)


class SecondOrder(GradientRule):
    """The rule for the gradient of a ufunc: the gradient of sum_o g_o * df_o/dx_i for each i."""

    def __init__(self, operator: Any, first: Any, dtypes: tuple):
        super().__init__(operator)
        self.first, self.dtypes = first, dtypes

    def backward(self, ctx: Any, *cotangents: Any) -> Any:
        first, dtypes = self.first, self.dtypes
        nin = first.operation.nin
        inputs = self.saved_inputs(ctx)
        x, g = inputs[:nin], inputs[nin:]
        by = first.operation.differentiated(dtypes)
        by_x: dict[int, Any] = dict.fromkeys(by, 0)
        by_g: list = [0] * len(g)
        for i, c in zip(by, cotangents, strict=True):
            partial = derivative(first, i)
            for o, value in enumerate(as_tuple(partial(*x))):
                by_g[o] = by_g[o] + c * value
            found = as_tuple(gradient_operator(partial, dtypes)(*x, *(c * one for one in g)))
            for j, one in zip(by, found, strict=True):
                by_x[j] = by_x[j] + one
        result: list = [None] * nin + [sum_to_shape(a, b) for a, b in zip(by_g, g, strict=True)]
        for j in by:
            result[j] = sum_to_shape(by_x[j], x[j])
        return tuple(result)


def gradient_operator(operator: Any, dtypes: tuple) -> Any:
    """Returns the operator of the gradients, for inputs of these dtypes."""
    return _gradient(operator, dtypes, operator.operation.gradients(dtypes))


@functools.lru_cache(None)
def _gradient(operator, dtypes, described):
    suffix = "_".join(["vjp", *(str(dtype) for dtype in dtypes if dtype)])
    rule: Any = GradientRule
    if isinstance(operator.operation, Elementwise) and not described.not_differentiable:
        rule = functools.partial(SecondOrder, first=operator, dtypes=dtypes)
    return operator.register_related(suffix, described, rule)


def derivative(operator: Any, by: int) -> Any:
    """Returns the operator of the derivative with respect to one input."""
    return _derivative(operator, by, operator.operation.derivative(by))


@functools.lru_cache(None)
def _derivative(operator, by, described):
    return operator.register_related(f"d{by}", described)


def dtypes_of(name: str, inputs: list) -> tuple:
    """Returns NumPy's dtypes of inputs, None for numbers."""
    found = iter(to_numpy(name, [x for x in inputs if isinstance(x, torch.Tensor)]))
    return tuple(next(found) if isinstance(x, torch.Tensor) else None for x in inputs)


def as_tuple(found: Any) -> tuple:
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def conjugate(x: Any) -> Any:
    """Returns the conjugate of a complex tensor. Gradients in PyTorch are the conjugates of gradients in
    numbalite."""
    return torch.conj_physical(x) if x.is_complex() else x


def sum_to_shape(gradient: Any, x: Any) -> Any:
    """Returns the gradient with respect to an input that was broadcast, summed to the input's shape, in its
    dtype."""
    if gradient.is_complex() and not x.is_complex():  # the gradient of a real input is real
        gradient = gradient.real
    return gradient.sum_to_size(x.shape).to(x.dtype)
