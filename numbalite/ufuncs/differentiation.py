"""Implements the public derivatives of ufuncs, for every target: derivative, jvp, vjp and defvjp.

All ufuncs on the GPU have these methods; ufuncs on the CPU have them with NumPy 2.2 or newer, which allows
attributes of ufuncs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numbalite import _core, types

from . import derivatives, element, operands
from .derivatives import Derivative, DerivativeOrder, has_tangent, is_floating
from .generalderivatives import GeneralFamily, GufuncDefinition


def derivative(ufunc: Any, by: int = 0) -> Any:
    """Returns the derivative of a ufunc with respect to one of its inputs, as a ufunc with the same inputs.

    ``ufunc`` is a result of ``vectorize``, for any target; ``by`` is the index of a float32 or float64 input.
    The derivative is exact (forward-mode automatic differentiation): the function's text is compiled with
    dual numbers. The returned ufunc has derivatives itself.

    Raises SignatureError if no signature has floating-point results and a floating-point input with this
    index. Raises CompileError if the text uses a function without a derivative rule: define the derivative by
    ``defvjp``.

        f = vectorize(["float64(float64, float64)"], target="cuda")(...)
        f.derivative(1)(x, y)
    """
    return DerivativeFamily.of(ufunc).derivative(by)


def jvp(ufunc: Any, primals: Any, tangents: Any) -> tuple:
    """Returns (f(x...), the derivative of f at x... in the direction of the tangents).

    ``tangents`` has an array, a number or None (zero) for each of the ``primals``; tangents of integers are
    None. Primals and tangents are broadcast. If the ufunc has several results, both items are tuples.
    """
    return family_of(ufunc).jvp(tuple(primals), tuple(tangents))


def vjp(ufunc: Any, primals: Any, cotangents: Any) -> tuple:
    """Returns the gradient with respect to each primal: the sum over all results of derivative times cotangent.

    ``cotangents`` is an array or number, or a tuple of arrays or numbers if the ufunc has several results. A
    gradient has the shape and the dtype of its primal: it is summed over the axes along which the primal was
    broadcast. The gradient of an integer is None.
    """
    several = isinstance(cotangents, (tuple, list))
    primals = tuple(primals)
    found = family_of(ufunc).vjp(primals, tuple(cotangents) if several else (cotangents,))
    return tuple(
        None if gradient is None else _reduce_gradient(gradient, primal)
        for gradient, primal in zip(found, primals, strict=True)
    )


def defvjp(ufunc: Any, *rules: Any) -> Any:
    """Defines the derivatives of a ufunc with one result; returns the ufunc.

    Each input has a rule: C++ text (a body or an expression) or a device function, whose parameters are the
    inputs' names and ``g``. The rule returns g times the derivative with respect to its input. ``derivative``
    and ``jvp`` use the rules with g = 1.

        relu.defvjp("x > 0 ? g : 0")
    """
    return DerivativeFamily.of(ufunc).define_rules(rules)


class DerivativeFamily:
    """A ufunc and its derivatives."""

    def __init__(self, ufunc, function, given, make):
        self.ufunc, self.make = ufunc, make
        self.given = tuple(given)
        is_derivative = isinstance(function, Derivative)
        self.function = function.function if is_derivative else function
        self.inputs = function.order.inputs if is_derivative else ()
        self.made: dict[tuple, Any] = {}

    @staticmethod
    def of(ufunc: Any) -> DerivativeFamily:
        if isinstance(ufunc, _core.Ufunc):
            device: Any = ufunc
            return _cached_derivative(
                device.__dict__, device, device._function, device._given, device._with_function
            )
        owner = _core.ufunc_owner(ufunc)
        if owner is not None and owner.layout is None:
            return _cached_derivative(
                owner.__dict__, ufunc, owner.function, owner.signatures, owner.with_function
            )
        if owner is not None or isinstance(ufunc, _core.GUfunc):
            raise TypeError(
                f"{ufunc.__name__} is a generalized ufunc: use jvp and vjp; only ufuncs of vectorize have "
                "derivative and defvjp"
            )
        raise TypeError(f"derivatives exist only for ufuncs made by vectorize, not for {ufunc!r}")

    # --- ufuncs

    def derivative(self, by):
        count = self.ufunc.nin
        if isinstance(by, bool) or not isinstance(by, (int, np.integer)) or not 0 <= by < count:
            raise ValueError(
                f"{self.ufunc.__name__}: the index of an input is from 0 to {count - 1}, not {by!r}"
            )
        order = DerivativeOrder((*self.inputs, int(by)))
        return self._cached_derivative((order,), lambda: self._derivative(order))

    def _derivative(self, order):
        function = Derivative(self.function, order)
        given = [s for s in self.given if _supports_order(s, order)]
        if self.given and not given:
            function.signature_of(self.given[0])  # raises
        return self.make(function, [function.signature_of(s) for s in given], self.ufunc.nout)

    def _ufunc_for_types(self, last, signature):
        """Returns the ufunc of a jvp or a vjp for one signature of the function."""
        order = DerivativeOrder(self.inputs, last)

        def make_derivative():
            derived = Derivative(self.function, order)
            whole = derived.signature_of(signature)
            return self.make(derived.with_signature(whole), [whole])

        return self._cached_derivative((order, signature), make_derivative)

    def _cached_derivative(self, key, make):
        key = (*key, self.function.rules)
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    def gradients(self, dtypes):
        """Returns the ufunc of the vjp for inputs of these dtypes. The inputs of the vjp are the ufunc's
        inputs and one cotangent per result; its results are the gradients with respect to the floating-point
        inputs."""
        return self._ufunc_for_types("vjp", self.signature(dtypes))

    def signature(self, dtypes):
        """Returns the signature of the loop for arguments of these dtypes."""
        nin, nout = self.ufunc.nin, self.ufunc.nout
        if len(dtypes) != nin:
            raise TypeError(f"{self.ufunc.__name__} has {nin} inputs, not {len(dtypes)}")
        asked = (*dtypes, *(None,) * nout)
        loop = tuple(map(types.scalar, self.ufunc.resolve_dtypes(asked)))
        results = loop[nin:]
        returned = results[0] if nout == 1 else types.Tuple(results)
        signature = types.Signature(returned, loop[:nin])
        derivatives.check_differentiable(self.ufunc.__name__, signature)
        return signature

    # --- calls

    def jvp(self, primals, tangents):
        name = self.ufunc.__name__
        if len(tangents) != len(primals):
            raise TypeError(f"{name}.jvp: {len(primals)} primals, {len(tangents)} tangents")
        signature = self.signature(tuple(map(operands.dtype_of_value, primals)))
        given = []
        for i, (t, tangent) in enumerate(zip(signature.args, tangents, strict=True)):
            if has_tangent(t):
                given.append(0.0 if tangent is None else tangent)
            elif tangent is not None:
                raise TypeError(f"{name}.jvp: primal {i} is {t}: its tangent is None")
        results = self._ufunc_for_types("jvp", signature)(*primals, *given, casting="unsafe")
        count = self.ufunc.nout
        return results if count == 1 else (results[:count], results[count:])

    def vjp(self, primals, cotangents):
        name, count = self.ufunc.__name__, self.ufunc.nout
        if len(cotangents) != count:
            raise TypeError(f"{name}.vjp: {count} results, {len(cotangents)} cotangents")
        signature = self.signature(tuple(map(operands.dtype_of_value, primals)))
        found = self._ufunc_for_types("vjp", signature)(*primals, *cotangents, casting="unsafe")
        found = iter(found if isinstance(found, tuple) else (found,))
        return tuple(next(found) if has_tangent(t) else None for t in signature.args)

    def define_rules(self, rules):
        name, function = self.ufunc.__name__, self.function
        if self.inputs:
            raise TypeError(f"{name} is itself a derivative: define the rules for {function.name}")
        if self.ufunc.nout != 1:
            raise TypeError(f"{name} has {self.ufunc.nout} results: rules are for ufuncs with one")
        if len(rules) != self.ufunc.nin:
            raise TypeError(
                f"{name}.defvjp: one rule for each of {self.ufunc.nin} inputs, not {len(rules)}"
            )
        names = element.parameter_names(function)
        if not names:
            raise TypeError(f"{name}.defvjp: the parameters of its source have no names")
        if "g" in names:
            raise TypeError(
                f"{name}.defvjp: the parameter g has the name of the cotangent: rename it"
            )
        args = ", ".join((*names, "g"))
        function.rules = tuple(
            _rule_function(rule, args, f"{element.plain_name(function)}_vjp{i}")
            for i, rule in enumerate(rules)
        )
        return self.ufunc


def family_of(ufunc: Any) -> DerivativeFamily | GeneralFamily:
    """Returns the object that computes the derivatives of a ufunc or a generalized ufunc."""
    if isinstance(ufunc, _core.GUfunc):
        device: Any = ufunc
        return _cached_derivative(
            device.__dict__, device, *device._family_arguments(), kind=GeneralFamily
        )
    owner = _core.ufunc_owner(ufunc)
    if owner is None or owner.layout is None:
        return DerivativeFamily.of(ufunc)
    made = GufuncDefinition(owner.function, owner.layout, owner.writable, False)
    return _cached_derivative(
        owner.__dict__, ufunc, made, owner.gufunc_with_function, kind=GeneralFamily
    )


def _rule_function(rule, args, name):
    """Returns the DeviceFunction of a derivative rule, which is a text or a function with the parameters `args`."""
    if isinstance(rule, str):
        return element.element_function(source=rule, args=args, name=name, what="rule")
    function = element.element_function(rule, what="rule")
    count = args.count(",") + 1
    if element.parameter_count(function) != count:
        raise TypeError(f"{function.name}: a rule has the parameters ({args})")
    return function


def _cached_derivative(place, *args, kind=DerivativeFamily):
    family = place.get("_family")
    if family is None:
        family = place.setdefault("_family", kind(*args))
    return family


def _supports_order(signature, order):
    return derivatives.is_differentiable(signature) and all(
        is_floating(signature.args[i]) for i in order.inputs
    )


def _reduce_gradient(found, primal):
    """Returns the gradient with respect to an array that was broadcast: summed to the array's shape, in its
    dtype, or None for an array of integers."""
    dtype = np.dtype(operands.dtype_of_value(primal))
    if dtype.kind not in "fc":
        return None
    if dtype.kind == "f" and found.dtype.kind == "c":  # the gradient of a real primal is real
        found = found.real
    shape = np.shape(primal)
    ahead = np.ndim(found) - len(shape)
    axes = (*range(ahead), *(i + ahead for i, n in enumerate(shape) if n == 1))
    if axes and np.shape(found) != shape:
        found = np.sum(found, axis=axes).reshape(shape)
    return found if found.dtype == dtype else found.astype(dtype)
