"""The counterparts of NumPy's and SciPy's ufuncs compile for the oldest and the newest GPU, each for one type of each kind, with NVRTC."""

import re

import numpy as np
import pytest
from kit.needs import needs_nvrtc

from numbalite.compilers import Source, compile_source
from numbalite.cxx import devicelib
from numbalite.ufuncs import protocols, special

pytestmark = needs_nvrtc
TYPES = {
    "b": ["bool"],
    "u": ["unsigned char", "unsigned long long"],
    "i": ["signed char", "long long"],
    "f": ["float16", "float", "double"],
    "c": ["complex<float>"],
}
# Dtypes for which NumPy has no loops.
WITHOUT = {
    ("b", name)
    for name in "subtract negative positive sign divmod remainder fmod floor_divide power".split()
} | {("i", "ldexp")}


def table_source(table, nin_of):
    functions, calls = [], []
    for name, (expression, kinds) in table.items():
        nin = nin_of(name)
        parameters = ", ".join(f"T {x}" for x in "xy"[:nin])
        functions.append(
            f"template <class T> __device__ auto f_{name}({parameters}) {{ return {expression}; }}"
        )
        for kind in kinds:
            for t in TYPES[kind]:
                if (kind, name) not in WITHOUT:
                    values = ", ".join([f"*({t} *)at"] * nin)
                    calls.append(f"{{ auto r = f_{name}({values}); *(decltype(r) *)at = r; }}")
    body = "\n".join(functions) + "\n".join(
        [
            '\nextern "C" __global__ void everything(volatile char *memory) {',
            "char *at = (char *)memory;",
            *calls,
            "}",
        ]
    )
    words = set(re.findall(r"[A-Za-z_]\w*", body))
    return devicelib.prologue_text(words) + "using namespace numbalite;\n" + body


@pytest.mark.cases(1)
@pytest.mark.parametrize("arch", [(7, 5), (10, 0)], ids=str)
def test_numpy_ufunc_source_compiles(arch):
    text = table_source(protocols._TABLE, lambda name: getattr(np, name).nin)
    unit = Source(text=text, name="numpy.cu", kernels=("everything",), describe=False)
    assert compile_source(unit, ("cuda", *arch)).data


@pytest.mark.cases(1)
@pytest.mark.parametrize("arch", [(7, 5), (9, 0), (10, 0)], ids=str)
def test_ufuncs_of_scipy_compile(arch, monkeypatch):
    monkeypatch.setitem(TYPES, "f", ["float", "double"])  # SciPy has no loops for float16
    table = {name: (expression, "f") for name, expression in special._TABLE.items()}
    text = table_source(table, lambda name: 1 + ("y" in re.findall(r"\w+", table[name][0])))
    unit = Source(text=text, name="scipy.cu", kernels=("everything",), describe=False)
    assert compile_source(unit, ("cuda", *arch)).data
