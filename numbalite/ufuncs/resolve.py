"""Selects the loop of a ufunc call, by NumPy's rules for ufuncs with a list of loops.

Each input is described by its NumPy dtype, or, if it is a Python number (a weak scalar, NEP 50), by the type int,
float or complex. Other inputs are called strong. The rules are tried in this order:

1. If all inputs are strong, the loop with exactly their dtypes is selected.
2. Otherwise, the first loop to which all inputs can be cast safely is selected. A weak scalar can be cast to
all types of its kind
   or a higher kind, if a strong input has at least its kind (bool < integers < real and complex numbers); otherwise
   it counts as an int64, a float64 or a complex128.
3. If the ufunc has only one loop, inputs may otherwise be cast as ``casting`` allows (float64 to float32 for
a float32 function); NumPy's ufuncs reject calls that need such a cast. If exactly one loop has the
   dtypes of all strong inputs, weak scalars are converted to the types of this loop, as in numba (15.0 to
   int16); if the conversion would change the value, the call raises a TypeError (py/operand.c).

``dtype`` fixes the types of the outputs, ``signature`` those of any operand: only loops with these types are
considered, in the same order. If no loop matches by its outputs, a loop whose inputs have the fixed types is
selected. The inputs must be castable to the types of the selected loop, and its results to the outputs, by
the rule ``casting``.

A ufunc without signatures accepts all input dtypes, and compiles a loop at the first
call with each list of input dtypes.
"""

from __future__ import annotations

import numpy as np

from .. import types

try:
    from numpy._core import _exceptions as _numpy_errors
except ImportError:  # NumPy 1
    from numpy.core import _exceptions as _numpy_errors  # type: ignore[attr-defined, no-redef]

_WEAK_KIND = {int: 1, float: 2, complex: 3}
_WEAK_DEFAULT = {
    int: np.dtype(np.int64), float: np.dtype(np.float64), complex: np.dtype(np.complex128)
}  # fmt: skip
_WEAK_VALUE = {int: 0, float: 0.0, complex: 0j}
_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}


def strengthen_scalars(inputs) -> tuple:
    """Returns the input dtypes, with weak scalars replaced by their default dtypes if no strong input has their
    kind."""
    strong = [_KINDS.get(t.kind, 4) for t in inputs if t not in _WEAK_KIND]
    weak = [_WEAK_KIND[t] for t in inputs if t in _WEAK_KIND]
    if not weak or min(max(weak), 2) <= min(max(strong, default=-1), 2):
        return tuple(inputs)
    return tuple(_WEAK_DEFAULT.get(t, t) if t in _WEAK_KIND else t for t in inputs)


def can_cast(source, dtype, casting) -> bool:
    """Returns the result of np.can_cast, also for weak scalars."""
    if source in _WEAK_KIND:
        return casting == "unsafe" or _KINDS[dtype.kind] >= _WEAK_KIND[source]
    return np.can_cast(source, dtype, casting)


def promote_scalars(inputs) -> tuple:
    """Returns the dtypes of the inputs. Weak scalars are promoted to a common dtype with the other inputs."""
    inputs = strengthen_scalars(inputs)
    if all(t not in _WEAK_KIND for t in inputs):
        return inputs
    strong = [t for t in inputs if t not in _WEAK_KIND]
    return tuple(np.result_type(*strong, _WEAK_VALUE[t]) if t in _WEAK_KIND else t for t in inputs)


class CallTypes:
    """The operands and options of a ufunc call, after their types were checked."""

    def __init__(self, ufunc, inputs, outputs=(), casting="same_kind", dtype=None, signature=None):
        self.ufunc = ufunc
        self.inputs = tuple(
            t if t in _WEAK_KIND or t.isnative else t.newbyteorder("=") for t in inputs
        )
        self.outputs = tuple(outputs) or (None,) * ufunc.nout
        self.casting = casting
        self.fixed = fixed_types(ufunc, dtype, signature)

    def check_loop(self, loop):
        """Returns the loop, if the operands can be cast to and from its types; otherwise raises NumPy's exceptions."""
        nin = self.ufunc.nin
        for i, (have, want) in enumerate(zip(self.inputs, loop, strict=False)):
            if not can_cast(have, want, self.casting):
                have = _WEAK_DEFAULT.get(have, have) if have in _WEAK_KIND else have
                raise _numpy_errors._UFuncInputCastingError(self.ufunc, self.casting, have, want, i)
        for i, (have, want) in enumerate(zip(loop[nin:], self.outputs, strict=True)):
            if want is not None and not np.can_cast(have, want, self.casting):
                raise _numpy_errors._UFuncOutputCastingError(
                    self.ufunc, self.casting, have, want, i
                )
        return loop


def fixed_types(ufunc, dtype, signature):
    """Returns a tuple of the dtypes in ``dtype=`` and ``signature=``, with None for operands without a fixed
    dtype. Returns None if no dtype is fixed."""
    nin, nargs = ufunc.nin, ufunc.nin + ufunc.nout
    if dtype is not None and signature is not None:
        raise TypeError("cannot specify both 'signature' and 'dtype'")
    if dtype is not None:
        return (None,) * nin + (_dtype(ufunc, dtype),) * ufunc.nout
    if signature is None:
        return None
    if isinstance(signature, (str, bytes)):
        text = signature.decode() if isinstance(signature, bytes) else signature
        inputs, arrow, outputs = text.replace(" ", "").partition("->")
        if arrow:
            items = [*inputs, *outputs]
            if len(inputs) != nin or len(items) != nargs:
                raise ValueError(
                    f"a type-string for {ufunc.__name__}, requires {nin} typecode(s) before and "
                    f"{ufunc.nout} after the -> sign"
                )
        elif nargs == 1 or nin == 0:
            items = [text]
        else:
            raise TypeError("Use `dtype` or  fill the tuple with more than one 'None'.")
    else:
        items = list(signature) if isinstance(signature, (tuple, list)) else [signature]
        if len(items) == 1 and nargs != 1:
            raise TypeError(
                "The use of a length 1 tuple for the ufunc `signature` is deprecated. Use `dtype` or "
                "fill the tuple with `None`s."
            )
        if len(items) != nargs:
            raise ValueError(
                f"a type-tuple must be specified of length {nargs} for ufunc '{ufunc.__name__}'"
            )
    found = tuple(None if item is None else _dtype(ufunc, item) for item in items)
    return None if all(t is None for t in found) else found


def _dtype(ufunc, value):
    if isinstance(value, types.Type):
        value = getattr(value, "dtype", value)
    found = np.dtype(value)
    try:
        return types.scalar(found).dtype
    except TypeError:
        raise no_loop_error(ufunc) from None


def no_loop_error(ufunc):
    return TypeError(
        f"No loop matching the specified signature and casting was found for ufunc {ufunc.__name__}"
    )


# --- a list of loops -----------------------------------------------------------------------------------


def choose_loop(request: CallTypes, loops) -> tuple:
    """Selects the loop for a call among ``loops``, tuples of the dtypes of inputs and outputs.

    Raises TypeError if no loop matches, NumPy's casting errors if operands cannot be cast.
    """
    if request.fixed is not None:
        found = _loop_with_fixed(request, loops, request.fixed)
    else:
        found = _exact_loop(request.inputs, loops) or _safe_loop(
            strengthen_scalars(request.inputs), loops
        )
        if found is None and len(loops) == 1 and request.casting in ("same_kind", "unsafe"):
            inputs = strengthen_scalars(request.inputs)
            if all(can_cast(t, want, request.casting) for t, want in zip(inputs, loops[0])):
                found = loops[0]
        if found is None and request.casting in ("same_kind", "unsafe"):
            found = _loop_for_strong_inputs(request, loops)
        if found is None:
            raise _unsupported_error(request, loops)
    return request.check_loop(found)


def _exact_loop(inputs, loops):
    if any(t in _WEAK_KIND for t in inputs):
        return None
    return next((loop for loop in loops if loop[: len(inputs)] == inputs), None)


def _safe_loop(inputs, loops):
    for loop in loops:
        if all(can_cast(t, want, "safe") for t, want in zip(inputs, loop, strict=False)):
            return loop
    return None


def _loop_for_strong_inputs(request, loops):
    """Returns the loop whose types equal those of all strong inputs, if it is the only one. Sets the types of
    the weak scalars in the request to those of the loop.
    """
    inputs = request.inputs

    def is_exact(loop):
        pairs = zip(inputs, loop, strict=False)
        return all(
            t == want if t not in _WEAK_KIND else t is not complex and want.kind in "iuf"
            for t, want in pairs
        )

    found = [loop for loop in loops if is_exact(loop)]
    if len(found) != 1:
        return None
    request.inputs = found[0][: len(inputs)]
    return found[0]


def _loop_with_fixed(request, loops, fixed):
    nin = request.ufunc.nin
    inputs = strengthen_scalars(request.inputs)
    agreeing = [
        loop for loop in loops if all(f is None or f == t for f, t in zip(fixed, loop, strict=True))
    ]
    wanted = tuple(f or t for f, t in zip(fixed, inputs, strict=False))
    found = _exact_loop(wanted, agreeing) or _safe_loop(wanted, agreeing)
    if found is None and len(set(fixed[nin:])) == 1 and fixed[nin] is not None:
        same = tuple(f or fixed[nin] for f in fixed)
        found = next((loop for loop in loops if loop == same), None)
    if found is None:
        raise no_loop_error(request.ufunc)
    return found


def _unsupported_error(request, loops):
    name = request.ufunc.__name__
    given = ", ".join(f"Python {t.__name__}" if t in _WEAK_KIND else str(t) for t in request.inputs)
    nin = request.ufunc.nin
    known = "; ".join(", ".join(map(str, loop[:nin])) for loop in loops)
    return TypeError(
        f"ufunc '{name}' not supported for the input types, and the inputs could not be safely coerced "
        f"to any supported types according to the casting rule ''safe'': "
        f"it was given ({given}) and has loops for ({known})"
    )


# --- ufuncs without signatures ---------------------------------------------------------------------------


def choose_lazily(request: CallTypes, results_of) -> tuple:
    """Returns the loop for a call of a ufunc without signatures.

    ``results_of(inputs)`` returns the result dtypes of the function for inputs of these dtypes.
    """
    nin = request.ufunc.nin
    natural = tuple(_check_number(request, t) for t in promote_scalars(request.inputs))
    fixed = request.fixed
    if fixed is None:
        return request.check_loop(natural + results_of(natural))
    inputs = tuple(f or t for f, t in zip(fixed, natural, strict=False))
    tries = [inputs]
    if nin < len(fixed) and fixed[nin] is not None and len(set(fixed[nin:])) == 1:
        tries.append(tuple(f or fixed[nin] for f in fixed[:nin]))
    for inputs in dict.fromkeys(tries):
        loop = inputs + results_of(inputs)
        if all(f is None or f == t for f, t in zip(fixed, loop, strict=True)):
            return request.check_loop(loop)
    raise no_loop_error(request.ufunc)


def _check_number(request, dtype):
    try:
        return types.scalar(dtype).dtype
    except TypeError:
        raise TypeError(
            f"ufunc '{request.ufunc.__name__}' not supported for the input types: "
            f"{dtype} has no type in C++"
        ) from None
