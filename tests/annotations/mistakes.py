"""Programs with type errors that type checkers must find: test_checkers.py requires each `type: ignore` to
hide an error."""

import numpy as np

from numbalite import cuda, njit, vectorize

x = cuda.to_device(np.ones(4))


@cuda.jit
def kernel_with_elided_body(a: float) -> None:
    "..."


@njit
def half(x: float) -> float:
    return x / 2


@vectorize(target="cuda")
def add(x: float, y: float) -> float:
    return x + y


total = cuda.reduce("a + b")

kernel_with_elided_body.lauch  # type: ignore
kernel_with_elided_body[1](2.0)  # type: ignore
kernel_with_elided_body[4 / 2, 32](2.0)  # type: ignore
kernel_with_elided_body[1, 32].wait()  # type: ignore
kernel_with_elided_body.specialize(1.0).regs  # type: ignore
half.signature  # type: ignore
half("text")  # type: ignore
half(1.0, 2.0)  # type: ignore
half(1.0).shape  # type: ignore
add.reduces(x)  # type: ignore
add.reduce(x).mean().copy_to_hosts()  # type: ignore
total.axis  # type: ignore
cuda.jit(fastmth=True)  # type: ignore
njit(fastmth=True)  # type: ignore
vectorize(target="cuda", fastmth=True)  # type: ignore
(x + 1).copy_to_hosts()  # type: ignore
x[1:].sums()  # type: ignore
x.sum(axis=0).means()  # type: ignore
(x > 1).alls()  # type: ignore
cuda.sort(x).copy_to_hosts()  # type: ignore
