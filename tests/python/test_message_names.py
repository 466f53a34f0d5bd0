"""Messages about Python bodies name functions, types and variables as the user's program does, and calls with wrong
arguments are refused by the translator: no generated C++ is shown."""

import cmath
import linecache
import math
import os
import random
import re

import numpy as np
import pytest
from kit.sample import VARIABLE

from numbalite import cuda, types, vectorize
from numbalite.errors import TranslationError
from numbalite.python import intrinsics

RECORD = np.dtype([("x", "f4"), ("n", "i4"), ("v", "f4", (3,))])
TYPES = tuple(
    map(
        types.typeof,
        (np.zeros(4, "f4"), np.zeros((4, 4), "f4"), np.zeros(4, RECORD), 1, np.zeros(4, "i4")),
    )
)
INTERNAL = re.compile(
    r"record_[0-9a-f]{8}|\bnp_\w+|\bpy::|\bcg::|builtin_function|numbalite/python|\bnl_|object at 0x|_\(\)"
    r"|DeviceFunction|Dispatcher|NoneType|\bKnown\b|\bEmpty\b|\bnone (?:cannot|is|[-+*/])|(?:[-+*/]|\bnot) none\b"
)


@cuda.jit(device=True)
def add_helper(a, b):
    return a + b


@cuda.jit
def store_kernel(v):
    v[0] = 1


@vectorize
def plus_ufunc(a, b):
    return a + b


def compile_statement(statement, number=0):
    """Compiles a kernel whose body is this statement; v, f, w are arrays, p is an array of records,
    n a number."""
    source = f"def k(v, f, p, n, w):\n    {statement}\n"
    name = f"<statement {number}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space = dict(globals())
    exec(compile(source, name, "exec"), space)
    cuda.jit(space["k"]).compile(TYPES)


def compile_error_message(statement):
    with pytest.raises(TranslationError) as raised:
        compile_statement(statement)
    return "\n".join(str(raised.value).split("\n"))


CASES = {
    "cuda.atomic.add(f[1, 1], 2)": ("cuda.atomic.add: ", "Write cuda.atomic.add(f, (1, 1), 2)."),
    "cuda.atomic.add(v[n], f[0, 0])": ("three arguments", "Write cuda.atomic.add(v, n, f[0, 0])."),
    "cuda.atomic.max(f, 2)": ("three arguments", "Write cuda.atomic.max(f, (i, j), 2)."),
    "cuda.atomic.cas(w[0], 1, 2)": ("three arguments", "Write cuda.atomic.cas(w, 0, 1, 2)."),
    "cuda.atomic.compare_and_swap(w[3], 1, 2)": ("first element", "cuda.atomic.cas(w, 3, 1, 2)."),
    "cuda.atomic.add(v, 0, 'a')": ("str 'a' is no value for an element of type float32",),
    "cuda.atomic.and_(v, 0, 1)": ("takes arrays of integers, not of float32",),
    "z = np.zeros(4)": ("np.zeros has no meaning in a kernel", "cuda.local.array"),
    "v[0] = np.median(w)": ("np.median has no meaning", "for i in range(w.size)"),
    "w.sort()": ("no method 'sort'", "for i in range(w.size)"),
    "v[0] = np.add(n)": ("np.add: the argument 'b' is missing",),
    "v[0] = math.sqrt(1, 2)": ("math.sqrt: takes 1 argument, not 2",),
    "v[0] = f.sum(0, 1)": ("f.sum: takes an array, and nothing else",),
    "v[0] = plus_ufunc.reduce(n)": (
        "plus_ufunc.reduce: an array with one dimension is required, not int64",
    ),
    "v[0] = plus_ufunc.reduce(f)": ("not float32[:, ::1]", "Write the loop over the others."),
    "v[0] = np.add.at(v, 0, 1)": ("np.add.at has no meaning",),
    "cuda.synchronize()": ("cuda.synchronize has no meaning", "Do it before the launch"),
    "v[0] = add_helper(1)": ("add_helper: the argument 'b' is missing",),
    "v[0] = p[0].y": ("record(x, n, v) has no attribute 'y'", "There are x, n and v."),
    "v[0] = p[0]": ("record(x, n, v) cannot be stored into float32", "its fields: x, n, v."),
    "v[0] = p[0] + 1": ("record(x, n, v) + int64 has no meaning",),
    "v[0] = f": ("float32[:, ::1] cannot be stored into float32", "index the array"),
    "v[:] = f": ("an array of 2 dimensions cannot be stored into one of 1",),
    "v[0] = None": ("None cannot be stored into float32",),
    "v[0] = math.sin": ("the function sin cannot be stored into float32",),
    "v[0] = math": ("the module math cannot be stored into float32",),
    "v[0] = w + n": (
        "int32[::1] + int64 has no meaning",
        "each thread computes its element, w[i].",
    ),
    "v[0] = f * w": ("has no meaning", "its element, f[i, j] and w[i]."),
    "cuda.blockDim = 3": ("cuda.blockDim cannot be assigned to",),
    "v[0] = cuda.random.xoroshiro128p_uniform_float32(v, 0)": ("an array of states",),
    "v[0] = round(v)": ("round: takes a number, not float32[::1]",),
    "v[0] = np.int32(1j)": ("complex128 does not fit into int32", "z.real is its real part."),
    "np.cbrt(1j, v[1:])": ("np.cbrt: takes real numbers, not complex128",),
    "x = np.signbit(1j)": ("np.signbit: takes real numbers, not complex128",),
    "x = np.ldexp(1j, 2)": ("np.ldexp: takes real numbers, not complex128",),
    "x = math.frexp(1j)": ("math.frexp: takes real numbers, not complex128",),
    "x = np.gcd(v[0], n)": ("np.gcd: takes integers, not float32",),
    "x = np.lcm(n, 1j)": ("np.lcm: takes integers, not complex128",),
    "np.add(1j, n, v)": ("complex128 does not fit into float32", "z.real is its real part."),
    "x = zip(v)": ("zip(...) cannot be assigned", "for ... in zip(v): ..."),
}


@pytest.mark.every_case
@pytest.mark.parametrize("statement", CASES)
def test_messages_use_the_users_function_and_variable_names(statement):
    text = compile_error_message(statement)
    for part in CASES[statement]:
        assert part in text, text
    assert not INTERNAL.search(text.replace(statement, "")), text


ARGUMENTS = [
    "v", "f", "p", "p[0]", "p[0].v", "'text'", "None", "n", "1.5", "2", "(1, 2)", "math", "v[0]", "w", "w[0]", "True",
    "1j", "add_helper", "store_kernel", "plus_ufunc", "cuda.threadIdx", "v[1:]", "np.float32", "np.float16(n)",
]  # fmt: skip
BUILTINS = """abs min max round int float bool complex len sum any all pow divmod isinstance print range enumerate zip
    tuple str list type getattr sorted add_helper store_kernel plus_ufunc plus_ufunc.reduce cuda.to_device cuda.jit v.sum p.foo n.real
    math.foo cuda.foo""".split()


def supported_functions():
    found = [f"cuda.{path}" for path in intrinsics.WORDS]
    for module, name in ((math, "math"), (np, "np"), (cmath, "cmath")):
        found += [
            f"{name}.{n}" for n in dir(module) if callable(getattr(module, n)) and n[0] != "_"
        ]
    return found + BUILTINS * 5


def test_calls_with_random_arguments_show_no_internal_names():
    draw = random.Random(f"{os.environ[VARIABLE]} messages")
    names = supported_functions()
    for number in range(120):
        given = ", ".join(draw.choices(ARGUMENTS, k=draw.choice([0, 1, 1, 2, 2, 3])))
        form = draw.choice(["v[0] = {}", "{}", "x = {}", "v[0] = {} + n", "f[0] = {}"])
        statement = form.format(f"{draw.choice(names)}({given})")
        try:
            compile_statement(statement, number)
        except TranslationError as error:
            text = str(error).replace(statement, "").replace(given, "")
            assert not INTERNAL.search(text), (statement, str(error))
        except Exception as error:
            raise AssertionError(f"{statement}: {type(error).__name__}: {error}") from None
