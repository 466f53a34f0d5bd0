"""Hints about C++ that does not compile use the names of the user's line, and name records by their fields."""

import numpy as np
import pytest

from numbalite import cuda
from numbalite.errors import CompileError

RECORD = np.dtype([("mass", "f4"), ("count", "i4")])
HINTS = {
    'parts[i]["mass"] = 1;': 'parts[i]["mass"] does not exist in C++: write parts[i].mass',
    "rho[i] = parts[i]['mass'];": "write parts[i].mass",
    'rho[i] = parts["mass"][i];': "write parts[i].mass",
    "parts.mass[i] = 1;": "fields belong to an element: parts[i].mass",
    "rho[i] = parts[i].weight;": "the records of parts have the fields mass, count",
    "rho[i] = parts[i]->mass;": "an element is not a pointer: parts[i].mass",
    "rho[i] = parts[i];": "the elements of parts are records: parts[i].mass is a field of one",
    "atomicAdd(rho[i], 1);": "atomic_add(rho, i, value)",
    "atomic_add(grid2[i], 1);": "atomic_add(grid2, {i, j}, value)",
    "float *q = rho;": "use rho.data()",
    "rho[i] = rho.size;": "rho.size()",
    "rho[i] = len(rho);": "write rho.size() or rho.shape[0]",
    "rho[i] = rho.sum();": "arrays in kernels have rho[i]",
    "rho[i] = rho + 1;": "each thread computes one element, rho[i]",
    "rho[i] = grid2[i, 0];": "write grid2(i, 0)",
    "rho[i] = rho[i] ** 3;": "write pow(rho[i], 3)",
    "rho[i] = rho[i] if i else 2;": "write i ? rho[i] : 2",
    "rho[0:3] = 1;": "each thread processes one element: rho[i]",
    "for j in range(i + 1): rho[j] = 1": "write for (int j = 0; j < i + 1; ++j)",
    "for r in rho: i += r": "write for (auto r : rho)",
    "if i < 3: rho[i] = 1;": "write if (i < 3) { ... }",
    "if i < 3 { rho[i] = 1; }": "if (i < 3) { ... }",
    "for (int j = 0, j < i, ++j) rho[j] = 1;": "for (int j = 0; j < i; ++j)",
    "bool same = rho[i] is not rho[0];": "write rho[i] != rho[0]",
    "float few[] = [1, 2, 3];": "write {1, 2, 3}",
}


def compile_kernel_with_line(line):
    space = {}
    exec(f"def k(parts, rho, grid2):\n    {f'int i = grid<1>(); {line}'!r}\n", space)
    return cuda.jit(space["k"])


@pytest.mark.parametrize("line", HINTS)
def test_hints_use_the_users_variable_names(line):
    kernel = compile_kernel_with_line(line)
    with pytest.raises(CompileError) as raised:
        kernel[1, 1](np.zeros(4, RECORD), np.zeros(4, "f4"), np.zeros((4, 4), "f4"))
    message = str(raised.value)
    assert HINTS[line] in message, message
    assert "record_" not in message
