"""Implements numba.cuda.libdevicefuncs: parameter and result types of libdevice's functions."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence

from numbalite.types import Signature, Tuple, Type, void
from numbalite.types.libdevice import SIGNATURES

arg = namedtuple("arg", ("name", "ty", "is_ptr"))


def _result_and_parameters(name):
    """Returns (result type, all parameters). The first output is the result, except for sincos; all other
    outputs are written through pointers."""
    returns, signature = SIGNATURES[name].returns, SIGNATURES[name]
    pointers = returns if "sincos" in name else returns[1:]
    args = [arg(f"x{i}", t, False) for i, t in enumerate(signature.args)]
    args += [arg(f"p{i}", t, True) for i, t in enumerate(pointers)]
    return (void if pointers == returns else returns[0]), args


functions = {f"__nv_{name}": _result_and_parameters(name) for name in SIGNATURES}


def create_signature(retty: Type, args: Sequence[arg]) -> Signature:
    """Returns the signature of the function in kernels, where results written through pointers are
    returned."""
    returns = [] if retty == void else [retty]
    returns += [a.ty for a in args if a.is_ptr]
    result = returns[0] if len(returns) == 1 else Tuple(returns)
    return Signature(result, [a.ty for a in args if not a.is_ptr])
