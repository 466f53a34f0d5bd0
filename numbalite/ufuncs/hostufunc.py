"""Implements the cpu and parallel targets of vectorize and guvectorize, whose results are numpy.ufunc
objects.

The ufunc references its UfuncDefinition, which contains the definition of the ufunc. The UfuncDefinition compiles loops for new
dtypes of a ufunc without signatures, and is pickled in place of the ufunc.
"""

from __future__ import annotations

import copyreg
import operator
from _thread import RLock

import numpy as np

from numbalite import _core, types
from numbalite.python.problem import messages_for_cpu
from numbalite.runtime import threads

from ..errors import SignatureError
from . import element, hostloops, resolve


def make_ufunc(function, signatures, target, identity, options, doc=None, results=None) -> np.ufunc:
    """Returns a numpy.ufunc of a function of numbers. If `signatures` is empty, a loop is compiled for the dtypes of
    each call. ``results``: the number of results, or None if it is unknown."""
    signatures = _without_repetitions(function, signatures)
    owner = UfuncDefinition(function, signatures, None, target, identity, options, doc)
    if signatures:
        nin, nout = len(signatures[0].args), len(element.returned_types(signatures[0]))
        if any(len(s.args) != nin for s in signatures):
            raise SignatureError(
                f"the signatures of {function.name} have different numbers of arguments"
            )
        loops = hostloops.ufunc_loops(function, signatures, target, owner.options)
        return owner.make(nin, nout, loops)
    count = element.parameter_count(function)
    if count is None:
        raise TypeError(
            f"how many arguments {function.name} accepts cannot be determined from its overloads: "
            f"give signatures"
        )
    if count == 0:
        raise SignatureError(f"{function.name}: a ufunc has at least one argument")
    if results is None:
        with messages_for_cpu():
            results = element.result_count(function, hostloops.TARGET)
    return owner.make(count, results, ())


def make_gufunc(
    function, signatures, layout_text, target, identity, options, doc=None, writable=()
) -> np.ufunc:
    """Returns a generalized numpy.ufunc. The function's last parameters are its outputs. ``writable`` are the
    indices or names of the inputs that the function also writes.

    Without signatures a loop is compiled for the dtypes of each call: all outputs have the common dtype
    of the inputs, unless dtype= or signature= is passed (NumPy does not pass the dtype of out=).
    """
    layout = hostloops.parse_layout(function.name, layout_text)
    signatures = _without_repetitions(function, signatures, layout.nin)
    writable = written_input_indices(function, writable, layout)
    for signature in signatures:
        hostloops.check_layout(function.name, signature, layout, writable)
    count = element.parameter_count(function)
    if count is not None and count != len(layout.operands):
        raise SignatureError(
            f"{function.name} has {count} parameters, the layout {layout} {len(layout.operands)} operands"
        )
    owner = UfuncDefinition(function, signatures, layout, target, identity, options, doc, writable)
    loops = []
    if signatures:
        loops = hostloops.gufunc_loops(
            function, signatures, layout, target, owner.options, writable
        )
    return owner.make(layout.nin, layout.nout, loops)


def written_input_indices(function, writable, layout) -> tuple:
    """Returns the sorted indices of the inputs in writable_args."""
    if writable is None or writable is True or isinstance(writable, str):
        raise TypeError(
            f"{function.name}: writable_args is a list of parameters, by name or number, not {writable!r}"
        )
    names, found = list(function.definition.parameters), set()
    for one in writable:
        if isinstance(one, str):
            if one not in names:
                raise ValueError(f"{function.name}: writable_args: there is no parameter {one!r}")
            number = names.index(one)
        else:
            number = operator.index(one)
        if not 0 <= number < layout.nin:
            raise ValueError(
                f"{function.name}: writable_args: {one!r} is not an input of the layout {layout}"
            )
        found.add(number)
    return tuple(sorted(found))


def _without_repetitions(function, signatures, nin=None):
    """Returns the list of signatures without repetitions; raises an error for two different signatures for
    the same inputs."""
    found = {}
    for signature in signatures:
        key = tuple(hostloops.element_type(t) for t in signature.args[:nin])
        if found.setdefault(key, signature) != signature:
            raise SignatureError(
                f"{function.name} has two signatures for the same dtypes: {found[key]} and {signature}"
            )
    return list(found.values())


_DERIVATIVES = ("derivative", "jvp", "vjp", "defvjp")


class _UfuncMethod:
    """A function of differentiation.py as a method of a NumPy ufunc.

    The method references the ufunc's definition, not the ufunc. A reference to the ufunc would be a cycle
    that is never freed, because the garbage collector does not visit ufuncs.
    """

    def __init__(self, name, owner):
        self.__name__ = name
        self._owner = owner

    @property
    def __doc__(self):
        return self._differentiation_function.__doc__

    @property
    def _differentiation_function(self):
        from . import differentiation

        return getattr(differentiation, self.__name__)

    def __call__(self, *args, **keywords):
        return self._differentiation_function(self._owner.equal(), *args, **keywords)


class UfuncDefinition:
    """The definition of a ufunc."""

    def __init__(self, function, signatures, layout, target, identity, options, doc, writable=()):
        from numbalite.kernels import options as options_

        self.function = function
        self.signatures = signatures
        self.layout = layout
        self.writable = writable
        self.target = target
        self.identity = identity
        self.options = options if options is not None else options_.parse_options({}, "vectorize")
        self.doc = doc
        self.lock = RLock()
        self._equal = None
        self.loops = {}  # dtypes of all operands -> HostLoop, for loops of the ufunc
        self.waiting = {}  # dtypes of all operands -> Loop, for compiled loops that the ufunc lacks

    def make(self, nin, nout, loops):
        """Returns the ufunc with these loops. Without loops, loops are compiled on demand."""
        if self.target == "parallel":
            threads.pool_size()  # sets the pool's size before a loop needs the pool
        _register_pickling()
        self.nin, self.nout = nin, nout
        self.__name__ = element.plain_name(self.function)
        if self.__name__ in ("add", "multiply") and self.layout is None and (nin, nout) == (2, 1):
            return self._with_plain_reductions(loops)
        return self._make_named(self.__name__, loops)

    def _with_plain_reductions(self, loops):
        """Returns the ufunc with the reductions of a second ufunc that has a different name. NumPy's
        reductions of each ufunc named "add" or "multiply" compute small integers in the default integer
        type."""
        twin = UfuncDefinition(*self.arguments())
        twin.nin, twin.nout, twin.__name__ = self.nin, self.nout, self.__name__
        other = twin._make_named(f"{self.__name__}_", loops)
        ufunc = self._make_named(self.__name__, loops)
        try:
            for method in ("reduce", "accumulate", "reduceat"):
                setattr(ufunc, method, getattr(other, method))
        except AttributeError:  # ufuncs of NumPy 2.0 and 2.1 have no attributes
            return other
        return ufunc

    def _make_named(self, name, loops):
        ufunc = _core.make_ufunc(
            self, name, self.doc or "", self.nin, self.nout, self.identity,
            None if self.layout is None else str(self.layout), self.writable,
        )  # fmt: skip
        for loop in loops:
            _core.ufunc_add_loop(ufunc, loop.codes, loop.module, loop.name)
        if not self.signatures:
            _core.ufunc_add_promoter(ufunc)
        if hasattr(ufunc, "__dict__"):  # from NumPy 2.2 on
            for method in _DERIVATIVES if self.layout is None else ("jvp", "vjp"):
                setattr(ufunc, method, _UfuncMethod(method, self))
        return ufunc

    def promote(self, ufunc, inputs, fixed):
        """Returns the dtype codes of the loop for these dtypes. A missing loop is compiled and added.

        inputs: dtypes, or int, float, complex for scalars that adopt the type of the other inputs; the first
        input is None in a reduction. fixed: the types in dtype= and signature=, None for operands without a
        type there.
        """
        fixed = fixed if any(t is not None for t in fixed) else None
        is_reduction = inputs[0] is None
        if is_reduction:
            inputs = (inputs[1], *inputs[1:])
        request = resolve.CallTypes(self, inputs, (), "unsafe", None, fixed)
        with self.lock:
            chosen = resolve.choose_lazily(
                request, lambda natural: self._result_dtypes(natural, fixed)
            )
            if is_reduction and fixed is None and np.can_cast(chosen[0], chosen[-1], "safe"):
                # C++ adds int8 numbers as int, so int8 is reduced in the function's return type.
                request = resolve.CallTypes(self, chosen[-1:] * self.nin, (), "unsafe", None, None)
                chosen = resolve.choose_lazily(
                    request, lambda natural: self._result_dtypes(natural, None)
                )
            key = tuple(chosen)
            operands = tuple(map(types.scalar, key))
            if key not in self.loops:
                loop = self._compiled_loop(operands)
                _core.ufunc_add_loop(ufunc, loop.codes, loop.module, loop.name)
                self.loops[key] = loop
        return hostloops.codes(operands)

    def _result_dtypes(self, inputs, fixed):
        """Returns the dtypes of the results for inputs of these dtypes."""
        if self.layout is not None:
            common = np.result_type(*inputs)
            asked = fixed[self.nin :] if fixed else (None,) * self.nout
            return tuple(t or common for t in asked)
        known = next(
            (key for key in (*self.loops, *self.waiting) if key[: self.nin] == inputs), None
        )
        if known is None:
            loop = hostloops.lazy_loop(
                self.function,
                tuple(map(types.scalar, inputs)),
                self.nout,
                self.target,
                self.options,
            )
            known = tuple(t.dtype for t in loop.operands)
            self.waiting[known] = loop
        return known[self.nin :]

    def _compiled_loop(self, operands):
        if self.layout is None:
            key = tuple(t.dtype for t in operands)
            return self.waiting.pop(key)
        args = [
            types.Array(t, max(len(places), 1)) if places or k >= self.nin else t
            for k, (t, places) in enumerate(zip(operands, self.layout.operands, strict=True))
        ]
        signature = types.Signature(types.void, args)
        loops = hostloops.gufunc_loops(
            self.function, [signature], self.layout, self.target, self.options, self.writable
        )
        return loops[0]

    def equal(self):
        """Returns a ufunc of the same function and options, which is the same object in all calls."""
        if self._equal is None:
            self._equal = _unpickle_ufunc(*self.arguments())
        return self._equal

    def with_function(self, function, signatures, results=None):
        """Returns a ufunc of another function, for the same target with the same options."""
        return make_ufunc(function, signatures, self.target, None, self.options, "", results)

    def gufunc_with_function(self, function, signatures, layout):
        """Returns a generalized ufunc of another function, for the same target with the same options."""
        return make_gufunc(function, signatures, layout, self.target, None, self.options, "")

    def arguments(self):
        """Returns the arguments from which `_again` creates an equal ufunc."""
        layout = None if self.layout is None else str(self.layout)
        return (
            self.function, self.signatures, layout, self.target, self.identity, self.options, self.doc,
            self.writable,
        )  # fmt: skip


def _unpickle_ufunc(function, signatures, layout, target, identity, options, doc, writable=()):
    if layout is None:
        return make_ufunc(function, signatures, target, identity, options, doc)
    return make_gufunc(function, signatures, layout, target, identity, options, doc, writable)


_before = None


def _register_pickling():
    """Registers a pickle function by which numbalite's ufuncs are pickled by their definitions."""
    global _before
    current = copyreg.dispatch_table.get(np.ufunc)
    if current is not _reduce_ufunc:
        _before = current
        copyreg.pickle(np.ufunc, _reduce_ufunc)


def _reduce_ufunc(ufunc):
    owner = _core.ufunc_owner(ufunc)
    if owner is not None:
        return _unpickle_ufunc, owner.arguments()
    return _before(ufunc) if _before is not None else ufunc.__name__
