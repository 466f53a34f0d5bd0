"""Compares the loop that a call selects with the choice of NumPy ufuncs, which are created through
NumPy's C API with random lists of loops that are never run."""

import ctypes
import random

import numpy as np
import pytest

from numbalite.ufuncs import resolve

WEAK = (int, float, complex)
CODES = "?bBhHiIlLefdFD"


class UfuncStandIn:
    """A stand-in with the attributes of a ufunc that `resolve` reads."""

    __name__ = "f"

    def __init__(self, nin, nout=1):
        self.nin, self.nout = nin, nout


_kept = []


@pytest.fixture(scope="module")
def numpy_ufunc():
    """Returns a function make_ufunc(types, nin, nout), for instance make_ufunc(["ff->f"], 2, 1), which returns a
    numpy.ufunc."""
    try:
        from numpy._core._multiarray_umath import _UFUNC_API as capsule
    except ImportError:
        pytest.skip("another NumPy")
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetName.argtypes = [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    table = ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))
    i, p, s = ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p
    new = ctypes.PYFUNCTYPE(ctypes.py_object, p, p, p, i, i, i, i, s, s, i)(table[1])
    run = ctypes.CFUNCTYPE(None, p, p, p, p)(lambda *_: None)

    def make_ufunc(loops, nin, nout=1):
        n = len(loops)
        functions = (p * n)(*[ctypes.cast(run, p).value] * n)
        data = (p * n)()
        numbers = bytes(np.dtype(t).num for loop in loops for t in loop)
        types = ctypes.create_string_buffer(numbers, len(numbers) + 1)
        _kept.append((run, functions, data, types))
        return new(
            ctypes.addressof(functions), ctypes.addressof(data), ctypes.addressof(types),
            n, nin, nout, -1, b"f", b"", 0,
        )  # fmt: skip

    return make_ufunc


def resolve_dtypes(loops, nin, inputs, outputs=(), **options):
    found = [tuple(np.dtype(t) for t in loop) for loop in loops]
    request = resolve.CallTypes(UfuncStandIn(nin, len(loops[0]) - nin), inputs, outputs, **options)
    return resolve.choose_loop(request, found)


def result_or_error(call, *args, **options):
    """Returns the resolved dtypes, or the class and text of the error."""
    try:
        return call(*args, **options)
    except TypeError as problem:
        return type(problem).__name__, str(problem).partition(": it was given")[0]


def random_loops(rng, nin, nout=1):
    """Returns several loops, no two of which have the same inputs."""
    found = {}
    for _ in range(rng.randint(2, 6)):
        loop = "".join(rng.choice(CODES) for _ in range(nin + nout))
        found.setdefault(loop[:nin], loop)
    return list(found.values())


def random_input(rng):
    return rng.choice(WEAK) if rng.random() < 0.3 else np.dtype(rng.choice(CODES))


@pytest.mark.parametrize("seed", range(4))
def test_type_resolution_matches_numpy(numpy_ufunc, seed):
    rng = random.Random(seed)
    for _ in range(400):
        nin = rng.choice((1, 2, 3))
        loops = random_loops(rng, nin)
        if len(loops) == 1:
            continue  # where ours take more
        theirs = numpy_ufunc(loops, nin)
        for _ in range(6):
            inputs = tuple(random_input(rng) for _ in range(nin))
            casting = rng.choice(("same_kind", "same_kind", "safe", "unsafe", "no", "equiv"))
            if casting in ("no", "equiv") and any(t in WEAK for t in inputs):
                continue  # NumPy crashes
            out = np.dtype(rng.choice(CODES)) if rng.random() < 0.3 else None
            want = result_or_error(theirs.resolve_dtypes, (*inputs, out), casting=casting)
            got = result_or_error(resolve_dtypes, loops, nin, inputs, (out,), casting=casting)
            if want[0] == "TypeError" and casting in ("same_kind", "unsafe"):
                converting = loops_for_arrays(loops, inputs)
                if len(converting) == 1:  # numba's rule for scalars, where NumPy has no loop
                    assert got == converting[0] or got[0] == "UFuncTypeError" or out is not None
                    continue
            assert got == want, (loops, inputs, out, casting)


def loops_for_arrays(loops, inputs):
    """Returns the loops that have the types of all operands but Python's real numbers."""
    found = [tuple(np.dtype(t) for t in loop) for loop in loops]
    if not any(t is int or t is float for t in inputs):
        return []
    return [
        loop
        for loop in found
        if all(
            t is not complex and want.kind in "iuf" if isinstance(t, type) else t == want
            for t, want in zip(inputs, loop, strict=False)
        )
    ]


@pytest.mark.parametrize("seed", range(3))
def test_resolution_with_a_signature_matches_numpy(numpy_ufunc, seed):
    rng = random.Random(seed)
    for _ in range(400):
        nin = rng.choice((1, 2))
        loops = random_loops(rng, nin)
        theirs = numpy_ufunc(loops, nin)
        for _ in range(6):
            inputs = tuple(np.dtype(rng.choice(CODES)) for _ in range(nin))
            pattern = rng.choice(loops)
            fixed = tuple(np.dtype(t) if rng.random() < 0.6 else None for t in pattern[:nin]) + (
                np.dtype(pattern[nin]),
            )
            if rng.random() < 0.5:
                fixed = (None,) * nin + fixed[nin:]
            want = result_or_error(theirs.resolve_dtypes, (*inputs, None), signature=fixed)
            got = result_or_error(resolve_dtypes, loops, nin, inputs, signature=fixed)
            assert got == want, (loops, inputs, fixed)


def test_type_resolution_matches_numpys_ufunc_loops():
    """Returns np.add and other ufuncs, without the loops for whose types numbalite has no equivalent."""
    for function in (np.multiply, np.hypot, np.arctan2, np.logical_and):
        loops = [t.replace("->", "") for t in function.types if set(t) <= set(CODES + "->")]
        for a in CODES:
            for b in CODES:
                inputs = np.dtype(a), np.dtype(b)
                want = result_or_error(function.resolve_dtypes, (*inputs, None))
                got = result_or_error(resolve_dtypes, loops, 2, inputs)
                if isinstance(want[0], np.dtype) and not isinstance(got[0], str):
                    assert np.can_cast(want[0], got[0]) or got == want, (function, a, b)
